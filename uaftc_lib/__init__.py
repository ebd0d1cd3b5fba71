"""The living edition of "Understanding Attention for Text Classification": the library under the book."""

__version__ = "0.1.0"

from uaftc_lib.corpus import Corpus, Dataset, Vocabulary
from uaftc_lib.datasets import load_dataset
from uaftc_lib.locations import published, results_folder
from uaftc_lib.models import AttentionClassifier
from uaftc_lib.token_types import token_types
from uaftc_lib.training import Run, TrainingConfig, fit

__all__ = [
    "AttentionClassifier",
    "Corpus",
    "Dataset",
    "Run",
    "TrainingConfig",
    "Vocabulary",
    "fit",
    "load_dataset",
    "published",
    "results_folder",
    "token_types",
]
