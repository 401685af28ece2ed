"""What the documentation shows works as shown.

A page is worked through from top to bottom in a folder of its own, as a reader would: `yaml` blocks are models, or
studies, saved under the name in their first line; `sh` blocks are run by a shell that knows `linkwork`; `python` blocks
are run as scripts. Everything else (`text`, indented) is output or mathematics. A block whose first line begins with
"# not run" is left out and says there why.
"""

from __future__ import annotations

import importlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import linkwork
from linkwork.cli import answer
from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.elements.motions import MOTIONS
from linkwork.elements.shapes import SHAPES
from linkwork.modelfile import loads, shipped
from linkwork.start.check import check
from linkwork.view import picture
from linkwork.view.page import built

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *(page for page in sorted(DOCS.rglob("*.md")) if "generated" not in page.parts)]
PATIENCE = 3000  # seconds after which a command hangs; it may have to share its processor
SKETCHES = ("short", "wiper")  # which are there to show what does not close, or not as it stands
NOT_RUN = "# not run"
LANGUAGES = ("yaml", "sh", "python", "text")
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """Language and text of the blocks of a page; directives such as {image} and {toctree} are not among them."""
    for language, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if not language.startswith("{"):
            yield language, text


def needs_viewer(language: str, text: str) -> bool:
    return language == "sh" and "linkwork view" in text


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which `linkwork` is this one."""
    folder = tmp_path_factory.mktemp("bin")
    command = folder / "linkwork"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m linkwork "$@"\n')
    command.chmod(0o755)
    source = str(Path(linkwork.__file__).parents[1])
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": source, "MPLBACKEND": "agg"}


def run(command: list[str], folder: Path, shell: dict[str, str], shown: str) -> None:
    done = subprocess.run(command, cwd=folder, env=shell, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, f"{shown}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


def test_every_page_can_be_reached_from_the_index() -> None:
    listed = (DOCS / "index.md").read_text(encoding="utf-8").splitlines()
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES[1:]} - {"index"}
    assert not pages - set(listed)


FAILS, KEPT = ' || echo "exit code $?"', " > "  # what pages do with commands of linkwork beyond starting them


def run_here(text: str, name: str) -> None:
    """A python block, or commands of linkwork, within this process, which has everything loaded and compiled."""
    if name:
        runpy.run_path(name, run_name="__main__")
        return
    for line in text.replace("\\\n", " ").splitlines():
        command, _, file = line.removesuffix(FAILS).partition(KEPT)
        arguments = shlex.split(command, comments=True)
        if arguments:
            said = io.StringIO()
            with redirect_stdout(said):
                code = answer(arguments[1:])
            assert bool(code) == line.endswith(FAILS), f"{line}\n{said.getvalue()}"
            if file:
                Path(file).write_text(said.getvalue(), encoding="utf-8")


def is_plain(text: str) -> bool:
    """Whether a shell would do little with these lines but start linkwork."""
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    commands = [line.split("#")[0].removesuffix(FAILS).replace(KEPT, " ", 1) for line in lines]
    unquoted = [re.sub("'[^']*'", "", line) for line in commands]
    return all(line.startswith("linkwork ") and not re.search("[|<>$;&*]", line) for line in unquoted)


WORKED = [page for page in PAGES if any(blocks(page))]
LONG = [
    *("docs/kinematics.md", "docs/formulations.md", "docs/results.md"),
    *(f"docs/howto/{page}.md" for page in ("control", "coordinates", "designing", "embedding", "equations", "inverse")),
    *(f"docs/howto/{page}.md" for page in ("live", "many-runs", "rolling", "sensitivities", "small-motions")),
]


@pytest.mark.parametrize(
    ("page", "outside"),
    [
        *(pytest.param(page, False, id=name_of(page)) for page in WORKED if name_of(page) not in LONG),
        *(pytest.param(ROOT / page, False, id=page, marks=pytest.mark.slow) for page in LONG),
        pytest.param(ROOT / "README.md", True, id="README.md in shells", marks=pytest.mark.slow),
    ],
)
def test_pages_can_be_worked_through(
    page: Path, outside: bool, tmp_path: Path, shell: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within this process where that will do; the README also in shells of its own, as a newcomer would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(picture, "PER_SECOND", 2)  # of films a few pictures: they are looked at in test_scene.py
    left_out = 0
    for k, (language, text) in enumerate(blocks(page)):
        if text.startswith(NOT_RUN):
            continue
        if needs_viewer(language, text) and not built():
            left_out += 1
        elif language == "yaml":
            if "\nstudy: 1" not in text:
                model = loads(text)
                if model.name not in SKETCHES:
                    check(model)
            if named := re.match(r"# (\S+\.yaml)\n", text):
                (tmp_path / named[1]).write_text(text, encoding="utf-8")
        elif language == "sh":
            if outside or not is_plain(text):
                run(["sh", "-e", "-c", text], tmp_path, shell, text)
            else:
                run_here(text, "")
        elif language == "python":
            named = re.match(r"# (\S+\.py)\n", text)
            script = tmp_path / (named[1] if named else f"block{k}.py")
            script.write_text(text, encoding="utf-8")
            if outside:
                run([sys.executable, script.name], tmp_path, shell, text)
            else:
                run_here(text, str(script))
    if left_out:
        pytest.skip(f"the viewer is not built (make viewer): {left_out} blocks were left out")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_command_stands_in_a_block_that_is_run(page: Path) -> None:
    """Blocks have a language that says what they are, and commands stand in no other block than `sh`."""
    text = page.read_text(encoding="utf-8")
    for language, block in blocks(page):
        assert language in LANGUAGES, f"a block of language '{language}'"
        if block.startswith(NOT_RUN):
            assert re.match(rf"{NOT_RUN}[^:\n]*: \w+", block), "a block that is not run says why"
    outside = BLOCK.sub("", text)
    commands = re.findall(r"^    (?:linkwork|make|pip|python3?) [a-z].*$", outside, re.MULTILINE)
    assert commands == []


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
@pytest.mark.sampled
def test_examples_run(script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script)])
    run_here("", str(script))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run_and_show_pictures(notebook: Path, tmp_path: Path, shell: dict[str, str]) -> None:
    """From an empty kernel, every cell in turn; plots, the sketch and the sweep are pictures, not words about them."""
    pytest.importorskip("nbconvert", reason="nbconvert is not installed; pip install -e .[docs]")
    command = ["nbconvert", "--execute", "--to", "html", "--template", "basic", "--output-dir", str(tmp_path)]
    own = {name: value for name, value in shell.items() if name != "MPLBACKEND"}  # the kernel chooses its own
    run([sys.executable, "-m", *command, str(notebook)], tmp_path, own, notebook.name)
    page = (tmp_path / f"{notebook.stem}.html").read_text(encoding="utf-8")
    assert "<Figure" not in page
    assert "&lt;Figure" not in page
    assert page.count("data:image/png") == 4
    assert page.count("data:image/svg+xml") == 3  # the sketch and two motions
    assert page.count("linkworkViewers ??= ") == page.count("DecompressionStream") == 1  # the viewer comes once


def test_every_joint_motion_force_and_shape_is_documented() -> None:
    page = (DOCS / "model-files.md").read_text(encoding="utf-8")
    for name in (
        *JOINTS["planar"],
        *JOINTS["spatial"],
        *MOTIONS,
        *FORCES["planar"],
        *FORCES["spatial"],
        *SHAPES["spatial"],
    ):
        assert f"| `{name}` |" in page


def test_figures_of_other_engines_have_one_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """README and the page about speed show the table of benchmarks/engines.py, whose date the README states."""
    monkeypatch.syspath_prepend(str(ROOT))
    engines = importlib.import_module("benchmarks.engines")
    readme, page = ((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/benchmarks.md"))
    assert "\n".join(engines.table()) in readme
    assert f"measured on {engines.MEASURED}" in readme
    assert "\n".join(engines.section()) in page


def test_links_of_the_documentation_lead_somewhere() -> None:
    """Pages under generated/ come with `make docs`; their names are those that docs/conf.py writes."""
    written = re.findall(r'^        "(\S+)": \w+\.', (DOCS / "conf.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert "gallery" in written
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        outside = BLOCK.sub("", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#]+)", outside):
            if "/generated/" in f"/{target}":
                assert Path(target).stem in written, f"{page.name}: {target}"
            elif "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


# The verification page runs everything; here a part that takes a second or two.


def test_verification_compares_with_the_sources_and_refuses_what_deviates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS))
    verification = importlib.import_module("verification")
    rows = [*verification.slider_crank(), *verification.sliding_pendulum(), *verification.redundant_linkage()]
    assert {row.mechanism for row in rows} == {"slider_crank", "dap/sliding_pendulum_jc", "redundant_24"}
    assert all(row.deviation <= row.allowed for row in rows)
    for name in ("scotch_yoke", "quick_return"):
        assert verification.checked(name).deviation <= 1e-12
    with pytest.raises(AssertionError, match=r"crank\.phi"):
        verification.number("four_bar", "crank.phi", 1.0, 1.1, 1e-3, "a sign that flipped")


@pytest.mark.slow
def test_documentation_builds_without_warnings(tmp_path: Path, shell: dict[str, str]) -> None:
    """`make docs`: all pages, and a gallery with a picture of every shipped mechanism."""
    pytest.importorskip("sphinx", reason="sphinx is not installed; pip install -e .[docs]")
    run([sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", str(DOCS), str(tmp_path)], ROOT, shell, "sphinx")
    gallery = (tmp_path / "generated" / "gallery.html").read_text(encoding="utf-8")
    assert all(f"{name.replace('/', '_')}.svg" in gallery for name in shipped())
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r'<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(https?:[^"]+)"', text)
        assert loaded == [], f"{page.name} loads {loaded}"
