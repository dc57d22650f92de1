"""`check` of a description: its findings as text, JSON, SARIF and GitLab's report, without writing an asset; the action and the hook that
run it."""

import hashlib
import json
import os
import platform
import re
import shlex
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

import conftest
from conftest import ROOT, run

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


def test_the_report_for_gitlab(bad):
    """Code quality: https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format."""
    done = run("check", "bad.urdf", "--format", "gitlab", "--ignore", "resolve-*", cwd=bad)
    found = json.loads(done.stdout)
    for finding in found:
        assert {*finding} == {"description", "check_name", "fingerprint", "severity", "location"}
        assert finding["severity"] in ("info", "minor", "major", "critical", "blocker")
    (error,) = [finding for finding in found if finding["severity"] == "major"]
    assert error["location"] == {"path": "bad.urdf", "lines": {"begin": 4}}
    # The same finding on another line.
    (bad / "bad.urdf").write_text("\n" + BAD)
    (moved,) = [f for f in json.loads(run("check", "bad.urdf", "--format", "gitlab", cwd=bad).stdout) if f["description"] == error["description"]]
    assert moved["fingerprint"] == error["fingerprint"] and moved["location"]["lines"]["begin"] == 5


def test_the_steps_of_the_action(bad, tmp_path_factory):
    """The action's scripts, with a release in a folder."""
    releases, home = tmp_path_factory.mktemp("releases") / "v0", tmp_path_factory.mktemp("runner")
    name = f"urdf_usd-v0-{platform.machine()}-unknown-linux-gnu"
    (releases / name).mkdir(parents=True)
    (releases / name / "urdf_usd").symlink_to(conftest.program())
    with tarfile.open(releases / f"{name}.tar.gz", "w:gz") as archive:
        archive.add(releases / name, name)
    digest = hashlib.sha256((releases / f"{name}.tar.gz").read_bytes()).hexdigest()
    (releases / f"{name}.tar.gz.sha256").write_text(f"{digest}  {name}.tar.gz\n")
    variables = {"RELEASES": releases.parent.as_uri(), "VERSION": "v0", "RUNNER_TEMP": home, "GITHUB_PATH": home / "path", "GITHUB_OUTPUT": home / "output"}
    environment = os.environ | {key: str(value) for key, value in variables.items()}
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    defaults = {name.upper(): field["default"] for name, field in action["inputs"].items()}
    environment |= {"GITHUB_ACTION_PATH": str(ROOT), "FILES": defaults["FILES"], "ARGUMENTS": defaults["ARGUMENTS"]}
    installed = subprocess.run(["bash", "-c", steps[0]], env=environment, cwd=bad, capture_output=True, text=True, check=False)
    assert installed.returncode == 0, installed.stderr
    environment["PATH"] = (home / "path").read_text().strip() + ":" + environment["PATH"]
    checked = subprocess.run(["bash", "-c", steps[1]], env=environment, cwd=bad, capture_output=True, text=True, check=False)
    assert checked.returncode == 1 and "bad.urdf: 2 errors" in checked.stdout, checked.stderr
    logs = Path((home / "output").read_text().strip().removeprefix("sarif="))
    assert json.loads((logs / "1.sarif").read_text())["runs"][0]["results"]
    (bad / "second.urdf").write_text(BAD)
    subprocess.run(["bash", "-c", steps[1]], env=environment, cwd=bad, capture_output=True, check=False)
    results = [result for log in logs.iterdir() for result in json.loads(log.read_text())["runs"][0]["results"]]
    at = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results}
    assert {"bad.urdf", "second.urdf"} <= at
    (bad / "second.urdf").unlink()
    (bad / "bad.urdf").write_text("<robot name='good'><link name='a'/></robot>")
    assert subprocess.run(["bash", "-c", steps[1]], env=environment, cwd=bad, check=False).returncode == 0


def test_the_hook_for_pre_commit(bad):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert re.search(hook["files"], "a/b.urdf.xacro") and not re.search(hook["files"], "macros.xacro")
    (bad / "good.urdf").write_text("<robot name='good'><link name='a'/></robot>")
    environment = os.environ | {"PATH": f"{conftest.program().parent}:{os.environ['PATH']}"}
    for files, code in ((["good.urdf", "bad.urdf"], 1), (["bad.urdf", "good.urdf"], 1), (["good.urdf"], 0)):
        done = subprocess.run([*shlex.split(hook["entry"]), *files], env=environment, cwd=bad, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout


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
