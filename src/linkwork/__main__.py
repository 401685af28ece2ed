"""The command `linkwork`, also as `python -m linkwork`: what the process needs, before anything large is imported."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
from typing import Any, cast

from linkwork.errors import Interrupted, UsageError


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
    signal.signal(signal.SIGTERM, _terminated)
    if hasattr(signal, "pthread_kill"):  # Windows has none
        sys.unraisablehook = _raise_again
    try:
        from linkwork.cli import answer

        code = answer(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:  # while commands are imported; `answer` itself has an answer to it
        print("linkwork: interrupted [interrupted]", file=sys.stderr)
        code = Interrupted.exit_code
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
