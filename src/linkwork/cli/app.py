"""The application, and the arguments and options that commands share."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

import typer
from typer import Argument, Option
from typer.core import TyperCommand

app = typer.Typer(
    help="Multibody dynamics of mechanisms. A MODEL is a model file, or a name from `linkwork list`.",
    epilog="Exit codes: 0 done, 2 usage error, 3 model error, 4 numerical stop, 70 fault of linkwork, 130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class WithChoices(TyperCommand):
    """A command whose help names the choices and defaults of `simulate`, looked up only when it is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from inspect import signature

        from linkwork.equations.coordinates import COORDINATES
        from linkwork.formulations import all_formulations
        from linkwork.integrators.methods import integrators
        from linkwork.lecture.explain import METHODS
        from linkwork.simulation.options import STABILIZATIONS
        from linkwork.simulation.simulate import simulate

        choices = {
            "coordinates": COORDINATES,
            "formulation": METHODS if ctx.info_name == "explain" else all_formulations(),
            "formulations": all_formulations(),
            "stabilization": STABILIZATIONS,
            "integrator": integrators(),
        }
        defaults = {p.name: p.default for p in signature(simulate).parameters.values() if p.kind is p.KEYWORD_ONLY}
        told = copy(self)  # the command itself stays as it is, and may be asked again
        told.params = [copy(option) for option in self.params]
        for option in cast(Any, told.params):
            if option.name in choices:
                option.help += f": {', '.join(choices[option.name])}"
            if option.default is None and defaults.get(option.name):
                option.help += f"  [default: {defaults[option.name]}]"
        super(WithChoices, told).format_help(ctx, formatter)


Texts: TypeAlias = list[str] | None
Files: TypeAlias = list[Path] | None


def output_option(text: str) -> Any:
    return Option("--output", "-o", metavar="FILE", help=text)


def seconds(text: str) -> float:
    """A time as model files have it: a number of seconds, or with a unit."""
    from linkwork.errors import ModelError
    from linkwork.units import TIME, quantity

    with suppress(ValueError):
        return float(text)
    try:
        value = quantity(text, TIME)
    except ModelError as error:
        raise typer.BadParameter("; ".join(filter(None, (error.message, error.suggestion)))) from None
    if value is None:
        raise typer.BadParameter(f"'{text}' is not a time; write seconds, or a unit as in 500ms")
    return value


def time_option(text: str) -> Any:
    return Option(metavar="SECONDS", parser=seconds, help=text)


ModelArgument = Annotated[str, Argument(metavar="MODEL", help="A model file or the name of a mechanism.")]
Set = Annotated[Texts, Option("--set", metavar="NAME=VALUE", help="Change a parameter, as l=35cm; repeatable.")]
Input = Annotated[
    Texts,
    Option(
        "--input",
        metavar="NAME=VALUE",
        help="Value of an input: a number, a formula of t, or a table of times and values, u=motor.csv; repeatable.",
    ),
]
Weights = Annotated[
    str | None,
    Option(
        metavar="mass|unit|plain|none",
        help="Start corrections: weighted by mass, by size alone, the least change of the coordinates over any gap, or "
        "none; folders of DAP are corrected as DAP does it.",
    ),
]
Assemble = Annotated[bool, Option("--assemble", help="Close start gaps of any size; without it, small ones only.")]
Coordinates = Annotated[str | None, Option(metavar="NAME", help="Coordinates, instead of the model's")]
Cut = Annotated[
    Texts, Option(metavar="JOINT", help="Close a loop at this joint (not in body coordinates); repeatable.")
]
Mode = Annotated[int | None, Option(metavar="K", help="Start in assembly mode K of `linkwork assemble MODEL --all`.")]
Keep = Annotated[
    Texts, Option(metavar="NAME", help="Do not correct the start value of this coordinate (crank.phi); repeatable.")
]
Start = Annotated[
    Texts, Option(metavar="NAME=VALUE", help="Start value of a joint or body coordinate, as A=30deg; repeatable.")
]
Rate = Annotated[
    Texts, Option(metavar="NAME=VALUE", help="Start rate of a joint or body coordinate, as A=2; repeatable.")
]
Repair = Annotated[
    Texts, Option(metavar="inertia", help="Replace an impossible inertia by the nearest possible one, with a note.")
]
TEnd = Annotated[float | None, time_option("End of the motion; or with a unit, 500ms.")]
Step = Annotated[float | None, time_option("Time between report times.")]
Rtol = Annotated[float | None, Option(metavar="NUMBER", help="Relative tolerance.")]
Atol = Annotated[
    float | None,
    Option(metavar="NUMBER", help="Absolute tolerance, in rad and m; for mechanisms below 1 m, in their size."),
]
MaxStep = Annotated[float | None, time_option("Longest step; unless given, the whole motion.")]
MaxSteps = Annotated[int | None, Option(metavar="N", help="Stop after N attempted steps.")]
Stabilization = Annotated[str | None, Option(metavar="NAME", help="How the constraints are kept")]
Integrator = Annotated[str | None, Option(metavar="NAME", help="Integration method")]
With = Annotated[
    Files,
    Option("--with", metavar="FILE", help="Show the differences from a table of another program, .csv; repeatable."),
]
Column = Annotated[
    Texts,
    Option(
        metavar="COLUMN=QUANTITY",
        help="What a column of --with is, as A_x=boom.A.x; '{}_x={}.vx' of many, '-' turns the sign; repeatable.",
    ),
]
RankTolerance = Annotated[
    float | None,
    Option(metavar="NUMBER", help="Pivots and singular values below this part of the largest are zero."),
]
Motions = Annotated[
    Files, output_option("Write .nc, .csv, .xlsx, .parquet, .mat, .html, .png, .svg or .pdf; repeatable.")
]
Units = Annotated[
    str | None, Option(metavar="UNIT,...", help="Show results in other units, as deg,mm; the model may say so too.")
]
Json = Annotated[bool, Option("--json", help="Print one JSON object instead of text.")]


def _version(wanted: bool) -> None:
    if wanted:
        from linkwork import __version__

        print(f"linkwork {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def linkwork(
    context: typer.Context,
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    plugins: Annotated[
        Files, Option(metavar="FILE", help="Run a Python file with own joints, forces or methods first; repeatable.")
    ] = None,
) -> None:
    if plugins:
        from linkwork.own import load_plugins

        load_plugins(plugins)
    if context.invoked_subcommand is None:
        print(context.get_help())
