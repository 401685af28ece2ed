"""Model folders of DAP: read without executing anything, and the published models against reference motions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dap_folders
import dap_of_our_own
import numpy as np
import pytest
from dap_folders import DATA, MODELS
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from slices import with_slow

from linkwork.cli import answer
from linkwork.document import parse
from linkwork.driven.kinematics import kinematics
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr, symbol
from linkwork.formats import read_folder
from linkwork.formats.mcode import Code
from linkwork.formats.mfile import parse as parse_m_file
from linkwork.model import Model
from linkwork.modelfile import build, load
from linkwork.simulation.simulate import simulate
from linkwork.trajectory import Trajectory

Array = NDArray[np.float64]
HEAD = "function {}\ninclude_global\n"
# The files of examples C.1 to C.3 of the manual in their syntax.
C1 = {
    "inBodies": """
B1 = Body_struct;
B1.m = 5.0; B1.J = 4.0;
B1.theta = 1.0;

B2 = Body_struct;
B2.m = 2.0; B2.J = 0.2;
B2.theta = pi/6;  % at rest, as in the table of results

Bodies = [B1; B2];
""",
    "inPoints": """
P1 = Point_struct; P1.Bindex = 0; P1.sPlocal = [0; 0.2];
P2 = Point_struct; P2.Bindex = 1; P2.sPlocal = [0; 0];
P3 = Point_struct; P3.Bindex = 2;
P3.sPlocal = [0 ...  half of the length
              0.5]';
Points = [P1; P2; P3];
""",
    "inUvectors": """
V1 = Unit_struct; V1.Bindex = 0; V1.ulocal = [1; 0];
V2 = Unit_struct; V2.Bindex = 1; V2.ulocal = [1; 0];
Uvectors = [V1; V2];
""",
    "inForces": """
F1 = Force_struct; F1.type = 'ptp'; F1.iPindex = 2; F1.jPindex = 1; F1.k = 20; F1.L0 = 0.6;
F2 = Force_struct; F2.type = 'weight';  % the default
Forces = [F1; F2];
""",
    "inConst": "nConst = 0;\n",
    "inAnimate": """
%{
the window and nothing else
%}
Points_anim = [];
xmin = -0.5; xmax = 2.0; ymin = -1.0; ymax = 0.5;
""",
    "ChainOpen": """
if check <= 2
    Coord_Tran(1, 1, 2, 2, theta(1));
    Coord_Rev(2, 3, theta(2));
end
if check == 2
    u1 = Uvectors(2).u;
    d22 = -Points(3).sP;
    z2 = [0; 0];
    Bmat = [u1 z2
            0 0
            u1 s_rot(d22)
            0 1];
elseif check == 3
    d22d = -Points(3).sP_d;
    Bd = [0
          0
          0
          s_rot(d22d)*theta_d(2)
          0];
end
end
""",
}
C2 = {
    "inBodies": """
B1 = Body_struct; B1.m = 1; B1.J = 0.1; B1.theta = 65*pi/180;
B2 = Body_struct; B2.m = 2; B2.J = 0.2; B2.theta = -0.6;
B3 = Body_struct; B3.m = 4; B3.J = 0.4; B3.theta = 0.4;
B3.shape = 'rect'; B3.W = 0.04; B3.H = 0.02; B3.color = 'b';
Bodies = [B1; B2; B3];
""",
    "inPoints": """
half = 0.12/2;
P1 = Point_struct; P1.Bindex = 0; P1.sPlocal = [0; 0];
P2 = Point_struct; P2.Bindex = 1; P2.sPlocal = [-half; 0];
P3 = Point_struct; P3.Bindex = 1; P3.sPlocal = [half; 0];
P4 = Point_struct; P4.Bindex = 2; P4.sPlocal = 0.13*[-1 0];
P5 = Point_struct; P5.Bindex = 2; P5.sPlocal = [0.13 -0.0];
P6 = Point_struct; P6.Bindex = 3;
Points = [P1; P2; P3; P4; P5; P6];
""",
    "inUvectors": """
U1 = Unit_struct; U1.Bindex = 0; U1.ulocal = [1; 0];
U2 = Unit_struct; U2.Bindex = 3; U2.ulocal = [1; 0];
Uvectors = [U1; U2];
""",
    "inForces": """
F1 = Force_struct; F1.type = 'ptp'; F1.iPindex = 1; F1.jPindex = 6; F1.k = 20; F1.L0 = 0.6;
F2 = Force_struct; F2.type = 'weight'; F2.gravity = 9.81; F2.wgt = [0; -1];
Forces = [F1; F2];
""",
    "inConst": "nConst = 2;\n",
    "ChainOpen": """
if check <= 2
    Coord_Rev(1, 2, theta(1));
    Coord_Rev(3, 4, theta(2));
    Coord_Tran(1, 1, 6, 2, theta(3));

    Update_P(5);
end
if check == 2
    d11 = -Points(2).sP; d21 = Bodies(2).r; d22 = -Points(4).sP;
    u3 = Uvectors(2).u; z2 = [0; 0];
    Bmat = [s_rot(d11)    z2          z2
            1            0            0
            s_rot(d21)   s_rot(d22)   z2
            1            1            0
            z2           z2           u3
            0            0            0];
end
end
""",
    "CutJoint": """
dcut1 = Points(5).rP;
dcut2 = Points(5).rP - Points(4).rP;
u3 = Uvectors(2).u;
C = [s_rot(dcut1) s_rot(dcut2) -u3];
if check == 1
    Phi = Points(5).rP - Points(6).rP;
elseif check == 2
    rhsV = [0 0]';
elseif check == 3
    dcut1d = Points(5).rP_d;
    rhsA = -s_rot(dcut1d*theta_d(1));
end
end
""",
}
C3 = {
    **C2,
    "inConst": "nConst = 3;\n",
    "CutJoint": """
C = [s_rot(dcut1) s_rot(dcut2) -u3
     1            0             0];
if check == 1
    Phi = [(Points(5).rP - Points(6).rP)
           (theta(1) - pi/3 - 2*pi*t)];
elseif check == 2
    rhsV = [0 0 2*pi]';
