"""The node over real DDS: with CycloneDDS as a peer on the loopback interface, like a node under rmw_cyclonedds_cpp.

Each test has a separate domain and waits for conditions, never for a fixed time.
"""

import contextlib
import hashlib
import json
import math
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

import conftest  # noqa: E402
import ros_peer  # noqa: E402
from hills import hills  # noqa: E402
from meetings import PeerProcess  # noqa: E402
from ros_peer import (  # noqa: E402
    Asset, CheckFrames, Convert, DescribeParameters, DiagnosticArray, GetParameters, ListParameters, Peer,
    SetParameters, String, TFMessage,
)  # fmt: skip
from ros_node import ARM, PATIENCE, box, chain, description, free_port, transform  # noqa: E402



@pytest.fixture
def assets(peer):
    return peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)


@pytest.fixture
def diagnostics(peer):
    return peer.subscription("/diagnostics", DiagnosticArray, depth=100)




def asset(assets, robot, revision=None):
    """Waits for a revision of a robot (any without a number)."""
    wanted = lambda a: a.robot == robot and revision in (None, a.revision)  # noqa: E731
    return assets.wait(wanted, PATIENCE)


def status(diagnostics, wanted):
    """Waits for a status for which `wanted` is true, and returns it."""
    found = []

    def look(array):
        found[:] = [s for s in array.status if wanted(s)]
        return found

    diagnostics.wait(look, PATIENCE)
    return found[0]


def values(status):
    return {pair.key: pair.value for pair in status.values}


def convert(peer, **request):
    return peer.call("/convert", Convert, Convert.request(**request), PATIENCE)


def verified(message):
    """Asserts that the files of an asset match its message, and returns its directory."""
    directory = Path(message.directory)
    assert message.files, message
    for path, sha256 in zip(message.files, message.sha256, strict=True):
        assert hashlib.sha256((directory / path).read_bytes()).hexdigest() == sha256, path
    report = json.loads((directory / "report.json").read_bytes())
    assert (report["robot"], report["revision"]) == (message.robot, message.revision)
    assert json.loads(message.report)["revision"] == message.revision
    return directory


# ------------------------------------------------------------------------------------------------------------ descriptions


def test_description_published_before_the_node_starts(start, peer, assets, tmp_path):
    text = (ARM / "urdf" / "sample_arm.urdf").read_text()
    description(peer, text)
    start(packages=[f"sample_arm={ARM}"])
    message = asset(assets, "sample_arm")
    directory = verified(message)
    assert directory == tmp_path / "out" / "sample_arm"
    assert Path(message.entry) == directory / "sample_arm.usda" and Path(message.glb) == directory / "sample_arm.glb"
    assert (message.revision, message.errors) == (1, 0)
    report = json.loads(message.report)
    counted = (message.links, message.joints, message.meshes, message.triangles, message.materials)
    assert counted == tuple(report["counts"][k] for k in ("links", "joints", "meshes", "triangles", "materials"))
    assert message.links == text.count("<link name=") and message.meshes > 0
    assert message.ros_namespace == "sample_arm"
    root = set(re.findall(r'<link name="([^"]+)"', text)) - set(re.findall(r'<child link="([^"]+)"', text))
    assert {message.header.frame_id} == root and message.header.stamp.sec > 1_600_000_000


def test_description_published_after_the_node_started(start, peer, assets):
    node = start()
    node.logged("listening to /robot_description")
    description(peer).matched(PATIENCE).write(String(data=box("late")))
    verified(asset(assets, "late"))


def test_the_newest_of_many_descriptions_wins(start, peer, assets):
    """Descriptions that arrive during a conversion are queued, and only the newest is converted."""
    start()
    publisher = description(peer).matched(PATIENCE)
    for size in range(1, 61):
        publisher.write(String(data=box("burst", size)))
    final = box("burst", 61)
    publisher.write(String(data=final))
    digest = hashlib.sha256(final.encode()).hexdigest()
    message = assets.wait(lambda a: json.loads(a.report)["source"]["sha256"] == digest, PATIENCE)
    # With a settle time of 50 ms, there are far fewer revisions than descriptions, even on a slow network.
    assert message.revision <= 10
    verified(message)


