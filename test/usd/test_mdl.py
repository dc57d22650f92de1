"""MDL materials are read as far as their parameters have a counterpart in UsdPreviewSurface; the others are named."""

import json
import struct

import pytest
from conftest import run
from PIL import Image

HEADER = """#usda 1.0
(
    defaultPrim = "r"
    metersPerUnit = 1
    upAxis = "Z"
)
"""


def converted(tmp_path, shader, outputs="token outputs:mdl:surface.connect = </r/Looks/M/S.outputs:out>", api=""):
    """Converts a robot with a mesh of the material with this shader; returns glTF's document, and the findings about materials."""
    Image.new("RGB", (4, 4), (200, 40, 40)).save(tmp_path / "t.png")
    Image.new("RGB", (4, 4), (0, 128, 255)).save(tmp_path / "orm.png")
    Image.new("RGB", (4, 4), (128, 128, 255)).save(tmp_path / "n.png")
    (tmp_path / "r.usda").write_text(
        f"""{HEADER}
def Xform "r"
{{
    def Xform "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]
    )
    {{
        float physics:mass = 1

        def Mesh "v" (
            prepend apiSchemas = ["MaterialBindingAPI"]
        )
        {{
            int[] faceVertexCounts = [4]
            int[] faceVertexIndices = [0, 1, 2, 3]
            point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
            uniform token subdivisionScheme = "none"
            texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (
                interpolation = "vertex"
            )
            rel material:binding = </r/Looks/M>
        }}
    }}

    def Scope "Looks"
    {{
        def Material "M"{api}
        {{
            {outputs}
            {shader}
        }}
    }}
}}
"""
    )
    done = run("convert", tmp_path / "r.usda", "-o", tmp_path / "out", "--json", "--formats", "glb")
    assert done.returncode in (0, 1), done.stderr
    (glb,) = (tmp_path / "out").glob("*/*.glb")
    data = glb.read_bytes()
    document = json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])
    found = [one["message"] for one in json.loads(done.stdout)["diagnostics"] if one["code"] == "usd-read-material-left-out"]
    return document, found


def mdl(inputs, module="OmniPBR"):
    lines = "\n                ".join(inputs)
    return f"""
            def Shader "S"
            {{
                uniform token info:implementationSource = "sourceAsset"
                uniform asset info:mdl:sourceAsset = @{module}.mdl@
                uniform token info:mdl:sourceAsset:subIdentifier = "{module}"
                {lines}
                token outputs:out
            }}
"""


def linear(rgb):
    return [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in rgb]


def test_constants_of_omni_pbr(tmp_path):
    document, found = converted(
        tmp_path,
        mdl(
            [
                "color3f inputs:diffuse_color_constant = (0.9, 0.7, 0.1)",
                "color3f inputs:diffuse_tint = (0.5, 1, 1)",
                "float inputs:reflection_roughness_constant = 0.4",
                "float inputs:metallic_constant = 1",
                "bool inputs:enable_opacity = 1",
                "float inputs:opacity_constant = 0.25",
                "float inputs:albedo_brightness = 1",
                "bool inputs:enable_emission = 0",
                "color3f inputs:emissive_color = (1, 0, 0)",
                "asset inputs:normalmap_texture = @@",
            ]
        ),
    )
    assert found == []
    (material,) = document["materials"]
    pbr = material["pbrMetallicRoughness"]
    assert pbr["baseColorFactor"] == pytest.approx([0.45, 0.7, 0.1, 0.25], abs=1e-5)
    assert (pbr.get("metallicFactor", 1), pbr["roughnessFactor"]) == pytest.approx((1, 0.4))
    assert material["alphaMode"] == "BLEND" and not any(material.get("emissiveFactor", [0]))


