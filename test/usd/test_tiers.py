"""The tiers of visuals (variant set `visual_representation`) and extents, compared with the source meshes."""

import functools
import re

import numpy as np
import pytest
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade, UsdValidation

import glb_file
import meshes as solids
from conftest import in_old_usd, marks_of, run
from stage import Asset, applied, value

SET = "visual_representation"
TIERS = ("mesh_high", "mesh_medium", "mesh_low")
#: Maximum deviations relative to the diagonal of the bounding box (docs/tiers.md).
DEVIATION = {"mesh_high": 0, "mesh_medium": 0.001, "mesh_low": 0.01}
MIN_TRIANGLES, MAX_SHARE = 400, 0.8


def scopes(stage):
    """Returns the visual scopes of links; custom elements of the URDF may be scopes with this name too."""
    named = (p for p in stage.Traverse() if p.GetName() == "visual" and p.GetTypeName() == "Scope")
    return [p for p in named if any(child.GetName().startswith("visual_") for child in p.GetChildren())]


def select(stage, tier):
    for scope in scopes(stage):
        if SET in scope.GetVariantSets().GetNames():
            scope.GetVariantSets().SetSelection(SET, tier)


def meshes_of(leaf):
    return [p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh)]


class Shape:
    """The arrays of a mesh prim."""

    def __init__(self, prim):
        self.points = np.array(value(prim, "points"), dtype=float)
        self.triangles = np.array(value(prim, "faceVertexIndices")).reshape(-1, 3)
        get = lambda name: UsdGeom.PrimvarsAPI(prim).GetPrimvar(name)
        self.normals = np.array(get("normals").ComputeFlattened(), dtype=float).reshape(-1, 3, 3)
        self.uvs = np.array(get("st").ComputeFlattened(), dtype=float).reshape(-1, 3, 2) if get("st").HasValue() else None
        self.subsets = {s.GetPrim().GetName(): np.array(s.GetIndicesAttr().Get()) for s in UsdGeom.Subset.GetAllGeomSubsets(UsdGeom.Mesh(prim))}

    @property
    def diagonal(self):
        return np.linalg.norm(np.ptp(self.points, axis=0))

    def faces(self):
        a, b, c = (self.points[self.triangles[:, k]] for k in range(3))
        return np.cross(b - a, c - a)

    def samples(self, count):
        """Returns deterministic samples of the surface."""
        chance, areas = np.random.default_rng(1), np.linalg.norm(self.faces(), axis=1)
        chosen = self.points[self.triangles[chance.choice(len(areas), count, p=areas / areas.sum())]]
        weights = chance.dirichlet((1, 1, 1), count)
        return np.einsum("ij,ijk->ik", weights, chosen)

    def distances(self, points):
        """Returns the distances of points from the surface: from planes of triangles, or from edges."""
        corners = self.points[self.triangles]
        unit = self.faces() / np.linalg.norm(self.faces(), axis=1)[:, None]
        # Candidates are the triangles whose bounding sphere begins before the nearest far side of any sphere.
        middles = corners.mean(axis=1)
        radii = np.linalg.norm(corners - middles[:, None], axis=2).max(axis=1)
        out = []
        for p in points:
            away = np.linalg.norm(p - middles, axis=1)
            near = away - radii <= (away + radii).min() * (1 + 1e-9)
            (a, b, c), normals = np.moveaxis(corners[near], 1, 0), unit[near]
            height = np.einsum("ik,ik->i", normals, p - a)
            over = np.ones(len(a), dtype=bool)
            best = np.inf
            for start, end in ((a, b), (b, c), (c, a)):
                along, way = end - start, p - start
                over &= np.einsum("ik,ik->i", np.cross(along, way), normals) >= 0
                t = np.clip(np.einsum("ik,ik->i", along, way) / np.einsum("ik,ik->i", along, along), 0, 1)
                best = min(best, np.linalg.norm(way - t[:, None] * along, axis=1).min())
            out.append(min(best, np.abs(height[over]).min(initial=np.inf)))
        return np.array(out)


