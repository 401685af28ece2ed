"""Rooms import only from rooms above them, and heavy packages only when they are used."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import linkwork

SOURCE = Path(linkwork.__file__).parent
ROOMS = (
    "arrays",
    "tolerances",
    "errors",
    "notes",
    "files",
    "records",
    "units",
    "document",
    "expressions",
    "writing",
    "sequences",
    "symbolic",
    "native",
    "linalg",
    "elements",
    "methods",
    "model",
    "scene",
    "soundness",
    "mechanisms",
    "formats",
    "modelfile",
    "equations",
    "compiled",
    "formulations",
    "integrators",
    "constraints",
    "resulttable",
    "readings",
    "trajectory",
    "resultfile",
    "start",
    "simulation",
    "driven",
    "assembly",
    "analyses",
    "studies",
    "lecture",
    "comparison",
    "web",
    "view",
    "own",
    "building",
    "models",
    "studio",
    "cli",
    "__main__",
)
# `sequence.compile()`, `mechanism.simulate()`, `motion.save()`, `motion.plot()` and printed results: how users go on;
# only these imports point downwards.
DOWNWARDS = {("compiled", room) for room in ("start", "simulation", "driven", "trajectory")}
DOWNWARDS |= {("methods", room) for room in ROOMS[ROOMS.index("methods") + 1 :]}
DOWNWARDS |= {("trajectory", "resultfile"), ("trajectory", "view"), ("readings", "view"), ("expressions", "writing")}
DOWNWARDS |= {("sequences", "native"), ("notes", "view")}
DOWNWARDS |= {
    (room, "view")
    for room in ("start", "simulation", "driven", "assembly", "analyses", "studies", "lecture", "comparison")
}
# Files that a run in the coordinates of bodies has no use for, and that would be waited for before every run.
UNUSED = (
    "writing.notation",
    "equations.joint",
    "equations.explicit",
    "formulations.svd",
    "scene",
    "lecture",
    "view.plot",
)
HEAVY = ("llvmlite", "scipy", "matplotlib", "xarray", "h5py", "h5netcdf", "pydantic")

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem != "__init__")


def room(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imported_rooms(path: Path) -> Iterator[tuple[int, str]]:
    """Line and room of every import of linkwork in a file, those inside functions included."""
    package = ("linkwork", *path.relative_to(SOURCE).parts[:-1])
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join((*base, *((node.module,) if node.module else ())))
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "linkwork" and len(parts) > 1 and not parts[1].startswith("__"):
                yield node.lineno, parts[1]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_rooms_above_it(path: Path) -> None:
    """Every import of linkwork in the file leads to its own room or to one earlier in ROOMS."""
    own = room(path)
    assert own in ROOMS, f"{own} has no place in the order of rooms"
    above = ROOMS[: ROOMS.index(own) + 1]
    allowed = {*above, *(lower for upper, lower in DOWNWARDS if upper == own)}
    wrong = [f"line {line}: {name}" for line, name in imported_rooms(path) if name not in allowed]
    assert not wrong


def modules_of(*arguments: str) -> set[str]:
    """What is in memory after Python ran with these arguments."""
    report = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=True, timeout=60
    ).stderr
    modules = {line.rsplit("|", 1)[-1].strip() for line in report.splitlines() if "|" in line}
    assert "linkwork" in modules
    return modules


def loaded_by(*arguments: str) -> set[str]:
    """The heavy packages in memory after Python ran with these arguments."""
    return {name.split(".")[0] for name in modules_of(*arguments)} & set(HEAVY)


def test_importing_linkwork_loads_nothing_heavy() -> None:
    """`import linkwork` is quick because it leaves the large packages alone."""
    assert loaded_by("-c", "import linkwork") == set()


def test_help_loads_nothing_heavy() -> None:
    """`linkwork --help` is quick for the same reason."""
    assert loaded_by("-m", "linkwork", "--help") == set()


def test_a_run_loads_no_file_that_it_does_not_use() -> None:
    """Imports are most of what `linkwork run` waits for; figures and other ways to equations are not among them."""
    loaded = modules_of("-m", "linkwork", "run", "slider_crank", "--t-end", "0.1")
    assert "linkwork.simulation.simulate" in loaded
    assert not loaded & {f"linkwork.{name}" for name in UNUSED}


def test_public_names_lead_to_their_homes() -> None:
    """Every name in `linkwork.__all__` can be had, and no other."""
    for name in linkwork.__all__:
        assert getattr(linkwork, name).__name__ == name
        assert name in dir(linkwork)
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        linkwork.simulat  # noqa: B018
