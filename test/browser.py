"""The browser for tests and screenshots of the viewer: the system's Chromium with software rendering."""

import shutil

#: WebGL without a graphics card, and no telemetry.
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--force-device-scale-factor=1",
]  # fmt: skip


def chromium():
    """Returns the path of the browser; None without one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def launch(playwright):
    """Starts the browser, which must exist."""
    return playwright.chromium.launch(executable_path=chromium(), args=FLAGS)


#: Resolves when rendering is idle.
SETTLED = """async () => {
    for (let quiet = 0, seen = -1; quiet < 4; seen = viewer.frame()) {
        await new Promise(requestAnimationFrame);
        quiet = viewer.frame() === seen ? quiet + 1 : 0;
    }
}"""
