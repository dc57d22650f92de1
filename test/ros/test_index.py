"""The index of a fleet: bridges in separate processes and domains share a folder, and each serves the robots of all."""

import contextlib
import json
import os
import shutil
import signal
import urllib.error
import urllib.request

import pytest

from conftest import SAMPLES, reserved_domain
from polling import until

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")

from ros_node import PATIENCE, Node, box, free_port  # noqa: E402

#: Period of announcements in seconds; a bridge is lost after three.
PERIOD = 0.4
ARM = SAMPLES / "sample_arm"


@pytest.fixture
def start_bridge(tmp_path):
    """Starts bridges, each in another domain and with another output directory."""
    nodes = []
    with contextlib.ExitStack() as domains:

        def start(name, file, fleet=tmp_path / "fleet", **parameters):
            port, domain = free_port(), domains.enter_context(reserved_domain())
            shared = {"fleet.dir": fleet, "fleet.period": PERIOD} if fleet else {}
            parameters = {"urdf_file": file, "http.port": port, "package_paths": [str(SAMPLES)], **shared, **parameters}
            node = Node(domain, tmp_path / name, tmp_path / f"{name}.log", **parameters)
            node.port = port
            nodes.append(node)
            return node

        yield start
        for node in nodes:
            if node.process.poll() is None:
                node.kill()
            print(f"--- {node.log_path.name}\n{node.log}")
        assert not any("panicked" in node.log for node in nodes)


def index(node):
    with urllib.request.urlopen(f"http://127.0.0.1:{node.port}/api/fleet", timeout=PATIENCE) as answer:
        return json.load(answer)


def summary(node):
    """Returns the bridges of the index: their ports, presence, and robots with their states. Empty while the bridge starts."""
    try:
        bridges = index(node)["bridges"]
    except (urllib.error.URLError, ConnectionError):
        return {}
    return {
        int(bridge["url"].split(":")[-1].strip("/")): (bridge["live"], {robot["key"]: robot["state"] for robot in bridge["robots"]})
        for bridge in bridges
        if bridge["url"].startswith("http")
    }


def shows(node, expected):
    until(lambda: summary(node) == expected, PATIENCE, f"{expected} in the index of {node.port}")


def entries(folder):
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}


def test_the_index_tells_the_truth_as_bridges_come_and_go(start_bridge, tmp_path):
    (tmp_path / "box.urdf").write_text(box("box"))
    (tmp_path / "broken.urdf").write_text("<robot name='broken'>")
    one = start_bridge("one", tmp_path / "box.urdf")
    two = start_bridge("two", tmp_path / "box.urdf")
    three = start_bridge("three", tmp_path / "broken.urdf")
    first = {one.port: (True, {"box": "ok"}), two.port: (True, {"box": "ok"}), three.port: (True, {"broken": "error"})}
    for node in (one, two, three):
        shows(node, first)
    bridges = index(one)["bridges"]
    assert len({bridge["id"] for bridge in bridges}) == 3 and {bridge["bridge"] for bridge in bridges} == {"/urdf_usd"}
    described = [robot["sha256"] for bridge in bridges for robot in bridge["robots"]]
    assert len(set(described) - {None}) == 1, "two robots of one description, and one without an asset"
    assert str(tmp_path / "one") not in json.dumps(bridges), "the output directory"
    # Killed: lost, with its last robots. Ended: gone.
    two.process.send_signal(signal.SIGKILL)
    two.process.wait()
    shows(one, first | {two.port: (False, {"box": "ok"})})
    three.process.send_signal(signal.SIGTERM)
    three.process.wait()
    shows(one, {one.port: first[one.port], two.port: (False, {"box": "ok"})})
    # Stopped: lost until it continues.
    os.kill(one.process.pid, signal.SIGSTOP)
    again = start_bridge("two", tmp_path / "box.urdf")
    shows(again, {one.port: (False, {"box": "ok"}), again.port: (True, {"box": "ok"})})
    os.kill(one.process.pid, signal.SIGCONT)
    (tmp_path / "box.urdf").write_text(box("box", 2))
    revisions = lambda: [robot["revision"] for bridge in index(again)["bridges"] for robot in bridge["robots"]]
    until(lambda: revisions() == [2, 2], PATIENCE, "the changed robot of both bridges")
    shows(one, {one.port: (True, {"box": "ok"}), again.port: (True, {"box": "ok"})})


