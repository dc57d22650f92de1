"""The replacement of Isaac Sim's URDF importer, called as Isaac Lab's `UrdfConverter` does, and loaded by OpenUSD and Newton."""

import dataclasses
import math
import os
import shutil
import subprocess
import sys

import pytest

from conftest import SAMPLES, in_nv, scratch

ARM = SAMPLES / "sample_arm"
#: All fields that Isaac Lab 3.0 passes, with the values of its defaults.
LAB = {
    "merge_fixed_joints": True, "merge_mesh": False, "collision_from_visuals": False, "collision_type": "Convex Hull", "allow_self_collision": False,
    "ros_package_paths": [{"name": "sample_arm", "path": str(ARM)}], "robot_type": "Default", "fix_base": True, "link_density": None,
    "joint_drive_type": "force", "joint_target_type": "position", "override_joint_stiffness": None, "override_joint_damping": None,
    "run_asset_transformer": True, "run_multi_physics_conversion": True, "debug_mode": False,
}  # fmt: skip
URDF = ARM / "urdf" / "sample_arm.urdf"


def imported(folder, urdf=URDF, **changes):
    """Returns the path that an import gives."""
    from urdf_usd.compat.isaacsim import URDFImporter, URDFImporterConfig

    return URDFImporter(URDFImporterConfig(urdf_path=str(urdf), usd_path=str(folder), **(LAB | changes))).import_urdf()


def stages(path):
    """Yields a stage of each variant of physics."""
    from pxr import Usd

    stage = Usd.Stage.Open(path)
    variants = stage.GetDefaultPrim().GetVariantSet("Physics")
    for name in variants.GetVariantNames():
        variants.SetVariantSelection(name)
        assert not stage.GetCompositionErrors()
        yield name, stage


def bodies(stage):
    from pxr import UsdPhysics

    return {prim.GetName() for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.RigidBodyAPI)}


@pytest.fixture(scope="module")
def arm(urdf_usd):
    """The imported arm with gains by patterns."""
    folder = scratch()
    gains = {"joint_target_type": {".*": "position", "roll": "none", "left_finger": "velocity"}, "override_joint_stiffness": {"shoulder": 400.0, "elbow": 90.0}}
    return imported(folder, override_joint_damping=5.0, **gains), folder


def test_variants_are_those_of_the_importer(arm):
    from pxr import UsdPhysics

    path, folder = arm
    assert path == str(folder / "sample_arm" / "sample_arm.usda")
    found = {}
    for name, stage in stages(path):
        root = stage.GetDefaultPrim()
        assert "IsaacRobotAPI" in root.GetMetadata("apiSchemas").GetAppliedItems()
        assert stage.GetPrimAtPath("/sample_arm/base_link/visual") and root.GetRelationship("isaac:physics:robotLinks").GetTargets()
        found[name] = sum(prim.IsA(UsdPhysics.Joint) for prim in stage.Traverse()), len(bodies(stage))
    joints = found.pop("none")
    assert joints == (0, 0) and set(found) == {"physics", "physx", "mujoco"}
    assert len(set(found.values())) == 1 and found["physics"][0] >= 7


def test_gains_are_those_of_the_patterns(arm):
    for name, stage in stages(arm[0]):
        if name not in ("physics", "physx"):
            continue
        gains = {}
        for prim in stage.Traverse():
            kind = "angular" if prim.GetTypeName() == "PhysicsRevoluteJoint" else "linear"
            if prim.GetTypeName() in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint"):
                unit = math.degrees(1) if kind == "angular" else 1
                gains[prim.GetName()] = tuple(
                    None if (value := prim.GetAttribute(f"drive:{kind}:physics:{what}").Get()) is None else value * unit for what in ("stiffness", "damping")
                )
        assert gains["shoulder_pan_joint"] == pytest.approx((400, 5)) and gains["elbow_joint"] == pytest.approx((90, 5))
        assert gains["wrist_pitch_joint"][0] > 0 and gains["wrist_pitch_joint"][1] == pytest.approx(5)
        assert not any(gains["forearm_roll_joint"])


