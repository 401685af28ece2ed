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

import dap_of_our_own
import numpy as np
import pytest
import test_deck
import test_mass_centre
from dap_folders import write as write_folder
from published import table
from scipy.integrate import solve_ivp

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
    r"|run (Rod2|n_four_bar|redundant_24|numdyn3d_pendulum_in|AA|MPA|TP|DAP|Models/(AA|MPA|Cart|Tray|Bench))|kinematics"
    r" Frames|equations (delta_robot|warsaw)|run numdyn3d_pendulum .*(euler|index-3|dopri5)|run slider_crank_zhou .*lu"
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
    "check Models/Tray": tuple(f"{name} agrees with the joints" for name in ("Bmat", "Bd", "C")),
    "run Models/SC --t-end 0.2": ("theta(1) 1.13446 to 0.679201",),
    # (3) to (5), and what (8) to (14) make of them; the pivots of (15) and (16)
    "equations slider_crank_zhou --form lagrange": (
        "M[theta1, theta1] = J1 + l1^2*(m2 + m1/4 + m3)",
        "M[theta2, theta1] = -(m3 + m2/2)*(l1*l2*cos(theta1 + theta2))",
        "M[theta2, theta2] = J2 + l2^2*(m3 + m2/4)",
        "Psi[closure] = l1*sin(theta1) - l2*sin(theta2)",
    ),
    "equations slider_crank_zhou --form rif": (
        "D_t Psi[closure] = theta1_d*cos(theta1)*l1 - theta2_d*cos(theta2)*l2",
        "H[closure, theta1] = -theta1_d*sin(theta1)*l1",
        "H[closure, theta2] = theta2_d*sin(theta2)*l2",
        "b[closure] = l1*sin(theta1)*theta1_d^2 - l2*sin(theta2)*theta2_d^2",
        "det A != 0",
    ),
    "equations slider_crank_zhou --pivoting 2,1,3": (
        "valid while none of these is zero: -(m3 + m2/2)*(l1*l2*cos(theta1 + theta2)), W2, -W4",
    ),
    "equations slider_crank_zhou --to maple": ("f := proc(N, t, Y, YP)", "YP[1] := Y[2];", "YP[3] := Y[4];", "W[7] :="),
    "equations slider_crank_zhou --to fortran": ("subroutine",),
    "equations simple_pendulum_rod --form lagrange": (  # (51)
        "Psi[O.x] = rod.x - L*cos(rod.phi)",
        "Psi_q[O.x, rod.phi] = L*sin(rod.phi)",
        "Psi_q[O.y, rod.phi] = -L*cos(rod.phi)",
    ),
    "equations pendulum.yaml --form rif": (
        "index 3; start values that can be chosen: 2",
        "rod': 2*(x*x_d) + 2*(y*y_d)",
    ),
    "equations dap/sliding_pendulum --coordinates joint": (  # B and B' theta' of example C.1
        "B[pendulum.x, guide] = 1",
        "B[pendulum.x, pin] = -d_y pendulum.pin",
        "B[pendulum.y, pin] = d_x pendulum.pin",
        "no constraints: the chain is open",
    ),
    "equations Massless.yaml --form lagrange": (
        "Psi[motor.drive] = crank.phi - 3*t",
        "Psi_q[motor.drive, crank.phi] = 1",
    ),
    "plot p.nc rod.x rod.y --with closed.csv -o both.png": ("201 times", "2 columns"),
    "compare numdyn3d_pendulum --coordinates euler --formulations udwadia-kalaba,qr --t-end 0.1": ("failed",),
}


def printed(number: str) -> tuple[float, float]:
    """What a number of these digits may stand for, rounded or cut off."""
    digits = number.lower().partition("e")[0].partition(".")[2]
    exponent = float(number.lower().partition("e")[2] or 0)
    unit = 10.0 ** (exponent - len(digits))
    return float(number) - unit, float(number) + unit


def at(name: str, q: str, rate: str | None = None) -> list[tuple[str, tuple[float, float]]]:
    """A coordinate at the end of a run, and its rate."""
    found = [(rf"\b{re.escape(name)} +(\S+)  rate", printed(q))]
    return [*found, (rf"\b{re.escape(name)} +\S+  rate +(\S+)", printed(rate))] if rate else found


def up_to(name: str, value: float) -> tuple[str, tuple[float, float]]:
    """An error that is no larger than that of the source."""
    return rf"{re.escape(name)} (\S+?)[, ]", (0.0, value)


