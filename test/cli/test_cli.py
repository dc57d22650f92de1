"""The command line: output streams, exit codes, and one clear message for every mistake."""

import json
import math
import os
import re
import shutil
import subprocess

import pytest

import conftest
from conftest import run

ARM = conftest.SAMPLES / "sample_arm"
URDF = ARM / "urdf" / "sample_arm.urdf"
PACKAGE = f"sample_arm={ARM}"


def message(done, code, *words):
    """Asserts that a command failed: exit code, all `words` on standard error, no panic, and nothing on standard output."""
    assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert done.stdout == ""
    for word in words:
        assert str(word) in done.stderr.replace("\n", " "), f"{word!r} is not in:\n{done.stderr}"
    assert "panicked" not in done.stderr and "RUST_BACKTRACE" not in done.stderr
    return done.stderr


# ------------------------------------------------------------------------------------------------------- the command line


def test_help_and_version():
    for arguments in (["--help"], ["convert", "--help"], ["inspect", "--help"], ["view", "--help"], ["bridge", "--help"], ["demo", "--help"], ["--version"]):
        done = run(*arguments)
        assert done.returncode == 0 and done.stdout and not done.stderr, arguments


def test_no_command():
    done = run()
    assert done.returncode == 2
    assert "Usage" in done.stderr and "convert" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["convert"], ["INPUT"]),
        (["convert", URDF, "--nonsense"], ["--nonsense"]),
        (["convert", URDF, "--formats", "usdx"], ["usdx", "glb"]),
        (["convert", URDF, "--formats", "usd,stl"], ["stl", "usdz"]),
        (["convert", URDF, "--formats", ""], ["--formats"]),
        (["convert", URDF, "--base", "glued"], ["glued", "floating"]),
        (["convert", URDF, "--bodies", "loose"], ["loose", "flat"]),
        (["convert", URDF, "--mesh-up-axis", "w"], ["ignore", "honor"]),
        (["convert", URDF, "--mesh-up-axis", "w"], ["ignore", "honor"]),
        (["convert", URDF, "--srdf-file", "/dev"], ["--srdf-file", "not a regular file"]),
        (["convert", URDF, "--time-limit", "-1"], ["--time-limit", "86400"]),
        (["convert", URDF, "--formats", "glb", "--check"], ["--check", "usdz"]),
        (["convert", URDF, "--simready-metadata", "author=A"], ["--simready"]),
        (["convert", URDF, "--package", "sample_arm"], ["sample_arm", "NAME=DIR"]),
        (["convert", URDF, "--package", "=/tmp"], ["NAME=DIR"]),
        (["convert", URDF, "--asset-namespace", "fleet/cell-1"], ["fleet/cell-1", "letters, digits"]),
        (["convert", URDF, "--asset-namespace", "fleet//cell"], ["fleet//cell", "empty"]),
        (["convert", URDF, URDF], ["sample_arm.urdf"]),
        (["bake", URDF], ["bake"]),
        # Unknown options are rejected, not ignored.
        (["convert", URDF, "--overlays", "bullet"], ["--overlays", "bullet"]),
    ],
    ids=lambda value: " ".join(v.name if hasattr(v, "name") else v for v in value) if isinstance(value, list) else None,
)
def test_a_wrong_command_line(arguments, words, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    message(done, 2, *words)
    assert list(tmp_path.iterdir()) == [], "a file was written"


# ------------------------------------------------------------------------------------------------------------- the input


def test_no_such_file(tmp_path):
    done = run("convert", tmp_path / "gone.urdf", "-o", tmp_path / "out")
    message(done, 1, tmp_path / "gone.urdf")
    assert not (tmp_path / "out").exists()


def test_a_folder_is_its_robot(tmp_path):
    """The folder of a package stands for its only robot, or the given one; that of an asset for its entry. No --package is needed."""
    out, folder = tmp_path / "out", tmp_path / "sample_arm"
    message(run("convert", tmp_path, "-o", out), 1, tmp_path, "neither an asset nor a robot description")
    shutil.copytree(ARM, folder)
    asset = convert_to(out, folder, "--formats", "usd")
    assert not any(found["severity"] == "error" for found in json.loads((asset / "report.json").read_text())["diagnostics"])
    back = convert_to(tmp_path / "back", asset, "--formats", "urdf")
    assert (back / "sample_arm.urdf").is_file()
    (folder / "urdf" / "other.urdf").write_text("<robot name='other'><link name='a'/></robot>")
    message(run("convert", folder, "-o", out), 1, "2 robots", "--robot", "urdf/other.urdf", "urdf/sample_arm.urdf")
    message(run("convert", folder, "--robot", "othr", "-o", out), 1, 'did you mean "other"?')
    convert_to(tmp_path / "named", folder, "--robot", "other", "--formats", "usd")
    assert (tmp_path / "named" / "other" / "other.usda").is_file()
    message(run("convert", URDF, "--robot", "other", "-o", out), 1, URDF, "is not a folder")
    message(run("convert", "-", "--robot", "other", "-o", out, input=""), 2, "--robot", "standard input")


def test_an_unreadable_file(tmp_path):
    file = tmp_path / "secret.urdf"
    file.write_text("<robot/>")
    file.chmod(0)
    message(run("convert", file, "-o", tmp_path / "out", obeys_permissions=True), 1, file)


@pytest.mark.parametrize("suffix", ["xacro", "sdf", "mjcf"])
def test_other_kinds_of_input(suffix, tmp_path):
    file = tmp_path / f"robot.{suffix}"
    file.write_text("<robot name='x'><link name='a'/></robot>")
    message(run("convert", file, "-o", tmp_path / "out"), 1, file, "URDF" if suffix != "xacro" else "xacro")


def test_formats_are_recognised_by_content(tmp_path):
    """By content, not by name; also from standard input."""
    made = convert_to(tmp_path / "made", URDF, "--package", PACKAGE, "--formats", "usd,usdz,glb")

    def joints(asset):
        """Returns the printed properties of joints, with four digits, as they have passed through single precision. glTF has no drives."""
        told = run("inspect", asset / "sample_arm.usda").stdout.split("joints (")[1].split("interfaces")[0]
        told = re.sub(r"  driven by \w+", "", told)
        return re.sub(r"\d+\.\d+", lambda number: f"{float(number[0]):.4g}", told)

    for ending, kind in [("usda", "usd"), ("usdz", "usd"), ("glb", "glb")]:
        source = made / f"sample_arm.{ending}"
        disguised = made / f"of_{ending}.txt" if ending != "usda" else source
        if disguised != source:
            disguised.write_bytes(source.read_bytes())
        again = convert_to(tmp_path / ending, disguised)
        assert json.loads((again / "report.json").read_text())["source"]["kind"] == kind
        assert joints(again) == joints(made)
        with source.open("rb") as stdin:
            done = run("convert", "-", "-o", tmp_path / f"sent_{ending}", stdin=stdin, cwd=made)
        assert done.returncode == 0, done.stderr
        assert joints(tmp_path / f"sent_{ending}" / "sample_arm") == joints(made)


def convert_to(folder, source, *options):
    done = run("convert", source, "-o", folder, *options)
    assert done.returncode == 0, done.stderr
    return folder / "sample_arm"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (b"<robot name='x'>\n  <link name='a'>\n</robot>", 2, ["link"]),
        (b"<robot name='x'><link name='a'/>", 1, []),
        (b"", None, []),
        (b"not xml at all", 1, []),
        (b"<sdf version='1.9'/>", 1, ["robot"]),
        (b"\xff\xfe\x00garbage", None, []),
        (b"<robot name='x'>\n<link name='a'/><link name='b'/>\n<joint name='j' type='fixed'><parent link='a'/><child link='nowhere'/></joint></robot>", 3, ["nowhere"]),
        (b"<robot name='x'/>", 1, ["link"]),
        (b"<!DOCTYPE a [<!ENTITY b 'cccccccccc'><!ENTITY d '&b;&b;&b;&b;'>]><robot name='&d;'/>", None, []),
        (b"<a>" * 100_000, None, []),
    ],
    ids=["unclosed", "cut", "empty", "text", "sdf", "binary", "unknown-link", "no-links", "entities", "deep"],
)
def test_malformed_urdf(text, line, words, tmp_path):
    file = tmp_path / "bad.urdf"
    file.write_bytes(text)
    done = run("convert", file, "-o", tmp_path / "out", timeout=60)
    if (tmp_path / "out").exists():
        # The conversion continued without the faulty element: the report has its place.
        assert done.returncode == 1
        told = json.loads(next((tmp_path / "out").glob("*/report.json")).read_text())["diagnostics"]
        assert any(all(w in d["message"] for w in words) and d["where"].get("line") == line for d in told), told
        return
    shown = message(done, 1, *words)
    assert "bad.urdf" in shown
    if line:
        assert re.search(rf"bad\.urdf:{line}:\d+", shown), shown


