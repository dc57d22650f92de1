"""The library's kinematics and dynamics, on every robot, against Pinocchio's."""

import functools
import os
import subprocess

import conftest
import pytest
from worker import worker

#: Random configurations of each robot.
CONFIGURATIONS = 100


@functools.cache
def library():
    """The example of crates/kinematics that answers questions; `cargo build --workspace --all-targets` makes it."""
    built = conftest.PROGRAM.parent / "examples" / "answers"
    if not built.is_file():
        cargo = ["cargo", "build", "--ignore-rust-version", "--locked", "--quiet", "-p", "urdf_usd_kinematics", "--example", "answers"]
        subprocess.run([*cargo, "--target-dir", conftest.PROGRAM.parents[1]], cwd=conftest.ROOT, check=True)
    return str(built)


def in_pinocchio(script, *arguments):
    """What a script of `test` answers in the Python that has test/requirements-urdf.txt."""
    python = os.environ.get("URDF_USD_URDF_PYTHON")
    if not python:
        pytest.skip("URDF_USD_URDF_PYTHON is not set: test/run sets it to a Python with test/requirements-urdf.txt")
    return worker(python, "urdf").ask(script, library(), *arguments)[0]


ROBOTS = [pytest.param(name, marks=conftest.marks_of(name)) for name in ("sample_arm", "sample_rover", *conftest.REAL_ROBOTS)]


@pytest.mark.parametrize("name", ROBOTS)
def test_kinematics_and_dynamics_are_pinocchio_s(name):
    found = in_pinocchio("pinocchio_kinematics", conftest.source(name).urdf, CONFIGURATIONS)
    assert found["configurations"] == CONFIGURATIONS
    assert found["links"] > 1
    # A camera has nothing that moves.
    assert found["coordinates"] > 0 or name == "realsense2_description"
    assert found["columns"] > 0 or found["coordinates"] == 0
    assert found["poses"] < 1e-9
    assert found["jacobians"] < 1e-9
    for what in ("mass", "centre", "inertia", "gravity", "forces"):
        assert found[what] < 1e-8, what