def test_a_description_replaced_while_a_conversion_runs(start, peer, assets, tmp_path):
    """The replacement arrives during the conversion of a large robot."""
    links = "".join(f'<link name="l{i}"><visual><geometry><sphere radius="1"/></geometry></visual></link>' for i in range(600))
    joints = "".join(f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>' for i in range(599))
    big = f'<robot name="swap">{links}{joints}</robot>'
    node = start("--log-level", "debug", settle_time=0.0)
    publisher = description(peer).matched(PATIENCE)
    publisher.write(String(data=big))
    node.logged("heard a description of .swap.")
    publisher.write(String(data=box("swap", 2)))
    publisher.write(String(data=box("swap", 3)))
    digest = hashlib.sha256(box("swap", 3).encode()).hexdigest()
    message = assets.wait(lambda a: json.loads(a.report)["source"]["sha256"] == digest, PATIENCE)
    assert message.revision in (1, 2, 3) and message.links == 1
    assert verified(message) == tmp_path / "out" / "swap"
    # No further revision: a call is answered after all earlier messages are processed.
    answer = convert(peer)
    assert answer.success and json.loads(answer.report)["revision"] == message.revision


def test_an_equal_description_is_not_a_revision(start, peer, assets):
    node = start("--log-level", "debug")
    publisher = description(peer, box("same")).matched(PATIENCE)
    asset(assets, "same", 1)
    publisher.write(String(data=box("same")))
    node.logged("neither the description nor a file changed")
    publisher.write(String(data=box("same", 2)))
    asset(assets, "same", 2)
    assert [a.revision for a in assets.seen] == [1, 2]


def test_a_description_of_5_mebibytes(start, peer, assets):
    padding = "<!-- " + "x" * 5 * 2**20 + " -->"
    start()
    description(peer, box("large").replace("</robot>", padding + "</robot>"))
    verified(asset(assets, "large"))


def test_a_too_large_description_is_rejected_by_name(start, peer, diagnostics, assets):
    start(max_description_bytes=100_000)
    publisher = description(peer).matched(PATIENCE)
    publisher.write(String(data=box("huge").replace("</robot>", "<!--" + "x" * 200_000 + "--></robot>")))
    found = status(diagnostics, lambda s: s.level == 2)
    assert "huge" in found.name and "100000" in found.message and "max_description_bytes" in found.message
    publisher.write(String(data=box("huge")))
    asset(assets, "huge", 1)
    status(diagnostics, lambda s: s.level == 0 and "conversion of huge" in s.name)


def test_two_robots_on_one_topic_each_have_their_asset(start, peer, domain):
    start()
    description(peer, box("left"))
    with Peer(domain) as other:
        description(other, box("right"))
        early = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
        asset(early, "left")
        if "right" not in {a.robot for a in early.seen}:
            asset(early, "right")
    # A late subscriber receives the last revision of each.
    late = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=10)
    ros_peer.until(lambda: late.take() or {a.robot for a in late.seen} == {"left", "right"}, PATIENCE, "both robots")


def test_a_bad_description_keeps_the_last_good_asset(start, peer, assets, diagnostics):
    node = start()
    publisher = description(peer, box("arm")).matched(PATIENCE)
    first = asset(assets, "arm", 1)
    publisher.write(String(data='<robot name="arm">\n  <link name="base">\n</robot>'))
    found = status(diagnostics, lambda s: s.level == 2)
    assert found.name == "urdf_usd: conversion of arm" and found.hardware_id == "arm"
    place = re.search(r"<text>:(\d+):(\d+): error\[", found.message)
    assert place and place.group(1) in ("2", "3"), found.message
    assert "revision 1 is kept" in found.message and values(found)["revision"] == "1"
    node.logged(r"\[ERROR\].*<text>:\d+:\d+: error\[")
    verified(first)
    publisher.write(String(data=box("arm", 2)))
    verified(asset(assets, "arm", 2))
    status(diagnostics, lambda s: s.level == 0 and s.name == "urdf_usd: conversion of arm")


def test_invalid_descriptions_do_not_harm_the_node(start, peer, assets):
    node = start()
    publisher = description(peer).matched(PATIENCE)
    for text in ["", "no robot", "<robot", "<robot name='x'/>", "<sdf/>", "\0", "<robot name='../../evil'><link name='a'/></robot>"]:
        publisher.write(String(data=text))
        convert(peer, urdf=text or " ")
    publisher.write(String(data=box("good")))
    verified(asset(assets, "good"))
    assert node.process.poll() is None
    assert {p.name for p in node.output.parent.iterdir()} <= {"out", "log0.txt", "log0.out", "logs"}


# ------------------------------------------------------------------------------------------------------------------- files


@pytest.fixture
def arm(tmp_path):
    """Copies the package of the sample arm, so that a test may change it."""
    folder = tmp_path / "sample_arm"
    shutil.copytree(ARM, folder)
    return folder


def replace(path, content):
    """Replaces a file like an editor: writes a new file beside it and renames it."""
    other = path.with_name(path.name + "~")
    other.write_bytes(content)
    other.rename(path)


