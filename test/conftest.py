"""Converts every robot once with the built program, and hands the results to the tests.

Robots are the project's own samples (`examples/`), small ones with one corner case each (`test/robots/`) and, where they are available,
the real ones of `$URDF_USD_ROBOTS` (by default `../shared/robots` beside the repository). The program is `$URDF_USD_BIN` or `target/debug/urdf_usd`.
"""

import atexit
import collections
import contextlib
import fcntl
import functools
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import features
from asserted import Watch
from worker import NODE, worker

ROOT = Path(__file__).resolve().parent.parent
# The experiments of `prove`, without the native module. Last, since a module of the package has the name of Ray's.
sys.path.append(str(ROOT / "python" / "urdf_usd"))
SAMPLES = ROOT / "examples"
CORNERS = Path(__file__).resolve().parent / "robots"
ROBOTS = Path(os.environ.get("URDF_USD_ROBOTS") or ROOT.parent / "shared" / "robots").absolute()
PROGRAM = Path(os.environ.get("URDF_USD_BIN") or ROOT / "target" / "debug" / "urdf_usd").absolute()

#: Factor for the duration of soak tests, which the nightly workflow increases.
SOAK = float(os.environ.get("URDF_USD_SOAK") or 1)

# One folder for the whole run, which its first process removes: workers of pytest-xdist end without exit handlers. In it is a cache,
# separate from the user's, that workers share, so that each mesh is loaded and simplified once.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["URDF_USD_TEST_FOLDER"] = tempfile.mkdtemp(prefix="urdf_usd-test-")
    os.environ["XDG_CACHE_HOME"] = os.path.join(os.environ["URDF_USD_TEST_FOLDER"], "cache")
    os.mkdir(os.environ["XDG_CACHE_HOME"])
    atexit.register(shutil.rmtree, os.environ["URDF_USD_TEST_FOLDER"], ignore_errors=True)


def scratch():
    """Makes a folder that lasts as long as the run."""
    return Path(tempfile.mkdtemp(dir=os.environ["URDF_USD_TEST_FOLDER"]))


@functools.cache
def example(package, name):
    """Returns an example of a crate, as a program; `cargo build --workspace --all-targets` builds all of them."""
    built = PROGRAM.parent / "examples" / name
    if not built.is_file():
        cargo = ["cargo", "build", "--ignore-rust-version", "--locked", "--quiet", "-p", package, "--example", name]
        subprocess.run([*cargo, "--target-dir", PROGRAM.parents[1]], cwd=ROOT, check=True)
    return str(built)


#: The real robots. They are listed here, so that a clone without them can name the skipped tests.
REAL_ROBOTS = (
    "aliengo_description", "allegro_hand_description", "anymal_c_simple_description", "cf2x_description", "g1_description",
    "interbotix_xsarm_descriptions", "irobot_create_description", "jaco_description", "minitaur_description", "pr2_description",
    "realsense2_description", "robotiq_description", "simple_humanoid_description", "so_arm100_description", "spot_description",
    "synthetic_edge_cases", "ur_description", "urdf_tutorial",
)  # fmt: skip
SAMPLE_ROBOTS = ("sample_arm", "sample_rover", "sample_corners")
#: Hand-written URDF files, whose expected results are in test_corners.py.
CORNER_ROBOTS = tuple(sorted(p.stem for p in CORNERS.glob("*.urdf")))


@dataclass(frozen=True)
class Source:
    """A robot to convert."""

    name: str  # of its package
    urdf: Path
    packages: dict  # package name → directory
    options: tuple  # the options that pass them to the command line


@dataclass(frozen=True, eq=False)
class Converted:
    """The result of converting a robot. Compares by identity, so that tests can cache derived data by it."""

    name: str  # of its package
    urdf: Path
    package_dirs: dict
    directory: Path  # of the asset
    report: dict

    @property
    def asset_name(self):
        return self.directory.name

    @property
    def entry(self):
        return self.directory / f"{self.asset_name}.usda"

    @property
    def glb(self):
        return self.directory / f"{self.asset_name}.glb"

    def found(self, severity):
        return [d for d in self.report["diagnostics"] if d["severity"] == severity]


def program():
    if not PROGRAM.is_file():
        pytest.exit(f"{PROGRAM} is not there: build it (`cargo build --ignore-rust-version --locked`) or set URDF_USD_BIN", returncode=2)
    return PROGRAM


