"""Statements of others' OpenUSD that a conversion keeps: collision filters, the identity of the asset, its kind; and those that it names."""

import json

import pytest
from conftest import SAMPLES, run
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics
from stage import create_stage

NAMES = ["a", "b", "c"]


def robot(path):
    """Writes three bodies in a row that two joints connect, each with a collider."""
    stage, body = create_stage(path)
    stage.RemovePrim(body.GetPath())
    bodies = []
    for number, name in enumerate(NAMES):
        body = UsdGeom.Xform.Define(stage, f"/r/{name}")
        body.AddTranslateOp().Set(Gf.Vec3d(number, 0, 0))
        UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
        UsdPhysics.MassAPI.Apply(body.GetPrim()).CreateMassAttr(1)
        ball = UsdGeom.Sphere.Define(stage, f"/r/{name}/ball")
        ball.CreateRadiusAttr(0.1)
        UsdPhysics.CollisionAPI.Apply(ball.GetPrim())
        bodies.append(body)
    for number in (1, 2):
        joint = UsdPhysics.RevoluteJoint.Define(stage, f"/r/j{number}")
        joint.CreateBody0Rel().SetTargets([bodies[number - 1].GetPath()])
        joint.CreateBody1Rel().SetTargets([bodies[number].GetPath()])
        joint.CreateLocalPos0Attr(Gf.Vec3f(1, 0, 0))
        joint.CreateAxisAttr("Z")
    return stage


def filter_itself(stage, *members):
    group = UsdPhysics.CollisionGroup.Define(stage, "/r/group")
    group.GetCollidersCollectionAPI().CreateIncludesRel().SetTargets(members)
    group.CreateFilteredGroupsRel().SetTargets([group.GetPath()])


def converted(file, output):
    done = run("convert", file, "-o", output, "--formats", "usd", "--json")
    assert done.returncode == 0, done.stderr
    (entry,) = (f for f in output.glob("*/*.usda") if f.stem == f.parent.name)
    return entry, json.loads(done.stdout)["diagnostics"]


def is_filtered(stage, one, other):
    """Whether two bodies do not collide, by filtered pairs or by a group that filters itself."""
    prims = [p for p in stage.Traverse() if p.GetName() in (one, other)]
    targets = {t for p in prims for t in UsdPhysics.FilteredPairsAPI(p).GetFilteredPairsRel().GetTargets()}
    of_pairs = any(p.GetPath() in targets for p in prims)
    groups = [UsdPhysics.CollisionGroup(p) for p in stage.Traverse() if p.IsA(UsdPhysics.CollisionGroup)]
    balls = [p.GetPath() for p in stage.Traverse() if p.HasAPI(UsdPhysics.CollisionAPI) and p.GetPath().HasPrefix(prims[0].GetPath())]
    of_groups = [g for g in groups if g.GetPath() in g.GetFilteredGroupsRel().GetTargets()]
    return of_pairs or any(g.GetCollidersCollectionAPI().ComputeMembershipQuery().IsPathIncluded(balls[0]) for g in of_groups)


@pytest.mark.parametrize("members, expected", [([], False), (["/r/a", "/r/c"], True), (["/r"], True), (["/r/b", "/r/c"], False)])
def test_collision_groups(tmp_path, members, expected):
    stage = robot(tmp_path / "r.usda")
    if members:
        filter_itself(stage, *members)
    stage.Save()
    first, _ = converted(tmp_path / "r.usda", tmp_path / "first")
    second, _ = converted(first, tmp_path / "second")
    assert [is_filtered(Usd.Stage.Open(str(entry)), "a", "c") for entry in (first, second)] == [expected, expected]


def test_identity_and_kind(tmp_path):
    stage = robot(tmp_path / "r.usda")
    root = stage.GetDefaultPrim()
    Usd.ModelAPI(root).SetKind("assembly")
    info = {"identifier": "my-id", "version": "3.2.1", "ros": {"package_uri": "package://p/x.urdf", "extra": "e"}}
    root.SetAssetInfo(info)
    stage.Save()
    entry, _ = converted(tmp_path / "r.usda", tmp_path / "out")
    stage = Usd.Stage.Open(str(entry))
    assert Usd.ModelAPI(stage.GetDefaultPrim()).GetKind() == "assembly"
    kept = stage.GetDefaultPrim().GetAssetInfo()
    assert {name: kept[name] for name in info} == info
    of_urdf, _ = converted(SAMPLES / "sample_arm" / "urdf" / "sample_arm.urdf", tmp_path / "urdf")
    of_usd, _ = converted(of_urdf, tmp_path / "usd")
    stages = [Usd.Stage.Open(str(entry)) for entry in (of_urdf, of_usd)]
    info, kept = (stage.GetDefaultPrim().GetAssetInfo() for stage in stages)
    assert kept["identifier"].startswith("package://") and (kept["identifier"], kept["ros"]) == (info["identifier"], info["ros"])


def test_what_a_robot_does_not_have_is_named(tmp_path):
    stage = robot(tmp_path / "r.usda")
    UsdPhysics.RigidBodyAPI(stage.GetPrimAtPath("/r/c")).CreateKinematicEnabledAttr(True)
    UsdPhysics.Joint(stage.GetPrimAtPath("/r/j1")).CreateCollisionEnabledAttr(True)
    UsdPhysics.Joint(stage.GetPrimAtPath("/r/j2")).CreateBreakForceAttr(5)
    clock = stage.DefinePrim("/r/clock", "Scope")
    clock.AddAppliedSchema("RosTopicAPI")
    for name, value in (("name", "/clock"), ("type", "rosgraph_msgs/msg/Clock")):
        clock.CreateAttribute(f"ros:topic:{name}", Sdf.ValueTypeNames.String).Set(value)
    stage.Save()
    _, found = converted(tmp_path / "r.usda", tmp_path / "out")
    messages = {d["code"]: d["message"] for d in found}
    left_out = messages["usd-read-attributes-left-out"]
    assert "physics:breakForce (1, such as" in left_out and "physics:kinematicEnabled (1, such as" in left_out
    assert "j1" in messages["usd-read-collision-filter"]
    assert "/clock" in messages["usd-read-prohibited-interface"]