def test_changed_files_lead_to_revisions(start, peer, assets, arm):
    start(packages=[f"sample_arm={arm}"])
    description(peer, (arm / "urdf" / "sample_arm.urdf").read_text())
    first = verified(asset(assets, "sample_arm", 1))
    usdc = (first / "geometries.usdc").read_bytes()
    # A mesh is replaced, removed and restored; a texture is written in place.
    mesh = arm / "meshes" / "wrist.stl"
    content = mesh.read_bytes()
    replace(mesh, (arm / "meshes" / "elbow.stl").read_bytes())
    directory = verified(asset(assets, "sample_arm", 2))
    assert (directory / "geometries.usdc").read_bytes() != usdc
    mesh.unlink()
    missing = asset(assets, "sample_arm", 3)
    assert missing.errors == 1 and "wrist.stl" in missing.report
    mesh.write_bytes(content)
    back = asset(assets, "sample_arm", 4)
    assert back.errors == 0 and (verified(back) / "geometries.usdc").read_bytes() == usdc
    texture = arm / "textures" / "pedestal_band.png"
    texture.write_bytes((conftest.SAMPLES / "sample_rover" / "textures" / "deck.png").read_bytes())
    verified(asset(assets, "sample_arm", 5))


def test_a_urdf_file_is_watched_and_own_outputs_are_not(start, peer, assets, arm):
    """The output directory is in the watched folder: files written there must not start a conversion."""
    node = start("--log-level", "debug", output=arm / "urdf", packages=[f"sample_arm={arm}"])
    urdf = arm / "urdf" / "sample_arm.urdf"
    answer = convert(peer, uri="package://sample_arm/urdf/sample_arm.urdf")
    assert answer.success, answer.message
    first = asset(assets, "sample_arm", 1)
    # The file is read again when watching starts, and when it is touched; without a change nothing is written.
    looks = lambda: len(re.findall("neither the description nor a file changed|already current", node.log))  # noqa: E731
    ros_peer.until(lambda: looks() >= 1, PATIENCE, "a read of the watched file")
    written, before = stamps(first.directory), looks()
    os.utime(urdf)
    ros_peer.until(lambda: looks() > before, PATIENCE, "a read of the touched file")
    assert stamps(first.directory) == written and [a.revision for a in assets.seen] == [1]
    replace(urdf, urdf.read_bytes().replace(b'<robot name="sample_arm">', b'<robot name="sample_arm"><link name="extra"/>', 1))
    changed = asset(assets, "sample_arm", 2)
    assert changed.links == asset_links(changed, 1, assets) + 1
    assert convert(peer, uri=f"file://{urdf}").success
    assert [a.revision for a in assets.seen] == [1, 2]


def stamps(directory):
    """Returns modification times and inodes of the files of an asset."""
    files = [path for path in Path(directory).rglob("*") if path.is_file()]
    return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in files}


def asset_links(_, revision, assets):
    return next(a.links for a in assets.seen if a.revision == revision)


# ---------------------------------------------------------------------------------------------------------------- service


def test_a_call_may_have_an_xrdf(start, peer, assets, arm, tmp_path):
    """As text, or as the name of a file in the permitted roots."""
    start(packages=[f"sample_arm={arm}"], restrict_calls=True)
    ask = {"uri": "package://sample_arm/urdf/sample_arm.urdf", "formats": ["usd"]}
    files = lambda answer: {Path(f).name for f in answer.files}  # noqa: E731
    plain = convert(peer, **ask)
    assert plain.success and "planning.usda" not in files(plain), plain.message
    text = (arm / "xrdf" / "sample_arm.xrdf").read_text()
    planned = [convert(peer, **ask, xrdf=xrdf, output_dir=folder) for folder, xrdf in (("a", text), ("b", "package://sample_arm/xrdf/sample_arm.xrdf"))]
    assert all(answer.success and "planning.usda" in files(answer) for answer in planned), [answer.message for answer in planned]
    layers = [(tmp_path / "out" / folder / "sample_arm" / "planning.usda").read_bytes() for folder in "ab"]
    assert layers[0] == layers[1] and b"shoulder_pan_joint" in layers[0]
    wrong = convert(peer, **ask, xrdf=text.replace('"elbow_joint": -0.25', '"elbow": -0.25'), output_dir="c")
    [finding] = [d for d in json.loads(wrong.report)["diagnostics"] if d["code"].startswith("xrdf")]
    assert (finding["code"], finding["where"]["file"], finding["where"]["line"]) == ("xrdf-unknown-joint", "<xrdf>", 8)
    (tmp_path / "outside.xrdf").write_text(text)
    for xrdf in ("package://nope/a.xrdf", str(tmp_path / "outside.xrdf")):
        refused = convert(peer, **ask, xrdf=xrdf, output_dir="d")
        assert not refused.success and "the XRDF: " in refused.message, refused.message


