"""`convert`, `check`, `fix` and `inspect`: as the command, with data and exceptions."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from pxr import Usd, UsdPhysics

from conftest import PROGRAM, SAMPLES, scratch
from s3_server import BUCKET, environment, names, s3  # noqa: F401

LINK = "<robot name='{}'><link name='base'><visual><geometry><box size='1 2 3'/></geometry></visual></link></robot>"


def command(*arguments):
    """Runs the program, and returns what it prints as JSON."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    return json.loads(done.stdout)


def test_conversions_are_those_of_the_command(urdf_usd, arm):
    path, packages = arm
    out, theirs = scratch(), scratch()
    srdf = SAMPLES / "sample_arm" / "srdf" / "sample_arm.srdf"
    options = {
        "formats": ["usd", "glb", "mjcf", "urdf"], "overlays": "isaac,newton", "gltf_compression": "quantize", "merge_fixed": True,
        "keep_frames": ["grasp.*"], "convex_parts": 2, "sag": 0.02, "srdf_file": srdf, "pose": "home", "changelog": "made by a test",
    }  # fmt: skip
    result = urdf_usd.convert(path, out, **options, **packages)
    report = command(
        "convert", path, "-o", theirs, "--package", f"sample_arm={SAMPLES / 'sample_arm'}", "--json", "--no-cache",
        "--formats", "usd,glb,mjcf,urdf", "--overlays", "isaac,newton", "--gltf-compression", "quantize", "--merge-fixed",
        "--keep-frame", "grasp.*", "--convex-parts", "2", "--sag", "0.02", "--srdf-file", srdf, "--pose", "home", "--changelog", "made by a test",
    )  # fmt: skip
    assert result.report["files"] == report["files"] and result.report["options"] == report["options"]
    assert result.report["diagnostics"] == report["diagnostics"] and result.status == report["status"]
    assert [finding.code for finding in result.diagnostics] == [finding["code"] for finding in report["diagnostics"]]
    assert result.path == out / "sample_arm" / "sample_arm.usda" and result.directory == out / "sample_arm"
    assert {"sample_arm.isaac.usda", "sample_arm.glb", "sample_arm.xml", "sample_arm.urdf"} <= set(result.entries)
    stage = result.stage()
    assert stage.GetDefaultPrim().GetName() == "sample_arm" and sum(1 for _ in stage.Traverse()) > 20
    isaac = result.stage("sample_arm.isaac.usda")
    assert "IsaacRobotAPI" in isaac.GetDefaultPrim().GetPrimTypeInfo().GetAppliedAPISchemas()

    in_memory = urdf_usd.convert(path, **options, **packages)
    assert dict(in_memory.files) == dict(result.files) and in_memory.entries == result.entries
    assert in_memory.path is None and in_memory.directory is None
    stage = in_memory.stage()
    stages = (stage, result.stage())
    joints = [sum(prim.IsA(UsdPhysics.Joint) for prim in stage.Traverse()) for stage in stages]
    assert joints[0] == joints[1] > 5
    written = in_memory.write(scratch())
    assert (written.parent / "sample_arm.glb").read_bytes() == result.files["sample_arm.glb"]
    with pytest.raises(FileNotFoundError, match="none.usda"):
        result.stage("none.usda")
    # A second conversion adds formats to the asset, as the command does.
    again = urdf_usd.convert(path, out, formats="sdf", **packages)
    assert "sample_arm.sdf" in again.files and "sample_arm.glb" in again.files
    with pytest.raises(urdf_usd.Error, match="sample_arm"):
        urdf_usd.convert(LINK.format("sample_arm"), out)
    assert urdf_usd.convert(LINK.format("sample_arm"), out, replace=True).name == "sample_arm"


