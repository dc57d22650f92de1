"""Links that fixed joints connect become one body, which moves as they did; frames stay in place."""

import json
import re

import pytest
from conftest import convert, marks_of, run, scratch, source
from pxr import Usd, UsdGeom, UsdPhysics
from test_urdf import peers
from worker import worker

#: A quadruped with sensors, and a gripper with mimic joints: the number of their bodies when merged.
BODIES = {"anymal_c_simple_description": 13, "robotiq_description": 7}

LINK = """<link name='{0}'><inertial><origin xyz='0.1 0 0' rpy='0.2 0 0'/><mass value='{1}'/>
<inertia ixx='.02' iyy='.03' izz='.04' ixy='.001' ixz='0' iyz='.002'/></inertial>
<visual><geometry><box size='.1 .2 .3'/></geometry></visual><collision name='{0}_box'><geometry><box size='.1 .1 .1'/></geometry></collision></link>"""
JOINT = "<joint name='{0}_joint' type='{2}' {3}><parent link='{1}'/><child link='{0}'/><origin xyz='0.3 0 0.1' rpy='0 0 0.5'/><axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='9' velocity='1'/></joint>"
#: Each link with the link above it, the type of their joint, and attributes of the joint.
LINKS = [
    ("arm", "base", "revolute", ""),
    ("cover", "arm", "fixed", ""),
    ("screw", "cover", "fixed", ""),
    ("hook", "screw", "fixed", ""),
    ("hand", "screw", "revolute", ""),
    ("foot", "hand", "fixed", "dont_collapse='true'"),
    ("nail", "foot", "fixed", ""),
    ("sole", "hand", "fixed", ""),
    ("left_tool0", "hand", "fixed", ""),
    ("pad", "arm", "fixed", ""),
    ("lamp", "arm", "fixed", ""),
]
EXTENSIONS = """<gazebo reference='pad'><mu1>0.1</mu1><mu2>0.1</mu2></gazebo>
<gazebo reference='sole_joint'><preserveFixedJoint>true</preserveFixedJoint></gazebo>
<gazebo reference='lamp'><sensor name='view' type='camera'><camera><horizontal_fov>1</horizontal_fov>
<image><width>8</width><height>8</height></image><clip><near>0.1</near><far>9</far></clip></camera></sensor></gazebo>"""


def made(folder, *options):
    links = "".join(LINK.format(name, 1 + index) for index, name in enumerate(["base", *(link[0] for link in LINKS)]))
    joints = "".join(JOINT.format(name, above, kind, more) for name, above, kind, more in LINKS)
    (folder / "r.urdf").write_text(f"<robot name='r'>{links}{joints}{EXTENSIONS}</robot>")
    done = run("convert", folder / "r.urdf", "-o", folder, "--formats", "usd,mjcf,urdf", "--merge-fixed", "--json", *options)
    assert done.returncode == 0, done.stderr
    return folder / "r", {found["code"]: found for found in json.loads(done.stdout)["diagnostics"]}


def test_rules(tmp_path):
    """What is a body, a frame, or gone: by joints, extensions, conventions and patterns."""
    folder, found = made(tmp_path, "--keep", "ho+k", "--keep", "nothing")
    stage = Usd.Stage.Open(str(folder / "r.usda"))
    prims = {prim.GetName(): prim for prim in stage.Traverse()}
    names = {name for name, *_ in LINKS} | {"base"}
    bodies = {name for name in names if name in prims and prims[name].HasAPI(UsdPhysics.RigidBodyAPI)}
    assert bodies == {"base", "arm", "hand", "foot", "sole", "pad"}
    assert names & set(prims) - bodies == {"hook", "left_tool0", "lamp"}
    assert found["links-merged"]["message"].startswith("6 links are merged") and "cover, screw, nail" in found["links-merged"]["message"]
    assert "nothing" in found["keep-unused"]["message"]
    mass = {name: UsdPhysics.MassAPI(prims[name]).GetMassAttr().Get() for name in bodies}
    # The masses are 1 kg for base, 2 kg for arm and so on.
    assert mass == {"base": 1, "arm": 2 + 3 + 4 + 5 + 12, "hand": 6 + 10, "foot": 7 + 8, "sole": 9, "pad": 11}
    # Every collider is somewhere.
    colliders = [prim for prim in Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()) if prim.HasAPI(UsdPhysics.CollisionAPI)]
    assert len(colliders) == len(names)
    result = worker(peers(), "urdf").ask("merged_peers", str(tmp_path / "r.urdf"), str(folder / "r.xml"), str(folder / "r.xml"))[0]
    assert result["bodies"][0] == len(bodies)
    assert set(result["links"]) == bodies | {"hook", "left_tool0", "lamp"}
    assert result["pinocchio"]["frames"] < 1e-6 and result["pinocchio"]["masses"] < 1e-5


