"""Model folders of DAP_BC and DAP_JC in the syntax of their users, written from the data in tests/reference/dap.

The same model can be written with variables (B1.m = 5; Bodies = [B1; B2]), with indices (Bodies(1).m = 5), and as
scripts without a function.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "reference" / "dap"
MODELS = sorted(x.stem.removeprefix("dap_") for x in DATA.glob("dap_*.json") if "contacts" not in x.name)
STYLES = ("variables", "indices", "scripts")

JOINT_KEYS = {
    **{"point_i": "iPindex", "point_j": "jPindex", "vector_i": "iUindex", "vector_j": "jUindex", "function": "iFunct"},
    **{"body_i": "iBindex", "body_j": "jBindex", "length": "L", "offset": "L", "radius": "R", "x0": "x0", "phi0": "p0"},
}
FORCE_KEYS = {"point_i": "iPindex", "point_j": "jPindex", "stiffness": "k", "free_length": "L0", "damping": "dc"}
SHAPE_KEYS = {"shape": "shape", "radius": "R", "width": "W", "height": "H", "color": "color"}


def data(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"dap_{name}.json").read_text())
    return found


def number(x: Any) -> str:
    if isinstance(x, list):
        return "[" + "; ".join(map(number, x)) + "]"
    if isinstance(x, str):
        return f"'{x}'"
    turns = x / math.pi * 12.0
    return f"{turns / 12.0!r}*pi" if x and abs(turns - round(turns)) < 1e-12 else repr(x)


def head(name: str, style: str, arguments: str = "") -> str:
    return "" if style == "scripts" and not arguments else f"function {name}{arguments}\n    include_global\n\n"


def structures(
    kind: str, array: str, elements: Iterable[Mapping[str, Any]], keys: Mapping[str, str], style: str = "variables"
) -> str:
    """Assignments of structures: `keys` says which data become which fields."""
    lines, names = [], []
    for k, element in enumerate(elements, 1):
        name = f"{array[0]}{k}" if "name" not in element or element["name"] in names else element["name"]
        names.append(name)
        holder = f"{array}({k})" if style == "indices" else name
        lines.append(f"{holder} = {kind}_struct;   % number {k}")
        for key, field in keys.items():
            if element.get(key) is not None:
                lines.append(f"    {holder}.{field} = {number(element[key])};")
    if style != "indices" or not names:
        lines.append(f"{array} = [{'; '.join(names)}];")
    return "\n".join([*lines, ""])


TYRE = """
% tyre on body ({body})
    ks = Forces({k}).k; R = Forces({k}).R; dc = Forces({k}).dc;
    delta = Bodies({body}).r(2) - R;
    if delta < 0
        fy = -(ks*delta + dc*Bodies({body}).r_d(2));
        fsd = [0; fy];
        Bodies({body}).f = Bodies({body}).f + fsd;
{moment}    end
"""
MOTOR = """
    T_max = {torque_max}; w_max = {omega_max!r};   w = Bodies({wheel_body}).p_d;
    T = T_max*(1 - abs(w)/w_max);
    Bodies({wheel_body}).n = Bodies({wheel_body}).n - T;
    Bodies({reaction_body}).n = Bodies({reaction_body}).n + T;
"""
BELT = """
    mu_s = {mu_s}; mu_d = {mu_d}; v_s = {v_s}; p = {p}; k_t = {k_t};
    ff = Friction_A(mu_s, mu_d, v_s, p, k_t, {belt_velocity} - Bodies({body}).r_d(1), {normal_force});
    Bodies({body}).f(1) = Bodies({body}).f(1) + ff;
"""
DRAG = """
    x_d = Bodies({body}).r_d(1); f_drag = [-{coefficient}*x_d^2; 0];
    Bodies({body}).f = Bodies({body}).f + f_drag;
