"""`urdf_usd batch` in object stores, with a server of S3 that fails."""

import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time

import conftest
import pytest
from conftest import SAMPLES
from s3_server import BUCKET, PYTHON, SECRET, Server, at_random, environment, get, names, pointers, request, s3  # noqa: F401
from test_batch import BROKEN, description

COUNT = 36
GOOD = {f"r{number:02}" for number in range(COUNT) if number not in BROKEN}


def rows(port, prefix):
    lines = [json.loads(line) for line in get(port, f"{prefix}/report.jsonl").splitlines()]
    assert [line["key"] for line in lines] == sorted({line["key"] for line in lines})
    return {line["key"]: {k: v for k, v in line.items() if k not in ("seconds", "finished")} for line in lines}


def command(robots, prefix, *more):
    return [conftest.program(), "batch", robots, "-o", f"s3://{BUCKET}/{prefix}", "--formats", "usd", "-j", "2", *more]


def batch(robots, prefix, port, cache, *more, **variables):
    return subprocess.run(
        command(robots, prefix, *more), env=environment(port, cache, **variables), capture_output=True, text=True, timeout=120, check=False
    )


def processed(done):
    return int(done.stderr.split("processed ")[1].split(" ", 1)[0])


@pytest.fixture(scope="module")
def robots(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robots")
    for number in range(COUNT):
        (folder / f"r{number:02}.urdf").write_text(description(number))
    return folder


@pytest.fixture(scope="module")
def undisturbed(robots, s3, tmp_path_factory):
    done = batch(robots, "undisturbed", s3, tmp_path_factory.mktemp("cache"))
    assert done.returncode == 1 and f"{COUNT} robots: " in done.stderr, done.stderr
    return rows(s3, "undisturbed")


def test_assets_are_those_of_a_folder_and_the_next_run_has_nothing_to_do(robots, s3, undisturbed, tmp_path):
    local = subprocess.run(
        [conftest.program(), "batch", robots, "-o", tmp_path / "out", "--formats", "usd"], capture_output=True, text=True, check=False
    )
    assert local.returncode == 1, local.stderr
    for key, pointer in pointers(s3, "undisturbed").items():
        if not pointer["asset"]:
            continue
        name, revision = pointer["asset"]["folder"].removeprefix(f"assets/{key}/").split("/")
        folder = tmp_path / "out" / "assets" / key / name
        assert {file["path"] for file in pointer["asset"]["files"]} == {
            str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != "report.json"
        }
        for file in pointer["asset"]["files"]:
            assert hashlib.sha256((folder / file["path"]).read_bytes()).hexdigest() == file["sha256"]
        assert json.loads(get(s3, f"undisturbed/{pointer['asset']['folder']}/report.json"))["robot"] == name
        assert revision == pointer["asset"]["revision"]
    lines = [json.loads(line) for line in (tmp_path / "out" / "report.jsonl").read_text().splitlines()]
    assert {row["key"]: row["status"] for row in lines} == {key: row["status"] for key, row in undisturbed.items()}
    page = get(s3, "undisturbed/report.html").decode()
    pictures = re.findall(r'src="(assets/[^"]+[.]png)"', page)
    assert len(pictures) == len([row for row in undisturbed.values() if "asset" in row])
    assert get(s3, f"undisturbed/{pictures[0]}").startswith(b"\x89PNG")
    # Another machine goes on from there, also if it has other folders.
    assert processed(batch(robots, "undisturbed", s3, tmp_path / "cache")) == 0
    assert processed(batch(robots, "undisturbed", s3, tmp_path / "cache", "--retry")) == 2
    assert not [path for path in (tmp_path / "cache").rglob("*.usda")]
    assert rows(s3, "undisturbed") == undisturbed


def test_whatever_is_killed_or_fails_every_robot_is_published_once(robots, s3, undisturbed, tmp_path):
    server = Server(s3, at_random(7))
    proxy = server.server_address[1]
    chance, over = random.Random(5), threading.Event()
    torn = []

    def read():
        while not over.is_set():
            try:
                pointers(s3, "killed")
            except Exception as error:  # noqa: BLE001
                torn.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(5):
        process = subprocess.Popen(command(robots, "killed"), env=environment(proxy, tmp_path), stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(chance.uniform(0.2, 1.5))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        # Otherwise a pointer of this run could appear after the next one has listed them.
        server.wait_until_idle()
    done = batch(robots, "killed", proxy, tmp_path)
    over.set()
    reader.join()
    assert done.returncode == 1 and not torn, (done.stderr, torn)
    assert rows(s3, "killed") == undisturbed
    found = pointers(s3, "killed")
    assert {key for key, pointer in found.items() if pointer["row"]["status"] in ("ok", "warnings")} == GOOD
    assert {pointer["generation"] for key, pointer in found.items()} == {1}


def test_shards_at_a_time_have_one_report(robots, s3, undisturbed, tmp_path):
    proxy = Server(s3, at_random(11)).server_address[1]
    shards = [
        subprocess.Popen(command(robots, "shards", "--shard", f"{n}/3"), env=environment(proxy, tmp_path), stderr=subprocess.PIPE, text=True)
        for n in (1, 2, 3)
    ]
    for shard in shards:
        _, errors = shard.communicate(timeout=120)
        assert shard.returncode in (0, 1) and "object-store" not in errors, errors
    assert rows(s3, "shards") == undisturbed


def test_two_writers_of_one_robot_never_tear_it(robots, s3, undisturbed, tmp_path):
    writers = [
        subprocess.Popen(
            command(robots, "two", "--tiers", tiers), env=environment(s3, tmp_path / tiers), stderr=subprocess.PIPE, text=True
        )
        for tiers in ("high", "all")
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 1 and "object-store" not in errors, errors
    found = pointers(s3, "two")
    assert set(found) == set(undisturbed) and {pointer["generation"] for pointer in found.values()} <= {1, 2}


def test_a_failed_conversion_keeps_the_asset(robots, s3, tmp_path):
    folder = tmp_path / "robots"
    folder.mkdir()
    shutil.copy(robots / "r00.urdf", folder)
    assert batch(folder, "kept", s3, tmp_path).returncode == 0
    before = pointers(s3, "kept")["r00"]
    (folder / "r00.urdf").write_text("<robot")
    assert batch(folder, "kept", s3, tmp_path).returncode == 1
    after = pointers(s3, "kept")["r00"]
    assert (after["asset"], after["row"]["status"], after["generation"]) == (before["asset"], "failed", 2)


def test_retry_publishes_assets_again_that_were_removed(robots, s3, tmp_path):
    folder = tmp_path / "robots"
    folder.mkdir()
    for key in ("r00", "r01"):
        shutil.copy(robots / f"{key}.urdf", folder)
    assert batch(folder, "removed", s3, tmp_path).returncode == 0
    before = {name: get(s3, name) for name in names(s3, "removed/assets")}
    for name in before:
        if "/r00/" in name:
            assert request(s3, "DELETE", f"/{BUCKET}/{name}")[0] == 204
    assert processed(batch(folder, "removed", s3, tmp_path)) == 0
    assert processed(batch(folder, "removed", s3, tmp_path, "--retry")) == 1
    # The report has new durations.
    after = {name: get(s3, name) for name in names(s3, "removed/assets")}
    assert set(after) == set(before) and all(after[name] == before[name] for name in after if not name.endswith("/report.json"))
    assert set(pointers(s3, "removed")) == {"r00", "r01"}


def test_faults_have_codes(robots, s3, tmp_path):
    denied = Server(s3, lambda ask: (403, "AccessDenied") if ask.command == "PUT" else None).server_address[1]
    lost = Server(s3, lambda ask: (412, "PreconditionFailed") if ask.command == "PUT" and "/robots/faults/robots/" in ask.path else None).server_address[1]
    busy = Server(s3, lambda _: (503, "SlowDown")).server_address[1]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = closed.getsockname()[1]
    soon = {"URDF_USD_RETRY_SECONDS": "1"}
    without = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None, "AWS_METADATA_ENDPOINT": f"http://127.0.0.1:{nowhere}"}
    for output, port, variables, code in [
        ("s3://robots/faults", denied, {}, "object-store-access-denied"),
        ("s3://robots/faults", lost, {}, "object-store-conflict"),
        ("s3://robots/faults", busy, soon, "object-store-timeout"),
        ("s3://robots/faults", nowhere, soon, "object-store-timeout"),
        ("s3://robots/faults", s3, soon | without, "object-store-credentials"),
        ("s3://none/faults", s3, {}, "object-store-no-bucket"),
        ("ftp://robots/faults", s3, {}, "object-store-url"),
        ("s3:///faults", s3, {}, "object-store-url"),
        (f"s3://test:{SECRET}@robots/faults", s3, {}, "object-store-url"),
    ]:
        asked = [conftest.program(), "batch", robots, "-o", output, "--formats", "usd"]
        done = subprocess.run(asked, env=environment(port, tmp_path, **variables), capture_output=True, text=True, timeout=60, check=False)
        # The same command may succeed later.
        expected = 75 if code in ("object-store-conflict", "object-store-timeout") else 1
        assert done.returncode == expected and code in done.stderr, (code, done.stderr)
        assert SECRET not in done.stderr
    assert names(s3, "faults/robots") == []


def test_sources_in_an_object_store(s3, tmp_path):
    paths = [path for path in (SAMPLES / "sample_arm").rglob("*") if path.is_file()]
    for path in paths:
        assert request(s3, "PUT", f"/{BUCKET}/sources/sample_arm/{path.relative_to(SAMPLES / 'sample_arm')}", path.read_bytes())[0] == 200
    request(s3, "PUT", f"/{BUCKET}/sources/sample_arm/", b"")
    arm = next(str(path.relative_to(SAMPLES)) for path in paths if path.suffix == ".urdf")
    request(s3, "PUT", f"/{BUCKET}/sources/robots.csv", f"source,key\n{arm},arm\n".encode())

    def run(source, *more, cache="cache", out=tmp_path / "out"):
        asked = [conftest.program(), "batch", source, "-o", out, "--formats", "usd", *more]
        return subprocess.run(asked, env=environment(s3, tmp_path / cache), capture_output=True, text=True, timeout=60, check=False)

    done = run(f"s3://{BUCKET}/sources/robots.csv")
    assert done.returncode == 0 and processed(done) == 1, done.stderr
    row = json.loads((tmp_path / "out" / "report.jsonl").read_text())
    assert row["source"] == f"s3://{BUCKET}/sources/{arm}" and row["counts"]["meshes"] > 0 and row["status"] in ("ok", "warnings")
    # The same robot, downloaded to another folder.
    assert processed(run(f"s3://{BUCKET}/sources/robots.csv", cache="other")) == 0
    mesh = next(path for path in paths if path.suffix == ".stl")
    request(s3, "PUT", f"/{BUCKET}/sources/{mesh.relative_to(SAMPLES)}", mesh.read_bytes() + b"\0")
    assert processed(run(f"s3://{BUCKET}/sources/robots.csv")) == 0
    assert processed(run(f"s3://{BUCKET}/sources/robots.csv", "--changed")) == 1
    assert processed(run(f"s3://{BUCKET}/sources/robots.csv", "--changed")) == 0
    # Pointers have addresses instead of paths of this machine, so other machines compare the same files.
    out, source = f"s3://{BUCKET}/mirrored", f"s3://{BUCKET}/sources/robots.csv"
    assert processed(run(source, out=out)) == 1
    used = [file["path"] for file in pointers(s3, "mirrored")["arm"]["row"]["used"]]
    assert f"s3://{BUCKET}/sources/{mesh.relative_to(SAMPLES)}" in used and not [path for path in used if path.startswith(str(tmp_path))]
    assert processed(run(source, "--changed", cache="other", out=out)) == 0
    request(s3, "PUT", f"/{BUCKET}/sources/{mesh.relative_to(SAMPLES)}", mesh.read_bytes() + b"\0\0")
    assert processed(run(source, "--changed", cache="other", out=out)) == 1
    request(s3, "PUT", f"/{BUCKET}/invalid/a//b", b"x")
    done = run(f"s3://{BUCKET}/invalid")
    assert done.returncode == 1 and "object-store-content" in done.stderr and "a//b" in done.stderr, done.stderr
    done = run(f"s3://{BUCKET}/sources/*.urdf")
    assert done.returncode == 1 and "batch-source" in done.stderr


def test_parquet_has_the_rows_of_the_json_lines(s3, undisturbed, tmp_path):
    for name in ("report.jsonl", "report.parquet"):
        (tmp_path / name).write_bytes(get(s3, f"undisturbed/{name}"))
    script = (
        "import duckdb, json, sys\n"
        "table = duckdb.sql(f\"select * from '{sys.argv[1]}/report.parquet'\")\n"
        "print(json.dumps([dict(zip(table.columns, row)) for row in table.fetchall()]))\n"
    )
    done = subprocess.run([PYTHON, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    found = [{name: value for name, value in row.items() if value is not None} for row in json.loads(done.stdout)]
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_text().splitlines()]
    assert found == lines and len(lines) == COUNT and any(row["findings"] for row in found) and any("asset" not in row for row in found)


def test_without_a_cache_directory_no_other_is_used(robots, s3, tmp_path):
    asked = command(robots, "homeless")
    done = subprocess.run(
        asked, env=environment(s3, tmp_path, HOME=None, XDG_CACHE_HOME=None), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1 and "set HOME or XDG_CACHE_HOME" in done.stderr, done.stderr
