"""Compares kinematics and dynamics of a URDF in Pinocchio with those of this program's library; run through worker.py, in the
Python of `.test-env/urdf`. `library` is the example `answers` of crates/kinematics."""

import json
import math
import subprocess

import kinematics
import numpy as np
import pinocchio as pin

GRAVITY = np.array([0.0, 0.0, -9.81])


class Library:
    """The library, queried line by line."""

    def __init__(self, library, urdf):
        self.process = subprocess.Popen([library, urdf], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.about = json.loads(self.process.stdout.readline())

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


class Peer:
    """A URDF in Pinocchio with a free root, so that the mass of the root counts. `kinematics.Urdf` resolves mimic joints: Pinocchio's
    results for all joints are summed over the driving joints."""

    def __init__(self, urdf, about):
        self.urdf = kinematics.read(urdf)
        self.model = pin.buildModelFromUrdf(str(urdf), pin.JointModelFreeFlyer())
        self.data = self.model.createData()
        self.coordinates = about["coordinates"]
        single = [joint for joint in self.urdf.joints.values() if kinematics.FREEDOM[joint.kind] == 1]
        self.single = [joint.name for joint in single if self.model.existJointName(joint.name)]
        self.compared = [at for at, c in enumerate(self.coordinates) if c["joint"] in self.single]
        at_zero = self.urdf.resolve({})
        self.lead = np.zeros((self.model.nv, len(self.coordinates)))
        for at in self.compared:
            moved = self.urdf.resolve({self.coordinates[at]["joint"]: 1.0})
            for name in self.single:
                self.lead[self.column(name), at] = moved[name] - at_zero[name]
        self.offset = np.zeros(self.model.nv)
        for name in self.single:
            self.offset[self.column(name)] = at_zero[name]

    def column(self, name):
        return self.model.joints[self.model.getJointId(name)].idx_v

    def at(self, q):
        return pin.integrate(self.model, pin.neutral(self.model), self.lead @ q + self.offset)

    def frame(self, name):
        return self.model.getFrameId(name, pin.FrameType.BODY)

    def known(self, links):
        return [name for name in links if self.model.existFrame(name, pin.FrameType.BODY)]




def answer(what, *arguments):
    return {"compare": compare, "solve": solve, "solve_both": solve_both}[what](*arguments)


def compare(library, urdf, count):
    """Returns the largest differences over `count` random configurations: of poses, Jacobians, masses, centres, mass matrices, gravity and
    motion forces, relative to the largest number if it is above one."""
    asked = Library(library, urdf)
    peer = Peer(urdf, asked.about)
    links = peer.known(asked.about["links"])
    index = {name: at for at, name in enumerate(asked.about["links"])}
    chance = np.random.default_rng(1)
    apart = dict.fromkeys(("poses", "jacobians", "mass", "centre", "inertia", "gravity", "forces"), 0.0)

    def note(what, ours, theirs):
        ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
        assert ours.shape == theirs.shape, (what, ours.shape, theirs.shape)
        if theirs.size:
            apart[what] = max(apart[what], float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max())))

    size, compared = len(peer.coordinates), peer.compared
    counted = {"configurations": 0, "coordinates": len(compared), "links": len(links), "columns": 0}
    for _ in range(count):
        q, qd, qdd = np.zeros((3, size))
        for at in compared:
            about = peer.coordinates[at]
            lower, upper = about["lower"], about["upper"]
            q[at] = chance.uniform(-math.pi if lower is None else lower, math.pi if upper is None else upper)
        qd[compared], qdd[compared] = chance.uniform(-2, 2, (2, len(compared)))
        base, tip = chance.choice(links, 2)
        told = asked.ask(q=list(q), qd=list(qd), qdd=list(qdd), base=base, tip=tip)
        at = peer.at(q)
        pin.computeJointJacobians(peer.model, peer.data, at)
        pin.updateFramePlacements(peer.model, peer.data)
        for name in links:
            note("poses", told["links"][index[name]], peer.data.oMf[peer.frame(name)].homogeneous.ravel())
        view, aim = peer.data.oMf[peer.frame(base)], peer.data.oMf[peer.frame(tip)]
        relative = view.actInv(aim)
        note("poses", told["tip"], relative.homogeneous.ravel())
        spatial = pin.getFrameJacobian(peer.model, peer.data, peer.frame(tip), pin.ReferenceFrame.WORLD)
        spatial = spatial - pin.getFrameJacobian(peer.model, peer.data, peer.frame(base), pin.ReferenceFrame.WORLD)
        spatial = view.inverse().action @ spatial @ peer.lead
        shift = pin.SE3(np.eye(3), relative.translation)
        theirs = (spatial, shift.inverse().action @ spatial, relative.inverse().action @ spatial)
        for ours, them in zip(told["jacobians"], theirs, strict=True):
            whole = np.zeros((6, size))
            for column, twist in zip(told["columns"], ours, strict=True):
                whole[:, column] = twist
            note("jacobians", whole[:, compared], them[:, compared])
        counted["columns"] += len(told["columns"])
        # The frame of the root is that of the free joint in Pinocchio's world.
        centre = pin.centerOfMass(peer.model, peer.data, at)
        note("mass", told["mass"], peer.data.mass[0])
        if peer.data.mass[0] > 0:
            note("centre", told["centre"], centre)
        mass = pin.crba(peer.model, peer.data, at)
        mass = np.triu(mass) + np.triu(mass, 1).T
        note("inertia", np.reshape(told["inertia"], (size, size))[np.ix_(compared, compared)], (peer.lead.T @ mass @ peer.lead)[np.ix_(compared, compared)])
        peer.model.gravity.linear = GRAVITY
        held = pin.computeGeneralizedGravity(peer.model, peer.data, at)
        note("gravity", np.array(told["gravity"])[compared], (peer.lead.T @ held)[compared])
        moved = pin.rnea(peer.model, peer.data, at, peer.lead @ qd, peer.lead @ qdd)
        note("forces", np.array(told["forces"])[compared], (peer.lead.T @ moved)[compared])
        counted["configurations"] += 1
    asked.stop()
    return apart | counted


