"""Every visual of every converted robot has the pose and geometry of the URDF and its mesh files, in USD and in the GLB, compared with
trimesh and pycollada."""

import json
import urllib.parse
from pathlib import Path

import collada
import numpy as np
import pytest
from pxr import Usd, UsdGeom

import kinematics
import meshes
from conftest import Source, convert
from glb_file import AXES, Glb
from stage import Asset, value


def resolve(uri, converted):
    path = urllib.parse.unquote(uri)
    if path.startswith("package://"):
        package, _, rest = path.removeprefix("package://").partition("/")
        return Path(converted.package_dirs[package]) / rest
    return converted.urdf.parent / path.removeprefix("file://")


def expected(shape, converted):
    """Returns the points of a URDF shape in its link, and the permitted numbers of triangles of a mesh: degenerate ones may be left out."""
    if shape.kind == "mesh":
        points, least, most = meshes.read(resolve(shape.attributes["filename"], converted))
        points, counts = points * shape.scale, range(least, most + 1)
    else:
        points, counts = meshes.primitive(shape.kind, shape.attributes), None
    return points @ shape.origin[:3, :3].T + shape.origin[:3, 3], counts


def in_usd(asset, leaf, link):
    points, triangles = [], 0
    for prim in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()):
        if not prim.IsA(UsdGeom.Gprim):
            continue
        if prim.IsA(UsdGeom.Mesh):
            local = np.array(value(prim, "points"), dtype=float)[np.unique(value(prim, "faceVertexIndices"))]
            triangles += int((np.array(value(prim, "faceVertexCounts")) - 2).sum())
        elif prim.IsA(UsdGeom.Cube):
            local = meshes.primitive("box", {"size": " ".join([str(value(prim, "size"))] * 3)})
        elif prim.IsA(UsdGeom.Sphere):
            local = meshes.capsule(value(prim, "radius"), 0)
        else:
            assert value(prim, "axis") == "Z"
            local = (meshes.cylinder if prim.IsA(UsdGeom.Cylinder) else meshes.capsule)(value(prim, "radius"), value(prim, "height"))
        at = asset.relative(prim, link)
        points.append(local @ at[:3, :3].T + at[:3, 3])
    return np.concatenate(points), triangles


def assert_same(actual, wanted, what):
    """Asserts equal bounds and centroids, within single precision."""
    size = max(np.abs(wanted).max(), 1e-3)
    for measure in (lambda p: p.min(0), lambda p: p.max(0)):
        assert np.abs(measure(actual) - measure(wanted)).max() < 2e-6 * size, f"{what}: {measure(actual)} instead of {measure(wanted)}"


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.needs(kind)) for kind in ("visual", "collision")])
def test_usd(converted, kind):
    asset, urdf = Asset(converted.entry), kinematics.read(converted.urdf)
    # The source's own meshes: no hulls, and no coarser tiers.
    asset.select("visual_representation", "mesh_high")
    asset.select("collision_fidelity", "trimesh")
    for name, link in urdf.links.items():
        for index, shape in enumerate(link.visuals if kind == "visual" else link.collisions):
            # Shapes of the world are in the default prim.
            prim = asset.root if name == "world" and name in urdf.roots else asset.link(name)
            leaf = asset.stage.GetPrimAtPath(f"{prim.GetPath()}/{kind}/{kind}_{index}")
            assert leaf, f"{prim.GetPath()}/{kind}/{kind}_{index} is missing"
            points, triangles = in_usd(asset, leaf, prim)
            wanted, counts = expected(shape, converted)
            assert_same(points, wanted, leaf.GetPath())
            assert counts is None or triangles in counts, f"{leaf.GetPath()}: {triangles} triangles, not in {counts}"