end
end
""",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        arguments = "(check, theta,\n  theta_d, t)" if name in ("ChainOpen", "CutJoint") else ""
        (folder / f"{name}.m").write_text(HEAD.format(name + arguments) + text)
    return folder


def state(model: Model) -> tuple[dict[str, float], dict[str, float]]:
    q = {
        f"{body.name}.{part}": x
        for body in model.bodies
        for part, x in zip(("x", "y", "phi"), body.start_q, strict=True)
    }
    v = {
        f"{body.name}.{part}": x
        for body in model.bodies
        for part, x in zip(("x", "y", "phi"), body.start_v, strict=True)
    }
    return q, v  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("files", "name"), [(C1, "sliding_pendulum_jc"), (C2, "slider_crank"), (C3, "slider_crank_driven")]
)
@pytest.mark.sampled
def test_examples_of_the_manual_move_as_the_shipped_models(files: dict[str, str], name: str, tmp_path: Path) -> None:
    """Joints come from ChainOpen and CutJoint. C.2 and C.3 cannot start as they say, but as corrected."""
    shipped, model = load(f"dap/{name}"), load(written(tmp_path / "model", files))
    q, v = state(shipped)
    names = dict(zip((body.name for body in shipped.bodies), (body.name for body in model.bodies), strict=True))
    q, v = ({f"{names[k.split('.')[0]]}.{k.split('.')[1]}": x for k, x in values.items()} for values in (q, v))
    if name == "sliding_pendulum_jc":
        given, _ = state(model)
        assert [*given.values()] == pytest.approx([*q.values()], abs=1e-12)
    analysis = kinematics if shipped.drivers else simulate
    motion, expected = analysis(model.with_start(q, v), t_end=2.0, step=0.02), analysis(shipped, t_end=2.0, step=0.02)
    np.testing.assert_allclose(motion.q, expected.q, rtol=0, atol=1e-8)
    np.testing.assert_allclose(motion.v, expected.v, rtol=0, atol=1e-7)


def test_example_c1_gives_the_table_of_the_manual(tmp_path: Path) -> None:
    """The arrays T and uT of table C.2, whose numbers are mostly cut, not rounded."""
    motion = simulate(load(written(tmp_path / "SP", C1)), t_end=4.0, step=0.02, coordinates="joint")
    found, rows = motion.dap_arrays(), [0, 1, 199, 200]
    printed = [[1.0, 0.52, 0.0, 0.0], [0.99, 0.52, -0.0, -0.13], [1.06, -0.01, -0.45, 1.32], [1.05, 0.02, -0.48, 1.37]]
    np.testing.assert_allclose(found["T"][rows], [0.0, 0.02, 3.98, 4.0], rtol=1e-14)
    np.testing.assert_allclose(found["uT"][rows], printed, rtol=0, atol=0.01)


def test_example_c3_has_the_multipliers_and_the_jacobian_of_the_manual(tmp_path: Path) -> None:
    """(9.34) by hand, without the spring: M theta_dd = h + C^T lam, the pin B cut as Phi = P5 - P6, and the driver."""
    forces = "F1 = Force_struct; F1.type = 'weight';\nForces = F1;\n"
    motion = simulate(load(written(tmp_path / "SCd", {**C3, "inForces": forces})), t_end=0.1, step=0.1)
    found = motion.dap_arrays()
    theta, theta_d = found["theta"][0], found["theta_d"][0]
    phi, rate = np.cumsum(theta[:2]), np.cumsum(theta_d[:2])  # of crank and rod
    along, across = (np.array([np.cos(phi), np.sin(phi)]), np.array([-np.sin(phi), np.cos(phi)]))
    C = np.array([[*(0.12 * across[:, 0] + 0.26 * across[:, 1])], [*(0.26 * across[:, 1])], [-1.0, 0.0]]).T
    np.testing.assert_allclose(found["Jac"][0], [*C, [1.0, 0.0, 0.0]], rtol=0, atol=1e-12)
    # B of the crank and the rod, whose mass centre is at 0.12 along the crank and 0.13 along the rod
    B = np.zeros((9, 3))
    B[:3, 0] = [*(0.06 * across[:, 0]), 1.0]
    B[3:6, 0] = [*(0.12 * across[:, 0] + 0.13 * across[:, 1]), 1.0]
    B[3:6, 1] = [*(0.13 * across[:, 1]), 1.0]
    B[6, 2] = 1.0
    B_dot_theta_d = np.zeros(9)
    B_dot_theta_d[:2] = -0.06 * rate[0] ** 2 * along[:, 0]
    B_dot_theta_d[3:5] = -0.12 * rate[0] ** 2 * along[:, 0] - 0.13 * rate[1] ** 2 * along[:, 1]
    M = np.diag([1.0, 1.0, 0.1, 2.0, 2.0, 0.2, 4.0, 4.0, 0.4])
    h = B.T @ (M @ np.array([0.0, -9.81, 0.0] * 3) - M @ B_dot_theta_d)
    rhs = [*(0.12 * rate[0] ** 2 * along[:, 0] + 0.26 * rate[1] ** 2 * along[:, 1]), 0.0]
    full = np.block([[B.T @ M @ B, -found["Jac"][0].T], [found["Jac"][0], np.zeros((3, 3))]])
    theta_dd, lam = np.split(np.linalg.solve(full, [*h, *rhs]), 2)
    np.testing.assert_allclose(found["theta_dd"][0], theta_dd, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["Lam"][0], lam, rtol=0, atol=1e-9)
    np.testing.assert_allclose(lam, [5.158, 18.243, 1.047], rtol=0, atol=5e-4)


def test_the_slider_crank_starts_where_the_program_puts_it(tmp_path: Path) -> None:
    """theta 1.134, -0.6, 0.4, which is longer than crank and rod together, becomes 0.679201, -0.973350, 0.342202."""
    folder = written(tmp_path / "SC", C2)
    model = load(folder)
    found = simulate(model, t_end=0.01).dap_arrays()["theta"][0]
    np.testing.assert_allclose(found, [0.679200858045, -0.973349617863, 0.342201809956], rtol=0, atol=1e-10)
    assert [note.code for note in model.notes] == ["start-of-dap"]
    assert load(folder, correct=False).bodies[0].angle == pytest.approx(np.radians(65.0), abs=1e-15)


def reference(name: str) -> dict[str, Array]:
    names, *rows = [x for x in (DATA / f"dap_{name}.csv").read_text().splitlines() if not x.startswith("#")]
    values = np.array([[float(x) for x in row.split(",")] for row in rows])
    return dict(zip(names.split(","), values.T, strict=True))


COMPARED = [name for name in MODELS if (DATA / f"dap_{name}.csv").exists()]
ACCURACY = {"jc_rod": 1e-6}  # of the reference after 90 contacts; that of the others is 1e-8


def times(expected: dict[str, Array]) -> dict[str, float]:
    return {"t_end": float(expected["t"][-1]), "step": float(expected["t"][1] - expected["t"][0])}


def test_joint_coordinates_and_rates_give_the_start_of_all_bodies(tmp_path: Path) -> None:
    """The triple pendulum as the reference starts; a block that slides on a turning arm, by differences."""
    expected = reference("jc_tp")
    q, v = state(load(dap_folders.write("jc_tp", tmp_path / "tp")))
    parts = [(part, k) for k in (1, 2, 3) for part in ("x", "y", "phi")]
    assert [*q.values()] == pytest.approx([expected[f"{part}{k}"][0] for part, k in parts], abs=1e-11)
    rates = {"x": "vx", "y": "vy", "phi": "omega"}
    assert [*v.values()] == pytest.approx([expected[f"{rates[part]}{k}"][0] for part, k in parts], abs=1e-11)
    files = {
        "inBodies": """
B1 = Body_struct; B1.theta = 0.4; B1.theta_d = 1.5;
B2 = Body_struct; B2.theta = 0.7; B2.theta_d = -0.3; B2.p0 = 0.2;
Bodies = [B1; B2];
""",
        "inPoints": """
P1 = Point_struct; P1.sPlocal = [0.1; 0.2];
P2 = Point_struct; P2.Bindex = 1; P2.sPlocal = [-1; 0.3];
P3 = Point_struct; P3.Bindex = 1; P3.sPlocal = [0.5; -0.2];
P4 = Point_struct; P4.Bindex = 2; P4.sPlocal = [0.3; 0.6];
Points = [P1; P2; P3; P4];
""",
        "inUvectors": """
