"""Systems of differential-algebraic equations in reduced involutive form, as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from linkwork.expressions.graph import Expr
from linkwork.lecture.system import Involutive
from linkwork.symbolic.completion import MOST_TAKEN, Case
from linkwork.symbolic.involutive import InvolutiveForm
from linkwork.writing.printers import text
from linkwork.writing.rational import MAX_TERMS

WIDTH = 120  # of a line


def as_text(found: Involutive) -> str:
    name, unknowns = found.system.name, _joined(found.system.unknowns)
    count = len(found.system.equations)
    lines = [f"{name}: {count} {'equation' if count == 1 else 'equations'} in {unknowns}", ""]
    if found.form is not None:
        lines += _implicit(found.form)
    else:
        lines += [f"no implicit form by structure: {found.refusal}", ""]
    for k, case in enumerate(found.cases or (), 1):
        if k == 1 and case.numbers:
            used = ", ".join(f"{text(own)} = {value:g}" for own, value in case.numbers.items())
            lines += [f"which pivots vanish was decided with {used}; parameters without a number make cases", ""]
        lines += [f"case {k} of {len(found.cases or ())}", *_case(case), ""]
    if unsolved := sum(bool(case.left) for case in found.cases or ()):
        lines += [
            f"of {unsolved} {'case' if unsolved == 1 else 'cases'} only the conditions are given: sums of more than"
            f" {MAX_TERMS} terms are not multiplied out, and no more than {MOST_TAKEN} equations are taken up"
        ]
        lines += ["wherever det A is not zero, A r = b and N hold all solutions, those of such cases too"] * bool(
            found.form
        )
    if found.cases == []:
        lines.append("the equations contradict each other: there is no solution")
    return "\n".join(lines)


def as_dict(found: Involutive) -> dict[str, Any]:
    data: dict[str, Any] = {"name": found.system.name, "implicit": None, "refusal": found.refusal or None}
    if form := found.form:
        data["implicit"] = {
            "index": form.structure.index,
            "freedoms": form.structure.freedoms,
            "constraints": {name: text(own) for name, own in form.constraints.items()},
            "hidden": list(form.hidden),
            "leading": [text(own) for own in form.r],
            "A": [[i, j, text(own)] for (i, j), own in form.A.items()],
            "b": [text(own) for own in form.b],
        }
    if found.cases is not None:
        data["cases"] = [
            {
                "solved": {text(leader): text(right) for leader, right in case.solved.items()},
                "constraints": [text(own) for own in case.constraints],
                "nonzero": [text(own) for own in case.nonzero],
                "zero": [text(own) for own in case.zero],
                "freedoms": case.freedoms,
                "numbers": {text(own): value for own, value in case.numbers.items()},
                "arbitrary": [text(own) for own in case.arbitrary],
                "left": [text(own) for own in case.left],
            }
            for case in found.cases
        ]
    return data


def _implicit(form: InvolutiveForm) -> Iterator[str]:
    yield f"index {form.structure.index}; start values that can be chosen: {form.structure.freedoms}"
    yield from ("", "N: constraints")
    yield from (
        f"  {name}: {text(own)} = 0{'   hidden' * (name in form.hidden)}" for name, own in form.constraints.items()
    )
    yield from ("", f"L: A r = b for r = {_joined(form.r)}, wherever det A is not zero")
    yield from (f"  A[{i + 1}, {j + 1}] = {text(own)}" for (i, j), own in form.A.items())
    yield from (f"  b[{i}] = {text(own)}" for i, own in enumerate(form.b, 1))
    yield ""


def _case(case: Case) -> Iterator[str]:
    if case.zero:
        yield f"  where {_shortly(case.zero, '= 0')}"
    if case.nonzero:
        yield f"  while {_shortly(case.nonzero, '!= 0')}"
    if case.left:
        yield f"  not worked out further, and perhaps empty; left: {_shortly(case.left, '= 0')}"
        return
    yield from (f"    {text(leader)} = {text(right)}" for leader, right in case.solved.items())
    yield from (f"    {text(own)} = 0" for own in case.constraints)
    free = f"  start values that can be chosen: {max(case.freedoms, 0)}"
    if case.freedoms < 0:
        free += f"; more conditions than unknowns by {-case.freedoms}: for special numbers alone"
    yield free + (f"; arbitrary functions: {_joined(case.arbitrary)}" if case.arbitrary else "")


def _shortly(sides: Iterable[Expr], relation: str) -> str:
    """Write relations that fit on a line; of the others their number."""
    lines = [f"{text(own)} {relation}" for own in sides]
    short = [line for line in lines if len(line) <= WIDTH and "\n" not in line]
    rest = len(lines) - len(short)
    many = f"{rest} {'expression' if rest == 1 else 'expressions'} of many terms {relation}"
    return ", ".join([*short, *([many] if rest else [])])


def _joined(names: Iterable[Expr]) -> str:
    return ", ".join(text(own) for own in names)
