"""The features of a robot's description and mesh files, read without the program: they determine which tests apply to it."""

import functools
import json
import re
import struct
from urllib.parse import unquote
from xml.etree import ElementTree

#: Minimum number of triangles of a visual mesh that gets tiers.
DETAILED = 500


def _mesh_file(urdf, packages, uri):
    """Returns the file of a mesh reference; None without one."""
    match = re.match(r"(?:package|model)://([^/]+)/(.*)", uri.strip())
    if match:
        folder = packages.get(match[1])
        path = folder / match[2] if folder else None
    else:
        path = urdf.parent / uri.strip().removeprefix("file://")
    return path if path and path.is_file() else None


@functools.cache
def _triangles(path):
    """Estimates the number of triangles of a mesh file from its headers."""
    data = path.read_bytes()
    match path.suffix.lower():
        case ".stl":
            count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else 0
            return count if len(data) == 84 + 50 * count else data.count(b"facet normal")
        case ".obj":
            return len(re.findall(rb"^f ", data, re.MULTILINE))
        case ".dae":
            return sum(int(n) for n in re.findall(rb"<(?:\w+:)?(?:triangles|polylist|polygons)\b[^>]*?count=\"(\d+)\"", data))
        case ".glb" | ".gltf":
            text = data[20 : 20 + struct.unpack_from("<I", data, 12)[0]] if path.suffix.lower() == ".glb" else data
            document = json.loads(text)
            used = [p["indices"] for m in document.get("meshes", []) for p in m["primitives"] if "indices" in p]
            return sum(document["accessors"][i]["count"] // 3 for i in used)
    return 0


@functools.cache
def _has_texture(path):
    """Returns whether a mesh file has a texture that exists."""
    data = path.read_bytes()
    match path.suffix.lower():
        case ".dae":
            images = [unquote(name.decode().strip()) for name in re.findall(rb"<(?:\w+:)?init_from>(?:<ref>)?([^<]+)", data)]
            shows = re.search(rb"<(?:\w+:)?texture\b", data) is not None
            return shows and any((path.parent / name.removeprefix("file://")).is_file() for name in images)
        case ".obj":
            libraries = [path.parent / name.decode().strip() for name in re.findall(rb"^mtllib (.+)$", data, re.MULTILINE)]
            return any(re.search(rb"^\s*map_Kd", library.read_bytes(), re.MULTILINE) for library in libraries if library.is_file())
        case ".glb" | ".gltf":
            return b'"baseColorTexture"' in data
    return False


@functools.cache
def _has_parts(path):
    """Returns whether a mesh of the file has several materials."""
    data = path.read_bytes()
    match path.suffix.lower():
        case ".obj":
            return len(set(re.findall(rb"^usemtl (.+)$", data, re.MULTILINE))) > 1
        case ".dae":
            return len(set(re.findall(rb"<(?:\w+:)?(?:triangles|polylist|polygons)\b[^>]*?material=\"([^\"]*)\"", data))) > 1
        case ".glb" | ".gltf":
            return data.count(b'"indices"') > 1
    return False


def of(source):
    """Returns the features of a `Source` (conftest.py)."""
    return _of(source.urdf, tuple(source.packages.items()))


@functools.cache
def _of(urdf, packages):
    robot, packages = ElementTree.parse(urdf).getroot(), dict(packages)
    found = set()
    links, joints = robot.findall("link"), robot.findall("joint")
    materials = {m.get("name"): m for m in robot.iter("material") if len(m)}
    children = [joint.find("child").get("link") for joint in joints if joint.find("child") is not None]
    if len(set(children)) == len(children):
        found.add("tree")
    for joint in joints:
        found |= {"joint", joint.get("type").strip()}
        if joint.get("type").strip() != "fixed":
            found.add("moving joint")
        if joint.find("mimic") is not None:
            found.add("mimic")
    for link in links:
        shapes = [(kind, shape) for kind in ("visual", "collision") for shape in link.findall(kind) if shape.find("geometry") is not None]
        if (shapes or link.find("inertial") is not None) and not link.get("name").isidentifier():
            found.add("encoded body")
        for kind, shape in shapes:
            found |= {"shape", kind}
            mesh = shape.find("geometry/mesh")
            path = None if mesh is None else _mesh_file(urdf, packages, mesh.get("filename"))
            if mesh is not None:
                found |= {"mesh", f"{kind} mesh"}
            material = shape.find("material")
            if kind == "visual" and material is not None:
                material = materials.get(material.get("name"), material) if not len(material) else material
                if material.find("color") is not None:
                    if material.find("texture") is None and mesh is None:
                        found |= {"colour of a solid", "colour that shows"}
                    if material.find("texture") is None and path and path.suffix.lower() == ".stl":
                        found.add("colour that shows")
            if path and kind == "visual":
                if _triangles(path) >= DETAILED:
                    found |= {"detailed mesh", *(["detailed mesh of several materials"] if _has_parts(path) else [])}
                if _has_texture(path):
                    found.add("texture of a mesh")
    if robot.findall("ros2_control//command_interface") or robot.findall("transmission//hardwareInterface"):
        found.add("drive")
    return frozenset(found)
