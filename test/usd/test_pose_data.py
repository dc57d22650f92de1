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
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics
from test_isaac_maintenance import STAGES, Physics, at, body_at, digests, targets

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
    options = ("--overlays", "isaac,newton", "--formats", "usd", "--tiers", "high", "--srdf-file", SAMPLES / "sample_arm" / "srdf" / "sample_arm.srdf")
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
    # So do all entries of the asset.
    assert all("reach" in {name for name, _ in listed(folder / f"sample_arm.{kind}")} for kind in ("usda", "isaac.usda", "newton.usda", "poses.usda"))
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
    # The asset without the overlay has no poses.
    plain = tmp_path / "plain" / "sample_arm.usda"
    shutil.copytree(sample_asset.directory, plain.parent, ignore=shutil.ignore_patterns("*isaac*"))
    for options, units in (([], "radians"), (["--degrees"], "degrees")):
        file = tmp_path / f"{units}.json"
        assert run("pose", "export", arm, file, *options).returncode == 0
        text = json.loads(file.read_text())
        # The format of Isaac Sim's Robot Poser.
        assert text["_meta"]["units"] == units and set(text["poses"]) == {name for name, _ in listed(arm)}
        home = text["poses"]["home"]
        assert set(home) >= {"joints", "joint_fixed", "start_link", "end_link", "target_position", "target_orientation", "valid"}
        assert all(joint.startswith("/sample_arm/") for joint in home["joints"])
        assert listed(plain) == {}
        done = run("pose", "import", plain, file, "-o", tmp_path / units, "--json")
        assert done.returncode == 0, done.stderr
        entry = json.loads(done.stdout)["saved"]["entry"]
        before, after = listed(arm), listed(entry)
        assert before.keys() == after.keys()
        for key, pose in before.items():
            assert after[key]["joints"] == pytest.approx(pose["joints"], abs=1e-6)
            assert (after[key]["start"], after[key]["end"], after[key]["valid"]) == (pose["start"], pose["end"], pose["valid"])
    # The older format: poses at the top level, in radians; joints by name.
    file.write_text(json.dumps({"lean": {"joints": {"elbow_joint": 0.5}, "joint_fixed": {"elbow_joint": True}}}))
    done = run("pose", "import", plain, file, "-o", tmp_path / "old", "--json")
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
        (["store", "x", "--start", "base_link", "--end", "base_link"], 1, "no joint with one position is between"),
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
    assert [path.rsplit("/", 1)[-1] for path in layer.subLayerPaths] == ["posed.usda", "posed_drives.usda", "sample_arm.poses.usda"]


def test_a_chain_has_all_its_joints(arm, tmp_path):
    entry, _ = stored(arm, tmp_path, "reach", {"elbow_joint": 0.5}, "--start", "base_link", "--end", "tool0")
    reach = listed(entry)["reach", None]
    assert reach["end"].endswith("/tool0") and len(reach["joints"]) == 6 and reach["joints"]["elbow_joint"] == pytest.approx(0.5, abs=1e-6)


# ---- All entries of an asset, both scopes, and joints outside of a pose ---------------------------------------------------------------


def joint_positions(entry):
    """Returns the position of each joint with one axis by its name in ROS, from the transforms of its bodies."""
    stage, cache, found = Usd.Stage.Open(str(entry)), UsdGeom.XformCache(), {}
    for path, prim in free_joints(stage).items():
        joint = UsdPhysics.Joint(prim)
        apart = frame(stage, joint, 1, cache) * frame(stage, joint, 0, cache).GetInverse()
        axis = np.eye(3)["XYZ".index(prim.GetAttribute("physics:axis").Get() or "X")]
        if prim.GetTypeName() == "PhysicsRevoluteJoint":
            turned = apart.ExtractRotation()
            at = math.radians(turned.GetAngle()) * float(np.dot(turned.GetAxis(), axis))
            at = (at + math.pi) % (2 * math.pi) - math.pi
        else:
            at = float(np.array(apart.ExtractTranslation()) @ axis)
        found[prim.GetAttribute("ros:joint:name").Get() or prim.GetName()] = at
    return found


@pytest.fixture
def copied(sample_asset, tmp_path):
    """The folder of the sample arm, with poses of its arm and its gripper."""
    folder = tmp_path / "sample_arm"
    shutil.copytree(sample_asset.directory, folder)
    return folder


