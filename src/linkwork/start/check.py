"""What can be said of a mechanism before it moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.equations.coordinates import Coordinates
from linkwork.equations.place import Place, Weights, aside
from linkwork.errors import MOST_NAMED, checked_call
from linkwork.linalg.rank import svd
from linkwork.model import Model
from linkwork.notes import Note
from linkwork.records import Printed
from linkwork.start.branches import leave_singular
from linkwork.start.closing import (
    Fitted,
    Given,
    find_start,
    follow_bodies,
    group_gaps,
    restart,
)
from linkwork.start.freedoms import describe_motions, reduce_basis
from linkwork.tolerances import NEGLIGIBLE

MOST_VELOCITIES = 200  # of mechanisms whose freedoms are described: a page of names tells nobody anything
Array = NDArray[np.float64]
Redundancy: TypeAlias = Literal["none", "structural", "geometric", "at this position"]


@dataclass(frozen=True, repr=False)
class Report(Printed):
    """Counts, rank and start values of a mechanism."""

    name: str
    bodies: int
    coordinates: int
    constraints: int
    rank: int
    dof: int  # of velocities
    position_dof: int  # of positions: constraints that are the rate of no Psi take none of them
    gruebler: int  # the freedoms if no row depended on others
    redundant: int
    redundant_rows: tuple[str, ...]
    redundancy: Redundancy
    reactions: dict[str, Literal["unique", "not unique"]]
    singular_values: tuple[float, ...]
    position_gaps: dict[str, dict[str, float]]
    velocity_gaps: dict[str, dict[str, float]]
    weights: Weights
    q_changes: dict[str, float]
    v_changes: dict[str, float]
    motions: tuple[str, ...]  # the freedoms in words, unless they are many
    signals: dict[str, tuple[str, ...]]  # inputs, outputs and states by name, of the kinds that there are
    notes: tuple[Note, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        from linkwork.view.report import aligned, check_lines

        return aligned(check_lines(self))

    def _repr_html_(self) -> str:
        from linkwork.view.markup import lines_in_cell
        from linkwork.view.report import check_lines

        return lines_in_cell(check_lines(self))


def is_driven(model: Model) -> bool:
    """Return whether drivers take all freedoms, so that they move the mechanism, and not the forces."""
    return bool(model.drivers) and check(model).dof == 0


@checked_call()
@np.errstate(all="ignore")  # what is not finite is looked for where it matters
def check(
    model: Model | Mechanism,
    weights: Weights = "mass",
    assemble: bool = False,
    keep: Sequence[str] = (),
    coordinates: str | Coordinates | None = None,
) -> Report:
    """Return counts, degrees of freedom and what they move, redundant rows, start gaps and what it takes to close them.

    `weights`, `assemble` and `keep` are as in `simulate`; `coordinates` are those of the model unless given.
    """
    mechanism = prepare(model, coordinates)
    equations = mechanism.equations
    given = restart(mechanism.place(), None, None, weights, assemble, keep)
    start = find_start(given, weights, any_distance=assemble, keep=keep)
    bodies, rank = follow_bodies(start), start.place.rows.rank
    m, n = len(equations.Psi), len(equations.v)
    return Report(
        name=mechanism.model.name,
        bodies=len(mechanism.model.bodies),
        coordinates=len(equations.q) - equations.n_states - len(equations.chart.counted),
        constraints=m,
        rank=rank.rank,
        dof=n - rank.rank - equations.chart.unseen,
        position_dof=n - start.place.of_positions.rank.rank - equations.chart.unseen,
        gruebler=n - m,
        redundant=start.place.rows.redundant,
        redundant_rows=tuple(map(str, start.place.rows.dependent)),
        redundancy=explain_redundancy(start.place),
        reactions=judge_reactions(bodies.place),
        singular_values=tuple(float(s) for s in rank.values),
        position_gaps=group_gaps(bodies.given.equations, bodies.given.Psi),
        velocity_gaps=group_gaps(bodies.given.equations, bodies.given.Psi_dot),
        weights=weights,
        q_changes=bodies.q_changes,
        v_changes=bodies.v_changes,
        motions=describe_freedoms(bodies.place),
        signals={
            kind: tuple(x.name for x in own)
            for kind in ("inputs", "outputs", "states")
            if (own := getattr(mechanism.model, kind))
        },
        notes=(*mechanism.notes, *note_start(mechanism.model, start)),
    )


def describe_freedoms(place: Place) -> tuple[str, ...]:
    """Return the bodies that each freedom moves and how; of large mechanisms, or of many freedoms, nothing."""
    if not 0 < len(place.v) - place.rank.rank <= MOST_NAMED or len(place.v) > MOST_VELOCITIES:
        return ()
    return tuple(describe_motions(place.equations, find_freedoms(place)))


def find_freedoms(place: Place) -> Array:
    """Return a basis of what the joints let move, a column for each freedom."""
    J, root = place.scaled_jacobian("unit")
    return reduce_basis(place.equations, root @ svd(J)[2][place.rank.rank :].T)


def judge_reactions(place: Place) -> dict[str, Literal["unique", "not unique"]]:
    """Return whether the forces of a joint follow from the motion: not if its rows depend on others, Psi_q^T lam =
    0.
    """
    shared = {row.element for row in place.rows.dependent}
    return {row.element: "not unique" if row.element in shared else "unique" for row in place.equations.rows}


def explain_redundancy(place: Place) -> Redundancy:
    """Return why rows depend on others.

    structural        by which bodies the joints join, whatever the dimensions
    geometric         by the dimensions, in every position: parallel axes, a repeated joint
    at this position  only here; a little further on the constraints are independent
    """
    m, rank = place.rank.rank + place.rows.redundant, place.rank.rank
    if rank == m:
        return "none"
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import structural_rank

    elsewhere = place.moved(place.v_scale * aside(len(place.v)))  # an entry can be zero here by chance
    if structural_rank(csr_array(elsewhere.Psi_q != 0.0)) < m:
        return "structural"
    return "geometric" if leave_singular(place) is place else "at this position"


def note_start(model: Model, start: Fitted, q: Given = None, v: Given = None) -> Iterator[Note]:
    """Yield notes on the start, from these values or those of the model, that are no errors."""
    m, n, rank = len(start.place.Psi), len(start.place.v), start.place.rows.rank
    if rank.uncertain:
        yield Note("rank-uncertain", values=rank.values[-4:].tolist())
    if start.place.rows.redundant:
        yield Note("redundant", rank=rank.rank, of=m, rows=[*map(str, start.place.rows.dependent)])
    if n == rank.rank and not model.drivers:
        yield Note("no-freedom")
    if not (q or v) and start.place.departure <= NEGLIGIBLE:
        return
    bodies = follow_bodies(start, q, v)
    if bodies.place is bodies.given:
        return
    q_changes, v_changes = bodies.q_changes, bodies.v_changes
    if q_changes or v_changes:
        changes = q_changes | {f"{name} per s": change for name, change in v_changes.items()}
        widest = sorted(changes, key=lambda name: -abs(changes[name]))[:MOST_NAMED]
        yield Note("start-corrected", weights=start.weights, changes={name: changes[name] for name in widest})
