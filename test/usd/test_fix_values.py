"""`urdf_usd fix` repairs values: impossible inertias, normals of colliders, images that lose data. Read with OpenUSD, NumPy and Pillow."""

import numpy as np
import pytest
from conftest import run
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade
from test_fix import fixed
from test_fix_layouts import assert_same_when_fixed_again, codes, stage_of

rng = np.random.default_rng(5)


def is_accepted_in_single_precision(moments, count=50):
    """Returns whether a tensor is possible in any axes, computed in single precision, as Newton hands it to MuJoCo."""
    for quaternion in rng.normal(size=(count, 4)):
        turn = np.array(Gf.Matrix3d(Gf.Quatd(*quaternion).GetNormalized()), np.float32)
        tensor = turn.T @ np.diag(np.array(moments, np.float32)) @ turn
        a, b, c = np.linalg.eigvalsh(((tensor + tensor.T) / 2).astype(float))
        if a <= 0 or a + b < c:
            return False
    return True


POSSIBLE = {"sphere": (0.1, 0.1, 0.1), "long": (1e-3, 2, 2), "tiny": (1e-9, 1.5e-9, 2e-9), "above the margin": (1, 2, 2.99998)}
IMPOSSIBLE = {
    "plate": ((1, 2, 3), (1, 2, 3)),
    "rounded plate": ((0.1, 0.2, 0.3), (0.1, 0.2, 0.3)),
    "triangle": ((1, 1, 4), (2, 2, 4)),
    "negative": ((-1, 2, 2), (0.002, 2, 2)),
    "rod": ((1e-9, 2, 2), (8e-6, 2, 2)),
    "zero": ((0, 0, 3), (1.5, 1.5, 3)),
    "tiny": ((1e-9, 1e-9, 4e-9), (2e-9, 2e-9, 4e-9)),
    "not a number": (("nan", 2, 2), (0.002, 2, 2)),
    "none": ((-1, -1, -1), (0.003, 0.003, 0.003)),
}


def test_impossible_inertias_become_the_nearest_possible_ones(tmp_path):
    body = """
    def Xform "b{0}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {{
        float physics:mass = 3
        float3 physics:diagonalInertia = ({1}, {2}, {3})
        quatf physics:principalAxes = (0.5, 0.5, 0.5, 0.5)
        point3f physics:centerOfMass = (0, 0, 0.1)
    }}"""
    given = [*POSSIBLE.values(), *(moments for moments, _ in IMPOSSIBLE.values())]
    wanted = [*POSSIBLE.values(), *(moments for _, moments in IMPOSSIBLE.values())]
    bodies = "".join(body.format(index, *moments) for index, moments in enumerate(given))
    entry, report = fixed(stage_of(tmp_path, f'def Xform "robot"\n{{{bodies}\n}}\n'), tmp_path / "out")
    stage = Usd.Stage.Open(str(entry))
    for index, moments in enumerate(wanted):
        mass = UsdPhysics.MassAPI(stage.GetPrimAtPath(f"/robot/b{index}"))
        found = tuple(mass.GetDiagonalInertiaAttr().Get())
        if index < len(POSSIBLE):
            assert found == tuple(Gf.Vec3f(*moments))
        else:
            assert found == pytest.approx(moments, rel=1e-5), moments
        assert is_accepted_in_single_precision(found), found
        assert mass.GetPrincipalAxesAttr().Get() == Gf.Quatf(0.5) + Gf.Quatf(0, 0.5, 0.5, 0.5) and mass.GetMassAttr().Get() == 3
    told = [d["message"] for d in report["diagnostics"] if d["message"].startswith("replaced the moments of inertia")]
    assert len(told) == len(IMPOSSIBLE) and "REP158-1.3.18" not in codes(report)
    assert_same_when_fixed_again(entry, tmp_path / "again")


@pytest.mark.parametrize("approximation", ["convexHull", "none"])
def test_colliders_get_normals(approximation, tmp_path):
    text = f"""
def Xform "robot" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{{
    float physics:mass = 1
    def Mesh "hull" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"])
    {{
        uniform token physics:approximation = "{approximation}"
        uniform token purpose = "guide"
        int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
        int[] faceVertexIndices = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
        point3f[] points = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)]
        uniform token subdivisionScheme = "none"
    }}
    def Mesh "seen"
    {{
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (0, 0, 1), (0, 1, 0)]
    }}
}}
"""
    entry, _ = fixed(stage_of(tmp_path, text), tmp_path / "out")
    stage = Usd.Stage.Open(str(entry))
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/robot/hull"))
    points, normals = (np.array(attribute.Get()) for attribute in (mesh.GetPointsAttr(), mesh.GetNormalsAttr()))
    faces = np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)
    assert mesh.GetNormalsInterpolation() == "uniform" and len(normals) == len(faces) == 12
    outwards = points[faces].mean(axis=1) - 0.5
    assert np.allclose(np.linalg.norm(normals, axis=1), 1) and (np.einsum("ij,ij->i", normals, outwards) > 0.4).all()
    assert not UsdGeom.Mesh(stage.GetPrimAtPath("/robot/seen")).GetNormalsAttr().HasAuthoredValue()
    assert_same_when_fixed_again(entry, tmp_path / "again")


