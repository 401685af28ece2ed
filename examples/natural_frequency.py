"""Which spring makes a platform swing at 3 Hz: a search in one value, every trial a simulation"""

import numpy as np
from scipy.optimize import brentq

import linkwork as lw

m = lw.PlanarModel("platform", k="1 kN/m")
m.gravity = (0, 0)
m.fix(rail=(0, 0), foot=(0, "-0.5 m"))
platform = m.body("platform", mass="12 kg", position=(0, "0.01 m"), points=dict(rail=(0, 0)))
m.prismatic("rail", m.ground, platform, axis=(0, 1))
m.spring_damper("spring", m.ground["foot"], platform["rail"], stiffness="k", free_length="0.5 m")
mechanism = m.prepare()


def frequency(k: float) -> float:
    """The frequency of the motion, from the times at which it passes the middle."""
    motion = mechanism.simulate({"k": k}, t_end=4, step=0.005)
    passed = motion.when("platform.y = 0")
    return 0.5 / float(np.mean(np.diff(passed)))


k = brentq(lambda k: frequency(k) - 3.0, 1e3, 1e4, xtol=1e-3)
print(f"k = {k:.2f} N/m, by hand {12 * (2 * np.pi * 3) ** 2:.2f} N/m")
mechanism.simulate({"k": k}, t_end=1, step=0.005).plot("platform.y").savefig("natural_frequency.svg")
