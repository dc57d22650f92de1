"""Converts robots to OpenUSD (REP-158), glTF and other formats, checks and mends assets, and calculates with robots in batches.

>>> import urdf_usd
>>> result = urdf_usd.convert("arm.urdf", "assets", formats=["usd", "glb"])
>>> result.path, result.status
>>> robot = urdf_usd.Robot.load("arm.urdf")
>>> robot.fk(robot.rest, "tool0")

Errors are exceptions with the findings: `urdf_usd.Error.diagnostics`. Importing this module does nothing else: no output, no threads, no
signal handlers. NumPy is imported with `Robot`, `pxr` with `Result.stage`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._command import command
from ._commands import Inspection, Progress, Result, Source, check, convert, fix, inspect
from ._errors import Diagnostic, Error, OptionError
from ._native import VERSION as __version__
from ._options import Options, Packages, Planning

if TYPE_CHECKING:
    from ._robot import IkResult, Joint, Mimic, Robot

__all__ = [
    "Diagnostic",
    "Error",
    "IkResult",
    "Inspection",
    "Joint",
    "Mimic",
    "OptionError",
    "Options",
    "Packages",
    "Planning",
    "Progress",
    "Result",
    "Robot",
    "Source",
    "__version__",
    "check",
    "command",
    "convert",
    "fix",
    "inspect",
]


def __getattr__(name: str) -> object:
    if name in ("IkResult", "Joint", "Mimic", "Robot"):
        from . import _robot

        return getattr(_robot, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
