"""Images of every kind as textures: kept byte for byte or the same pixels as PNG, each once, in USD and in the GLB (Pillow's reading)."""

import io
import json

import numpy as np
import pytest
from PIL import Image

from conftest import run
from gltf import Glb
from test_glb import validate

#: Eight by eight pixels, smooth so that JPEG keeps them.
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


#: File → (content, whether it is kept byte for byte).
FILES = {
    "plain.png": (encoded(PICTURE, "PNG"), True),
    "plain.jpg": (encoded(PICTURE, "JPEG", quality=95), True),
    "progressive.jpg": (encoded(PICTURE, "JPEG", quality=95, progressive=True), True),
    "grey.jpg": (encoded(PICTURE.convert("L"), "JPEG", quality=95), True),
    "turned.jpg": (encoded(PICTURE, "JPEG", quality=95, exif=exif(6)), True),
    "palette.png": (encoded(PICTURE.convert("P"), "PNG"), True),
    "deep.png": (encoded(Image.fromarray(PIXELS[..., 0].astype(np.uint16) * 257), "PNG"), True),
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
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"), float)


def test_what_is_kept_and_what_becomes_png(pictures):
    report, directory = pictures
    assert not [d for d in report["diagnostics"] if "texture" in d["code"]]
    written = {p.name: p.read_bytes() for p in (directory / "textures").iterdir()}
    for name, (content, kept) in FILES.items():
        if kept:
            (found,) = (n for n, c in written.items() if c == content)
            assert found.endswith(".png" if content.startswith(b"\x89PNG") else ".jpg"), f"{name}: by what it is"
            continue
        pngs = [c for c in written.values() if c.startswith(b"\x89PNG") and read(c).shape == read(content).shape]
        # Decoders of JPEG differ by rounding, and by how they mix inks.
        tolerance = 3 if name == "inks.jpg" else 0
        assert min(np.abs(read(c) - read(content)).max() for c in pngs) <= tolerance, name
    # The three files of the turned picture become one PNG, and the copies are none.
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


def test_khronos_finds_nothing(pictures):
    path = str(pictures[1] / "pictures.glb")
    assert validate([path]) == {path: []}


def test_what_is_not_read_is_named(tmp_path):
    for name, (content, _) in REFUSED.items():
        (tmp_path / name).write_bytes(content)
    report, directory = robot(tmp_path, REFUSED)
    told = [d for d in report["diagnostics"] if d["code"] == "texture-format"]
    for name, (_, word) in REFUSED.items():
        (one,) = (d for d in told if name in d["message"])
        assert word in one["message"] and "PNG" in one["help"], name
    assert not (directory / "textures").exists()
