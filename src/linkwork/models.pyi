"""Written by docs/stubs.py."""

from collections.abc import Mapping, Sequence
from typing import Any

from linkwork.building import Builder, Part

Number = float | str | Any
Vector = Sequence[Number]
Point = Part | str

class PlanarModel(Builder):
    """A mechanism built element by element."""

    def body(
        self,
        name: str,
        *,
        mass: Number | None = None,
        inertia: Number | None = None,
        position: Vector | None = None,
        angle: Number | None = None,
        velocity: Vector | None = None,
        angular_velocity: Number | None = None,
        points: Mapping[str, Vector] | str | None = None,
        directions: Mapping[str, Vector] | str | None = None,
        mass_centre: Vector | str | None = None,
        inertia_about: Vector | str | None = None,
        shape: Mapping[str, Any] | None = None,
        colour: str | None = None,
    ) -> Part:
        """A body in the plane, q = (x, y, phi) of its mass centre, v = qd, M = diag(m, m, J); J = 0 is a point mass."""

    def revolute(self, name: str, i: Point, j: Point, *, open: bool | None = None) -> Part:
        """Point s_i of body i stays on point s_j of body j."""

    def prismatic(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        angle: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """Point s_j of body j slides along the axis through s_i on body i; the bodies do not turn against each other."""

    def rigid(self, name: str, i: Point, j: Point, *, angle: Number | None = None, open: bool | None = None) -> Part:
        """Bodies i and j are fastened to each other at points s_i and s_j."""

    def distance(
        self, name: str, i: Point, j: Point, *, length: Number | None = None, open: bool | None = None
    ) -> Part:
        """A massless rod with two pins keeps points s_i and s_j at the distance `length`.    [haug1989, chapter 3]"""

    def point_on_line(self, name: str, i: Point, j: Point, *, axis: Vector | str, open: bool | None = None) -> Part:
        """A pin at s_j of body j runs in a slot of body i along the axis through s_i."""

    def rolling(
        self, name: str, i: Point, j: Point, *, axis: Vector | str, radius: Number, open: bool | None = None
    ) -> Part:
        """A disc of body j with centre s_j rolls without slip on the line of body i along the axis through s_i."""

    def gear(
        self,
        name: str,
        i: Part | str,
        j: Part | str,
        *,
        radius_i: Number,
        radius_j: Number,
        carrier: Part | str | None = None,
        internal: bool | None = None,
        pressure_angle: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """Two gears on a carrier; the carrier holds their centres, this joint makes the pitch circles roll."""

    def angle_lock(
        self, name: str, i: Part | str, j: Part | str, *, angle: Number | None = None, open: bool | None = None
    ) -> Part:
        """Bodies i and j keep their relative angle and may shift against each other."""

    def skate(self, name: str, i: Point, j: Point, *, axis_j: Vector | str, open: bool | None = None) -> Part:
        """Point s_j of body j moves on body i only along the blade, `axis_j` of body j: a skate, a sledge, a wheel."""

    def velocity_constraint(
        self,
        name: str,
        i: Part | str | None = None,
        j: Part | str | None = None,
        *,
        formula: Number,
        of: str | None = None,
        open: bool | None = None,
    ) -> Part:
        """A formula of time, places and velocities stays zero, in the velocities an affine one."""

    def coupling(
        self,
        name: str,
        joint: Part | str,
        follower: Part | str,
        *,
        ratio: Number | None = None,
        offset: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """The one freedom of the joint `follower` is `ratio` times that of `joint`, and `offset` more."""

    def spring_damper(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        stiffness: Number | None = None,
        damping: Number | None = None,
        free_length: Number | None = None,
        actuator: Number | None = None,
        law: Number | None = None,
    ) -> Part:
        """Spring, damper and actuator between point s_i of body i and point s_j of body j."""

    def rotational_spring_damper(
        self,
        name: str,
        i: Part | str,
        j: Part | str,
        *,
        stiffness: Number | None = None,
        damping: Number | None = None,
        free_angle: Number | None = None,
        actuator: Number | None = None,
        law: Number | None = None,
    ) -> Part:
        """Spring, damper and actuator between the angles of bodies i and j."""

    def point_force(self, name: str, at: Point, force: Vector, *, follows: bool | None = None) -> Part:
        """A force at point s of a body; its components are along the axes of the ground, or turn with the body."""

    def torque(self, name: str, on: Part | str, torque: Number) -> Part:
        """A torque on a body."""

    def drag(self, name: str, at: Point, *, coefficient: Number) -> Part:
        """The drag of air or water at point s of a body."""

    def motor(
        self, name: str, joint: Part | str, *, stall: Number, no_load: Number, freedom: str | None = None
    ) -> Part:
        """A motor that drives the freedom of a joint, its torque (or force) falling with the rate."""

    def joint_friction(
        self,
        name: str,
        joint: Part | str,
        *,
        friction: str | None = None,
        dynamic: Number | None = None,
        static: Number | None = None,
        transition: Number | None = None,
        stribeck: Number | None = None,
        shape: Number | None = None,
        viscous: Number | None = None,
        freedom: str | None = None,
        normal_force: Number,
        radius: Number | None = None,
        speed: Number | None = None,
    ) -> Part:
        """Friction against the rate of a freedom of a joint, less `speed`, that of a belt or a shaft."""

    def stick_slip(
        self,
        name: str,
        joint: Part | str,
        *,
        freedom: str | None = None,
        normal_force: Number,
        dynamic: Number,
        static: Number | None = None,
        radius: Number | None = None,
        speed: Number | None = None,
    ) -> Part:
        """Coulomb friction along the freedom of a joint that either sticks, a constraint, or slips, a constant friction."""

    def end_stop(
        self,
        name: str,
        joint: Part | str,
        *,
        stiffness: Number,
        model: str | None = None,
        damping: Number | None = None,
        exponent: Number | None = None,
        restitution: Number | None = None,
        freedom: str | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
    ) -> Part:
        """Stops that keep the freedom of a joint between `lower` and `upper`, either of which may be left out."""

    def circle_contact(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        friction: str | None = None,
        dynamic: Number | None = None,
        static: Number | None = None,
        transition: Number | None = None,
        stribeck: Number | None = None,
        shape: Number | None = None,
        viscous: Number | None = None,
        stiffness: Number,
        model: str | None = None,
        damping: Number | None = None,
        exponent: Number | None = None,
        restitution: Number | None = None,
        radius_i: Number | None = None,
        radius_j: Number | None = None,
    ) -> Part:
        """Circles or spheres about points s_i and s_j; a radius 0 is a point."""

    def line_contact(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        friction: str | None = None,
        dynamic: Number | None = None,
        static: Number | None = None,
        transition: Number | None = None,
        stribeck: Number | None = None,
        shape: Number | None = None,
        viscous: Number | None = None,
        stiffness: Number,
        model: str | None = None,
        damping: Number | None = None,
        exponent: Number | None = None,
        restitution: Number | None = None,
        normal: Vector | str,
        radius_j: Number | None = None,
    ) -> Part:
        """A circle or sphere about point s_j, or that point, and the line or plane of body i through s_i."""

class SpatialModel(Builder):
    """A mechanism built element by element."""

    def body(
        self,
        name: str,
        *,
        mass: Number | None = None,
        inertia: Sequence[Any] | None = None,
        position: Vector | None = None,
        orientation: Sequence[Number] | Mapping[str, Any] | None = None,
        velocity: Vector | None = None,
        angular_velocity: Vector | Mapping[str, Vector] | None = None,
        points: Mapping[str, Vector] | str | None = None,
        directions: Mapping[str, Vector] | str | None = None,
        mass_centre: Vector | str | None = None,
        inertia_about: Vector | str | None = None,
        shape: Mapping[str, Any] | None = None,
        colour: str | None = None,
    ) -> Part:
        """A body in space, q = (r, e) of its mass centre, v = (r_dot, omega): Euler parameters e, omega in the body frame."""

    def spherical(self, name: str, i: Point, j: Point, *, open: bool | None = None) -> Part:
        """Point s_i of body i stays on point s_j of body j."""

    def revolute(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        angle: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """Body j turns about the axis of body i; point s_j stays on s_i."""

    def prismatic(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        open: bool | None = None,
    ) -> Part:
        """Point s_j of body j slides along the axis through s_i on body i; the bodies do not turn against each other."""

    def cylindrical(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        angle: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """Body j turns about the axis of body i and slides along it."""

    def universal(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        angle_i: Number | None = None,
        angle_j: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """A cross whose arms turn in body i about `axis` and in body j about `axis_j`, which stay perpendicular."""

    def constant_velocity(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        open: bool | None = None,
    ) -> Part:
        """Shafts i and j meet at a point at any angle and turn at the same speed."""

    def screw(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        angle: Number | None = None,
        pitch: Number,
        open: bool | None = None,
    ) -> Part:
        """As cylindrical, with a displacement of `pitch` for each turn; the fourth and fifth row are those it adds."""

    def planar(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        angle: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """A plane of body j slides on the plane of body i through s_i; `axis` is the normal of both."""

    def rigid(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str | None = None,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        open: bool | None = None,
    ) -> Part:
        """Bodies i and j are fastened to each other at points s_i and s_j."""

    def point_on_line(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        open: bool | None = None,
    ) -> Part:
        """Point s_j of body j stays on the line of body i along the axis through s_i: Psi = (x_i . d, y_i . d)."""

    def point_on_plane(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        open: bool | None = None,
    ) -> Part:
        """Point s_j of body j stays in the plane of body i through s_i, `axis` being its normal: Psi = z_i . d."""

    def distance(
        self, name: str, i: Point, j: Point, *, length: Number | None = None, open: bool | None = None
    ) -> Part:
        """A massless rod with a ball at each end keeps s_i and s_j at the distance `length`.    [haug1989, chapter 9]"""

    def revolute_spherical(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str | None = None,
        zero: Vector | str | None = None,
        zero_j: Vector | str | None = None,
        angle: Number | None = None,
        length: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """A massless link that turns about the axis of body i and has a ball on body j."""

    def universal_spherical(
        self, name: str, i: Point, j: Point, *, length: Number | None = None, open: bool | None = None
    ) -> Part:
        """A massless link with a universal joint on body i and a ball on body j; the link does not spin, else as a rod."""

    def gear(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str,
        teeth_i: Number,
        teeth_j: Number,
        radius: Number,
        carrier: Part | str | None = None,
        internal: bool | None = None,
        open: bool | None = None,
    ) -> Part:
        """Two gears on a carrier that holds their axes, parallel or crossing (bevel gears); their teeth mesh."""

    def rack_and_pinion(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str,
        radius: Number,
        open: bool | None = None,
    ) -> Part:
        """A rack on body i along `axis`, a pinion on body j about `axis_j` through its centre s_j; other joints hold both."""

    def wheel(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        axis: Vector | str,
        axis_j: Vector | str,
        radius: Number,
        tube: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """A wheel of body j about its axle `axis_j` through the centre s_j rolls on the plane of body i without slip."""

    def rolling_sphere(
        self, name: str, i: Point, j: Point, *, axis: Vector | str, radius: Number, open: bool | None = None
    ) -> Part:
        """A ball of body j with centre s_j rolls on the plane of body i without slip; it may spin about the normal."""

    def rolling_ellipsoid(
        self, name: str, i: Point, j: Point, *, axis: Vector | str, half_axes: Vector, open: bool | None = None
    ) -> Part:
        """An ellipsoid of body j with centre s_j rolls on the plane of body i without slip, as a rattleback does."""

    def knife_edge(
        self, name: str, i: Point, j: Point, *, axis: Vector | str, axis_j: Vector | str, open: bool | None = None
    ) -> Part:
        """Point s_j of body j glides in the plane of body i only along the blade, `axis_j` of body j."""

    def velocity_constraint(
        self,
        name: str,
        i: Part | str | None = None,
        j: Part | str | None = None,
        *,
        formula: Number,
        of: str | None = None,
        open: bool | None = None,
    ) -> Part:
        """A formula of time, places and velocities stays zero, in the velocities an affine one."""

    def coupling(
        self,
        name: str,
        joint: Part | str,
        follower: Part | str,
        *,
        ratio: Number | None = None,
        offset: Number | None = None,
        open: bool | None = None,
    ) -> Part:
        """The one freedom of the joint `follower` is `ratio` times that of `joint`, and `offset` more."""

    def spring_damper(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        stiffness: Number | None = None,
        damping: Number | None = None,
        free_length: Number | None = None,
        actuator: Number | None = None,
        law: Number | None = None,
    ) -> Part:
        """Spring, damper and actuator between point s_i of body i and point s_j of body j."""

    def rotational_spring_damper(
        self,
        name: str,
        joint: Part | str,
        *,
        stiffness: Number | None = None,
        damping: Number | None = None,
        free_angle: Number | None = None,
        actuator: Number | None = None,
        law: Number | None = None,
    ) -> Part:
        """Spring, damper and actuator about the axis of a spatial joint that leaves the freedom "angle"."""

    def point_force(self, name: str, at: Point, force: Vector, *, follows: bool | None = None) -> Part:
        """A force at point s of a body; its components are along the axes of the ground, or turn with the body."""

    def torque(self, name: str, on: Part | str, torque: Vector, *, follows: bool | None = None) -> Part:
        """A torque on a body in space; its components are along the axes of the ground, or turn with the body."""

    def bushing(
        self, name: str, i: Point, j: Point, *, stiffness: Sequence[Any], damping: Sequence[Any] | None = None
    ) -> Part:
        """An elastic bearing between point s_i of body i and point s_j of body j, in the axes of body i."""

    def drag(self, name: str, at: Point, *, coefficient: Number) -> Part:
        """The drag of air or water at point s of a body."""

    def motor(
        self, name: str, joint: Part | str, *, stall: Number, no_load: Number, freedom: str | None = None
    ) -> Part:
        """A motor that drives the freedom of a joint, its torque (or force) falling with the rate."""

    def joint_friction(
        self,
        name: str,
        joint: Part | str,
        *,
        friction: str | None = None,
        dynamic: Number | None = None,
        static: Number | None = None,
        transition: Number | None = None,
        stribeck: Number | None = None,
        shape: Number | None = None,
        viscous: Number | None = None,
        freedom: str | None = None,
        normal_force: Number,
        radius: Number | None = None,
        speed: Number | None = None,
    ) -> Part:
        """Friction against the rate of a freedom of a joint, less `speed`, that of a belt or a shaft."""

    def stick_slip(
        self,
        name: str,
        joint: Part | str,
        *,
        freedom: str | None = None,
        normal_force: Number,
        dynamic: Number,
        static: Number | None = None,
        radius: Number | None = None,
        speed: Number | None = None,
    ) -> Part:
        """Coulomb friction along the freedom of a joint that either sticks, a constraint, or slips, a constant friction."""

    def end_stop(
        self,
        name: str,
        joint: Part | str,
        *,
        stiffness: Number,
        model: str | None = None,
        damping: Number | None = None,
        exponent: Number | None = None,
        restitution: Number | None = None,
        freedom: str | None = None,
        lower: Number | None = None,
        upper: Number | None = None,
    ) -> Part:
        """Stops that keep the freedom of a joint between `lower` and `upper`, either of which may be left out."""

    def sphere_contact(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        friction: str | None = None,
        dynamic: Number | None = None,
        static: Number | None = None,
        transition: Number | None = None,
        stribeck: Number | None = None,
        shape: Number | None = None,
        viscous: Number | None = None,
        stiffness: Number,
        model: str | None = None,
        damping: Number | None = None,
        exponent: Number | None = None,
        restitution: Number | None = None,
        radius_i: Number | None = None,
        radius_j: Number | None = None,
    ) -> Part:
        """Circles or spheres about points s_i and s_j; a radius 0 is a point."""

    def plane_contact(
        self,
        name: str,
        i: Point,
        j: Point,
        *,
        friction: str | None = None,
        dynamic: Number | None = None,
        static: Number | None = None,
        transition: Number | None = None,
        stribeck: Number | None = None,
        shape: Number | None = None,
        viscous: Number | None = None,
        stiffness: Number,
        model: str | None = None,
        damping: Number | None = None,
        exponent: Number | None = None,
        restitution: Number | None = None,
        normal: Vector | str,
        radius_j: Number | None = None,
    ) -> Part:
        """A circle or sphere about point s_j, or that point, and the line or plane of body i through s_i."""
