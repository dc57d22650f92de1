"""`urdf_usd xrdf` for robots of every kind: its spheres are compared with the collision meshes, by trimesh and by independent
formulas."""

import json

import numpy as np
import pytest
import trimesh
import yaml
from pxr import Usd

import kinematics
import meshes
from conftest import ROOT, marks_of, run, source

ARM = ROOT / "examples" / "sample_arm"
URDF = ARM / "urdf" / "sample_arm.urdf"
PACKAGES = ("--package", f"sample_arm={ARM}")
#: Maximum distance in metres by which spheres may protrude.
ERROR = 0.04
#: Real robots with every kind of mesh, and one with primitives only.
REAL = ("ur_description", "jaco_description", "irobot_create_description", "spot_description", "cf2x_description")


@pytest.fixture(scope="module", params=["sample_arm", *(pytest.param(name, marks=marks_of(name)) for name in REAL)])
def written(request, tmp_path_factory):
    """Returns a robot, its XRDF, and the report of the command."""
    robot = source(request.param)
    path = tmp_path_factory.mktemp("xrdf") / "robot.xrdf"
    srdf = ("--srdf", ARM / "srdf" / "sample_arm.srdf") if request.param == "sample_arm" else ()
    done = run("xrdf", "write", robot.urdf, "-o", path, *robot.options, *srdf, "--error", ERROR, "--samples", 500, "--json")
    assert done.returncode == 0, done.stderr
    return robot, path, json.loads(done.stdout)


def collision_meshes(robot):
    """Returns the collision geometry of each link in its frame, and the maximum error of approximated round shapes."""
    links = {}
    for link in kinematics.read(robot.urdf).links.values():
        for shape in link.collisions:
            size, slack = shape.attributes, 0.0
            if shape.kind == "mesh":
                package, _, path = size["filename"].removeprefix("package://").partition("/")
                triangles = meshes.triangles(robot.packages[package] / path) * shape.scale
            elif shape.kind == "box":
                triangles = trimesh.creation.box([float(number) for number in size["size"].split()]).triangles
            else:
                radius = float(size["radius"])
                slack = radius * 5e-4
                is_ball = shape.kind == "sphere"
                round_one = trimesh.creation.icosphere(5, radius) if is_ball else trimesh.creation.cylinder(radius, float(size["length"]), sections=128)
                triangles = round_one.triangles
            triangles = np.asarray(triangles) @ shape.origin[:3, :3].T + shape.origin[:3, 3]
            mesh = trimesh.Trimesh(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3), process=False)
            of_link = links.setdefault(link.name, ([], 0.0))
            links[link.name] = ([*of_link[0], mesh], max(of_link[1], slack))
    return links


