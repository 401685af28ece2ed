"""Robots in URDF: the same motion as by closed forms and by MuJoCo; what is broken or hostile is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from robots import BAR, joint, link, robot
from scipy.spatial.transform import Rotation

import linkwork as lw
from linkwork.cli import answer
from linkwork.errors import ModelError
from linkwork.formats.urdf import read_urdf
from linkwork.scene import scene
from linkwork.view.drawing import picture_of

G = np.array([0.0, 0.0, -9.81])


def random_inertia(random: np.random.Generator) -> np.ndarray:
    """Of eight point masses, so that it is one of a body."""
    points, A = random.normal(size=(8, 3)) * 0.1, random.uniform(0.1, 1.0, 8)
    points -= A @ points / A.sum()
    return sum(m * (p @ p * np.eye(3) - np.outer(p, p)) for m, p in zip(A, points, strict=True))


def written(text: str, folder: Path) -> Path:
    path = folder / "arm.urdf"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("seed", range(4))
def test_a_pendulum_about_any_axis_turns_as_its_closed_form(seed: int, tmp_path: Path) -> None:
    """(u.J u + m |u x c|^2) theta_dd = u . (c x m g) - d theta_d: frames, angles and axes as URDF has them."""
    random = np.random.default_rng(seed)
    xyz, c, axis = random.normal(size=(3, 3))
    at, turned = random.uniform(-3, 3, size=(2, 3))
    J, m, d = random_inertia(random), 2.3, 0.7
    text = robot(
        link("rod", m, c, turned, J),
        joint("O", "continuous", "base", "rod", xyz, at, axis, f'<dynamics damping="{d}"/>'),
    )
    mechanism = lw.prepare(lw.load(written(text, tmp_path)))
    theta, rate = random.uniform(-2, 2, size=2)
    state = mechanism.state({"O": theta}, {"O_d": rate})
    u = axis / np.linalg.norm(axis)
    A, own = Rotation.from_euler("xyz", at), Rotation.from_euler("xyz", turned).as_matrix()
    body = A * Rotation.from_rotvec(theta * u)
    inertia = u @ own @ J @ own.T @ u + m * np.sum(np.cross(u, c) ** 2)
    torque = A.apply(u) @ np.cross(body.apply(c), m * G) - d * rate
    assert float(state.a[0]) == pytest.approx(torque / inertia, rel=1e-9), seed
    assert float(state.M[0, 0]) == pytest.approx(inertia, rel=1e-9), seed


def test_links_that_are_fixed_to_each_other_are_one_body(tmp_path: Path) -> None:
    """Its mass, mass centre and moments are sums over point masses of which both links consist."""
    random = np.random.default_rng(7)
    masses, points = random.uniform(0.2, 1.0, (2, 6)), random.normal(size=(2, 6, 3))
    xyz, rpy = random.normal(size=3), random.uniform(-3, 3, 3)
    parts, everywhere = [], []
    for name, m, p in zip(("rod", "tool"), masses, points, strict=True):
        c = m @ p / m.sum()
        J = sum(x * ((y - c) @ (y - c) * np.eye(3) - np.outer(y - c, y - c)) for x, y in zip(m, p, strict=True))
        parts.append(link(name, float(m.sum()), c, (0, 0, 0), J))
        everywhere.append(p if name == "rod" else xyz + Rotation.from_euler("xyz", rpy).apply(p))
    flange = joint("flange", "fixed", "rod", "tool", xyz, rpy, (1, 0, 0))
    text = robot(*parts, flange, joint("O", "revolute", "base", "rod", (0, 0, 1), (0, 0, 0), (0, 0, 1)))
    (body,) = read_urdf(written(text, tmp_path)).data["bodies"].values()  # type: ignore[union-attr]
    m, p = masses.ravel(), np.concatenate(everywhere)
    c = m @ p / m.sum()
    J = sum(x * ((y - c) @ (y - c) * np.eye(3) - np.outer(y - c, y - c)) for x, y in zip(m, p, strict=True))
    assert body["mass"] == pytest.approx(m.sum())  # type: ignore[index, call-overload]
    np.testing.assert_allclose(body["mass_centre"], c, atol=1e-12)  # type: ignore[index, call-overload]
    expected = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[1, 2], J[2, 0]]
    np.testing.assert_allclose(body["inertia"], expected, atol=1e-12)  # type: ignore[index, call-overload]


@pytest.mark.parametrize("seed", range(3))
def test_frames_follow_each_other_along_a_chain(seed: int, tmp_path: Path) -> None:
    """Place and axes of a slide behind a fixed link behind a hinge: T_O R(theta u) T_flange T_rail d w."""
    random = np.random.default_rng([seed, 3])
    origins, turns = random.normal(size=(3, 3)), random.uniform(-3, 3, size=(3, 3))
    u, w = (x / np.linalg.norm(x) for x in random.normal(size=(2, 3)))
    names = ("base", "rod", "tool", "slider")
    parts = [link(name, 1.0, (0, 0, 0), (0, 0, 0), BAR) for name in names[1:]]
    kinds, axes = (("O", "continuous"), ("flange", "fixed"), ("rail", "prismatic")), (u, u, w)
    for k, (name, kind) in enumerate(kinds):
        parts.append(joint(name, kind, names[k], names[k + 1], origins[k], turns[k], axes[k]))
    theta, d = random.uniform(-2, 2, size=2)
    model = lw.load(written(robot(*parts), tmp_path))
    motion = lw.simulate(model, start={"theta:O": theta, "theta:rail": d}, t_end=1e-3)
    hinge, flange, rail = (Rotation.from_euler("xyz", turned) for turned in turns)
    rod = hinge * Rotation.from_rotvec(theta * u)
    place = origins[0] + rod.apply(origins[1] + flange.apply(origins[2] + rail.apply(d * w)))
    np.testing.assert_allclose([motion[f"slider.{x}"][0] for x in "xyz"], place, atol=1e-12)
    x, y, z, e0 = (rod * flange * rail).as_quat()
    e = np.array([motion[f"slider.e{k}"][0] for k in range(4)])
    np.testing.assert_allclose(e * np.sign(e[0] * e0), [e0, x, y, z], atol=1e-12)


def tree(seed: int, is_turned: bool = True) -> str:
    """A random tree of seven links, one of them fixed, on hinges and slides in any direction.

    Unless `is_turned`, moments of inertia are in the axes of the link: MuJoCo 3.3.7 leaves out the turn of <inertial>.
    """
    random = np.random.default_rng(seed)
    parts, links = [], ["base"]
    for k, kind in enumerate(("continuous", "prismatic", "revolute", "fixed", "continuous", "prismatic", "revolute")):
        parent, name = links[random.integers(len(links)) if k else 0], f"l{k}"
        xyz, c, axis = random.normal(size=(3, 3)) * 0.4
        rpy, turned = random.uniform(-3, 3, size=(2, 3))
        parts.append(link(name, random.uniform(0.5, 2), c, turned if is_turned else (0, 0, 0), random_inertia(random)))
        more = (
            '<limit lower="-9" upper="9" effort="1" velocity="1"/><dynamics damping="0.3"/>' if kind != "fixed" else ""
        )
        parts.append(joint(f"j{k}", kind, parent, name, xyz, rpy, axis / np.linalg.norm(axis), more))
        links.append(name)
    return robot(*parts)


@pytest.mark.parametrize("seed", range(5))
def test_mass_matrix_forces_and_accelerations_are_those_of_mujoco(seed: int, tmp_path: Path) -> None:
    """At random states of random trees, by the names of joints."""
    mujoco = pytest.importorskip("mujoco")
    apart = '<mujoco><compiler fusestatic="false"/></mujoco>'  # its moments of fused links are not those of Pinocchio
    path = written(tree(seed, is_turned=False).replace("</robot>", f"{apart}</robot>"), tmp_path)
    other = mujoco.MjModel.from_xml_path(str(path))
    other.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    data = mujoco.MjData(other)
    names = [other.joint(k).name for k in range(other.njnt)]
    random = np.random.default_rng([seed, 1])
    data.qpos[:], data.qvel[:] = random.uniform(-2, 2, size=(2, other.nv))
    mujoco.mj_forward(other, data)
    M = np.zeros((other.nv, other.nv))
    for column, unit in zip(M, np.eye(other.nv), strict=True):  # in all versions, unlike the arrays that hold it
        mujoco.mj_mulM(other, data, column, unit)
    q = dict(zip(names, data.qpos, strict=True))
    v = {f"{name}_d": x for name, x in zip(names, data.qvel, strict=True)}
    state = lw.prepare(lw.load(path)).state(q, v)
    order = [list(state.column.values).index(name) for name in names]
    np.testing.assert_allclose(state.M.values[np.ix_(order, order)], M, atol=1e-9)
    np.testing.assert_allclose(state.Q.values[order], data.qfrc_passive - data.qfrc_bias, atol=1e-8)
    np.testing.assert_allclose(state.a.values[order], data.qacc, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_mass_matrix_forces_and_accelerations_are_those_of_pinocchio(seed: int, tmp_path: Path) -> None:
    """As of MuJoCo, with moments of inertia in axes of their own; Pinocchio has no damping among its forces."""
    pinocchio = pytest.importorskip("pinocchio")
    path = written(tree(seed).replace("continuous", "revolute").replace('damping="0.3"', 'damping="0"'), tmp_path)
    other = pinocchio.buildModelFromUrdf(str(path))
    data, names = other.createData(), list(other.names)[1:]
    q, v = np.random.default_rng([seed, 2]).uniform(-2, 2, size=(2, other.nv))
    M = np.triu(pinocchio.crba(other, data, q))
    M = M + np.triu(M, 1).T
    bias = pinocchio.nonLinearEffects(other, data, q, v)
    a = pinocchio.aba(other, data, q, v, np.zeros(other.nv))
    rates = {f"{name}_d": x for name, x in zip(names, v, strict=True)}
    state = lw.prepare(lw.load(path)).state(dict(zip(names, q, strict=True)), rates)
    order = [list(state.column.values).index(name) for name in names]
    np.testing.assert_allclose(state.M.values[np.ix_(order, order)], M, atol=1e-9)
    np.testing.assert_allclose(state.Q.values[order], -bias, atol=1e-8)
    np.testing.assert_allclose(state.a.values[order], a, rtol=1e-7, atol=1e-7)


def four_bar() -> str:
    """A parallelogram of two cranks, whose coupler ends at `tip` on the second crank."""
    parts = [
        link(name, 1.0, c, (0, 0, 0), BAR) for name, c in (("a", (0, 0.5, 0)), ("b", (0, 0.5, 0)), ("c", (1, 0, 0)))
    ]
    parts += ['<link name="tip"/>', '<link name="top"/>']
    parts.append(joint("A", "continuous", "base", "a", (0, 0, 0), (0, 0, 0), (0, 0, 1)))
    parts.append(joint("B", "continuous", "base", "b", (2, 0, 0), (0, 0, 0), (0, 0, 1)))
    parts.append(joint("C", "continuous", "a", "c", (0, 1, 0), (0, 0, 0), (0, 0, 1)))
    parts.append(joint("D", "fixed", "c", "tip", (2, 0, 0), (0, 0, 0), (0, 0, 1)))
    parts.append(joint("E", "fixed", "b", "top", (0, 1, 0), (0, 0, 0), (0, 0, 1)))
    return robot(*parts)


def test_a_loop_is_closed_by_a_joint_of_the_command_line(tmp_path: Path) -> None:
    """The parallelogram has one freedom, and its cranks turn alike."""
    path = written(four_bar(), tmp_path)
    out = tmp_path / "bar.yaml"
    assert lw.check(lw.load(path)).dof == 3
    assert answer(["convert", str(path), "--close", "tip=top:revolute", "-o", str(out)]) == 0
    model = lw.load(out)
    assert lw.check(model).dof == 1
    motion = lw.simulate(model, start=lw.Start({"theta_d:A": 1.0}, assemble=True), t_end=0.5)
    np.testing.assert_allclose(motion["theta:A"], motion["theta:B"], atol=1e-7)
    assert answer(["convert", str(path), "--close", "tip=tpo", "-o", str(out)]) == 2
    assert answer(["convert", str(path), "--close", "tip", "-o", str(out)]) == 2


def test_a_loop_is_closed_between_frames_of_joints_in_every_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The frame of joint D on c is that of the link tip; the axis is named, x, y or z."""
    path = written(four_bar(), tmp_path)
    one, other = (lw.load(path, close=[text]) for text in ("tip=top:revolute", "c.D=b.E:revolute:z"))
    start = lw.Start({"theta_d:A": 1.0}, assemble=True)
    motions = [lw.simulate(model, start=start, t_end=0.2) for model in (one, other)]
    np.testing.assert_allclose(motions[0].q, motions[1].q, atol=1e-12)
    assert lw.check(lw.load(path, close=["tip=top:spherical"])).dof == 1
    for command in (["check"], ["run", "--t-end", "0.02"], ["view", "--t-end", "0.02", "-o", str(tmp_path / "a.html")]):
        assert answer([*command, str(path), "--close", "c.D=b.E:revolute", "--assemble"]) == 0
    capsys.readouterr()
    for wrong in ("c.F=b.E", "c.D=b.E:revolute:w", "tip=top:hinge", "tip", "tip=top:universal"):
        assert answer(["check", str(path), "--close", wrong]) == 2, wrong
    assert answer(["check", "four_bar", "--close", "a=b"]) == 2
    assert "is for robots in URDF" in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(3))
