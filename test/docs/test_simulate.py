"""The recipes of docs/simulate.md hold and move a robot, as they stand, where the engine installs."""

import os
import re
import subprocess

import pytest
from conftest import ROOT, SAMPLES, run

PAGE = ROOT / "docs" / "simulate.md"
ROBOT = "sample_arm"
#: The section of each recipe, and the variable that names its Python.
RECIPES = {"MuJoCo": "URDF", "MuJoCo with OpenUSD": "URDF", "Newton": "NV", "Drake": "DRAKE"}


def blocks(kind=""):
    """Returns code blocks with their sections."""
    sections = re.split(r"^## (.*)\n", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    pairs = zip(["", *sections[1::2]], sections[0::2], strict=True)
    return [(section, code) for section, text in pairs for code in re.findall(rf"^```{kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Returns a folder with what the first command of the page writes for a robot."""
    folder = tmp_path_factory.mktemp("simulate")
    command = blocks()[0][1].split()
    assert command[:3] == ["urdf_usd", "convert", "robot.urdf"], command
    arm = SAMPLES / ROBOT
    done = run(*command[1:2], arm / "urdf" / f"{ROBOT}.urdf", *command[3:], "--package", f"{ROBOT}={arm}", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_block_of_python_is_a_recipe():
    assert [section for section, _ in blocks("python")] == [*RECIPES]


@pytest.mark.parametrize("section", RECIPES)
def test_a_target_is_reached(section, folder):
    variable = f"URDF_USD_{RECIPES[section]}_PYTHON"
    if not os.environ.get(variable):
        pytest.skip(f"{variable} is not set: test/run sets it")
    code = dict(blocks("python"))[section].replace("NAME", ROBOT)
    done = subprocess.run([os.environ[variable], "-c", code], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    position, target = map(float, done.stdout.splitlines()[-1].split())
    assert target == pytest.approx(0.1) and abs(position - target) < 0.005, (position, target)
    assert "WARNING" not in done.stderr, done.stderr
