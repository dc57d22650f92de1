"""ROS contexts, frames and interfaces of others' OpenUSD after a conversion, resolved as REP-158 §2 says, over generated stages."""

import random

import pytest
from conftest import run
from pxr import Sdf, Usd, UsdGeom, UsdPhysics
from stage import create_stage

POLICIES = {
    "reliability": ["system_default", "reliable", "best_effort"],
    "durability": ["system_default", "transient_local", "volatile"],
    "history": ["system_default", "keep_last", "keep_all"],
}
KINDS = {
    "topic": ("RosTopicAPI", ["publisher", "subscription"], "std_msgs/msg/Header"),
    "service": ("RosServiceAPI", ["server", "client"], "std_srvs/srv/SetBool"),
    "action": ("RosActionAPI", ["server", "client"], "control_msgs/action/GripperCommand"),
}
TYPES = {bool: Sdf.ValueTypeNames.Bool, int: Sdf.ValueTypeNames.Int, float: Sdf.ValueTypeNames.Double, str: Sdf.ValueTypeNames.String}


def author(prim, name, value, kind=None):
    prim.CreateAttribute(name, kind or TYPES[type(value)], False, Sdf.VariabilityUniform).Set(value)


def context(chance, prim, namespace):
    prim.AddAppliedSchema("RosContextAPI")
    author(prim, "ros:context:namespace", namespace)
    if chance.random() < 0.5:
        author(prim, "ros:context:domain_id", chance.randrange(100))


def interface(chance, prim, name):
    kind, (schema, roles, type_name) = chance.choice(list(KINDS.items()))
    prim.AddAppliedSchema(schema)
    role = chance.choice(roles)
    author(prim, f"ros:{kind}:role", role, Sdf.ValueTypeNames.Token)
    author(prim, f"ros:{kind}:name", name)
    author(prim, f"ros:{kind}:type", type_name)
    if chance.random() < 0.3:
        author(prim, f"ros:{kind}:starts_enabled", False)
    if kind != "topic":
        return
    if role == "publisher":
        author(prim, "ros:topic:publish_rate", chance.choice([0.5, 12.0, 100.0]))
    elif chance.random() < 0.5:
        author(prim, "ros:topic:qos:match_publisher", True)
    if chance.random() < 0.3:
        author(prim, "ros:topic:override_frame_id", chance.choice(["map", "odom", "site"]))
    for policy, values in POLICIES.items():
        if chance.random() < 0.5:
            author(prim, f"ros:topic:qos:{policy}", chance.choice(values), Sdf.ValueTypeNames.Token)
    if chance.random() < 0.5:
        author(prim, "ros:topic:qos:depth", chance.randrange(1, 50))


def generated(path, seed):
    """Writes a stage with a chain of bodies, frames and contexts on and below them, and interfaces in all places."""
    chance = random.Random(seed)
    stage, body = create_stage(path)
    root = stage.GetDefaultPrim()
    UsdPhysics.ArticulationRootAPI.Apply(root)
    context(chance, root, chance.choice(["fleet_7", "a/b", "/absolute"]))
    if chance.random() < 0.5:
        author(root, "ros:context:parent_frame", chance.choice(["map", "world"]))
    frames, places = [], [root, body]
    above = body
    for number in range(chance.randrange(1, 4)):
        child = UsdGeom.Xform.Define(stage, f"{above.GetPath()}/link_{number}").GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(child)
        UsdPhysics.MassAPI.Apply(child).CreateMassAttr(1)
        joint = UsdPhysics.RevoluteJoint.Define(stage, f"{above.GetPath()}/joint_{number}")
        joint.CreateAxisAttr("Z")
        joint.CreateBody0Rel().SetTargets([above.GetPath()])
        joint.CreateBody1Rel().SetTargets([child.GetPath()])
        if chance.random() < 0.4:
            context(chance, child, f"part_{number}")
        for extra in range(chance.randrange(3)):
            frame = UsdGeom.Xform.Define(stage, f"{child.GetPath()}/frame_{number}_{extra}").GetPrim()
            UsdGeom.Xformable(frame).AddTranslateOp().Set((extra + 1, number, 0.5))
            if chance.random() < 0.5:
                context(chance, frame, f"module_{number}_{extra}")
            else:
                frame.AddAppliedSchema("RosFrameAPI")
                author(frame, "ros:frame:id", f"tf_{number}_{extra}")
                author(frame, "ros:frame:static", chance.random() < 0.5)
                frames.append(frame)
            places.append(frame)
        places.append(child)
        above = child
    for number in range(chance.randrange(1, 10)):
        place = chance.choice(places)
        prim = UsdGeom.Xform.Define(stage, f"{place.GetPath()}/interface_{number}").GetPrim()
        interface(chance, prim, chance.choice([f"name_{number}", f"a/name_{number}", f"/global_{number}"]))
    stage.Save()
    return path


