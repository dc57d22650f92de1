"""`python -m urdf_usd.prove` runs a robot in the engines of the test environments."""

import json
import math
import os
import subprocess
import sys

import pytest

from conftest import scratch

#: The Python of each engine.
PYTHONS = {"mujoco": "URDF_USD_URDF_PYTHON", "newton": "URDF_USD_NV_PYTHON", "physx": "URDF_USD_PHYSX_PYTHON", "drake": "URDF_USD_DRAKE_PYTHON"}
LINK = '<link name="{}"><inertial><origin xyz="0 0 0.1"/><mass value="1"/><inertia ixx="0.02" iyy="0.03" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>'
BOX = '<collision><origin xyz="{} 0 0.1"/><geometry><box size="0.05 0.05 0.1"/></geometry></collision>'
JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}"/><axis xyz="{5}"/>'
    '<limit lower="-0.8" upper="0.9" effort="200" velocity="5"/>{6}</joint>'
)
#: An arm with a gripper, whose fingers move together.
ARM = (
    '<robot name="small"><link name="world"/>'
    + LINK.format("base", BOX.format(0)) + '<joint name="fix" type="fixed"><parent link="world"/><child link="base"/></joint>'
    + JOINT.format("shoulder", "revolute", "base", "arm", "0 0 0.3", "0 1 0", "") + LINK.format("arm", BOX.format(0))
    + JOINT.format("slide", "prismatic", "arm", "hand", "0 0 0.3", "0 0 1", "") + LINK.format("hand", "")
    + JOINT.format("left", "revolute", "hand", "left", "0 0.2 0.2", "1 0 0", "") + LINK.format("left", BOX.format(0))
    + JOINT.format("right", "revolute", "hand", "right", "0 -0.2 0.2", "1 0 0", '<mimic joint="left" multiplier="-1"/>') + LINK.format("right", BOX.format(0)).replace('mass value="1"', 'mass value="2"')
    + "</robot>"
)  # fmt: skip


