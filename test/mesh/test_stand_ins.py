"""Boxes in place of unreadable visual meshes (`--stand-ins`), with sizes and poses computed independently."""

import json

import numpy as np
import pytest
from pxr import UsdGeom, UsdShade

import kinematics
from conftest import reported, run
from glb_file import AXES, Glb
from stage import Asset

URDF = """<robot name="stood_in">
  <material name="coral"><color rgba="1 0.5 0.25 1"/></material>
  <link name="base">
    <visual name="hull"><origin xyz="3 2 1" rpy="1 2 3"/><geometry><mesh filename="lost.stl"/></geometry><material name="coral"/></visual>
    <visual name="fine"><geometry><sphere radius="0.1"/></geometry></visual>
    <visual name="second"><geometry><mesh filename="also_lost.stl"/></geometry></visual>
    <collision><origin xyz="0.5 0 0" rpy="0 0 0.5"/><geometry><box size="1 2 3"/></geometry></collision>
    <collision><origin xyz="0 0 2"/><geometry><cylinder radius="0.5" length="1"/></geometry></collision>
    <collision><origin xyz="0 -3 0" rpy="0.3 0 0"/><geometry><mesh filename="tile.obj" scale="1 2 1"/></geometry></collision>
    <collision><geometry><mesh filename="lost.stl"/></geometry></collision>
  </link>
  <joint name="j" type="continuous"><parent link="base"/><child link="weighed"/></joint>
  <link name="weighed">
    <inertial><origin xyz="0.1 0.2 0.3" rpy="0.4 -0.2 0.1"/><mass value="6"/><inertia ixx="0.5" ixy="0.05" ixz="0.02" iyy="0.4" iyz="-0.03" izz="0.3"/></inertial>
    <visual name="by_inertia"><geometry><mesh filename="lost.stl"/></geometry></visual>
  </link>
  <joint name="k" type="continuous"><parent link="base"/><child link="unknown"/></joint>
  <link name="unknown"><visual name="none"><geometry><mesh filename="lost.stl"/></geometry></visual></link>
</robot>
"""
TILE = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0.25], [-0.5, 0.5, 0]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stood_in")
    (folder / "stood_in.urdf").write_text(URDF)
    (folder / "tile.obj").write_text("".join(f"v {x} {y} {z}\n" for x, y, z in TILE) + "f 1 2 3 4\n")
    return folder


def convert(folder, *options):
    done = run("convert", folder / "stood_in.urdf", "-o", folder / "out", "--json", *options)
    # The missing mesh is an error, with or without a stand-in.
    return reported(done, errors=True), Asset(folder / "out" / "stood_in" / "stood_in.usda"), Glb(folder / "out" / "stood_in" / "stood_in.glb")


@pytest.fixture(scope="module")
def stood_in(folder):
    return convert(folder, "--stand-ins")


def signs():
    return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def expected_box():
    """Returns the bounding box of the colliders of the link `base`."""
    points = []
    for size, xyz, rpy in [((1, 2, 3), (0.5, 0, 0), (0, 0, 0.5)), ((1, 1, 1), (0, 0, 2), (0, 0, 0))]:
        points.append(signs() * np.array(size) / 2 @ kinematics.rotation(rpy).T + xyz)
    points.append(TILE * (1, 2, 1) @ kinematics.rotation((0.3, 0, 0)).T + (0, -3, 0))
    points = np.concatenate(points)
    return points.min(0), points.max(0)


def cube(asset, link, name):
    """Returns the prim of a visual, and the corners of its cube in the link's frame."""
    visual = asset.link(link).GetPrim().GetChild("visual").GetChild(name)
    (found,) = (p for p in asset.prims if p.IsA(UsdGeom.Gprim) and p.GetPath().HasPrefix(visual.GetPath()))
    assert found.GetTypeName() == "Cube"
    pose = np.linalg.inv(asset.evaluated_pose(asset.link(link))) @ asset.evaluated_pose(found)
    corners = signs() * UsdGeom.Cube(found).GetSizeAttr().Get() / 2
    return visual, corners @ pose[:3, :3].T + pose[:3, 3]


def test_the_box_of_colliders(stood_in):
    _, asset, _ = stood_in
    visual, corners = cube(asset, "base", "visual_0")
    low, high = expected_box()
    np.testing.assert_allclose(corners.min(0), low, atol=1e-6)
    np.testing.assert_allclose(corners.max(0), high, atol=1e-6)
    assert visual.GetDisplayName() == "hull" and visual.GetCustomDataByKey("standInFor") == "lost.stl"
    material = UsdShade.MaterialBindingAPI(visual).ComputeBoundMaterial()[0]
    assert material.GetPrim().GetName() == "coral", "its own colour"


def test_the_box_of_the_inertia(stood_in):
    """A solid box of this size has the inertia of the URDF."""
    _, asset, _ = stood_in
    _, corners = cube(asset, "weighed", "visual_0")
    centre = corners.mean(0)
    np.testing.assert_allclose(centre, (0.1, 0.2, 0.3), atol=1e-6)
    # For uniform density, the second moments of a box about its centre are a third of those of its corners.
    offsets = corners - centre
    second = 6 * offsets.T @ offsets / 8 / 3
    turned = kinematics.rotation((0.4, -0.2, 0.1))
    given = turned @ np.array([[0.5, 0.05, 0.02], [0.05, 0.4, -0.03], [0.02, -0.03, 0.3]]) @ turned.T
    np.testing.assert_allclose(np.trace(second) * np.eye(3) - second, given, atol=1e-5)


def test_other_visuals_do_not_change(stood_in):
    _, asset, _ = stood_in
    names = [p.GetName() for p in asset.link("base").GetPrim().GetChild("visual").GetChildren()]
    assert names == ["visual_0", "visual_1"], "a link must have a single box"
    assert not asset.link("unknown").GetPrim().GetChild("visual")


def test_findings(stood_in):
    report = stood_in[0]
    told = [(d["code"], d["where"]["line"]) for d in report["diagnostics"] if d["code"].startswith("stand-in")]
    assert told == [("stand-in", 4), ("stand-in", 15), ("stand-in-none", 18)]
    (missing,) = (d for d in report["diagnostics"] if d["code"] == "resolve-missing-file" and "also_lost" not in d["message"])
    assert 'a box shows instead, the box around the colliders of link "base"' in missing["message"]


def test_glb(stood_in):
    glb = stood_in[2]
    node = glb.links["base"]["visualNodes"][0]
    extras = glb.nodes[node]["extras"]
    assert extras["standInFor"] == "lost.stl" and extras["shapeName"] == "hull" and extras["geometry"]["type"] == "box"
    points, _ = glb.mesh_points(glb.nodes[node]["mesh"])
    local = glb.local(node)
    points = (points @ local[:3, :3].T + local[:3, 3]) @ AXES[:3, :3]
    low, high = expected_box()
    np.testing.assert_allclose(points.min(0), low, atol=1e-5)
    np.testing.assert_allclose(points.max(0), high, atol=1e-5)
    assert "mesh" not in glb.nodes[glb.links["unknown"]["visualNodes"][0]]


def test_only_with_the_option(folder, tmp_path):
    for path in folder.glob("*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    report, asset, _ = convert(tmp_path)
    assert not any(d["code"].startswith("stand-in") for d in report["diagnostics"])
    assert [p.GetName() for p in asset.link("base").GetPrim().GetChild("visual").GetChildren()] == ["visual_1"]
    assert not any(p.GetTypeName() == "Cube" and "/visual/" in str(p.GetPath()) for p in asset.prims)