def test_sources_are_paths_text_and_bytes(urdf_usd, arm, monkeypatch):
    path, packages = arm
    # The program xacro.
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    text = path.read_text()
    inspections = [
        urdf_usd.inspect(source, **packages)
        for source in (str(path), path, text, text.encode(), "package://sample_arm/urdf/sample_arm.urdf", SAMPLES / "sample_arm")
    ]
    assert all(inspection.summary == inspections[0].summary for inspection in inspections)
    assert inspections[0].summary == command("inspect", path, "--json", "--package", f"sample_arm={SAMPLES / 'sample_arm'}")
    relative = text.replace("package://sample_arm/", "../")
    assert "../meshes" in relative
    result = urdf_usd.convert(relative, folder=path.parent)
    assert result.report["counts"]["meshes"] == urdf_usd.convert(path, **packages).report["counts"]["meshes"] > 0
    glb = urdf_usd.convert(path, formats="glb", **packages).files["sample_arm.glb"]
    assert urdf_usd.inspect(glb).summary["robots"][0]["name"] == "sample_arm"
    assert urdf_usd.Robot.load(glb).dof == 7
    usdz = urdf_usd.convert(path, formats="usdz", **packages).files["sample_arm.usdz"]
    assert urdf_usd.convert(usdz, formats="urdf").name == "sample_arm"
    xacro = scratch() / "box.urdf.xacro"
    xacro.write_text("<robot xmlns:xacro='http://www.ros.org/wiki/xacro' name='r'><xacro:arg name='size' default='1'/>"
                     "<link name='l$(arg size)'/></robot>")  # fmt: skip
    assert urdf_usd.Robot.load(xacro, xacro_args={"size": 3}).link_names == ("l3",)
    assert urdf_usd.Robot.load(xacro, xacro_args=["size:=4"]).link_names == ("l4",)
    assert urdf_usd.Robot.load(xacro, xacro_args="size:=5").link_names == ("l5",)


def test_failures_are_exceptions_with_findings(urdf_usd, arm):
    path, packages = arm
    with pytest.raises(urdf_usd.Error) as raised:
        urdf_usd.convert("none.urdf")
    assert not isinstance(raised.value, urdf_usd.OptionError) and raised.value.diagnostics[0].severity == "error"
    with pytest.raises(urdf_usd.Error) as raised:
        urdf_usd.convert("<robot name='r'>\n<link/></robot")
    assert raised.value.diagnostics[0].file is None and raised.value.diagnostics[0].line == 2
    assert str(raised.value).startswith("<text>:2:")
    # A missing mesh is no failure, unless it is asked to be one.
    lacking = LINK.format("r").replace("<box size='1 2 3'/>", "<mesh filename='none.stl'/>")
    result = urdf_usd.convert(lacking)
    assert result.status == "errors" and any("none.stl" in finding.message for finding in result.diagnostics)
    with pytest.raises(urdf_usd.Error):
        urdf_usd.convert(lacking, strict=True)
    for options, why in (
        ({"densty": 3}, 'did you mean "density"'), ({"density": -1}, "density: its range is 0.0"), ({"density": "much"}, "density: "),
        ({"formats": ["usd", "stl"]}, "stl"), ({"gltf_physics": True, "formats": "usd"}, '"glb" or "gltf"'), ({"simready_metadata": ["a=b"]}, "simready"),
        ({"packages": {"a": "/none"}}, "not a directory"), ({"xacro_args": ["a:=1"]}, "xacro"), ({"urdf_file_uris": True, "formats": "urdf"}, "out"),
    ):  # fmt: skip
        with pytest.raises(urdf_usd.OptionError, match=why) as raised:
            urdf_usd.convert(LINK.format("r"), **options)
        assert isinstance(raised.value, ValueError) and raised.value.diagnostics[0].code == "command-usage"
    for function in (urdf_usd.check, urdf_usd.fix, urdf_usd.inspect):
        with pytest.raises(urdf_usd.Error, match="none.usda"):
            function("none.usda")
        with pytest.raises(urdf_usd.OptionError, match="density"):
            function(path, density=3.0)
    with pytest.raises(urdf_usd.OptionError, match="REP158-99"):
        urdf_usd.check(path, select=["REP158-99*"])


