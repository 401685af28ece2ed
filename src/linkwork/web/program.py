"""A motion as a program that needs no Python: its module of WebAssembly, and what describes it.

The memory of a run that is about to begin is put into the module as it is (native/wasm.py). What the engine does with
it is what `simulate` does, by the same machine code: parameters to p by `start` and `prepare`, the start closed by
least changes and by `project`, `advance`, rows by `fill_dynamics` and `fill_report`. Scales, rank, eps and repetitions
are those of the motion that was measured here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from linkwork import __version__
from linkwork.assembly.modes import Modes, free_coordinates, modes
from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.compiled.system import HEADER, choose_eps
from linkwork.constraints.projection import project, project_start
from linkwork.driven.kinematics import Driven
from linkwork.elements.events import closed
from linkwork.equations.equations import TIME, Equations
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place
from linkwork.equations.programs import LOCAL, Source
from linkwork.errors import LinkworkError, UsageError
from linkwork.expressions.evaluation import ordered, substitute
from linkwork.expressions.graph import ZERO, Expr
from linkwork.formulations import FORMULATIONS
from linkwork.formulations.refinement import take_given, take_result
from linkwork.integrators.integrate import Settings, report_times
from linkwork.integrators.memory import KEPT, End, Run, moment_size
from linkwork.integrators.memory import places as memory_places
from linkwork.integrators.time_loop import advance
from linkwork.linalg.rank import RANK_TOLERANCE
from linkwork.model import Model
from linkwork.modelfile.schema import quantity_of
from linkwork.native import wasm
from linkwork.native.enclosing import find_zeros, write_tape
from linkwork.native.kernels import offsets_of, size_of
from linkwork.native.lowering import NativeFunction, compile_programs
from linkwork.sequences.sequence import ComputationSequence
from linkwork.simulation.events import IMPULSES, Course
from linkwork.simulation.options import MOST_STEPS, choose
from linkwork.simulation.outputs import ENERGY, fill_dynamics, fill_report, rates
from linkwork.simulation.problem import Motion
from linkwork.simulation.run import change_method, run
from linkwork.simulation.simulate import begin_state
from linkwork.start.check import find_freedoms
from linkwork.start.closing import SMALL, given_velocities, state_bodies
from linkwork.tolerances import HALF_THE_DIGITS, NEGLIGIBLE
from linkwork.units import ACCELERATION, LENGTH, NUMBER_KIND
from linkwork.web.hands import AXES, DAMPING, HONEY, STIFFNESS, arm, hand_parameters, holds, with_hands
from linkwork.web.hands import place as to_place

Array = NDArray[np.float64]

SIDE, GRAVITY = ".side'", re.compile(r"gravity\.\d'")  # numbers that are no elements', see equations/parameters.py
PARTS = {"planar": ("x", "y", "phi"), "spatial": ("x", "y", "z", "e0", "e1", "e2", "e3")}  # of where a body is
SLOWS = 1.0  # of damped motions: what is left of a free one after a second is 1/e of it
ENGINE = [Path(__file__).parent / "engine" / f"{name}.js" for name in ("engine", "play", "course", "numbers")]
# Of the memory of a run what the engine reads and sets.
TOLD = (
    "residuals", "n_times", "n_stops", "t_end", "next_step", "steps", "rejected", "evaluations", "row", "paced",
    "stop", "paced_t", "started", "signed", "n_moments", "x", "grazes", "signs", "moments", "changed",
    "asks", "atol", "rtol", "is_full",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Program:
    """A module and what describes it, as plain data."""

    module: wasm.Module
    about: Mapping[str, Any]


def engine_code() -> str:
    """Return the engine as one module that imports nothing: its parts, one behind the other."""
    first, *others = (part.read_text(encoding="utf-8") for part in ENGINE)
    parts = [first, *(re.sub("^export ", "", part, flags=re.MULTILINE) for part in others)]
    return "\n".join(re.sub("^import .*\n", "", part, flags=re.MULTILINE) for part in parts)


def program(model: Model | Mechanism, driven: bool = False, hands: bool = False) -> Program:
    """Make a program of the motion of a model, or of its drivers; UsageError if it needs Python on its way.

    With `hands` bodies can be held while it runs, and put together in the other ways that are soon found; the method
    for stiff motions is there where other values could ask for it.
    """
    mechanism = hold(prepare(model)) if hands else prepare(model)
    with np.errstate(all="ignore"):  # what is not finite is looked for where it matters
        course = _begin(mechanism, driven)
        if why := _refusal(course):
            raise UsageError(f"'{mechanism.model.name}' cannot run without Python: {why}", "no-wasm")
        return _Writing(course, driven, hands).program()


def hold(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with hands that can hold its bodies.

    Left in the coordinates of its bodies, it goes in those that take the fewest operations, as all of it is computed
    again for each picture.
    """
    held = with_hands(mechanism.unplaced or mechanism.model)
    return prepare(held, "auto" if held.simulation.coordinates == "body" else None)


