"""Folders of DAP written back, formulas of users compared with those of the joints, the dialogue, hostile folders."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import dap_folders
import numpy as np
import pytest
from slices import with_slow
from test_dap import C1, C2, C3, HEAD, written
from typer.testing import CliRunner

from linkwork import Start
from linkwork.assembly.assemble import assemble
from linkwork.cli import answer, app
from linkwork.cli.motions import locks
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr, symbol
from linkwork.expressions.parser import parse as parse_expression
from linkwork.formats import read_folder
from linkwork.formats.dap_check import check_formulas
from linkwork.formats.dap_writing import folder_of
from linkwork.modelfile import build, load, shipped
from linkwork.scene import scene
from linkwork.simulation.simulate import simulate

SHIPPED = [name for name in shipped() if name.startswith("dap/")]
QUICK = (
    "dap/cart_c_jc",
    "dap/macpherson_b_jc",
    "dap/conveyor_belt",
    "dap/rod",
    "dap/slider_crank_driven",
    "dap/cart_b",
)
IN_JOINTS = [name for name in SHIPPED if load(name).simulation.coordinates == "joint"]


def write_back(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert answer(["convert", name, "-o", str(folder), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", with_slow(SHIPPED, QUICK))
def test_a_model_written_as_a_folder_moves_as_before(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bodies over a second to 1e-9, in the same coordinates; nothing is left out of these models."""
    told = write_back(name, tmp_path / "model", capsys)
    assert told["not_taken_over"] == []
    model, back = load(name), load(tmp_path / "model")
    assert back.simulation.coordinates == model.simulation.coordinates
    how: Any = {
        "t_end": 0.15 if name == "dap/rod" else 1.0,
        "step": model.simulation.step,
        "rtol": 1e-11,
        "atol": 1e-11,
    }
    motion, expected = simulate(back, **how), simulate(model, **how)
    for body in model.bodies:
        for part in ("x", "y", "phi"):
            found = motion[f"{body.name}.{part}"]
            np.testing.assert_allclose(found, expected[f"{body.name}.{part}"], rtol=0, atol=1e-9)
    for own, other in zip(model.bodies, back.bodies, strict=True):
        assert {*map(tuple, own.points.values())} <= {*map(tuple, other.points.values())}


def test_what_a_folder_cannot_hold_is_listed_and_stops_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exact stick and slip is no formula of the state: DAP would run without it, so user_force stops there."""
    told = write_back("stick_slip_belt", tmp_path / "model", capsys)
    assert told["not_taken_over"] == ["force 'belt'"]
    assert "error('this folder does not hold force _belt_');" in (tmp_path / "model" / "user_force.m").read_text()
    with pytest.raises(ModelError, match=r"user_force\.m:\d+: .*says: this folder does not hold force _belt_.*settled"):
        load(tmp_path / "model")
    with pytest.raises(UsageError, match="planar"):
        folder_of(load("heavy_top"))


@pytest.mark.parametrize("name", IN_JOINTS)
def test_written_matrices_are_those_of_the_joints(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B, its rate, C and both right sides, written by arms from the joints, beside derivatives of places and of Phi."""
    write_back(name, tmp_path / "model", capsys)
    found = check_formulas(tmp_path / "model")
    has_rows = bool(load(name).simulation.cut or load(name).drivers)
    assert [x.array for x in found] == ["Bmat", "Bd", *(["C", "rhsV", "rhsA"] if has_rows else [])]
    assert all(str(x).endswith("agrees with the joints") for x in found)


