"""The command line: short functions over the library.

Whatever is heavy is imported by the command that needs it, so that `linkwork --help` answers at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from functools import cache
from typing import Any, cast

import typer

from linkwork.cli import analyses, designs, formats, formulas, pictures, small_motions, studies, studio
from linkwork.cli.app import app
from linkwork.cli.motions import locks, overrides
from linkwork.errors import InternalError, Interrupted, LinkworkError, UsageError, speak_command_line

__all__ = ["analyses", "answer", "app", "designs", "formats", "formulas"]
__all__ += ["overrides", "pictures", "small_motions", "studies", "studio"]

# All errors of parsing have this base; typer exports only this one of them.
ParsingError = cast(type[Exception], typer.BadParameter.__base__)


@cache
def _command(name: str) -> Any:
    """Return the command of this name, or all if there is none: collecting the options of all takes time."""
    chosen = copy(app)
    chosen.registered_commands = [
        command for command in app.registered_commands if name in (command.name, cast(Any, command.callback).__name__)
    ] or app.registered_commands
    return typer.main.get_command(chosen)


def answer(arguments: Sequence[str]) -> int:
    """Carry out a command line and return its exit code; errors become one message, or one JSON object."""
    with speak_command_line():
        return _answer(arguments)


def _answer(arguments: Sequence[str]) -> int:
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
    except SystemExit as end:  # completion is done, or the reader closed the pipe early, as `head` does
        return UsageError.exit_code if end.code else 0
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
        with suppress(OSError):  # the exit code says it too
            print(f"linkwork: {printable(error_text(refusal))}", file=sys.stderr)
    return refusal.exit_code


def _is_about_output(error: OSError) -> bool:
    """Tell whether writing to standard output failed: files have names, and libraries that write them no numbers."""
    return error.filename is None and error.errno is not None
