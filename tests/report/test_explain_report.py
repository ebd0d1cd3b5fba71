"""The three files of a report: never half written, described, and no word of them can become markup or a formula."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import jsonschema
import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from made_report import HOSTILE, made_report, made_rows, made_texts
from test_explain_copies import table_of
from test_explain_lists import explained

from conftest import violations
from uaftc_lib import Corpus
from uaftc_lib.explain.words import class_polarity
from uaftc_lib.report import write
from uaftc_lib.report.predict import push_of_positions
from uaftc_lib.report.prepare import prepare
from uaftc_lib.report.request import Refused
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import folds, train_reader
from uaftc_lib.report.words import Cutter

NAMES = {"words.csv", "predictions.csv", "report.json", "report.html"}
VERDICTS = ("sure", "open", "nothing", "linear is better")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A written report whose classes, file name, columns and words would all like to be markup."""
    folder = tmp_path_factory.mktemp("report") / "out"
    report, words = made_report(HOSTILE)
    assert write.write_report(report, words, folder, of_rows=made_rows(report)) == []
    return folder, report, words


def read_csv(source) -> pd.DataFrame:
    return pd.read_csv(source, keep_default_na=False)


def text_of(page: str) -> str:
    """What a page says."""
    return " ".join(BeautifulSoup(page, "html.parser").text.split())


# --- the files


def test_the_files_hold_what_was_judged(made):
    folder, report, words = made
    stored = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert stored | report | {"vocabulary": None} == stored | {"vocabulary": None}
    table = read_csv(folder / "words.csv")
    assert list(table) == list(write.COLUMNS) and len(table) == len(words)
    assert table["word"].str.removeprefix("'").tolist() == words["word"].str.removeprefix("'").tolist()
    for name in set(table) - {"word", "class"}:
        np.testing.assert_allclose(table[name].astype(float), words[name].astype(float), atol=0.0051, err_msg=name)
    assert stored["vocabulary"]["in_csv"] == stored["vocabulary"]["with_interval"] == words["word"].nunique()


def objects(part) -> Iterator[dict]:
    """Every object of a schema that names properties."""
    if isinstance(part, dict) and isinstance(part.get("properties"), dict):
        yield part
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from objects(inner)


@pytest.mark.parametrize("verdict", VERDICTS)
def test_every_key_and_column_is_described(made, tmp_path, verdict):
    for one in objects(write.SCHEMA):
        assert one.get("additionalProperties") is False, one
        for name, about in one["properties"].items():
            assert {"$ref", "const"} & {*about} or len(about.get("description", "")) >= 4, name
    jsonschema.Draft202012Validator.check_schema(write.SCHEMA)
    report, words = made_report(("a", "b", "c"), verdict=verdict)
    write.write_report(report, words, tmp_path)
    stored = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    jsonschema.validate(stored, write.SCHEMA)
    for name, rows in (("words.csv", words), ("predictions.csv", made_rows(report).table)):
        for one in rows.head(5).to_dict("records"):
            jsonschema.validate(write.finite(one), write.SCHEMA["$defs"][name])
    with pytest.raises(jsonschema.ValidationError, match="new"):
        jsonschema.validate(stored | {"new": 1}, write.SCHEMA)


def test_a_spreadsheet_sees_no_formula(made):
    table = read_csv(made[0] / "words.csv")
    assert {"'=HYPERLINK(1)", HOSTILE[0]} <= set(table["class"]) and "=HYPERLINK(1)" not in set(table["class"])
    assert {"'=1+1", "'@name", "c++"} <= set(table["word"])
    assert write.harmless(pd.Series(["-1", "+1.5", "-x", ""])).tolist() == ["-1", "+1.5", "'-x", ""], "numbers stay"


