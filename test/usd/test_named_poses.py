"""`--srdf` and `--xrdf`: named poses become configurations of the glTF, an XRDF's pairs are filtered, its frames are added, and
faults of either are reported with their place. The tests read the files with ElementTree and PyYAML, independently of the program."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import yaml
from pxr import UsdPhysics

import expectation
import glb_file as gltf
import kinematics
from conftest import SAMPLES, convert, marks_of, reported, run, source
from stage import Asset

ARM = SAMPLES / "sample_arm"
ARM_FILES = {"srdf": ARM / "srdf" / "sample_arm.srdf", "xrdf": ARM / "xrdf" / "sample_arm.xrdf"}


@pytest.fixture(scope="module")
def converted_with(tmp_path_factory):
    """Converts a robot with an SRDF, an XRDF, or both."""
    made = {}

    def by_name(name, **files):
        key = (name, tuple(files.items()))
        if key not in made:
            options = [part for option, file in files.items() for part in (f"--{option}", file)]
            made[key] = convert(source(name), tmp_path_factory.mktemp(name), *options)
        return made[key]

    return by_name


def xrdf_of(name):
    return ARM_FILES["xrdf"] if name == "sample_arm" else source(name).urdf.parents[1] / "xrdf" / "ur10e.xrdf"


with_xrdf = pytest.mark.parametrize("name", ["sample_arm", pytest.param("ur_description", marks=marks_of("ur_description"))])


def default_pose(urdf, document):
    """Returns the position of every independent joint with one axis, by section 6 of the specification."""
    given = document["default_joint_positions"]
    pose = {}
    for joint in urdf.joints.values():
        if kinematics.FREEDOM[joint.kind] == 1 and joint.mimic is None:
            is_limited = joint.kind != "continuous"
            lower, upper = (joint.lower, joint.upper) if is_limited else (-np.inf, np.inf)
            pose[joint.name] = given.get(joint.name, min(max(0.0, lower), upper))
    return pose


def assert_configuration(converted, name, pose, group):
    """Asserts that the GLB's configuration `name` sets exactly the joints of `pose`, and that others are at home or follow."""
    model = gltf.Glb(converted.glb).model
    names = [joint["name"] for joint in model["joints"]]
    configuration = model["configurations"][name]
    positions = dict(zip(names, configuration["jointPositions"], strict=True))
    assert {joint: positions[joint] for joint in pose} == pytest.approx(pose)
    settable = {joint["name"] for joint in model["joints"] if joint["dofs"] and not joint.get("mimic")}
    for joint in model["joints"]:
        if mimic := joint.get("mimic"):
            leader = positions[names[mimic["joint"]]]
            assert positions[joint["name"]] == pytest.approx(mimic["multiplier"] * leader + mimic["offset"])
        elif joint["name"] not in pose:
            home = [dof["default"] for dof in joint["dofs"]]
            assert positions[joint["name"]] == (home[0] if len(home) == 1 else home)
    extras = configuration.get("extras", {})
    assert extras.get("group") == group
    if set(pose) != settable:
        assert [names[index] for index in extras["joints"]] == [joint for joint in names if joint in pose]


def group_states(srdf):
    for state in ElementTree.parse(srdf).getroot().findall("group_state"):
        yield state.get("name"), state.get("group"), {j.get("name"): float(j.get("value")) for j in state.findall("joint")}


@pytest.mark.parametrize("name", ["sample_arm", "sample_rover"])
def test_group_states_are_configurations(converted_with, name):
    srdf = SAMPLES / name / "srdf" / f"{name}.srdf"
    converted = converted_with(name, srdf=srdf)
    assert [d for d in converted.report["diagnostics"] if d["code"].startswith("srdf")] == []
    states = list(group_states(srdf))
    assert len(states) == 5
    for state, group, pose in states:
        assert_configuration(converted, state, pose, group)


@with_xrdf
def test_default_positions_are_a_configuration(converted_with, name):
    converted = converted_with(name, xrdf=xrdf_of(name))
    pose = default_pose(kinematics.read(converted.urdf), yaml.safe_load(xrdf_of(name).read_text()))
    assert len(pose) >= 6
    assert_configuration(converted, "default", pose, None)


def test_both_at_once(converted_with):
    converted = converted_with("sample_arm", **ARM_FILES)
    configurations = gltf.Glb(converted.glb).model["configurations"]
    assert set(configurations) == {"home", "stowed", "up", "open", "closed", "default"}


@with_xrdf
def test_valid_files_have_no_findings(converted_with, name):
    report = converted_with(name, xrdf=xrdf_of(name)).report
    found = {(d["code"], d["severity"]) for d in report["diagnostics"] if d["code"].startswith("xrdf")}
    # The removal of the link above the root is reported.
    assert found <= {("xrdf-base-set", "info")}
    assert bool(found) == ("modifiers" in yaml.safe_load(xrdf_of(name).read_text()))


