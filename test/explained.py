"""Reads the tables of docs/validators.md and docs/check.md: accepted findings of validators, and those that `urdf_usd check` does not
share, with reasons."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


@dataclass(frozen=True)
class Row:
    tool: str
    rule: str
    message: re.Pattern
    at: re.Pattern  # searched for in the path of the prim; an empty one matches everywhere
    seen_on: str  # a robot with the finding
    reason: str

    def covers(self, rule, message, at):
        return rule == self.rule and bool(self.message.search(message)) and bool(self.at.search(at))


def _pattern(cell):
    return re.compile(cell.strip("`").replace("\\|", "|"))


def rows(tool, document="validators.md"):
    """Returns the rows about a tool. Rule, message and path are in backticks; message and path are regular expressions."""
    out = []
    for line in (DOCS / document).read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]  # a bar within a cell is "\\|"
        if line.startswith("|") and cells[0] == tool:
            assert len(cells) == 6, f"a row of {document} has {len(cells)} cells: {line}"
            _, rule, message, at, seen_on, reason = cells
            assert reason, f"{rule} is not explained"
            out.append(Row(tool, rule.strip("`"), _pattern(message), _pattern(at), seen_on, reason))
    return out
