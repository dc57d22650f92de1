"""Which description, which robot and which clock a verdict is about, and what it says, over real DDS: against a robot_state_publisher that may
run another description than the node.
"""

import contextlib
import re
import signal
import threading
import time

import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

import ros_peer  # noqa: E402
from meetings import PeerProcess  # noqa: E402
from ros_node import BODY, PATIENCE, StatePublisher, box, description, joint_state  # noqa: E402
from ros_peer import Asset, CheckFrames, ComputeFk, Convert, DiagnosticArray, JointState, StorePose, Time  # noqa: E402
from test_frames import ARM, Checker, moved  # noqa: E402

#: The arm with one more frame.
LONGER = ARM.replace("</robot>", f'<link name="tool0">{BODY}</link><joint name="tip" type="fixed"><parent link="tool"/><child link="tool0"/></joint></robot>')
TIMEOUT = {"frames.timeout": 1.0}


@pytest.fixture
def publish(domain, tmp_path):
    """Starts fake robot_state_publishers."""
    with contextlib.ExitStack() as stack:
        yield lambda text=ARM, **options: stack.enter_context(StatePublisher(domain, tmp_path, text, **options))


def statuses(checker, seconds):
    """Returns the status of the frames in each message on /diagnostics within some seconds."""
    checker.diagnostics.take()
    time.sleep(seconds)
    return [s for array in checker.diagnostics.take() for s in array.status if ": frames of " in s.name]


def calls(checker, count=40, period=0.1):
    """Calls the service many times, and returns the answers."""
    answers = []
    for _ in range(count):
        answers.append(checker.answer())
        time.sleep(period)
    return answers


@pytest.mark.parametrize("topic", [True, False], ids=["topic", "parameter"])
def test_frames_are_compared_with_the_given_file(start, peer, publish, tmp_path, topic):
    publish(ARM, topic=topic)
    file = tmp_path / "given" / "arm.urdf"
    file.parent.mkdir()
    file.write_text(LONGER)
    node = start(urdf_file=file, **TIMEOUT)
    assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
    checker = Checker(peer, node)
    checker.until({"tool0": "missing"}, level=1)
    # A parameter would be read after two seconds.
    assert not any(answer.all_ok for answer in calls(checker))
    assets.take()
    assert [(asset.revision, asset.links) for asset in assets.seen] == [(1, 7)]
    assert not any(words in node.log for words in ("was read", "both describe")), node.log


def test_a_restart_with_another_description_is_no_conflict(start, peer, publish):
    node = start()
    assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
    for revision, text in enumerate((ARM, LONGER), 1):
        rsp = publish(text, topic=False)
        assets.wait(lambda asset, revision=revision: asset.revision == revision, PATIENCE)
        rsp.close()
        node.logged('"arm" is gone')
    assert "both describe" not in node.log, node.log


def turned(frame, told):
    """Turns the arm: another pose within the reach of its joint."""
    if frame != "upper":
        return []
    told.transform.rotation = ros_peer.Quaternion(w=1.0)
    return [told]


def elsewhere(frame, told):
    return [moved(told, parent="base")] if frame == "hand" else []


@pytest.mark.parametrize(("change", "rate", "verdicts"), [
    (turned, 20, {"upper": "off"}),
    (turned, 1, {"upper": "off"}),
    (turned, 0.3, {"upper": "off"}),
    (elsewhere, 5, {"hand": "wrong_parent"}),
], ids=["fast", "slow", "rare", "parent"])  # fmt: skip
def test_no_call_passes_while_two_publishers_contradict_each_other(start, peer, publish, change, rate, verdicts):
    rsp = publish(ARM, states=True)
    node = start(**TIMEOUT)
    checker = Checker(peer, node)
    checker.until({}, level=0)
    stranger = publish(ARM, name="stranger", topic=False, change=change, rate=rate)
    both = "/robot_state_publisher and /stranger contradict each other on /tf"
    checker.until(verdicts, (both,), level=2)
    if rate < 1:
        # Its rate is known from its second message on.
        time.sleep(1 / rate + 1)
    for answer in calls(checker, 60):
        assert answer.success and not answer.all_ok and both in answer.message, answer.message
    stranger.close()
    checker.until({}, level=0)
    rsp.close()


