"""The command line: short functions over the library.

Whatever is heavy is imported by the command that needs it, so that `linkwork --help` answers at once.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any, cast

import typer

from linkwork.cli import analyses, formats, formulas, pictures
from linkwork.cli.app import app
from linkwork.cli.motions import locks, overrides
from linkwork.errors import InternalError, Interrupted, LinkworkError, UsageError

__all__ = ["analyses", "answer", "app", "formats", "formulas", "main", "overrides", "pictures"]

# All errors of parsing have this base; typer exports only this one of them.
ParsingError = cast(type[Exception], typer.BadParameter.__base__)


@cache
def _command(name: str) -> Any:
    """The command of this name, or all if there is none; to collect the options of all takes longer than some."""
    chosen = copy(app)
    chosen.registered_commands = [
        command for command in app.registered_commands if name in (command.name, cast(Any, command.callback).__name__)
    ] or app.registered_commands
    return typer.main.get_command(chosen)


def answer(arguments: Sequence[str]) -> int:
    """Carry out a command line and return its exit code; errors become one message, or one JSON object."""
    try:
        code = _command(next(iter(arguments), ""))(args=list(arguments), prog_name="linkwork", standalone_mode=False)
        if code == 130:
            raise Interrupted("interrupted")
        return code if isinstance(code, int) else 0
    except ParsingError as error:
        fault = cast(Any, error)
        hint = f"; see '{fault.ctx.command_path} --help'" if fault.ctx else ""
        refusal: LinkworkError = UsageError(f"{fault.format_message().rstrip('.')}{hint}", "usage")
    except LinkworkError as error:
        refusal = error
    except MemoryError:
        refusal = UsageError("there is not enough memory; choose a longer step or a smaller model", "out-of-memory")
    except OSError as error:
        if _is_about_output(error):
            raise
        refusal = InternalError.of(error)
    except Exception as error:  # noqa: BLE001 - behind this there is nobody but the user, whom no traceback helps
        refusal = InternalError.of(error)
    finally:
        locks.close()
    from linkwork.view.report import as_json, error_data, error_text, printable

    if "--json" in arguments:
        print(as_json(error_data(refusal)))
    else:
        print(f"linkwork: {printable(error_text(refusal))}", file=sys.stderr)
    return refusal.exit_code


def _is_about_output(error: OSError) -> bool:
    """Whether writing to standard output failed: files have names, and libraries that write them no numbers."""
    return error.filename is None and error.errno is not None


def _terminated(*_: object) -> None:
    raise KeyboardInterrupt


def _raise_again(swallowed: Any) -> None:
    """An interruption that came inside a callback, where Python ignores exceptions, comes again a moment later."""
    if swallowed.exc_type is KeyboardInterrupt:
        main_thread = threading.main_thread().ident
        threading.Timer(0.02, signal.pthread_kill, (main_thread, signal.SIGTERM)).start()
    else:
        sys.__unraisablehook__(swallowed)


def main() -> None:
    # Threads of the linear algebra wait for each other on matrices of this size, for seconds on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Else pydantic looks through every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    # Most of what is made lasts until the end: looking through it as often as Python does takes a tenth of a run.
    gc.set_threshold(200_000, 20, 20)
    signal.signal(signal.SIGTERM, _terminated)
    if hasattr(signal, "pthread_kill"):  # Windows has none
        sys.unraisablehook = _raise_again
    # What is not finite is looked for where it matters.
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    closed = sys.stdout is None
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # else the next file that is opened would take its place
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    if closed:
        print("linkwork: cannot write the answer: standard output is closed [output-failed]", file=sys.stderr)
        sys.exit(UsageError.exit_code)
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding shows a name wrongly rather than not at all.
        cast(Any, stream).reconfigure(errors="backslashreplace")
    try:
        code = answer(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:
        print(f"linkwork: cannot write the answer: {error.strerror} [output-failed]", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would try again when it ends
        code = UsageError.exit_code
    if code == Interrupted.exit_code:
        # A compiler may still be at work in a thread, and must not meet the end of the interpreter.
        sys.stderr.flush()
        os._exit(code)
    gc.freeze()  # else Python would look through all that was made once more before it ends
    sys.exit(code)


if __name__ == "__main__":
    main()
