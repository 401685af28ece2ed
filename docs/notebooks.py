"""Notebooks, executed: their pages hold what the cells gave when the documentation was built."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

SOURCE = Path(__file__).parent / "notebooks"


def page(name: str, target: Path) -> str:
    """Execute a notebook and write it as a piece of HTML beside the page that shows it."""
    notebook = nbformat.read(SOURCE / f"{name}.ipynb", as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(target)}}).execute()
    title = notebook.cells[0].source.partition("\n")[0]
    notebook.cells[0].source = notebook.cells[0].source.partition("\n")[2]
    html, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    (target / f"{name}_cells.html").write_text(f'<div class="notebook">\n{html}\n</div>\n', encoding="utf-8")
    return f"{title}\n\n```{{raw}} html\n:file: {name}_cells.html\n```\n"
