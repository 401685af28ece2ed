"""Assembly modes: all positions in which a mechanism closes, counted and certified."""

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from published import REFERENCE

from linkwork.assembly import tracker
from linkwork.assembly.assemble import assemble
from linkwork.assembly.certificate import is_certified
from linkwork.assembly.homotopy import Homotopy, path_count, solve
from linkwork.assembly.modes import Mode, Modes, free_coordinates, in_mode, modes
from linkwork.assembly.problem import Problem
from linkwork.elements.bodies import Ground, PlanarBody, SpatialBody
from linkwork.elements.drivers import Driver
from linkwork.elements.joints import (
    AngleLock,
    Distance,
    Gear,
    Measure,
    PointOnLine,
    Prismatic,
    Revolute,
    Rigid,
    Rolling,
)
from linkwork.elements.kinds import Kind
from linkwork.elements.motions import Law, Polynomial
from linkwork.elements.spatial import Spherical
from linkwork.elements.stated import Stated
from linkwork.equations.body import body_equations
from linkwork.equations.equations import TIME
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.enclosures import arithmetic
from linkwork.expressions.graph import sin, symbol
from linkwork.expressions.parser import parse
from linkwork.model import Model
from linkwork.modelfile import load
from linkwork.native.kernels import size_of
from linkwork.view.modes import html, remarks

GROUND = Ground()
TRUST = REFERENCE / "trust"


def body(name: str, position: complex = 0j, angle: float = 0.0, **points: tuple[float, float]) -> PlanarBody:
    return PlanarBody(name, 1.0, 1.0, (position.real, position.imag), angle, points=points)


def xy(z: complex) -> tuple[float, float]:
    return z.real, z.imag


def turn(phi: float) -> complex:
    return complex(math.cos(phi), math.sin(phi))


def circles(a: complex, r: float, b: complex, s: float) -> list[complex]:
    """Where the circle about a with radius r meets the one about b with radius s."""
    d = abs(b - a)
    x = (d * d + r * r - s * s) / (2 * d)
    if abs(x) > r:
        return []
    y = math.sqrt(r * r - x * x)
    u = (b - a) / d
    return [a + u * complex(x, y), a + u * complex(x, -y)]


def place(mode: Mode, name: str) -> complex:
    return complex(mode.q[f"{name}.x"], mode.q[f"{name}.y"])


def same_sets(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float = 1e-12) -> None:
    assert len(found) == len(expected)
    left = list(expected)
    for x in found:
        nearest = min(range(len(left)), key=lambda k: float(np.max(np.abs(left[k] - x))))
        np.testing.assert_allclose(x, left.pop(nearest), atol=tolerance)


def proved(result: Modes) -> None:
    """Complete by homotopy, every mode certified and closed to rounding."""
    assert result.complete
    assert result.method == "homotopy"
    assert result.lost == 0
    assert all(mode.certified and not mode.singular and mode.residual < 1e-14 for mode in result.modes)


def four_bar(a: float, b: float, c: float, d: float, phi: float) -> Model:
    crank, coupler, rocker = (
        body("crank", 0j, phi),
        body("coupler", 0.3 + 1j, 0.2, P=(0.5, 0.4)),
        body("rocker", d + 0j, 1.0),
    )
    joints = (
        Revolute("O", GROUND, crank, (0.0, 0.0), (0.0, 0.0)),
        Revolute("A", crank, coupler, (a, 0.0), (0.0, 0.0)),
        Revolute("B", coupler, rocker, (b, 0.0), (c, 0.0)),
        Revolute("C", GROUND, rocker, (d, 0.0), (0.0, 0.0)),
    )
    return Model("four_bar", (crank, coupler, rocker), joints)


def test_four_bar_with_fixed_crank_has_the_two_modes_of_a_dyad() -> None:
    """Two circles meet in two points; the angles of coupler and rocker follow from these."""
    a, b, c, d, phi = 1.0, 2.5, 2.0, 2.2, math.pi / 3
    result = modes(four_bar(a, b, c, d, phi), keep=["crank.phi"])
    proved(result)
    assert (result.paths, result.finite, result.real, result.singular, result.slices) == (2, 2, 2, 0, 0)
    A = a * turn(phi)
    expected = [np.array([phi, np.angle((B - A) / b), np.angle((B - d) / c)]) for B in circles(A, b, complex(d), c)]
    same_sets(
        [np.array([np.angle(turn(m.q[f"{n}.phi"])) for n in ("crank", "coupler", "rocker")]) for m in result.modes],
        expected,
    )
    for mode in result.modes:
        assert mode.q["crank.phi"] == phi  # kept exactly
        P = place(mode, "coupler") + turn(mode.q["coupler.phi"]) * (0.5 + 0.4j)
        np.testing.assert_allclose(mode.points["coupler.P"], xy(P), atol=1e-15)


def test_four_bar_that_cannot_close_has_no_mode_and_that_is_proved() -> None:
    result = modes(four_bar(1.0, 0.3, 0.3, 2.2, math.pi / 3), keep=["crank.phi"])
    assert result.complete
    assert (result.finite, result.real) == (2, 0)  # a pair of conjugate positions


def test_a_stretched_four_bar_has_one_singular_mode() -> None:
    """Crank along the frame, coupler and rocker in one line: the two modes are one, and no test can certify it."""
    result = modes(four_bar(1.0, 0.7, 0.5, 2.2, 0.0), keep=["crank.phi"])
    assert result.complete
    assert (result.paths, result.finite, result.singular, result.real) == (2, 1, 1, 1)
    (mode,) = result.modes
    assert mode.singular
    assert not mode.certified
    np.testing.assert_allclose([mode.q["coupler.phi"], abs(mode.q["rocker.phi"])], [0.0, math.pi], atol=1e-6)
    said = " ".join(str(result).split())
    assert "1 real of 1 finite solution 2 paths followed" in said
    assert "1 solution is singular" in said


def slider_crank(l1: float, l2: float, offset: float, phi: float) -> Model:
    crank, rod, slider = body("crank", 0j, phi), body("rod", 0.5 + 0.5j, -0.3), body("slider", 2.0 + offset * 1j)
    joints = (
        Revolute("O", GROUND, crank, (0.0, 0.0), (0.0, 0.0)),
        Revolute("A", crank, rod, (l1, 0.0), (0.0, 0.0)),
        Revolute("B", rod, slider, (l2, 0.0), (0.0, 0.0)),
        Prismatic("S", GROUND, slider, (0.0, offset), (0.0, 0.0), (1.0, 0.0)),
    )
    return Model("slider_crank", (crank, rod, slider), joints)


