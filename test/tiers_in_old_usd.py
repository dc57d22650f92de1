"""Opens an asset with a tier of its visuals selected; run through worker.py: tiers must compose in OpenUSD 24.5 too."""

from pxr import Usd, UsdGeom

SET = "visual_representation"


def answer(entry, tier):
    """Returns composition errors, and the numbers of meshes and faces."""
    stage = Usd.Stage.Open(entry)
    # A process shares layers: the selection must not affect that of the file.
    stage.SetEditTarget(stage.GetSessionLayer())
    for prim in stage.Traverse():
        if prim.GetName() == "visual" and SET in prim.GetVariantSets().GetNames():
            prim.GetVariantSets().SetSelection(SET, tier)
    errors = [str(error) for prim in stage.TraverseAll() for error in prim.GetPrimIndex().localErrors]
    meshes = [prim for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()) if prim.IsA(UsdGeom.Mesh)]
    return [errors, len(meshes), sum(len(prim.GetAttribute("faceVertexCounts").Get()) for prim in meshes)]
