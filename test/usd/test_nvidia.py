"""usd-validation-nvidia has no findings in converted robots that docs/validators.md does not explain."""

import functools

import pytest

import explained
from conftest import in_nv, marks_of

ROWS = explained.rows("NVIDIA")


@functools.cache
def findings(entry):
    result = in_nv("nvidia_validate", entry)
    assert len(result["rules"]) >= 40, "rules are missing"
    return result["found"]


def is_explained(finding):
    return any(row.covers(finding["rule"], finding["message"], finding["at"]) for row in ROWS)


def test_finds_nothing_unexplained(converted):
    unexplained = [f"{f['severity']} {f['rule']} ({f['state']}): {f['message']} {f['at']}" for f in findings(converted.entry) if not is_explained(f)]
    assert unexplained == []


def _row(row):
    return pytest.param(row, id=f"{row.rule}-{row.seen_on}", marks=[pytest.mark.xdist_group(row.seen_on), *marks_of(row.seen_on)])


@pytest.mark.parametrize("row", [_row(row) for row in ROWS])
def test_every_explanation_is_needed(row, conversions):
    """A row without a finding on its robot must be removed from the table."""
    found = findings(conversions(row.seen_on).entry)
    assert any(row.covers(f["rule"], f["message"], f["at"]) for f in found), f"{row.seen_on} has no such finding"


def test_the_validators_find_faults(conversions, tmp_path):
    """The validators, run as above, report a collider whose body has no mass, and a scaled link."""
    converted = conversions("sample_arm")
    layer = tmp_path / "broken.usda"
    layer.write_text(
        f'#usda 1.0\n(\n    defaultPrim = "sample_arm"\n    subLayers = [@{converted.entry}@]\n)\n'
        'over "sample_arm"\n{\n    over "base_link"\n    {\n        point3f physics:centerOfMass = (inf, 0, 0)\n        float physics:mass = -1\n    }\n'
        '    def PhysicsRevoluteJoint "astray"\n    {\n        rel physics:body1 = </sample_arm/nowhere>\n    }\n}\n'
    )
    rules = {f["rule"] for f in findings(layer) if not is_explained(f)}
    assert {"MassChecker", "PhysicsJointChecker"} <= rules, rules
