"""The application, and the arguments and options that commands share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, cast

import typer
from typer import Argument, Option
from typer.core import TyperCommand

from linkwork.cli import completion

app = typer.Typer(
    help="Multibody dynamics of mechanisms. A MODEL is a model file, or a name from `linkwork list`.",
    epilog="Exit codes: 0 done, 2 usage error, 3 model error, 4 numerical stop, 5 partly done, 70 fault of linkwork, "
    "130 interrupted.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Command(TyperCommand):
    """A command whose help has its options in groups, names the choices and defaults of `simulate`, and ends with
    examples. Choices are looked up only when the help is shown."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces = []
        for argument in self._arguments():
            name = f"{argument.metavar}{'...' if argument.nargs != 1 else ''}".strip("[]")
            pieces.append(name if argument.required else f"[{name}]")
        return [*pieces, "[OPTIONS]"]

    def _arguments(self) -> list[Any]:
        return [x for x in self.params if x.param_type_name == "argument"]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from inspect import signature

        from linkwork.simulation.simulate import simulate

        defaults = {p.name: p.default for p in signature(simulate).parameters.values() if p.kind is p.KEYWORD_ONLY}
        told = copy(self)  # the command itself stays as it is, and may be asked again
        told.params = [copy(option) for option in self.params]
        for option in cast(Any, told.params):
            if option.name in completion.CHOICES:
                option.help += f": {', '.join(completion.all_choices(option.name, ctx.info_name))}"
            if option.default is None and defaults.get(option.name):
                option.help += f"  [default: {defaults[option.name]}]"
        super(Command, told).format_help(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[Any]] = {}
        if found := [(x.metavar.strip("[]"), x.help) for x in self._arguments()]:
            sections["Arguments"] = found
        for option in cast(Any, self.get_params(ctx)):
            if option.param_type_name == "option" and not option.hidden:
                group = getattr(option, "rich_help_panel", None) or "Options"
                sections.setdefault(group, []).append(option.get_help_record(ctx))
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Examples"):
            for line in (self.epilog or "").split("\n"):
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


F = TypeVar("F", bound=Callable[..., Any])


def command(*examples: str, name: str | None = None) -> Callable[[F], F]:
    """Make a function a command; the examples stand at the end of its help."""
    return app.command(name, cls=Command, epilog="\n".join(examples))


Texts: TypeAlias = list[str] | None
Files: TypeAlias = list[Path] | None


def output_option(text: str) -> Any:
    return Option("--output", "-o", metavar="FILE", help=text)


def seconds(text: str) -> float:
    """Return a time as model files have it: a number of seconds, or with a unit."""
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


def time_option(text: str, group: str | None = None) -> Any:
    return Option(metavar="SECONDS", parser=seconds, help=text, rich_help_panel=group)


# Headings of the groups in which commands with many options show those that a first run does not need.
START, METHOD, ACCURACY, OTHERS = "Start values", "Coordinates and methods", "Accuracy", "Other programs"

ModelArgument = Annotated[
    str,
    Argument(
        metavar="MODEL", help="A model file or the name of a mechanism.", autocompletion=completion.complete_model
    ),
]
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
        help="Correct the start weighted by mass, by size alone, by the least change of the coordinates over any gap, "
        "or not at all; folders of DAP are corrected as DAP does it.",
        rich_help_panel=START,
    ),
]
Assemble = Annotated[bool, Option("--assemble", help="Close start gaps of any size; without it, small ones only.")]
Coordinates = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Coordinates, instead of the model's",
        rich_help_panel=METHOD,
        autocompletion=completion.completing("coordinates"),
    ),
]
Cut = Annotated[
    Texts,
    Option(
        metavar="JOINT",
        help="Close a loop at this joint (not in body coordinates); repeatable.",
        rich_help_panel=METHOD,
    ),
]
Mode = Annotated[
    int | None,
    Option(metavar="K", help="Start in assembly mode K of `linkwork assemble MODEL --all`.", rich_help_panel=START),
]
Keep = Annotated[
    Texts,
    Option(
        metavar="NAME",
        help="Do not correct the start value of this coordinate (crank.phi); repeatable.",
        rich_help_panel=START,
    ),
]
Start = Annotated[
    Texts,
    Option(
        metavar="NAME=VALUE",
        help="Start value of a joint or body coordinate, as A=30deg; repeatable.",
        rich_help_panel=START,
    ),
]
Rate = Annotated[
    Texts,
    Option(
        metavar="NAME=VALUE",
        help="Start rate of a joint or body coordinate, as A=2; repeatable.",
        rich_help_panel=START,
    ),
]
Repair = Annotated[
    Texts,
    Option(
        metavar="inertia",
        help="Replace an impossible inertia by the nearest possible one, with a note.",
        rich_help_panel=START,
    ),
]
Close = Annotated[
    Texts,
    Option(
        metavar="A=B:TYPE",
        help="URDF: close a loop by a joint between two links or frames, as hand=bar:revolute; repeatable.",
        rich_help_panel=OTHERS,
    ),
]
Limits = Annotated[
    str | None,
    Option(
        metavar="notes|stops",
        help="URDF: note the limits of joints, or keep them by end stops.",
        rich_help_panel=OTHERS,
    ),
]
TEnd = Annotated[float | None, time_option("End of the motion, in seconds or with a unit, as 500ms.")]
Step = Annotated[float | None, time_option("Time between rows of the result.")]
Rtol = Annotated[float | None, Option(metavar="NUMBER", help="Relative tolerance.", rich_help_panel=ACCURACY)]
Atol = Annotated[
    float | None,
    Option(
        metavar="NUMBER",
        help="Absolute tolerance, in rad and m; for mechanisms below 1 m, in their size.",
        rich_help_panel=ACCURACY,
    ),
]
MaxStep = Annotated[float | None, time_option("Longest step; unless given, the whole motion.", ACCURACY)]
MaxSteps = Annotated[int | None, Option(metavar="N", help="Stop after N attempted steps.", rich_help_panel=ACCURACY)]
Formulation = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="How accelerations are found",
        rich_help_panel=METHOD,
        autocompletion=completion.completing("formulation"),
    ),
]
Stabilization = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="How the constraints are kept",
        rich_help_panel=METHOD,
        autocompletion=completion.completing("stabilization"),
    ),
]
Integrator = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Integration method",
        rich_help_panel=METHOD,
        autocompletion=completion.completing("integrator"),
    ),
]
With = Annotated[
    Files,
    Option(
        "--with",
        metavar="FILE",
        help="Show the differences from a table of another program, .csv; repeatable.",
        rich_help_panel=OTHERS,
    ),
]
Column = Annotated[
    Texts,
    Option(
        metavar="COLUMN=QUANTITY",
        help="Name a column of --with, as A_x=boom.A.x; '{}_x={}.vx' names many, '-' turns the sign; repeatable.",
        rich_help_panel=OTHERS,
    ),
]
RankTolerance = Annotated[
    float | None,
    Option(
        metavar="NUMBER",
        help="Take pivots and singular values below this part of the largest for zero.",
        rich_help_panel=METHOD,
    ),
]
Motions = Annotated[
    Files, output_option("Write .nc, .csv, .xlsx, .parquet, .mat, .html, .png, .svg or .pdf; repeatable.")
]
Open = Annotated[
    bool, Option("--open", help="Open the page or picture that is written; without -o, a page of its own.")
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