def test_the_same_report_gives_the_same_bytes_and_what_is_replaced_is_said(made, tmp_path):
    folder, report, words = made
    assert write.write_report(report, words, tmp_path, of_rows=made_rows(report)) == []
    assert all((tmp_path / name).read_bytes() == (folder / name).read_bytes() for name in NAMES)
    (tmp_path / "words.csv").unlink()
    (tmp_path / "own.txt").write_text("mine")
    assert write.write_report(report, words, tmp_path) == ["predictions.csv", "report.json", "report.html"]
    assert {path.name for path in tmp_path.iterdir()} == NAMES | {"own.txt"}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_what_cannot_be_written_leaves_what_was_there(tmp_path, monkeypatch, name):
    """A full disk, or a folder in the place of a file. How files are written together is in test_files.py."""
    report, words = made_report()
    write.write_report(report, words, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    real = Path.write_bytes

    def full(path, content):
        real(path, content[:100])
        if name in path.name:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(Refused, match=f"{name} cannot be written: No space left"):
        patch.setattr(Path, "write_bytes", full)
        write.write_report(report | {"file": "another"}, words, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(Refused, match=f"{name} is a folder"):
        write.write_report(report | {"file": "another"}, words, tmp_path)
    assert all((tmp_path / other).read_bytes() == before[other] for other in NAMES - {name})


def test_very_many_rows_are_for_those_who_ask(tmp_path, monkeypatch):
    report, words = made_report([f"class {k}" for k in range(10)], words=200)
    monkeypatch.setattr(write, "MOST_ROWS", 500)
    write.write_report(report, words, tmp_path / "some")
    some = read_csv(tmp_path / "some" / "words.csv")
    assert len(some) == 500 and (some["word"].value_counts() == 10).all(), "words are whole"
    moved = (words.assign(moved=words["influence"].abs() * words["texts"]).groupby("word")["moved"].max()).nlargest(50)
    order = [word for word in words["word"].unique() if word in set(moved.index)]
    assert some["word"].str.removeprefix("'").drop_duplicates().tolist() == order, "in their old order"
    told = (tmp_path / "some" / "report.html").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "some" / "report.json").read_text(encoding="utf-8"))["vocabulary"]["in_csv"] == 50
    write.write_report(report, words, tmp_path / "all", all_words=True)
    assert len(read_csv(tmp_path / "all" / "words.csv")) == len(words)
    rare = words.tail(30).assign(word=np.repeat(["rare0", "rare1", "rare2"], 10), influence_low=np.nan, q=np.nan)
    write.write_report(report, pd.concat([words, rare]), tmp_path / "rare", all_words=True)
    assert len(read_csv(tmp_path / "rare" / "words.csv")) == len(words) + 30
    assert "rare0" not in (tmp_path / "rare" / "report.html").read_text(encoding="utf-8")
    assert f"words.csv holds the 50 of {words['word'].nunique()} words" in told and "--all-words" in told
    assert "--all-words" not in (tmp_path / "all" / "report.html").read_text(encoding="utf-8")


def test_twenty_classes_of_a_large_vocabulary_stay_small(tmp_path):
    names = [f"talk.politics.{k}" for k in range(20)]
    report, words = made_report(names, words=250, texts=500)
    count = 30_000
    large = words.sample(20 * count, replace=True, random_state=0).assign(
        word=np.repeat([f"another{i}" for i in range(count)], 20), **{"class": names * count}
    )
    write.write_report(report, pd.concat([words, large], ignore_index=True), tmp_path)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 18e6


# --- the page, as it is written


def test_no_word_becomes_markup(made):
    page = BeautifulSoup((made[0] / "report.html").read_text(encoding="utf-8"), "html.parser")
    assert len(page("script")) == 2 and not page(["img", "b", "u", "i", "iframe", "link"])
    attributes = [each for tag in page(True) for each in tag.attrs.items()]
    assert not [name for name, _ in attributes if name.startswith("on") or name == "style"]
    assert not [value for name, value in attributes if name in ("src", "href") and not value.startswith("#")]
    for name in HOSTILE:
        assert name in page.text, "hostile names are shown as they are"


