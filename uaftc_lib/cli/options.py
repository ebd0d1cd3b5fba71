"""From words on the command line to values, and from the fields of a dataclass to options of a command."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import Field, fields
from pathlib import Path

import click

from uaftc_lib import checks
from uaftc_lib.experiments.cells import TABLES, as_json
from uaftc_lib.settings import DEVICES, FULL

TYPES = {"float": float, "int": int, "int | None": int, "str": str, "str | None": str}


def value_of(text: str) -> object:
    """A number, list or other literal as Python reads it; any other text as it stands."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assignments(texts: Iterable[str]) -> dict[str, object]:
    """``["noise=0.2"]`` as ``{"noise": 0.2}``.

    Raises
    ------
    ValueError
        If a text is no NAME=VALUE, or a name stands there twice.
    """
    pairs = [text.partition("=") for text in texts]
    for i, (name, equals, value) in enumerate(pairs):
        if not (name and equals and value):
            raise ValueError(f"expected NAME=VALUE, got {name + equals + value!r}")
        if name in (earlier for earlier, _, _ in pairs[:i]):
            raise ValueError(f"{name} is given twice")
    return {name: value_of(value) for name, _, value in pairs}


def parameters_from(words: list[str]) -> dict[str, object]:
    """``-p NAME VALUE`` and so on as a dict.

    Raises
    ------
    ValueError
        If anything else is there, or a name twice.
    """
    given = {}
    while words:
        if words[0] != "-p" or len(words) < 3:
            raise ValueError(f"expected -p NAME VALUE, got {' '.join(words[:3])!r}")
        if words[1] in given:
            raise ValueError(f"{words[1]} is given twice")
        given[words[1]], words = value_of(words[2]), words[3:]
    return given


class FilledPath(click.Path):
    """A path that is not empty, as that of a shell's unset variable is: it would mean the folder one is in."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """The path, unless it is empty."""
        if value == "":
            told = param.get_error_hint(ctx) if param else "a path"
            raise ValueError(f"{told} is an empty path: is a variable of the shell not set?")
        return super().convert(value, param, ctx)


PATH = FilledPath(path_type=Path)
FOLDER = FilledPath(path_type=Path, file_okay=False)


def known_device(_context: object, _option: object, text: str) -> str:
    """A device by a name of torch; whether this machine has it is found when it is used."""
    kind, colon, number = text.partition(":")
    checks.one_of("device", kind, DEVICES)
    if colon and not number.isdecimal():
        raise ValueError(f"device {text!r} must be one of {', '.join(DEVICES)}, or one with a number, such as cuda:1")
    return text


def option_of(field: Field) -> click.Option:
    """The option of a field of a dataclass of settings (:func:`uaftc_lib.settings.setting`)."""
    about, choices = field.metadata["about"], field.metadata["choices"]
    flag, shown = f"--{field.name.replace('_', '-')}", {"help": about}
    if field.name in TABLES:
        flag = "--option" if field.name == "options" else flag

        def table(_context: object, _option: object, texts: tuple[str, ...]) -> str:
            return as_json(field.name, assignments(texts))

        return click.Option([flag, field.name], multiple=True, metavar="NAME=VALUE", callback=table, **shown)
    if choices:
        shown["help"] += f" One of {', '.join(choices)}."
    if field.type not in TYPES:  # a number or a word
        shown |= {"metavar": f"INTEGER|{FULL}", "callback": lambda _context, _option, text: value_of(text)}
    return click.Option([flag, field.name], type=TYPES.get(field.type, str), default=field.default, **shown)


def options_of(settings: type) -> list[click.Option]:
    """An option for each field of a dataclass of settings."""
    return [option_of(field) for field in fields(settings)]