def test_convert_in_all_its_forms(start, peer, assets, arm, tmp_path):
    start(packages=[f"sample_arm={arm}"], allowed_roots=[str(tmp_path / "robots")], restrict_calls=True)
    empty = convert(peer)
    assert not empty.success and "/robot_description" in empty.message and not empty.files
    text = convert(peer, urdf=box("text"))
    assert text.success and "revision 1" in text.message, text.message
    assert {Path(f).name for f in text.files} >= {"text.usda", "text.glb"}
    assert all(Path(f).is_absolute() and Path(f).is_file() for f in text.files)
    assert json.loads(text.report)["robot"] == "text"
    uri = convert(peer, uri="package://sample_arm/urdf/sample_arm.urdf", formats=["glb"], output_dir="sub")
    assert uri.success, uri.message
    assert [Path(f) for f in uri.files] == [tmp_path / "out" / "sub" / "sample_arm" / "sample_arm.glb"]
    (tmp_path / "robots").mkdir()
    (tmp_path / "robots" / "path.urdf").write_text(box("path"))
    (tmp_path / "outside.urdf").write_text(box("outside"))
    for form in (str(tmp_path / "robots" / "path.urdf"), f"file://{tmp_path}/robots/path.urdf"):
        assert convert(peer, uri=form).success
    description(peer, box("heard"))
    asset(assets, "heard")
    heard = convert(peer)
    assert heard.success and "already current: revision 1" in heard.message and json.loads(heard.report)["robot"] == "heard"
    for request, words in [
        ({"urdf": "a", "uri": "b"}, ["urdf", "uri"]),
        ({"urdf": '<robot name="x">\n <link/>\n</robt>'}, ["<text>:3:"]),
        ({"uri": "package://nope/x.urdf"}, ["nope"]),
        ({"uri": str(tmp_path / "outside.urdf")}, ["outside.urdf", "allowed_roots"]),
        ({"uri": str(tmp_path / "robots" / "none.urdf")}, ["none.urdf"]),
        ({"urdf": box("x"), "formats": ["stl"]}, ["stl"]),
        ({"urdf": box("x"), "output_dir": "/tmp"}, ["/tmp", str(tmp_path / "out")]),
        ({"urdf": box("x"), "output_dir": "../x"}, ["../x"]),
        ({"urdf": box("x"), "output_dir": "text"}, ["text"]),
    ]:
        refused = convert(peer, **request)
        assert not refused.success and not refused.files and not refused.report, request
        for word in words:
            assert word in refused.message, (request, refused.message)


def test_many_calls_at_once_are_all_answered(start, peer):
    start()
    client = peer.client("/convert", Convert).matched(PATIENCE)
    numbers = [client.send(Convert.request(urdf=box(f"robot{n % 5}", n + 1))) for n in range(20)]
    answers = [client.answer(number, PATIENCE) for number in numbers]
    assert all(answer.success for answer in answers)
    # The asset of each robot is that of the last call.
    for n in range(15, 20):
        directory = Path(answers[n].files[0]).parent
        report = json.loads((directory / "report.json").read_bytes())
        assert report["source"]["sha256"] == hashlib.sha256(box(f"robot{n % 5}", n + 1).encode()).hexdigest()


# ----------------------------------------------------------------------------------------------------------------- frames


def test_check_frames(start, peer, assets, diagnostics, domain):
    node = start()
    check = lambda **request: peer.call("/urdf_usd/check_frames", CheckFrames, CheckFrames.request(**request), PATIENCE)  # noqa: E731
    nothing = check()
    assert not nothing.success and "/robot_description" in nothing.message
    description(peer, chain())
    asset(assets, "chain")
    missing = check()
    assert missing.success and not missing.all_ok and {f.verdict for f in missing.frames} == {"missing"}
    assert "/joint_states" in missing.message
    status(diagnostics, lambda s: s.level == 3 and s.name == "urdf_usd: frames of chain")

    fixed = peer.publisher("/tf_static", TFMessage, latched=True, depth=1).matched(PATIENCE)
    moving = peer.publisher("/tf", TFMessage, depth=100).matched(PATIENCE)

    def verdicts(**expected):
        """Moves the arm until it has these verdicts."""

        def look():
            moving.write(TFMessage(transforms=tf))
            answer = check()
            assert answer.success, answer.message
            found = {f.frame_id: f for f in answer.frames}
            return {k: f.verdict for k, f in found.items()} == expected and (answer, found)

        return ros_peer.until(look, PATIENCE, f"verdicts {expected}; log:\n{node.log}")

    tf = [transform("base", "arm", z=1.0, yaw=0.3)]
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.5)]))
    answer, found = verdicts(base="ok", arm="ok", tool="ok")
    assert answer.all_ok and answer.robot == "chain" and answer.revision == 1
    assert (found["tool"].expected_parent, found["tool"].expected_topic) == ("arm", "/tf_static")
    assert (found["arm"].expected_parent, found["arm"].actual_topic) == ("base", "/tf")
    # Without joint states, the arm only has to be in the range of its joint.
    assert found["tool"].position_error < 1e-6 and found["arm"].position_error < 1e-6 and math.isnan(found["base"].position_error)
    status(diagnostics, lambda s: s.level == 0 and s.name == "urdf_usd: frames of chain")
    assert [f.frame_id for f in check(robot="chain", frames=["tool"]).frames] == ["tool"]
    assert not check(robot="other").success

    # A tool that is 2 cm off; then with another parent; then also on the wrong topic.
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.52)]))
    _, found = verdicts(base="ok", arm="ok", tool="off")
    assert math.isclose(found["tool"].position_error, 0.02, abs_tol=1e-6) and found["tool"].angle_error < 1e-3
    status(diagnostics, lambda s: s.level == 2 and s.name == "urdf_usd: frames of chain" and "tool" in s.message)
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.5, yaw=0.1)]))
    _, found = verdicts(base="ok", arm="ok", tool="off")
    ros_peer.until(lambda: math.isclose(verdicts(base="ok", arm="ok", tool="off")[1]["tool"].angle_error, 0.1, abs_tol=1e-6), PATIENCE, "angle")
    fixed.write(TFMessage(transforms=[transform("base", "tool", x=0.5)]))
    _, found = verdicts(base="ok", arm="ok", tool="wrong_parent")
    assert (found["tool"].actual_parent, found["tool"].expected_parent) == ("base", "arm")
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.5)]))
    tf.append(transform("arm", "tool", x=0.5))
    _, found = verdicts(base="ok", arm="ok", tool="wrong_topic")
    assert "/tf" in found["tool"].detail


