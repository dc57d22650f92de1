"""The small robots of `test/robots`, one corner case each, with hand-written expectations."""

import functools
import math

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade

from conftest import convert, source
from stage import Asset, applied, quaternion, target, value

INF = math.inf


class Corner:
    def __init__(self, converted):
        self.report, self.asset = converted.report, Asset(converted.entry)

    def at(self, path):
        prim = self.asset.stage.GetPrimAtPath(self.asset.root.GetPath().AppendPath(path) if path else self.asset.root.GetPath())
        assert prim, f"{path} is missing"
        return prim

    def get(self, path, attribute):
        return value(self.at(path), attribute)

    def told(self, code):
        return [d for d in self.report["diagnostics"] if d["code"] == code]

    def bodies(self, path):
        """Returns the bodies of a joint, by name."""
        one, two = (target(self.at(path), f"physics:body{i}") for i in (0, 1))
        return (one.GetName() if one else None, two.GetName())

    def articulation_roots(self):
        return [str(p.GetPath()) for p in self.asset.prims if p.HasAPI(UsdPhysics.ArticulationRootAPI)]


@pytest.fixture
def corner(conversions):
    return functools.cache(lambda name: Corner(conversions(name)))


# ------------------------------------------------------------------------------------------------------------------- trees


def test_four_bar(corner):
    robot = corner("four_bar")
    assert set(robot.asset.bodies) == {"ground", "crank", "coupler", "rocker"}
    assert set(robot.asset.frames) == {"rocker_tip"}
    assert robot.articulation_roots() == ["/four_bar"]
    closure = "ground/crank/coupler/closure"
    assert robot.at(closure).GetTypeName() == "PhysicsRevoluteJoint"
    assert robot.bodies(closure) == ("coupler", "rocker")
    assert robot.get(closure, "physics:excludeFromArticulation") is True
    assert robot.get(closure, "physics:axis") == "Y"
    assert tuple(robot.get(closure, "physics:localPos0")) == pytest.approx((0.3, 0, 0))
    assert tuple(robot.get(closure, "physics:localPos1")) == pytest.approx((0, 0, 0.2))
    assert robot.get(closure, "ros:joint:name") == "closure"
    for joint in ("anchor", "ground/crank_joint", "ground/crank/coupler_joint", "ground/rocker_joint"):
        assert robot.get(joint, "physics:excludeFromArticulation") in (None, False), joint
    assert len(robot.told("urdf-loop")) == 1


def test_several_roots(corner):
    robot = corner("several_roots")
    assert [p.GetName() for p in robot.asset.root.GetChildren() if p.HasAPI(UsdPhysics.RigidBodyAPI)] == ["arm_base", "cart", "crate"]
    assert robot.articulation_roots() == ["/several_roots/arm_base", "/several_roots/cart", "/several_roots/crate"]
    assert set(robot.asset.joints) == {"arm_joint", "wheel_joint"}
    assert len(robot.told("urdf-several-roots")) == 1


def test_a_floating_joint_in_mid_tree(corner):
    robot = corner("mid_float")
    assert robot.at("drone").GetParent() == robot.asset.root
    assert robot.at("drone/rotor") and robot.at("drone/lens")
    assert sorted(robot.articulation_roots()) == ["/mid_float/anchor", "/mid_float/drone"]
    assert set(robot.asset.joints) == {"anchor", "mast_joint", "rotor_joint"}, "a free body must have no joint"
    # The pad is at (0, 0, 0.1), the mast in it at (0.1, 0.2, 0), rotated by 90°; the drone is at (1, 0, 2) in the mast.
    pose = robot.asset.pose(robot.at("drone"))
    assert pose[:3, 3] == pytest.approx([0.1, 1.2, 2.1], abs=1e-6)
    assert math.atan2(pose[1, 0], pose[0, 0]) == pytest.approx(math.pi / 2 + 0.5, abs=1e-6)
    assert robot.get("drone", "urdf:joint:name") == "flight"
    assert robot.get("drone", "urdf:joint:type") == "floating"