def test_assets_are_checked_and_fixed(urdf_usd, arm):
    path, packages = arm
    asset = urdf_usd.convert(path, scratch(), **packages).path
    assert [vars(finding) for finding in urdf_usd.check(asset, all_variants=True)] == [
        {
            **{"file": None, "line": 0, "column": 0, "element": "", "help": "", "cause": "", "about": "", "expanded": False},
            **{name: value for name, value in finding.items() if name != "where"},
            **finding["where"],
        }
        for finding in command("check", asset, "--all-variants", "--format", "json")["diagnostics"]
    ]
    degraded = urdf_usd.check(asset, engine=["mujoco", "drake"])
    reported = command("check", asset, "--engine", "mujoco,drake", "--format", "json")["diagnostics"]
    assert "engine-no-openusd" in {finding.code for finding in degraded}
    assert [finding.code for finding in degraded] == [finding["code"] for finding in reported]
    translated = urdf_usd.fix(asset, scratch(), overlays="newton").report["files"]
    assert translated == command("fix", asset, "-o", scratch(), "--overlays", "newton", "--json")["files"] != urdf_usd.fix(asset).report["files"]
    for function, names in ((urdf_usd.check, {"engine": ["none"]}), (urdf_usd.fix, {"overlays": "drake"})):
        with pytest.raises(urdf_usd.OptionError, match="is none of"):
            function(asset, **names)
    poor = scratch() / "poor.usda"
    stage = Usd.Stage.CreateNew(str(poor))
    stage.SetDefaultPrim(stage.DefinePrim("/poor", "Xform"))
    UsdPhysics.RigidBodyAPI.Apply(stage.DefinePrim("/poor/body", "Cube"))
    stage.Save()
    broken = urdf_usd.check(poor)
    assert any(finding.severity == "error" for finding in broken)
    assert {finding.code for finding in urdf_usd.check(poor.read_bytes())} == {finding.code for finding in broken}
    assert all(finding.code != broken[0].code for finding in urdf_usd.check(poor, ignore=[broken[0].code]))
    assert urdf_usd.check(poor, ignore=broken[0].code) == urdf_usd.check(poor, ignore=[broken[0].code])
    assert urdf_usd.check(poor, select=f"{broken[0].code}, {broken[-1].code}") == urdf_usd.check(poor, select=(broken[0].code, broken[-1].code))
    for function in (urdf_usd.check, urdf_usd.fix, urdf_usd.inspect):
        with pytest.raises(urdf_usd.OptionError, match='"Engine"'):
            function(poor, variants="Engine")
    fixed = urdf_usd.fix(poor, scratch())
    errors = [sum(finding.severity == "error" for finding in found) for found in (urdf_usd.check(fixed.path), broken)]
    assert errors[0] < errors[1]
    assert urdf_usd.fix(poor).stage().GetPrimAtPath("/poor/body").IsValid()
    assert any(finding.code == "urdf-bad-number" for finding in urdf_usd.check(LINK.format("r").replace("1 2 3", "1 2 x")))


def test_other_commands_return_data(urdf_usd, arm):
    path, packages = arm
    out = scratch()
    asset = urdf_usd.convert(path, out, **packages).path
    written = urdf_usd.command("xrdf", "write", path, output=out / "arm.xrdf", package=packages["packages"])
    assert (out / "arm.xrdf").exists() and written["diagnostics"] is not None
    assert urdf_usd.command("xrdf", "check", path, out / "arm.xrdf", package=packages["packages"])
    urdf_usd.command("isaac", "populate", asset)
    assert urdf_usd.command("isaac", "tree", asset.parent)
    poses = urdf_usd.command("pose", path, set=["elbow_joint=1.0", "shoulder_pan_joint=0.5"], frame=["tool0"], **{"package": packages["packages"]})
    robot = urdf_usd.Robot.load(path, **packages)
    place = robot.fk(robot.configuration({"elbow_joint": 1.0, "shoulder_pan_joint": 0.5}), "tool0")[:3, 3]
    assert abs(place - poses["frames"]["tool0"]["translation"]).max() < 1e-12
    assert len(urdf_usd.command("check", asset, severity="error")["diagnostics"]) == sum(f.severity == "error" for f in urdf_usd.check(asset))
    with pytest.raises(urdf_usd.OptionError, match="--none"):
        urdf_usd.command("pose", path, none=3)
    with pytest.raises(urdf_usd.Error, match="none.usda"):
        urdf_usd.command("isaac", "tree", "none.usda")