def test_standard_input(tmp_path):
    done = run("convert", "-", "-o", tmp_path, "--package", PACKAGE, "--json", input=URDF.read_text())
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["robot"] == "sample_arm" and "uri" not in report["source"]
    assert (tmp_path / "sample_arm" / "sample_arm.usda").is_file()


def test_malformed_standard_input(tmp_path):
    message(run("convert", "-", "-o", tmp_path, input="<robot"), 1)


def test_unknown_package(sample, tmp_path):
    (tmp_path / "nothing").mkdir()
    done = run("convert", sample.urdf.rename(tmp_path / "alone.urdf"), "-o", tmp_path / "out", "--package-path", tmp_path / "nothing")
    assert "sample_arm" in done.stderr
    assert str(tmp_path / "nothing") in done.stderr, "the message does not name the searched places"


@pytest.mark.parametrize("option", ["--package=sample_arm=/no/such/folder", "--package-path=/no/such/folder"])
def test_missing_packages(option, tmp_path):
    message(run("convert", URDF, "-o", tmp_path / "out", option), 2, "/no/such/folder")


def test_no_file_outside_the_packages_is_read(tmp_path):
    """A reference must not leave its package, by .. or by links."""
    secret = tmp_path / "secret.stl"
    secret.write_bytes((ARM / "meshes" / "shoulder.stl").read_bytes())
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "package.xml").write_text("<package format='3'><name>pkg</name></package>")
    (package / "link.stl").symlink_to(secret)
    for k, uri in enumerate(["package://pkg/../secret.stl", "package://pkg/link.stl", str(secret), f"file://{secret}", "package://pkg/%2e%2e/secret.stl"]):
        file = package / f"{k}.urdf"
        file.write_text(f"<robot name='r{k}'><link name='a'><visual><geometry><mesh filename='{uri}'/></geometry></visual></link></robot>")
        done = run("convert", file, "-o", tmp_path / "out", "--package", f"pkg={package}", "--json")
        report = json.loads(done.stdout)
        assert [d for d in report["diagnostics"] if d["severity"] == "error" and "secret" in d["message"] + uri], f"{uri} was read"
        assert report["counts"]["meshes"] == 0, f"{uri} was read" if "counts" in report else None


