"""What the fields of elements hold: their annotations say how a model file writes them and of what kind they are.

    radius: Length                  a number, a quantity as "12 mm", or a formula of parameters
    force: Annotated[Components, Quantity("vector", (units.FORCE,), of_motion=True)]

A field with another annotation holds a number of any kind; `Body` and `Joint` are names of others, `bool` is a flag.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NamedTuple, TypeAlias

from linkwork import units
from linkwork.elements.vectors import Components, Scalar
from linkwork.expressions.graph import Expr


class Quantity(NamedTuple):
    """The form in which a field is written, and the kind of its numbers.

    Of several `kinds`, what belongs to a freedom that is a length has the first and to one that is an angle the last;
    a matrix has those of two shifts, of a shift and a turn, and of two turns. A formula `of_motion` may name time and
    the motion of bodies, and `names` beside; of a choice, `names` are what can be chosen.
    """

    form: str = "number"
    kinds: tuple[units.Kind, ...] = ()
    of_motion: bool = False
    names: tuple[str, ...] = ()


NOT_GIVEN = {"given": False}  # metadata of fields that no model file gives


def choice(names: Iterable[str]) -> Quantity:
    return Quantity("choice", names=tuple(names))


_LENGTH, _FORCE, _TORQUE = (units.LENGTH,), (units.FORCE,), (units.TORQUE,)
Number: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.NUMBER_KIND,))]
Count: TypeAlias = Annotated[float, Quantity(kinds=(units.NUMBER_KIND,))]
Mass: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.MASS,))]
Inertia: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.INERTIA,))]
Time: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.TIME,))]
Length: TypeAlias = Annotated[Scalar, Quantity(kinds=_LENGTH)]
Angle: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.ANGLE,))]
Speed: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.SPEED,))]
AngularSpeed: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.ANGULAR_SPEED,))]
Stiffness: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.STIFFNESS,))]
Damping: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.DAMPING,))]
RotationalStiffness: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.ROTATIONAL_STIFFNESS,))]
RotationalDamping: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.ROTATIONAL_DAMPING,))]
DragCoefficient: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.DRAG,))]
PerSpeed: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.PER_SPEED,))]

# Formulas of time and the motion of bodies.
ForceFormula: TypeAlias = Annotated[Scalar, Quantity(kinds=_FORCE, of_motion=True)]
TorqueFormula: TypeAlias = Annotated[Scalar, Quantity(kinds=_TORQUE, of_motion=True)]
ForceVector: TypeAlias = Annotated[Components, Quantity("vector", _FORCE, of_motion=True)]
TorqueVector: TypeAlias = Annotated[Components, Quantity("vector", _TORQUE, of_motion=True)]
LengthLaw: TypeAlias = Annotated[Expr, Quantity(kinds=_FORCE, of_motion=True, names=("length", "rate"))]
AngleLaw: TypeAlias = Annotated[Expr, Quantity(kinds=_TORQUE, of_motion=True, names=("angle", "rate"))]

# What belongs to the freedom of a joint, a length or an angle.
Along: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.LENGTH, units.ANGLE))]
RateAlong: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.SPEED, units.ANGULAR_SPEED))]
AccelerationAlong: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.ACCELERATION, units.ANGULAR_ACCELERATION))]
ForceAlong: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.FORCE, units.TORQUE))]
SpeedFormulaAlong: TypeAlias = Annotated[Scalar, Quantity(kinds=(units.SPEED, units.ANGULAR_SPEED), of_motion=True)]
FreedomName: TypeAlias = Annotated[str, Quantity("freedom")]

Place: TypeAlias = Annotated[Components, Quantity("vector", _LENGTH)]
Places: TypeAlias = Annotated[tuple[Components, ...], Quantity("vectors", _LENGTH)]
# Numbers, or the name of a direction or point of a body.
Direction: TypeAlias = Annotated[Components, Quantity("axis", (units.NUMBER_KIND,))]