def test_poses_of_arm_and_gripper_combine(copied):
    poses = listed(copied)
    (up,) = (pose for (name, _), pose in poses.items() if name == "up")
    opened = poses["open", "gripper"]
    zero = joint_positions(copied / "sample_arm.usda")
    for pose, expected in (("open", zero | opened["joints"]), ("up", zero | opened["joints"] | up["joints"])):
        assert run("pose", "apply", copied, pose).returncode == 0
        assert joint_positions(copied / "sample_arm.posed.usda") == pytest.approx(expected, abs=2e-4)
    # Drives of other joints keep their targets.
    told = json.loads(run("pose", "apply", copied, "open", "--json").stdout)
    assert {path.rsplit("/", 1)[-1] for path in told["applied"]["joints"]} <= {"left_finger_joint", "right_finger_joint"}
    # The same, over the entries of engines.
    for engine in ("isaac", "newton"):
        assert run("pose", "apply", copied / f"sample_arm.{engine}.usda", "up").returncode == 0
        done = run("check", copied / "sample_arm.posed.usda")
        assert done.returncode == 0, done.stdout
    posed = Sdf.Layer.FindOrOpen(str(copied / "sample_arm.posed.usda"))
    assert posed.subLayerPaths[-1].endswith("sample_arm.newton.usda")
    assert run("pose", "apply", copied, "up", "--reset").returncode == 0
    del posed
    assert joint_positions(copied / "sample_arm.posed.usda") == pytest.approx(zero | up["joints"], abs=2e-4)
    # Several poses on the command line.
    both = json.loads(run("pose", copied / "sample_arm.newton.usda", "--named", "up", "--named", "open", "--json").stdout)["joints"]
    for joint, at in (up["joints"] | opened["joints"]).items():
        assert both[joint] == pytest.approx(at, abs=1e-6)
    unpaired = run("pose", copied, "--named", "up", "--named", "open", "--group", "arm")
    assert unpaired.returncode == 1 and "one --group for each --named" in unpaired.stderr


def test_a_result_of_inverse_kinematics_is_stored(copied):
    found = run("ik", copied, "--tip", "tool0", "--target", "0.3,0.1,0.5", "--tolerance", "1e-4", "--iterations", "60", "--damping", "1e-2", "--max-step", "0.2")
    assert found.returncode == 0, found.stderr
    lines = dict(line.split("=") for line in found.stdout.split())
    done = run("pose", "store", copied / "sample_arm.usda", "reached", "--set-from", "-", input=found.stdout)
    assert done.returncode == 0 and "sample_arm.poses.usda" in done.stderr, done.stderr
    for entry in ("usda", "isaac.usda", "newton.usda", "poses.usda"):
        file = copied / f"sample_arm.{entry}"
        assert listed(file)["reached", None]["joints"] == pytest.approx({joint: float(at) for joint, at in lines.items()}, abs=1e-6)
        at = json.loads(run("pose", file, "--named", "reached", "--frame", "tool0", "--json").stdout)["frames"]["tool0"]["translation"]
        assert at == pytest.approx([0.3, 0.1, 0.5], abs=2e-4)
        again = run("ik", file, "--named", "reached", "--tip", "tool0", "--target", "0.3,0.1,0.5", "--tolerance", "1e-3", "--json")
        assert json.loads(again.stdout)["iterations"] == 0


def sim_pose(stage, robot, name):
    """Looks a pose up as Isaac Sim 6.0 does: by its name in the scope NamedPoses."""
    prim = stage.GetPrimAtPath(robot.GetPath().AppendChild("NamedPoses").AppendChild(Tf.MakeValidIdentifier(name)))
    if not prim:
        return None
    joints = [path.name for path in prim.GetRelationship("isaac:robot:pose:joints").GetTargets()]
    ends = [prim.GetRelationship(f"isaac:robot:pose:{end}").GetTargets() for end in ("startLink", "endLink")]
    return dict(zip(joints, prim.GetAttribute("isaac:robot:pose:jointValues").Get())), all(len(end) == 1 and stage.GetPrimAtPath(end[0]) for end in ends)