def distances(points, triangles):
    """Returns the distances of points from the nearest triangle."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    best = np.full(len(points), np.inf)
    normal = np.cross(b - a, c - a)
    area = np.einsum("ij,ij->i", normal, normal)
    area[area == 0] = 1e-300
    for index, point in enumerate(points):
        to = point - a
        v = np.einsum("ij,ij->i", np.cross(to, c - a), normal) / area
        w = np.einsum("ij,ij->i", np.cross(b - a, to), normal) / area
        inside = (v >= 0) & (w >= 0) & (v + w <= 1)
        square = np.where(inside, np.einsum("ij,ij->i", to, normal) ** 2 / area, np.inf)
        for start, end in ((a, b), (b, c), (c, a)):
            along = end - start
            length = np.einsum("ij,ij->i", along, along)
            at = np.clip(np.einsum("ij,ij->i", point - start, along) / np.where(length > 0, length, 1), 0, 1)
            rest = point - start - at[:, None] * along
            square = np.minimum(square, np.einsum("ij,ij->i", rest, rest))
        best[index] = square.min()
    return np.sqrt(best)


def windings(points, triangles):
    """Returns the winding numbers of triangles around points."""
    result = np.empty(len(points))
    for index, point in enumerate(points):
        a, b, c = (triangles[:, k] - point for k in range(3))
        la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
        below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        result[index] = 2 * np.arctan2((a * np.cross(b, c)).sum(1), below).sum() / (4 * np.pi)
    return result


def uncovered(points, spheres):
    centers, radii = spheres[:, :3], spheres[:, 3]
    return points[(np.linalg.norm(points[:, None] - centers, axis=2) > radii + 1e-9).all(axis=1)]


def sample_count(triangles):
    """Maximum number of sampled points: each is compared with all triangles."""
    return min(300, max(60, 600_000 // len(triangles)))


def check_coverage(parts, spheres, error):
    """Asserts that every point on and in the meshes is in a sphere, and that no sphere protrudes from all meshes by more than the error."""
    random = np.random.default_rng(5)
    triangles = np.concatenate([np.asarray(mesh.triangles) for mesh in parts])
    for mesh in parts:
        surface, _ = trimesh.sample.sample_surface(mesh, 4000, seed=7)
        assert not len(uncovered(surface, spheres))
        low, high = mesh.bounds
        volume = random.uniform(low, high, (sample_count(mesh.triangles), 3))
        volume = volume[np.abs(windings(volume, np.asarray(mesh.triangles))) > 0.5]
        assert not len(uncovered(volume, spheres))
    around = random.normal(size=(60, 3))
    around /= np.linalg.norm(around, axis=1)[:, None]
    points = (spheres[:, None, :3] + around * spheres[:, None, 3:]).reshape(-1, 3)
    points = points[random.permutation(len(points))[: sample_count(triangles)]]
    out = distances(points, triangles)
    far = points[out > error + 1e-6]
    # For a surface with holes, the winding number defines the inside.
    assert (np.abs(windings(far, triangles)) > 0.5).all()


def test_spheres_cover_the_collision_meshes_within_the_reported_error(written):
    robot, path, report = written
    [group] = yaml.safe_load(path.read_text())["geometry"].values()
    links = collision_meshes(robot)
    assert set(group["spheres"]) == set(links)
    fitted = {link["link"]: link for link in report["links"]}
    for link, of_link in group["spheres"].items():
        spheres = np.array([[*sphere["center"], sphere["radius"]] for sphere in of_link])
        assert len(spheres) == fitted[link]["spheres"] and fitted[link]["error"] <= ERROR
        of_meshes, slack = links[link]
        check_coverage(of_meshes, spheres, fitted[link]["error"] + slack)


def test_the_xrdf_is_valid_and_survives_usd_and_gltf(written, tmp_path):
    robot, path, _ = written
    done = run("xrdf", "check", "--strict", robot.urdf, path, *robot.options, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["diagnostics"] == [], done.stderr
    converted = run("convert", robot.urdf, "-o", tmp_path, *robot.options, "--xrdf-file", path, "--check", "--tiers", "high", "--json")
    report = json.loads(converted.stdout)
    # Colliders of the variant trimesh may be open or intersect themselves, with or without spheres.
    assert {d["code"] for d in report["diagnostics"] if d["severity"] == "error"} <= {"REP158-3.4.5", "REP158-3.4.7"}, converted.stderr
    # Spheres break no rule in any variant.
    assert not [d for d in report["diagnostics"] if d["code"].startswith("REP158") and ("sphere_" in d["message"] or "planning" in d["message"])]
    [folder] = [folder for folder in tmp_path.iterdir() if (folder / "report.json").is_file()]
    wanted = by_name(path)
    for ending in ("usda", "glb"):
        again = tmp_path / f"{ending}.xrdf"
        done = run("xrdf", "write", folder / f"{folder.name}.{ending}", "-o", again)
        assert done.returncode == 0, done.stderr
        assert by_name(again) == wanted


def by_name(path):
    """Returns the contents of an XRDF, with pairs as sets."""
    said = yaml.safe_load(path.read_text())
    ignored = said["self_collision"].pop("ignore", {})
    said["pairs"] = {frozenset((one, other)) for one, others in ignored.items() for other in others}
    return said


def test_wrong_arguments_and_files_are_reported(tmp_path):
    output = tmp_path / "a.xrdf"
    for arguments, code, said in (
        (("--error", "0"), 2, "above 0"),
        (("--error", "1", "--spheres", "3"), 2, "cannot be used with"),
        (("--joint", "nothing"), 1, "has no joint"),
        (("--jerk-limit", "elbow_joint=-1"), 2, "above 0"),
    ):
        done = run("xrdf", "write", URDF, "-o", output, *PACKAGES, *arguments)
        assert done.returncode == code and said in done.stderr, done.stderr
    assert not output.exists()
    wrong = tmp_path / "wrong.xrdf"
    wrong.write_text("format: xrdf\nformat_version: 1.0\ncspace:\n  joint_names: [elbow]\n")
    done = run("xrdf", "check", URDF, wrong, *PACKAGES, "--json")
    found = [(d["code"], d["where"]["line"], d["where"]["column"]) for d in json.loads(done.stdout)["diagnostics"]]
    assert done.returncode == 1 and ("xrdf-unknown-joint", 4, 17) in found and ("xrdf-missing", 4, 3) in found


def test_a_robot_without_collision_geometry_gets_a_remedy(tmp_path):
    geometry = '<collision><geometry><mesh filename="gone.stl"/></geometry></collision>'
    for shape, said in ((geometry, "see the errors about them"), ("", "add collision elements")):
        urdf = tmp_path / "r.urdf"
        urdf.write_text(f'<robot name="r"><link name="a">{shape}</link></robot>')
        done = run("xrdf", "write", urdf, "-o", tmp_path / "r.xrdf")
        assert done.returncode == 1 and "spheres-no-collision" in done.stderr and said in done.stderr, done.stderr


#: `base`, a rail, an arm on it whose wrist mimics the elbow, and the frame `tool`.
ROBOT = """<robot name="r"><link name="world"/>{links}<link name="tool"/>
  <joint name="fix" type="fixed"><parent link="world"/><child link="base"/><origin xyz="0 0 1"/></joint>
  <joint name="rail" type="prismatic"><parent link="base"/><child link="car"/><origin xyz="0 0 0.5"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="1" effort="9" velocity="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="car"/><child link="arm"/><origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="1"/></joint>
  <joint name="wrist" type="revolute"><parent link="arm"/><child link="hand"/><origin xyz="0 0 0.5"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="1"/><mimic joint="elbow"/></joint>
  <joint name="tip" type="fixed"><parent link="hand"/><child link="tool"/><origin xyz="0 0 0.2"/></joint></robot>""".format(
    links="".join(f'<link name="{name}"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>' for name in ("base", "car", "arm", "hand"))
)
BALL = "[{center: [0, 0, 0], radius: 0.1}]"
VALID = f"""format: xrdf
format_version: 1.0
modifiers:
  - add_frame: {{frame_name: far, parent_frame_name: near, joint_name: far_joint, fixed_transform: {{position: [0, 0, 0.1], orientation: {{w: 1, xyz: [0, 0, 0]}}}}}}
  - add_frame:
      frame_name: near
      parent_frame_name: tool
      joint_name: near_joint
      joint_type: FIXED
      fixed_transform: {{position: [1.0, 2.0, 3.0], orientation: {{w: 0.5, xyz: [-0.5, 0.5, 0.5]}}}}
  - set_base_frame: base
