"""The package `ext-robot-kinematics` for three.js and Babylon.js: packed, installed into an empty project, and its example run with the oldest supported three
and with the viewer's. Expected poses are computed from the URDF (kinematics.py)."""

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

import conftest
import kinematics

VIEWER = conftest.ROOT / "viewer"
THREE = {"oldest": Path(os.environ.get("GLTF_VALIDATOR", "/nowhere")).parent / "three-oldest", "newest": VIEWER / "node_modules" / "three"}

#: Rotation from ROS axes (x forward, z up) to glTF axes (z forward, y up).
Y_UP = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def npm(folder, *arguments, **variables):
    done = subprocess.run(["npm", *map(str, arguments)], cwd=folder, env=os.environ | variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """Packs the package for publication."""
    folder = tmp_path_factory.mktemp("package")
    # Each process builds its own: in a shared folder they would delete each other's files.
    npm(VIEWER, "run", "--silent", "loader", VIEWER_OUT=str(folder / "lib"))
    (packed,) = json.loads(npm(folder, "pack", "--json", "--silent", folder / "lib"))
    return folder / packed["filename"]


@pytest.fixture(scope="module", params=sorted(THREE))
def project(request, package, tmp_path_factory):
    """Creates an empty project with the package and three installed."""
    assert THREE[request.param].is_dir(), "test/run installs it: test/package.json, viewer/package.json"
    folder = tmp_path_factory.mktemp(request.param)
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    npm(folder, "install", "--silent", "--offline", "--no-audit", "--no-fund", package, THREE[request.param])
    return folder


def test_it_contains_only_the_loader(package):
    with tarfile.open(package) as tar:
        files = {name.removeprefix("package/"): tar.extractfile(name).read().decode() for name in tar.getnames()}
    types = {"babylon.d.ts", "collisions.d.ts", "core.d.ts", "extension.d.ts", "index.d.ts", "mimic.d.ts", "plugin.d.ts", "problems.d.ts", "robot.d.ts", "viewer.d.ts"}
    assert types <= files.keys()
    assert {name for name in files if not name.endswith(".d.ts")} == {"LICENSE", "LICENSES.txt", "README.md", "babylon.js", "example.mjs", "index.js", "index.min.js", "package.json", "viewer.js"}
    manifest = json.loads(files["package.json"])
    assert not manifest.get("dependencies") and set(manifest["peerDependencies"]) == {"three", "@babylonjs/core", "@babylonjs/loaders"}
    # Engines are peer dependencies: they are not bundled, and neither part imports the other's.
    for script, other in [("index.js", "babylonjs"), ("index.min.js", "babylonjs"), ("babylon.js", '"three')]:
        assert len(files[script]) < 60_000 and "WebGLRenderer" not in files[script] and "class Scene" not in files[script]
        assert other not in files[script]
    assert len(files["index.min.js"]) < 0.7 * len(files["index.js"])


@pytest.mark.parametrize("settings", [{}, {"shoulder_lift_joint": 0.5, "elbow_joint": -0.4}, {"elbow_joint": 99.0}], ids=["rest", "posed", "clamped"])
def test_the_example_prints_link_poses(project, conversions, settings):
    arm = conversions("sample_arm")
    robot = kinematics.read(arm.urdf)
    example = project / "example.mjs"
    shutil.copy(project / "node_modules" / "ext-robot-kinematics" / "example.mjs", example)
    words = [f"{joint}={position}" for joint, position in settings.items()]
    done = subprocess.run(["node", example, arm.directory / "sample_arm.glb", *words], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    told = {name: np.array([float(x) for x in at]) for name, *at in map(str.split, done.stdout.splitlines())}
    upper = {joint.name: joint.upper for joint in robot.joints.values() if joint.name in settings}
    poses = robot.link_poses({joint: min(position, upper[joint]) for joint, position in settings.items()})
    assert told.keys() == poses.keys()
    for link, pose in poses.items():
        assert told[link] == pytest.approx(Y_UP @ pose[:3, 3], abs=1e-6), link


def test_its_types_are_correct(project):
    # Uses the viewer's types of three and its compiler.
    for name in ("@types/three", "@types/node", "@types/webxr", "@dimforge/rapier3d-compat", "@webgpu/types", "fflate", "meshoptimizer", "@tweenjs/tween.js", "@types/stats.js", "@babylonjs/core", "@babylonjs/loaders", "babylonjs-gltf2interface"):
        source, target = VIEWER / "node_modules" / name, project / "node_modules" / name
        if source.exists() and not target.exists():
            target.parent.mkdir(exist_ok=True)
            target.symlink_to(source)
    check = project / "check.ts"
    tsc = ["node", VIEWER / "node_modules" / "typescript" / "bin" / "tsc", "--noEmit", "--strict", "--skipLibCheck", "--module", "esnext", "--moduleResolution", "bundler", "--target", "es2022", "--types", "node"]
    right = """
        import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';
        import { registerRobotKinematics, robotsOf, type Joint } from 'ext-robot-kinematics';
        const gltf = await registerRobotKinematics(new GLTFLoader()).loadAsync('arm.glb');
        const joint: Joint | undefined = robotsOf(gltf)[0]?.joints[0];
        export const limit: number | undefined = joint?.dofs[0]?.limit?.lower;
        import { TransformNode } from '@babylonjs/core/Meshes/transformNode.js';
        import { robotsOf as inBabylon } from 'ext-robot-kinematics/babylon';
        import 'ext-robot-kinematics/viewer';
        document.querySelector('urdf-usd-viewer')?.robot?.setPosition('elbow', 0.5);
        export const node: TransformNode | undefined = inBabylon({ meshes: [], transformNodes: [] })[0]?.links[0]?.node;
    """
    check.write_text(right)
    done = subprocess.run([*tsc, check], cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    check.write_text(right.replace("limit: number", "limit: string"))
    done = subprocess.run([*tsc, check], cwd=project, capture_output=True, text=True)
    assert done.returncode != 0 and "TS2322" in done.stdout, done.stdout
