"""Model files: the way from a file to a Model.

The shape of a file (keys, lists, types) is checked by pydantic models (schema.py), those of joints, forces and motions
being made from the elements themselves. What remains (quantities, formulas, references between elements) is checked
while the Model is put together (translation.py). Either way all faults are collected and reported with their lines.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pydantic

from linkwork import units
from linkwork.document import Data, Document, parse, read
from linkwork.elements.spatial import CountingPair, SpatialAxisPair
from linkwork.errors import (
    ModelError,
    UsageError,
    check_choice,
    check_names,
    check_values,
    checked_call,
    did_you_mean,
    option,
)
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr, symbol
from linkwork.mechanisms import MECHANISMS, shipped
from linkwork.mechanisms.generators import GENERATORS
from linkwork.model import Model
from linkwork.modelfile.faults import check_settled, check_space, check_version, shape_fault
from linkwork.modelfile.schema import entry_of, json_schema
from linkwork.modelfile.translation import Translation
from linkwork.notes import Note
from linkwork.soundness import sound
from linkwork.soundness.numbers import unused_parameters
from linkwork.soundness.repair import REPAIRS, repair_inertias

__all__ = ["SUFFIXES", "build", "find", "json_schema", "load", "loads", "shipped", "take_over", "with_start"]

SUFFIXES = (".yaml", ".yml", ".json")


def build(document: Document, changes: Mapping[str, str | float] | None = None, repair: Collection[str] = ()) -> Model:
    """Build the model of a document; `changes` gives parameters other values, `repair` names faults to be mended."""
    check_names("repair", repair)
    check_values("changes", changes or {})
    for name in repair:
        check_choice("repair", name, REPAIRS)
    notes = (*check_version(document), *document.notes)
    check_space(document)
    check_settled(document)
    document, changes = with_inputs(document, changes or {})
    try:
        entry: Any = entry_of(document.data).model_validate(document.data)
    except pydantic.ValidationError as error:
        details = error.errors(include_url=False)
        raise ModelError.together([shape_fault(detail, document) for detail in details]) from None
    for name in changes:
        check_choice("parameter", name, entry.parameters)
    model = Translation(document, entry, changes).model(notes)
    if unused := unused_parameters(model):
        model = replace(model, notes=(*model.notes, Note("unused-parameters", names=unused)))
    if "inertia" in repair and (found := repair_inertias(model)):
        data = deepcopy(document.data)
        for name, inertia in found.items():
            body = cast(Any, data["bodies"])[name]
            body["inertia"] = inertia.entries
            body.pop("inertia_about", None)
        mended = build(replace(document, data=data), changes)
        folded = mended.folded.union(*(inertia.parameters for inertia in found.values()))
        return replace(mended, folded=folded, notes=(*mended.notes, *(inertia.note for inertia in found.values())))
    try:
        return sound(model)
    except ModelError as found:
        raise ModelError.together([document.locate(error) for error in found.errors]) from None


def with_inputs(
    document: Document, changes: Mapping[str, str | float | dict[str, Data]]
) -> tuple[Document, Mapping[str, str | float]]:
    """Return the document with other values of those inputs that changes name, and the changes that are left."""
    inputs = document.data.get("inputs")
    own = {name: x for name, x in changes.items() if isinstance(inputs, dict) and name in inputs}
    if not own:
        return document, cast(Mapping[str, str | float], changes)
    data = deepcopy(document.data)
    for name, value in own.items():
        entry = cast(Any, data["inputs"])[name]
        kept = {key: x for key, x in (entry if isinstance(entry, dict) else {}).items() if key != "every"}
        cast(Any, data["inputs"])[name] = {**kept, "value": value}
    rest = {name: x for name, x in changes.items() if name not in own}
    return replace(document, data=data), cast(Mapping[str, str | float], rest)


def with_parameters(document: Document, changes: Mapping[str, str | float]) -> Document:
    """Return the document with other values of parameters, numbers in the units that stand there; all else stays."""
    data = deepcopy(document.data)
    parameters = cast(dict[str, Data], data["parameters"])
    for name, value in changes.items():
        before = parameters[name]
        unit = units.unit_of(before) if isinstance(before, str) else None
        parameters[name] = value if unit is None or isinstance(value, str) else units.in_unit(value, unit)
    return Document(document.file, data, {})


def with_start(document: Document, model: Model, changes: Mapping[str, str | float] | None = None) -> Document:
    """Return the document with the start values of `model`, which are numbers, and with changed parameters; all
    else stays.
    """
    document, changes = with_inputs(document, changes or {})
    data = deepcopy(document.data)
    for key in ("start", "rate"):
        cast(Any, data.get("simulation") or {}).pop(key, None)
    parameters = cast(dict[str, Data], data.get("parameters") or {})
    for name, value in changes.items():
        parameters[name] = model.parameters.get(name, value)
    if model.stated is not None:
        coordinates = cast(Any, data["equations"])["coordinates"]
        for name, q in model.stated.start.items():
            coordinates[name] |= {"start": q, "rate": model.stated.rate[name]}
        return Document(document.file, data, {})
    bodies = cast(dict[str, dict[str, Data]], data["bodies"])
    given = {symbol(name): number for name, number in model.parameters.items()}
    for state in model.states:
        cast(Any, data["states"])[state.name]["start"] = float(evaluate([as_expr(state.start)], given)[0])
    for body in model.bodies:
        for key in ("position", "angle" if model.space == "planar" else "orientation", "velocity", "angular_velocity"):
            value = getattr(body, key)
            numbers = evaluate([as_expr(x) for x in (value if isinstance(value, tuple) else (value,))], given)
            bodies[body.name][key] = [float(x) for x in numbers] if isinstance(value, tuple) else float(numbers[0])
    joints = cast(dict[str, dict[str, Data]], data.get("joints") or {})
    for joint in model.joints:
        if isinstance(joint, SpatialAxisPair):
            for key, own in (("axis_j", joint.axis_j), ("zero_j", joint.zero_j)):
                if own is not None and key not in joints[joint.name]:
                    joints[joint.name][key] = [float(x) for x in evaluate(map(as_expr, own), given)]
        if isinstance(joint, CountingPair):
            for key in joint.directions:
                joints[joint.name].pop(key, None)
                if (angle := getattr(joint, key)) is not None:
                    joints[joint.name][key] = float(evaluate([as_expr(angle)], given)[0])
    return Document(document.file, data, {})


@checked_call()
def loads(
    text: str,
    *,
    is_json: bool = False,
    changes: Mapping[str, str | float] | None = None,
    repair: Collection[str] = (),
) -> Model:
    """Return the model that a text in YAML or JSON describes."""
    if not isinstance(text, str):
        raise UsageError(f"{text!r} is not a text of a model; load reads files", "not-a-model")
    return build(parse(text, is_json=is_json), changes, repair)


@checked_call()
def load(
    model: str | Path,
    changes: Mapping[str, str | float] | None = None,
    repair: Collection[str] = (),
    correct: bool = True,
    close: Sequence[str] = (),
    limits: str | None = None,
) -> Model:
    """Read the model of a file, of a folder of another program, or of a shipped mechanism ("slider_crank").

    `changes` gives parameters other values: {"l1": 1.2} or {"l1": "1200 mm"}. `repair` = ("inertia",) takes, where an
    inertia is one of no mass distribution, the nearest that is, and notes it. The start of a folder of DAP is corrected
    as DAP does it, by the least change of its own coordinates, unless `correct` is False. Loops of a robot in URDF are
    closed by joints between its links, close=["hand=bar:revolute"]; with limits="stops" its joints have end stops.
    """
    if changes or repair or close or limits or model not in shipped():
        return build(find(model, correct, close, limits), changes, repair)
    made = _load_shipped(str(model))
    return replace(made, parameters=dict(made.parameters))


@cache
def _load_shipped(name: str) -> Model:
    return build(find(name))


def find(model: str | Path, correct: bool = True, close: Sequence[str] = (), limits: str | None = None) -> Document:
    """Find what a path or the name of a shipped mechanism leads to; some names take a size, as in "planar_chain:64".

    `close` and `limits` are for robots in URDF, see `load`.
    """
    if close or limits:
        return _read_robot(model, close, limits)
    text = str(model)
    name, colon, size = text.replace("-", "_").partition(":")
    is_path = isinstance(model, Path) or text.lower().endswith(SUFFIXES) or re.search(r"[/\\\0]", text)
    if not isinstance(model, Path) and name not in shipped() and (own := _named_by_source(text)):
        return read(MECHANISMS / f"{own}.yaml")
    if is_path and name not in shipped() and (os.path.exists(model) or not _among_shipped(name)):
        return _read(model, correct)
    if name in GENERATORS:
        generate, usual = GENERATORS[name]
        if colon and not (re.fullmatch("[0-9]{1,4}", size) and int(size) > 0):
            raise UsageError(f"'{units.shown(size)}' is not a size; write {name}:{usual}, at most 9999", "bad-size")
        return Document(text, generate(int(size) if colon else usual), {})
    if not colon and name in shipped():
        return read(MECHANISMS / f"{name}.yaml")
    if os.path.exists(text):
        return _read(text, correct)
    meant = next((f"did you mean '{text}{suffix}'?" for suffix in SUFFIXES if os.path.isfile(text + suffix)), None)
    called = _called_so_by_sources(name) or [own for own in shipped() if len(name) > 2 and name.lower() in own]
    near = called and f"did you mean {' or '.join(map(repr, called[:3]))}?"
    known = [*shipped(), *(own for names in _names_in_sources().values() for own in names)]
    hint = meant or near or did_you_mean(name, known) or "see 'linkwork list'"
    raise UsageError(f"no file and no shipped mechanism '{units.shown(text)}'; {hint}", "no-such-model")


def _among_shipped(name: str) -> bool:
    """Tell whether it names a group of shipped mechanisms, as dap/ does."""
    group, slash, _ = name.partition("/")
    return any(own.startswith(group + slash) for own in shipped() if slash)


def _named_by_source(text: str) -> str | None:
    """Find the shipped mechanism that its source calls so, AA or DAP_JC/AA; of two that in body coordinates."""
    program, _, name = text.rpartition("/")
    if not re.fullmatch(r"(DAP_[BJ]C)?", program) or not re.fullmatch(r"[A-Z]\w{1,7}", name) or os.path.exists(text):
        return None
    found = [
        own
        for own in _called_so_by_sources(name)
        if f"{program}, model" in _text_of(own) and name.replace("_", "") in _text_of(own).replace("_", "")
    ]
    return min(found, key=lambda own: (f"model {name}" not in _text_of(own), len(own)), default=None)


def _text_of(mechanism: str) -> str:
    return (MECHANISMS / f"{mechanism}.yaml").read_text(encoding="utf-8")


def _called_so_by_sources(name: str) -> list[str]:
    """List the shipped mechanisms that have this name in their source: AA of DAP, A03 of IFToMM."""

    def plain(text: str) -> str:
        return text.lower().replace("_", "")

    own = plain(name.rpartition("/")[2])
    return [path for path, names in _names_in_sources().items() if own in map(plain, names)]


def _names_in_sources() -> dict[str, list[str]]:
    paths = [path for path in shipped() if path not in GENERATORS]
    return {path: re.findall(r"(?:model|problem) ([A-Z]\w*)", _text_of(path)) for path in paths}


def _read(path: str | Path, correct: bool) -> Document:
    """Read the document of a file, or of a folder of another program."""
    if os.path.isdir(path):
        return take_over(Path(path), correct)
    try:
        return read(path)
    except ModelError:
        from linkwork.formats.foreign import URDF, find_kind, refuse

        if (kind := find_kind(path)) is None:
            raise
        if kind == URDF:
            return _read_robot(path)
        raise refuse(path, kind) from None


def _read_robot(path: str | Path, close: Sequence[str] = (), limits: str | None = None) -> Document:
    from linkwork.formats.foreign import URDF, find_kind
    from linkwork.formats.urdf import read_urdf

    check_names("close", close)
    if find_kind(path) != URDF:
        which, shown = option("close" if close else "limits"), units.shown(str(path))
        raise UsageError(f"{which} is for robots in URDF, and '{shown}' is not one", "no-effect")
    return read_urdf(path, close, limits or "notes")


def take_over(folder: Path, correct: bool = True) -> Document:
    """Read the folder of another program into a document with all start values; of DAP, corrected or as they are."""
    from linkwork.formats import read_folder

    document, given = read_folder(folder, correct)
    if given:
        from linkwork.formats.initial import complete_start

        document = replace(document, data=with_start(document, complete_start(build(document), given)).data)
    return document
