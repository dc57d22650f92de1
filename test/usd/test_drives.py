"""Drives of OpenUSD assets: gains, targets, type and maximum force in every output, compared as usd-core, MuJoCo and Drake read them."""

import itertools
import json
import math
import os
import xml.etree.ElementTree as ElementTree

import pytest
from conftest import run
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from test_urdf import peers
from worker import worker

#: The degrees of freedom of joints, with the instance name of their drive and the unit of a position in the model's.
KINDS = {"Revolute": "angular", "Prismatic": "linear"}
GAINS = {"stiffness": 50.0, "damping": 5.0, "targetPosition": 3.0, "targetVelocity": 0.5, "maxForce": 700.0}


def robot(path, kind="Revolute", drives=None, axis="X", metre=1.0, kilogram=1.0, type_name="force", joint=None):
    """Writes a robot of two bodies and a joint with the drives `{instance: {property: value}}`."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, metre)
    UsdPhysics.SetStageKilogramsPerUnit(stage, kilogram)
    root = UsdGeom.Xform.Define(stage, "/r").GetPrim()
    stage.SetDefaultPrim(root)
    UsdPhysics.ArticulationRootAPI.Apply(root)
    for name, at in (("base", 0), ("arm", 1 / metre)):
        body = UsdGeom.Xform.Define(stage, f"/r/{name}")
        body.AddTranslateOp().Set((0, 0, at))
        UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
        mass = UsdPhysics.MassAPI.Apply(body.GetPrim())
        mass.CreateMassAttr(1.0 / kilogram)
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(0.1) / (kilogram * metre * metre))
    joint = getattr(UsdPhysics, f"{kind}Joint").Define(stage, f"/r/{joint or 'j'}")
    joint.CreateBody0Rel().SetTargets(["/r/base"])
    joint.CreateBody1Rel().SetTargets(["/r/arm"])
    joint.CreateLocalPos0Attr((0, 0, 1 / metre))
    if kind in KINDS:
        joint.CreateAxisAttr(axis)
        joint.CreateLowerLimitAttr(-90)
        joint.CreateUpperLimitAttr(90)
    for instance, properties in (drives or {}).items():
        # Not by UsdPhysicsDriveAPI, which knows the names of the schema only.
        joint.GetPrim().AddAppliedSchema(f"PhysicsDriveAPI:{instance}")
        for name, value in properties.items():
            joint.GetPrim().CreateAttribute(f"drive:{instance}:physics:{name}", Sdf.ValueTypeNames.Float, False).Set(value)
        joint.GetPrim().CreateAttribute(f"drive:{instance}:physics:type", Sdf.ValueTypeNames.Token, False).Set(type_name)
    stage.Save()
    return path


def converted(source, folder, *formats, options=()):
    """Converts to the formats; returns the files by ending, and the codes of diagnostics with their messages."""
    done = run("convert", source, "-o", folder, "--formats", ",".join(formats), "--json", *options)
    assert done.stdout, done.stderr
    found = {file.suffix.removeprefix("."): file for file in folder.glob("*/*") if file.suffix in (".xml", ".sdf", ".urdf", ".glb")}
    found |= {"usda": next(iter(folder.glob("*/r.usda")), None)}
    return found, [(d["code"], d["message"], d["where"].get("element", "")) for d in json.loads(done.stdout)["diagnostics"]]


def parsed(entry):
    """Returns the drives that UsdPhysics parses, in SI units, by the name of the joint."""
    stage = Usd.Stage.Open(str(entry))
    metre, kilogram = UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)
    drives = {}
    for kind, (paths, found) in UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"]).items():
        if kind not in (UsdPhysics.ObjectType.RevoluteJoint, UsdPhysics.ObjectType.PrismaticJoint):
            continue
        for path, one in zip(paths, found):
            angular = kind == UsdPhysics.ObjectType.RevoluteJoint
            unit = math.pi / 180 if angular else metre
            force = kilogram * metre * (metre if angular else 1)
            gain = (1 / unit if angular else 1) if one.drive.acceleration else force / unit
            drives[path.name] = {
                "stiffness": one.drive.stiffness * gain,
                "damping": one.drive.damping * gain,
                "targetPosition": one.drive.targetPosition * unit,
                "targetVelocity": one.drive.targetVelocity * unit,
                "maxForce": one.drive.forceLimit * force if one.drive.forceLimit < 1e38 else math.inf,
                "acceleration": float(one.drive.acceleration),
                "enabled": float(one.drive.enabled),
            }
    return drives


UNITS = [(1.0, 1.0), (0.01, 1.0), (0.001, 0.001)]


@pytest.mark.parametrize("kind, type_name, units", [*itertools.product(KINDS, ("force", "acceleration"), UNITS)])
def test_drives_stay_what_they_are(tmp_path, kind, type_name, units):
    source = robot(tmp_path / "r.usda", kind, {KINDS[kind]: GAINS}, metre=units[0], kilogram=units[1], type_name=type_name)
    wanted = parsed(source)
    assert wanted["j"]["stiffness"] > 0
    once, _ = converted(source, tmp_path / "once", "usd", "glb")
    assert parsed(once["usda"]) == {"j": pytest.approx(wanted["j"], rel=1e-6)}
    for number, again in enumerate((once["usda"], once["glb"])):
        twice, _ = converted(again, tmp_path / f"twice{number}", "usd")
        assert parsed(twice["usda"]) == {"j": pytest.approx(wanted["j"], rel=1e-6)}


@pytest.mark.parametrize("left_out", [(), ("stiffness",), ("targetVelocity",), ("targetPosition", "targetVelocity"), ("maxForce",), ("stiffness", "damping")])
@pytest.mark.parametrize("kind", KINDS)
def test_actuators_of_mujoco_have_the_gains(tmp_path, kind, left_out):
    gains = {name: value for name, value in GAINS.items() if name not in left_out}
    source = robot(tmp_path / "r.usda", kind, {KINDS[kind]: gains}, metre=0.01)
    wanted = parsed(source)["j"]
    files, told = converted(source, tmp_path / "out", "mjcf")
    model = worker(peers(), "urdf").ask("mjcf_model", str(files["xml"]))[0]
    actuator = model["actuators"]["j"]
    k, d, target, speed = (wanted[name] for name in ("stiffness", "damping", "targetPosition", "targetVelocity"))
    control = model["keys"]["initial_positions"]["ctrl"][0] if model["keys"] else 0
    # The force at a position and a velocity, by both formulas.
    for position, velocity in ((0, 0), (0.3, 0), (0, 0.2), (-0.4, 0.7)):
        given = actuator["gain"][0] * control + actuator["bias"][0] + actuator["bias"][1] * position + actuator["bias"][2] * velocity
        if k or d:
            assert given == pytest.approx(k * (target - position) + d * (speed - velocity), rel=1e-6, abs=1e-9)
    if "maxForce" in gains:
        assert actuator["force"] == pytest.approx([-wanted["maxForce"], wanted["maxForce"]], rel=1e-6)
    assert "mjcf-gains" not in [code for code, *_ in told]


def test_an_acceleration_is_no_actuator_of_mujoco(tmp_path):
    source = robot(tmp_path / "r.usda", drives={"angular": GAINS}, type_name="acceleration")
    _, told = converted(source, tmp_path / "out", "mjcf", "sdf")
    messages = {code: message for code, message, _ in told}
    assert "stiffness, damping" in messages["mjcf-acceleration-drive"]
    assert "stiffness, damping" in messages["sdf-drive"] and "type" in messages["sdf-drive"]


def test_drake_reads_the_gains_of_an_sdf(tmp_path):
    python = os.environ.get("URDF_USD_DRAKE_PYTHON")
    if not python:
        pytest.skip("URDF_USD_DRAKE_PYTHON is not set: test/run sets it to a Python with test/requirements-drake.txt")
    source = robot(tmp_path / "r.usda", drives={"angular": GAINS})
    wanted = parsed(source)["j"]
    files, told = converted(source, tmp_path / "out", "sdf")
    gains = worker(python, "drake").ask("sdf_gains", str(files["sdf"]))[0]
    assert gains == {"j": pytest.approx([wanted["stiffness"], wanted["damping"]])}
    assert [message for code, message, _ in told if code == "sdf-drive"] == ['the SDF leaves out targetPosition, targetVelocity of the drive of joint "j"']


def test_formats_without_drives_name_what_they_leave_out(tmp_path):
    source = robot(tmp_path / "r.usda", drives={"angular": GAINS | {"maxForce": 12}})
    files, told = converted(source, tmp_path / "out", "urdf", "glb")
    found = {code: (message, place) for code, message, place in told}
    for code in ("urdf-write-drive", "gltf-drive-in-extras"):
        message, place = found[code]
        assert place == "/r/j" and "stiffness, damping, targetPosition, targetVelocity" in message
    # A URDF has the maximum force as the effort of the joint.
    limit = ElementTree.parse(files["urdf"]).find("joint[@name='j']/limit")
    assert float(limit.get("effort")) == 12 and "maxForce" not in found["urdf-write-drive"][0]


def test_joints_of_rigid_body_extensions_have_the_gains(tmp_path):
    source = robot(tmp_path / "r.usda", drives={"angular": GAINS})
    wanted = parsed(source)["j"]
    files, _ = converted(source, tmp_path / "out", "gltf", options=["--gltf-physics"])
    (file,) = (tmp_path / "out").glob("*/*.gltf")
    (drive,) = json.loads(file.read_text())["extensions"]["KHR_physics_rigid_bodies"]["physicsJoints"][0]["drives"]
    names = {"stiffness": "stiffness", "damping": "damping", "positionTarget": "targetPosition", "velocityTarget": "targetVelocity", "maxForce": "maxForce"}
    assert {theirs: drive[theirs] for theirs in names} == pytest.approx({theirs: wanted[name] for theirs, name in names.items()})
    assert (drive["type"], drive["mode"], drive["axis"]) == ("angular", "force", 0)


NAMES = ["angular", "linear", "X", "Y", "Z", "rotX", "rotY", "rotZ", "transX", "transY", "transZ"]


@pytest.mark.parametrize("kind, axis", [*itertools.product(KINDS, "XYZ")])
def test_drives_under_other_names_are_read_or_named(tmp_path, kind, axis):
    own = {"Revolute": "rot", "Prismatic": "trans"}[kind]
    for name in NAMES:
        source = robot(tmp_path / f"{name}.usda", kind, {name: GAINS}, axis)
        files, told = converted(source, tmp_path / name, "usd")
        entry = next((tmp_path / name).glob("*/*.usda"))
        is_read = name in (KINDS[kind], axis, f"{own}{axis}")
        drive = next(iter(parsed(next((tmp_path / name).glob(f"*/{entry.parent.name}.usda"))).values()))
        assert bool(drive["enabled"]) == is_read, name
        named = [message for code, message, _ in told if code == "usd-read-drive-instance"]
        assert len(named) == (name != KINDS[kind]), (name, named)
        assert not named or ("is read as" in named[0]) == is_read
        # Rules of `check`, which `fix` repeats for its result.
        checked = run("check", source)
        assert ("REP158-1.3.29" in checked.stdout + checked.stderr) == (name != KINDS[kind]), name


def test_fix_names_a_drive_that_engines_ignore(tmp_path):
    source = robot(tmp_path / "r.usda", drives={"X": GAINS})
    done = run("fix", source, "-o", tmp_path / "fixed")
    assert "REP158-1.3.29" in done.stdout + done.stderr, done.stdout + done.stderr


def test_a_follower_loses_its_drive_with_a_word(tmp_path):
    source = robot(tmp_path / "r.usda", drives={"angular": GAINS})
    stage = Usd.Stage.Open(str(source))
    leader = UsdPhysics.RevoluteJoint.Define(stage, "/r/leader")
    body = UsdGeom.Xform.Define(stage, "/r/third").GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(body)
    UsdPhysics.MassAPI.Apply(body).CreateMassAttr(1.0)
    leader.CreateBody0Rel().SetTargets(["/r/base"])
    leader.CreateBody1Rel().SetTargets(["/r/third"])
    stage.GetPrimAtPath("/r/j").CreateRelationship("newton:mimicJoint").SetTargets(["/r/leader"])
    stage.Save()
    _, told = converted(source, tmp_path / "out", "usd")
    assert any(code == "usd-read-drive-instance" and "follows another" in message for code, message, _ in told), told
