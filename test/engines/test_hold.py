"""PhysX: mimic joints that bear a load, and a quadruped, which holds its start as in MuJoCo (test_mjcf.py). Others are in test_table.py."""

import pytest
from conftest import convert, in_physx, marks_of, run, scratch, source
from test_urdf import peers
from worker import worker

QUADRUPED = "aliengo_description"
#: Maximum distances in a second, rad or m.
HELD = 0.02


BODY = "<link name='{}'><inertial><origin xyz='{} 0 0'/><mass value='1'/><inertia ixx='.01' iyy='.01' izz='.01' ixy='0' ixz='0' iyz='0'/></inertial></link>"
JOINT = """<joint name='{name}' type='{kind}'><parent link='base'/><child link='{name}_link'/><origin xyz='{at} 0 0'/><axis xyz='{axis}'/>
<limit lower='-1' upper='1' effort='1000' velocity='1'/>{mimic}</joint>"""


def test_mimic_joints_follow_in_physx(tmp_path):
    """The followers of a slide and of a hinge have no drive, and bear a load."""
    joints = [("slide", "prismatic", "0 0 1", ""), ("slider", "prismatic", "0 0 1", "<mimic joint='slide'/>"),
              ("hinge", "revolute", "0 1 0", ""), ("hinged", "revolute", "0 1 0", "<mimic joint='hinge' multiplier='2'/>")]  # fmt: skip
    parts = [JOINT.format(name=n, kind=k, at=i, axis=a, mimic=m) + BODY.format(f"{n}_link", 0.3) for i, (n, k, a, m) in enumerate(joints)]
    anchor = "<link name='world'/><joint name='w' type='fixed'><parent link='world'/><child link='base'/></joint>"
    (tmp_path / "r.urdf").write_text(f"<robot name='r'>{anchor}{BODY.format('base', 0)}{''.join(parts)}</robot>")
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path, "--formats", "usd", "--overlays", "newton,physx")
    assert done.returncode == 0, done.stderr
    for overlay in ("physx", "newton"):
        end = in_physx("physx_hold", str(tmp_path / "r" / f"r.{overlay}.usda"))["end"]
        slides, hinges = sorted(sorted(end, key=abs)[:2]), sorted(end, key=abs)[2:]
        assert slides[0] < -1e-4 and slides[0] == pytest.approx(slides[1], abs=1e-5), (overlay, end)
        assert hinges[0] > 1e-3 and hinges[1] == pytest.approx(2 * hinges[0], rel=1e-2), (overlay, end)


@pytest.mark.parametrize("name", [pytest.param(QUADRUPED, marks=marks_of(QUADRUPED))])
def test_a_quadruped_holds_its_start(name):
    asset = convert(source(name), scratch(), "--formats", "usd,mjcf", "--overlays", "physx", "--tiers", "high")
    mujoco = worker(peers(), "urdf").ask("mjcf_peers", "held_and_described", str(asset.directory / f"{asset.asset_name}.xml"))[0]
    held = in_physx("physx_hold", str(asset.directory / f"{asset.asset_name}.physx.usda"))
    largest = max(joint["by"] for joint in mujoco["start"]["moved"].values())
    assert held["moved"] < HELD and abs(held["moved"] - largest) < HELD / 2, (held, largest)
    assert held["speed"] < 1
    # It starts at the limits of its calves, beside zero.
    assert (min(held["start"]), max(held["start"])) == pytest.approx((-0.645772, 0), abs=1e-4)
