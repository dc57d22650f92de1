"""Drives, start and self-collision that conversions assume for simulations, in each output as its engine reads it."""

import json
import math
import os
import re
import sys
import textwrap
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import run
from prove.scenes import drives
from pxr import Sdf, Usd, UsdPhysics
from test_urdf import peers
from worker import worker

GRAVITY = 9.81

INERTIAL = "<inertial><origin xyz='{at} 0 0'/><mass value='{mass}'/><inertia ixx='{i}' iyy='{i}' izz='{i}' ixy='0' ixz='0' iyz='0'/></inertial>"
BOX = "<collision><origin xyz='{at} 0 0'/><geometry><box size='0.1 0.1 0.1'/></geometry></collision>"


def link(name, mass=1.0, at=0.0, inertia=0.01, box=None):
    shape = "" if box is None else BOX.format(at=box)
    return f"<link name='{name}'>{INERTIAL.format(at=at, mass=mass, i=inertia)}{shape}</link>"


def joint(name, parent, child, kind="revolute", at=0.0, lower=-3, upper=3, effort=1000, axis="0 1 0", more=""):
    limit = f"<limit lower='{lower}' upper='{upper}' effort='{effort}' velocity='2'/>"
    return (
        f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/><origin xyz='{at} 0 0'/><axis xyz='{axis}'/>{limit}{more}</joint>"
    )


def converted(folder, *parts, options=(), code=0, robot="r"):
    """Converts a robot on a held base; returns its folder, and messages by code."""
    # A folder for each conversion: OpenUSD keeps layers that it has read from a path.
    folder = folder / str(sum(entry.is_dir() for entry in folder.iterdir()))
    folder.mkdir()
    (folder / "r.urdf").write_text(f"<robot name='{robot}'><link name='world'/>{''.join(parts)}</robot>")
    done = run("convert", folder / "r.urdf", "-o", folder, "--formats", "usd,mjcf,sdf", "--overlays", "newton,physx,isaac", "--json", *options)
    assert done.returncode == code, done.stderr
    found = {}
    for diagnostic in json.loads(done.stdout)["diagnostics"]:
        found.setdefault(diagnostic["code"], []).append(diagnostic)
    return folder / robot, found


def controllers(folder):
    """Returns the parameters of the controller for Gazebo by joint: it gives the n-th element of each name to the n-th joint."""
    root = ElementTree.parse(folder / "r.gazebo.sdf").getroot()
    (plugin,) = [plugin for plugin in root.iter("plugin") if plugin.get("name") == "gz::sim::systems::JointTrajectoryController"]
    texts = {}
    for element in plugin:
        texts.setdefault(element.tag, []).append(element.text)
    names = texts.pop("joint_name")
    assert {len(values) for values in texts.values()} == {len(names)}
    number = lambda text: text if text in ("true", "false") else float(text)
    return {name: {tag: number(values[index]) for tag, values in texts.items()} for index, name in enumerate(names)}


def in_mujoco(folder):
    return worker(peers(), "urdf").ask("mjcf_peers", "held_and_described", str(folder / "r.xml"))[0]


def prims(entry):
    """Returns prims by name, and the stage, which must outlive them."""
    stage = Usd.Stage.Open(str(entry))
    return {prim.GetName(): prim for prim in stage.Traverse()} | {"": stage}


#: A pendulum that is horizontal at zero, and a slide along z on it.
PENDULUM = (
    joint("hinge", "world", "arm"),
    link("arm", mass=2, at=0.5, inertia=0.03),
    joint("lift", "world", "plate", kind="prismatic", axis="0 0 1", at=3, lower=-1, upper=1),
    link("plate", mass=4, inertia=0.02),
)
INERTIA = {"hinge": 0.03 + 2 * 0.5**2, "lift": 4.0}
LOAD = {"hinge": 2 * GRAVITY * 0.5, "lift": 4 * GRAVITY}


def gains(name, frequency=10.0, ratio=1.0, sag=0.02):
    """Returns the documented gains (docs/simulate.md)."""
    omega = 2 * math.pi * frequency
    stiffness = max(INERTIA[name] * omega**2, LOAD[name] / (sag if name == "hinge" else sag / 10))
    return stiffness, 2 * ratio * math.sqrt(stiffness * INERTIA[name])


