"""Real robots hold their start in PhysX and in Newton's MuJoCo solver, as they do in MuJoCo itself (test_mjcf.py), and by the same amount."""

import functools

import pytest
from conftest import convert, in_nv, in_physx, marks_of, scratch, source
from test_urdf import peers
from worker import worker

#: An arm on a held base; a gripper with mimic joints and an initial position; a quadruped with limits beside zero.
CHOSEN = ("ur_description", "robotiq_description", "aliengo_description")
#: Maximum distances in a second, rad or m.
HELD = 0.02
#: Maximum difference between engines, rad.
ALIKE = 1e-3


@functools.cache
def held(name):
    """Returns the folder of a robot with overlays and MJCF, and the positions in MuJoCo."""
    asset = convert(source(name), scratch(), "--formats", "usd,mjcf", "--overlays", "newton,physx", "--tiers", "high")
    mjcf = asset.directory / f"{asset.asset_name}.xml"
    return asset, worker(peers(), "urdf").ask("mjcf_peers", "held_and_described", str(mjcf))[0]


def entry(asset, overlay):
    return str(asset.directory / f"{asset.asset_name}.{overlay}.usda")


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in CHOSEN])
def test_in_physx(name):
    asset, mujoco = held(name)
    told = in_physx("physx_hold", entry(asset, "physx"))
    largest = max(joint["by"] for joint in mujoco["start"]["moved"].values())
    assert told["moved"] < HELD and abs(told["moved"] - largest) < HELD / 2, (told, largest)
    assert told["speed"] < 1
    # The start: 0.7929 of the gripper's ros2_control, -0.646 of the limits of the calves.
    extremes = {"ur_description": (0, 0), "robotiq_description": (-0.7929, 0.7929), "aliengo_description": (-0.645772, 0)}
    assert (min(told["start"]), max(told["start"])) == pytest.approx(extremes[name], abs=1e-4)


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in CHOSEN[:2]])
def test_in_newton(name):
    asset, mujoco = held(name)
    told = in_nv("newton_hold", entry(asset, "newton"))
    assert told["finite"] and told["moved"]
    for joint, by in told["moved"].items():
        reference = mujoco["start"]["moved"][joint]["by"]
        assert by < HELD and abs(by - reference) < ALIKE, (joint, by, reference)
