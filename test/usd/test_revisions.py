"""Both revisions of REP-158 (`--rep158`), and the words of engines for the same quantities of joints.

OpenUSD, MuJoCo and Newton read the results; the latter two in separate Pythons."""

import json
import math

import pytest
from conftest import in_nv, run
from pxr import Sdf, Usd
from test_mujoco_overlay import converted, in_mujoco, robot

JULY = ("--rep158", "2026-07")
ENGINES = "newton,mujoco,physx"
#: The prefixes of each engine, and the layer that has them alone.
PREFIXES = {"newton": ("newton", "Newton"), "mujoco": ("mjc", "Mjc"), "physx": ("physx", "Physx")}


def checked(entry, *options):
    done = run("check", entry, "--format", "json", *options)
    return json.loads(done.stdout)


def names(layer):
    """Returns the names of all schemas and properties in a layer."""
    found = set()

    def visit(path):
        spec = layer.GetObjectAtPath(path)
        if isinstance(spec, Sdf.PrimSpec):
            found.update(str(name) for name in spec.GetInfo("apiSchemas").GetAddedOrExplicitItems())
            found.update(spec.properties.keys())

    layer.Traverse("/", visit)
    return found


def mimic_of(stage, joint):
    """Returns the mimic relation of a joint in each dialect: the leader, the factor, the offset in radians."""
    prim = stage.GetPrimAtPath(joint)
    value = lambda name: prim.GetAttribute(name).Get()
    found = {}
    for dialect, leader, multiplier, offset, unit, sign in (
        ("ext_physics", "ext_physics:mimic:joint", "ext_physics:mimic:multiplier", "ext_physics:mimic:offset", math.radians(1), 1),
        ("newton", "newton:mimicJoint", "newton:mimicCoef1", "newton:mimicCoef0", math.radians(1), 1),
        ("mujoco", "mjc:target", "mjc:coef1", "mjc:coef0", 1, 1),
        ("physx", *(f"physxMimicJoint:rotY:{name}" for name in ("referenceJoint", "gearing", "offset")), math.radians(1), -1),
    ):
        if targets := prim.GetRelationship(leader).GetTargets():
            found[dialect] = (str(targets[0]), sign * value(multiplier), sign * unit * value(offset))
    return found


def test_mimic_joints_are_in_the_layers_of_engines(tmp_path):
    """In the revision of July 2026; the layers of each engine have its prefix alone, and the engines read the same as before."""
    entry, found = converted(tmp_path / "july", robot(), *JULY, "--check", overlays=ENGINES)
    folder = entry.parent
    assert not {code for code in found if code.startswith("REP158") or "mimic" in code}, found
    layers = {path.stem: names(Sdf.Layer.FindOrOpen(str(path))) for path in folder.glob("*.usda")}
    assert "extended_physics" not in layers
    for layer, inside in layers.items():
        assert not {name for name in inside if name.startswith(("ext_physics", "ExtendedPhysics"))}, layer
        others = [prefix for engine, both in PREFIXES.items() if engine != layer for prefix in both]
        assert not {name for name in inside if name.startswith(tuple(others))}, layer
    stage = Usd.Stage.Open(str(folder / "r.usda"))
    assert mimic_of(stage, "/r/a/follow") == {}
    for engine in PREFIXES:
        stage = Usd.Stage.Open(str(folder / f"r.{engine}.usda"))
        assert mimic_of(stage, "/r/a/follow") == {engine: pytest.approx(("/r/lead", -2, 0.5), rel=1e-6)}
        codes = {finding["code"] for finding in checked(folder / f"r.{engine}.usda", *JULY)["diagnostics"]}
        assert not {code for code in codes if code.startswith(("REP158-1.4", "REP158-4.2"))}, engine
    june, _ = converted(tmp_path / "june", robot(), overlays=ENGINES)
    in_july, in_june = (in_mujoco("simulated", path) for path in (entry, june))
    warned = in_july.pop("warnings")
    assert len(warned) > len(in_june.pop("warnings")) and any("deprecated" in message for message in warned)
    # The words of Newton are in single precision.
    for joint, facts in in_june["joints"].items():
        for fact, value in facts.items():
            assert in_july["joints"][joint][fact] == (value if value is None else pytest.approx(value, rel=1e-6)), (joint, fact)
    assert in_july["equalities"] == [pytest.approx(values, abs=1e-7) for values in in_june["equalities"]]
    assert in_july["end"] == pytest.approx(in_june["end"], abs=1e-5) and in_july["actuators"] == in_june["actuators"]
    for path in (entry, june):
        joint = in_nv("newton_joints", str(path.with_name("r.newton.usda")))["joints"]["follow"]
        assert joint["leader"] == "lead" and joint["coefficients"] == pytest.approx([0.5, -2], rel=1e-6)

    # The asset of June breaks the revision of July; each check names its revision.
    assert checked(june.with_name("r.usda"))["rep158"] == "2026-06"
    report = checked(june.with_name("r.usda"), *JULY)
    assert report["rep158"] == "2026-07" and "REP158-4.2.20" in {finding["code"] for finding in report["diagnostics"]}
    assert "REP-158 of 2026-07" in run("check", june.with_name("r.usda"), *JULY).stdout
    sarif = json.loads(run("check", june.with_name("r.usda"), *JULY, "--format", "sarif").stdout)
    assert sarif["runs"][0]["properties"] == {"rep158": "2026-07"}

    # All that is read back is the same, whichever the dialect.
    for engine in PREFIXES:
        again = tmp_path / f"again_{engine}"
        assert run("convert", folder / f"r.{engine}.usda", "-o", again, "--formats", "urdf").returncode == 0
        text = (again / "r" / "r.urdf").read_text()
        assert "<mimic joint=\"lead\" multiplier=\"-2\" offset=\"0.5\"/>" in text, (engine, text)