def test_a_joint_that_mimics_another_moves_with_it_as_one_freedom(seed: int, tmp_path: Path) -> None:
    """(I + r^2 m) theta_dd = u . (c x M g) + r m g . w for a hinge and a slide at r theta + o, at speed."""
    random = np.random.default_rng([seed, 11])
    c, u, w, at, turned, away = random.normal(size=(6, 3))
    M, m, r, o = 1.7, 0.9, -0.8, 0.3
    J = random_inertia(random)
    mimic = f'<mimic joint="O" multiplier="{r}" offset="{o}"/>'
    text = robot(
        link("rod", M, c, (0, 0, 0), J),
        link("slider", m, random.normal(size=3), (0, 0, 0), BAR),
        joint("O", "continuous", "base", "rod", (0, 0, 1), at, u),
        joint("S", "prismatic", "base", "slider", away, turned, w, mimic),
    )
    model = lw.load(written(text, tmp_path))
    assert lw.check(model).dof == 1
    motion = lw.simulate(model, start={"theta_d:O": 4.0}, t_end=2.0)
    theta, own = motion["theta:O"], u / np.linalg.norm(u)
    np.testing.assert_allclose(motion["theta:S"], r * theta + o, atol=1e-9)
    frame, along = Rotation.from_euler("xyz", at), Rotation.from_euler("xyz", turned).apply(w / np.linalg.norm(w))
    inertia = own @ J @ own + M * np.sum(np.cross(own, c) ** 2) + r * r * m
    arms = np.array([(frame * Rotation.from_rotvec(x * own)).apply(c) for x in theta])
    expected = (np.cross(arms, M * G) @ frame.apply(own) + r * m * G @ along) / inertia
    np.testing.assert_allclose(motion["theta_dd:O"], expected, rtol=1e-7, atol=1e-7, err_msg=str(seed))


