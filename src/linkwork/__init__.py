"""linkwork: multibody dynamics for mechanisms."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from linkwork.analysis.check import check
    from linkwork.analysis.compare import compare
    from linkwork.analysis.explain import explain
    from linkwork.analysis.simulate import simulate
    from linkwork.model import Model
    from linkwork.modelfile import load, loads
    from linkwork.trajectory import Trajectory

__version__ = "0.1.0"
__all__ = ["Model", "Trajectory", "check", "compare", "explain", "load", "loads", "simulate"]

_HOMES = {
    "Model": "model",
    "Trajectory": "trajectory",
    "check": "analysis.check",
    "compare": "analysis.compare",
    "explain": "analysis.explain",
    "load": "modelfile",
    "loads": "modelfile",
    "simulate": "analysis.simulate",
}


def __getattr__(name: str) -> Any:
    """Names are imported when they are first used, so that `import linkwork` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'linkwork' has no attribute '{name}'")
    return getattr(import_module(f"linkwork.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
