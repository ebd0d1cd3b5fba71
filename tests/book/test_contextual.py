"""Classifiers on the states of a transformer: any folder, frozen and fine-tuned, and the book's own."""

import json
import shutil
import sys
from copy import deepcopy
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch
from cases import uaftc
from test_vectors import small_imdb  # noqa: F401

from uaftc_book.chapters import pretrained
from uaftc_book.neighbours.word_level import alone_and_in_texts
from uaftc_book.neighbours.yardsticks import left_out, reread
from uaftc_book.transformers import masked_language_model as own
from uaftc_book.transformers import pieces as cut
from uaftc_book.transformers.classifier import TransformerClassifier
from uaftc_lib import Corpus, Dataset, TrainingConfig, Vocabulary, fit
from uaftc_lib.explain import contributions, leave_one_out, shapley
from uaftc_lib.scores import score_frame

transformers = pytest.importorskip(
    "transformers", reason="transformers is not installed: the appendix on pretrained words, second half"
)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

WORDS = "the a film was good bad very not and unbelievably dull bright [MASK] never".split()
TEXTS = [[0, 2, 3, 4], [1, 2, 3, 5, 8, 10], [0, 2, 3, 6, 4], [7, 4], [9, 5], [11], [13, 10, 8, 11, 2], [0, 2, 3, 4]]
LABELS = [1, 0, 1, 0, 0, 1, 1, 1]
VOCABULARY = Vocabulary(WORDS)
CORPUS = Corpus.from_lists(TEXTS, LABELS)
DATA = Dataset("eight", VOCABULARY, ("no", "yes"), CORPUS, dev=CORPUS, test=CORPUS)
SENTENCES = [["the", "film", "was", "good"], ["a", "dull", "bad", "bright", "film"], ["not", "unbelievable", "and"]] * 5


def word_piece(folder):
    """Few pieces, so that words are cut."""
    cut.trained_tokenizer(SENTENCES, 60, 16).save_pretrained(folder)


def byte_pairs(folder):
    """PieceTexts of bytes that hold the space before them, as RoBERTa's do."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(map(" ".join, SENTENCES), trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = dict(zip(("bos_token", "pad_token", "eos_token", "unk_token", "mask_token"), special))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=made, cls_token="<s>", sep_token="</s>", **names)
    fast.save_pretrained(folder)


SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
KINDS = {  # kind: tokenizer, configuration
    "bert": (word_piece, lambda: transformers.BertConfig(**SIZES, vocab_size=60, max_position_embeddings=16)),
    "distilbert": (
        word_piece,
        lambda: transformers.DistilBertConfig(vocab_size=60, max_position_embeddings=16, dim=16, n_layers=2, n_heads=2),
    ),
    "roberta": (byte_pairs, lambda: transformers.RobertaConfig(**SIZES, vocab_size=300, max_position_embeddings=18)),
    "gpt2": (
        byte_pairs,
        lambda: transformers.GPT2Config(vocab_size=300, n_positions=16, n_embd=16, n_layer=2, n_head=2),
    ),
    "modernbert": (
        byte_pairs,
        lambda: transformers.ModernBertConfig(
            **SIZES, vocab_size=300, max_position_embeddings=64, pad_token_id=1, cls_token_id=0, sep_token_id=2
        ),
    ),
}


def made(folder, kind="bert"):
    """A transformer of this kind before training, without a pooler, and its tokenizer, in a folder."""
    tokenizer, config = KINDS[kind]
    with torch.random.fork_rng():
        torch.manual_seed(3)
        kept = transformers.AutoModel if kind == "gpt2" else transformers.AutoModelForMaskedLM
        kept.from_config(config()).save_pretrained(folder)
    tokenizer(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Made once each."""
    place = tmp_path_factory.mktemp("transformers")
    return {kind: made(place / kind, kind) for kind in KINDS}


