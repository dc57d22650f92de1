"""Sensors and interfaces of converted robots: their places, fields of view, and frames of messages."""

import math
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

import kinematics
from conftest import Source, convert, marks_of, run
from stage import Asset, applied, value
from test_rep158 import CAMERA_TYPES, check, is_accepted, is_camera_topic
from test_schema import assert_kept, seen_by_openusd

INTERFACES = {"RosTopicAPI": "topic", "RosServiceAPI": "service", "RosActionAPI": "action"}
ROS_NAME = re.compile(r"/?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*")
MESSAGES = {
    "camera": CAMERA_TYPES[:2],
    "depth": ("sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/PointCloud2"),
    "ray": ("sensor_msgs/msg/LaserScan",),
    "imu": ("sensor_msgs/msg/Imu",),
    "contact": ("ros_gz_interfaces/msg/Contacts",),
    "force_torque": ("geometry_msgs/msg/WrenchStamped",),
    "navsat": ("sensor_msgs/msg/NavSatFix",),
}

#: A robot with a sensor of each kind: on bodies and frames, with an offset, on a joint, cameras with and without an optical frame.
URDF = """<robot name="sensing">
  <link name="base"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual><collision><geometry><box size="1 1 1"/></geometry></collision></link>
  <link name="arm"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><box size="1 1 1"/></geometry></visual></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0.1 0.5" rpy="0.3 -0.2 0.1"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <link name="scanner"/>
  <joint name="scanner_joint" type="fixed"><parent link="base"/><child link="scanner"/><origin xyz="0.4 0 0.2" rpy="0 0 0.7"/></joint>
  <link name="antenna"/>
  <joint name="antenna_joint" type="fixed"><parent link="arm"/><child link="antenna"/><origin xyz="0 0 1"/></joint>
  <link name="eye"/>
  <joint name="eye_joint" type="fixed"><parent link="arm"/><child link="eye"/><origin xyz="0.1 0.2 0.3" rpy="0.1 0.4 -0.6"/></joint>
  <link name="eye_optical"/>
  <joint name="eye_optical_joint" type="fixed"><parent link="eye"/><child link="eye_optical"/>
    <origin rpy="-1.5707963267948966 0 -1.5707963267948966"/></joint>
  <gazebo reference="base">
    <sensor name="gyro" type="imu"><pose>0.1 -0.2 0.3 0.4 0.5 0.6</pose><update_rate>200</update_rate><topic>gyro/data</topic></sensor>
    <sensor name="bump" type="contact"><update_rate>50</update_rate><topic>bumper</topic></sensor>
    <sensor name="cam 1" type="camera"><pose>0.5 0 0.1 0 0.2 0.1</pose><update_rate>15</update_rate><topic>front/image</topic>
      <camera><horizontal_fov>1.3</horizontal_fov><image><width>800</width><height>600</height></image>
        <clip><near>0.05</near><far>20</far></clip></camera></sensor>
    <sensor name="clock" type="imu"><update_rate>1</update_rate><topic>/clock</topic></sensor>
  </gazebo>
  <gazebo reference="scanner">
    <sensor name="laser" type="ray"><update_rate>12.5</update_rate>
      <plugin filename="libgazebo_ros_ray_sensor.so" name="laser"><ros><remapping>~/out:=laser/scan</remapping></ros>
        <output_type>sensor_msgs/LaserScan</output_type></plugin></sensor>
    <sensor name="second" type="imu"><update_rate>7</update_rate><topic>second</topic></sensor>
  </gazebo>
  <gazebo reference="antenna">
    <sensor name="gps" type="navsat"><update_rate>5</update_rate><topic>fix</topic></sensor>
  </gazebo>
  <link name="mount"/>
  <joint name="mount_joint" type="fixed"><parent link="arm"/><child link="mount"/><origin xyz="0 0 0.5"/></joint>
  <link name="flange"/>
  <joint name="flange_joint" type="fixed"><parent link="mount"/><child link="flange"/><origin xyz="0 0.1 0" rpy="0 0 1"/></joint>
  <gazebo reference="flange_joint">
    <sensor name="load" type="force_torque"><update_rate>250</update_rate><topic>flange/wrench</topic></sensor>
  </gazebo>
  <gazebo reference="base">
    <sensor name="probe" type="imu"><pose>0.1 0 0.2 0 0.3 0</pose><update_rate>20</update_rate><topic>probe/data</topic>
      <gz_frame_id>probe_frame</gz_frame_id></sensor>
    <sensor name="beacon" type="navsat"><pose>0 0 0.4 0 0 0</pose><update_rate>2</update_rate><topic>beacon/fix</topic>
      <ignition_frame_id>map</ignition_frame_id></sensor>
  </gazebo>
  <gazebo reference="elbow">
    <sensor name="wrench" type="force_torque"><update_rate>500</update_rate><topic>elbow/wrench</topic></sensor>
  </gazebo>
  <gazebo reference="eye">
    <sensor name="eye" type="camera"><update_rate>30</update_rate><topic>eye/image</topic>
      <camera><horizontal_fov>0.9</horizontal_fov><image><width>640</width><height>480</height></image>
        <clip><near>0.1</near><far>50</far></clip></camera></sensor>
  </gazebo>
  <gazebo reference="arm">
    <sensor name="cam 1" type="depth"><pose>0 0 0.2 0 0 0</pose><update_rate>10</update_rate><topic>depth/image</topic>
      <camera><horizontal_fov>1.1</horizontal_fov><image><width>320</width><height>240</height></image>
        <clip><near>0.2</near><far>8</far></clip></camera></sensor>
  </gazebo>
  <ros2_control name="system" type="system"><hardware><plugin>mock_components/GenericSystem</plugin></hardware>
    <joint name="elbow"><command_interface name="position"/><state_interface name="position"/></joint></ros2_control>
</robot>
"""
#: Topic → type, rate, frame: a link, or the optical frame that the asset adds.
TOPICS = {
    "gyro/data": (MESSAGES["imu"][0], 200, "base"),
    "bumper": (MESSAGES["contact"][0], 50, "base"),
    "front/image": (CAMERA_TYPES[0], 15, "base_cam_1_optical_frame"),
    "front/camera_info": (CAMERA_TYPES[1], 15, "base_cam_1_optical_frame"),
    "laser/scan": (MESSAGES["ray"][0], 12.5, "scanner"),
    "second": (MESSAGES["imu"][0], 7, "scanner"),
    "fix": (MESSAGES["navsat"][0], 5, "antenna"),
    "flange/wrench": (MESSAGES["force_torque"][0], 250, "flange"),
    "probe/data": (MESSAGES["imu"][0], 20, "probe_frame"),
    "beacon/fix": (MESSAGES["navsat"][0], 2, "base"),
    "elbow/wrench": (MESSAGES["force_torque"][0], 500, "arm"),
    "eye/image": (CAMERA_TYPES[0], 30, "eye_optical"),
    "eye/camera_info": (CAMERA_TYPES[1], 30, "eye_optical"),
    "depth/image": (CAMERA_TYPES[0], 10, "arm_cam_1_optical_frame"),
    "depth/camera_info": (CAMERA_TYPES[1], 10, "arm_cam_1_optical_frame"),
    "depth/image/points": (CAMERA_TYPES[2], 10, "arm_cam_1_optical_frame"),
}
SENSING_ROBOTS = ("irobot_create_description", "aliengo_description", "pr2_description", "synthetic_edge_cases")


