"""The settings of the runs of chapters 8 and 9, from ``settings.toml``, which says what each of them is."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace

_read = tomllib.loads(Path(__file__).with_name("settings.toml").read_text(encoding="utf-8"))
_settings = {name: SimpleNamespace(**table) for name, table in _read.items()}
JAIN_WALLACE, MEASURES, WORD_LEVEL = (_settings[name] for name in ("jain-wallace", "measures", "word-level"))
QUARREL, BY_EPOCH = _settings["quarrel"], _settings["by-epoch"]
