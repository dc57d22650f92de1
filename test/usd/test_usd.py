"""Every converted robot in OpenUSD (usd-core), compared with its URDF."""

import functools
import math
import random
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, UsdUtils, UsdValidation

import expectation
import kinematics
from conftest import CORNER_ROBOTS, ROOT, in_old_usd
from stage import Asset, applied, quaternion, target, value

AXES = {"X": np.array([1.0, 0, 0]), "Y": np.array([0, 1.0, 0]), "Z": np.array([0, 0, 1.0])}
POSES = 5


class Case:
    """A converted robot, its URDF, and the expectation from the URDF."""

    def __init__(self, converted):
        self.converted = converted
        self.asset = Asset(converted.entry)
        self.urdf = kinematics.read(converted.urdf)
        self.expected = expectation.of(self.urdf)
        self.rest = self.urdf.link_poses()


@functools.cache
def _case(converted):
    return Case(converted)


@pytest.fixture
def case(converted):
    return _case(converted)


# ------------------------------------------------------------------------------------------------------------ composition


@pytest.mark.parametrize("load", [Usd.Stage.LoadAll, Usd.Stage.LoadNone], ids=["loaded", "unloaded"])
def test_opens_without_composition_errors(converted, load):
    asset = Asset(converted.entry, load)
    assert asset.root, "no default prim"
    assert list(asset.stage.GetCompositionErrors()) == []
    hidden = [str(p.GetPath()) for p in asset.stage.TraverseAll() if not p.IsDefined()]
    assert hidden == [], "prims that only overs name"


def test_every_asset_path_resolves_inside_the_asset(converted):
    layers, assets, unresolved = UsdUtils.ComputeAllDependencies(str(converted.entry))
    assert unresolved == []
    inside = converted.directory.resolve()
    for path in [layer.realPath for layer in layers] + [str(a) for a in assets]:
        assert Path(path).resolve().is_relative_to(inside), f"{path} is outside of the asset"


def test_every_layer_opens_and_is_used(converted):
    layers, assets, _ = UsdUtils.ComputeAllDependencies(str(converted.entry))
    used = {Path(layer.realPath).resolve() for layer in layers} | {Path(str(a)).resolve() for a in assets}
    # Textures are named only by shaders, which dependencies may leave out.
    textures = (converted.directory / "textures").resolve()
    for file in converted.report["files"]:
        path = (converted.directory / file["path"]).resolve()
        if path.suffix in (".usda", ".usdc"):
            assert Sdf.Layer.FindOrOpen(str(path)), f"{path} does not open"
            assert path in used, f"{path.name} is not used by the entry"
        elif path.is_relative_to(textures):
            assert path.is_file()


def test_no_relationship_or_connection_dangles(case):
    stage = case.asset.stage
    for prim in case.asset.prims:
        for relationship in prim.GetRelationships():
            for path in relationship.GetTargets():
                assert stage.GetObjectAtPath(path), f"{relationship.GetPath()} → {path}"
        for attribute in prim.GetAttributes():
            for path in attribute.GetConnections():
                assert stage.GetObjectAtPath(path), f"{attribute.GetPath()} → {path}"


def test_validators_find_no_errors(case):
    registry = UsdValidation.ValidationRegistry()
    validators = registry.GetOrLoadAllValidators()
    assert len(validators) >= 20
    found = UsdValidation.ValidationContext(validators).Validate(case.asset.stage)
    assert [f"{e.GetName()}: {e.GetMessage()} {[str(s.GetPrim().GetPath()) for s in e.GetSites() if s.IsPrim()]}" for e in found] == []


def test_opens_in_old_usd(converted):
    old = in_old_usd("open_in_old_usd", converted.entry)
    assert old["version"] == [0, 24, 5]
    assert old["errors"] == []
    asset = Asset(converted.entry)
    kinds = lambda test: sum(bool(test(p)) for p in asset.prims)
    assert old["counts"] == {
        "prims": len(asset.prims),
        "bodies": kinds(lambda p: p.HasAPI(UsdPhysics.RigidBodyAPI)),
        "joints": kinds(lambda p: p.IsA(UsdPhysics.Joint)),
        "colliders": kinds(lambda p: p.HasAPI(UsdPhysics.CollisionAPI)),
        "meshes": kinds(lambda p: p.IsA(UsdGeom.Mesh)),
        "points": sum(len(value(p, "points")) for p in asset.prims if p.IsA(UsdGeom.Mesh)),
    }


# --------------------------------------------------------------------------------------------------------------- structure


