"""What mesh files hold, as trimesh and pycollada read them: the points that triangles use and the number of triangles.

Positions as RViz shows them: a DAE's nodes and unit count, its up_axis does not; glTF's y is up, so (x, y, z) becomes (x, -z, y);
STL and OBJ are taken as they are.
"""

import functools
import io
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
    """(points used by triangles, number of triangles)."""
    suffix = path.suffix.lower()
    if suffix == ".dae":
        return _dae(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if suffix == ".stl":
            return _used([trimesh.load(path, file_type="stl", process=False)])
        loaded = trimesh.load(path, process=False, skip_materials=True)
        points, triangles = _used(loaded.dump(concatenate=False) if isinstance(loaded, trimesh.Scene) else [loaded])
        return (points if suffix == ".obj" else points[:, [0, 2, 1]] * [1, -1, 1]), triangles


def _used(meshes):
    points = [np.asarray(m.vertices)[np.unique(m.faces)] for m in meshes if len(m.faces)]
    return np.concatenate(points), sum(len(m.faces) for m in meshes)


def _dae(path):
    data = path.read_bytes()
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = re.sub(rb'encoding="[^"]*"', b'encoding="utf-8"', data.decode("utf-16").encode(), count=1)
    document = collada.Collada(io.BytesIO(data), ignore=[common.DaeUnsupportedError, common.DaeBrokenRefError, common.DaeIncompleteError])
    unit = document.assetInfo.unitmeter or 1.0
    points, triangles = [], 0
    for geometry in document.scene.objects("geometry"):
        for primitive in geometry.primitives():
            if isinstance(primitive, collada.lineset.BoundLineSet):
                continue
            shape = primitive if isinstance(primitive, collada.triangleset.BoundTriangleSet) else primitive.triangleset()
            if shape.vertex_index is None or not len(shape.vertex_index):
                continue
            points.append(np.asarray(shape.vertex)[np.unique(shape.vertex_index)])
            triangles += len(shape.vertex_index)
    return np.concatenate(points) * unit, triangles


def primitive(kind, attributes):
    """Points on the surface of a URDF primitive, dense enough that two of one size have the same bounds however they are turned."""
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
