"""Two double pendulums that start a billionth of a radian apart: how soon nothing can be foretold"""

import matplotlib.pyplot as plt
import numpy as np

import linkwork as lw

model = lw.load("double_pendulum")
one = lw.simulate(model, t_end=20, step=0.05, rtol=1e-12, atol=1e-12)
first = one.names("*.phi")[0]
other = lw.simulate(model, t_end=20, step=0.05, rtol=1e-12, atol=1e-12, start={first: one[first][0] + 1e-9})
distance = np.abs(other[first] - one[first])
figure, axes = plt.subplots()
axes.semilogy(one.t, distance + 1e-16)
axes.set(xlabel="t [s]", ylabel="distance [rad]")
figure.savefig("chaos.svg")
print(f"a milliradian apart after {one.t[np.argmax(distance > 1e-3)]:.1f} s")
