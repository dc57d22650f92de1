"""Tests the verdicts of the node as built in a ROS 2 workspace, against publishers that are rcl nodes (test/ros/test_verdicts.py tests more of
them without ROS). `colcon test` runs them, on the RMW of the workspace.
"""

import contextlib
import re
import signal
import subprocess
import threading
import time

import pytest
import rclpy
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped
from rclpy.executors import SingleThreadedExecutor
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage
from workspace import BRIDGE, LATCHED, PATIENCE, peer  # noqa: F401

from urdf_usd.msg import Asset
from urdf_usd.srv import CheckFrames, ComputeFk, Convert

BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
#: Frame, parent, and height above it at rest. The last one is fixed.
FRAMES = [("upper", "base", 0.5), ("hand", "upper", 1.0), ("tool", "hand", 0.2)]
JOINTS = ["upper_joint", "hand_joint"]
#: The client of the node.
CLIENT = re.search(r"ROS client: (\w+)", subprocess.run([BRIDGE, "--version"], capture_output=True, text=True, check=True).stdout).group(1)
#: r2r passes messages without their publishers. The node has to say so at start, in these words, in place of verdicts about them.
KNOWS_PUBLISHERS = CLIENT != "r2r"
LIMIT = "verdicts neither name publishers nor see that two of them contradict each other"


def urdf(name="arm", frames=FRAMES):
    links = "".join(f'<link name="{link}">{BODY}</link>' for link in ["base", *(frame for frame, _, _ in frames)])
    joints = "".join(
        f'<joint name="{frame}_joint" type="{"fixed" if frame.startswith("t") else "revolute"}"><parent link="{parent}"/><child link="{frame}"/>'
        f'<origin xyz="0 0 {height}"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        for frame, parent, height in frames
    )
    return f'<robot name="{name}">{links}{joints}</robot>'


def stamp():
    return Time(sec=time.time_ns() // 10**9, nanosec=time.time_ns() % 10**9)


class StatePublisher:
    """A robot_state_publisher: an rcl node that publishes a description, the frames of a robot at rest, and its joint states.

    `shift` moves frames along x. The description is its parameter, and on the topic if `topic`.
    """

    def __init__(self, text=None, name="robot_state_publisher", topic=True, shift=(), states=True, rate=20):
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context)
        self.node.declare_parameter("robot_description", text or urdf())
        self.silent, self.still, self.joints, self.shift = False, False, JOINTS, dict(shift)
        self.tf = self.node.create_publisher(TFMessage, "/tf", 100)
        self.tf_static = self.node.create_publisher(TFMessage, "/tf_static", LATCHED)
        self.joint_states = self.node.create_publisher(JointState, "/joint_states", 10) if states else None
        if topic:
            self.description = self.node.create_publisher(String, "/robot_description", LATCHED)
            self.description.publish(String(data=text or urdf()))
        self.publish_static()
        self.node.create_timer(1 / rate, self.play)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.thread = threading.Thread(target=self.spin, daemon=True)
        self.thread.start()

    def spin(self):
        with contextlib.suppress(rclpy.executors.ExternalShutdownException):
            self.executor.spin()

    def frames(self, frames):
        transforms = []
        for frame, parent, height in frames:
            told = TransformStamped(child_frame_id=frame)
            told.header.frame_id, told.header.stamp = parent, stamp()
            told.transform.translation.x, told.transform.translation.z = self.shift.get(frame, 0.0), height
            transforms.append(told)
        return TFMessage(transforms=transforms)

    def publish_static(self):
        self.tf_static.publish(self.frames(FRAMES[2:]))

    def play(self):
        if not self.silent:
            self.tf.publish(self.frames([told for told in FRAMES[:2] if f"{told[0]}_joint" in self.joints]))
        if not self.still and self.joint_states:
            states = JointState(name=self.joints, position=[0.0] * len(self.joints))
            states.header.stamp = stamp()
            self.joint_states.publish(states)

    def close(self):
        if self.context.ok():
            self.executor.shutdown()
            self.node.destroy_node()
            self.context.shutdown()
            self.thread.join()