def page_of(report, words) -> str:
    """The page of a report whose words are all shown."""
    count = words["word"].nunique()
    counted = report["vocabulary"] | {"with_interval": count, "in_csv": count}
    return write.render_page(report | {"vocabulary": counted}, words, write.COLUMNS, made_rows(report))


def told_of(**kinds) -> str:
    return text_of(page_of(*made_report(("a", "b", "c"), **kinds)))


def test_first_things_first():
    told = told_of()
    parts = [
        "Conclusions may be drawn about this model, and",
        "Look first: 12 % of the rows",
        "One word nearly decides a class",
    ]
    parts += ["For a class: its words", "For a word: how", "What may be concluded, and", "How good it is Five models"]
    places = [told.index(part) for part in [*parts, "Texts Unseen texts", "Data and settings"]]
    assert places == sorted(places)
    assert "gets 98 % right with the word and 55 % without it, of all texts 90 % and 70 %" in told
    for word in ("log-loss", "AUC", "balanced accuracy", "recall", "Calibration", "influence_low", "q_beyond"):
        assert word in told
    for about in write.COLUMNS.values():
        assert about["description"] in told, "columns are called and described as in words.csv"


@pytest.mark.parametrize("counted", [False, True])
def test_a_list_says_how_many_words_it_leaves_out(counted):
    report, words = made_report(("a", "b", "c"), texts=300)
    report |= {"listed": {"a": 3, "b": 4, "c": 1234}} | ({"quality": None} if counted else {})
    page = page_of(report, words)
    assert re.findall("([^<>]+) listed words shown", page) == ["3 of 4", "3 of 1,234"]
    for row in sum(report["top_words"].values(), []):
        assert f"<small>{row['texts_of_class']} of its {row['texts']} texts</small>" in page
    assert page.count("33\u00a0% of all texts") == 3


def test_what_is_listed_and_may_be_concluded_knows_the_verdict():
    sure, unclear, nothing, linear = (told_of(verdict=verdict) for verdict in VERDICTS)
    assert (
        "Nothing is listed" in nothing
        and "of its" not in nothing.partition("For a word")[0].partition("For a class")[2]
    )
    assert "The linear model, which is better, leans most on: mark00, word1." in linear and "leans most on" not in sure
    assert "May: that one word pushes" in sure and "May not: that the word causes" in sure
    assert "Nothing: the model does not tell the classes apart" in nothing and "May:" not in nothing
    assert "nearly decides a class" not in nothing, "what no conclusion may be drawn about is not pointed at"
    assert "But look first at mark00, below." in sure and "But look first at mark00, below." in unclear
    assert "But look first" not in nothing and "But look first" not in linear


def test_what_cannot_be_measured_is_a_dash():
    report, words = made_report(("a", "b"))
    quality = report["quality"]
    for part in ("log_loss", "auc", "margin"):
        quality[part] = dict.fromkeys(quality[part], float("nan"))
    told = text_of(page_of(report, words)).partition("How good it is Five")[2].partition("Suspect labels")[0]
    assert "nan" not in told and "None" not in told and "no interval" in told


def test_words_that_decide_together_are_linked_one_by_one():
    report, words = made_report(("a", "b"))
    report["deciding"][0] |= {"word": "mark00,mark01", "covered": 0.9}
    card = page_of(report, words).partition('<section id="verdict"')[2].partition("</section>")[0]
    assert card.count('word=mark00"') == card.count('word=mark01"') == 2
    assert "Single words nearly decide" in card and "without them" in card
    assert write.parted("3,5", words.replace("word1", "3,5")) == ["3,5"]


def test_a_word_that_half_of_a_class_holds_does_not_decide_it():
    report, words = made_report(("a", "b"))
    report["deciding"][0]["covered"] = 0.89
    told = page_of(report, words)
    assert "One word by itself tells a class." in told and "nearly decide" not in told
    assert "89\u00a0% of the class’s texts hold it" in told


def test_a_recurrent_encoder_is_spoken_of_truly():
    plain, recurrent = told_of(), told_of(encoder="lstm")
    assert "add up to its scores" in plain and "add up to its scores" not in recurrent
    assert "read again without each of its words" in recurrent


