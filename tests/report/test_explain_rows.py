"""After the list: the texts of a word, the answer about every row, a saved model and the box of the page."""

import itertools
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from cases import uaftc
from click.testing import CliRunner
from test_explain_copies import table_of
from test_explain_lists import explained

from uaftc_lib import AttentionClassifier, Corpus, explain
from uaftc_lib.cli import app
from uaftc_lib.corpus import Vocabulary
from uaftc_lib.explain.flips import class_scores
from uaftc_lib.progress import progress_bar
from uaftc_lib.report import ask, predict, sentences
from uaftc_lib.report.prepare import prepare
from uaftc_lib.report.request import SAVED
from uaftc_lib.report.settings import Settings
from uaftc_lib.report.train import train
from uaftc_lib.report.words import Cutter

FLIPPED = 0.06  # share of labels that are wrong
STRANGE = [
    "mark00 word1 never-seen Word2’s ＷＯＲＤ３ ﬁne http://X.org/a?b=c C++11 U.S.A. $5.50 50% :-) <3",
    "#tag @name ❤️ the1️⃣ 👩🏽‍🚀",
    "don´t naïve soft\u00adhyphen zero\u200bwidth re‑use 中文 ไทย שלום Ünïcode 3.5 node.js AT&T word4",
]  # fmt: skip


def made_rows(classes=2, rows=600, seed=0):
    """Texts of twelve words, of which most hold a mark of their class; some labels are flipped."""
    random = np.random.default_rng(seed)
    truth = np.arange(rows) % classes
    marks = [f"mark{k}{random.integers(3)}" if random.random() < 0.9 else "word0" for k in truth]
    texts = [" ".join(random.permutation([mark, *(f"Word{i}" for i in random.integers(0, 60, 11))])) for mark in marks]
    label = np.where(random.random(rows) < FLIPPED, (truth + 1) % classes, truth)
    return pd.DataFrame({"text": texts, "label": [f"class {k}" for k in label]}), truth != label


@pytest.fixture(scope="module", params=[(2, 1), (3, 1), (3, 2)], ids=["two classes", "three classes", "pairs"])
def made(request, tmp_path_factory):
    """A report with its saved models: its folder, that of the models, the rows, and which labels are wrong."""
    classes, ngrams = request.param
    folder = tmp_path_factory.mktemp("rows")
    rows, wrong = made_rows(classes)
    settings = Settings(dimension=8, learning_rate=0.1, epochs=20, ngrams=ngrams)
    explained(rows, folder, settings, save=folder / "model")
    return folder / "out", folder / "model", rows, wrong


def predictions(folder) -> pd.DataFrame:
    return pd.read_csv(folder / "predictions.csv", keep_default_na=False, na_values={"suspect": ""})


# --- predictions.csv


def test_every_row_is_answered_by_models_that_have_not_seen_it(made):
    table, rows, wrong = predictions(made[0]), made[2], made[3]
    assert table["row"].tolist() == list(range(1, len(rows) + 1)) and (table["label"] == rows["label"]).all()
    held = rows["text"].str.contains("mark")
    right = table["answer"] == table["label"]
    assert right[held].mean() == pytest.approx(1 - wrong[held].mean(), abs=0.02), "wrong labels are not answered"
    assert table["probability"].mean() == pytest.approx(right.mean(), abs=0.03), "calibrated"
    assert (table["label_probability"] <= table["probability"]).all()
    named = table["words"].str.split(" [+]", n=1).str[0]
    assert (named[held].str.contains("mark")).mean() > 0.95, "the mark pushes most"


def test_suspect_labels_are_the_wrong_ones(made):
    table, wrong = predictions(made[0]), made[3]
    suspect = table["suspect"].notna()
    assert wrong[suspect].mean() > 0.75 and suspect[wrong].mean() > 0.7
    order = table[suspect].sort_values("suspect")
    assert order["suspect"].tolist() == list(range(1, len(order) + 1))
    assert order["label_probability"].is_monotonic_increasing
    report = json.loads((made[0] / "report.json").read_text(encoding="utf-8"))
    assert report["suspect_labels"] == suspect.sum()


def test_of_labels_that_nothing_predicts_none_is_suspect(tmp_path):
    rows, _ = made_rows(rows=200)
    rows["label"] = np.random.default_rng(1).permutation(rows["label"])
    report, _ = explained(rows, tmp_path, Settings(dimension=4, epochs=3))
    assert report["quality"]["verdict"] == "nothing" and report["suspect_labels"] == 0
    assert predictions(tmp_path / "out")["suspect"].isna().all()


