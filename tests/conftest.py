"""One directory of compiled code for all test runs, and random numbers that can be had again."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded, as the command line does it
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # the processes that tests start find bytecode, as that of a wheel

import numpy as np
import pytest
from commands import Answer
from hypothesis import settings

from linkwork.modelfile import shipped
from linkwork.native import lowering
from linkwork.view import report

SAMPLE = 3  # one of so many cases of a test marked `sampled` is fast


def pytest_configure(config: pytest.Config) -> None:
    """Compiled code is kept with pytest's own cache: its keys are its contents, so that it is never out of date."""
    if "LINKWORK_CACHE_DIR" not in os.environ:  # the workers of pytest-xdist find it set by the run they belong to
        folder = config.cache.mkdir("compiled")
        folder.chmod(0o700)  # else not trusted, where files are open to the group unless said otherwise
        os.environ["LINKWORK_CACHE_DIR"] = str(folder)
    said = "of the combinations of parameters, `make test` runs as many as bring every value; the others are slow"
    config.addinivalue_line("markers", f"diagonal: {said}")
    config.addinivalue_line("markers", "sampled: `make test` runs every third of the cases; the others are slow")
    if config.option.markexpr == "not slow":  # evaluations are few; the slow tests see that their bits are the same
        lowering.OPT = lowering.QUICK
    gc.set_threshold(200_000, 20, 20)  # as the command line does it
    settings.register_profile("linkwork", deadline=None, max_examples=300 if config.option.markexpr == "" else 30)
    settings.load_profile("linkwork")
    report.PATIENCE = 3600.0  # how long a command takes must not decide what a test sees


def unit(nodeid: str) -> str:
    """What runs in one worker: all tests of a shipped mechanism, whose equations are then derived once; else a file."""
    file, _, test = nodeid.partition("::")
    parameters = f"-{test.partition('[')[2].removesuffix(']')}-"
    return next((name for name in shipped() if f"-{name}-" in parameters), file)


def beside_the_diagonal(items: list[Any]) -> list[Any]:
    """Of the combinations of lists of parameters all but (k, k, ...), shorter lists from their beginning again."""
    marks = items[0].iter_markers("parametrize")
    lists = [[names] if isinstance(names := mark.args[0], str) else names for mark in marks]
    rows = [tuple(repr([item.callspec.params[x] for x in names]) for names in lists) for item in items]
    columns = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
    chosen = {tuple(values[k % len(values)] for values in columns) for k in range(max(map(len, columns)))}
    return [item for item, row in zip(items, rows, strict=True) if row not in chosen]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of mechanisms in folders only the checked numbers are fast; of combinations a diagonal, of samples a third."""
    crossed, sampled = defaultdict(list), defaultdict(list)
    for item in items:
        if unit(item.nodeid).startswith("dap/") and "checked" not in item.name:
            item.add_marker(pytest.mark.slow)
        elif item.get_closest_marker("diagonal") and not item.get_closest_marker("slow"):
            crossed[item.nodeid.partition("[")[0]].append(item)
        elif item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            sampled[item.nodeid.partition("[")[0]].append(item)
    for combinations in crossed.values():
        for item in beside_the_diagonal(combinations):
            item.add_marker(pytest.mark.slow)
    for cases in sampled.values():
        for k, item in enumerate(cases):
            if k % SAMPLE:
                item.add_marker(pytest.mark.slow)
    if "PYTEST_XDIST_WORKER" in os.environ:  # mechanisms last: they are many and short, so that workers end together
        items.sort(key=lambda item: unit(item.nodeid) in shipped())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Units instead of the groups of pytest-xdist, which it no longer finds since pytest 9.2 names tests otherwise."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class Units(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return unit(nodeid)

    config.option.loadscopereorder = False
    return Units(config, log)


@pytest.fixture
def linkwork(capsys: pytest.CaptureFixture[str]) -> Answer:
    return Answer(capsys)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers of this test alone; LINKWORK_SEED chooses others."""
    seed = int(os.environ.get("LINKWORK_SEED", crc32(request.node.nodeid.encode())))
    print(f"LINKWORK_SEED={seed}")  # pytest shows it when the test fails
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True)
def nothing_of_its_own_stays() -> Iterator[None]:
    """What a test adds to the types and methods that linkwork knows goes with it."""
    from linkwork.elements.forces import FORCES
    from linkwork.elements.joints import JOINTS
    from linkwork.elements.motions import MOTIONS
    from linkwork.formulations import FORMULATIONS
    from linkwork.integrators.methods.tableaus import EXPLICIT

    tables: list[dict[str, Any]] = [*JOINTS.values(), *FORCES.values(), MOTIONS, FORMULATIONS, EXPLICIT]
    before = [dict(table) for table in tables]
    yield
    for table, known in zip(tables, before, strict=True):
        table.clear()
        table.update(known)
