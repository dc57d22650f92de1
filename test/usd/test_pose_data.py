"""`urdf_usd pose`: poses are stored on assets of ours and of another converter, listed, deleted, applied, and exchanged as JSON. The
expected poses of bodies are computed from the joints of UsdPhysics and from the URDF."""

import json
import math
import random
import shutil

import numpy as np
import pytest
from conftest import SAMPLES, convert, run, source
from kinematics import read
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from test_isaac_maintenance import Physics, at, body_at, digests, targets

POSES = "isaac:robot:namedPoses"
#: Schemas of mimic joints, which poses cannot set.
FOLLOWERS = ("ext_physics:mimic:joint", "newton:mimicJoint")


def free_joints(stage):
    """Returns the independent joints with one position by path, in a stage with mimic joints as in overlays."""
    found = {}
    for prim in Usd.PrimRange(stage.GetDefaultPrim()):
        joint = UsdPhysics.Joint(prim)
        follows = any(prim.GetRelationship(name) and prim.GetRelationship(name).GetTargets() for name in FOLLOWERS)
        if prim.GetTypeName() in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint") and not follows and not joint.GetExcludeFromArticulationAttr().Get():
            found[str(prim.GetPath())] = prim
    return found


def positions_for(stage, seed=1):
    """Returns a position within its limits for each joint, in radians or metres."""
    chosen, out = random.Random(seed), {}
    for path, prim in free_joints(stage).items():
        turns = prim.GetTypeName() == "PhysicsRevoluteJoint"
        unit, reach = (math.radians(1), 180) if turns else (UsdGeom.GetStageMetersPerUnit(stage), 0.2)
        sides = [prim.GetAttribute(f"physics:{side}Limit").Get() for side in ("lower", "upper")]
        lower, upper = (limit if limit is not None and math.isfinite(limit) else side * reach for limit, side in zip(sides, (-1, 1)))
        if lower <= upper:
            out[path] = chosen.uniform(max(lower, -reach), max(min(upper, reach), lower)) * unit
    return out


def of_one_tree(stage, positions):
    """Returns the positions for the tree of the first joint: a pose has a single chain."""
    physics = Physics(stage)
    first = next(iter(positions), None)
    reach = physics.distances(next(end for end in physics.ends[first] if end)) if first else {}
    return {path: value for path, value in positions.items() if set(physics.ends[path]) & set(reach)}


