"""`urdf_usd fix` on assets that this project did not write: kinematics, masses and shapes do not change, as read by OpenUSD.

The hand-written stages under `assets/` each use different ways to author the same things. The tests compute their meaning from the
source and the result with OpenUSD alone.
"""

import itertools
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from conftest import run
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

ASSETS = Path(__file__).with_name("assets")
HAND_MADE = sorted(path.name for path in ASSETS.glob("*.usda"))


def fixed(asset, output, *options, code=(0, 1)):
    """Runs `fix`, and returns the entry and the report."""
    done = run("fix", asset, "-o", output, "--json", *options)
    assert done.returncode in code, done.stderr
    report = json.loads(done.stdout)
    (folder,) = [folder for folder in Path(output).iterdir() if (folder / "report.json").is_file()]
    return folder / f"{folder.name}.usda", report


class Meaning:
    """The meaning of an asset, in metres, kilograms and with z up."""

    def __init__(self, path, choices=()):
        self.stage = Usd.Stage.Open(str(path))
        for set_name, variant in choices:
            for path in [prim.GetPath() for prim in self.stage.TraverseAll() if prim.GetVariantSets().HasVariantSet(set_name)]:
                self.stage.GetPrimAtPath(path).GetVariantSet(set_name).SetVariantSelection(variant)
        meters = UsdGeom.GetStageMetersPerUnit(self.stage)
        self.kilograms = UsdPhysics.GetStageKilogramsPerUnit(self.stage)
        self.meters = meters
        self.world = np.eye(4)
        if UsdGeom.GetStageUpAxis(self.stage) == "Y":
            self.world[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
        self.world[:3, :3] *= meters
        self.cache = UsdGeom.XformCache(Usd.TimeCode.EarliestTime())
        self.prims = list(Usd.PrimRange(self.stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))

    def place(self, prim):
        """Returns the transform from a prim to the world in metres."""
        return self.world @ np.array(self.cache.GetLocalToWorldTransform(prim)).T

    def bodies(self):
        """Returns the frame of each body, in metres."""
        return {str(p.GetPath()): self.place(p)[:3, 3] for p in self.prims if p.HasAPI(UsdPhysics.RigidBodyAPI)}

    def masses(self):
        """Returns mass, inertia tensor in the world about the centre of mass, and centre of mass, for each body with them."""
        found = {}
        for prim in self.prims:
            api = UsdPhysics.MassAPI(prim) if prim.HasAPI(UsdPhysics.RigidBodyAPI) else None
            if not api or not api.GetMassAttr().HasAuthoredValue():
                continue
            place = self.place(prim)
            centre = np.array(api.GetCenterOfMassAttr().Get() or (0, 0, 0), float)
            centre = np.zeros(3) if not np.isfinite(centre).all() else centre
            turn = place[:3, :3] / np.linalg.norm(place[:3, :3], axis=0)
            axes = api.GetPrincipalAxesAttr().Get() or Gf.Quatf(1)
            axes = axes if axes.GetLength() > 0 else Gf.Quatf(1)
            axes = turn @ rotation(axes)
            moments = np.array(api.GetDiagonalInertiaAttr().Get() or (0, 0, 0), float) * self.kilograms * self.meters**2
            mass = api.GetMassAttr().Get() * self.kilograms
            inertia = axes @ np.diag(moments) @ axes.T if api.GetDiagonalInertiaAttr().HasAuthoredValue() else None
            found[str(prim.GetPath())] = (mass, place[:3, :3] @ centre + place[:3, 3], inertia)
        return found

    def joints(self):
        """Returns both frames of each joint in the world, and its limits in metres and radians."""
        found = {}
        for prim in self.prims:
            joint = UsdPhysics.Joint(prim)
            if not joint:
                continue
            frames = []
            ends = (
                (joint.GetBody0Rel(), joint.GetLocalPos0Attr(), joint.GetLocalRot0Attr()),
                (joint.GetBody1Rel(), joint.GetLocalPos1Attr(), joint.GetLocalRot1Attr()),
            )
            for body, position, turn in ends:
                targets = body.GetTargets()
                place = self.place(self.stage.GetPrimAtPath(targets[0])) if targets else self.world
                local = np.eye(4)
                local[:3, :3] = rotation(turn.Get() or Gf.Quatf(1))
                local[:3, 3] = position.Get() or (0, 0, 0)
                frame = place @ local
                frame[:3, :3] /= np.linalg.norm(frame[:3, :3], axis=0)
                frames.append(frame)
            unit = self.meters if prim.IsA(UsdPhysics.PrismaticJoint) else np.pi / 180
            limits = [prim.GetAttribute(f"physics:{side}Limit").Get() for side in ("lower", "upper")]
            none = (-np.inf, np.inf)
            limits = [none[i] if limit is None else limit * unit for i, limit in enumerate(limits)]
            found[str(prim.GetPath())] = (*frames, limits)
        return found

    def forms(self):
        """Returns the points of each shape in the world, in metres, by path."""
        found = {}
        for prim in self.prims:
            if prim.IsA(UsdGeom.Gprim):
                place = self.place(prim)
                found[str(prim.GetPath())] = self.points(prim) @ place[:3, :3].T + place[:3, 3]
        return found

    def copies(self):
        """Returns the points of all instances of each point instancer in the world, in metres, as placed by OpenUSD."""
        found = {}
        for prim in self.prims:
            if not prim.IsA(UsdGeom.PointInstancer):
                continue
            instancer, time, all_points = UsdGeom.PointInstancer(prim), Usd.TimeCode.Default(), []
            placed = instancer.ComputeInstanceTransformsAtTime(time, time, UsdGeom.PointInstancer.IncludeProtoXform)
            for matrix, index in zip(placed, instancer.GetProtoIndicesAttr().Get()):
                prototype = self.stage.GetPrimAtPath(instancer.GetPrototypesRel().GetTargets()[index])
                for part in Usd.PrimRange(prototype):
                    if part.IsA(UsdGeom.Gprim):
                        points = self.points(part)
                        place = self.place(prim) @ np.array(matrix).T @ np.array(self.cache.ComputeRelativeTransform(part, prototype)[0]).T
                        all_points.append(points @ place[:3, :3].T + place[:3, 3])
            found[str(prim.GetPath())] = np.vstack(all_points)
        return found

    def looks(self):
        """Returns name and colour of the material of each shape and each subset of its faces."""
        found = {}
        for prim in self.prims:
            if prim.IsA(UsdGeom.Gprim) or prim.IsA(UsdGeom.Subset):
                material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
                surface = material.ComputeSurfaceSource()[0] if material else None
                color = surface.GetInput("diffuseColor").Get() if surface else None
                shown = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance("displayColor")
                shown = shown.Get() if shown else None
                found[str(prim.GetPath())] = (material.GetPrim().GetName() if material else None, color, shown)
        return found

    def points(self, prim):
        """Returns the points of a shape in its own coordinates; for a primitive, the corners of its bounding box."""
        if prim.IsA(UsdGeom.PointBased):
            return np.array(UsdGeom.PointBased(prim).GetPointsAttr().Get() or np.zeros((0, 3)), float)
        low, high = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), Usd.TimeCode.Default())
        return np.array(list(itertools.product(*zip(low, high))))

    def volumes(self):
        """Returns the signed volume of each mesh, whose sign is that of the winding."""
        found = {}
        forms = self.forms()
        for prim in self.prims:
            if prim.IsA(UsdGeom.Mesh):
                mesh, points = UsdGeom.Mesh(prim), forms[str(prim.GetPath())]
                counts = np.array(mesh.GetFaceVertexCountsAttr().Get() or [], int)
                indices = np.array(mesh.GetFaceVertexIndicesAttr().Get() or [], int)
                # Each face is a fan from its first corner.
                first = np.repeat(np.cumsum(counts) - counts, np.maximum(counts - 2, 0))
                step = np.concatenate([np.arange(1, count - 1) for count in counts]) if len(counts) else np.array([], int)
                a, b, c = (points[indices[at]] for at in (first, first + step, first + step + 1))
                volume = float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6) if len(first) else 0.0
                # A mirroring transform inverts the volume, but not the visible side: OpenUSD reverses the winding with it.
                mirrored = np.linalg.det(self.place(prim)[:3, :3]) < 0
                left = mesh.GetOrientationAttr().Get() == "leftHanded"
                found[str(prim.GetPath())] = -volume if mirrored != left else volume
        return found


