"""The colours of a mesh's corners, in USD and in the GLB, compared with the mesh files (`test/robots/corner_colors.urdf`).

Colours of OBJ files are sRGB, those of glTF are linear and multiplied with the material's; both outputs are linear.
"""

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdShade

from conftest import CORNERS, convert, source
from glb_file import AXES, Glb
from stage import Asset

TINT = np.array((0.5, 1, 1, 1))


def linear(c):
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def of_obj(name):
    """Returns linear colours with opacity by position."""
    rows = [line.split()[1:] for line in (CORNERS / "meshes" / name).read_text().splitlines() if line.startswith("v ")]
    rows = [np.array(row, float) for row in rows]
    return {tuple(row[:3]): (*linear(row[3:6]), row[6] if len(row) > 6 else 1) for row in rows}


#: The colours of multiplied.gltf, which has them in base64; glTF's y, which points up, is z here.
MULTIPLIED = {
    (0, 0, 0): np.array((1, 0, 0, 1)) * TINT,
    (1, 0, 0): np.array((0, 0.5, 0, 1)) * TINT,
    (0, 0, 1): np.array((0, 0, 0.25, 1)) * TINT,
    (0, -1, 0): np.array((0.75, 0.75, 0.75, 1)) * TINT,
}
EXPECTED = {"shown": of_obj("painted.obj"), "translucent": of_obj("glass.obj"), "multiplied": MULTIPLIED}


@pytest.fixture(scope="module")
def overlaid(tmp_path_factory):
    return convert(source("corner_colors"), tmp_path_factory.mktemp("corner_colors"), "--overlays", "openpbr")


def mesh_of(asset, visual):
    (leaf,) = (p for p in asset.prims if p.GetDisplayName() == visual and p.GetParent().GetName() == "visual")
    (found,) = (p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh))
    return UsdGeom.Mesh(found)


def corners(mesh):
    """Returns position and colour with opacity of each corner, from OpenUSD's reading of the primvars."""
    points, indices = mesh.GetPointsAttr().Get(), mesh.GetFaceVertexIndicesAttr().Get()
    api = UsdGeom.PrimvarsAPI(mesh)
    color, opacity = api.GetPrimvar("displayColor"), api.GetPrimvar("displayOpacity")
    assert color.GetTypeName() == "color3f[]" and color.GetInterpolation() == "vertex" and color.IsIndexed()
    colors = color.ComputeFlattened()
    opacities = opacity.ComputeFlattened() if opacity.HasAuthoredValue() else [1] * len(points)
    assert len(colors) == len(points)
    return [(tuple(points[i]), (*colors[i], opacities[i])) for i in indices]


@pytest.mark.parametrize("tier", ["mesh_high", "mesh_medium", "mesh_low"])
@pytest.mark.parametrize("visual", EXPECTED)
def test_display_colors(overlaid, visual, tier):
    asset = Asset(overlaid.entry)
    asset.select("visual_representation", tier)
    found = corners(mesh_of(asset, visual))
    assert len(found) == 12
    for position, color in found:
        np.testing.assert_allclose(color, EXPECTED[visual][position], atol=1e-6, err_msg=str(position))


def test_only_translucent_meshes_have_opacity(overlaid):
    asset = Asset(overlaid.entry)
    authored = {v: UsdGeom.PrimvarsAPI(mesh_of(asset, v)).GetPrimvar("displayOpacity").HasAuthoredValue() for v in EXPECTED}
    assert authored == {"shown": False, "translucent": True, "multiplied": False}


def bound(asset, visual):
    return UsdShade.MaterialBindingAPI(mesh_of(asset, visual)).ComputeBoundMaterial()[0]


def read_from(shader, name):
    """Returns the (node, primvar) that an input is connected to; `None` without a connection."""
    given = shader.GetInput(name)
    if not given or not given.HasConnectedSource():
        return None
    (source,) = given.GetConnectedSources()[0]
    node = UsdShade.Shader(source.source.GetPrim())
    assert node.GetOutput(source.sourceName)
    primvar = node.GetInput("varname") or node.GetInput("geomprop")
    return node.GetIdAttr().Get(), primvar.Get()


