"""`urdf_usd batch`: many robots, each once, whatever is killed."""

import csv
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import conftest
import pytest
from conftest import SAMPLES, limit_files, run
from PIL import Image
from pxr import Usd

COUNT = 40
#: Descriptions that are broken, by their number. The last is converted in part.
BROKEN = {
    7: "<robot name='cut'><link",
    23: "robot: same",
    31: "<robot name='ring'><link name='a'/><joint name='j' type='fixed'><parent link='a'/><child link='a'/></joint></robot>",
}


def description(number):
    links = "".join(f"<link name='l{k}'><visual><geometry><box size='{k + 1} 1 1'/></geometry></visual></link>" for k in range(3))
    joints = "".join(
        f"<joint name='j{k}' type='revolute'><parent link='l{k}'/><child link='l{k + 1}'/><axis xyz='0 0 1'/>"
        f"<limit lower='-1' upper='1' effort='1' velocity='1'/></joint>"
        for k in range(2)
    )
    return BROKEN.get(number, f"<robot name='same'>{links}{joints}</robot>")


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robots")
    for number in range(COUNT):
        path = folder / f"pkg{number % 3}" / "urdf" / f"r{number}.urdf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(description(number))
    return folder


def batch(*arguments):
    return run("batch", *arguments, "--formats", "usd", "-j", "2")


def rows(folder):
    """Returns the rows of the report without what differs between runs, by key."""
    lines = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    keys = [line["key"] for line in lines]
    assert keys == sorted(set(keys))
    return {line["key"]: {k: v for k, v in line.items() if k not in ("seconds", "finished")} for line in lines}