def _frames_of_links(asset):
    """Returns the frames of links, without optical frames that were added for cameras."""
    # A link that is an optical frame is in its camera too, and has the custom text of its joint.
    own = lambda prim: prim.GetParent().IsA(UsdGeom.Camera) and value(prim, "urdf:joint:name") is None
    return {name for name, prim in asset.frames.items() if not own(prim)}


def test_links(case):
    assert set(case.asset.bodies) == case.expected.bodies
    assert _frames_of_links(case.asset) == case.expected.frames
    assert case.converted.report["counts"]["links"] == len(case.urdf.links)
    assert case.converted.report["counts"]["joints"] == len(case.urdf.joints)


def test_names_that_usd_can_hold_are_kept(case):
    siblings = {}
    for prim in [*case.asset.bodies.values(), *case.asset.frames.values(), *case.asset.joints.values()]:
        siblings.setdefault(prim.GetParent().GetPath(), []).append(prim)
    for name, prim in case.asset.bodies.items() | case.asset.frames.items():
        if Sdf.Path.IsValidIdentifier(name) and name not in ("visual", "collision"):
            assert prim.GetName() == name
        elif prim.GetName() != name:
            assert prim.GetDisplayName() == name
    for name, prim in case.asset.joints.items():
        taken = name in {p.GetName() for p in siblings[prim.GetParent().GetPath()] if p != prim}
        if Sdf.Path.IsValidIdentifier(name) and not taken and name not in ("visual", "collision"):
            assert prim.GetName() == name


@pytest.mark.needs("encoded body")
def test_a_body_whose_name_is_encoded_is_reported(case):
    told = [d["message"] for d in case.converted.report["diagnostics"] if d["code"] == "usd-name-encoded"]
    for name, prim in case.asset.bodies.items():
        if prim.GetName() != name:
            assert any(name in message for message in told), f"no finding about the renaming of {name!r} to {prim.GetName()!r}"


def test_links_are_nested_as_in_the_urdf(case):
    for link, holder in case.expected.holder.items():
        above = case.asset.root if holder is None else case.asset.link(holder)
        parent = case.asset.link(link).GetParent()
        parent = parent.GetParent() if parent.IsA(UsdGeom.Camera) else parent  # of an optical frame (REP-158 2.8)
        assert parent == above, f"{link} should be in {holder or 'the default prim'}"


def test_joints(case):
    kinds = {
        "fixed": "PhysicsFixedJoint", "revolute": "PhysicsRevoluteJoint", "continuous": "PhysicsRevoluteJoint",
        "prismatic": "PhysicsPrismaticJoint", "planar": "PhysicsJoint",
    }  # fmt: skip
    assert set(case.asset.joints) == set(case.expected.joints)
    for name, (body0, body1) in case.expected.joints.items():
        prim = case.asset.joints[name]
        assert prim.GetTypeName() == kinds[case.urdf.joints[name].kind]
        assert target(prim, "physics:body0") == (case.asset.bodies[body0] if body0 else None), name
        assert target(prim, "physics:body1") == case.asset.bodies[body1], name
        parent = case.urdf.joints[name].parent
        assert prim.GetParent() == (case.asset.root if parent == case.expected.world else case.asset.link(parent)), name
        closes_loop = case.urdf.joints[name] in case.urdf.loops
        assert (value(prim, "physics:excludeFromArticulation") is True) == closes_loop, name
        assert prim.GetAttribute("ros:joint:name").IsCustom()


def test_one_articulation_root_per_tree(case):
    """A single tree has it on the default prim, where readers find it for held and free bases. Several trees have it where
    UsdPhysics requires it: on the joint that attaches the base to the world, else on the base."""
    roots = {p.GetPath() for p in case.asset.prims if p.HasAPI(UsdPhysics.ArticulationRootAPI)}
    held = {body1: name for name, (body0, body1) in case.expected.joints.items() if body0 is None}
    if len(case.expected.trees) == 1:
        assert roots == {case.asset.root.GetPath()}
    else:
        prims = [case.asset.joints[held[b]] if b in held else case.asset.bodies[b] for b in case.expected.bases]
        assert roots == {prim.GetPath() for prim in prims}
    nested = [(a, b) for a in roots for b in roots if a != b and a.HasPrefix(b)]
    assert nested == [], "an articulation root within another"


