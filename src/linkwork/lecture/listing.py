"""The equations of a mechanism written down: as they are stated, in involutive form, and solved.

lagrange    M a + Psi_q^T lam = Q,  Psi = 0
rif         with all hidden constraints: A X = b for X = (a, lam), N = {Psi, D_t Psi}, det A != 0
                                                                                 [zhou2007, eqs. (7)-(11)]
explicit    a and lam as a computation sequence W1, W2, ..., by symbolic LU      [zhou2007, eqs. (17)-(19)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.equations.coordinates import Coordinates
from linkwork.equations.equations import TIME, Equations, Output, substitute_in
from linkwork.equations.explicit import as_dae, leading_system, solve_explicitly
from linkwork.errors import ModelError, UsageError, check_choice, checked_call
from linkwork.expressions.derivatives import directional
from linkwork.expressions.evaluation import substitute
from linkwork.expressions.graph import ONE, ZERO, Expr, constant, symbol
from linkwork.lecture.arms import describe_tree, name_arms
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.sequences.sequence import ComputationSequence
from linkwork.start.branches import leave_singular
from linkwork.symbolic.hierarchy import Hierarchy, unused_letter
from linkwork.symbolic.lu import lu
from linkwork.symbolic.structural import analyse
from linkwork.writing.languages import function_name

FORMS = ("explicit", "rif", "lagrange")
LARGEST = 12  # symbols and numbers of an entry that is not veiled


@dataclass(frozen=True)
class Group:
    """A matrix or vector by those of its entries that are not zero, each with the names of its row and column.

    `rows` and `columns` are the names of all, in order; of a vector the columns are none.
    """

    letter: str
    about: str
    entries: Mapping[tuple[str, ...], Expr]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    symmetric: bool = False  # and only the lower half is listed

    @property
    def cells(self) -> list[list[Expr]]:
        """All entries of the matrix, zeros too."""
        if not self.columns:
            return [[self.entries.get((row,), ZERO)] for row in self.rows]
        mirrored = {names[::-1]: x for names, x in self.entries.items()} if self.symmetric else {}
        whole = {**mirrored, **self.entries}
        return [[whole.get((row, column), ZERO) for column in self.columns] for row in self.rows]


@dataclass(frozen=True, repr=False)
class Listing(Printed):
    """What is written down: groups of entries, then the definitions of veiled symbols and the results in them."""

    model: str
    form: str
    equations: Equations
    inputs: tuple[Expr, ...]  # t, q, v and the parameters that the model names
    groups: tuple[Group, ...]
    results: Mapping[str, Expr] = field(default_factory=dict[str, Expr])
    conditions: Sequence[Expr] = ()  # what must not vanish
    notes: tuple[str, ...] = ()
    hierarchy: Hierarchy = field(default_factory=Hierarchy)
    depth: int = 0

    def __str__(self) -> str:
        from linkwork.view.listing import text

        return text(self).rstrip()

    def write(self, to: str = "text") -> str:
        """Write it as text, latex, markdown, python, numpy, c, fortran, julia or maple."""
        from linkwork.view.listing import FORMATS

        check_choice("format", to, FORMATS)
        return FORMATS[to](self)

    @property
    def sequence(self) -> ComputationSequence:
        """The results as a function of the inputs; of a form that solves nothing, all entries."""
        return self.hierarchy.sequence(function_name(self.model), self.inputs, self.outputs.values())

    @property
    def outputs(self) -> Mapping[str, Expr]:
        if self.results:
            return self.results
        found = {
            f"{group.letter} {' '.join(names)}": entry
            for group in self.groups
            for names, entry in group.entries.items()
        }
        return dict(zip(found, substitute(self.hierarchy.unveil(found.values()), self.arms), strict=True))

    @property
    def arms(self) -> dict[Expr, Expr]:
        """What the symbols for arms in the matrices of joint coordinates stand for."""
        arms = {names[0]: x for group in self.groups if group.letter == "d" for names, x in group.entries.items()}
        return {symbol(f"d_{name}"): x for name, x in zip(arms, self.hierarchy.unveil(arms.values()), strict=True)}


@checked_call()
def write_down(
    model: Model | Mechanism,
    form: str = "explicit",
    *,
    coordinates: str | Coordinates | None = None,
    pivoting: str | Sequence[int] = "sparse",
    largest: int = LARGEST,
    unveil: int = 0,
) -> Listing:
    """Write the equations in one of FORMS.

    `pivoting` is that of the LU. What is larger than `largest` is veiled in its factors, and in entries that are too
    long to be read; definitions are unveiled `unveil` times. Numbers that the model does not name stand in
    the equations as numbers.
    """
    check_choice("form", form, FORMS)
    if unveil < 0 or largest < 1:
        raise UsageError("the depth of unveiling must be 0 or more, the size of what is not veiled 1 or more", "usage")
    mechanism = prepare(model, coordinates)
    start = mechanism.place()
    place = leave_singular(start)
    e = with_numbers(mechanism.equations, mechanism.model.parameters)
    rows = place.rows.independent
    left_out = {str(row): bool(place.is_open[k]) for k, row in enumerate(e.rows) if k not in rows}
    open_rows = ", ".join(name for name, is_open in left_out.items() if is_open)
    dependent = ", ".join(name for name, is_open in left_out.items() if not is_open)
    values = mechanism.equations.parameters
    named = mechanism.model.parameters
    frozen = ", ".join(f"{s.value} = {values[s]:g}" for s in mechanism.equations.held if s.value not in named)
    dof = len(e.v) - len(rows)
    notes = [f"{dof} {'degree' if dof == 1 else 'degrees'} of freedom", *describe_tree(e)]
    if e.slips:
        apart = ", ".join(str(e.rows[i]) for i in e.slips)
        which = f"the row {apart} is" if len(e.slips) == 1 else f"the rows {apart} are"
        notes.append(f"of velocities; {which} A v + b = 0 and the rate of no Psi, which is zero there")
    notes += ["the start position is singular, so rows are chosen at another one near it"] * (place is not start)
    notes += [f"left out, because they depend on the other rows: {dependent}"] * bool(dependent)
    notes += [f"left out, because their joints are open: {open_rows}"] * bool(open_rows)
    notes += [f"what events change stands here as it is at the start: {frozen}"] * bool(frozen)
    letter = unused_letter((*e.q, *e.v, *e.parameters))
    groups, results, conditions, hierarchy = _stated(e), {}, [], Hierarchy(letter, largest)
    if form == "rif":
        groups += _hidden(e)
        A, b = leading_system(e, rows)
        names = (*e.v_names, *(str(e.rows[k]) for k in rows))
        groups += [
            Group("A", "A X = b for X = (a, lam), A = [M Psi_q^T; Psi_q 0]", _matrix(names, names, A), names, names)
        ]
        groups += [Group("b", "b = (Q, -H v - 2 Psi_tq v - Psi_tt)", _vector(names, b), names)]
        size = len(b)
        rank = lu(A, size).rank
        regular = f"det A != 0 for almost all states, A being {size} x {size}"
        notes.insert(0, regular if rank == size else f"det A = 0: A is {size} x {size} and has rank {rank}")
        notes += _structure(e, [k for k in range(len(e.rows)) if not place.is_open[k]], dependent)
    elif form == "explicit" and not e.chart.of_all_joints:  # else it is there as -C_dot v
        right = "-D_t^2 Psi at a = 0" + (", of velocities -D_t (A v + b)" if e.slips else "")
        groups += [*_rate(e), Group("gamma", right, _vector(e.rows, e.gamma), tuple(map(str, e.rows)))]
    groups = [
        replace(own, entries=dict(zip(own.entries, hierarchy.fold(own.entries.values()), strict=True)))
        for own in groups
    ]
    if form == "explicit":
        solved = solve_explicitly(e, rows, pivoting, hierarchy, [place.values])
        results = dict(zip((c.acceleration for c in e.velocities), solved.a, strict=True))
        results |= {f"lam {e.rows[k]}": solved.lam[k] for k in rows}
        results |= {f"{x.value}_d": rate for x, rate in zip(e.q[len(e.q) - e.n_states :], e.rates, strict=True)}
        if not isinstance(pivoting, str) and solved.factors.rows != tuple(pivoting):
            taken = ", ".join(str(row + 1) for row in solved.factors.rows)
            notes.append(f"rows with a zero where the pivot should be gave way; the pivots stand in the rows {taken}")
        conditions = [pivot for pivot in solved.factors.pivots if not pivot.is_constant]
    inputs = (TIME, *e.q, *e.v, *e.parameters)
    name = mechanism.model.name
    return Listing(name, form, e, inputs, tuple(groups), results, conditions, tuple(notes), hierarchy, unveil)


def _structure(e: Equations, closed: Sequence[int], left_out: str) -> Iterator[str]:
    """Find what the signature matrix says with the rows of closed joints: index, and how often which is differentiated.

    Rows `left_out` because they depend on others are so on the constraints only, if its Jacobian is regular elsewhere.
    """
    F, unknowns, names = as_dae(e, closed)
    try:
        found = analyse(F, unknowns, names)
    except ModelError as error:
        yield f"structural analysis: {error.message}"
        return
    if not found.regular:
        dependent = ", ".join(names[i] for i in found.dependent)
        yield f"structural analysis fails: its Jacobian has rank {found.rank} of {len(F)}, without {dependent}"
        return
    if left_out:
        yield f"structural analysis fails: its Jacobian is singular where Psi = 0, because of {left_out}"
        return
    lengths = len(e.q) - e.n_states - len(e.chart.counted) - len(e.v) if e.chart.tree is None else 0
    known = f", {lengths} of them lengths of Euler parameters" if lengths else ""
    free = found.freedoms - len(e.chart.counted)  # what counts turns follows but for these
    yield f"structural index {found.index}, {free} values free at the start{known}"
    for times in sorted({*found.c} - {0}):
        own = ", ".join(name for name, c in zip(names, found.c, strict=True) if c == times)
        yield f"differentiated {times} {'time' if times == 1 else 'times'}: {own}"


def with_numbers(e: Equations, named: Iterable[str]) -> Equations:
    """Return the equations with numbers in the place of parameters that have no name."""
    kept = set(named)
    numbers = {s: constant(value) for s, value in e.parameters.items() if s.value not in kept}
    numbers |= {node: ONE for node in e.hints.steady if node.op == "lt"}  # but in dead positions
    n, k = len(e.Q), len(e.Q) + len(e.Psi)
    made = substitute([*e.Q, *e.Psi, *e.qd, *e.M.values()], numbers)
    speeds = e.outputs["v"] if e.chart.body is not None else {}
    moving = substitute([output.expression for output in speeds.values()], numbers)
    carried = zip(substitute(e.hints.carried, numbers), substitute(e.hints.carried.values(), numbers), strict=True)
    return replace(
        e,
        outputs={"v": {name: Output(x, own.unit) for (name, own), x in zip(speeds.items(), moving, strict=True)}},
        hints=replace(
            e.hints,
            carried={at: rate for at, rate in carried if not at.is_constant},
            gradients={},  # differentiated anew, with the numbers
            chain=None,
        ),
        Q=tuple(made[:n]),
        Psi=tuple(made[n:k]),
        slips=substitute_in(e.slips, numbers),
        qd=tuple(made[k : k + len(e.qd)]),
        M=dict(zip(e.M, made[k + len(e.qd) :], strict=True)),
        parameters={s: value for s, value in e.parameters.items() if s not in numbers},
    )


def _vector(names: Iterable[object], entries: Iterable[Expr]) -> dict[tuple[str, ...], Expr]:
    return {(str(name),): entry for name, entry in zip(names, entries, strict=True) if entry is not ZERO}


def _matrix(
    rows: Sequence[object], columns: Sequence[object], entries: Mapping[tuple[int, int], Expr]
) -> dict[tuple[str, ...], Expr]:
    named = {(str(rows[i]), str(columns[j])): entry for (i, j), entry in sorted(entries.items())}
    return {names: entry for names, entry in named.items() if entry is not ZERO}


def _stated(e: Equations) -> list[Group]:
    lower = {(i, j): entry for (i, j), entry in e.M.items() if i >= j}
    rows = tuple(map(str, e.rows))
    rates = [(c.name, rate) for c, rate in zip(e.coordinates, e.qd, strict=True) if rate not in e.v]
    groups = [Group("qd", "rates of the coordinates", _vector(*zip(*rates, strict=True)))] if rates else []
    if e.chart.of_all_joints:
        return [*groups, *_joint_groups(e, lower)]
    return [
        *groups,
        Group("M", "mass matrix, symmetric", _matrix(e.v_names, e.v_names, lower), e.v_names, e.v_names, True),
        Group("Q", "applied forces", _vector(e.v_names, e.Q), e.v_names),
        *_constraints(e, "constraints, Psi = 0"),
        Group("Psi_q", "their Jacobian with respect to v", _matrix(e.rows, e.v_names, e.Psi_q), rows, e.v_names),
    ]


def _joint_groups(e: Equations, lower: Mapping[tuple[int, int], Expr]) -> list[Group]:
    """Write down, in joint coordinates, how the bodies move with the joints, and the equations that follow from it."""
    B, C, arms = name_arms(e)
    speeds = [output.expression for output in e.outputs["v"].values()]
    return [
        *(
            [Group("d", "arms: d i.j runs from joint j to the mass centre of body i, or to the cut", arms)]
            if arms
            else []
        ),
        Group("B", "v_b = B v, the velocities of the bodies", _matrix([*e.outputs["v"]], e.v_names, B)),
        Group(
            "B_dot_v",
            "the rest of their accelerations, a_b = B a + B_dot v",
            _vector(e.outputs["v"], directional(speeds, e.motion)),
        ),
        Group("M", "B^T M_b B, symmetric", _matrix(e.v_names, e.v_names, lower)),
        Group("h", "B^T (Q_b - M_b B_dot v)", _vector(e.v_names, e.Q)),
        *_constraints(e, "constraints of cut joints and drivers, Psi = 0"),
        Group("C", "their Jacobian with respect to v", _matrix(e.rows, e.v_names, C)),
        Group("minus_C_dot_v", "right side of C a = -C_dot v, with what drivers add", _vector(e.rows, e.gamma)),
    ]


def _constraints(e: Equations, about: str) -> list[Group]:
    """Write down the constraints of positions, and those of velocities that are the rate of none of these."""
    held, slips = e.of_positions, [e.rows[i] for i in e.slips]
    groups = [Group("Psi", about, _vector(held.rows, held.Psi), tuple(map(str, held.rows)))]
    if slips:
        about = "constraints of velocities, A v + b = 0"
        groups.append(Group("slip", about, _vector(slips, e.slips.values()), tuple(map(str, slips))))
    return [group for group in groups if group.rows or not slips]


def _rate(e: Equations) -> list[Group]:
    """Write down the rates of constraints of positions; those of velocities hide none."""
    held = e.of_positions
    rows = tuple(map(str, held.rows))
    return [Group("D_t Psi", "hidden constraints, D_t Psi = 0", _vector(rows, held.Psi_dot), rows)] if rows else []


def _hidden(e: Equations) -> list[Group]:
    """Write D_t Psi = Psi_q v + Psi_t, D_t^2 Psi = Psi_q a + H v + 2 Psi_tq v + Psi_tt  [zhou2007, eqs. (8)-(9)]."""
    places, entries = list(e.Psi_q), list(e.Psi_q.values())
    turning = directional(entries, {x: rate for x, rate in e.motion.items() if x is not TIME})
    H = dict(zip(places, turning, strict=True))
    Psi_tq = dict(zip(places, directional(entries, {TIME: ONE}), strict=True))
    rows = tuple(map(str, e.rows))
    turned = "sum over i of the derivatives of Psi_q by q_i, times their rates"
    return [
        *_rate(e),
        Group("H", turned, _matrix(e.rows, e.v_names, H), rows, e.v_names),
        Group("Psi_tq", "derivative of Psi_q by t", _matrix(e.rows, e.v_names, Psi_tq), rows, e.v_names),
        Group("Psi_tt", "second derivative of Psi by t", _vector(e.rows, directional(e.Psi_t, {TIME: ONE})), rows),
    ]
