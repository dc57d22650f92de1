"""Descriptions from all sources, over real DDS: topics in namespaces, a node's parameter, a file; robots that leave and return; many robots.

Each test has a separate domain and waits for conditions, never for a fixed time.
"""

import json
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

import ros_peer  # noqa: E402
from ros_peer import (  # noqa: E402
    Asset, CheckFrames, Convert, DiagnosticArray, GetParameters, Gid, NodeEntitiesInfo, ParameterValue, ParticipantEntitiesInfo,
    Peer, String, TFMessage,
)  # fmt: skip
from ros_node import PATIENCE, box, chain, free_port, transform  # noqa: E402

GONE, OK, ERROR = 3, 0, 2


class Robot(Peer):
    """A robot like that of robot_state_publisher: a separate participant with a latched description in a namespace."""

    def __init__(self, domain, namespace, text):
        super().__init__(domain)
        self.topic = f"{namespace}/robot_description"
        self.description = self.publisher(self.topic, String, latched=True, depth=1)
        self.describe(text)

    def describe(self, text):
        self.description.write(String(data=text))

    def close(self):
        self.description = None
        super().close()


def assets(peer):
    return peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)


def places(heard, output):
    """Returns the announced assets: paths below the output directory, namespaces and revisions."""
    return {Path(a.directory).relative_to(output).as_posix(): (a.ros_namespace, a.revision) for a in heard.seen}


def announced(heard, output, wanted):
    """Waits until exactly these assets are announced."""

    def look():
        heard.take()
        return places(heard, output) == wanted

    ros_peer.until(look, PATIENCE, f"these assets: {wanted}")


def status(heard, name, level):
    """Waits for a status of this name and level, and returns it."""
    found = []

    def look(array):
        found[:] = [s for s in array.status if s.name == name and s.level == level]
        return found

    heard.wait(look, PATIENCE)
    return found[0]


