"""A block on a moving belt sticks and slips: its speed over its position"""

import linkwork as lw

motion = lw.simulate(lw.load("stick_slip_belt"))
speed = motion.names("*.vx")[0]
place = speed.replace(".vx", ".x")
motion.plot(speed, against=place).savefig("stick_slip.svg")
print(f"{len(motion.events)} events: sticking and slipping alternate")
