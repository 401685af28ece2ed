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
import decks
import frames
import numpy as np
import pytest
from dap_folders import write as write_folder
from published import table
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicHermiteSpline

from linkwork.cli import answer
from linkwork.formulations import FORMULATIONS
from linkwork.view import picture

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "tests" / "reference"
ROW = re.compile(r"^\| (\d+) \| (.*?) \| (`linkwork [^|]*`) \| (.*?) \|$", re.MULTILINE)
COMMAND = re.compile(r"`linkwork ([^`]*)`")
PAGE = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")
ROWS = {section.split("\n", 1)[0]: ROW.findall(section) for section in PAGE.split("\n## ")[1:]}
COMMANDS = list(
    dict.fromkeys(command for rows in ROWS.values() for _, _, cell, _ in rows for command in COMMAND.findall(cell))
)
# Commands that take more than a third of a second.
SLOW = re.compile(
    r"^(animate|plot|explain|compare (redundant_24|numdyn3d|planar_chain|warsaw\S* .*-o)|check delta_robot|run Pendulum"
    r"|run (Rod2|n_four_bar|redundant_24|numdyn3d_pendulum_in|AA|M?P|SC|C|TP|DAP|Models/(AA|MPA|Cart|Tray|Bench))"
    r"|kinematics Frames|equations (delta_robot|warsaw)|run numdyn3d_pendulum .*(euler|index-3|dopri5)"
    r"|run slider_crank_zhou .*lu"
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
    "equations slider_crank_zhou --to maple": (
        *("f := proc(N, t, Y, YP)", "YP[1] := Y[2];", "YP[3] := Y[4];", "W[7] :="),
        # lambda is not a part of Y; it follows from W
        *("# Y: theta1, theta1_d, theta2, theta2_d\n", "# lam closure = -(W[6] - W[3]/W[2]*W[5])/W[4]"),
    ),
    "equations slider_crank_zhou": (  # (17) to (19)
        *("theta1_dd = W7\n", "theta2_dd = (W5 + (l1*cos(theta1)*W1 - l2*cos(theta2))*((W6 - W3/W2*W5)/W4))/W2"),
        *("lam closure = -(W6 - W3/W2*W5)/W4", "none of these is zero: J1 + l1^2*(m2 + m1/4 + m3), W2, -W4"),
    ),
    "equations slider_crank_zhou --largest 4": (
        *("W1 = J1 + l1^2*(m2 + m1/4 + m3)", "W4 = W2/W1*(l1*cos(theta1)) - l2*cos(theta2)"),
        *("theta1_dd = W12", "theta2_dd = W11", "lam closure = -W10"),
    ),
    "equations slider_crank_zhou --largest 4 --unveil 1": (
        "W6 = l1*cos(theta1)*(l1*cos(theta1)/(J1 + l1^2*(m2 + m1/4 + m3)))",
        "lam closure = -(W9 - W7*W8)/(W6 + W4*W7)",
    ),
    "equations slider_crank_zhou --largest 4 --unveil 2": ("theta1_dd = ((W8 + W10*W4)/(W3 - W2/W1*W2)*",),
    # x_d is in the first equation by its pattern only
    "equations signature.yaml --form rif": (
        "r = x_d, y_d, wherever det A is not zero\n  A[1, 2] = 1\n  A[2, 1] = 1\n  b",
    ),
    "equations slider_crank --coordinates joint": ("d[x crank.O] = l1/2*cos(theta O)", "B[rod.x, A] = -d_y rod.A"),
    "equations dap/slider_crank --coordinates joint": (  # (9.34)
        *("M a + C^T lam = h,  C a = -C_dot v", "C[B.x, O] = -d_y B.O", "C[B.x, guide] = -1", "C[B.y, A] = d_x B.A"),
    ),
    "equations dap/double_a_arm --coordinates joint": (
        *("d[x lower_arm.Q] = 0.24*cos(theta Q)", "d[y lower_arm.Q] = -0.24*sin(theta Q)"),
        *("d[x knuckle.A] = 0.07*cos(theta A - theta Q) - 0.1*sin(theta A - theta Q)", "d[x B.O] = 0.26*cos(theta O)"),
    ),
    "equations Models/SP --coordinates joint": (  # B and B' theta' of example C.1; sin, cos of theta2 by s = (0, 0.5)
        *("B[B1.x, J1] = 1", "B[B2.x, J1] = 1", "B[B2.x, J2] = -d_y B2.J2", "B[B2.y, J2] = d_x B2.J2"),
        *("B[B2.phi, J2] = 1", "B_dot_v[B2.x] = -theta_d J2^2/2*sin(theta J2)"),
        *("B_dot_v[B2.y] = theta_d J2^2/2*cos(theta J2)", "no constraints: the chain is open"),
    ),
    "equations Models/SC --coordinates joint": (  # C of example C.2: s_rot(dcut1), s_rot(dcut2), -u3
        *("C[C1.x, J1] = -d_y C1.J1", "C[C1.x, J2] = -d_y C1.J2", "C[C1.x, J3] = -1", "C[C1.y, J1] = d_x C1.J1"),
        *("C[C1.y, J2] = d_x C1.J2", "B[B3.x, J3] = 1", "minus_C_dot_v[C1.x] = "),
    ),
    "equations Models/Cuts --coordinates joint": tuple(  # table C.1: 2, 2, 1, 1, 1
        f"Psi[{row}] = " for row in ("C1.x", "C1.y", "C2.normal", "C2.angle", "C3.length", "C4.normal", "D7.drive")
    ),
    "check Models/MPA": ("theta(1) 0 to 0.000106326",),
    "equations four_bar": ("gamma[A.x] = -(b/2*coupler.omega^2*cos(coupler.phi) + a/2*crank.omega^2*cos(crank.phi))",),
    "equations warsaw_problem12 --form lagrange": (
        "Psi[A.x] = 0.3*sin(bucket.phi) - 0.1*cos(bucket.phi) + bucket.x - (0.975*sin(boom.phi) + 1.15*cos(boom.phi)",
        "Psi[slide1.normal] = (rod1.y - cylinder1.y)*(0.31622776601683794*sin(cylinder1.phi) + 0.9486832980505139*cos(",
        "Psi[slide1.angle] = rod1.phi - cylinder1.phi",
        "Psi[ram1.drive] = (rod1.x - cylinder1.x)*(0.31622776601683794*sin(cylinder1.phi) + 0.9486832980505139*cos(",
        "Psi_q[A.x, bucket.phi] = 0.3*cos(bucket.phi) + 0.1*sin(bucket.phi)",  # by R_j, not R_i as printed
        "Psi_q[slide1.angle, cylinder1.phi] = -1",
    ),
    "equations warsaw_problem12 --form rif": (
        *("Psi_tt[ram1.drive] = -sin(2*t)", "Psi_tt[ram2.drive] = 7.5*sin(5*t)"),
        "b[O.x] = -(0.925*boom.omega^2*sin(boom.phi) + 1.75*boom.omega^2*cos(boom.phi))",
        "b[A.y] = -(1.15*boom.omega^2*sin(boom.phi) - 0.975*boom.omega^2*cos(boom.phi) + (0.1*bucket.omega^2*sin(",
    ),
    "kinematics warsaw_problem12": ("no position on the way",),
    "kinematics Parallelogram.yaml": ("1 position on the way", "a singular position is passed at t = 2.094395"),
    "run n_four_bar --formulation coordinate-partitioning": ("a singular position is passed", "6 more are passed"),
    "compare planar_chain:12 --formulations augmented,qr --t-end 0.1": ("augmented", "qr"),
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
    pairs = [pair for pair in pairs if pair[1] in found]
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


def of_dap_roughly(name: str, t: float, *bodies: str) -> list[tuple[str, tuple[float, float]]]:
    """The same of a model that starts elsewhere within its four digits."""
    return [
        (pattern, ((low + high) / 2 - 2e-4, (low + high) / 2 + 2e-4))
        for pattern, (low, high) in of_dap(name, t, *bodies)[::2]
    ]


def of_four_bar(t: float, digits: int = 6) -> list[tuple[str, tuple[float, float]]]:
    """The four-bar of uniform links by its crank alone: m phi'' = -m' phi'^2/2 - V', differences of closed forms."""
    a, b, c, d, rho = 1.0, 2.5, 2.0, 2.2, 1.0

    def angles(phi: float) -> list[float]:
        x, y = d - a * np.cos(phi), -a * np.sin(phi)
        e = np.hypot(x, y)
        coupler = np.arctan2(y, x) + np.arccos((e**2 + b**2 - c**2) / (2 * b * e))
        ends = a * np.sin(phi) + b * np.sin(coupler), a * np.cos(phi) + b * np.cos(coupler) - d
        return [phi, float(coupler), float(np.arctan2(*ends))]

    def centres(phi: float) -> Any:
        one, two, three = angles(phi)
        of = [(a / 2, one, 0j), (b / 2, two, a * np.exp(1j * one)), (c / 2, three, d + 0j)]
        return np.array([[at + r * np.exp(1j * angle), angle] for r, angle, at in of])

    masses = rho * np.array([a, b, c])
    inertias = masses * np.array([a, b, c]) ** 2 / 12

    def m(phi: float, h: float = 1e-5) -> float:
        slope = (centres(phi + h) - centres(phi - h)) / (2 * h)
        return float(masses @ abs(slope[:, 0]) ** 2 + inertias @ slope[:, 1].real ** 2)

    def V(phi: float) -> float:
        return float(9.81 * masses @ centres(phi)[:, 0].imag)

    def rates(_: float, y: Any, h: float = 1e-4) -> list[float]:
        m_, V_ = ((f(y[0] + h) - f(y[0] - h)) / (2 * h) for f in (m, V))
        return [y[1], -(m_ * y[1] ** 2 / 2 + V_) / m(y[0])]

    phi, rate = solve_ivp(rates, (0, t), [np.pi / 3, 0.0], rtol=1e-9, atol=1e-11).y[:, -1]
    _, coupler, rocker = angles(phi)
    found = at("crank.phi", f"{phi:.{digits}f}", f"{rate:.{digits - 1}f}")
    return [*found, *at("coupler.phi", f"{coupler:.{digits}f}"), *at("rocker.phi", f"{rocker:.{digits}f}")]


def of_cart_d(t: float) -> list[tuple[str, tuple[float, float]]]:
    """(m + 2 J/R^2) v' = T_max (1 - v/(R w_max))/R - c v^2."""
    rates = lambda _, y: [y[1], (200 * (1 - y[1] / (0.4 * np.pi)) - 10 * y[1] ** 2) / 124]  # noqa: E731
    x, v = solve_ivp(rates, (0, t), [0.5, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    return at("chassis.x", f"{x:.8f}", f"{v:.8f}")


def turns(name: str) -> list[tuple[float, float]]:
    """When a coordinate of the table reverses, and its values there, by cubics through its values and rates."""
    t, q, v = (
        table(f"warsaw_problem12_{kind}.csv")[key]
        for kind, key in (("position", "t"), ("position", name), ("velocity", name))
    )
    found = []
    for k in np.flatnonzero(v[:-1] * v[1:] < 0):
        path = CubicHermiteSpline(t[k : k + 2], q[k : k + 2], v[k : k + 2])
        (at,) = path.derivative().roots(extrapolate=False)
        found.append((float(at), float(path(at))))
    return found


def of_table(point: str) -> list[tuple[str, tuple[float, float]]]:
    """Between which coordinates a point moves, as far as report times show them."""
    ends = [f([value for _, value in turns(f"{point}_{axis}")]) for axis in "xy" for f in (min, max)]
    pattern = rf"bucket.{point}: x from {{}} to {{}}, y from {{}} to {{}}"
    return [
        (pattern.format(*(r"([^\s,]+)" if n == k else r"\S+" for n in range(4))), (end - 2e-4, end + 2e-4))
        for k, end in enumerate(ends)
    ]


def dead_centres_of_table(name: str) -> list[tuple[str, tuple[float, float]]]:
    pattern = r"(?:dead centre(?:.|\n)*?){{{}}}"
    return [
        entry
        for k, (at, value) in enumerate(turns(name), 1)
        for entry in (
            (pattern.format(k) + r" = (\S+) at t", (value - 2e-5, value + 2e-5)),
            (pattern.format(k) + r" at t = (\S+) s", (at - 1e-3, at + 1e-3)),
        )
    ]


def driving_forces() -> list[tuple[str, tuple[float, float]]]:
    """Lagrange's equations for the lengths of both rams, the places of all bodies by intersections of circles."""
    H, N = 0.4 - 0.2j, 0.1 - 0.8j  # on the ground, as O at 0
    D, A, M, C, G, B = 2.2 - 0.4j, 2.9 - 1.9j, 1.9 - 1.4j, 2.5 - 1.4j, 1.6 + 0.4j, 2.9 - 1.1j
    boom_at, arm_at, bucket_at, link_at = 1.75 - 0.925j, 2.1 - 0.5j, 3.0 - 1.6j, 2.7 - 1.25j
    masses = np.array([200.0, 80, 50, 10, 20, 10, 20, 10])
    inertias = np.array([250.0, 40, 8, 0.3, 4, 2, 3, 1.5])

    def met(P: complex, r: float, Q: complex, s: float, start: complex) -> complex:
        """The intersection of circles about P and Q, on the side on which it is at the start, seen from there."""
        far = abs(Q - P)
        along = (r**2 - s**2 + far**2) / (2 * far)
        return P + (along + 1j * float(np.sign(start.imag) * np.sqrt(r**2 - along**2))) * (Q - P) / far

    def places(s: Any) -> Any:
        m = met(0j, abs(M), N, s[0], M / N)
        boom = m / M
        d, a = boom * D, boom * A
        g = met(d, abs(G - D), H, s[1], (G - D) / (H - D))
        arm = (g - d) / (G - D)
        c = d + arm * (C - D)
        b = met(a, abs(B - A), c, abs(B - C), (B - A) / (C - A))
        bucket, link = (b - a) / (B - A), (b - c) / (B - C)
        z = [boom * boom_at, d + arm * (arm_at - D), a + bucket * (bucket_at - A), c + link * (link_at - C)]
        rams = [np.angle((m - N) / (M - N)), np.angle((g - H) / (G - H))]
        turns = [*np.angle([boom, arm, bucket, link]), rams[0], rams[0], rams[1], rams[1]]
        return np.array([[*z, N, m, H, g], turns])

    def slopes(s: Any, h: float = 1e-5) -> Any:
        return np.array([(places(s + h * e) - places(s - h * e)) / (2 * h) for e in np.eye(2)])

    def inertia(s: Any) -> Any:
        J = slopes(s)
        return np.array(
            [[np.sum(masses * (p[0].conj() * q[0]).real + inertias * (p[1] * q[1]).real) for q in J] for p in J]
        )

    def forces(t: float, h: float = 1e-4) -> Any:
        s = np.array([np.hypot(1.8, 0.6) - 0.25 * np.sin(2 * t), np.hypot(1.2, 0.6) + 0.3 * np.sin(5 * t)])
        v, a = np.array([-0.5 * np.cos(2 * t), 1.5 * np.cos(5 * t)]), np.array([np.sin(2 * t), -7.5 * np.sin(5 * t)])
        by = [(inertia(s + h * e) - inertia(s - h * e)) / (2 * h) for e in np.eye(2)]
        weight = np.array([9.81 * masses @ own[0].imag for own in slopes(s)])
        moved = sum(own * rate for own, rate in zip(by, v, strict=True)) @ v - np.array([v @ own @ v for own in by]) / 2
        return inertia(s) @ a + moved + weight

    found = [(ram, t, forces(t)[ram - 1]) for ram, t in ((1, 3.94), (2, 0.94))]
    return [(rf"driving:ram{ram} +(\S+) N at t = {t} s", (x - 1e-4 * abs(x), x + 1e-4 * abs(x))) for ram, t, x in found]


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
NINE = (
    *("zero-eigenvalue", "coordinate-partitioning", "qr", "putd", "schur", "udwadia-kalaba", "udwadia-phohomsiri"),
    *("de-falco-1", "de-falco-2"),
)
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
    "check Pendulum": counted(7, 5, 5),
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
    "kinematics warsaw_problem12 --coupler bucket.B --coupler bucket.K": [*of_table("B"), *of_table("K")],
    "kinematics warsaw_problem12 --dead-centres bucket.K.y": [*dead_centres_of_table("K_y"), *driving_forces()],
    "equations delta_robot": [
        (r"\n(\d+) operations", (1e3, 1e4)),
        (r"operations, .*written out (\S+)", (1e9, 1e11)),
    ],
    "run four_bar --coordinates minimal --t-end 0.2": of_four_bar(0.2),
    "run four_bar --t-end 0.2": of_four_bar(0.2),
    "run four_bar --formulation index-3 --t-end 0.2": of_four_bar(0.2),
    "run four_bar --stabilization none --t-end 0.2": [  # it drifts
        *of_four_bar(0.2),
        (r"\|Psi\| (\S+),", (1e-12, 1e-8)),
    ],
    "assemble Models/SC": [(r"gap now +(\S+) at most", (0.0, 1e-15))],
    "run Models/MPA --t-end 0.2": of_dap("dap_jc_mpa", 0.2, "B1", "B2", "B3"),
    "run Models/AA --t-end 0.1": at("B2.y", "0.32249993"),
    "run DAP_BC/AA --t-end 0.2": of_dap("dap_bc_aa", 0.2, "lower_arm", "knuckle", "upper_arm"),
    "run MPB --t-end 0.2": of_dap_roughly("dap_jc_mpa", 0.2, "arm", "knuckle"),
    "run MP_A --t-end 0.2": of_dap_roughly("dap_bc_mp_b", 0.2, "knuckle", "arm"),
    "run MP_C --t-end 0.1": at("knuckle.y", "0.28563246"),
    "run Cart_A --t-end 0.2": of_dap("dap_bc_cart_a", 0.2, "chassis", "rear", "front"),
    "run Cart_B --t-end 0.2": of_dap("dap_bc_cart_b", 0.2, "chassis", "rear", "front"),
    "run DAP_BC/Cart_C --t-end 0.2": of_dap("dap_bc_cart_c", 0.2, "chassis", "rear", "front"),
    "run Cart_D --t-end 0.2": of_cart_d(0.2),
    "run CB --t-end 0.2": of_dap("dap_bc_cb", 0.2, "block"),
    "run DAP_BC/Rod --t-end 0.15": at("rod.phi", "1.6586000"),
    "run DAP_BC/SP --t-end 0.2": of_dap("dap_bc_sp", 0.2, "slider", "pendulum"),
    "run DAP_JC/Rod --t-end 0.4": of_dap("dap_jc_rod", 0.4, "rod")[2:5],
    "run Rod2 --t-end 0.4": at("right.phi", "0.2231355"),
    "run SC --t-end 0.2": of_dap("dap_jc_sc", 0.2, "crank", "rod", "slider")[:12],
    "run SCd --t-end 0.1": at("crank.phi", "1.67551608", "6.28318531"),
    "run DAP_JC/SP --t-end 0.2": of_dap("dap_jc_sp", 0.2, "slider", "pendulum"),
    "check Models/Cuts": counted(15, 7, 7),
    "explain slider_crank --formulation coordinate-partitioning": HELD,
    **{
        f"compare {model} --formulations {names} --t-end 0.1": [
            (rf"\n{name} +(?:\S+ +)*?(\S+) +\S+ *\n", (0.0, 1e-8)) for name in names.split(",")
        ]
        for model, names in (
            ("four_bar", ",".join(NINE)),
            ("four_bar", "qr"),
            ("four_bar", "qr,svd,putd"),
            ("planar_chain:12", "augmented,qr"),
            ("planar_chain:12", "augmented"),
        )
    },
    "kinematics warsaw_problem12 --t-end 1 --step 0.02": of_bucket(1.0),
}
# What files must hold.
WRITTEN: dict[str, tuple[str, tuple[str, ...]]] = {
    "convert Pendulum -o five.yaml": ("five.yaml", ("mass: 10.0", "orientation: [0.97,", "free_angle: 1.57")),
    "convert numdyn3d_pendulum -o eleven": ("eleven/springs.txt", ("32.66", "4.584", "1.57")),
    "convert Models/Cart_A -o cart.yaml": (
        "cart.yaml",
        (
            *("mass: 20.0", "P5: [0.1, 0.0]", "P6: [0.1, 0.0]", "{type: rolling, i: ground.O, j: B2.centre"),
            *("shape: {type: box, size: [0.9, 0.2]}", "shape: {type: disc, radius: 0.1}"),
        ),
    ),
    "convert Models/AA -o aa.yaml": ("aa.yaml", ("colour: red", "colour: blue", "window: [[0.0, 0.0], [0.8, 0.8]]")),
    "convert Models/SC -o sc.yaml": (
        "sc.yaml",
        ("shape: {type: box, size: [0.04, 0.02]}", "[[-0.3, -0.4], [0.5, 0.4]]"),
    ),
    "explain dap/sliding_pendulum -o c2.html": ("c2.html", (">A, B<", r"$\xi_1$", r"$\eta_2$")),
    "explain dap/slider_crank --coordinates joint -o c3.html": ("c3.html", (">O<", ">A<", ">C, B<", r"$\eta_3$")),
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


SIGNATURE = """linkwork: 1
name: signature
unknowns: [x, y]
equations: {a: (sin(x + y) - sin(x)*cos(y) - cos(x)*sin(y))*x_d + y_d = 1, b: x_d = y}
"""
PARALLELOGRAM = """linkwork: 1
name: parallelogram
ground: {points: {A: [0, 0], D: [2, 0]}}
bodies:
  a: {mass: 1, inertia: 0.1, position: [1/4, sqrt(3)/4], angle: pi/3, points: {A: [-0.5, 0], B: [0.5, 0]}}
  b: {mass: 1, inertia: 0.1, position: [1.5, sqrt(3)/2], points: {B: [-1, 0], C: [1, 0]}}
  c: {mass: 1, inertia: 0.1, position: [9/4, sqrt(3)/4], angle: pi/3, points: {D: [-0.5, 0], C: [0.5, 0]}}
joints:
  A: {type: revolute, i: ground.A, j: a.A}
  B: {type: revolute, i: a.B, j: b.B}
  C: {type: revolute, i: b.C, j: c.C}
  D: {type: revolute, i: ground.D, j: c.D}
drivers: {m: {joint: A, motion: pi/3 + t}}
simulation: {t_end: 5, step: 0.01}
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
    dap_of_our_own.write(dap_of_our_own.CUTS, folder / "Models" / "Cuts")
    decks.written(folder / "Pendulum", decks.PENDULUM)
    (folder / "Massless.yaml").write_text(frames.CRANK)
    (folder / "Frames.yaml").write_text(json.dumps(frames.frames_of_the_source()))
    texts = {"pendulum": DAE, "square": SQUARE, "analytic": ANALYTIC}
    texts |= {"signature": SIGNATURE, "Parallelogram": PARALLELOGRAM}
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
    if command in WRITTEN:
        file, texts = WRITTEN[command]
        stored = (bench / file).read_text(encoding="utf-8")
        assert [text for text in texts if text not in stored] == [], stored
    if drawn := re.search(r"-o (\S+\.(?:png|gif))", command):
        check_picture(bench / drawn[1], int(film[1]) if (film := re.search(r"--film (\d+)", command)) else 1)
    if command == "convert numdyn3d_pendulum -o eleven":
        assert len([*(bench / "eleven").iterdir()]) == 11


def check_picture(file: Path, parts: int) -> None:
    """In each part of a film strip something is drawn in colours; a moving picture has several pictures."""
    from PIL import Image

    with Image.open(file) as picture:
        assert file.suffix == ".png" or getattr(picture, "n_frames", 1) > 1
        pixels = np.asarray(picture.convert("RGB"), dtype=int)
    for part in np.array_split(pixels, parts, axis=1):
        assert np.count_nonzero(np.ptp(part, axis=2) > 40) > 100


def test_nine_listings_are_functions_of_M_Psi_q_Q_and_gamma() -> None:
    """On random matrices of the sizes of the source, 24 rows of rank 22 for 24 coordinates, with full M."""
    rng = np.random.default_rng(24)
    root, rows = rng.normal(size=(24, 24)), rng.normal(size=(22, 24))
    M, Psi_q, Q = root @ root.T + np.eye(24), rng.normal(size=(24, 22)) @ rows, rng.normal(size=24)
    wanted = rng.normal(size=24)
    gamma = Psi_q @ wanted
    whole = np.block([[M, rows.T], [rows, np.zeros((22, 22))]])
    expected = np.linalg.solve(whole, [*Q, *(rows @ wanted)])[:24]
    for name in NINE:
        found = FORMULATIONS[name](M, Psi_q, Q, gamma, 1e-9)
        np.testing.assert_allclose(found.a, expected, rtol=0, atol=1e-8 * np.max(np.abs(expected)), err_msg=name)
        np.testing.assert_allclose(M @ found.a + Psi_q.T @ found.lam, Q, rtol=0, atol=1e-7, err_msg=name)


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
        for number, what, commands, state in rows:
            assert COMMAND.sub("", commands).strip(", ") == "", f"{source} {number}: {commands}"
            assert re.match(r"works|declined, because \w+", state), f"{source} {number}: {what}"
    assert {*SHOWN, *NUMBERS, *WRITTEN} <= {*COMMANDS}
    pictures = {command for command in COMMANDS if re.search(r"-o \S+\.(png|gif)", command)}
    assert {*COMMANDS} == {*SHOWN, *NUMBERS, *WRITTEN} | pictures
    assert sum(map(len, ROWS.values())) == sum(ROWS_OF_SOURCES.values()) == 249
