"""Reads a URDF by its specification: links, joints, poses and inertia, in numpy, directly from the XML.

A reference for the tests, written from the specification alone and independent of the program, OpenUSD and glTF.
"""

import math
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

#: Number of components of a joint position.
FREEDOM = {"fixed": 0, "revolute": 1, "continuous": 1, "prismatic": 1, "planar": 2, "floating": 6}


def rotation(rpy):
    """Returns the matrix of roll, pitch, yaw about the fixed x, y and z axes, in this order."""
    roll, pitch, yaw = rpy
    x = np.array([[1, 0, 0], [0, math.cos(roll), -math.sin(roll)], [0, math.sin(roll), math.cos(roll)]])
    y = np.array([[math.cos(pitch), 0, math.sin(pitch)], [0, 1, 0], [-math.sin(pitch), 0, math.cos(pitch)]])
    z = np.array([[math.cos(yaw), -math.sin(yaw), 0], [math.sin(yaw), math.cos(yaw), 0], [0, 0, 1]])
    return z @ y @ x


def about(axis, angle):
    """Returns the matrix of a rotation about a unit axis (Rodrigues)."""
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * (k @ k)


def pose(xyz=(0, 0, 0), turn=None):
    out = np.eye(4)
    out[:3, 3] = xyz
    if turn is not None:
        out[:3, :3] = turn
    return out


def _floats(text, count):
    values = [float(v) for v in text.split()]
    assert len(values) == count, f"{text!r} should be {count} numbers"
    return values


def _origin(element):
    origin = element.find("origin")
    if origin is None:
        return np.eye(4)
    return pose(_floats(origin.get("xyz", "0 0 0"), 3), rotation(_floats(origin.get("rpy", "0 0 0"), 3)))


def _attribute(element, name):
    value = None if element is None else element.get(name)
    return None if value is None else float(value)


def _magnitude(element, name):
    """Returns the magnitude of a limit of effort or speed, which holds in both directions."""
    value = _attribute(element, name)
    return None if value is None else abs(value)


@dataclass
class Shape:
    """A visual or collision: its frame in the link, and the element of its geometry."""

    origin: np.ndarray
    kind: str
    attributes: dict
    material: str = None

    @property
    def scale(self):
        return np.array(_floats(self.attributes.get("scale", "1 1 1"), 3))


@dataclass
class Link:
    name: str
    visuals: list
    collisions: list
    mass: float = None
    #: Frame of the inertia in the link; its origin is the centre of mass.
    inertial: np.ndarray = None
    #: Inertia about the centre of mass, along the axes of the inertial frame.
    inertia: np.ndarray = None

    @property
    def tensor(self):
        """Returns the inertia about the centre of mass, along the axes of the link."""
        turn = self.inertial[:3, :3]
        return turn @ self.inertia @ turn.T

    @property
    def empty(self):
        """Returns whether the link has no shapes and no mass."""
        weightless = self.mass is None or (self.mass == 0 and not self.inertia.any())
        return weightless and not self.visuals and not self.collisions


@dataclass
class Joint:
    name: str
    kind: str
    parent: str
    child: str
    origin: np.ndarray
    axis: np.ndarray
    lower: float = None
    upper: float = None
    effort: float = None
    velocity: float = None
    damping: float = None
    friction: float = None
    mimic: tuple = None  # (joint, multiplier, offset)

    def motion(self, position):
        """Returns the child's frame in the joint frame."""
        if self.kind == "fixed":
            return np.eye(4)
        if self.kind in ("revolute", "continuous"):
            return pose(turn=about(self.axis, position))
        if self.kind == "prismatic":
            return pose(self.axis * position)
        raise ValueError(f"a {self.kind} joint has no single motion")


