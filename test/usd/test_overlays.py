"""Overlays: the requested ones are written beside the asset, open, and change only their subject."""

import json

import pytest
from conftest import SAMPLES, convert, run, source
from pxr import Sdf, Usd, UsdPhysics

ARM = SAMPLES / "sample_arm"
URDF = ARM / "urdf" / "sample_arm.urdf"
OVERLAYS = ("isaac", "mujoco", "newton", "openpbr", "physx")


@pytest.fixture(scope="module")
def overlaid(conversions, tmp_path_factory):
    """Converts robots without overlays and with all of them, each once."""
    made = {}

    def by_name(name):
        if name not in made:
            directory = tmp_path_factory.mktemp("overlays")
            made[name] = conversions(name), convert(source(name), directory, "--overlays", ",".join(OVERLAYS))
        return made[name]

    return by_name


def entry(asset, overlay):
    return asset.directory / f"{asset.asset_name}.{overlay}.usda"


def everything(stage):
    """Returns the opinions of every composed prim by path: schemas and properties with their values and targets."""
    out = {}
    for prim in Usd.PrimRange.Stage(stage, Usd.PrimAllPrimsPredicate):
        listed = prim.GetMetadata("apiSchemas")
        said = out[str(prim.GetPath())] = {f"schema {s}": True for s in (listed.GetAppliedItems() if listed else [])}
        said["type"] = prim.GetTypeName()
        for attribute in prim.GetAuthoredAttributes():
            said[attribute.GetName()] = str((str(attribute.GetTypeName()), attribute.Get(), attribute.GetConnections()))
        for relationship in prim.GetAuthoredRelationships():
            said[relationship.GetName()] = [str(t) for t in relationship.GetTargets()]
    return out


def test_the_asset_itself_does_not_change(converted, overlaid):
    plain, with_overlays = overlaid(converted.name)
    files = lambda asset: {f["path"]: f["sha256"] for f in asset.report["files"]}
    added = {path for overlay in OVERLAYS for path in (f"{overlay}.usda", f"{plain.asset_name}.{overlay}.usda")}
    assert files(plain).items() <= files(with_overlays).items()
    assert files(with_overlays).keys() - files(plain).keys() == added


def test_entries(converted, overlaid):
    _, asset = overlaid(converted.name)
    for overlay in OVERLAYS:
        layer = Sdf.Layer.FindOrOpen(str(entry(asset, overlay)))
        # Isaac Sim's engine is PhysX.
        engine = ["./physx.usda"] if overlay == "isaac" else []
        assert list(layer.subLayerPaths) == [f"./{overlay}.usda", *engine, f"./{asset.asset_name}.usda"]
        plain = Sdf.Layer.FindOrOpen(str(asset.entry))
        for name in ("metersPerUnit", "kilogramsPerUnit", "upAxis", "timeCodesPerSecond", "defaultPrim"):
            assert layer.pseudoRoot.GetInfo(name) == plain.pseudoRoot.GetInfo(name), (overlay, name)
        stage = Usd.Stage.Open(layer)
        assert stage.GetCompositionErrors() == []
        assert stage.GetDefaultPrim() and stage.GetDefaultPrim().GetMetadata("kind") == "component"


def test_text_is_as_openusd_writes_it(converted, overlaid):
    _, asset = overlaid(converted.name)
    for path in [f for overlay in OVERLAYS for f in (entry(asset, overlay), asset.directory / f"{overlay}.usda")]:
        assert Sdf.Layer.FindOrOpen(str(path)).ExportToString() == path.read_text(), path.name


#: Drives that are assumed for engines, in core UsdPhysics.
DRIVES = ("drive:", "schema PhysicsDriveAPI", "urdf:drive:assumed")
PHYSX = ("physx", "state:", "schema Physx", "schema PhysicsJointStateAPI")


def kept(said):
    """Returns opinions that layers for engines keep: not targets of drives, which are the start, and approximations of hulls."""
    return {name: value for name, value in said.items() if not name.endswith((":physics:targetPosition", "physics:approximation"))}


