"""Tests of the reference `kinematics.py` against poses computed by hand."""

import math

import numpy as np
import pytest

import kinematics

TEXT = """<robot name="hand">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0 1" rpy="0 0 1.5707963267948966"/><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial></link>
  <link name="tip"/>
  <link name="follower"/>
  <joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="1 0 0" rpy="1.5707963267948966 0 1.5707963267948966"/>
    <axis xyz="0 0 2"/><limit lower="-1" upper="2" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="arm"/><child link="tip"/><origin xyz="0 0 3"/><axis xyz="1 0 0"/></joint>
  <joint name="follow" type="prismatic"><parent link="tip"/><child link="follower"/><mimic joint="slide" multiplier="-2" offset="0.5"/></joint>
</robot>"""


@pytest.fixture
def robot(tmp_path):
    (tmp_path / "hand.urdf").write_text(TEXT)
    return kinematics.read(tmp_path / "hand.urdf")


def test_rpy_rotates_about_fixed_axes(robot):
    # Roll by 90° takes z to -y; then yaw by 90° takes -y to +x.
    assert np.allclose(robot.link_poses()["arm"] @ [0, 0, 1, 1], [2, 0, 0, 1])
    assert np.allclose(robot.link_poses()["tip"][:3, 3], [4, 0, 0])


def test_a_joint_rotates_about_its_unit_axis(robot):
    # The axis is the arm's z, which is the base's x; the arm's x is the base's y. A quarter turn takes it to the base's z.
    poses = robot.link_poses({"turn": math.pi / 2})
    assert np.allclose(poses["arm"][:3, :3] @ [1, 0, 0], [0, 0, 1])


def test_mimics_follow(robot):
    assert robot.resolve({"slide": 0.25, "turn": 1}) == {"turn": 1, "slide": 0.25, "follow": 0.0}
    poses = robot.link_poses(robot.resolve({"slide": 1.0}))
    assert np.allclose((np.linalg.inv(poses["arm"]) @ poses["follower"])[:3, 3], [1 - 1.5, 0, 3])


def test_the_inertial_frame_rotates_the_tensor(robot):
    assert np.allclose(robot.links["arm"].tensor, np.diag([2, 1, 2.5]))
