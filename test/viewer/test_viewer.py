"""The viewer in a real browser, served by the node or by `urdf_usd view`: its poses compared with the URDF's kinematics, changes on
the screen, and its use by keyboard, with a screen reader, and on a phone.

Poses are read through `window.viewer` (described in viewer/src/app/main.ts), all else by role and name. In every
test, the page must not contact other servers, and must not log to the console. Screenshots are kept in
`.test-env/screenshots/`.
"""

import base64
import functools
import http.server
import io
import json
import math
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import threading
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cyclonedds", reason="the viewer is tested with joint states from cyclonedds (pip install cyclonedds)")
pytest.importorskip("playwright", reason="the viewer is tested in a browser that playwright drives (pip install playwright)")

from PIL import Image  # noqa: E402

import conftest  # noqa: E402
import kinematics  # noqa: E402
import posing  # noqa: E402
from browser import SETTLED  # noqa: E402
from mesh_counts import in_usd  # noqa: E402
from ros_node import ARM, PATIENCE, box, chain, description, free_port, transform  # noqa: E402
from ros_peer import JointState, Peer, String, TFMessage, until  # noqa: E402

SCREENSHOTS = conftest.ROOT / ".test-env" / "screenshots"
SCREENSHOTS.mkdir(parents=True, exist_ok=True)
DESK, PHONE, SMALL = {"width": 960, "height": 600}, {"width": 390, "height": 844}, {"width": 840, "height": 480}
ARM_URDF = ARM / "urdf" / "sample_arm.urdf"
TABS = ("joints", "robots", "frames", "view", "diagnostics")


# ---- The browser --------------------------------------------------------------------------------------------------------------


class Viewer:
    """A browser page with the viewer."""

    def __init__(self, context, url):
        self.url = url
        self.requests, self.errors = [], []
        #: Expected console messages of the test.
        self.expected = None
        context.set_default_timeout(PATIENCE * 1000)
        self.page = context.new_page()
        self.page.add_init_script(
            "window.violations = []; document.addEventListener('securitypolicyviolation',"
            " (e) => violations.push(`${e.violatedDirective}: ${e.blockedURI}`));"
        )
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        # Do not wait for the load event: a page that draws continuously on a slow machine may delay it.
        self.page.goto(url, wait_until="commit")
        self.until(lambda: self.page.evaluate("'viewer' in window"), "the page does not start")
        self.page.evaluate("viewer.ready")

    def __getattr__(self, name):
        """Calls a method of `window.viewer`."""
        return lambda *arguments: self.page.evaluate(f"(a) => viewer.{name}(...a)", list(arguments))

    def get(self, selector):
        return self.page.locator(selector)

    def until(self, condition, what):
        # Polls from here: the page's security policy forbids polling in the page.
        return until(condition, PATIENCE, what)

    def shows(self, key, revision=None):
        """Waits until a revision of a robot is on the screen."""
        self.until(lambda: key in self.robots() and self.revision(key) is not None, f"{key} is not listed")
        if revision is not None:
            self.until(lambda: self.revision(key) == revision, f"{key} does not get to revision {revision}")
        return self

    def tab(self, name):
        self.get(f"#tab-{name}").click()
        assert self.get(f"#panel-{name}").is_visible()

    def slider(self, joint):
        return self.page.get_by_role("slider", name=f"{joint} position", exact=True)

    def settled(self):
        """Waits until rendering is idle."""
        self.page.evaluate(SETTLED)

    def now(self):
        """Returns the current image of the canvas, as RGB."""
        # A screenshot of the page: that of a locator would wait until nothing moves.
        png = self.page.screenshot(clip=self.get("#canvas").bounding_box())
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)

    def picture(self):
        """Returns the image of the canvas when rendering is idle."""
        self.settled()
        return self.now()

    def keep(self, name):
        self.settled()
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")

    def holds(self, key, urdf):
        """Compares every link with the URDF at the joint positions of the page, and returns the positions."""
        positions, frames = self.page.evaluate(
            "([key, links]) => [viewer.positions(key), links.map((link) => viewer.linkMatrix(key, link))]", [key, list(urdf.links)]
        )
        expected = posing.link_frames(urdf, positions)
        for link, frame in zip(urdf.links, frames, strict=True):
            error = np.abs(np.array(frame).reshape(4, 4).T - expected[link]).max()
            assert error < 1e-6, f"{link} is off by {error:.3g} with the joints at {positions}"
        return positions

    def at(self, key, expected):
        """Returns whether joints are at these positions."""
        positions = self.positions(key)
        return all(np.allclose(positions.get(joint, np.nan), value, rtol=0, atol=1e-9) for joint, value in expected.items())

    def close(self):
        """Closes the page, which must have contacted only its server, without console messages."""
        if self.page.is_closed():
            return
        try:
            self._check()
        finally:
            self.page.context.close()

    def _check(self):
        own = urllib.parse.urlsplit(self.url).netloc
        local = ("data:", "blob:")
        others = [r for r in self.requests if not r.startswith(local) and urllib.parse.urlsplit(r).netloc != own]
        assert not others, others
        assert self.page.evaluate("violations") == []
        errors = [e for e in self.errors if not (self.expected and re.search(self.expected, e))]
        assert not errors, errors


@pytest.fixture
def open_viewer(browser):
    """Opens the page; `options` are those of a browser context."""
    opened = []

    def open_viewer(url, **options):
        context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", "color_scheme": "light"} | options)
        opened.append(viewer := Viewer(context, url))
        return viewer

    yield open_viewer
    for viewer in opened:
        viewer.close()


def changed(before, after):
    """Returns the number of visibly different pixels."""
    return int((np.abs(before - after).max(axis=2) > 16).sum())


# ---- Servers ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def start(start):
    """Starts nodes, and returns each with the address of its page."""

    def served(**parameters):
        node = start(**{"http.port": free_port()} | parameters)
        return node, re.search(r"http://\S+", node.logged(r"the page is at http://\S+").group()).group()

    return served


@pytest.fixture
def arm(start, peer, open_viewer):
    """Opens the page of a node with the sample arm."""

    def arm(**options):
        _, url = start(packages=[f"sample_arm={ARM}"])
        description(peer, ARM_URDF.read_text())
        return open_viewer(url, **options).shows("sample_arm")

    return arm


@pytest.fixture(scope="session")
def asset(tmp_path_factory):
    """Converts the sample arm."""
    return conftest.convert(conftest.source("sample_arm"), tmp_path_factory.mktemp("viewed"))


@pytest.fixture
def view(tmp_path):
    """Runs `urdf_usd view`, and returns the address of its page."""
    running = []

    def view(*arguments):
        log = tmp_path / f"view{len(running)}.txt"
        command = [conftest.program(), "view", *arguments, "--port", "0"]
        with log.open("wb") as stream:
            running.append(process := subprocess.Popen([*map(str, command)], stdout=stream, stderr=subprocess.STDOUT))

        def address():
            assert process.poll() is None, log.read_text()
            return re.search(r"http://[\w.:\[\]]+/", log.read_text())

        return until(address, PATIENCE, "no address").group()

    yield view
    for process in running:
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) is not None


