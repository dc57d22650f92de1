"""Written URDF files in other programs: check_urdf, Pinocchio, MuJoCo, and readers of mesh files."""

import functools
import os
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh

from conftest import ROOT, SAMPLE_ROBOTS, convert, gltf_issues, reported, run, scratch, source
from worker import worker

#: Tolerances of frames (metres) and mass matrices (relative to the largest entry).
CLOSE = 1e-6


def peers():
    """Returns a Python with Pinocchio and MuJoCo. Skips without one."""
    python = os.environ.get("URDF_USD_URDF_PYTHON")
    if not python:
        pytest.skip("URDF_USD_URDF_PYTHON is not set: test/run sets it to a Python with test/requirements-urdf.txt")
    return python


def ask(what, *arguments):
    """Asks Pinocchio or MuJoCo (urdf_peers.py)."""
    return worker(peers(), "urdf").ask("urdf_peers", what, *map(str, arguments))[0]


def checkers():
    """Returns the check_urdf programs: of urdfdom's newest release and, if unpacked, of the system's packages."""
    yield [Path(peers()).parent / "check_urdf"], {}
    debian = Path(os.environ.get("URDF_USD_DEBIAN_ROS") or "/nowhere")
    if (debian / "usr/bin/check_urdf").is_file():
        yield [debian / "usr/bin/check_urdf"], {"LD_LIBRARY_PATH": ":".join(map(str, debian.glob("usr/lib/*-linux-gnu")))}


@functools.cache
def rewritten(converted, mesh_format="glb"):
    """Converts a robot's URDF to URDF. Returns the file and the report."""
    folder = scratch()
    again = convert(source(converted.name), folder, "--formats", "urdf", "--mesh-format", mesh_format)
    return again.directory / f"{again.asset_name}.urdf", again.report


@functools.cache
def from_asset(entry, errors=()):
    """Converts an OpenUSD or glTF asset to URDF, with errors of these codes only."""
    folder = scratch()
    done = run("convert", entry, "-o", folder, "--formats", "urdf", "--json")
    report = reported(done, errors=bool(errors))
    assert {found["code"] for found in report["diagnostics"] if found["severity"] == "error"} == {*errors}
    (urdf,) = folder.glob("*/*.urdf")
    return urdf


def assert_accepted(urdf):
    for command, environment in checkers():
        done = subprocess.run([*command, urdf], capture_output=True, text=True, env=os.environ | environment)
        said = done.stdout + done.stderr
        assert done.returncode == 0 and "Successfully Parsed XML" in said, said
        # urdfdom 3 skips capsules, which are from URDF 1.1, with a message.
        assert "Error" not in said or "capsule" in said, said


def assert_same(converted, urdf, numbers=("frames", "masses", "ranges")):
    """Asserts that a URDF has the kinematics and masses of the robot's own in Pinocchio and MuJoCo, unless these reject the robot's own."""
    assert_accepted(urdf)
    codes = {found["code"] for found in converted.report["diagnostics"]}
    if codes & {"urdf-several-roots", "urdf-loop"}:
        # An invalid URDF, which each program reads differently.
        return
    if codes & {"urdf-no-limit", "urdf-half-limit", "urdf-limits-swapped", "urdf-infinite-limit"}:
        numbers = [number for number in numbers if number != "ranges"]
    for what in ("pinocchio", "mujoco"):
        told = ask(what, converted.urdf, urdf)
        if told is not None:
            assert all(told[number] < CLOSE for number in numbers), (what, told)


def test_a_urdf_is_the_robot_of_its_source(converted):
    assert_same(converted, rewritten(converted)[0])


def test_files_that_a_urdf_names_exist_and_are_valid(converted):
    urdf, _ = rewritten(converted)
    elements = (element for element in ElementTree.parse(urdf).iter() if element.tag in ("mesh", "texture"))
    names = {element.get("filename") for element in elements if element.get("filename")}
    files = [urdf.parent / name for name in sorted(names)]
    assert all(file.is_file() for file in files), names
    written = {path for path in (urdf.parent / "meshes").glob("*")} if names else set()
    assert written == {*files}, "unused files"
    found = gltf_issues(*(file for file in files if file.suffix == ".glb")) if files else {}
    bad = {file: [issue for issue in issues if issue["severity"] < 2] for file, issues in found.items()}
    assert not any(bad.values()), bad


@pytest.mark.parametrize("name", SAMPLE_ROBOTS)
def test_mesh_files_of_every_format_contain_the_same_box(conversions, name):
    boxes = {}
    for mesh_format in ("glb", "obj", "stl"):
        urdf, _ = rewritten(conversions(name), mesh_format)
        for file in sorted((urdf.parent / "meshes").glob(f"*.{mesh_format}")):
            low, high = trimesh.load(file, process=False).bounds
            if mesh_format == "glb":
                # y up: (x, z, -y).
                low, high = (low[0], -high[2], low[1]), (high[0], -low[2], high[1])
            boxes.setdefault(file.stem, {})[mesh_format] = np.array([low, high])
    shared = [box for box in boxes.values() if len(box) == 3]
    assert shared
    for box in shared:
        for mesh_format in ("obj", "stl"):
            assert np.abs(box[mesh_format] - box["glb"]).max() < 1e-6, boxes


def test_mujoco_loads_the_written_meshes(conversions, tmp_path):
    urdf, _ = rewritten(conversions("sample_arm"), "stl")
    assert ask("meshes", urdf)