default_joint_positions: {{elbow: 0.5}}
cspace: {{joint_names: [elbow, rail], acceleration_limits: [50, 40], jerk_limits: [5000, 0xfa0]}}
tool_frames: [far, tool]
collision: {{geometry: g, buffer_distance: {{arm: 0.05, near: -0.02}}}}
self_collision: {{geometry: g, buffer_distance: {{arm: 0.03, base: 0.02}}, ignore: {{base: [car], arm: [car, hand], base: [arm]}}}}
geometry: {{g: {{spheres: {{base: {BALL}, car: {BALL}, arm: {BALL}, hand: {BALL}}}}}}}
"""
#: A part of the XRDF, its replacement, and the code of the error.
FAULTS = (
    ("joint_names: [elbow", "joint_names: [wrist", "xrdf-mimic-joint"),
    ("joint_names: [elbow", "joint_names: [tip", "xrdf-joint-type"),
    ("joint_names: [elbow", "joint_names: [elbo", "xrdf-unknown-joint"),
    ("[elbow, rail]", "[elbow, elbow]", "xrdf-repeated-joint"),
    ("joint_names: [elbow, rail], acceleration_limits: [50, 40], jerk_limits: [5000, 0xfa0]", "joint_names: [], acceleration_limits: [], jerk_limits: []", "xrdf-no-coordinate"),
    ("[50, 40]", "[50]", "xrdf-unequal-lengths"),
    ("[50, 40]", "[50, -40]", "xrdf-bad-value"),
    ("[50, 40]", "[50, .nan]", "xrdf-wrong-form"),
    ("position: [1.0, 2.0, 3.0]", "position: [1.0, 2.0]", "xrdf-wrong-form"),
    ("{elbow: 0.5}", "{elbow: 1.5}", "xrdf-outside-limits"),
    ("{elbow: 0.5}", "{wrist: 0.5}", "xrdf-mimic-joint"),
    ("{elbow: 0.5}", "{elbow: 0.5, elbow: 0.5}", "xrdf-repeated-joint"),
    ("tool_frames: [far", "tool_frames: [fat", "xrdf-unknown-frame"),
    ("tool_frames: [far", "tool_frames: [world", "xrdf-above-base"),
    ("buffer_distance: {arm: 0.05", "buffer_distance: {amr: 0.05", "xrdf-unknown-frame"),
    ("collision: {geometry: g, buffer_distance: {arm: 0.05", "collision: {geometry: h, buffer_distance: {arm: 0.05", "xrdf-unknown-geometry"),
    ("parent_frame_name: tool", "parent_frame_name: far", "xrdf-circular-frames"),
    ("joint_name: near_joint", "joint_name: elbow", "xrdf-name-taken"),
    ("joint_type: FIXED", "joint_type: REVOLUTE", "xrdf-bad-value"),
    ("set_base_frame: base", "set_base: base", "xrdf-unknown-modifier"),
    ("set_base_frame: base", "set_base_frame: basis", "xrdf-unknown-frame"),
    ("hand: [{center: [0, 0, 0], radius: 0.1}]", "hand: [{center: [0, 0, 0], radius: 1.2}]", "xrdf-self-collision"),
)


@pytest.fixture
def robot(tmp_path):
    """Returns a function that checks an XRDF for ROBOT, and returns the exit code and the findings."""
    urdf, xrdf = tmp_path / "r.urdf", tmp_path / "r.xrdf"
    urdf.write_text(ROBOT)

    def check(text):
        xrdf.write_text(text)
        done = run("xrdf", "check", urdf, xrdf, "--json")
        return done.returncode, json.loads(done.stdout)["diagnostics"]

    return check


def test_violations_of_the_specification_are_errors(robot):
    code, found = robot(VALID)
    # The lists of the repeated key are united, with a warning that names it.
    severe = [(d["code"], d["severity"]) for d in found if d["severity"] != "info"]
    assert code == 0 and severe == [("xrdf-repeated", "warning")] and '"base"' in next(d["message"] for d in found if d["code"] == "xrdf-repeated"), found
    for old, new, expected in FAULTS:
        assert VALID.count(old) == 1, old
        code, found = robot(VALID.replace(old, new))
        assert code == 1 and expected in {d["code"] for d in found if d["severity"] == "error"}, (old, new, found)
    cycle = next(d["message"] for d in robot(VALID.replace("parent_frame_name: tool", "parent_frame_name: far"))[1] if d["code"] == "xrdf-circular-frames")
    assert "cycle of frames" in cycle
    code, found = robot(VALID.replace("self_collision:", "self_colision:"))
    [unknown] = [d for d in found if d["code"] == "xrdf-unknown-key"]
    assert code == 0 and unknown["severity"] == "warning" and "self_collision" in unknown["help"]


@pytest.mark.parametrize("options", [(), ("--spheres", "2")])
def test_writing_keeps_modifiers_and_buffer_distances(robot, tmp_path, options):
    robot(VALID)
    again = tmp_path / "again.xrdf"
    done = run("xrdf", "write", tmp_path / "r.urdf", "--xrdf", tmp_path / "r.xrdf", "-o", again, "--samples", "200", *options)
    assert done.returncode == 0, done.stderr
    before, after = (yaml.safe_load(text) for text in (VALID, again.read_text()))
    for frame in before["modifiers"][:2]:
        frame["add_frame"].setdefault("joint_type", "FIXED")
    assert after["modifiers"] == before["modifiers"]
    for section in ("collision", "self_collision"):
        assert after[section]["buffer_distance"] == before[section]["buffer_distance"]
    assert after["tool_frames"] == before["tool_frames"] and after["cspace"]["jerk_limits"] == [5000, 4000]
    pairs = {frozenset((one, other)) for one, others in after["self_collision"]["ignore"].items() for other in others}
    # The two entries of `base` and that of `arm`; PyYAML reads only the last of a repeated key.
    assert pairs >= {frozenset(pair) for pair in (("base", "car"), ("arm", "car"), ("arm", "hand"), ("base", "arm"))}
    code, found = robot(again.read_text())
    assert code == 0 and {d["severity"] for d in found} <= {"info"}, found


def test_other_commands_read_both_files(robot, tmp_path):
    robot(VALID)
    urdf, xrdf, srdf = tmp_path / "r.urdf", tmp_path / "r.xrdf", tmp_path / "r.srdf"
    srdf.write_text(
        '<robot name="r"><group name="all"><chain base_link="base" tip_link="tool"/></group>'
        '<group_state name="up" group="all"><joint name="rail" value="0.25"/></group_state></robot>'
    )
    files = ("--xrdf", xrdf, "--srdf", srdf)
    # By hand: the base is the root, fixed to the world 1 m up; `near` is 0.2 m above the hand, then (1, 2, 3) away, turned.
    done = run("pose", urdf, *files, "--named", "default", "--base", "base", "--frame", "arm", "--frame", "near", "--json")
    assert done.returncode == 0, done.stderr
    pose = json.loads(done.stdout)
    assert pose["joints"]["elbow"] == 0.5 and np.allclose(pose["frames"]["arm"]["translation"], [0, 0, 1])
    c, s = np.cos([0.5, 1]), np.sin([0.5, 1])
    expected = [0.5 * s[0] + c[1] + 3.2 * s[1], 2, 1 + 0.5 * c[0] - s[1] + 3.2 * c[1]]
    assert np.allclose(pose["frames"]["near"]["translation"], expected, atol=1e-6)
    target = ",".join(str(x) for x in expected)
    done = run("ik", urdf, *files, "--base", "base", "--tip", "near", "--target", target, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["reached"], done.stderr

    run("convert", urdf, "-o", tmp_path / "out", "--formats", "usd,glb", "--tiers", "high")
    robots = (urdf, tmp_path / "out" / "r" / "r.usda", tmp_path / "out" / "r" / "r.glb")
    for source_file in robots:
        done = run("inspect", source_file, *files, "--json")
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        summary = summary["robots"][0] if source_file.suffix == ".glb" else summary
        planning = summary["planning"]
        assert [(c["joint"], c["unit"], c["acceleration"], c["jerk"]) for c in planning["cspace"]] == [("elbow", "rad", 50, 5000), ("rail", "m", 40, 4000)]
        assert planning["tool_frames"] == ["far", "tool"] and planning["geometry"] == [{"name": "g", "spheres": {"arm": 1, "base": 1, "car": 1, "hand": 1}}]
        assert planning["self_collision"] == {"geometry": "g", "buffer_distance": {"arm": 0.03, "base": 0.02}}
        assert {frozenset(pair) for pair in planning["ignore"]} >= {frozenset(("base", "arm")), frozenset(("arm", "hand"))}
        poses = summary["configurations" if source_file.suffix == ".glb" else "poses"]
        assert {(p["name"], p.get("group")): p["positions"].get("rail") for p in poses if p["name"] in ("up", "default")} == {("up", "all"): [0.25], ("default", None): [0]}
        text = run("inspect", source_file, *files).stdout
        assert "tool frames (2)" in text and "50 rad/s²" in text and "spheres of g (4)" in text


def test_inspect_shows_the_robots_type_and_licence(tmp_path):
    run("convert", URDF, "-o", tmp_path, *PACKAGES, "--overlays", "isaac", "--robot-type", "Manipulator", "--formats", "usd", "--tiers", "high")
    done = run("inspect", tmp_path / "sample_arm" / "sample_arm.isaac.usda", "--json")
    about = json.loads(done.stdout)["about"]
    # As Pixar's library reads them from the robot's prim.
    stage = Usd.Stage.Open(str(tmp_path / "sample_arm" / "sample_arm.isaac.usda"))
    prim = stage.GetDefaultPrim()
    assert about["robot_type"] == prim.GetAttribute("isaac:robotType").Get() == "Manipulator"
    assert about["license"] == prim.GetAttribute("isaac:license").Get() == "Apache-2.0"
    text = run("inspect", tmp_path / "sample_arm" / "sample_arm.isaac.usda").stdout
    assert "robot type: Manipulator" in text and "licence: Apache-2.0" in text
