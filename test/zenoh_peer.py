"""A ROS 2 node on bare Zenoh (`pip install eclipse-zenoh`), as a peer of the bridge in tests.

It speaks like a node under rmw_zenoh_cpp, by its design document (docs/design.md, branch jazzy): data under
`<domain>/<name>/<type>/<hash>`, a liveliness token `@ros2_lv/…` for the node and each of its ends, CDR with an attachment of number,
time and sender, services as complete queryables, latched topics by a publisher with a cache and a subscriber that asks for history.
Messages are those of `ros_peer`, written by CycloneDDS's own CDR. All traffic stays on 127.0.0.1: a router on a separate port, like
`rmw_zenohd`, and sessions that connect to it and listen on free ports.

    with Router() as router, Peer(router, domain=7) as peer:
        description = peer.publisher("/robot_description", String, latched=True)
        description.write(String(data=urdf))
        asset = peer.subscription("/urdf_usd/asset", Asset, latched=True).wait(lambda a: a.robot == "arm")
        answer = peer.call("/convert", Convert, ConvertRequest(urdf=urdf), timeout=20)
"""

import dataclasses
import itertools
import json
import queue
import struct
import threading
import time
from types import SimpleNamespace

import zenoh
from zenoh import ext

import ros_peer
from ros_node import free_port
from ros_peer import until

# Written by rosidl 4.6.5 beside the interfaces of ROS 2 Jazzy, in share/PACKAGE/{msg,srv}/NAME.json; the node's own by its generator
# rosidl_generator_type_description from msg/ and srv/.
HASHES = {
    "diagnostic_msgs/msg/DiagnosticArray": "5a8a36efb05fb25070fa0fb3810290c0e6cd4862b54a8fb975a1ee8dc55a333e",
    "rcl_interfaces/msg/Log": "e28ce254ca8abc06abf92773b74602cdbf116ed34fbaf294fb9f81da9f318eac",
    "rcl_interfaces/msg/ParameterEvent": "043e627780fcad87a22d225bc2a037361dba713fca6a6b9f4b869a5aa0393204",
    "rcl_interfaces/srv/DescribeParameters": "845b484d71eb0673dae682f2e3ba3c4851a65a3dcfb97bddd82c5b57e91e4cff",
    "rcl_interfaces/srv/GetParameterTypes": "da199c878688b3e530bdfe3ca8f74cb9fa0c303101e980a9e8f260e25e1c80ca",
    "rcl_interfaces/srv/GetParameters": "bf9803d5c74cf989a5de3e0c2e99444599a627c7ff75f97b8c05b01003675cbc",
    "rcl_interfaces/srv/ListParameters": "3e6062bfbb27bfb8730d4cef2558221f51a11646d78e7bb30a1e83afac3aad9d",
    "rcl_interfaces/srv/SetParameters": "56eed9a67e169f9cb6c1f987bc88f868c14a8fc9f743a263bc734c154015d7e0",
    "rcl_interfaces/srv/SetParametersAtomically": "0e192ef259c07fc3c07a13191d27002222e65e00ccec653ca05e856f79285fcd",
    "rosgraph_msgs/msg/Clock": "692f7a66e93a3c83e71765d033b60349ba68023a8c689a79e48078bcb5c58564",
    "sensor_msgs/msg/JointState": "a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
    "std_msgs/msg/String": "df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
    "tf2_msgs/msg/TFMessage": "e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087",
    "urdf_usd/msg/Asset": "5b3525babd1fe144cbfc43fef8c15a650e25eb2399059bfbf0d7d9c9fb6b3b4c",
    "urdf_usd/srv/CheckFrames": "4c65ec54f087bd5d220d4fb0e7fb8b615008fab05100150ad48a989aff15317f",
    "urdf_usd/srv/Convert": "4a196eb2900c804f4690e268ffbd48c428171e83e0b20ca17d24496e6556a9d6",
}


def unframed(half):
    """Returns half of a service without the identity that rmw_cyclonedds_cpp sends in front of it."""
    package, kind, name = half.__idl_typename__.split("::")[0], "srv", half.__name__
    members = [f for f in dataclasses.fields(half) if f.name not in ("client", "sequence")]
    types = {f.name: half.__annotations__[f.name] for f in members}
    defaults = {f.name: dataclasses.field(default_factory=f.default_factory) for f in members}
    return ros_peer.struct(package, kind, name, types, defaults)


def service(half_of):
    return SimpleNamespace(request=unframed(half_of.request), response=unframed(half_of.response))


