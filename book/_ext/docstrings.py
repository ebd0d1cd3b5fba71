"""The page of the library, from its docstrings: plain text with formulas, whose bars are no substitutions of Sphinx."""

import re

BAR = re.compile(r"(``.*?``)|\|")
TYPE = re.compile(r"(\*\*[\w, ]+\*\*) \(\*(?!\{)[^*]*\*\)")  # said by the signature; choices, in braces, stay
ARGUMENTS = re.compile(r'<(d[ld])>(?=(?:\s*<dd>)?<em class="sig-param")')


def plain_bars(app, what, name, thing, options, lines):
    lines[:] = [BAR.sub(lambda found: found[1] or r"\|", TYPE.sub(r"\1", line)) for line in lines]


def without_places(app, what, name, thing, skip, options):
    """Fields of named tuples say no more of themselves than their place; the class explains them."""
    return True if (getattr(thing, "__doc__", "") or "").startswith("Alias for field") else None


def readable(app, what, name, thing, options, signature, returned):
    """A default that is made anew each time has no text that Python could read."""
    return (signature or "").replace("<factory>", "..."), returned


def no_definitions(app, pagename, templatename, context, doctree):
    """Arguments below each other are a list without terms, which screen readers would miss."""
    context["body"] = ARGUMENTS.sub(r'<\1 role="presentation">', context.get("body", ""))


def setup(app):
    app.connect("autodoc-process-docstring", plain_bars)
    app.connect("autodoc-process-signature", readable)
    app.connect("autodoc-skip-member", without_places)
    app.connect("html-page-context", no_definitions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
