"""What one frame of the viewer costs: `python -m benchmarks.viewer`, in Chromium without a graphics card.

A frame at 60 per second lasts 16.7 ms; bringing 50 bodies up to date should leave most of it to the browser (4 ms).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import linkwork

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
FRAMES, ROUNDS = 60, 5
KEYS = {"as it opens": "", "with names, velocities and reactions": "nvr"}


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no chromium")
    motion = linkwork.simulate(linkwork.load("planar_chain:50"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder) / "chain.html"
        motion.animate(page)
        browser = driver.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        tab = browser.new_page(viewport={"width": 1360, "height": 800})
        tab.goto(page.as_uri())
        for what, keys in KEYS.items():
            for key in keys:
                tab.keyboard.press(key)
            tab.evaluate(f"window.linkwork.cost({FRAMES})")
            costs = [tab.evaluate(f"window.linkwork.cost({FRAMES})") for _ in range(ROUNDS)]
            median = min(np.median(cost) for cost in costs)
            slow = min(np.percentile(cost, 95) for cost in costs)
            print(f"frame of 50 bodies, {what}: {median:.2f} ms, 95 % below {slow:.2f} ms")
        browser.close()


if __name__ == "__main__":
    main()
