"""The paper's claims, graded.

rules                              when a difference counts: fixed before the results they judge
judge                              from measured values to a verdict on a sentence; the register of claims
columns                            the comparisons behind the claims on Table 2
analysis · accuracy · experiments  the claims of the paper: terms, tables, scores; each a function of stored tables
supplement · other_models          the claims of the supplement
figures                            the reproduction map: every figure and table of the paper
"""

from uaftc_lib.claims import accuracy, analysis, experiments, other_models, supplement  # noqa: F401  (they register their claims)
from uaftc_lib.claims.rules import (
    CONFIDENCE,
    EQUIVALENCE_MARGIN,
    LEAST_SEEDS,
    PUBLISHED_MARGIN,
    PUBLISHED_MARGIN_SMALL_LAM,
    SIGNIFICANCE,
    SMALL_LAM,
    VERDICTS,
    Interval,
    equivalent,
    exceeds,
    holm,
    interval,
    mcnemar_p,
    misses_published,
    paired_p,
)
from uaftc_lib.claims.verdicts import (
    CLAIMS,
    SMALL,
    WORDS,
    Judged,
    Part,
    Tables,
    cases_of,
    counted,
    judge,
    judge_all,
    scorecard,
    surprises,
)

__all__ = [
    "CLAIMS",
    "CONFIDENCE",
    "EQUIVALENCE_MARGIN",
    "LEAST_SEEDS",
    "PUBLISHED_MARGIN",
    "PUBLISHED_MARGIN_SMALL_LAM",
    "SIGNIFICANCE",
    "SMALL",
    "SMALL_LAM",
    "VERDICTS",
    "WORDS",
    "Interval",
    "Judged",
    "Part",
    "Tables",
    "cases_of",
    "counted",
    "equivalent",
    "exceeds",
    "holm",
    "interval",
    "judge",
    "judge_all",
    "mcnemar_p",
    "misses_published",
    "paired_p",
    "scorecard",
    "surprises",
]
