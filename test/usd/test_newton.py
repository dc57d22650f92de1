"""The Newton physics engine imports every converted robot as in its URDF: bodies, joints, axes, limits, masses, inertia, collision
pairs; and a pendulum swings as in theory."""

import functools
import math

import numpy as np
import pytest

import expectation
import kinematics
from conftest import convert, in_nv, marks_of, source
from stage import Asset
from test_usd import _physical
from test_usd import touching as count_of_touching

KINDS = {"revolute": "REVOLUTE", "continuous": "REVOLUTE", "prismatic": "PRISMATIC", "planar": "D6", "fixed": "FIXED"}
#: Newton's value for no limit.
UNLIMITED = 1e9


class Case:
    """A robot and its model in Newton."""

    def __init__(self, converted):
        self.converted, self.model = converted, (model := in_nv("newton_import", "describe", converted.entry))
        self.asset, self.urdf = Asset(converted.entry), kinematics.read(converted.urdf)
        self.expected = expectation.of(self.urdf)
        names = {str(prim.GetPath()): name for name, prim in self.asset.bodies.items()}
        self.body = {None: None} | names
        self.bodies = {names[b["path"]]: b for b in model["bodies"]}
        joints = {str(prim.GetPath()): name for name, prim in self.asset.joints.items()}
        #: The joints of the asset, by name, and those that Newton adds for free bases.
        self.joints = {joints[j["path"]]: j for j in model["joints"] if j["path"] in joints}
        self.added = [j for j in model["joints"] if j["path"] not in joints]


@functools.cache
def _case(converted):
    return Case(converted)


@pytest.fixture
def case(converted):
    return _case(converted)


def test_counts(case):
    assert set(case.bodies) == case.expected.bodies
    assert len(case.model["bodies"]) == len(case.expected.bodies)
    assert set(case.joints) == set(case.expected.joints)
    # All trees that are attached to the world form one articulation, that of the default prim.
    held = {body1 for body0, body1 in case.expected.joints.values() if body0 is None}
    assert case.model["articulations"] == len([base for base in case.expected.bases if base not in held]) + bool(held)
    assert case.model["warnings"] == []


def test_bases_are_held_or_free(case):
    """Newton adds only a free joint for each base that is not held."""
    held = {body1 for body0, body1 in case.expected.joints.values() if body0 is None}
    added = {case.body[j["child"]]: (j["kind"], j["parent"]) for j in case.added}
    assert added == {base: ("FREE", None) for base in case.expected.bases if base not in held}


@pytest.mark.needs("moving joint")
def test_joints(case):
    for name, (body0, body1) in case.expected.joints.items():
        joint = case.joints[name]
        assert joint["kind"] == KINDS[case.urdf.joints[name].kind], name
        assert (case.body[joint["parent"]], case.body[joint["child"]]) == (body0, body1), name


def _turn(quaternion):
    """Returns the matrix of a quaternion in Newton's order: x, y, z, w."""
    x, y, z, w = np.array(quaternion) / np.linalg.norm(quaternion)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def _frame(seven):
    return kinematics.pose(seven[:3], _turn(seven[3:]))


@pytest.mark.needs("moving joint")
def test_axes(case):
    """Axes are in the frame of the child body, as in the URDF unless the joint ends at a frame of the body."""
    rest = case.urdf.link_poses()
    for name, (_, body1) in case.expected.joints.items():
        urdf, joint = case.urdf.joints[name], case.joints[name]
        axis = np.linalg.inv(rest[body1])[:3, :3] @ rest[urdf.child][:3, :3] @ urdf.axis
        axes = np.array(joint["axes"]).reshape(-1, 3)
        if urdf.kind == "planar":
            # Two directions in the plane and a rotation about the normal.
            free = [a for a, (low, high) in zip(axes, joint["limits"]) if high > low]
            assert len(free) == 3
            along = [abs(a @ axis) for a in free]
            assert sorted(along) == pytest.approx([0, 0, 1], abs=1e-5), name
        elif urdf.kind != "fixed":
            assert len(axes) == 1 and np.abs(axes[0] - axis).max() < 1e-5, f"{name}: {axes} instead of {axis}"


