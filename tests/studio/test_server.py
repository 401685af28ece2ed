"""The server of the studio: who is let in, and what is read and written."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from commands import Answer

from linkwork.errors import LinkworkError, UsageError
from linkwork.studio import server as module
from linkwork.studio.folder import Folder, open_folder
from linkwork.studio.server import TOKEN, Studio

TEXT = "linkwork: 1\nname: arm\nground: {points: {O: [0, 1]}}\nbodies:\n  arm: {mass: 1, points: {O: [0, 1]}}\n"


@pytest.fixture
def studio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    """A studio on a file of its own, with a page of one word where the real one is not built."""
    bundle = tmp_path / "page.html"
    bundle.write_text("studio")
    monkeypatch.setattr(module, "BUNDLE", bundle)
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "arm.yaml").write_text(TEXT)
    studio = Studio(Folder(folder), "arm.yaml", "", {"check": [], "run": []})
    thread = threading.Thread(target=studio.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield studio
    studio.shutdown()
    studio.end()
    thread.join()


def request(
    studio: Studio, method: str, path: str, headers: Mapping[str, str] | None = None, body: Any = None
) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", studio.server_address[1], timeout=120)
    text = None if body is None else json.dumps(body)
    connection.request(method, path, text, dict(headers or {}))
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def ask(studio: Studio, what: str, **question: Any) -> list[dict[str, Any]]:
    status, body = request(studio, "POST", f"/{what}", {TOKEN: studio.token}, question)
    assert status == 200
    return [json.loads(line) for line in body.splitlines()]


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[1]", b"3", b"null", b"\xff", b"[" * 100_000, b"{}", b'{"texts": ""}'),
        b'{"text": 3, "name": "a", "held": 0}',
        b'{"text": "", "name": null, "held": 0}',
        b'{"text": "", "name": "a", "held": 0, "more": 1}',
        b'{"text": "\\ud800", "name": "a", "held": 0}',
    ],
)
def test_a_body_that_is_no_question_is_refused_without_a_word_in_the_terminal(
    studio: Studio, body: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", studio.server_address[1], timeout=60)
    connection.request("POST", "/show", body, {TOKEN: studio.token})
    assert connection.getresponse().status == 400
    connection.close()
    assert capfd.readouterr().err == ""


def test_the_page_is_for_its_own_address_with_its_token(studio: Studio) -> None:
    """Another name of this computer, another page that asks, a missing or a wrong token: nothing is answered."""
    port = studio.server_address[1]
    whole = f"/?token={studio.token}"
    assert request(studio, "GET", whole) == (200, b"studio")
    assert request(studio, "GET", whole, {"Host": f"localhost:{port}"})[0] == 200
    assert request(studio, "GET", whole, {"Origin": f"http://127.0.0.1:{port}"})[0] == 200
    for path in ("/", "/?token=", f"/?token={studio.token[:-1]}", f"/arm.yaml?token={studio.token}"):
        assert request(studio, "GET", path)[0] == 403
    for headers in (
        {"Host": f"rebound.example:{port}"},
        {"Host": "127.0.0.1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{port + 1}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert request(studio, "GET", whole, headers)[0] == 403
        assert request(studio, "POST", "/begin", {TOKEN: studio.token, **headers}, {})[0] == 403


def test_what_is_asked_needs_the_header_that_no_other_page_can_send(studio: Studio) -> None:
    for headers in ({}, {TOKEN: "x"}, {"Cookie": f"token={studio.token}"}):
        assert request(studio, "POST", f"/begin?token={studio.token}", headers, {})[0] == 403
        assert request(studio, "POST", "/save", headers, {"text": "", "name": "arm.yaml", "mark": ""})[0] == 403
    assert (studio.folder.place / "arm.yaml").read_text() == TEXT
    assert ask(studio, "begin")[0]["text"] == TEXT
    assert request(studio, "OPTIONS", "/begin", {"Origin": "http://evil.example"})[0] == 501  # no page is allowed to
    assert request(studio, "POST", "/nothing", {TOKEN: studio.token}, {})[0] == 400
    assert request(studio, "POST", "/end", {TOKEN: studio.token}, {})[0] == 400


def test_it_listens_on_the_loopback_interface_alone(studio: Studio) -> None:
    assert studio.socket.getsockname()[0] == "127.0.0.1"
    with Studio(studio.folder, "", TEXT, {}) as other:
        assert studio.token != other.token
    with pytest.raises(UsageError, match=r"port \d+ cannot be had"):
        Studio(studio.folder, "", TEXT, {}, studio.server_address[1])


def test_a_text_is_saved_whole_or_the_other_one_is_told(studio: Studio) -> None:
    """A file that somebody else has changed is not overwritten; set aside, both are kept."""
    path = studio.folder.place / "arm.yaml"
    (begun,) = ask(studio, "begin")
    mine = TEXT.replace("mass: 1", "mass: 2")
    (saved,) = ask(studio, "save", text=mine, name="arm.yaml", mark=begun["mark"])
    assert path.read_text() == mine
    theirs = TEXT.replace("mass: 1", "mass: 3")
    path.write_text(theirs)
    (refused,) = ask(studio, "save", text=TEXT, name="arm.yaml", mark=saved["mark"])
    assert refused["text"] == path.read_text() == theirs
    (kept,) = ask(studio, "save", text=TEXT, name="arm.yaml", mark=saved["mark"], aside=True)
    assert path.read_text() == TEXT
    assert (studio.folder.place / kept["kept"]).read_text() == theirs
    (new,) = ask(studio, "save", text=mine, name="other.yaml", mark="")
    assert (studio.folder.place / "other.yaml").read_text() == mine
    assert ask(studio, "save", text=TEXT, name="other.yaml", mark="")[0]["text"] == mine  # it was there already
    assert new["mark"] != kept["mark"]


def test_line_ends_of_a_file_stay(studio: Studio) -> None:
    path = studio.folder.place / "arm.yaml"
    path.write_bytes(TEXT.encode().replace(b"\n", b"\r\n"))
    (begun,) = ask(studio, "begin")
    assert begun["text"] == TEXT
    ask(studio, "save", text=TEXT + "# end\n", name="arm.yaml", mark=begun["mark"])
    assert path.read_bytes() == (TEXT + "# end\n").encode().replace(b"\n", b"\r\n")


@pytest.mark.parametrize("name", ["../x.yaml", "/tmp/x.yaml", "a/b.yaml", ".x.yaml", "x.py", "", "x\n.yaml", "..yaml"])
def test_names_lead_nowhere_else(studio: Studio, name: str) -> None:
    for question in ({"text": "", "name": name, "mark": ""}, {"text": "", "name": name, "mark": "", "aside": True}):
        assert "error" in ask(studio, "save", **question)[0]
    assert "error" in ask(studio, "watch", name=name, mark="")[0]
    assert not name or "error" in ask(studio, "show", text=TEXT, name=name, held=0)[0]
    assert "error" in ask(studio, "run", command="check", name=name, options="")[0]
    assert sorted(x.name for x in studio.folder.place.iterdir()) == ["arm.yaml"]


def test_links_out_of_the_folder_are_not_followed(studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(TEXT)
    (studio.folder.place / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    assert "error" in ask(studio, "save", text="", name="link.yaml", mark="")[0]
    assert "error" in ask(studio, "run", command="check", name="link.yaml", options="")[0]
    assert (tmp_path / "secret.yaml").read_text() == TEXT


@pytest.mark.parametrize(
    "options",
    [
        "-o ../x.nc",
        "-o=/tmp/x.nc",
        "-o/tmp/x.nc",
        "-o../x.nc",
        "--with /etc/passwd",
        "--input u=../u.csv",
        "--units deg,../mm",
        "'",
    ],
)
def test_options_lead_nowhere_else(studio: Studio, options: str) -> None:
    assert "error" in ask(studio, "run", command="run", name="arm.yaml", options=options)[0]


def test_only_its_commands_are_carried_out(studio: Studio) -> None:
    for command in ("--plugins", "studio", "convert", ""):
        assert "no command" in ask(studio, "run", command=command, name="arm.yaml", options="")[0]["error"]


@pytest.mark.slow
def test_a_command_prints_and_what_it_writes_is_linked(studio: Studio) -> None:
    (studio.folder.place / "arm.yaml").write_text(
        TEXT + "joints: {O: {type: revolute, i: ground.O, j: arm.O}}\nsimulation: {t_end: 0.1}\n"
    )
    said = ask(studio, "run", command="run", name="arm.yaml", options="-o arm.svg")
    assert said[-1] == {"exit": 0}
    text = "".join(line.get("line", "") for line in said)
    assert "finished" in text
    (link,) = (line["link"] for line in said if "link" in line)
    status, body = request(studio, "GET", link)
    assert status == 200
    assert b"<svg" in body
    assert request(studio, "GET", link.replace("arm.svg", "arm.yaml"))[0] == 404
    assert request(studio, "GET", "/made/0/arm.svg")[0] == 404
    refused = ask(studio, "run", command="run", name="arm.yaml", options="--t-ends 3")
    assert "--t-end" in refused[0]["line"]
    assert refused[-1] == {"exit": 2}


def test_a_change_on_the_disk_is_told(studio: Studio) -> None:
    (begun,) = ask(studio, "begin")
    changed = TEXT + "# by another editor\n"
    assert ask(studio, "watch", name="arm.yaml", mark=begun["mark"]) == [{}]
    (studio.folder.place / "arm.yaml").write_text(changed)
    (found,) = ask(studio, "watch", name="arm.yaml", mark=begun["mark"])
    assert found["text"] == changed


def test_a_studio_begins_with_a_file_a_mechanism_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "arm.yaml").write_text(TEXT)
    assert open_folder(str(tmp_path / "arm.yaml"), Path.cwd()) == (Folder(tmp_path), "arm.yaml", "")
    assert open_folder(None, tmp_path)[:2] == (Folder(tmp_path), "")
    folder, name, text = open_folder("four_bar", tmp_path)
    assert (folder, name) == (Folder(tmp_path), "")
    assert "Crank-rocker" in text
    assert "joints" in open_folder("planar_chain", tmp_path)[2]
    assert "link19:" in open_folder("planar-chain:20", tmp_path)[2]
    assert "name: new" in open_folder(str(tmp_path / "new.yaml"), Path.cwd())[2]
    for wrong in ("four_baar", str(tmp_path / "none" / "a.yaml"), str(tmp_path)):
        with pytest.raises(LinkworkError):
            open_folder(wrong, tmp_path)


def test_errors_of_the_command_say_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = Answer(capsys)
    monkeypatch.setattr(module, "BUNDLE", tmp_path / "studio.html")
    assert "make viewer" in answer("studio", "four_bar", code=2)
    (tmp_path / "studio.html").write_text("")
    assert "did you mean 'four_bar'" in answer("studio", "four_baar", code=2)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "--port" in answer("studio", "four_bar", "--no-open", "--port", taken.getsockname()[1], code=2)
