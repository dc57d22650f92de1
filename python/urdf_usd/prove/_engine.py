"""A process that runs a module of this folder: `python _engine.py MODULE`, with a JSON list of arguments on standard input.

It answers on standard output with the result, or with the name of a package that is not installed. What engines print goes to standard error.
It is a script, not a module of the package, since the Python of an engine may not have the package.
"""

import importlib
import json
import os
import sys
from pathlib import Path


def main(module: str) -> None:
    """Runs the function `answer` of a module."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    folder = Path(__file__).resolve().parent
    # In place of this folder, which has modules with common names.
    sys.path[0] = str(folder.parent)
    try:
        found = importlib.import_module(f"{folder.name}.{module}")
    except ModuleNotFoundError as error:
        told = {"missing": error.name}
    else:
        told = {"answer": found.answer(*json.load(sys.stdin))}
    json.dump(told, answers)
    answers.close()


main(sys.argv[1])
