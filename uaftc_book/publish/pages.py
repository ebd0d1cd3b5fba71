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

from uaftc_book.publish import address
from uaftc_book.publish.keys import digests, has_its_outputs, is_scratch, is_stale
from uaftc_book.publish.size import slim
from uaftc_book.publish.sources import CHECKOUT, chapters, listed, parameters_of, read_published
from uaftc_lib import __version__, files

SOURCES = ("book", "notebooks", "uaftc_lib", "uaftc_book")
BUILT_FROM = "made-of.json"  # beside the pages
DOCSTRINGS = re.compile(r"uaftc_lib/.*\.py")  # shown by the page of the library
# No page shows these but by an executed copy.
UNSEEN = re.compile(r"notebooks/|uaftc_lib/(?!.*\.py$)|uaftc_book/(?!publish/)")
OF_A_PAGE = re.compile(r"(?:book/|day of (?:book|notebooks)/|older run of )(\w+)(?:\.ipynb|\.md)?")


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


def changed_on(file: str, checkout: Path) -> str:
    """The day on which a file was changed last, as YYYY-MM-DD; empty where there is no history."""
    command = ["git", "log", "-1", "--format=%cs", "--", file]
    try:
        return subprocess.run(command, cwd=checkout, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def edition(file: str, checkout: Path = CHECKOUT) -> str:
    """Which version of the book a page is of, and when its text was changed last."""
    changed = changed_on(file, checkout)
    return f"Version {__version__} of this book" + (f", page last changed on {changed}." if changed else ".")


def made_of(checkout: Path = CHECKOUT) -> dict[str, str]:
    """All that copies and pages are made of: digests of files, days of texts' last changes, addresses.

    Raises
    ------
    SystemExit
        If the address of the pages cannot be.
    """
    files = [path for folder in SOURCES for path in (checkout / folder).rglob("*") if path.is_file()]
    files = [path for path in files if not path.name.endswith("~") and not is_scratch(path.relative_to(checkout))]
    files += [checkout / name for name in ("_config.yml", "_toc.yml", "requirements.lock")]
    dated = [path for path in files if path.suffix == ".md" or path.name == "symbols.toml"]
    names = [path.relative_to(checkout).as_posix() for path in dated]
    days = {f"day of {name}": changed_on(name, checkout) for name in names}
    return digests(checkout, files) | days | {"version": __version__, "site": address.site(checkout)}


def page_of(key: str) -> str:
    """The page that alone shows what this part of :func:`made_of` is of; empty if others may."""
    of = OF_A_PAGE.fullmatch(key)
    return "api" if DOCSTRINGS.fullmatch(key) else of[1] if of else ""


def built_from(checkout: Path) -> dict[str, str]:
    """What the pages that are there were made of; nothing where there are none."""
    path = checkout / "_build" / "book" / BUILT_FROM
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def is_ready(checkout: Path = CHECKOUT) -> bool:
    """Whether nothing has changed since the pages were built, and none of them shows an older run."""
    return built_from(checkout) == made_of(checkout)


def build(checkout: Path = CHECKOUT, whole: bool = False) -> Path:
    """Build the pages if anything they are made of has changed, and return their folder.

    They are built beside those that are there, and take their place when they are whole. Where texts alone have
    changed, other pages are taken over, but for what they show of these (book/_ext/pages.py); not if all shall be
    built anew, or are addressed: then the map of the site lists every page that is written.

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
    copies = [f"book/{name}.ipynb" for name in sorted(listed(checkout).difference(chapters(checkout)))]
    if textless := ", ".join(copy for copy in copies if (checkout / copy).exists()):
        raise SystemExit(f"Not published, for they are in _toc.yml and have no text in notebooks/: {textless}")
    target, draft, former = (checkout / "_build" / name for name in ("book", "book.draft", "book.former"))
    built, now = built_from(checkout), made_of(checkout)
    now |= {f"older run of {name}": "" for name in chapters(checkout) if is_stale(name, checkout)}
    changed = {key for key, _ in now.items() ^ built.items() if not UNSEEN.match(key)}
    texts = {page_of(key) for key in changed}
    if built and not changed and not whole:
        files.write(target / BUILT_FROM, json.dumps(now))
        return target / "_build" / "html"
    whole = whole or not built or bool(now["site"]) or not all(texts)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", checkout / "book"]
    command += ["--config", checkout / "_config.yml", "--toc", checkout / "_toc.yml"]
    command += ["--path-output", draft, "-W", "--keep-going", "-q"]
    for every in dict.fromkeys([whole, True]):  # a label that has moved to an earlier page stands twice at first
        shutil.rmtree(draft, ignore_errors=True)  # a page from a cache would not repeat its warnings
        if not every:
            anew = [f"{text}.doctree" for text in texts]
            shutil.copytree(target, draft, ignore=shutil.ignore_patterns("_static", "index.html", *anew))
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if not done.returncode:
            break
    else:
        raise SystemExit(f"{done.stdout}\nJupyter Book failed or warned, and warnings are errors here.")
    made = draft / "_build" / "html"
    slim(made)
    lead_on(made)
    files.write(draft / BUILT_FROM, json.dumps(now))
    shutil.rmtree(former, ignore_errors=True)
    if target.exists():
        target.rename(former)
    draft.rename(target)
    shutil.rmtree(former, ignore_errors=True)
    return target / "_build" / "html"


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
    files.write(
        index,
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8" />\n{refresh}\n' + "\n".join(head) + "\n</html>\n",
    )
