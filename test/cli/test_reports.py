"""Machine-readable results of a conversion: report.json, diagnostics, and reproducible output."""

import hashlib
import json
import os

import pytest

import conftest
import kinematics

#: Accepted errors of robots: code → words of the message.
EXPECTED_ERRORS = {}


def test_no_unexpected_errors(converted):
    expected = EXPECTED_ERRORS.get(converted.name, {})
    unexpected = [d for d in converted.found("error") if expected.get(d["code"], "\0") not in d["message"]]
    assert unexpected == []


def test_report_shape(converted):
    report = converted.report
    assert set(report) == {"robot", "status", "source", "options", "revision", "files", "counts", "timings_ms", "diagnostics"}
    assert report == json.loads((converted.directory / "report.json").read_text()), "--json and report.json differ"
    assert report["robot"] == kinematics.read(converted.urdf).name
    assert report["source"]["kind"] == "urdf"
    assert report["source"]["sha256"] == hashlib.sha256(converted.urdf.read_bytes()).hexdigest()
    assert report["revision"] == 1
    assert set(report["counts"]) == {"links", "joints", "meshes", "triangles", "materials"}
    assert all(isinstance(n, (int, float)) and n >= 0 for n in report["timings_ms"].values())
    for found in report["diagnostics"]:
        assert found["severity"] in ("info", "warning", "error")
        assert found["code"] and found["code"] == found["code"].lower() and " " not in found["code"]
        assert found["message"]
        assert set(found["where"]) <= {"file", "line", "column", "element"}


def test_report_lists_the_files(converted):
    listed = {f["path"]: f for f in converted.report["files"]}
    there = {p.relative_to(converted.directory).as_posix() for p in converted.directory.rglob("*") if p.is_file()}
    assert set(listed) == there - {"report.json"}
    for path, entry in listed.items():
        data = (converted.directory / path).read_bytes()
        assert (entry["bytes"], entry["sha256"]) == (len(data), hashlib.sha256(data).hexdigest()), path
    name = converted.asset_name
    expected = {f"{name}.usda", "base.usda", "physics.usda", "ros.usda", "urdf.usda", f"{name}.glb"}
    if any(link.visuals for link in kinematics.read(converted.urdf).links.values()):
        expected |= {"instances.usda", "materials.usda"}
    assert set(listed) >= expected


#: Robots without findings about the text of their URDF.
WITHOUT_FINDINGS = {
    "contact", "corner_colors", "custom", "pendulum", "sensors", "shapes", "simple_humanoid_description", "ur_description",
}  # fmt: skip


def test_findings_name_their_place(converted):
    lines = converted.urdf.read_text(encoding="utf-8").count("\n") + 1
    found = [d for d in converted.report["diagnostics"] if d["where"].get("file") == str(converted.urdf)]
    assert bool(found) == (converted.name not in WITHOUT_FINDINGS)
    for diagnostic in found:
        assert 1 <= diagnostic["where"]["line"] <= lines, diagnostic
        assert diagnostic["where"]["column"] >= 1, diagnostic


def test_the_same_input_gives_the_same_bytes(converted, tmp_path):
    again = conftest.convert(conftest.source(converted.name), tmp_path)
    hashes = lambda c: {f["path"]: f["sha256"] for f in c.report["files"]}
    assert hashes(again) == hashes(converted)
    assert again.report["diagnostics"] == converted.report["diagnostics"]


def test_reconverting_changes_nothing(sample, tmp_path):
    output = tmp_path / "out"
    first = conftest.convert(sample, output)
    before = {p: (os.stat(p).st_mtime_ns, os.stat(p).st_ino) for p in first.directory.rglob("*")}
    again = conftest.convert(sample, output)
    assert again.report["revision"] == 1
    assert {p: (os.stat(p).st_mtime_ns, os.stat(p).st_ino) for p in again.directory.rglob("*")} == before


def test_a_change_leaves_the_rest_untouched(sample, tmp_path):
    output = tmp_path / "out"
    first = conftest.convert(sample, output)
    before = {p.name: p.stat().st_mtime_ns for p in first.directory.glob("*.usd*")}
    text = sample.urdf.read_text()
    assert 'velocity="2.6"' in text
    sample.urdf.write_text(text.replace('velocity="2.6"', 'velocity="2.5"'))
    again = conftest.convert(sample, output)
    assert again.report["revision"] == 2
    changed = {p.name for p in again.directory.glob("*.usd*") if p.stat().st_mtime_ns != before[p.name]}
    assert changed == {"urdf.usda"}


def test_obsolete_files_are_removed_and_foreign_ones_kept(sample, tmp_path):
    output = tmp_path / "out"
    first = conftest.convert(sample, output)
    assert (first.directory / "extended_physics.usda").exists()
    (first.directory / "notes.txt").write_text("mine")
    text = sample.urdf.read_text()
    mimic = next(line for line in text.splitlines() if "<mimic" in line)
    sample.urdf.write_text(text.replace(mimic, ""))
    again = conftest.convert(sample, output)
    assert not (again.directory / "extended_physics.usda").exists()
    assert (again.directory / "notes.txt").read_text() == "mine"


BROKEN = {
    "mesh-missing": ('filename="package://sample_arm/meshes/shoulder.stl"', 'filename="package://sample_arm/meshes/gone.stl"', "gone.stl"),
    "package-unknown": ('filename="package://sample_arm/meshes/shoulder.stl"', 'filename="package://nowhere/shoulder.stl"', "nowhere"),
    "mimic-dangling": ('<mimic joint="left_finger_joint"', '<mimic joint="no_such_joint"', "no_such_joint"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_part_does_not_stop_the_rest(case, sample, tmp_path):
    old, new, word = BROKEN[case]
    text = sample.urdf.read_text()
    assert old in text
    line = text[: text.index(old)].count("\n") + 1
    sample.urdf.write_text(text.replace(old, new))
    made = conftest.convert(sample, tmp_path / "out", errors=case != "mimic-dangling")
    told = [d for d in made.report["diagnostics"] if word in d["message"]]
    assert told, f"no finding about {word}"
    assert told[0]["where"]["line"] == line and told[0].get("help"), told[0]
    assert made.entry.exists() and made.glb.exists()
    # With --strict, the conversion fails, and the asset does not change.
    before = {p: p.stat().st_mtime_ns for p in made.directory.rglob("*")}
    done = conftest.run("convert", sample.urdf, "-o", tmp_path / "out", *sample.options, "--strict")
    assert done.returncode == 1
    assert word in done.stderr
    assert {p: p.stat().st_mtime_ns for p in made.directory.rglob("*")} == before
