"""What a run can be told: names, numbers, their defaults and ranges. The command asks here, so torch is not needed."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache, partial
from pathlib import Path

from uaftc_lib import checks

RECURRENT = ("lstm", "gru")
ENCODERS = ("none", "affine", *RECURRENT)
ATTENTIONS = ("dot", "additive")
LOSSES = ("auto", "logistic", "softmax")
OPTIMIZERS = ("adagrad", "sgd", "adam")
METHODS = ("auto", "fast", "autograd")
DEVICES = ("cpu", "cuda", "mps", "xpu")  # of torch; a number may follow, as in cuda:1

# The models of Table 2, and one more recurrent encoder, as arguments of AttentionClassifier.
MODELS = {
    "DP": {"encoder": "none", "attention": "dot"},
    "DP-L": {"encoder": "lstm", "attention": "dot"},
    "DP-A": {"encoder": "affine", "attention": "dot"},
    "AD": {"encoder": "none", "attention": "additive"},
    "GRU": {"encoder": "gru", "attention": "dot"},
}
BY_TYPE = {name: of for name, of in MODELS.items() if of["encoder"] not in RECURRENT}  # a token type has a score
PAPER_MODELS = ("DP", "DP-A", "AD", "DP-L")  # in the order of Table 2

FULL = "full"  # a full batch, wherever it must be a word: command line, grids, tables, the lab; in Python it is None


def batch_size_of(word: int | str) -> int | None:
    """A batch size in Python from the number or word of a table."""
    return None if word == FULL else int(word)


def model_arguments(name: str) -> dict[str, str]:
    """The arguments of :class:`AttentionClassifier` that make a model of ``MODELS``.

    Raises
    ------
    ValueError
        If there is no such model; the message lists those there are.
    """
    return dict(MODELS[checks.one_of("model", name, MODELS)])


def registered_names(folders: Iterable[str | os.PathLike], decorator: str) -> dict[str, Path]:
    """The names under which ``decorator("name")`` is called in the files of some folders, and the file of each.

    Raises
    ------
    ValueError
        If a file is no Python; the message names it.
    """
    files = (path for folder in folders for path in Path(folder).glob("*.py"))
    return {name: path for path in files for name in names_in(path, decorator, path.stat().st_mtime_ns)}


@cache
def names_in(path: Path, decorator: str, _written: int) -> list[str]:
    """The same of one file, which is read again when it was written again."""
    try:
        calls = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{path} cannot be imported ({error}): mend it or move it away") from None
    named = (call.args[0] for call in calls if call.args and ast.unparse(call.func) == decorator)
    return [name.value for name in named if isinstance(name, ast.Constant)]


def setting(
    default: object, about: str, rule: Callable[[str, object], object] | None = None, choices: Collection[str] = ()
) -> Field:
    """A field: what the command line says of it, and the rule or choices that :func:`check_fields` holds it to."""
    rule = partial(checks.one_of, allowed=tuple(choices)) if choices else rule
    begin = {"default_factory": default} if callable(default) else {"default": default}
    return field(**begin, metadata={"about": about, "rule": rule, "choices": tuple(choices)})


def reworded(original: type, name: str, default: object, rule: Callable | None = None) -> Field:
    """A field of another dataclass whose values are written in another way here."""
    return setting(default, original.__dataclass_fields__[name].metadata["about"], rule)


def check_fields(settings: object) -> None:
    """Hold each field to its rule, and keep the value as the rule gives it back (a whole number as a float).

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number.
    """
    for one in fields(settings):
        if rule := one.metadata["rule"]:
            object.__setattr__(settings, one.name, rule(one.name, getattr(settings, one.name)))


def whole_or(other: object, meaning: str, name: str, value: object) -> object:
    """A whole number above 0, or the one ``other`` value that has a meaning of its own."""
    return value if value == other else checks.whole(f"{name} ({meaning})", value, least=1)


def checked_rates(name: str, values: Mapping) -> Mapping:
    """Learning rates by parameter name."""
    for parameter, value in values.items():
        checks.real_number(f"the learning rate of {parameter}", value)
    return values


def slow(encoder: str, optimizer: str) -> str | None:
    """Why the fast path would be exact for no model with this encoder; None if for some."""
    if encoder not in ("none", "affine"):
        return f'encoder="{encoder}" makes a token\'s representation depend on its neighbours'
    if optimizer == "adam":
        return 'optimizer="adam" moves the embeddings of all types at every step, also of those that do not occur'
    return None


def check_method(method: str, reason: str | None) -> None:
    """ValueError if a method insists on the fast path, and there is a reason why it would not be exact."""
    if method == "fast" and reason:
        raise ValueError(f'method="fast" would not be exact: {reason}. Use method="auto" or "autograd"')


above_0 = partial(checks.real_number, positive=True)
at_least_1 = partial(checks.whole, least=1)
below_1 = partial(checks.fraction, whole_allowed=False)
number_or_none = partial(whole_or, None, "None: full batch")


@dataclass(frozen=True)
class TrainingConfig:
    """How to train.

    Parameters
    ----------
    optimizer : {"adagrad", "sgd", "adam"}
    learning_rate : float
        η; step t = 1, 2, ... uses η / (1 + (t − 1) · ``learning_rate_decay``).
    learning_rate_decay : float
    learning_rates : dict
        Overrides of η by parameter name, for example ``{"V": 0.002}``.
    batch_size : int or None
        None: full batch.
    epochs : int
    dropout : float
        Probability of dropping an element of an embedding (each occurrence has its own mask) and of the
        pooled vector; what is kept is divided by the probability of keeping it.
    penalty : float
        Coefficient of |V·W| (:meth:`AttentionClassifier.penalty`), or of the overlap of hops.
    weight_decay : float
        L2 on M and on the weights of a recurrent encoder only, added to the gradient.
    method : {"auto", "fast", "autograd"}
        "auto" takes the fast path whenever it is exact, "fast" insists, "autograd" is the reference.
    seed : int
        Of the order of the instances and of the dropout masks; a cell of a sweep takes it for initial values, too.

    Raises
    ------
    ValueError
        For an unknown choice or an impossible number.
    """

    optimizer: str = setting("adagrad", "Of the steps.", choices=OPTIMIZERS)
    learning_rate: float = setting(0.02, "Of all parameters.", checks.real_number)
    learning_rate_decay: float = setting(0.0, "Step t is taken at η / (1 + (t − 1) · this).", checks.real_number)
    learning_rates: dict[str, float] = setting(dict, "Of one parameter, e.g. V=0.002. Repeatable.", checked_rates)
    batch_size: int | None = setting(100, f"Instances of a batch, or {FULL}.", number_or_none)
    epochs: int = setting(20, "Passes over the training data.", checks.whole)
    dropout: float = setting(0.0, "On embeddings and on the pooled vector.", below_1)
    penalty: float = setting(0.0, "Coefficient of |V·W|.", checks.real_number)
    weight_decay: float = setting(0.0, "On M and recurrent weights.", checks.real_number)
    method: str = setting("auto", "How gradients are found.", choices=METHODS)
    seed: int = setting(0, "Of initial values, order and dropout masks.", checks.whole)

    def __post_init__(self):
        check_fields(self)


@dataclass(frozen=True)
class ModelSettings:
    """The numbers that :class:`AttentionClassifier` takes, beside the model's name and the seed."""

    lam: float = setting(10.0, "Scaling factor λ.", above_0)
    dimension: int = setting(100, "Of embeddings.", at_least_1)
    hidden: int = setting(50, "Units per direction of a recurrent encoder.", at_least_1)
    embedding_range: float = setting(0.1, "Embeddings start uniform in ± this.", checks.real_number)
    weight_range: float = setting(0.1, "W starts uniform in ± this.", checks.real_number)
