"""`urdf_usd isaac`: assets of ours and of another converter get the Isaac robot schema, are checked and migrated. The expectations
are computed with UsdPhysics, and OpenUSD reads the results with the schema registered."""

import collections
import hashlib
import json

import pytest
from conftest import ROOT, run
from pxr import Sdf, Usd, UsdGeom, UsdPhysics
from test_isaac import SCHEMAS, seen_by_openusd_with

LINKS, JOINTS = "isaac:physics:robotLinks", "isaac:physics:robotJoints"


def digests(folder):
    return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*") if p.is_file()}


def authored(command, asset, output, *options):
    """Runs a command that writes the overlay, and returns its entry and output."""
    done = run("isaac", command, asset, "-o", output, "--json", *options)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return told["saved"]["entry"], told


def applied(prim):
    return (prim.GetMetadata("apiSchemas") or Sdf.TokenListOp()).GetAppliedItems()


#: Open stages: a prim exists only as long as its stage.
STAGES = []


def at(entry, path):
    # OpenUSD caches layers as long as a stage uses them, even if the file has changed.
    STAGES.clear()
    STAGES.append(Usd.Stage.Open(str(entry)))
    return STAGES[0].GetPrimAtPath(path)


def targets(prim, name):
    return [str(path) for path in prim.GetRelationship(name).GetTargets()]


def is_body(prim):
    return bool(prim) and prim.HasAPI(UsdPhysics.RigidBodyAPI)


def body_at(stage, joint, end):
    """Returns the body at an end of a joint by UsdPhysics: the target, or its nearest ancestor."""
    named = (joint.GetBody0Rel() if end == 0 else joint.GetBody1Rel()).GetTargets()
    prim = stage.GetPrimAtPath(named[0]) if named else None
    while prim and not is_body(prim):
        prim = prim.GetParent()
    return str(prim.GetPath()) if prim else None


class Physics:
    """Bodies and joints of a robot, by UsdPhysics alone."""

    def __init__(self, stage, root=None):
        self.stage = stage
        prims = list(Usd.PrimRange(root or stage.GetDefaultPrim()))
        self.bodies = [str(p.GetPath()) for p in prims if is_body(p)]
        self.joints = {str(p.GetPath()): UsdPhysics.Joint(p) for p in prims if p.IsA(UsdPhysics.Joint)}
        self.ends = {path: [body_at(stage, joint, end) for end in (0, 1)] for path, joint in self.joints.items()}
        self.excluded = {path for path, joint in self.joints.items() if joint.GetExcludeFromArticulationAttr().Get()}

    def distances(self, start):
        """Returns the number of joints between a body and each other body."""
        near = collections.defaultdict(list)
        for path, (a, b) in self.ends.items():
            if a and b and path not in self.excluded:
                near[a].append(b)
                near[b].append(a)
        found, queue = {start: 0}, collections.deque([start])
        while queue:
            at = queue.popleft()
            for other in near[at]:
                if other not in found:
                    found[other] = found[at] + 1
                    queue.append(other)
        return found


