"""A converted asset as usd-core sees it, with its prims found by the names that they have in the URDF."""

import functools

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdPhysics


class Asset:
    """A composed stage."""

    def __init__(self, entry, load=Usd.Stage.LoadAll):
        self.stage = Usd.Stage.Open(str(entry), load)
        # Layers are shared in a process: what a test changes must not reach the files' layers.
        self.stage.SetEditTarget(self.stage.GetSessionLayer())
        self.root = self.stage.GetDefaultPrim()

    @functools.cached_property
    def prims(self):
        """All prims that stand, those inside instances too."""
        return list(Usd.PrimRange.Stage(self.stage, Usd.TraverseInstanceProxies()))

    def select(self, variant_set, variant):
        """Selects a variant wherever there is the set."""
        for prim in self.stage.Traverse():
            if variant_set in prim.GetVariantSets().GetNames():
                prim.GetVariantSets().SetSelection(variant_set, variant)
        self.__dict__.pop("prims", None)

    @functools.cached_property
    def bodies(self):
        """Link name → prim, of all rigid bodies. Two of one name would be an error of the asset."""
        return self._named(p for p in self.prims if p.HasAPI(UsdPhysics.RigidBodyAPI))

    @functools.cached_property
    def frames(self):
        """Frame id → prim."""
        found = [p for p in self.prims if "RosFrameAPI" in applied(p)]
        assert len({value(p, "ros:frame:id") for p in found}) == len(found), "two frames of one id"
        return {value(p, "ros:frame:id"): p for p in found}

    @functools.cached_property
    def joints(self):
        """ros:joint:name → prim, of all physics joints."""
        found = [p for p in self.prims if p.IsA(UsdPhysics.Joint)]
        names = [value(p, "ros:joint:name") for p in found]
        assert None not in names, f"joints without ros:joint:name: {[p.GetPath() for p, n in zip(found, names) if n is None]}"
        assert len(set(names)) == len(names), f"two joints of one name among {sorted(names)}"
        return dict(zip(names, found))

    def _named(self, prims):
        out = {}
        for prim in prims:
            name = prim.GetDisplayName() or prim.GetName()
            assert name not in out, f"{prim.GetPath()} and {out[name].GetPath()} both stand for {name!r}"
            out[name] = prim
        return out

    def link(self, name):
        """The prim of a link, body or frame."""
        return self.bodies.get(name) or self.frames[name]

    def pose(self, prim):
        """A prim's frame in the default prim.

        From the attributes themselves: OpenUSD's own evaluation takes a quaternion's angle from its real part alone, which costs a
        single-precision one digits where the angle is small."""
        if not prim or prim == self.root or prim.IsPseudoRoot():
            return np.eye(4)
        return self.pose(prim.GetParent()) @ _local(prim)

    def evaluated_pose(self, prim):
        """The same as OpenUSD evaluates it."""
        return matrix(UsdGeom.XformCache().GetLocalToWorldTransform(prim)) if prim else np.eye(4)

    def relative(self, prim, ancestor):
        """A prim's frame in another's."""
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
    """Column vectors, as in the books."""
    return np.array(gf).T


def applied(prim):
    """Applied API schemas, those that this build does not know too."""
    listed = prim.GetMetadata("apiSchemas")
    return list(listed.GetAppliedItems()) if listed else []


def value(prim, name):
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute else None


def target(prim, name):
    """The one target of a relationship, or None."""
    relationship = prim.GetRelationship(name)
    targets = relationship.GetTargets() if relationship else []
    assert len(targets) <= 1, f"{prim.GetPath()}.{name} has {len(targets)} targets"
    return prim.GetStage().GetPrimAtPath(targets[0]) if targets else None


def quaternion(q):
    """The matrix of a unit quaternion."""
    parts = np.array([q.GetReal(), *q.GetImaginary()])
    assert abs(np.linalg.norm(parts) - 1) < 1e-6, f"{q} is no unit quaternion"
    w, x, y, z = parts / np.linalg.norm(parts)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def assert_printed_as_by_openusd(path):
    """A text layer is, byte for byte, what OpenUSD prints for it."""
    layer = Sdf.Layer.FindOrOpen(str(path))
    assert layer, f"OpenUSD cannot open {path}"
    ours, theirs = path.read_bytes().decode().splitlines(True), layer.ExportToString().splitlines(True)
    assert ours == theirs, f"{path} differs from what OpenUSD prints"
