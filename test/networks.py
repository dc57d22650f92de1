"""Tests a node whose network changes. Runs in a separate network namespace: `unshare -rn python test/networks.py FOLDER moves|goes`.

Before and after the change, a latched description becomes an asset that its publisher receives, and a call is answered. moves: the
addresses of the machine change. goes: the network goes down, and comes back with another address.
"""

import fcntl
import socket
import struct
import sys
from pathlib import Path

SIOCGIFFLAGS, SIOCSIFFLAGS, SIOCSIFADDR, IFF_UP = 0x8913, 0x8914, 0x8916, 1


def set_address(interface, address):
    """Sets the address of an interface, and brings it up."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = interface.encode()
        fcntl.ioctl(control, SIOCSIFADDR, struct.pack("16sH2x4s8x", name, socket.AF_INET, socket.inet_aton(address)))
        (flags,) = struct.unpack_from("H", fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sH14x", name, 0)), 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags | IFF_UP))


def take_down(interface):
    """Takes an interface down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        name = interface.encode()
        (flags,) = struct.unpack_from("H", fcntl.ioctl(control, SIOCGIFFLAGS, struct.pack("16sH14x", name, 0)), 16)
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH14x", name, flags & ~IFF_UP))


def main(folder, what):
    set_address("lo", "127.0.0.1")
    set_address("lo:1", "10.9.8.1")
    from ros_node import PATIENCE, Node, box, description
    from ros_peer import Asset, GetParameters, Peer, String

    environment = {"ROS_LOG_DIR": str(folder / "logs"), "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    node = Node(1, folder / "out", folder / "log.txt", environment=environment)
    try:
        with Peer(1) as peer:
            topic = description(peer, box("before"))
            assets = peer.subscription("/urdf_usd/asset", Asset, latched=True, depth=100)
            assets.wait(lambda asset: asset.robot == "before", PATIENCE)
            if what == "goes":
                take_down("lo")
                node.logged("have changed, and joining the ROS graph again failed")
                set_address("lo", "127.0.0.1")
            set_address("lo:1", "10.9.8.2")
            node.logged("have changed: joined the ROS graph again")
            topic.write(String(data=box("after")))
            assets.wait(lambda asset: asset.robot == "after", PATIENCE)
            answer = peer.call("/urdf_usd/get_parameters", GetParameters, GetParameters.request(names=["settle_time"]), PATIENCE)
            assert [value.value for value in answer.values] == [0.05]
    finally:
        node.kill()
        print(node.log)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
