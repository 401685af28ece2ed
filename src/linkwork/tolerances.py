"""Tolerances that several rooms share, each by its meaning.

All are relative: they are multiplied by the scale of what is measured (the largest term of a sum, the scale
of a coordinate or of a row, the length of a run). Rounding is EPSILON of each operation and grows with their number and
with the condition number of what is solved; the tolerances are steps of this ladder.
"""

import math

EPSILON = 2.0**-52  # the distance of 1 to the next double: relative rounding of one operation
ROUNDING = 64 * EPSILON  # 1.4e-14: what is left of some tens of terms that cancel
NEGLIGIBLE = 2.0**-40  # 9e-13: rounding through a chain of bodies or one linear system of condition 1e3; less is zero
CLOSED = 1e-11  # what Newton leaves of Psi with a condition number of Psi_q up to 1e4: joints are closed
AGREEMENT = 1e-9  # numbers of a user, or of another program, with nine digits: what differs less means the same
HALF_THE_DIGITS = 2.0**-26  # 1.5e-8, root of EPSILON: differences of a function know its derivative to this
DIFFERENCE = 2.0**-17  # 8e-6, about the cube root of EPSILON: the step at which central differences err least
TYPED = 1e-6  # what is typed or rounded to six digits: not meant to be off by less
SIZABLE = 0.1  # of the largest of its kind: a part that is named among those that take part


def halved(tolerance: float) -> float:
    """Return the tolerance where half the digits are known, as of a double root: f = e there is an error of e^(1/2)."""
    return math.sqrt(tolerance)