def columns(label: str, *values: str) -> list[tuple[str, tuple[float, float]]]:
    """Numbers of a row of a table; those that are no more than rounding, or empty, are left out."""
    found = [(re.escape(label) + r" +" + r"\S+ +" * k + r"(\S+)", value) for k, value in enumerate(values)]
    return [(pattern, printed(value)) for pattern, value in found if value and abs(float(value)) > 1e-11]


def closed_form(t: Any) -> Any:
    """The angle of NumDyn3D's pendulum, which a spring and a damper turn about a vertical axis."""
    decay, J = 4.584 / (2 * 3.334), 3.334
    omega, start = np.sqrt(32.66 / J - decay**2), 2 * np.arccos(0.97) - 1.57
    return 1.57 + start * np.exp(-decay * t) * (np.cos(omega * t) + decay / omega * np.sin(omega * t))


def in_closed_form(t: float) -> list[tuple[str, tuple[float, float]]]:
    x, y = 0.5 * np.cos(closed_form(t)), 0.5 * np.sin(closed_form(t))
    return [*at("rod.x", f"{x:.8f}"), *at("rod.y", f"{y:.8f}")]


def table_4() -> list[tuple[str, tuple[float, float]]]:
    """[tartari2019, table 4], C and G as far as ADAMS' own rounding repeats."""
    lines = (REFERENCE / "tartari2019_table4.csv").read_text().splitlines()[2:]
    rows = {line.split(",")[0]: line.split(",")[1:] for line in lines}
    owners = {"overall": "all together", "A": "boom.A", "D": "boom.D", "M": "boom.M", "C": "arm.C", "G": "arm.G"}
    found = [entry for point, owner in owners.items() for entry in columns(owner, *rows[point])]
    return [(pattern, (low * (1 - 2e-4), high * (1 + 2e-4))) for pattern, (low, high) in found]


def in_plane(t: float) -> list[tuple[str, tuple[float, float]]]:
    """The same pendulum with its weight in the plane of the swing, integrated by SciPy."""
    start = [2 * np.arccos(0.97), 0.0]
    rates = lambda _, y: [y[1], (-32.66 * (y[0] - 1.57) - 4.584 * y[1] - 10 * 9.81 * 0.5 * np.cos(y[0])) / 3.334]  # noqa: E731
    theta = solve_ivp(rates, (0, t), start, rtol=1e-11, atol=1e-11).y[0, -1]
    return [*at("rod.x", f"{0.5 * np.cos(theta):.8f}"), *at("rod.y", f"{0.5 * np.sin(theta):.8f}")]


def of_dap(name: str, t: float, *bodies: str) -> list[tuple[str, tuple[float, float]]]:
    """Places, angles and their rates at a time, as the program itself gives them with fine steps."""
    found = table(f"dap/{name}.csv")
    (row,) = np.flatnonzero(found["t"] == t)
    pairs = [(f"{body}.{q}", f"{q}{k}", f"{v}{k}") for k, body in enumerate(bodies, 1) for q, v in RATES.items()]
    return [entry for own, q, v in pairs for entry in at(own, f"{found[q][row]:.7f}", f"{found[v][row]:.6f}")]


def of_bucket(t: float) -> list[tuple[str, tuple[float, float]]]:
    """The angle of the bucket, along AK, from the positions of its points."""
    found = table("warsaw_problem12_position.csv")
    (row,) = np.flatnonzero(found["t"] == t)
    x, y = (found[f"K_{axis}"][row] - found[f"A_{axis}"][row] for axis in "xy")
    return at("bucket.phi", f"{np.arctan2(y, x):.9f}")


def counted(coordinates: int, constraints: int, rank: int) -> list[tuple[str, tuple[float, float]]]:
    numbers = (r"with (\d+) coord", coordinates), (r"constraints +(\d+)", constraints), (r"of rank (\d+)", rank)
    return [(pattern, (own, own)) for pattern, own in numbers]


