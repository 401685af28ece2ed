"""The errors users see: each has a stable code, each kind an exit code of the command line."""

from __future__ import annotations

import difflib
import os
import re
import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib.util import find_spec
from inspect import Parameter, isfunction, signature
from itertools import takewhile
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, ParamSpec, SupportsFloat, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Class = TypeVar("Class", bound=type)

HERE = str(Path(__file__).parent) + os.sep
# What arguments are called in other programs.
ELSEWHERE = {
    **dict.fromkeys(("tspan", "t_span", "tf", "t_final", "tmax", "duration"), "t_end"),
    **dict.fromkeys(("dt", "h", "timestep", "time_step"), "step"),
    **dict.fromkeys(("method", "solver"), "integrator"),
    **dict.fromkeys(("x0", "y0", "q0", "initial", "initial_conditions"), "start"),
    **{"reltol": "rtol", "tol": "rtol", "abstol": "atol"},
}
# What functions of users raise when they are called with symbols and do not take them, and what to do.
FAULTS_OF_FUNCTIONS = (ArithmeticError, AttributeError, LookupError, NameError, TypeError, ValueError)
USE_SYMBOLS = "use + - * / ** and the functions of linkwork.own (sin, sqrt, select ...)"
MOST_SHOWN = 20  # errors of one file, or choices in a suggestion: a screen of lines
MOST_FOUND = 200  # errors after which a file is read no further: suggestions for thousands take minutes
MOST_NAMED = 6  # bodies or joints in one message


class LinkworkError(Exception):
    """Anything linkwork refuses; `code` is short, in kebab-case, and does not change between versions."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message, code)  # with which a copy is made in another process
        self.message = message
        self.code = code

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows: the lines of its own that led here, and the message."""
        frames = traceback.extract_tb(self.__traceback__)
        own = takewhile(lambda frame: not frame.filename.startswith(HERE), frames)
        shown = [frame for frame in own if not {"IPython", "ipykernel"} & {*Path(frame.filename).parts}]
        return [*"".join(traceback.format_list(shown)).splitlines(), *f"{type(self).__name__}: {self}".splitlines()]


class UsageError(LinkworkError):
    """A command or a call that asks for something that cannot be done."""

    exit_code = 2


