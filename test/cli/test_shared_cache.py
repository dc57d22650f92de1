"""Results that machines share: in a folder, and in an object store that fails."""

import re
import shutil
import socket
import subprocess
import time

import conftest
import pytest
from conftest import SAMPLES
from s3_server import BUCKET, Server, at_random, environment, get, names, request, s3  # noqa: F401

ARM = next((SAMPLES / "sample_arm").rglob("*.urdf"))


def run(port, machine, *arguments, **variables):
    """Runs the program on a machine: a folder with a local cache."""
    command = [conftest.program(), *arguments]
    return subprocess.run(command, env=environment(port, machine / "cache", **variables), capture_output=True, text=True, timeout=120, check=False)


def convert(port, machine, url, *more, **variables):
    """Converts a robot on a machine, and returns its files."""
    done = run(port, machine, "convert", ARM, "-o", machine / "out", "--cache-url", url, *more, **variables)
    assert done.returncode == 0, done.stderr
    # Long lines are folded.
    return files(machine / "out"), re.sub(r"\n +│ ?", "", done.stderr)


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "report.json"}


def machines(folder, count):
    return [folder / f"machine{number}" for number in range(count)]


def recorder():
    """Returns the methods of all requests, and a function that adds them."""
    methods = []
    return methods, lambda ask: methods.append(ask.command)


@pytest.fixture(scope="module")
def alone(s3, tmp_path_factory):
    return convert(s3, tmp_path_factory.mktemp("alone"), tmp_path_factory.mktemp("unused"), "--no-cache")[0]


@pytest.fixture(scope="module")
def shared(s3, alone, tmp_path_factory):
    """An address that one machine has filled."""
    url = f"s3://{BUCKET}/shared"
    assert convert(s3, tmp_path_factory.mktemp("first"), url)[0] == alone
    return url


def objects(port):
    return {name: get(port, name) for name in names(port, "shared")}


def test_the_second_machine_makes_nothing(s3, alone, shared, tmp_path):
    before = objects(s3)
    methods, record = recorder()
    written, errors = convert(Server(s3, record).server_address[1], tmp_path, shared)
    assert written == alone and "object-store" not in errors
    # All that is made is put.
    assert len(before) > 10 and "PUT" not in methods and "POST" not in methods and methods.count("GET") > 1
    assert objects(s3) == before
    # Small results came as one object: a change of the options asks for each, once. Then only the folder and the one object are asked for.
    convert(Server(s3, record).server_address[1], tmp_path, shared, "--namespace", "other")
    count = len(methods)
    convert(Server(s3, record).server_address[1], tmp_path, shared, "--namespace", "another")
    assert methods[count:].count("GET") <= 2, methods[count:]