def test_joints_that_mimic_each_other_along_a_chain_start_where_they_follow(tmp_path: Path) -> None:
    """Fingers: the third follows the second, which follows the first, with offsets."""
    parts, names = [], ("base", "a", "b", "c")
    for k, name in enumerate(names[1:]):
        more = f'<mimic joint="{"ABC"[k - 1]}" multiplier="{k}" offset="0.2"/>' if k else ""
        parts.append(link(name, 1.0, (0.1, 0, 0), (0, 0, 0), BAR))
        parts.append(joint("ABC"[k], "revolute", names[k], name, (0.3, 0, 0), (0, 0, 0), (0, 0, 1), more))
    motion = lw.simulate(lw.load(written(robot(*parts), tmp_path)), start={"theta_d:A": 2.0}, t_end=4.0)
    np.testing.assert_allclose(motion["theta:B"], motion["theta:A"] + 0.2, atol=1e-9)
    np.testing.assert_allclose(motion["theta:C"], 2 * motion["theta:B"] + 0.2, atol=1e-9)
    assert motion["theta:A"][-1] > 2.0
    result = tmp_path / "motion.csv"  # the others follow other starts too
    assert answer(["run", str(tmp_path / "arm.urdf"), "--start", "A=0.7", "--t-end", "0.01", "-o", str(result)]) == 0
    started = lw.Trajectory.load(result)
    np.testing.assert_allclose([started[f"theta:{x}"][0] for x in "ABC"], [0.7, 0.9, 2.0], atol=1e-9)


