"""What ros-openusd-compliance-checker finds in an asset; asked through worker.py. It is what `usd-check` runs."""

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
            # 1 where it finds errors, 2 where there is no asset.
            pass
    return json.loads(said.getvalue())
