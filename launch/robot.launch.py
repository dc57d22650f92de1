"""Starts a robot from its URDF or xacro file: robot_state_publisher, sliders for the joints, the bridge, and RViz.

ros2 launch urdf_usd robot.launch.py model:=$PWD/arm.urdf
ros2 launch urdf_usd robot.launch.py model:=$PWD/arm.urdf.xacro rviz:=false formats:=[usd,glb]

The arguments of bridge.launch.py are taken as well.
"""

import os
import xml.etree.ElementTree as ElementTree

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription, OpaqueFunction
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import Command, LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

SHARE = get_package_share_directory("urdf_usd")


def read_description(context, path):
    """Returns the URDF in a file, expanded if it is a xacro file."""
    if not os.path.isfile(path):
        raise RuntimeError(f"model:={path}: there is no such file")
    if path.endswith(".xacro"):
        return Command(["xacro ", path]).perform(context)
    with open(path, encoding="utf-8") as file:
        return file.read()


def find_root_link(description):
    """Returns the link that is no joint's child: the frame that RViz shows everything in."""
    robot = ElementTree.fromstring(description)
    children = {child.get("link") for child in robot.iterfind("joint/child")}
    links = [link.get("name") for link in robot.iterfind("link")]
    return next((link for link in links if link not in children), links[0])


def start(context):
    path = LaunchConfiguration("model").perform(context)
    try:
        description = read_description(context, path)
        root = find_root_link(description)
    except (ElementTree.ParseError, IndexError, UnicodeDecodeError) as error:
        raise RuntimeError(f"model:={path}: not a URDF with links ({error})") from None
    parameters = [{"robot_description": ParameterValue(description, value_type=str)}]
    sliders = LaunchConfiguration("sliders").perform(context) == "true"
    nodes = [
        Node(package="robot_state_publisher", executable="robot_state_publisher", parameters=parameters),
        Node(
            package="joint_state_publisher_gui" if sliders else "joint_state_publisher",
            executable="joint_state_publisher_gui" if sliders else "joint_state_publisher",
        ),
    ]
    if LaunchConfiguration("rviz").perform(context) == "true":
        config = os.path.join(SHARE, "rviz", "robot.rviz")
        nodes.append(Node(package="rviz2", executable="rviz2", arguments=["-d", config, "-f", root]))
    return nodes


def generate_launch_description():
    switch = {"choices": ["true", "false"], "default_value": "true"}
    return LaunchDescription(
        [
            DeclareLaunchArgument("model", description="The robot's URDF or xacro file."),
            DeclareLaunchArgument("sliders", description="Set joints by sliders instead of leaving them at rest.", **switch),
            DeclareLaunchArgument("rviz", description="Start RViz.", **switch),
            OpaqueFunction(function=start),
            IncludeLaunchDescription(PythonLaunchDescriptionSource(os.path.join(SHARE, "launch", "bridge.launch.py"))),
        ]
    )
