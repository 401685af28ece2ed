"""A mechanism written in Python instead of a file: a trolley with a hanging load, pushed by a force of time."""

from linkwork import Model, simulate
from linkwork.elements.bodies import Ground, PlanarBody
from linkwork.elements.forces import PointForce
from linkwork.elements.joints import Prismatic, Revolute
from linkwork.expressions.graph import sin, symbol

ground = Ground()
trolley = PlanarBody("trolley", mass=20.0, inertia=1.0)
load = PlanarBody("load", mass=5.0, inertia=0.4, position=(0.0, -1.0), points={"hook": (0.0, 1.0)})
model = Model(
    "trolley",
    bodies=(trolley, load),
    joints=(
        Prismatic("rail", ground, trolley, (0.0, 0.0), (0.0, 0.0), axis=(1.0, 0.0)),
        Revolute("hook", trolley, load, (0.0, 0.0), (0.0, 1.0)),
    ),
    forces=(PointForce("push", trolley, (0.0, 0.0), (30.0 * sin(2.0 * symbol("t")), 0.0)),),
    ground=ground,
)

motion = simulate(model, t_end=10.0)
print(f"trolley at {motion['trolley.x'][-1]:.3f} m, load at {motion['load.phi'][-1]:.3f} rad")
print(f"largest force in the hook {abs(motion['reaction:hook.y']).max():.1f} N")
print(f"energy not accounted for {abs(motion.drift()).max():.1e} J")