def assert_is_populated(entry):
    """Asserts that the robot lists all its links and joints, from the base outwards."""
    stage = Usd.Stage.Open(str(entry))
    robot, physics = stage.GetDefaultPrim(), Physics(stage)
    assert "IsaacRobotAPI" in applied(robot)
    listed = targets(robot, LINKS)
    assert len(set(listed)) == len(listed)
    bodies = [path for path in listed if is_body(stage.GetPrimAtPath(path))]
    assert sorted(bodies) == sorted(physics.bodies) and bodies
    assert all("IsaacLinkAPI" in applied(stage.GetPrimAtPath(path)) for path in bodies)
    base = bodies[0]
    held = {b or a for path, (a, b) in physics.ends.items() if (a is None) != (b is None) and path not in physics.excluded}
    moved = {b for path, (a, b) in physics.ends.items() if a and b and path not in physics.excluded}
    says_so = stage.GetPrimAtPath(base).HasAPI(UsdPhysics.ArticulationRootAPI)
    assert base in held or says_so or not held and (base not in moved or set(physics.bodies) <= moved)
    distances = physics.distances(base)
    order = [distances[body] for body in bodies if body in distances]
    assert order == sorted(order), "breadth-first"
    joints = targets(robot, JOINTS)
    assert sorted(joints) == sorted(physics.joints)
    assert all("IsaacJointAPI" in applied(stage.GetPrimAtPath(path)) for path in joints)
    # The joint that holds the base is first, then joints by the distance of their parent from the base.
    reach = [min(distances[end] for end in physics.ends[path] if end in distances) for path in joints if set(physics.ends[path]) & set(distances) and path not in physics.excluded]
    assert reach == sorted(reach)
    for path in set(listed) - set(bodies):
        site = stage.GetPrimAtPath(path)
        assert "IsaacSiteAPI" in applied(site) and is_body(site.GetParent()) and not site.GetAllChildren()
        before = listed[: listed.index(path)]
        assert str(site.GetParent().GetPath()) == [p for p in before if p in bodies][-1], "sites must follow their link"
    for name in (LINKS, JOINTS):
        operation = next(s.targetPathList for s in robot.GetRelationship(name).GetPropertyStack() if s.layer.identifier.endswith("isaac.usda") and not s.targetPathList.deletedItems)
        assert not operation.isExplicit and [str(p) for p in operation.prependedItems] == targets(robot, name)
    return stage


def assert_populates(asset, output):
    before = digests(asset.parent)
    missing = run("isaac", "validate", asset, "--json")
    assert missing.returncode == 1 and [d["code"] for d in json.loads(missing.stdout)["diagnostics"]] == ["isaac-no-robot"]
    entry, _ = authored("populate", asset, output)
    assert_is_populated(entry)
    valid = run("isaac", "validate", entry, "--json")
    assert valid.returncode == 0, valid.stdout
    assert {d["code"] for d in json.loads(valid.stdout)["diagnostics"]} <= {"isaac-loop"}
    # Nothing remains to be done.
    assert not authored("recalculate", entry, output)[1]["saved"]["changed"]
    assert not authored("migrate", entry, output)[1]["saved"]["changed"]
    assert digests(asset.parent) == before, "the asset's own files must not change"
    return entry


def test_our_assets_are_populated(converted, tmp_path):
    if not Physics(Usd.Stage.Open(str(converted.entry))).bodies:
        pytest.skip("a robot without bodies")
    assert_populates(converted.entry, tmp_path)


def test_assets_of_another_converter_are_populated(theirs, tmp_path):
    _, asset = theirs
    entry = assert_populates(asset, tmp_path)
    seen = seen_by_openusd_with([*SCHEMAS], entry)["assets"][str(entry)]
    assert seen["findings"] == []
    for name, (listed, has) in seen["counts"].items():
        assert listed == has, name
    assert seen["counts"]["IsaacRobotAPI"][0] == 1 and seen["counts"]["IsaacJointAPI"][0] > 0


# ---- An asset made by hand ----------------------------------------------------------------------------------------------------------------