def test_under_a_split_the_texts_of_either_side_are_answered(tmp_path):
    rows, _ = made_rows(rows=400)
    rows["side"] = np.where(np.arange(400) < 300, "train", "test")
    explained(rows, tmp_path, Settings(dimension=8, learning_rate=0.1, epochs=10), split="side")
    table = predictions(tmp_path / "out")
    right = table["answer"] == table["label"]
    assert len(table) == 400 and right[:300].mean() > 0.8 and right[300:].mean() > 0.8 and (table["words"] != "").all()


@pytest.mark.parametrize("heat", [0.4, 1.0, 3.0])
def test_the_temperature_is_that_by_which_logits_were_scaled(heat):
    random = np.random.default_rng(0)
    P = random.dirichlet((1, 1, 1), 20_000)
    labels = np.array([random.choice(3, p=row) for row in P])
    assert predict.temperature(heat * np.log(P), labels, np.ones(20_000)) == pytest.approx(heat, rel=0.05)


def test_the_temperature_of_a_row_knows_nothing_of_its_own_fold():
    rows, _ = made_rows(rows=200)
    prepared = prepare(table_of(rows["text"].tolist(), rows["label"].tolist()), Cutter())
    trained = train(prepared, Settings(dimension=4, learning_rate=0.1, epochs=3), partial(progress_bar, disable=True))
    labels, fold = prepared.whole.labels.clone(), trained.folds[0].held_out
    labels[fold] = 1 - labels[fold]
    other = replace(prepared, whole=replace(prepared.whole, labels=labels))
    one, two = (predict.predict(each, trained, "sure").probability for each in (prepared, other))
    assert (one[fold] == two[fold]).all()
    assert (np.delete(one, fold, 0) != np.delete(two, fold, 0)).any()


# --- the saved model


def answers_of(model, text):
    return ask.ask(model, [text])[0]


@pytest.mark.parametrize(
    "text", ["Word1 mark00 word2 unheard mark11 mark01", "Word1 mark10 word2 unheard mark01 mark12"]
)
def test_what_is_said_of_a_text_is_what_loops_say(made, text):
    """The mean logit; what words add to it; Shapley's values over all orders; the fewest words of all choices."""
    model = ask.load_saved(made[1])
    found = answers_of(model, text)
    words = text.lower().split()
    pairs = [" ".join(pair) for pair in itertools.pairwise(words)] if model.settings.ngrams == 2 else []
    ids = model.vocabulary.encode([*words, *pairs])

    def mean_logits(kept):
        corpus = Corpus.from_lists([[ids[i] for i in kept]], [0], len(model.classes))
        return np.mean([class_scores(each(corpus).polarity.detach())[0] for each in model.models], 0)

    z = mean_logits(range(len(ids)))
    answer = int(z.argmax())
    assert found["class"] == model.classes[answer] and found["unseen"] == ["unheard"]
    P = np.exp(z / model.temperature) / np.exp(z / model.temperature).sum()
    assert [*found["probabilities"].values()] == pytest.approx(P.tolist())
    assert found["low"] <= found["probability"] <= found["high"]
    logit = z[answer] if len(z) > 2 else (2 * answer - 1) * z[1]
    for name in ("contribution", "shapley"):
        assert sum(word[name] for word in found["words"]) == pytest.approx(logit)
    one = Corpus.from_lists([ids], [0], len(model.classes))
    values = np.mean(
        [explain.words.class_polarity(explain.shapley(each, one)).numpy()[:, answer] for each in model.models], 0
    )
    assert [word["shapley"] for word in found["words"]] == pytest.approx(values.tolist())
    if pairs:
        assert found["turned_by"] is None
        return
    turning = [
        out for size in range(1, len(ids)) for out in itertools.combinations(range(len(ids)), size)
        if mean_logits([i for i in range(len(ids)) if i not in out]).argmax() != answer
    ]  # fmt: skip
    fewest = [out for out in turning if len(out) == min(map(len, turning))]
    assert tuple(found["turned_by"]) in fewest if turning else found["turned_by"] is None
    if turning:
        kept = [i for i in range(len(ids)) if i not in found["turned_by"]]
        assert found["turned_to"] == model.classes[mean_logits(kept).argmax()]


def test_a_saved_model_answers_as_the_one_that_was_trained(made):
    """Probabilities of rows, by models that have seen them, are near those by models that have not."""
    model, table = ask.load_saved(made[1]), predictions(made[0])
    found = pd.DataFrame(ask.ask(model, made[2]["text"].tolist(), deep=False))
    assert (found["class"] == table["answer"]).mean() > 0.9
    assert {path.name for path in made[1].iterdir()} == set(SAVED)


