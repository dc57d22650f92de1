"""`urdf_usd fix` on layouts of other programs: bodies that are shapes, settings of engines, unselected variants, tiles of textures.

Each stage stands for a kind; the result is read with OpenUSD alone.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import ROBOTS, run
from PIL import Image
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade
from test_fix import ASSETS, Meaning, assert_same_meaning, fixed, schemas

CASES = Path(__file__).with_name("cases")

HEADER = """#usda 1.0
(
    defaultPrim = "robot"
    metersPerUnit = {meters}
    kilogramsPerUnit = 1
    upAxis = "{up}"
)
"""


def stage_of(folder, text, meters=1, up="Z"):
    path = Path(folder) / "source.usda"
    path.write_text(HEADER.format(meters=meters, up=up) + text)
    return path


def codes(report):
    return {found["code"] for found in report["diagnostics"]}


def files(entry):
    found = [path for path in entry.parent.rglob("*") if path.is_file() and path.name != "report.json"]
    return {path.relative_to(entry.parent): path.read_bytes() for path in found}


def assert_same_when_fixed_again(entry, folder):
    again, _ = fixed(entry, folder)
    assert files(again) == files(entry)


def joints_of_bodies(entry):
    """Returns the bodies of each joint, as UsdPhysics parses them."""
    stage = Usd.Stage.Open(str(entry))
    found = {}
    for kind, (paths, descriptions) in UsdPhysics.LoadUsdPhysicsFromRange(stage, ["/"]).items():
        if "Joint" in str(kind):
            found |= {str(path): (str(one.body0), str(one.body1)) for path, one in zip(paths, descriptions)}
    return found


# --- Variant sets without a selection -------------------------------------------------------------------------------------


def physics_set(inside="", name="robot", arcs="", selection=""):
    return f"""