def test_a_moving_frame_without_updates_is_stale(start, peer, assets):
    start(**{"frames.timeout": 0.3})
    description(peer, chain())
    asset(assets, "chain")
    moving = peer.publisher("/tf", TFMessage, depth=100).matched(PATIENCE)
    client = peer.client("/urdf_usd/check_frames", CheckFrames).matched(PATIENCE)
    verdict = lambda: client.call(CheckFrames.request(frames=["arm"])).frames[0].verdict  # noqa: E731

    def moves():
        moving.write(TFMessage(transforms=[transform("base", "arm", z=1.0)]))
        return verdict() == "ok"

    ros_peer.until(moves, PATIENCE, "the verdict ok")
    ros_peer.until(lambda: verdict() == "stale", PATIENCE, "the verdict stale")


# --------------------------------------------------------------------------------------------------------- start and shutdown


def test_vanishing_peers_do_not_harm_the_node(start, assets, peer, domain):
    """Another process publishes a description, calls the service and is killed during the call."""
    node = start()
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from ros_peer import *\n"
        f"peer = Peer({domain})\n"
        "text = sys.stdin.read()\n"
        "peer.publisher('/robot_description', String, latched=True, depth=1).matched(60).write(String(data=text))\n"
        "client = peer.client('/convert', Convert).matched(60)\n"
        "client.send(Convert.request(urdf=text)); print('called', flush=True)\n"
        "import time; time.sleep(600)\n"
    )
    for _ in range(2):
        other = subprocess.Popen(
            [sys.executable, "-c", script, str(Path(__file__).resolve().parents[1])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        with contextlib.suppress(BrokenPipeError):
            other.stdin.write(box("doomed"))
            other.stdin.close()
        assert other.stdout.readline() == "called\n"
        other.kill()
        other.wait(PATIENCE)
    asset(assets, "doomed")
    assert convert(peer, urdf=box("survivor")).success
    description(peer, box("heir"))
    asset(assets, "heir")
    assert node.process.poll() is None


def test_memory_of_a_conversion_is_returned_to_the_system(start, peer, assets, tmp_path):
    node = start(allowed_roots=[str(tmp_path)])
    node.logged("listening to /robot_description")

    def memory():
        """Returns current and peak memory of the node and its workers in megabytes, without mapped files."""
        now, most = 0, 0
        for pid in [node.process.pid, *node.workers()]:
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            has = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.endswith("kB")}
            now += has["RssAnon"]
            most += has["VmHWM"] - has["RssFile"]
        return now, most

    before, _ = memory()
    hills(tmp_path / "hills.stl", 200)
    mesh = f'<visual><geometry><mesh filename="file://{tmp_path}/hills.stl"/></geometry></visual>'
    description(peer, f'<robot name="large"><link name="base">{mesh}</link></robot>')
    asset(assets, "large")
    _, most = memory()
    assert most > before + 20
    enough = lambda: memory()[0] < most - (most - before) / 4  # noqa: E731
    ros_peer.until(enough, PATIENCE, f"memory to go back: {before:.1f} MB, {most:.1f} MB")


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("busy", [False, True], ids=["idle", "busy"])
def test_signals_end_it_cleanly(start, peer, signal_number, busy, tmp_path):
    node = start("--log-level", "debug", allowed_roots=[str(tmp_path)])
    node.logged("listening to /robot_description")
    if busy:
        # A mesh that takes seconds to simplify.
        hills(tmp_path / "hills.stl", 600)
        mesh = f'<visual><geometry><mesh filename="file://{tmp_path}/hills.stl"/></geometry></visual>'
        description(peer, f'<robot name="long"><link name="base">{mesh}</link></robot>').matched(PATIENCE)
        node.logged("heard a description")
    began = time.monotonic()
    assert node.end(signal_number) == 0
    assert time.monotonic() - began < 20
    if busy:
        assert "revision" not in node.log, "the node was no longer busy"
    assert "ending" in node.log


def test_a_killed_node_does_not_block_the_next(start, peer, assets):
    first = start()
    publisher = description(peer, box("arm"))
    asset(assets, "arm", 1)
    first.kill()
    second = start("--log-level", "debug")
    # The asset is current, but this node announces it for the first time.
    again = asset(assets, "arm", 1)
    assert verified(again) == second.output / "arm"
    publisher.write(String(data=box("arm", 2)))
    asset(assets, "arm", 2)


def refused(node, code, *words):
    """Asserts that the node exits with this code and one message with all words."""
    assert node.ended() == code, node.log
    errors = [line for line in node.log.splitlines() if line.startswith("error:")]
    assert len(errors) == 1, node.log
    for word in words:
        assert str(word) in node.log, (word, node.log)


def test_two_nodes_on_one_output_directory(start, tmp_path):
    first = start()
    first.logged("listening to")
    second = start("-r", "__node:=other")
    refused(second, 1, tmp_path / "out", "output_dir", "/urdf_usd", f"process {first.process.pid}")
    assert first.process.poll() is None
    first.kill()
    third = start()
    third.logged("listening to")
    assert third.end() == 0


def test_an_output_directory_that_cannot_be_made(start, tmp_path):
    (tmp_path / "file").write_text("")
    refused(start(output=tmp_path / "file" / "out"), 1, tmp_path / "file" / "out", "output_dir")


def test_the_log_follows_the_variables_of_rcutils(start):
    node = start(environment={
        "RCUTILS_LOGGING_USE_STDOUT": "1",
        "RCUTILS_COLORIZED_OUTPUT": "yes",
        "RCUTILS_CONSOLE_OUTPUT_FORMAT": r"{severity}\t{name}\t{message}\t{nothing}",
    })  # fmt: skip
    lines = [
        r"(?m)^WARN\turdf_usd\t.*RCUTILS_COLORIZED_OUTPUT=yes.*\t\{nothing\}$",
        r"(?m)^INFO\turdf_usd\tlistening to .*\t\{nothing\}$",
    ]
    shown = node.log_path.with_suffix(".out")
    ros_peer.until(lambda: all(re.search(line, shown.read_text()) for line in lines), PATIENCE, "the log on standard output")
    assert node.end() == 0 and node.log == ""


def test_a_start_and_an_end_log_what_tells_something(start):
    node = start()
    node.logged("listening to")
    assert node.end() == 0
    lines = [line.split("]: ", 1)[1] for line in node.log.splitlines()]
    assert all(re.match(r"urdf_usd \d.*, ROS client \w+$|listening to |the page is at |terminated: ending", line) for line in lines), lines


def test_a_taken_port(start):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        node = start(**{"http.port": port})
        node.logged("serve-port-in-use")
        found = int(node.logged(r"the page is at http://127\.0\.0\.1:(\d+)/")[1])
        assert port < found <= port + 32
        with urllib.request.urlopen(f"http://127.0.0.1:{found}/api/robots", timeout=PATIENCE) as answer:
            assert json.load(answer) == []
        assert node.end() == 0


def test_an_address_of_another_machine(start):
    node = start(**{"http.address": "203.0.113.7", "http.port": 8642})
    node.logged(r"\[WARN\] .*serve-address.*runs without the viewer.*http\.address")
    node.logged("listening to")
    assert node.end() == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--params-file", "nowhere.yaml"], ["nowhere.yaml"]),
        (["-p", "settle_time:=1"], ["settle_time", "1.0"]),
        (["-p", "http.port:=70000"], ["http.port", "65535"]),
        (["-p", "formats:=[stl]"], ["formats", "stl"]),
        (["-r", "a b:=c"], ["a b"]),
        (["--nonsense"], ["--nonsense"]),
        (["--", "nonsense"], ["nonsense"]),
    ],
)
def test_wrong_arguments(start, arguments, words):
    refused(start(*arguments), 2, *words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("/**:\n  ros__parameters:\n    settle_time: soon\n", ["3", "settle_time", "double"]),
        ("/**:\n  ros__parameters:\n   - a\n", ["params.yaml:"]),
        ("/**:\n\tx\n", ["params.yaml:2"]),
    ],
)
def test_bad_parameter_files(start, tmp_path, text, words):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    refused(start("--params-file", path), 2, *words)