@dataclass
class Urdf:
    name: str
    links: dict
    joints: dict
    parent_joint: dict = field(default_factory=dict)  # link name → joint name, in the tree

    def __post_init__(self):
        for joint in self.joints.values():
            # The first joint to a link with several parents is part of the tree; the others close loops.
            self.parent_joint.setdefault(joint.child, joint.name)
        for joint in self.joints.values():
            # A joint that mimics a missing joint, or itself through others, mimics none.
            followed = {joint.name}
            at = joint
            while at.mimic:
                at = self.joints.get(at.mimic[0])
                if at is None or at.name in followed:
                    joint.mimic = None if at is None or at is joint else joint.mimic
                    break
                followed.add(at.name)

    @property
    def roots(self):
        return [name for name in self.links if name not in self.parent_joint]

    @property
    def loops(self):
        return [j for j in self.joints.values() if self.parent_joint[j.child] != j.name]

    def resolve(self, positions):
        """Returns the positions of all one-dimensional joints; those of mimic joints are computed, through chains."""

        def of(name):
            joint = self.joints[name]
            if joint.mimic and joint.mimic[0] in self.joints:
                leader, multiplier, offset = joint.mimic
                return multiplier * of(leader) + offset
            return positions.get(name, 0.0)

        return {name: of(name) for name, joint in self.joints.items() if FREEDOM[joint.kind] == 1}

    def link_poses(self, positions=None):
        """Returns every link's frame in the frame of its root. Mimic joints are at their value in `positions`, or zero; see `resolve`. Planar
        and floating joints are at zero."""
        positions = positions or {}
        out = {}

        def of(link):
            if link not in out:
                joint = self.joints.get(self.parent_joint.get(link))
                if joint is None:
                    out[link] = np.eye(4)
                else:
                    move = joint.motion(positions.get(joint.name, 0.0)) if FREEDOM[joint.kind] < 2 else np.eye(4)
                    out[link] = of(joint.parent) @ joint.origin @ move
            return out[link]

        for link in self.links:
            of(link)
        return out

    def depth(self, link):
        joint = self.parent_joint.get(link)
        return 0 if joint is None else 1 + self.depth(self.joints[joint].parent)


def _has_extent(geometry):
    """Returns whether a primitive has an extent: some robots mark frames with empty ones. A box may be flat, a cylinder short."""
    if geometry.tag == "box":
        return sum(float(v) != 0 for v in geometry.get("size", "").split()) >= 2
    return geometry.tag == "mesh" or float(geometry.get("radius", 0)) > 0


def _shapes(element, tag):
    out = []
    for shape in element.findall(tag):
        geometry = next(iter(shape.find("geometry")), None) if shape.find("geometry") is not None else None
        if geometry is not None and _has_extent(geometry):
            material = shape.find("material")
            out.append(Shape(_origin(shape), geometry.tag, dict(geometry.attrib), None if material is None else material.get("name")))
    return out


def _link(element):
    link = Link(element.get("name"), _shapes(element, "visual"), _shapes(element, "collision"))
    inertial = element.find("inertial")
    if inertial is not None and inertial.find("mass") is not None:
        tensor = inertial.find("inertia")
        part = lambda name: float(tensor.get(name, 0)) if tensor is not None else 0.0
        link.mass = float(inertial.find("mass").get("value"))
        link.inertial = _origin(inertial)
        link.inertia = np.array([
            [part("ixx"), part("ixy"), part("ixz")],
            [part("ixy"), part("iyy"), part("iyz")],
            [part("ixz"), part("iyz"), part("izz")],
        ])  # fmt: skip
    return link


def _joint(element):
    axis = element.find("axis")
    axis = np.array(_floats(axis.get("xyz", "1 0 0"), 3) if axis is not None else [1.0, 0.0, 0.0])
    length = np.linalg.norm(axis)
    limit, dynamics, mimic = element.find("limit"), element.find("dynamics"), element.find("mimic")
    joint = Joint(
        element.get("name"), element.get("type"), element.find("parent").get("link"), element.find("child").get("link"),
        _origin(element), axis / length if length > 0 else np.array([1.0, 0.0, 0.0]),
        _attribute(limit, "lower"), _attribute(limit, "upper"), _magnitude(limit, "effort"), _magnitude(limit, "velocity"),
        _attribute(dynamics, "damping"), _attribute(dynamics, "friction"),
    )  # fmt: skip
    if mimic is not None:
        joint.mimic = (mimic.get("joint"), float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0)))
    return joint


def read(path):
    """Reads the robot of a URDF file."""
    root = ElementTree.parse(Path(path)).getroot()
    links = {e.get("name"): _link(e) for e in root.findall("link")}
    joints = {e.get("name"): _joint(e) for e in root.findall("joint")}
    return Urdf(root.get("name", ""), links, joints)
