"""One mechanism by several formulations: what each costs and how near it comes to the true motion."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np

from linkwork.compiled.mechanism import Mechanism, prepare
from linkwork.document import MAX_BYTES, read_text
from linkwork.errors import (
    Interrupted,
    ModelError,
    NumericalStop,
    UsageError,
    check_choice,
    check_names,
    check_number,
    checked_call,
)
from linkwork.formulations import ALGEBRAIC, FORMULATIONS, Formulation, all_formulations, name_of, usual_formulations
from linkwork.integrators.integrate import Settings
from linkwork.integrators.methods import ALPHA, RADAU5, integrators
from linkwork.model import Model
from linkwork.records import Printed
from linkwork.simulation.options import STABILIZATIONS, Integrator, Ranked, Stabilization
from linkwork.simulation.simulate import simulate
from linkwork.trajectory import Trajectory

TIGHT = 1e-12  # tolerances of the reference solution
REFERENCES = ("augmented", "qr")  # the second where bodies without mass rule out the first
SHORT = 0.2  # s: of three runs so short the quickest counts
STATES = 1000  # at which one evaluation is measured at least: at fewer, calling the code takes longer than the code

Progress = Callable[[float, str], None]  # finished fraction, what is running
Moved = Callable[[float, float], None]  # the same of one run: fraction, time


@dataclass(frozen=True)
class Row:
    """How one formulation fared; without a finished motion there is only the reason.

    integration_s   processor time of the integration in compiled code, s; building and compiling the equations is not
                    part of it
    formulation_s   of that, the evaluations of the right-hand side: their number times the cost of one at states of the
                    motion, which is measured apart; None if that comes out as no part of the whole
    solver_s        the rest, which the integrator takes itself
    position_error  largest |Psi| over steps and report times, m or rad; velocity_error the same of Psi_dot
    energy_drift    largest change of kinetic + potential + dissipated - supplied energy, J
    distance        largest difference of a place from the reference solution over the report times, m
    angle           largest difference of an angle, rad; of Euler parameters twice theirs, which is the angle between
    """

    formulation: str
    status: str  # "ok", or the reason of failure
    integration_s: float | None = None
    formulation_s: float | None = None
    solver_s: float | None = None
    evaluations: int | None = None
    steps: int | None = None
    position_error: float | None = None
    velocity_error: float | None = None
    energy_drift: float | None = None
    distance: float | None = None
    angle: float | None = None
    coordinates: str = "body"

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def label(self) -> str:
        return self.formulation if self.coordinates == "body" else f"{self.formulation}, {self.coordinates}"


COLUMNS = tuple(field.name for field in fields(Row))
COSTS = ("integration_s", "formulation_s", "solver_s", "evaluations", "steps")  # which others publish too


@dataclass(frozen=True)
class Published:
    """What another program is said to need: its name there, the formulation it corresponds to, if any, and COSTS."""

    name: str
    formulation: str
    values: Mapping[str, float]
    remark: str = ""


def read_published(path: str | Path) -> tuple[Published, ...] | None:
    """Return a table of costs, a row for each method: name, formulation, any of COSTS, remark. None if it is
    another table.
    """
    if Path(path).is_file() and Path(path).stat().st_size > MAX_BYTES:
        return None  # it is no list of methods
    lines = [line for line in read_text(path).split("\n") if line.strip() and not line.startswith("#")]
    heading = [word.strip() for word in lines[0].split(",")] if lines else []
    if "formulation" not in heading:
        return None
    for name in heading:
        check_choice("column", name, ("name", "formulation", *COSTS, "remark"))
    found = []
    for line in csv.DictReader(lines[1:], heading, skipinitialspace=True):
        row = {key: (value or "").strip() for key, value in line.items() if key}
        if row["formulation"]:
            name_of(row["formulation"])
        try:
            values = {key: float(row[key]) for key in COSTS if row.get(key)}
        except ValueError as error:
            raise ModelError(str(error), "bad-table", file=str(path)) from None
        found.append(
            Published(row.get("name") or row["formulation"], row["formulation"], values, row.get("remark", ""))
        )
    return tuple(found)


@dataclass(frozen=True, repr=False)
class Comparison(Printed):
    """A row for every formulation in all coordinates, and the solution they are measured against.

    `reference` holds its settings, counts and status, `error` and `angle_error` (its distances from the solution with
    ten times larger tolerances) and `runs`, the settings of the rows, with the formulations `left_out` where none
    were named. `published` are figures of other programs.
    """

    model: str
    rows: tuple[Row, ...]
    reference: Mapping[str, Any]
    published: tuple[Published, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        others = {"published": [asdict(row) for row in self.published]} if self.published else {}
        return {"rows": [asdict(row) for row in self.rows], "reference": dict(self.reference), **others}

    def row_of(self, formulation: str) -> Row | None:
        """Return the finished row of a formulation, None if there is none."""
        return next((row for row in self.rows if row.ok and formulation in (row.formulation, row.label)), None)

    def save(self, path: str | Path) -> None:
        """Write a report, .html or .md, or the table alone, .tex."""
        from linkwork.view.comparison import write

        write(self, path)

    def _repr_html_(self) -> str:
        from linkwork.view.comparison import cell

        return cell(self)

    def __str__(self) -> str:
        from linkwork.view.comparison import as_text

        return as_text(self)


@checked_call()
def compare(
    model: Model | Mechanism,
    *,
    formulations: Sequence[str | Formulation] | None = None,
    coordinates: Sequence[str] | None = None,
    integrator: str = "auto",
    stabilization: Stabilization = "projection",
    t_end: float | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    rank_tolerance: float | None = None,
    assemble: bool = False,
    published: Sequence[Published] = (),
    progress: Progress | None = None,
) -> Comparison:
    """Run a mechanism by every formulation (or those named), in all `coordinates`, and measure cost and accuracy.

    Arguments that are None are taken from the model. A formulation that fails is a row with its reason; what concerns
    the model or the settings of all is an error. `published` are figures of other programs to be shown beside these.
    `progress` is called with the finished fraction and what is running. An interrupt ends it; the rows that were
    finished are attached to the error as `comparison`. `assemble` closes wide gaps of the start first.
    """
    check_choice("integrator", integrator, integrators())
    check_names("formulations", () if formulations is None else formulations)
    check_names("coordinates", () if coordinates is None else coordinates)
    Integrator(integrator, max_step)
    check_number("rank_tolerance", rank_tolerance or 0.0)
    if assemble:
        from linkwork.assembly.assemble import closed

        model = closed(model)
    suited = {RADAU5: tuple(dict.fromkeys((*usual_formulations(), *ALGEBRAIC))), ALPHA: ("index-3",)}
    wanted = suited.get(integrator, usual_formulations()) if formulations is None else formulations
    names = tuple(dict.fromkeys(map(name_of, wanted)))
    check_choice("stabilization", stabilization, STABILIZATIONS)
    if not names:
        raise UsageError("no formulation to compare", "no-formulation")
    stated = prepare(model).model
    settings = stated.simulation.changed(t_end, None, rtol, atol)
    Settings(settings.rtol, settings.atol)  # refuses tolerances that no run could use
    stated = replace(stated, simulation=settings)
    chosen = tuple(dict.fromkeys((settings.coordinates,) if coordinates is None else coordinates))
    mechanisms = [prepare(stated, name) for name in chosen]
    if not mechanisms:
        raise UsageError("no coordinates to compare", "no-coordinates")

    runs = len(names) * len(mechanisms) + 2
    kinds = ", ".join(mechanism.equations.chart.kind for mechanism in mechanisms)
    how: dict[str, Any] = {"coordinates": kinds, "integrator": integrator, "stabilization": stabilization}
    how |= {"rtol": settings.rtol, "atol": settings.atol, "rank_tolerance": rank_tolerance}
    how["left_out"] = [] if formulations is not None else [name for name in all_formulations() if name not in names]
    rows: list[Row] = []
    reference: dict[str, Any] = {"status": "it was not reached", "t_end": settings.t_end}
    choices: dict[str, Any] = {"integrator": Integrator(integrator, max_step), "stabilization": stabilization}
    try:
        truth, reference = _reference(mechanisms[0], lambda k: _share(progress, k, runs, "reference"))
        for k, (mechanism, name) in enumerate(product(mechanisms, names), start=2):
            is_ranked = rank_tolerance is not None and name in FORMULATIONS
            by = Ranked(name, cast(float, rank_tolerance)) if is_ranked else name
            run = partial(simulate, mechanism, formulation=by, **choices)
            rows.append(_row(mechanism, name, run, truth, _share(progress, k, runs, name)))
    except Interrupted as stop:  # a part of one motion, which comes with it, is no result here
        found = Comparison(stated.name, tuple(rows), {**reference, "runs": how}, tuple(published))
        raise Interrupted(f"the comparison was {stop.message}", comparison=found) from None
    return Comparison(stated.name, tuple(rows), {**reference, "runs": how}, tuple(published))


def _reference(mechanism: Mechanism, moved: Callable[[int], Moved]) -> tuple[Trajectory | None, dict[str, Any]]:
    """Run with tolerances TIGHT and tell how far that can be trusted; None and the reason if it fails."""
    info: dict[str, Any] = {"model": mechanism.model.name, "rtol": TIGHT, "atol": TIGHT}
    info["t_end"] = mechanism.model.simulation.t_end
    massless: ModelError | None = None
    for name in REFERENCES:
        try:
            looser = simulate(mechanism, formulation=name, rtol=10 * TIGHT, atol=10 * TIGHT, progress=moved(0))
            truth = simulate(mechanism, formulation=name, rtol=TIGHT, atol=TIGHT, progress=moved(1))
        except NumericalStop as stop:
            return None, {**info, "formulation": name, "status": str(stop)}
        except ModelError as error:
            if error.code != "zero-mass":
                raise
            massless = error
            continue
        kept = ("formulation", "stabilization", "integrator", "step", "steps", "evaluations", "dof", "redundant")
        info |= {key: getattr(truth.info, key) for key in kept}
        known = zip(("error", "angle_error"), _distances(looser, truth), strict=True)
        return truth, {**info, "status": "ok", **dict(known)}
    assert massless is not None
    raise massless


def _row(
    mechanism: Mechanism, name: str, run: Callable[..., Trajectory], truth: Trajectory | None, moved: Moved
) -> Row:
    try:
        motion = run(progress=moved)
        again = 2 if motion.info.integration_s < SHORT else 0
        runs = [motion, *(run() for _ in range(again))]
        finer = runs  # report times do not change the steps
        if len(motion.t) < STATES:
            step = mechanism.model.simulation.t_end / STATES
            finer = [run(step=step) for _ in range(1 + again)]
    except (ModelError, NumericalStop, UsageError) as error:
        return Row(name, str(error), coordinates=mechanism.equations.chart.kind)
    info = motion.info
    integration_s = min(own.info.integration_s for own in runs)
    inside = info.evaluations * min(own.info.evaluation_s for own in finer)
    formulation_s = inside if inside < integration_s else None
    distance, angle = (None, None) if truth is None else _distances(motion, truth)
    return Row(
        formulation=name,
        status="ok",
        integration_s=integration_s,
        formulation_s=formulation_s,
        solver_s=None if formulation_s is None else integration_s - formulation_s,
        evaluations=info.evaluations,
        steps=info.steps,
        position_error=info.constraint_error_position,
        velocity_error=info.constraint_error_velocity,
        energy_drift=float(np.max(np.abs(motion.drift()))),
        distance=distance,
        angle=angle,
        coordinates=info.coordinates,
    )


def _distances(motion: Trajectory, truth: Trajectory) -> tuple[float, float]:
    """Return the largest differences of places and of angles of the bodies over the report times.

    Between the attitudes e and e' of Euler parameters lies the angle 2 acos(e . e'), to first order 2 |e - e'|.
    """
    off, units = np.abs(motion.q - truth.q), np.array(motion.tables["q"].columns.units)
    of = {unit: float(np.max(off[:, units == unit], initial=0.0)) for unit in ("m", "rad", "1")}
    return of["m"], max(of["rad"], 2.0 * of["1"])


def _share(progress: Progress | None, k: int, runs: int, what: str) -> Moved:
    """Report the progress of one run as a part of all; compiling, which can take longest, comes before t = 0."""

    def moved(fraction: float, t: float) -> None:
        if progress is not None:
            progress((k + fraction) / runs, f"{what}, t = {t:.4g} s" if t > 0.0 else f"{what}, compiling")

    moved(0.0, 0.0)
    return moved