U1 = Unit_struct; U1.Bindex = 1; U1.ulocal = [0.6; 0.8];
U2 = Unit_struct; U2.Bindex = 2; U2.ulocal = [cos(atan2(0.8, 0.6) - 0.2); sin(atan2(0.8, 0.6) - 0.2)];
Uvectors = [U1; U2];
""",
        "inForces": "F1 = Force_struct; F1.type = 'weight';\nForces = F1;\n",
        "ChainOpen": "Coord_Rev(1, 2, theta(1));\nCoord_Tran(3, 1, 4, 2, theta(2));\n",
    }
    model = load(written(tmp_path / "arm", files))

    def turned(phi: float, s: tuple[float, float]) -> Array:
        return np.array([[np.cos(phi), -np.sin(phi)], [np.sin(phi), np.cos(phi)]]) @ np.array(s)

    def place(t: float) -> Array:
        phi, slid = 0.4 + 1.5 * t, 0.7 - 0.3 * t
        r = np.array([0.1, 0.2]) - turned(phi, (-1.0, 0.3))
        own = r + turned(phi, (0.5, -0.2)) + slid * turned(phi, (0.6, 0.8)) - turned(phi + 0.2, (0.3, 0.6))
        return np.array([*r, phi, *own, phi + 0.2])

    q, v = state(model)
    assert [*q.values()] == pytest.approx(place(0.0), abs=1e-12)
    assert [*v.values()] == pytest.approx((place(1e-5) - place(-1e-5)) / 2e-5, abs=1e-9)


@pytest.mark.parametrize("style", dap_folders.STYLES[1:])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sampled
def test_all_ways_of_writing_give_the_same_model(name: str, style: str, tmp_path: Path) -> None:
    """Bodies(1).m = 5, and scripts without a function, beside variables and functions: all numbers agree."""
    usual, other = (read_folder(dap_folders.write(name, tmp_path / x / name, x)).document for x in ("variables", style))
    numbers = [json.dumps(list(_leaves(document.data)), sort_keys=True) for document in (usual, other)]
    assert numbers[0] == numbers[1]
    assert usual.unsettled == other.unsettled == ()


def _leaves(data: Any) -> Iterator[Any]:
    """All numbers of a model file, without the names that ways of writing give differently."""
    for value in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _leaves(value)
    if isinstance(data, int | float):
        yield data


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.sampled
def test_folders_of_the_published_models_follow_the_reference(name: str, tmp_path: Path) -> None:
    """Positions over 10 s to 1e-7, multipliers, which have the opposite sign here, to 1e-5."""
    expected = reference(name)
    model = load(dap_folders.write(name, tmp_path / name))
    motion = simulate(model, **times(expected), rtol=1e-11, atol=1e-11, coordinates="body")
    for k, body in enumerate(model.bodies, 1):
        for part in ("x", "y", "phi"):
            if f"{part}{k}" in expected:
                found = motion[f"{body.name}.{part}"]
                np.testing.assert_allclose(found, expected[f"{part}{k}"], rtol=0, atol=ACCURACY.get(name, 1e-7))
    rows = [column for column in expected if column.startswith("lam_")]
    lam = dict(zip(motion.rows, motion.lam.T, strict=True))
    published = {joint["name"]: joint for joint in dap_folders.data(name).get("joints") or ()}
    for column in rows:
        _, joint, row = column.split("_")
        kind = published[joint]["type"]
        own = [values for label, values in lam.items() if label.split(".")[0] == joint][int(row) - 1]
        factor = -1.0
        if kind == "rev-tran":
            factor = -1.0 / np.hypot(*dap_folders.data(name)["vectors"][published[joint]["vector_i"] - 1]["local"])
        size = max(np.max(np.abs(expected[f"lam_{joint}_{n}"])) for n in (1, 2) if f"lam_{joint}_{n}" in expected)
        np.testing.assert_allclose(factor * own, expected[column], rtol=0, atol=1e-5 * max(size, 1.0), err_msg=column)


QUICK = ("bc_cart_b", "jc_mpa", "jc_sc", "bc_cart_d", "bc_rod", "jc_scd")


@pytest.mark.parametrize("name", with_slow(COMPARED, QUICK))
def test_joint_coordinates_of_the_published_models_follow_the_reference(name: str, tmp_path: Path) -> None:
    """The same motions in joint coordinates; theta is that of DAP_JC, relative from joint to joint."""
    expected = reference(name)
    model = load(dap_folders.write(name, tmp_path / name))
    motion = simulate(model, **times(expected), rtol=1e-11, atol=1e-11, coordinates="joint")
    for k, body in enumerate(model.bodies, 1):
        for part in ("x", "y", "phi"):
            if f"{part}{k}" in expected:
                found = motion[f"{body.name}.{part}"]
                np.testing.assert_allclose(found, expected[f"{part}{k}"], rtol=0, atol=ACCURACY.get(name, 1e-7))
    arrays = motion.dap_arrays()
    for k in range(3):
        # The data of this cart count the angle of body 2 from the ground.
        if f"theta{k + 1}" in expected and (name, k) != ("jc_cart_c", 1):
            np.testing.assert_allclose(arrays["theta"][:, k], expected[f"theta{k + 1}"], rtol=0, atol=1e-7)
            np.testing.assert_allclose(arrays["theta_d"][:, k], expected[f"thetadot{k + 1}"], rtol=0, atol=1e-6)
    assert arrays["Jac"].shape == (len(motion.t), len(motion.rows), arrays["theta"].shape[1])


SHIPPED = {
    **{"bc_aa": "double_a_arm", "bc_cart_a": "cart_a", "bc_cart_b": "cart_b", "bc_cart_c": "cart_c"},
    **{"bc_cart_d": "cart_d", "bc_cb": "conveyor_belt", "bc_mp_a": "macpherson_a", "bc_mp_b": "macpherson_b"},
    **{"bc_mp_c": "macpherson_c", "bc_rod": "rod", "bc_sp": "sliding_pendulum", "jc_aa": "double_a_arm_jc"},
    **{"jc_cart_c": "cart_c_jc", "jc_mpa": "macpherson_a_jc", "jc_mpb": "macpherson_b_jc", "jc_rod": "rod_jc"},
    **{"jc_rod2": "two_rods", "jc_sc": "slider_crank", "jc_scd": "slider_crank_driven"},
    **{"jc_sp": "sliding_pendulum_jc", "jc_tp": "triple_pendulum"},
}


@pytest.mark.parametrize("name", with_slow(MODELS, QUICK))
@pytest.mark.sampled
def test_folders_run_like_the_shipped_models(name: str, tmp_path: Path) -> None:
    """All bodies over the whole span, each from its own start, in the coordinates of the program; some contacts."""
    model, shipped = load(dap_folders.write(name, tmp_path / name)), load(f"dap/{SHIPPED[name]}")
    assert model.simulation.coordinates == shipped.simulation.coordinates == ("joint" if name[:2] == "jc" else "body")
    t_end = 3.0 if "rod" in name else shipped.simulation.t_end
    how: Any = {"t_end": t_end, "step": shipped.simulation.step, "rtol": 1e-11, "atol": 1e-11}
    motion, expected = (simulate(x, **how) for x in (model, shipped))
    np.testing.assert_allclose(motion.q, expected.q, rtol=0, atol=1e-6 if name == "jc_rod2" else 1e-8)


@pytest.mark.parametrize("name", ["bc_mp_b", "bc_cart_b", "jc_tp"])
def test_a_converted_file_is_the_model_of_the_folder(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, file = dap_folders.write(name, tmp_path / name), tmp_path / "model.yaml"
    assert answer(["convert", str(folder), "-o", str(file)]) == 0
    assert capsys.readouterr().out.split()[-2:] == ["written", str(file)]
    assert parse(file.read_text()).data == read_folder(folder)[0].data
    assert simulate(load(file), t_end=0.5).q == pytest.approx(simulate(load(folder), t_end=0.5).q, abs=1e-14)


@pytest.mark.parametrize("coordinates", ["body", "joint"])
def test_contacts_of_the_shipped_rod_begin_and_end_when_the_reference_says(coordinates: str) -> None:
    """Every begin and end in the list, to 1e-6 s, in their order and at their ends of the rod."""
    rows = json.loads((DATA / "dap_jc_rod_contacts.json").read_text())["rows"]
    motion = simulate(load("dap/rod_jc"), t_end=rows[-1][0] + 1e-3, rtol=1e-11, atol=1e-11, coordinates=coordinates)
    assert list(motion.events.names[: len(rows)]) == [f"contact{point:g}.{what}" for _, point, what, *_ in rows]
    np.testing.assert_allclose(motion.events.t[: len(rows)], [row[0] for row in rows], rtol=0, atol=1e-6)


def test_the_shipped_rod_comes_to_rest_on_both_ends_and_is_then_followed_in_long_steps() -> None:
    """Each end holds half the weight, K delta^(3/2) = m g/2; periods of the contact at rest are 60 microseconds."""
    motion = simulate(load("dap/rod"), t_end=6.0)
    assert motion["rod.y"][-1] == pytest.approx(-((9.81 / 2 / 1e11) ** (2 / 3)), rel=1e-6)
    assert motion["rod.phi"][-1] == pytest.approx(2.5 * np.pi, abs=1e-12)
    assert motion.info.steps < 20_000  # 70,000 with an explicit method


# What cannot be read is refused with file and line.

REFUSED = [
    ("inBodies", "B1.m = 5.0;", "B1.m = 5.0.1;", "not-a-number"),
    ("inBodies", "B1.m = 5.0;", "B1.m = 5,0;", "m-file-code"),
    ("inBodies", "B1.m = 5.0;", "B1.m = '5.0';", "not-a-number"),
    ("inBodies", "B1.m = 5.0;", "B1.m = five;", "not-a-number"),
    ("inBodies", "B1.m = 5.0;", "B1.m = 1/0;", "not-a-number"),
    ("inBodies", "B1.m = 5.0;", "B1.m = 1e999;", "not-finite"),
    ("inBodies", "B1.m = 5.0;", "B1.m = 9^9^9^9;", "not-a-number"),
    ("inBodies", "B1.m = 5.0;", "B1.mass = 5.0;", "unknown-key"),
    ("inBodies", "B1.m = 5.0;", "B1.m = [5 6];", "not-a-number"),
    ("inBodies", "B1.m = 5.0;", f"B1.m = {'(' * 2000}5.0{')' * 2000};", "too-deep"),
    ("inBodies", "B1.m = 5.0;", f"B1.m = 5.0{' + 1' * 2000};", "too-deep"),
    ("inBodies", "B1.m = 5.0;", f"B1.m = {'-' * 5000}5.0;", "too-deep"),
    ("inBodies", "B1.m = 5.0;", "system('touch executed');", "m-file-code"),
    ("inBodies", "B1.m = 5.0;", "B1.m = eval('5.0');", "m-file-code"),
    ("inBodies", "B1.m = 5.0;", "!touch executed", "m-file-syntax"),
    ("inBodies", "B1.m = 5.0;", "for k = 1:3, B1.m = k; end", "m-file-code"),
    ("inBodies", "B1.m = 5.0;", "while 1", "m-file-code"),
    ("inBodies", "B1.m = 5.0;", "if 1, B1.m = 5.0; end", "m-file-code"),
    ("inBodies", "B1.m = 5.0;", "B1.m = -5.0;", "negative-mass"),
    ("inBodies", "B1.m = 5.0;", "B1.m(2) = 5.0;", "m-file-syntax"),
    ("inBodies", "Bodies = [B1; B2];", "Bodies = [B1; B2", "m-file-syntax"),
    ("inBodies", "Bodies = [B1; B2];", "Bodies = [B1; B3];", "not-a-number"),
    ("inPoints", "P2.Bindex = 1;", "P2.Bindex = 3;", "no-such-index"),
    ("inPoints", "P1.sPlocal = [0; 0.2];", "P1.sPlocal = [0; 0.2; 0];", "wrong-shape"),
    ("inForces", "F1.type = 'ptp';", "F1.type = 'ptq';", "unknown-type"),
    ("inForces", "F1.iPindex = 2;", "F1.iPindex = 2.5;", "no-such-index"),
    ("ChainOpen", "    Coord_Rev(2, 3, theta(2));", "    Coord_Rev(P, 3, theta(2));", "not-a-number"),
    ("ChainOpen", "    Coord_Rev(2, 3, theta(2));", "    x = eval('1');", "m-file-code"),
    ("ChainOpen", "    Coord_Rev(2, 3, theta(2));", "    for k = 1:2", "m-file-code"),
]


@pytest.mark.parametrize(
    ("file", "right", "wrong", "code"), REFUSED, ids=[f"{x[0]}-{x[3]}-{n}" for n, x in enumerate(REFUSED)]
)
def test_what_is_not_data_is_refused_with_file_and_line(
    file: str, right: str, wrong: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert right in C1[file]
    text = C1[file].replace(right, wrong)
    folder = written(tmp_path / "model", {**C1, file: text})
    with pytest.raises(ModelError) as caught:
        load(folder)
    found = caught.value.errors[0]
    assert found.code == code
    assert found.file == str(folder / f"{file}.m")
    assert found.line == (HEAD + text)[: (HEAD + text).index(wrong)].count("\n") + 1 + (file == "ChainOpen")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("missing", ["inBodies", "inPoints", "inForces", "ChainOpen"])
def test_a_missing_file_is_named(missing: str, tmp_path: Path) -> None:
    folder = written(tmp_path / "model", {name: text for name, text in C1.items() if name != missing})
    with pytest.raises(ModelError, match=r"inBodies|inPoints|inForces|inJoints") as caught:
        load(folder)
    assert caught.value.file == str(folder)


def test_files_that_differ_only_in_capital_letters_are_refused(tmp_path: Path) -> None:
    """Which of the two would be read depends on the computer."""
    folder = written(tmp_path / "model", C1)
    (folder / "INBODIES.m").write_text((folder / "inBodies.m").read_text())
    if len([*folder.glob("*.m")]) == len(C1):
        pytest.skip("this file system does not tell them apart")
    with pytest.raises(ModelError, match=r"INBODIES\.m and inBodies\.m differ only in capital .*\[ambiguous-m-file\]"):
        load(folder)


def test_links_that_lead_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    folder = written(tmp_path / "model", C1)
    (folder / "inPoints.m").rename(tmp_path / "elsewhere.m")
    (folder / "inPoints.m").symlink_to(tmp_path / "elsewhere.m")
    with pytest.raises(ModelError, match=r"inPoints\.m: is a link to elsewhere, which is not followed \[linked-file\]"):
        load(folder)


def test_what_cannot_be_translated_stands_in_the_model_until_it_is_settled(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`convert` writes the rest, `run` refuses folder and file; user_force.yaml, or a deleted line, settles it."""
    folder, file = dap_folders.write("bc_aa", tmp_path / "AA"), tmp_path / "model.yaml"
    law = (folder / "user_force.m").read_text()
    (folder / "user_force.m").write_text(law + "Bodies(1).f = Bodies(1).f + interp1(x, y, t);\n")
    line = law.count("\n") + 1
    assert answer(["convert", str(folder), "-o", str(file), "--json"]) == 0
    (missing,) = json.loads(capsys.readouterr().out)["not_taken_over"]
    assert re.search(rf"user_force\.m:{line}: .*'interp1' is code.*user_force\.yaml", missing)
    for source, place in ((folder, rf"user_force\.m:{line}"), (file, r"model\.yaml:\d+: unsettled\[0\]")):
        assert answer(["run", str(source), "--t-end", "0.1"]) == 3
        assert re.search(place, capsys.readouterr().err)
    text = file.read_text()
    file.write_text(text[: text.index("unsettled:")])
    assert [force.name for force in load(file).forces] == ["S1", "user_B2"]
    tyre = {"type": "point-force", "at": "B2.centre", "force": [0, "if(B2.y < 0.35, -5e4*(B2.y - 0.35), 0)"]}
    (folder / "user_force.yaml").write_text(json.dumps({"forces": {"tyre": tyre}}))
    assert {force.name for force in load(folder).forces} == {"S1", "tyre"}


