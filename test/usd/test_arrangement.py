"""The places and names of prims of a mobile base with a stereo camera: topics of plugins, interfaces that share a frame, names like those of
scopes, scopes that organise, and the variant of spheres."""

import numpy as np
import pytest
from pxr import Kind, Usd, UsdGeom, UsdPhysics

from conftest import run
from stage import applied, value

MASS = '<inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'
BALL = '<geometry><sphere radius="0.1"/></geometry>'
MESH = '<geometry><mesh filename="cube.obj"/></geometry>'


def fixed(parent, child, origin="", mass=""):
    return f'<link name="{child}">{mass}</link><joint name="to_{child}" type="fixed"><parent link="{parent}"/><child link="{child}"/>{origin}</joint>'


def eye(link, fov):
    return f"""<gazebo reference="{link}"><sensor name="{link}" type="camera"><camera><horizontal_fov>{fov}</horizontal_fov></camera>
      <plugin name="p" filename="libgazebo_ros_camera.so"><cameraName>{link}</cameraName><frameName>stereo_optical</frameName></plugin></sensor></gazebo>"""


URDF = f"""<robot name="rover">
  <link name="base">{MASS}<visual>{BALL}</visual><visual>{BALL}</visual><collision>{MESH}</collision><collision>{BALL}</collision></link>
  {fixed("base", "visual")}{fixed("base", "Materials", mass=MASS)}{fixed("Materials", "collision")}{fixed("base", "Interfaces")}
  {fixed("base", "stereo_optical", '<origin rpy="-1.5707963267948966 0 -1.5707963267948966"/>')}
  {fixed("base", "left", mass=MASS)}{fixed("base", "right", '<origin xyz="0 -0.1 0"/>', MASS)}
  <link name="head">{MASS}</link><joint name="pan" type="revolute"><parent link="base"/><child link="head"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  {eye("left", 1.5)}{eye("right", 0.7)}
  <gazebo reference="Interfaces"><sensor name="gyro" type="imu"/><sensor name="gps" type="navsat"/></gazebo>
  <gazebo>
    <plugin name="drive" filename="libgazebo_ros_diff_drive.so"><ros><remapping>cmd_vel:=go</remapping></ros><publish_odom>true</publish_odom></plugin>
    <plugin name="truth" filename="libgazebo_ros_p3d.so"><topicName>truth</topicName><bodyName>base</bodyName><updateRate>20</updateRate></plugin>
    <plugin name="gz::sim::systems::JointStatePublisher" filename="gz-sim-joint-state-publisher-system"><topic>js</topic></plugin>
    <plugin name="grip" filename="libgazebo_ros_vacuum_gripper.so"/>
  </gazebo>
</robot>"""
XRDF = """format: xrdf
format_version: 1.0
default_joint_positions: {pan: 0}
cspace:
  joint_names: [pan]
  acceleration_limits: [1]
  jerk_limits: [1]
tool_frames: [head]
geometry:
  g:
    spheres:
      base:
        - center: [0, 0, 0]
          radius: 0.2
collision:
  geometry: g
self_collision:
  geometry: g
"""
CUBE = "\n".join(f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)) + "\n" + "\n".join(
    f"f {a} {b} {c} {d}" for a, b, c, d in ((1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4))
)


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rover")
    for name, text in (("rover.urdf", URDF), ("rover.xrdf", XRDF), ("cube.obj", CUBE)):
        (folder / name).write_text(text)
    done = run("convert", folder / "rover.urdf", "-o", folder / "out", "--formats", "usd", "--xrdf-file", folder / "rover.xrdf", "--json")
    assert done.returncode == 0, done.stderr
    return Usd.Stage.Open(str(folder / "out" / "rover" / "rover.usda")), done


def test_plugins_of_the_base_have_topics(converted):
    stage, done = converted
    topics = {p.GetName(): p for p in stage.GetPrimAtPath("/rover/Interfaces").GetChildren()}
    read = lambda p: tuple(value(p, f"ros:topic:{key}") for key in ("role", "type", "publish_rate", "override_frame_id"))
    assert {name: read(p) for name, p in topics.items()} == {
        "go": ("subscription", "geometry_msgs/msg/Twist", None, None),
        "odom": ("publisher", "nav_msgs/msg/Odometry", 100, "odom"),
        "truth": ("publisher", "nav_msgs/msg/Odometry", 20, "world"),
        "js": ("publisher", "sensor_msgs/msg/JointState", 100, None),
    }
    assert done.stdout.count("urdf-model-plugin") == 1 and "libgazebo_ros_vacuum_gripper.so" in done.stdout