def test_images_of_omni_pbr(tmp_path):
    document, found = converted(
        tmp_path,
        mdl(
            [
                'asset inputs:diffuse_texture = @t.png@ (\n                    colorSpace = "sRGB"\n                )',
                "bool inputs:enable_ORM_texture = true",
                "asset inputs:ORM_texture = @orm.png@",
                "float inputs:reflection_roughness_texture_influence = 1",
                "float inputs:metallic_texture_influence = 1",
                "asset inputs:normalmap_texture = @n.png@",
                "float2 inputs:texture_scale = (2, 3)",
            ]
        ),
    )
    assert found == []
    (material,) = document["materials"]
    assert {"baseColorTexture", "metallicRoughnessTexture"} <= set(material["pbrMetallicRoughness"]) and "normalTexture" in material
    assert material["pbrMetallicRoughness"]["baseColorTexture"]["extensions"]["KHR_texture_transform"]["scale"] == [2, 3]


def test_an_opacity_that_is_switched_off_and_the_defaults_of_omni_pbr(tmp_path):
    document, found = converted(tmp_path, mdl(["float inputs:opacity_constant = 0.25"]))
    assert found == []
    pbr = document["materials"][0]["pbrMetallicRoughness"]
    assert pbr["baseColorFactor"] == pytest.approx([0.2, 0.2, 0.2, 1])


def test_plain_parameters_of_other_modules(tmp_path):
    inputs = ["color3f inputs:base_color = (0.1, 0.2, 0.3)", "float inputs:roughness = 0.8", "float inputs:metallic = 0.5", "float inputs:sheen = 1"]
    document, found = converted(tmp_path, mdl(inputs, "Painted"))
    assert [message.split(": ", 1)[1] for message in found] == ["these parameters of Painted are left out: sheen"]
    pbr = document["materials"][0]["pbrMetallicRoughness"]
    assert pbr["baseColorFactor"] == pytest.approx([0.1, 0.2, 0.3, 1]) and pbr["roughnessFactor"] == pytest.approx(0.8)


def test_parameters_without_a_counterpart_are_named(tmp_path):
    inputs = ["asset inputs:diffuse_texture = @t.png@", "color3f inputs:diffuse_tint = (0.5, 1, 1)", "float inputs:albedo_add = 0.5", "float inputs:metallic_texture_influence = 0.3"]
    _, found = converted(tmp_path, mdl(inputs))
    (message,) = found
    assert message.endswith("albedo_add, diffuse_tint, metallic_texture_influence")


def test_a_preview_surface_comes_before_mdl(tmp_path):
    shaders = mdl(["color3f inputs:diffuse_color_constant = (1, 0, 0)"]) + """
            def Shader "P"
            {
                uniform token info:id = "UsdPreviewSurface"
                color3f inputs:diffuseColor = (0, 0, 1)
                token outputs:surface
            }
"""
    outputs = "token outputs:mdl:surface.connect = </r/Looks/M/S.outputs:out>\n            token outputs:surface.connect = </r/Looks/M/P.outputs:surface>"
    document, found = converted(tmp_path, shaders, outputs)
    assert found == [] and document["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    "outputs, shader, message",
    [
        ("", "", 'material "M" has no surface shader; its look is left out'),
        (
            "token outputs:mtlx:surface.connect = </r/Looks/M/S.outputs:out>",
            'def Shader "S"\n            {\n                uniform token info:id = "ND_standard_surface_surfaceshader"\n                token outputs:out\n            }',
            'material "M" has the surface shader ND_standard_surface_surfaceshader, which is not read; its look is left out',
        ),
        (
            "token outputs:mdl:surface.connect = </r/Looks/M/S.outputs:out>",
            mdl(["float inputs:ior = 1.4"], "Liquid"),
            'material "M" is an MDL material (Liquid) without a parameter that is read; its look is left out',
        ),
    ],
)
def test_what_is_not_read_is_named(tmp_path, outputs, shader, message):
    _, found = converted(tmp_path, shader, outputs)
    assert found == [message]