def test_formulas_that_are_not_needed_may_be_anything(tmp_path: Path) -> None:
    """Cells and handles in the B matrix of ChainOpen change nothing; a loop in user_force is named with its line."""
    more = C1["ChainOpen"].replace("z2 = [0; 0];", "z2 = zeros(2, 1); w = Points(3).sP(1:2); f = @(x) x{1} ~= 2;")
    user = HEAD.format("user_force") + "for k = 1:nB\n  Bodies(k).f(1:2) = {3};\nend\n"
    forces = C1["inForces"].replace(
        "Forces = [F1; F2];", "F3 = Force_struct; F3.type = 'user'; F3.own = 3; Forces = [F1; F2; F3];"
    )
    folder = written(tmp_path / "model", {**C1, "ChainOpen": more, "inForces": forces})
    (folder / "user_force.m").write_text(user)
    document = read_folder(folder).document
    (left_out,) = document.unsettled
    assert (left_out.line, left_out.code) == (3, "m-file-code")
    assert document.data["joints"] == read_folder(written(tmp_path / "plain", C1)).document.data["joints"]


def test_statements_behind_the_function_of_a_force_are_named(tmp_path: Path) -> None:
    """MATLAB and Octave carry them out neither: whoever wrote them meant something that is not in the model."""
    folder = dap_folders.write("bc_aa", tmp_path / "AA")
    law = (folder / "user_force.m").read_text()
    (folder / "user_force.m").write_text(law + "end\nBodies(1).m = 7;\n")
    (left_out,) = read_folder(folder).document.unsettled
    assert (left_out.code, left_out.line) == ("m-file-code", law.count("\n") + 1)