WRONG = [
    ("ChainOpen", "s_rot(d21)   s_rot(d22)   z2", "s_rot(d21)  -s_rot(d22)   z2", "Bmat", {(4, 2), (5, 2)}),
    ("ChainOpen", "1            1            0", "1            0            0", "Bmat", {(6, 2)}),
    ("CutJoint", "s_rot(dcut2) -u3", "s_rot(dcut2) u3", "C", {(1, 3)}),
    ("CutJoint", "dcut1d*theta_d(1) + ", "dcut1d*theta_d(1) - ", "rhsA", {(1, 1), (2, 1)}),
    ("CutJoint", "rhsV = [0 0]'", "rhsV = [0 1]'", "rhsV", {(2, 1)}),
]
RIGHT_A = "dcut1d = Points(5).rP_d; dcut2d = Points(5).rP_d - Points(4).rP_d;"
COMPLETE = {
    **C2,
    "ChainOpen": C2["ChainOpen"].replace(
        "            0            0            0];\nend",
        "            0            0            0];\nelseif check == 3\n"
        "    d11d = -Points(2).sP_d; d21d = Bodies(2).r_d; d22d = -Points(4).sP_d;\n"
        "    Bd = [s_rot(d11d)*theta_d(1)\n 0\n s_rot(d21d*theta_d(1) + d22d*theta_d(2))\n 0\n 0\n 0\n 0];\nend",
    ),
    "CutJoint": C2["CutJoint"]
    .replace("dcut1d = Points(5).rP_d;", RIGHT_A)
    .replace("-s_rot(dcut1d*theta_d(1));", "-s_rot(dcut1d*theta_d(1) + dcut2d*theta_d(2));"),
}


def test_the_matrices_of_the_manual_agree_with_the_joints(tmp_path: Path) -> None:
    """Example C.2 in full."""
    found = check_formulas(written(tmp_path / "SC", COMPLETE))
    assert [x.array for x in found if not x.differing and not x.problem] == ["Bmat", "Bd", "C", "rhsV", "rhsA"]


