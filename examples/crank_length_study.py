"""How the length of the crank changes the torque of the motor: a mechanism prepared once, run with many values"""

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

mechanism = lw.prepare(lw.load("slider_crank_driven"))
figure, axes = plt.subplots()
for length in np.linspace(0.6, 1.4, 5):
    motion = mechanism.simulate({"l1": float(length)}, t_end=0.63, step=0.005)
    torque = motion["driving:motor"]
    print(f"crank {length:.1f} m: torque {torque.min():8.1f} to {torque.max():8.1f} N m")
    axes.plot(motion.t, torque, label=f"{length:.1f} m")
axes.set(xlabel="t [s]", ylabel="torque [N m]")
axes.legend(title="crank")
figure.savefig("crank_length_study.svg")