def test_limits_become_end_stops_where_they_are_asked_for(tmp_path: Path) -> None:
    """A weight dropped on a stop presses it in by delta, m g (h + delta) = k delta^2 / 2, k of effort and range."""
    limit = '<limit lower="-0.5" upper="1.5" effort="300" velocity="1"/>'
    text = robot(
        link("weight", 2.0, (0, 0, 0), (0, 0, 0), BAR),
        joint("S", "prismatic", "base", "weight", (0, 0, 0), (0, 0, 0), (0, 0, 1), limit),
    )
    path = written(text, tmp_path)
    model = lw.load(path, limits="stops")
    assert not [note for note in model.notes if note.code == "limits-not-kept"]
    motion = lw.simulate(model, t_end=0.5, step=2e-5)
    k, weight = 300 / (1e-3 * 2.0), 2.0 * 9.81
    delta = (weight + np.sqrt(weight**2 + 2 * k * weight * 0.5)) / k
    assert motion.min("joint:S.displacement").value == pytest.approx(-0.5 - delta, abs=1e-6)
    with pytest.raises(ModelError, match="has no effort"):
        lw.load(written(text.replace('effort="300" ', ""), tmp_path), limits="stops")
    with pytest.raises(lw.errors.UsageError, match="stops"):
        lw.load(path, limits="stop")


