"""Every robot's GLB in detail, in addition to `test_glb.py`, which checks links and motion: names, axes, passive numbers, poses and
sizes of all shapes, storage, colours, and no hints from Khronos' validator."""

import functools
import json
import math
import urllib.parse
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import kinematics
import meshes
from conftest import gltf_issues
from glb_file import AXES, Glb

TURN = AXES[:3, :3]
#: The thickness of a box or cylinder without any, in metres.
LEAST_THICKNESS = 1e-4


class Case:
    def __init__(self, converted):
        self.converted = converted
        self.urdf = kinematics.read(converted.urdf)
        self.xml = ElementTree.parse(converted.urdf).getroot()
        self.glb = Glb(converted.glb)


@functools.cache
def _case(converted):
    return Case(converted)


@pytest.fixture
def case(converted):
    return _case(converted)


# ---- The file -----------------------------------------------------------------------------------------------------------------


def test_the_validator_has_no_hints_either(converted):
    """Except that it does not know two extensions."""
    (issues,) = gltf_issues(converted.glb).values()
    found = [i for i in issues if i["code"] != "UNSUPPORTED_EXTENSION"]
    assert not found, Counter((i["severity"], i["code"], i["message"]) for i in found).most_common(10)
    assert {i["message"].split("'")[1] for i in issues} <= {"EXT_robot_kinematics", "KHR_node_visibility"}


def test_the_file_has_no_paths_of_this_machine(case):
    written = json.dumps(case.glb.json, ensure_ascii=False)
    for folder in (case.converted.urdf.parent, case.converted.glb.parent):
        assert str(folder) not in written


def test_no_content_is_stored_twice(case):
    for kind in ("meshes", "materials", "accessors", "images"):
        content = [json.dumps(entry, sort_keys=True) for entry in case.glb.json.get(kind, [])]
        assert len(set(content)) == len(content), kind
    views = case.glb.json.get("bufferViews", [])
    content = [(view.get("target"), case.glb.buffer[view["byteOffset"] :][: view["byteLength"]]) for view in views]
    assert len(set(content)) == len(content)


@pytest.mark.needs("shape")
def test_indices_are_as_narrow_as_they_can_be(case):
    accessors = case.glb.json.get("accessors", [])
    for primitive in (p for mesh in case.glb.json.get("meshes", []) for p in mesh["primitives"]):
        vertices = accessors[primitive["attributes"]["POSITION"]]["count"]
        assert (accessors[primitive["indices"]]["componentType"] == 5123) == (vertices <= 65535)


# ---- Nodes and joints ---------------------------------------------------------------------------------------------------------


def test_names(case):
    nodes, model = case.glb.nodes, case.glb.model
    assert nodes[model["rootNode"]]["name"] == model["name"]
    above = {case.glb.parents[case.glb.links[name]["node"]] for name in case.urdf.roots}
    assert {nodes[n]["name"] for n in above} == {"world" if len(case.urdf.roots) > 1 else model["name"]}
    for name, joint in case.glb.joints.items():
        assert nodes[joint["originNode"]]["name"] == f"joint_{name}_origin"
        assert [nodes[n]["name"] for n in joint["dofNodes"]] == [f"joint_{name}_dof{k}" for k in range(len(joint["dofs"]))]
        for node in joint["dofNodes"]:
            assert not nodes[node].keys() & {"matrix", "translation", "rotation", "scale"}


def _plane(normal):
    """Returns the basis of a planar joint (section 6, step 5), in ROS axes."""
    helper = np.array([1.0, 0, 0]) if abs(normal[0]) < 0.9 else np.array([0, 1.0, 0])
    u = np.cross(normal, helper)
    u /= np.linalg.norm(u)
    return u, np.cross(normal, u)


