"""Compares what engines computed with the reference."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from .experiments import Plan, Positions, largest

#: The endings of the assets that engines read; `xpbd` is another solver of Newton.
ENTRIES = {"mujoco": ".xml", "drake": ".sdf", "newton": ".newton.usda", "xpbd": ".newton.usda", "physx": ".physx.usda"}
#: The experiments of each engine. XPBD loses energy, so that only its hold is comparable.
CHECKS = {engine: ["hold"] if engine == "xpbd" else ["mass", "hold", "swing", "step", "stop"] for engine in ENTRIES}
#: Maximum figure of each check. Slides count ten times, in the hold twenty times: 5 mm as 0.1 rad.
MAX_ERROR = {
    "mass": 1e-5,  # relative
    "centre": 1e-5,  # m
    "matrix": 1e-5,  # relative to the largest number
    "inertia": 1e-3,  # relative to the inertia of the joints, which differ by orders of magnitude; engines have single precision
    "start": 1e-4,
    "hold": 0.1,
    "contacts": 0.0,
    "warnings": 0.0,
    "swing": 1e-2,
    "step": 1e-2,
    "mimic": 1e-2,
    "stop": 0.2,  # beyond a limit that the joint meets at 1 rad/s
}
#: Warnings about what an engine does not do: Drake reads neither plugins nor some sensors. Newton 1.8 reads the start only from attributes
#: that no schema declares.
EXPECTED = re.compile(r"Ignoring unsupported SDFormat element|is a non-schema attribute")


def worst(errors: Mapping[str, float]) -> tuple[float, str]:
    """Returns the largest error and its joint. NaN counts as infinite."""
    numbers = ((math.inf if math.isnan(error) else abs(float(error)), name) for name, error in errors.items())
    return max(numbers, default=(0.0, ""))


def compare(plan: Plan, engine: str, results: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """Returns by check the largest difference of an engine's results from the plan, and the joint that has it. It is NaN or infinite if a result is NaN."""

    def unit(name: str) -> int:
        return 10 if name in plan["slides"] else 1

    def apart(ours: Positions, theirs: Positions) -> Positions:
        return {name: (ours[name] - at) * unit(name) for name, at in theirs.items() if name in ours}

    figures: dict[str, tuple[float, str]] = {}
    if "mass" in results:
        ours, theirs = results["mass"], plan["masses"][engine if engine in plan["masses"] else "usd"]
        figures["mass"] = (abs(ours["mass"] - theirs["mass"]) / (theirs["mass"] or 1), "")
        # NumPy's max returns NaN if there is one.
        figures["centre"] = (float(np.abs(np.subtract(ours["centres"], theirs["centres"])).max()), "")
        whole: list[float] = [0.0]
        single: dict[str, float] = {}
        for a, b in zip(ours["matrices"], theirs["matrices"], strict=True):
            a, b = np.array(a), np.array(b)
            if b.size:
                whole.append(float(np.abs(a - b).max() / np.abs(b).max()))
                relative = np.abs(a - b) / np.sqrt(np.outer(b.diagonal(), b.diagonal()))
                single |= {name: largest((float(row.max()), single.get(name, 0.0))) for name, row in zip(plan["joints"], relative, strict=True)}
        figures["matrix"], figures["inertia"] = (largest(whole), ""), worst(single)
    hold = results["hold"]
    figures["start"] = worst(apart(hold["start"], plan["start"]))
    # Joints whose effort limit is above the load that the reference computes; and every position must be a number.
    loads = plan["loads"]
    able = [name for name, (kp, _, force, _) in plan["drives"].items() if kp > 0 and (force is None or abs(loads[name]) < force)]
    moved = {name: by * (20 if name in plan["slides"] else 1) for name, by in hold["moved"].items() if name in able or math.isnan(by)}
    figures["hold"] = worst(moved)
    figures["contacts"] = (float(hold["contacts"]), "")
    unexpected = [text for text in hold["heard"] if not EXPECTED.search(text)]
    figures["warnings"] = (float(len(unexpected)), "; ".join(unexpected))
    for what, reference in (("swing", "swung"), ("step", "stepped")):
        if what in results:
            figures[what] = worst(apart(results[what]["samples"][-1], plan[reference][-1]))
    if plan["mimics"]:
        figures["mimic"] = (largest(results[what]["mimic"] for what in ("hold", "swing", "step") if what in results), "")
    if "stop" in results:
        figures["stop"] = worst({name: largest((by, 0.0)) * unit(name) for name, by in results["stop"]["beyond"].items()})
    return figures
