"""The overlay isaac: OpenUSD knows its schemas, its poses match the robot's, and they are read back from the asset."""

import json
import math
import sys

import numpy as np
import pytest
from conftest import ROBOTS, ROOT, SAMPLES, convert, run, source
from kinematics import read
from pxr import Gf, Usd, UsdGeom
from worker import worker

PLUGIN = ROOT / "schema" / "isaac"
TYPES = ["Default", "End Effector", "Manipulator", "Humanoid", "Wheeled", "Holonomic", "Quadruped", "Mobile Manipulators", "Aerial"]
LICENSES = ["MIT", "Apache-2.0", "GPL-3.0", "LGPL-3.0", "BSD-3-Clause", "BSD-2-Clause", "ISC", "MPL-2.0", "EPL-2.0", "CC0-1.0", "Unlicense", "Other"]
DOFS = ["TransX", "TransY", "TransZ", "RotX", "RotY", "RotZ"]
#: Properties of the schema of Isaac Sim 6: type, whether uniform, fallback, allowed tokens.
SCHEMAS = {
    "IsaacRobotAPI": {
        "isaac:changelog": ["string[]", False, None, None],
        "isaac:description": ["string", False, None, None],
        "isaac:license": ["token", False, "Other", LICENSES],
        "isaac:namespace": ["string", False, None, None],
        "isaac:physics:robotJoints": ["rel", True, None, None],
        "isaac:physics:robotLinks": ["rel", True, None, None],
        "isaac:robot:namedPoses": ["rel", True, None, None],
        "isaac:robotType": ["token", False, "Default", TYPES],
        "isaac:source": ["string", False, None, None],
        "isaac:version": ["string", False, None, None],
    },
    "IsaacLinkAPI": {"isaac:nameOverride": ["string", False, None, None]},
    "IsaacJointAPI": {
        "isaac:NameOverride": ["string", False, None, None],
        "isaac:actuator": ["bool[]", False, None, None],
        "isaac:nameOverride": ["string", False, None, None],
        "isaac:physics:DofOffsetOpOrder": ["token[]", False, None, DOFS],
    },
    "IsaacSiteAPI": {"isaac:Description": ["string", False, None, None], "isaac:forwardAxis": ["token", True, "X", ["X", "Y", "Z"]]},
}
POSE = {
    "isaac:robot:pose:jointFixed": "bool[]",
    "isaac:robot:pose:jointValues": "float[]",
    "isaac:robot:pose:valid": "bool",
    **dict.fromkeys(("isaac:robot:pose:endLink", "isaac:robot:pose:joints", "isaac:robot:pose:startLink"), "rel"),
}


def robots():
    """Returns the robots with a file of named poses: the source, and the options for it."""
    for name in ("sample_arm", "sample_rover"):
        yield pytest.param((name, ["--srdf-file", SAMPLES / name / "srdf" / f"{name}.srdf"]), id=name)
    xrdf = next(ROBOTS.glob("*/xrdf/ur10e.xrdf"), None)
    if xrdf:
        yield pytest.param(("ur_description", ["--xrdf-file", xrdf, "--robot-type", "Manipulator"]), id="ur10e", marks=pytest.mark.real_robot)


@pytest.fixture(scope="module", params=robots())
def posed(request, tmp_path_factory):
    name, options = request.param
    asset = convert(source(name), tmp_path_factory.mktemp("isaac"), "--overlays", "isaac", "--formats", "usd,gltf", "--tiers", "high", *options)
    return asset, asset.directory / f"{asset.asset_name}.isaac.usda"


def test_openusd_knows_the_schemas_and_the_layers_follow_them(posed):
    _, entry = posed
    seen = seen_by_openusd_with([*SCHEMAS, "IsaacNamedPose"], entry)
    for name, properties in SCHEMAS.items():
        assert seen["schemas"][name]["properties"] == properties, name
    pose = seen["schemas"]["IsaacNamedPose"]["properties"]
    assert {name: kind[0] for name, kind in pose.items() if name in POSE} == POSE and "xformOpOrder" in pose
    asset = seen["assets"][str(entry)]
    assert asset["findings"] == [] and asset["errors"] == []
    for name, (listed, has) in asset["counts"].items():
        assert listed == has, name
    assert asset["counts"]["IsaacRobotAPI"][0] == 1 and asset["counts"]["IsaacNamedPose"][0] >= 1


def seen_by_openusd_with(names, *entries):
    path = f"{ROOT / 'schema'}:{PLUGIN}"
    seen, said = worker(sys.executable, "isaac", PXR_PLUGINPATH_NAME=path).ask("schemas_in_usd", names, list(map(str, entries)))
    assert said == ""
    return seen


