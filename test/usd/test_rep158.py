"""ros-openusd-compliance-checker (`usd-check`) finds nothing in any converted robot: no errors, warnings or infos.

The checker passes a stage whose layers did not open, so this stands beside test_usd.py, which opens and counts.
"""

import shutil
import sys

from pxr import Usd

import expectation
import kinematics
from stage import applied, value
from worker import worker

#: The topics of cameras.
CAMERA_TYPES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/PointCloud2")


def is_accepted(violation, converted):
    """Whether docs/validators.md explains a finding: where topics of sensors stand, and how many articulation roots there are in a
    robot of several trees."""
    if violation["check_id"] == "2.2.4":
        stage = Usd.Stage.Open(str(converted.entry), Usd.Stage.LoadNone)
        prim = stage.GetPrimAtPath(violation["prim_path"])
        return is_camera_topic(prim) or is_in_frame(prim)
    return violation["check_id"] == "1.3.2" and len(expectation.of(kinematics.read(converted.urdf)).trees) > 1


def is_camera_topic(prim):
    """Whether a prim bears a topic of a camera, below an optical frame: a frame that holds a CameraInfo too."""
    frame = prim.GetParent()
    beside = {value(p, "ros:topic:type") for p in frame.GetChildren()}
    return value(prim, "ros:topic:type") in CAMERA_TYPES and "RosFrameAPI" in applied(frame) and "sensor_msgs/msg/CameraInfo" in beside


def is_in_frame(prim):
    """Whether a prim bears a topic of a sensor and stands in a frame that is no body: that has a topic itself, hangs on another frame, or
    is not where the sensor is."""
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


def test_the_checker_sees_what_is_wrong(conversions, tmp_path):
    """The checker, called as above, is not blind: an asset without its physical units is found out."""
    converted = conversions("sample_arm")
    folder = tmp_path / "copy"
    shutil.copytree(converted.directory, folder)
    entry = folder / converted.entry.name
    entry.write_text(entry.read_text().replace("kilogramsPerUnit = 1\n", "").replace("metersPerUnit = 1\n", ""))
    assert check(entry)["summary"]["errors"] > 0
