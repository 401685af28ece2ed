"""How sphinx builds the documentation: `make docs`. Pages under generated/ are written by running linkwork."""

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import comparison
import elementary
import elements
import formulas
import gallery
import notebooks
import reference
import sources
import thresholds
import verification
from linkwork import __version__

project = "linkwork"
author = "The linkwork developers"
project_copyright = "The linkwork developers, MIT licence"
release = version = __version__

extensions = ["myst_parser"]
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
exclude_patterns = ["generated/extra", "notebooks"]
nitpicky = True
smartquotes = False  # or --all would become a dash

html_theme = "furo"
html_title = f"linkwork {release}"
html_static_path = ["style"]
html_css_files = ["pages.css"]
html_extra_path = ["generated/extra"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_sphinx = False


GENERATED = HERE / "generated"
(GENERATED / "extra").mkdir(parents=True, exist_ok=True)


def write_pages(app: Any) -> None:
    """The pages that linkwork writes about itself; a number that does not fit its source ends the build."""
    pages = {
        "model-file-keys": reference.model_file(),
        "command-line": reference.command_line(),
        "api": reference.api(),
        "elements": elements.page(),
        "sources": sources.page(),
        "verification": verification.page(),
        "comparison": comparison.page(GENERATED),
        "gallery": gallery.page(GENERATED),
        "four_bar_notebook": notebooks.page("four_bar", GENERATED),
        "thresholds": thresholds.page(),
        "elementary": elementary.page(),
    }
    for name, text in pages.items():
        path = GENERATED / f"{name}.md"
        if (
            not path.exists() or path.read_text(encoding="utf-8") != text
        ):  # a page that has not changed is not built again
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> None:
    app.connect("builder-inited", write_pages)
    app.connect("source-read", sources.link)
    formulas.setup(app)
