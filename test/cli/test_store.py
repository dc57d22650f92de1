"""The cache between conversions: it changes durations only, not results."""

import json
import os
import re
import resource
import shutil
import subprocess
import time

import pytest

import conftest
from conftest import CORNER_ROBOTS, REAL_ROBOTS, SAMPLE_ROBOTS, convert, marks_of, program, run, source

OLD = 1_000_000_000

#: A file that changed less than two seconds before a conversion may change again without showing it, so the conversion is not recalled.
SETTLED = 2.1


def is_recalled(report):
    """Returns whether the whole conversion was recalled."""
    return report["timings_ms"]["read"] == report["timings_ms"]["write"] == 0


def contents(asset):
    """Returns every file of an asset except the report, which has times."""
    paths = [p for p in sorted(asset.rglob("*")) if p.is_file() and p.name != "report.json"]
    return {str(p.relative_to(asset)): p.read_bytes() for p in paths}


def entries(cache):
    # Without the signing key.
    return sorted(p for p in cache.rglob("*") if p.is_file() and p.name != "key")


def findings(report):
    return [(d["code"], d["message"], d["where"], d.get("help")) for d in report["diagnostics"]]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "urdf_usd"


@pytest.mark.parametrize("name", [pytest.param(n, marks=marks_of(n)) for n in (*SAMPLE_ROBOTS, *CORNER_ROBOTS, *REAL_ROBOTS)])
def test_the_store_changes_nothing(name, cache, tmp_path):
    without = convert(source(name), tmp_path / "without", "--no-cache", "--formats", "usd,glb,usdz")
    assert not cache.exists()
    cold = convert(source(name), tmp_path / "cold", "--formats", "usd,glb,usdz")
    warm = convert(source(name), tmp_path / "warm", "--formats", "usd,glb,usdz")
    assert entries(cache)
    for other in (cold, warm):
        assert contents(other.directory) == contents(without.directory)
        assert findings(other.report) == findings(without.report)
        for key in ("counts", "files", "source", "robot", "revision"):
            assert other.report[key] == without.report[key]


def copy_of(name, to):
    """Copies a sample robot, with old modification times."""
    folder = to / name
    shutil.copytree(conftest.SAMPLES / name, folder)
    for path in folder.rglob("*"):
        os.utime(path, (OLD, OLD))
    return folder


def converted(folder, output, *options):
    done = run("convert", folder / "urdf" / f"{folder.name}.urdf", "--package", f"{folder.name}={folder}", "-o", output, *options)
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_nothing_changed(cache, tmp_path):
    folder, output = copy_of("sample_arm", tmp_path), tmp_path / "out"
    time.sleep(SETTLED)
    assert "wrote" in converted(folder, output)
    before = contents(output / "sample_arm")
    again = converted(folder, output)
    assert "up to date" in again and re.search(r"in 0\.0\d s", again)
    # The same findings as before, and the same JSON report.
    reports = [json.loads(run("convert", folder / "urdf/sample_arm.urdf", "--package", f"sample_arm={folder}", "-o", output, "--json", *o).stdout) for o in ((), ("--no-cache",))]
    assert findings(reports[0]) == findings(reports[1]) and reports[0]["files"] == reports[1]["files"]
    assert is_recalled(reports[0]) and not is_recalled(reports[1])
    # Changes of the asset by others are detected.
    (output / "sample_arm" / "base.usda").write_text("#usda 1.0\n")
    (output / "sample_arm" / "physics.usda").unlink()
    assert "wrote" in converted(folder, output)
    assert contents(output / "sample_arm") == before


