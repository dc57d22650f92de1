"""The node as a ROS node: its log, its place in the graph, its names. CycloneDDS is the peer, as in test_node.py.
"""

import re
import time

import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

import ros_peer  # noqa: E402
from ros_node import PATIENCE, box, description  # noqa: E402
from ros_peer import DiagnosticArray, GetParameters, Log, ParameterEvent, ParticipantEntitiesInfo, SetParameters  # noqa: E402




def parameter(name, value):
    return ros_peer.Parameter(name=name, value=ros_peer.parameter_value(value))


def test_the_log_is_published_on_rosout_and_written_to_a_file(start, peer, tmp_path):
    node = start("-r", "__ns:=/left")
    topic = peer.publisher("/left/robot_description", ros_peer.String, latched=True, depth=1)
    topic.write(ros_peer.String(data="<robot"))
    node.logged(r"\[(WARN|ERROR)\]")
    # A late subscriber receives earlier messages.
    said = peer.subscription("/rosout", Log, latched=True, depth=1000)
    line = said.wait(lambda log: log.level in (30, 40), PATIENCE)
    assert line.name == "left.urdf_usd" and line.file.endswith(".rs") and line.line > 0 and line.function.startswith("urdf_usd"), line
    assert line.stamp.sec > 1_600_000_000
    assert f"[left.urdf_usd]: {line.msg}" in node.log
    (file,) = (tmp_path / "logs").glob("*.log")
    assert re.fullmatch(rf"urdf_usd_{node.process.pid}_\d+\.log", file.name), file
    assert f"[left.urdf_usd]: {line.msg}" in file.read_text()


def test_arguments_configure_the_logs(start, peer, tmp_path):
    arguments = ("--disable-rosout-logs", "--disable-stdout-logs", "--log-file-name", "mine", "--log-level", "urdf_usd:=debug")
    node = start(*arguments)
    peer.nodes("/urdf_usd", PATIENCE)
    (file,) = (tmp_path / "logs").glob("mine_*.log")
    ros_peer.until(lambda: "[DEBUG]" in file.read_text(), PATIENCE, "no line of the debug level")
    assert node.log == ""
    # Files that are opened later.
    peer.subscription("/diagnostics", ros_peer.DiagnosticArray, depth=10).matched(PATIENCE)
    with pytest.raises(TimeoutError):
        peer.subscription("/rosout", Log, latched=True, depth=1000).matched(2)
    quiet = start("--disable-external-lib-logs", "-r", "__node:=quiet", output_dir=tmp_path / "quiet")
    peer.nodes("/quiet", PATIENCE)
    assert list((tmp_path / "logs").glob("*.log")) == [file]
    assert quiet.end() == 0 and node.end() == 0


def test_the_node_announces_its_endpoints_and_leaves_at_once(start, peer, domain):
    node = start()
    heard = ros_peer.Subscription(
        peer.participant, "ros_discovery_info", ParticipantEntitiesInfo, ros_peer.qos(latched=True, depth=100)
    )
    said = peer.subscription("/rosout", Log, latched=True).matched(PATIENCE)

    def is_whole(info):
        # Six parameter services, and its own services and topics.
        return any(n.node_name == "urdf_usd" and len(n.writer_gid_seq) > 10 for n in info.node_entities_info_seq)

    info = heard.wait(is_whole, PATIENCE)
    (told,) = info.node_entities_info_seq
    assert told.node_namespace == "/" and len(told.reader_gid_seq) > 10
    ends = [bytes(gid.data) for gid in (*told.reader_gid_seq, *told.writer_gid_seq)]
    assert len(ends) == len(set(ends))
    assert all(end[:12] == bytes(info.gid.data)[:12] for end in ends)
    assert node.end() == 0
    heard.wait(lambda left: left.gid == info.gid and not left.node_entities_info_seq, PATIENCE)
    ros_peer.until(lambda: not said.reader.get_matched_publications(), PATIENCE, "its topics are still there")


def test_changed_parameters_are_published(start, peer):
    events = peer.subscription("/parameter_events", ParameterEvent, depth=100)
    node = start("-p", "settle_time:=0.5")
    node.logged("listening")
    events.matched(PATIENCE)
    # A Cyclone subscriber drops messages before the publisher's first heartbeat: the first change triggers it.
    for value in (0.125, 0.25):
        change = SetParameters.request(parameters=[parameter("settle_time", value)])
        assert peer.call("/urdf_usd/set_parameters", SetParameters, change).results[0].successful
        got = peer.call("/urdf_usd/get_parameters", GetParameters, GetParameters.request(names=["settle_time", "nothing"]))
        assert [got.value for got in got.values] == [value, None]
        time.sleep(0.5)
    event = events.wait(lambda event: event.changed_parameters and event.changed_parameters[0].value.value == 0.25, PATIENCE)
    assert (event.node, event.changed_parameters[0].name) == ("/urdf_usd", "settle_time")


def test_parameters_for_one_node_override_those_for_all(start, peer, tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text(
        "/**: {ros__parameters: {settle_time: 0.1, workers: 1}}\n"
        "/left/urdf_usd: {ros__parameters: {settle_time: 0.2}}\n"
        "/*/other: {ros__parameters: {settle_time: 0.3}}\n"
    )
    node = start("-r", "__ns:=/left", "--params-file", file, "-p", "settle_time:=0.4")
    node.logged("listening")
    asked = GetParameters.request(names=["settle_time", "workers"])
    got = peer.call("/left/urdf_usd/get_parameters", GetParameters, asked, PATIENCE)
    # As in rcl: `-p` applies to `/**`, which the file names before the node.
    assert [value.value for value in got.values] == [0.2, 1]


def test_a_simulated_clock_is_followed_once_it_is_enabled(start, peer):
    clock = peer.publisher("/clock", ros_peer.Clock, reliable=False, depth=1)
    assets = peer.subscription("/urdf_usd/asset", ros_peer.Asset, latched=True, depth=10)
    diagnostics = peer.subscription("/diagnostics", DiagnosticArray, depth=10)
    start().logged("listening")
    wanted = SetParameters.request(parameters=[parameter("use_sim_time", True)])
    assert peer.call("/urdf_usd/set_parameters", SetParameters, wanted, PATIENCE).results[0].successful
    topic = description(peer)
    # Time that jumps back is followed too.
    for second, name in ((500, "first"), (100, "second")):

        def has_heard(second=second):
            clock.write(ros_peer.Clock(clock=ros_peer.Time(sec=second)))
            return any(array.header.stamp.sec == second for array in diagnostics.take())

        ros_peer.until(has_heard, PATIENCE, f"it is never {second}")
        topic.write(ros_peer.String(data=box(name)))
        assert assets.wait(lambda asset, name=name: asset.robot == name, PATIENCE).header.stamp.sec == second
