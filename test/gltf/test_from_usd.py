"""Foreign OpenUSD assets converted to glTF (REP-158 §3), read by three.js and the Khronos validator, compared with usd-core. The
hand-written stages under `assets/` have one rule of the section each."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, run
from pxr import Gf, Usd, UsdGeom, UsdLux, UsdShade
from worker import NODE, worker

ASSETS = Path(__file__).with_name("assets")
USD_ASSETS = ROOT / "test" / "usd" / "assets"


def converted(asset, output):
    """Converts an asset. Returns the GLB, the entry of the OpenUSD asset, and the report."""
    done = run("convert", asset, "-o", output, "--formats", "usd,glb", "--json")
    assert done.returncode == 0, done.stderr
    (glb,) = Path(output).glob("*/*.glb")
    return glb, glb.with_suffix(".usda"), json.loads(done.stdout)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    if not shutil.which("node") or not (ROOT / "viewer" / "node_modules").is_dir():
        pytest.skip("viewer/node_modules does not exist: test/run installs it")
    bundled = tmp_path_factory.mktemp("three") / "loader.mjs"
    worker(NODE, "gltf").ask("drive_glb", "bundle", "ours", bundled)
    return lambda what, glb, *rest: worker(NODE, "gltf").ask("drive_glb", what, bundled, glb, *rest)[0]


def _in_link(prim):
    """Returns position and direction of a light in its link, in metres and axes of the link."""
    cache, body = UsdGeom.XformCache(), prim
    while body.GetName() not in ("base", "head"):
        body = body.GetParent()
    metres = UsdGeom.GetStageMetersPerUnit(prim.GetStage())
    matrix = np.array(cache.GetLocalToWorldTransform(prim) * cache.GetLocalToWorldTransform(body).GetInverse()).T
    direction = -matrix[:3, 2]
    return body.GetName(), matrix[:3, 3] * metres, direction / np.linalg.norm(direction)


def _brightness(prim):
    """Returns candela or lux of each colour, by the formulas of UsdLux's schema."""
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
        # The colour of a black body is an approximation within a few per cent.
        assert np.allclose(np.array(light["color"]) * light["intensity"], brightness, rtol=0.03, atol=0.01 * max(brightness)), name
        if cone:
            assert math.isclose(light["angle"], math.radians(cone[0]), rel_tol=1e-6)
            assert math.isclose(light["penumbra"], cone[1], rel_tol=1e-5)
    codes = [finding["code"] for finding in report["diagnostics"]]
    assert codes.count("usd-read-area-light") == 1 and codes.count("usd-read-dome-light") == 1


def test_lights_of_usd_are_valid_gltf(tmp_path):
    glb, _, _ = converted(ASSETS / "lights.usda", tmp_path)
    issues, _ = worker(NODE, "gltf").ask("validate_gltf", glb)
    # The validator does not know EXT_robot_kinematics.
    known = [issue for issue in issues[str(glb)] if issue["code"] != "UNSUPPORTED_EXTENSION"]
    assert known == []


def test_lights_are_read_back_from_gltf(tmp_path):
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


def _boxes(entry, name=None):
    """Returns the bounding boxes of the visuals of a body, the only one by default, instance by instance, in metres in the axes of the body."""
    stage, found = Usd.Stage.Open(str(entry)), []
    cache, metres = UsdGeom.XformCache(), UsdGeom.GetStageMetersPerUnit(stage)
    bodies = [prim for prim in stage.Traverse() if "PhysicsRigidBodyAPI" in prim.GetAppliedSchemas()]
    (body,) = [body for body in bodies if name in (None, body.GetName())]

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
    """Returns whether two lists of boxes are equal, in any order."""
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
    # The validator does not know the extension, and so reports its accessors as unused.
    unknown = ("UNSUPPORTED_EXTENSION", "UNUSED_OBJECT")
    assert [issue for issue in issues[str(glb)] if issue["code"] not in unknown] == []


def test_copies_are_read_back_from_gltf_with_their_poses(tmp_path):
    glb, _, _ = converted(ASSETS / "copies.usda", tmp_path / "there")
    again, entry, _ = converted(glb, tmp_path / "back")
    assert again.read_bytes().count(b'"EXT_mesh_gpu_instancing":{') == 4, "three visuals and one collider"
    expected = _boxes(ASSETS / "copies.usda")
    assert len(expected) == 8
    _same_boxes([np.roll(box, -1, axis=1) for box in map(np.array, _boxes(entry))], expected)


