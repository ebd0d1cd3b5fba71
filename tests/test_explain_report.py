"""The report: its numbers are the library's, its verdicts are earned, and no word of it can become markup."""

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner
from test_explain_file import SETTINGS, reviews, written

from uaftc_lib import AttentionClassifier, Corpus, Dataset, TrainingConfig, Vocabulary, explain, fit
from uaftc_lib.cli import app
from uaftc_lib.report import page, quality, report
from uaftc_lib.report.report import Settings, explain_file, top_words
from uaftc_lib.report.tables import Table
from uaftc_lib.report.texts import prepare

HOSTILE = ('<script>alert("class")</script>', '"><img src=x onerror=alert(1)>', "=HYPERLINK(1)", "]]></style>{{7*7}}")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report on reviews whose classes, file name, columns and words would all like to be markup."""
    folder = tmp_path_factory.mktemp("report")
    rows = reviews(400, classes=HOSTILE)
    rows["review"] = [
        f"{text} <b>bold</b> </script><script>alert(2)</script> \u202e\u2028 ${{x}} {'y' * 300}"
        for text in rows["review"]
    ]
    frame = pd.DataFrame(rows).rename(columns={"review": "<i>text</i>", "stars": "'label'"})
    path = folder / "<u>&file.csv"
    frame.to_csv(path, index=False)
    settings = Settings(seeds=4, replicates=30)
    report = explain_file(path, "<i>text</i>", "'label'", folder / "out", settings, progress=False)
    return folder / "out", report


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen, self.attributes, self.text = [], [], ""

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        self.attributes += attributes

    def handle_data(self, data):
        self.text += data


def test_no_word_becomes_markup(made):
    tags = Tags()
    tags.feed((made[0] / "report.html").read_text(encoding="utf-8"))
    assert tags.seen.count("script") == 2 and not {"img", "b", "u", "i", "iframe", "link"} & set(tags.seen)
    assert not [name for name, _ in tags.attributes if name.startswith("on") or name == "style"]
    assert not [value for name, value in tags.attributes if name in ("src", "href") and not value.startswith("#")]
    for name in HOSTILE:
        assert name in tags.text, "hostile names are shown as they are"


def test_a_spreadsheet_sees_no_formula(made):
    names = set(pd.read_csv(made[0] / "words.csv", keep_default_na=False)["class"])
    assert "'=HYPERLINK(1)" in names and "=HYPERLINK(1)" not in names
    numbers = pd.DataFrame({"word": ["a", "b"], "class": ["-1", "+1.5"]})
    assert page.harmless(numbers)["class"].tolist() == ["-1", "+1.5"], "numbers stay"


@pytest.fixture(params=[(1280, "light"), (390, "dark")], ids=["desktop light", "phone dark"])
def opened(request, browser, made):
    """The report in a browser; whatever it complains of or asks for from outside is an error."""
    width, scheme = request.param
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    tab, troubles = context.new_page(), []
    tab.on("console", lambda message: troubles.append(message.text))
    tab.on("pageerror", lambda error: troubles.append(str(error)))
    tab.on("dialog", lambda dialog: troubles.append("dialog") or dialog.dismiss())
    tab.on("request", lambda each: each.url.startswith("file:") or troubles.append(each.url))
    tab.goto((made[0] / "report.html").as_uri())
    yield tab
    context.close()
    assert troubles == []


def rows_of(tab):
    return [row.inner_text().split("\t") for row in tab.query_selector_all("#words > tr:not(.detail)")]


def test_the_page_works(opened, made):
    wide = opened.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide, "the page must not scroll sideways"
    opened.click("nav >> text=Word → classes")
    places = "['nav', '#table-of-words h2'].map((each) => document.querySelector(each).getBoundingClientRect())"
    nav, heading = opened.evaluate(f"{places}.map(({{top, bottom}}) => [top, bottom])")
    assert nav[0] == 0 and nav[1] <= heading[0] < 200, "a jump shows the heading, and the way back"
    opened.fill("#search", "yyyy")
    for place in ("#words", "#examples"):
        assert "y" * 59 + "…" in opened.inner_text(place) and "y" * 60 not in opened.inner_text(place)
    opened.fill("#search", "")
    assert [option.inner_text() for option in opened.query_selector_all("#class option")] == sorted(HOSTILE)

    words = pd.read_csv(made[0] / "words.csv", keep_default_na=False).replace("", np.nan)
    for name in sorted(HOSTILE)[:2]:
        opened.select_option("#class", label=name)
        best = words[words["class"].str.lstrip("'") == name]
        ends = best[["influence_low", "influence_seed_low"]].astype(float).min(axis=1, skipna=False)
        best = [page.short(word) for word in best.assign(sure=ends).nlargest(12, "sure")["word"]]
        assert [row[0].strip() for row in rows_of(opened)][:12] == best, "in the order of the lists at first"

    opened.click("th[data-key=word] button")
    shown = [row[0].strip() for row in rows_of(opened)]
    assert shown == sorted(shown) and opened.get_attribute("th[data-key=word]", "aria-sort") == "ascending"
    opened.click("th[data-key=word] button")
    shown = [row[0].strip() for row in rows_of(opened)]
    assert shown == sorted(shown, reverse=True)
    opened.select_option("#order", label="texts")
    counts = [int(row[-1]) for row in rows_of(opened)]
    assert counts == sorted(counts, reverse=True) and counts[0] == words["support"].astype(int).max() > counts[-1]

    opened.fill("#search", "MARK")
    assert {row[0].strip() for row in rows_of(opened)} == {f"mark{i}" for i in range(4)}
    opened.click("#words button")
    assert len(opened.query_selector_all("tr.detail table tr")) == 4, "a word against every class"
    assert "alert" in opened.inner_text("tr.detail")
    assert opened.inner_text("tr.detail").count("runs") == 4, "both intervals, with numbers"
    fits = opened.evaluate("document.querySelector('tr.detail table').getBoundingClientRect().right <= innerWidth")
    assert fits, "the detail rows must be seen whole, also on a phone"
    opened.fill("#search", "nosuchword")
    assert rows_of(opened) == [] and "words.csv" in opened.inner_text("#found")


def test_axe_finds_nothing_serious(opened, axe):
    opened.click("#words button")
    for more in opened.query_selector_all("#examples details summary"):
        more.click()
    opened.evaluate(axe)
    found = opened.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 10
    serious = [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


def test_the_numbers_of_a_heat_map_are_within_reach_of_keys(opened, made):
    example = next(each for kind in ("right", "wrong", "uncertain") for each in made[1]["examples"][kind])
    opened.focus("#examples details summary")
    opened.keyboard.press("Enter")
    rows = [row.inner_text().split("\t") for row in opened.query_selector_all("#examples details[open] tbody tr")]
    assert [row[0].strip() for row in rows] == [page.short(word) for word in example["words"]]
    pushes = [float(row[1].replace("−", "-")) for row in rows]
    assert pushes == pytest.approx(example["contributions"], abs=0.0051)
    assert [float(row[2]) for row in rows] == pytest.approx(example["weights"], abs=0.0051)


def test_the_policy_lets_nothing_in(browser, made):
    """The policy itself refuses inline code and requests, should anything ever get past the escaping."""
    tab = browser.new_page()
    tab.goto((made[0] / "report.html").as_uri())
    tab.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "window.got = 1";
            const image = document.createElement("img");
            image.setAttribute("onerror", "window.got = 2");
            image.src = "nowhere.png";
            document.body.append(script, image);
        }"""
    )
    tab.wait_for_timeout(200)
    assert tab.evaluate("window.got") is None
    refused = """() => new Promise((told) => {
        document.addEventListener("securitypolicyviolation", (event) => told(event.effectiveDirective));
        fetch("http://127.0.0.1:9/").catch(() => setTimeout(told, 500, "let through"));
    })"""
    assert tab.evaluate(refused) == "connect-src"
    tab.close()