def test_mimic_joints_that_no_layer_keeps_are_named(tmp_path):
    entry, found = converted(tmp_path / "none", robot(), *JULY, overlays="openpbr")
    (message,) = found["usd-mimic-left-out"]
    assert '"follow"' in message
    slide = robot().replace("name='follow' type='revolute'", "name='follow' type='prismatic'")
    _, found = converted(tmp_path / "slide", slide, *JULY, overlays="newton")
    assert '"follow"' in found["usd-mimic-left-out"][0] and "newton-mimic-left-out" in found
    _, found = converted(tmp_path / "june", robot(), overlays="openpbr")
    assert "usd-mimic-left-out" not in found


def fixed(entry, folder, *options):
    done = run("fix", entry, "-o", folder, "--json", *options)
    report = json.loads(done.stdout)
    return folder / "r", report


@pytest.mark.parametrize("dialect", ["ext_physics", *PREFIXES])
def test_fix_translates_between_dialects(dialect, tmp_path):
    """From each dialect to all others, with equal numbers; MuJoCo and Newton read the result."""
    options = () if dialect == "ext_physics" else JULY
    entry, _ = converted(tmp_path / "of", robot(), *options, overlays=ENGINES)
    source = entry.parent / ("r.usda" if dialect == "ext_physics" else f"r.{dialect}.usda")
    flat = tmp_path / "r.usda"
    Usd.Stage.Open(str(source)).Flatten().Export(str(flat))
    folder, report = fixed(flat, tmp_path / "fixed", *JULY, "--overlays", ENGINES)
    assert not [d for d in report["diagnostics"] if d["code"] in ("REP158-4.2.20", "REP158-1.4.1", "fix-lost")]
    expected = pytest.approx(("/r/lead", -2, 0.5), rel=1e-6)
    for engine in PREFIXES:
        stage = Usd.Stage.Open(str(folder / f"r.{engine}.usda"))
        assert mimic_of(stage, "/r/a/follow") == {engine: expected}, engine
    assert mimic_of(Usd.Stage.Open(str(folder / "r.usda")), "/r/a/follow") == {}
    if dialect != "ext_physics":
        # Damping and friction of `lead`, which the neutral layers have only as data of the URDF.
        stages = {engine: Usd.Stage.Open(str(folder / f"r.{engine}.usda")) for engine in PREFIXES}
        values = lambda engine, *names: [stages[engine].GetPrimAtPath("/r/lead").GetAttribute(name).Get() for name in names]
        degree = math.radians(1)
        assert values("newton", "newton:damping", "newton:friction") == pytest.approx([0.7 * degree, 0.2], rel=1e-6)
        assert values("mujoco", "mjc:damping", "mjc:frictionloss") == pytest.approx([0.7, 0.2], rel=1e-6)
        of_physx = ("viscousFrictionCoefficient", "staticFrictionEffort", "dynamicFrictionEffort")
        assert values("physx", *(f"physxJointAxis:angular:{name}" for name in of_physx)) == pytest.approx([0.7 * degree, 0.2, 0.2], rel=1e-6)
    # To the neutral dialect.
    folder, _ = fixed(flat, tmp_path / "june")
    assert mimic_of(Usd.Stage.Open(str(folder / "r.usda")), "/r/a/follow") == {"ext_physics": expected}


