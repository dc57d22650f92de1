"""Textures of every format: copied byte for byte, or converted to PNG with the same pixels, each once, in USD and in the GLB (read by Pillow)."""

import io
import json
import types

import numpy as np
import pytest
from PIL import Image
from pxr import Usd, UsdShade, UsdValidation

from conftest import run
from glb_file import Glb
from test_glb import validate
from test_openpbr import assert_nodes_are_materialx

#: Eight by eight pixels, smooth enough for JPEG.
PIXELS = np.stack([*np.meshgrid(np.linspace(10, 240, 8), np.linspace(20, 200, 8)), np.full((8, 8), 90)], -1).round().astype(np.uint8)
PICTURE = Image.fromarray(PIXELS)


def encoded(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def exif(orientation):
    found = Image.Exif()
    found[0x0112] = orientation
    return found


#: File → (content, whether it is copied byte for byte).
FILES = {
    "plain.png": (encoded(PICTURE, "PNG"), True),
    "plain.jpg": (encoded(PICTURE, "JPEG", quality=95), True),
    "progressive.jpg": (encoded(PICTURE, "JPEG", quality=95, progressive=True), True),
    "grey.jpg": (encoded(PICTURE.convert("L"), "JPEG", quality=95), True),
    "turned.jpg": (encoded(PICTURE, "JPEG", quality=95, exif=exif(6)), True),
    "palette.png": (encoded(PICTURE.convert("P"), "PNG"), True),
    "deep.png": (encoded(Image.fromarray(PIXELS[..., 0].astype(np.uint16) * 257), "PNG"), False),
    "really_a_png.jpg": (encoded(PICTURE.rotate(90), "PNG"), True),
    "really_a_jpeg.png": (encoded(PICTURE.rotate(90), "JPEG", quality=95), True),
    "inks.jpg": (encoded(PICTURE.convert("CMYK"), "JPEG", quality=95), False),
    "a.tif": (encoded(PICTURE.rotate(180), "TIFF"), False),
    "a.bmp": (encoded(PICTURE.rotate(180), "BMP"), False),
    "a.tga": (encoded(PICTURE.rotate(180), "TGA"), False),
    "b.gif": (encoded(PICTURE.convert("P"), "GIF"), False),
    "c.webp": (encoded(PICTURE.rotate(270), "WEBP", lossless=True), False),
}
REFUSED = {
    "a.ktx2": (b"\xabKTX 20\xbb\r\n\x1a\n" + bytes(64), "KTX2"),
    "a.dds": (b"DDS " + bytes(124), "DDS"),
    "a.exr": (b"\x76\x2f\x31\x01" + bytes(64), "OpenEXR"),
    "a.hdr": (b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\0\0\0\0", "Radiance HDR"),
    "a.svg": (b"<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>", "SVG"),
}


def robot(folder, names):
    visuals = "".join(
        f'<visual name="{n}"><geometry><mesh filename="tile.obj"/></geometry><material name="m_{n}"><texture filename="{n}"/></material></visual>'
        for n in names
    )
    (folder / "pictures.urdf").write_text(f'<robot name="pictures"><link name="a">{visuals}</link></robot>')
    (folder / "tile.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nf 1/1 2/2 3/3\n")
    done = run("convert", folder / "pictures.urdf", "-o", folder / "out", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), folder / "out" / "pictures"


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    for name, (content, _) in FILES.items():
        (folder / name).write_bytes(content)
    # The same image under another name, and in another folder.
    (folder / "copies").mkdir()
    for copy in ("other.png", "copies/plain.png"):
        (folder / copy).write_bytes(FILES["plain.png"][0])
    return robot(folder, [*FILES, "other.png", "copies/plain.png"])


def read(content):
    image = Image.open(io.BytesIO(content))
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image) // 257).astype(np.uint8))
    return np.asarray(image.convert("RGB"), float)


def test_images_are_copied_or_converted_to_png(pictures):
    report, directory = pictures
    (deep,) = (d for d in report["diagnostics"] if "texture" in d["code"])
    assert (deep["code"], deep["severity"]) == ("texture-deep", "info") and "deep.png" in deep["message"]
    written = {p.name: p.read_bytes() for p in (directory / "textures").iterdir()}
    for name, (content, kept) in FILES.items():
        if kept:
            (found,) = (n for n, c in written.items() if c == content)
            assert found.endswith(".png" if content.startswith(b"\x89PNG") else ".jpg"), f"{name}: the extension must match the content"
            continue
        pngs = [c for c in written.values() if c.startswith(b"\x89PNG") and read(c).shape == read(content).shape]
        # JPEG decoders differ in rounding, and in the conversion of CMYK.
        tolerance = 3 if name == "inks.jpg" else 0
        assert min(np.abs(read(c) - read(content)).max() for c in pngs) <= tolerance, name
    assert Image.open(directory / "textures" / "deep.png").mode == "L"
    # The three files of the rotated image become one PNG, and copies share it.
    assert len(written) == len(FILES) - 2


def test_the_glb_has_each_image_once(pictures):
    glb = Glb(pictures[1] / "pictures.glb")
    views = [image["bufferView"] for image in glb.json["images"]]
    assert len(views) == len(set(views)) == len(FILES) - 2
    contents = []
    for view in (glb.json["bufferViews"][v] for v in views):
        start = view.get("byteOffset", 0)
        contents.append(glb.buffer[start : start + view["byteLength"]])
    assert sorted(contents) == sorted(p.read_bytes() for p in (pictures[1] / "textures").iterdir())


def test_the_validator_has_no_findings(pictures):
    path = str(pictures[1] / "pictures.glb")
    assert validate([path]) == {path: []}


#: Values of the images of surfaces, from 0 to 255.
ROUGH, METAL, HOLE, OCCLUSION = (PIXELS[..., 0], PIXELS[..., 1], 255 - PIXELS[..., 0], PIXELS[::-1, :, 1])
_VECTORS = np.dstack([*(np.indices((8, 8)) - 3.5) / 8, np.ones((8, 8))])
NORMALS = ((_VECTORS / np.linalg.norm(_VECTORS, axis=2, keepdims=True) + 1) * 127.5).round().astype(np.uint8)
COLOR, GLOW = PIXELS, PIXELS[:, ::-1]
CORNERS = "v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\n"
MTL = """newmtl all
Kd 1 1 1
Ni 1.75
Ke 0.5 1 3
Pr 0.1
map_Kd color.png
map_Pr rough.png
map_Pm metal.png
map_Ke glow.png
map_d hole.png
norm normals.png
map_Ks rough.png
"""
#: The same surface in glTF, with occlusion, factors and strengths.
SURFACE = {
    "name": "all",
    "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicRoughnessTexture": {"index": 1}, "metallicFactor": 0.5, "roughnessFactor": 0.75},
    "occlusionTexture": {"index": 1, "strength": 0.25}, "normalTexture": {"index": 2, "scale": 0.5}, "emissiveTexture": {"index": 3},
    "emissiveFactor": [0.5, 1, 0], "extensions": {"KHR_materials_ior": {"ior": 1.25}, "KHR_materials_emissive_strength": {"emissiveStrength": 4}},
}  # fmt: skip


