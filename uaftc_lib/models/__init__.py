"""The classifier of Section 3, its variants, and two models beside it.

classifier         AttentionClassifier: DP, DP-A, DP-L, AD, two classes or more
encoders           the recurrent encoders of DP-L and GRU
structured         several attention distributions over one text
separate_tables    attention and polarity from two embedding tables
"""

from uaftc_lib.models.classifier import (
    AttentionClassifier,
    Dropout,
    Output,
    TokenScores,
    departure,
    softmax_by_instance,
    sum_by_instance,
    usable_device,
)
from uaftc_lib.models.separate_tables import SeparateTables
from uaftc_lib.models.structured import StructuredClassifier
from uaftc_lib.settings import ATTENTIONS, ENCODERS, LOSSES, MODELS, model_arguments

__all__ = [
    "ATTENTIONS",
    "ENCODERS",
    "LOSSES",
    "MODELS",
    "AttentionClassifier",
    "Dropout",
    "Output",
    "SeparateTables",
    "StructuredClassifier",
    "TokenScores",
    "departure",
    "model_arguments",
    "softmax_by_instance",
    "sum_by_instance",
    "usable_device",
]
