"""The result of a run: arrays over the report times, with names, units and measured errors.

Every quantity has one name, the same in Python (`motion["crank.phi"]`), in plots and in the columns of a CSV file:

    t                                                       time
    crank.x  crank.y  crank.phi                             coordinates, as in q_names
    crank.vx  crank.vy  crank.omega                         velocities, as in the formulas of model files
    crank.ax  crank.ay  crank.alpha                         accelerations
    crank.A.x  crank.A.vx  crank.A.ax  ...                  place, velocity, acceleration of point A of the crank
    joint:O.angle  joint:O.angle_d                          freedoms of joints and their rates
    reaction:O.x  reaction:O.torque  ...                    what joint O does to its body j
    driving:motor                                           force or torque of a driver
    actuator:m                                              force or torque that an actuator needs, of `inverse`
    force:spring  length:spring  power:motor  ...           what forces and drivers measure, as their classes say
    lam:O.x                                                 multiplier of a row of Psi
    energy:kinetic  :potential  :dissipated  :supplied  :drift
    error:position  error:velocity                          largest |Psi|, in space also ||e| - 1|, and |Psi_dot|

A run in joint coordinates has all of these, and its own state besides, in tables of the same names:

    theta:O  theta_d:O  theta_dd:O  ...                     coordinates of joint O, their rates and accelerations

Names in model files hold no colon, so a joint and a body of the same name do not meet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from linkwork.arrays import Array
from linkwork.elements.kinds import Columns
from linkwork.errors import UsageError, checked_call, checked_methods
from linkwork.model import Model
from linkwork.notes import FINISHED, Note, Reason
from linkwork.readings import InUnits, Quantity, Readings, in_units
from linkwork.records import kept
from linkwork.units import choose_units

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from linkwork.expressions.graph import Expr


# Of columns, in the order of files.
KINDS = ("q", "v", "a", "points", "joints", "reactions", "driving", "loads", "lam", "energy")


class Table(NamedTuple):
    """Columns of one kind, a row for every report time."""

    columns: Columns
    values: Array


@dataclass(frozen=True)
class SingularPosition:
    """A time at which the constraints lose rank, and the joints and drivers involved."""

    t: float
    joints: tuple[str, ...]


class Events(NamedTuple):
    """What happened in a motion, in its order: names, times, coordinates, velocities before and after."""

    names: tuple[str, ...] = ()
    t: Array = np.empty(0)
    q: Array = np.empty(0)
    v_before: Array = np.empty(0)
    v_after: Array = np.empty(0)

    def counts(self) -> dict[str, int]:
        """Return how often each happened."""
        return {name: self.names.count(name) for name in dict.fromkeys(self.names)}


NO_EVENTS = Events()


@cache
def no_events(n_q: int, n_v: int) -> Events:
    """Return the events of a motion without any, of so many coordinates and velocities."""
    return Events((), np.empty(0), np.empty((0, n_q)), np.empty((0, n_v)), np.empty((0, n_v)))


@dataclass(frozen=True)
class Run:
    """What a run knows about itself: settings, counts, times taken, largest errors over all steps, how it ended."""

    model: str
    analysis: str = "simulation"
    coordinates: str = "body"
    formulation: str = "augmented"
    stabilization: str = "projection"
    integrator: str = "none"
    rtol: float | None = None
    atol: float | None = None
    t_end: float | None = None
    step: float | None = None  # between report times
    steps: int = 0
    rejected: int = 0
    switches: int = 0  # of laws, at which a step ended
    evaluations: int = 0  # of the right-hand side
    compile_s: float = 0.0
    wall_s: float = 0.0
    dof: int = 0
    redundant: int = 0
    final_dof: int | None = None  # at the end, where joints have opened or closed
    impact_loss: float = 0.0  # kinetic energy lost where velocities jumped, J
    integration_s: float = 0.0  # of the processor in the time loop
    evaluation_s: float = 0.0  # of one evaluation, in the mean over the states of the motion
    constraint_error_position: float = math.nan
    constraint_error_velocity: float = math.nan
    constraint_error_acceleration: float = math.nan  # at report times, of the largest acceleration
    status: str = "unmeasured"
    reason: Reason = FINISHED
    notes: tuple[Note, ...] = ()
    singular_positions: tuple[SingularPosition, ...] = ()
    parameters: Mapping[str, float] = field(default_factory=dict)
    units: tuple[str, ...] = ()  # in which the motion is shown, where not in those of SI
    held: Mapping[str, float] = field(default_factory=dict)  # at the end, what events have changed
    versions: Mapping[str, str] = field(default_factory=dict)
    scene: Mapping[str, Any] = field(default_factory=dict)  # of a result from a file, see `Trajectory.scene`
    identity: Mapping[str, str] = field(default_factory=dict)  # likewise, see `Trajectory.identity`

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Run:
        """Make a record from the types of JSON; what it does not know is left out."""
        known = {key: data[key] for key in cls.__dataclass_fields__ if key in data}
        for key in ("constraint_error_position", "constraint_error_velocity", "constraint_error_acceleration"):
            if known.get(key, 0.0) is None:
                known[key] = math.nan
        texts = data.get("notes", ())
        told = data.get("note_data") or [()] * len(texts)  # code and data, which old files do not have
        known["notes"] = tuple(Note.read(text, *of) for text, of in zip(texts, told, strict=True))
        known["reason"] = Reason.read(data.get("reason", ""), *data.get("reason_data", ()))
        known["units"] = tuple(map(str, known.get("units", ())))
        passed = known.get("singular_positions", ())
        known["singular_positions"] = tuple(SingularPosition(x["t"], tuple(x["joints"])) for x in passed)
        return cls(**known)


class Differentiated(Protocol):
    """Derivatives of a motion by parameters."""

    @property
    def names(self) -> list[str]: ...

    def of(self, name: str, parameter: str, motion: Trajectory) -> Array: ...

    def formula(self, text: str, motion: Trajectory) -> Expr: ...

    def pull(self, quantity: Expr, name: str, weights: Array) -> Array: ...

    def values(self, quantity: Expr) -> Array: ...

    def rates_in_time(self, quantity: Expr, name: str) -> Array: ...

    def times_of(self, event: int) -> Array: ...

    def edge_time(self, k: int) -> Array: ...

    @property
    def rows(self) -> Any: ...


@checked_methods
@dataclass(frozen=True, eq=False)
class Trajectory(Readings):
    """A motion: tables with one row for every report time, by kind, and what the run knows about itself.

    The tables are q, v, a and lam, the points, reactions and driving forces, and the energies: kinetic, potential, and
    the work dissipated and supplied so far.
    """

    name: str
    t: Array
    tables: Mapping[str, Table]
    error_position: Array
    error_velocity: Array
    info: Run
    model: Model | None = field(default_factory=lambda: None)  # of a result that was computed here
    events: Events = field(default_factory=Events)
    gradients: Differentiated | None = field(
        default_factory=lambda: None
    )  # of a motion that was integrated with its derivatives

    @classmethod
    def later(cls, evaluate: Callable[[], Trajectory]) -> Trajectory:
        """Return a motion that is evaluated when one of its fields is first asked for."""
        motion = object.__new__(cls)
        motion.__dict__["_evaluate"] = evaluate
        return motion

    def __getattr__(self, name: str) -> Any:
        evaluate = self.__dict__.get("_evaluate")
        if evaluate is not None and name in self.__dataclass_fields__:
            self.__dict__.update(evaluate().__dict__)
            self.__dict__.pop("_evaluate", None)  # another thread may have been quicker
        if name not in self.__dict__:
            known = self.quantities if "tables" in self.__dict__ else ()
            near = next((own for own in known if own.startswith(f"{name}.")), None)
            hint = f"; write motion['{near}']" if near else "; write motion.t" if name == "time" else ""
            raise AttributeError(f"a trajectory has no '{name}'{hint}", name=name, obj=self)
        return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        """Return its fields: machine code stays in its process."""
        return {field: getattr(self, field) for field in self.__dataclass_fields__} | {"gradients": None}

    def __post_init__(self) -> None:
        n = len(self.t)
        for name in ("t", "error_position", "error_velocity"):
            object.__setattr__(self, name, _fixed(name, getattr(self, name), (n,)))
        nothing = Table(Columns(), np.empty((n, 0)))
        tables = {**dict.fromkeys(KINDS, nothing), **self.tables}
        shaped = {k: Table(x, _fixed(k, values, (n, len(x.labels)))) for k, (x, values) in tables.items()}
        object.__setattr__(self, "tables", shaped)
        n_q, n_v = len(self.q_names), len(self.v_names)
        events = no_events(n_q, n_v)
        if self.events.names:
            names, *arrays = self.events
            shapes = ((len(names), *width) for width in ((), (n_q,), (n_v,), (n_v,)))
            sized = (_fixed("events", x.reshape(shape), shape) for x, shape in zip(arrays, shapes, strict=True))
            events = Events(names, *sized)
        object.__setattr__(self, "events", events)

    @property
    def q(self) -> Array:
        return self.tables["q"].values

    @property
    def v(self) -> Array:
        return self.tables["v"].values

    @property
    def a(self) -> Array:
        return self.tables["a"].values

    @property
    def lam(self) -> Array:
        return self.tables["lam"].values

    @property
    def q_names(self) -> tuple[str, ...]:
        return self.tables["q"].columns.labels

    @property
    def v_names(self) -> tuple[str, ...]:
        return self.tables["v"].columns.labels

    @property
    def rows(self) -> tuple[str, ...]:
        return self.tables["lam"].columns.labels

    @kept
    def scene(self) -> Mapping[str, Any]:
        """Return what a drawing must know of the mechanism: made when it is asked for, and kept in files."""
        from linkwork.scene import scene

        return scene(self.model).as_dict() if self.model is not None else self.info.scene

    @kept
    def identity(self) -> Mapping[str, str]:
        """Return what tells the mechanism from others, a digest of each kind of its elements; kept in files."""
        from linkwork.equations.identity import identify

        return identify(self.model) if self.model is not None else self.info.identity

    def columns(self, kind: str) -> dict[str, Array]:
        """Return the columns of one kind by their labels."""
        table = self.tables[kind]
        return dict(zip(table.columns.labels, table.values.T, strict=True))

    @kept
    def energy(self) -> dict[str, Array]:
        return self.columns("energy")

    @kept
    def quantities(self) -> dict[str, Quantity]:
        """Return everything there is, by name, in the order of the file."""
        found = {"t": Quantity(self.t, "s")}
        for (_, names, units), values in self.tables.values():
            found |= {name: Quantity(x, unit) for name, unit, x in zip(names, units, values.T, strict=True)}
        found["energy:drift"] = Quantity(self.drift(), "J")
        found["error:position"] = Quantity(self.error_position, "m, rad")
        found["error:velocity"] = Quantity(self.error_velocity, "m/s, rad/s")
        return found

    def between(self, start: float | str, end: float | str) -> Trajectory:
        """Return the part from one time to another at its report times: motion.between("1 s", "2
        s").mean("power:motor").
        """
        first, last = self._time(start), self._time(end)
        rows = (self.t >= first) & (self.t <= last)
        if not np.any(rows):
            raise UsageError(f"the motion has no report time from {first:g} to {last:g} s", "out-of-range")
        names, *arrays = self.events
        met = (arrays[0] >= first) & (arrays[0] <= last)
        events = Events(tuple(name for name, one in zip(names, met, strict=True) if one), *(x[met] for x in arrays))
        tables = {kind: Table(table.columns, table.values[rows]) for kind, table in self.tables.items()}
        errors = {name: getattr(self, name)[rows] for name in ("error_position", "error_velocity")}
        return replace(self, t=self.t[rows], tables=tables, events=events, gradients=None, **errors)

    def gradient(self, name: str, parameter: str) -> Array:
        """Return d motion[name] / d parameter at every report time, in SI; of a motion by linkwork.sensitivities."""
        if self.gradients is None:
            message = f"the motion was computed without its derivative by '{parameter}'"
            raise UsageError(f"{message}; use sensitivities(model, [{parameter!r}])", "no-gradient")
        return self.gradients.of(name, parameter, self)

    def rates_of(self, name: str) -> tuple[str, ...]:
        """Return the names of velocity and acceleration of a coordinate or of a point, of a measure that of its
        rate.
        """
        if name in self.q_names and name in self.v_names:
            k = self.v_names.index(name)
            return self.tables["v"].columns.names[k], self.tables["a"].columns.names[k]
        points = self.tables["points"].columns
        if name in points.names:
            # A point has its places, then its velocities, then its accelerations.
            k, size = points.names.index(name), points.units.index("m/s")
            if points.units[k] == "m":
                return points.names[k + size], points.names[k + 2 * size]
        kind, _, element = name.partition(":")
        found = f"{name}_d" if kind == "joint" else f"rate:{element}" if kind in ("length", "angle") else ""
        return (found,) if found in self.quantities else ()

    def to(self, *units: str) -> InUnits:
        """Return the same motion in other units: motion.to("deg", "mm", "kN"); arrays like `q` and files stay in SI."""
        return in_units(self, units)

    def shown_in(self, *units: str) -> Trajectory:
        """Return the same motion, in SI as before, that plots, pages, reports and summaries show in these units."""
        choose_units(units)
        return replace(self, info=replace(self.info, units=units))

    @property
    def shown(self) -> Readings:
        """The motion in the units in which it is shown."""
        return self.to(*self.info.units) if self.info.units else self

    def drift(self) -> Array:
        """Return kinetic + potential + dissipated - supplied energy, less its first value: zero if all were exact."""
        with np.errstate(all="ignore"):  # of energies beyond numbers it is none
            return drift_of(self.tables["energy"])

    @property
    def constraint_error(self) -> dict[str, float]:
        """Largest |Psi| and |Psi_dot| over all steps and report times; NaN where nothing was measured.

        At report times also |Psi_q a - gamma|, on the scales of the mechanism, of the largest acceleration.
        """
        if not len(self.t):
            return {"position": math.nan, "velocity": math.nan, "acceleration": math.nan}
        return {
            "position": max(self.info.constraint_error_position, float(np.max(self.error_position))),
            "velocity": max(self.info.constraint_error_velocity, float(np.max(self.error_velocity))),
            "acceleration": self.info.constraint_error_acceleration,
        }

    @property
    def notes(self) -> tuple[Note, ...]:
        """What is unusual about the mechanism and the run."""
        return self.info.notes

    @property
    def ok(self) -> bool:
        """Return whether the motion is whole and its errors are known and small."""
        return self.status == "finished"

    @property
    def status(self) -> str:
        """`finished`, `stopped`, `interrupted`, `doubtful`, or `unmeasured`; finished: errors known and small."""
        errors = self.constraint_error
        measured = [errors["position"], errors["velocity"], *np.abs(self.drift()[-1:])]
        if self.info.status == "finished" and not (len(self.t) and np.all(np.isfinite(measured))):
            return "unmeasured"
        return self.info.status

    def summary(self) -> dict[str, Any]:
        """Return settings, counts, final state and errors, as `linkwork run --json` prints them."""
        account = asdict(self.info)
        errors = ("constraint_error_position", "constraint_error_velocity", "constraint_error_acceleration")
        for key in (*errors, "scene", "identity"):
            del account[key]
        energy = self.energy["kinetic"] + self.energy["potential"]
        any_rows = len(self.t) > 0
        own = {kind: table for kind, table in self.tables.items() if kind not in KINDS}
        summary = {
            **account,
            "final": {
                "t": self.t[-1] if any_rows else None,
                "q": dict(zip(self.q_names, self.q[-1], strict=True)) if any_rows else {},
                "v": dict(zip(self.v_names, self.v[-1], strict=True)) if any_rows else {},
                **{kind: dict(zip(x.columns.labels, x.values[-1], strict=True)) for kind, x in own.items() if any_rows},
            },
            "constraint_error": self.constraint_error,
            "energy": {
                "initial": energy[0] if any_rows else None,
                "final": energy[-1] if any_rows else None,
                ("max_drift" if self.info.analysis == "simulation" else "work_quadrature_error"): (
                    np.max(np.abs(self.drift()), initial=0.0) if any_rows else None
                ),
            },
            "events": [
                {
                    "name": name,
                    "t": t,
                    "q": dict(zip(self.q_names, q, strict=True)),
                    "v_before": dict(zip(self.v_names, v_before, strict=True)),
                    "v_after": dict(zip(self.v_names, v_after, strict=True)),
                }
                for name, t, q, v_before, v_after in zip(*self.events, strict=True)
            ],
            "status": self.status,
        }
        result: dict[str, Any] = plain(summary)
        return result

    def dataset(self) -> xarray.Dataset:
        """Return every quantity by name over the dimension `time`: motion.dataset()["crank.phi"].sel(time=0.5)."""
        from linkwork.resultfile import dataset

        return dataset(self)

    def dap_arrays(self) -> dict[str, Array]:
        """Return the motion in the arrays that the post-processor of DAP makes: theta, r, p, rP, Jac, Lam and their
        rates.
        """
        from linkwork.resultfile import dap_arrays

        return dap_arrays(self)

    def view(self, path: str | Path | None = None) -> None:
        """Open the moving mechanism in the browser, a page to play and measure; with a path, write it there, .html."""
        from linkwork.view import page

        if path is None:
            page.open_page([self])
        else:
            page.write([self], path)

    def report(self, path: str | Path) -> None:
        """Write all about the mechanism and this motion on one page to read or print, .html."""
        from linkwork.view.dossier import write_report

        write_report(self, path)

    def plot(self, *names: str, against: str = "t", ax: Axes | None = None) -> Figure:
        """Draw some quantities, by name or pattern ("*.phi"); without names, what matters most.

        With axes of matplotlib they are drawn into these, and must be of one unit.
        """
        from linkwork.view.plot import figure

        own: Any = self.shown  # which has what a figure needs of a motion
        return figure(own, names, against, axes=ax)

    def animate(self, path: str | Path, speed: float | None = None) -> None:
        """Write the moving mechanism: an .html page to play and measure, or a film, .gif or .mp4.

        `speed` is seconds of motion per second of film.
        """
        from linkwork.view import page, picture

        if Path(path).suffix.lower() == ".html":
            page.write([self], path)
        else:
            picture.write_film(self, path, speed)

    def save(self, path: str | Path) -> None:
        """Write a netCDF-4 (.nc) or CSV (.csv) file, whole or not at all; an old file is replaced.

        A CSV file begins with the names; what else is known of the run stands beside it, in FILE.csv.json. Workbooks
        (.xlsx) and Parquet (.parquet) are tables, a .mat holds the arrays of `dap_arrays` for MATLAB and Octave; these
        are not read again.
        """
        from linkwork.resultfile import save

        save(self, path)

    @staticmethod
    @checked_call()
    def load(path: str | Path) -> Trajectory:
        """Read a file written by `save`; a file that is not whole, or not as it was written, is refused."""
        from linkwork.resultfile import load

        return load(path)

    def __repr__(self) -> str:
        until = f"t = {self.t[0]:g} to {self.t[-1]:g}" if len(self.t) else "empty"
        return f"<Trajectory of '{self.name}': {until}, {len(self.t)} rows, {self.status}>"

    def _repr_html_(self) -> str:
        from linkwork.view.cell import cell
        from linkwork.view.markup import lines_in_cell
        from linkwork.view.report import summary_lines

        return cell(self) + lines_in_cell(summary_lines(self))


def drift_of(energy: Table) -> Array:
    columns = dict(zip(energy.columns.labels, energy.values.T, strict=True))
    total: Array = columns["kinetic"] + columns["potential"] + columns["dissipated"] - columns["supplied"]
    return total - total[:1]


def _fixed(name: str, values: Array, shape: tuple[int, ...]) -> Array:
    """Return a view that cannot be written to."""
    fixed = np.asarray(values, dtype=np.float64)
    if fixed.shape != shape:
        raise ValueError(f"{name} has the shape {fixed.shape} in the place of {shape}")
    if fixed.flags.writeable:
        fixed = fixed.view()
        fixed.setflags(write=False)
    return fixed


def plain(value: Any) -> Any:
    """Return the same in the types of JSON; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
