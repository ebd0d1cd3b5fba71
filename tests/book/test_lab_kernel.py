"""The ipywidgets sliders in a real kernel: a move of the front end trains again and changes the picture."""

import os
import re

import pytest
from jupyter_client.manager import start_new_kernel

from uaftc_book.publish import CHECKOUT
from uaftc_lib.locations import PAPER_NAMES
from uaftc_lib.vectors.unused_reviews import own_vectors

SLIDERS = """
import torch
torch.set_num_threads(1)
from uaftc_lib import TrainingConfig, load_dataset
from uaftc_book.lab import sliders
box = sliders(load_dataset({name!r}), TrainingConfig(epochs=8), controls=("lam", "seed"), dimension=50)
box
"""
FRAMES = """
from uaftc_book.lab import lambda_slider
shown = lambda_slider(load_dataset({name!r}), (1, 100), TrainingConfig(epochs=2), dimension=8)
shown
"""
ENOUGH = 120  # seconds: a kernel on a busy machine imports slowly


class Kernel:
    """A running kernel, as a front end sees it."""

    def __init__(self):
        self.manager, self.client = start_new_kernel(kernel_name="python3", startup_timeout=ENOUGH)

    def run(self, code: str) -> list[dict]:
        """The messages that a cell puts out."""
        heard = []
        self.client.execute_interactive(code, timeout=ENOUGH, output_hook=heard.append)
        assert not [one["content"] for one in heard if one["msg_type"] == "error"]
        return [one["content"] for one in heard]

    def value(self, expression: str) -> str:
        """What an expression prints."""
        return "".join(content.get("text", "") for content in self.run(f"print({expression})"))

    def move(self, slider: str, value: float) -> None:
        """What the front end sends when a slider is moved."""
        session = self.client.session
        data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
        content = {"comm_id": self.value(f"{slider}.comm.comm_id").strip(), "data": data}
        self.client.shell_channel.send(session.msg("comm_msg", content))

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def running():
    """One kernel for all tests."""
    kernel = Kernel()
    yield kernel
    kernel.close()


@pytest.fixture
def kernel(running):
    """The kernel, with the data that the test declares."""
    running.run(f"%env UAFTC_DATA={os.environ['UAFTC_DATA']}")
    return running


@pytest.mark.data("name")
@pytest.mark.parametrize("name", ["sst", "20news-1"])
def test_a_moved_slider_trains_again(kernel, name):
    out = kernel.run(SLIDERS.format(name=name))
    assert any("application/vnd.jupyter.widget-view+json" in content.get("data", {}) for content in out)
    picture = "box.children[-1].value"
    before = kernel.value(picture)
    kernel.move("box.children[0]", 100.0)
    after = kernel.value(picture)  # asked after the move on the same channel, so answered after it
    assert "λ = 10:" in before and "λ = 100:" in after
    seconds = []
    for seed in range(1, 6):
        kernel.move("box.children[1]", seed)
        seconds.append(float(re.search(r"Trained in ([\d.]+) s", kernel.value(picture))[1]))
    print(f"{name}, d = 50, 8 epochs: {sorted(seconds)[2]:.2f} s (median of five)")
    # What has become several times slower; `make bench` measures the 0.4 s themselves.
    assert min(seconds) <= 4 * 0.4


@pytest.mark.data("sst")
def test_a_slider_of_frames_trains_between_them(kernel):
    kernel.run("from uaftc_lib import TrainingConfig, load_dataset")
    out = kernel.run(FRAMES.format(name="sst"))
    data = next(content["data"] for content in out if "text/html" in content.get("data", {}))
    assert "application/vnd.jupyter.widget-view+json" in data and "uaftc-frames" in data["text/html"]


# A chapter's slider, and where it is moved. Most pages train before it stands, so these are for `make test-long`.
SLIDER = re.compile(
    r"\n((?:Slider|unseen_slider|lambda_slider)\(.*|slider\n)\Z", re.DOTALL
)  # what a cell with a slider ends in
MOVES = {  # a value for each slider of the page
    "00_intro": 20.0,
    "A_data_sets": 0.6,
    "02_training": pytest.param(20.0, marks=pytest.mark.long),
    "03_attention_order": pytest.param(20.0, marks=pytest.mark.long),
    "05_real_words": pytest.param(20.0, 5, marks=pytest.mark.long),
    "06_accuracy": pytest.param(20.0, marks=pytest.mark.long),
    "07_words_and_classes": pytest.param(3.0, marks=pytest.mark.long),
    "08_is_it_explanation": pytest.param(3.0, marks=pytest.mark.long),
    "09_staying_true": pytest.param(0.3, marks=pytest.mark.long),
    "A_pretrained": pytest.param(5.0, marks=pytest.mark.long),
    "A_since_2020": pytest.param(7.0, marks=pytest.mark.long),
    "04_which_lambda": pytest.param(5.0, marks=pytest.mark.long),
}


def cells_of(chapter: str) -> list[str]:
    """The code of a chapter, cell by cell."""
    text = (CHECKOUT / "notebooks" / f"{chapter}.md").read_text(encoding="utf-8")
    return re.findall(r"```\{code-cell\}[^\n]*\n(?::tags:[^\n]*\n)?(.*?)```", text, re.DOTALL)


def test_these_are_the_chapters_with_a_slider():
    chapters = {path.stem for path in (CHECKOUT / "notebooks").glob("*.md")}
    assert {name for name in chapters if any(map(SLIDER.search, cells_of(name)))} == set(MOVES)


@pytest.mark.data(*PAPER_NAMES)
@pytest.mark.parametrize(
    ("chapter", "values"),
    [pytest.param(name, getattr(one, "values", [one]), marks=getattr(one, "marks", ())) for name, one in MOVES.items()],
)
def test_the_sliders_of_a_chapter_draw_anew(kernel, chapter, values):
    """The cells of a chapter as far as each slider, in a real kernel; then a move."""
    if chapter == "A_pretrained":
        own_vectors()  # without them, which take minutes to make, the slider only switches what is stored
    kernel.run("%reset -f")
    waiting = list(values)
    for cell in cells_of(chapter):
        if not waiting:
            return
        if not (last := SLIDER.search(cell)):
            kernel.run(cell)
            continue
        kernel.run(f"{cell[: last.start()]}\nchosen = {last[1]}")
        kernel.run("box = chosen.live()")
        seen = kernel.value("box.children[-1].value")
        kernel.move("box.children[0]", waiting.pop(0))
        assert kernel.value("box.children[-1].value") != seen
    assert not waiting
