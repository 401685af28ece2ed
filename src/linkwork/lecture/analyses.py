"""What is found without accelerations by a formulation: driven motion, a closed position, all of them."""

from __future__ import annotations

import numpy as np

from linkwork.assembly.assemble import assemble
from linkwork.assembly.modes import modes
from linkwork.lecture.exercise import Exercise, Method
from linkwork.lecture.sheet import Name, numbers
from linkwork.lecture.steps import SINGULAR_VALUES
from linkwork.lecture.symbolic import Numbers
from linkwork.lecture.values import Scope, Value
from linkwork.linalg.newton import MAX_ITERATIONS
from linkwork.tolerances import NEGLIGIBLE
from linkwork.writing.notation import Formula, Symbol, equal, number

# isort: off
from linkwork.lecture.letters import M, Psi, Psi_q, Psi_t, Q, W, a, d, gamma, q, t

DYNAMICS = "dynamics"


def _iterate(x: Exercise, place: Numbers, correction: Formula) -> Numbers:
    """Write Newton's iteration with a correction of q, and a table of it."""
    table = []
    fixed: dict[Formula, Value] = {W: x.scope(W)} if W in x.scope.given else {}
    x.define(d, correction)
    for k in range(MAX_ITERATIONS):
        scope = Scope({**fixed, **x.values(place)}, x.definitions, x.ranks)
        change = scope(d)
        table.append((number(k), number(scope(Psi).size, 2), number(change.size, 2)))
        if change.size <= NEGLIGIBLE * place.length:
            break
        moved = place.moved(change.entries[:, 0])
        place = Numbers(place.equations, moved.q, place.v, place.t)
    x.show_in(scope, equal(d, correction))
    x.table(("iteration", "largest gap", "largest change"), table)
    x.show_in(Scope(x.values(place), x.definitions, x.ranks, {Psi: place.length}), equal(Psi, 0))
    return place


def _write_both(x: Exercise, before: Numbers, after: Numbers) -> None:
    names = map(Name, x.equations.q_names)
    both = numbers(np.column_stack([before.q, after.q]))
    x.table(("", "coordinate", "before", "after"), [(s, n, *row) for s, n, row in zip(x.q, names, both, strict=True)])


def kinematics(x: Exercise) -> None:
    """Write positions, velocities and accelerations from the constraints alone, then the forces they need."""
    inverse, transposed = (Psi_q.inverse, Psi_q.inverse_t) if x.m == x.n else (Psi_q.plus, Psi_q.plus.T)
    x.head("Position")
    h, now = x.instant.step, x.numbers
    guess = Numbers(x.equations, now.moved(-h * now.v).q, now.v, now.t)
    x.say(
        "The constraints at", equal(t, number(x.t)), "are solved by Newton's iteration,", q, "being corrected by", d,
        ". It begins where the mechanism would have been", number(h), "s before:",
    )  # fmt: skip
    found = _iterate(x, guess, -(inverse * Psi))
    _write_both(x, guess, found)
    x.head("Velocity")
    x.say("The constraints differentiated once are linear in the velocities:")
    x.show(equal(x.velocity, -(inverse * Psi_t)))
    x.display(x.velocity)
    x.head("Acceleration")
    x.say("Differentiated twice they are linear in the accelerations, with the same matrix:")
    x.let(a, inverse * gamma)
    x.multipliers(
        transposed * (Q - M * a), "All motion being known, the equations of motion give what the drivers and joints do"
    )


def assembly(x: Exercise) -> None:
    """Write Newton's iteration from a sketch, which is moved as little as possible."""
    x.head("Correction")
    regular = x.numbers.mass.is_regular
    weights = np.linalg.inv(x.M) if regular else np.diag(x.numbers.v_scale**2)
    x.find({W: Value(weights, x.columns, x.columns)})
    x.say(
        "Of all corrections", d, "that close the joints to first order, equations with as many solutions as there are "
        "freedoms, the least is taken, measured by the", "masses:" if regular else "lengths of the mechanism:",
    )  # fmt: skip
    J = Psi_q * W * Psi_q.T
    x.ranks[J] = x.r
    found = _iterate(x, x.numbers, -(W * Psi_q.T * J.plus * Psi))
    _write_both(x, x.numbers, found)
    reference = assemble(x.instant.mechanism) if x.instant.mechanism is not None else None
    if reference is not None and x.equations.chart.body is None:
        off = np.array([*reference.q.values()]) - found.q
        x.say(
            "The command", Name("assemble"), "looks for the nearest closed position; from it this one differs by",
            number(float(np.abs(off).max(initial=0.0)), 2), ".",
        )  # fmt: skip
    x.head("Velocity")
    x.say("The velocities are corrected in the same way, once:")
    at = Scope({W: x.scope(W), **x.values(found)}, x.definitions, x.ranks)
    change = Symbol("d", (), "dot")
    correction = -(W * Psi_q.T * J.plus * (Psi_q * x.velocity + Psi_t))
    at.find({change: at(correction)})
    x.show_in(at, equal(change, correction))
    after = Scope(x.values(Numbers(x.equations, found.q, found.v + at(change).entries[:, 0], found.t)), {})
    x.say("After it")
    x.show_in(after, equal(Psi_q * x.velocity + Psi_t, 0))
    x.vector(x.velocity, after(x.velocity).entries[:, 0], x.equations.v_names)


def all_modes(x: Exercise) -> None:
    """Return all closed positions, by continuation of complex solutions."""
    assert x.instant.mechanism is not None
    found = modes(x.instant.mechanism)
    x.head("Closure equations")
    x.say(
        "With cosines and sines of the angles as unknowns, the constraints are polynomials. Their solutions are "
        "followed, as complex numbers, from those of equations that are solved by hand."
        if found.method == "homotopy"
        else "The constraints are not polynomials, so Newton's iteration was started from many sketches.",
    )  # fmt: skip
    counts = {
        "random linear equations added, one for each freedom": found.slices, "paths followed": found.paths,
        "solutions, complex ones too": found.finite, "paths that went to infinity": found.infinite,
        "paths lost": found.lost, "real positions": len(found.modes),
    }  # fmt: skip
    x.table(("", "number"), [(what, number(count)) for what, count in counts.items()])
    for k, mode in enumerate(found.modes, 1):
        x.head(f"Mode {k}")
        sure = "an interval computation proves that there is a solution here" if mode.certified else "not proved"
        x.say(f"Position {k} of {len(found.modes)}; {sure}. The constraints hold:")
        start = dict(zip(x.equations.q_names, x.numbers.q.tolist(), strict=True))  # also turns of joints, as counted
        place = Numbers(x.equations, np.array([*{**start, **mode.q}.values()]), x.numbers.v, x.t)
        x.show_in(Scope(x.values(place), {}, {}, {Psi: place.length}), equal(Psi, 0))
        x.vector(q, np.array([*mode.q.values()]), mode.q)


ANALYSES: dict[str, Method] = {
    "kinematics": Method(
        kinematics,
        SINGULAR_VALUES,
        "driven motion by Newton's iteration and two linear systems (Haug 1989)",
    ),
    "assembly": Method(assembly, SINGULAR_VALUES, "a closed position by corrections of least size", False),
    "modes": Method(all_modes, SINGULAR_VALUES, "all closed positions (Sommese and Wampler 2005)", False),
}