def test_a_wrong_environment(start):
    refused(start(environment={"ROS_DOMAIN_ID": "many"}), 2, "ROS_DOMAIN_ID", "many")


# ---------------------------------------------------------------------------------------------------------- parameters, names


def test_parameters_over_services(start, peer, assets):
    start()
    listed = peer.call("/urdf_usd/list_parameters", ListParameters, ListParameters.request(), PATIENCE).result.names
    declared = json.loads((conftest.ROOT / "config/parameters.json").read_text())
    assert {p["name"] for p in declared} | {"use_sim_time"} <= set(listed)
    described = peer.call("/urdf_usd/describe_parameters", DescribeParameters, DescribeParameters.request(names=list(listed)), PATIENCE)
    assert all(d.description for d in described.descriptors)

    def get(name):
        return peer.call("/urdf_usd/get_parameters", GetParameters, GetParameters.request(names=[name]), PATIENCE).values[0].value

    def put(name, value):
        parameter = ros_peer.Parameter(name=name, value=ros_peer.parameter_value(value))
        return peer.call("/urdf_usd/set_parameters", SetParameters, SetParameters.request(parameters=[parameter]), PATIENCE).results[0]

    assert get("formats") == ["usd", "glb"]
    assert put("formats", ["glb"]).successful and get("formats") == ["glb"]
    description(peer, box("arm"))
    message = asset(assets, "arm")
    assert message.files == ["arm.glb"] and message.entry == ""
    for name, value, word in [("output_dir", "/elsewhere", "read-only"), ("formats", ["stl"], "stl"), ("settle_time", -1.0, "0.0")]:
        result = put(name, value)
        assert not result.successful and word in result.reason, result
    assert put("asset_namespace", "left").successful and get("asset_namespace") == "left"
    refused = put("strickt", True)
    assert not refused.successful and refused.reason == "no parameter `strickt`; did you mean `strict`?"


