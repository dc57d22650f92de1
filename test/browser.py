"""The browser that the viewer is tested and pictured in: the system's Chromium, which draws in software."""

import shutil

#: WebGL without a graphics card, and no word to the browser's maker.
FLAGS = [
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--force-device-scale-factor=1",
]  # fmt: skip


def chromium():
    """Its program; None if there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def launch(playwright):
    """Starts it; there must be one."""
    return playwright.chromium.launch(executable_path=chromium(), args=FLAGS)


#: Until nothing more is drawn.
SETTLED = """async () => {
    for (let quiet = 0, seen = -1; quiet < 4; seen = viewer.frame()) {
        await new Promise(requestAnimationFrame);
        quiet = viewer.frame() === seen ? quiet + 1 : 0;
    }
}"""
