"""Facts of generated robots in the files of every format: each is in the file, or named by a finding, as the table in docs/formats.md says."""

import base64
import json
import random
import re
import struct
from xml.etree import ElementTree

import pytest
from PIL import Image
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

import glb_file
from conftest import ROOT, run

#: The columns of the table, and the option that writes each.
FORMATS = {"OpenUSD": "usd", "glTF": "glb", "URDF": "urdf", "MJCF": "mjcf", "SDF": "sdf"}
KINDS = ("revolute", "continuous", "prismatic", "fixed", "planar", "floating")
COLOURS = ("1 0 0 1", "0 1 0 1", "0 0 1 0.5", "0.2 0.4 0.6 1")


def table():
    """Returns the cells of the table: the state, and the codes, by row and column."""
    page = (ROOT / "docs" / "formats.md").read_text()
    rows = [line.strip("| \n").split(" | ") for line in page.split("<!-- begin: facts")[1].split("<!-- end: facts")[0].splitlines() if " | " in line]
    cell = lambda text: (text.split(",")[0].split(":")[0], re.findall("`(.*?)`", text))
    heads = rows[0][-len(FORMATS) :]
    return {row[0]: dict(zip(heads, map(cell, row[1:]), strict=True)) for row in rows[1:]}


# ----------------------------------------------------------------------------------------------------------------- the models


