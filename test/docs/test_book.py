"""The book builds without broken links or anchors, and the commands of its pages work."""

import os
import re
import shlex
import shutil
import subprocess

import pytest

import conftest
from conftest import ROOT

#: Commands that need what the tests lack: a network, minutes of compilation, or a ROS 2 workspace.
NOT_RUN = ("cargo install ", "colcon ", "git clone ", "ros2 ")


def commands(page):
    """The lines of the page's `sh` blocks, in order."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


#: Pages with commands to run.
PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))) if commands(page)]


def test_the_book_has_no_broken_links(tmp_path):
    python = os.environ.get("URDF_USD_DOCS_PYTHON")
    if not python:
        pytest.skip("URDF_USD_DOCS_PYTHON is not set: test/run sets it to a Python with test/requirements-docs.txt")
    done = subprocess.run([python, ROOT / "docs" / "book", tmp_path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    # A page that Markdown misreads shows its own syntax.
    for page in (tmp_path / "site").rglob("index.html"):
        article = page.read_text(encoding="utf-8").partition("<article")[2].partition("</article>")[0]
        shown = re.sub(r"<(pre|code|script)\b.*?</\1>|<[^>]*>", "", article, flags=re.DOTALL)
        assert not re.search(r"^```|^\|[ -]|\]\(|\*\*", shown, re.MULTILINE), page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work_in_order(page, tmp_path):
    run_commands(page, tmp_path)


def test_the_commands_of_all_pages_work_in_one_clone(tmp_path):
    """A reader goes on from the README to the guides in the same folder: no command fails on what another one wrote, or removes it."""
    written = set()
    for page in PAGES:
        run_commands(page, tmp_path)
        now = {path for folder in ("assets", "out", "back") for path in (tmp_path / folder).glob("sample_arm/sample_arm.*")}
        assert written <= now, f"{page} removed {written - now}"
        written = now
    endings = {path.name.removeprefix("sample_arm.") for path in written if path.parents[1].name == "assets"}
    assert {"usda", "isaac.usda", "newton.usda", "glb", "xml"} <= endings


def run_commands(page, folder):
    """Runs the commands of a page as they stand, in order."""
    programs = folder / "bin"
    if not programs.is_dir():
        shutil.copytree(ROOT / "examples", folder / "examples")
        programs.mkdir()
        (programs / "urdf_usd").symlink_to(conftest.program())
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"}
    for line in commands(page):
        if line.startswith(NOT_RUN):
            continue
        assert line.startswith("urdf_usd "), line
        if line.startswith("urdf_usd view "):
            assert_the_viewer_starts(line, folder, environment)
            continue
        done = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{line}\n{done.stderr}"


def assert_the_viewer_starts(line, folder, environment):
    """Runs the command until it has printed its address. Without a terminal, no browser opens."""
    command = shlex.split(line, comments=True)
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as view:
        try:
            assert view.stdout.readline().startswith("http://127.0.0.1:"), line
        finally:
            view.terminate()


def test_the_readme_fits_on_a_few_screens():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 110
