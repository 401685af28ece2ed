"""Equations written down: their numbers in every language against the numerical solution."""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_mechanisms import Array

from linkwork.cli import answer
from linkwork.compiled.mechanism import prepare
from linkwork.equations.equations import TIME
from linkwork.errors import ModelError, UsageError
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import (
    absolute,
    atan2,
    cos,
    less,
    maximum,
    minimum,
    power,
    select,
    sign,
    sin,
    spline,
    symbol,
)
from linkwork.expressions.parser import parse
from linkwork.lecture.listing import FORMS, Listing, write_down
from linkwork.lecture.symbolic import Numbers
from linkwork.modelfile import load, loads
from linkwork.sequences.sequence import ComputationSequence
from linkwork.simulation.simulate import simulate
from linkwork.symbolic.hierarchy import Hierarchy
from linkwork.symbolic.signature import Signature
from linkwork.view.listing import FORMATS, as_dict
from linkwork.writing.collecting import collect_powers
from linkwork.writing.languages import LANGUAGES

MECHANISMS = ("slider_crank", "four_bar", "simple_pendulum_rod")
COMPILERS = {
    "c": ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-ffp-contract=off"],
    "fortran": ["gfortran", "-std=f2008", "-Wall", "-Wextra", "-Werror", "-O2", "-ffp-contract=off"],
}
SUFFIX = {"c": ".c", "fortran": ".f90"}


