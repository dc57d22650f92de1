"""Texture coordinates, display colours and opacities are those that OpenUSD finds, over generated stages."""

import random
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from conftest import run
from PIL import Image
from pxr import Sdf, Usd, UsdGeom, UsdShade
from stage import create_stage

TYPES = Sdf.ValueTypeNames
#: Array types of texture coordinates, and the components of an element.
UV_TYPES = [(TYPES.TexCoord2fArray, 2), (TYPES.Float2Array, 2), (TYPES.TexCoord3fArray, 3), (TYPES.TexCoord2dArray, 2), (TYPES.TexCoord2hArray, 2), (TYPES.Float3Array, 3)]
NAMES = ["st", "UVMap", "uv", "st_1", "other:name"]
#: Two faces of four corners.
COUNTS, INDICES = [4, 4], [0, 1, 2, 3, 1, 4, 5, 2]
SIZES = {"constant": 1, "uniform": 2, "vertex": 6, "varying": 6, "faceVarying": 8}


def textured(stage, name, image, varname, chance):
    """Defines a material with an image that takes its texture coordinates from the primvar `varname`."""
    material = UsdShade.Material.Define(stage, f"/r/Looks/{name}")
    shaders = {}
    for kind, identifier in (("S", "UsdPreviewSurface"), ("T", "UsdUVTexture"), ("R", "UsdPrimvarReader_float2"), ("X", "UsdTransform2d")):
        shaders[kind] = UsdShade.Shader.Define(stage, f"/r/Looks/{name}/{kind}")
        shaders[kind].CreateIdAttr(identifier)
    outputs = {"S": "surface", "T": "rgb", "R": "result", "X": "result"}
    outputs = {kind: shaders[kind].CreateOutput(output, TYPES.Token if kind == "S" else TYPES.Float3 if kind == "T" else TYPES.Float2) for kind, output in outputs.items()}
    material.CreateSurfaceOutput().ConnectToSource(outputs["S"])
    shaders["S"].CreateInput("diffuseColor", TYPES.Color3f).ConnectToSource(outputs["T"])
    shaders["T"].CreateInput("file", TYPES.Asset).Set(Sdf.AssetPath(image))
    is_moved = chance.random() < 0.3
    shaders["T"].CreateInput("st", TYPES.Float2).ConnectToSource(outputs["X" if is_moved else "R"])
    if is_moved:
        shaders["X"].CreateInput("in", TYPES.Float2).ConnectToSource(outputs["R"])
        shaders["X"].CreateInput("scale", TYPES.Float2).Set((1, 1))
    read = shaders["R"].CreateInput("varname", chance.choice([TYPES.String, TYPES.Token]))
    if chance.random() < 0.5:
        # By way of the material's interface.
        given = material.CreateInput("frame:stPrimvarName", read.GetTypeName())
        given.Set(varname)
        read.ConnectToSource(given)
    else:
        read.Set(varname)
    return material


def add_uvs(chance, prim, name, interpolation):
    kind, components = chance.choice(UV_TYPES)
    primvar = UsdGeom.PrimvarsAPI(prim).CreatePrimvar(name, kind, *([interpolation] if interpolation else []))
    count = SIZES[interpolation or "constant"]
    values = lambda count: np.array([[chance.randrange(64) / 64 for _ in range(components)] for _ in range(count)])
    if chance.random() < 0.5:
        few = chance.randrange(1, 5)
        primvar.Set(values(few))
        primvar.SetIndices([chance.randrange(few) for _ in range(count)])
    else:
        primvar.Set(values(count))


def corners(mesh, primvar):
    """Returns the point and the texture coordinates of each corner of a mesh by its face, as OpenUSD has them; None without any."""
    points, indices = np.array(mesh.GetPointsAttr().Get()), list(mesh.GetFaceVertexIndicesAttr().Get())
    faces = [face for face, count in enumerate(mesh.GetFaceVertexCountsAttr().Get()) for _ in range(count)]
    if not primvar or not primvar.HasValue():
        return [None] * len(indices), faces, points[indices]
    values = np.array(primvar.ComputeFlattened(), dtype=float)[:, :2]
    element = {
        "constant": lambda corner: 0,
        "uniform": lambda corner: faces[corner],
        "faceVarying": lambda corner: corner,
    }.get(primvar.GetInterpolation(), lambda corner: indices[corner])
    return [tuple(values[element(corner)].round(4).tolist()) for corner in range(len(indices))], faces, points[indices]