def _modes(model: Model) -> Modes | None:
    """Return all positions in which a planar mechanism closes, its freedoms as they are, if they are soon found.

    They are if no more paths lead to them than M has entries.
    """
    if model.space != "planar" or model.stated is not None:
        return None
    try:
        found = modes(model, free_coordinates(model), path_limit=(3 * len(model.bodies)) ** 2)
    except LinkworkError:  # the motion tells what is wrong with the start, if anything is
        return None
    return found if found.complete and len(found.modes) > 1 else None


def _begin(mechanism: Mechanism, driven: bool) -> Course:
    """Begin a motion as the model states it."""
    settings = mechanism.model.simulation
    times = report_times(0.0, settings.t_end, settings.step)
    if driven:
        motion: Motion = Driven.begin_at(mechanism, assemble=False)
        y, least = project_start(motion.system, motion.p, motion.start.place), NEGLIGIBLE * settings.t_end
    else:
        how = choose("augmented", "projection", "auto", settings.t_end)
        motion, least = Motion.begin(mechanism, how, "mass", False, (), None, None), 0.0
        y = begin_state(motion, "mass", how.stabilization)
    course = Course(motion)
    course.set_off(Settings(settings.rtol, settings.atol, least), times, y, MOST_STEPS)
    return course


def _turns_stiff(mechanism: Mechanism) -> bool:
    """Whether another method takes over on the way of a motion."""
    course = _begin(mechanism, driven=False)
    run(course, lambda _: None)
    return bool(course.methods)


def _may_turn_stiff(motion: Motion) -> bool:
    """Whether other values could make a motion stiff: without dissipation and states it swings, and nothing decays."""
    model, e = motion.mechanism.model, motion.system.equations
    return e.energy.dissipation is not ZERO or bool(model.states)


def _refusal(course: Course) -> str:
    """Say why a motion needs Python on its way, or nothing."""
    motion = course.motion
    e, model = motion.system.equations, motion.mechanism.model
    if course.callbacks:
        return f"{', '.join(course.callbacks)} ask functions in Python what they change"
    if any(course.asks) and e.hints.chain is not None:
        return "events change velocities or joints of a chain of many bodies"
    if motion.clocks.periods and _timed(e):
        return "something is sampled, and laws switch at times that follow parameters"
    if model.functions:
        return f"{', '.join(model.functions)} are functions in Python"
    if motion.system.equations.times_change:
        return "events change when laws of time switch"
    return ""


def _timed(e: Equations) -> list[Expr]:
    """Return functions of time and parameters at whose zeros laws switch."""
    return [g for g in e.timed_switches if TIME in ordered([g])]