def filtered_pairs(converted):
    """Returns the filtered pairs of bodies, by link name."""
    asset = Asset(converted.entry)
    names = {prim.GetPath(): name for name, prim in asset.bodies.items()}
    pairs = set()
    for path, name in names.items():
        prim = asset.stage.GetPrimAtPath(path)
        if prim.HasAPI(UsdPhysics.FilteredPairsAPI):
            pairs |= {frozenset((name, names[p])) for p in UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets()}
    return pairs, set(names.values())


def joined_pairs(converted):
    """Returns the pairs of bodies that a joint connects, by link name."""
    asset = Asset(converted.entry)
    names = {prim.GetPath(): name for name, prim in asset.bodies.items()}
    joints = [UsdPhysics.Joint(prim) for prim in asset.stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    ends = [[*joint.GetBody0Rel().GetTargets(), *joint.GetBody1Rel().GetTargets()] for joint in joints]
    return {frozenset(names[end] for end in both) for both in ends if len(both) == 2 and all(end in names for end in both)}


@with_xrdf
def test_ignored_pairs_are_filtered(converted_with, name):
    converted = converted_with(name, xrdf=xrdf_of(name))
    pairs, bodies = filtered_pairs(converted)
    ignored = yaml.safe_load(xrdf_of(name).read_text())["self_collision"]["ignore"]
    wanted = {frozenset((a, b)) for a, others in ignored.items() for b in others}
    adjacent = joined_pairs(converted)
    # As in the URDF, without the links above the root of the XRDF.
    assert "modifiers" in yaml.safe_load(xrdf_of(name).read_text()) or adjacent == expectation.of(kinematics.read(converted.urdf)).adjacent
    assert {pair for pair in wanted if pair <= bodies} - adjacent == pairs - adjacent
    assert pairs - adjacent, "the robot must have filtered pairs"


XRDF = """format: xrdf
format_version: {version}
modifiers:
  - add_frame:
      frame_name: "camera tip"
      parent_frame_name: "camera"
      joint_name: "camera_tip_joint"
      fixed_transform:
        position: [0.0, 0.25, 0.0]
        orientation: {{w: 0.6, xyz: [0.8, 0.0, 0.0]}}
  - add_frame:
      frame_name: "camera"
      parent_frame_name: "wrist_link"
      joint_name: "camera_joint"
      fixed_transform:
        position: [0.1, 0.2, 0.3]
        orientation: {{w: 0.5, xyz: [-0.5, 0.5, 0.5]}}
cspace:
  joint_names: [elbow_joint]
  acceleration_limits: [10]
  jerk_limits: [100]
{world}: {{geometry: all}}
self_collision:
  geometry: own
  ignore: {{gripper_link: [base_link]}}
geometry:
  all: {{spheres: {{camera: [{{center: [0, 0, 0], radius: 0.1}}]}}}}
  own: {{spheres: {{}}}}
"""


@pytest.fixture
def with_text(tmp_path):
    """Converts the sample arm with the text of an SRDF or XRDF. Returns the finished process and the output directory."""

    def converted(kind, text):
        file = tmp_path / f"arm.{kind}"
        file.write_text(text, encoding="utf-8")
        options = ("--package", f"sample_arm={ARM}", f"--{kind}", file, "--json")
        return run("convert", ARM / "urdf" / "sample_arm.urdf", "-o", tmp_path / "out", *options), tmp_path / "out" / "sample_arm"

    return converted


def test_version_2_and_added_frames(with_text):
    done, directory = with_text("xrdf", XRDF.format(version="2.0", world="world_collision"))
    assert done.returncode == 0, done.stderr
    found = {d["code"]: d for d in json.loads(done.stdout)["diagnostics"] if d["code"].startswith("xrdf")}
    assert set(found) == {"xrdf-frames-added"}
    assert '"camera", "camera tip"' in found["xrdf-frames-added"]["message"]
    # Computed by hand: R(w 0.5, xyz (-0.5, 0.5, 0.5)) takes y to -x … as columns (0, 0, -1), (-1, 0, 0), (0, 1, 0).
    camera = kinematics.pose((0.1, 0.2, 0.3), np.array([[0.0, -1, 0], [0, 0, 1], [-1, 0, 0]]))
    tip = camera @ kinematics.pose((0, 0.25, 0), np.array([[1.0, 0, 0], [0, -0.28, -0.96], [0, 0.96, -0.28]]))
    glb = gltf.Glb(directory / "sample_arm.glb")
    poses = glb_poses(glb)
    wrist = np.linalg.inv(poses["wrist_link"])
    assert np.allclose(wrist @ poses["camera"], camera, atol=1e-6)
    assert np.allclose(wrist @ poses["camera tip"], tip, atol=1e-6)
    assert {glb.joints[name]["type"] for name in ("camera_joint", "camera_tip_joint")} == {"fixed"}
    asset = Asset(directory / "sample_arm.usda")
    assert {"camera", "camera tip"} <= {str(p.GetAttribute("ros:frame:id").Get()) for p in asset.stage.Traverse() if p.HasAttribute("ros:frame:id")}


def glb_poses(glb):
    """Returns every link's frame in the scene at rest, in ROS axes."""

    def local(node):
        out = np.eye(4)
        out[:3, :3] = gltf.quaternion(*node.get("rotation", (0, 0, 0, 1)))
        out[:3, 3] = node.get("translation", (0, 0, 0))
        return out

    def world(index):
        parent = glb.parents.get(index)
        return local(glb.nodes[index]) if parent is None else world(parent) @ local(glb.nodes[index])

    return {name: gltf.AXES.T @ world(link["node"]) @ gltf.AXES for name, link in glb.links.items()}


@pytest.mark.parametrize(
    ("kind", "old", "new", "code", "line", "column", "part"),
    [
        ("srdf", 'value="2.3"', 'value="2.5"', "srdf-outside-limits", 22, 31, "2.5"),
        ("srdf", '"elbow_joint" value="2.3"', '"elbow_jiont" value="2.3"', "srdf-unknown-joint", 22, 12, "elbow_joint"),
        ("srdf", 'value="2.3"', 'value="${2.3}"', "urdf-bad-number", 22, 31, "xacro"),
        ("xrdf", '"elbow_joint": -0.25', '"elbow_joint": 35', "xrdf-outside-limits", 8, 18, "35"),
        ("xrdf", '"elbow_joint": -0.25', '"elbow": -0.25', "xrdf-unknown-joint", 8, 3, "elbow"),
        ("xrdf", '"left_finger_joint": 0.02', '"right_finger_joint": 0.02', "xrdf-mimic-joint", 12, 3, "left_finger_joint"),
        ("xrdf", "[8, 8, 10, 12, 12, 15]", "[8, 8, 10, 12, 12]", "xrdf-unequal-lengths", 16, 24, "5 values for 6"),
        ("xrdf", '"grasp_frame"', '"grasp"', "xrdf-unknown-frame", 19, 24, "grasp"),
    ],
)
def test_faults_are_reported(with_text, kind, old, new, code, line, column, part):
    text = ARM_FILES[kind].read_text()
    assert text.count(old) == 1
    done, _ = with_text(kind, text.replace(old, new))
    [finding] = [d for d in reported(done, errors=kind == "xrdf" or code == "urdf-bad-number")["diagnostics"] if d["code"] == code]
    place = finding["where"]
    assert (place["line"], place["column"], place["file"].rsplit("/")[-1]) == (line, column, f"arm.{kind}")
    assert part in finding["message"] + finding.get("help", "")


def test_an_invalid_xrdf_is_an_error_and_the_robot_converts(with_text):
    done, directory = with_text("xrdf", "a: [")
    assert (directory / "report.json").is_file()
    assert ("xrdf-malformed-yaml", "error") in {(d["code"], d["severity"]) for d in reported(done, errors=True)["diagnostics"]}


def test_a_missing_file_stops(tmp_path):
    done = run("convert", ARM / "urdf" / "sample_arm.urdf", "-o", tmp_path / "out", "--xrdf-file", tmp_path / "no.xrdf")
    assert done.returncode == 1 and "no.xrdf" in done.stderr and not (tmp_path / "out").exists()


# ---- The sample's own files ---------------------------------------------------------------------------------------------------


def sphere_gaps(urdf, document, positions):
    """Returns the minimum distance between the collision spheres of each pair of links, without ignored pairs."""
    poses = urdf.link_poses(urdf.resolve(positions))
    spheres = {
        link: [(poses[link][:3, :3] @ ball["center"] + poses[link][:3, 3], ball["radius"]) for ball in balls]
        for link, balls in document["geometry"]["spheres"]["spheres"].items()
    }
    ignored = {frozenset((a, b)) for a, others in document["self_collision"]["ignore"].items() for b in others}
    return {
        (a, b): min(np.linalg.norm(p - q) - r - s for p, r in spheres[a] for q, s in spheres[b])
        for a in spheres
        for b in spheres
        if a < b and frozenset((a, b)) not in ignored
    }


def test_the_poses_of_the_sample_are_free_of_collisions():
    """The specification requires this of the default positions; the group states should fulfil it too."""
    urdf, document = kinematics.read(ARM / "urdf" / "sample_arm.urdf"), yaml.safe_load(ARM_FILES["xrdf"].read_text())
    poses = {"default": default_pose(urdf, document), **{state: pose for state, _, pose in group_states(ARM_FILES["srdf"])}}
    for name, pose in poses.items():
        gaps = sphere_gaps(urdf, document, pose)
        assert len(gaps) > 20
        assert min(gaps.values()) > 0, (name, min(gaps, key=gaps.get), min(gaps.values()))


def test_the_samples_files_agree():
    """The SRDF and the XRDF have the same pairs."""
    ignored = yaml.safe_load(ARM_FILES["xrdf"].read_text())["self_collision"]["ignore"]
    disabled = ElementTree.parse(ARM_FILES["srdf"]).getroot().findall("disable_collisions")
    pairs = [frozenset((e.get("link1"), e.get("link2"))) for e in disabled]
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == {frozenset((a, b)) for a, others in ignored.items() for b in others}