@pytest.fixture(scope="module")
def undisturbed(robots, tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    done = batch(robots, "-o", folder)
    assert done.returncode == 1, done.stderr
    return folder, done


def test_broken_robots_cost_only_themselves(undisturbed, robots):
    folder, done = undisturbed
    found = rows(folder)
    assert {key for key, row in found.items() if "asset" not in row} == {"pkg1/urdf/r7", "pkg2/urdf/r23"}
    for key, row in found.items():
        assert (folder / "assets" / key).is_dir() or "asset" not in row
        if row["status"] == "errors":
            assert (key, row["findings"]["urdf-joint-to-itself"]) == ("pkg1/urdf/r31", 1)
        elif "asset" in row:
            stage = Usd.Stage.Open(str(folder / row["asset"] / "same.usda"))
            assert stage and (row["counts"]["links"], row["counts"]["joints"]) == (3, 2)
        else:
            assert row["status"] == "failed" and row["message"] and f"{key}: failed: " in done.stderr
    assert f"{COUNT} robots: " in done.stderr and "1 with errors, 2 failed" in done.stderr
    assert "pkg1/urdf/r7" in (folder / "report.html").read_text()


def test_the_report_shows_every_robot(undisturbed, robots, tmp_path):
    folder, _ = undisturbed
    shown = re.findall(r'<img [^>]*src="([^"]+)"', (folder / "report.html").read_text())
    assets = [row["asset"] for row in rows(folder).values() if "asset" in row]
    assert sorted(shown) == sorted(f"{asset}/.thumbs/256x256/{Path(asset).name}.usda.png" for asset in assets)
    for path in shown:
        image = Image.open(folder / path)
        colors = len(image.getcolors(1 << 16))
        # The ring has no shapes.
        assert (image.format, image.size) == ("PNG", (256, 256)) and (colors > 10) == ("/ring/" not in path), path
    source = robots / "pkg0" / "urdf" / "r0.urdf"
    done = batch(source, "-o", tmp_path, "--no-thumbnails")
    assert done.returncode == 0 and not list(tmp_path.rglob("*.png")) and "<img" not in (tmp_path / "report.html").read_text()
    assert batch(source, "-o", tmp_path, "--thumbnail", "--no-thumbnails").returncode == 2


def test_the_next_run_converts_what_changed(undisturbed, robots, tmp_path):
    folder = tmp_path / "again"
    shutil.copytree(undisturbed[0], folder)
    numbers = lambda done: done.stderr.split("processed ")[1].split(" ", 1)[0]
    assert numbers(batch(robots, "-o", folder)) == "0"
    assert numbers(batch(robots, "-o", folder, "--retry")) == "2"
    assert numbers(batch(robots, "-o", folder, "--tiers", "high")) == str(COUNT)
    assert numbers(batch(robots, "-o", folder)) == str(COUNT)
    copied = tmp_path / "copied"
    shutil.copytree(robots, copied)
    shutil.copytree(SAMPLES / "sample_arm", copied / "sample_arm")
    arm = ("--package", f"sample_arm={copied / 'sample_arm'}")
    changed = tmp_path / "changed"
    batch(copied, "-o", changed, *arm)
    (copied / "pkg0" / "urdf" / "r0.urdf").write_text(description(0).replace("same", "other"))
    shutil.rmtree(changed / "assets" / "pkg0" / "urdf" / "r3")
    assert numbers(batch(copied, "-o", changed, *arm)) == "2"
    assert rows(changed)["pkg0/urdf/r0"]["robot"] == "other"
    mesh = next((copied / "sample_arm").rglob("*.stl"))
    mesh.write_bytes(mesh.read_bytes() + b"\0")
    assert numbers(batch(copied, "-o", changed, *arm)) == "0"
    assert numbers(batch(copied, "-o", changed, *arm, "--changed")) == "1"


def test_the_output_is_no_source(undisturbed):
    folder, _ = undisturbed
    before = rows(folder)
    done = batch(folder, "-o", folder)
    assert done.returncode == 1 and "batch-source" in done.stderr and rows(folder) == before, done.stderr


def test_shards_have_one_report(undisturbed, robots, tmp_path):
    for number in (2, 1, 3):
        done = batch(robots, "-o", tmp_path, "--shard", f"{number}/3")
        assert done.returncode in (0, 1), done.stderr
    assert rows(tmp_path) == rows(undisturbed[0])
    assert done.returncode == 1 and " open" not in done.stderr.splitlines()[-1]
    assert run("batch", robots, "-o", tmp_path, "--shard", "4/3").returncode == 2


def test_whatever_is_killed_every_robot_is_converted_once(undisturbed, robots, tmp_path):
    chance, command = random.Random(4), [conftest.program(), "batch", robots, "-o", tmp_path, "--formats", "usd", "-j", "2", "--retry"]
    for _ in range(6):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(chance.uniform(0.02, 0.25))
        workers = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout.split()
        for victim in chance.choice([[], workers[:1], workers]):
            try:
                os.kill(int(victim), signal.SIGKILL)
            except ProcessLookupError:
                pass
        if chance.random() < 0.7:
            process.kill()
        process.wait()
    assert batch(robots, "-o", tmp_path, "--retry").returncode == 1
    assert rows(tmp_path) == rows(undisturbed[0])
    journal = (tmp_path / "journal" / "1-of-1.jsonl").read_text().splitlines()
    good = [row["key"] for row in map(json.loads, journal) if row["status"] in ("ok", "warnings")]
    assert len(good) == len(set(good)) == COUNT - len(BROKEN)
    assert not [path for path in tmp_path.rglob("*.staging*")] + [path for path in tmp_path.rglob(".*.lock")]


def test_manifests(robots, tmp_path):
    source = robots / "pkg0" / "urdf" / "r0.urdf"
    with (tmp_path / "robots.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["source", "key", "formats", "density"], [source, "a", "usd,glb", 1000], [source, "a", "", ""]])
    done = run("batch", tmp_path / "robots.csv", "-o", tmp_path / "out", "--formats", "mjcf", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["robots"] == 2
    assert {path.suffix for path in (tmp_path / "out" / "assets" / "a" / "same").iterdir()} >= {".usda", ".glb"}
    assert {path.suffix for path in (tmp_path / "out" / "assets" / "a-2" / "same").iterdir() if path.is_file()} == {".xml", ".json"}
    assert (tmp_path / "out" / "assets" / "a-2" / "same" / ".thumbs" / "256x256" / "same.png").is_file()
    (tmp_path / "bad.jsonl").write_text('{"source": "none.urdf"}\n{"source": 3}\n{"source": "x", "format": "usd"}\n{\n')
    done = run("batch", tmp_path / "bad.jsonl", "-o", tmp_path / "none")
    assert done.returncode == 1 and not (tmp_path / "none").exists()
    for part in ("bad.jsonl:1", "is not a file", "line 2: source: give a text", 'line 3: there is no field "format"; did you mean "formats"', "line 4: EOF"):
        assert part in done.stderr, done.stderr


def test_paths_in_a_manifest_start_from_its_folder(robots, tmp_path):
    data = tmp_path / "data"
    (data / "packages" / "other").mkdir(parents=True)
    shutil.copy(robots / "pkg0" / "urdf" / "r0.urdf", data)
    (data / "masses.yaml").write_text("l0: 3\n")
    (data / "robots.csv").write_text("source,masses_file,packages\nr0.urdf,masses.yaml,other=packages/other\n")
    (data / "robots.jsonl").write_text('{"source": "r0.urdf", "masses_file": "masses.yaml"}\n')
    found = []
    for manifest, folder in (("robots.csv", data), ("data/robots.csv", tmp_path), ("data/robots.jsonl", tmp_path), (data / "robots.jsonl", Path("/"))):
        done = run("batch", manifest, "-o", tmp_path / "out", "--formats", "usd", "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        found.append(re.search(r"processed (\d+) robot", done.stderr)[1])
        physics = (tmp_path / "out" / "assets" / "r0" / "same" / "physics.usda").read_text()
        assert "physics:mass = 3" in physics
    # The same robot, from any working directory and any of the manifests.
    assert found == ["1", "0", "0", "0"]
    # The content of the file counts.
    (data / "masses.yaml").write_text("l0: 4\n")
    assert run("batch", data / "robots.csv", "-o", tmp_path / "out", "--formats", "usd").returncode == 0
    assert "physics:mass = 4" in (tmp_path / "out" / "assets" / "r0" / "same" / "physics.usda").read_text()


def test_a_pattern_and_a_second_process(robots, tmp_path):
    done = run("batch", str(robots / "*" / "urdf" / "r1*.urdf"), "-o", tmp_path, "--formats", "usd")
    assert done.returncode == 0 and len(rows(tmp_path)) == 11, done.stderr
    with (tmp_path / "journal" / "1-of-1.jsonl").open() as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        done = run("batch", robots, "-o", tmp_path)
        assert done.returncode == 75 and "another process converts this shard" in done.stderr, done.stderr


def test_a_fault_that_needs_a_correction_is_no_temporary_one(robots, tmp_path):
    source = robots / "*" / "urdf" / "r1*.urdf"
    for number, spoil in enumerate((lambda out: out.write_text(""), lambda out: (out / "report.jsonl").mkdir(parents=True), lambda out: ((out / "journal").mkdir(parents=True), (out / "journal" / "x.jsonl").write_text("{}\n")))):
        out = tmp_path / str(number)
        spoil(out)
        done = run("batch", str(source), "-o", out, "--formats", "usd")
        assert done.returncode == 1 and "batch-journal" in done.stderr, done.stderr


def test_a_full_disk_ends_the_batch_and_the_next_run_goes_on(undisturbed, robots, tmp_path):
    # Enough for some rows of the journal.
    done = run("batch", robots, "-o", tmp_path, "--formats", "usd", "-j", "2", preexec_fn=lambda: limit_files(8000))
    assert done.returncode == 75 and "batch-stopped" in done.stderr and "goes on from here" in done.stderr, done.stderr
    assert batch(robots, "-o", tmp_path, "--retry").returncode == 1
    assert rows(tmp_path) == rows(undisturbed[0])
