"""PlanarModel and SpatialModel: a method for every type of body, joint and force of model files (see building.py).

Editors and type checkers read models.pyi, which docs/stubs.py writes from the same elements.
"""

from linkwork.building import Builder, method
from linkwork.elements.forces import FORCES
from linkwork.elements.joints import JOINTS
from linkwork.modelfile.schema import BODIES


class PlanarModel(Builder):
    """A mechanism in the plane, built element by element."""

    space = "planar"


class SpatialModel(Builder):
    """A mechanism in space, built element by element."""

    space = "spatial"


for _model in (PlanarModel, SpatialModel):
    _model.body = method("bodies", BODIES[_model.space])
    for _section, _types in (("joints", JOINTS[_model.space]), ("forces", FORCES[_model.space])):
        for _type, _class in _types.items():
            setattr(_model, _type.replace("-", "_"), method(_section, _class, _type))
