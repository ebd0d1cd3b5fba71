"""The verdicts on a claim, in order of the scorecard; apart, because the command reads them before anything else."""

WORDS = ("holds", "holds under a condition", "does not hold", "undecided", "not yet measured")