def rotation(quaternion):
    quaternion = Gf.Quatd(quaternion.GetReal(), *quaternion.GetImaginary()).GetNormalized()
    return np.array(Gf.Matrix3d(Gf.Rotation(quaternion))).T


def now(found, path):
    """Finds the value of a shape, or of a part of it: a repeated mesh has moved below its former path."""
    above, _, name = path.rpartition("/")
    return next(found[p] for p in (path, f"{path}/geometry", f"{above}/geometry/{name}") if p in found)


def schemas(prim):
    """Returns the applied schemas, also those that this OpenUSD does not know."""
    return list(prim.GetPrimTypeInfo().GetAppliedAPISchemas())


def assert_same_meaning(before, after):
    """Asserts that bodies, masses, joints and shapes have not changed."""
    assert after.meters == 1 and after.kilograms == 1 and UsdGeom.GetStageUpAxis(after.stage) == "Z"
    assert before.bodies().keys() == after.bodies().keys()
    bodies = after.bodies()
    for path, place in before.bodies().items():
        assert np.allclose(place, bodies[path], atol=1e-6), path
    masses = after.masses()
    for path, (mass, centre, inertia) in before.masses().items():
        assert masses[path][0] == pytest.approx(mass, rel=1e-6), path
        assert np.allclose(centre, masses[path][1], atol=1e-6), path
        if inertia is None:
            continue
        low, middle, high = np.linalg.eigvalsh(inertia)
        if low <= 0 or high > (low + middle) * (1 - 1e-6):
            # Physically impossible, and repaired: the axes and the largest moment stay (test_fix_values.py).
            low, middle, raised = np.linalg.eigvalsh(masses[path][2])
            assert 0 < low and raised < low + middle and raised == pytest.approx(high, rel=1e-5), path
        else:
            assert np.allclose(inertia, masses[path][2], rtol=1e-5, atol=1e-6 * np.abs(inertia).max()), path
    joints = after.joints()
    assert before.joints().keys() == joints.keys()
    for path, (frame0, frame1, limits) in before.joints().items():
        assert np.allclose(frame0, joints[path][0], atol=1e-6), path
        assert np.allclose(frame1, joints[path][1], atol=1e-6), path
        assert np.allclose(limits, joints[path][2], rtol=1e-6), path
    forms = after.forms()
    for path, points in before.forms().items():
        hull = "convexHull" in (before.stage.GetPrimAtPath(path).GetAttribute("physics:approximation").Get() or "")
        if not hull and len(points):
            assert np.allclose(points, now(forms, path), atol=1e-6), path
        elif len(points):
            # A hull has few corners, and leaves points outside by 1 % of the diagonal at most.
            most = 0.01 * np.linalg.norm(points.max(0) - points.min(0))
            assert np.allclose([points.min(0), points.max(0)], [now(forms, path).min(0), now(forms, path).max(0)], atol=most), path
    volumes = after.volumes()
    for path, volume in before.volumes().items():
        if "convexHull" not in (before.stage.GetPrimAtPath(path).GetAttribute("physics:approximation").Get() or ""):
            assert now(volumes, path) == pytest.approx(volume, rel=1e-4, abs=1e-12), path
    copies = after.copies()
    assert before.copies().keys() == copies.keys()
    for path, points in before.copies().items():
        assert np.allclose(points, copies[path], atol=1e-6), path
    looks = after.looks()
    for path, look in before.looks().items():
        if "MaterialBindingAPI" in schemas(before.stage.GetPrimAtPath(path)) or look[0]:
            assert now(looks, path) == look, path


