"""One directory of compiled code for all test runs, and random numbers that can be had again."""

from __future__ import annotations

import gc
import os
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded, as the command line does it

import numpy as np
import pytest

from linkwork.formulations import FORMULATIONS
from linkwork.modelfile import shipped
from linkwork.view import report


def pytest_configure(config: pytest.Config) -> None:
    """Compiled code is kept with pytest's own cache: its keys are its contents, so that it is never out of date."""
    if "LINKWORK_CACHE_DIR" not in os.environ:  # the workers of pytest-xdist find it set by the run they belong to
        folder = config.cache.mkdir("compiled")
        folder.chmod(0o700)  # else not trusted, where files are open to the group unless said otherwise
        os.environ["LINKWORK_CACHE_DIR"] = str(folder)
    gc.set_threshold(200_000, 20, 20)  # as the command line does it
    report.PATIENCE = 3600.0  # how long a command takes must not decide what a test sees


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one formulation, or of one shipped mechanism, run in one worker: compiling it once suffices.

    Of the mechanisms in folders, only the checked numbers are among the fast tests.
    """
    for item in items:
        parameters = getattr(item, "callspec", None)
        named = [value for value in parameters.params.values() if isinstance(value, str)] if parameters else []
        for group in [*(x for x in named if x in FORMULATIONS), *(x for x in named if x in shipped())][:1]:
            item.add_marker(pytest.mark.xdist_group(group))
        if any(value.startswith("dap/") for value in named) and "checked" not in item.name:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers of this test alone; LINKWORK_SEED chooses others."""
    seed = int(os.environ.get("LINKWORK_SEED", crc32(request.node.nodeid.encode())))
    print(f"LINKWORK_SEED={seed}")  # pytest shows it when the test fails
    return np.random.default_rng(seed)
