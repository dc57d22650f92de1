"""The overlay `mujoco` as MuJoCo's own reader of OpenUSD and Newton read it.

Both run in separate Pythons, URDF_USD_URDF_PYTHON and URDF_USD_NV_PYTHON.
"""

import json

import numpy as np
import pytest
from conftest import convert, in_nv, marks_of, run, source
from pxr import Usd, UsdPhysics
from test_urdf import peers
from worker import worker

#: Images in JPEG; mimic joints and a start beside zero; a floating base with sensors; a planar joint, loops and encoded names.
CHOSEN = ("anymal_c_simple_description", "robotiq_description", "sample_rover", "synthetic_edge_cases")
#: mjINT_IMPLICITFAST.
IMPLICIT_FAST = 3


def in_mujoco(what, path):
    return worker(peers(), "mujoco_usd").ask("mujoco_usd", what, str(path))[0]


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in CHOSEN])
def test_mujoco_reads_the_same_robot_as_from_mjcf(name, tmp_path):
    asset = convert(source(name), tmp_path, "--formats", "usd,mjcf", "--overlays", "mujoco", "--tiers", "high")
    entry = asset.directory / f"{asset.asset_name}.mujoco.usda"
    assert in_mujoco("undeclared", entry) == []
    usd, mjcf = in_mujoco("simulated", entry), in_mujoco("simulated", entry.parent / f"{asset.asset_name}.xml")
    left_out = [found["message"] for found in asset.report["diagnostics"] if found["code"] == "mujoco-left-out"]
    assert len(usd["warnings"]) <= len(left_out), usd["warnings"]
    assert usd["mass"] == pytest.approx(mjcf["mass"], rel=1e-6, abs=2e-3) and usd["contacts"] == mjcf["contacts"] == 0
    assert usd["free"] == [pytest.approx(pose, abs=1e-6) for pose in mjcf["free"]]
    # Prims of joints have encoded names, if USD cannot hold the robot's.
    for kind in ("joints", "actuators"):
        # A planar joint is two slides in MJCF.
        assert len(usd[kind]) + 2 * sum("planar" in message for message in left_out) >= len(mjcf[kind]), kind
    shared = usd["joints"].keys() & mjcf["joints"].keys()
    assert shared
    for joint in shared:
        assert usd["start"][joint] == pytest.approx(mjcf["start"][joint], abs=1e-6), joint
        assert usd["end"][joint] == pytest.approx(mjcf["end"][joint], abs=1e-4), joint
        for fact, value in usd["joints"][joint].items():
            assert value == pytest.approx(mjcf["joints"][joint][fact], rel=1e-5, abs=1e-7), (joint, fact)
    for joint in usd["actuators"].keys() & mjcf["actuators"].keys():
        for fact, value in usd["actuators"][joint].items():
            assert value == pytest.approx(mjcf["actuators"][joint][fact], rel=1e-9, abs=1e-12), (joint, fact)


LINK = """<link name='{name}'><inertial><origin xyz='0.2 0 0'/><mass value='1'/><inertia ixx='.01' iyy='.01' izz='.01' ixy='0' ixz='0' iyz='0'/>
</inertial><collision><geometry><box size='.1 .1 .1'/></geometry></collision></link>"""
JOINT = """<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/><origin xyz='{at} 0 0'/><axis xyz='0 1 0'/>
<limit {limits} effort='50' velocity='2'/><dynamics damping='0.7' friction='0.2'/>{more}</joint>"""


def robot(world=""):
    joints = [
        ("lead", "revolute", "world", "a", "lower='0.3' upper='2'", 0, ""),
        ("follow", "revolute", "a", "b", "lower='-3' upper='3'", 0.4, "<mimic joint='lead' multiplier='-2' offset='0.5'/>"),
        ("locked", "revolute", "a", "c", "lower='1' upper='1'", 0.8, ""),
        ("wheel", "continuous", "a", "d", "", 1.2, ""),
        ("sled", "planar", "a", "e", "", 1.6, ""),
    ]
    parts = [JOINT.format(name=n, kind=k, parent=p, child=c, limits=l, at=at, more=more) for n, k, p, c, l, at, more in joints]
    return f"<robot name='r'><link name='world'>{world}</link>{''.join(parts)}{''.join(LINK.format(name=joint[3]) for joint in joints)}</robot>"


def converted(folder, text, *options, overlays="mujoco"):
    folder.mkdir()
    (folder / "r.urdf").write_text(text)
    done = run("convert", folder / "r.urdf", "-o", folder, "--formats", "usd", "--overlays", overlays, "--json", *options)
    assert done.returncode == 0, done.stderr
    found = {}
    for diagnostic in json.loads(done.stdout)["diagnostics"]:
        found.setdefault(diagnostic["code"], []).append(diagnostic["message"])
    return folder / "r" / "r.mujoco.usda", found


