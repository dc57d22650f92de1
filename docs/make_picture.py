#!/usr/bin/env python3
"""Makes the picture of the README: the viewer with the sample rover, following its joint states.

    .test-env/usd/bin/python docs/make_picture.py [FILE.webp]

writes FILE (default: docs/viewer.webp). It needs what test/run installs (Chromium, playwright, Pillow) and the program: URDF_USD_BIN, by
default target/debug/urdf_usd. `urdf_usd view` serves the page; the joint states come from this script.
"""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test"))

from browser import SETTLED, launch  # noqa: E402

ROBOT = "sample_rover"
PROGRAM = os.environ.get("URDF_USD_BIN", ROOT / "target" / "debug" / "urdf_usd")
#: Size of the page in CSS pixels.
PAGE = {"width": 1200, "height": 720}
#: Joint positions in the picture, in rad and m.
POSITIONS = {
    "caster_swivel_joint": 0.4,
    "mast_lift_joint": 0.09,
    "head_pan_joint": 0.6,
    "head_tilt_joint": 0.3,
}
#: Maximum size of the file, in bytes: everyone who opens the README loads it.
MAX_BYTES = 200_000


def picture(url):
    """The page, once the robot has taken the positions."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport=PAGE, color_scheme="light", reduced_motion="reduce")
        states = []
        # A routed WebSocket never reaches the server.
        page.route_web_socket(re.compile(r"/joints$"), lambda socket: states.append(socket))
        # Without a graphics card the viewer smooths edges on request only.
        page.goto(f"{url}?antialias=on", wait_until="commit")
        # Polled from here: the page's content security policy forbids the polling of `wait_for_function`.
        while not page.evaluate("'viewer' in window"):
            page.wait_for_timeout(50)
        page.evaluate("viewer.ready")
        states[-1].send(json.dumps({"robot": None, "live": True, "stamp": 1, "positions": POSITIONS}))
        moved = "([key, wanted]) => Object.entries(wanted).every(([joint, at]) => viewer.positions(key)[joint] === at)"
        while not page.evaluate(moved, [ROBOT, POSITIONS]):
            page.wait_for_timeout(20)
        page.evaluate(SETTLED)
        image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        browser.close()
    return image


def main(file):
    robot = ROOT / "examples" / ROBOT
    with tempfile.TemporaryDirectory() as folder:
        package = ["--package", f"{ROBOT}={robot}", "--srdf-file", robot / "srdf" / f"{ROBOT}.srdf"]
        subprocess.run([PROGRAM, "convert", robot / "urdf" / f"{ROBOT}.urdf", "-o", folder, "-q", *package], check=True)
        view = subprocess.Popen([PROGRAM, "view", Path(folder) / ROBOT, "--port", "0", "-q"], stdout=subprocess.PIPE, text=True)
        try:
            image = picture(view.stdout.readline().strip())
        finally:
            view.send_signal(signal.SIGINT)
            view.wait()
    image.save(file, quality=80, method=6)
    size = Path(file).stat().st_size
    print(f"{file}: {size} bytes")
    return 0 if size <= MAX_BYTES else f"it is larger than {MAX_BYTES} bytes"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "viewer.webp"))