def urdf_of(text, tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    return kinematics.read(path)


# ---- Joints -------------------------------------------------------------------------------------------------------------------


def test_the_robot_follows_its_joint_states(arm, peer):
    viewer = arm()
    urdf = kinematics.read(ARM_URDF)
    states = peer.publisher("/joint_states", JointState).matched(PATIENCE)

    def follows():
        """Returns whether the page shows that joint states move the robot, and locks its controls."""
        return viewer.get("#live-badge").is_visible() and viewer.slider("elbow_joint").is_disabled()

    def move(positions):
        message = JointState(name=list(positions), position=list(positions.values()))
        moved = lambda: states.write(message) or viewer.at("sample_arm", positions) and follows()  # noqa: E731
        viewer.until(moved, f"the robot does not go to {positions}")
        viewer.holds("sample_arm", urdf)
        return viewer.picture()

    chance = random.Random(1)
    first, second = (posing.random_positions(urdf, chance) for _ in range(2))
    before = move(first)
    assert changed(before, move(second)) > 1000
    # The same pose gives the same image.
    assert changed(before, move(first)) < 50
    # A joint that is not in a message keeps its position.
    move({"elbow_joint": 0.5})
    assert viewer.at("sample_arm", {k: v for k, v in first.items() if k != "elbow_joint"})
    # The publisher stops.
    viewer.until(lambda: viewer.slider("elbow_joint").is_enabled(), "the sliders stay locked")
    assert not follows()
    assert viewer.at("sample_arm", {"elbow_joint": 0.5})


@pytest.fixture
def demo(domain, tmp_path):
    """Runs the demo, and returns the address of its page."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("ROS_", "RMW_", "AMENT_"))}
    log = tmp_path / "demo.txt"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [str(conftest.program()), "demo", "-o", str(tmp_path / "out")],
            stdout=stream, stderr=subprocess.STDOUT, env=environment | {"ROS_DOMAIN_ID": str(domain)},
        )  # fmt: skip
    yield until(lambda: re.search(r"http://127\.0\.0\.1:\d+/", log.read_text()), PATIENCE, "no address").group()
    process.send_signal(signal.SIGINT)
    process.wait(PATIENCE)


def test_the_demos_robot_moves(demo, open_viewer):
    viewer = open_viewer(demo, viewport={"width": 900, "height": 600})
    key = "sample_rover"
    viewer.shows(key)
    urdf = kinematics.read(conftest.source(key).urdf)
    seen, before = [viewer.holds(key, urdf)], viewer.now()
    for _ in range(5):
        viewer.until(lambda: viewer.positions(key) != seen[-1], "the robot does not move")
        seen.append(viewer.holds(key, urdf))
    assert viewer.get("#live-badge").is_visible()
    viewer.until(lambda: changed(before, viewer.now()) > 200, "nothing changes on the screen")
    viewer.page.screenshot(path=SCREENSHOTS / "live.png")
    # It drives in the frame of its odometry, along ROS's x, which is glTF's z; the camera follows on request.
    place = lambda: viewer.base(key)[14]  # noqa: E731
    viewer.until(lambda: abs(place()) > 0.2, "it does not drive")
    viewer.tab("view")
    assert viewer.get("#choose-frame").locator("option:checked").inner_text() == "odom"
    viewer.get("#option-follow").check()
    # A robot that is whole in the picture is fitted again when it would leave it; so the camera is so near that it only follows.
    viewer.get("#camera-fit").click()
    apart = lambda: math.dist(*viewer.page.evaluate("[viewer.camera().position, viewer.camera().target]"))  # noqa: E731
    far = apart()
    viewer.get("#canvas").focus()
    viewer.until(lambda: viewer.page.keyboard.press("+") or apart() < 0.4 * far, "the keys do not zoom in")
    # In each drawn frame, the camera is where the robot is.
    viewer.page.evaluate(
        """(key) => {
            const ask = window.requestAnimationFrame.bind(window);
            window.requestAnimationFrame = (draw) => ask((time) => {
                const before = viewer.frame();
                draw(time);
                if (viewer.frame() !== before) window.drawn = [viewer.base(key)[14], viewer.camera().target[2]];
            });
        }""",
        key,
    )
    now = lambda: viewer.page.evaluate("window.drawn")  # noqa: E731
    start, target = viewer.until(now, "nothing is drawn")
    viewer.until(lambda: abs(now()[0] - start) > 0.5, "it does not drive on")
    moved = now()
    assert moved[1] - target == pytest.approx(moved[0] - start, abs=1e-6)
    viewer.get("#choose-frame").select_option(label="none: stay at the origin")
    viewer.until(lambda: place() == 0, "it does not return to the origin")


def by_hand(viewer, keep):
    """Moves the sample arm with slider, keys and field."""
    urdf, key = kinematics.read(ARM_URDF), "sample_arm"
    before = viewer.picture()
    slider = viewer.slider("shoulder_pan_joint")
    slider.focus()
    for _ in range(10):
        viewer.page.keyboard.press("PageUp")
    moved = viewer.holds(key, urdf)["shoulder_pan_joint"]
    assert 0.5 < moved < 2.9
    assert changed(before, viewer.picture()) > 1000
    viewer.page.keyboard.press("ArrowLeft")
    assert viewer.holds(key, urdf)["shoulder_pan_joint"] < moved
    assert float(slider.input_value()) == pytest.approx(viewer.positions(key)["shoulder_pan_joint"], abs=1e-9)
    viewer.page.keyboard.press("Home")
    assert viewer.holds(key, urdf)["shoulder_pan_joint"] == pytest.approx(-2.9)
    # With the pointer, to the middle.
    bounds = viewer.slider("elbow_joint").bounding_box()
    viewer.page.mouse.click(bounds["x"] + bounds["width"] * 0.75, bounds["y"] + bounds["height"] / 2)
    assert viewer.holds(key, urdf)["elbow_joint"] == pytest.approx(-1.7 + 0.75 * 4.1, abs=0.1)
    # By typing; then a joint that drives another.
    field = viewer.page.get_by_label("wrist_pitch_joint value in radians")
    field.fill("0.25")
    field.press("Enter")
    assert viewer.holds(key, urdf)["wrist_pitch_joint"] == 0.25
    viewer.slider("left_finger_joint").press("End")
    positions = viewer.holds(key, urdf)
    assert positions["left_finger_joint"] == positions["right_finger_joint"] == pytest.approx(0.03)
    assert viewer.slider("right_finger_joint").is_disabled()
    viewer.keep(keep)
    viewer.get("#reset-joints").click()
    assert viewer.at(key, {joint: 0 for joint in positions})
    viewer.holds(key, urdf)
    assert changed(before, viewer.picture()) < 50


def test_sliders_move_it_without_publisher(arm):
    by_hand(arm(), "sliders")


def test_an_asset_without_ros(view, open_viewer, asset):
    viewer = open_viewer(view(asset.directory)).shows("sample_arm")
    by_hand(viewer, "view-command")


@pytest.mark.parametrize("file", ["glb", "entry"])
def test_an_asset_named_by_a_file(view, open_viewer, asset, file):
    viewer = open_viewer(view(getattr(asset, file))).shows("sample_arm")
    viewer.holds("sample_arm", kinematics.read(ARM_URDF))


POSES = """<robot name="sample_arm">
  <group name="arm"><chain base_link="base_link" tip_link="tool0"/></group>
  <group_state name="ready" group="arm">
    <joint name="shoulder_lift_joint" value="-0.5"/><joint name="elbow_joint" value="1.25"/><joint name="wrist_pitch_joint" value="0.75"/>
  </group_state>
</robot>"""


def test_named_poses(start, peer, open_viewer, tmp_path):
    srdf = tmp_path / "arm.srdf"
    srdf.write_text(POSES)
    _, url = start(packages=[f"sample_arm={ARM}"], srdf_file=srdf)
    description(peer, ARM_URDF.read_text())
    viewer = open_viewer(url).shows("sample_arm")
    urdf, before = kinematics.read(ARM_URDF), viewer.picture()
    viewer.setPosition("sample_arm", "forearm_roll_joint", 0.5)
    viewer.get("#panel-joints").get_by_role("button", name="ready", exact=True).click()
    expected = {"shoulder_lift_joint": -0.5, "elbow_joint": 1.25, "wrist_pitch_joint": 0.75}
    assert viewer.at("sample_arm", expected), viewer.positions("sample_arm")
    # The pose has only these joints: others keep their position.
    assert viewer.at("sample_arm", {"forearm_roll_joint": 0.5, "shoulder_pan_joint": 0})
    viewer.holds("sample_arm", urdf)
    assert changed(before, viewer.picture()) > 1000
    viewer.keep("named-pose")


@pytest.fixture
def viewed(view, open_viewer, asset, tmp_path):
    """Opens the page on a copy of the sample arm, whose folder is `folder`."""

    def viewed(**options):
        folder = tmp_path / "sample_arm"
        if not folder.exists():
            shutil.copytree(asset.directory, folder)
        # A small window, as rendering is in software.
        viewer = open_viewer(view(folder), **{"viewport": SMALL} | options).shows("sample_arm")
        viewer.folder = folder
        return viewer

    return viewed


def listed_poses(folder):
    """Returns the poses from the command line: positions of joints by name."""
    entry = folder / f"{folder.name}.poses.usda"
    done = subprocess.run([str(conftest.program()), "pose", "list", str(entry), "--json"], capture_output=True, text=True, check=True)
    return {pose["name"]: pose["joints"] for pose in json.loads(done.stdout)["poses"]}


def test_a_pose_is_stored_by_hand(viewed):
    viewer, key = viewed(), "sample_arm"
    poses = lambda: viewer.page.get_by_role("list", name="Poses").get_by_role("button").all_inner_texts()  # noqa: E731
    # Poses of the file are listed too, and cannot be deleted.
    viewer.get("#pose-more > summary").click()
    viewer.until(lambda: viewer.get("#pose-name").is_visible(), "no pose can be stored")
    assert poses() == ["home", "Reset"]
    viewer.setPosition(key, "elbow_joint", 0.75)
    viewer.setPosition(key, "left_finger_joint", 0.02)
    name = viewer.page.get_by_label("Name of the pose to store")
    # An invalid name shows the message at the field.
    name.press("Enter")
    assert name.get_attribute("aria-invalid") == "true" and "name" in viewer.get("#pose-problem").inner_text()
    viewer.expected = "status of 422"
    name.fill("x" * 101)
    name.press("Enter")
    viewer.until(lambda: "101 characters" in viewer.get("#pose-problem").inner_text(), "the server's reason is not shown")
    name.fill("reach out")
    name.press("Enter")
    viewer.until(lambda: "reach out" in poses(), "the pose is not listed")
    # The event of the server may come before its answer.
    viewer.until(lambda: "Stored" in viewer.get("#pose-said").inner_text(), "the page does not confirm it")
    assert viewer.get("#pose-problem").is_hidden()
    viewer.keep("pose-stored")
    stored = listed_poses(viewer.folder)["reach out"]
    assert stored["elbow_joint"] == pytest.approx(0.75, abs=1e-6) and "right_finger_joint" not in stored
    # The pose survives a reload, and moves the robot.
    viewer.page.reload(wait_until="commit")
    viewer.until(lambda: viewer.page.evaluate("'viewer' in window"), "the page does not start")
    viewer.shows(key)
    viewer.page.get_by_role("button", name="reach out", exact=True).click()
    positions = viewer.holds(key, kinematics.read(ARM_URDF))
    assert positions["elbow_joint"] == pytest.approx(0.75, abs=1e-6)
    assert positions["right_finger_joint"] == pytest.approx(0.02, abs=1e-6), "mimic joints must follow"
    # Deleted, and restored by undo.
    viewer.page.get_by_role("button", name="Delete the pose reach out").click()
    viewer.until(lambda: poses() == ["home", "Reset"], "the pose stays listed")
    assert listed_poses(viewer.folder) == {}
    viewer.page.get_by_role("button", name="Undo").click()
    viewer.until(lambda: "reach out" in poses(), "the pose does not come back")
    assert listed_poses(viewer.folder)["reach out"] == pytest.approx(stored, abs=1e-6)


def test_poses_stored_by_others_appear_without_reload(viewed):
    """Stored by the command line; the services of the node write the same files."""
    viewer = viewed()
    poses = lambda: viewer.page.get_by_role("list", name="Poses").get_by_role("button").all_inner_texts()  # noqa: E731
    viewer.until(lambda: poses() == ["home", "Reset"], "the poses are not shown")
    entry = viewer.folder / "sample_arm.usda"
    stored = conftest.run("pose", "store", entry, "reach out", "--set", "elbow_joint=0.75")
    assert stored.returncode == 0, stored.stderr
    viewer.until(lambda: "reach out" in poses(), "the pose does not come")
    viewer.page.get_by_role("button", name="reach out", exact=True).click()
    assert viewer.positions("sample_arm")["elbow_joint"] == pytest.approx(0.75, abs=1e-6)
    assert conftest.run("pose", "delete", viewer.folder / "sample_arm.poses.usda", "reach out").returncode == 0
    viewer.until(lambda: poses() == ["home", "Reset"], "the pose stays")
    assert viewer.revision("sample_arm") == 1


def test_a_single_file_explains_why_poses_cannot_be_stored(view, open_viewer, asset, tmp_path):
    glb = shutil.copy(asset.glb, tmp_path)
    viewer = open_viewer(view(glb)).shows("sample_arm")
    viewer.get("#pose-more > summary").click()
    viewer.until(lambda: "OpenUSD" in viewer.get("#pose-locked").inner_text(), "the reason is not shown")
    assert viewer.get("#store-pose").is_hidden()


def test_angles_turns_and_units(viewed):
    """A joint without limits keeps full turns; angles are in degrees or radians, also when typed."""
    viewer, key, joint = viewed(), "sample_arm", "forearm_roll_joint"
    at = lambda: viewer.positions(key)[joint]  # noqa: E731
    viewer.setPosition(key, joint, 602.65)
    row = viewer.get(f'li[data-joint="{joint}"]')
    viewer.until(lambda: "+ 96 turns" in row.inner_text(), row.inner_text())
    viewer.slider(joint).press("ArrowRight")
    assert at() == pytest.approx(602.66, abs=1e-9)
    viewer.slider(joint).press("PageDown")
    assert at() == pytest.approx(602.56, abs=1e-9)
    viewer.page.get_by_role("button", name="deg", exact=True).click()
    field = viewer.page.get_by_label(f"{joint} value in degrees")
    field.fill("90")
    field.press("Enter")
    assert at() == pytest.approx(np.pi / 2 + 96 * 2 * np.pi, abs=1e-9)
    field.press("ArrowUp")
    assert at() == pytest.approx(np.pi / 2 + 96 * 2 * np.pi + 0.01, abs=1e-9)
    row.get_by_role("button", name="Remove them").click()
    assert at() == pytest.approx(np.pi / 2 + 0.01, abs=1e-9)
    field.fill("0.5 rad")
    field.press("Enter")
    assert at() == 0.5
    # Invalid input changes nothing.
    field.fill("a lot")
    field.press("Enter")
    assert at() == 0.5 and field.input_value() == "28.65"
    # The choice is stored.
    viewer.page.reload(wait_until="commit")
    viewer.until(lambda: viewer.page.get_by_label(f"{joint} value in degrees").count() == 1, "the unit is forgotten")


# ---- By hand ------------------------------------------------------------------------------------------------------------------


class Pointer:
    """The pointer on the canvas: coordinates are from its top left."""

    def __init__(self, viewer):
        self.viewer, self.mouse = viewer, viewer.page.mouse
        self.origin = viewer.get("#canvas").bounding_box()

    def to(self, x, y, steps=1):
        self.mouse.move(self.origin["x"] + x, self.origin["y"] + y, steps=steps)

    def on(self, link):
        """Returns a visible point of a link of the sample arm, on the canvas and in the link."""
        x, y = self.viewer.project("sample_arm", link, [0, 0, 0])
        around = sorted(((dx, dy) for dx in range(-60, 61, 6) for dy in range(-60, 61, 6)), key=lambda at: np.hypot(*at))
        for dx, dy in around:
            hit = self.viewer.pick(x + dx, y + dy)
            if hit and hit["link"] == link:
                return np.array([x + dx, y + dy]), hit["point"]
        raise AssertionError(f"{link} is not visible")


def within_limits(urdf, positions):
    for name, joint in urdf.joints.items():
        if name in positions and joint.kind != "continuous":
            assert joint.lower - 1e-6 <= positions[name] <= joint.upper + 1e-6, (name, positions[name])


def test_a_link_is_dragged(viewed):
    viewer, key, urdf = viewed(), "sample_arm", kinematics.read(ARM_URDF)
    viewer.setPosition(key, "left_finger_joint", 0.02)
    pointer = Pointer(viewer)
    at, point = pointer.on("flange_link")
    before, camera = viewer.positions(key), viewer.camera()

    def drag(way, steps):
        pointer.to(*at)
        pointer.mouse.down()
        pointer.to(*(at + way), steps=steps)
        viewer.settled()

    # Without the tool, the camera rotates.
    drag(np.array([60, 20]), 4)
    pointer.mouse.up()
    assert viewer.positions(key) == before and viewer.camera() != camera
    viewer.get("#camera-iso").click()
    viewer.settled()
    at, point = pointer.on("flange_link")
    viewer.get("#canvas").focus()
    viewer.page.keyboard.press("m")
    assert viewer.get("#tool-move").get_attribute("aria-pressed") == "true"
    camera = viewer.camera()
    way = np.array([70, -50])
    drag(way, 6)
    # The grabbed point is under the pointer, within a pixel.
    assert np.abs(np.array(viewer.project(key, "flange_link", point)) - (at + way)).max() < 0.5
    within_limits(urdf, viewer.holds(key, urdf))
    pointer.mouse.up()
    moved = viewer.holds(key, urdf)
    assert moved != before and moved["right_finger_joint"] == pytest.approx(0.02) and viewer.camera() == camera
    viewer.keep("dragged")
    # Beyond the reach: limits hold, and are shown. This link has a single joint above it.
    viewer.setPosition(key, "shoulder_pan_joint", 2.8)
    moved = viewer.positions(key)
    viewer.settled()
    at, _ = pointer.on("shoulder_link")
    drag(np.array([60, 0]), 3)
    if viewer.get("#at-limit").is_hidden():
        pointer.to(*(at - [60, 0]), steps=3)
        viewer.settled()
    assert viewer.get("#at-limit").inner_text() == "shoulder_pan_joint is at its limit"
    assert viewer.at(key, {"shoulder_pan_joint": 2.9}) and viewer.marked() == ["shoulder_pan_joint"]
    viewer.keep("dragged-to-limits")
    # Escape restores the pose.
    viewer.page.keyboard.press("Escape")
    pointer.mouse.up()
    assert viewer.positions(key) == pytest.approx(moved, abs=1e-12)
    assert viewer.get("#at-limit").is_hidden()


def test_handles_and_keys_move_the_tip(viewed):
    viewer, key, urdf = viewed(), "sample_arm", kinematics.read(ARM_URDF)
    viewer.page.get_by_role("button", name="Move links").click()
    pointer = Pointer(viewer)
    at, _ = pointer.on("flange_link")
    pointer.to(*at)
    pointer.mouse.down()
    pointer.mouse.up()
    assert "flange_link" in viewer.get("#selected-link").inner_text()
    assert viewer.get("#panel-joints").is_visible(), "dragging a link must not switch the panel"
    assert viewer.marked() == [], "the handles have the place of the joint's mark"
    viewer.settled()
    frame = lambda: np.array(viewer.linkMatrix(key, "flange_link")).reshape(4, 4).T  # noqa: E731
    # By keys: a centimetre to the right as seen from the camera, with the same orientation.
    start = frame()
    viewer.get("#canvas").focus()
    for _ in range(5):
        viewer.page.keyboard.press("Shift+ArrowUp")
    step = frame()[:3, 3] - start[:3, 3]
    assert np.linalg.norm(step) == pytest.approx(0.05, abs=1e-5) and step[1] > 0.02
    assert np.abs(frame()[:3, :3] - start[:3, :3]).max() < 1e-4
    # The handle along ROS's z, which is up, changes only the height.
    viewer.settled()
    start = frame()
    up = np.array(viewer.project(key, "flange_link", list(np.linalg.inv(start)[:3, :3] @ [0, 0.09, 0])))
    origin = np.array(viewer.project(key, "flange_link", [0, 0, 0]))
    for part in np.linspace(0.5, 2.5, 30):
        pointer.to(*(origin + (up - origin) * part))
        pointer.mouse.down()
        pointer.to(*(origin + (up - origin) * (part + 0.4)), steps=4)
        viewer.settled()
        pointer.mouse.up()
        change = frame()[:3, 3] - start[:3, 3]
        if np.linalg.norm(change) > 1e-3:
            break
    assert change[1] > 5e-3 and np.abs(change[[0, 2]]).max() < 1e-4, change
    within_limits(urdf, viewer.holds(key, urdf))
    viewer.keep("handles")


def test_a_hovered_link_shows_its_axis(viewed):
    viewer = viewed()
    pointer = Pointer(viewer)
    plain = viewer.picture()
    at, _ = pointer.on("upper_arm_link")
    pointer.to(*at)
    viewer.until(lambda: viewer.marked() == ["shoulder_lift_joint"], "the joint above is not marked")
    assert changed(plain, viewer.picture()) > 300
    assert "pointed" in viewer.get('li[data-joint="shoulder_lift_joint"]').get_attribute("class")
    viewer.keep("axis")
    # Also from the panel, and by keyboard.
    viewer.slider("wrist_pitch_joint").focus()
    viewer.until(lambda: viewer.marked() == ["wrist_pitch_joint"], "the joint with the focus is not marked")
    # A click opens the details of the link, and its place in the tree.
    pointer.to(*at)
    pointer.mouse.down()
    pointer.mouse.up()
    assert viewer.get("#panel-frames").is_visible()
    assert viewer.get("#link-details").get_by_role("heading", name="upper_arm_link").is_visible()
    item = viewer.page.get_by_role("tree", name="Links").locator('[data-id="upper_arm_link"]')
    tree, row = viewer.get("#panel-frames").bounding_box(), item.bounding_box()
    assert tree["y"] <= row["y"] <= tree["y"] + tree["height"]


def test_a_pose_is_read_and_typed(viewed):
    """The pose of a link in another's frame, in the URDF's terms; typed numbers move the link. Links are found, hidden and isolated."""
    viewer, key, urdf = viewed(), "sample_arm", kinematics.read(ARM_URDF)
    viewer.setPosition(key, "shoulder_pan_joint", 0.5)
    viewer.setPosition(key, "elbow_joint", 0.75)
    viewer.tab("frames")
    search = viewer.page.get_by_label("Search links and joints")
    search.fill("flange revolute")
    rows = viewer.page.get_by_role("tree", name="Links").get_by_role("treeitem")
    assert "flange_roll_joint" in rows.last.inner_text() and rows.count() < len(urdf.links)
    rows.last.click()
    field = lambda part: viewer.get(f"#pose-{part}")  # noqa: E731
    shown = lambda: np.array([float(field(part).input_value()) for part in ("x", "y", "z", "roll", "pitch", "yaw")])  # noqa: E731
    quaternion = lambda: np.array([float(n) for n in viewer.get("#pose-quaternion").inner_text().split(",")])  # noqa: E731

    def matches(reference):
        """Compares the numbers with the kinematics of the URDF."""
        frames = posing.link_frames(urdf, viewer.positions(key))
        # From the page's axes, which are glTF's, to ROS's.
        turn = np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]])
        pose = turn @ np.linalg.inv(frames[reference]) @ frames["flange_link"] @ turn.T
        x, y, z, roll, pitch, yaw = shown()
        assert np.allclose([x, y, z], pose[:3, 3], atol=1e-5)
        spin = lambda k, a: np.roll(np.roll([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]], k, 0), k, 1)  # noqa: E731
        assert np.allclose(spin(2, yaw) @ spin(1, pitch) @ spin(0, roll), pose[:3, :3], atol=2e-4)
        (u, v, w), s = quaternion()[:3], quaternion()[3]
        assert np.allclose([s * s + u * u - v * v - w * w, 2 * (u * v + s * w), 2 * (u * w - s * v)], pose[:3, 0], atol=1e-4)

    assert viewer.get("#pose-reference").input_value() == "world"
    matches("world")
    viewer.get("#pose-reference").select_option("forearm_link")
    matches("forearm_link")
    before = shown()
    viewer.setPosition(key, "wrist_pitch_joint", 0.3)
    viewer.until(lambda: not np.allclose(before, shown()), "the numbers do not follow")
    matches("forearm_link")
    # Typed: the joints follow, and the other numbers stay.
    viewer.get("#pose-reference").select_option("base_link")
    before = shown()
    field("z").fill(f"{before[2] - 0.02:.5f}")
    field("z").press("Enter")
    assert np.allclose(shown(), before - [0, 0, 0.02, 0, 0, 0], atol=1e-3), viewer.get("#pose-note").inner_text()
    matches("base_link")
    field("x").fill("90")
    field("x").press("Enter")
    assert "Out of reach" in viewer.get("#pose-note").inner_text()
    viewer.keep("pose-in-numbers")
    # Hidden, isolated, and shown again.
    whole = viewer.picture()
    viewer.get("#hide-link").click()
    assert changed(whole, viewer.picture()) > 100 and "hidden" in rows.last.inner_text()
    viewer.get("#isolate-link").click()
    alone = viewer.picture()
    assert changed(whole, alone) > 1000
    viewer.get("#show-all-links").click()
    assert changed(whole, viewer.picture()) < 50


def test_a_robot_with_joint_states_is_moved_by_hand_only_after_unlocking(arm, peer):
    viewer, key = arm(), "sample_arm"
    states = peer.publisher("/joint_states", JointState).matched(PATIENCE)
    message = JointState(name=["elbow_joint"], position=[0.5])
    live = lambda: states.write(message) or viewer.get("#live-badge").is_visible()  # noqa: E731
    viewer.until(lambda: live() and viewer.at(key, {"elbow_joint": 0.5}), "it does not follow")
    assert viewer.get("#by-hand").is_hidden()
    viewer.get("#tool-move").click()
    pointer = Pointer(viewer)
    viewer.settled()
    at, _ = pointer.on("flange_link")
    pointer.to(*at)
    pointer.mouse.down()
    pointer.to(*(at + [40, -30]), steps=3)
    viewer.until(lambda: live() and viewer.get("#by-hand").is_visible(), "it does not say so")
    pointer.mouse.up()
    assert not viewer.at(key, {"elbow_joint": 0.5})
    # The notice is shown as long as joint states are published.
    press = "document.getElementById('back-to-live').click()"
    viewer.until(lambda: live() and viewer.get("#back-to-live").is_visible() and viewer.page.evaluate(press) is None, "no way back")
    viewer.until(lambda: live() and viewer.at(key, {"elbow_joint": 0.5}), "it does not go back")
    assert viewer.get("#by-hand").is_hidden()


# ---- Recordings, files --------------------------------------------------------------------------------------------------------


def give(viewer, *files):
    """Drops files on the page."""
    held = [{"name": path.name, "data": base64.b64encode(path.read_bytes()).decode()} for path in files]
    viewer.page.evaluate(
        """(files) => {
            const data = new DataTransfer();
            for (const { name, data: text } of files)
                data.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], name));
            for (const kind of ['dragenter', 'dragover', 'drop'])
                document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        held,
    )


