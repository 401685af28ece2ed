"""linkwork: multibody dynamics for mechanisms."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.analysis.assembly import assemble
    from linkwork.analysis.check import check
    from linkwork.analysis.compare import compare
    from linkwork.analysis.explain import explain
    from linkwork.analysis.kinematics import kinematics
    from linkwork.analysis.modes import modes
    from linkwork.analysis.simulate import simulate
    from linkwork.model import Model
    from linkwork.modelfile import load, loads
    from linkwork.trajectory import Trajectory

__version__ = "0.1.0"
__all__ = [
    "Model",
    "Trajectory",
    "assemble",
    "check",
    "compare",
    "explain",
    "kinematics",
    "load",
    "loads",
    "modes",
    "simulate",
]

_HOMES = {
    "Model": "model",
    "Trajectory": "trajectory",
    "assemble": "analysis.assembly",
    "check": "analysis.check",
    "compare": "analysis.compare",
    "explain": "analysis.explain",
    "kinematics": "analysis.kinematics",
    "load": "modelfile",
    "loads": "modelfile",
    "modes": "analysis.modes",
    "simulate": "analysis.simulate",
}


def __getattr__(name: str) -> Any:
    """Names are imported when they are first used, so that `import linkwork` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'linkwork' has no attribute '{name}'")
    return getattr(import_module(f"linkwork.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
