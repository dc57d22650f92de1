"""Rules about the controllers of the schema registry (ros-simulation/openusd-schemas, extensions): OpenUSD composes a converted robot
with controllers and judges them by the drafts; `urdf_usd check` must report the same properties."""

import json
import math

import pytest
from pxr import Sdf, Usd, UsdPhysics

from conftest import run
from stage import applied, value

#: The rules of controllers and sensors, of ROS names, and of payloads.
RULES = ("REP158-1.2.10", "REP158-2.2.9", "REP158-2.2.10", "REP158-4.2.*")

WHEELS = "".join(
    f"""<link name="{name}_wheel"><inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
      <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
    <joint name="{name}_joint" type="{kind}"><parent link="base"/><child link="{name}_wheel"/><origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" effort="5" velocity="9"/></joint>"""
    for name, kind, x, y in (("left", "continuous", 0, 0.2), ("right", "continuous", 0, -0.2), ("tail", "continuous", -0.4, 0),
                            ("spare", "continuous", -0.2, 0.2), ("arm", "revolute", 0.4, 0))
)  # fmt: skip
ROBOT = f"""<robot name="cart"><link name="base"><inertial><mass value="4"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <collision><geometry><box size="0.4 0.3 0.1"/></geometry></collision></link>{WHEELS}
  <gazebo><plugin name="drive" filename="libgazebo_ros_diff_drive.so"><publish_odom>true</publish_odom></plugin></gazebo>
  <gazebo reference="base"><sensor name="front" type="camera"><update_rate>30</update_rate><camera/></sensor></gazebo>
  <ros2_control name="hardware" type="system">
    <joint name="left_joint"><command_interface name="velocity"/></joint>
    <joint name="right_joint"><command_interface name="velocity"/></joint>
    <joint name="spare_joint"><command_interface name="velocity"/></joint>
    <joint name="arm_joint"><command_interface name="position"/></joint>
  </ros2_control></robot>"""

TYPES = {
    "ros:diff_drive:subscriber": ("RosTopicAPI", "topic", "subscription", "geometry_msgs/msg/Twist"),
    "ros:diff_drive:odom": ("RosTopicAPI", "topic", "publisher", "nav_msgs/msg/Odometry"),
    "ros:joint_trajectory:server": ("RosActionAPI", "action", "server", "control_msgs/action/FollowJointTrajectory"),
    "ros:joint_state_broadcaster:publisher": ("RosTopicAPI", "topic", "publisher", "sensor_msgs/msg/JointState"),
    "ros:rigid_body_twist:subscriber": ("RosTopicAPI", "topic", "subscription", "geometry_msgs/msg/Twist"),
}
LISTS = ("ros:diff_drive:left_wheels", "ros:diff_drive:right_wheels", "ros:joint_trajectory:command_joints", "ros:joint_state_broadcaster:joints")
#: Attributes by the least value: above it, or from it.
ABOVE = ("wheel_separation", "wheel_radius", "max_velocity", "max_acceleration", "action_monitor_rate")
FROM = ("cmd_vel_timeout", "stopped_velocity_tolerance", "timeout")
REQUIRED = {
    "RosControlDiffDriveAPI": ("subscriber", "left_wheels", "right_wheels", "wheel_separation", "wheel_radius"),
    "RosControlJointTrajectoryAPI": ("server", "command_joints"),
    "RosControlJointStateBroadcasterAPI": ("publisher", "joints"),
    "RosControlRigidBodyTwistAPI": ("subscriber", "body"),
}
PREFIXES = {
    "RosControlDiffDriveAPI": "ros:diff_drive:",
    "RosControlJointTrajectoryAPI": "ros:joint_trajectory:",
    "RosControlJointStateBroadcasterAPI": "ros:joint_state_broadcaster:",
    "RosControlRigidBodyTwistAPI": "ros:rigid_body_twist:",
}


def turns(prim):
    """Returns whether a prim is a joint with an angular drive."""
    return prim.IsA(UsdPhysics.RevoluteJoint) and bool(UsdPhysics.DriveAPI.Get(prim, "angular"))


def moves(prim):
    return prim.IsA(UsdPhysics.RevoluteJoint) or prim.IsA(UsdPhysics.PrismaticJoint)


