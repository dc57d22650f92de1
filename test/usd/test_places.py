"""Several robots or bases in one stage or glTF, and the state of joints."""

import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from conftest import run
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from test_chains import Robot, converted, four, in_mujoco, pose_of

FORMATS = ("mjcf", "urdf", "usd", "glb", "sdf")


def two_robots(path, up="Z", metre=1.0, apart=(2, 0, 0.5), held=False):
    """Writes two robots of one body each; with `held` the first is fixed to the world."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, metre)
    root = UsdGeom.Xform.Define(stage, "/r")
    stage.SetDefaultPrim(root.GetPrim())
    for name, at in (("left", (0, 0, 0.5)), ("right", apart)):
        robot = UsdGeom.Xform.Define(stage, f"/r/{name}")
        UsdPhysics.ArticulationRootAPI.Apply(robot.GetPrim())
        x, y, z = np.array(at) / metre
        robot.AddTranslateOp().Set((x, y, z) if up == "Z" else (x, z, -y))
        body = UsdGeom.Xform.Define(stage, f"/r/{name}/base_{name}").GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(body)
        mass = UsdPhysics.MassAPI.Apply(body)
        mass.CreateMassAttr(1.0)
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(0.1) / metre**2)
    if held:
        joint = UsdPhysics.FixedJoint.Define(stage, "/r/hold")
        joint.CreateBody1Rel().SetTargets(["/r/left/base_left"])
        joint.CreateLocalPos0Attr((0, 0, 0.5 / metre) if up == "Z" else (0, 0.5 / metre, 0))
    stage.Save()
    return path


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("up, metre", [("Z", 1.0), ("Y", 0.01)])
def test_robots_keep_their_relative_place(tmp_path, up, metre, held):
    source = two_robots(tmp_path / "r.usda", up, metre, held=held)
    converted(source, tmp_path / "out", *FORMATS)
    wanted = np.array((2, 0, 0))
    model = in_mujoco(tmp_path / "out", {})
    left, right = (pose_of(model["poses"][0], f"base_{side}") for side in ("left", "right"))
    assert np.allclose(right[:3, 3] - left[:3, 3], wanted, atol=1e-6)
    urdf = ElementTree.parse(next((tmp_path / "out").glob("*/*.urdf"))).getroot()
    origins = {joint.find("child").get("link"): joint.find("origin") for joint in urdf.iter("joint")}
    at = {link: np.array(origin.get("xyz").split(), dtype=float) for link, origin in origins.items() if origin is not None}
    assert np.allclose(at["base_right"] - at["base_left"], wanted, atol=1e-6)
    (usd,) = (tmp_path / "out").glob("*/r.usda")
    stage = Usd.Stage.Open(str(usd))
    cache = UsdGeom.XformCache()
    found = {prim.GetName(): cache.GetLocalToWorldTransform(prim).ExtractTranslation() for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    assert np.allclose(found["base_right"] - found["base_left"], wanted, atol=1e-6)
    (glb,) = (tmp_path / "out").glob("*/*.glb")
    converted(glb, tmp_path / "again", "mjcf")
    model = in_mujoco(tmp_path / "again", {})
    left, right = (pose_of(model["poses"][0], f"base_{side}") for side in ("left", "right"))
    assert np.allclose(right[:3, 3] - left[:3, 3], wanted, atol=1e-6)
    sdf = ElementTree.parse(next((tmp_path / "out").glob("*/*.sdf"))).getroot()
    poses = {link.get("name"): [float(number) for number in link.findtext("pose", "0 0 0 0 0 0").split()[:3]] for link in sdf.iter("link")}
    if not held:
        assert np.allclose(np.array(poses["base_right"]) - poses["base_left"], wanted, atol=1e-6)


def gltf(path, models):
    """Writes a glTF with models `{name: {link: (translation, rotation)}}`: root links below the model's root node."""
    nodes, entries, tops = [], [], []
    for name, (turn, links) in models.items():
        root = len(nodes)
        nodes.append({"name": name, "rotation": turn, "children": list(range(root + 1, root + 1 + len(links)))})
        tops.append(root)
        nodes += [{"name": link, "translation": at} for link, at in links.items()]
        parts = [{"name": link, "node": root + 1 + index} for index, link in enumerate(links)]
        entries.append({"name": name, "rootNode": root, "links": parts, "joints": []})
    document = {
        "asset": {"version": "2.0"},
        "extensionsUsed": ["EXT_robot_kinematics"],
        "scene": 0,
        "scenes": [{"nodes": tops}],
        "nodes": nodes,
        "extensions": {"EXT_robot_kinematics": {"models": entries}},
    }
    path.write_text(json.dumps(document))
    return path


def test_root_links_of_a_gltf_keep_their_places(tmp_path):
    # glTF has y up and z forward: its (1, 2, 3) is (3, 1, 2).
    source = gltf(tmp_path / "r.gltf", {"r": ([0, 0, 0, 1], {"a": [0, 1, 0], "b": [0, 0, 5]})})
    told = converted(source, tmp_path / "out", "urdf")
    assert "gltf-read-root-placed" in [code for code, _ in told]
    urdf = ElementTree.parse(next((tmp_path / "out").glob("*/*.urdf"))).getroot()
    at = {joint.find("child").get("link"): joint.find("origin").get("xyz") for joint in urdf.iter("joint")}
    assert np.allclose(np.array(at["a"].split(), dtype=float), (0, 0, 1)) and np.allclose(np.array(at["b"].split(), dtype=float), (5, 0, 0))


