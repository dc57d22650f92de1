"""What SimReady's profile Robot-Body finds in an asset; asked through worker.py, in the Python of `.test-env/nv`."""

import ast
import logging

import simready.validate as simready

# What it finds comes back as values; its log says the same again.
logging.disable(logging.CRITICAL)
simready.initialize(rules_and_requirements_paths=[], features_paths=[], profiles_paths=[])

PREFIX = "com.nvidia.simready."


def answer(entry):
    """Passed and failed features, and issues; None where the profile is not installed."""
    if "Robot-Body" not in simready.get_available_profiles():
        return None
    config = simready.AssetValidationConfig(asset_path=entry, profile_id="Robot-Body", profile_version="3.0.0")
    result = simready.validate_asset(config)
    assert result is not None, f"{entry} was not validated"
    features = result.features_summary
    failing = lambda told, which: [code.removeprefix(PREFIX) for code in ast.literal_eval(told.get(which) or "[]")]
    messages, not_run = {}, set()
    for issue in [*result.issues, *result.soft_issues]:
        # Rules about PhysX and Isaac Sim need modules that come with these only; without, they end in an error of no code.
        if not issue.code:
            not_run.add(issue.rule.__module__.split(".")[-2] if issue.rule else "")
            continue
        messages.setdefault(str(issue.code).removeprefix(PREFIX), []).append(issue.message)
    # Features that the profile leaves to choice (PhysX, Isaac ...) block nothing.
    codes = {code for told in features.values() for which in ("failing requirements", "optional requirements") for code in failing(told, which)}
    return {
        "passed": sorted(name for name, told in features.items() if told["passed"]),
        "blocking": sorted(name for name, told in features.items() if not told["passed"] and told.get("blocking_failure", True)),
        "not_run": sorted(not_run),
        "found": {code: messages.get(code, []) for code in sorted(codes | messages.keys())},
    }
