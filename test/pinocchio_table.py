"""The reference of the table of engines (engines/test_table.py): poses, mass properties and motions of a URDF in Pinocchio; run through
worker.py, in the Python of `.test-env/urdf`.

A mimic joint moves with its leader: motions are integrated in the coordinates of the independent joints.
"""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin

import kinematics
from prove.experiments import GRAVITY, MOTION, SAMPLES, WEAK
from mjcf_peers import amended
from urdf_peers import chance

#: Step of the integration, s.
STEP = 1e-4
#: Start of the free swing: maximum position and speed, rad, or a tenth in m.
SWING = 0.5
#: Step of a target, rad, or a tenth in m.
TARGET = 0.1


class Reference:
    """A URDF in Pinocchio with its base held."""

    def __init__(self, urdf, massless, repaired):
        self.urdf = kinematics.read(urdf)
        root = amended(urdf, massless, ())
        for link in root.findall("link"):
            if link.get("name") in repaired:
                repair(link, self.urdf.links[link.get("name")], *repaired[link.get("name")])
        text = ElementTree.tostring(root, encoding="unicode")
        self.model = pin.buildModelFromXML(text)
        self.model.gravity.linear = np.array([0, 0, -GRAVITY])
        self.data = self.model.createData()
        # With a free base, the mass of the root link counts.
        self.free = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        self.single = [
            joint for joint in self.urdf.joints.values() if kinematics.FREEDOM[joint.kind] == 1 and self.model.existJointName(joint.name)
        ]
        self.names = [joint.name for joint in self.single]
        self.slides = [joint.name for joint in self.single if joint.kind == "prismatic"]
        self.mimics = {joint.name: self.followed(joint) for joint in self.single if joint.mimic}
        self.leaders = [name for name in self.names if name not in self.mimics]
        others = [i for i in range(self.model.nv) if i not in {self.column(name) for name in self.names}]
        self.lead = np.zeros((self.model.nv, len(self.leaders) + len(others)))
        for at, name in enumerate(self.leaders):
            self.lead[self.column(name), at] = 1
        for name, (leader, factor, _) in self.mimics.items():
            self.lead[self.column(name), self.leaders.index(leader)] = factor
        for at, column in enumerate(others):
            self.lead[column, len(self.leaders) + at] = 1

    def column(self, name):
        return self.model.joints[self.model.getJointId(name)].idx_v

    def followed(self, joint):
        """Returns the leader at the end of the chain, and the factor and the offset."""
        factor, offset = 1.0, 0.0
        while joint.mimic:
            leader, m, b = joint.mimic
            factor, offset, joint = factor * m, offset + factor * b, self.urdf.joints[leader]
        return joint.name, factor, offset

    def complete(self, positions):
        """Returns the positions of all joints for those of the leaders."""
        return positions | {name: factor * positions[leader] + offset for name, (leader, factor, offset) in self.mimics.items()}

    def configuration(self, positions):
        v = np.zeros(self.model.nv)
        for name, position in positions.items():
            v[self.column(name)] = position
        return pin.integrate(self.model, pin.neutral(self.model), v)

    def limits(self):
        """Returns the limits of independent joints and of followers that have a range."""
        found = {joint.name: (joint.lower or 0.0, joint.upper or 0.0) for joint in self.single if joint.kind != "continuous" and joint.name not in self.mimics}
        return {name: limits for name, limits in found.items() if limits[0] < limits[1]}

    def per_leader(self, value):
        return {name: value(name) * (0.1 if name in self.slides else 1.0) for name in self.leaders}

    def masses(self, poses):
        """Returns the mass, and for each pose the centre of mass and the mass matrix in the order of the joints."""
        found = {"centres": [], "matrices": []}
        order = [self.column(name) for name in self.names]
        for pose in poses:
            mass = pin.crba(self.model, self.data, self.configuration(pose))
            found["matrices"].append((np.triu(mass) + np.triu(mass, 1).T)[np.ix_(order, order)].tolist())
            data, v = self.free.createData(), np.zeros(self.free.nv)
            for name, position in pose.items():
                v[self.free.joints[self.free.getJointId(name)].idx_v] = position
            q = pin.integrate(self.free, pin.neutral(self.free), v)
            found["centres"].append(pin.centerOfMass(self.free, data, q).tolist())
            found["mass"] = float(data.mass[0])
        return found

    def loads(self, positions):
        """Returns the torque or force that holds each independent joint against gravity."""
        held = self.lead.T @ pin.computeGeneralizedGravity(self.model, self.data, self.configuration(positions))
        return dict(zip(self.leaders, held.tolist()))

    def move(self, positions, velocities, drives, gravity=GRAVITY):
        """Integrates with implicit damping. Returns the positions at the samples. `drives`: stiffness, damping, maximum force and
        target by joint."""
        self.model.gravity.linear = np.array([0, 0, -gravity])
        count = self.lead.shape[1]
        at = np.zeros(count)
        at[: len(self.leaders)] = [positions[name] for name in self.leaders]
        w = np.zeros(count)
        w[: len(self.leaders)] = [velocities.get(name, 0.0) for name in self.leaders]
        q = self.configuration(self.complete(positions))
        damping = np.zeros(self.model.nv)
        for joint in self.single:
            damping[self.column(joint.name)] = max(joint.damping or 0.0, 0.0)
        passive = self.lead.T @ np.diag(damping) @ self.lead
        stiffness, drag, most, target = np.zeros((4, count))
        most[:] = np.inf
        for name, (kp, kd, force, aim) in drives.items():
            index = self.leaders.index(name)
            stiffness[index], drag[index], most[index], target[index] = kp, kd, np.inf if force is None else force, aim
        samples = []
        for _ in range(SAMPLES):
            for _ in range(round(MOTION / SAMPLES / STEP)):
                mass = pin.crba(self.model, self.data, q)
                mass = self.lead.T @ (np.triu(mass) + np.triu(mass, 1).T) @ self.lead
                bias = self.lead.T @ pin.nle(self.model, self.data, q, self.lead @ w)
                force = np.clip(stiffness * (target - at) - drag * w, -most, most)
                w = np.linalg.solve(mass + STEP * passive, mass @ w + STEP * (force - bias))
                at = at + STEP * w
                q = pin.integrate(self.model, q, STEP * (self.lead @ w))
            samples.append(self.complete(dict(zip(self.leaders, at[: len(self.leaders)].tolist()))))
        return samples