def _corners(stage):
    """Yields each face of every mesh: [(point in the body in glTF's axes, st, displayColor with opacity), …], and the bound material."""
    cache = UsdGeom.XformCache()
    (body,) = [prim for prim in stage.Traverse() if "PhysicsRigidBodyAPI" in prim.GetAppliedSchemas()]
    for prim in Usd.PrimRange(body):
        if not prim.IsA(UsdGeom.Mesh):
            continue
        mesh, api = UsdGeom.Mesh(prim), UsdGeom.PrimvarsAPI(prim)
        matrix = cache.GetLocalToWorldTransform(prim) * cache.GetLocalToWorldTransform(body).GetInverse()
        points, flat = mesh.GetPointsAttr().Get(), mesh.GetFaceVertexIndicesAttr().Get()

        def value(name, otherwise, face, corner, api=api, flat=flat):
            primvar = api.GetPrimvar(name)
            if not primvar.HasValue():
                return otherwise
            element = {"constant": 0, "uniform": face, "vertex": flat[corner], "faceVarying": corner}[primvar.GetInterpolation()]
            return primvar.ComputeFlattened()[element]

        first = 0
        for face, count in enumerate(mesh.GetFaceVertexCountsAttr().Get()):
            corners = []
            for corner in range(first, first + count):
                x, y, z = matrix.Transform(Gf.Vec3d(*points[flat[corner]]))
                color = (*value("displayColor", (1, 1, 1), face, corner), value("displayOpacity", 1, face, corner))
                corners.append(((y, z, x), value("st", (0, 0), face, corner), color))
            subsets = UsdGeom.Subset.GetGeomSubsets(mesh, "face", "materialBind")
            taken = [subset.GetPrim() for subset in subsets if face in subset.GetIndicesAttr().Get()]
            material, _ = UsdShade.MaterialBindingAPI((taken or [prim])[0]).ComputeBoundMaterial()
            yield corners, material
            first += count


def _area(triangle):
    a, b, c = (np.array(corner["point"]) for corner in triangle)
    return np.linalg.norm(np.cross(b - a, c - a)) / 2


def _polygon_area(points):
    points = np.array(points)
    return np.linalg.norm(sum(np.cross(a, b) for a, b in zip(points - points[0], np.roll(points - points[0], -1, axis=0)))) / 2


def _of_face(corners, drawn):
    """Returns the drawn triangles of a face: those with its corners."""
    points = np.array([point for point, _, _ in corners])
    near = lambda corner: np.abs(points - corner["point"]).max(axis=1).min() < 1e-6
    return [(surface, triangle) for surface in drawn for triangle in surface["triangles"] if all(map(near, triangle))]


def test_faces_of_usd_are_drawn_in_their_colours_whatever_their_form(three, tmp_path):
    glb, _, _ = converted(ASSETS / "surfaces.usda", tmp_path)
    drawn = three("surfaces", glb)
    stage = Usd.Stage.Open(str(ASSETS / "surfaces.usda"))
    faces = list(_corners(stage))
    assert sum(len(surface["triangles"]) for surface in drawn) == sum(len(corners) - 2 for corners, _ in faces)
    for corners, material in faces:
        found = _of_face(corners, drawn)
        assert math.isclose(sum(_area(triangle) for _, triangle in found), _polygon_area([point for point, _, _ in corners]))
        for surface, triangle in found:
            # All faces point up: z in USD, y in glTF.
            first, second, third = (np.array(corner["point"]) for corner in triangle)
            assert np.cross(second - first, third - first)[1] > 0
            look = surface["look"]
            for corner in triangle:
                wanted = next(color for point, _, color in corners if np.allclose(point, corner["point"], atol=1e-6))
                if material:
                    wanted = (*UsdShade.Shader(material.GetPrim().GetChild("surface")).GetInput("diffuseColor").Get(), 1)
                own = corner["color"] or [1, 1, 1, 1]
                shown = [*(np.array(look["color"]) * own[:3]), look["opacity"] * own[3]]
                assert np.allclose(shown, wanted, atol=1e-4), (corner, wanted)
                # A mesh is as translucent as its most translucent face.
                assert look["transparent"] or wanted[3] == 1


WRAPS = {"repeat": 10497, "clamp": 33071, "mirror": 33648}
THREE_WRAPS = {10497: 1000, 33071: 1001, 33648: 1002}


