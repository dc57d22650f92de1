"""Limits on time and memory hold for any input: the command runs in a separate process, which is terminated."""

import json
import os
import signal
import subprocess
import time

import pytest

import conftest
from hills import flat, hills
from polling import until

#: Seconds by which a conversion may exceed its limit: it has two to end by itself, and the machine is busy.
SLACK = 10
BODY = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def robot(folder, side=None):
    """Returns a robot of one link: a box, or hills of side × side squares."""
    visual = "<box size='1 1 1'/>"
    if side:
        hills(folder / "hills.stl", side)
        visual = "<mesh filename='hills.stl'/>"
    urdf = folder / "arm.urdf"
    urdf.write_text(f"<robot name='arm'><link name='base'>{BODY}<visual><geometry>{visual}</geometry></visual></link></robot>")
    return urdf


def children(pid):
    """Returns the child processes of a command with limits. Waits until they have executed the program: one that is stopped earlier blocks
    its parent."""
    pids = [child for task in os.listdir(f"/proc/{pid}/task") for child in open(f"/proc/{pid}/task/{task}/children").read().split()]
    return [int(pid) for pid in pids if b"\0limited\0" in open(f"/proc/{pid}/cmdline", "rb").read()]


def begin(*arguments):
    command = [str(conftest.program()), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)


def left_over(output):
    return {path.name for path in output.iterdir()} - {"arm", ".arm.lock"}


def contents(asset):
    return {path.relative_to(asset): path.read_bytes() for path in asset.rglob("*") if path.is_file() and path.name != "report.json"}


@pytest.mark.parametrize("command", ["convert", "inspect", "check", "fix"])
def test_a_hanging_process_is_terminated(command, tmp_path):
    """A stopped process checks no clock, like a library call that never returns."""
    output = tmp_path / "out"
    subprocess.run([str(conftest.program()), "convert", str(robot(tmp_path)), "-o", str(output)], check=True, capture_output=True)
    before = contents(output / "arm")
    asset = robot(tmp_path, 400) if command == "convert" else output / "arm"
    options = ["-o", output] if command == "convert" else ["-o", tmp_path / "fixed"] if command == "fix" else []
    started = time.monotonic()
    process = begin(command, asset, *options, "--time-limit", 2, *(["--json"] if command == "convert" else []))
    stopped = until(lambda: children(process.pid), 30, "a process of its own")[0]
    os.kill(stopped, signal.SIGSTOP)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1 and 2 <= time.monotonic() - started < 2 + SLACK, err
    assert "convert-timed-out" in err and "took longer than 2 s" in err, err
    assert conftest.has_ended(stopped) and contents(output / "arm") == before and not left_over(output)
    if command == "convert":
        assert json.loads(out)["diagnostics"][0]["code"] == "convert-timed-out"


def test_the_memory_limit_ends_only_conversions_that_need_more(tmp_path):
    urdf = robot(tmp_path, 100)
    # The file alone has 400 MB, and is read completely.
    flat(tmp_path / "hills.stl", 8_000_000)
    limited = lambda limit, out: begin("convert", urdf, "-o", tmp_path / out, "--memory-limit", limit, "--no-cache", "--formats", "glb")
    process = limited(1, "little")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and "convert-out-of-memory" in err and "limit of 1 MiB" in err, err
    assert not (tmp_path / "little/arm").exists() and (not (tmp_path / "little").exists() or not left_over(tmp_path / "little"))
    robot(tmp_path, 100)
    for limit, out in ((1000, "much"), (0, "unlimited")):
        process = limited(limit, out)
        _, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
    assert contents(tmp_path / "much/arm") == contents(tmp_path / "unlimited/arm")


def test_a_worker_ends_with_its_parent(tmp_path):
    process = begin("convert", robot(tmp_path, 400), "-o", tmp_path / "out", "--time-limit", 100)
    worker = until(lambda: children(process.pid), 30, "a process of its own")[0]
    # Wait until it has requested the signal on its parent's death.
    time.sleep(0.3)
    process.kill()
    process.communicate()
    until(lambda: conftest.has_ended(worker), 30, "the end of the process")


def test_limits_do_not_change_input_output_and_exit_code(tmp_path):
    text = robot(tmp_path).read_text()
    command = [str(conftest.program()), "convert", "-", "--json", "--time-limit", "60", "--memory-limit", "2000"]
    done = subprocess.run([*command, "-o", str(tmp_path / "out")], input=text, capture_output=True, text=True)
    assert done.returncode == 0 and json.loads(done.stdout)["robot"] == "arm", done.stderr
    wrong = subprocess.run([*command, "--formats", "oak"], input=text, capture_output=True, text=True)
    assert wrong.returncode == 2
    broken = subprocess.run(command, input="<robot", capture_output=True, text=True)
    assert broken.returncode == 1 and json.loads(broken.stdout)["status"] == "failed", broken.stderr
    for limit in ("--time-limit=-1", "--memory-limit=-1", "--memory-limit=much"):
        assert subprocess.run([*command, limit], capture_output=True, stdin=subprocess.DEVNULL).returncode == 2
