"""The Python package, as a wheel around the extension that is built with the program; nothing is compiled again.

The tests of this folder run one after the other on one worker of pytest-xdist, so that the wheel is made once.
"""

import sys
from pathlib import Path

import pytest

from conftest import ROOT, SAMPLES, scratch
from python_package import run, wheel_of


# First: a test with a group gets none for its robot.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker(pytest.mark.xdist_group("python"))


@pytest.fixture(scope="session")
def wheel():
    """The wheel of the built extension."""
    return wheel_of(ROOT)


@pytest.fixture(scope="session")
def site(wheel):
    """A folder with the installed package, which this process imports, too."""
    folder = scratch()
    run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder, wheel)
    sys.path.insert(0, str(folder))
    return folder


@pytest.fixture(scope="session")
def urdf_usd(site):
    """The module."""
    import urdf_usd

    return urdf_usd


@pytest.fixture(scope="session")
def arm():
    """The sample arm, with the option that names its package."""
    return SAMPLES / "sample_arm" / "urdf" / "sample_arm.urdf", {"packages": {"sample_arm": SAMPLES / "sample_arm"}}
