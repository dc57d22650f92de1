"""A ROS 2 node on bare CycloneDDS (`pip install cyclonedds`), as a peer of the bridge in tests.

It speaks like a node under rmw_cyclonedds_cpp: names mangled with rt/, rq/ and rr/, the type names of rosidl, services with the
request's identity in front of the payload. It stays on the loopback interface.

    with Peer(domain=77) as peer:
        description = peer.publisher("/robot_description", String, latched=True)
        description.write(String(data=urdf))
        asset = peer.subscription("/urdf_usd/asset", Asset, latched=True).wait(lambda a: a.robot == "arm")
        answer = peer.call("/convert", Convert, ConvertRequest(urdf=urdf), timeout=20)

All waits have a timeout in seconds and raise TimeoutError with what was missing. Nothing sleeps for a fixed time in the hope that the
other side is ready.
"""

import os
import random
import types
from dataclasses import dataclass, field

# Loopback without multicast: participants find each other by the ports of participants 0, 1, 2, …
CONFIG = """<CycloneDDS><Domain id="any">
  <General><Interfaces><NetworkInterface name="lo"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
  <Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>
    <Peers><Peer address="127.0.0.1"/></Peers><SPDPInterval>500ms</SPDPInterval></Discovery>
</Domain></CycloneDDS>"""
os.environ.setdefault("CYCLONEDDS_URI", CONFIG)

from cyclonedds.core import Entity, Policy, Qos  # noqa: E402
from cyclonedds.domain import DomainParticipant  # noqa: E402
from cyclonedds.idl import IdlStruct  # noqa: E402
from cyclonedds.idl.types import array, float64, int32, int64, sequence, uint8, uint32, uint64  # noqa: E402
from cyclonedds.pub import DataWriter  # noqa: E402
from cyclonedds.sub import DataReader  # noqa: E402
from cyclonedds.topic import Topic  # noqa: E402
from cyclonedds.util import duration  # noqa: E402
from polling import until  # noqa: E402, F401

# ---- messages ---------------------------------------------------------------------------------------------------------------------


def struct(package, kind, name, annotations, members):
    """Creates a dataclass for CycloneDDS, with the type name of rosidl."""
    body = {**members, "__annotations__": annotations, "__module__": __name__}
    typename = f"{package}::{kind}::dds_::{name}_"
    return dataclass(types.new_class(name, (IdlStruct,), {"typename": typename}, lambda namespace: namespace.update(body)))


def message(package):
    """Declares a class as a message of a ROS package."""

    def declare(cls):
        members = {k: v for k, v in vars(cls).items() if k not in ("__dict__", "__weakref__", "__annotations__")}
        return struct(package, "msg", cls.__name__, cls.__annotations__, members)

    return declare


@message("builtin_interfaces")
class Time:
    sec: int32 = 0
    nanosec: uint32 = 0


@message("std_msgs")
class Header:
    stamp: Time = field(default_factory=Time)
    frame_id: str = ""


@message("std_msgs")
class String:
    data: str = ""


@message("rosgraph_msgs")
class Clock:
    clock: Time = field(default_factory=Time)


@message("sensor_msgs")
class JointState:
    header: Header = field(default_factory=Header)
    name: sequence[str] = field(default_factory=list)
    position: sequence[float64] = field(default_factory=list)
    velocity: sequence[float64] = field(default_factory=list)
    effort: sequence[float64] = field(default_factory=list)


@message("geometry_msgs")
class Vector3:
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0


@message("geometry_msgs")
class Quaternion:
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0
    w: float64 = 1.0


@message("geometry_msgs")
class Point:
    x: float64 = 0.0
    y: float64 = 0.0
    z: float64 = 0.0


@message("geometry_msgs")
class Pose:
    position: Point = field(default_factory=Point)
    orientation: Quaternion = field(default_factory=Quaternion)


@message("geometry_msgs")
class Transform:
    translation: Vector3 = field(default_factory=Vector3)
    rotation: Quaternion = field(default_factory=Quaternion)


@message("geometry_msgs")
class TransformStamped:
    header: Header = field(default_factory=Header)
    child_frame_id: str = ""
    transform: Transform = field(default_factory=Transform)