ARM = """#usda 1.0
(
    defaultPrim = "arm"
    metersPerUnit = 0.01
    upAxis = "Y"
)

def Xform "arm" (
    prepend apiSchemas = ["PhysicsArticulationRootAPI"]
)
{
    def Xform "tip" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "IsaacLinkAPI"]
    )
    {
        def Xform "old_site" (
            prepend apiSchemas = ["IsaacReferencePointAPI"]
        )
        {
            string isaac:Description = "Tool mount"
            uniform token isaac:forwardAxis = "Z"
        }

        def Xform "new_site"
        {
        }

        def Xform "holder"
        {
            def Cube "box"
            {
            }
        }
    }

    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def Xform "side" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI"]
    )
    {
    }

    def Xform "gripper" (
        prepend apiSchemas = ["IsaacRobotAPI"]
    )
    {
        rel isaac:physics:robotLinks = [</arm/gripper/palm>, </arm/gripper/finger>]
        rel isaac:physics:robotJoints = [</arm/gripper/finger_joint>]

        def Xform "palm" (
            prepend apiSchemas = ["PhysicsRigidBodyAPI", "IsaacLinkAPI"]
        )
        {
        }

        def Xform "finger" (
            prepend apiSchemas = ["PhysicsRigidBodyAPI", "IsaacLinkAPI"]
        )
        {
        }

        def PhysicsPrismaticJoint "finger_joint" (
            prepend apiSchemas = ["IsaacJointAPI"]
        )
        {
            rel physics:body0 = </arm/gripper/palm>
            rel physics:body1 = </arm/gripper/finger>
            int isaac:physics:Tr_X:DoFOffset = 0
        }
    }

    def PhysicsFixedJoint "mount"
    {
        rel physics:body0 = </arm/tip>
        rel physics:body1 = </arm/gripper/palm>
    }

    def PhysicsRevoluteJoint "turn"
    {
        rel physics:body0 = </arm/base>
        rel physics:body1 = </arm/tip>
        int isaac:physics:Rot_X:DofOffset = 0
    }

    def PhysicsJoint "ball" (
        prepend apiSchemas = ["IsaacJointAPI", "PhysicsLimitAPI:transX", "PhysicsLimitAPI:rotY"]
    )
    {
        rel physics:body0 = </arm/base>
        rel physics:body1 = </arm/side>
        float limit:rotY:physics:high = -1
        float limit:rotY:physics:low = 1
        float limit:transX:physics:high = 1
        float limit:transX:physics:low = -1
        int isaac:physics:Tr_X:DoFOffset = 1
        int isaac:physics:Rot_X:DoFOffset = 0
        int isaac:physics:Rot_Y:DoFOffset = 0
        int isaac:physics:Tr_Y:DoFOffset = 1
    }

    def PhysicsFixedJoint "ground"
    {
        rel physics:body1 = </arm/base>
    }

    def PhysicsDistanceJoint "rope"
    {
        rel physics:body0 = </arm/side>
        rel physics:body1 = </arm/tip>
        bool physics:excludeFromArticulation = 1
    }
}
"""


@pytest.fixture
def arm(tmp_path):
    folder = tmp_path / "hand made"
    folder.mkdir()
    asset = folder / "arm.usda"
    asset.write_text(ARM)
    return asset


def test_a_robot_with_one_within_it_is_populated(arm, tmp_path):
    entry, told = authored("populate", arm, tmp_path / "out", "--robot", "/arm")
    stage = Usd.Stage.Open(entry)
    robot = stage.GetPrimAtPath("/arm")
    assert targets(robot, LINKS) == ["/arm/base", "/arm/tip", "/arm/tip/old_site", "/arm/tip/new_site", "/arm/side", "/arm/gripper"]
    assert targets(robot, JOINTS) == ["/arm/ground", "/arm/turn", "/arm/ball", "/arm/mount", "/arm/gripper", "/arm/rope"]
    assert told["lists"]["sites"] == ["/arm/tip/old_site", "/arm/tip/new_site"]
    # Units and axes must be those of the asset: a stage takes them from its root layer.
    assert (UsdGeom.GetStageMetersPerUnit(stage), UsdGeom.GetStageUpAxis(stage)) == (0.01, "Y")
    tree = run("isaac", "tree", entry)
    assert tree.stdout == "base\n  tip\n    palm\n      finger\n  side\n"
    links = json.loads(run("isaac", "tree", entry, "--json").stdout)["links"]
    assert [(link["path"], link["parent"], link["joint"]) for link in links][2:4] == [
        ("/arm/gripper/palm", "/arm/tip", "/arm/mount"),
        ("/arm/gripper/finger", "/arm/gripper/palm", "/arm/gripper/finger_joint"),
    ]
    last, _ = authored("populate", arm, tmp_path / "last", "--robot", "/arm", "--sites-last")
    assert targets(at(last, "/arm"), LINKS)[-2:] == ["/arm/tip/old_site", "/arm/tip/new_site"]
    none, _ = authored("populate", arm, tmp_path / "none", "--robot", "/arm", "--no-sites")
    assert "/arm/tip/new_site" not in targets(at(none, "/arm"), LINKS)


