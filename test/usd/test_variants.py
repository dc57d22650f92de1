"""Variant sets of the default prim that select the tier and the colliders of the whole robot, and hulls for engines."""

import collections
import json
import shutil

import pytest
import trimesh
from conftest import Source, convert, in_nv, run
from pxr import Sdf, Usd, UsdGeom, UsdPhysics
from stage import value
from test_rep158 import check

TIERS, COLLIDERS = "visual_representation", "collision_fidelity"
DEFAULTS = {TIERS: "mesh_medium", COLLIDERS: "convex_hull"}
VARIANTS = {TIERS: ["mesh_high", "mesh_low", "mesh_medium"], COLLIDERS: ["convex_hull", "spheres", "trimesh"]}
LINK = """<link name="{0}"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>{1}</link>"""
BOTH = "<visual>{0}</visual><collision>{0}</collision>"
BALL, BOX = '<geometry><mesh filename="ball.stl"/></geometry>', '<geometry><box size="0.1 0.1 0.1"/></geometry>'
JOINT = '<joint name="to_{1}" type="revolute"><parent link="{0}"/><child link="{1}"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
#: Spheres of one link.
XRDF = """format: xrdf
format_version: 1.0
cspace: {joint_names: [to_arm], acceleration_limits: [1], jerk_limits: [1]}
tool_frames: [tip]
collision: {geometry: balls}
self_collision: {geometry: balls}
geometry:
  balls:
    spheres:
      arm: [{center: [0, 0, 0], radius: 0.1}]
"""


def robot(folder, links):
    """Writes a chain of links with shapes."""
    folder.mkdir()
    trimesh.creation.icosphere(4, radius=0.1).export(folder / "ball.stl")
    names = [*links]
    parts = [LINK.format(name, shapes) for name, shapes in links.items()]
    parts += [JOINT.format(above, below) for above, below in zip(names, names[1:])]
    (folder / "r.urdf").write_text(f'<robot name="r">{"".join(parts)}</robot>')
    (folder / "r.xrdf").write_text(XRDF)
    return Source("r", folder / "r.urdf", {}, ())


@pytest.fixture(scope="module")
def asset(tmp_path_factory):
    """A robot of which three links have meshes, and one of those has spheres."""
    folder = tmp_path_factory.mktemp("robot")
    links = {"base": BOTH.format(BALL), "arm": BOTH.format(BALL), "hand": f"<visual>{BOX}</visual><collision>{BALL}</collision>", "tip": BOTH.format(BOX)}
    source = robot(folder / "source", links)
    return convert(source, folder / "out", "--xrdf-file", source.urdf.with_suffix(".xrdf"), "--overlays", "isaac,mujoco,newton,physx", "--check")


def opened(entry):
    """Opens an asset for changes that stay in memory."""
    stage = Usd.Stage.Open(str(entry))
    stage.SetEditTarget(stage.GetSessionLayer())
    return stage


def choices(root, variant_set):
    """Returns the composed selections below a prim, by the name of the link."""
    prims = (prim for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()) if prim != root and variant_set in prim.GetVariantSets().GetNames())
    return {prim.GetParent().GetName(): prim.GetVariantSets().GetVariantSelection(variant_set) for prim in prims}


def faces(root):
    return sum(len(value(prim, "faceVertexCounts")) for prim in Usd.PrimRange(root, Usd.TraverseInstanceProxies()) if prim.IsA(UsdGeom.Mesh))


def expected(variant_set, variant):
    links = ("base", "arm") if variant_set == TIERS else ("base", "arm", "hand")
    # Links without spheres keep their hulls.
    return {link: "convex_hull" if variant == "spheres" and link != "arm" else variant for link in links}


@pytest.mark.parametrize("file", ["r.usda", "base.usda", "r.newton.usda"])
def test_one_set_selects_for_all_links(asset, file):
    stage = opened(asset.directory / file)
    sets = stage.GetDefaultPrim().GetVariantSets()
    for variant_set, variants in VARIANTS.items():
        assert sets.GetVariantSet(variant_set).GetVariantNames() == variants
        assert sets.GetVariantSelection(variant_set) == DEFAULTS[variant_set]
        for variant in [*variants, DEFAULTS[variant_set]]:
            sets.SetSelection(variant_set, variant)
            assert choices(stage.GetDefaultPrim(), variant_set) == expected(variant_set, variant)
    assert not [p for p in stage.TraverseAll() if not p.IsDefined()]


def test_a_link_still_has_a_choice(asset, tmp_path):
    """A local selection of one link takes precedence over the whole robot's, in any order, and in a saved scene."""
    scene = Usd.Stage.CreateNew(str(tmp_path / "scene.usda"))
    arm = scene.DefinePrim("/world/arm")
    arm.GetReferences().AddReference(str(asset.entry))
    for variant_set, link in ((TIERS, "visual"), (COLLIDERS, "collision")):
        default, variant, other = DEFAULTS[variant_set], *[name for name in VARIANTS[variant_set] if name != DEFAULTS[variant_set]][::-1]
        scope = scene.GetPrimAtPath(f"/world/arm/base/arm/{link}")
        scope.GetVariantSet(variant_set).SetVariantSelection(other)
        assert choices(arm, variant_set) == expected(variant_set, default) | {"arm": other}
        arm.GetVariantSet(variant_set).SetVariantSelection(variant)
        assert choices(arm, variant_set) == expected(variant_set, variant) | {"arm": other}
        scene.Save()
        again = Usd.Stage.Open(str(tmp_path / "scene.usda"))
        assert choices(again.GetPrimAtPath("/world/arm"), variant_set) == expected(variant_set, variant) | {"arm": other}
        for name, selected in {"arm": other, "base": variant}.items():
            path = f"/world/arm/base/{'arm/' if name == 'arm' else ''}{link}"
            masked = Usd.Stage.OpenMasked(scene.GetRootLayer(), Usd.StagePopulationMask([path]))
            assert choices(masked.GetPrimAtPath("/world/arm"), variant_set) == {name: selected}