def test_moving_links_without_mass_are_kept(corner):
    robot = corner("massless")
    assert set(robot.asset.bodies) == {"root", "a", "c", "d"} and set(robot.asset.frames) == {"b"}
    assert set(robot.asset.joints) == {"j1", "j2", "j3"}
    assert (robot.bodies("root/j1"), robot.bodies("root/a/b/j2")) == (("root", "a"), ("a", "c"))
    assert robot.articulation_roots() == ["/massless"]


@pytest.mark.parametrize("bodies", ["nested", "flat"])
@pytest.mark.parametrize(("base", "held"), [("auto", []), ("floating", []), ("fixed", ["base_footprint"])])
def test_root_frames(tmp_path, base, held, bodies):
    """The topmost link of a rigid group is the body, with the mass of the only link with one; the others are frames in it."""
    robot = Corner(convert(source("root_frames"), tmp_path, "--base", base, "--bodies", bodies))
    assert set(robot.asset.bodies) == {"base_footprint", "wheel", "mast", "turret"}
    assert set(robot.asset.frames) == {"odom", "base_stabilized", "base_link", "imu"}
    base_link = robot.at("base_footprint/base_stabilized/base_link")
    assert robot.asset.bodies["base_footprint"].GetParent() == robot.asset.frames["odom"].GetParent() == robot.asset.root
    assert [p.GetName() for p in base_link.GetChildren() if p.GetTypeName() == "Scope"] == ["visual", "collision"]
    assert robot.get("base_footprint", "physics:mass") == pytest.approx(4)
    # The centre of mass is that of the URDF.
    centre = robot.asset.relative(base_link, robot.at("base_footprint")) @ [0, 0.02, 0.05, 1]
    assert tuple(robot.get("base_footprint", "physics:centerOfMass")) == pytest.approx(centre[:3], abs=1e-6)
    joints = {name: [target(prim, f"physics:body{i}") for i in (0, 1)] for name, prim in robot.asset.joints.items()}
    bodies = {name: tuple(body.GetName() if body else None for body in ends) for name, ends in joints.items()}
    assert [body1 for body0, body1 in bodies.values() if body0 is None] == held
    assert {name: bodies[name] for name in ("wheel_joint", "mast_joint", "turret_joint")} == {
        "wheel_joint": ("base_footprint", "wheel"), "mast_joint": ("base_footprint", "mast"), "turret_joint": ("base_footprint", "turret"),
    }  # fmt: skip
    assert robot.articulation_roots() == ["/root_frames"]
    assert [d["message"] for d in robot.told("link-without-mass")] == ['link "turret" has no inertial']


@pytest.mark.parametrize(
    ("base", "held", "free"),
    [("auto", {"arm_base", "hatch"}, set()), ("fixed", {"arm_base", "hatch", "crate"}, set()), ("floating", set(), {"edge"})],
)
def test_a_world_with_company(tmp_path, base, held, free):
    """Links that are attached to the world are held, whatever other roots exist; geometry of the world collides and does not fall."""
    robot = Corner(convert(source("world_scene"), tmp_path, "--base", base))
    # If it is not held, the edge must be a body for the joint of the hatch.
    assert set(robot.asset.bodies) == {"arm_base", "arm", "hatch", "crate"} | free
    anchored = {target(p, "physics:body1").GetName() for p in robot.asset.joints.values() if not target(p, "physics:body0")}
    assert anchored == held
    table = robot.at("collision/collision_0")
    assert table.HasAPI(UsdPhysics.CollisionAPI) and value(table, "purpose") == "guide"
    assert not any(p.HasAPI(UsdPhysics.RigidBodyAPI) for p in (table, table.GetParent(), robot.asset.root))
    assert robot.at("visual/visual_0") and robot.get("", "ros:context:parent_frame") == "world"
    # The hatch overlaps the table at its hinge; the arm is mounted on it.
    pairs = UsdPhysics.FilteredPairsAPI(table).GetFilteredPairsRel().GetTargets()
    assert {p.name for p in pairs} == {"arm_base"} | ({"hatch"} if not free else set())
    assert len(robot.told("urdf-several-roots")) == 1