def mcap(moments):
    """Returns a recording of joint states like rosbag2's without chunks: (seconds, {joint: position})."""
    text = lambda value: struct.pack("<I", len(value)) + value.encode()  # noqa: E731
    record = lambda code, content: struct.pack("<BQ", code, len(content)) + content  # noqa: E731

    def cdr(positions):
        held = bytearray(struct.pack("<iI", 0, 0) + struct.pack("<I", 1) + b"\0")
        align = lambda size: held.extend(b"\0" * (-len(held) % size))  # noqa: E731
        align(4)
        held.extend(struct.pack("<I", len(positions)))
        for name in positions:
            align(4)
            held.extend(struct.pack("<I", len(name) + 1) + name.encode() + b"\0")
        align(4)
        held.extend(struct.pack("<I", len(positions)))
        align(8)
        held.extend(struct.pack(f"<{len(positions)}d", *positions.values()))
        # Without velocities and efforts.
        held.extend(struct.pack("<II", 0, 0))
        return b"\0\1\0\0" + bytes(held)

    magic = b"\x89MCAP0\r\n"
    out = magic + record(1, text("ros2") + text("test"))
    out += record(3, struct.pack("<H", 1) + text("sensor_msgs/msg/JointState") + text("ros2msg") + struct.pack("<I", 0))
    out += record(4, struct.pack("<HH", 0, 1) + text("/joint_states") + text("cdr") + struct.pack("<I", 0))
    for number, (time, positions) in enumerate(moments):
        at = int(time * 1e9)
        out += record(5, struct.pack("<HIQQ", 0, number, at, at) + cdr(positions))
    return out + record(15, struct.pack("<I", 0)) + record(2, struct.pack("<QQI", 0, 0, 0)) + magic


