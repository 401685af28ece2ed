"""The verification page: every published number that linkwork reproduces, by running it.

python docs/verification.py     # prints the page; an error names what deviates too much
"""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from math import acos, asin, atan, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork import Trajectory, check, equilibria, kinematics, linearize, load, prepare, simulate
from linkwork.comparison.beside import beside, read_table
from linkwork.modelfile import shipped

DATA = Path(__file__).parents[1] / "tests" / "reference"
FINE = {"rtol": 1e-12, "atol": 1e-12}

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """A number of a source beside ours. Of curves and tables `given` and `found` say how many values are compared."""

    mechanism: str
    quantity: str
    given: str
    found: str
    deviation: float
    allowed: float
    source: str

    def __post_init__(self) -> None:
        if not self.deviation <= self.allowed:
            too_much = f"{self.deviation:.2e} from {self.source}, allowed {self.allowed:.0e}"
            raise AssertionError(f"{self.mechanism}, {self.quantity}: {too_much}")


def number(mechanism: str, quantity: str, given: float | str, found: float, allowed: float, source: str) -> Row:
    shown = given if isinstance(given, str) else f"{given:.10g}"
    return Row(mechanism, quantity, shown, f"{found:.10g}", abs(found - float(given)), allowed, source)


def curve(mechanism: str, quantity: str, given: Any, found: Any, allowed: float, source: str) -> Row:
    given, found = np.asarray(given), np.asarray(found)
    assert given.shape == found.shape
    count = f"{given.size} values"
    return Row(mechanism, quantity, count, count, float(np.max(np.abs(found - given))), allowed, source)


def table(name: str) -> dict[str, Array]:
    """Columns of a reference file; remarks begin with #, the first other line names the columns."""
    names, *rows = [line for line in (DATA / name).read_text().splitlines() if not line.startswith("#")]
    values = np.array([[float(x) for x in row.split(",")] for row in rows])
    return dict(zip(names.split(","), values.T, strict=True))


def checked(name: str) -> Row:
    """The number that the file of a shipped mechanism states."""
    model = load(name)
    number_ = model.about.checked
    if number_.get("analysis") == "kinematics":
        motion = kinematics(model, t_end=number_["t"] or model.simulation.step)
    else:
        motion = simulate(model, t_end=number_["t"], rtol=1e-11, atol=1e-11)
    row = -1 if number_["t"] else 0
    found = motion[number_["quantity"]][row]
    what = f"`{number_['quantity']}` at t = {number_['t']:g} s"
    return number(name, what, number_["value"], found, number_["tolerance"], number_["source"])


def slider_crank_stated() -> Iterator[Row]:
    """The two-angle equations of the source themselves."""
    motion = simulate(load("slider_crank_zhou"), t_end=1.0, **FINE)
    own = "own integration to 1e-13 [zhou2007, eqs. (3)-(5)]"
    at_1 = {"theta1": 0.2629316601282817, "theta1_d": -0.4375210779891946}
    at_1 |= {"theta2": 0.1303248907128768, "theta2_d": -0.2130489239566246}
    for name, value in at_1.items():
        yield number("slider_crank_zhou", f"`{name}` at 1 s", value, float(motion[name][-1]), 1e-10, own)
    theta1 = simulate(load("slider_crank_zhou"), step=0.002, **FINE)["theta1"]
    least = asin(3.1875 / 9.8)  # where the energy of the start is all potential, 9.8 J times sin theta1
    source = "[zhou2007, figures 2 and 4], limits by the balance of energy"
    yield number("slider_crank_zhou", "farthest `theta1` in 20 s", least, float(theta1.max()), 2e-6, source)
    yield number("slider_crank_zhou", "farthest back", -pi - least, float(theta1.min()), 2e-6, source)
    turns = simulate(load("slider_crank_zhou", {"omega": 2.0}), **FINE)["theta1"]
    yield number("slider_crank_zhou", "steps back at twice the speed", 0, float(np.sum(np.diff(turns) <= 0)), 0, source)


