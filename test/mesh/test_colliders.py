"""Colliders as convex parts of their meshes, and as primitives that resemble them: in USD, MuJoCo, glTF, and read back."""

import functools
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh
from pxr import Usd, UsdGeom

import glb_file
from conftest import Source, convert, in_nv, run
from stage import Asset, applied, value
from test_rep158 import check
from test_urdf import peers
from worker import worker

#: Outer radius, height and thickness of the wall and the bottom of the cup, in metres.
RADIUS, HEIGHT, WALL = 0.1, 0.2, 0.01
LINK = """<link name="{}"><inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>{}</link>"""
COLLISION = '<collision name="{0}"><origin xyz="{1}"/><geometry><mesh filename="{0}.stl" scale="0.01 0.01 0.01"/></geometry></collision>'
ANCHOR = '<link name="world"/><joint name="w" type="fixed"><parent link="world"/><child link="base"/></joint>'


def robot(folder, meshes, anchor=ANCHOR):
    """Writes a robot with colliders, each from a mesh in centimetres at a position in metres."""
    for name, (mesh, _) in meshes.items():
        mesh.export(folder / f"{name}.stl")
    colliders = "".join(COLLISION.format(name, at) for name, (_, at) in meshes.items())
    (folder / "r.urdf").write_text(f'<robot name="r">{anchor}{LINK.format("base", colliders)}</robot>')
    return Source("r", folder / "r.urdf", {}, ())


def cup(sides=32):
    """Returns a cup in centimetres on the plane z = 0."""
    profile = [(0, 0), (RADIUS, 0), (RADIUS, HEIGHT), (RADIUS - WALL, HEIGHT), (RADIUS - WALL, WALL), (0, WALL)]
    return trimesh.creation.revolve(100 * np.array(profile), sections=sides)


def distance_outside(part, points):
    """Returns a lower bound of the distances of points from a convex mesh; 0 inside."""
    offsets = np.einsum("fk,fk->f", part.face_normals, part.triangles[:, 0])
    return np.maximum((points @ part.face_normals.T - offsets).max(1), 0)


#: Opens an asset for the whole run: prims end with their stage.
opened = functools.cache(Asset)


def parts_of(entry):
    """Returns the colliders of the variant convex_decomposition, as prims and as meshes in metres."""
    asset = opened(entry)
    asset.select("collision_fidelity", "convex_decomposition")
    prims = [prim for prim in asset.prims if prim.IsA(UsdGeom.Mesh) and "PhysicsCollisionAPI" in applied(prim)]
    meshes = []
    for prim in prims:
        mesh = UsdGeom.Mesh(prim)
        points = np.array(mesh.GetPointsAttr().Get(), float) * (value(prim, "xformOp:scale") or (1, 1, 1))
        meshes.append(trimesh.Trimesh(points, np.array(mesh.GetFaceVertexIndicesAttr().Get()).reshape(-1, 3), process=False))
    return prims, meshes


def told(report, code):
    return [d["message"] for d in report["diagnostics"] if d["code"] == code]


@pytest.fixture(scope="module")
def decomposed(tmp_path_factory):
    """A cup and a box with convex parts, in all formats."""
    folder = tmp_path_factory.mktemp("cup")
    source = robot(folder, {"cup": (cup(), "0 0 0"), "block": (trimesh.creation.box([5, 5, 5]), "1 0 0")})
    options = ("--formats", "usd,glb,mjcf", "--gltf-physics", "--convex-parts", "16", "--check")
    return source, convert(source, folder / "out", *options)


