"""The convex hulls of the colliders of every robot: closed, wound outwards, with few corners, close to their source."""

import numpy as np
import pytest
import trimesh
from pxr import UsdGeom

from conftest import Source, convert
from stage import Asset, applied

#: Maximum number of corners of a hull, and the preferred number (docs/limits.md).
MOST, FEW = 255, 64
#: Maximum distance of a source point from its hull, relative to the diagonal of the bounding box.
DEVIATION = 0.01


def meshes(converted):
    """Yields (name, hull, source) of every collision mesh with a hull, each once, as trimesh objects."""
    read = {}
    for variant in ("convex_hull", "trimesh"):
        asset = Asset(converted.entry)
        asset.select("collision_fidelity", variant)
        for prim in asset.prims:
            if prim.IsA(UsdGeom.Mesh) and "PhysicsMeshCollisionAPI" in applied(prim):
                read.setdefault(prim.GetPath(), []).append(_arrays(prim))
    pairs = {(hull[0].tobytes(), source[0].tobytes()): (path, hull, source) for path, (hull, source) in read.items()}
    for path, hull, source in pairs.values():
        if hull[0].shape != source[0].shape or (hull[0] != source[0]).any():
            yield f"{path.name} of {path.GetParentPath().GetParentPath().name}", *(trimesh.Trimesh(*of, process=False) for of in (hull, source))


FLAT = """<robot name="flat"><link name="base">
<collision><geometry><mesh filename="plate.obj" scale="0.01 0.01 0.01"/></geometry></collision>
<collision><origin xyz="0 0 1"/><geometry><mesh filename="plate.obj" scale="0.01 0.02 0.01"/></geometry></collision>
</link></robot>"""


def test_a_flat_mesh_has_a_closed_hull(tmp_path):
    """The hull is 0.1 % of the size thick, half to each side; the variant trimesh has the exact mesh."""
    (tmp_path / "plate.obj").write_text("v 0 0 5\nv 30 0 5\nv 30 40 5\nv 0 40 5\nf 1 2 3 4\n")
    (tmp_path / "flat.urdf").write_text(FLAT)
    converted = convert(Source("flat", tmp_path / "flat.urdf", {}, ()), tmp_path / "out")
    codes = [d["code"] for d in converted.report["diagnostics"]]
    assert codes.count("hull-flat") == 1 and codes.count("mesh-open") == 1
    (_, plate, source), (_, wide, _) = sorted(meshes(converted), key=lambda found: found[1].volume)
    for hull in (plate, wide):
        assert hull.is_watertight and hull.is_winding_consistent
        np.testing.assert_allclose(hull.bounds[:, 2], [0.05 - 0.5e-3 / 2, 0.05 + 0.5e-3 / 2], rtol=1e-6)
    assert plate.volume == pytest.approx(0.3 * 0.4 * 0.5e-3, rel=1e-4) and wide.volume == pytest.approx(0.3 * 0.8 * 0.5e-3, rel=1e-4)
    assert np.ptp(source.vertices[:, 2]) == 0


def _arrays(prim):
    mesh = UsdGeom.Mesh(prim)
    return np.array(mesh.GetPointsAttr().Get(), float), np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3)


def test_hulls(converted):
    few, every = 0, list(meshes(converted))
    # Mirrored meshes are the same mesh.
    not_closed = {np.abs(s.vertices).tobytes() for _, _, s in every if not (s.is_watertight and s.is_winding_consistent)}
    assert len([d for d in converted.found("info") if d["code"] == "mesh-open"]) == len(not_closed)
    for name, hull, source in every:
        assert hull.is_watertight and hull.is_winding_consistent and hull.volume > 0, name
        corners = {tuple(p) for p in hull.vertices}
        assert len(corners) == len(hull.vertices) == len(np.unique(hull.faces)) <= MOST, name
        assert corners <= {tuple(p) for p in source.vertices}, f"{name}: corners must be points of the source"
        diagonal = np.linalg.norm(np.ptp(source.vertices, axis=0))
        np.testing.assert_array_equal(hull.bounds, source.bounds, err_msg=name)
        # Convex: no corner is outside of any face's plane, but for what rounding to single precision, after the mesh's scale, tilts the
        # narrowest faces by.
        assert _heights(hull, hull.vertices).max() <= 5e-5 * diagonal, name
        # By their planes most points lie inside; of the others the distance to the surface counts.
        heights = _heights(hull, source.vertices)
        farthest = np.argsort(-heights)[:300]
        missed = max((_distance(hull.triangles, source.vertices[i]) for i in farthest if heights[i] > 1e-6 * diagonal), default=0) / diagonal
        assert missed <= DEVIATION + 1e-6, f"{name}: {missed:.4%}"
        print(f"hull {converted.name} {name}: {len(corners)} corners, {missed:.3%} missed")
        few += len(corners) <= FEW
    print(f"hulls {converted.name}: {few} of {len(every)} have {FEW} corners at most")


def _heights(hull, points):
    """Returns the distances of points in front of the planes of a hull, in chunks that fit in memory."""
    offsets = np.einsum("fk,fk->f", hull.face_normals, hull.triangles[:, 0])
    return np.concatenate([(part @ hull.face_normals.T - offsets).max(1) for part in np.array_split(points, len(points) // 20_000 + 1)])


def _distance(triangles, point):
    nearest = trimesh.triangles.closest_point(triangles, np.tile(point, (len(triangles), 1)))
    return np.linalg.norm(nearest - point, axis=1).min()