def test_every_listed_word_is_in_the_table_of_the_page(monkeypatch):
    """Many classes: the table holds few words, and some of the listed ones move little in all."""
    monkeypatch.setattr(write, "SHOWN_NUMBERS", 200_000)
    classes, count = 50, 1500
    names = [f"word{i}" for i in range(count)]
    words = pd.DataFrame({"word": np.repeat(names, classes), "class": list(range(classes)) * count})
    words = words.assign(influence=np.repeat(np.arange(count)[::-1] / count, classes), listed=False)
    words = words.assign(**dict.fromkeys(set(write.COLUMNS) - {*words}, 1))
    usual = [row[0] for row in write.word_rows(words, classes, set())]
    assert usual == names[: len(usual)] and len(usual) == 500
    few = {"word7", "word1490"}
    rows = [row[0] for row in write.word_rows(words, classes, few)]
    assert set(rows[:2]) == few and len(rows) == len(usual)
    assert [name for name in rows if name not in few] == [name for name in names if name not in few][: len(usual) - 2]
    many = set(names[500:])
    assert {row[0] for row in write.word_rows(words, classes, many)} == many


def test_the_page_holds_four_digits_of_each_number():
    values = np.array([[0.123456, -12345.678, 0.0], [np.nan, np.inf, 9.9999e-7]])
    assert write.four_digits(values) == [[0.1235, -12350.0, 0.0], [None, None, 1e-6]]


def test_numbers_are_told_plainly():
    told = [write.signed(x) for x in (0.004, -0.004, 0.0, 0.006, -0.006, 12.34, -1234.5)]
    assert told == ["0.00", "0.00", "0.00", "+0.01", "−0.01", "+12.3", "−1,235"]
    assert [write.plain(x) for x in (0.125, 12.35, 1.005, None, float("nan"))] == ["0.13", "12.4", "1.01", "–", "–"]
    assert (write.signed(None), write.signed(float("nan")), write.signed(float("inf"))) == ("–", "–", "–")
    assert [write.percent(x, 0) for x in (0.5, -0.001, None, float("nan"))] == ["50\u00a0%", "0\u00a0%", "–", "–"]
    assert write.fragment("a=b&c#/\ud800") == "a%3Db%26c%23%2F%3F"


# --- the page in a browser


DESKTOP, PHONE = (1280, "light"), (390, "dark")
on_both = pytest.mark.parametrize("opened", [DESKTOP, PHONE], ids=["desktop light", "phone dark"], indirect=True)


@pytest.fixture
def opened(request, browser, made):
    """The report in a browser; whatever it complains of or asks for from outside is an error."""
    width, scheme = getattr(request, "param", DESKTOP)
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        permissions=["clipboard-read", "clipboard-write"],
        accept_downloads=True,
    )
    tab, troubles = context.new_page(), []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("dialog", lambda dialog: troubles.append("dialog") or dialog.dismiss())
    tab.on("request", lambda each: each.url.startswith(("file:", "blob:file:")) or troubles.append(each.url))
    tab.goto((made[0] / "report.html").as_uri())
    yield tab
    context.close()
    assert troubles == []


def rows_of(tab):
    return [row.split("\t") for row in tab.locator("#rows > tr").all_inner_texts()]


def words_of(tab):
    return tab.locator("#rows td:first-child").all_text_contents()


def sideways(tab) -> bool:
    return tab.evaluate("document.documentElement.scrollWidth > innerWidth")