class Sensor:
    """A sensor in a gazebo element, read from the XML."""

    def __init__(self, link, element):
        self.element, self.link, self.name, self.kind = element, link, element.get("name"), element.get("type")
        self.rate = float(element.findtext("update_rate") or "nan")
        numbers = [float(v) for v in (element.findtext("pose") or "0 0 0 0 0 0").split()]
        self.pose = kinematics.pose(numbers[:3], kinematics.rotation(numbers[3:]))
        self.plugin = element.find("plugin")
        self.camera = element.find("camera")

    def number(self, path):
        return float(self.camera.findtext(path))

    @property
    def frame(self):
        """Returns the frame that its plugin names."""
        named = [self.plugin.findtext(tag) for tag in ("frameName", "frame_name", "frame_id")] if self.plugin is not None else []
        return next((name for name in named if name), None)

    @property
    def messages(self):
        """Returns the message types: a lidar with several rows of rays publishes points."""
        rows = self.element.findtext("ray/scan/vertical/samples")
        return (CAMERA_TYPES[2],) if rows and float(rows) > 1 else MESSAGES[self.kind]

    @property
    def topics(self):
        """Returns the topics that its plugin names like Gazebo's plugins for ROS 1."""
        if self.plugin is None:
            return []
        camera = self.plugin.findtext("cameraName")
        if camera:
            return [f"{camera}/{self.plugin.findtext(tag)}" for tag in ("imageTopicName", "cameraInfoTopicName")]
        return [t for t in (self.plugin.findtext("topicName"), self.plugin.findtext("bumperTopicName")) if t]


