"""Every robot's GLB against its URDF, and against the Khronos validator."""

import functools
import json
import math
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pytest

import kinematics
from glb import AXES, Glb
from glb import converted as in_gltf_axes

TEST = Path(__file__).resolve().parent
POSES = 100


class Case:
    def __init__(self, converted):
        self.converted = converted
        self.urdf = kinematics.read(converted.urdf)
        self.xml = ElementTree.parse(converted.urdf).getroot()
        self.glb = Glb(converted.glb)
        self.nodes = self.glb.nodes
        self.links = self.glb.model["links"]
        self.joints = {joint["name"]: joint for joint in self.glb.model["joints"]}
        loops = {joint.name for joint in self.urdf.loops}
        self.expected_joints = {name: joint for name, joint in self.urdf.joints.items() if name not in loops}


@functools.cache
def _case(converted):
    return Case(converted)


@pytest.fixture
def case(converted):
    return _case(converted)


# ---- The file -----------------------------------------------------------------------------------------------------------------


def test_the_khronos_validator_finds_nothing(converted):
    """Not even hints, but for the extensions that it does not know."""
    if not (os.environ.get("GLTF_VALIDATOR") or (TEST / "node_modules" / "gltf-validator").is_dir()):
        pytest.skip("the npm package gltf-validator is not at hand: `npm install` in test/, or set GLTF_VALIDATOR to its folder")
    done = subprocess.run(
        ["node", TEST / "validate_gltf.mjs", converted.glb], capture_output=True, text=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    (issues,) = json.loads(done.stdout).values()
    found = [i for i in issues if i["code"] != "UNSUPPORTED_EXTENSION"]
    assert not found, Counter((i["severity"], i["code"], i["message"]) for i in found).most_common(10)
    unknown = {i["message"].split("'")[1] for i in issues}
    assert unknown <= {"EXT_robot_kinematics", "KHR_node_visibility"}


def test_the_root_is_named_as_the_robot_and_identity(case):
    (root,) = case.glb.json["scenes"][0]["nodes"]
    assert case.glb.model["rootNode"] == root
    assert np.array_equal(case.glb.local(root), np.eye(4))
    if case.urdf.name:
        assert case.nodes[root]["name"] == case.glb.model["name"] == case.urdf.name
    assert case.glb.json["extensionsUsed"][0] == "EXT_robot_kinematics"
    assert "extensionsRequired" not in case.glb.json


def test_nothing_of_this_machine_is_in_it(case, converted):
    assert str(Path(converted.urdf).parent) not in json.dumps(case.glb.json, ensure_ascii=False)


# ---- Links and joints ---------------------------------------------------------------------------------------------------------


def test_links(case):
    assert [link["name"] for link in case.links] == list(case.urdf.links)
    for link in case.links:
        node = case.nodes[link["node"]]
        assert node["name"] == link["name"] and "mesh" not in node
        assert np.array_equal(case.glb.local(link["node"]), np.eye(4))
    above = {case.glb.parents[link["node"]] for link in case.links if link["name"] in case.urdf.roots}
    assert len(above) == 1
    if len(case.urdf.roots) > 1:
        assert case.nodes[above.pop()]["name"] == "world"
    else:
        assert above == {case.glb.model["rootNode"]}


def test_joints(case):
    assert list(case.joints) == list(case.expected_joints)
    for name, joint in case.joints.items():
        expected = case.expected_joints[name]
        assert joint["type"] == expected.kind
        assert case.links[joint["parentLink"]]["name"] == expected.parent
        assert case.links[joint["childLink"]]["name"] == expected.child
        assert len(joint["dofNodes"]) == len(joint["dofs"]) == kinematics.FREEDOM[expected.kind]


def test_the_chain_of_every_joint(case):
    for name, joint in case.joints.items():
        chain = [case.links[joint["parentLink"]]["node"], joint["originNode"], *joint["dofNodes"]]
        chain.append(case.links[joint["childLink"]]["node"])
        for above, below in zip(chain, chain[1:]):
            assert case.glb.parents[below] == above, name
        assert case.nodes[joint["originNode"]]["name"] == f"joint_{name}_origin"
        for k, node in enumerate(joint["dofNodes"]):
            assert case.nodes[node]["name"] == f"joint_{name}_dof{k}"
            assert not case.nodes[node].keys() & {"matrix", "translation", "rotation", "scale"}


def test_axes(case):
    for name, joint in case.joints.items():
        axes = np.array([dof["axis"] for dof in joint["dofs"]]).reshape(-1, 3)
        assert np.allclose(np.linalg.norm(axes, axis=1), 1, atol=1e-12)
        motions = [dof["motion"] for dof in joint["dofs"]]
        expected = AXES @ case.expected_joints[name].axis
        match joint["type"]:
            case "revolute" | "continuous":
                assert motions == ["rotation"] and np.allclose(axes[0], expected)
            case "prismatic":
                assert motions == ["translation"] and np.allclose(axes[0], expected)
            case "planar":
                assert motions == ["translation"] * 2 and np.allclose(np.cross(axes[0], axes[1]), expected)
            case "floating":
                assert motions == ["translation"] * 3 + ["rotation"] * 3
                assert np.array_equal(axes, np.concatenate([AXES.T, AXES.T]))


def _given(element, **names):
    """Attributes of an element as finite numbers, under other names; those that are there."""
    found = {new: float(element.get(old)) for new, old in names.items() if element is not None and element.get(old) is not None}
    return {name: value for name, value in found.items() if math.isfinite(value)}


def test_limits(case):
    for xml in case.xml.findall("joint"):
        name, kind = xml.get("name"), xml.get("type")
        if name not in case.joints or kinematics.FREEDOM[kind] != 1:
            continue
        bounds = {} if kind == "continuous" else {"lower": "lower", "upper": "upper"}
        expected = _given(xml.find("limit"), **bounds, velocity="velocity", effort="effort")
        expected |= {key: abs(expected[key]) for key in ("velocity", "effort") if key in expected}
        limit = dict(case.joints[name]["dofs"][0].get("limit", {}))
        if kind != "continuous" and xml.find("limit") is not None:
            # URDF: a bound that is not given is zero.
            expected = {"lower": 0.0, "upper": 0.0} | expected
            limit = {"lower": 0.0, "upper": 0.0} | limit
            expected["lower"], expected["upper"] = sorted((expected["lower"], expected["upper"]))
        assert limit == pytest.approx(expected), name


def test_passive_numbers(case):
    for xml in case.xml.findall("joint"):
        joint = case.joints.get(xml.get("name"))
        if joint is None:
            continue
        assert joint.get("dynamics", {}) == _given(xml.find("dynamics"), damping="damping", friction="friction")
        assert joint.get("calibration", {}) == _given(xml.find("calibration"), rising="rising", falling="falling")
        assert joint.get("safety", {}) == _given(
            xml.find("safety_controller"),
            softLowerLimit="soft_lower_limit",
            softUpperLimit="soft_upper_limit",
            kPosition="k_position",
            kVelocity="k_velocity",
        )


def test_mimics_lead_to_their_driver(case):
    names = list(case.joints)
    for name, joint in case.joints.items():
        leads = case.expected_joints[name].mimic is not None and case.expected_joints[name].mimic[0] in case.urdf.joints
        assert ("mimic" in joint) == leads, name
        if leads:
            driver = names[joint["mimic"]["joint"]]
            assert "mimic" not in case.joints[driver]
            for q in (0.0, 1.0):
                expected = case.urdf.resolve({driver: q})[name]
                assert joint["mimic"]["multiplier"] * q + joint["mimic"]["offset"] == pytest.approx(expected, abs=1e-12)


def test_home_is_allowed(case):
    home = case.glb.model["configurations"]["home"]["jointPositions"]
    assert len(home) == len(case.joints)
    names = list(case.joints)
    for joint, position in zip(case.joints.values(), home, strict=True):
        if len(joint["dofs"]) != 1:
            assert position == [0.0] * len(joint["dofs"])
            continue
        assert joint["dofs"][0]["default"] == position
        if "mimic" in joint:
            mimic = joint["mimic"]
            driver = home[names.index(names[mimic["joint"]])]
            assert position == pytest.approx(mimic["multiplier"] * driver + mimic["offset"])
        else:
            limit = joint["dofs"][0].get("limit", {})
            assert limit.get("lower", -math.inf) <= position <= limit.get("upper", math.inf)


# ---- Motion -------------------------------------------------------------------------------------------------------------------


def _plane(normal):
    """The basis that the extension's document constructs (section 6, step 5), in ROS axes."""
    helper = np.array([1.0, 0, 0]) if abs(normal[0]) < 0.9 else np.array([0, 1.0, 0])
    u = np.cross(normal, helper)
    u /= np.linalg.norm(u)
    return u, np.cross(normal, u)


def _motion(joint, q):
    match joint.kind:
        case "planar":
            u, v = _plane(joint.axis)
            return kinematics.pose(u * q[0] + v * q[1])
        case "floating":
            x, y, z = np.eye(3)
            rotation = kinematics.about(x, q[3]) @ kinematics.about(y, q[4]) @ kinematics.about(z, q[5])
            return kinematics.pose(q[:3], rotation)
        case _:
            return joint.motion(q[0] if q else 0.0)


def _urdf_poses(urdf, positions):
    poses = {}

    def of(link):
        if link not in poses:
            joint = urdf.joints.get(urdf.parent_joint.get(link))
            poses[link] = (
                np.eye(4) if joint is None else of(joint.parent) @ joint.origin @ _motion(joint, positions.get(joint.name, []))
            )
        return poses[link]

    return {link: of(link) for link in urdf.links}


def _random_positions(joints, random):
    out = {}
    for joint in joints.values():
        bounded = joint.kind in ("revolute", "prismatic") and joint.lower is not None and joint.upper is not None
        low, high = (joint.lower, joint.upper) if bounded and joint.lower < joint.upper else (-math.pi, math.pi)
        out[joint.name] = list(random.uniform(max(low, -10), min(high, 10), kinematics.FREEDOM[joint.kind]))
    return out


def test_links_are_where_the_urdf_puts_them(case):
    random = np.random.default_rng(7)
    for trial in range(POSES):
        positions = {} if trial == 0 else _random_positions(case.expected_joints, random)
        followed = case.urdf.resolve({name: q[0] for name, q in positions.items() if len(q) == 1})
        complete = {**{n: [0.0] * kinematics.FREEDOM[j.kind] for n, j in case.expected_joints.items()}, **positions}
        expected = _urdf_poses(case.urdf, complete | {name: [q] for name, q in followed.items()})
        found = case.glb.link_poses(positions)
        for link in case.urdf.links:
            assert np.allclose(found[link], in_gltf_axes(expected[link]), rtol=0, atol=1e-6), (link, positions)


# ---- Shapes -------------------------------------------------------------------------------------------------------------------


#: What the README says a box or cylinder without thickness gets, in metres.
LEAST_THICKNESS = 1e-4


def _numbers(attributes, *names):
    return np.concatenate([[abs(float(v)) for v in attributes[name].split()] for name in names])


def _has_extent(kind, attributes):
    """Whether there is anything to show or touch."""
    match kind:
        case "sphere" | "cylinder" | "capsule":
            return _numbers(attributes, "radius")[0] > 0
        case "box":
            return np.count_nonzero(_numbers(attributes, "size")) >= 2
        case _:
            return True


def _shapes(case):
    """Every visual and collision of the URDF with its node."""
    for link in case.links:
        expected = case.urdf.links[link["name"]]
        for kind, shapes in (("visual", expected.visuals), ("collision", expected.collisions)):
            shapes = [shape for shape in shapes if _has_extent(shape.kind, shape.attributes)]
            nodes = link.get(f"{kind}Nodes", [])
            assert len(nodes) == len(shapes), (link["name"], kind)
            for n, (shape, node) in enumerate(zip(shapes, nodes, strict=True)):
                assert case.nodes[node]["name"] == f"{link['name']}_{kind}_{n}"
                assert case.glb.parents[node] == link["node"]
                yield kind, shape, node


def test_shapes_are_in_their_places(case):
    for _, shape, node in _shapes(case):
        scale = np.eye(4)
        scale[:3, :3] = np.diag(shape.scale)
        assert np.allclose(case.glb.local(node), in_gltf_axes(shape.origin @ scale), atol=1e-9), case.nodes[node]["name"]


def test_no_viewer_draws_what_collides(case):
    """Neither one that knows KHR_node_visibility, nor one that only knows the core of glTF."""
    colliders = 0
    for kind, _, node in _shapes(case):
        visibility = case.nodes[node].get("extensions", {}).get("KHR_node_visibility")
        if kind == "visual":
            assert visibility is None
            continue
        colliders += 1
        assert visibility == {"visible": False}
        for primitive in case.glb.json["meshes"][case.nodes[node]["mesh"]]["primitives"] if "mesh" in case.nodes[node] else ():
            material = case.glb.json["materials"][primitive["material"]]
            assert material["alphaMode"] == "MASK" and material["pbrMetallicRoughness"]["baseColorFactor"][3] == 0
    assert ("KHR_node_visibility" in case.glb.json["extensionsUsed"]) == (colliders > 0)


def _file(case, uri):
    if uri.startswith("package://"):
        package, _, rest = uri.removeprefix("package://").partition("/")
        folder = case.converted.package_dirs.get(package)
        return folder and Path(folder) / rest
    return Path(case.converted.urdf).parent / unquote(uri.removeprefix("file://"))


@functools.cache
def _mesh_bounds(path):
    """Bounds of a mesh file as URDF means it, found by another reader; `None` where there is none to ask."""
    import trimesh

    match path.suffix.lower():
        case ".stl" | ".obj":
            loaded = trimesh.load(path, process=False, force="mesh", skip_materials=True)
            corners = loaded.vertices[loaded.faces].reshape(-1, 3)
        case ".dae":
            corners = _collada_corners(path)
        case _:
            return None
    return None if corners is None or not len(corners) else (corners.min(0), corners.max(0))


def _collada_corners(path):
    import collada

    try:
        document = collada.Collada(str(path), ignore=[collada.common.DaeUnsupportedError, collada.common.DaeBrokenRefError])
    except collada.common.DaeError:
        return None
    unit = document.assetInfo.unitmeter or 1.0
    corners = []
    for geometry in document.scene.objects("geometry"):
        for primitive in geometry.primitives():
            if hasattr(primitive, "triangleset"):
                primitive = primitive.triangleset()
            if isinstance(primitive, collada.triangleset.BoundTriangleSet):
                corners.append(primitive.vertex[primitive.vertex_index].reshape(-1, 3))
    return np.concatenate(corners) * unit if corners else None


def _expected_bounds(case, shape):
    """In the shape's frame, before its scale, in ROS axes."""
    match shape.kind:
        case "box":
            high = _numbers(shape.attributes, "size") / 2
        case "sphere":
            high = np.repeat(_numbers(shape.attributes, "radius"), 3)
        case "cylinder" | "capsule":
            radius, length = _numbers(shape.attributes, "radius", "length")
            high = np.array([radius, radius, length / 2 + (radius if shape.kind == "capsule" else 0)])
        case "mesh":
            file = _file(case, shape.attributes["filename"])
            return _mesh_bounds(file) if file and file.is_file() else None
    high = np.maximum(high, LEAST_THICKNESS / 2)
    return -high, high


def test_shapes_have_their_extent(case):
    for _, shape, node in _shapes(case):
        bounds = _expected_bounds(case, shape)
        name = case.nodes[node]["name"]
        if bounds is None:
            continue
        assert "mesh" in case.nodes[node], name
        corners = np.array([AXES @ corner for corner in bounds])
        points = case.glb.points(case.nodes[node]["mesh"])
        found = np.array([points.min(0), points.max(0)])
        size = np.abs(corners).max()
        assert np.allclose(found, [corners.min(0), corners.max(0)], rtol=0, atol=1e-5 * size), name


def test_meshes_are_stored_once(case):
    for lists in ("meshes", "materials", "accessors", "images"):
        content = [json.dumps(entry, sort_keys=True) for entry in case.glb.json.get(lists, [])]
        assert len(set(content)) == len(content), lists
    views = case.glb.json.get("bufferViews", [])
    content = [(view.get("target"), case.glb.binary[view["byteOffset"] :][: view["byteLength"]]) for view in views]
    assert len(set(content)) == len(content)


def test_indices_are_as_narrow_as_they_can_be(case):
    for mesh in case.glb.json.get("meshes", []):
        for primitive in mesh["primitives"]:
            count = case.glb.json["accessors"][primitive["attributes"]["POSITION"]]["count"]
            narrow = case.glb.json["accessors"][primitive["indices"]]["componentType"] == 5123
            assert narrow == (count <= 65535)


# ---- Colours ------------------------------------------------------------------------------------------------------------------


def _linear(value):
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _colour(case, visual):
    """The colour that a visual's material gives, sRGB with opacity; `None` if it gives none or a texture."""
    named = {m.get("name"): m for m in case.xml.iter("material") if m.find("color") is not None or m.find("texture") is not None}
    top = {m.get("name"): m for m in case.xml.findall("material")}
    material = visual.find("material")
    if material is None:
        return None
    if material.find("color") is None and material.find("texture") is None:
        material = top.get(material.get("name"), named.get(material.get("name")))
    if material is None or material.find("texture") is not None or material.find("color") is None:
        return None
    return [float(v) for v in material.find("color").get("rgba").split()]


def test_colours_of_solids_and_stl_are_the_urdfs(case):
    """These have no materials of their own."""
    links = {link["name"]: link for link in case.links}
    for xml in case.xml.findall("link"):
        forms = [(v, next(iter(v.find("geometry")), None)) for v in xml.findall("visual") if v.find("geometry") is not None]
        visuals = [v for v, form in forms if form is not None and _has_extent(form.tag, form.attrib)]
        for visual, node in zip(visuals, links[xml.get("name")].get("visualNodes", []), strict=True):
            mesh = visual.find("geometry/mesh")
            own = mesh is not None and not mesh.get("filename", "").lower().endswith(".stl")
            rgba = _colour(case, visual)
            if own or rgba is None or "mesh" not in case.nodes[node]:
                continue
            for primitive in case.glb.json["meshes"][case.nodes[node]["mesh"]]["primitives"]:
                factor = case.glb.json["materials"][primitive["material"]]["pbrMetallicRoughness"]["baseColorFactor"]
                expected = [_linear(min(max(c, 0), 1)) for c in rgba[:3]] + [min(max(rgba[3], 0), 1)]
                assert factor == pytest.approx(expected, abs=1e-5), case.nodes[node]["name"]
