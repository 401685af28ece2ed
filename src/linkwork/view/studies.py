"""Pictures and words of studies: curves over one parameter, maps over two, clouds of samples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkwork.errors import UsageError, check_choice, quoted
from linkwork.studies.shares import share_of
from linkwork.studies.table import as_text
from linkwork.tolerances import TYPED
from linkwork.view.plot import COLORS, DASHES, INK, tidy, titled

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

    from linkwork.studies.fit import Fit
    from linkwork.studies.optimize import Design, Optimum

ABOUT = ("status", "reason", "steps")  # variables that are not taken of motions
SIDE = 3.2  # inches of one picture of a grid of pictures
MOST_CURVES = 12  # that one picture can tell apart
PIECE = 2**17  # values that are read at once: a megabyte
WITHIN = (0.005, 0.995)  # of samples, 99 %


def taken_of(study: xarray.Dataset, names: Sequence[str] = ()) -> list[str]:
    """Return the variables that were taken of motions, or these of them."""
    known = [str(name) for name in study.data_vars if name not in ABOUT]
    for name in names:
        check_choice("take", name, known)
    return list(names) or known


def varied_in(study: xarray.Dataset) -> list[str]:
    return str(study.attrs["varied"]).split(", ")


def label(study: xarray.Dataset, name: str) -> str:
    unit = study[name].attrs.get("units", "")
    return f"{name} [{unit}]" if unit else name


def _new_figure(model: str, rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    figure = titled(model, size)
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.ravel():
        tidy(axis)
    return figure, axes


def _name(axis: Any, x: str, y: str) -> None:
    axis.set_xlabel(x, color=INK, parse_math=False)
    axis.set_ylabel(y, color=INK, parse_math=False)


def plot_study(study: xarray.Dataset, names: Sequence[str] = ()) -> Figure:
    """Plot curves over one parameter, one for each value of a second; maps over two; of samples each over each."""
    takes, varied = taken_of(study, names), varied_in(study)
    if not any(np.isfinite(study[take].values).any() for take in takes):
        raise UsageError("no point has a number that could be drawn; its `reason` says why", "no-numbers")
    if "point" in study.dims:
        return _plot_samples(study, takes, varied)
    if len(varied) == 1 or (len(varied) == 2 and min(study.sizes[name] for name in varied) <= MOST_CURVES):
        return _plot_curves(study, takes, sorted(varied, key=lambda name: -study.sizes[name]))
    if len(varied) == 2:
        return _plot_maps(study, takes, varied)
    message = f"a grid of {len(varied)} parameters cannot be drawn; choose one or two, by .sel() in Python"
    raise UsageError(f"{message}, or take samples", "too-many-parameters")


def _plot_curves(study: xarray.Dataset, takes: Sequence[str], varied: Sequence[str]) -> Figure:
    figure, axes = _new_figure(study.attrs["model"], len(takes), 1, (7.0, 1.0 + 2.4 * len(takes)))
    over, *others = varied
    for axis, take in zip(axes.ravel(), takes, strict=True):
        data = study[take].transpose(over, *others)
        curves = data.values.reshape(study.sizes[over], -1)
        labels = [f"{others[0]} = {x:.4g}" for x in study[others[0]].values] if others else [None]
        for k, (values, text) in enumerate(zip(curves.T, labels, strict=True)):
            color, dashes = COLORS[k % len(COLORS)], DASHES[k // len(COLORS) % len(DASHES)]
            axis.plot(study[over].values, values, color=color, linestyle=dashes, label=text)
        _name(axis, over, label(study, take))
        if others:
            axis.legend(fontsize="small")
    return figure


def _plot_maps(study: xarray.Dataset, takes: Sequence[str], varied: Sequence[str]) -> Figure:
    figure, axes = _new_figure(study.attrs["model"], len(takes), 1, (6.5, 1.0 + 3.8 * len(takes)))
    x, y = varied
    for axis, take in zip(axes.ravel(), takes, strict=True):
        drawn = axis.pcolormesh(study[x].values, study[y].values, study[take].transpose(y, x).values, shading="nearest")
        figure.colorbar(drawn, ax=axis).set_label(label(study, take), parse_math=False)
        _name(axis, x, y)
    return figure


def _plot_samples(study: xarray.Dataset, takes: Sequence[str], varied: Sequence[str]) -> Figure:
    n, m = len(takes), len(varied)
    figure, axes = _new_figure(study.attrs["model"], n, m + 1, (SIDE * (m + 1), 0.6 + 0.8 * SIDE * n))
    for row, take in zip(axes, takes, strict=True):
        values = study[take].values
        for axis, name in zip(row, varied, strict=False):
            axis.plot(study[name].values, values, ".", color=COLORS[0], markersize=2, alpha=0.5)
            _name(axis, name, label(study, take))
        known = values[np.isfinite(values)]
        row[-1].hist(known, bins="auto" if len(known) else 10, orientation="horizontal", color=COLORS[0])
        _name(row[-1], "points", label(study, take))
    return figure


def summarize(study: xarray.Dataset) -> dict[str, Any]:
    """Summarize the points: how they ended, and of each number its mean, deviation and extremes with their points."""
    status, reasons = (count_words(study[name]) for name in ("status", "reason"))
    reasons.pop("", None)
    data: dict[str, Any] = {
        "model": study.attrs["model"],
        "points": int(study["status"].size),
        "status": dict(status.most_common()),
        "reasons": dict(reasons.most_common()),
        "take": {},
    }
    for take in taken_of(study):
        found = Spread()
        for first, values in pieces(study[take]):
            found.add(first, values)
        missing = status["finished"] - found.count
        data["take"][take] = {"missing": missing} if missing else {}
        if found.count:
            data["take"][take] |= {
                "unit": study[take].attrs.get("units", ""),
                "mean": found.mean,
                "deviation": math.sqrt(found.squares / found.count),
                "min": {"value": found.least, **_point(study, found.at_least)},
                "max": {"value": found.most, **_point(study, found.at_most)},
            }
            if "point" in study.dims:
                values = study[take].values
                there = np.isfinite(values)
                known = values[there]
                shares = {name: share_of(study[name].values[there], known) for name in varied_in(study)}
                own = {"range": np.quantile(known, WITHIN).tolist(), "shares": shares}
                data["take"][take] |= own
    return data


def pieces(variable: xarray.DataArray) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the values of a variable, some rows at a time, each with the number of its first point."""
    rows, width = variable.shape[0], variable.size // max(variable.shape[0], 1)
    step = max(1, PIECE // max(width, 1))
    for first in range(0, rows, step):
        yield first * width, variable[first : first + step].values.ravel()


def count_words(variable: xarray.DataArray) -> Counter[str]:
    """Count statuses or reasons."""
    return sum((Counter(as_text(values).tolist()) for _, values in pieces(variable)), Counter())


@dataclass
class Spread:
    """Of numbers that are added piece by piece: how many are finite, their mean, squares of deviations, extremes."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    least: float = math.inf
    most: float = -math.inf
    at_least: int = 0
    at_most: int = 0

    def add(self, first: int, values: NDArray[np.float64]) -> None:
        """Add points from this number on, by the means and squares of both parts."""
        known = values[np.isfinite(values)]
        if not (n := len(known)):
            return
        mean, total, gap = float(known.mean()), self.count + n, float(known.mean()) - self.mean
        self.squares += float(((known - mean) ** 2).sum()) + gap**2 * self.count * n / total
        self.mean, self.count = self.mean + gap * n / total, total
        low, high = int(np.nanargmin(values)), int(np.nanargmax(values))
        if values[low] < self.least:
            self.least, self.at_least = float(values[low]), first + low
        if values[high] > self.most:
            self.most, self.at_most = float(values[high]), first + high


def _point(study: xarray.Dataset, k: int) -> dict[str, float]:
    """Return the parameters of a point by its number."""
    if "point" in study.dims:
        return {name: float(study[name].values[k]) for name in varied_in(study)}
    at = np.unravel_index(k, study["status"].shape)
    return {str(name): float(study[name].values[i]) for name, i in zip(study["status"].dims, at, strict=True)}


def study_lines(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the same in words."""
    lines = [("points", f"{data['points']}: " + ", ".join(f"{n} {what}" for what, n in data["status"].items()))]
    lines += [(f"  {n}", f"[{reason}]") for reason, n in data["reasons"].items()]
    for take, found in data["take"].items():
        if "missing" in found:
            lines.append((take, f"no number at {found['missing']} points that finished"))
        if "mean" not in found:
            continue
        unit = f" {found['unit']}" if found["unit"] else ""
        lines.append((take, f"mean {found['mean']:.6g}{unit}, standard deviation {found['deviation']:.3g}{unit}"))
        if "range" in found:
            low, high = found["range"]
            lines.append(("  99 % of them", f"from {low:.6g} to {high:.6g}{unit}"))
            shares = sorted(found["shares"].items(), key=lambda pair: -pair[1])
            lines.append(("  variance", ", ".join(f"{100 * share:.3g} % by {name}" for name, share in shares)))
        for which in ("min", "max"):
            at = ", ".join(f"{name} = {x:.6g}" for name, x in found[which].items() if name != "value")
            lines.append((f"  {which}", f"{found[which]['value']:.6g}{unit} at {at}"))
    return lines


def plot_fit(found: Fit) -> Figure:
    """Plot what is measured, and the motions before and after, a picture for each column."""
    columns = [name for name in found.data if name != "t"]
    figure, axes = _new_figure(found.model, len(columns), 1, (7.0, 1.0 + 2.4 * len(columns)))
    motions = {"before": found.motion(found.before), "fitted": found.motion()}
    for axis, name in zip(axes.ravel(), columns, strict=True):
        axis.plot(found.data["t"], found.data[name], ".", color=INK, markersize=3, label="measured")
        for k, (label, motion) in enumerate(motions.items()):
            axis.plot(motion.t, motion[name], color=COLORS[1 - k], linestyle=DASHES[1 - k], label=label)
        _name(axis, "t [s]", f"{name} [{found.units[name]}]")
        axis.legend(fontsize="small")
    return figure


def slope_lines(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Say how numbers taken of a motion depend on parameters."""
    lines = [("model", str(data["model"]))]
    for take, found in data["of"].items():
        unit = f" {found['unit']}" if found["unit"] else ""
        lines.append((take, f"{found['value']:.9g}{unit}"))
        for name, own in found["to"].items():
            elasticity = "" if own["elasticity"] is None else f", elasticity {own['elasticity']:.4g}"
            adds = f", +-{own['tolerance']:.4g} adds {own['adds']:.4g}{unit}" if "adds" in own else ""
            lines.append((f"  {name} = {own['value']:.6g}", f"derivative {own['derivative']:.9g}{elasticity}{adds}"))
        if "worst" in found:
            together = f"{found['worst']:.4g}{unit} at most, {found['rms']:.4g}{unit} if independent"
            lines.append(("  tolerances together", together))
    return lines


def fit_lines(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Say which parameters fit a measured motion, and how well they are known."""
    lines = [("model", str(data["model"]))]
    for name, own in data["fit"].items():
        low, high = own["interval"]
        within = f"{data['confidence']:.0%} within {low:.6g} .. {high:.6g}"
        lines.append(
            (f"{name} = {own['value']:.8g}", f"+- {own['deviation']:.3g}, {within}; before {own['before']:.6g}")
        )
    for name, own in data["left"].items():
        unit = own["unit"]
        lines.append((f"left of {name}", f"{own['after']:.4g} {unit} in the mean, before {own['before']:.4g} {unit}"))
    names, correlation = list(data["fit"]), np.array(data["correlation"])
    pairs = [(abs(correlation[i, j]), names[i], names[j]) for i in range(len(names)) for j in range(i)]
    if pairs:
        size, one, other = max(pairs)
        lines.append(("least told apart", f"{other} and {one}: correlation {size:.3f}"))
    lines.append(("measured", f"{data['values']} values, {data['tried']} motions tried"))
    return lines


def design_facts(found: Optimum, design: Design) -> list[str]:
    """Return what is sought of a design, what limits it and its values."""
    unit = f" {found.unit}" if found.unit else ""
    limits = [
        f"{x.text}: {'held' if e <= TYPED * x.size else 'broken'}"
        for x, e in zip(found.limits, design.excess, strict=True)
    ]
    return [
        f"{found.take.text} = {design.objective:.6g}{unit}",
        *limits,
        *(f"{name} = {x:.6g}" for name, x in design.values.items()),
    ]


def optimum_lines(found: Optimum) -> list[tuple[str, str]]:
    """Return the design in words, beside the one that the model states."""
    unit = f" {found.unit}" if found.unit else ""
    lines = [("design", f"{found.model.model.name}: {'largest' if found.maximizes else 'least'} {found.take.text}")]
    for name, design in (("as stated", found.before), ("best", found.best)):
        value = f"{design.objective:.6g}{unit}" if np.isfinite(design.objective) else f"no motion [{design.reason}]"
        at = ", ".join(f"{key} = {x:.6g}" for key, x in design.values.items())
        broken = [limit.text for limit, x in zip(found.limits, design.excess, strict=True) if x > TYPED * limit.size]
        lines.append((name, f"{value} at {at}" + (f", without {quoted(broken)}" if broken else "")))
    for limit, excess in zip(found.limits, found.best.excess, strict=True):
        lines.append((f"  {limit.text}", "at its bound" if abs(excess) <= TYPED * limit.size else f"by {-excess:.4g}"))
    by = "exact derivatives" if found.is_exact else "difference quotients"
    lines.append(("tried", f"{found.tried} designs, {found.failed} without a motion, by {by}"))
    return lines