def Xform "{name}" (
    append variantSets = "Physics"
    {arcs}
    {selection}
)
{{
    def Xform "base"
    {{
        def Cube "c"
        {{
            double size = 0.2
        }}
    }}
    {inside}
    variantSet "Physics" = {{
        "none" {{
        }}
        "physics" {{
            over "base" (
                prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
            )
            {{
                float physics:mass = 3
                over "c" (
                    prepend apiSchemas = ["PhysicsCollisionAPI"]
                )
                {{
                }}
            }}
            def PhysicsFixedJoint "hold"
            {{
                rel physics:body1 = </robot/base>
            }}
        }}
    }}
}}
"""


def types(path):
    stage = Usd.Stage.Open(str(path))
    return {str(p.GetPath()): p.GetTypeName() for p in stage.Traverse()}


def masses_with(entry, variant):
    stage = Usd.Stage.Open(str(entry))
    if variant:
        stage.GetDefaultPrim().GetVariantSet("Physics").SetVariantSelection(variant)
    return {str(p.GetPath()): p.GetAttribute("physics:mass").Get() for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI)}


@pytest.mark.parametrize("source", ["case", "joint", "type", "centimetres"])
def test_an_unselected_set_stays_with_all_variants(source, tmp_path):
    text = {
        "joint": physics_set(),
        "type": physics_set(arcs='kind = "component"', inside='def Scope "Looks" { }').replace("{ }", "\n{\n}"),
        "centimetres": physics_set(),
    }
    meters = 0.01 if source == "centimetres" else 1
    asset = CASES / "unselected_variant.usda" if source == "case" else stage_of(tmp_path, text[source], meters, "Y" if meters < 1 else "Z")
    entry, report = fixed(asset, tmp_path / "out", code=(1,))
    assert "REP158-1.2.7" in codes(report) and not codes(report) & {"fix-missing", "fix-not-whole"}
    stage = Usd.Stage.Open(str(entry))
    physics = stage.GetDefaultPrim().GetVariantSet("Physics")
    assert physics.GetVariantNames() == ["none", "physics"] and not physics.GetVariantSelection()
    for variant in ("", "none", "physics"):
        assert masses_with(entry, variant) == masses_with(asset, variant) == ({"/robot/base": 3} if variant == "physics" else {})
        assert_same_meaning(Meaning(asset, [("Physics", variant)]), Meaning(entry, [("Physics", variant)]))
    assert types(asset).items() <= types(entry).items()
    assert_same_when_fixed_again(entry, tmp_path / "again")


def test_a_chosen_variant_becomes_the_selection(tmp_path):
    entry, _ = fixed(CASES / "unselected_variant.usda", tmp_path, "--variant", "/robot{Physics=physics}")
    assert masses_with(entry, "") == {"/robot/base": 3}


def test_commands_name_the_unselected_set_and_take_a_variant(tmp_path):
    asset = CASES / "unselected_variant.usda"
    inspected = run("inspect", asset)
    assert inspected.returncode == 1 and "/robot{Physics=none|physics}" in inspected.stderr and "--variant" in inspected.stderr
    done = run("inspect", asset, "--variant", "/robot{Physics=physics}", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["mass"] == 3, done.stderr
    converted = run("convert", asset, "-o", tmp_path / "a", "--formats", "urdf")
    assert converted.returncode == 1 and "/robot{Physics=none|physics}" in converted.stderr, converted.stderr
    converted = run("convert", asset, "-o", tmp_path / "a", "--formats", "urdf", "--variant", "Physics=physics")
    assert converted.returncode == 0, converted.stderr
    checked = run("check", asset)
    assert "REP158-1.2.7" in checked.stderr + checked.stdout and "Physics" in checked.stderr + checked.stdout
    # A robot beside the set is read, and the set is named.
    text = physics_set().replace("def Cube", 'def Xform "body" (\nprepend apiSchemas = ["PhysicsRigidBodyAPI"]\n)\n{\n}\ndef Cube')
    done = run("inspect", stage_of(tmp_path, text))
    assert done.returncode == 0 and "usd-read-variant-unselected" in done.stderr + done.stdout, done.stderr


def test_a_set_inside_a_variant_is_named(tmp_path):
    inner = """append variantSets = "Grip"
            ) {
                variantSet "Grip" = {
                    "two" {
                        def Cube "finger" {
                        }
                    }
                }"""
    collider = 'over "c" (\n                    prepend apiSchemas = ["PhysicsCollisionAPI"]\n                )\n                {'
    text = physics_set().replace(collider, f'over "c" (\n {inner}')
    assert "Grip" in text
    _, report = fixed(stage_of(tmp_path, text), tmp_path / "out")
    assert any("Grip" in found["message"] for found in report["diagnostics"] if found["code"] == "fix-lost"), report


# --- Bodies that are shapes -----------------------------------------------------------------------------------------------


def test_a_body_that_is_a_shape_stays_the_body(tmp_path):
    entry, report = fixed(ASSETS / "body_is_gprim.usda", tmp_path / "once", code=(0,))
    stage = Usd.Stage.Open(str(entry))
    bodies = [str(p.GetPath()) for p in stage.Traverse() if p.HasAPI(UsdPhysics.RigidBodyAPI)]
    assert bodies == ["/robot/base", "/robot/arm"] or sorted(bodies) == ["/robot/arm", "/robot/base"]
    assert joints_of_bodies(entry) == joints_of_bodies(ASSETS / "body_is_gprim.usda") == {"/robot/hinge": ("/robot/base", "/robot/arm")}
    for path in bodies:
        below = [p for p in Usd.PrimRange(stage.GetPrimAtPath(path)) if p.HasAPI(UsdPhysics.CollisionAPI)]
        assert [p.GetAttribute("purpose").Get() for p in below] == ["guide"], path
        assert stage.GetPrimAtPath(path).GetTypeName() == "Xform"
    assert not codes(report) & {"fix-missing"}
    assert_same_when_fixed_again(entry, tmp_path / "twice")


SHAPES = {
    "Cube": "double size = 1",
    "Cone": "double height = 1\ndouble radius = 0.4",
    "Mesh": """int[] faceVertexCounts = [3, 3, 3, 3]
        int[] faceVertexIndices = [0, 2, 1, 0, 1, 3, 1, 2, 3, 0, 3, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
        uniform token subdivisionScheme = "none"
        color3f[] primvars:displayColor = [(1, 0, 0)]
        def GeomSubset "side"
        {
            uniform token elementType = "face"
            int[] indices = [0]
            uniform token familyName = "materialBind"
        }""",
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", ["(1, 1, 1)", "(2, 0.1, 0.3)", "(2, 2, 2)", "(-1, 2, 0.5)"])
@pytest.mark.parametrize(("meters", "up", "collides"), [(1, "Z", True), (0.01, "Z", False), (1, "Y", True)])
def test_anchors_and_masses_of_scaled_shapes_stay(shape, scale, meters, up, collides, tmp_path):
    collision = ', "PhysicsCollisionAPI"' if collides else ""
    text = f"""
def Xform "robot" (
    prepend apiSchemas = ["PhysicsArticulationRootAPI"]
)
{{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {{
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
    }}
    def {shape} "arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"{collision}]
    )
    {{
        {SHAPES[shape]}
        float physics:mass = 1
        point3f physics:centerOfMass = (0.5, 0.1, 0)
        float3 physics:diagonalInertia = (1, 2, 2.5)
        double3 xformOp:translate = (1, 0, 0)
        float3 xformOp:rotateXYZ = (0, 0, 30)
        float3 xformOp:scale = {scale}
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateXYZ", "xformOp:scale"]
    }}
    def PhysicsRevoluteJoint "hinge"
    {{
        uniform token physics:axis = "Z"
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
        point3f physics:localPos1 = (-0.5, 0.2, 0.1)
        float physics:lowerLimit = -90
        float physics:upperLimit = 90
    }}
}}
"""
    source = stage_of(tmp_path, text, meters, up)
    entry, _ = fixed(source, tmp_path / "once")
    before, after = Meaning(source), Meaning(entry)
    assert "/robot/arm" in after.masses() and np.allclose(before.masses()["/robot/arm"][1], after.masses()["/robot/arm"][1], atol=1e-6)
    for end in (0, 1):
        assert np.allclose(before.joints()["/robot/hinge"][end][:3, 3], after.joints()["/robot/hinge"][end][:3, 3], atol=1e-6)
    shown = [path for path in after.forms() if not path.endswith("_collision")]
    # A mirrored cube has its corners in another order.
    corners = [sorted(map(tuple, points.round(4).tolist())) for points in (before.forms()["/robot/arm"], after.forms()[shown[0]])]
    assert np.allclose(*corners, atol=2e-4) and len(shown) == 1
    assert joints_of_bodies(entry) == joints_of_bodies(source)
    assert_same_when_fixed_again(entry, tmp_path / "twice")


def test_subsets_and_links_of_a_body_that_is_a_mesh_keep_their_looks(tmp_path):
    look = """def Material "{0}"
        {{
            token outputs:surface.connect = </robot/Looks/{0}/S.outputs:surface>
            def Shader "S"
            {{
                uniform token info:id = "UsdPreviewSurface"
                token outputs:surface
            }}
        }}"""
    subset = SHAPES["Mesh"].replace('"side"', '"side" (\nprepend apiSchemas = ["MaterialBindingAPI"]\n)')
    subset = subset.replace("uniform token elementType", "rel material:binding = </robot/Looks/b>\nuniform token elementType")
    text = f"""