@pytest.mark.needs("mesh")
def test_meshes_have_their_scale_in_their_points(converted):
    """Simulators assume a scale of 1 (REP-158 1.1), so no mesh has a scaled transform, whatever the scale of its source."""
    for tier, fidelity in (("mesh_high", "trimesh"), ("mesh_medium", "convex_hull"), ("mesh_low", "convex_hull")):
        asset = Asset(converted.entry)
        asset.select("visual_representation", tier)
        asset.select("collision_fidelity", fidelity)
        for prim in Usd.PrimRange(asset.root, Usd.TraverseInstanceProxies()):
            if prim.IsA(UsdGeom.Mesh):
                turn = asset.pose(prim)[:3, :3]
                assert np.abs(turn.T @ turn - np.eye(3)).max() < 1e-5, prim.GetPath()
                normals = np.array(UsdGeom.PrimvarsAPI(prim).GetPrimvar("normals").Get())
                assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() < 1e-5, prim.GetPath()


SCALED = """<robot name="scaled"><link name="base">
<visual><geometry><mesh filename="tile.obj" scale="0.001 0.001 0.001"/></geometry></visual>
<visual><geometry><mesh filename="tile.obj" scale="0.001 0.001 0.001"/></geometry></visual>
<visual><geometry><mesh filename="tile.obj" scale="1 2 3"/></geometry></visual>
<collision><geometry><mesh filename="tile.obj" scale="0.001 0.001 0.001"/></geometry></collision>
<visual><geometry><mesh filename="tile.obj" scale="1e-25 1e-25 1e-25"/></geometry></visual>
</link></robot>"""