def test_numbers_in_mujoco(tmp_path):
    """Units, signs and defaults of everything that the overlay holds, and what MuJoCo's reader has no word for."""
    (tmp_path / "drives.yaml").write_text("lead: {stiffness: 900, damping: 60, armature: 0.5, friction: 0.25}\nwheel: {mode: velocity, damping: 5}\n")
    ground = "<collision><geometry><box size='9 9 .1'/></geometry></collision>"
    entry, found = converted(tmp_path / "1", robot(ground), "--drives", str(tmp_path / "drives.yaml"))
    (planar, static) = found["mujoco-left-out"]
    assert '"sled" is planar' in planar and '"world" collides with "a"' in static
    assert in_mujoco("undeclared", entry) == []
    model = in_mujoco("simulated", entry)
    assert model["integrator"] == IMPLICIT_FAST and len(model["warnings"]) == 1, model["warnings"]
    lead = {"range": [0.3, 2], "effort": [-50, 50], "armature": 0.5, "damping": 0.7, "friction": 0.25}
    for joint, expected in {
        "lead": lead,
        "follow": lead | {"range": [-3, 3], "armature": 0, "friction": 0.2},
        "locked": lead | {"range": None, "armature": 0, "friction": 0.2},
        "wheel": lead | {"range": None, "armature": 0, "friction": 0.2},
    }.items():
        for fact, value in expected.items():
            assert model["joints"][joint][fact] == (value if value is None else pytest.approx(value, rel=1e-6)), (joint, fact)
    actuators = model["actuators"]
    assert actuators.keys() == {"lead", "locked", "wheel"}
    assert actuators["lead"] == {"gain": 900, "bias": [0, -900, -60], "control": [0.3, 2], "force": [-50, 50], "target": 0.3}
    assert actuators["wheel"] == {"gain": 5, "bias": [0, 0, -5], "control": [-2, 2], "force": [-50, 50], "target": 0}
    assert model["equalities"] == [pytest.approx([0.5, -2]), pytest.approx([1, 0])]
    assert model["start"] == pytest.approx({"lead": 0.3, "follow": -0.1, "locked": 1, "wheel": 0})
    assert abs(model["end"]["locked"] - 1) < 0.01 and abs(model["end"]["follow"] - 0.5 + 2 * model["end"]["lead"]) < 0.02

    # Assumed gains are marked, and without drives the scene is left out.
    stage = Usd.Stage.Open(str(converted(tmp_path / "2", robot())[0]))
    marks = [prim.GetAttribute("urdf:drive:assumed").Get() for prim in stage.Traverse() if prim.GetTypeName() == "MjcActuator"]
    assert marks == [True, True, True]
    entry, _ = converted(tmp_path / "3", robot(), "--drive", "none")
    assert in_mujoco("simulated", entry)["actuators"] == {}


def test_nothing_collides_if_asked(tmp_path):
    """MuJoCo's reader ignores collision groups."""
    apart = robot().replace("xyz='0.4 0 0'", "xyz='0.8 0.01 0'")
    for option, collide in (("all", True), ("none", False)):
        entry, _ = converted(tmp_path / option, apart, "--self-collision", option)
        assert (in_mujoco("simulated", entry)["contacts"] > 0) == collide, option


def test_gains_of_the_source_are_applied_once(tmp_path):
    """A drive of an OpenUSD source is an actuator in the overlay only: Newton would apply both."""
    entry, _ = converted(tmp_path / "1", robot())
    stage = Usd.Stage.Open(str(entry.with_name("r.usda")))
    drive = UsdPhysics.DriveAPI.Apply(stage.GetPrimAtPath("/r/lead"), "angular")
    drive.CreateStiffnessAttr(10)
    drive.CreateDampingAttr(1)
    stage.GetRootLayer().Save()
    done = run("convert", entry.with_name("r.usda"), "-o", tmp_path / "2", "--formats", "usd", "--overlays", "mujoco")
    assert done.returncode == 0, done.stderr
    again = tmp_path / "2" / "r" / "r.mujoco.usda"
    assert in_mujoco("simulated", again)["actuators"]["lead"]["gain"] == pytest.approx(10 * 180 / np.pi, rel=1e-6)
    assert Usd.Stage.Open(str(again.with_name("r.usda"))).GetPrimAtPath("/r/lead").HasAPI(UsdPhysics.DriveAPI)
    assert not Usd.Stage.Open(str(again)).GetPrimAtPath("/r/lead").HasAPI(UsdPhysics.DriveAPI)


def test_newton_reads_the_actuators(tmp_path):
    """Newton reads `mjc:` if its MuJoCo solver registers them. It has no keyframes, so that the robot starts at zero."""
    text = robot().replace("lower='0.3'", "lower='-1'").replace("offset='0.5'", "").replace("lower='1' upper='1'", "lower='-1' upper='1'")
    entry, _ = converted(tmp_path / "1", text)
    mujoco, newton = in_mujoco("simulated", entry), in_nv("newton_hold", str(entry), True)
    assert newton["finite"]
    for joint in ("lead", "follow", "locked", "wheel"):
        assert newton["moved"][joint] == pytest.approx(abs(mujoco["end"][joint] - mujoco["start"][joint]), abs=1e-3), joint
