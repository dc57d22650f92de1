"""`inspect` on a GLB, compared with its URDF as read by test/kinematics.py."""

import functools
import json
import struct

import numpy as np
import pytest

import kinematics
from conftest import run
from glb_file import Glb, quaternion


def inspect(path):
    done = run("inspect", "--json", path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@functools.cache
def _case(converted):
    summary = inspect(converted.glb)
    (robot,) = summary["robots"]
    return kinematics.read(converted.urdf), robot, summary["diagnostics"]


@pytest.fixture
def case(converted):
    return _case(converted)


def pose(joint):
    out = np.eye(4)
    out[:3, :3] = quaternion(*joint["rotation"])
    out[:3, 3] = joint["translation"]
    return out


def joints(urdf, robot):
    read = {joint["name"]: joint for joint in robot["joints"]}
    assert set(read) == set(urdf.joints)
    return [(urdf.joints[name], joint) for name, joint in read.items()]


def test_our_files_have_no_findings(case):
    _, _, diagnostics = case
    assert [d for d in diagnostics if d["severity"] != "info"] == []


def test_links_have_the_parents_of_the_urdf(case):
    urdf, robot, _ = case
    assert robot["name"] == urdf.name
    assert {link["name"]: link["depth"] for link in robot["links"]} == {name: urdf.depth(name) for name in urdf.links}
    for link in robot["links"]:
        of_urdf = urdf.links[link["name"]]
        assert link["visuals"] == len(of_urdf.visuals), link
        assert link["colliders"] == len(of_urdf.collisions), link
        assert (link.get("mass") or None) == (of_urdf.mass or None), link


def test_joints_are_those_of_the_urdf(case):
    urdf, robot, _ = case
    loops = {joint.name for joint in urdf.loops}
    for joint, read in joints(urdf, robot):
        assert (read["parent"], read["child"]) == (joint.parent, joint.child), joint.name
        assert read["kind"] == (joint.kind if joint.kind in kinematics.FREEDOM else "fixed"), joint.name
        assert read.get("closes_loop", False) == (joint.name in loops), joint.name
        np.testing.assert_allclose(pose(read), joint.origin, atol=1e-12, err_msg=joint.name)
        if joint.kind in ("revolute", "continuous", "prismatic", "planar"):
            np.testing.assert_allclose(read["axis"], joint.axis, atol=1e-12, err_msg=joint.name)


def finite(limit):
    return limit if limit is not None and np.isfinite(limit) else None


def test_limits_are_those_of_the_urdf(case):
    urdf, robot, _ = case
    for joint, read in joints(urdf, robot):
        sides = (None, None)
        if joint.kind in ("revolute", "prismatic"):
            sides = (finite(joint.lower), finite(joint.upper))
            if sides != (None, None):
                # A missing limit is 0 in URDF; swapped limits are exchanged.
                sides = tuple(0.0 if given is None else side for given, side in zip((joint.lower, joint.upper), sides))
                sides = tuple(sorted(sides)) if None not in sides else sides
        assert (read.get("lower"), read.get("upper")) == sides, joint.name
        assert (read.get("velocity"), read.get("effort")) == (finite(joint.velocity), finite(joint.effort)), joint.name


def test_followers_follow_their_driver(case):
    urdf, robot, _ = case
    for joint, read in joints(urdf, robot):
        leader = joint.mimic and joint.mimic[0]
        while leader in urdf.joints and urdf.joints[leader].mimic:
            leader = urdf.joints[leader].mimic[0]
        if "mimics" in read:
            assert read["mimics"] == leader, joint.name


def test_meshes_are_counted(converted, case):
    _, robot, _ = case
    glb = Glb(converted.glb)
    # For every mesh shape, with any materials.
    shapes = [node for link in glb.model["links"] for key in ("visualNodes", "collisionNodes") for node in link.get(key, [])]
    meshes = {}
    for node in (glb.nodes[shape] for shape in shapes):
        if node["extras"]["geometry"]["type"] == "mesh" and "mesh" in node:
            mesh = glb.json["meshes"][node["mesh"]]
            key = (mesh.get("name"), *((p["attributes"]["POSITION"], p["indices"]) for p in mesh["primitives"]))
            meshes[key] = sum(glb.json["accessors"][p["indices"]]["count"] // 3 for p in mesh["primitives"])
    assert robot["triangles"] >= sum(meshes.values())
    lost = sum("mesh" not in glb.nodes[shape] and glb.nodes[shape]["extras"]["geometry"]["type"] == "mesh" for shape in shapes)
    assert robot["meshes"] >= len(meshes) + lost


def test_text_output(conversions):
    done = run("inspect", conversions("sample_arm").glb)
    assert done.returncode == 0, done.stderr
    for words in ("base_link", "shoulder_pan_joint  revolute", "mimics", "configurations (1)\n  home", "meshes"):
        assert words in done.stdout, f"{words!r} is not in:\n{done.stdout}"


def test_a_text_file_with_its_buffer_beside_it(conversions, tmp_path):
    glb = Glb(conversions("sample_arm").glb)
    expected = inspect(conversions("sample_arm").glb)["robots"][0]
    glb.json["buffers"][0]["uri"] = "of arm.bin"
    (tmp_path / "arm.gltf").write_text(json.dumps(glb.json))
    missing = inspect(tmp_path / "arm.gltf")
    assert {d["code"] for d in missing["diagnostics"]} >= {"mesh-reference"}
    assert missing["robots"][0]["joints"] == expected["joints"]
    (tmp_path / "of arm.bin").write_bytes(glb.buffer)
    assert inspect(tmp_path / "arm.gltf")["robots"][0] == expected


def test_files_without_robot_are_reported(tmp_path):
    text = b'{"asset":{"version":"2.0"}} '
    chunk = struct.pack("<4sIII4s", b"glTF", 2, 20 + len(text), len(text), b"JSON") + text
    for name, data, code in (
        ("plain.glb", chunk, "gltf-read-no-kinematics"),
        ("torn.glb", chunk[:25], "gltf-read-unreadable"),
        ("old.gltf", b'{"asset":{"version":"1.0"}}', "gltf-read-unreadable"),
    ):
        (tmp_path / name).write_bytes(data)
        done = run("inspect", "--json", tmp_path / name)
        assert done.returncode == 1
        summary = json.loads(done.stdout)
        assert (summary["robots"], summary["diagnostics"][0]["code"]) == ([], code)
    assert run("inspect", tmp_path / "gone.glb").returncode == 1
    refused = run("convert", tmp_path / "plain.glb", "-o", tmp_path / "out")
    assert refused.returncode == 1 and "gltf-read-no-kinematics" in refused.stderr