@pytest.mark.parametrize("variant", ["physics", "mujoco"])
def test_newton_loads_it(arm, variant):
    from pxr import Usd

    stage = Usd.Stage.Open(arm[0])
    stage.GetDefaultPrim().GetVariantSet("Physics").SetVariantSelection(variant)
    chosen = arm[1] / "sample_arm" / f"{variant}.usda"
    stage.GetRootLayer().Export(str(chosen))
    loaded = in_nv("newton_joints", chosen)
    assert {"shoulder_pan_joint", "elbow_joint", "wrist_pitch_joint"} <= set(loaded["joints"])
    assert loaded["joints"]["right_finger_joint"]["leader"] == "left_finger_joint" or variant == "mujoco"


def test_other_fields_have_effects(urdf_usd):
    from pxr import UsdPhysics

    folder = scratch()
    # Each in its own folder: OpenUSD shares open files.
    chosen = lambda wanted, **changes: next(stage for name, stage in stages(imported(scratch(), **changes)) if name == wanted)  # noqa: E731
    physics = lambda **changes: chosen("physics", **changes)  # noqa: E731
    fixed = physics()
    assert any(not UsdPhysics.Joint(prim).GetBody0Rel().GetTargets() for prim in fixed.Traverse() if prim.IsA(UsdPhysics.FixedJoint))
    free = physics(fix_base=False, merge_fixed_joints=False, allow_self_collision=True)
    assert not any(not UsdPhysics.Joint(prim).GetBody0Rel().GetTargets() for prim in free.Traverse() if prim.IsA(UsdPhysics.Joint))
    assert bodies(free) >= bodies(fixed)
    for allowed in (True, False):
        stage = chosen("physx", allow_self_collision=allowed)
        assert stage.GetDefaultPrim().GetAttribute("physxArticulation:enabledSelfCollisions").Get() is allowed
    meshes = physics(collision_from_visuals=True)
    colliders = lambda stage: {prim.GetTypeName() for prim in stage.Traverse() if prim.HasAPI(UsdPhysics.CollisionAPI)}  # noqa: E731
    assert "Cylinder" in colliders(fixed) and "Mesh" in colliders(meshes)
    parts = physics(collision_from_visuals=True, collision_type="Convex Decomposition")
    count = lambda stage: sum(prim.HasAPI(UsdPhysics.CollisionAPI) for prim in stage.Traverse())  # noqa: E731
    assert count(parts) > count(meshes)
    # The file of before is still open.
    before = next(stages(imported(folder)))
    assert {name for name, _ in stages(imported(folder, run_multi_physics_conversion=False))} == {"physics", "none"}
    del before


@pytest.mark.parametrize(
    "field",
    [
        {"merge_mesh": True}, {"debug_mode": True}, {"run_asset_transformer": False}, {"joint_drive_type": "acceleration"},
        {"joint_drive_type": {".*": "acceleration"}}, {"collision_from_visuals": True, "collision_type": "Bounding Sphere"},
    ],
)  # fmt: skip
def test_fields_without_counterpart_are_refused(urdf_usd, field):
    from urdf_usd.compat.isaacsim import UnsupportedFieldError

    folder = scratch()
    with pytest.raises(UnsupportedFieldError, match=list(field)[-1]):
        imported(folder, **field)
    assert not list(folder.iterdir())