def test_a_bridge_in_no_fleet_has_no_index(start_bridge, tmp_path):
    (tmp_path / "box.urdf").write_text(box("box"))
    node = start_bridge("alone", tmp_path / "box.urdf", fleet=None)
    url = f"http://127.0.0.1:{node.port}/api/robots"

    def serves():
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            return urllib.request.urlopen(url, timeout=PATIENCE).status == 200

    until(serves, PATIENCE, "the server")
    for path in ("api/fleet", "fleet"):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"http://127.0.0.1:{node.port}/{path}", timeout=PATIENCE)


def test_a_folder_that_cannot_be_made_is_tried_again(start_bridge, tmp_path):
    (tmp_path / "fleet").write_text("")
    (tmp_path / "box.urdf").write_text(box("box"))
    node = start_bridge("one", tmp_path / "box.urdf")
    node.logged("bridge-fleet")
    (tmp_path / "fleet").unlink()
    shows(node, {node.port: (True, {"box": "ok"})})


def test_the_page_shows_names_of_strangers_as_text(start_bridge, tmp_path, browser):
    hostile = "<img src=x onerror='window.attacked = true'>"
    robot = {"key": hostile, "name": hostile, "namespace": "/", "presence": "live", "state": "ok", "message": hostile}
    robot |= {"revision": None, "time": 0, "sha256": None, "counts": None}
    bridge = {"bridge": "stranger", "host": hostile, "url": "javascript:window.attacked = true", "period": 3600, "robots": [robot]}
    (tmp_path / "fleet" / "bridges").mkdir(parents=True)
    (tmp_path / "fleet" / "bridges" / "stranger.json").write_text(json.dumps(bridge))
    (tmp_path / "box.urdf").write_text(box("box"))
    node = start_bridge("one", tmp_path / "box.urdf")
    until(lambda: node.port in (robots := summary(node)) and robots[node.port][1] == {"box": "ok"}, PATIENCE, "the box")
    page = browser.new_page()
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"http://127.0.0.1:{node.port}/fleet")
    page.wait_for_selector("#robots tr:nth-child(2)")
    cells = page.locator("#robots td").all_inner_texts()
    assert cells.count(hostile) == 3 and "box" in cells and "stranger" in cells
    # Faults come first, then the order of names.
    (tmp_path / "fleet" / "bridges" / "other.json").write_text(json.dumps(bridge | {"bridge": "a", "robots": [robot | {"state": "error"}]}))
    page.wait_for_selector("#robots tr:nth-child(3)")
    assert page.locator("#robots td:nth-child(3)").all_inner_texts() == ["a", "/urdf_usd", "stranger"]
    (tmp_path / "fleet" / "bridges" / "other.json").unlink()
    page.wait_for_selector("#robots tr:nth-child(3)", state="detached")
    links = page.locator("#robots a").evaluate_all("all => all.map((link) => link.href)")
    assert links == [f"http://127.0.0.1:{node.port}/"]
    page.locator("#filter").fill("stranger")
    page.wait_for_selector("#robots tr:nth-child(2)", state="detached")
    assert page.locator("main img").count() == 0 and not page.evaluate("window.attacked") and not problems
    page.close()


def test_the_meshes_of_a_description_are_processed_once(start_bridge, tmp_path):
    store, made = tmp_path / "fleet" / "store", []
    for name in ("one", "two"):
        before = entries(store)
        # A copy, as on another machine: the files have other paths, inodes and times.
        packages = tmp_path / f"packages of {name}"
        shutil.copytree(ARM, packages / ARM.name, copy_function=shutil.copyfile)
        node = start_bridge(name, packages / ARM.name / "urdf" / "sample_arm.urdf", package_paths=[str(packages)])
        states = {"ok", "warning"}
        until(lambda: node.port in summary(node) and summary(node)[node.port][1].get("sample_arm") in states, PATIENCE, "the arm")
        report = json.loads((tmp_path / name / "sample_arm" / "report.json").read_text())
        made.append((len(entries(store) - before), report["timings_ms"]["meshes"], {f["path"]: f["sha256"] for f in report["files"]}))
    (first, slow, files), (second, fast, same) = made
    print(f"entries of the store: {first}, then {second}; meshes: {slow} ms, then {fast} ms")
    assert first > 50 and second == 0 and files == same
