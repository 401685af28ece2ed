"""Builds the viewer for a wheel."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ViewerHook(BuildHookInterface):  # type: ignore[type-arg]
    @property
    def viewer(self) -> dict[str, Any]:
        return runpy.run_path(str(Path(self.root, "viewer", "build.py")))

    def dependencies(self) -> list[str]:
        needed: list[str] = self.viewer["requirements"]()
        return needed

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            self.app.display_info(self.viewer["build"]()[1])