def test_links_have_exactly_translate_and_orient(case):
    for prim in [*case.asset.bodies.values(), *case.asset.frames.values()]:
        assert list(value(prim, "xformOpOrder")) == ["xformOp:translate", "xformOp:orient"], prim.GetPath()
        assert prim.GetAttribute("xformOp:translate").GetTypeName() == Sdf.ValueTypeNames.Double3
        # quatd only if quatf would rotate the link: OpenUSD takes the angle from the real part alone.
        assert prim.GetAttribute("xformOp:orient").GetTypeName() in (Sdf.ValueTypeNames.Quatf, Sdf.ValueTypeNames.Quatd)
        assert [n for n in prim.GetAuthoredPropertyNames() if n.startswith("xformOp:") and n not in ("xformOp:translate", "xformOp:orient")] == []
    assert not UsdGeom.Xformable(case.asset.root).GetOrderedXformOps(), "the default prim must be at the origin"


def test_metadata(case):
    layer, root = case.asset.stage.GetRootLayer(), case.asset.root
    stage = case.asset.stage
    assert UsdGeom.GetStageUpAxis(stage) == "Z" and stage.HasAuthoredMetadata("upAxis")
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1 and stage.HasAuthoredMetadata("metersPerUnit")
    assert UsdPhysics.GetStageKilogramsPerUnit(stage) == 1 and stage.HasAuthoredMetadata("kilogramsPerUnit")
    assert layer.timeCodesPerSecond == 1 and stage.HasAuthoredMetadata("timeCodesPerSecond")
    assert root.GetTypeName() == "Xform" and root.GetParent().IsPseudoRoot()
    assert Usd.ModelAPI(root).GetKind() == "component"
    assert (root.GetDisplayName() or root.GetName()) == case.urdf.name
    info = root.GetAssetInfo()
    assert info["name"] == case.urdf.name
    # The small robots of the tests are in the project's own package.
    package, folder = (case.converted.name, case.converted.package_dirs[case.converted.name])
    if case.converted.name in CORNER_ROBOTS:
        package, folder = "urdf_usd", ROOT
    assert info["ros"]["package_uri"] == f"package://{package}/{case.converted.urdf.relative_to(folder).as_posix()}"
    assert info["identifier"] == info["ros"]["package_uri"]
    assert info["version"] == ElementTree.parse(folder / "package.xml").findtext("version").strip()
    text = [p for p in case.converted.directory.glob("*.usda")]
    for path in text:
        other = Sdf.Layer.FindOrOpen(str(path))
        assert other.defaultPrim, f"{path.name} has no default prim"


def test_layers(case):
    """Every schema is in its layer, and there are no vendor schemas."""
    folder = case.converted.directory
    schemas = {}
    for name in ("base", "physics", "ros", "urdf", "extended_physics"):
        path = folder / f"{name}.usda"
        if not path.exists():
            continue
        found = schemas.setdefault(name, set())
        Sdf.Layer.FindOrOpen(str(path)).Traverse("/", lambda p: found.update(_authored_schemas(path, p)))
    assert all(s.startswith("Ros") for s in schemas["ros"]), schemas["ros"]
    assert all(s.startswith(("Physics", "MaterialBindingAPI")) for s in schemas["physics"]), schemas["physics"]
    assert schemas["base"] <= {"MaterialBindingAPI"}, schemas["base"]
    assert schemas.get("urdf", set()) <= {"UrdfJointAPI"}
    assert schemas.get("extended_physics", {"ExtendedPhysicsMimicAPI"}) == {"ExtendedPhysicsMimicAPI"}
    assert (folder / "extended_physics.usda").exists() == any(j.mimic for j in case.urdf.joints.values())


def _authored_schemas(path, prim_path):
    spec = Sdf.Layer.FindOrOpen(str(path)).GetPrimAtPath(prim_path)
    if not spec or not spec.HasInfo("apiSchemas"):
        return []
    return spec.GetInfo("apiSchemas").GetAppliedItems()


def test_the_payloads_hide_only_geometry(case):
    asset = Asset(case.converted.entry, Usd.Stage.LoadNone)
    assert set(asset.bodies) == case.expected.bodies
    assert _frames_of_links(asset) == case.expected.frames
    assert set(asset.joints) == set(case.expected.joints)
    ros = lambda a: {p.GetPath() for p in a.prims if any(s.startswith("Ros") for s in applied(p))}
    assert ros(asset) == ros(case.asset)
    assert not any(value(p, "points") for p in asset.prims if p.IsA(UsdGeom.Mesh)), "a mesh exists without its payload"


# -------------------------------------------------------------------------------------------------------------- kinematics