def test_chains_of_frames(corner):
    robot = corner("frames")
    assert set(robot.asset.bodies) == {"base", "tool", "gimbal"}
    assert {name: str(p.GetPath()).removeprefix("/frames/") for name, p in robot.asset.frames.items()} == {
        "map": "map", "footprint": "map/footprint", "mount": "map/footprint/base/mount",
        "flange": "map/footprint/base/mount/flange", "tcp": "map/footprint/base/mount/flange/tool/tcp",
        "tip": "map/footprint/base/mount/flange/tool/tcp/tip",
    }  # fmt: skip
    assert set(robot.asset.joints) == {"f2", "turn", "pan"}
    # The frames above the base cancel each other: (1, 0, 0), then (0, 1, 0) rotated by 90°.
    anchor = "map/footprint/f2"
    assert robot.bodies(anchor) == (None, "base")
    assert tuple(robot.get(anchor, "physics:localPos0")) == pytest.approx((0, 0, 0.5), abs=1e-6)
    # Through mount and flange: (0.1, 0, 0), then (0, 0.1, 0) rotated by 0.4 about z, then (0, 0, 0.1) rotated by 0.5 about y too.
    turn = "map/footprint/base/mount/flange/turn"
    assert robot.bodies(turn) == ("base", "tool")
    x, y = -0.1 * math.sin(0.4) + 0.1 * math.sin(0.5) * math.cos(0.4), 0.1 * math.cos(0.4) + 0.1 * math.sin(0.5) * math.sin(0.4)
    assert tuple(robot.get(turn, "physics:localPos0")) == pytest.approx((0.1 + x, y, 0.1 * math.cos(0.5)), abs=1e-6)
    assert tuple(robot.get(turn, "physics:localPos1")) == pytest.approx((0, 0, 0))
    # A moving frame must be a body, and a body must have a mass.
    assert robot.get("map/footprint/base/mount/flange/gimbal", "physics:mass") == pytest.approx(0.001)


# ------------------------------------------------------------------------------------------------------------------ joints


@pytest.mark.parametrize(
    ("joint", "low", "high"),
    [
        ("mirrored", -0.5 * 180 / math.pi, 1.5 * 180 / math.pi),
        ("missing", -INF, INF),
        ("upper_only", 0, 0.3),
        ("lower_only", -0.3 * 180 / math.pi, 0),
        ("endless", -INF, INF),
        ("minus", -0.2, -0.1),
        ("unsaid", -180 / math.pi, 180 / math.pi),
    ],
)
def test_limits(corner, joint, low, high):
    robot = corner("limits")
    found = (robot.get(f"base/{joint}", "physics:lowerLimit"), robot.get(f"base/{joint}", "physics:upperLimit"))
    assert found == pytest.approx((low, high), rel=1e-6)


def test_limits_are_reported(corner):
    robot = corner("limits")
    for code, joints in {
        "urdf-limits-swapped": ["mirrored"], "urdf-no-limit": ["missing"], "urdf-half-limit": ["upper_only", "lower_only"],
    }.items():  # fmt: skip
        places = [d["where"]["element"] for d in robot.told(code)]
        assert len(places) == len(joints) and all(f'"{j}"' in p for j, p in zip(joints, places)), (code, places)
    assert len(robot.told("urdf-axis-not-unit")) == 3
    assert robot.get("base/minus", "urdf:limit:effort") == 4 and robot.get("base/minus", "urdf:limit:velocity") == 2
    assert robot.get("base/unsaid", "urdf:limit:effort") == 0


