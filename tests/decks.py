"""A deck in the layout of NumDyn3D, and decks as folders."""

from __future__ import annotations

from pathlib import Path

from linkwork.files import write_texts

# Tables 1 to 5 of the paper, with a body and a control table.
PENDULUM = {
    "joints": """
CON B1 B2 T P1x  P1y P1z Q1x  Q1y Q1z R1x  R1y R1z
C1  0  1  1 0    0   0   0    0   1   -1   0   0
            P2x  P2y P2z Q2x  Q2y Q2z R2x  R2y R2z
            -0.5 0   0   -0.5 0   1   -1.5 0   0
""",
    "springs": """
NSPDAMP 1
S1  B1 B2 K     L0   C     A P1x P1y P1z P2x P2y P2z T
SP1 0  1  32.66 1.57 4.584 0 1   0   0   0   0   0   2
""",
    "inertia": """
B MAS Ixx Ixy Ixz Iyx Iyy   Iyz Izx Izy Izz
1 10  0   0   0   0   0.834 0   0   0   0.834
""",
    "forces": """
NFOR 1
FOR BO Fx Fy Fz     Tx Ty Tz Px Py Pz Rif
F1  1  0  0  -98.10 0  0  0  0  0  0  1
""",
    "initial": """
DOF 1
BO Q Pos  Vel
1  4 0.97 0
""",
    "bodies": """
NBODY 1
B NAME X   Y   Z E0  E1 E2 E3
1 rod  0.4 0.2 0 0.9 0  0  0.4   # roughly: turned counter-clockwise
""",
    "control": """
TEND STEP  RTOL ATOL
3.D0 0.001 1e-9 1e-9
""",
}


def written(folder: Path, tables: dict[str, str]) -> Path:
    return write_texts(folder, {f"{name}.txt": text for name, text in tables.items()})