@pytest.mark.parametrize("encoder", ["affine", "lstm"])
def test_other_encoders_are_kept_as_well(tmp_path, encoder):
    rows, _ = made_rows(rows=200)
    settings = Settings(dimension=4, learning_rate=0.1, epochs=2, encoder=encoder)
    report, _ = explained(rows, tmp_path, settings, save=tmp_path / "model")
    model = ask.load_saved(tmp_path / "model")
    found = answers_of(model, "mark00 word1 word2")
    assert sum(found["probabilities"].values()) == pytest.approx(1)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    if encoder == "affine":
        assert 'id="new"' in page and found["words"][0]["shapley"] is not None
        return
    assert "This page has no box for a new text: the encoder lstm reads a word together" in page
    assert found["turned_by"] is None and found["words"][0]["shapley"] is None
    words = predictions(tmp_path / "out")["words"]
    assert (words != "").sum() > 100, "of a sample"


def test_what_cannot_be_asked_is_refused_in_words(made, tmp_path):
    folder = tmp_path / "model"
    assert "holds no saved model" in uaftc("ask", folder, "a text").stderr
    folder.mkdir()
    for name in SAVED:
        (folder / name).write_bytes((made[1] / name).read_bytes())
    assert "there is no word in this text" in uaftc("ask", folder, " .,; ").stdout
    assert "none of these words is known" in uaftc("ask", folder, "nonsense").stdout
    for words in ((), ("a", "--rows", "x")):
        assert "give one of" in uaftc("ask", folder, *words).stderr
    assert "names a column of --rows" in uaftc("ask", folder, "a", "--text", "b").stderr
    assert "cannot be read as utf-8" in uaftc("ask", folder, "--file", tmp_path / "none.txt").stderr
    for name, content in zip(SAVED, (b"0123456789", b"{}")):
        whole = (folder / name).read_bytes()
        for damaged in (content, whole[:-20], b""):
            (folder / name).write_bytes(damaged)
            done = uaftc("ask", folder, "a text")
            assert done.exit_code == 2 and "holds no model that can be read" in done.stderr, (name, damaged[:20])
        (folder / name).write_bytes(whole)
    about = json.loads((folder / SAVED[1]).read_text(encoding="utf-8"))
    (folder / SAVED[1]).write_text(json.dumps(about | {"format": 99}))
    assert "in another format: save it anew" in uaftc("ask", folder, "a text").stderr


def test_the_command_answers_about_a_text_a_file_and_rows(made, tmp_path):
    folder, rows = made[1], made[2].head(5)
    said = uaftc("ask", folder, "mark00 nonsense").stdout
    assert said.startswith(("class 0: probability 0.", "class 0: probability >0.99")) and "mark00" in said
    assert "never seen, or in one text only: nonsense" in said
    for words in ((folder, "-"), (folder, "--file", "-")):
        piped = CliRunner().invoke(
            app, ["ask", *map(str, words), "--encoding", "latin-1"], input="mark00 caf\xe9".encode("latin-1")
        )
        assert "never seen, or in one text only: café" in piped.stdout
        assert "cannot be read as utf-8" in CliRunner().invoke(app, ["ask", *map(str, words)], input=b"\xe9").stderr
    (tmp_path / "text.txt").write_text("mark10\nword1")
    by_file = json.loads(uaftc("ask", folder, "--file", tmp_path / "text.txt", "--json").stdout)
    assert by_file["class"] == "class 1" and by_file["text"] == "mark10\nword1"
    rows.loc[2, "text"] = "..."
    rows.to_csv(tmp_path / "new.csv", index=False)
    done = uaftc("ask", folder, "--rows", tmp_path / "new.csv")
    assert done.exit_code == 0, done.stderr
    table = done.stdout.splitlines()
    assert table[0] == "row,class,probability,low,high" and len(table) == 6
    lines = uaftc("ask", folder, "--rows", tmp_path / "new.csv", "--text", "text", "--json").stdout.splitlines()
    assert [json.loads(line)["row"] for line in lines] == [1, 2, 3, 4, 5]
    assert [json.loads(line)["class"] or "" for line in lines] == [line.split(",")[1] for line in table[1:]]


def test_texts_of_more_than_a_thousand_words_are_answered_and_not_shown(tmp_path):
    rows, _ = made_rows(rows=120)
    rows["text"] = [" ".join([text] * 100) for text in rows["text"]]
    explained(rows, tmp_path, Settings(dimension=4, learning_rate=0.1, epochs=2), save=tmp_path / "model")
    assert len(predictions(tmp_path / "out")) == 120
    found = answers_of(ask.load_saved(tmp_path / "model"), rows["text"][0])
    assert len(found["words"]) == 1200 and found["turned_by"] is None


def test_no_text_is_shared_where_none_may_be(tmp_path):
    rows, _ = made_rows(rows=200)
    rows["text"] += " Secretly ours"
    explained(
        rows, tmp_path, Settings(dimension=4, learning_rate=0.1, epochs=3), no_texts=True, save=tmp_path / "model"
    )
    files = [*(tmp_path / "out").iterdir(), *(tmp_path / "model").iterdir()]
    assert len(files) == 6 and not [path.name for path in files if b"Secretly ours" in path.read_bytes()]
    assert "No text of the file is shown." in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


