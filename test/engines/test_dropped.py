"""`urdf_usd check --engine` reports exactly what MuJoCo, Newton and PhysX do not read: an engine drops a feature if its model of the asset is
the same with and without it."""

import json
import math

import dropped
import pytest
from conftest import in_nv, in_physx, run
from pxr import Usd
from test_urdf import peers
from worker import worker


def reported(entry, engine):
    """Returns what is reported about an engine: (code, effect, prim, properties)."""
    report = json.loads(run("check", entry, "--engine", engine, "--select", "engine-*", "--format", "json").stdout)
    (of_engine,) = report["engines"]
    found = of_engine["degradations"]
    assert len(report["diagnostics"]) == len(found)
    return {(one["code"], one["effect"], one["prim"], *one["properties"]) for one in found}


#: Features without an effect on the model that need not be reported, and the reason.
SILENT = {
    "mujoco": {"ball with limits": "the ball itself is reported"},
    "newton": {
        "root beside the body": "a second root of the same articulation",
        "disabled joint": "refused because the rest of the robot hangs on it, not for the property",
    },
}


def judged(engine, folder, approximation, digests):
    """Compares what is reported with the models; returns a list of differences."""
    paths = {name: dropped.write(name, approximation, folder) for name in dropped.FEATURES}
    models = dict(zip(paths, digests([str(path) for path in paths.values()]), strict=True))
    wrong = []
    for name, (_, reference) in dropped.FEATURES.items():
        if reference is None or name in SILENT.get(engine, {}):
            continue
        found = reported(paths[name], engine) - reported(paths[reference], engine)
        effects = {effect for _, effect, *_ in found}
        error, digest = models[name]
        if error:
            actual = {"refused"}
        elif digest == models[reference][1]:
            actual = {"dropped", "approximated"}
        else:
            actual = set()
        if name == "ball" and engine == "mujoco":
            # The joint is gone: the bodies are rigidly connected.
            actual = {"dropped"}
        if bool(effects) != bool(actual) or not effects <= actual:
            wrong.append((name, found, error or actual))
    return wrong


def test_mujoco_drops_what_is_reported(tmp_path):
    ask = lambda paths: worker(peers(), "mujoco_usd").ask("mujoco_usd", "digests", *paths)[0]
    assert judged("mujoco", tmp_path, "convexHull", ask) == []


def test_newton_drops_what_is_reported(tmp_path):
    assert judged("newton", tmp_path, "none", lambda paths: in_nv("newton_digests", *paths)) == []


def test_newton_takes_the_degrees_of_physx_for_radians(tmp_path):
    path = dropped.write("none", "none", tmp_path)
    stage = Usd.Stage.Open(str(path))
    dropped.mimic_of_physx(-30.0)(stage)
    stage.GetRootLayer().Save()
    assert in_nv("newton_joints", str(path))["joints"]["/r/j2"]["coefficients"] == [30, -2]
    assert reported(path, "newton") == {("engine-mimic", "approximated", "/r/j2", "physxMimicJoint:rotZ:offset")}


def test_physx_reads_what_is_not_reported(tmp_path):
    """The words of Newton, those of PhysX before 5.11, and those of PhysX 5.11, each on one joint of a robot: PhysX starts slowly."""
    path = dropped.write("none", "convexHull", tmp_path)
    stage = Usd.Stage.Open(str(path))
    newton = {"armature": 0.5, "velocityLimit": 50.0, "friction": 0.25, "damping": 0.75}
    dropped.author(stage, "/r/j1", "NewtonJointAPI", **{f"newton__{name}": value for name, value in newton.items()})
    dropped.author(stage, "/r/j2", "PhysxJointAPI", physxJoint__armature=0.5, physxJoint__maxJointVelocity=50.0)
    of_axis = {"armature": 0.5, "maxJointVelocity": 0.5, "staticFrictionEffort": 0.25, "dynamicFrictionEffort": 0.25, "viscousFrictionCoefficient": 0.75}
    dropped.author(stage, "/r/j3", "PhysxJointAxisAPI:linear", **{f"physxJointAxis__linear__{name}": value for name, value in of_axis.items()})
    stage.GetRootLayer().Save()
    armature, speed, friction = in_physx("physx_words", str(path))
    assert armature == [[0.5], [0], [0.5]]
    assert speed[0] == pytest.approx([math.radians(50)]) and speed[1][0] > 1e30 and speed[2] == [0.5]
    assert friction == [pytest.approx([0.25, 0.25, math.degrees(0.75)], rel=1e-5), [0, 0, 0], pytest.approx([0.25, 0.25, 0.75])]
    words = {("engine-joint-words", "dropped", "/r/j2", name) for name in ("physxJoint:armature", "physxJoint:maxJointVelocity")}
    assert reported(path, "physx") == words
    # `fix` says it in words that PhysX reads.
    run("fix", path, "-o", tmp_path / "fixed", "--overlays", "newton")
    assert reported(tmp_path / "fixed" / "r" / "r.newton.usda", "physx") == set()


def test_engines_without_openusd_and_other_files_are_named(tmp_path):
    entry = dropped.write("none", "convexHull", tmp_path)
    for engine in ("drake", "gazebo"):
        assert [code for code, *_ in reported(entry, engine)] == ["engine-no-openusd"]
    assert reported(entry, "isaac") == reported(entry, "physx") == set()
    (tmp_path / "r.urdf").write_text("<robot name='r'><link name='a'/></robot>")
    done = run("check", tmp_path / "r.urdf", "--engine", "newton")
    assert done.returncode == 2 and "--engine" in done.stderr
    text = run("check", dropped.write("gains", "convexHull", tmp_path), "--engine", "mujoco,newton", "--select", "engine-*").stdout
    assert "engine-drive" in text and "MuJoCo drops drive:angular:physics:damping" in " ".join(text.split())