def test_a_tilted_root_of_a_gltf_is_upright(tmp_path):
    w, x, y, z = 0.5, 0.5, 0.5, -0.5
    source = gltf(tmp_path / "r.gltf", {"r": ([x, y, z, w], {"a": [0, 0, 0]})})
    converted(source, tmp_path / "out", "urdf")
    urdf = ElementTree.parse(next((tmp_path / "out").glob("*/*.urdf"))).getroot()
    (joint,) = urdf.iter("joint")
    roll, pitch, yaw = (float(angle) for angle in joint.find("origin").get("rpy").split())
    turn = np.array(Gf.Matrix3d(Gf.Rotation((0, 0, 1), math.degrees(yaw)))).T @ np.array(Gf.Matrix3d(Gf.Rotation((0, 1, 0), math.degrees(pitch)))).T
    turn = turn @ np.array(Gf.Matrix3d(Gf.Rotation((1, 0, 0), math.degrees(roll)))).T
    # The axes of node `a` in glTF: its quaternion. The model's frame of a node is that of its axes, permuted.
    node = np.array(Gf.Matrix3d(Gf.Quatd(w, x, y, z))).T
    axes = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert np.allclose(turn, axes @ node @ axes.T, atol=1e-6)


def test_a_root_of_a_gltf_that_turns_z_up_leaves_the_axes_of_the_source(tmp_path):
    source = gltf(tmp_path / "r.gltf", {"r": ([-0.5, -0.5, -0.5, 0.5], {"a": [1, 2, 3], "b": [0, 0, 0]})})
    converted(source, tmp_path / "out", "urdf")
    urdf = ElementTree.parse(next((tmp_path / "out").glob("*/*.urdf"))).getroot()
    origins = {joint.find("child").get("link"): joint.find("origin") for joint in urdf.iter("joint")}
    assert origins["a"].get("xyz") == "1 2 3" and origins["a"].get("rpy") in (None, "0 0 0")


def test_a_robot_of_several_is_chosen_by_name(tmp_path):
    source = gltf(tmp_path / "r.gltf", {"one": ([0, 0, 0, 1], {"a": [0, 0, 0]}), "two": ([0, 0, 0, 1], {"b": [0, 0, 0]})})
    for name, link in ((None, "a"), ("one", "a"), ("two", "b")):
        folder = tmp_path / f"out_{name}"
        done = run("convert", source, "-o", folder, "--formats", "urdf", "--json", *(["--robot", name] if name else []))
        codes = [found["code"] for found in json.loads(done.stdout)["diagnostics"]]
        assert ("source-several-robots" in codes) == (name is None)
        (urdf,) = folder.glob("*/*.urdf")
        assert [link.get("name") for link in ElementTree.parse(urdf).getroot().iter("link")] == [link]
    done = run("convert", source, "-o", tmp_path / "none", "--formats", "urdf", "--robot", "three")
    assert done.returncode and "one, two" in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["state:{}:physics:position", "newton:{}:position"])
@pytest.mark.parametrize("kind, instance, unit", [("Revolute", "angular", math.pi / 180), ("Prismatic", "linear", 1)])
def test_the_state_of_joints_is_a_pose(tmp_path, kind, instance, unit, name):
    robot = Robot(tmp_path / "r.usda")
    robot.joint("j", kind, four(), "X", (-90, 90), drives=[instance])
    prim = robot.stage.GetPrimAtPath("/r/j")
    prim.AddAppliedSchema(f"PhysicsJointStateAPI:{instance}")
    prim.CreateAttribute(name.format(instance), Sdf.ValueTypeNames.Float).Set(0.5)
    prim.CreateAttribute(f"drive:{instance}:physics:targetPosition", Sdf.ValueTypeNames.Float).Set(0.25)
    robot.stage.Save()
    told = converted(robot.path, tmp_path / "out", "mjcf", "glb")
    assert "usd-read-joint-state" in [code for code, _ in told]
    keys = in_mujoco(tmp_path / "out")["keys"]
    # It is the start of simulations, with the targets of the source.
    (state,) = keys.values()
    assert keys.keys() == {"initial_state"} and state["qpos"][-1] == pytest.approx(0.5 * unit, rel=1e-6)
    assert state["ctrl"] == pytest.approx([0.25 * unit], rel=1e-6)


def test_the_state_of_several_axes_is_a_pose(tmp_path):
    robot = Robot(tmp_path / "r.usda")
    robot.joint("d6", None, four(), free=("rotX", "rotZ"))
    prim = robot.stage.GetPrimAtPath("/r/d6")
    prim.CreateAttribute("state:rotZ:physics:position", Sdf.ValueTypeNames.Float).Set(30.0)
    robot.stage.Save()
    converted(robot.path, tmp_path / "out", "mjcf")
    assert in_mujoco(tmp_path / "out")["keys"]["initial_state"]["qpos"][-2:] == pytest.approx([0, math.pi / 6], rel=1e-6)