@pytest.mark.parametrize(
    ("joint", "leader", "multiplier", "offset"),
    [
        ("base/a/second", "leader", -2, 0.25 * 180 / math.pi),
        ("base/a/b/third", "second", 0.5, 0),
        # A metre per radian is π / 180 m per degree, the unit of revolute joints in USD.
        ("base/sliding", "leader", 0.05 * math.pi / 180, 0.01),
        ("base/round_2", "round_1", 1, 0),
    ],
)
def test_mimics(corner, joint, leader, multiplier, offset):
    robot = corner("mimics")
    assert "ExtendedPhysicsMimicAPI" in applied(robot.at(joint))
    assert target(robot.at(joint), "ext_physics:mimic:joint") == robot.asset.joints[leader]
    assert robot.get(joint, "ext_physics:mimic:multiplier") == pytest.approx(multiplier, rel=1e-6)
    assert robot.get(joint, "ext_physics:mimic:offset") == pytest.approx(offset, rel=1e-6)


def test_invalid_mimics(corner):
    robot = corner("mimics")
    for joint in ("base/leader", "base/round_1", "base/astray"):
        assert "ExtendedPhysicsMimicAPI" not in applied(robot.at(joint)), joint
    assert len(robot.told("urdf-mimic-cycle")) == 1 and len(robot.told("urdf-dangling-mimic")) == 1
    assert robot.get("base/astray/mimic", "joint") == "nowhere"


@pytest.mark.parametrize(
    ("joint", "instance", "command", "most", "goal"),
    [
        # The position takes precedence over the velocity.
        ("base/upper/lower/plate/slide", "linear", "position", 15, 0.01),
        ("base/torque", "angular", "effort", 7, None),
        ("base/geared", "angular", "effort", 9, None),
        ("base/upper/elbow", "angular", "velocity", 20, None),
        ("base/shoulder", "angular", "position", 80, math.degrees(0.5)),
    ],
)
def test_drives(corner, joint, instance, command, most, goal):
    """The neutral layers have what the URDF says: the command and the effort limit, without gains."""
    robot, drive = corner("drives"), f"drive:{instance}:physics:"
    prim = robot.at(joint)
    assert f"PhysicsDriveAPI:{instance}" in applied(prim)
    assert robot.get(joint, drive + "type") == "force" and robot.get(joint, "urdf:drive:command") == command
    assert robot.get(joint, drive + "maxForce") == most
    authored = lambda name: prim.GetAttribute(drive + name).HasAuthoredValue()
    assert not authored("stiffness") and not authored("damping")
    found = robot.get(joint, drive + "targetPosition") if authored("targetPosition") else None
    assert found == (goal if goal is None else pytest.approx(goal))


def test_joints_without_command_have_no_drive(corner):
    robot = corner("drives")
    for joint in ("base/limp", "anchor"):
        assert not [s for s in applied(robot.at(joint)) if "Drive" in s], joint


# -------------------------------------------------------------------------------------------------------------------- mass


@pytest.mark.parametrize(
    ("link", "mass", "moments"),
    [
        ("triangle", 1, (0.025, 0.035, 0.06)),
        ("negative", 1, (2e-5, 0.02, 0.02)),
        ("both", 1, (0.01502, 0.02498, 0.04)),
        ("hopeless", 2, (0.002, 0.002, 0.002)),
        ("heavy_minus", 0.001, (1e-6, 1e-6, 1e-6)),
        ("sound", 1, (0.01, 0.02, 0.03)),
        ("base", 1, (0.01, 0.01, 0.01)),
    ],
)
def test_inertia(corner, link, mass, moments):
    robot = corner("bad_inertia")
    path = link if link == "base" else f"base/{link}"
    assert robot.get(path, "physics:mass") == pytest.approx(mass)
    assert sorted(robot.get(path, "physics:diagonalInertia")) == pytest.approx(moments, rel=1e-5)


def test_repaired_inertia_keeps_its_axes(corner):
    robot = corner("bad_inertia")
    axes = quaternion(robot.get("base/turned", "physics:principalAxes"))
    longest = axes[:, np.argmax(robot.get("base/turned", "physics:diagonalInertia"))]
    given = np.array([[0.01, 0.003, -0.002], [0.003, 0.05, 0.001], [-0.002, 0.001, 0.02]])
    from kinematics import rotation

    turn = rotation((0.3, -0.4, 0.5))
    expected = turn @ np.linalg.eigh(given)[1][:, 2]
    assert abs(longest @ expected) == pytest.approx(1, abs=1e-6)
    repaired = {d["message"].split('"')[1] for d in robot.told("inertia-repaired")}
    # "sound" is on the edge, as a plate without thickness is.
    assert repaired == {"triangle", "negative", "both", "turned", "hopeless", "sound"}


