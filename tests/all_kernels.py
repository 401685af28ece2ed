"""Every kernel of linkwork, whatever holds it."""

from __future__ import annotations

import gc
from importlib import import_module
from pathlib import Path

import linkwork
from linkwork.native.kernels import Kernel


def all_kernels() -> list[Kernel]:
    root = Path(linkwork.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path.name != "__main__.py":
            parts = path.relative_to(root.parent).with_suffix("").parts
            import_module(".".join(parts).removesuffix(".__init__"))
    return [x for x in gc.get_objects() if type(x) is Kernel and x.python.__module__.startswith("linkwork.")]
