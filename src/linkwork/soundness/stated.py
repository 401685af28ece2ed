"""What equations that a model states must satisfy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from linkwork.elements.stated import ACCELERATION, RATE, Stated
from linkwork.errors import ModelError
from linkwork.expressions.derivatives import jacobian
from linkwork.expressions.evaluation import evaluate, ordered
from linkwork.expressions.graph import as_expr, symbol
from linkwork.expressions.parser import RESERVED as PARSED
from linkwork.linalg.rank import rank_of
from linkwork.symbolic.signature import Signature
from linkwork.tolerances import NEGLIGIBLE

TIME = symbol("t")


def stated_faults(stated: Stated, parameters: Mapping[str, float]) -> Iterator[ModelError]:
    """Yield equations that a model states: sizes, names, what depends on what, symmetry, inertia at the start."""
    yield from _faults_of_names([*stated.kinds], parameters)
    n = len(stated.kinds)
    for key, size in (("M", len(stated.M)), ("Q", len(stated.Q))):
        if size != n:
            yield _fault(key, f"{size} rows for {n} coordinates", "shape-mismatch")
    for i, row in enumerate(stated.M):
        if len(row) != n:
            yield _fault(f"M[{i}]", f"{len(row)} entries for {n} coordinates", "shape-mismatch")
            return
    yield from _faults_of_expressions(stated, parameters)
    yield from _faults_of_masses(stated, parameters)


def _fault(place: str, message: str, code: str, rule: str | None = None) -> ModelError:
    return ModelError(message, code, path=f"equations.{place}", rule=rule)


def _faults_of_names(names: Sequence[str], parameters: Mapping[str, float]) -> Iterator[ModelError]:
    if not names:
        yield _fault("coordinates", "there are no coordinates", "no-coordinates")
    rates = {f"{other}{RATE}": f"the rate of '{other}'" for other in names}
    rates |= {f"{other}{ACCELERATION}": f"the acceleration of '{other}'" for other in names}
    for name in parameters:
        if name in rates:
            message = f"the parameter '{name}' is also {rates[name]}"
            yield ModelError(message, "duplicate-name", path=f"parameters.{name}")
    for name in names:
        taken = {"t": "time", **dict.fromkeys(parameters, "a parameter"), **dict.fromkeys(PARSED, "a function")} | rates
        if name in taken:
            yield _fault(f"coordinates.{name}", f"'{name}' is also {taken[name]}", "duplicate-name")


def _faults_of_expressions(stated: Stated, parameters: Mapping[str, float]) -> Iterator[ModelError]:
    """Find what depends on what it must not, and an M that is not symmetric."""
    known = {TIME, *stated.q, *map(symbol, parameters)}
    for place, expr, of_velocities in stated.expressions():
        used = {node for node in ordered([expr]) if node.op == "symbol"}
        if (found := sorted(str(s.value) for s in used & {*stated.v})) and not of_velocities:
            rule = "M, Psi and the potential depend on t and q alone"
            yield _fault(place, f"depends on the velocity {found[0]}", "of-velocities", rule)
        if found := sorted(str(s.value) for s in used - known - {*stated.v}):
            yield _fault(place, f"unknown name '{found[0]}'", "expression-name")
    zero = Signature()
    for i in range(min(len(stated.kinds), len(stated.M))):
        for j in range(i):
            if not zero.is_zero(as_expr(stated.M[i][j]) - as_expr(stated.M[j][i])):
                message = f"entries ({i + 1}, {j + 1}) and ({j + 1}, {i + 1}) are not the same function"
                yield _fault(f"M[{i}][{j}]", message, "not-symmetric", "a mass matrix is symmetric")


def _faults_of_masses(stated: Stated, parameters: Mapping[str, float]) -> Iterator[ModelError]:
    """Check M at the start."""
    n = len(stated.kinds)
    given = {symbol(name): value for name, value in parameters.items()}
    start = dict(zip(stated.q, evaluate([as_expr(stated.start[name]) for name in stated.kinds], given), strict=True))
    entries = [as_expr(x) for row in stated.M for x in row]
    if len(entries) != n * n or not {TIME, *start, *given}.issuperset(x for x in ordered(entries) if x.op == "symbol"):
        return
    here = {**given, **start, TIME: 0.0}
    M = np.array(evaluate(entries, here), dtype=float).reshape(n, n)
    for i, j in np.argwhere(~np.isfinite(M)).tolist():
        yield _fault(f"M[{i}][{j}]", f"{M[i, j]} at the start is not a finite number", "not-finite")
        return
    least = float(np.min(np.linalg.eigvalsh(M), initial=0.0))
    if least < -NEGLIGIBLE * np.max(np.abs(M), initial=0.0):
        message = f"at the start M has the negative eigenvalue {least:.3g}"
        yield _fault("M", message, "negative-mass", "the kinetic energy v^T M v / 2 is never negative")
    Psi = [as_expr(x) for x in stated.Psi.values()]
    if not {*here}.issuperset(x for x in ordered(Psi) if x.op == "symbol"):
        return
    Psi_q = np.zeros((len(Psi), n))
    entries_q = jacobian(Psi, stated.q)
    for at, value in zip(entries_q, evaluate([*entries_q.values()], here), strict=True):
        Psi_q[at] = value
    if np.all(np.isfinite(Psi_q)) and (rank := rank_of(M, Psi_q).rank) < n:
        held = f"M has rank {rank_of(M).rank} at the start, and with the constraints only {rank} of {n}"
        yield _fault("M", held, "massless-motion", "whatever the constraints leave free has mass")
