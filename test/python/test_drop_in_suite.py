"""The test suite of urdf-usd-converter, from its source distribution, runs against the drop-in replacement."""

import json
import os
import subprocess

from conftest import ROOT
from test_drop_in import THEIRS

#: The source distribution, unpacked (test/run).
SUITE = THEIRS.parent.parent / "suite"
TESTS = 141
#: The tests that fail by the difference that `docs/guides/drop-in.md` explains. Most tests end at their first difference.
DIFFERENCES = {
    "one Mesh for a mesh file": {
        "testAssetStructure.TestAssetStructure.test_display_name",
        "testExternalReferenceFileCli.TestExternalReferenceFileCli.test_external_reference_file",
        "testMaterial.TestMaterial.test_material_mesh_color",
        "testMaterial.TestMaterial.test_material_mesh_override",
        "testMesh.TestMesh.test_dae_two_meshes",
        "testMesh.TestMesh.test_dae_two_triangle_meshes",
        "testMesh.TestMesh.test_obj_two_meshes",
        "testMeshDae.TestMeshDae.test_dae_box_with_line",
        "testMeshDae.TestMeshDae.test_dae_no_material_id",
        "testPhysics.TestPhysicsMesh.test_physics_mesh_collision",
    },
    "images on shapes without texture coordinates": {
        "testConverter.TestConverter.test_ros_packages",
        "testMaterial.TestMaterial.test_material_texture",
        "testMaterial.TestMaterial.test_material_texture_name_duplication",
        "testROSPackagesCli.TestROSPackagesCli.test_do_not_specify_ros_package_name",
        "testROSPackagesCli.TestROSPackagesCli.test_do_not_specify_ros_package_with_relative_path",
        "testROSPackagesCli.TestROSPackagesCli.test_specify_ros_package_names",
    },
    "creator": {
        "testAssetStructure.TestAssetStructure.test_contents_layer",
        "testAssetStructure.TestAssetStructure.test_geometry_layer",
        "testAssetStructure.TestAssetStructure.test_interface_layer",
        "testAssetStructure.TestAssetStructure.test_materials_layer",
    },
    "specular and opacity images": {
        "testAssetStructure.TestAssetStructure.test_no_layer_structure_material_texture",
        "testMaterial.TestMaterial.test_dae_materials",
        "testMaterial.TestMaterial.test_material_mesh_texture",
    },
    "names and attributes of materials": {
        "testMaterial.TestMaterial.test_material_color",
        "testMaterial.TestMaterial.test_mesh_subsets_materials",
        "testMesh.TestMesh.test_dae_two_materials",
        "testUndefined.TestUndefined.test_check_material",
    },
    "triangles, computed normals": {
        "testMesh.TestMesh.test_obj_single_mesh",
        "testMeshDae.TestMeshDae.test_dae_no_normal",
    },
    "order of principal axes": {
        "testPhysicsInertia.TestPhysicsInertia.test_large_isotropic_urdf_principal_axes_are_canonical",
        "testPhysicsInertia.TestPhysicsInertia.test_large_pair_degenerate_urdf_principal_axes",
        "testPhysicsInertia.TestPhysicsInertia.test_physics_inertia",
    },
    "inertia of a flat body, which is the limit of what can exist, larger by 6e-6": {
        "testDummyInertia.TestDummyInertiaMerge.test_joint_origin_is_composed_into_the_parent_inertial",
        "testDummyInertia.TestDummyInertiaMerge.test_missing_joint_origin_copies_the_child_inertial_unchanged",
    },
    "joints: without limits, without effort, planar, fixed with damping": {
        "testJoints.TestJoints.test_fixed_planar_joints",
        "testJoints.TestJoints.test_fixed_prismatic_joints",
        "testJoints.TestJoints.test_revolute_joints",
        "testPhysics.TestPhysics.test_physics_joint_dynamics",
    },
    "an empty link with a mimic joint": {"testGhostLink.TestGhostLink.test_link_skip_ghost_link_with_mimic"},
    "a check of the validator that the converter fails, too": {"testAssetStructure.TestAssetStructure.test_physics_layer"},
}
#: Parts of the failures of each difference: each test ends with one of them.
TEXTS = {
    "one Mesh for a mesh file": ["_prim.IsA(UsdGeom.Xform)", "base_link_box_prim.IsValid()"],
    "images on shapes without texture coordinates": ["texture_file_value.path", "(diffuse_color, None)", "output_texture_path.exists()"],
    "creator": ["'urdf_usd "],
    "specular and opacity images": ["specular.png not found", "texture_file_value.path", "unsupported operand type(s) for -: 'NoneType' and 'float'"],
    "names and attributes of materials": ["unnamed_material_prim", "material_red_1_prim", "material_001_prim", '"urdf:custom_attr"'],
    "triangles, computed normals": ["12 != 6", "normals_primvar.IsDefined()"],
    "order of principal axes": ["Real part mismatch", "GetDiagonalInertiaAttr().Get(), Gf.Vec3f(1, 1, 2)"],
    "inertia of a flat body, which is the limit of what can exist, larger by 6e-6": ["0000059604644775 != "],
    "joints: without limits, without effort, planar, fixed with damping": [
        "1.0 != inf", "-inf != 0.0", '"urdf:limit:effort"', '"NewtonJointAPI"',
    ],
    "an empty link with a mimic joint": ["link_a_prim.HasAPI(UsdPhysics.RigidBodyAPI)"],
    "a check of the validator that the converter fails, too": ["PhysicsJointChecker"],
}  # fmt: skip
#: The tests that end with an exception: they read an image, or the parameter of one, without a check that it exists.
ERRORS = {
    "testConverter.TestConverter.test_ros_packages",
    "testMaterial.TestMaterial.test_dae_materials",
    "testMaterial.TestMaterial.test_material_mesh_texture",
    "testROSPackagesCli.TestROSPackagesCli.test_do_not_specify_ros_package_name",
    "testROSPackagesCli.TestROSPackagesCli.test_do_not_specify_ros_package_with_relative_path",
    "testROSPackagesCli.TestROSPackagesCli.test_specify_ros_package_names",
}


def test_the_suite_of_the_converter_differs_as_documented(site):
    assert (SUITE / "tests").is_dir(), "test/run fetches it"
    command = [THEIRS, ROOT / "test" / "python" / "drop_in_suite.py"]
    done = subprocess.run(command, cwd=SUITE, env=os.environ | {"PYTHONPATH": str(site)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["tests"], result["skipped"]) == (TESTS, 0)
    documented = set().union(*DIFFERENCES.values())
    assert set(result["errors"]) == ERRORS, result["errors"]
    failed = result["failed"] | result["errors"]
    assert {test: failed.get(test, "passes") for test in documented ^ set(failed)} == {}
    for difference, tests in DIFFERENCES.items():
        for test in tests:
            assert any(text in failed[test] for text in TEXTS[difference]), (difference, test, failed[test])
    docs = (ROOT / "docs" / "guides" / "drop-in.md").read_text()
    assert f"{TESTS - len(documented)} of {TESTS} tests" in docs
    rows = [f"| {len(tests)} | {difference} |" for difference, tests in DIFFERENCES.items()]
    assert [row for row in rows if row not in docs] == []