IMAGES = {
    # input, file, output that it reads, format afterwards
    "diffuseColor": ("color.jpg", "rgb", "JPEG"),
    "normal": ("normal.jpg", "rgb", "PNG"),
    "roughness": ("roughness.jpeg", "r", "PNG"),
    "metallic": ("metallic.tga", "r", "PNG"),
    "occlusion": ("occlusion.bmp", "r", "PNG"),
    "opacity": ("opacity.JPG", "a", "PNG"),
    "emissiveColor": ("emission.TGA", "rgb", "PNG"),
}


def test_images_that_lose_data_become_png(tmp_path):
    stage = Usd.Stage.Open(str(stage_of(tmp_path, """
def Xform "robot" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
{
    float physics:mass = 1
    def Cube "c" (prepend apiSchemas = ["MaterialBindingAPI"])
    {
        rel material:binding = </robot/paint>
    }
}
""")))  # fmt: skip
    material = UsdShade.Material.Define(stage, "/robot/paint")
    surface = UsdShade.Shader.Define(stage, "/robot/paint/surface")
    surface.CreateIdAttr("UsdPreviewSurface")
    material.CreateSurfaceOutput().ConnectToSource(surface.ConnectableAPI(), "surface")
    for name, (file, output, _) in IMAGES.items():
        Image.fromarray(rng.integers(0, 255, (8, 8, 3), np.uint8)).save(tmp_path / file)
        shader = UsdShade.Shader.Define(stage, f"/robot/paint/{name}")
        shader.CreateIdAttr("UsdUVTexture")
        shader.CreateInput("file", Sdf.ValueTypeNames.Asset).Set(f"./{file}")
        kind = Sdf.ValueTypeNames.Float3 if output == "rgb" else Sdf.ValueTypeNames.Float
        surface.CreateInput(name, kind).ConnectToSource(shader.ConnectableAPI(), output)
    stage.Save()
    entry, report = fixed(tmp_path / "source.usda", tmp_path / "out")
    stage = Usd.Stage.Open(str(entry))
    for name, (file, _, form) in IMAGES.items():
        shader = UsdShade.Shader(stage.GetPrimAtPath(f"/robot/paint/{name}"))
        image = Image.open(shader.GetInput("file").Get().resolvedPath)
        source = Image.open(tmp_path / file)
        assert (image.format, image.size) == (form, source.size), name
        difference = np.abs(np.array(image.convert("RGB"), int) - np.array(source.convert("RGB"), int))
        # Decoders of JPEG differ in rounding, and in how they enlarge colours.
        assert difference.max() <= (0 if source.format != "JPEG" else 40) and difference.mean() < 4, name
    assert not {"REP158-3.2.1", "REP158-3.2.2", "REP158-3.2.3"} & codes(report)
    assert_same_when_fixed_again(entry, tmp_path / "again")


def paths(entry):
    stage = Usd.Stage.Open(str(entry))
    return {str(prim.GetPath()) for prim in stage.Traverse()}


def test_arcs_to_itself_and_deep_prims_leave_the_rest(tmp_path):
    body = 'def Xform "base" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) { float physics:mass = 2\n }'
    inner = 'def Xform "{}" ()\n{{\n}}\n'
    depth = 200
    deep = "#usda 1.0\n(\ndefaultPrim = \"d\"\n)\n" + 'def Xform "d"\n{\n' * depth + "}\n" * depth
    (tmp_path / "part.usda").write_text(deep)
    reference = 'def Xform "last" (prepend references = @part.usda@)\n{\n}\n'
    (tmp_path / "deep.usda").write_text(deep.replace("{\n}", "{\n" + reference + "}"))
    source = stage_of(tmp_path, f"""
def Xform "robot"
{{
    {body}
    def Xform "own" (inherits = </robot/own>)
    {{
        {inner.format("below")}
    }}
    def Xform "one" (specializes = </robot/two>)
    {{
        {inner.format("first")}
    }}
    def Xform "two" (inherits = </robot/one>)
    {{
        {inner.format("second")}
    }}
    {inner.format("deep").replace("(", "(prepend references = @deep.usda@")}
}}
""")  # fmt: skip
    there = paths(source)
    done = run("inspect", source, "-v")
    told = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == 0 and "2 kg" in told and "usd-read-not-composed" in told and "/robot/own is composed of itself" in told
    assert "nested more than 256 deep" in told
    done = run("check", source)
    assert "REP158-0.1" in done.stdout and "REP158-1." in done.stdout
    entry, report = fixed(source, tmp_path / "out", code=(1,))
    assert "fix-not-whole" in codes(report)
    written = paths(entry)
    assert {"/robot/own/below", "/robot/one/first", "/robot/two/second"} <= written <= there