def test_deprecated_properties_are_migrated(arm, tmp_path):
    entry, told = authored("populate", arm, tmp_path / "out", "--robot", "/arm")
    found = {d["code"] for d in json.loads(run("isaac", "validate", entry, "--json").stdout)["diagnostics"]}
    assert found == {"isaac-reference-point", "isaac-dof-offset", "isaac-explicit-list"}
    _, told = authored("migrate", entry, tmp_path / "out", "--robot", "/arm")
    stage = Usd.Stage.Open(entry)
    site = stage.GetPrimAtPath("/arm/tip/old_site")
    assert applied(site) == ["IsaacSiteAPI"]
    assert (site.GetAttribute("isaac:Description").Get(), site.GetAttribute("isaac:forwardAxis").Get()) == ("Tool mount", "Z")
    joint = lambda name: stage.GetPrimAtPath(f"/arm/{name}")
    # By offset, then translations first; without the locked axis.
    assert list(joint("ball").GetAttribute("isaac:physics:DofOffsetOpOrder").Get()) == ["RotX", "TransX", "TransY"]
    assert not joint("turn").GetAttribute("isaac:physics:DofOffsetOpOrder"), "a single axis needs no order"
    for prim in stage.Traverse():
        for attribute in prim.GetAttributes():
            assert not attribute.GetName().lower().endswith(":dofoffset") or not attribute.HasAuthoredValue(), attribute
    gripper = stage.GetPrimAtPath("/arm/gripper")
    (spec, *_) = gripper.GetRelationship(LINKS).GetPropertyStack()
    assert not spec.targetPathList.isExplicit and targets(gripper, LINKS) == ["/arm/gripper/palm", "/arm/gripper/finger"]
    assert sorted(told["migrated"]["joints"]) == ["/arm/ball", "/arm/gripper/finger_joint", "/arm/turn"]
    done = run("isaac", "validate", entry, "--json")
    assert (done.returncode, json.loads(done.stdout)["diagnostics"]) == (0, [])
    assert not authored("migrate", entry, tmp_path / "out", "--robot", "/arm")[1]["saved"]["changed"]


def test_an_existing_order_is_sorted_by_the_offsets(arm, tmp_path):
    text = ARM.replace("int isaac:physics:Tr_X:DoFOffset = 1", 'token[] isaac:physics:DofOffsetOpOrder = ["TransZ", "TransY", "TransX", "RotX"]\n        int isaac:physics:Tr_X:DoFOffset = 1')
    arm.write_text(text)
    entry, _ = authored("migrate", arm, tmp_path / "out", "--robot", "/arm")
    order = at(entry, "/arm/ball").GetAttribute("isaac:physics:DofOffsetOpOrder").Get()
    assert list(order) == ["RotX", "TransX", "TransY", "TransZ"]


