"""`urdf_usd check` and `fix` on assets of another converter (`urdf-usd-converter` on PyPI): findings, fixes, remaining violations,
and the import of the result into the Newton physics engine."""

import collections
import json

import pytest
from conftest import in_nv, run
from test_fix import Meaning, assert_plain_transforms, assert_same_meaning, fixed

#: The rules that a fixed robot still breaks: only its author can repair them.
LEFT = {
    "aliengo_description": {"REP158-1.3.3"},  # a link without mass and collider
    "allegro_hand_description": set(),
    "anymal_c_simple_description": set(),
    "g1_description": set(),
    "irobot_create_description": set(),
    "jaco_description": {"REP158-1.3.3"},
    "minitaur_description": set(),
    "pr2_description": {"REP158-1.3.3", "REP158-3.3.3"},  # textures on meshes without coordinates
    "robotiq_description": set(),
    "so_arm100_description": set(),
    "ur_description": set(),
}


@pytest.fixture(scope="module")
def other(theirs, tmp_path_factory):
    """Returns a robot from the other converter, and the fixed one."""
    name, asset = theirs
    entry, report = fixed(asset, tmp_path_factory.mktemp(f"fixed_{name}"))
    return name, asset, entry, report


def errors(diagnostics):
    return collections.Counter(d["code"] for d in diagnostics if d["severity"] == "error")


def test_mandatory_rules_are_kept(other):
    name, asset, entry, report = other
    before = errors(json.loads(run("check", asset, "--format", "json").stdout)["diagnostics"])
    assert before.total() >= 5, before
    assert set(errors(report["diagnostics"])) == LEFT[name]
    after = errors(json.loads(run("check", entry, "--all-variants", "--format", "json").stdout)["diagnostics"])
    assert set(after) == LEFT[name]


def test_nothing_moves(other):
    _, asset, entry, _ = other
    before, after = Meaning(asset), Meaning(entry)
    assert before.bodies() and before.joints()
    assert_same_meaning(before, after)
    assert_plain_transforms(after.stage)


def test_newton_imports_it(other):
    _, asset, entry, _ = other
    model, before = in_nv("newton_joints", str(entry)), Meaning(asset)
    assert model["bodies"] == len(before.bodies()) > 0
    kinds = collections.Counter(joint["type"] for joint in model["joints"].values())
    types = collections.Counter(before.stage.GetPrimAtPath(path).GetTypeName() for path in before.joints())
    for kind, name in (("REVOLUTE", "PhysicsRevoluteJoint"), ("PRISMATIC", "PhysicsPrismaticJoint")):
        assert kinds[kind] == types[name]
