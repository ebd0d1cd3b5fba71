"""The lab's files joined into one ES module without dependencies: for a page, and for a live kernel."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources

ENGINE = ("random", "pieces", "corpus", "band", "trainer", "workshop")
INTERFACE = (
    *("random", "draw", "run", "sentence", "address", "state", "elements", "controls", "player", "pictures"),
    *("host", "check", "again", "base", "compact", "full"),
)
SOME = re.compile(r'^import \{ (.*) \} from "\./(\w+)\.js";$', re.MULTILINE)
WHOLE = re.compile(r'^import \* as (\w+) from "\./(\w+)\.js";$', re.MULTILINE)


def read(name: str) -> str:
    """One of the files beside this one."""
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def style() -> str:
    """The style sheet of frames and sliders, as an element."""
    return f"<style>{read('frames.css')}</style>"


def local_imports(source: str) -> str:
    """The source with its imports taken from the parts before it."""
    return WHOLE.sub(r"const \1 = $\2;", SOME.sub(r"const { \1 } = $\2;", source))


def exported(source: str) -> list[str]:
    """The names that a file exports."""
    names = []
    for statement in re.findall(r"^export ([^\n]*)", source, re.MULTILINE):
        if statement.startswith("const"):
            statement = re.sub(r"\([^()]*\)", "", statement)  # a parameter with a default is no name of the file
            names += re.findall(r"(?:^const|,) (\w+) = ", statement)
        else:
            names.append(re.match(r"(?:async )?(?:function\*?|class) (\w+)", statement).group(1))
    return names


def part(name: str) -> str:
    """One file as a scope of its own, that yields what the file exports."""
    source = read(f"js/{name}.js")
    body = re.sub(r"^export ", "", local_imports(source), flags=re.MULTILINE)
    return f"const ${name} = (() => {{\n{body}return {{ {', '.join(exported(source))} }};\n}})();\n"


@cache
def module_source() -> str:
    """The text of the module. It defines the element <uaftc-lab>, and exports an anywidget ``render``."""
    engine = "".join(part(name) for name in ENGINE)
    text = (
        f"const SETTINGS = {read('settings.json').strip()};\n"
        f"const REFERENCE = {read('reference.json').strip()};\n"
        f"const CSS = {json.dumps(read('lab.css'), ensure_ascii=False)};\n"
        f"function defineEngine() {{\n{engine}return $workshop;\n}}\n"
        + "".join(part(name) for name in INTERFACE)
        + local_imports(read("js/main.js"))
    )
    if "</script" in text or "<!--" in text:
        raise ValueError("the lab's source would end the script element that carries it: reword it")
    return text