def test_a_recording_is_played(viewed, tmp_path):
    viewer, key, urdf = viewed(), "sample_arm", kinematics.read(ARM_URDF)
    at = lambda: viewer.positions(key)["elbow_joint"]  # noqa: E731
    table = tmp_path / "moves.csv"
    table.write_text("time,elbow_joint,stranger\n5,0,1\n6,1,1\n7,0.5,1\n")
    give(viewer, table)
    viewer.until(lambda: viewer.get("#player").is_visible(), "nothing is played")
    assert "1 joint" in viewer.get("#said").inner_text() and "2.00 s" in viewer.get("#said").inner_text()
    line = viewer.page.get_by_role("slider", name="Time")
    mark = lambda: viewer.get("#player-toggle").get_attribute("aria-label")  # noqa: E731
    # By keys: to its end, where it stops, to its start, and back.
    line.press("End")
    assert at() == 0.5 and line.get_attribute("aria-valuetext") == "2.00 of 2.00 seconds"
    viewer.until(lambda: mark() == "Play", "it does not stop at the end")
    line.press("Home")
    assert at() == 0 and mark() == "Play"
    line.press("End")
    assert at() == 0.5
    line.press("ArrowLeft")
    assert at() == pytest.approx(0.501, abs=1e-9)
    bounds = line.bounding_box()
    viewer.page.mouse.click(bounds["x"] + bounds["width"] / 2, bounds["y"] + bounds["height"] / 2)
    assert at() == pytest.approx(1, abs=0.05)
    viewer.holds(key, urdf)
    viewer.keep("timeline")
    # It plays slowly, so that it does not end before it is stopped.
    viewer.page.get_by_label("Speed").select_option("0.25")
    line.press("Home")
    line.press(" ")
    viewer.until(lambda: at() not in (0, 0.5), "it does not move")
    line.press(" ")
    stopped = at()
    assert mark() == "Play" and at() == stopped != 0.5
    viewer.page.get_by_label("Speed").select_option("4")
    line.press(" ")
    viewer.until(lambda: at() == 0.5, "it does not come to its end")
    # Also a bag, by the button.
    bag = tmp_path / "moves.mcap"
    bag.write_bytes(mcap([(10, {"elbow_joint": 0.25, "wrist_pitch_joint": 1}), (14, {"elbow_joint": 1.25, "wrist_pitch_joint": 0})]))
    viewer.get("#file-input").set_input_files(bag)
    viewer.until(lambda: "moves.mcap: 2 joints, 4.00 s" in viewer.get("#said").inner_text(), "the bag is not played")
    line.press("End")
    assert viewer.at(key, {"elbow_joint": 1.25, "wrist_pitch_joint": 0})
    # An invalid recording is reported.
    table.write_text("time,elbow_joint\n0,left\n")
    give(viewer, table)
    viewer.until(lambda: 'line 2: "left" is not a position of elbow_joint' in viewer.get("#said").inner_text(), "nothing is said")
    viewer.get("#player-close").click()
    assert viewer.get("#player").is_hidden()