def test_violations_of_rep_158_are_in_the_report(start, peer, assets, tmp_path):
    """With the parameter `check`, from the next conversion on."""
    package = tmp_path / "shell"
    package.mkdir()
    points = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
    # A tetrahedron of three faces: the variant with the exact mesh has a hole.
    facets = ("".join(f"vertex {points[i]}\n" for i in face) for face in [(0, 2, 1), (0, 1, 3), (0, 3, 2)])
    facets = "".join(f"facet normal 0 0 0\nouter loop\n{facet}endloop\nendfacet\n" for facet in facets)
    (package / "shell.stl").write_text(f"solid shell\n{facets}endsolid shell\n")

    def shell(mass):
        inertial = f'<inertial><mass value="{mass}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        mesh = '<collision><geometry><mesh filename="package://shell/shell.stl"/></geometry></collision>'
        return f'<robot name="shell"><link name="base">{inertial}{mesh}</link></robot>'

    def broken(message):
        report = json.loads((verified(message) / "report.json").read_bytes())
        # `ros2 topic echo` shows the values of the file.
        assert json.loads(message.report)["diagnostics"] == report["diagnostics"]
        assert message.errors == len([d for d in report["diagnostics"] if d["severity"] == "error"])
        return {d["code"] for d in report["diagnostics"] if d["code"].startswith("REP158-")}

    def put(value):
        parameter = ros_peer.Parameter(name="check", value=ros_peer.parameter_value(value))
        request = SetParameters.request(parameters=[parameter])
        assert peer.call("/urdf_usd/set_parameters", SetParameters, request, PATIENCE).results[0].successful

    start(packages=[f"shell={package}"], check=True)
    publisher = description(peer, shell(1))
    assert broken(asset(assets, "shell", 1)) == {"REP158-3.4.4"}
    put(False)
    publisher.write(String(data=shell(2)))
    assert broken(asset(assets, "shell", 2)) == set()
    put(True)
    publisher.write(String(data=shell(3)))
    assert broken(asset(assets, "shell", 3)) == {"REP158-3.4.4"}


