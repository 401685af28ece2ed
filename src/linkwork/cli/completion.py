"""What shells complete: names of mechanisms and files, and the choices of options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

# Options with a list of what they can be.
CHOICES = ("coordinates", "formulation", "formulations", "stabilization", "integrator")
MODELS = (".yaml", ".yml", ".json", ".urdf")
RESULTS = (".nc", ".csv")


def all_choices(option: str, command: str | None = None) -> Iterable[str]:
    """List what an option can be."""
    from linkwork.equations.coordinates import COORDINATES
    from linkwork.formulations import all_formulations
    from linkwork.integrators.methods import integrators
    from linkwork.lecture.explain import METHODS
    from linkwork.simulation.options import STABILIZATIONS

    if option == "coordinates":
        return COORDINATES
    if option == "stabilization":
        return STABILIZATIONS
    if option == "integrator":
        return integrators()
    return METHODS if command == "explain" else all_formulations()


def completing(option: str) -> Callable[[Any], list[str]]:
    """Make the function that completes an option."""

    def complete(ctx: Any) -> list[str]:
        return list(all_choices(option, ctx.info_name))

    return complete


def complete_files(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    """List the folders, and the files with these endings, that a path may become."""
    folder = os.path.dirname(incomplete)
    try:
        found = sorted(os.listdir(folder or "."))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in found if not name.startswith(".")]
    return [f"{path}{os.sep}" if os.path.isdir(path) else path for path in paths if _fits(path, suffixes)]


def _fits(path: str, suffixes: tuple[str, ...]) -> bool:
    return path.lower().endswith(suffixes) or os.path.isdir(path)


def complete_model(incomplete: str) -> list[str]:
    from linkwork.mechanisms import shipped

    return [*shipped(), *complete_files(incomplete, MODELS)]


def complete_source(incomplete: str) -> list[str]:
    """Return a model, or the result of a run."""
    return [*complete_model(incomplete), *complete_files(incomplete, RESULTS)]


def complete_result(incomplete: str) -> list[str]:
    return complete_files(incomplete, RESULTS)


def complete_mechanism(incomplete: str) -> list[str]:
    from linkwork.mechanisms import shipped

    return list(shipped())
