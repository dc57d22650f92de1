"""Robots by their names in robot_descriptions, and in Git repositories."""

import importlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SAMPLES, scratch


@pytest.fixture
def named(monkeypatch):
    """A package with the interface of robot_descriptions 3.3: a module for each robot, which fetches it when it is imported."""
    folder = scratch()
    package = folder / "robot_descriptions"
    package.mkdir()
    (package / "__init__.py").touch()
    # The name of the repository is not that of the package in it.
    repository = folder / "cache" / "sample_robots"
    shutil.copytree(SAMPLES / "sample_arm", repository / "arms" / "sample")
    xacro = repository / "box.urdf.xacro"
    xacro.write_text("<robot xmlns:xacro='http://www.ros.org/wiki/xacro' name='r'><xacro:arg name='size' default='1'/><link name='l$(arg size)'/></robot>")
    places = f"REPOSITORY_PATH = {str(repository)!r}\nPACKAGE_PATH = {str(repository / 'arms' / 'sample')!r}\n"
    (package / "arm_description.py").write_text(f"{places}URDF_PATH = PACKAGE_PATH + '/urdf/sample_arm.urdf'\n")
    (package / "box_description.py").write_text(f"{places}XACRO_PATH = {str(xacro)!r}\nXACRO_ARGS = {{'size': '2'}}\n")
    (package / "arm_mj_description.py").write_text(f"{places}MJCF_PATH = 'none'\n")
    (package / "lost_description.py").write_text("raise OSError('no network')\n")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    importlib.invalidate_caches()
    yield folder
    for name in [name for name in sys.modules if name.startswith("robot_descriptions")]:
        del sys.modules[name]


def test_robots_by_name(urdf_usd, named):
    result = urdf_usd.convert("arm_description", formats="usd")
    assert result.name == "sample_arm" and result.status == "ok" and result.report["counts"]["meshes"] > 0
    assert urdf_usd.Robot.load("robot_descriptions:arm").dof == 7
    # The arguments of the description, and others that precede them.
    assert urdf_usd.Robot.load("robot_descriptions:box").link_names == ("l2",)
    assert urdf_usd.Robot.load("box_description", xacro_args={"size": 5}).link_names == ("l5",)
    assert urdf_usd.Robot.load("robot_descriptions:arm", packages=f"other={named}").dof == 7
    with pytest.raises(urdf_usd.OptionError, match="NAME=DIR"):
        urdf_usd.Robot.load("robot_descriptions:arm", packages=["other"])
    for name, kind, why in (
        ("robot_descriptions:none", urdf_usd.OptionError, "no robot 'none'"), ("arm_mj_description", urdf_usd.OptionError, "no URDF"),
        ("robot_descriptions:lost", urdf_usd.Error, "no network"), ("other_description", urdf_usd.Error, "other_description"),
    ):  # fmt: skip
        with pytest.raises(kind, match=why):
            urdf_usd.convert(name)


def test_the_command_takes_names(site, named):
    def command(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "urdf_usd", *arguments], env=os.environ | {"PYTHONPATH": f"{site}:{named}"}, capture_output=True, text=True, cwd=named
        )

    done = command("convert", "robot_descriptions:arm", "-o", "out", "--formats", "usd")
    assert done.returncode == 0 and (named / "out" / "sample_arm" / "sample_arm.usda").exists(), done.stderr
    assert "l2" in command("inspect", "robot_descriptions:box").stdout
    # The value of an option is no robot.
    done = command("convert", "robot_descriptions:arm", "-o", "noted", "--overlays", "isaac", "--changelog", "https://github.com/o/r", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["options"]["changelog"] == ["https://github.com/o/r"], done.stderr
    done = command("convert", "robot_descriptions:none")
    assert done.returncode == 2 and "no robot 'none'" in done.stderr and "Traceback" not in done.stderr


def test_robots_in_git_repositories(urdf_usd, monkeypatch):
    from urdf_usd import _sources

    folder = scratch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    repository = folder / "robots"
    shutil.copytree(SAMPLES / "sample_arm", repository / "arms" / "sample")

    def git(*arguments):
        identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
        return subprocess.run(["git", *arguments], cwd=repository, env=os.environ | identity, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet", "--initial-branch", "main")
    git("add", "-A")
    git("commit", "--quiet", "-m", "first")
    git("tag", "v1")
    url = f"git+file://{repository}"
    result = urdf_usd.convert(f"{url}#subdirectory=arms/sample", formats="usd")
    assert result.name == "sample_arm" and result.report["counts"]["meshes"] > 0
    path = "#subdirectory=arms/sample/urdf/sample_arm.urdf"
    first = _sources.find(f"{url}{path}").path
    text = first.read_text()
    urdf = repository / "arms" / "sample" / "urdf" / "sample_arm.urdf"
    urdf.write_text(urdf.read_text().replace('robot name="sample_arm"', 'robot name="other"').replace("robot name='sample_arm'", "robot name='other'"))
    git("commit", "--quiet", "-am", "second")
    git("tag", "--annotate", "--message", "second", "v2")
    assert urdf_usd.Robot.load(f"{url}{path}").name == "other"
    assert urdf_usd.Robot.load(f"{url}@v1{path}").name == "sample_arm"
    assert urdf_usd.Robot.load(f"{url}@{git('rev-parse', 'main')}{path}").name == "other"
    # The copies of commits never change, and each commit has one.
    second = _sources.find(f"{url}{path}").path
    assert first.read_text() == text and second.read_text() == urdf.read_text() and _sources.find(f"{url}@v1{path}").path == first
    assert _sources.find(f"{url}@v2{path}").path == _sources.find(f"{url}@main{path}").path == second
    for source, why in ((f"{url}@none{path}", "none"), (f"{url}#subdirectory=../..", "not in the repository"), (f"git+file://{folder}/nowhere", "nowhere")):
        with pytest.raises(urdf_usd.Error, match=why):
            urdf_usd.Robot.load(source)
    # Without the repository, the copy of earlier use is read, and a warning says so.
    repository.rename(folder / "moved")
    with pytest.warns(UserWarning, match="earlier copy"):
        assert urdf_usd.Robot.load(f"{url}{path}").name == "other"


def test_addresses_of_github(urdf_usd, monkeypatch):
    from urdf_usd import _sources
    from urdf_usd.__main__ import located

    asked = []
    monkeypatch.setattr(_sources, "_repository", lambda *arguments: asked.append(arguments))
    for address in (
        "https://github.com/o/r", "https://github.com/o/r.git", "https://github.com/o/r/tree/main/arms/a", "https://github.com/o/r/blob/v1/a.urdf",
        "git+ssh://git@host/o/r.git@v2#subdirectory=a", "git+ssh://git@host/o/r.git",
    ):  # fmt: skip
        _sources.find(address)
    assert asked == [
        ("https://github.com/o/r.git", "HEAD", ""), ("https://github.com/o/r.git", "HEAD", ""), ("https://github.com/o/r.git", "main", "arms/a"),
        ("https://github.com/o/r.git", "v1", "a.urdf"), ("ssh://git@host/o/r.git", "v2", "a"), ("ssh://git@host/o/r.git", "HEAD", ""),
    ]  # fmt: skip
    monkeypatch.setattr(_sources, "_repository", lambda *_: _sources.Found(Path("robot")))
    address = "https://github.com/o/r"
    assert located(["convert", "--check", address]) == ["convert", "--check", "robot"]
    assert located(["convert", "robot", "--changelog", address]) == ["convert", "robot", "--changelog", address]
    assert _sources.find("https://example.com/o/r") is None and _sources.find("arm.urdf") is None
