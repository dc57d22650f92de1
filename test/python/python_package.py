"""Tools for tests of the Python package."""

import os
import subprocess
from pathlib import Path

from conftest import ROOT

#: Environment with the build tool and type checkers (test/requirements-python.txt).
TOOLS = Path(os.environ.get("URDF_USD_PYTHON_TOOLS") or ROOT / ".test-env" / "python" / "bin")


def run(*command, env=None, **options):
    """Runs a command and returns its output, or fails with all that it says."""
    done = subprocess.run(
        list(map(str, command)), text=True, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | (env or {}), **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout
