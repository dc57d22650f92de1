"""Costs of conversions: deep, large, repetitive or endless robots take resources in proportion to their size, or are rejected quickly.

The tests compare sizes of outputs, not times: sizes do not depend on the machine, and quadratic sizes imply quadratic times.
"""

import json
import os
import resource
import stat
import subprocess
import sys
import zlib

import pytest
from pxr import Usd, UsdPhysics

import conftest
from conftest import run
from hills import hills

MASS = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
SHAPES = "<visual><geometry><box size='1 1 1'/></geometry></visual><collision><geometry><box size='1 1 1'/></geometry></collision>"
LIMIT = "<axis xyz='0 0 1'/><limit lower='-1' upper='1' effort='1' velocity='1'/>"

#: Maximum depth of nested link prims.
NESTED = 64


def robot(*parts):
    return "<robot name='r'>" + "\n".join(parts) + "</robot>"


def joint(name, parent, child, kind="revolute", inside=LIMIT):
    return f"<joint name='{name}' type='{kind}'><parent link='{parent}'/><child link='{child}'/>{inside}</joint>"


def tree(n, parent):
    """Returns links, each with a joint to the link that `parent` returns."""
    links = (f"<link name='l{i}'>{MASS}{SHAPES}</link>" for i in range(n))
    return robot(*links, *(joint(f"j{i}", f"l{parent(i)}", f"l{i}") for i in range(1, n)))


def chain(n):
    return tree(n, lambda i: i - 1)


def star(n):
    return tree(n, lambda i: 0)


def frames(n):
    """Returns nested links that are only frames."""
    links = (f"<link name='l{i}'/>{joint(f'j{i}', f'l{i - 1}', f'l{i}', 'fixed', '')}" for i in range(1, n))
    return robot(f"<link name='l0'>{MASS}</link>", *links)


def duplicates(n):
    return robot(*("<link name='a'/>" for _ in range(n)))


def followers(n):
    """Returns a chain of mimic joints."""
    links = (f"<link name='l{i}'>{MASS}</link>" for i in range(n))
    follow = (LIMIT + (f"<mimic joint='j{i - 1}'/>" if i > 1 else "") for i in range(1, n))
    return robot(*links, *(joint(f"j{i}", "l0", f"l{i}", "revolute", inside) for i, inside in enumerate(follow, 1)))


def looks(n):
    """Returns visuals with different materials."""
    shape = "<visual><geometry><box size='1 1 {}'/></geometry><material name='m{}'><color rgba='{} 0 0 1'/></material></visual>"
    return robot("<link name='a'>", *(shape.format(i + 1, i, i / n) for i in range(n)), "</link>")


def contacts(n):
    return star(n).replace("</robot>", "".join(f"<gazebo reference='l{i}'><mu1>{0.1 + i / n:.6f}</mu1></gazebo>" for i in range(n)) + "</robot>")


def elements(n):
    return robot("<link name='a'/>", "<x y='z'/>" * n)


def convert(text, folder, *options, **more):
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "r.urdf"
    file.write_text(text, encoding="utf-8")
    return run("convert", file, "-o", folder / "out", "--no-cache", *options, timeout=60, **more)


def asset(folder):
    return folder / "out" / "r"


def written(folder):
    return sum(path.stat().st_size for path in asset(folder).iterdir())


def told(folder):
    return {d["code"] for d in json.loads((asset(folder) / "report.json").read_text())["diagnostics"]}


