"""Runs the test suite of urdf-usd-converter with the drop-in replacement, in the folder of its source distribution.

Prints the number of tests, and the end of each failure by test, as JSON. Neither the presence nor
the words of warnings are compared.
"""

import io
import json
import sys
import unittest

sys.path.insert(0, ".")
import urdf_usd_converter._impl.cli
import usdex.test

import urdf_usd.compat.urdf_usd_converter as replacement


class Unchecked:
    """Instead of `usdex.test.ScopedDiagnosticChecker`, which compares warnings."""

    def __init__(self, *expected, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


usdex.test.ScopedDiagnosticChecker = Unchecked
# The command line of the converter, too, whose tests call it in this process.
for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "urdf_usd_converter"]:
    if hasattr(module, "Converter"):
        module.Converter = replacement.Converter

output, sys.stdout = sys.stdout, sys.stderr
result = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.discover("./tests"))
failed = {case.id(): trace.strip()[-500:] for case, trace in result.failures}
errors = {case.id(): trace.strip()[-500:] for case, trace in result.errors}
json.dump({"tests": result.testsRun, "skipped": len(result.skipped), "failed": failed, "errors": errors}, output)
