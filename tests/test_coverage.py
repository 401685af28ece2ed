"""Every command of docs/coverage.md does what it says there; those that take long are marked slow."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_deck
import test_mass_centre
from dap_folders import write as write_folder

from linkwork.cli import answer
from linkwork.view import picture

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "tests" / "reference"
ROW = re.compile(r"^\| (\d+) \| (.*?) \| `linkwork ([^`]*)` \| (.*?) \|$", re.MULTILINE)
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROWS = {section.split("\n", 1)[0]: ROW.findall(section) for section in PAGE.split("\n## ")[1:]}
COMMANDS = list(dict.fromkeys(command for rows in ROWS.values() for _, _, command, _ in rows))
# Commands that take more than a third of a second.
SLOW = re.compile(
    r"^(animate|plot|explain|compare (redundant_24|numdyn3d|planar_chain|warsaw\S* .*-o)|check delta_robot|run Pendulum"
    r"|run (Rod2|n_four_bar|redundant_24|numdyn3d_pendulum_in|AA|MPA|TP|DAP|Models/(AA|MPA|Cart))|kinematics Frames"
    r"|equations (delta_robot|warsaw)|run numdyn3d_pendulum .*(euler|index-3|dopri5)|run slider_crank_zhou .*lu"
    r"|assemble (analytic|Peaucellier|slider_crank_zhou)|run four_bar --(coordinates minimal|formulation index-3))"
)
QUICK = "explain simple_pendulum_rod"  # sheets that are short
# What some of them must show, as their sources have it.
SHOWN = {
    "explain simple_pendulum_rod --formulation coordinate-partitioning": (
        "M_hat = m L^2 + I_g = 4",
        "Q_hat = -m g L cos q3",
    ),
    "explain simple_pendulum_rod --formulation qr": ("(m L^2 + I_g) p'' + m g L cos q3 = 0", "B V = I"),
    "explain slider_crank_zhou --formulation lu --pivoting 2,1,3": ("P A = L U",),
    "explain simple_pendulum_rod --formulation de-falco-1": ("K^+ =",),
    "run slider_crank_zhou --t-end 1": ("0.26293", "-0.43752", "0.13032", "-0.21304"),
    "run dap/sliding_pendulum_jc --rate pin=0.942477796 --t-end 4": ("1.12316", "-0.20365", "-0.26282", "0.87751"),
    "compare warsaw_problem12 --with warsaw_problem12_adams.csv": (
        "2.2918e-07",
        "1.6938e-07",
        "2.9656e-07",
        "2.9425e-07",
    ),
    "check redundant_24": ("24, of rank 22",),
    "equations over.yaml --form rif": ("4 equations for 3 unknowns", "start values that can be chosen: 1"),
    "equations square.yaml --form rif": ("x_dd = 1/(2*x_d)",),
    "equations pendulum.yaml --form rif --cases": ("case 2 of 2", "index 3"),
    "assemble Peaucellier.yaml --components": ("surface of degree 12", "curve of degree 6", "ca.C = pa.P"),
    "run Models/SC --t-end 0.1": ("theta(1) 1.13446 to 0.679201",),
}
ROWS_OF_SOURCES = {"Pennestr": 55, "Zhou": 55, "Nikravesh": 58, "de Falco": 41, "Tartari": 40}

SQUARE = "linkwork: 1\nname: square\nunknowns: [x, y]\nequations: {a: x_d^2 = y, b: y_d = 1}\n"
DAE = """linkwork: 1
name: pendulum
unknowns: [x, y, lam]
parameters: {g: 9.81, L: 1}
equations: {mx: x_dd + lam*x, my: y_dd + lam*y + g, rod: x^2 + y^2 = L^2}
"""
ANALYTIC = """linkwork: 1
name: analytic
equations:
  coordinates: {z: {start: 0.5}, w: {start: 1}}
  M: [[1, 0], [0, 1]]
  Q: [0, 0]
  Psi: {row: exp(z) - 2*cos(w) - z*w}
"""


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the page says is there."""
    folder = tmp_path_factory.mktemp("coverage")
    for name in ("warsaw_problem12_adams", "pennestri2004_table6", "defalco2008_table"):
        shutil.copy(REFERENCE / f"{name}.csv", folder)
    shutil.copy(REFERENCE / "trust" / "peaucellier.yaml", folder / "Peaucellier.yaml")
    names = {
        "SC": "jc_sc",
        "SCd": "jc_scd",
        "SP": "jc_sp",
        "TP": "jc_tp",
        "AA": "jc_aa",
        "MPA": "jc_mpa",
        "Rod": "jc_rod",
    }
    for own, model in {**names, "Cart_C": "jc_cart_c", "Cart_A": "bc_cart_a"}.items():
        write_folder(model, folder / "Models" / own)
    write_folder("bc_cart_a", folder / "Models" / "Indexed", "indices")
    test_deck.written(folder / "Pendulum", test_deck.PENDULUM)
    (folder / "Massless.yaml").write_text(test_mass_centre.CRANK)
    (folder / "Frames.yaml").write_text(json.dumps(test_mass_centre.frames_of_the_source()))
    texts = {"pendulum": DAE, "square": SQUARE, "analytic": ANALYTIC}
    texts["over"] = DAE.replace("rod:", "energy: x_d^2 + y_d^2 + 2*g*y, rod:")
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text)
    with redirect_stdout(io.StringIO()):
        assert answer(["run", "numdyn3d_pendulum", "--t-end", "0.2", "-o", str(folder / "p.nc")]) == 0
    t = np.arange(201) * 0.001
    decay, J = 4.584 / (2 * 3.334), 3.334
    omega, start = np.sqrt(32.66 / J - decay**2), 2 * np.arccos(0.97) - 1.57
    theta = 1.57 + start * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))
    rows = [f"{a:.3f},{x:.9f},{y:.9f}" for a, x, y in zip(t, 0.5 * np.cos(theta), 0.5 * np.sin(theta), strict=True)]
    (folder / "closed.csv").write_text("\n".join(["t,rod.x,rod.y", *rows]))
    return folder


def marked(command: str) -> Any:
    takes_long = SLOW.match(command) and not command.startswith(QUICK)
    return pytest.param(command, marks=[pytest.mark.slow] if takes_long else [])


@pytest.mark.parametrize("command", [*map(marked, COMMANDS)])
def test_commands_of_the_page_work(
    command: str, bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(bench)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(picture, "PER_SECOND", 2)  # of films a few pictures
    if command.startswith("dap "):
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n0.1\n0.02\nquit\n"))
    code = answer(shlex.split(command))
    said = capsys.readouterr()
    assert code == 0, f"{said.out[-800:]}\n{said.err[-800:]}"
    assert [text for text in SHOWN.get(command, ()) if text not in said.out] == [], said.out


def test_the_list_says_which_mechanisms_come_in_any_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["list"]) == 0
    said = capsys.readouterr().out
    assert said.count("of any size") == 3
    assert "planar_chain:40" in said


def test_every_row_of_the_sources_has_a_command_and_a_word() -> None:
    """All 249 rows, numbered as they were read; each works, or is declined with a reason."""
    for source, count in ROWS_OF_SOURCES.items():
        (rows,) = (rows for title, rows in ROWS.items() if title.startswith(source))
        assert [int(number) for number, *_ in rows] == [*range(1, count + 1)], source
        for number, what, _, state in rows:
            assert re.match(r"works|declined, because \w+", state), f"{source} {number}: {what}"
    assert set(SHOWN) <= set(COMMANDS)
    assert sum(map(len, ROWS.values())) == sum(ROWS_OF_SOURCES.values()) == 249