@pytest.mark.needs("moving joint")
def test_joint_frames(case):
    """With every joint at zero, the frames of a joint in its two bodies coincide."""
    rest = case.urdf.link_poses()
    loops = {j.name for j in case.urdf.loops}
    for name, (body0, body1) in case.expected.joints.items():
        one = (rest[body0] if body0 else np.eye(4)) @ _frame(case.joints[name]["in_parent"])
        two = rest[body1] @ _frame(case.joints[name]["in_child"])
        if name not in loops:
            assert np.abs(one - two).max() < 1e-5, f"{name}: off by {np.abs(one - two).max():.3g}"


def test_rest_poses(case):
    rest = case.urdf.link_poses()
    for name, body in case.bodies.items():
        assert np.abs(_frame(body["at"]) - rest[name]).max() < 1e-5, name


@pytest.mark.needs("moving joint")
def test_limits(case):
    for name in case.expected.joints:
        urdf, limits = case.urdf.joints[name], case.joints[name]["limits"]
        if urdf.kind not in ("revolute", "continuous", "prismatic"):
            continue
        ((low, high),) = limits
        if urdf.kind == "continuous" or (urdf.lower is None and urdf.upper is None):
            assert low < -UNLIMITED and high > UNLIMITED, name
        else:
            wanted = sorted((urdf.lower or 0, urdf.upper or 0))
            assert [low, high] == pytest.approx(wanted, rel=1e-6, abs=1e-7), name


def test_masses(case):
    for name, body in case.bodies.items():
        link = case.expected.weighed(case.urdf, name)
        if not link.mass or link.mass <= 0:
            assert 0 < body["mass"] <= 0.01, name
            continue
        assert body["mass"] == pytest.approx(link.mass, rel=1e-6), name
        assert np.abs(np.array(body["centre"]) - link.inertial[:3, 3]).max() < 1e-6, name
        expected = _physical(link.tensor, link.mass)
        error = np.abs(np.array(body["inertia"]) - expected).max() / np.abs(expected).max()
        assert error < 1e-5, f"{name}: inertia is off by {error:.3g}"


def test_colliders(case):
    expected = sum(len(case.urdf.links[name].collisions) for name in case.urdf.links)
    assert len(case.model["shapes"]) == expected
    assert all(shape["collides"] for shape in case.model["shapes"])


def _filtered(case):
    owner = {shape["path"]: case.body[shape["body"]] for shape in case.model["shapes"]}
    pairs = {frozenset((owner[a], owner[b])) for a, b in case.model["filtered"]}
    return {pair for pair in pairs if len(pair) == 2}


def test_neighbours_do_not_collide(case):
    touching = {shape["body"] for shape in case.model["shapes"]}
    wanted = {pair for pair in case.expected.adjacent if all(str(case.asset.bodies[b].GetPath()) in touching for b in pair)}
    found = {pair for pair in _filtered(case) if None not in pair}
    assert wanted <= found and len(found - wanted) <= count_of_touching(case.converted.report)
    # The same for the geometry of the world and bodies attached to it.
    of_world = {pair for pair in _filtered(case) if None in pair}
    hung = {frozenset((None, body1)) for body0, body1 in case.expected.joints.values() if body0 is None}
    touch = lambda pair: all((str(case.asset.bodies[body].GetPath()) if body else None) in touching for body in pair)
    assert {pair for pair in hung if touch(pair)} <= of_world


# ------------------------------------------------------------------------------------------------------- bases that are free


# All simulations share a process (`motion`), which compiles the solver once.

#: Robots with and without empty links above the first link with a mass.
FREE = ("root_frames", "sample_rover", "massless", "several_roots", "jaco_description", "simple_humanoid_description", "realsense2_description")