def test_texture_coordinates_in_three_js_are_those_of_usd(three, tmp_path):
    glb, entry, report = converted(ASSETS / "materials.usda", tmp_path / "there")
    again, _, _ = converted(glb, tmp_path / "back")
    assert report["diagnostics"] == []
    for source in (ASSETS / "materials.usda", entry):
        for file in (glb, again):
            drawn, stage, count = three("surfaces", file), _opened(source), 0
            for corners, material in _corners(stage):
                image = material.GetPrim().GetChild("image") or material.GetPrim().GetChild("Texture")
                if not image:
                    continue
                count += 1
                image = UsdShade.Shader(image)
                wraps = [THREE_WRAPS[WRAPS[image.GetInput(name).Get()]] for name in ("wrapS", "wrapT")]
                transform = UsdShade.Shader(image.GetInput("st").GetConnectedSource()[0].GetPrim())
                for surface, triangle in _of_face(corners, drawn):
                    assert surface["look"]["map"]["wrap"] == wraps
                    for corner in triangle:
                        st = np.array(next(st for point, st, _ in corners if np.allclose(point, corner["point"], atol=1e-6)))
                        if transform.GetIdAttr().Get() == "UsdTransform2d":
                            turn = math.radians(transform.GetInput("rotation").Get())
                            s, t = st * transform.GetInput("scale").Get()
                            st = np.array([s * math.cos(turn) - t * math.sin(turn), s * math.sin(turn) + t * math.cos(turn)])
                            st = st + transform.GetInput("translation").Get()
                        assert np.allclose(corner["uv"], [st[0], 1 - st[1]], atol=1e-5), (material.GetPath(), corner, st)
            # The corners of five quads, or of two triangles.
            assert count in (5, 10)


def _opened(source):
    """Opens a stage without instancing, like a written asset."""
    stage = Usd.Stage.Open(str(source))
    for prim in stage.Traverse():
        prim.SetInstanceable(False)
    return stage


def test_surfaces_of_usd_are_those_of_three_js(three, tmp_path):
    glb, _, report = converted(ASSETS / "materials.usda", tmp_path / "there")
    again, _, _ = converted(glb, tmp_path / "back")
    for file in (glb, again):
        looks = {surface["look"]["name"]: surface["look"] for surface in three("surfaces", file)}
        assert looks.keys() == {"tiled", "scaled", "turned", "leaf", "haze", "lacquer", "plastic"}
        assert (looks["leaf"]["alphaTest"], looks["leaf"]["transparent"]) == (0.25, False)
        assert (looks["haze"]["alphaTest"], looks["haze"]["transparent"]) == (0, True)
        lacquer = looks["lacquer"]
        names = ("clearcoat", "clearcoatRoughness", "ior", "metalness", "roughness")
        assert [lacquer[name] for name in names] == [0.75, 0.25, 1.25, 0.5, 0.125]
        # The reflection at normal incidence: the specular colour of UsdPreviewSurface.
        plastic = looks["plastic"]
        of_ior = ((plastic["ior"] - 1) / (plastic["ior"] + 1)) ** 2
        mirrored = np.array(plastic["specularColor"]) * plastic["specularIntensity"] * of_ior
        assert np.allclose(mirrored, [0.25, 0.5, 1], atol=1e-6) and plastic["metalness"] == 0


def test_variants_of_materials_are_looks_in_three_js(three, tmp_path):
    glb, _, report = converted(ASSETS / "looks.usda", tmp_path / "there")
    baked = [finding for finding in report["diagnostics"] if finding["code"] == "usd-read-variant-baked"]
    assert len(baked) == 1 and '"load"' in baked[0]["message"] and "--variant load=full" in baked[0]["help"]
    again, _, _ = converted(glb, tmp_path / "back")
    stage = Usd.Stage.Open(str(ASSETS / "looks.usda"))
    for file in (glb, again):
        geometries = None
        for variant in ("plain", "night", "wooden"):
            stage.GetDefaultPrim().GetVariantSets().SetSelection("paint", variant)
            drawn = three("surfaces", file, variant)
            # The meshes are the same, only their materials differ.
            assert geometries in (None, len(drawn))
            geometries = len(drawn)
            for corners, material in _corners(stage):
                ((look, _), *_) = [(surface["look"], triangle) for surface, triangle in _of_face(corners, drawn)]
                assert look["name"] == material.GetPrim().GetName()
                shader = UsdShade.Shader(material.GetPrim().GetChild("surface"))
                color, rough = shader.GetInput("diffuseColor"), shader.GetInput("roughness")
                if color.HasConnectedSource():
                    assert look["map"]
                else:
                    assert np.allclose(look["color"], color.Get()) and not look["map"]
                assert math.isclose(look["roughness"], rough.Get() if rough else 0.5)
        by_itself = {surface["look"]["name"] for surface in three("surfaces", file)}
        assert by_itself == {"red", "green"}


