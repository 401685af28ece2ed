"""A planar model as a folder of DAP_BC, or of DAP_JC with the ChainOpen and CutJoint that its user would have to write.

Joints are turned round as they are when a folder is read (dap.py). Forces that DAP has no type for are written into
user_force as what they do to their bodies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from linkwork.elements.bodies import Ground
from linkwork.elements.contact import FlatContact
from linkwork.elements.drivers import Driver
from linkwork.elements.forces import PointForce, RotationalSpringDamper, SpringDamper, Torque
from linkwork.elements.frames import PLANAR_GROUND
from linkwork.elements.joints import Distance, PointOnLine, Prismatic, Revolute, Rigid, Rolling
from linkwork.elements.motions import Ramp, SmoothStep
from linkwork.elements.shapes import Box, Disc, Rod
from linkwork.errors import UsageError
from linkwork.expressions.evaluation import evaluate, ordered, substitute
from linkwork.expressions.graph import ZERO, Expr, as_expr, symbol
from linkwork.formats.dap import COLOURS
from linkwork.formats.dap_chain_writing import Chain
from linkwork.formats.dap_elements import FILES, TIME, Formulas, Written, number, plain, rotated, text_of
from linkwork.model import Model

# Functions of time by the fields of motions.
FUNCTIONS = (
    (SmoothStep, "b", {"f_start": "start", "f_end": "end"}),
    (Ramp, "c", {"f_start": "start", "dfdt_end": "rate"}),
)
TIMES = {"t_start": "t_start", "t_end": "t_end"}
CONTACTS = {"lankarani-nikravesh": 1, "flores-machado": 2}


def folder_of(model: Model, hinges: Sequence[Any] = ()) -> tuple[dict[str, str], list[str]]:
    """Return the texts of the M-files by their names, and what they do not hold.

    `hinges` is the tree of the joints; with it the folder is one of DAP_JC.
    """
    if model.space != "planar" or model.stated is not None:
        raise UsageError("a folder of DAP holds mechanisms of planar bodies", "not-planar")
    return write(Written(model, hinges))


def write(w: Written) -> tuple[dict[str, str], list[str]]:
    model = w.model
    for holder in (model.ground, *w.bodies):
        for name, s in holder.points.items():
            shared = sum(name in other.points for other in (model.ground, *w.bodies)) > 1
            w.spot(holder, s, f"{name}_{holder.name}" if shared else name)
    for event in model.events:
        w.miss(f"event '{event.name}'")
    for actuator in model.actuators:
        w.miss(f"actuator '{actuator.name}'")
    for kind in ("input", "output", "state"):
        for signal in getattr(model, f"{kind}s"):
            w.miss(f"{kind} '{signal.name}'")
    for name in sorted(model.open):
        w.miss(f"that joint '{name}' is open at first")
    if w.hinges:
        chain = Chain(w)
    else:
        for joint in model.joints:
            write_joint(w, joint)
        for driver in model.drivers:
            write_driver(w, driver)
    for body in w.bodies:
        mass, inertia = w.numbers((body.mass, body.inertia))
        q, v = w.start(body)
        own: dict[str, Any] = {"m": mass, "J": inertia}
        own |= chain.coordinates[body.name] if w.hinges else {"r": q[:2], "p": q[2], "r_d": v[:2], "p_d": v[2]}
        w.add("inBodies", body.name, **own)
    write_forces(w)
    files = {name: w.file(name) for name in FILES if name not in ("inJoints", "inConst", "inAnimate")}
    files["inAnimate"] = animation(w)
    if w.hinges:
        files |= {"inConst": f"    nConst = {len(chain.rows)};\n", "ChainOpen": chain.open()}
        if chain.rows:
            files["CutJoint"] = chain.cut()
    else:
        files["inJoints"] = w.file("inJoints")
    if w.law:
        files["user_force"] = "".join(f"    {line}\n" for line in w.law)
    arguments = dict.fromkeys(("ChainOpen", "CutJoint"), "(check, theta, theta_d, t)")
    heads = {name: f"function {name}{arguments.get(name, '')}\n    include_global\n\n" for name in files}
    return {f"{name}.m": f"{heads[name]}{text}end\n" for name, text in files.items()}, w.left_out


def animation(w: Written) -> str:
    lines = ["    Points_anim = [];", ""]
    for k, body in enumerate(w.bodies, 1):
        shape, own = w.model.shapes.get(body.name), dict[str, Any]()
        if isinstance(shape, Disc) and not any(w.numbers(shape.centre)):
            own = {"shape": "circle", "R": w.numbers([shape.radius])[0]}
        elif isinstance(shape, Box) and not any(w.numbers((*shape.centre, shape.angle))):
            own = dict(zip(("shape", "W", "H"), ("rect", *w.numbers(shape.size)), strict=True))
        elif isinstance(shape, Rod) and shape.width is None:
            (a, b), (c, d) = map(w.numbers, shape.ends)
            if (a, b) == (-c, -d):
                own = {"shape": "line", "W": c - a, "H": d - b}
        if shape is not None and not own:
            w.left_out.append(f"the shape of body '{body.name}'")
        if colour := w.model.colours.get(body.name):
            letters = {name: letter for letter, name in COLOURS.items()}
            parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)] if colour[0] == "#" else None
            own["color"] = parts or letters.get(colour, "k")
            if not parts and colour not in letters:
                w.left_out.append(f"the colour of body '{body.name}'")
        lines += [f"    Bodies({k}).{key} = {text_of(value)};" for key, value in own.items()]
    (x, y), (X, Y) = w.model.window or window_of(w)
    limits = zip(("xmin", "xmax", "ymin", "ymax"), w.numbers((x, X, y, Y)), strict=True)
    return "\n".join([*lines, *(f"    {name} = {number(value)};" for name, value in limits), ""])


def window_of(w: Written) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return a window about all points at the start."""
    frames = {body.name: body.start_frame for body in w.bodies} | {w.model.ground.name: PLANAR_GROUND}
    spots = [(0.0, 0.0)] + [
        tuple(w.numbers(frames[body.name].point(s)))
        for body in (w.model.ground, *w.bodies)
        for s in (*body.points.values(), (0.0, 0.0))
    ]
    low, high = ([of(x) for x in zip(*spots, strict=True)] for of in (min, max))
    room = 0.25 * (max(b - a for a, b in zip(low, high, strict=True)) or 1.0)
    return (low[0] - room, low[1] - room), (high[0] + room, high[1] + room)


