"""`--simready` adds a thumbnail of the robot, and metadata that agree with the asset and its package."""

import datetime
import json
import math
import os
import xml.etree.ElementTree as ElementTree

import explained
import numpy as np
import pytest
from conftest import SAMPLES, convert, in_nv, run, source
from PIL import Image
from pxr import Usd, UsdGeom, UsdPhysics
from stage import Asset

ARM = SAMPLES / "sample_arm"
URDF = ARM / "urdf" / "sample_arm.urdf"
#: SR.004 of SimReady's foundation.
FIELDS = {
    "asset_extents", "asset_license", "asset_name", "asset_type", "author", "category", "mass", "qcode", "rigid_body_count",
    "source_file", "usd_date_generated",
}  # fmt: skip
#: Wikidata's item for robots.
ROBOT = "Q11012"


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """Converts robots with everything that SimReady requires, each once."""
    made = {}

    def by_name(name):
        if name not in made:
            made[name] = convert(source(name), tmp_path_factory.mktemp("simready"), "--simready", "--formats", "usd")
        return made[name]

    return by_name


def thumbnail(asset):
    return asset.directory / ".thumbs" / "256x256" / f"{asset.asset_name}.usda.png"


def metadata(asset):
    return json.loads((asset.directory / f"{asset.asset_name}.json").read_text())


def test_the_thumbnail_shows_the_robot(converted, ready):
    picture = Image.open(thumbnail(ready(converted.name)))
    assert (picture.format, picture.size, picture.mode) == ("PNG", (256, 256), "RGB")
    pixels = np.asarray(picture).astype(int)
    background = pixels[0, 0]
    seen = np.abs(pixels - background).max(axis=2) > 4
    asset = Asset(converted.entry)
    if not any(prim.IsA(UsdGeom.Gprim) for prim in asset.prims):
        assert not seen.any(), "the image is empty"
        return
    assert not seen[:8].any() and not seen[-8:].any() and not seen[:, :8].any() and not seen[:, -8:].any(), "the image has no margin"
    rows, columns = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    size = [int(np.ptp(rows)) + 1, int(np.ptp(columns)) + 1]
    assert 0.85 < max(size) / 256 < 0.95, "the robot does not fill the image"
    for middle in (rows[0] + rows[-1], columns[0] + columns[-1]):
        assert abs(middle - 255) <= 4, "the robot is not centred"
    assert len(np.unique(pixels[seen], axis=0)) > 20, "surfaces are not shaded"


def test_colours_are_those_of_materials(tmp_path):
    box = "<link name='a'><visual><geometry><box size='1 1 1'/></geometry><material name='m'><color rgba='{}'/></material></visual></link>"
    hues = {}
    for color in ("1 0 0 1", "0 1 0 1", "0 0 1 1"):
        (tmp_path / "robot.urdf").write_text(f"<robot name='r'>{box.format(color)}</robot>")
        assert run("convert", tmp_path / "robot.urdf", "-o", tmp_path, "--formats", "usd", "--simready").returncode == 0
        picture = Image.open(tmp_path / "r" / ".thumbs" / "256x256" / "r.usda.png")
        hues[color] = [channel > 100 for channel in picture.getpixel((128, 128))]
    assert hues == {"1 0 0 1": [True, False, False], "0 1 0 1": [False, True, False], "0 0 1 1": [False, False, True]}


def test_fields(converted, ready):
    asset = ready(converted.name)
    found, package = metadata(asset), ElementTree.parse(manifest(asset)).getroot()
    texts = lambda tag: [" ".join(e.text.split()) for e in package.findall(tag) if e.text and e.text.strip()]
    assert found["asset_name"] == asset.report["robot"]
    assert (found["asset_type"], found["category"], found["qcode"]) == ("robot", "robot", ROBOT)
    assert found["source_file"] == asset.report["source"]["uri"]
    assert found.get("author") == (", ".join(texts("author") or texts("maintainer")) or None)
    assert found.get("asset_license") == (", ".join(texts("license")) or None)
    today = datetime.datetime.now(datetime.UTC).date()
    assert datetime.date.fromisoformat(found["usd_date_generated"]) in (today, today - datetime.timedelta(days=1))
    missing = [d for d in asset.report["diagnostics"] if d["code"] == "simready-incomplete"]
    assert bool(missing) == (set(found) != FIELDS) and set(found) <= FIELDS
    assert all(name in missing[0]["message"] for name in FIELDS - set(found))