def assert_plain_transforms(stage):
    """Asserts that transforms consist of a translation and a rotation, that only shapes have a scale, and root prims no rotation."""
    for prim in stage.TraverseAll():
        ops = [op.GetOpName() for op in UsdGeom.Xformable(prim).GetOrderedXformOps()] if prim.IsA(UsdGeom.Xformable) else []
        if prim.IsA(UsdGeom.Gprim):
            assert ops in ([], ["xformOp:translate", "xformOp:orient"], ["xformOp:translate", "xformOp:orient", "xformOp:scale"]), prim
        else:
            assert ops in ([], ["xformOp:translate", "xformOp:orient"]), (prim, ops)
    root = stage.GetDefaultPrim()
    turn = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(root))[:3, :3]
    assert np.allclose(turn, np.eye(3), atol=1e-9)


@pytest.mark.parametrize("name", HAND_MADE)
def test_nothing_moves(name, tmp_path):
    entry, _ = fixed(ASSETS / name, tmp_path)
    before, after = Meaning(ASSETS / name), Meaning(entry)
    assert before.bodies() or before.forms()
    assert_same_meaning(before, after)
    assert_plain_transforms(after.stage)


@pytest.mark.parametrize("name", HAND_MADE)
def test_fix_is_idempotent(name, tmp_path):
    once, _ = fixed(ASSETS / name, tmp_path / "once")
    twice, _ = fixed(once, tmp_path / "twice")
    for file in once.parent.rglob("*"):
        if file.is_file() and file.name != "report.json":
            assert file.read_bytes() == (twice.parent / file.relative_to(once.parent)).read_bytes(), file.name
    assert {f.relative_to(once.parent) for f in once.parent.rglob("*")} == {f.relative_to(twice.parent) for f in twice.parent.rglob("*")}