def stored(asset, output, name, positions, *options):
    sets = [part for path, value in positions.items() for part in ("--set", f"{path}={value!r}")]
    done = run("pose", "store", asset, name, "-o", output, "--json", *sets, *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return told["saved"]["entry"], told


def frame(stage, joint, end, cache):
    """Returns the frame of a joint at one of its ends in the world, for row vectors as in OpenUSD."""
    named = (joint.GetBody0Rel() if end == 0 else joint.GetBody1Rel()).GetTargets()
    point = (joint.GetLocalPos0Attr() if end == 0 else joint.GetLocalPos1Attr()).Get() or Gf.Vec3f(0)
    turn = (joint.GetLocalRot0Attr() if end == 0 else joint.GetLocalRot1Attr()).Get() or Gf.Quatf(1)
    local = Gf.Matrix4d(Gf.Rotation(Gf.Quatd(turn)), Gf.Vec3d(0))
    world = cache.GetLocalToWorldTransform(stage.GetPrimAtPath(named[0])) if named else Gf.Matrix4d(1)
    local.SetTranslateOnly(Gf.Vec3d(point))
    return (local * world).RemoveScaleShear()


def assert_joints_are_at(stage, positions):
    """Asserts that every joint of the articulation is in its range of motion, and those of `positions` are at them."""
    cache, metre = UsdGeom.XformCache(), UsdGeom.GetStageMetersPerUnit(stage)
    seen = 0
    for prim in Usd.PrimRange(stage.GetDefaultPrim()):
        if not prim.IsA(UsdPhysics.Joint) or UsdPhysics.Joint(prim).GetExcludeFromArticulationAttr().Get():
            continue
        joint, path = UsdPhysics.Joint(prim), str(prim.GetPath())
        if body_at(stage, joint, 0) is None or body_at(stage, joint, 1) is None:
            continue
        apart = frame(stage, joint, 1, cache) * frame(stage, joint, 0, cache).GetInverse()
        moved, turned = np.array(apart.ExtractTranslation()) * metre, apart.ExtractRotation()
        axis = np.eye(3)["XYZ".index(prim.GetAttribute("physics:axis").Get() or "X")] if prim.GetAttribute("physics:axis") else None
        kind = prim.GetTypeName()
        if kind == "PhysicsRevoluteJoint":
            assert np.abs(moved).max() < 2e-5, path
            angle = math.radians(turned.GetAngle()) * float(np.sign(np.dot(turned.GetAxis(), axis)) or 1)
            if abs(math.sin(angle)) > 1e-3:
                assert np.abs(np.abs(np.array(turned.GetAxis())) - axis).max() < 2e-3, path
            if path in positions:
                off = (angle - positions[path] + math.pi) % (2 * math.pi) - math.pi
                assert abs(off) < 2e-4, (path, angle, positions[path])
                seen += 1
        elif kind == "PhysicsPrismaticJoint":
            along = moved @ axis
            assert np.abs(moved - along * axis).max() < 2e-5 and turned.GetAngle() < 0.05, path
            if path in positions:
                assert abs(along - positions[path]) < 2e-5, path
                seen += 1
        elif kind == "PhysicsFixedJoint":
            assert np.abs(moved).max() < 2e-5 and turned.GetAngle() < 0.05, path
    assert seen == len(positions)


def assert_stores_and_applies(asset, output):
    before = digests(asset.parent)
    base = Usd.Stage.Open(str(asset))
    positions = of_one_tree(base, positions_for(base))
    assert positions
    entry, _ = stored(asset, output, "reach out", positions)
    stage = Usd.Stage.Open(entry)
    robot = stage.GetDefaultPrim()
    (path,) = targets(robot, POSES)
    pose = stage.GetPrimAtPath(path)
    assert pose.GetTypeName() == "IsaacNamedPose" and pose.GetDisplayName() == "reach out" and path.endswith("/Named_Poses/reach_out")
    unit = lambda joint: math.radians(1) if stage.GetPrimAtPath(joint).GetTypeName() == "PhysicsRevoluteJoint" else UsdGeom.GetStageMetersPerUnit(stage)
    joints = targets(pose, "isaac:robot:pose:joints")
    kept = {joint: value * unit(joint) for joint, value in zip(joints, pose.GetAttribute("isaac:robot:pose:jointValues").Get())}
    assert kept == pytest.approx(positions, abs=1e-6)
    assert pose.GetAttribute("isaac:robot:pose:valid").Get() is True
    assert "IsaacRobotAPI" in (robot.GetMetadata("apiSchemas").GetAppliedItems())
    done = run("pose", "apply", entry, "reach out", "-o", output, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    posed = Usd.Stage.Open(told["saved"]["entry"])
    assert_joints_are_at(posed, positions)
    for joint in told["applied"]["joints"]:
        prim = posed.GetPrimAtPath(joint)
        for kind in ("angular", "linear"):
            if joint in positions and prim.HasAPI(UsdPhysics.DriveAPI, kind):
                assert prim.GetAttribute(f"drive:{kind}:physics:targetPosition").Get() * unit(joint) == pytest.approx(positions[joint], abs=1e-5)
    # The end of the chain is at the pose of its prim.
    cache = UsdGeom.XformCache()
    end = posed.GetPrimAtPath(targets(pose, "isaac:robot:pose:endLink")[0])
    there = np.array((cache.GetLocalToWorldTransform(end) * cache.GetLocalToWorldTransform(posed.GetDefaultPrim()).GetInverse()).RemoveScaleShear())
    given = np.array(UsdGeom.Xformable(pose).GetLocalTransformation())
    assert np.abs(there - given)[:3, :3].max() < 2e-5 and np.abs(there - given)[3].max() * UsdGeom.GetStageMetersPerUnit(stage) < 2e-5
    assert digests(asset.parent) == before, "the asset's own files must not change"


@pytest.mark.needs("moving joint")
def test_our_assets_take_poses(converted, tmp_path):
    assert_stores_and_applies(converted.entry, tmp_path)


def test_assets_of_another_converter_take_poses(theirs, tmp_path):
    assert_stores_and_applies(theirs[1], tmp_path)


@pytest.fixture(scope="module")
def sample_asset(tmp_path_factory):
    options = ("--overlays", "isaac", "--formats", "usd", "--tiers", "high", "--srdf-file", SAMPLES / "sample_arm" / "srdf" / "sample_arm.srdf")
    return convert(source("sample_arm"), tmp_path_factory.mktemp("poses"), *options)


@pytest.fixture
def arm(sample_asset):
    """The sample arm with the poses of its SRDF."""
    return sample_asset.directory / "sample_arm.isaac.usda"


def listed(entry):
    done = run("pose", "list", entry, "--json")
    assert done.returncode == 0, done.stderr
    return {(pose["name"], pose["group"]): pose for pose in json.loads(done.stdout)["poses"]}


def test_a_folder_includes_stored_poses(sample_asset, tmp_path):
    folder = tmp_path / "sample_arm"
    shutil.copytree(sample_asset.directory, folder)
    before = {name for name, _ in listed(folder)}
    done = run("pose", "store", folder, "reach", "--set", "elbow_joint=0.5")
    assert done.returncode == 0, done.stderr
    assert {name for name, _ in listed(folder)} == before | {"reach"}
    # The entry of the asset has only its own poses.
    assert "reach" not in {name for name, _ in listed(folder / "sample_arm.usda")}
    assert run("pose", "apply", folder, "reach").returncode == 0
    assert run("pose", "delete", folder, "reach").returncode == 0
    assert {name for name, _ in listed(folder)} == before


def test_a_pose_is_stored_looked_up_replaced_and_deleted(arm, sample_asset, tmp_path):
    assert {name for name, _ in listed(arm)} == {"home", "stowed", "up", "open", "closed"}
    entry, _ = stored(arm, tmp_path, "ready", {"elbow_joint": 0.5}, "--from", "up", "--fixed", "wrist_pitch_joint")
    ready = json.loads(run("pose", "get", entry, "ready", "--json").stdout)
    up = listed(arm)["up", "arm"]
    assert ready["joints"] == pytest.approx(up["joints"] | {"elbow_joint": 0.5}, abs=1e-6)
    assert (ready["fixed"], ready["valid"], ready["start"], ready["end"]) == (["wrist_pitch_joint"], True, up["start"], up["end"])
    urdf = read(sample_asset.urdf)
    rest, then = urdf.link_poses(), urdf.link_poses(urdf.resolve(ready["joints"]))
    pose = at(entry, ready["prim"])
    base = at(arm, "/sample_arm/base_link")
    in_robot = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(base)).T @ np.linalg.inv(rest["base_link"])
    pose = at(entry, ready["prim"])
    assert np.abs(np.array(UsdGeom.Xformable(pose).GetLocalTransformation()).T - in_robot @ then[ready["end"].rsplit("/")[-1]]).max() < 2e-6
    # Replaces an existing pose.
    again, _ = stored(entry, tmp_path, "ready", {"elbow_joint": 0.25})
    assert again == entry and listed(entry)["ready", None]["joints"] == pytest.approx({"elbow_joint": 0.25}, abs=1e-6)
    # One of the asset's own files is hidden, not removed.
    before = digests(arm.parent)
    assert run("pose", "delete", entry, "stowed", "-o", tmp_path).returncode == 0
    assert run("pose", "delete", entry, "ready", "-o", tmp_path).returncode == 0
    assert {name for name, _ in listed(entry)} == {"home", "up", "open", "closed"} and digests(arm.parent) == before
    robot = at(entry, "/sample_arm")
    assert [path.rsplit("/")[-1] for path in targets(robot, POSES)] == ["home", "up", "open", "closed"]
    missing = run("pose", "get", entry, "stowed")
    assert missing.returncode == 1 and "there is no pose" in missing.stderr
    # It can be stored again.
    stored(entry, tmp_path, "stowed", {"elbow_joint": 1.0}, "--group", "arm")
    assert listed(entry)["stowed", "arm"]["joints"] == pytest.approx({"elbow_joint": 1.0}, abs=1e-6)
    assert run("isaac", "validate", entry).returncode == 0


def test_the_same_names_in_several_groups(arm, tmp_path):
    entry, _ = stored(arm, tmp_path, "open", {"elbow_joint": 0.5}, "--group", "arm")
    both = run("pose", "get", entry, "open")
    assert both.returncode == 1 and "gripper" in both.stderr and "arm" in both.stderr
    of_arm = json.loads(run("pose", "get", entry, "open", "--group", "arm", "--json").stdout)
    assert list(of_arm["joints"]) == ["elbow_joint"]
    exported = json.loads(run("pose", "export", entry, "-").stdout)["poses"]
    assert {"open", "arm/open"} <= exported.keys() and exported["arm/open"]["group"] == "arm"


def test_poses_survive_json(arm, sample_asset, tmp_path):
    for options, units in (([], "radians"), (["--degrees"], "degrees")):
        file = tmp_path / f"{units}.json"
        assert run("pose", "export", arm, file, *options).returncode == 0
        text = json.loads(file.read_text())
        # The format of Isaac Sim's Robot Poser.
        assert text["_meta"]["units"] == units and set(text["poses"]) == {name for name, _ in listed(arm)}
        home = text["poses"]["home"]
        assert set(home) >= {"joints", "joint_fixed", "start_link", "end_link", "target_position", "target_orientation", "valid"}
        assert all(joint.startswith("/sample_arm/") for joint in home["joints"])
        # Imports into the asset without the overlay, which has no poses.
        assert listed(sample_asset.entry) == {}
        done = run("pose", "import", sample_asset.entry, file, "-o", tmp_path / units, "--json")
        assert done.returncode == 0, done.stderr
        entry = json.loads(done.stdout)["saved"]["entry"]
        before, after = listed(arm), listed(entry)
        assert before.keys() == after.keys()
        for key, pose in before.items():
            assert after[key]["joints"] == pytest.approx(pose["joints"], abs=1e-6)
            assert (after[key]["start"], after[key]["end"], after[key]["valid"]) == (pose["start"], pose["end"], pose["valid"])
    # The older format: poses at the top level, in radians; joints by name.
    file.write_text(json.dumps({"lean": {"joints": {"elbow_joint": 0.5}, "joint_fixed": {"elbow_joint": True}}}))
    done = run("pose", "import", sample_asset.entry, file, "-o", tmp_path / "old", "--json")
    assert listed(json.loads(done.stdout)["saved"]["entry"])["lean", None]["fixed"] == ["elbow_joint"]


def test_poses_of_the_overlay_are_configurations_of_the_gltf(sample_asset, tmp_path):
    entry, _ = stored(sample_asset.entry, tmp_path, "lean", {"elbow_joint": 0.5})
    assert run("convert", entry, "-o", tmp_path / "gltf", "--formats", "gltf", "--allowed-root", sample_asset.directory).returncode == 0
    (file,) = (tmp_path / "gltf").rglob("*.gltf")
    (model,) = json.loads(file.read_text())["extensions"]["EXT_robot_kinematics"]["models"]
    names = [joint["name"] for joint in model["joints"]]
    assert model["configurations"]["lean"]["jointPositions"][names.index("elbow_joint")] == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["store", "x", "--set", "elbow_jiont=0.5"], 1, "did you mean \"elbow_joint\""),
        (["store", "x", "--set", "right_finger_joint=0.01"], 1, "follows another joint"),
        (["store", "x", "--set", "elbow_joint=fast"], 2, "not a number of radians or metres"),
        (["store", "x"], 2, "the pose is empty"),
        (["store", "x", "--start", "gripper_link", "--end", "base_link"], 1, "no movable joint is between"),
        (["get", "hom"], 1, "home"),
        (["delete", "none"], 1, "there is no pose"),
        (["apply", "none"], 1, "there is no pose"),
    ],
)
def test_faults_are_reported(arm, tmp_path, arguments, code, said):
    command, *rest = arguments
    output = [] if command == "get" else ["-o", tmp_path]
    done = run("pose", command, arm, *rest, *output)
    assert done.returncode == code and said in done.stderr, done.stderr
    assert not any(tmp_path.iterdir())