@message("tf2_msgs")
class TFMessage:
    transforms: sequence[TransformStamped] = field(default_factory=list)


@message("diagnostic_msgs")
class KeyValue:
    key: str = ""
    value: str = ""


@message("diagnostic_msgs")
class DiagnosticStatus:
    level: uint8 = 0
    name: str = ""
    message: str = ""
    hardware_id: str = ""
    values: sequence[KeyValue] = field(default_factory=list)


@message("diagnostic_msgs")
class DiagnosticArray:
    header: Header = field(default_factory=Header)
    status: sequence[DiagnosticStatus] = field(default_factory=list)


@message("urdf_usd")
class Asset:
    header: Header = field(default_factory=Header)
    robot: str = ""
    ros_namespace: str = ""
    revision: uint64 = 0
    directory: str = ""
    entry: str = ""
    glb: str = ""
    files: sequence[str] = field(default_factory=list)
    sha256: sequence[str] = field(default_factory=list)
    links: uint32 = 0
    joints: uint32 = 0
    meshes: uint32 = 0
    triangles: uint64 = 0
    materials: uint32 = 0
    warnings: uint32 = 0
    errors: uint32 = 0
    report: str = ""


@message("urdf_usd")
class FrameVerdict:
    frame_id: str = ""
    verdict: str = ""
    expected_parent: str = ""
    actual_parent: str = ""
    expected_topic: str = ""
    actual_topic: str = ""
    position_error: float64 = 0.0
    angle_error: float64 = 0.0
    detail: str = ""


# The member of a ParameterValue for a value of type 1, 2, 3, …
VALUE_MEMBERS = (
    "bool_value",
    "integer_value",
    "double_value",
    "string_value",
    "byte_array_value",
    "bool_array_value",
    "integer_array_value",
    "double_array_value",
    "string_array_value",
)


@message("rcl_interfaces")
class ParameterValue:
    type: uint8 = 0
    bool_value: bool = False
    integer_value: int64 = 0
    double_value: float64 = 0.0
    string_value: str = ""
    byte_array_value: sequence[uint8] = field(default_factory=list)
    bool_array_value: sequence[bool] = field(default_factory=list)
    integer_array_value: sequence[int64] = field(default_factory=list)
    double_array_value: sequence[float64] = field(default_factory=list)
    string_array_value: sequence[str] = field(default_factory=list)

    @property
    def value(self):
        """Returns the Python value; None if not set."""
        return getattr(self, VALUE_MEMBERS[self.type - 1]) if self.type else None


def parameter_value(value):
    """Converts a Python value, other than an empty list, to a ParameterValue."""
    first = value[0] if isinstance(value, list) else value
    kind = {bool: 1, int: 2, float: 3, str: 4}[type(first)] + (5 if isinstance(value, list) else 0)
    return ParameterValue(type=kind, **{VALUE_MEMBERS[kind - 1]: value})


@message("rcl_interfaces")
class Parameter:
    name: str = ""
    value: ParameterValue = field(default_factory=ParameterValue)


@message("rcl_interfaces")
class ParameterEvent:
    stamp: Time = field(default_factory=Time)
    node: str = ""
    new_parameters: sequence[Parameter] = field(default_factory=list)
    changed_parameters: sequence[Parameter] = field(default_factory=list)
    deleted_parameters: sequence[Parameter] = field(default_factory=list)


@message("rcl_interfaces")
class Log:
    stamp: Time = field(default_factory=Time)
    level: uint8 = 0
    name: str = ""
    msg: str = ""
    file: str = ""
    function: str = ""
    line: uint32 = 0


@message("rcl_interfaces")
class FloatingPointRange:
    from_value: float64 = 0.0
    to_value: float64 = 0.0
    step: float64 = 0.0


@message("rcl_interfaces")
class IntegerRange:
    from_value: int64 = 0
    to_value: int64 = 0
    step: uint64 = 0


@message("urdf_usd")
class NamedPose:
    name: str = ""
    group: str = ""
    joint_names: sequence[str] = field(default_factory=list)
    positions: sequence[float64] = field(default_factory=list)
    valid: bool = False