def test_rest_poses(case):
    for name, expected in case.rest.items():
        if name == case.expected.world:
            continue
        prim = case.asset.link(name)
        error = np.abs(case.asset.pose(prim) - expected).max()
        assert error < 1e-6, f"{name}: off by {error:.3g}"
        error = np.abs(case.asset.evaluated_pose(prim) - expected).max()
        assert error < 1e-6, f"{name}: OpenUSD is off by {error:.3g}"


def _frame(prim, index):
    return kinematics.pose(value(prim, f"physics:localPos{index}"), quaternion(value(prim, f"physics:localRot{index}")))


@pytest.mark.needs("moving joint")
def test_joint_frames_meet_at_rest(case):
    for name, (body0, body1) in case.expected.joints.items():
        prim = case.asset.joints[name]
        if name in {j.name for j in case.urdf.loops}:
            continue
        one = case.asset.pose(target(prim, "physics:body0")) @ _frame(prim, 0)
        two = case.asset.pose(target(prim, "physics:body1")) @ _frame(prim, 1)
        assert np.abs(one - two).max() < 5e-6, f"{name}: off by {np.abs(one - two).max():.3g}"


@pytest.mark.needs("moving joint")
def test_poses_through_joint_frames(case):
    """In random poses, each body follows from its parent through the frames of the joint, as in the URDF."""
    chance = random.Random(zlib.crc32(case.urdf.name.encode()))
    for _ in range(POSES):
        positions = {}
        for joint in case.urdf.joints.values():
            low = -math.pi if joint.lower is None or joint.kind == "continuous" else joint.lower
            high = math.pi if joint.upper is None or joint.kind == "continuous" else joint.upper
            positions[joint.name] = chance.uniform(low, high)
        positions = case.urdf.resolve(positions)
        poses = case.urdf.link_poses(positions)
        for name, (body0, body1) in case.expected.joints.items():
            joint, prim = case.urdf.joints[name], case.asset.joints[name]
            if joint.kind == "planar" or case.urdf.parent_joint[joint.child] != name:
                continue
            move = np.eye(4)
            if joint.kind in ("revolute", "continuous"):
                move = kinematics.pose(turn=kinematics.about(AXES[value(prim, "physics:axis")], positions[name]))
            elif joint.kind == "prismatic":
                move = kinematics.pose(AXES[value(prim, "physics:axis")] * positions[name])
            start = poses[body0] if body0 else np.eye(4)
            actual = start @ _frame(prim, 0) @ move @ np.linalg.inv(_frame(prim, 1))
            assert np.abs(actual - poses[body1]).max() < 1e-5, f"{name}: off by {np.abs(actual - poses[body1]).max():.3g}"


@pytest.mark.needs("planar")
def test_planar_joints_are_free_in_their_plane(case):
    for name in case.expected.joints:
        joint, prim = case.urdf.joints[name], case.asset.joints[name]
        if joint.kind != "planar":
            continue
        free = set()
        for degree in ("transX", "transY", "transZ", "rotX", "rotY", "rotZ"):
            assert f"PhysicsLimitAPI:{degree}" in applied(prim), f"{name}: engines lock an axis without a limit"
            low, high = value(prim, f"limit:{degree}:physics:low"), value(prim, f"limit:{degree}:physics:high")
            if low < high:
                assert (low, high) == (-math.inf, math.inf)
                free.add(degree)
        normal = {"X": "YZ", "Y": "XZ", "Z": "XY"}
        letter = next(a for a in "XYZ" if free >= {f"trans{b}" for b in normal[a]})
        assert free - {f"rot{letter}"} == {f"trans{b}" for b in normal[letter]}
        frame = case.rest[case.expected.joints[name][0]] @ _frame(prim, 0)
        along = (case.rest[joint.parent] @ joint.origin)[:3, :3] @ joint.axis
        assert abs(abs(frame[:3, :3] @ AXES[letter] @ along) - 1) < 1e-5, f"{name}: the plane is tilted"


@pytest.mark.needs("moving joint")
def test_limits(case):
    for name in case.expected.joints:
        joint, prim = case.urdf.joints[name], case.asset.joints[name]
        low, high = value(prim, "physics:lowerLimit"), value(prim, "physics:upperLimit")
        if joint.kind == "continuous":
            assert (low, high) == (-math.inf, math.inf), name
        elif joint.kind in ("revolute", "prismatic") and joint.upper is not None and joint.lower is not None and joint.lower <= joint.upper:
            unit = 180 / math.pi if joint.kind == "revolute" else 1
            assert low == pytest.approx(joint.lower * unit, rel=1e-6, abs=1e-9), name
            assert high == pytest.approx(joint.upper * unit, rel=1e-6, abs=1e-9), name