def as_gltf(folder):
    """Writes a glTF file with a triangle and the surface."""
    ends = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], "<f4").tobytes() + np.array([[0, 1], [1, 1], [1, 0]], "<f4").tobytes()
    (folder / "tile.bin").write_bytes(ends)
    accessors = [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
                 {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"}]  # fmt: skip
    images = ["color.png", "orm.png", "normals.png", "glow.png"]
    document = {
        "asset": {"version": "2.0"}, "extensionsUsed": list(SURFACE["extensions"]), "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "material": 0}]}], "materials": [SURFACE],
        "textures": [{"source": k} for k in range(4)], "images": [{"uri": name} for name in images], "accessors": accessors,
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 24}],
        "buffers": [{"uri": "tile.bin", "byteLength": 60}],
    }  # fmt: skip
    (folder / "tile.gltf").write_text(json.dumps(document))


@pytest.fixture(scope="module", params=["obj", "gltf"])
def surface(request, tmp_path_factory):
    """Returns the report, the asset, and the expected surface by USD input: linear numbers, sRGB colours, from 0 to 1."""
    folder = tmp_path_factory.mktemp("surface")
    orm = np.dstack([OCCLUSION, ROUGH, METAL])
    images = {"color": COLOR, "rough": ROUGH, "metal": METAL, "glow": GLOW, "hole": HOLE, "normals": NORMALS, "orm": orm}
    for name, pixels in images.items():
        Image.fromarray(np.ascontiguousarray(pixels)).save(folder / f"{name}.png")
    if request.param == "obj":
        (folder / "tile.obj").write_text("mtllib tile.mtl\n" + CORNERS + "usemtl all\nf 1/1 2/2 3/3\n")
        (folder / "tile.mtl").write_text(MTL)
    else:
        as_gltf(folder)
    (folder / "r.urdf").write_text(f'<robot name="r"><link name="a"><visual><geometry><mesh filename="tile.{request.param}"/></geometry></visual></link></robot>')
    done = run("convert", folder / "r.urdf", "-o", folder / "out", "--json", "--overlays", "openpbr")
    assert done.returncode == 0, done.stderr
    one, factor, strength = (1, 1, 1) if request.param == "obj" else (0.75, 0.5, 0.5)
    normals = (NORMALS / 127.5 - 1) * [strength, strength, 1]
    expected = {"roughness": ROUGH / 255 * one, "metallic": METAL / 255 * factor, "normal": normals, "diffuseColor": COLOR / 255}
    if request.param == "obj":
        # The colour is sRGB up to 1; the strength has the rest.
        expected |= {"opacity": HOLE / 255, "glow": [3 * linear(c / 3) for c in (0.5, 1, 3)], "ior": 1.75}
    else:
        expected |= {"occlusion": 0.75 + 0.25 * OCCLUSION / 255, "glow": [2, 4, 0], "ior": 1.25}
    return request.param, json.loads(done.stdout), folder / "out" / "r", expected


