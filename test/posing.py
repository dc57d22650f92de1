"""Computes link poses of a URDF for positions of all joints, also planar and floating ones, in glTF's axes. Positions have the form of
EXT_robot_kinematics: a number for one degree of freedom, else a list. From the URDF and the specification alone."""

import math

import numpy as np

import kinematics
from glb_file import AXES


def plane(normal):
    """Returns the two directions of a planar joint (section 6, step 5)."""
    helper = np.array([1.0, 0, 0]) if abs(normal[0]) < 0.9 else np.array([0, 1.0, 0])
    u = np.cross(normal, helper)
    u /= np.linalg.norm(u)
    return u, np.cross(normal, u)


def random_positions(urdf, chance):
    """Returns random positions within the limits for all independent joints of the tree."""
    out = {}
    for name, joint in urdf.joints.items():
        freedom = kinematics.FREEDOM[joint.kind]
        if urdf.parent_joint[joint.child] != name or joint.mimic or freedom == 0:
            continue
        low, high = _limits(joint)
        values = [chance.uniform(low, high) for _ in range(freedom)]
        out[name] = values[0] if freedom == 1 else values
    return out


def _limits(joint):
    """Finite ones for every joint; one without limits, or with limits that are none, gets a turn or as many metres."""
    if joint.kind not in ("revolute", "prismatic"):
        return -math.pi, math.pi
    low = -math.pi if joint.lower is None else joint.lower
    high = max(low, math.pi) if joint.upper is None else joint.upper
    return (min(low, high), high) if joint.lower is None else (low, high) if low <= high else (-math.pi, math.pi)


def motion(joint, position):
    """Returns the child's frame in the joint frame, in ROS axes."""
    match joint.kind:
        case "planar":
            return kinematics.pose(np.array(position) @ np.array(plane(joint.axis)))
        case "floating":
            turned = np.eye(3)
            for axis, angle in zip(np.eye(3), position[3:], strict=True):
                turned = turned @ kinematics.about(axis, angle)
            return kinematics.pose(position[:3], turned)
        case _:
            return joint.motion(position)


def link_frames(urdf, positions):
    """Returns every link's frame in that of the robot, in glTF axes. Mimic joints follow their drivers; other joints default to zero."""
    scalars = urdf.resolve({name: position for name, position in positions.items() if not isinstance(position, list)})
    out = {}

    def of(link):
        if link not in out:
            joint = urdf.joints.get(urdf.parent_joint.get(link))
            if joint is None:
                out[link] = np.eye(4)
            else:
                rest = scalars.get(joint.name, [0.0] * kinematics.FREEDOM[joint.kind])
                out[link] = of(joint.parent) @ joint.origin @ motion(joint, positions.get(joint.name, rest) if not joint.mimic else rest)
        return out[link]

    return {link: AXES @ of(link) @ AXES.T for link in urdf.links}
