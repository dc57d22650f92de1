"""Written MJCF files in MuJoCo, compared with the robot's URDF in Pinocchio and MuJoCo."""

import functools
import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh

from conftest import SAMPLE_ROBOTS, convert, scratch, source
from kinematics import rotation
from test_urdf import peers, rewritten
from worker import worker

#: Tolerances of frames (metres) and mass matrices (relative to the largest entry).
CLOSE = 1e-6
#: MuJoCo's largest position, for a joint with a limit on one side.
UNLIMITED = 1e10


@functools.cache
def written(converted):
    """Converts a robot to MJCF, and returns the file and the report."""
    folder = scratch()
    again = convert(source(converted.name), folder, "--formats", "mjcf")
    return again.directory / f"{again.asset_name}.xml", again.report


@functools.cache
def told(converted):
    """Describes the MJCF in MuJoCo, and its differences from Pinocchio (mjcf_peers.py)."""
    mjcf, report = written(converted)
    links = lambda code: [re.search('link "(.*?)"', d["message"])[1] for d in report["diagnostics"] if d["code"] == code]
    arguments = (str(converted.urdf), str(mjcf), links("mjcf-mass-missing"), links("mjcf-inertia-repaired"))
    return worker(peers(), "urdf").ask("mjcf_peers", *arguments)[0]


def test_mujoco_moves_the_robot_like_its_urdf(converted):
    answer = told(converted)
    pinocchio = answer["pinocchio"]
    if pinocchio is not None:
        assert pinocchio["frames"] < CLOSE and pinocchio["masses"] < CLOSE, pinocchio
    assert answer["mujoco"] is None or answer["mujoco"] < CLOSE, answer["mujoco"]
    assert answer["model"]["bodies"]


def number(element, name, otherwise=None):
    """Returns a finite number of the URDF; others are reported by the program."""
    try:
        value = float(element.get(name))
    except (TypeError, ValueError, AttributeError):
        return otherwise
    return value if math.isfinite(value) else otherwise


@pytest.mark.needs("moving joint")
def test_joints_keep_their_limits_and_dynamics(converted):
    joints, equalities = told(converted)["model"]["joints"], told(converted)["model"]["equalities"]
    root = ElementTree.parse(converted.urdf).getroot()
    for joint in root.findall("joint"):
        name, kind, limit, dynamics = joint.get("name"), joint.get("type"), joint.find("limit"), joint.find("dynamics")
        if name not in joints or kind not in ("revolute", "prismatic", "continuous"):
            continue
        model = joints[name]
        # Without both limits the joint is unlimited (urdf-no-limit).
        if kind != "continuous" and limit is not None and {"lower", "upper"} & {*limit.keys()}:
            low, high = sorted((number(limit, "lower", 0), number(limit, "upper", 0)))
            if low < high:
                assert model["range"] == pytest.approx((max(low, -UNLIMITED), min(high, UNLIMITED))), name
            else:
                held = [e["data"][0] for e in equalities if e.get("joints") == [name, None]]
                assert model["range"] is None and held == pytest.approx([low]), name
        else:
            assert model["range"] is None, name
        # A negative limit is read without its sign (urdf-negative-limit).
        effort = abs(number(limit, "effort", 0))
        assert model["effort"] == (pytest.approx([-effort, effort]) if effort else None), name
        for key in ("damping", "friction"):
            assert model[key] == pytest.approx(max(0, number(dynamics, key, 0))), (name, key)


def test_joints_follow_as_in_the_urdf(converted):
    model = told(converted)["model"]
    root = ElementTree.parse(converted.urdf).getroot()
    single = {j.get("name") for j in root.findall("joint") if j.get("type") in ("revolute", "prismatic", "continuous")}
    found = {tuple(e["joints"]): e["data"][:5] for e in model["equalities"] if e.get("joints") and e["joints"][1]}
    for joint in root.findall("joint"):
        mimic = joint.find("mimic")
        ends = (joint.get("name"), mimic.get("joint")) if mimic is not None else (None, None)
        if ends in found:
            expected = [number(mimic, "offset", 0), number(mimic, "multiplier", 1), 0, 0, 0]
            assert found.pop(ends) == pytest.approx(expected), ends
        elif single.issuperset(ends) and ends[0] in model["joints"] and ends[1] in model["joints"] and ends[0] != ends[1]:
            codes = {d["code"] for d in written(converted)[1]["diagnostics"]}
            assert any("mimic" in code for code in codes), ends
    assert not found


