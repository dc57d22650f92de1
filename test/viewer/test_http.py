"""The HTTP interface: joint states from DDS to a WebSocket, frames with verdicts, `urdf_usd view`, downloads.

Clients are Python's own `http.client` and the package `websockets`. Tests wait for conditions, never for a fixed time.
"""

import contextlib
import gzip
import hashlib
import http.client
import json
import os
import pty
import re
import signal
import socket
import subprocess
import urllib.parse
import urllib.request

import pytest

pytest.importorskip("cyclonedds", reason="the node is tested against cyclonedds (pip install cyclonedds)")
websockets = pytest.importorskip("websockets.sync.client", reason="joint states come over a WebSocket (pip install websockets)")

import conftest  # noqa: E402
import ros_peer  # noqa: E402
from mesh_counts import SCOPES, in_glb, in_usd  # noqa: E402
from ros_node import ARM, PATIENCE, chain, description, free_port, transform  # noqa: E402
from ros_peer import Header, JointState, TFMessage, Time  # noqa: E402
from stage import Asset  # noqa: E402



@pytest.fixture
def node(start):
    """Starts a node with a web server on a free port; its URL is `node.url`."""
    node = start(**{"http.port": free_port()})
    node.url = node.logged(r"http://\S+").group()
    return node


class View:
    """`urdf_usd view` in a separate process."""

    def __init__(self, log, *arguments):
        self.log_path = log
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                [str(conftest.program()), "view", *map(str, arguments)], stdout=subprocess.PIPE, stderr=stream, text=True
            )
        # It prints its address first.
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.log

    @property
    def log(self):
        return self.log_path.read_text(errors="replace")

    def robot(self):
        (robot,) = get_json(self.url + "api/robots")
        return robot

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


@pytest.fixture
def view(tmp_path):
    """Starts views. At the end of the test, all must have ended, and none panicked."""
    views = []

    def start(*arguments):
        views.append(View(tmp_path / f"view{len(views)}.txt", *arguments))
        return views[-1]

    yield start
    for view in views:
        if view.process.poll() is None:
            view.process.kill()
            view.process.wait(PATIENCE)
        print(view.log)
        assert "panicked" not in view.log


