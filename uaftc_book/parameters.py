"""Parameters of a notebook: papermill only warns about a name it does not know, so the notebook checks.

Every notebook begins with a cell of annotated parameters; the next one calls :func:`check_parameters`.
"""

from __future__ import annotations

import ast
import difflib
import linecache
import math
import reprlib
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import NamedTuple, get_args, get_origin

RANGES = {  # well-known names: lowest value, whether it is itself allowed, and the value to stay below
    **dict.fromkeys(("lam", "lams", "large_lam", "learning_rate"), (0, False, math.inf)),
    **dict.fromkeys(("epochs", "slider_epochs", "dimension", "batch_size"), (1, True, math.inf)),
    **dict.fromkeys(("shuffles", "redraws", "replicates"), (1, True, math.inf)),
    **dict.fromkeys(("seed", "penalty", "learning_rate_decay"), (0, True, math.inf)),
    "seeds": (0, True, math.inf),
    "instance": (-1, True, math.inf),
    **dict.fromkeys(("dropout", "noise"), (0, True, 1)),
    "tolerance": (0, False, 1),
}


class AtLeast(NamedTuple):
    """The least value of a parameter, and why there is one."""

    least: float
    why: str


Allowed = Collection | AtLeast


def check_parameters(namespace: dict[str, object], **allowed: Allowed) -> None:
    """Check what a notebook was given, in the cell after its annotated parameters.

    Parameters
    ----------
    namespace : dict
        ``globals()`` of the notebook. A number that is given for a word becomes its text.
    **allowed
        For a parameter: its allowed values, or the least of them. Numbers with a well-known name (``lam``,
        ``epochs``, ``seed``, ``dropout``, ...) are checked for their range without being asked; of a list, every
        item is checked.

    Raises
    ------
    ValueError
        If papermill set a name that is no parameter of the notebook, or if a value is of another type than
        annotated, not finite or not allowed.
    """
    types = annotated_types(namespace)
    for name in allowed:
        if name not in types:
            raise ValueError(f"{name!r} is no annotated parameter; there are {', '.join(types)}")
    given = {name: namespace.get(name) for name in [*injected_names(namespace.get("In", [])), *types]}
    namespace.update(checked("this notebook", given, types, allowed))


def check_given(
    notebook: str, given: dict[str, object], defaults: dict[str, object], allowed: dict[str, Allowed]
) -> dict[str, object]:
    """The values for some parameters of a notebook, before it runs; for a word, the text of what looks like a number.

    Raises
    ------
    ValueError
        If it has no such parameter, or if a value is of another type than its default, out of its range or not allowed.
    """
    return checked(notebook, given, {name: type_like(value) for name, value in defaults.items()}, allowed)


def type_like(default: object) -> object:
    """The type of a default; of a list with that of its items, of None any."""
    if isinstance(default, list) and default:
        return list[type(default[0])]
    return object if default is None else type(default)


def checked(
    notebook: str, given: dict[str, object], types: dict[str, object], allowed: dict[str, Allowed]
) -> dict[str, object]:
    """What was given, if its names, types and values are possible; a number that is given for a word as its text."""
    for name in given:
        if name not in types:
            near = difflib.get_close_matches(name, types, 1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(f"{notebook} has no parameter {name!r}{meant}; it has {', '.join(types)}")
    as_text = {name for name, value in given.items() if types[name] is str and isinstance(value, int | float)}
    given = {name: str(value) if name in as_text else value for name, value in given.items()}  # papermill's 4.2
    for name, value in given.items():
        check_type(name, value, types[name])
        check_value(name, value, allowed.get(name))
    return given


def check_value(name: str, value: object, allowed: Allowed | None) -> None:
    """Raise ValueError unless a value, or every item of a list, is allowed and in the range of its name."""
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if allowed is not None and not isinstance(allowed, AtLeast):
            if item not in allowed:
                known = ", ".join(map(repr, allowed))
                raise ValueError(f"{name} = {item!r} is not possible in this notebook; allowed: {known}")
        elif isinstance(item, (int, float)) and not isinstance(item, bool):
            check_range(name, item)
            if allowed and item < allowed.least:
                raise ValueError(f"{name} = {item!r}: give at least {allowed.least}; {allowed.why}")


def check_type(name: str, value: object, annotation: object) -> None:
    """Raise ValueError unless the value, and each item of a list, is of that type; an int may stand for a float."""
    options = get_args(annotation) if get_origin(annotation) not in (list, tuple, dict) else ()
    classes = [get_origin(option) or option for option in options or (annotation,)]
    if float in classes:
        classes.append(int)
    fits = isinstance(value, tuple(classes)) and (not isinstance(value, bool) or bool in classes or object in classes)
    if not fits:
        expected = str(annotation) if options else annotation.__name__
        raise ValueError(f"{name} = {value!r} is of type {type(value).__name__}, expected {expected}")
    for item in value if get_origin(annotation) is list else ():
        check_type(name, item, *get_args(annotation))


def check_range(name: str, number: int | float) -> None:
    """Raise ValueError unless the number is finite and, where the name is well known, in its range."""
    lowest, included, below = RANGES.get(name, (-math.inf, True, math.inf))
    if not abs(number) <= sys.float_info.max:
        raise ValueError(f"{name} = {reprlib.repr(number)} is not finite, or beyond any float")
    if not (lowest < number < below or (included and number == lowest)):
        bound = f"at least {lowest}" if included else f"greater than {lowest}"
        bound += f" and less than {below}" if math.isfinite(below) else ""
        raise ValueError(f"{name} = {number!r} is impossible: it must be {bound}")


def statements_run() -> list[ast.stmt]:
    """The statements of the cells that ran in this kernel, with or without a history; none where no kernel runs."""
    kernel, found = sys.modules.get("ipykernel.compiler"), []
    for name in list(linecache.cache) if kernel else ():
        if name.startswith(kernel.get_tmp_directory()):
            with suppress(SyntaxError):  # a cell that could not run
                found += ast.parse("".join(linecache.getlines(name))).body
    return found


def annotated_types(namespace: dict[str, object]) -> dict[str, object]:
    """The types of the annotated names of a notebook or a script.

    From Python 3.14 on, ``__annotate__`` is what was compiled last: all of a script, but one statement of a notebook.
    """
    annotate = namespace.get("__annotate__")
    if annotate is None:
        return namespace.get("__annotations__", {})
    nodes = [(ast.unparse(node.target), node) for node in statements_run() if isinstance(node, ast.AnnAssign)]
    types = {name: eval(ast.unparse(node.annotation), namespace) for name, node in nodes if name in namespace}
    return types | annotate(1)


def injected_names(cells: Iterable[str]) -> list[str]:
    """The names that papermill set, from the sources of the cells that have run."""
    injected = [node for cell in cells if cell.startswith("# Parameters\n") for node in ast.parse(cell).body]
    return [target.id for node in injected if isinstance(node, ast.Assign) for target in node.targets]


def default_parameters(cells: Iterable[str]) -> dict[str, object]:
    """Names and default values of the annotated parameters in the sources of some cells."""
    nodes = [node for cell in cells for node in ast.parse(cell).body]
    return {node.target.id: ast.literal_eval(node.value) for node in nodes if isinstance(node, ast.AnnAssign)}
