#!/usr/bin/env python3
"""Writes the small binary mesh files of this folder; run it here after a change. The expected contents are in the tests of crates/mesh
that read them.

The streams of EXT_meshopt_compression are encoded by its specification, in the simplest way that it allows.
"""

import base64
import json
import struct
import zlib
from pathlib import Path

HERE = Path(__file__).parent


# STL

#: A rectangle of 2 by 1 in two triangles, and a triangle perpendicular to it.
FACETS = [[(0, 0, 0), (2, 0, 0), (2, 1, 0)], [(0, 0, 0), (2, 1, 0), (0, 1, 0)], [(0, 0, 0), (2, 0, 0), (2, 0, 3)]]


def stl(name, header=b"made by hand", attributes=(0, 0, 0), count=None):
    data = header.ljust(80) + struct.pack("<I", len(FACETS) if count is None else count)
    for facet, attribute in zip(FACETS, attributes):
        data += struct.pack("<12fH", 0, 0, 0, *(x for point in facet for x in point), attribute)
    (HERE / "stl" / name).write_bytes(data)


def rgb(low, middle, high, flag):
    return low | middle << 5 | high << 10 | flag << 15


stl("binary.stl")
stl("solid.stl", header=b"solid that is none")
stl("too_many.stl", count=1000)
stl("too_few.stl", count=1)
# Blue is in the low bits; the second facet has no colour.
stl("viscam.stl", attributes=(rgb(0, 0, 31, 1), 0, rgb(31, 15, 0, 1)))
stl("magics.stl", header=b"COLOR=\xff\x80\x00\x80", attributes=(rgb(31, 0, 0, 0), rgb(0, 0, 0, 1), rgb(0, 15, 31, 0)))
stl(
    "magics_material.stl",
    header=b"COLOR=\xff\x80\x00\x80,MATERIAL=\x00\xff\x00\xff\x10\x10\x10\xff\x20\x20\x20\xff",
    attributes=(rgb(31, 0, 0, 0), rgb(0, 0, 0, 1), rgb(0, 0, 0, 1)),
)
stl(
    "meshlab.stl",
    header=b"COLOR=\x7f\x7f\x7f MATERIAL=\x7f\x7f\x7f \x7f\x7f\x7f \x7f\x7f\x7f",
    attributes=(rgb(31, 0, 0, 1), 0, rgb(0, 15, 31, 1)),
)
# Attributes that are not colours: a header that declares colours without any, Meshmixer's filler, and others.
stl("meshlab_plain.stl", header=b"COLOR=\x7f\x7f\x7f MATERIAL=\x7f\x7f\x7f \x7f\x7f\x7f \x7f\x7f\x7f")
stl("white.stl", attributes=(0xFFFF, 0x8000, rgb(30, 30, 30, 1)))
stl("garbage.stl", attributes=(0x9ABC, 0x1234, 0xDEAD))


# Images

