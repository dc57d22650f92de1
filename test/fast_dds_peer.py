"""A real ROS 2 node on Fast DDS, in a separate environment (test/requirements-ros.txt). It prints a line of JSON for every received message.

    python fast_dds_peer.py describe NAME BYTES     publishes a latched description, padded to BYTES
    python fast_dds_peer.py listen                  prints the lengths and beginnings of descriptions
    python fast_dds_peer.py call SERVICE            calls GetParameters, and prints the statuses of /diagnostics named "… services"
    python fast_dds_peer.py parameter NAME          offers a description only as its parameter

Each command runs until it is terminated.
"""

import json
import sys

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import GetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


def robot(name, size=0):
    text = f'<robot name="{name}"><link name="base"><visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>'
    return text.replace("</robot>", f"<!--{'x' * max(0, size - len(text) - 7)}--></robot>") if size else text


def tell(**what):
    print(json.dumps(what), flush=True)


def main(command, *arguments):
    rclpy.init()
    node = rclpy.create_node("fast_dds_peer")
    if command == "describe":
        name, size = arguments
        publisher = node.create_publisher(String, "/robot_description", LATCHED)
        publisher.publish(String(data=robot(name, int(size))))
    elif command == "listen":
        node.create_subscription(String, "/robot_description", lambda m: tell(length=len(m.data), text=m.data[:200]), LATCHED)
    elif command == "call":
        client = node.create_client(GetParameters, arguments[0])
        hear = lambda m: [tell(level=s.level[0], name=s.name, message=s.message) for s in m.status if s.name.endswith("services")]  # noqa: E731
        node.create_subscription(DiagnosticArray, "/diagnostics", hear, 10)
        client.wait_for_service()
        client.call_async(GetParameters.Request(names=["settle_time"])).add_done_callback(lambda _: tell(answered=True))
    elif command == "parameter":
        node.declare_parameter("robot_description", robot(arguments[0]))
    tell(ready=rclpy.get_rmw_implementation_identifier())
    rclpy.spin(node)


if __name__ == "__main__":
    main(*sys.argv[1:])
