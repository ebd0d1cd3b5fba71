"""What the pages need beyond Jupyter Book: work offline, say how they were made, warn when they are old."""

import json
import pickle
import re
from html import escape
from pathlib import Path
from pprint import pformat

from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME

from uaftc_book import publish
from uaftc_book.numbers import MARK
from uaftc_book.publish import address
from uaftc_book.publish.pages import changed_on
from uaftc_lib import files

SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z“])")


def configure(app, config):
    # As SVG: the fonts of the other output are not found under file://.
    config.mathjax_path = "mathjax/tex-svg.js"
    config.html_baseurl = config.ogp_site_url = address.site(Path(app.srcdir).parent)
    config.ogp_site_name = config.html_title
    config.ogp_social_cards |= {"enable": bool(config.html_baseurl)}  # a preview asks for its card by its address
    options = config.html_theme_options
    if not options.get("repository_url"):
        options["launch_buttons"] = {}
        return
    options.update(use_repository_button=True, use_issues_button=True)
    if not options["repository_url"].startswith("https://github.com/"):
        options["launch_buttons"].pop("colab_url", None)  # Colab reads GitHub alone


def describe(app, pagename, templatename, context, doctree):
    """Leave of a page that is written the one sentence that shall describe it: opengraph takes its first words."""
    if doctree:
        sentence = app.env.metadata[pagename]["answer"] = sentence_of(doctree)  # which the search shows
        doctree[:] = [nodes.paragraph("", sentence)]


def sentence_of(doctree):
    """A chapter's sentence: the first that is set in bold, which is what it found; else the first of all."""
    paragraphs = [one for one in doctree.findall(nodes.paragraph) if not isinstance(one.parent, nodes.entry)]
    paragraphs = [one for one in paragraphs if "page-needs" not in one["classes"]]
    bold = [one for one in doctree.findall(nodes.strong) if one.parent in paragraphs and len(one.astext().split()) > 4]
    parts = bold[0].parent[bold[0].parent.index(bold[0]) :] if bold else paragraphs[:1]
    text = MARK.sub(r"\3", "".join(one.astext() for one in parts)).replace("\\", "")
    return SENTENCE.split(" ".join(text.split()), maxsplit=1)[0]


def complete_page(app, pagename, templatename, context, doctree):
    checkout = Path(app.srcdir).parent
    if pagename == "404":
        context["title"], context["pageurl"] = "This page is not here", ""
        if app.config.html_baseurl:  # shown at any address, it must know where the others are
            context["metatags"] = f'<base href="{app.config.html_baseurl}" />{context.get("metatags", "")}'
    if pagename == "genindex":
        context["provenance"] = provenance("book/symbols.toml", checkout)
    if pagename == "search":  # read from file://, it can fetch nothing
        answers = {name: escape(one.get("answer", "")) for name, one in app.env.metadata.items()}
        app.add_js_file(None, body=f"const ANSWERS = {json.dumps(answers, sort_keys=True)};")
    context["default_mode"] = "auto"  # left empty, the theme complains in the console of every page
    # The live-code scripts are unused, declare a constant twice, and name a server.
    context["script_files"] = [
        script for script in context["script_files"] if "thebe" not in f"{script.filename} {script.attributes}".lower()
    ]
    if pagename != "genindex" and "body" in context and (written := Path(app.env.doc2path(pagename))).exists():
        body = context["body"]
        if written.suffix == ".ipynb":
            above, below, text = publish.banner(pagename, checkout), publish.footer(pagename, checkout), "notebooks"
        else:
            above, text = "", written.parent.name
            below = provenance(f"{text}/{pagename}.md", checkout)
        # A command is broken between its options, not within one.
        below = re.sub(r"(?<= )-[py] [^\s<]+", r'<span class="joined">\g<0></span>', below)
        # Folded code is called what stands on it, by screen readers too.
        body = body.replace('<summary aria-label="Toggle hidden content">', "<summary>")
        # A list has items; the role that calls them entries of a bibliography is deprecated.
        body = body.replace('role="doc-biblioentry"', 'role="listitem"')
        context["body"] = above + body + below
        context["author"], context["changed"] = app.config.author, changed_on(f"{text}/{pagename}.md", checkout)


def pages_to_write(app, env):
    """All, if what they show of each other has changed: titles, labels, terms, numbers of equations, citations."""
    cited = [(one.docname, [target.key for target in one.targets]) for one in env.domaindata["cite"]["citation_refs"]]
    tocs = {name: toc.pformat() for name, toc in env.tocs.items()}
    shared = pformat([tocs, env.toc_fignumbers, env.domaindata["std"], env.domaindata["math"], sorted(cited)])
    before, env.shown_of_each_other = getattr(env, "shown_of_each_other", ""), shared
    return [] if shared == before else sorted(env.found_docs)


def provenance(file, checkout):
    return f'<footer class="provenance"><p>{publish.edition(file, checkout)}</p></footer>'


def complete_site(app, exception):
    if exception is None and app.builder.name == "html":
        if app.config.html_baseurl:
            files.write(Path(app.outdir, "robots.txt"), f"Sitemap: {app.config.html_baseurl}sitemap.xml\n")
        for one in app.env.domaindata["cite"]["bibliographies"].values():
            for entry in one.citation_nodes.values():
                entry.clear()  # to which the next build would append
        # Sphinx keeps what it knows before the index of the search is whole, which a build of one page then lacks.
        files.write(Path(app.doctreedir, ENV_PICKLE_FILENAME), pickle.dumps(app.env))


def setup(app):
    app.connect("config-inited", configure)
    app.connect("env-updated", pages_to_write)
    app.connect("html-page-context", complete_page)
    app.connect("html-page-context", describe, priority=400)  # before opengraph reads it
    app.connect("build-finished", complete_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
