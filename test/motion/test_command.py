"""`urdf_usd pose` and `urdf_usd ik`: output and exit codes, for every kind of file."""

import json
import shutil

import numpy as np
import pytest

import conftest
import kinematics
from conftest import run



def matrix(frame):
    x, y, z, w = frame["quaternion"]
    turn = np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip
    return kinematics.pose(frame["translation"], turn)


def asked(*arguments, code=0):
    done = run(*arguments, "--json")
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def arm():
    """Returns the URDF of the sample arm, and positions of its driving joints."""
    urdf = kinematics.read(conftest.source("sample_arm").urdf)
    joints = [joint for joint in urdf.joints.values() if kinematics.FREEDOM[joint.kind] == 1 and not joint.mimic]
    within = lambda joint, share: share if joint.lower is None else joint.lower + share * (joint.upper - joint.lower)
    return urdf, {joint.name: within(joint, (at + 1) / (len(joints) + 2)) for at, joint in enumerate(joints)}


def settings(positions):
    return [argument for name, position in positions.items() for argument in ("--set", f"{name}={position!r}")]


@pytest.mark.parametrize("kind", ["urdf", "usda", "glb"])
def test_links_have_the_poses_of_the_urdf(kind, arm, conversions):
    urdf, positions = arm
    made = conversions("sample_arm")
    file = {"urdf": made.urdf, "usda": made.entry, "glb": made.glb}[kind]
    told = asked("pose", file, *conftest.source("sample_arm").options, *settings(positions))
    everything = urdf.resolve(positions)
    assert set(told["joints"]) == set(everything)
    assert all(abs(told["joints"][name] - everything[name]) < 1e-6 for name in everything)
    poses = urdf.link_poses(everything)
    found = 0
    for name, frame in told["frames"].items():
        if name in poses:
            # Coordinates in the GLB, and rotations in OpenUSD, have single precision.
            assert np.abs(np.linalg.inv(poses[told["base"]]) @ poses[name] - matrix(frame)).max() < (1e-12 if kind == "urdf" else 2e-6), name
            found += 1
    assert found >= 0.8 * len(poses)


@pytest.mark.parametrize("kind", ["urdf", "usda", "glb"])
def test_pose_confirms_the_solutions_of_ik(kind, arm, conversions):
    _, positions = arm
    made = conversions("sample_arm")
    file = {"urdf": made.urdf, "usda": made.entry, "glb": made.glb}[kind]
    frames = asked("pose", file, *settings(positions))
    tip = max(frames["frames"], key=lambda name: np.linalg.norm(frames["frames"][name]["translation"]))
    wanted = frames["frames"][tip]
    target = ",".join(repr(x) for x in (*wanted["translation"], *wanted["quaternion"]))
    solved = asked("ik", file, "--tip", tip, "--target", target, "--base", frames["base"], "--seed", 3)
    assert solved["reached"]
    assert solved["error"]["position"] < 1e-6
    assert solved["error"]["angle"] < 1e-6
    assert solved["iterations"] > 0
    assert solved == asked("ik", file, "--tip", tip, "--target", target, "--base", frames["base"], "--seed", 3)
    leading = {name: at for name, at in solved["joints"].items() if name in positions}
    assert leading
    there = asked("pose", file, *settings(leading), "--frame", tip)["frames"][tip]
    assert np.abs(matrix(there) - matrix(wanted)).max() < 2e-6


def test_a_folder_stands_for_the_robot_in_it(conversions, tmp_path):
    asset, folder = conversions("sample_arm").entry.parent, tmp_path / "arms"
    shutil.copytree(conftest.SAMPLES / "sample_arm", folder)
    urdf = folder / "urdf" / "sample_arm.urdf"
    turned = ["--set", "elbow_joint=0.5", "--frame", "wrist_link"]
    expected = asked("pose", urdf, *turned)["frames"]["wrist_link"]
    for given in (asset, folder):
        assert matrix(asked("pose", given, *turned)["frames"]["wrist_link"]) == pytest.approx(matrix(expected), abs=1e-6), given
    (folder / "urdf" / "other.urdf").write_text(urdf.read_text().replace("sample_arm", "other", 1))
    for called in (["pose", folder], ["ik", folder, "--tip", "wrist_link", "--target", "0,0,0.5"], ["xrdf", "write", folder, "-o", tmp_path / "arm.xrdf"]):
        done = run(*called)
        assert done.returncode == 1 and "2 robots" in done.stderr and "--robot" in done.stderr, done.stderr
        assert "2 robots" not in run(*called, "--robot", "sample_arm").stderr
    assert asked("pose", folder, "--robot", "sample_arm", *turned)["frames"]["wrist_link"] == expected


