"""The wheel: what is in it, and what it does in an empty environment of the oldest and of the newest Python here."""

import functools
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from conftest import PROGRAM, ROOT, SAMPLES, scratch
from python_package import TOOLS, run, wheel_of

ARM = SAMPLES / "sample_arm" / "urdf" / "sample_arm.urdf"


@functools.cache
def pythons():
    """Returns the interpreters of this machine that the wheel is for, the oldest first."""
    places = [*map(Path, os.environ["PATH"].split(":")), *sorted(Path.home().glob(".pyenv/versions/*/bin"))]
    found = []
    for minor in range(10, 20):
        paths = [place / f"python3.{minor}" for place in places if (place / f"python3.{minor}").exists()]
        # pyenv's shims run only in its environments.
        works = (path for path in paths if subprocess.run([path, "-c", "import venv"], capture_output=True).returncode == 0)
        found += list(itertools.islice(works, 1))
    return found


def test_the_wheel_has_the_package_only(wheel, urdf_usd):
    files = zipfile.ZipFile(wheel).namelist()
    native = {"urdf_usd/_native.abi3.so"}
    assert native <= set(files)
    package = {name for name in files if name.startswith("urdf_usd/")}
    assert {"urdf_usd/py.typed", "urdf_usd/__main__.py", "urdf_usd/_native.pyi", "urdf_usd/_options.py"} <= package
    assert all(name.startswith(f"urdf_usd-{urdf_usd.__version__}.dist-info/") for name in set(files) - package)
    about = zipfile.ZipFile(wheel).read(f"urdf_usd-{urdf_usd.__version__}.dist-info/METADATA").decode()
    assert re.findall(r"^Requires-Dist: (.*)$", about, re.MULTILINE) == ["numpy>=1.22"]
    assert "Requires-Python: >=3.10" in about and "\nName: urdf-usd\n" in about
    assert "-cp310-abi3-" in wheel.name


def test_a_source_distribution_makes_the_same_wheel_with_the_locked_versions(wheel):
    out = scratch()
    run(TOOLS / "maturin", "sdist", "--out", out, cwd=ROOT)
    (archive,) = out.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(out, filter="data")
    sources = out / archive.name.removesuffix(".tar.gz")

    def locked(folder):
        packages = tomllib.loads((folder / "Cargo.lock").read_text())["package"]
        return {(package["name"], package["version"], package.get("checksum")) for package in packages}

    assert zipfile.ZipFile(wheel_of(sources)).namelist() == zipfile.ZipFile(wheel).namelist()
    # Without the crate of the programs, its benches' packages are not needed: no others, and no other versions.
    assert {name for name, *_ in locked(ROOT) - locked(sources)} == {"condtype", "divan", "divan-macros", "urdf_usd"}
    assert locked(sources) < locked(ROOT)


def test_importing_has_no_effects(site):
    script = (
        "import signal, sys, threading, os\n"
        "before = [signal.getsignal(number) for number in signal.valid_signals()], os.environ.copy(), os.getcwd()\n"
        "import urdf_usd\n"
        "assert before == ([signal.getsignal(number) for number in signal.valid_signals()], os.environ.copy(), os.getcwd())\n"
        "assert 'numpy' not in sys.modules and 'pxr' not in sys.modules, 'loaded'\n"
        "assert len(os.listdir('/proc/self/task')) == 1\n"
        "assert sorted(dir(urdf_usd)) == sorted(urdf_usd.__all__)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], env={"PYTHONPATH": str(site)}, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done


@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_an_empty_environment_takes_the_wheel(wheel, which):
    python = pythons()[0 if which == "oldest" else -1]
    environment = scratch() / "env"
    run(python, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    # The oldest NumPy, too.
    numpy = ["numpy==1.22.4"] if which == "oldest" else []
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", wheel, *numpy)
    out = scratch()
    script = (
        "import sys, urdf_usd\n"
        "result = urdf_usd.convert(sys.argv[1], package_paths=[sys.argv[2]])\n"
        "robot = urdf_usd.Robot.load(sys.argv[1], package_paths=[sys.argv[2]])\n"
        "q = robot.ik(robot.fk(robot.rest, 'tool0'), 'tool0')\n"
        "assert q.reached and robot.mass_matrix([robot.rest] * 100).shape == (100, 7, 7)\n"
        "try: urdf_usd.convert('<robot', density=-1.0)\n"
        "except urdf_usd.OptionError as error: assert error.diagnostics\n"
        "try: result.stage()\n"
        "except ImportError as error: assert 'usd-core' in str(error)\n"
        "print(len(result.files))\n"
    )
    assert int(run(python, "-c", script, ARM, SAMPLES, cwd=out)) > 3
    command = environment / "bin" / "urdf_usd"
    assert run(command, "--version") == run(PROGRAM, "--version")
    # With a limit, the command starts the interpreter again: not with modules of the working directory.
    (out / "json.py").write_text("raise SystemExit('a module of the working directory')\n")
    report = json.loads(run(command, "convert", ARM, "--package-path", SAMPLES, "--memory-limit", "4000", "--json", "-o", out, cwd=out))
    assert len(report["files"]) > 3 and (out / "sample_arm" / "sample_arm.usda").exists()
    assert "sample_arm.usda: 0 errors" in run(python, "-P" if which == "newest" else "-I", "-m", "urdf_usd", "check", out / "sample_arm", cwd=out)
    wrong = subprocess.run([command, "convert", "--none"], capture_output=True)
    assert wrong.returncode == 2 and b"--none" in wrong.stderr


def test_the_command_shows_robots_and_ends_by_ctrl_c(site):
    """The page is part of the extension."""
    import urllib.request

    view = subprocess.Popen(
        [sys.executable, "-m", "urdf_usd", "view", ARM, "--package-path", SAMPLES, "--no-open", "--port", "0"],
        env=os.environ | {"PYTHONPATH": str(site)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        address = next(found.group() for found in (re.search(r"http://[^\s/]+", line) for line in view.stdout) if found)
        page = urllib.request.urlopen(address + "/").read().decode()
        assert "<script" in page
        view.send_signal(signal.SIGINT)
        view.communicate(timeout=20)
        assert view.returncode in (0, 130, -signal.SIGINT)
    finally:
        view.kill()
