"""A converted asset in usd-core, with prims by their URDF names."""

import functools

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdPhysics


def create_stage(path, mass=1):
    """Creates a stage in metres, z up, with the robot `/r` of one body; `mass` in kg, `None` for none. Returns the stage and the body."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1)
    root = UsdGeom.Xform.Define(stage, "/r").GetPrim()
    stage.SetDefaultPrim(root)
    body = UsdGeom.Xform.Define(stage, "/r/body").GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(body)
    if mass is not None:
        UsdPhysics.MassAPI.Apply(body).CreateMassAttr(mass)
    return stage, body


class Asset:
    """A composed stage."""

    def __init__(self, entry, load=Usd.Stage.LoadAll):
        self.stage = Usd.Stage.Open(str(entry), load)
        # A process shares layers: changes of a test must not affect those of the files.
        self.stage.SetEditTarget(self.stage.GetSessionLayer())
        self.root = self.stage.GetDefaultPrim()

    @functools.cached_property
    def prims(self):
        """Iterates over all defined prims, also inside instances."""
        return list(Usd.PrimRange.Stage(self.stage, Usd.TraverseInstanceProxies()))

    def select(self, variant_set, variant):
        """Selects a variant on every prim with the set."""
        # Before the first selection, which composes the prims below again.
        paths = [prim.GetPath() for prim in self.stage.Traverse() if variant_set in prim.GetVariantSets().GetNames()]
        for path in paths:
            self.stage.GetPrimAtPath(path).GetVariantSets().SetSelection(variant_set, variant)
        self.__dict__.pop("prims", None)

    @functools.cached_property
    def bodies(self):
        """Returns the rigid bodies by link name. Duplicate names are an error of the asset."""
        return self._named(p for p in self.prims if p.HasAPI(UsdPhysics.RigidBodyAPI))

    @functools.cached_property
    def frames(self):
        """Returns the frames by id."""
        found = [p for p in self.prims if "RosFrameAPI" in applied(p)]
        assert len({value(p, "ros:frame:id") for p in found}) == len(found), "duplicate frame id"
        return {value(p, "ros:frame:id"): p for p in found}

    @functools.cached_property
    def joints(self):
        """Returns the physics joints by ros:joint:name."""
        found = [p for p in self.prims if p.IsA(UsdPhysics.Joint)]
        names = [value(p, "ros:joint:name") for p in found]
        assert None not in names, f"joints without ros:joint:name: {[p.GetPath() for p, n in zip(found, names) if n is None]}"
        assert len(set(names)) == len(names), f"duplicate joint names among {sorted(names)}"
        return dict(zip(names, found))

    def _named(self, prims):
        out = {}
        for prim in prims:
            name = prim.GetDisplayName() or prim.GetName()
            assert name not in out, f"{prim.GetPath()} and {out[name].GetPath()} both have the name {name!r}"
            out[name] = prim
        return out

    def link(self, name):
        """Returns the prim of a link, body or frame."""
        return self.bodies.get(name) or self.frames[name]

    def pose(self, prim):
        """Returns a prim's frame in the default prim, computed from the attributes.

        OpenUSD's own evaluation takes the angle of a quaternion from its real part alone, which loses precision for small angles in
        single precision."""
        if not prim or prim == self.root or prim.IsPseudoRoot():
            return np.eye(4)
        return self.pose(prim.GetParent()) @ _local(prim)

    def evaluated_pose(self, prim):
        """Returns the same frame as evaluated by OpenUSD."""
        return matrix(UsdGeom.XformCache().GetLocalToWorldTransform(prim)) if prim else np.eye(4)

    def relative(self, prim, ancestor):
        """Returns a prim's frame in that of another."""
        return np.linalg.inv(self.pose(ancestor)) @ self.pose(prim)


def _local(prim):
    order = value(prim, "xformOpOrder") or []
    out = np.eye(4)
    for op in order:
        step, given = np.eye(4), value(prim, op)
        match op:
            case "xformOp:translate":
                step[:3, 3] = given
            case "xformOp:orient":
                step[:3, :3] = quaternion(given)
            case "xformOp:scale":
                step[:3, :3] = np.diag(given)
            case _:
                raise AssertionError(f"{prim.GetPath()} has the transform {op}")
        out = out @ step
    return out


def matrix(gf):
    """Converts a matrix to the convention for column vectors."""
    return np.array(gf).T


def applied(prim):
    """Returns the applied API schemas, also those that this build does not know."""
    listed = prim.GetMetadata("apiSchemas")
    return list(listed.GetAppliedItems()) if listed else []


def value(prim, name):
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute else None


def target(prim, name):
    """Returns the only target of a relationship, or None."""
    relationship = prim.GetRelationship(name)
    targets = relationship.GetTargets() if relationship else []
    assert len(targets) <= 1, f"{prim.GetPath()}.{name} has {len(targets)} targets"
    return prim.GetStage().GetPrimAtPath(targets[0]) if targets else None


def quaternion(q):
    """Returns the matrix of a unit quaternion."""
    parts = np.array([q.GetReal(), *q.GetImaginary()])
    assert abs(np.linalg.norm(parts) - 1) < 1e-6, f"{q} is not a unit quaternion"
    w, x, y, z = parts / np.linalg.norm(parts)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def assert_printed_as_by_openusd(path):
    """Asserts that a text layer equals OpenUSD's own output byte for byte."""
    layer = Sdf.Layer.FindOrOpen(str(path))
    assert layer, f"OpenUSD cannot open {path}"
    ours, theirs = path.read_bytes().decode().splitlines(True), layer.ExportToString().splitlines(True)
    assert ours == theirs, f"{path} differs from what OpenUSD prints"
