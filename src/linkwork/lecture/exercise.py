"""The exercise being worked out: a mechanism at one instant, and the parts that all formulations share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from linkwork.compiled.mechanism import Mechanism
from linkwork.equations.equations import TIME
from linkwork.expressions.evaluation import RING, evaluate, ordered
from linkwork.expressions.graph import ZERO, Expr
from linkwork.formulations import all_formulations, solve_on_scales
from linkwork.lecture import letters as sym
from linkwork.lecture import sheet
from linkwork.lecture.coordinates import write_coordinates
from linkwork.lecture.naming import Letters
from linkwork.lecture.sheet import (
    MOST_COLUMNS,
    Array,
    Equation,
    Grid,
    Name,
    Pose,
    Sheet,
    Statement,
    Words,
    Worked,
    listing,
    numbers,
)
from linkwork.lecture.symbolic import MOST_COORDINATES, Matrix, Numbers, Reduction, Symbols, values_of
from linkwork.lecture.values import Known, Scope, Value, named, vector
from linkwork.linalg.rank import RANK_TOLERANCE, Rank, decide_rank
from linkwork.writing.notation import (
    Formula,
    Listed,
    Symbol,
    call,
    column,
    diag,
    equal,
    line,
    number,
    symbol_of,
    together,
)
from linkwork.writing.notation import Matrix as Brackets
from linkwork.writing.rational import Rational, TooLong, atom


@dataclass(frozen=True)
class Spectrum:
    """What a formulation decides the rank on; values up to `tolerance` of n and m times the largest count as zero."""

    values: Callable[[Exercise], Array]
    about: Words
    tolerance: Callable[[int, int], float] = lambda n, m: RANK_TOLERANCE


@dataclass(frozen=True)
class Method:
    """A formulation as it is taught: steps that define a and lam, what it decides the rank on, and where it is from."""

    steps: Callable[[Exercise], None]
    spectrum: Spectrum
    about: Words
    moves: bool = True  # gives a and lam


@dataclass(frozen=True)
class Instant:
    """A mechanism at one time of its motion, with the accelerations and multipliers that `augmented` finds there."""

    model: str
    numbers: Numbers
    a: Array
    lam: Array
    step: float = 0.01  # of its reports
    mechanism: Mechanism | None = None
    left_out: tuple[str, ...] = ()  # constraint rows that hold by themselves

    @cached_property
    def symbols(self) -> Symbols:
        return Symbols(self.numbers.equations, self.numbers.values)


class Exercise(Sheet):
    """The sheet of a formulation: the mechanism at one instant, names for everything, and the blocks so far."""

    def __init__(
        self, instant: Instant, formulation: str, method: Method, pivoting: str | Sequence[int] = "sparse"
    ) -> None:
        x = instant.numbers
        e = x.equations
        self.instant, self.formulation, self.method, self.pivoting = instant, formulation, method, pivoting
        self.model, self.t = instant.model, x.t
        self.other, self.other_a, self.other_lam = "augmented", instant.a, instant.lam
        if formulation == "augmented":  # not with itself
            found = solve_on_scales("qr", x.M, x.Psi_q, x.Q, x.gamma, x.v_scale, x.row_scale)
            self.other, self.other_a, self.other_lam = "qr", found.a, found.lam
        self.equations = e
        self.M, self.Psi_q, self.Q, self.gamma = x.M, x.Psi_q, x.Q, x.gamma
        self.numbers = x
        self.n, self.m = len(e.v), len(e.Psi)
        self.rows = tuple(str(row) for row in e.rows)
        self.equation: Formula | None = None
        self.is_reduced = False  # to the freedoms, by the method itself
        self.dependent: tuple[int, ...] | None = None  # coordinates, by a method that chooses them
        self.rates = len(e.q) == len(e.v)  # the velocities are the rates of the coordinates
        self.q = [Symbol("q", (str(k),)) for k in range(1, len(e.q) + 1)]
        self.v = [x.dot for x in self.q] if self.rates else [Symbol("v", (str(k),)) for k in range(1, self.n + 1)]
        self.a = [x.ddot for x in self.q] if self.rates else [x.dot for x in self.v]
        self.heads = self.q if self.rates else self.v
        self.velocity = sym.q.dot if self.rates else sym.v
        self.columns = tuple(zip(self.heads, e.v_names, strict=True))
        self.letters = Letters(instant.mechanism.model) if instant.mechanism is not None else None
        super().__init__(self._name_symbols())
        self.ranks[sym.Psi_q] = self.r
        forces, masses = float(np.abs(x.Q).max()), float(np.abs(x.M).max()) or 1.0
        speed = float(np.max(np.abs(x.v) / x.v_scale, initial=0.0))
        self.scope.sizes = {
            sym.a: forces / masses, sym.lam: forces, sym.Psi: x.length, sym.Psi_q: min(1.0, x.length),
            sym.gamma: x.length * speed**2,
        }  # fmt: skip
        self.find(self.values(x))
        sizes = {sym.n: self.n, sym.m: self.m, sym.r: self.r, sym.F: self.free, sym.t: self.t}
        self.find({letter: vector([float(size)]) for letter, size in sizes.items()})
        self.entries.find({self.names[node]: vector([value]) for node, value in x.values.items()})
        self.told = set[Expr]()  # parameters that a table explains
        self.lengthy = self._name_lengthy() if self.small else {}
        self.entries.find({self.names[node]: vector([value]) for node, value in self.lengthy.items()})
        if self.small:
            self._know_symbols()

    def values(self, x: Numbers) -> dict[Formula, Value]:
        """List the data of a mechanism."""
        rows, columns = named(self.rows), self.columns
        turning, t_turning = x.turning
        return {
            sym.M: Value(x.M, columns, columns),
            sym.Psi_q: Value(x.Psi_q, rows, columns),
            sym.Psi_q.dot: Value(turning, rows, columns),
            sym.Psi_t.dot: vector(t_turning, rows),
            sym.Q: vector(x.Q, columns),
            sym.gamma: vector(x.gamma, rows),
            sym.Psi: vector(x.Psi, rows),
            sym.Psi_t: vector(x.Psi_t, rows),
            self.velocity: vector(x.v, columns),
        }

    def _know_symbols(self) -> None:
        s = self.symbols
        rows, columns = named(self.rows), self.columns
        found = {
            sym.M: (s.M, columns, columns), sym.Psi_q: (s.Psi_q, rows, columns), sym.Q: (s.Q, columns, ()),
            sym.gamma: (s.gamma, rows, ()), sym.Psi: (s.Psi, rows, ()), sym.Psi_t: (s.Psi_t, rows, ()),
        }  # fmt: skip
        given: dict[Formula, Value] = {
            name: Value(np.array(A, dtype=object).reshape(len(A), -1), *axes) for name, (A, *axes) in found.items() if A
        }
        self.exact = Scope(given, self.definitions, self.ranks)
        for sample in s.samples if all(sample.is_finite for sample in s.samples) else ():
            own = Scope(self.values(sample), self.definitions, self.ranks)
            self.samples.append((own, sample.all_values))

    def _name_symbols(self) -> dict[Expr, Formula]:
        """Return all symbols, parameters first, in the order in which factors are written."""
        e = self.equations
        names: dict[Expr, Formula] = {}
        for parameter in e.parameters:
            shown = self._parameter_symbol(str(parameter.value))[0]
            names[parameter] = Symbol(str(parameter.value)) if shown in (*self.q, *self.v, *names.values()) else shown
        for nodes, symbols in ((e.q, self.q), (e.v, self.v), (e.a, self.a)):
            names |= dict(zip(nodes, symbols, strict=True))
        return {**names, TIME: sym.t}

    def _name_lengthy(self) -> dict[Expr, float]:
        """Return letters c_1, c_2, ... for long functions of parameters alone, such as start angles, and their
        values.
        """
        e = self.equations
        of_parameters: dict[Expr, bool] = {}
        roots = [*e.Psi, *e.M.values(), *e.Q]
        for node in ordered(roots):
            own = node in e.parameters or node.is_constant
            of_parameters[node] = own or (bool(node.args) and all(of_parameters[part] for part in node.args))
        found: dict[Expr, float] = {}
        letters = (Symbol("c", (str(k),)) for k in count(1))
        met, waiting = set[Expr](), roots[::-1]
        while waiting:
            node = waiting.pop()
            if node in met:
                continue
            met.add(node)
            if not of_parameters[node] or node.op in RING:
                waiting += node.args[::-1]
            elif node.args and self._is_long(node):
                self.names[node] = next(letter for letter in letters if letter not in self.names.values())
                (found[node],) = evaluate([node], self.numbers.values)
        return found

    def _is_long(self, node: Expr) -> bool:
        try:
            return self.write(atom(node)).size > sheet.LONGEST_ENTRY
        except TooLong:
            return True

    def _parameter_symbol(self, name: str) -> tuple[Symbol, str]:
        """Return a parameter, or a number that the model does not name, and what it is."""
        if not name.endswith("'") or self.letters is None:
            return symbol_of(name.rstrip("'")), ""
        return self.letters.symbol(name)

    @property
    def symbols(self) -> Symbols:
        return self.instant.symbols

    @cached_property
    def rank(self) -> Rank:
        """The decision on the values that the method itself computes, as its kernel takes it."""
        values = np.sort(self.method.spectrum.values(self))[::-1][: min(self.n, self.m)]
        return decide_rank(values, self.tolerance)

    @property
    def tolerance(self) -> float:
        return self.method.spectrum.tolerance(self.n, self.m)

    @property
    def small(self) -> bool:
        """Return whether symbols are worth trying."""
        return self.n <= MOST_COORDINATES

    @property
    def r(self) -> int:
        return self.rank.rank

    @property
    def free(self) -> int:
        return self.n - self.r

    def reduction(self, dependent: Sequence[int] | None = None) -> Reduction | None:
        return self.symbols.reduction(self.r, dependent) if self.small else None

    # The parts common to all

    def work_out(self) -> Worked:
        self._write_state()
        if not self.method.moves:
            return self._work_out_position()
        self._write_equations()
        if self.formulation != "augmented" and self.m:
            self._write_rank()
        self.method.steps(self)
        if not self.is_reduced:
            self._write_solved()
        if not self.m:
            self.find({sym.lam: Value(np.zeros((0, 1)))})
        a, lam = (self.scope(x).entries[:, 0] for x in (sym.a, sym.lam))
        accelerations = {x: vector([value]) for x, value in zip(self.a, a, strict=True)}
        self.find(accelerations)
        self.entries.find(accelerations)
        statements = self.verify()
        self._write_check(a, lam, statements)
        title = f"{self.model}{' by ' if self.formulation in all_formulations() else ': '}{self.formulation}"
        return Worked(
            title, self.model, self.formulation, self.t, self.equations.v_names,
            self.rows, a, lam, self.other, self.other_a, self.other_lam, self.equation, tuple(self.blocks), statements,
            self._pose(),
        )  # fmt: skip

    def _work_out_position(self) -> Worked:
        """Work out an analysis that ends with positions."""
        self._write_constraints()
        self.method.steps(self)
        statements = self.verify()
        self.head("Check")
        self._write_statements(statements)
        none = np.zeros(0)
        return Worked(
            f"{self.model}: {self.formulation}", self.model, self.formulation, self.t, (), (), none, none, "",
            none, none, None, tuple(self.blocks), statements, self._pose(),
        )  # fmt: skip

    def _pose(self) -> Pose | None:
        """Describe the pose of a mechanism with bodies."""
        if self.letters is None or not self.letters.model.bodies:
            return None
        e = self.equations.chart.body or self.equations
        q = dict(zip(e.q_names, self.numbers.of_bodies()[0].tolist(), strict=True))
        return Pose(self.letters.model, q, self.letters.elements)

    def _write_statements(self, statements: tuple[Statement, ...]) -> None:
        worst = max(statement.difference for statement in statements)
        self.say(
            f"The {len(statements)} equations on this sheet were evaluated as they are written: their sides differ, "
            "relative to their terms, by", number(worst, 2), "at most.",
        )  # fmt: skip

    def _write_state(self) -> None:
        e, x = self.equations, self.numbers
        self.say("Method:", self.method.about, ".")
        self.head("Coordinates")
        where: Words = "at the start" if self.t == 0.0 else ("at", equal(sym.t, number(self.t)), "s")
        what = "coordinate" if self.rates else "velocity"
        plural = what if self.n == 1 else {"coordinate": "coordinates", "velocity": "velocities"}[what]
        rows = "constraint row" if self.m == 1 else "constraint rows"
        self.say(
            "The mechanism", Name(self.model), "has", equal(sym.n, self.n), f"{plural} and", equal(sym.m, self.m),
            f"{rows}. Its state", where, ", in SI units and radians:",
        )  # fmt: skip
        q, v = (tuple(row[0] for row in numbers(values[:, None])) for values in (x.q, x.v))
        if self.rates:
            coordinates = zip(self.q, map(Name, e.q_names), q, v, strict=True)
            self.table(("", "coordinate", "value", "rate"), list(coordinates))
        else:
            self.table(("", "coordinate", "value"), list(zip(self.q, map(Name, e.q_names), q, strict=True)))
            self.table(("", "velocity", "value"), list(zip(self.v, map(Name, e.v_names), v, strict=True)))
        if not self.small:
            self.say(
                f"With more than {MOST_COORDINATES} coordinates formulas of single entries fill pages: matrices and "
                "vectors stand here in numbers, and equations between them in symbols."
            )
            return
        s = self.symbols
        parts = [x for A in (s.Psi, s.Psi_q if e.slips else None, s.M, s.Q) if A for row in A for x in row]
        used = {node for x in parts for node in _symbols_in(x)}
        if e.chart.tree is not None:
            used |= {*ordered([*e.chart.tree.M.values(), *e.chart.tree.Psi_q.values()])}
        self.write_parameters(used)
        if self.lengthy:
            self.say("Parameters alone give these numbers, whose formulas are too long to be read:")
            self.glossary(("", "value"), [(self.names[node], number(value)) for node, value in self.lengthy.items()])

    def write_parameters(self, used: Collection[Expr]) -> None:
        """Write the parameters among these symbols that no table has yet, and what their letters mean."""
        shown = [node for node in self.equations.parameters if node in used and node not in self.told]
        self.told |= {*shown}
        if not shown:
            return
        self.say("Parameters:")
        told = [(p, *self._parameter_symbol(str(p.value))[1:]) for p in shown]
        value = self.numbers.values
        listed = [(self.names[p], Name(str(p.value).rstrip("'")), number(value[p]), what) for p, what in told]
        if self.letters is not None and any(what for _, what in told):
            self.glossary(("", "parameter", "value", "what it is"), listed)
            self._write_letters(self.letters)
        else:
            self.glossary(("", "parameter", "value"), [row[:3] for row in listed])

    def _write_letters(self, letters: Letters) -> None:
        pairs = [(number, Name(body)) for body, number in letters.bodies.items()]
        self.say("Frames are numbered as the bodies:", *listing(f"{key} {name.text}" for key, name in pairs), ".")
        named = [f"{letter} {name}" for name, letter in letters.elements.items() if letter != name]
        if named:
            self.say("Joints, drivers and forces have letters:", *listing(named), ".")

    def find_everywhere(self, values: Mapping[Known, Value]) -> None:
        """Find names for what is the same in symbols and at the samples."""
        for scope in (self.scope, self.exact, *(sample for sample, _ in self.samples)):
            if scope is not None:
                scope.find(values)

    def _write_constraints(self) -> None:
        self.head("Constraints")
        slips = [str(self.equations.rows[i]) for i in self.equations.slips]
        if len(slips) < self.m:
            self.say("Each joint and driver gives rows of", call(sym.Psi, sym.t, sym.q), ", which are to be zero:")
            self.display(sym.Psi)
        if slips:
            rows, hold, are, they = (
                ("The row", "holds", "is", "it takes") if len(slips) == 1 else ("The rows", "hold", "are", "they take")
            )
            self.say(
                rows, *listing(map(Name, slips)), f"{hold} velocities,",
                equal(sym.Psi_q * self.velocity + sym.Psi_t, 0),
                f", and {are} the rate of no", sym.Psi, ", which is zero there: positions keep all freedoms that",
                f"{they} from velocities.",
            )  # fmt: skip
        self.head("Jacobian")
        if slips:
            rates = ("in the rates of", sym.Psi, "and here") if len(slips) < self.m else ("there",)
            self.say("The factors of the velocities", *rates, "are")
        else:
            self.say(
                "Their derivatives by the coordinates are"
                if self.rates
                else "The derivatives of their rates by the velocities are"
            )
        self.display(sym.Psi_q)

    def _write_equations(self) -> None:
        write_coordinates(self, self.numbers, self.velocity)
        if self.instant.left_out:
            names = listing(map(Name, self.instant.left_out))
            self.say("The constraint rows", *names, "hold by themselves in these coordinates and are left out.")
        if self.m:
            self._write_constraints()
            rate = self.velocity
            if len(self.equations.slips) < self.m:
                zero = equal(sym.Psi_q * rate + sym.Psi_t, 0)
                self.say("Differentiated with respect to time, the constraints are", zero, ".")
            if any(x is not ZERO for x in self.equations.Psi_t):
                self.say("Here", sym.Psi_t, "is the rate of what depends on time itself:")
                self.display(sym.Psi_t)
            once = "once more" if len(self.equations.slips) < self.m else "with respect to time"
            self.say(
                f"Differentiated {once},", equal(sym.Psi_q * sym.a, sym.gamma), ", where",
                equal(sym.gamma, -(sym.Psi_q.dot * rate) - sym.Psi_t.dot),
                "holds what is quadratic in the velocities (and what drivers do with time):",
            )  # fmt: skip
            self.display(sym.gamma)
            self._say_why(sym.Psi, sym.Psi_q, sym.gamma)
        self.head("Masses and forces")
        diagonal = np.count_nonzero(self.M - np.diag(np.diag(self.M))) == 0
        if diagonal and self.n > 4:
            self.say("The mass matrix is diagonal; its diagonal and the applied forces are")
            exact = self.in_symbols(sym.M)
            D = [[row[i]] for i, row in enumerate(exact)] if exact else None
            self.vector(diag(sym.M), np.diag(self.M), self.equations.v_names, D)
        else:
            self.display(sym.M)
        self.display(sym.Q)
        self._say_why(sym.M, sym.Q)
        if not self.m:
            self.say("No constraints are left. The equations to be solved for the accelerations", sym.a, "are")
            self.show(equal(sym.M * sym.a, sym.Q))
            return
        self.say("The equations to be solved for the accelerations", sym.a, "and the multipliers", sym.lam, "are")
        self.show(equal(sym.M * sym.a + sym.Psi_q.T * sym.lam, sym.Q), equal(sym.Psi_q * sym.a, sym.gamma))

    def _say_why(self, *names: Formula) -> None:
        """Tell which of these stand in numbers alone because their formulas are long."""
        long = [name for name in names if self.small and self.in_symbols(name) is None]
        if long:
            with_names = listing(long) if len(long) < 2 else [*listing(long[:-1]), "and", long[-1]]
            self.say(
                "Of", *with_names, "there are numbers only: multiplied out, the formulas are too long to be read; as "
                "sequences of short ones the command equations writes them.",
            )  # fmt: skip

    def _write_rank(self) -> None:
        self.head("Rank")
        rank = self.rank
        self.say(
            self.method.spectrum.about,
            ", in descending order:",
            *listing(sheet.spectrum(rank.values, sheet.MOST_IN_BLOCKS)),
            ".",
        )
        none = self.r == min(self.n, self.m)
        gap: Words = "no value is dropped" if none else ("the gap is", number(rank.gap, 3))
        doubt = ", and it is uncertain: the spectrum has no clear gap there." if rank.uncertain else "."
        spare = self.m - self.r
        depend = "depends" if spare == 1 else "depend"
        others = f", and {spare} of the {self.m} rows {depend} on the others." if spare else "."
        self.say(
            "Values up to", number(self.tolerance, 3), "times the largest count as zero;", gap, ". The rank is",
            equal(sym.r, self.r), f"{doubt} The mechanism has",
            equal(sym.F, sym.n - sym.r, number(self.n) - number(self.r), self.free),
            ("degree" if self.free == 1 else "degrees") + " of freedom", others,
        )  # fmt: skip

    def _write_solved(self) -> None:
        """Write the equation of motion that the formulation has solved, for those that do not form it."""
        r = self.reduction()
        if r is not None and r.M_hat is not None and r.independent:
            self.head("What has been solved")
            self.find({sym.V: Value(values_of(r.V, self.numbers.values))})
            self.write_reduced(
                r, False, "All formulations solve the same equation of motion. It is seen when the reactions are "
                "eliminated, with", equal(sym.Psi_q * sym.V, 0), ".",
            )  # fmt: skip

    def _write_check(self, a: Array, lam: Array, statements: tuple[Statement, ...]) -> None:
        self.head("Check")
        e = self.equations
        heads = Name(self.formulation), Name(self.other)
        self.say("The accelerations, with those of", heads[1], "computed by compiled code:")
        size = self.scope.magnitude(sym.a)
        both = numbers(np.column_stack([a, self.other_a]), 10, size)
        self.table(
            ("", "of", *heads), [(x, Name(of), y, z) for x, of, (y, z) in zip(self.a, e.v_names, both, strict=True)]
        )  # fmt: skip
        if self.m:
            self.say("The multipliers:")
            both = numbers(np.column_stack([lam, self.other_lam]), 10, self.scope.magnitude(sym.lam))
            rows = [(Name(row), x, y) for row, (x, y) in zip(self.rows, both, strict=True)]
            self.table((sym.lam, *heads), rows)
        if self.m > self.r:
            self.say(
                "The constraint rows depend on each other: only the forces of the joints are determined, and they",
                "differ by", _largest(self.Psi_q.T @ (lam - self.other_lam)),
                "; of the multipliers themselves", Name("augmented"), "finds the least",
                ", and the rows that were left out have none." if sym.P_1 in self.scope.given and not self.is_reduced
                else "with fewer digits.",
            )  # fmt: skip
        both_lam: Words = (",", _largest(lam - self.other_lam), "in the multipliers.") if self.m else "."
        self.say("Largest difference:", _largest(a - self.other_a), "in the accelerations", both_lam)
        given = (sym.M, sym.Q, sym.Psi, sym.Psi_q, sym.gamma, sym.a, sym.lam)
        if self.small and (bare := [name for name in self.bare if name not in given]):
            self.say("In numbers alone, because no short formula gives their entries:", *listing(bare), ".")
        self._write_statements(statements)

    # Steps shared by several formulations

    def basis(self, symbols: Matrix | None = None) -> None:
        """Return V, which is defined, as the motions that the constraints admit, and B with p' = B q'."""
        if not self.free:
            self.say("No freedom is left, and", sym.V, "has no columns: the constraints alone give the accelerations.")
            return
        heads = tuple((Symbol("p", (str(k),) if self.free > 1 else (), "dot"), "") for k in range(1, self.free + 1))
        V = self.scope(sym.V)
        self.find({sym.V: Value(V.entries, self.columns, heads)})
        self.display(sym.V, symbols)
        if self.m:
            self.say("The constraints admit these motions:", equal(sym.Psi_q * sym.V, 0), ".")

    def reduce(self, S: Formula, B: Formula, *how: Words, symbols: Matrix | None = None) -> None:
        """Reduce: find the accelerations from V and S, with Psi_q S gamma = gamma, by way of the reduced system."""
        self.is_reduced = True
        S_gamma, in_p = sym.S * sym.gamma, sym.V * sym.p.ddot
        if self.m:
            self.head("One solution of the constraints")
            self.say(*how)
            self.let(sym.S, S)
            if symbols is None and (r := self.reduction()) is not None:
                symbols = self.symbols.orthogonal(r)
            self.say("gives", equal(sym.Psi_q * S_gamma, sym.gamma), ":")
            self.display(S_gamma, symbols)
        if not self.free:
            self.head("Accelerations")
            self.let(sym.a, S_gamma)
            return
        if self.m == self.r and self.m:
            self.define(sym.B, B)
            self.define(sym.p.dot, sym.B * self.velocity)
            self.say(
                "The matrix", equal(sym.B, B), "takes the rates of", sym.p, "from the velocities. Below the Jacobian",
                "it makes a matrix that has an inverse; so", equal(sym.B * sym.V, sym.Unit), "and",
                equal(sym.B * sym.S, 0), ":",
            )  # fmt: skip
            self.show(equal(column(sym.Psi_q, sym.B).inverse, line(sym.S, sym.V)))
            velocities = sym.V * sym.p.dot - sym.S * sym.Psi_t
            self.say(
                "The velocities are",
                equal(self.velocity, velocities),
                "with",
                equal(sym.p.dot, sym.B * self.velocity),
                ".",
            )
        self.head("Reduced system")
        a_of_p = in_p + S_gamma if self.m else in_p
        rest = sym.Q - sym.M * S_gamma if self.m else sym.Q
        self.say("The accelerations are", equal(sym.a, a_of_p), ".")
        if self.m:
            self.say(
                "Multiplication by the transposed basis removes the multipliers, because",
                equal(sym.V.T * sym.Psi_q.T, 0),
                ":",
            )
        self.show(equal(sym.V.T * sym.M * sym.V * sym.p.ddot, sym.V.T * rest))
        for name, formula_ in ((sym.M.hat, sym.V.T * sym.M * sym.V), (sym.Q.hat, sym.V.T * rest)):
            if name not in self.definitions:
                self.define(name, formula_)
        self.define(sym.p.ddot, sym.M.hat.inverse * sym.Q.hat)
        if self.free <= MOST_COLUMNS:
            M_hat, Q_hat, pdd = (self._bracket(x) for x in (sym.M.hat, sym.Q.hat, sym.p.ddot))
            self.show(equal(sym.M.hat * sym.p.ddot, sym.Q.hat))
            self.show_formula(together(equal(M_hat * sym.p.ddot, Q_hat), equal(sym.p.ddot, pdd)))
        reduction = self.reduction(self.dependent)
        if reduction is not None:
            self.write_reduced(reduction, self.dependent is not None)
        self.head("Accelerations")
        if reduction is not None and self.dependent is not None:
            self._keep_independent(reduction.independent)
        self.let(sym.a, a_of_p)

    def _keep_independent(self, places: Sequence[int]) -> None:
        """Write the accelerations in symbols as functions of the independent ones."""
        if self.exact is not None:
            self.exact.given[sym.p.ddot] = vector(atom(self.equations.a[j]) for j in places)
        for (scope, _), sample in zip(self.samples, self.symbols.samples, strict=False):
            scope.given[sym.p.ddot] = vector(sample.solution[0][list(places)])

    def _bracket(self, name: Formula) -> Formula:
        """Return a matrix inside a formula; of one entry just this."""
        A = numbers(self.scope(name).entries, size=self.scope.magnitude(name))
        return Brackets(A) if self.free > 1 else A[0][0]

    def write_reduced(self, r: Reduction, own: bool, *lead: Words) -> None:
        """Write the reduced equation for the independent coordinates, in symbols where it is short."""
        if r.M_hat is None or r.Q_hat is None or not r.independent:
            return
        M_hat, Q_hat = (tuple(tuple(self.write(x) for x in row) for row in A) for A in (r.M_hat, r.Q_hat))
        if len(r.independent) == 1:
            left, load = M_hat[0][0] * sym.p.ddot, -r.Q_hat[0][0]
            equation = equal(left + self.write(load) if load else left, 0)
        else:
            equation = equal(Brackets(M_hat) * sym.p.ddot, Brackets(Q_hat))
        coordinates = Listed(tuple(self.heads[j] for j in r.independent))
        if not own:
            self.say(
                *(lead or ("Any basis of the same space will do.",)), "The one that elimination finds has", sym.p.dot,
                "equal to the rate of", coordinates, "itself:",
            )  # fmt: skip
            if (cells := self.write_cells(r.V)) is not None and len(r.independent) <= MOST_COLUMNS:
                self.blocks.append(Grid(sym.V, self.equations.v_names, _rates(len(r.independent)), cells))
        if equation.size > sheet.LONGEST_EQUATION * len(r.independent):
            self.say("In symbols the reduced equation is too long to be read.")
            return
        self.equation = equation
        with_p = ("In symbols, with", sym.p, "for", coordinates, ":")
        self.say(*(with_p if own else ("With it the reduced equation is, in symbols,",)))
        self.blocks.append(Equation(equation))
        if len(r.independent) == 1:
            inertia, force = (A[0][0].value(self.numbers.values) for A in (r.M_hat, r.Q_hat))
            pdd = self.a[r.independent[0]]
            self.say(
                "In numbers", equal(number(inertia) * pdd, number(force)), ", so",
                equal(*([sym.p.ddot] if own else []), pdd, number(force / inertia)), ".",
            )  # fmt: skip

    def multipliers(self, formula: Formula, *how: Words) -> None:
        if self.m:
            self.head("Multipliers")
            balance = "What the masses leave of the forces has to be balanced by the reactions"
            self.say(*(how or (balance,)), ", of which those of least norm are taken:" if self.m > self.r else ":")
            self.let(sym.lam, formula, self.lam_in_symbols())
            forces = -(sym.Psi_q.T * sym.lam)
            self.say("The joints act with the generalized forces", equal(forces, sym.M * sym.a - sym.Q), ".")

    def lam_in_symbols(self) -> Matrix | None:
        r = self.reduction()
        return self.symbols.multipliers(r) if r is not None else None

    def unit_basis(self) -> Matrix | None:
        r = self.reduction()
        return self.symbols.unit_basis(r) if r is not None else None


def _largest(x: Array) -> Formula:
    return number(float(np.max(np.abs(x), initial=0.0)), 2)


def _rates(count: int) -> tuple[tuple[Formula, str], ...]:
    """Return the heads of the columns of a basis."""
    return tuple((Symbol("p", (str(k),) if count > 1 else (), "dot"), "") for k in range(1, count + 1))


def _symbols_in(x: Rational) -> set[Expr]:
    return {node for node in ordered(x.above.atoms | x.below.atoms) if node.op == "symbol"}