# ---------------------------------------------------------------------------------------------------------- shapes, contact


@pytest.mark.parametrize(
    ("index", "kind", "numbers", "low", "high"),
    [
        (0, "Cube", {}, (-0.05, -0.1, -0.15), (0.05, 0.1, 0.15)),
        (1, "Cylinder", {"radius": 0.05, "height": 0.4, "axis": "Z"}, (-0.05, -0.05, -0.2), (0.05, 0.05, 0.2)),
        (2, "Sphere", {"radius": 0.07}, (-0.07, -0.07, -0.07), (0.07, 0.07, 0.07)),
        (3, "Capsule", {"radius": 0.04, "height": 0.2, "axis": "Z"}, (-0.04, -0.04, -0.14), (0.04, 0.04, 0.14)),
    ],
)
@pytest.mark.parametrize("scope", ["visual", "collision"])
def test_shapes(corner, scope, index, kind, numbers, low, high):
    robot = corner("shapes")
    leaf = robot.at(f"base/{scope}/{scope}_{index}")
    (prim,) = (p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Gprim))
    assert prim.GetTypeName() == kind
    for attribute, number in numbers.items():
        assert value(prim, attribute) == (number if isinstance(number, str) else pytest.approx(number))
    # The scaled extent is the bounding box.
    scale = np.array(value(prim, "xformOp:scale") or (1, 1, 1))
    extent = np.array(value(prim, "extent")) * scale
    assert prim.GetAttribute("extent").HasAuthoredValue()
    assert np.allclose(extent, [low, high], atol=1e-6)
    assert leaf.GetDisplayName() == ["box", "cylinder", "sphere", "capsule"][index]


def test_contact(corner):
    robot = corner("contact")
    for path, static, dynamic in (("chassis", 0.8, 0.6), ("chassis/wheel", 1.2, 0.9), ("chassis/caster", 0.05, 0.05)):
        material = target(robot.at(f"{path}/collision/collision_0"), "material:binding:physics")
        assert material.HasAPI(UsdPhysics.MaterialAPI)
        found = [value(material, f"physics:{n}") for n in ("staticFriction", "dynamicFriction", "restitution")]
        assert found == pytest.approx([static, dynamic, 0]), path


# ------------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("path", "attribute", "text"),
    [
        ("", "urdf:acme_serial", "A 17"),
        ("base", "urdf:colour", "blue"),
        ("base/hinge", "urdf:foo", "bar"),
        ("base/hinge/acme_encoder", "bits", "14"),
        ("base/hinge/acme_encoder", "urdf:text", "absolute"),
        ("base/visual/visual_0", "urdf:shiny", "yes"),
        ("base/visual/visual_0_urdf/gloss", "urdf:text", "0.9"),
        ("base/collision/collision_0", "urdf:group", "3"),
        ("base/bumper", "side", "left"),
        ("base/bumper_1", "side", "right"),
        ("base/bumper_1/pad", "hardness", "40"),
        ("base/bumper_1/pad_1", "hardness", "60"),
        # The custom elements of a joint without a prim are on its child link.
        ("base/arm/tip", "urdf:wear", "low"),
        ("base/arm/tip", "urdf:joint:name", "nail"),
        ("foo/bar", "baz", "bongo"),
        ("foo/bar_1", "baz", "qux"),
        ("acme_plan", "version", "2"),
        # Names of properties of Scope get a prefix.
        ("note", "urdf:purpose", "told"),
        ("note", "urdf:visibility", "high"),
        ("note", "name", "n"),
        ("note", "urdf:text", "two words"),
        ("gazebo/static", "urdf:text", "false"),
        ("gazebo_1", "reference", "arm"),
        ("gazebo_1/gravity", "urdf:text", "true"),
        ("transmission", "name", "t"),
        ("transmission/type", "urdf:text", "transmission_interface/SimpleTransmission"),
        ("transmission/joint", "name", "hinge"),
        ("transmission/joint/hardwareInterface", "urdf:text", "hardware_interface/VelocityJointInterface"),
        ("transmission/actuator", "name", "m"),
        ("transmission/actuator/mechanicalReduction", "urdf:text", "50"),
        ("transmission/actuator/hardwareInterface", "urdf:text", "VelocityJointInterface"),
    ],
)
def test_custom_words(corner, path, attribute, text):
    robot = corner("custom")
    found = robot.at(path).GetAttribute(attribute)
    assert found and found.Get() == text
    assert found.IsCustom() and str(found.GetTypeName()) == "string"