#: Runs a command, and prints its peak memory in kilobytes. A separate process: a child of this one would inherit its peak.
MEASURED = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def test_memory_does_not_grow_with_the_meshes_of_a_robot(tmp_path):
    peaks = []
    for n in (100, 300):
        folder = tmp_path / str(n)
        folder.mkdir()
        for i in range(n):
            hills(folder / f"{i}.stl", 70, i)
        shape = "<visual><geometry><mesh filename='{}.stl' scale='0.1 0.1 0.1'/></geometry></visual>"
        (folder / "r.urdf").write_text(robot("<link name='a'>", *map(shape.format, range(n)), "</link>"))
        command = [conftest.program(), "convert", folder / "r.urdf", "-o", folder / "out", "--no-cache", "--tiers", "high", "-q"]
        done = subprocess.run([sys.executable, "-IS", "-c", MEASURED, *command], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
        counts = json.loads((asset(folder) / "report.json").read_text())["counts"]
        assert counts["meshes"] == n and counts["triangles"] == n * 2 * 70 * 70
        assert written(folder) > n * 200_000
    # In memory, each triangle takes 60 bytes.
    assert peaks[1] < peaks[0] + 30, peaks


@pytest.mark.parametrize("kind", [chain, star, frames, duplicates, followers, looks, contacts, elements], ids=lambda kind: kind.__name__)
def test_output_grows_linearly_with_input(kind, tmp_path):
    sizes = []
    for n in (80, 160, 320):
        done = convert(kind(n), tmp_path / str(n))
        # Duplicate links are errors, and so are too long chains of mimic joints.
        assert done.returncode == int(kind in (duplicates, followers)), done.stderr
        sizes.append(written(tmp_path / str(n)))
    # Names grow by a digit; quadratic growth would be a factor of four.
    assert sizes[2] < 2.3 * sizes[1] and sizes[1] < 2.3 * sizes[0], sizes


def test_a_deep_robot_is_flat_and_a_normal_one_nested(tmp_path):
    stages = {}
    for n in (NESTED, NESTED + 1, 400):
        done = convert(chain(n), tmp_path / str(n))
        assert done.returncode == 0, done.stderr
        assert ("usd-bodies-flat" in told(tmp_path / str(n))) == (n > NESTED)
        stages[n] = Usd.Stage.Open(str(asset(tmp_path / str(n)) / "r.usda"))
        bodies = [prim for prim in stages[n].Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
        assert len(bodies) == n
        assert max(prim.GetPath().pathElementCount for prim in bodies) == (n + 1 if n <= NESTED else 2)
        joints = [prim for prim in stages[n].Traverse() if prim.IsA(UsdPhysics.RevoluteJoint)]
        assert len(joints) == n - 1
    done = run("inspect", asset(tmp_path / "400"), "--json")
    assert done.returncode == 0 and len(json.loads(done.stdout)["links"]) == 400


def test_deep_frames_are_in_their_body(tmp_path):
    done = convert(frames(200), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "usd-frames-flat" in told(tmp_path)
    stage = Usd.Stage.Open(str(asset(tmp_path) / "r.usda"))
    assert max(prim.GetPath().pathElementCount for prim in stage.Traverse()) == 3


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (robot("<link name='a'/>" * 10_001), "10000 links"),
        (robot(*(f"<link name='{i}'/>" for i in range(100_000))), "10000 links"),
        (robot("<link name='a'/><link name='b'/>", "<joint name='j' type='fixed'/>" * 20_001), "20000 joints"),
        (robot(f"<link name='{'a' * 2000}'/>"), "1000 bytes"),
    ],
    ids=["duplicates", "links", "joints", "name"],
)
def test_beyond_the_bounds(text, what, tmp_path):
    done = convert(text, tmp_path)
    assert done.returncode == 1 and "urdf-too-many" in done.stderr and what in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()


def test_a_time_limit(tmp_path):
    done = convert(chain(1000), tmp_path, "--time-limit", "0.001")
    assert done.returncode == 1 and "convert-timed-out" in done.stderr and "--time-limit" in done.stderr, done.stderr
    assert not (tmp_path / "out").exists()
    assert convert(chain(3), tmp_path, "--time-limit", "3600").returncode == 0
    assert convert(chain(3), tmp_path, "--time-limit", "0").returncode == 0, "0 means no limit, as for the parameter"
    for wrong in ("-1", "nan", "soon", "86401"):
        assert convert(chain(3), tmp_path, f"--time-limit={wrong}").returncode == 2, wrong


# -------------------------------------------------------------------------------------------------------- endless input


@pytest.mark.parametrize("what", ["/dev/zero", "pipe", "folder"])
@pytest.mark.parametrize("command", ["convert", "inspect", "check"])
def test_special_files_are_rejected_at_once(command, what, tmp_path):
    # With the expected extension, so that the name is not the reason.
    source = tmp_path / {"convert": "r.urdf", "inspect": "r.usda", "check": "r.glb"}[command]
    if what == "pipe":
        os.mkfifo(source)
    elif what == "folder":
        source.mkdir()
    else:
        source.symlink_to(what)
    options = ["-o", tmp_path / "out"] if command == "convert" else []
    done = run(command, source, *options, timeout=20)
    assert done.returncode == 1 and done.stderr and "panicked" not in done.stderr, done.stderr


def test_standard_input_has_an_end():
    with open("/dev/zero") as zero:
        done = run("convert", "-", stdin=zero, timeout=60)
    assert done.returncode == 1 and "64 MiB" in done.stderr, done.stderr


def test_a_report_that_is_a_pipe_is_replaced(tmp_path):
    asset(tmp_path).mkdir(parents=True)
    os.mkfifo(asset(tmp_path) / "report.json")
    assert convert(chain(2), tmp_path).returncode == 0
    assert stat.S_ISREG((asset(tmp_path) / "report.json").stat().st_mode)


# ------------------------------------------------------------------------------------------------------------------ images


def png(path, width, height, color=6):
    """Writes an image of one colour, whose file is tiny."""
    channels = {0: 1, 2: 3, 6: 4}[color]
    packer = zlib.compressobj(1)
    row = b"\0" + b"\xff" * (width * channels)
    data = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()

    def chunk(kind, content):
        return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, color, 0, 0, 0])
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def test_the_total_number_of_pixels_is_bounded(tmp_path):
    names = []
    for i in range(6):
        # All different, so that they are not merged; grey, so that nothing has to be decoded.
        png(tmp_path / f"{i}.png", 8192 - i, 8192, color=0)
        names.append(f"{i}.png")
    square = tmp_path / "square.obj"
    square.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n")
    shape = "<visual><geometry><mesh filename='square.obj'/></geometry><material name='{0}'><texture filename='{0}'/></material></visual>"
    done = convert(robot("<link name='a'>", *(shape.format(name) for name in names), "</link>"), tmp_path)
    assert done.returncode == 0, done.stderr
    found = [d for d in json.loads((asset(tmp_path) / "report.json").read_text())["diagnostics"] if d["code"] == "texture-too-many-pixels"]
    assert len(found) == 2 and all(any(name in d["message"] for name in names[4:]) for d in found), found
    kept = {path.read_bytes() for path in (asset(tmp_path) / "textures").iterdir()}
    assert kept == {(tmp_path / name).read_bytes() for name in names[:4]}
    # Images of that size are copied unscaled: scaling one takes a gigabyte.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert (asset(tmp_path) / "r.glb").stat().st_size > sum(len(image) for image in kept)
    assert peak < 4 << 20, "peak memory in kilobytes of all child processes so far"