def test_cuts_that_are_not_understood_are_reported(tmp_path: Path) -> None:
    """Another constraint than those of joints and drivers stands in the model file with its row."""
    other = C2["CutJoint"].replace("Points(5).rP - Points(6).rP;\nelseif", "[norm(Points(5).rP); 1];\nelseif")
    first, second = read_folder(written(tmp_path / "model", {**C2, "CutJoint": other})).document.unsettled
    assert (first.code, second.code) == ("cut-joint", "cut-joint")
    assert "row 2 of Phi" in str(second)
    assert first.line == (HEAD + other)[: (HEAD + other).index("Phi =")].count("\n") + 2  # its head takes two lines


def test_all_joint_and_force_types_become_the_same_elements(tmp_path: Path) -> None:
    """Kinds that the published models do not use: rigid, fixed pins, offsets, driven lengths, torques, local forces."""
    files = {
        "inBodies": """
B1 = Body_struct; B1.r = [1; 2]; B1.p = pi/2; B1.r_d = [0.5 0]; B1.p_d = 0.1;
B2 = Body_struct; B2.r = [3 2];
Bodies = [B1; B2];
""",
        "inPoints": """
P1 = Point_struct; P1.Bindex = 1; P1.sPlocal = [1; 0];
P2 = Point_struct; P2.Bindex = 2; P2.sPlocal = [0; 1];
P3 = Point_struct; P3.sPlocal = [1; 3];
Points = [P1; P2; P3];
""",
        "inUvectors": "U1 = Unit_struct; U1.Bindex = 1; U1.ulocal = [0; 2];\nUvectors = U1;\n",
        "inFuncts": """
F1 = Funct_struct; F1.type = 'b'; F1.f_start = 1; F1.f_end = 2; F1.t_end = 3;
Functs = F1;
""",
        "inJoints": """
J1 = Joint_struct; J1.type = 'rigid'; J1.iBindex = 2; J1.jBindex = 1;
J2 = Joint_struct; J2.iPindex = 1; J2.jPindex = 3; J2.fix = 1;
J3 = Joint_struct; J3.type = 'rev-tran'; J3.iPindex = 1; J3.jPindex = 2; J3.iUindex = 1; J3.L = 0.5;
J4 = Joint_struct; J4.type = 'rel-tran'; J4.iPindex = 1; J4.jPindex = 2; J4.iFunct = 1;
Joints = [J1; J2; J3; J4];
""",
        "inForces": """
F1 = Force_struct; F1.type = 'rot-sda'; F1.iBindex = 1; F1.jBindex = 2; F1.k = 3; F1.theta0 = 0.2; F1.T_a = 4;
F2 = Force_struct; F2.type = 'flocal'; F2.iBindex = 1; F2.flocal = [1; 2];
F3 = Force_struct; F3.type = 'T'; F3.iBindex = 2; F3.T = 7;
Forces = [F1, F2, F3];
""",
    }
    document = read_folder(written(tmp_path / "model", files), correct=False).document
    data: Any = document.data
    assert document.unsettled == ()
    assert data["bodies"]["B1"]["velocity"] == [0.5, 0.0]
    # B2 is 2 m in front of B1, which looks along y: at (0, -2) in its axes.
    held = data["bodies"]["B1"]["points"]["J1_rigid"]
    assert held == pytest.approx([0.0, -2.0])
    assert data["joints"]["J1"] == {"type": "rigid", "i": "B1.J1_rigid", "j": "B2.centre"}
    assert data["joints"]["J2"] == {"type": "rigid", "i": "ground.P3", "j": "B1.P1"}
    # perp(u) = (-2, 0), so that perp(u) . d = 0.5 where P2 is 0.25 along +x of B1's axes from P1
    assert data["bodies"]["B1"]["points"]["J3_line"] == pytest.approx([1.25, 0.0])
    motion = {"type": "smooth-step", "start": 1.0, "end": 2.0, "t_start": 0.0, "t_end": 3.0}
    assert data["drivers"]["J4"] == {"i": "B2.P2", "j": "B1.P1", "freedom": "distance", "motion": motion}
    spring = {
        "type": "rotational-spring-damper",
        "i": "B2",
        "j": "B1",
        "stiffness": 3.0,
        "free_angle": 0.2,
        "actuator": 4.0,
    }
    assert data["forces"]["F1"] == spring
    assert data["forces"]["F2"] == {"type": "point-force", "at": "B1.centre", "force": [1.0, 2.0], "follows": True}
    assert data["forces"]["F3"] == {"type": "torque", "on": "B2", "torque": 7.0}
    with pytest.raises(ModelError):  # it is overconstrained nonsense, but its faults are found by the model
        simulate(build(document), t_end=0.1)


LAWS = [
    ("- 0.3 - (2*t)^2", lambda t: 0.3 + (2 * t) ** 2),
    ("- 0.3 - (t/2)^2", lambda t: 0.3 + (t / 2) ** 2),
    ("+ (0.3 - 2*t)", lambda t: -(0.3 - 2 * t)),
    ("- 2^t^2 + 3 - (1 - (2 - t))/(2*(t + 1))", lambda t: (2**t) ** 2 - 3 + (1 - (2 - t)) / (2 * (t + 1))),
    ("+ 8/(2/(t + 1)) - sin(-t^2)*-2", lambda t: -8 / (2 / (t + 1)) - 2 * np.sin(-(t**2))),
]


@pytest.mark.parametrize(("law", "expected"), LAWS, ids=[law for law, _ in LAWS])
def test_driver_laws_of_cut_joints_keep_their_brackets(law: str, expected: Any, tmp_path: Path) -> None:
    """theta(1) - f(t) = 0 with the precedence of MATLAB, where 2^t^2 is (2^t)^2."""
    cut = C3["CutJoint"].replace("- pi/3 - 2*pi*t", law)
    assert cut != C3["CutJoint"]
    (driver,) = build(read_folder(written(tmp_path / "model", {**C3, "CutJoint": cut})).document).drivers
    t = symbol("t")
    for time in (0.7, 1.3):
        (found,) = evaluate([as_expr(driver.motion.f(t))], {t: time})
        assert found == pytest.approx(expected(time), rel=1e-14)


def test_points_of_one_body_do_not_replace_each_other(tmp_path: Path) -> None:
    """An animated point with the name of another, and points of the user with the names of those that are added."""
    files = {
        "inBodies": "B1 = Body_struct; B1.r = [0.1; 1]; B2 = Body_struct;\nBodies = [B1; B2];\n",
        "inPoints": """
O = Point_struct; O.sPlocal = [0; 0.03];
A = Point_struct; A.Bindex = 2; A.sPlocal = [-0.5; 0];
centre = Point_struct; centre.Bindex = 1; centre.sPlocal = [0.5; 0];
Points = [O; A; centre];
""",
        "inAnimate": "A = Point_struct; A.Bindex = 2; A.sPlocal = [0.5; 0];\nPoints_anim = [A];\n",
        "inForces": "F1 = Force_struct; F1.type = 'f'; F1.iBindex = 1; F1.f = [0; -10];\nForces = [F1];\n",
        "inJoints": """
J1 = Joint_struct; J1.type = 'disc'; J1.iBindex = 1; J1.x0 = 0.1;
J2 = Joint_struct; J2.iPindex = 1; J2.jPindex = 2;
Joints = [J1; J2];
""",
    }
    model = build(read_folder(written(tmp_path / "model", files)).document)
    disc, pin = model.joints
    assert (disc.s_i, disc.s_j) == ((0.0, 0.0), (0.0, 0.0))
    assert (pin.s_i, pin.s_j) == ((-0.5, 0.0), (0.0, 0.03))
    assert model.forces[0].s == (0.0, 0.0)
    assert sorted(model.bodies[1].points.values()) == [(-0.5, 0.0), (0.5, 0.0)]


