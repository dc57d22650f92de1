"""The viewer in a real browser, served by the node or by `urdf_usd view`: what it shows against the URDF's own kinematics, what of it
changes on the screen, and whether it can be used by keyboard, with a screen reader, on a phone.

Poses are read through `window.viewer` (described in viewer/src/app/main.ts), all else as people find it: by role and name. Whatever
a test does, the page may ask no other server for anything, and must say nothing to the console. Screenshots are kept in
`.test-env/screenshots/`.
"""

import io
import json
import os
import random
import re
import shutil
import signal
import subprocess
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cyclonedds", reason="the viewer is tested with joint states from cyclonedds (pip install cyclonedds)")
pytest.importorskip("playwright", reason="the viewer is tested in a browser that playwright drives (pip install playwright)")

from PIL import Image  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

import conftest  # noqa: E402
import kinematics  # noqa: E402
import posing  # noqa: E402
from ros_node import ARM, PATIENCE, box, chain, description, free_port, transform  # noqa: E402
from ros_peer import JointState, Peer, String, TFMessage, until  # noqa: E402

#: One browser at a time: it draws in software.
pytestmark = pytest.mark.xdist_group("viewer")
SCREENSHOTS = conftest.ROOT / ".test-env" / "screenshots"
#: WebGL without a graphics card, and no word to the browser's maker.
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--force-device-scale-factor=1",
]  # fmt: skip
DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
ARM_URDF = ARM / "urdf" / "sample_arm.urdf"
TABS = ("joints", "robots", "frames", "view", "diagnostics")


# ---- The browser --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def browser():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no chromium: test/run installs it where it may")
        pytest.skip("there is no chromium (apt-get install chromium)")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


class Viewer:
    """A page with the viewer."""

    def __init__(self, context, url):
        self.url = url
        self.requests, self.errors = [], []
        #: What may be said to the console, because the test brings it about.
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
        # A page that draws without end on a slow machine may never be seen to be loaded.
        self.page.goto(url, wait_until="commit")
        self.until(lambda: self.page.evaluate("'viewer' in window"), "the page does not start")
        self.page.evaluate("viewer.ready")

    def __getattr__(self, name):
        """`window.viewer`'s own."""
        return lambda *arguments: self.page.evaluate(f"(a) => viewer.{name}(...a)", list(arguments))

    def get(self, selector):
        return self.page.locator(selector)

    def until(self, condition, what):
        # Conditions are looked at from here: the page's security policy forbids it to poll them itself.
        return until(condition, PATIENCE, what)

    def shows(self, key, revision=None):
        """Waits until a robot is on the screen."""
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
        """Waits until nothing more is drawn."""
        self.page.evaluate(
            """async () => {
                for (let quiet = 0, seen = -1; quiet < 4; seen = viewer.frame()) {
                    await new Promise(requestAnimationFrame);
                    quiet = viewer.frame() === seen ? quiet + 1 : 0;
                }
            }"""
        )

    def now(self):
        """What the canvas shows at this moment, as RGB."""
        # Of the page: a locator would wait for a picture in which nothing moves.
        png = self.page.screenshot(clip=self.get("#canvas").bounding_box())
        return np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)

    def picture(self):
        """What the canvas shows once nothing more is drawn."""
        self.settled()
        return self.now()

    def keep(self, name):
        self.settled()
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png")

    def holds(self, key, urdf):
        """Checks every link against the URDF with the joints where the page says that they are. Returns where."""
        positions, frames = self.page.evaluate(
            "([key, links]) => [viewer.positions(key), links.map((link) => viewer.linkMatrix(key, link))]", [key, list(urdf.links)]
        )
        expected = posing.link_frames(urdf, positions)
        for link, frame in zip(urdf.links, frames, strict=True):
            error = np.abs(np.array(frame).reshape(4, 4).T - expected[link]).max()
            assert error < 1e-6, f"{link} is off by {error:.3g} with the joints at {positions}"
        return positions

    def at(self, key, expected):
        """Whether joints stand there."""
        positions = self.positions(key)
        return all(np.allclose(positions.get(joint, np.nan), value, rtol=0, atol=1e-9) for joint, value in expected.items())

    def close(self):
        """Leaves the page, which must have talked to its server only, and not complained."""
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
    """Opens the page; `options` are a browser context's."""
    opened = []

    def open_viewer(url, **options):
        context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", "color_scheme": "light"} | options)
        opened.append(viewer := Viewer(context, url))
        return viewer

    yield open_viewer
    for viewer in opened:
        viewer.close()


def changed(before, after):
    """How many pixels are visibly different."""
    return int((np.abs(before - after).max(axis=2) > 16).sum())


# ---- What serves it -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def start(start):
    """Starts nodes; returns the address of each one's page with it."""

    def served(**parameters):
        node = start(**{"http.port": free_port()} | parameters)
        return node, re.search(r"http://\S+", node.logged(r"the page is at http://\S+").group()).group()

    return served


