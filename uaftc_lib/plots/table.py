"""A frame as a table of a page, written by pandas' Styler."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from pandas.api.types import is_bool_dtype, is_float_dtype, is_numeric_dtype

from uaftc_lib.plots.figure import require

SETTINGS = ("lam", "penalty", "learning_rate", "weight_decay", "weight_range", "noise", "λ")  # set by hand
REMARK, SHORT = 60, 16  # characters; longer texts always wrap, shorter ones never
KEPT_WHOLE = re.compile(r" (?=[^\[\]]{1,16}\])|(?<= [=±]) | (?=[=±] )")  # blanks of an interval, λ = 10 and 60 ± 1
TABLE = 'style="border-collapse:collapse;white-space:nowrap;font-variant-numeric:tabular-nums"'
CELL = {"selector": "tr > *", "props": "padding:0.2em 0.6em;text-align:left"}


@dataclass(frozen=True)
class Table:
    """A table for a page; what is to be its first column must be a column, not the index.

    Parameters
    ----------
    digits : int
        Decimal places of floats; those of settings (lam, penalty, ...) are as short as they are: 10, 0.0001. Whole
        numbers get a comma for thousands, booleans are yes or no, and where there is no number the cell is empty.
    formats : mapping
        Columns that are to be written otherwise, and how: {"weight": ".2f"}.
    links : mapping
        Columns whose cells lead somewhere: an address for each row, empty for none.

    Raises
    ------
    ValueError
        If the frame is empty, or a format is given for a column that is not there or not of numbers.
    """

    data: pd.DataFrame
    digits: int = 3
    formats: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self):
        if not len(self.data):
            raise ValueError("there is nothing to show: the frame is empty")
        require(self.data, *self.formats, *self.links)
        for column in self.formats:
            if not is_numeric_dtype(self.data[column]):
                raise ValueError(f"a format is for numbers, but {column} holds {self.data[column].dtype}")

    def to_html(self) -> str:
        """The table alone, to be set into other HTML; a wide one scrolls, by arrow keys where it has the focus."""
        shown = self.written()
        rules = [CELL, *(rule for place in range(shown.shape[1]) for rule in self.rules(place, shown.iloc[:, place]))]
        for column, addresses in self.links.items():
            pairs = zip(shown[column], addresses)
            shown[column] = [f'<a href="{html.escape(to)}">{text}</a>' if to else text for text, to in pairs]
        heads = [html.escape(self.heading(column), quote=False) for column in shown]
        # On a phone a long text at the end of a row stands below it, by the book's style.
        below = len(heads) > 3 and self.data.iloc[:, -1].map(str).str.len().max() > REMARK / 2
        styler = shown.style.hide(axis="index").relabel_index(heads, axis="columns").set_table_styles(rules)
        name = hashlib.sha256(shown.to_csv().encode()).hexdigest()[:8]
        text = styler.set_uuid(name).set_table_attributes(TABLE).to_html()
        text = re.sub(r">\s+<", "><", re.sub(r'<(t[hd]) id="[^"]*" class="[^"]*" >', r"<\1>", text))
        kind, middle = (" below", f";--middle:{len(heads) - 2}") if below else ("", "")
        return f'<div class="uaftc-table{kind}" style="overflow-x:auto{middle}" tabindex="0">{text}</div>'

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        plain = self.written().set_axis([self.heading(column) for column in self.data], axis="columns")
        return {"text/html": self.to_html(), "text/plain": html.unescape(plain.to_string(index=False))}

    def written(self) -> pd.DataFrame:
        """Every cell as it stands in the page."""
        return pd.DataFrame({column: self.data[column].map(self.form_of(column)) for column in self.data})

    def heading(self, column: str) -> str:
        """A column's name as its head says it."""
        return "λ" if column == "lam" else str(column).replace("_", " ")

    def form_of(self, column: str) -> Callable[[object], str]:
        """How a cell of the column is written."""
        values = self.data[column]
        if is_bool_dtype(values):
            return {True: "yes", False: "no"}.get
        if not is_numeric_dtype(values):
            return lambda cell: KEPT_WHOLE.sub("\N{NO-BREAK SPACE}", html.escape(str(cell), quote=False))
        own = "g" if column in SETTINGS else f".{self.digits}f"
        form = self.formats.get(column) or (own if is_float_dtype(values) else ",")
        return lambda cell: "" if pd.isna(cell) else f"{cell:{form}}".replace("-", "−")

    def rules(self, place: int, cells: pd.Series) -> Iterable[dict]:
        """Numbers stand to the right; remarks and intervals wrap, and where there is no room longer texts do."""
        values, those = self.data.iloc[:, place], f"tr > :nth-child({place + 1})"
        if is_numeric_dtype(values) and not is_bool_dtype(values):
            yield {"selector": those, "props": "text-align:right"}
        elif cells.str.len().max() > REMARK:  # a first column has to leave room for what it is of, and scrolls along
            room = "min-width:var(--remark,16em)" if place else "min-width:9em;max-width:none;position:static"
            yield {"selector": those, "props": f"white-space:normal;{room}"}
        elif cells.str.contains(" [", regex=False).any():
            yield {"selector": those, "props": "white-space:normal"}
        elif cells.str.len().max() > SHORT:
            yield {"selector": those, "props": "white-space:normal;min-width:var(--longer,9em)"}


table = Table  # a verb, as the figure types are
