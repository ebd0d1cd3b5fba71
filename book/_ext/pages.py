"""What the pages need beyond Jupyter Book: work offline, say how they were made, warn when they are old."""

from pathlib import Path

from uaftc_lib import publish
from uaftc_lib.publish.address import pages_address, repository


def configure(app, config):
    # As SVG: the fonts of the other output are not found under file://.
    config.mathjax_path = "mathjax/tex-svg.js"
    options = config.html_theme_options
    options["repository_url"] = repository(options.get("repository_url"))
    if options["repository_url"]:
        config.html_baseurl = pages_address(options["repository_url"])
        options.update(use_repository_button=True, use_issues_button=True)
    else:
        options["launch_buttons"] = {}


def complete_page(app, pagename, templatename, context, doctree):
    context["default_mode"] = "auto"  # left empty, the theme complains in the console of every page
    # The live-code scripts are unused, declare a constant twice, and name a server.
    context["script_files"] = [
        script for script in context["script_files"] if "thebe" not in f"{script.filename} {script.attributes}".lower()
    ]
    if "body" in context and Path(app.env.doc2path(pagename)).suffix == ".ipynb":
        checkout = Path(app.srcdir).parent
        above, below = publish.banner(pagename, checkout), publish.footer(pagename, checkout)
        # Folded code is called what stands on it, by screen readers too.
        body = context["body"].replace('<summary aria-label="Toggle hidden content">', "<summary>")
        context["body"] = above + body + below


def setup(app):
    app.connect("config-inited", configure)
    app.connect("html-page-context", complete_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