def test_the_files_agree(made):
    folder, report = made
    stored = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert stored["quality"]["attention"]["accuracy"] == report["quality"]["attention"]["accuracy"]
    words = pd.read_csv(folder / "words.csv", keep_default_na=False, na_values=[""])
    for k, name in enumerate(each["name"] for each in stored["classes"]):
        (best,) = stored["top_words"][name][:1]
        assert best["word"] == f"mark{HOSTILE.index(name)}", "the word that tells the class leads its list"
        row = words[(words["word"] == best["word"])].iloc[k]
        assert row["influence"] == pytest.approx(best["influence"], rel=1e-5)
        assert row["influence_low"] <= best["influence"] <= row["influence_high"]
        assert row["influence_seed_low"] <= best["influence"] <= row["influence_seed_high"]
    assert "<unk>" not in set(words["word"])
    assert list(stored["words"]) == list(words.columns), "every number of words.csv is in report.json too"
    for name, column in stored["words"].items():
        if name == "class":
            assert column == words["class"].str.removeprefix("'").tolist()
        elif name != "word":
            np.testing.assert_allclose(np.array(column, float), words[name].astype(float), rtol=1e-5, atol=1e-12)
        else:
            assert column == words["word"].tolist()
    right = sum(each["right"] for each in stored["classes"])
    assert right / stored["quality"]["test_instances"] == stored["quality"]["attention"]["accuracy"]
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "these words do not tell" not in text
    assert f"{100 * stored['quality']['attention']['accuracy']:.1f}\u00a0%" in text