@pytest.mark.parametrize("options", [{}, {"frequency": 2.0, "ratio": 0.7, "sag": 0.005}])
def test_gains_hold_the_pose(tmp_path, options):
    """The same gains stand in every engine's output, follow the documented rule, and hold the pose within the sag."""
    names = {"frequency": "--natural-frequency", "ratio": "--damping-ratio", "sag": "--sag"}
    folder, found = converted(tmp_path, *PENDULUM, options=[text for key, value in options.items() for text in (names[key], str(value))])
    assert len(found["drive-gains-assumed"]) == 1 and "drive-too-weak" not in found
    model = in_mujoco(folder)
    for name in INERTIA:
        expected = gains(name, **options)
        for engine in ("newton", "physx", "isaac"):
            assert drives(folder / f"r.{engine}.usda")[name] == pytest.approx((*expected, 1000, 0, True), rel=1e-5), (name, engine)
        assert np.negative(model["model"]["actuators"][name]["bias"][1:]) == pytest.approx(expected, rel=1e-6)
        assert model["start"]["moved"][name]["by"] <= 1.02 * LOAD[name] / expected[0]
    assert drives(folder / "r.usda") == {}, "the neutral layers have what the URDF says"
    assert (folder / "r.sdf").read_text().count("<drake:controller_gains ") == 2
    for name, controller in controllers(folder).items():
        expected = gains(name, **options)
        assert (controller["position_p_gain"], controller["velocity_p_gain"]) == pytest.approx(expected, rel=1e-6)
        assert controller["assumed"] == "true" and controller["position_cmd_max"] == 1000


def test_drives_that_users_give(tmp_path):
    """A file of drives takes precedence over --drive, which replaces the rule; armature, friction and effort arrive in engines."""
    file = tmp_path / "drives.yaml"
    file.write_text("'.*': {effort: 70}\nhin.*: {mode: position, stiffness: 300, damping: 20, armature: 0.5, friction: 0.25, effort: 60}\nhing: {damping: 1}\n")
    folder, found = converted(tmp_path, *PENDULUM, options=["--drives", str(file)])
    assert [(d["where"]["line"], d["where"]["column"]) for d in found["drive-unused"]] == [(3, 1)]
    assert "drive-gains-assumed" not in found
    assert drives(folder / "r.newton.usda")["hinge"] == pytest.approx((300, 20, 60, 0, False))
    assert drives(folder / "r.newton.usda")["lift"] == pytest.approx((*gains("lift"), 70, 0, False))
    physx = prims(folder / "r.isaac.usda")
    hinge = physx["hinge"]
    assert hinge.GetAttribute("physxJoint:armature").Get() == 0.5
    assert hinge.GetAttribute("physxJointAxis:angular:staticFrictionEffort").Get() == 0.25
    newton = prims(folder / "r.newton.usda")
    assert [newton["hinge"].GetAttribute(f"newton:{name}").Get() for name in ("armature", "friction")] == [0.5, 0.25]
    model = in_mujoco(folder)["model"]
    assert model["joints"]["hinge"]["friction"] == 0.25 and model["joints"]["hinge"]["effort"] == [-60, 60]
    assert model["actuators"]["hinge"]["bias"] == [0, -300, -20]

    folder, found = converted(tmp_path, *PENDULUM, options=["--drive", "velocity:7"])
    assert drives(folder / "r.physx.usda")["hinge"] == pytest.approx((0, 7, 1000, 0, False))
    folder, found = converted(tmp_path, *PENDULUM, options=["--drive", "none"])
    assert drives(folder / "r.physx.usda") == {} and in_mujoco(folder)["model"]["actuators"] == {}
    assert "drive-gains-assumed" not in found


LEG = """<joint name='hip{n}' type='revolute'><parent link='base'/><child link='thigh{n}'/><origin xyz='{x} 0 0'/><axis xyz='0 1 0'/>{limit}</joint>
<link name='thigh{n}'>{mass}</link>
<joint name='knee{n}' type='{knee}'><parent link='thigh{n}'/><child link='shin{n}'/><origin xyz='0 0 -0.4'/><axis xyz='0 0 1'/>{short}</joint>
<link name='shin{n}'>{mass}</link>
<joint name='sole{n}' type='fixed'><parent link='shin{n}'/><child link='foot{n}'/><origin xyz='0 0 -0.4'/></joint>
<link name='foot{n}'><collision><geometry><sphere radius='0.02'/></geometry></collision></link>"""