def test_slider_crank_with_fixed_crank_has_two_modes() -> None:
    """x = l1 cos phi +- sqrt(l2^2 - (l1 sin phi - offset)^2)."""
    l1, l2, offset, phi = 1.0, 2.0, 0.3, 0.8
    result = modes(slider_crank(l1, l2, offset, phi), keep=["crank.phi"])
    proved(result)
    assert (result.paths, result.finite, result.real) == (2, 2, 2)
    root = math.sqrt(l2**2 - (l1 * math.sin(phi) - offset) ** 2)
    expected = [np.array([l1 * math.cos(phi) + sign * root, offset]) for sign in (1, -1)]
    same_sets([np.array([m.q["slider.x"], m.q["slider.y"]]) for m in result.modes], expected)


SIX_REAL = ([0j, 15.91 + 0j, 10j], [0j, 17.04 + 0j, 20.84 * turn(0.8822593)], [14.98, 15.38, 12.0])


def triad(base: list[complex], platform: list[complex], lengths: list[float], rods: bool) -> Model:
    """A body on three legs with pins: bars, or massless rods."""
    p = body("platform", 3.0 + 12.0j, 0.1)
    if rods:
        joints = tuple(
            Distance(f"L{k}", GROUND, p, xy(b), xy(s), r)
            for k, (b, s, r) in enumerate(zip(base, platform, lengths, strict=True))
        )
        return Model("rods", (p,), joints)
    legs = [body(f"leg{k}", b, 1.0 + 0.3 * k) for k, b in enumerate(base)]
    lower = [
        Revolute(f"B{k}", GROUND, leg, xy(b), (0.0, 0.0)) for k, (leg, b) in enumerate(zip(legs, base, strict=True))
    ]
    upper = [Revolute(f"P{k}", leg, p, (lengths[k], 0.0), xy(platform[k])) for k, leg in enumerate(legs)]
    return Model("triad", (*legs, p), (*lower, *upper))


def eliminated(base: list[complex], platform: list[complex], lengths: list[float]) -> list[np.ndarray]:
    """The positions of the platform by elimination: |z + theta s_k - b_k| = l_k for k = 0, 1, 2.

    Differences to the first equation are linear in (x, y); with these from Cramer's rule the first one, times the
    square of the determinant, is a Laurent polynomial in theta with six roots, found by interpolation.
    """

    def position(theta: complex) -> tuple[complex, complex, complex]:
        """Determinant, and determinant times z and times its conjugate, which is free where theta is complex."""
        back = 1 / theta
        # |z + e_k|^2 = l_k^2 with e_k = theta s_k - b_k: z conj(e) + conj(z) e + |z|^2 + |e|^2 = l^2
        e = [theta * s - b for s, b in zip(platform, base, strict=True)]
        f = [back * s.conjugate() - b.conjugate() for s, b in zip(platform, base, strict=True)]
        g = [r * r - x * y for r, x, y in zip(lengths, e, f, strict=True)]
        (a1, b1, c1), (a2, b2, c2) = ((f[k] - f[0], e[k] - e[0], g[k] - g[0]) for k in (1, 2))
        return a1 * b2 - a2 * b1, c1 * b2 - c2 * b1, a1 * c2 - a2 * c1

    def first_row(theta: complex) -> complex:
        D, z, c = position(theta)
        e = theta * platform[0] - base[0]
        f = platform[0].conjugate() / theta - base[0].conjugate()
        return (z + D * e) * (c + D * f) - D * D * lengths[0] ** 2

    n = 32
    samples = np.array([first_row(turn(2 * math.pi * k / n)) for k in range(n)])
    coefficients = np.fft.fft(samples) / n  # of theta^0 ... theta^15, theta^-16 ... theta^-1
    laurent = np.concatenate([coefficients[-6:], coefficients[:7]])  # theta^-6 ... theta^6
    large = np.flatnonzero(np.abs(laurent) > 1e-11 * np.max(np.abs(laurent)))
    roots = np.roots(laurent[large[0] : large[-1] + 1][::-1])
    result = []
    for theta in roots[np.abs(np.abs(roots) - 1) < 1e-7]:
        D, z, _ = position(complex(theta))
        result.append(np.array([(z / D).real, (z / D).imag, np.angle(theta)]))
    return result


@pytest.mark.parametrize("rods", [False, True], ids=["bars", "rods"])
def test_the_triad_has_the_six_modes_of_its_elimination(rods: bool) -> None:
    """Proportions for which all six solutions are real; bars and massless rods have the same positions."""
    expected = eliminated(*SIX_REAL)
    assert len(expected) == 6
    result = modes(triad(*SIX_REAL, rods=rods))
    proved(result)
    assert (result.paths, result.finite, result.infinite) == (6, 6, 0)
    found = [
        np.array([m.q["platform.x"], m.q["platform.y"], np.angle(turn(m.q["platform.phi"]))]) for m in result.modes
    ]
    same_sets(found, expected, tolerance=1e-8)  # the roots of the eliminant are known to fewer digits