def test_poses_are_in_both_scopes(copied, tmp_path):
    assert run("pose", "store", copied, "reach", "--set", "elbow_joint=0.5").returncode == 0
    entry = copied / "sample_arm.poses.usda"
    stage = Usd.Stage.Open(str(entry))
    robot = stage.GetDefaultPrim()
    names = [path.rsplit("/", 1)[-1] for path in targets(robot, POSES)]
    assert set(names) == {"home", "stowed", "up", "open", "closed", "reach"} and all("/Named_Poses/" in path for path in targets(robot, POSES))
    for name in names:
        values, has_ends = sim_pose(stage, robot, name)
        documented = stage.GetPrimAtPath(f"{robot.GetPath()}/Named_Poses/{name}")
        assert list(values.values()) == list(documented.GetAttribute("isaac:robot:pose:jointValues").Get()) and has_ends
    assert run("isaac", "validate", entry).returncode == 0
    # Isaac Sim replaces a pose in its scope, and adds it to the list.
    edited = stage.GetPrimAtPath(f"{robot.GetPath()}/NamedPoses/reach")
    edited.GetAttribute("isaac:robot:pose:jointValues").Set([45.0])
    robot.GetRelationship(POSES).AddTarget(edited.GetPath())
    stage.GetRootLayer().Save()
    del stage, robot, edited, documented
    assert listed(copied)["reach", None]["joints"] == {"elbow_joint": pytest.approx(math.radians(45), abs=1e-6)}
    assert run("pose", "store", copied, "reach", "--set", "elbow_joint=0.25").returncode == 0
    assert listed(copied)["reach", None]["joints"] == {"elbow_joint": pytest.approx(0.25, abs=1e-6)}
    robot = at(entry, "/sample_arm")
    values, _ = sim_pose(STAGES[0], robot, "reach")
    assert values == {"elbow_joint": pytest.approx(math.degrees(0.25), abs=1e-4)}
    assert run("pose", "delete", copied, "reach").returncode == 0
    assert ("reach", None) not in listed(copied)
    del robot
    deleted = at(entry, "/sample_arm")
    assert not any(path.endswith("/reach") for path in targets(deleted, POSES)) and not sim_pose(STAGES[0], deleted, "reach")
    # One scope alone.
    for scope, other in (("Named_Poses", "NamedPoses"), ("NamedPoses", "Named_Poses")):
        srdf = SAMPLES / "sample_arm" / "srdf" / "sample_arm.srdf"
        made = convert(source("sample_arm"), tmp_path / scope, "--overlays", "isaac", "--formats", "usd", "--tiers", "high", "--srdf-file", srdf, "--pose-scope", scope)
        root = at(made.directory / "sample_arm.isaac.usda", "/sample_arm")
        assert root.GetChild(scope) and not root.GetChild(other)
        assert {name for name, _ in listed(made.directory)} == {"home", "stowed", "up", "open", "closed"}


def test_a_chain_may_end_beside_its_start(copied):
    done = run("pose", "store", copied, "back", "--start", "left_finger_link", "--end", "forearm_link", "--set", "wrist_pitch_joint=0.5", "--json")
    assert done.returncode == 0, done.stderr
    prim = at(copied / "sample_arm.poses.usda", json.loads(done.stdout)["prim"])
    assert [path.rsplit("/", 1)[-1] for path in targets(prim, "isaac:robot:pose:startLink")] == ["left_finger_link"]
    joints = [path.rsplit("/", 1)[-1] for path in targets(prim, "isaac:robot:pose:joints")]
    assert joints[0] == "left_finger_joint" and "wrist_pitch_joint" in joints[1:], "from the first link to the last"
    assert run("isaac", "validate", copied / "sample_arm.poses.usda").returncode == 0
    # The start stays, as in Isaac's inverse kinematics, and the rest of the robot moves.
    links = read(SAMPLES / "sample_arm" / "urdf" / "sample_arm.urdf")
    rest, then = links.link_poses(), links.link_poses(links.resolve({"wrist_pitch_joint": 0.5}))
    target = rest["left_finger_link"] @ np.linalg.inv(then["left_finger_link"]) @ then["forearm_link"]
    assert np.abs(np.array(UsdGeom.Xformable(prim).GetLocalTransformation()).T - target).max() < 2e-6
    back = listed(copied)["back", None]
    assert back["start"].endswith("left_finger_link") and back["end"].endswith("forearm_link")