CENTIMETRES = """#usda 1.0
(
    defaultPrim = "r"
    kilogramsPerUnit = 1
    metersPerUnit = 0.01
    upAxis = "Z"
)

def Xform "r" (
    prepend apiSchemas = ["PhysicsArticulationRootAPI"]
)
{{
    {bodies}
    def PhysicsPrismaticJoint "lead"
    {{
        rel physics:body1 = </r/a>
    }}
    def PhysicsPrismaticJoint "follow" (
        prepend apiSchemas = ["NewtonMimicAPI", "NewtonJointAPI"]
    )
    {{
        rel physics:body0 = </r/a>
        rel physics:body1 = </r/b>
        rel newton:mimicJoint = </r/lead>
        float newton:mimicCoef0 = 10
        float newton:mimicCoef1 = -3
        float newton:velocityLimit = 50
        float newton:damping = 4
        float newton:friction = 200
        float newton:armature = 0.5
    }}
}}
"""
BODY = """def Xform "{name}" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {{
        float physics:mass = 1
        float3 physics:diagonalInertia = (100, 100, 100)
    }}
"""


def test_units_of_words_are_those_of_the_stage(tmp_path):
    """Centimetres: a length and a force become a hundredth in metres. Nothing changes the second time."""
    source = tmp_path / "r.usda"
    source.write_text(CENTIMETRES.format(bodies="".join(BODY.format(name=name) for name in "ab")))
    folder, _ = fixed(source, tmp_path / "1", *JULY, "--overlays", ENGINES)
    again, _ = fixed(folder / "r.newton.usda", tmp_path / "2", *JULY, "--overlays", ENGINES)
    for layers in (folder, again):
        stages = {engine: Usd.Stage.Open(str(layers / f"r.{engine}.usda")) for engine in PREFIXES}
        value = lambda engine, name: stages[engine].GetPrimAtPath("/r/follow").GetAttribute(name).Get()
        for engine, expected in {
            "newton": {"mimicCoef0": 0.1, "mimicCoef1": -3, "velocityLimit": 0.5, "damping": 4, "friction": 2, "armature": 0.5},
            "mujoco": {"coef0": 0.1, "coef1": -3, "damping": 4, "frictionloss": 2, "armature": 0.5},
        }.items():
            prefix = PREFIXES[engine][0]
            for name, number in expected.items():
                assert value(engine, f"{prefix}:{name}") == pytest.approx(number, rel=1e-6), (engine, name)
        assert value("physx", "physxMimicJoint:rotX:offset") == pytest.approx(-0.1) and value("physx", "physxJointAxis:linear:armature") == 0.5
    done = run("convert", source, "-o", tmp_path / "3", "--formats", "urdf,mjcf", "--json")
    text = (tmp_path / "3" / "r" / "r.urdf").read_text()
    assert 'multiplier="-3" offset="0.1"' in text and 'friction="2"' in text and 'velocity="0.5"' in text
    assert 'armature="0.5"' in (tmp_path / "3" / "r" / "r.xml").read_text()
    done = run("convert", source, "-o", tmp_path / "4", "--formats", "urdf", "--json")
    assert "armature-left-out" in {found["code"] for found in json.loads(done.stdout)["diagnostics"]}


def test_words_without_an_equivalent_stay_and_are_named(tmp_path):
    """A polynomial, and static friction that differs from the dynamic one."""
    text = CENTIMETRES.format(bodies="".join(BODY.format(name=name) for name in "ab")).replace("metersPerUnit = 0.01", "metersPerUnit = 1")
    text = text.replace('"NewtonMimicAPI", "NewtonJointAPI"', '"MjcEqualityJointAPI", "PhysxJointAxisAPI:linear"')
    kept = "uniform double mjc:coef2 = 0.5\n float physxJointAxis:linear:staticFrictionEffort = 2\n float physxJointAxis:linear:dynamicFrictionEffort = 1\n"
    text = text.replace("float newton:mimicCoef0 = 10", kept).replace("        float newton:friction = 200\n", "")
    (tmp_path / "r.usda").write_text(text)
    folder, report = fixed(tmp_path / "r.usda", tmp_path / "1", *JULY, "--overlays", ENGINES)
    left = [found["message"] for found in report["diagnostics"] if found["code"] == "fix-left"]
    assert any("polynomial" in message for message in left) and any("staticFrictionEffort" in message for message in left)
    stage = Usd.Stage.Open(str(folder / "r.mujoco.usda"))
    assert stage.GetPrimAtPath("/r/follow").GetAttribute("mjc:coef2").Get() == 0.5
    done = run("convert", tmp_path / "r.usda", "-o", tmp_path / "2", "--formats", "urdf", "--json")
    found = {one["code"]: one["message"] for one in json.loads(done.stdout)["diagnostics"]}
    assert "polynomial" in found["usd-read-mimic-left-out"] and done.returncode == 1