@pytest.mark.parametrize("seed", range(8))
def test_random_triads_have_as_many_real_modes_as_their_elimination(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = [complex(*x) for x in rng.uniform(-2, 2, (3, 2))]
    platform = [complex(*x) for x in rng.uniform(-2, 2, (3, 2))]
    z, theta = complex(*rng.uniform(-1, 1, 2)), turn(rng.uniform(-3, 3))
    lengths = [abs(z + theta * s - b) for s, b in zip(platform, base, strict=True)]
    expected = eliminated(base, platform, lengths)
    result = modes(triad(base, platform, lengths, rods=False))
    proved(result)
    assert result.finite == 6
    found = [
        np.array([m.q["platform.x"], m.q["platform.y"], np.angle(turn(m.q["platform.phi"]))]) for m in result.modes
    ]
    same_sets(found, expected, tolerance=1e-7)
    assert any(abs(x[0] + 1j * x[1] - z) < 1e-9 for x in found)


POINTS = {
    "O": 0j, "H": 0.4 - 0.2j, "N": 0.1 - 0.8j, "M": 1.9 - 1.4j, "G": 1.6 + 0.4j,
    "D": 2.2 - 0.4j, "C": 2.5 - 1.4j, "B": 2.9 - 1.1j, "A": 2.9 - 1.9j, "K": 3.4 - 1.9j,
}  # fmt: skip


def warsaw() -> Model:
    """Eight bodies, nine revolute and two prismatic joints, two driven lengths [tartari2019, problem 12]."""
    frames = {"1": "ODAM", "2": "DCG", "3": "AKB", "4": "CB", "5": "N", "6": "M", "7": "H", "8": "G"}
    bodies = {}
    for name, points in frames.items():
        origin = POINTS[points[0]]
        axis = POINTS[points[1]] - origin if len(points) > 1 else 1.0 + 0j
        unit = axis / abs(axis)
        local = {p: xy((POINTS[p] - origin) / unit) for p in points}
        bodies[f"b{name}"] = body(f"b{name}", origin, float(np.angle(unit)), **local)

    def pin(i: str, j: str, point: str) -> Revolute:
        at = xy(POINTS[point]) if i == "0" else bodies[f"b{i}"].points[point]
        return Revolute(
            point, GROUND if i == "0" else bodies[f"b{i}"], bodies[f"b{j}"], at, bodies[f"b{j}"].points[point]
        )

    pins = [pin(*text) for text in ("01O", "07H", "05N", "12D", "13A", "16M", "28G", "24C", "34B")]
    slides = [
        Prismatic(f"S{i}{j}", bodies[f"b{i}"], bodies[f"b{j}"], (0.0, 0.0), (0.0, 0.0), xy(POINTS[q] - POINTS[p]))
        for i, j, p, q in ("56NM", "78HG")
    ]
    drivers = (
        Driver("NM", slides[0], "displacement", Law(abs(POINTS["M"] - POINTS["N"]) - 0.25 * sin(2.0 * TIME))),
        Driver("HG", slides[1], "displacement", Law(abs(POINTS["G"] - POINTS["H"]) + 0.30 * sin(5.0 * TIME))),
    )
    return Model("warsaw_problem12", tuple(bodies.values()), (*pins, *slides), drivers)


def warsaw_modes() -> Iterator[np.ndarray]:
    """M, G, D, A, C, B of all modes by circles: about O and N, about D and H, about A and C."""
    P = POINTS

    def carried(point: str, start: str, end: str, new_start: complex, new_end: complex) -> complex:
        return new_start + (P[point] - P[start]) * (new_end - new_start) / (P[end] - P[start])

    def distance(a: str, b: str) -> float:
        return abs(P[a] - P[b])

    for M in circles(P["O"], distance("O", "M"), P["N"], distance("N", "M")):
        D, A = (carried(p, "O", "M", P["O"], M) for p in "DA")
        for G in circles(D, distance("D", "G"), P["H"], distance("H", "G")):
            C = carried("C", "D", "G", D, G)
            for B in circles(A, distance("A", "B"), C, distance("C", "B")):
                yield np.array([x for point in (M, G, D, A, C, B) for x in xy(point)])


def test_warsaw_problem_12_has_the_modes_of_its_three_dyads() -> None:
    """Body 1 with the ram NM, body 2 with the ram HG, bodies 3 and 4: circle intersections give all modes."""
    result = modes(warsaw())
    proved(result)
    expected = list(warsaw_modes())
    assert result.real == len(expected)
    assert result.finite == 8
    assert result.paths == 2 + 2 * 2 + 4 * 2
    names = ("b1.M", "b2.G", "b1.D", "b1.A", "b2.C", "b3.B")
    same_sets(
        [np.array([x for name in names for x in m.points[name]]) for m in result.modes], expected, tolerance=1e-12
    )
    start = {name: complex(*xy) for name, xy in result.modes[0].points.items()}  # the nearest to the start is the start
    assert all(abs(z - POINTS[name.split(".")[1]]) < 1e-13 for name, z in start.items())


def test_keeping_what_drivers_determine_selects_modes() -> None:
    """More equations than coordinates: of all modes those are left that have the kept angle."""
    start = float(np.angle(POINTS["D"] - POINTS["O"]))
    everything = [m for m in modes(warsaw()).modes if abs(turn(m.q["b1.phi"]) - turn(start)) < 1e-9]
    result = modes(warsaw(), keep=["b1.phi"])
    assert not result.complete  # whether all equations agree is a matter of rounding
    assert "over-determined" in result.notes[0]
    same_sets([np.array(list(m.q.values())) for m in result.modes], [np.array(list(m.q.values())) for m in everything])


def dyad_chain(lengths: list[tuple[float, float]], pivots: list[complex], phi: float) -> Model:
    """A crank of length one at 0, then for every k a bar r from the last tip and a bar s from pivot k, pinned."""
    crank = body("crank", 0j, phi)
    bodies, joints = [crank], [Revolute("O", GROUND, crank, (0.0, 0.0), (0.0, 0.0))]
    tip, s_tip = crank, 1.0
    for k, ((r, s), pivot) in enumerate(zip(lengths, pivots, strict=True)):
        bar, rocker = body(f"bar{k}", 0.3j * k, 0.1 * k), body(f"rocker{k}", pivot, 1.0)
        bodies += [bar, rocker]
        joints += [
            Revolute(f"T{k}", tip, bar, (s_tip, 0.0), (0.0, 0.0)),
            Revolute(f"Q{k}", bar, rocker, (r, 0.0), (s, 0.0)),
            Revolute(f"P{k}", GROUND, rocker, xy(pivot), (0.0, 0.0)),
        ]
        tip, s_tip = rocker, s
    return Model("dyads", tuple(bodies), tuple(joints))


def chain_tips(lengths: list[tuple[float, float]], pivots: list[complex], tip: complex) -> Iterator[list[complex]]:
    if not lengths:
        yield []
        return
    (r, s), pivot = lengths[0], pivots[0]
    for point in circles(tip, r, pivot, s):
        for rest in chain_tips(lengths[1:], pivots[1:], point):
            yield [point, *rest]


numbers = st.floats(0.3, 2.0)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(numbers, numbers, st.floats(-2.0, 2.0), st.floats(-2.0, 2.0)), min_size=1, max_size=3),
    st.floats(-3.0, 3.0),
)
def test_chains_of_dyads_have_the_modes_of_their_circles(dyads: list[tuple[float, ...]], phi: float) -> None:
    """Each dyad doubles the modes for which its two circles meet."""
    lengths = [(r, s) for r, s, _, _ in dyads]
    pivots = [complex(x, y) for _, _, x, y in dyads]
    expected = list(chain_tips(lengths, pivots, turn(phi)))
    nearest = _least_margin(lengths, pivots, turn(phi))
    if nearest < 1e-3:
        return  # circles that touch: the count is a matter of rounding
    result = modes(dyad_chain(lengths, pivots, phi), keep=["crank.phi"])
    assert result.complete
    assert all(mode.residual < 1e-12 for mode in result.modes)
    found = [
        np.array([place(m, f"rocker{k}") + s * turn(m.q[f"rocker{k}.phi"]) for k, (_, s) in enumerate(lengths)])
        for m in result.modes
    ]
    same_sets(found, [np.array(tips) for tips in expected], tolerance=1e-9)


def _least_margin(lengths: list[tuple[float, float]], pivots: list[complex], tip: complex) -> float:
    """How far the circles are from touching, over all branches."""
    if not lengths:
        return math.inf
    (r, s), pivot = lengths[0], pivots[0]
    d = abs(pivot - tip)
    margin = min(abs(d - r - s), abs(d - abs(r - s)), d)
    if margin < 1e-3:
        return margin
    return min([margin, *(_least_margin(lengths[1:], pivots[1:], point) for point in circles(tip, r, pivot, s))])


