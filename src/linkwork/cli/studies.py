"""Commands that compute many motions."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from linkwork.cli.app import (
    Assemble,
    Atol,
    Coordinates,
    Files,
    Formulation,
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
    command,
    output_option,
)
from linkwork.cli.motions import located, overrides, started, tell, writable
from linkwork.errors import Interrupted, UsageError

PARTLY_DONE = 5  # exit code
MANY = 10**7  # points that are asked about before they are begun


@command(
    "linkwork sweep slider_crank --vary l1=0.6:1.4:5 --take 'max(reaction:A)' --t-end 1s -o sweep.nc",
    "linkwork sweep slider_crank --vary l1=0.8+-0.01 --sample lhs:20 --take 'final(slider.x)' --t-end 1s --json",
)
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
    seed: Annotated[int | None, Option(metavar="N", help="Seed of the samples.  [default: 0]")] = None,
    driven: Annotated[bool, Option("--kinematics", help="Move as drivers prescribe, without dynamics.")] = False,
    workers: Annotated[
        int | None, Option(metavar="N", help="Processes that share the points.  [default: all cores]")
    ] = None,
    dask: Annotated[
        str | None, Option(metavar="ADDRESS", help="Share them with a Dask cluster: tcp://host:8786.")
    ] = None,
    output: Annotated[Path | None, output_option("Results, .nc; --resume goes on where a killed sweep ended.")] = None,
    resume: Annotated[bool, Option("--resume", help="Go on with the points that FILE.part does not have yet.")] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask about many points, or before results are replaced.")] = False,
    set_: Set = None,
    t_end: TEnd = None,
    step: Step = None,
    rtol: Rtol = None,
    atol: Atol = None,
    max_steps: MaxSteps = None,
    assemble: Assemble = False,
    coordinates: Coordinates = None,
    formulation: Formulation = None,
    stabilization: Stabilization = None,
    integrator: Integrator = None,
    json: Json = False,
) -> None:
    """Compute a mechanism at many points of its parameters.

    linkwork sweep slider_crank --vary l1=0.5:1.5:101 --take 'max(reaction:A)' -o sweep.nc && linkwork plot sweep.nc

    In the place of a model there may be a study: a YAML file with `study: 1`, `model: slider_crank` and keys named as
    the options, `vary: {l1: 0.5:1.5:101}`, `take: [max(reaction:A)]`, `t_end: 1 s`.

    A point whose motion stops, or cannot be assembled, is a row with its reason; the exit code is then 5.
    """
    from linkwork.studies.points import read_points
    from linkwork.studies.study_file import StudyFile, is_study_file, read_study
    from linkwork.studies.sweep import carry_out
    from linkwork.studies.table import open_study
    from linkwork.view.report import progress
    from linkwork.view.studies import study_lines, summarize

    given: dict[str, Any] = {
        "take": take, "sample": sample, "seed": seed, "kinematics": driven, "workers": workers, "dask": dask,
        "assemble": assemble, "t_end": t_end, "step": step, "rtol": rtol, "atol": atol, "max_steps": max_steps,
        "coordinates": coordinates, "formulation": formulation, "stabilization": stabilization,
        "integrator": integrator,
    }  # fmt: skip
    varied: dict[str, Any] = {**overrides(vary, "vary", "l1=0.6:1.4:9")}
    told: StudyFile | None = None
    if is_study_file(model):
        told = read_study(model, [*given])
        given, varied, model = told.fill(given), {**told.vary, **varied}, told.model
        set_ = [*(f"{name}={x}" for name, x in told.set.items() if name not in overrides(set_)), *(set_ or ())]
    with told.told() if told else nullcontext():
        points = read_points(varied, given["sample"], given["seed"] or 0)
        if resume and output is None:
            raise UsageError("--resume goes on with the file of -o, which is missing", "no-effect")
        if points.count > MANY and not yes:
            _ask(
                f"{points.count} points would be computed", "say --yes if that is meant, or take samples", "many-points"
            )
        if output is not None and output.exists() and not (yes or resume):
            _ask(f"'{output}' exists and would be replaced", "say --yes, or name another file", "output-exists")
        files = [] if output is None else writable([output], (".nc",))
        of_motion = {name: given[name] for name in ("rtol", "atol", "formulation", "stabilization", "integrator")}
        limits = [given[name] for name in ("assemble", "t_end", "step", "coordinates", "max_steps")]
        options = options_of(given["kinematics"], *limits, **of_motion)
        mechanism = started(model, set_, None, None)
        count = given["workers"] or os.cpu_count() or 1
        with located(model), progress(mechanism.name) as move:
            try:
                found = carry_out(
                    mechanism, varied, given["take"] or [], sample=given["sample"], seed=given["seed"] or 0,
                    driven=given["kinematics"], workers=count, dask=given["dask"], path=output, resume=resume,
                    progress=move, **options,
                )  # fmt: skip
            except KeyboardInterrupt:
                kept = "" if output is None else f"; what was computed is in {output}.part, go on with --resume"
                raise Interrupted(f"interrupted{kept}") from None
    if output is None:
        assert found is not None
        data = summarize(found.as_dataset())
    else:
        with open_study(output) as study:
            data = summarize(study)
    tell(data, study_lines(data), files, json)
    if data["reasons"]:
        raise typer.Exit(PARTLY_DONE)


def options_of(
    driven: bool,
    assemble: bool,
    t_end: float | None,
    step: float | None,
    coordinates: str | None,
    max_steps: int | None,
    **of_motion: Any,
) -> dict[str, Any]:
    """Return options of `kinematics`, or of `simulate`, that are given."""
    from linkwork.simulation.options import Integrator as By
    from linkwork.simulation.options import Start

    given: dict[str, Any] = {"t_end": t_end, "step": step, "coordinates": coordinates}
    if driven:
        if wrong := [name for name, x in of_motion.items() if x is not None]:
            raise UsageError(f"--{wrong[0]} has no effect with --kinematics", "no-effect")
        given |= {"max_steps": max_steps, "assemble": assemble or None}
    else:
        method, limits = of_motion.pop("integrator"), {} if max_steps is None else {"max_steps": max_steps}
        given |= {**of_motion, "integrator": By(method or "auto", **limits) if method or limits else None}
        given |= {"start": Start(assemble=True) if assemble else None}
    return {name: x for name, x in given.items() if x is not None}


def _ask(message: str, hint: str, code: str) -> None:
    if not sys.stdin.isatty():
        raise UsageError(f"{message}; {hint}", code)
    if not typer.confirm(f"{message}. Begin?", err=True):
        raise Interrupted("nothing was computed")


@command(
    "linkwork optimize slider_crank_driven --kinematics --vary l1=0.5:1.5 --minimize 'max(abs(slider.ax))' "
    "--subject 'range(slider.x) > 1.5 m' -o best.yaml",
)
def optimize(
    model: ModelArgument,
    vary: Annotated[
        Texts, Option(metavar="NAME=LOW:HIGH", help="Range of a parameter, l1=0.5m:2m; repeatable.")
    ] = None,
    minimize: Annotated[
        str | None, Option(metavar="REDUCTION", help="What is to be least: 'max(abs(driving:motor))', as in sweep.")
    ] = None,
    maximize: Annotated[str | None, Option(metavar="REDUCTION", help="What is to be largest instead.")] = None,
    subject: Annotated[
        Texts, Option(metavar="LIMIT", help="What must hold: 'range(slider.x) > 30 cm'; repeatable.")
    ] = None,
    local: Annotated[bool, Option("--local", help="Go down from the stated design; do not look everywhere.")] = False,
    multistart: Annotated[bool, Option("--multistart", help="Go down from many designs, in place of looking.")] = False,
    seed: Annotated[int | None, Option(metavar="N", help="Seed of the search.")] = None,
    driven: Annotated[bool, Option("--kinematics", help="Move as drivers prescribe, without dynamics.")] = False,
    output: Annotated[
        Files, output_option("Write the best design, .yaml or .json, or a page of it beside the stated one, .html.")
    ] = None,
    set_: Set = None,
    t_end: TEnd = None,
    step: Step = None,
    rtol: Rtol = None,
    assemble: Assemble = False,
    coordinates: Coordinates = None,
    json: Json = False,
) -> None:
    """Find the values of parameters for which something is least or largest, in a model or by a study file.

    The keys of a study are the options: `vary: {l1: [0.5 m, 2 m]}`, `minimize: max(abs(driving:motor))`.
    Designs that cannot be assembled, or whose motion stops, are not chosen.
    """
    from linkwork.document import save
    from linkwork.modelfile import SUFFIXES, build, find, with_parameters
    from linkwork.studies.optimize import optimize
    from linkwork.studies.study_file import StudyFile, is_study_file, read_study
    from linkwork.view.page import check_built, write
    from linkwork.view.report import progress
    from linkwork.view.studies import design_facts, optimum_lines

    given: dict[str, Any] = {
        "minimize": minimize, "maximize": maximize, "subject": subject, "local": local, "multistart": multistart,
        "seed": seed, "kinematics": driven, "assemble": assemble, "t_end": t_end, "step": step, "rtol": rtol,
        "coordinates": coordinates,
    }  # fmt: skip
    ranges: dict[str, Any] = {**overrides(vary, "vary", "l1=0.5:2")}
    told: StudyFile | None = None
    if is_study_file(model):
        told = read_study(model, [*given])
        given, ranges, model = told.fill(given), {**told.vary, **ranges}, told.model
        set_ = [*(f"{name}={x}" for name, x in told.set.items() if name not in overrides(set_)), *(set_ or ())]
    with told.told() if told else nullcontext():
        document, changes = find(model), overrides(set_)
        files = writable(output or (), (*SUFFIXES, ".html"))
        if pages := [file for file in files if file.suffix.lower() == ".html"]:
            check_built()
        limits = [*(given[name] for name in ("assemble", "t_end", "step", "coordinates")), None]
        options = options_of(given["kinematics"], *limits, rtol=given["rtol"], integrator=None)
        if given["local"] and given["multistart"]:
            raise UsageError("'local' begins at the stated design, 'multistart' at many; choose one", "no-effect")
        method = "local" if given["local"] else "multistart" if given["multistart"] else "global"
        early: Interrupted | None = None
        try:
            with located(model), progress(str(document.data.get("name", model))) as move:
                found = optimize(
                    build(document, changes), ranges, given["minimize"], maximize=given["maximize"],
                    subject=given["subject"] or (), seed=given["seed"] or 0, method=method, driven=given["kinematics"],
                    progress=move, **options,
                )  # fmt: skip
        except Interrupted as end:  # the best so far is shown
            if "optimum" not in end.attached:
                raise
            found, early = end.attached.pop("optimum"), end
    for file in files:
        if file in pages:
            designs = [x for x in (found.before, found.best) if not x.reason]
            labels, about = ["as stated", "best"][-len(designs) :], [design_facts(found, x) for x in designs]
            write([found.motion(x) for x in designs], file, labels, about=about)
        else:
            save(with_parameters(document, {**changes, **found.values}).data, file)
    tell(found.as_dict(), optimum_lines(found), files, json)
    if early is not None:
        raise early
