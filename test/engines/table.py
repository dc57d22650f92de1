"""Runs the experiments with a robot in every engine, and compares the results with Pinocchio's (test_table.py)."""

import math
import os
import re

from conftest import in_nv, in_physx
from prove.compare import CHECKS, ENTRIES, compare
from prove.experiments import GRAVITY, WEAK
from prove.scenes import drives, make_scene, starts
from pxr import Usd, UsdPhysics
from test_urdf import peers
from worker import worker


class Subject:
    """A converted robot with the plan of its experiments (pinocchio_table.py)."""

    def __init__(self, asset):
        self.entries = {engine: str(asset.directory / f"{asset.asset_name}{suffix}") for engine, suffix in ENTRIES.items()}
        found = asset.report["diagnostics"]
        stage = Usd.Stage.Open(str(asset.entry))
        joints = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
        names = {prim.GetName(): prim.GetAttribute("ros:joint:name").Get() or prim.GetName() for prim in joints}
        renamed = [re.fullmatch('joint "(.*?)" is named "(.*?)" in the SDF', d["message"]) for d in found if d["code"] == "sdf-renamed"]
        held = {names[name]: numbers[:4] for name, numbers in drives(self.entries["physx"]).items()}
        held = {name: [kp, kd, force if math.isfinite(force) else None, target] for name, (kp, kd, force, target) in held.items()}
        start = {names[name]: at for name, at in starts(self.entries["newton"]).items()}
        links = lambda *codes: sorted({re.search('link "(.*?)"', d["message"])[1] for d in found if d["code"] in codes})
        massless = {"mujoco": links("mjcf-mass-missing"), "drake": links("sdf-mass-missing"), "usd": links("link-without-mass")}
        self.plan, _ = worker(peers(), "urdf").ask("pinocchio_table", str(asset.urdf), massless, repaired(found), held, start)
        gravities = {f"physx_{gravity:g}": gravity for gravity in (GRAVITY, WEAK, 0.0)}
        scenes = {name: str(asset.directory / f"scene_{name}.usda") for name in ("newton", "physx", *gravities)}
        for name, path in scenes.items():
            bodies = make_scene(self.entries[name.partition("_")[0]], path, gravities.get(name, GRAVITY), name in gravities)
        self.plan |= {"drives": held, "scenes": scenes, "bodies": bodies}
        self.plan["names"] = {"usd": names, "drake": {match[2]: match[1] for match in renamed if match}}

    def figures(self, engine):
        """Runs the experiments in an engine. Returns by check the largest difference and its joint."""
        arguments = (self.entries[engine], self.plan, CHECKS[engine])
        if engine in ("newton", "xpbd"):
            results = in_nv("newton_table", *arguments, engine)
        elif engine == "physx":
            results = in_physx("physx_table", *arguments)
        elif engine == "drake":
            results, _ = worker(os.environ["URDF_USD_DRAKE_PYTHON"], "drake").ask("drake_table", *arguments)
        else:
            results, _ = worker(peers(), "urdf").ask("mujoco_table", *arguments)
        return compare(self.plan, engine, results)


def repaired(found):
    """Returns the principal moments of inertia that the program wrote, and the original ones, by link."""
    pattern = r'link "(.*?)": written with the principal moments of inertia \((.*?)\) instead of \((.*?)\)'
    matches = [re.fullmatch(pattern, d["message"]).groups() for d in found if d["code"] == "inertia-repaired"]
    return {name: [[float(number) for number in text.split(", ")] for text in numbers] for name, *numbers in matches}