def judged(stage):
    """Returns the faults of the registry's controllers by OpenUSD: rule, prim and property."""
    faults = set()
    for prim in stage.Traverse():
        for schema in set(applied(prim)) & set(PREFIXES):
            add = lambda rule, name: faults.add((rule, str(prim.GetPath()), name))
            prefix = PREFIXES[schema]
            targets = {r.GetName(): [stage.GetPrimAtPath(p) for p in r.GetTargets()] for r in prim.GetRelationships() if r.GetName().startswith(prefix)}
            numbers = {a.GetName(): a.Get() for a in prim.GetAttributes() if a.GetName().startswith(prefix)}
            for last in REQUIRED[schema]:
                if not targets.get(prefix + last) and numbers.get(prefix + last) is None:
                    add("4.2.16", prefix + last)
            for name, found in targets.items():
                if len(found) > 1 and name not in LISTS:
                    add("4.2.16", name)
                for target in found:
                    if name in TYPES:
                        api, kind, role, type_name = TYPES[name]
                        if api not in applied(target) or value(target, f"ros:{kind}:role") != role:
                            add("4.2.16", name)
                        elif value(target, f"ros:{kind}:type") != type_name:
                            add("4.2.17", name)
                    elif name.endswith("_wheels") and not turns(target):
                        add("4.2.16", name)
                    elif name.endswith("command_joints") and not moves(target):
                        add("4.2.16", name)
                    elif name.endswith("body") and not target.HasAPI(UsdPhysics.RigidBodyAPI):
                        add("4.2.16", name)
                    elif name.endswith("command_joints") and not UsdPhysics.DriveAPI.GetAll(target):
                        add("4.2.18", "")
            left, right = (targets.get(f"{prefix}{side}_wheels", []) for side in ("left", "right"))
            if left and right and (len(left) != len(right) or set(left) & set(right)):
                add("4.2.16", f"{prefix}right_wheels")
            for name, number in numbers.items():
                last = name.rsplit(":", 1)[1]
                if not (number > 0 if last in ABOVE else number >= 0) or last.startswith("wheel") and math.isinf(number):
                    add("4.2.16", name)
    return faults


def reported(entry):
    done = run("check", entry, "--format", "json", *(f"--select={rule}" for rule in RULES))
    found = json.loads(done.stdout)["diagnostics"]
    places = (d["where"]["element"].partition(".") for d in found)
    return {(d["code"].removeprefix("REP158-"), prim, name) for d, (prim, _, name) in zip(found, places)}


@pytest.fixture(scope="module")
def cart(tmp_path_factory):
    """Returns the entry of a converted robot, and its prims by name."""
    folder = tmp_path_factory.mktemp("cart")
    (folder / "cart.urdf").write_text(ROBOT)
    done = run("convert", folder / "cart.urdf", "-o", folder / "out")
    assert done.returncode == 0, done.stderr
    entry = folder / "out" / "cart" / "cart.usda"
    stage = Usd.Stage.Open(str(entry))
    named = {prim.GetName(): prim.GetPath() for prim in stage.Traverse()}
    interfaces = {value(prim, "ros:topic:name") or value(prim, "ros:action:name"): prim.GetPath() for prim in stage.Traverse()}
    return entry, named, interfaces


def controlled(cart, file):
    """Writes a layer with three controllers above the robot; returns the stage."""
    entry, named, interfaces = cart
    layer = Sdf.Layer.CreateNew(str(file))
    layer.subLayerPaths = [str(entry)]
    stage = Usd.Stage.Open(layer)
    stage.SetDefaultPrim(stage.GetPrimAtPath("/cart"))
    drive, arm, states = (stage.DefinePrim(f"/cart/Controllers/{name}", "Scope") for name in ("drive", "arm", "states"))

    def fill(prim, schema, **properties):
        prim.AddAppliedSchema(schema)
        for last, written in properties.items():
            name = PREFIXES[schema] + last
            if isinstance(written, float):
                prim.CreateAttribute(name, Sdf.ValueTypeNames.Double, False, Sdf.VariabilityUniform).Set(written)
            else:
                prim.CreateRelationship(name, False).SetTargets(written)

    fill(drive, "RosControlDiffDriveAPI", subscriber=[interfaces["cmd_vel"]], odom=[interfaces["odom"]], left_wheels=[named["left_joint"]],
         right_wheels=[named["right_joint"]], wheel_separation=0.4, wheel_radius=0.1, cmd_vel_timeout=0.5)  # fmt: skip
    action = next(path for name, path in interfaces.items() if name and name.endswith("follow_joint_trajectory"))
    fill(arm, "RosControlJointTrajectoryAPI", server=[action], command_joints=[named["arm_joint"]], action_monitor_rate=20.0, timeout=0.0)
    fill(states, "RosControlJointStateBroadcasterAPI", publisher=[interfaces["joint_states"]], joints=[named["arm_joint"], named["tail_joint"]])
    return stage


