"""Joint coordinates beside minimal equations that were derived by hand, and the cost of chains per link."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from benchmarks.loop import Case, compiled, evaluate_along, slider_crank_by_hand
from numpy.typing import NDArray
from rich.progress import track

from linkwork.compiled.mechanism import prepare
from linkwork.compiled.system import repetitions
from linkwork.constraints.projection import measure, of_system, project, project_start
from linkwork.elements.vectors import Vector
from linkwork.equations.equations import TIME
from linkwork.equations.joint import joint_equations
from linkwork.equations.linear import factor_of
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import Expr, cos, sin, sqrt, symbol
from linkwork.integrators.integrate import Problem, Settings, State
from linkwork.integrators.methods.tableaus import DOP853
from linkwork.modelfile import load
from linkwork.native.lowering import compile_programs
from linkwork.sequences.hoisting import parameter_frontier
from linkwork.sequences.sequence import ComputationSequence
from linkwork.start.closing import find_start, restart

Array = NDArray[np.float64]
REPETITIONS = 60
TOLERANCES = [10.0 ** (-k / 4) for k in range(16, 50)]
LINKS = (16, 64, 256)


def _meet(P: Vector, Q: Vector, p: float, q: float, side: float) -> Vector:
    """The point at the distances p from P and q from Q, on the left of P Q or on its right."""
    d = Q - P
    over = 1.0 / d.dot(d)
    a = 0.5 * (1.0 + (p * p - q * q) * over)
    return P + a * d + side * sqrt(p * p * over - a * a) * d.perp()


def andrews_by_hand() -> Case:
    """Andrews' squeezer with the angle beta of its crank as the only coordinate.

    Its loops are triangles: E is found from the crank's end F and the pin B, G and H from E and the pin A. Rates follow
    from v_E = w_1 perp(F) + w_2 perp(E - F) = w_3 perp(E - B) and so on, rates of these likewise, and the equation is
    V^T M V beta'' = V^T (f - M b) with q' = V beta', q'' = V beta'' + b, M and f as in the test set.
    """
    c = load("andrews_squeezer").parameters
    beta, w = symbol("beta"), symbol("w")
    A, B, C = (Vector((c[f"x{k}"], c[f"y{k}"])) for k in "abc")
    F = c["rr"] * Vector((cos(beta), sin(beta)))
    E = _meet(F, B, c["d"], c["ss"], 1.0)
    G = _meet(A, E, c["zt"], c["e"], 1.0)
    H = _meet(A, E, c["u"], c["zf"], -1.0)

    def pair(known: Vector, x: Vector, y: Vector) -> tuple[Expr, Expr]:
        """Rates s, t with s perp(x) + t perp(y) = known."""
        over = 1.0 / x.perp().dot(y)
        return known.dot(y) * over, -known.dot(x) * over

    def rates(crank: Vector, rest: list[Vector]) -> list[Expr]:
        """Of the angles beta + Theta, gamma, delta, phi + delta, epsilon, Omega + epsilon."""
        w_2, minus_w_3 = pair(-crank + rest[0], E - F, E - B)
        w_3 = -minus_w_3
        tip = w_3 * (E - B).perp() + rest[1]
        return [w_2, w_3, *pair(tip + rest[2], G - A, E - G), *pair(tip + rest[3], H - A, E - H)]

    still = [Vector((0.0, 0.0))] * 4
    V = rates(F.perp(), still)
    w_2, w_3, w_5, w_4, w_7, w_6 = (x * w for x in V)
    inwards = [
        w * w * F + w_2 * w_2 * (E - F) - w_3 * w_3 * (E - B),
        -(w_3 * w_3) * (E - B),
        w_5 * w_5 * (G - A) + w_4 * w_4 * (E - G),
        w_7 * w_7 * (H - A) + w_6 * w_6 * (E - H),
    ]
    b = rates(Vector((0.0, 0.0)), inwards)

    def relative(x: list[Expr], crank: Expr | float) -> list[Expr]:
        """In the order beta, Theta, gamma, phi, delta, Omega, epsilon."""
        two, three, five, four, seven, six = x
        return [0.0 * two + crank, two - crank, three, four - five, five, six - seven, seven]

    V_q, b_q, v = relative(V, 1.0), relative(b, 0.0), relative([w_2, w_3, w_5, w_4, w_7, w_6], w)
    U, arm = F / c["rr"], (F - E) / c["d"]
    cos_t, sin_t = U.dot(arm), U.perp().dot(arm)
    along, down = (G - A) / c["zt"], (E - G) / c["e"]  # (cos delta, sin delta) and (sin, -cos) of phi + delta
    sin_p, cos_p = along.dot(down), -along.perp().dot(down)
    upward, out = (H - A) / c["u"], (E - H) / c["zf"]  # (sin, -cos) of epsilon and (cos, sin) of Omega + epsilon
    cos_o, sin_o = upward.perp().dot(out), -upward.dot(out)
    sin_g, cos_g = (E - B)[0] / c["ss"], -(E - B)[1] / c["ss"]
    m = (0.0, 0.04325, 0.00365, 0.02373, 0.00706, 0.0705, 0.00706, 0.05498)
    i = (0.0, 2.194e-6, 4.41e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5)
    h4, h6 = c["e"] - c["ea"], c["zf"] - c["fa"]
    M = {
        (0, 0): m[1] * c["ra"] ** 2
        + m[2] * (c["rr"] ** 2 - 2 * c["da"] * c["rr"] * cos_t + c["da"] ** 2)
        + i[1]
        + i[2],
        (0, 1): m[2] * (c["da"] ** 2 - c["da"] * c["rr"] * cos_t) + i[2],
        (1, 1): m[2] * c["da"] ** 2 + i[2],
        (2, 2): m[3] * (c["sa"] ** 2 + c["sb"] ** 2) + i[3],
        (3, 3): m[4] * h4**2 + i[4],
        (3, 4): m[4] * (h4**2 + c["zt"] * h4 * sin_p) + i[4],
        (4, 4): m[4] * (c["zt"] ** 2 + 2 * c["zt"] * h4 * sin_p + h4**2)
        + m[5] * (c["ta"] ** 2 + c["tb"] ** 2)
        + i[4]
        + i[5],
        (5, 5): m[6] * h6**2 + i[6],
        (5, 6): m[6] * (h6**2 - c["u"] * h6 * sin_o) + i[6],
        (6, 6): m[6] * (h6**2 - 2 * c["u"] * h6 * sin_o + c["u"] ** 2)
        + m[7] * (c["ua"] ** 2 + c["ub"] ** 2)
        + i[6]
        + i[7],
    }
    D = Vector((c["sd"] * cos_g + c["sc"] * sin_g, c["sd"] * sin_g - c["sc"] * cos_g)) + B - C
    length = sqrt(D.dot(D))
    spring = -c["c0"] * (length - c["l0"]) / length * D
    turn, slip = (
        Vector((c["sc"] * cos_g - c["sd"] * sin_g, c["sd"] * cos_g + c["sc"] * sin_g)),
        c["da"] * c["rr"] * m[2],
    )
    f = [
        c["mom"] - slip * v[1] * (v[1] + 2 * v[0]) * sin_t,
        slip * v[0] * v[0] * sin_t,
        spring.dot(turn),
        m[4] * c["zt"] * h4 * v[4] * v[4] * cos_p,
        -m[4] * c["zt"] * h4 * v[3] * (v[3] + 2 * v[4]) * cos_p,
        -m[6] * c["u"] * h6 * v[6] * v[6] * cos_o,
        m[6] * c["u"] * h6 * v[5] * (v[5] + 2 * v[6]) * cos_o,
    ]
    inertia = force = 0.0 * w
    for (j, k), entry in M.items():
        both = V_q[j] * V_q[k] * (1.0 if j == k else 2.0)
        inertia = inertia + entry * both
        force = force - entry * (V_q[j] * b_q[k] if j == k else V_q[j] * b_q[k] + V_q[k] * b_q[j])
    force = force + sum(x * y for x, y in zip(V_q, f, strict=True))
    start = np.array([c["beta"], 0.0])
    return Case(compiled("andrews", [symbol("t"), beta, w], [w, force / inertia]), None, np.zeros(1), start, 2)


def of_model(name: str, watched: str, coordinates: str) -> Case:
    """A shipped model as `simulate` runs it; the coordinate `watched` and its speed are compared."""
    system = prepare(load(name), coordinates).system()
    given = restart(system.start())
    system = system.with_values(given.equations)
    e, start = system.equations, find_start(given).place
    p = system.p(start, given={"repetitions": repetitions(start.rank.smallest) if system.m else 0})
    y, k = project_start(system, p, start), e.q_names.index(watched)
    onto = of_system(system, project if e.is_constrained else measure)
    return Case(system.functions["derivative"], onto, p, y, len(y) - 2, (k, system.n_q + k))


def open_chain(name: str) -> Case:
    """The rates of a shipped model without loops in joint coordinates, and nothing else."""
    e = joint_equations(load(name))
    rates = [*e.qd, *factor_of(e).solve(e.Q)]
    front = parameter_frontier(rates, [*e.parameters])
    f = compile_programs([ComputationSequence("rates", (TIME, *e.q, *e.v), rates)], front)["rates"]
    return Case(f, None, np.array(evaluate(front, e.parameters)), np.concatenate(e.start()), len(e.q) + len(e.v))


def advanced(case: Case, times: Array, rtol: float) -> State:
    """The end of a run."""
    problem = Problem(case.derivative, len(case.y), DOP853, case.project, case.n_norm)
    state = State(problem, case.p, case.y, times, Settings(rtol, rtol))
    state.advance(10**9)
    return state


def run(case: Case, t_end: float, rtol: float, repetitions: int = 1) -> tuple[float, State]:
    ends = [advanced(case, np.array([0.0, t_end]), rtol) for _ in range(repetitions)]
    return min(end.loop_s for end in ends), ends[0]


def time_to_accuracy(case: Case, t_end: float, at_end: Array, accuracy: float) -> tuple[float, float, int]:
    """Milliseconds with the loosest tolerance that keeps the relative error at the end, that error, evaluations."""
    for rtol in TOLERANCES:
        _, end = run(case, t_end, rtol)
        error = float(np.max(np.abs(end.y[list(case.watched)] - at_end) / np.maximum(1.0, np.abs(at_end))))
        if error <= accuracy:
            seconds, end = run(case, t_end, rtol, REPETITIONS)
            return 1e3 * seconds, error, end.at.evaluations
    raise ValueError(f"no tolerance reaches {accuracy:g}")


def evaluation_ns(case: Case) -> float:
    """One evaluation near the start, the best of several."""
    count = min(2000, max(20, int(2e4 / len(case.y))))
    states = np.tile(np.concatenate([[0.0], case.y]), (count, 1))
    states[:, 1:] += 0.1 * np.cos(np.arange(len(case.y)))
    f = case.derivative
    x, y, w = np.zeros(f.inputs), np.zeros(f.outputs), np.zeros(max(f.work, 1))
    best = np.inf
    for _ in range(100):
        began = perf_counter()
        evaluate_along(f.address, count, len(case.y), states, x, case.p, y, w, 0.0)
        best = min(best, (perf_counter() - began) / count)
    return 1e9 * best


def report() -> list[str]:
    """Lines of docs/benchmarks.md."""
    lines = [
        "",
        "## Joint coordinates",
        "",
        "Beside minimal equations in one coordinate, derived by hand, with the same integrator; integration to an",
        "accuracy of the crank's angle and speed at the end, relative where they are above one:",
        "",
        "| mechanism | accuracy | by hand, ms | minimal, ms | times by hand | joint, ms | times by hand | body, ms |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    problems = (
        ("slider_crank", 20.0, slider_crank_by_hand(), "O", "crank.phi"),
        ("andrews_squeezer", 0.05, andrews_by_hand(), "O", "K1.phi"),
    )
    for name, t_end, by_hand, joint, body in problems:
        at_end = run(by_hand, t_end, 1e-14)[1].y[:2]
        cases = (
            by_hand,
            *(of_model(name, *how) for how in ((joint, "minimal"), (joint, "joint"), (body, "body"))),
        )
        for accuracy in (1e-6, 1e-9):
            hand, *ours = (time_to_accuracy(case, t_end, at_end, accuracy)[0] for case in cases)
            minimal, of_joint, of_body = ours
            lines.append(
                f"| {name} | {accuracy:.0e} | {hand:.3f} | {minimal:.3f} | {minimal / hand:.2f} "
                f"| {of_joint:.3f} | {of_joint / hand:.2f} | {of_body:.3f} |"
            )
    pendulum = evaluation_ns(open_chain("dap/triple_pendulum"))
    lines += ["", f"Triple pendulum: {pendulum:.0f} ns for an evaluation.", ""]
    lines += ["| links | planar_chain, ns per link | spatial_chain, ns per joint |", "| --- | --- | --- |"]
    for n in track(LINKS, "chains"):
        planar, spatial = (evaluation_ns(open_chain(f"{name}:{n}")) / n for name in ("planar_chain", "spatial_chain"))
        lines.append(f"| {n} | {planar:.0f} | {spatial:.0f} |")
    lines += ["", "Bricard's linkage over 10 s, error of all coordinates at 11 times against rtol 1e-12:", ""]
    lines += [
        "| coordinates | rtol | integration, ms | error | steps | rejected |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for coordinates in ("body", "joint"):
        bricard = prepare(load("bricard"), coordinates)
        right = bricard.simulate(rtol=1e-12, step=1.0).q
        for rtol in (1e-7, 1e-8, 1e-9):
            runs = [bricard.simulate(rtol=rtol, atol=rtol, step=1.0) for _ in range(REPETITIONS)]
            best, info = min(motion.info.integration_s for motion in runs), runs[0].info
            error = np.max(np.abs(runs[0].q - right))
            lines.append(
                f"| {coordinates} | {rtol:g} | {1e3 * best:.2f} | {error:.1e} | {info.steps} | {info.rejected} |"
            )
    return lines


if __name__ == "__main__":
    print("\n".join(report()))