def test_all_programs_load_the_meshes_of_the_default_format(tmp_path):
    drake = os.environ.get("URDF_USD_DRAKE_PYTHON")
    if not drake:
        pytest.skip("URDF_USD_DRAKE_PYTHON is not set: test/run sets it to a Python with test/requirements-drake.txt")
    made = convert(source("sample_arm"), tmp_path, "--formats", "urdf,sdf")
    urdf, sdf = (made.directory / f"{made.asset_name}.{format}" for format in ("urdf", "sdf"))
    count = {kind: len(ElementTree.parse(urdf).findall(f"link/{kind}")) for kind in ("collision", "visual")}
    assert count["collision"] and ask("meshes", urdf)
    assert ask("shapes", urdf) == [count["collision"], count["visual"]]
    for path in (urdf, sdf):
        told = worker(drake, "drake").ask("drake_shapes", str(path))[0]
        assert (told["collisions"], told["visuals"]) == (count["collision"], count["visual"]), path
    assert told["warnings"] == []
    # The option is for both.
    for format in ("urdf", "sdf"):
        made = convert(source("sample_arm"), tmp_path / format, "--formats", format, "--mesh-format", "stl")
        assert {path.suffix for path in (made.directory / "meshes").iterdir()} == {".stl"}
    done = run("convert", source("sample_arm"), "-o", tmp_path, "--formats", "mjcf", "--mesh-format", "stl")
    assert done.returncode == 2 and "--mesh-format" in done.stderr


def test_a_package_may_contain_the_files(conversions, tmp_path):
    arm = source("sample_arm")
    made = convert(arm, tmp_path, "--formats", "urdf", "--urdf-package", "arm_meshes")
    urdf = made.directory / f"{made.asset_name}.urdf"
    names = {element.get("filename") for element in ElementTree.parse(urdf).iter("mesh")}
    assert names and all(name.startswith("package://arm_meshes/meshes/") for name in names)
    # Read back, with the asset's folder as that of the package.
    done = run("convert", urdf, "-o", tmp_path / "again", "--package", f"arm_meshes={made.directory}", "--strict", "--formats", "urdf")
    assert done.returncode == 0, done.stderr


def test_a_urdf_does_not_overwrite_its_source(tmp_path):
    folder = tmp_path / "sample_arm"
    shutil.copytree(ROOT / "examples" / "sample_arm", folder)
    text = (folder / "urdf" / "sample_arm.urdf").read_text()
    (folder / "sample_arm.urdf").write_text(text)
    done = run("convert", folder / "sample_arm.urdf", "-o", tmp_path, "--formats", "urdf", "--package", f"sample_arm={folder}")
    assert done.returncode == 1 and "output-unwritable" in done.stderr, done.stderr
    assert (folder / "sample_arm.urdf").read_text() == text


@pytest.mark.parametrize("asset", ["entry", "glb"])
def test_an_asset_is_converted_back_to_its_urdf(converted, asset):
    urdf = from_asset(getattr(converted, asset))
    codes = {found["code"] for found in converted.report["diagnostics"]}
    kinds = {joint.get("type") for joint in ElementTree.parse(converted.urdf).getroot().iter("joint")}
    if asset == "entry" and "floating" in kinds:
        # An asset does not have the parents of floating links.
        assert_accepted(urdf)
    elif asset == "entry" and codes & {"inertia-repaired", "link-without-mass"}:
        assert_same(converted, urdf, ("frames", "ranges"))
    else:
        assert_same(converted, urdf)


#: Links that another converter's asset lacks: it merges a link without geometry into the one that it is fixed to.
LINKS_LOST = {"anymal_c_simple_description": {"base_inertia"}}
#: Tolerance of frames in metres: its rotations are in single precision, whose errors add up along a chain.
FRAMES_APART = {"g1_description": 3e-6}
#: Links whose inertial has no origin: it omits their centre of mass, for which UsdPhysics uses that of the colliders.
MASSES_MOVED = {"minitaur_description"}


def test_the_asset_of_another_converter_is_converted_back_to_its_urdf(theirs):
    name, asset = theirs
    # The source has spheres without a radius.
    urdf = from_asset(asset, ("usd-read-shape-left-out",) if name == "jaco_description" else ())
    assert_accepted(urdf)
    a, b = (worker(peers(), "urdf").ask("pinocchio_poses", str(file), [], [])[0] for file in (source(name).urdf, urdf))
    assert {*a["links"]} - {*b["links"]} == LINKS_LOST.get(name, set())
    # Its base is fixed to the world.
    assert {*b["links"]} - {*a["links"]} <= {"world"}
    joints = [*a["limits"]]
    assert joints and {*joints} == {*b["limits"]}
    for joint in joints:
        assert b["limits"][joint] == pytest.approx(a["limits"][joint], rel=CLOSE, abs=CLOSE), joint
    order = [[*b["limits"]].index(joint) for joint in joints]
    for pose in range(len(a["poses"])):
        known = [link for link in a["links"] if link in b["links"]]
        frames = [np.array([of["frames"][pose][link] for link in known]) for of in (a, b)]
        assert np.abs(frames[0] - frames[1]).max() < FRAMES_APART.get(name, CLOSE)
        masses = np.array(a["masses"][pose]), np.array(b["masses"][pose])[np.ix_(order, order)]
        moved = np.abs(masses[0] - masses[1]).max() > CLOSE * max(1, np.abs(masses[0]).max())
        assert moved == (name in MASSES_MOVED)
