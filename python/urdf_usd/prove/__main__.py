"""`python -m urdf_usd.prove ASSET`: see `--help`.

The exit code is 0 if every engine that is installed passes, 1 if one does not, 2 if the command is wrong, the asset can't be read, or no engine or
not every engine that `--engine` names is installed.
"""

from __future__ import annotations

import argparse
import json
import sys

from .._errors import Error
from ._prove import DEFAULT, prove
from .compare import ENTRIES


def main() -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m urdf_usd.prove", description="Compare a robot in physics engines with its kinematics and dynamics.")
    parser.add_argument("asset", help="a URDF, xacro, OpenUSD or glTF file, the folder of an asset, package://PACKAGE/PATH, or a robot of robot_descriptions")
    parser.add_argument("--engine", action="append", choices=list(ENTRIES), help=f"an engine; may be repeated (default: {', '.join(DEFAULT)})")
    parser.add_argument("--python", action="append", default=[], metavar="ENGINE=PATH", help="the Python in which an engine, or `usd`, is installed")
    parser.add_argument("--package", action="append", default=[], metavar="NAME=DIR", help="the directory of a ROS package")
    parser.add_argument("--package-path", action="append", default=[], metavar="DIR", help="a folder of ROS packages")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args()
    pythons = dict(item.partition("=")[::2] for item in given.python)
    if not all(pythons.values()):
        parser.error("--python is ENGINE=PATH")
    try:
        table = prove(given.asset, engines=given.engine or DEFAULT, pythons=pythons, packages=given.package, package_paths=given.package_path)
    except Error as error:
        for finding in error.diagnostics:
            print(finding, file=sys.stderr)
        return 2
    print(json.dumps(table.to_json(), indent=2, allow_nan=False) if given.json else table.to_text())
    missing = {engine for engine, row in table.rows.items() if row.status == "missing"}
    return 2 if missing.issuperset(table.rows) or missing.intersection(given.engine or ()) else int(not table.ok)


if __name__ == "__main__":
    sys.exit(main())
