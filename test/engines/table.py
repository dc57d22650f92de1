"""Runs the experiments with a robot in every engine, and compares the results with Pinocchio's (test_table.py)."""

import math
import os
import re

import numpy as np
from conftest import in_nv, in_physx
from experiments import GRAVITY, WEAK
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from test_simulation import drives
from test_urdf import peers
from worker import worker

#: The entry of the asset for each engine.
ENTRIES = {"mujoco": ".xml", "drake": ".sdf", "newton": ".newton.usda", "xpbd": ".newton.usda", "physx": ".physx.usda"}
#: XPBD loses energy (faults/newton_xpbd_swing.py), so that only its hold is comparable.
CHECKS = {engine: ("hold",) if engine == "xpbd" else ("mass", "hold", "swing", "step", "stop") for engine in ENTRIES}
#: Largest figure of each check. Slides count ten times, in the hold twenty times: 5 mm as 0.1 rad.
LARGEST = {
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


def starts(entry):
    """Returns the positions at the start in a layer for Newton, by joint."""
    stage, found = Usd.Stage.Open(str(entry)), {}
    for prim in stage.Traverse():
        for kind, unit in (("angular", math.pi / 180), ("linear", 1)):
            if at := prim.GetAttribute(f"newton:{kind}:position"):
                found[prim.GetName()] = at.Get() * unit
    return found


def make_scene(entry, path, gravity, apart):
    """Writes a scene with an asset whose base is held. Returns the paths of the bodies. If `apart`, nothing collides."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1)
    UsdPhysics.SetStageKilogramsPerUnit(stage, 1)
    scene = UsdPhysics.Scene.Define(stage, "/World/scene")
    scene.CreateGravityDirectionAttr(Gf.Vec3f(0, 0, -1))
    scene.CreateGravityMagnitudeAttr(gravity)
    robot = UsdGeom.Xform.Define(stage, "/World/robot").GetPrim()
    robot.GetReferences().AddReference(os.path.abspath(entry))
    prims = list(stage.Traverse())
    bodies = [prim for prim in prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]
    joints = [UsdPhysics.Joint(prim) for prim in prims if prim.IsA(UsdPhysics.Joint)]
    jointed = {target for joint in joints for target in joint.GetBody1Rel().GetTargets()}
    for number, body in enumerate(body for body in bodies if body.GetPath() not in jointed):
        joint = UsdPhysics.FixedJoint.Define(stage, f"/World/robot/hold_{number}")
        joint.CreateBody1Rel().SetTargets([body.GetPath()])
        place = UsdGeom.XformCache().GetLocalToWorldTransform(body)
        joint.CreateLocalPos0Attr(Gf.Vec3f(place.ExtractTranslation()))
        joint.CreateLocalRot0Attr(Gf.Quatf(place.ExtractRotationQuat().GetNormalized()))
    for body in bodies:
        body.AddAppliedSchema("PhysxContactReportAPI")
        body.CreateAttribute("physxContactReport:threshold", Sdf.ValueTypeNames.Float).Set(0)
    if apart:
        # A collider may be in one group only: one of the asset, or else one of the scene.
        groups = [UsdPhysics.CollisionGroup(prim) for prim in prims if prim.IsA(UsdPhysics.CollisionGroup)]
        if not groups:
            groups = [UsdPhysics.CollisionGroup.Define(stage, "/World/apart")]
            groups[0].GetCollidersCollectionAPI().CreateIncludesRel().SetTargets([robot.GetPath()])
        for group in groups:
            group.CreateFilteredGroupsRel().SetTargets([other.GetPath() for other in groups])
    stage.Save()
    return [str(body.GetPath()) for body in bodies]


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
        self.plan["names"] = {"usd": names, "drake": {found[2]: found[1] for found in renamed if found}}

    def figures(self, engine):
        """Runs the experiments in an engine. Returns by check the largest difference and its joint."""
        arguments = (self.entries[engine], self.plan, CHECKS[engine])
        if engine in ("newton", "xpbd"):
            told = in_nv("newton_table", *arguments, engine)
        elif engine == "physx":
            told = in_physx("physx_table", *arguments)
        elif engine == "drake":
            told, _ = worker(os.environ["URDF_USD_DRAKE_PYTHON"], "drake").ask("drake_table", *arguments)
        else:
            told, _ = worker(peers(), "urdf").ask("mujoco_table", *arguments)
        return compare(self.plan, engine, told)


def repaired(found):
    """Returns the principal moments of inertia that the program wrote, and the original ones, by link."""
    pattern = r'link "(.*?)": written with the principal moments of inertia \((.*?)\) instead of \((.*?)\)'
    matches = [re.fullmatch(pattern, d["message"]).groups() for d in found if d["code"] == "inertia-repaired"]
    return {name: [[float(number) for number in text.split(", ")] for text in numbers] for name, *numbers in matches}


def worst(errors):
    """Returns the largest error and its joint."""
    number = lambda error: math.inf if math.isnan(error) else abs(float(error))
    return max(((number(error), name) for name, error in errors.items()), default=(0.0, ""))


def compare(plan, engine, told):
    """Returns by check the largest difference from the plan, and the joint that has it."""
    unit = lambda name: 10 if name in plan["slides"] else 1
    apart = lambda ours, theirs: {name: (ours[name] - at) * unit(name) for name, at in theirs.items() if name in ours}
    figures = {}
    if "mass" in told:
        ours, theirs = told["mass"], plan["masses"][engine if engine in plan["masses"] else "usd"]
        figures["mass"] = (abs(ours["mass"] - theirs["mass"]) / (theirs["mass"] or 1), "")
        figures["centre"] = (float(np.abs(np.subtract(ours["centres"], theirs["centres"])).max()), "")
        whole, single = [0.0], {}
        for a, b in zip(ours["matrices"], theirs["matrices"], strict=True):
            a, b = np.array(a), np.array(b)
            if b.size:
                whole.append(float(np.abs(a - b).max() / np.abs(b).max()))
                relative = np.abs(a - b) / np.sqrt(np.outer(b.diagonal(), b.diagonal()))
                single |= {name: max(float(row.max()), single.get(name, 0)) for name, row in zip(plan["joints"], relative, strict=True)}
        figures["matrix"], figures["inertia"] = (max(whole), ""), worst(single)
    hold = told["hold"]
    figures["start"] = worst(apart(hold["start"], plan["start"]))
    # Joints whose effort limit is above the load that Pinocchio computes; and every position must be a number.
    loads = plan["loads"]
    able = [name for name, (kp, _, force, _) in plan["drives"].items() if kp > 0 and (force is None or abs(loads[name]) < force)]
    moved = {name: by * (20 if name in plan["slides"] else 1) for name, by in hold["moved"].items() if name in able or math.isnan(by)}
    figures["hold"] = worst(moved)
    figures["contacts"] = (float(hold["contacts"]), "")
    unexpected = [text for text in hold["heard"] if not EXPECTED.search(text)]
    figures["warnings"] = (float(len(unexpected)), "; ".join(unexpected))
    for what, reference in (("swing", "swung"), ("step", "stepped")):
        if what in told:
            figures[what] = worst(apart(told[what]["samples"][-1], plan[reference][-1]))
    if plan["mimics"]:
        figures["mimic"] = (max(told[what]["mimic"] for what in ("hold", "swing", "step") if what in told), "")
    if "stop" in told:
        figures["stop"] = worst({name: max(by, 0) * unit(name) for name, by in told["stop"]["beyond"].items()})
    return figures