def Xform "robot"
{{
    def Mesh "arm" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "MaterialBindingAPI"]
    )
    {{
        {subset}
        rel material:binding = </robot/Looks/a>
        def Cube "hand" (
            prepend apiSchemas = ["PhysicsRigidBodyAPI"]
        )
        {{
        }}
    }}
    def Scope "Looks"
    {{
        {look.format("a")}
        {look.format("b")}
    }}
}}
"""
    entry, report = fixed(stage_of(tmp_path, text), tmp_path / "once")
    stage = Usd.Stage.Open(str(entry))
    bound = lambda path: str(UsdShade.MaterialBindingAPI(stage.GetPrimAtPath(path)).ComputeBoundMaterial()[0].GetPath())  # noqa: E731
    assert bound("/robot/arm/geometry") == "/robot/Looks/a" and bound("/robot/arm/geometry/side") == "/robot/Looks/b"
    assert bound("/robot/arm/hand/geometry") == "/robot/Looks/a"
    color = lambda path: UsdGeom.PrimvarsAPI(stage.GetPrimAtPath(path)).FindPrimvarWithInheritance("displayColor").Get()  # noqa: E731
    assert color("/robot/arm/geometry") == color("/robot/arm/hand/geometry") == [(1, 0, 0)]
    assert "fix-missing" not in codes(report)
    assert_same_when_fixed_again(entry, tmp_path / "twice")


# --- Settings of colliders ------------------------------------------------------------------------------------------------


def test_settings_of_engines_go_with_the_collider(tmp_path):
    entry, _ = fixed(ASSETS / "split_relations.usda", tmp_path)
    for engine, schema, setting, value in (
        ("mujoco", "MjcCollisionAPI", "mjc:condim", 4),
        ("newton", "NewtonCollisionAPI", "newton:contactMargin", 0.01),
        ("physx", "PhysxCollisionAPI", "physxCollision:contactOffset", 0.02),
    ):
        stage = Usd.Stage.Open(str(entry.with_name(f"robot.{engine}.usda")))
        visual, collider = (stage.GetPrimAtPath(f"/robot/base/c{end}") for end in ("", "_collision"))
        assert schema in schemas(collider) and collider.GetAttribute(setting).Get() == pytest.approx(value)
        assert schema not in schemas(visual) and not visual.GetAttribute(setting).HasAuthoredValue()
        assert "PhysicsCollisionAPI" not in schemas(visual)
    assert "MaterialBindingAPI" in schemas(collider) and "MaterialBindingAPI" not in schemas(visual)
    assert collider.GetRelationship("material:binding:physics").GetTargets() == [Sdf.Path("/robot/rubber")]
    assert collider.GetRelationship("physics:filteredPairs").GetTargets() == [Sdf.Path("/robot/arm/c_collision")]
    assert collider.GetRelationship("physics:simulationOwner").GetTargets() == [Sdf.Path("/robot/scene")]


@pytest.mark.parametrize("purpose", ["", "physics"])
def test_the_contact_material_of_a_visible_collider_stays(purpose, tmp_path):
    name = f"material:binding:{purpose}".rstrip(":")
    text = f"""