@pytest.mark.parametrize("last", ["stranger", "robot_state_publisher"])
def test_static_publishers_contradict_each_other_and_leave(start, peer, publish, last):
    def shifted(frame, told):
        return [moved(told, x=0.1)] if frame == "tool" else []

    rsp = publish(ARM, states=True)
    node = start(**TIMEOUT)
    checker = Checker(peer, node)
    checker.until({}, level=0)
    stranger = publish(ARM, name="stranger", topic=False, change=shifted)
    both = "contradict each other on /tf_static"
    checker.until({"tool": "off"}, (both, "/robot_state_publisher", "/stranger"), level=2)
    if last == "robot_state_publisher":
        rsp.publish_static()
        time.sleep(1)
    for answer in calls(checker):
        assert not answer.all_ok and both in answer.message, answer.message
    stranger.close()
    if last == "stranger":
        # Its transform stays, as in tf2.
        checker.until({"tool": "off"}, ("/stranger (which has left",), level=2)
        assert not any(answer.all_ok for answer in calls(checker))
        rsp.publish_static()
    checker.until({}, level=0)


def test_a_static_transform_outlives_its_publisher(start, peer, publish, tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    rsp = publish(ARM, states=True)
    node = start(urdf_file=file, **TIMEOUT)
    checker = Checker(peer, node)
    checker.until({}, level=0)
    rsp.close()
    stale = {frame: "stale" for frame in ("upper", "hand", "finger")}
    checker.until(stale, ("/robot_state_publisher, which published tool, camera on /tf_static, has left",), level=1)
    publish(ARM, states=True)
    answer = checker.until({}, level=0)
    assert "has left" not in answer.message


def test_a_renamed_frame_is_one_finding(start, peer, publish, tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM.replace('"hand"', '"wrist"').replace('"tool"', '"tcp"'))
    publish(ARM, states=True)
    checker = Checker(peer, start(urdf_file=file, **TIMEOUT))
    words = ('"tcp" as "tool"', '"wrist" as "hand"', 'TF has "tool" in its place')
    answer = checker.until({"wrist": "missing", "tcp": "missing"}, words, level=1)
    assert not answer.all_ok


def stamp():
    now = time.time_ns()
    return Time(sec=now // 10**9, nanosec=now % 10**9)


@contextlib.contextmanager
def repeated(write, period=0.05):
    """Calls `write` again and again while the block runs."""
    over = threading.Event()

    def run():
        while not over.wait(period):
            write()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_state_publisher_that_ends_a_missing_joint_and_an_empty_topic_are_named(start, peer, publish, tmp_path):
    file = tmp_path / "arm.urdf"
    file.write_text(ARM)
    checker = Checker(peer, start(urdf_file=file, **TIMEOUT))
    moving = ("upper", "hand", "finger")
    checker.until({frame: "missing" for frame in ("base", *moving, "tool", "camera")}, ("no node publishes on /tf and /tf_static",))

    states = peer.publisher("/joint_states", JointState, depth=100)
    rsp = publish(ARM)
    with repeated(lambda: states.write(joint_state(rsp.robot, stamp()))):
        checker.until({}, level=0)
        rsp.close()
        ended = "joint states go on on /joint_states, but /robot_state_publisher, which published the frames that they move on /tf, has left"
        checker.until({frame: "stale" for frame in moving}, (ended,), level=1)

    # Another driver lacks a joint, so the new robot_state_publisher does not publish what it moves.
    without = lambda frame, told: [] if frame == "upper" else [told]  # noqa: E731
    rsp = publish(ARM, change=without)
    with repeated(lambda: states.write(joint_state(rsp.robot, stamp(), without={"turn"}))):
        checker.until({"upper": "stale"}, ("joint turn is missing from the messages on /joint_states",), level=1)


def test_an_empty_name_means_the_robot_that_runs(start, peer, domain):
    node = start()
    assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
    diagnostics = peer.subscription("/diagnostics", DiagnosticArray, depth=100)

    def call(name, service, /, **request):
        return peer.call(f"/urdf_usd/{name}", service, service.request(**request), PATIENCE)

    def convert(urdf):
        return peer.call("/convert", Convert, Convert.request(urdf=urdf), PATIENCE).success

    every = {"check_frames": (CheckFrames, {}), "compute_fk": (ComputeFk, {}), "store_pose": (StorePose, {"name": "here", "joint_names": ["turn"], "positions": [0.1]})}
    assert convert(box("other"))
    for name, (service, request) in every.items():
        answer = call(name, service, **request)
        assert not answer.success and "no robot is running" in answer.message and "other" in answer.message, answer.message
    description(peer, ARM)
    assets.wait(lambda asset: asset.robot == "arm", PATIENCE)
    assert convert(box("later")) and not convert("<robot name='bad'>")
    assert convert('<robot name="lost"><link name="a"><visual><geometry><mesh filename="package://nowhere/a.stl"/></geometry></visual></link></robot>')
    checked, links, stored = (call(name, service, **request) for name, (service, request) in every.items())
    assert checked.success and checked.robot == "arm", checked.message
    assert links.success and "finger" in links.links, links.message
    assert stored.success and stored.entry.endswith("/arm/arm.poses.usda"), stored.message
    # The failed calls are no fault of the node.
    diagnostics.take()
    time.sleep(1)
    found = [s for array in diagnostics.take() for s in array.status]
    assert {s.name.split()[-1] for s in found} >= {"arm", "later", "lost"} and max(s.level for s in found if "conversion of" in s.name) == 0, found
    # A call with the name of the robot does not replace it.
    assert convert(box("arm"))
    assets.wait(lambda asset: asset.robot == "arm" and asset.links == 6 and asset.revision == 3, PATIENCE)
    with ros_peer.Peer(domain) as second:
        description(second, box("leg"))
        assets.wait(lambda asset: asset.robot == "leg", PATIENCE)
        for name, (service, request) in every.items():
            answer = call(name, service, **request)
            assert not answer.success and answer.message.endswith("several robots are running: pass one of arm, leg"), answer.message
    node.logged('"leg" is gone')
    assert call("compute_fk", ComputeFk).success


def clock_still(checker, seconds):
    """Waits until /clock has stood still for this time or longer: under load one call may take more than a second."""

    def look():
        found = re.search(r"/clock has stood still for (\d+) s", checker.answer().message)
        return found and int(found[1]) >= seconds and checker.last

    try:
        return ros_peer.until(look, PATIENCE, f"/clock still for {seconds} s")
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {checker.last}\n{checker.node.log}") from None


def test_a_paused_simulation_is_not_stale(start, peer, publish):
    clock = peer.publisher("/clock", ros_peer.Clock, reliable=False, depth=1)
    rsp = publish(ARM, states=True)
    node = start("-p", "use_sim_time:=true", **TIMEOUT)
    checker = Checker(peer, node)
    at = [100.0]

    def tick():
        clock.write(ros_peer.Clock(clock=Time(sec=int(at[0]), nanosec=int(at[0] % 1 * 1e9))))
        at[0] += 0.05

    # The frames are right before the first tick too, so only the sentence shows that ticks arrive.
    waiting = "nothing was received on /clock"
    ros_peer.until(lambda: waiting in checker.answer().message, PATIENCE, "the missing clock")
    with repeated(tick):
        ros_peer.until(lambda: waiting not in checker.answer().message, PATIENCE, "the first tick")
        checker.until({}, level=0)
    # Paused: neither the clock nor the robot goes on.
    rsp.silent = True
    assert clock_still(checker, 5).all_ok
    told = statuses(checker, 1)
    assert told and all(s.level == 0 and "/clock has stood still" in s.message for s in told), told
    # It goes on, is reset, and goes on again.
    rsp.silent = False
    with repeated(tick):
        ros_peer.until(lambda: "stood still" not in checker.answer().message, PATIENCE, "the clock going on")
        checker.until({}, level=0)
        at[0] = 3.0
        for answer in calls(checker, 20):
            assert answer.all_ok and "stood still" not in answer.message, answer.message
        # A robot that stops while the simulation goes on is stale.
        rsp.silent = True
        checker.until({frame: "stale" for frame in ("upper", "hand", "finger")}, level=1)


def test_after_a_standstill_no_robot_is_gone(start, peer, domain):
    node = start()
    assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
    with PeerProcess(domain, lease=2) as other:
        other.describe("before")
        assets.wait(lambda asset: asset.robot == "before", PATIENCE)
        node.process.send_signal(signal.SIGSTOP)
        time.sleep(8)
        node.process.send_signal(signal.SIGCONT)
        node.logged("the process stood still")
        time.sleep(8)
        assert "is gone" not in node.log, node.log
        # One that leaves later is noticed.
        other.kill()
        node.logged('"before" is gone')
