"""What the edition says of itself to those who cite or archive it, in one voice."""

import json
import re

import yaml

import uaftc_lib
from uaftc_book.publish import CHECKOUT

CITATION = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
CODEMETA = json.loads((CHECKOUT / "codemeta.json").read_text(encoding="utf-8"))
ZENODO = json.loads((CHECKOUT / ".zenodo.json").read_text(encoding="utf-8"))


def test_version_and_its_day_stand_everywhere():
    latest = re.search(r"^## (\S+) \((.+)\)$", (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert uaftc_lib.__version__ == CITATION["version"] == CODEMETA["version"] == ZENODO["version"] == latest[1]
    day = CITATION["date-released"].isoformat()
    assert CODEMETA["datePublished"] == ZENODO["publication_date"] == latest[2] == day
