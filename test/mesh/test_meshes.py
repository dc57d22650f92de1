"""This project's reading of every mesh of the real robots, compared with trimesh and pycollada: bounds, area, triangles, materials.

The project's own figures are written by the example `mesh_figures` of crates/mesh to the file that URDF_USD_MESH_STATS names: `test/run`
does both. Both sides skip degenerate triangles.
"""

import io
import json
import os
import re
import warnings
from pathlib import Path

import collada
import collada.common
import collada.lineset
import collada.triangleset
import numpy as np
import pytest
import trimesh

STATS = os.environ.get("URDF_USD_MESH_STATS")
ALL_FIGURES = json.loads(Path(STATS).read_text()) if STATS and Path(STATS).is_file() else {}
#: The hand-written meshes have separate tests.
FIGURES = {path: figures for path, figures in ALL_FIGURES.items() if not Path(path).is_relative_to(Path(__file__).resolve().parents[1])}

#: Rotation from glTF's y up: (x, y, z) becomes (x, -z, y).
Z_UP = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def read_collada(path):
    """Yields (points, triangles, name of material) of each primitive of the scene, in metres, without the up axis."""
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = re.sub(rb'encoding="[^"]*"', b'encoding="utf-8"', data.decode("utf-16").encode(), count=1)
    ignored = [collada.common.DaeUnsupportedError, collada.common.DaeBrokenRefError, collada.common.DaeIncompleteError]
    document = collada.Collada(io.BytesIO(data), ignore=ignored)
    for geometry in document.scene.objects("geometry"):
        for primitive in geometry.primitives():
            if isinstance(primitive, collada.lineset.BoundLineSet):
                continue
            shape = primitive if isinstance(primitive, collada.triangleset.BoundTriangleSet) else primitive.triangleset()
            if shape.vertex_index is not None:
                name = getattr(primitive.material, "id", None)
                yield np.asarray(shape.vertex) * (document.assetInfo.unitmeter or 1.0), np.asarray(shape.vertex_index).reshape(-1, 3), name


def read_others(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = trimesh.load(path, file_type=path.suffix.lower()[1:], process=False)
    turned = path.suffix.lower() in (".gltf", ".glb")
    for part in loaded.dump(concatenate=False) if isinstance(loaded, trimesh.Scene) else [loaded]:
        points = np.asarray(part.vertices, dtype=float)
        yield points @ Z_UP.T if turned else points, np.asarray(part.faces), getattr(getattr(part.visual, "material", None), "name", None)


def measured(path):
    """Returns bounds, area, number of triangles with an area, and used materials."""
    low, high, area, count, materials = np.full(3, np.inf), np.full(3, -np.inf), 0.0, 0, set()
    for points, triangles, material in read_collada(path) if path.suffix.lower() == ".dae" else read_others(path):
        # In single precision, like files and results, so that the same triangles are degenerate.
        a, b, c = (points.astype(np.float32).astype(float)[triangles[:, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        solid = normals.any(axis=1)
        if solid.any():
            corners = np.concatenate([a[solid], b[solid], c[solid]])
            low, high = np.minimum(low, corners.min(0)), np.maximum(high, corners.max(0))
            area += np.linalg.norm(normals, axis=1).sum() / 2
            count += int(solid.sum())
            materials.add(material)
    return low, high, area, count, materials


@pytest.mark.real_robot
@pytest.mark.skipif(not FIGURES, reason="URDF_USD_MESH_STATS is not a file of figures (the example mesh_figures writes it)")
@pytest.mark.parametrize("path", sorted(FIGURES) or ["no mesh"])
def test_mesh(path):
    figures = FIGURES[path]
    low, high, area, count, materials = measured(Path(path))
    size = np.abs([low, high]).max()
    np.testing.assert_allclose(figures["bounds"], [low, high], rtol=0, atol=2e-6 * size)
    assert figures["area"] == pytest.approx(area, rel=1e-4)
    assert figures["triangles"] == count
    if Path(path).suffix.lower() in (".dae", ".gltf", ".glb"):
        assert len(figures["parts"]) == len(materials), (figures["materials"], materials)