def test_looks_start_from_the_selected_variants(three, tmp_path):
    done = run("convert", ASSETS / "looks.usda", "-o", tmp_path, "--formats", "glb", "--variant", "paint=wooden", "--variant", "load=full")
    assert done.returncode == 0, done.stderr
    (glb,) = Path(tmp_path).glob("*/*.glb")
    assert {surface["look"]["name"] for surface in three("surfaces", glb)} == {"wood", "green", "red"}
    assert {surface["look"]["name"] for surface in three("surfaces", glb, "plain")} == {"red", "green"}


def test_cameras_of_usd_see_in_three_js_what_they_see_in_usd(three, tmp_path):
    glb, entry, _ = converted(ASSETS / "cameras.usda", tmp_path / "there")
    again, back, _ = converted(glb, tmp_path / "back")
    for source in (ASSETS / "cameras.usda", entry, back):
        stage, cache = Usd.Stage.Open(str(source)), UsdGeom.XformCache()
        (body,) = [prim for prim in stage.Traverse() if "PhysicsRigidBodyAPI" in prim.GetAppliedSchemas()]
        expected = {}
        for prim in (prim for prim in stage.Traverse() if prim.IsA(UsdGeom.Camera)):
            camera = UsdGeom.Camera(prim).GetCamera(Usd.TimeCode.Default())
            inside = cache.GetLocalToWorldTransform(prim) * cache.GetLocalToWorldTransform(body).GetInverse()
            expected[str(camera.projection).rsplit(".", 1)[-1]] = (camera, np.array(inside).T)
        assert expected.keys() == {"Perspective", "Orthographic"}
        for file in (glb, again):
            seen = {camera["type"].removesuffix("Camera"): camera for camera in three("cameras", file)}
            assert seen.keys() == expected.keys()
            for name, (camera, matrix) in expected.items():
                found, inside = seen[name], np.array(seen[name]["inLink"]).reshape(4, 4).T
                assert np.allclose([found["near"], found["far"]], [camera.clippingRange.min, camera.clippingRange.max], rtol=1e-6)
                # Columns: where its x, y and z are, and where it is, in the link: glTF's x, y, z are y, z, x of ROS axes.
                assert np.allclose(inside[:3], np.roll(matrix[:3], -1, axis=0), atol=1e-6)
                # Within the rounding to whole pixels.
                if name == "Perspective":
                    view = camera.GetFieldOfView(Gf.Camera.FOVVertical)
                    assert math.isclose(found["fov"], view, rel_tol=3e-3) and math.isclose(found["aspect"], camera.aspectRatio, rel_tol=3e-3)
                else:
                    # Apertures are tenths of the stage's unit.
                    assert np.allclose(found["size"], [camera.horizontalAperture / 10, camera.verticalAperture / 10], rtol=3e-3)


@pytest.mark.parametrize("name", ["surfaces", "materials", "looks", "cameras"])
def test_converted_usd_is_valid_gltf(name, tmp_path):
    glb, _, _ = converted(ASSETS / f"{name}.usda", tmp_path)
    issues, _ = worker(NODE, "gltf").ask("validate_gltf", glb)
    # Informative: the validator does not know EXT_robot_kinematics.
    assert [issue for issue in issues[str(glb)] if issue["code"] not in ("UNSUPPORTED_EXTENSION",)] == []


def test_instances_of_usd_are_one_mesh_in_three_js_where_usd_has_them(three, tmp_path):
    source = USD_ASSETS / "instances.usda"
    glb, _, _ = converted(source, tmp_path)
    drawn = [mesh for mesh in three("boxes", glb) if not mesh["collides"]]
    _same_boxes([box for mesh in drawn for box in mesh["boxes"]], _boxes(source, "base"))
    assert len({surface["geometry"] for surface in three("surfaces", glb)}) < len(drawn)