def run(language: str, listing_or_sequence: Listing | ComputationSequence, folder: Path) -> Callable[[Array], Array]:
    """The exported function, as a function of one array."""
    if isinstance(listing_or_sequence, Listing):
        code, s = FORMATS[language](listing_or_sequence), listing_or_sequence.sequence
    else:
        code, s = listing_or_sequence.write(language), listing_or_sequence
    if language in ("python", "numpy"):
        module: dict[str, Any] = {}
        exec(compile(code, "exported", "exec"), module)
        return lambda x: np.array(module[s.name](*x.tolist()))
    compiler, *options = COMPILERS[language]
    if shutil.which(compiler) is None:
        pytest.skip(f"there is no {compiler}")
    source, library = folder / f"f{SUFFIX[language]}", folder / "f.so"
    source.write_text(code)
    done = subprocess.run(
        [compiler, *options, "-shared", "-fPIC", source, "-lm", "-o", library],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    f = getattr(ctypes.CDLL(str(library)), s.name)

    def call(x: Array) -> Array:
        x, y = np.ascontiguousarray(x, dtype=float), np.empty(len(s.outputs))
        f(x.ctypes.data_as(ctypes.c_void_p), y.ctypes.data_as(ctypes.c_void_p))
        return y

    return call


def solution(name: str, listing: Listing, rng: np.random.Generator) -> tuple[Array, Array]:
    """A state on which nothing is symmetric, as inputs of the listing, with a and lam by NumPy there."""
    e = prepare(load(name)).equations
    q, v = e.start()
    place = Numbers(e, q + 0.1 * rng.normal(size=len(q)), v + rng.normal(size=len(v)), 0.3)
    return np.array([place.values[s] for s in listing.sequence.inputs]), np.concatenate(place.solution)


@pytest.mark.parametrize("language", ["python", "numpy", "c", "fortran"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_exported_functions_give_the_accelerations(
    name: str, language: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    """Against a numerical solution of the full matrix, and against our own machine code to 1e-13."""
    listing = write_down(load(name))
    f = run(language, listing, tmp_path)
    x, expected = solution(name, listing, rng)
    found = f(x)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected)))
    ours = listing.sequence.compile()(x)
    np.testing.assert_allclose(found, ours, rtol=1e-13, atol=1e-13 * np.max(np.abs(ours)))


def every_operation() -> ComputationSequence:
    """What mechanisms seldom need: tables, switches, powers; and names that a language could take for its own."""
    x, end, other = symbol("in"), symbol("end"), symbol("Sin")
    table = ((0.0, 0.5, 2.0), ((1.0, 2.0, -3.0, 0.5), (0.1, -1.0, 0.7, 3.0)))
    return ComputationSequence(
        "f",
        [x, end, other, symbol("unused")],
        [
            *(spline(x, *table, order) for order in range(4)),
            select(less(x, end), sin(x), cos(end)) + less(end, other),
            sign(x) * absolute(end - 1e-3) * 1.5e300,
            atan2(x, end) + minimum(x, end) * maximum(other, x) - power(absolute(x) + 1, other),
            -x / -(end * other) - (x - (end - other)) * 12345678.90123456789,
        ],
    )


@pytest.mark.diagonal
@pytest.mark.parametrize("name", ["double", "sin", "main", "floor", "Count", "end", "3 bars", "long " * 20])
@pytest.mark.parametrize("language", ["python", "numpy", "c", "fortran"])
def test_a_model_may_have_any_name(name: str, language: str, tmp_path: Path) -> None:
    """What a language would take for its own, or is too long for it, becomes another name that C can call."""
    listing = write_down(replace(load("simple_pendulum_rod"), name=name))
    x = np.linspace(0.3, 1.2, len(listing.inputs))
    np.testing.assert_allclose(run(language, listing, tmp_path)(x), listing.sequence.compile()(x), rtol=1e-12)
    for other in ("julia", "maple"):
        assert listing.sequence.name in FORMATS[other](replace(listing, form="lagrange", results={}))


@pytest.mark.parametrize("language", ["c", "fortran"])
def test_arguments_may_have_the_names_of_helpers_and_long_names(language: str, tmp_path: Path) -> None:
    names = ["count", "reshape", "knots1", "KNOTS1", *(f"{'long' * 20}{k}" for k in range(3)), "Coefficients1", "floor"]
    table = ((0.0, 0.5, 2.0), ((1.0, 2.0, -3.0, 0.5), (0.1, -1.0, 0.7, 3.0)))
    symbols = [symbol(name) for name in names]
    s = ComputationSequence("f", symbols, [spline(x, *table, 0) + k * x for k, x in enumerate(symbols)])
    x = np.linspace(0.1, 1.9, len(names))
    np.testing.assert_allclose(run(language, s, tmp_path)(x), s.evaluate(x.tolist()), rtol=1e-14)
    assert "v_KNOTS1" in s.write("julia")
    assert "v_knots1" in s.write("maple")


@pytest.mark.parametrize("language", ["python", "numpy", "c", "fortran"])
def test_every_operation_is_written_in_every_language(language: str, tmp_path: Path, rng: np.random.Generator) -> None:
    s = every_operation()
    f = run(language, s, tmp_path)
    for _ in range(20):
        x = rng.normal(size=4)
        np.testing.assert_allclose(f(x), s.evaluate(x.tolist()), rtol=1e-14)


def test_julia_and_maple_have_one_statement_for_each_temporary() -> None:
    """There is nothing here to run them: brackets match, blocks end, every name is assigned before it is used."""
    s = every_operation()
    for language in ("julia", "maple"):
        text = s.write(language)
        assert text.count("(") == text.count(")")
        assert text.count("[") == text.count("]")
        body = text[text.index("function f(" if language == "julia" else "f := proc") :]
        known = set(re.findall(r"^\s*(\w+) :?= ", body, re.M))
        assert set(re.findall(r"\bw\d+\b", body)) <= known
    assert s.write("julia").rstrip().endswith("end")
    assert s.write("maple").rstrip().endswith("end proc:")


def test_numpy_functions_take_arrays(rng: np.random.Generator) -> None:
    s = every_operation()
    module: dict[str, Any] = {}
    exec(compile(s.write("numpy"), "exported", "exec"), module)
    x = rng.normal(size=(4, 7))
    expected = np.array([s.evaluate(column) for column in x.T.tolist()]).T
    np.testing.assert_allclose(np.array(module["f"](*x)), expected, rtol=1e-14)


@pytest.mark.parametrize("name", [*MECHANISMS, "slider_crank_driven", "spatial_slider_crank"])
def test_hidden_constraints_are_those_of_the_involutive_form(name: str) -> None:
    """Psi_q a + H v + 2 Psi_tq v + Psi_tt is D_t^2 Psi = Psi_q a - gamma, identically [zhou2007, eq. (8)]."""
    listing = write_down(load(name), "rif")
    e, groups = listing.equations, {group.letter: group.entries for group in listing.groups}
    v = dict(zip(e.v_names, e.v, strict=True))
    zero = Signature(listing.hierarchy)
    assert groups["D_t Psi"]
    for k, row in enumerate(map(str, e.rows)):
        rest = groups["Psi_tt"].get((row,), 0.0) + e.gamma[k]
        for letter, factor in (("H", 1), ("Psi_tq", 2)):
            for (owner, column), entry in groups[letter].items():
                rest = rest + factor * entry * v[column] if owner == row else rest
        assert zero.is_zero(rest), row
    assert any(note.startswith("det A != 0") for note in listing.notes)


def test_a_driven_mechanism_has_constraints_of_time() -> None:
    groups = {group.letter: group.entries for group in write_down(load("slider_crank_driven"), "rif").groups}
    assert any(TIME in (entry, *entry.args) or "t" in repr(entry) for entry in groups["Psi"].values())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("to", FORMATS)
def test_every_form_is_written_in_every_format(form: str, to: str) -> None:
    listing = write_down(load("simple_pendulum"), form)
    text = FORMATS[to](listing)
    assert listing.write(to) == text
    assert text.endswith("\n")
    assert text.count("(") == text.count(")")
    if to == "latex":
        assert text.count("\\[") == text.count("\\]")
        assert text.count("{") == text.count("}")
        assert not re.search(r"_\{[^{}]*\}_", text), "two subscripts in a row"


def test_the_matrix_of_the_involutive_form_is_laid_out(rng: np.random.Generator) -> None:
    """A of Zhou, Jeffrey and Reid 2007, eq. (12), read back from the text, has the numbers of M and Psi_q."""
    listing = write_down(load("slider_crank_zhou"), "rif")
    written = FORMATS["text"](listing)
    head, *rows = written.split("\nA: ")[1].split("\n\n")[0].splitlines()[1:]
    assert head.split() == ["theta1", "theta2", "closure"]
    place = Numbers(prepare(load("slider_crank_zhou")).equations, rng.normal(size=2), rng.normal(size=2))
    symbols = {str(node.value).rstrip("'"): node for node in place.values}
    cells = [re.split("  +", row.strip())[1:] for row in rows]
    found = [[evaluate([parse(cell, symbols)], place.values)[0] for cell in row] for row in cells]
    expected = np.block([[place.M, place.Psi_q.T], [place.Psi_q, np.zeros((1, 1))]])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert "b[closure] = l1*sin(theta1)*theta1_d^2 - l2*sin(theta2)*theta2_d^2" in written
    assert "D_t Psi[closure] = theta1_d*cos(theta1)*l1" in FORMATS["text"](write_down(load("slider_crank_zhou")))


@pytest.mark.parametrize("name", MECHANISMS)
def test_matrices_are_displayed_whole(name: str) -> None:
    """One display for each of M, Q, Psi and Psi_q, with as many entries as the matrix has."""
    listing = write_down(load(name), "lagrange")
    n, m = len(listing.equations.v), len(listing.equations.Psi)
    written = FORMATS["latex"](listing)
    displays = written.split("\\[")[1:]
    assert len(displays) == 4
    assert [display.count("&") for display in displays] == [n * (n - 1), 0, 0, m * (n - 1)]


def test_collected_powers_have_the_same_value() -> None:
    x, y = symbol("x"), symbol("y")
    for expr, shown in (
        (x * sin(x) * x * y, "x^2*sin(x)*y"),
        ((x * y) * (y * x) * x, "x^3*y^2"),
        (sin(x * y * x) - x * (y - x * y * x), None),
    ):
        (found,) = collect_powers([expr])
        values = {x: 0.7, y: -1.3}
        assert evaluate([found], values)[0] == pytest.approx(evaluate([expr], values)[0], rel=1e-14)
        assert shown is None or sorted(repr(found).split("*")) == sorted(shown.split("*"))


def test_unveiling_changes_what_is_written_and_not_what_it_means() -> None:
    """Every step writes out the symbols once; at the end none is left, and a and lam have the same signature."""
    model = load("slider_crank")
    whole = write_down(model, largest=1)
    symbols = []
    for depth in (0, 1, 2):
        listing = write_down(model, largest=1, unveil=depth)
        lines, shown = listing.hierarchy.lines(listing.results.values(), depth)
        symbols.append(len(lines))
        assert listing.hierarchy.unveil(shown) == whole.hierarchy.unveil(whole.results.values())
    assert symbols[0] >= symbols[1] >= symbols[2]
    with pytest.raises(UsageError, match="unveil less deep"):
        FORMATS["text"](write_down(load("andrews_squeezer"), unveil=6))


LONG = [("four_bar", "minimal"), ("flyball_governor", "joint"), ("stewart_platform", "body")]


@pytest.mark.parametrize(
    ("name", "coordinates", "form"),
    [
        *((*which, form) for which in LONG[:2] for form in FORMS),
        (*LONG[2], "lagrange"),
        *(pytest.param(*LONG[2], form, marks=pytest.mark.slow) for form in FORMS if form != "lagrange"),
    ],
)
@pytest.mark.sampled
def test_long_entries_are_written_in_parts_that_can_be_read(name: str, coordinates: str, form: str) -> None:
    """Written in one piece, entries have up to 10^5 symbols: no line is long, and nothing is changed."""
    listing = write_down(load(name), form, coordinates=coordinates)
    for to in ("text", "latex", "markdown", "maple"):
        written = FORMATS[to](listing)
        if to == "text":
            assert max(map(len, written.splitlines())) < 1500
            used = re.findall(r"\bW\d+\b", written)
            assert used, "parts are veiled"
            first = {name: f"\n{name} = " for name in used}
            assert all(written.index(first[name]) < written.index(name) for name in first)
    e = listing.equations
    groups = {group.letter: group.entries for group in listing.groups}
    letter = "h" if "h" in groups else "Q"
    zero = Signature(listing.hierarchy)
    for name, Q in zip(e.v_names, e.Q, strict=True):
        assert zero.is_zero(Q - groups[letter].get((name,), 0.0))


def test_the_explicit_sequence_grows_linearly_with_the_links_of_a_chain() -> None:
    """Every link beyond the second adds the same number of operations, while the written expressions explode."""
    sequences = {N: write_down(load(f"planar_chain:{N}")).sequence for N in (2, 4, 8, 12)}
    counts = {N: len(s.operations) for N, s in sequences.items()}
    each = (counts[4] - counts[2]) // 2
    assert [counts[N] - counts[2] for N in (8, 12)] == [6 * each, 10 * each]
    assert sequences[12].expanded > sequences[8].expanded ** 1.4 > 10**20


def test_sizes_beyond_floating_point_are_told() -> None:
    """Written out, the last of 700 definitions has 3^700 symbols."""
    W, a = Hierarchy(), symbol("a")
    last = a
    for _ in range(700):
        last = W.veil(last * last + last)
    listing = replace(write_down(load("simple_pendulum")), inputs=(a,), hierarchy=W, results={"x": last}, conditions=[])
    assert re.search(r"written out \d\.\d\de\+\d{3}", FORMATS["text"](listing))
    assert as_dict(listing)["expanded"] == np.inf
    with pytest.raises(UsageError, match="more than 10000 symbols; unveil less deep"):
        FORMATS["text"](replace(listing, depth=10**12))


def test_a_parameter_may_have_the_name_of_a_veiled_symbol() -> None:
    listing = write_down(load("simple_pendulum"))
    assert not {str(s.value) for s in listing.inputs} & {str(s.value) for s in listing.hierarchy.definitions}


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pendulum.c"
    assert answer(["equations", "simple_pendulum", "--to", "c", "-o", str(file)]) == 0
    assert "void simple_pendulum(" in file.read_text()
    capsys.readouterr()
    assert answer(["equations", "simple_pendulum", "--set", "L=2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["outputs"][:2] == ["mass.ax", "mass.ay"]
    assert sum(data["count"].values()) == data["operations"]
    assert answer(["equations", "simple_pendulum", "--to", "pascal"]) == 2
    assert "no format 'pascal'" in capsys.readouterr().err
    assert answer(["equations", "simple_pendulum", "--form", "explict"]) == 2
    assert answer(["equations", "simple_pendulum", "--unveil", "-1"]) == 2


def test_what_events_change_is_told_with_its_value() -> None:
    """The joint that holds the block on the belt is open at the start, and its row is not called dependent."""
    listing = write_down(load("stick_slip_belt"))
    assert "left out, because their joints are open: belt.stick" in listing.notes
    assert any(note.startswith("what events change stands here as it is at the start: ") for note in listing.notes)
    assert not any("depend on the other rows" in note for note in listing.notes)
    assert "structural index 3, 2 values free at the start" in write_down(load("stick_slip_belt"), "rif").notes
    for to in FORMATS:
        assert "what events change stands here" in FORMATS[to](listing), to


@pytest.mark.parametrize(
    "options", ["--form rif --pivoting first", "--form lagrange --unveil 1", "--to c --largest 3", "--to c --unveil 2"]
)
def test_options_without_effect_are_refused(options: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert answer(["equations", "simple_pendulum", *options.split()]) == 2
    assert "[no-effect]" in capsys.readouterr().err


def test_options_of_veiling_count_for_stated_equations_with_long_entries(capsys: pytest.CaptureFixture[str]) -> None:
    """They are written in veiled parts as text, but not as a procedure."""
    command = ["equations", "four_bar", "--coordinates", "minimal", "--form", "lagrange", "--largest", "20"]
    assert answer(command) == 0
    assert "\nW1 = " in capsys.readouterr().out
    assert answer([*command, "--to", "maple"]) == 2
    assert "[no-effect]" in capsys.readouterr().err


def test_parameters_do_not_take_the_names_of_the_maple_procedure() -> None:
    listing = write_down(load("simple_pendulum"))
    e, (first, *_) = listing.equations, listing.results
    Y = symbol("Y")
    changed = replace(listing, equations=replace(e, parameters={**e.parameters, Y: 1.0}))
    changed = replace(changed, results={**listing.results, first: Y * 3}, inputs=(*listing.inputs, Y))
    assert ":= 3*Y_1;" in FORMATS["maple"](changed)
    compared = replace(changed, results={**listing.results, first: less(Y, 2.0) * 3})
    assert "3*`if`(Y < 2, 1, 0)" in FORMATS["maple"](compared)


def test_every_format_says_where_the_solution_holds() -> None:
    listing = write_down(load("simple_pendulum_rod"))
    for to in FORMATS:
        assert "valid while" in FORMATS[to](listing), to
    assert FORMATS["latex"](listing).count("\\ne 0") == len(dict.fromkeys(listing.conditions))


@pytest.mark.parametrize("language", LANGUAGES)
def test_exported_functions_name_what_must_not_vanish(language: str) -> None:
    """The pivots of the 3 x 3 system are known: those named in a Python function vanish where they do."""
    listing = write_down(load("slider_crank_zhou"))
    written = FORMATS[language](listing)
    mark = LANGUAGES[language][0].comment
    named = [line.split(": ")[1] for line in written.splitlines() if line.startswith(f"{mark} valid while not zero")]
    assert len(named) == 3
    if language == "python":
        body, _, _ = written.partition("    return (")
        scope: dict[str, Any] = {}
        exec(f"{body}    return ({', '.join(named)})\n", scope)
        values = dict(zip(listing.inputs, np.linspace(0.3, 1.7, len(listing.inputs)), strict=True))
        expected = evaluate(listing.hierarchy.unveil(listing.conditions), values)
        found = scope["slider_crank_zhou"](*values.values())
        np.testing.assert_allclose(np.abs(found), np.abs(expected), rtol=1e-13)


def test_numbers_are_no_conditions() -> None:
    """The first pivots of a rod are its mass, which cannot vanish."""
    listing = write_down(load("slider_crank"))
    assert listing.conditions
    assert not any(x.is_constant for x in listing.conditions)


def test_what_depends_on_the_constraints_alone_is_no_success_of_the_structural_analysis() -> None:
    """Bricard's linkage moves although its loop counts none free: where it is closed, its Jacobian is singular."""
    notes = write_down(load("bricard"), "rif", coordinates="joint").notes
    assert "1 degree of freedom" in notes
    assert any(note.startswith("structural analysis fails: its Jacobian is singular where Psi = 0") for note in notes)
    assert not any("values free" in note for note in notes)


def test_angles_that_are_counted_only_are_not_free_at_the_start() -> None:
    notes = write_down(load("four_bar"), "rif", coordinates="minimal").notes
    assert "structural index 0, 2 values free at the start" in notes


def test_lengths_of_euler_parameters_are_told_apart_from_freedoms() -> None:
    """qd = N v keeps whatever length the four parameters of a body have at the start: 2 x 1 freedom and 3 lengths."""
    notes = write_down(load("spatial_slider_crank"), "rif").notes
    assert "structural index 3, 5 values free at the start, 3 of them lengths of Euler parameters" in notes


def test_dependent_rows_are_left_out_and_named() -> None:
    listing = write_down(load("four_bar_redundant"))
    assert any("depend on the other rows" in note for note in listing.notes)
    place = prepare(load("four_bar_redundant")).place()
    found = evaluate(listing.hierarchy.unveil(listing.results.values()), place.values)
    a = Numbers(place.equations, place.q, place.v).solution[0]
    np.testing.assert_allclose(found[: len(a)], a, rtol=1e-9, atol=1e-9 * np.max(np.abs(a)))


def test_a_singular_start_position_leaves_no_row_out() -> None:
    """A flat parallelogram, whose two rows are one there: elsewhere both hold, and the accelerations keep them."""
    text = """linkwork: 1
name: flat
parameters: {g: 9.81}
equations:
  coordinates:
    a: {kind: angle, start: 0, rate: 1}
    b: {kind: angle, start: 0, rate: 0}
    c: {kind: angle, start: 0, rate: 1}
  M: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
  Q: [-g*cos(a), 0, 0]
  Psi:
    x: {expression: cos(a) + 2*cos(b) - cos(c) - 2, kind: length}
    y: {expression: sin(a) + 2*sin(b) - sin(c), kind: length}
"""
    flat = loads(text)
    listing = write_down(flat)
    assert "1 degree of freedom" in listing.notes
    assert any("start position is singular" in note for note in listing.notes)
    with pytest.raises(ModelError) as error:
        simulate(flat, t_end=0.1, formulation="lu")
    assert error.value.code == "singular-start"


@pytest.mark.parametrize("rows", ["1,1,2", "2,1", "1,2,3,4", "0,1,2"])
def test_rows_of_pivots_are_a_permutation(rows: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["equations"], ["explain", "--formulation", "lu"]):
        assert answer([*command, "slider_crank_zhou", "--pivoting", rows]) == 2
        assert "must name each of the 3 rows of the matrix once [bad-rows]" in capsys.readouterr().err


def test_rows_that_give_way_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    """The mass matrix of the pendulum is diagonal: row 2 has a zero in the first column."""
    assert answer(["equations", "simple_pendulum", "--pivoting", "2,1,3,4,5"]) == 0
    assert "the pivots stand in the rows 1, 2, 3, 4, 5" in capsys.readouterr().out
    assert answer(["equations", "simple_pendulum", "--pivoting", "1,2,3,4,5"]) == 0
    assert "the pivots stand" not in capsys.readouterr().out
