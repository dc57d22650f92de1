"""Runs another program's inverse kinematics on one arm, for bench/ik: `ik_peers.py SOLVER URDF BASE TIP COUNT`, with what the benchmark binary
printed on standard input; alone it prints the names of the solvers. Prints a JSON object: `{"times": {…}}` of Pinocchio's forward kinematics, `{"right": {…}}` for `judge`, or
`{"results": [[µs, solution or null], …]}`, or `{"none": why}` where a solver is not for this arm.

Every solver gets the URDF without its shapes, the same targets, its start in the middle of all ranges where it takes one, and 1e-6 as the
error to reach. A time is that of one call from Python.
"""

import functools
import json
import os
import pathlib
import sys
import tempfile
import time
import xml.etree.ElementTree as ET

import numpy as np

#: Time limit per target of solvers that restart, in seconds.
MOST = 0.1


class Arm:
    """An arm in Pinocchio."""

    def __init__(self, urdf, base, tip, measured):
        import pinocchio as pin

        self.pin, self.urdf, self.names = pin, urdf, (base, tip)
        self.model = pin.buildModelFromUrdf(urdf)
        self.data = self.model.createData()
        self.base, self.tip = (self.model.getFrameId(name, pin.FrameType.BODY) for name in (base, tip))
        self.joints = measured["joints"]
        self.columns = [self.model.joints[self.model.getJointId(name)].idx_v for name in self.joints]
        self.neutral = pin.neutral(self.model)
        self.lower, self.upper = np.full(len(self.joints), -np.inf), np.full(len(self.joints), np.inf)
        for k, name in enumerate(self.joints):
            joint = self.model.joints[self.model.getJointId(name)]
            if joint.nq == 1:
                self.lower[k], self.upper[k] = self.model.lowerPositionLimit[joint.idx_q], self.model.upperPositionLimit[joint.idx_q]
        self.middle = np.array(measured["middle"])
        self.targets = np.array(measured["targets"])

    def at(self, positions):
        v = np.zeros(self.model.nv)
        v[self.columns] = positions
        return self.pin.integrate(self.model, self.neutral, v)

    def pose(self, positions):
        self.pin.framesForwardKinematics(self.model, self.data, self.at(positions))
        return self.data.oMf[self.base].actInv(self.data.oMf[self.tip])

    def within(self, positions):
        """The positions, moved within limits by whole turns; None if that is impossible."""
        turn = 2 * np.pi
        over, under = np.ceil((positions - self.upper - 1e-9) / turn), np.ceil((self.lower - 1e-9 - positions) / turn)
        back = np.where(np.isfinite(over) & (over > 0), over, 0) - np.where(np.isfinite(under) & (under > 0), under, 0)
        positions = positions - turn * back
        return positions if ((positions >= self.lower - 1e-9) & (positions <= self.upper + 1e-9)).all() else None

    def is_right(self, positions, target):
        """Whether the positions reach the pose to 1e-6 m and 1e-6 rad, within limits."""
        there = self.pose(positions)
        way = np.linalg.norm(there.translation - target[:3, 3])
        # The logarithm of a tiny rotation has an error of some 1e-8.
        turn = np.linalg.norm(self.pin.log3(there.rotation.T @ target[:3, :3]))
        inside = (positions >= self.lower - 1e-9) & (positions <= self.upper + 1e-9)
        return bool(way < 1e-6 and turn < 1e-6 and inside.all())

    def screws(self):
        """The joints' axes and the offsets between them in the base frame at zero, and the orientation of the tip."""
        pose = self.pose(np.zeros(len(self.joints)))
        base = self.data.oMf[self.base]
        placed = [base.actInv(self.data.oMi[self.model.getJointId(name)]) for name in self.joints]
        ids = [self.model.getJointId(name) for name in self.joints]
        motions = [self.model.joints[at].createData() for at in ids]
        axes = []
        for motion, joint, at in zip(motions, placed, ids, strict=True):
            model = self.model.joints[at]
            model.calc(motion, self.neutral)
            axes.append(joint.rotation @ np.asarray(motion.S).reshape(6, -1)[3:, 0])
        points = [np.zeros(3), *(joint.translation for joint in placed), pose.translation]
        return np.array(axes), np.diff(np.array(points), axis=0), pose.rotation


