"""Starts the bridge.

ros2 launch urdf_usd bridge.launch.py namespace:=left output_dir:=/tmp/assets discover:=true
ros2 launch urdf_usd bridge.launch.py params_file:=my.yaml description_topic:=/left/robot_description viewer:=false

Every parameter of the node is an argument of the same name. What is not given comes from params_file, then from config/bridge.yaml.
"""

import difflib
import json
from pathlib import Path

import yaml
from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, UnsetLaunchConfiguration
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

CONFIG = Path(get_package_share_directory("urdf_usd")) / "config"

# name, type, default, description, rule, choices of every parameter: made from the source, like bridge.yaml.
PARAMETERS = json.loads((CONFIG / "parameters.json").read_text()) + [
    {
        "name": "use_sim_time",
        "type": "bool",
        "default": False,
        "description": "Whether time comes from /clock.",
        "rule": "",
        "choices": [],
    }
]

# What launch and launch_ros themselves take from arguments of these names.
OF_LAUNCH = {"launch-prefix", "launch-prefix-filter", "emulate_tty", "sigterm_timeout", "sigkill_timeout", "ros_namespace"}

OWN_ARGUMENTS = [
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


def written(value):
    """A default as people write it in an argument."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return str(value)


def argument(parameter):
    rule = f" ({parameter['rule']})" if parameter["rule"] else ""
    return DeclareLaunchArgument(
        parameter["name"],
        default_value=written(parameter["default"]),
        description=parameter["description"] + rule,
        choices=parameter["choices"] or None,
    )


def parsed(parameter, text):
    """The value that `text` means for a parameter."""
    name, kind = parameter["name"], parameter["type"]

    def refused(why):
        return RuntimeError(f"{name}:={text}: {why}")

    if kind == "string":
        return "" if text in ("''", '""') else text
    if kind == "string array":
        if not text.lstrip().startswith("["):
            return [text]
        # Texts as they are written: 1 and yes, too, are texts here.
        items = yaml.load(text, Loader=yaml.BaseLoader)
        if not all(isinstance(item, str) for item in items):
            raise refused("write a list of texts, such as [a, b]")
        return items
    try:
        value = yaml.safe_load(text)
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind != "bool" and not isinstance(value, bool):
            return {"integer": int, "double": float}[kind](text)
    except (ValueError, yaml.YAMLError):
        pass
    raise refused(f"it takes a value of type {kind}, such as {written(parameter['default'])}")


def typed(parameter):
    """The same for launch_ros, which takes a text for YAML unless it is told otherwise."""
    return ParameterValue(parameter, value_type=str) if isinstance(parameter, str) else parameter


def generate_launch_description():
    declared = OWN_ARGUMENTS + [argument(parameter) for parameter in PARAMETERS]
    names = {one.name for one in declared}
    given = {}

    def take(context):
        """Before defaults are set: what was given, and whether all of it means something."""
        present = dict(context.launch_configurations)
        given.clear()
        given.update({name: text for name, text in present.items() if name in names})
        told = []
        # Included by another launch file, its arguments are here, too. Then only what looks like one of these is told.
        is_included = set(present) != {text.split(":=")[0] for text in context.argv if ":=" in text}
        for name in sorted(set(present) - names - OF_LAUNCH):
            near = difflib.get_close_matches(name, names, cutoff=0.8)
            meant = f" Did you mean {' or '.join(near)}?" if near else " --show-args lists the arguments."
            message = f"bridge.launch.py has no argument {name}.{meant}"
            if not is_included:
                raise RuntimeError(message)
            if near:
                told.append(LogInfo(msg=f"[bridge.launch.py] warning: {message}"))
        return told

    def start(context):
        def value(name):
            return LaunchConfiguration(name).perform(context)

        own = {p["name"]: parsed(p, given[p["name"]]) for p in PARAMETERS if p["name"] in given}
        for name in [name for name, parameter in own.items() if parameter == []]:
            # The default of most lists, so there is nothing to pass on. launch_ros knows no empty lists.
            if value("params_file") or name == "formats":
                raise RuntimeError(f"{name}:=[]: an empty list can't be passed on; leave it out of params_file, too")
            del own[name]
        own = {name: typed(parameter) for name, parameter in own.items()}
        if value("viewer") == "false":
            own["http.port"] = 0
        files = [path for path in (str(CONFIG / "bridge.yaml"), value("params_file")) if path]
        node = Node(
            package="urdf_usd",
            executable="bridge",
            name=value("name"),
            namespace=value("namespace"),
            parameters=files + ([own] if own else []),
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
        # Another inclusion of this file has to tell what it is given from these defaults.
        return [node, *(UnsetLaunchConfiguration(name) for name in sorted(names - set(given)))]

    return LaunchDescription([OpaqueFunction(function=take), *declared, OpaqueFunction(function=start)])
