"""A motion through its events: they are noted, end the run, or change velocities, joints and held values.

The time loop ends a step on either side of an event (integrators/switches.py). What an event changes it changes between
the two; then the loop begins anew. An event that only changes held values does so within the loop.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.system import System
from linkwork.constraints import projection
from linkwork.elements.events import Callback, Watch, closed
from linkwork.equations.implicit import N_WORK
from linkwork.equations.place import Place
from linkwork.errors import NumericalStop, UsageError, check_choice
from linkwork.expressions.graph import Expr
from linkwork.formulations import solve_on_scales
from linkwork.integrators.integrate import End, Moment, Settings
from linkwork.integrators.sampling import ticks_at
from linkwork.linalg.newton import solve_least_squares
from linkwork.linalg.rank import row_sizes
from linkwork.notes import FINISHED, Reason
from linkwork.records import kept
from linkwork.simulation.controllers import check_answers, sample_at
from linkwork.simulation.outputs import body_states
from linkwork.simulation.problem import Level, Motion, Part
from linkwork.tolerances import DIFFERENCE, EPSILON, NEGLIGIBLE, TYPED
from linkwork.trajectory import NO_EVENTS, Events

Array = NDArray[np.float64]

CLOSE = 1e-7  # of the time: events nearer to each other than this,
MOST_CLOSE = 20  # so often the same in a row, accumulate
IMPULSES = "udwadia-phohomsiri"  # where M is singular; rows may be redundant


class Jump(NamedTuple):
    """What an event does at a state: rows of velocities, their changes, held values, states; the rate of `when`."""

    G: Array
    gaps: Array
    holds: Array
    resets: Array
    rate: float


def jumps_at(system: System, p: Array, t: float, y: Array, which: Collection[int]) -> dict[int, Jump]:
    """Return the jumps of these events; see System."""
    n, found, first = system.n_v, dict[int, Jump](), 0
    numbers = system.functions["jumps"](np.append(t, y), p)
    for number, event in enumerate(system.equations.events):
        k = len(event.rows)
        gaps = first + k * n
        holds, resets = gaps + k, gaps + k + len(event.holds)
        rate = resets + len(event.resets)
        if number in which:
            G = numbers[first:gaps].reshape(k, n)
            parts = numbers[gaps:holds], numbers[holds:resets], numbers[resets:rate]
            found[number] = Jump(G, *parts, float(numbers[rate]))
        first = rate + 1
    return found


def prescribed(events: Iterable[tuple[Watch, Jump]]) -> tuple[Array, Array]:
    """Collect rows of velocities and their changes by events of one moment; kicks of the same velocity add up."""
    rows, gaps, kicked = list[Array](), list[float](), dict[Expr, int]()
    for watch, jump in events:
        for row, kicks, G, gap in zip(watch.rows, watch.kicks, jump.G, jump.gaps.tolist(), strict=True):
            if kicks and row in kicked:
                gaps[kicked[row]] += gap
                continue
            if kicks:
                kicked[row] = len(rows)
            rows.append(G)
            gaps.append(gap)
    return np.array(rows), np.array(gaps)


@dataclass(frozen=True, eq=False)
class Happening:
    """One event that has happened; velocities before and after."""

    name: str
    t: float
    q: Array
    v_before: Array
    v_after: Array


class Stretch(NamedTuple):
    """A state from which the motion went on, and the part of which it is; Python was asked about nothing behind it."""

    t: float
    y: Array  # q, v, work
    held: Array
    part: int


class Until(NamedTuple):
    """How far a motion is noted completely: who interrupts it has this much of it."""

    t: float
    y: Array
    rows: int
    happenings: int
    held: int


@dataclass
class Course:
    """The way of a motion through its events, and what else is noted of it."""

    motion: Motion
    is_resumed: bool = False  # after which nothing happens because a run begins
    happenings: list[Happening] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)  # what rows are evaluated with
    stretches: list[Stretch] = field(default_factory=list)
    ended_by: Reason = FINISHED  # the event that ends the run
    stopped: Reason | None = None  # why it could not go on
    close: Counter[str] = field(default_factory=Counter)  # events that followed each other closely until now
    passed: dict[tuple[int, int], float] = field(default_factory=dict)  # events to be met again, which are no new ones
    jumped: list[tuple[int, int]] = field(default_factory=list)  # events beyond zero by what others did, and the side
    level: Level = Level.NOTHING  # how deep what happened goes
    repivoted: list[float] = field(default_factory=list)  # times at which the explicit form got other pivots
    methods: list[tuple[float, str]] = field(default_factory=list)  # times at which another one took over, and its name
    held: list[Array] = field(default_factory=list)  # what events change, at first and as it was changed
    held_since: list[float] = field(default_factory=list)  # when, of all but the first
    asked: Moment = field(init=False)  # about which Python is asked
    until: Until | None = None
    span: float = 0.0  # of the run
    lost: float = 0.0  # kinetic energy in impacts, J

    def set_off(self, settings: Settings, times: Array, y: Array, max_steps: int) -> None:
        """Let the motion begin at (q, v, work), after what happens there."""
        self.span = float(times[-1] - times[0])
        y = self.begin(float(times[0]), y)
        self.motion.set_off(settings, times, y, max_steps)
        self.tell_asks()
        self.parts.append(self.motion.part(0))
        self.stretches.append(Stretch(float(times[0]), y.copy(), self.motion.held.copy(), 0))

    def note_piece(self) -> None:
        """Note all until now."""
        state = self.motion.state
        self.until = Until(state.t, state.y, state.at.row, len(self.happenings), len(self.held))

    def go_on(self, level: Level, t: float, y: Array, sides: Array | Sequence[float] = ()) -> None:
        """Let the motion go on after a change."""
        self.motion.go_on(level, t, y, sides)
        self.tell_asks()

    def tell_asks(self) -> None:
        """Tell the time loop about which events Python is asked, among these all pivots."""
        if self.asks:
            self.motion.state.at.asks[: len(self.asks)] = True if self.passed else self.asks

    def take_moments(self, end: End) -> None:
        """Note what happened in a piece of the motion but for the last of it where Python is asked."""
        state, known = self.motion.state, len(self.held_since)
        moments, samples = state.take_moments(), state.take_samples()
        if end == End.EVENT:
            self.asked = moments.pop()
        for moment in moments:
            self.happen(moment, False)
        if len(samples):
            self.held_since += samples[:, 0].tolist()
            self.held += [*samples[:, 1:]]
            order = sorted(range(known, len(self.held_since)), key=self.held_since.__getitem__)
            self.held_since[known:] = [self.held_since[k] for k in order]
            self.held[known + 1 :] = [self.held[k + 1] for k in order]
            self.motion.hold(state.held)

    def meet(self) -> bool:
        """Do what Python is asked about; return whether the motion goes on."""
        self.level, state, moment = Level.NOTHING, self.motion.state, self.asked
        t, y = self.happen(moment, True) or (state.t, state.y)
        if self.level:
            try:
                y = self.pass_others(t, y)
            except NumericalStop as stop:
                self.stopped = Reason.of(stop)
            self.hold(state.t, self.motion.held.copy())
        if self.ended_by or self.stopped or state.at.row == len(state.times):
            state.begin_at(state.t, y)
            return False
        if self.level:
            sides = moment.sides[: len(self.motion.system.equations.events)]
            self.go_on(self.level, t, y, sides if t == moment.t else -sides)  # or before them
            if self.level >= Level.PROBLEM:
                self.parts.append(self.motion.part(state.at.row))
            self.stretches.append(
                Stretch(t, y[: self.motion.n + N_WORK].copy(), self.motion.held.copy(), len(self.parts) - 1)
            )
        return True

    def pass_switch(self) -> None:
        """Take note that a law has switched, of which the time loop tells those who ask for it."""

    @kept
    def callbacks(self) -> dict[str, Callback]:
        """By the names of events."""
        events = self.motion.mechanism.model.events
        return {event.name: event.callback for event in events if event.callback is not None}

    @kept
    def asks(self) -> list[bool]:
        """Of every event, whether it may do more than change held values, which the time loop does by itself."""
        events = self.motion.system.equations.events
        every, callbacks = any(event.is_level for event in events), self.callbacks
        return [every or event.ends or event.asks or event.name in callbacks for event in events]

    def hold(self, t: float, held: Array) -> None:
        """Note what events have changed, from this time on."""
        self.held_since.append(t)
        self.held.append(held)

    def held_at(self, t: Array) -> Array:
        """Return what events have changed until these times; those just there have not happened yet."""
        if not self.held_since:
            return np.full((len(t), len(self.held[0])), self.held[0])
        return np.array(self.held)[np.searchsorted(np.maximum.accumulate(self.held_since), t)]

    def happen(self, moment: Moment, asked: bool) -> tuple[float, Array] | None:
        """Note what happened at a moment; t and y where the time loop asked, and something was changed."""
        motion, t, y = self.motion, moment.t_before, moment.y_before
        events = motion.system.equations.events
        sides = {k: int(moment.sides[k]) for k in np.flatnonzero(moment.sides).tolist()}
        found = [k for k, side in sides.items() if k < len(events) and events[k].direction in (0, side)]
        found = [k for k in found if t > self.passed.pop((k, sides[k]), -math.inf)]
        motion.hold(moment.held)
        found = [k for k in found if not self.is_held(k, moment.t, moment.y)]
        if not asked:
            self.hold(moment.t, moment.held)
        changed: tuple[float, Array] | None = None
        if any(k >= len(events) for k in sides):
            motion.choose_pivots(moment.t, moment.y)
            self.repivoted.append(moment.t)
            self.level, changed = Level.PROBLEM, (moment.t, moment.y)
        if not found:
            return changed
        if asked:
            try:
                changed = self.change([(k, sides[k]) for k in found], moment.t, moment.y, t, y) or changed
            except NumericalStop as stop:
                self.stopped = Reason.of(stop)
                changed = None
        self.note(found, t, y, changed[1] if changed else moment.y)
        return changed

    def note(self, found: Sequence[int], t: float, y: Array, y_after: Array) -> None:
        """Note that these events have happened."""
        n_q, n = self.motion.system.n_q, self.motion.n
        events = [self.motion.system.equations.events[k] for k in found]
        self.check_accumulation(t, [event.name for event in events])
        for event in events:
            self.happenings.append(Happening(event.name, t, y[:n_q], y[n_q:n], y_after[n_q:n]))
            if event.ends and not self.ended_by:
                self.ended_by = Reason("event", event=event.name, t=t)

    def check_accumulation(self, t: float, names: Sequence[str]) -> None:
        """Stop where events, now these, follow each other without end."""
        near = bool(self.happenings) and t <= self.end_nearness(self.happenings[-1].t)
        self.close = (self.close if near else Counter()) + Counter(names)
        count = max(self.close.values())
        if count >= MOST_CLOSE and self.stopped is None:
            often = [name for name, n in self.close.items() if 2 * n >= count]
            self.stopped = Reason("events-accumulate", events=often, t=t, count=count, within=CLOSE)

    def end_nearness(self, t: float) -> float:
        """Find until when an event is near to one at t; where time begins, by what rounding leaves of the run."""
        return t + CLOSE * abs(t) + NEGLIGIBLE * self.span

    def begin(self, t: float, y: Array) -> Array:
        """Return y after what happens when the run begins."""
        events = self.motion.system.equations.events
        found = [(k, 1) for k, event in enumerate(events) if event.at_start and not self.is_resumed]
        changed = self.change(found, t, y, t, y) if found else None
        self.sample(t, changed[1] if changed else y)
        y = self.pass_others(t, changed[1] if changed else y)
        self.held.append(self.motion.held.copy())
        return y

    def sample(self, t: float, y: Array) -> None:
        """Give what is sampled its first values; where a run goes on, those that are due at its first moment."""
        motion, clocks = self.motion, self.motion.clocks
        due = [ticks_at(period, t) for period in clocks.periods]
        if any(due):
            sample_at(motion.system, clocks, motion.p, t, y, due)
        if motion.controllers and not self.is_resumed:
            check_answers(motion.mechanism.model, clocks)

    def pass_others(self, t: float, y: Array) -> Array:
        """Return y after those events that are beyond zero by what has happened, and levels, one after the other."""
        while self.stopped is None:
            system, n = self.motion.system, self.motion.n
            events = system.equations.events
            found, self.jumped = self.jumped, []
            if not found and any(event.is_level for event in events):
                g = system.functions["switches"](np.append(t, y[:n]), self.motion.p)
                found = [(k, x.direction) for k, x in enumerate(events) if x.is_level and g[k] * x.direction > 0.0][:1]
            if not found:
                break
            changed = self.change(found, t, y, t, y)
            self.note([k for k, _ in found], t, y, changed[1] if changed else y)
            y = changed[1] if changed else y
        return y

    def change(
        self, events: list[tuple[int, int]], t: float, y: Array, t_before: float, y_before: Array
    ) -> tuple[float, Array] | None:
        """Return t and y after these events, given by number and by the side of zero on which they are now."""
        motion, system, before = self.motion, self.motion.system, (self.motion.system, self.motion.p.copy())
        watches = system.equations.events
        n_q, n = system.n_q, motion.n
        q, v, y = y[:n_q], y[n_q:n], y[: n + N_WORK].copy()
        happening = {k for k, _ in events}
        jumps = jumps_at(system, motion.p, t, y[:n], happening)
        G, gap = prescribed([(watches[k], jumps[k]) for k, _ in events])
        rows, gaps = [G.reshape(len(gap), n - n_q)], [gap]
        held: dict[Expr, float] = {}
        for k, _ in events:
            held |= dict(zip(watches[k].holds, jumps[k].holds.tolist(), strict=True))
            if (callback := self.callbacks.get(watches[k].name)) is not None:
                asked = self.ask(callback, t, q, v)
                rows.append(asked[0])
                gaps.append(asked[1])
        G, gap = np.vstack(rows), np.concatenate(gaps)
        places = {x: i for i, x in enumerate(system.equations.q)}
        resets = {places[x]: new for k, _ in events for x, new in zip(watches[k].resets, jumps[k].resets, strict=True)}
        if not held and not resets and not len(G):
            return None
        self.level = max(self.level, Level.STATE)
        if held:
            now = dict(zip(system.equations.held, motion.held.tolist(), strict=True)) | held
            if motion.hold(np.array([*now.values()])):
                motion.measure_anew(t, y)
                self.level = max(self.level, Level.PROBLEM)
        y[[*resets]] = [*resets.values()]
        place = motion.place_at(t, y)
        switched = any(watches[k].switches_joints for k, _ in events)
        if switched:
            check_gaps(place, held)
        if len(G) or switched:
            y[n_q:n] += impulse(place, G, gap, [watches[k].name for k, _ in events])
            lost = 0.5 * float((v - y[n_q:n]) @ place.M @ (v + y[n_q:n]))
            self.lost += lost
            y[n] += max(lost, 0.0)
            y[n + 1] += max(-lost, 0.0)
            after = jumps_at(motion.system, motion.p, t, y[:n], happening)
            turned = []
            for k, side in events:
                is_at_rest = abs(after[k].rate) <= NEGLIGIBLE * abs(jumps[k].rate)
                if is_at_rest and self.presses_on(k, side, np.append(t, y)):
                    self.stopped = Reason("not-held", event=watches[k].name, t=t)
                elif (watches[k].turns or after[k].rate * side < 0.0) and not (
                    is_at_rest and watches[k].switches_joints
                ):
                    turned.append((k, side))
            if turned:
                # On the side from which it came, so that it is not passed once more; the others are.
                self.passed = dict.fromkeys(set(events).difference(turned), self.end_nearness(t))
                t, y[:n_q] = t_before, y_before[:n_q]
        if switched:
            y = projection.project_state(motion.system, motion.p, t, y)
        self.jumped = self.find_jumped(before, happening, np.append(t, y[:n]), v)
        return t, y

    def presses_on(self, k: int, side: int, x: Array) -> bool:
        """Whether forces drive event k, whose rate is zero now, at (t, y), to its side: it would happen without end.

        They do if in such a run they move it by more than rounding of its rate and the tolerances of the state do.
        """
        if not self.parts:  # before the run begins
            return False
        motion, n = self.motion, 1 + self.motion.n

        def when(x: Array) -> float:
            return float(motion.system.functions["switches"](x[:n], motion.p)[k])

        ahead = DIFFERENCE * self.span * np.append(1.0, motion.form.dynamics(x, motion.p)[: len(x) - 1])
        gained = 0.5 * side * (self.rate(k, x + ahead) - self.rate(k, x - ahead))
        gained -= self.change_of(partial(self.rate, k), x, EPSILON * x)
        return bool(0.5 * gained * self.span / DIFFERENCE > self.change_of(when, x, self.tolerances(x)) > 0.0)

    def rate(self, k: int, x: Array) -> float:
        """Return the rate of the function of event k at x = (t, q, v, ...)."""
        motion = self.motion
        return jumps_at(motion.system, motion.p, float(x[0]), x[1 : 1 + motion.n], (k,))[k].rate

    def change_of(self, f: Callable[[Array], float], x: Array, steps: Array) -> float:
        """Add up what steps of t, q and v, each for itself, make of f."""
        return sum(abs(f(x + step) - f(x)) for step in np.diag(steps)[: 1 + self.motion.n])

    def tolerances(self, x: Array) -> Array:
        """Return the tolerances of the state x = (t, q, v, ...) in the error of a step."""
        at, n = self.motion.state.at, 1 + self.motion.n
        tolerances = np.append(0.0, at.atol[: n - 1] + at.rtol * np.abs(x[1:n]))
        tolerances.resize(len(x))
        return tolerances

    def is_held(self, k: int, t: float, y: Array) -> bool:
        """Whether an impact has switched its joints before, and these leave its rate within the tolerances of now."""
        event, x = self.motion.system.equations.events[k], np.append(t, y)
        if not (event.turns and has_switched(event, self.motion.system, self.motion.held)):
            return False
        return abs(self.rate(k, x)) <= self.change_of(partial(self.rate, k), x, self.tolerances(x))

    def find_jumped(
        self, before: tuple[System, Array], happening: Collection[int], y: Array, v_before: Array
    ) -> list[tuple[int, int]]:
        """Find events of the model that are beyond zero now, at (t, q, v), since velocities or forces have jumped.

        One that only switches joints is no such event where they are as it sets them, before or now. Nothing jumps
        before the run begins.
        """
        now = self.motion.system, self.motion.p
        own = now[0].equations.events[: len(self.motion.mechanism.model.events)]
        if not own or not self.parts:
            return []
        at_v_before = np.append(y[: len(y) - len(v_before)], v_before)
        old, new = (x[0].functions["switches"](at, x[1]) for x, at in ((before, at_v_before), (now, y)))
        return [
            (k, 1 if new[k] > 0.0 else -1)
            for k, event in enumerate(own)
            if k not in happening
            and old[k] * new[k] < 0.0
            and event.direction * new[k] >= 0.0
            and not any(is_done(event, system, p[system.held]) for system, p in (before, now))
        ]

    def ask(self, callback: Callback, t: float, q: Array, v: Array) -> tuple[Array, Array]:
        """Ask for rows and changes of the velocities that a callback wishes to set."""
        e = self.motion.system.equations
        if e.chart.body is not None:
            raise UsageError("a callback sets velocities in body coordinates alone", "callback-coordinates")
        names = [c.speed for c in e.velocities]
        given = callback(t, dict(zip(e.q_names, q.tolist(), strict=True)), dict(zip(names, v.tolist(), strict=True)))
        for name in given or {}:
            check_choice("velocity", name, names)
        places = [names.index(name) for name in given or {}]
        return np.eye(len(v))[places], np.array([*(given or {}).values()], dtype=float) - v[places]

    def events(self) -> Events:
        """Return all that happened until the end of what is noted."""
        assert self.until is not None
        h, system = self.happenings[: self.until.happenings], self.motion.system
        if not h:
            return NO_EVENTS
        t = np.array([x.t for x in h])
        q = np.reshape([x.q for x in h], (len(h), system.n_q))
        before = np.reshape([x.v_before for x in h], (len(h), system.n_v))
        after = np.reshape([x.v_after for x in h], (len(h), system.n_v))
        places, v_before = body_states(system, self.motion.p, t, q, before)
        return Events(tuple(x.name for x in h), t, places, v_before, body_states(system, self.motion.p, t, q, after)[1])


def is_done(event: Watch, system: System, values: Array) -> bool:
    """Whether an event that only switches joints has nothing left to do."""
    return not event.rows and has_switched(event, system, values)


def has_switched(event: Watch, system: System, values: Array) -> bool:
    """Whether the joints that an event switches are as it sets them."""
    held = dict(zip(system.equations.held, values.tolist(), strict=True))
    return event.switches_joints and all(held[x] == event.holds[x].value for x in event.joints)


def check_gaps(place: Place, held: Mapping[Expr, float]) -> None:
    """Raise NumericalStop where a joint engages although it is open by more than rounding explains."""
    wide = np.abs(place.Psi) > TYPED * place.row_scale
    for row, gap, is_wide in zip(place.equations.rows, place.Psi, wide, strict=True):
        if is_wide and held.get(closed(row.element)) == 1.0:
            raise NumericalStop(
                Reason("impossible-event", t=place.t, joint=row.element, gap=abs(float(gap)), unit=row.unit),
                "impossible-event",
            )


def impulse(place: Place, G: Array, gap: Array, events: Sequence[str]) -> Array:
    """Solve M dv + Psi_q^T P + G^T R = 0 for dv so that the constraints hold and G v changes by `gap`.

    Of all dv that do so it is the least in the metric of M [udwadia1996]. Rows, of any unit, are measured by their
    length in this metric: where a body is has no part in it.
    """
    J, wanted = np.vstack([place.Psi_q, G]), np.concatenate([-place.Psi_dot, gap])
    if place.mass.is_regular:
        root = place.mass.inverse_root
        A = J @ root
        by = row_sizes(A, TYPED)
        dv = root @ solve_least_squares(A / by[:, None], wanted / by)
    else:
        scale = 1.0 / np.sqrt(place.mass.sizes)
        by = row_sizes(J * scale, TYPED)
        dv = solve_on_scales(IMPULSES, place.M, J, np.zeros(len(place.v)), wanted, scale, by).a
    left, terms = np.abs(J @ dv - wanted) / by, (np.abs(wanted) + np.abs(J) @ (np.abs(place.v) + np.abs(dv))) / by
    if np.any(left > TYPED * terms + NEGLIGIBLE * np.max(terms, initial=0.0)):
        raise NumericalStop(Reason("impossible-event", t=place.t, events=[*events]), "impossible-event")
    return dv