def run(*arguments, timeout=600, obeys_permissions=False, **options):
    """Runs the program, and returns the finished process with text output. `obeys_permissions` drops root's privileges."""
    command = [str(program()), *map(str, arguments)]
    if obeys_permissions and os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=timeout, **options)


def limit_files(size):
    """Limits the size of the files that this process writes; further writes fail (for `preexec_fn`)."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def reported(done, errors=False):
    """Returns the report of `convert --json`, which must have written an asset, with or without `errors`."""
    assert done.stdout, f"exit code {done.returncode}\n{done.stderr}"
    report = json.loads(done.stdout)
    worst = {found["severity"] for found in report["diagnostics"]}
    told = "errors" if "error" in worst else "warnings" if "warning" in worst else "ok"
    assert (done.returncode, report["status"], "error" in worst) == (int(errors), told, errors), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return report


def in_nv(script, *arguments):
    """Asks a script of this folder in the Python with test/requirements-nv.txt (worker.py). Skips without one."""
    python = os.environ.get("URDF_USD_NV_PYTHON")
    if not python:
        pytest.skip("URDF_USD_NV_PYTHON is not set: test/run sets it to a Python with test/requirements-nv.txt")
    # Packages register rules and schemas on import, so that each has its own process. They share the code that Warp has compiled.
    told, _ = worker(python, script.partition("_")[0], WARP_CACHE_PATH=str(Path(python).parents[1] / "warp")).ask(script, *arguments)
    return told


def in_physx(script, *arguments):
    """Asks a script of this folder in the Python with test/requirements-physx.txt (worker.py). Skips without one."""
    python = os.environ.get("URDF_USD_PHYSX_PYTHON")
    if not python:
        pytest.skip("URDF_USD_PHYSX_PYTHON is not set: test/run sets it to a Python with test/requirements-physx.txt")
    return worker(python, "physx").ask(script, *arguments)[0]


def old_usd():
    """Returns a Python with usd-core 24.5. Skips without one."""
    python = os.environ.get("URDF_USD_OLD_USD_PYTHON")
    if not python:
        pytest.skip("URDF_USD_OLD_USD_PYTHON is not set: test/run sets it to a Python with usd-core 24.5")
    return python


def in_old_usd(script, *arguments):
    """Asks a script of this folder in usd-core 24.5 (worker.py). Skips without one."""
    return worker(old_usd(), "old usd").ask(script, *arguments)[0]


def gltf_issues(*files):
    """Returns the issues of the Khronos glTF validator by file: [{code, severity: 0 error | 1 warning | 2 information | 3 hint, message, pointer}].
    Skips without the validator."""
    if not shutil.which("node") or not Path(os.environ.get("GLTF_VALIDATOR", "/nowhere")).exists():
        pytest.skip("GLTF_VALIDATOR is not a folder with the npm package gltf-validator: test/run sets it")
    return worker(NODE, "gltf").ask("validate_gltf", *map(str, files))[0]


def source(name):
    """Locates a robot."""
    if name in SAMPLE_ROBOTS:
        folder = SAMPLES / name
        return Source(name, folder / "urdf" / f"{name}.urdf", {name: folder}, ("--package", f"{name}={folder}"))
    if name in CORNER_ROBOTS:
        return Source(name, CORNERS / f"{name}.urdf", {name: CORNERS}, ("--package", f"{name}={CORNERS}"))
    found = sorted((ROBOTS / name).rglob("*.urdf"))
    assert len(found) == 1, f"expected one URDF in {name}, not {found}"
    packages = {p.name: p for p in sorted(ROBOTS.iterdir()) if p.is_dir()}
    return Source(name, found[0], packages, ("--package-path", str(ROBOTS)))


def convert(robot, output, *options, errors=False):
    """Converts a robot into `output` and returns the result. Fails the test if the program fails, or if there are unexpected errors, or
    no errors although `errors` are expected."""
    done = run("convert", robot.urdf, "-o", output, *robot.options, "--json", *options)
    report = reported(done, errors=errors)
    made = [d for d in Path(output).iterdir() if (d / "report.json").is_file()]
    assert len(made) == 1, f"expected one asset in {output}, not {made}"
    return Converted(robot.name, robot.urdf, robot.packages, made[0], report)


@pytest.fixture(scope="session")
def conversions(tmp_path_factory):
    """Converts robots by name, each once."""

    @functools.cache
    def by_name(name):
        return convert(source(name), tmp_path_factory.mktemp(name))

    return by_name


def marks_of(name):
    """Returns the marks of tests of a robot. Clones without the real robots skip their tests by name (pytest_terminal_summary prints which
    and why)."""
    if name not in REAL_ROBOTS:
        return []
    return [pytest.mark.real_robot, pytest.mark.skipif(not (ROBOTS / name).is_dir(), reason=f"{name} is not in {ROBOTS} (set URDF_USD_ROBOTS)")]


@pytest.fixture(scope="session", params=[pytest.param(n, marks=marks_of(n)) for n in (*SAMPLE_ROBOTS, *CORNER_ROBOTS, *REAL_ROBOTS)])
def converted(request, conversions):
    """Every robot, converted."""
    return conversions(request.param)


#: The real robots that are also converted by another converter.
OTHERS = (
    "aliengo_description", "allegro_hand_description", "anymal_c_simple_description", "g1_description", "irobot_create_description",
    "jaco_description", "minitaur_description", "pr2_description", "robotiq_description", "so_arm100_description", "ur_description",
)  # fmt: skip


@pytest.fixture(scope="session", params=[pytest.param(n, marks=[*marks_of(n), pytest.mark.xdist_group(f"fix {n}")]) for n in OTHERS])
def theirs(request, tmp_path_factory):
    """Converts a robot with another converter. Returns its name and the entry of the asset."""
    converter = os.environ.get("URDF_USD_OTHER_CONVERTER")
    if not converter:
        pytest.skip("URDF_USD_OTHER_CONVERTER is not set: test/run sets it to urdf_usd_converter of test/requirements-converter.txt")
    folder = tmp_path_factory.mktemp(f"other_{request.param}")
    packages = [argument for p in sorted(ROBOTS.iterdir()) if p.is_dir() for argument in ("--package", f"{p.name}={p}")]
    done = subprocess.run([converter, source(request.param).urdf, folder, *packages], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    (asset,) = folder.glob("*.usda")
    return request.param, asset


@pytest.fixture(scope="session")
def browser():
    """Starts the browser, one for all tests of a worker: Playwright refuses a second loop in a thread. Skips without one, except in CI."""
    from browser import chromium, launch
    from playwright.sync_api import sync_playwright

    if chromium() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("chromium is missing: test/run installs it if it may")
        pytest.skip("chromium is missing (apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


@pytest.fixture
def sample(tmp_path):
    """Copies the package of the sample arm, so that a test may change it."""
    folder = tmp_path / "sample_arm"
    shutil.copytree(SAMPLES / "sample_arm", folder)
    return Source("sample_arm", folder / "urdf" / "sample_arm.urdf", {"sample_arm": folder}, ("--package", f"sample_arm={folder}"))


def has_ended(pid):
    """Returns whether a process has ended with all its threads; it may still have to be reaped."""
    try:
        # The fields after the name of the program, which may contain spaces and parentheses.
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
        return state in "ZX" and len(list(Path(f"/proc/{pid}/task").iterdir())) == 1
    except (FileNotFoundError, ProcessLookupError):
        return True


# ---- ROS ----------------------------------------------------------------------------------------------------------------------

#: The DDS domains with ports below Linux's ephemeral range: https://docs.ros.org/en/jazzy/Concepts/Intermediate/About-Domain-ID.html
DOMAINS = itertools.cycle(range(1, 102))


@contextlib.contextmanager
def reserved_domain():
    """Reserves a DDS domain that no other test of this machine uses, and that this worker has not used recently. The unit tests of
    crates/ros use the same lock files."""
    folder = Path(tempfile.gettempdir()) / f"urdf_usd-domains-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for domain in itertools.islice(DOMAINS, 101):
        with (folder / str(domain)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield domain
            return
    pytest.fail(f"every DDS domain is taken (locks in {folder})")


@pytest.fixture
def domain():
    with reserved_domain() as domain:
        yield domain


@pytest.fixture
def start(domain, tmp_path):
    """Starts nodes. At the end of the test, all must have ended, and none panicked."""
    from ros_node import Node

    nodes = []

    def start(*arguments, output=tmp_path / "out", environment=None, **parameters):
        environment = {"ROS_LOG_DIR": str(tmp_path / "logs")} | (environment or {})
        node = Node(domain, output, tmp_path / f"log{len(nodes)}.txt", *arguments, environment=environment, **parameters)
        nodes.append(node)
        return node

    yield start
    for node in nodes:
        if node.process.poll() is None:
            node.kill()
        print(f"--- {node.log_path.name}\n{node.log}")
    assert not any("panicked" in node.log for node in nodes)


@pytest.fixture
def peer(domain):
    """Returns a participant that speaks like a node under rmw_cyclonedds."""
    from ros_peer import Peer

    with Peer(domain) as peer:
        yield peer


def robot_of(item):
    """Returns the robot of a parametrised test."""
    values = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return next((v for v in values if isinstance(v, str) and v in (*SAMPLE_ROBOTS, *CORNER_ROBOTS, *REAL_ROBOTS)), None)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """Fails a test that asserts nothing about its robot: its subject has vanished from the output, or the robot does not apply."""
    robot = robot_of(pyfuncitem)
    if robot is None:
        return (yield)
    with Watch() as watch:
        result = yield
    if not watch.asserted:
        pytest.fail(f"nothing was asserted about {robot}: if its description lacks the subject, declare the required features with pytest.mark.needs")
    return result


def is_case(item):
    """Returns whether the description of a test's robot has the features that the test needs."""
    robot, needs = robot_of(item), {feature for mark in item.iter_markers("needs") for feature in mark.args}
    if not needs or robot is None or not source(robot).urdf.is_file():
        return True
    return needs <= features.of(source(robot))


