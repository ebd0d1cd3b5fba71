"""How texts are cut into words: what survives whole, in every script, and what is left out."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uaftc_lib.report import words as words_room
from uaftc_lib.report.prepare import count_words, unspaced
from uaftc_lib.report.words import WORDS, Cutter


@pytest.mark.parametrize(
    "text, words",
    [
        ("It's GOOD, isn’t it?!", ["it's", "good", "isn't", "it"]),
        ("naïve Straße Œuvre", ["naïve", "straße", "œuvre"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("می‌خواهم", ["می‌خواهم"]),
        ("שלום עולם، مرحبا", ["שלום", "עולם", "مرحبا"]),
        ("很好。とても", ["很", "好", "と", "て", "も"]),
        ("ที่นี่", ["ที่", "นี่"]),
        ("정말 좋아요", ["정말", "좋아요"]),
        ("great 😀👍🏽 ❤️!", ["great", "😀", "👍🏽", "❤"]),
        ("👩‍👩‍👧🇩🇪🇫🇷 3️⃣", ["👩‍👩‍👧", "🇩🇪", "🇫🇷", "3⃣"]),
        ("C++, C# and C", ["c++", "c#", "and", "c"]),
        ("C/C++11 Notepad++ node.js ASP.NET .NET", ["c", "c++11", "notepad++", "node.js", "asp.net", ".net"]),
        ("AT&T, at&t U.S.A. i.e. R&amp;D a.b.cd", ["at&t", "at&t", "u.s.a", "i.e", "r", "amp", "d", "a", "b", "cd"]),
        ("a&b&c x&lt; love&peace", ["a", "b", "c", "x", "lt", "love", "peace"]),
        ("love it <3, </3. x<3 <3.5 <30 <b>", ["love", "it", "<3", "</3", "x", "3", "3.5", "30", "b"]),
        ("$5, 1.000,50€ 50%! $5k 3:4 a%", ["$5", "1.000,50€", "50%", "5k", "3", "4", "a"]),
        ("good :) bad :-(( ;D (as: x) see:(", ["good", ":)", "bad", ":-((", ";d", "as", "x", "see"]),
        ("3.5 of 1,000,000, v1.2.3.", ["3.5", "of", "1,000,000", "v1.2.3"]),
        ("end.Next one,two 3,four", ["end", "next", "one", "two", "3", "four"]),
        ("a well-known e‑mail -- not a-", ["a", "well-known", "e-mail", "not", "a"]),
        ("snake_case _italic_ soft\u00adhyphen", ["snake_case", "italic", "softhyphen"]),
        (
            "see https://a.org/b?c=d_e#f. (www.x.de/y), Jo.Doe+1@mail.example.org!",
            ["see", "https://a.org/b?c=d_e#f", "www.x.de/y", "jo.doe+1@mail.example.org"],
        ),
        ("请看https://a.cn/b好", ["请", "看", "https://a.cn/b", "好"]),
        ("@some_one #NotMe ## isn&#39;t", ["@some_one", "#notme", "isn", "39", "t"]),
        ("\u202eevil\u202c <script>alert(1)</script>", ["evil", "script", "alert", "1", "script"]),
        (" \t…—!", []),
        ("\ufe0f \u00ad \ud83d", []),
    ],
)
def test_words_by_the_rule(text, words):
    assert Cutter().words(text) == words
    assert len(Cutter().spans(text)) == len(words)


def test_other_ways_to_cut():
    text = "Well-known: 3.5, très BIEN! 很好"
    assert Cutter("spaces").words(text) == ["well-known:", "3.5,", "très", "bien!", "很好"]
    assert Cutter("characters").words("A1, e\u0301 👍🏽!") == ["a", "1", "e\u0301", "👍🏽"]
    told = {how: Cutter(how).description for how in WORDS[:3]}
    assert len(set(told.values())) == 3 and all(told.values()), "the report says which way was taken"


def test_spacy_cuts_by_its_own_rules():
    pytest.importorskip("spacy", reason="spaCy is not installed: its rules are not tested")
    assert Cutter("spacy").words("It's good, isn't it? <b> = 3.5") == ["it", "'s", "good", "isn't", "it", "b", "3.5"]
    assert Cutter("spacy:en").words("It isn't.") == ["it", "is", "n't"]
    with pytest.raises(ValueError, match="spaCy cannot cut the language 'xyz'"):
        Cutter("spacy:xyz")


def test_without_spacy_words_say_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "spacy", None)
    with pytest.raises(ValueError, match=re.escape("--words spacy needs spacy")):
        Cutter("spacy")


SCRIPTS = st.text(
    st.one_of(
        st.sampled_from("aB1 .,'’-_@#/:+\u0301\u200d\ufe0f\u00ad👍🏽🇩🇪好がทีİẞ&<\n"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
).map(lambda text: unicodedata.normalize("NFC", text))


@given(SCRIPTS, st.sampled_from(["rule", "spaces", "characters"]))
def test_spans_are_where_the_words_stand(text, how):
    cutter = Cutter(how)
    spans, words = cutter.spans(text), cutter.words(text)
    assert [words_room.spelt(text[begin:end]) for begin, end in spans] == words
    assert all(before[1] <= after[0] for before, after in zip(spans, spans[1:])) and all(words)
    assert not any(re.search(r"\s", word) for word in words)


@given(st.lists(SCRIPTS, max_size=5))
def test_counting_by_pieces_is_counting_by_words(texts):
    cutter = Cutter(ignore="b+", without=["a"])
    spellings, tokens, lengths = count_words(texts, cutter)
    assert [spellings[i] for i in tokens] == [word for text in texts for word in cutter.words(text)]
    assert lengths.tolist() == [len(cutter.spans(text)) for text in texts]


def test_what_is_left_out_has_no_span():
    cutter = Cutter(ignore=r"ticket \w+|sent from.*", without=["Invoice", "e-mail"])
    text = "Ticket AB12: the INVOICE came by e-mail. Sent from my phone"
    assert cutter.words(text) == ["the", "came", "by"]
    assert [text[begin:end] for begin, end in cutter.spans(text)] == ["the", "came", "by"]
    assert "e-mail, invoice" in cutter.description and r"ticket \w+" in cutter.description


@pytest.mark.parametrize(
    "given, message",
    [
        ({"ignore": "("}, "the pattern '\\(' cannot be read: missing \\)"),
        ({"without": ["new york"]}, "'new york' is 2 words here"),
        ({"without": ["?"]}, "'\\?' is no words here"),
        ({"how": "letters"}, "can be cut by rule, spaces, characters, spacy or spacy:LANGUAGE"),
        ({"how": "rule:de"}, "is 'rule:de'"),
    ],
)
def test_what_cannot_be_understood_is_said(given, message):
    with pytest.raises(ValueError, match=message):
        Cutter(**given)


def test_text_without_spaces_is_told():
    texts = ["很好", "plain", "これ is mixed", "정말 좋아요", "ไทย"]
    assert unspaced(texts, Cutter())[0].startswith("3 of 5 texts hold text in a script without spaces")
    assert unspaced(texts, Cutter("spaces")) == unspaced(texts[3:4], Cutter()) == []
