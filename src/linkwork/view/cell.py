"""A motion in a cell of a notebook: a picture with a button that puts the page of the viewer into its place.

The viewer comes once into a notebook, packed, with the first cell that shows a motion; other cells hold their data
alone. Each page stands in a frame of its own and can reach nothing of the notebook.
"""

from __future__ import annotations

import sys
from base64 import b64encode
from gzip import compress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from linkwork.errors import UsageError
from linkwork.trajectory import Trajectory
from linkwork.view.markup import image
from linkwork.view.page import COMPUTES, SCRIPTS, Most, built, data_of, halves

if TYPE_CHECKING:
    from linkwork.web.program import Program

MOST_IN_CELL = Most(500, 10_000)  # 0.1 MB
HEIGHT = 560  # pixels
# What brings the viewer: a function that unpacks both and puts the page into the cell.
BRINGS = """<script>
(window.linkworkViewers ??= {})["%(key)s"] = async (cell) => {
  const bytes = (packed) => Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const unpack = (packed) =>
    new Response(new Blob([bytes(packed)]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.style.cssText = "width:100%%;height:%(height)spx;border:1px solid #8884;border-radius:8px";
  const page = ["%(head)s", cell.dataset.motion, "%(tail)s"];
  frame.srcdoc = (await Promise.all(page.map(unpack))).join("");
  cell.replaceChildren(frame);
};
</script>"""
CELL = """<div data-motion="%(data)s">
%(picture)s
<p><button type="button" onclick="const cell = this.closest('[data-motion]');
const show = window.linkworkViewers?.['%(key)s'];
if (show) show(cell); else cell.lastElementChild.hidden = false">&#9654; %(does)s</button></p>
<p hidden>What moves it comes with the first motion of this notebook: trust the notebook and scroll to that cell, or run
it again. In Python, motion.view() opens the page in the browser.</p>
</div>"""
_brought: tuple[str, str] | None = None  # the cell of this notebook with the viewer, and which of its runs


def cell(motion: Trajectory, live: Program | None = None) -> str:
    """Write the picture with its button, and with the viewer if no other cell of the notebook has it.

    With a program the page that the button brings simulates.
    """
    if not (built() and motion.scene and len(motion.t)):
        return ""
    head, tail = halves()
    head = head.replace(SCRIPTS, f"{SCRIPTS} {COMPUTES}", 1)
    key = sha256((head + tail).encode()).hexdigest()[:16]
    shown = CELL % {
        "data": _packed(data_of([motion], (), live, None if live else MOST_IN_CELL, plays=live is None)),
        "does": "Move it" if live is None else "Try it",
        "picture": _start(motion),
        "key": key,
    }
    if not _brings():
        return shown
    return shown + BRINGS % {"key": key, "head": _packed(head), "tail": _packed(tail), "height": HEIGHT}


def _start(motion: Trajectory) -> str:
    from linkwork.view.picture import still

    try:
        return image(still(motion), motion.name)
    except UsageError:  # without matplotlib
        return ""


def _brings() -> bool:
    """Decide whether the cell that runs now brings the viewer: the first of its notebook, also when it runs again."""
    global _brought
    now = _cell_and_run()
    if now is None:
        return True
    if _brought is None or (now[0] == _brought[0] and now != _brought):
        _brought = now
        return True
    return False


def _cell_and_run() -> tuple[str, str] | None:
    """Identify the cell, by what it says where the program of the notebook gives it no name, and this run of it."""
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    asked = getattr(shell, "parent_header", None)
    if not asked:
        return None
    named = asked.get("metadata", {}).get("cellId")
    return named or shell.user_ns["In"][-1], asked["header"]["msg_id"]


def _packed(text: str) -> str:
    return b64encode(compress(text.encode(), mtime=0)).decode("ascii")
