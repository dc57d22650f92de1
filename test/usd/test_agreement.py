"""`urdf_usd check` reports every finding of ros-openusd-compliance-checker, by the rule of the same number and on the same prim;
docs/check.md lists the exceptions with reasons. The examples of the rules show the findings of `urdf_usd check` alone."""

import functools
import json
import re
from pathlib import Path

import pytest
from PIL import Image
from pxr import Sdf, Usd, UsdGeom

import explained
import test_rep158
from conftest import ROBOTS, ROOT, run
from stage import applied

ROWS = explained.rows("usd-check", "check.md")
RULES = ROOT / "docs" / "rules.md"
#: The header of examples without one.
HEADER = '#usda 1.0\n(\n    defaultPrim = "robot"\n    kilogramsPerUnit = 1\n    metersPerUnit = 1\n    timeCodesPerSecond = 1\n    upAxis = "Z"\n)\n\n'


class Compared:
    """The findings of both checkers in an asset."""

    def __init__(self, name, entry, *options):
        self.name, self.entry = name, Path(entry).resolve()
        done = run("check", self.entry, "--format", "json", *options)
        self.ours = json.loads(done.stdout)["diagnostics"]
        self.theirs = test_rep158.check(self.entry)["violations"]
        assert not [v for v in self.theirs if v["check_id"].endswith("internal_error")], self.theirs

    def codes(self):
        return {d["code"] for d in self.ours}

    def has(self, violation):
        """Returns whether our checker has a finding of the other. The other names a prim, a layer, or nothing (`/`)."""
        found = [d for d in self.ours if d["code"] == f"REP158-{violation['check_id']}"]
        at = violation["prim_path"]
        if at == "/" or not at:
            return bool(found)
        if Sdf.Layer.Find(at) or Path(at).is_file():
            return any(Path(d["where"]["file"]).samefile(at) for d in found)
        # Ours lists at most a hundred findings.
        if any(re.match(r"there are \d+ more findings", d["message"]) for d in found):
            return True
        return any(re.sub(r"\{[^}]*\}", "/", d["where"]["element"]).partition(".")[0].replace("//", "/") == at for d in found)

    def missed(self):
        """Returns the findings that our checker lacks."""
        return [v for v in self.theirs if not self.has(v)]


#: Conditions on the prim of rows that are about some prims only.
ONLY = {
    "1.3.4": lambda prim: not prim.IsA(UsdGeom.Mesh),
    "2.2.4": lambda prim: "RosFrameAPI" in applied(prim.GetParent()),
}


def is_explained(compared, violation):
    rule = violation["check_id"]
    if not any(row.covers(rule, violation["message"], violation["prim_path"]) for row in ROWS):
        return False
    if rule not in ONLY:
        return True
    stage = Usd.Stage.Open(str(compared.entry))
    return ONLY[rule](stage.GetPrimAtPath(violation["prim_path"]))


def unexplained(compared):
    return [f"{compared.name}: {v['check_id']} {v['prim_path']}: {v['message']}" for v in compared.missed() if not is_explained(compared, v)]


# ---- Examples of rules --------------------------------------------------------------------------------------------------------


def examples():
    """Returns the examples in docs/rules.md that break each rule: the files of a small asset, by code."""
    found = {}
    _, text = RULES.read_text(encoding="utf-8").split("\n## REP-158\n")
    for section in text.split("\n### ")[1:]:
        code = section.partition("\n")[0]
        example = section.split("This breaks the rule:\n\n")[1].split("\nThis keeps it:")[0]
        parts = re.split(r"^    (\S+\.\w+): ", example, flags=re.MULTILINE)[1:]
        lines = lambda part: "\n".join(line.removeprefix("    ") for line in part.rstrip().split("\n")) + "\n"
        found[code] = {name: lines(part) for name, part in zip(parts[::2], parts[1::2])}
    return found


EXAMPLES = examples()
#: The revision of REP-158, by code, of rules that only one has.
REVISIONS = {
    section.partition("\n")[0]: found[1]
    for section in RULES.read_text(encoding="utf-8").split("\n### ")
    if (found := re.search(r"^Only the revision (\S+) has this rule", section, flags=re.MULTILINE))
}


