"""What the edition says of itself to those who cite or archive it, in one voice."""

import json
import re

import yaml
from test_pins import PROJECT

import uaftc_lib
from uaftc_book.publish import CHECKOUT

CITATION = yaml.safe_load((CHECKOUT / "CITATION.cff").read_text(encoding="utf-8"))
CODEMETA = json.loads((CHECKOUT / "codemeta.json").read_text(encoding="utf-8"))
ZENODO = json.loads((CHECKOUT / ".zenodo.json").read_text(encoding="utf-8"))
CONFIG = yaml.safe_load((CHECKOUT / "_config.yml").read_text(encoding="utf-8"))


def test_all_files_say_the_same():
    (author,) = CITATION["authors"]
    (creator,), (written,), (named,) = CODEMETA["author"], ZENODO["creators"], PROJECT["authors"]
    assert {creator["name"], written["name"], named["name"], CONFIG["author"]} == {author["name"]}
    assert CODEMETA["name"] == ZENODO["title"] == CITATION["title"]
    assert CODEMETA["description"] == ZENODO["description"] == CITATION["abstract"]
    assert CODEMETA["keywords"] == ZENODO["keywords"] == PROJECT["keywords"] == CITATION["keywords"]
    assert CODEMETA["license"].rpartition("/")[2] == ZENODO["license"] == PROJECT["license"] == CITATION["license"]
    paper = CITATION["references"][0]["doi"]
    assert [each["identifier"] for each in ZENODO["related_identifiers"]] == [paper]
    assert CODEMETA["referencePublication"]["@id"] == f"https://doi.org/{paper}"


def test_version_and_its_day_stand_everywhere():
    latest = re.search(r"^## (\S+) \((.+)\)$", (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert uaftc_lib.__version__ == CITATION["version"] == CODEMETA["version"] == ZENODO["version"] == latest[1]
    day = CITATION["date-released"].isoformat()
    assert CODEMETA["datePublished"] == ZENODO["publication_date"] == latest[2] == day
