"""Expected results of every engine: those of this program's kinematics and dynamics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._robot import Joint, Robot
from .experiments import GRAVITY, MOTION, SAMPLES, WEAK, Plan, Positions

#: Step of the integration, s.
STEP = 1e-4
#: Start of the free swing: maximum position and speed, rad, or a tenth in m.
SWING = 0.5
#: Step of a target, rad, or a tenth in m.
TARGET = 0.1
#: Mass and moment of inertia of a link without mass in all outputs, kg and kg·m².
ASSUMED_MASS, ASSUMED_INERTIA = 1e-3, 1e-6

Array = NDArray[np.float64]
Drives = Mapping[str, tuple[float, float, float | None, float]]


class Reference:
    """A robot with its base held. Its coordinates are the joints that follow no other."""

    def __init__(self, robot: Robot, assumed: list[str], armature: Mapping[str, float]) -> None:
        self.robot = robot
        self.assumed = [link for link in assumed if link in robot.link_names]
        self.single = [joint for joint in robot.joints.values() if joint.kind in ("revolute", "continuous", "prismatic") and not joint.closes_loop]
        self.names = [joint.name for joint in self.single]
        self.slides = [joint.name for joint in self.single if joint.kind == "prismatic"]
        self.mimics = {joint.name: self.followed(joint) for joint in self.single if joint.mimic}
        self.leaders = [name for name in self.names if name not in self.mimics]
        self.index = {name: robot.dof_names.index(name) for name in self.leaders}
        #: The velocities of single joints for those of the coordinates.
        self.lead = np.zeros((len(self.names), robot.dof))
        for row, name in enumerate(self.names):
            leader, factor, _ = self.mimics.get(name, (name, 1.0, 0.0))
            self.lead[row, self.index[leader]] = factor
        rotors = np.diag([armature.get(name, 0.0) for name in self.names]) if self.names else np.zeros((0, 0))
        self.rotors: Array = self.lead.T @ rotors @ self.lead

    def followed(self, joint: Joint) -> tuple[str, float, float]:
        """Returns the leader at the end of the chain, and the factor and the offset."""
        factor, offset = 1.0, 0.0
        while joint.mimic:
            factor, offset = factor * joint.mimic.multiplier, offset + factor * joint.mimic.offset
            joint = self.robot.joints[joint.mimic.joint]
        return joint.name, factor, offset

    def complete(self, positions: Positions) -> Positions:
        """Returns the positions of all joints for those of the leaders."""
        return positions | {name: factor * positions[leader] + offset for name, (leader, factor, offset) in self.mimics.items()}

    def coordinates(self, positions: Positions) -> Array:
        """Returns coordinates for positions of leaders; others are zero."""
        q = np.zeros(self.robot.dof)
        for name, index in self.index.items():
            q[index] = positions.get(name, 0.0)
        return q

    def per_leader(self, random: np.random.Generator, largest: float) -> Positions:
        """Returns random numbers of at most `largest`, for slides a tenth."""
        return {name: float(random.uniform(-1, 1)) * largest * (0.1 if name in self.slides else 1.0) for name in self.leaders}

    def limits(self) -> dict[str, tuple[float, float]]:
        """Returns the limits of leaders that have a range, narrowed by those of their followers."""
        found = {joint.name: (joint.lower, joint.upper) for joint in self.single if joint.name in self.index}
        for name, (leader, factor, offset) in self.mimics.items():
            joint, (low, high) = self.robot.joints[name], found[leader]
            if factor and joint.lower < joint.upper:
                ends = sorted(((joint.lower - offset) / factor, (joint.upper - offset) / factor))
                found[leader] = max(low, ends[0]), min(high, ends[1])
        return {name: both for name, both in found.items() if both[0] < both[1] and all(map(math.isfinite, both))}

    def mass_matrix(self, q: Array) -> Array:
        """Returns the mass matrix in the coordinates, with the assumed masses and the rotors."""
        whole = self.robot.mass_matrix(q) + self.rotors
        for link in self.assumed:
            jacobian = self.robot.jacobian(q, link)
            whole = whole + ASSUMED_MASS * jacobian[:3].T @ jacobian[:3] + ASSUMED_INERTIA * jacobian[3:].T @ jacobian[3:]
        return whole

    def bias(self, q: Array, qd: Array, gravity: float) -> Array:
        """Returns the forces that keep the velocity. The velocity of the assumed masses counts for nothing: they weigh 1 g."""
        down = (0.0, 0.0, -gravity)
        forces = self.robot.inverse_dynamics(q, qd, np.zeros_like(q), down)
        for link in self.assumed:
            forces = forces + ASSUMED_MASS * gravity * self.robot.jacobian(q, link)[2]
        return forces

    def masses(self, poses: list[Positions]) -> dict[str, Any]:
        """Returns the mass, and for each pose the centre of mass and the mass matrix of all joints with one degree of freedom."""
        centres, matrices = [], []
        mass = self.robot.mass + ASSUMED_MASS * len(self.assumed)
        for pose in poses:
            q = self.coordinates(pose)
            first = self.robot.mass * self.robot.centre_of_mass(q) if self.robot.mass else np.zeros(3)
            for link in self.assumed:
                first = first + ASSUMED_MASS * self.robot.fk(q, link)[:3, 3]
            centres.append((first / (mass or 1)).tolist())
            matrices.append(self.mass_matrix(q)[np.ix_([self.index[name] for name in self.leaders], [self.index[name] for name in self.leaders])].tolist())
        return {"mass": mass, "centres": centres, "matrices": matrices}

    def loads(self, positions: Positions) -> Positions:
        """Returns the torque or force that holds each leader against gravity."""
        held = self.bias(self.coordinates(positions), np.zeros(self.robot.dof), GRAVITY)
        return {name: float(held[index]) for name, index in self.index.items()}

    def move(self, positions: Positions, velocities: Positions, drives: Drives, gravity: float = GRAVITY) -> list[Positions]:
        """Integrates with implicit damping. Returns the positions at the samples."""
        q, qd = self.coordinates(positions), self.coordinates(velocities)
        force: Array
        damping = np.diag([joint.damping for joint in self.single]) if self.single else np.zeros((0, 0))
        passive = self.lead.T @ damping @ self.lead
        stiffness, drag, target = np.zeros((3, self.robot.dof))
        most = np.full(self.robot.dof, np.inf)
        for name, (kp, kd, largest, aim) in drives.items():
            at = self.index[name]
            stiffness[at], drag[at], most[at], target[at] = kp, kd, np.inf if largest is None else largest, aim
        samples = []
        for _ in range(SAMPLES):
            for _ in range(round(MOTION / SAMPLES / STEP)):
                mass = self.mass_matrix(q)
                force = np.clip(stiffness * (target - q) - drag * qd, -most, most)
                qd = np.asarray(np.linalg.solve(mass + STEP * passive, mass @ qd + STEP * (force - self.bias(q, qd, gravity))), dtype=np.float64)
                q = q + STEP * qd
            samples.append(self.complete({name: float(q[index]) for name, index in self.index.items()}))
        return samples


def plan(robot: Robot, assumed: dict[str, list[str]], drives: Drives, start: Positions, armature: Mapping[str, float]) -> Plan:
    """Returns the experiments with a robot, and what they give.

    Args:
        robot: The robot.
        assumed: The links with an assumed mass, by output.
        drives: Stiffness, damping, maximum force and target by joint; N·m and rad, or N and m.
        start: Positions at the start, by joint.
        armature: Inertia of rotors as seen by joints, kg·m² or kg.
    """
    robots = {output: Reference(robot, links, armature) for output, links in assumed.items()}
    reference = robots["usd"]
    drives = {name: drive for name, drive in drives.items() if name in reference.index}
    start = reference.complete({name: start.get(name, 0.0) for name in reference.leaders})
    random = np.random.default_rng(0)
    poses = [reference.complete(reference.per_leader(random, 1.0)) for _ in range(2)]
    swing = reference.complete(reference.per_leader(random, SWING))
    speeds = reference.per_leader(random, SWING)
    whole = speeds | {name: factor * speeds[leader] for name, (leader, factor, _) in reference.mimics.items()}
    limits = reference.limits()
    targets: Positions = {}
    for name, (kp, _, _, target) in drives.items():
        if kp > 0:
            low, high = limits.get(name, (-np.inf, np.inf))
            by = TARGET * (0.1 if name in reference.slides else 1.0)
            towards = 1.0 if target + by <= high or high - target > target - low else -1.0
            targets[name] = float(np.clip(target + towards * by, low, high))
    stepped = {name: (kp, kd, force, targets.get(name, target)) for name, (kp, kd, force, target) in drives.items()}
    found: Plan = {
        # Engines have coordinates for followers, and disagree on whether rotors belong to the mass matrix.
        "joints": [] if reference.mimics or armature else reference.leaders,
        "slides": reference.slides, "mimics": reference.mimics, "poses": poses, "limits": limits, "start": start,
        "drives": drives, "loads": reference.loads(start),
        "swing": {"positions": swing, "velocities": whole}, "step": {"positions": start, "targets": targets},
        "masses": {output: model.masses(poses) for output, model in robots.items()},
        "swung": reference.move(swing, speeds, {}, WEAK), "stepped": reference.move(start, {}, stepped),
    }  # fmt: skip
    if not found["joints"]:
        for masses in found["masses"].values():
            masses["matrices"] = [[] for _ in poses]
    return found
