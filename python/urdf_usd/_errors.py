"""Findings, and the exceptions that carry them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from . import _native

Severity = Literal["error", "warning", "info"]
# A finding about text or bytes names this file.
_CONTENTS = "<stdin>"


@dataclass(frozen=True)
class Diagnostic:
    """A finding, as in `report.json`. `docs/diagnostics.md` lists the codes."""

    severity: Severity
    code: str
    """Stable code, such as `urdf-bad-number`."""
    message: str
    """The fault."""
    file: str | None = None
    """The file; `None` for text and bytes, and for arguments."""
    line: int = 0
    """The line from 1; 0 if unknown."""
    column: int = 0
    """The column from 1, in characters; 0 if unknown."""
    element: str = ""
    """The element in the user's terms, such as `link "base"`."""
    help: str = ""
    """The remedy, with options named as on the command line: `--package` is the keyword `packages`."""
    cause: str = ""
    """The common cause of several findings of this code."""
    about: str = ""
    """The subject, if it is not the element: for instance a missing file."""
    expanded: bool = False
    """True if line and column refer to the output of xacro."""

    def __str__(self) -> str:
        place = ""
        if self.file is not None or self.line:
            place = self.file or "<text>"
            if self.line:
                place += f":{self.line}" + (f":{self.column}" if self.column else "")
            place += ": "
        remedy = f" ({self.help})" if self.help else ""
        return f"{place}{self.severity}[{self.code}]: {self.message}{remedy}"


def diagnostics(found: list[dict[str, Any]]) -> tuple[Diagnostic, ...]:
    """Returns findings in JSON as objects."""

    def one(finding: dict[str, Any]) -> Diagnostic:
        place = finding["where"]
        fields: dict[str, Any] = {name: finding[name] for name in ("severity", "code", "message", "help", "cause", "about") if name in finding}
        fields |= {name: place[name] for name in ("line", "column", "element", "expanded") if name in place}
        file = place.get("file")
        return Diagnostic(**fields, file=None if file == _CONTENTS else file)

    return tuple(map(one, found))


class Error(Exception):
    """Work that was not done: nothing is written."""

    diagnostics: tuple[Diagnostic, ...]
    """The reasons and all other findings, the most severe first."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        if not self.diagnostics:
            return "not done"
        more = len(self.diagnostics) - 1
        return str(self.diagnostics[0]) + (f" (and {more} more: see diagnostics)" if more else "")


class OptionError(Error, ValueError):
    """Arguments that are wrong, or do not fit together."""


@contextmanager
def failures() -> Iterator[None]:
    """Raises failures of the native module as exceptions of this one."""
    try:
        yield
    except _native.Failure as failure:
        kind, found = failure.args
        error = OptionError if kind == "usage" else Error
        raise error(diagnostics(json.loads(found))) from None
