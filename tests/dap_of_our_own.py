"""Two folders of our own in the syntax of DAP_JC and DAP_BC, with what the published models do not use.

TRAY, joint coordinates: a floating disc that rolls by its cut, a rod pinned to its rim, whose end moves in a slot of a
slider and which slides through a swivel, also cut; B, B' theta' and C as a student writes them.
BENCH, body coordinates: one body for each force ptp, rot-sda, f, flocal, T and each function a, b, c.
CUTS, joint coordinates: floating bodies with one cut of each kind of table C.1: pin, slide, rod, slot, driver.
"""

from __future__ import annotations

from pathlib import Path

TRAY = {
    "inBodies": """function inBodies
    include_global
disc   = Body_struct; disc.m = 4; disc.J = 0.5; disc.theta = [0 0.5 0];  % floating
rod    = Body_struct; rod.m = 1.5; rod.J = 0.5; rod.theta = atan2(0.3, 1.2);
slider = Body_struct; slider.m = 2; slider.J = 0.1; slider.theta = 1.9;
swivel = Body_struct; swivel.m = 0.4; swivel.J = 0.02; swivel.theta = atan2(0.3, 1.2);
Bodies = [disc; rod; slider; swivel];
""",
    "inPoints": """function inPoints
    include_global
P1 = Point_struct; P1.Bindex = 0; P1.sPlocal = [0; 0];       % guide
P2 = Point_struct; P2.Bindex = 1; P2.sPlocal = [0; 0.4];     % rim
P3 = Point_struct; P3.Bindex = 2; P3.sPlocal = [-1; 0];
P4 = Point_struct; P4.Bindex = 2; P4.sPlocal = [1; 0];       % end of the rod
P5 = Point_struct; P5.Bindex = 3; P5.sPlocal = [0; 0];
P6 = Point_struct; P6.Bindex = 0; P6.sPlocal = [1.2; 1.2];   % pivot of the swivel
P7 = Point_struct; P7.Bindex = 4; P7.sPlocal = [-0.1; 0];
Points = [P1; P2; P3; P4; P5; P6; P7];
""",
    "inUvectors": """function inUvectors
    include_global
U1 = Unit_struct; U1.Bindex = 0; U1.ulocal = [1; 0];
U2 = Unit_struct; U2.Bindex = 3; U2.ulocal = [1; 0];
U3 = Unit_struct; U3.Bindex = 3; U3.ulocal = [0; 1];         % slot
U4 = Unit_struct; U4.Bindex = 2; U4.ulocal = [1; 0];
U5 = Unit_struct; U5.Bindex = 4; U5.ulocal = [1; 0];
Uvectors = [U1; U2; U3; U4; U5];
""",
    "inForces": """function inForces
    include_global
S = Force_struct; S.type = 'ptp'; S.iPindex = 1; S.jPindex = 5; S.k = 60; S.L0 = 1.5; S.dc = 2;
W = Force_struct; W.type = 'weight';
Forces = [S; W];
""",
    "inConst": "function inConst\n    include_global\nnConst = 5;\n",
    "inAnimate": "function inAnimate\n    include_global\nBodies(1).shape = 'circle'; Bodies(1).R = 0.5;\n",
    "ChainOpen": """function ChainOpen(check, theta, theta_d, t)
    include_global
if check <= 2
    Coord_Float(1, theta(1:3));
    Coord_Rev(2, 3, theta(4));
    Coord_Tran(1, 1, 5, 2, theta(5));
    Coord_Rev(6, 7, theta(6));
    Update_P(4);
end
if check == 2
    d21 = Bodies(2).r - Bodies(1).r;  d24 = -Points(3).sP;
    d46 = -Points(7).sP;  u3 = Uvectors(2).u;  z2 = [0; 0];
    Bmat = [eye(2)  z2         z2          z2  z2
            0 0     1          0           0   0
            eye(2)  s_rot(d21) s_rot(d24)  z2  z2
            0 0     1          1           0   0
            z2 z2   z2         z2          u3  z2
            0 0     0          0           0   0
            z2 z2   z2         z2          z2  s_rot(d46)
            0 0     0          0           0   1];
elseif check == 3
    d21d = Bodies(2).r_d - Bodies(1).r_d;  d24d = -Points(3).sP_d;  d46d = -Points(7).sP_d;
    Bd = [0; 0; 0
          s_rot(d21d)*theta_d(3) + s_rot(d24d)*theta_d(4)
          0
          0; 0; 0
          s_rot(d46d)*theta_d(6)
          0];
end
end
""",
    "CutJoint": """function CutJoint(check, theta, theta_d, t)
    include_global
R = 0.5;
n3 = s_rot(Uvectors(3).u);  n5 = s_rot(Uvectors(5).u);  u5 = Uvectors(5).u;
dA = Points(4).rP - Bodies(1).r;  dB = Points(4).rP - Points(3).rP;  dC = Points(4).rP - Points(7).rP;
c = u5'*Uvectors(4).u;
C = [0 1 0 0 0 0                                                    % disc
     1 0 R 0 0 0
     n3' n3'*s_rot(dA) n3'*s_rot(dB) -n3'*Uvectors(2).u 0           % slot
     0 0 c c 0 -c                                                   % slide
     n5' n5'*s_rot(dA) n5'*s_rot(dB) 0 -u5'*dC];
if check == 1
    Phi = [Bodies(1).r(2) - R
           Bodies(1).r(1) + R*Bodies(1).p
           n3'*(Points(4).rP - Points(5).rP)
           n5'*Uvectors(4).u
           n5'*(Points(4).rP - Points(7).rP)];
elseif check == 2
    rhsV = zeros(5, 1);
end
end
""",
}
CUTS = {
    "inBodies": "function inBodies\n    include_global\n"
    + "".join(
        f"Bodies({k}) = Body_struct; Bodies({k}).m = {k}; Bodies({k}).J = 0.5; Bodies({k}).theta = {theta};\n"
        for k, theta in enumerate(("[0 0 0.3]", "[1 0 0]", "[0 2 0.1]", "[3 0 0.2]", "[0 5 0]"), 1)
    ),
    "inPoints": "function inPoints\n    include_global\nPoints(1) = Point_struct; Points(1).Bindex = 0;\n"
    + "".join(f"Points({k}) = Point_struct; Points({k}).Bindex = {k - 1};\n" for k in range(2, 7)),
    "inUvectors": "function inUvectors\n    include_global\nUvectors(1) = Unit_struct; Uvectors(1).ulocal = [1; 0];\n"
    "Uvectors(2) = Unit_struct; Uvectors(2).Bindex = 2; Uvectors(2).ulocal = [1; 0];\n",
    "inForces": "function inForces\n    include_global\nForces(1) = Force_struct; Forces(1).type = 'weight';\n",
    "inConst": "function inConst\n    include_global\nnConst = 7;\n",
    "inAnimate": "function inAnimate\n    include_global\nxmin = -1; xmax = 4;\n",
    "ChainOpen": "function ChainOpen(check, theta, theta_d, t)\n    include_global\nif check <= 2\n"
    + "".join(f"    Coord_Float({k}, theta({3 * k - 2}:{3 * k}));\n" for k in range(1, 6))
    + "end\nend\n",
    "CutJoint": """function CutJoint(check, theta, theta_d, t)
    include_global
n = s_rot(Uvectors(1).u);  d = Points(4).rP - Points(1).rP;
if check == 1
    Phi = [Points(2).rP - Points(1).rP          % pin
           n'*(Points(3).rP - Points(1).rP)     % slide
           n'*Uvectors(2).u
           d'*d - 4                             % rod
           n'*(Points(5).rP - Points(1).rP)     % slot
           theta(15) - 2*t];                    % driver
elseif check == 2
    rhsV = [0; 0; 0; 0; 0; 0; 2];
end
end
""",
}
BENCH = {
    "inBodies": "function inBodies\n    include_global\n"
    + "".join(f"Bodies({k}) = Body_struct; Bodies({k}).m = 1; Bodies({k}).J = 0.5;\n" for k in range(1, 9))
    + "Bodies(1).p = 0.3; Bodies(4).p = pi/2; Bodies(5).p = 0.2; Bodies(6).r = [0.1; 0]; Bodies(7).r = [1; 0];\n"
    + "Bodies(8).p = 0.1; Bodies(8).p_d = 0.5;\n",
    "inPoints": "function inPoints\n    include_global\nPoints(1) = Point_struct; Points(1).Bindex = 0;\n"
    + "".join(f"Points({k}) = Point_struct; Points({k}).Bindex = {k - 1};\n" for k in range(2, 10)),
    "inUvectors": "function inUvectors\n    include_global\nUvectors(1) = Unit_struct; Uvectors(1).ulocal = [1; 0];\n"
    + "".join(
        f"Uvectors({k}) = Unit_struct; Uvectors({k}).Bindex = {body}; Uvectors({k}).ulocal = {axis};\n"
        for k, (body, axis) in enumerate([(3, "[1; 0]"), (4, "[0; -1]"), (6, "[1; 0]"), (7, "[1; 0]")], 2)
    ),
    "inFuncts": """function inFuncts
    include_global
Functs(1) = Funct_struct; Functs(1).type = 'a'; Functs(1).coeff = [0.1 0.5 2];
Functs(2) = Funct_struct; Functs(2).type = 'b'; Functs(2).t_end = 0.1; Functs(2).f_start = 0.2; Functs(2).f_end = 0.7;
Functs(3) = Funct_struct; Functs(3).type = 'c'; Functs(3).t_end = 0.1; Functs(3).f_start = 0.1; Functs(3).dfdt_end = 2;
""",
    "inJoints": "function inJoints\n    include_global\n"
    + "".join(
        f"Joints({k}) = Joint_struct; Joints({k}).type = '{kind}'; {ends.format(f'Joints({k})')}\n"
        for k, (kind, ends) in enumerate(
            [
                *(("rev", f"{{0}}.iPindex = {b + 1}; {{0}}.jPindex = 1;") for b in (1, 2, 5, 8)),
                *(
                    ("tran", f"{{0}}.iPindex = {b + 1}; {{0}}.jPindex = 1; {{0}}.iUindex = {u}; {{0}}.jUindex = 1;")
                    for b, u in ((3, 2), (4, 3), (6, 4), (7, 5))
                ),
                ("rel-rot", "{0}.iBindex = 8; {0}.jBindex = 0; {0}.iFunct = 1;"),
                ("rel-rot", "{0}.iBindex = 5; {0}.jBindex = 0; {0}.iFunct = 2;"),
                ("rel-tran", "{0}.iPindex = 7; {0}.jPindex = 1; {0}.iFunct = 3;"),
            ],
            1,
        )
    ),
    "inForces": """function inForces
    include_global
Forces(1) = Force_struct; Forces(1).type = 'rot-sda'; Forces(1).iBindex = 1; Forces(1).jBindex = 0;
Forces(1).k = 8; Forces(1).dc = 1; Forces(1).theta0 = 0.1;
Forces(2) = Force_struct; Forces(2).type = 'T'; Forces(2).iBindex = 2; Forces(2).T = 1;
Forces(3) = Force_struct; Forces(3).type = 'f'; Forces(3).iBindex = 3; Forces(3).f = [1.5; 7];
Forces(4) = Force_struct; Forces(4).type = 'flocal'; Forces(4).iBindex = 4; Forces(4).flocal = [7; -1.5];
Forces(5) = Force_struct; Forces(5).type = 'ptp'; Forces(5).iPindex = 8; Forces(5).jPindex = 1;
Forces(5).k = 4; Forces(5).L0 = 0.5;
Forces(6) = Force_struct; Forces(6).type = 'weight'; Forces(6).wgt = [0; -1];
""",
    "inAnimate": "function inAnimate\n    include_global\nxmin = -1; xmax = 2; ymin = -1; ymax = 1;\n",
}


def write(files: dict[str, str], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.m").write_text(text)
    return folder
