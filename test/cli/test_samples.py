"""The sample robots equal the output of their script, and have the features that tests need."""

import filecmp
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import kinematics
from conftest import SAMPLE_ROBOTS, SAMPLES


@pytest.fixture(scope="module")
def remade(tmp_path_factory):
    folder = tmp_path_factory.mktemp("remade")
    subprocess.run([sys.executable, SAMPLES / "make_samples.py", folder], check=True, timeout=120)
    return folder


def test_the_script_makes_the_committed_files(remade):
    there = {p.relative_to(SAMPLES) for name in SAMPLE_ROBOTS for p in (SAMPLES / name).rglob("*") if p.is_file()}
    made = {p.relative_to(remade) for p in remade.rglob("*") if p.is_file()}
    assert made == there, "the set of files differs: run examples/make_samples.py"
    different = [str(p) for p in sorted(made) if not filecmp.cmp(remade / p, SAMPLES / p, shallow=False)]
    assert different == [], "run examples/make_samples.py"


@pytest.mark.parametrize("name", SAMPLE_ROBOTS)
def test_masses_are_physical(name):
    urdf = kinematics.read(SAMPLES / name / "urdf" / f"{name}.urdf")
    for link in urdf.links.values():
        if link.mass:
            low, middle, high = np.linalg.eigvalsh(link.inertia)
            assert low > 0 and low + middle >= high, link.name


def test_the_samples_cover_what_tests_need():
    files = {p.suffix.lower() for p in SAMPLES.rglob("*.*")}
    assert files >= {".stl", ".obj", ".mtl", ".dae", ".glb", ".png", ".urdf", ".xml"}
    kinds, elements = set(), set()
    for name in SAMPLE_ROBOTS:
        root = ElementTree.parse(SAMPLES / name / "urdf" / f"{name}.urdf").getroot()
        kinds |= {j.get("type") for j in root.findall("joint")}
        elements |= {e.tag for e in root.iter()}
    assert kinds == set(kinematics.FREEDOM)
    assert elements >= {"mimic", "dynamics", "safety_controller", "calibration", "transmission", "ros2_control", "gazebo", "sensor", "capsule", "texture"}
