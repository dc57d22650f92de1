"""Reads the simulation data of assets in OpenUSD, and creates scenes to simulate them in."""

from __future__ import annotations

import importlib
import math
import os
from pathlib import Path
from typing import Any

from .experiments import Positions

Gf, Sdf, Usd, UsdGeom, UsdPhysics = (importlib.import_module(f"pxr.{name}") for name in ("Gf", "Sdf", "Usd", "UsdGeom", "UsdPhysics"))


def unsupported_units(entry: str | Path) -> str:
    """Returns why an asset can't be referenced into a scene in metres and kilograms with Z up, which OpenUSD does without conversion; else ""."""
    stage = Usd.Stage.Open(str(entry))
    axis, metres, kilograms = UsdGeom.GetStageUpAxis(stage), UsdGeom.GetStageMetersPerUnit(stage), UsdPhysics.GetStageKilogramsPerUnit(stage)
    if axis == "Z" and math.isclose(metres, 1) and math.isclose(kilograms, 1):
        return ""
    found = f"upAxis {axis}, metersPerUnit {metres:g}, kilogramsPerUnit {kilograms:g}"
    return f"{entry} has {found}, but must be Z-up, in metres and kilograms; convert it first: urdf_usd convert {Path(entry).name} -o DIR"


def drives(entry: str | Path) -> dict[str, tuple[float, float, float, float, bool]]:
    """Returns stiffness, damping and maximum force in SI, target in rad or m, and whether the gains are marked as assumed."""
    stage = Usd.Stage.Open(str(entry))
    found: dict[str, tuple[float, float, float, float, bool]] = {}
    for prim in stage.Traverse():
        for kind, unit in (("angular", 180 / math.pi), ("linear", 1)):
            drive = UsdPhysics.DriveAPI.Get(prim, kind)
            if drive and drive.GetStiffnessAttr().HasAuthoredValue():
                numbers = (drive.GetStiffnessAttr().Get() * unit, drive.GetDampingAttr().Get() * unit, drive.GetMaxForceAttr().Get())
                assumed = prim.GetAttribute("urdf:drive:assumed")
                found[prim.GetName()] = (*numbers, drive.GetTargetPositionAttr().Get() / unit, bool(assumed and assumed.Get()))
    return found


def starts(entry: str | Path) -> Positions:
    """Returns the positions at the start in a layer for Newton, by joint."""
    stage = Usd.Stage.Open(str(entry))
    found: Positions = {}
    for prim in stage.Traverse():
        for kind, unit in (("angular", math.pi / 180), ("linear", 1)):
            if at := prim.GetAttribute(f"newton:{kind}:position"):
                found[prim.GetName()] = at.Get() * unit
    return found


def make_scene(entry: str | Path, path: str | Path, gravity: float, apart: bool) -> list[str]:
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


def answer(entries: dict[str, str], folder: str, gravities: dict[str, float]) -> dict[str, Any]:
    """Returns the drives, the start, the armature and the names of joints of assets, and writes scenes; or why an asset is refused.

    Args:
        entries: The assets for `newton` and `physx`.
        folder: The folder for scenes.
        gravities: The gravity of scenes without collisions, by name; that of others is `""`.
    """
    if reason := unsupported_units(entries["newton"]):
        return {"refused": reason}
    stage = Usd.Stage.Open(entries["newton"])
    joints = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    attributes = {prim.GetName(): prim.GetAttribute("ros:joint:name") for prim in joints}
    names = {name: (attribute.Get() if attribute else None) or name for name, attribute in attributes.items()}
    held = {}
    for name, (kp, kd, force, target, _) in drives(entries["physx"]).items():
        held[names[name]] = (kp, kd, force if math.isfinite(force) else None, target if target is not None else 0.0)
    armature = {}
    for prim in joints:
        found = (prim.GetAttribute(name) for name in ("newton:armature", "physxJoint:armature"))
        value = next((attribute.Get() for attribute in found if attribute and attribute.Get()), 0.0)
        if value:
            armature[names[prim.GetName()]] = float(value)
    scenes = {name: f"{folder}/scene_{name}.usda" for name in ("newton", "physx", *(name for name in gravities if name))}
    bodies: list[str] = []
    for name, path in scenes.items():
        bodies = make_scene(entries[name.partition("_")[0]], path, gravities.get(name, gravities[""]), name in gravities)
    start = {names[name]: at for name, at in starts(entries["newton"]).items()}
    return {"drives": held, "start": start, "armature": armature, "names": names, "scenes": scenes, "bodies": bodies}