def test_examples_add_up(made):
    """The pushes of an example are those of its answer; what turns it is named."""
    found = made[1]["examples"]
    assert {kind for kind, examples in found.items() if examples} >= {"right", "uncertain"}
    for kind, examples in found.items():
        for example in examples:
            assert (example["label"] == example["predicted"]) or kind != "right"
            assert (example["label"] != example["predicted"]) or kind != "wrong"
            assert len(example["words"]) == len(example["contributions"]) == len(example["weights"])
            assert sum(example["weights"]) == pytest.approx(1, abs=1e-5)
            assert sum(example["contributions"]) > 0, "the words push towards the answer in all"
            assert set(example["turned_by"] or []) <= set(example["words"])


def test_pushes_mean_the_same_in_examples_and_in_the_table(tmp_path):
    """With several classes the pushes of a word add up to nothing, in both."""
    table = Table(*reviews(300, classes=("a", "b", "c")).values(), 300)
    prepared = prepare(table, "three")
    settings = Settings(seeds=1, epochs=2, dimension=8, replicates=20)
    (model,) = report.train(prepared.dataset, settings, lambda _: None)
    words, _ = report.influence_table([model], prepared, settings)
    sums = words.groupby("word")["influence"].sum()
    assert abs(sums).max() < 1e-5 < abs(words["influence"]).max()
    pushes = explain.contributions(model, prepared.dataset.test[0])
    shown = report.example(model, prepared, 0, 0.5, "b")
    assert shown["contributions"] == pushes[:, 1].tolist()


def test_every_listed_word_is_in_the_table_of_the_page(monkeypatch):
    """Fifty classes: the table holds few words, and some of the listed ones move little in all."""
    monkeypatch.setattr(page, "SHOWN_NUMBERS", 150_000)
    classes, count = 50, 1500
    names = [f"word{i}" for i in range(count)]
    words = pd.DataFrame({"word": np.repeat(names, classes), "class": list(range(classes)) * count})
    words = words.assign(influence=np.repeat(np.arange(count)[::-1] / count, classes), support=1, attention=0.5)
    usual = [row[0] for row in page.word_rows(words, classes, set())]
    assert usual == names[: len(usual)] and len(usual) < 500
    few = {"word7", "word1490"}
    rows = [row[0] for row in page.word_rows(words, classes, few)]
    assert set(rows[:2]) == few and len(rows) == len(usual)
    assert [name for name in rows if name not in few] == [name for name in names if name not in few][: len(usual) - 2]
    many = set(names[500:])
    assert {row[0] for row in page.word_rows(words, classes, many)} == many


def test_fifty_classes_can_be_read_on_a_phone(browser, tmp_path):
    names = [f"class {i:02}" for i in range(50)]
    path = written(tmp_path, "a.csv", reviews(1000, classes=names))
    settings = Settings(seeds=1, epochs=8, dimension=16, replicates=20, learning_rate=0.1)
    explain_file(path, "review", "stars", tmp_path / "out", settings, progress=False)
    tab = browser.new_page(viewport={"width": 390, "height": 800})
    tab.goto((tmp_path / "out" / "report.html").as_uri())
    folded = tab.query_selector_all("#classes details")
    assert [each.inner_text().strip().splitlines()[0][:8] for each in folded] == names
    assert tab.inner_text("#data summary").startswith("50 classes") and not tab.is_visible("#data td >> text=class 07")
    assert tab.get_attribute("#data details", "open") is None
    for each in folded:
        each.evaluate("each => each.open = true")
    tab.select_option("#class", label="class 49")
    tab.fill("#search", "mark49")
    tab.click("#words button")
    pushes = [row.inner_text() for row in tab.query_selector_all("tr.detail tr") if row.is_visible()]
    assert len(pushes) == 9 and pushes[0].startswith("class 49"), "the strongest both ways"
    assert not tab.evaluate("document.documentElement.scrollWidth > innerWidth")
    tab.click("text=Show the 41 classes between")
    assert sum(row.is_visible() for row in tab.query_selector_all("tr.detail tr")) == 50
    tab.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert tab.evaluate("document.querySelector('nav').getBoundingClientRect().top") == 0, "the way back stays in sight"
    tab.close()