def test_interfaces_in_a_frame_are_siblings(converted):
    stage, _ = converted
    frame = stage.GetPrimAtPath("/rover/base/Interfaces")
    assert applied(frame) == ["RosFrameAPI"]
    assert sorted(p.GetName() for p in frame.GetChildren() if "RosTopicAPI" in applied(p)) == ["gps", "gyro"]


def test_each_eye_has_an_optical_frame_and_topics_that_know_it(converted):
    stage, _ = converted
    cache = UsdGeom.XformCache()
    for name in ("left", "right"):
        (camera,) = [p for p in stage.Traverse() if p.IsA(UsdGeom.Camera) and p.GetParent().GetName() == name]
        (optical,) = camera.GetChildren()
        turn = np.array(cache.GetLocalTransformation(optical)[0])
        assert np.allclose(turn, np.diag([1, -1, -1, 1])) and applied(optical) == []
        of_camera = [p for p in stage.Traverse() if (value(p, "ros:topic:name") or "").startswith(f"{name}/")]
        assert len(of_camera) == 2 and {p.GetParent().GetName() for p in of_camera} == {"stereo_optical"}
        assert {t for p in of_camera for t in p.GetRelationship("urdf:camera").GetTargets()} == {camera.GetPath()}


def test_links_keep_names_that_no_sibling_has(converted):
    stage, _ = converted
    names = ("Materials", "collision", "Interfaces", "visual_1")
    there = [str(p.GetPath()) for p in stage.Traverse() if p.GetName() in names and p.GetParent().GetName() != "visual"]
    expected = ["base/Interfaces", "base/Materials", "base/Materials/collision", "base/collision", "base/visual_1", "Interfaces", "Materials"]
    assert sorted(there) == sorted(f"/rover/{path}" for path in expected)
    assert stage.GetPrimAtPath("/rover/base/visual_1").GetDisplayName() == "visual"


def test_scopes_are_subcomponents_and_materials_of_contacts_have_no_shader(converted):
    stage, _ = converted
    scopes = [p for p in stage.Traverse() if p.GetTypeName() == "Scope" and p.GetName() in ("visual", "collision", "Materials", "Interfaces", "PhysicsMaterials")]
    assert len(scopes) >= 5 and {Usd.ModelAPI(p).GetKind() for p in scopes} == {Kind.Tokens.subcomponent}
    contacts = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.MaterialAPI)]
    assert contacts and not any(p.GetChildren() for p in contacts)
    (group,) = [UsdPhysics.CollisionGroup(p) for p in stage.Traverse() if p.IsA(UsdPhysics.CollisionGroup)]
    assert group.GetFilteredGroupsRel().IsAuthored() and group.GetFilteredGroupsRel().GetTargets() == []


def test_copies_are_overridden_by_their_class(converted):
    stage, _ = converted
    copies = [p for p in stage.Traverse() if p.IsInstance()]
    (target,) = {str(path) for p in copies for path in p.GetInherits().GetAllDirectInherits()}
    assert len(copies) == 2 and target.startswith("/rover/Classes/") and stage.GetPrimAtPath(target).IsAbstract()
    stage.SetEditTarget(stage.GetSessionLayer())
    UsdGeom.Imageable(stage.OverridePrim(target)).MakeInvisible()
    assert {UsdGeom.Imageable(p).ComputeVisibility() for p in copies} == {UsdGeom.Tokens.invisible}


def test_every_prim_of_each_variant_is_defined(converted):
    stage, _ = converted
    variants = stage.GetPrimAtPath("/rover/base/collision").GetVariantSet("collision_fidelity")
    assert "spheres" in variants.GetVariantNames()
    for variant in variants.GetVariantNames():
        stage.SetEditTarget(stage.GetSessionLayer())
        variants.SetVariantSelection(variant)
        scope = stage.GetPrimAtPath("/rover/base/collision")
        assert all(p.IsDefined() for p in scope.GetAllChildren()), variant
        assert all(p.GetName().startswith("sphere_") for p in scope.GetChildren()) == (variant == "spheres"), variant