def test_a_recording_is_plotted_and_kept_in_view(viewed, tmp_path):
    """Plot, cursor and repetition; the robot stays in view as poses, recordings and the address move it."""
    viewer, key = viewed(), "sample_arm"
    links = list(kinematics.read(ARM_URDF).links)
    viewer.until(lambda: viewer.get("#camera-fit").is_visible(), "no toolbar")

    def is_in_view():
        """Returns whether all links are between the toolbar and the timeline."""
        viewer.settled()
        canvas, bar, line = (viewer.get(name).bounding_box() for name in ("#canvas", "#toolbar", "#player"))
        top, bottom = bar["y"] + bar["height"] - canvas["y"], (line["y"] - canvas["y"] if line else canvas["height"])
        places = [viewer.project(key, link, [0, 0, 0]) for link in links]
        return all(0 <= x <= canvas["width"] and top <= y <= bottom for x, y in places)

    table = tmp_path / "moves.csv"
    table.write_text(
        "time,shoulder_lift_joint,shoulder_lift_joint.effort,left_finger_joint\n0,0,1,0\n1,1.5,4,0.02\n2,1.5,2,0\n3,-1.5,0,0.03\n"
    )
    give(viewer, table)
    viewer.until(lambda: viewer.get("#player").is_visible(), "nothing is played")
    line = viewer.page.get_by_role("slider", name="Time")
    line.press("Home")
    viewer.get("#player-plot").click()
    curves = viewer.get("#plot path")
    assert [curve.get_attribute("data-joint") for curve in curves.all()] == ["shoulder_lift_joint", "left_finger_joint"]
    bounds = viewer.get("#plot svg:not(.swatch)").bounding_box()
    viewer.page.mouse.click(bounds["x"] + bounds["width"] / 2, bounds["y"] + bounds["height"] / 2)
    assert viewer.positions(key)["shoulder_lift_joint"] == pytest.approx(1.5, abs=0.02)
    texts = lambda: viewer.get("#plot .legend").inner_text()  # noqa: E731
    assert "1.5 rad" in texts() and " m" in texts()
    assert is_in_view()
    viewer.keep("plot")
    line.press("End")
    assert viewer.positions(key)["shoulder_lift_joint"] == -1.5 and is_in_view()
    viewer.get("#plot-quantity").select_option("effort")
    assert curves.count() == 1 and "0 Nm" in texts()
    # Repeated: it continues after its end.
    viewer.get("#player-loop").click()
    viewer.page.get_by_label("Speed").select_option("4")
    viewer.get("#player-toggle").click()
    viewer.until(lambda: float(line.input_value()) < 500, "it does not begin again")
    viewer.until(lambda: float(line.input_value()) > 500, "it does not continue")
    # Another robot ends it.
    give(viewer, Path(shutil.copy(viewer.folder / "sample_arm.glb", tmp_path / "mine.glb")))
    viewer.until(lambda: viewer.get("#player").is_hidden(), "it goes on with another robot")
    # An address with joints but without a camera shows all of the robot.
    viewer.page.goto(viewer.url + "#robot=sample_arm&joints=shoulder_lift_joint:1.5", wait_until="commit")
    viewer.page.reload(wait_until="commit")
    viewer.until(lambda: viewer.page.evaluate("'viewer' in window"), "the page does not start")
    viewer.shows(key)
    viewer.until(lambda: viewer.at(key, {"shoulder_lift_joint": 1.5}), "the joints are elsewhere")
    assert is_in_view()
    # A camera that was brought near stays there.
    viewer.get("#canvas").focus()
    for _ in range(12):
        viewer.page.keyboard.press("+")
    viewer.settled()
    near = viewer.camera()
    viewer.get("#panel-joints").get_by_role("button", name="Reset", exact=True).click()
    viewer.settled()
    assert viewer.camera() == near


def test_from_one_pose_to_another(viewed):
    viewer, key = viewed(), "sample_arm"
    viewer.setPosition(key, "left_finger_joint", 0.03)
    viewer.setPosition(key, "elbow_joint", 1)
    viewer.get("#pose-more > summary").click()
    viewer.page.get_by_label("Name of the pose to store").fill("bent")
    viewer.get("#store-pose").click()
    viewer.until(lambda: "bent" in viewer.get("#play-to").inner_text(), "the pose can't be chosen")
    viewer.get("#play-from").select_option(label="bent")
    viewer.get("#play-to").select_option(label="home")
    viewer.get("#play-poses").click()
    viewer.until(lambda: viewer.at(key, {"elbow_joint": 0, "left_finger_joint": 0}), "it does not arrive")
    line = viewer.page.get_by_role("slider", name="Time")
    line.press("Home")
    positions = viewer.positions(key)
    assert positions["elbow_joint"] == pytest.approx(1, abs=1e-6) and positions["right_finger_joint"] == pytest.approx(0.03, abs=1e-6)