class _Form:
    """The arrays of a motion that is about to begin, by one method, and where in them numbers stand."""

    def __init__(self, motion: Motion, mark: str) -> None:
        state, measured, how, s = motion.state, motion.measured, motion.form.how, motion.system
        self.mark, self.system = mark, s
        place, at = measured.place, state.at
        arrays = {
            "m": state.m, "p": state.p, "own": state.own, "w": state.w, "full": measured.p, "exact": measured.exact,
            "given": s.given(place, how.alpha, how.beta, place.v_scale**2, choose_eps(place)),
            "given_exact": s.given(place),
        }  # fmt: skip
        if s.guards:
            arrays["look"] = state.look
        if state.clocks:
            arrays["clocks"] = state.clocks.memory
        self.arrays = {name + mark: array for name, array in arrays.items()}
        self.prepare = s.functions["prepare"]
        self.work = max(state.problem.work, self.prepare.work)
        sizes = (at.n, at.n_dense, at.n_watched, at.n_pivots, at.n_events, at.n_jumps, at.n_held)
        found: Run = offsets_of(memory_places, *sizes)
        self.about = {
            **{name: getattr(found, name) for name in TOLD},
            "moment": moment_size(at.n, at.n_events, at.n_held),
            "after": 1 + at.n,
            "sides": 2 * (1 + at.n),
            "held_then": 2 * (1 + at.n) + at.n_events,
            "n_watched": at.n_watched,
            "kept": [KEPT.start, KEPT.stop],
            "scales": HEADER,
            "held": s.held.start,
            "first_of_parameters": s.first_of_parameters,
            "clocks": state.clocks.places() if state.clocks else None,
        }


