"""Named poses and kinematics as services of the node, over real DDS; `kinematics.py` computes the expected poses of links."""

import time
import urllib.request

import numpy as np
import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

import kinematics  # noqa: E402
from conftest import SAMPLES  # noqa: E402
from pxr import Usd  # noqa: E402
from ros_node import PATIENCE, description, free_port, quaternion  # noqa: E402
from ros_peer import (  # noqa: E402
    Asset, ComputeFk, DeletePose, Header, JointState, ListPoses, Point, Pose, Quaternion, SolveIk, StorePose, String, Time, until,
)  # fmt: skip
from test_frames import ARM  # noqa: E402

AT = {"turn": 0.7, "slide": -0.25}


@pytest.fixture
def port():
    return free_port()


@pytest.fixture
def arm(start, peer, port):
    """Starts a node with the asset of an arm, and returns both."""
    start(**{"http.port": port})
    topic, assets = description(peer, ARM), peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
    assets.wait(lambda asset: asset.robot == "arm", PATIENCE)
    return peer, assets, topic


@pytest.fixture
def client(arm):
    def call(name, service, /, **request):
        return arm[0].client(f"/urdf_usd/{name}", service).call(service.request(**request), PATIENCE)

    return call


@pytest.fixture(scope="module")
def truth(tmp_path_factory):
    path = tmp_path_factory.mktemp("arm") / "arm.urdf"
    path.write_text(ARM)
    return kinematics.read(path)