def test_parts_cover_the_mesh_and_are_convex(decomposed):
    _, asset = decomposed
    (said,) = told(asset.report, "convex-parts")
    count, deviation = re.search(r"1 are convex; 1 are decomposed into (\d+) convex parts, which deviate by up to ([\d.]+) mm", said).groups()
    prims, meshes = parts_of(asset.entry)
    names = [prim.GetName() for prim in prims]
    assert names == [*(f"collision_0_part_{k}" for k in range(int(count))), "collision_1"] and 8 <= int(count) <= 16
    for prim, mesh in zip(prims, meshes):
        assert mesh.is_watertight and mesh.volume > 0 and len(mesh.vertices) <= 64
        assert distance_outside(mesh, mesh.vertices).max() < 5e-5
        assert value(prim, "physics:approximation") == ("none" if prim.GetName() == "collision_1" else "convexHull")
        assert value(prim, "purpose") == "guide" and prim.GetRelationship("material:binding:physics").GetTargets()
    surface, _ = trimesh.sample.sample_surface(cup(), 5000, seed=1)
    missed = np.min([distance_outside(mesh, surface / 100) for mesh in meshes[:-1]], 0)
    assert missed.max() <= float(deviation) / 1000 + 1e-6 and float(deviation) < 8, (missed.max(), deviation)
    # The cup is hollow.
    inside = np.array([[x, y, z] for x in (-0.05, 0, 0.05) for y in (-0.05, 0.05) for z in (0.03, 0.1, 0.19)])
    assert all((distance_outside(mesh, inside) > 0.005).all() for mesh in meshes)


def test_validators_accept_the_variant(decomposed):
    _, asset = decomposed
    assert not [d for d in asset.report["diagnostics"] if d["code"].startswith("REP158") and d["severity"] != "info"]
    assert {v["check_id"] for v in check(asset.entry)["violations"]} <= {"1.2.8", "3.1.1"}  # docs/validators.md
    # NVIDIA's validators sweep all variants.
    assert not in_nv("nvidia_validate", asset.entry)["found"]
    stage = Usd.Stage.Open(str(asset.entry))
    (scope,) = [prim for prim in stage.Traverse() if prim.GetVariantSets().HasVariantSet("collision_fidelity")]
    variants = scope.GetVariantSet("collision_fidelity")
    assert variants.GetVariantNames() == ["convex_decomposition", "convex_hull", "trimesh"]
    assert variants.GetVariantSelection() == "convex_hull" and len(scope.GetChildren()) == 2


def test_a_ball_falls_into_the_cup(decomposed, tmp_path):
    source, asset = decomposed
    drop = lambda mjcf: worker(peers(), "urdf").ask("ball_in_cup", str(mjcf), 0.03, 0.3)[0]
    fallen = drop(asset.directory / "r.xml")
    assert fallen["height"] == pytest.approx(WALL + 0.03, abs=0.005) and fallen["contacts"] == 0 and fallen["colliders"] > 8, fallen
    hull = convert(source, tmp_path, "--formats", "mjcf")
    assert not told(hull.report, "convex-parts")
    # It may roll off the lid that the hull is.
    lying = drop(hull.directory / "r.xml")
    assert lying["colliders"] == 2 and not 0 < lying["height"] < HEIGHT, lying


def test_gltf_has_a_collider_for_each_part(decomposed):
    _, asset = decomposed
    nodes = glb_file.read(asset.glb)[0]["nodes"]
    bodies = [node.get("extensions", {}).get("KHR_physics_rigid_bodies", {}) for node in nodes]
    colliders = [body["collider"] for body in bodies if "collider" in body]
    _, meshes = parts_of(asset.entry)
    assert len(colliders) == len(meshes) and all(collider["geometry"]["convexHull"] for collider in colliders)


def test_the_variant_is_read_back(decomposed, tmp_path):
    _, asset = decomposed
    done = run("convert", asset.entry, "-o", tmp_path, "--variant", "collision_fidelity=convex_decomposition", "--formats", "urdf,mjcf,sdf,glb")
    assert done.returncode == 0, done.stderr
    _, meshes = parts_of(asset.entry)
    urdf = ElementTree.parse(tmp_path / "r" / "r.urdf")
    collisions = urdf.findall(".//collision")
    assert [c.get("name") for c in collisions] == ["cup"] * (len(meshes) - 1) + ["block"]
    sdf = ElementTree.parse(tmp_path / "r" / "r.sdf")
    assert len(sdf.findall(".//collision")) == len(meshes)
    fallen = worker(peers(), "urdf").ask("ball_in_cup", str(tmp_path / "r" / "r.xml"), 0.03, 0.3)[0]
    assert fallen["height"] == pytest.approx(WALL + 0.03, abs=0.005)