def written(files, folder):
    """Writes an example, and returns its first file."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if image := re.fullmatch(r"(8|16)-bit (L|RGB|RGBA) (\w+)(?: (\d+)x(\d+))?\n", text):
            bits, mode, form, width, height = image.groups()
            # Pillow writes 16 bits only in grey, which suffices for the rules about bit depth.
            mode = "I;16" if bits == "16" else mode
            Image.new(mode, (int(width or 2), int(height or 2))).save(path, form)
        elif path.suffix in (".usda", ".usdc"):
            layer = Sdf.Layer.CreateAnonymous()
            text = text if text.startswith("#usda") else HEADER + text
            assert layer.ImportFromString(text), f"{name}\n{text}"
            path.write_text(text) if path.suffix == ".usda" else layer.Export(str(path))
        else:
            path.write_text(text)
    return folder / next(iter(files))


@functools.cache
def compared_example(code, folder):
    options = ("--rep158", REVISIONS[code]) if code in REVISIONS else ()
    return Compared(code, written(EXAMPLES[code], folder / code), *options)


@pytest.fixture(scope="module")
def compared_examples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    return {code: compared_example(code, folder) for code in EXAMPLES}


@pytest.mark.xdist_group("examples of rules")
def test_the_examples_of_all_rules(compared_examples):
    assert len(compared_examples) > 140
    missed = [line for compared in compared_examples.values() for line in unexplained(compared)]
    assert missed == []


@pytest.mark.xdist_group("examples of rules")
def test_each_rule_finds_its_violation(compared_examples):
    """Rules that need a sourced ROS workspace have tests elsewhere."""
    silent = {code for code, compared in compared_examples.items() if code not in compared.codes()}
    assert silent <= {"REP158-2.3.3"}


@pytest.mark.xdist_group("examples of rules")
def test_rules_of_our_checker_alone_are_listed(compared_examples):
    """The page lists the rules whose examples the other checker accepts."""
    theirs = {code: {f"REP158-{v['check_id']}" for v in compared.theirs} for code, compared in compared_examples.items()}
    only = {code.removeprefix("REP158-") for code, found in theirs.items() if code not in found}
    page = (explained.DOCS / "check.md").read_text(encoding="utf-8")
    listed = re.findall(r"`(\d[\d.]*)`", page.split("## What only `urdf_usd check` finds")[1])
    assert sorted(listed) == sorted(only)


# ---- False findings of the other checker --------------------------------------------------------------------------------------

#: Valid assets with findings of the other checker: the row of docs/check.md is "seen on" the name.
RIGHT = {
    "a kinematic body": """def Xform "robot"
{
    def Xform "door" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {
        bool physics:kinematicEnabled = true
        double3 xformOp:translate = (0, 0, 0)
        quatf xformOp:orient = (1, 0, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
    }
}""",
    "an over": """def Xform "robot"
{
    over "gone" (
        prepend apiSchemas = ["RosTopicAPI", "ExtendedPhysicsMimicAPI"]
    )
    {
    }
}""",
    "a camera": """def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "link" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {
        float physics:mass = 1

        def Camera "camera"
        {
            def Xform "optical" (
                prepend apiSchemas = ["RosFrameAPI"]
            )
            {
                quatf xformOp:orient = (0, 1, 0, 0)
                uniform token[] xformOpOrder = ["xformOp:orient"]

                def Xform "image" (
                    prepend apiSchemas = ["RosTopicAPI"]
                )
                {
                    uniform string ros:topic:name = "image"
                    uniform double ros:topic:publish_rate = 30
                    uniform token ros:topic:role = "publisher"
                    uniform string ros:topic:type = "sensor_msgs/msg/Image"
                }
            }
        }
    }
}""",
    "a wall clock": """def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Xform "time" (
        prepend apiSchemas = ["RosTopicAPI"]
    )
    {
        uniform string ros:topic:name = "wall/clock"
        uniform token ros:topic:role = "subscription"
        uniform string ros:topic:type = "builtin_interfaces/msg/Time"
    }
}""",
    "two robots": """def Xform "robot"
{
    def Xform "left" (
        prepend apiSchemas = ["RosContextAPI", "PhysicsArticulationRootAPI"]
    )
    {
        uniform string ros:context:namespace = "left"
        uniform string ros:context:parent_frame = "map"
    }

    def Xform "right" (
        prepend apiSchemas = ["RosContextAPI", "PhysicsArticulationRootAPI"]
    )
    {
        uniform string ros:context:namespace = "right"
        uniform string ros:context:parent_frame = "map"
    }
}""",
    "a topic below a payload": """def Xform "robot"
{
    def Xform "link" (
        payload = @shape.usda@
    )
    {
        def Xform "part" (
            prepend apiSchemas = ["RosContextAPI"]
        )
        {
            def Xform "state" (
                prepend apiSchemas = ["RosTopicAPI"]
            )
            {
                uniform string ros:topic:name = "state"
                uniform double ros:topic:publish_rate = 30
                uniform token ros:topic:role = "publisher"
                uniform string ros:topic:type = "std_msgs/msg/String"
            }
        }
    }
}""",
    "an orientation of nothing": """def Xform "robot"
{
    quatf xformOp:orient = (1, 0, 0, 0)
    uniform token[] xformOpOrder = ["xformOp:orient"]
}""",
    "a class of its own": """class "_wheel"
{
}

