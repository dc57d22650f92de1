"""`urdf_usd check` on OpenUSD assets: its output streams and exit codes, for valid, invalid and damaged input."""

import json
import os
import shutil
import zipfile

import pytest

import conftest
from conftest import run

HEADER = """#usda 1.0
(
    defaultPrim = "robot"
    kilogramsPerUnit = 1
    metersPerUnit = {metres}
    timeCodesPerSecond = 1
    upAxis = "Z"
)

"""
#: The joints have no upper limit; one is in a variant that is not selected.
JOINT = """def Xform "robot" (
    variants = {
        string reach = "short"
    }
    prepend variantSets = "reach"
)
{
    def PhysicsRevoluteJoint "hip"
    {
        float physics:lowerLimit = -90
    }
    variantSet "reach" = {
        "long" {
            def PhysicsRevoluteJoint "knee"
            {
                float physics:lowerLimit = -90
            }
        }
        "short" {
        }
    }
}
"""


@pytest.fixture(scope="module")
def arm(tmp_path_factory):
    return conftest.convert(conftest.source("sample_arm"), tmp_path_factory.mktemp("arm"))


@pytest.fixture
def robot(tmp_path):
    path = tmp_path / "robot.usda"
    path.write_text(HEADER.format(metres=1) + JOINT)
    return path


def as_json(path, *options, code=None):
    done = run("check", path, "--format", "json", *options)
    assert "panicked" not in done.stderr
    found = json.loads(done.stdout)
    # The revision of REP-158 is that of OpenUSD only.
    assert set(found) == {"asset", "diagnostics", "counts"} | ({"rep158"} if not str(path).endswith(".glb") else set())
    by_severity = lambda severity: [d for d in found["diagnostics"] if d["severity"] == severity]
    if "--severity" not in options:
        assert found["counts"] == {severity: len(by_severity(severity)) for severity in ("error", "warning", "info")}
    assert done.returncode == (1 if found["counts"]["error"] else 0) and code in (None, done.returncode)
    return found


def codes(found):
    return {d["code"] for d in found["diagnostics"]}


def limits(path, *options):
    return as_json(path, "--select", "REP158-1.3.1", *options)["diagnostics"]


def test_converted_assets_pass(arm):
    # The parts of its meshes overlap, as in many robots; only their hulls, the default, have no self-intersections.
    folder, entry = (as_json(path, "--all-variants") for path in (arm.directory, arm.entry))
    assert folder == entry
    errors = [d for d in folder["diagnostics"] if d["severity"] == "error"]
    assert {d["code"] for d in errors} == {"REP158-3.4.7"} and all("collision_fidelity=trimesh" in d["message"] for d in errors), errors
    assert as_json(arm.entry)["counts"]["error"] == 0
    assert folder["asset"] == str(arm.entry)
    glb = as_json(arm.glb)
    assert glb["asset"] == str(arm.glb)


def test_a_finding_names_file_line_and_column(robot):
    (found,) = limits(robot)
    assert found["where"] == {"file": str(robot), "line": 17, "column": 30, "element": "/robot/hip.physics:upperLimit"}
    assert found["severity"] == "error" and found["help"]
    text = run("check", robot, "--select", "REP158-1.3.1")
    assert text.returncode == 1 and text.stderr == ""
    assert f"{robot}:17:30]" in text.stdout and 'def PhysicsRevoluteJoint "hip"' in text.stdout and "╰──" in text.stdout, text.stdout
    assert text.stdout.endswith(f"{robot}: 1 error, 0 warnings (REP-158 of 2026-06)\n")
    log = json.loads(run("check", robot, "--select", "REP158-1.3.1", "--format", "sarif").stdout)
    (result,) = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("REP158-1.3.1", "error")
    physical = result["locations"][0]["physicalLocation"]
    assert physical["region"] == {"startLine": 17, "startColumn": 30} and physical["artifactLocation"]["uri"].endswith("/robot.usda")


def test_binary_layers_and_packages_are_checked(arm, tmp_path):
    output = conftest.run("convert", conftest.source("sample_arm").urdf, "-o", tmp_path, *conftest.source("sample_arm").options, "--formats", "usdz")
    assert output.returncode == 0
    assert as_json(tmp_path / "sample_arm" / "sample_arm.usdz")["counts"]["error"] == 0
    as_json(arm.directory / "geometries.usdc")


