"""Commands in a child process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ._errors import Error, OptionError, diagnostics

_USAGE = 2


def interpreter() -> list[str]:
    """Returns the command line that runs the command `urdf_usd` in another process; empty if it is unknown.

    The file, unlike `-m urdf_usd`, does not add the working directory to the places of modules.
    """
    return [sys.executable, os.path.join(os.path.dirname(__file__), "__main__.py")] if sys.executable else []


def command(*arguments: str | os.PathLike[str], **options: object) -> dict[str, Any]:
    """Runs any command that prints JSON in a process, and returns what it prints: `xrdf`, `isaac`, `pose` with its subcommands, and others.

    >>> urdf_usd.command("xrdf", "write", "arm.urdf", output="arm.xrdf")
    >>> urdf_usd.command("isaac", "tree", "assets/arm")

    Args:
        *arguments: The command, its subcommand and its arguments (`docs/cli.md`).
        **options: Its options, with underscores: `True` for a flag, a list or a set for an option that may be given several times, a mapping for
            `NAME=VALUE`.

    Raises:
        OptionError: Arguments are wrong.
        Error: The command can't do its work.
    """
    line = [os.fspath(argument) for argument in arguments]
    for name, value in options.items():
        flag = "--" + name.rstrip("_").replace("_", "-")
        if value is True:
            line.append(flag)
        elif isinstance(value, Mapping):
            line += [f"{flag}={key}={item}" for key, item in value.items()]
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike)):
            line += [f"{flag}={item}" for item in value]
        elif value is not None and value is not False:
            line.append(f"{flag}={value}")
    form = ["--format=json"] if line[:1] == ["check"] else ["--json"]
    done = subprocess.run([*interpreter(), *line, *form], capture_output=True, text=True, encoding="utf-8", check=False)
    try:
        printed: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        printed = {"status": "failed", "diagnostics": [_unprinted(line, done)]}
    if printed.get("status") == "failed":
        error = OptionError if done.returncode == _USAGE else Error
        raise error(diagnostics(printed["diagnostics"]))
    return printed


def _unprinted(line: list[str], done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Returns the finding about a command that printed no JSON."""
    reason = done.stderr.strip() or f"exit code {done.returncode}"
    return {"severity": "error", "code": "command-failed", "message": f"{' '.join(line[:2])} printed no JSON: {reason}", "where": {}}