def test_recalculating_keeps_the_order(arm, tmp_path):
    lists = """    prepend rel isaac:physics:robotLinks = [</arm/side>, </arm/gone>, </arm/base>, </arm/tip/holder/box>, </arm/gripper/palm>]
    prepend rel isaac:physics:robotJoints = [</arm/turn>, </arm/base>, </arm/ball>]
"""
    text = ARM.replace('["PhysicsArticulationRootAPI"]\n)\n{\n', '["PhysicsArticulationRootAPI", "IsaacRobotAPI"]\n)\n{\n' + lists, 1)
    arm.write_text(text)
    bad = run("isaac", "validate", arm, "--json")
    found = {(d["code"], d["message"].split("<")[-1].split(">")[0] if "<" in d["message"] else None): d for d in json.loads(bad.stdout)["diagnostics"]}
    assert bad.returncode == 1
    sent = run("isaac", "validate", "-", "--json", input=text).stdout
    assert json.loads(sent)["asset"] == "<stdin>" and "stdin.usd" not in sent
    assert {key for key in found if key[0].startswith("isaac-target")} == {
        ("isaac-target-missing", "/arm/gone"),
        ("isaac-target-kind", "/arm/tip/holder/box"),
        ("isaac-target-kind", "/arm/base"),
    }
    line = text.splitlines().index(next(line for line in text.splitlines() if "robotLinks = [</arm/side>" in line)) + 1
    assert found["isaac-target-missing", "/arm/gone"]["where"]["line"] == line
    assert {"isaac-first-link", "isaac-link-api", "isaac-joint-api"} <= {code for code, _ in found}
    entry, told = authored("recalculate", arm, tmp_path / "out", "--robot", "/arm")
    robot = at(entry, "/arm")
    # The list has the links of the gripper, so it must not have the gripper itself.
    assert targets(robot, LINKS) == ["/arm/side", "/arm/base", "/arm/gripper/palm", "/arm/tip", "/arm/tip/old_site", "/arm/tip/new_site"]
    assert targets(robot, JOINTS) == ["/arm/turn", "/arm/ball", "/arm/ground", "/arm/mount", "/arm/gripper", "/arm/rope"]
    assert sorted(told["lists"]["removed"]) == ["/arm/base", "/arm/gone", "/arm/tip/holder/box"]
    assert run("isaac", "validate", entry, "--json").returncode == 0, "the program must read it like OpenUSD"
    assert not authored("recalculate", entry, tmp_path / "out", "--robot", "/arm")[1]["saved"]["changed"]


ENDS = "rel isaac:robot:pose:startLink = </arm/base>\nrel isaac:robot:pose:endLink = </arm/tip>\n"
BROKEN = [
    ("isaac-token", 'token isaac:robotType = "Robot"'),
    ("isaac-robot-type", 'token isaac:robotType = "Mobile Base"'),
    ("isaac-token", 'token isaac:license = "WTFPL"'),
    ("isaac-target-missing", "prepend rel isaac:robot:namedPoses = </arm/Named_Poses/home>"),
    ("isaac-target-kind", "prepend rel isaac:robot:namedPoses = </arm/tip>"),
    ("isaac-pose-unlisted", 'def IsaacNamedPose "home"\n{\nrel isaac:robot:pose:startLink = </arm/base>\nrel isaac:robot:pose:endLink = </arm/tip>\n}'),
    ("isaac-pose", 'def IsaacNamedPose "home"\n{\nrel isaac:robot:pose:joints = </arm/turn>\nfloat[] isaac:robot:pose:jointValues = [1, 2]\n' + ENDS + "}"),
    ("isaac-pose", 'def IsaacNamedPose "home"\n{\nrel isaac:robot:pose:joints = </arm/turn>\n' + ENDS + "}"),
    ("isaac-pose", 'def IsaacNamedPose "home"\n{\nrel isaac:robot:pose:joints = </arm/turn>\nfloat[] isaac:robot:pose:jointValues = [1]\n}'),
    ("isaac-pose", 'def IsaacNamedPose "home"\n{\nrel isaac:robot:pose:joints = </arm/tip>\nfloat[] isaac:robot:pose:jointValues = [1]\n' + ENDS + "}"),
    ("isaac-loop", 'def PhysicsFixedJoint "loop"\n{\nrel physics:body0 = </arm/side>\nrel physics:body1 = </arm/tip>\n}'),
    ("isaac-dof-order", 'def PhysicsJoint "more"\n{\ntoken[] isaac:physics:DofOffsetOpOrder = ["TransX", "TransX"]\n}'),
    ("isaac-dof-order", 'def PhysicsJoint "more"\n{\ntoken[] isaac:physics:DofOffsetOpOrder = ["X"]\n}'),
    ("isaac-list-empty", ""),
    ("isaac-explicit-list", "rel isaac:physics:robotLinks = </arm/base>"),
    ("isaac-unlisted", "rel isaac:physics:robotLinks = </arm/base>"),
    ("isaac-robots-in-circle", "rel isaac:physics:robotLinks = [</arm/base>, </arm>]"),
]