RATES = {"x": "vx", "y": "vy", "phi": "omega"}
# Sheets evaluate their equations as they are written, and compare with another formulation.
HELD = [
    (r"relative to\s+their terms,\s+by (\S+) at most", (0.0, 1e-11)),
    (r"Largest difference: (\S+) in the accelerations", (0.0, 1e-11)),
]
OF_REVIEW = (
    *("coordinate-partitioning", "qr", "zero-eigenvalue", "svd", "putd", "qtz", "schur"),
    *("udwadia-kalaba", "udwadia-phohomsiri"),
)
PENDULUM = "explain simple_pendulum_rod --formulation"
# At 45 degrees, with L = 1: R of (53) is sqrt(1.5), -0.5/sqrt(1.5), 2/sqrt(3); W of (57) to (61) has 0.5, sqrt(0.5).
OF_ZHOU = ("l1 +1\n", "l2 +2\n", "m1 +1\n", "m2 +1\n", "m3 +2\n", "J1 +4.5\n", "J2 +5.5\n", "g +9.8\n")
TABLE_OF_REVIEW = "compare redundant_24 --integrator dopri5 --rank-tolerance 1e-6 --with defalco2008_table.csv"
TABLE_6 = (
    "compare numdyn3d_pendulum --coordinates euler --integrator radau5 --formulations index-3,svd "
    "--with pennestri2004_table6.csv"
)
# Numbers that the sources print: where they stand in the answer, and between which limits they must be.
NUMBERS: dict[str, list[tuple[str, tuple[float, float]]]] = {
    f"{PENDULUM} qr": [
        *(
            (rf"R =\n.*O.x +O.y\n.*\n +{own}\n", printed(x))
            for own, x in (
                (r"(\S+) +-\S+", "1.2247"),
                (r"\S+ +(-\S+)", "-0.4082"),
                (r"\S+ +\S+\n +0 +(\S+)", "1.1547"),
            )
        ),
        (r"O\.x +-L q3'\^2 cos q3 +(\S+)", printed("-0.7071")),
    ],
    f"{PENDULUM} svd": [
        (r"Lambda1 = diag\((\S+), 1\)", printed("1.414")),
        (r"V =\n.*p'\n.*\n *rod\.x +(\S+)", printed("-0.5")),
        (r"V =\n.*p'\n.*\n.*\n *rod\.y +(\S+)", printed("0.5")),
        (r"V =\n.*p'\n.*\n.*\n.*\n *rod\.phi +(\S+)", printed("0.707")),
    ],
    "explain numdyn3d_pendulum --coordinates euler": [
        (r"rod\.e0 +(\S+)", printed("0.97")),
        (r"rod\.e3 +(\S+)", printed("0.2431")),
        (r"mass of rod|m_rod +rod\.mass +(\S+)", printed("10")),
    ],
    "run numdyn3d_pendulum --t-end 0.1": in_closed_form(0.1),
    "run numdyn3d_pendulum --t-end 3 --step 0.001": in_closed_form(3.0),
    "run numdyn3d_pendulum --formulation coordinate-partitioning --t-end 0.1": in_closed_form(0.1),
    "run numdyn3d_pendulum --formulation svd --integrator dopri5 --t-end 0.1": in_closed_form(0.1),
    "run numdyn3d_pendulum --coordinates euler --formulation qr --t-end 0.1": in_closed_form(0.1),
    "run numdyn3d_pendulum --formulation index-3 --t-end 0.1": in_closed_form(0.1),
    "run numdyn3d_pendulum --formulation index-3 --integrator radau5 --coordinates euler --t-end 0.1": in_closed_form(
        0.1
    ),
    TABLE_6: [
        (r"NumDyn3D +index-3 +(\S+)", printed("20")),
        (r"NumDyn3D with SVD +svd +(\S+)", printed("16")),
        (r"NumDyn3D with SVD +svd +\S+ +(\S+)", printed("0.80")),
        (r"Working Model 3D +(\S+)", printed("30")),
    ],
    "run slider_crank_zhou --t-end 1": [*at("theta1", ".2629", "-.4375"), *at("theta2", ".1303", "-.2130")],
    "run slider_crank_zhou --formulation lu --t-end 1": [
        *at("theta1", ".2629", "-.4375"),
        *at("theta2", ".1303", "-.2130"),
    ],
    "run slider_crank_zhou --formulation lu --stabilization none --rtol 1e-7 --t-end 1": [
        *at("theta1", ".2629", "-.4375"),
        up_to("|Psi|", 0.14e-7),
        up_to("|Psi_dot|", 0.69e-7),
    ],
    "run slider_crank_zhou --formulation lu --stabilization none --rtol 1e-7": [
        up_to("|Psi|", 0.42e-5),
        up_to("|Psi_dot|", 0.59e-6),
    ],
    "explain slider_crank_zhou --formulation lu": [
        (r"q1  theta1 +(\S+)", printed("0")),
        (r"q1  theta1 +\S+ +(\S+)", printed("1")),
        (r"q2  theta2 +\S+ +(\S+)", printed("0.5")),
        *(
            (rf"{own[:2].strip()} +{own[:2].strip()} +(\S+)", printed(own.split("+")[1].strip()))
            for own in OF_ZHOU[:-1]
        ),
        (r"g +g +(\S+)", printed("9.8")),
    ],
    # table C.2, cut off after two decimals
    "run Models/SP --t-end 4": [*at("B1.x", "1.05", "-0.48"), *at("B2.phi", "0.02", "1.37")],
    "run Models/SP --t-end 4 --step 0.02": [*at("B1.x", "1.05", "-0.48"), *at("B2.phi", "0.02", "1.37")],
    "assemble Models/SC --weights plain": [
        (r"J1 +by \S+ to (\S+)", printed("0.679")),
        (r"J2 +by \S+ to (\S+)", printed("-0.973")),
        (r"J3 +by \S+ to (\S+)", printed("0.342")),
    ],
    # theta(1) = pi/3 + 2 pi t of example C.3
    "run Models/SCd --t-end 0.1": [*at("B1.phi", "1.67551608", "6.28318531")],
    "check Models/MPA": [(r"constraints +(\d+)", (2, 2)), (r"of rank (\d+)", (2, 2)), (r"with (\d+) coord", (3, 3))],
    "check Models/Tray": [(r"with (\d+) coord", (6, 6)), (r"constraints +(\d+)", (5, 5)), (r"of rank (\d+)", (5, 5))],
    # the disc rolls, x = -R phi; the rod keeps the angle of the swivel
    "run Models/Tray --t-end 0.5": [
        *at("disc.x", "-0.28471000", "-0.84965836"),
        *at("disc.phi", "0.56942001", "1.69931672"),
        *at("rod.phi", "0.21039038"),
        *at("swivel.phi", "0.21039038"),
    ],
    "run Models/Bench --t-end 0.2 --json": [
        (rf'"q": {{(?:[^}}]|\n)*"{name}": ([^,\s]+)', (value - 1e-8, value + 1e-8))
        for name, value in {
            # rot-sda: a damped oscillation; T/J t^2/2; f/m t^2/2, in local axes too; ptp: an oscillation
            "B1.phi": 0.1 + 0.2 * float(np.exp(-0.2) * (np.cos(0.6**0.5) + np.sin(0.6**0.5) / 15**0.5)),
            **{"B2.phi": 0.04, "B3.x": 0.03, "B4.x": 0.03, "B7.x": 0.5 + 0.5 * float(np.cos(0.4))},
            # b stays at its end; c has risen by half of its rate, then by the whole; a is 0.1 + 0.5 t + 2 t^2
            **{"B5.phi": 0.7, "B6.x": 0.1 + 0.1 + 0.2, "B8.phi": 0.1 + 0.1 + 0.08},
        }.items()
    ],
    "check Models/SP": [(r"with (\d+) coord", (2, 2)), (r"constraints +(\d+)", (0, 0))],
    "check Models/TP": [(r"with (\d+) coord", (3, 3)), (r"constraints +(\d+)", (0, 0))],
    "check redundant_24": [
        (r"with (\d+) coord", (24, 24)),
        (r"constraints +(\d+)", (24, 24)),
        (r"of rank (\d+)", (22, 22)),
    ],
    TABLE_OF_REVIEW: [
        entry
        for name, time, solver, calls in (
            ("Zero Eigenvalue          zero-eigenvalue", "66.2", "0.38", "1840"),
            ("Coordinate partitioning  coordinate-partitioning", "128", "0.47", "1846"),
            ("QR                       qr", "66.1", "0.38", "1840"),
            ("PUTD                     putd", "66.5", "0.38", "1840"),
            ("Schur                    schur", "66.7", "0.38", "1828"),
            ("Udwadia-Kalaba           udwadia-kalaba", "2.65", "0.36", "1954"),
            ("Udwadia-Phohomsiri       udwadia-phohomsiri", "3.88", "0.38", "1828"),
            ("de Falco et al. (1)      de-falco-1", "2.61", "0.36", "1828"),
            ("de Falco et al. (2)      de-falco-2", "3.60", "0.43", "1828"),
        )
        for entry in (
            (rf"time \[s\] there(?:.*\n)*?{re.escape(name)} +(\S+)", printed(time)),
            (rf"solver \[s\] there(?:.*\n)*?{re.escape(name)} +(\S+)", printed(solver)),
            (rf"evaluations there(?:.*\n)*?{re.escape(name)} +(\S+)", printed(calls)),
        )
    ],
    "compare warsaw_problem12 --with warsaw_problem12_adams.csv": [
        *table_4(),
        # figure 5: within 5e-7, accelerations within 5e-6
        *(
            (r"largest difference(?:.*\n)*?all together +" + r"\S+ +" * k + r"(\S+)", (0.0, most))
            for k, most in enumerate([5.01e-7] * 4 + [5.01e-6] * 2)
        ),
    ],
    "check warsaw_problem12": counted(24, 24, 24),
    "run Pendulum --t-end 0.1 --output-format numdyn3d -o out": in_closed_form(0.1),
    "run numdyn3d_pendulum --stabilization none --rtol 1e-6 --t-end 0.1": in_closed_form(0.1),
    "run numdyn3d_pendulum --coordinates euler --formulation udwadia-phohomsiri --t-end 0.1": in_closed_form(0.1),
    "run numdyn3d_pendulum_in_plane --t-end 0.1": in_plane(0.1),
    # tables 3 to 5: mass, inertia about the mass centre, e0 alone; the joint gives e3 and the angle
    "explain Pendulum --coordinates euler": [
        (r"rod\.e0 +(\S+)", printed("0.97")),
        (r"rod\.e3 +(\S+)", printed("0.2431")),
        (r"C1\.angle +(\S+)", printed("0.491131")),
        (r"rod\.mass +(\S+)", printed("10")),
        (r"rod\.inertia\.2 +(\S+)", printed("0.834")),
    ],
    "check Pendulum": counted(8, 5, 5),
    "run four_bar_redundant --formulation qr --t-end 0.2": [(r"(\d+) redundant", (2, 2))],
    "run four_bar_redundant --formulation coordinate-partitioning --t-end 0.2": [(r"(\d+) redundant", (2, 2))],
    "check four_bar_redundant": counted(9, 10, 8),
    "check stewart_platform": counted(7, 6, 6),
    "check delta_robot": counted(28, 24, 24),
    "check MP_A": counted(9, 8, 8),
    "check Models/Rod": counted(3, 0, 0),
    "check Models/Indexed": counted(9, 9, 9),
    # figures 2 to 5: at 20 s; with twice the speed four times the energy, 3.1875 J
    "run slider_crank_zhou --formulation lu": [
        *at("theta1", "-0.33360668", "1.3647781"),
        *at("theta2", "-0.16446695", "0.6535869"),
        (r"energy +(\S+) J", printed("3.1875")),
    ],
    "run slider_crank_zhou -o zhou.nc": [
        *at("theta1", "-0.33360668", "1.3647781"),
        *at("theta2", "-0.16446695", "0.6535869"),
    ],
    "run slider_crank_zhou --set omega=2": [(r"energy +(\S+) J", printed("12.7500"))],
    "run slider_crank --coordinates minimal --t-end 1": [
        *at("crank.phi", "0.262931660", "-0.43752108"),
        *at("rod.phi", "-0.13032489", "0.21304892"),
    ],
    "assemble slider_crank_zhou --all --slice": [(r"closure variety (\d+)", (4, 4)), (r"found +(\d+) real", (2, 2))],
    "assemble four_bar --all": [
        (r"found +(\d+) real of 2 finite", (2, 2)),
        (r"residual (\S+), certified", (0.0, 1e-14)),
    ],
    "assemble analytic.yaml --all --slice": [(r"residual (\S+), certified", (0.0, 1e-14))],
    "dap Models/SC": of_dap("dap_jc_sc", 0.2, "B1", "B2", "B3"),
    "run Models/SC --t-end 0.2": of_dap("dap_jc_sc", 0.2, "B1", "B2", "B3"),
    "run Models/SC --t-end 0.2 -o sc.mat": of_dap("dap_jc_sc", 0.2, "B1", "B2", "B3"),
    "run Models/SC --t-end 0.4": of_dap("dap_jc_sc", 0.4, "B1", "B2", "B3"),
    "run Models/SP --t-end 0.2 -o sp.mat": of_dap("dap_jc_sp", 0.2, "B1", "B2"),
    "run Models/SP --weights none --stabilization none --t-end 0.2": of_dap("dap_jc_sp", 0.2, "B1", "B2"),
    "run Models/SP --integrator dopri5 --t-end 0.4": of_dap("dap_jc_sp", 0.4, "B1", "B2"),
    "run Models/Cart_C --t-end 0.2": of_dap("dap_jc_cart_c", 0.2, "B1", "B2", "B3"),
    "run DAP_JC/Cart_C --t-end 0.2": of_dap("dap_jc_cart_c", 0.2, "rear"),
    "run Models/Cart_A --t-end 0.2": of_dap("dap_bc_cart_a", 0.2, "B1", "B2", "B3"),
    "run AA --t-end 0.2": of_dap("dap_bc_aa", 0.2, "lower_arm", "knuckle", "upper_arm"),
    "run MPA --t-end 0.2": of_dap("dap_jc_mpa", 0.2, "arm", "knuckle"),
    "run DAP_BC/MP_B --t-end 0.2": of_dap("dap_bc_mp_b", 0.2, "knuckle", "arm"),
    "run TP --t-end 0.2": of_dap("dap_jc_tp", 0.2, "carrier", "left", "right"),
    "run dap/triple_pendulum --t-end 0.4": of_dap("dap_jc_tp", 0.4, "carrier", "left", "right"),
    **{f"explain four_bar --formulation {own}": HELD for own in (*OF_REVIEW, "de-falco-1", "de-falco-2")},
    **{f"{PENDULUM} {own}": HELD for own in ("coordinate-partitioning", "index-3", "de-falco-1", "de-falco-2")},
    "explain slider_crank_zhou --formulation lu --pivoting 2,1,3": HELD,
    "explain slider_crank_driven --formulation qr": HELD,
    "explain dap/cart_a": HELD,
    "run redundant_24 --integrator dopri5 --rtol 1e-6 --atol 1e-6": [
        (r"(\d) deg", (2, 2)),
        (r"(\d) redundant", (2, 2)),
    ],
    "run redundant_24 --formulation qr --rank-tolerance 1e-6": [(r"(\d) deg", (2, 2)), (r"(\d) redundant", (2, 2))],
    "kinematics warsaw_problem12": of_bucket(5.0),
    "kinematics Frames.yaml": of_bucket(5.0),
    "kinematics warsaw_problem12 -o warsaw.nc": of_bucket(5.0),
    "kinematics warsaw_problem12 --coupler bucket.K": of_bucket(5.0),
    "kinematics warsaw_problem12 --dead-centres bucket.y": of_bucket(5.0),
    "kinematics warsaw_problem12 --t-end 1 --step 0.02": of_bucket(1.0),
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
    dap_of_our_own.write(dap_of_our_own.TRAY, folder / "Models" / "Tray")
    dap_of_our_own.write(dap_of_our_own.BENCH, folder / "Models" / "Bench")
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
    theta = closed_form(t)
    rows = [f"{a:.3f},{x:.9f},{y:.9f}" for a, x, y in zip(t, 0.5 * np.cos(theta), 0.5 * np.sin(theta), strict=True)]
    (folder / "closed.csv").write_text("\n".join(["t,rod.x,rod.y", *rows]))
    return folder


def marked(command: str) -> Any:
    takes_long = SLOW.match(command) and not command.startswith(QUICK)
    return pytest.param(command, marks=[pytest.mark.slow] if takes_long else [])


@pytest.mark.parametrize("command", [*map(marked, COMMANDS)])
@pytest.mark.sampled
def test_commands_of_the_page_work(
    command: str, bench: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(bench)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(picture, "PER_SECOND", 2)  # of films a few pictures
    if command.startswith("dap "):
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n0.2\n0.02\nquit\n"))
    code = answer(shlex.split(command))
    said = capsys.readouterr()
    assert code == 0, f"{said.out[-800:]}\n{said.err[-800:]}"
    assert [text for text in SHOWN.get(command, ()) if text not in said.out] == [], said.out
    for pattern, (low, high) in NUMBERS.get(command, ()):
        found = re.search(pattern, said.out)
        assert found, f"{pattern}\n{said.out}"
        assert low <= float(found[1]) <= high, f"{pattern}: {found[1]}"


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
    assert {*SHOWN, *NUMBERS} <= {*COMMANDS}
    assert sum(map(len, ROWS.values())) == sum(ROWS_OF_SOURCES.values()) == 249
