"""The smallest mechanism: a rod on a hinge."""

ROD = """\
linkwork: 1
name: rod
ground: {points: {O: [0, 0]}}
bodies: {rod: {mass: 2, inertia: 0.2, position: [0.5, 0], points: {O: [-0.5, 0]}}}
joints: {O: {type: revolute, i: ground.O, j: rod.O}}
simulation: {t_end: 0.5, step: 0.05}
"""