def test_the_page_holds_four_digits_of_each_number():
    values = np.array([[0.123456, -12345.678, 0.0], [np.nan, np.inf, 9.9999e-7]])
    assert page.rounded(values) == [[0.1235, -12350.0, 0.0], [None, None, 1e-6]]


def test_numbers_that_round_to_zero_have_no_sign():
    told = [page.signed(x) for x in (0.004, -0.004, 0.0, 0.006, -0.006)]
    assert told == ["0.00", "0.00", "0.00", "+0.01", "−0.01"]


def test_only_words_of_little_effect_are_called_so():
    words = pd.DataFrame({"word": list("aabbcc"), "class": list("xy") * 3, "attention": 0.5, "support": 20})
    words = words.assign(influence=[-1, 1, -0.05, 0.04, -0.2, 0.1])
    assert [row["word"] for row in report.attended_without_effect(words)] == ["b"], "c pushes 0.15 of what a does"
    assert report.attended_without_effect(words[words["word"] != "b"]) == []


def test_same_seed_same_bytes(tmp_path):
    path = written(tmp_path, "a.csv", reviews(150))
    for name in ("one", "two"):
        explain_file(path, "review", "stars", tmp_path / name, SETTINGS, progress=False)
    for name in ("report.html", "words.csv", "report.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_small_separable_file_is_learnt_to_the_end(tmp_path):
    """The accuracy is perfect after a few epochs; stopping there would leave the words hardly learnt."""
    path = written(tmp_path, "a.csv", reviews(300, classes=("a", "b", "c")))
    report = explain_file(path, "review", "stars", tmp_path / "out", Settings(seeds=4), progress=False)
    told = report["quality"]["attention"]
    assert told["accuracy"] == 1 and told["confidence"] > 0.9
    for k, rows in enumerate(report["top_words"].values()):
        assert rows[0]["word"] == f"mark{k}" and rows[0]["influence_seed_low"] > 1
        assert all(row["influence"] < 0.1 * rows[0]["influence"] for row in rows[1:]), "the others only by chance"


def test_the_epoch_is_chosen_by_loss_only_when_asked():
    """By default nothing changes: the first of equally accurate epochs."""
    table = Table(*reviews(200).values(), 200)
    dataset = prepare(table, "small").dataset
    runs, losses = {}, []
    for best in ("accuracy", "loss"):
        model = AttentionClassifier(len(dataset.vocabulary), 8, seed=0)

        def record(epoch, model):
            with torch.no_grad():
                return {"dev_loss": float(model.loss(dataset.dev))}

        config = TrainingConfig(epochs=8, learning_rate=0.1)
        runs[best] = fit(model, dataset, config, record, best=best)
        with torch.no_grad():
            losses.append(float(model.loss(dataset.dev)))
    history = runs["accuracy"].history.set_index("epoch").loc[1:]
    first = history["dev_accuracy"].idxmax()
    assert runs["accuracy"].best_epoch == first
    assert runs["loss"].best_epoch == history["dev_loss"].idxmin() != first
    assert losses == [pytest.approx(history["dev_loss"][first]), pytest.approx(history["dev_loss"].min())]
    with pytest.raises(ValueError, match="best must be one of accuracy, loss"):
        fit(model, dataset, best="last")


def test_telling_words_are_listed_and_few_others(tmp_path):
    """Not every text holds a telling word, so the accuracy of single epochs says little about when to stop."""
    telling = {name: [f"{name}{i}" for i in range(7)] for name in ("red", "green", "blue")}
    draws, rows = np.random.default_rng(1), {"review": [], "stars": []}
    for number in range(1500):
        name = list(telling)[number % 3]
        text = [f"often{i}" for i in draws.integers(0, 45, 12)] + [f"seldom{i}" for i in draws.integers(0, 400, 3)]
        text += draws.choice(telling[name], draws.integers(0, 3)).tolist()
        rows["review"].append(" ".join(draws.permutation(text)))
        rows["stars"].append(name)
    path = written(tmp_path, "a.csv", rows)
    report = explain_file(path, "review", "stars", tmp_path / "out", Settings(), progress=False)
    for name, words in telling.items():
        listed = [row["word"] for row in report["top_words"][name]]
        assert len(set(words) & set(listed)) >= 6 and len(set(listed) - set(words)) <= 2, (name, listed)


def test_listed_words_need_both_intervals():
    words = pd.DataFrame(
        {
            "word": ["both", "texts", "runs", "rare", "least"],
            "class": "a",
            "influence": [1.0, 2.0, 2.0, 3.0, 1.0],
            "influence_low": [0.5, 0.9, -0.1, np.nan, 0.7],
            "influence_high": 4.0,
            "influence_seed_low": [0.4, -0.1, 0.9, 2.0, 0.1],
            "influence_seed_high": 4.0,
            "leave_one_out": 0.0,
            "attention": 0.5,
            "support": 9,
        }
    )
    assert [row["word"] for row in top_words(words)["a"]] == ["both", "least"]
    one_run = words.drop(columns=["influence_seed_low", "influence_seed_high"])
    assert [row["word"] for row in top_words(one_run)["a"]] == ["texts", "least", "both"]


def test_listed_words_need_some_size():
    """At least a tenth of the leading word, and above zero."""
    words = pd.DataFrame(
        {
            "word": list("abcde"),
            "class": ["x", "x", "x", "y", "y"],
            "influence": 1.0,
            "influence_low": [3.0, 0.31, 0.29, 0.02, -0.09],
            "influence_high": 4.0,
            "leave_one_out": 0.0,
            "attention": 0.5,
            "support": 9,
        }
    )
    found = {name: [row["word"] for row in rows] for name, rows in top_words(words).items()}
    assert found == {"x": ["a", "b"], "y": ["d"]}


def test_one_run_has_one_interval(browser, tmp_path):
    """The page of a single run works, and says what it cannot tell."""
    path = written(tmp_path, "a.csv", reviews(300))
    explain_file(path, "review", "stars", tmp_path / "out", Settings(seeds=1, epochs=10, dimension=8), progress=False)
    tab = browser.new_page()
    tab.goto((tmp_path / "out" / "report.html").as_uri())
    assert "one run cannot tell" in tab.inner_text("#classes") and "over runs" not in tab.inner_text("#table-of-words")
    tab.click("#words button")
    assert "runs" not in tab.inner_text("tr.detail") and "texts" in tab.inner_text("tr.detail")
    tab.close()


def test_a_recurrent_encoder_and_long_texts_are_spoken_of_truly(tmp_path):
    rows = reviews(120)
    rows["review"] = [text + f" the film {i}" * (60 * (i % 4 == 1)) for i, text in enumerate(rows["review"])]
    told = {}
    for encoder in ("none", "lstm"):
        settings = Settings(seeds=1, epochs=1, dimension=4, replicates=5, encoder=encoder)
        path = written(tmp_path, "a.csv", rows)
        report = explain_file(path, "review", "stars", tmp_path / encoder, settings, progress=False)
        told[encoder] = (tmp_path / encoder / "report.html").read_text(encoding="utf-8")
        assert f"{report['too_long_to_show']['texts']} of the" in told[encoder] and "too long to show" in told[encoder]
        assert all(len(e["words"]) <= 150 for examples in report["examples"].values() for e in examples)
    assert "held fixed" in told["lstm"] and "exact for the model" not in told["lstm"]
    assert "held fixed" not in told["none"] and "exact for the model" in told["none"]


def test_random_labels_are_called_useless(tmp_path):
    rows = reviews(400)
    rows["stars"] = np.random.default_rng(0).permutation(rows["stars"]).tolist()
    report = explain_file(
        written(tmp_path, "a.csv", rows), "review", "stars", tmp_path / "out", SETTINGS, progress=False
    )
    assert report["quality"]["verdict"] == "useless"
    told = (tmp_path / "out" / "report.html").read_text()
    assert "No conclusion may be drawn." in told and "these words do not tell the classes apart" in told


def judged(ours, linear, labels):
    def one_hot(answers):
        return np.eye(2)[answers] * 0.8 + 0.1

    return quality.quality([one_hot(ours)], one_hot(linear), torch.tensor(labels), labels)["verdict"]


def test_verdicts():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 1000)

    def mistaken(share):
        return np.where(random.random(1000) < share, 1 - labels, labels)

    assert judged(mistaken(0.1), mistaken(0.1), labels) == "sound"
    assert judged(mistaken(0.2), mistaken(0.1), labels) == "worse than linear"
    assert judged(mistaken(0.49), mistaken(0.1), labels) == "useless"
    assert judged(labels[:150], labels[:150], labels[:150]) == "few"