def png(width, height, pixels):
    """8-bit RGBA."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(x for pixel in pixels[y * width : (y + 1) * width] for x in pixel) for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 0)) + chunk(b"IEND", b"")


RED_AND_BLUE = png(2, 1, [(255, 0, 0, 255), (0, 0, 255, 128)])
BLACK_AND_WHITE = png(2, 1, [(0, 0, 0, 255), (255, 255, 255, 255)])
#: Roughness in green, metalness in blue.
ROUGH = png(1, 1, [(0, 51, 102, 255)])
(HERE / "gltf" / "red and blue.png").write_bytes(RED_AND_BLUE)
(HERE / "obj" / "red and blue.png").write_bytes(RED_AND_BLUE)
(HERE / "obj" / "sub" / "half.png").write_bytes(BLACK_AND_WHITE)


# glTF

#: A rectangle of 2 by 1 in the x-y plane of glTF, which is upright.
POSITIONS = [(0, 0, 0), (2, 0, 0), (2, 1, 0), (0, 1, 0)]
NORMALS = [(0, 0, 1)] * 4
UVS = [(0, 1), (1, 1), (1, 0), (0, 0)]
INDICES = [0, 1, 2, 0, 2, 3]

FORMATS = {5120: "b", 5121: "B", 5122: "h", 5123: "H", 5125: "I", 5126: "f"}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4"}


class File:
    """A builder of a glTF file with one buffer."""

    def __init__(self):
        self.data = b""
        self.json = {"asset": {"version": "2.0", "generator": "made by hand"}, "scene": 0, "scenes": [{"nodes": [0]}],
                     "nodes": [{"mesh": 0}], "meshes": [], "accessors": [], "bufferViews": [], "buffers": []}  # fmt: skip

    def place(self, data):
        """Appends data to the buffer, and returns its offset."""
        self.data += b"\0" * (-len(self.data) % 4)
        self.data += data
        return len(self.data) - len(data)

    def view(self, data, **members):
        self.json["bufferViews"].append({"buffer": 0, "byteOffset": self.place(data), "byteLength": len(data), **members})
        return len(self.json["bufferViews"]) - 1

    def accessor(self, values, component=5126, **members):
        """Adds values, each a tuple or a number, in a separate view; those of less than four bytes are padded to four."""
        values = [value if isinstance(value, tuple) else (value,) for value in values]
        packed = [struct.pack(f"<{len(value)}{FORMATS[component]}", *value) for value in values]
        view = {}
        if len(values[0]) > 1:
            packed = [value + b"\0" * (-len(value) % 4) for value in packed]
            view = {"byteStride": len(packed[0])}
        return self.described(values, component, bufferView=self.view(b"".join(packed), **view), **members)

    def described(self, values, component, **members):
        """Adds an accessor that describes values, without a view."""
        accessor = {"componentType": component, "count": len(values), "type": TYPES[len(values[0])], **members}
        if len(values[0]) == 3 and component == 5126:
            accessor["min"], accessor["max"] = [[f(x) for x in zip(*values)] for f in (min, max)]
        self.json["accessors"].append(accessor)
        return len(self.json["accessors"]) - 1

    def rectangle(self, **attributes):
        """Adds a primitive of the rectangle."""
        return {"attributes": {"POSITION": self.accessor(POSITIONS), **attributes}, "indices": self.accessor(INDICES, 5123)}

    def mesh(self, *primitives):
        self.json["meshes"].append({"primitives": list(primitives)})

    def text(self, name, uri=None):
        uri = uri or "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        self.json["buffers"].insert(0, {"byteLength": len(self.data), "uri": uri})
        used = {key: value for key, value in self.json.items() if value != []}
        (HERE / "gltf" / name).write_text(json.dumps(used, indent=1) + "\n")

    def binary(self, name):
        self.json["buffers"] = [{"byteLength": len(self.data)}]
        text = json.dumps(self.json).encode()
        text += b" " * (-len(text) % 4)
        data = self.data + b"\0" * (-len(self.data) % 4)
        length = 12 + 8 + len(text) + 8 + len(data)
        head = struct.pack("<4sII", b"glTF", 2, length)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
        (HERE / "gltf" / name).write_bytes(head + chunks)


def textured(file, info=None):
    """Adds the textured rectangle."""
    file.mesh({**file.rectangle(NORMAL=file.accessor(NORMALS), TEXCOORD_0=file.accessor(UVS)), "material": 0})
    file.json["materials"] = [{"name": "picture", "alphaMode": "BLEND",
                               "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, **(info or {})}}}]  # fmt: skip
    file.json["textures"] = [{"source": 0}]


# In one file, in several files, and with an embedded image.
file = File()
textured(file)
file.json["images"] = [{"uri": "red%20and%20blue.png"}]
(HERE / "gltf" / "the buffer.bin").write_bytes(file.data)
file.text("external.gltf", uri="the%20buffer.bin")

file = File()
textured(file)
file.json["images"] = [{"name": "inside", "mimeType": "image/png", "bufferView": file.view(RED_AND_BLUE)}]
file.binary("embedded.glb")

file = File()
textured(file, {"extensions": {"KHR_texture_transform": {"offset": [0.5, 0], "scale": [2, 3]}}})
file.json["images"] = [{"name": "inside", "uri": "data:image/png;base64," + base64.b64encode(RED_AND_BLUE).decode()}]
file.json["extensionsUsed"] = ["KHR_texture_transform"]
file.text("texture_transform.gltf")

file = File()
textured(file)
file.json["textures"] = [{"extensions": {"KHR_texture_basisu": {"source": 0}}}]
file.json["images"] = [{"mimeType": "image/ktx2", "bufferView": file.view(b"\xabKTX 20\xbb\r\n\x1a\n")}]
file.json["extensionsUsed"] = file.json["extensionsRequired"] = ["KHR_texture_basisu"]
file.binary("ktx2.glb")

# Nodes: translated, rotated, scaled; with a matrix; mirrored; hidden; outside of the scene.
file = File()
file.mesh(file.rectangle())
file.json["scenes"] = [{"nodes": [5]}, {"nodes": [0, 2, 3]}]
file.json["scene"] = 1
turn = 0.5**0.5
file.json["nodes"] = [
    {"children": [1], "translation": [0, 0, 10], "rotation": [0, 0, turn, turn]},
    {"mesh": 0, "scale": [1, 3, 1]},
    {"mesh": 0, "matrix": [0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 5, 0, 0, 1]},
    {"children": [4], "extensions": {"KHR_node_visibility": {"visible": False}}},
    {"mesh": 0},
    {"mesh": 0},
]
file.json["extensionsUsed"] = ["KHR_node_visibility"]
file.text("nodes.gltf")

# Three instances, the second rotated by 180° about x (in bytes), the third scaled by two.
file = File()
file.mesh(file.rectangle())
instances = {
    "TRANSLATION": file.accessor([(0, 0, 0), (0, 0, 5), (10, 0, 0)]),
    "ROTATION": file.accessor([(0, 0, 0, 127), (127, 0, 0, 0), (0, 0, 0, 127)], 5120, normalized=True),
    "SCALE": file.accessor([(1, 1, 1), (1, 1, 1), (2, 2, 2)]),
}
file.json["nodes"] = [{"mesh": 0, "translation": [0, 7, 0], "extensions": {"EXT_mesh_gpu_instancing": {"attributes": instances}}}]
file.json["extensionsUsed"] = file.json["extensionsRequired"] = ["EXT_mesh_gpu_instancing"]
file.text("instances.gltf")

# Strips, fans, without indices, and lines.
file = File()
strip = file.accessor([POSITIONS[i] for i in (0, 1, 3, 2)])
fan = file.accessor([(x, y, 1) for x, y, _ in POSITIONS])
file.mesh({"attributes": {"POSITION": strip}, "mode": 5}, {"attributes": {"POSITION": fan}, "mode": 6}, {"attributes": {"POSITION": fan}, "mode": 1})
file.text("modes.gltf")

# Materials, one for each primitive.
file = File()
file.json["materials"] = [
    {"name": "metal", "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.25, 0.125, 0.5], "metallicFactor": 0.75, "roughnessFactor": 0.25}},
    {"name": "lamp", "emissiveFactor": [1, 0.5, 0], "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 4}}},
    {"name": "sign", "emissiveFactor": [1, 1, 1], "pbrMetallicRoughness": {"baseColorFactor": [0, 1, 0, 1]}, "extensions": {"KHR_materials_unlit": {}}},
    {"name": "old", "extensions": {"KHR_materials_pbrSpecularGlossiness": {"diffuseFactor": [0, 0, 1, 1], "glossinessFactor": 0.75}}},
    {"name": "glass", "alphaMode": "BLEND", "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0.25], "metallicFactor": 0}},
    {"name": "leaf", "alphaMode": "MASK", "alphaCutoff": 0.75, "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0.7], "metallicFactor": 0}},
    {"name": "stem", "alphaMode": "MASK", "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0.7], "metallicFactor": 0}},
    {"name": "screen", "emissiveFactor": [1, 1, 0], "emissiveTexture": {"index": 0}, "pbrMetallicRoughness": {"metallicRoughnessTexture": {"index": 1}, "roughnessFactor": 0.5}},
]  # fmt: skip
file.mesh(*({**file.rectangle(TEXCOORD_0=file.accessor(UVS)), "material": i} for i in range(len(file.json["materials"]))))
file.json["textures"] = [{"source": 0}, {"source": 1}]
file.json["images"] = [{"uri": "data:image/png;base64," + base64.b64encode(image).decode()} for image in (BLACK_AND_WHITE, ROUGH)]
file.json["extensionsUsed"] = ["KHR_materials_emissive_strength", "KHR_materials_unlit", "KHR_materials_pbrSpecularGlossiness"]
file.text("materials.gltf")

# Vertex colours: without a material; multiplied with a material that another primitive has without them; with opacity.
file = File()
floats = file.accessor([(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
bytes_ = file.accessor([(255, 0, 0, 255), (0, 255, 0, 0), (0, 0, 255, 51), (255, 255, 255, 255)], 5121, normalized=True)
shorts = file.accessor([(65535, 0, 0), (0, 65535, 0), (0, 0, 65535), (13107, 13107, 13107)], 5123, normalized=True)
white = file.accessor([(255, 255, 255, 255)] * 4, 5121, normalized=True)
file.mesh(
    file.rectangle(COLOR_0=floats),
    {**file.rectangle(COLOR_0=bytes_), "material": 0},
    {**file.rectangle(COLOR_0=shorts), "material": 0},
    {**file.rectangle(), "material": 0},
    {**file.rectangle(COLOR_0=white), "material": 0},
    {**file.rectangle(COLOR_0=bytes_), "material": 1},
)
file.json["materials"] = [
    {"name": "half", "pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.5, 0.5, 1], "metallicFactor": 0}},
    {"name": "veil", "alphaMode": "BLEND", "pbrMetallicRoughness": {"baseColorFactor": [1, 1, 1, 0.5]}},
]
file.text("colors.gltf")

# KHR_mesh_quantization: positions in shorts, placed by the node; normals in bytes, texture coordinates in normalised shorts.
file = File()
positions = file.accessor([(x * 100, y * 100, z * 100) for x, y, z in POSITIONS], 5123, min=[0, 0, 0], max=[200, 100, 0])
normals = file.accessor([(0, 0, 127)] * 4, 5120, normalized=True)
uvs = file.accessor([(u * 65535, v * 65535) for u, v in UVS], 5123, normalized=True)
file.mesh({"attributes": {"POSITION": positions, "NORMAL": normals, "TEXCOORD_0": uvs}, "indices": file.accessor(INDICES, 5121)})
file.json["nodes"] = [{"mesh": 0, "scale": [0.01, 0.01, 0.01], "translation": [0, 1, 0]}]
file.json["extensionsUsed"] = file.json["extensionsRequired"] = ["KHR_mesh_quantization"]
file.text("quantized.gltf")

# A sparse accessor: the third point is moved.
file = File()
primitive = file.rectangle()
places, values = file.view(struct.pack("<H", 2)), file.view(struct.pack("<3f", 2, 5, 0))
file.json["accessors"][primitive["attributes"]["POSITION"]].update(
    sparse={"count": 1, "indices": {"bufferView": places, "componentType": 5123}, "values": {"bufferView": values}}, max=[2, 5, 0]
)
file.mesh(primitive)
file.text("sparse.gltf")


# meshopt

def attributes_stream(elements):
    """Version 0: each byte as its difference from that of the previous element, never packed."""
    size, tail = len(elements[0]), elements[0]
    out, before = b"\xa0", elements[0]
    block = min(8192 // size // 16 * 16, 256)
    for start in range(0, len(elements), block):
        part = elements[start : start + block]
        groups = (len(part) + 15) // 16
        for k in range(size):
            previous, deltas = before[k], []
            for element in part:
                delta = (element[k] - previous + 128) % 256 - 128
                deltas.append((delta << 1 ^ delta >> 7) & 255)
                previous = element[k]
            # Two bits per group for the packing: 3 is unpacked.
            out += b"\xff" * ((groups + 3) // 4) + bytes(deltas).ljust(groups * 16, b"\0")
        before = part[-1]
    return out + tail.rjust(max(32, size), b"\0")


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def zigzag(value):
    return value << 1 if value >= 0 else -value * 2 - 1


def triangles_stream(indices):
    """Version 1: every triangle by the code for three complete indices."""
    data, last = b"", 0
    for i in range(0, len(indices), 3):
        data += b"\xff"
        for index in indices[i : i + 3]:
            data += varint(zigzag(index - last))
            last = index
    return b"\xe1" + b"\xff" * (len(indices) // 3) + data + bytes(16)


def indices_stream(indices):
    """Version 1: every index as its difference from the previous one, in the first of the two histories."""
    data, last = b"", 0
    for index in indices:
        data += varint(zigzag(index - last) << 1)
        last = index
    return b"\xd1" + data + bytes(4)


def meshopt(file, name, stream, elements, mode, **members):
    """Adds a view of elements that are stored as a stream; the fallback is the second buffer."""
    length = len(elements) * len(elements[0])
    extension = {"buffer": 0, "byteOffset": file.place(stream), "byteLength": len(stream), "byteStride": len(elements[0]),
                 "count": len(elements), "mode": mode, **members}  # fmt: skip
    offset = sum(view["byteLength"] for view in file.json["bufferViews"] if view["buffer"] == 1)
    view = {"buffer": 1, "byteOffset": offset, "byteLength": length, "extensions": {name: extension}}
    if mode == "ATTRIBUTES":
        view["byteStride"] = len(elements[0])
    file.json["bufferViews"].append(view)
    return len(file.json["bufferViews"]) - 1


def compressed(name, broken=False):
    """Writes the rectangle with all filters for meshes, and returns its views without compression."""
    file = File()
    damage = (lambda stream: b"\0" + stream[1:]) if broken else (lambda stream: stream)
    # Positions as 2^exponent · mantissa: all are halves.
    exponent = [struct.pack("<3I", *(0xFF << 24 | 2 * x for x in point)) for point in POSITIONS]
    # Octahedral normals: x, y and the value of 1.
    octahedron = [struct.pack("<4b", 0, 0, 127, 0)] * 4
    uvs = [struct.pack("<2f", *uv) for uv in UVS]
    shorts = [struct.pack("<H", i) for i in INDICES]
    words = [struct.pack("<I", i) for i in INDICES]
    views = [
        (attributes_stream(exponent), exponent, "ATTRIBUTES", {"filter": "EXPONENTIAL"}, [struct.pack("<3f", *p) for p in POSITIONS]),
        (attributes_stream(octahedron), octahedron, "ATTRIBUTES", {"filter": "OCTAHEDRAL"}, octahedron),
        (attributes_stream(uvs), uvs, "ATTRIBUTES", {}, uvs),
        (triangles_stream(INDICES), shorts, "TRIANGLES", {}, shorts),
        (indices_stream(INDICES), words, "INDICES", {}, words),
    ]
    plain = b""
    for stream, elements, mode, members, values in views:
        meshopt(file, name, damage(stream), elements, mode, **members)
        plain += b"".join(values)
    position = file.described(POSITIONS, 5126, bufferView=0)
    normal = file.described([(0, 0, 127)] * 4, 5120, bufferView=1, normalized=True)
    uv = file.described(UVS, 5126, bufferView=2)
    attributes = {"POSITION": position, "NORMAL": normal, "TEXCOORD_0": uv}
    file.mesh(
        {"attributes": attributes, "indices": file.described([(i,) for i in INDICES], 5123, bufferView=3)},
        {"attributes": attributes, "indices": file.described([(i,) for i in INDICES], 5125, bufferView=4)},
    )
    file.json["extensionsUsed"] = [name, "KHR_mesh_quantization"]
    return file, plain


for name in ("EXT_meshopt_compression", "KHR_meshopt_compression"):
    file, plain = compressed(name)
    file.json["extensionsRequired"] = [name, "KHR_mesh_quantization"]
    file.json["buffers"] = [{"byteLength": len(plain), "extensions": {name: {"fallback": True}}}]
    file.text(name[:3].lower() + "_meshopt.gltf")

# A damaged stream with an uncompressed fallback.
file, plain = compressed("EXT_meshopt_compression", broken=True)
file.json["extensionsRequired"] = ["KHR_mesh_quantization"]
file.json["buffers"] = [{"byteLength": len(plain), "uri": "data:application/octet-stream;base64," + base64.b64encode(plain).decode()}]
file.text("meshopt_fallback.gltf")

# Draco: without and with an uncompressed fallback.
for name, required in (("draco.gltf", True), ("draco_fallback.gltf", False)):
    file = File()
    primitive = file.rectangle()
    primitive["extensions"] = {"KHR_draco_mesh_compression": {"bufferView": file.view(b"DRACO"), "attributes": {"POSITION": 0}}}
    file.mesh(primitive)
    file.json["extensionsUsed"] = ["KHR_draco_mesh_compression"]
    if required:
        file.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
        for accessor in file.json["accessors"]:
            del accessor["bufferView"]
    file.text(name)