def test_forces_that_would_be_lost_are_reported(tmp_path: Path) -> None:
    """A function of a force; user_force.yaml that no force asks for, or that names a force of inForces again."""
    weight = "F2 = Force_struct; F2.type = 'weight';"
    push = "F2 = Force_struct; F2.type = 'T'; F2.iBindex = 1; F2.T = 0;"
    user = " U = Force_struct; U.type = 'user'; Forces = [F1; F2; U];"

    def folder(name: str, second: str, forces: str = "Forces = [F1; F2];") -> Path:
        text = C1["inForces"].replace(weight, second).replace("Forces = [F1; F2];", forces)
        return written(tmp_path / name, {**C1, "inForces": text})

    (left_out,) = read_folder(folder("function", push.replace("'T';", "'T'; F2.iFunct = 1;"))).document.unsettled
    assert (left_out.code, left_out.line) == ("force-function", 5)
    still = folder("still", push)
    assert [force.name for force in load(still).forces] == ["F1", "F2"]
    (still / "user_force.yaml").write_text("forces:\n  F2: {type: torque, on: B1, torque: 3}\n")
    with pytest.raises(ModelError, match=r"user_force\.yaml: these forces do not act"):
        load(still)
    named = folder("named", push, user)
    (named / "user_force.yaml").write_text("forces:\n  F2: {type: torque, on: B1, torque: 3}\n")
    with pytest.raises(ModelError, match=r"user_force\.yaml:2: forces\.F2: .*\[duplicate-name\]"):
        load(named)


