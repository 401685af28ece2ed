"""Puts into a wheel the kernels as LLVM text, so that where it is installed nothing needs numba, and the viewer."""

import runpy
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):  # type: ignore[type-arg]
    @property
    def viewer(self) -> dict[str, Any]:
        return runpy.run_path(str(Path(self.root, "viewer", "build.py")))

    def dependencies(self) -> list[str]:
        needed: list[str] = self.viewer["requirements"]()
        return needed

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # kernels change there, and are compiled when they are needed
            return
        self.app.display_info(self.viewer["build"]()[1])
        sys.path.insert(0, str(Path(self.root, "src")))
        from linkwork.native.kernels import SHIPPED
        from linkwork.native.translation import ship

        path = Path(self.root, "build", SHIPPED.name)
        path.parent.mkdir(exist_ok=True)
        ship(path)
        build_data["force_include"][str(path)] = f"linkwork/native/{SHIPPED.name}"