def test_progress_and_its_exceptions(urdf_usd, arm, capfd):
    path, packages = arm
    events = []
    urdf_usd.convert(path, progress=events.append, **packages)
    assert {"loading meshes", "writing files"} <= {event.step for event in events}
    assert max(event.done for event in events if event.step == "loading meshes") > 0 and all(event.done <= event.total for event in events if event.total)

    class Stop(Exception):
        pass

    def stop(progress):
        raise Stop

    out = scratch()
    with pytest.raises(Stop):
        urdf_usd.convert(path, out, progress=stop, **packages)
    assert not any(out.iterdir())
    assert capfd.readouterr() == ("", "")
    urdf_usd.convert(path, progress=True, **packages)
    assert "loading meshes" in capfd.readouterr().err


def test_threads_convert_at_once_while_others_run(urdf_usd, arm):
    path, packages = arm
    ticks, ended = [], threading.Event()

    def tick():
        while not ended.wait(0.005):
            ticks.append(time.monotonic())

    ticking = threading.Thread(target=tick)
    ticking.start()
    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: urdf_usd.convert(path, **packages), range(8)))
    took = time.monotonic() - began
    ended.set()
    ticking.join()
    assert all(dict(result.files) == dict(results[0].files) for result in results)
    # A thread that waited for the lock would have ticked once for each conversion.
    assert len(ticks) > min(50, 10 * took), (len(ticks), took)




@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_convert(urdf_usd, arm, method, site):
    path, packages = arm
    status = urdf_usd.convert(path, **packages).status
    script = scratch() / "script.py"
    script.write_text(
        "import multiprocessing, sys, urdf_usd\n"
        "def work(path): return urdf_usd.convert(path, package_paths=[sys.argv[2]]).status\n"
        "if __name__ == '__main__':\n"
        "    print(work(sys.argv[1]), file=sys.stderr)\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool: print(pool.map(work, [sys.argv[1]] * 4))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, path, SAMPLES], env={"PYTHONPATH": str(site)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=60,
    )  # fmt: skip
    assert done.stdout.strip() == str([status] * 4), done


def test_a_fork_converts_with_the_shared_cache_of_its_parent(site, s3):
    script = (
        "import os, sys, urdf_usd\n"
        "def work(format): return urdf_usd.convert(sys.argv[1], formats=format, cache_url=sys.argv[2]).status\n"
        "print(work('usd'), flush=True)\n"
        "child = os.fork()\n"
        "if child == 0: print(work('glb'), flush=True)\n"
        "else: sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script, LINK.format("forked"), f"s3://{BUCKET}/python/fork"]
    env = environment(s3, scratch(), PYTHONPATH=str(site))
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "warnings\nwarnings\n"), done
    # The address alone implies the cache.
    assert names(s3, "python/fork")


def test_ctrl_c_ends_a_conversion_that_waits_for_a_shared_cache(site):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        script = (
            "import sys, urdf_usd\n"
            "try: urdf_usd.convert(sys.argv[1], cache_url='s3://bucket/cache')\n"
            "except KeyboardInterrupt: print('interrupted')\n"
        )
        env = environment(silent.getsockname()[1], scratch(), PYTHONPATH=str(site))
        process = subprocess.Popen([sys.executable, "-c", script, LINK.format("late")], env=env, stdout=subprocess.PIPE, text=True)
        connection, _ = silent.accept()
        with connection:
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            start = time.monotonic()
            rest, _ = process.communicate(timeout=60)
        assert (process.returncode, rest) == (0, "interrupted\n") and time.monotonic() - start < 8


def test_limits_hold(urdf_usd, arm):
    path, packages = arm
    with pytest.raises(urdf_usd.Error) as raised:
        urdf_usd.convert(path, time_limit=0.001, convex_parts=8, **packages)
    assert raised.value.diagnostics[0].code == "convert-timed-out"
    # A limit of memory takes a process, which is the interpreter with this module.
    assert dict(urdf_usd.convert(path, memory_limit=4096, **packages).files) == dict(urdf_usd.convert(path, **packages).files)
    folder = scratch()
    with open(folder / "large.stl", "wb") as mesh:
        mesh.write(bytes(80) + (8_000_000).to_bytes(4, "little"))
        mesh.truncate(84 + 50 * 8_000_000)
    with pytest.raises(urdf_usd.Error) as raised:
        urdf_usd.convert(LINK.format("r").replace("<box size='1 2 3'/>", "<mesh filename='large.stl'/>"), folder=folder, memory_limit=1)
    assert raised.value.diagnostics[0].code == "convert-out-of-memory"