def slider_crank() -> Iterator[Row]:
    """The paper counts the angle of the rod clockwise and prints four digits."""
    motion = simulate(load("slider_crank"), t_end=20.0, step=0.05, **FINE)
    at_one = int(np.argmin(np.abs(motion.t - 1.0)))
    for what, quantity, sign, printed in (
        ("theta_1(1 s)", "crank.phi", 1, ".2629"),
        ("theta_1'(1 s)", "crank.omega", 1, "-.4375"),
        ("theta_2(1 s)", "rod.phi", -1, ".1303"),
        ("theta_2'(1 s)", "rod.omega", -1, "-.2130"),
    ):
        found = sign * motion[quantity][at_one]
        yield number("slider_crank", what, printed, found, 5e-5, "[zhou2007, section 5], four digits")
    expected = table("slider_crank_two_angles.csv")
    found = np.array([motion["crank.phi"], motion["crank.omega"], -motion["rod.phi"], -motion["rod.omega"]])
    given = np.array([expected["th1"], expected["th1d"], expected["th2"], expected["th2d"]])
    source = "equations (3) to (5) of [zhou2007] in two angles, integrated apart"
    yield curve("slider_crank", "both angles and rates over 20 s", given, found, 1e-9, source)


def pendulum_with_rod() -> Iterator[Row]:
    model = load("simple_pendulum_rod")
    mechanism = prepare(model)
    largest, smallest = np.linalg.svd(np.asarray(mechanism.place().Psi_q, dtype=float), compute_uv=False)
    source = "[pennestri2004, eq. (59)]"
    yield number("simple_pendulum_rod", "larger singular value of Psi_q at 45 deg", sqrt(2.0), largest, 1e-14, source)
    yield number("simple_pendulum_rod", "smaller singular value", 1.0, smallest, 1e-14, source)
    p = model.parameters
    given = -sqrt(0.5) * p["g"] * p["m"] / (p["m"] + p["I_g"])
    found = mechanism.simulate(t_end=0.01)["rod.alpha"][0]
    yield number("simple_pendulum_rod", "p'' at 45 deg", given, found, 1e-13, "[pennestri2004, eq. (62)]")


def sliding_pendulum() -> Iterator[Row]:
    """The manual cuts its digits instead of rounding them, so that a whole unit of the last one may be missing."""
    motion = simulate(load("dap/sliding_pendulum_jc"), t_end=4.0, step=0.02, **FINE)
    printed = {0.02: (0.99, 0.52, 0.0, -0.13), 3.98: (1.06, -0.01, -0.45, 1.32), 4.0: (1.05, 0.02, -0.48, 1.37)}
    names = ("slider.x", "pendulum.phi", "slider.vx", "pendulum.omega")
    rows = [int(np.argmin(np.abs(motion.t - t))) for t in printed]
    found = np.array([[motion[name][row] for name in names] for row in rows])
    for name, given, ours in zip(names, printed[4.0], found[-1], strict=True):
        yield number(
            "dap/sliding_pendulum_jc",
            f"`{name}` at t = 4 s",
            given,
            ours,
            1e-2,
            "DAP_JC manual, table C.2, two digits cut",
        )
    given = np.array(list(printed.values()))
    yield curve(
        "dap/sliding_pendulum_jc",
        "the rows 0.02, 3.98 and 4 s",
        given,
        found,
        1e-2,
        "DAP_JC manual, table C.2, two digits cut",
    )


ANGLES = {
    "beta": ("K1",),
    "theta": ("K2", "K1"),
    "gamma": ("K3",),
    "phi": ("K4", "K5"),
    "delta": ("K5",),
    "Omega": ("K6", "K7"),
    "epsilon": ("K7",),
}


