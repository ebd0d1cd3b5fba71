"""The verdicts on a claim and on a figure; apart, because the command reads them before anything else."""

STATUSES = ("reproduced", "differs", "not yet")  # of a figure or table
WORDS = ("holds", "holds under a condition", "does not hold", "undecided", "not yet measured")  # on a claim
