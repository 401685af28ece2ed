"""Pages in a real browser, for the tests of the viewer."""

from __future__ import annotations

import shutil
from typing import Any

CHROMIUM = shutil.which("chromium")
# Drawing without a graphics card.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


class Tab:
    """A page in the browser, with all that it said and asked for."""

    def __init__(self, tab: Any, address: str, ready: str) -> None:
        self.tab = tab
        self.said: list[str] = []
        self.asked: list[str] = []
        tab.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: self.said.append(str(error)))
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.goto(address)
        tab.wait_for_selector(ready)
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        frames = "(done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.tab.evaluate(f"new Promise({frames})")