# ---------------------------------------------------------------------------------------------------------------- terminals


def test_a_finding_in_a_long_line_is_shown_with_its_context(tmp_path):
    text = robot(f"<link name='a'><!--{'x' * 70_000}--></link>", "<link name='a'/>").replace("\n", "")
    done = convert(text, tmp_path)
    assert done.returncode == 1 and "panicked" not in done.stderr, done.stderr
    assert "urdf-duplicate-link" in done.stderr and ":1:70" in done.stderr
    assert max(map(len, done.stderr.splitlines())) < 400, "an excerpt is a window"


def acting(text):
    """Returns the control characters of a text."""
    return {c for c in text if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u2028\u2029\u202e\u2066")}


def test_nothing_from_input_acts_on_the_terminal(tmp_path):
    name, meant = "r\u202e\u2066&#10;x\u009b2J", "r\u202e\u2066\nx\u009b2J"
    text = robot(f"<link name='{name}'/>", f"<link name='{name}'/><!-- \u202e -->").replace("name='r'", f"name='{name}'")
    done = convert(text, tmp_path)
    assert done.returncode == 1 and not acting(done.stderr), ascii(done.stderr)
    assert "urdf-duplicate-link" in done.stderr and "\\u{202e}" in done.stderr and "\\n" in done.stderr
    done = convert(text, tmp_path, "--json")
    assert not acting(done.stdout) and json.loads(done.stdout)["robot"] == meant, ascii(done.stdout)
    done = run("inspect", next((tmp_path / "out").glob("*/*.glb")))
    assert done.returncode == 0 and not acting(done.stdout) and "\\u{202e}" in done.stdout, ascii(done.stdout)
    # Text that is not XML is shown too.
    done = convert(robot("<link name='a'/>", "\x1b[31m\u202e<"), tmp_path)
    assert done.returncode == 1 and not acting(done.stderr), ascii(done.stderr)
