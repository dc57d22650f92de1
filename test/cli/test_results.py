"""Results of commands are on standard output or in a file as a whole, or the command fails."""

import json
import os
import re
import stat
import subprocess

import pytest

import conftest
from conftest import limit_files, run

ARM = conftest.SAMPLES / "sample_arm"
#: Commands with a result on standard output. OUT is a folder with the asset of the arm.
COMMANDS = {
    "convert": ["convert", ARM, "-o", "OUT", "--json"],
    "inspect": ["inspect", ARM],
    "inspect --json": ["inspect", ARM, "--json"],
    "check": ["check", ARM],
    "check --format json": ["check", ARM, "--format", "json"],
    "check --explain": ["check", "--explain", "urdf-malformed-xml"],
    "pose": ["pose", ARM],
    "pose --json": ["pose", ARM, "--json"],
    "ik": ["ik", ARM, "--tip", "tool0", "--target", "0.3,0,0.5"],
    "ik --json": ["ik", ARM, "--tip", "tool0", "--target", "0.3,0,0.5", "--json"],
    "xrdf write": ["xrdf", "write", ARM, "-o", "-", "--samples", "0"],
    "completions": ["completions", "bash"],
    "man": ["man"],
    "--help": ["--help"],
    "--version": ["--version"],
    "bridge --help": ["bridge", "--help"],
    "bridge --version": ["bridge", "--version"],
    "view": ["view", "OUT/sample_arm", "--no-open", "--port", "0"],
    "isaac tree": ["isaac", "tree", "OUT/sample_arm"],
    "isaac validate": ["isaac", "validate", "OUT/sample_arm"],
    "pose list": ["pose", "list", "OUT/sample_arm", "--json"],
    "pose export": ["pose", "export", "OUT/sample_arm", "-"],
}


@pytest.fixture(scope="module")
def asset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asset")
    assert run("convert", ARM, "-o", folder, "--formats", "usd,glb", "--overlays", "isaac").returncode == 0
    return folder


def printed_to(output, command):
    return subprocess.run([str(conftest.program()), *command], stdout=output, stderr=subprocess.PIPE, text=True, timeout=60)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_result_that_is_lost_is_a_failure(name, asset):
    """On a full disk with a message, and in a closed pipe with the exit code of SIGPIPE."""
    command = [str(word).replace("OUT", str(asset)) for word in COMMANDS[name]]
    with open("/dev/full", "w") as full:
        done = printed_to(full, command)
    assert done.returncode == 1 and "cannot write to standard output: No space left on device" in done.stderr, done.stderr
    reader, writer = os.pipe()
    os.close(reader)
    done = printed_to(writer, command)
    os.close(writer)
    assert done.returncode == 141 and "panicked" not in done.stderr, done.stderr


#: Commands that fail: a missing file, a wrong name, wrong arguments.
FAILURES = {
    "convert": (["convert", "gone.urdf", "--json"], 1),
    "convert a mesh": (["convert", ARM / "meshes" / "shoulder.stl", "--json"], 1),
    "convert, usage": (["convert", ARM, "--json", "--formats", "stl"], 2),
    "convert without input": (["convert", "--json"], 2),
    "inspect": (["inspect", "gone.usda", "--json"], 1),
    "inspect a description": (["inspect", "-", "--json"], 1),
    "check": (["check", "gone.urdf", "--format", "json"], 1),
    "check, a package": (["check", "package://nowhere/a.urdf", "--format", "json"], 1),
    "check, a code": (["check", ARM, "--select", "nonsense", "--format=json"], 2),
    "fix": (["fix", "gone.usda", "-o", "out", "--json"], 1),
    "pose": (["pose", ARM, "--set", "nonsense=1", "--json"], 1),
    "pose list": (["pose", "list", "gone.usda", "--json"], 1),
    "pose get": (["pose", "get", "OUT/sample_arm", "nonsense", "--json"], 1),
    "pose store": (["pose", "store", "-", "a", "--set", "elbow_joint=1", "--json"], 2),
    "ik": (["ik", ARM, "--tip", "nonsense", "--target", "0,0,0", "--json"], 1),
    "ik, usage": (["ik", ARM, "--tip", "tool0", "--json"], 2),
    "xrdf check": (["xrdf", "check", ARM, "gone.xrdf", "--json"], 1),
    "xrdf write": (["xrdf", "write", "gone.urdf", "-o", "a.xrdf", "--json"], 1),
    "isaac tree": (["isaac", "tree", "gone.usda", "--json"], 1),
    "isaac validate": (["isaac", "validate", "-", "--json"], 1),
    "schema": (["schema", "-o", "/proc/nowhere", "--json"], 1),
    "a limit": (["convert", ARM, "--json", "--time-limit", "0.001", "--no-cache"], 1),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_a_result(name, asset, tmp_path):
    words, code = FAILURES[name]
    done = run(*(str(word).replace("OUT", str(asset)) for word in words), cwd=tmp_path, input="")
    told = json.loads(done.stdout)
    assert (done.returncode, told["status"]) == (code, "failed"), done.stderr
    assert all(found["code"] and found["message"] for found in told["diagnostics"]) and any(found["severity"] == "error" for found in told["diagnostics"])
    # Without --json, the message is on standard error only.
    words = [str(word).replace("OUT", str(asset)) for word in words if word not in ("--json", "--format", "json", "--format=json")]
    done = run(*words, cwd=tmp_path, input="")
    assert (done.returncode, done.stdout) == (code, "") and done.stderr


def test_an_asset_from_standard_input(asset):
    """By all commands that write no overlay beside it."""
    package = asset / "sample_arm" / "sample_arm.usda"
    made = run("convert", package, "-o", asset / "packed", "--formats", "usdz")
    assert made.returncode == 0, made.stderr
    file = asset / "packed" / "sample_arm" / "sample_arm.usdz"
    for command in (["inspect"], ["check"], ["isaac", "tree"], ["isaac", "validate"], ["pose", "list"], ["pose"], ["fix", "-o", asset / "fixed"]):
        words = [*command[:2], "-", *command[2:]] if command[0] in ("isaac",) or command == ["pose", "list"] else [command[0], "-", *command[1:]]
        with file.open("rb") as stdin:
            sent = run(*words, stdin=stdin)
        named = run(*(file if word == "-" else word for word in words))
        assert sent.returncode == named.returncode and "panicked" not in sent.stderr, sent.stderr
        # Findings name the file, which has another name.
        plain = lambda done: [re.sub(r"\S*\.usdz\S*", "", line) for line in done.stdout.splitlines()[1:-1]]
        assert plain(sent) == plain(named), command


def test_a_file_is_written_as_a_whole(tmp_path):
    """A file that the user names keeps its content and mode if the new one can't be written."""
    file = tmp_path / "r.xrdf"
    command = ["xrdf", "write", ARM, "-o", file, "--samples", "0"]
    assert run(*command).returncode == 0
    file.chmod(0o640)
    whole = file.read_text()

    done = run(*command, preexec_fn=lambda: limit_files(100), env=os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert done.returncode == 1 and str(file) in done.stderr
    assert file.read_text() == whole and not [path for path in tmp_path.iterdir() if path.suffix == ".new"]
    assert run(*command).returncode == 0 and stat.S_IMODE(file.stat().st_mode) == 0o640
