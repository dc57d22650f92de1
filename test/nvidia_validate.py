"""Runs NVIDIA's validators on an asset; run through worker.py, in the Python of `.test-env/nv`."""

import logging

import usd_validation_nvidia as nvidia
from pxr import Usd

CATEGORIES = ("Basic", "Geometry", "Layer", "Material", "Physics")


def engine(categories):
    # The engine itself sweeps each combination of variants, on every prim with variant sets.
    out = nvidia.ValidationEngine(init_rules=False, variants=True)
    for category in categories:
        for rule in nvidia.CategoryRuleRegistry().get_rules(category):
            # SimReady's package adds rules for its profiles to the same categories.
            if rule.__module__.split(".")[0] == nvidia.__name__:
                out.enable_rule(rule)
    return out


def unloaded(entry):
    """Flattens the asset without payloads, as the engine would load them."""
    return Usd.Stage.Open(Usd.Stage.Open(entry, Usd.Stage.LoadNone).Flatten())


def answer(entry):
    """Runs all categories on the asset in every variant, and those other than geometry on the asset without payloads."""
    # The log repeats the returned issues.
    logging.disable(logging.CRITICAL)
    whole, light = engine(CATEGORIES), engine(c for c in CATEGORIES if c != "Geometry")
    # A basic rule, but a mesh without its payload has no extent.
    light.disable_rule(nvidia.ExtentsChecker)
    found = []
    for state, by, asset in (("loaded", whole, entry), ("unloaded", light, unloaded(entry))):
        for issue in by.validate(asset).issues():
            found.append({
                "state": state,
                "severity": issue.severity.name.lower(),
                "rule": issue.rule.__name__ if issue.rule else "",
                "message": issue.message,
                "at": issue.at.as_str() if issue.at else "",
            })  # fmt: skip
    return {"rules": sorted(rule.__name__ for rule in whole.enabled_rules), "found": found}