#: Without the files of the textures, which test_textures_are_collected_and_8_bit creates.
@pytest.mark.parametrize("name", [name for name in HAND_MADE if name != "textures.usda"])
def test_no_mandatory_rule_is_broken(name, tmp_path):
    entry, report = fixed(ASSETS / name, tmp_path)
    found = [d for d in report["diagnostics"] if d["severity"] == "error"]
    assert not found, found
    done = run("check", entry, "--all-variants", "--format", "json")
    assert json.loads(done.stdout)["counts"]["error"] == 0


def test_variants_are_kept(tmp_path):
    source = ASSETS / "variants.usda"
    entry, _ = fixed(source, tmp_path)
    before, after = Usd.Stage.Open(str(source)), Usd.Stage.Open(str(entry))
    sets = {(str(p.GetPath()), s): p.GetVariantSet(s) for p in before.TraverseAll() for s in p.GetVariantSets().GetNames()}
    assert sets
    for (path, name), variants in sets.items():
        now = after.GetPrimAtPath(path).GetVariantSet(name)
        assert now.GetVariantNames() == variants.GetVariantNames() and now.GetVariantSelection() == variants.GetVariantSelection()
        for variant in variants.GetVariantNames():
            assert_same_meaning(Meaning(source, [(name, variant)]), Meaning(entry, [(name, variant)]))


def test_instances_stay_instances(tmp_path):
    entry, _ = fixed(ASSETS / "instances.usda", tmp_path)
    stage = Usd.Stage.Open(str(entry))
    left, right = stage.GetPrimAtPath("/robot/base/left"), stage.GetPrimAtPath("/robot/base/right")
    assert left.IsInstance() and right.IsInstance() and stage.GetPrimAtPath("/robot/base/left/tyre").IsInstanceProxy()
    # Of one wheel: the points of the other now have twice the size.
    assert left.GetPrototype() != right.GetPrototype()


