"""The sheet on which a formulation is worked out: what is written, and the parts that all formulations share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from linkwork.dense.rank import Rank, decide_rank
from linkwork.equations.equations import TIME
from linkwork.expressions import printers
from linkwork.expressions.evaluation import ordered
from linkwork.expressions.graph import Expr, symbol
from linkwork.expressions.rational import Rational, latex
from linkwork.lecture.symbolic import MOST_COORDINATES, Matrix, Numbers, Reduction, Symbols

Array = NDArray[np.floating[Any]]

MOST_COLUMNS = 12  # of a matrix written in one piece
MOST_IN_BLOCKS = 24  # columns of a matrix written at all
MOST_ROWS = 48  # of a table
LONGEST_ENTRY = 110  # characters of LaTeX in a matrix or table
LONGEST_ALONE = 180  # in a matrix of one column
LONGEST_EQUATION = 300
NEAR_ZERO = 1e-14  # of the largest entry: shown as 0


# The document: headings, paragraphs with $mathematics$ and `names`, formulas, matrices, tables


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Paragraph:
    text: str


@dataclass(frozen=True)
class Formula:
    latex: str


@dataclass(frozen=True)
class Grid:
    """A matrix with names of its rows, and for its columns a symbol (LaTeX) and a name each, or none."""

    latex: str
    rows: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    cells: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block: TypeAlias = Heading | Paragraph | Formula | Grid | Table


@dataclass(frozen=True)
class Worked:
    """The worked exercise, its result, and that of `augmented`; `equation` is the reduced equation in symbols."""

    title: str
    model: str
    formulation: str
    t: float
    v_names: tuple[str, ...]
    rows: tuple[str, ...]
    a: Array
    lam: Array
    augmented_a: Array
    augmented_lam: Array
    equation: str | None
    blocks: tuple[Block, ...]

    @property
    def difference(self) -> tuple[float, float]:
        """The largest difference to `augmented` in a and in lam, relative to the largest entry."""
        return _difference(self.a, self.augmented_a), _difference(self.lam, self.augmented_lam)

    def as_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "formulation": self.formulation,
            "t": self.t,
            "a": dict(zip(self.v_names, map(float, self.a), strict=True)),
            "lam": dict(zip(self.rows, map(float, self.lam), strict=True)),
            "equation": self.equation,
            "difference": dict(zip(("a", "lam"), self.difference, strict=True)),
        }


def _difference(x: Array, y: Array) -> float:
    return float(np.max(np.abs(x - y), initial=0.0) / max(1.0, np.max(np.abs(y), initial=0.0)))


def number(x: float, digits: int = 6) -> str:
    """A number in LaTeX."""
    mantissa, _, exponent = f"{x + 0.0:.{digits}g}".partition("e")
    return f"{mantissa} \\cdot 10^{{{int(exponent)}}}" if exponent else mantissa


@dataclass(frozen=True)
class Method:
    """A formulation as it is taught: where it is from, what it decides the rank on, and its steps, giving a and lam.

    `tolerance` of n and m: values up to this fraction of the largest count as zero.
    """

    about: str
    spectrum_is: str
    spectrum: Callable[[Exercise], Array]
    tolerance: Callable[[int, int], float]
    steps: Callable[[Exercise], tuple[Array, Array]]


@dataclass(frozen=True)
class Instant:
    """A mechanism at one time of its motion, with the accelerations and multipliers that `augmented` finds there."""

    model: str
    t: float
    numbers: Numbers
    a: Array
    lam: Array

    @cached_property
    def symbols(self) -> Symbols:
        return Symbols(self.numbers.equations, self.numbers.values)


class Exercise:
    """The sheet being written: the mechanism at one instant, names for everything, and the blocks so far."""

    def __init__(self, instant: Instant, formulation: str, method: Method) -> None:
        x = instant.numbers
        e = x.equations
        self.instant, self.formulation, self.method = instant, formulation, method
        self.model, self.t = instant.model, instant.t
        self.augmented_a, self.augmented_lam = instant.a, instant.lam
        self.equations = e
        self.M, self.Psi_q, self.Q, self.gamma = x.M, x.Psi_q, x.Q, x.gamma
        self.numbers = x
        self.n, self.m = len(e.v), len(e.Psi)
        self.rows = tuple(str(row) for row in e.rows)
        self.blocks: list[Block] = []
        self.equation: str | None = None
        rates = len(e.q) == len(e.v)
        self.q = [f"q_{{{k}}}" for k in range(1, len(e.q) + 1)]
        self.v = [f"\\dot{{q}}_{{{k}}}" if rates else f"v_{{{k}}}" for k in range(1, self.n + 1)]
        self.a = [f"\\ddot{{q}}_{{{k}}}" if rates else f"\\dot{{v}}_{{{k}}}" for k in range(1, self.n + 1)]
        heads = self.q if rates else self.v
        self.columns = tuple(zip(heads, e.v_names, strict=True))
        self.names = self._names()

    def _names(self) -> dict[Expr, str]:
        """LaTeX of all symbols, parameters first, in the order in which factors are written."""
        e = self.equations
        names: dict[Expr, str] = {}
        taken = {*self.q, *self.v}
        for parameter in e.parameters:
            written = _parameter_name(str(parameter.value))
            if written in taken:
                written = f"\\mathrm{{{printers.latex(parameter)}}}"
            taken.add(written)
            names[parameter] = written
        for nodes, written_as in ((e.q, self.q), (e.v, self.v), (e.a, self.a)):
            names |= dict(zip(nodes, written_as, strict=True))
        return {**names, TIME: "t"}

    @property
    def symbols(self) -> Symbols:
        return self.instant.symbols

    @cached_property
    def rank(self) -> Rank:
        """The decision on the values that the method itself computes, as its kernel takes it."""
        values = np.sort(self.method.spectrum(self))[::-1][: min(self.n, self.m)]
        return decide_rank(values, self.tolerance)

    @property
    def tolerance(self) -> float:
        return self.method.tolerance(self.n, self.m)

    @property
    def small(self) -> bool:
        """Whether symbols are worth trying."""
        return self.n <= MOST_COORDINATES

    @property
    def r(self) -> int:
        return self.rank.rank

    @property
    def free(self) -> int:
        return self.n - self.r

    def reduction(self, dependent: Sequence[int] | None = None) -> Reduction | None:
        return self.symbols.reduction(self.r, dependent) if self.small else None

    # Writing

    def head(self, text: str) -> None:
        self.blocks.append(Heading(text))

    def say(self, text: str) -> None:
        self.blocks.append(Paragraph(" ".join(text.split())))

    def formula(self, text: str) -> None:
        self.blocks.append(Formula(text))

    def table(self, header: Iterable[str], rows: Sequence[Iterable[str]]) -> None:
        self.blocks.append(Table(tuple(header), tuple(tuple(row) for row in rows[:MOST_ROWS])))
        if len(rows) > MOST_ROWS:
            self.say(f"and {len(rows) - MOST_ROWS} rows more.")

    def matrix(
        self,
        name: str,
        A: Array,
        rows: Sequence[str] = (),
        columns: Sequence[tuple[str, str]] = (),
        symbols: Matrix | None = None,
    ) -> None:
        """A matrix in symbols where that is short, then in numbers; a large one in blocks of columns or in brief."""
        height, width = A.shape
        columns = tuple(columns) if columns else ()
        shown = _numbers(A)
        if symbols and width <= MOST_COLUMNS and (cells := self.short(symbols)) is not None:
            self.blocks.append(Grid(name, tuple(rows), columns, cells))
            if cells == shown:
                return
            self.say("In numbers:")
        if width > MOST_IN_BLOCKS or height > MOST_ROWS:
            filled = int(np.sum(np.abs(A) > NEAR_ZERO * np.max(np.abs(A))))
            size = number(float(np.linalg.norm(A)))
            self.say(f"${name}$ is {height} by {width} with {filled} entries that are not zero; its norm is ${size}$.")
            return
        for first in range(0, width, MOST_COLUMNS):
            part = slice(first, first + MOST_COLUMNS)
            piece = name if width <= MOST_COLUMNS else f"{name}[{first + 1} \\ldots {min(first + MOST_COLUMNS, width)}]"
            self.blocks.append(Grid(piece, tuple(rows), columns[part], tuple(row[part] for row in shown)))

    def short(self, symbols: Matrix) -> tuple[tuple[str, ...], ...] | None:
        cells = tuple(tuple(latex(x, self.names) for x in row) for row in symbols)
        longest = LONGEST_ALONE if len(cells[0]) == 1 else LONGEST_ENTRY
        return None if any(len(cell) > longest for row in cells for cell in row) else cells

    def vector(self, name: str, x: Array, labels: Sequence[str], symbols: Matrix | None = None) -> None:
        """A vector as a table: name, symbols as far as they are short, number."""
        formulas = [latex(row[0], self.names) for row in symbols] if symbols else [""] * len(x)
        formulas = [f if len(f) <= LONGEST_ENTRY else "" for f in formulas]
        values = [f"${row[0]}$" for row in _numbers(x[:, None])]
        if any(formulas):
            rows = [(label, f and f"${f}$", value) for label, f, value in zip(labels, formulas, values, strict=True)]
            self.table(("", f"${name}$", "value"), rows)
        else:
            self.table(("", f"${name}$"), list(zip(labels, values, strict=True)))

    # The parts common to all

    def worked(self) -> Worked:
        title = f"{self.model} by {self.formulation}"
        self._state()
        self._equations()
        if self.formulation != "augmented":
            self._rank()
        a, lam = self.method.steps(self)
        self._check(a, lam)
        e = self.equations
        return Worked(
            title, self.model, self.formulation, self.t, e.v_names, self.rows,
            a, lam, self.augmented_a, self.augmented_lam, self.equation, tuple(self.blocks),
        )  # fmt: skip

    def _state(self) -> None:
        e, values = self.equations, self.numbers.values
        self.say(f"Method: {self.method.about}.")
        self.head("Coordinates")
        where = "at the start" if self.t == 0.0 else f"at $t = {number(self.t)}$ s"
        what = "coordinates" if len(e.q) == self.n else "velocities"
        self.say(
            f"The mechanism `{self.model}` has $n = {self.n}$ {what}"
            f" and $m = {self.m}$ constraint rows. Its state {where}, in SI units and radians:"
        )
        if len(e.q) == self.n:
            at, rates = (_numbers(np.array([[values[x]] for x in nodes])) for nodes in (e.q, e.v))
            rows = [
                (f"${q}$", f"`{name}`", f"${x[0]}$", f"${y[0]}$")
                for q, name, x, y in zip(self.q, e.q_names, at, rates, strict=True)
            ]
            self.table(("", "coordinate", "value", "rate"), rows)
        else:
            for what, heads, names, nodes in (
                ("coordinate", self.q, e.q_names, e.q),
                ("velocity", self.v, e.v_names, e.v),
            ):
                rows_of = zip(heads, names, nodes, strict=True)
                self.table(("", what, "value"), [(f"${h}$", f"`{s}`", f"${number(values[x])}$") for h, s, x in rows_of])
        if not self.small:
            return
        s = self.symbols
        parts = [x for A in (s.Psi, s.M, s.Q) if A for row in A for x in row]
        used = {node for x in parts for node in _symbols_in(x)}
        shown = [node for node in e.parameters if node in used]
        if shown:
            self.say("Parameters:")
            rows3 = [
                (f"${self.names[x]}$", f"`{str(x.value).rstrip(chr(39))}`", f"${number(values[x])}$") for x in shown
            ]
            self.table(("", "parameter", "value"), rows3)

    def _equations(self) -> None:
        e, s = self.equations, self.symbols if self.small else None
        if self.m:
            self.head("Constraints")
            self.say("Each joint and driver gives rows of $\\Psi(t, q) = 0$:")
            self.vector("\\Psi", self.numbers.Psi, [f"`{row}`" for row in self.rows], s.Psi if s else None)
            self.head("Jacobian")
            self.say(
                "Differentiated with respect to time, $\\Psi_{q} \\dot{q} + \\Psi_{t} = 0$, with"
                if len(e.q) == self.n
                else "Differentiated with respect to time, $\\Psi_{q} v + \\Psi_{t} = 0$, with"
            )
            self.matrix("\\Psi_{q}", self.Psi_q, self.rows, self.columns, s.Psi_q if s else None)
            self.say(
                "Differentiated once more, $\\Psi_{q} a = \\gamma$, where $\\gamma = -\\ddot{\\Psi}$ at $a = 0$ holds "
                "what is quadratic in the velocities (and what drivers do with time):"
            )
            self.vector("\\gamma", self.gamma, [f"`{row}`" for row in self.rows], s.gamma if s else None)
        self.head("Masses and forces")
        diagonal = np.count_nonzero(self.M - np.diag(np.diag(self.M))) == 0
        if diagonal and self.n > 4:
            self.say("The mass matrix is diagonal; its diagonal and the applied forces are")
            D = [[row[i]] for i, row in enumerate(s.M)] if s and s.M else None
            self.vector("M_{ii}", np.diag(self.M), [f"`{name}`" for name in e.v_names], D)
        else:
            self.matrix("M", self.M, e.v_names, self.columns, s.M if s else None)
        self.vector("Q", self.Q, [f"`{name}`" for name in e.v_names], s.Q if s else None)
        self.say("The equations to be solved for the accelerations $a$ and the multipliers $\\lambda$ are")
        self.formula("M a + \\Psi_{q}^{T} \\lambda = Q, \\quad \\Psi_{q} a = \\gamma")

    def _rank(self) -> None:
        if not self.m:
            return
        self.head("Rank")
        rank = self.rank
        cut = number(self.tolerance, 3)
        values = ", ".join(number(x, 4) for x in rank.values[:MOST_IN_BLOCKS])
        more = ", \\ldots" if len(rank.values) > MOST_IN_BLOCKS else ""
        self.say(f"{self.method.spectrum_is}, in descending order: ${values}{more}$.")
        gap = "no value is dropped" if self.r == min(self.n, self.m) else f"the gap is ${number(rank.gap, 3)}$"
        self.say(
            f"Values up to ${cut}$ times the largest count as zero; {gap}. The rank is $r = {self.r}$"
            + (", and it is uncertain: the spectrum has no clear gap there" if rank.uncertain else "")
            + f". The mechanism has $F = n - r = {self.n} - {self.r} = {self.free}$ "
            + ("degree" if self.free == 1 else "degrees")
            + " of freedom"
            + (f", and {self.m - self.r} of the {self.m} rows depend on the others." if self.m > self.r else ".")
        )

    def _check(self, a: Array, lam: Array) -> None:
        self.head("Check")
        e = self.equations
        self.say("The accelerations, with those of `augmented` computed by compiled code:")
        both = _numbers(np.column_stack([a, self.augmented_a]), 10)
        rows = [
            (f"${h}$", f"`{name}`", f"${x}$", f"${y}$") for h, name, (x, y) in zip(self.a, e.v_names, both, strict=True)
        ]
        self.table(("", "of", f"`{self.formulation}`", "`augmented`"), rows)
        if self.m:
            self.say("The multipliers:")
            both = _numbers(np.column_stack([lam, self.augmented_lam]), 10)
            self.table(
                ("$\\lambda$ of", f"`{self.formulation}`", "`augmented`"),
                [(f"`{row}`", f"${x}$", f"${y}$") for row, (x, y) in zip(self.rows, both, strict=True)],
            )
        if self.m > np.linalg.matrix_rank(self.Psi_q):
            forces = np.max(np.abs(self.Psi_q.T @ (lam - self.augmented_lam)), initial=0.0)
            self.say(
                "The constraint rows depend on each other: only the forces $\\Psi_{q}^{T} \\lambda$ are determined, "
                f"and they differ by ${number(float(forces), 2)}$; of the multipliers themselves the least are taken, "
                "which `augmented` finds with fewer digits."
            )
        largest = [
            number(float(np.max(np.abs(x), initial=0.0)), 2)
            for x in (
                a - self.augmented_a,
                lam - self.augmented_lam,
                self.M @ a + self.Psi_q.T @ lam - self.Q,
                self.Psi_q @ a - self.gamma,
            )
        ]
        self.say(
            f"Largest difference: ${largest[0]}$ in the accelerations, ${largest[1]}$ in the multipliers. Put into the "
            "equations, $a$ and $\\lambda$ leave $\\lvert M a + \\Psi_{q}^{T} \\lambda - Q \\rvert = "
            f"{largest[2]}$ and $\\lvert \\Psi_{{q}} a - \\gamma \\rvert = {largest[3]}$."
        )

    # Steps shared by several formulations

    def basis(self, name: str, V: Array, symbols: Matrix | None = None) -> None:
        if not self.free:
            self.say("No freedom is left, and $V$ has no columns: the constraints alone give the accelerations.")
            return
        columns = [(f"\\dot{{p}}_{{{k}}}" if self.free > 1 else "\\dot{p}", "") for k in range(1, self.free + 1)]
        self.matrix(name, V, self.equations.v_names, columns, symbols)
        if self.m:
            size = number(float(np.max(np.abs(self.Psi_q @ V), initial=0.0)), 2)
            self.say(f"The largest entry of $\\Psi_{{q}} V$ is ${size}$.")

    def particular(self, how: str, S_gamma: Array, symbols: Matrix | None = None) -> None:
        self.head("One solution of the constraints")
        self.say(how)
        self.vector("S \\gamma", S_gamma, [f"`{name}`" for name in self.equations.v_names], symbols)

    def reduced(self, V: Array, S_gamma: Array, reduction: Reduction | None, own: bool) -> Array:
        """Accelerations a = V p'' + S gamma of the reduced system; `own` if the symbols belong to this very V."""
        if not self.free:
            self.head("Accelerations")
            self.formula("a = S \\gamma")
            return S_gamma
        self.head("Reduced system")
        self.say(
            "With $a = V \\ddot{p} + S \\gamma$, multiplication by $V^{T}$ removes the multipliers, because "
            "$V^{T} \\Psi_{q}^{T} = 0$:"
        )
        self.formula("V^{T} M V \\, \\ddot{p} = V^{T} \\left(Q - M S \\gamma\\right)")
        M_hat, Q_hat = V.T @ self.M @ V, V.T @ (self.Q - self.M @ S_gamma)
        pdd = np.linalg.solve(M_hat, Q_hat)
        if self.free <= MOST_COLUMNS:
            inside = (_bracket(_numbers(M_hat)), _bracket(_numbers(Q_hat[:, None])), _bracket(_numbers(pdd[:, None])))
            if self.free == 1:
                inside = (number(M_hat[0, 0]), number(Q_hat[0]), number(pdd[0]))
            self.formula(f"{inside[0]} \\, \\ddot{{p}} = {inside[1]}, \\quad \\ddot{{p}} = {inside[2]}")
        if reduction is not None:
            self.in_symbols(reduction, own)
        self.head("Accelerations")
        self.formula("a = V \\ddot{p} + S \\gamma")
        a = V @ pdd + S_gamma
        self.vector("a", a, [f"`{name}`" for name in self.equations.v_names], self._a_in_symbols(reduction, own))
        return np.asarray(a)

    def in_symbols(self, r: Reduction, own: bool, lead: str = "Any basis of the same space will do.") -> None:
        """The reduced equation for the independent coordinates, in symbols as far as it is short."""
        if r.M_hat is None or r.Q_hat is None or not r.independent:
            return
        v = [self.q[j] if len(self.equations.q) == self.n else self.v[j] for j in r.independent]
        if len(v) == 1:
            inertia, load = r.M_hat[0][0], -r.Q_hat[0][0]
            left = latex(inertia, self.names)
            left = f"\\left({left}\\right)" if inertia.terms > 1 and not left.startswith("\\frac") else left
            right = latex(load, self.names)
            sign = " - " if right.startswith("-") else " + "
            text = f"{left} \\, \\ddot{{p}}" + (sign + right.removeprefix("-") if load else "") + " = 0"
        else:
            cells, loads = ([[latex(x, self.names) for x in row] for row in A] for A in (r.M_hat, r.Q_hat))
            text = f"{_bracket(cells)} \\ddot{{p}} = {_bracket(loads)}"
        short = len(text) <= LONGEST_EQUATION * len(v)
        named = ", ".join(f"${x}$" for x in v)
        if not own:
            self.say(f"{lead} The one that elimination finds has $\\dot{{p}}$ equal to the rate of {named} itself:")
            if (cells2 := self.short(r.V)) is not None and len(v) <= MOST_COLUMNS:
                names = [(f"\\dot{{p}}_{{{k}}}" if len(v) > 1 else "\\dot{p}", "") for k in range(1, len(v) + 1)]
                self.blocks.append(Grid("V", self.equations.v_names, tuple(names), cells2))
        if not short:
            self.say("In symbols the reduced equation is too long to be read.")
            return
        self.equation = text
        self.say(f"In symbols, with $p$ = {named}:" if own else "With it the reduced equation is, in symbols,")
        self.formula(text)
        number_of = r.M_hat[0][0].value(self.numbers.values), r.Q_hat[0][0].value(self.numbers.values)
        if len(v) == 1:
            self.say(
                f"In numbers ${number(number_of[0])} \\, \\ddot{{p}} = {number(number_of[1])}$, so "
                f"$\\ddot{{p}} = {self.a[r.independent[0]]} = {number(number_of[1] / number_of[0])}$."
            )

    def _a_in_symbols(self, r: Reduction | None, own: bool) -> Matrix | None:
        """V p'' + S gamma with the accelerations p'' of the independent coordinates as symbols."""
        if r is None or not own or not r.independent:
            return None
        return self.symbols.accelerations(r)

    def multipliers(self, how: str, formula: str, lam: Array) -> Array:
        if self.m:
            self.head("Multipliers")
            self.say(how)
            self.formula(formula)
            self.vector("\\lambda", lam, [f"`{row}`" for row in self.rows], self.lam_in_symbols())
            self.say("The joints act on the bodies with the generalized forces $-\\Psi_{q}^{T} \\lambda$.")
        return lam

    def lam_in_symbols(self) -> Matrix | None:
        r = self.reduction()
        return self.symbols.multipliers(r) if r is not None else None

    def closing(self) -> None:
        """The equation of motion that the formulation has solved, for those that do not form it."""
        r = self.reduction()
        if r is not None and r.M_hat is not None and r.independent:
            self.head("What has been solved")
            lead = (
                "All formulations solve the same equation of motion. It is seen when the reactions are eliminated, "
                "with $\\dot{q} = V \\dot{p}$ and $\\Psi_{q} V = 0$."
            )
            self.in_symbols(r, False, lead)


def _symbols_in(x: Rational) -> set[Expr]:
    return {node for node in ordered(x.above.atoms | x.below.atoms) if node.op == "symbol"}


def _parameter_name(name: str) -> str:
    r"""LaTeX of a parameter: of the numbers in elements, m_{slider} and J_{slider} rather than their paths."""
    if not name.endswith("'"):
        return printers.latex(symbol(name))
    owner, _, field = name.rstrip("'").partition(".")
    if owner == "gravity":
        return f"g_{{{'xyz'[int(field)]}}}"
    products = ("xx", "yy", "zz", "xy", "yz", "zx")
    letters = {"mass": "m", "inertia": "J"} | {f"inertia.{k}": f"J_{axes}" for k, axes in enumerate(products)}
    letter = letters.get(field)
    return printers.latex(symbol(f"{owner}.{letter}" if letter else name.rstrip("'")))


def _numbers(A: Array, digits: int = 6) -> tuple[tuple[str, ...], ...]:
    small = NEAR_ZERO * np.max(np.abs(A), initial=0.0)
    return tuple(tuple("0" if abs(x) <= small else number(float(x), digits) for x in row) for row in A)


def _bracket(cells: Sequence[Sequence[str]]) -> str:
    return "\\begin{bmatrix} " + " \\\\ ".join(" & ".join(row) for row in cells) + " \\end{bmatrix}"
