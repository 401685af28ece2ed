"""Notes and reasons: one text for a code and its data, kept by files with both."""

from __future__ import annotations

import copy
import json
import pickle
import re
from dataclasses import replace
from pathlib import Path

import pytest

import linkwork
from linkwork.errors import NumericalStop
from linkwork.modelfile import load, loads
from linkwork.notes import Note, Reason
from linkwork.simulation.resume import _join_notes
from linkwork.simulation.simulate import simulate
from linkwork.trajectory import Trajectory
from linkwork.view.notes import TEXTS

SOURCE = Path(linkwork.__file__).parent


def test_every_code_that_is_used_has_a_text_and_every_text_is_used() -> None:
    """Codes are looked for in the source, where no text of a note stands any more."""
    rooms = "\n".join(path.read_text() for path in SOURCE.rglob("*.py") if path != SOURCE / "view" / "notes.py")
    used = set(re.findall(r"(?:Note|Reason)\(\s*\"([a-z-]+)\"", rooms)) | {"energy-balance", "constraint-gap", "lag"}
    of_formulations = set(
        re.findall(r"NumericalStop\(reason, \"([a-z-]+)\"|\(.*, \"(massless-motion|not-\w+)\"\),", rooms)
    )
    assert used <= set(TEXTS)
    assert set(TEXTS) <= used | {code for pair in of_formulations for code in pair}
    assert not re.findall(r"\"[^\"\n]* \[(?:{})\]\"".format("|".join(TEXTS)), rooms.replace("[interrupted]", ""))


def test_a_note_is_its_text_and_keeps_code_and_data() -> None:
    note = Note("grazing", event="touch", t=0.3)
    assert note == "event 'touch' was at zero at t = 0.3 and did not go beyond: it is not counted [grazing]"
    for other in (copy.deepcopy(note), pickle.loads(pickle.dumps(note))):
        assert (type(other), other, other.code, other.data) == (Note, note, "grazing", {"event": "touch", "t": 0.3})
    assert json.dumps([note]) == json.dumps([str(note)])
    assert Reason("no-position", t=0.5).endswith("kept")


@pytest.mark.parametrize("suffix", [".nc", ".csv"])
def test_files_keep_notes_and_reasons_with_their_data(suffix: str, tmp_path: Path) -> None:
    text = (
        "linkwork: 1\nspace: planar\nground: {points: {O: [0, 0]}}\n"
        "bodies: {ball: {mass: 1, inertia: 0, position: [0, 1]}}\n"
        "events: {low: {when: ball.y - 0.5, action: stop}}\nsimulation: {t_end: 1}\n"
    )
    motion = simulate(loads(text))
    reason = motion.info.reason
    assert (reason.code, reason.data["event"]) == ("event", "low")
    assert reason.data["t"] == pytest.approx((1 / 9.81) ** 0.5, rel=1e-9)
    assert {note.code for note in motion.info.notes} == {"zero-mass", "not-connected"}
    motion.save(tmp_path / f"new{suffix}")
    read = Trajectory.load(tmp_path / f"new{suffix}")
    assert read.info.notes == motion.info.notes
    assert [note.code for note in read.info.notes] == [note.code for note in motion.info.notes]
    assert [dict(note.data) for note in read.info.notes] == [dict(note.data) for note in motion.info.notes]
    assert read.info.reason == reason
    assert read.info.reason.data == reason.data
    # as files were written before they had codes and data
    bare = replace(motion.info, notes=tuple(map(Note.read, motion.info.notes)), reason=Reason.read(reason))
    replace(motion, info=bare).save(tmp_path / f"old{suffix}")
    old = Trajectory.load(tmp_path / f"old{suffix}")
    assert old.summary()["notes"] == motion.summary()["notes"]
    assert old.summary()["reason"] == motion.summary()["reason"] == f"event 'low' at t = {reason.data['t']:.9g}"


def test_what_both_parts_of_a_motion_say_once_is_one_note() -> None:
    first = (Note("repivoted", times=[0.1]), Note("no-masses"))
    second = (Note("no-masses"), Note("repivoted", times=[0.4]), Note("full-matrices", count=2))
    joined = _join_notes(first, second, 0.25)
    assert [note.code for note in joined] == ["repivoted", "no-masses", "full-matrices"]
    pivot = "a pivot came near zero, and others were chosen, at t ="
    assert joined[0] == f"{pivot} 0.1; from t = 0.25 on: {pivot} 0.4 [repivoted]"
    third = _join_notes(joined, (Note("repivoted", times=[0.6]),), 0.5)
    assert third[0] == f"{pivot} 0.1; from t = 0.25 on: {pivot} 0.4; from t = 0.5 on: {pivot} 0.6 [repivoted]"


def test_a_stop_has_its_data() -> None:
    with pytest.raises(NumericalStop) as stop:
        simulate(load("slider_crank"), integrator=linkwork.Integrator(max_steps=3))
    reason = stop.value.trajectory.info.reason
    assert (stop.value.code, reason.code, reason.data["steps"]) == ("too-many-steps", "too-many-steps", 3)
    assert str(reason) == stop.value.message


@pytest.mark.parametrize(("integrator", "is_advised"), [("auto", False), ("radau5", False), ("dop853", True)])
def test_an_integrator_is_recommended_only_where_another_is_in_use(integrator: str, is_advised: bool) -> None:
    with pytest.raises(NumericalStop) as stop:
        simulate(load("slider_crank"), integrator=linkwork.Integrator(integrator, max_steps=3))
    assert ("try integrator='auto'" in str(stop.value)) == is_advised