@pytest.mark.parametrize("pattern", ["*.urdf", "*.stl", "*.obj", "*.mtl", "*.png"])
def test_a_changed_file_is_detected(cache, tmp_path, pattern):
    """Also a file with the same size and time, as after `cp -p`."""
    folder, output = copy_of("sample_arm", tmp_path), tmp_path / "out"
    time.sleep(SETTLED)
    converted(folder, output)
    assert "up to date" in converted(folder, output)
    path = min(folder.rglob(pattern))
    data = path.read_bytes()
    if path.suffix == ".png":
        new = data + b"\0"  # which does not change the image, only the file
    else:
        digits = [m.start() for m in re.finditer(rb"(?<=\.)[1-8](?=\d)", data)] or [len(data) - 40]
        at = digits[len(digits) // 2]
        new = data[:at] + (b"9" if data[at : at + 1] != b"9" else b"8") + data[at + 1 :]
    path.write_bytes(new)
    os.utime(path, (OLD, OLD))
    fresh = tmp_path / "fresh"
    converted(folder, output)
    converted(folder, fresh, "--no-cache")
    assert contents(output / "sample_arm") == contents(fresh / "sample_arm")


TRIANGLE = "solid\nfacet vertex 0 0 0 vertex 1 0 0 vertex 0 1 0 endfacet\nendsolid\n"


def small(tmp_path, mesh, *options):
    """Converts a robot with one mesh, and returns the report."""
    urdf = tmp_path / "small.urdf"
    if not urdf.exists():
        urdf.write_text(f'<robot name="small"><link name="a"><visual><geometry><mesh filename="{mesh}"/></geometry></visual></link></robot>')
        time.sleep(SETTLED)
    return json.loads(run("convert", urdf, "-o", tmp_path / "out", "--json", *options).stdout)


def test_a_link_before_two_dots(cache, tmp_path):
    """`link/..` is resolved like in the file system: relative to the target of the link."""
    for name, size in (("A", 1), ("B", 2)):
        (tmp_path / name / "x").mkdir(parents=True)
        (tmp_path / name / "a.stl").write_text(TRIANGLE.replace("1 0 0", f"{size} 0 0"))
    (tmp_path / "ln").symlink_to(tmp_path / "A" / "x")
    assert is_recalled(small(tmp_path, "ln/../a.stl")) is False
    assert is_recalled(small(tmp_path, "ln/../a.stl"))
    first = contents(tmp_path / "out" / "small")
    (tmp_path / "ln").unlink()
    (tmp_path / "ln").symlink_to(tmp_path / "B" / "x")
    small(tmp_path, "ln/../a.stl")
    assert contents(tmp_path / "out" / "small")["geometries.usdc"] != first["geometries.usdc"]
    (tmp_path / "B" / "a.stl").rename(tmp_path / "B" / "b.stl")
    assert small(tmp_path, "ln/../a.stl")["counts"]["meshes"] == 0
    (tmp_path / "B" / "b.stl").rename(tmp_path / "B" / "a.stl")
    assert small(tmp_path, "ln/../a.stl")["counts"]["meshes"] == 1


def test_a_package_that_appears_later(cache, tmp_path, monkeypatch):
    """A package that is added to the ament index after the first conversion."""
    prefix = tmp_path / "prefix"
    (prefix / "share" / "foo").mkdir(parents=True)
    (prefix / "share" / "foo" / "m.stl").write_text(TRIANGLE)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(prefix))
    robot = tmp_path / "robot"
    robot.mkdir()
    uri = f"file://{prefix}/share/foo/m.stl"
    assert [d["code"] for d in small(robot, uri)["diagnostics"] if d["severity"] == "error"] == ["resolve-not-allowed"]
    marker = prefix / "share" / "ament_index" / "resource_index" / "packages" / "foo"
    marker.parent.mkdir(parents=True)
    marker.write_text("")
    assert small(robot, uri)["counts"]["meshes"] == 1


def test_a_file_replaced_meanwhile(cache, tmp_path):
    """Replaces a file by one with an old time during the conversion: its result is not recalled for the new file."""
    (tmp_path / "a.stl").write_text(TRIANGLE)
    os.utime(tmp_path / "a.stl", (OLD, OLD))
    small(tmp_path, "a.stl")
    for i in range(20):
        (tmp_path / "next.stl").write_text(TRIANGLE.replace("1 0 0", f"{i + 2} 0 0"))
        os.utime(tmp_path / "next.stl", (OLD, OLD))
        process = subprocess.Popen([program(), "convert", tmp_path / "small.urdf", "-o", tmp_path / "out", "--bodies", ("flat", "nested")[i % 2]], stderr=subprocess.DEVNULL)
        time.sleep(0.002 * (i % 8))
        (tmp_path / "next.stl").rename(tmp_path / "a.stl")
        process.wait(60)
        small(tmp_path, "a.stl", "--bodies", ("flat", "nested")[i % 2])
        warm = contents(tmp_path / "out" / "small")
        small(tmp_path, "a.stl", "--bodies", ("flat", "nested")[i % 2], "--no-cache")
        assert contents(tmp_path / "out" / "small") == warm