def test_calibration_by_hand():
    probability = np.array([[0.95, 0.05], [0.92, 0.08], [0.35, 0.65], [0.65, 0.35], [1.0, 0.0]])
    bins = quality.calibration(probability, np.array([0, 1, 1, 1, 0]))
    assert bins["instances"].tolist() == [2, 3]
    np.testing.assert_allclose(bins["confidence"], [0.65, (0.95 + 0.92 + 1) / 3])
    np.testing.assert_allclose(bins["accuracy"], [0.5, 2 / 3])
    expected = (2 * 0.15 + 3 * ((0.95 + 0.92 + 1) / 3 - 2 / 3)) / 5
    assert quality.calibration_error(bins) == pytest.approx(expected)


def test_the_baseline_counts_words():
    vocabulary = Vocabulary(["good", "bad", "film"])
    corpus = Corpus.from_lists([[0, 2], [0, 0, 2], [1, 2], [1, 1, 2]] * 5, [1, 1, 0, 0] * 5, 2, ("n", "p"))
    dataset = Dataset("tiny", vocabulary, ("n", "p"), corpus, corpus, corpus)
    counts = quality.word_counts(corpus, 6).toarray()[:3]
    assert counts.tolist() == [[1, 0, 1, 0, 0, 0], [2, 0, 1, 0, 0, 0], [0, 1, 1, 0, 0, 0]]
    baseline = quality.LinearBaseline(dataset)
    assert (baseline.probabilities(corpus).argmax(1) == corpus.labels.numpy()).all()
    beta = baseline.coefficients()
    assert beta[0, 1] > 0 > beta[1, 1] and np.allclose(beta[:, 0], -beta[:, 1])