@pytest.mark.needs("mimic")
def test_mimics(case):
    for name in case.expected.joints:
        joint, prim = case.urdf.joints[name], case.asset.joints[name]
        if not joint.mimic or joint.mimic[0] not in case.expected.joints:
            continue
        leader, multiplier, offset = joint.mimic
        # Angles are in degrees: the offset has the unit of the follower, the multiplier the ratio of the units.
        own, followed = (math.degrees(1) if case.urdf.joints[j].kind != "prismatic" else 1 for j in (name, leader))
        multiplier, offset = multiplier * own / followed, offset * own
        assert "ExtendedPhysicsMimicAPI" in applied(prim), name
        followed = target(prim, "ext_physics:mimic:joint")
        assert followed == case.asset.joints[leader], name
        assert value(prim, "ext_physics:mimic:multiplier") == pytest.approx(multiplier, rel=1e-6)
        assert value(prim, "ext_physics:mimic:offset") == pytest.approx(offset, rel=1e-6)


@pytest.mark.needs("moving joint")
def test_passive_numbers_are_kept(case):
    for name in case.expected.joints:
        joint, prim = case.urdf.joints[name], case.asset.joints[name]
        assert value(prim, "urdf:type") == joint.kind
        for attribute, number in {
            "urdf:limit:effort": joint.effort, "urdf:limit:velocity": joint.velocity,
            "urdf:dynamics:damping": joint.damping, "urdf:dynamics:friction": joint.friction,
        }.items():  # fmt: skip
            if number is not None:
                assert value(prim, attribute) == pytest.approx(number, rel=1e-6), f"{name}: {attribute}"


def touching(report):
    """Returns the number of pairs of links that touch at the start, from the finding about them."""
    (message,) = [d["message"] for d in report["diagnostics"] if d["code"] == "links-touch"] or [": "]
    *named, last = message.split(": ", 1)[1].split("; ")
    more = last.removesuffix(" more")
    return len(named) + (int(more) if more != last else bool(last))


def test_filtered_pairs(case):
    """Adjacent bodies with colliders are filtered, and those that touch at the start, each pair once, on its first body."""
    filtered = []
    for name, prim in case.asset.bodies.items():
        pairs = UsdPhysics.FilteredPairsAPI(prim) if prim.HasAPI(UsdPhysics.FilteredPairsAPI) else None
        filtered += [(prim.GetPath(), path) for path in (pairs.GetFilteredPairsRel().GetTargets() if pairs else [])]
    paths = {prim.GetPath(): name for name, prim in case.asset.bodies.items()}
    assert len({frozenset(pair) for pair in filtered}) == len(filtered), "duplicate pair"
    wanted = {pair for pair in case.expected.adjacent if all(case.urdf.links[case.expected.content[body]].collisions for body in pair)}
    found = {frozenset((paths[a], paths[b])) for a, b in filtered}
    # test_simulation.py tests the pairs that touch. Several links can be one body, or frames.
    assert wanted <= found and len(found - wanted) <= touching(case.converted.report)


def test_collision_group(case):
    """All colliders of the robot are in one group, which scenes can filter."""
    groups = [p for p in case.asset.prims if p.IsA(UsdPhysics.CollisionGroup)]
    colliders = {p.GetPath() for p in case.asset.prims if p.HasAPI(UsdPhysics.CollisionAPI)}
    if not colliders:
        assert groups == []
        return
    (group,) = groups
    assert group.GetPath() == case.asset.root.GetPath().AppendPath("CollisionGroups/robot")
    members = UsdPhysics.CollisionGroup(group).GetCollidersCollectionAPI().ComputeMembershipQuery()
    assert all(members.IsPathIncluded(path) for path in colliders)


# -------------------------------------------------------------------------------------------------------------------- mass


def _physical(tensor, mass):
    """Returns the repaired tensor by docs/diagnostics.md (`inertia-repaired`), with the same principal axes."""
    moments, axes = np.linalg.eigh(tensor)
    largest = moments.max()
    if largest <= 0:
        return np.eye(3) * 0.4 * mass * 0.05**2
    moments = np.where(moments > 1e-12 * largest, moments, 1e-3 * largest)
    if moments.sum() - largest < (1 + 2e-6) * largest:
        low, middle, _ = np.argsort(moments)
        lacking = (1 + 4e-6) * largest - moments[low] - moments[middle]
        raised = min(lacking / 2, largest - moments[middle])
        moments[[low, middle]] += lacking - raised, raised
    return axes @ np.diag(moments) @ axes.T


