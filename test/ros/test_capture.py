"""The interfaces of a running robot, over real DDS: the asset declares the interfaces of a CycloneDDS peer in the places of REP-158.

Each test has a separate domain and waits for conditions, never for a fixed time.
"""

import contextlib
import functools
import json
import threading
from dataclasses import field
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

from pxr import Usd  # noqa: E402

import ros_peer  # noqa: E402
from conftest import run  # noqa: E402
from cyclonedds.idl.types import float32, uint32  # noqa: E402
from ros_node import PATIENCE, chain  # noqa: E402
from ros_peer import Asset, DiagnosticArray, Header, JointState, Peer, String, Vector3, message, struct, until  # noqa: E402
from stage import applied, value  # noqa: E402
from test_rep158 import check  # noqa: E402

OK, WARN, ERROR = 0, 1, 2


# The first fields of the real messages; others are not read.
@message("sensor_msgs")
class LaserScan:
    header: Header = field(default_factory=Header)
    angle_min: float32 = 0.0


@message("sensor_msgs")
class Image:
    header: Header = field(default_factory=Header)
    height: uint32 = 0


@message("sensor_msgs")
class CameraInfo:
    header: Header = field(default_factory=Header)
    height: uint32 = 0


@message("geometry_msgs")
class Twist:
    linear: Vector3 = field(default_factory=Vector3)
    angular: Vector3 = field(default_factory=Vector3)


@message("rosgraph_msgs")
class Clock:
    clock: ros_peer.Time = field(default_factory=ros_peer.Time)


def half(package, kind, name):
    """Returns one half of a service, empty except for the identity."""
    return struct(package, kind, name, {"client": ros_peer.uint64, "sequence": ros_peer.int64}, {"client": 0, "sequence": 0})


def serve(peer, service, package, kind, name):
    """Creates a service that never answers."""
    request, response = half(package, kind, f"{name}_Request"), half(package, kind, f"{name}_Response")
    profile = ros_peer.qos()
    return [
        ros_peer.Subscription(peer.participant, f"rq{service}Request", request, profile),
        ros_peer.Publisher(peer.participant, f"rr{service}Reply", response, profile),
    ]


@pytest.fixture
def start(start):
    """Starts nodes that capture the robot's interfaces."""
    return functools.partial(start, capture_interfaces=True)


