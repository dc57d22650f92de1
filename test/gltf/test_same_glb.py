"""A robot's OpenUSD asset as glTF, with the variants of the source meshes, compared with the glTF of its URDF."""

import functools
import hashlib
import json

import numpy as np
from conftest import gltf_issues, run, scratch
from glb_file import Glb

#: Tolerance of numbers, relative to the largest one if it is above one: computations in single precision.
CLOSE = 2e-6
#: Directions along which sets of points are compared.
DIRECTIONS = np.random.default_rng(0).uniform(-1, 1, (5, 3))


@functools.cache
def both(converted):
    """Returns the GLB of the URDF, and that of the OpenUSD asset."""
    layers = "".join((converted.directory / f"{name}.usda").read_text() for name in ("base", "instances") if (converted.directory / f"{name}.usda").exists())
    sets = (("visual_representation", "mesh_high"), ("collision_fidelity", "trimesh"))
    variants = [argument for name, variant in sets if f'"{variant}"' in layers for argument in ("--variant", f"{name}={variant}")]
    folder = scratch()
    done = run("convert", converted.entry, "-o", folder, "--formats", "glb", *variants)
    assert done.returncode == 0, done.stderr
    (glb,) = folder.glob("*/*.glb")
    return Glb(converted.glb), Glb(glb), glb


def named(glb):
    """Returns the model of EXT_robot_kinematics, with names in place of indices."""
    model = json.loads(json.dumps(glb.model))
    model.pop("source")
    links, joints = ([part["name"] for part in model[kind]] for kind in ("links", "joints"))

    def by_name(value, key=""):
        if isinstance(value, dict):
            return {inner: by_name(of, inner) for inner, of in value.items() if inner != "extras"}
        if isinstance(value, list):
            return [by_name(of, key) for of in value]
        if isinstance(value, int) and not isinstance(value, bool):
            if key.lower().endswith(("node", "nodes")):
                return glb.nodes[value].get("name")
            if key in ("parentLink", "childLink", "rootLink"):
                return links[value]
            if key == "joint":
                return joints[value]
        return value

    model = by_name(model)
    for pose in model.get("configurations", {}).values():
        pose["jointPositions"] = dict(zip(joints, pose["jointPositions"], strict=True))
    for kind in ("links", "joints"):
        model[kind] = {part["name"]: part for part in model[kind]}
    return model


def differences(a, b, where=""):
    """Yields the differences of two values."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            if key in a and key in b:
                yield from differences(a[key], b[key], f"{where}.{key}")
            else:
                yield f"{where}.{key}: {a.get(key)} | {b.get(key)}"
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for index, pair in enumerate(zip(a, b, strict=True)):
            yield from differences(*pair, f"{where}[{index}]")
    elif isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if abs(a - b) > CLOSE * max(1, abs(a)):
            yield f"{where}: {a} | {b}"
    elif a != b:
        yield f"{where}: {a} | {b}"


def look(glb, index):
    """Returns the values of a material, with images by content. Names may differ, as equal materials are merged in OpenUSD."""

    def of(value, key=""):
        if isinstance(value, dict):
            out = {inner: of(part, inner) for inner, part in value.items() if inner not in ("extras", "name")}
            if key.endswith("Texture"):
                texture = glb.json["textures"][value["index"]]
                image = glb.json["images"][texture["source"]]
                view = glb.json["bufferViews"][image["bufferView"]]
                start = view.get("byteOffset", 0)
                out["index"] = hashlib.sha256(glb.buffer[start : start + view["byteLength"]]).hexdigest()
                out["sampler"] = glb.json["samplers"][texture["sampler"]] if "sampler" in texture else None
            return out
        return [of(part) for part in value] if isinstance(value, list) else value

    return of(glb.json["materials"][index]) if index is not None else {}


def drawn(glb):
    """Returns the primitives by name of the node: corners in the link, their other attributes, and the material."""
    links = {link["node"]: link["name"] for link in glb.model["links"]}
    poses = glb.poses()
    shapes = {}
    for index, node in enumerate(glb.nodes):
        if "mesh" not in node:
            continue
        above = index
        while above is not None and above not in links:
            above = glb.parents.get(above)
        pose = np.linalg.inv(poses[above]) @ poses[index]
        primitives = []
        for primitive in glb.json["meshes"][node["mesh"]]["primitives"]:
            points = glb.values(primitive["attributes"]["POSITION"]).astype(float) @ pose[:3, :3].T + pose[:3, 3]
            corners = points[glb.accessor(primitive["indices"])[:, 0]] if "indices" in primitive else points
            shape = corners, sorted(primitive["attributes"]), look(glb, primitive.get("material"))
            # A collider from a URDF has one primitive; from an asset it has one per material of its mesh, which all look the same.
            if primitives and primitives[-1][1:] == shape[1:]:
                shape = np.concatenate([primitives.pop()[0], corners]), *shape[1:]
            primitives.append(shape)
        shapes[node["name"]] = (links[above], primitives)
    return shapes


def cameras(glb):
    """Returns the cameras in a canonical order."""
    seen = (glb.json["cameras"][node["camera"]]["perspective"] for node in glb.nodes if "camera" in node)
    return sorted([camera["zfar"], camera["znear"], camera["yfov"], camera["aspectRatio"]] for camera in seen)


def test_the_robot_moves_the_same(converted):
    urdf, usd, _ = both(converted)
    models = named(urdf), named(usd)
    for joints in (model["joints"].values() for model in models):
        for joint in joints:
            # An asset does not have the parents of floating links.
            if joint["type"] == "floating":
                joint.pop("parentLink")
    assert not [*differences(*models)]
    # A camera of an asset is on the frame of its images, of which a URDF's camera has only the name.
    names = (sorted(node.get("name", "") for node in glb.nodes if "camera" not in node) for glb in (urdf, usd))
    assert next(names) == next(names)
    # An asset has no pixels; the aperture of its camera is rounded to them.
    np.testing.assert_allclose(cameras(urdf), cameras(usd), rtol=1e-3)
    a, b = urdf.poses(), usd.poses()
    for name, link in urdf.links.items():
        assert np.abs(a[link["node"]] - b[usd.links[name]["node"]]).max() < CLOSE, name


def test_the_robot_looks_the_same(converted):
    urdf, usd, _ = both(converted)
    a, b = drawn(urdf), drawn(usd)
    assert a.keys() == b.keys()
    for name, (link, primitives) in a.items():
        assert b[name][0] == link and len(b[name][1]) == len(primitives), name
        for (corners, attributes, material), (others, their_attributes, their_material) in zip(primitives, b[name][1], strict=True):
            assert attributes == their_attributes and len(corners) == len(others), name
            assert not [*differences(material, their_material, name)]
            # Nearby sets of points have nearby extents in any direction.
            along = [np.sort(points @ DIRECTIONS.T, axis=0) for points in (corners, others)]
            assert not len(corners) or np.abs(along[0] - along[1]).max() < CLOSE * max(1, np.abs(corners).max()), name


def test_the_validator_has_no_findings(converted):
    glb = both(converted)[2]
    found = [issue for issues in gltf_issues(str(glb)).values() for issue in issues if issue["severity"] <= 1]
    assert not found, found