@pytest.mark.needs("shape")
def test_visuals_and_colliders_are_separate(converted):
    for geom in told(converted)["model"]["geoms"]:
        assert (geom["group"], geom["collides"]) in ((2, False), (3, True)), geom


@pytest.mark.needs("drive")
def test_actuators_have_the_ranges_of_their_joints(converted):
    model = told(converted)["model"]
    for joint, actuator in model["actuators"].items():
        assert actuator["force"] == model["joints"][joint]["effort"], joint


def test_robots_hold_their_start(converted):
    """Nothing touches at the start, and every driven joint holds it for a second, if its effort limit allows."""
    answer = told(converted)
    start, model = answer["start"], answer["model"]
    assert start["warnings"] == 0 and start["time"] == pytest.approx(1)
    # Links may stand on the ground.
    assert [pair for pair in start["contacts"] if "world" not in pair] == []
    weak = [d["message"] for d in written(converted)[1]["diagnostics"] if d["code"] == "drive-too-weak"]
    for name, actuator in model["actuators"].items():
        joint, effort = start["moved"][name], model["joints"][name]["effort"]
        is_strong = effort is None or abs(joint["load"]) < effort[1]
        assert is_strong or any(name in message for message in weak), name
        holds = actuator["bias"][1] < 0
        if holds and not weak:
            assert joint["by"] < (0.005 if joint["slides"] else 0.1), (name, joint)


def test_drives_become_actuators(conversions):
    """The drives of test/robots/drives.urdf. Without gains in the source, hinges and slides are held, and wheels have their velocity."""
    model = told(conversions("drives"))["model"]
    # Control range, force range, and whether there is stiffness.
    expected = {
        "shoulder": ([-2, 2], [-80, 80], True),
        "elbow": ([-6, 6], [-20, 20], False),
        "slide": ([-0.02, 0.05], [-15, 15], True),
        "torque": ([-1, 1], [-7, 7], True),
        "geared": ([-1, 1], [-9, 9], True),
        "limp": ([-1, 1], [-1, 1], True),
    }
    found = {name: (a["control"], a["force"], a["bias"][1] < 0) for name, a in model["actuators"].items()}
    assert found == expected
    start = dict(zip(model["joints"], model["keys"]["initial_positions"], strict=True))
    assert start == {"shoulder": 0.5, "elbow": 0, "slide": 0.01, "torque": 0, "geared": 0, "limp": 0}


@pytest.mark.parametrize("name", SAMPLE_ROBOTS)
def test_meshes_have_the_poses_of_the_urdf(conversions, name):
    urdf, _ = rewritten(conversions(name), "stl")
    boxes = told(conversions(name))["model"]["boxes"]
    expected = {}
    for link in ElementTree.parse(urdf).getroot().findall("link"):
        for visual in link.findall("visual"):
            mesh, origin = visual.find("geometry/mesh"), visual.find("origin")
            if mesh is None:
                continue
            triple = lambda element, key, otherwise: [float(x) for x in (element.get(key, otherwise) if element is not None else otherwise).split()]
            points = trimesh.load(urdf.parent / mesh.get("filename"), process=False).vertices * triple(mesh, "scale", "1 1 1")
            points = points @ rotation(triple(origin, "rpy", "0 0 0")).T + triple(origin, "xyz", "0 0 0")
            expected.setdefault(link.get("name"), []).extend([points.min(axis=0), points.max(axis=0)])
    assert boxes.keys() == expected.keys() and boxes
    for link, corners in expected.items():
        box = np.array([np.min(corners, axis=0), np.max(corners, axis=0)])
        assert np.abs(box - boxes[link]).max() < 1e-5, link


@pytest.mark.parametrize("name", ["four_bar", "sensors", "sample_rover"])
def test_other_elements_are_written(conversions, name):
    model = told(conversions(name))["model"]
    kinds = [equality["type"] for equality in model["equalities"]]
    expected = {
        # A revolute joint closes the loop: two points on its axis coincide.
        "four_bar": lambda: kinds == [0, 0],
        "sensors": lambda: len(model["sensors"]) == 9 and len(model["cameras"]) == 2,
        "sample_rover": lambda: len(model["cameras"]) == 1 and all(0 < angle < 180 for angle in model["cameras"].values()),
    }
    assert expected[name](), model


def test_loops_close_where_the_robot_is_assembled(conversions):
    """The two ends of the loop joint of test/robots/four_bar.urdf are sites."""
    assert sum("_parent" in site or "_child" in site for site in told(conversions("four_bar"))["model"]["sites"]) == 4