def test_three_dyads_that_always_reach_have_eight_modes() -> None:
    """Bars so long that the circles meet whatever the branch: 2 x 2 x 2 by construction."""
    lengths, pivots = [(3.0, 2.9), (3.1, 3.0), (3.3, 3.2)], [2.0 + 0j, 1.0 - 1.0j, -1.0 + 0.5j]
    result = modes(dyad_chain(lengths, pivots, 0.4), keep=["crank.phi"])
    proved(result)
    assert (result.paths, result.finite, result.real) == (2 + 4 + 8, 8, 8)


def test_four_bar_without_kept_angle_is_a_curve_of_degree_six() -> None:
    """Witness points: the closure curve meets a hyperplane of (x, y, cos, sin) in six points."""
    model = four_bar(1.0, 2.5, 2.0, 2.2, math.pi / 3)
    results = [modes(model, seed=seed) for seed in (1, 2, 3)]
    for result in results:
        proved(result)
        assert (result.slices, result.degree, result.paths) == (1, 6, 6)
        assert result.real % 2 == 0  # complex ones come in pairs
    e = body_equations(model)
    problem = Problem.of(model)
    for mode in results[0].modes:
        assert np.max(np.abs(problem.evaluate(e.Psi, np.array(list(mode.q.values()))))) < 1e-14


def test_a_crank_alone_is_a_circle() -> None:
    """x^2 + y^2 = 1 has degree two."""
    crank = body("crank", 1.0 + 0j)
    result = modes(Model("crank", (crank,), (Revolute("O", GROUND, crank, (0.0, 0.0), (-1.0, 0.0)),)))
    assert (result.slices, result.degree, result.real) == (1, 2, 2)


def test_parallel_cranks_with_a_dependent_third_one() -> None:
    """Three equal cranks carry one coupler: more equations than freedoms, yet one freedom; only the parallel mode."""
    pivots = (0.0, 1.3, 2.9)
    cranks = [body(f"crank{k}", complex(x), math.pi / 3) for k, x in enumerate(pivots)]
    coupler = body("coupler", turn(math.pi / 3))
    lower = [
        Revolute(f"O{k}", GROUND, c, (x, 0.0), (0.0, 0.0)) for k, (c, x) in enumerate(zip(cranks, pivots, strict=True))
    ]
    upper = [
        Revolute(f"A{k}", c, coupler, (1.0, 0.0), (x, 0.0)) for k, (c, x) in enumerate(zip(cranks, pivots, strict=True))
    ]
    model = Model("parallel", (*cranks, coupler), (*lower, *upper))
    kept = modes(model, keep=["crank0.phi"])
    assert not kept.complete
    assert "over-determined" in kept.notes[0]
    (mode,) = kept.modes
    assert abs(mode.q["coupler.phi"]) < 1e-12
    assert not mode.certified  # more equations than coordinates: there is no square system to test
    free = modes(model)
    assert (free.real, [m.freedoms for m in free.motions], free.complete) == (0, [1], False)
    assert "special-geometry" in free.notes[0]


@pytest.mark.slow
def test_peaucellier_with_its_crank_held_has_four_modes_and_two_curves() -> None:
    """A and B are where circles about O and C meet; P has two places where A and B differ, else it is on a circle."""
    model = load(TRUST / "peaucellier.yaml")
    C = 1.0 + turn(0.5)
    pins = circles(0j, 3.0, C, 1.2)
    result = modes(model, keep=["in.phi"])
    expected = [np.array([A, B, P]) for A in pins for B in pins if A != B for P in circles(A, 1.2, B, 1.2)]
    same_sets([np.array([complex(*m.points[p]) for p in ("oa.A", "ob.B", "pa.P")]) for m in result.modes], expected)
    assert all(m.certified and m.freedoms == 0 for m in result.modes)
    assert (result.finite, result.singular, result.lost, result.complete) == (4, 0, 0, False)
    assert [m.freedoms for m in result.motions] == [1, 1]
    same_sets([np.array([complex(*m.points["oa.A"])]) for m in result.motions], [np.array([A]) for A in pins])
    for m in result.motions:
        A, B, P = (complex(*m.points[p]) for p in ("oa.A", "ob.B", "pb.P"))
        assert abs(A - B) < 1e-12
        assert abs(P - A) == pytest.approx(1.2, abs=1e-12)
    assert "2 curves of positions besides" in list(remarks(result))
    assert html(result, model).count("<figure>") == 6
    q = result.motions[0].q
    again = modes(model.with_start(q, dict.fromkeys(q, 0.0)), keep=["in.phi"])  # wherever it starts
    assert (again.real, again.finite, [m.freedoms for m in again.motions]) == (4, 4, [1, 1])


def test_a_rhombus_folded_onto_its_ground_turns_freely() -> None:
    """Crank pin and rocker pivot coincide: coupler and rocker turn about them, and stop doing so beside it."""
    folded = modes(four_bar(1.0, 1.0, 1.0, 1.0, 0.0), keep=["crank.phi"])
    assert (folded.real, [m.freedoms for m in folded.motions], folded.complete) == (0, [1], False)
    beside = modes(four_bar(1.0, 1.0, 1.0, 1.0, 1e-4), keep=["crank.phi"])
    assert (beside.real, beside.motions, beside.complete) == (2, (), True)
    between = modes(four_bar(1.0, 1.0, 1.0, 1.0, 1e-7), keep=["crank.phi"])  # too near to it for the digits there are
    assert not between.complete
    assert "ill-conditioned" in between.notes[0]


def test_what_is_kept_is_chosen_where_rows_have_their_rank() -> None:
    """All links of the sketch lie in one line, where a second freedom shows that the mechanism does not have."""
    model = load(TRUST / "flat.yaml")
    assert free_coordinates(model) == free_coordinates(model, ["a.phi"]) == ("a.phi",)
    result = modes(model, keep=["a.phi"])
    proved(result)
    B = circles(1.0 + 0j, 2.0, 3.0 + 0j, 1.5)
    same_sets([np.array([complex(*m.points["b.B"])]) for m in result.modes], [np.array([z]) for z in B])


@pytest.mark.parametrize("far", [1e3, 1e12, 1e160])
def test_a_body_drawn_far_away_changes_nothing(far: float) -> None:
    """At 1e3 m joints were said to contradict each other, at 1e18 m a position that is not closed was called a mode."""
    model = four_bar(1.0, 2.0, 2.0, 3.0, 0.3)
    e = body_equations(model)
    drawn = dict(zip(e.q_names, e.start()[0].tolist(), strict=True)) | {"coupler.x": far, "rocker.y": -far}
    model = model.with_start(drawn, dict.fromkeys(drawn, 0.0))
    assert free_coordinates(model) == ("crank.phi",)
    result = modes(model, keep=["crank.phi"])
    proved(result)
    B = circles(turn(0.3), 2.0, 3.0 + 0j, 2.0)
    same_sets(
        [np.array([m.q["coupler.x"] + 1j * m.q["coupler.y"] + 2.0 * turn(m.q["coupler.phi"])]) for m in result.modes],
        [np.array([z]) for z in B],
    )
    assert assemble(model).residual < 1e-14


