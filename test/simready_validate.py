"""Validates an asset with SimReady's profile Robot-Body; run through worker.py, in the Python of `.test-env/nv`."""

import ast
import logging

import simready.validate as simready

# The log repeats the returned issues.
logging.disable(logging.CRITICAL)
simready.initialize(rules_and_requirements_paths=[], features_paths=[], profiles_paths=[])

PREFIX = "com.nvidia.simready."


def answer(entry):
    """Returns passed and failed features, and issues; None if the profile is not installed."""
    if "Robot-Body" not in simready.get_available_profiles():
        return None
    config = simready.AssetValidationConfig(asset_path=entry, profile_id="Robot-Body", profile_version="3.0.0")
    result = simready.validate_asset(config)
    assert result is not None, f"{entry} was not validated"
    features = result.features_summary
    failing = lambda told, which: [code.removeprefix(PREFIX) for code in ast.literal_eval(told.get(which) or "[]")]
    messages, not_run = {}, set()
    for issue in [*result.issues, *result.soft_issues]:
        # Rules about PhysX and Isaac Sim need modules of these; without them, they fail with an error without code.
        if not issue.code:
            not_run.add(issue.rule.__module__.split(".")[-2] if issue.rule else "")
            continue
        messages.setdefault(str(issue.code).removeprefix(PREFIX), []).append(issue.message)
    # Optional features of the profile (PhysX, Isaac ...) do not block.
    codes = {code for told in features.values() for which in ("failing requirements", "optional requirements") for code in failing(told, which)}
    return {
        "passed": sorted(name for name, told in features.items() if told["passed"]),
        "blocking": sorted(name for name, told in features.items() if not told["passed"] and told.get("blocking_failure", True)),
        "not_run": sorted(not_run),
        "found": {code: messages.get(code, []) for code in sorted(codes | messages.keys())},
    }
