"""Xacro as input, expanded by the program `xacro` of PyPI: the result is that of `xacro FILE | urdf_usd convert -`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import conftest
from conftest import run

#: The pinned version of test/requirements.txt, beside this Python.
XACRO = Path(sys.executable).with_name("xacro")
WALKER = Path(__file__).resolve().parents[1] / "xacro" / "walker_description"
FILE = WALKER / "urdf" / "walker.urdf.xacro"
PATH = f"{XACRO.parent}:{os.environ.get('PATH', '')}"
#: An environment without ROS, except for what a test adds.
ENVIRONMENT = {"PATH": PATH, "AMENT_PREFIX_PATH": "", "PYTHONPATH": ""}


def convert(*arguments, **environment):
    return run("convert", *arguments, env=os.environ | ENVIRONMENT | environment)


def report(directory):
    return json.loads((directory / "report.json").read_text())


def content(directory):
    return {p.relative_to(directory): p.read_bytes() for p in directory.rglob("*") if p.is_file() and p.name != "report.json"}


def expanded(*arguments, cwd=None):
    """Returns the output of xacro itself; the package of the sample is in an ament index, the Python module of ROS in a folder."""
    return subprocess.run([XACRO, *arguments], capture_output=True, text=True, check=True, cwd=cwd, env=os.environ | ENVIRONMENT).stdout


@pytest.fixture
def package(tmp_path):
    """Copies the sample, so that a test may change it."""
    return Path(shutil.copytree(WALKER, tmp_path / "walker_description"))


def test_the_sample(tmp_path):
    done = convert(FILE, "-o", tmp_path, "--strict")
    assert done.returncode == 0, done.stderr
    told = report(tmp_path / "walker")
    assert told["source"]["kind"] == "xacro"
    assert told["source"]["uri"] == "package://walker_description/urdf/walker.urdf.xacro"
    assert told["counts"]["links"] == 5 and told["diagnostics"] == []


def test_arguments_work_in_all_commands(tmp_path):
    for name, *options in (("inspect",), ("pose",), ("check", "--format", "json"), ("xrdf", "write", "-o", tmp_path / "walker.xrdf", "--samples", "0")):
        command = [name, *options[:1], FILE, *options[1:]] if name == "xrdf" else [name, FILE, *options]
        done = run(*command, "legs:=6", "prefix:=w_", env=os.environ | ENVIRONMENT)
        assert done.returncode == 0, done.stderr
        assert "w_body" in (done.stdout if name in ("inspect", "pose") else "w_body"), done.stdout
    written = tmp_path / "walker.xrdf"
    assert "w_" in written.read_text()
    for arguments in (("legs:=6", "prefix:=w_"), ("--xacro-arg", "legs:=6", "--xacro-arg", "prefix:=w_")):
        done = run("xrdf", "check", FILE, written, *arguments, env=os.environ | ENVIRONMENT)
        assert done.returncode == 0 and "0 errors" in done.stderr, done.stderr


def test_arguments(tmp_path):
    named = ("--xacro-arg", "legs:=6", "--xacro-arg", "prefix:=w_")
    trailing = ("legs:=6", "prefix:=w_")
    for number, arguments in enumerate([named, trailing, ("prefix:=w_", "--xacro-arg", "legs:=6")]):
        done = convert(FILE, *arguments, "-o", tmp_path / str(number))
        assert done.returncode == 0, done.stderr
    first = content(tmp_path / "0" / "walker")
    assert report(tmp_path / "0" / "walker")["counts"]["links"] == 7
    assert b'"w_body"' in first[Path("base.usda")]
    assert content(tmp_path / "1" / "walker") == first == content(tmp_path / "2" / "walker")


def test_the_result_is_that_of_the_program(package, tmp_path):
    """The same as by hand, except for the origin."""
    # xacro alone has no ament index, so that the file is given by path.
    include = package / "urdf" / "walker.urdf.xacro"
    include.write_text(include.read_text().replace("$(find walker_description)/urdf/", ""))
    text = expanded(include, "legs:=2")
    by_hand = run("convert", "-", "-o", tmp_path / "hand", input=text)
    assert by_hand.returncode == 0, by_hand.stderr
    assert convert(include, "legs:=2", "-o", tmp_path / "own").returncode == 0
    hand, own = content(tmp_path / "hand" / "walker"), content(tmp_path / "own" / "walker")
    assert hand.keys() == own.keys()
    same = {name for name in hand if hand[name] == own[name]}
    assert {Path(f"{layer}.usda") for layer in ("base", "physics", "instances", "materials", "ros", "urdf")} <= same
    assert report(tmp_path / "hand" / "walker")["counts"] == report(tmp_path / "own" / "walker")["counts"]


def test_the_same_robot_in_another_folder_is_the_same(package, tmp_path):
    for number, file in enumerate((FILE, package / "urdf" / "walker.urdf.xacro")):
        assert convert(file, "-o", tmp_path / str(number)).returncode == 0
    assert content(tmp_path / "0" / "walker") == content(tmp_path / "1" / "walker")


def test_packages_are_found_in_the_given_folders(package, tmp_path):
    """`$(find …)` sees --package, --package-path and the ament index, and paths in the result are those of the packages."""
    parts = tmp_path / "parts" / "leg_parts"
    (parts / "urdf").mkdir(parents=True)
    shutil.move(package / "urdf" / "leg.xacro", parts / "urdf" / "leg.xacro")
    file = package / "urdf" / "walker.urdf.xacro"
    text = file.read_text().replace("$(find walker_description)/urdf/leg", "$(find leg_parts)/urdf/leg")
    file.write_text(text.replace('<box size="${sizes.body.length} ${sizes.body.width} 0.1"/>', '<mesh filename="file://$(find leg_parts)/body.stl"/>'))
    (parts / "body.stl").write_text("solid\nfacet vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endfacet\nfacet vertex 0 0 0 vertex 1 0 0 vertex 0 0 1 endfacet\nendsolid\n")
    prefix = tmp_path / "install"
    (prefix / "share/ament_index/resource_index/packages").mkdir(parents=True)
    (prefix / "share/ament_index/resource_index/packages/leg_parts").touch()
    shutil.copytree(parts, prefix / "share" / "leg_parts")

    done = convert(file, "-o", tmp_path / "none")
    assert done.returncode == 1 and "xacro-failed" in done.stderr
    assert "package 'leg_parts' not found" in done.stderr and "--package" in done.stderr
    assert "urdf_usd-xacro-" not in done.stderr, "the temporary prefix must not appear"
    for number, (arguments, environment) in enumerate(
        [
            (("--package", f"leg_parts={parts}"), {}),
            (("--package-path", parts.parent), {}),
            (("--allowed-root", prefix), {"AMENT_PREFIX_PATH": str(prefix)}),
        ]
    ):
        done = convert(file, *arguments, "-o", tmp_path / str(number), **environment)
        assert done.returncode == 0, done.stderr
        told = report(tmp_path / str(number) / "walker")
        assert told["counts"]["meshes"] == 1, told["diagnostics"]
        assert "urdf_usd-xacro-" not in json.dumps(told)


@pytest.mark.parametrize(
    ("name", "old", "new", "line", "words"),
    [
        ("walker", "<xacro:leg name=\"left_", "<xacro:lag name=\"left_", 19, ["unknown macro name: xacro:lag"]),
        ("walker", "urdf/leg.xacro", "urdf/log.xacro", 7, ["No such file", "log.xacro"]),
        ("walker", "</link>", "</lonk>", 16, ["mismatched tag"]),
        ("leg", "</link>", "</lonk>", 19, ["mismatched tag", "included from: ", "walker.urdf.xacro"]),
        ("leg", "radius=\"${radius}\" length", "radius=\"${radios}\" length", 13, ["radios", "when instantiating macro: leg"]),
        ("walker", "${left > 1}", "true", None, ["maximum recursion depth", "endlessly"]),
        ("walker", "$(arg prefix)", "$(arg praefix)", 6, ["praefix", "NAME:=VALUE"]),
        ("walker", "../config/sizes.yaml", "../config/size.yaml", 5, ["size.yaml"]),
        ("leg", "<robot ", "<xacro:include filename='leg.xacro'/><robot ", None, []),
    ],
    ids=["macro", "include", "xml", "xml-included", "property", "recursion", "argument", "yaml", "two-roots"],
)  # fmt: skip
def test_errors_are_reported_with_their_place(name, old, new, line, words, package, tmp_path):
    file = package / "urdf" / (f"{name}.urdf.xacro" if name == "walker" else f"{name}.xacro")
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    if new.startswith("<xacro:lag"):
        assert file.read_text().count("<xacro:lag") == 1
    done = convert(package / "urdf" / "walker.urdf.xacro", "-o", tmp_path / "out", "--json")
    assert done.returncode == 1 and "panicked" not in done.stderr
    [found] = json.loads(done.stdout)["diagnostics"]
    assert found["code"] == "xacro-failed" and found["severity"] == "error"
    if line:
        assert found["where"]["file"] == str(file), found
        assert found["where"].get("line") == line, found
    for word in words:
        assert word in found["message"] + found.get("help", ""), found
    assert not (tmp_path / "out").exists()


def test_include_without_end(tmp_path):
    file = tmp_path / "r.xacro"
    file.write_text('<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n<xacro:include filename="r.xacro"/></robot>')
    done = convert(file, "-o", tmp_path / "out")
    assert done.returncode == 1 and "endlessly" in done.stderr, done.stderr


def test_xacro_is_not_installed(tmp_path):
    done = convert(FILE, "-o", tmp_path / "out", PATH=str(tmp_path), ROS_DISTRO="jazzy")
    assert done.returncode == 1 and "xacro-not-installed" in done.stderr
    assert "ros-jazzy-xacro" in done.stderr and "pip install xacro" in done.stderr.replace("\n", " ")


def test_findings_are_marked_as_in_the_expanded_text(package, tmp_path):
    leg = package / "urdf" / "leg.xacro"
    leg.write_text(leg.read_text().replace('<mass value="0.3"/>', '<mass value="heavy"/>'))
    file = package / "urdf" / "walker.urdf.xacro"
    done = convert(file, "legs:=2", "-o", tmp_path / "out", "--json")
    told = json.loads(done.stdout)["diagnostics"]
    found = [d for d in told if d["code"] == "urdf-bad-number"]
    assert len(found) == 2, told
    lines = expanded_lines(package)
    for diagnostic in found:
        where = diagnostic["where"]
        assert where["expanded"] is True and where["file"] == str(file)
        assert 'value="heavy"' in lines[where["line"] - 1]
    assert "expanded by xacro" in done.stderr and 'value="heavy"' in done.stderr
    # Findings in a URDF are not marked.
    urdf = tmp_path / "plain.urdf"
    urdf.write_text("\n".join(lines))
    plain = json.loads(run("convert", urdf, "-o", tmp_path / "plain", "--json").stdout)["diagnostics"]
    assert [d["where"]["line"] for d in plain if d["code"] == "urdf-bad-number"] == [d["where"]["line"] for d in found]
    assert not any("expanded" in d["where"] for d in plain)


def expanded_lines(package):
    """Returns the lines of the expanded sample with two legs."""
    file = package / "urdf" / "walker.urdf.xacro"
    beside = file.with_name("beside.xacro")
    beside.write_text(file.read_text().replace("$(find walker_description)/urdf/", ""))
    try:
        return expanded(beside, "legs:=2").splitlines()
    finally:
        beside.unlink()


def test_warnings_are_reported(package, tmp_path):
    file = package / "urdf" / "walker.urdf.xacro"
    file.write_text(file.read_text().replace("<xacro:arg", '<xacro:property name="len" value="1"/><xacro:arg', 1))
    done = convert(file, "-o", tmp_path / "out", "--json")
    [found] = [d for d in json.loads(done.stdout)["diagnostics"] if d["severity"] == "warning"]
    assert found["code"] == "xacro-warning" and "redefining global symbol: len" in found["message"]
    assert convert(file, "-o", tmp_path / "strict", "--strict").returncode == 1


def test_included_files_are_dependencies(package, tmp_path):
    """A conversion is repeated if an included file changed, and only then."""
    file, sizes = package / "urdf" / "walker.urdf.xacro", package / "config" / "sizes.yaml"
    out = tmp_path / "out"
    assert convert(file, "-o", out).returncode == 0
    first = report(out / "walker")
    assert "is up to date" in convert(file, "-o", out).stderr
    sizes.write_text(sizes.read_text().replace("0.25", "0.35"))
    assert "wrote" in convert(file, "-o", out).stderr
    second = report(out / "walker")
    assert second["revision"] == 2 and second["source"]["sha256"] != first["source"]["sha256"]


@pytest.mark.parametrize("argument", ["legs", "legs=4", ":=4", "legs:=4:=5", "_legs:=4"])
def test_wrong_arguments(argument, tmp_path):
    for arguments in (["--xacro-arg", argument], [argument]):
        done = convert(FILE, *arguments)
        assert done.returncode == 2 and argument in done.stderr, done.stderr
    done = run("convert", "-", "legs:=4", input="<robot/>")
    assert done.returncode == 2 and "legs:=4" in done.stderr


def test_a_name_is_taken_from_the_file(tmp_path):
    file = tmp_path / "stool.urdf.xacro"
    file.write_text('<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/></robot>')
    assert convert(file, "-o", tmp_path / "out").returncode == 0
    assert (tmp_path / "out" / "stool" / "stool.usda").exists()


def test_the_program_has_the_pinned_version():
    pinned = (Path(__file__).resolve().parents[1] / "requirements.txt").read_text()
    version = subprocess.run([sys.executable, "-m", "pip", "show", "xacro"], capture_output=True, text=True, check=False).stdout
    if version:
        assert f"xacro=={version.split('Version: ')[1].split()[0]}" in pinned
    assert conftest.PROGRAM.exists()