@pytest.mark.parametrize(("overlay", "own"), [("newton", ("newton:", "schema Newton")), ("physx", PHYSX)])
def test_engines_add_only_their_properties_and_drives(converted, overlaid, overlay, own):
    _, asset = overlaid(converted.name)
    before, after = everything(Usd.Stage.Open(str(asset.entry))), everything(Usd.Stage.Open(str(entry(asset, overlay))))
    assert after.keys() == before.keys(), "an overlay must not add prims"
    for path, said in after.items():
        assert kept(before[path]).items() <= said.items(), path
        added = said.keys() - before[path].keys()
        assert all(name.startswith((*own, *DRIVES)) for name in added), (path, added)
        is_of_body = overlay == "physx" and added == {"schema PhysxRigidBodyAPI", "physxRigidBody:angularDamping"}
        is_hull = added == {"schema NewtonMeshCollisionAPI", "newton:maxHullVertices"} and "schema PhysicsMeshCollisionAPI" in said
        assert not added or is_of_body or is_hull or "Joint" in said["type"] or "schema PhysicsArticulationRootAPI" in said, path


def test_mujoco_changes_only_what_its_reader_takes_otherwise(converted, overlaid):
    _, asset = overlaid(converted.name)
    before, after = everything(Usd.Stage.Open(str(asset.entry))), everything(Usd.Stage.Open(str(entry(asset, "mujoco"))))
    own = ("mjc:", "newton:", "schema Mjc", "schema PhysicsArticulationRootAPI", "schema PhysicsFilteredPairsAPI")
    for path, said in after.items():
        if "/MuJoCo" in path:
            assert path not in before
            continue
        changed = {name for name in {**said, **before[path]} if said.get(name) != before[path].get(name)}
        images = ("inputs:diffuseColor", "inputs:metallic", "inputs:roughness")
        others = {name for name in changed if not name.startswith(own)}
        allowed = {"physics:lowerLimit", "physics:upperLimit"} if "MjcEqualityJointAPI" in str(said) else set()
        allowed |= {*images} if path.endswith("/PreviewSurface") else set()
        allowed |= {name for name in others if name.startswith("schema PhysicsDriveAPI")}
        assert others <= allowed, (path, changed)


def test_isaac_lists_every_link_site_and_joint(converted, overlaid):
    _, asset = overlaid(converted.name)
    stage = Usd.Stage.Open(str(entry(asset, "isaac")))
    before, after = everything(Usd.Stage.Open(str(asset.entry))), everything(stage)
    for path, said in after.items():
        assert kept(before.get(path, {})).items() <= said.items(), path
        added = said.keys() - before.get(path, {}).keys()
        own = ("isaac:", "schema Isaac", *PHYSX, *DRIVES)
        assert "/Named_Poses" in path or all(name.startswith(own) for name in added), (path, added)
    root, prims = stage.GetDefaultPrim(), list(stage.TraverseAll())
    assert "IsaacRobotAPI" in root.GetMetadata("apiSchemas").GetAppliedItems()
    applied = lambda prim: prim.GetMetadata("apiSchemas").GetAppliedItems() if prim.GetMetadata("apiSchemas") else []
    having = lambda schema: {str(prim.GetPath()) for prim in prims if schema in applied(prim)}
    bodies = {str(prim.GetPath()) for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    joints = {str(prim.GetPath()) for prim in prims if prim.IsA(UsdPhysics.Joint)}
    assert having("IsaacLinkAPI") == bodies and having("IsaacJointAPI") == joints
    # Only frames of the robot: sensors have further ones.
    sites = having("IsaacSiteAPI") - bodies
    assert sites <= having("RosFrameAPI")
    for name, expected in (("isaac:physics:robotLinks", bodies | sites), ("isaac:physics:robotJoints", joints)):
        relationship = root.GetRelationship(name)
        listed = [str(path) for path in relationship.GetTargets()]
        assert len(listed) == len(set(listed)) and set(listed) == expected, name
        for spec in relationship.GetPropertyStack():
            assert not spec.targetPathList.isExplicit and list(map(str, spec.targetPathList.prependedItems)) == listed
    order = [str(path) for path in root.GetRelationship("isaac:physics:robotLinks").GetTargets()]
    place = {path: number for number, path in enumerate(order)}
    of = lambda path: str(path.GetPrimPath())
    moved = {}
    for path in joints:
        joint = UsdPhysics.Joint(stage.GetPrimAtPath(path))
        ends = [[of(target) for target in relationship.GetTargets()] for relationship in (joint.GetBody0Rel(), joint.GetBody1Rel())]
        if all(ends) and not joint.GetExcludeFromArticulationAttr().Get():
            assert place[ends[0][0]] < place[ends[1][0]], path
            moved[path] = place[ends[1][0]]
    in_tree = [str(path) for path in root.GetRelationship("isaac:physics:robotJoints").GetTargets() if str(path) in moved]
    assert [moved[path] for path in in_tree] == sorted(moved.values()), "joints must be in the order of their child links"
    # A site follows its link and the link's other sites.
    for number, path in enumerate(order):
        if path in sites:
            link = next((above for above in above_of(path) if above in bodies), None)
            assert link is None or set(order[place[link] + 1 : number]) <= sites, path


def above_of(path):
    """Returns the ancestors of a path, the nearest first."""
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts) - 1, 1, -1)]