#: Maximum number of concurrent browsers: they render in software.
BROWSERS = 2


def rank(item):
    """Orders the tests: long ones first, so that no worker is left with one at the end, together with those that mostly wait; single tests
    last."""
    if item.path.name == "test_viewer.py":
        return 0
    if item.path.parent.name == "ros":
        return 1
    return 2 if item.get_closest_marker("xdist_group") else 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Deselects robots that a test does not apply to. Tests of one robot share a worker, which converts it once; tests of the viewer share as many workers as there may be browsers."""
    no_cases = [item for item in items if not is_case(item)]
    config.hook.pytest_deselected(items=no_cases)
    items[:] = [item for item in items if item not in set(no_cases)]
    # Runs first: pytest-xdist reads the marks in the same hook.
    for item in items:
        if (robot := robot_of(item)) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(robot))
    for number, item in enumerate(item for item in items if item.path.name == "test_viewer.py"):
        item.add_marker(pytest.mark.xdist_group(f"viewer {number % BROWSERS}"))
    items.sort(key=rank)


def pytest_report_header():
    there = f"robots: {ROBOTS}" if ROBOTS.is_dir() else f"robots: none in {ROBOTS}, the tests over them are skipped"
    return [f"program: {PROGRAM}", there]


#: The tests that may be skipped, with the reasons: lines of `path::test: beginning of the reason`.
EXPECTED_SKIPS = Path(__file__).with_name("expected_skips.txt")


def unexpected_skips(reports):
    """Returns the skipped tests that expected_skips.txt does not list, apart from those of missing robots."""
    lines = [line for line in EXPECTED_SKIPS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    expected = [tuple(line.split(": ", 1)) for line in lines]
    for report in reports:
        test, reason = report.nodeid.split("[")[0].removeprefix("test/"), report.longrepr[2].removeprefix("Skipped: ")
        is_expected = any(test == known and reason.startswith(why) for known, why in expected)
        if not is_expected and "(set URDF_USD_ROBOTS)" not in reason:
            yield f"{report.nodeid}: {reason}"


def pytest_sessionfinish(session):
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and (unexpected := [*unexpected_skips(reporter.stats.get("skipped", []))]):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.section("skipped, and not in test/expected_skips.txt")
        reporter.write_line("\n".join(unexpected))


def pytest_terminal_summary(terminalreporter):
    """Prints the table of engines, and a line for each reason of skipped tests, which names the robot."""
    reports = [report for outcome in ("passed", "failed") for report in terminalreporter.stats.get(outcome, []) if report.when == "call"]
    if rows := sorted(value for report in reports for key, value in report.user_properties if key == "engines"):
        terminalreporter.section("robots in engines: largest differences from Pinocchio (engines/table.py)")
    for robot, engine, figures in rows:
        terminalreporter.line(f"{robot:30} {engine:7}" + "".join(f" {what} {figure:.0e}" for what, (figure, _) in figures.items()))
    reasons = collections.Counter(r.longrepr[2].removeprefix("Skipped: ") for r in terminalreporter.stats.get("skipped", []))
    if reasons:
        terminalreporter.section("left out")
    for reason, count in sorted(reasons.items()):
        terminalreporter.line(f"{count:4} tests: {reason}")