def Xform "robot" (
    prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
)
{{
    float physics:mass = 1
    def Cube "c" (
        prepend apiSchemas = ["PhysicsCollisionAPI", "MaterialBindingAPI", "MjcImageableAPI"]
    )
    {{
        rel {name} = </robot/steel>
        int mjc:group = 2
    }}
    def Material "steel" (
        prepend apiSchemas = ["PhysicsMaterialAPI"]
    )
    {{
        float physics:dynamicFriction = 0.7
    }}
}}
"""
    entry, _ = fixed(stage_of(tmp_path, text), tmp_path / "out")
    stage = Usd.Stage.Open(str(entry))
    collider = stage.GetPrimAtPath("/robot/c_collision")
    material, _ = UsdShade.MaterialBindingAPI(collider).ComputeBoundMaterial("physics")
    assert str(material.GetPath()) == "/robot/steel" and "MaterialBindingAPI" in schemas(collider)
    mujoco = Usd.Stage.Open(str(entry.with_name("robot.mujoco.usda")))
    assert [mujoco.GetPrimAtPath(f"/robot/c{end}").GetAttribute("mjc:group").Get() for end in ("", "_collision")] == [2, 2]


def test_a_collider_on_a_group_moves_to_its_shapes(tmp_path):
    entry, report = fixed(ASSETS / "collider_on_xform.usda", tmp_path / "once", code=(0,))
    stage = Usd.Stage.Open(str(entry))
    assert "PhysicsCollisionAPI" not in schemas(stage.GetPrimAtPath("/robot/collisions"))
    collider = stage.GetPrimAtPath("/robot/collisions/mesh_collision")
    assert "PhysicsCollisionAPI" in schemas(collider) and collider.GetAttribute("purpose").Get() == "guide"
    assert collider.GetAttribute("physics:approximation").Get() == "none" and set(collider.GetAttribute("faceVertexCounts").Get()) == {3}
    assert collider.GetRelationship("material:binding:physics").GetTargets()
    assert "fix-missing" not in codes(report)
    assert_same_when_fixed_again(entry, tmp_path / "twice")


def test_nested_colliders_and_bodies_below_a_group_keep_theirs(tmp_path):
    text = """