# The files of the reference motions, and their bodies in order.
DAP = {
    "double_a_arm": "bc_aa",
    "cart_a": "bc_cart_a",
    "cart_b": "bc_cart_b",
    "cart_c": "bc_cart_c",
    "conveyor_belt": "bc_cb",
    "macpherson_b": "bc_mp_b",
    "sliding_pendulum": "bc_sp",
    "cart_c_jc": "jc_cart_c",
    "macpherson_a_jc": "jc_mpa",
    "slider_crank": "jc_sc",
    "sliding_pendulum_jc": "jc_sp",
    "triple_pendulum": "jc_tp",
    "rod_jc": "jc_rod",
}


def dap_models() -> Iterator[Row]:
    """Positions and angles of all bodies; the reference is integrated at 1e-12, the rod through its contacts."""
    source = "equations of [nikravesh2018] integrated apart, agreeing with the published output to its tolerance"
    for name, file in DAP.items():
        expected = table(f"dap/dap_{file}.csv")
        model = load(f"dap/{name}")
        times = {"t_end": float(expected["t"][-1]), "step": float(expected["t"][1] - expected["t"][0])}
        columns = [(part, k) for k in range(1, len(model.bodies) + 1) for part in ("x", "y", "phi")]
        columns = [(part, k) for part, k in columns if f"{part}{k}" in expected]
        given = np.array([expected[f"{part}{k}"] for part, k in columns])
        for coordinates in ("body", "joint"):
            motion = simulate(model, **times, rtol=1e-11, atol=1e-11, coordinates=coordinates)
            found = np.array([motion[f"{model.bodies[k - 1].name}.{part}"] for part, k in columns])
            what = f"positions over {times['t_end']:g} s, {coordinates} coordinates"
            yield curve(f"dap/{name}", what, given, found, 1e-6 if file == "jc_rod" else 1e-7, source)


def relative_angle(motion: Trajectory, bodies: tuple[str, ...], rate: str) -> Any:
    first, *others = (motion[f"{body}.{rate}"] for body in bodies)
    return first - sum(others)


def squeezer() -> Iterator[Row]:
    expected = json.loads((DATA / "andrews.json").read_text())["reference_t_end"]
    motion = simulate(load("andrews_squeezer"), t_end=0.03, **FINE)
    for name, bodies in ANGLES.items():
        given = float(expected[name])
        found = relative_angle(motion, bodies, "phi")[-1]
        yield number(
            "andrews_squeezer",
            f"{name} at t = 0.03 s",
            given,
            found,
            1e-8 * abs(given),
            "[ivptestset2008], problem andrews",
        )
    for rate, mark, what, allowed in (("omega", "_dot", "rates", 1e-7), ("alpha", "_ddot", "accelerations", 1e-6)):
        given = np.array([float(expected[name + mark]) for name in ANGLES])
        found = np.array([relative_angle(motion, bodies, rate)[-1] for bodies in ANGLES.values()])
        quantity = f"their {what} at t = 0.03 s, relative"
        yield curve(
            "andrews_squeezer", quantity, np.ones(7), found / given, allowed, "[ivptestset2008], problem andrews"
        )


def benchmark_library() -> Iterator[Row]:
    expected = table("A01_pendulum.csv")
    motion = simulate(load("simple_pendulum"), **FINE)
    found = np.array([motion["mass.x"], motion["mass.y"]])
    given = np.array([expected["x"], expected["y"]])
    yield curve(
        "simple_pendulum", "place of the mass over 10 s", given, found, 1e-10, "[iftomm], problem A01, closed form"
    )

    expected = table("A02_N2.csv")
    motion = simulate(load("n_four_bar"))
    found = pi / 2 - np.array([motion[f"upright{k}.phi"] for k in range(3)])
    given = np.array([expected["theta"]] * 3)
    source = "[iftomm], problem A02, N = 2; one-freedom reduction, default tolerances"
    yield curve("n_four_bar", "three angles over 10 s, past ten singular positions", given, found, 1e-4, source)

    expected = table("A03_squeezer.csv")
    model = load("andrews_squeezer", {name: float(expected[name][0]) for name in ANGLES})
    motion = simulate(model, t_end=0.05, step=0.00025, rtol=1e-11, atol=1e-11)
    found = np.array([relative_angle(motion, bodies, "phi") for bodies in ANGLES.values()])
    given = np.array([expected[name] for name in ANGLES])
    source = "[iftomm], problem A03; reference computed apart to 1e-9"
    yield curve("andrews_squeezer", "seven angles over 0.05 s", given, found, 2e-7, source)