class _Writing:
    """A program as it is written."""

    def __init__(self, course: Course, driven: bool, hands: bool) -> None:
        self.course = course
        self.motion, self.driven = course.motion, driven
        self.modes = _modes(course.motion.mechanism.model) if hands else None
        self.state, self.system = course.motion.state, course.motion.system
        self.dynamics = course.motion.form.dynamics
        self.forms = [_Form(self.motion, "")]
        if not driven and ((hands and _may_turn_stiff(self.motion)) or _turns_stiff(self.motion.mechanism)):
            change_method(course, End.UNSUITED)
            self.forms.append(_Form(self.motion, "_stiff"))
        self.state.rows[:] = 0.0
        for form in self.forms:
            form.arrays["w" + form.mark][:] = 0.0

    @cached_property
    def start(self) -> Place:
        """Where the bodies start, or what else the equations state."""
        place = self.motion.start.place
        body = place.equations.chart.body
        return place if body is None else Place(body.with_values(place.equations.parameters), *place.of_bodies())

    @property
    def stated(self) -> Place:
        """Where the model states that they start."""
        e = self.system.equations
        return self.system.start() if e.chart.body is None else state_bodies(Place(e, *e.start()))

    @cached_property
    def local(self) -> dict[str, NativeFunction]:
        """What closing a start needs, with the parameters as p; `joined` leads to the coordinates of the motion."""
        e, closed = self.system.equations, self.start.equations
        programs = [run_of(Source(closed)) for run_of in LOCAL]
        if closed is not e and e.chart.body is not None:
            ways = [*e.chart.from_body[0], *e.chart.from_body[1], *self.sides()]
            programs.append(ComputationSequence("joined", [*closed.q, *closed.v], ways))
        return compile_programs([x for x in programs if x is not None], list(e.parameters))

    def sides(self) -> list[Expr]:
        """Return what has the signs of the sides on which loops are closed as triangles, of the bodies."""
        e = self.system.equations
        if e.chart.tree is None:
            return []
        return substitute(
            [dyad.side for dyad in e.chart.dyads],
            dict(zip(e.chart.tree.q, e.chart.tree.chart.from_body[0], strict=True)),
        )

    def program(self) -> Program:
        state, motion, system, f = self.state, self.motion, self.system, self.system.functions
        e, model = system.equations, motion.mechanism.model
        arrays = {"times": state.times, "stops": state.stops, "values": system.values}
        functions: dict[str, Any] = {kernel.name: kernel for kernel in (advance, project, fill_dynamics, fill_report)}
        if timed := _timed(e):
            arrays["tape"] = write_tape(timed, [TIME], list(e.parameters))
            functions["find_zeros"] = find_zeros
        own = {"start": f["start"], **self.local}
        if e.clocks:
            own["samples"] = f["samples"]
        if asks := any(self.course.asks):
            own |= {name: f[name] for name in ("switches", "jumps") if name in f}
            own |= {f"own_{name}": f[name] for name in ("linear", "constraints")}
            functions["impulse"] = FORMULATIONS[IMPULSES].kernel
        for form in self.forms:
            arrays |= form.arrays
            own[f"prepare{form.mark}"] = form.prepare
        module = wasm.link({name: x.address for name, x in (functions | own).items()}, arrays)
        scratch = (
            size_of(rates, state.problem.ny, system.m) + self.dynamics.work,
            f["close"].outputs + max(f["close"].work, f["report"].work),
            *(x.work for x in own.values()),
            *(form.work for form in self.forms),
            FORMULATIONS[IMPULSES].work_size(system.n_v, system.m + self.n_struck()) if asks else 0,
        )
        columns = self.columns()
        places = {column["name"]: k for k, column in enumerate(columns)}
        values = [*e.parameters]
        about = {
            "linkwork": __version__,
            "name": model.name,
            "analysis": "kinematics" if self.driven else "run",
            "space": model.space,
            "arrays": {name: [module.arrays[name], array.size] for name, array in arrays.items()},
            "heap": module.heap,
            "scratch": max(scratch),
            "n_q": system.n_q, "n_v": system.n_v, "m": system.m, "n": motion.n, "ny": state.problem.ny,
            "n_rows": motion.n + N_WORK,
            "n_report": f["report"].outputs,
            "n_projected": state.problem.project.outputs if state.problem.project else 0,
            "held": [values.index(x) for x in e.held],
            "knots": [t for t in sorted(e.knots) if 0.0 < t < motion.t_end],
            "forms": [form.about for form in self.forms],
            "closing": self.closing(),
            "parameters": [*self.parameters()],
            "switches": self.switches(),
            "events": [{"name": x.name, "direction": x.direction} for x in e.events],
            "jumping": self.jumping() if asks else None,
            "held_first": motion.held.tolist(),
            "periods": [*motion.clocks.periods], "sampled": [k - system.held.start for k in motion.clocks.targets],
            "bodies": ["ground", *(body.name for body in model.bodies)],
            "columns": columns,
            "poses": [[places[f"{body.name}.{part}"] for part in PARTS[model.space]] for body in model.bodies],
        }  # fmt: skip
        return Program(module, about)

    def n_struck(self) -> int:
        """Return the number of rows of velocities that events prescribe, if all of them happen at once."""
        return sum(len(event.rows) for event in self.system.equations.events)

    def jumping(self) -> dict[str, Any]:
        """What events do beyond what the time loop does by itself, and what that is computed with."""
        s, e, f = self.system, self.system.equations, self.system.functions
        held, q = ({x: k for k, x in enumerate(symbols)} for symbols in (e.held, e.q))
        rows: dict[Expr, int] = {}
        events = [
            {
                "asks": asks, "ends": x.ends, "turns": x.turns, "is_level": x.is_level, "at_start": x.at_start,
                "direction": x.direction,
                "rows": [(rows.setdefault(row, len(rows)), kicks) for row, kicks in zip(x.rows, x.kicks, strict=True)],
                "holds": [held[y] for y in x.holds], "resets": [q[y] for y in x.resets],
                "joints": [(held[y], x.holds[y].value) for y in x.joints],
            }
            for x, asks in zip(e.events, self.course.asks, strict=True)
        ]  # fmt: skip
        n, m, place = s.n_v, s.m + self.n_struck(), self.motion.measured.place
        n_jumps, n_switches = (f[name].outputs if name in f else 0 for name in ("jumps", "switches"))
        sizes = {
            "answer": max(n_jumps, n_switches, f["linear"].outputs, f["constraints"].outputs),
            "given_impulse": size_of(take_given, n, m), "made_impulse": size_of(take_result, n, m),
        }  # fmt: skip
        return {
            "events": events, "n_own": len(self.motion.mechanism.model.events),
            "n_jumps": n_jumps, "n_switches": n_switches, "n_linear": f["linear"].outputs,
            "jacobian": [x.tolist() for x in e.pattern], "inertia": [*e.M],
            "first_of_inertia": len(e.Psi_q) + len(e.reversals) + (e.hints.arm is not None),
            "rows": [
                {"element": row.element, "unit": row.unit, "scale": scale, "closed": held.get(closed(row.element), -1)}
                for row, scale in zip(e.rows, place.row_scale.tolist(), strict=True)
            ],
            "tolerance": RANK_TOLERANCE,
            "sizes": sizes,
        }  # fmt: skip

    def closing(self) -> dict[str, Any]:
        """Return the start, closed, and what its equations are measured by."""
        start, e, moving = self.start, self.start.equations, self.system.equations
        entries, first = list(e.M), len(e.Psi_q) + len(e.reversals) + (e.hints.arm is not None)
        diagonal = [first + entries.index((k, k)) if (k, k) in entries else -1 for k in range(len(e.v))]
        at, columns = ({c.name: k for k, c in enumerate(own)} for own in (e.coordinates, e.velocities))
        bodies, found = self.motion.mechanism.model.bodies, self.modes
        return {
            "n_q": len(e.q), "n_v": len(e.v), "m": len(e.Psi),
            "q": start.q.tolist(), "v": start.v.tolist(),
            "n_outputs": self.local["linear"].outputs, "joined": "joined" in self.local,
            "sides": [[*moving.parameters].index(dyad.sigma) for dyad in moving.chart.dyads],
            "bodies": [at[f"{b.name}.x"] for b in bodies],
            "columns": [columns[f"{b.name}.x"] for b in bodies],
            "q_scale": start.q_scale.tolist(), "v_scale": start.v_scale.tolist(), "row_scale": start.row_scale.tolist(),
            "rows": [x.tolist() for x in e.pattern],
            "mass": diagonal if start.mass.is_regular and e.hints.chain is None else [],
            "given": (given_velocities(self.stated) != 0.0).tolist(),
            "elements": [row.element for row in e.rows],
            "units": [row.unit for row in e.rows],
            "owners": [[c.owner, c.kind] for c in e.velocities],
            "small": SMALL,
            "rates": self.rates,
            "modes": [[mode.q[name] for name in e.q_names] for mode in found.modes] if found else [],
            "kept": [e.q_names.index(name) for name in found.kept] if found else [],
        }  # fmt: skip

    def parameters(self) -> Iterator[dict[str, Any]]:
        """Return what can be changed: parameters that the model names, numbers of its elements, where and how it
        starts.
        """
        model, e = self.motion.mechanism.model, self.start.equations
        ranges, own = model.live, self.system.equations
        fixed_ones = {dyad.sigma for dyad in own.chart.dyads}
        fixed_ones |= {x for clock in own.clocks for x in (*ordered([clock.every]), *clock.holds)}
        for k, (x, value) in enumerate(self.system.equations.parameters.items()):
            name, fixed = str(x.value), x in self.system.equations.held
            if x in fixed_ones:
                continue
            if name in model.parameters and name not in model.folded and name not in hand_parameters(model):
                unit, within = model.parameter_units.get(name, ""), _range(value, ranges.get(name))
                yield {"name": name, "kind": "parameter", "place": k, "unit": unit, **within}
            elif name.endswith("'") and value and not fixed and not name.endswith(SIDE):
                own_name = name.rstrip("'")
                unit = _unit_of(model, own_name)
                yield {"name": own_name, "kind": "number", "place": k, "unit": unit, **_range(value)}
        if self.driven:
            return
        moves = np.abs(find_freedoms(self.start)).max(axis=1, initial=0.0) > HALF_THE_DIGITS  # all others are held
        for k, (c, j, value) in enumerate(zip(e.coordinates, self.rates, self.start.q.tolist(), strict=True)):
            if j >= 0:
                about = {"name": c.name, "kind": "position", "place": k, "unit": c.unit, "moves": bool(moves[j])}
                yield {**about, **_range(value, ranges.get(c.name))}
        for k, (w, value) in enumerate(zip(e.velocities, self.start.v.tolist(), strict=True)):
            about = {"name": w.speed, "kind": "velocity", "place": k, "unit": f"{w.unit}/s", "moves": bool(moves[k])}
            yield {**about, **_range(value, ranges.get(w.speed))}

    @cached_property
    def rates(self) -> list[int]:
        """Of each coordinate, the velocity that is its rate; -1 of Euler parameters."""
        e = self.start.equations
        at = {w.name: k for k, w in enumerate(e.velocities)}
        return [at.get(c.name, -1) if c.kind != "number" else -1 for c in e.coordinates]

    def switches(self) -> dict[str, Any]:
        """Return places among the parameters of gravity, and of hands where there are some."""
        values = {str(x.value): k for k, x in enumerate(self.system.equations.parameters)}
        model = self.motion.mechanism.model
        found: dict[str, Any] = {"gravity": [k for name, k in values.items() if GRAVITY.fullmatch(name)]}
        if STIFFNESS in values:
            axes = AXES[: len(model.gravity)]
            mass = float(self.start.mass.diagonal[~self.start.equations.turning].sum()) / len(axes)
            found["hand"] = {
                "mass": mass, "usual": mass * math.tau**2, "slows": SLOWS,
                "stiffness": values[STIFFNESS], "damping": values[DAMPING], "honey": values[HONEY],
                "arm": [values[arm(axis)] for axis in axes],
                "place": [values[to_place(axis)] for axis in axes],
                "holds": [values[holds(body.name)] for body in model.bodies],
            }  # fmt: skip
        return found

    def columns(self) -> list[dict[str, Any]]:
        """Return names, kinds and units of results, and where in a row (t, q, v, a, lam) or in what `report`
        returns.
        """
        s, e = self.system, self.system.equations
        found, n = list[dict[str, Any]](), 1 + s.n_q + s.n_v
        firsts = zip((*e.chart.state, "lam"), (1, 1 + s.n_q, n, n + s.n_v), strict=True)
        where = [(kind, "x", first) for kind, first in firsts]
        first = 2  # behind the energies
        for kind in e.outputs:
            where.append((kind, "y", first))
            first += len(e.columns[kind].labels)
        for kind, source, first in where:
            turning = e.turning_outputs.get(kind, ())
            for k, (name, unit) in enumerate(zip(e.columns[kind].names, e.columns[kind].units, strict=True)):
                if "'" in name:  # of a hand
                    continue
                found.append(
                    {"name": name, "kind": kind, "unit": unit, "from": source, "place": first + k}
                    | ({"turns": True} if k in turning else {})
                )
        found += [
            {"name": name, "kind": "energy", "unit": unit, "from": "energy", "place": k}
            for k, (name, unit) in enumerate(zip((*ENERGY.names, "energy:drift"), (*ENERGY.units, "J"), strict=True))
        ]
        units = ("m", "m/s")
        return found + [
            {"name": f"error:{name}", "kind": "error", "unit": unit, "from": "error", "place": k}
            for k, (name, unit) in enumerate(zip(("position", "velocity"), units, strict=True))
        ]


def _unit_of(model: Model, name: str) -> str:
    """Return the unit of a number by its path, as its field states it; nothing of a plain number."""
    own, field, *_ = name.split(".")
    if own == "gravity":
        return ACCELERATION.unit
    for element in (model.ground, *model.bodies, *model.joints, *model.drivers, *model.acting):
        hints = get_type_hints(element.__class__, include_extras=True) if element.name == own else {}
        if field in hints:
            kinds = (LENGTH,) if field in ("s", "s_i", "s_j") else quantity_of(hints[field]).kinds
            return kinds[0].unit if len(kinds) == 1 and kinds[0] is not NUMBER_KIND else ""
    return ""


def _range(value: float, within: tuple[float, float] | None = None) -> dict[str, float]:
    """Find between which values a page moves one: as the model says, else half of it and twice as much."""
    low, high = within or (sorted((value / 2.0, 2.0 * value)) if value else (-1.0, 1.0))
    return {"value": value, "low": low, "high": high}