def test_the_end_of_a_pose_is_that_of_the_robot(posed):
    asset, entry = posed
    stage, urdf = Usd.Stage.Open(str(entry)), read(asset.urdf)
    robot = stage.GetDefaultPrim()
    poses = [stage.GetPrimAtPath(path) for path in robot.GetRelationship("isaac:robot:namedPoses").GetTargets()]
    assert poses and all(pose.GetParent().GetName() == "Named_Poses" for pose in poses)
    rest = urdf.link_poses()
    for pose in poses:
        one = lambda name: stage.GetPrimAtPath(pose.GetRelationship(f"isaac:robot:pose:{name}").GetTargets()[0])
        joints = [stage.GetPrimAtPath(path) for path in pose.GetRelationship("isaac:robot:pose:joints").GetTargets()]
        values = pose.GetAttribute("isaac:robot:pose:jointValues").Get()
        assert len(joints) == len(values) == len(pose.GetAttribute("isaac:robot:pose:jointFixed").Get()) > 0
        positions = {}
        for joint, value in zip(joints, values):
            turns = joint.GetTypeName() == "PhysicsRevoluteJoint"
            positions[joint.GetAttribute("ros:joint:name").Get()] = math.radians(value) if turns else value
        end, start = one("endLink").GetName(), one("startLink").GetName()
        at = urdf.link_poses(urdf.resolve(positions))
        # In the frame of the robot, which contains the first link with a prim.
        first = stage.GetPrimAtPath(robot.GetRelationship("isaac:physics:robotLinks").GetTargets()[0])
        cache = UsdGeom.XformCache()
        in_robot = np.array(cache.GetLocalToWorldTransform(first)).T @ np.linalg.inv(rest[first.GetName()])
        given = np.array(UsdGeom.Xformable(pose).GetLocalTransformation()).T
        assert np.abs(given - in_robot @ at[end]).max() < 2e-6, pose.GetPath()
        above = [end]
        while above[-1] in urdf.parent_joint:
            above.append(urdf.joints[urdf.parent_joint[above[-1]]].parent)
        assert start in above, "the chain must begin above its end"


def test_poses_come_back_from_the_asset(posed, tmp_path):
    """Converting the overlay's entry to glTF gives the same configurations as the URDF with its SRDF or XRDF."""
    asset, entry = posed
    done = run("convert", entry, "-o", tmp_path, "--formats", "gltf", "--json")
    assert done.returncode == 0, done.stderr

    def configurations(file):
        model = json.loads(file.read_text())
        (extension,) = model["extensions"]["KHR_robot_kinematics" if "KHR_robot_kinematics" in model["extensions"] else "EXT_robot_kinematics"]["models"]
        names = [joint["name"] for joint in extension["joints"]]
        out = {}
        for name, pose in extension.get("configurations", {}).items():
            out[name] = dict(zip(names, pose["jointPositions"]))
        return out

    (made,) = tmp_path.rglob("*.gltf")
    (first,) = asset.directory.glob("*.gltf")
    before, after = configurations(first), configurations(made)
    assert before.keys() == after.keys() and len(before) >= 1
    for name, pose in before.items():
        assert pose.keys() <= after[name].keys()
        for joint, position in pose.items():
            assert np.allclose(np.ravel(position), np.ravel(after[name][joint]), atol=1e-6), (name, joint)


def test_sites_may_be_last(tmp_path):
    asset = convert(source("sample_arm"), tmp_path, "--overlays", "isaac", "--formats", "usd", "--tiers", "high", "--sites-last")
    stage = Usd.Stage.Open(str(asset.directory / f"{asset.asset_name}.isaac.usda"))
    listed = [stage.GetPrimAtPath(path) for path in stage.GetDefaultPrim().GetRelationship("isaac:physics:robotLinks").GetTargets()]
    is_site = ["IsaacSiteAPI" in prim.GetAppliedSchemas() or "IsaacSiteAPI" in prim.GetMetadata("apiSchemas").GetAppliedItems() for prim in listed]
    is_body = ["PhysicsRigidBodyAPI" in prim.GetAppliedSchemas() for prim in listed]
    assert True in is_site and is_body == sorted(is_body, reverse=True)


