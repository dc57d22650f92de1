"""Killing a conversion at any time leaves a complete revision: readers see the old or the new robot, never a mixture."""

import hashlib
import json
import os
import random
import signal
import subprocess
import threading
import time

import pytest
from pxr import UsdPhysics

import conftest
from stage import Asset

KILLS = 30
NAME = "changeling"


def robot(links):
    """Returns a chain of bodies. Two lengths differ in every layer, so that a mixture is inconsistent."""
    parts = [f'<robot name="{NAME}">']
    for k in range(links):
        parts.append(
            f'<link name="link_{k}"><inertial><mass value="{links}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
            f'<visual><geometry><mesh filename="package://sample_arm/meshes/{"shoulder" if links % 2 else "elbow"}.stl"/></geometry></visual>'
            f'<collision><geometry><box size="1 1 1"/></geometry></collision></link>'
        )
        if k:
            parts.append(f'<joint name="joint_{k}" type="continuous"><parent link="link_{k - 1}"/><child link="link_{k}"/><axis xyz="0 0 1"/></joint>')
    return "\n".join([*parts, "</robot>"])


SIZES = (41, 60)


def assert_whole(directory):
    """Asserts that the asset is one of the two robots, and that its report matches the files."""
    report = json.loads((directory / "report.json").read_text())
    for file in report["files"]:
        data = (directory / file["path"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == file["sha256"], f"{file['path']} differs from the report"
    on_disk = {p.relative_to(directory).as_posix() for p in directory.rglob("*") if p.is_file()} - {"report.json"}
    assert on_disk == {f["path"] for f in report["files"]}
    links = report["counts"]["links"]
    assert links in SIZES
    asset = Asset(directory / f"{NAME}.usda")
    assert list(asset.stage.GetCompositionErrors()) == []
    assert len(asset.bodies) == links and len(asset.joints) == links - 1
    assert all(UsdPhysics.MassAPI(p).GetMassAttr().Get() == links for p in asset.bodies.values())
    assert sum(p.HasAPI(UsdPhysics.CollisionAPI) for p in asset.prims) == links
    return links


@pytest.fixture
def changeling(tmp_path):
    files = []
    for links in SIZES:
        files.append(tmp_path / f"{links}.urdf")
        files[-1].write_text(robot(links))
    output = tmp_path / "out"
    package = f"sample_arm={conftest.SAMPLES / 'sample_arm'}"
    command = lambda k: [str(conftest.program()), "convert", str(files[k % 2]), "-o", str(output), "--replace", "--package", package]
    return command, output / NAME


def test_kill_while_writing(changeling):
    command, directory = changeling
    start = time.monotonic()
    subprocess.run(command(0), check=True, capture_output=True)
    whole = time.monotonic() - start
    assert assert_whole(directory) == SIZES[0]
    chance, killed, runs, last = random.Random(158), 0, 0, SIZES[0]
    while killed < KILLS:
        runs += 1
        assert runs < 20 * KILLS, f"only {killed} of {runs} runs were killed: the delays do not suit this machine"
        # Alternate the robots, so that every run has to write.
        start = time.monotonic()
        process = subprocess.Popen(command(0 if last == SIZES[1] else 1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            # Most kills are in the second half of the run, which writes files.
            process.wait(timeout=whole * (chance.uniform(0.4, 1.1) if runs % 4 else chance.uniform(0, 1)))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            killed += 1
        else:
            # The duration of a run depends on the load of the machine.
            whole = time.monotonic() - start
        now = assert_whole(directory)
        last = now
    # The next complete run removes the temporary files of killed ones.
    subprocess.run(command(0 if last == SIZES[1] else 1), check=True, capture_output=True)
    assert assert_whole(directory) != last
    left = {p.name for p in directory.parent.iterdir()}
    assert left == {NAME}


def test_a_reader_never_sees_a_mixture(changeling):
    """Readers that open the entry at any time between revisions see a complete revision."""
    command, directory = changeling
    subprocess.run(command(0), check=True, capture_output=True)
    stop, problems, opened = threading.Event(), [], []

    def write():
        k = 1
        while not stop.is_set():
            done = subprocess.run(command(k), capture_output=True, text=True)
            if done.returncode != 0:
                problems.append(done.stderr)
            k += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        deadline = time.monotonic() + 8
        while time.monotonic() < deadline:
            # A reader keeps the directory that it opened: a published revision never changes.
            handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
            try:
                held = f"/proc/self/fd/{handle}"
                with open(f"{held}/report.json") as file:
                    report = json.load(file)
                stale = False
                for entry in report["files"]:
                    try:
                        with open(f"{held}/{entry['path']}", "rb") as file:
                            data = file.read()
                    except FileNotFoundError:
                        stale = True  # the old revision has been removed meanwhile: no mixture was seen
                        break
                    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
                        problems.append(f"{entry['path']} of a held revision changed")
                opened.append(stale)
            except FileNotFoundError:
                opened.append(True)
            finally:
                os.close(handle)
    finally:
        stop.set()
        writer.join()
    assert problems == []
    assert opened.count(False) > 5, "no revision existed long enough to be read"
