"""Files of other programs are named as what they are, by their content and not by their names."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import pytest

import linkwork
from linkwork.errors import ModelError


def archive(name: str) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, "<Document SchemaVersion='4'/>")
    return content.getvalue()


FILES = {
    "MJCF": b"<mujoco model='arm'>\n  <worldbody/>\n</mujoco>\n",
    "SDF": b"\xef\xbb\xbf<?xml version='1.0'?><sdf version='1.7'><model name='m'/></sdf>",
    "XML": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "ADAMS": b"ADAMS/View model name: press\n!\n!----- SYSTEM UNITS -----\nUNITS/\n, FORCE = NEWTON\n",
    "dataset": b"! a comment\nPART/1, GROUND\nPART/2, MASS = 3\nMARKER/1, PART = 1\n",
    "Ondsel": b"OndselSolver\nAssembly\n\tNotes\n\t\t(no notes)\n",
    "FreeCAD": archive("Document.xml"),
    "ZIP": archive("other.txt"),
    "STEP": b"ISO-10303-21;\nHEADER;\nFILE_DESCRIPTION((''),'2;1');\nENDSEC;\n",
    "STL": b"solid part\n  facet normal 0 0 1\n    outer loop\n",
}


@pytest.mark.parametrize("suffix", ["", ".yaml", ".json", ".xml"])
@pytest.mark.parametrize("word", FILES)
def test_a_file_of_another_program_is_named(word: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes(FILES[word])
    with pytest.raises(ModelError, match=word) as caught:
        linkwork.load(path)
    assert (caught.value.code, caught.value.file) == ("foreign-format", str(path))


@pytest.mark.parametrize(
    "content", [b"robot: 1\n", b"linkwork: 1\nname: solid\n", b"PARTS: 3\n", b"\x00\x01", b"- <robot>\n"]
)
def test_a_faulty_model_file_keeps_its_own_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.yaml").write_bytes(content)
    with pytest.raises(ModelError) as caught:
        linkwork.load(tmp_path / "model.yaml")
    assert caught.value.code != "foreign-format"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "model.yaml")
    with pytest.raises(ModelError) as caught:
        linkwork.load(tmp_path / "model.yaml")
    assert caught.value.code == "not-a-file"
