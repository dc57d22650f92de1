"""SimReady's profile Robot-Body passes every converted robot; which of its optional features are not met, and why, is in
docs/validators.md."""

import ast
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import explained
from conftest import REAL_ROBOTS, ROBOTS, SAMPLE_ROBOTS, convert, source

PROFILE = ("--profile", "Robot-Body", "--version", "3.0.0")
ROWS = explained.rows("SimReady")


def _robot(name):
    absent = pytest.mark.skipif(name in REAL_ROBOTS and not (ROBOTS / name).is_dir(), reason=f"{name} is not in {ROBOTS} (set URDF_USD_ROBOTS)")
    # It takes long to start: one worker has it look at all robots at once.
    return pytest.param(name, marks=[absent, pytest.mark.xdist_group("simready"), *([pytest.mark.real_robot] if name in REAL_ROBOTS else [])])


def validate(entries, folder):
    """What the validator says of each entry: feature → verdict."""
    python = os.environ.get("URDF_USD_NV_PYTHON")
    if not python:
        pytest.skip("URDF_USD_NV_PYTHON is not set: test/run sets it to a Python with test/requirements-nv.txt")
    asked, answer = folder / "assets.txt", folder / "answer.json"
    asked.write_text("".join(f"{entry}\n" for entry in entries))
    command = [Path(python).with_name("simready-validate"), *PROFILE, "--asset_list", asked, "--output", answer]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    assert answer.is_file(), f"{done.stdout}\n{done.stderr}"
    found = json.loads(answer.read_text())
    return {entry: found[str(entry)]["features_summary"] for entry in entries}


@pytest.fixture(scope="session")
def verdicts(request, tmp_path_factory):
    """Of all robots that are asked for."""
    asked = {item.callspec.params["name"] for item in request.session.items if item.path == Path(__file__) and hasattr(item, "callspec")}
    there = [name for name in sorted(asked) if name not in REAL_ROBOTS or (ROBOTS / name).is_dir()]
    made = {name: convert(source(name), tmp_path_factory.mktemp(name), "--simready", "--formats", "usd") for name in there}
    found = validate([made[name].entry for name in there], tmp_path_factory.mktemp("simready"))
    return {name: found[made[name].entry] for name in there}


def unmet(features):
    """Requirements of optional features that are not met."""
    return {r.removeprefix("com.nvidia.simready.") for f in features.values() for r in ast.literal_eval(f.get("optional requirements", "[]"))}


@pytest.mark.parametrize("name", [_robot(name) for name in (*SAMPLE_ROBOTS, *REAL_ROBOTS)])
def test_the_profile_passes(name, verdicts):
    features = verdicts[name]
    assert len(features) > 15, "features are missing"
    assert [feature for feature, verdict in features.items() if verdict["blocking_failure"]] == []
    assert [r for r in sorted(unmet(features)) if not any(row.covers(r, "", "") for row in ROWS)] == []


@pytest.mark.parametrize(("name", "row"), [pytest.param(*_robot(row.seen_on).values, row, marks=_robot(row.seen_on).marks, id=row.rule) for row in ROWS])
def test_every_explanation_is_needed(name, row, verdicts):
    assert row.rule in unmet(verdicts[name]), f"{name} has no such finding"


@pytest.mark.xdist_group("simready")
def test_the_profile_sees_what_is_wrong(tmp_path):
    """Called as above, it is not blind: bodies without colliders and without a mass are found out."""
    converted = convert(source("sample_arm"), tmp_path / "out", "--simready", "--formats", "usd")
    folder = tmp_path / "sample_arm"
    shutil.copytree(converted.directory, folder)
    entry = folder / converted.entry.name
    entry.write_text(entry.read_text().replace("        @./physics.usda@,\n", "").replace('upAxis = "Z"', 'upAxis = "Y"'))
    features = validate([entry], tmp_path)[entry]
    assert any(verdict["blocking_failure"] for verdict in features.values())
