"""`planning.usda` and the colliders of `collision_fidelity`: an XRDF's spheres follow from its URDF and its own frames, at rest
and in poses, and are colliders only in the variant `spheres`. Expected poses are from the URDF and the XRDF (`kinematics.py`, PyYAML);
the asset is posed by its own joints (usd-core)."""

import numpy as np
import pytest
import yaml
from pxr import Gf, UsdGeom, UsdPhysics

import kinematics
import posing
from conftest import SAMPLES, convert, marks_of, run, source
from stage import Asset, matrix, quaternion, target, value

ARM = SAMPLES / "sample_arm"
#: Metres: poses in the layers have single precision.
NEAR = 1e-5

#: Chained frames that an XRDF adds.
FRAMES = """
modifiers:
  - add_frame:
      frame_name: "probe tip"
      parent_frame_name: probe
      joint_name: probe_tip_joint
      fixed_transform: {position: [0.0, 0.02, 0.1], orientation: {w: 0.6, xyz: [0.8, 0.0, 0.0]}}
  - add_frame:
      frame_name: probe
      parent_frame_name: tool0
      joint_name: probe_joint
      fixed_transform: {position: [0.1, 0.2, 0.3], orientation: {w: 0.5, xyz: [-0.5, 0.5, 0.5]}}
"""


def xrdf_of(name, folder):
    """Returns an XRDF for the robot: its own; for the sample arm, with additional frames and spheres."""
    if name != "sample_arm":
        return source(name).urdf.parents[1] / "xrdf" / "ur10e.xrdf"
    text = (ARM / "xrdf" / "sample_arm.xrdf").read_text() + FRAMES
    spheres = '      "probe tip":\n        - {center: [0.01, 0.02, 0.03], radius: 0.02}\n      tool0:\n        - {center: [0, 0, 0.1], radius: -0.01}\n'
    text = text.replace('      "base_link":\n        - {', spheres + '      "base_link":\n        - {', 1)
    path = folder / "arm.xrdf"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["sample_arm", pytest.param("ur_description", marks=marks_of("ur_description"))])
def planned(request, tmp_path_factory):
    """Returns a robot converted with an XRDF, and the XRDF."""
    folder = tmp_path_factory.mktemp(request.param)
    xrdf = xrdf_of(request.param, folder)
    converted = convert(source(request.param), folder / "out", "--xrdf-file", xrdf, "--tiers", "high")
    return converted, yaml.safe_load(xrdf.read_text())


def link_poses(urdf, document, positions):
    """Returns the frames of all links and added frames, relative to the root of the XRDF."""
    poses = urdf.link_poses(urdf.resolve(positions))
    modifiers = document.get("modifiers", [])
    added = [modifier["add_frame"] for modifier in modifiers if "add_frame" in modifier]
    while added:
        frame = next(frame for frame in added if frame["parent_frame_name"] in poses)
        added.remove(frame)
        transform = frame["fixed_transform"]
        turn = quaternion(Gf.Quatd(transform["orientation"]["w"], *map(float, transform["orientation"]["xyz"])))
        poses[frame["frame_name"]] = poses[frame["parent_frame_name"]] @ kinematics.pose(transform["position"], turn)
    for modifier in modifiers:
        if "set_base_frame" in modifier:
            base = np.linalg.inv(poses[modifier["set_base_frame"]])
            poses = {link: base @ pose for link, pose in poses.items()}
    return poses


def wanted_spheres(urdf, document, positions):
    """Returns centres, relative to the root, and radii of the collision spheres of each link."""
    poses = link_poses(urdf, document, positions)
    group = document["geometry"][document["collision"]["geometry"]]["spheres"]
    return {
        link: [(*poses[link][:3, :3] @ s["center"] + poses[link][:3, 3], s["radius"]) for s in spheres]
        for link, spheres in group.items()
    }


