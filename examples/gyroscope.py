"""A rotor in a fork precesses under its weight, at the rate that m g l / (J omega) foretells"""

import linkwork as lw

motion = lw.simulate(lw.load("gyroscope"))
angles = motion.names("joint:*.angle")
print(", ".join(f"{name} turns by {motion[name][-1] - motion[name][0]:.3f} rad" for name in angles))
motion.plot(*angles).savefig("gyroscope.svg")
