"""Masses that options give to links without one, and options for the axes of meshes, as read by OpenUSD."""

import base64
import json
import math
import struct
from xml.etree import ElementTree

import pytest

pytest.importorskip("pxr", reason="assets are opened with OpenUSD (pip install usd-core)")

import numpy as np  # noqa: E402
from pxr import Usd, UsdGeom  # noqa: E402

from conftest import run  # noqa: E402
from stage import Asset  # noqa: E402
from test_fix_values import is_accepted_in_single_precision  # noqa: E402

ROBOT = """<robot name="r">
<link name="base"><collision><geometry><box size="1 2 3"/></geometry></collision></link>
<link name="wheel"><collision><origin xyz="0 0 0.5" rpy="0 0 1"/><geometry><cylinder radius="0.5" length="0.2"/></geometry></collision></link>
<link name="known"><inertial><mass value="7"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="a" type="continuous"><parent link="base"/><child link="wheel"/></joint>
<joint name="b" type="continuous"><parent link="base"/><child link="known"/></joint></robot>"""


def converted(tmp_path, *options, name="out"):
    (tmp_path / "r.urdf").write_text(ROBOT)
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path / name, "--json", *options)
    assert done.returncode == 0, done.stderr
    return Asset(tmp_path / name / "r" / "r.usda"), json.loads(done.stdout)


def weight(prim):
    """Returns mass, centre, moments, and whether they are assumed."""
    get = lambda name: prim.GetAttribute(name).Get()
    return get("physics:mass"), tuple(get("physics:centerOfMass")), tuple(get("physics:diagonalInertia")), get("urdf:inertial:assumed")


def test_a_density_weighs_links_without_a_mass(tmp_path):
    asset, report = converted(tmp_path, "--density", 500)
    x, y, z = 1, 2, 3
    moments = pytest.approx((250 * (y * y + z * z), 250 * (x * x + z * z), 250 * (x * x + y * y)), rel=1e-6)
    assert weight(asset.bodies["base"]) == (3000, pytest.approx((0, 0, 0)), moments, "true")
    mass, centre, moments, assumed = weight(asset.bodies["wheel"])
    of = 500 * math.pi * 0.25 * 0.2
    assert (mass, centre, assumed) == (pytest.approx(of), pytest.approx((0, 0, 0.5)), "true")
    assert sorted(moments) == pytest.approx(sorted([of * (3 * 0.25 + 0.04) / 12] * 2 + [of * 0.25 / 2]), rel=1e-5)
    assert weight(asset.bodies["known"])[::3] == (7, None)
    assert [d["code"] for d in report["diagnostics"]].count("mass-assumed") == 2 and report["status"] == "ok"
    told = run("inspect", tmp_path / "out" / "r").stdout
    assert "masses with * are assumed" in told and "3000 kg*" in told and "7 kg," not in told.replace("7 kg*", "")
    glb = run("inspect", tmp_path / "out" / "r" / "r.glb").stdout
    assert "3000 kg (assumed)" in glb and "7 kg (assumed)" not in glb


def test_a_file_weighs_links_and_comes_before_the_density(tmp_path):
    masses = tmp_path / "masses.yaml"
    masses.write_text("base: 12.5\n")
    asset, _ = converted(tmp_path, "--masses-file", masses, "--density", 1000)
    assert weight(asset.bodies["base"])[0] == 12.5
    assert weight(asset.bodies["wheel"])[0] == pytest.approx(1000 * math.pi * 0.25 * 0.2)
    masses.write_text("base: 12.5\nwheel: light\n")
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path / "none", "--masses-file", masses)
    assert done.returncode == 1 and "masses.yaml:2:8" in done.stderr and not (tmp_path / "none").exists()


def test_the_stand_in_is_marked_as_assumed(tmp_path):
    asset, report = converted(tmp_path)
    assert weight(asset.bodies["base"])[::3] == (pytest.approx(0.001), "true") and weight(asset.bodies["known"])[3] is None
    assert report["status"] == "warnings"
    # The mark survives another conversion of the asset.
    done = run("convert", tmp_path / "out" / "r" / "r.usda", "-o", tmp_path / "again")
    assert done.returncode == 0, done.stderr
    again = Asset(tmp_path / "again" / "r" / "r.usda")
    assert weight(again.bodies["base"])[3] == "true"


def gltf(path):
    """Writes a triangle with a corner at (1, 2, 3)."""
    points = struct.pack("<9f", 1, 2, 3, 0, 0, 0, 0, 1, 0)
    path.write_text(json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 2, 3]}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"byteLength": 36, "uri": "data:application/octet-stream;base64," + base64.b64encode(points).decode()}],
    }))  # fmt: skip


@pytest.mark.parametrize(("options", "corner"), [((), (1, -3, 2)), (("--mesh-up-axis", "honor"), (1, -3, 2)), (("--mesh-up-axis", "z"), (1, 2, 3))])
def test_gltf_in_the_axes_of_its_link(options, corner, tmp_path):
    gltf(tmp_path / "mesh.gltf")
    (tmp_path / "r.urdf").write_text('<robot name="r"><link name="l"><visual><geometry><mesh filename="mesh.gltf"/></geometry></visual></link></robot>')
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path / "out", *options)
    assert done.returncode == 0, done.stderr
    stage = Asset(tmp_path / "out" / "r" / "r.usda").stage
    points = [p for prim in stage.Traverse(Usd.TraverseInstanceProxies()) if (p := UsdGeom.Mesh(prim).GetPointsAttr().Get())]
    assert points and all(np.abs(np.array(p) - np.array(corner)).max(axis=1).min() < 1e-6 for p in points)


