"""Materials that a shape is bound to, as `UsdShadeMaterialBindingAPI.ComputeBoundMaterial` answers, over generated stages."""

import random
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import run
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade
from stage import create_stage

#: The purposes of materials that show, the preferred one first.
SEEN = ["preview", "full"]
STRENGTHS = ["weakerThanDescendants", "strongerThanDescendants"]


def binding(chance, stage, prim, targets):
    """Authors material bindings on a prim."""
    if chance.random() < 0.7:
        prim.ApplyAPI(UsdShade.MaterialBindingAPI)
    for purpose in ("", ":preview", ":full"):
        if chance.random() < 0.25:
            relationship = prim.CreateRelationship(f"material:binding{purpose}", custom=False)
            relationship.SetTargets([chance.choice(targets)] if chance.random() < 0.95 else [])
            relationship.SetMetadata("bindMaterialAs", chance.choice(STRENGTHS))


def collections(chance, stage, prims, targets):
    """Authors collections on prims, and binds them."""
    paths = [prim.GetPath() for prim in prims]
    names = []
    for number in range(chance.randrange(1, 6)):
        prim, name = chance.choice(prims), f"c{number}"
        if chance.random() < 0.9:
            prim.ApplyAPI(Usd.CollectionAPI, name)
        names.append(Sdf.Path(f"{prim.GetPath()}.collection:{name}"))
    for path in names:
        prim, name = stage.GetPrimAtPath(path.GetPrimPath()), path.name.split(":")[-1]
        if chance.random() < 0.8:
            rule = chance.choice(["explicitOnly", "expandPrims", "expandPrimsAndProperties"])
            prim.CreateAttribute(f"collection:{name}:expansionRule", Sdf.ValueTypeNames.Token, False, Sdf.VariabilityUniform).Set(rule)
        includes = chance.sample(paths, chance.randrange(0, 4)) + chance.sample(names, chance.random() < 0.3)
        prim.CreateRelationship(f"collection:{name}:includes", False).SetTargets(includes)
        if chance.random() < 0.4:
            prim.CreateRelationship(f"collection:{name}:excludes", False).SetTargets(chance.sample(paths, 1))
        if chance.random() < 0.1:
            prim.CreateAttribute(f"collection:{name}:includeRoot", Sdf.ValueTypeNames.Bool, False, Sdf.VariabilityUniform).Set(True)
        if not includes and chance.random() < 0.8:
            expression = chance.choice(["//", f"{chance.choice(paths)}//", f"{chance.choice(paths)}", "//x*", f"{paths[0]}// - {chance.choice(paths)}"])
            prim.CreateAttribute(f"collection:{name}:membershipExpression", Sdf.ValueTypeNames.PathExpression, False, Sdf.VariabilityUniform).Set(
                Sdf.PathExpression(expression)
            )
    for number, path in enumerate(names):
        holder, purpose = chance.choice(prims), chance.choice(["", ":preview", ":full"])
        relationship = holder.CreateRelationship(f"material:binding:collection{purpose}:b{number}", False)
        pair = [path, chance.choice(targets)]
        relationship.SetTargets(pair if chance.random() < 0.9 else pair[::-1])
        relationship.SetMetadata("bindMaterialAs", chance.choice(STRENGTHS))


def generated(path, seed):
    """Writes a stage with a body and a tree of cubes in it; returns it, and the cubes by their sizes."""
    chance = random.Random(seed)
    stage, body = create_stage(path)
    targets = []
    for number in range(6):
        material = UsdShade.Material.Define(stage, f"/r/Looks/m{number}")
        shader = UsdShade.Shader.Define(stage, f"/r/Looks/m{number}/s")
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set((number / 10, 0.5, 0.25))
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        targets.append(material.GetPath())
    if chance.random() < 0.3:
        targets += [Sdf.Path("/r/Looks"), Sdf.Path("/r/Looks/missing")]
    groups, cubes = [stage.GetDefaultPrim(), body], []
    for number in range(5):
        above = chance.choice(groups[1:])
        groups.append(UsdGeom.Xform.Define(stage, above.GetPath().AppendChild(f"x{number}")).GetPrim())
    for number in range(12):
        above = chance.choice(groups[1:])
        cube = UsdGeom.Cube.Define(stage, above.GetPath().AppendChild(f"v{number}"))
        cube.CreateSizeAttr(1 + number / 16)
        cubes.append(cube.GetPrim())
    prims = groups + cubes
    for prim in prims:
        binding(chance, stage, prim, targets)
    if chance.random() < 0.8:
        collections(chance, stage, prims, targets)
    stage.Save()
    return stage, {cube.GetAttribute("size").Get(): cube for cube in cubes}


def bound(prim):
    """Returns the name of the material that a prim shows; None without one."""
    for purpose in SEEN:
        material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial(purpose)
        if material:
            return material.GetPrim().GetName()
    return None


@pytest.mark.parametrize("seed", range(60))
def test_materials_are_those_that_openusd_computes(tmp_path, seed):
    stage, cubes = generated(tmp_path / "r.usda", seed)
    done = run("convert", tmp_path / "r.usda", "-o", tmp_path / "out", "--formats", "urdf")
    assert done.returncode == 0, done.stderr
    (urdf,) = (tmp_path / "out").glob("*/*.urdf")
    found = {}
    for visual in ElementTree.parse(urdf).iter("visual"):
        material = visual.find("material")
        size = float(visual.find("geometry/box").get("size").split()[0])
        found[size] = None if material is None else material.get("name")
    assert found == {size: bound(cube) for size, cube in cubes.items()}


def test_contact_materials_follow_the_same_rules(tmp_path):
    stage, body = create_stage(tmp_path / "r.usda", mass=None)
    for name, density in (("light", 10.0), ("heavy", 7000.0)):
        material = UsdShade.Material.Define(stage, f"/r/Looks/{name}").GetPrim()
        UsdPhysics.MaterialAPI.Apply(material).CreateDensityAttr(density)
    cube = UsdGeom.Cube.Define(stage, "/r/body/c")
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    for prim, name, strength in ((body, "heavy", STRENGTHS[1]), (cube.GetPrim(), "light", STRENGTHS[0])):
        api = UsdShade.MaterialBindingAPI.Apply(prim)
        api.Bind(UsdShade.Material.Get(stage, f"/r/Looks/{name}"), strength, "physics")
    stage.Save()
    done = run("convert", tmp_path / "r.usda", "-o", tmp_path / "out", "--formats", "urdf")
    assert done.returncode == 0, done.stderr
    (urdf,) = (tmp_path / "out").glob("*/*.urdf")
    # 2 m × 2 m × 2 m of the material that is stronger than its descendants.
    assert float(ElementTree.parse(urdf).find(".//mass").get("value")) == pytest.approx(8 * 7000)
