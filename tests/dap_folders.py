"""Model folders of DAP_BC and DAP_JC, written from the data of the published models in tests/reference/dap."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "reference" / "dap"
MODELS = sorted(x.stem.removeprefix("dap_") for x in DATA.glob("dap_*.json") if "contacts" not in x.name)

JOINT_KEYS = {
    **{"point_i": "iPindex", "point_j": "jPindex", "vector_i": "iUindex", "vector_j": "jUindex", "function": "iFunct"},
    **{"body_i": "iBindex", "body_j": "jBindex", "length": "L", "offset": "L", "radius": "R", "x0": "x0", "phi0": "p0"},
}
FORCE_KEYS = {"point_i": "iPindex", "point_j": "jPindex", "stiffness": "k", "free_length": "L0", "damping": "dc"}
SHAPE_KEYS = {"radius": "R", "width": "W", "height": "H"}


def data(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"dap_{name}.json").read_text())
    return found


def number(x: Any) -> str:
    if isinstance(x, list):
        return "[" + "; ".join(map(number, x)) + "]"
    turns = x / math.pi * 12.0
    return f"{turns / 12.0!r}*pi" if x and abs(turns - round(turns)) < 1e-12 else repr(x)


def structures(kind: str, array: str, elements: Iterable[Mapping[str, Any]], keys: Mapping[str, str]) -> str:
    """An M-file of structures: `keys` says which data become which fields."""
    lines, names = [f"function in{array}", "include_global", ""], []
    for k, element in enumerate(elements, 1):
        name = f"{array[0]}{k}" if "name" not in element or element["name"] in names else element["name"]
        names.append(name)
        lines.append(f"{name} = {kind}_struct;   % number {k}")
        for key, field in keys.items():
            value = element.get(key)
            if value is not None:
                lines.append(
                    f"    {name}.{field} = {value!r};"
                    if isinstance(value, str)
                    else f"    {name}.{field} = {number(value)};"
                )
    return "\n".join([*lines, f"{array} = [{'; '.join(names)}];", ""])


def user_forces(model: Mapping[str, Any]) -> dict[str, Any]:
    """The special laws as forces of a model file."""
    found: dict[str, Any] = {}
    for force in model["forces"]:
        body = f"B{force.get('body')}"
        if force["type"] == "tyre":
            k, c, R = (force[key] for key in ("stiffness", "damping", "radius"))
            point = model["points"][force["moment_point"] - 1]["name"] if force["moment_point"] else "centre"
            law = f"if({body}.y < {R}, -({k}*({body}.y - {R}) + {c}*{body}.vy), 0)"
            found["tyre"] = {"type": "point-force", "at": f"{body}.{point}", "force": [0, law]}
        elif force["type"] == "motor":
            wheel, other = f"B{force['wheel_body']}", f"B{force['reaction_body']}"
            T = f"{force['torque_max']}*(1 - abs({wheel}.omega)/{force['omega_max']!r})"
            found["motor"] = {"type": "torque", "on": wheel, "torque": f"-{T}"}
            found["reaction"] = {"type": "torque", "on": other, "torque": T}
        elif force["type"] == "ground_contact":
            law = {"model": force["model"], "stiffness": force["stiffness"], "restitution": force["restitution"]}
            for point, of in force["points"]:
                place = f"B{of}.{model['points'][point - 1]['name']}"
                found[f"contact{point}"] = {
                    "type": "line-contact", "i": "ground.O", "j": place, "normal": [0, 1], **law
                }  # fmt: skip
        elif force["type"] == "air_drag":
            drag = [f"-{force['coefficient']}*{body}.vx^2", 0]
            found["drag"] = {"type": "point-force", "at": f"{body}.centre", "force": drag}
        elif force["type"] == "belt_friction":
            v = f"({force['belt_velocity']} - {body}.vx)"
            mu = f"({force['mu_d']} + {force['mu_s'] - force['mu_d']!r}*exp(-({v}/{force['v_s']})^{force['p']}))"
            law = f"{force['normal_force']}*{mu}*tanh({force['k_t']}*{v})"
            found["belt"] = {"type": "point-force", "at": f"{body}.centre", "force": [law, 0]}
    return found


def joints(model: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The joints as inJoints states them: those of the tree, then those that are cut."""
    if model["joints" if "joints" in model else "chain"] is None or "chain" not in model:
        return list(model["joints"])
    found = []
    for joint in model["chain"]["tree"]:
        if joint["joint"] == "disc":
            found.append({"type": "disc", "body_i": joint["body"], "radius": joint["radius"], "x0": joint["x0"]})
        elif joint["joint"] != "float":
            parent, child = joint["parent_point"], joint["child_point"]
            if joint["joint"] == "tran":  # whose axis is that of j
                vectors = {"vector_i": joint["child_vector"], "vector_j": joint["parent_vector"]}
                found.append({"type": "tran", "point_i": child, "point_j": parent, **vectors})
            else:
                found.append({"type": "rev", "point_i": parent, "point_j": child})
    for joint in model["chain"]["cut"]:
        if joint["type"] == "driver":
            found.append({"type": "rel-rot", "body_i": 1, "body_j": 0, "function": 1})
        else:
            found.append(joint)
    return [{"name": f"J{k}", **joint} for k, joint in enumerate(found, 1)]