@pytest.mark.parametrize("points", [(1, 1), (2, 2)])
def test_a_folder_whose_model_is_wrong_is_not_converted(
    points: tuple[int, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A joint of the ground with itself, and of a body whose place it should give."""
    joint = "J1 = Joint_struct; J1.iPindex = {}; J1.jPindex = {};\nJoints = [J1];\n".format(*points)
    files = {name: text for name, text in C1.items() if name != "ChainOpen"}
    folder, file = written(tmp_path / "model", {**files, "inJoints": joint}), tmp_path / "model.yaml"
    assert answer(["convert", str(folder), "-o", str(file)]) == 3
    assert "inJoints.m:3" in (error := capsys.readouterr().err)
    assert "[same-body]" in error
    assert not file.exists()


def test_shapes_are_taken_over_where_they_are_the_body(tmp_path: Path) -> None:
    """Wheels and boxes; not the small circle that marks the mass centre of a pendulum."""
    cart: Any = read_folder(dap_folders.write("bc_cart_a", tmp_path / "cart")).document.data
    assert cart["bodies"]["B1"]["shape"] == {"type": "box", "size": [0.9, 0.2]}
    assert cart["bodies"]["B2"]["shape"] == {"type": "disc", "radius": 0.1}
    pendulum: Any = read_folder(dap_folders.write("jc_tp", tmp_path / "pendulum")).document.data
    assert all("shape" not in body for body in pendulum["bodies"].values())


def test_numbers_of_m_files_are_those_of_matlab() -> None:
    """Precedence, blanks in arrays, transposition, quotes, continuation; arrays keep copies of structures."""
    text = """
a = -2^2; b = 2^-1; c = 2*-3; d = 1e-3 + 1.5D2; e = [1 -2]; f = [1 - 2]; g = [1 -2 + 3]; h = [1, 2; ...
 3 4]'; k = 'it''s'; l = "two"; m = 6/2*3; n = .5; o = (1 + 2)*[1 2]; p = sqrt(2)^2; q = [e f]; r = 2.^3; s = [5 0...
 7.5... seven and a half
 1.];
u = [1 2; 3 4].'; B.m = 2; Bodies = [B]; B.m = 99;
"""
    code = Code("x.m", {}, strict=True)
    code.follow(parse_m_file(text, "x.m")[0].body)
    found: Any = {
        name: x if isinstance(x, str | tuple) else (x.ravel().tolist() if x.size > 1 else x.item())  # type: ignore[union-attr]
        for name, x in code.names.items()
        if name != "B"
    }
    numbers = {"a": -4.0, "b": 0.5, "c": -6.0, "d": 150.001, "m": 9.0, "n": 0.5, "p": 2.0, "r": 8.0, "f": -1.0}
    assert {name: found[name] for name in numbers} == pytest.approx(numbers)
    arrays = {
        "e": [1, -2],
        "g": [1, 1],
        "h": [1, 3, 2, 4],
        "u": [1, 3, 2, 4],
        "o": [3, 6],
        "q": [1, -2, -1],
        "s": [5, 0, 7.5, 1],
    }
    assert {name: found[name] for name in arrays} == arrays
    assert (found["k"], found["l"]) == ("it's", "two")
    assert found["Bodies"][0].fields["m"].item() == 2.0


# The arrays of the post-processor.


def test_arrays_of_the_post_processor_satisfy_the_equations_of_dap() -> None:
    """Table C.3: shapes, and M theta_dd = h + Jac^T Lam, Jac theta_d = 0 with forces written by hand."""
    motion = simulate(load("dap/sliding_pendulum"), t_end=1.0, step=0.1)
    found = motion.dap_arrays()
    shapes = {
        "T": (11,),
        "uT": (11, 12),
        "theta": (11, 6),
        "theta_d": (11, 6),
        "theta_dd": (11, 6),
        "Jac": (11, 4, 6),
        "Lam": (11, 4),
    }
    shapes |= {"r": (11, 2, 2), "rd": (11, 2, 2), "rdd": (11, 2, 2), "p": (11, 2), "pd": (11, 2), "pdd": (11, 2)}
    assert {key: x.shape for key, x in found.items()} == {**shapes, "rP": (11, 3, 2), "rPd": (11, 3, 2), "eng": (11, 3)}
    M = np.diag([5.0, 5.0, 4.0, 2.0, 2.0, 0.2])
    for k in range(11):
        spring = -20.0 * (found["r"][k, 0, 0] - 0.6)
        h = np.array([spring, -5.0 * 9.81, 0.0, 0.0, -2.0 * 9.81, 0.0])
        np.testing.assert_allclose(M @ found["theta_dd"][k], h + found["Jac"][k].T @ found["Lam"][k], rtol=0, atol=1e-9)
        np.testing.assert_allclose(found["Jac"][k] @ found["theta_d"][k], 0.0, rtol=0, atol=1e-12)
    end = found["r"][:, 1] + 0.5 * np.column_stack([-np.sin(found["p"][:, 1]), np.cos(found["p"][:, 1])])
    np.testing.assert_allclose(found["rP"][:, 2], end, rtol=0, atol=1e-14)
    np.testing.assert_allclose(found["rPd"][:, 2], found["rd"][:, 0], rtol=0, atol=1e-12)  # the pin is on the slider
    np.testing.assert_allclose(found["rP"][:, 0], [[0.0, 0.2]] * 11, rtol=0, atol=0)  # P1, which is on the ground
    assert np.ptp(found["eng"][:, 2]) < 1e-7


def test_a_mat_file_holds_the_arrays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from scipy.io import loadmat

    file = tmp_path / "results.mat"
    assert answer(["run", "dap/slider_crank", "--t-end", "0.5", "--step", "0.1", "-o", str(file)]) == 0
    capsys.readouterr()
    stored, expected = loadmat(file), simulate(load("dap/slider_crank"), t_end=0.5, step=0.1).dap_arrays()
    for key, values in expected.items():
        np.testing.assert_allclose(stored[key].reshape(values.shape), values, rtol=0, atol=1e-12)
    assert stored["T"].shape == (6, 1)  # a column, as ode45 returns it
    assert [str(name[0]) for name in stored["bodies"][0]] == ["crank", "rod", "slider"]
    assert [str(name[0]) for name in stored["points"][0]][:2] == ["ground.P1", "crank.P2"]
    assert stored["rows"][0][0][0] == "B.x"


def test_points_and_rows_stand_as_in_the_folder(tmp_path: Path) -> None:
    """MPA: points of the ground last, Phi with the angle of the slide before its place, differentiated by hand."""
    folder = dap_folders.write("jc_mpa", tmp_path / "MPA")
    motion = simulate(load(folder), t_end=0.02, step=0.01)
    points = {x["name"]: (x["body"], np.array(x["local"])) for x in dap_folders.data("jc_mpa")["points"]}
    arrays = motion.dap_arrays()

    def turn(angle: float) -> Array:
        return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    for k, (body, s) in enumerate(points.values()):
        r, p = (arrays["r"][-1, body - 1], arrays["p"][-1, body - 1]) if body else (np.zeros(2), 0.0)
        np.testing.assert_allclose(arrays["rP"][-1, k], r + turn(p) @ s, rtol=0, atol=1e-12)

    def Phi(theta: Array) -> Array:
        local = {name: s for name, (_, s) in points.items()}
        phi = theta[0], theta[0] + theta[1], theta[2]
        A = local["Q0"] - turn(phi[0]) @ (local["Q1"] - local["A1"])
        B = A + turn(phi[1]) @ (local["B2"] - local["A2"])
        u1, u2 = turn(phi[1]) @ [0.47, -0.88] / np.hypot(0.47, 0.88), turn(phi[2]) @ [1.0, 0.0]
        n = np.array([-u2[1], u2[0]])
        return np.array([n @ u1, n @ (B - local["O0"])])

    theta, h = arrays["theta"][-1], 1e-6
    by_hand = np.column_stack([(Phi(theta + h * e) - Phi(theta - h * e)) / (2 * h) for e in np.eye(3)])
    np.testing.assert_allclose(arrays["Jac"][-1], by_hand, rtol=0, atol=1e-8)
    shipped = simulate(load("dap/macpherson_a_jc"), t_end=0.02, step=0.01).dap_arrays()
    assert shipped["rP"].shape == arrays["rP"].shape
    np.testing.assert_allclose(shipped["rP"][0], arrays["rP"][0], rtol=0, atol=2e-4)
    # the driver before the pin: Lam and Jac of C.3 by the rows of this Phi
    cut = C3["CutJoint"].replace("[(Points(5).rP - Points(6).rP)\n           (theta(1) - pi/3 - 2*pi*t)]",
                                 "[(theta(1) - pi/3 - 2*pi*t)\n           (Points(5).rP - Points(6).rP)]")  # fmt: skip
    assert cut != C3["CutJoint"]
    ways = [
        simulate(load(written(tmp_path / f"c{k}", {**C3, "CutJoint": text})), t_end=0.01).dap_arrays()
        for k, text in enumerate((cut, C3["CutJoint"]))
    ]
    np.testing.assert_allclose(ways[0]["Lam"], ways[1]["Lam"][:, [2, 0, 1]], rtol=1e-9)
    np.testing.assert_allclose(ways[0]["Jac"], ways[1]["Jac"][:, [2, 0, 1]], rtol=0, atol=1e-12)


OF_TRAY = {
    "disc": ("Bodies(1).r(2) - R", lambda x: x["r1"][1] - 0.5),
    "disc upside down": ("R - Bodies(1).r(2)", lambda x: 0.5 - x["r1"][1]),
    "roll": ("Bodies(1).r(1) + R*Bodies(1).p", lambda x: x["r1"][0] + 0.5 * x["phi"][0]),
    "roll back": ("-Bodies(1).r(1) - R*Bodies(1).p", lambda x: -x["r1"][0] - 0.5 * x["phi"][0]),
    "slot": ("n3'*(Points(4).rP - Points(5).rP)", lambda x: x["P5"][0] - x["P4"][0]),
    "slot back": ("n3'*(Points(5).rP - Points(4).rP)", lambda x: x["P4"][0] - x["P5"][0]),
    "parallel": ("n5'*Uvectors(4).u", lambda x: np.sin(x["phi"][1] - x["phi"][2])),
    "parallel back": ("s_rot(Uvectors(4).u)'*Uvectors(5).u", lambda x: np.sin(x["phi"][2] - x["phi"][1])),
    "angle": ("Bodies(2).p - Bodies(4).p", lambda x: x["phi"][1] - x["phi"][2]),
    "angle back": ("Bodies(4).p - Bodies(2).p", lambda x: x["phi"][2] - x["phi"][1]),
    "slide": ("n5'*(Points(4).rP - Points(7).rP)", lambda x: _across(x["phi"][2]) @ (x["P4"] - x["P7"])),
    "slide of the rod": (
        "s_rot(Uvectors(4).u)'*(Points(7).rP - Points(4).rP)",
        lambda x: _across(x["phi"][1]) @ (x["P7"] - x["P4"]),
    ),
}


def _across(phi: float) -> Array:
    return np.array([-np.sin(phi), np.cos(phi)])


def _tray(theta: Array) -> dict[str, Array]:
    """Places and angles of disc, rod and swivel by the joint coordinates."""
    along = [np.array([np.cos(a), np.sin(a)]) for a in (theta[2], theta[2] + theta[3])]
    rim = theta[:2] + 0.4 * _across(theta[2])
    phi = np.array([theta[2], theta[2] + theta[3], theta[5]])
    return {
        **{"r1": theta[:2], "phi": phi, "P4": rim + 2.0 * along[1]},
        **{"P5": np.array([theta[4], 0.0]), "P7": np.array([1.2, 1.2])},
    }


@pytest.mark.parametrize(
    "rows",
    [
        ("disc", "roll", "slot", "parallel", "slide"),
        ("slide", "roll back", "parallel", "slot", "disc"),
        ("angle back", "slot back", "disc upside down", "slide", "roll"),
        ("slide of the rod", "parallel back", "roll", "disc", "slot back"),
        ("parallel back", "disc upside down", "roll back", "slide", "slot"),
        ("roll", "slot back", "slide of the rod", "angle", "disc"),
    ],
)
def test_rows_of_cut_slides_slots_and_discs_are_those_of_Phi(rows: tuple[str, ...], tmp_path: Path) -> None:
    """Jac against differences of Phi as it is written, in its order and with its signs; the forces do not change."""
    usual = """Bodies(1).r(2) - R
           Bodies(1).r(1) + R*Bodies(1).p
           n3'*(Points(4).rP - Points(5).rP)
           n5'*Uvectors(4).u
           n5'*(Points(4).rP - Points(7).rP)"""
    files = dict(dap_of_our_own.TRAY)
    assert usual in files["CutJoint"]
    other = files["CutJoint"].replace(usual, "\n           ".join(OF_TRAY[row][0] for row in rows))
    folders = [tmp_path / "usual", tmp_path / "other"]
    for folder, cut in zip(folders, (files["CutJoint"], other), strict=True):
        dap_of_our_own.write({**files, "CutJoint": cut}, folder)
    before, found = (simulate(load(folder), t_end=0.02, step=0.02).dap_arrays() for folder in folders)

    def Phi(theta: Array) -> Array:
        return np.array([OF_TRAY[row][1](_tray(theta)) for row in rows])

    for k in (0, 1):
        theta, h = found["theta"][k], 1e-6
        by_hand = np.column_stack([(Phi(theta + h * e) - Phi(theta - h * e)) / (2 * h) for e in np.eye(6)])
        np.testing.assert_allclose(found["Jac"][k], by_hand, rtol=0, atol=1e-8)
        forces = [own["Jac"][k].T @ own["Lam"][k] for own in (before, found)]
        np.testing.assert_allclose(*forces, rtol=0, atol=1e-7 * float(np.max(np.abs(forces))))


def test_rows_of_a_cut_pin_and_a_driver_may_count_the_other_way(tmp_path: Path) -> None:
    """C.3 with one row of the pin and the driver turned round: their multipliers change sign, no other number does."""
    cut = C3["CutJoint"].replace("[(Points(5).rP - Points(6).rP)\n           (theta(1) - pi/3 - 2*pi*t)]",
                                 "[Points(5).rP(1) - Points(6).rP(1)\n           Points(6).rP(2) - Points(5).rP(2)\n"
                                 "           pi/3 + 2*pi*t - theta(1)]")  # fmt: skip
    assert cut != C3["CutJoint"]
    ways = [
        simulate(load(written(tmp_path / f"c{k}", {**C3, "CutJoint": text})), t_end=0.01).dap_arrays()
        for k, text in enumerate((cut, C3["CutJoint"]))
    ]
    np.testing.assert_allclose(ways[0]["Lam"], ways[1]["Lam"] * [1, -1, -1], rtol=1e-9)
    np.testing.assert_allclose(ways[0]["Jac"], ways[1]["Jac"] * np.array([[1], [-1], [-1]]), rtol=0, atol=1e-12)


def test_arrays_of_other_motions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="planar"):
        simulate(load("heavy_top"), t_end=0.01).dap_arrays()
    with pytest.raises(UsageError, match="planar"):  # stated by its equations, without bodies
        simulate(load("slider_crank_zhou"), t_end=0.01).save(tmp_path / "motion.mat")
    simulate(load("dap/slider_crank"), t_end=0.1).save(tmp_path / "motion.csv")
    with pytest.raises(UsageError, match="model"):
        Trajectory.load(tmp_path / "motion.csv").dap_arrays()


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("AA", "double_a_arm"),
        ("DAP_JC/AA", "double_a_arm_jc"),
        ("DAP_BC/AA", "double_a_arm"),
        ("MP_A", "macpherson_a"),
        ("MPA", "macpherson_a_jc"),
        ("Cart_C", "cart_c"),
        ("SC", "slider_crank"),
        ("Rod2", "two_rods"),
        ("CB", "conveyor_belt"),
    ],
)
def test_models_go_by_their_names_in_the_programs(name: str, own: str) -> None:
    assert load(name).name == load(f"dap/{own}").name


