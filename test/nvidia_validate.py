"""What NVIDIA's validators find in an asset; asked through worker.py, in the Python of `.test-env/nv`."""

import logging

import usd_validation_nvidia as nvidia
from pxr import Usd

CATEGORIES = ("Basic", "Geometry", "Layer", "Material", "Physics")


def engine(categories):
    # Variants are swept by the engine itself: each combination of a prim's variant sets, on every prim that has any.
    out = nvidia.ValidationEngine(init_rules=False, variants=True)
    for category in categories:
        for rule in nvidia.CategoryRuleRegistry().get_rules(category):
            # SimReady's package adds rules of its own to the same categories; they are for its profiles.
            if rule.__module__.split(".")[0] == nvidia.__name__:
                out.enable_rule(rule)
    return out


def unloaded(entry):
    """The engine loads what it is given, so the state without payloads is flattened: a flat layer has none to load."""
    return Usd.Stage.Open(Usd.Stage.Open(entry, Usd.Stage.LoadNone).Flatten())


def answer(entry):
    """All categories above over the asset in every variant; those that are not about geometry over it as it stands with its payloads
    unloaded."""
    # What it finds comes back as values; its log says the same again.
    logging.disable(logging.CRITICAL)
    whole, light = engine(CATEGORIES), engine(c for c in CATEGORIES if c != "Geometry")
    # It stands among the basic rules, but a mesh has no extent before its payload is there.
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
