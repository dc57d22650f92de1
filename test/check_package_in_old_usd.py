"""Checks a USDZ package with OpenUSD's own compliance checker, and prints what it finds as JSON.

    python check_package_in_old_usd.py PACKAGE

Run by test_usdz.py with usd-core 24.5: newer ones have the checker no more.
"""

import json
import sys

from pxr import Sdr, Tf, Usd, UsdUtils

# These wheels lack a file of shader definitions: their registry complains of it once, and the one rule about shaders then takes
# every shader for unknown. (UsdValidation of newer ones has the same rule.)
SHADERS = "(fails 'ShaderPropertyTypeConformanceChecker')"
try:
    Sdr.Registry().GetShaderNodeByIdentifier("UsdPreviewSurface")
except Tf.ErrorException:
    pass

checker = UsdUtils.ComplianceChecker(arkit=False)
checker.CheckCompliance(sys.argv[1])
print(json.dumps({
    "version": list(Usd.GetVersion()),
    "errors": checker.GetErrors(),
    "failed": [failure for failure in checker.GetFailedChecks() if not failure.endswith(SHADERS)],
    "warnings": checker.GetWarnings(),
}))  # fmt: skip