def test_a_local_file_is_shown(viewed, asset, tmp_path):
    viewer = viewed()
    glb = Path(shutil.copy(asset.glb, tmp_path / "mine.glb"))
    give(viewer, glb)
    viewer.shows("./mine")
    assert viewer.page.get_by_role("combobox", name="Robot").locator("option:checked").inner_text() == "mine"
    viewer.holds("./mine", kinematics.read(ARM_URDF))
    viewer.get("#pose-more > summary").click()
    assert "keeps its poses" in viewer.get("#pose-locked").inner_text()
    # A glTF with its external file; without it, the missing file is reported.
    document, data = gltf_of(glb)
    document["buffers"][0]["uri"] = "arm data.bin"
    (tmp_path / "other.gltf").write_text(json.dumps(document))
    (tmp_path / "arm data.bin").write_bytes(data)
    give(viewer, tmp_path / "other.gltf")
    viewer.until(lambda: "arm data.bin" in viewer.get("#stage-message").inner_text(), "what is missing is not told")
    give(viewer, tmp_path / "other.gltf", tmp_path / "arm data.bin")
    viewer.shows("./other")
    viewer.holds("./other", kinematics.read(ARM_URDF))
    # A robot without visible shapes shows a note over the empty image.
    for node in document["nodes"]:
        node.pop("mesh", None)
    (tmp_path / "bare.gltf").write_text(json.dumps({key: value for key, value in document.items() if key != "meshes"}))
    give(viewer, tmp_path / "bare.gltf", tmp_path / "arm data.bin")
    viewer.until(lambda: "bare has no shapes to draw" in viewer.get("#stage-message").inner_text(), "nothing is said of the empty picture")
    # Also in an archive.
    with zipfile.ZipFile(tmp_path / "packed.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.write(asset.glb, "robots/packed.glb")
    give(viewer, tmp_path / "packed.zip")
    viewer.shows("./packed").holds("./packed", kinematics.read(ARM_URDF))
    # An unsupported file is reported; the server's robot is still available.
    (tmp_path / "notes.txt").write_text("hello")
    give(viewer, tmp_path / "notes.txt")
    viewer.until(lambda: "notes.txt is not supported" in viewer.get("#said").inner_text(), "nothing is said")
    viewer.page.get_by_role("combobox", name="Robot").select_option(label="sample_arm")
    viewer.shows("sample_arm")


def test_dropped_descriptions_are_converted(view, open_viewer, tmp_path):
    viewer = open_viewer(view())
    viewer.expected = "409"
    said = lambda: viewer.get("#said").inner_text()  # noqa: E731
    viewer.until(lambda: "Drop one here" in viewer.get("#stage-message").inner_text(), "the page does not ask for a robot")
    # The package in a ZIP, which also has another robot: the user chooses.
    other = '<robot name="block"><link name="block"><visual><geometry><box size="1 2 3"/></geometry></visual></link></robot>'
    with zipfile.ZipFile(tmp_path / "packages.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(ARM.rglob("*")):
            if file.is_file():
                packed.write(file, f"sample_arm/{file.relative_to(ARM)}")
        packed.writestr("sample_arm/urdf/block.urdf", other)
    give(viewer, tmp_path / "packages.zip")
    viewer.page.get_by_role("button", name="sample_arm/urdf/sample_arm.urdf", exact=True).click()
    viewer.shows("dropped-files/sample_arm").holds("dropped-files/sample_arm", kinematics.read(ARM_URDF))
    viewer.until(lambda: "sample_arm is converted" in said(), "the result is not reported")
    assert viewer.page.get_by_role("button", name="sample_arm/urdf/block.urdf").count() == 0
    # A URDF alone, then an edit of it that has no robot: the findings are shown with paths of the dropped files only.
    (tmp_path / "block.urdf").write_text(other)
    give(viewer, tmp_path / "block.urdf")
    viewer.shows("dropped-files/block")
    (tmp_path / "broken.urdf").write_text(other.replace("</link>", ""))
    give(viewer, tmp_path / "broken.urdf")
    viewer.until(lambda: "broken cannot be converted" in said(), "the failure is not reported")
    viewer.tab("diagnostics")
    found = viewer.get("#panel-diagnostics").inner_text()
    assert "dropped/broken.urdf" in found and tempfile.gettempdir() not in found
    # OpenUSD that refers to nothing else.
    done = conftest.run("convert", tmp_path / "block.urdf", "-o", tmp_path / "usd", "--formats", "usdz")
    assert done.returncode == 0, done.stderr
    give(viewer, tmp_path / "usd" / "block" / "block.usdz")
    viewer.until(lambda: viewer.revision("dropped-files/block") == 2, "the OpenUSD is not converted")


def test_a_page_without_a_service_names_the_command(viewed):
    viewer = viewed()
    viewer.expected = "404"
    viewer.page.route("**/api/uploads", lambda route: route.fulfill(status=404))
    give(viewer, ARM_URDF)
    viewer.until(lambda: "urdf_usd view sample_arm.urdf" in viewer.get("#said").inner_text(), "no command is named")


def gltf_of(glb):
    """Returns the JSON and the binary chunk of a GLB."""
    held = glb.read_bytes()
    length = int.from_bytes(held[12:16], "little")
    return json.loads(held[20 : 20 + length]), held[28 + length :]


def test_the_address_stores_the_view(viewed):
    viewer, key = viewed(), "sample_arm"
    viewer.setPosition(key, "elbow_joint", 0.75)
    viewer.setPosition(key, "left_finger_joint", 0.02)
    viewer.get("#canvas").focus()
    for pressed in ("ArrowLeft", "ArrowLeft", "+"):
        viewer.page.keyboard.press(pressed)
    # Collision shapes instead of visual ones.
    for pressed in ("c", "v"):
        viewer.page.keyboard.press(pressed)
    viewer.settled()
    camera = viewer.camera()
    # `page.url` may be outdated; ask the page itself.
    address = lambda: viewer.page.evaluate("location.href")
    viewer.until(lambda: all(part in address() for part in ("elbow_joint:0.75", "shapes=collision&", "camera=")), "the address lags behind")
    viewer.until(lambda: (old := address()) and viewer.page.wait_for_timeout(600) is None and old == address(), "rendering is never idle")
    # Without a graphics card, antialiasing is off by default.
    is_smooth = "document.querySelector('#canvas').getContext('webgl2').getContextAttributes().antialias"
    assert not viewer.page.evaluate(is_smooth)
    page, _, shown = address().partition("#")
    viewer.page.goto(f"{page}?antialias=on#{shown}", wait_until="commit")
    viewer.until(lambda: viewer.page.evaluate("'viewer' in window"), "the page does not start")
    viewer.shows(key)
    assert viewer.page.evaluate(is_smooth)
    viewer.until(lambda: viewer.at(key, {"elbow_joint": 0.75, "right_finger_joint": 0.02}), "the joints are elsewhere")
    for what in ("position", "target"):
        assert np.allclose(viewer.camera()[what], camera[what], atol=1e-3)
    viewer.tab("view")
    assert viewer.get("#option-collision").is_checked() and not viewer.get("#option-visual").is_checked()


def in_asset(folder, chosen):
    """Returns the numbers of visual and collision triangles with these variants."""
    counts = in_usd(folder / f"{folder.name}.usda", chosen)
    return {scope: sum(count for (_, of), (count, _) in counts.items() if of == scope) for scope in ("visual", "collision")}


FULL = {"visual_representation": "mesh_high", "collision_fidelity": "trimesh"}


def test_meshes_and_colliders_are_chosen(viewed):
    viewer, key = viewed(), "sample_arm"
    full, drawn = in_asset(viewer.folder, FULL), viewer.triangles(key)
    # Primitive shapes have the same triangles in every variant.
    others = {scope: drawn[scope] - full[scope] for scope in drawn}

    def shows(chosen, what):
        """Waits until the meshes of these variants are drawn."""
        meshes = in_asset(viewer.folder, FULL | chosen)
        expected = {scope: others[scope] + meshes[scope] for scope in meshes}
        viewer.until(lambda: viewer.triangles(key) == expected, f"{what}: {viewer.triangles(key)}, not {expected}")
        said = viewer.get("#detail-said").inner_text()
        assert said == f"Triangles: {expected['visual']:,} visual, {expected['collision']:,} collision"
        return expected

    viewer.setPosition(key, "elbow_joint", 0.75)
    viewer.tab("frames")
    viewer.page.get_by_role("tree", name="Links").locator('[data-id="forearm_link"]').click()
    viewer.get("#canvas").focus()
    for pressed in ("ArrowLeft", "ArrowLeft", "+", "c"):
        viewer.page.keyboard.press(pressed)
    viewer.settled()
    camera = viewer.camera()
    viewer.tab("view")
    meshes, colliders = (viewer.page.get_by_role("combobox", name=name) for name in ("Meshes", "Collision shapes"))
    assert meshes.locator("option").all_inner_texts() == ["full", "medium", "low"]
    assert colliders.locator("option").all_inner_texts() == ["triangle meshes", "convex hulls"]
    viewer.keep("detail-full")
    meshes.select_option("low")
    low = shows({"visual_representation": "mesh_low"}, "low")
    assert low["visual"] < drawn["visual"] and low["collision"] == drawn["collision"]
    assert viewer.at(key, {"elbow_joint": 0.75}) and viewer.camera() == camera
    assert viewer.get("#selected-link").inner_text() == "forearm_link" and viewer.get("#option-collision").is_checked()
    colliders.select_option("convex hulls")
    hulls = shows({"visual_representation": "mesh_low", "collision_fidelity": "convex_hull"}, "hulls")
    assert hulls["collision"] < low["collision"]
    viewer.keep("detail-low")
    # Opening the address again shows the same, without loading the file with all meshes.
    address = lambda: viewer.page.evaluate("location.href")
    viewer.until(lambda: "meshes=mesh_low&colliders=convex_hull" in address(), "the address lags behind")
    viewer.requests.clear()
    viewer.page.reload(wait_until="commit")
    viewer.until(lambda: viewer.page.evaluate("'viewer' in window"), "the page does not start")
    viewer.page.evaluate("viewer.ready")
    viewer.shows(key)
    shows({"visual_representation": "mesh_low", "collision_fidelity": "convex_hull"}, "reloaded")
    assert not [url for url in viewer.requests if ".glb" in url]
    viewer.until(lambda: viewer.at(key, {"elbow_joint": 0.75}), "the joints are elsewhere")
    viewer.tab("view")
    # One step by keyboard, then back to the robot's own file.
    meshes.focus()
    viewer.page.keyboard.press("ArrowUp")
    medium = shows({"visual_representation": "mesh_medium", "collision_fidelity": "convex_hull"}, "medium")
    assert low["visual"] < medium["visual"] < drawn["visual"]
    colliders.select_option("triangle meshes")
    meshes.select_option("full")
    assert shows({}, "full") == drawn
    viewer.until(lambda: "meshes" not in address() and "colliders" not in address(), "the address lags behind")


def test_chosen_meshes_are_kept_in_the_next_revision(viewed, tmp_path):
    viewer, key = viewed(), "sample_arm"
    low = FULL | {"visual_representation": "mesh_low"}
    others = viewer.triangles(key)["visual"] - in_asset(viewer.folder, FULL)["visual"]
    viewer.tab("view")
    viewer.page.get_by_role("combobox", name="Meshes").select_option("low")
    first = others + in_asset(viewer.folder, low)["visual"]
    viewer.until(lambda: viewer.triangles(key)["visual"] == first, "no low meshes")
    (caps,) = re.findall(r'<visual name="caps">.*?</visual>', text := ARM_URDF.read_text(), re.DOTALL)
    shorter = tmp_path / "shorter.urdf"
    shorter.write_text(text.replace(caps, ""))
    done = conftest.run("convert", shorter, "-o", viewer.folder.parent, "--replace", "--package", f"sample_arm={ARM}")
    assert done.returncode == 0, done.stderr
    viewer.shows(key, 2)
    second = others + in_asset(viewer.folder, low)["visual"]
    assert second < first and viewer.triangles(key)["visual"] == second
    # If they cannot be created, the last view stays, and the reason is shown.
    viewer.expected = "status of 404"
    (viewer.folder / "base.usda").write_text("#usda 1.0\ndef {")
    viewer.page.get_by_role("combobox", name="Meshes").select_option("medium")
    said = viewer.get("#detail-said")
    viewer.until(lambda: "could not be shown" in said.inner_text(), "nothing is said")
    assert "mesh_medium" in said.inner_text() and viewer.triangles(key)["visual"] == second
    viewer.page.get_by_role("combobox", name="Meshes").select_option("full")
    viewer.until(lambda: viewer.triangles(key)["visual"] > second and "could not" not in said.inner_text(), "the file is not shown")


def test_measurements_masses_and_downloads(viewed, asset):
    viewer, key = viewed(), "sample_arm"
    pointer = Pointer(viewer)
    frames = {link: np.array(viewer.linkMatrix(key, link)).reshape(4, 4).T for link in ("shoulder_link", "upper_arm_link")}
    plain = viewer.picture()
    viewer.page.get_by_role("button", name="Measure a distance").click()
    ends = []
    for link in frames:
        at, point = pointer.on(link)
        pointer.to(*at)
        pointer.mouse.down()
        pointer.mouse.up()
        ends.append((frames[link] @ [*point, 1])[:3])
    way = ends[1] - ends[0]
    said = viewer.get("#said").inner_text()
    assert f"Distance {100 * np.linalg.norm(way):.4g} cm" in said, said
    assert viewer.get("#measured").inner_text() == f"{100 * np.linalg.norm(way):.4g} cm"
    # In ROS's axes.
    assert [float(n) for n in re.findall(r"-?[\d.]+(?=,| m)", said.split("x, y, z")[1])] == pytest.approx([way[2], way[0], way[1]], abs=1e-3)
    assert changed(plain, viewer.picture()) > 50
    viewer.keep("measured")
    # By keyboard, at the centre of the view.
    viewer.get("#canvas").focus()
    viewer.page.keyboard.press("Enter")
    assert "First point" in viewer.get("#said").inner_text() or "Nothing to measure here" in viewer.get("#said").inner_text()
    viewer.page.keyboard.press("d")
    assert viewer.get("#said").is_hidden()
    viewer.tab("view")
    viewer.get("#option-inertia").check()
    assert set(viewer.weighed()) >= {"base_link", "upper_arm_link", "gripper_link"}
    assert changed(plain, viewer.picture()) > 500
    viewer.keep("weighed")
    viewer.tab("frames")
    viewer.page.get_by_role("tree", name="Links").locator('[data-id="forearm_link"]').click()
    assert viewer.weighed() == ["forearm_link"]
    viewer.tab("robots")
    with viewer.page.expect_download() as download:
        viewer.get("#zip-0").click()
    with zipfile.ZipFile(download.value.path()) as packed:
        assert packed.testzip() is None
        report = json.loads(packed.read("sample_arm/report.json")) if "sample_arm/report.json" in packed.namelist() else None
        names = {file["path"] for file in json.loads((asset.directory / "report.json").read_text())["files"]}
        assert {f"sample_arm/{name}" for name in names} <= set(packed.namelist()), report
        assert packed.read("sample_arm/sample_arm.usda") == (asset.directory / "sample_arm.usda").read_bytes()


def test_pictures_videos_and_the_page_without_controls(viewed):
    viewer = viewed()
    viewer.tab("view")
    viewer.get("#choose-picture-size").select_option(label="1280 × 720")
    viewer.get("#option-transparentPicture").check()
    before = viewer.picture()

    def saved(button):
        with viewer.page.expect_download() as download:
            viewer.get(button).click()
        return Path(download.value.path()).read_bytes()

    picture = Image.open(io.BytesIO(saved("#screenshot")))
    assert picture.size == (1280, 720) and picture.mode == "RGBA"
    alpha = np.asarray(picture)[..., 3]
    assert alpha[0, 0] == 0 and (alpha == 255).mean() > 0.02
    assert changed(before, viewer.picture()) < 50, "the picture on the page must stay"
    if viewer.get("#record").is_visible():
        viewer.get("#record").click()
        assert viewer.get("#record").get_attribute("aria-pressed") == "true"
        viewer.setPosition("sample_arm", "elbow_joint", 0.5)
        viewer.page.wait_for_timeout(500)
        video = saved("#record")
        assert video[:4] == b"\x1a\x45\xdf\xa3" and len(video) > 500, len(video)
    assert viewer.get("#fullscreen").is_visible()

    def with_usdz(route):
        """Adds a USDZ to the files of the robot."""
        robots = route.fetch().json()
        robots[0]["files"].append({"path": "sample_arm.usdz", "bytes": 1, "sha256": "0"})
        route.fulfill(json=robots)

    viewer.page.route("**/api/robots", with_usdz)
    viewer.page.goto(f"{viewer.url}?chrome=off", wait_until="commit")
    viewer.until(lambda: viewer.page.evaluate("'viewer' in window"), "the page does not start")
    viewer.shows("sample_arm")
    assert viewer.get("#panel").is_hidden() and viewer.get("#bar").is_hidden() and viewer.get("#toolbar").is_hidden()
    assert "sample_arm.usdz" in viewer.get("a.ar").get_attribute("href")
    assert viewer.get("#canvas").bounding_box() == {"x": 0, "y": 0, **{k: float(v) for k, v in SMALL.items()}}


# ---- Robots and revisions -----------------------------------------------------------------------------------------------------


def test_a_new_revision_swaps_in_and_keeps_the_camera(start, peer, open_viewer, tmp_path):
    _, url = start(packages=[f"sample_arm={ARM}"])
    text = ARM_URDF.read_text()
    publisher = description(peer, text)
    viewer = open_viewer(url).shows("sample_arm", 1)
    viewer.page.evaluate("window.mark = 'the same page'")
    viewer.get("#canvas").focus()
    for key in ("ArrowLeft", "ArrowLeft", "ArrowUp", "+"):
        viewer.page.keyboard.press(key)
    viewer.setPosition("sample_arm", "elbow_joint", 0.75)
    before, camera = viewer.picture(), viewer.camera()
    longer = text.replace('<link name="grasp_frame"/>', '<link name="grasp_frame"/><link name="antenna"><visual><geometry>'
        '<box size="0.4 0.4 0.4"/></geometry></visual></link><joint name="antenna_joint" type="revolute"><parent link="tool0"/>'
        '<child link="antenna"/><origin xyz="0 0 0.3"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>')  # fmt: skip
    assert longer != text
    publisher.write(String(data=longer))
    viewer.shows("sample_arm", 2)
    assert viewer.page.evaluate("window.mark") == "the same page"
    assert viewer.camera() == camera
    assert viewer.at("sample_arm", {"elbow_joint": 0.75, "antenna_joint": 0})
    viewer.holds("sample_arm", urdf_of(longer, tmp_path))
    assert viewer.slider("antenna_joint").is_enabled()
    assert changed(before, viewer.picture()) > 500
    viewer.keep("revision")


def test_a_broken_mesh_still_shows_the_rest(start, peer, open_viewer, tmp_path):
    package = tmp_path / "sample_arm"
    shutil.copytree(ARM, package)
    for mesh in ("forearm.stl", "wrist_cap.stl"):
        (package / "meshes" / mesh).write_bytes(b"solid no mesh")
    text = ARM_URDF.read_text()
    line = next(n for n, content in enumerate(text.splitlines(), 1) if "forearm.stl" in content)
    _, url = start(packages=[f"sample_arm={package}"])
    description(peer, text)
    viewer = open_viewer(url).shows("sample_arm")
    viewer.holds("sample_arm", kinematics.read(ARM_URDF))
    shown = viewer.picture()
    viewer.tab("diagnostics")
    found = viewer.get("li.finding").filter(has_text="forearm.stl")
    assert found.count() > 0
    assert re.search(rf":{line}\b", found.first.inner_text()), found.first.inner_text()
    # Two meshes have the same kind of finding; the second is collapsed.
    assert found.count() == 1 and "×2" in found.first.inner_text(), found.first.inner_text()
    other = found.first.locator("details li")
    assert not other.is_visible()
    found.first.get_by_text("1 more").click()
    assert other.is_visible() and "wrist_cap.stl" in other.inner_text()
    viewer.keep("broken-mesh")
    viewer.tab("view")
    viewer.get("#option-visual").uncheck()
    assert changed(shown, viewer.picture()) > 1000


def test_a_viewed_description_has_what_the_node_has(view, open_viewer, tmp_path):
    """All files, tiers, colliders and poses; findings that select; and after a broken edit the last good revision, with the error."""
    package = tmp_path / "sample_arm"
    shutil.copytree(ARM, package)
    urdf = package / "urdf" / "sample_arm.urdf"
    viewer = open_viewer(view(urdf), viewport=SMALL).shows("sample_arm", 1)
    viewer.until(lambda: viewer.get("#choose-meshes option").count() == 3, "no tiers")
    assert viewer.get("#choose-colliders option").count() == 2
    viewer.get("#pose-more > summary").click()
    viewer.until(lambda: viewer.get("#store-pose").is_visible(), "no pose can be stored")
    files = viewer.page.evaluate("fetch('api/robots').then((r) => r.json()).then((r) => r[0].files.map((f) => f.path))")
    assert {"sample_arm.usda", "sample_arm.glb", "physics.usda"} <= set(files), files
    # A finding that names a link selects it.
    text = ARM_URDF.read_text()
    lighter = re.sub(r'(<link name="forearm_link">.*?)<inertial>.*?</inertial>', r"\1", text, count=1, flags=re.DOTALL)
    assert lighter != text
    urdf.write_text(lighter)
    viewer.shows("sample_arm", 2)
    viewer.tab("diagnostics")
    viewer.page.get_by_role("button", name="Select the link forearm_link").first.click()
    assert viewer.get("#selected-link").inner_text() == "forearm_link"
    # A broken edit.
    message = viewer.get("#stage-message")
    urdf.write_text(lighter.replace('<link name="tool0"', '<link name="tool0', 1))
    viewer.until(lambda: "last good revision, 2" in message.inner_text(), "nothing is said")
    assert re.search(r"sample_arm\.urdf:\d+", message.inner_text()) and viewer.revision("sample_arm") == 2
    viewer.keep("last-good-revision")
    urdf.write_text(text)
    viewer.shows("sample_arm", 3)
    viewer.until(message.is_hidden, "it still says so")


def test_two_robots(start, peer, domain, open_viewer):
    _, url = start()
    description(peer, box("left", 1))
    with Peer(domain) as other:
        description(other, box("right", 3))
        viewer = open_viewer(url)
        viewer.until(lambda: set(viewer.robots()) == {"left", "right"}, "not both robots")
        choice = viewer.page.get_by_role("combobox", name="Robot")
        pictures = {}
        for name in ("left", "right"):
            choice.select_option(label=name)
            viewer.shows(name)
            viewer.get("#camera-fit").click()
            pictures[name] = viewer.picture()
            assert name in viewer.page.title()
        assert changed(pictures["left"], pictures["right"]) > 500
        choice.select_option(label="Show all")
        viewer.get("#camera-fit").click()
        both = viewer.picture()
        assert min(changed(both, picture) for picture in pictures.values()) > 500
        viewer.tab("robots")
        assert viewer.get("#panel-robots").get_by_role("button", name="right").is_visible()
        viewer.keep("two-robots")


# ---- Appearance ---------------------------------------------------------------------------------------------------------------


def test_display_options(arm):
    viewer = arm()
    viewer.tab("view")
    plain = viewer.picture()
    for option in ("visual", "collision", "wireframe", "axes", "grid"):
        switch = viewer.get(f"#option-{option}")
        was = switch.is_checked()
        switch.set_checked(not was)
        assert changed(plain, viewer.picture()) > 200, option
        viewer.keep(f"option-{option}")
        switch.set_checked(was)
        assert changed(plain, viewer.picture()) < 50, option
    viewer.get("#option-transparency").focus()
    for _ in range(10):
        viewer.page.keyboard.press("ArrowRight")
    assert changed(plain, viewer.picture()) > 1000
    viewer.keep("option-transparency")


def test_collisions_alone(arm):
    """Without visuals, only colliders are shown."""
    viewer = arm()
    viewer.tab("view")
    viewer.get("#option-visual").uncheck()
    empty = viewer.picture()
    viewer.get("#option-collision").check()
    assert changed(empty, viewer.picture()) > 1000
    viewer.keep("collisions-alone")


def test_light_and_dark(arm):
    viewer = arm(color_scheme="dark")
    dark = viewer.picture()
    viewer.keep("dark")
    viewer.page.emulate_media(color_scheme="light")
    viewer.until(lambda: viewer.picture().mean() > dark.mean() + 50, "it does not turn light")
    viewer.keep("light")
    viewer.page.get_by_role("button", name="Dark colours").click()
    viewer.until(lambda: changed(dark, viewer.picture()) < 50, "it does not turn dark")


def test_a_black_robot_shows_in_the_dark_and_its_selection_has_an_outline(view, open_viewer, tmp_path):
    urdf = tmp_path / "black.urdf"
    urdf.write_text("""<robot name="black"><link name="left_arm"><visual><geometry><box size="0.4 0.3 0.5"/></geometry>
        <material name="black"><color rgba="0 0 0 1"/></material></visual></link></robot>""")
    viewer = open_viewer(view(urdf), viewport=SMALL, color_scheme="dark").shows("black")
    viewer.tab("view")
    viewer.get("#option-shadows").uncheck()

    def silhouette():
        """Returns the picture, and where the robot differs from the empty one."""
        shown = viewer.picture()
        viewer.get("#option-visual").uncheck()
        empty = viewer.picture()
        viewer.get("#option-visual").check()
        return shown, np.abs(shown - empty).max(axis=2) > 16

    shown, dark = silhouette()
    viewer.keep("black-in-the-dark")
    viewer.page.emulate_media(color_scheme="light")
    _, light = silhouette()
    # The robot has the same silhouette in both themes, and its faces differ in brightness.
    assert (dark & light).sum() > 0.8 * light.sum()
    low, high = np.percentile(shown[light].mean(axis=1), [5, 95])
    assert high - low > 25
    plain = viewer.picture()
    viewer.tab("frames")
    viewer.page.get_by_role("tree", name="Links").locator('[data-id="left_arm"]').click()
    accent = lambda picture: (np.abs(picture - [10, 111, 224]).max(axis=2) < 40) & ~light  # noqa: E731
    assert accent(viewer.picture()).sum() > accent(plain).sum() + 500


def test_on_a_phone(arm):
    viewer = arm(viewport=PHONE, has_touch=True, is_mobile=True, device_scale_factor=2)
    for tab in TABS:
        viewer.tab(tab)
        width, inner = viewer.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert width <= inner <= PHONE["width"], tab
        viewer.keep(f"phone-{tab}")
    viewer.tab("joints")
    for joint in ("shoulder_pan_joint", "flange_roll_joint"):
        slider = viewer.slider(joint)
        slider.scroll_into_view_if_needed()
        bounds = slider.bounding_box()
        assert bounds["x"] >= 0 and bounds["x"] + bounds["width"] <= PHONE["width"] and bounds["width"] > 100
        slider.tap(position={"x": bounds["width"] * 0.8, "y": bounds["height"] / 2})
        assert viewer.positions("sample_arm")[joint] > 0.5
    assert viewer.get("#canvas").bounding_box()["height"] > 200
    for control in ("#theme-toggle", "#camera-front", "#camera-fit", "#camera-iso", "#screenshot"):
        bounds = viewer.get(control).bounding_box()
        assert 0 <= bounds["x"] and bounds["x"] + bounds["width"] <= PHONE["width"], control
        viewer.get(control).tap()


# ---- Accessibility ------------------------------------------------------------------------------------------------------------

#: For each tab stop: the element, its position in the document, whether it is visible, and whether its focus is visible.
FOCUSED = """async () => {
    const at = document.activeElement, order = [...document.querySelectorAll('*')].indexOf(at);
    await Promise.all(at.getAnimations({ subtree: true }).filter((a) => a.effect.target === at).map((a) => a.finished));
    const box = at.getBoundingClientRect(), after = getComputedStyle(at, '::after');
    const outlined = (element) => element && (getComputedStyle(element).outlineStyle !== 'none' || getComputedStyle(element).boxShadow !== 'none');
    const marked = outlined(at) || outlined(at.firstElementChild) || (after.content !== 'none' && after.opacity === '1');
    // The line between picture and panel has no width of its own.
    return { id: at.id || at.className || at.tagName, order, marked, body: at === document.body,
             seen: Math.max(box.width, box.height) > 0 && box.bottom > 0 && box.right > 0 };
}"""


def test_everything_is_reached_by_keyboard(arm):
    viewer = arm()
    for tab in TABS:
        viewer.tab(tab)
        # In both directions: focus by key is marked, focus by script after a click is not.
        viewer.get("a.skip").focus()
        viewer.page.keyboard.press("Tab")
        viewer.page.keyboard.press("Shift+Tab")
        stops = [viewer.page.evaluate(FOCUSED)]
        while len(stops) < 300:
            viewer.page.keyboard.press("Tab")
            stop = viewer.page.evaluate(FOCUSED)
            if stop["body"] or stop["order"] == stops[0]["order"]:
                break
            stops.append(stop)
        assert [s["order"] for s in stops] == sorted(s["order"] for s in stops), "tab stops must be in document order"
        assert all(stop["seen"] for stop in stops), [s["id"] for s in stops if not s["seen"]]
        assert all(stop["marked"] for stop in stops), [s["id"] for s in stops if not s["marked"]]
        expected = {"canvas", "theme-toggle", f"tab-{tab}", f"panel-{tab}"}
        expected |= {"view": {"option-visual", "option-transparency"}, "joints": {"reset-joints"}}.get(tab, set())
        assert expected <= {stop["id"] for stop in stops}, tab
    # From the last tab to the first, and further.
    viewer.get("#tab-diagnostics").focus()
    for panel in ("joints", "robots"):
        viewer.page.keyboard.press("ArrowRight")
        assert viewer.get(f"#panel-{panel}").is_visible()


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_accessibility_rules(arm, look):
    """axe-core's rules: names, roles, contrast, and the like."""
    package = os.environ.get("AXE_CORE")
    if not package:
        pytest.skip("AXE_CORE is not a folder with the npm package axe-core: test/run sets it")
    viewer = arm(**{"viewport": PHONE} if look == "phone" else {"color_scheme": look})
    viewer.page.evaluate((Path(package) / "axe.min.js").read_text())
    for tab in TABS:
        viewer.tab(tab)
        viewer.settled()
        found = viewer.page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations)")
        bad = [(v["id"], n["html"][:150]) for v in found for n in v["nodes"]]
        assert not bad, f"{tab}: {json.dumps(bad, indent=1)}"


# ---- The web component --------------------------------------------------------------------------------------------------------


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files without a log."""

    def log_message(self, *_):
        pass


@pytest.fixture
def site(asset, tmp_path):
    """Serves a folder with the web component and the sample arm; returns the folder and its address."""
    build = [shutil.which("node"), conftest.ROOT / "viewer" / "build.mjs", "loader"]
    subprocess.run(build, env=os.environ | {"VIEWER_OUT": str(tmp_path / "lib")}, check=True)
    shutil.copy(asset.glb, tmp_path / "arm.glb")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=tmp_path)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield tmp_path, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_web_component_shows_a_robot(browser, site):
    folder, url = site
    (folder / "index.html").write_text("""<!doctype html><html lang="en"><title>Arm</title><body style="margin: 0; background: lime">
        <urdf-usd-viewer src="arm.glb" pose="elbow_joint:0.75" camera="front" theme="dark" label="An arm" style="height: 300px; width: 400px"></urdf-usd-viewer>
        <script type="module">
        window.told = [];
        const viewer = document.querySelector('urdf-usd-viewer');
        for (const kind of ['load', 'error']) viewer.addEventListener(kind, (event) => told.push([kind, event.detail]));
        await import('./lib/viewer.js');
        </script></body></html>""")
    page = browser.new_page(viewport={"width": 400, "height": 300}, reduced_motion="reduce")
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "warning" else None)
    page.goto(f"{url}/index.html")
    page.wait_for_function("told.length > 0")
    assert page.evaluate("told") == [["load", None]] and not errors, (page.evaluate("told"), errors)
    positions = "document.querySelector('urdf-usd-viewer').robot.positions()"
    assert page.evaluate(positions)["elbow_joint"] == 0.75
    assert page.get_by_role("img", name="An arm").is_visible()
    element = page.locator("urdf-usd-viewer")
    idle = lambda: page.wait_for_timeout(300) or page.screenshot()  # noqa: E731
    pictures = [idle()]
    for change in ("e.setAttribute('pose', 'home')", "e.setAttribute('camera', 'left')", "e.setAttribute('theme', 'light')", "e.setAttribute('transparent', '')"):
        element.evaluate(f"(e) => {change}")
        pictures.append(idle())
    assert len(set(pictures)) == len(pictures), "an attribute changes nothing"
    page.screenshot(path=SCREENSHOTS / "component.png")
    assert page.evaluate(positions)["elbow_joint"] == 0
    # The error names the missing file.
    element.evaluate("(e) => e.setAttribute('src', 'missing.glb')")
    page.wait_for_function("told.length > 1")
    kind, detail = page.evaluate("told")[1]
    assert kind == "error" and "missing.glb" in detail and page.get_by_role("alert").is_visible()
    page.close()


# ---- The server ---------------------------------------------------------------------------------------------------------------


def test_frames_and_their_verdicts(start, peer, open_viewer):
    """A robot whose tool is correct, then wrong, and a foreign frame."""
    _, url = start()
    description(peer, chain())
    fixed = peer.publisher("/tf_static", TFMessage, latched=True, depth=1).matched(PATIENCE)
    moving = peer.publisher("/tf", TFMessage, depth=100).matched(PATIENCE)
    viewer = open_viewer(url).shows("chain")
    viewer.tab("frames")
    links, heard = (viewer.page.get_by_role("tree", name=name) for name in ("Links", "TF tree as heard"))

    def row(tree, frame):
        """Returns the text of a frame, without its descendants."""
        item = tree.locator(f'[role=treeitem][data-id="{frame}"]')
        return item.first.inner_text().split("\n") if item.count() else []

    def says(frame, verdict):
        moving.write(TFMessage(transforms=[transform("base", "arm", z=1.0, yaw=0.3)]))
        texts = row(links, frame)
        # The name and its marks, before the names of child frames.
        return verdict in texts[: len(texts) if frame == "tool" else 3]

    assert {item.get_attribute("data-id") for item in links.get_by_role("treeitem").all()} == {"base", "arm", "tool"}
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.5), transform("base", "stranger")]))
    viewer.until(lambda: says("arm", "ok") and says("tool", "ok"), "the frames are not ok")
    viewer.until(lambda: row(heard, "stranger"), "the TF tree is not shown")
    assert "not the robot's" in row(heard, "stranger") and "static" in row(heard, "stranger")
    viewer.keep("frames")
    fixed.write(TFMessage(transforms=[transform("arm", "tool", x=0.52)]))
    viewer.until(lambda: says("arm", "ok") and says("tool", "off"), "the tool is not off")
    viewer.keep("frame-off")


def test_the_server_disappears_and_returns(start, peer, open_viewer):
    port = free_port()
    node, url = start(packages=[f"sample_arm={ARM}"], **{"http.port": port})
    description(peer, ARM_URDF.read_text())
    viewer = open_viewer(url).shows("sample_arm")
    # The restarted server does not know the robot at first.
    viewer.expected = "ERR_CONNECTION|ERR_SOCKET_NOT_CONNECTED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|WebSocket connection|404"
    viewer.until(lambda: viewer.get("#connection").get_attribute("data-state") == "on", "no connection")
    node.kill()
    viewer.until(lambda: viewer.get("#connection").get_attribute("data-state") == "off", "it does not say so")
    assert "not connected" in viewer.get("#connection").inner_text()
    viewer.keep("server-gone")
    # The robot stays on the screen, and can be moved.
    assert viewer.setPosition("sample_arm", "elbow_joint", 0.5)
    viewer.holds("sample_arm", kinematics.read(ARM_URDF))
    start(packages=[f"sample_arm={ARM}"], **{"http.port": port})
    viewer.until(lambda: viewer.get("#connection").get_attribute("data-state") == "on", "it does not connect again")
    viewer.shows("sample_arm")
    states = peer.publisher("/joint_states", JointState).matched(PATIENCE)
    message = JointState(name=["elbow_joint"], position=[-0.25])
    viewer.until(lambda: states.write(message) or viewer.at("sample_arm", {"elbow_joint": -0.25}), "joint states do not come again")


def policy_of(url):
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        return dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; ") if " " in part)


def test_other_pages_show_it_in_a_frame_only_if_they_are_named(view, asset):
    assert policy_of(view(asset.glb))["frame-ancestors"] == "'none'"
    embedding = ("--embed-in", "https://example.org", "--embed-in", "http://localhost:3000")
    assert policy_of(view(asset.glb, *embedding))["frame-ancestors"] == "https://example.org http://localhost:3000"
    wrong = conftest.run("view", asset.glb, "--embed-in", "example.org; script-src *")
    assert wrong.returncode == 2 and "https://example.org" in wrong.stderr


def test_the_page_has_a_security_policy(start):
    _, url = start()
    policy = policy_of(url)
    assert policy["default-src"] in ("'none'", "'self'")
    assert "'unsafe-inline'" not in policy.get("script-src", "") and "'unsafe-eval'" not in policy.get("script-src", "").replace("'wasm-unsafe-eval'", "")
