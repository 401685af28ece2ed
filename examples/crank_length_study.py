"""How the length of the crank changes the torque of the motor: one model, many values, compiled once."""

import numpy as np

import linkwork

for length in np.linspace(0.6, 1.4, 5):
    model = linkwork.load("slider_crank_driven", {"l1": float(length)})
    motion = linkwork.simulate(model, t_end=0.63, step=0.005)
    torque = motion["driving:motor"]
    print(f"crank {length:.1f} m: torque {torque.min():8.1f} to {torque.max():8.1f} N m")
