"""A GLB as the glTF 2.0 specification and the document of EXT_robot_kinematics read, in numpy.

Written for the tests and from the specifications alone; it knows nothing of how the program works.
"""

import json
import struct
from functools import cached_property
from pathlib import Path

import numpy as np

#: From ROS axes to glTF's: (x, y, z) → (y, z, x).
AXES = np.array([[0.0, 1, 0], [0, 0, 1], [1, 0, 0]])
COMPONENTS = {5121: np.uint8, 5123: np.uint16, 5125: np.uint32, 5126: np.float32}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


def converted(matrix):
    """A transform of ROS frames (4 × 4) as one of glTF frames."""
    axes = np.eye(4)
    axes[:3, :3] = AXES
    return axes @ matrix @ axes.T


def turn(quaternion):
    """The matrix of a unit quaternion x, y, z, w."""
    x, y, z, w = quaternion
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def composed(translation=(0, 0, 0), rotation=(0, 0, 0, 1), scale=(1, 1, 1)):
    """T · R · S."""
    matrix = np.eye(4)
    matrix[:3, :3] = turn(rotation) * np.asarray(scale, float)
    matrix[:3, 3] = translation
    return matrix


class Glb:
    def __init__(self, path):
        data = Path(path).read_bytes()
        magic, version, length = struct.unpack_from("<4sII", data)
        assert (magic, version, length) == (b"glTF", 2, len(data))
        chunks, at = [], 12
        while at < length:
            size, kind = struct.unpack_from("<I4s", data, at)
            assert size % 4 == 0 and at + 8 + size <= length
            chunks.append((kind, data[at + 8 : at + 8 + size]))
            at += 8 + size
        assert [kind for kind, _ in chunks] in ([b"JSON"], [b"JSON", b"BIN\0"])
        self.json = json.loads(chunks[0][1])
        self.binary = chunks[1][1] if len(chunks) > 1 else b""
        self.nodes = self.json["nodes"]

    @cached_property
    def model(self):
        (model,) = self.json["extensions"]["EXT_robot_kinematics"]["models"]
        return model

    @cached_property
    def parents(self):
        """Of every node, by its number; also proves that the hierarchy is a tree."""
        parents = {}
        for number, node in enumerate(self.nodes):
            for child in node.get("children", ()):
                assert child not in parents, f"node {child} has two parents"
                parents[child] = number
        return parents

    def local(self, node):
        node = self.nodes[node]
        assert "matrix" not in node
        return composed(**{k: node[k] for k in ("translation", "rotation", "scale") if k in node})

    def worlds(self, motions=None):
        """The transform of every node in the scene, by its number; `motions` replaces local ones."""
        motions = motions or {}
        worlds, stack = {}, [(root, np.eye(4)) for root in self.json["scenes"][self.json["scene"]]["nodes"]]
        while stack:
            number, above = stack.pop()
            worlds[number] = above @ (motions[number] if number in motions else self.local(number))
            stack += [(child, worlds[number]) for child in self.nodes[number].get("children", ())]
        return worlds

    def link_poses(self, positions=None):
        """Every link's transform by the extension's pose algorithm (its section 5), from positions by the joint's name. Mimics
        take their driver's."""
        positions = dict(positions or {})
        joints = self.model["joints"]
        for joint in joints:
            if "mimic" in joint:
                mimic = joint["mimic"]
                driver = positions.get(joints[mimic["joint"]]["name"], [0.0])
                positions[joint["name"]] = [mimic["multiplier"] * driver[0] + mimic["offset"]]
        motions = {}
        for joint in joints:
            values = positions.get(joint["name"], [0.0] * len(joint["dofs"]))
            for dof, node, q in zip(joint["dofs"], joint["dofNodes"], values, strict=True):
                axis = np.array(dof["axis"])
                if dof["motion"] == "rotation":
                    motions[node] = composed(rotation=[*(axis * np.sin(q / 2)), np.cos(q / 2)])
                else:
                    motions[node] = composed(translation=axis * q)
        worlds = self.worlds(motions)
        return {link["name"]: worlds[link["node"]] for link in self.model["links"]}

    def accessor(self, number):
        accessor = self.json["accessors"][number]
        view = self.json["bufferViews"][accessor["bufferView"]]
        width, kind = WIDTHS[accessor["type"]], np.dtype(COMPONENTS[accessor["componentType"]]).newbyteorder("<")
        assert "byteStride" not in view and "byteOffset" not in accessor
        values = np.frombuffer(self.binary, kind, accessor["count"] * width, view.get("byteOffset", 0))
        return values.reshape(-1, width) if width > 1 else values

    def points(self, mesh):
        """The corners of all triangles of a mesh."""
        drawn = [
            self.accessor(p["attributes"]["POSITION"])[self.accessor(p["indices"])]
            for p in self.json["meshes"][mesh]["primitives"]
        ]
        return np.concatenate(drawn).astype(float)