class Bridge:
    """The node, and calls of its services."""

    def __init__(self, peer, log, output, *arguments):
        self.peer, self.path, self.last = peer, log, None
        self.stderr = log.open("w")
        always = [f"output_dir:={output}", "http.port:=0", "settle_time:=0.05", "frames.timeout:=1.0"]
        parameters = [part for parameter in [*always, *arguments] for part in ("-p", parameter)]
        self.process = subprocess.Popen([BRIDGE, "--ros-args", *parameters], stderr=self.stderr)

    @property
    def log(self):
        return self.path.read_text()

    def logged(self, text):
        self.peer.until(lambda: text in self.log, text)

    def check(self):
        self.last = self.peer.call(CheckFrames, "/urdf_usd/check_frames")
        return self.last

    def until(self, verdicts, *words):
        """Waits for an answer with these verdicts, by frame, that are not ok, and with these words."""

        def seen():
            answer = self.check()
            found = {frame.frame_id: frame.verdict for frame in answer.frames if frame.verdict != "ok"}
            return answer.success and found == verdicts and answer.all_ok == (not verdicts) and all(word in answer.message for word in words)

        try:
            self.peer.until(seen, f"{verdicts} {words}")
        except AssertionError as error:
            raise AssertionError(f"{error}; the last answer: {self.last}\n{self.log}") from None
        return self.last

    def calls(self, count=40):
        return [self.check() for _ in range(count)]

    def close(self):
        # A killed node would stay in the graph, and requests would go to it.
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        self.stderr.close()


@pytest.fixture
def publish():
    with contextlib.ExitStack() as stack:

        def publish(*arguments, **options):
            publisher = StatePublisher(*arguments, **options)
            stack.callback(publisher.close)
            return publisher

        yield publish


@pytest.fixture
def start(peer, tmp_path):  # noqa: F811
    with contextlib.ExitStack() as stack:

        def start(*arguments):
            bridge = Bridge(peer, tmp_path / "log", tmp_path / "out", *arguments)
            stack.callback(bridge.close)
            return bridge

        yield start


def written(path, text):
    path.write_text(text)
    return f"urdf_file:={path}"


@pytest.mark.parametrize("topic", [True, False])
def test_frames_are_compared_with_the_given_file(publish, start, tmp_path, topic):
    publish(topic=topic)
    bridge = start(written(tmp_path / "arm.urdf", urdf(frames=[*FRAMES, ("tool0", "tool", 0.1)])))
    bridge.until({"tool0": "missing"})
    assert not any(answer.all_ok for answer in bridge.calls())
    assert not any(words in bridge.log for words in ("was read", "both describe")), bridge.log


@pytest.mark.parametrize("rate", [20, 1])
def test_two_publishers_contradict_each_other(publish, start, rate):
    rsp, bridge = publish(), start()
    bridge.until({})
    assert (LIMIT in bridge.log) != KNOWS_PUBLISHERS, bridge.log
    if not KNOWS_PUBLISHERS:
        return
    stranger = publish(name="stranger", topic=False, shift={"upper": 0.3}, states=False, rate=rate)
    both = "/robot_state_publisher and /stranger contradict each other on /tf"
    bridge.until({"upper": "off"}, both)
    time.sleep(1 / rate + 1)
    for answer in bridge.calls():
        assert not answer.all_ok and both in answer.message, answer
    stranger.close()
    bridge.until({})
    rsp.close()


def test_two_static_publishers_contradict_each_other(publish, start):
    rsp, bridge = publish(), start()
    bridge.until({})
    assert (LIMIT in bridge.log) != KNOWS_PUBLISHERS, bridge.log
    if not KNOWS_PUBLISHERS:
        return
    stranger = publish(name="stranger", topic=False, shift={"tool": 0.3}, states=False)
    bridge.until({"tool": "off"}, "/robot_state_publisher and /stranger contradict each other on /tf_static")
    assert not any(answer.all_ok for answer in bridge.calls())
    stranger.close()
    assert not any(answer.all_ok for answer in bridge.calls())
    rsp.publish_static()
    bridge.until({})


