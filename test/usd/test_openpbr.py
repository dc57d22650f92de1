"""The overlay `openpbr`: a MaterialX OpenPBR network on every material, with the values of its UsdPreviewSurface."""

import functools
import tempfile
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdShade

from conftest import convert, source
from stage import Asset, applied, assert_printed_as_by_openusd, value

#: MaterialX types by USD's.
TYPES = {
    "float": "float", "int": "integer", "string": "string", "asset": "filename", "color3f": "color3", "color4f": "color4",
    "float2": "vector2", "float3": "vector3", "float4": "vector4", "token": "surfaceshader",
}  # fmt: skip
#: OpenPBR inputs by UsdPreviewSurface input, with defaults.
INPUTS = {
    "diffuseColor": ("base_color", None), "metallic": ("base_metalness", 0.0), "roughness": ("specular_roughness", 0.5),
    "opacity": ("geometry_opacity", 1.0), "emissiveColor": ("emission_color", None),
}  # fmt: skip


@functools.cache
def _overlaid(name):
    folder = tempfile.TemporaryDirectory()
    return folder, convert(source(name), Path(folder.name), "--overlays", "openpbr")


@pytest.fixture
def overlaid(converted):
    return _overlaid(converted.name)[1]


def overlay(asset):
    return asset.directory / f"{asset.asset_name}.openpbr.usda"


def materials(stage):
    """Returns every defined material, also those in payloads of visuals."""
    all_of_them = [UsdShade.Material(p) for p in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()) if p.IsA(UsdShade.Material)]
    return [m for m in all_of_them if "PhysicsMaterialAPI" not in applied(m.GetPrim())]


def test_composes(overlaid):
    assert_printed_as_by_openusd(overlaid.directory / "openpbr.usda")
    assert_printed_as_by_openusd(overlay(overlaid))
    plain, rich = Asset(overlaid.entry), Asset(overlay(overlaid))
    assert list(rich.stage.GetCompositionErrors()) == []
    assert rich.root.GetPath() == plain.root.GetPath()
    assert UsdGeom.GetStageUpAxis(rich.stage) == "Z" and UsdGeom.GetStageMetersPerUnit(rich.stage) == 1
    # Only networks are added.
    added = {p.GetPath() for p in rich.prims} - {p.GetPath() for p in plain.prims}
    assert {p.GetPath() for p in plain.prims} <= {p.GetPath() for p in rich.prims}
    assert all(p.IsA(UsdShade.Shader) for p in rich.prims if p.GetPath() in added), added
    assert len(rich.stage.GetPrototypes()) == len(plain.stage.GetPrototypes()), "the number of prototypes changed"
    for prim in rich.prims:
        for attribute in prim.GetAttributes():
            for path in attribute.GetConnections():
                assert rich.stage.GetObjectAtPath(path), f"{attribute.GetPath()} → {path}"


@pytest.mark.needs("visual")
@pytest.mark.parametrize("tier", ["mesh_medium", "mesh_high", "mesh_low"])
def test_every_material_has_a_network(overlaid, tier):
    asset = Asset(overlay(overlaid))
    asset.select("visual_representation", tier)
    for material in materials(asset.stage):
        assert "MaterialXConfigAPI" in applied(material.GetPrim()), material.GetPath()
        assert value(material.GetPrim(), "config:mtlx:version") == "1.39"
        surface = material.ComputeSurfaceSource("mtlx")[0]
        assert surface and surface.GetIdAttr().Get() == "ND_open_pbr_surface_surfaceshader", material.GetPath()
        assert material.ComputeSurfaceSource()[0].GetIdAttr().Get() == "UsdPreviewSurface", material.GetPath()


def _texture(shader, name, texture_input):
    """Returns the (file, fallback) of the image that an input is connected to, through converters."""
    source = shader.GetInput(name).GetConnectedSources()[0] if shader.GetInput(name) else []
    while source:
        node = UsdShade.Shader(source[0].source.GetPrim())
        if node.GetInput("file"):
            return node.GetInput("file"), node.GetInput(texture_input).Get()
        source = node.GetInput("in").GetConnectedSources()[0] if node.GetInput("in") else []
    return None


def _primvar(shader, name):
    """Returns the primvar that an input is directly connected to."""
    source = shader.GetInput(name).GetConnectedSources()[0] if shader.GetInput(name) else []
    node = source and UsdShade.Shader(source[0].source.GetPrim())
    primvar = node and (node.GetInput("varname") or node.GetInput("geomprop"))
    return primvar.Get() if primvar else None


@pytest.mark.needs("visual")
def test_values_are_those_of_the_preview_surface(overlaid):
    asset = Asset(overlay(overlaid))
    for material in materials(asset.stage):
        preview, rich = material.ComputeSurfaceSource()[0], material.ComputeSurfaceSource("mtlx")[0]
        for old, (new, default) in INPUTS.items():
            drawn = _texture(preview, old, "fallback")
            if drawn:
                file, fallback = _texture(rich, new, "default")
                assert file.Get() == drawn[0].Get() and Path(file.Get().resolvedPath).is_file(), material.GetPath()
                assert file.GetAttr().GetColorSpace() == "srgb_texture"
                np.testing.assert_allclose(list(fallback)[:3], list(drawn[1])[:3])
                continue
            assert _primvar(rich, new) == _primvar(preview, old), f"{material.GetPath()}: {old}"
            was = preview.GetInput(old).Get() if preview.GetInput(old) else default
            now = rich.GetInput(new).Get() if rich.GetInput(new) else default
            assert (was is None) == (now is None), f"{material.GetPath()}: {old}"
            if was is not None:
                np.testing.assert_allclose(now, was, rtol=1e-6, err_msg=f"{material.GetPath()}: {old}")
        emits = rich.GetInput("emission_color")
        assert not emits or rich.GetInput("emission_luminance").Get() == 1, "the emission colour must be the radiance"


def test_nodes_are_materialx(overlaid):
    assert_nodes_are_materialx(overlaid)


def assert_nodes_are_materialx(overlaid):
    """Asserts that every node, input and output is in MaterialX's standard library, with its type."""
    materialx = pytest.importorskip("MaterialX")
    library = _library(materialx)
    asset = Asset(overlay(overlaid))
    seen = 0
    for prim in asset.prims:
        shader = UsdShade.Shader(prim)
        if not shader or not (shader.GetIdAttr().Get() or "").startswith("ND_"):
            continue
        seen += 1
        node = library.getNodeDef(shader.GetIdAttr().Get())
        assert node, f"{prim.GetPath()}: {shader.GetIdAttr().Get()}"
        for given in shader.GetInputs():
            known = node.getActiveInput(given.GetBaseName())
            assert known and known.getType() == TYPES[str(given.GetTypeName())], given.GetFullName()
        for given in shader.GetOutputs():
            known = node.getActiveOutput(given.GetBaseName())
            assert known and known.getType() == TYPES[str(given.GetTypeName())], given.GetFullName()
    assert seen or not materials(asset.stage)


@functools.cache
def _library(materialx):
    library = materialx.createDocument()
    materialx.loadLibraries(materialx.getDefaultDataLibraryFolders(), materialx.getDefaultDataSearchPath(), library)
    return library


def test_the_neutral_asset_has_no_openpbr(overlaid):
    asset = Asset(overlaid.entry)
    layers = {Path(layer.realPath).name for layer in asset.stage.GetUsedLayers() if layer.realPath}
    assert "openpbr.usda" not in layers
    for path in overlaid.directory.glob("*.usda"):
        if "openpbr" not in path.name:
            assert "ND_" not in path.read_text() and "mtlx" not in path.read_text(), path.name