#: A property of a controller, and its wrong value: joints and interfaces by name, or a number.
FAULTS = {
    "an undriven wheel": ("drive", "right_wheels", ["tail_joint"]),
    "a link as a wheel": ("drive", "right_wheels", ["right_wheel"]),
    "one wheel on both sides": ("drive", "right_wheels", ["left_joint"]),
    "more wheels on one side": ("drive", "right_wheels", ["right_joint", "spare_joint"]),
    "no wheels": ("drive", "right_wheels", []),
    "a publisher to subscribe to": ("drive", "subscriber", ["odom"]),
    "two subscriptions": ("drive", "subscriber", ["cmd_vel", "joint_trajectory"]),
    "another type": ("drive", "subscriber", ["joint_trajectory"]),
    "another type of odometry": ("drive", "odom", ["joint_states"]),
    "no odometry": ("drive", "odom", []),
    "no radius": ("drive", "wheel_radius", 0.0),
    "an endless radius": ("drive", "wheel_radius", math.inf),
    "a negative timeout": ("drive", "cmd_vel_timeout", -0.5),
    "a joint without drive": ("arm", "command_joints", ["tail_joint"]),
    "a link to move": ("arm", "command_joints", ["base"]),
    "a topic as a server": ("arm", "server", ["cmd_vel"]),
    "no rate": ("arm", "action_monitor_rate", 0.0),
    "no publisher": ("states", "publisher", []),
}


def test_controllers_of_the_registry(cart, tmp_path):
    """The converter's interfaces and drives suit the controllers of the drafts, and each fault is reported where OpenUSD finds it."""
    entry, named, interfaces = cart
    assert reported(entry) == set()
    stage = controlled(cart, tmp_path / "good.usda")
    stage.Save()
    assert judged(stage) == set() and reported(tmp_path / "good.usda") == set()
    path_of = lambda name: named.get(name) or next(path for key, path in interfaces.items() if key and key.rsplit("/", 1)[-1] == name)
    silent = []
    for index, (fault, (controller, last, wrong)) in enumerate(FAULTS.items()):
        file = tmp_path / f"bad{index}.usda"
        stage = controlled(cart, file)
        prim = stage.GetPrimAtPath(f"/cart/Controllers/{controller}")
        name = next(n for n in prim.GetPropertyNames() if n.endswith(":" + last))
        if isinstance(wrong, float):
            prim.GetAttribute(name).Set(wrong)
        else:
            prim.GetRelationship(name).SetTargets([path_of(target) for target in wrong])
        stage.Save()
        expected = judged(stage)
        assert reported(file) == expected, fault
        silent += [] if expected else [fault]
    # The odometry of a diff drive is optional.
    assert silent == ["no odometry"]


def test_names_of_drafts_and_articulation_roots_in_payloads(cart, tmp_path):
    """Old names are reported with their present ones; an articulation root with a payload is, as by the head of the public checker."""
    stage = controlled(cart, tmp_path / "old.usda")
    prim = stage.DefinePrim("/cart/Interfaces/old", "Xform")
    prim.AddAppliedSchema("Ros2TopicAPI")
    prim.CreateAttribute("ros2:topic:name", Sdf.ValueTypeNames.String, False, Sdf.VariabilityUniform).Set("x")
    sensor = stage.DefinePrim("/cart/Sensors/lidar", "Xform")
    sensor.AddAppliedSchema("SensorLidarAPI")
    for name in ("noise", "gazebo:noise"):
        sensor.CreateAttribute(name, Sdf.ValueTypeNames.Float, True).Set(0.1)
    part = Usd.Stage.CreateNew(str(tmp_path / "part.usda"))
    part.DefinePrim("/part", "Xform")
    part.Save()
    root = stage.DefinePrim("/cart/tool", "Xform")
    UsdPhysics.ArticulationRootAPI.Apply(root)
    root.GetPayloads().AddPayload("./part.usda", "/part")
    stage.Save()
    expected = {
        ("2.2.10", "/cart/Interfaces/old", ""),
        ("2.2.10", "/cart/Interfaces/old", "ros2:topic:name"),
        ("4.2.19", "/cart/Sensors/lidar", "noise"),
        ("1.2.10", "/cart/tool", ""),
    }
    assert reported(tmp_path / "old.usda") == expected