@functools.cache
def tiers(converted):
    """Returns {leaf path: {tier: Shape}} of the visuals inside the variant sets, each mesh once."""
    stage = Asset(converted.entry).stage
    stage.Load()
    out, seen = {}, set()
    for tier in TIERS:
        select(stage, tier)
        for scope in scopes(stage):
            if SET not in scope.GetVariantSets().GetNames():
                continue
            for leaf in scope.GetChildren():
                (mesh, *_) = [*meshes_of(leaf), None]
                if mesh is not None:
                    out.setdefault(leaf.GetPath(), {})[tier] = Shape(mesh)
    different = {}
    for path, shapes in out.items():
        high, low = shapes["mesh_high"], shapes["mesh_low"]
        key = (len(high.points), len(high.triangles), high.points.tobytes())
        if len(high.triangles) != len(low.triangles) and key not in seen:
            seen.add(key)
            different[path] = shapes
    return different


# ------------------------------------------------------------------------------------------------------- made of an asset


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks_of(name)) for name in ("ur_description", "aliengo_description")])
def test_conversions_of_an_asset_have_its_finest_meshes(name, conversions, tmp_path):
    def triangles(glb):
        read = glb_file.Glb(glb)
        drawn = [read.json["meshes"][node["mesh"]] for node in read.json["nodes"] if "mesh" in node]
        return sum(read.json["accessors"][primitive["indices"]]["count"] // 3 for mesh in drawn for primitive in mesh["primitives"])

    made = conversions(name)
    assert sum(len(shapes["mesh_high"].triangles) - len(shapes["mesh_low"].triangles) for shapes in tiers(made).values()) > 1000
    done = run("convert", made.entry, "-o", tmp_path, "--formats", "glb")
    assert done.returncode == 0, done.stderr
    (glb,) = tmp_path.rglob("*.glb")
    assert triangles(glb) == triangles(made.glb)


# --------------------------------------------------------------------------------------------------------------- structure


@pytest.mark.needs("detailed mesh")
def test_the_default_is_medium_and_authored(converted):
    stage = Asset(converted.entry).stage
    for scope in scopes(stage):
        if SET in scope.GetVariantSets().GetNames():
            assert set(scope.GetVariantSet(SET).GetVariantNames()) == set(TIERS), scope.GetPath()
            assert scope.GetVariantSet(SET).GetVariantSelection() == "mesh_medium", scope.GetPath()


@pytest.mark.needs("detailed mesh")
def test_equal_prims_are_outside_the_set(converted):
    stage = Asset(converted.entry).stage
    described = lambda leaf: tuple((p.GetName(), str(p.GetTypeName()), len(value(p, "points") or [])) for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()))
    for scope in scopes(stage):
        inside = {leaf.GetName(): set() for leaf in scope.GetChildren()}
        if SET not in scope.GetVariantSets().GetNames():
            continue
        for tier in ("", *TIERS):
            scope.GetVariantSets().SetSelection(SET, tier) if tier else scope.GetVariantSet(SET).BlockVariantSelection()
            there = {leaf.GetName(): described(leaf) for leaf in scope.GetChildren()}
            for name in inside:
                inside[name].add(there.get(name))
        varying = {name for name, found in inside.items() if None in found}
        assert varying, f"{scope.GetPath()} has a variant set without differences"
        for name, found in inside.items():
            found.discard(None)
            assert (len(found) > 1) == (name in varying), f"{scope.GetPath()}/{name}"


