"""The server of a studio: one page, on the loopback interface, for whoever knows the token.

Every request needs the token that the address of the page holds. A browser sends it for no other page: it is no cookie,
but a header that only the page itself can set, and a request that comes from another page or by another name of this
computer is refused before anything is looked at.

http.server of the standard library is enough for one reader, and nothing has to be installed for it.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from inspect import signature
from pathlib import Path
from threading import Lock
from typing import Any, get_type_hints
from urllib.parse import parse_qs, quote, unquote, urlsplit

from linkwork.document import MAX_BYTES
from linkwork.errors import LinkworkError, UsageError
from linkwork.modelfile import json_schema
from linkwork.studio.folder import SHOWN, Folder
from linkwork.units import factors

HOST = "127.0.0.1"
BUNDLE = Path(__file__).with_name("studio.html")
TOKEN = "X-Linkwork-Token"
PATIENCE = 3  # seconds that a newer text waits until work on the one before is given up
COLUMNS = "100"  # of what commands print
PROTECTED = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SANDBOX = {"Content-Security-Policy": "sandbox allow-scripts"}  # of pages that commands have written

Answer = Mapping[str, Any]


def check_built() -> None:
    """Raise UsageError if the page of the studio is not there."""
    if not BUNDLE.exists():
        what = "the page of the studio is not built"
        raise UsageError(f"{what}; `make viewer` in the source folder builds it (it needs npm)", "no-viewer")


class Worker:
    """A process that answers texts (shows.py), ended where it takes too long and begun again when it is needed."""

    def __init__(self) -> None:
        self.busy = Lock()
        self.process: subprocess.Popen[str] | None = None

    def answers(self, question: Answer) -> Iterator[Answer]:
        if not self.busy.acquire(timeout=PATIENCE):
            self.end()
            self.busy.acquire()
        is_answered = False
        try:
            if self.process is None or self.process.poll() is not None:
                command = [sys.executable, "-m", "linkwork.studio.shows"]
                self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            process = self.process  # `end` may come from another thread
            assert process.stdin is not None
            assert process.stdout is not None
            with suppress(BrokenPipeError):
                process.stdin.write(json.dumps(question) + "\n")
                process.stdin.flush()
            while (line := process.stdout.readline()).strip():
                yield json.loads(line)
            is_answered = line != ""
            if not is_answered:
                yield {"trouble": "given up" if process.wait() < 0 else "a fault of linkwork itself; see the terminal"}
        finally:
            if not is_answered:  # also where the page has gone, and nobody waits for the rest
                self.end()
            self.busy.release()

    def end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()


class Studio(ThreadingHTTPServer):
    """A folder, the name of its model file if it has one, the text to begin with, and what commands take."""

    daemon_threads = True

    def __init__(self, folder: Folder, name: str, text: str, commands: Mapping[str, Any], port: int = 0) -> None:
        self.folder, self.name, self.text, self.commands = folder, name, text, commands
        self.token = secrets.token_urlsafe(24)
        self.worker = Worker()
        self.running: subprocess.Popen[bytes] | None = None
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be had: {error.strerror}; leave out --port for one that is free", "port-in-use"
            ) from None

    @cached_property
    def origins(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.server_address[1]}" for name in (HOST, "localhost"))

    @property
    def address(self) -> str:
        return f"http://{self.origins[0]}/?token={self.token}"

    def link_to(self, name: str) -> str:
        """Return the path under which a file of the folder is shown: its token opens nothing else."""
        return f"/made/{hmac.new(self.token.encode(), name.encode(), sha256).hexdigest()}/{quote(name)}"

    def end(self) -> None:
        self.worker.end()
        self.stop()
        self.server_close()

    def stop(self) -> None:
        """End the command under way, with all that it has begun."""
        if self.running is not None and self.running.poll() is None:
            if sys.platform == "win32":  # where there are no such groups
                self.running.terminate()
            else:
                with suppress(ProcessLookupError):
                    os.killpg(self.running.pid, signal.SIGINT)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print what went wrong, but not that a page has gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    # what the page asks for

    def begin(self) -> Answer:
        """Return the text with which the page begins."""
        known = self.folder.read(self.name) if self.name and not self.text else None
        text, mark = (self.text, "") if known is None else (known.text, known.mark)
        about = {"commands": self.commands, "schema": json_schema(), "units": factors()}
        return {"name": self.name, "text": text, "mark": mark, **about}

    def show(self, text: str, name: str, held: int) -> Iterator[Answer]:
        file = self.folder.path(name or "untitled.yaml")  # whose folder tables and meshes are looked for in
        yield from self.worker.answers({"text": text, "file": str(file), "held": held})

    def watch(self, name: str, mark: str) -> Answer:
        """Return the file if it is not as it is known; nothing if it is, or if there is none."""
        found = self.folder.read(name) if self.folder.path(name).exists() else None
        return {} if found is None or found.mark == mark else {"text": found.text, "mark": found.mark}

    def save(self, text: str, name: str, mark: str, aside: bool = False) -> Answer:
        """Write the text; if the file is not the one that is known, return it, or set it aside before."""
        kept = self.folder.set_aside(name) if aside else ""
        saved = self.folder.save(name, text, self.folder.read(name).mark if aside else mark)
        return {"mark": saved.mark, "kept": kept, **({} if saved.text == text else {"text": saved.text})}

    def run(self, command: str, name: str, options: str) -> Iterator[Answer]:
        """Carry out a command on the file, and yield what it prints."""
        if command not in self.commands:
            raise UsageError(f"no command '{command}' here", "unknown-command")
        try:
            arguments = [command, self.folder.path(name).name, *shlex.split(options)]
            self.folder.check_arguments(arguments)
        except ValueError as error:
            raise UsageError(f"the options cannot be read: {error}", "usage") from None
        self.stop()
        with subprocess.Popen(
            [sys.executable, "-m", "linkwork", *arguments],
            cwd=self.folder.place,
            env={**os.environ, "COLUMNS": COLUMNS, "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as self.running:
            assert self.running.stdout is not None
            try:
                for line in self.running.stdout:
                    text = line.decode(errors="replace")
                    yield {"line": text, **self.linked(text)}
                yield {"exit": self.running.wait()}
            finally:
                self.stop()

    def linked(self, line: str) -> Answer:
        """Return the link to what a command says it has written, if a browser shows it."""
        word, _, name = line.strip().partition(" ")
        is_shown = word == "written" and Path(name.strip()).suffix.lower() in SHOWN
        return {"link": self.link_to(name.strip())} if is_shown else {}


class Handler(BaseHTTPRequestHandler):
    """Requests of the page, and the refusal of all others."""

    server: Studio
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "linkwork", ""

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if not self.comes_from_here():
            self.refuse("this page is for its own address")
        elif url.path == "/" and self.knows(parse_qs(url.query).get("token", [""])[0]):
            self.send(HTTPStatus.OK, "text/html; charset=utf-8", BUNDLE.read_bytes())
        elif url.path.startswith("/made/"):
            self.send_made(url.path)
        else:
            self.refuse("the address needs its token: take the one that linkwork studio has printed")

    def do_POST(self) -> None:
        answers: dict[str, Callable[..., Answer | Iterator[Answer]]] = {
            f"/{own.__name__}": own
            for own in (self.server.begin, self.server.show, self.server.watch, self.server.save, self.server.run)
        }
        length = self.headers.get("Content-Length", "")
        if not self.comes_from_here() or not self.knows(self.headers.get(TOKEN, "")):
            self.refuse("this needs the token of the page")
        elif self.path == "/stop":
            self.server.stop()
            self.send(HTTPStatus.OK, "application/json", b"{}")
        elif self.path not in answers or not length.isdecimal() or int(length) > 2 * MAX_BYTES:
            self.refuse("there is nothing here", HTTPStatus.BAD_REQUEST)
        else:
            question = read_question(answers[self.path], self.rfile.read(int(length)))
            if question is None:
                self.refuse("this is no question of the page", HTTPStatus.BAD_REQUEST)
            else:
                self.send_lines(answers[self.path], question)

    def comes_from_here(self) -> bool:
        """Tell whether the request names this server, not another name that leads here, and comes from its own page."""
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        same = self.headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin")
        return host in self.server.origins and origin in (None, f"http://{host}") and same

    def knows(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.server.token.encode())

    def refuse(self, why: str, status: HTTPStatus = HTTPStatus.FORBIDDEN) -> None:
        self.close_connection = True  # what it sends is not read
        self.send(status, "text/plain; charset=utf-8", f"{why}\n".encode())

    def send_made(self, path: str) -> None:
        """Send a file of the folder that a command has written; as a page of its own it can reach nothing here."""
        name = unquote(path.rsplit("/", 1)[-1])
        try:
            if not hmac.compare_digest(path.encode(), self.server.link_to(name).encode()):
                raise UsageError("no such link", "outside")
            file = self.server.folder.path(name, tuple(SHOWN))
            self.send(HTTPStatus.OK, SHOWN[file.suffix.lower()], file.read_bytes(), SANDBOX)
        except (LinkworkError, OSError):
            self.refuse("there is no such file", HTTPStatus.NOT_FOUND)

    def send(self, status: HTTPStatus, kind: str, body: bytes, more: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {
            **PROTECTED,
            **(more or {}),
            "Content-Type": kind,
            "Content-Length": str(len(body)),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_lines(self, ask: Callable[..., Answer | Iterator[Answer]], question: Answer) -> None:
        """Send answers as lines of JSON, each when it is there."""
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        for name, value in {**PROTECTED, "Content-Type": "application/x-ndjson", "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            found = ask(**question)
            for answer in (found,) if isinstance(found, Mapping) else found:
                self.wfile.write(json.dumps(answer).encode() + b"\n")
                self.wfile.flush()
        except LinkworkError as error:
            self.wfile.write(json.dumps({"error": str(error)}).encode() + b"\n")


def read_question(ask: Callable[..., object], body: bytes) -> Answer | None:
    """Read the arguments of a function from JSON; None where it does not take them."""
    try:
        question = signature(ask).bind(**json.loads(body)).arguments
        "".join(map(str, question.values())).encode()  # half of a character cannot be written
    except (ValueError, TypeError, RecursionError):
        return None
    kinds = get_type_hints(ask)
    return question if all(type(x) is kinds[name] for name, x in question.items()) else None


def commands_of(parsers: Sequence[Any]) -> dict[str, list[dict[str, str]]]:
    """Return the options of commands with their help."""
    return {
        parser.name: [
            {"name": name, "help": option.help or ""}
            for option in parser.params
            if option.param_type_name == "option"
            for name in option.opts
            if name.startswith("--")
        ]
        for parser in parsers
    }