def manifest(asset):
    return next(folder / "package.xml" for folder in asset.urdf.parents if (folder / "package.xml").exists())


def test_numbers_are_those_of_the_asset(converted, ready):
    asset = ready(converted.name)
    found, stage = metadata(asset), Usd.Stage.Open(str(asset.entry))
    prims = list(Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()))
    bodies = [p for p in prims if p.HasAPI(UsdPhysics.RigidBodyAPI)]
    assert found["rigid_body_count"] == len(bodies)
    assert found["mass"] == pytest.approx(sum(p.GetAttribute("physics:mass").Get() for p in bodies), rel=1e-5)
    assert found["asset_extents"] == pytest.approx(list(extents(prims)), rel=4e-3, abs=1e-5)


def extents(prims):
    """Returns the size of the bounding box of all visual geometry, from OpenUSD's transforms; round shapes by support functions."""
    cache, low, high = UsdGeom.XformCache(), np.full(3, np.inf), np.full(3, -np.inf)
    for prim in prims:
        purpose = UsdGeom.Imageable(prim).ComputePurpose() if prim.IsA(UsdGeom.Gprim) else "guide"
        if purpose == "guide":
            continue
        matrix = np.array(cache.GetLocalToWorldTransform(prim))
        turn, at = matrix[:3, :3].T, matrix[3, :3]
        get = lambda name: prim.GetAttribute(name).Get()
        axis = {"X": 0, "Y": 1, "Z": 2}.get(get("axis")) if prim.HasAttribute("axis") else None
        match prim.GetTypeName():
            case "Mesh":
                points = np.array(get("points"), dtype=float) @ turn.T + at
                low, high = np.minimum(low, points.min(axis=0)), np.maximum(high, points.max(axis=0))
                continue
            case "Cube":
                reach = np.abs(turn).sum(axis=1) * get("size") / 2
            case "Sphere":
                reach = np.linalg.norm(turn, axis=1) * get("radius")
            case "Cylinder":
                across = np.delete(turn, axis, axis=1)
                reach = np.abs(turn[:, axis]) * get("height") / 2 + np.linalg.norm(across, axis=1) * get("radius")
            case "Capsule":
                reach = np.abs(turn[:, axis]) * get("height") / 2 + np.linalg.norm(turn, axis=1) * get("radius")
            case other:
                raise AssertionError(f"{prim.GetPath()} is a {other}")
        low, high = np.minimum(low, at - reach), np.maximum(high, at + reach)
    return high - low if math.isfinite(low[0]) else np.zeros(3)


def profile(entry):
    """Validates an asset with the profile Robot-Body: passed and failed features, issues."""
    found = in_nv("simready_validate", entry)
    if found is None:
        pytest.skip("SimReady's profiles are not installed (simready-foundation-tier-core)")
    return found


def test_simreadys_profile(converted, ready):
    told = profile(ready(converted.name).entry)
    assert set(told["not_run"]) <= {"physics_driven_joints", "robot_core"}, "an explained issue concerns a required feature"
    rows = explained.rows("SimReady")
    explains = lambda code, messages: any(row.covers(code, message, "") for row in rows for message in messages or [""])
    assert {code: messages for code, messages in told["found"].items() if not explains(code, messages)} == {}
    unneeded = [row.rule for row in rows if row.seen_on == converted.name and row.rule not in told["found"]]
    assert unneeded == [], "rows without an issue on their robot"
    # Features that the profile requires: minimal, rigid bodies, materials, self-contained, metadata.
    required = {"FET_001_STANDARD", "FET_003_STANDARD", "FET_006_STANDARD", "FET_031_STANDARD", "FET_033_STANDARD"}
    assert required <= set(told["passed"]) | set(told["blocking"])
    assert told["blocking"] == (["FET_001_STANDARD"] if "VG.MESH.001" in told["found"] else [])