@message("rcl_interfaces")
class ParameterDescriptor:
    name: str = ""
    type: uint8 = 0
    description: str = ""
    additional_constraints: str = ""
    read_only: bool = False
    dynamic_typing: bool = False
    floating_point_range: sequence[FloatingPointRange] = field(default_factory=list)
    integer_range: sequence[IntegerRange] = field(default_factory=list)


@message("rcl_interfaces")
class SetParametersResult:
    successful: bool = False
    reason: str = ""


@message("rcl_interfaces")
class ListParametersResult:
    names: sequence[str] = field(default_factory=list)
    prefixes: sequence[str] = field(default_factory=list)


@message("rmw_dds_common")
class Gid:
    data: array[uint8, 16] = field(default_factory=lambda: [0] * 16)


@message("rmw_dds_common")
class NodeEntitiesInfo:
    node_namespace: str = ""
    node_name: str = ""
    reader_gid_seq: sequence[Gid] = field(default_factory=list)
    writer_gid_seq: sequence[Gid] = field(default_factory=list)


@message("rmw_dds_common")
class ParticipantEntitiesInfo:
    gid: Gid = field(default_factory=Gid)
    node_entities_info_seq: sequence[NodeEntitiesInfo] = field(default_factory=list)


# ---- services ---------------------------------------------------------------------------------------------------------------------


class Service:
    """A ROS service: its package and name, and the members of request and response as `name: (type, default)`."""

    def __init__(self, package, name, request, response):
        self.request = self._half(package, f"{name}_Request", request)
        self.response = self._half(package, f"{name}_Response", response)

    @staticmethod
    def _half(package, name, members):
        # rmw_cyclonedds_cpp sends the identity of the request in front of both halves.
        annotations = {"client": uint64, "sequence": int64} | {k: t for k, (t, _) in members.items()}
        defaults = {"client": 0, "sequence": 0} | {k: field(default_factory=d) for k, (_, d) in members.items()}
        return struct(package, "srv", name, annotations, defaults)


TEXT, TEXTS, YES = (str, str), (sequence[str], list), (bool, bool)

Convert = Service(
    "urdf_usd",
    "Convert",
    {"urdf": TEXT, "uri": TEXT, "output_dir": TEXT, "formats": TEXTS, "xrdf": TEXT},
    {"success": YES, "message": TEXT, "files": TEXTS, "report": TEXT},
)
CheckFrames = Service(
    "urdf_usd",
    "CheckFrames",
    {"robot": TEXT, "frames": TEXTS},
    {
        "success": YES,
        "message": TEXT,
        "all_ok": YES,
        "robot": TEXT,
        "revision": (uint64, int),
        "frames": (sequence[FrameVerdict], list),
    },
)
NUMBERS, NUMBER, DONE = (sequence[float64], list), (float64, float), {"success": YES, "message": TEXT}
ListPoses = Service("urdf_usd", "ListPoses", {"robot": TEXT}, DONE | {"robot": TEXT, "poses": (sequence[NamedPose], list)})
StorePose = Service(
    "urdf_usd",
    "StorePose",
    {"robot": TEXT, "name": TEXT, "group": TEXT, "joint_names": TEXTS, "positions": NUMBERS},
    DONE | {"pose": (NamedPose, NamedPose), "entry": TEXT},
)
DeletePose = Service("urdf_usd", "DeletePose", {"robot": TEXT, "name": TEXT, "group": TEXT}, DONE)
SolveIk = Service(
    "urdf_usd",
    "SolveIk",
    {"robot": TEXT, "tip": TEXT, "base": TEXT, "target": (Pose, Pose), "seed": (JointState, JointState)},
    DONE | {"solution": (JointState, JointState), "position_error": NUMBER, "angle_error": NUMBER, "iterations": (uint32, int)},
)
ComputeFk = Service(
    "urdf_usd",
    "ComputeFk",
    {"robot": TEXT, "state": (JointState, JointState), "base": TEXT, "links": TEXTS},
    DONE | {"links": TEXTS, "poses": (sequence[Pose], list)},
)
GetParameters = Service("rcl_interfaces", "GetParameters", {"names": TEXTS}, {"values": (sequence[ParameterValue], list)})
GetParameterTypes = Service("rcl_interfaces", "GetParameterTypes", {"names": TEXTS}, {"types": (sequence[uint8], list)})
DescribeParameters = Service(
    "rcl_interfaces", "DescribeParameters", {"names": TEXTS}, {"descriptors": (sequence[ParameterDescriptor], list)}
)
ListParameters = Service(
    "rcl_interfaces",
    "ListParameters",
    {"prefixes": TEXTS, "depth": (uint64, int)},
    {"result": (ListParametersResult, ListParametersResult)},
)
SetParameters = Service(
    "rcl_interfaces",
    "SetParameters",
    {"parameters": (sequence[Parameter], list)},
    {"results": (sequence[SetParametersResult], list)},
)
SetParametersAtomically = Service(
    "rcl_interfaces",
    "SetParametersAtomically",
    {"parameters": (sequence[Parameter], list)},
    {"result": (SetParametersResult, SetParametersResult)},
)
ConvertRequest, CheckFramesRequest = Convert.request, CheckFrames.request

