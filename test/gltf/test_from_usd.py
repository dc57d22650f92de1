"""OpenUSD assets that this project did not write, as glTF (REP-158 §3): against usd-core's own reading of them, by three.js and the
Khronos validator. The stages under `assets/` are written by hand, one rule of the section each."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, run
from pxr import Gf, Usd, UsdGeom, UsdLux
from worker import NODE, worker

ASSETS = Path(__file__).with_name("assets")
USD_ASSETS = ROOT / "test" / "usd" / "assets"


def converted(asset, output):
    """The GLB, the entry of the OpenUSD asset, and the report."""
    done = run("convert", asset, "-o", output, "--formats", "usd,glb", "--json")
    assert done.returncode == 0, done.stderr
    (glb,) = Path(output).glob("*/*.glb")
    return glb, glb.with_suffix(".usda"), json.loads(done.stdout)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    if not shutil.which("node") or not (ROOT / "viewer" / "node_modules").is_dir():
        pytest.skip("viewer/node_modules is not there: test/run installs it")
    bundled = tmp_path_factory.mktemp("three") / "loader.mjs"
    worker(NODE, "gltf").ask("drive_glb", "bundle", "ours", bundled)
    return lambda what, glb: worker(NODE, "gltf").ask("drive_glb", what, bundled, glb)[0]


def _in_link(prim):
    """Where a light is in its link, and whither it shines there: metres, axes of the link."""
    cache, body = UsdGeom.XformCache(), prim
    while body.GetName() not in ("base", "head"):
        body = body.GetParent()
    metres = UsdGeom.GetStageMetersPerUnit(prim.GetStage())
    matrix = np.array(cache.GetLocalToWorldTransform(prim) * cache.GetLocalToWorldTransform(body).GetInverse()).T
    direction = -matrix[:3, 2]
    return body.GetName(), matrix[:3, 3] * metres, direction / np.linalg.norm(direction)


def _brightness(prim):
    """Candela or lux of each colour, by the formulas of UsdLux's schema."""
    light = UsdLux.LightAPI(prim)
    luminance = light.GetIntensityAttr().Get() * 2 ** light.GetExposureAttr().Get()
    color = np.array(light.GetColorAttr().Get())
    if light.GetEnableColorTemperatureAttr().Get():
        color = color * np.array(UsdLux.BlackbodyTemperatureAsRgb(light.GetColorTemperatureAttr().Get()))
    metres = UsdGeom.GetStageMetersPerUnit(prim.GetStage())
    if prim.IsA(UsdLux.DistantLight):
        half = math.radians(UsdLux.DistantLight(prim).GetAngleAttr().Get()) / 2
        size = math.pi * math.sin(half) ** 2
        return color * (luminance if light.GetNormalizeAttr().Get() else luminance * size)
    scale = np.linalg.det(np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim))[:3, :3]) ** (1 / 3)
    radius = UsdLux.SphereLight(prim).GetRadiusAttr().Get() * scale
    if light.GetNormalizeAttr().Get():
        luminance /= 4 * math.pi * radius**2
    return color * luminance * math.pi * (radius * metres) ** 2


def _lights(entry):
    found, stage = {}, Usd.Stage.Open(str(entry))
    for prim in stage.Traverse():
        if prim.IsA(UsdLux.SphereLight) or prim.IsA(UsdLux.DistantLight):
            shaping = UsdLux.ShapingAPI(prim) if prim.HasAPI(UsdLux.ShapingAPI) else None
            cone = shaping and (shaping.GetShapingConeAngleAttr().Get(), shaping.GetShapingConeSoftnessAttr().Get())
            found[prim.GetName()] = (*_in_link(prim), _brightness(prim), cone)
    return found


def test_lights_of_usd_shine_in_three_js_as_they_do_in_usd(three, tmp_path):
    glb, _, report = converted(ASSETS / "lights.usda", tmp_path)
    expected = _lights(ASSETS / "lights.usda")
    assert expected.keys() == {"sun", "spot", "beacon"}
    names = {"base_light_0": "sun", "head_light_0": "spot", "head_light_1": "beacon"}
    seen = {names[light["name"]]: light for light in three("lights", glb)}
    assert seen.keys() == expected.keys()
    for name, (link, position, direction, brightness, cone) in expected.items():
        light = seen[name]
        assert light["type"] == {"sun": "DirectionalLight", "spot": "SpotLight", "beacon": "PointLight"}[name]
        assert light["link"] == link
        # glTF's x, y, z are y, z, x of ROS axes.
        matrix = np.array(light["inLink"]).reshape(4, 4).T
        assert np.allclose(matrix[:3, 3], np.roll(position, -1), atol=1e-6), name
        assert np.allclose(-matrix[:3, 2], np.roll(direction, -1), atol=1e-6), name
        # The colour of a black body is a fit of a few per cent.
        assert np.allclose(np.array(light["color"]) * light["intensity"], brightness, rtol=0.03, atol=0.01 * max(brightness)), name
        if cone:
            assert math.isclose(light["angle"], math.radians(cone[0]), rel_tol=1e-6)
            assert math.isclose(light["penumbra"], cone[1], rel_tol=1e-5)
    codes = [finding["code"] for finding in report["diagnostics"]]
    assert codes.count("usd-read-area-light") == 1 and codes.count("usd-read-dome-light") == 1


