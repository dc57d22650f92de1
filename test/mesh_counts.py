"""Counts the triangles of each link's shapes, in a variant of an asset as composed by usd-core, and in a GLB."""

from pxr import Usd, UsdGeom, UsdPhysics

import glb_file
from stage import Asset, value

#: The variant sets of REP-158 §1.3, with the scope of a link that has them.
SCOPES = {"visual_representation": "visual", "collision_fidelity": "collision"}


def in_usd(entry, chosen):
    """Returns {(link, scope): (triangles of meshes, whether there are other shapes)} for these variants, as composed by usd-core."""
    asset = Asset(entry)
    for name, variant in chosen.items():
        asset.select(name, variant)
    counts = {}
    for link in [prim for prim in asset.prims if prim.HasAPI(UsdPhysics.RigidBodyAPI)]:
        for scope in SCOPES.values():
            below = Usd.PrimRange(link.GetChild(scope), Usd.TraverseInstanceProxies()) if link.GetChild(scope) else []
            shapes = [prim for prim in below if prim.IsA(UsdGeom.Gprim)]
            faces = [sum(n - 2 for n in value(prim, "faceVertexCounts")) for prim in shapes if prim.IsA(UsdGeom.Mesh)]
            counts[(link.GetDisplayName() or link.GetName(), scope)] = (sum(faces), len(faces) < len(shapes))
    return counts


def in_glb(content, tmp_path):
    """Returns {(link, scope): triangles} of a GLB."""
    path = tmp_path / "counted.glb"
    path.write_bytes(content)
    glb = glb_file.Glb(path)
    nodes = lambda link, scope: [below for node in link.get(f"{scope}Nodes", []) for below in glb.below(node)]
    of = lambda link, scope: sum(glb.mesh_points(glb.nodes[n]["mesh"])[1] for n in nodes(link, scope) if "mesh" in glb.nodes[n])
    return {(name, scope): of(link, scope) for name, link in glb.links.items() for scope in SCOPES.values()}