def _sensors(urdf):
    root = ElementTree.parse(urdf).getroot()
    child_of = {joint.get("name"): joint.find("child").get("link") for joint in root.findall("joint")}
    for block in root.findall("gazebo"):
        for element in block.findall("sensor"):
            reference = block.get("reference")
            yield Sensor(child_of[reference] if element.get("type") == "force_torque" else reference, element)


def _poses_in_links(urdf, links):
    """Yields the topic and the frame of each plugin that publishes a pose in the frame of a link."""
    for plugin in ElementTree.parse(urdf).getroot().iterfind("gazebo/plugin"):
        if "p3d" in plugin.get("filename") and plugin.findtext("frameName") in links:
            yield plugin.findtext("topicName"), plugin.findtext("frameName")


def _interface(prim):
    """Returns the kind of interface of a prim (topic …), or None."""
    kinds = [kind for schema, kind in INTERFACES.items() if schema in applied(prim)]
    assert len(kinds) <= 1, f"{prim.GetPath()} has several interfaces"
    return kinds[0] if kinds else None


def _local(asset):
    """Returns the prims of all topics except the robot-wide ones."""
    found = [p for p in asset.prims if _interface(p) == "topic" and p.GetParent().GetName() != "Interfaces"]
    topics = {value(p, "ros:topic:name"): p for p in found}
    assert len(topics) == len(found), f"duplicate topics: {Counter(value(p, 'ros:topic:name') for p in found)}"
    return topics


def _frame_id(prim):
    """Returns the frame of an interface's messages: the prim itself or the nearest TF frame above (REP-158 2.7)."""
    while not prim.IsPseudoRoot():
        if "RosFrameAPI" in applied(prim):
            return value(prim, "ros:frame:id") or prim.GetName()
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            return prim.GetDisplayName() or prim.GetName()
        prim = prim.GetParent()
    return None


def _axes(matrix):
    return matrix[:3, 0], matrix[:3, 1], matrix[:3, 2]


def _assert_sees(asset, camera, sensor, rest):
    """Asserts that a Camera has the pose and field of view of its sensor, which looks along x with z up."""
    _assert_looks(asset, camera, rest[sensor.link] @ sensor.pose)
    view = UsdGeom.Camera(camera)
    focal, width, height = (a.Get() for a in (view.GetFocalLengthAttr(), view.GetHorizontalApertureAttr(), view.GetVerticalApertureAttr()))
    assert view.GetProjectionAttr().Get() == "perspective"
    assert 2 * math.atan(width / 2 / focal) == pytest.approx(sensor.number("horizontal_fov"), rel=1e-6)
    assert width / height == pytest.approx(sensor.number("image/width") / sensor.number("image/height"), rel=1e-6)
    near, far = view.GetClippingRangeAttr().Get()
    assert (near, far) == pytest.approx((sensor.number("clip/near"), sensor.number("clip/far")), rel=1e-6)


def _assert_looks(asset, camera, there):
    (x, y, z), here = _axes(there), asset.pose(camera)
    right, up, backward = _axes(here)
    assert np.abs(here[:3, 3] - there[:3, 3]).max() < 1e-5, f"{camera.GetPath()} has another position"
    assert max(np.abs(-backward - x).max(), np.abs(up - z).max(), np.abs(right + y).max()) < 1e-5, f"{camera.GetPath()} has another direction"


