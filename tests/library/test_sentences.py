"""Sentences in colour say by colour, mark and words what their numbers are."""

import re

import numpy as np
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from matplotlib.colors import to_rgb

from uaftc_lib import coloured, plots

FRAME = pd.DataFrame({"word": ["<b>", "dull", "the"], "weight": [0.5, 0.3, 0.2], "contribution": [2.0, -1.0, -0.1]})


def test_each_word_has_its_weight_its_sign_and_its_numbers():
    figure = plots.sentences({"λ = 1": FRAME, "λ = 10": FRAME.assign(polarity=1.0)}, "See.", ("bad", "good"))
    page = BeautifulSoup(figure.to_html(), "html.parser")
    first, second = page.select(".sentences p")
    assert first.strong.text == "λ = 1" and len(second("span", tabindex="0")) == 3
    words = first("span", tabindex="0")
    looks = ["for marked a5 s10", "against marked a3 s5", "against a2 s0"]
    assert [" ".join(word["class"]) for word in words] == looks, "a twentieth of the largest bears no sign"
    assert [word.text for word in words] == FRAME["word"].tolist()
    assert words[1]["data-numbers"] == "weight 0.30, contribution −1.00"
    assert "− for bad" in page.small.text and "+ for good" in page.small.text
    assert figure.data["sentence"].tolist() == ["λ = 1"] * 3 + ["λ = 10"] * 3


def test_a_sentence_needs_words_columns_and_a_caption():
    for lines in ({}, {"λ": FRAME[:0]}):
        with pytest.raises(ValueError, match="without words"):
            plots.sentences(lines, "See.")
    with pytest.raises(ValueError, match="contribution"):
        plots.sentences({"λ": FRAME.drop(columns="contribution")}, "See.")
    with pytest.raises(ValueError, match="caption"):
        plots.sentences({"λ": FRAME}, " ")
    assert "0.00" in plots.sentences({"λ": FRAME.assign(contribution=0.0)}, "See.").to_html()


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    """WCAG's, of two colours in 0 to 1."""
    linear = [np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) for c in (one, other)]
    darker, lighter = sorted(float(c @ [0.2126, 0.7152, 0.0722]) for c in linear)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize(("page", "ink"), [("#ffffff", "#323232"), ("#121212", "#ced6dd")])
def test_the_word_with_all_attention_is_read_on_light_and_dark_pages(page, ink):
    hue = re.search(r"--attention: (#\w{6})", coloured.STYLE)[1]
    share = int(re.search(r"calc\((\d+)% \* var\(--weight", coloured.STYLE)[1]) / 100
    ground = share * np.array(to_rgb(hue)) + (1 - share) * np.array(to_rgb(page))
    assert contrast(ground, np.array(to_rgb(ink))) >= 4.5


@pytest.mark.parametrize("page", ["#ffffff", "#14181e"])
def test_other_colours_stand_out_on_both_grounds(page):
    theme = plots.theme
    for color in (*theme.OTHERS, theme.LIME, theme.TEAL, theme.ROSE, theme.PURPLE):
        assert contrast(np.array(to_rgb(color)), np.array(to_rgb(page))) >= 3
