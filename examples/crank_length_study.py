"""How the length of the crank changes the torque of the motor: a mechanism prepared once, run with many values."""

import numpy as np

import linkwork

mechanism = linkwork.prepare(linkwork.load("slider_crank_driven"))
for length in np.linspace(0.6, 1.4, 5):
    motion = mechanism.simulate({"l1": float(length)}, t_end=0.63, step=0.005)
    torque = motion["driving:motor"]
    print(f"crank {length:.1f} m: torque {torque.min():8.1f} to {torque.max():8.1f} N m")
