"""The replacements for other programs' Python interfaces give what those programs give: compared with them, not with remembered results."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, SAMPLES, scratch

ROBOTS = Path(os.environ.get("URDF_USD_ROBOTS") or ROOT.parent / "shared" / "robots")
#: The environment with the converter that is replaced.
THEIRS = Path(os.environ.get("URDF_USD_OTHER_CONVERTER") or ROOT / ".test-env" / "converter" / "bin" / "urdf_usd_converter").parent / "python"

LINK = '<link name="{}"><inertial><mass value="1"/><inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>'
BOX = '<{0}><geometry><box size="1 2 3"/></geometry></{0}>'
JOINT = '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>{}</joint>'
LIMIT = '<axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="3" velocity="4"/>'


def robot(*parts, name="small"):
    return f'<robot name="{name}">{"".join(parts)}</robot>'


#: Small robots by name; those that the converter refuses begin with `bad`.
CASES = {
    "one_link": robot(LINK.format("base", BOX.format("visual"))),
    "names": robot(
        LINK.format("base-link", BOX.format("visual") * 2 + BOX.format("collision") + '<visual name="a b"><geometry><sphere radius="1"/></geometry></visual>'),
        LINK.format("1", BOX.format("visual")), JOINT.format("base-1", "fixed", "base-link", "1", ""), name="a-b",
    ),  # fmt: skip
    "world": robot('<link name="world"/>', LINK.format("a", ""), LINK.format("b", ""), JOINT.format("j", "fixed", "world", "a", ""), JOINT.format("k", "revolute", "a", "b", LIMIT)),
    "frame_root": robot('<link name="foot"/>', LINK.format("a", ""), LINK.format("b", ""), JOINT.format("j", "fixed", "foot", "a", ""), JOINT.format("k", "prismatic", "a", "b", LIMIT)),
    "root_joint": robot(LINK.format("a", ""), LINK.format("b", ""), JOINT.format("root_joint", "continuous", "a", "b", "")),
    "frames": robot(LINK.format("a", ""), '<link name="tip"/><link name="tool"/>', JOINT.format("j", "fixed", "a", "tip", ""), JOINT.format("k", "fixed", "tip", "tool", "")),
    "order": robot(*(LINK.format(name, "") for name in "abc"), JOINT.format("z", "revolute", "b", "c", LIMIT), JOINT.format("y", "revolute", "a", "b", LIMIT)),
    "mimic": robot(
        *(LINK.format(name, "") for name in "abc"), JOINT.format("j", "revolute", "a", "b", LIMIT),
        JOINT.format("k", "revolute", "a", "c", LIMIT + '<mimic joint="j" multiplier="-2" offset="0.5"/><dynamics damping="3" friction="0.2"/>'),
    ),  # fmt: skip
    "kdl_inertia": robot(f'<link name="base">{BOX.format("collision")}</link>', LINK.format("mass", ""), LINK.format("arm", ""), JOINT.format("j", "fixed", "base", "mass", ""), JOINT.format("k", "revolute", "base", "arm", LIMIT)),
    "floating": robot('<link name="map"/>', LINK.format("a", ""), LINK.format("b", ""), JOINT.format("j", "floating", "map", "a", ""), JOINT.format("k", "fixed", "a", "b", "")),
    "custom": robot(LINK.format("a", "<custom><item name='x'>text</item></custom>"), "<gazebo reference='a'><link>1</link></gazebo>"),
    "bad_xml": "<robot name='x'><link",
    "bad_root": "<model/>",
    "bad_nothing": robot(),
    "bad_name": "<robot>" + LINK.format("a", "") + "</robot>",
    "bad_link": robot(LINK.format("a", ""), JOINT.format("j", "fixed", "a", "b", "")),
    "bad_twice": robot(LINK.format("a", ""), LINK.format("a", "")),
    "bad_type": robot(LINK.format("a", ""), LINK.format("b", ""), JOINT.format("j", "ball", "a", "b", "")),
    "bad_mimic": robot(LINK.format("a", ""), LINK.format("b", ""), JOINT.format("j", "revolute", "a", "b", LIMIT + '<mimic joint="none"/>')),
    "bad_axis": robot(LINK.format("a", ""), LINK.format("b", ""), JOINT.format("j", "revolute", "a", "b", '<axis xyz="0 0 0"/><limit effort="1" velocity="1"/>')),
    "bad_loop": robot(LINK.format("a", ""), LINK.format("b", ""), JOINT.format("j", "fixed", "a", "b", ""), JOINT.format("k", "fixed", "b", "a", "")),
}
REAL = [
    "ur_description/urdf/ur10e.urdf", "robotiq_description/urdf/robotiq_2f_85.urdf", "interbotix_xsarm_descriptions/urdf/ib_wx250s.urdf",
    "simple_humanoid_description/urdf/simple_humanoid.urdf", "allegro_hand_description/urdf/allegro_right_hand.urdf",
]  # fmt: skip


@pytest.fixture(scope="module")
def both(site):
    """Facts of both converters by file, and by layer structure."""
    folder = scratch()
    for name, text in CASES.items():
        (folder / f"{name}.urdf").write_text(text)
    shutil.copytree(ROOT / "test" / "robots" / "meshes", folder / "meshes")
    textured = (ROOT / "test" / "robots" / "textured.urdf").read_text().replace("package://textured/", "")
    (folder / "textured.urdf").write_text(textured)
    files = [*(folder / f"{name}.urdf" for name in (*CASES, "textured")), *(ROBOTS / path for path in REAL)]

    def run(which):
        command = [THEIRS, ROOT / "test" / "drop_in.py", which, folder / which, ROBOTS, *files, folder / "missing.urdf"]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(site)}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return {which: run(which) for which in ("ours", "theirs")}


def close(ours, theirs):
    """Compares facts, numbers with the precision of single-precision poses along a chain."""
    if isinstance(theirs, list) and theirs and isinstance(theirs[0], float):
        return ours == pytest.approx(theirs, rel=1e-4, abs=2e-5)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(close, ours, theirs))
    return ours == (pytest.approx(theirs, rel=1e-5) if isinstance(theirs, float) else theirs)


def differences(ours, theirs):
    """Yields the facts that differ."""
    for key in {**theirs, **ours}:
        if isinstance(theirs.get(key), dict) and isinstance(ours.get(key), dict):
            yield from ((f"{key}/{below}", *values) for below, *values in differences(ours[key], theirs[key]))
        elif key == "colour" and theirs[key] is None:
            # An image without texture coordinates.
            continue
        elif key == "files" and any(shape["colour"] is None for shape in theirs["shapes"].values()):
            # Such an image may be used by nothing else.
            if set(ours[key]) - set(theirs[key]) or any("Textures" not in file for file in set(theirs[key]) - set(ours[key])):
                yield key, ours[key], theirs[key]
        elif not close(ours.get(key), theirs.get(key)):
            yield key, ours.get(key), theirs.get(key)


@pytest.mark.parametrize("flat", ["", " flat"])
@pytest.mark.parametrize("file", [*(name for name in CASES if not name.startswith("bad")), "textured", *(Path(path).stem for path in REAL)])
def test_assets_have_the_same_structure(both, file, flat):
    ours, theirs = (both[which][f"{file}.urdf{flat}"] for which in ("ours", "theirs"))
    assert "error" not in theirs and len(theirs["links"]) > 0, theirs
    assert list(differences(ours, theirs)) == []


@pytest.mark.parametrize("file", [*(name for name in CASES if name.startswith("bad")), "missing"])
def test_the_same_files_are_refused(both, file):
    """With exceptions that handlers of theirs catch."""
    ours, theirs = (both[which][f"{file}.urdf"] for which in ("ours", "theirs"))
    assert set(ours["error"]) >= set(theirs["error"]), (ours, theirs)


def test_it_needs_no_other_package_than_openusd(urdf_usd):
    """Names are encoded as OpenUSD does without usd-exchange, here in an environment with usd-core; the originals are shown."""
    from pxr import Usd
    from urdf_usd.compat.urdf_usd_converter import Converter

    folder = scratch()
    (folder / "names.urdf").write_text(CASES["names"])
    for _ in range(2):
        stage = Usd.Stage.Open(Converter().convert(folder / "names.urdf", folder / "out").path)
        assert not stage.GetCompositionErrors()
        link = stage.GetPrimAtPath("/a_b/Geometry/base_link")
        assert link.GetDisplayName() == "base-link"
        assert [child.GetName() for child in link.GetChildren()] == ["box", "box_1", "a_b", "box_2", "_1"]


def test_names_are_no_paths(urdf_usd):
    from urdf_usd.compat.urdf_usd_converter import Converter

    folder = scratch()
    (folder / "small.urdf").write_text(robot(LINK.format("a", ""), name="../../a"))
    assert Converter().convert(folder / "small.urdf", folder / "out" / "deep").path == str(folder / "out" / "deep" / "______a.usda")
    assert Converter(layer_structure=False).convert(folder / "small.urdf", folder / "flat").path == str(folder / "flat" / "______a.usdc")
    assert {path.name for path in folder.iterdir()} == {"small.urdf", "out", "flat"}


def test_images_of_other_robots_stay(urdf_usd):
    """A robot without images leaves those of another one in the folder."""
    from pxr import Usd
    from urdf_usd.compat.urdf_usd_converter import Converter

    folder = scratch()
    (folder / "plain.urdf").write_text(CASES["one_link"])
    convert = Converter(layer_structure=False, ros_packages=[{"name": "textured", "path": ROOT / "test" / "robots"}]).convert
    stage = Usd.Stage.Open(convert(ROOT / "test" / "robots" / "textured.urdf", folder / "out").path)
    convert(folder / "plain.urdf", folder / "out")
    files = [attribute.Get() for prim in stage.Traverse() for attribute in prim.GetAttributes() if attribute.GetTypeName() == "asset"]
    images = [file for file in files if file]
    assert images and all(Path(file.resolvedPath).is_file() for file in images)


def test_the_end_of_a_robot_is_not_one_in_a_comment(urdf_usd):
    from pxr import Usd, UsdPhysics
    from urdf_usd.compat.urdf_usd_converter import Converter

    folder = scratch()
    for name, text in (("comment", CASES["root_joint"] + "<!-- </robot> -->"), ("space", CASES["root_joint"].replace("</robot>", "</robot >"))):
        (folder / f"{name}.urdf").write_text(text)
        stage = Usd.Stage.Open(Converter().convert(folder / f"{name}.urdf", folder / name).path)
        fixed = [UsdPhysics.Joint(prim) for prim in stage.Traverse() if prim.IsA(UsdPhysics.FixedJoint)]
        assert [str(joint.GetBody1Rel().GetTargets()[0].name) for joint in fixed] == ["a"], name


def test_files_outside_of_allowed_folders_are_not_read(urdf_usd):
    from pxr import Usd, UsdGeom
    from urdf_usd.compat.urdf_usd_converter import Converter

    folder = scratch()
    (folder / "robot" / "urdf").mkdir(parents=True)
    shutil.copytree(ROOT / "test" / "robots" / "meshes", folder / "robot" / "meshes")
    # A reference that is too long to be a path is missing.
    long = BOX.format("visual").replace('box size="1 2 3"', f'mesh filename="package://long/{"x" * 5000}.stl"')
    for uri in ("package://robot/meshes/tile.obj", "../meshes/tile.obj"):
        shape = f'<visual><geometry><mesh filename="{uri}"/></geometry></visual>{long}'
        urdf = folder / "robot" / "urdf" / "small.urdf"
        urdf.write_text(robot(LINK.format("a", shape)))
        for roots, count in ((None, 1), ((), 0), (folder / "robot", int(uri[0] == "."))):
            stage = Usd.Stage.Open(Converter(allowed_roots=roots).convert(urdf, scratch()).path)
            assert sum(prim.IsA(UsdGeom.Mesh) for prim in stage.Traverse()) == count, (uri, roots)


def test_programs_need_no_change(site):
    script = (
        "import sys\n"
        "import urdf_usd.compat.urdf_usd_converter as ours\n"
        "ours.install()\n"
        "import urdf_usd_converter\n"
        "converter = urdf_usd_converter.Converter(layer_structure=False, scene=False)\n"
        "converter.params.ros_packages = [{'name': 'sample_arm', 'path': sys.argv[2]}]\n"
        "print(type(converter.convert(sys.argv[1], sys.argv[3])).__name__)\n"
    )
    arm, out = SAMPLES / "sample_arm", scratch()
    command = [sys.executable, "-c", script, arm / "urdf" / "sample_arm.urdf", arm, out]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(site)}, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "AssetPath\n"), done.stderr
    assert (out / "sample_arm.usdc").exists()
