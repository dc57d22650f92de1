"""The notebook of the documentation, and the page that shows a robot."""

import contextlib
import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT, SAMPLES, scratch

NOTEBOOK = ROOT / "docs" / "guides" / "python.ipynb"


def test_the_notebook_runs(urdf_usd, monkeypatch):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    monkeypatch.setenv("ARM", str(SAMPLES / "sample_arm"))
    monkeypatch.chdir(scratch())
    names, output = {}, io.StringIO()
    with contextlib.redirect_stdout(output):
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                exec(compile("".join(cell["source"]), f"cell {number}", "exec"), names)
    assert os.path.exists("assets/sample_arm/sample_arm.usda")
    assert "of 100 targets are reached" in output.getvalue() and "command-usage" in output.getvalue()
    cell = eval("".join(cells[-1]["source"]), names)._repr_html_()
    assert cell.startswith("<iframe srcdoc=") and "urdf-usd-viewer" in cell


def test_the_page_moves_the_robot(urdf_usd, arm, browser):
    """In a browser without a network: the page is a file, and what it asks for fails the test."""
    path, packages = arm
    robot = urdf_usd.Robot.load(path, **packages)
    file = scratch() / "arm.html"
    file.write_text(robot.to_html(theme="light", camera="iso"), encoding="utf-8")
    pose = """name => {
        const link = document.querySelector('urdf-usd-viewer').robot.links.find((link) => link.name === name);
        link.node.updateWorldMatrix(true, false);
        return link.node.matrixWorld.elements.slice(12, 15);
    }"""
    page = browser.new_page(viewport={"width": 900, "height": 600})
    problems = []
    page.on("request", lambda request: problems.append(request.url) if not request.url.startswith(("file:", "blob:", "data:")) else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached", timeout=60_000)
    assert page.locator("input[type=range]").count() == robot.dof and not problems, problems
    before = page.screenshot()
    page.locator("label", has_text="shoulder_pan_joint").locator("input").fill("1.0")
    page.locator("label", has_text="elbow_joint").locator("input").fill("0.8")
    found = page.evaluate(f"({pose})('tool0')")
    page.wait_for_timeout(300)
    after = page.screenshot()
    # A dragged link takes the joints above it along, and their sliders.
    sliders = lambda: page.locator("input[type=range]").evaluate_all("all => all.map((slider) => Number(slider.value))")
    posed = sliders()
    box = page.locator("urdf-usd-viewer").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 4
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y + 40, steps=5)
    page.mouse.up()
    dragged = sliders()
    assert posed[:3] == pytest.approx([1.0, 0.0, 0.8]) and dragged != pytest.approx(posed, abs=0.05)
    joints = page.evaluate("document.querySelector('urdf-usd-viewer').robot.positions()")
    assert dragged == pytest.approx([joints[name] for name in robot.dof_names], abs=1e-6)
    assert (np.array(dragged) >= robot.lower - 1e-6).all() and (np.array(dragged) <= robot.upper + 1e-6).all()
    if folder := os.environ.get("URDF_USD_SCREENSHOTS"):
        (Path(folder) / "python.png").write_bytes(after)
    page.close()
    shown = robot.configuration({"shoulder_pan_joint": 1.0, "elbow_joint": 0.8})
    assert before != after and not problems
    # The robot's x, y and z are the file's z, x and y.
    assert np.allclose(robot.fk(shown, "tool0")[:3, 3], (found[2], found[0], found[1]), atol=1e-5)
