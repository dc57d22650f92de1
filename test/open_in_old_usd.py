"""Opens an asset in this Python's usd-core; run through worker.py: assets must open in OpenUSD 24.5 too."""

from pxr import Tf, Usd, UsdGeom, UsdPhysics, UsdUtils


def answer(entry):
    """Returns composition errors and counts of prims."""
    errors = []
    mark = Tf.Error.Mark() if hasattr(Tf.Error, "Mark") else None
    stage = Usd.Stage.Open(entry)
    if mark:
        errors += [str(e) for e in mark.GetErrors()]
    # Older builds keep composition errors with the prim indices.
    if hasattr(stage, "GetCompositionErrors"):
        errors += [str(e) for e in stage.GetCompositionErrors()]
    else:
        errors += [str(e) for p in stage.TraverseAll() for e in p.GetPrimIndex().localErrors]
    errors += [f"unresolved: {p}" for p in UsdUtils.ComputeAllDependencies(entry)[2]]
    prims = list(Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()))
    count = lambda test: sum(bool(test(p)) for p in prims)
    return {
        "version": list(Usd.GetVersion()),
        "errors": errors,
        "counts": {
            "prims": len(prims),
            "bodies": count(lambda p: p.HasAPI(UsdPhysics.RigidBodyAPI)),
            "joints": count(lambda p: p.IsA(UsdPhysics.Joint)),
            "colliders": count(lambda p: p.HasAPI(UsdPhysics.CollisionAPI)),
            "meshes": count(lambda p: p.IsA(UsdGeom.Mesh)),
            "points": sum(len(p.GetAttribute("points").Get() or []) for p in prims if p.IsA(UsdGeom.Mesh)),
        },
    }
