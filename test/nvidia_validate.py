"""Runs NVIDIA's validators on an asset; run through worker.py, in the Python of `.test-env/nv`."""

import logging

import usd_validation_nvidia as nvidia
from pxr import Usd

CATEGORIES = ("Basic", "Geometry", "Layer", "Material", "Physics")


def engine(categories, variants=True):
    # The engine itself sweeps each combination of variants, on every prim with variant sets.
    out = nvidia.ValidationEngine(init_rules=False, variants=variants)
    for category in categories:
        for rule in nvidia.CategoryRuleRegistry().get_rules(category):
            # SimReady's package adds rules for its profiles to the same categories.
            if rule.__module__.split(".")[0] == nvidia.__name__:
                out.enable_rule(rule)
    return out


def unloaded(entry):
    """Flattens the asset without payloads, as the engine would load them."""
    return Usd.Stage.Open(Usd.Stage.Open(entry, Usd.Stage.LoadNone).Flatten())


def selections(entry):
    """Returns the asset in the default variants, and in each variant that its default prim selects for all links."""
    yield (stage := Usd.Stage.Open(entry))
    for name in stage.GetDefaultPrim().GetVariantSets().GetNames():
        variants = stage.GetDefaultPrim().GetVariantSet(name)
        for variant in variants.GetVariantNames():
            if variant != variants.GetVariantSelection():
                selected = Usd.Stage.Open(entry)
                selected.SetEditTarget(selected.GetSessionLayer())
                selected.GetDefaultPrim().GetVariantSet(name).SetVariantSelection(variant)
                yield selected


def answer(entry):
    """Runs all categories on the asset in every variant, and those other than geometry on the asset without payloads. Geometry takes most of
    the time: its variants are those of all links at once, not of each link."""
    # The log repeats the returned issues.
    logging.disable(logging.CRITICAL)
    others = [c for c in CATEGORIES if c != "Geometry"]
    whole, geometry, light = engine(others), engine(["Geometry"], variants=False), engine(others)
    # A basic rule, but a mesh without its payload has no extent.
    light.disable_rule(nvidia.ExtentsChecker)
    runs = [("loaded", whole, entry), *(("loaded", geometry, stage) for stage in selections(entry)), ("unloaded", light, unloaded(entry))]
    found = []
    for state, by, asset in runs:
        for issue in by.validate(asset).issues():
            found.append({
                "state": state,
                "severity": issue.severity.name.lower(),
                "rule": issue.rule.__name__ if issue.rule else "",
                "message": issue.message,
                "at": issue.at.as_str() if issue.at else "",
            })  # fmt: skip
    return {"rules": sorted(rule.__name__ for by in (whole, geometry) for rule in by.enabled_rules), "found": found}