def test_what_is_kept_of_a_stretched_parallelogram_is_one_angle() -> None:
    """In line, crank and rocker could turn either way; the mechanism has one freedom all the same."""
    assert free_coordinates(four_bar(1.0, 2.0, 1.0, 2.0, 0.0)) == ("crank.phi",)


def test_all_ways_to_modes_check_the_model() -> None:
    """A negative mass is refused as in every other analysis."""
    model = four_bar(1.0, 2.5, 2.0, 2.2, 1.0)
    heavy = replace(model, bodies=(replace(model.bodies[0], mass=-1.0), *model.bodies[1:]))
    for ask in (modes, free_coordinates, lambda model: in_mode(model, 1)):
        with pytest.raises(ModelError, match="negative-mass"):
            ask(heavy)


def test_a_motion_is_not_taken_for_a_number_of_modes() -> None:
    """Three equal parallel legs under a straight platform: it swings, and a list of positions is not complete."""
    pins = [0j, 1.0 + 0j, 2.0 + 0j]
    result = modes(triad(pins, pins, [1.0, 1.0, 1.0], rods=False))
    assert not result.complete
    assert any("special-geometry" in note for note in result.notes)


def test_lengths_of_any_unit_give_the_same_modes() -> None:
    """The triad in micrometres and in kilometres."""
    base, platform, lengths = SIX_REAL
    for scale in (1e-6, 1e3):
        scaled = triad(
            [scale * b for b in base], [scale * s for s in platform], [scale * r for r in lengths], rods=False
        )
        result = modes(scaled)
        assert (result.complete, result.real, result.finite) == (True, 6, 6)
        assert all(mode.certified and mode.residual < 1e-14 * scale for mode in result.modes)


def whitworth(slot: str) -> Model:
    """A crank pin drives a slotted lever: pin in a slot, or a block with a pin."""
    crank, lever, block = body("crank", 0j, 0.7), body("lever", -2.0 + 0j, 0.3), body("block", 0.7 + 0.6j, 0.3)
    pins = (
        Revolute("O", GROUND, crank, (0.0, 0.0), (0.0, 0.0)),
        Revolute("Q", GROUND, lever, (-2.0, 0.0), (0.0, 0.0)),
    )
    if slot == "pin":
        return Model(slot, (crank, lever), (*pins, PointOnLine("S", lever, crank, (0.0, 0.2), (1.0, 0.0), (1.0, 0.0))))
    slide = Prismatic("S", lever, block, (0.0, 0.2), (0.0, 0.0), (1.0, 0.0), 0.0)
    return Model(slot, (crank, lever, block), (*pins, Revolute("A", crank, block, (1.0, 0.0), (0.0, 0.0)), slide))


@pytest.mark.parametrize("slot", ["pin", "block"])
def test_slotted_lever_has_two_modes(slot: str) -> None:
    """The line at distance 0.2 from the pivot passes the pin in two directions."""
    result = modes(whitworth(slot), keep=["crank.phi"])
    proved(result)
    assert result.paths == 2
    d = turn(0.7) + 2.0
    side = math.asin(0.2 / abs(d))
    expected = [np.array([turn(np.angle(d) - side)]), np.array([turn(np.angle(d) + side + math.pi)])]
    same_sets([np.array([turn(m.q["lever.phi"])]) for m in result.modes], expected)


def test_driven_distance_counts_only_with_its_sign() -> None:
    """A ram between the ground and a crank pin: two modes at a length, none at a negative one."""
    crank = body("crank", 0j, 0.7)
    pin = Revolute("O", GROUND, crank, (0.0, 0.0), (0.0, 0.0))
    ram = Measure("H", GROUND, crank, (-2.0, 0.0), (1.0, 0.0))
    found = {
        f: modes(Model("ram", (crank,), (pin,), (Driver("ram", ram, "distance", Polynomial(f)),))) for f in (2.5, -2.5)
    }
    proved(found[2.5])
    cosine = (2.5**2 - 5.0) / 4.0
    assert sorted(m.q["crank.phi"] for m in found[2.5].modes) == pytest.approx([-math.acos(cosine), math.acos(cosine)])
    assert found[-2.5].real == 0


def test_rigid_and_locked_bodies_follow_their_angles() -> None:
    """A crank in two parts welded at a right angle, and a slider on a bar that keeps its direction."""
    crank, arm, foot = body("crank", 0j, 0.5), body("arm", 0j, 0.5 + math.pi / 2), body("foot", 3.0 + 1j, 0.2)
    joints = (
        Revolute("O", GROUND, crank, (0.0, 0.0), (0.0, 0.0)),
        Rigid("W", crank, arm, (1.0, 0.0), (0.0, 0.0)),
        AngleLock("K", GROUND, foot),
        Distance("D", arm, foot, (1.0, 0.0), (0.0, 0.0), 2.0),
        PointOnLine("L", GROUND, foot, (0.0, 0.4), (0.0, 0.0), (1.0, 0.0)),
    )
    result = modes(Model("welded", (crank, arm, foot), joints), keep=["crank.phi"])
    proved(result)
    tip = turn(0.5) * (1 + 1j)
    reach = math.sqrt(4.0 - (tip.imag - 0.4) ** 2)
    assert sorted(m.q["foot.x"] for m in result.modes) == pytest.approx([tip.real - reach, tip.real + reach], abs=1e-12)
    assert all(m.q["arm.phi"] - m.q["crank.phi"] == pytest.approx(math.pi / 2, abs=1e-14) for m in result.modes)


def geared(ratio: float) -> Model:
    """A five-bar whose cranks are geared to each other."""
    a, b, k, l = body("a", 0j, 0.4), body("b", 3.0 + 0j, 1.9), body("k"), body("l")  # noqa: E741
    joints = (
        Revolute("O", GROUND, a, (0.0, 0.0), (0.0, 0.0)),
        Revolute("Q", GROUND, b, (3.0, 0.0), (0.0, 0.0)),
        Gear("G", a, b, ratio, 1.0),
        Revolute("A", a, k, (1.0, 0.0), (0.0, 0.0)),
        Revolute("B", b, l, (1.2, 0.0), (0.0, 0.0)),
        Revolute("C", k, l, (2.0, 0.0), (2.1, 0.0)),
    )
    return Model("geared", (a, b, k, l), joints)


