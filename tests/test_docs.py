"""What the documentation shows works as shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.elements.motions import MOTIONS
from linkwork.elements.shapes import SHAPES
from linkwork.modelfile import loads
from linkwork.motion.check import check

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        for k, text in enumerate(re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
            found.append((f"{page.name}-{k}", text))
    return found


@pytest.mark.parametrize("text", [text for _, text in blocks("yaml")], ids=[name for name, _ in blocks("yaml")])
def test_model_files_in_the_documentation_are_sound(text: str) -> None:
    report = check(loads(text))
    assert report.dof > 0
    assert not report.q_changes


@pytest.mark.parametrize("text", [text for _, text in blocks("python")], ids=[name for name, _ in blocks("python")])
def test_python_in_the_documentation_runs(text: str, tmp_path: Path) -> None:
    script = tmp_path / "shown.py"
    script.write_text(text, encoding="utf-8")
    subprocess.run([sys.executable, str(script)], check=True, cwd=tmp_path, capture_output=True, timeout=120)


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(script: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(script)], check=True, cwd=tmp_path, capture_output=True, timeout=120)


def test_every_joint_motion_force_and_shape_is_documented() -> None:
    page = (ROOT / "docs" / "model-files.md").read_text(encoding="utf-8")
    for name in (*JOINTS["planar"], *JOINTS["spatial"], *MOTIONS, *FORCES["planar"], *FORCES["spatial"], *SHAPES):
        assert f"| `{name}` |" in page


def test_links_of_the_documentation_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