# --- the page


@pytest.fixture
def page(made, browser):
    """The report in a browser, and what it complains of."""
    tab, troubles = browser.new_page(), []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.goto((made[0] / "report.html").as_uri())
    yield tab
    tab.close()
    assert troubles == []


def test_a_word_leads_to_its_texts(page, made):
    page.locator("#classes a", has_text="mark00").first.focus()
    page.keyboard.press("Enter")
    texts = made[2][made[2]["text"].str.contains("mark00")]
    table = predictions(made[0]).set_index("row")
    place = page.locator("#word")
    held = len(texts)
    assert place.locator("option").first.text_content() == f"all ({held})"
    while place.locator("button:visible").count():
        place.locator("button").focus()
        page.keyboard.press("Enter")
    shown = {int(line.split(":")[0].removeprefix("Row ")) for line in place.locator(".card p.soft").all_text_contents()}
    assert shown == {row + 1 for row in texts.index}
    assert place.locator(".card .text").first.text_content() in set(texts["text"])
    place.locator("select").first.focus()
    for kind in ("right", "wrong"):
        page.keyboard.press("ArrowDown")
        assert page.locator("#word select").first.input_value() == kind
    wrong = [row for row in sorted(shown) if table["answer"][row] != table["label"][row]]
    rows = [int(line.split(":")[0].removeprefix("Row ")) for line in place.locator(".card p.soft").all_text_contents()]
    assert set(rows) <= set(wrong) and len(rows) == min(3, len(wrong)) > 0


def test_suspect_labels_lead_to_their_texts(page, made):
    table = predictions(made[0]).dropna(subset="suspect").sort_values("suspect")
    rows = [
        int(line.split(":")[0].removeprefix("Row "))
        for line in page.locator("#labels .card p.soft").all_text_contents()
    ]
    assert rows == table["row"].head(3).tolist()


def test_the_box_answers_as_python_does(page, made):
    model = ask.load_saved(made[1])
    texts = [*STRANGE, "unheard", "mark00 " * 40, *made[2]["text"].head(95)]
    assert len(texts) == 100
    found = page.evaluate("(texts) => texts.map(ask)", texts)
    for text, expected, said in zip(texts, ask.ask(model, texts), found):
        assert [word["word"] for word in said["words"]] == [word["word"] for word in expected["words"]], text
        assert model.classes[said["answer"]] == expected["class"] and said["unseen"] == expected["unseen"]
        numbers = ("contribution", "shapley", "attention")
        of_words = [[word[name] for word in each["words"] for name in numbers] for each in (said, expected)]
        whole = [[*expected["probabilities"].values()], expected["low"], expected["high"]]
        assert np.abs(np.subtract(*of_words)).max() < 1e-6
        assert np.abs(np.hstack([said["probabilities"], said["low"], said["high"]]) - np.hstack(whole)).max() < 1e-6
        to = None if said["turned"] is None else model.classes[said["to"]]
        assert (said["turned"], to, said["tried"]) == tuple(
            expected[name] for name in ("turned_by", "turned_to", "tried")
        )


def test_the_box_is_worked_by_keys_and_says_what_it_does_not_know(page, made):
    page.locator("#new").focus()
    page.keyboard.type("mark10 word3 unheard")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    said = page.locator("#answer").inner_text()
    assert said.startswith("class 1, probability ") and "Never seen, or in one text only: unheard." in said
    assert page.locator("#answer tbody tr").count() == len(
        answers_of(ask.load_saved(made[1]), "mark10 word3 unheard")["words"]
    )


@pytest.mark.parametrize("options, why", [({"words": "spacy:en"}, "spaCy's words"), ({"ignore": "x+"}, "--ignore")])
def test_a_page_without_a_box_says_why(options, why):
    model = AttentionClassifier(4, dimension=2)
    box, said = ask.box(ask.Saved(Settings(**options), "text", ("a", "b"), Vocabulary(["a"]), 1.0, "sure", (model,)))
    assert box is None and why in said


def test_a_page_holds_the_texts_and_scores_that_have_room(monkeypatch, tmp_path):
    monkeypatch.setattr(sentences, "MOST_BYTES", 20_000)
    monkeypatch.setattr(ask, "MOST_BYTES", 1000)
    rows, _ = made_rows(rows=600)
    explained(rows, tmp_path, Settings(dimension=4, learning_rate=0.1, epochs=3))
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('id="numbers">')[2].partition("</script>")[0])
    texts = data["texts"]["texts"]
    assert 30 < len(texts) < 100 and data["texts"]["of"] == 600 and "would make this page" in page and not data["box"]
    words = [row[0] for row in data["rows"]]
    held = {words[i] for *_, each, _ in texts for i in each[2::5] if i >= 0}
    assert held >= set(words[:40]), "each of the first words has texts"