def times(arm, measured, _):
    pin, configurations = arm.pin, [arm.at(q) for q in measured["configurations"]]

    def each(run):
        best = np.inf
        for _ in range(20):
            begin = time.perf_counter()
            for q in configurations:
                run(q)
            best = min(best, time.perf_counter() - begin)
        return 1e6 * best / len(configurations)

    local = pin.ReferenceFrame.LOCAL
    return {
        "times": {
            "an empty call": each(lambda q: arm.model.getFrameId),
            "forward of all links": each(lambda q: pin.framesForwardKinematics(arm.model, arm.data, q)),
            "forward and Jacobian": each(lambda q: pin.computeFrameJacobian(arm.model, arm.data, q, arm.tip, local)),
        }
    }


def judge(arm, measured, _):
    """The verdicts on the solutions of standard input."""
    right = {
        name: [bool(found) and arm.is_right(np.array(found), target) for (_, found), target in zip(results, arm.targets, strict=False)]
        for name, results in measured["solved"].items()
    }
    return {"right": right}


def clik(arm, attempts=10):
    """The closed loop of Pinocchio's own example (step 0.1, damping 1e-12, at most 1000 steps), then from random starts."""
    pin = arm.pin
    chance = np.random.default_rng(0)
    local = pin.ReferenceFrame.LOCAL
    low, high = np.where(np.isfinite(arm.lower), arm.lower, -np.pi), np.where(np.isfinite(arm.upper), arm.upper, np.pi)

    def solve(target):
        wanted = pin.SE3(target[:3, :3], target[:3, 3])
        for attempt in range(attempts):
            positions = arm.middle.copy() if attempt == 0 else chance.uniform(low, high)
            for _ in range(1000):
                q = arm.at(positions)
                # The Jacobian does not update frame placements.
                pin.framesForwardKinematics(arm.model, arm.data, q)
                jacobian = pin.computeFrameJacobian(arm.model, arm.data, q, arm.tip, local)
                off = arm.data.oMf[arm.tip].actInv(arm.data.oMf[arm.base] * wanted)
                error = pin.log6(off).vector
                if np.linalg.norm(error) < 1e-6:
                    found = arm.within(positions)
                    if found is not None:
                        return found
                    break
                jacobian = -pin.Jlog6(off.inverse()) @ jacobian[:, arm.columns]
                step = -jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + 1e-12 * np.eye(6), error)
                positions = positions + 0.1 * step
        return None

    return solve


def trac_ik(arm):
    import pytracik

    text = pathlib.Path(arm.urdf).read_text(encoding="utf-8")
    solver = pytracik.TRAC_IK(*arm.names, text, MOST, 1e-7, pytracik.SolveType.Speed)
    from_rotation = lambda rotation: arm.pin.Quaternion(np.ascontiguousarray(rotation)).coeffs()

    def solve(target):
        found = pytracik.ik(solver, arm.middle, *target[:3, 3], *from_rotation(target[:3, :3]))
        return np.array(found[1:]) if found[0] >= 0 else None

    return solve


def optik(arm):
    import optik as library

    robot = library.Robot.from_urdf_file(arm.urdf, *arm.names)
    robot.set_parallelism(1)
    # The tolerance is on the squared error.
    config = library.SolverConfig(solution_mode="speed", max_time=MOST, tol_f=1e-13)

    def solve(target):
        found = robot.ik(config, target.tolist(), arm.middle.tolist())
        return None if found is None else np.array(found[0])

    return solve


def toolbox(arm):
    """Robotics Toolbox for Python: Levenberg–Marquardt in C++, at most 100 starts of 30 steps."""
    import roboticstoolbox

    ets = roboticstoolbox.Robot.URDF(arm.urdf).ets(*arm.names)
    if ets.n != len(arm.joints):
        raise NotImplementedError(f"it finds {ets.n} joints")

    def solve(target):
        # The tolerance is on half of the squared error.
        found = ets.ik_LM(target, q0=arm.middle, tol=2e-13, joint_limits=True)
        return np.array(found.q) if found.success else None

    return solve


