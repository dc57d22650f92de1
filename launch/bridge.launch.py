"""Starts the bridge.

ros2 launch urdf_usd bridge.launch.py namespace:=left output_dir:=/tmp/assets discover:=true
ros2 launch urdf_usd bridge.launch.py params_file:=my.yaml description_topic:=/left/robot_description viewer:=false

Every parameter of the node is an argument of the same name. Those not given come from params_file, else from config/bridge.yaml.
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

# Name, type, default, description, rule and choices of every parameter; generated from the source, like bridge.yaml.
PARAMETERS = json.loads((CONFIG / "parameters.json").read_text()) + [
    {
        "name": "use_sim_time",
        "type": "bool",
        "default": False,
        "description": "Use the time of /clock.",
        "rule": "",
        "choices": [],
    }
]

# Arguments that launch and launch_ros read themselves.
LAUNCH_ARGUMENTS = {"launch-prefix", "launch-prefix-filter", "emulate_tty", "sigterm_timeout", "sigkill_timeout", "ros_namespace"}

OWN_ARGUMENTS = [
    DeclareLaunchArgument("name", default_value="urdf_usd", description="Name of the node."),
    DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node."),
    DeclareLaunchArgument("params_file", default_value="", description="A parameter file with the values that differ from the defaults."),
    DeclareLaunchArgument("description_topic", default_value="", description="Topic of the robot description."),
    DeclareLaunchArgument(
        "viewer", default_value="true", choices=["true", "false"], description="Serve the viewer and the assets over HTTP."
    ),
    DeclareLaunchArgument(
        "respawn", default_value="false", choices=["true", "false"], description="Restart the node if it exits on its own."
    ),
    DeclareLaunchArgument("log_level", default_value="info", description="Log level: debug, info, warn, error or fatal."),
]


def format_value(value):
    """Formats a default value as an argument."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(value)}]"
    return str(value)


def argument(parameter):
    rule = f" ({parameter['rule']})" if parameter["rule"] else ""
    return DeclareLaunchArgument(
        parameter["name"],
        default_value=format_value(parameter["default"]),
        description=parameter["description"] + rule,
        choices=parameter["choices"] or None,
    )


def parse_value(parameter, text):
    """Parses the text of an argument for a parameter."""
    name, kind = parameter["name"], parameter["type"]

    def error(why):
        return RuntimeError(f"{name}:={text}: {why}")

    if kind == "string":
        return "" if text in ("''", '""') else text
    if kind == "string array":
        if not text.lstrip().startswith("["):
            return [text]
        # BaseLoader keeps items such as 1 and yes as strings.
        items = yaml.load(text, Loader=yaml.BaseLoader)
        if not all(isinstance(item, str) for item in items):
            raise error("write a list of strings, such as [a, b]")
        return items
    try:
        value = yaml.safe_load(text)
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind != "bool" and not isinstance(value, bool):
            return {"integer": int, "double": float}[kind](text)
    except (ValueError, yaml.YAMLError):
        pass
    raise error(f"expected a value of type {kind}, such as {format_value(parameter['default'])}")


def mark_string(parameter):
    """Marks a string for launch_ros, which would otherwise parse it as YAML."""
    return ParameterValue(parameter, value_type=str) if isinstance(parameter, str) else parameter


def generate_launch_description():
    declared = OWN_ARGUMENTS + [argument(parameter) for parameter in PARAMETERS]
    names = {one.name for one in declared}
    given = {}

    def collect(context):
        """Collects the given arguments before defaults are set, and rejects unknown ones."""
        present = dict(context.launch_configurations)
        given.clear()
        given.update({name: text for name, text in present.items() if name in names})
        warnings = []
        # If another launch file includes this one, its arguments are here too: then warn only of probable misspellings.
        is_included = set(present) != {text.split(":=")[0] for text in context.argv if ":=" in text}
        for name in sorted(set(present) - names - LAUNCH_ARGUMENTS):
            near = difflib.get_close_matches(name, names, cutoff=0.8)
            hint = f" Did you mean {' or '.join(near)}?" if near else " --show-args lists the arguments."
            message = f"bridge.launch.py has no argument {name}.{hint}"
            if not is_included:
                raise RuntimeError(message)
            if near:
                warnings.append(LogInfo(msg=f"[bridge.launch.py] warning: {message}"))
        return warnings

    def start(context):
        def value(name):
            return LaunchConfiguration(name).perform(context)

        own = {p["name"]: parse_value(p, given[p["name"]]) for p in PARAMETERS if p["name"] in given}
        for name in [name for name, parameter in own.items() if parameter == []]:
            # launch_ros cannot pass empty lists; most lists are empty by default.
            if value("params_file") or name == "formats":
                raise RuntimeError(f"{name}:=[]: an empty list cannot be passed; omit the argument, and any entry in params_file")
            del own[name]
        own = {name: mark_string(parameter) for name, parameter in own.items()}
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
            # The node exits at once, without waiting for conversions: assets are replaced atomically.
            sigterm_timeout="5",
            sigkill_timeout="5",
        )
        # Unset the defaults, so that another inclusion of this file can distinguish them from given arguments.
        return [node, *(UnsetLaunchConfiguration(name) for name in sorted(names - set(given)))]

    return LaunchDescription([OpaqueFunction(function=collect), *declared, OpaqueFunction(function=start)])