def test_visuals_are_drawn_where_their_origins_put_them(tmp_path: Path) -> None:
    """The largest of a body, also of a link that is fixed to it; a mesh is left out with a note."""
    random = np.random.default_rng(5)
    xyz, rpy, at = random.normal(size=(3, 3))
    box = '<visual><geometry><box size="0.1 0.2 0.1"/></geometry></visual>'
    rod = f'''<visual><origin xyz="{" ".join(map(str, xyz))}" rpy="{" ".join(map(str, rpy))}"/>
      <geometry><cylinder radius="0.2" length="0.9"/></geometry></visual>'''
    mesh = '<visual><geometry><mesh filename="package://arm.stl"/></geometry></visual>'
    text = robot(
        link("rod", 1.0, (0.1, 0.2, 0.3), (0, 0, 0), BAR).replace("</link>", f"{box}{mesh}</link>"),
        link("tool", 1.0, (0, 0, 0), (0, 0, 0), BAR).replace("</link>", f"{rod}</link>"),
        link("ball", 1.0, (0, 0, 0), (0, 0, 0), BAR).replace(
            "</link>", '<visual><geometry><sphere radius="0.4"/></geometry></visual></link>'
        ),
        joint("O", "continuous", "base", "rod", (0, 0, 1), (0, 0, 0), (0, 1, 0)),
        joint("flange", "fixed", "rod", "tool", at, (0, 0, 0.7), (1, 0, 0)),
        joint("P", "continuous", "tool", "ball", (0, 0, 1), (0, 0, 0), (0, 1, 0)),
    )
    model = lw.load(written(text, tmp_path))
    assert [note.code for note in model.notes if note.code == "drawing-not-read"] == ["drawing-not-read"]
    rod, ball = scene(model).bodies[1:]
    flange = Rotation.from_euler("z", 0.7)
    assert rod.shape is not None
    assert ball.shape is not None
    mass_centre = model.bodies[0].mass_centre
    np.testing.assert_allclose(rod.shape["centre"], at + flange.apply(xyz) - mass_centre, atol=1e-12)
    np.testing.assert_allclose(
        rod.shape["axis"], (flange * Rotation.from_euler("xyz", rpy)).apply([0, 0, 1]), atol=1e-12
    )
    assert (rod.shape["radius"], rod.shape["length"], ball.shape["type"]) == (0.2, 0.9, "sphere")
    motion = lw.simulate(model, t_end=0.02)
    drawn = [solid for solid in picture_of(motion)[2].solids if solid.role == "shape"]
    assert [solid.form for solid in drawn] == ["cylinder", "ball"]


def test_a_floating_link_falls_and_a_planar_joint_leaves_a_plane(tmp_path: Path) -> None:
    parts = [link("free", 1.0, (0.1, 0, 0), (0, 0, 0), BAR), link("puck", 1.0, (0, 0, 0), (0, 0, 0), BAR)]
    parts.append(joint("F", "floating", "base", "free", (1, 2, 3), (0, 0, 0), (1, 0, 0)))
    parts.append(joint("P", "planar", "base", "puck", (0, 0, 1), (0.3, 0, 0), (0, 0, 1)))
    motion = lw.simulate(lw.load(written(robot(*parts), tmp_path)), t_end=0.5)
    assert motion["free.z"][-1] == pytest.approx(3 - 9.81 * 0.125, abs=1e-9)
    slope = 9.81 * np.sin(0.3)  # down the plane, whose normal is turned by 0.3 about x
    fallen = -0.5 * slope * 0.25 * np.array([0, np.cos(0.3), np.sin(0.3)])
    np.testing.assert_allclose([motion[f"puck.{x}"][-1] for x in "xyz"], np.array([0, 0, 1]) + fallen, atol=1e-9)


