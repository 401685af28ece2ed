"""Studies as files: the options of a command, by the keys that it has, beside the model that it is about.

study: 1
model: slider_crank_driven
vary: {l1: 0.6:1.4:9}
take: ["max(abs(driving:motor))"]
kinematics: true
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from linkwork import units
from linkwork.document import Document, Keys, path_text, read
from linkwork.errors import LinkworkError, ModelError, UsageError, did_you_mean
from linkwork.modelfile import SUFFIXES
from linkwork.modelfile.tables import beside

MARK = "study"
TIMES = ("t_end", "step")
NUMBERS = ("rtol", "atol")
WHOLE = ("seed", "max_steps", "workers")
FLAGS = ("kinematics", "assemble", "local", "multistart")
TEXTS = ("take", "subject")  # one, or a list
FIT = ("motion", "deviations", "confidence")  # keys below `fit`
ALWAYS = (MARK, "model", "about", "set", "vary")  # keys of all studies


def is_study_file(path: str) -> bool:
    """Whether a file is a study: one whose name ends as that of a model, with the key `study`."""
    if not (path.lower().endswith(SUFFIXES) and Path(path).is_file()):
        return False
    try:
        return MARK in read(path).data
    except LinkworkError:
        return False  # of which the command says what is wrong


class Measured(NamedTuple):
    """A table of a measured motion, deviations of the errors of its columns, and how often intervals hold."""

    table: Path
    deviations: Mapping[str, float]
    confidence: float | None


@dataclass(frozen=True, eq=False)
class StudyFile:
    """What a study says, each value with its line."""

    document: Document

    @property
    def data(self) -> Mapping[str, Any]:
        return self.document.data

    def fault(self, message: str, code: str, *place: str | int, suggestion: str | None = None) -> ModelError:
        return self.document.locate(ModelError(message, code, suggestion=suggestion), place)

    @contextmanager
    def at(self, *place: str | int) -> Iterator[None]:
        """Give what is wrong within the line of this place."""
        try:
            yield
        except LinkworkError as error:
            raise self.fault(error.message, error.code, *place) from None

    @contextmanager
    def told(self) -> Iterator[None]:
        """Give what is wrong with an option the line of the value, or of the key, that the message quotes."""
        try:
            yield
        except UsageError as error:
            quoted = [place for place in self.document.lines if place and self._is_named(place, error.message)]
            place: Keys = max(quoted, key=len, default=())
            raise self.document.locate(ModelError(error.message, error.code), place) from None

    def _is_named(self, place: Keys, message: str) -> bool:
        value: Any = self.data
        for step in place:
            value = value[step]
        texts = [x for x in (place[-1], value) if isinstance(x, str)]
        return any(f"'{x}'" in message or f"'{x}=" in message for x in texts) or message.startswith(f"{value} ")

    @property
    def model(self) -> str:
        """The file beside the study, or the name of a shipped mechanism."""
        name = self.text("model")
        if name is None:
            raise self.fault("the study names no model", "missing-key", suggestion="write model: slider_crank")
        beside = Path(self.document.file).parent / name
        return str(beside) if beside.exists() else name

    @property
    def fit(self) -> Measured:
        """Return what `fit` says: the table of a measured motion, in the folder of the study, and how it errs."""
        given = self._mapping("fit")
        for key in given:
            if key not in FIT:
                hint = did_you_mean(key, FIT) or f"choose from {', '.join(FIT)}"
                raise self.fault(f"unknown key '{key}'", "unknown-key", "fit", key, suggestion=hint)
        name = given.get("motion")
        if not isinstance(name, str):
            raise self.fault(
                "names no table of a measured motion", "missing-key", "fit", suggestion="motion: swing.csv"
            )
        with self.at("fit", "motion"):
            table = beside(self.document.file, name)
        deviations = given.get("deviations", {})
        if not isinstance(deviations, dict):
            message, hint = f"'{deviations}' has no names", "write deviations: {crank.phi: 0.1 deg}"
            raise self.fault(message, "wrong-kind", "fit", "deviations", suggestion=hint)
        sizes = {column: self._quantity(x, "fit", "deviations", column) for column, x in deviations.items()}
        confidence = self._quantity(given["confidence"], "fit", "confidence") if "confidence" in given else None
        return Measured(table, sizes, confidence)

    @property
    def set(self) -> dict[str, str]:
        """Other values of parameters."""
        return {name: str(x) for name, x in self._mapping("set").items()}

    @property
    def vary(self) -> dict[str, Any]:
        """What parameters take: texts, or lists of values."""
        found = dict[str, Any]()
        for name, given in self._mapping("vary").items():
            if isinstance(given, list):
                numbers = [self._quantity(x, "vary", name, k) for k, x in enumerate(given)]
                found[name] = [x if isinstance(x, str) else y for x, y in zip(given, numbers, strict=True)]
            elif isinstance(given, dict) or given is None or isinstance(given, bool):
                message = f"'{given}' is neither a range nor a list of values"
                raise self.fault(message, "bad-range", "vary", name, suggestion="write 0.6:1.4:9 or [1, 2, 3]")
            else:
                found[name] = str(given)
        return found

    def _mapping(self, key: str) -> dict[str, Any]:
        given = self.data.get(key, {})
        if not isinstance(given, dict):
            raise self.fault(f"'{given}' has no names", "wrong-kind", key, suggestion=f"write {key}: {{l1: ...}}")
        return given

    def _quantity(self, given: Any, *place: str | int) -> float:
        with self.at(*place):
            value = units.quantity(str(given), None) if isinstance(given, str | int | float) else None
            if value is None or isinstance(given, bool):
                raise UsageError(f"'{given}' is not a number, with or without a unit", "wrong-kind")
            return value

    def text(self, key: str) -> str | None:
        given = self.data.get(key)
        if given is None or isinstance(given, str):
            return given
        raise self.fault(f"'{given}' is not a text", "wrong-kind", key)

    def texts(self, key: str) -> list[str]:
        """Read a text, or a list of texts."""
        given = self.data.get(key, [])
        found = given if isinstance(given, list) else [given]
        for k, x in enumerate(found):
            if not isinstance(x, str):
                raise self.fault(f"'{x}' is not a text", "wrong-kind", key, *([k] if found is given else []))
        return found

    def number(self, key: str) -> float | None:
        return None if key not in self.data else self._quantity(self.data[key], key)

    def seconds(self, key: str) -> float | None:
        given = self.data.get(key)
        if given is None or (isinstance(given, int | float) and not isinstance(given, bool)):
            return given
        with self.at(key):
            return units.seconds(key, str(given))

    def flag(self, key: str) -> bool:
        given = self.data.get(key, False)
        if not isinstance(given, bool):
            raise self.fault(f"'{given}' is neither true nor false", "wrong-kind", key)
        return given

    def value(self, key: str) -> Any:
        """Read a value of the kind that the key has; nothing if it is missing."""
        if key in FLAGS:
            return self.flag(key)
        if key not in self.data:
            return None
        if key in TEXTS:
            return self.texts(key)
        if key in TIMES:
            return self.seconds(key)
        if key in (*NUMBERS, *WHOLE):
            number = self.number(key)
            if number is None or key in NUMBERS:
                return number
            if number != int(number):
                raise self.fault(f"'{self.data[key]}' is not a whole number", "wrong-kind", key)
            return int(number)
        return self.text(key)

    def fill(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Fill in options of a command line that are missing with what the study says."""
        return {key: self.value(key) if x is None or x is False else x for key, x in given.items()}


def read_study(path: str, own: Collection[str]) -> StudyFile:
    """Read a study of a command that has these keys beside ALWAYS; ModelError with the line of any other."""
    study, known = StudyFile(read(path)), (*ALWAYS, *own)
    if study.data.get(MARK) != 1:
        raise study.fault(
            f"'{study.data.get(MARK)}' is not a version of studies", "bad-version", MARK, suggestion="write 1"
        )
    for key in study.data:
        if key not in known:
            hint = did_you_mean(key, known) or f"choose from {', '.join(known)}"
            raise study.fault(f"unknown key '{path_text((key,))}'", "unknown-key", key, suggestion=hint)
    return study
