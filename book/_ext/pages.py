"""What the pages need beyond Jupyter Book: work offline, say how they were made, warn when they are old."""

import pickle
import re
from html import unescape
from pathlib import Path
from pprint import pformat

from docutils import nodes
from sphinx.application import ENV_PICKLE_FILENAME

from uaftc_book import publish
from uaftc_book.publish import head, site
from uaftc_book.publish.address import binder, pages_address, provider, repository

# Pages that are no text of the book: what they are for.
SERVICE = {
    "404": "Its chapter may have got another name; the list of chapters and the search stand beside.",
    "search": "Finds the pages of this book on which a word stands.",
}
OF_INDEX = "Where the symbols and words of this book are explained."


def configure(app, config):
    # As SVG: the fonts of the other output are not found under file://.
    config.mathjax_path = "mathjax/tex-svg.js"
    options = config.html_theme_options
    written = options.get("repository_url")
    if not written or provider(written) != "github":  # notebooks say it to Colab, where it is written down
        options.get("launch_buttons", {}).pop("colab_url", None)
    options["repository_url"] = repository(written)
    if options["repository_url"]:
        config.html_baseurl = pages_address(options["repository_url"])
        options.update(use_repository_button=True, use_issues_button=True)
        options["repository_provider"] = provider(options["repository_url"])
    else:
        options["launch_buttons"] = {}


def complete_page(app, pagename, templatename, context, doctree):
    if pagename == "404":
        context["title"], context["pageurl"] = "This page is not here", ""
        if app.config.html_baseurl:  # shown at any address, it must know where the others are
            context["metatags"] = f'<base href="{app.config.html_baseurl}" />{context.get("metatags", "")}'
    checkout, tags = Path(app.srcdir).parent, context.get("metatags", "")
    if pagename in SERVICE:
        context["metatags"] = f'{tags}<meta name="description" content="{SERVICE[pagename]}" />'
    if pagename == "genindex":
        context["metatags"] = tags + head_of(app, pagename, "book/symbols.toml", "Index", f"<p>{OF_INDEX}</p>")
        context["provenance"] = provenance("book/symbols.toml", checkout)
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
        context["metatags"] = tags + head_of(app, pagename, f"{text}/{pagename}.md", context["title"], body)


def pages_to_write(app, env):
    """All, if what they show of each other has changed: titles, labels, terms, numbers of equations, citations."""
    cited = [(one.docname, [target.key for target in one.targets]) for one in env.domaindata["cite"]["citation_refs"]]
    tocs = {name: toc.pformat() for name, toc in env.tocs.items()}
    shared = pformat([tocs, env.toc_fignumbers, env.domaindata["std"], env.domaindata["math"], sorted(cited)])
    before, env.shown_of_each_other = getattr(env, "shown_of_each_other", ""), shared
    return [] if shared == before else sorted(env.found_docs)


def provenance(file, checkout):
    return f'<footer class="provenance"><p>{publish.edition(file, checkout)}</p></footer>'


def correct_links(app, pagename, templatename, context, doctree):
    """What the theme does not know: Binder's names of repositories on other hosts, and that a page may not be there."""
    options = app.config.html_theme_options
    for button in [one for group in context.get("header_buttons", []) for one in group.get("buttons", [])]:
        if button.get("text") == "Binder":
            name = f"{binder(options['repository_url'])}/{options.get('repository_branch') or 'main'}"
            button["url"] = re.sub(r"(?<=/v2/)[^?]*", name, button["url"])
        elif button.get("label") == "source-issues-button" and pagename == "404":
            button["url"] = button["url"].replace("on%20page%20%2F404.html", "with%20a%20page%20that%20is%20missing")


def first_figure(app):
    """The outputs of the book's first page that draws something."""
    for name in sorted(app.env.found_docs):
        html = "".join(raw.astext() for raw in app.env.get_doctree(name).findall(nodes.raw))
        if head.FIGURE.search(html):
            return html
    return ""


def head_of(app, name, file, title, body):
    checkout, here = Path(app.srcdir).parent, app.config.html_baseurl or ""
    book = {"title": app.config.html_title, "author": app.config.author}
    changed, sentence = head.changed_on(file, checkout), head.sentence_of(body)
    title, url, card = unescape(title), here and f"{here}{name}.html", ""
    if here:  # a preview asks for it by its address
        card = f"_static/cards/{name}.png"
        target = Path(app.outdir) / card
        target.parent.mkdir(parents=True, exist_ok=True)
        drawn = first_figure(app) if name == app.config.root_doc and not head.FIGURE.search(body) else body
        icon = Path(app.srcdir, "_static", "icon.svg").read_text(encoding="utf-8")
        target.write_bytes(head.png(head.preview_card(title, sentence, drawn, book["title"], icon)))
    linked_data = head.linked_data(title, sentence, book, url, changed)
    values = {"book": book, "title": title, "sentence": sentence, "changed": changed, "url": url, "site": here}
    return site.template(checkout, "head.html").render(linked_data=linked_data, card=card, **values)


def complete_site(app, exception):
    if exception is None and app.builder.name == "html":
        names = sorted(app.env.found_docs)
        site.add_files(Path(app.outdir), Path(app.srcdir).parent, app.config.html_baseurl or "", names)
        # Sphinx keeps what it knows before the index of the search is whole, which a build of one page then lacks.
        Path(app.doctreedir, ENV_PICKLE_FILENAME).write_bytes(pickle.dumps(app.env))


def setup(app):
    app.connect("config-inited", configure)
    app.connect("env-updated", pages_to_write)
    app.connect("html-page-context", complete_page)
    app.connect("html-page-context", correct_links, priority=502)  # after the theme has made them
    app.connect("build-finished", complete_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