@pytest.mark.parametrize(("code", "words"), BROKEN)
def test_errors_are_reported_with_their_place(arm, code, words):
    text = ARM.replace('["PhysicsArticulationRootAPI"]\n)\n{\n', '["PhysicsArticulationRootAPI", "IsaacRobotAPI"]\n)\n{\n' + words + "\n", 1)
    arm.write_text(text)
    assert Usd.Stage.Open(str(arm))
    found = [d for d in json.loads(run("isaac", "validate", arm, "--json").stdout)["diagnostics"] if d["code"] == code]
    assert found and all(d["where"]["file"].endswith("arm.usda") and d["where"]["line"] > 0 and d["help"] for d in found), found


def test_robots_elsewhere_in_the_stage_are_read(arm, tmp_path):
    """A robot in a list is part of the robot, wherever its prim is."""
    gripper = ARM[ARM.index('    def Xform "gripper"') : ARM.index('    def PhysicsFixedJoint "mount"')]
    text = ARM.replace(gripper, "").rstrip() + "\n\n" + gripper
    text = text.replace("/arm/gripper", "/gripper")
    lists = "prepend rel isaac:physics:robotLinks = [</arm/base>, </arm/tip>, </gripper>, </arm/side>]\n"
    arm.write_text(text.replace('["PhysicsArticulationRootAPI"]\n)\n{\n', '["PhysicsArticulationRootAPI", "IsaacRobotAPI"]\n)\n{\n' + lists, 1))
    summary = json.loads(run("inspect", arm, "--json").stdout)
    assert {link["frame"] for link in summary["links"]} >= {"base", "tip", "side", "palm", "finger"}
    assert run("isaac", "tree", arm).stdout == "base\n  tip\n    palm\n      finger\n  side\n"


def test_links_and_joints_come_in_the_order_of_the_lists(arm, tmp_path):
    lists = "prepend rel isaac:physics:robotLinks = [</arm/side>, </arm/base>, </arm/tip>]\nprepend rel isaac:physics:robotJoints = [</arm/turn>, </arm/ball>]\n"
    named = ARM.replace('def PhysicsRevoluteJoint "turn"\n    {', 'def PhysicsRevoluteJoint "turn"\n    {\n        string isaac:nameOverride = "turning"')
    arm.write_text(named.replace('["PhysicsArticulationRootAPI"]\n)\n{\n', '["PhysicsArticulationRootAPI", "IsaacRobotAPI"]\n)\n{\n' + lists, 1))
    done = run("convert", arm, "-o", tmp_path / "out", "--formats", "gltf", "--json")
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "out").rglob("*.gltf")
    (model,) = json.loads(file.read_text())["extensions"]["EXT_robot_kinematics"]["models"]
    names = [joint["name"] for joint in model["joints"]]
    # The joint has five degrees of freedom.
    assert names.index("turning") < names.index("ball_transX")


def test_nothing_is_written_over(arm, tmp_path):
    (arm.parent / "isaac.usda").write_text("#usda 1.0\n")
    done = run("isaac", "populate", arm)
    assert done.returncode == 1 and "isaac.usda exists" in done.stderr
    assert (arm.parent / "isaac.usda").read_text() == "#usda 1.0\n" and not (arm.parent / "arm.isaac.usda").exists()
    assert run("isaac", "populate", arm, "--robot", "/none", "-o", tmp_path / "o").returncode == 1 and not (tmp_path / "o").exists()
    authored("populate", arm, tmp_path / "out")
    (tmp_path / "arm.usda").write_text(ARM)
    taken = run("isaac", "populate", tmp_path / "arm.usda", "-o", tmp_path / "out")
    assert taken.returncode == 1 and "is not an overlay of" in taken.stderr, "an overlay of another asset must not change"


