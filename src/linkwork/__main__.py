"""The command `linkwork`, also as `python -m linkwork`: what the process needs, before anything large is imported."""

from __future__ import annotations

# The module signal imports enum first, and Ctrl-C meanwhile would show a traceback.
import _signal as signal  # type: ignore[import-not-found]
import os
import sys

TYPE_CHECKING = False  # as in typing, which takes its time to be imported
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)


def _hear(handler: Callable[..., None]) -> None:
    """Let this answer Ctrl-C and SIGTERM, but for those that whoever began the process has told it to ignore."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _end(*_: object) -> None:
    """End at once: before a command begins there is nothing to keep, and a traceback of imports helps nobody."""
    try:
        os.write(2, b"linkwork: interrupted [interrupted]\n")
    finally:
        os._exit(130)


_interruptions: list[KeyboardInterrupt] = []


def _interrupt(*_: object) -> None:
    """Raise an interruption that is kept, and with it what it came out of: freeing a large graph takes seconds."""
    _interruptions.append(KeyboardInterrupt())
    raise _interruptions[-1]


def _raise_again(swallowed: Any) -> None:
    """Raise again an interruption that came inside a callback, where Python ignores exceptions, a moment later."""
    if swallowed.exc_type is KeyboardInterrupt:
        import threading

        main_thread = threading.main_thread().ident
        threading.Timer(0.02, signal.pthread_kill, (main_thread, signal.SIGTERM)).start()
    else:
        sys.__unraisablehook__(swallowed)


def main() -> None:
    _hear(_end)
    import gc
    import warnings
    from contextlib import suppress
    from typing import Any, cast

    from linkwork.errors import Interrupted, UsageError

    # Threads of the linear algebra wait for each other on matrices of this size, for seconds on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Else pydantic looks through every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    # Most of what is made lasts until the end: looking through it as often as Python does takes a tenth of a run.
    gc.set_threshold(200_000, 20, 20)
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
    if hasattr(signal, "pthread_kill"):  # Windows has none
        sys.unraisablehook = _raise_again
    from linkwork.cli import answer

    try:
        _hear(_interrupt)
        code = answer(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:  # outside of the command, which has an answer of its own
        print("linkwork: interrupted [interrupted]", file=sys.stderr)
        code = Interrupted.exit_code
    except OSError as error:
        with suppress(OSError):
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