@pytest.mark.parametrize("tier", TIERS)
def test_every_tier_is_complete(converted, tier):
    """Each tier has the same leaves, poses and materials, no dangling targets, and no findings of OpenUSD's validators."""
    asset = Asset(converted.entry)
    stage = asset.stage
    facts = lambda: {
        str(leaf.GetPath()): (tuple(map(str, UsdGeom.Xformable(leaf).GetLocalTransformation())), len(meshes_of(leaf)))
        for scope in scopes(stage)
        for leaf in scope.GetChildren()
    }
    default = facts()
    counted = lambda: [sum(bool(test(p)) for p in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies())) for test in (
        lambda p: p.HasAPI(UsdPhysics.RigidBodyAPI), lambda p: p.HasAPI(UsdPhysics.CollisionAPI), lambda p: p.IsA(UsdPhysics.Joint),
        lambda p: p.IsA(UsdGeom.Mesh), lambda p: any(s.startswith("Ros") for s in applied(p)),
    )]  # fmt: skip
    before = counted()
    select(stage, tier)
    assert list(stage.GetCompositionErrors()) == []
    assert facts() == default
    assert counted() == before
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
        for relationship in prim.GetRelationships():
            for path in relationship.GetTargets():
                assert stage.GetObjectAtPath(path), f"{relationship.GetPath()} → {path}"
    for scope in scopes(stage):
        for leaf in (p for p in scope.GetChildren() if re.fullmatch(r"visual_\d+", p.GetName())):
            gprims = [p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Gprim)]
            assert gprims, f"{leaf.GetPath()} draws nothing"
            for gprim in gprims:
                assert UsdShade.MaterialBindingAPI(gprim).ComputeBoundMaterial()[0], f"{gprim.GetPath()} has no material"
                for subset in UsdShade.MaterialBindingAPI(gprim).GetMaterialBindSubsets():
                    material, _ = UsdShade.MaterialBindingAPI(subset.GetPrim()).ComputeBoundMaterial()
                    assert material and material.ComputeSurfaceSource()[0], subset.GetPath()
                if UsdGeom.Subset.GetAllGeomSubsets(UsdGeom.Imageable(gprim)):
                    valid, why = UsdGeom.Subset.ValidateFamily(UsdGeom.Imageable(gprim), "face", "materialBind")
                    assert valid, f"{gprim.GetPath()}: {why}"
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    assert [e.GetMessage() for e in UsdValidation.ValidationContext(validators).Validate(stage)] == []


# ------------------------------------------------------------------------------------------------------------------ meshes


@pytest.mark.needs("detailed mesh")
def test_tiers_get_coarser(converted):
    for path, shapes in tiers(converted).items():
        high, medium, low = (len(shapes[t].triangles) for t in TIERS)
        assert high >= MIN_TRIANGLES, f"{path}: {high} triangles need no simplification"
        assert medium == high or medium <= MAX_SHARE * high, f"{path}: {medium} of {high}"
        assert low == medium or low <= MAX_SHARE * medium, f"{path}: {low} of {medium}"


