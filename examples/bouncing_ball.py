"""A ball dropped on a stiff floor bounces lower and lower by the contact law of Hunt and Crossley"""

import linkwork as lw

m = lw.PlanarModel("bounce")
m.fix(floor=(0, 0))
ball = m.body("ball", mass="0.1 kg", inertia=1e-5, position=(0, "0.5 m"), points=dict(centre=(0, 0)))
m.line_contact(
    "floor",
    m.ground["floor"],
    ball["centre"],
    normal=(0, 1),
    radius_j="20 mm",
    model="hunt-crossley",
    stiffness="1e6 N/m^1.5",
    exponent=1.5,
    restitution=0.8,
)

motion = m.simulate(t_end="2 s", step="2 ms")
motion.plot("ball.y", "force:floor.normal").savefig("bouncing_ball.svg")
print(motion.max("force:floor.normal"))