class Generated:
    """A URDF with its facts: (row of the table, element, value…)."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.facts, self.unread = set(), []
        links = self.random.randint(4, 7)
        self.texts = [self.link(f"link{index}") for index in range(links)]
        self.moving = []
        for index in range(1, links):
            self.texts.append(self.joint(f"joint{index}", f"link{self.random.randrange(index)}", f"link{index}"))
        materials = [self.material(index) for index in range(3)]
        attribute = self.custom("robot", "model")
        self.text = f'<robot name="model"{attribute}>\n' + "\n".join([*materials, *self.texts, *self.extensions(), self.element("robot", "model")])
        self.text += "\n</robot>\n"

    def number(self):
        """A number with three digits that is in no other fact."""
        return self.random.randint(101, 989) / 1000

    def some(self, text, chance=0.6):
        return text() if self.random.random() < chance else ""

    def custom(self, kind, name):
        def attribute():
            # Equal names on links and joints, which may share a prim.
            key = self.random.choice(["foo", "bar"])
            value = f"{kind} {name} {self.number()}"
            self.facts.add(("custom attributes of a URDF", key, value))
            return f' {key}="{value}"'

        return self.some(attribute)

    def element(self, kind, name):
        def text():
            value = f"{kind} {name} {self.number()}"
            self.facts.add(("custom elements of a URDF", "note", value))
            return f'<note says="{value}"/>'

        return self.some(text)

    def material(self, index):
        name, colour = f"paint{index}", self.random.choice(COLOURS)
        if f'"{name}"/>' not in "".join(self.texts):
            self.unread.append(("urdf-unused-material", name))
        else:
            self.facts |= {("names of materials", name), ("colour and opacity", colour)}
        return f'<material name="{name}"><color rgba="{colour}"/></material>'

    def link(self, name):
        self.facts.add(("links and their tree", name))
        mass, size = self.number(), self.number()
        self.facts |= {("masses and inertias", name, mass), ("visuals", size)}
        visual = f"{name}_shell"
        collision = f"{name}_hull"
        self.facts |= {("names of visuals and collisions", visual), ("names of visuals and collisions", collision)}
        paint = f'<material name="paint{self.random.randrange(3)}"/>'
        return f"""<link name="{name}"{self.custom("link", name)}>{self.element("link", name)}
          <inertial><mass value="{mass}"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>
          <visual name="{visual}"><geometry><sphere radius="{size}"/></geometry>{paint}</visual>
          <collision name="{collision}"><geometry><sphere radius="0.1"/></geometry></collision></link>"""

    def joint(self, name, parent, child):
        kind = self.random.choice(KINDS)
        self.facts.add((kind_row(kind), name))
        inside = []
        if kind in ("revolute", "continuous", "prismatic"):
            effort, velocity = self.number(), self.number()
            self.facts |= {("effort limits", name, effort), ("velocity limits", name, velocity)}
            bounds = ""
            if kind != "continuous":
                lower, upper = -self.number(), self.number()
                self.facts.add(("position limits", name, lower, upper))
                bounds = f'lower="{lower}" upper="{upper}"'
            inside.append(f'<limit {bounds} effort="{effort}" velocity="{velocity}"/>')
            inside += [self.some(lambda: self.dynamics(name)), self.some(lambda: self.soft(name)), self.some(lambda: self.calibration(name))]
            if len(self.moving) == 0:
                inside.append("")
            elif self.random.random() < 0.3:
                to, factor = self.random.choice(self.moving), self.number()
                self.facts.add(("mimic joints", name, to, factor))
                inside.append(f'<mimic joint="{to}" multiplier="{factor}"/>')
            if "<mimic" not in inside[-1]:
                self.moving.append(name)
        return f"""<joint name="{name}" type="{kind}"{self.custom("joint", name)}>{self.element("joint", name)}
          <parent link="{parent}"/><child link="{child}"/><origin xyz="0.1 0 0"/><axis xyz="0 0 1"/>{"".join(inside)}</joint>"""

    def dynamics(self, name):
        damping, friction = self.number(), self.number()
        self.facts.add(("damping and friction of joints", name, damping, friction))
        return f'<dynamics damping="{damping}" friction="{friction}"/>'

    def soft(self, name):
        gain = self.number()
        self.facts.add(("soft limits", name, gain))
        return f'<safety_controller k_velocity="{gain}"/>'

    def calibration(self, name):
        rising = self.number()
        self.facts.add(("calibration", name, rising))
        return f'<calibration rising="{rising}"/>'

    def extensions(self):
        friction, topic = self.number(), f"topic{self.random.randrange(1000)}"
        self.facts |= {("surface friction", "link0", friction), ("other sensors", "gyro"), ("ROS interfaces", topic), ("cameras", "eye")}
        yield f'<gazebo reference="link0"><mu1>{friction}</mu1><mu2>{friction}</mu2></gazebo>'
        yield f'<gazebo reference="link1"><sensor name="gyro" type="imu"><topic>{topic}</topic></sensor></gazebo>'
        yield '<gazebo reference="link1"><sensor name="eye" type="camera"><camera><image><width>200</width><height>100</height></image></camera></sensor></gazebo>'
        if self.random.random() < 0.5:
            plugin = self.random.choice(["libgazebo_ros_vacuum_gripper.so", "gz-sim-pose-publisher-system"])
            self.unread.append(("urdf-model-plugin", plugin))
            yield f'<gazebo><plugin filename="{plugin}" name="drive"/></gazebo>'
        if self.moving:
            joint = self.random.choice(self.moving)
            self.facts.add(("drives", joint))
            yield f"""<transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="{joint}">
              <hardwareInterface>hardware_interface/PositionJointInterface</hardwareInterface></joint><actuator name="m"/></transmission>"""


# ------------------------------------------------------------------------------------------------------------------ the files


def close(a, b):
    return a == b if isinstance(a, str) or isinstance(b, str) else abs(a - b) < 1e-6 * max(1, abs(a))


def has(found, fact):
    return any(len(other) == len(fact) and all(map(close, other, fact)) for other in found)


def linear(text):
    *colour, opacity = map(float, text.split())
    return [round(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4, 4) for c in colour] + [opacity]


def colours(found, is_linear=True):
    """Returns the facts about those of COLOURS that are among the colours found."""
    for colour in COLOURS:
        wanted = linear(colour) if is_linear else list(map(float, colour.split()))
        if any(max(abs(a - b) for a, b in zip(wanted, other, strict=True)) < 1e-3 for other in found):
            yield "colour and opacity", colour


def kind_row(kind):
    row = {"fixed": "fixed joints", "planar": "planar joints", "floating": "floating joints"}
    return row.get(kind, "revolute, continuous and prismatic joints")


def in_usd(folder, name):
    stage = Usd.Stage.Open(str(folder / f"{name}.usda"))
    predicate = Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate)
    for prim in stage.Traverse(predicate):
        get = lambda key, prim=prim: prim.GetAttribute(key).Get() if prim.HasAttribute(key) else None
        display = prim.GetDisplayName() or prim.GetName()
        yield "links and their tree", display
        yield "names of visuals and collisions", display
        if prim.IsA(UsdShade.Material):
            yield "names of materials", display
        shader = UsdShade.Shader(prim) if prim.IsA(UsdShade.Shader) else None
        if shader and shader.GetInput("diffuseColor") and shader.GetInput("diffuseColor").Get() is not None:
            opacity = shader.GetInput("opacity").Get() if shader.GetInput("opacity") else 1.0
            yield from colours([[*shader.GetInput("diffuseColor").Get(), 1.0 if opacity is None else opacity]])
        if prim.IsA(UsdGeom.Sphere):
            yield "visuals", get("radius")
        if prim.HasAPI(UsdPhysics.MassAPI):
            yield "masses and inertias", display, get("physics:mass")
        if prim.IsA(UsdGeom.Camera) and (get("urdf:image:width"), get("urdf:image:height")) == (200, 100):
            yield "cameras", display
        if get("ros:topic:name"):
            yield "ROS interfaces", get("ros:topic:name")
            yield "other sensors", display
        if get("physics:dynamicFriction") is not None:
            yield "surface friction", "link0", get("physics:dynamicFriction")
        for attribute in prim.GetAttributes():
            if attribute.IsCustom() and isinstance(attribute.Get(), str):
                key = attribute.GetDisplayName() or attribute.GetName()
                key = key.split(":")[-1]
                yield ("custom elements of a URDF", prim.GetName().split("_")[0], attribute.Get()) if key == "says" else (
                    "custom attributes of a URDF", key, attribute.Get())  # fmt: skip
        joint, words = (get("ros:joint:name"), "urdf:") if get("ros:joint:name") else (get("urdf:joint:name"), "urdf:joint:")
        if not joint:
            continue
        kind = get(f"{words}type")
        yield kind_row(kind), joint
        yield "effort limits", joint, get(f"{words}limit:effort")
        yield "velocity limits", joint, get(f"{words}limit:velocity")
        yield "damping and friction of joints", joint, get(f"{words}dynamics:damping"), get(f"{words}dynamics:friction")
        yield "soft limits", joint, get(f"{words}safety_controller:k_velocity")
        yield "calibration", joint, get(f"{words}calibration:rising")
        lower, upper = get("physics:lowerLimit"), get("physics:upperLimit")
        if lower is not None and upper is not None:
            unit = 1 if prim.IsA(UsdPhysics.PrismaticJoint) else 0.017453292519943295
            yield "position limits", joint, lower * unit, upper * unit
        if any(schema.startswith("PhysicsDriveAPI") for schema in prim.GetAppliedSchemas()):
            yield "drives", joint
        if targets := prim.GetRelationship("mimic:joint").GetTargets() if prim.HasRelationship("mimic:joint") else []:
            yield "mimic joints", joint, stage.GetPrimAtPath(targets[0]).GetAttribute("ros:joint:name").Get(), get("mimic:gearing")


def of_custom(custom):
    """Facts of custom data in the extras of a glTF."""
    for key, value in dict(custom.get("attributes", {})).items():
        yield "custom attributes of a URDF", key, value
    for element in custom.get("elements", []):
        yield from of_element(element["name"], dict(element.get("attributes", {})), element.get("children", []))


def of_element(name, attributes, children):
    if name == "note":
        yield "custom elements of a URDF", name, attributes.get("says")
    for child in children:
        if child["name"] == "sensor":
            yield "other sensors", dict(child.get("attributes", {})).get("name")
            yield from (("ROS interfaces", inner["text"]) for inner in child.get("children", []) if inner["name"] == "topic")
        if child["name"] == "mu1":
            yield "surface friction", attributes["reference"], float(child["text"])
    if name == "transmission":
        yield from (("drives", dict(child.get("attributes", {})).get("name")) for child in children if child["name"] == "joint")


def in_glb(folder, name):
    document, _ = glb_file.read(folder / f"{name}.glb")
    model = document["extensions"]["EXT_robot_kinematics"]["models"][0]
    yield from of_custom(model.get("extras", {}).get("custom", {}))
    for node in document["nodes"]:
        extras = node.get("extras", {})
        yield "names of visuals and collisions", extras.get("shapeName", "")
        yield "visuals", extras.get("geometry", {}).get("radius", 0)
        if "camera" in node:
            size = document["cameras"][node["camera"]].get("extras", {})
            if 200 in size.values() or [200, 100] in size.values():
                yield "cameras", "eye"
    for material in document["materials"]:
        yield "names of materials", material.get("name", "")
        yield from colours([material.get("pbrMetallicRoughness", {}).get("baseColorFactor", [1, 1, 1, 1])])
    for link in model["links"]:
        extras = link.get("extras", {})
        yield "links and their tree", link["name"]
        yield "masses and inertias", link["name"], extras.get("inertial", {}).get("mass")
        yield from of_custom(extras.get("custom", {}))
    for joint in model["joints"]:
        name, extras = joint["name"], joint.get("extras", {})
        yield from of_custom(extras.get("custom", {}))
        yield kind_row(joint["type"]), name
        for limit in [dof.get("limit", {}) for dof in joint.get("dofs", [])]:
            yield "effort limits", name, limit.get("effort", 0)
            yield "velocity limits", name, limit.get("velocity", 0)
            yield "position limits", name, limit.get("lower", 0), limit.get("upper", 0)
        dynamics = joint.get("dynamics", {})
        yield "damping and friction of joints", name, dynamics.get("damping", 0), dynamics.get("friction", 0)
        yield "soft limits", name, joint.get("safety", {}).get("kVelocity", 0)
        yield "calibration", name, joint.get("calibration", {}).get("rising", 0)
        if mimic := joint.get("mimic"):
            yield "mimic joints", name, model["joints"][mimic["joint"]]["name"], mimic.get("multiplier", 1)


def plain(element):
    return {"name": element.tag, "attributes": element.attrib, "text": element.text, "children": [plain(child) for child in element]}


def in_urdf(folder, name):
    root = ElementTree.parse(folder / f"{name}.urdf").getroot()
    known = {"name", "type"}
    for owner in [root, *root.findall("link"), *root.findall("joint")]:
        yield from (("custom attributes of a URDF", key, value) for key, value in owner.attrib.items() if key not in known)
        yield from (("custom elements of a URDF", "note", note.get("says")) for note in owner.findall("note"))
    for child in root:
        yield from of_element(child.tag, child.attrib, [plain(inner) for inner in child])
    for sensor in root.iterfind("gazebo/sensor"):
        yield "cameras", sensor.get("name")
    for material in root.findall("material"):
        yield "names of materials", material.get("name")
        if material.find("color") is not None:
            yield from colours([list(map(float, material.find("color").get("rgba").split()))], is_linear=False)
    for link in root.findall("link"):
        yield "links and their tree", link.get("name")
        yield from (("masses and inertias", link.get("name"), float(mass.get("value"))) for mass in link.iterfind("inertial/mass"))
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            yield "names of visuals and collisions", shape.get("name")
            yield from (("visuals", float(sphere.get("radius"))) for sphere in shape.iterfind("geometry/sphere"))
    for joint in root.findall("joint"):
        name = joint.get("name")
        get = lambda path, key, joint=joint: float(joint.find(path).get(key, "0")) if joint.find(path) is not None else 0
        yield kind_row(joint.get("type")), name
        yield "effort limits", name, get("limit", "effort")
        yield "velocity limits", name, get("limit", "velocity")
        yield "position limits", name, get("limit", "lower"), get("limit", "upper")
        yield "damping and friction of joints", name, get("dynamics", "damping"), get("dynamics", "friction")
        yield "soft limits", name, get("safety_controller", "k_velocity")
        yield "calibration", name, get("calibration", "rising")
        if (mimic := joint.find("mimic")) is not None:
            yield "mimic joints", name, mimic.get("joint"), float(mimic.get("multiplier", "1"))


def in_mjcf(folder, name):
    root = ElementTree.parse(folder / f"{name}.xml").getroot()
    for material in root.iterfind("asset/material"):
        yield "names of materials", material.get("name")
        yield from colours([list(map(float, material.get("rgba", "1 1 1 1").split()))], is_linear=False)
    for body in root.iter("body"):
        yield "links and their tree", body.get("name")
        yield "masses and inertias", body.get("name"), float(body.find("inertial").get("mass")) if body.find("inertial") is not None else 0
        for geom in body.findall("geom"):
            yield "names of visuals and collisions", geom.get("name", "")
            yield "visuals", float(geom.get("size", "0").split()[0])
            yield "surface friction", body.get("name"), float(geom.get("friction", "0").split()[0])
    for camera in root.iter("camera"):
        if camera.get("resolution") == "200 100":
            yield "cameras", camera.get("name")
    for sensor in [*root.iterfind("sensor/*"), *root.iter("site")]:
        yield from (("other sensors", word) for word in (sensor.get("name", ""), sensor.get("site", "")))
    for joint in root.iter("joint"):
        name = joint.get("name") or joint.get("joint1") or ""
        yield "revolute, continuous and prismatic joints", name
        yield from ((f"{kind} joints", re.sub("_[uvxyz]$", "", name)) for kind in ("planar", "floating"))
        pair = lambda key, joint=joint: [*map(float, joint.get(key, "0 0").split())][:2]
        yield "effort limits", name, pair("actuatorfrcrange")[1]
        yield "position limits", name, *pair("range")
        yield "damping and friction of joints", name, float(joint.get("damping", "0")), float(joint.get("frictionloss", "0"))
    for joint in root.iter("freejoint"):
        yield "floating joints", joint.get("name", "")
    for equality in root.iterfind("equality/joint"):
        numbers = [*map(float, equality.get("polycoef", "0 1").split())]
        yield "mimic joints", equality.get("joint1"), equality.get("joint2"), numbers[1]
    for actuator in root.iterfind("actuator/*"):
        yield "drives", actuator.get("joint")
        yield "gains and targets of drives", actuator.get("joint"), float(actuator.get("kp", "0")), float(actuator.get("kv", "0"))


def in_sdf(folder, name):
    root = ElementTree.fromstring((folder / f"{name}.sdf").read_text())
    for link in root.iter("link"):
        yield "links and their tree", link.get("name")
        yield "masses and inertias", link.get("name"), float(link.findtext("inertial/mass", "0"))
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            yield "names of visuals and collisions", shape.get("name")
            yield "visuals", float(shape.findtext("geometry/sphere/radius", "0"))
            yield "surface friction", link.get("name"), float(shape.findtext("surface/friction/ode/mu", "0"))
            if shape.find("material/diffuse") is not None:
                yield from colours([list(map(float, shape.findtext("material/diffuse").split()))], is_linear=False)
    for sensor in root.iter("sensor"):
        yield "other sensors", sensor.get("name")
        if (sensor.findtext("camera/image/width"), sensor.findtext("camera/image/height")) == ("200", "100"):
            yield "cameras", sensor.get("name")
    for joint in root.iter("joint"):
        name = joint.get("name")
        number = lambda path, joint=joint: float(joint.findtext(f"axis/{path}", "0"))
        yield kind_row(joint.get("type")), name
        yield "effort limits", name, number("limit/effort")
        yield "velocity limits", name, number("limit/velocity")
        yield "position limits", name, number("limit/lower"), number("limit/upper")
        yield "damping and friction of joints", name, number("dynamics/damping"), number("dynamics/friction")
        if (gains := joint.find("{http://drake.mit.edu}controller_gains")) is None:
            gains = joint.find("axis/{http://drake.mit.edu}controller_gains")
        if gains is not None:
            yield "gains and targets of drives", name, float(gains.get("p")), float(gains.get("d"))
        if (mimic := joint.find("axis/mimic")) is not None:
            yield "mimic joints", name, mimic.get("joint"), float(mimic.findtext("multiplier", "1"))


READERS = {"OpenUSD": in_usd, "glTF": in_glb, "URDF": in_urdf, "MJCF": in_mjcf, "SDF": in_sdf}


def missing(facts, folder, name, findings):
    """Returns the facts that a format lacks although the table says that it has them, or without a finding of a code that the table names."""
    rows = table()
    for column, reader in READERS.items():
        found = [fact for fact in reader(folder, name) if None not in fact]
        for fact in sorted(facts, key=str):
            state, codes = rows[fact[0]][column]
            # Findings name elements, long lists end with an ellipsis.
            is_about = lambda message, fact=fact: not isinstance(fact[1], str) or fact[1] in message or "…" in message
            named = [d for d in findings if d["code"] in codes and is_about(d["message"])]
            if state == "no" and not named or not has(found, fact) and not named:
                yield column, fact, state, codes


@pytest.mark.parametrize("seed", range(6))
def test_facts_of_a_urdf_are_in_every_format_or_named(seed, tmp_path):
    model = Generated(seed)
    (tmp_path / "model.urdf").write_text(model.text)
    done = run("convert", tmp_path / "model.urdf", "-o", tmp_path / "out", "--json", "--formats", ",".join(FORMATS.values()))
    findings = json.loads(done.stdout)["diagnostics"]
    assert (tmp_path / "out" / "model" / "report.json").is_file(), done.stderr
    assert [*missing(model.facts, tmp_path / "out" / "model", "model", findings)] == [], model.text
    for code, name in model.unread:
        assert any(d["code"] == code and name in d["message"] for d in findings), (code, name, model.text)
    # The same robot, read back from the asset, has the same facts.
    done = run("convert", tmp_path / "out" / "model" / "model.usda", "-o", tmp_path / "again", "--json", "--formats", "urdf,usd")
    assert "usd-read-attributes-left-out" not in {d["code"] for d in json.loads(done.stdout)["diagnostics"]}
    again = [*in_urdf(tmp_path / "again" / "model", "model"), *in_usd(tmp_path / "again" / "model", "model")]
    unmerged = lambda fact: not (fact[0] == "names of materials" and any(d["code"] == "usd-material-merged" for d in findings))
    assert [fact for fact in sorted(model.facts, key=str) if unmerged(fact) and not has([f for f in again if None not in f], fact)] == [], model.text


# ---------------------------------------------------------------------------------------------- what is kept, case by case

INERTIAL = '<inertial><mass value="1"/><inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial>'


def converted(folder, text, *formats, name="model", source="urdf"):
    """Converts a robot; returns the folder of its asset and the findings."""
    (folder / f"{name}.{source}").write_text(text)
    done = run("convert", folder / f"{name}.{source}", "-o", folder / "out", "--json", "--formats", ",".join(formats or ["usd"]))
    assert (folder / "out" / name / "report.json").is_file(), done.stdout + done.stderr
    return folder / "out" / name, json.loads(done.stdout)["diagnostics"]


def messages(findings, code):
    return [d["message"] for d in findings if d["code"] == code]


def test_attributes_of_a_joint_and_its_link_stay_apart(tmp_path):
    text = f"""<robot name="model" foo="robot"><link name="world" foo="world"><ext a="world"/></link>
      <joint name="ground" type="fixed" foo="ground"><parent link="world"/><child link="base"/></joint>
      <link name="base">{INERTIAL}</link>
      <joint name="nail" type="fixed" foo="joint" wear="low"><parent link="base"/><child link="tip"/><ext a="joint"/></joint>
      <link name="tip" foo="link"><ext a="link"/></link><ext a="robot"/></robot>"""
    folder, findings = converted(tmp_path, text)
    assert findings == [], findings
    stage = Usd.Stage.Open(str(folder / "model.usda"))
    tip = stage.GetPrimAtPath("/model/base/tip")
    assert [tip.GetAttribute(f"urdf:{name}").Get() for name in ("foo", "joint:foo", "wear")] == ["link", "joint", "low"]
    assert [tip.GetAttribute(f"urdf:{name}").GetCustomDataByKey("urdf:owner") for name in ("foo", "wear")] == [None, "joint"]
    done = run("convert", folder / "model.usda", "-o", tmp_path / "again", "--json", "--formats", "urdf")
    assert {d["code"] for d in json.loads(done.stdout)["diagnostics"]} == {"urdf-write-no-word"}, "it is about ROS interfaces only"
    root = ElementTree.parse(tmp_path / "again" / "model" / "model.urdf").getroot()
    owners = {owner.get("name"): owner for owner in [*root.findall("link"), *root.findall("joint")]}
    kept = {name: (owner.get("foo"), owner.get("wear"), [e.get("a") for e in owner.findall("ext")]) for name, owner in {"": root, **owners}.items()}
    assert kept == {
        "": ("robot", None, ["robot"]), "world": ("world", None, ["world"]), "ground": ("ground", None, []), "base": (None, None, []),
        "nail": ("joint", "low", ["joint"]), "tip": ("link", None, ["link"]),
    }  # fmt: skip


def test_topics_of_cameras_that_share_a_frame_know_their_camera(tmp_path):
    camera = lambda side: f"""<gazebo reference="{side}"><sensor name="{side}_eye" type="camera"><camera><image><width>200</width><height>100</height></image></camera>
      <plugin filename="libgazebo_ros_camera.so" name="{side}"><cameraName>{side}</cameraName><frameName>optical</frameName></plugin></sensor></gazebo>"""
    part = lambda name, y: f'<joint name="j_{name}" type="fixed"><parent link="head"/><child link="{name}"/><origin xyz="0 {y} 0"/></joint><link name="{name}"/>'
    text = f"""<robot name="model"><link name="head">{INERTIAL}</link>{part("left", 0)}{part("right", 1)}
      <joint name="turn" type="fixed"><parent link="head"/><child link="optical"/><origin rpy="-1.5707963267948966 0 -1.5707963267948966"/></joint>
      <link name="optical"/>{camera("left")}{camera("right")}</robot>"""
    folder, _ = converted(tmp_path, text)

    def cameras(entry):
        stage = Usd.Stage.Open(str(entry))
        found = {}
        for prim in stage.Traverse():
            if topic := prim.GetAttribute("ros:topic:name").Get() if prim.HasAttribute("ros:topic:name") else None:
                near = [p for p in prim.GetPath().GetPrefixes() if stage.GetPrimAtPath(p).IsA(UsdGeom.Camera)]
                found[topic] = [p.name for p in prim.GetRelationship("urdf:camera").GetTargets() or near]
        return found

    wanted = {f"{side}/{topic}": [f"{side}_eye"] for side in ("left", "right") for topic in ("image_raw", "camera_info")}
    assert wanted.items() <= cameras(folder / "model.usda").items()
    run("convert", folder / "model.usda", "-o", tmp_path / "again")
    assert wanted.items() <= cameras(tmp_path / "again" / "model" / "model.usda").items()


def dae(extra, sampler):
    """A square with an image."""
    source = lambda name, numbers, axes: f"""<source id="{name}"><float_array id="{name}-a" count="{len(numbers.split())}">{numbers}</float_array>
      <technique_common><accessor source="#{name}-a" count="4" stride="{len(axes)}">{"".join(f'<param name="{a}" type="float"/>' for a in axes)}
      </accessor></technique_common></source>"""
    return f"""<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><up_axis>Z_UP</up_axis></asset>
      <library_images><image id="img"><init_from>t.png</init_from></image></library_images>
      <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials><library_effects><effect id="e"><profile_COMMON>
      <newparam sid="su"><surface type="2D"><init_from>img</init_from></surface></newparam>
      <newparam sid="sa"><sampler2D><source>su</source>{sampler}</sampler2D></newparam>
      <technique sid="c"><lambert><diffuse><texture texture="sa" texcoord="UV">{extra}</texture></diffuse></lambert></technique></profile_COMMON></effect>
      </library_effects><library_geometries><geometry id="g"><mesh>{source("p", "0 0 0 1 0 0 1 1 0 0 1 0", "XYZ")}{source("uv", "0 0 1 0 1 1 0 1", "ST")}
      <vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="2" material="S"><input semantic="VERTEX" source="#v" offset="0"/>
      <input semantic="TEXCOORD" source="#uv" offset="1" set="0"/><p>0 0 1 1 2 2 0 0 2 2 3 3</p></triangles></mesh></geometry></library_geometries>
      <library_visual_scenes><visual_scene id="V"><node><instance_geometry url="#g"><bind_material><technique_common>
      <instance_material symbol="S" target="#m"/></technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
      <scene><instance_visual_scene url="#V"/></scene></COLLADA>"""


def test_images_of_collada_lie_as_maya_and_samplers_say(tmp_path):
    maya = "".join(f"<{key}>{value}</{key}>" for key, value in {"repeatU": 4, "repeatV": 2, "offsetU": 0.5, "wrapU": 1, "mirrorV": 1, "rotateUV": 30}.items())
    (tmp_path / "maya.dae").write_text(dae(f'<extra><technique profile="MAYA">{maya}</technique></extra>', ""))
    (tmp_path / "clamp.dae").write_text(dae("", "<wrap_s>CLAMP</wrap_s><wrap_t>BORDER</wrap_t>"))
    Image.new("RGB", (4, 4), (200, 100, 50)).save(tmp_path / "t.png")
    meshes = "".join(f'<visual><geometry><mesh filename="{name}.dae"/></geometry></visual>' for name in ("maya", "clamp"))
    folder, findings = converted(tmp_path, f'<robot name="model"><link name="base">{INERTIAL}{meshes}</link></robot>', "usd", "glb", "mjcf")
    # Rotation and borders have no counterpart, which is said.
    simplified = " ".join(messages(findings, "mesh-material-simplified"))
    assert "rotateUV" in simplified and "BORDER" in simplified
    stage = Usd.Stage.Open(str(folder / "model.usda"))
    shaders = [UsdShade.Shader(p) for p in stage.Traverse(Usd.PrimAllPrimsPredicate) if p.IsA(UsdShade.Shader)]
    get = lambda shader, *names: tuple(shader.GetInput(name).Get() for name in names)
    wraps = {get(s, "wrapS", "wrapT") for s in shaders if s.GetIdAttr().Get() == "UsdUVTexture"}
    assert wraps == {("repeat", "mirror"), ("clamp", "clamp")}
    assert {get(s, "scale", "translation") for s in shaders if s.GetIdAttr().Get() == "UsdTransform2d"} == {(Gf.Vec2f(4, 2), Gf.Vec2f(0.5, 0))}
    document, _ = glb_file.read(folder / "model.glb")
    moved = [m["pbrMetallicRoughness"]["baseColorTexture"].get("extensions", {}).get("KHR_texture_transform") for m in document["materials"]
             if "baseColorTexture" in m.get("pbrMetallicRoughness", {})]  # fmt: skip
    # Coordinates of glTF run downwards: v' = 1 - 2 (1 - v).
    assert [m for m in moved if m] == [{"offset": [0.5, -1.0], "rotation": 0.0, "scale": [4.0, 2.0]}]
    assert sorted((s.get("wrapS", 10497), s.get("wrapT", 10497)) for s in document["samplers"]) == [(10497, 33648), (33071, 33071)]


def test_names_of_materials_and_alphas_of_colours(tmp_path):
    Image.new("RGB", (4, 4), (200, 100, 50)).save(tmp_path / "t.png")
    (tmp_path / "square.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nf 1/1 2/2 3/3\n")
    ball = '<geometry><sphere radius="1"/></geometry>'
    text = f"""<robot name="model"><material name="red"><color rgba="1 0 0 1"/></material><material name="rouge"><color rgba="1 0 0 1"/></material>
      <material name="wood"><color rgba="0 1 0 0.5"/><texture filename="t.png"/></material><material name="idle"><color rgba="0 0 1 1"/></material>
      <link name="base">{INERTIAL}<visual>{ball}<material name="red"/></visual><visual>{ball}<material name="rouge"/></visual>
      <visual><geometry><mesh filename="square.obj"/></geometry><material name="wood"/></visual><visual>{ball}<material name="wood"/></visual></link></robot>"""
    folder, findings = converted(tmp_path, text)
    assert ['"rouge"' in message and "/Materials/red" in message for message in messages(findings, "usd-material-merged")] == [True]
    assert ['"idle"' in message for message in messages(findings, "urdf-unused-material")] == [True]
    stage = Usd.Stage.Open(str(folder / "model.usda"))
    shown = {}
    for prim in stage.Traverse(Usd.PrimAllPrimsPredicate):
        if prim.IsA(UsdShade.Material):
            surface = UsdShade.Shader(stage.GetPrimAtPath(prim.GetPath().AppendChild("PreviewSurface")))
            color, opacity = surface.GetInput("diffuseColor"), surface.GetInput("opacity")
            shown[prim.GetName()] = (color.Get() and tuple(color.Get()), opacity.Get() if opacity else None)
    assert shown == {"red": ((1, 0, 0), None), "wood": (None, None), "wood_1": ((0, 1, 0), 0.5)}


def morphing():
    """A triangle in glTF with a morph target whose weight is not zero."""
    data = struct.pack("<18f", 0, 0, 0, 1, 0, 0, 0, 1, 0, *[0.5] * 9)
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    accessor = lambda offset: {"bufferView": 0, "byteOffset": offset, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 1]}
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"name": "face", "weights": [0.5], "primitives": [{"attributes": {"POSITION": 0}, "targets": [{"POSITION": 1}]}]}],
        "buffers": [{"byteLength": len(data), "uri": uri}], "bufferViews": [{"buffer": 0, "byteLength": len(data)}],
        "accessors": [accessor(0), accessor(36)],
    })  # fmt: skip


def test_morph_targets_are_named(tmp_path):
    (tmp_path / "face.gltf").write_text(morphing())
    mesh = '<visual><geometry><mesh filename="face.gltf"/></geometry></visual>'
    _, findings = converted(tmp_path, f'<robot name="model"><link name="base">{INERTIAL}{mesh}</link></robot>')
    (message,) = messages(findings, "mesh-morph-targets")
    assert "`face`" in message and "not zero" in message


# -------------------------------------------------------------------------------------------------------- OpenUSD of others


def write_stage(seed, path):
    """Writes a robot with usd-core; returns facts of it, by row, and what findings must name: (code, text)."""
    chance = random.Random(seed)
    number = lambda: chance.randint(101, 989) / 1000
    made = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(made, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(made, 1)
    root = UsdGeom.Xform.Define(made, "/model").GetPrim()
    made.SetDefaultPrim(root)
    UsdPhysics.ArticulationRootAPI.Apply(root)
    facts, named, before = set(), [], None
    for index in range(chance.randint(2, 4)):
        body = UsdGeom.Xform.Define(made, f"/model/link{index}").GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(body)
        mass, size = number(), number()
        UsdPhysics.MassAPI.Apply(body).CreateMassAttr(mass)
        UsdPhysics.MassAPI(body).CreateDiagonalInertiaAttr(Gf.Vec3f(0.1, 0.1, 0.1))
        ball = UsdGeom.Sphere.Define(made, f"/model/link{index}/ball{index}")
        ball.CreateRadiusAttr(size)
        facts |= {("links and their tree", f"link{index}"), ("masses and inertias", f"link{index}", mass), ("visuals", size)}
        material = UsdShade.Material.Define(made, f"/model/Looks/paint{index}")
        shader = UsdShade.Shader.Define(made, f"/model/Looks/paint{index}/S")
        shader.CreateIdAttr("UsdPreviewSurface")
        colour = [number() for _ in range(3)]
        shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(Gf.Vec3f(colour))
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        UsdShade.MaterialBindingAPI.Apply(ball.GetPrim()).Bind(material)
        facts.add(("names of materials", f"paint{index}"))
        if chance.random() < 0.5:
            body.CreateAttribute("acme:serial", Sdf.ValueTypeNames.String, custom=True).Set(str(number()))
            named.append(("usd-read-attributes-left-out", "acme"))
        if before:
            joint = UsdPhysics.RevoluteJoint.Define(made, f"/model/joint{index}")
            joint.CreateBody0Rel().SetTargets([before.GetPath()])
            joint.CreateBody1Rel().SetTargets([body.GetPath()])
            joint.CreateAxisAttr("Z")
            lower, upper = -number() * 50, number() * 50
            joint.CreateLowerLimitAttr(lower)
            joint.CreateUpperLimitAttr(upper)
            drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular")
            stiffness, damping = number(), number()
            drive.CreateStiffnessAttr(stiffness)
            drive.CreateDampingAttr(damping)
            unit = 0.017453292519943295
            facts |= {
                ("revolute, continuous and prismatic joints", f"joint{index}"), ("position limits", f"joint{index}", lower * unit, upper * unit),
                ("gains and targets of drives", f"joint{index}", stiffness / unit, damping / unit),
            }  # fmt: skip
        before = body
    root.AddAppliedSchema("RosContextAPI")
    domain = chance.randint(1, 100)
    root.CreateAttribute("ros:context:domain_id", Sdf.ValueTypeNames.Int).Set(domain)
    topic = UsdGeom.Xform.Define(made, "/model/link0/scan").GetPrim()
    topic.AddAppliedSchema("RosTopicAPI")
    for key, value in {"name": "scan", "type": "sensor_msgs/msg/LaserScan"}.items():
        topic.CreateAttribute(f"ros:topic:{key}", Sdf.ValueTypeNames.String).Set(value)
    topic.CreateAttribute("ros:topic:role", Sdf.ValueTypeNames.Token).Set("publisher")
    facts |= {("ROS contexts", "model", domain), ("ROS interfaces", "scan"), ("other sensors", "scan")}
    face = UsdGeom.Mesh.Define(made, "/model/link0/face")
    face.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    face.CreateFaceVertexCountsAttr([3])
    face.CreateFaceVertexIndicesAttr([0, 1, 2])
    face.GetPrim().CreateRelationship("skel:blendShapeTargets").SetTargets(["/model/link0/face/smile"])
    made.DefinePrim("/model/link0/face/smile", "BlendShape")
    named.append(("mesh-morph-targets", "face"))
    made.Save()
    return facts, named


def gains_in_usd(folder, name):
    stage = Usd.Stage.Open(str(folder / f"{name}.usda"))
    for prim in stage.Traverse():
        drive = UsdPhysics.DriveAPI.Get(prim, "angular")
        if drive and drive.GetStiffnessAttr().Get() is not None:
            unit = 0.017453292519943295
            joint = prim.GetAttribute("ros:joint:name").Get()
            yield "gains and targets of drives", joint, drive.GetStiffnessAttr().Get() / unit, drive.GetDampingAttr().Get() / unit
        if (domain := prim.GetAttribute("ros:context:domain_id")) and domain.Get() is not None:
            yield "ROS contexts", "model", domain.Get()


@pytest.mark.parametrize("seed", range(3))
def test_facts_of_others_openusd_are_in_every_format_or_named(seed, tmp_path, monkeypatch):
    facts, named = write_stage(seed, tmp_path / "model.usda")
    done = run("convert", tmp_path / "model.usda", "-o", tmp_path / "out", "--json", "--formats", ",".join(FORMATS.values()))
    findings = json.loads(done.stdout)["diagnostics"]
    folder = tmp_path / "out" / "model"
    assert (folder / "report.json").is_file(), done.stderr
    monkeypatch.setitem(READERS, "OpenUSD", lambda folder, name: [*in_usd(folder, name), *gains_in_usd(folder, name)])
    assert [*missing(facts, folder, "model", findings)] == []
    for code, text in named:
        assert any(d["code"] == code and text in d["message"] for d in findings), (code, text)


def test_parts_of_a_mesh_are_no_attributes_of_other_programs(tmp_path):
    """OpenUSD itself declares the family of subsets of a mesh (`subsetFamily:…`)."""
    made = Usd.Stage.CreateNew(str(tmp_path / "model.usda"))
    UsdGeom.SetStageMetersPerUnit(made, 1)
    made.SetDefaultPrim(UsdGeom.Xform.Define(made, "/model").GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(made.GetDefaultPrim())
    body = UsdGeom.Xform.Define(made, "/model/link").GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(body)
    UsdPhysics.MassAPI.Apply(body).CreateMassAttr(1)
    mesh = UsdGeom.Mesh.Define(made, "/model/link/plate")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 2, 1, 3])
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).CreateMaterialBindSubset("half", [0])
    UsdShade.MaterialBindingAPI(mesh.GetPrim()).SetMaterialBindSubsetsFamilyType("partition")
    made.Save()
    assert "subsetFamily:materialBind:familyType" in (tmp_path / "model.usda").read_text()
    done = run("convert", tmp_path / "model.usda", "-o", tmp_path / "out", "--json", "--formats", "usd")
    assert "usd-read-attributes-left-out" not in {d["code"] for d in json.loads(done.stdout)["diagnostics"]}, done.stdout


def test_elements_of_gazebo_that_sdf_lacks_are_named(tmp_path):
    """SDF holds plugins of the robot and sensors of its links, but not the other way round."""
    plugin, sensor = '<plugin name="p" filename="f.so"/>', '<sensor name="s" type="imu"/>'
    blocks = {"plugin of a link": f'<gazebo reference="base">{plugin}</gazebo>', "sensor of none": f"<gazebo>{sensor}</gazebo>"}
    held = f'<gazebo>{plugin}</gazebo><gazebo reference="base">{sensor}</gazebo>'
    for lost in ({}, *({name: block} for name, block in blocks.items())):
        folder = tmp_path / ("_".join(lost) or "held").replace(" ", "_")
        folder.mkdir()
        text = f'<robot name="model"><link name="base">{INERTIAL}</link>{held}{"".join(lost.values())}</robot>'
        _, findings = converted(folder, text, "sdf")
        assert any("custom elements (1: gazebo)" in message for message in messages(findings, "sdf-no-word")) == bool(lost), (lost, findings)


def test_pairs_that_planners_ignore_are_named(tmp_path):
    (tmp_path / "r.xrdf").write_text("format: xrdf\nformat_version: 1.0\nself_collision: {geometry: g, ignore: {a: [b]}}\ngeometry: {g: {spheres: {}}}\n")
    links = "".join(f'<link name="{name}">{INERTIAL}</link>' for name in "ab")
    joint = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    (tmp_path / "model.urdf").write_text(f'<robot name="model">{links}{joint}</robot>')
    done = run("convert", tmp_path / "model.urdf", "-o", tmp_path / "out", "--formats", "mjcf", "--xrdf", tmp_path / "r.xrdf", "--json")
    named = messages(json.loads(done.stdout)["diagnostics"], "mjcf-no-word")
    assert any("data for motion planners" in message and "a and b" in message for message in named), done.stdout
