"""MoveIt's kinematics services, served by the node to clients written for move_group, over real DDS."""

import numpy as np
import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

import kinematics  # noqa: E402
import moveit_peer as moveit  # noqa: E402
from moveit_peer import GetPositionFK, GetPositionIK, PoseStamped, PositionIKRequest, RobotState  # noqa: E402
from ros_node import PATIENCE, description  # noqa: E402
from ros_peer import Asset, Header, JointState, Time  # noqa: E402
from test_frames import ARM  # noqa: E402
from test_motion import AT, matrix, message, state  # noqa: E402



@pytest.fixture
def truth(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return kinematics.read(path)


@pytest.fixture
def peer_of_moveit(start, peer):
    start(moveit_services=True)
    description(peer, ARM)
    peer.subscription("/urdf_usd/asset", Asset, latched=True).wait(lambda asset: asset.robot == "arm", PATIENCE)
    return peer


def everything():
    """Returns a robot state with all fields filled: intermediate fields have to be decoded to reach later ones."""
    box = moveit.SolidPrimitive(type=1, dimensions=[0.1, 0.2, 0.3], polygon=moveit.Polygon(points=[moveit.Point32(x=0.5)]))
    mesh = moveit.Mesh(triangles=[moveit.MeshTriangle(vertex_indices=[0, 1, 2])])
    held = moveit.CollisionObject(
        id="cup", type=moveit.ObjectType(key="k", db="d"), primitives=[box], meshes=[mesh], planes=[moveit.Plane(coef=[0.0, 0.0, 1.0, 2.0])],
        subframe_names=["rim"], operation=2,
    )  # fmt: skip
    open_hand = moveit.JointTrajectory(joint_names=["turn"], points=[moveit.JointTrajectoryPoint(positions=[0.1])])
    attached = moveit.AttachedCollisionObject(link_name="tool", object=held, touch_links=["tool"], detach_posture=open_hand, weight=0.5)
    floating = moveit.MultiDOFJointState(joint_names=["virtual_joint"], transforms=[moveit.Transform()], twist=[moveit.Twist()])
    return RobotState(joint_state=state(AT), multi_dof_joint_state=floating, attached_collision_objects=[attached], is_diff=True)


def test_moveit_s_clients_get_joints_for_poses_and_poses_for_joints(peer_of_moveit, truth):
    ik = peer_of_moveit.client("/compute_ik", GetPositionIK)
    fk = peer_of_moveit.client("/compute_fk", GetPositionFK)
    header = Header(stamp=Time(sec=7), frame_id="base")
    answer = fk.call(GetPositionFK.request(header=header, fk_link_names=["tool", "camera"], robot_state=everything()), PATIENCE)
    assert (answer.error_code.val, answer.fk_link_names) == (1, ["tool", "camera"]), answer.error_code
    poses = truth.link_poses(truth.resolve(AT))
    for link, stamped in zip(answer.fk_link_names, answer.pose_stamped, strict=True):
        np.testing.assert_allclose(matrix(stamped.pose), poses[link], atol=1e-6)
        assert (stamped.header.frame_id, stamped.header.stamp.sec) == ("base", 7)

    for asked in (
        {"ik_link_name": "tool", "pose_stamped": answer.pose_stamped[0]},
        {"ik_link_names": ["tool"], "pose_stamped_vector": [answer.pose_stamped[0]]},
        {"ik_link_name": "tool", "pose_stamped": PoseStamped(pose=message(poses["tool"])), "group_name": "arm", "robot_state": everything()},
    ):
        found = ik.call(GetPositionIK.request(ik_request=PositionIKRequest(timeout=moveit.Duration(sec=1), **asked)), PATIENCE)
        assert found.error_code.val == 1, found.error_code
        joints = dict(zip(found.solution.joint_state.name, found.solution.joint_state.position, strict=True))
        assert set(joints) == {name for name, joint in truth.joints.items() if kinematics.FREEDOM[joint.kind] == 1}
        for link, pose in truth.link_poses({**truth.resolve({}), **joints}).items():
            if link == "tool":
                np.testing.assert_allclose(pose, poses["tool"], atol=2e-6)


def test_failures_have_moveits_codes(peer_of_moveit):
    ik = peer_of_moveit.client("/compute_ik", GetPositionIK)
    fk = peer_of_moveit.client("/compute_fk", GetPositionFK)
    held = moveit.Constraints(
        joint_constraints=[moveit.JointConstraint(joint_name="turn")],
        position_constraints=[moveit.PositionConstraint(constraint_region=moveit.BoundingVolume(primitive_poses=[moveit.Pose()]))],
        orientation_constraints=[moveit.OrientationConstraint(link_name="tool")],
        visibility_constraints=[moveit.VisibilityConstraint(cone_sides=3)],
    )
    far = message(np.eye(4))
    far.position.z = 10.0
    for code, words, asked in (
        (-18, "ik_link_name", {"group_name": "arm"}),
        (-18, "tol", {"ik_link_name": "tol"}),
        (-18, "got 1 link names and 0 poses", {"ik_link_names": ["tool"]}),
        (-18, "no joint moves", {"ik_link_name": "base"}),
        (-16, "constraints", {"ik_link_name": "tool", "constraints": held}),
        (-17, "trun", {"ik_link_name": "tool", "robot_state": RobotState(joint_state=JointState(name=["trun"], position=[0.0]))}),
        (-21, "world", {"ik_link_name": "tool", "pose_stamped": PoseStamped(header=Header(frame_id="world"))}),
        (-22, "avoid_collisions", {"ik_link_name": "tool", "avoid_collisions": True}),
        (-31, "not reached", {"ik_link_name": "tool", "pose_stamped": PoseStamped(pose=far)}),
    ):
        answer = ik.call(GetPositionIK.request(ik_request=PositionIKRequest(**asked)), PATIENCE)
        assert (answer.error_code.val, answer.error_code.source) == (code, "urdf_usd") and words in answer.error_code.message, answer.error_code
        assert answer.solution.joint_state.name == []
    for code, words, asked in (
        (-18, "fk_link_names", {}),
        (-18, "tol", {"fk_link_names": ["tol"]}),
        (-21, "world", {"fk_link_names": ["tool"], "header": Header(frame_id="/world")}),
    ):
        answer = fk.call(GetPositionFK.request(**asked), PATIENCE)
        assert answer.error_code.val == code and words in answer.error_code.message, answer.error_code


def test_a_node_replaces_move_group_only_with_the_parameter(start, peer):
    start()
    description(peer, ARM)
    peer.subscription("/urdf_usd/asset", Asset, latched=True).wait(lambda asset: asset.robot == "arm", PATIENCE)
    with pytest.raises(TimeoutError):
        peer.client("/compute_ik", GetPositionIK).matched(2)
