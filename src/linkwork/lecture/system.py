"""Any system of differential-algebraic equations, written down with what is hidden in it."""

from __future__ import annotations

from typing import NamedTuple

from linkwork.errors import ModelError
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


def involutive(system: System, cases: bool = False) -> Involutive:
    """The system in reduced involutive form; by its cases where these are asked for or nothing else will do."""
    form, refusal = None, ""
    try:
        form = involutive_form([*system.equations.values()], system.unknowns, [*system.equations])
    except ModelError as error:
        if error.code not in BEYOND:
            raise
        refusal = error.message
    found = complete([*system.equations.values()], system.unknowns, system.values) if cases or form is None else None
    return Involutive(system, form, refusal, found)
