"""Any system of differential-algebraic equations, written down with what is hidden in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from linkwork.errors import ModelError
from linkwork.expressions.graph import symbol
from linkwork.modelfile.system import System
from linkwork.symbolic.completion import Case, complete
from linkwork.symbolic.involutive import InvolutiveForm, involutive_form

# What the structural analysis cannot do, and elimination can.
BEYOND = ("structure-not-square", "structure-singular", "not-leading-linear", "structure-misleads")


class Involutive(NamedTuple):
    """The implicit form, where the structure shows it, else why it does not; and the cases, where they were found."""

    system: System
    form: InvolutiveForm | None
    refusal: str
    cases: list[Case] | None


def involutive(system: System, cases: bool = False, progress: Callable[[float, str], None] | None = None) -> Involutive:
    """Bring a system to reduced involutive form; by its cases where these are asked for or nothing else will do."""
    form, refusal = None, ""
    try:
        form = involutive_form([*system.equations.values()], system.unknowns, [*system.equations])
    except ModelError as error:
        if error.code not in BEYOND:
            raise
        refusal = error.message
    found = None
    if cases or form is None:
        found = complete([*system.equations.values()], system.unknowns, system.values, progress)
    if found and form is not None:
        found = _general_first(form, found)
    return Involutive(system, form, refusal, found)


def _general_first(form: InvolutiveForm, cases: list[Case]) -> list[Case]:
    """Put the general case first, in which no pivot vanishes; where it could not be solved, give it as A r = b."""
    general = [case for case in cases if not case.zero]
    special = [case for case in cases if case.zero]
    if not general or any(case.left for case in general):
        solved = {leader: symbol(f"(A^-1 b)[{k}]") for k, leader in enumerate(form.r, 1)}
        N, numbers, free = tuple(form.constraints.values()), cases[0].numbers, form.structure.freedoms
        general = [Case(form.x, solved, N, (symbol("det A"),), (), free, numbers)]
    return [*general, *special]