def test_repeated_meshes_are_instanced(tmp_path):
    entry, report = fixed(ASSETS / "recurring.usda", tmp_path)
    stage = Usd.Stage.Open(str(entry))
    for names in (["base/bolt_0", "base/bolt_1", "base/bolt_2"], ["halves_0", "halves_1"]):
        prims = [stage.GetPrimAtPath(f"/robot/{name}") for name in names]
        assert all(prim.IsInstance() and prim.GetTypeName() == "Xform" for prim in prims)
        assert len({str(prim.GetPrototype().GetPath()) for prim in prims}) == 1
    for name in ("base/other_size", "base/bolt_2_collision", "strong/plate"):
        prim = stage.GetPrimAtPath(f"/robot/{name}")
        assert prim.GetTypeName() == "Mesh" and not prim.IsInstance()
    library = Sdf.Layer.FindOrOpen(str(entry.with_name("instances.usda")))
    assert sorted(prim.name for prim in library.GetPrimAtPath("/Instances").nameChildren) == ["bolt_0", "halves_0"]
    strong = stage.GetPrimAtPath("/robot/strong")
    assert strong.GetRelationship("material:binding").GetMetadata("bindMaterialAs") == "strongerThanDescendants"
    assert strong.GetRelationship("belongsTo").IsCustom()
    assert not [d for d in report["diagnostics"] if d["code"] == "REP158-3.5.1"]


def test_point_instancers_stay(tmp_path):
    entry, _ = fixed(ASSETS / "point_instancer.usda", tmp_path)
    before, after = Meaning(ASSETS / "point_instancer.usda"), Meaning(entry)
    leds = after.stage.GetPrimAtPath("/robot/base/panel/leds")
    assert leds.GetTypeName() == "PointInstancer" and len(before.copies()["/robot/base/panel/leds"]) == 2 * 4 + 8
    # All instances are in the authored extent.
    low, high = leds.GetAttribute("extent").Get()
    local = np.linalg.inv(after.place(leds))
    points = after.copies()["/robot/base/panel/leds"] @ local[:3, :3].T + local[:3, 3]
    assert (points >= np.array(low) - 1e-6).all() and (points <= np.array(high) + 1e-6).all()


def test_masses_are_computed_from_colliders(tmp_path):
    entry, report = fixed(ASSETS / "massless.usda", tmp_path)
    before, masses = Meaning(ASSETS / "massless.usda"), Meaning(entry).masses()
    # Computed by hand: a box with the density of water, a ball of 2 g/cm³, a tube of steel.
    box, ball, tube = 8.0, 2000 * 4 / 3 * np.pi * 0.05**3, 7800 * np.pi * 0.02**2 * 0.1
    moments = {
        "base": (box, box / 12 * np.array([0.2**2 + 0.4**2, 0.1**2 + 0.4**2, 0.1**2 + 0.2**2]), (0, 5, 0)),
        "arm": (ball, 0.4 * ball * 0.05**2 * np.ones(3), (10, 0, 0)),
        "hand": (tube, tube * np.array([(3 * 0.02**2 + 0.1**2) / 12, 0.02**2 / 2, (3 * 0.02**2 + 0.1**2) / 12]), (0, 0, 0)),
    }
    for name, (mass, diagonal, centre) in moments.items():
        place = before.place(before.stage.GetPrimAtPath(f"/robot/{name}"))
        turn = place[:3, :3] / before.meters
        is_mass, is_centre, is_inertia = masses[f"/robot/{name}"]
        assert is_mass == pytest.approx(mass, rel=1e-5), name
        assert np.allclose(is_centre, place[:3, :3] @ centre + place[:3, 3], atol=1e-6), name
        assert np.allclose(is_inertia, turn @ np.diag(diagonal) @ turn.T, rtol=1e-4, atol=1e-6 * diagonal.max()), name
    notes = [d["message"] for d in report["diagnostics"] if "inertia of the body from its colliders" in d["message"]]
    assert sorted("1000 kg/m³" in note for note in notes) == [False, True], notes