def Xform "robot" (
    prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"]
)
{
    float physics:mass = 1
    def Cube "a" (
        prepend apiSchemas = ["PhysxCollisionAPI"]
    )
    {
    }
    def Xform "inner" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
        bool physics:collisionEnabled = false
        def Cube "b"
        {
        }
    }
    def Xform "other" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
        def Cube "c"
        {
        }
    }
}
"""
    entry, _ = fixed(stage_of(tmp_path, text), tmp_path / "out")
    stage = Usd.Stage.Open(str(entry))
    found = [p for p in stage.Traverse() if "PhysicsCollisionAPI" in schemas(p)]
    colliders = {str(p.GetPath()): p.GetAttribute("physics:collisionEnabled").Get() for p in found}
    assert set(colliders) == {"/robot/a_collision", "/robot/inner/b_collision"} and colliders["/robot/inner/b_collision"] is False


# --- Joints ---------------------------------------------------------------------------------------------------------------


def test_joint_states_are_not_core_physics(tmp_path):
    entry, _ = fixed(ASSETS / "jointstate.usda", tmp_path, code=(0,))
    stages = [Usd.Stage.Open(str(entry.with_name(f"robot{engine}.usda"))) for engine in ("", ".physx", ".isaac")]
    core, physx, isaac = (stage.GetPrimAtPath("/robot/hinge") for stage in stages)
    assert "PhysicsJointStateAPI:angular" in schemas(physx) and "PhysicsJointStateAPI:angular" not in schemas(core)
    for name in ("state:angular:physics:position", "state:angular:physics:velocity", "physxJoint:maxJointVelocity"):
        assert physx.GetAttribute(name).HasAuthoredValue() and not core.GetAttribute(name), name
    assert not core.GetAttribute("physics:JointEquivalentInertia")
    assert isaac.GetAttribute("physics:JointEquivalentInertia").Get() == pytest.approx(0.3)


def test_welds_get_unique_names(tmp_path):
    entry, _ = fixed(ASSETS / "joint_names.usda", tmp_path, code=(0,))
    stage = Usd.Stage.Open(str(entry))
    joints = [p for p in stage.Traverse() if p.IsA(UsdPhysics.Joint)]
    names = [p.GetAttribute("ros:joint:name").Get() or p.GetName() for p in joints]
    assert len(names) == len(set(names)) == 2


# --- Files ----------------------------------------------------------------------------------------------------------------

LOOK = """
def Xform "robot" (
    prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    customData = {{
        asset photo = @docs/photo.png@
        dictionary more = {{
            asset[] papers = [@docs/manual.txt@, @docs/none.txt@]
        }}
    }}
)
{{
    float physics:mass = 1
    def Scope "Looks"
    {{
        def Material "M"
        {{
            def Shader "T"
            {{
                uniform token info:id = "UsdUVTexture"
                asset inputs:file = @{0}@
            }}
            def Shader "U"
            {{
                uniform token info:id = "UsdUVTexture"
                asset inputs:file = @other/skin.<UDIM>.png@
            }}
        }}
    }}
}}
"""


def test_tiles_and_files_in_dictionaries_come_along(tmp_path):
    for folder, shade in (("tex", 10), ("other", 90)):
        (tmp_path / folder).mkdir()
        for tile in (1001, 1002, 1012):
            Image.new("RGB", (4, 4), (shade, tile % 100, 0)).save(tmp_path / folder / f"skin.{tile}.png")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "manual.txt").write_text("read me")
    Image.new("RGB", (4, 4)).save(tmp_path / "docs" / "photo.png")
    entry, report = fixed(stage_of(tmp_path, LOOK.format("./tex/skin.<UDIM>.png")), tmp_path / "once")
    stage = Usd.Stage.Open(str(entry))
    shades = {}
    for shader in ("T", "U"):
        path = stage.GetPrimAtPath(f"/robot/Looks/M/{shader}").GetAttribute("inputs:file").Get().path
        tiles = [entry.parent / path.replace("<UDIM>", str(tile)) for tile in (1001, 1002, 1012)]
        shades[shader] = [Image.open(tile).getpixel((0, 0)) for tile in tiles]
    assert shades == {"T": [(10, 1, 0), (10, 2, 0), (10, 12, 0)], "U": [(90, 1, 0), (90, 2, 0), (90, 12, 0)]}
    data = stage.GetDefaultPrim().GetCustomData()
    assert (entry.parent / data["photo"].path).is_file() and (entry.parent / data["more"]["papers"][0].path).read_text() == "read me"
    assert any("docs/none.txt" in found["message"] for found in report["diagnostics"])
    assert_same_when_fixed_again(entry, tmp_path / "twice")


def test_clips_and_missing_tiles_are_named(tmp_path):
    clips = 'clips = {\ndictionary default = {\nasset[] assetPaths = [@walk.usda@]\nstring primPath = "/robot"\n}\n}\n'
    text = LOOK.format("./tex/skin.<UDIM>.png").replace("    customData", f"{clips}customData")
    _, report = fixed(stage_of(tmp_path, text), tmp_path / "out")
    messages = " ".join(found["message"] for found in report["diagnostics"])
    assert "value clips" in messages and "skin.<UDIM>.png" in messages


# --- Comparison with the source -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arc", ["references = @missing.usda@", "payload = @missing.usda@"])
def test_an_asset_that_does_not_open_whole_is_an_error(arc, tmp_path):
    text = f"""def Xform "robot" (
    prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
)
{{
    float physics:mass = 1
    def Xform "arm" (
        {arc}
    )
    {{
    }}
}}
"""
    _, report = fixed(stage_of(tmp_path, text), tmp_path / "out", code=(1,))
    assert "fix-not-whole" in codes(report)
    assert any(found["severity"] == "error" and found["code"] == "fix-not-whole" for found in report["diagnostics"])


GOLD = ROBOTS.parent / "gold" / "ref_arm" / "ref_arm.usda"


@pytest.mark.parametrize("asset", [*sorted(CASES.glob("*.usda")), GOLD], ids=lambda path: path.stem)
def test_fixing_twice_changes_nothing(asset, tmp_path):
    if not asset.is_file():
        pytest.skip(f"{asset} does not exist (beside the real robots)")
    entry, report = fixed(asset, tmp_path / "once")
    assert not codes(report) & {"fix-missing", "fix-not-whole"}
    assert_same_when_fixed_again(entry, tmp_path / "twice")
