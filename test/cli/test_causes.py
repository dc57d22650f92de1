"""Messages name the real cause, and what to do about it."""

import json
import os
import shutil

import pytest

import conftest
from conftest import run

ARM = conftest.SAMPLES / "sample_arm"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 3\n"
URDF = "<robot name='r'><link name='a'/></robot>"


def said(done, code, *words, absent=()):
    """Asserts the exit code, and words of the output regardless of line breaks; returns the text."""
    text = " ".join((done.stderr + done.stdout).split())
    assert done.returncode == code, done.stderr
    for word in words:
        assert str(word) in text, f"{word!r} is not in:\n{text}"
    for word in absent:
        assert str(word) not in text, f"{word!r} is in:\n{text}"
    return text


@pytest.mark.parametrize("command", [["convert"], ["inspect"], ["check"], ["pose"], ["fix", "-o", "out"], ["view"]], ids=lambda words: words[0])
def test_a_missing_file_and_a_broken_link(command, tmp_path):
    (tmp_path / "link.usda").symlink_to("gone.usda")
    (tmp_path / "folder").symlink_to("nowhere")
    name, *options = command
    for path, words in (("absent.usda", ["does not exist", "absent.usda"]), ("link.usda", ["symbolic link to gone.usda"]), ("folder/a.usda", ["symbolic link to nowhere"])):
        said(run(name, path, *options, cwd=tmp_path), 1, *words, absent=["correct the reference", 'mean "link.usda"'])


def test_a_path_that_is_no_utf_8(tmp_path):
    file = os.fsencode(tmp_path) + b"/arm\xff.urdf"
    with open(file, "w") as out:
        out.write("<robot name='r'><link name='a'/><joint name='j' type='fixed'><parent link='a'/><child link='b'/></joint></robot>")
    done = run("convert", os.fsdecode(file), "-o", tmp_path, "--json")
    said(done, 1, "urdf", absent=["internal-error"])
    assert json.loads(done.stdout)["source"]["file"].endswith("arm\ufffd.urdf")


def test_a_file_that_is_no_robot(tmp_path):
    shutil.copy(ARM / "meshes" / "shoulder.stl", tmp_path / "SHOULDER.STL")
    (tmp_path / "a.dae").write_text("<COLLADA/>")
    (tmp_path / "a.usda").write_text('def Xform "a" {}')
    (tmp_path / "b.usda").write_bytes(b"\x80\x81")
    (tmp_path / "empty.usda").write_text("")
    (tmp_path / "a.glb").write_bytes(b"\x80\x81")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n")
    for file, words in {
        "SHOULDER.STL": ["is a mesh", "URDF"],
        "a.dae": ["is a mesh"],
        "a.usda": ["not an OpenUSD file", "#usda 1.0"],
        "b.usda": ["not an OpenUSD file"],
        "empty.usda": ["not an OpenUSD file"],
        "a.glb": ["not a glTF file"],
        "a.png": ["no robot description"],
    }.items():
        said(run("convert", tmp_path / file, "-o", tmp_path / "out"), 1, "source-kind", tmp_path / file, *words, absent=["XML", "windows-1252"])
    with open(tmp_path / "SHOULDER.STL", "rb") as mesh:
        done = run("convert", "-", "-o", tmp_path / "out", stdin=mesh)
    said(done, 1, "source-kind", "standard input holds binary data", absent=["XML", "windows-1252"])
    # Content counts, not the name.
    (tmp_path / "urdf.usda").write_text(URDF)
    assert run("convert", tmp_path / "urdf.usda", "-o", tmp_path / "out", "--formats", "glb").returncode == 0


@pytest.mark.parametrize("command", ["convert", "inspect", "check", "pose"])
@pytest.mark.parametrize("name", ["l.urdf", "l.usda", "l.glb"])
def test_a_git_lfs_pointer(command, name, tmp_path):
    (tmp_path / name).write_text(LFS)
    said(run(command, tmp_path / name, cwd=tmp_path), 1, "Git LFS pointer", "git lfs pull")


