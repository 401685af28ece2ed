"""The text of every note, and of every reason why a run ended, by its code.

A text is a format of its data, or a function of them where they decide what is said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linkwork.errors import option, quoted

MOST_TIMES = 5  # that a note lists: they fill a line


def write(code: str, data: Mapping[str, Any]) -> str:
    """Write the text of a note or reason; `then` in its data has times from which on it holds with other data."""
    text = TEXTS[code]
    data = dict(data)
    later = data.pop("then", ())
    said = [text.format(**data) if isinstance(text, str) else text(**data)]
    return "; ".join([*said, *(f"from t = {t:.6g} on: {write(code, other)}" for t, other in later)])


def _zero_mass(**data: Any) -> str:
    if "without_mass" in data:
        kinds = (("forces", "mass", data["without_mass"]), ("torques", "inertia", data["without_inertia"]))
        parts = [
            f"no inertia {loads} of {quoted(names)}, which {'has' if len(names) == 1 else 'have'} no {what}"
            for loads, what, names in kinds
            if names
        ]
        return f"the reactions hold {', and '.join(parts)}"
    meant = ", it is a point mass" if data["is_point"] else ""
    return f"body '{data['body']}' has no {data['what']}{meant}; some formulations need a regular M"


def _not_unit(at: str, length: float | None) -> str:
    how = "is not of length 1 with all parameters" if length is None else f"has length {length:.6g}"
    return f"{at} {how} and is taken as a direction, of length 1"


def _repaired_inertia(body: str, before: Sequence[float], after: Sequence[float]) -> str:
    was, now = (", ".join(f"{x:.6g}" for x in moments) for moments in (before, after))
    had = f"body '{body}' had principal moments {was} kg m^2, which no mass distribution has"
    return f"{had}; repaired, they are {now} kg m^2"


def _mode(number: int, of: int, kept: Sequence[str]) -> str:
    return f"the start is mode {number} of {of}" + (f", {', '.join(kept)} kept" if kept else "")


def _not_complete(reason: str, starts: int, idle: int) -> str:
    end = f"the last {idle} of which found nothing new" if idle else "which was ended while it still found new ones"
    return f"not proved complete: {reason} leaves only a search from {starts} starts, {end}"


def _special_geometry(**data: Any) -> str:
    if "unseen" in data:
        return f"{data['unseen']} curves or surfaces of complex solutions have no real one that was found"
    special = "the geometry is special: besides the modes there are curves or surfaces of positions"
    return f"{special}, {data['motions']} at least"


def _rank_uncertain(values: Sequence[float]) -> str:
    return (
        f"rank uncertain: the smallest singular values of the constraints are {', '.join(f'{s:.2e}' for s in values)}"
    )


def _redundant(rank: int, of: int, rows: Sequence[str]) -> str:
    return f"constraints are redundant: rank {rank} of {of}; dependent rows {', '.join(rows)}"


def _start_corrected(weights: str, changes: Mapping[str, float]) -> str:
    shown = ", ".join(f"{name} {change:+.3g}" for name, change in changes.items())
    how = "without weights" if weights == "plain" else f"{weights}-weighted"
    return f"start values corrected ({how}): {shown}"


def _start_of_dap(changes: Mapping[str, tuple[float, float]]) -> str:
    shown = ", ".join(f"{name} {given:.6g} to {found:.6g}" for name, (given, found) in changes.items())
    return f"start values corrected as DAP does it: {shown}"


def _singular_position(**data: Any) -> str:
    if "more" in data:
        return f"{data['more']} more are passed until t = {data['until']:.7g}"
    goes_on = "the motion goes on smoothly"
    if not data["is_driven"]:
        lost = data["unkept_by"]  # a stabilization that does not hold the motion in its branch
        goes_on = "the mechanism could continue on another branch there"
        goes_on += f", and '{lost}' does not keep it on its own branch" if lost else ""
    at = f"a singular position is passed at t = {data['t']:.7g}, joints involved: {quoted(data['joints'])}"
    return f"{at}; {goes_on}, reactions may grow without limit"


def _stiff(first: str, changes: Sequence[tuple[float, str]], more: int, turns: bool = False) -> str:
    named = ", ".join(f"{name} from t = {t:.6g}" for t, name in changes)
    also = f" and {more} more changes" if more else ""
    hint = "; joint coordinates may take a fraction of the time, since what is stiff turns with the bodies"
    return f"the motion is stiff and was integrated by {first}, {named}{also}{hint * turns}"


def _repivoted(times: Sequence[float]) -> str:
    shown = ", ".join(f"{t:.6g}" for t in times[:MOST_TIMES])
    more = f" and {len(times) - MOST_TIMES} times more" if len(times) > MOST_TIMES else ""
    return f"a pivot came near zero, and others were chosen, at t = {shown}{more}"


def _energy_balance(**data: Any) -> str:
    if not data:
        return "an energy is beyond all numbers, so that its balance, and with it the motion, cannot be checked"
    said = (
        f"the energy balance is off by {data['drift']:.3g} J of {data['turned_over']:.3g} J turned over, the "
        f"tolerances explain {data['explained']:.2g} J; the largest jump is at t = {data['t']:.6g}"
    )
    limit = data["limit"]  # None where it is kept
    advice = "the motion is not to be trusted and a smaller rtol or max_step may help"
    return said if limit is None else f"{said}; beyond {limit:.0%} {advice}"


def _acceleration_residual(**data: Any) -> str:
    if "limit" in data:
        size = f"accelerations contradict the constraints by {data['size']:.2g} of the largest of them"
        advice = "another formulation, or masses and lengths closer to each other, may help"
        return f"{size}; beyond {data['limit']:.0%} the motion is not to be trusted; {advice}"
    size = f"accelerations contradict the constraints, Psi_q a - gamma is {data['size']:.2g} of the largest of them"
    return f"{size} at t = {data['t']:.6g}; they and the reactions are not known better there"


def _force(force: Mapping[str, Any] | None) -> str:
    """Name the force that may be the cause of a stop."""
    if force is None:
        return ""
    if "operation" not in force:
        return f"; of the forces, '{force['name']}' changes most"
    of = ", ".join(f"{argument} = {x:.3g}" for argument, x in force["arguments"])
    where = f": {force['operation']} where {of}" if force["operation"] else ""
    return f"; the force '{force['name']}' has no finite value there{where}"


def _dead_position(t: float, joint: str, follows: Sequence[str], has_moved: bool) -> str:
    which, verb = " and ".join(f"'{name}'" for name in follows), "does" if len(follows) == 1 else "do"
    return (
        f"at t = {t:.9g} the links that close the loop at '{joint}' are stretched or folded, or its slides are "
        f"parallel, and {which} {verb} not follow from the other joints; choose the coordinates joint or body, "
        "which pass there"
    ) + KEPT * has_moved


def _law(force: str) -> str:
    return f"the law of '{force}'" if force else "a law"


def _not_solved(t: float, force: Mapping[str, Any] | None, refusal: str = "") -> str:
    """Say why nothing was solved; `refusal` is what a formulation says about its matrices."""
    what = f"{refusal}, at t = {t:.9g}" if refusal else f"the accelerations at t = {t:.9g} are not finite"
    return f"{what}{_force(force)}{KEPT}"


def _too_many_steps(steps: int, t: float, step: float, **cause: Any) -> str:
    tried = f"{steps} steps were tried until t = {t:.9g}, the last of {step:.2g} s"
    if formulation := cause.get("formulation"):
        return (
            f"{tried}, near a singular position, which the formulation '{formulation}' does not pass at these "
            f"tolerances; try another formulation or looser tolerances{KEPT}"
        )
    other = "" if cause.get("integrator") in ("auto", "radau5") else f" (try {option('integrator', 'auto', 'radau5')})"
    return (
        f"{tried}{_force(cause['force'])}; causes are very large stiffness or damping{other}, fast oscillations and "
        f"switching forces; {option('max_steps', 10 * steps)} allows more{KEPT}"
    )


def _chatters(t: float, law: str, rests: bool) -> str:
    back = f"from t = {t:.9g} on where {_law(law)} switches, which pushes it back from either side"
    if rests:
        return (
            f"the motion rests {back}; dry friction that holds is a force of the type stick-slip, one that creeps has "
            f"tanh(v/transition) for sign(v){KEPT}"
        )
    return (
        f"the motion stays {back}, and slides along there while it would switch without end; a law that is continuous "
        f"has tanh(x/width) for sign(x){KEPT}"
    )


def _events_accumulate(events: Sequence[str], t: float, count: int, within: float) -> str:
    names = ", ".join(f"'{name}'" for name in events)
    happen, what = ("the event", f"{names} happens") if len(events) == 1 else ("the events", f"{names} happen")
    why = "the motion comes to rest or chatters there" if len(events) == 1 else "what one sets makes another happen"
    return (
        f"{happen} {what} without end at t = {t:.6g}: {count} times each within {within:.0e} of this time after the "
        f"last; {why}; let an event with the action stop end the run before, or one engage a joint that holds the "
        f"rest{KEPT}"
    )


def _impossible_event(t: float, **data: Any) -> str:
    if "joint" in data:
        return (
            f"joint '{data['joint']}' cannot engage at t = {t:.9g}: it is {data['gap']:.3g} {data['unit']} open{KEPT}"
        )
    by = ", ".join(map(repr, data["events"]))
    return f"velocities prescribed at t = {t:.9g} by {by} contradict the joints or each other{KEPT}"


def _projection_failed(t: float, widest: str, has_drivers: bool) -> str:
    hint = "; if a driver asks for more than the joints allow, linkwork kinematics says where" if has_drivers else ""
    failed = f"projection after t = {t:.9g} did not converge; the joints cannot follow"
    return f"{failed}, largest gap in '{widest}'{hint}{KEPT}"


def _lock_up(t: float, drivers: Mapping[str, float], joints: Sequence[str]) -> str:
    at = ", ".join(f"{name} = {x:.9g}" for name, x in drivers.items())
    return f"the mechanism locks at t = {t:.9g} ({at}): no position exists beyond; joints involved: {quoted(joints)}"


KEPT = "; last good state kept"
TEXTS: Mapping[str, str | Callable[..., str]] = {
    # the model
    "newer-minor-version": "format {version} is newer than {known}; what it adds is not understood",
    "not-unit": _not_unit,
    "repaired-inertia": _repaired_inertia,
    "zero-mass": _zero_mass,
    "inertia-scale": "body '{body}' has a radius of gyration of {radius:.3g} m, its farthest point is at {reach:.3g} "
    "m; are the units right?",
    "own-carrier": "'{carrier}' is a gear of '{joint}' and its carrier, so the other cannot turn; the carrier is the "
    "body that holds the centres of both",
    "no-effect": "force '{force}' acts on '{body}' alone and moves nothing",
    "no-law": "'{force}' has neither stiffness, damping, actuator nor law, and exerts no force",
    "acts-while-open": "'{element}' acts along the freedom of '{joint}' also while it is open",
    "not-connected": lambda bodies: f"no joints or drivers connect {quoted(bodies, None)} to the ground",
    "unused-parameters": lambda names: (
        f"no formula uses the parameter{'s' * (len(names) > 1)} {quoted(names)}; is a name misspelt?"
    ),
    "actuators-not-unique": lambda actuators: (
        "there are more actuators than freedoms: forces are not unique in "
        f"{quoted(actuators, None)}, and those with the least sum of weight force^2 are given"
    ),
    "actuators-singular": lambda t, motions: (
        f"at t = {t:.9g} the actuators cannot make this motion"
        + (f": none of them moves {motions}" if motions else ", their position is nearly singular")
    ),
    # its positions
    "rank-uncertain": _rank_uncertain,
    "redundant": _redundant,
    "no-freedom": "no freedom is left: the mechanism is a structure, and will stand still",
    "drawing-not-read": "{file}:{line}: '{what}' is not read; it is for drawings only",
    "limits-not-kept": lambda file, line, joint, lower, upper: (
        f"{file}:{line}: nothing keeps '{joint}' between {lower:g} and {upper:g};"
        f" {option('limits', 'stops')} adds end stops"
    ),
    "start-of-dap": _start_of_dap,
    "start-corrected": _start_corrected,
    "other-sketch": "the sketch leads to no closed position; bodies were turned before it did",
    "mode": _mode,
    "not-complete": _not_complete,
    "over-determined": "there are {more} more equations than unknowns: only solutions of all equations count",
    "contradiction": "constraints and kept coordinates contradict each other whatever the position",
    "paths-lost": "{lost} paths were lost: modes may be missing",
    "ill-conditioned": "{doubtful} solutions are so near to others that they cannot be distinguished from singular "
    "ones: modes may be missing",
    "special-geometry": _special_geometry,
    # a motion
    "no-llvm": "equations are interpreted by Python, which takes hundreds of times as long: llvmlite cannot be loaded "
    "({why}); pip install llvmlite",
    "no-masses": "no body has mass and no force acts: there are no reactions",
    "near-singular": "the path comes near a singular position about t = {t:.6g}: the smallest singular value falls to "
    "{part:.1e} of what it is elsewhere",
    "singular-position": _singular_position,
    "singular-row": "accelerations and reactions at t = {t:.6g} are not known to a single digit: the position is "
    "singular, and an event or a switch is too near to it, or the motion too stiff, to extrapolate them",
    "stiff": _stiff,
    "atol-size": "the largest change of a {what} is {ratio:.2g} times its absolute tolerance; an atol below {atol:g} "
    "would resolve this motion",
    "euler-rates": "rates of Euler parameters carry errors of the orientation into the motion; in body coordinates, "
    "which take as long, bodies that tumble err up to thousands of times less",
    "repivoted": _repivoted,
    "full-matrices": "the pivots chosen at the start were too small for {count} matrices of the implicit method, which "
    "were factored as full ones",
    "grazing": "event '{event}' was at zero at t = {t:.9g} and did not go beyond: it is not counted",
    "unseen-switches": "laws switch more often than the steps resolve in {part:.2g} of the time, and switches may be "
    "missed; a smaller max_step resolves more of them",
    "slight-switch": "a law switches at t = {t:.9g} and back, by less than the tolerances of the state: whether it "
    "does is decided by rounding, and changes what follows; a smaller rtol decides it more reliably",
    "steep-law": "a law passes through its whole range within the tolerances of the state, in {count} steps: its value "
    "there is arbitrary; choose an atol well below {atol:g}, or a less steep law",
    "energy-balance": _energy_balance,
    "acceleration-residual": _acceleration_residual,
    "folded": "the shafts of the constant-velocity joint '{joint}' fold through 180 degrees between t = {t:.6g} and "
    "{until:.6g}: no real joint does, and there its constraint leaves open how the motion goes on",
    "constraint-gap": "{what} grows to {size:.2g} at t = {t:.6g}, measured by the mechanism; the tolerances explain "
    "{explained:.2g}; a smaller rtol, or projection, keeps the constraints",
    "lag": "judging by its energy balance, the motion may run ahead or behind by {allowed:.2g} rad, or lengths of the "
    "mechanism, from t = {since:.3g} on, and by {lag:.2g} at the end; a smaller rtol keeps it in time",
    # why a run ended
    "event": "event '{event}' at t = {t:.9g}",
    "interrupted": "interrupted by the user",
    "fixed-step": "no step of {step:g} s can be taken at t = {t:.9g}: its equations could not be solved; choose a "
    f"shorter one{KEPT}",
    "dead-position": _dead_position,
    "projection-failed": _projection_failed,
    **dict.fromkeys(("singular-mass", "massless-motion", "not-converged", "not-finite"), _not_solved),
    "too-many-steps": _too_many_steps,
    "step-collapse": lambda t, step, fastest, force: (
        f"the step size collapsed at t = {t:.9g} (step {step:.2g}); fastest change in '{fastest}'{_force(force)}{KEPT}"
    ),
    "no-value": "the formula of event '{event}' has no value at t = {t:.9g}, so it is not known whether it happens"
    f"{KEPT}",
    "no-reaction": "the reaction '{reaction}' has no value at t = {t:.9g}: a force without a finite value acts there, "
    "along a direction in which nothing can move; check the formulas of forces",
    "chatters": _chatters,
    "events-accumulate": _events_accumulate,
    "not-held": "the event '{event}' happens without end at t = {t:.6g}: it brings the motion to rest, forces press on "
    f"and nothing holds it there; let it also engage a joint that does, or let a contact force take its place{KEPT}",
    "impossible-event": _impossible_event,
    "no-position": "no position was found after t = {t:.9g}, however short the step; what was reached is kept",
    "lock-up": _lock_up,
}