"""


def user_force(model: Mapping[str, Any]) -> str:
    """The special laws as statements of user_force."""
    found = ""
    for k, force in enumerate(model["forces"], 1):
        body = force.get("body")
        if force["type"] == "tyre":
            moment = ""
            if point := force["moment_point"]:
                moment = f"        Bodies({body}).n = Bodies({body}).n + s_rot(Points({point}).sP)'*fsd;\n"
            found += TYRE.format(body=body, k=k, moment=moment)
        elif force["type"] == "motor":
            found += MOTOR.format(**force)
        elif force["type"] == "belt_friction":
            found += BELT.format(**force)
        elif force["type"] == "air_drag":
            found += DRAG.format(**force)
        elif force["type"] == "ground_contact":
            law = {"lankarani-nikravesh": 1, "flores-machado": 2}[force["model"]]
            found += f"\n    k = 10^{math.log10(force['stiffness']):g}; e = {force['restitution']};\n"
            for n, (point, of) in enumerate(force["points"], 1):
                found += f"    Contact({n}, {point}, {of}, k, e, {law})\n"
    return found


def chain_open(model: Mapping[str, Any]) -> str:
    """Forward kinematics by Coord_*, or where the model rolls or counts angles from the ground, by hand."""
    lines, first = ["if check <= 2"], 1
    for joint in model["chain"]["tree"]:
        kind, parent, child = joint["joint"], joint.get("parent_point"), joint.get("child_point")
        if kind == "float":
            lines.append(f"    Coord_Float({joint['body']}, theta({first}:{first + 2}));")
        elif kind == "tran":
            vectors = joint["parent_vector"], joint["child_vector"]
            lines.append(f"    Coord_Tran({parent}, {vectors[0]}, {child}, {vectors[1]}, theta({first}));")
        elif kind == "rev":
            lines.append(f"    Coord_Rev({parent}, {child}, theta({first}));")
        elif kind == "disc":
            body, R = joint["body"], joint["radius"]
            lines += [f"    R = {R};", f"    Bodies({body}).r = [{joint['x0']} - R*theta({first}); R];"]
            lines += [f"    Bodies({body}).p = theta({first}); Bodies({body}).A = Matrix_A(theta({first}));"]
            lines += ["    Update_P(1);"]
        else:  # a pin whose angle is that of the body
            body = model["points"][child - 1]["body"]
            lines += [f"    Bodies({body}).p = theta({first});", f"    Bodies({body}).A = Matrix_A(theta({first}));"]
            lines += [f"    Points({child}).sP = Bodies({body}).A*Points({child}).sPlocal;"]
            lines += [f"    Points({child}).rP = Points({parent}).rP;"]
            lines += [f"    Bodies({body}).r = Points({child}).rP - Points({child}).sP;"]
        first += 3 if kind == "float" else 1
    return "\n".join([*lines, "end", "end", ""])


def cut_joint(model: Mapping[str, Any]) -> str:
    """The constraints of the cut joints and drivers."""
    rows = []
    for cut in model["chain"]["cut"]:
        i, j = cut.get("point_i"), cut.get("point_j")
        if cut["type"] == "rev":
            other = "Bodies(3).r" if model["id"] == "dap_jc/Cart_C" else f"Points({j}).rP"
            rows.append(f"(Points({i}).rP - {other})")
        elif cut["type"] == "tran":
            u, v = cut["vector_j"], cut["vector_i"]
            rows += [f"s_rot(Uvectors({u}).u)'*Uvectors({v}).u"]
            rows += [f"s_rot(Uvectors({u}).u)'*(Points({i}).rP - Points({j}).rP)"]
        elif cut["type"] == "rev-tran":
            rows.append(f"s_rot(Uvectors({cut['vector_i']}).u)'*(Points({i}).rP - Points({j}).rP)")
        else:
            rows.append("(theta(1) - pi/3 -2*pi*t)")
    joined = "\n           ".join(rows)
    return f"if check == 1\n    Phi = [{joined}];\nelseif check == 2\n    rhsV = zeros({len(rows)}, 1);end\nend"


def write(name: str, folder: Path, style: str = "variables") -> Path:
    """The folder of a model."""
    model = data(name)
    folder.mkdir(parents=True, exist_ok=True)
    is_joint, bodies = model.get("chain") is not None, []
    for k, body in enumerate(model["bodies"], 1):
        if len(body.get("theta", [])) == 1:
            body = {**body, "theta": body["theta"][0], "theta_dot": body["theta_dot"][0]}
            if name in ("jc_mpa", "jc_mpb") and k == 1:  # given an angle that DAP_JC does not read, and no theta
                body = {key: x for key, x in body.items() if not key.startswith("theta")} | {"phi": 6.0819}
        bodies.append(body)
    body_keys = {"mass": "m", "inertia": "J", "r": "r", "phi": "p", "r_dot": "r_d", "phi_dot": "p_d", "theta": "theta"}
    body_keys |= {"theta_dot": "theta_d"}
    known = ("ptp", "weight")
    forces = [{**force, "type": force["type"] if force["type"] in known else "user"} for force in model["forces"]]
    users = [k for k, force in enumerate(forces) if force["type"] == "user"]
    del forces[users[0] + 1 if len(users) > 1 else len(forces) :]  # DAP calls user_force once for each of them
    function_keys = {"type": "type", "coeff": "coeff", "t_start": "t_start", "f_start": "f_start", "t_end": "t_end"}
    force_keys = {"type": "type", **FORCE_KEYS, "g": "gravity", "direction": "wgt", "radius": "R"}
    local = {"body": "Bindex", "local": "sPlocal"}
    files = {
        "inBodies": structures("Body", "Bodies", bodies, body_keys, style),
        "inPoints": structures("Point", "Points", model["points"], local, style),
        "inUvectors": structures("Unit", "Uvectors", model["vectors"], {"body": "Bindex", "local": "ulocal"}, style),
        "inForces": structures("Force", "Forces", forces, force_keys, style),
        "inFuncts": structures("Funct", "Functs", model["functions"], {**function_keys, "dfdt_end": "dfdt_end"}, style),
        "inAnimate": structures("Point", "Points_anim", model["view"]["extra_points"], local, style),
    }
    for shape in model["view"]["shapes"]:
        fields = (
            f"Bodies({shape['body']}).{SHAPE_KEYS[key]} = {number(x)};" for key, x in shape.items() if key != "body"
        )
        files["inAnimate"] += "\n" + " ".join(fields)
    x, y = model["view"]["x_range"], model["view"]["y_range"]
    files["inAnimate"] += f"\nxmin = {x[0]}; xmax = {x[1]};\nymin = {y[0]}; ymax = {y[1]};\n"
    if is_joint:
        files["inConst"] = f"nConst = {model['n_constraints']};\n"
        files["ChainOpen"] = chain_open(model)
        if model["n_constraints"]:
            files["CutJoint"] = cut_joint(model)
    else:
        files["inJoints"] = structures("Joint", "Joints", model["joints"], {"type": "type", **JOINT_KEYS}, style)
    if law := user_force(model):
        files["user_force"] = law
    for file, text in files.items():
        needs = "(check, theta, theta_d, t)" if file in ("ChainOpen", "CutJoint") else ""
        (folder / f"{file}.m").write_text(head(file, style, needs) + text)
    return folder
