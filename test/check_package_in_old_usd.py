"""Checks a USDZ package with OpenUSD's own compliance checker; asked through worker.py, with usd-core 24.5: newer ones have the checker
no more."""

from pxr import Sdr, Tf, Usd, UsdUtils

# These wheels lack a file of shader definitions: their registry complains of it once, and the one rule about shaders then takes
# every shader for unknown. (UsdValidation of newer ones has the same rule.)
SHADERS = "(fails 'ShaderPropertyTypeConformanceChecker')"
try:
    Sdr.Registry().GetShaderNodeByIdentifier("UsdPreviewSurface")
except Tf.ErrorException:
    pass


def answer(package):
    checker = UsdUtils.ComplianceChecker(arkit=False)
    checker.CheckCompliance(package)
    return {
        "version": list(Usd.GetVersion()),
        "errors": checker.GetErrors(),
        "failed": [failure for failure in checker.GetFailedChecks() if not failure.endswith(SHADERS)],
        "warnings": checker.GetWarnings(),
    }