# ---- the node ---------------------------------------------------------------------------------------------------------------------


def qos(latched=False, reliable=True, depth=10):
    """Returns a keep-last QoS profile."""
    return Qos(
        Policy.Reliability.Reliable(duration(seconds=10)) if reliable else Policy.Reliability.BestEffort,
        Policy.Durability.TransientLocal if latched else Policy.Durability.Volatile,
        Policy.History.KeepLast(depth),
        Policy.DurabilityService(
            cleanup_delay=0,
            history=Policy.History.KeepLast(depth),
            max_samples=-1,
            max_instances=-1,
            max_samples_per_instance=-1,
        ),
        Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False),
    )


class Publisher:
    """A publisher of a topic."""

    def __init__(self, participant, topic, kind, profile):
        self.topic = topic
        self.writer = DataWriter(participant, Topic(participant, topic, kind), qos=profile)

    def matched(self, timeout=20, count=1):
        """Waits until at least `count` subscribers are connected. Returns self."""
        until(lambda: len(self.writer.get_matched_subscriptions()) >= count, timeout, f"{count} subscriber(s) of {self.topic}")
        return self

    def write(self, sample):
        self.writer.write(sample)


class Subscription:
    """A subscription to a topic."""

    def __init__(self, participant, topic, kind, profile):
        self.topic = topic
        self.seen = []
        self.reader = DataReader(participant, Topic(participant, topic, kind), qos=profile)

    def matched(self, timeout=20, count=1):
        """Waits until at least `count` publishers are connected. Returns self."""
        until(lambda: len(self.reader.get_matched_publications()) >= count, timeout, f"{count} publisher(s) of {self.topic}")
        return self

    def take(self):
        """Returns the messages since the last call."""
        new = [sample for sample in self.reader.take(N=1000) if sample.sample_info.valid_data]
        self.seen += new
        return new

    def wait(self, wanted=lambda sample: True, timeout=20):
        """Waits for the first message for which `wanted` is true. Later ones that arrived with it are only in `seen`."""

        def look():
            return next(((sample,) for sample in self.take() if wanted(sample)), None)

        return until(look, timeout, f"no such message on {self.topic} (among {len(self.seen)})")[0]


class Client:
    """A client of a service."""

    def __init__(self, participant, service, kind, depth=128):
        self.service, self.kind = service, kind
        self.identity, self.sequence = random.getrandbits(63), 0
        profile = qos(depth=depth)
        self.requests = Publisher(participant, f"rq{service}Request", kind.request, profile)
        self.replies = Subscription(participant, f"rr{service}Reply", kind.response, profile)

    def matched(self, timeout=20):
        """Waits until the service is available. Returns self."""
        self.requests.matched(timeout)
        self.replies.matched(timeout)
        return self

    def send(self, request):
        """Sends a request, and returns its number for `answer`."""
        self.sequence += 1
        request.client, request.sequence = self.identity, self.sequence
        self.requests.write(request)
        return self.sequence

    def close(self):
        """Deletes the client, as a node does that continues without it."""
        for entity in (self.requests.writer, self.replies.reader):
            entity.__del__()
            del entity._ref

    def answer(self, number, timeout=20):
        """Waits for the answer to the request with that number."""
        return until(lambda: self.answered(number), timeout, f"no answer from {self.service}")

    def answered(self, number):
        """Returns the answer to the request with that number; `None` if it has not arrived."""
        self.replies.take()
        return next((r for r in self.replies.seen if (r.client, r.sequence) == (self.identity, number)), None)

    def call(self, request, timeout=20):
        """Sends a request and waits for its answer."""
        return self.matched(timeout).answer(self.send(request), timeout)


