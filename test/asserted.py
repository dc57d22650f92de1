"""Detects tests that pass without any assertion, such as a loop over nothing."""

import ast
import functools
import sys
from pathlib import Path

HERE = str(Path(__file__).resolve().parent)


@functools.cache
def _assertions(file):
    """Returns the lines of a test file with assertions. Assertions in helper modules do not count."""
    if not (file.startswith(HERE) and Path(file).name.startswith("test_")):
        return frozenset()
    found = (node for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))) if isinstance(node, ast.Assert))
    return frozenset(line for node in found for line in range(node.lineno, node.end_lineno + 1))


class Watch:
    """Traces code until its first assertion: an `assert` in a test file, or a call of a function `assert_…` anywhere."""

    def __init__(self):
        self.asserted = False

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def _call(self, frame, *_):
        if frame.f_code.co_name.startswith("assert_"):
            self._found()
        if self.asserted or not (lines := _assertions(frame.f_code.co_filename)):
            return None

        def line(frame, event, _):
            if event == "line" and frame.f_lineno in lines:
                self._found()
            return None if self.asserted else line

        return line

    def _found(self):
        self.asserted = True
        sys.settrace(self.before)
