"""Pages in a real browser, for the tests of the viewer."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
# Drawing without a graphics card.
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]


class Tab:
    """A page in the browser, with all that it said and asked for."""

    def __init__(self, tab: Any, address: str, ready: str) -> None:
        self.tab = tab
        self.said: list[str] = []
        self.asked: list[str] = []
        tab.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        tab.on("pageerror", lambda error: self.said.append(str(error)))
        tab.on("request", lambda request: self.asked.append(request.url))
        tab.set_default_timeout(120_000)  # milliseconds: a page on a busy machine
        tab.goto(address)
        tab.wait_for_selector(ready)
        self.settle()

    def settle(self) -> None:
        """Wait until what was asked for is drawn."""
        frames = "(done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.tab.evaluate(f"new Promise({frames})")


class Firefox:
    """Firefox without a window, spoken to by WebDriver BiDi over a WebSocket [RFC 6455], which needs no driver."""

    def __init__(self, program: str, folder: Path) -> None:
        (folder / "user.js").write_text('user_pref("network.dns.forceResolve", "127.0.0.1");\n')  # it asks for news
        command = [program, "--headless", "--no-remote", "--profile", str(folder), "--remote-debugging-port", "0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert self.process.stderr
        port = next(
            int(found[1]) for line in self.process.stderr if (found := re.search(r"ws://127.0.0.1:(\d+)", line))
        )
        self.reader = threading.Thread(target=self.process.stderr.read)  # so that it never waits to be read
        self.reader.start()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        head = f"GET /session HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade"
        key = b64encode(os.urandom(16)).decode()
        self.socket.sendall(f"{head}\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode())
        self.stream = self.socket.makefile("rb")
        while self.stream.readline().strip():
            pass
        self.calls = 0
        self.call("session.new", capabilities={})
        self.tab = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **params: Any) -> Any:
        """What the browser answers."""
        self.calls += 1
        text = json.dumps({"id": self.calls, "method": method, "params": params}).encode()
        size = len(text)  # of a final frame of text, masked by ones
        short, sized = (size, "") if size < 126 else (126, "H") if size < 2**16 else (127, "Q")
        head = struct.pack(f">BB{sized}", 0x81, 0x80 | short, *([size] if sized else []))
        self.socket.sendall(head + b"\1\1\1\1" + bytes(x ^ 1 for x in text))
        while True:
            answer = json.loads(self._message())
            if answer.get("id") == self.calls:
                assert answer["type"] == "success", answer
                return answer["result"]

    def _message(self) -> bytes:
        whole, last = b"", False
        while not last:
            head, size = self.stream.read(2)
            size = size if size < 126 else int.from_bytes(self.stream.read(2 if size == 126 else 8), "big")
            whole, last = whole + self.stream.read(size), bool(head & 0x80)
        return whole

    def open(self, address: str) -> None:
        self.call("browsingContext.navigate", context=self.tab, url=address, wait="complete")

    def evaluate(self, script: str) -> Any:
        """The value of an expression, by JSON."""
        text = f"Promise.resolve({script}).then((x) => JSON.stringify(x) ?? null)"
        found = self.call("script.evaluate", expression=text, target={"context": self.tab}, awaitPromise=True)
        assert found["type"] == "success", found
        return json.loads(found["result"].get("value", "null"))

    def picture(self) -> bytes:
        return b64decode(self.call("browsingContext.captureScreenshot", context=self.tab)["data"])

    def close(self) -> None:
        self.stream.close()
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)
        self.reader.join()
        assert self.process.stderr
        self.process.stderr.close()
