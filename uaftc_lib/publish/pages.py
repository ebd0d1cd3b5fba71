"""Build the pages: warnings are errors, every page says how it was made, and an older run stands under a banner."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from html import escape
from pathlib import Path
from urllib.parse import quote

from uaftc_lib import __version__
from uaftc_lib.publish import address
from uaftc_lib.publish.head import changed_on
from uaftc_lib.publish.keys import digest, digests, has_its_outputs, is_scratch, is_stale
from uaftc_lib.publish.size import slim
from uaftc_lib.publish.sources import CHECKOUT, chapters, parameters_of, read_published


def rerun_command(name: str, parameters: dict[str, object]) -> str:
    """The shell command that makes a page's notebook again, every parameter spelled out."""
    words = ["papermill", f"book/{name}.ipynb", "out.ipynb"]
    for parameter, value in parameters.items():
        if isinstance(value, (int, float, str)):
            words += ["-p", parameter, str(value)]
        else:
            words += ["-y", json.dumps({parameter: value})]
    return shlex.join(words)


def banner(name: str, checkout: Path = CHECKOUT) -> str:
    """HTML to stand above a page whose notebook could not be executed again; empty if it is fresh."""
    if not is_stale(name, checkout):
        return ""
    return (
        '<div class="admonition warning stale"><p class="admonition-title">An older run</p>'
        "<p>What this page was made from has changed since, and its data were not at hand "
        "to run it again. Numbers and figures are those of the older run.</p></div>"
    )


def footer(name: str, checkout: Path = CHECKOUT) -> str:
    """HTML to stand below a page: seed, versions, and how to make it again."""
    executed = read_published(name, checkout)
    parameters = parameters_of(executed)
    facts = [f"{one} {parameters[one]}" for one in ("seed", "seeds") if one in parameters]
    facts += [f"{package} {version}" for package, version in executed.metadata.uaftc.versions.items()]
    of = edition(f"notebooks/{name}.md", checkout)
    return (
        f'<footer class="provenance"><p>{of} Made with {escape(", ".join(facts))}. To make this page\'s notebook '
        "again, or with other parameters:</p>"
        f"<pre>{escape(rerun_command(name, parameters))}</pre></footer>"
    )


def edition(file: str, checkout: Path = CHECKOUT) -> str:
    """Which version of the book a page is of, and when its text was changed last."""
    changed = changed_on(file, checkout)
    return f"Version {__version__} of this book" + (f", page last changed on {changed}." if changed else ".")


def build(checkout: Path = CHECKOUT) -> Path:
    """Build the pages if anything they are made of has changed, and return their folder.

    They are built beside those that are there, and take their place when they are whole.

    Raises
    ------
    SystemExit
        If Jupyter Book fails or warns, or if a copy holds other outputs than its run has written.
    """
    if forged := [f"book/{name}.ipynb" for name in chapters(checkout) if not has_its_outputs(name, checkout)]:
        raise SystemExit(
            f"Not published, for their outputs are not those of their run: {', '.join(forged)}. "
            "Execute them again: uaftc book --again and the chapter's name."
        )
    target, draft, former = (checkout / "_build" / name for name in ("book", "book.draft", "book.former"))
    pages, built_from = target / "_build" / "html", target / "built-from"
    parts = [path for path in (checkout / "book").rglob("*") if path.is_file() and not path.name.endswith("~")]
    parts = [path for path in parts if not is_scratch(path.relative_to(checkout))]
    parts += [checkout / name for name in ("_config.yml", "_toc.yml", "requirements.lock", "CHANGELOG.md")]
    where = address.repository(address.configured(checkout))
    try:
        site = where and address.pages_address(where)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    stale = [name for name in chapters(checkout) if is_stale(name, checkout)]
    makers = [digest(path) for path in sorted(Path(__file__).parent.glob("*.py"))]
    written = [*(checkout / "notebooks").glob("*.md"), *(checkout / "book").glob("*.md")]
    days = [changed_on(str(path.relative_to(checkout)), checkout) for path in sorted(written)]
    made_of = json.dumps([digests(checkout, parts), makers, days, stale, where, site])
    if built_from.exists() and built_from.read_text() == made_of:
        return pages
    shutil.rmtree(draft, ignore_errors=True)  # a page from a cache would not repeat its warnings
    command = [Path(sys.executable).with_name("jupyter-book"), "build", checkout / "book"]
    command += ["--config", checkout / "_config.yml", "--toc", checkout / "_toc.yml"]
    command += ["--path-output", draft, "-W", "--keep-going", "-q"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nJupyter Book failed or warned, and warnings are errors here.")
    made = draft / "_build" / "html"
    slim(made)
    lead_on(made)
    (draft / built_from.name).write_text(made_of)
    shutil.rmtree(former, ignore_errors=True)
    if target.exists():
        target.rename(former)
    draft.rename(target)
    shutil.rmtree(former, ignore_errors=True)
    return pages


def lead_on(pages: Path) -> None:
    """Give the address of the whole book, which only leads on to its first page, that page's head."""
    index = pages / "index.html"
    target = re.search(r"url=([^\"]+)", index.read_text(encoding="utf-8"))
    first = (pages / target[1]).read_text(encoding="utf-8")
    head = re.findall(
        r"<title>.*?</title>|<meta (?:name|property)=\"(?:description|og:)[^>]*>"
        r"|<link rel=\"(?:canonical|alternate)\"[^>]*>",
        first,
        re.DOTALL,
    )
    # Within the page: a file would be asked for and, when the next page comes, given up.
    icon = quote((pages / "_static" / "icon.svg").read_text(encoding="utf-8").strip())
    head.append(f'<link rel="icon" href="data:image/svg+xml,{icon}" />')
    refresh = f'<meta http-equiv="Refresh" content="0; url={target[1]}" />'
    index.write_text(
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8" />\n{refresh}\n' + "\n".join(head) + "\n</html>\n",
        encoding="utf-8",
    )