@pytest.fixture
def arm(start, peer, open_viewer):
    """Opens the page of a node that has heard of the sample arm."""

    def arm(**options):
        _, url = start(packages=[f"sample_arm={ARM}"])
        description(peer, ARM_URDF.read_text())
        return open_viewer(url, **options).shows("sample_arm")

    return arm


@pytest.fixture(scope="session")
def asset(tmp_path_factory):
    """The sample arm, converted."""
    return conftest.convert(conftest.source("sample_arm"), tmp_path_factory.mktemp("viewed"))


@pytest.fixture
def view(tmp_path):
    """Runs `urdf_usd view` on an asset; returns the address of its page."""
    running = []

    def view(what):
        log = tmp_path / f"view{len(running)}.txt"
        command = [conftest.program(), "view", what, "--port", "0"]
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


def test_the_robot_moves_as_its_joint_states_say(arm, peer):
    viewer = arm()
    urdf = kinematics.read(ARM_URDF)
    states = peer.publisher("/joint_states", JointState).matched(PATIENCE)

    def follows():
        """Whether it says that it is moved by others, and lets nobody else."""
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
    # The same pose is the same picture.
    assert changed(before, move(first)) < 50
    # A joint that is not in a message stays.
    move({"elbow_joint": 0.5})
    assert viewer.at("sample_arm", {k: v for k, v in first.items() if k != "elbow_joint"})
    # Nobody publishes any more.
    viewer.until(lambda: viewer.slider("elbow_joint").is_enabled(), "the sliders stay locked")
    assert not follows()
    assert viewer.at("sample_arm", {"elbow_joint": 0.5})


@pytest.fixture
def demo(domain, tmp_path):
    """The address of the demo's page."""
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
        viewer.until(lambda: viewer.positions(key) != seen[-1], "the robot stands still")
        seen.append(viewer.holds(key, urdf))
    assert viewer.get("#live-badge").is_visible()
    viewer.until(lambda: changed(before, viewer.now()) > 200, "nothing changes on the screen")
    viewer.page.screenshot(path=SCREENSHOTS / "live.png")


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
    # With the pointer, in the middle.
    bounds = viewer.slider("elbow_joint").bounding_box()
    viewer.page.mouse.click(bounds["x"] + bounds["width"] * 0.75, bounds["y"] + bounds["height"] / 2)
    assert viewer.holds(key, urdf)["elbow_joint"] == pytest.approx(-1.7 + 0.75 * 4.1, abs=0.1)
    # Typed; then a joint that another follows.
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


def test_sliders_move_it_when_nobody_publishes(arm):
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
    viewer.get("#panel-joints").get_by_role("button", name="ready").click()
    expected = {"shoulder_lift_joint": -0.5, "elbow_joint": 1.25, "wrist_pitch_joint": 0.75}
    assert viewer.at("sample_arm", expected), viewer.positions("sample_arm")
    # It is a pose of these joints: the others stay.
    assert viewer.at("sample_arm", {"forearm_roll_joint": 0.5, "shoulder_pan_joint": 0})
    viewer.holds("sample_arm", urdf)
    assert changed(before, viewer.picture()) > 1000
    viewer.keep("named-pose")


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
    (package / "meshes" / "forearm.stl").write_bytes(b"solid no mesh")
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
    viewer.keep("broken-mesh")
    viewer.tab("view")
    viewer.get("#option-visual").uncheck()
    assert changed(shown, viewer.picture()) > 1000


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


# ---- How it looks -------------------------------------------------------------------------------------------------------------


def test_what_is_drawn_can_be_chosen(arm):
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
    """With the visuals off, what collides is all that there is."""
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
    for control in ("#theme-toggle", "#camera-fit", "#camera-iso"):
        bounds = viewer.get(control).bounding_box()
        assert 0 <= bounds["x"] and bounds["x"] + bounds["width"] <= PHONE["width"], control
        viewer.get(control).tap()


# ---- Who can use it -----------------------------------------------------------------------------------------------------------

#: For each stop of the tab key: what it is, where in the document, whether it can be seen, and whether it is seen to be focused.
FOCUSED = """async () => {
    const at = document.activeElement, order = [...document.querySelectorAll('*')].indexOf(at);
    await Promise.all(at.getAnimations({ subtree: true }).filter((a) => a.effect.target === at).map((a) => a.finished));
    const box = at.getBoundingClientRect(), after = getComputedStyle(at, '::after');
    const outlined = (element) => element && (getComputedStyle(element).outlineStyle !== 'none' || getComputedStyle(element).boxShadow !== 'none');
    // An item of a tree marks its own row, not those below it.
    const marked = outlined(at) || outlined(at.firstElementChild) || (after.content !== 'none' && after.opacity === '1');
    // The line between picture and panel has no width of its own.
    return { id: at.id || at.className || at.tagName, order, marked, body: at === document.body,
             seen: Math.max(box.width, box.height) > 0 && box.bottom > 0 && box.right > 0 };
}"""


