"""Every converted robot as a GLB: Khronos' validator, and the motion by EXT_robot_kinematics compared with the URDF."""

import functools
import math
import random
import zlib

import numpy as np
import pytest
import trimesh
from PIL import Image

import kinematics
from conftest import gltf_issues, run
from glb_file import AXES, Glb

POSES = 100


class Case:
    def __init__(self, converted):
        self.converted = converted
        self.glb = Glb(converted.glb)
        self.urdf = kinematics.read(converted.urdf)


@functools.cache
def _case(converted):
    return Case(converted)


@pytest.fixture
def case(converted):
    return _case(converted)


def validate(files):
    """Returns errors and warnings by file."""
    return {file: [i for i in issues if i["severity"] <= 1] for file, issues in gltf_issues(*files).items()}


def test_the_validator_has_no_findings(converted):
    assert validate([str(converted.glb)]) == {str(converted.glb): []}


def test_the_validator_finds_faults(conversions, tmp_path):
    data = conversions("sample_arm").glb.read_bytes()
    bad = tmp_path / "bad.glb"
    bad.write_bytes(data.replace(b'"componentType":5126', b'"componentType":5120', 1))
    assert validate([str(bad)])[str(bad)]


#: A part of a unit sphere, whose positions equal its normals, and whose texture coordinates equal positions of another mesh.
OCTANT = "v 1 0 0\nv 0 1 0\nv 0 0 1\nvn 1 0 0\nvn 0 1 0\nvn 0 0 1\nvt 1 0\nvt 0 0\nvt 1 1\n{}f 1/1/1 2/2/2 3/3/3\n"


def test_attributes_of_equal_bytes(tmp_path):
    Image.new("RGB", (2, 2), "red").save(tmp_path / "red.png")
    (tmp_path / "plain.obj").write_text(OCTANT.format(""))
    (tmp_path / "painted.obj").write_text("mtllib a.mtl\n" + OCTANT.format("usemtl red\n"))
    Image.new("RGB", (2, 2), (128, 128, 255)).save(tmp_path / "flat.png")
    (tmp_path / "a.mtl").write_text("newmtl red\nmap_Kd red.png\nnorm flat.png\n")
    trimesh.creation.icosphere(2, radius=1).export(tmp_path / "ball.stl")
    shapes = ['<sphere radius="1"/>', '<box size="2 2 2"/>', '<capsule radius="1" length="0.5"/>', '<cylinder radius="1" length="2"/>']
    shapes += [f'<mesh filename="{name}"/>' for name in ("plain.obj", "painted.obj", "ball.stl")]
    visuals = "".join(f"<visual><geometry>{shape}</geometry></visual>" for shape in shapes)
    (tmp_path / "unit.urdf").write_text(f'<robot name="unit"><link name="a">{visuals}</link></robot>')
    paths = []
    for compression in ("none", "quantize", "meshopt"):
        out = tmp_path / compression
        options = [] if compression == "none" else ["--gltf-compression", compression]
        done = run("convert", tmp_path / "unit.urdf", "-o", out, "--formats", "glb", "--gltf-animations", *options)
        assert done.returncode == 0, done.stderr
        paths.append(out / "unit" / "unit.glb")
    assert validate([str(path) for path in paths]) == {str(path): [] for path in paths}
    glb = Glb(paths[0])
    sphere = glb.json["meshes"][0]["primitives"][0]["attributes"]
    assert (glb.accessor(sphere["POSITION"]) == glb.accessor(sphere["NORMAL"])).all(), "the attributes must have equal bytes"


def test_links_and_joints(case):
    assert [link["name"] for link in case.glb.model["links"]] == list(case.urdf.links)
    assert [joint["name"] for joint in case.glb.model["joints"]] == [n for n, j in case.urdf.joints.items() if case.urdf.parent_joint[j.child] == n]
    assert "EXT_robot_kinematics" in case.glb.json["extensionsUsed"]
    assert case.glb.model["name"] == case.urdf.name
    for name, joint in case.glb.joints.items():
        urdf = case.urdf.joints[name]
        assert joint["type"] == urdf.kind
        assert case.glb.model["links"][joint["parentLink"]]["name"] == urdf.parent
        assert case.glb.model["links"][joint["childLink"]]["name"] == urdf.child
        assert len(joint.get("dofs", [])) == len(joint.get("dofNodes", [])) == kinematics.FREEDOM[urdf.kind]


def test_the_node_chain(case):
    """Parent link → origin → one node per degree of freedom → child link; at rest, only the origin has a transform."""
    glb = case.glb
    root = glb.model["rootNode"]
    assert glb.json["scenes"][glb.json.get("scene", 0)]["nodes"] == [root]
    assert np.array_equal(glb.local(root), np.eye(4))
    for link in glb.links.values():
        assert np.array_equal(glb.local(link["node"]), np.eye(4)), link["name"]
        assert glb.nodes[link["node"]]["name"] == link["name"]
    for name, joint in glb.joints.items():
        chain = [joint["originNode"], *joint.get("dofNodes", []), glb.links[case.urdf.joints[name].child]["node"]]
        assert glb.parents[chain[0]] == glb.links[case.urdf.joints[name].parent]["node"], name
        for above, below in zip(chain, chain[1:]):
            assert glb.parents[below] == above, name
        assert glb.nodes[chain[0]]["name"] == f"joint_{name}_origin"
        for k, node in enumerate(joint.get("dofNodes", [])):
            assert glb.nodes[node]["name"] == f"joint_{name}_dof{k}"
            assert not {"translation", "rotation", "scale", "matrix"} & set(glb.nodes[node]), name
        for dof in joint.get("dofs", []):
            assert np.linalg.norm(dof["axis"]) == pytest.approx(1, abs=1e-9), name