WARSAW = {"A": "boom", "D": "boom", "M": "boom", "C": "arm", "G": "arm", "B": "bucket", "K": "bucket"}


def eight_bodies() -> Iterator[Row]:
    """ADAMS prints seven digits, so that up to half a unit of the seventh is its rounding."""
    motion = kinematics(load("warsaw_problem12"))
    for file, rate, what, allowed, source in (
        ("adams_pos", "", "places", 5.05e-7, "[tartari2019], table of ADAMS, seven digits"),
        ("adams_vel", "v", "velocities", 5.05e-7, "[tartari2019], table of ADAMS, seven digits"),
        ("position", "", "places", 1e-10, "intersections of circles"),
        ("velocity", "v", "velocities", 1e-10, "intersections of circles"),
    ):
        expected = table(f"warsaw_problem12_{file}.csv")
        points = [(name, body, x) for name, body in WARSAW.items() for x in "xy" if f"{name}_{x}" in expected]
        given = np.array([expected[f"{name}_{x}"] for name, _, x in points])
        found = np.array([motion[f"{body}.{name}.{rate}{x}"][::5] for name, body, x in points])
        yield curve("warsaw_problem12", f"{what} of {len(points) // 2} points over 5 s", given, found, allowed, source)
    expected = table("warsaw_problem12_adams_acc.csv")
    points = [(name, body, x) for name, body in WARSAW.items() for x in "xy" if f"{name}_{x}" in expected]
    given = np.array([expected[f"{name}_{x}"] for name, _, x in points])
    found = np.array([motion[f"{body}.{name}.a{x}"][:111:10] for name, body, x in points])
    source = "[tartari2019], table of ADAMS, seven digits"
    what = "accelerations of 6 points at 12 times, relative"
    yield curve("warsaw_problem12", what, np.ones_like(given), found / given, 5.01e-7, source)
    found = beside(motion, [read_table(DATA / "warsaw_problem12_adams.csv")])
    lines = [line for line in (DATA / "tartari2019_table4.csv").read_text().splitlines() if not line.startswith("#")]
    printed = {point: [float(x) for x in values] for point, *values in csv.reader(lines[1:])}
    owners = {None: "overall"} | {name: name[-1] for name in found.owners if name[-1] not in "OHN"}
    given = np.array([printed[point] for point in owners.values()])
    ours = np.array([[of.std for part in found.parts if (of := found.spread(owner, part))] for owner in owners])
    what = "standard deviations from ADAMS of five moving points and of all together, relative"
    source = "[tartari2019, table 4], errors against ADAMS"
    yield curve("warsaw_problem12", what, np.ones_like(given), ours / given, 2e-4, source)


def four_bars() -> Iterator[Row]:
    source = "vector loop solved to 1e-15; torque by the power of all forces"
    for name, file in (("four_bar_film_strip", "fourbar_film_strip"), ("four_bar_grashof", "fourbar_general_grashof")):
        expected = table(f"{file}.csv")
        motion = kinematics(load(name))
        angles = ("crank.phi", "coupler.phi", "follower.phi")
        found = np.exp(1j * np.array([motion[q] for q in angles]))
        given = np.exp(1j * np.array([expected[c] for c in ("theta1", "theta2", "theta3")]))
        yield curve(name, "directions of three links over a turn", given, found, 1e-8, source)
        rates = {
            "omega2": "coupler.omega",
            "omega3": "follower.omega",
            "alpha2": "coupler.alpha",
            "alpha3": "follower.alpha",
        }
        found, given = np.array([motion[q] for q in rates.values()]), np.array([expected[c] for c in rates])
        yield curve(name, "angular velocities and accelerations", given, found, 1e-8, source)
        found, given = motion["driving:motor"], expected["crank_torque"]
        yield curve(name, "torque of the motor", given, found, 1e-8, source)