def test_custom_elements_are_scopes_in_order(corner):
    robot = corner("custom")
    steps = robot.at("acme_plan").GetChildren()
    assert [p.GetTypeName() for p in steps] == ["Scope", "Scope"]
    assert [p.GetDisplayName() for p in steps] == ["acme:step", "acme:step"]
    assert [value(p, "urdf:text") for p in steps] == ["lift", "turn"]


# ------------------------------------------------------------------------------------------------------------------ sensors

OPTICAL, DEPTH = "base/camera_link/front/camera_optical_frame", "base/depth_link/depth/depth_optical_frame"
TOPICS = {
    f"{OPTICAL}/front_image_raw": ("front/image_raw", "sensor_msgs/msg/Image", 30),
    f"{OPTICAL}/front_camera_info": ("front/camera_info", "sensor_msgs/msg/CameraInfo", 30),
    f"{DEPTH}/depth_image_raw": ("depth/image_raw", "sensor_msgs/msg/Image", 15),
    f"{DEPTH}/depth_camera_info": ("depth/camera_info", "sensor_msgs/msg/CameraInfo", 15),
    f"{DEPTH}/depth_depth_image_raw": ("depth/depth/image_raw", "sensor_msgs/msg/Image", 15),
    f"{DEPTH}/depth_depth_camera_info": ("depth/depth/camera_info", "sensor_msgs/msg/CameraInfo", 15),
    f"{DEPTH}/depth_points": ("depth/points", "sensor_msgs/msg/PointCloud2", 15),
    "base/laser/scan": ("scan", "sensor_msgs/msg/LaserScan", 10),
    "base/laser/scan_points": ("scan/points", "sensor_msgs/msg/PointCloud2", 10),
    "base/gps_link": ("gps/fix", "sensor_msgs/msg/NavSatFix", 5),
    "base/imu": ("imu/data", "sensor_msgs/msg/Imu", 200),
    "base/hand/touch": ("touch/contacts", "ros_gz_interfaces/msg/Contacts", 50),
    "base/hand/strain": ("strain/wrench", "geometry_msgs/msg/WrenchStamped", 100),
    "base/hand/mount/load_frame": ("load/wrench", "geometry_msgs/msg/WrenchStamped", 250),
    "base/rear": ("rear/scan", "sensor_msgs/msg/LaserScan", 20),
    "Interfaces/joint_states": ("joint_states", "sensor_msgs/msg/JointState", 50),
}


def test_topics(corner):
    robot = corner("sensors")
    found = {str(p.GetPath()).removeprefix("/sensors/"): p for p in robot.asset.prims if "RosTopicAPI" in applied(p)}
    read = lambda p: tuple(value(p, f"ros:topic:{n}") for n in ("name", "type", "publish_rate"))
    assert {path: read(p) for path, p in found.items()} == TOPICS
    assert {value(p, "ros:topic:role") for p in found.values()} == {"publisher"}


