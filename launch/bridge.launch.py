"""Starts the bridge.

ros2 launch urdf_usd bridge.launch.py namespace:=left output_dir:=/tmp/assets
ros2 launch urdf_usd bridge.launch.py params_file:=my.yaml description_topic:=/left/robot_description viewer:=false
"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare

# Launch arguments that stand for parameters: argument, parameter, type, what it is. Left empty, the parameter files decide.
PARAMETERS = (
    ("output_dir", "output_dir", str, "Where assets are written."),
    # Not ros_namespace: launch would put the node there.
    ("asset_namespace", "ros_namespace", str, "The ROS namespace that assets declare for their robot."),
    ("http_port", "http.port", int, "The TCP port of the viewer and the assets; 0: none."),
    ("use_sim_time", "use_sim_time", bool, "Whether time comes from /clock."),
)


def start(context):
    def value(name):
        return LaunchConfiguration(name).perform(context)

    given = {
        parameter: ParameterValue(LaunchConfiguration(argument), value_type=kind)
        for argument, parameter, kind, _ in PARAMETERS
        if value(argument)
    }
    if value("viewer") == "false":
        given["http.port"] = 0
    defaults = PathJoinSubstitution([FindPackageShare("urdf_usd"), "config", "bridge.yaml"])
    return [
        Node(
            package="urdf_usd",
            executable="bridge",
            name=value("name"),
            namespace=value("namespace"),
            parameters=[defaults] + [path for path in [value("params_file")] if path] + ([given] if given else []),
            remappings=[("robot_description", topic) for topic in [value("description_topic")] if topic],
            ros_arguments=["--log-level", value("log_level")],
            output="screen",
            emulate_tty=True,
            respawn=value("respawn") == "true",
            respawn_delay=2.0,
            # It ends at once; conversions under way are left, since assets are whole at any moment.
            sigterm_timeout="5",
            sigkill_timeout="5",
        )
    ]


def generate_launch_description():
    arguments = [
        DeclareLaunchArgument("name", default_value="urdf_usd", description="The node's name."),
        DeclareLaunchArgument("namespace", default_value="", description="The node's namespace."),
        DeclareLaunchArgument("params_file", default_value="", description="A parameter file; only what differs from the defaults."),
        DeclareLaunchArgument("description_topic", default_value="", description="The topic of the robot's description."),
        DeclareLaunchArgument(
            "viewer", default_value="true", choices=["true", "false"], description="Whether to serve the viewer and the assets."
        ),
        DeclareLaunchArgument(
            "respawn", default_value="false", choices=["true", "false"], description="Whether to start it again if it ends by itself."
        ),
        DeclareLaunchArgument("log_level", default_value="info", description="debug, info, warn, error or fatal."),
    ]
    arguments += [DeclareLaunchArgument(name, default_value="", description=text) for name, _, _, text in PARAMETERS]
    return LaunchDescription(arguments + [OpaqueFunction(function=start)])