@on_both
def test_the_table_shows_what_words_csv_holds(opened, made):
    words = made[2]
    assert not sideways(opened), "the page must not scroll sideways"
    opened.click("nav >> text=Word → classes")
    nav, heading = (opened.locator(each).bounding_box() for each in ("nav", "#words h2"))
    assert nav["y"] == 0 and nav["height"] <= heading["y"] < 200, "a jump shows the heading, and the way back"
    for name in HOSTILE:
        opened.select_option("#class", label=name)
        mine = words[words["class"] == name]
        best = mine.sort_values(["listed", "total"], ascending=False)["word"].map(write.shortened).tolist()
        assert words_of(opened)[:10] == best[:10], "in the order of the lists at first"
        listed = opened.locator("#rows .listed td:first-child").all_text_contents()
        assert {*listed} == set(mine[mine["listed"]]["word"])
    for key in ("total", "texts", "texts_of_class", "probability", "attention", "influence", "influence_high"):
        opened.select_option("#order", label=key)
        best = mine.sort_values(key, ascending=False, kind="stable")[key].to_numpy()[:40]
        column = opened.locator("th[data-key]").evaluate_all("all => all.map((head) => head.dataset.key)").index(key)
        cells = opened.locator(f"#rows td:nth-child({column + 1})").all_text_contents()
        shown = [float(each.replace("−", "-").replace(",", "")) for each in cells]
        np.testing.assert_allclose(shown, best, atol=0.0051 if abs(best).max() < 10 else 0.51)
    opened.click("th[data-key=word] button")
    first = words_of(opened)
    assert opened.get_attribute("th[data-key=word]", "aria-sort") == "ascending"
    opened.click("th[data-key=word] button")
    assert opened.get_attribute("th[data-key=word]", "aria-sort") == "descending" and words_of(opened)[0] != first[0]
    opened.fill("#search", "yyyy")
    assert "y" * 59 + "…" in opened.inner_text("#rows") and "y" * 60 not in opened.inner_text("#rows")
    opened.fill("#search", "MARK")
    assert set(words_of(opened)) == {word for word in words["word"] if word.startswith("mark")}
    opened.fill("#search", "nosuchword")
    assert rows_of(opened) == [] and "words.csv" in opened.inner_text("#found")
    opened.fill("#search", "")
    opened.click("#more")
    assert len(rows_of(opened)) == words["word"].nunique()
    assert not sideways(opened)


@on_both
def test_a_word_against_every_class(opened, made):
    _, report, words = made
    opened.click(".tops tr:first-child a >> nth=2")
    name = report["classes"][2]["name"]
    best = report["top_words"][name][0]
    assert opened.inner_text("#word h3") == best["word"]
    nav, word = (opened.locator(each).bounding_box() for each in ("nav", "#word"))
    assert nav["y"] + nav["height"] - 1 <= word["y"] < 300, "what was asked for is in sight"
    rows = [row.split("\t") for row in opened.locator("#word table tr").all_inner_texts()]
    assert len(rows) == 4 and "alert" in opened.inner_text("#word")
    mine = words[words["word"] == best["word"]].set_index("class").sort_values("influence", ascending=False)
    assert [float(row[-1].replace("−", "-")) for row in rows] == pytest.approx(mine["influence"].tolist(), abs=0.0051)
    for row, one in zip(rows, mine.itertuples()):
        assert f"{one.texts_of_class} of its {one.texts} texts (" in row[0] and "\u00a0%); of all 25" in row[0]
        assert f"{write.plain(one.influence_low)} to {write.plain(one.influence_high)}" in row[1]
    assert opened.evaluate("document.querySelector('#word table').getBoundingClientRect().right <= innerWidth")
    opened.go_back()
    assert not opened.is_visible("#word"), "back is where one came from"