def matrix(pose):
    p, q = pose.position, pose.orientation
    x, y, z, w = q.x, q.y, q.z, q.w
    made = np.eye(4)
    made[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    made[:3, 3] = p.x, p.y, p.z
    return made


def message(made):
    x, y, z = map(float, made[:3, 3])
    return Pose(position=Point(x=x, y=y, z=z), orientation=quaternion(made[:3, :3]))


def state(at):
    return JointState(name=list(at), position=list(at.values()))


def test_links_follow_from_joints(client, truth):
    rest = client("compute_fk", ComputeFk)
    assert rest.success and sorted(rest.links) == sorted(truth.links), rest.message
    for at in ({}, AT, {"turn": -1.9, "slide": 0.9}):
        answer = client("compute_fk", ComputeFk, state=state(at))
        wanted = truth.link_poses(truth.resolve(at))
        for link, pose in zip(answer.links, answer.poses, strict=True):
            np.testing.assert_allclose(matrix(pose), wanted[link], atol=1e-6, err_msg=link)
    within = client("compute_fk", ComputeFk, state=state(AT), base="camera", links=["finger"])
    wanted = truth.link_poses(truth.resolve(AT))
    assert within.links == ["finger"]
    np.testing.assert_allclose(matrix(within.poses[0]), np.linalg.inv(wanted["camera"]) @ wanted["finger"], atol=1e-6)
    wrong = client("compute_fk", ComputeFk, links=["fingr"])
    assert not wrong.success and "fingr" in wrong.message and "finger" in wrong.message, wrong.message


def test_a_target_is_reached_or_reported_as_out_of_reach(client, truth):
    wanted = truth.link_poses(truth.resolve(AT))["tool"]
    took = []
    for _ in range(20):
        began = time.perf_counter()
        answer = client("solve_ik", SolveIk, tip="tool", target=message(wanted))
        took.append(time.perf_counter() - began)
        found = dict(zip(answer.solution.name, answer.solution.position, strict=True))
        assert answer.success and {"turn", "slide"} <= set(found), answer.message
        np.testing.assert_allclose(truth.link_poses(truth.resolve(found))["tool"], wanted, atol=2e-6)
    far = wanted.copy()
    far[2, 3] += 10
    answer = client("solve_ik", SolveIk, tip="tool", target=message(far))
    assert not answer.success and answer.position_error > 5 and "not reached" in answer.message, answer.message
    found = dict(zip(answer.solution.name, answer.solution.position, strict=True))
    off = np.linalg.norm(truth.link_poses(truth.resolve(found))["tool"][:3, 3] - far[:3, 3])
    assert abs(off - answer.position_error) < 1e-5 and all(-2 <= at <= 2 for at in found.values())
    for request, words in (
        ({"tip": "tol"}, "tol"),
        ({"tip": "tool", "base": "nothing"}, "nothing"),
        ({"tip": "base"}, "no joint moves"),
        ({"tip": "tool", "robot": "rover"}, "rover"),
        ({"tip": "tool", "target": Pose(orientation=Quaternion(w=0.0))}, "non-zero length"),
        ({"tip": "tool", "seed": JointState(name=["turn"])}, "got 1 joint names and 0 positions"),
    ):
        answer = client("solve_ik", SolveIk, **request)
        assert not answer.success and words in answer.message, answer.message


def test_the_current_pose_is_stored_listed_and_deleted(arm, client, truth, port):
    peer, assets, topic = arm
    asset = assets.seen[-1]
    none = client("store_pose", StorePose, name="here")
    assert not none.success and "joint_states" in none.message, none.message
    states = peer.publisher("/joint_states", JointState, depth=10).matched()
    told = AT | {"follow": 3 * AT["slide"] + 0.2}

    def stored():
        now = time.time()
        stamp = Time(sec=int(now), nanosec=int(now % 1 * 1e9))
        states.write(JointState(header=Header(stamp=stamp), name=list(told), position=list(told.values())))
        answer = client("store_pose", StorePose, name="here")
        return answer if answer.success else None

    answer = until(stored, PATIENCE, "no pose is stored")
    # Mimic joints are not part of poses.
    assert dict(zip(answer.pose.joint_names, answer.pose.positions, strict=True)) == pytest.approx(AT)
    assert answer.pose.valid and answer.entry == f"{asset.directory}/arm.poses.usda"
    beyond = client("store_pose", StorePose, name="beyond", joint_names=["turn"], positions=[2.5])
    assert beyond.success and not beyond.pose.valid and "outside" in beyond.message, beyond.message

    stage = Usd.Stage.Open(answer.entry)
    paths = stage.GetDefaultPrim().GetRelationship("isaac:robot:namedPoses").GetTargets()
    poses = {stage.GetPrimAtPath(path).GetName(): stage.GetPrimAtPath(path) for path in paths}
    assert set(poses) == {"here", "beyond"}
    values = poses["here"].GetAttribute("isaac:robot:pose:jointValues").Get()
    assert sorted(values) == pytest.approx(sorted([np.degrees(AT["turn"]), AT["slide"]]), abs=1e-5)

    listed = client("list_poses", ListPoses, robot="arm")
    assert listed.success and {pose.name: pose.valid for pose in listed.poses} == {"here": True, "beyond": False}
    # Without positions, the last joint states are stored.
    heard = client("compute_fk", ComputeFk, links=["tool"])
    np.testing.assert_allclose(matrix(heard.poses[0]), truth.link_poses(truth.resolve(AT))["tool"], atol=1e-6)

    # A new revision keeps the poses.
    topic.write(String(data=ARM.replace('lower="-2" upper="2"', 'lower="-2" upper="1.5"', 1)))
    assets.wait(lambda asset: asset.revision == 2, PATIENCE)
    listed = client("list_poses", ListPoses)
    assert sorted(pose.name for pose in listed.poses) == ["beyond", "here"], listed.message
    # Pages are notified. Events of the revision have been sent by then.
    time.sleep(1)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/events", timeout=PATIENCE) as events:
        assert events.readline() == b"event: resync\n"
        gone = client("delete_pose", DeletePose, robot="arm", name="here")
        assert gone.success, gone.message
        assert next(line for line in events if line.startswith(b"event: ")) == b"event: poses\n"
    again = client("delete_pose", DeletePose, robot="arm", name="here")
    assert not again.success and "here" in again.message and "beyond" in again.message, again.message
    assert [pose.name for pose in client("list_poses", ListPoses).poses] == ["beyond"]


def test_poses_of_an_srdf_are_listed(start, peer):
    sample = SAMPLES / "sample_arm"
    start(srdf_file=sample / "srdf" / "sample_arm.srdf", urdf_file=sample / "urdf" / "sample_arm.urdf", overlays=["isaac"])
    assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
    assets.wait(lambda asset: asset.robot == "sample_arm", PATIENCE)
    call = lambda name, service, /, **request: peer.client(f"/urdf_usd/{name}", service).call(service.request(**request), PATIENCE)
    listed = call("list_poses", ListPoses)
    assert listed.success and len(listed.poses) > 1 and all(pose.joint_names for pose in listed.poses), listed
    first = listed.poses[0]
    assert call("delete_pose", DeletePose, name=first.name, group=first.group).success
    left = call("list_poses", ListPoses).poses
    assert [(p.name, p.group) for p in left] == [(p.name, p.group) for p in listed.poses[1:]]
