"""Checks of an asset's frames against a running robot, over real DDS: a player of description, joint states and TF that can be wrong.

`kinematics.py`, which is independent of the program, computes the messages of a correct robot.
"""

import contextlib
import json
import math
import os
import subprocess
import threading
import time

import numpy as np
import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

import conftest  # noqa: E402
import kinematics  # noqa: E402
import ros_peer  # noqa: E402
from ros_peer import (  # noqa: E402
    CheckFrames, DiagnosticArray, Header, JointState, String, TFMessage, Time, Transform, TransformStamped, Vector3,
)  # fmt: skip
from ros_node import BODY, PATIENCE, posed  # noqa: E402

#: Seconds for which the correct robot is watched.
HONEST_SECONDS = 15 * conftest.SOAK

ARM = """<robot name="arm">
  <link name="base">{body}</link><link name="upper">{body}</link><link name="hand">{body}</link>
  <link name="finger">{body}</link><link name="tool"/><link name="camera">{body}</link>
  <joint name="turn" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/><axis xyz="0 1 1"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="upper"/><child link="hand"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="follow" type="revolute"><parent link="hand"/><child link="finger"/><origin xyz="0.1 0 0"/><axis xyz="1 0 0"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/><mimic joint="slide" multiplier="3" offset="0.2"/></joint>
  <joint name="flange" type="fixed"><parent link="hand"/><child link="tool"/><origin xyz="0.2 0 0" rpy="0 0 1"/></joint>
  <joint name="mount" type="fixed"><parent link="upper"/><child link="camera"/><origin xyz="0 0.1 0.2" rpy="0 -0.3 0"/></joint>
</robot>""".format(body=BODY)


def tree(count):
    """Returns a robot of `count` links: two of three joints move, some mimic others, some move further joints."""
    links = [f'<link name="link_{i}">{BODY}</link>' for i in range(count)]
    joints = []
    for i in range(1, count):
        kind = ("revolute", "prismatic", "fixed", "continuous", "revolute", "fixed")[i % 6]
        mimic = f'<mimic joint="joint_{i - 6}" multiplier="-0.5" offset="0.1"/>' if i % 12 == 7 else ""
        limit = '<limit lower="-2" upper="2" effort="1" velocity="5"/>' if kind in ("revolute", "prismatic") else ""
        joints.append(
            f'<joint name="joint_{i}" type="{kind}"><parent link="link_{(i - 1) // 2}"/><child link="link_{i}"/>'
            f'<origin xyz="{0.1 * (i % 5)} 0.2 -0.1" rpy="{0.1 * i} 0.2 {-0.05 * i}"/><axis xyz="{i % 3} 1 {-(i % 2)}"/>{limit}{mimic}</joint>'
        )
    return f'<robot name="tree">{"".join(links + joints)}</robot>'