def test_what_is_chosen_stands_in_the_address(opened, made, browser):
    """And comes from there on load: a link can be sent, whatever the words and classes are called."""
    opened.select_option("#class", label=HOSTILE[2])
    opened.select_option("#order", label="texts")
    opened.fill("#search", "a")
    opened.click("#rows a >> text=a=b&c")
    address = opened.evaluate("location.href")
    assert f"class={quote(HOSTILE[2], safe='')}" in address.replace("+", "%20") and "word=a%3Db%26c" in address
    shown = words_of(opened)
    assert len(shown) > 3
    other = browser.new_page()
    for tab, link in ((other, address), (opened, address.partition("#")[0]), (opened, address)):
        tab.goto("about:blank")
        tab.goto(link)
        if "#" not in link:
            assert tab.input_value("#search") == "" and not tab.is_visible("#word")
            continue
        assert tab.evaluate("document.querySelector('#class').selectedOptions[0].textContent") == HOSTILE[2]
        assert (tab.input_value("#search"), tab.input_value("#order")) == ("a", "texts")
        assert tab.inner_text("#word h3") == "a=b&c" and words_of(tab) == shown
        assert tab.get_attribute("th[data-key=texts]", "aria-sort") == "descending"
    other.goto(address.partition("#")[0] + "#class=nobody&order=-word&word=nothing&search=%E0%A4%A")
    assert "not in the table of this page" in other.inner_text("#word")
    assert other.get_attribute("th[data-key=word]", "aria-sort") == "descending"
    other.close()


@on_both
def test_every_link_leads_to_its_word(opened, made):
    links = "#verdict a[href*='word='], #classes a, #caveats a, #rows a"
    asked = "all => all.map((each) => new URLSearchParams(new URL(each.href).hash.slice(1)).get('word'))"
    found = opened.locator(links).evaluate_all(asked)
    assert len(found) > 50 and {*found} <= set(made[2]["word"])


def test_a_number_is_the_same_wherever_it_stands(opened, made):
    """In the list of a class, in the table and against every class."""
    for k, name in enumerate(each["name"] for each in made[1]["classes"]):
        opened.select_option("#class", label=name)
        opened.fill("#search", "mark")
        shown = {cells[0]: (cells[1], cells[4]) for _, cells in lines_of(opened, "#rows tr")}
        for word, cells in lines_of(opened, f".tops[data-class='{k}'] tbody tr"):
            if word in shown:
                assert (cells[2], cells[3]) == shown[word]


def lines_of(tab, which) -> list[tuple[str, list[str]]]:
    """Of each line of a table the word that it is of, and its cells."""
    cells = "(line) => [line.dataset.word, [...line.querySelectorAll('td')].map((cell) => cell.textContent)]"
    return tab.locator(which).evaluate_all(f"all => all.map({cells})")


def test_copy_and_download_give_what_is_shown(opened, made):
    words = made[2]
    columns = [name for name in write.COLUMNS if not name.startswith("q")]

    def agrees(table, name, expected):
        assert list(table) == columns and set(table["class"].str.removeprefix("'")) == {name}
        assert table["word"].tolist() == write.harmless(expected["word"]).tolist()
        for column in columns[3:]:
            np.testing.assert_allclose(table[column], expected[column].astype(float), rtol=0.002, atol=1e-6)

    name = made[1]["classes"][1]["name"]
    opened.click("#classes button >> nth=1")
    opened.wait_for_selector("#classes button >> nth=1 >> text=copied")
    text = opened.evaluate("navigator.clipboard.readText()")
    copied = pd.read_csv(io.StringIO(text), sep="\t", keep_default_na=False)
    listed = words[(words["class"] == name) & words["listed"]].sort_values("total", ascending=False)
    agrees(copied, name, listed)
    opened.select_option("#class", label=HOSTILE[2])
    opened.select_option("#order", label="total")
    with opened.expect_download() as all_words:
        opened.click("#download")
    assert all_words.value.suggested_filename == "words HYPERLINK 1.csv"
    mine = words[words["class"] == HOSTILE[2]].sort_values("total", ascending=False)
    agrees(read_csv(all_words.value.path()), HOSTILE[2], mine)
    opened.fill("#search", "o")
    with opened.expect_download() as some:
        opened.click("#download")
    agrees(read_csv(some.value.path()), HOSTILE[2], mine[mine["word"].str.contains("o")])


@on_both
def test_axe_finds_nothing(opened, axe):
    opened.click("#rows a")
    for more in opened.query_selector_all("details:not([open]) > summary"):
        more.click()
    opened.evaluate("scrollTo({ top: 0, behavior: 'instant' })")  # the bar that stays at the top covers no link
    assert violations(opened, axe) == []