def redundant_linkage() -> Iterator[Row]:
    report = check(load("redundant_24"))
    source = "[defalco2008], size of its test"
    yield number("redundant_24", "coordinates", 24, report.coordinates, 0, source)
    yield number("redundant_24", "constraint rows", 24, report.constraints, 0, source)
    yield number("redundant_24", "rank of Psi_q", 22, report.rank, 0, source)


def stiff() -> Iterator[Row]:
    motion = simulate(load("flyball_governor"), coordinates="joint", rtol=1e-10, atol=1e-10)
    d = 5.15 / 5.3  # from the hinge of an arm to its mass centre
    across, along = 0.3 * 1.0001 / 12 + 0.3 * (d - 0.5) ** 2 + 5 * (1 - d) ** 2, 0.3 * 2e-4 / 12
    sine = 1.0 - motion["arm_a.ball.z"]
    cosine = np.sqrt(1.0 - sine**2)
    arm = 5.3 * (0.05 + d * cosine) ** 2 + across * cosine**2 + along * sine**2
    spin = motion["shaft.wz"] * (3.0 * 0.02 / 12 + along + 2.0 * arm)
    given, source = np.full(len(spin), 53.868998658418), "[iftomm], problem A05"
    yield curve("flyball_governor", "angular momentum 53.868998658418 over 10 s", given, spin, 1e-7, source)
    source = "equations in the angle of the arms and the height of the slider, integrated apart"
    yield number("flyball_governor", "`slider.z` at t = 10 s", 0.6196229170613, motion["slider.z"][-1], 1e-7, source)

    how: dict[str, Any] = {"formulation": "index-3", "integrator": "radau5", "rtol": 1e-13, "atol": 1e-13}
    motion = simulate(load("andrews_squeezer"), t_end=0.03, step=0.03, **how)
    beta = float(json.loads((DATA / "andrews.json").read_text())["reference_t_end"]["beta"])
    source = "[ivptestset2008]"
    yield number("andrews_squeezer", "angle beta at t = 0.03 s, index 3", beta, motion["K1.phi"][-1], 1e-7, source)