@pytest.mark.needs("joint")
def test_degrees_of_freedom(case):
    for name, joint in case.glb.joints.items():
        axis = case.urdf.joints[name].axis
        expected = {
            "fixed": [],
            "revolute": [("rotation", axis)],
            "continuous": [("rotation", axis)],
            "prismatic": [("translation", axis)],
            "planar": [("translation", u) for u in _plane(axis)],
            "floating": [(motion, u) for motion in ("translation", "rotation") for u in np.eye(3)],
        }[joint["type"]]
        assert [dof["motion"] for dof in joint["dofs"]] == [motion for motion, _ in expected]
        for dof, (_, u) in zip(joint["dofs"], expected, strict=True):
            assert np.allclose(dof["axis"], TURN @ u, rtol=0, atol=1e-12), name


def _given(element, **names):
    """Returns the existing attributes of an element as finite numbers, under other names."""
    found = {new: float(element.get(old)) for new, old in names.items() if element is not None and element.get(old) is not None}
    return {name: value for name, value in found.items() if math.isfinite(value)}


@pytest.mark.needs("joint")
def test_safety_and_calibration(case):
    for xml in case.xml.findall("joint"):
        joint = case.glb.joints.get(xml.get("name"), {})
        if not joint:
            continue
        assert joint.get("calibration", {}) == _given(xml.find("calibration"), rising="rising", falling="falling")
        assert joint.get("safety", {}) == _given(
            xml.find("safety_controller"),
            softLowerLimit="soft_lower_limit", softUpperLimit="soft_upper_limit", kPosition="k_position", kVelocity="k_velocity",
        )  # fmt: skip


@pytest.mark.needs("joint")
def test_home_is_allowed(case):
    joints, home = case.glb.model["joints"], case.glb.model["configurations"]["home"]["jointPositions"]
    for joint, position in zip(joints, home, strict=True):
        if len(joint["dofs"]) != 1:
            assert position == [0.0] * len(joint["dofs"])
            continue
        assert joint["dofs"][0]["default"] == position
        if mimic := joint.get("mimic"):
            assert position == pytest.approx(mimic["multiplier"] * home[mimic["joint"]] + mimic["offset"])
        else:
            limit = joint["dofs"][0].get("limit", {})
            assert limit.get("lower", -math.inf) <= position <= limit.get("upper", math.inf)


# ---- Shapes -------------------------------------------------------------------------------------------------------------------


def _numbers(attributes, *names):
    return np.concatenate([[abs(float(v)) for v in attributes[name].split()] for name in names])


def _has_extent(kind, attributes):
    """Returns whether the shape has an extent."""
    match kind:
        case "sphere" | "cylinder" | "capsule":
            return _numbers(attributes, "radius")[0] > 0
        case "box":
            return np.count_nonzero(_numbers(attributes, "size")) >= 2
        case _:
            return True


def _shapes(case):
    """Yields every visual and collision of the URDF with its node."""
    for link in case.glb.model["links"]:
        expected = case.urdf.links[link["name"]]
        for kind, shapes in (("visual", expected.visuals), ("collision", expected.collisions)):
            nodes = link.get(f"{kind}Nodes", [])
            assert len(nodes) == len(shapes), (link["name"], kind)
            for n, (shape, node) in enumerate(zip(shapes, nodes, strict=True)):
                assert case.glb.nodes[node]["name"] == f"{link['name']}_{kind}_{n}"
                assert case.glb.parents[node] == link["node"]
                yield kind, shape, node


def test_shapes_are_in_their_places(case):
    for _, shape, node in _shapes(case):
        expected = AXES @ shape.origin @ np.diag([*shape.scale, 1]) @ AXES.T
        assert np.allclose(case.glb.local(node), expected, rtol=0, atol=1e-9), case.glb.nodes[node]["name"]


def _half_size(kind, attributes):
    match kind:
        case "box":
            half = _numbers(attributes, "size") / 2
        case "sphere":
            half = np.repeat(_numbers(attributes, "radius"), 3)
        case _:
            radius, length = _numbers(attributes, "radius", "length")
            half = np.array([radius, radius, length / 2 + (radius if kind == "capsule" else 0)])
    return np.maximum(half, LEAST_THICKNESS / 2)