def request(url, method="GET", **headers):
    """Returns a raw response with `status`, `headers` and `content`, without decompression or redirects."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE)
    with contextlib.closing(connection):
        connection.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), headers={k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        answer.content = answer.read()
        return answer


def get_json(url):
    answer = request(url)
    assert answer.status == 200, answer.content
    return json.loads(answer.content)


def joints(url, **options):
    return websockets.connect(url.replace("http://", "ws://") + "joints", open_timeout=PATIENCE, **options)


def state(socket, wanted):
    """Waits for the first state for which `wanted` is true."""
    while True:
        told = json.loads(socket.recv(timeout=PATIENCE))
        assert set(told) == {"robot", "live", "stamp", "positions"}
        if wanted(told):
            return told


def heard(states, message, socket, wanted):
    """Publishes until a state for which `wanted` is true arrives: the node subscribes with best effort."""

    def look():
        states.write(message)
        with contextlib.suppress(TimeoutError):
            told = json.loads(socket.recv(timeout=0.2))
            return wanted(told) and told

    return ros_peer.until(look, PATIENCE, "the state")


# ------------------------------------------------------------------------------------------------------------- the node


def test_joint_states_come_out_of_the_websocket(node, peer):
    with joints(node.url) as early:
        assert state(early, lambda told: True) == {"robot": None, "live": False, "stamp": 0, "positions": {}}
        states = peer.publisher("/joint_states", JointState).matched(PATIENCE)
        header = Header(stamp=Time(sec=12, nanosec=250_000_000))
        message = JointState(header=header, name=["hüfte", "knie-1", "lost"], position=[0.5, -1.25, float("nan")])
        first = heard(states, message, early, lambda told: told["live"])
        assert first == {"robot": None, "live": True, "stamp": 12.25, "positions": {"hüfte": 0.5, "knie-1": -1.25}}
        # A late client gets the last state at once, and a partial state changes only its joints.
        with joints(node.url) as late:
            assert state(late, lambda told: True)["positions"] == first["positions"]
            message = JointState(name=["knie-1"], position=[0.75])
            assert heard(states, message, late, lambda told: told["positions"]["knie-1"] == 0.75)["positions"]["hüfte"] == 0.5
            assert state(early, lambda told: told["positions"]["knie-1"] == 0.75)["positions"]["hüfte"] == 0.5
        quiet = state(early, lambda told: not told["live"])
        assert quiet["positions"] == {"hüfte": 0.5, "knie-1": 0.75}
        message = JointState(name=["knie-1"], position=[1.0])
        assert heard(states, message, early, lambda told: told["live"])["positions"]["knie-1"] == 1.0


def test_a_client_that_does_not_read_blocks_no_other(node, peer):
    states = peer.publisher("/joint_states", JointState).matched(PATIENCE)
    # `max_queue`: unread messages stay on the wire.
    with joints(node.url, max_queue=1) as slow, joints(node.url) as quick:
        for n in range(1, 300):
            message = JointState(header=Header(stamp=Time(sec=n)), name=["hip"], position=[float(n)])
            assert heard(states, message, quick, lambda told, n=n: told["stamp"] == n)["positions"] == {"hip": n}
        stamps = [state(slow, lambda told: True)["stamp"]]
        while stamps[-1] < 299:
            stamps.append(state(slow, lambda told: True)["stamp"])
    assert stamps == sorted(stamps) and len(stamps) < 50, stamps


def test_foreign_origins_are_rejected(node):
    with joints(node.url, origin=node.url.rstrip("/")) as own:
        assert state(own, lambda told: True)["live"] is False
    for origin in ("http://evil.example", "http://127.0.0.1:1"):
        with pytest.raises(Exception, match="403"):
            joints(node.url, origin=origin)
    assert request(node.url + "api/robots", Host="evil.example").status == 421


def test_frames_have_verdicts_beside_the_live_tree(node, peer):
    description(peer, chain())
    url = node.url + "api/frames/chain"
    silent = ros_peer.until(lambda: request(url).status == 200 and get_json(url)["frames"], PATIENCE, "frames")
    assert {frame["name"]: (frame["parent"], frame["static"], frame["verdict"]) for frame in silent} == {
        "base": (None, True, None), "arm": ("base", False, None), "tool": ("arm", True, None),
    }  # fmt: skip
    assert get_json(url)["tf"] == []
    fixed = peer.publisher("/tf_static", TFMessage, latched=True, depth=10).matched(PATIENCE)
    moving = peer.publisher("/tf", TFMessage).matched(PATIENCE)
    # The tool is not at the pose of the URDF.
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.25)]))

    def judged():
        moving.write(TFMessage(transforms=[transform("base", "arm", z=1, yaw=0.3)]))
        told = get_json(url)
        verdicts = {frame["name"]: frame["verdict"] for frame in told["frames"]}
        return verdicts == {"base": "ok", "arm": "ok", "tool": "off"} and told

    told = ros_peer.until(judged, PATIENCE, "verdicts")
    (tool,) = (frame for frame in told["frames"] if frame["name"] == "tool")
    assert "0.25" in tool["detail"]
    tree = {(edge["frame"], edge["parent"], edge["static"]): edge["age"] for edge in told["tf"]}
    assert set(tree) == {("arm", "base", False), ("tool", "arm", True)} and all(0 <= age < PATIENCE for age in tree.values())
    assert request(node.url + "api/frames/nobody").status == 404


# -------------------------------------------------------------------------------------------------------------- downloads


@pytest.fixture
def viewed(view, conversions):
    """Returns the asset of the sample arm, and a view of it."""
    robot = conversions("sample_arm")
    return robot, view(robot.directory, "--port", 0)


def test_every_file_has_its_type_and_the_tag_of_its_content(viewed):
    robot, view = viewed
    types = {
        "glb": "model/gltf-binary", "usda": "model/vnd.usda", "usdc": "application/octet-stream", "png": "image/png", "jpg": "image/jpeg",
    }  # fmt: skip
    told = view.robot()
    assert (told["name"], told["key"], told["revision"]) == (robot.report["robot"], robot.asset_name, robot.report["revision"])
    assert told["diagnostics"] == robot.report["diagnostics"] and told["counts"] == robot.report["counts"]
    assert [file["path"] for file in told["files"]] == [file["path"] for file in robot.report["files"]]
    for file in told["files"]:
        url = f"{view.url}assets/{robot.asset_name}/{urllib.parse.quote(file['path'])}"
        content = (robot.directory / file["path"]).read_bytes()
        plain, packed = request(url), request(url, Accept_Encoding="gzip")
        assert plain.content == content
        assert plain.headers["ETag"] == f'"{hashlib.sha256(content).hexdigest()}"' == f'"{file["sha256"]}"'
        ending = file["path"].rsplit(".")[-1]
        assert plain.headers["Content-Type"] == types[ending]
        is_packed = packed.headers["Content-Encoding"] == "gzip"
        assert is_packed == (ending == "usda" and len(content) >= 1024)
        assert (gzip.decompress(packed.content) if is_packed else packed.content) == content
        assert request(url, If_None_Match=packed.headers["ETag"]).status == 304
        head = request(url, method="HEAD")
        assert (head.content, int(head.headers["Content-Length"])) == (b"", len(content))
    assert json.loads(request(f"{view.url}assets/{robot.asset_name}/report.json").content)["robot"] == robot.report["robot"]


def test_an_interrupted_download_resumes(viewed):
    robot, view = viewed
    url, content = f"{view.url}assets/{robot.asset_name}/{robot.glb.name}", robot.glb.read_bytes()
    got, tag = b"", None
    for size in (1, 1000, len(content) // 2, len(content)):
        # Resume after a broken connection, if the file has not changed.
        condition = {"If_Range": tag} if tag else {}
        answer = request(url, Range=f"bytes={len(got)}-{len(got) + size - 1}", **condition)
        assert answer.status == 206
        assert answer.headers["Content-Range"] == f"bytes {len(got)}-{min(len(got) + size, len(content)) - 1}/{len(content)}"
        tag, got = answer.headers["ETag"], got + answer.content
    assert got == content
    assert request(url, Range=f"bytes={len(content)}-").status == 416


# ------------------------------------------------------------------------------------------------------------------- view


def test_view_serves_and_follows_revisions(view, sample, tmp_path):
    robot = conftest.convert(sample, tmp_path / "out")
    seen = view(robot.directory, "--port", 0)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", seen.url)
    page = request(seen.url)
    assert page.status == 200 and b"<script" in page.content and "text/html" in page.headers["Content-Type"]
    for path in re.findall(r'(?:src|href)="(viewer/[^"]+)"', page.content.decode()):
        # Scripts and styles are embedded compressed, and are unpacked for clients without gzip.
        plain, packed = request(seen.url + path), request(seen.url + path, Accept_Encoding="gzip")
        assert (plain.status, packed.status, packed.headers["Content-Encoding"]) == (200, 200, "gzip"), path
        assert "Content-Encoding" not in plain.headers and gzip.decompress(packed.content) == plain.content
        for encoding, answer in (("identity", plain), ("gzip", packed)):
            assert request(seen.url + path, If_None_Match=answer.headers["ETag"], Accept_Encoding=encoding).status == 304
        assert plain.headers["ETag"] != packed.headers["ETag"]
    assert "script-src 'self'" in page.headers["Content-Security-Policy"]
    with joints(seen.url) as socket:
        assert state(socket, lambda told: True) == {"robot": None, "live": False, "stamp": 0, "positions": {}}
    url = f"{seen.url}assets/{robot.asset_name}/{robot.glb.name}"
    before = request(url)
    events = urllib.request.urlopen(seen.url + "events", timeout=PATIENCE)
    assert events.readline() == b"event: resync\n"
    robot.urdf.write_text(robot.urdf.read_text().replace("</robot>", '<link name="added"/></robot>'))
    again = conftest.run("convert", robot.urdf, "-o", tmp_path / "out", *sample.options)
    assert again.returncode == 0, again.stderr
    lines = iter(events.readline, b"")
    assert next(line for line in lines if line.startswith(b"event: revision"))
    told = json.loads(next(lines).removeprefix(b"data: "))
    assert (told["key"], told["revision"]) == (robot.asset_name, 2)
    assert seen.robot()["revision"] == 2
    after = request(url)
    assert after.content == robot.glb.read_bytes() != before.content
    assert request(url, If_None_Match=before.headers["ETag"]).status == 200
    assert request(url, Range="bytes=5-", If_Range=before.headers["ETag"]).content == after.content
    assert seen.end() == 0


def test_a_glb_alone_is_all_that_is_served(view, conversions, tmp_path):
    robot = conversions("sample_arm")
    folder = tmp_path / "größe 1-2"
    folder.mkdir()
    alone = folder / "mein arm-ü.glb"
    alone.write_bytes(robot.glb.read_bytes())
    (folder / "secret.json").write_text("{}")
    seen = view(alone, "--port", 0)
    told = seen.robot()
    assert (told["key"], told["revision"], [file["path"] for file in told["files"]]) == ("mein arm-ü", 1, [alone.name])
    base = f"{seen.url}assets/{urllib.parse.quote(told['key'])}/"
    assert request(base + urllib.parse.quote(alone.name)).content == alone.read_bytes()
    for path in ("secret.json", "../secret.json", "%2e%2e/log0.txt"):
        assert request(base + path).status == 404
    other = folder / "next"
    other.write_bytes(conversions("sample_rover").glb.read_bytes())
    other.rename(alone)
    ros_peer.until(lambda: seen.robot()["revision"] == 2, PATIENCE, "the next revision")
    assert request(base + urllib.parse.quote(alone.name)).content == alone.read_bytes()
    # Faults are reported, and the last revision stays.
    alone.write_text("nothing")
    broken = ros_peer.until(lambda: (told := seen.robot())["state"] == "error" and told, PATIENCE, "the fault")
    assert broken["revision"] == 2 and broken["diagnostics"][0]["code"] == "serve-view"


def test_a_description_is_converted_and_again_when_it_changes(view, sample, tmp_path):
    shown = view(sample.urdf, "--port", 0, *sample.options)
    told = shown.robot()
    assert (told["name"], told["revision"]) == ("sample_arm", 1)
    assert not any(tmp_path.rglob("*.glb")), "a file was written beside the description"
    glb = f"{shown.url}assets/{told['key']}/sample_arm.glb"
    before = request(glb).content
    assert before.startswith(b"glTF")
    text = sample.urdf.read_text()
    sample.urdf.write_text(text.replace("</robot>", '<link name="added"><visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>'))
    ros_peer.until(lambda: shown.robot()["revision"] == 2, PATIENCE, "the next revision")
    assert request(glb).content != before
    # A change of a mesh.
    mesh = sample.packages["sample_arm"] / "meshes" / "shoulder.stl"
    mesh.rename(mesh.with_suffix(".gone"))
    missing = ros_peer.until(lambda: (told := shown.robot())["state"] == "error" and told, PATIENCE, "the fault")
    assert "shoulder.stl" in missing["message"] or "resolve-missing-file" in missing["message"]
    # An invalid description keeps the last revision.
    sample.urdf.write_text(text.replace("</robot>", ""))
    broken = ros_peer.until(lambda: "1 error: the text is not well-formed XML" in (told := shown.robot())["message"] and told, PATIENCE, "the fault")
    assert broken["revision"] >= 2 and broken["diagnostics"][0]["code"] == "urdf-malformed-xml"
    sample.urdf.write_text(text)
    mesh.with_suffix(".gone").rename(mesh)
    ros_peer.until(lambda: shown.robot()["state"] == "ok", PATIENCE, "the robot")
    assert shown.end() == 0


def test_the_folder_of_a_package_is_its_robot(view, sample):
    folder = sample.packages["sample_arm"]
    only = view(folder, "--port", 0)
    assert only.robot()["name"] == "sample_arm" and only.end() == 0
    (folder / "urdf" / "other.urdf").write_text("<robot name='other'><link name='a'><visual><geometry><box size='1 1 1'/></geometry></visual></link></robot>")
    done = conftest.run("view", folder, timeout=PATIENCE)
    assert done.returncode == 1 and "2 robots" in done.stderr and "--robot" in done.stderr
    assert "urdf/other.urdf" in done.stderr and "urdf/sample_arm.urdf" in done.stderr
    assert view(folder, "--robot", "other", "--port", 0).robot()["name"] == "other"
    wrong = conftest.run("view", folder, "--robot", "othr", timeout=PATIENCE)
    assert wrong.returncode == 1 and 'did you mean "other"?' in wrong.stderr


def test_an_asset_is_shown_in_a_tier(view, conversions):
    asset = conversions("sample_arm")
    tier = ["--variant", "visual_representation=mesh_low", "--variant", "collision_fidelity=convex_hull"]
    shown = view(asset.directory, *tier, "--port", 0).robot()
    assert shown["name"] == "sample_arm" and 0 < shown["counts"]["triangles"] < 0.8 * asset.report["counts"]["triangles"]
    wrong = conftest.run("view", asset.directory, "--variant", "visual_representation=mesh_tiny", "--port", 0, timeout=PATIENCE)
    assert wrong.returncode == 1 and "mesh_tiny" in wrong.stderr


# --------------------------------------------------------------------------------------------------------------- variants

def assert_as_in_usd(answer, entry, chosen, tmp_path):
    """Asserts that a GLB has the triangles of the asset with these variants, and returns their number per scope."""
    assert answer.status == 200 and answer.headers["Content-Type"] == "model/gltf-binary", answer.content
    expected, found = in_usd(entry, chosen), in_glb(answer.content, tmp_path)
    meshes = {key: count for key, (count, has_others) in expected.items() if count and not has_others}
    assert meshes and {key: found[key] for key in meshes} == meshes
    return {scope: sum(count for (_, of), count in meshes.items() if of == scope) for scope in SCOPES.values()}


@pytest.mark.parametrize(
    "name", ["sample_arm", *(pytest.param(n, marks=conftest.marks_of(n)) for n in ("ur_description", "anymal_c_simple_description"))]
)
def test_an_asset_is_drawn_in_other_variants(view, conversions, tmp_path, name):
    robot = conversions(name)
    seen = view(robot.directory, "--port", 0)
    listing, drawing = (f"{seen.url}{path}/{urllib.parse.quote(robot.asset_name)}" for path in ("api/variants", "variants"))
    offered = {one["set"]: one["variants"] for one in get_json(listing)["sets"]}
    there, asset = {}, Asset(robot.entry)
    for prim in asset.stage.Traverse():
        for found in prim.GetVariantSets().GetNames():
            there.setdefault(found, set()).update(prim.GetVariantSet(found).GetVariantNames())
    assert {found: set(variants) for found, variants in offered.items()} == there
    # The first combination is that of the asset's own GLB.
    finest = {found: variants[0] for found, variants in offered.items()}
    own = request(f"{seen.url}assets/{robot.asset_name}/{urllib.parse.quote(robot.glb.name)}")
    full = assert_as_in_usd(own, robot.entry, finest, tmp_path)
    low = {"visual_representation": "mesh_low"}
    hulls = {"collision_fidelity": "convex_hull"}
    for chosen in [low, *([low | hulls] if "collision_fidelity" in offered else [])]:
        url = f"{drawing}?{urllib.parse.urlencode(chosen)}"
        first, second = request(url), request(url)
        counted = assert_as_in_usd(first, robot.entry, finest | chosen, tmp_path)
        assert 0 < counted["visual"] < full["visual"]
        assert (counted["collision"] < full["collision"]) == (hulls.items() <= chosen.items())
        assert second.content == first.content and second.headers["ETag"] == f'"{hashlib.sha256(first.content).hexdigest()}"'
        assert request(url, If_None_Match=first.headers["ETag"]).status == 304


def test_a_preview_is_smaller_and_stored_compressed(viewed, view, tmp_path):
    robot, seen = viewed
    url = f"{seen.url}variants/{robot.asset_name}?detail=coarsest"
    plain, packed = request(url), request(url, Accept_Encoding="gzip")
    assert plain.status == packed.status == 200 and plain.content.startswith(b"glTF") and b"EXT_meshopt_compression" in plain.content
    assert len(plain.content) < robot.glb.stat().st_size and gzip.decompress(packed.content) == plain.content
    assert packed.headers["Content-Encoding"] == "gzip" and int(packed.headers["Content-Length"]) == len(packed.content) < len(plain.content)
    again = request(url, If_None_Match=packed.headers["ETag"], Accept_Encoding="gzip")
    assert again.status == 304 and again.headers["ETag"] == packed.headers["ETag"] == f"W/{plain.headers['ETag']}"
    assert {answer.headers["Vary"] for answer in (plain, packed, again)} == {"accept-encoding"}
    # Without coarser visual meshes, it would be the GLB itself.
    (box := tmp_path / "box.urdf").write_text('<robot name="box"><link name="a"><visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>')
    answer = request(f"{view(box, '--port', 0).url}variants/box?detail=coarsest")
    assert answer.status == 404 and "no coarser meshes" in json.loads(answer.content)["message"]


def test_an_unknown_variant_is_reported_with_the_existing_ones(viewed, view):
    robot, seen = viewed
    drawing = f"{seen.url}variants/{robot.asset_name}"
    for query, status, what in [
        ("visual_representation=mesh_tiny", 404, "mesh_tiny"), ("look=red", 404, "look"), ("", 400, "Pass a variant"),
        ("visual_representation=mesh_low&visual_representation=mesh_high", 400, "twice"),
    ]:  # fmt: skip
        answer = request(f"{drawing}?{query}")
        message = json.loads(answer.content)["message"]
        assert answer.status == status and what in message and "mesh_high|mesh_medium|mesh_low" in message, (query, message)
    assert request(f"{seen.url}variants/nobody?visual_representation=mesh_low").status == 404
    assert request(f"{seen.url}api/variants/nobody").status == 404
    # A GLB without layers has no variants.
    alone = view(robot.glb, "--port", 0)
    assert get_json(f"{alone.url}api/variants/{robot.asset_name}") == {"sets": []}
    answer = request(f"{alone.url}variants/{robot.asset_name}?visual_representation=mesh_low")
    assert answer.status == 404 and "no OpenUSD layers" in json.loads(answer.content)["message"]


def test_variants_are_those_of_the_revision(view, sample, tmp_path):
    robot = conftest.convert(sample, tmp_path / "out")
    seen = view(robot.directory, "--port", 0)
    chosen = {"visual_representation": "mesh_low", "collision_fidelity": "trimesh"}
    url = f"{seen.url}variants/{robot.asset_name}?visual_representation=mesh_low"
    before = assert_as_in_usd(first := request(url), robot.entry, chosen, tmp_path)
    (caps,) = re.findall(r'<visual name="caps">.*?</visual>', text := robot.urdf.read_text(), re.DOTALL)
    robot.urdf.write_text(text.replace(caps, ""))
    again = conftest.run("convert", robot.urdf, "-o", tmp_path / "out", *sample.options)
    assert again.returncode == 0, again.stderr
    # Independent of the event about the revision.
    after = assert_as_in_usd(second := request(url, If_None_Match=first.headers["ETag"]), robot.entry, chosen, tmp_path)
    assert after["visual"] < before["visual"] and second.content != first.content


def test_the_node_draws_variants(start, peer, tmp_path):
    node = start(packages=[f"sample_arm={ARM}"], **{"http.port": free_port()})
    url = node.logged(r"http://\S+").group()
    description(peer, (ARM / "urdf" / "sample_arm.urdf").read_text())
    listing = f"{url}api/variants/sample_arm"
    ros_peer.until(lambda: request(listing).status == 200 and get_json(listing)["sets"], PATIENCE, "variants")
    (entry,) = node.output.glob("**/sample_arm.usda")
    chosen = {"visual_representation": "mesh_low", "collision_fidelity": "convex_hull"}
    answer = request(f"{url}variants/sample_arm?{urllib.parse.urlencode(chosen)}")
    assert_as_in_usd(answer, entry, chosen, tmp_path)


def test_foreign_openusd_is_shown(view, tmp_path):
    layer = tmp_path / "theirs.usda"
    layer.write_text(
        '#usda 1.0\n(defaultPrim = "r"\nmetersPerUnit = 1\nupAxis = "Z")\ndef Xform "r" {\ndef Xform "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {\n'
        'def Cube "c" (prepend apiSchemas = ["PhysicsCollisionAPI"]) { double size = 1; }\n}\n}\n'
    )
    assert "r.glb" in {file["path"] for file in view(layer, "--port", 0).robot()["files"]}


def test_a_folder_without_a_robot_gets_no_advice_to_write_beside_it(tmp_path):
    done = conftest.run("view", tmp_path, timeout=PATIENCE)
    assert done.returncode == 1 and "neither an asset nor a robot description" in done.stderr and str(tmp_path.parent) + " " not in done.stderr


@pytest.mark.parametrize(("options", "screen", "is_opened"), [((), True, True), (("--no-open",), True, False), ((), False, False)])
def test_the_browser_is_opened_on_a_desktop(options, screen, is_opened, conversions, tmp_path):
    opened = tmp_path / "opened"
    browser = tmp_path / "bin" / "xdg-open"
    browser.parent.mkdir()
    browser.write_text(f"#!/bin/sh\necho $1 > {opened}.new && mv {opened}.new {opened}\n")
    browser.chmod(0o755)
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER", "WSL_DISTRO_NAME")}
    environment |= {"PATH": f"{browser.parent}:{os.environ['PATH']}"} | ({"DISPLAY": ":9"} if screen else {})
    ours, theirs = pty.openpty()
    command = [conftest.program(), "view", conversions("sample_arm").directory, "--port", "0", *options]
    process = subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=environment)
    os.close(theirs)
    with open(ours, "rb", buffering=0) as terminal:
        url = terminal.read(1024).decode().strip()
        if is_opened:
            ros_peer.until(opened.exists, PATIENCE, "the browser")
            assert opened.read_text().strip() == url
        else:
            # The browser is opened before the first request is answered.
            assert request(url).status == 200 and not opened.exists()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_view_reports_unsupported_input(conversions, tmp_path):
    robot = conversions("sample_arm")
    usd = conftest.run("convert", robot.urdf, "-o", tmp_path, "--formats", "usd", "--package", f"sample_arm={robot.package_dirs['sample_arm']}")
    assert usd.returncode == 0, usd.stderr
    for asset, parts in [
        (tmp_path / robot.asset_name, [f"no {robot.asset_name}.glb", "urdf_usd convert", "usd,glb"]),
        (tmp_path / "nowhere", ["nowhere"]),
        (tmp_path / "nowhere.urdf", ["nowhere.urdf"]),
    ]:
        done = conftest.run("view", asset, timeout=PATIENCE)
        assert done.returncode == 1 and done.stdout == "" and all(part in done.stderr for part in parts), done.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = conftest.run("view", robot.directory, "--port", port, timeout=PATIENCE)
        assert done.returncode == 1 and str(port) in done.stderr and "--port" in done.stderr, done.stderr