def test_a_mesh_is_written_once_per_scale(tmp_path):
    """A scale beyond single precision is on the leaf."""
    (tmp_path / "tile.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (tmp_path / "scaled.urdf").write_text(SCALED)
    converted = convert(Source("scaled", tmp_path / "scaled.urdf", {}, ()), tmp_path / "out")
    geometries = Usd.Stage.Open(str(converted.directory / "geometries.usdc"))
    sizes = [np.array(value(p, "points")).max(0) for p in geometries.TraverseAll() if p.IsA(UsdGeom.Mesh)]
    found = {tuple(float(f"{x:.4g}") for x in size) for size in sizes}
    assert found == {(0.001, 0.001, 0.001), (1, 2, 3), (1, 1, 1)} and len(sizes) == 4, "the fourth mesh must be a hull"
    asset = Asset(converted.entry)
    scales = [value(asset.stage.GetPrimAtPath(f"/scaled/base/visual/visual_{n}"), "xformOp:scale") for n in range(4)]
    assert scales[:3] == [None] * 3 and scales[3] == pytest.approx((1e-25,) * 3)


@pytest.mark.needs("visual")
def test_glb(converted):
    glb, urdf = Glb(converted.glb), kinematics.read(converted.urdf)
    poses = glb.poses()
    for name, link in urdf.links.items():
        for node, shape in zip(glb.links[name].get("visualNodes", []), link.visuals, strict=True):
            found = [(n, *glb.mesh_points(glb.nodes[n]["mesh"])) for n in glb.below(node) if "mesh" in glb.nodes[n]]
            assert found, f"{name}: node {node} draws nothing"
            points = []
            for at, local, _ in found:
                relative = AXES.T @ np.linalg.inv(poses[glb.links[name]["node"]]) @ poses[at]
                points.append(local @ relative[:3, :3].T + relative[:3, 3])
            wanted, counts = expected(shape, converted)
            if counts is None:
                # Round shapes are tessellated: inside of the true shape, within a small error.
                size = np.abs(wanted).max()
                assert np.abs(np.concatenate(points).min(0) - wanted.min(0)).max() < 0.03 * size, f"{name}: node {node}"
                assert np.abs(np.concatenate(points).max(0) - wanted.max(0)).max() < 0.03 * size, f"{name}: node {node}"
            else:
                assert_same(np.concatenate(points), wanted, f"{name}: node {node}")
                assert sum(n for _, _, n in found) in counts, f"{name}: node {node}"


# ----------------------------------------------------------------------------------------------------- texture coordinates


def _obj_corners(path, material):
    points, uvs, out, active = [], [], set(), None
    for line in path.read_text().splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            points.append([float(v) for v in rest])
        elif word == "vt":
            uvs.append([float(v) for v in rest])
        elif word == "usemtl":
            active = rest[0]
        elif word == "f" and active == material:
            out |= {_corner(points[int(v) - 1], uvs[int(t) - 1]) for v, t, _ in (c.split("/") for c in rest)}
    return out


def _dae_corners(path, material):
    document = collada.Collada(str(path))
    out = set()
    for geometry in document.scene.objects("geometry"):
        for primitive in geometry.primitives():
            if primitive.original.material == material:
                shape = primitive.triangleset()
                for points, uvs in zip(shape.vertex_index, shape.texcoord_indexset[0]):
                    out |= {_corner(shape.vertex[p], shape.texcoordset[0][t]) for p, t in zip(points, uvs)}
    return out


def _glb_corners(path, material):
    file, out = Glb.__new__(Glb), set()
    data = path.read_bytes()
    size = int.from_bytes(data[12:16], "little")
    file.json, file.buffer = json.loads(data[20 : 20 + size]), data[28 + size :]
    for primitive in (p for mesh in file.json["meshes"] for p in mesh["primitives"]):
        if file.json["materials"][primitive["material"]]["name"] == material:
            points = file.accessor(primitive["attributes"]["POSITION"])[:, [0, 2, 1]] * [1, -1, 1]
            out |= {_corner(p, (u, 1 - v)) for p, (u, v) in zip(points, file.accessor(primitive["attributes"]["TEXCOORD_0"]))}
    return out


def _corner(point, uv):
    """Returns a comparable corner with v upwards, rounded to tolerate single precision, with an offset from rounding boundaries."""
    return tuple(int(np.floor(float(x) * 5e3 + 0.317)) for x in (*point, *uv))


@pytest.mark.parametrize(
    ("robot", "link", "file", "material", "read"),
    [
        ("sample_arm", "base_link", "pedestal.obj", "band", _obj_corners),
        ("sample_rover", "base_link", "chassis.dae", "deck", _dae_corners),
        ("sample_rover", "head_link", "head.glb", "face", _glb_corners),
    ],
    ids=["obj", "dae", "glb"],
)
def test_texture_coordinates(conversions, robot, link, file, material, read):
    """Texture coordinates are those of the files: v upwards in OBJ, DAE and USD, downwards in glTF."""
    converted = conversions(robot)
    wanted = read(converted.package_dirs[robot] / "meshes" / file, material)
    assert len(wanted) > 20
    asset = Asset(converted.entry)
    asset.select("visual_representation", "mesh_high")
    leaf = asset.stage.GetPrimAtPath(f"{asset.link(link).GetPath()}/visual/visual_0")
    (mesh,) = (p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh))
    points = np.array(value(mesh, "points"))[np.array(value(mesh, "faceVertexIndices"))]
    coordinates = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st").ComputeFlattened()
    assert len(points) == len(coordinates)
    missing = wanted - {_corner(p, t) for p, t in zip(points, coordinates)}
    assert len(missing) <= 0.02 * len(wanted), f"USD: {len(missing)} of {len(wanted)} corners differ"

    glb, found = Glb(converted.glb), set()
    (node,) = (n for n in glb.below(glb.links[link]["visualNodes"][0]) if "mesh" in glb.nodes[n])
    for primitive in glb.json["meshes"][glb.nodes[node]["mesh"]]["primitives"]:
        if "TEXCOORD_0" in primitive["attributes"]:
            points = glb.accessor(primitive["attributes"]["POSITION"]) @ AXES[:3, :3]
            found |= {_corner(p, (u, 1 - v)) for p, (u, v) in zip(points, glb.accessor(primitive["attributes"]["TEXCOORD_0"]))}
    missing = wanted - found
    assert len(missing) <= 0.02 * len(wanted), f"GLB: {len(missing)} of {len(wanted)} corners differ"
