"""What SimReady's profile Robot-Body finds in assets: run with the Python of `.test-env/nv`, tells it as JSON.

    simready_worker.py ENTRY...
"""

import json
import logging
import sys

import simready.validate as simready

# What it finds comes back as values; its log says the same again.
logging.disable(logging.CRITICAL)
simready.initialize(rules_and_requirements_paths=[], features_paths=[], profiles_paths=[])

found = {}
if "Robot-Body" in simready.get_available_profiles():
    for entry in sys.argv[1:]:
        config = simready.AssetValidationConfig(asset_path=entry, profile_id="Robot-Body", profile_version="3.0.0")
        result = simready.validate_asset(config)
        assert result is not None, f"{entry} was not validated"
        # Features that the profile leaves to choice (PhysX, Isaac ...) block nothing.
        required = {name: told for name, told in result.features_summary.items() if told["passed"] or told.get("blocking_failure", True)}
        found[entry] = {
            "passed": sorted(name for name, told in required.items() if told["passed"]),
            "failed": {name: str(told.get("failing requirements")) for name, told in required.items() if not told["passed"]},
            "issues": [
                {"rule": issue.rule.__name__ if issue.rule else "", "message": issue.message, "at": issue.at.as_str() if issue.at else ""}
                for issue in result.issues
            ],
        }
print(json.dumps(found))