def schemas(prim):
    """Returns the applied schemas of a prim, those too of which usd-core has no definition."""
    applied = prim.GetMetadata("apiSchemas")
    return applied.GetAppliedItems() if applied else []


def value(prim, name):
    attribute = prim.GetAttribute(name)
    return attribute.Get() if attribute and attribute.HasAuthoredValue() else None


def facts(path):
    """Returns what a simulator makes of the stage: the interfaces by their resolved names, the frames that move without a joint, the root."""
    stage = Usd.Stage.Open(str(path))
    interfaces, dynamic = {}, set()
    for prim in stage.Traverse():
        around = [p for p in [prim, *(stage.GetPrimAtPath(path) for path in prim.GetPath().GetAncestorsRange())][::-1] if "RosContextAPI" in schemas(p)]
        around = sorted({p.GetPath(): p for p in around}.values(), key=lambda p: p.GetPath().pathElementCount)
        if "RosFrameAPI" in schemas(prim) and value(prim, "ros:frame:static") is False:
            dynamic.add(value(prim, "ros:frame:id") or prim.GetName())
        for kind, (schema, _, _) in KINDS.items():
            if schema not in schemas(prim):
                continue
            namespace = ""
            for other in around:
                part = value(other, "ros:context:namespace") or ""
                namespace = part if part.startswith("/") else f"{namespace}/{part}"
            name = value(prim, f"ros:{kind}:name")
            domains = [value(other, "ros:context:domain_id") for other in around]
            found = {attribute.GetName(): attribute.Get() for attribute in prim.GetAttributes() if attribute.GetName().startswith(f"ros:{kind}:")}
            found |= {"domain": next((d for d in reversed(domains) if d is not None), None), f"ros:{kind}:name": None}
            interfaces[kind, name if name.startswith("/") else f"{namespace}/{name}"] = found
    root = stage.GetDefaultPrim()
    return interfaces, dynamic, {name: value(root, f"ros:context:{name}") for name in ("namespace", "domain_id", "parent_frame")}


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("options", [(), ("--bodies", "flat")], ids=["nested", "flat"])
def test_ros_data_is_kept(tmp_path, seed, options):
    source = generated(tmp_path / "r.usda", seed)
    done = run("convert", source, "-o", tmp_path / "out", "--formats", "usd", *options)
    assert done.returncode == 0, done.stderr
    wanted, found = facts(source), facts(tmp_path / "out" / "r" / "r.usda")
    assert found[0].keys() == wanted[0].keys(), done.stderr
    for name, interface in wanted[0].items():
        assert found[0][name] == interface, name
    assert found[1:] == wanted[1:]


def test_joint_states_are_added_only_to_assets_without_interfaces(tmp_path):
    stage, _ = create_stage(tmp_path / "r.usda")
    stage.Save()
    done = run("convert", tmp_path / "r.usda", "-o", tmp_path / "out", "--formats", "usd")
    assert done.returncode == 0, done.stderr
    interfaces, _, _ = facts(tmp_path / "out" / "r" / "r.usda")
    assert interfaces.keys() == {("topic", "/r/joint_states")}


def test_services_and_actions_are_no_sensors(tmp_path):
    """MJCF and SDF have no place and no sensor for a prim on a link that serves ROS interfaces only."""
    stage, body = create_stage(tmp_path / "robot.usda")
    kinds = [("topic", "publisher", "sensor_msgs/msg/Imu"), ("topic", "subscription", "std_msgs/msg/Empty"), ("service", "server", "std_srvs/srv/SetBool"), ("action", "server", "control_msgs/action/GripperCommand")]
    for kind, role, type_name in kinds:
        prim = UsdGeom.Xform.Define(stage, f"{body.GetPath()}/the_{kind}_{role}").GetPrim()
        prim.AddAppliedSchema(KINDS[kind][0])
        author(prim, f"ros:{kind}:role", role, Sdf.ValueTypeNames.Token)
        author(prim, f"ros:{kind}:name", f"{kind}_{role}")
        author(prim, f"ros:{kind}:type", type_name)
    stage.Save()
    done = run("convert", tmp_path / "robot.usda", "-o", tmp_path / "out", "--formats", "mjcf,sdf")
    assert done.returncode == 0, done.stderr
    for pattern in ("*.mjcf.xml", "*.xml", "*.sdf"):
        for file in (tmp_path / "out").rglob(pattern):
            text = file.read_text()
            assert "the_topic_publisher" in text, file
            assert not any(name in text for name in ("the_topic_subscription", "the_service_server", "the_action_server")), file
    assert list((tmp_path / "out").rglob("*.sdf")) and list((tmp_path / "out").rglob("*.xml"))