def in_space() -> Iterator[Row]:
    expected = table("A04_bricard.csv")
    motion = simulate(load("bricard"))
    found = np.array([motion[f"rod2.P3.{x}"] for x in "xyz"])
    given = np.array([expected[f"P3_{x}"] for x in "xyz"])
    source = "[iftomm], problem A04; two formulations integrated apart, default tolerances"
    yield curve("bricard", "place of P3 over 10 s", given, found, 1e-6, source)

    expected = table("spatial_slider_crank.csv")
    motion = simulate(load("spatial_slider_crank"), rtol=1e-11, step=float(expected["t"][1]))
    source = "equation in the crank angle, integrated apart"
    yield curve("spatial_slider_crank", "`slider.x` over 5 s", expected["slider_x"], motion["slider.x"], 1e-8, source)
    yield curve("spatial_slider_crank", "`crank.wx` over 5 s", expected["theta_dot"], motion["crank.wx"], 1e-6, source)

    expected = table("free_rigid_body.csv")
    motion = simulate(load("free_rigid_body"), **FINE)
    names = {"wx": "w1", "wy": "w2", "wz": "w3", "e0": "qw", "e1": "qx", "e2": "qy", "e3": "qz"}
    found = np.array([motion[f"body.{name}"] for name in names])
    given = np.array([expected[name] for name in names.values()])
    source = "integrated apart, good to 1e-10 of Jacobi's functions"
    yield curve("free_rigid_body", "attitude and angular velocity over 40 s", given, found, 1e-9, source)

    motion = simulate(load("numdyn3d_pendulum"), rtol=1e-11, atol=1e-11)
    J, decay = 0.834 + 10 * 0.25, 4.584 / (2 * (0.834 + 10 * 0.25))
    omega, start = sqrt(32.66 / J - decay**2), 2 * acos(0.97) - 1.57
    swing = np.cos(omega * motion.t) + decay / omega * np.sin(omega * motion.t)
    theta = 1.57 + start * np.exp(-decay * motion.t) * swing
    rate = -start * np.exp(-decay * motion.t) * (decay**2 / omega + omega) * np.sin(omega * motion.t)
    turn = (32.66 * (1.57 - theta) - 4.584 * rate) / J
    place = 0.5 * np.exp(1j * theta)
    source = "[pennestri2004, tables 1 to 5] read literally, a damped oscillation in closed form"
    for mark, what, z in (
        ("", "place of the mass centre over 3 s, figures 2 and 3", place),
        ("v", "its velocity, figures 4 and 5", 1j * rate * place),
        ("a", "its acceleration, figures 6 and 7", (1j * turn - rate**2) * place),
    ):
        found, given = np.array([motion[f"rod.{mark}{x}"] for x in "xy"]), np.array([z.real, z.imag])
        yield curve("numdyn3d_pendulum", what, given, found, 1e-8, source)
    how = {"formulation": "index-3", "integrator": "radau5", "coordinates": "euler"}
    for what, gap in (
        ("largest gap of a constraint, m", motion["error:position"].max()),
        ("the same by index 3 and RADAU5", simulate(load("numdyn3d_pendulum"), **how)["error:position"].max()),
    ):
        yield number(
            "numdyn3d_pendulum", what, "2.6e-17", float(gap), 2e-15, "[pennestri2004], the benchmark; below rounding"
        )
    motion = simulate(load("numdyn3d_pendulum_in_plane"), rtol=1e-11, atol=1e-11)
    found = np.unwrap(2 * np.arctan2(motion["rod.e3"], motion["rod.e0"]))[[1000, 2000, 3000]]
    source = "the same with the weight in the plane, one angle integrated apart"
    given = [-0.05105606, 0.12586082, 0.06145317]
    yield curve("numdyn3d_pendulum_in_plane", "angle at 1, 2 and 3 s", given, found, 1e-8, source)


def contacts() -> Iterator[Row]:
    rows = json.loads((DATA / "dap" / "dap_jc_rod_contacts.json").read_text())["rows"][:16]
    events = simulate(load("dap/rod_jc"), t_end=0.455, rtol=1e-11, atol=1e-11).events
    source = "[nikravesh2018], model Rod of DAP_JC, integrated apart with contacts as events"
    yield curve("dap/rod_jc", "begin and end of eight contacts", [row[0] for row in rows], events.t, 1e-9, source)
    given, found = [row[6:9] for row in rows], events.v_before
    yield curve("dap/rod_jc", "velocities there", given, found, 1e-6, source)

    model, g = load("stick_slip_belt"), 9.81
    omega, x_s, x_d, v = 5.0, 0.25 * 2 * g / 50, 0.15 * 2 * g / 50, 0.1
    slip, stick = 2 / omega * (pi - atan((x_s - x_d) * omega / v)), 2 * (x_s - x_d) / v
    given = np.cumsum([x_s / v, *([slip, stick] * 5), slip])
    found = simulate(model, t_end=10.0, rtol=1e-11, atol=1e-11).events.t
    yield curve("stick_slip_belt", "times of stick and slip over 10 s", given, found, 1e-9, "closed form")