class ModelError(LinkworkError):
    """A fault of the model.

    `message` says what is wrong and with which value; `rule` what would be right in general; `suggestion` what to
    write instead. `file`, `line` and `path` ("joints.B.j") say where, as far as it is known where the error is raised.

        crank.yaml:14: joints.B.j: no body 'rood'; did you mean 'rod'? [unknown-body]
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        code: str,
        *,
        rule: str | None = None,
        suggestion: str | None = None,
        value: object = None,
        path: str | None = None,
        line: int | None = None,
        file: str | None = None,
    ) -> None:
        super().__init__(message, code)
        self.rule = rule
        self.suggestion = suggestion
        self.value = value
        self.path = path
        self.line = line
        self.file = file
        self.errors: Sequence[ModelError] = (self,)

    def at(
        self, *, file: str | None = None, line: int | None = None, path: str | None = None, within: str = ""
    ) -> ModelError:
        """Return the same error with what was not yet known where it was raised; its path is one `within` a place."""
        inside = ".".join(part for part in (within, self.path or path) if part)
        where: dict[str, Any] = {"path": inside or None, "line": self.line or line, "file": self.file or file}
        what: dict[str, Any] = {"rule": self.rule, "suggestion": self.suggestion, "value": self.value}
        return ModelError(self.message, self.code, **what, **where)

    @staticmethod
    def together(errors: Sequence[ModelError]) -> ModelError:
        """Join all errors of one file to one to be raised, in the order of their lines; `code` is that of the first."""
        ordered = sorted((e for group in errors for e in group.errors), key=lambda e: e.line or 0)
        first = ordered[0].at()
        first.errors = tuple(ordered)
        return first

    def __str__(self) -> str:
        if len(self.errors) > 1:
            more = [f"and {len(self.errors) - MOST_SHOWN} more errors"] if len(self.errors) > MOST_SHOWN else []
            return "\n".join([*(str(error) for error in self.errors[:MOST_SHOWN]), *more])
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        where = "".join(f"{part}: " for part in (place, self.path) if part)
        what = "; ".join(part for part in (self.message, self.rule, self.suggestion) if part)
        return f"{where}{what} [{self.code}]"


class Unfinished(LinkworkError):
    """A computation that ended early; what was reached until then is attached by name."""

    def __init__(self, message: str, code: str, **attached: Any) -> None:
        super().__init__(message, code)
        self.attached = attached

    @property
    def trajectory(self) -> Any:
        """The motion until then, None if there is none."""
        return self.attached.get("trajectory")


class NumericalStop(Unfinished):
    """A computation that cannot go on."""

    exit_code = 4


class Interrupted(Unfinished):
    """A computation that was asked to end, by Ctrl-C or by the system."""

    exit_code = 130

    def __init__(self, message: str, code: str = "interrupted", **attached: Any) -> None:
        super().__init__(message, code, **attached)


class InternalError(LinkworkError):
    """A fault of linkwork itself."""

    exit_code = 70  # as sysexits.h has it

    @staticmethod
    def of(error: Exception) -> InternalError:
        """Describe an unexpected exception, and where it came from."""
        frames = traceback.extract_tb(error.__traceback__)
        own = next((frame for frame in reversed(frames) if "linkwork" in Path(frame.filename).parts), frames[-1])
        place = f"{Path(own.filename).name}:{own.lineno}"
        return InternalError(
            f"a fault of linkwork itself: {type(error).__name__} in {place}: {error}; "
            "please report it with the command and the model file",
            "internal-error",
        )


def check_choice(what: str, name: str, choices: Collection[str]) -> None:
    """Raise UsageError for a name that is none of the choices: no formulation 'qrr'; did you mean 'qr'?"""
    if not isinstance(name, str) or name not in choices:
        suggestion = did_you_mean(str(name), choices)
        raise UsageError(f"no {what} '{name}'" + (f"; {suggestion}" if suggestion else ""), f"unknown-{what}")


# Packages that a run does not need, and the extra of linkwork that installs them.
EXTRAS = {
    **{"matplotlib": "plot", "xarray": "files", "h5py": "files", "h5netcdf": "files"},
    **{"openpyxl": "xlsx", "pyarrow": "parquet", "distributed": "dask"},
}


def check_extra(package: str, what: str = "") -> None:
    """Raise UsageError if a package that only some results need is not installed; it names the extra."""
    if find_spec(package) is None:
        message = f"{what}{package} is not installed; pip install 'linkwork[{EXTRAS[package]}]'"
        raise UsageError(message, f"no-{package}")


def check_number(what: str, value: object) -> None:
    if not isinstance(value, int | float | SupportsFloat):
        raise UsageError(f"{what} = {value!r} is not a number", "bad-value")


def check_count(what: str, value: object) -> None:
    if not isinstance(value, Integral) or value < 0:
        raise UsageError(f"{what} = {value!r} is not a whole number from 0 on", "bad-value")


def check_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        raise UsageError(f"{value!r} is not {what}", "bad-value")


def check_names(what: str, names: object) -> None:
    """Raise UsageError for a single name too, of which letters would be taken."""
    if isinstance(names, str) or not isinstance(names, Collection):
        hint = f"; write [{names!r}]" if isinstance(names, str) else ""
        raise UsageError(f"{what} = {names!r} is not a list of names{hint}", "bad-value")


def check_values(what: str, given: object) -> None:
    """Raise UsageError if this does not give values to names."""
    if not isinstance(given, Mapping):
        raise UsageError(f"{what} = {given!r} does not give values to names; write {{'name': 1.0}}", "bad-value")


def quoted(names: Iterable[str], most: int | None = MOST_NAMED) -> str:
    """Quote names: 'crank', 'rod' and 3 more; with `most` None all of them."""
    shown = [f"'{name}'" for name in names]
    left = len(shown[most:]) if most is not None else 0
    return ", ".join(shown[:most]) + (f" and {left} more" if left else "")


_on_command_line = ContextVar("_on_command_line", default=False)
_spellings = ContextVar[Mapping[str, str]](
    "_spellings", default=MappingProxyType({})
)  # of the function that was called


@contextmanager
def speak_command_line() -> Iterator[None]:
    """Let messages name options as a command line has them."""
    token = _on_command_line.set(True)
    try:
        yield
    finally:
        _on_command_line.reset(token)


def option(name: str, *values: object, command: str = "") -> str:
    """Return how to ask for something: integrator="auto" or "radau5" in Python, --integrator auto or radau5 in a
    command, unless that is spelled otherwise.
    """
    if _on_command_line.get():
        given = [" or ".join(map(str, values))] if values else []
        return command or " ".join([f"--{name.replace('_', '-')}", *given])
    value = " or ".join(map(repr, values)) if values else "True"
    return _spellings.get().get(name, f"{name}=...").replace("...", value, 1)


def checked_call(**spellings: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function refuse arguments that do not fit it, and say what to write instead.

    `spellings` gives this for keywords that people try.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> R:
            name = type(args[0]).__name__ if args and function.__name__ == "__init__" else function.__name__
            for wrong in spellings.keys() & options.keys():
                raise UsageError(f"{name} has no argument '{wrong}'; write {spellings[wrong]}", "moved-argument")
            said = _spellings.set(spellings) if spellings else None
            try:
                return function(*args, **options)
            except (TypeError, ValueError, AttributeError):
                known = signature(function)
                try:
                    given = known.bind(*args, **options)
                except TypeError as misfit:
                    wrong = next(iter(options.keys() - known.parameters.keys()), "")
                    meant = ELSEWHERE.get(wrong.lower(), wrong)
                    hint = did_you_mean(meant, (one for one in known.parameters if one != "self")) if wrong else None
                    message = f"{name}: {misfit}" + (f"; {hint}" if hint else "")
                    raise UsageError(message, "bad-arguments") from None
                for argument, value in given.arguments.items():
                    if wanted := _misfit(value, known.parameters[argument]):
                        shown = f"{name}: {argument} = {value!r} is not {wanted}"
                        raise UsageError(shown, "bad-arguments") from None
                raise
            finally:
                if said is not None:
                    _spellings.reset(said)

        return checked

    return decorate


def checked_methods(cls: Class) -> Class:
    """Let the methods of a class that users call refuse arguments that do not fit them, as `checked_call` does."""
    for name, function in [*vars(cls).items()]:
        if isfunction(function) and (name == "__init__" or not name.startswith("_")):
            setattr(cls, name, checked_call()(function))
    return cls


# By the head of an annotation: what fits it, and in words.
_FITTING: dict[str, tuple[Any, str]] = {
    "None": (type(None), ""),
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "str": (str, "a text"),
    "Path": (PathLike, "a path"),
    "Mapping": (Mapping, "a dict"),
    "Sequence": (Iterable, "a list"),
    "Iterable": (Iterable, "a list"),
    "Callable": (Callable, "a function"),
    "Progress": (Callable, "a function"),
}


def _misfit(value: Any, parameter: Parameter) -> str:
    """Say what an argument should be and is not; of annotations that are not judged, nothing."""
    heads = [part.strip().partition("[")[0] for part in re.split(r"\|(?![^\[]*\])", str(parameter.annotation))]
    kinds = [_FITTING.get(head) for head in heads]
    if parameter.kind is Parameter.VAR_POSITIONAL or any(kind is None or isinstance(value, kind[0]) for kind in kinds):
        return ""
    return " or ".join(kind[1] for kind in kinds if kind and kind[1])


def did_you_mean(name: str, choices: Iterable[str]) -> str | None:
    """Suggest a name for a misspelt one: "did you mean 'rod'?", or the choices if they are few and none is near."""
    known = list(dict.fromkeys(choices))
    by_lower = {choice.lower(): choice for choice in reversed(known)}
    begins = [choice for choice in by_lower if len(choice) > 2 and name.lower().startswith(choice)]  # cosine: cos
    near = sorted(begins, key=len)[-1:] or difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return f"did you mean '{by_lower[near[0]]}'?"
    if 0 < len(known) <= MOST_SHOWN:
        return "choose from " + ", ".join(known)
    return None
