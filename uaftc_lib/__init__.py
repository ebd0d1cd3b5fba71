"""The living edition of "Understanding Attention for Text Classification": the library under the book."""

import importlib

__version__ = "0.1.0"

# Imported when first asked for: whoever wants the version, or made a mistake, need not wait for torch.
HOMES = {
    "AttentionClassifier": "models",
    "AttentionTextClassifier": "report.estimator",
    "Corpus": "corpus",
    "Dataset": "corpus",
    "Run": "training",
    "TrainingConfig": "settings",
    "Vocabulary": "corpus",
    "explain_model": "report.own_model",
    "fit": "training",
    "load_dataset": "datasets",
    "published": "locations",
    "results_folder": "locations",
    "token_types": "token_lists",
}
__all__ = list(HOMES)


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(globals().keys() | HOMES)