def test_foreign_opinions_in_the_entry_are_kept(arm, tmp_path):
    entry, _ = authored("populate", arm, tmp_path)
    stage = Usd.Stage.Open(entry)
    robot = stage.GetPrimAtPath("/arm")
    robot.CreateAttribute("isaac:description", Sdf.ValueTypeNames.String).Set("one of ours")
    stage.DefinePrim("/arm/lamp", "Xform").SetMetadata("comment", "hung up here")
    stage.GetRootLayer().comment = "kept by hand"
    stage.GetRootLayer().Save()
    before = targets(robot, LINKS)
    # OpenUSD would use its cached layer.
    del stage, robot
    authored("recalculate", arm, tmp_path)
    _, told = authored("populate", arm, tmp_path)
    assert not told["saved"]["changed"]
    robot = at(entry, "/arm")
    assert robot.GetAttribute("isaac:description").Get() == "one of ours" and targets(robot, LINKS) == before
    assert STAGES[0].GetPrimAtPath("/arm/lamp").GetMetadata("comment") == "hung up here"
    assert STAGES[0].GetRootLayer().comment == "kept by hand"


def test_a_dangling_joint_does_not_anchor_the_robot(arm, tmp_path):
    # Without an articulation root, the base is attached to the world by a joint, or else moved by no joint.
    text = ARM.replace('    prepend apiSchemas = ["PhysicsArticulationRootAPI"]\n', "")
    arm.write_text(text.replace("rel physics:body1 = </arm/base>", "rel physics:body0 = </arm/nobody>\n        rel physics:body1 = </arm/tip>"))
    entry, _ = authored("populate", arm, tmp_path, "--robot", "/arm")
    assert targets(at(entry, "/arm"), LINKS)[0] == "/arm/base"


def test_a_conversion_keeps_what_the_schema_says(tmp_path):
    """The overlay of an asset with the schema keeps the asset's data about its robot, sites and poses."""
    source = ROOT / "test" / "usd" / "cases" / "isaac_robot.usda"
    text = source.read_text().replace('        def Scope "joints"\n', '        def IsaacSurfaceGripper "suction"\n        {\n        }\n\n        def Scope "joints"\n', 1)
    text = text.replace('"jball" (\n                apiSchemas = ["IsaacJointAPI"', '"jball" (\n                apiSchemas = ["IsaacJointAPI", "IsaacAttachmentPointAPI"', 1)
    asset = tmp_path / "robot.usda"
    asset.write_text(text)
    done = run("convert", asset, "-o", tmp_path / "out", "--overlays", "isaac")
    assert done.returncode == 0, done.stderr
    stage = Usd.Stage.Open(str(tmp_path / "out" / "World" / "World.isaac.usda"))
    original = Usd.Stage.Open(str(asset))
    robot, before = stage.GetDefaultPrim(), original.GetPrimAtPath("/World/bot")
    for name in ("description", "license", "source", "changelog", "robotType", "namespace", "version"):
        assert robot.GetAttribute(f"isaac:{name}").Get() == before.GetAttribute(f"isaac:{name}").Get() is not None, name
    sites = {p.GetName(): (p.GetAttribute("isaac:Description").Get(), p.GetAttribute("isaac:forwardAxis").Get()) for p in stage.Traverse() if "IsaacSiteAPI" in applied(p)}
    assert sites == {"ref": ("old", "Z"), "tcp": ("Tool Attachment Point", "Z")}
    fixed = {p.GetName(): list(p.GetAttribute("isaac:robot:pose:jointFixed").Get()) for p in stage.Traverse() if p.GetTypeName() == "IsaacNamedPose"}
    assert fixed == {"p": [False, False], "nv_pose": [False, True, False]}
    report = json.loads((tmp_path / "out" / "World" / "report.json").read_text())
    left_out = [d["where"]["element"] for d in report["diagnostics"] if d["code"] == "usd-read-isaac-left-out"]
    assert {place.partition(".")[0].rpartition("/")[2] for place in left_out} == {"gripper", "suction", "jball", "d6"}, left_out
    # Options come before what the asset says.
    assert run("convert", asset, "-o", tmp_path / "other", "--overlays", "isaac", "--robot-type", "Wheeled", "--namespace", "fleet", "--changelog", "b", "--changelog", "c, d").returncode == 0
    stage = Usd.Stage.Open(str(tmp_path / "other" / "World" / "World.isaac.usda"))
    robot = stage.GetDefaultPrim()
    assert (robot.GetAttribute("isaac:robotType").Get(), robot.GetAttribute("isaac:namespace").Get()) == ("Wheeled", "fleet")
    assert list(robot.GetAttribute("isaac:changelog").Get()) == ["a", "b", "c, d"]