@pytest.mark.xdist_group("motion")
@pytest.mark.parametrize("falling", [pytest.param(name, marks=marks_of(name)) for name in FREE])
def test_rigid_groups_fall_together(falling, conversions):
    """Every link that is fixed to a free base, including frames above the first body, falls with it and keeps its pose in the URDF."""
    converted = conversions(falling)
    asset, urdf = Asset(converted.entry), kinematics.read(converted.urdf)
    expected = expectation.of(urdf)
    rest = urdf.link_poses()
    # The poses of the bodies at the start, and after a second of free fall.
    fallen = in_nv("newton_import", "drop", converted.entry, 1)
    places = {asset.stage.GetPrimAtPath(path): [_frame(at) for at in poses] for path, poses in fallen.items()}

    def place(link):
        """Returns the final pose of a link: of a body itself, or of a frame in the nearest body above."""
        body = prim = asset.link(link)
        while body and body not in places:
            body = body.GetParent()
        return places[body][1] @ asset.relative(prim, body) if body else asset.pose(prim)

    rigid = lambda link: [link, *(held for j in urdf.joints.values() if j.parent == link and j.kind == "fixed" and j not in urdf.loops for held in rigid(j.child))]
    free = [base for base in expected.bases if not any(body0 is None and body1 == base for body0, body1 in expected.joints.values())]
    assert free
    for base in free:
        for link in rigid(base):
            assert rest[link][2, 3] - place(link)[2, 3] > 1, f"{link} stays behind"
            off = np.abs(np.linalg.inv(place(base)) @ place(link) - np.linalg.inv(rest[base]) @ rest[link]).max()
            assert off < 1e-3, f"{link} is off by {off:.3g} in {base}"
    # No frame remains above a base: frames that TF calls static move with it.
    above = {joint.parent for base in free for joint in urdf.joints.values() if joint.child == base and joint.kind == "fixed"}
    assert above == set()


# ---------------------------------------------------------------------------------------------------------------- a pendulum


@pytest.mark.xdist_group("motion")
def test_a_pendulum_swings_about_its_axis(tmp_path):
    """A bob on an oblique axis stays on its circle, with the period that follows from its inertia.

    With the effective gravity g' = |g × axis| and the inertia I about the axis, a swing from the angle A takes
    T = 4 K(sin(A/2)) √(I / m g' r), K being the complete elliptic integral of the first kind and r the arm.
    """
    converted = convert(source("pendulum"), tmp_path)
    urdf = kinematics.read(converted.urdf)
    rest, bob, pivot = urdf.link_poses(), urdf.links["bob"], urdf.joints["pivot"]
    at = rest["bob"]
    axis, gravity = at[:3, :3] @ pivot.axis, np.array([0, 0, -9.81])
    centre = (at @ [*bob.inertial[:3, 3], 1])[:3]
    arm = centre - at[:3, 3]
    arm -= axis * (arm @ axis)
    radius, pull = np.linalg.norm(arm), gravity - axis * (gravity @ axis)
    inertia = pivot.axis @ bob.tensor @ pivot.axis + bob.mass * radius**2
    start = math.acos(arm @ pull / (radius * np.linalg.norm(pull)))
    assert 0.5 < start < 2.8, "the pendulum must start with a large amplitude"
    period = 4 * _elliptic(math.sin(start / 2)) * math.sqrt(inertia / (bob.mass * np.linalg.norm(pull) * radius))

    swing = in_nv("newton_import", "swing", converted.entry, 1.6 * period)
    index = [path.endswith("/bob") for path in swing["bodies"]].index(True)
    path = np.array(swing["centres"])[:, index] - at[:3, 3]
    assert np.abs(path @ axis - (centre - at[:3, 3]) @ axis).max() < 1e-3 * radius, "the bob leaves its plane"
    assert np.abs(np.linalg.norm(path - np.outer(path @ axis, axis), axis=1) - radius).max() < 1e-3 * radius, "the bob leaves its circle"
    held = [p.endswith("/stand") for p in swing["bodies"]].index(True)
    assert np.abs(np.array(swing["centres"])[:, held] - rest["stand"][:3, 3]).max() < 1e-4, "the stand is not held"

    low = pull / np.linalg.norm(pull)
    angles = np.arctan2(path @ np.cross(axis, low), path @ low)
    times = np.array(swing["times"])
    assert np.abs(angles).max() < start * 1.02, "the bob gains energy"
    crossings = [
        times[i] - angles[i] * (times[i + 1] - times[i]) / (angles[i + 1] - angles[i])
        for i in range(len(angles) - 1) if angles[i] * angles[i + 1] < 0 and abs(angles[i]) < 1
    ]  # fmt: skip
    assert len(crossings) >= 3, crossings
    assert crossings[2] - crossings[0] == pytest.approx(period, rel=0.02)


def _elliptic(k):
    """Returns the complete elliptic integral of the first kind, by the arithmetic-geometric mean."""
    a, b = 1.0, math.sqrt(1 - k * k)
    while abs(a - b) > 1e-15:
        a, b = (a + b) / 2, math.sqrt(a * b)
    return math.pi / (2 * a)
