"""What can be done with a mechanism, as methods of models that are built and of mechanisms that are prepared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from linkwork.errors import checked_methods

if TYPE_CHECKING:
    import xarray

    from linkwork.analyses.equilibria import Equilibria
    from linkwork.analyses.equilibrium import Equilibrium
    from linkwork.analyses.linearize import Linearization
    from linkwork.assembly.assemble import Assembly
    from linkwork.assembly.modes import Modes
    from linkwork.comparison.compare import Comparison
    from linkwork.compiled.mechanism import Mechanism
    from linkwork.lecture.explain import Worked
    from linkwork.lecture.listing import Listing
    from linkwork.simulation.stepper import Stepper
    from linkwork.start.check import Report
    from linkwork.studies.fit import Fit
    from linkwork.studies.optimize import Optimum
    from linkwork.studies.slopes import Slopes
    from linkwork.trajectory import Trajectory
    from linkwork.view.live import LivePage


@checked_methods
class Analyses:
    """Methods that call the function of their name, which say what the options are."""

    @property
    def subject(self) -> Any:
        """What the functions are given."""
        return self

    def _repr_html_(self) -> str:
        """Show the mechanism with its loops closed."""
        from html import escape

        from linkwork.view.markup import image
        from linkwork.view.picture import sketch

        model = getattr(self.subject, "model", self.subject)
        return f"{image(sketch(model), model.name)}<p>{escape(repr(self))}</p>"

    def prepare(self, **options: Any) -> Mechanism:
        """Check the model and derive its equations, for many runs, see linkwork.prepare."""
        from linkwork.compiled.mechanism import prepare

        return prepare(self.subject, **options)

    def check(self, **options: Any) -> Report:
        """Return freedoms, redundant constraints, consistency, see linkwork.check."""
        from linkwork.start.check import check

        return check(self.subject, **options)

    def assemble(self, **options: Any) -> Assembly:
        """Close the loops from a sketch, see linkwork.assemble."""
        from linkwork.assembly.assemble import assemble

        return assemble(self.subject, **options)

    def modes(self, **options: Any) -> Modes:
        """Return all positions in which it can be assembled, see linkwork.modes."""
        from linkwork.assembly.modes import modes

        return modes(self.subject, **options)

    def equilibrium(self, parameters: Mapping[str, float | str] | None = None, **options: Any) -> Equilibrium:
        """Return where it rests, with these values of parameters, see linkwork.equilibrium."""
        from linkwork.analyses.equilibrium import equilibrium

        return equilibrium(self.subject, parameters, **options)

    def equilibrium_slopes(
        self, by: Sequence[str], parameters: Mapping[str, float | str] | None = None
    ) -> dict[str, dict[str, float]]:
        """Return how its rest varies with parameters, see linkwork.equilibrium_slopes."""
        from linkwork.analyses.varied_rest import equilibrium_slopes

        return equilibrium_slopes(self.subject, by, parameters)

    def equilibria(self, parameters: Mapping[str, float | str] | None = None, **options: Any) -> Equilibria:
        """Return all positions in which it rests, see linkwork.equilibria."""
        from linkwork.analyses.equilibria import equilibria

        return equilibria(self.subject, parameters, **options)

    def linearize(self, parameters: Mapping[str, float | str] | None = None, **options: Any) -> Linearization:
        """Return its small motions about a rest or a steady motion, see linkwork.linearize."""
        from linkwork.analyses.linearize import linearize

        return linearize(self.subject, parameters, **options)

    def kinematics(self, parameters: Mapping[str, float | str] | None = None, **options: Any) -> Trajectory:
        """Return the motion that drivers prescribe, with these values of parameters, see linkwork.kinematics."""
        from linkwork.driven.kinematics import kinematics

        return kinematics(self.subject, parameters, **options)

    def inverse(self, parameters: Mapping[str, float | str] | None = None, **options: Any) -> Trajectory:
        """Return the forces that actuators need for a motion, with these values of parameters, see linkwork.inverse."""
        from linkwork.driven.inverse import inverse

        return inverse(self.subject, parameters, **options)

    def simulate(self, parameters: Mapping[str, Any] | None = None, **options: Any) -> Trajectory:
        """Return the motion from its start values, with these values of parameters, see linkwork.simulate."""
        from linkwork.simulation.simulate import simulate

        return simulate(self.subject, parameters, **options)

    def sensitivities(
        self, by: Sequence[str], parameters: Mapping[str, float] | None = None, **options: Any
    ) -> Trajectory:
        """Return the motion with its exact derivatives by parameters, see linkwork.sensitivities."""
        from linkwork.studies.sensitivities import sensitivities

        return sensitivities(self.subject, by, parameters, **options)

    def slopes(self, of: str | Sequence[str], to: Sequence[str] = (), **options: Any) -> Slopes:
        """Return how numbers taken of its motion depend on parameters, see linkwork.slopes."""
        from linkwork.studies.slopes import slopes

        return slopes(self.subject, of, to, **options)

    def sweep(self, vary: Mapping[str, Any], take: Any, **options: Any) -> xarray.Dataset:
        """Return numbers taken of its motion at many points of its parameters, see linkwork.sweep."""
        from linkwork.studies.sweep import sweep

        return sweep(self.subject, vary, take, **options)

    def batch(self, parameters: Mapping[str, Any], take: Any, **options: Any) -> xarray.Dataset:
        """Return numbers taken of many of its motions at once, see linkwork.batch."""
        from linkwork.studies.batch import batch

        return batch(self.subject, parameters, take, **options)

    def optimize(self, vary: Mapping[str, Any], minimize: str | None = None, **options: Any) -> Optimum:
        """Return the design for which something is least, see linkwork.optimize."""
        from linkwork.studies.optimize import optimize

        return optimize(self.subject, vary, minimize, **options)

    def fit(self, measured: Any, vary: Mapping[str, Any], **options: Any) -> Fit:
        """Return parameters with which it moves as was measured, see linkwork.fit."""
        from linkwork.studies.fit import fit

        return fit(self.subject, measured, vary, **options)

    def stepper(self, parameters: Mapping[str, Any] | None = None, **options: Any) -> Stepper:
        """Return what advances it step by step with inputs that are held, see linkwork.Stepper."""
        from linkwork.simulation.stepper import Stepper

        return Stepper(self.subject, parameters, **options)

    def compare(self, **options: Any) -> Comparison:
        """Return the same motion by all formulations, with errors and times, see linkwork.compare."""
        from linkwork.comparison.compare import compare

        return compare(self.subject, **options)

    def live_page(
        self, parameters: Mapping[str, float | str] | None = None, *, t_end: float | str | None = None
    ) -> LivePage:
        """Return a page that simulates, see linkwork.live_page."""
        from linkwork.view.live import live_page

        return live_page(self.subject, parameters, t_end=t_end)

    def explain(self, *arguments: Any, **options: Any) -> Worked:
        """Return the equations worked out, step by step with numbers, see linkwork.explain."""
        from linkwork.lecture.explain import explain

        return explain(self.subject, *arguments, **options)

    def write_down(self, form: str = "explicit", **options: Any) -> Listing:
        """Return its equations as text, see linkwork.write_down."""
        from linkwork.lecture.listing import write_down

        return write_down(self.subject, form, **options)