def test_a_text_stands_as_it_is_in_the_file(opened):
    """Cut into words and what stands between them, it is the same text, however strange, but for blank lines."""
    while (more := opened.locator("#texts button")).is_visible():
        more.click()
    assert opened.locator("#texts .text").all_text_contents() == [one["text"] for one in made_texts()]
    drawn = opened.evaluate(
        """() => {
            drawText(document.body, "a\\n \\n\\nb", [[0, 1, 1, 0], [5, 6, 1, 0]]);
            return document.body.lastChild.textContent;
        }"""
    )
    assert drawn == "a\n\nb"


@on_both
def test_the_numbers_of_a_text_are_within_reach_of_keys(opened, made):
    example = made_texts()[0]
    opened.focus("#texts details summary")
    opened.keyboard.press("Enter")
    rows = [row.split("\t") for row in opened.locator("#texts details[open] tbody tr").all_inner_texts()]
    assert [float(row[1].replace("−", "-")) for row in rows] == pytest.approx(
        [word["influence"] for word in example["words"]], abs=0.0051
    )


def test_the_policy_lets_nothing_in(browser, made):
    """The policy itself refuses inline code and requests, should anything ever get past the escaping."""
    tab = browser.new_page()
    tab.goto((made[0] / "report.html").as_uri())
    tab.evaluate(
        """() => new Promise((failed) => {
            const script = document.createElement("script");
            script.textContent = "window.got = 1";
            const image = document.createElement("img");
            image.setAttribute("onerror", "window.got = 2");
            image.addEventListener("error", () => failed());
            image.src = "nowhere.png";
            document.body.append(script, image);
        })"""
    )
    assert tab.evaluate("window.got") is None
    refused = """() => new Promise((told) => {
        document.addEventListener("securitypolicyviolation", (event) => told(event.effectiveDirective));
        fetch("http://127.0.0.1:9/").catch(() => setTimeout(told, 500, "let through"));
    })"""
    assert tab.evaluate(refused) == "connect-src"
    tab.close()


def test_right_to_left_reads_right_to_left(browser, tmp_path):
    text = "שלום, עולם 3.5 (טוב)"
    found = [(0, 4), (6, 10), (11, 14), (16, 19)]
    words = [{"span": span, "word": text[slice(*span)], "influence": 1.0} for span in found]
    report, table = made_report(("טוב", "רע"), special=("שלום", "مرحبا"))
    rows = made_rows(report, [{"row": 1, "text": text, "words": words}])
    write.write_report(report, table, tmp_path, of_rows=rows)
    tab = browser.new_page()
    tab.goto((tmp_path / "report.html").as_uri() + "#word=" + quote("مرحبا"))
    assert tab.evaluate("getComputedStyle(document.querySelector('#texts .text')).direction") == "rtl"
    left = [each.bounding_box()["x"] for each in tab.query_selector_all("#texts .text >> nth=0 >> .w")]
    assert left == sorted(left, reverse=True), "the first word stands to the right of the second"
    assert tab.text_content("#texts .text").strip() == text
    tab.fill("#search", "שלום")
    assert tab.evaluate("getComputedStyle(document.querySelector('#search')).direction") == "rtl"
    isolated = "getComputedStyle(document.querySelector('#rows bdi')).unicodeBidi"
    assert tab.evaluate(isolated) == "isolate" and words_of(tab) == ["שלום"]
    tab.close()