class Server:
    """A server of a service, which answers in `answer`."""

    def __init__(self, participant, service, kind):
        self.service, self.kind = service, kind
        profile = qos(depth=128)
        self.requests = Subscription(participant, f"rq{service}Request", kind.request, profile)
        self.replies = Publisher(participant, f"rr{service}Reply", kind.response, profile)

    def answer(self, respond, timeout=20):
        """Waits for a request and answers it with `respond(request)`. Returns the request."""
        request = self.requests.wait(timeout=timeout)
        response = respond(request)
        response.client, response.sequence = request.client, request.sequence
        self.replies.matched(timeout).write(response)
        return request


class Peer:
    """A participant in the ROS graph, on loopback."""

    def __init__(self, domain):
        self.participant = DomainParticipant(domain)
        self.clients = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Leaves the graph like a node that shuts down, with all publishers and subscriptions, even if they are still referenced."""
        self.clients.clear()
        if self.participant is None:
            return
        ours = [e for e in list(Entity._entities.values()) if e.participant is self.participant]
        # Delete parts first: DDS crashes on a part that is deleted after its parent.
        for entity in sorted(ours, key=lambda e: (isinstance(e, Topic), e is self.participant)):
            entity.__del__()
            del entity._ref
        self.participant = None

    def publisher(self, topic, kind, **profile):
        return Publisher(self.participant, f"rt{topic}", kind, qos(**profile))

    def subscription(self, topic, kind, **profile):
        return Subscription(self.participant, f"rt{topic}", kind, qos(**profile))

    def client(self, service, kind):
        if service not in self.clients:
            self.clients[service] = Client(self.participant, service, kind)
        return self.clients[service]

    def server(self, service, kind):
        return Server(self.participant, service, kind)

    def announce(self, name, *ends, namespace="/"):
        """Announces that these publishers, subscriptions, clients and servers belong to the node `name`."""
        entities = [getattr(end, part) for end in ends for part in ("writer", "reader") if hasattr(end, part)]
        entities += [e for end in ends if hasattr(end, "requests") for part in (end.requests, end.replies) for e in vars(part).values()]
        writers = [Gid(data=list(e.guid.bytes)) for e in entities if isinstance(e, DataWriter)]
        readers = [Gid(data=list(e.guid.bytes)) for e in entities if isinstance(e, DataReader)]
        node = NodeEntitiesInfo(node_namespace=namespace, node_name=name, reader_gid_seq=readers, writer_gid_seq=writers)
        self.infos = Publisher(self.participant, "ros_discovery_info", ParticipantEntitiesInfo, qos(latched=True, depth=1))
        gid = Gid(data=list(self.participant.guid.bytes))
        self.infos.write(ParticipantEntitiesInfo(gid=gid, node_entities_info_seq=[node]))

    def call(self, service, kind, request, timeout=20):
        return self.client(service, kind).call(request, timeout)

    def nodes(self, wanted=None, timeout=20):
        """Waits until `wanted` is among the announced nodes, and returns their fully qualified names."""
        heard = Subscription(self.participant, "ros_discovery_info", ParticipantEntitiesInfo, qos(latched=True, depth=100))
        names = {}

        def look():
            for info in heard.take():
                nodes = [f"{n.node_namespace.rstrip('/')}/{n.node_name}" for n in info.node_entities_info_seq]
                names[bytes(info.gid.data)] = nodes
            found = {name for nodes in names.values() for name in nodes}
            return found if wanted is None or wanted in found else None

        return until(look, timeout, f"no node {wanted} (found {sorted(names.values())})")