@pytest.mark.needs("detailed mesh")
@pytest.mark.parametrize("tier", ["mesh_medium", "mesh_low"])
def test_tiers_are_within_their_bound(converted, tier):
    """Two-sided: samples of the source against the tier, and samples of the tier against the source."""
    for path, shapes in sorted(tiers(converted).items())[:8]:
        high, coarse = shapes["mesh_high"], shapes[tier]
        bound = DEVIATION[tier] * high.diagonal
        there = coarse.distances(np.concatenate([high.samples(300), high.points[:: max(1, len(high.points) // 300)]]))
        back = high.distances(coarse.samples(300))
        worst = max(there.max(), back.max())
        assert worst <= 1.001 * bound, f"{path}: {worst / high.diagonal:.3%} of the diagonal"


def _nearest_normals(high, coarse):
    """Returns, for each corner of `coarse`, the cosine between its normal and the nearest normal of `high` at this point."""
    points = [shape.points[shape.triangles].reshape(-1, 3) for shape in (high, coarse)]
    _, point = np.unique(np.concatenate(points), axis=0, return_inverse=True)
    theirs, ours = np.split(point.ravel(), [len(points[0])])
    order, count = np.argsort(theirs, kind="stable"), np.bincount(theirs, minlength=point.max() + 1)
    assert count[ours].all(), "a point that the source does not have"
    # All pairs of a corner and a normal of its point, grouped by corner.
    each = count[ours]
    begin = np.cumsum(each) - each
    pick = order[np.arange(each.sum()) - np.repeat(begin - (np.cumsum(count) - count)[ours], each)]
    cosines = np.einsum("ik,ik->i", high.normals.reshape(-1, 3)[pick], np.repeat(coarse.normals.reshape(-1, 3), each, axis=0))
    return np.maximum.reduceat(cosines, begin)


@pytest.mark.needs("detailed mesh")
@pytest.mark.parametrize("tier", ["mesh_medium", "mesh_low"])
def test_attributes_are_from_the_source(converted, tier):
    """Points and texture coordinates are a subset of the source's; normals are unit vectors near those of the source."""
    for path, shapes in tiers(converted).items():
        high, coarse = shapes["mesh_high"], shapes[tier]
        assert {p.tobytes() for p in coarse.points} <= {p.tobytes() for p in high.points}, path
        assert np.abs(np.linalg.norm(coarse.normals, axis=2) - 1).max() < 1e-5, path
        assert (high.uvs is None) == (coarse.uvs is None), path
        corner = lambda s, extra: [(*p, *e) for p, e in zip(s.points[s.triangles].reshape(-1, 3), extra.reshape(len(s.triangles) * 3, -1))]
        if high.uvs is not None:
            assert set(corner(coarse, coarse.uvs)) <= set(corner(high, high.uvs)), f"{path}: a texture coordinate that the source does not have"
        assert _nearest_normals(high, coarse).min() > np.cos(np.radians(26)), f"{path}: a normal that the source does not have"


@pytest.mark.needs("detailed mesh")
@pytest.mark.parametrize("tier", ["mesh_medium", "mesh_low"])
def test_no_triangle_is_flipped(converted, tier):
    """No triangle faces away from all its normals, except those of the source."""
    turned = lambda s: (np.einsum("ik,ijk->ij", s.faces(), s.normals) <= 0).all(axis=1)
    corners = lambda s, which: {tuple(sorted(map(bytes, t))) for t in s.points[s.triangles[which]]}
    for path, shapes in tiers(converted).items():
        new = corners(shapes[tier], turned(shapes[tier])) - corners(shapes["mesh_high"], slice(None))
        assert not new, f"{path}: {len(new)} triangles are flipped"


@pytest.mark.needs("detailed mesh of several materials")
@pytest.mark.parametrize("tier", ["mesh_medium", "mesh_low"])
def test_borders_of_materials_stay(converted, tier):
    """Each material covers the same area as on the source."""
    for path, shapes in tiers(converted).items():
        high, coarse = shapes["mesh_high"], shapes[tier]
        if not high.subsets:
            continue
        bound = 2 * DEVIATION[tier] * high.diagonal
        for name, faces in coarse.subsets.items():
            where = high.points[high.triangles[high.subsets[name]]].reshape(-1, 3)
            mine = coarse.points[coarse.triangles[faces]].reshape(-1, 3)
            assert {p.tobytes() for p in mine} <= {p.tobytes() for p in where}, f"{path}: {name} has spread"
            box = np.abs([where.min(0) - mine.min(0), where.max(0) - mine.max(0)]).max()
            assert box <= bound, f"{path}: {name} has shrunk by {box / high.diagonal:.2%} of the diagonal"


@pytest.mark.parametrize("robot", [pytest.param("jaco_description", marks=marks_of("jaco_description"))])
@pytest.mark.xdist_group("jaco_description")
def test_a_real_robot_of_fine_meshes_gets_lighter(conversions, robot):
    shapes = tiers(conversions(robot)).values()
    sums = [sum(len(s[t].triangles) for s in shapes) for t in TIERS]
    assert sums[1] < 0.5 * sums[0] and sums[2] < 0.2 * sums[0], sums


# ----------------------------------------------------------------------------------------------------------------- extents


def _points_in_root(asset, prim):
    if prim.IsA(UsdGeom.Mesh):
        local = np.array(value(prim, "points"), dtype=float)
    elif prim.IsA(UsdGeom.Cube):
        local = value(prim, "size") / 2 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    else:
        radius, height = value(prim, "radius"), value(prim, "height") or 0
        local = solids.cylinder(radius, height) if prim.IsA(UsdGeom.Cylinder) else solids.capsule(radius, height if prim.IsA(UsdGeom.Capsule) else 0)
    at = asset.pose(prim)
    return local @ at[:3, :3].T + at[:3, 3]


@pytest.mark.needs("shape")
def test_every_boundable_has_its_extent(converted):
    asset = Asset(converted.entry)
    for prim in asset.prims:
        if not prim.IsA(UsdGeom.Gprim):
            continue
        authored = UsdGeom.Boundable(prim).GetExtentAttr()
        assert authored.HasAuthoredValue(), prim.GetPath()
        computed = UsdGeom.Boundable.ComputeExtentFromPlugins(UsdGeom.Boundable(prim), Usd.TimeCode.Default())
        np.testing.assert_allclose(authored.Get(), computed, rtol=1e-6, atol=1e-7, err_msg=str(prim.GetPath()))


@pytest.mark.parametrize("load", [Usd.Stage.LoadAll, Usd.Stage.LoadNone], ids=["loaded", "unloaded"])
def test_extents_hint(converted, load):
    whole = Asset(converted.entry)
    expected = {}
    for prim in whole.prims:
        if prim.IsA(UsdGeom.Gprim):
            expected.setdefault(UsdGeom.Imageable(prim).ComputePurpose(), []).append(_points_in_root(whole, prim))
    asset = Asset(converted.entry, load)
    root = asset.root
    if not expected:
        assert not root.GetAttribute("extentsHint").HasAuthoredValue()
        return
    assert root.HasAPI(UsdGeom.ModelAPI)
    hint = np.array(UsdGeom.ModelAPI(root).GetExtentsHint(), dtype=float)
    exact = UsdGeom.BBoxCache(Usd.TimeCode.Default(), ["default"], False)
    for k, purpose in enumerate(["default", "render", "proxy", "guide"]):
        pair = hint[2 * k : 2 * k + 2]
        if purpose not in expected:
            assert not len(pair) or (pair[0] > pair[1]).all(), f"{purpose}: {pair}"
            continue
        points = np.concatenate(expected[purpose])
        size = np.ptp(points, axis=0).max()
        # Round shapes are sampled.
        np.testing.assert_allclose(pair, [points.min(0), points.max(0)], rtol=0, atol=2e-3 * size, err_msg=purpose)
        # OpenUSD's own bound is a union of boxes, and so never smaller, except by rounding.
        exact.SetIncludedPurposes([purpose])
        box = exact.ComputeWorldBound(whole.root).ComputeAlignedRange()
        assert (pair[0] >= np.array(box.GetMin()) - 1e-5 * size).all() and (pair[1] <= np.array(box.GetMax()) + 1e-5 * size).all(), purpose
        hinted = UsdGeom.BBoxCache(Usd.TimeCode.Default(), [purpose], True).ComputeWorldBound(root).ComputeAlignedRange()
        np.testing.assert_allclose([hinted.GetMin(), hinted.GetMax()], pair, rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------------------------------------------------ other readers


@pytest.mark.parametrize("tier", TIERS)
def test_tiers_in_old_usd(converted, tier):
    stage = Asset(converted.entry).stage
    select(stage, tier)
    found = [p for p in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Mesh)]
    assert in_old_usd("tiers_in_old_usd", converted.entry, tier) == [[], len(found), sum(len(value(p, "faceVertexCounts")) for p in found)]