def _bounds(case, shape):
    """Returns bounds in the shape's frame, before its scale, in ROS axes; `None` without the mesh file."""
    if shape.kind != "mesh":
        half = _half_size(shape.kind, shape.attributes)
        return -half, half
    uri = urllib.parse.unquote(shape.attributes["filename"])
    package, _, rest = uri.removeprefix("package://").partition("/")
    folder = case.converted.package_dirs.get(package) if uri.startswith("package://") else case.converted.urdf.parent
    file = folder and Path(folder) / (rest if uri.startswith("package://") else uri.removeprefix("file://"))
    if not file or not file.is_file():
        return None
    points, *_ = meshes.read(file)
    return points.min(0), points.max(0)


def test_shapes_have_their_extent(case):
    for _, shape, node in _shapes(case):
        bounds = _bounds(case, shape)
        if bounds is None:
            continue
        corners = np.array(bounds) @ TURN.T
        points, _ = case.glb.mesh_points(case.glb.nodes[node]["mesh"])
        found = np.array([points.min(0), points.max(0)])
        assert np.allclose(found, corners, rtol=0, atol=1e-5 * np.abs(corners).max()), case.glb.nodes[node]["name"]


def test_no_viewer_draws_colliders(case):
    """Not even a viewer of core glTF, which draws the meshes, but with invisible materials."""
    colliders = [node for kind, _, node in _shapes(case) if kind == "collision"]
    for node in colliders:
        assert case.glb.nodes[node]["extensions"]["KHR_node_visibility"] == {"visible": False}
        for primitive in case.glb.json["meshes"][case.glb.nodes[node]["mesh"]]["primitives"] if "mesh" in case.glb.nodes[node] else ():
            material = case.glb.json["materials"][primitive["material"]]
            assert material["alphaMode"] == "MASK" and material["pbrMetallicRoughness"]["baseColorFactor"][3] == 0
    assert ("KHR_node_visibility" in case.glb.json["extensionsUsed"]) == bool(colliders)


# ---- Colours ------------------------------------------------------------------------------------------------------------------


def _linear(value):
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _colour(case, visual):
    """Returns the colour of a visual's material, sRGB with opacity; `None` without one or with a texture."""
    material = visual.find("material")
    if material is None:
        return None
    if material.find("color") is None and material.find("texture") is None:
        every = [m for m in case.xml.iter("material") if m.find("color") is not None or m.find("texture") is not None]
        # The first definition takes precedence, the robot's own before those in visuals.
        named = {m.get("name"): m for m in [*reversed(every), *reversed(case.xml.findall("material"))]}
        material = named.get(material.get("name"))
    if material is None or material.find("texture") is not None or material.find("color") is None:
        return None
    return [min(max(float(v), 0), 1) for v in material.find("color").get("rgba").split()]


@pytest.mark.needs("colour that shows")
def test_colours_of_solids_and_stl_are_the_urdfs(case):
    """These have no embedded materials."""
    for xml in case.xml.findall("link"):
        forms = [(v, next(iter(v.find("geometry")), None)) for v in xml.findall("visual") if v.find("geometry") is not None]
        forms = [(v, form) for v, form in forms if form is not None and _has_extent(form.tag, form.attrib)]
        nodes = case.glb.links[xml.get("name")].get("visualNodes", [])
        for (visual, form), node in zip(forms, nodes, strict=True):
            rgba, mesh = _colour(case, visual), case.glb.nodes[node].get("mesh")
            own = form.tag == "mesh" and not form.get("filename", "").lower().endswith(".stl")
            for primitive in case.glb.json["meshes"][mesh]["primitives"] if rgba and mesh is not None and not own else ():
                factor = case.glb.json["materials"][primitive["material"]]["pbrMetallicRoughness"]["baseColorFactor"]
                expected = [*map(_linear, rgba[:3]), rgba[3]]
                assert factor == pytest.approx(expected, abs=1e-5), case.glb.nodes[node]["name"]