def plain(folder, kind, text):
    """States of a text's words as transformers alone gives them."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    if KINDS[kind][0] is byte_pairs:
        read = tokenizer(" " + " ".join(text), return_tensors="pt")  # as a text is read that nobody cut
        begun = torch.tensor([piece.startswith("Ġ") for piece in read.tokens(0)]).cumsum(0) - 1
        words = [None, *begun.tolist()[1:-1], None]
    else:
        read = tokenizer([text], is_split_into_words=True, return_tensors="pt", split_special_tokens=True)
        words = read.word_ids(0)
    with torch.no_grad():
        states = model(**read).last_hidden_state[0]
    return torch.stack([states[[i for i, w in enumerate(words) if w == j]].mean(0) for j in range(len(text))])


def states(model, corpus):
    return model.encode(model.embedding[corpus.tokens], corpus.offsets)


@pytest.mark.parametrize("kind", KINDS)
def test_states_and_scores_are_those_of_transformers_itself(folders, kind):
    model = TransformerClassifier(folders[kind], VOCABULARY, lam=2.0, seed=1)
    out = model(CORPUS)
    for t in range(len(CORPUS)):
        text = [VOCABULARY.word(i) for i in TEXTS[t]]
        h = plain(folders[kind], kind, text)
        a, s = h @ model.V / 2, h @ model.W
        here = slice(int(CORPUS.offsets[t]), int(CORPUS.offsets[t + 1]))
        assert torch.allclose(states(model, CORPUS[t]), h, atol=2e-6)
        assert torch.allclose(out.scores[here], a, atol=1e-5) and torch.allclose(out.token_polarity[here], s, atol=1e-5)
        assert torch.allclose(out.polarity[t], a.softmax(0) @ s, atol=1e-5)
    assert model.recurrent.offsets.diff().max() > 2  # some words are cut


def test_states_are_kept_when_frozen_and_are_those_that_are_computed(folders, monkeypatch):
    model = TransformerClassifier(folders["bert"], VOCABULARY)
    poor = TransformerClassifier(folders["bert"], VOCABULARY, most_kept=4 * 16 * 4)
    tuned = TransformerClassifier(folders["bert"], VOCABULARY, frozen=False)
    first = states(model, CORPUS)
    assert torch.allclose(first, states(tuned, CORPUS), atol=2e-6)
    assert torch.allclose(first, states(poor, CORPUS), atol=2e-6)
    assert (len(model.recurrent.kept), len(poor.recurrent.kept)) == (7, 1)  # two texts are one
    read = []
    monkeypatch.setattr(model.recurrent, "states", lambda *_: read.append(1))
    assert torch.equal(states(model, CORPUS[[3, 1, 7]]), torch.cat([first[15:17], first[4:10], first[:4]]))
    assert not read


def test_states_are_forgotten_with_the_weights_they_are_of(folders):
    model = TransformerClassifier(folders["bert"], VOCABULARY)
    before = states(model, CORPUS).clone()
    state = {name: value.clone() for name, value in model.state_dict().items()}
    model.load_state_dict(state)
    kept = model.recurrent.kept
    assert torch.equal(states(model, CORPUS), before) and model.recurrent.kept is kept  # the same weights again
    name = next(name for name in state if name.endswith("word_embeddings.weight"))
    model.load_state_dict(state | {name: state[name].flip(0)})
    assert not torch.allclose(states(model, CORPUS), before, atol=1e-3)
    copy = deepcopy(model)
    assert not copy.recurrent.kept and torch.allclose(states(copy, CORPUS), states(model, CORPUS))


def test_gradients_reach_the_transformer_or_not(folders):
    for frozen in (True, False):
        model = TransformerClassifier(folders["distilbert"], VOCABULARY, frozen=frozen)
        model.loss(CORPUS).backward()
        reached = {name for name, each in model.named_parameters() if each.grad is not None and each.grad.any()}
        assert {"V", "W"} <= reached
        assert (len(reached) == 2) == frozen and "embedding" not in reached
        assert all(each.requires_grad != frozen for each in model.recurrent.parameters())
    assert len(reached) > 20


def test_the_loss_falls_with_its_gradient(folders):
    """The largest derivative with respect to a weight of the first layer, against a difference."""
    model = TransformerClassifier(folders["bert"], VOCABULARY, frozen=False, lam=0.5, dtype=torch.float64)
    model.loss(CORPUS).backward()
    weight = model.recurrent.transformer.encoder.layer[0].attention.self.value.weight
    place = weight.grad.abs().argmax()
    with torch.no_grad():
        losses = []
        for step in (1e-3, -2e-3):
            weight.view(-1)[place] += step
            losses.append(float(model.loss(CORPUS)))
    assert float(weight.grad.view(-1)[place]) == pytest.approx((losses[0] - losses[1]) / 2e-3, rel=1e-4)


def test_a_long_text_is_read_in_windows_and_nothing_is_cut(folders):
    model = TransformerClassifier(folders["bert"], VOCABULARY, frozen=False)
    types = [0, 2, 3, 4, 5] * 12
    long = Corpus.from_lists([types], [1])
    assert model.recurrent.room == 14
    found, pieces = states(model, long), model.recurrent.pieces
    begins, ends = model.recurrent.offsets[:-1], model.recurrent.offsets[1:]
    flat = [(i, int(piece)) for i, t in enumerate(types) for piece in pieces[begins[t] : ends[t]]]
    assert len(flat) > 60
    by_word = [[] for _ in types]
    for k in range(0, len(flat), 14):
        window = flat[k : k + 14]
        row = torch.tensor([[2, *(piece for _, piece in window), 3]])
        with torch.no_grad():
            h = model.recurrent.transformer(input_ids=row).last_hidden_state[0, 1:-1]
        for (i, _), state in zip(window, h):
            by_word[i].append(state)
    expected = torch.stack([torch.stack(each).mean(0) for each in by_word])
    assert torch.allclose(found, expected, atol=2e-6)
    short = TransformerClassifier(folders["bert"], VOCABULARY, longest=16)
    assert torch.allclose(states(short, long), expected, atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_is_given_more_than_it_has_positions_for(folders, kind):
    model = TransformerClassifier(folders[kind], VOCABULARY)
    assert model.recurrent.room == (62 if kind == "modernbert" else 14)
    assert states(model, Corpus.from_lists([list(range(14)) * 12], [1])).isfinite().all()


@pytest.mark.parametrize("frozen", [True, False])
def test_global_scores_are_those_of_a_word_as_a_text_by_itself(folders, frozen):
    model = TransformerClassifier(folders["roberta"], VOCABULARY, frozen=frozen, classes=3)
    scores = model.token_scores()
    alone = Corpus.from_lists([[i] for i in range(len(VOCABULARY))], [0] * len(VOCABULARY), 3)
    out = model(alone)
    assert torch.allclose(scores.attention, out.scores, atol=1e-6)
    assert torch.allclose(scores.polarity, out.token_polarity, atol=1e-6)
    assert torch.allclose(scores.polarity, out.polarity, atol=1e-6)
    assert torch.allclose(scores.attention[-3:], scores.attention[-1])  # specials are all the unknown piece
    mask = VOCABULARY.id("[MASK]")
    assert not torch.isclose(scores.attention[mask], scores.attention[-1], atol=1e-4)


def test_a_word_without_a_piece_is_the_unknown_piece_and_a_special_spelling_is_a_word(folders):
    vocabulary = Vocabulary(["good", "\x85 ", " ", "☃", "[MASK]"])
    read = TransformerClassifier(folders["bert"], vocabulary).recurrent
    pieces = [read.pieces[a:b].tolist() for a, b in zip(read.offsets[:-1], read.offsets[1:])]
    assert pieces[1] == pieces[2] == pieces[3] == pieces[5] == [1]
    assert 4 not in pieces[4]  # that of the mask


def test_contributions_sum_and_the_tools_of_texts_read_again_work(folders):
    model = TransformerClassifier(folders["bert"], VOCABULARY, lam=0.2, seed=2)
    out = model(CORPUS)
    for values in (contributions(model, CORPUS), shapley(model, CORPUS)):
        sums = torch.zeros(len(CORPUS)).index_add(0, CORPUS.instance_of, values)
        assert torch.allclose(sums, out.polarity, atol=1e-5)
    assert torch.isfinite(leave_one_out(model, CORPUS)).all()
    found = left_out(model, CORPUS)
    rest = model(CORPUS[[0]].without(torch.tensor([False, True, False, False])))  # a text without its second word
    assert found.whole[1] == pytest.approx((out.polarity[0] - rest.polarity[0]).item(), abs=1e-5)
    assert np.nanmax(abs(found.whole - found.own)) > 1e-4  # the others' states change
    again = reread(model, CORPUS, CORPUS.tokens.numpy(), torch.arange(8).numpy(), torch.full((8,), -1).numpy())
    assert torch.allclose(torch.from_numpy(again.again), out.polarity.double(), atol=1e-5)
    assert set(alone_and_in_texts(model, CORPUS)) == {f"{x} alone and in its text" for x in ("attention", "polarity")}
    frame = score_frame(model, DATA, {"some": torch.tensor([4, 5])}, CORPUS)
    where = CORPUS.tokens == 4
    assert frame["polarity"][0] == pytest.approx(float(out.token_polarity[where].mean()), abs=1e-6)


@pytest.mark.parametrize("frozen", [True, False])
def test_training_lowers_the_loss_twice_the_same_way_and_leaves_the_best_epoch(folders, frozen, dataset=DATA):
    ended = []
    for _ in range(2):
        model = TransformerClassifier(folders["bert"], VOCABULARY, lam=1.0, frozen=frozen, seed=4)
        before = {name: value.clone() for name, value in model.state_dict().items()}
        config = TrainingConfig("adam", 0.05, learning_rates=model.rates(1e-3), batch_size=3, epochs=4)
        run = fit(model, dataset, config, best="loss")
        assert run.history["loss"].iloc[-1] < 0.8 * run.history["loss"].iloc[0]
        ended.append(model.state_dict())
    assert all(torch.equal(ended[0][name], ended[1][name]) for name in ended[0])
    moved = {name for name in before if not torch.equal(before[name], ended[0][name])}
    assert moved >= {"V", "W"} and (len(moved) == 2) == frozen


def test_dropout_is_of_the_pooled_vector(folders):
    model = TransformerClassifier(folders["bert"], VOCABULARY, lam=1.0)
    run = fit(model, DATA, TrainingConfig("adam", 0.05, epochs=3, dropout=0.5, batch_size=4))
    assert run.history["loss"].iloc[-1] < run.history["loss"].iloc[0]


def test_the_start_follows_the_seed_and_frozen_states_can_be_shared(folders, global_generators_untouched):
    one, other = (TransformerClassifier(folders["bert"], VOCABULARY, seed=seed) for seed in (5, 6))
    again = TransformerClassifier(one.recurrent, VOCABULARY, lam=3.0, seed=5)
    assert torch.equal(one.V, again.V) and torch.equal(one.W, again.W) and not torch.equal(one.V, other.V)
    one(CORPUS)
    assert again.recurrent.kept and torch.allclose(again(CORPUS).scores, one(CORPUS).scores * 10 / 3, atol=1e-6)
    with pytest.raises(ValueError, match="fine-tune a transformer cannot share it: give each the folder"):
        TransformerClassifier(one.recurrent, VOCABULARY, frozen=False)
    with pytest.raises(ValueError, match="of another vocabulary"):
        TransformerClassifier(one.recurrent, Vocabulary(["other"]))


def with_file(folder, target, file, content=None):
    """A copy in which a file has another content, or is missing."""
    shutil.copytree(folder, target)
    (target / file).write_bytes(content) if content else (target / file).unlink()
    return target


def test_a_folder_that_cannot_be_used_is_refused_in_words(folders, tmp_path, untyped):
    bert = folders["bert"]
    config = json.loads((bert / "config.json").read_text())
    broken, cut_config, unknown, swapped, larger, wider = (
        with_file(bert, tmp_path / name, file, content)
        for name, file, content in (
            ("broken", "model.safetensors", (bert / "model.safetensors").read_bytes()[:-9]),
            ("config", "config.json", b"{"),
            ("unknown", "config.json", b'{"model_type": "nosuch"}'),
            ("swapped", "tokenizer.json", (folders["roberta"] / "tokenizer.json").read_bytes()),
            ("larger", "config.json", json.dumps(config | {"num_hidden_layers": 3}).encode()),
            ("wider", "config.json", json.dumps(config | {"hidden_size": 32}).encode()),
        )
    )
    t5 = transformers.T5Config(vocab_size=60, d_model=16, d_ff=16, num_layers=1, num_heads=2, d_kv=8)
    transformers.T5Model(t5).save_pretrained(tmp_path / "t5"), word_piece(tmp_path / "t5")
    vit = transformers.ViTConfig(**SIZES, image_size=32)
    transformers.ViTModel(vit).save_pretrained(tmp_path / "vit"), word_piece(tmp_path / "vit")
    parts = {"text_config": SIZES | {"vocab_size": 60}, "vision_config": SIZES | {"image_size": 32, "patch_size": 16}}
    clip = transformers.CLIPConfig(**parts, projection_dim=8)
    transformers.CLIPModel(clip).save_pretrained(tmp_path / "clip"), word_piece(tmp_path / "clip")
    for folder, words in (
        (tmp_path / "nosuch", "nosuch is not there: give a folder that"),
        (bert / "config.json", "is a file: give a folder"),
        (tmp_path, "holds no config.json"),
        (with_file(bert, tmp_path / "a", "tokenizer.json"), r"holds a transformer \(bert\) without a tokenizer"),
        (with_file(bert, tmp_path / "b", "model.safetensors"), "holds no weights"),
        (broken, r"the transformer in .*broken \(bert\) cannot be read"),
        (cut_config, "config.json is damaged"),
        (unknown, r"\(nosuch\) cannot be read|tokenizer in .*unknown cannot be read"),
        (swapped, r"swapped has 30\d pieces, the transformer rows for 60: they do not belong together"),
        (larger, "are not whole: 16 are missing, such as encoder.layer.2"),
        (wider, r"wider \(bert\) cannot be read \(config.json and weights do not belong together\)"),
        (tmp_path / "t5", "holds a T5Model, which reads one text and writes another: give an encoder"),
        (tmp_path / "vit", "holds a ViTModel, which reads no pieces of words"),
        (tmp_path / "clip", "holds a CLIPModel, which"),
    ):
        with pytest.raises(ValueError, match=words):
            TransformerClassifier(folder, VOCABULARY)
    with pytest.raises(ValueError, match="longest must be more than the 2 special pieces"):
        TransformerClassifier(bert, VOCABULARY, longest=2)
    with pytest.raises(ValueError, match="which reads 16 pieces at once: longest must not be 17"):
        TransformerClassifier(bert, VOCABULARY, longest=17)
    with pytest.raises(ValueError, match="give a Vocabulary, got int"):
        TransformerClassifier(bert, 17)
    model = TransformerClassifier(bert, VOCABULARY)
    for changed in (0.5 * model.embedding, 2 * model.embedding, model.embedding.clone().requires_grad_()):
        with pytest.raises(ValueError, match="no vector of a word to change"):
            model.score(changed)
    with pytest.raises(ValueError, match="the corpus holds token id 99"):
        model(Corpus.from_lists([[99]], [0]))


def test_without_transformers_it_is_said_what_to_install(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    words = r"reading a transformer needs transformers, which is not installed: pip install '\.\[transformers\]' in"
    with pytest.raises(ImportError, match=words):
        TransformerClassifier(folders["bert"], VOCABULARY)


TINY = own.Sizes(
    pieces=80, dimension=16, layers=2, heads=2, inner=16, positions=64, window=4, lengths=(16, 8), read=128, steps=60,
    learning_rate=1e-2, held_out=0.5,
)  # fmt: skip
SPECIALS = dict(zip(cut.SPECIAL_PIECES, range(5)))
PIECES = cut.PieceTexts(torch.arange(5, 65), torch.tensor([0, 3, 40, 60]))


def test_crops_are_consecutive_pieces_of_one_text_between_the_special_ones():
    draws = torch.Generator().manual_seed(0)
    rows = cut.drawn_rows(PIECES, 3000, 8, SPECIALS, draws)
    seen = set()
    for row, there in zip(rows.pieces.tolist(), rows.there):
        length = int(there.sum())
        assert there[:length].all() and row[0] == SPECIALS["cls"] and row[length - 1] == SPECIALS["sep"]
        assert row[length:] == [SPECIALS["pad"]] * (8 - length)
        body = row[1 : length - 1]
        assert body == list(range(body[0], body[0] + len(body)))
        text = next(t for t in range(3) if PIECES.offsets[t] <= body[0] - 5 < PIECES.offsets[t + 1])
        assert body[-1] - 5 < PIECES.offsets[text + 1] and len(body) == min(6, int(PIECES.offsets.diff()[text]))
        seen |= set(body)
    assert seen == set(range(5, 65))
    everything = cut.all_rows(PIECES, 8, SPECIALS)
    assert everything.pieces[everything.pieces >= 5].tolist() == list(range(5, 65))


def test_of_the_pieces_that_are_asked_for_eight_in_ten_are_masked():
    draws = torch.Generator().manual_seed(0)
    rows = cut.drawn_rows(PIECES, 20_000, 8, SPECIALS, draws)
    read, asked, answers = cut.masked_rows(rows, 0.15, 65, SPECIALS, draws)
    ordinary = rows.pieces >= 5
    assert not asked[~ordinary].any() and torch.equal(read[~asked], rows.pieces[~asked])
    assert torch.equal(answers, rows.pieces[asked])
    count = len(answers)
    assert count / int(ordinary.sum()) == pytest.approx(0.15, abs=4 * (0.15 * 0.85 / int(ordinary.sum())) ** 0.5)
    kinds = {"masked": read[asked] == SPECIALS["mask"], "same": read[asked] == answers}
    for kind, expected in (("masked", 0.8), ("same", 0.1 + 0.1 / 60)):
        spread = (expected * (1 - expected) / count) ** 0.5
        assert float(kinds[kind].double().mean()) == pytest.approx(expected, abs=4 * spread)
    assert read[asked].min() >= 4


def test_where_a_piece_stands_tells_the_own_transformer_nothing():
    """In the middle of a text longer than any in training states are those of a crop that holds all they see."""
    model = own.new_model(replace(TINY, spread=0.5), 65, SPECIALS).eval()
    long = torch.randint(5, 65, (1, 60), generator=torch.Generator().manual_seed(0))
    reach = TINY.layers * TINY.window // 2

    @torch.no_grad()
    def state(begin, end):
        return model.model(input_ids=long[:, begin:end]).last_hidden_state[0, 40 - begin]

    assert torch.allclose(state(0, 60), state(40 - reach, 41 + reach), atol=1e-5)
    for begin, end in ((41 - reach, 41 + reach), (40 - reach, 40 + reach)):
        assert not torch.allclose(state(0, 60), state(begin, end), atol=1e-4)


def test_what_is_asked_of_frequencies_is_their_entropy():
    """Texts that are one shuffled list of pieces: -log of the share, on average, is what any teller is told."""
    told = own.told_by_frequency(PIECES, PIECES, TINY, SPECIALS, 65)
    assert told["loss"] == pytest.approx(np.log(125 / 2), abs=1e-4)  # one is added to the count of each of 65 pieces


def test_own_transformer_is_trained_once_and_comes_out_the_same_again(small_imdb, tmp_path, monkeypatch):  # noqa: F811
    pytest.importorskip("gensim", reason="gensim is not installed: the pieces' vectors are not trained")
    monkeypatch.setattr(own, "load_dataset", lambda *_: small_imdb)
    folder = own.own_transformer(tmp_path, TINY)
    weights = folder / "model.safetensors"
    first, written = weights.read_bytes(), weights.stat().st_mtime_ns
    about = json.loads((folder / "about.json").read_text())
    assert folder.parent == tmp_path / "prepared" and about["reviews"]["unused"] == 6
    assert about["sizes"]["steps"] == about["curve"][-1]["step"] == 60
    assert about["curve"][-1]["held out"] == about["held out"]["loss"] < about["curve"][0]["held out"]
    assert set(about["versions"]) >= {"torch", "transformers", "tokenizers", "spacy"}
    assert own.own_transformer(tmp_path) == folder and weights.stat().st_mtime_ns == written  # whatever its sizes
    plain = transformers.AutoModelForMaskedLM.from_pretrained(folder)
    assert sum(each.numel() for each in plain.parameters()) == about["parameters"]
    assert transformers.AutoTokenizer.from_pretrained(folder).tokenize("A  good Review")[-1] != "[UNK]"
    model = TransformerClassifier(folder, small_imdb.vocabulary, frozen=False)
    assert model(small_imdb.train).polarity.shape == (3,)
    done = uaftc("transformer", "--data-home", tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{folder}: 2 layers of 16, {about['parameters']:,} parameters\n")
    told = f"{100 * about['held out']['right']:.1f} % told rightly"
    assert f"masked pieces of 3 of these reviews, kept out of training: {told}" in done.stdout
    # The package tokenizers trains a tokenizer that differs from time to time; all else follows the seed.
    same = transformers.AutoTokenizer.from_pretrained(folder)
    monkeypatch.setattr(own, "trained_tokenizer", lambda *_: same)
    shutil.rmtree(folder)
    own.own_transformer(tmp_path, TINY)
    assert weights.read_bytes() == first


def test_the_own_transformer_needs_transformers(small_imdb, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(own, "load_dataset", lambda *_: small_imdb)
    monkeypatch.setitem(sys.modules, "gensim", ModuleType("gensim"))  # which is missing on Python 3.14
    monkeypatch.setitem(sys.modules, "transformers", None)
    done = uaftc("transformer", "--data-home", tmp_path)
    assert done.exit_code == 2 and "training a transformer needs transformers, which is not installed" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_random_transformers_differ_in_the_size_of_their_weights_alone(folders, tmp_path):
    def weights(deviation, seed=0):
        folder = pretrained.untrained(folders["modernbert"], deviation, seed, str(tmp_path / f"{deviation}{seed}"))
        return transformers.AutoModel.from_pretrained(folder).get_input_embeddings().weight.detach()

    small, large = (weights(deviation) for deviation in pretrained.RANDOM_WEIGHTS.values())
    ratio = pretrained.RANDOM_WEIGHTS["untrained, mixing"] / pretrained.RANDOM_WEIGHTS["untrained"]
    torch.testing.assert_close(large, ratio * small)
    assert not torch.equal(small, weights(pretrained.RANDOM_WEIGHTS["untrained"], 1))
