"""The node under RMW_IMPLEMENTATION=rmw_zenoh_cpp: with eclipse-zenoh as a peer on the loopback interface, like a node under that RMW.

Needs a node that was built with `--features zenoh`, as test/run builds it.
"""

import signal
import time

import pytest
from pxr import Usd

pytest.importorskip("zenoh", reason="the node is tested against eclipse-zenoh (pip install eclipse-zenoh)")

import conftest  # noqa: E402
import zenoh_peer  # noqa: E402
from ros_node import ARM, PATIENCE, Node, box, chain, transform  # noqa: E402
from ros_peer import (  # noqa: E402
    Asset, Clock, DiagnosticArray, Header, JointState, Log, Parameter, ParameterEvent, String, TFMessage, Time, parameter_value, until,
)  # fmt: skip
from zenoh_peer import CheckFrames, Convert, DescribeParameters, GetParameters, ListParameters, Peer, Router, SetParameters  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def built_with_zenoh(tmp_path_factory):
    """Fails if the node lacks the feature: it then exits at once, and names the feature."""
    folder = tmp_path_factory.mktemp("probe")
    node = Node(0, folder / "out", folder / "log", environment={"RMW_IMPLEMENTATION": "rmw_zenoh_cpp", "ZENOH_CONFIG_OVERRIDE": "nonsense"})
    assert node.ended() == 2, node.log
    if "ZENOH_CONFIG_OVERRIDE" not in node.log:
        assert "feature `zenoh`" in node.log, node.log
        pytest.fail("the program was built without zenoh: cargo build --ignore-rust-version --locked --features zenoh")


@pytest.fixture
def router():
    with Router() as router:
        yield router


@pytest.fixture
def peer(router, domain):
    with Peer(router, domain) as peer:
        yield peer


@pytest.fixture
def start_node(start, router):
    """Starts nodes that find each other through the router."""

    def start_node(*arguments, environment=None, **parameters):
        return start(*arguments, environment=router.environment | (environment or {}), **parameters)

    return start_node


def description(peer, text):
    publisher = peer.publisher("/robot_description", String, latched=True, depth=1)
    publisher.write(String(data=text))
    return publisher


@pytest.mark.parametrize("is_first", [True, False], ids=["before the node", "after the node"])
def test_a_description_becomes_an_asset_and_both_are_latched(start_node, peer, is_first, tmp_path):
    text = (ARM / "urdf" / "sample_arm.urdf").read_text()
    early = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=10)
    published = description(peer, text) if is_first else None
    start_node(packages=[f"sample_arm={ARM}"])
    peer.nodes("/urdf_usd", PATIENCE)
    published = published or description(peer, text)
    asset = early.wait(lambda a: a.robot == "sample_arm", PATIENCE)
    assert (asset.revision, asset.errors, asset.directory) == (1, 0, str(tmp_path / "out" / "sample_arm"))
    late = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=10)
    assert late.wait(lambda a: a.robot == "sample_arm", PATIENCE) == asset
    assert late.senders == early.senders and len(late.senders) == 1
    published.write(String(data=text.replace('name="sample_arm"', 'name="other_arm"', 1)))
    assert early.wait(lambda a: a.robot == "other_arm", PATIENCE).revision == 1


def test_a_long_description_arrives_whole(start_node, peer):
    start_node()
    assets = peer.subscription("/urdf_usd/asset", Asset, latched=True)
    published = description(peer, box("long").replace("<link", f"<!-- {'x' * 5_000_000} --><link", 1))
    assert assets.wait(lambda a: a.robot == "long", PATIENCE).links == 1
    del published


def test_services_answer(start_node, peer, tmp_path):
    start_node()
    done = peer.call("/convert", Convert, Convert.request(urdf=box("made")), PATIENCE)
    assert done.success and str(tmp_path / "out" / "made" / "made.usda") in done.files, done.message
    refused = peer.call("/convert", Convert, Convert.request(urdf="<robot"), PATIENCE)
    assert not refused.success and refused.message
    # A message of any length: nothing is truncated.
    text = (ARM / "urdf" / "sample_arm.urdf").read_text()
    convert = Convert.request(urdf=text.replace("package://sample_arm", f"file://{ARM}"), output_dir="arm")
    arm = peer.call("/convert", Convert, convert, PATIENCE)
    assert len(arm.report) > 2000, arm.message


def test_parameters_are_served(start_node, peer):
    # Wait until all parameters are declared.
    start_node("-p", "settle_time:=0.25").logged("listening")
    events = peer.subscription("/parameter_events", ParameterEvent)
    call = lambda name, kind, **request: peer.call(f"/urdf_usd/{name}", kind, kind.request(**request), PATIENCE)  # noqa: E731
    names = call("list_parameters", ListParameters).result.names
    assert {"use_sim_time", "output_dir", "settle_time", "http.port"} <= set(names)
    assert [v.value for v in call("get_parameters", GetParameters, names=["settle_time", "use_sim_time"]).values] == [0.25, False]
    [described] = call("describe_parameters", DescribeParameters, names=["settle_time"]).descriptors
    assert described.description and described.floating_point_range
    change = lambda value: Parameter(name="settle_time", value=parameter_value(value))  # noqa: E731
    results = call("set_parameters", SetParameters, parameters=[change(0.5), change(-1.0), change("x")]).results
    assert [r.successful for r in results] == [True, False, False] and results[1].reason
    assert call("get_parameters", GetParameters, names=["settle_time"]).values[0].value == 0.5
    event = events.wait(lambda e: e.changed_parameters, PATIENCE)
    assert (event.node, event.changed_parameters[0].name) == ("/urdf_usd", "settle_time")