def ikpy(arm):
    import ikpy.chain

    root = ET.parse(arm.urdf).getroot()
    above = {joint.find("child").get("link"): joint for joint in root.iter("joint") if joint.find("child") is not None}
    way, link = [arm.names[1]], arm.names[1]
    while link != arm.names[0]:
        joint = above[link]
        link = joint.find("parent").get("link")
        way[:0] = [link, joint.get("name")]
    # It continues beyond the tip if it can.
    for joint in root.findall("joint"):
        if joint.find("parent") is not None and joint.find("parent").get("link") == arm.names[1]:
            root.remove(joint)
    path = pathlib.Path(arm.urdf).with_name("to_the_tip.urdf")
    ET.ElementTree(root).write(path, encoding="utf-8")
    chain = ikpy.chain.Chain.from_urdf_file(str(path), base_elements=way)
    places = [at for at, link in enumerate(chain.links) if link.name in arm.joints]
    chain.active_links_mask = np.isin(np.arange(len(chain.links)), places)
    if [chain.links[at].name for at in places] != arm.joints:
        raise NotImplementedError(f"it finds the joints {[link.name for link in chain.links]}")

    def solve(target):
        start = np.zeros(len(chain.links))
        start[places] = arm.middle
        found = chain.inverse_kinematics_frame(target, initial_position=start, orientation_mode="all")
        return found[places]

    return solve


def eaik(arm):
    """Closed form by subproblems: all solutions, of which one must be right."""
    from eaik.IK_HP import HPRobot

    if len(arm.joints) != 6:
        raise NotImplementedError("it is for six joints")
    axes, ways, turned = arm.screws()
    robot = HPRobot(axes, ways)
    if not robot.hasKnownDecomposition():
        raise NotImplementedError("it knows no decomposition of this arm")

    def solve(target):
        turned_back = target.copy()
        turned_back[:3, :3] = target[:3, :3] @ turned.T
        return np.asarray(robot.IK(turned_back).Q)

    return solve


def ssik(arm):
    """Closed form or by polynomials, as it chooses by the geometry; one solution within limits is requested."""
    import ssik as library

    robot = library.Manipulator.from_urdf(arm.urdf, base=arm.names[0], ee=arm.names[1])
    robot.prepare()

    def solve(target):
        found = robot.solve(target, max_solutions=1)
        return np.array(found[0].q) if found else None

    return solve


SOLVERS = {
    "Pinocchio's loop": clik,
    "TRAC-IK (pytracik)": trac_ik,
    "optik": optik,
    "Robotics Toolbox": toolbox,
    "ikpy": ikpy,
    "EAIK": eaik,
    "ssik": ssik,
}


def results(make, arm, measured, count):
    try:
        solve = make(arm)
        solve(arm.targets[0])
    except BaseException as error:  # an exception or panic of another program is its result
        return {"none": f"{type(error).__name__}: {error}"}
    found = []
    for target in arm.targets[:count]:
        begin = time.perf_counter()
        try:
            positions = solve(target)
        except BaseException:  # as above
            positions = None
        took = 1e6 * (time.perf_counter() - begin)
        # Some report failure by a tolerance of their own, so every result is judged.
        several = [] if positions is None else [arm.within(one) for one in np.atleast_2d(positions) if len(one)]
        found.append([took, any(one is not None and arm.is_right(one, target) for one in several)])
    return {"results": found}


def without_shapes(urdf, folder):
    tree = ET.parse(urdf)
    for link in tree.getroot().iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    path = pathlib.Path(folder) / "robot.urdf"
    tree.write(path, encoding="utf-8")
    return str(path)


def main():
    if not sys.argv[1:]:
        return print(json.dumps(list(SOLVERS)))
    what, urdf, base, tip, count = sys.argv[1:]
    measured = json.load(sys.stdin)
    work = {"times": times, "judge": judge}.get(what) or functools.partial(results, SOLVERS[what])
    # Output of the solvers must not mix with the result.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory() as folder:
        arm = Arm(without_shapes(urdf, folder), base, tip, measured)
        json.dump(work(arm, measured, int(count)), answer)
        answer.flush()


if __name__ == "__main__":
    main()
