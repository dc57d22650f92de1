"""A process that runs a module of this folder: `python _engine.py MODULE`, with a JSON list of arguments on standard input.

It answers on standard output with the result, or with the name of the engine's package if that is not installed. What engines print goes to
standard error. It is a script, not a module of the package, since the Python of an engine may not have the package.
"""

import importlib
import importlib.util
import json
import os
import sys
from pathlib import Path

#: Packages whose absence means that the engine is not installed. Any other missing module is an error, such as a numpy that is broken.
PACKAGES = {
    "engine_drake": ("pydrake",),
    "engine_mujoco": ("mujoco",),
    "engine_newton": ("warp", "newton"),
    "engine_physx": ("ovphysx", "ovstage"),
    "scenes": ("pxr",),
}


def load_package(folder: Path) -> str:
    """Loads this folder as a package and returns its name; neither it nor the folder above it stays on the search path.

    Both have modules with common names, such as `ray`, that an engine would import in place of others.
    """
    # With PYTHONSAFEPATH, Python does not add the folder.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != folder]
    spec = importlib.util.spec_from_file_location(folder.name, folder / "__init__.py", submodule_search_locations=[str(folder)])
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[folder.name] = package
    spec.loader.exec_module(package)
    return folder.name


def main(module: str) -> None:
    """Runs the function `answer` of a module."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    package = load_package(Path(__file__).resolve().parent)
    try:
        loaded = importlib.import_module(f"{package}.{module}")
    except ModuleNotFoundError as error:
        if error.name not in PACKAGES[module]:
            raise
        reply = {"missing": error.name}
    else:
        reply = {"answer": loaded.answer(*json.load(sys.stdin))}
    json.dump(reply, answers)
    answers.close()


main(sys.argv[1])