def Xform "robot"
{
    def Xform "wheel" (
        inherits = </_wheel>
    )
    {
    }
}""",
    "a collider that is a ball": """def Xform "robot"
{
    def Sphere "ball" (
        prepend apiSchemas = ["PhysicsCollisionAPI"]
    )
    {
        rel material:binding:physics = </robot/rubber>
        uniform token purpose = "guide"
    }

    def Material "rubber" (
        prepend apiSchemas = ["PhysicsMaterialAPI"]
    )
    {
        float physics:dynamicFriction = 1
        float physics:restitution = 0
        float physics:staticFriction = 1
    }
}""",
    "names of textures": """def Xform "robot"
{
    def Material "paint"
    {
        token outputs:surface.connect = </robot/paint/surface.outputs:surface>

        def Shader "surface"
        {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = </robot/paint/platform.outputs:rgb>
            color3f inputs:emissiveColor.connect = </robot/paint/scan.outputs:rgb>
            token outputs:surface
        }

        def Shader "platform"
        {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @platform.jpg@
            float3 outputs:rgb
        }

        def Shader "scan"
        {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @scan.2024.tiff@
            float3 outputs:rgb
        }
    }
}""",
    "a sheet with two sides, and a texture of no material": """def Xform "robot"
{
    def Mesh "sheet"
    {
        uniform bool doubleSided = 1
        int[] faceVertexCounts = [3]
        int[] faceVertexIndices = [0, 1, 2]
        point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    }

    def Shader "tiles"
    {
        uniform token info:id = "UsdUVTexture"
        asset inputs:file = @tiles.<UDIM>.png@
        float3 outputs:rgb
    }
}""",
}


@pytest.fixture(scope="module")
def compared_right(tmp_path_factory):
    folder = tmp_path_factory.mktemp("right")
    made = {}
    for name, text in RIGHT.items():
        files = {"robot.usda": text + "\n", "shape.usda": 'def Cube "robot"\n{\n}\n', "platform.jpg": "8-bit RGB JPEG\n", "scan.2024.tiff": "8-bit RGB PNG\n"}
        made[name] = Compared(name, written(files, folder / name))
    return made


@pytest.mark.xdist_group("examples of rules")
def test_valid_assets(compared_right):
    assert [line for compared in compared_right.values() for line in unexplained(compared)] == []


@pytest.mark.xdist_group("examples of rules")
def test_every_explanation_is_needed(compared_right, compared_examples):
    """A row without a finding on its asset must be removed."""
    for row in ROWS:
        compared = compared_right.get(row.seen_on) or compared_examples[row.seen_on]
        missed = compared.missed()
        assert any(row.covers(v["check_id"], v["message"], v["prim_path"]) for v in missed), (row, compared.theirs)


# ---- Assets -------------------------------------------------------------------------------------------------------------------


@functools.cache
def compared_robot(converted):
    return Compared(converted.name, converted.entry)


def test_converted_robots(converted):
    assert unexplained(compared_robot(converted)) == []


def test_assets_of_another_converter(theirs):
    compared = Compared(*theirs)
    assert len(compared.theirs) > 10
    assert unexplained(compared) == []


def test_the_asset_made_by_hand():
    entry = ROBOTS.parent / "gold" / "ref_arm" / "ref_arm.usda"
    if not entry.is_file():
        pytest.skip(f"{entry} does not exist (beside the real robots)")
    compared = Compared("ref_arm", entry)
    assert compared.theirs
    assert unexplained(compared) == []
