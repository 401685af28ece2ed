"""The mechanisms that come with linkwork: model files, and generators of mechanisms of any size."""

from __future__ import annotations

import os
import re
from functools import cache
from glob import glob
from pathlib import Path
from typing import Any

from linkwork.mechanisms.generators import GENERATORS

MECHANISMS = Path(__file__).parent
ABOUT = re.compile(r"^(?:about|space):.*(?:\n[ #].*)*", re.MULTILINE)


@cache
def shipped() -> tuple[str, ...]:
    """Return the names of the mechanisms."""
    files = glob("**/*.yaml", root_dir=MECHANISMS, recursive=True)
    return tuple(sorted([*(file.removesuffix(".yaml").replace(os.sep, "/") for file in files), *GENERATORS]))


def describe(name: str) -> dict[str, Any]:
    """Return what a file says about itself, and its space; all else is not read."""
    from linkwork.document import parse

    if name in GENERATORS:
        generate, usual = GENERATORS[name]
        data: dict[str, Any] = generate(usual)
    else:
        text = (MECHANISMS / f"{name}.yaml").read_text(encoding="utf-8")
        data = parse("\n".join(ABOUT.findall(text))).data
    about: dict[str, Any] = data.get("about", {})
    checked = about.get("checked")
    usual_checks = {"source": "", "analysis": "run"}
    return {
        "name": name,
        "space": data.get("space", "planar"),
        "title": about.get("title", ""),
        "source": about.get("source", ""),
        "checked": checked and checked | {key: x for key, x in usual_checks.items() if key not in checked},
    }