def test_a_pose_outside_limits_is_stored_and_not_valid(arm, tmp_path):
    entry, told = stored(arm, tmp_path, "far", {"elbow_joint": 9.0})
    assert [d["code"] for d in told["diagnostics"]] == ["pose-out-of-limits"]
    assert at(entry, told["prim"]).GetAttribute("isaac:robot:pose:valid").Get() is False


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "pose-json"),
        ("[]", "pose-json"),
        ('{"poses": {"a": {"joints": {"elbow_joint": "1"}}}}', "pose-json"),
        ('{"poses": {"a": {"joints": 1}}}', "pose-json"),
        ('{"poses": {"a": {"joints": {"elbow": 1}}}}', "pose-unknown-joint"),
        ('{"poses": {"a": {"joints": {}}}}', "pose-no-chain"),
    ],
)
def test_invalid_json_is_reported(sample_asset, tmp_path, text, code):
    file = tmp_path / "poses.json"
    file.write_text(text)
    done = run("pose", "import", sample_asset.entry, file, "-o", tmp_path / "out", "--json")
    assert done.returncode == 1 and code in done.stderr, done.stderr
    assert not list(tmp_path.glob("out/**/*.usda")), "nothing must be stored"


TWO = """#usda 1.0
(
    defaultPrim = "World"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{
""" + "".join(
    f"""    def Xform "{robot}" (prepend apiSchemas = ["PhysicsArticulationRootAPI", "IsaacRobotAPI"])
    {{
        prepend rel isaac:physics:robotLinks = [</World/{robot}/base>, </World/{robot}/arm>]
        prepend rel isaac:physics:robotJoints = [</World/{robot}/{robot}_turn>]
        def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "IsaacLinkAPI"]) {{}}
        def Xform "arm" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "IsaacLinkAPI"]) {{}}
        def PhysicsRevoluteJoint "{robot}_turn" (prepend apiSchemas = ["IsaacJointAPI"])
        {{
            uniform token physics:axis = "Z"
            rel physics:body0 = </World/{robot}/base>
            rel physics:body1 = </World/{robot}/arm>
        }}
    }}
"""
    for robot in "AB"
) + "}\n"  # fmt: skip


