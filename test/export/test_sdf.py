"""Written SDF files in Drake and libsdformat, compared with the robot's URDF in Pinocchio."""

import functools
import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from conftest import convert, scratch, source
from test_mjcf import number
from test_urdf import peers
from worker import worker

#: Tolerances of frames (metres) and mass matrices (relative to the largest entry).
CLOSE = 1e-6
#: Findings about limits that the program repairs, unlike Pinocchio.
MENDED_LIMITS = {"urdf-no-limit", "urdf-half-limit", "urdf-limits-swapped", "urdf-infinite-limit", "urdf-negative-limit"}


@functools.cache
def written(converted):
    """Converts a robot to SDF, and returns the file and the report."""
    folder = scratch()
    again = convert(source(converted.name), folder, "--formats", "sdf")
    return again.directory / f"{again.asset_name}.sdf", again.report


def codes(converted):
    return {found["code"] for found in written(converted)[1]["diagnostics"]}


@functools.cache
def told(converted):
    """Returns Pinocchio's description of the URDF (pinocchio_poses.py; `None` if it rejects it) and Drake's of the SDF (sdf_peers.py)."""
    drake = os.environ.get("URDF_USD_DRAKE_PYTHON")
    if not drake:
        pytest.skip("URDF_USD_DRAKE_PYTHON is not set: test/run sets it to a Python with test/requirements-drake.txt")
    sdf, report = written(converted)
    links = lambda code: [re.search('link "(.*?)"', d["message"])[1] for d in report["diagnostics"] if d["code"] == code]
    names = [link.get("name") for link in ElementTree.parse(converted.urdf).getroot().findall("link")]
    unsound = links("sdf-inertia-repaired")
    pinocchio = worker(peers(), "urdf").ask("pinocchio_poses", str(converted.urdf), links("sdf-mass-missing"), unsound)[0]
    poses, moment = (pinocchio["poses"], pinocchio["moment"]) if pinocchio else ([{}], 0.01)
    renamed = renaming(converted)
    poses = [{renamed.get(name, name): position for name, position in pose.items()} for pose in poses]
    return pinocchio, worker(drake, "drake").ask("sdf_peers", str(sdf), names, poses, unsound, moment)[0]


def loops(converted):
    """Returns the joints of the SDF that close a loop: their child is that of an earlier joint."""
    root = ElementTree.parse(written(converted)[0]).getroot()
    frames = {frame.get("name"): frame.get("attached_to") for frame in root.iter("frame")}
    children = [frames.get(child.text, child.text) for child in root.iterfind("model/joint/child")]
    return len(children) - len({*children})


def renaming(converted):
    """Returns the joints that have another name in the SDF."""
    messages = [d["message"] for d in written(converted)[1]["diagnostics"] if d["code"] == "sdf-renamed"]
    return {found[1]: found[2] for message in messages if (found := re.fullmatch('joint "(.*?)" is named "(.*?)" in the SDF', message))}


def tops(urdf):
    """Returns the root or floating link above each link: floating links are separate trees in an SDF."""
    joints = {joint.find("child").get("link"): joint for joint in ElementTree.parse(urdf).getroot().findall("joint")}

    def top(link):
        seen = []
        while link in joints and joints[link].get("type") not in ("floating", "planar") and link not in seen:
            seen.append(link)
            link = joints[link].find("parent").get("link")
        return link

    return top


@pytest.mark.needs("tree")
def test_drake_moves_the_robot_like_its_urdf(converted):
    pinocchio, drake = told(converted)
    assert drake["bodies"]
    if pinocchio is None:
        return
    top = tops(converted.urdf)
    known = pinocchio["links"]
    for theirs, ours in zip(pinocchio["frames"], drake["frames"], strict=True):
        # The link `world` is not written: it stands for the world.
        ours.setdefault("world", np.eye(4))
        for name in known:
            a, b = (np.linalg.inv(frames[top(name)]) @ frames[name] for frames in (theirs, ours))
            assert np.abs(a - b).max() < CLOSE, name
    if any(top(name) != top(known[0]) for name in known):
        # A floating link does not load its parent.
        return
    for theirs, ours in zip(pinocchio["masses"], drake["masses"], strict=True):
        if np.size(theirs):
            assert np.abs(np.subtract(theirs, ours)).max() < CLOSE * np.abs(theirs).max()