@pytest.mark.parametrize("base", ["auto", "fixed"])
def test_legs_bear_the_robot(tmp_path, base):
    """Hips bear half of the weight at the distance of the centre of mass, vertical slides half of the weight, vertical hinges none of it; with
    a fixed base, only the legs."""
    limit = "<limit lower='-1' upper='1' effort='1000' velocity='2'/>"
    mass = INERTIAL.format(at=0, mass=0.5, i=1e-4)
    # A short slide: the leg is hardly longer in any configuration.
    short = limit.replace("1'", "0.001'")
    legs = [LEG.format(n=n, x=x, limit=limit, short=short, mass=mass, knee=knee) for n, x, knee in ((0, -0.3, "prismatic"), (1, 0.3, "revolute"))]
    (tmp_path / "r.urdf").write_text(f"<robot name='r'><link name='base'>{INERTIAL.format(at=0, mass=10, i=0.1)}</link>{''.join(legs)}</robot>")
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path, "--formats", "usd", "--overlays", "newton", "--base", base)
    assert done.returncode == 0, done.stderr
    weight, centre = 12 * GRAVITY, -2 * 0.5 * 0.4 / 12
    found = {name: numbers[0] for name, numbers in drives(tmp_path / "r" / "r.newton.usda").items()}
    # The knees move 0.5 kg, or 0.0001 kg·m² about a vertical axis.
    light = {"knee1": 1e-4 * (2 * math.pi * 10) ** 2}
    if base == "auto":
        hip = weight / 2 * math.hypot(0.3, centre) / 0.02
        assert found == pytest.approx({"hip0": hip, "hip1": hip, "knee0": weight / 2 / 0.002, **light}, rel=1e-3)
    else:
        assert found["knee0"] == pytest.approx(0.5 * GRAVITY / 0.002, rel=1e-3) and found["hip0"] < 1000


def test_gazebo_has_its_own_sdf(tmp_path):
    """Its controller holds the start, and leaves joints to plugins of the source; the other SDF has none of it."""
    parts = (joint("wheel", "arm", "disc", kind="continuous", at=0.5), link("disc"), joint("knee", "arm", "shin", lower=0.5, upper=2), link("shin"))
    (tmp_path / "drives.yaml").write_text("wheel: {mode: velocity, damping: 5, effort: 7}\n")
    options = ["--drives", str(tmp_path / "drives.yaml")]
    folder, _ = converted(tmp_path, *PENDULUM, *parts, options=options)
    found = controllers(folder)
    assert found.keys() == {"hinge", "lift", "wheel", "knee"} and found["knee"]["initial_position"] == 0.5
    limits = {f"{kind}_cmd_{side}": value for kind in ("position", "velocity") for side, value in (("min", -7), ("max", 7))}
    zero = ("initial_position", "position_p_gain", "position_cmd_offset", "velocity_cmd_offset")
    assert found["wheel"] == {"assumed": "false", "velocity_p_gain": 5, **limits, **dict.fromkeys(zero, 0)}
    plain, own = ((folder / f"r{part}.sdf").read_text() for part in ("", ".gazebo"))
    around = re.fullmatch("(.*)    <plugin .*</plugin>\n(.*)", own, re.DOTALL)
    assert around[1] + around[2] == plain and "plugin" not in plain
    result, said = worker(sys.executable, "sdformat").ask("sdf_check", os.environ.get("URDF_USD_DEBIAN_ROS", ""), str(folder / "r.gazebo.sdf"))
    assert result == 0 and "Error" not in said and "Warning" not in said, said

    plugins = """<gazebo><plugin filename="gz-sim-joint-position-controller-system" name="gz::sim::systems::JointPositionController">
        <joint_name>hinge</joint_name><p_gain>3</p_gain></plugin><plugin filename="gz_ros2_control-system" name="gz_ros2_control::GazeboSimROS2ControlPlugin"/>
        </gazebo><ros2_control name="c" type="system"><joint name="knee"><command_interface name="position"/></joint></ros2_control>"""
    folder, _ = converted(tmp_path, *PENDULUM, *parts, plugins, options=options)
    assert controllers(folder).keys() == {"lift", "wheel"}
    assert "<p_gain>3</p_gain>" in (folder / "r.sdf").read_text()

    folder, _ = converted(tmp_path, *PENDULUM, options=["--drive", "none"])
    assert not (folder / "r.gazebo.sdf").exists()


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("hinge: {mode: spring}", 1, "effort, velocity, position"),
        ("lift: {effort: 1}\nhinge: {stifness: 3}", 2, "stiffness"),
        ("hinge: {damping: -1}", 1, "damping"),
        ("'(': {damping: 1}", 1, "pattern"),
        ("hinge: stiff", 1, "properties"),
        ("- hinge", 1, "patterns"),
    ],
)
def test_wrong_files_of_drives(tmp_path, text, line, expected):
    (tmp_path / "drives.yaml").write_text(text)
    (tmp_path / "r.urdf").write_text(f"<robot name='r'><link name='world'/>{''.join(PENDULUM)}</robot>")
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path, "--drives", tmp_path / "drives.yaml", "--json")
    (found,) = json.loads(done.stdout)["diagnostics"]
    assert done.returncode == 1 and (found["code"], found["where"]["line"]) == ("drives-file", line)
    assert expected in found["message"] + found["help"]