def test_each_of_several_robots_has_separate_poses(tmp_path):
    asset = tmp_path / "two.usda"
    asset.write_text(TWO)
    assert Usd.Stage.Open(str(asset))
    entry = asset
    for robot, at_home in (("A", 0.25), ("B", 0.75)):
        entry, told = stored(entry, tmp_path / "out", "home", {f"{robot}_turn": at_home}, "--robot", f"/World/{robot}")
        assert told["prim"] == f"/World/{robot}/Named_Poses/home"
    home = lambda robot: json.loads(run("pose", "get", entry, "home", "--robot", f"/World/{robot}", "--json").stdout)
    assert home("A")["joints"] == {"A_turn": pytest.approx(0.25, abs=1e-6)} and home("B")["joints"] == {"B_turn": pytest.approx(0.75, abs=1e-6)}
    assert targets(at(entry, "/World/A"), POSES) == ["/World/A/Named_Poses/home"]
    assert targets(at(entry, "/World/B"), POSES) == ["/World/B/Named_Poses/home"]
    assert run("pose", "delete", entry, "home", "--robot", "/World/B", "-o", tmp_path / "out").returncode == 0
    assert run("pose", "get", entry, "home", "--robot", "/World/B").returncode == 1
    assert home("A")["joints"]


def test_the_default_pose_is_deleted_in_both_forms(tmp_path):
    made = convert(source("sample_arm"), tmp_path, "--overlays", "isaac", "--xrdf-file", SAMPLES / "sample_arm" / "xrdf" / "sample_arm.xrdf")
    entry = made.directory / "sample_arm.isaac.usda"
    names = lambda entry: [pose["name"] for pose in json.loads(run("pose", "list", entry, "--json").stdout)["poses"]]
    assert "default" in names(entry)
    done = run("pose", "delete", entry, "default", "--json")
    assert done.returncode == 0, done.stderr
    assert "default" not in names(json.loads(done.stdout)["saved"]["entry"])


def test_applying_a_pose_replaces_that_of_another_entry(arm, tmp_path):
    assert run("pose", "apply", arm, "home", "-o", tmp_path).returncode == 0
    entry, _ = stored(arm, tmp_path, "reach", {"elbow_joint": 0.5})
    done = run("pose", "apply", entry, "reach", "-o", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    layer = Sdf.Layer.FindOrOpen(json.loads(done.stdout)["saved"]["entry"])
    assert [path.rsplit("/", 1)[-1] for path in layer.subLayerPaths] == ["posed.usda", "sample_arm.poses.usda"]


def test_a_chain_has_all_its_joints(arm, tmp_path):
    entry, _ = stored(arm, tmp_path, "reach", {"elbow_joint": 0.5}, "--start", "base_link", "--end", "tool0")
    reach = listed(entry)["reach", None]
    assert reach["end"].endswith("/tool0") and len(reach["joints"]) == 6 and reach["joints"]["elbow_joint"] == pytest.approx(0.5, abs=1e-6)
