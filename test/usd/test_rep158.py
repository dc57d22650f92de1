"""ros-openusd-compliance-checker (`usd-check`) has no findings in converted robots: no errors, warnings or infos.

The checker accepts a stage whose layers did not open; test_usd.py checks that they do.
"""

import json
import re
import shutil
import sys

from pxr import Usd, UsdPhysics

import expectation
import kinematics
from conftest import ROOT, run
from stage import applied, value
from worker import worker

#: The topics of cameras.
CAMERA_TYPES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/PointCloud2")


def is_accepted(violation, converted):
    """Returns whether docs/validators.md explains a finding: the places of sensor topics, materials for contacts, classes of
    instances, and several articulation roots in a robot of several trees."""
    if violation["check_id"] == "1.2.8":
        return bool(re.search("Inherits arc targeting '/[^/]*/Classes/", violation["message"]))
    if violation["check_id"] in ("2.2.4", "3.1.1"):
        stage = Usd.Stage.Open(str(converted.entry), Usd.Stage.LoadNone)
        prim = stage.GetPrimAtPath(violation["prim_path"])
        return prim.HasAPI(UsdPhysics.MaterialAPI) or is_camera_topic(prim) or is_in_frame(prim)
    return violation["check_id"] == "1.3.2" and len(expectation.of(kinematics.read(converted.urdf)).trees) > 1


def is_camera_topic(prim):
    """Returns whether a prim has a camera topic below an optical frame: a frame that also has a CameraInfo."""
    frame = prim.GetParent()
    beside = {value(p, "ros:topic:type") for p in frame.GetChildren()}
    return value(prim, "ros:topic:type") in CAMERA_TYPES and "RosFrameAPI" in applied(frame) and "sensor_msgs/msg/CameraInfo" in beside


def is_in_frame(prim):
    """Returns whether a prim has a sensor topic in a frame that is not a body: one that has a topic itself, is in another frame, or is not
    at the sensor."""
    return {"RosTopicAPI"} <= set(applied(prim)) and "RosFrameAPI" in applied(prim.GetParent())


def check(entry):
    return worker(sys.executable, "rep158").ask("rep158_check", entry)[0]


def test_finds_nothing_unexplained(converted, capsys):
    result = check(converted.entry)
    findings = [v for v in result["violations"] if not is_accepted(v, converted)]
    lines = [f"{v['severity']} {v['check_id']} {v['prim_path']}: {v['message']}" for v in findings]
    with capsys.disabled():
        for line in lines:
            print(f"\n{converted.name}: {line}", end="")
    assert lines == []


def test_the_checker_finds_faults(conversions, tmp_path):
    """The checker, run as above, reports an asset without units."""
    converted = conversions("sample_arm")
    folder = tmp_path / "copy"
    shutil.copytree(converted.directory, folder)
    entry = folder / converted.entry.name
    entry.write_text(entry.read_text().replace("kilogramsPerUnit = 1\n", "").replace("metersPerUnit = 1\n", ""))
    assert check(entry)["summary"]["errors"] > 0


def test_vendor_opinions_do_not_depend_on_the_name_of_the_file(tmp_path):
    """An overlay of ours is accepted under any name; opinions in a layer that all programs read are not."""
    text = (ROOT / "test" / "usd" / "cases" / "vendor_opinions.usda").read_text()
    for name in ("robot.usda", "robot_isaac.usda", "mjc_graph.usda"):
        (tmp_path / name).write_text(text)
        found = json.loads(run("check", tmp_path / name, "--select", "REP158-1.4.1", "--format", "json").stdout)["diagnostics"]
        assert len(found) == 5, found
    done = run("convert", ROOT / "examples" / "sample_arm" / "urdf" / "sample_arm.urdf", "-o", tmp_path / "out", "--overlays", "isaac,newton,openpbr")
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "out" / "sample_arm"
    for overlay in ("isaac", "newton", "openpbr"):
        entry = folder / f"sample_arm.{overlay}.usda"
        (folder / f"{overlay}.usda").rename(folder / f"x_{overlay[0]}.usda")
        entry.write_text(entry.read_text().replace(f"{overlay}.usda@", f"x_{overlay[0]}.usda@", 1))
        found = json.loads(run("check", entry, "--select", "REP158-1.4.1", "--format", "json").stdout)["diagnostics"]
        assert found == [], found