def robots(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/robots", timeout=PATIENCE) as answer:
        return {robot["key"]: robot for robot in json.load(answer)}


def context_namespace(asset):
    """Returns `ros:context:namespace` of an asset, as read by OpenUSD."""
    from pxr import Usd

    stage = Usd.Stage.Open(asset)
    return stage.GetDefaultPrim().GetAttribute("ros:context:namespace").Get()


def test_equal_robots_in_namespaces(start, peer, domain, tmp_path):
    port, output = free_port(), tmp_path / "out"
    start(discover=True, **{"http.port": port})
    heard = assets(peer)
    with Robot(domain, "/r1", chain("arm")), Robot(domain, "/fleet/r2", chain("arm")), Robot(domain, "", box("arm")) as own:
        wrong = peer.publisher("/r3/robot_description", TFMessage)
        other = peer.publisher("/r4/my_robot_description", String, latched=True, depth=1)
        other.write(String(data=box("other")))
        announced(heard, output, {"r1/arm": ("r1", 1), "fleet/r2/arm": ("fleet/r2", 1), "arm": ("arm", 1)})
        for asset in heard.seen:
            assert context_namespace(asset.entry) == asset.ros_namespace and (asset.links, asset.robot) == (1 if asset.ros_namespace == "arm" else 3, "arm")
        listed = robots(port)
        assert {key: robot["namespace"] for key, robot in listed.items()} == {"r1/arm": "/r1", "fleet/r2/arm": "/fleet/r2", "arm": "/"}
        assert all(robot["presence"] == "live" and str(tmp_path) not in json.dumps(robot["files"]) for robot in listed.values())
        # A late subscriber receives the last revision of each.
        late = assets(peer)
        announced(late, output, places(heard, output))
        # A change of one affects only that one.
        own.describe(box("arm", 2))
        heard.wait(lambda asset: asset.revision == 2 and asset.ros_namespace == "arm", PATIENCE)
        assert {robot["revision"] for key, robot in robots(port).items() if key != "arm"} == {1}
        # An ambiguous name is rejected with the keys.
        frames = peer.call("/urdf_usd/check_frames", CheckFrames, CheckFrames.request(robot="r1/arm"), PATIENCE)
        assert frames.success and not frames.all_ok and len(frames.frames) == 3
        del wrong, other


def test_transforms_of_a_namespace_or_of_all_robots(start, peer, domain):
    start(discover=True)
    heard = assets(peer)

    def all_ok(robot):
        answer = peer.call("/urdf_usd/check_frames", CheckFrames, CheckFrames.request(robot=robot), PATIENCE)
        return answer.success and answer.all_ok

    with Robot(domain, "/r1", chain("one")) as one, Robot(domain, "/r2", chain("two")) as two:
        heard.wait(lambda asset: len({a.robot for a in heard.seen}) == 2, PATIENCE)
        moving, fixed = [transform("base", "arm", z=1.0)], [transform("arm", "tool", x=0.5)]
        # The first publishes in its namespace, the second on the global topic.
        latched = dict(latched=True, depth=1)
        topics = {one: ("/r1/tf", "/r1/tf_static"), two: ("/tf", "/tf_static")}
        for robot, key in ((one, "r1/one"), (two, "r2/two")):
            tf, static = topics[robot]
            publisher, latch = robot.publisher(tf, TFMessage), robot.publisher(static, TFMessage, **latched)
            latch.write(TFMessage(transforms=fixed))

            def moves():
                publisher.write(TFMessage(transforms=moving))
                return all_ok(key)

            ros_peer.until(moves, PATIENCE, f"all frames of {key}")
            robot.kept = (publisher, latch)


def test_robots_leave_and_come_back(start, peer, domain, tmp_path):
    port, output = free_port(), tmp_path / "out"
    start(discover=True, **{"http.port": port})
    heard, diagnostics = assets(peer), peer.subscription("/diagnostics", DiagnosticArray, depth=100)
    with Robot(domain, "/r2", box("stays")):
        first = Robot(domain, "/r1", box("arm"))
        own = Robot(domain, "", box("own"))
        announced(heard, output, {"r1/arm": ("r1", 1), "r2/stays": ("r2", 1), "own": ("own", 1)})
        status(diagnostics, "urdf_usd: conversion of r1/arm", OK)
        first.close()
        own.close()
        gone = status(diagnostics, "urdf_usd: conversion of r1/arm", GONE)
        assert gone.message.startswith("gone: ") and "revision 1 is kept" in gone.message
        status(diagnostics, "urdf_usd: conversion of own", GONE)
        status(diagnostics, "urdf_usd: conversion of r2/stays", OK)
        assert {key: robot["presence"] for key, robot in robots(port).items()} == {
            "r1/arm": "gone", "own": "gone", "r2/stays": "live",
        }  # fmt: skip
        assert (output / "r1" / "arm" / "arm.usda").is_file()
        answer = peer.call("/urdf_usd/check_frames", CheckFrames, CheckFrames.request(robot="r1/arm"), PATIENCE)
        assert not answer.success and "is gone" in answer.message
        # An equal description is not a revision; a change is.
        with Robot(domain, "/r1", box("arm")) as back:
            status(diagnostics, "urdf_usd: conversion of r1/arm", OK)
            back.describe(box("arm", 2))
            heard.wait(lambda asset: asset.robot == "arm" and asset.revision == 2, PATIENCE)
            assert len([a for a in heard.seen if a.robot == "arm"]) == 2


class Parameters:
    """A node that is found by its name, and serves its parameter."""

    def __init__(self, peer, namespace, name, text):
        node = f"{namespace}/{name}"
        self.text = text
        service = f"{node}/get_parameters"
        profile = dict(depth=10)
        self.replies = peer.publisher(f"{service}Reply", GetParameters.response, **profile)
        self.requests = peer.subscription(f"{service}Request", GetParameters.request, **profile)
        announcement = ParticipantEntitiesInfo(
            gid=Gid(data=list(peer.participant.guid.bytes)),
            node_entities_info_seq=[NodeEntitiesInfo(node_namespace=namespace or "/", node_name=name)],
        )
        self.graph = ros_peer.Publisher(
            peer.participant, "ros_discovery_info", ParticipantEntitiesInfo, ros_peer.qos(latched=True, depth=1)
        )
        self.graph.write(announcement)

    def answer(self):
        """Answers pending requests, and returns their number."""
        asked = self.requests.take()
        for request in asked:
            assert request.names == ["robot_description"]
            value = ParameterValue(type=4, string_value=self.text) if self.text else ParameterValue()
            self.replies.write(GetParameters.response(client=request.client, sequence=request.sequence, values=[value]))
        return len(asked)


class Services(Peer):
    """A peer whose topics are endpoints of services."""

    def publisher(self, topic, kind, **profile):
        return ros_peer.Publisher(self.participant, f"rr{topic}", kind, ros_peer.qos(**profile))

    def subscription(self, topic, kind, **profile):
        return ros_peer.Subscription(self.participant, f"rq{topic}", kind, ros_peer.qos(**profile))


def test_a_nodes_parameter_without_a_topic(start, peer, domain, tmp_path):
    node = start()
    heard = assets(peer)
    with Services(domain) as one, Services(domain) as other:
        without = Parameters(one, "", "a_node", None)
        publisher = Parameters(other, "", "robot_state_publisher", box("read"))
        asked = {without: 0, publisher: 0}

        def serve():
            for parameters in asked:
                asked[parameters] += parameters.answer()
            return any(asset.robot == "read" for asset in heard.take())

        ros_peer.until(serve, PATIENCE, "the robot whose description is read")
        assert asked[publisher] == 1
        assert places(heard, tmp_path / "out") == {"read": ("read", 1)}
        node.logged("the parameter robot_description of /robot_state_publisher was read; /a_node may have it too")
        assert asked[without] == 0
    # A description on the topic takes precedence.
    with Robot(domain, "", box("read", 2)):
        heard.wait(lambda asset: asset.robot == "read" and asset.revision == 2, PATIENCE)


def test_a_file_and_its_changes(start, peer, tmp_path):
    path, output = tmp_path / "robots" / "my.urdf", tmp_path / "out"
    path.parent.mkdir()
    start(urdf_file=path)
    heard, diagnostics = assets(peer), peer.subscription("/diagnostics", DiagnosticArray, depth=100)
    missing = status(diagnostics, "urdf_usd: conversion of my", ERROR)
    assert "my.urdf" in missing.message
    mesh = path.parent / "part.stl"
    triangle = "solid\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex {} 0 0\nvertex 0 1 0\nendloop\nendfacet\nendsolid\n"
    mesh.write_text(triangle.format(1))
    text = box("arm").replace('<box size="1 1 1"/>', '<mesh filename="part.stl"/>')
    path.write_text(text)
    announced(heard, output, {"arm": ("arm", 1)})
    assert heard.seen[-1].meshes == 1
    mesh.write_text(triangle.format(2))
    heard.wait(lambda asset: asset.revision == 2, PATIENCE)
    path.write_text(box("arm", 3))
    heard.wait(lambda asset: asset.revision == 3 and asset.meshes == 0, PATIENCE)
    path.write_text("<robot")
    broken = status(diagnostics, "urdf_usd: conversion of arm", ERROR)
    assert "revision 3 is kept" in broken.message and "my.urdf" in broken.message


def test_calls_respect_the_permitted_folders(start, peer, domain, tmp_path):
    start(discover=True)
    heard = assets(peer)
    (tmp_path / "secret.urdf").write_text(box("secret"))

    def convert(**request):
        return peer.call("/convert", Convert, Convert.request(**request), PATIENCE)

    for request, words in [
        ({"uri": str(tmp_path / "secret.urdf")}, ["secret.urdf", "allowed_roots", "restrict_calls"]),
        ({"urdf": box("a"), "output_dir": str(tmp_path / "elsewhere")}, ["elsewhere", "restrict_calls"]),
        ({"urdf": box("a"), "output_dir": "../elsewhere"}, ["elsewhere", "restrict_calls"]),
    ]:
        answer = convert(**request)
        assert not answer.success and all(word in answer.message for word in words), answer.message
    assert not (tmp_path / "elsewhere").exists()
    with Robot(domain, "/r1", box("arm")):
        heard.wait(lambda asset: asset.robot == "arm", PATIENCE)
        # The last received description is that of the robot in the namespace.
        last = convert()
        assert last.success and last.files[0].startswith(str(tmp_path / "out" / "r1" / "arm")), last
        assert "already current: revision 1" in last.message


def test_many_robots(start, peer, domain, tmp_path):
    port, output, count = free_port(), tmp_path / "out", 30
    heard = assets(peer)
    publishers = []
    with Peer(domain) as fleet:
        for n in range(count):
            publisher = fleet.publisher(f"/r{n}/robot_description", String, latched=True, depth=1)
            publisher.write(String(data=chain("arm")))
            publishers.append(publisher)
        diagnostics = peer.subscription("/diagnostics", DiagnosticArray, depth=1000)
        start(discover=True, **{"http.port": port})
        announced(heard, output, {f"r{n}/arm": (f"r{n}", 1) for n in range(count)})
        listed = robots(port)
        assert len(listed) == count and {robot["presence"] for robot in listed.values()} == {"live"}
        names = set()
        wanted = {f"urdf_usd: conversion of r{n}/arm" for n in range(count)}

        def told():
            names.update(s.name for array in diagnostics.take() for s in array.status if s.level == OK)
            return wanted <= names

        ros_peer.until(told, PATIENCE, "the status of all")
        # Half of them leave.
        del publishers[::2], publisher
        ros_peer.until(
            lambda: sum(robot["presence"] == "gone" for robot in robots(port).values()) == count // 2, PATIENCE, "those that left"
        )
