"""URDF materials in USD, rule by rule, on a synthetic robot (mapping document, "Element: Material")."""

import struct
import zlib

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdShade

from conftest import Source, convert
from stage import Asset, applied

GREEN_SQUARE = (0.0, 1.0, 0.0)

URDF = """<robot name="paint">
  <material name="half"><color rgba="0.5 0.25 0 1"/></material>
  <material name="glass"><color rgba="0 0 1 0.25"/></material>
  <material name="picture"><texture filename="package://paint/textures/green.png"/></material>
  <material name="again"><texture filename="package://paint/textures/copy.png"/></material>
  <link name="a">
    <visual name="global"><geometry><box size="1 1 1"/></geometry><material name="half"/></visual>
    <visual name="inline"><geometry><box size="1 1 1"/></geometry><material name="own"><color rgba="1 0 0 1"/></material></visual>
    <visual name="nameless"><geometry><box size="1 1 1"/></geometry><material><color rgba="0 1 0 1"/></material></visual>
    <visual name="by_name"><geometry><sphere radius="1"/></geometry><material name="own"/></visual>
    <visual name="redefined"><geometry><box size="1 1 1"/></geometry><material name="half"><color rgba="1 1 0 1"/></material></visual>
    <visual name="opaque_no_more"><geometry><box size="1 1 1"/></geometry><material name="glass"/></visual>
    <visual name="none"><geometry><box size="1 1 1"/></geometry></visual>
    <visual name="textured"><geometry><mesh filename="package://paint/plain.obj"/></geometry><material name="picture"/></visual>
    <visual name="same_picture"><geometry><mesh filename="package://paint/plain.obj"/></geometry><material name="again"/></visual>
    <visual name="embedded"><geometry><mesh filename="package://paint/own.obj"/></geometry><material name="half"/></visual>
    <visual name="partly"><geometry><mesh filename="package://paint/partly.dae"/></geometry><material name="half"/></visual>
    <visual name="flat_picture"><geometry><box size="1 1 1"/></geometry><material name="picture"/></visual>
  </link>
</robot>
"""
SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"
DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="c"><lambert><diffuse><color>0 0 1 1</color></diffuse></lambert></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m" name="blue"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array><technique_common><accessor source="#pa" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles material="s" count="1"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1</p></triangles>
<triangles count="2"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 3 0 3 2</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#s"/></scene></COLLADA>
"""


def png(color):
    rows = b"".join(b"\0" + bytes(color) * 4 for _ in range(4))
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def painted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source") / "paint"
    (folder / "textures").mkdir(parents=True)
    (folder / "package.xml").write_text("<package><name>paint</name></package>")
    (folder / "paint.urdf").write_text(URDF)
    (folder / "textures" / "green.png").write_bytes(png((0, 255, 0)))
    (folder / "textures" / "copy.png").write_bytes(png((0, 255, 0)))
    (folder / "plain.obj").write_text(SQUARE + "f 1/1 2/2 3/3 4/4\n")
    (folder / "own.obj").write_text("mtllib own.mtl\n" + SQUARE + "usemtl white\nf 1/1 2/2 3/3 4/4\n")
    (folder / "own.mtl").write_text("newmtl white\nKd 1 1 1\n")
    (folder / "partly.dae").write_text(DAE)
    converted = convert(Source("paint", folder / "paint.urdf", {"paint": folder}, ("--package", f"paint={folder}")), tmp_path_factory.mktemp("out"))
    return converted, Asset(converted.entry)


def leaf(asset, name):
    (found,) = (p for p in asset.prims if p.GetDisplayName() == name and p.GetParent().GetName() == "visual")
    return found


def shown(prim):
    (gprim,) = (p for p in Usd.PrimRange(prim, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Gprim))
    return UsdShade.MaterialBindingAPI(gprim).ComputeBoundMaterial()[0]


def surface(asset, name):
    return shown(leaf(asset, name)).ComputeSurfaceSource()[0]


def linear(c):
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


@pytest.mark.parametrize(
    ("visual", "color", "opacity"),
    [
        ("global", (0.5, 0.25, 0), 1),
        ("inline", (1, 0, 0), 1),
        ("nameless", (0, 1, 0), 1),
        ("by_name", (1, 0, 0), 1),
        ("redefined", (1, 1, 0), 1),
        ("opaque_no_more", (0, 0, 1), 0.25),
        ("partly", (0.5, 0.25, 0), 1),
        ("flat_picture", GREEN_SQUARE, 1),
    ],
)
def test_colours(painted, visual, color, opacity):
    shader = surface(painted[1], visual)
    np.testing.assert_allclose(shader.GetInput("diffuseColor").Get(), [linear(c) for c in color], atol=1e-6)
    given = shader.GetInput("opacity")
    assert (given.Get() if given else 1) == pytest.approx(opacity)


def test_redefinition_is_reported_and_changes_no_other_visual(painted):
    converted, asset = painted
    assert [d["where"]["line"] for d in converted.report["diagnostics"] if d["code"] == "urdf-material-redefined"] == [11]
    assert shown(leaf(asset, "global")) != shown(leaf(asset, "redefined"))


def test_equal_materials_are_one(painted):
    asset = painted[1]
    assert shown(leaf(asset, "inline")).GetPath() == shown(leaf(asset, "by_name")).GetPath()
    assert shown(leaf(asset, "textured")).GetPath() == shown(leaf(asset, "same_picture")).GetPath()


def test_visuals_without_material_have_the_default(painted):
    assert shown(leaf(painted[1], "none")).GetPrim().GetName() == "default"


def test_unnamed_materials_are_called_after_their_element(painted):
    assert shown(leaf(painted[1], "nameless")).GetPrim().GetName() == "material"


def test_every_binding_is_by_the_api(painted):
    asset = painted[1]
    for prim in asset.prims:
        if prim.GetRelationship("material:binding").HasAuthoredTargets():
            assert "MaterialBindingAPI" in applied(prim), prim.GetPath()
    for name in ("global", "textured", "partly"):
        assert "MaterialBindingAPI" in applied(leaf(asset, name)), name


def test_a_picture_is_copied_once(painted):
    converted, asset = painted
    assert [p.name for p in (converted.directory / "textures").iterdir()] == ["green.png"]
    source = surface(asset, "textured").GetInput("diffuseColor").GetConnectedSources()[0][0].source
    file = UsdShade.Shader(source.GetPrim()).GetInput("file").Get()
    assert file.path == "./textures/green.png" and file.resolvedPath
    assert (converted.directory / "textures" / "green.png").read_bytes() == png((0, 255, 0))


def test_a_picture_on_a_primitive_is_reported(painted):
    found = [d for d in painted[0].report["diagnostics"] if d["code"] == "texture-without-coordinates"]
    assert [d["where"]["line"] for d in found] == [18]
    assert found[0]["help"]


def test_embedded_materials_take_precedence(painted):
    asset = painted[1]
    np.testing.assert_allclose(surface(asset, "embedded").GetInput("diffuseColor").Get(), (1, 1, 1), atol=1e-6)


def test_the_robots_material_shows_where_the_mesh_has_none(painted):
    asset = painted[1]
    (mesh,) = (p for p in Usd.PrimRange(leaf(asset, "partly"), Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh))
    (subset,) = UsdShade.MaterialBindingAPI(mesh).GetMaterialBindSubsets()
    material = UsdShade.MaterialBindingAPI(subset.GetPrim()).ComputeBoundMaterial()[0]
    np.testing.assert_allclose(material.ComputeSurfaceSource()[0].GetInput("diffuseColor").Get(), (0, 0, 1), atol=1e-6)
    assert len(subset.GetIndicesAttr().Get()) == 1
    assert UsdShade.MaterialBindingAPI(mesh).GetMaterialBindSubsetsFamilyType() == "nonOverlapping"


def test_big_arrays_are_not_in_text(painted):
    """The subsets of a mesh's materials are in the layer of the mesh."""
    for path in painted[0].directory.glob("*.usda"):
        assert "int[] indices" not in path.read_text(), path.name