def geared_modes(ratio: float, turns: int) -> list[float]:
    """Angles of crank a for which bar l has its length while bar k lies along x: sign changes over a fine grid."""

    def gap(phi: np.ndarray) -> np.ndarray:
        other = 3.0 + 1.2 * np.exp(1j * (1.9 - ratio * (phi - 0.4)))
        return np.abs(np.exp(1j * phi) + 2.0 - other) - 2.1

    grid = 0.4 + np.linspace(-math.pi * turns, math.pi * turns, 200001)[:-1]
    value = gap(grid)
    return [float(x) for x in grid[np.flatnonzero(value * np.roll(value, -1) < 0)]]


@pytest.mark.parametrize("ratio", [2.0, 5.0, 6.0, 8.0])
def test_a_gear_of_whole_ratio_is_polynomial(ratio: float) -> None:
    """exp(i phi_b) is a power of exp(i phi_a); all modes of a one-angle equation are found, as a scan finds them."""
    result = modes(geared(ratio), keep=["k.phi"])
    proved(result)
    assert result.paths == result.finite == 2 * ratio + 2  # no path is spent on infinity
    expected = geared_modes(ratio, 1)
    assert len(expected) == {2.0: 4, 5.0: 8, 6.0: 8, 8.0: 12}[ratio]
    # the scan knows an angle to its step
    assert sorted(m.q["a.phi"] for m in result.modes) == pytest.approx(sorted(expected), abs=1e-4)


def test_other_gears_and_rolling_are_searched_and_say_so() -> None:
    """What is found is right and certified; nothing is claimed about what is not."""
    result = modes(geared(2.5), keep=["a.phi"])
    assert (result.method, result.complete, result.degree) == ("multi-start", False, None)
    assert result.real == 2
    assert all(m.certified and m.residual < 1e-12 for m in result.modes)
    assert any("not-complete" in note for note in result.notes)
    assert "2 modes, by a search from many starts" in str(result)
    disc, bar = body("disc", 0.5j), body("bar", 3.0 + 2.0j)
    joints = (
        Rolling("R", GROUND, disc, (0.0, 0.0), (0.0, 0.0), (1.0, 0.0), 0.5),
        Revolute("P", disc, bar, (0.3, 0.0), (-1.0, 0.0)),
        Revolute("Q", GROUND, bar, (2.0, 1.0), (1.0, 0.0)),
    )
    rolled = modes(Model("rolling", (disc, bar), joints))
    assert not rolled.complete
    for mode in rolled.modes:
        assert mode.certified
        assert mode.q["disc.x"] == pytest.approx(-0.5 * mode.q["disc.phi"], abs=1e-13)


def test_too_many_paths_fall_back_to_a_search() -> None:
    """The same six modes of the triad, but no claim."""
    result = modes(triad(*SIX_REAL, rods=False), path_limit=5)
    assert (result.method, result.complete) == ("multi-start", False)
    assert 1 <= result.real <= 6
    assert all(mode.residual < 1e-10 for mode in result.modes)