def test_meshes_are_found_as_by_the_importer(urdf_usd):
    """In folders above the file, without package.xml, and by relative paths."""
    from pxr import UsdGeom
    from urdf_usd.compat.isaacsim import URDFImporter, URDFImporterConfig

    folder = scratch()
    (folder / "x" / "urdf").mkdir(parents=True)
    shutil.copytree(ARM.parents[1] / "test" / "robots" / "meshes", folder / "x" / "meshes")
    for uri in ("package://x/meshes/tile.obj", "../meshes/tile.obj"):
        (urdf := folder / "x" / "urdf" / "small.urdf").write_text(
            f'<robot name="small"><link name="a"><visual><geometry><mesh filename="{uri}"/></geometry></visual></link></robot>'
        )
        for roots, found in ((None, True), ((), False)):
            path = URDFImporter(URDFImporterConfig(urdf_path=str(urdf), usd_path=str(scratch())), allowed_roots=roots).import_urdf()
            assert any(prim.IsA(UsdGeom.Mesh) for _, stage in stages(path) for prim in stage.Traverse()) == found, (uri, roots)


def test_gains_without_effect_are_logged(urdf_usd, caplog):
    gains = {"override_joint_stiffness": {"elbow": 3.0}, "override_joint_damping": {"forearm_roll": 4.0}}
    imported(scratch(), joint_target_type={"forearm_roll": "none", "elbow": "velocity"}, **gains)
    logged = [record.getMessage() for record in caplog.records if "ignored" in record.getMessage()]
    assert len(logged) == 2 and "'elbow_joint': the stiffness of 3.0" in logged[0] and "'forearm_roll_joint': the damping of 4.0" in logged[1]


def test_wrong_values_are_refused(urdf_usd):
    from urdf_usd.compat.isaacsim import URDFImporter, URDFImporterConfig

    folder = scratch()
    with pytest.raises(ValueError, match="not set"):
        URDFImporter().import_urdf()
    with pytest.raises(ValueError, match="extension"):
        imported(folder, "robot.xml")
    with pytest.raises(ValueError, match="'none' matched no joints"):
        imported(folder, override_joint_damping={"none": 1.0})
    with pytest.raises(urdf_usd.OptionError, match="robot_type"):
        imported(folder, robot_type="Toaster")
    broken = folder / "broken.urdf"
    broken.write_text("<robot")
    with pytest.raises(urdf_usd.Error, match="urdf-malformed-xml"):
        imported(folder, broken, override_joint_damping={"shoulder": 1.0})
    fields = {each.name for each in dataclasses.fields(URDFImporterConfig)}
    assert fields == {"urdf_path", "usd_path", *LAB}


def test_programs_need_no_change(site):
    """Neither where nothing of Isaac Sim is installed, nor where other parts of it are."""
    script = (
        "import sys\n"
        "import urdf_usd.compat.isaacsim\n"
        "urdf_usd.compat.isaacsim.install()\n"
        "import isaacsim.asset.importer.urdf as importer\n"
        "from isaacsim.asset.importer.urdf import URDFImporter, URDFImporterConfig\n"
        "assert importer.URDFImporter is URDFImporter\n"
        "config = URDFImporterConfig()\n"
        "config.urdf_path, config.usd_path, config.ros_package_paths = sys.argv[1], sys.argv[3], [{'name': 'sample_arm', 'path': sys.argv[2]}]\n"
        "print(URDFImporter(config).import_urdf())\n"
    )
    # Extensions may add folders to the path later.
    script += "from pathlib import Path\nlate = Path(sys.argv[3]) / 'late'\n(late / 'isaacsim' / 'core').mkdir(parents=True)\nsys.path.append(str(late))\n"
    script += "(late / 'isaacsim' / 'core' / 'late.py').write_text('')\nimport isaacsim.core.late\n"
    for other in (False, True):
        folder = scratch()
        if other:
            (folder / "isaacsim" / "asset").mkdir(parents=True)
            (folder / "isaacsim" / "asset" / "__init__.py").write_text("marked = True\n")
            script += "import isaacsim.asset\nassert isaacsim.asset.marked\n"
        command = [sys.executable, "-c", script, URDF, ARM, folder / "out"]
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": f"{site}:{folder}"}, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, f"{folder / 'out' / 'sample_arm' / 'sample_arm.usda'}\n"), done.stderr
