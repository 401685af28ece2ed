"""Commands that compute many motions."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from linkwork.cli.app import (
    Assemble,
    Atol,
    Coordinates,
    Integrator,
    Json,
    MaxSteps,
    ModelArgument,
    Rtol,
    Set,
    Stabilization,
    Step,
    TEnd,
    Texts,
    WithChoices,
    app,
    output_option,
)
from linkwork.cli.motions import located, overrides, started, tell, writable
from linkwork.errors import Interrupted, UsageError

PARTLY_DONE = 5  # exit code
MANY = 10**7  # points that are asked about before they are begun


@app.command(cls=WithChoices)
def sweep(
    model: ModelArgument,
    vary: Annotated[
        Texts,
        Option(
            metavar="NAME=VALUES",
            help="Vary a parameter: l1=0.6:1.4:9, l1=10cm,20cm; with --sample also a range "
            "l1=0.6:1.4 or a distribution l1=0.8+-0.01; repeatable.",
        ),
    ] = None,
    take: Annotated[
        Texts,
        Option(
            metavar="REDUCTION",
            help="Take a number of each motion: 'final(crank.phi)', 'max(abs(driving:motor))'; "
            "first, final, max, min, range, mean, rms, integral, time and count of events; repeatable.",
        ),
    ] = None,
    sample: Annotated[
        str | None,
        Option(metavar="HOW:COUNT", help="Samples in place of all combinations: sobol:4096, lhs:500, random:1000."),
    ] = None,
    seed: Annotated[int, Option(metavar="N", help="Of the samples.")] = 0,
    driven: Annotated[bool, Option("--kinematics", help="Move as drivers prescribe, without dynamics.")] = False,
    workers: Annotated[
        int | None, Option(metavar="N", help="Processes that share the points.  [default: all cores]")
    ] = None,
    output: Annotated[Path | None, output_option("Results, .nc; --resume goes on where a killed sweep ended.")] = None,
    resume: Annotated[bool, Option("--resume", help="Go on with the points that FILE.part does not have yet.")] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask about many points.")] = False,
    set_: Set = None,
    t_end: TEnd = None,
    step: Step = None,
    rtol: Rtol = None,
    atol: Atol = None,
    max_steps: MaxSteps = None,
    assemble: Assemble = False,
    coordinates: Coordinates = None,
    formulation: Annotated[str | None, Option(metavar="NAME", help="Formulation of the equations")] = None,
    stabilization: Stabilization = None,
    integrator: Integrator = None,
    json: Json = False,
) -> None:
    """Compute a mechanism at many points of its parameters.

    linkwork sweep slider_crank --vary l1=0.5:1.5:101 --take 'max(reaction:A)' -o sweep.nc && linkwork plot sweep.nc

    A point whose motion stops, or cannot be assembled, is a row with its reason; the exit code is then 5.
    """
    from linkwork.simulation.options import Integrator as By
    from linkwork.simulation.options import Start
    from linkwork.studies.points import read_points
    from linkwork.studies.sweep import sweep
    from linkwork.view.report import progress
    from linkwork.view.studies import study_lines, summarize

    varied = overrides(vary, "vary", "l1=0.6:1.4:9")
    points = read_points(varied, sample, seed)
    if resume and output is None:
        raise UsageError("--resume goes on with the file of -o, which is missing", "no-effect")
    if points.count > MANY and not yes:
        _ask(points.count)
    files = [] if output is None else writable([output], (".nc",))
    given: dict[str, Any] = {"t_end": t_end, "step": step, "coordinates": coordinates}
    of_motion = {"rtol": rtol, "atol": atol, "formulation": formulation, "stabilization": stabilization}
    if driven:
        if wrong := [name for name, x in {**of_motion, "integrator": integrator}.items() if x is not None]:
            raise UsageError(f"--{wrong[0]} has no effect with --kinematics", "no-effect")
        given |= {"max_steps": max_steps}
    else:
        limits = {"max_steps": max_steps} if max_steps is not None else {}
        given |= of_motion
        given |= {"integrator": By(integrator or "auto", **limits) if integrator or limits else None}
    options = {name: x for name, x in given.items() if x is not None}
    if assemble:
        options |= {"assemble": True} if driven else {"start": Start(assemble=True)}
    mechanism = started(model, set_, None, None)
    count = workers if workers is not None else os.cpu_count() or 1
    with located(model), progress(mechanism.name) as move:
        try:
            found = sweep(
                mechanism, varied, take or [], sample=sample, seed=seed, driven=driven, workers=count, path=output,
                resume=resume, progress=move, **options,
            )  # fmt: skip
        except KeyboardInterrupt:
            kept = "" if output is None else f"; what was computed is in {output}.part, go on with --resume"
            raise Interrupted(f"interrupted{kept}") from None
    data = summarize(found)
    tell(data, study_lines(data), files, json)
    if data["reasons"]:
        raise typer.Exit(PARTLY_DONE)


def _ask(count: int) -> None:
    message = f"{count} points would be computed"
    if not sys.stdin.isatty():
        raise UsageError(f"{message}; say --yes if that is meant, or take samples", "many-points")
    if not typer.confirm(f"{message}. Begin?", err=True):
        raise Interrupted("nothing was computed")