def write(name: str, folder: Path) -> Path:
    """The folder of a model: points and vectors by number, special forces in user_force.m and user_force.yaml."""
    model = data(name)
    folder.mkdir(parents=True, exist_ok=True)
    shapes = {shape["body"]: shape for shape in model["view"]["shapes"]}
    bodies = []
    for k, body in enumerate(model["bodies"], 1):
        drawn = {key: x for key, x in shapes.get(k, {}).items() if key != "body"}
        if len(body.get("theta", [])) == 1:
            body = {**body, "theta": body["theta"][0], "theta_dot": body["theta_dot"][0]}
        bodies.append({**body, **drawn})
    if name == "jc_cart_c":  # the data count the angle of body 2 from the ground
        bodies[1]["theta_dot"] = -bodies[0]["theta_dot"]
    body_keys = {"mass": "m", "inertia": "J", "r": "r", "phi": "p", "r_dot": "r_d", "phi_dot": "p_d", "theta": "theta"}
    body_keys |= {"theta_dot": "theta_d", "shape": "shape", **SHAPE_KEYS}
    files = {"inBodies": structures("Body", "Bodies", bodies, body_keys)}
    files["inPoints"] = structures("Point", "Points", model["points"], {"body": "Bindex", "local": "sPlocal"})
    files["inUvectors"] = structures("Unit", "Uvectors", model["vectors"], {"body": "Bindex", "local": "ulocal"})
    known = ("ptp", "weight")
    forces = [{**force, "type": force["type"] if force["type"] in known else "user"} for force in model["forces"]]
    force_keys = {"type": "type", **FORCE_KEYS, "g": "gravity", "direction": "wgt"}
    files["inForces"] = structures("Force", "Forces", forces, force_keys)
    files["inJoints"] = structures("Joint", "Joints", joints(model), {"type": "type", **JOINT_KEYS})
    functions = model["functions"] or [{"type": "a", "coeff": [math.pi / 3, 2 * math.pi, 0.0]}]
    function_keys = {"type": "type", "coeff": "coeff", "t_start": "t_start", "f_start": "f_start", "t_end": "t_end"}
    files["inFuncts"] = structures("Funct", "Functs", functions, {**function_keys, "dfdt_end": "dfdt_end"})
    extra = structures("Point", "Points_anim", model["view"]["extra_points"], {"body": "Bindex", "local": "sPlocal"})
    x, y = model["view"]["x_range"], model["view"]["y_range"]
    files["inAnimate"] = f"{extra}xmin = {x[0]}; xmax = {x[1]};\nymin = {y[0]}; ymax = {y[1]};\n"
    special = user_forces(model)
    if special:
        files["user_force"] = "function user_force\ninclude_global\nif t > 0\n  Forces(2).f = law(t);\nend\nend\n"
        (folder / "user_force.yaml").write_text(json.dumps({"forces": special}))
    for file, text in files.items():
        (folder / f"{file}.m").write_text(text)
    return folder
