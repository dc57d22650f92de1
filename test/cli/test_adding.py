"""`convert` adds to the asset of an earlier conversion, and removes nothing that is not asked for."""

import hashlib
import json
import os
import shutil
import xml.etree.ElementTree as ElementTree

import pytest
from pxr import Usd

import conftest
from conftest import limit_files, run

ARM = conftest.SAMPLES / "sample_arm"
URDF = "<robot name='r'><link name='base'>{0}</link><link name='tip'>{0}</link><joint name='j' type='revolute'><parent link='base'/><child link='tip'/>\
<limit lower='-1' upper='{1}' effort='1' velocity='1'/></joint></robot>"
SHAPE = "<visual><geometry><box size='1 1 1'/></geometry></visual>"


def convert(source, out, *options, code=0):
    """Converts to `out`; returns the process, and the report if it was written."""
    done = run("convert", source, "-o", out, *options)
    assert done.returncode == code, done.stderr
    return done


def report(folder):
    """The report of an asset, whose files it must list as they are."""
    told = json.loads((folder / "report.json").read_text())
    for file in told["files"]:
        assert hashlib.sha256((folder / file["path"]).read_bytes()).hexdigest() == file["sha256"], file["path"]
    listed = {file["path"] for file in told["files"]} | {"report.json"}
    assert listed == {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    return told


def states(folder):
    """The inode and time of each file but the report."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "report.json")
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def test_formats_are_added(tmp_path):
    """Other formats stay as they are, with the options that they were written with; formats that share files share them."""
    arm = tmp_path / "sample_arm"
    convert(ARM, tmp_path, "--formats", "usd,glb,urdf", "--overlays", "isaac", "--gltf-compression", "meshopt", "--base", "fixed")
    before, made = states(arm), report(arm)
    done = convert(ARM, tmp_path, "--formats", "mjcf,sdf")
    assert "output-kept" in done.stderr and "usd, glb, urdf, isaac" in done.stderr and "(with --base, --gltf-compression)" in done.stderr, done.stderr
    after, told = states(arm), report(arm)
    assert {name: after.get(name) for name in before} == before
    assert (told["revision"], told["options"]["gltf.compression"], told["options"]["base"]) == (made["revision"] + 1, "meshopt", "fixed")
    stage = Usd.Stage.Open(str(arm / "sample_arm.isaac.usda"))
    assert "IsaacRobotAPI" in str(stage.GetDefaultPrim().GetMetadata("apiSchemas"))
    # The added format has the options of the asset: its base is fixed, too.
    model = ElementTree.parse(arm / "sample_arm.xml")
    assert model.find("worldbody/body") is not None and model.find(".//freejoint") is None
    # Again, and with nothing to add.
    assert "is up to date" in convert(ARM, tmp_path, "--formats", "glb").stderr
    assert states(arm) == after

    # An option that is given takes precedence.
    convert(ARM, tmp_path, "--formats", "mjcf", "--gltf-compression", "none", "--formats", "glb")
    assert report(arm)["options"].get("gltf.compression") is None

    # Removed only on request.
    convert(ARM, tmp_path, "--formats", "mjcf", "--replace")
    assert {path.name for path in arm.iterdir()} == {"sample_arm.xml", "mjcf", "report.json"} and report(arm)["options"] == {"formats": ["mjcf"]}


def test_a_changed_source_changes_all_formats(tmp_path):
    file, out = tmp_path / "r.urdf", tmp_path / "out"
    file.write_text(URDF.format(SHAPE, 1))
    convert(file, out, "--formats", "usd,urdf")
    file.write_text(URDF.format(SHAPE, 2))
    convert(file, out, "--formats", "mjcf")
    report(out / "r")
    model = ElementTree.parse(out / "r" / "r.xml")
    stage = Usd.Stage.Open(str(out / "r" / "r.usda"))
    (joint,) = (prim for prim in stage.Traverse() if prim.GetTypeName() == "PhysicsRevoluteJoint")
    assert [joint.get("range").split()[1] for joint in model.iter("joint") if joint.get("name") == "j"] == ["2"]
    assert joint.GetAttribute("physics:upperLimit").Get() == pytest.approx(114.59156)
    assert 'upper="2"' in (out / "r" / "r.urdf").read_text()


def test_another_source_of_the_name_is_an_error(tmp_path):
    out = tmp_path / "out"
    for n in (1, 2):
        (tmp_path / f"{n}").mkdir()
        (tmp_path / f"{n}" / "r.urdf").write_text(URDF.format(SHAPE, n))
    convert(tmp_path / "1" / "r.urdf", out)
    before = states(out / "r")
    done = convert(tmp_path / "2" / "r.urdf", out, "--json", code=1)
    told = json.loads(done.stdout)
    assert (told["status"], [found["code"] for found in told["diagnostics"]]) == ("failed", ["output-other-source"])
    assert all(str(tmp_path / n / "r.urdf") in told["diagnostics"][0]["message"] for n in ("1", "2")) and "--replace" in done.stderr
    assert states(out / "r") == before
    # A copy of the source is the same source; a text has no place.
    shutil.copy(tmp_path / "1" / "r.urdf", tmp_path / "copy.urdf")
    convert(tmp_path / "copy.urdf", out)
    assert run("convert", "-", "-o", out, input=URDF.format(SHAPE, 3)).returncode == 1
    convert(tmp_path / "2" / "r.urdf", out, "--replace")
    assert states(out / "r") != before


def test_an_asset_with_unknown_options_loses_nothing(tmp_path):
    """That of an older version: its files stay unless they are written again, or --replace is given."""
    convert(ARM, tmp_path, "--formats", "glb")
    path = tmp_path / "sample_arm" / "report.json"
    old = json.loads(path.read_text())
    del old["options"], old["source"]["file"]
    path.write_text(json.dumps(old))
    done = convert(ARM, tmp_path, "--formats", "mjcf", code=1)
    assert "output-would-remove" in done.stderr and "sample_arm.glb" in done.stderr and "--replace" in done.stderr
    assert (tmp_path / "sample_arm" / "sample_arm.glb").is_file()
    convert(ARM, tmp_path, "--formats", "mjcf,glb")
    # `fix` replaces only what `fix` wrote.
    done = run("fix", convert_to_usd(tmp_path / "usd"), "-o", tmp_path)
    assert done.returncode == 1 and "was converted from package://sample_arm" in done.stderr and report(tmp_path / "sample_arm")


def convert_to_usd(folder):
    convert(ARM, folder, "--formats", "usd")
    return folder / "sample_arm" / "sample_arm.usda"


def test_nothing_is_left_beside_the_asset(tmp_path):
    """No lock, no staging directory: neither after success nor after failure."""
    convert(ARM, tmp_path, "--formats", "glb")
    convert(ARM, tmp_path, "--formats", "mjcf")
    assert os.listdir(tmp_path) == ["sample_arm"]
    (tmp_path / "empty").mkdir()
    done = run("convert", ARM, "-o", tmp_path / "empty", "--formats", "glb", preexec_fn=lambda: limit_files(50_000))
    assert done.returncode == 1 and "ulimit" in done.stderr
    assert os.listdir(tmp_path / "empty") == []
    # A file that another program made is no obstacle.
    lock = tmp_path / ".sample_arm.lock"
    lock.touch()
    convert(ARM, tmp_path, "--formats", "glb", "--replace")
    assert not lock.exists()