def small_motions() -> Iterator[Row]:
    bicycle = prepare(load("whipple_bicycle"), "joint").linearize({"roll_rate": 0.0, "v": 5.0})
    source = "[meijaard2007], recomputed with 40 digits"
    castering, capsize, weave = -14.078389692798247, -0.32286642900408708, -0.77534188219584193 + 4.4648677137882251j
    given = np.sort_complex([castering, capsize, weave, np.conj(weave)])
    yield curve("whipple_bicycle", "eigenvalues at 5 m/s", given, np.sort_complex(bicycle.acting), 1e-11, source)
    speeds = [crossing.value for crossing in bicycle.over("v", np.arange(0.0, 10.5, 0.5)).crossings]
    for what, speed, found in zip(
        ("weave", "capsize"), ("4.29238253634110396", "6.02426201538835889"), speeds, strict=True
    ):
        yield number("whipple_bicycle", f"{what} speed", speed, found, 1e-11, source)
    for N, frequencies in ((2, [2.68011401225337528, 7.18867087028771367]), (8, EIGHT_RODS)):
        found = load(f"planar_chain:{N}")
        yield curve(f"planar_chain:{N}", "frequencies", frequencies, linearize(found).frequencies, 1e-11, "30 digits")
    found = [rest.q["crank.phi"] for rest in equilibria(load("four_bar")).rests]
    given = [-1.6071427799895014414, 1.7583397675971388557, -1.7583397675971388557, 1.6071427799895014414]
    yield curve("four_bar", "all rests", np.exp(1j * np.array(given)), np.exp(1j * np.array(found)), 1e-12, "30 digits")


EIGHT_RODS = [
    1.332132576016744, 3.101480836616246, 5.049044696355453, 7.280188081697364,
    9.918930261794017, 13.15750527679031, 17.25735187612, 22.76326209944109,
]  # fmt: skip
PUBLISHED = (
    small_motions,
    slider_crank,
    slider_crank_stated,
    pendulum_with_rod,
    sliding_pendulum,
    dap_models,
    squeezer,
    benchmark_library,
    eight_bodies,
    four_bars,
    redundant_linkage,
    in_space,
    contacts,
    stiff,
)


def published() -> Iterator[str]:
    """A table for every mechanism and source."""
    rows = [row for part in PUBLISHED for row in part()]
    for (mechanism, source), group in groupby(rows, key=lambda row: (row.mechanism, row.source)):
        yield from (f"`{mechanism}`: {source}", "")
        yield "| quantity | source has | linkwork has | deviation | allowed |"
        yield "| --- | ---: | ---: | ---: | ---: |"
        for r in group:
            yield f"| {r.quantity} | {r.given} | {r.found} | {r.deviation:.1e} | {r.allowed:.1e} |"
        yield ""


def shipped_numbers() -> Iterator[str]:
    yield "| mechanism | source has, linkwork has | deviation | allowed | source |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for r in map(checked, shipped()):
        what, numbers = f"`{r.mechanism}`<br>{r.quantity}", f"{r.given}<br>{r.found}"
        yield f"| {what} | {numbers} | {r.deviation:.1e} | {r.allowed:.1e} | {r.source} |"


INTRODUCTION = """# Verification

Every number below was computed while this page was built, by `docs/verification.py`; a deviation beyond what is allowed
ends the build. Where a source prints few digits, its rounding is what is allowed; elsewhere it is the error of the
reference and the tolerance of the integration.

## Published numbers and reference curves

Of a curve or a table, all values are compared and the largest deviation is shown, in SI units and radians unless it
says relative.
"""

NUMBERS = """
## One number of every shipped mechanism

Each file states it under `about.checked`. Closed forms, and equations of fewer coordinates, were computed apart from
linkwork.
"""


def page() -> str:
    return "\n".join([INTRODUCTION, *published(), NUMBERS, *shipped_numbers(), ""])


if __name__ == "__main__":
    print(page())