@contextlib.contextmanager
def speaking(*speakers):
    """Publishes each message at its rate in Hz while the block runs."""
    over = threading.Event()

    def speak(publisher, sample, rate):
        while not over.wait(1 / rate):
            publisher.write(sample)

    threads = [threading.Thread(target=speak, args=speaker, daemon=True) for speaker in speakers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def interfaces(entry):
    """Returns the declared interfaces of an asset: path, type, rate and QoS by (schema, role, name)."""
    stage = Usd.Stage.Open(str(entry))
    found = {}
    for prim in stage.Traverse():
        for schema, kind in (("RosTopicAPI", "topic"), ("RosServiceAPI", "service"), ("RosActionAPI", "action")):
            if schema in applied(prim):
                name = value(prim, f"ros:{kind}:name")
                key = (kind, value(prim, f"ros:{kind}:role"), name)
                assert key not in found, f"duplicate {key}"
                found[key] = {
                    "path": str(prim.GetPath()),
                    "type": value(prim, f"ros:{kind}:type"),
                    "rate": value(prim, "ros:topic:publish_rate"),
                    "reliability": value(prim, "ros:topic:qos:reliability"),
                    "durability": value(prim, "ros:topic:qos:durability"),
                }
    return found


def status(heard, what):
    return heard.wait(lambda array: any(what in s.name for s in array.status), PATIENCE)


def robot(peer, namespace=""):
    """Creates a robot with a scanner and a camera on its tool, a drive, and an action."""
    p = namespace
    description = peer.publisher(f"{p}/robot_description", String, latched=True, depth=1)
    description.write(String(data=chain()))
    scan = peer.publisher(f"{p}/scan", LaserScan, reliable=False, depth=5)
    image = peer.publisher(f"{p}/camera/image_raw", Image, reliable=False)
    info = peer.publisher(f"{p}/camera/camera_info", CameraInfo)
    joints = peer.publisher(f"{p}/joint_states", JointState)
    kept = [description, peer.subscription(f"{p}/cmd_vel", Twist), peer.publisher("/clock", Clock)]
    for part, package, kind, name in [
        ("dock/_action/send_goal", "dock_msgs", "action", "Dock_SendGoal"),
        ("dock/_action/get_result", "dock_msgs", "action", "Dock_GetResult"),
        ("dock/_action/cancel_goal", "action_msgs", "srv", "CancelGoal"),
        ("reset", "std_srvs", "srv", "Trigger"),
        ("driver/get_parameters", "rcl_interfaces", "srv", "GetParameters"),
    ]:
        kept += serve(peer, f"{p}/{part}", package, kind, name)
    in_tool = Header(frame_id="tool")
    speakers = [
        (scan, LaserScan(header=in_tool), 10),
        (image, Image(header=in_tool), 15),
        (info, CameraInfo(header=in_tool), 15),
        (joints, JointState(header=Header(frame_id="base")), 25),
    ]
    return kept, speakers


def is_there(entry, *keys):
    try:
        found = interfaces(entry)
    except Exception:  # The asset is being written, or does not exist yet.
        return None
    return found if all(key in found for key in keys) else None


#: All interfaces of `robot`.
ALL = {
    ("topic", "publisher", "joint_states"),
    ("topic", "publisher", "robot_description"),
    ("topic", "publisher", "scan"),
    ("topic", "publisher", "camera/image_raw"),
    ("topic", "publisher", "camera/camera_info"),
    ("topic", "subscription", "cmd_vel"),
    ("service", "server", "reset"),
    ("action", "server", "dock"),
}
OF_SENSORS = ("scan", "camera/image_raw", "camera/camera_info")


def test_the_asset_declares_the_robots_interfaces(start, domain):
    with Peer(domain) as peer:
        kept, speakers = robot(peer)
        with speaking(*speakers):
            node = start()
            entry = node.output / "chain" / "chain.usda"
            found = until(lambda: measured(entry), PATIENCE, "the interfaces are not in the asset")
        assert set(found) == ALL
        stage = Usd.Stage.Open(str(entry))
        tool = next(str(prim.GetPath()) for prim in stage.Traverse() if prim.GetName() == "tool")
        for name in OF_SENSORS:
            topic = found["topic", "publisher", name]
            assert topic["path"].startswith(f"{tool}/") and stage.GetPrimAtPath(topic["path"]).GetTypeName() == "Xform", topic
        for key, interface in found.items():
            if not interface["path"].startswith(tool):
                assert interface["path"].startswith("/chain/Interfaces/"), (key, interface)
        scan = found["topic", "publisher", "scan"]
        assert (scan["type"], scan["reliability"], scan["durability"]) == ("sensor_msgs/msg/LaserScan", "best_effort", "volatile")
        # A loaded machine lowers the rate, never raises it.
        assert 3 <= scan["rate"] <= 11 and 3 <= found["topic", "publisher", "joint_states"]["rate"] <= 27
        description = found["topic", "publisher", "robot_description"]
        assert (description["reliability"], description["durability"], description["rate"]) == ("reliable", "transient_local", 1)
        assert found["topic", "subscription", "cmd_vel"]["type"] == "geometry_msgs/msg/Twist"
        assert found["action", "server", "dock"]["type"] == "dock_msgs/action/Dock"
        assert found["service", "server", "reset"]["type"] == "std_srvs/srv/Trigger"
        assert [v for v in check(entry)["violations"] if v["severity"] == "error"] == []

        # The reader agrees, and the asset is compared with the graph.
        told = json.loads(run("inspect", entry, "--json").stdout)["interfaces"]
        assert {(i["kind"], i["role"], i["name"]) for i in told} == set(found)
        assert {i["frame"] for i in told if i["name"] == "scan"} == {"tool"}
        statuses = peer.subscription("/diagnostics", DiagnosticArray)
        good = statuses.wait(lambda array: any("interfaces of chain" in s.name and s.level == OK for s in array.status), PATIENCE)
        assert good
        del kept


def measured(entry):
    """Returns the interfaces, once all exist and the rates of active publishers are measured."""
    found = is_there(entry, *ALL)
    if not found:
        return None
    topics = [found["topic", "publisher", name] for name in OF_SENSORS]
    rates = [topic["rate"] for topic in topics] + [found["topic", "publisher", "joint_states"]["rate"]]
    return found if all("/tool/" in topic["path"] for topic in topics) and not {1, 50} & set(rates) else None


def test_declared_interfaces_without_endpoint_are_reported(start, domain):
    """The asset declares joint_states without a publisher; then one appears, with another type."""
    with Peer(domain) as peer:
        description = peer.publisher("/robot_description", String, latched=True, depth=1)
        description.write(String(data=chain()))
        statuses = peer.subscription("/diagnostics", DiagnosticArray)
        node = start()

        def told(level, words):
            def look(array):
                found = [s for s in array.status if s.name.endswith("interfaces of chain") and s.level == level]
                return any(words in s.message for s in found)

            return statuses.wait(look, PATIENCE)

        assert told(WARN, "no node publishes /joint_states")
        node.logged("declares the publisher joint_states, but no node publishes")
        wrong = peer.publisher("/joint_states", String)
        assert told(ERROR, "/joint_states has type std_msgs/msg/String") or wrong


def test_every_robot_has_its_own_interfaces(start, domain):
    """Each of two robots in namespaces has the interfaces of its own namespace."""
    with Peer(domain) as peer:
        kept, speakers = robot(peer, "/r1")
        other = peer.publisher("/r2/robot_description", String, latched=True, depth=1)
        other.write(String(data=chain("second")))
        odometer = peer.publisher("/r2/bumper", String)
        node = start(discover=True)
        with speaking(*speakers):
            first = until(lambda: is_there(node.output / "r1" / "chain" / "chain.usda", *ALL), PATIENCE, "r1 has no interfaces")
            bumper = ("topic", "publisher", "bumper")
            second = until(lambda: is_there(node.output / "r2" / "second" / "second.usda", bumper), PATIENCE, "r2 has no interfaces")
        assert bumper not in first and not any(name == "scan" for _, _, name in second)
        assert kept and odometer


def test_the_same_robot_is_the_same_asset(start, domain):
    """After the interfaces are captured, nothing is written again, although the robot keeps publishing."""
    with Peer(domain) as peer:
        kept, speakers = robot(peer)
        heard = peer.subscription("/urdf_usd/asset", Asset, latched=True)
        with speaking(*speakers):
            node = start()
            entry = node.output / "chain" / "chain.usda"
            until(lambda: measured(entry), PATIENCE, "the interfaces are not in the asset")
            until(lambda: heard.take() or heard.seen, PATIENCE, "no asset")
            before = (entry.parent / "ros.usda").read_bytes()
            # A change of the graph that does not concern the robot.
            tool = Peer(domain)
            extra = tool.publisher("/parameter_events", ros_peer.ParameterEvent)
            with contextlib.suppress(TimeoutError):
                heard.wait(lambda asset: Path(asset.directory, "ros.usda").read_bytes() != before, 8)
            assert (entry.parent / "ros.usda").read_bytes() == before
            assert extra and kept
