"""Where expressions switch or are sharp: functions at whose zeros they jump, bend or peak, and their zeros in time."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import evaluate, numpy_arithmetic, ordered
from linkwork.expressions.graph import ONE, ZERO, Expr, cos

Array = NDArray[np.float64]

# Points of the grids on which sign changes are looked for: denser ones until no more are found. No size divides
# another, so that what repeats itself in time does not look the same on two of them.
GRIDS = (4001, 16411, 65537, 262147, 1048583)
COARSE_GRIDS = GRIDS[:2]  # for what is seen without them too, or must not take long
MOST_CROSSINGS = 100_000  # of one guard in a run: more take longer to find than to integrate
HALVINGS = 60  # of an interval of the grid: down to neighbouring doubles
STEEP = ("exp", "pow", "sqrt", "log", "div", "tanh", "atan", "asin", "acos")  # may change faster than an argument
COARSE = 257  # points at which arguments of these are looked at first
FAR = 0.01  # of its largest value, from zero: an argument that makes no root or quotient steep


def switch(node: Expr) -> Expr | None:
    """The expression at whose zeros a comparison changes, or min, max, abs or sign bend or jump."""
    if node.op in ("lt", "le", "min", "max"):
        return node.args[0] - node.args[1]
    return node.args[0] if node.op in ("sign", "abs", "atan2") else None


def bumps(node: Expr, varying: Container[Expr]) -> Iterator[Expr]:
    """Expressions b around whose zeros a smooth operation may be a narrow bump that no step would see.

    exp(-b^2), 1/(1 + b^2), 1 - tanh(b)^2, 1/cosh(b) and products and powers of these; `varying` are expressions of time
    or state. Where an exponent, or what has a high power, is no such square, b is itself and, if it is of one variable,
    its derivative; of a divisor such as a polynomial it is the derivative.
    """
    if (g := _exponent(node, varying)) is not None:
        yield from _tops(g, varying)
    elif (divisor := _divisor(node)) in varying:
        for factor in _factors(divisor):
            terms = _terms(factor)
            moving = [term for term in terms if term in varying]
            if 0 < len(moving) < len(terms):
                turns = len(moving) > 1 or _without_factors(moving[0], varying).op in ("cos", "sin")
                yield from (turns and _slope(factor, varying)) or _roots(terms)
    elif _is_square(node) and node.args[0].op == "tanh":
        yield node.args[0].args[0]
    elif (base := _base(node)) is not None:
        yield from _tops(base, varying)


def _base(node: Expr) -> Expr | None:
    """What is squared more than twice."""
    depth = 0
    while _is_square(node):
        node, depth = node.args[0], depth + 1
    return node if depth > 2 else None


def _exponent(node: Expr, varying: Container[Expr]) -> Expr | None:
    return node.args[-1] if node.op in ("exp", "pow") and node.args[-1] in varying else None


def _divisor(node: Expr) -> Expr:
    """What a quotient or a negative power divides by, else zero."""
    if node.op == "div":
        return node.args[1]
    is_negative = node.op == "pow" and node.args[1].op == "constant" and node.args[1].value < 0.0
    return node.args[0] if is_negative else ZERO


def _tops(g: Expr, varying: Container[Expr]) -> list[Expr]:
    roots = [[*_roots([term])] for term in _terms(g) if term in varying]
    return [b for found in roots for b in found] if all(roots) else [*_slope(g, varying), g]


def _slope(g: Expr, varying: Container[Expr]) -> list[Expr]:
    """The derivative of g, if it is of one variable and not constant."""
    symbols = [x for x in ordered([g]) if x.op == "symbol" and x in varying]
    if len(symbols) != 1:
        return []
    slopes = directional([g], {symbols[0]: ONE})
    return slopes if symbols[0] in ordered(slopes) else []


def _is_square(node: Expr) -> bool:
    return node.op == "mul" and node.args[0] is node.args[1]


def _terms(node: Expr) -> list[Expr]:
    if node.op in ("add", "sub"):
        return [term for a in node.args for term in _terms(a)]
    return _terms(node.args[0]) if node.op == "neg" else [node]


def _factors(node: Expr) -> list[Expr]:
    if node.op in ("mul", "div"):
        return [factor for a in dict.fromkeys(node.args) for factor in _factors(a)]
    return _factors(node.args[0]) if node.op in ("neg", "pow") else [node]


def _roots(terms: Iterable[Expr]) -> Iterator[Expr]:
    """What is squared in the factors of the terms."""
    for term in terms:
        if _is_square(term):
            inner = [*_roots([term.args[0]])]
            yield from inner or [term.args[0]]
        elif term.op == "pow":
            yield from [*_roots([term.args[0]])] or [term.args[0]]
        elif term.op in ("mul", "div"):
            yield from _roots(term.args)
        elif term.op == "sqrt":
            yield from _roots(_terms(term.args[0]))


def find_peaks(nodes: Iterable[Expr], varying: Container[Expr]) -> list[Expr]:
    """The zeros of `bumps` of all nodes but those at which friction changes its sign, tanh(b/c), and so is seen.

    Smooth steps that differ by a shift make a bump where one ends what the other has begun, and one elsewhere than at
    rest, tanh((b - d)/c), where it is passed and left again within a step. `atan` of a quotient or tangent jumps where
    these are infinite.
    """
    inner = {b: node for node in nodes for b in _step(node, varying)}
    steps = {b: _without_factors(b, varying) for b in inner}
    squared = {node.args[0].args[0] for node in nodes if _is_square(node) and node.args[0].op == "tanh"}
    found = [b for node in nodes if node in varying for b in bumps(node, varying)]
    found = [b for b in found if b in squared or _without_factors(b, varying) not in steps.values()]
    kinds: dict[frozenset[Expr], set[Expr]] = {}
    for b in steps.values():
        kinds.setdefault(_without_shift(b, varying), set()).add(b)
    for b, step in steps.items():
        if b not in varying:
            continue
        if len(kinds[_without_shift(step, varying)]) > 1 or any(term not in varying for term in _terms(step)):
            found += with_turns(b, varying)
        if inner[b].op == "atan" and step.op in ("div", "tan"):
            found.append(step.args[1] if step.op == "div" else cos(step.args[0]))
    return found


def _step(node: Expr, varying: Container[Expr]) -> Iterator[Expr]:
    """The expression around whose zeros an operation may be a smooth step: tanh(b), atan(b), b/sqrt(b^2 + c)."""
    if node.op in ("tanh", "atan"):
        yield node.args[0]
    elif node.op == "sqrt":
        moving = [term for term in _terms(node.args[0]) if term in varying]
        if len(moving) == 1:
            yield from _roots(moving)


def _without_shift(x: Expr, varying: Container[Expr]) -> frozenset[Expr]:
    """The terms of x that vary, without factors, however these are nested."""
    terms = [_without_factors(term, varying) for term in _terms(x) if term in varying]
    return _without_shift(terms[0], varying) if len(terms) == 1 and terms[0] is not x else frozenset(terms)


def _without_factors(x: Expr, varying: Container[Expr]) -> Expr:
    """x without abs and factors that do not vary."""
    if x.op in ("abs", "neg"):
        return _without_factors(x.args[0], varying)
    moving = [a for a in x.args if a in varying]
    return _without_factors(moving[0], varying) if x.op in ("mul", "div") and len(moving) == 1 else x


def steep(nodes: Iterable[Expr], timed: Container[Expr]) -> Iterator[tuple[str, Expr]]:
    """Operations of time alone, and arguments around whose zeros or turns they may jump, peak or change fast."""
    for node in nodes:
        if node in timed:
            if node.op == "atan" and node.args[0].op == "tan":
                yield "tan", cos(node.args[0].args[0])
            if node.op in STEEP:
                yield from ((node.op, g) for g in node.args[node.op == "div" :] if g in timed)
            elif (base := _base(node)) is not None:
                yield "base", base


def find_steep(
    candidates: Sequence[tuple[str, Expr]], time: Expr, given: Mapping[Expr, Any], t_end: float
) -> list[Expr]:
    """Those of the arguments, each behind its derivative, that come near enough to where their operations are steep.

    exp, tanh and atan are where the argument ranges over more than one, asin and acos at an argument of one, a root, a
    logarithm, a quotient and a power near zero.
    """
    if not candidates:
        return []
    t = np.linspace(0.0, t_end, COARSE)
    with np.errstate(all="ignore"):
        values = evaluate([g for _, g in candidates], {**given, time: t}, numpy_arithmetic())
        least, most = (np.array([f(np.abs(x)) for x in values]) for f in (np.min, np.max))
        ranges = np.array([np.ptp(x) for x in values])
    gentle = {
        **dict.fromkeys(("exp", "tanh", "atan"), ranges <= 1.0),
        **dict.fromkeys(("asin", "acos"), most < 1.0 - FAR),
        **dict.fromkeys(("sqrt", "log", "div"), least > FAR * most),
        "pow": (least > FAR * most) & (ranges <= 1.0),
    }
    found = (g for k, (op, g) in enumerate(candidates) if op not in gentle or not gentle[op][k])
    return [*dict.fromkeys(f for g in found for f in with_turns(g, [time]))]


def with_turns(g: Expr, varying: Container[Expr]) -> list[Expr]:
    """g and, before it, its derivative, if it is of one variable: where that is zero g may change its sign twice."""
    return [*_slope(g, varying), g]


def is_sharp(node: Expr, varying: Container[Expr]) -> bool:
    """Whether the operation may be a bump narrower than its arguments vary, at a place that `bumps` do not tell."""
    if (g := _exponent(node, varying)) is not None:
        return _tops(g, varying) == [g]
    return _base(node) is not None


def dependent(nodes: Iterable[Expr], on: Iterable[Expr]) -> set[Expr]:
    """Those of the nodes, arguments before their users, that depend on some symbols."""
    found = set(on)
    for node in nodes:
        if any(a in found for a in node.args):
            found.add(node)
    return found


def sampled(f: Expr, time: Expr, given: Mapping[Expr, Any]) -> Callable[[Array], Array]:
    """A function of time alone, for many times at once."""

    def at(t: Array) -> Array:
        with np.errstate(all="ignore"):
            values = evaluate([f], {**given, time: t}, numpy_arithmetic())[0]
        return np.broadcast_to(np.asarray(values, dtype=float), t.shape)

    return at


def _signs(g: Callable[[Array], Array], t: Array) -> Array:
    """0 where g has no value, so that what has none over a while does not change there."""
    return np.nan_to_num(np.sign(g(t)), nan=0.0)


def crossings(g: Callable[[Array], Array], t: Array) -> list[float]:
    """Times within the grid at which g changes sign, by bisection: the first double behind each change."""
    signs = _signs(g, t)
    before = np.flatnonzero(signs[:-1] != signs[1:])[:MOST_CROSSINGS]
    a, b, left = t[before], t[before + 1], signs[before]
    for _ in range(HALVINGS if len(before) else 0):
        middle = 0.5 * (a + b)
        if np.all((middle == a) | (middle == b)):
            break
        same = _signs(g, middle) == left
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return [float(x) for x in b if 0 < x < t[-1]]


def all_crossings(
    functions: Iterable[Expr], time: Expr, given: Mapping[Expr, Any], t_end: float, grids: Sequence[int] = GRIDS
) -> list[float]:
    """The times from 0 to t_end at which functions of time change their signs, as grids of these sizes show them.

    Each is also looked at where its derivative is zero and where those before it have changed: there it may be on the
    other side of zero for less than a grid shows. After MOST_CROSSINGS of some, others are not looked at.
    """
    found: set[float] = set()
    for f in functions:
        if len(found) >= MOST_CROSSINGS:
            break
        turns = (turn for slope in _slope(f, [time]) for turn in _find_turns(sampled(slope, time, given), t_end))
        found.update(_clear_crossings(sampled(f, time, given), t_end, [*found, *turns], grids))
    return sorted(found)


def _find_turns(slope: Callable[[Array], Array], t_end: float) -> list[float]:
    """Where a slope changes its sign, if a coarse grid shows that: what turns more often is seen without it."""
    coarse, t = (np.linspace(0.0, t_end, size) for size in COARSE_GRIDS)
    counts = [int(np.count_nonzero(np.diff(_signs(slope, times)))) for times in (coarse, t)]
    return crossings(slope, t) if counts[0] == counts[1] else []


def _clear_crossings(
    g: Callable[[Array], Array], t_end: float, known: Iterable[float], grids: Sequence[int]
) -> list[float]:
    """The sign changes of g on a grid, with known times in it, that shows as many as the one before it."""
    count, known = -1, [*known]
    for size in grids:
        t = np.union1d(np.linspace(0.0, t_end, size), known)
        signs = _signs(g, t)
        last, count = count, int(np.count_nonzero(signs[:-1] != signs[1:]))
        if count == last or count > MOST_CROSSINGS:
            break
    return crossings(g, t)
