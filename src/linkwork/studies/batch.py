"""Many motions of one mechanism at once: points in arrays, numbers taken of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from os import cpu_count
from threading import local
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.driven.planning import Soundness, plan_kinematics, plan_simulations
from linkwork.equations.implicit import N_WORK
from linkwork.errors import LinkworkError, NumericalStop, UsageError, check_choice, check_extra, checked_call
from linkwork.integrators.integrate import End
from linkwork.model import Model
from linkwork.simulation.motions import Plan, begin, doubts, evaluate_motions
from linkwork.simulation.options import Start, coordinates_of
from linkwork.studies.journal import FINISHED, REASON, REFUSED, STATUSES, STOPPED, record_type
from linkwork.studies.points import CHUNK
from linkwork.studies.states import STATES, Instant
from linkwork.studies.taking import OF_EVENTS, read_take
from linkwork.studies.trial import Trial
from linkwork.trajectory import Trajectory

if TYPE_CHECKING:
    import xarray

    from linkwork.integrators.block import Track
    from linkwork.integrators.lanes import Team

Array = NDArray[np.float64]

NEAR = 16 * 2**20  # bytes of rows at a time that stay near the processor


@dataclass(frozen=True)
class Block:
    """What was found of some points: a record each, and of those that went their own way why."""

    records: NDArray[Any]
    alone: Counter[str]


@dataclass(frozen=True)
class Batch:
    """What is computed at points that give these names their values; `first` is the motion of one of them."""

    trial: Trial
    names: Sequence[str]
    interrupted: bool  # whether motions are to be expected that events or another method interrupt
    reads: frozenset[str] = frozenset()  # quantities that are taken

    @staticmethod
    def of(trial: Trial, names: Sequence[str], first: Trajectory | Instant) -> Batch:
        """Return the same as one of its motions is."""
        if not isinstance(first, Trajectory):
            return Batch(trial, names, False)
        changes_method = any(note.code == "stiff" for note in first.info.notes)
        reads = {name for take in trial.takes for name in take.names(first)}
        return Batch(trial, names, bool(first.events.names) or changes_method, frozenset(reads))

    @cached_property
    def plan(self) -> Plan | str:
        if self.trial.is_state:
            return self.trial.of
        make = plan_kinematics if self.trial.is_driven else plan_simulations
        return "loop" if self.interrupted else make(self.trial.mechanism, self.names, **self.trial.options)

    @cached_property
    def _own(self) -> local:
        return local()

    @property
    def track(self) -> Track | Team:
        """Memory of this thread."""
        assert isinstance(self.plan, Plan)
        if not hasattr(self._own, "track"):
            self._own.track = self.plan.track()
        found: Track | Team = self._own.track
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave machine code and memory in their process."""
        return Batch, (self.trial, self.names, self.interrupted, self.reads)

    @cached_property
    def soundness(self) -> Soundness:
        own, options = self.trial.mechanism, self.trial.options
        settings = own.model.simulation.changed(options.get("t_end"), options.get("step"))
        return Soundness(own, [name for name in self.names if self.trial.is_parameter(name)], settings)

    @cached_property
    def coordinates(self) -> dict[str, tuple[str, str]]:
        """Of names that are no parameters, whether they are of q or v, and the name there."""
        known = {} if self.trial.is_driven else coordinates_of(self.trial.mechanism)
        return {name: known[name] for name in self.names if not self.trial.is_parameter(name)}

    @property
    def start(self) -> Start:
        """What all motions begin with."""
        start = self.trial.options.get("start")
        return start if isinstance(start, Start) else Start(start)

    @cached_property
    def size(self) -> int:
        """Points of a block: as many as of a chunk, so that Python's share of each is small, if rows are few."""
        if isinstance(self.plan, str):
            return CHUNK
        row = len(self.plan.equations.q) + len(self.plan.equations.v) + N_WORK + len(self.reads)
        return max(CHUNK // 8, min(CHUNK, NEAR // (8 * row * len(self.plan.times))))  # lanes are full most of the time

    @np.errstate(all="ignore")  # what is not finite is looked for where it matters
    def compute(self, points: Array) -> Block:
        """Return the records of these points."""
        records = np.zeros(len(points), record_type(len(self.trial.takes)))
        records["taken"] = np.nan
        left = [self.plan] * len(points) if isinstance(self.plan, str) else self.advance(self.plan, points, records)
        for k, reason in enumerate(left):
            if reason:
                self.move(points[k], records[k : k + 1])
        return Block(records, Counter(filter(None, left)))

    def advance(self, plan: Plan, points: Array, records: NDArray[Any]) -> list[str]:
        """Fill in the records of motions that go together; of each point why it does not."""
        e, takes = plan.equations, self.trial.takes
        places = {str(x.value): k for k, x in enumerate(e.parameters)}
        values = np.tile(np.array([*e.parameters.values()]), (len(points), 1))
        own = [k for k, name in enumerate(self.names) if name not in self.coordinates]
        values[:, [places[self.names[k]] for k in own]] = points[:, own]
        sound = np.flatnonzero(~self.soundness.refuses(points[:, own]) & np.isfinite(points).all(axis=1))
        stated = zip("qv", self.start.split(self.trial.mechanism), strict=True)
        start = {level: {name: np.full(len(sound), x) for name, x in given.items()} for level, given in stated}
        for name, (level, known) in self.coordinates.items():
            start[level][known] = points[sound, self.names.index(name)]
        left = np.full(len(points), "unsound", dtype="U16")
        begun, why = begin(plan, values[sound], **start)
        left[sound] = why
        numbers = sound[begun.numbers]
        found = self.track.advance(begun.loop_p, begun.y, begun.scale)
        has_reached = (found.end == End.REACHED) & (found.moments == 0.0)
        left[numbers[~has_reached]] = "loop"
        if not has_reached.any():
            return [str(x) for x in left]
        rows = self.rows_needed(plan, found.steps[has_reached])
        if not has_reached.all():
            begun, found, numbers = begun.chosen(has_reached), found.chosen(has_reached), numbers[has_reached]
        motions = evaluate_motions(plan, begun, found, rows, self.reads)
        left[numbers] = doubts(plan, begun, found, motions.evaluated)
        taken = np.empty((len(numbers), len(takes)))
        for j, take in enumerate(takes):
            if take.reduction in OF_EVENTS:
                taken[:, j] = 0.0 if take.reduction == "count" else np.nan
            else:
                taken[:, j] = take.of_rows(motions)
        records["taken"][numbers] = taken
        records["steps"][numbers], records["status"][numbers] = found.steps, FINISHED
        return [str(x) for x in left]

    def rows_needed(self, plan: Plan, steps: Array) -> NDArray[np.intp]:
        """Return the report times at which motions are evaluated: all that are taken, else as many as steps were."""
        n = len(plan.times)
        if plan.equations.turning_outputs or any(take.needs_all_rows for take in self.trial.takes) or not len(steps):
            return np.arange(n)
        rows = np.arange(0, n, max(1, n // int(steps.min() + 2)))
        rows[-1] = n - 1
        return rows

    def move(self, point: Array, record: NDArray[Any]) -> None:
        """Fill in the record of a point by a motion of its own."""
        record["taken"] = np.nan
        try:
            motion = self.trial.find(dict(zip(self.names, point.tolist(), strict=True)))
            record["taken"] = [take.of_motion(motion) for take in self.trial.takes]
            record["steps"] = motion.info.steps if isinstance(motion, Trajectory) else 0
            record["status"] = FINISHED
        except NumericalStop as stop:
            record["status"], record["reason"] = STOPPED, stop.code.encode()[:REASON]
            if stop.trajectory is not None:
                record["steps"] = stop.trajectory.info.steps
        except LinkworkError as refused:
            record["status"], record["reason"] = REFUSED, refused.code.encode()[:REASON]


@checked_call()
def batch(
    model: Model | Mechanism,
    parameters: Mapping[str, Any],
    take: Sequence[str] | str,
    *,
    driven: bool = False,
    of: Literal["motion", "equilibrium", "linearization", "assembly"] = "motion",
    threads: int | None = None,
    progress: Callable[[float, str], None] | None = None,
    **options: Any,
) -> xarray.Dataset:
    """Take numbers of many motions of a mechanism, which differ in the values of parameters.

        batch(model, {"l1": array, "m2": array}, ["final(crank.phi)", "max(abs(driving:motor))"], t_end=5)

    - `parameters`: arrays of as many values as there are motions, or one number for all; likewise start values,
      start={"crank.phi": array}.
    - `take`: as in `sweep`.
    - `driven`: the motions that drivers prescribe; `options` are those of `simulate` or `kinematics`.
    - `of`: in the place of motions, where the mechanism rests, its small motions, or how it is assembled, as
      `equilibrium`, `linearize` and `assemble` find it, point by point; take=["final(mode:1.frequency)"].
    - `threads`: so many share the motions; all that the machine has unless given.

    The dataset has the dimension `point`, a variable for each take, and `status`, `reason` and `steps` of each motion.
    Start values, scales, tolerances, steps and report rows are found for all motions at once by machine code, with the
    operations of `simulate` in their order: where the start fits the joints as it is stated, what is found is that of
    `simulate` to the last bits, else to rounding of the start. It does not depend on the number of threads. Motions
    that events, another method, a search for the start or a singular position interrupt are those of `simulate`; the
    attribute `alone` of the dataset tells how many, and why.
    """
    check_extra("xarray")
    import xarray

    if threads is not None and threads < 1:
        raise UsageError(f"{threads} is not a number of threads", "bad-value")
    texts = [take] if isinstance(take, str) else list(take)
    if not texts:
        raise UsageError("nothing is taken of the motions; write for example take=['final(crank.phi)']", "no-effect")
    check_choice("state", of, ("motion", *STATES))
    if driven and of != "motion":
        raise UsageError(f"'driven' has no effect on batches of '{of}'", "no-effect")
    mechanism = prepare(model, options.pop("coordinates", None))
    varied, fixed = _columns(parameters)
    for name in (*varied, *fixed):
        check_choice("parameter", name, mechanism.model.parameters)
    starts = options.get("start")
    if isinstance(starts, Mapping):
        also, options["start"] = _columns(starts)
        varied |= also
    _check_lengths(varied)
    names, points = [*varied], np.column_stack([*varied.values()])
    trial = Trial(mechanism.changed(fixed), tuple(map(read_take, texts)), driven, options, of)
    for name in names:
        trial.is_parameter(name)
    first = trial.first([{}, *(dict(zip(names, row, strict=True)) for row in points[:3].tolist())])
    units = trial.check_takes(first)
    found = compute(Batch.of(trial, names, first), points, threads, progress)
    columns = {text: ("point", found.records["taken"][:, j], {"units": unit})
               for j, (text, unit) in enumerate(zip(texts, units, strict=True))}  # fmt: skip
    status = np.array(STATUSES)[found.records["status"]]
    about = {"status": status, "reason": np.char.decode(found.records["reason"]), "steps": found.records["steps"]}
    data = {**columns, **{name: ("point", x) for name, x in about.items()}}
    given = {name: ("point", x) for name, x in varied.items()}
    alone = ", ".join(f"{reason} {count}" for reason, count in sorted(found.alone.items()))
    return xarray.Dataset(data, given, {"model": mechanism.model.name, "alone": alone})


def compute(
    batch: Batch, points: Array, threads: int | None, progress: Callable[[float, str], None] | None = None
) -> Block:
    """Return the records of all points, shared out in blocks as threads come for them."""
    count, together = len(points), threads or cpu_count() or 1
    size = max(1, min(batch.size, -(-count // together)))  # a share for every thread
    found: list[Block] = []
    with ThreadPoolExecutor(together) as pool:
        futures = [pool.submit(batch.compute, points[first : first + size]) for first in range(0, count, size)]
        try:
            for k, future in enumerate(futures):
                found.append(future.result())
                if progress is not None:
                    done = min((k + 1) * size, count)
                    progress(done / count, f"{done} of {count} motions")
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Block(np.concatenate([x.records for x in found]), sum((x.alone for x in found), Counter()))


def _columns(parameters: Mapping[str, Any]) -> tuple[dict[str, Array], dict[str, float]]:
    """Return arrays of one length by name, and numbers for all motions."""
    varied: dict[str, Array] = {}
    fixed: dict[str, float] = {}
    for name, given in parameters.items():
        try:
            if np.asarray(given).dtype.kind in "bc":
                raise TypeError
            values = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise UsageError(f"{given!r:.60} are not values of the parameter '{name}'", "bad-value") from None
        if values.ndim > 1:
            raise UsageError(
                f"the values of '{name}' have {values.ndim} dimensions; give one value a motion", "bad-value"
            )
        if values.ndim:
            varied[name] = values
        else:
            fixed[name] = float(values)
    return varied, fixed


def _check_lengths(varied: Mapping[str, Array]) -> None:
    lengths = {name: len(x) for name, x in varied.items()}
    if len({*lengths.values()}) != 1 or 0 in lengths.values():
        told = ", ".join(f"'{name}' has {n}" for name, n in lengths.items()) or "no parameter has an array of values"
        raise UsageError(f"as many values as motions are needed of each parameter; {told}", "bad-value")
