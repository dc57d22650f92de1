"""Tools for tests of the Python package."""

import os
import shutil
import subprocess
from pathlib import Path

from conftest import PROGRAM, ROOT, scratch

#: Environment with the build tool and type checkers (test/requirements-python.txt).
TOOLS = Path(os.environ.get("URDF_USD_PYTHON_TOOLS") or ROOT / ".test-env" / "python" / "bin")


def run(*command, env=None, **options):
    """Runs a command and returns its output, or fails with all that it says."""
    done = subprocess.run(
        list(map(str, command)), text=True, encoding="utf-8", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | (env or {}), **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def wheel_of(sources):
    """Makes the wheel of the built extension from a folder with the package's sources."""
    extension = next(PROGRAM.parent / name for name in ("lib_native.so", "lib_native.dylib") if (PROGRAM.parent / name).exists())
    out = scratch()
    env = {
        "URDF_USD_CARGO": shutil.which("cargo"),
        "URDF_USD_EXTENSION": str(extension),
        "PATH": f"{Path(__file__).parent / 'built'}:{TOOLS}:{os.environ['PATH']}",
        # The program of the tests is not stripped either.
        "MATURIN_PEP517_ARGS": "--strip false --compression-method stored",
    }
    # Like `pip install .`, with maturin already installed.
    run(TOOLS / "python", "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out, sources, env=env)
    (made,) = out.glob("*.whl")
    return made