def test_damaged_entries(cache, tmp_path):
    """Truncates, empties or flips a byte of each entry in turn: the result is the same as without the cache."""
    folder = copy_of("sample_arm", tmp_path)
    converted(folder, tmp_path / "plain", "--no-cache")
    plain = contents(tmp_path / "plain" / "sample_arm")
    converted(folder, tmp_path / "first")
    for how in (lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b[:40] + bytes([b[40] ^ 0xFF]) + b[41:] if len(b) > 41 else b"x"):
        for path in entries(cache):
            path.write_bytes(how(path.read_bytes()))
        output = tmp_path / f"spoilt_{len(list(tmp_path.iterdir()))}"
        converted(folder, output)
        assert contents(output / "sample_arm") == plain


def test_many_at_once(cache, tmp_path):
    folder = copy_of("sample_arm", tmp_path)
    command = [program(), "convert", folder / "urdf/sample_arm.urdf", "--package", f"sample_arm={folder}", "-o"]
    running = [subprocess.Popen([*command, tmp_path / f"out_{i % 4}"], stderr=subprocess.PIPE) for i in range(8)]
    for process in running:
        _, error = process.communicate(timeout=300)
        assert process.returncode == 0, error
    assert len({json.dumps({k: v.hex() for k, v in contents(tmp_path / f"out_{i}" / "sample_arm").items()}) for i in range(4)}) == 1
    # No partial files are left.
    assert all(re.fullmatch(r"[0-9a-f]{62}", path.name) for path in entries(cache))


def test_its_size_is_bounded(cache, tmp_path, monkeypatch):
    folder = copy_of("sample_arm", tmp_path)
    monkeypatch.setenv("URDF_USD_CACHE_MB", "1")
    for i, tiers in enumerate(("all", "high")):
        for name in SAMPLE_ROBOTS:
            convert(source(name), tmp_path / f"{name}_{i}", "--tiers", tiers, "--formats", "usd,glb,usdz")
    assert sum(p.stat().st_size for p in entries(cache)) <= 1 << 20
    monkeypatch.setenv("URDF_USD_CACHE_MB", "much")
    done = run("convert", folder / "urdf/sample_arm.urdf", "-o", tmp_path / "none")
    assert done.returncode == 2 and "URDF_USD_CACHE_MB" in done.stderr and "2048" in done.stderr
    monkeypatch.setenv("URDF_USD_CACHE_MB", "0")
    shutil.rmtree(cache)
    converted(folder, tmp_path / "none")
    assert not cache.exists()


def test_without_a_writable_cache(tmp_path, monkeypatch):
    """A file in place of the folder, or no home directory: slower, with the same result."""
    folder = copy_of("sample_arm", tmp_path)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert "wrote" in converted(folder, tmp_path / "a")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert "wrote" in converted(folder, tmp_path / "b")
    assert contents(tmp_path / "a" / "sample_arm") == contents(tmp_path / "b" / "sample_arm")


def test_no_bar_in_a_pipe(tmp_path):
    assert "\x1b" not in converted(copy_of("sample_arm", tmp_path), tmp_path / "out", "--no-cache")


def test_conversions_without_descriptors_are_not_recalled(cache, tmp_path):
    """The limit of open files differs between runs: after it was hit, the next conversion tries again."""
    robot, out = source("sample_arm"), tmp_path / "out"
    command = ["convert", robot.urdf, "-o", out, *robot.options, "--json"]
    hit = []
    # With fewer, the program cannot load its libraries.
    for limit in range(4, 30):
        done = run(*command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)))
        report = json.loads(done.stdout) if done.stdout.startswith("{") else {"diagnostics": []}
        codes = [found["code"] for found in report["diagnostics"]]
        # Every message of the system about the limit has the same error code.
        assert ("Too many open files" in done.stdout) <= ("resolve-too-many-open-files" in codes), done.stdout
        hit += [limit] * ("resolve-too-many-open-files" in codes)
        if report.get("status") == "ok":
            break
    assert hit
    again = json.loads(run(*command).stdout)
    assert again["status"] == "ok", again["diagnostics"]
