"""URDF → OpenUSD → URDF: masses, frames and anchors; and findings that name what other parsers make of a URDF."""

import json
import subprocess
from xml.etree import ElementTree

import pytest
from conftest import program, run
from pxr import Usd, UsdPhysics
from test_urdf import ask, checkers

MASS = '<inertial><origin xyz="{0} 0 0" rpy="0 0 0.3"/><mass value="{1}"/><inertia ixx="0.05" iyy="0.06" izz="0.07" ixy="0.01" ixz="0" iyz="0"/></inertial>'
BOX = '<visual><geometry><box size="1 1 1"/></geometry></visual>'
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


def converted(source, folder, *formats, options=()):
    """Returns the folder of the asset, and the findings by code."""
    done = run("convert", source, "-o", folder, "--formats", ",".join(formats), "--json", *options)
    report = json.loads(done.stdout)
    found = {}
    for finding in report["diagnostics"]:
        found.setdefault(finding["code"], []).append(finding)
    (asset,) = [path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")]
    return asset, found


def back(tmp_path, text, options=()):
    """Returns the source, the entry in OpenUSD, and the URDF that comes back."""
    source = tmp_path / "source.urdf"
    source.write_text(text)
    usd, _ = converted(source, tmp_path / "usd", "usd", options=options)
    entry = usd / f"{usd.name}.usda"
    urdf, _ = converted(entry, tmp_path / "urdf", "urdf")
    return source, entry, urdf / f"{urdf.name}.urdf"


def masses(urdf):
    return {link.get("name"): float(link.find("inertial/mass").get("value")) for link in ElementTree.parse(urdf).iter("link") if link.find("inertial") is not None}


def test_no_assumed_mass_comes_back(tmp_path):
    text = f"""<robot name="r"><link name="base">{BOX}</link><link name="tip">{BOX}</link><link name="known">{MASS.format(0, 2)}</link>
<joint name="j" type="revolute"><parent link="base"/><child link="tip"/><axis xyz="0 0 1"/>{LIMIT}</joint>
<joint name="k" type="revolute"><parent link="tip"/><child link="known"/><axis xyz="0 0 1"/>{LIMIT}</joint></robot>"""
    _, entry, urdf = back(tmp_path, text)
    stage = Usd.Stage.Open(str(entry))
    bodies = {prim.GetName(): prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    marks = {name: prim.GetAttribute("urdf:inertial:assumed").Get() for name, prim in bodies.items()}
    assert marks == {"base": "true", "tip": "true", "known": None}
    assert masses(urdf) == {"known": 2}
    # Programs that need masses get them again, with the finding.
    _, found = converted(urdf, tmp_path / "again", "usd")
    assert len(found["link-without-mass"]) == 2
    # A mass that the user asked for comes back.
    (tmp_path / "dense").mkdir()
    _, _, urdf = back(tmp_path / "dense", text.replace("visual", "collision"), ("--density", "100"))
    assert masses(urdf) == pytest.approx({"base": 100, "tip": 100, "known": 2})


@pytest.mark.parametrize("form", ["", BOX])
@pytest.mark.parametrize("between", [False, True])
def test_a_mass_comes_back_to_its_own_link(tmp_path, form, between):
    middle = '<link name="middle"/><joint name="m" type="fixed"><parent link="base_link"/><child link="middle"/><origin xyz="0 0.2 0"/></joint>' * between
    parent = "middle" if between else "base_link"
    text = f"""<robot name="r"><link name="base_link"/>{middle}<link name="body">{MASS.format(0.1, 5)}{form}</link><link name="tool"/>
<joint name="waist" type="fixed"><parent link="{parent}"/><child link="body"/><origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/></joint>
<joint name="tool_joint" type="fixed"><parent link="body"/><child link="tool"/><origin xyz="0 0 0.1"/></joint>
<link name="arm">{MASS.format(0, 1)}</link>
<joint name="j" type="continuous"><parent link="body"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>"""
    source, entry, urdf = back(tmp_path, text)
    stage = Usd.Stage.Open(str(entry))
    bodies = {prim.GetName(): prim for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)}
    (frame,) = bodies["base_link"].GetRelationship("urdf:inertial:frame").GetTargets()
    assert (bodies.keys(), frame.name) == ({"base_link", "arm"}, "body")
    assert masses(urdf) == {"body": 5, "arm": 1}
    differences = ask("pinocchio", source, urdf)
    assert differences["frames"] < 1e-6 and differences["masses"] < 1e-6
    # The same structure again, without a mark that is stale.
    (tmp_path / "twice").mkdir()
    _, again, _ = back(tmp_path / "twice", urdf.read_text())
    assert (entry.parent / "urdf.usda").read_text() == (again.parent / "urdf.usda").read_text()


def test_an_undeclared_world_anchors_the_robot(tmp_path):
    joint = '<joint name="{0}" type="fixed"><parent link="{1}"/><child link="{2}"/><origin xyz="0 0 1"/></joint>'
    text = f"""<robot name="r"><link name="base">{MASS.format(0, 1)}</link>{joint.format("weld", "world", "base")}</robot>"""
    source, entry, urdf = back(tmp_path, text)
    _, found = converted(source, tmp_path / "once", "mjcf")
    (finding,) = found["urdf-unknown-link"]
    assert finding["severity"] == "error" and "world" in finding["message"] and '<link name="world"/>' in finding["help"]
    stage = Usd.Stage.Open(str(entry))
    (weld,) = [UsdPhysics.Joint(prim) for prim in stage.Traverse() if prim.IsA(UsdPhysics.FixedJoint)]
    assert not weld.GetBody0Rel().GetTargets() and tuple(weld.GetLocalPos0Attr().Get()) == (0, 0, 1)
    # As if it were declared.
    (tmp_path / "declared.urdf").write_text(text.replace("<link", '<link name="world"/><link', 1))
    assert ask("pinocchio", tmp_path / "declared.urdf", urdf)["frames"] < 1e-9
    # Neither for an unknown child, nor as a child, nor in another spelling.
    for wrong in (joint.format("weld", "world", "none"), joint.format("weld", "base", "world"), joint.format("weld", "World", "base")):
        source.write_text(f'<robot name="r"><link name="base">{MASS.format(0, 1)}</link>{wrong}</robot>')
        converted(source, tmp_path / "wrong", "urdf")
        assert [link.get("name") for link in ElementTree.parse(tmp_path / "wrong" / "r" / "r.urdf").iter("link")] == ["base"]


def test_undeclared_bytes_keep_names_apart(tmp_path):
    joint = '<joint name="j_{0}" type="revolute"><parent link="Basis"/><child link="Gelenk_{0}"/><axis xyz="0 0 1"/>' + LIMIT + "</joint>"
    links = "".join(f'<link name="{name}">{MASS.format(0, 1)}</link>' for name in ("Basis", "Gelenk_ä", "Gelenk_ö"))
    text = f'<robot name="r">\n{links}{joint.format("ä")}{joint.format("ö")}</robot>'
    source = tmp_path / "source.urdf"
    source.write_bytes(text.encode("latin-1"))
    asset, found = converted(source, tmp_path / "out", "urdf")
    names = [link.get("name") for link in ElementTree.parse(asset / "r.urdf").iter("link")]
    assert names == ["Basis", "Gelenk_ä", "Gelenk_ö"] and not {"urdf-duplicate-link", "urdf-duplicate-joint"} & found.keys()
    (finding,) = found["urdf-broken-characters"]
    assert finding["where"]["line"] == 2 and "windows-1252" in finding["message"]
    for command, variables in checkers():
        for file in (source, asset / "r.urdf"):
            done = subprocess.run([*command, file], capture_output=True, env=variables)
            assert done.returncode == 0 and b"has 2 child" in done.stdout
    # From standard input too, and in the declared encoding without a finding.
    told = subprocess.run([program(), "inspect", "-"], input=source.read_bytes(), capture_output=True)
    assert "Gelenk_ö".encode() in told.stdout and b"windows-1252" in told.stderr
    source.write_bytes(('<?xml version="1.0" encoding="iso-8859-1"?>' + text).encode("latin-1"))
    assert "urdf-broken-characters" not in converted(source, tmp_path / "declared", "urdf")[1]


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 1234\n"


@pytest.mark.parametrize("name", ["r.urdf", "r.urdf.xacro", "r.usda", "r.usdc", "r.usdz", "r.glb"])
def test_pointers_of_git_lfs_are_named(tmp_path, name):
    (tmp_path / name).write_text(POINTER)
    for command in (("convert", tmp_path / name, "-o", tmp_path / "out"), ("inspect", tmp_path / name)):
        done = run(*command)
        told = " ".join((done.stdout + done.stderr).split())
        assert done.returncode != 0 and "Git LFS pointer" in told and "git lfs pull" in told, told


def test_pointers_of_git_lfs_in_a_robot_are_named(tmp_path):
    (tmp_path / "mesh.stl").write_text(POINTER)
    (tmp_path / "part.usda").write_text(POINTER)
    (tmp_path / "r.srdf").write_text(POINTER)
    source = tmp_path / "r.urdf"
    source.write_text(f'<robot name="r"><link name="a">{MASS.format(0, 1)}<visual><geometry><mesh filename="mesh.stl"/></geometry></visual></link></robot>')
    _, found = converted(source, tmp_path / "out", "usd")
    (finding,) = found["resolve-git-lfs"]
    assert "mesh.stl" in finding["message"] and "git lfs pull" in finding["help"]
    assert "Git LFS pointer" in " ".join(run("convert", source, "-o", tmp_path / "out", "--srdf", tmp_path / "r.srdf").stderr.split())
    stage = Usd.Stage.CreateNew(str(tmp_path / "r.usda"))
    root = stage.DefinePrim("/r", "Xform")
    stage.SetDefaultPrim(root)
    body = stage.DefinePrim("/r/base", "Xform")
    UsdPhysics.RigidBodyAPI.Apply(body)
    UsdPhysics.MassAPI.Apply(body).CreateMassAttr(1)
    stage.GetRootLayer().subLayerPaths.append("./part.usda")
    stage.Save()
    _, found = converted(tmp_path / "r.usda", tmp_path / "usd", "usd")
    assert any("Git LFS pointer" in finding["message"] for finding in found["usd-read-not-composed"])


def finding_of(tmp_path, text, code):
    source = tmp_path / "r.urdf"
    source.write_text(text)
    _, found = converted(source, tmp_path / "out", "urdf")
    (finding,) = found[code]
    return finding["message"]


def test_a_material_without_a_name_costs_the_rest_of_the_link(tmp_path):
    bad = '<visual><geometry><box size="1 1 1"/></geometry><material><color rgba="1 0 0 1"/></material></visual>'
    collision = BOX.replace("visual", "collision")
    robot = '<robot name="r"><link name="a">{}</link></robot>'
    told = lambda shapes: finding_of(tmp_path, robot.format(shapes), "urdf-unnamed-element")
    assert told(bad).endswith("drops the visual")
    assert "1 visual and 1 collision of the link" in told(BOX + bad + BOX + collision)
    assert "2 collisions of the link" in told(collision + bad + collision)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "planar", "continuous", "fixed", "floating"])
def test_swapped_limits(tmp_path, kind):
    text = f"""<robot name="r"><link name="a">{MASS.format(0, 1)}</link><link name="b">{MASS.format(0, 1)}</link>
<joint name="j" type="{kind}"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>{LIMIT.replace("-1", "2")}</joint></robot>"""
    message = finding_of(tmp_path, text, "urdf-limits-swapped")
    if kind in ("continuous", "fixed", "floating"):
        assert "exchanged" not in message and f"a {kind} joint has no limits" in message
    else:
        assert "exchanged" in message and "Bullet" in message


def test_every_tip_without_a_joint_is_named(tmp_path):
    source = tmp_path / "r.urdf"
    source.write_text(f"""<robot name="r"><link name="base"/><link name="a">{MASS.format(0, 1)}</link><link name="fixed_tool"/>
<joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>{LIMIT}</joint>
<joint name="f" type="fixed"><parent link="base"/><child link="fixed_tool"/><origin xyz="1 0 0"/></joint></robot>""")
    done = run("ik", source, "--tip", "a", "--target", "0,0,0", "--tip", "fixed_tool", "--target", "0.5,0,0")
    assert done.returncode == 1 and 'no joint moves "fixed_tool"' in " ".join(done.stderr.split())