def test_joints_that_cannot_hold_are_named(tmp_path):
    parts = (joint("hinge", "world", "arm", effort=3), link("arm", mass=2, at=0.5))
    _, found = converted(tmp_path, *parts)
    (weak,) = found["drive-too-weak"]
    assert "hinge (3.000 of 9.810)" in weak["message"]


def test_the_start_is_within_limits(tmp_path):
    """Zero is outside of the limits of the knee, and a follower's position follows."""
    parts = (
        joint("knee", "world", "shin", lower=0.5, upper=2),
        link("shin", at=0.1),
        joint("toe", "shin", "foot", at=0.2, more="<mimic joint='knee' multiplier='-0.5' offset='0.1'/>"),
        link("foot", at=0.1),
        joint("bolt", "world", "pin", kind="prismatic", lower=-0.3, upper=-0.1),
        link("pin"),
    )
    folder, _ = converted(tmp_path, *parts)
    expected = {"knee": 0.5, "toe": -0.15, "bolt": -0.1}
    for entry, angular, linear in (
        ("newton", "newton:angular:position", "newton:linear:position"),
        ("physx", "state:angular:physics:position", "state:linear:physics:position"),
    ):
        stage = Usd.Stage.Open(str(folder / f"r.{entry}.usda"))
        prims = {prim.GetName(): prim for prim in stage.Traverse()}
        degrees = lambda name: math.radians(prims[name].GetAttribute(angular).Get())
        found = {"knee": degrees("knee"), "toe": degrees("toe"), "bolt": prims["bolt"].GetAttribute(linear).Get()}
        assert found == pytest.approx(expected, rel=1e-5), entry
    model = in_mujoco(folder)
    assert dict(zip(model["model"]["joints"], model["model"]["keys"]["home"], strict=True)) == pytest.approx(expected)
    assert all(joint["by"] < 0.01 for joint in model["start"]["moved"].values()), model["start"]
    assert "state:" not in (folder / "physics.usda").read_text()


def test_poses_of_groups_make_one_start(tmp_path):
    """The pose `ready` of the arm and of the hand, chosen by convention; another by name; an unknown name is an error."""
    (tmp_path / "r.srdf").write_text(textwrap.dedent("""
        <robot name="r"><group name="arm"><joint name="hinge"/></group><group name="hand"><joint name="lift"/></group>
        <group_state name="ready" group="arm"><joint name="hinge" value="0.7"/></group_state>
        <group_state name="ready" group="hand"><joint name="lift" value="0.2"/></group_state>
        <group_state name="down" group="arm"><joint name="hinge" value="1.5"/></group_state></robot>"""))
    srdf = ["--srdf", str(tmp_path / "r.srdf")]
    folder, _ = converted(tmp_path, *PENDULUM, options=srdf)
    model = in_mujoco(folder)["model"]
    assert dict(zip(model["joints"], next(iter(model["keys"].values())), strict=True)) == pytest.approx({"hinge": 0.7, "lift": 0.2})
    folder, _ = converted(tmp_path, *PENDULUM, options=[*srdf, "--pose", "down"])
    assert drives(folder / "r.physx.usda")["hinge"][3] == pytest.approx(1.5)
    _, found = converted(tmp_path, *PENDULUM, options=[*srdf, "--pose", "redy"], code=1)
    assert "ready" in found["start-no-such-pose"][0]["help"]


