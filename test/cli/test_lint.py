"""`check` of a description: its findings as text, JSON and SARIF, without writing an asset."""

import json
import os

import pytest

import conftest
from conftest import run

ARM = conftest.SAMPLES / "sample_arm"
BAD = """<robot name='r'>
  <link name='a'><visual><geometry><mesh filename='gone.stl'/></geometry></visual></link>
  <link name='b'/>
  <joint name='j' type='revolut'><parent link='a'/><child link='b'/></joint>
</robot>
"""


@pytest.fixture
def bad(tmp_path):
    (tmp_path / "bad.urdf").write_text(BAD)
    return tmp_path


def test_findings_are_those_of_a_conversion(bad):
    done = run("check", "bad.urdf", "--format", "json", cwd=bad)
    told = json.loads(done.stdout)
    assert done.returncode == 1 and os.listdir(bad) == ["bad.urdf"]
    made = json.loads(run("convert", "bad.urdf", "--formats", "usd", "--tiers", "high", "--json", "-o", bad / "out", cwd=bad).stdout)
    assert told["diagnostics"] == made["diagnostics"] and told["counts"]["error"] == 2 and told["asset"].endswith("bad.urdf")
    shown = run("check", "bad.urdf", cwd=bad).stdout
    assert "bad.urdf:4:" in shown and "revolut" in shown and shown.splitlines()[-1].startswith("bad.urdf: 2 errors")


def test_sarif_has_the_places(bad):
    done = run("check", "bad.urdf", "--format", "sarif", "--ignore", "resolve-*", cwd=bad)
    (results,) = [sarif["results"] for sarif in json.loads(done.stdout)["runs"]]
    (error,) = [result for result in results if result["level"] == "error"]
    place = error["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("bad.urdf", 4)


def test_every_kind_of_input(bad):
    """Standard input, the folder of a package, a URI; text that is no robot is a finding, too."""
    done = run("check", "-", "--format", "json", input=BAD, cwd=bad)
    told = json.loads(done.stdout)
    assert done.returncode == 1 and {found["where"]["file"] for found in told["diagnostics"]} == {"<stdin>"} and told["asset"] == "<stdin>"
    done = run("check", "bad.urdf", "--select", "urdf-malformed-*", cwd=bad)
    assert done.returncode == 0, "only the selected codes count"
    for source in (ARM, f"file://{ARM}/urdf/sample_arm.urdf", "package://sample_arm/urdf/sample_arm.urdf"):
        done = run("check", source, "--package", f"sample_arm={ARM}")
        assert done.returncode == 0 and "0 errors" in done.stdout, done.stderr
    broken = run("check", "-", "--format", "json", input="<robot", cwd=bad)
    assert broken.returncode == 1 and json.loads(broken.stdout)["diagnostics"][0]["code"] == "urdf-malformed-xml"
    assert run("check", "bad.urdf", "--all-variants", cwd=bad).returncode == 2
    # Assets from standard input.
    assert run("convert", ARM, "-o", bad, "--formats", "usdz,glb").returncode == 0
    for ending in ("usdz", "glb"):
        with (bad / "sample_arm" / f"sample_arm.{ending}").open("rb") as stdin:
            done = run("check", "-", stdin=stdin)
        assert done.stdout.splitlines()[-1].startswith("<stdin>: 0 errors"), done.stdout