def linear(c):
    return c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4


def sampled(shader, name):
    """Returns the values of a UsdPreviewSurface input at each pixel of its image, and the colour space."""
    (source,) = shader.GetInput(name).GetConnectedSources()[0]
    node = UsdShade.Shader(source.source.GetPrim())
    assert node.GetIdAttr().Get() == "UsdUVTexture"
    image = Image.open(node.GetInput("file").Get().resolvedPath)
    assert image.mode in ("L", "RGB", "RGBA")
    pixels = np.asarray(image.convert("RGBA"), float) / 255
    given = {key: np.array(node.GetInput(key).Get()) if node.GetInput(key) else otherwise for key, otherwise in (("scale", 1), ("bias", 0))}
    pixels = pixels * given["scale"] + given["bias"]
    assert node.GetInput("wrapS").Get() == node.GetInput("wrapT").Get() == "repeat"
    (reader,) = node.GetInput("st").GetConnectedSources()[0]
    assert UsdShade.Shader(reader.source.GetPrim()).GetInput("varname").Get() == "st"
    return pixels[..., :3] if source.sourceName == "rgb" else pixels[..., "rgba".index(source.sourceName)], node.GetInput("sourceColorSpace").Get()


def test_surfaces_in_usd(surface):
    _, report, directory, expected = surface
    stage = Usd.Stage.Open(str(directory / "r.usda"))
    found = [UsdShade.Shader(p) for p in stage.Traverse() if p.GetName() == "PreviewSurface" and p.GetParent().GetName() == "all"]
    assert found
    for shader in found:
        for name in set(expected) - {"glow", "ior"}:
            pixels, space = sampled(shader, name)
            np.testing.assert_allclose(pixels, expected[name], atol=1e-5, err_msg=name)
            assert space == ("sRGB" if name == "diffuseColor" else "raw"), name
        node = UsdShade.Shader(shader.GetInput("emissiveColor").GetConnectedSources()[0][0].source.GetPrim())
        assert node.GetInput("sourceColorSpace").Get() == "sRGB"
        np.testing.assert_allclose(list(node.GetInput("scale").Get())[:3], expected["glow"], rtol=1e-5)
        assert shader.GetInput("ior").Get() == pytest.approx(expected["ior"])
        # The opacity image of an OBJ is a cutout if it is a mask.
        opacity = np.round(np.asarray(expected.get("opacity", 1)) * 255)
        is_mask = (opacity < 16).sum() > ((opacity >= 16) & (opacity < 240)).sum()
        cut_out = {"opacityThreshold"} if surface[0] == "obj" and is_mask else set()
        assert {i.GetBaseName() for i in shader.GetInputs()} == (set(expected) - {"glow"}) | {"emissiveColor"} | cut_out
        assert not cut_out or shader.GetInput("opacityThreshold").Get() == 0.5
    told = [d["message"] for d in report["diagnostics"] if d["code"] == "mesh-material-simplified"]
    assert [("map_ks" in message) for message in told] == [True] * (surface[0] == "obj")