@pytest.mark.parametrize(("file", "right", "wrong", "array", "entries"), WRONG, ids=[f"{x[3]}-{x[2]}" for x in WRONG])
@pytest.mark.sampled
def test_the_entry_that_differs_is_pointed_at(
    file: str,
    right: str,
    wrong: str,
    array: str,
    entries: set[tuple[int, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A sign, a one or a zero that is wrong: `check` names array, row and column, and ends with status 3."""
    assert right in COMPLETE[file]
    folder = written(tmp_path / "SC", {**COMPLETE, file: COMPLETE[file].replace(right, wrong)})
    differing = {x.array: {(i, j) for i, j, *_ in x.differing} for x in check_formulas(folder) if x.differing}
    assert differing == {array: entries}
    assert answer(["check", str(folder)]) == 3
    row, column = min(entries)
    assert re.search(rf"{file}\.m: {array}\({row}, {column}\) is \S+, right is", capsys.readouterr().out)


def test_matrices_of_another_size_or_that_cannot_be_followed_are_named(tmp_path: Path) -> None:
    wide = COMPLETE["CutJoint"].replace("C = [s_rot(dcut1) s_rot(dcut2) -u3];", "C = [s_rot(dcut1) s_rot(dcut2)];")
    odd = COMPLETE["ChainOpen"].replace("Bmat = [", "Bmat = kron(1, 2); x = [")
    found = {x.array: str(x) for x in check_formulas(written(tmp_path / "SC", {**COMPLETE, "CutJoint": wide}))}
    assert found["C"] == "CutJoint.m: C is 2 x 2, right is 2 x 3"
    found = {x.array: str(x) for x in check_formulas(written(tmp_path / "odd", {**COMPLETE, "ChainOpen": odd}))}
    assert "Bmat is not compared: a call of 'kron' is code" in found["Bmat"]


# The programs of their own.


def test_the_dialogue_asks_what_dap_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Final time, step, correction or not; then post and anim. Without the correction the gap stays."""
    from scipy.io import loadmat

    monkeypatch.chdir(tmp_path)
    folder = dap_folders.write("jc_aa", tmp_path / "AA")

    def dialogue(text: str) -> str:
        return str(CliRunner().invoke(app, ["dap", str(folder)], input=text).output)

    said = dialogue("y\n0.1\n0.02\npost\nquit\n")
    assert re.search("correct the initial conditions.*Final time.*Reporting time-step", said, re.DOTALL)
    assert re.search(r"Number of function evaluations = \d+\n>> post\nwritten  AA.mat", said)
    published = [float(x) for body in dap_folders.data("jc_aa")["bodies"] for x in body["theta"]]
    stored = loadmat(tmp_path / "AA.mat")
    assert stored["theta"].shape == (6, 3)
    changed = np.abs(stored["theta"][0] - published)
    assert 1e-6 < np.max(changed) < 1e-4  # they are given with four digits
    locks.close()  # as the end of the command does
    dialogue("n\n0.1\n0.02\npost\npost\n")
    assert loadmat(tmp_path / "AA.mat")["theta"][0] == pytest.approx(published, abs=1e-14)


def test_corrections_without_weights_are_a_choice_for_every_model() -> None:
    """The sketch of C.2 in joint coordinates: plain gives the start of DAP, none keeps what is given."""
    shipped = load("dap/slider_crank")
    theta = {"O": np.radians(65.0), "A": -0.6, "guide": 0.4}
    far = build_sketch(shipped, theta)
    found = assemble(far, weights="plain").theta
    assert [found[name] for name in ("O", "A", "guide")] == pytest.approx([0.679201, -0.973350, 0.342202], abs=1e-6)
    motion = simulate(far, t_end=0.01, start=Start(weights="plain"))
    assert motion.dap_arrays()["theta"][0] == pytest.approx([0.679201, -0.973350, 0.342202], abs=1e-6)
    with pytest.raises(ModelError, match="start-far-off"):
        simulate(far, t_end=0.01)
    with pytest.raises(UsageError, match="stabilization='none'"):
        simulate(far, t_end=0.01, start=Start(weights="none"))
    near = {"O": 0.6792, "A": -0.9733, "guide": 0.3422}
    kept = simulate(build_sketch(shipped, near), t_end=0.01, start=Start(weights="none"), stabilization="none")
    assert kept.dap_arrays()["theta"][0] == pytest.approx([*near.values()], abs=1e-12)


def build_sketch(model: Any, theta: dict[str, float]) -> Any:
    """The slider-crank with its tree at these joint coordinates."""
    first, second, slid = theta.values()
    crank = np.array([np.cos(first), np.sin(first)])
    rod = np.array([np.cos(first + second), np.sin(first + second)])
    places = [(*(0.06 * crank), first), (*(0.12 * crank + 0.13 * rod), first + second), (slid, 0.0, 0.0)]
    names = [f"{body.name}.{part}" for body in model.bodies for part in ("x", "y", "phi")]
    return model.with_start(dict(zip(names, np.ravel(places).tolist(), strict=True)), dict.fromkeys(names, 0.0))


def test_colours_shapes_and_window_reach_the_drawing(tmp_path: Path) -> None:
    """Those of inAnimate, unknown drawing data being a note."""
    folder = dap_folders.write("bc_cart_a", tmp_path / "cart")
    animate = folder / "inAnimate.m"
    animate.write_text(
        animate.read_text() + "Bodies(2).color = [1 0.5 0]; Bodies(2).LineWidth = 3; Bodies(3).color = 'q';\n"
    )
    model = load(folder)
    seen = scene(model)
    assert [figure.colour for figure in seen.bodies] == [None, "red", "#ff8000", None]
    assert seen.bodies[1].shape["type"] == "box"  # type: ignore[index]
    assert seen.window == ((0.0, -0.5, 0.0), (1.5, 1.0, 0.0))
    line = animate.read_text().count("\n")
    told = [note.data for note in model.notes if note.code == "drawing-not-read"]
    assert [(data["what"], data["line"]) for data in told] == [("LineWidth", line), ("color", line)]
    through = json.loads(json.dumps(seen.as_dict()))
    assert (seen.from_dict(through).window, seen.from_dict(through).bodies[1].colour) == (seen.window, "red")


# user_force in the words of its users.

USER = """
    persistent n
    v = Bodies(2).r_d; s = norm(v);   % speed
    if s > 3 && ~(Bodies(2).r(2) < -0.1)
        f = -2*v/s;
    elseif s > 1
        f = -v*s.^2;
    else, f = [0; 0];
    end
    A = Matrix_A(Bodies(2).p);
    u = A*[1; 0] + (Uvectors(2).u - Uvectors(2).u);
    f = f + 0.3*(u'*v)*u;
    d = Points(3).rP - Points(1).rP;   d_d = Points(3).rP_d - Points(1).rP_d;
    L = sqrt(d'*d);
    f(2) = f(2) - max(0, 4*(L - 0.2))*exp(-t)*sign(d_d'*d/L);
    Bodies(2).f = Bodies(2).f + f;
    Bodies(2).n = Bodies(2).n + s_rot(Points(3).sP)'*f + Friction_B(0.4, 0.3, 0.1, 0.2, 5, Bodies(2).p_d, 9.81);
"""


def law(t: float, x: float, y: float, phi: float, vx: float, vy: float, omega: float) -> np.ndarray:
    """The same by NumPy; point 3 is (0, 0.5) of body 2, point 1 (0, 0.2) of the ground."""
    v = np.array([vx, vy])
    s = np.linalg.norm(v)
    f = -2 * v / s if s > 3 and not y < -0.1 else -v * s**2 if s > 1 else np.zeros(2)
    u = np.array([np.cos(phi), np.sin(phi)])
    f = f + 0.3 * (u @ v) * u
    arm = 0.5 * np.array([-np.sin(phi), np.cos(phi)])
    turned = np.array([-arm[1], arm[0]])
    d, d_d = np.array([x, y]) + arm - [0.0, 0.2], v + omega * turned
    L = np.linalg.norm(d)
    f[1] -= max(0.0, 4 * (L - 0.2)) * np.exp(-t) * np.sign(d_d @ d / L)
    w = omega / 0.2
    friction = 9.81 * (0.3 * np.tanh(4 * w) + 0.1 * w / (0.25 * w * w + 0.75) ** 2) + 0.1 * omega * np.tanh(
        4 * 9.81 / 5
    )
    return np.array([*f, turned @ f + friction])


def test_user_forces_are_translated_as_matlab_would_compute_them(tmp_path: Path) -> None:
    """Locals, conditions with && and ~, elseif, else, entries, matrices, points, unit vectors, friction, time."""
    from linkwork.compiled.mechanism import prepare

    forces = "F1 = Force_struct; F1.type = 'user';\nForces = F1;\n"
    folder = written(tmp_path / "SP", {**C1, "inForces": forces})
    (folder / "user_force.m").write_text(HEAD.format("user_force") + USER)
    model = load(folder)
    place = prepare(model, "body").place()
    random = np.random.default_rng(3)
    for _ in range(20):
        q, v = random.uniform(-1, 1, (2, 6))
        v[3:] *= 4.0
        from dataclasses import replace

        at = replace(place, t=0.7, q=q, v=v)
        np.testing.assert_allclose(at.Q[3:6], law(0.7, *q[3:], *v[3:]), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(at.Q[:3], 0.0, rtol=0, atol=1e-15)


def test_functions_of_time_may_be_called(tmp_path: Path) -> None:
    """functs gives the function and its rates, also to a driver in CutJoint; comments may be in Latin-1."""
    functions = "F1 = Funct_struct; F1.type = 'a'; F1.coeff = [pi/3 2*pi 0.5];\nFuncts = F1;\n"
    cut = C3["CutJoint"].replace("theta(1) - pi/3 - 2*pi*t", "theta(1) - functs(1, t)")
    forces = (
        C3["inForces"]
        .replace("[F1; F2]", "[F1; F2; F3]")
        .replace("Forces =", "F3 = Force_struct; F3.type = 'user';\nForces =")
    )
    law = "[f, f_d, f_dd] = functs(1, 2*t);\nBodies(3).f = Bodies(3).f + [f_d; f_dd];\n"
    folder = written(tmp_path / "SCd", {**C3, "CutJoint": cut, "inFuncts": functions, "inForces": forces})
    (folder / "user_force.m").write_bytes(b"% Kraft in 30\xb0\r\n" + law.encode())
    data: Any = read_folder(folder).document.data
    (driver,) = build(read_folder(folder).document).drivers
    t = symbol("t")
    assert evaluate([as_expr(driver.motion.f(t))], {t: 0.3})[0] == pytest.approx(np.pi / 3 + 0.6 * np.pi + 0.045)
    x, y = data["forces"]["user_B3"]["force"]
    assert evaluate([parse_expression(str(x), {"t": t})], {t: 0.3})[0] == pytest.approx(2 * np.pi + 0.6)
    assert y == 1.0


def test_functions_of_the_user_are_followed(tmp_path: Path) -> None:
    """One in the same file with two results, one in a file of its own that adds a force; endless calls are refused."""
    forces = "F1 = Force_struct; F1.type = 'user';\nForces = F1;\n"
    folder = written(tmp_path / "SP", {**C1, "inForces": forces})
    law = "[f, n] = pull(Bodies(2).r_d, 3);\nBodies(2).f = Bodies(2).f + f;\npush(1, n)\nend\n"
    law += "function [f, n] = pull(v, c)\n  k = 2;\n  f = -c*v; n = k*v(1);\nend\n"
    (folder / "user_force.m").write_text(HEAD.format("user_force") + law)
    (folder / "push.m").write_text(HEAD.format("push(b, n)") + "Bodies(b).n = Bodies(b).n + n;\nend\n")
    data: Any = read_folder(folder).document
    assert data.unsettled == ()
    assert data.data["forces"]["user_B2"]["force"] == ["-3*B2.vx", "-3*B2.vy"]
    assert data.data["forces"]["user_B1_torque"]["torque"] == "2*B2.vx"
    (folder / "push.m").write_text(HEAD.format("push(b, n)") + "push(b, n);\npush(b, n);\nend\n")
    (error, *_) = read_folder(folder).document.unsettled
    assert (error.code, error.file) == ("too-deep", str(folder / "push.m"))
    many = "".join(f"function f{k}\n f{k + 1};\n f{k + 1};\nend\n" for k in range(40)) + "function f40\nend\n"
    (folder / "user_force.m").write_text("function user_force\nf0;\nend\n" + many)
    (error, *_) = read_folder(folder).document.unsettled
    assert (error.code, error.file) == ("too-long", str(folder / "user_force.m"))


def test_a_force_on_a_point_becomes_one(tmp_path: Path) -> None:
    """The tyre of a suspension acts at the wheel's contact, its moment being s_rot(sP)' f; a script is enough."""
    folder = dap_folders.write("bc_mp_a", tmp_path / "MP_A", "scripts")
    assert "function" not in (folder / "user_force.m").read_text()
    force: Any = read_folder(folder).document.data["forces"]["user_B1"]  # type: ignore[index, call-overload]
    assert (force["type"], force["at"]) == ("point-force", "B1.C1")
    assert "user_B1_torque" not in read_folder(folder).document.data["forces"]  # type: ignore[operator]


UNTRANSLATED = [
    ("Bodies(2).f = [1; 0];", "replaced, not added"),
    ("Bodies(2).f = Bodies(2).f + [1; 0; 0];", "different shapes"),
    ("Bodies(4).f = Bodies(4).f + [1; 0];", "no entry 4"),
    ("x = helper(3); Bodies(2).n = Bodies(2).n + x;", "'helper' is code"),
    ("if Bodies(2).r(1) < 0\n q = 1;\nend\nBodies(2).n = Bodies(2).n + q;", "'q' is not assigned in the same way"),
    ("switch 3\ncase 3\n Bodies(2).n = Bodies(2).n + 1;\nend", "'switch' is code"),
    ("Contact(1, 2, 2, 1e5, 0.9, 1);", "Contact needs a point of its body"),
    ("if Bodies(2).r(2) < 1\n Contact(1, 3, 2, 1e5, 0.9, 1);\nend", "under a condition only"),
    ("Bodies(2).n = Bodies(2).n + y{3};", "'{' where the statement should end"),
]


@pytest.mark.parametrize(("code", "message"), UNTRANSLATED, ids=[x[1] for x in UNTRANSLATED])
def test_what_user_force_cannot_say_is_named_and_the_rest_converts(code: str, message: str, tmp_path: Path) -> None:
    """Its line, once; another force of the same file is still translated."""
    forces = "F1 = Force_struct; F1.type = 'user';\nForces = F1;\n"
    folder = written(tmp_path / "SP", {**C1, "inForces": forces})
    rest = "Bodies(1).f = Bodies(1).f + [0; -3*Bodies(1).r_d(2)];\n"
    (folder / "user_force.m").write_text(HEAD.format("user_force") + rest + code + "\n")
    document = read_folder(folder).document
    (error,) = document.unsettled
    assert message in error.message
    assert (error.line or 0) >= 4
    assert document.data["forces"]["user_B1"]["force"] == [0.0, "-3*B1.vy"]  # type: ignore[index, call-overload]
    assert any(message in text for text in document.data["unsettled"])  # type: ignore[union-attr, operator]
    data = {key: x for key, x in document.data.items() if key != "unsettled"}
    from dataclasses import replace

    build(replace(document, data=data, unsettled=()))


# Joints of the tree and rows of Phi, however they are written.

BY_HAND = """
Bodies(1).r = Points(1).rP + theta(1)*[1; 0];  Bodies(1).p = 0;
Points(2).rP = Bodies(1).r;
phi = theta(2); c = cos(phi); s = sin(phi);
Bodies(2).r = [Points(2).rP(1) + 0.5*s; Points(2).rP(2) - 0.5*c];
Bodies(2).p = {angle};
"""


def test_joints_of_bodies_that_formulas_place_are_what_these_hold(tmp_path: Path) -> None:
    """The sliding pendulum without Coord_*: a slide and a pin; a body without a freedom of its own is refused."""

    def read(name: str, angle: str) -> Any:
        return read_folder(written(tmp_path / name, {**C1, "ChainOpen": BY_HAND.format(angle=angle)})).document

    usual, found = read_folder(written(tmp_path / "SP", C1)).document, read("hand", "phi")
    kinds = [(joint["type"], joint["i"], joint["j"]) for joint in found.data["joints"].values()]
    assert kinds == [("prismatic", "ground.P1", "B1.P2"), ("revolute", "B1.P2", "B2.P3")]
    assert found.data["joints"]["J1"]["angle"] == 0.0
    assert found.data["bodies"]["B2"]["position"] == pytest.approx(usual.data["bodies"]["B2"]["position"], abs=1e-15)  # type: ignore[index, call-overload]
    (error,) = read("held", "0").unsettled
    assert (error.line, "what joint places body 'B2'" in error.message) == (8, True)  # that of its r


ROWS = [
    ("Points(6).rP - Points(5).rP", "revolute", "B2.P5", "B3.P6"),
    ("[Points(5).rP(1) - Points(6).rP(1); Points(5).rP(2) - Points(6).rP(2)]", "revolute", "B3.P6", "B2.P5"),
    ("Points(5).rP - Bodies(3).r", "revolute", "B3.centre", "B2.P5"),
    ("[s_rot(Uvectors(2).u)'*(Points(5).rP - Points(6).rP); Bodies(2).p - Bodies(3).p]", "prismatic", "B3.P6", "B2.P5"),
    ("[Bodies(2).r(2) - 0.05; Bodies(2).r(1) + 0.05*Bodies(2).p - 0.2]", "rolling", "ground.O", "B2.centre"),
    ("[Points(5).rP - [0.3; 0.01]]", "revolute", "ground.cut", "B2.P5"),
    ("[Points(5).rP(2); Bodies(2).p - pi/6]", "prismatic", "ground.cut", "B2.P5"),
]


@pytest.mark.parametrize(("phi", "kind", "i", "j"), ROWS, ids=[x[0] for x in ROWS])
def test_cut_joints_are_recognized_by_what_they_hold(phi: str, kind: str, i: str, j: str, tmp_path: Path) -> None:
    """Pins with their orientation, at mass centres, at ground places without a point; slides and discs."""
    cut = C2["CutJoint"].replace("Points(5).rP - Points(6).rP;\nelseif", f"{phi};\nelseif")
    document = read_folder(written(tmp_path / "SC", {**C2, "CutJoint": cut}), correct=False).document
    assert document.unsettled == ()
    joint: Any = document.data["joints"]["C1"]  # type: ignore[index, call-overload]
    assert (joint["type"], joint["i"], joint["j"]) == (kind, i, j)


def test_single_rows_are_rods_slots_and_drivers(tmp_path: Path) -> None:
    """Lengths and offsets come from the constants, also with factors; a driver may be said of angles of bodies."""
    rows = {
        "norm(Points(5).rP - Points(6).rP) - 0.3": ("distance", 0.3),
        "2*((Points(5).rP - Points(6).rP)'*(Points(5).rP - Points(6).rP) - 0.09)": ("distance", 0.3),
        "s_rot(Uvectors(1).u)'*(Points(5).rP - Points(1).rP)": ("point-on-line", None),
        "s_rot(Uvectors(2).u)'*(Points(5).rP - Points(6).rP)": ("point-on-line", None),
    }
    for k, (row, (kind, length)) in enumerate(rows.items()):
        cut = C2["CutJoint"].replace("Points(5).rP - Points(6).rP;\nelseif", f"{row};\nelseif")
        files = {**C2, "CutJoint": cut, "inConst": "nConst = 1;\n"}
        joint: Any = read_folder(written(tmp_path / f"m{k}", files), correct=False).document.data["joints"]["C1"]  # type: ignore[index, call-overload]
        assert joint["type"] == kind
        assert length is None or joint["length"] == pytest.approx(length, rel=1e-9)
    cut = C3["CutJoint"].replace("(theta(1) - pi/3 - 2*pi*t)", "3*(Bodies(2).p - Bodies(1).p) - sin(t)")
    data: Any = read_folder(written(tmp_path / "angle", {**C3, "CutJoint": cut}), correct=False).document.data
    assert data["drivers"] == {"D3": {"i": "B1.centre", "j": "B2.centre", "freedom": "angle", "motion": "sin(t)/3"}}
    cart = dap_folders.write("jc_cart_c", tmp_path / "cart")  # its theta(2) counts from the ground, the others roll
    for k in (1, 2):
        phi = f"if check == 1\n Phi = [Points(3).rP - Bodies(3).r; theta({k}) - 0.1*t];\nend\n"
        (cart / "CutJoint.m").write_text("function CutJoint(check, theta, theta_d, t)\n include_global\n" + phi)
        (cart / "inConst.m").write_text("nConst = 3;\n")
        driver: Any = read_folder(cart, correct=False).document.data["drivers"]["D3"]  # type: ignore[index, call-overload]
        assert driver == {"i": "ground.O", "j": f"B{k}.centre", "freedom": "angle", "motion": "0.1*t"}


# What is hostile is refused with file and line, and nothing is executed.

HOSTILE = [
    ("inBodies", "system('touch executed');", "m-file-code"),
    ("inPoints", "P1.sPlocal = eval('[0; 0]');", "m-file-code"),
    ("inForces", "while 1\nend", "m-file-code"),
    ("inAnimate", "for k = 1:1e9, xmin = k; end", "m-file-code"),
    ("inAnimate", "Bodies(1000000000).color = 'r';", "no-such-index"),
    ("inAnimate", "xmin = sum(1:1e9);", "not-a-number"),
    ("inBodies", "B1.m = " + "1" * 4_000_000 + ";", "too-long"),
    ("inBodies", "B1.m = " + "1" * 10_000_000 + ";", "file-too-big"),
    ("ChainOpen", "if check == 2, feval('system', 'touch executed'); end", "m-file-code"),
    ("ChainOpen", "x = feval('../../../../bin/touch', 'executed');", "m-file-code"),
    ("user_force", "unix('touch executed');", "m-file-code"),
    ("user_force", "run('../../etc/passwd');", "m-file-code"),
    ("user_force", "while 1\n Bodies(1).n = Bodies(1).n + 1;\nend", "m-file-code"),
    ("user_force", "!touch executed", "m-file-syntax"),
    ("user_force", "x = 1;" + "\nx = x + x;" * 400 + "\nBodies(1).n = Bodies(1).n + x*Bodies(1).p;", ""),
    ("user_force", "x = Bodies(1).p;" + "\nx = x*x + sin(x);" * 60 + "\nBodies(1).n = Bodies(1).n + x;", "user-force"),
]


@pytest.mark.parametrize(("file", "line", "code"), HOSTILE, ids=[f"{x[0]}-{x[1][:30]}" for x in HOSTILE])
def test_hostile_folders_are_refused(
    file: str, line: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With file and line, in little time; files outside are not looked at."""
    monkeypatch.chdir(tmp_path)
    forces = "F1 = Force_struct; F1.type = 'user';\nForces = F1;\n"
    files = {**C1, "inForces": forces, "user_force": ""}
    folder = written(tmp_path / "model", {**files, file: files[file] + line + "\n"})
    began = time.process_time()
    if code:
        with pytest.raises(ModelError) as caught:
            load(folder)
        assert {error.code for error in caught.value.errors} == {code}
        assert all(error.file == str(folder / f"{file}.m") and error.line for error in caught.value.errors)
    else:
        load(folder)
    assert time.process_time() - began < 30.0
    assert not list(tmp_path.rglob("executed"))


def test_names_that_are_paths_go_nowhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Texts of a folder are texts: nothing is read or written by them, and the model file keeps its place."""
    bodies = C1["inBodies"].replace("B1.J = 4.0;", "B1.J = 4.0; B1.shape = '../../etc/passwd';")
    folder = written(tmp_path / "model", {**C1, "inBodies": bodies})
    before = sorted(tmp_path.rglob("*"))
    assert answer(["convert", str(folder), "-o", str(tmp_path / "model.yaml")]) == 0
    capsys.readouterr()
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "model.yaml"])
    assert load(tmp_path / "model.yaml").shapes == {}


@pytest.mark.skipif(shutil.which("octave-cli") is None, reason="GNU Octave is not installed (Debian: octave)")
@pytest.mark.parametrize("name", SHIPPED)
def test_octave_reads_what_is_written(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Octave parses a function when it is asked for its arguments."""
    write_back(name, tmp_path / "model", capsys)
    files = sorted((tmp_path / "model").glob("*.m"))
    asked = "; ".join(f"disp(nargin('{file.stem}'))" for file in files)
    command = ["octave-cli", "--no-init-file", "--eval", f"addpath('{tmp_path / 'model'}'); {asked}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    takes = {"ChainOpen": "4", "CutJoint": "4"}
    assert done.stdout.split() == [takes.get(file.stem, "0") for file in files]


SWUNG = """
linkwork: 1
name: swung
ground: {points: {O: [0, 0]}}
bodies:
  rod: {mass: 1, inertia: 0.1, points: {O: [-0.5, 0]}, position: [0.5, 0], angular_velocity: 0.2, velocity: [0, 0.1]}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
drivers: {m: {joint: O, motion: 0.1*sin(2*t)}}
simulation: {coordinates: joint, t_end: 1}
"""


def test_a_driver_whose_formula_repeats_a_part_is_written_in_joint_coordinates(tmp_path: Path) -> None:
    """0.1 sin(2 t) and its rates share 2 t; read again, the folder turns as it says."""
    (tmp_path / "swung.yaml").write_text(SWUNG)
    assert answer(["convert", str(tmp_path / "swung.yaml"), "-o", str(tmp_path / "Swung")]) == 0
    motion = simulate(load(tmp_path / "Swung"), t_end=1.0)
    np.testing.assert_allclose(motion["rod.phi"], 0.1 * np.sin(2 * motion.t), atol=1e-9)


def test_the_dialogue_asks_again_and_shows_what_a_stopped_run_has_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start that does not fit and is not corrected ends with a word, and its arrays are written all the same."""
    monkeypatch.chdir(tmp_path)
    said = CliRunner().invoke(app, ["dap", "dap/slider_crank"], input="n\n-1\n0.2\n0\n0.05\npost\nquit\n")
    assert said.output.count("It must be above zero.") == 2
    assert "written" in said.output, said.output
    assert list(tmp_path.glob("*.mat"))
