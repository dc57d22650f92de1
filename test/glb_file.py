"""Reads a GLB by its specification: nodes, buffers, and EXT_robot_kinematics, with numpy only."""

import json
import struct
import urllib.parse

import numpy as np

#: Rotation from ROS axes (x forward, y left, z up) to glTF's (z forward, x left, y up).
AXES = np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]])

_COMPONENTS = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


def quaternion(x, y, z, w):
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def turn(axis, angle):
    axis = np.array(axis) / np.linalg.norm(axis)
    half = np.sin(angle / 2) * axis
    return [*half, np.cos(angle / 2)]


def read(path):
    """Returns the JSON and the first buffer of a .glb, or of a .gltf with a file beside it."""
    data = path.read_bytes()
    if path.suffix == ".gltf":
        document = json.loads(data)
        uris = [urllib.parse.unquote(buffer["uri"]) for buffer in document.get("buffers", []) if "uri" in buffer]
        return document, (path.parent / uris[0]).read_bytes() if uris else b""
    magic, version, length = struct.unpack_from("<4sII", data)
    assert (magic, version, length) == (b"glTF", 2, len(data)), "not a GLB"
    size, kind = struct.unpack_from("<I4s", data, 12)
    assert kind == b"JSON"
    rest, buffer = 20 + size, b""
    if rest < len(data):
        length, kind = struct.unpack_from("<I4s", data, rest)
        assert kind == b"BIN\0"
        buffer = data[rest + 8 : rest + 8 + length]
    return json.loads(data[20 : 20 + size]), buffer


class Glb:
    """A file, and the first kinematic model in it."""

    def __init__(self, path):
        self.json, self.buffer = read(path)
        self.nodes = self.json["nodes"]
        self.parents = {child: parent for parent, node in enumerate(self.nodes) for child in node.get("children", [])}
        (self.model,) = self.json["extensions"]["EXT_robot_kinematics"]["models"]
        self.links = {link["name"]: link for link in self.model["links"]}
        self.joints = {joint["name"]: joint for joint in self.model["joints"]}

    def accessor(self, index):
        accessor = self.json["accessors"][index]
        width, kind = _WIDTHS[accessor["type"]], np.dtype(_COMPONENTS[accessor["componentType"]])
        view = self.json["bufferViews"][accessor["bufferView"]]
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        stride = view.get("byteStride", width * kind.itemsize)
        return np.ndarray((accessor["count"], width), kind, self.buffer, start, (stride, kind.itemsize))

    def values(self, index):
        """Returns the decoded numbers of an accessor: normalised integers are in [-1, 1]."""
        raw = self.accessor(index)
        if not self.json["accessors"][index].get("normalized"):
            return raw
        return np.maximum(raw / np.iinfo(raw.dtype).max, -1)

    def local(self, node, changes=None):
        """Returns the local transform of a node; `changes` may replace its translation or rotation."""
        node = self.nodes[node] | (changes or {})
        if "matrix" in node:
            return np.array(node["matrix"]).reshape(4, 4).T
        out = np.eye(4)
        out[:3, :3] = quaternion(*node.get("rotation", (0, 0, 0, 1))) @ np.diag(node.get("scale", (1, 1, 1)))
        out[:3, 3] = node.get("translation", (0, 0, 0))
        return out

    def poses(self, positions=None):
        """Returns every node's frame in the scene, with the DOF nodes set by section 5 of the extension. `positions` maps the name of a joint
        to a list of numbers; mimic joints are not computed."""
        changes = {}
        for name, joint in self.joints.items():
            for node, dof, q in zip(joint.get("dofNodes", []), joint.get("dofs", []), (positions or {}).get(name, [])):
                if dof["motion"] == "rotation":
                    changes[node] = {"rotation": turn(dof["axis"], q)}
                else:
                    changes[node] = {"translation": [a * q for a in dof["axis"]]}
        out = {}

        def of(node):
            if node not in out:
                above = of(self.parents[node]) if node in self.parents else np.eye(4)
                out[node] = above @ self.local(node, changes.get(node))
            return out[node]

        for node in range(len(self.nodes)):
            of(node)
        return out

    def mesh_points(self, mesh):
        """Returns the points of a mesh's primitives that triangles use, and the number of triangles."""
        points, triangles = [], 0
        for primitive in self.json["meshes"][mesh]["primitives"]:
            assert primitive.get("mode", 4) == 4
            positions = self.accessor(primitive["attributes"]["POSITION"])
            indices = self.accessor(primitive["indices"])[:, 0] if "indices" in primitive else np.arange(len(positions))
            points.append(positions[np.unique(indices)])
            triangles += len(indices) // 3
        return np.concatenate(points), triangles

    def below(self, node):
        yield node
        for child in self.nodes[node].get("children", []):
            yield from self.below(child)