def test_spatial_mechanisms_are_searched() -> None:
    """A rod on a ball joint: three freedoms, so three slices; positions close."""
    rod = SpatialBody("rod", 1.0, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    ball = Spherical("B", GROUND, rod, (0.0, 0.0, 0.0), (-1.0, 0.0, 0.0))
    result = modes(Model("ball", (rod,), (ball,), gravity=(0.0, 0.0, -9.81), space="spatial"))
    assert (result.complete, result.slices) == (False, 3)
    assert result.real >= 1
    for mode in result.modes:
        assert math.hypot(*(mode.q[f"rod.{x}"] for x in "xyz")) == pytest.approx(1.0, abs=1e-12)
        assert math.hypot(*(mode.q[f"rod.e{k}"] for k in range(4))) == pytest.approx(1.0, abs=1e-12)


def test_contradictions_have_no_mode() -> None:
    """A driver and a kept angle that differ; the note says that no position can help."""
    model = four_bar(1.0, 2.5, 2.0, 2.2, math.pi / 3)
    driver = Driver("motor", model.joints[0], "angle", Polynomial(0.5))
    result = modes(Model("driven", model.bodies, model.joints, (driver,)), keep=["crank.phi"])
    assert (result.complete, result.real) == (True, 0)
    assert "contradiction" in result.notes[0]


def test_unknown_coordinates_are_refused_with_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'crank\.phi'"):
        modes(four_bar(1.0, 2.5, 2.0, 2.2, 1.0), keep=["crank.fi"])


def test_the_result_is_ready_for_json() -> None:
    result = modes(four_bar(1.0, 2.5, 2.0, 2.2, 1.0), keep=["crank.phi"]).as_dict()
    text = json.loads(json.dumps(result))
    assert {"modes", "paths", "finite", "real", "singular", "complete", "degree"} <= set(text)
    assert {"q", "residual", "certified"} <= set(text["modes"][0])


def test_results_do_not_depend_on_the_random_numbers() -> None:
    """Other start systems, the same modes in the same order."""
    first, second = (modes(triad(*SIX_REAL, rods=False), seed=seed) for seed in (1, 7))
    for a, b in zip(first.modes, second.modes, strict=True):
        np.testing.assert_allclose(list(a.q.values()), list(b.q.values()), atol=1e-12)


def test_the_certificate_refuses_what_is_no_solution() -> None:
    """A mode moved by a thousandth is not certified."""
    model = four_bar(1.0, 2.5, 2.0, 2.2, math.pi / 3)
    problem = Problem.of(model, ["crank.phi"])
    mode = modes(model, keep=["crank.phi"]).modes[0]
    q = np.array(list(mode.q.values()))
    assert problem.is_certified(q)
    assert not problem.is_certified(q + 1e-3)
    assert not problem.is_certified(q + 1e-7)


def test_two_zeros_in_a_box_are_not_certified_as_one() -> None:
    """At a fold, x^2 = 1e-24, every box about one of the zeros that can be told from rounding holds the other too."""
    x = symbol("x")
    assert is_certified([x * x - 1e-2], [x], {}, np.array([0.1]), np.ones(1))
    assert not is_certified([x * x - 1e-24], [x], {}, np.array([1e-12]), np.ones(1))


@settings(max_examples=100, deadline=None)
@given(*[st.floats(-1e3, 1e3).filter(lambda x: x == 0.0 or abs(x) > 1e-100)] * 4)
def test_enclosures_hold_the_exact_result(a: float, b: float, c: float, d: float) -> None:
    """Sums, products and quotients of any members lie inside, in exact arithmetic."""
    x, y = [*sorted((a, b)), 0.0, 0.0], [*sorted((c, d)), 0.0, 0.0]
    exact: dict[str, Any] = {"add": lambda p, q: p + q, "sub": lambda p, q: p - q, "mul": lambda p, q: p * q}
    if y[0] > 1e-9 or y[1] < -1e-9:
        exact["div"] = lambda p, q: p / q
    for name, operation in exact.items():
        low, high, *_ = arithmetic()[name](x, y)
        for p in (x[0], x[1], 0.5 * (x[0] + x[1])):
            for q in y[:2]:
                assert Fraction(low) <= operation(Fraction(p), Fraction(q)) <= Fraction(high)


@pytest.mark.parametrize(
    "row", ["x + if(x < 0, -1, 1)*1e-12", "atan2(x, -1) + x - 1e-12", "sqrt(x) + x", "log(x + 1e-30) - x", "1/x - 1e12"]
)
def test_nothing_is_proved_where_a_row_jumps_or_ends(row: str) -> None:
    """At x = 0 these rows have no zero, one on the border of their values, or a jump through zero."""
    x = symbol("x")
    assert is_certified([x + 1e-12 * sin(x)], [x], {}, np.zeros(1), np.ones(1))
    assert not is_certified([parse(row, {"x": x})], [x], {}, np.zeros(1), np.ones(1))


def test_the_number_of_paths_of_loops_is_binomial() -> None:
    """l loops with 2 l angles: binomial(2 l, l), against 4^l by total degree."""
    for loops in range(1, 6):
        u, w = list(range(loops)), list(range(loops, 2 * loops))
        bilinear = {(i, j): 1.0 + 0j for i in u for j in w} | {(): 1.0 + 0j}
        system = [bilinear] * (2 * loops)
        assert path_count(system, [u, w]) == math.comb(2 * loops, loops)
        assert path_count(system, [u + w]) == 4**loops


def test_homotopy_finds_multiple_and_infinite_solutions() -> None:
    """x^2 = y, y^2 = 0 meet four times at the origin; (x - 1)^2 = 0, x y = 1 twice at (1, 1) and twice at infinity."""
    rng = np.random.default_rng(5)
    origin = solve([{(0, 0): 1, (1,): -1}, {(1, 1): 1}], [[0, 1]], rng)
    np.testing.assert_allclose(origin.points, [[0, 0]], atol=1e-8)
    assert (origin.multiplicity.tolist(), origin.regular.tolist(), origin.failed) == ([4], [False], 0)
    one = solve([{(0, 0): 1, (0,): -2, (): 1}, {(0, 1): 1, (): -1}], [[0, 1]], rng)
    np.testing.assert_allclose(one.points, [[1, 1]], atol=1e-8)
    assert (one.multiplicity.tolist(), one.infinite, one.failed) == ([2], 2, 0)


@pytest.mark.parametrize("k", range(1, 13))
def test_homotopy_finds_all_roots_of_unity(k: int, rng: np.random.Generator) -> None:
    """x^k = 1 has k roots, whatever the degree is to the number of unknowns."""
    found = solve([{(0,) * k: 1, (): -1}], [[0]], rng)
    assert (found.paths, found.failed, found.infinite, found.regular.all()) == (k, 0, 0, True)
    same_sets(list(found.points), [np.array([turn(2 * math.pi * j / k)]) for j in range(k)], tolerance=1e-13)


@pytest.mark.parametrize(
    ("system", "isolated", "dimensions"),
    [
        # the circle twice; the sphere three times
        ([{(0, 0): 1, (1, 1): 1, (): -1}] * 2, [], {1}),
        ([{(0, 0): 1, (1, 1): 1, (2, 2): 1, (): -1}] * 3, [], {2}),
        # x y = x (x - 1) = 0: the line x = 0 and the point (1, 0)
        ([{(0, 1): 1}, {(0, 0): 1, (0,): -1}], [(1, 0)], {1}),
        # (x y - 1)^2 = 0 twice: a double hyperbola, where the Jacobian vanishes
        ([{(0, 0, 1, 1): 1, (0, 1): -2, (): 1}] * 2, [], {1}),
        # x^2 = y^3 = 0: one point of multiplicity six
        ([{(0, 0): 1}, {(1, 1, 1): 1}], [(0, 0)], set()),
    ],
    ids=["circle", "sphere", "line and point", "double curve", "multiple point"],
)
@pytest.mark.sampled
def test_ends_on_curves_and_surfaces_are_told_from_isolated_ones(
    system: list[Any], isolated: list[tuple[int, ...]], dimensions: set[int], rng: np.random.Generator
) -> None:
    """The local dimension at every end; random combinations do not change the solutions."""
    n = 1 + max(k for f in system for term in f for k in term)
    mixed = []
    for row in rng.normal(size=(n, len(system))):
        f: dict[tuple[int, ...], complex] = {}
        for a, g in zip(row, system, strict=True):
            for term, c in g.items():
                f[term] = f.get(term, 0) + a * c
        mixed.append(f)
    found = solve(mixed, [list(range(n))], rng)
    assert found.failed == 0
    assert set(found.dimension[found.dimension > 0].tolist()) == dimensions
    same_sets(list(found.points[found.dimension == 0]), [np.array(x) for x in isolated], tolerance=1e-6)


def test_paths_can_be_stepped_through_as_python(rng: np.random.Generator) -> None:
    """On arrays of exactly the described size, a step at a time, kernels do what their machine code does."""
    H = Homotopy([{(0, 0, 0): 1, (1,): 2j, (): -1}, {(0, 1): 1, (1, 1): -1, (): 0.5}], [[0, 1]], rng)
    along = np.array([1.0, 0.0, -0.9, 0.0, 1e-4])
    width = size_of(tracker.path, H.n)
    runs = []
    for follow in (tracker.follow, tracker.follow.python):
        paths = np.zeros((len(H.starts), width))
        for row, x in zip(paths, H.starts, strict=True):
            tracker.path(row, H.n).x[:] = x.view(float)
            tracker.path(row, H.n).step[0] = tracker.FIRST_STEP
        work = np.full(size_of(tracker.work, H.n, 3), np.nan)
        left = [follow(H.table, along, paths.reshape(-1), len(paths), 1, work) for _ in range(40)]
        assert left[0] == len(paths)
        while follow(H.table, along, paths.reshape(-1), len(paths), 100, work):
            pass
        runs.append(paths)
    # the length of a step follows from a small difference of points, hence fewer digits
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-7, atol=1e-12)
    assert all(tracker.path(row, H.n).status[0] == tracker.REACHED for row in runs[0])
    x = H.starts[0].copy().view(float)
    machine, python = np.full((2, size_of(tracker.work, H.n, 3)), np.nan)
    tracker.linearize_at(H.table, x, 0.3, 0.1, machine)
    tracker.linearize_at.python(H.table, x, 0.3, 0.1, python)
    np.testing.assert_allclose(machine, python, rtol=1e-13, atol=1e-14)
    J = tracker.work(machine, H.n, 3).J.view(complex).reshape(H.n, H.n)
    h = 1e-6
    for k in range(H.n):  # and J is the derivative of H
        up, down = (x.copy().view(complex) for _ in range(2))
        up[k] += h
        down[k] -= h
        sides = []
        for y in (up, down):
            tracker.linearize_at(H.table, y.view(float), 0.3, 0.1, python)
            sides.append(tracker.work(python, H.n, 3).H.view(complex).copy())
        np.testing.assert_allclose((sides[0] - sides[1]) / (2 * h), J[:, k], atol=1e-8)


