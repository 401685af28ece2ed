"""Commands that tell how a mechanism depends on its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from linkwork.cli.app import (
    Assemble,
    Atol,
    Coordinates,
    Files,
    Json,
    ModelArgument,
    Rtol,
    Set,
    Step,
    TEnd,
    Texts,
    command,
    output_option,
)
from linkwork.cli.motions import located, overrides, started, tell, writable
from linkwork.errors import UsageError


@command(
    "linkwork sensitivity slider_crank_driven --kinematics --of 'max(abs(driving:motor))' --to l1,l2",
    "linkwork sensitivity slider_crank --of 'final(crank.phi)' --to omega,m2 --tolerance l1=1mm --t-end 1s",
)
def sensitivity(
    model: ModelArgument,
    of: Annotated[
        Texts,
        Option(metavar="REDUCTION", help="A number of the motion: 'max(abs(driving:motor))', as in sweep; repeatable."),
    ] = None,
    to: Annotated[
        Texts,
        Option(
            metavar="NAMES",
            help="Parameters, k,c,l1, or numbers by their places, crank.mass; unless given, all that the model names.",
        ),
    ] = None,
    tolerance: Annotated[
        Texts, Option(metavar="NAME=SIZE", help="How far a parameter may be off, l1=0.1mm; repeatable.")
    ] = None,
    driven: Annotated[bool, Option("--kinematics", help="Move as drivers prescribe, without dynamics.")] = False,
    set_: Set = None,
    t_end: TEnd = None,
    step: Step = None,
    rtol: Rtol = None,
    atol: Atol = None,
    assemble: Assemble = False,
    coordinates: Coordinates = None,
    json: Json = False,
) -> None:
    """Tell how numbers taken of a motion depend on parameters: exact derivatives, elasticities, tolerances.

    Largest and least values are located between report times; the derivative is that at their time.
    """
    from linkwork.simulation.options import Start
    from linkwork.studies.slopes import slopes
    from linkwork.view.studies import slope_lines

    tolerances = _sizes(tolerance, "tolerance", "l1=0.1mm")
    names = [name.strip() for text in to or () for name in text.split(",") if name.strip()]
    options: dict[str, Any] = {"t_end": t_end, "step": step, "rtol": rtol, "atol": atol, "coordinates": coordinates}
    with located(model):
        given = {name: x for name, x in options.items() if x is not None}
        made, start = started(model, set_, None, None), Start(assemble=assemble)
        found = slopes(made, of or [], names, tolerances, driven=driven, start=start, **given)
    tell(found.as_dict(), slope_lines(found.as_dict()), [], json)


@command(
    "linkwork fit slider_crank measured.csv --vary m2=0.5:2 --vary J2=3:8 -o fitted.yaml",
    name="fit",
)
def fit_command(
    model: ModelArgument,
    measured: Annotated[
        Path | None,
        Argument(
            metavar="TABLE", help="Times t and columns named as results are; .csv or text. A study names its own."
        ),
    ] = None,
    vary: Annotated[Texts, Option(metavar="NAME=LOW:HIGH", help="Range of a parameter, c=0:2; repeatable.")] = None,
    deviation: Annotated[
        Texts, Option(metavar="NAME=SIZE", help="Deviation of the errors of a column, crank.phi=0.1deg; repeatable.")
    ] = None,
    driven: Annotated[bool, Option("--kinematics", help="Move as drivers prescribe, without dynamics.")] = False,
    output: Annotated[
        Files, output_option("Write the fitted model, .yaml or .json, or a plot beside what is measured, .png.")
    ] = None,
    set_: Set = None,
    rtol: Rtol = None,
    atol: Atol = None,
    coordinates: Coordinates = None,
    json: Json = False,
) -> None:
    """Identify parameters from a measured motion, with confidence intervals.

    The search begins at the values of the model and follows exact derivatives; the intervals hold by 95% if the errors
    of what is measured are random. A study has the options as keys, `vary: {c: [0, 2]}`, and the table beside it,
    `fit: {motion: swing.csv, deviations: {rod.phi: 0.1 deg}, confidence: 0.99}`.
    """
    from linkwork.document import save
    from linkwork.modelfile import SUFFIXES, build, find, with_parameters
    from linkwork.studies.fit import fit
    from linkwork.studies.study_file import StudyFile, is_study_file, read_study
    from linkwork.view.report import progress
    from linkwork.view.studies import fit_lines, plot_fit

    given: dict[str, Any] = {"kinematics": driven, "rtol": rtol, "atol": atol, "coordinates": coordinates}
    ranges: dict[str, Any] = {**overrides(vary, "vary", "c=0:2")}
    changes, deviations = overrides(set_), _sizes(deviation, "deviation", "crank.phi=0.1deg")
    told: StudyFile | None = None
    confidence: dict[str, float] = {}
    if is_study_file(model):
        told = read_study(model, ["fit", *given])
        data = told.fit
        given, ranges, changes = told.fill(given), {**told.vary, **ranges}, {**told.set, **changes}
        measured, deviations, model = measured or data.table, {**data.deviations, **deviations}, told.model
        confidence = {} if data.confidence is None else {"confidence": data.confidence}
    if measured is None:
        raise UsageError("name the table of a measured motion, or a study that does", "no-effect")
    with told.told() if told else nullcontext():
        document = find(model)
        files = writable(output or (), (*SUFFIXES, ".png", ".svg", ".pdf"))
        options = {name: given[name] for name in ("rtol", "atol", "coordinates") if given[name] is not None}
        with located(model), progress(str(document.data.get("name", model))) as move:
            found = fit(
                build(document, changes), measured, ranges, deviations=deviations, driven=given["kinematics"],
                progress=move, **confidence, **options,
            )  # fmt: skip
    for file in files:
        if file.suffix in SUFFIXES:
            save(with_parameters(document, {**changes, **found.values}).data, file)
        else:
            plot_fit(found).savefig(file)
    tell(found.as_dict(), fit_lines(found.as_dict()), files, json)


def _sizes(given: Sequence[str] | None, option: str, example: str) -> dict[str, float]:
    """Read NAME=SIZE texts, sizes in SI."""
    from linkwork import units

    found = dict[str, float]()
    for name, text in overrides(given, option, example).items():
        size = units.quantity(text, None)
        if size is None:
            raise UsageError(f"--{option} {name}={text}: no number, and no number with a unit", "bad-value")
        found[name] = size
    return found