def test_the_node_is_in_the_graph_and_leaves_it(start_node, peer):
    node = start_node("-r", "__ns:=/left", "-r", "convert:=/made")
    assert "/left/urdf_usd" in peer.nodes("/left/urdf_usd", PATIENCE)
    wanted = {
        (kind, name, zenoh_peer.dds_name(ros), f"RIHS01_{zenoh_peer.HASHES[ros]}")
        for kind, name, ros in [
            ("MS", "/left/robot_description", "std_msgs/msg/String"),
            ("MS", "/left/joint_states", "sensor_msgs/msg/JointState"),
            ("MS", "/tf", "tf2_msgs/msg/TFMessage"),
            ("MS", "/tf_static", "tf2_msgs/msg/TFMessage"),
            ("MP", "/left/urdf_usd/asset", "urdf_usd/msg/Asset"),
            ("MP", "/diagnostics", "diagnostic_msgs/msg/DiagnosticArray"),
            ("MP", "/rosout", "rcl_interfaces/msg/Log"),
            ("SS", "/made", "urdf_usd/srv/Convert"),
            ("SS", "/left/urdf_usd/check_frames", "urdf_usd/srv/CheckFrames"),
            ("SS", "/left/urdf_usd/set_parameters", "rcl_interfaces/srv/SetParameters"),
        ]
    }
    missing = lambda: wanted - {end[:4] for end in peer.ends("/left/urdf_usd")}  # noqa: E731
    try:
        until(lambda: not missing(), PATIENCE, "ends of the node")
    except TimeoutError:
        assert not missing()
    ends = peer.ends("/left/urdf_usd")
    qos = {name: qos for kind, name, _, _, qos in ends if kind == "MP"}
    assert qos["/left/urdf_usd/asset"].startswith(":1:,") and qos["/rosout"].split(":")[1:5] == ["1", ",1000", ",", "10,0"]
    assert node.end(signal.SIGINT) == 0
    until(lambda: not peer.ends("/left/urdf_usd") and "/left/urdf_usd" not in peer.nodes(), PATIENCE, "the node's tokens stay")


def test_frames_are_compared_with_tf(start_node, peer):
    start_node(**{"frames.timeout": 5.0})
    kept = description(peer, chain())
    diagnostics = peer.subscription("/diagnostics", DiagnosticArray, depth=100)
    tf, fixed = peer.publisher("/tf", TFMessage), peer.publisher("/tf_static", TFMessage, latched=True)
    states = peer.publisher("/joint_states", JointState)
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.5)]))
    statuses = {}

    def is_judged(level):
        stamp = Time(sec=int(time.time()), nanosec=time.time_ns() % 1_000_000_000)
        moving = transform("base", "arm", z=1.0, yaw=0.25)
        moving.header.stamp = stamp
        states.write(JointState(header=Header(stamp=stamp), name=["shoulder"], position=[0.25]))
        tf.write(TFMessage(transforms=[moving]))
        for array in diagnostics.take():
            statuses.update({s.name: s for s in array.status})
        found = [s for name, s in statuses.items() if ": frames of chain" in name]
        return found and found[0].level == level

    until(lambda: is_judged(0), PATIENCE, f"no good verdict: {statuses}")
    answer = peer.call("/urdf_usd/check_frames", CheckFrames, CheckFrames.request(robot="chain"), PATIENCE)
    assert answer.all_ok and {f.frame_id: f.verdict for f in answer.frames} == {"base": "ok", "arm": "ok", "tool": "ok"}, answer
    # The latched frame moves.
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.6)]))
    until(lambda: is_judged(2), PATIENCE, f"no bad verdict: {statuses}")
    del kept


def test_interfaces_of_types_that_the_node_does_not_know_are_captured(start_node, peer, tmp_path):
    """The sensor's messages are opaque to the node, except for their header; their hash comes from the graph."""
    kept = description(peer, chain())
    zenoh_peer.HASHES["sensor_msgs/msg/Fancy"] = "12" * 32
    fancy = type("Fancy", (), {"__idl_typename__": "sensor_msgs::msg::dds_::Fancy_"})
    sensor = peer.publisher("/fancy", fancy)
    start_node(capture_interfaces=True)
    layer = tmp_path / "out" / "chain" / "ros.usda"

    def captured():
        sensor.write(JointState(header=Header(stamp=Time(sec=1), frame_id="tool"), name=["x"] * 50))
        return layer.is_file() and "sensor_msgs/msg/Fancy" in layer.read_text()

    until(captured, PATIENCE, "the topic in ros.usda")
    stage = Usd.Stage.Open(str(layer.with_name("chain.usda")))
    kinds = {p.GetAttribute("ros:topic:type").Get(): p for p in stage.Traverse() if p.HasAttribute("ros:topic:type")}
    prim = kinds["sensor_msgs/msg/Fancy"]
    assert prim.GetAttribute("ros:topic:name").Get() == "fancy" and prim.GetParent().GetName() == "tool", prim.GetPath()
    del kept