def pose_asset(asset, positions):
    """Moves the bodies of the stage by its own joints."""
    cache = UsdGeom.XformCache()
    rest = {str(p.GetPath()): matrix(cache.GetLocalToWorldTransform(p)) for p in asset.bodies.values()}
    root = matrix(cache.GetLocalToWorldTransform(asset.root))
    children = {}
    for name, joint in asset.joints.items():
        ends = [joint.GetRelationship(f"physics:body{k}").GetTargets() for k in (0, 1)]
        body0, body1 = (str(end[0]) if end else None for end in ends)
        frames = [kinematics.pose(value(joint, f"physics:localPos{k}"), quaternion(value(joint, f"physics:localRot{k}"))) for k in (0, 1)]
        position = positions.get(name, 0.0)
        move = np.eye(4)
        axis = np.eye(3)["XYZ".index(value(joint, "physics:axis") or "X")]
        if joint.IsA(UsdPhysics.RevoluteJoint):
            move[:3, :3] = kinematics.about(axis, position)
        elif joint.IsA(UsdPhysics.PrismaticJoint):
            move[:3, 3] = axis * position
        children.setdefault(body0, []).append((body1, frames[0] @ move @ np.linalg.inv(frames[1])))
    # Bodies without joints keep their pose.
    led_to = {child for of_body in children.values() for child, _ in of_body}
    world = {body: pose for body, pose in rest.items() if body not in led_to} | {None: root}
    waiting = list(world)
    while waiting:
        body = waiting.pop()
        for child, relative in children.get(body, []):
            world[child] = world[body] @ relative
            waiting.append(child)
    assert set(world) - {None} == set(rest)
    for body in sorted(rest, key=len):
        prim = asset.stage.GetPrimAtPath(body)
        above = matrix(UsdGeom.XformCache().GetLocalToWorldTransform(prim.GetParent()))
        local = np.linalg.inv(above) @ world[body]
        xform = UsdGeom.Xformable(prim)
        xform.ClearXformOpOrder()
        xform.AddTransformOp(UsdGeom.XformOp.PrecisionDouble, "posed").Set(Gf.Matrix4d(*local.T.flatten().tolist()))


def spheres_of(asset, prims):
    """Returns centres, in the default prim, and radii of the spheres of each link, as evaluated by OpenUSD."""
    cache = UsdGeom.XformCache()
    root = np.linalg.inv(matrix(cache.GetLocalToWorldTransform(asset.root)))
    names = {prim.GetPath(): name for name, prim in [*asset.bodies.items(), *asset.frames.items()]}
    found = {}
    for prim in prims:
        at = root @ matrix(cache.GetLocalToWorldTransform(prim))
        radius = value(prim, "planning:radius")
        link = next(names[path] for path in prim.GetPath().GetAncestorsRange() if path in names)
        found.setdefault(link, []).append((*at[:3, 3], value(prim, "radius") if radius is None else radius))
    return found


def guides(asset):
    return [p for p in asset.prims if p.IsA(UsdGeom.Sphere) and p.GetParent().GetParent().GetName() == "spheres"]


def assert_same(found, wanted):
    assert set(found) == set(wanted)
    for link in wanted:
        # Spheres are in the order of the XRDF.
        assert np.shape(found[link]) == np.shape(wanted[link]), link
        assert np.abs(np.array(found[link]) - np.array(wanted[link])).max() < NEAR, link


def test_spheres_match_the_urdf_in_any_pose(planned):
    converted, document = planned
    urdf = kinematics.read(converted.urdf)
    chance = np.random.default_rng(11)
    for positions in ({}, document["default_joint_positions"], posing.random_positions(urdf, chance), posing.random_positions(urdf, chance)):
        asset = Asset(converted.entry)
        followed = urdf.resolve(positions)
        pose_asset(asset, followed)
        assert_same(spheres_of(asset, guides(asset)), wanted_spheres(urdf, document, positions))


def test_spheres_collide_only_in_their_variant(planned):
    converted, document = planned
    urdf = kinematics.read(converted.urdf)
    asset = Asset(converted.entry)
    colliders = lambda: [p for p in asset.prims if p.HasAPI(UsdPhysics.CollisionAPI)]  # noqa: E731
    by_default = [p.GetPath() for p in colliders()]
    assert by_default and not any(p.GetName().startswith("sphere_") for p in colliders())
    assert not any(p.HasAPI(UsdPhysics.CollisionAPI) for p in guides(asset))
    # For links with both. Spheres with a negative radius are disabled.
    wanted = {
        link: [s for s in spheres if s[3] > 0]
        for link, spheres in wanted_spheres(urdf, document, {}).items()
        if link in urdf.links and urdf.links[link].collisions
    }
    assert len(wanted) >= 6
    asset.root.GetVariantSet("collision_fidelity").SetVariantSelection("convex_hull")
    asset.__dict__.pop("prims", None)
    assert [p.GetPath() for p in colliders()] == by_default
    asset.root.GetVariantSet("collision_fidelity").SetVariantSelection("spheres")
    asset.__dict__.pop("prims", None)
    spheres = [p for p in colliders() if p.GetName().startswith("sphere_")]
    assert_same(spheres_of(asset, spheres), wanted)
    of_link = {p.GetParent().GetParent().GetName() for p in spheres}
    for prim in colliders():
        # A link has only its spheres.
        assert (prim in spheres) == (prim.GetParent().GetParent().GetName() in of_link), prim.GetPath()
        assert UsdGeom.Imageable(prim).ComputePurpose() == "guide"
        assert value(prim, "physics:approximation") == "none"
        assert prim.GetRelationship("material:binding:physics").GetTargets(), prim.GetPath()