class Player:
    """A robot: publishes its description, moves, and publishes joint states and TF with the same stamps, like robot_state_publisher.

    `bend(name, transform)` replaces a transform by (topic, transform) pairs, with the topic `tf` or `tf_static`.
    `bend_joints(state)` changes joint states.
    """

    #: Period of the motion, in messages.
    CYCLE = 200

    def __init__(self, peer, folder, text, rate=50, namespace="", bend=None, bend_joints=None):
        (folder / "played.urdf").write_text(text)
        self.robot = kinematics.read(folder / "played.urdf")
        self.rate, self.bend, self.bend_joints, self.silent, self.sent = rate, bend, bend_joints, False, 0
        self.description = peer.publisher("/robot_description", String, latched=True, depth=1)
        self.description.write(String(data=text))
        self.tf = peer.publisher(f"{namespace}/tf", TFMessage, depth=100)
        self.tf_static = peer.publisher(f"{namespace}/tf_static", TFMessage, latched=True, depth=1)
        self.joint_states = peer.publisher(f"{namespace}/joint_states", JointState, depth=100)
        leaders = [j for j in self.robot.joints.values() if kinematics.FREEDOM[j.kind] == 1 and not j.mimic]
        self.cycle = []
        for tick in range(self.CYCLE):
            phase = 2 * math.pi * tick / self.CYCLE
            positions = {j.name: 0.5 * math.sin(phase * (1 + i % 3) + i) for i, j in enumerate(leaders)}
            told = JointState(header=Header(), name=list(positions), position=list(positions.values()))
            self.cycle.append((told, self.transforms(self.robot.resolve(positions), moving=True)))
        self.fixed = self.transforms({}, moving=False)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.play, daemon=True)
        self.thread.start()

    def transforms(self, positions, moving):
        out = {}
        for joint in self.robot.joints.values():
            if (joint.kind != "fixed") == moving:
                out[joint.child] = posed(joint.parent, joint.child, joint.origin @ joint.motion(positions.get(joint.name, 0.0)))
        return out

    def told(self, transforms, topic):
        """Returns the published transforms, by topic."""
        told = {"tf": [], "tf_static": []}
        for name, honest in transforms.items():
            for where, what in self.bend(name, honest) if self.bend else [(topic, honest)]:
                told[topic if where is None else where].append(what)
        return told

    def play(self):
        due, said = time.monotonic(), None
        while not self.stopped.wait(max(0, due - time.monotonic())):
            due = max(due + 1 / self.rate, time.monotonic() - 0.5)
            now = time.time_ns()
            stamp = Time(sec=now // 10**9, nanosec=now % 10**9)
            state, moving = self.cycle[self.sent % self.CYCLE]
            bend = self.bend
            on_tf, fixed = self.told(moving, "tf"), self.told(self.fixed, "tf_static")
            static = fixed["tf_static"] + on_tf["tf_static"]
            if static and said != (bend,):
                self.tf_static.write(TFMessage(transforms=static))
                said = (bend,)
            if self.silent:
                continue
            state.header.stamp = stamp
            told = [t for t in on_tf["tf"] + fixed["tf"]]
            for t in told:
                t.header.stamp = stamp
            self.joint_states.write(self.bend_joints(state) if self.bend_joints else state)
            if told:
                self.tf.write(TFMessage(transforms=told))
            self.sent += 1

    def stop(self):
        self.stopped.set()
        self.thread.join()


@pytest.fixture
def play(peer, tmp_path):
    with contextlib.ExitStack() as stack:

        def play(text=ARM, **options):
            player = Player(peer, tmp_path, text, **options)
            stack.callback(player.stop)
            return player

        yield play


@pytest.fixture
def node(request, start):
    """Starts the node with a shorter stale time than by default, or a `long` one for tests that tolerate a loaded machine."""
    return start(**{} if request.node.get_closest_marker("long") else {"frames.timeout": 1.0})


class Checker:
    """Calls ~/check_frames and listens to /diagnostics."""

    def __init__(self, peer, node):
        self.node = node
        self.client = peer.client("/urdf_usd/check_frames", CheckFrames).matched(PATIENCE)
        self.diagnostics = peer.subscription("/diagnostics", DiagnosticArray, depth=100)
        self.last = None

    def answer(self):
        self.last = self.client.call(CheckFrames.request(), PATIENCE)
        return self.last

    def faults(self):
        answer = self.answer()
        return {f.frame_id: f.verdict for f in answer.frames if f.verdict != "ok"} if answer.success else None

    def until(self, faults, words=(), level=None):
        """Waits until exactly these frames have these verdicts, all words appear, and /diagnostics agrees."""

        def look():
            found = self.faults()
            said = (self.last.message + " ".join(f.detail for f in self.last.frames)) if self.last else ""
            return found == faults and all(word in said for word in words) and self.last

        try:
            answer = ros_peer.until(look, PATIENCE, f"{faults} {words}")
        except TimeoutError as error:
            found = self.last and [(f.frame_id, f.verdict, f.detail) for f in self.last.frames if f.verdict != "ok"]
            raise TimeoutError(f"{error}: {self.last and self.last.message} {found}\n{self.node.log}") from None
        if level is not None:
            self.diagnostics.take()
            self.diagnostics.wait(
                lambda array: any(
                    ": frames of " in s.name and s.level == level and all(word in s.message + str(s.values) for word in words)
                    for s in array.status
                ),
                PATIENCE,
            )
        return answer


def moved(pose, x=0.0, parent=None, prefix=""):
    """Returns a changed copy of a transform."""
    t, header = pose.transform.translation, pose.header
    return TransformStamped(
        header=Header(stamp=header.stamp, frame_id=prefix + (parent or header.frame_id)),
        child_frame_id=prefix + pose.child_frame_id,
        transform=Transform(translation=Vector3(x=t.x + x, y=t.y, z=t.z), rotation=pose.transform.rotation),
    )


def only(frame, *told):
    """Returns a function that bends a single frame."""
    return lambda name, honest: [(where, change(honest)) for where, change in told] if name == frame else [(None, honest)]


def test_every_verdict_is_provoked_and_healed(peer, play, node):
    player = play()
    checker = Checker(peer, node)
    answer = checker.until({}, level=0)
    assert answer.all_ok and {f.frame_id for f in answer.frames} == {"base", "upper", "hand", "finger", "tool", "camera"}
    # Frames are compared with its joint states.
    ros_peer.until(
        lambda: all("by the joint state of the same stamp" in f.detail for f in checker.answer().frames if f.frame_id in ("upper", "hand", "finger")),
        PATIENCE,
        "frames compared with joint states",
    )

    def provoke(bend, faults, *words, level=2):
        player.bend = bend
        found = checker.until(faults, words, level)
        player.bend = None
        checker.until({}, level=0)
        return {f.frame_id: f for f in found.frames}

    found = provoke(only("tool", (None, lambda t: moved(t, x=0.02))), {"tool": "off"}, "0.0200 m")
    assert math.isclose(found["tool"].position_error, 0.02, abs_tol=1e-6) and found["tool"].angle_error < 1e-6
    found = provoke(only("camera", (None, lambda t: moved(t, parent="base"))), {"camera": "wrong_parent"}, '"base"', '"upper"')
    assert (found["camera"].expected_parent, found["camera"].actual_parent) == ("upper", "base")
    found = provoke(only("tool", ("tf", moved)), {"tool": "wrong_topic"}, "/tf_static")
    assert found["tool"].expected_topic == "/tf_static"
    # Off the axis of its joint, with correct joint states.
    provoke(only("upper", (None, lambda t: moved(t, x=0.01))), {"upper": "off"}, '"turn"')
    # In the range of its joint, but not at its joint state.
    straight = lambda t: TransformStamped(  # noqa: E731
        header=t.header,
        child_frame_id=t.child_frame_id,
        transform=Transform(translation=Vector3(x=0.0, y=0.0, z=t.transform.translation.z + 0.05), rotation=t.transform.rotation),
    )
    found = provoke(only("hand", (None, straight)), {"hand": "off"}, "disagree", '"slide"')
    assert math.isclose(found["hand"].position_error, 0.05, abs_tol=2e-3)

    # Wrong joint states of a joint that drives another.
    def lie(state):
        names = list(state.name)
        positions = [p + 0.2 * (n == "slide") for n, p in zip(names, state.position, strict=True)]
        return JointState(header=state.header, name=names, position=positions)

    player.bend_joints = lie
    checker.until({"hand": "off", "finger": "off"}, ("disagree", '"slide"', '"follow"'), level=2)
    player.bend_joints = None
    checker.until({}, level=0)

    # Frames get other names: known ones become stale, static ones remain.
    prefixed = lambda name, honest: [("tf" if name in ("upper", "hand", "finger") else "tf_static", moved(honest, prefix="r1/"))]  # noqa: E731
    player.bend = prefixed
    checker.until({frame: "stale" for frame in ("upper", "hand", "finger")}, level=1)
    player.bend = None
    checker.until({}, level=0)

    # Extra frames are not failures.
    extra = peer.publisher("/tf", TFMessage, depth=10).matched(PATIENCE)

    def with_extra():
        now = time.time_ns()
        tag = posed("tool", "tag_7", np.eye(4))
        tag.header.stamp = Time(sec=now // 10**9, nanosec=now % 10**9)
        extra.write(TFMessage(transforms=[tag]))
        return checker.faults() == {"tag_7": "extra"} and checker.last

    answer = ros_peer.until(with_extra, PATIENCE, "the verdict extra")
    assert answer.all_ok
    checker.until({}, level=0)

    # The robot stops moving.
    player.silent = True
    found = checker.until({frame: "stale" for frame in ("upper", "hand", "finger")}, ("/joint_states",), level=1)
    assert "timeout is 1 s" in {f.frame_id: f for f in found.frames}["upper"].detail
    player.silent = False
    checker.until({}, level=0)


def test_a_prefix_and_a_second_publisher_are_reported(peer, play, node, tmp_path):
    player = play(bend=lambda name, honest: [(None, moved(honest, prefix="r1/"))])
    checker = Checker(peer, node)

    def is_told():
        # Some frames are judged before "upper" has moved.
        found = {f.frame_id: (f.verdict, f.detail) for f in checker.last.frames} if checker.faults() else {}
        return found.get("upper") == ("missing", 'TF has it as "r1/upper"') and "r1/" in checker.last.message

    ros_peer.until(is_told, PATIENCE, "the prefix")
    assert "frame_prefix" in checker.last.message
    player.bend = None
    checker.until({}, level=0)
    shifted = lambda name, honest: [(None, moved(honest, x=0.3))] if name == "hand" else []  # noqa: E731
    second = Player(peer, tmp_path, ARM, rate=37, bend=shifted, bend_joints=lambda state: JointState(header=state.header))
    try:
        answer = checker.until({"hand": "off"}, ("contradict each other on /tf", "hand"), level=2)
        assert not answer.all_ok
    finally:
        second.stop()
    checker.until({}, level=0)


def check_live(asset, domain, *arguments):
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("ROS_", "RMW_", "AMENT_"))}
    environment = inherited | {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    command = [str(conftest.program()), "check", str(asset), "--live", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=PATIENCE)


@pytest.fixture
def arm(tmp_path):
    """Returns the asset of the arm, with the namespace `arm`."""
    (tmp_path / "arm.urdf").write_text(ARM)
    result = conftest.run("convert", tmp_path / "arm.urdf", "-o", tmp_path / "assets")
    assert result.returncode == 0, result.stderr
    return tmp_path / "assets" / "arm"


def test_the_command_line_agrees(peer, play, arm, domain):
    player = play()
    result = check_live(arm, domain, "--timeout", "40")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "6 of 6 frames match the asset" in result.stdout and "/tf_static" in result.stdout
    player.bend = only("tool", (None, lambda t: moved(t, x=0.02)))
    result = check_live(arm / "arm.usda", domain, "--timeout", "40", "--format", "json")
    assert result.returncode == 1, result.stdout + result.stderr
    told = json.loads(result.stdout)
    assert not told["ok"] and {f["frame_id"]: f["verdict"] for f in told["frames"] if f["verdict"] != "ok"} == {"tool": "off"}
    assert told["topics"]["tf"] == "/tf"
    result = check_live(arm, domain, "--timeout", "40", "--format", "sarif", "--ignore", "to*l")
    assert result.returncode == 0 and json.loads(result.stdout)["runs"][0]["results"] == [], result.stderr
    result = check_live(arm, domain, "--timeout", "40", "--position-tolerance", "0.05", "--ros-args", "-r", "__node:=other")
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_command_line_listens_in_the_namespace_of_the_asset_and_finds_others(peer, play, arm, domain):
    player = play(namespace="/arm")
    result = check_live(arm, domain, "--timeout", "40")
    assert result.returncode == 0 and "/arm/tf" in result.stdout, result.stdout + result.stderr
    player.stop()
    play(namespace="/elsewhere")
    result = check_live(arm, domain, "--timeout", "15")
    assert result.returncode == 1 and "/elsewhere/tf" in result.stdout, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--timeout=-1"], 2, "timeout"),
        (["--ros-args", "--nonsense"], 2, "nonsense"),
        (["--timeout", "0.5"], 1, "missing"),
    ],
)
def test_the_command_line_reports_faults(arm, domain, arguments, code, words):
    result = check_live(arm, domain, *arguments)
    assert result.returncode == code and words in result.stdout + result.stderr, result.stdout + result.stderr


@pytest.mark.long
def test_a_correct_robot_of_100_frames_at_100_hz_gets_no_false_verdict(peer, play, node):
    player = play(tree(100), rate=100)
    checker = Checker(peer, node)
    checker.until({}, level=0)
    start, sent, compared, looks = time.monotonic(), player.sent, 0, 0
    while time.monotonic() - start < HONEST_SECONDS:
        answer = checker.answer()
        bad = [(f.frame_id, f.verdict, f.detail) for f in answer.frames if f.verdict != "ok"]
        assert not bad, bad
        assert answer.all_ok and len(answer.frames) == 100
        looks += 1
        compared += sum("by the joint state of the same stamp" in f.detail for f in answer.frames)
        for array in checker.diagnostics.take():
            for status in array.status:
                assert ": frames of " not in status.name or status.level == 0, status.message
        time.sleep(0.05)
    rate = (player.sent - sent) / (time.monotonic() - start)
    moving = sum(joint.kind != "fixed" for joint in player.robot.joints.values())
    print(f"{rate:.0f} messages a second, {looks} looks, {compared} of {looks * moving} frames compared with joint states")
    assert compared > 0.9 * looks * moving