def test_unknown_parameters_are_reported(start, peer, tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("/**:\n  ros__parameters:\n    strickt: true\n    camera: front\n")
    node = start("--params-file", path, "-p", "nonsense:=1")
    assert peer.call("/urdf_usd/list_parameters", ListParameters, ListParameters.request(), PATIENCE).result.names
    told = [line for line in node.log.splitlines() if "[WARN]" in line]
    for words in (["strickt", "did you mean `strict`?", "params.yaml:3"], ["nonsense"]):
        assert any(all(word in line for word in words) for line in told), told
    # A parameter in the file may be for another node.
    assert not any("camera" in line for line in told)


def test_the_parameter_file_of_the_package_works(start, peer, assets, tmp_path):
    """The file comes first, as later arguments take precedence."""
    first = conftest.ROOT / "config" / "bridge.yaml"
    node = start("--params-file", first, "-p", f"output_dir:={tmp_path}/out", "-p", "http.port:=0")
    description(peer, box("arm"))
    verified(asset(assets, "arm"))
    assert "[WARN]" not in node.log


def test_names_namespaces_and_remaps(start, peer):
    start("-r", "__ns:=/left", "-r", "__node:=twin", "-r", "robot_description:=/shared/description")
    description_elsewhere = peer.publisher("/shared/description", String, latched=True, depth=1)
    description_elsewhere.write(String(data=box("arm")))
    heard = peer.subscription("/left/twin/asset", Asset, latched=True)
    asset(heard, "arm")
    assert "/left/twin" in peer.nodes("/left/twin", PATIENCE)
    assert peer.call("/left/convert", Convert, Convert.request(), PATIENCE).success


# ------------------------------------------------------------------------------------------------------------------- HTTP


def get(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.headers, answer.read()


def test_http(start, peer, assets):
    port = free_port()
    node = start(**{"http.port": port})
    base = re.search(r"http://\S+", node.logged(r"the page is at http://\S+").group()).group()
    assert base == f"http://127.0.0.1:{port}/"
    assert json.loads(get(base + "api/robots")[1]) == []
    events = urllib.request.urlopen(base + "events", timeout=PATIENCE)
    assert events.readline() == b"event: resync\n"
    publisher = description(peer, box("größe 1")).matched(PATIENCE)
    message = asset(assets, "größe 1")
    lines = iter(events.readline, b"")
    assert next(line for line in lines if line.startswith(b"event: revision"))
    assert json.loads(next(lines).removeprefix(b"data: "))["revision"] == 1
    robot = ros_peer.until(lambda: json.loads(get(base + "api/robots")[1]), PATIENCE, "a robot")[0]
    assert (robot["name"], robot["revision"], robot["state"]) == ("größe 1", 1, "ok")
    for path in message.files:
        headers, content = get(f"{base}assets/gr%C3%B6%C3%9Fe%201/{urllib.request.quote(path)}")
        assert content == (Path(message.directory) / path).read_bytes()
        expected = {"usda": "model/vnd.usda", "glb": "model/gltf-binary", "json": "application/json"}.get(path.rsplit(".")[-1])
        assert expected in (None, headers["Content-Type"])
    page = get(base)[1].decode()
    assert "<script" in page and "http://" not in page and "https://" not in page
    for path in ["assets/", "assets/gr%C3%B6%C3%9Fe%201/../../log0.txt", "assets/gr%C3%B6%C3%9Fe%201/%2e%2e/.urdf_usd.lock", "nowhere"]:
        with pytest.raises(urllib.error.HTTPError) as error:
            get(base + path)
        assert error.value.code == 404
    with pytest.raises(urllib.error.HTTPError) as error:
        get(base + "api/robots", Host="evil.example")
    assert error.value.code == 421
    publisher.write(String(data=box("größe 1", 2)))
    assert next(line for line in lines if line.startswith(b"event: revision"))
    assert json.loads(next(lines).removeprefix(b"data: "))["revision"] == 2


# ------------------------------------------------------------------------------------------------------------------- demo


def test_demo_goes_on_until_interrupted(tmp_path, domain):
    """The demo prints the verdict on the frames, and Ctrl-C is not a failure."""
    command = [str(conftest.program()), "demo", "-o", str(tmp_path / "demo")]
    log = tmp_path / "out.txt"
    with log.open("wb") as stream:
        demo = subprocess.Popen(command, stdout=stream, stderr=stream, env=os.environ | {"ROS_DOMAIN_ID": str(domain)})
    try:
        ros_peer.until(lambda: re.search(r"(\d+) of \1 match the asset", log.read_text()), PATIENCE, "the verdict")
        assert demo.poll() is None
        demo.send_signal(signal.SIGINT)
        assert demo.wait(PATIENCE) == 0
    finally:
        demo.kill()
        print(log.read_text())


def test_demo_once(tmp_path, domain):
    done = conftest.run("demo", "--once", "-o", tmp_path / "demo", env=os.environ | {"ROS_DOMAIN_ID": str(domain)}, timeout=PATIENCE * 2)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sample_rover" in done.stdout and "http://127.0.0.1:" in done.stdout
    entry = tmp_path / "demo" / "sample_rover" / "sample_rover.usda"
    assert str(entry) in done.stdout and entry.is_file()
    verdict = re.search(r"(\d+) of (\d+) match the asset", done.stdout)
    assert verdict and verdict.group(1) == verdict.group(2), done.stdout + done.stderr


def test_static_peers_discover_the_node(start, domain, tmp_path):
    # Simulates another machine by an unusual address of the loopback interface.
    ports = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(20)]
    for n, port in enumerate(ports):
        port.bind(("127.0.0.2", 7410 + 250 * domain + 2 * n))
    start("-r", "__node:=shy").logged("listening to")
    assert not select.select(ports, [], [], 6)[0], "the node wrote to an unnamed machine"
    start("-r", "__node:=told", output=tmp_path / "told", environment={"ROS_STATIC_PEERS": "nowhere.invalid;127.0.0.2"})
    written, _, _ = select.select(ports, [], [], 20)
    assert written and written[0].recv(65536).startswith(b"RTPS")
    for port in ports:
        port.close()