@pytest.mark.parametrize("classes", [3, 8, 50])
def test_many_classes_can_be_read_on_a_phone(browser, tmp_path, classes):
    names = [f"alike class number {k:02} of many" for k in range(classes)]
    report, words = made_report(names, texts=max(400, 20 * classes))
    write.write_report(report, words, tmp_path)
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    tab.goto((tmp_path / "report.html").as_uri())
    folded = tab.query_selector_all(".lists details")
    assert len(folded) == (classes if classes > 8 else 0)
    if folded:
        tab.click("text=Open all")
        assert tab.inner_text("#open") == "Close all"
    assert tab.locator(".tops:visible").count() == classes
    tab.select_option("#class", label=names[-1])
    tab.click(f"#rows a >> text=mark{classes - 1}0")
    tab.wait_for_selector("#word tr")
    pushes = tab.locator("#word tr:visible").all_inner_texts()
    assert len(pushes) == (9 if classes > 12 else classes), "the strongest both ways"
    assert pushes[0].startswith(names[-1])
    assert not sideways(tab)
    if classes > 12:
        tab.click(f"text=Show the {classes - 9} classes between")
        assert tab.locator("#word tr:visible").count() == classes
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert tab.evaluate("document.querySelector('nav').getBoundingClientRect().top") == 0, "the way back stays in sight"
    tab.close()


# --- the whole way


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What comes of a file, and the file."""
    folder, random = tmp_path_factory.mktemp("run"), np.random.default_rng(0)
    rows = [
        (
            " ".join(
                [
                    *random.choice([f"Word{i}" for i in range(60)], 9),
                    f"(mark{k}{random.choice([*'abc'])})" * (random.random() < 0.8),
                    "!",
                ]
            ),
            k,
        )
        for k in np.arange(300) % 3
    ]
    table = pd.DataFrame(rows, columns=["text", "label"])
    explained(table, folder, Settings(epochs=3, dimension=4, learning_rate=0.1))
    return folder / "out", table


def test_what_comes_of_a_file_is_as_described(run):
    stored = json.loads((run[0] / "report.json").read_text(encoding="utf-8"))
    table = read_csv(run[0] / "words.csv")
    assert list(table) == list(write.COLUMNS)
    for name, rows in stored["top_words"].items():
        mine = table[(table["class"].astype(str) == name) & table["listed"].astype(str).eq("True")]
        assert stored["listed"][name] == len(mine)
        assert [row["word"] for row in rows] == mine.nlargest(15, "total")["word"].tolist()
        for row, one in zip(rows, mine.nlargest(15, "total").itertuples()):
            assert (row["texts"], row["texts_of_class"]) == (one.texts, one.texts_of_class)
            assert row["influence"] == pytest.approx(one.influence, abs=1e-4)


@pytest.mark.parametrize("encoder, classes", [("none", 2), ("none", 3), ("lstm", 2), ("lstm", 3)])
def test_influence_means_the_same_in_a_text_and_in_the_table(encoder, classes):
    """What a word adds to the score of the answer; of a recurrent encoder the fall when the text is read without it."""
    random = np.random.default_rng(1)
    labels, cutter = [str(i % classes) for i in range(150)], Cutter()
    texts = [" ".join(random.choice(list("abcdefgh"), 6)) + f", mark{k}!" for k in labels]
    prepared = prepare(table_of(texts, labels), cutter)
    whole = prepared.whole
    fold = next(folds(whole.labels.numpy(), np.arange(len(whole))))
    settings = Settings(epochs=2, dimension=4, encoder=encoder)
    reader = train_reader(whole, prepared.vocabulary, fold, settings, 0, lambda *_: None)
    corpus = reader.read(whole, fold.test[:1])
    answer = reader.probability(whole, fold.test[:1]).argmax(1)

    def score(corpus) -> float:
        return float(class_polarity(reader.model(corpus).polarity)[0, answer[0]].detach())

    _, attention, pushes = push_of_positions(reader, whole, fold.test[:1], answer)
    assert attention.sum() == pytest.approx(1, abs=1e-4)
    if encoder == "none":
        assert sum(pushes) == pytest.approx(score(corpus), abs=1e-4)
    else:
        tokens = corpus.tokens.tolist()
        for j, push in enumerate(pushes):
            others = Corpus.from_lists([tokens[:j] + tokens[j + 1 :]], [0], classes, prepared.classes)
            assert push == pytest.approx(score(corpus) - score(others), abs=1e-4)