# ------------------------------------------------------------------------------------------------------------ the output


def test_an_output_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = run("convert", URDF, "-o", tmp_path / "file", "--package", PACKAGE)
    message(done, 1, tmp_path / "file")
    done = run("convert", URDF, "-o", "/proc/nothing/here", "--package", PACKAGE)
    message(done, 1, "/proc/nothing")


def test_an_unwritable_output_folder(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    message(run("convert", URDF, "-o", folder, "--package", PACKAGE, obeys_permissions=True), 1, folder)


def test_a_file_where_the_asset_belongs(tmp_path):
    (tmp_path / "sample_arm").write_text("in the way")
    message(run("convert", URDF, "-o", tmp_path, "--package", PACKAGE), 1, tmp_path / "sample_arm")
    assert (tmp_path / "sample_arm").read_text() == "in the way"


def test_messages_are_on_standard_error(tmp_path):
    done = run("convert", URDF, "-o", tmp_path, "--package", PACKAGE)
    assert done.returncode == 0
    assert done.stdout == ""
    assert str(tmp_path / "sample_arm" / "sample_arm.usda") in done.stderr, done.stderr


def test_only_json_is_on_standard_output(tmp_path):
    done = run("convert", URDF, "-o", tmp_path, "--package", PACKAGE, "--json")
    assert json.loads(done.stdout)["robot"] == "sample_arm"
    done = run("convert", tmp_path / "gone.urdf", "-o", tmp_path, "--json")
    assert done.returncode == 1
    assert "gone.urdf" in done.stderr
    if done.stdout:
        assert json.loads(done.stdout)["diagnostics"]


def test_formats(tmp_path):
    for formats in ("usd", "glb", "usdz", "usd,glb", "glb,usdz,usd"):
        output = tmp_path / formats.replace(",", "_")
        assert run("convert", URDF, "-o", output, "--package", PACKAGE, "--formats", formats).returncode == 0
        there = {file.suffix for file in (output / "sample_arm").glob("sample_arm.*")}
        assert there == {f".{name}".replace("usd", "usda").replace("usdaz", "usdz") for name in formats.split(",")}


def test_the_default_output_is_here(tmp_path):
    assert run("convert", URDF, "--package", PACKAGE, cwd=tmp_path).returncode == 0
    assert (tmp_path / "sample_arm" / "sample_arm.usda").is_file()


def test_package_from_ament(tmp_path):
    """Packages are found in the prefixes of AMENT_PREFIX_PATH, in order."""
    import shutil

    for prefix in ("overlay", "underlay"):
        share = tmp_path / prefix / "share"
        marker = share / "ament_index" / "resource_index" / "packages" / "sample_arm"
        marker.parent.mkdir(parents=True)
        marker.write_text("")
        shutil.copytree(ARM, share / "sample_arm")
    (tmp_path / "overlay" / "share" / "sample_arm" / "meshes" / "shoulder.stl").unlink()
    alone = tmp_path / "alone.urdf"
    shutil.copy(URDF, alone)
    environment = os.environ | {"AMENT_PREFIX_PATH": f"{tmp_path / 'underlay'}:{tmp_path / 'overlay'}"}
    done = run("convert", alone, "-o", tmp_path / "out", "--json", env=environment)
    assert json.loads(done.stdout)["diagnostics"] == [] or "shoulder.stl" not in done.stdout
    environment["AMENT_PREFIX_PATH"] = f"{tmp_path / 'overlay'}:{tmp_path / 'underlay'}"
    done = run("convert", alone, "-o", tmp_path / "out2", "--json", env=environment)
    assert "shoulder.stl" in done.stdout, "the first prefix with the package takes precedence"


def test_two_processes_on_one_output(tmp_path):
    command = [conftest.program(), "convert", URDF, "-o", tmp_path, "--package", PACKAGE]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    ends = [p.communicate(timeout=300) for p in both]
    assert [p.returncode for p in both] == [0] * 4, ends
    report = json.loads((tmp_path / "sample_arm" / "report.json").read_text())
    assert report["revision"] == 1, "the same content was published more than once"


# ----------------------------------------------------------------------------------------------------- base and bodies


def _stage(tmp_path, *options):
    from stage import Asset

    done = run("convert", URDF, "-o", tmp_path, "--package", PACKAGE, *options)
    assert done.returncode == 0, done.stderr
    return Asset(tmp_path / "sample_arm" / "sample_arm.usda")


def test_base(tmp_path):
    held = lambda asset: [n for n, j in asset.joints.items() if not j.GetRelationship("physics:body0").GetTargets()]
    assert held(_stage(tmp_path / "auto")) == ["world_joint"]
    assert held(_stage(tmp_path / "fixed", "--base", "fixed")) == ["world_joint"]
    assert held(_stage(tmp_path / "floating", "--base", "floating")) == []


def test_flat_bodies(tmp_path):
    import numpy as np

    nested, flat = _stage(tmp_path / "nested"), _stage(tmp_path / "flat", "--bodies", "flat")
    assert set(flat.bodies) == set(nested.bodies)
    for name, prim in flat.bodies.items():
        assert prim.GetParent() == flat.root
        assert np.abs(flat.pose(prim) - nested.pose(nested.bodies[name])).max() < 1e-6


def test_up_axis(tmp_path):
    import numpy as np
    from pxr import Usd, UsdGeom

    from stage import Asset

    mesh = conftest.ROOT / "test" / "meshes" / "dae" / "up_y.dae"
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(f'<robot name="r"><link name="l"><visual><geometry><mesh filename="file://{mesh}"/></geometry></visual></link></robot>')
    # The corner (1, 2, 3) in inches, with y up.
    for options, corner in [((), (1, 2, 3)), (("--mesh-up-axis", "ignore"), (1, 2, 3)), (("--mesh-up-axis", "honor"), (1, -3, 2))]:
        # A separate folder for each: OpenUSD caches opened layers.
        output = tmp_path / "".join(options)
        done = run("convert", urdf, "-o", output, "--allowed-root", mesh.parent, *options)
        assert done.returncode == 0, done.stderr
        stage = Asset(output / "r" / "r.usda").stage
        points = [p for prim in stage.Traverse(Usd.TraverseInstanceProxies()) if (p := UsdGeom.Mesh(prim).GetPointsAttr().Get())]
        assert points and all(np.abs(np.array(p) - np.array(corner) * 0.0254).max(axis=1).min() < 1e-7 for p in points)


def test_namespace(tmp_path):
    for namespace in ("cell_1", "fleet/cell_1", "/fleet/cell_1"):
        asset = _stage(tmp_path / namespace.replace("/", "-"), "--asset-namespace", namespace)
        assert asset.root.GetAttribute("ros:context:namespace").Get() == namespace


# ---------------------------------------------------------------------------------------------------- inspect and demo


@pytest.fixture(scope="module")
def asset(tmp_path_factory):
    output = tmp_path_factory.mktemp("inspected")
    assert run("convert", URDF, "-o", output, "--package", PACKAGE).returncode == 0
    return output / "sample_arm" / "sample_arm.usda"


def test_inspect(asset):
    done = run("inspect", asset)
    assert done.returncode == 0, done.stderr
    for word in ("base_link", "upper_arm_link", "tool0", "shoulder_pan_joint", "joint_states", "left_finger_joint"):
        assert word in done.stdout, f"{word} is not in:\n{done.stdout}"


def test_a_description_is_inspected_as_it_would_be_converted(asset, tmp_path):
    whole = run("inspect", asset, "--json", "--variant", "visual_representation=mesh_high")
    expected = json.loads(whole.stdout)
    for given, options in ((URDF, ["--package", PACKAGE]), (ARM, ["--robot", "sample_arm"])):
        done = run("inspect", given, *options, "--json")
        told = json.loads(done.stdout)
        assert done.returncode == 0 and told.pop("variants") != expected.get("variants"), done.stderr
        assert told == {key: value for key, value in expected.items() if key != "variants"}
    piped = run("inspect", "-", "--package", PACKAGE, input=URDF.read_text())
    assert piped.returncode == 0 and "shoulder_pan_joint" in piped.stdout, piped.stderr
    message(run("inspect", "-", input="<robot"), 1, "<stdin>:1")


def test_check_reports_what_the_conversion_left_out(asset, tmp_path):
    assert "was converted with" not in run("check", asset).stderr
    urdf = tmp_path / "r.urdf"
    urdf.write_text('<robot name="r"><link name="a"><visual><geometry><mesh filename="gone.stl"/></geometry></visual></link></robot>')
    assert run("convert", urdf, "-o", tmp_path).returncode == 1
    for entry in ("", "r.usda", "r.glb"):
        done = run("check", tmp_path / "r" / entry)
        assert "note: r was converted with 1 error" in done.stderr and "report.json has them" in done.stderr, done.stderr
    assert "was converted with" not in run("check", tmp_path / "r", "--format", "json").stdout


def test_inspect_prints_the_unit_of_limits(asset):
    """Degrees in OpenUSD, radians in glTF."""
    limits = {}
    for path in (asset, asset.with_suffix(".glb")):
        summary = json.loads(run("inspect", "--json", path).stdout)
        joints = summary["joints"] if "joints" in summary else summary["robots"][0]["joints"]
        limits[path.suffix] = {joint["name"]: (joint["upper"], joint["unit"]) for joint in joints if "upper" in joint}
        text = run("inspect", path).stdout
        for name, (_, unit) in limits[path.suffix].items():
            assert re.search(rf"^  {name}  .* \.\. \S+ {unit}$|^  {name}  .* \.\. \S+ {unit}  ", text, re.M), f"{name}: {text}"
    usd, glb = limits[".usda"], limits[".glb"]
    assert set(usd) == set(glb) and {unit for _, unit in usd.values()} == {"deg", "m"}
    for name, (upper, unit) in usd.items():
        assert glb[name] == (pytest.approx(math.radians(upper) if unit == "deg" else upper, rel=1e-6), {"deg": "rad", "m": "m"}[unit])


def test_an_asset_is_opened_by_its_folder(asset, tmp_path):
    """By all commands, also if the folder and the asset have different names."""
    copy = shutil.copytree(asset.parent, tmp_path / "copy of arm")
    for folder, file in ((asset.parent, asset), (copy, copy / asset.name)):
        assert run("inspect", folder).stdout == run("inspect", file).stdout != ""
        checked = [json.loads(run("check", "--format", "json", path).stdout) for path in (folder, file)]
        assert checked[0] == checked[1]
    (copy / "report.json").unlink()
    message(run("inspect", copy), 1, "copy of arm contains neither an asset nor a robot description")
    message(run("check", copy), 1, "copy of arm contains neither an asset nor a robot description")


def test_inspect_nothing(tmp_path):
    message(run("inspect", tmp_path / "gone.usda"), 1, "gone.usda")
    (tmp_path / "bad.usda").write_text("not a layer")
    message(run("inspect", tmp_path / "bad.usda"), 1, "bad.usda")


def test_demo_once(tmp_path, domain):
    environment = os.environ | {"ROS_DOMAIN_ID": str(domain)}
    done = run("demo", "--once", cwd=tmp_path, timeout=120, env=environment)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    shown = done.stdout + done.stderr
    written = re.findall(r"\S+\.usda", shown)
    assert written, f"the output does not name the file\n{shown}"
    assert any(os.path.isfile(os.path.join(tmp_path, w.strip("'\"`,;:()"))) for w in written), shown


def test_the_printed_output_file_exists(tmp_path):
    urdf = tmp_path / "arm.urdf"
    urdf.write_text("<robot name='arm'><link name='a'/></robot>")
    formats = re.search(r"--formats <LIST>.*?\(any of (.*?),\s+separated", run("convert", "--help").stdout, re.S)[1]
    for name in re.split(r",\s+", formats):
        done = run("convert", urdf, "--formats", name, "-o", tmp_path / name)
        said = re.search(r"wrote (\S+) \(revision", done.stderr)
        assert said and (tmp_path / name / "arm").joinpath(said[1]).is_file(), (name, done.stderr)
