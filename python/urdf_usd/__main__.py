"""The command `urdf_usd`."""

from __future__ import annotations

import json
import os
import signal
import sys

if not __package__:
    # Run as a file (`interpreter`): modules are not in the folder of this package, but may be beside it.
    sys.path[0:1] = []
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from urdf_usd import _native
from urdf_usd._command import interpreter
from urdf_usd._errors import Error
from urdf_usd._sources import find


def takes_value(argument: str) -> bool:
    """Returns whether an argument is an option of a conversion that is not a switch, such as `--changelog`."""
    options = json.loads(_native.options())
    return any(f"--{option['flag']}" == argument and option["kind"] != "switch" for option in options)


def located(arguments: list[str]) -> list[str]:
    """Returns arguments with the paths of robots that are given by name or in a Git repository, and the options that they need."""
    replaced: list[str] = []
    for before, argument in zip(["", *arguments], arguments):
        is_robot = argument.startswith(("robot_descriptions:", "git+"))
        # An address may also be the value of an option.
        is_robot |= argument.startswith("https://github.com/") and not takes_value(before)
        found = find(argument) if is_robot else None
        if found is None:
            replaced.append(argument)
            continue
        replaced.append(str(found.path))
        for name, folder in found.packages.items():
            replaced += ["--package", f"{name}={folder}"]
        for name, value in found.xacro_args.items():
            replaced += ["--xacro-arg", f"{name}:={value}"]
    return replaced


def main() -> int:
    """Runs the command with the arguments of this process, and returns its exit code."""
    # Python's handler would only run once the command has ended.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        arguments = located(sys.argv[1:])
    except Error as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, ValueError) else 1
    return _native.main(["urdf_usd", *arguments], interpreter())


if __name__ == "__main__":
    sys.exit(main())