@pytest.mark.parametrize(
    "options",
    [{"seeds": 0}, {"epochs": 0}, {"replicates": 0}, {"seed": -1}, {"lam": 0}, {"dimension": 0}, {"encoder": "cnn"}]
    + [{"learning_rate": 0}, {"dropout": 1}],
)
def test_settings_are_checked(options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        Settings(**options)
    flag = f"--{name.replace('_', '-')}={options[name]}"
    given = ["explain", "not-there.csv", "--text", "a", "--label", "b", "--out", "x", flag]
    refused = CliRunner().invoke(app, given)
    assert refused.exit_code == 2 and name in refused.stderr and "not-there" not in refused.stderr


def test_the_command_writes_or_refuses(tmp_path):
    runner = CliRunner()
    path = written(tmp_path, "a.csv", reviews(150))
    given = ["explain", str(path), "--text", "review", "--out", str(tmp_path / "out"), "--seeds", "1", "--epochs", "2"]
    refused = runner.invoke(app, [*given, "--label", "star"])
    assert refused.exit_code == 2 and "Did you mean 'stars'?" in refused.stderr
    assert not (tmp_path / "out").exists()
    done = runner.invoke(app, [*given, "--label", "stars", "--replicates", "20"])
    assert done.exit_code == 0, done.output
    assert "150 of 150 rows, 2 classes" in done.stdout
    assert {each.name for each in (tmp_path / "out").iterdir()} == {"report.html", "words.csv", "report.json"}
    assert "may be drawn" in done.stdout, "the verdict in words"


def test_the_linear_baseline_learns_from_many_rare_words():
    """Each word's mean gradient is tiny then, which must not pass for convergence."""
    types, instances = 2000, 20_000
    telling = [i % types for i in range(instances)]
    vocabulary = Vocabulary([f"word{i}" for i in range(types)] + ["the"])
    texts = [[word, types] for word in telling]
    corpus = Corpus.from_lists(texts, [word % 2 for word in telling], 2, ("even", "odd"))
    dataset = Dataset("rare", vocabulary, ("even", "odd"), corpus, corpus, corpus)
    baseline = quality.LinearBaseline(dataset)
    assert (baseline.probabilities(corpus).argmax(1) == corpus.labels.numpy()).mean() > 0.99