def test_openpbr_changes_materials_only(converted, overlaid):
    _, asset = overlaid(converted.name)
    before, after = everything(Usd.Stage.Open(str(asset.entry))), everything(Usd.Stage.Open(str(entry(asset, "openpbr"))))
    assert before.keys() <= after.keys()
    for path, said in before.items():
        assert said.items() <= after[path].items(), path
    for path in after:
        if after[path] != before.get(path):
            assert "/Materials/" in path or path.startswith("/OpenPbrInstances"), path


def test_the_report_lists_the_files(overlaid):
    _, asset = overlaid("sample_arm")
    for file in asset.report["files"]:
        assert (asset.directory / file["path"]).stat().st_size == file["bytes"]


def test_an_overlay_stays_until_the_asset_is_replaced(sample, tmp_path):
    first = convert(sample, tmp_path / "out", "--overlays", "newton")
    assert entry(first, "newton").exists()
    added = convert(sample, tmp_path / "out")
    assert added.report["revision"] == 1 and entry(added, "newton").exists()
    second = convert(sample, tmp_path / "out", "--replace")
    assert second.report["revision"] == 2
    assert not entry(second, "newton").exists() and not (second.directory / "newton.usda").exists()


@pytest.mark.parametrize("given", ["newton,openpbr", "openpbr,newton,newton", " openpbr , newton "])
def test_order_and_repetition_do_not_matter(given, sample, tmp_path, overlaid):
    asset = convert(sample, tmp_path / "out", "--overlays", given)
    files = lambda asset: {f["path"]: f["sha256"] for f in asset.report["files"] if not {"isaac", "mujoco", "physx"} & set(f["path"].split("."))}
    assert files(asset) == files(overlaid("sample_arm")[1])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--overlays", "isaac", "--robot-type", "Manipulater"], ["--robot-type", "Manipulater", "Manipulator"]),
        (["--overlays", "oak"], ["--overlays", "oak", "isaac", "newton", "openpbr"]),
        (["--overlays", ""], ["--overlays", "isaac", "newton", "openpbr"]),
        (["--overlays", "newton", "--formats", "glb"], ["--overlays", "--formats", "usd"]),
        (["--overlays", "newton", "--formats", "usdz"], ["--overlays", "--formats", "usd"]),
    ],
)
def test_wrong_options(options, words, tmp_path):
    done = run("convert", URDF, "-o", tmp_path / "out", "--package", f"sample_arm={ARM}", *options)
    assert done.returncode == 2 and not done.stdout
    assert all(word in done.stderr for word in words), done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["isaac", "newton", "base", "Physics", "report", "materials", "openpbr"])
def test_a_robot_may_have_the_name_of_a_layer(name, tmp_path):
    (tmp_path / "robot.urdf").write_text(
        f"<robot name='{name}'><link name='a'><visual><geometry><box size='1 2 3'/></geometry></visual></link></robot>"
    )
    done = run("convert", tmp_path / "robot.urdf", "-o", tmp_path, "--overlays", "newton,openpbr", "--json", "--simready")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["robot"] == name
    directory = tmp_path / f"{name}_robot"
    for ending in ("usda", "newton.usda", "openpbr.usda"):
        stage = Usd.Stage.Open(str(directory / f"{name}_robot.{ending}"))
        assert stage.GetCompositionErrors() == [] and len(list(stage.TraverseAll())) > 3
    assert json.loads((directory / "report.json").read_text())["revision"] == 1