Convert = service(ros_peer.Convert)
CheckFrames = service(ros_peer.CheckFrames)
GetParameters = service(ros_peer.GetParameters)
GetParameterTypes = service(ros_peer.GetParameterTypes)
DescribeParameters = service(ros_peer.DescribeParameters)
ListParameters = service(ros_peer.ListParameters)
SetParameters = service(ros_peer.SetParameters)


def type_name(kind):
    """Returns the type name of a message class (`std_msgs/msg/String`) or a service (`urdf_usd/srv/Convert`)."""
    dds = getattr(kind, "request", kind).__idl_typename__
    package, folder, _, name = dds.replace(".", "::").split("::")
    return f"{package}/{folder}/{name.removesuffix('_').removesuffix('_Request')}"


def dds_name(ros):
    package, folder, name = ros.split("/")
    return f"{package}::{folder}::dds_::{name}_"


def attachment(number, sender):
    return struct.pack("<qqB16s", number, time.time_ns(), 16, sender)


def attached(thing):
    """Returns number, time and sender."""
    number, stamp, length, sender = struct.unpack("<qqB16s", thing.attachment.to_bytes())
    assert length == 16 and abs(stamp - time.time_ns()) < 3600e9, (number, stamp, length)
    return number, stamp, sender


#: Time after which a silent session counts as lost, in milliseconds: the default.
LEASE = 10000


def opened(mode, listen, connect):
    """Opens a session with the settings of rmw_zenoh_cpp's default configuration."""
    config = zenoh.Config()
    for key, value in {
        "mode": mode,
        "listen/endpoints": listen,
        "connect/endpoints": connect,
        "scouting/multicast/enabled": False,
        "scouting/gossip/target": {"router": ["router", "peer"], "peer": ["router"]},
        "timestamping/enabled": True,
        "transport/shared_memory/enabled": False,
        "transport/link/tx/lease": LEASE,
    }.items():
        config.insert_json5(key, json.dumps(value))
    return zenoh.open(config)


class Router:
    """A router like `rmw_zenohd`."""

    def __init__(self, port=None):
        self.address = f"tcp/127.0.0.1:{port or free_port()}"
        self.session = opened("router", [self.address], [])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.session.close()

    @property
    def environment(self):
        """Returns the environment that connects a node to this router, on this machine only."""
        override = f'connect/endpoints=["{self.address}"];listen/endpoints=["tcp/127.0.0.1:0"];transport/link/tx/lease={LEASE}'
        return {"RMW_IMPLEMENTATION": "rmw_zenoh_cpp", "ZENOH_CONFIG_OVERRIDE": override}


class Publisher:
    def __init__(self, peer, topic, kind, latched=False, depth=10):
        self.kind, self.number = kind, itertools.count(1)
        latching = {}
        if latched:
            latching = {
                "cache": ext.CacheConfig(depth),
                "sample_miss_detection": ext.MissDetectionConfig(sporadic_heartbeat=0.5),
                "publisher_detection": True,
            }
        self.publisher = ext.declare_advanced_publisher(peer.session, peer.key(topic, kind), **latching)
        self.name = peer.token_name("MP", topic, kind, latched, depth)
        self.token = peer.session.liveliness().declare_token(self.name)
        self.sender = struct.pack("<QQ", hash(topic) & 0xFFFF, id(self))

    def write(self, sample):
        self.publisher.put(sample.serialize(), attachment=attachment(next(self.number), self.sender))

    def close(self):
        self.token.undeclare()
        self.publisher.undeclare()


class Subscription:
    def __init__(self, peer, topic, kind, latched=False, depth=10):
        self.topic, self.kind, self.seen, self.senders = topic, kind, [], set()
        self.heard, self.lock = queue.SimpleQueue(), threading.Lock()
        history = {}
        if latched:
            history = {
                "history": ext.HistoryConfig(detect_late_publishers=True, max_samples=depth),
                "recovery": ext.RecoveryConfig(heartbeat=True),
                "subscriber_detection": True,
            }
        self.subscriber = ext.declare_advanced_subscriber(peer.session, peer.key(topic, kind), self.heard.put, **history)
        self.token = peer.token("MS", topic, kind, latched, depth)

    def take(self):
        """Returns the messages since the last call."""
        new = []
        while not self.heard.empty():
            sample = self.heard.get()
            self.senders.add(attached(sample)[2])
            new.append(self.kind.deserialize(sample.payload.to_bytes()))
        self.seen += new
        return new

    def wait(self, wanted=lambda sample: True, timeout=20):
        """Waits for the first message for which `wanted` is true."""
        look = lambda: next(((sample,) for sample in self.take() if wanted(sample)), None)  # noqa: E731
        return until(look, timeout, f"no such message on {self.topic} (among {len(self.seen)})")[0]