def test_an_xrdf_is_on_the_stage(planned):
    """Checks joints, limits, frames, buffers and pairs by name."""
    converted, document = planned
    asset = Asset(converted.entry)
    names = {prim.GetPath(): name for name, prim in [*asset.bodies.items(), *asset.frames.items()]}
    joints = {prim.GetPath(): name for name, prim in asset.joints.items()}
    targets = lambda prim, name: prim.GetRelationship(name).GetTargets()  # noqa: E731
    root = asset.root
    assert [joints[path] for path in targets(root, "planning:cspace:joints")] == document["cspace"]["joint_names"]
    assert list(value(root, "planning:cspace:accelerationLimits")) == document["cspace"]["acceleration_limits"]
    assert list(value(root, "planning:cspace:jerkLimits")) == document["cspace"]["jerk_limits"]
    assert [names[path] for path in targets(root, "planning:toolFrames")] == document["tool_frames"]
    pose = dict(zip((joints[path] for path in targets(root, "planning:defaultPose:joints")), value(root, "planning:defaultPose:positions"), strict=True))
    assert pose == document["default_joint_positions"]
    for section, attribute in (("collision", "planning:collision"), ("self_collision", "planning:selfCollision")):
        assert value(root, f"{attribute}:group") == document[section]["geometry"]
        buffers = {name: value(asset.stage.GetPrimAtPath(path), f"{attribute}:buffer") for path, name in names.items()}
        given = {name: distance for name, distance in document[section].get("buffer_distance", {}).items()}
        assert {name: buffer for name, buffer in buffers.items() if buffer is not None} == given
    pairs = {frozenset((names[path], names[other])) for path in names for other in targets(asset.stage.GetPrimAtPath(path), "planning:selfCollision:ignored")}
    assert pairs == {frozenset((one, other)) for one, others in document["self_collision"]["ignore"].items() for other in others}


def said(document):
    """Returns the contents of an XRDF, with pairs as sets, without the modifiers, which have been applied."""
    ignored = document["self_collision"]["ignore"]
    pairs = {frozenset((one, other)) for one, others in ignored.items() for other in others}
    sections = {name: document[name] for name in ("cspace", "tool_frames", "collision", "geometry", "default_joint_positions")}
    return sections | {"self_collision": document["self_collision"] | {"ignore": pairs}}


@pytest.mark.parametrize("ending", ["usda", "glb"])
def test_an_xrdf_is_read_back(planned, tmp_path, ending):
    converted, document = planned
    xrdf = tmp_path / "again.xrdf"
    done = run("xrdf", "write", converted.directory / f"{converted.asset_name}.{ending}", "-o", xrdf)
    assert done.returncode == 0, done.stderr
    assert said(yaml.safe_load(xrdf.read_text())) == said(document)


ON_A_TABLE = """<robot name="on_a_table">
  <link name="world"/><link name="table"/>
  <link name="base"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
  <link name="arm"><collision><geometry><sphere radius="0.02"/></geometry></collision></link>
  <joint name="stands" type="{kind}"><parent link="world"/><child link="table"/><origin xyz="1 2 3"/><limit effort="1" velocity="1" lower="0" upper="1"/></joint>
  <joint name="on" type="fixed"><parent link="table"/><child link="base"/><origin xyz="0 0 1" rpy="0 0 1"/></joint>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0 0 0.3"/></joint>
</robot>"""
NEW_BASE = """format: xrdf
format_version: 1.0
modifiers: [{set_base_frame: base}]
cspace: {joint_names: [turn], acceleration_limits: [1], jerk_limits: [1]}
"""


@pytest.mark.parametrize(("kind", "is_held"), [("fixed", True), ("prismatic", False)])
def test_a_base_that_was_attached_to_the_world_stays_attached(tmp_path, kind, is_held):
    """An XRDF that makes it the root removes everything above except its joint to the world."""
    (tmp_path / "r.urdf").write_text(ON_A_TABLE.format(kind=kind))
    (tmp_path / "r.xrdf").write_text(NEW_BASE)
    done = run("convert", tmp_path / "r.urdf", "-o", tmp_path / "out", "--xrdf-file", tmp_path / "r.xrdf", "--formats", "usd,urdf")
    assert done.returncode == 0, done.stderr
    asset = Asset(tmp_path / "out" / "on_a_table" / "on_a_table.usda")
    assert set(asset.bodies) == {"base", "arm"} and not asset.frames
    fixed = [j for j in asset.joints.values() if j.IsA(UsdPhysics.FixedJoint)]
    assert [target(j, "physics:body1") for j in fixed] == [asset.bodies["base"]] * is_held
    assert not any(j.GetRelationship("physics:body0").GetTargets() for j in fixed)
    assert np.allclose(asset.pose(asset.bodies["base"]), np.eye(4), atol=1e-6)
    written = kinematics.read(tmp_path / "out" / "on_a_table" / "on_a_table.urdf")
    assert set(written.links) == {"base", "arm"} | ({"world"} if is_held else set())
    assert written.roots == (["world"] if is_held else ["base"])