def test_ctrl_c_ends_a_conversion(site, arm):
    path, _ = arm
    out = scratch()
    script = (
        "import sys, urdf_usd\n"
        "def tell(progress): print(progress.step, flush=True)\n"
        "try:\n"
        "    while True: urdf_usd.convert(sys.argv[1], sys.argv[3], package_paths=[sys.argv[2]], convex_parts=32, progress=tell, replace=True)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, path, SAMPLES, out], env={"PYTHONPATH": str(site)}, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=20)
    assert process.returncode == 0 and rest.endswith("interrupted\n")


# Each takes minutes.
@pytest.mark.parametrize(
    "batch", ["robot.ik(np.full((100_000, 3), 9.0), 'tool0')", "robot.ik(np.full(3, 9.0), 'tool0', attempts=10_000_000, tolerance=1e-300)"]
)
def test_ctrl_c_ends_a_batch(site, arm, batch):
    path, _ = arm
    script = (
        "import sys, urdf_usd, numpy as np\n"
        "robot = urdf_usd.Robot.load(sys.argv[1], package_paths=[sys.argv[2]])\n"
        "print(flush=True)\n"
        "try:\n"
        f"    {batch}\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script, path, SAMPLES], env={"PYTHONPATH": str(site)}, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=10)
    assert (process.returncode, rest) == (0, "interrupted\n")


def test_ctrl_c_ends_a_batch_of_inverse_dynamics_midway(site):
    joint = "<joint name='j{1}' type='continuous'><parent link='l{0}'/><child link='l{1}'/></joint>"
    parts = [f"<link name='l{n}'/>" for n in range(101)] + [joint.format(n, n + 1) for n in range(100)]
    script = (
        "import sys, time, urdf_usd, numpy as np\n"
        "robot = urdf_usd.Robot.load(sys.argv[1])\n"
        "q = np.zeros((100_000, robot.dof))\n"
        "robot.inverse_dynamics(q[:1000], q[:1000], q[:1000])\n"
        "start = time.monotonic()\n"
        "robot.inverse_dynamics(q, q, q)\n"
        "print(time.monotonic() - start, flush=True)\n"
        "start = time.monotonic()\n"
        "try:\n"
        "    robot.inverse_dynamics(q, q, q)\n"
        "except KeyboardInterrupt: print(time.monotonic() - start)\n"
    )
    command = [sys.executable, "-c", script, f"<robot name='r'>{''.join(parts)}</robot>"]
    process = subprocess.Popen(command, env={"PYTHONPATH": str(site)}, stdout=subprocess.PIPE, text=True)
    whole = float(process.stdout.readline())
    time.sleep(whole / 5)
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    # An interrupt after the call would be raised, too.
    assert process.returncode == 0 and float(rest) < 0.7 * whole


def test_nothing_is_left_of_conversions(site):
    """1,000 conversions in one process, every tenth of which fails, and batches of kinematics: memory, open files, threads and temporary
    files."""
    script = f"""
import gc, os, urdf_usd
good, bad = {LINK.format("r")!r}, "<robot name='r'><link/>"
robot = urdf_usd.Robot.load("<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='continuous'><parent link='a'/>"
                            "<child link='b'/></joint></robot>")
def state():
    gc.collect()
    memory = int(open("/proc/self/statm").read().split()[1]) * 4096
    return memory, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), len(os.listdir(os.environ["TMPDIR"]))
for count in range(1000):
    try:
        urdf_usd.convert(bad if count % 10 == 0 else good, formats="usd" if count % 2 else "urdf")
    except urdf_usd.Error:
        pass
    robot.fk([[0.5]] * 200)
    if count == 300:
        before = state()
print(*before, *state())
"""
    env = {"PYTHONPATH": str(site), "TMPDIR": str(scratch())}
    done = subprocess.run([sys.executable, "-c", script], env=env, stdout=subprocess.PIPE, text=True, check=True)
    memory, *before, more, files, threads, temporary = map(int, done.stdout.split())
    assert more - memory < 8 << 20, f"{(more - memory) / 1e6:.1f} MB in 700 conversions"
    assert [files, threads, temporary] == before and temporary == 0
