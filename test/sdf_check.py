"""Checks SDF files with Debian's libsdformat, like `gz sdf --check`; run through worker.py. Messages go to standard error."""

import ctypes
import functools
import os
import tempfile
from pathlib import Path

#: The library, after its dependencies.
LIBRARIES = ("libtinyxml.so.2.6.2", "libconsole_bridge.so.1.0", "liburdfdom_model.so.3.0", "libtinyxml2.so.9", "libignition-math6.so.6", "libsdformat12.so.12")
#: The newest version of the format that the library knows.
KNOWN = "1.9"


@functools.cache
def library(root):
    # The location of the description of the format.
    os.environ["SDF_PATH"] = str(Path(root) / "usr/share/sdformat12" / KNOWN)
    (folder,) = Path(root).glob("usr/lib/*-linux-gnu")
    return [ctypes.CDLL(str(folder / name), ctypes.RTLD_GLOBAL) for name in LIBRARIES][-1]


def answer(root, sdf):
    """Returns 0 if the file has no errors."""
    text = Path(sdf).read_text()
    with tempfile.NamedTemporaryFile("w", suffix=".sdf") as file:
        # It supports everything of newer versions except mimic joints.
        file.write(text.replace('<sdf version="1.11"', f'<sdf version="{KNOWN}"'))
        file.flush()
        return library(root).cmdCheck(file.name.encode())
