"""Batches from Python: the same journal and report as the command; on Ray, whose workers are killed, and on Dask."""

import json
import os
import resource
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from batches import PYTHON, journal, rows, write_robots
from conftest import ROOT, run as program
from s3_server import BUCKET, pointers, request, s3, variables  # noqa: F401

COUNT = 30
BROKEN = 7


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    return write_robots(tmp_path_factory.mktemp("robots"), COUNT, BROKEN)


@pytest.fixture(scope="module")
def expected(robots, tmp_path_factory):
    folder = tmp_path_factory.mktemp("expected")
    done = program("batch", robots, "-o", folder, "--formats", "usd", "-j", "2")
    assert done.returncode == 1, done.stderr
    return rows(folder)


def test_a_driver_and_the_command_continue_each_other(urdf_usd, robots, expected, tmp_path):
    import urdf_usd.batch as batch

    with pytest.raises(urdf_usd.OptionError, match="thumbnial"):
        batch.Batch(robots, tmp_path, thumbnial=True)
    with pytest.raises(urdf_usd.Error, match="neither a robot description"):
        batch.Batch(tmp_path, tmp_path)
    opened = batch.Batch(robots, tmp_path, formats=["usd"])
    assert (len(opened.tasks), opened.done) == (COUNT, 0)
    with pytest.raises(urdf_usd.Error, match="another process"):
        batch.Batch(robots, tmp_path, formats=["usd"])
    with ThreadPoolExecutor(2) as pool:
        some = list(pool.map(batch.convert, opened.tasks[:20]))
    # As on a full disk: the row can be recorded later.
    (file,) = (tmp_path / "journal").glob("*.jsonl")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, hard))
    try:
        with pytest.raises(urdf_usd.Error, match="a row can't be written"):
            opened.record(some[0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    for row in some:
        opened.record(row)
    with pytest.raises(urdf_usd.OptionError, match="not to be converted"):
        opened.record(some[0])
    with pytest.raises(urdf_usd.OptionError, match="row"):
        opened.record({"key": "r1"})
    summary = opened.finish()
    assert summary["open"] == COUNT - 20 and summary["robots"] == COUNT
    with pytest.raises(urdf_usd.OptionError, match="finished"):
        opened.record(some[0])
    done = program("batch", robots, "-o", tmp_path, "--formats", "usd", "-j", "2")
    assert f"processed {COUNT - 20} robots" in done.stderr and "20 were done already" in done.stderr
    assert rows(tmp_path) == expected and journal(tmp_path) == sorted(expected)
    again = batch.Batch(robots, tmp_path, formats=["usd"])
    assert (len(again.tasks), again.done) == (0, COUNT)
    with pytest.raises(urdf_usd.OptionError, match="task"):
        batch.convert("{}")


def test_a_batch_in_an_object_store(urdf_usd, robots, s3, tmp_path, monkeypatch):
    import urdf_usd.batch as batch

    for name, value in variables(s3, tmp_path).items():
        monkeypatch.setenv(name, value)
    opened = batch.Batch(f"file://{robots}", f"s3://{BUCKET}/python", formats=["usd"])
    for row in map(batch.convert, opened.tasks[:3]):
        opened.record(row)
    assert opened.finish()["open"] == COUNT - 3
    again = batch.Batch(robots, f"s3://{BUCKET}/python", formats=["usd"])
    assert len(pointers(s3, "python")) == again.done == 3


def test_each_machine_downloads_sources_from_an_object_store(urdf_usd, site, robots, s3, tmp_path, monkeypatch):
    import urdf_usd.batch as batch

    for file in ("r0.urdf", "r1.urdf"):
        request(s3, "PUT", f"/{BUCKET}/sources/{file}", (robots / file).read_bytes())
    request(s3, "PUT", f"/{BUCKET}/sources/robots.csv", b"source\nr0.urdf\nr1.urdf\n")
    machines = [tmp_path / name for name in ("driver", "worker")]
    for name, value in variables(s3, machines[0]).items():
        monkeypatch.setenv(name, value)
    opened = batch.Batch(f"s3://{BUCKET}/sources/robots.csv", tmp_path / "out", formats=["usd"])
    assert len(opened.tasks) == 2
    # Another machine has none of the driver's files.
    machines[0].rename(tmp_path / "gone")
    script = "import json, sys, urdf_usd.batch\nprint(json.dumps([urdf_usd.batch.convert(task) for task in sys.argv[1:]]))"
    environment = os.environ | variables(s3, machines[1]) | {"PYTHONPATH": str(site)}
    done = subprocess.run([sys.executable, "-c", script, *opened.tasks], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for row in json.loads(done.stdout):
        assert row["status"] == "warnings", json.dumps(row)
        opened.record(row)
    assert opened.finish()["open"] == 0
    report = (tmp_path / "out" / "report.jsonl").read_text()
    assert f"s3://{BUCKET}/sources/r1.urdf" in report and str(tmp_path) not in report.replace(str(tmp_path / "out"), "")


def in_schedulers(site, arguments, **environment):
    """Runs the Python with Ray and Dask, and returns its output."""
    environment = {**os.environ, "PYTHONPATH": str(site), "RAY_USAGE_STATS_ENABLED": "0", **environment}
    command = [PYTHON, *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)


RAY = """
import json, os, random, signal, sys, threading, time
from pathlib import Path
import ray, urdf_usd, urdf_usd.batch, urdf_usd.ray

robots, output, table = sys.argv[1:]
killing_ended, uploads_work = Path(table).with_suffix(".killed"), Path(table).with_suffix(".works")
aborts = Path(table).with_suffix(".aborts")
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1")
chance, killed, mark = random.Random(3), [], os.environ["MARK"].encode()

def working():
    # Only workers of this cluster: another test may have one.
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cmdline").read_bytes().startswith(b"ray::convert") and mark in (process / "environ").read_bytes():
                yield int(process.name)
        except OSError:
            pass

def kill():
    while len(killed) < 5:
        time.sleep(chance.uniform(0.05, 0.3))
        if found := list(working()):
            try:
                os.kill(chance.choice(found), signal.SIGKILL)
            except ProcessLookupError:
                continue
            killed.append(time.time())
    killing_ended.touch()

def convert(task):
    key = json.loads(task)["robot"]["key"]
    if key == "r3" and aborts.exists():
        raise KeyError(key)
    if key == "r3" and not uploads_work.exists():
        raise urdf_usd.Error((urdf_usd.Diagnostic("error", "object-store-timeout", "r3 cannot be published"),))
    # The last robot waits, so that a fast machine does not end before the workers are killed.
    while key == "r9" and not killing_ended.exists():
        time.sleep(0.05)
    return urdf_usd.batch.convert(task)

threading.Thread(target=kill, daemon=True).start()
urdf_usd.batch.convert = convert
try:
    urdf_usd.ray.convert(robots, output, formats=["usd"], max_retries=20)
    sys.exit("the fault of r3 is lost")
except urdf_usd.Error as error:
    (fault,) = error.diagnostics
    assert fault.code == "object-store-timeout", fault
lines = (Path(output) / "report.jsonl").read_text().splitlines()
uploads_work.touch()
summary = urdf_usd.ray.convert(robots, output, formats=["usd"], max_retries=20)
# A defect ends the batch at once, with a report; the next run has the journal.
aborts.touch()
few, other = [f"{robots}/{name}.urdf" for name in ("r0", "r3")], Path(output).with_name("other")
try:
    urdf_usd.ray.convert(few, other, formats=["usd"])
    sys.exit("the defect is lost")
except KeyError:
    assert (other / "report.jsonl").exists()
aborts.unlink()
assert urdf_usd.ray.convert(few, other, formats=["usd"])["open"] == 0
rows = urdf_usd.ray.dataset(robots, table, formats=["usd"]).take_all()
Path(table).with_suffix(".json").write_text(json.dumps({"summary": summary, "first": len(lines), "killed": len(killed), "rows": rows}))
"""


def test_ray_converts_every_robot_once_though_workers_are_killed(site, robots, expected, tmp_path):
    done = in_schedulers(site, ["-c", RAY, robots, tmp_path / "out", tmp_path / "table"], MARK=f"mark of {tmp_path}")
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "table.json").read_text())
    assert result["killed"] == 5 and result["first"] == COUNT - 1
    assert result["summary"]["status"] == {"failed": 1, "warnings": COUNT - 1}
    assert rows(tmp_path / "out") == expected and journal(tmp_path / "out") == sorted(expected)
    # The table has the same rows, with findings as a list.
    table = {row["key"]: row for row in result["rows"]}
    assert table.keys() == expected.keys()
    for key, row in expected.items():
        found = {finding["code"]: finding["count"] for finding in table[key]["findings"]}
        same = {name: table[key][name] for name in row if name not in ("findings", "counts")}
        assert (found, same) == (row["findings"], {name: row[name] for name in same})


def test_dask_converts_every_robot_once(site, robots, expected, tmp_path):
    driver = ROOT / "examples" / "scale" / "dask_batch.py"
    done = in_schedulers(site, [driver, robots, tmp_path / "out"])
    assert done.returncode == 1 and f"{COUNT - 1} warnings, 1 failed and 0 open" in done.stdout, done.stdout + done.stderr
    assert rows(tmp_path / "out") == expected and journal(tmp_path / "out") == sorted(expected)
    done = in_schedulers(site, [driver, robots, tmp_path / "out"])
    assert f"0 robots to convert, {COUNT} were converted before" in done.stdout, done.stderr


def test_without_ray_the_error_says_what_to_install(site):
    script = "import urdf_usd.ray\ntry: urdf_usd.ray.convert('a', 'b')\nexcept ImportError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | {"PYTHONPATH": str(site)}, capture_output=True, text=True, check=True)
    assert 'pip install "ray[data]"' in done.stdout
