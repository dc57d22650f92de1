"""The interface to terminals, scripts and CI: exit codes, grouped findings, colours, progress, completions, manual pages."""

import json
import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

import conftest
from conftest import run

ARM = conftest.SAMPLES / "sample_arm"
URDF = ARM / "urdf" / "sample_arm.urdf"
PACKAGE = f"sample_arm={ARM}"
LINK = '<link name="{0}"><visual><geometry><mesh filename="package://nowhere/{0}.stl"/></geometry></visual></link>'
JOINT = '<joint name="to_{0}" type="continuous"><parent link="base"/><child link="{0}"/></joint>'


def robot(tmp_path, links=8):
    """Returns a robot whose links have no mass, and whose meshes are in a missing package."""
    names = [f"l{i}" for i in range(links)]
    file = tmp_path / "robot.urdf"
    file.write_text('<robot name="r">\n<link name="base"/>\n' + "\n".join([*map(LINK.format, names), *map(JOINT.format, names)]) + "\n</robot>\n")
    return file


def on_terminal(*arguments, **environment):
    """Runs a command on a terminal, and returns its output and exit code."""
    ours, theirs = pty.openpty()
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "CLICOLOR_FORCE", "CLICOLOR", "CI")}
    process = subprocess.Popen([conftest.program(), *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs, env=inherited | {"TERM": "xterm-256color"} | environment)
    os.close(theirs)
    text, end = b"", time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                text += os.read(ours, 65536)
            except OSError:
                break
    os.close(ours)
    return text.decode(), process.wait(timeout=60)


# ----------------------------------------------------------------------------------------------------------- exit codes


def test_errors_exit_with_1_and_write_the_asset(tmp_path):
    done = run("convert", robot(tmp_path), "-o", tmp_path / "out", "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert report["status"] == "errors" == json.loads((tmp_path / "out/r/report.json").read_text())["status"]
    assert (tmp_path / "out/r/r.usda").is_file() and (tmp_path / "out/r/r.glb").is_file()
    assert done.stderr.splitlines()[-1] == "converted with 8 errors, 9 warnings"
    # The same for a recalled conversion.
    assert run("convert", tmp_path / "robot.urdf", "-o", tmp_path / "out").returncode == 1


def test_warnings_exit_with_0_unless_they_are_denied(tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text('<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>')
    done = run("convert", file, "-o", tmp_path / "out", "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "warnings")
    assert re.fullmatch(r"converted with \d warnings?", done.stderr.splitlines()[-1])
    strict = run("convert", file, "-o", tmp_path / "strict", "--strict", "--json")
    assert strict.returncode == 1 and not (tmp_path / "strict").exists()
    assert json.loads(strict.stdout)["status"] == "failed"
    assert re.fullmatch(r"not converted \(--strict, \d warnings?\): nothing was written", strict.stderr.splitlines()[-1])


def test_a_valid_robot_exits_with_0(tmp_path):
    done = run("convert", URDF, "-o", tmp_path, "--package", PACKAGE, "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "ok")


# ------------------------------------------------------------------------------------------------------------- findings


def test_a_missing_package_is_reported_once_with_its_files(tmp_path):
    done = run("convert", robot(tmp_path), "-o", tmp_path / "out")
    assert done.stderr.count("resolve-unknown-package") == 1 and "resolve-unknown-package ×8" in done.stderr
    assert "7 more: l1.stl, l2.stl" in re.sub(r"\s+", " ", done.stderr)
    assert done.stderr.count("link-without-mass") == 1
    # Errors are last, above the prompt.
    assert done.stderr.index("link-without-mass") < done.stderr.index("resolve-unknown-package")
    assert len(done.stderr.splitlines()) < 40, done.stderr


def test_all_findings_or_errors_only(tmp_path):
    file = robot(tmp_path)
    every = run("convert", file, "-o", tmp_path / "out", "-v").stderr
    assert every.count("resolve-unknown-package") == 8 and every.count("link-without-mass") == 9
    quiet = run("convert", file, "-o", tmp_path / "out", "-q")
    assert "link-without-mass" not in quiet.stderr and "wrote" not in quiet.stderr and "resolve-unknown-package ×8" in quiet.stderr
    sound = run("--quiet", "convert", URDF, "-o", tmp_path / "out", "--package", PACKAGE)
    assert (sound.returncode, sound.stdout, sound.stderr) == (0, "", "")
    assert run("convert", file, "-q", "-v").returncode == 2


def test_findings_in_standard_input_have_an_excerpt(tmp_path):
    text = "<robot name='x'>\n  <link name='a'>\n    <visual>\n  </link>\n</robot>"
    done = run("convert", "-", "-o", tmp_path, "--json", input=text)
    assert done.returncode == 1 and "[<stdin>:3:5]" in done.stderr and "<visual>" in done.stderr and str(tmp_path) not in done.stderr
    (found,) = json.loads(done.stdout)["diagnostics"]
    assert found["where"] == {"file": "<stdin>", "line": 3, "column": 5}


def test_a_message_names_a_path_once(tmp_path):
    done = run("convert", tmp_path / "gone.urdf")
    assert done.returncode == 1 and done.stderr.count("gone.urdf") == 1, done.stderr


def test_a_misspelt_joint_type_is_reported_with_other_faults(tmp_path):
    file = tmp_path / "robot.urdf"
    file.write_text("<robot name='x'><link name='a'/>\n<joint name='j' type='revolut'><parent link='a'/><child link='b'/></joint></robot>")
    done = run("convert", file, "-o", tmp_path / "out", "--json")
    assert done.returncode == 1
    found = {d["code"]: d["help"] for d in json.loads(done.stdout)["diagnostics"] if d["severity"] == "error"}
    assert set(found) == {"urdf-unknown-link", "urdf-unknown-joint-type"}
    assert found["urdf-unknown-joint-type"] == 'did you mean "revolute"?'


def test_a_gltf_without_its_buffer_is_reported(tmp_path):
    made = conftest.convert(conftest.source("sample_arm"), tmp_path / "made", "--formats", "gltf")
    shutil.copytree(made.directory, tmp_path / "mesh")
    (tmp_path / "mesh" / "sample_arm.bin").unlink()
    file = tmp_path / "robot.urdf"
    file.write_text("<robot name='r'><link name='a'><visual><geometry><mesh filename='mesh/sample_arm.gltf'/></geometry></visual></link></robot>")
    done = run("convert", file, "-o", tmp_path / "out", "--json")
    (found,) = [d for d in json.loads(done.stdout)["diagnostics"] if d["severity"] == "error"]
    assert done.returncode == 1 and found["code"] == "mesh-buffer-missing"
    assert "sample_arm.bin" in found["message"] and "no triangle" not in found["message"]


# -------------------------------------------------------------------------------------------------- colours and options


@pytest.mark.parametrize(
    ("options", "environment", "is_coloured"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"TERM": "dumb"}, False),
        (("--color", "never"), {}, False),
        (("--color=always",), {"NO_COLOR": "1"}, True),
    ],
)
def test_colours_on_a_terminal(options, environment, is_coloured, tmp_path):
    shown, code = on_terminal("convert", robot(tmp_path), "-o", tmp_path / "out", *options, **environment)
    assert code == 1 and "converted with 8 errors" in shown
    # Only the progress bar uses other control sequences; a short conversion has none.
    assert ("\x1b[" in shown) == is_coloured, shown
    if is_coloured:
        assert "\x1b[1m\x1b[31mconverted with 8 errors, 9 warnings\x1b[0m" in shown
    wrong, code = on_terminal("convert", *options, **environment)
    assert code == 2 and ("\x1b[" in wrong) == is_coloured, wrong


def test_colours_elsewhere(tmp_path):
    file = robot(tmp_path)
    plain = run("convert", file, "-o", tmp_path / "out").stderr
    assert "\x1b" not in plain
    assert "\x1b[" in run("convert", file, "-o", tmp_path / "out", "--color", "always").stderr
    assert "\x1b[" in run("convert", file, "-o", tmp_path / "out", env=os.environ | {"CLICOLOR_FORCE": "1"}).stderr
    assert run("convert", file, "--color", "pink").returncode == 2


@pytest.mark.parametrize(("program", "arguments"), [("urdf_usd", []), ("bridge", ["bridge"])])
def test_the_version_names_the_features_and_the_ros_client(program, arguments):
    short, long = run(*arguments, "-V").stdout, run(*arguments, "--version").stdout
    assert re.fullmatch(rf"{program} \d+\.\d+\.\d+\n", short)
    assert long.startswith(short.strip()) and re.search(r"\n3D viewer: (yes|no).*\noutput formats: usd, glb.*\nROS networks: .+\nROS client: (embedded|rclrs|r2r)\n$", long), long


def test_completions(tmp_path):
    for shell in ("bash", "zsh", "fish", "elvish", "powershell"):
        done = run("completions", shell)
        assert done.returncode == 0 and "convert" in done.stdout and not done.stderr
    script = tmp_path / "completions.bash"
    script.write_text(run("completions", "bash").stdout)
    ask = f'. {script}; COMP_WORDS=(urdf_usd con); COMP_CWORD=1; _urdf_usd urdf_usd con urdf_usd; echo "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "--norc", "-c", ask], capture_output=True, text=True)
    assert done.stdout.split() == ["convert"], done.stderr
    # The names of a list.
    for option, names in (("--formats", {"usd", "mjcf"}), ("--overlays", {"isaac"})):
        ask = f'. {script}; COMP_WORDS=(urdf_usd convert {option} ""); COMP_CWORD=3; _urdf_usd urdf_usd "" {option}; echo "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "--norc", "-c", ask], capture_output=True, text=True)
        assert names <= set(done.stdout.split()), done.stdout + done.stderr


def test_help_has_headings_and_examples():
    text = run("convert", "--help").stdout
    headings = re.findall(r"^([A-Z]\w+):$", text, re.MULTILINE)
    assert headings == ["Arguments", "Options", "Input", "Packages", "Output", "Physics", "Appearance", "Global", "Examples"], headings
    for command in ("convert", "inspect", "check", "ik", "view", "isaac populate", "pose store"):
        examples = run(*command.split(), "--help").stdout.partition("Examples:\n")[2]
        assert len([line for line in examples.splitlines() if f"urdf_usd {command} " in line]) == 2, command
    text = run("bridge", "--help").stdout
    parameters = json.loads((conftest.ROOT / "config" / "parameters.json").read_text())
    assert all(f"  {name}: " in text for name in (parameter["name"] for parameter in parameters)) and '  http.port: "8642"' in text, text


def test_manual_pages(tmp_path):
    page = run("man").stdout
    assert page.startswith(".ie") or ".TH" in page
    assert run("man", "-o", tmp_path / "man").returncode == 0
    pages = {p.name for p in (tmp_path / "man").iterdir()}
    assert {"urdf_usd.1", "urdf_usd-convert.1", "urdf_usd-view.1"} <= pages
    assert r"\-\-formats" in (tmp_path / "man" / "urdf_usd-convert.1").read_text()
    if shutil.which("man"):
        done = subprocess.run(["man", "--warnings", "-l", tmp_path / "man" / "urdf_usd-convert.1"], capture_output=True, text=True)
        assert done.returncode == 0 and "formats" in done.stdout, done.stderr


# ------------------------------------------------------------------------------------------------------------- progress


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """Returns a robot whose mesh takes several seconds."""
    import numpy as np

    folder = tmp_path_factory.mktemp("slow")
    n = 550
    u, v = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    z = 0.1 * np.sin(20 * u) * np.cos(17 * v) + 0.01 * np.sin(300 * u * v)
    lines = [f"v {a:.5f} {b:.5f} {c:.5f}" for a, b, c in zip(u.flat, v.flat, z.flat)]
    at = lambda i, j: i * n + j + 1
    lines += [f"f {at(i, j)} {at(i, j + 1)} {at(i + 1, j + 1)} {at(i + 1, j)}" for i in range(n - 1) for j in range(n - 1)]
    (folder / "terrain.obj").write_text("\n".join(lines))
    (folder / "robot.urdf").write_text("<robot name='r'><link name='a'><visual><geometry><mesh filename='terrain.obj'/></geometry></visual></link></robot>")
    return folder / "robot.urdf"


def test_the_progress_bar_moves_and_names_the_step(slow, tmp_path):
    shown, code = on_terminal("convert", slow, "-o", tmp_path / "out", "--no-cache")
    assert code == 0
    assert "terrain.obj" in shown and "simplifying meshes" in shown
    # It ticks during a long step: the same step is drawn with several states of the spinner.
    spinners = {line.strip()[:1] for line in re.findall(r"[^\r\n]*simplifying meshes", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", shown))}
    assert len(spinners) > 3, spinners
    assert re.search(r"wrote .*MB in \d+\.\d\d s", shown), "the total time is printed at the end"


def test_progress_lines_without_a_terminal(slow, tmp_path):
    done = run("convert", slow, "-o", tmp_path / "out", "--no-cache")
    took = float(re.search(r"MB in (\d+\.\d\d) s", done.stderr)[1])
    lines = re.findall(r"^[a-z ]+(?:: \d+ % )?.*, (\d+) s$", done.stderr, re.M)
    # One every five seconds; the last may coincide with the end.
    assert done.returncode == 0 and (took - 1) // 5 <= len(lines) <= took // 5 and "\r" not in done.stderr, done.stderr
    assert run("convert", slow, "-o", tmp_path / "out", "--no-cache", "-q").stderr == ""