def test_the_world_keeps_its_filtered_pairs(tmp_path):
    """The parts of a collider of the link `world` are not checked against the body that a joint connects to it."""
    cup().export(tmp_path / "cup.stl")
    joint = '<joint name="w" type="continuous"><parent link="world"/><child link="base"/></joint>'
    world = f'<link name="world">{COLLISION.format("cup", "0 0 0")}</link>{joint}'
    block = {"block": (trimesh.creation.box([5, 5, 5]), "0 0 0.1")}
    asset = convert(robot(tmp_path, block, anchor=world), tmp_path / "out", "--formats", "usd", "--convex-parts", "8")
    prims, _ = parts_of(asset.entry)
    parts = [prim for prim in prims if "_part_" in prim.GetName()]
    assert parts and all([t.name for t in p.GetRelationship("physics:filteredPairs").GetTargets()] == ["base"] for p in parts)


def test_primitives_replace_meshes_that_they_resemble(tmp_path):
    """Within a tenth of a millimetre. The cup and the bent rod stay meshes."""
    turn = trimesh.transformations.euler_matrix(0.3, -0.7, 1.1)
    turn[:3, 3] = 3, -2, 1
    shapes = {
        "box": trimesh.creation.box([2, 4, 6]),
        "sphere": trimesh.creation.icosphere(4, 3),
        "cylinder": trimesh.creation.cylinder(2, 8, sections=128),
        "capsule": trimesh.creation.capsule(6, 1.5, count=[96, 96]),
    }
    turned = {name: (mesh.copy().apply_transform(turn), "0.1 0.2 0.3") for name, mesh in shapes.items()}
    source = robot(tmp_path, turned | {"cup": (cup(), "0 0 0")})
    asset = convert(source, tmp_path / "out", "--formats", "usd,urdf,mjcf,sdf,glb", "--fit-primitives", "0.0001", "--convex-parts", "8")
    (said,) = told(asset.report, "primitives-fitted")
    deviation = re.search(r"4 of 5 colliders \(box: 1, sphere: 1, cylinder: 1, capsule: 1\); the largest deviation is ([\d.]+) mm", said)[1]
    assert 0 < float(deviation) < 0.1
    collisions = {c.get("name"): c for c in ElementTree.parse(asset.directory / "r.urdf").findall(".//collision")}
    kinds = {name: c.find("geometry")[0].tag for name, c in collisions.items()}
    # A URDF has no capsule.
    assert kinds | {"capsule": ""} == {"box": "box", "sphere": "sphere", "cylinder": "cylinder", "capsule": "", "cup": "mesh"}
    edges = sorted(map(float, collisions["box"].find(".//box").get("size").split()))
    assert edges == pytest.approx([0.02, 0.04, 0.06], abs=1e-6)
    assert float(collisions["cylinder"].find(".//cylinder").get("radius")) == pytest.approx(0.02, abs=1e-4)
    at = np.array(collisions["box"].find("origin").get("xyz").split(), float)
    np.testing.assert_allclose(at, np.array([0.1, 0.2, 0.3]) + [0.03, -0.02, 0.01], atol=1e-6)
    geoms = ElementTree.parse(asset.directory / "r.xml").findall(".//body//geom[@class='collision']")
    assert sorted(g.get("type") for g in geoms if g.get("type") != "mesh") == ["box", "capsule", "cylinder", "sphere"]
    # The cup, the only mesh left, is decomposed.
    prims, meshes = parts_of(asset.entry)
    assert len(meshes) > 2 and {prim.GetName().partition("_part_")[0] for prim in prims} == {"collision_4"}