def test_names_of_the_programs_hide_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "AA").mkdir()
    with pytest.raises(ModelError, match="folder without a model"):
        load("AA")
    with pytest.raises(UsageError, match="dap/double_a_arm"):
        load("aa")


SWING = {
    "inBodies": """function inBodies
  include_global
  arm = Body_struct; arm.m = 3; arm.J = .25; arm.r = [0.6; 0]; arm.p = 0; % angle
  arm.p_d = 1.5; arm.r_d = [0; 0.9]
Bodies = arm;""",
    "inPoints": """function inPoints
include_global
Hinge0 = Point_struct; Hinge0.Bindex = 0; Hinge0.sPlocal = [0;0];
Hinge1 = Point_struct;
 Hinge1.Bindex=1;  Hinge1.sPlocal = [ -0.6 ; ...
   0 ];
Points = [ Hinge0 ; Hinge1 ];
end
""",
    "inUvectors": """function inUvectors
include_global
Uvectors = [];
""",
    "inJoints": """function inJoints
include_global
J = Joint_struct; J.type = 'rev'; J.iPindex = 1; J.jPindex = 2; Joints = [J];
""",
    "inForces": """function inForces
include_global
G = Force_struct; G.type = 'weight';
U=Force_struct; U.type='user'; U.k = 2.5; U.dc = .4;
Forces = [G; U];
""",
    "inFuncts": """function inFuncts
include_global
Functs = [];
""",
    "inAnimate": """function inAnimate
include_global
Bodies(1).shape = 'rect'; Bodies(1).W = 1.2; Bodies(1).H = .1; Bodies(1).color = 'r';
Points_anim = []; nPoints_anim = 0;
xmin = -1.5; xmax = 1.5; ymin = -1.5; ymax = 1.0;
""",
    "user_force": """% no function head here
kk = Forces(2).k; c = Forces(2).dc;
w = Bodies(1).p_d;
if w > 1
   n = -c*w - kk;
elseif w < -1
   n = -c*w + kk;
else
   n = -c*w - kk*w;
end
Bodies(1).n = Bodies(1).n + n;
""",
}


def test_a_folder_of_another_style_moves_as_its_equation_by_hand(tmp_path: Path) -> None:
    """Lines that end as on Windows, a script with elseif, one body without brackets, statements without semicolons."""
    folder = tmp_path / "swing"
    folder.mkdir()
    for name, text in SWING.items():
        (folder / f"{name}.m").write_bytes(text.replace("\n", "\r\n").encode())
    motion = simulate(load(folder), t_end=2.0, rtol=1e-10, atol=1e-10)

    def rates(t: float, y: NDArray[np.float64]) -> list[float]:
        w = float(y[1])
        n = -0.4 * w - 2.5 * min(max(w, -1.0), 1.0)
        return [w, (n - 3 * 9.81 * 0.6 * np.cos(y[0])) / (0.25 + 3 * 0.36)]

    path = solve_ivp(rates, (0, 2), [0, 1.5], rtol=1e-10, atol=1e-12, max_step=0.01)
    assert motion["B1.phi"][-1] == pytest.approx(path.y[0, -1], abs=1e-8)
    assert motion["B1.omega"][-1] == pytest.approx(path.y[1, -1], abs=1e-7)


def test_a_disc_a_slot_and_a_slide_that_are_cut_move_as_one_freedom_by_hand(tmp_path: Path) -> None:
    """All bodies as functions X of the angle of the disc: X' M X' phi_dd = X' (Q - M X'' phi_d^2)."""
    motion = simulate(load(dap_of_our_own.write(dap_of_our_own.TRAY, tmp_path / "Tray")), t_end=0.5, step=0.1)
    M = np.diag([4.0, 4.0, 0.5, 1.5, 1.5, 0.5, 2.0, 2.0, 0.1, 0.4, 0.4, 0.02])

    def X(phi: complex) -> Any:
        rim = np.array([-0.5 * phi - 0.4 * np.sin(phi), 0.5 + 0.4 * np.cos(phi)])
        along = np.array([1.2, 1.2]) - rim
        u = along / np.sqrt(along @ along)
        angle = np.arctan(along[1] / along[0])
        rod, swivel = [*(rim + u), angle], [*(np.array([1.2, 1.2]) + 0.1 * u), angle]
        return np.array([-0.5 * phi, 0.5, phi, *rod, (rim + 2 * u)[0], 0, 0, *swivel])

    def rates(t: float, y: Array) -> list[float]:
        h, phi = 1e-4, complex(y[0])
        slope = X(phi + 1e-20j).imag / 1e-20
        bend = (X(phi + h) - 2 * X(phi) + X(phi - h)).real / h**2
        Q = np.zeros(12)
        Q[1::3] = -9.81 * np.array([4.0, 1.5, 2.0, 0.4])
        Q[6] = -60 * (X(phi).real[6] - 1.5) - 2 * slope[6] * y[1]
        return [y[1], float(slope @ (Q - M @ bend * y[1] ** 2) / (slope @ M @ slope))]

    start = [float(motion["disc.phi"][0]), float(motion["disc.omega"][0])]
    path = solve_ivp(rates, (0, 0.5), start, rtol=1e-9, atol=1e-10, t_eval=motion.t)
    by_hand = np.array([X(phi).real for phi in path.y[0]])
    names = [f"{body}.{part}" for body in ("disc", "rod", "slider", "swivel") for part in ("x", "y", "phi")]
    found = np.column_stack([motion[name] for name in names])
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-6)


def test_formulas_of_students_may_use_unit_matrices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B of a free body that carries another on a pin, in blocks; a wrong arm is found."""
    chain = """function ChainOpen(check, theta, theta_d, t)
include_global
if check <= 2
Coord_Float(1, theta(1:3)); Coord_Rev(1, 2, theta(4));
end
if check == 2
 d21 = Bodies(2).r - Bodies(1).r; e = Bodies(2).r - Points(2).rP;
 Bmat = [eye(2) zeros(2, 2); 0 0 1 0; 1 0 -d21(2) -e(2); 0 1 d21(1) e(1); 0 0 1 1];
elseif check == 3
 Bd = zeros(6, 1);
end
end
"""
    files = {
        "inBodies": "Bodies(1) = Body_struct; Bodies(1).m = 4; Bodies(1).J = 1; Bodies(1).theta = [0 2.0 0.1];\n"
        "Bodies(2) = Body_struct; Bodies(2).m = 1; Bodies(2).J = 0.02; Bodies(2).theta = 30*pi/180;\n",
        "inPoints": "Points(1) = Point_struct; Points(1).Bindex = 1; Points(1).sPlocal = [0.3;0];\n"
        "Points(2) = Point_struct; Points(2).Bindex = 2; Points(2).sPlocal = [-0.4;0];\n",
        "inForces": "Forces(1) = Force_struct; Forces(1).type = 'weight';\n",
        "inConst": "nConst = 0;\n",
        "ChainOpen": chain,
    }
    folder = tmp_path / "cart"
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.m").write_text(text)
    assert answer(["check", str(folder)]) == 3
    said = capsys.readouterr().out
    assert "Bmat agrees with the joints" in said
    assert "Bd(4, 1) is 0, right is -" in said  # the centripetal part is missing
    (folder / "ChainOpen.m").write_text(chain.replace("0 1 d21(1) e(1)", "0 1 d21(1) -e(1)"))
    assert answer(["check", str(folder)]) == 3
    assert "Bmat(5, 4)" in capsys.readouterr().out