def write_joint(w: Written, joint: Any) -> None:
    i, j, own = joint.body_i, joint.body_j, dict[str, Any]()
    if isinstance(joint, Revolute):
        own = {"type": "rev", **w.points_of(joint)}
    elif isinstance(joint, Prismatic):
        axis = w.numbers(joint.axis)
        own = {"type": "tran", **w.points_of(joint)}
        own |= {"iUindex": w.vector(j, rotated(-w.angle(joint), axis)), "jUindex": w.vector(i, axis)}
    elif isinstance(joint, Rigid):
        own = {"type": "rigid", **w.bodies_of(joint)}
    elif isinstance(joint, Distance):
        own = {"type": "rev-rev", **w.points_of(joint), "L": w.numbers([joint.rod_length])[0]}
    elif isinstance(joint, PointOnLine):
        own = {"type": "rev-tran", "iPindex": w.spot(i, joint.s_i), "jPindex": w.spot(j, joint.s_j)}
        own["iUindex"] = w.vector(i, [-x + 0.0 for x in w.numbers(joint.axis)])
    elif isinstance(joint, Rolling) and (disc := w.rolls(joint)) is not None:
        own = {"type": "disc", "iBindex": w.index[j.name], "R": disc[0], "x0": disc[1]}
    if own:
        w.add("inJoints", joint.name, **own)
    else:
        w.miss(f"joint '{joint.name}'")


def write_driver(w: Written, driver: Driver) -> None:
    function = function_of(w, driver)
    if function is None or driver.freedom not in ("angle", "distance"):
        w.miss(f"driver '{driver.name}'")
    elif driver.freedom == "angle":
        w.add("inJoints", driver.name, type="rel-rot", **w.bodies_of(driver.joint), iFunct=function)
    else:
        w.add("inJoints", driver.name, type="rel-tran", **w.points_of(driver.joint), iFunct=function)


def function_of(w: Written, driver: Driver) -> int | None:
    """Return the index of the function that a driver follows, None if it is of no type of DAP."""
    motion, name = driver.motion, f"f_{driver.name}"
    for cls, kind, keys in FUNCTIONS:
        if isinstance(motion, cls):
            own = {key: w.numbers([getattr(motion, field)])[0] for key, field in {**keys, **TIMES}.items()}
            return w.add("inFuncts", name, type=kind, **own)
    law = w.motion(driver)
    if law[3] is not ZERO or any(node.op == "spline" for node in ordered(law[:1])):
        return None
    c = evaluate(law[:3], {TIME: 0.0})
    return w.add("inFuncts", name, type="a", coeff=[c[0], c[1], c[2] / 2.0])


def write_forces(w: Written) -> None:
    gravity = w.numbers(w.model.gravity)
    if g := math.hypot(*gravity):
        w.add("inForces", "weight", type="weight", gravity=g, wgt=[x / g for x in gravity])
    for force in w.model.forces:
        if not write_force(w, force):
            write_user_force(w, force)
    if w.law:
        w.add("inForces", "user", type="user")