def test_pose_takes_what_ik_prints(tmp_path):
    source = conftest.source("sample_arm")
    tip = last(source)
    found = run("ik", source.urdf, "--tip", tip, "--target", "0.3,0.1,0.6", "--seed", "3")
    assert found.returncode == 0, found.stderr
    # In the order of the robot's joints.
    urdf = list(kinematics.read(source.urdf).joints)
    printed = [line.split("=")[0] for line in found.stdout.splitlines()]
    assert printed == sorted(printed, key=urdf.index) and len(printed) > 4
    done = run("pose", source.urdf, "--set-from", "-", "--frame", tip, "--json", input=found.stdout)
    assert json.loads(done.stdout)["frames"][tip]["translation"] == pytest.approx([0.3, 0.1, 0.6], abs=1e-5)
    file = tmp_path / "joints"
    file.write_text(found.stdout)
    told = asked("pose", source.urdf, "--set-from", file, "--set", f"{printed[0]}=0.25")["joints"]
    assert told[printed[0]] == 0.25 and f"{printed[1]}={told[printed[1]]}" in found.stdout
    file.write_text("elbow_joint=0.1\n\nelbow_joint\n")
    done = run("pose", source.urdf, "--set-from", file)
    assert done.returncode == 1 and f"{file}:3" in done.stderr and "JOINT=VALUE" in done.stderr, done.stderr


def test_unreachable_targets_are_reported():
    source = conftest.source("sample_arm")
    told = asked("ik", source.urdf, "--tip", last(source), "--target", "50,0,0", code=1)
    assert not told["reached"]
    assert 40 < told["error"]["position"] < 50
    assert told["diagnostics"][-1]["code"] == "ik-not-reached"


def last(source):
    """Returns the link with the most joints above it."""
    urdf = kinematics.read(source.urdf)
    return max(urdf.links, key=urdf.depth)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["pose", "--set", "nothing=1"], 1, "pose-unknown-joint"),
        (["pose", "--frame", "nothing"], 1, "pose-unknown-link"),
        (["pose", "--named", "nothing"], 1, "pose-unknown"),
        (["pose", "--set", "elbw_joint=1"], 1, 'did you mean "elbow_joint"?'),
        (["pose", "--set", "xyzzy=1"], 1, "it has world_joint, shoulder_pan_joint, "),
        (["pose", "--set", "nothing"], 2, "JOINT=VALUE"),
        (["pose", "--set", "nothing=nan"], 2, "not a finite number"),
        (["ik", "--tip", "nothing", "--target", "0,0,0"], 1, "pose-unknown-link"),
        (["ik", "--tip", "nothing", "--target", "0,0"], 2, "3 (x,y,z) or 7"),
        (["ik", "--tip", "nothing", "--target", "0,0,0,0,0,0,0"], 2, "length zero"),
        (["ik", "--tip", "a", "--tip", "b", "--target", "0,0,0"], 2, "one --target for each --tip"),
    ],
)
def test_faults_are_reported(arguments, code, said):
    command, *rest = arguments
    done = run(command, conftest.source("sample_arm").urdf, *rest)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


TWO_TIPS = """<robot name="two"><link name="base"/><link name="moved"/><link name="fixed_tool"/>
<joint name="j" type="revolute"><parent link="base"/><child link="moved"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="f" type="fixed"><parent link="base"/><child link="fixed_tool"/><origin xyz="1 0 0"/></joint></robot>"""


@pytest.mark.parametrize("others", [[], ["--tip", "moved", "--target", "0,0,0"]], ids=["alone", "beside one that moves"])
def test_a_tip_that_no_joint_moves_is_named(tmp_path, others):
    """The message must not call the target out of reach: no joint moves the tip."""
    robot = tmp_path / "two.urdf"
    robot.write_text(TWO_TIPS, encoding="utf-8")
    done = run("ik", robot, *others, "--tip", "fixed_tool", "--target", "0.5,0,0")
    assert (done.returncode, "ik-no-motion" in done.stderr, '"fixed_tool"' in done.stderr) == (1, True, True), done.stderr
