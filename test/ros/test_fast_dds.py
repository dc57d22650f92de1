"""The node on its embedded client among real ROS 2 nodes on Fast DDS: topics in both directions, and services that are rejected with a message."""

import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

import conftest

pytest.importorskip("cyclonedds", reason="the node's tests need cyclonedds (pip install cyclonedds)")

import ros_peer  # noqa: E402
from ros_node import PATIENCE  # noqa: E402

PYTHON = Path(os.environ.get("URDF_USD_ROS_PYTHON") or conftest.ROOT / ".test-env" / "ros" / "bin" / "python")
pytestmark = pytest.mark.skipif(
    not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import rclpy"], capture_output=True).returncode != 0,
    reason="ROS 2 with Fast DDS has no wheel for this machine (test/requirements-ros.txt)",
)


class FastDds:
    """The peer in a separate process."""

    def __init__(self, domain, *arguments):
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROS_", "RMW_", "AMENT_", "CYCLONEDDS_"))}
        self.process = subprocess.Popen(
            [PYTHON, Path(conftest.ROOT) / "test" / "fast_dds_peer.py", *arguments],
            stdout=subprocess.PIPE,
            text=True,
            env=inherited | {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"},
        )
        self.heard = []
        threading.Thread(target=lambda: self.heard.extend(map(json.loads, self.process.stdout)), daemon=True).start()

    def __enter__(self):
        self.hears(lambda line: line.get("ready") == "rmw_fastrtps_cpp")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(PATIENCE)

    def hears(self, wanted):
        found = lambda: next((line for line in list(self.heard) if wanted(line)), None)  # noqa: E731
        return ros_peer.until(found, PATIENCE, f"no such line among {self.heard}")


def test_a_latched_description_of_any_length_arrives(start, domain):
    node = start()
    node.logged("listening")
    for name, size in [("early", 200), ("long", 16_000_000)]:
        with FastDds(domain, "describe", name, str(size)):
            node.logged(f'wrote revision 1 of "{name}"')


def test_a_late_node_receives_latched_messages(start, domain):
    with FastDds(domain, "describe", "before", "5000000"):
        start().logged('wrote revision 1 of "before"')


def test_a_late_peer_receives_latched_messages(start, domain, tmp_path):
    (tmp_path / "arm.urdf").write_text('<robot name="arm"><link name="base"/></robot>')
    converted = subprocess.run([conftest.program(), "convert", tmp_path / "arm.urdf", "-o", tmp_path / "assets", "--formats", "usd"], capture_output=True)
    assert converted.returncode == 0, converted.stderr
    node = start(asset_file=tmp_path / "assets" / "arm" / "arm.usda", publish_description=True)
    node.logged("wrote revision 1")
    with FastDds(domain, "listen") as peer:
        assert 'name="arm"' in peer.hears(lambda line: "text" in line)["text"]


def test_requests_are_rejected_with_a_message(start, domain):
    node = start()
    node.logged("listening")
    with FastDds(domain, "call", "/urdf_usd/get_parameters") as peer:
        status = peer.hears(lambda line: "level" in line)
        assert status["level"] == 1 and status["name"] == "urdf_usd: services" and "Fast DDS" in status["message"], status
        warned = node.logged("/fast_dds_peer calls /urdf_usd/get_parameters but gets no answer: .*rmw_cyclonedds_cpp")
        assert warned and not any("answered" in line for line in peer.heard)
    # The status disappears once the peer has left.
    with FastDds(domain, "describe", "after", "200"):
        node.logged('wrote revision 1 of "after"')


def test_calls_to_services_of_fast_dds_fail_at_once_with_the_reason(start, domain):
    with FastDds(domain, "parameter", "arm"):
        node = start(description_from="/fast_dds_peer")
        node.logged("robot_description of /fast_dds_peer could not be read .*can't exchange services with nodes on Fast DDS")
