"""What is not installed is asked for by the name of its extra, and a run needs none of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import linkwork as lw
from linkwork.errors import EXTRAS, UsageError

USES: list[tuple[str, Callable[[lw.Trajectory, Path], object]]] = [
    ("matplotlib", lambda motion, folder: motion.plot("crank.phi")),
    ("matplotlib", lambda motion, folder: motion.animate(folder / "x.gif")),
    ("xarray", lambda motion, folder: motion.dataset()),
    ("xarray", lambda motion, folder: lw.prepare(lw.load("slider_crank")).state()),
    ("h5py", lambda motion, folder: motion.save(folder / "x.nc")),
    ("openpyxl", lambda motion, folder: motion.save(folder / "x.xlsx")),
    ("pyarrow", lambda motion, folder: motion.save(folder / "x.parquet")),
]


@pytest.mark.parametrize(("package", "use"), USES)
def test_the_extra_that_is_missing_is_named(
    package: str, use: Callable[[lw.Trajectory, Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    motion = lw.simulate(lw.load("slider_crank"), t_end=0.02)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(UsageError, match=rf"{package} is not installed; pip install 'linkwork\[{EXTRAS[package]}\]'"):
        use(motion, tmp_path)


def test_a_run_needs_no_extra(tmp_path: Path) -> None:
    """From a model file to a table, in a process that has none of the packages."""
    program = f"""
import sys
sys.modules |= dict.fromkeys({[*EXTRAS, "h5netcdf", "pandas"]!r})
import linkwork as lw
motion = lw.simulate(lw.load("slider_crank"), t_end=0.02)
motion.save({str(tmp_path / "x.csv")!r})
print(lw.check(lw.load("four_bar")).dof, str(motion).count("finished"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.split()[0] == "1", done.stderr
    assert (tmp_path / "x.csv").read_text().startswith("t,")
