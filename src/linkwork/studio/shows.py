"""What the page of the studio shows of a text: its faults, the mechanism where it starts, and then how it moves.

The page holds a program that simulates (web/program.py). Another value in the text is told to that program; only
another structure, or a number on which the program does not depend, makes another one.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.document import Data, Document, parse
from linkwork.driven.kinematics import kinematics
from linkwork.elements.bodies import PlanarBody
from linkwork.equations.parameters import Structure
from linkwork.errors import LinkworkError, ModelError, Unfinished, UsageError, speak_command_line
from linkwork.expressions.evaluation import evaluate
from linkwork.expressions.graph import as_expr, symbol
from linkwork.model import Model
from linkwork.modelfile import build
from linkwork.scene import scene
from linkwork.simulation.simulate import simulate
from linkwork.start.check import check
from linkwork.start.closing import find_start
from linkwork.trajectory import Trajectory, plain
from linkwork.view.page import contents, still
from linkwork.web.program import hold, program

Answer = dict[str, Any]

# In the place of the zeros among the coordinates of points. An exact zero is structure (equations/parameters.py), and
# a point that is dragged off an axis would be another one. No product of it with anything in a mechanism changes a sum.
NEARLY_ZERO = sys.float_info.min
NOBODY = {"mass": 1.0}  # a body for a text that has none yet


class Shows:
    """What was shown last, and under what number."""

    def __init__(self) -> None:
        self.number = 0
        self.key: object = None

    def answers(self, text: str, file: str, held: int) -> Iterator[Answer]:
        """Yield faults and the picture of the start, then the page that simulates; or other values for the page held.

        `held` is the number of the page that simulates now, 0 if none does.
        """
        try:
            document = parse(text, file)
            model = build(_with_movable_points(document))
        except ModelError as error:
            found = _picture_of_ground(text, file) if len(error.errors) == 1 else {}
            yield {"faults": [] if found else faults(error), **found}
            return
        try:
            with np.errstate(all="ignore"):  # what is not finite is looked for where it matters
                for answer in self._motion(model, held):
                    yield {"frames": _frames(model), **answer}
        except ModelError as error:
            located = ModelError.together([document.locate(each) for each in error.errors])
            picture: Answer = {}
            with suppress(ModelError):  # coordinates that are given may leave the bodies nowhere
                page = _page_at_start(model, prepare(model, "body").place().q, [])
                picture = {"frames": _frames(model), "page": page}
            yield {"faults": faults(located), **picture}
        except LinkworkError as error:
            yield {"faults": [], "trouble": str(error)}

    def _motion(self, model: Model, held: int) -> Iterator[Answer]:
        mechanism = hold(prepare(model))
        key = _key(model, mechanism)
        if held and held == self.number and key == self.key:
            values = mechanism.equations.parameters.items()
            yield {"faults": [], "values": {str(x.value).rstrip("'"): value for x, value in values}}
            return
        found = check(model)
        start = find_start(prepare(model, "body").place())
        facts = [f"{found.dof} {'freedom' if found.dof == 1 else 'freedoms'}"]
        yield {"faults": [], "page": _page_at_start(model, start.place.q, facts)}
        self.number += 1
        self.key = key
        yield {**_moving(model, mechanism, bool(model.drivers) and found.dof == 0), "number": self.number}


def faults(error: ModelError) -> list[Answer]:
    """Return what is wrong at which lines, as plain data."""
    return [
        {
            "line": each.line or 1,
            "path": each.path or "",
            "code": each.code,
            "text": "; ".join(part for part in (each.message, each.rule, each.suggestion) if part),
        }
        for each in error.errors
    ]


def _with_movable_points(document: Document) -> Document:
    """Return a document in which no coordinate of a point in the plane is an exact zero."""
    data: Any = deepcopy(document.data)
    bodies = data.get("bodies")
    for body in (data.get("ground"), *(bodies.values() if isinstance(bodies, dict) else ())):
        points = body.get("points") if isinstance(body, dict) else None
        centre = body.get("mass_centre") if isinstance(body, dict) else None
        for place in (*(points.values() if isinstance(points, dict) else ()), centre):
            if isinstance(place, list) and len(place) == 2:
                place[:] = [NEARLY_ZERO if type(x) in (int, float) and x == 0 else x for x in place]
    return replace(document, data=data)


def _frames(model: Model) -> dict[str, list[float]]:
    """Return origin and angle of the axes of bodies in the plane at the start, before the joints are closed."""
    placed = prepare(model, "body").model
    values = {symbol(name): value for name, value in placed.parameters.items()}
    bodies = [body for body in placed.bodies if isinstance(body, PlanarBody)]
    frames = {body.name: evaluate(map(as_expr, (*body.position, body.angle)), values) for body in bodies}
    return {name: [float(x) for x in frame] for name, frame in frames.items()}


def _key(model: Model, mechanism: Mechanism) -> tuple[object, ...]:
    """Return what the page cannot change by other values: structure, settings, and what only the picture depends on."""
    seen = scene(model)
    marks = [replace(mark, points=()) for mark in (*seen.joints, *seen.forces, *seen.drivers)]
    figures = [(figure.name, *figure.points, figure.shape, figure.colour) for figure in seen.bodies]
    settings = model.simulation.t_end, model.simulation.step, model.simulation.rtol, model.simulation.atol
    kept = {name: model.parameters[name] for name in model.folded}
    own = Structure(mechanism.model).key
    return own, settings, kept, model.live, model.units, seen.gravity, seen.window, marks, figures


def _picture_of_ground(text: str, file: str) -> Answer:
    """Return the picture of a text that has a ground and no bodies yet, if it is one."""
    try:
        document = parse(text, file)
        data: Mapping[str, Data] = document.data
        if data.get("bodies"):
            return {}
        model = build(replace(document, data={**data, "bodies": {"none": dict(NOBODY)}}))
    except ModelError:
        return {}
    seen = scene(model)
    return {
        "trouble": "there are no bodies yet",
        "page": still(replace(seen, bodies=seen.bodies[:1]), {"t": np.zeros(1)}, model.name, []),
    }


def _page_at_start(model: Model, q: Any, facts: list[str]) -> Answer:
    names = prepare(model, "body").equations.q_names
    poses = {"t": np.zeros(1), **{name: np.array([x]) for name, x in zip(names, q, strict=True)}}
    return still(scene(model), poses, model.name, facts)


def _moving(model: Model, mechanism: Mechanism, driven: bool) -> Answer:
    """Return the page that simulates a model; where that needs Python, the page that replays its motion."""
    try:
        made = program(mechanism, driven)
    except UsageError as refused:
        if refused.code != "no-wasm":
            raise
        motion, trouble = _moved(prepare(model), driven)
        note = f"replays this motion and computes no others: {refused.message}"
        return {"page": contents([motion]), "trouble": trouble or note}
    motion, trouble = _moved(mechanism, driven)
    return {"page": contents([replace(motion, model=model)], live=made), "trouble": trouble}


def _moved(mechanism: Mechanism, driven: bool) -> tuple[Trajectory, str]:
    """Return a motion, or as much of it as there is and why it ended."""
    try:
        return (kinematics if driven else simulate)(mechanism), ""
    except Unfinished as early:
        if early.trajectory is None or not len(early.trajectory.t):
            raise
        return early.trajectory, early.message


def main() -> None:
    """Answer texts that come as lines of JSON, each by some such lines and an empty one."""
    shows = Shows()
    with speak_command_line():  # the buttons of the page take options
        for line in sys.stdin:
            for answer in shows.answers(**json.loads(line)):
                print(json.dumps(plain(answer), allow_nan=False), flush=True)
            print(flush=True)


if __name__ == "__main__":
    main()