def test_frames_are_where_they_were(tmp_path):
    """The frames in the layers, of an asset that keeps every link as a frame."""
    folder, _ = made(tmp_path, "--keep", ".*")
    merged = Usd.Stage.Open(str(folder / "r.usda"))
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path / "plain", "--formats", "usd", "--json")
    assert done.returncode == 0, done.stderr
    plain = Usd.Stage.Open(str(tmp_path / "plain" / "r" / "r.usda"))
    places = []
    for stage in (merged, plain):
        cache = UsdGeom.XformCache()
        links = {name for name, *_ in LINKS}
        places.append({prim.GetName(): cache.GetLocalToWorldTransform(prim) for prim in stage.Traverse() if prim.GetName() in links})
    assert places[0].keys() == places[1].keys() and len(places[0]) == len(LINKS)
    for name, place in places[0].items():
        assert max(abs(place[i][j] - places[1][name][i][j]) for i in range(4) for j in range(4)) < 1e-6, name


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in BODIES])
def test_real_robots(name):
    """Poses and mass matrices are those of the URDF in Pinocchio; the fall is that of all links."""
    robot = source(name)
    options = ("--formats", "mjcf", "--tiers", "high")
    merged = convert(robot, scratch(), *options, "--merge-fixed", "--keep", ".*_FOOT")
    plain = convert(robot, scratch(), *options)
    paths = [str(asset.directory / f"{asset.asset_name}.xml") for asset in (merged, plain)]
    result = worker(peers(), "urdf").ask("merged_peers", str(robot.urdf), *paths)[0]
    assert result["bodies"][0] == BODIES[name] < result["bodies"][1]
    assert result["shapes"][0] == result["shapes"][1]
    assert result["pinocchio"]["links"] > BODIES[name]
    assert result["pinocchio"]["frames"] < 1e-6 and result["pinocchio"]["masses"] < 1e-5, result["pinocchio"]
    assert result["masses"][0] == pytest.approx(result["masses"][1], abs=1e-5)
    assert result["contacts"] == [] and result["finite"]
    assert result["fall"][0] == pytest.approx(result["fall"][1], abs=1e-4)


def test_pairs_of_an_srdf(tmp_path):
    """Bodies do not collide if no pair of their links does."""
    solid = {"arm": ("arm", "cover", "screw", "hook", "lamp"), "foot": ("foot", "nail"), "sole": ("sole",)}
    pairs = [(a, b) for a in solid["arm"] for b in solid["foot"]] + [(a, "sole") for a in solid["arm"][1:]]
    listed = "".join(f"<disable_collisions link1='{a}' link2='{b}' reason='Never'/>" for a, b in pairs)
    (tmp_path / "r.srdf").write_text(f"<robot name='r'>{listed}</robot>")
    folder, _ = made(tmp_path, "--srdf", tmp_path / "r.srdf", "--self-collision", "all")
    excluded = re.findall(r'<exclude[^>]*body1="(\w+)" body2="(\w+)"', (folder / "r.xml").read_text())
    assert {frozenset(pair) for pair in excluded if "arm" in pair and not {"base", "hand", "pad"} & set(pair)} == {frozenset(("arm", "foot"))}