def test_time_and_the_log_travel(start_node, peer):
    log = peer.subscription("/rosout", Log, latched=True, depth=1000)
    clock = peer.publisher("/clock", Clock)
    start_node("-p", "use_sim_time:=true")
    assets = peer.subscription("/urdf_usd/asset", Asset, latched=True)
    assert log.wait(lambda line: line.name == "urdf_usd", PATIENCE).level == 20
    peer.ends("/urdf_usd", lambda kind, name, *_: (kind, name) == ("MS", "/clock"), PATIENCE)
    kept = description(peer, box("timed"))

    def is_timed():
        clock.write(Clock(clock=Time(sec=1234, nanosec=5)))
        return assets.take()

    until(is_timed, PATIENCE, "no asset")
    assert assets.seen[0].header.stamp.sec in (0, 1234)
    kept.write(String(data=box("timed", 2)))
    assert assets.wait(lambda a: a.revision == 2, PATIENCE).header.stamp == Time(sec=1234, nanosec=5)


def test_the_description_may_be_a_parameter_of_another_node(start_node, router, domain):
    with Peer(router, domain, name="robot_state_publisher", namespace="/left") as robot:
        value = parameter_value(box("asked"))
        service = robot.server("/left/robot_state_publisher/get_parameters", GetParameters, lambda r: GetParameters.response(values=[value]))
        assets = robot.subscription("/urdf_usd/asset", Asset, latched=True)
        start_node(description_from="/left/robot_state_publisher")
        assert assets.wait(timeout=PATIENCE).robot == "asked"
        assert service.requests[0].names == ["robot_description"]


def test_without_a_router_the_node_warns_and_connects_later(start, domain, tmp_path):
    port = zenoh_peer.free_port()
    address = f"tcp/127.0.0.1:{port}"
    environment = {
        "RMW_IMPLEMENTATION": "rmw_zenoh_cpp",
        "ZENOH_CONFIG_OVERRIDE": f'connect/endpoints=["{address}"];listen/endpoints=["tcp/127.0.0.1:0"]',
    }
    node = start(environment=environment)
    node.logged("no Zenoh router")
    with Router(port) as router, Peer(router, domain) as peer:
        peer.nodes("/urdf_usd", PATIENCE)
        assets = peer.subscription("/urdf_usd/asset", Asset, latched=True)
        kept = description(peer, box("patient"))
        assert assets.wait(timeout=PATIENCE).robot == "patient"
        del kept


def test_domains_do_not_hear_each_other(start_node, router, domain):
    start_node()
    with Peer(router, domain) as near, Peer(router, domain + 1) as far:
        near.nodes("/urdf_usd", PATIENCE)
        assets = near.subscription("/urdf_usd/asset", Asset, latched=True)
        other = description(far, box("far"))
        kept = description(near, box("near"))
        assert assets.wait(timeout=PATIENCE).robot == "near"
        assert "/urdf_usd" not in far.nodes() and [a.robot for a in assets.seen] == ["near"]
        del other, kept


@pytest.mark.parametrize(
    ("name", "value"),
    [("ZENOH_SESSION_CONFIG_URI", "/no/such/file.json5"), ("ZENOH_CONFIG_OVERRIDE", "mode=1"), ("ZENOH_ROUTER_CHECK_ATTEMPTS", "x")],
)
def test_unsupported_settings_end_the_node(start, name, value):
    node = start(environment={"RMW_IMPLEMENTATION": "rmw_zenoh_cpp", name: value})
    assert node.ended() == 2 and f"{name}={value}" in node.log and "help: " in node.log


def test_a_session_that_cannot_be_opened_ends_the_node_with_the_reason(start):
    """A client, unlike a peer, does not open without a router."""
    connect = f'mode="client";connect/endpoints=["tcp/127.0.0.1:{zenoh_peer.free_port()}"]'
    node = start(environment={"RMW_IMPLEMENTATION": "rmw_zenoh_cpp", "ZENOH_CONFIG_OVERRIDE": connect})
    assert node.ended() == 1 and "can't open the Zenoh session" in node.log, node.log


def test_the_session_file_is_followed(start, router, peer, tmp_path):
    file = tmp_path / "session.json5"
    file.write_text(
        f'{{mode: "client", connect: {{endpoints: ["{router.address}"]}}, scouting: {{multicast: {{enabled: false}}}}, timestamping: {{enabled: true}}}}'
    )
    start(environment={"RMW_IMPLEMENTATION": "rmw_zenoh_cpp", "ZENOH_SESSION_CONFIG_URI": str(file)})
    peer.nodes("/urdf_usd", PATIENCE)
    done = peer.call("/convert", Convert, Convert.request(urdf=box("through")), PATIENCE)
    assert done.success, done.message


