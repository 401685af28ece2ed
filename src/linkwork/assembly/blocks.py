"""Loops and rows of a closure in blocks that are solved one after the other, each as a small polynomial system.

In a block the loops give some theta as affine functions of the others, u, and the conjugate loops the 1/theta as
affine functions of others, w; theta (1/theta) = 1 is then bilinear in u and w, as are all joints but gears. The number
of solutions of l loops with 2 l unknown angles in these two groups of unknowns is binomial(2 l, l): two for a dyad (as
worked out in closure.py), six for a triad. Gears put powers of some u and w into these functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Complex
from linkwork.assembly.closure import Closure
from linkwork.assembly.homotopy import Polynomial
from linkwork.assembly.laurent import BACK, CONJUGATE, MIRROR, PLACE, TURN, Poly, Variable, as_poly, monomial
from linkwork.linalg.rank import decide_rank, svd
from linkwork.tolerances import TYPED

PLACES_FIRST = 1e3  # how many times its size the coefficient of a place counts where loops are solved


@dataclass(frozen=True)
class Block:
    """Unknowns and as many equations that hold no others but those of earlier blocks."""

    turns: tuple[str, ...]
    places: tuple[str, ...]
    loops: tuple[Poly, ...]
    rows: tuple[Poly, ...]


def sort_into_blocks(c: Closure) -> list[Block]:
    """Return blocks in the order of their solution; one of everything where the counts do not match."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

    everything = [Block(c.turns, c.free_places, c.loops, c.rows)]
    # A real freedom per turn and two per place, two real equations per loop and one per row.
    unknowns = [(TURN, b) for b in c.turns] + [(PLACE, b) for b in c.free_places for _ in range(2)]
    equations = [p for p in c.loops for _ in range(2)] + list(c.rows)
    held = [{(PLACE if v[0] == MIRROR else v[0], v[1]) for v in p.variables()} for p in equations]
    pattern = np.array([[v in own for v in unknowns] for own in held], dtype=np.int8).reshape(len(held), len(unknowns))
    if not len(held) or len(held) != len(unknowns):
        return everything
    match = maximum_bipartite_matching(csr_array(pattern), perm_type="column")
    if np.any(match < 0):
        return everything
    needs = pattern[:, match]  # equation i holds the unknown that equation j is solved for
    count, label = connected_components(csr_array(needs), directed=True, connection="strong")
    result: list[Block] = []
    waiting = set(range(count))
    while waiting:
        ready = [k for k in sorted(waiting) if waiting & {int(j) for j in label[needs[label == k].any(axis=0)]} == {k}]
        for k in ready:
            waiting.discard(k)
            own = {unknowns[match[i]] for i in np.flatnonzero(label == k)}
            mine = {id(equations[i]) for i in np.flatnonzero(label == k)}
            result.append(
                Block(
                    tuple(b for b in c.turns if (TURN, b) in own),
                    tuple(b for b in c.free_places if (PLACE, b) in own),
                    tuple(p for p in c.loops if id(p) in mine),
                    tuple(p for p in c.rows if id(p) in mine),
                )
            )
    return result


@dataclass(frozen=True)
class Reduced:
    """A block at given values of earlier ones: polynomials in u (the first half of the unknowns) and w (the other)."""

    unknowns: list[Variable]
    equations: list[Poly]
    forms: Mapping[Variable, Poly]  # all variables of the block as affine functions of u or w

    def system(self) -> list[Polynomial]:
        place = {v: k for k, v in enumerate(self.unknowns)}
        return [
            {tuple(sorted(place[v] for v, e in m for _ in range(e))): c for m, c in p.terms.items()}
            for p in self.equations
        ]

    def values(self, point: Complex) -> dict[Variable, complex]:
        free = dict(zip(self.unknowns, point.tolist(), strict=True))
        return {v: form.value(free) for v, form in self.forms.items()}


def reduce_block(block: Block, known: Mapping[Variable, complex]) -> Reduced:
    """Write the block as a system in u and w; an equation without unknowns says that a loop cannot close here."""
    own = [(PLACE, b) for b in block.places] + [(TURN, b) for b in block.turns]
    pivots = _choose_pivots(block.loops, own)
    free = [v for v in own if v not in pivots]
    unknowns = free + [_conjugate(v) for v in free]
    known_forms = {v: as_poly(a) for v, a in known.items()} | {v: monomial(v) for v in unknowns}
    forms = {v: monomial(v) for v in unknowns}
    A = np.array([[p.coefficient(v) for v in pivots] for p in block.loops], dtype=complex)
    A = A.reshape(len(block.loops), len(pivots))
    rest = [Poly({m: c for m, c in p.terms.items() if not any(v in pivots for v, _ in m)}) for p in block.loops]
    equations: list[Poly] = []
    for _ in range(2):  # A pivots + rest = 0, then its conjugate
        right = [p.substitute(known_forms) for p in rest]
        forms |= {v: _combine(row, right) for v, row in zip(pivots, -np.linalg.pinv(A), strict=True)}
        U = svd(A)[0] if len(pivots) < len(A) else A[:, :0]
        equations += [_combine(row, right) for row in U[:, len(pivots) :].conj().T]
        A, rest, pivots = A.conj(), [p.conjugate() for p in rest], [_conjugate(v) for v in pivots]
    equations += [forms[TURN, body] * forms[BACK, body] - 1.0 for body in block.turns]
    equations += [p.substitute(known_forms | forms) for p in block.rows]
    return Reduced(unknowns, [p for p in (p.normalize(TYPED) for p in equations) if p.terms], forms)


def _conjugate(v: Variable) -> Variable:
    return CONJUGATE[v[0]], v[1]


def _combine(factors: Complex, polys: Sequence[Poly]) -> Poly:
    return sum((p * complex(a) for a, p in zip(factors, polys, strict=True)), Poly({}))


def _choose_pivots(loops: Sequence[Poly], unknowns: Sequence[Variable]) -> list[Variable]:
    """Tell which unknowns the loops are solved for: of those that stand nowhere in a power or product, places first."""
    if not loops or not unknowns:
        return []
    from scipy.linalg import qr

    tied = {v for p in loops for m in p.terms if m and m != ((m[0][0], 1),) for v, _ in m}
    weights = np.array([0.0 if v in tied else (PLACES_FIRST if v[0] == PLACE else 1.0) for v in unknowns])
    A = np.array([[p.coefficient(v) for v in unknowns] for p in loops], dtype=complex) * weights
    _, R, order = qr(A, mode="economic", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = decide_rank(diagonal).rank
    return [unknowns[k] for k in sorted(order[:rank])]