def proved(site, asset, *arguments, engines=tuple(PYTHONS)):
    """Runs the command; returns its exit code and outputs."""
    pythons = [text for engine in engines for text in ("--engine", engine, "--python", f"{engine}={os.environ[PYTHONS[engine]]}")]
    environment = os.environ | {"PYTHONPATH": str(site), "WARP_CACHE_PATH": os.path.join(os.path.dirname(os.path.dirname(os.environ[PYTHONS["newton"]])), "warp")}
    done = subprocess.run([sys.executable, "-m", "urdf_usd.prove", asset, *pythons, *arguments], env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def arm():
    path = scratch() / "small.urdf"
    path.write_text(ARM)
    return path


def test_a_robot_is_the_same_in_every_engine(site, arm):
    code, out, errors = proved(site, arm, "--json")
    table = json.loads(out)
    wrong = {engine: row["message"] or [(check, *figure.values()) for check, figure in row["figures"].items() if figure["value"] > figure["largest"]]
             for engine, row in table["engines"].items() if row["status"] != "ok"}  # fmt: skip
    assert (code, wrong) == (0, {}), errors
    assert table["ok"] and table["robot"] == "small" and list(table["engines"]) == list(PYTHONS)
    for engine, row in table["engines"].items():
        assert row["status"] == "ok"
        assert {"mass", "centre", "start", "hold", "swing", "step", "mimic", "contacts", "stop"} <= set(row["figures"]), engine
        # Something was simulated, and not with the reference's own code.
        assert 0 < row["figures"]["step"]["value"] < row["figures"]["step"]["largest"]


def test_links_that_overlap_fail(site, arm, urdf_usd):
    """An OpenUSD asset is loaded as it is: here without the pairs of links that touch."""
    (overlapping := arm.with_name("overlapping.urdf")).write_text(ARM.replace(BOX.format(0), BOX.format(0).replace("0.05 0.05 0.1", "0.05 0.5 0.9")))
    made = urdf_usd.convert(overlapping, scratch(), formats="usd", overlays="newton", self_collision="all")
    code, out, errors = proved(site, made.directory / "small.newton.usda", engines=["newton"])
    assert code == 1, out + errors
    head, row, *failures = out.splitlines()[1:]
    assert head.split() == ["loads", "mass", "holds", "motion", "mimic", "contacts", "limits", "warnings"]
    cells = dict(zip(head.split(), row.split()[1:]))
    assert (cells["loads"], cells["mass"], cells["contacts"]) == ("ok", "ok", "FAILED")
    assert any(line.startswith("newton: contacts: ") for line in failures)


def test_an_engine_that_ends_is_an_error(site, arm):
    code, out, _ = proved(site, arm, "--python", "drake=/bin/false", engines=["drake"])
    assert code == 1 and out.splitlines()[-1] == "drake: the process ended with 1"


def test_engines_that_are_not_installed_are_named(site, arm):
    done = subprocess.run([sys.executable, "-m", "urdf_usd.prove", arm], env=os.environ | {"PYTHONPATH": str(site)}, capture_output=True, text=True)
    assert done.returncode == 2
    for package in ("mujoco", "'newton[sim]' newton-usd-schemas scipy usd-core", "ovphysx", "drake"):
        assert f"not installed: pip install {package}" in done.stdout


def test_wrong_uses_are_refused(site, arm, urdf_usd):
    from urdf_usd.prove import prove

    with pytest.raises(urdf_usd.OptionError, match="ode"):
        prove(arm, engines=["ode"])
    with pytest.raises(urdf_usd.OptionError, match="usd-core"):
        prove(arm, pythons={"usd": os.environ[PYTHONS["drake"]]})
    with pytest.raises(urdf_usd.Error, match="resolve-missing-file"):
        prove(arm.with_name("none.urdf"))
    assert proved(site, arm, "--python", "mujoco", engines=[])[0] == 2


def test_an_engine_that_diverges_gives_valid_json(urdf_usd):
    from urdf_usd.prove import Figure, Row, Table

    figures = {"hold": Figure(math.inf, 0.1, "elbow"), "mimic": Figure(math.nan, 0.01, ""), "mass": Figure(0.0, 1e-5, "")}
    table = Table("small", {"mujoco": Row("failed", figures)})
    found = json.loads(json.dumps(table.to_json(), allow_nan=False))["engines"]["mujoco"]["figures"]
    assert {check: figure["value"] for check, figure in found.items()} == {"hold": None, "mimic": None, "mass": 0.0}
    assert not table.ok and "mujoco: hold: no finite number, at most 0.1 (elbow)" in table.to_text()


def test_assets_in_other_units_are_refused(site, arm, urdf_usd):
    """OpenUSD does not convert what a scene references."""
    from urdf_usd.prove import prove

    made = urdf_usd.convert(arm, scratch(), formats="usd", overlays="newton")
    text = (made.directory / "small.newton.usda").read_text()
    for before, after in (("metersPerUnit = 1", "metersPerUnit = 0.01"), ('upAxis = "Z"', 'upAxis = "Y"')):
        assert before in text
        (changed := made.directory / "changed.usda").write_text(text.replace(before, after, 1))
        with pytest.raises(urdf_usd.OptionError, match="changed.usda has upAxis .*convert it first"):
            prove(changed, engines=["mujoco"])


@pytest.mark.parametrize(
    ("module", "message"),
    [
        # The engine itself is missing; one of its dependencies is; the search path has no modules of this project.
        ("", "not installed: pip install mujoco (no module mujoco)"),
        ("import absent", "ModuleNotFoundError: No module named 'absent'"),
        ("import ray\nraise RuntimeError(ray.__file__.split('/')[-2])", "RuntimeError: other"),
    ],
)
def test_engines_import_their_own_modules(site, arm, module, message):
    folder = scratch()
    (folder / "other").mkdir()
    (folder / "other" / "ray.py").write_text("")
    if module:
        (folder / "other" / "mujoco.py").write_text(module)
    environment = os.environ | {"PYTHONPATH": f"{site}:{folder / 'other'}"}
    command = [sys.executable, "-m", "urdf_usd.prove", arm, "--engine", "mujoco", "--engine", "drake"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2, "neither engine that is named is installed"
    assert f"mujoco: {message}" in done.stdout.splitlines()