def _assert_optical(asset, camera, frame, tolerance):
    """Asserts the axes of an optical frame: z forward, x right, y down (REP 103), which are −z, x and −y of the USD camera."""
    right, up, backward = _axes(asset.pose(camera))
    x, y, z = _axes(asset.pose(frame))
    assert max(np.abs(z + backward).max(), np.abs(x - right).max(), np.abs(y + up).max()) < tolerance, f"{frame.GetPath()}"


def _assert_as_sensor(prim):
    policy = lambda name: value(prim, f"ros:topic:qos:{name}")
    assert (policy("reliability"), policy("durability"), policy("history"), policy("depth")) == ("system_default", "volatile", "keep_last", 5)
    assert value(prim, "ros:topic:role") == "publisher"


def _assert_placed(asset):
    """Asserts REP-158 2.2, 2.3 and 2.9 for every interface."""
    for prim in asset.prims:
        kind = _interface(prim)
        if not kind:
            continue
        name, type_name = value(prim, f"ros:{kind}:name"), value(prim, f"ros:{kind}:type")
        assert prim.GetTypeName() == "Xform" and not prim.HasAPI(UsdPhysics.RigidBodyAPI), prim.GetPath()
        assert ROS_NAME.fullmatch(name), name
        assert name.strip("/") != "clock" and "Clock" not in type_name and "simulation_interfaces" not in type_name
        assert value(prim, "ros:topic:override_frame_id") in (None, "world", "map", "odom")  # as for PR2's bumpers and the beacon
        above = prim.GetParent()
        while not above.IsPseudoRoot():
            assert not above.HasPayload(), f"{prim.GetPath()} is inside a payload"
            above = above.GetParent()
    ids = [value(p, "ros:frame:id") for p in asset.prims if "RosFrameAPI" in applied(p)] + list(asset.bodies)
    assert len(set(ids)) == len(ids), "duplicate frame name"


# -------------------------------------------------------------------------------------------------------- a sensor of each kind


