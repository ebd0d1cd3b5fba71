"""SST for the lab: token ids out of the reader's own data home, for a page built there or a live kernel.

They never enter the repository or a published page.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from uaftc_lib.corpus import Dataset
from uaftc_lib.datasets import load_dataset

FILE = "uaftc-sst.js"


def pack(dataset: Dataset) -> dict:
    """Words, and for each split its token ids, lengths and labels, as the lab reads them."""
    splits = {
        name: {
            "tokens": corpus.tokens.tolist(),
            "lengths": corpus.lengths.tolist(),
            "labels": corpus.labels.tolist(),
        }
        for name, corpus in dataset.splits.items()
        if name != "test"
    }
    words = [dataset.vocabulary.word(i) for i in range(len(dataset.vocabulary))]
    return {"words": words, "splits": splits}


def write_sst(folder: str | os.PathLike, data_home: str | os.PathLike | None = None) -> Path:
    """Write the file that lets the pages of ``folder`` offer SST in the lab.

    Raises
    ------
    Exception
        What :func:`load_dataset` raises where SST cannot be had.
    """
    path = Path(folder) / FILE
    text = json.dumps(pack(load_dataset("sst", data_home)), ensure_ascii=False, separators=(",", ":"))
    path.write_text(f"globalThis.uaftcSST = {text};\n", encoding="utf-8")
    return path


def setup(app):
    """As a Sphinx extension: with UAFTC_LAB_SST=1, write the file and tell every page of it."""
    wanted = os.environ.get("UAFTC_LAB_SST") == "1"

    def tell(app, pagename, templatename, context, doctree):
        if wanted:
            address = context["pathto"](f"_static/{FILE}", 1)
            context["metatags"] = context.get("metatags", "") + f'<meta name="uaftc-sst" content="{address}">'

    def write(app, exception):
        if wanted and not exception:
            write_sst(Path(app.outdir) / "_static")

    app.connect("html-page-context", tell)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
