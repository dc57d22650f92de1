"""Reads mesh files with trimesh and pycollada: the points that triangles use, and the number of triangles.

Positions are as in RViz: the nodes and unit of a DAE apply, its up_axis does not; in glTF y is up, so (x, y, z) becomes (x, -z, y);
STL and OBJ are not transformed.
"""

import functools
import io
import math
import re
import warnings

import collada
import collada.common as common
import collada.lineset
import collada.triangleset
import numpy as np
import trimesh


@functools.cache
def read(path):
    """Returns (points of triangles with an area, number of these triangles, number of all triangles)."""
    return _used(_parts(path))


@functools.cache
def triangles(path):
    """Returns the corners of all triangles."""
    return np.concatenate([points[triangles] for points, triangles in _parts(path) if len(triangles)])


def _parts(path):
    """Yields (points, triangles of indices) of each part."""
    suffix = path.suffix.lower()
    if suffix == ".dae":
        return _dae(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = trimesh.load(path, file_type=suffix[1:], process=False, **({} if suffix == ".stl" else {"skip_materials": True}))
    parts = loaded.dump(concatenate=False) if isinstance(loaded, trimesh.Scene) else [loaded]
    turn = _Z_UP if suffix in (".gltf", ".glb") else np.eye(3)
    return [(np.asarray(m.vertices) @ turn.T, np.asarray(m.faces)) for m in parts]


#: Rotation from y up to z up: (x, y, z) becomes (x, -z, y).
_Z_UP = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def _used(parts):
    """Computes the result of `read` from (points, triangles of indices)."""
    used, least, most = [], 0, 0
    for points, triangles in parts:
        if len(triangles):
            a, b, c = (points[triangles[:, k]] for k in range(3))
            flat = ~np.cross(b - a, c - a).any(axis=1)
            used.append(points[np.unique(triangles[~flat])])
            least, most = least + int((~flat).sum()), most + len(triangles)
    return np.concatenate(used), least, most


def _dae(path):
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = re.sub(rb'encoding="[^"]*"', b'encoding="utf-8"', data.decode("utf-16").encode(), count=1)
    document = collada.Collada(io.BytesIO(data), ignore=[common.DaeUnsupportedError, common.DaeBrokenRefError, common.DaeIncompleteError])

    unit = document.assetInfo.unitmeter or 1.0
    for geometry in document.scene.objects("geometry"):
        for primitive in geometry.primitives():
            if isinstance(primitive, collada.lineset.BoundLineSet):
                continue
            shape = primitive if isinstance(primitive, collada.triangleset.BoundTriangleSet) else primitive.triangleset()
            if shape.vertex_index is not None:
                yield np.asarray(shape.vertex) * unit, np.asarray(shape.vertex_index).reshape(-1, 3)


def primitive(kind, attributes):
    """Returns points on the surface of a URDF primitive, dense enough to compare bounds after any rotation."""
    if kind == "box":
        half = np.array([float(v) for v in attributes["size"].split()]) / 2
        return half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    radius, length = float(attributes["radius"]), float(attributes.get("length", 0))
    if kind == "cylinder":
        return cylinder(radius, length)
    return capsule(radius, length if kind == "capsule" else 0)


def cylinder(radius, length):
    turn = np.linspace(0, 2 * np.pi, 360, endpoint=False)
    ring = np.stack([radius * np.cos(turn), radius * np.sin(turn), np.zeros_like(turn)], axis=1)
    return np.concatenate([ring + [0, 0, length / 2], ring - [0, 0, length / 2]])


def capsule(radius, length):
    k = np.arange(20000) + 0.5
    polar, turn = np.arccos(1 - 2 * k / len(k)), np.pi * (1 + 5**0.5) * k
    ball = radius * np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], axis=1)
    return ball + np.where(ball[:, 2:] > 0, 1, -1) * [[0, 0, length / 2]]


def agrees(figures, low, high, area, count, materials):
    """Returns whether this project's figures of a mesh match."""
    return (
        np.allclose(figures["bounds"], [low, high], rtol=0, atol=2e-6)
        and math.isclose(figures["area"], area, rel_tol=1e-5)
        and figures["triangles"] == count
        and len(figures["parts"]) == materials
    )


def linear(color):
    """Converts sRGB to linear red, green, blue."""
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]


def check_misread(figures, right, read, reader):
    """Compares figures with `right` (the fault of the reader, then figures computed by hand), and checks that the reader still has the fault."""
    why, (low, high), area, count, materials = right
    assert agrees(figures, low, high, area, count, materials), figures
    try:
        *theirs, used = read()
    except Exception:  # each for its own reason
        return
    assert not agrees(figures, *theirs, len(used)), f"{reader} no longer has the fault that it {why}"