def repair(link, original, written, reported):
    """Sets the inertia that the program reports instead of an impossible one: other principal moments along the same axes."""
    moments, axes = np.linalg.eigh(original.tensor)
    order = np.argsort(reported)
    assert np.allclose(moments, np.array(reported)[order], rtol=1e-4, atol=1e-12), (moments, reported)
    tensor = axes @ np.diag(np.array(written)[order]) @ axes.T
    inertial = link.find("inertial")
    centre = original.inertial[:3, 3]
    origin = inertial.find("origin")
    if origin is None:
        origin = ElementTree.SubElement(inertial, "origin")
    origin.set("xyz", " ".join(map(repr, map(float, centre))))
    origin.set("rpy", "0 0 0")
    numbers = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}
    for name, index in numbers.items():
        inertial.find("inertia").set(name, repr(float(tensor[index])))


def answer(urdf, massless, repaired, drives, start):
    """Returns the plan of the experiments and the reference's results. `massless` are the links with the program's default mass, by output;
    `drives` are stiffness, damping, maximum force and target by joint."""
    robots = {output: Reference(urdf, links, repaired) for output, links in massless.items()}
    robot = robots["mujoco"]
    start = robot.complete({name: start.get(name, 0.0) for name in robot.leaders})
    poses = [robot.complete(robot.per_leader(lambda name, n=n: float(chance(name, n).uniform(-1, 1)))) for n in (1, 2)]
    swing = robot.complete(robot.per_leader(lambda name: float(chance(name, 3).uniform(-SWING, SWING))))
    speeds = robot.per_leader(lambda name: float(chance(name, 4).uniform(-SWING, SWING)))
    whole = speeds | {name: factor * speeds[leader] for name, (leader, factor, _) in robot.mimics.items()}
    limits = robot.limits()
    targets = {}
    for name, (kp, *_, target) in drives.items():
        if kp > 0:
            low, high = limits.get(name, (-np.inf, np.inf))
            by = TARGET * (0.1 if name in robot.slides else 1.0)
            towards = 1.0 if target + by <= high or high - target > target - low else -1.0
            targets[name] = float(np.clip(target + towards * by, low, high))
    stepped = {name: (kp, kd, force, targets.get(name, target)) for name, (kp, kd, force, target) in drives.items()}
    return {
        "joints": robot.names, "slides": robot.slides, "mimics": robot.mimics, "poses": poses, "limits": limits, "start": start,
        "swing": {"positions": swing, "velocities": whole},
        "step": {"positions": start, "targets": targets},
        "loads": robot.loads(start),
        "masses": {output: of.masses(poses) for output, of in robots.items()},
        "swung": robot.move(swing, speeds, {}, WEAK), "stepped": robot.move(start, {}, stepped),
    }  # fmt: skip