def test_sensors_are_at_their_place(corner):
    robot = corner("sensors")
    imu = robot.asset.relative(robot.at("base/imu"), robot.at("base"))
    assert imu[:3, 3] == pytest.approx([0.05, 0, 0.02])
    assert imu[:3, :3] @ [1, 0, 0] == pytest.approx([0, 1, 0], abs=1e-6)
    rear = robot.asset.relative(robot.at("base/rear"), robot.at("base"))
    assert rear[:3, 3] == pytest.approx([-0.2, 0, 0.1])
    assert rear[:3, :3] @ [1, 0, 0] == pytest.approx([-1, 0, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("camera", "frame", "link", "fov", "aspect", "clip"),
    [
        ("base/camera_link/front", OPTICAL, "base/camera_link", 1.2, 640 / 480, (0.05, 20)),
        ("base/depth_link/depth", DEPTH, "base/depth_link", 1.5, 320 / 240, (0.2, 8)),
    ],
)
def test_cameras(corner, camera, frame, link, fov, aspect, clip):
    robot = corner("sensors")
    prim = robot.at(camera)
    assert prim.GetTypeName() == "Camera"
    width, height = value(prim, "horizontalAperture"), value(prim, "verticalAperture")
    assert 2 * math.atan(width / (2 * value(prim, "focalLength"))) == pytest.approx(fov, rel=1e-6)
    assert width / height == pytest.approx(aspect, rel=1e-6)
    assert tuple(value(prim, "clippingRange")) == pytest.approx(clip)
    # The camera looks along the link's x with z up; the optical frame in the same direction along its z, with y down.
    seen = robot.asset.relative(prim, robot.at(link))[:3, :3]
    assert seen @ [0, 0, -1] == pytest.approx([1, 0, 0], abs=1e-6) and seen @ [0, 1, 0] == pytest.approx([0, 0, 1], abs=1e-6)
    optical = robot.asset.relative(robot.at(frame), robot.at(link))[:3, :3]
    assert optical @ [0, 0, 1] == pytest.approx([1, 0, 0], abs=1e-6) and optical @ [0, 1, 0] == pytest.approx([0, 0, -1], abs=1e-6)
    assert "RosFrameAPI" in applied(robot.at(frame)) and robot.at(frame).GetParent() == prim
    # Topics on a body or the camera's own prim would be in another frame.
    assert not [s for s in applied(prim) if s.startswith("Ros")]


# ------------------------------------------------------------------------------------------------------- other layouts


def test_flat_bodies(tmp_path):
    robot = Corner(convert(source("frames"), tmp_path, "--bodies", "flat"))
    assert [p.GetName() for p in robot.asset.root.GetChildren() if p.HasAPI(UsdPhysics.RigidBodyAPI)] == ["base", "tool", "gimbal"]
    nested = Corner(convert(source("frames"), tmp_path / "nested"))
    for name, prim in nested.asset.bodies.items():
        assert np.abs(nested.asset.pose(prim) - robot.asset.pose(robot.asset.bodies[name])).max() < 1e-6, name


@pytest.mark.parametrize(("base", "held"), [("fixed", {"arm_base", "cart", "crate"}), ("floating", set()), ("auto", set())])
def test_bases_of_several_trees(tmp_path, base, held):
    robot = Corner(convert(source("several_roots"), tmp_path, "--base", base))
    anchors = [p for p in robot.asset.prims if p.IsA(UsdPhysics.FixedJoint) and not target(p, "physics:body0")]
    assert {target(p, "physics:body1").GetName() for p in anchors} == held
    assert len(robot.articulation_roots()) == 3


# ----------------------------------------------------------------------------------------------------------------- textures


def test_textures(corner):
    robot = corner("textured")
    texture = robot.at("Materials/quarters/Texture")
    assert value(texture, "inputs:file").path == "./textures/quarters.png"
    # The fallback without the image is the linear colour.
    linear = lambda c: c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
    assert tuple(value(texture, "inputs:fallback")) == pytest.approx((1, linear(0.5), linear(0.25), 1), rel=1e-6)
    # The alpha of the colour counts only without the image.
    assert not robot.at("Materials/quarters/PreviewSurface").HasAttribute("inputs:opacity")


def test_a_link_that_is_loaded_alone_has_its_textures(corner):
    """Materials come without a payload, as images need none (docs/mapping.md)."""
    asset = Asset(corner("textured").asset.stage.GetRootLayer().realPath, Usd.Stage.LoadNone)
    visual = asset.root.GetPrimAtPath("base/visual/visual_0")
    assert not visual.GetChildren()
    visual.Load()
    (prim,) = (p for p in Usd.PrimRange(visual, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh))
    texture = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()[0].GetPrim().GetChild("Texture")
    assert value(texture, "inputs:file").resolvedPath.endswith("quarters.png")


def test_a_texture_on_a_primitive_is_reported(corner):
    robot = corner("textured")
    (told,) = robot.told("texture-without-coordinates")
    assert '"box"' in told["where"]["element"]
    bound = target(robot.at("base/visual/visual_2"), "material:binding")
    assert not robot.asset.stage.GetPrimAtPath(bound.GetPath().AppendChild("Texture"))
    surface = robot.asset.stage.GetPrimAtPath(bound.GetPath().AppendChild("PreviewSurface"))
    assert value(surface, "inputs:opacity") == pytest.approx(0.8)
    assert value(surface, "inputs:diffuseColor")[0] == 1, "it has the colour of its material"


def test_mirrored_meshes_are_wound_outwards(corner):
    """The square faces up in both, and its image is mirrored with it."""
    robot = corner("textured")
    for index, corner_of_origin in ((0, (-0.5, -0.5)), (1, (0.25, -1.0))):
        leaf = robot.at(f"base/visual/visual_{index}")
        (prim,) = (p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh))
        assert value(prim, "orientation") == "rightHanded"
        at = robot.asset.relative(prim, leaf)
        assert np.linalg.det(at[:3, :3]) > 0, "a mirroring transform reverses the winding"
        points = np.array(value(prim, "points"), float) @ at[:3, :3].T + at[:3, 3]
        a, b, c = points[np.array(value(prim, "faceVertexIndices"))[:3]]
        assert np.cross(b - a, c - a)[2] > 0
        corners = points[np.array(value(prim, "faceVertexIndices"))]
        coordinates = UsdGeom.PrimvarsAPI(prim).GetPrimvar("st").ComputeFlattened()
        origin = next(p for p, st in zip(corners, coordinates) if tuple(st) == (0, 0))
        assert tuple(origin[:2]) == pytest.approx(corner_of_origin, abs=1e-6)