@pytest.mark.parametrize("seed", range(40))
def test_texture_coordinates_are_those_of_the_reader(tmp_path, seed):
    chance = random.Random(seed)
    Image.new("RGB", (4, 4), (200, 40, 40)).save(tmp_path / "t.png")
    stage, body = create_stage(tmp_path / "r.usda")
    group = UsdGeom.Xform.Define(stage, "/r/body/group").GetPrim()
    names = [chance.choice(NAMES) for _ in range(3)]
    materials = [textured(stage, f"m{number}", "t.png", name, chance) for number, name in enumerate(names)]
    wanted = {}
    for prim in (body, group):
        if chance.random() < 0.5:
            add_uvs(chance, prim, chance.choice(NAMES), chance.choice(["constant", None, "vertex"]))
    for number in range(4):
        mesh = UsdGeom.Mesh.Define(stage, f"/r/body/group/v{number}")
        # Each mesh has a plane of its own.
        mesh.CreatePointsAttr([(x, y, number) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1), (2, 0), (2, 1))])
        mesh.CreateFaceVertexCountsAttr(COUNTS)
        mesh.CreateFaceVertexIndicesAttr(INDICES)
        mesh.CreateSubdivisionSchemeAttr("none")
        for name in chance.sample(NAMES, chance.randrange(0, 4)):
            add_uvs(chance, mesh.GetPrim(), name, chance.choice([*SIZES, None]))
        of_mesh = chance.randrange(3)
        UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(materials[of_mesh])
        of_face = {0: of_mesh, 1: of_mesh}
        if chance.random() < 0.5:
            of_face[1] = chance.randrange(3)
            subset = UsdGeom.Subset.CreateGeomSubset(mesh, "part", "face", [1], "materialBind", "partition")
            UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(materials[of_face[1]])
        for face, material in of_face.items():
            primvar = UsdGeom.PrimvarsAPI(mesh.GetPrim()).FindPrimvarWithInheritance(names[material])
            uvs, faces, points = corners(mesh, primvar)
            wanted |= {(*map(float, point), face): uv for uv, at, point in zip(uvs, faces, points) if at == face}
    stage.Save()
    done = run("convert", tmp_path / "r.usda", "-o", tmp_path / "out", "--formats", "usd")
    assert done.returncode == 0, done.stderr
    (entry,) = (tmp_path / "out").glob("*/r.usda")
    result = Usd.Stage.Open(str(entry))
    found, cache = {}, UsdGeom.XformCache()
    for prim in Usd.PrimRange.Stage(result, Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Mesh) or UsdGeom.Imageable(prim).ComputePurpose() == "guide":
            continue
        uvs, faces, points = corners(UsdGeom.Mesh(prim), UsdGeom.PrimvarsAPI(prim).GetPrimvar("st"))
        matrix = np.array(cache.GetLocalToWorldTransform(prim))
        points = points @ matrix[:3, :3] + matrix[3, :3]
        centres = {face: points[[corner for corner, at in enumerate(faces) if at == face]].mean(axis=0) for face in faces}
        for uv, face, point in zip(uvs, faces, points):
            key = (*map(float, np.round(point, 4)), int(centres[face][0] > 1))
            found.setdefault(key, set()).add(uv)
    for key, uv in wanted.items():
        # A mesh whose other face has texture coordinates has some everywhere.
        assert uv in found[key] if uv else found[key] <= {None} or any(wanted[other] for other in wanted if other[2] == key[2]), (key, uv, found[key])


@pytest.mark.parametrize("seed", range(20))
def test_display_colors_and_opacities_are_inherited_apart(tmp_path, seed):
    chance = random.Random(seed)
    stage, body = create_stage(tmp_path / "r.usda")
    prims = [body]
    for number in range(12):
        above = chance.choice([prim for prim in prims if not prim.IsA(UsdGeom.Cube)])
        kind = chance.choice([UsdGeom.Xform, UsdGeom.Cube])
        prim = kind.Define(stage, above.GetPath().AppendChild(f"x{number}")).GetPrim()
        if kind == UsdGeom.Cube:
            UsdGeom.Cube(prim).CreateSizeAttr(1 + number / 16)
        prims.append(prim)
    for prim in prims:
        api = UsdGeom.PrimvarsAPI(prim)
        interpolation = [chance.choice(["constant", "constant", "vertex"])] if chance.random() < 0.7 else []
        if chance.random() < 0.4:
            color = api.CreatePrimvar("displayColor", TYPES.Color3fArray, *interpolation)
            color.Set([[chance.randrange(9) / 8 for _ in range(3)] for _ in range(2)])
            color.SetIndices([chance.randrange(2)]) if chance.random() < 0.5 else color.Set([(0.25, chance.randrange(9) / 8, 0.5)])
        if chance.random() < 0.4:
            api.CreatePrimvar("displayOpacity", TYPES.FloatArray, *interpolation).Set([chance.randrange(1, 9) / 8])
    stage.Save()
    done = run("convert", tmp_path / "r.usda", "-o", tmp_path / "out", "--formats", "urdf")
    assert done.returncode == 0, done.stderr
    (urdf,) = (tmp_path / "out").glob("*/*.urdf")
    robot = ElementTree.parse(urdf)
    colors = {one.get("name"): one.find("color") for one in robot.iter("material") if one.find("color") is not None}
    found = {}
    for visual in robot.iter("visual"):
        material = visual.find("material")
        color = None if material is None else material.find("color")
        color = colors[material.get("name")] if material is not None and color is None else color
        size = float(visual.find("geometry/box").get("size").split()[0])
        found[size] = None if color is None else np.round([float(number) for number in color.get("rgba").split()], 3).tolist()
    wanted = {}
    for prim in prims:
        if prim.IsA(UsdGeom.Cube):
            api = UsdGeom.PrimvarsAPI(prim)
            color, opacity = (api.FindPrimvarWithInheritance(name) for name in ("displayColor", "displayOpacity"))
            color = color.ComputeFlattened() if color and color.HasValue() else None
            opacity = opacity.ComputeFlattened()[0] if opacity and opacity.HasValue() else 1.0
            wanted[prim.GetAttribute("size").Get()] = [*map(float, color[0]), opacity] if color else None
    # URDF's colours are sRGB; the default grey needs no material.
    srgb = lambda x: 12.92 * x if x <= 0.0031308 else 1.055 * x ** (1 / 2.4) - 0.055
    for size, rgba in wanted.items():
        if rgba:
            assert found[size] is not None, size
            both = [rgba, [*map(srgb, rgba[:3]), rgba[3]]]
            assert any(np.allclose(found[size], one, atol=2e-3) for one in both), (size, found[size], rgba)