def solve(library, urdf, base, tip, count, attempts, in_the_middle):
    """Returns how many of `count` random reachable targets the library solves, and how many solutions Pinocchio confirms: within 1e-6 m
    and 1e-6 rad of the target, and within the limits. The library starts in the middle of all ranges, or at its default."""
    asked = Library(library, urdf)
    peer = Peer(urdf, asked.about)
    middle = [0.0 if c["lower"] is None or c["upper"] is None else 0.5 * (c["lower"] + c["upper"]) for c in peer.coordinates]
    limits = [(-math.inf if c["lower"] is None else c["lower"], math.inf if c["upper"] is None else c["upper"]) for c in peer.coordinates]

    def pose(q):
        pin.framesForwardKinematics(peer.model, peer.data, peer.at(np.array(q)))
        return peer.data.oMf[peer.frame(base)].actInv(peer.data.oMf[peer.frame(tip)])

    told = {"reached": 0, "right": 0, "honest": 0}
    for number, q in enumerate(asked.ask(sample=count, seed=11)):
        wanted = pose(q)
        target = {"base": base, "tip": tip, "pose": [*wanted.translation, *pin.Quaternion(wanted.rotation).coeffs()]}
        found = asked.ask(solve=[target], start=middle if in_the_middle else [], attempts=attempts, seed=number)
        there = pose(found["q"])
        way = np.linalg.norm(there.translation - wanted.translation)
        turn = np.linalg.norm(pin.log3(there.rotation.T @ wanted.rotation))
        within = all(lower <= at <= upper for at, (lower, upper) in zip(found["q"], limits, strict=True))
        told["reached"] += found["is_reached"]
        # log3 of the identity has an error of some 1e-8.
        told["right"] += bool(found["is_reached"] and way < 1e-6 and turn < 1e-6 and within)
        told["honest"] += bool(within and abs(way - found["position"]) < 1e-9 and abs(turn - found["angle"]) < 1e-6)
    asked.stop()
    return told


def solve_both(library, urdf, base, tips, count):
    """Returns how many of `count` pairs of targets, which two tips can reach at once, the library solves and Pinocchio confirms."""
    asked = Library(library, urdf)
    peer = Peer(urdf, asked.about)

    def poses(q):
        pin.framesForwardKinematics(peer.model, peer.data, peer.at(np.array(q)))
        return [peer.data.oMf[peer.frame(base)].actInv(peer.data.oMf[peer.frame(tip)]) for tip in tips]

    right = 0
    for number, q in enumerate(asked.ask(sample=count, seed=12)):
        wanted = poses(q)
        target = lambda tip, pose: {"base": base, "tip": tip, "pose": [*pose.translation, *pin.Quaternion(pose.rotation).coeffs()]}
        found = asked.ask(solve=[target(tip, pose) for tip, pose in zip(tips, wanted, strict=True)], attempts=100, seed=number)
        apart = [np.abs(a.homogeneous - b.homogeneous).max() for a, b in zip(poses(found["q"]), wanted, strict=True)]
        right += bool(found["is_reached"] and max(apart) < 2e-6)
    asked.stop()
    return right
