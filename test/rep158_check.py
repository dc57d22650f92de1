"""Runs ros-openusd-compliance-checker on an asset, as `usd-check` does; run through worker.py."""

import contextlib
import io
import json

from compliance_checker.__main__ import main

OPTIONS = ("--export", "--extensions", "--severity", "info", "--format", "json")


def answer(entry):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            main.main([entry, *OPTIONS], prog_name="usd-check", standalone_mode=False)
        except SystemExit:
            # The exit code is 1 for errors, 2 without an asset.
            pass
    return json.loads(said.getvalue())