def _is_physical(tensor):
    return np.abs(_physical(tensor, 1) - tensor).max() <= 1e-7 * np.abs(tensor).max()


def test_masses(case):
    told = {d["code"]: d for d in case.converted.report["diagnostics"]}
    for name, prim in case.asset.bodies.items():
        link = case.expected.weighed(case.urdf, name)
        assert prim.HasAPI(UsdPhysics.MassAPI), name
        mass, centre = value(prim, "physics:mass"), np.array(value(prim, "physics:centerOfMass") or (0, 0, 0))
        diagonal = np.array(value(prim, "physics:diagonalInertia"))
        assert mass > 0 and (diagonal > 0).all(), f"{name}: an engine would compute these from a density"
        assert not prim.GetAttribute("physics:density").HasAuthoredValue()
        if not link.mass or link.mass <= 0:
            assert mass <= 0.01, f"{name}: a stand-in mass should be small"
            assert "link-without-mass" in told
            continue
        assert mass == pytest.approx(link.mass, rel=1e-6), name
        assert np.abs(centre - link.inertial[:3, 3]).max() < 1e-6, name
        axes = quaternion(value(prim, "physics:principalAxes"))
        rebuilt = axes @ np.diag(diagonal) @ axes.T
        expected = _physical(link.tensor, link.mass)
        assert np.abs(rebuilt - expected).max() < 1e-5 * np.abs(expected).max(), f"{name}: {rebuilt} instead of {expected}"
        low, middle, high = sorted(diagonal)
        assert low + middle >= high * (1 + 1.9e-6), f"{name}: programs in single precision reject these moments"


def test_unphysical_inertia_is_reported(case):
    told = {d["message"].split('"')[1] for d in case.converted.report["diagnostics"] if d["code"] == "inertia-repaired"}
    links = [case.expected.weighed(case.urdf, name) for name in case.asset.bodies]
    assert told == {link.name for link in links if link.mass and link.mass > 0 and not _is_physical(link.inertia)}


# -------------------------------------------------------------------------------------------------- geometry and materials


def _leaves(case, scope, prefix):
    """Returns leaf prims by (link, index)."""
    out = {}
    links = case.asset.bodies | case.asset.frames
    # Shapes of the world are in the default prim.
    for name, prim in (links | {case.expected.world: case.asset.root} if case.expected.world else links).items():
        holder = prim.GetChild(scope)
        for child in holder.GetFilteredChildren(Usd.TraverseInstanceProxies()) if holder else []:
            number = child.GetName().removeprefix(prefix)
            if number != child.GetName() and number.isdigit():
                out[name, int(number)] = child
    return out


def test_visuals(case):
    expected = {(name, i): s for name, link in case.urdf.links.items() for i, s in enumerate(link.visuals)}
    leaves = _leaves(case, "visual", "visual_")
    assert set(leaves) == set(expected)
    for key, leaf in leaves.items():
        drawn = [p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Gprim)]
        assert drawn, f"{leaf.GetPath()} draws nothing"
        for gprim in drawn:
            assert UsdGeom.Imageable(gprim).ComputePurpose() == "default", gprim.GetPath()
            bound, _ = UsdShade.MaterialBindingAPI(gprim).ComputeBoundMaterial()
            subsets = UsdShade.MaterialBindingAPI(gprim).GetMaterialBindSubsets()
            assert bound or subsets, f"{gprim.GetPath()} has no material"


def test_colliders(case):
    expected = {(name, i): s for name, link in case.urdf.links.items() for i, s in enumerate(link.collisions)}
    leaves = _leaves(case, "collision", "collision_")
    assert set(leaves) == set(expected)
    colliding = {p.GetPath() for p in case.asset.prims if p.HasAPI(UsdPhysics.CollisionAPI)}
    assert colliding == {leaf.GetPath() for leaf in leaves.values()}
    types = {"box": "Cube", "cylinder": "Cylinder", "sphere": "Sphere", "capsule": "Capsule", "mesh": "Mesh"}
    for key, leaf in leaves.items():
        assert leaf.GetTypeName() == types[expected[key].kind], leaf.GetPath()
        assert not leaf.IsInstanceable() and not leaf.IsInstanceProxy(), leaf.GetPath()
        assert UsdGeom.Imageable(leaf).GetPurposeAttr().Get() == "guide", leaf.GetPath()
        if leaf.IsA(UsdGeom.Mesh):
            assert leaf.HasAPI(UsdPhysics.MeshCollisionAPI), leaf.GetPath()
        assert value(leaf, "physics:approximation") == "none", leaf.GetPath()
        material, _ = UsdShade.MaterialBindingAPI(leaf).ComputeBoundMaterial("physics")
        assert material and material.GetPrim().HasAPI(UsdPhysics.MaterialAPI), leaf.GetPath()