def test_drives_hold_the_pose_that_users_choose(tmp_path):
    """A pose takes precedence over an initial position of ros2_control, also where it is zero."""
    control = """<ros2_control name="c" type="system"><joint name="hinge"><command_interface name="position"/>
        <state_interface name="position"><param name="initial_value">0.9</param></state_interface></joint></ros2_control>"""
    (tmp_path / "r.srdf").write_text("""<robot name="r"><group name="arm"><joint name="hinge"/></group>
        <group_state name="flat" group="arm"><joint name="hinge" value="0"/></group_state></robot>""")
    folder, _ = converted(tmp_path, *PENDULUM, control)
    assert drives(folder / "r.physx.usda")["hinge"][3] == pytest.approx(0.9)
    folder, _ = converted(tmp_path, *PENDULUM, control, options=["--srdf", str(tmp_path / "r.srdf"), "--pose", "flat"])
    assert drives(folder / "r.physx.usda")["hinge"][3] == 0 and "state:" not in (folder / "physx.usda").read_text()


def test_effort_limits_that_users_give(tmp_path):
    """Also of actuators without gains."""
    (tmp_path / "drives.yaml").write_text("hinge: {mode: effort, effort: 60}")
    folder, _ = converted(tmp_path, *PENDULUM, options=["--drives", str(tmp_path / "drives.yaml")])
    model = in_mujoco(folder)["model"]
    assert model["actuators"]["hinge"]["force"] == [-60, 60] and model["actuators"]["hinge"]["bias"] == [0, 0, 0]


#: Boxes of 0.1 m: `b` overlaps `c`, which hangs on `a`; `d` touches nothing at the start.
BOXES = (
    joint("j1", "world", "a"),
    link("a", box=0.0),
    joint("j2", "a", "b", at=0.2),
    link("b", box=0.0),
    joint("j3", "a", "c", at=0.2),
    link("c", box=0.05),
    joint("j4", "a", "d", at=0.6),
    link("d", box=0.0),
)


def filtered(entry):
    stage = Usd.Stage.Open(str(entry))
    pairs = set()
    for prim in stage.Traverse():
        for target in UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets() if prim.HasAPI(UsdPhysics.FilteredPairsAPI) else ():
            pairs.add(frozenset((prim.GetName(), Sdf.Path(target).name)))
    return pairs


def test_links_that_touch_at_the_start_do_not_collide(tmp_path):
    folder, found = converted(tmp_path, *BOXES)
    (note,) = found["links-touch"]
    assert "b and c" in note["message"]
    adjacent = {frozenset("ab"), frozenset("ac"), frozenset("ad")}
    assert filtered(folder / "r.usda") == adjacent | {frozenset("bc")}
    assert in_mujoco(folder)["start"]["contacts"] == []

    folder, found = converted(tmp_path, *BOXES, options=["--self-collision", "all"])
    assert "links-touch" not in found and filtered(folder / "r.usda") == adjacent
    assert {frozenset(pair) for pair in in_mujoco(folder)["start"]["contacts"]} == {frozenset("bc")}

    folder, _ = converted(tmp_path, *BOXES, options=["--self-collision", "none"])
    assert in_mujoco(folder)["start"]["contacts"] == []
    neutral = prims(folder / "r.usda")
    group = neutral["CollisionGroups"].GetChild("robot")
    assert UsdPhysics.CollisionGroup(group).GetFilteredGroupsRel().GetTargets() == [group.GetPath()]
    newton = Usd.Stage.Open(str(folder / "r.newton.usda"))
    roots = [prim for prim in newton.Traverse() if prim.HasAPI(UsdPhysics.ArticulationRootAPI)]
    assert [prim.GetAttribute("newton:selfCollisionEnabled").Get() for prim in roots] == [False]
    physx = Usd.Stage.Open(str(folder / "r.physx.usda"))
    assert physx.GetPrimAtPath(roots[0].GetPath()).GetAttribute("physxArticulation:enabledSelfCollisions").Get() is False