def test_a_folder_of_a_network_file_system(s3, alone, tmp_path):
    one, two, other = machines(tmp_path, 3)
    folder = tmp_path / "shared"
    assert convert(s3, one, folder)[0] == alone
    state = lambda: {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    before = state()
    assert convert(s3, two, folder.as_uri())[0] == alone and state() == before and len(before) > 10
    # A machine that can't write there makes its results itself.
    broken = tmp_path / "file"
    broken.write_text("")
    for place in (broken, "/proc/nope"):
        written, errors = convert(s3, other, place)
        assert written == alone and errors.count("object-store-cache") == 1 and str(place) in errors, errors
        shutil.rmtree(other)
    # The driver warns, and its workers do not.
    done = run(s3, other, "batch", ARM, "-o", other / "out", "--cache-url", "/proc/nope", "--no-thumbnails")
    assert done.returncode == 0 and done.stderr.count("object-store-cache") == 1, done.stderr
    # Neither does one of them repeat the warning of another: a file is in place of the folder of this build, which the driver doesn't look at.
    spoiled = tmp_path / "spoiled"
    spoiled.mkdir()
    for build in folder.iterdir():
        (spoiled / build.name).write_text("")
    (tmp_path / "arms.csv").write_text("source,key\n" + "".join(f"{ARM},{number}\n" for number in range(6)))
    done = run(s3, other, "batch", tmp_path / "arms.csv", "-o", other / "arms", "-j", "2", "--cache-url", spoiled, "--no-thumbnails")
    assert done.returncode == 0 and done.stderr.count("object-store-cache") == 1, done.stderr
    limited = run(s3, other, "convert", ARM, "-o", other / "one", "--cache-url", tmp_path / "new", URDF_USD_SHARED_CACHE_MB="much")
    assert limited.returncode == 0 and limited.stderr.count("object-store-cache-limit") == 1, limited.stderr


def test_a_flipped_bit_is_a_miss_and_is_mended(s3, alone, shared, tmp_path):
    before = objects(s3)
    for number, (name, content) in enumerate(before.items()):
        at = number * 7919 % len(content)
        request(s3, "PUT", f"/{BUCKET}/{name}", content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    asked = set()
    proxy = Server(s3, lambda ask: asked.add(ask.path.removeprefix(f"/{BUCKET}/")) if ask.command == "GET" else None)
    assert convert(proxy.server_address[1], tmp_path, shared)[0] == alone
    after = objects(s3)
    # Objects that were not read are still damaged.
    assert len(asked & before.keys()) > 10 and all(after[name] == before[name] for name in asked & before.keys())
    for name, content in before.items():
        request(s3, "PUT", f"/{BUCKET}/{name}", content)


def test_no_fault_of_the_store_fails_a_conversion(s3, alone, shared, tmp_path):
    hangs = lambda _: time.sleep(5)
    denied = lambda ask: (403, "AccessDenied")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = closed.getsockname()[1]
    without = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None, "AWS_METADATA_ENDPOINT": f"http://127.0.0.1:{nowhere}"}
    proxy = lambda fault: Server(s3, fault).server_address[1]
    cases = [
        (proxy(denied), shared, {}, "object-store-access-denied"),
        (proxy(hangs), shared, {}, "object-store-timeout"),
        (nowhere, shared, {}, "object-store-timeout"),
        (s3, shared, without, "object-store-credentials"),
        (s3, "s3://none/shared", {}, "object-store-no-bucket"),
    ]
    for machine, (port, url, variables, code) in zip(machines(tmp_path, len(cases)), cases):
        began = time.monotonic()
        written, errors = convert(port, machine, url, **variables)
        assert written == alone, code
        assert errors.count("object-store-cache") == 1 and errors.count(code) == 1, errors
        assert time.monotonic() - began < 40, code
    # A store that answers, but can't be written: its results are used, and the rest costs seconds.
    hangs_on_writes = lambda ask: time.sleep(40) if ask.command in ("PUT", "POST") else None
    for name, limit in (("slow", "0"), ("limited", "15")):
        began = time.monotonic()
        more = [] if limit == "0" else ["--time-limit", limit]
        written, errors = convert(proxy(hangs_on_writes), tmp_path / name, f"s3://{BUCKET}/{name}", *more)
        assert written == alone and errors.count("object-store-cache") <= 1, errors
        assert limit != "0" or errors.count("object-store-timeout") == 1, errors
        assert time.monotonic() - began < 14, name
    # Faults that pass: some results come from the store.
    assert convert(proxy(at_random(0)), tmp_path / "random", shared)[0] == alone
    assert run(s3, tmp_path, "convert", ARM, "-o", tmp_path / "none", "--cache-url", "ftp://a").returncode == 2


def test_workers_of_batches_on_two_machines(s3, tmp_path):
    methods, record = recorder()
    port, url = Server(s3, record).server_address[1], f"s3://{BUCKET}/batches"
    manifest = tmp_path / "robots.csv"
    manifest.write_text(f"source,key\n{ARM},a\n{ARM},b\n")
    found = []
    for machine in machines(tmp_path, 2):
        before = len(methods)
        done = run(port, machine, "batch", manifest, "-o", machine / "out", "--cache-url", url, "-j", "2", "--no-thumbnails")
        assert done.returncode == 0 and "object-store" not in done.stderr, done.stderr
        found.append((files(machine / "out" / "assets"), methods[before:].count("PUT")))
    (first, puts), (second, again) = found
    assert first == second and puts > 10 and again == 0
    # Without the store, the driver alone warns.
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = closed.getsockname()[1]
    last = tmp_path / "last"
    done = run(nowhere, last, "batch", manifest, "-o", last / "out", "--cache-url", url, "-j", "2", "--no-thumbnails")
    assert done.returncode == 0 and done.stderr.count("object-store-cache") == 1, done.stderr
    assert files(last / "out" / "assets") == first