def test_assets_in_one_folder_have_separate_poses(tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.usda").write_text(TWO.replace("turn", f"{name}_turn"))
        assert run("pose", "store", tmp_path / f"{name}.usda", name, "--robot", "/World/A", "--set", f"A_{name}_turn=0.5").returncode == 0
        assert run("isaac", "recalculate", tmp_path / f"{name}.usda", "--robot", "/World/A").returncode == 0
    for name in ("one", "two"):
        for entry in (f"{name}.usda", f"{name}.isaac.usda", f"{name}.poses.usda"):
            done = run("pose", "list", tmp_path / entry, "--robot", "/World/A", "--json")
            assert [pose["name"] for pose in json.loads(done.stdout)["poses"]] == [name], entry
    # A later overlay becomes part of the poses' entry when these change.
    done = run("pose", "store", tmp_path / "one.usda", "more", "--robot", "/World/A", "--set", "A_one_turn=0.25")
    assert done.returncode == 0
    entry = Sdf.Layer.FindOrOpen(str(tmp_path / "one.poses.usda"))
    assert [path.rsplit("/", 1)[-1] for path in entry.subLayerPaths] == ["poses.usda", "one.isaac.usda"]


INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
DRIFTING = f"""<robot name="pf">
<link name="base">{INERTIAL}</link><link name="p">{INERTIAL}</link><link name="f">{INERTIAL}</link><link name="c">{INERTIAL}</link><link name="d">{INERTIAL}</link>
<joint name="jp" type="planar"><parent link="base"/><child link="p"/><axis xyz="0 0 1"/><origin xyz="0 0 .1"/><limit lower="-1" upper="2" effort="3" velocity="4"/></joint>
<joint name="jf" type="floating"><parent link="p"/><child link="f"/><origin xyz="0 0 .1"/></joint>
<joint name="jc" type="continuous"><parent link="f"/><child link="c"/><axis xyz="0.6 0 0.8"/><origin xyz="0 0 .1" rpy="0.1 0.2 0.3"/></joint>
<joint name="jd" type="prismatic"><parent link="f"/><child link="d"/><axis xyz="0 1 0"/><limit lower="0.1" upper="1" effort="3" velocity="4"/></joint>
</robot>
"""


def test_joints_outside_of_a_pose_keep_their_place(tmp_path):
    """Also those that are neither at zero nor have a single position."""
    (tmp_path / "pf.urdf").write_text(DRIFTING)
    assert run("convert", tmp_path / "pf.urdf", "-o", tmp_path, "--overlays", "isaac", "--formats", "usd").returncode == 0
    asset = tmp_path / "pf" / "pf.usda"
    stage = Usd.Stage.Open(str(asset))
    bodies = {prim.GetName(): prim.GetPath() for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    for name, shift in (("p", (0.3, -0.2, 0.1)), ("f", (0.5, 0.6, 0.7))):
        UsdGeom.Xformable(stage.GetPrimAtPath(bodies[name])).GetTranslateOp().Set(Gf.Vec3d(*shift))
    stage.GetRootLayer().Save()

    def placed(entry):
        layers = Usd.Stage.Open(str(entry))
        cache = UsdGeom.XformCache()
        return {name: np.array(cache.GetLocalToWorldTransform(layers.GetPrimAtPath(path))) for name, path in bodies.items()}

    before = placed(asset)
    for pose, joint in (("turned", "jc=0.5"), ("out", "jd=0.4")):
        assert run("pose", "store", asset, pose, "--set", joint).returncode == 0
    assert run("pose", "apply", asset, "turned").returncode == 0
    turned = placed(tmp_path / "pf" / "pf.posed.usda")
    assert {name for name in bodies if np.abs(turned[name] - before[name]).max() > 1e-6} == {"c"}
    assert run("pose", "apply", asset, "out").returncode == 0
    both = placed(tmp_path / "pf" / "pf.posed.usda")
    assert {name for name in bodies if np.abs(both[name] - turned[name]).max() > 1e-6} == {"d"}
    assert np.abs((both["d"] - before["d"])[3, :3] @ both["f"][:3, :3].T - [0, 0.4, 0]).max() < 1e-6
