"""The library's kinematics and dynamics, compared with Pinocchio's on every robot."""

import os

import conftest
import pytest
from worker import worker

#: Number of random configurations of each robot.
CONFIGURATIONS = 100


def library():
    return conftest.example("urdf_usd_kinematics", "answers")


def in_pinocchio(what, *arguments):
    """Calls a function of pinocchio_kinematics.py in the Python with test/requirements-urdf.txt."""
    python = os.environ.get("URDF_USD_URDF_PYTHON")
    if not python:
        pytest.skip("URDF_USD_URDF_PYTHON is not set: test/run sets it to a Python with test/requirements-urdf.txt")
    return worker(python, "urdf").ask("pinocchio_kinematics", what, library(), *arguments)[0]


ROBOTS = [pytest.param(name, marks=conftest.marks_of(name)) for name in ("sample_arm", "sample_rover", *conftest.REAL_ROBOTS)]


@pytest.mark.parametrize("name", ROBOTS)
def test_kinematics_and_dynamics_are_pinocchio_s(name):
    found = in_pinocchio("compare", conftest.source(name).urdf, CONFIGURATIONS)
    assert found["configurations"] == CONFIGURATIONS
    assert found["links"] > 1
    # A camera, and a drone with fixed propellers, have no moving joints.
    assert found["coordinates"] > 0 or name in ("cf2x_description", "realsense2_description")
    assert found["columns"] > 0 or found["coordinates"] == 0
    assert found["poses"] < 1e-9
    assert found["jacobians"] < 1e-9
    for what in ("mass", "centre", "inertia", "gravity", "forces"):
        assert found[what] < 1e-8, what


#: The base and the tip of each arm.
ARMS = [
    ("ur_description", "base_link", "tool0"),
    ("interbotix_xsarm_descriptions", "wx250s/base_link", "wx250s/ee_gripper_link"),
    ("jaco_description", "base", "j2s7s300_end_effector"),
    ("spot_description", "body", "arm_link_wr1"),
    ("g1_description", "torso_link", "left_wrist_yaw_link"),
    ("g1_description", "torso_link", "right_wrist_yaw_link"),
]
TARGETS = 1000


@pytest.mark.parametrize(("name", "base", "tip"), [pytest.param(*arm, marks=conftest.marks_of(arm[0]), id=arm[2]) for arm in ARMS])
def test_targets_are_reached_within_limits(name, base, tip):
    found = in_pinocchio("solve", conftest.source(name).urdf, base, tip, TARGETS, 100, True)
    assert found["right"] == found["reached"] >= 0.995 * TARGETS, found
    assert found["honest"] == TARGETS, found


@pytest.mark.parametrize(("name", "base", "tip"), [pytest.param(*arm, marks=conftest.marks_of(arm[0]), id=arm[2]) for arm in ARMS])
def test_the_default_start_reaches_the_targets(name, base, tip):
    found = in_pinocchio("solve", conftest.source(name).urdf, base, tip, TARGETS, 1, False)
    assert found["right"] == found["reached"] >= 0.97 * TARGETS, found
    assert found["honest"] == TARGETS, found


@pytest.mark.parametrize(("name", "base", "tip"), [pytest.param(*arm, marks=conftest.marks_of(arm[0]), id=arm[2]) for arm in ARMS])
def test_most_targets_are_reached_from_any_start(name, base, tip):
    found = in_pinocchio("solve", conftest.source(name).urdf, base, tip, TARGETS, 1, True)
    # The rate of arms with narrow ranges; continuous ones reach 99 %.
    assert found["right"] == found["reached"] >= 0.7 * TARGETS, found
    assert found["honest"] == TARGETS, found


@pytest.mark.parametrize("name", [pytest.param("g1_description", marks=conftest.marks_of("g1_description"))])
def test_two_arms_reach_at_once(name):
    tips = ["left_wrist_yaw_link", "right_wrist_yaw_link"]
    # The waist moves both.
    assert in_pinocchio("solve_both", conftest.source(name).urdf, "pelvis", tips, 100) >= 99
