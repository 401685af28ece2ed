"""Resonance of a mass on a spring whose foot is shaken: amplitudes over frequency, beside the closed form"""

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

m = lw.PlanarModel("shaker", w=10, k="400 N/m", c="4 N*s/m")
m.gravity = (0, 0)
m.fix(rail=(0, 0))
mass = m.body("mass", mass="4 kg", points=dict(rail=(0, 0)))
m.prismatic("rail", m.ground, mass, axis=(1, 0))
m.point_force("spring", mass["rail"], force=("-k*(mass.x - 0.01*sin(w*t)) - c*mass.vx", 0))

mechanism = m.prepare()
frequencies = np.linspace(5, 15, 21)
amplitudes = []
for w in frequencies:
    motion = mechanism.simulate({"w": float(w)}, t_end=25, step=0.02)
    amplitudes.append(np.abs(motion["mass.x"][motion.t > 20]).max())
closed = 0.01 * 400 / np.hypot(400 - 4 * frequencies**2, 4 * frequencies)
print(f"largest amplitude {max(amplitudes):.4f} m, by the closed form {closed.max():.4f} m")
figure, axes = plt.subplots()
axes.plot(frequencies, amplitudes, "o", frequencies, closed, "-")
axes.set(xlabel="angular frequency [rad/s]", ylabel="amplitude [m]")
figure.savefig("resonance.svg")