def test_machine_code_returns_to_report_and_can_be_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """With little work a call, what is done grows to the end and the solutions are the same; an exception ends it."""
    system, grouping = [{(0,) * 7: 1, (): -1}], [[0]]
    whole = solve(system, grouping, np.random.default_rng(3))
    monkeypatch.setattr("linkwork.assembly.homotopy.SLICE", 1.0)
    parts: list[float] = []
    again = solve(system, grouping, np.random.default_rng(3), parts.append)
    np.testing.assert_array_equal(again.points, whole.points)
    assert len(parts) > 20
    assert parts == sorted(parts)

    def interrupt(_part: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(system, grouping, np.random.default_rng(3), interrupt)


@pytest.mark.parametrize("loops", [2, 3])
def test_homotopy_solves_random_bilinear_systems(loops: int) -> None:
    """All binomial(2 l, l) solutions are found, differ from each other and solve the system."""
    rng = np.random.default_rng(loops)
    n = 2 * loops
    A = rng.normal(size=(n, loops + 1, 2)) @ [1, 1j]
    B = rng.normal(size=(n, loops + 1, 2)) @ [1, 1j]
    system = []
    for a, b in zip(A, B, strict=True):
        f = {(): -1.0 + 0j}
        for i in range(loops + 1):
            for j in range(loops + 1):
                key = tuple(k for k, present in ((i - 1, i), (loops + j - 1, j)) if present)
                f[key] = f.get(key, 0) + complex(a[i] * b[j])
        system.append(f)
    found = solve(system, [list(range(loops)), list(range(loops, n))], rng)
    assert len(found.points) == math.comb(n, loops)
    assert found.regular.all()
    ones = np.ones((len(found.points), 1))
    u, w = np.hstack([ones, found.points[:, :loops]]), np.hstack([ones, found.points[:, loops:]])
    size = (np.abs(u) @ np.abs(A).T) * (np.abs(w) @ np.abs(B).T)
    assert np.max(np.abs((u @ A.T) * (w @ B.T) - 1) / size) < 1e-12


# Systems given by their equations.


def stated(kinds: dict[str, Kind], start: dict[str, float], *Psi: str) -> Model:
    """Unit masses and no force, in these coordinates with these constraints."""
    n, rest = len(kinds), dict.fromkeys(kinds, 0.0)
    M = tuple(tuple(float(i == j) for j in range(n)) for i in range(n))
    rows = {f"row{k}": parse(text, {name: symbol(name) for name in kinds}) for k, text in enumerate(Psi)}
    return Model("stated", stated=Stated(kinds, start, rest, M, (0.0,) * n, rows))


def test_the_slider_crank_of_two_angles_has_a_second_rod_angle() -> None:
    """sin theta1 = 2 sin theta2: with theta1 its start value theta2 is arcsin or pi less that."""
    model = load("slider_crank_zhou")
    below = math.asin(math.sin(0.7) / 2)
    result = modes(model.with_start({"theta1": 0.7, "theta2": 0.4}, {"theta1": 0.0, "theta2": 0.0}), keep=["theta1"])
    proved(result)
    assert [mode.q["theta2"] for mode in result.modes] == pytest.approx([below, math.pi - below], abs=1e-14)
    assert all(mode.q["theta1"] == 0.7 for mode in result.modes)
    moved = in_mode(model, 2, ["theta1"])
    assert moved.stated is not None
    assert moved.stated.rate["theta2"] == pytest.approx(-0.5)  # cos theta1 theta1' = 2 cos theta2 theta2'


def test_witness_points_of_stated_constraints_are_as_many_as_their_degree() -> None:
    """The slider-crank is two quadrics in (c1, c2, s2), a circle has degree two, a twisted cubic three."""
    curves = {
        4: load("slider_crank_zhou"),
        2: stated({"x": "length", "y": "length"}, {"x": 0.6, "y": 0.8}, "x^2 + y^2 - 1"),
        3: stated(dict.fromkeys("xyz", "number"), {"x": 0.5, "y": 0.25, "z": 0.125}, "y - x^2", "z - x^3"),
    }
    for degree, model in curves.items():
        for seed in (1, 2):
            result = modes(model, seed=seed)
            proved(result)
            assert (result.slices, result.degree) == (1, degree)
            assert result.real % 2 == degree % 2  # complex ones come in pairs
    for mode in result.modes:
        x, y, z = mode.q.values()
        assert (y, z) == pytest.approx((x**2, x**3), abs=1e-12)


def test_a_surface_is_cut_to_points_and_sizes_do_not_matter() -> None:
    """A sphere of a micrometre or a kilometre has degree two."""
    for size in (1e-6, 1e3):
        start = {"x": 0.6 * size, "y": 0.0, "z": 0.8 * size}
        result = modes(stated(dict.fromkeys("xyz", "length"), start, f"x^2 + y^2 + z^2 - {size}^2"))
        assert (result.slices, result.degree, result.real) == (2, 2, 2)
        assert result.complete
        for mode in result.modes:
            assert mode.certified
            assert math.hypot(*mode.q.values()) == pytest.approx(size, rel=1e-12)


def test_stated_angles_may_be_geared_and_constraints_may_contradict_each_other() -> None:
    """theta1 = 3 theta2 with theta1 in one of two directions leaves six to theta2."""
    angles: dict[str, Kind] = {"theta1": "angle", "theta2": "angle"}
    geared = stated(angles, {"theta1": 0.6, "theta2": 0.2}, "theta1 - 3*theta2", "sin(theta1 - 0.6)")
    result = modes(geared)
    expected = {round(np.exp(1j * (0.6 + k * math.pi) / 3).real, 9) for k in range(6)}
    assert {round(math.cos(mode.q["theta2"]), 9) for mode in result.modes} == expected
    assert result.complete
    twice = modes(stated({"x": "number"}, {"x": 1.0}, "x - 1", "x - 2"))
    assert twice.real == 0
    assert "[over-determined]" in twice.notes[0]
    none = modes(stated({"x": "number", "y": "number"}, {"x": 1.0, "y": 0.0}, "x - 2"), keep=["x"])
    assert none.real == 0
    assert "[contradiction]" in none.notes[0]


def test_stated_constraints_that_are_no_polynomials_are_searched() -> None:
    """y = exp(x): what is found solves it, and is not called complete."""
    result = modes(stated(dict.fromkeys("xy", "number"), {"x": 0.0, "y": 1.0}, "y - exp(x)"), keep=["y"])
    assert [*result.modes[0].q.values()] == pytest.approx([0.0, 1.0], abs=1e-14)
    assert (result.method, result.complete) == ("multi-start", False)
    assert "'exp' of a coordinate" in result.notes[0]
