"""ros-openusd-compliance-checker (`usd-check`) finds no errors in any converted robot.

The checker passes a stage whose layers did not open, so this stands beside test_usd.py, which opens and counts.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import expectation
import kinematics

#: Findings that are accepted, with the reason.
ACCEPTED = {
    "2.2.4": "REP-158 2.7 and 2.8 put a camera's topics under its optical frame, from which frame_id follows; the checker wants "
    "them directly under the body.",
}
#: Findings that are accepted for robots of several trees.
ACCEPTED_OF_SEVERAL_TREES = {
    "1.3.2": "REP-158 1.3 allows one articulation root per connected kinematic tree; the checker counts roots, not trees.",
}


def check(entry):
    command = [Path(sys.executable).with_name("usd-check"), entry, "--export", "--extensions", "--severity", "info", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.stdout.startswith("{"), f"{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def test_no_errors(converted, capsys):
    result = check(converted.entry)
    several = len(expectation.of(kinematics.read(converted.urdf)).trees) > 1
    accepted = ACCEPTED | (ACCEPTED_OF_SEVERAL_TREES if several else {})
    findings = [v for v in result["violations"] if v["check_id"] not in accepted]
    lines = [f"{v['severity']} {v['check_id']} {v['prim_path']}: {v['message']}" for v in findings]
    with capsys.disabled():
        for line in lines:
            print(f"\n{converted.name}: {line}", end="")
    assert [line for line in lines if line.startswith("error")] == []
    assert [line for line in lines if line.startswith("warning")] == []


def test_the_checker_sees_what_is_wrong(conversions, tmp_path):
    """The checker, called as above, is not blind: an asset without its physical units is found out."""
    converted = conversions("sample_arm")
    folder = tmp_path / "copy"
    shutil.copytree(converted.directory, folder)
    entry = folder / converted.entry.name
    entry.write_text(entry.read_text().replace("kilogramsPerUnit = 1\n", "").replace("metersPerUnit = 1\n", ""))
    assert check(entry)["summary"]["errors"] > 0
