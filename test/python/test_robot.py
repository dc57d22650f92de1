"""`Robot`: batches of kinematics and dynamics, compared with Pinocchio and MuJoCo."""

import os
import pickle
import resource

import numpy as np
import pytest

from conftest import ROBOTS, SAMPLES, scratch
from worker import worker


@pytest.fixture(scope="module")
def robot(urdf_usd, arm):
    path, packages = arm
    return urdf_usd.Robot.load(path, srdf_file=SAMPLES / "sample_arm" / "srdf" / "sample_arm.srdf", **packages)


def worker_peak():
    """Returns the memory of this process, MiB, at its peak."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


def random(robot, count):
    """Returns configurations within the limits."""
    lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
    return np.random.default_rng(7).uniform(lower, upper, (count, robot.dof))


def test_arrays_describe_the_robot(robot):
    assert (robot.name, robot.root, robot.dof) == ("sample_arm", "world", 7)
    assert robot.dof_names[0] == "shoulder_pan_joint" and "right_finger_joint" not in robot.dof_names
    assert robot.joints["right_finger_joint"].mimic.joint == "left_finger_joint"
    assert robot.joints["forearm_roll_joint"].upper == np.inf
    for array, shape in (
        (robot.lower, (7,)), (robot.velocity_limits, (7,)), (robot.masses, (len(robot.link_names),)),
        (robot.inertias, (len(robot.link_names), 3, 3)), (robot.centres_of_mass, (len(robot.link_names), 3)),
    ):  # fmt: skip
        assert (array.shape, array.dtype) == (shape, np.float64)
    assert robot.mass > 1 and np.allclose(robot.inertias, np.swapaxes(robot.inertias, 1, 2))
    assert robot.poses and all(pose.shape == (7,) for pose in robot.poses.values())
    name, pose = next(iter(robot.poses.items()))
    q = robot.configuration({"shoulder_pan_joint": 0.25}, pose=name)
    assert q[0] == 0.25 and (q[1:] == pose[1:]).all()
    positions = robot.joint_positions(np.stack([q, q]))
    assert (positions["right_finger_joint"] == positions["left_finger_joint"]).all()
    assert positions["shoulder_pan_joint"].shape == (2,)
    with pytest.raises(KeyError, match="right_finger_joint"):
        robot.configuration({"right_finger_joint": 0.0})


def batches(robot, tip, q):
    qd, qdd = np.random.default_rng(8).uniform(-2, 2, (2, *q.shape))
    return {
        "qd": qd,
        "qdd": qdd,
        "forces": robot.inverse_dynamics(q, qd, qdd),
        "q": q,
        "fk": robot.fk(q),
        "jacobian": robot.jacobian(q, tip),
        "local_jacobian": robot.jacobian(q, tip, frame="link"),
        "mass_matrix": robot.mass_matrix(q),
        "gravity": robot.gravity(q),
        "centre": robot.centre_of_mass(q),
    }


@pytest.mark.parametrize("name", ["sample_arm", "sample_rover", "ur_description"])
def test_batches_agree_with_pinocchio(urdf_usd, name):
    folder = (SAMPLES if name.startswith("sample") else ROBOTS) / name
    urdf = next(path for path in sorted(folder.rglob("*.urdf")) if "urdf" in path.parent.name)
    robot = urdf_usd.Robot.load(urdf, packages={name: folder})
    # As many as are divided among threads, of which Pinocchio sees a part.
    tip, q = robot.link_names[-1], random(robot, 300)
    arrays = batches(robot, tip, q)
    assert all(array.flags.c_contiguous and array.dtype == np.float64 and len(array) == 300 for array in arrays.values())
    chosen = np.r_[0:20, 280:300]
    file = scratch() / "arrays.npz"
    np.savez(file, **{name: array[chosen] for name, array in arrays.items()})
    peer = worker(os.environ["URDF_USD_URDF_PYTHON"], "robot_peers")
    result, _ = peer.ask("robot_peers", "pinocchio", urdf, file, robot.dof_names, robot.link_names, tip)
    assert result["coordinates"] >= 2 and result["links"] >= 8, result
    assert max(result["differences"].values()) < 1e-12, result


def test_poses_agree_with_those_of_the_converted_robot_in_mujoco(urdf_usd, arm, robot):
    path, packages = arm
    entry = urdf_usd.convert(path, formats="mjcf", **packages).write(scratch())
    q = random(robot, 50)
    positions = robot.joint_positions(q)
    file = scratch() / "arrays.npz"
    np.savez(file, positions=np.stack(list(positions.values()), axis=1), fk=robot.fk(q))
    peer = worker(os.environ["URDF_USD_URDF_PYTHON"], "robot_peers")
    result, _ = peer.ask("robot_peers", "mujoco", entry, file, list(positions), robot.link_names, robot.root)
    assert result["bodies"] >= 8 and result["difference"] < 1e-6, result


def test_a_configuration_and_a_batch_are_alike(robot):
    q = random(robot, 3)
    for function in (
        robot.fk, robot.mass_matrix, robot.gravity, robot.centre_of_mass, lambda q: robot.jacobian(q, "tool0"),
        lambda q: robot.fk(q, "tool0"), lambda q: robot.fk(q, ["tool0", "base_link"], base="wrist_link"),
    ):  # fmt: skip
        batch = function(q)
        assert (np.stack([function(row) for row in q]) == batch).all()
        assert function(q[:0]).shape == (0, *batch.shape[1:])
        # All other types, layouts and lists are converted.
        assert (function(np.asfortranarray(q)) == batch).all() and (function(q.tolist()) == batch).all()
    tips = robot.fk(q, ["tool0", "base_link"], base="wrist_link")
    wrist = robot.fk(q, "wrist_link")
    assert np.allclose(wrist @ tips[:, 0], robot.fk(q, "tool0"), atol=1e-12)
    heavier = robot.gravity(q, (0.0, 0.0, -19.62))
    assert np.allclose(heavier, 2 * robot.gravity(q))


def test_results_go_to_arrays_of_the_caller(urdf_usd, robot):
    q = random(robot, 300)
    functions = {
        "fk": lambda q, out: robot.fk(q, "tool0", out=out),
        "several": lambda q, out: robot.fk(q, ["tool0", "base_link"], out=out),
        "all": lambda q, out: robot.fk(q, out=out),
        "jacobian": lambda q, out: robot.jacobian(q, "wrist_link", out=out),
        "mass_matrix": lambda q, out: robot.mass_matrix(q, out=out),
        "gravity": lambda q, out: robot.gravity(q, out=out),
    }
    for name, function in functions.items():
        for given in (q, q[0], q[:0]):
            expected = function(given, None)
            # Its numbers are replaced, also those that are always zero.
            out = np.full(expected.shape, np.nan)
            assert function(given, out) is out and (out == expected).all(), name
        expected = function(q, None)
        wrong = [np.empty(expected.shape, np.float32), np.empty(expected.shape[1:]), np.asfortranarray(expected.copy()), expected.tolist()]
        wrong.append(np.broadcast_to(expected[:1], expected.shape))
        for out in wrong:
            with pytest.raises(ValueError, match="out is no writeable"):
                function(q, out)
    with pytest.raises(urdf_usd.OptionError, match="shares memory"):
        robot.gravity(q, out=q)
    none = np.empty((300, 0, 4, 4))
    assert robot.fk(q, [], out=none) is none
    with pytest.raises(TypeError, match="numpy.matrix"):
        robot.gravity(q, out=np.matrix(q))


def test_the_mass_matrix_of_a_long_chain_needs_little_memory(urdf_usd):
    count = 2000
    link = "<link name='l{0}'><inertial><mass value='1'/><origin xyz='0 0 1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
    joint = "<joint name='j{1}' type='continuous'><parent link='l{0}'/><child link='l{1}'/><axis xyz='1 0 0'/></joint>"
    parts = [link.format(n) for n in range(count + 1)] + [joint.format(n, n + 1) for n in range(count)]
    robot = urdf_usd.Robot.load(f"<robot name='r'>{''.join(parts)}</robot>")
    q, out = np.zeros(count), np.zeros((count, count))
    peak = worker_peak()
    robot.mass_matrix(q, out=out)
    # An index of its elements takes 200 MiB.
    assert worker_peak() - peak < 64
    # All joints are in one place: each moves all links beyond the farther one.
    far = np.arange(count, 0, -1)
    assert np.allclose(out, 2.0 * np.minimum.outer(far, far))


def test_rows_of_batches_do_not_depend_on_others(robot):
    q = random(robot, 1000)
    q[17, 3] = np.nan
    q[18, 2] = 1e6
    for function in (lambda q: robot.fk(q, "tool0"), lambda q: robot.jacobian(q, "tool0"), robot.mass_matrix, robot.gravity):
        batch = function(q)
        single = np.stack([function(row) for row in q])
        assert np.isnan(batch[17]).any() and np.isfinite(np.delete(batch, 17, axis=0)).all()
        assert np.array_equal(batch, single, equal_nan=True)


def test_the_jacobian_is_the_derivative_of_poses(robot):
    q, step = random(robot, 1)[0], 1e-6
    jacobian = robot.jacobian(q, "tool0", base="base_link")
    for at in range(robot.dof):
        moved = np.tile(q, (2, 1))
        moved[:, at] += (-step, step)
        before, after = robot.fk(moved, "tool0", base="base_link")
        assert np.allclose(jacobian[:3, at], (after[:3, 3] - before[:3, 3]) / (2 * step), atol=1e-6)
        turn = (after[:3, :3] - before[:3, :3]) / (2 * step) @ robot.fk(q, "tool0", base="base_link")[:3, :3].T
        assert np.allclose(jacobian[3:, at], (turn[2, 1], turn[0, 2], turn[1, 0]), atol=1e-6)


def test_robots_and_errors_go_to_other_processes(urdf_usd, arm, robot, monkeypatch):
    again = pickle.loads(pickle.dumps(robot))
    assert again.dof_names == robot.dof_names and again.poses.keys() == robot.poses.keys()
    with pytest.raises(urdf_usd.Error) as raised:
        robot.fk(robot.rest, "none")
    assert pickle.loads(pickle.dumps(raised.value)).diagnostics == raised.value.diagnostics
    # Relative paths stay those of the working directory in which the robot was loaded.
    monkeypatch.chdir(arm[0].parent)
    options = {"packages": "sample_arm=..", "srdf_file": "../srdf/sample_arm.srdf"}
    loaded = [urdf_usd.Robot.load(arm[0].name, **options), urdf_usd.Robot.load(arm[0].read_bytes(), **options)]
    monkeypatch.chdir(scratch())
    for one in loaded:
        again = pickle.loads(pickle.dumps(one))
        assert again.dof_names == one.dof_names and again.poses.keys() == one.poses.keys()


def test_inverse_kinematics_of_batches(robot):
    q = random(robot, 100)
    targets = robot.fk(q, "tool0")
    found = robot.ik(targets, "tool0")
    assert found.reached.all() and found.q.shape == (100, 7) and found.q.flags.c_contiguous
    assert np.allclose(robot.fk(found.q, "tool0"), targets, atol=1e-5)
    assert (found.q >= robot.lower - 1e-12).all() and (found.q <= robot.upper + 1e-12).all()
    assert max(found.position_error.max(), found.angle_error.max()) < 1e-6
    assert (robot.ik(targets, "tool0").q == found.q).all()
    # Near where the robot is, and with a joint that stays.
    near = robot.ik(targets, "tool0", q=q, fixed=["left_finger_joint"])
    assert near.reached.all() and np.allclose(near.q, q, atol=1e-4) and (near.attempts == 1).all()
    positions = robot.ik(targets[:5, :3, 3], "tool0")
    assert positions.reached.all() and np.allclose(robot.fk(positions.q, "tool0")[:, :3, 3], targets[:5, :3, 3], atol=1e-5)
    one = robot.ik(targets[0], "tool0", base="world")
    assert one.q.shape == (7,) and one.reached and one.attempts >= 1
    far = robot.ik((100.0, 0.0, 0.0), "tool0", attempts=2)
    assert not far.reached and far.position_error > 90


def test_wrong_arguments_are_explained(urdf_usd, robot):
    with pytest.raises(urdf_usd.Error, match='no link "tool".*did you mean "tool0"') as raised:
        robot.fk(robot.rest, "tool")
    assert raised.value.diagnostics[0].code == "pose-unknown-link"
    with pytest.raises(ValueError, match=r"\(6,\).*give \(7,\)"):
        robot.fk(np.zeros(6))
    for target, why in ((np.zeros((2, 2)), "shape"), (np.full(3, np.nan), "finite"), (2 * np.eye(4), "rigid")):
        with pytest.raises(ValueError, match=why):
            robot.ik(target, "tool0")
    with pytest.raises(ValueError, match="differ in shape"):
        robot.inverse_dynamics(robot.rest, robot.rest, [robot.rest])
    with pytest.raises(urdf_usd.Error, match="no joint moves"):
        robot.ik(np.eye(4), "base_link")
    with pytest.raises(urdf_usd.Error, match="no joint"):
        robot.ik(np.eye(4), "tool0", fixed=["none"])
    with pytest.raises(urdf_usd.OptionError, match="density"):
        urdf_usd.Robot.load("<robot name='r'><link name='l'/></robot>", density=3.0)
    alone = urdf_usd.Robot.load("<robot name='r'><link name='l'/></robot>")
    with pytest.raises(MemoryError):
        alone.fk(np.zeros((10**13, 0)))
    assert alone.dof == 0 and alone.fk(np.zeros((2, 0))).shape == (2, 1, 4, 4) and alone.mass_matrix(()).shape == (0, 0)
    assert np.isnan(alone.centre_of_mass(())).all()
