"""The application, and the arguments and options that commands share."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

import typer
from typer import Argument, Option
from typer.core import TyperCommand

app = typer.Typer(
    help="Multibody dynamics of mechanisms. MODEL is a file, or the name of a mechanism that `linkwork list` shows.",
    epilog="Exit codes: 0 done, 2 usage, 3 model error, 4 numerical stop, 70 a fault of linkwork, 130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class WithChoices(TyperCommand):
    """A command whose help names the choices and defaults of `simulate`, looked up only when it is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from inspect import signature

        from linkwork.equations.coordinates import COORDINATES
        from linkwork.formulations import CHOICES
        from linkwork.integrators.methods import INTEGRATORS
        from linkwork.lecture.explain import METHODS
        from linkwork.motion.choice import STABILIZATIONS
        from linkwork.motion.simulate import simulate

        choices = {
            "coordinates": COORDINATES,
            "formulation": METHODS if ctx.info_name == "explain" else CHOICES,
            "formulations": CHOICES,
            "stabilization": STABILIZATIONS,
            "integrator": INTEGRATORS,
        }
        defaults = {p.name: p.default for p in signature(simulate).parameters.values() if p.kind is p.KEYWORD_ONLY}
        told = copy(self)  # the command itself stays as it is, and may be asked again
        told.params = [copy(option) for option in self.params]
        for option in cast(Any, told.params):
            if option.name in choices:
                option.help += f": {', '.join(choices[option.name])}"
            if option.default is None and defaults.get(option.name) is not None:
                option.help += f"  [default: {defaults[option.name]}]"
        super(WithChoices, told).format_help(ctx, formatter)


Texts: TypeAlias = list[str] | None
Files: TypeAlias = list[Path] | None


def output_option(text: str) -> Any:
    return Option("--output", "-o", metavar="FILE", help=text)


ModelArgument = Annotated[str, Argument(metavar="MODEL", help="A model file or the name of a mechanism.")]
Set = Annotated[Texts, Option("--set", metavar="NAME=VALUE", help="Another value of a parameter; repeatable.")]
Weights = Annotated[str, Option(help="How corrections of the start values are weighted: mass, unit")]
Assemble = Annotated[bool, Option("--assemble", help="Close the joints however far they are open at the start.")]
Coordinates = Annotated[str | None, Option(help="In which coordinates; those of the model unless given")]
Cut = Annotated[Texts, Option(metavar="JOINT", help="A joint that closes a loop, not in body coordinates; repeatable.")]
Mode = Annotated[int | None, Option(metavar="K", help="Start in assembly mode K, as `assemble --all` counts them.")]
Keep = Annotated[
    Texts, Option(metavar="NAME", help="A coordinate, such as crank.phi, that keeps its start value; repeatable.")
]
Start = Annotated[
    Texts,
    Option(metavar="NAME=VALUE", help="Start value of a coordinate of a joint or body, as A=30deg; repeatable."),
]
Rate = Annotated[
    Texts, Option(metavar="NAME=VALUE", help="Start rate of a coordinate of a joint or body, as A=2; repeatable.")
]
Repair = Annotated[
    Texts, Option(metavar="inertia", help="Take the nearest inertia that a mass distribution has, and say so.")
]
TEnd = Annotated[float | None, Option(help="End of the motion, s")]
Step = Annotated[float | None, Option(help="Time between report times, s")]
Rtol = Annotated[float | None, Option(help="Relative tolerance")]
Atol = Annotated[
    float | None, Option(help="Absolute tolerance: in radians, and in metres or lengths of a smaller mechanism")
]
MaxStep = Annotated[
    float | None, Option(help="Longest step, s; by default 8 report steps where forces switch on the state")
]
Stabilization = Annotated[str | None, Option(help="What keeps the constraints")]
Integrator = Annotated[str | None, Option(help="Method of integration")]
Motions = Annotated[Files, output_option("Write .nc, .csv, .mat, .html, .png, .svg or .pdf; repeatable.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object and nothing else.")]


def _version(wanted: bool) -> None:
    if wanted:
        from linkwork import __version__

        print(f"linkwork {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def linkwork(
    context: typer.Context,
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