def test_a_finding_in_a_package_names_its_layer(robot, tmp_path):
    package = tmp_path / "robot.usdz"
    with zipfile.ZipFile(package, "w") as archive:
        archive.write(robot, "robot.usda")
    (found,) = limits(package)
    assert found["where"]["file"].endswith("robot.usdz[robot.usda]") and (found["where"]["line"], found["where"]["column"]) == (17, 30)
    text = run("check", package, "--select", "REP158-1.3.1").stdout
    assert "line 17, column 30, /robot/hip.physics:upperLimit" in text, text


def test_variants(robot):
    elements = lambda *options: sorted(d["where"]["element"] for d in limits(robot, *options))
    hip, knee = "/robot/hip.physics:upperLimit", "/robot/knee.physics:upperLimit"
    assert elements() == [hip]
    assert elements("--variant", "reach=long") == elements("--variant", "/robot{reach=long}") == elements("--all-variants") == [hip, knee]
    assert [d["message"].endswith("(with reach=long)") for d in limits(robot, "--all-variants")] == [False, True]
    done = run("check", robot, "--variant", "reach=wide")
    assert done.returncode == 1 and done.stdout == "" and "/robot{reach=long|short}" in done.stderr, done.stderr
    assert run("check", robot, "--variant", "reach").returncode == 2


def test_select_and_ignore(tmp_path):
    path = tmp_path / "robot.usda"
    path.write_text(HEADER.format(metres=0.01) + JOINT)
    both = {"REP158-1.1.1", "REP158-1.3.1"}
    assert codes(as_json(path)) >= both
    assert codes(as_json(path, "--select", "REP158-1.1.1", "--select", "REP158-1.3.1", code=1)) == both
    assert codes(as_json(path, "--select", "REP158-1*", "--ignore", "REP158-1.3*", code=1)).isdisjoint({"REP158-1.3.1"})
    assert codes(as_json(path, "--select", "REP158-1.3.1", "--ignore", "REP158-1.3.1", code=0)) == set()
    assert codes(as_json(path, "--severity", "error", "--select", "REP158-1.1.1")) == {"REP158-1.1.1"}
    for option in ("--select", "--ignore"):
        done = run("check", path, option, "REP158-1.1.l")
        assert done.returncode == 2 and 'did you mean "REP158-1.1.1"' in done.stderr, done.stderr


def test_a_rule_is_explained():
    done = run("check", "--explain", "REP158-1.1.1")
    assert done.returncode == 0 and "REP-158 §1.1" in done.stdout and "This keeps it" in done.stdout
    assert 'did you mean "REP158-1.1.1"' in run("check", "--explain", "rep158-1.1.1").stderr


def test_packages(robot, tmp_path):
    package = tmp_path / "share" / "my_robot"
    package.mkdir(parents=True)
    (package / "package.xml").write_text("<package format='3'><name>my_robot</name></package>")
    shutil.move(robot, package / "robot.usda")
    by_path, by_name = (
        limits("package://my_robot/robot.usda", *option)
        for option in (["--package-path", tmp_path / "share"], ["--package", f"my_robot={package}"])
    )
    assert by_path == by_name and len(by_path) == 1
    referring = tmp_path / "other.usda"
    referring.write_text(HEADER.format(metres=1) + 'def "robot" (\n    references = @package://my_robot/robot.usda@\n)\n{\n}\n')
    composition = ("--select", "REP158-0.1")
    assert as_json(referring, *composition, "--package", f"my_robot={package}")["diagnostics"] == []
    assert len(as_json(referring, *composition, code=1)["diagnostics"]) == 1
    for arguments, code in ((["package://gone/a.usda"], 1), ([robot, "--package", "my_robot=/gone"], 2), ([robot, "--package", "x"], 2)):
        assert run("check", *arguments).returncode == code, arguments


def test_a_layer_that_is_missing_never_passes(arm, tmp_path):
    for layer in sorted(p.name for p in arm.directory.iterdir() if p.suffix in (".usda", ".usdc") and p != arm.entry):
        copy = shutil.copytree(arm.directory, tmp_path / layer)
        (copy / layer).unlink()
        assert "REP158-0.1" in codes(as_json(copy / arm.entry.name, "--all-variants", code=1)), layer