def test_optical_frames_look_along_z(tmp_path):
    asset = convert(source("sample_rover"), tmp_path, "--overlays", "isaac", "--formats", "usd", "--tiers", "high", "--robot-type", "Mobile Base")
    stage = Usd.Stage.Open(str(asset.directory / f"{asset.asset_name}.isaac.usda"))
    axes = {p.GetName(): axis.Get() for p in stage.Traverse() if (axis := p.GetAttribute("isaac:forwardAxis"))}
    optical = {name for name in axes if name.endswith("optical_frame")}
    assert optical and {name for name, axis in axes.items() if axis == "Z"} == optical and set(axes.values()) == {"X", "Z"}
    assert stage.GetDefaultPrim().GetAttribute("isaac:robotType").Get() == "Mobile Base"


def test_a_pose_of_several_branches_is_reported(tmp_path):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in "abc")
    joints = "".join(f'<joint name="{name}" type="continuous"><parent link="a"/><child link="{child}"/></joint>' for name, child in (("l", "b"), ("r", "c")))
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joints}</robot>')
    for names, expected in (("lr", ["isaac-pose-branches"]), ("l", [])):
        states = "".join(f'<joint name="{name}" value="0.5"/>' for name in names)
        group = '<group name="all"><joint name="l"/><joint name="r"/></group>'
        (tmp_path / "r.srdf").write_text(f'<robot name="r">{group}<group_state name="up" group="all">{states}</group_state></robot>')
        done = run("convert", tmp_path / "r.urdf", "--srdf-file", tmp_path / "r.srdf", "-o", tmp_path / names, "--overlays", "isaac", "--json")
        assert done.returncode == 0, done.stderr
        assert [d["code"] for d in json.loads(done.stdout)["diagnostics"] if d["code"].startswith("isaac-pose")] == expected
        stage = Usd.Stage.Open(str(tmp_path / names / "r" / "r.isaac.usda"))
        assert {Usd.ModelAPI(stage.GetPrimAtPath(f"/r/{scope}")).GetKind() for scope in ("Named_Poses", "NamedPoses")} == {"subcomponent"}


def test_metadata_of_the_package_is_authored(posed):
    asset, entry = posed
    stage = Usd.Stage.Open(str(entry))
    robot = stage.GetDefaultPrim()
    says = lambda name: robot.GetAttribute(f"isaac:{name}").Get() if robot.GetAttribute(f"isaac:{name}") else None
    assert says("description") and says("version") == robot.GetMetadata("assetInfo")["version"]
    assert says("license") in LICENSES and says("namespace")
    assert says("robotType") == ("Manipulator" if asset.name == "ur_description" else None)


def test_a_chain_from_the_world_begins_with_its_first_link_that_has_a_prim(tmp_path):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = lambda name, parent, child: (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/></joint>'
    )
    links = f'<link name="world"/><link name="a">{inertial}</link><link name="b">{inertial}</link>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joint("j", "world", "a")}{joint("k", "a", "b")}</robot>')
    (tmp_path / "r.srdf").write_text(
        '<robot name="r"><group name="arm"><chain base_link="world" tip_link="b"/></group>'
        '<group_state name="up" group="arm"><joint name="j" value="0.5"/></group_state></robot>'
    )
    done = run("convert", tmp_path / "r.urdf", "--srdf-file", tmp_path / "r.srdf", "-o", tmp_path, "--overlays", "isaac")
    assert done.returncode == 0, done.stderr
    stage = Usd.Stage.Open(str(tmp_path / "r" / "r.isaac.usda"))
    (pose,) = stage.GetPrimAtPath("/r/Named_Poses").GetChildren()
    assert pose.GetRelationship("isaac:robot:pose:startLink").GetTargets() == ["/r/a"]
    assert pose.GetRelationship("isaac:robot:pose:endLink").GetTargets() == ["/r/a/b"]


def test_a_pose_of_several_trees_is_left_out_and_reported(tmp_path):
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    joint = lambda name, parent, child: (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/></joint>'
    )
    links = "".join(f'<link name="{name}">{inertial}</link>' for name in "abcd")
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joint("j", "a", "b")}{joint("k", "c", "d")}</robot>')
    (tmp_path / "r.srdf").write_text(
        '<robot name="r"><group name="all"><joint name="j"/><joint name="k"/></group>\n<group_state name="up" group="all">'
        '<joint name="j" value="0.5"/><joint name="k" value="0.5"/></group_state></robot>'
    )
    done = run("convert", tmp_path / "r.urdf", "--srdf-file", tmp_path / "r.srdf", "-o", tmp_path, "--overlays", "isaac", "--json")
    (told,) = (found for found in json.loads(done.stdout)["diagnostics"] if found["code"] == "isaac-pose-left-out")
    assert told["where"]["file"].endswith("r.srdf") and told["where"]["line"] == 2, told
