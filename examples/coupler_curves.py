"""Curves of three points of the coupler of a four-bar, as in an atlas of linkages"""

import matplotlib.pyplot as plt

import linkwork as lw

m = lw.PlanarModel("atlas", a=1, b=2, c=2.5, d=3)
m.fix(O=(0, 0), C=("d", 0))
points = dict(A=(0, 0), B=("b", 0), P=("b/2", 1), Q=("b", 1.5), R=(-0.5, 1))
crank = m.body("crank", points=dict(O=(0, 0), A=("a", 0)))
coupler = m.body("coupler", points=points)
rocker = m.body("rocker", points=dict(C=(0, 0), B=("c", 0)))
pin = m.revolute("O", m.ground, crank)
m.revolute("A", crank, coupler)
m.revolute("B", coupler, rocker)
m.revolute("C", m.ground, rocker)
m.driver("motor", pin, "2*pi*t")

motion = m.kinematics(t_end=1, step=0.01, assemble=True)
figure, axes = plt.subplots()
for name in "PQR":
    x, y = motion[f"coupler.{name}.x"], motion[f"coupler.{name}.y"]
    axes.plot(x, y, label=name)
    print(f"{name}: {x.min():.3f} to {x.max():.3f} m wide, {y.min():.3f} to {y.max():.3f} m high")
axes.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
axes.legend()
figure.savefig("coupler_curves.svg")