def test_lights_of_usd_are_valid_gltf(tmp_path):
    glb, _, _ = converted(ASSETS / "lights.usda", tmp_path)
    issues, _ = worker(NODE, "gltf").ask("validate_gltf", glb)
    # The validator does not know the extension of kinematics.
    known = [issue for issue in issues[str(glb)] if issue["code"] != "UNSUPPORTED_EXTENSION"]
    assert known == []


def test_lights_come_back_from_gltf_as_usd_has_them(tmp_path):
    glb, written, _ = converted(ASSETS / "lights.usda", tmp_path / "there")
    _, again, report = converted(glb, tmp_path / "back")
    assert not [finding for finding in report["diagnostics"] if "3.6" in finding["code"]]
    expected = _lights(ASSETS / "lights.usda")
    for entry in (written, again):
        found = _lights(entry)
        assert found.keys() == expected.keys()
        for name, (link, position, direction, brightness, cone) in expected.items():
            of_link, of_position, of_direction, of_brightness, of_cone = found[name]
            assert of_link == link
            assert np.allclose(of_position, position, atol=1e-6) and np.allclose(of_direction, direction, atol=1e-6), name
            assert np.allclose(of_brightness, brightness, rtol=0.03, atol=0.01 * max(brightness)), name
            assert (of_cone is None) == (cone is None) and (cone is None or np.allclose(of_cone, cone, atol=1e-4)), name


def _points(part):
    if part.IsA(UsdGeom.Mesh):
        return [Gf.Vec3d(*point) for point in UsdGeom.Mesh(part).GetPointsAttr().Get()]
    if part.IsA(UsdGeom.Cube):
        half = UsdGeom.Cube(part).GetSizeAttr().Get() / 2
        return [Gf.Vec3d(x, y, z) * half for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    return []


def _boxes(entry):
    """The box of all that the only body of a stage shows, copy by copy, in metres in the axes of the body."""
    stage, found = Usd.Stage.Open(str(entry)), []
    cache, metres = UsdGeom.XformCache(), UsdGeom.GetStageMetersPerUnit(stage)
    (body,) = [prim for prim in stage.Traverse() if "PhysicsRigidBodyAPI" in prim.GetAppliedSchemas()]

    def add(points, matrix):
        placed = np.array([matrix.Transform(point) for point in points]) * metres
        found.append((placed.min(axis=0), placed.max(axis=0)))

    traversal = iter(Usd.PrimRange(body, Usd.TraverseInstanceProxies()))
    for prim in traversal:
        to_body = cache.GetLocalToWorldTransform(prim) * cache.GetLocalToWorldTransform(body).GetInverse()
        if _points(prim) and UsdGeom.Imageable(prim).ComputePurpose() == "default":
            add(_points(prim), to_body)
        if not prim.IsA(UsdGeom.PointInstancer):
            continue
        traversal.PruneChildren()
        instancer = UsdGeom.PointInstancer(prim)
        matrices = instancer.ComputeInstanceTransformsAtTime(0, 0, applyMask=UsdGeom.PointInstancer.IgnoreMask)
        hidden = set(instancer.GetInvisibleIdsAttr().Get() or [])
        ids = instancer.GetIdsAttr().Get() or range(len(matrices))
        prototypes = [stage.GetPrimAtPath(path) for path in instancer.GetPrototypesRel().GetTargets()]
        for own, index, matrix in zip(ids, instancer.GetProtoIndicesAttr().Get(), matrices):
            for part in Usd.PrimRange(prototypes[index]) if own not in hidden else ():
                inside, _ = cache.ComputeRelativeTransform(part, prototypes[index])
                if _points(part):
                    add(_points(part), inside * matrix * to_body)
    return found


def _same_boxes(seen, expected):
    """Whether two lists of boxes are one, in any order."""
    left = [np.array(box) for box in seen]
    for low, high in expected:
        wanted = np.array([np.roll(low, -1), np.roll(high, -1)])
        nearest = min(range(len(left)), key=lambda k: np.abs(left[k] - wanted).max())
        assert np.allclose(left.pop(nearest), wanted, atol=1e-6)
    assert left == []


STAGES = {
    "copies.usda": [3, 3, 2],
    "point_instancer.usda": [2],
}


@pytest.mark.parametrize("name", STAGES)
def test_copies_of_point_instancers_are_drawn_where_usd_has_them(name, three, tmp_path):
    source = next(folder / name for folder in (ASSETS, USD_ASSETS) if (folder / name).is_file())
    glb, _, _ = converted(source, tmp_path)
    drawn = [mesh for mesh in three("boxes", glb) if not mesh["collides"]]
    assert sorted((mesh["copies"] for mesh in drawn if mesh["copies"]), reverse=True) == STAGES[name]
    _same_boxes([box for mesh in drawn for box in mesh["boxes"]], _boxes(source))
    issues, _ = worker(NODE, "gltf").ask("validate_gltf", glb)
    # It does not know the extensions, so not what the accessors of copies are for.
    unknown = ("UNSUPPORTED_EXTENSION", "UNUSED_OBJECT")
    assert [issue for issue in issues[str(glb)] if issue["code"] not in unknown] == []


def test_copies_come_back_from_gltf_and_are_where_they_were_in_usd(tmp_path):
    glb, _, _ = converted(ASSETS / "copies.usda", tmp_path / "there")
    again, entry, _ = converted(glb, tmp_path / "back")
    assert again.read_bytes().count(b'"EXT_mesh_gpu_instancing":{') == 4, "three of what is seen, one of what collides"
    expected = _boxes(ASSETS / "copies.usda")
    assert len(expected) == 8
    _same_boxes([np.roll(box, -1, axis=1) for box in map(np.array, _boxes(entry))], expected)