@pytest.mark.parametrize("visual", EXPECTED)
def test_the_bound_material_reads_them(overlaid, visual):
    asset = Asset(overlaid.entry)
    surface = bound(asset, visual).ComputeSurfaceSource()[0]
    assert read_from(surface, "diffuseColor") == ("UsdPrimvarReader_float3", "displayColor")
    opacity = ("UsdPrimvarReader_float", "displayOpacity") if visual == "translucent" else None
    assert read_from(surface, "opacity") == opacity
    rich = Asset(overlaid.directory / f"{overlaid.asset_name}.openpbr.usda")
    surface = bound(rich, visual).ComputeSurfaceSource("mtlx")[0]
    assert read_from(surface, "base_color") == ("ND_geompropvalue_color3", "displayColor")
    assert read_from(surface, "geometry_opacity") == (opacity and ("ND_geompropvalue_float", "displayOpacity"))


def test_materials_have_names_and_their_other_inputs(overlaid):
    asset = Asset(overlaid.entry)
    assert bound(asset, "multiplied").GetPrim().GetName() == "tinted"
    assert bound(asset, "multiplied").ComputeSurfaceSource()[0].GetInput("roughness").Get() == 0.75
    # One for opaque and one for translucent meshes: renderers sort meshes with an opacity network.
    assert bound(asset, "shown").GetPrim().GetName() == "corner_colors"
    assert bound(asset, "translucent").GetPrim().GetName() not in ("corner_colors", "default")


def test_the_robots_material_covers_them(overlaid):
    asset = Asset(overlaid.entry)
    surface = bound(asset, "covered").ComputeSurfaceSource()[0]
    assert read_from(surface, "diffuseColor") is None
    np.testing.assert_allclose(surface.GetInput("diffuseColor").Get(), linear(np.array([0.5] * 3)), atol=1e-6)


def primitive_of(glb, visual):
    """Returns the primitive of a visual; they are in the order of the URDF."""
    index = ["shown", "covered", "translucent", "multiplied"].index(visual)
    node = glb.nodes[glb.links["base"]["visualNodes"][index]]
    (primitive,) = glb.json["meshes"][node["mesh"]]["primitives"]
    return primitive, glb.json["materials"][primitive["material"]]


@pytest.mark.parametrize("visual", EXPECTED)
def test_glb(overlaid, visual):
    glb = Glb(overlaid.glb)
    primitive, material = primitive_of(glb, visual)
    accessor = glb.json["accessors"][primitive["attributes"]["COLOR_0"]]
    assert accessor["type"] == "VEC4" and accessor["normalized"] and accessor["componentType"] == 5123
    colors = glb.accessor(primitive["attributes"]["COLOR_0"]) / 65535
    positions = glb.accessor(primitive["attributes"]["POSITION"]) @ AXES[:3, :3]
    assert len(colors) == len(positions) >= 4
    for position, color in zip(positions, colors):
        # The rounding error of sixteen bits.
        np.testing.assert_allclose(color, EXPECTED[visual][tuple(position)], atol=0.5001 / 65535, err_msg=str(position))
    assert material["pbrMetallicRoughness"]["baseColorFactor"] == [1, 1, 1, 1], "vertex colours multiply the base colour"
    assert material.get("alphaMode") == ("BLEND" if visual == "translucent" else None)


def test_glb_where_they_do_not_show(overlaid):
    glb = Glb(overlaid.glb)
    primitive, material = primitive_of(glb, "covered")
    assert "COLOR_0" not in primitive["attributes"]
    np.testing.assert_allclose(material["pbrMetallicRoughness"]["baseColorFactor"], (*linear(np.array([0.5] * 3)), 1), atol=1e-6)
    collider = glb.nodes[glb.links["base"]["collisionNodes"][0]]
    assert all("COLOR_0" not in p["attributes"] for p in glb.json["meshes"][collider["mesh"]]["primitives"])
    # The geometry is still stored once.
    shown = primitive_of(glb, "shown")[0]
    assert shown["attributes"]["POSITION"] == primitive["attributes"]["POSITION"] and shown["indices"] == primitive["indices"]