def test_a_texture_that_is_missing_or_broken_never_passes(tmp_path):
    textured = conftest.convert(conftest.source("textured"), tmp_path)
    textures = sorted((textured.directory / "textures").iterdir())
    assert textures and codes(as_json(textured.entry, "--select", "REP158-3.2*", code=0)) == set()
    for texture in textures:
        image = texture.read_bytes()
        for content, code in ((None, "REP158-3.2.5"), (b"", "REP158-3.2.5"), (image[:20], "REP158-3.2.5"), (b"GIF", "REP158-3.2.1")):
            texture.unlink()
            if content is not None:
                texture.write_bytes(content)
            else:
                (found,) = as_json(textured.entry, "--select", "REP158-3.2*", code=1)["diagnostics"]
                assert found["where"]["file"].endswith("materials.usda") and found["where"]["line"] > 0
            assert codes(as_json(textured.entry, code=1)) >= {code}, (texture.name, content)
            texture.write_bytes(image)


def test_unreadable_input_is_reported(tmp_path):
    folder, pipe, zero, empty, binary, package, secret, deep = (
        tmp_path / name for name in ("folder", "pipe.usda", "zero.usda", "empty.usda", "b.usdc", "p.usdz", "secret.usda", "deep.usda")
    )
    folder.mkdir()
    os.mkfifo(pipe)
    zero.symlink_to("/dev/zero")
    empty.write_text("")
    binary.write_bytes(b"PXR-USDC" + bytes(range(256)) * 40)
    package.write_bytes(b"PK\x03\x04" + b"\xff" * 200)
    secret.write_text(HEADER.format(metres=1))
    secret.chmod(0)
    deep.write_text(HEADER.format(metres=1) + 'def "robot" {\n' * 100_000 + "}\n" * 100_000)
    huge = tmp_path / "huge.usda"
    with huge.open("wb") as file:
        file.truncate(5 << 30)
    words = {folder: "contains neither", pipe: "not a regular file", zero: "not a regular file", secret: "ermission denied", deep: "256 deep", huge: "4 GiB"}
    for path in (folder, pipe, zero, empty, binary, package, secret, deep, huge, tmp_path / "gone.usda"):
        for form in ("text", "json", "sarif"):
            done = run("check", path, "--format", form, timeout=60, obeys_permissions=True)
            assert done.returncode == 1, f"{path}: {done.stderr}"
            if form == "text":
                assert done.stdout == ""
            else:
                told = json.loads(done.stdout)
                (found,) = told["diagnostics"] if form == "json" else told["runs"][0]["results"]
                assert found["code" if form == "json" else "ruleId"] == "command-failed"
            assert done.stderr.startswith("error: ") and "panicked" not in done.stderr, done.stderr
            assert words.get(path, "error") in done.stderr, f"{path}: {done.stderr}"


def test_incompatible_options(arm, robot):
    for arguments in ([arm.glb, "--variant", "a=b"], [arm.glb, "--all-variants"], [robot, "--live", "--select", "REP158-1.1.1"], [robot, "--live", "--all-variants"]):
        done = run("check", *arguments)
        assert done.returncode == 2 and done.stdout == "", arguments


def test_interface_types_are_looked_up_where_a_workspace_is_sourced(arm, tmp_path):
    """Without one, a single note says so, outside of the findings."""
    environment = {key: value for key, value in os.environ.items() if key != "AMENT_PREFIX_PATH"}
    done = run("check", arm.entry, "--format", "json", env=environment)
    json.loads(done.stdout)
    assert done.stderr.count("no ROS workspace is sourced") == 1
    sourced = run("check", arm.entry, "--format", "json", env=environment | {"AMENT_PREFIX_PATH": str(tmp_path)})
    assert sourced.stderr == ""


def test_a_conversion_is_checked_where_that_is_asked_for(tmp_path):
    robot = conftest.source("sample_arm")
    plain = conftest.convert(robot, tmp_path / "a")
    # A violation of a "must" is an error.
    checked = conftest.convert(robot, tmp_path / "b", "--check", errors=True)
    found = [d for d in checked.report["diagnostics"] if d["code"].startswith("REP158-")]
    assert [d for d in checked.report["diagnostics"] if d not in found] == plain.report["diagnostics"]
    # Findings in the variant with exact meshes are correct: their parts overlap.
    errors = [d for d in found if d["severity"] == "error"]
    assert {d["code"] for d in errors} == {"REP158-3.4.7"} and all("collision_fidelity=trimesh" in d["message"] for d in errors), errors
    for finding in found:
        assert str(checked.directory) in finding["where"]["file"]


def test_a_file_without_extension_is_recognised_by_content(tmp_path):
    asset = tmp_path / "asset"
    asset.write_text(HEADER.format(metres=1))
    done = run("check", asset)
    assert done.returncode != 0 and ".usda" in done.stderr and "glTF file:" not in done.stderr, done.stderr
