"""Quantities at the boundary: "12 mm", "30 deg", "3 N*s/m" to SI numbers, checked against the field's dimension.

    quantity = number unit
    unit     = factor (("*" | "/") factor)*           a "*" after a "/" needs parentheses: N/(m*s), not N/m*s
    factor   = (name | "1" | "(" unit ")") ["^" number]    below ten: kg*m^2, N/m^1.5
    name     = [prefix] symbol                        prefixes n u m c d k M G where they are usual

A text that is neither is a formula, which is not read here. In a formula a unit belongs to the number before it and
goes on as long as there are units; t is the time there, not the tonne: 40 deg + 60 rpm*t.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from linkwork.errors import ModelError, UsageError, did_you_mean
from linkwork.tolerances import ROUNDING

# Possessive, so that "1e5*x" is never taken for the number 1 followed by "e5".
NUMBER = r"(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+"
# The operators of formulas never follow a number as a unit does.
QUANTITY = re.compile(rf"([+-]?{NUMBER})\s*(?=1\s*/|[^\s+\-*/^<>=!,.()])")
_FACTOR = r"(?:[^\W\d]\w*|\N{DEGREE SIGN})(?:\s*(?:\^|\*\*)\s*-?[0-9](?:\.[0-9]+)?)?(?!\w|\.\w|\s*\()"
_FURTHER = rf"\s*([*/])\s*(?:{_FACTOR}|\((?:{_FACTOR})(?:\s*[*/]\s*{_FACTOR})*\s*\))"
FIRST, FURTHER = re.compile(rf"\s*{_FACTOR}"), re.compile(_FURTHER)
WORD = re.compile(r"[^\W\d]\w*")
CALL, OPERATOR = re.compile(r"[^\W\d]\w*\s*\("), re.compile(r"\s*(?!\*\*)[-+*/<>]")
LONGEST_QUANTITY = 80  # characters of a number with its unit, also shown in messages
_MU = {"\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u"}
_POWERS = {"\N{SUPERSCRIPT TWO}": "^2", "\N{SUPERSCRIPT THREE}": "^3"}
SPELLINGS = str.maketrans({**_MU, **_POWERS, "\N{DEGREE SIGN}": "deg", "\N{MIDDLE DOT}": "*"})


@dataclass(frozen=True)
class Unit:
    """A factor to SI, and exponents of kg, m, s, A and rad."""

    factor: Fraction
    mass: Fraction | int = 0
    length: Fraction | int = 0
    time: Fraction | int = 0
    current: Fraction | int = 0
    angle: Fraction | int = 0

    @property
    def exponents(self) -> tuple[Fraction | int, ...]:
        return self.mass, self.length, self.time, self.current, self.angle

    def __mul__(self, other: Unit) -> Unit:
        exponents = (x + y for x, y in zip(self.exponents, other.exponents, strict=True))
        return Unit(self.factor * other.factor, *exponents)

    def __pow__(self, n: Fraction | int) -> Unit:
        return Unit(Fraction(self.factor**n), *(n * x for x in self.exponents))


ONE = Unit(Fraction(1))
METRE = Unit(Fraction(1), length=1)
GRAM = Unit(Fraction(1, 1000), mass=1)
SECOND = Unit(Fraction(1), time=1)
RADIAN = Unit(Fraction(1), angle=1)
NEWTON = Unit(Fraction(1), mass=1, length=1, time=-2)
POUND = Unit(Fraction("0.45359237"), mass=1)
TURN = replace(RADIAN, factor=2 * Fraction(math.pi))
AMPERE = Unit(Fraction(1), current=1)

WITH_PREFIX = {
    "m": METRE,
    "g": GRAM,
    "s": SECOND,
    "rad": RADIAN,
    "N": NEWTON,
    "J": NEWTON * METRE,
    "W": NEWTON * METRE * SECOND**-1,
    "Pa": NEWTON * METRE**-2,
    "A": AMPERE,
    "V": NEWTON * METRE * SECOND**-1 * AMPERE**-1,
    "ohm": NEWTON * METRE * SECOND**-1 * AMPERE**-2,
    "H": NEWTON * METRE * AMPERE**-2,
}
WITHOUT_PREFIX = {
    "t": replace(GRAM, factor=Fraction(1000)),
    "min": replace(SECOND, factor=Fraction(60)),
    "h": replace(SECOND, factor=Fraction(3600)),
    "deg": replace(RADIAN, factor=Fraction(math.pi) / 180),
    "rev": TURN,
    "rpm": TURN * replace(SECOND, factor=Fraction(60)) ** -1,
    "in": replace(METRE, factor=Fraction("0.0254")),
    "ft": replace(METRE, factor=Fraction("0.3048")),
    "lb": POUND,
    "lbf": POUND * replace(NEWTON, mass=0, factor=Fraction("9.80665")),
}
PREFIXES = {"n": -9, "u": -6, "m": -3, "c": -2, "d": -1, "k": 3, "M": 6, "G": 9}

UNITS = {
    **{
        prefix + name: replace(unit, factor=unit.factor * Fraction(10) ** power)
        for prefix, power in PREFIXES.items()
        for name, unit in WITH_PREFIX.items()
    },
    **WITH_PREFIX,
    **WITHOUT_PREFIX,
}


def factors() -> dict[str, list[float]]:
    """Return units as plain numbers: the factor to SI, then the exponents of kg, m, s, A and rad."""
    return {name: [float(unit.factor), *map(float, unit.exponents)] for name, unit in UNITS.items()}


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = re.findall(r"\*\*|[^\W\d]\w*|\d+(?:\.\d+)?|\S", text.translate(SPELLINGS))
        self.position = 0

    def peek(self) -> str | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def take(self) -> str | None:
        token = self.peek()
        self.position += 1
        return token

    def unit(self) -> Unit:
        result = self.factor()
        divided = False
        while (sign := self.peek()) in ("*", "/"):
            self.take()
            if sign == "*" and divided:
                message, hint = f"unit '{self.text}' can be read in two ways", "write N*s/m or N/(m*s)"
                raise ModelError(message, "ambiguous-unit", value=self.text, suggestion=hint)
            divided = divided or sign == "/"
            result *= self.factor() ** (-1 if sign == "/" else 1)
        return result

    def factor(self) -> Unit:
        token = self.take()
        if token == "(":
            result = self.unit()
            if self.take() != ")":
                raise self.error("')' is missing")
        elif token == "1":
            result = ONE
        elif token is not None and re.match(r"[^\W\d]", token):
            result = named(token)
        else:
            raise self.error(f"'{token}' stands where a unit should" if token else "a unit is missing at its end")
        if self.peek() in ("^", "**"):
            self.take()
            sign = -1 if self.peek() == "-" else 1
            if sign < 0:
                self.take()
            power = self.take()
            if power is None or not re.fullmatch(r"[0-9](\.[0-9]+)?", power):
                raise self.error("an exponent is a number below ten")
            result **= sign * Fraction(power)
        return result

    def error(self, reason: str) -> ModelError:
        message, hint = f"cannot read unit '{self.text}': {reason}", "units are written like N*s/m or kg*m^2"
        return ModelError(message, "bad-unit", value=self.text, suggestion=hint)


def named(name: str) -> Unit:
    """Return the unit of this name, prefix included."""
    if name in UNITS:
        return UNITS[name]
    split = next((f"{name[:k]}*{name[k:]}" for k in range(1, len(name)) if {name[:k], name[k:]} <= UNITS.keys()), None)
    if name == "Hz":  # as a rate of rotation it is read as rad/s by some and as turns by others
        suggestion: str | None = "write rev/s or rad/s"
    elif split:
        suggestion = f"did you mean '{split}'?"
    elif re.search(r"[\d_]", name):
        suggestion = f"a product with a parameter is written with '*': 2*{name}"
    else:
        suggestion = did_you_mean(name, UNITS) or "known units are " + ", ".join([*WITH_PREFIX, *WITHOUT_PREFIX])
    raise ModelError(f"no unit '{name}'", "unknown-unit", value=name, suggestion=suggestion)


def parse_unit(text: str) -> Unit:
    """Return a unit such as "N*s/m"."""
    parser = _Parser(text)
    result = parser.unit()
    if (rest := parser.peek()) is not None:
        raise parser.error(f"'*' or '/' is missing before '{rest}'")
    return result


def in_si(text: str) -> str:
    """Return the unit of SI of the same kind: A of mA, N*m itself."""
    unit = parse_unit(text)
    if unit.factor == 1:
        return text
    known = {known.exponents: name for name, known in reversed(WITH_PREFIX.items()) if known.factor == 1}
    if unit.exponents in known:
        return known[unit.exponents]
    parts = zip(("kg", "m", "s", "A", "rad"), unit.exponents, strict=True)
    return "*".join(name if n == 1 else f"{name}^{n}" for name, n in parts if n) or "1"


def choose_units(names: Iterable[str]) -> dict[str, Unit]:
    """Return units in which to show results, one of each kind."""
    chosen: dict[str, Unit] = {}
    for name in names:
        if not isinstance(name, str):
            raise UsageError(f"{name!r} is not a unit; write for example 'mm'", "bad-value")
        unit = parse_unit(name)
        if other := next((own for own, known in chosen.items() if known.exponents == unit.exponents), None):
            raise UsageError(f"'{other}' and '{name}' measure the same; choose one", "bad-value")
        chosen[name] = unit
    return chosen


class Kind(NamedTuple):
    """What a field holds: its name, its SI unit, a quantity as an example."""

    name: str
    unit: str
    example: str


NUMBER_KIND = Kind("number without unit", "1", "0.5")
LENGTH = Kind("length", "m", "12 mm")
MASS = Kind("mass", "kg", "250 g")
TIME = Kind("time", "s", "20 ms")
ANGLE = Kind("angle", "rad", "30 deg")
SPEED = Kind("speed", "m/s", "3 m/s")
ACCELERATION = Kind("acceleration", "m/s^2", "9.81 m/s^2")
ANGULAR_SPEED = Kind("angular speed", "rad/s", "120 rpm")
ANGULAR_ACCELERATION = Kind("angular acceleration", "rad/s^2", "5 rad/s^2")
FORCE = Kind("force", "N", "2 kN")
TORQUE = Kind("torque", "N*m", "3 N*m")
INERTIA = Kind("moment of inertia", "kg*m^2", "0.02 kg*m^2")
STIFFNESS = Kind("stiffness", "N/m", "2 kN/m")
DAMPING = Kind("damping", "N*s/m", "3 N*s/m")
ROTATIONAL_STIFFNESS = Kind("rotational stiffness", "N*m/rad", "2 N*m/rad")
ROTATIONAL_DAMPING = Kind("rotational damping", "N*m*s/rad", "0.1 N*m*s/rad")
COUPLED_STIFFNESS = Kind("stiffness of a shift and a turn", "N/rad", "5 N/rad")
COUPLED_DAMPING = Kind("damping of a shift and a turn", "N*s/rad", "0.2 N*s/rad")
DRAG = Kind("drag", "kg/m", "0.4 kg/m")
PER_SPEED = Kind("coefficient per speed", "s/m", "0.01 s/m")

KINDS = (
    *(NUMBER_KIND, LENGTH, MASS, TIME, ANGLE, SPEED, ACCELERATION, ANGULAR_SPEED, ANGULAR_ACCELERATION),
    *(FORCE, TORQUE, INERTIA, STIFFNESS, DAMPING, ROTATIONAL_STIFFNESS, ROTATIONAL_DAMPING),
)


def _check_kind(text: str, unit: Unit, kind: Kind) -> None:
    expected = parse_unit(kind.unit).exponents
    # A radian may be left out (N*m for N*m/rad, 1/s for rad/s) but not added.
    if unit.exponents in (expected, (*expected[:-1], 0)):
        return
    found = next((other.name for other in KINDS if parse_unit(other.unit).exponents == unit.exponents), None)
    what = "a quantity of another kind" if found is None else f"of kind {found}"
    hint = f"write for example '{kind.example}'"
    raise ModelError(f"'{text}' is {what}, not {kind.name}", "unit-mismatch", value=text, suggestion=hint)


def shown(text: str) -> str:
    """Return a text as far as a message quotes it."""
    return text if len(text) <= LONGEST_QUANTITY else text[: LONGEST_QUANTITY - 3] + "..."


def finite(text: str) -> float:
    """Return the number that a decimal text stands for; refuse one that overflows or is rounded to zero."""
    value = float(text)
    if not math.isfinite(value):
        rule = "the largest is about 1.8e308"
        raise ModelError(f"{shown(text)} is not a finite number", "not-finite", value=text, rule=rule)
    if value == 0 and re.search("[1-9]", re.split("[eE]", text)[0]):
        message = f"{shown(text)} is too small to be told from 0"
        raise ModelError(message, "number-underflow", value=text, suggestion="write 0")
    return value


def end_of_unit(text: str, start: int) -> int:
    """Return where the unit ends that begins here, behind a number: `start` if none does."""
    if (match := FIRST.match(text, start)) is None:
        return start
    end = match.end()
    while (match := FURTHER.match(text, end)) and {*WORD.findall(match[0].translate(SPELLINGS))} <= UNITS.keys() - {
        "t"
    }:
        end = match.end()
    return end


def _split(text: str) -> tuple[str, str] | None:
    """Return number and unit of a quantity, of one that cannot be read too; None for a number alone and a formula."""
    match = QUANTITY.match(text)
    if match is None:
        return None
    start = match.end()
    end = end_of_unit(text, start)
    is_formula = CALL.match(text, start) if end == start else OPERATOR.match(text, end)
    return None if is_formula else (match[1], text[start:])


def unit_of(text: str) -> str | None:
    """Return the unit of a quantity, None for anything else."""
    split = _split(text.strip())
    return split[1] if split else None


def in_unit(value: float, unit: str) -> str:
    """Write a number in SI as a quantity with as few digits as are read as it: 0.2 in "mm" as "200 mm"."""
    scale = quantity(f"1 {unit}", None)
    assert scale is not None
    texts = [f"{value / scale:.{digits}g} {unit}" for digits in (15, 16, 17)]
    return next((text for text in texts if quantity(text, None) == value), texts[-1])


def typed(x: float, size: float | None = None) -> float:
    """Return the number of at most twelve digits that x is but for rounding, or x itself.

    The rounding of an entry of a vector is measured by the `size` of the vector.
    """
    short = float(f"{x:.12g}")
    off = ROUNDING * (abs(x) if size is None else size)
    return 0.0 if abs(x) <= off else short if abs(short - x) <= off else x


def seconds(name: str, given: float | str | None) -> float | None:
    """Return a time as functions take it: a number of seconds, or a text with a unit, "20 ms"."""
    if isinstance(given, Sequence) and not isinstance(given, str):
        raise UsageError(f"{name} = {given!r} is not a time; motions begin at t = 0: write {name}=2", "bad-value")
    if not isinstance(given, str):
        return given
    number = quantity(given, TIME)
    if number is None:
        raise UsageError(f"{name} = {given!r} is not a time; write {name}=2 or {name}='2 s'", "bad-value")
    return number


def kind_of(unit: str | None) -> Kind | None:
    """Return the kind of quantities in a unit."""
    return None if unit is None else Kind(f"a quantity in {unit}", unit, f"1 {unit}")


def value_of(what: str, given: Any, unit: str | None) -> Any:
    """Return the value in SI of a text, "35 cm", which is of the kind of a unit; what is no text stays as it is."""
    if not isinstance(given, str):
        return given
    try:
        number = None if unit_of(given) is None else quantity(given, kind_of(unit))
    except ModelError as error:
        hint = "; ".join(part for part in (error.message, error.rule, error.suggestion) if part)
        raise UsageError(f"{what} = {given!r}: {hint}", error.code) from None
    if number is None:
        raise UsageError(f"{what} = {given!r} is neither a number nor a number with a unit", "bad-value")
    return number


def quantity(text: str, kind: Kind | None) -> float | None:
    """Return the SI value of a number or a quantity; None if the text is a formula.

    `kind` is what the field holds, None where any kind will do (parameters). A number without unit counts as SI.
    """
    text = text.strip()
    if re.fullmatch(r"[+-]?\.?(inf|infinity|nan)", text, re.IGNORECASE):
        raise ModelError(f"'{shown(text)}' is not a finite number", "not-finite", value=text)
    if comma := re.match(r"([+-]?[0-9]+),([0-9]+)", text):
        message, rule = f"'{shown(text)}' has a decimal comma", "decimals follow a point"
        hint = f"write {shown(comma[1] + '.' + comma[2])}"
        raise ModelError(message, "decimal-comma", value=text, rule=rule, suggestion=hint)
    if re.fullmatch(rf"[+-]?{NUMBER}", text):
        return finite(text)
    if re.match(rf"[+-]?{NUMBER}\s+(?!1\s*/)[0-9]", text):
        message, hint = f"'{shown(text)}' has a blank between digits", "write the digits together"
        raise ModelError(message, "bad-number", value=text, suggestion=hint)
    split = _split(text)
    return _scaled(text, *split, kind) if split else None


def _scaled(text: str, number: str, unit_text: str, kind: Kind | None) -> float:
    if len(text) > LONGEST_QUANTITY:
        message = f"'{shown(text)}' is longer than any quantity ({len(text)} characters)"
        raise ModelError(message, "bad-unit", value=text)
    value = finite(number)
    unit = parse_unit(unit_text)
    if kind is not None:
        _check_kind(text, unit, kind)
    # Exact until the one rounding at the end, so that "12 mm" is the same double as 0.012. A zero goes by itself:
    # "0e999999999" has no use for its power of ten.
    try:
        result = float(Fraction(number) * unit.factor) if value else 0.0
    except OverflowError:
        result = math.inf
    if value and (math.isinf(result) or result == 0):
        raise ModelError(f"'{shown(text)}' is outside the range of numbers", "not-finite", value=text)
    return result
