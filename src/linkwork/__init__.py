"""Multibody dynamics of mechanisms.

    model = linkwork.load("slider_crank")  # a shipped mechanism, or a file
    motion = linkwork.simulate(model, t_end=5)
    motion["crank.phi"]  # an array; list(motion) has all names
    motion.plot("crank.phi", "reaction:O.x")
    motion.animate("motion.html")

    m = linkwork.PlanarModel("pendulum", l="1 m")  # a model in Python: m.body, m.revolute, m.simulate, m.save

`check` counts freedoms, `assemble` and `modes` close loops, `kinematics` moves what is driven, `inverse` asks
actuators for the forces of a motion, `equilibrium` finds where it rests, `linearize` its small motions and modes,
`compare` runs all formulations, `explain` and `write_down` write equations, `prepare` compiles once for many runs.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in typing, which takes its time to be imported
if TYPE_CHECKING:
    from typing import Any

    from linkwork.analyses.equilibria import equilibria
    from linkwork.analyses.equilibrium import equilibrium
    from linkwork.analyses.linearize import linearize
    from linkwork.analyses.varied_rest import equilibrium_slopes
    from linkwork.assembly.assemble import assemble
    from linkwork.assembly.modes import modes
    from linkwork.comparison.compare import compare
    from linkwork.compiled.mechanism import Mechanism, prepare
    from linkwork.driven.inverse import actuated, inverse
    from linkwork.driven.kinematics import kinematics
    from linkwork.elements.events import Event
    from linkwork.elements.stated import Stated
    from linkwork.equations.coordinates import Coordinates
    from linkwork.errors import LinkworkError, ModelError
    from linkwork.integrators.methods.generalized_alpha import GeneralizedAlpha
    from linkwork.lecture.explain import explain
    from linkwork.lecture.listing import write_down
    from linkwork.model import Model
    from linkwork.modelfile import load, loads, shipped
    from linkwork.models import PlanarModel, SpatialModel
    from linkwork.sequences.sequence import ComputationSequence
    from linkwork.simulation.controllers import Controller
    from linkwork.simulation.options import Baumgarte, Integrator, Ranked, Start
    from linkwork.simulation.simulate import simulate
    from linkwork.simulation.stepper import Stepper
    from linkwork.start.check import check
    from linkwork.studies.batch import batch
    from linkwork.studies.fit import fit
    from linkwork.studies.optimize import optimize
    from linkwork.studies.sensitivities import sensitivities
    from linkwork.studies.slopes import slopes
    from linkwork.studies.sweep import sweep
    from linkwork.studies.table import load_study
    from linkwork.trajectory import Trajectory
    from linkwork.view.live import live_page

__version__ = "0.1.0"
__all__ = [
    "Baumgarte",
    "ComputationSequence",
    "Controller",
    "Coordinates",
    "Event",
    "GeneralizedAlpha",
    "Integrator",
    "LinkworkError",
    "Mechanism",
    "Model",
    "ModelError",
    "PlanarModel",
    "Ranked",
    "SpatialModel",
    "Start",
    "Stated",
    "Stepper",
    "Trajectory",
    "actuated",
    "assemble",
    "batch",
    "check",
    "compare",
    "equilibria",
    "equilibrium",
    "equilibrium_slopes",
    "explain",
    "fit",
    "inverse",
    "kinematics",
    "linearize",
    "live_page",
    "load",
    "load_study",
    "loads",
    "modes",
    "optimize",
    "prepare",
    "sensitivities",
    "shipped",
    "simulate",
    "slopes",
    "sweep",
    "write_down",
]

_HOMES = {
    "Baumgarte": "simulation.options",
    "GeneralizedAlpha": "integrators.methods.generalized_alpha",
    "Ranked": "simulation.options",
    "Controller": "simulation.controllers",
    "Coordinates": "equations.coordinates",
    "Integrator": "simulation.options",
    "Start": "simulation.options",
    "Event": "elements.events",
    "ComputationSequence": "sequences.sequence",
    "LinkworkError": "errors",
    "Mechanism": "compiled.mechanism",
    "ModelError": "errors",
    "Model": "model",
    "PlanarModel": "models",
    "SpatialModel": "models",
    "Stated": "elements.stated",
    "Stepper": "simulation.stepper",
    "Trajectory": "trajectory",
    "actuated": "driven.inverse",
    "assemble": "assembly.assemble",
    "batch": "studies.batch",
    "check": "start.check",
    "compare": "comparison.compare",
    "equilibria": "analyses.equilibria",
    "equilibrium": "analyses.equilibrium",
    "equilibrium_slopes": "analyses.varied_rest",
    "explain": "lecture.explain",
    "fit": "studies.fit",
    "inverse": "driven.inverse",
    "kinematics": "driven.kinematics",
    "linearize": "analyses.linearize",
    "live_page": "view.live",
    "load": "modelfile",
    "load_study": "studies.table",
    "loads": "modelfile",
    "modes": "assembly.modes",
    "optimize": "studies.optimize",
    "prepare": "compiled.mechanism",
    "sensitivities": "studies.sensitivities",
    "shipped": "modelfile",
    "simulate": "simulation.simulate",
    "slopes": "studies.slopes",
    "sweep": "studies.sweep",
    "write_down": "lecture.listing",
}


def __getattr__(name: str) -> Any:
    """Import names when they are first used, so that `import linkwork` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'linkwork' has no attribute '{name}'", name=name, obj=sys.modules[__name__])
    from importlib import import_module

    return getattr(import_module(f"linkwork.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
