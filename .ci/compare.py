"""What the notebooks of book/ put out, beside what is committed: Markdown on stdout, exit code 1 where they differ.

Compared as in the replay of `make test`: how far rounding went does not count, nor do cells with the tag
nbval-ignore-output. Usage: python .ci/compare.py [COMMIT]
"""

import configparser
import re
import subprocess
import sys
from pathlib import Path

import nbformat

CHECKOUT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CHECKOUT))

from conftest import differences, lines_of  # noqa: E402

SHOWN = 20  # differing lines of a notebook


def rounded(text: str) -> str:
    """Outputs without what rounding may change, by the rules of the replay."""
    rules = configparser.ConfigParser()
    rules.read(CHECKOUT / "tests" / "rounding.cfg")
    for rule in rules.sections():
        text = re.sub(rules[rule]["regex"], rules[rule]["replace"], text)
    return text


def compared(text: str) -> list[str]:
    """The lines of output that another run must repeat, each with the number of its cell."""
    cells = [cell for cell in nbformat.reads(text, as_version=4).cells if cell.cell_type == "code"]
    lines = []
    for number, cell in enumerate(cells, start=1):
        if "nbval-ignore-output" not in cell.metadata.get("tags", []):
            lines += [f"[{number}] {line}" for line in lines_of(cell.outputs)]
    return rounded("\n".join(lines)).splitlines()  # a drawing has many lines


def main(commit: str = "HEAD", checkout: Path = CHECKOUT) -> int:
    """Compare every notebook; return the number of those that differ."""
    different = 0
    for path in sorted((checkout / "book").glob("*.ipynb")):
        command = ["git", "show", f"{commit}:book/{path.name}"]
        before = subprocess.run(command, cwd=checkout, check=True, capture_output=True, text=True).stdout
        found = differences(compared(before), compared(path.read_text(encoding="utf-8")))
        different += bool(found)
        print(f"- {path.stem}: {f'lines that differ: {len(found)}' if found else 'the same'}")
        print("".join(f"    {line}\n" for line in found[:SHOWN]), end="")
    return different


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) > 0)
