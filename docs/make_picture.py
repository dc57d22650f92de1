#!/usr/bin/env python3
"""Makes the picture of the README: the viewer, with the demo's robot as it moves.

    .test-env/usd/bin/python docs/make_picture.py [FILE.webp]

writes FILE (default: docs/viewer.webp). It needs what the tests need (test/run installs it): the program (URDF_USD_BIN, by default
target/debug/urdf_usd), Chromium, playwright and Pillow. The page is served by `urdf_usd view`; joint states come from here, one for each
picture, so that it does not matter how fast the page draws. The last picture leads to the first.
"""

import io
import json
import math
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
#: CSS pixels of the page, and pixels of the picture.
PAGE, PICTURE = {"width": 1200, "height": 720}, (900, 540)
#: Pictures in a second, and seconds until the first comes again.
RATE, SECONDS = 12, 8
#: Most that a README should make people load, in bytes.
MOST = 1_100_000


def positions(part):
    """Where joints stand in a part (0 … 1) of the time, in rad and m: wheels forward and back, the head looks about."""
    turn = 2 * math.pi * part
    drive = 3.5 * (1 - math.cos(turn))
    wheels = ("front_left_wheel", "rear_left_wheel", "front_right_wheel", "rear_right_wheel", "caster_wheel")
    return {f"{wheel}_joint": drive for wheel in wheels} | {
        "caster_swivel_joint": 0.5 * math.sin(turn),
        "mast_lift_joint": 0.06 - 0.055 * math.cos(turn),
        "head_pan_joint": 0.85 * math.sin(turn),
        "head_tilt_joint": 0.12 + 0.3 * math.sin(2 * turn),
    }


def pictures(url):
    """The page at every moment."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page(viewport=PAGE, color_scheme="light", reduced_motion="reduce")
        states = []
        # What is routed here never comes from the server.
        page.route_web_socket(re.compile(r"/joints$"), lambda socket: states.append(socket))
        # The browser draws without a graphics card, where edges are smooth on request only.
        page.goto(f"{url}?antialias=on", wait_until="commit")
        # The page's security policy forbids it to poll by itself.
        while not page.evaluate("'viewer' in window"):
            page.wait_for_timeout(50)
        page.evaluate("viewer.ready")
        for number in range(RATE * SECONDS):
            wanted = positions(number / (RATE * SECONDS))
            states[-1].send(json.dumps({"robot": None, "live": True, "stamp": number / RATE, "positions": wanted}))
            stands = "([key, wanted]) => Object.entries(wanted).every(([joint, at]) => viewer.positions(key)[joint] === at)"
            while not page.evaluate(stands, [ROBOT, wanted]):
                page.wait_for_timeout(20)
            page.evaluate(SETTLED)
            yield Image.open(io.BytesIO(page.screenshot())).convert("RGB").resize(PICTURE, Image.Resampling.LANCZOS)
        browser.close()


def main(file):
    robot = ROOT / "examples" / ROBOT
    with tempfile.TemporaryDirectory() as folder:
        package = ["--package", f"{ROBOT}={robot}", "--srdf-file", robot / "srdf" / f"{ROBOT}.srdf"]
        subprocess.run([PROGRAM, "convert", robot / "urdf" / f"{ROBOT}.urdf", "-o", folder, "-q", *package], check=True)
        view = subprocess.Popen([PROGRAM, "view", Path(folder) / ROBOT, "--port", "0", "-q"], stdout=subprocess.PIPE, text=True)
        try:
            first, *others = pictures(view.stdout.readline().strip())
        finally:
            view.send_signal(signal.SIGINT)
            view.wait()
    first.save(file, save_all=True, append_images=others, duration=1000 // RATE, loop=0, quality=72, method=4, minimize_size=True)
    size = Path(file).stat().st_size
    print(f"{file}: {1 + len(others)} pictures, {size / 1e6:.2f} MB")
    return 0 if size <= MOST else f"it is larger than {MOST / 1e6:.0f} MB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "viewer.webp"))