# ------------------------------------------------------------------------------------- remaining cases of the samples


def test_what_usd_has_no_word_for(corner):
    robot, turn = corner("sample_corners"), "base_link_edfce9/base_link_92190d/turn"
    assert "UrdfJointAPI" in applied(robot.at(turn))
    for attribute, number in {
        "calibration:rising": 0.1, "calibration:falling": -0.1, "dynamics:damping": 0.7, "dynamics:friction": 0.3,
        "safety_controller:soft_lower_limit": -0.4, "safety_controller:soft_upper_limit": 1.2,
        "safety_controller:k_position": 20, "safety_controller:k_velocity": 10, "limit:effort": 5, "limit:velocity": 2,
    }.items():  # fmt: skip
        assert robot.get(turn, f"urdf:{attribute}") == pytest.approx(number), attribute


def test_embedded_materials(corner):
    """The pedestal's MTL file has three materials; each face of the mesh shows one of them."""
    robot = corner("sample_arm")
    leaf = robot.at("base_link/visual/visual_0")
    (mesh,) = (p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh))
    subsets = UsdShade.MaterialBindingAPI(mesh).GetMaterialBindSubsets()
    assert {s.GetPrim().GetName() for s in subsets} == {"shell", "graphite", "band"}
    faces = np.sort(np.concatenate([s.GetIndicesAttr().Get() for s in subsets]))
    assert np.array_equal(faces, np.arange(len(value(mesh, "faceVertexCounts"))))
    for subset in subsets:
        material, _ = UsdShade.MaterialBindingAPI(subset).ComputeBoundMaterial()
        assert (material.GetPrim().GetDisplayName() or material.GetPrim().GetName()) == subset.GetPrim().GetName()
