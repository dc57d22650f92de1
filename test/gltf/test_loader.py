"""Every robot's GLB in three.js: link frames by a loader of EXT_robot_kinematics compared with the URDF's, in random poses. By the
loader in `viewer/`, and, if available, by the public `three-gltf-robot`, which cannot be shipped here."""

import json
import os
import random
import shutil
import zlib

import numpy as np
import pytest

import kinematics
import posing
from conftest import ROOT
from worker import NODE, worker

#: A checkout of carlosdp/three-gltf-robot, another loader of the extension, whose tests are skipped without it.
THREE_GLTF_ROBOT = os.environ.get("THREE_GLTF_ROBOT")
POSES = 20
#: Tolerance in metres, and of components of axes.
TOLERANCE = 1e-6


def _node(*arguments):
    return worker(NODE, "gltf").ask("drive_glb", *arguments)[0]


def _bundle(folder, which):
    if not shutil.which("node") or not (ROOT / "viewer" / "node_modules").is_dir():
        pytest.skip("viewer/node_modules does not exist: test/run installs it")
    _node("bundle", which, folder / "loader.mjs")
    return folder / "loader.mjs"


@pytest.fixture(scope="session")
def ours(tmp_path_factory):
    return _bundle(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="session")
def theirs(tmp_path_factory):
    return _bundle(tmp_path_factory.mktemp("theirs"), THREE_GLTF_ROBOT)


def _holds(loader, converted):
    urdf = kinematics.read(converted.urdf)
    chance = random.Random(zlib.crc32(urdf.name.encode()))
    poses = [posing.random_positions(urdf, chance) for _ in range(POSES)]
    for k, (positions, found) in enumerate(zip(poses, _node("pose", loader, converted.glb, poses), strict=True)):
        expected = posing.link_frames(urdf, positions)
        assert found.keys() == expected.keys()
        for link, frame in expected.items():
            error = np.abs(np.array(found[link]).reshape(4, 4).T - frame).max()
            assert error < TOLERANCE, f"pose {k}: {link} is off by {error:.3g}"


def test_our_loader_gives_the_poses_of_the_urdf(ours, converted):
    _holds(ours, converted)


if THREE_GLTF_ROBOT:

    def test_another_loader_gives_the_poses_of_the_urdf(theirs, converted):
        _holds(theirs, converted)


def test_a_wrong_pose_is_detected(ours, conversions, tmp_path):
    """The same GLB with a reversed axis."""
    converted = conversions("sample_arm")
    data = converted.glb.read_bytes()
    axis = next(d["axis"] for j in kinematics_of(data)["joints"] for d in j["dofs"] if not j.get("mimic"))
    text = json.dumps(axis, separators=(",", ":")).encode()
    assert text in data
    bad = tmp_path / "bad.glb"
    bad.write_bytes(data.replace(b'"axis":' + text, b'"axis":' + json.dumps([*axis[1:], axis[0]], separators=(",", ":")).encode()))
    with pytest.raises(AssertionError, match="is off by"):
        _holds(ours, _At(converted.urdf, bad))


class _At:
    def __init__(self, urdf, glb):
        self.urdf, self.glb = urdf, glb


def kinematics_of(data):
    size = int.from_bytes(data[12:16], "little")
    return json.loads(data[20 : 20 + size])["extensions"]["EXT_robot_kinematics"]["models"][0]