def test_vendors_have_separate_layers(tmp_path):
    entry, _ = fixed(ASSETS / "vendors.usda", tmp_path)
    stage = Usd.Stage.Open(str(entry))
    vendors = ("physx", "Physx", "newton", "Newton", "isaac", "Isaac", "mjc", "Mjc", "omni")
    for prim in stage.TraverseAll():
        assert not [s for s in schemas(prim) if s.startswith(vendors)], prim
        assert not [n for n in prim.GetPropertyNames() if n.startswith(vendors)], prim
    joint = stage.GetPrimAtPath("/robot/follower")
    assert "ExtendedPhysicsMimicAPI" in schemas(joint)
    assert joint.GetAttribute("ext_physics:mimic:multiplier").Get() == -2 and joint.GetAttribute("ext_physics:mimic:offset").Get() == 10
    assert joint.GetRelationship("ext_physics:mimic:joint").GetTargets() == [Sdf.Path("/robot/leader")]
    overlay = Usd.Stage.Open(str(entry.with_name("robot.newton.usda")))
    assert overlay.GetPrimAtPath("/robot/follower").GetAttribute("newton:mimicCoef1").Get() == -2
    body = stage.GetPrimAtPath("/robot/b")
    assert np.allclose(sorted(body.GetAttribute("physics:diagonalInertia").Get()), [1, 2, 3], atol=1e-5)


def test_textures_are_collected_and_8_bit(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    Image.fromarray(np.full((4, 4), 40000, np.uint16)).save(source / "deep.png")
    Image.new("RGB", (4, 4), (10, 20, 30)).save(source / "far.bmp")
    shutil.copy(ASSETS / "textures.usda", source / "textures.usda")
    text = (source / "textures.usda").read_text().replace("FAR", str(source / "far.bmp"))
    (source / "textures.usda").write_text(text)
    entry, _ = fixed(source / "textures.usda", tmp_path / "out")
    stage = Usd.Stage.Open(str(entry))
    shaders = [UsdShade.Shader(p) for p in stage.TraverseAll() if p.GetTypeName() == "Shader"]
    files = [s.GetInput("file").Get() for s in shaders if s.GetInput("file")]
    assert len(files) == 2
    for file in files:
        assert file.path.startswith("./textures/") and Path(file.resolvedPath).is_file(), file
        picture = Image.open(file.resolvedPath)
        assert picture.format == "PNG" and picture.mode in ("L", "RGB")
    assert Image.open(files[1].resolvedPath).getpixel((0, 0)) in (156, (10, 20, 30))


def test_sources_are_not_overwritten(tmp_path):
    folder = tmp_path / "robot"
    folder.mkdir()
    shutil.copy(ASSETS / "euler.usda", folder / "robot.usda")
    before = (folder / "robot.usda").read_bytes()
    done = run("fix", folder / "robot.usda", "-o", tmp_path)
    assert done.returncode == 1 and "sources are never overwritten" in done.stderr
    assert (folder / "robot.usda").read_bytes() == before and len(list(folder.iterdir())) == 1
    other = tmp_path / "out" / "robot"
    other.mkdir(parents=True)
    (other / "notes.txt").write_text("mine")
    done = run("fix", folder / "robot.usda", "-o", tmp_path / "out")
    assert done.returncode == 1 and "choose another directory" in done.stderr and list(other.iterdir()) == [other / "notes.txt"]


@pytest.mark.parametrize("name,words", [("none.usda", "does not exist"), ("empty.usda", "has no root prim"), ("robot.urdf", "not an OpenUSD file")])
def test_other_files_are_rejected(name, words, tmp_path):
    if name != "none.usda":
        (tmp_path / name).write_text("#usda 1.0\n" if name == "empty.usda" else "<robot/>")
    done = run("fix", tmp_path / name, "-o", tmp_path / "out")
    assert done.returncode == 1 and not (tmp_path / "out").exists() and words in done.stderr, done.stderr
