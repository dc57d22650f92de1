"""USDZ packages: OpenUSD's rules, and equality with the unpacked layers."""

import hashlib
import struct
import zipfile

import pytest
from conftest import convert, in_old_usd, run, source
from pxr import Ar, Sdf, Usd, UsdUtils, UsdValidation


@pytest.fixture(scope="module")
def packed(tmp_path_factory):
    """Packs robots by name, each once, with only the command for it."""
    made = {}

    def by_name(name):
        if name not in made:
            made[name] = convert(source(name), tmp_path_factory.mktemp("usdz"), "--formats", "usdz")
        return made[name]

    return by_name


@pytest.fixture
def package(converted, packed):
    asset = packed(converted.name)
    return asset.directory / f"{asset.asset_name}.usdz"


def content(path):
    """Returns the contents of an asset path."""
    opened = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(path)) if path else None
    return hashlib.sha256(opened.GetBuffer()).hexdigest() if opened else f"nothing at {path!r}"


def plain(value):
    """Converts a value for comparison with another stage: files by content."""
    if isinstance(value, Sdf.AssetPath):
        return value.path, content(value.resolvedPath)
    if isinstance(value, Sdf.AssetPathArray):
        return [plain(v) for v in value]
    return value


def composed(path):
    """Returns all opinions of a stage: type, schemas, metadata, values, targets and connections of every prim, in every instance."""
    stage = Usd.Stage.Open(str(path))
    assert stage.GetCompositionErrors() == []
    out = {}
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate)):
        said = out[str(prim.GetPath())] = {
            "type": prim.GetTypeName(),
            "schemas": prim.GetMetadata("apiSchemas") and list(prim.GetMetadata("apiSchemas").GetAppliedItems()),
            "variants": {s: prim.GetVariantSet(s).GetVariantSelection() for s in prim.GetVariantSets().GetNames()},
            "kind": prim.GetMetadata("kind"),
            "info": prim.GetMetadata("assetInfo"),
            "display": prim.GetDisplayName(),
            "instance": prim.IsInstance(),
        }
        for attribute in prim.GetAttributes():
            sources = [str(c) for c in attribute.GetConnections()]
            said[attribute.GetName()] = (str(attribute.GetTypeName()), plain(attribute.Get()), sources)
        for relationship in prim.GetRelationships():
            said[relationship.GetName()] = [str(t) for t in relationship.GetTargets()]
    meta = ("metersPerUnit", "kilogramsPerUnit", "upAxis", "timeCodesPerSecond", "defaultPrim")
    out["/"] = {name: stage.GetMetadata(name) for name in meta}
    return out


def test_it_is_the_same_robot(converted, package):
    loose, packed = composed(converted.entry), composed(package)
    assert len(packed) > 1
    assert packed.keys() == loose.keys()
    for path, said in loose.items():
        assert packed[path] == said, path


def test_openusds_rules(package):
    stage = Usd.Stage.Open(str(package))
    registry = UsdValidation.ValidationRegistry()
    validators = registry.GetOrLoadAllValidators()
    assert any("UsdzPackage" in v.GetMetadata().name for v in validators), "OpenUSD no longer has rules for packages"
    assert [f"{e.GetName()}: {e.GetMessage()}" for e in UsdValidation.ValidationContext(validators).Validate(stage)] == []
    layers, assets, unresolved = UsdUtils.ComputeAllDependencies(str(package))
    assert unresolved == [], unresolved
    outside = [name for name in [*(layer.identifier for layer in layers), *map(str, assets)] if str(package) not in name]
    assert outside == [], "the package has external dependencies"


def test_old_openusds_rules(package):
    checked, opened = (in_old_usd(script, package) for script in ("check_package_in_old_usd", "open_in_old_usd"))
    assert checked == {"version": [0, 24, 5], "errors": [], "failed": [], "warnings": []}
    assert opened["errors"] == [] and opened["counts"]["prims"] > 1


def test_the_archive(converted, package):
    data = package.read_bytes()
    archive = zipfile.ZipFile(package)
    names = archive.namelist()
    assert archive.testzip() is None and len(set(names)) == len(names)
    assert names[0] == converted.entry.name, "the first file must be the entry"
    layers = [f["path"] for f in converted.report["files"] if not f["path"].endswith(".glb")]
    assert sorted(names) == sorted(layers), "the package must contain exactly the files of the asset"
    for entry in archive.infolist():
        assert entry.compress_type == zipfile.ZIP_STORED and entry.flag_bits & ~0x800 == 0, entry
        assert entry.date_time == (1980, 1, 1, 0, 0, 0)
        name_length, extra_length = struct.unpack_from("<HH", data, entry.header_offset + 26)
        begin = entry.header_offset + 30 + name_length + extra_length
        assert begin % 64 == 0, entry.filename
        expected = (converted.directory / entry.filename).read_bytes()
        assert data[begin : begin + entry.file_size] == expected, entry.filename


def test_the_same_input_gives_the_same_bytes(tmp_path, packed):
    once = packed("sample_rover")
    again = convert(source("sample_rover"), tmp_path, "--formats", "usdz,glb,usd", "--overlays", "newton,openpbr", "--simready")
    name = f"{once.asset_name}.usdz"
    assert (again.directory / name).read_bytes() == (once.directory / name).read_bytes()
    assert [f["path"] for f in once.report["files"]] == [name], "only the package was requested"
    assert hashlib.sha256((again.directory / name).read_bytes()).hexdigest() in [f["sha256"] for f in again.report["files"]]


@pytest.mark.parametrize("name", ["größe 机器人 №1", "a b  c", "x" * 300, "α.β[γ]@δ'%20#1"])
def test_any_name(name, tmp_path):
    escaped = name.replace("'", "&apos;")
    (tmp_path / "robot.urdf").write_text(
        f"<robot name='{escaped}'><link name='a'><visual><geometry><box size='1 2 3'/></geometry></visual></link></robot>"
    )
    done = run("convert", tmp_path / "robot.urdf", "-o", tmp_path / "out", "--formats", "usd,usdz")
    assert done.returncode == 0, done.stderr
    (report,) = (tmp_path / "out").glob("*/report.json")
    entry, package = (report.parent / f"{report.parent.name}.{ending}" for ending in ("usda", "usdz"))
    loose, packed = composed(entry), composed(package)
    assert packed == loose and len(packed) > 3