@pytest.mark.needs("moving joint", "tree")
def test_joints_have_the_limits_and_the_damping_of_the_urdf(converted):
    pinocchio, drake = told(converted)
    renamed = renaming(converted)
    for joint in ElementTree.parse(converted.urdf).getroot().findall("joint"):
        name, dynamics = joint.get("name"), joint.find("dynamics")
        ours = drake["joints"].get(renamed.get(name, name), {})
        if "damping" not in ours:
            continue
        assert ours["damping"] == pytest.approx(max(0, number(dynamics, "damping", 0))), name
        theirs = pinocchio["limits"].get(name) if pinocchio else None
        if theirs is None or joint.find("limit") is None or codes(converted) & MENDED_LIMITS:
            continue
        for limit in ("lower", "upper", "velocity", "effort"):
            if joint.get("type") == "continuous" and limit in ("lower", "upper"):
                assert ours[limit] is None, name
            elif limit == "effort" and theirs[limit] == 0:
                # Unknown: a drive has no limit, other joints have no actuator.
                assert ours[limit] in (None, 0), name
            elif joint.find("limit").get(limit) is not None:
                assert ours[limit] == pytest.approx(theirs[limit]), (name, limit)


def test_joints_follow_as_in_the_urdf(converted):
    """libsdformat and Drake do not read mimic joints: Drake reads only its own element."""
    renamed = renaming(converted)
    of = lambda name: renamed.get(name, name)
    root = ElementTree.parse(written(converted)[0]).getroot()
    value = lambda mimic, name: float(mimic.find(name).text)
    found = {
        joint.get("name"): (mimic.get("joint"), value(mimic, "multiplier"), value(mimic, "offset"), value(mimic, "reference"))
        for joint in root.iter("joint")
        if (mimic := joint.find("axis/mimic")) is not None
    }
    assert root.get("version") == ("1.11" if found or "sdf-mimic" in codes(converted) else "1.9")
    for joint in ElementTree.parse(converted.urdf).getroot().findall("joint"):
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        expected = (of(mimic.get("joint")), number(mimic, "multiplier", 1), number(mimic, "offset", 0), 0)
        ours = found.pop(of(joint.get("name")), None)
        if ours is None:
            assert any("mimic" in code for code in codes(converted)), joint.get("name")
        else:
            assert ours[0] == expected[0] and ours[1:] == pytest.approx(expected[1:])
    assert not found


def test_libsdformat_accepts_it(converted):
    root = Path(os.environ.get("URDF_USD_DEBIAN_ROS") or "/nowhere")
    if not (root / "usr/share/sdformat12").is_dir():
        pytest.skip(f"libsdformat12 is not in {root}: test/run unpacks it")
    result, said = worker(sys.executable, "sdformat").ask("sdf_check", str(root), str(written(converted)[0]))
    assert result == 0 and "Valid." in said and "Error" not in said and "Warning" not in said, said


def test_files_that_an_sdf_names_exist(converted):
    sdf, report = written(converted)
    elements = (element for element in ElementTree.parse(sdf).iter() if element.tag in ("uri", "albedo_map"))
    names = {element.text for element in elements if element.text.startswith("meshes/")}
    # An OBJ names its materials, and these their images.
    waiting = [*names]
    while waiting:
        path = sdf.parent / waiting.pop()
        lines = path.read_text().splitlines() if path.suffix in (".obj", ".mtl") else []
        found = {f"meshes/{line.split()[-1]}" for line in lines if line.startswith(("mtllib ", "map_", "norm "))} - names
        names |= found
        waiting += found
    there = {f"meshes/{path.name}" for path in (sdf.parent / "meshes").glob("*")} if names else set()
    assert names == there
    assert there or "mesh" not in sdf.read_text() or "missing" in str(report["diagnostics"])


def test_other_elements_are_written(conversions):
    root = ElementTree.parse(written(conversions("sensors"))[0]).getroot()
    kinds = sorted(sensor.get("type") for sensor in root.iter("sensor"))
    # URDF's own ray sensor lacks values that SDFormat requires; the force sensor at a link without a mass has no joint.
    assert kinds == ["camera", "contact", "depth_camera", "force_torque", "gpu_lidar", "imu", "navsat"]
    assert root.find(".//sensor[@type='force_torque']/..").get("name") == "wrist"
    assert [e.text for e in root.iterfind(".//contact/collision")] == ["palm"]
    assert root.find(".//gpu_lidar/../sensor") is None and root.find(".//sensor/lidar/scan/horizontal/samples").text == "360"
    loop = conversions("four_bar")
    assert loops(loop) == 1