@pytest.mark.needs("collision mesh")
def test_collision_variants(case):
    """In both variants each mesh collider has points; those of the hull are within the bounds of the mesh."""
    meshes = {k: v for k, v in _leaves(case, "collision", "collision_").items() if v.IsA(UsdGeom.Mesh)}
    scopes = {leaf.GetParent().GetPath() for leaf in meshes.values()}
    stage = Asset(case.converted.entry).stage
    bounds = {}
    for variant in ("convex_hull", "trimesh"):
        for path in scopes:
            sets = stage.GetPrimAtPath(path).GetVariantSets()
            assert sets.GetVariantSelection("collision_fidelity"), path
            assert set(sets.GetVariantSet("collision_fidelity").GetVariantNames()) == {"convex_hull", "trimesh"}
            sets.SetSelection("collision_fidelity", variant)
        for key, leaf in meshes.items():
            prim = stage.GetPrimAtPath(leaf.GetPath())
            assert prim.HasAPI(UsdPhysics.CollisionAPI) and value(prim, "physics:approximation") == "none", f"{variant}: {prim.GetPath()}"
            assert UsdGeom.Imageable(prim).ComputePurpose() == "guide"
            points = np.array(value(prim, "points"))
            bounds.setdefault(key, {})[variant] = (points.min(0), points.max(0))
    for key, both in bounds.items():
        for side in (0, 1):
            assert np.allclose(both["convex_hull"][side], both["trimesh"][side], atol=1e-5 * max(1, np.abs(both["trimesh"][side]).max())), key


def test_each_mesh_is_written_once(case):
    path = case.converted.directory / "geometries.usdc"
    if not path.exists():
        assert not any(shape.kind == "mesh" for link in case.urdf.links.values() for shape in link.visuals + link.collisions)
        return
    stage, seen = Usd.Stage.Open(str(path)), {}
    for prim in stage.TraverseAll():
        if prim.GetTypeName() != "Mesh":
            continue
        key = tuple(bytes(np.array(value(prim, n))) for n in ("points", "faceVertexIndices") if value(prim, n)) + tuple(
            bytes(np.array(a.Get())) for a in sorted(UsdGeom.PrimvarsAPI(prim).GetPrimvars(), key=lambda a: a.GetName()) if a.Get() is not None
        )
        assert key not in seen, f"{prim.GetPath()} repeats {seen[key]}"
        seen[key] = prim.GetPath()
        counts, indices = np.array(value(prim, "faceVertexCounts")), np.array(value(prim, "faceVertexIndices"))
        points = np.array(value(prim, "points"))
        assert counts.sum() == len(indices) and indices.min() >= 0 and indices.max() < len(points)
        assert np.isfinite(points).all()
        assert np.allclose(value(prim, "extent"), [points.min(0), points.max(0)], atol=1e-6)
        assert value(prim, "subdivisionScheme") == "none"
        for primvar in UsdGeom.PrimvarsAPI(prim).GetPrimvars():
            if primvar.HasValue() and primvar.GetInterpolation() != "constant":
                assert primvar.IsIndexed(), primvar.GetName()


def _linear(c):
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


@pytest.mark.needs("colour of a solid")
def test_urdf_colours_are_linear(case):
    """A primitive has the colour of its URDF material, converted from sRGB to linear."""
    colours = _urdf_colours(case.converted.urdf)
    leaves = _leaves(case, "visual", "visual_")
    for (name, index), leaf in leaves.items():
        shape = case.urdf.links[name].visuals[index]
        rgba = colours.get((name, index))
        if shape.kind == "mesh" or rgba is None:
            continue
        gprim = next(p for p in Usd.PrimRange(leaf, Usd.TraverseInstanceProxies()) if p.IsA(UsdGeom.Gprim))
        material, _ = UsdShade.MaterialBindingAPI(gprim).ComputeBoundMaterial()
        shader = material.ComputeSurfaceSource()[0]
        actual = shader.GetInput("diffuseColor").Get()
        assert np.allclose(actual, [_linear(min(max(c, 0), 1)) for c in rgba[:3]], atol=1e-5), f"{leaf.GetPath()}: {actual}"
        opacity = shader.GetInput("opacity")
        assert (opacity.Get() if opacity and opacity.Get() is not None else 1) == pytest.approx(min(max(rgba[3], 0), 1), abs=1e-6)