@pytest.mark.parametrize("command", [["convert"], ["inspect"], ["check"], ["pose"], ["ik", "--tip", "a", "--target", "0,0,0"], ["view", "--no-open"]], ids=lambda words: words[0])
def test_arguments_of_a_plain_urdf(command, tmp_path):
    (tmp_path / "r.urdf").write_text(URDF)
    name, *options = command
    said(run(name, "r.urdf", "size:=1", *options, cwd=tmp_path), 2, "size:=1", "r.urdf is not a xacro file")
    assert os.listdir(tmp_path) == ["r.urdf"]


def test_a_mesh_is_no_robot(tmp_path):
    (tmp_path / "m.stl").write_text("solid m\nendsolid m\n")
    for command in ("convert", "view"):
        said(run(command, "m.stl", cwd=tmp_path), 1, "is a mesh, not a robot")


def test_a_robot_without_a_command(tmp_path):
    (tmp_path / "r.urdf").write_text(URDF)
    for file in ("r.urdf", "gone.usda", "package://p/r.urdf"):
        said(run(file, cwd=tmp_path), 2, f"urdf_usd view {file}", f"urdf_usd convert {file}", absent=["unrecognized"])
    said(run("bake", cwd=tmp_path), 2, "unrecognized subcommand 'bake'")


def test_the_folder_of_an_asset(tmp_path):
    """The only asset below a folder is meant; several are listed."""
    assert run("convert", ARM, "-o", tmp_path, "--formats", "usd,urdf").returncode == 0
    for command in ("inspect", "check"):
        done = run(command, tmp_path)
        assert done.returncode == 0 and "sample_arm" in done.stdout, done.stderr
    shutil.copytree(tmp_path / "sample_arm", tmp_path / "other" / "sample_arm")
    said(run("inspect", tmp_path), 1, "2 robots", "--robot", "other/sample_arm")


def test_wrong_names_and_positions(tmp_path):
    """Faults of the command show no line of the robot's file."""
    done = run("ik", ARM, "--tip", "tol0", "--target", "0.3,0,0.5", "-q")
    said(done, 1, 'no link "tol0"', 'did you mean "tool0"', absent=["<robot", "╭"])
    done = run("pose", ARM, "--set", "elbow_joint=100", "--frame", "tool0")
    said(done, 0, '100 rad is outside the limits of joint "elbow_joint", -1.7 to 2.4 rad', "the poses are those at this position", absent=["can't be at"])
    assert "tool0" in done.stdout
    done = run("ik", ARM, "--tip", "tool0", "--target", "0.3,0,0.5", "--set", "elbow_joint=100")
    said(done, 0, "the search starts from the nearest limit")


def test_the_last_line_names_all_entries(tmp_path):
    """And `inspect` counts links, joints, meshes and triangles as `convert` does."""
    done = run("convert", ARM, "-o", tmp_path, "--formats", "usd,glb,urdf,mjcf,sdf", "--overlays", "isaac,newton")
    last = done.stderr.splitlines()[-1]
    named = last.partition(" wrote ")[2].partition(" (revision 1")[0].split(", ")
    folder = tmp_path / "sample_arm"
    assert named == [str(folder / "sample_arm.usda"), *(f"sample_arm.{ending}" for ending in ("isaac.usda", "newton.usda", "glb", "urdf", "xml", "sdf"))]
    assert all((folder / name).is_file() for name in named)
    counts = last.rpartition(": ")[2]
    assert counts == "13 links, 12 joints, 14 meshes, 12380 triangles"
    for source in (folder, folder / "sample_arm.glb", ARM):
        shown = run("inspect", source)
        told = json.loads(run("inspect", source, "--json").stdout)
        if source.suffix == ".glb":
            (robot,) = told["robots"]
            told = {"counts": {"links": len(robot["links"]), "joints": len(robot["joints"]), "meshes": robot["meshes"], "triangles": robot["triangles"]}}
        else:
            assert shown.stdout.splitlines()[1] == counts and "links (12 of 13 have a prim)" in shown.stdout
        assert told["counts"] == {"links": 13, "joints": 12, "meshes": 14, "triangles": 12380}
