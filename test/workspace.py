"""Tests the node as built in a ROS 2 workspace, among other ROS nodes; `colcon test` runs them. Every ROS client has to pass.

test/run runs all other tests, and needs no ROS.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

# A domain without other robots and tests. rcl reads it at its start, and the node inherits it.
os.environ |= {"ROS_DOMAIN_ID": str(140 + os.getpid() % 10), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}

import pytest  # noqa: E402
import rclpy  # noqa: E402
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue  # noqa: E402
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from std_msgs.msg import String  # noqa: E402

from urdf_usd.msg import Asset  # noqa: E402
from urdf_usd.srv import CheckFrames, Convert  # noqa: E402

BRIDGE = os.environ["URDF_USD_BRIDGE"]
#: Timeout of all waits in seconds, long enough for a loaded machine.
PATIENCE = 60
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
ROBOT = """<robot name="{name}"><link name="base">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>"""


class Peer:
    """Another node."""

    def __init__(self):
        rclpy.init()
        self.node = rclpy.create_node("workspace_test")

    def until(self, seen, what):
        end = time.monotonic() + PATIENCE
        while not (result := seen()):
            assert time.monotonic() < end, f"{what} did not arrive within {PATIENCE} s; nodes: {self.node.get_node_names_and_namespaces()}"
            rclpy.spin_once(self.node, timeout_sec=0.1)
        return result

    def call(self, kind, service, **request):
        client = self.node.create_client(kind, service)
        self.until(client.service_is_ready, service)
        answer = client.call_async(kind.Request(**request))
        self.until(answer.done, f"an answer of {service}")
        self.node.destroy_client(client)
        return answer.result()


@pytest.fixture(scope="module")
def peer():
    yield Peer()
    rclpy.shutdown()


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    return tmp_path_factory.mktemp("assets")


@pytest.fixture(scope="module")
def bridge(peer, output):
    arguments = ["-r", "__ns:=/left", "-p", f"output_dir:={output}", "-p", "http.port:=0", "-p", "settle_time:=0.05"]
    process = subprocess.Popen([BRIDGE, "--ros-args", *arguments])
    try:
        peer.until(lambda: process.poll() is not None or ("urdf_usd", "/left") in peer.node.get_node_names_and_namespaces(), "the node")
        assert process.poll() is None, "the node has ended"
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_description_becomes_an_asset(bridge, peer, output):
    heard = []
    peer.node.create_subscription(Asset, "/left/urdf_usd/asset", heard.append, LATCHED)
    peer.node.create_publisher(String, "/left/robot_description", LATCHED).publish(String(data=ROBOT.format(name="boxy")))
    peer.until(lambda: heard, "the asset")
    asset = heard[0]
    assert (asset.robot, asset.links, asset.revision, asset.header.frame_id) == ("boxy", 1, 1, "base")
    assert Path(asset.entry).is_file() and Path(asset.entry).is_relative_to(output)
    assert len(asset.files) == len(asset.sha256) > 3


def test_conversions_on_request(bridge, peer):
    done = peer.call(Convert, "/left/convert", urdf=ROBOT.format(name="asked"), formats=["usd"])
    assert done.success, done.message
    assert all(Path(file).is_file() for file in done.files) and '"robot"' in done.report
    refused = peer.call(Convert, "/left/convert", urdf=ROBOT.format(name="asked"), uri="/a.urdf")
    assert not refused.success and refused.message


def test_frames_on_request(bridge, peer):
    checked = peer.call(CheckFrames, "/left/urdf_usd/check_frames", robot="nobody")
    assert not checked.success and "nobody" in checked.message


def test_parameters(bridge, peer, output):
    def ask(kind, service, **request):
        return peer.call(kind, f"/left/urdf_usd/{service}", **request)

    def change(name, **value):
        parameter = Parameter(name=name, value=ParameterValue(**value))
        return ask(SetParameters, "set_parameters", parameters=[parameter]).results[0]

    names = ask(ListParameters, "list_parameters").result.names
    assert {"output_dir", "formats", "use_sim_time", "http.port"} <= {*names}
    values = ask(GetParameters, "get_parameters", names=["output_dir", "http.port"]).values
    assert (values[0].string_value, values[1].integer_value) == (str(output), 0)
    output_dir, settle_time = ask(DescribeParameters, "describe_parameters", names=["output_dir", "settle_time"]).descriptors
    assert output_dir.read_only and output_dir.description and settle_time.floating_point_range
    assert change("settle_time", type=ParameterType.PARAMETER_DOUBLE, double_value=0.1).successful
    assert change("use_sim_time", type=ParameterType.PARAMETER_BOOL, bool_value=True).successful
    for name, value, part in [
        ("settle_time", {"type": ParameterType.PARAMETER_INTEGER, "integer_value": 1}, "double"),
        ("settle_time", {"type": ParameterType.PARAMETER_DOUBLE, "double_value": -1.0}, "range"),
        ("output_dir", {"type": ParameterType.PARAMETER_STRING, "string_value": "/"}, "read-only"),
        ("nonsense", {"type": ParameterType.PARAMETER_BOOL}, "nonsense"),
    ]:
        refused = change(name, **value)
        assert not refused.successful and part in refused.reason, refused.reason


def test_wrong_arguments_are_refused():
    for arguments, part in [(["-p", "http.port:=x"], "http.port"), (["--nonsense"], "--nonsense"), (["-r", "a:=b c"], "a:=b c")]:
        ended = subprocess.run([BRIDGE, "--ros-args", *arguments], capture_output=True, text=True, timeout=PATIENCE)
        assert ended.returncode == 2 and part in ended.stderr, ended.stderr


def launch(*arguments):
    """Returns the output of `ros2 launch` with these arguments. With valid ones, it runs until it is interrupted."""
    command = ["ros2", "launch", "urdf_usd", "bridge.launch.py", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def test_launch_arguments(peer, tmp_path):
    shown = launch("--show-args").communicate(timeout=PATIENCE)[0]
    assert all(f"'{name}'" in shown for name in ("discover", "gltf.physics", "http.port", "asset_namespace", "frames.ignore")), shown
    for argument, part in [("discovr:=true", "Did you mean discover"), ("workers:=many", "integer"), ("base:=glued", "floating")]:
        refused = launch(argument)
        assert part in refused.communicate(timeout=PATIENCE)[0] and refused.returncode != 0, argument
    started = launch(
        "name:=launched", f"output_dir:={tmp_path}", "http.port:=0", "discover:=true", "gltf.physics:=true", "formats:=[glb]", "settle_time:=0.1"
    )
    try:
        names = ["discover", "gltf.physics", "formats", "settle_time", "strict"]
        values = peer.call(GetParameters, "/launched/get_parameters", names=names).values
        assert [v.bool_value for v in values[:2]] == [True, True] and values[2].string_array_value == ["glb"]
        assert values[3].double_value == 0.1 and not values[4].bool_value
    finally:
        os.killpg(started.pid, signal.SIGINT)
        started.communicate(timeout=PATIENCE)


def test_it_ends_when_interrupted(bridge, peer):
    bridge.send_signal(signal.SIGINT)
    assert bridge.wait(PATIENCE) == 0
    peer.until(lambda: ("urdf_usd", "/left") not in peer.node.get_node_names_and_namespaces(), "its leaving")