def test_wrong_poses_of_an_asset_are_found():
    """The poses of the asset are marked as valid, and their targets are not those of UsdPhysics' frames."""
    source = ROOT / "test" / "usd" / "cases" / "isaac_robot.usda"
    found = [d for d in json.loads(run("isaac", "validate", source, "--json").stdout)["diagnostics"] if d["code"] == "isaac-pose-valid"]
    assert {d["where"]["element"].rpartition("/")[2] for d in found} == {"p", "nv_pose"} and all("from its target" in d["message"] for d in found)


GRIPPED = ROOT / "test" / "usd" / "cases" / "isaac_robot.usda"


def test_the_articulation_is_the_robot_and_not_the_gripper_that_alone_has_the_schema(tmp_path):
    text = GRIPPED.read_text().replace('apiSchemas = ["IsaacRobotAPI", "PhysicsArticulationRootAPI"]', 'apiSchemas = ["PhysicsArticulationRootAPI"]', 1)
    asset = tmp_path / "bot.usda"
    asset.write_text(text)
    on_base = text.replace('apiSchemas = ["PhysicsArticulationRootAPI"]', 'apiSchemas = []', 1)
    base = tmp_path / "base" / "bot.usda"
    base.parent.mkdir()
    base.write_text(on_base.replace('["IsaacLinkAPI", "PhysicsRigidBodyAPI"', '["IsaacLinkAPI", "PhysicsArticulationRootAPI", "PhysicsRigidBodyAPI"', 1))
    for file in (asset, base):
        # A file name alone has no folder.
        done = run("isaac", "populate", file.name, cwd=file.parent)
        assert done.returncode == 0, done.stderr
        robot = at(file.parent / "bot.isaac.usda", "/World/bot")
        assert "IsaacRobotAPI" in applied(robot) and {"/World/bot/base", "/World/bot/gripper"} <= set(targets(robot, LINKS))
        assert run("isaac", "tree", file.parent / "bot.isaac.usda").stdout.startswith("base\n")
    # On a table, a robot is the robot.
    table = 'def Xform "table" (apiSchemas = ["PhysicsRigidBodyAPI"]) {}\ndef PhysicsFixedJoint "bolt" {\n rel physics:body0 = </World/table>\n rel physics:body1 = </World/bot/base>\n}\n'
    whole = tmp_path / "table.usda"
    whole.write_text(GRIPPED.read_text().replace('    def Xform "bot"', table + '    def Xform "bot"', 1))
    assert json.loads(run("isaac", "tree", whole, "--json").stdout)["robot"] == "/World/bot"


def test_messages_say_which_entry_has_the_schema(tmp_path):
    asset = tmp_path / "arm.usda"
    asset.write_text(ARM)
    assert run("isaac", "populate", asset, "--robot", "/arm").returncode == 0
    assert "arm.isaac.usda" not in run("isaac", "validate", tmp_path / "arm.isaac.usda", "--json").stderr
    asset.write_text(ARM.replace('prepend apiSchemas = ["IsaacRobotAPI"]', ""))
    found = json.loads(run("isaac", "validate", asset, "--json").stdout)["diagnostics"]
    assert found[0]["code"] == "isaac-no-robot" and "arm.isaac.usda" in found[0]["help"]


def test_the_overlay_of_a_conversion_is_edited(tmp_path):
    done = run("convert", ROOT / "examples" / "sample_arm", "-o", tmp_path, "--overlays", "isaac", "--formats", "usd", "--tiers", "high")
    assert done.returncode == 0, done.stderr
    entry = tmp_path / "sample_arm" / "sample_arm.isaac.usda"
    layer = Sdf.Layer.FindOrOpen(str(entry))
    below = list(layer.subLayerPaths)
    assert run("isaac", "populate", entry, "--sites-last").returncode == 0
    layer.Reload()
    assert list(layer.subLayerPaths) == below and len(below) == 3