def test_instances_of_the_robot_have_a_choice(asset):
    scene, counted = Usd.Stage.CreateInMemory(), {}
    for tier in VARIANTS[TIERS]:
        copy = scene.DefinePrim(f"/world/{tier}")
        copy.GetReferences().AddReference(str(asset.entry))
        copy.SetInstanceable(True)
        copy.GetVariantSet(TIERS).SetVariantSelection(tier)
        assert copy.IsInstance()
        counted[tier] = faces(copy)
    assert counted["mesh_high"] >= counted["mesh_medium"] > counted["mesh_low"]


def test_our_reader_obeys_the_set(asset):
    def triangles(*choice):
        done = run("inspect", asset.entry, "--json", *(f"--variant={text}" for text in choice))
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["triangles"]

    default, every, root = triangles(), triangles(f"{TIERS}=mesh_low"), triangles(f"/r{{{TIERS}=mesh_low}}")
    single = triangles(f"/r/base/visual{{{TIERS}=mesh_low}}")
    assert every == root < single < default == triangles(f"/r{{{TIERS}=mesh_low}}", f"/r/base/visual{{{TIERS}=mesh_medium}}", f"/r/base/arm/visual{{{TIERS}=mesh_medium}}")


def test_checkers_accept_the_sets(asset):
    assert not [d for d in asset.report["diagnostics"] if d["code"].startswith("REP158") and d["severity"] != "info"]
    assert {v["check_id"] for v in check(asset.entry)["violations"]} <= {"1.2.8", "3.1.1"}  # docs/validators.md


def test_a_switched_collider_is_still_a_finding(asset, tmp_path):
    """A set that only selects variants of visuals is above colliders; one that authors a collider is reported."""
    copy = tmp_path / "r"
    shutil.copytree(asset.directory, copy)
    layer = Sdf.Layer.FindOrOpen(str(copy / "base.usda"))
    Sdf.CreatePrimInLayer(layer, f"/r{{{TIERS}=mesh_medium}}base/collision/collision_0").SetInfo("comment", "an opinion")
    layer.Save()
    done = run("check", copy / "r.usda", "--format", "json")
    assert "also switches the collider" in done.stdout, done.stdout


def test_fix_keeps_the_sets(asset, tmp_path):
    done = run("fix", asset.entry, "-o", tmp_path, "--json")
    assert done.returncode == 0, done.stderr
    assert "combinations" not in done.stdout and "REP158" not in done.stderr
    stage = opened(tmp_path / "r" / "r.usda")
    root = stage.GetDefaultPrim()
    for variant_set, variants in VARIANTS.items():
        assert choices(root, variant_set) == expected(variant_set, DEFAULTS[variant_set])
        for variant in variants:
            root.GetVariantSet(variant_set).SetVariantSelection(variant)
            assert choices(root, variant_set) == expected(variant_set, variant)
    assert not [p for p in Usd.PrimRange(stage.GetPrimAtPath("/r/base"), Usd.PrimAllPrimsPredicate) if not p.IsDefined()]


def test_a_single_choice_needs_no_set(tmp_path):
    source = robot(tmp_path / "source", {"base": BOTH.format(BALL), "arm": BOTH.format(BOX)})
    stage = Usd.Stage.Open(str(convert(source, tmp_path / "out", "--formats", "usd").entry))
    root = stage.GetDefaultPrim()
    assert not root.GetVariantSets().GetNames()
    for variant_set, default in DEFAULTS.items():
        assert choices(root, variant_set) == {"base": default}


# ------------------------------------------------------------------------------------------------------ hulls for engines


def approximations(stage):
    """Returns the approximations of mesh colliders, by the name of the link."""
    colliders = (prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.MeshCollisionAPI))
    return {prim.GetParent().GetParent().GetName(): value(prim, "physics:approximation") for prim in colliders}


@pytest.mark.parametrize(("entry", "of_hulls"), [("", "none"), (".mujoco", "none"), (".newton", "convexHull"), (".physx", "convexHull"), (".isaac", "convexHull")])
def test_hulls_say_so_where_engines_ask(asset, entry, of_hulls):
    """The neutral layers, and MuJoCo, whose meshes are convex, have `none` (REP-158 §1.3.1); exact meshes always have it."""
    stage = opened(asset.directory / f"r{entry}.usda")
    root = stage.GetDefaultPrim()
    for variant, token in (("convex_hull", of_hulls), ("trimesh", "none"), ("spheres", of_hulls)):
        root.GetVariantSet(COLLIDERS).SetVariantSelection(variant)
        there = {"base", "arm", "hand"} - ({"arm"} if variant == "spheres" else set())
        assert approximations(stage) == dict.fromkeys(there, token), variant


def test_newton_sees_convex_meshes(asset):
    """With all corners: Newton computes hulls of 64 without an attribute."""

    def shapes(entry):
        found = in_nv("newton_import", "describe", str(asset.directory / entry))
        assert not found["warnings"], found["warnings"]
        return collections.Counter((shape["kind"], shape["corners"]) for shape in found["shapes"])

    stage = Usd.Stage.Open(str(asset.entry))
    (corners,) = {len(value(prim, "points")) for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.MeshCollisionAPI)}
    assert corners > 64
    assert shapes("r.newton.usda") == {("CONVEX_MESH", corners): 3, ("BOX", 0): 1}
    assert shapes("r.usda") == {("MESH", corners): 3, ("BOX", 0): 1}