def write_force(w: Written, force: Any) -> bool:
    """Tell whether DAP has a type for a force, which is then written."""
    is_spring = isinstance(force, SpringDamper | RotationalSpringDamper) and force.law is ZERO
    actuator = w.constants([force.actuator]) if is_spring else None
    if actuator and isinstance(force, SpringDamper):
        k, c, free = w.numbers((force.stiffness, force.damping, force.free_length))
        w.add("inForces", force.name, type="ptp", **w.points_of(force), k=k, L0=free, dc=c, f_a=actuator[0])
    elif (
        isinstance(force, RotationalSpringDamper) and force.law is ZERO and (actuator := w.constants([force.actuator]))
    ):
        k, c, free = w.numbers((force.stiffness, force.damping, force.free_angle))
        kind = "rot_sda" if w.hinges else "rot-sda"  # as each of the programs spells it
        w.add("inForces", force.name, type=kind, **w.bodies_of(force), k=k, theta0=free, dc=c, T_a=actuator[0])
    elif isinstance(force, Torque) and (value := w.constants([force.torque])):
        w.add("inForces", force.name, type="T", iBindex=w.index[force.body.name], T=value[0])
    elif isinstance(force, PointForce) and not any(w.numbers(force.s)) and (value := w.constants(force.force)):
        if force.follows and w.hinges:
            return False  # DAP_JC stops at this type
        kind = "flocal" if force.follows else "f"
        w.add("inForces", force.name, type=kind, iBindex=w.index[force.body.name], **{kind: value})
    else:
        return isinstance(force, FlatContact) and write_contact(w, force)
    return True


def write_contact(w: Written, force: FlatContact) -> bool:
    """Write contact of a point with y = 0, with the exponent of Hertz and without friction; False if it is another."""
    line, normal = w.numbers(force.s_i), w.numbers(force.normal)
    exponent = w.constants([_given(force.exponent, 1.5)])
    upright = normal[0] == 0.0 and normal[1] > 0.0 and line[1] == 0.0 and isinstance(force.body_i, Ground)
    plain = force.friction == "none" and exponent == [1.5] and w.numbers([force.radius_j]) == [0.0]
    if not (upright and plain and force.model in CONTACTS):
        return False
    k, e = w.numbers((force.stiffness, _given(force.restitution, 1.0)))
    n = sum("Contact(" in line for line in w.law) + 1
    of = f"{w.spot(force.body_j, force.s_j)}, {w.index[force.body_j.name]}"
    w.law.append(f"Contact({n}, {of}, {number(k)}, {number(e)}, {CONTACTS[force.model]});")
    return True


def write_user_force(w: Written, force: Any) -> None:
    """Find what a force does to its bodies, as statements."""
    names = names_of_state(w)
    frames = [frame_of(w, body) for body in force.bodies]
    Q = [substitute([as_expr(x) for x in own], w.given) for own in force.Q(*frames)]
    nodes = ordered([x for own in Q for x in own])
    if force.held or any(x.op == "spline" or (x.op == "symbol" and x not in names) for x in nodes):
        w.miss(f"force '{force.name}'")
        return
    w.law.append(f"% {plain(force.name)}")
    formulas = Formulas(names)
    for body, own in zip(force.bodies, Q, strict=True):
        if isinstance(body, Ground) or all(x is ZERO for x in own):
            continue
        fx, fy, n = formulas.write(own)
        w.law += formulas.lines
        formulas.lines = []
        holder = f"Bodies({w.index[body.name]})"
        if own[0] is not ZERO or own[1] is not ZERO:
            w.law.append(f"{holder}.f = {holder}.f + [{fx}; {fy}];")
        if own[2] is not ZERO:
            w.law.append(f"{holder}.n = {holder}.n + {n};")


def frame_of(w: Written, body: Any) -> Any:
    if isinstance(body, Ground):
        return PLANAR_GROUND
    return body.frame([symbol(c.name) for c in body.coordinates], [symbol(c.speed) for c in body.velocities])


def names_of_state(w: Written) -> dict[Expr, str]:
    """Find what formulas of a model file name, as M-files do."""
    found = {TIME: "t"}
    for body in w.bodies:
        own = f"Bodies({w.index[body.name]})"
        keys = ("r(1)", "r(2)", "p"), ("r_d(1)", "r_d(2)", "p_d")
        for coordinates, fields in zip((body.coordinates, body.velocities), keys, strict=True):
            for c, key in zip(coordinates, fields, strict=True):
                found[symbol(c.name if fields is keys[0] else c.speed)] = f"{own}.{key}"
        for name, s in body.points.items():
            point = f"Points({w.spot(body, s)})"
            for n, axis in enumerate("xy", 1):
                found[symbol(f"{body.name}.{name}.{axis}")] = f"{point}.rP({n})"
                found[symbol(f"{body.name}.{name}.v{axis}")] = f"{point}.rP_d({n})"
    return found


def _given(value: Any, usual: float) -> Any:
    return usual if value is None else value