def test_everything_is_reached_by_keyboard(arm):
    viewer = arm()
    for tab in TABS:
        viewer.tab(tab)
        # There and back: what a key focuses is marked, what a script focuses after a click is not.
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
        assert [s["order"] for s in stops] == sorted(s["order"] for s in stops), "in the order of the page"
        assert all(stop["seen"] for stop in stops), [s["id"] for s in stops if not s["seen"]]
        assert all(stop["marked"] for stop in stops), [s["id"] for s in stops if not s["marked"]]
        expected = {"canvas", "theme-toggle", f"tab-{tab}", f"panel-{tab}"}
        expected |= {"view": {"option-visual", "option-transparency"}, "joints": {"reset-joints"}}.get(tab, set())
        assert expected <= {stop["id"] for stop in stops}, tab
    # From the last tab to the first, and on.
    viewer.get("#tab-diagnostics").focus()
    for panel in ("joints", "robots"):
        viewer.page.keyboard.press("ArrowRight")
        assert viewer.get(f"#panel-{panel}").is_visible()


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_nothing_keeps_anybody_out(arm, look):
    """axe-core's rules: names, roles, contrast, and the like."""
    package = os.environ.get("AXE_CORE")
    if not package:
        pytest.skip("AXE_CORE names no folder with the npm package axe-core: test/run sets it")
    viewer = arm(**{"viewport": PHONE} if look == "phone" else {"color_scheme": look})
    viewer.page.evaluate((Path(package) / "axe.min.js").read_text())
    for tab in TABS:
        viewer.tab(tab)
        viewer.settled()
        found = viewer.page.evaluate("axe.run(document, { resultTypes: ['violations'] }).then((r) => r.violations)")
        bad = [
            (v["id"], n["html"][:150]) for v in found if v["impact"] in ("serious", "critical") for n in v["nodes"]
            # The text of an item of a tree, as axe takes it, is that of all items below it too, which are not in its name.
            if not (v["id"] == "label-content-name-mismatch" and 'role="treeitem"' in n["html"])
        ]  # fmt: skip
        assert not bad, f"{tab}: {json.dumps(bad, indent=1)}"


# ---- The server ---------------------------------------------------------------------------------------------------------------


def test_frames_and_their_verdicts(start, peer, open_viewer):
    """A robot whose tool is where it should be, then is not; and a frame that is none of its."""
    _, url = start()
    description(peer, chain())
    fixed = peer.publisher("/tf_static", TFMessage, latched=True, depth=1).matched(PATIENCE)
    moving = peer.publisher("/tf", TFMessage, depth=100).matched(PATIENCE)
    viewer = open_viewer(url).shows("chain")
    viewer.tab("frames")
    links, heard = (viewer.page.get_by_role("tree", name=name) for name in ("Links", "TF tree as heard"))

    def row(tree, frame):
        """What is said of a frame, without those below it."""
        item = tree.locator(f'[role=treeitem][data-id="{frame}"]')
        return item.first.inner_text().split("\n") if item.count() else []

    def says(frame, verdict):
        moving.write(TFMessage(transforms=[transform("base", "arm", z=1.0, yaw=0.3)]))
        texts = row(links, frame)
        # The name, then its marks, before the names of the frames below.
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


def test_the_server_goes_away_and_comes_back(start, peer, open_viewer):
    port = free_port()
    node, url = start(packages=[f"sample_arm={ARM}"], **{"http.port": port})
    description(peer, ARM_URDF.read_text())
    viewer = open_viewer(url).shows("sample_arm")
    # The server that comes back has not heard of the robot at first.
    viewer.expected = "ERR_CONNECTION|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|WebSocket connection|404"
    viewer.until(lambda: viewer.get("#connection").get_attribute("data-state") == "on", "no connection")
    node.kill()
    viewer.until(lambda: viewer.get("#connection").get_attribute("data-state") == "off", "it does not say so")
    assert "not connected" in viewer.get("#connection").inner_text()
    viewer.keep("server-gone")
    # What is on the screen stays, and can be moved.
    assert viewer.setPosition("sample_arm", "elbow_joint", 0.5)
    viewer.holds("sample_arm", kinematics.read(ARM_URDF))
    start(packages=[f"sample_arm={ARM}"], **{"http.port": port})
    viewer.until(lambda: viewer.get("#connection").get_attribute("data-state") == "on", "it does not connect again")
    viewer.shows("sample_arm")
    states = peer.publisher("/joint_states", JointState).matched(PATIENCE)
    message = JointState(name=["elbow_joint"], position=[-0.25])
    viewer.until(lambda: states.write(message) or viewer.at("sample_arm", {"elbow_joint": -0.25}), "joint states do not come again")


def test_the_page_says_what_it_may_do(start):
    _, url = start()
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        policy = dict(part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; ") if " " in part)
    assert policy["default-src"] in ("'none'", "'self'")
    assert "'unsafe-inline'" not in policy.get("script-src", "") and "'unsafe-eval'" not in policy.get("script-src", "").replace("'wasm-unsafe-eval'", "")
