"""Opens an asset in whichever usd-core this Python has, and prints what it finds as JSON.

    python open_in_old_usd.py ENTRY

Run by test_usd.py in an environment of its own: assets must open in OpenUSD 24.5 too.
"""

import json
import sys

from pxr import Tf, Usd, UsdGeom, UsdPhysics, UsdUtils


def main():
    errors = []
    mark = Tf.Error.Mark() if hasattr(Tf.Error, "Mark") else None
    stage = Usd.Stage.Open(sys.argv[1])
    if mark:
        errors += [str(e) for e in mark.GetErrors()]
    # Older builds keep composition errors with the prim indices.
    if hasattr(stage, "GetCompositionErrors"):
        errors += [str(e) for e in stage.GetCompositionErrors()]
    else:
        errors += [str(e) for p in stage.TraverseAll() for e in p.GetPrimIndex().localErrors]
    errors += [f"unresolved: {p}" for p in UsdUtils.ComputeAllDependencies(sys.argv[1])[2]]
    prims = list(Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()))
    count = lambda test: sum(bool(test(p)) for p in prims)
    print(json.dumps({
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
    }))


if __name__ == "__main__":
    main()