@pytest.fixture(scope="module", params=[(), ("--bodies", "flat"), ("--base", "fixed")], ids=["nested", "flat", "fixed"])
def sensing(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sensing")
    (folder / "sensing.urdf").write_text(URDF)
    return convert(Source("sensing", folder / "sensing.urdf", {}, ()), folder / "out", *request.param)


@pytest.fixture(scope="module", params=[Usd.Stage.LoadAll, Usd.Stage.LoadNone], ids=["loaded", "unloaded"])
def sensing_asset(request, sensing):
    return Asset(sensing.entry, request.param)


def test_topics(sensing_asset):
    topics = _local(sensing_asset)
    seen = {name: (value(p, "ros:topic:type"), value(p, "ros:topic:publish_rate"), _frame_id(p)) for name, p in topics.items()}
    assert seen == TOPICS
    for prim in topics.values():
        _assert_as_sensor(prim)
    _assert_placed(sensing_asset)


def test_robot_wide_interfaces(sensing_asset):
    """On separate prims outside of bodies (2.2)."""
    scope = sensing_asset.root.GetChild("Interfaces")
    seen = {}
    for prim in scope.GetChildren():
        kind = _interface(prim)
        name, *rest = (value(prim, f"ros:{kind}:{field}") for field in ("name", "role", "type"))
        seen[name] = (kind, *rest, value(prim, "ros:topic:publish_rate"))
        assert prim.GetName() == name.replace("/", "_") and (prim.GetDisplayName() or prim.GetName()) == name
    controller = "joint_trajectory_controller"
    assert scope.GetTypeName() == "Scope" and seen == {
        "joint_states": ("topic", "publisher", "sensor_msgs/msg/JointState", 50),
        f"{controller}/follow_joint_trajectory": ("action", "server", "control_msgs/action/FollowJointTrajectory", None),
        f"{controller}/joint_trajectory": ("topic", "subscription", "trajectory_msgs/msg/JointTrajectory", None),
    }


def test_sensors_have_the_pose_of_the_source(sensing, sensing_asset):
    rest = kinematics.read(sensing.urdf).link_poses()
    topics = _local(sensing_asset)
    found = {s.name: s for s in _sensors(sensing.urdf) if s.camera is None and s.name != "clock"}
    of = {"gyro": "gyro/data", "bump": "bumper", "laser": "laser/scan", "second": "second", "gps": "fix", "wrench": "elbow/wrench", "load": "flange/wrench",
          "probe": "probe/data", "beacon": "beacon/fix"}
    assert set(found) == set(of)
    for name, sensor in found.items():
        here = sensing_asset.pose(topics[of[name]])
        assert np.abs(here - rest[sensor.link] @ sensor.pose).max() < 1e-6, name
    # A frame that the robot does not have is added at the sensor, or global, or absent (2.4, 2.7).
    overridden = {name: frame for name, p in topics.items() if (frame := value(p, "ros:topic:override_frame_id"))}
    assert overridden == {"beacon/fix": "map"}
    assert topics["probe/data"] == sensing_asset.frames["probe_frame"] and topics["probe/data"].GetParent() == sensing_asset.bodies["base"]
    eye = sensing_asset.frames["eye_optical"]
    assert eye.GetParent().IsA(UsdGeom.Camera) and np.abs(sensing_asset.pose(eye) - rest["eye_optical"]).max() < 1e-6
    assert {topics[name].GetParent() for name in ("laser/scan", "second")} == {sensing_asset.frames["scanner"]}, "topics in a frame are siblings"
    assert topics["gyro/data"].GetParent() == sensing_asset.bodies["base"] and topics["gyro/data"].GetName() == "gyro"


def test_cameras(sensing, sensing_asset):
    rest = kinematics.read(sensing.urdf).link_poses()
    cameras = {(_frame_id(p), p.GetDisplayName() or p.GetName()): p for p in sensing_asset.prims if p.IsA(UsdGeom.Camera)}
    sensors = {(s.link, s.name): s for s in _sensors(sensing.urdf) if s.camera is not None}
    assert set(cameras) == set(sensors)
    for key, camera in cameras.items():
        _assert_sees(sensing_asset, camera, sensors[key], rest)
        assert not any(schema.startswith("Ros") for schema in applied(camera)), "a camera itself must have no ROS schemas (2.8)"
        # The optical frame is a child of the camera, also if it is from the robot (2.8).
        (own,) = camera.GetChildren()
        assert "RosFrameAPI" in applied(own) and value(own, "ros:frame:static") is True
        _assert_optical(sensing_asset, camera, own, 1e-6)
        # A rotation of exactly 180° about x.
        assert value(own, "xformOp:orient") == Gf.Quatf(0, 1, 0, 0) and value(own, "xformOp:translate") == Gf.Vec3d(0)
        assert Counter(_frame_id(p) == _frame_id(own) for p in own.GetChildren() if _interface(p))[False] == 0


def test_names_that_usd_cannot_hold(sensing_asset):
    shown = sorted(p.GetDisplayName() for p in sensing_asset.prims if p.IsA(UsdGeom.Camera) and p.GetName() == "cam_1")
    assert shown == ["cam 1", "cam 1"]


def test_the_checker_has_no_other_warnings(sensing, sensing_asset):
    """Sensors that share a frame are in children of it, by 2.7, like the topics of cameras: docs/validators.md."""
    found = check(sensing.entry)["violations"]
    assert [v for v in found if not is_accepted(v, sensing)] == []
    stage = Usd.Stage.Open(str(sensing.entry), Usd.Stage.LoadNone)
    others = [v for v in found if v["check_id"] == "2.2.4" and not is_camera_topic(stage.GetPrimAtPath(v["prim_path"]))]
    topics = _local(sensing_asset)
    assert sorted((v["check_id"], v["prim_path"]) for v in others) == sorted(("2.2.4", str(topics[t].GetPath())) for t in ("laser/scan", "second", "flange/wrench"))


def test_schemas_and_validators_accept_it(sensing):
    asset = assert_kept(seen_by_openusd(sensing.entry), sensing.entry)
    assert asset["counts"]["RosTopicAPI"] == [len(TOPICS) + 2] * 2 and asset["counts"]["RosActionAPI"] == [1, 1]


def test_inspect_lists_them(sensing):
    listed = run("inspect", sensing.entry).stdout
    for name, (type_name, rate, frame) in TOPICS.items():
        line = next(line for line in listed.splitlines() if f"  {name}  " in line)
        for word in (type_name, f"in {frame}", f"{rate} Hz", "durability volatile", "depth 5"):
            assert word in line, f"{word!r} is not in {line!r}"


# ------------------------------------------------------------------------------------------------------------------ real robots


@pytest.fixture(params=[pytest.param(n, marks=marks_of(n)) for n in SENSING_ROBOTS])
def robot(request, conversions):
    return conversions(request.param)


@pytest.mark.parametrize("load", [Usd.Stage.LoadAll, Usd.Stage.LoadNone], ids=["loaded", "unloaded"])
def test_sensors_of_real_robots(robot, load):
    asset, sensors = Asset(robot.entry, load), list(_sensors(robot.urdf))
    topics = _local(asset)
    _assert_placed(asset)
    links = kinematics.read(robot.urdf).links
    expected = Counter()
    for sensor in sensors:
        frame = sensor.frame if sensor.frame in links else sensor.link
        if sensor.kind == "camera" and sensor.frame is None:
            frame = "camera_optical_frame"  # in the synthetic robot: the one below the camera's link
        for type_name in sensor.messages:
            expected[type_name, sensor.rate, frame] += 1
        for topic in sensor.topics:
            assert _frame_id(topics[topic]) == frame, topic
            assert value(topics[topic], "ros:topic:publish_rate") == sensor.rate, topic
    for topic, frame in _poses_in_links(robot.urdf, links):
        assert _frame_id(topics[topic]) == frame and value(topics[topic], "ros:topic:override_frame_id") is None, topic
        expected["nav_msgs/msg/Odometry", 100, frame] += 1
    assert Counter((value(p, "ros:topic:type"), value(p, "ros:topic:publish_rate"), _frame_id(p)) for p in topics.values()) == expected
    for prim in topics.values():
        _assert_as_sensor(prim)


def _body_above(prim):
    return prim if not prim or prim.HasAPI(UsdPhysics.RigidBodyAPI) else _body_above(prim.GetParent())


def test_cameras_of_real_robots(robot):
    asset, rest = Asset(robot.entry), kinematics.read(robot.urdf).link_poses()
    cameras = {p.GetName(): p for p in asset.prims if p.IsA(UsdGeom.Camera)}
    sensors = {s.name: s for s in _sensors(robot.urdf) if s.kind == "camera"}
    assert set(cameras) == set(sensors)
    topics = _local(asset)
    for name, camera in cameras.items():
        sensor = sensors[name]
        _assert_looks(asset, camera, rest[sensor.link] @ sensor.pose)
        for topic in sensor.topics:
            frame = topics[topic].GetParent()
            # Real URDFs write a right angle with four digits.
            _assert_optical(asset, camera, frame, 2e-3)
            # An optical frame of the camera's body moves into the camera (2.8); a body cannot, and contains the camera.
            if "RosFrameAPI" not in applied(frame):
                assert camera.GetParent() == frame, topic
            elif _body_above(frame) == _body_above(camera):
                assert frame.GetParent() == camera, topic
            assert np.abs(asset.pose(frame) - rest[value(frame, "ros:frame:id") or frame.GetName()]).max() < 1e-5


def test_the_checker_has_no_other_findings(robot):
    found = check(robot.entry)["violations"]
    assert [f"{v['check_id']} {v['prim_path']}: {v['message']}" for v in found if not is_accepted(v, robot)] == []
    accepted = {v["prim_path"] for v in found if v["check_id"] == "2.2.4"}
    asset = Asset(robot.entry)
    assert all(is_camera_topic(asset.stage.GetPrimAtPath(path)) for path in accepted)
