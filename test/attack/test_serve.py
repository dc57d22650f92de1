"""Attacks by users who can write into the input folder or reach the web server: files exchanged between check and reading, slow clients,
assets that refer to foreign files, full disks. The scripts beside this file run the same attacks for longer."""

import http.client
import importlib.util
import json
import multiprocessing
import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest

import conftest
from conftest import SAMPLES, SOAK, run

HERE = Path(__file__).resolve().parent


def script(name):
    """Imports a script beside this file."""
    spec = importlib.util.spec_from_file_location(f"attack_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


swap, slow = script("swap"), script("http_clients")


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    """Returns the asset of the sample arm."""
    output = tmp_path_factory.mktemp("arm")
    done = run("convert", SAMPLES / "sample_arm" / "urdf" / "sample_arm.urdf", "-o", output, "--json")
    assert done.returncode == 0, done.stderr
    return output / "sample_arm"


@pytest.fixture
def server(arm, tmp_path):
    """Runs `urdf_usd view` for the arm, and returns its address."""
    with (tmp_path / "view.txt").open("wb") as log:
        process = subprocess.Popen([str(conftest.program()), "view", str(arm), "--port", "0", "--no-open"], stdout=subprocess.PIPE, stderr=log, text=True)
    host, port = process.stdout.readline().strip().removeprefix("http://").rstrip("/").split(":")
    yield host, int(port)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0


@pytest.mark.parametrize("what", ["file", "folder"])
def test_nothing_outside_is_read_while_a_mesh_is_exchanged_for_a_link(what):
    read = swap.attack(str(conftest.program()), tries=int(25 * SOAK), what=what)
    assert read["outside"] == 0 and read["inside"] > 0, read


@pytest.mark.parametrize("kind", slow.KINDS)
def test_an_honest_request_is_served_whatever_others_do(server, kind):
    times, opened = slow.attack(server, kind, connections=400, seconds=1.0 * SOAK)
    assert opened >= 300, "the attack did not take all connection slots"
    assert None not in times, times
    # The limit is for a development build beside other tests; the script prints the worst time.
    assert sorted(times)[len(times) // 2] < 1, times


def test_the_server_reads_nothing_outside_while_a_file_is_exchanged(arm, server, tmp_path):
    (tmp_path / "secret.txt").write_text("outside" * 1000)
    (arm / "note.txt").write_text("inside")
    (arm / "link.txt").symlink_to(tmp_path / "secret.txt")
    exchanger = multiprocessing.Process(target=swap.exchange, args=(arm / "note.txt", arm / "link.txt"), daemon=True)
    exchanger.start()
    try:
        served = set()
        for _ in range(int(400 * SOAK)):
            client = http.client.HTTPConnection(*server, timeout=20)
            client.request("GET", "/assets/sample_arm/note.txt")
            answer = client.getresponse()
            served.add((answer.status, answer.read()[:6]))
            client.close()
    finally:
        exchanger.terminate()
        exchanger.join()
        for name in ("note.txt", "link.txt"):
            (arm / name).unlink()
    assert (200, b"inside") in served and {status for status, _ in served} <= {200, 404}
    assert all(body == b"inside" for status, body in served if status == 200), served


STRANGER = """#usda 1.0
(
    defaultPrim = "r"
    metersPerUnit = 1
    upAxis = "Z"
    subLayers = [@{outside}/layer.usda@]
)
def Xform "r" (
    kind = "component"
)
{{
    custom asset y = @{outside}/secret.txt@
    custom asset own = @./own.txt@
}}
"""


def test_fix_copies_nothing_from_elsewhere(tmp_path):
    outside, asset = tmp_path / "outside", tmp_path / "asset"
    outside.mkdir()
    asset.mkdir()
    (outside / "secret.txt").write_text("secret")
    (outside / "layer.usda").write_text('#usda 1.0\nover "r"\n{\n    custom string z = "secret"\n}\n')
    (asset / "own.txt").write_text("own")
    (asset / "r.usda").write_text(STRANGER.format(outside=outside))
    done = run("-v", "fix", asset / "r.usda", "-o", tmp_path / "out")
    written = {path.name: path.read_bytes() for path in (tmp_path / "out" / "r").rglob("*") if path.is_file()}
    assert written["own.txt"] == b"own" and "secret.txt" not in written
    assert not any(b'"secret"' in content for content in written.values())
    assert "secret.txt is not copied" in done.stderr and "layer.usda" in done.stderr and "--allowed-root" in done.stderr, done.stderr
    done = run("-v", "fix", asset / "r.usda", "-o", tmp_path / "more", "--allowed-root", outside)
    written = {path.name: path.read_bytes() for path in (tmp_path / "more" / "r").rglob("*") if path.is_file()}
    assert written["secret.txt"] == b"secret" and any(b'"secret"' in content for content in written.values()), done.stderr


def test_a_disk_that_is_full_is_named_and_nothing_is_left(tmp_path):
    def limited():
        # A write beyond the size limit fails like one on a full disk: in the middle of the file.
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    command = [str(conftest.program()), "convert", str(SAMPLES / "sample_arm" / "urdf" / "sample_arm.urdf"), "-o", str(tmp_path / "out"), "--no-cache"]
    # Python ignores the signal, so that the program gets the error instead.
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=limited, restore_signals=False)
    assert done.returncode == 1 and "output-unwritable" in done.stderr, done.stderr
    assert "ulimit -f" in done.stderr and "make this one writable" not in done.stderr, done.stderr
    assert os.listdir(tmp_path / "out") == []
    assert run(*command[1:]).returncode == 0 and (tmp_path / "out" / "sample_arm").is_dir()


def test_names_and_numbers_of_poses_are_bounded(arm, tmp_path):
    def store(*words):
        return run("pose", "store", arm, *words, "-o", tmp_path / "poses")

    joint = json.loads(run("inspect", arm, "--json").stdout)
    names = [found["name"] for found in joint["joints"] if found.get("type", found.get("kind")) in ("revolute", "continuous", "prismatic")]
    position = ("--set", f"{names[0]}=0")
    assert store("ok", *position).returncode == 0
    for words in (["x" * 101], ["a\nb"], ["ok", "--group", "g" * 101]):
        done = store(*words, *position)
        assert done.returncode == 1 and "pose-name" in done.stderr, done.stderr
    exported = tmp_path / "poses.json"
    assert run("pose", "export", tmp_path / "poses" / "sample_arm" / "sample_arm.poses.usda", exported).returncode == 0
    document = json.loads(exported.read_text())
    (pose,) = [pose for name, pose in document["poses"].items() if name == "ok"]
    document["poses"] = {f"p{i}": pose for i in range(1005)}
    exported.write_text(json.dumps(document))
    done = run("pose", "import", arm, exported, "-o", tmp_path / "many")
    assert "pose-count" in done.stderr and "1000 poses" in done.stderr, done.stderr