def test_causes_are_named(publish, start, tmp_path):
    bridge = start(written(tmp_path / "arm.urdf", urdf()))
    missing = {frame: "missing" for frame in ("base", "upper", "hand", "tool")}
    bridge.until(missing, "no node publishes on /tf and /tf_static")
    rsp = publish()
    bridge.until({})
    # The joint states go on.
    rsp.silent = True
    bridge.until({"upper": "stale", "hand": "stale"}, "joint states go on on /joint_states, but /robot_state_publisher", "publishes them no more")
    rsp.silent = False
    bridge.until({})
    rsp.joints = ["hand_joint"]
    bridge.until({"upper": "stale"}, "joint upper_joint is missing from the messages on /joint_states")


def test_a_renamed_frame_is_one_finding(publish, start, tmp_path):
    publish()
    renamed = [(frame.replace("tool", "tcp"), parent, height) for frame, parent, height in FRAMES]
    start(written(tmp_path / "arm.urdf", urdf(frames=renamed))).until({"tcp": "missing"}, '"tcp" as "tool"')


def test_the_robot_that_runs_is_meant(publish, start, peer):  # noqa: F811
    bridge = start()
    assert peer.call(Convert, "/convert", urdf=urdf("other")).success
    refused = bridge.check()
    assert not refused.success and "no robot is running" in refused.message and "other" in refused.message, refused
    assets = []
    subscription = peer.node.create_subscription(Asset, "/urdf_usd/asset", lambda asset: assets.append(asset.robot), LATCHED)
    publish()
    bridge.until({})
    assert not peer.call(Convert, "/convert", urdf="<robot name='bad'>").success
    assert peer.call(ComputeFk, "/urdf_usd/compute_fk").success and bridge.check().robot == "arm"
    second = publish(urdf("leg"), name="second", states=False)
    peer.until(lambda: "leg" in assets, "the second robot")
    message = peer.call(ComputeFk, "/urdf_usd/compute_fk").message
    assert message.endswith("several robots are running: pass one of arm, leg"), message
    second.close()
    peer.node.destroy_subscription(subscription)


def test_a_paused_simulation_is_not_stale(publish, start, peer):  # noqa: F811
    rsp, bridge = publish(), start("use_sim_time:=true")
    clock = peer.node.create_publisher(Clock, "/clock", 1)
    at, running = [100.0], threading.Event()

    def tick():
        if running.is_set():
            clock.publish(Clock(clock=Time(sec=int(at[0]), nanosec=int(at[0] % 1 * 1e9))))
            at[0] += 0.05

    # The frames are right before the first tick too, so only the sentence shows that ticks arrive.
    waiting = "nothing was received on /clock"
    peer.until(lambda: waiting in bridge.check().message, "the missing clock")
    running.set()
    timer = peer.node.create_timer(0.05, tick)
    peer.until(lambda: waiting not in bridge.check().message, "the first tick")
    bridge.until({})
    running.clear()
    rsp.silent = rsp.still = True
    bridge.until({}, "/clock has stood still")
    # Longer than frames.timeout.
    time.sleep(3)
    still = re.search(r"/clock has stood still for (\d+) s", bridge.check().message)
    assert bridge.last.all_ok and still and int(still[1]) >= 5, bridge.last
    assert all(answer.all_ok for answer in bridge.calls())
    rsp.silent = rsp.still = False
    running.set()
    peer.until(lambda: "stood still" not in bridge.check().message, "the clock going on")
    # It is reset.
    at[0] = 3.0
    assert all(answer.all_ok for answer in bridge.calls(20))
    rsp.silent = rsp.still = True
    bridge.until({"upper": "stale", "hand": "stale"})
    peer.node.destroy_timer(timer)
    peer.node.destroy_publisher(clock)


def test_after_a_standstill_no_robot_is_gone(publish, start):
    bridge = start()
    rsp = publish()
    bridge.until({})
    bridge.process.send_signal(signal.SIGSTOP)
    time.sleep(8)
    bridge.process.send_signal(signal.SIGCONT)
    bridge.logged("the process stood still")
    time.sleep(8)
    assert "is gone" not in bridge.log, bridge.log
    rsp.close()
    bridge.logged('"arm" is gone')