class Server:
    """A server that answers immediately."""

    def __init__(self, peer, name, kind, answer):
        self.requests = []

        def hear(query):
            with query:
                number, _, sender = attached(query)
                request = kind.request.deserialize(query.payload.to_bytes())
                self.requests.append(request)
                query.reply(query.key_expr, answer(request).serialize(), attachment=attachment(number, sender))

        self.queryable = peer.session.declare_queryable(peer.key(name, kind), hear, complete=True)
        self.token = peer.token("SS", name, kind)


class Peer:
    """A node in a separate session."""

    def __init__(self, router, domain, name="peer", namespace="/"):
        self.domain, self.name, self.namespace, self.numbers = domain, name, namespace, itertools.count(1)
        self.session = opened("peer", ["tcp/127.0.0.1:0"], [router.address])
        liveliness = self.session.liveliness()
        self.tokens, self.lock = {}, threading.Lock()
        self.listener = liveliness.declare_subscriber(f"@ros2_lv/{domain}/**", self._hear, history=True)
        self.own = liveliness.declare_token(f"{self._origin(0, 'NN')}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.session.close()

    def _hear(self, sample):
        with self.lock:
            if sample.kind == zenoh.SampleKind.PUT:
                self.tokens[str(sample.key_expr)] = str(sample.key_expr).split("/")
            else:
                self.tokens.pop(str(sample.key_expr), None)

    def _origin(self, number, kind):
        space = self.namespace.replace("/", "%")
        return f"@ros2_lv/{self.domain}/{self.session.info.zid()}/0/{number}/{kind}/%/{space}/{self.name}"

    def key(self, name, kind):
        ros = type_name(kind)
        return f"{self.domain}{name}/{dds_name(ros)}/RIHS01_{HASHES[ros]}"

    def token(self, *end, **qos):
        return self.session.liveliness().declare_token(self.token_name(*end, **qos))

    def token_name(self, kind, name, of, latched=False, depth=10):
        ros = type_name(of)
        mangled = name.replace("/", "%")
        qos = f":{1 if latched else ''}:,{depth}:,:,:,,"
        return f"{self._origin(next(self.numbers), kind)}/{mangled}/{dds_name(ros)}/RIHS01_{HASHES[ros]}/{qos}"

    def ends(self, node, wanted=None, timeout=20):
        """Waits until `wanted` is among the endpoints of a node (`/ns/name`), and returns them as (kind, name, type, hash, QoS). With None, waits
        until the node is gone."""
        namespace, name = node.rsplit("/", 1)

        def look():
            with self.lock:
                of_node = [t for t in self.tokens.values() if (t[7].replace("%", "/").rstrip("/"), t[8]) == (namespace, name)]
            found = {(t[5], *(part.replace("%", "/") for part in t[9:13])) for t in of_node if t[5] != "NN"}
            return (found,) if wanted is None or any(wanted(*end) for end in found) else None

        return until(look, timeout, f"{node} has no such end")[0]

    def nodes(self, wanted=None, timeout=20):
        """Waits until `wanted` is among the nodes, and returns their fully qualified names."""

        def look():
            with self.lock:
                found = {f"{t[7].replace('%', '/').rstrip('/')}/{t[8]}" for t in self.tokens.values() if t[5] == "NN"}
            return found if wanted is None or wanted in found else None

        return until(look, timeout, f"no node {wanted}")

    def publisher(self, topic, kind, **profile):
        return Publisher(self, topic, kind, **profile)

    def subscription(self, topic, kind, **profile):
        return Subscription(self, topic, kind, **profile)

    def server(self, name, kind, answer):
        return Server(self, name, kind, answer)

    def call(self, name, kind, request, timeout=20):
        """Waits for a service and calls it."""
        ros = type_name(kind)

        def is_there():
            with self.lock:
                return any(t[5] == "SS" and (t[9].replace("%", "/"), t[10]) == (name, dds_name(ros)) for t in self.tokens.values())

        until(is_there, timeout, f"no service {name} of type {ros}")
        sender = struct.pack("<QQ", 7, id(request))
        replies = self.session.get(
            self.key(name, kind),
            target=zenoh.QueryTarget.ALL_COMPLETE,
            consolidation=zenoh.ConsolidationMode.NONE,
            timeout=float(timeout),
            payload=request.serialize(),
            attachment=attachment(5, sender),
        )
        for reply in replies:
            if reply.ok is None:
                raise TimeoutError(f"{name}: {reply.err.payload.to_string()}")
            number, _, to = attached(reply.ok)
            assert (number, to) == (5, sender)
            return kind.response.deserialize(reply.ok.payload.to_bytes())
        raise TimeoutError(f"no answer from {name}")
