"""The 83 numbered equations of paper and supplement, each with its status, its page and its check."""

from uaftc_lib.equations import appendix_a, appendix_b, appendix_d_e, appendix_f, main_paper  # noqa: F401
from uaftc_lib.equations.case import MODELS, Case, View, random_corpus
from uaftc_lib.equations.page import prove
from uaftc_lib.equations.registry import (
    REGISTRY,
    STATUSES,
    TOLERANCE,
    CheckResult,
    Equality,
    Equation,
    Inequality,
    Order,
    check,
    check_printed,
    check_table,
    errata_table,
    measure,
    relative_error,
    slope,
)

__all__ = [
    "MODELS",
    "REGISTRY",
    "STATUSES",
    "TOLERANCE",
    "Case",
    "CheckResult",
    "Equality",
    "Equation",
    "Inequality",
    "Order",
    "View",
    "check",
    "check_printed",
    "check_table",
    "errata_table",
    "measure",
    "prove",
    "random_corpus",
    "relative_error",
    "slope",
]