def test_a_robot_in_pieces_is_reported_with_the_remedy(tmp_path):
    """Long parts in the axes of their links, which glTF's y up would rotate by 90°."""
    points = np.array([[x, y, z] for x in (-0.02, 0.02) for y in (-0.02, 0.02) for z in (0, 1)], dtype="<f4")
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]], dtype="<u2")
    data = points.tobytes() + faces.tobytes()
    (tmp_path / "bar.gltf").write_text(json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 8, "type": "VEC3", "min": points.min(0).tolist(), "max": points.max(0).tolist()},
            {"bufferView": 1, "componentType": 5123, "count": 36, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteLength": 96}, {"buffer": 0, "byteOffset": 96, "byteLength": 72}],
        "buffers": [{"byteLength": len(data), "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}],
    }))  # fmt: skip
    links = "".join(f'<link name="l{i}"><visual><geometry><mesh filename="bar.gltf"/></geometry></visual></link>' for i in range(4))
    joints = "".join(f'<joint name="j{i}" type="continuous"><origin xyz="0 0 1"/><parent link="l{i}"/><child link="l{i + 1}"/></joint>' for i in range(3))
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{links}{joints}</robot>')
    told = lambda *options: [d for d in json.loads(run("convert", tmp_path / "r.urdf", "-o", tmp_path / "out", "--json", *options).stdout)["diagnostics"] if d["code"] == "robot-in-pieces"]
    (found,) = told()
    assert "3 of 3 parts" in found["message"] and "--mesh-up-axis z" in found["help"]
    assert told("--mesh-up-axis", "z") == []


#: Tensors (xx, xy, xz, yy, yz, zz): real ones whose largest moment exceeds the sum of the others, a turned plate, and a sound one.
TENSORS = {
    "thin": (8.08728875979549e-05, 1.48386162019941e-05, 4.2343545689576e-06, 2.85700490570738e-05, 2.14347646011766e-05, 7.96647061621031e-05),
    "finger": (4.701248e-06, 1.255968e-06, 1.2936e-06, 3.649312e-06, 1.7622e-06, 4.701248e-06),
    "plate": (2.5, -0.5, 0, 2.5, 0, 5),
    "flat": (1e-3, 0, 0, 2e-3, 0, 3e-3),
    "sound": (0.1, 0.01, 0, 0.2, 0, 0.25),
}


def test_inertias_have_a_margin_for_single_precision(tmp_path):
    names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    tensor = lambda numbers: np.array([[numbers[0], numbers[1], numbers[2]], [numbers[1], numbers[3], numbers[4]], [numbers[2], numbers[4], numbers[5]]])
    link = lambda name, numbers: f'<link name="{name}"><inertial><mass value="1"/><inertia ' + " ".join(f'{n}="{x!r}"' for n, x in zip(names, numbers)) + "/></inertial></link>"
    joint = '<joint name="{0}_j" type="continuous"><parent link="base"/><child link="{0}"/><axis xyz="0 0 1"/></joint>'
    links = "".join(link(name, numbers) + joint.format(name) for name, numbers in TENSORS.items())
    (tmp_path / "r.urdf").write_text(f'<robot name="r">{link("base", (1, 0, 0, 1, 0, 1))}{links}</robot>')
    formats = ("--formats", "usd,urdf,glb,mjcf,sdf")
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path / "out", "--json", *formats)
    report = json.loads(done.stdout)
    unsound = sorted(set(TENSORS) - {"sound"})
    for code in ("inertia-repaired", "mjcf-inertia-repaired", "sdf-inertia-repaired"):
        told = [d for d in report["diagnostics"] if d["code"] == code]
        assert sorted(d["message"].split('"')[1] for d in told) == unsound and {d["severity"] for d in told} == {"info"}
    folder = tmp_path / "out" / "r"
    asset = Asset(folder / "r.usda")
    mjcf = {body.get("name"): body.find("inertial") for body in ElementTree.parse(folder / "r.xml").iter("body")}
    sdf = {body.get("name"): body.find("inertial") for body in ElementTree.parse(folder / "r.sdf").iter("link")}
    urdf = {body.get("name"): body.find("inertial/inertia") for body in ElementTree.parse(folder / "r.urdf").iter("link")}
    for name, numbers in TENSORS.items():
        given = np.linalg.eigvalsh(tensor(numbers))
        in_mjcf = [float(x) for x in mjcf[name].get("diaginertia").split()]
        in_sdf = np.linalg.eigvalsh(tensor([float(sdf[name].findtext(f"inertia/{n}")) for n in names]))
        for moments in (weight(asset.bodies[name])[2], in_mjcf, in_sdf):
            assert is_accepted_in_single_precision(moments), (name, moments)
            # The largest stays, and none changes by more than is needed.
            lacks = max(0, given[2] * (1 + 4e-6) - given[0] - given[1])
            assert np.abs(np.sort(moments) - given).max() <= lacks + 1e-6 * given[2], (name, moments, given)
        assert [float(urdf[name].get(n)) for n in names] == list(numbers)
    # Moments with the margin stay.
    done = run("convert", folder / "r.usda", "-o", tmp_path / "again", "--json", "--formats", "usd")
    assert "inertia-repaired" not in {d["code"] for d in json.loads(done.stdout)["diagnostics"]}
    again = Asset(tmp_path / "again" / "r" / "r.usda")
    for name in TENSORS:
        assert weight(again.bodies[name])[2] == pytest.approx(weight(asset.bodies[name])[2], rel=1e-6)