def test_check_run_and_convert_take_a_robot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = written(tree(1), tmp_path), tmp_path / "arm.yaml"
    for command in (
        ["check", str(path)],
        ["run", str(path), "--t-end", "0.05"],
        ["convert", str(path), "-o", str(out)],
    ):
        assert answer(command) == 0
        assert "[limits-not-kept]" in capsys.readouterr().out
    one, other = (lw.simulate(lw.load(x), t_end=0.05) for x in (path, out))
    np.testing.assert_array_equal(one.q, other.q)


ROD = link("rod", 1.0, (0, 0, 1), (0, 0, 0), BAR)
PIN = joint("O", "continuous", "base", "rod", (0, 0, 0), (0, 0, 0), (0, 1, 0))
LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
BROKEN = {
    "unsafe-xml: entities": (f"{LAUGHS}<robot name='&b;'><link name='base'/></robot>", 1),
    "unsafe-xml: file": ('<!DOCTYPE r SYSTEM "file:///etc/passwd"><robot name="r"/>', 1),
    "bad-xml: cut off": (robot(ROD, PIN)[:-9], 8),
    "bad-xml: twice": (robot(ROD, PIN) + "<robot/>", 9),
    "bad-xml: undefined": ("<robot name='r'>&lt;&xxe;</robot>", 1),
    "too-large: deep": ("<robot name='r'>" + "<link>" * 50, 1),
    "too-large: many": ("<robot name='r'>" + "<a/>" * 100_001, 1),
    "bad-tree: nothing": ("<robot name='r'></robot>", 1),
    "bad-tree: two roots": (robot(ROD, PIN, '<link name="lost"/>'), None),
    "bad-tree: circle": (robot(ROD, PIN, '<link name="x"/>', joint("X", "fixed", "x", "x", *[(0, 0, 1)] * 3)), None),
    "bad-tree: two parents": (robot(ROD, PIN, PIN.replace('"O"', '"P"')), None),
    "duplicate-name: link": (robot(ROD, ROD, PIN), None),
    "duplicate-name: joint": (robot(ROD, PIN, PIN), None),
    "unknown-link: child": (robot(ROD, PIN.replace('child link="rod"', 'child link="rob"')), None),
    "unknown-type: joint": (robot(ROD, PIN.replace("continuous", "continous")), None),
    "missing-key: child": (robot(ROD, PIN.replace('<child link="rod"/>', "")), None),
    "missing-key: name": (robot(ROD, PIN.replace('name="O" ', "")), None),
    "missing-key: mass": (robot(ROD.replace('<mass value="1.0"/>', ""), PIN), None),
    "bad-value: mass": (robot(ROD.replace('value="1.0"', 'value="1.0 kg"'), PIN), None),
    "bad-value: nan": (robot(ROD.replace('value="1.0"', 'value="nan"'), PIN), None),
    "bad-value: axis": (robot(ROD, PIN.replace("0.0 1.0 0.0", "0.0 1.0")), None),
    "bad-value: no axis": (robot(ROD, PIN.replace("0.0 1.0 0.0", "0.0 0.0 0.0")), None),
    "out-of-range: mass": (robot(ROD.replace('value="1.0"', 'value="-1.0"'), PIN), None),
    "bad-name: path": (robot(ROD.replace('"rod"', '"../rod"'), PIN.replace('"rod"', '"../rod"')), None),
    "unknown-joint: mimic": (robot(ROD, PIN.replace("</joint>", '<mimic joint="P"/></joint>')), None),
    "mimic: itself": (robot(ROD, PIN.replace("</joint>", '<mimic joint="O"/></joint>')), None),
    "mimic: floats": (
        robot(ROD, PIN.replace("continuous", "floating").replace("</joint>", '<mimic joint="O"/></joint>')),
        None,
    ),
    "foreign-format: xacro": (robot('<xacro:macro name="m"/>'), None),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_or_hostile_is_refused_with_its_line(case: str, tmp_path: Path) -> None:
    text, line = BROKEN[case]
    with pytest.raises(ModelError) as refused:
        lw.load(written(text, tmp_path))
    first = refused.value.errors[0]
    assert first.code == case.split(":")[0]
    assert first.file == str(tmp_path / "arm.urdf")
    assert first.line == line if line is not None else first.line