def _positions(case, chance):
    """Returns random positions of every joint, with resolved mimic joints, as lists."""
    single = {}
    for name, joint in case.urdf.joints.items():
        low = -math.pi if joint.lower is None or joint.kind == "continuous" else joint.lower
        high = math.pi if joint.upper is None or joint.kind == "continuous" else joint.upper
        single[name] = chance.uniform(low, high)
    out = {name: [q] for name, q in case.urdf.resolve(single).items()}
    for name, joint in case.urdf.joints.items():
        if kinematics.FREEDOM[joint.kind] > 1:
            out[name] = [chance.uniform(-1, 1) for _ in range(kinematics.FREEDOM[joint.kind])]
    return out


def _expected(case, positions):
    """Returns link poses of the URDF, in ROS axes. Planar joints use the axes of the file, which test_planes checks."""
    out = {}

    def of(link):
        if link not in out:
            joint = case.urdf.joints.get(case.urdf.parent_joint.get(link))
            out[link] = np.eye(4) if joint is None else of(joint.parent) @ joint.origin @ motion(joint)
        return out[link]

    def motion(joint):
        q = positions.get(joint.name, [])
        if joint.kind == "floating":
            x, y, z, roll, pitch, yaw = q
            turned = np.eye(3)
            for axis, angle in zip(np.eye(3), (roll, pitch, yaw)):
                turned = turned @ kinematics.about(axis, angle)
            return kinematics.pose((x, y, z), turned)
        if joint.kind == "planar":
            axes = [AXES[:3, :3].T @ dof["axis"] for dof in case.glb.joints[joint.name]["dofs"]]
            return kinematics.pose(q[0] * axes[0] + q[1] * axes[1])
        return joint.motion(q[0] if q else 0.0)

    for link in case.urdf.links:
        of(link)
    return out


def test_poses(case):
    chance = random.Random(zlib.crc32(case.urdf.name.encode()))
    for k in range(POSES + 1):
        positions = _positions(case, chance) if k else {n: [0.0] * kinematics.FREEDOM[j.kind] for n, j in case.urdf.joints.items()}
        nodes, expected = case.glb.poses(positions), _expected(case, positions)
        for name, link in case.glb.links.items():
            actual = AXES.T @ nodes[link["node"]] @ AXES
            assert np.abs(actual - expected[name]).max() < 1e-6, f"{name}: off by {np.abs(actual - expected[name]).max():.3g}"


@pytest.mark.needs("planar")
def test_planes(case):
    for name, joint in case.glb.joints.items():
        if joint["type"] == "planar":
            u, v = (AXES[:3, :3].T @ dof["axis"] for dof in joint["dofs"])
            assert np.allclose(np.cross(u, v), case.urdf.joints[name].axis, atol=1e-9), "u, v and the normal are right-handed"


@pytest.mark.needs("joint")
def test_limits_and_dynamics(case):
    for name, joint in case.glb.joints.items():
        urdf = case.urdf.joints[name]
        for dof in joint.get("dofs", []):
            limit = dof.get("limit", {})
            if urdf.kind == "continuous":
                assert limit.get("lower") is None and limit.get("upper") is None, name
            elif urdf.kind in ("revolute", "prismatic") and urdf.lower is not None and urdf.upper is not None and urdf.lower <= urdf.upper:
                assert (limit["lower"], limit["upper"]) == pytest.approx((urdf.lower, urdf.upper), abs=1e-12), name
            elif urdf.kind == "planar":
                assert (limit.get("lower"), limit.get("upper")) == (urdf.lower, urdf.upper), name
            if urdf.kind not in ("fixed", "floating"):
                for key, value in (("effort", urdf.effort), ("velocity", urdf.velocity)):
                    assert value is None or limit.get(key) == pytest.approx(value), f"{name}: {key}"
        for key, value in (("damping", urdf.damping), ("friction", urdf.friction)):
            assert value is None or joint["dynamics"][key] == pytest.approx(value), f"{name}: {key}"


@pytest.mark.needs("joint")
def test_mimics_need_no_chain(case):
    """Applying each mimic once, like a loader, must give the result of the URDF's chains."""
    chance = random.Random(7)
    free = {name: chance.uniform(-1, 1) for name in case.urdf.joints}
    expected = case.urdf.resolve(free)
    for name, joint in case.glb.joints.items():
        urdf = case.urdf.joints[name]
        followed = urdf.mimic and urdf.mimic[0] in case.urdf.joints
        assert ("mimic" in joint) == bool(followed), name
        if followed:
            leader = case.glb.model["joints"][joint["mimic"]["joint"]]["name"]
            assert "mimic" not in case.glb.joints[leader], f"{name} follows {leader}, which follows another"
            q = joint["mimic"].get("multiplier", 1) * free[leader] + joint["mimic"].get("offset", 0)
            assert q == pytest.approx(expected[name], abs=1e-9), name


def test_colliders_are_hidden(case):
    visible = [n for n in range(len(case.glb.nodes)) if "mesh" in case.glb.nodes[n]]
    hidden = set()
    for link in case.glb.links.values():
        for node in link.get("collisionNodes", []):
            assert case.glb.nodes[node]["extensions"]["KHR_node_visibility"] == {"visible": False}, link["name"]
            hidden.update(case.glb.below(node))
    shown = {n for link in case.glb.links.values() for top in link.get("visualNodes", []) for n in case.glb.below(top)}
    assert set(visible) <= hidden | shown
    assert not hidden & shown
    for name, link in case.urdf.links.items():
        assert len(case.glb.links[name].get("visualNodes", [])) == len(link.visuals), name
        assert len(case.glb.links[name].get("collisionNodes", [])) == len(link.collisions), name
