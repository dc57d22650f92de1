"""`--srdf`: the pairs of links that an SRDF excludes from collision checking are filtered pairs of the asset."""

import json

import pytest
from pxr import UsdPhysics

import expectation
import kinematics
from conftest import in_nv, run
from stage import Asset

SRDF = """<robot name="sample_arm">
  <disable_collisions link1="base_link" link2="forearm_link" reason="Never"/>
  <disable_collisions link1="right_finger_link" link2="left_finger_link"/>
  <disable_collisions link1="tool0" link2="shoulder_link"/>
  {more}
</robot>
"""


@pytest.fixture
def filtered(conversions, tmp_path):
    """Converts the sample arm with an SRDF, and returns the filtered pairs of bodies, without adjacent links."""
    source = conversions("sample_arm")

    def convert(more=""):
        srdf = tmp_path / "arm.srdf"
        srdf.write_text(SRDF.format(more=more))
        done = run("convert", source.urdf, "-o", tmp_path / "out", "--srdf-file", srdf, "--json")
        assert done.returncode == 0, done.stderr
        asset = Asset(tmp_path / "out" / "sample_arm" / "sample_arm.usda")
        names = {prim.GetPath(): name for name, prim in asset.bodies.items()}
        pairs = set()
        for path, name in names.items():
            prim = asset.stage.GetPrimAtPath(path)
            if prim.HasAPI(UsdPhysics.FilteredPairsAPI):
                pairs |= {frozenset((name, names[p])) for p in UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets()}
        return asset, pairs - expectation.of(kinematics.read(source.urdf)).adjacent, json.loads(done.stdout)

    return convert


def test_pairs_are_filtered(filtered):
    _, pairs, report = filtered()
    # A pair with tool0, a frame without geometry, does not apply to the flange that it is fixed to.
    assert pairs == {frozenset(("base_link", "forearm_link")), frozenset(("left_finger_link", "right_finger_link"))}
    [told] = [d for d in report["diagnostics"] if d["code"].startswith("srdf")]
    assert told["code"] == "srdf-frame-in-pair" and "tool0" in told["message"]


def test_defaults_and_exceptions(filtered):
    """`disable_default_collisions` excludes a link from all pairs, `enable_collisions` restores one."""
    more = """<disable_default_collisions link="wrist_link"/>
      <enable_collisions link1="upper_arm_link" link2="wrist_link"/>"""
    asset, pairs, _ = filtered(more)
    with_wrist = {next(iter(pair - {"wrist_link"})) for pair in pairs if "wrist_link" in pair}
    colliding = {name for name, prim in asset.bodies.items() if prim.GetChild("collision")}
    assert with_wrist == colliding - {"wrist_link", "upper_arm_link", "forearm_link", "flange_link"}


def test_newton_respects_them(filtered):
    asset, pairs, _ = filtered()
    model = in_nv("newton_import", "describe", asset.stage.GetRootLayer().realPath)
    assert model["warnings"] == []
    # Newton names shapes by the paths of the colliders.
    bodies = sorted(((str(prim.GetPath()), name) for name, prim in asset.bodies.items()), reverse=True)
    owner = lambda shape: next(name for path, name in bodies if shape.startswith(f"{path}/"))
    assert pairs <= {frozenset(map(owner, pair)) for pair in model["filtered"]}


def test_faults_are_reported(filtered, conversions, tmp_path):
    _, pairs, report = filtered('<disable_collisions link1="wrist_lnk" link2="base_link"/>')
    [finding] = [d for d in report["diagnostics"] if d["code"] == "srdf-unknown-link"]
    assert finding["where"]["line"] == 5 and "wrist_lnk" in finding["message"] and "wrist_link" in finding["help"]
    assert len(pairs) == 2
    done = run("convert", conversions("sample_arm").urdf, "-o", tmp_path / "none", "--srdf-file", tmp_path / "missing.srdf")
    assert done.returncode == 1 and "missing.srdf" in done.stderr and not (tmp_path / "none").exists()
