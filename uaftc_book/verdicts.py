"""The verdicts on a claim and on a figure; apart, because the command reads them before anything else."""

STATUSES = ("reproduced", "in some seeds", "differs", "not yet")  # of a figure or table
WORDS = ("holds", "mostly holds", "mixed", "mostly not", "does not hold", "undecided")  # on a claim
