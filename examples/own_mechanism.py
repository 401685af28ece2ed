"""A trolley with a hanging load, written in Python instead of a file, pushed by a force of time"""

import linkwork as lw

m = lw.PlanarModel("trolley", length="1 m")
m.fix(rail=(0, 0))
trolley = m.body("trolley", mass="20 kg", inertia=1, points=dict(rail=(0, 0), hook=(0, 0)))
load = m.body("load", mass="5 kg", inertia=0.4, position=(0, "-length"), points=dict(hook=(0, "length")))
m.prismatic("rail", m.ground, trolley, axis=(1, 0))
m.revolute("hook", trolley, load)
m.point_force("push", trolley["hook"], force=("30*sin(2*t)", 0))

motion = m.simulate(t_end="10 s")
print(f"trolley at {motion['trolley.x'][-1]:.3f} m, load at {motion['load.phi'][-1]:.3f} rad")
print(f"largest force in the hook {motion.max('reaction:hook').value:.1f} N")
print(f"energy not accounted for {abs(motion.drift()).max():.1e} J")
motion.plot("trolley.x", "load.phi").savefig("own_mechanism.svg")