def test_surfaces_are_valid_usd(surface):
    kind, _, directory, _ = surface
    stage = Usd.Stage.Open(str(directory / "r.usda"))
    validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
    found = {(e.GetName(), e.GetValidator().GetMetadata().name) for e in UsdValidation.ValidationContext(validators).Validate(stage)}
    # The rule does not support normals with a strength other than one.
    assert found == (set() if kind == "obj" else {("NonCompliantScaleValues", "usdShadeValidators:NormalMapTextureValidator")})


def test_surfaces_in_the_overlay(surface):
    assert_nodes_are_materialx(types.SimpleNamespace(directory=surface[2], asset_name="r"))


def test_surfaces_in_the_glb(surface):
    kind, _, directory, expected = surface
    glb = Glb(directory / "r.glb")
    (material,) = (m for m in glb.json["materials"] if m["name"] == "all")

    def pixels(reference):
        view = glb.json["bufferViews"][glb.json["images"][glb.json["textures"][reference["index"]]["source"]]["bufferView"]]
        start = view.get("byteOffset", 0)
        return np.asarray(Image.open(io.BytesIO(glb.buffer[start : start + view["byteLength"]])).convert("RGBA"), float) / 255

    surface_of = material["pbrMetallicRoughness"]
    both = pixels(surface_of["metallicRoughnessTexture"])
    np.testing.assert_allclose(both[..., 1] * surface_of["roughnessFactor"], expected["roughness"], atol=1e-5)
    np.testing.assert_allclose(both[..., 2] * surface_of["metallicFactor"], expected["metallic"], atol=1e-5)
    color = pixels(surface_of["baseColorTexture"])
    np.testing.assert_allclose(color[..., :3], expected["diffuseColor"], atol=1e-5)
    np.testing.assert_allclose(color[..., 3], expected.get("opacity", 1), atol=1e-5)
    normals = (pixels(material["normalTexture"])[..., :3] * 2 - 1) * [*[material["normalTexture"].get("scale", 1)] * 2, 1]
    np.testing.assert_allclose(normals, expected["normal"], atol=1e-5)
    np.testing.assert_allclose(pixels(material["emissiveTexture"])[..., :3], GLOW / 255, atol=1e-5)
    strength = material["extensions"]["KHR_materials_emissive_strength"]["emissiveStrength"]
    np.testing.assert_allclose(np.array(material["emissiveFactor"]) * strength, expected["glow"], rtol=1e-5)
    assert material["extensions"]["KHR_materials_ior"]["ior"] == pytest.approx(expected["ior"])
    if kind == "gltf":
        occlusion = material["occlusionTexture"]
        assert occlusion["index"] == surface_of["metallicRoughnessTexture"]["index"], "the image must be a single copy"
        np.testing.assert_allclose(1 + occlusion["strength"] * (both[..., 0] - 1), expected["occlusion"], atol=1e-5)
    (primitive,) = (p for mesh in glb.json["meshes"] for p in mesh["primitives"] if glb.json["materials"][p["material"]] == material)
    # The image's right is ROS's x, which is glTF's z, and its up is y, which is x.
    right = [0, 0, 1, 1]
    np.testing.assert_allclose(glb.accessor(primitive["attributes"]["TANGENT"]), [right] * 3, atol=1e-6)
    assert validate([str(directory / "r.glb")]) == {str(directory / "r.glb"): []}


def test_unreadable_images_are_named(tmp_path):
    for name, (content, _) in REFUSED.items():
        (tmp_path / name).write_bytes(content)
    report, directory = robot(tmp_path, REFUSED)
    told = [d for d in report["diagnostics"] if d["code"] == "texture-format"]
    for name, (_, word) in REFUSED.items():
        (one,) = (d for d in told if name in d["message"])
        assert word in one["message"] and "PNG" in one["help"], name
    assert not (directory / "textures").exists()