def _urdf_colours(path):
    """Returns RGBA by (link, visual index) for plain materials; the last definition of a name takes precedence."""
    root = ElementTree.parse(path).getroot()
    colour = lambda m: [float(c) for c in m.find("color").get("rgba").split()] if m.find("color") is not None else None
    named, textured, twice = {}, set(), set()
    for material in [*root.findall("material"), *root.iterfind("link/visual/material")]:
        if material.find("texture") is not None:
            textured.add(material.get("name"))
        if (rgba := colour(material)) is not None:
            if named.setdefault(material.get("name"), rgba) != rgba:
                twice.add(material.get("name"))  # the program chooses one of several definitions, and reports it
    out = {}
    for link in root.findall("link"):
        for index, visual in enumerate(link.findall("visual")):
            material = visual.find("material")
            if material is None or material.get("name") in textured | twice:
                continue
            out[link.get("name"), index] = colour(material) or named.get(material.get("name"))
    return out


@functools.cache
def _textured(urdf):
    root = ElementTree.parse(urdf).getroot()
    return {m.get("name") for m in root.iter("material") if m.find("texture") is not None}


@pytest.mark.needs("shape")
def test_materials_are_whole(case):
    """Every material that is drawn has a surface; every texture of one is a file of the asset, read as sRGB through the mesh's st."""
    for prim in case.asset.prims:
        if not prim.IsA(UsdShade.Material):
            continue
        if prim.HasAPI(UsdPhysics.MaterialAPI):
            assert not prim.GetChildren(), prim.GetPath()
            continue
        surface = UsdShade.Material(prim).ComputeSurfaceSource()[0]
        assert surface and surface.GetIdAttr().Get() == "UsdPreviewSurface", prim.GetPath()
        for child in Usd.PrimRange(prim, Usd.TraverseInstanceProxies()):
            shader = UsdShade.Shader(child)
            if shader and shader.GetIdAttr().Get() == "UsdUVTexture":
                file = shader.GetInput("file").Get()
                assert file.resolvedPath and Path(file.resolvedPath).is_file(), child.GetPath()
                assert file.path.startswith(("./textures/", "textures/")), file.path
                assert shader.GetInput("sourceColorSpace").Get() == "sRGB"


@pytest.mark.needs("texture of a mesh")
def test_textured_geometry_has_coordinates(case):
    """Textured meshes have coordinates, unless the URDF puts a texture on a mesh without any."""
    laid_over = {
        leaf.GetPath()
        for (name, index), leaf in _leaves(case, "visual", "visual_").items()
        if case.urdf.links[name].visuals[index].material in _textured(case.converted.urdf)
    }
    for prim in case.asset.prims:
        if not prim.IsA(UsdGeom.Mesh) or UsdGeom.Imageable(prim).ComputePurpose() == "guide":
            continue
        if any(prim.GetPath().HasPrefix(path) for path in laid_over):
            continue
        for at in [prim, *(s.GetPrim() for s in UsdShade.MaterialBindingAPI(prim).GetMaterialBindSubsets())]:
            material, _ = UsdShade.MaterialBindingAPI(at).ComputeBoundMaterial()
            if material and any(UsdShade.Shader(c) and UsdShade.Shader(c).GetIdAttr().Get() == "UsdUVTexture" for c in Usd.PrimRange(material.GetPrim(), Usd.TraverseInstanceProxies())):
                assert UsdGeom.PrimvarsAPI(prim).GetPrimvar("st").HasValue(), f"{prim.GetPath()} has a texture without coordinates"


# --------------------------------------------------------------------------------------------------------------------- ROS


def test_ros(case):
    assert "RosContextAPI" in applied(case.asset.root)
    assert value(case.asset.root, "ros:context:namespace") is not None
    for name, prim in case.asset.frames.items():
        assert value(prim, "ros:frame:static") is True, name
        assert not prim.HasAPI(UsdPhysics.RigidBodyAPI), name
    for name, prim in case.asset.bodies.items():
        assert "RosFrameAPI" not in applied(prim), f"{name}: a body must not have a frame id (REP-158 2.7.1)"
