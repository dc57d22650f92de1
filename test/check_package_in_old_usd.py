"""Checks a USDZ package with OpenUSD's own compliance checker; asked through worker.py, with usd-core 24.5: newer versions no longer have
the checker."""

from pxr import Sdr, Tf, Usd, UsdUtils

# These wheels lack a file of shader definitions: the registry warns once, and the rule about shaders then treats every shader as
# unknown. (UsdValidation of newer versions has the same rule.)
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