def test_simreadys_profile_reports_missing_features(conversions):
    told = profile(conversions("sample_arm").entry)
    assert told["blocking"] == ["FET_033_STANDARD"] and {"SR.002", "SR.004"} <= told["found"].keys()


def test_the_report_lists_them_and_they_outlive_a_revision(sample, tmp_path):
    asset = convert(sample, tmp_path / "out", "--simready")
    paths = {f["path"] for f in asset.report["files"]}
    assert {".thumbs/256x256/sample_arm.usda.png", "sample_arm.json"} <= paths
    (asset.directory / ".thumbs" / "mine.txt").write_text("mine")
    again = convert(sample, tmp_path / "out", "--simready")
    assert again.report["revision"] == 1, "unexpected change"
    sample.urdf.write_text(sample.urdf.read_text().replace("0 0 1", "0 1 0"))
    changed = convert(sample, tmp_path / "out", "--simready")
    assert changed.report["revision"] == 2 and thumbnail(changed).exists()
    assert thumbnail(convert(sample, tmp_path / "out")).exists(), "removed without --replace"
    without = convert(sample, tmp_path / "out", "--replace")
    assert without.report["revision"] == 3
    assert not thumbnail(without).exists() and not (without.directory / "sample_arm.json").exists()
    assert (without.directory / ".thumbs" / "mine.txt").read_text() == "mine", "foreign files must be kept"


def test_the_date_is_that_of_the_layers(sample, tmp_path):
    made = lambda epoch, *options: run(
        "convert", sample.urdf, "-o", tmp_path / "out", *sample.options, "--simready", "--json", *options,
        env=os.environ | {"SOURCE_DATE_EPOCH": epoch},
    )  # fmt: skip
    date = lambda: json.loads((tmp_path / "out" / "sample_arm" / "sample_arm.json").read_text())["usd_date_generated"]
    assert made("951782400").returncode == 0 and date() == "2000-02-29"
    done = made("1000000000")
    assert date() == "2000-02-29" and json.loads(done.stdout)["revision"] == 1, "equal layers must keep their date"
    made("1000000000", "--simready-metadata", "author=Somebody")
    assert date() == "2000-02-29", "metadata must not change layers"
    made("1000000000", "--base", "floating")
    assert date() == "2001-09-09"


def test_options_take_precedence(sample, tmp_path):
    given = {"author": "A = B & Söhne", "asset_license": "CC0-1.0", "category": "arm", "qcode": "Q1420024"}
    options = [option for item in given.items() for option in ("--simready-metadata", "=".join(item))]
    found = metadata(convert(sample, tmp_path, "--simready", *options))
    assert found.items() >= given.items()


def test_missing_metadata_is_left_out_and_reported(sample, tmp_path):
    (sample.urdf.parent.parent / "package.xml").unlink()
    asset = convert(sample, tmp_path, "--simready")
    assert set(metadata(asset)) == FIELDS - {"author", "asset_license"}
    (told,) = [d for d in asset.report["diagnostics"] if d["code"] == "simready-incomplete"]
    assert "author" in told["message"] and "asset_license" in told["message"] and "--simready-metadata" in told["help"]
    text = run("convert", "-", "-o", tmp_path / "text", "--simready", "--formats", "usd", "--json", input=URDF.read_text(), cwd=URDF.parent)
    found = json.loads((tmp_path / "text" / "sample_arm" / "sample_arm.json").read_text())
    assert found["source_file"] == f"sha256:{json.loads(text.stdout)['source']['sha256']}"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--simready", "--formats", "glb"], ["--simready", "--formats", "usd"]),
        (["--simready-metadata", "author=me"], ["--simready"]),
        (["--simready", "--simready-metadata", "mass=1"], ["mass", "author", "asset_license"]),
        (["--simready", "--simready-metadata", "author"], ["author=VALUE"]),
        (["--simready", "--simready-metadata", "qcode=12"], ["12", ROBOT]),
    ],
)
def test_wrong_options(options, words, tmp_path):
    done = run("convert", URDF, "-o", tmp_path / "out", "--package", f"sample_arm={ARM}", *options)
    assert done.returncode == 2 and not done.stdout
    assert all(word in done.stderr for word in words), done.stderr
    assert not (tmp_path / "out").exists()
