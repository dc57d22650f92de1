"""The options of the glTF writer, on every robot: text form, narrow and compressed meshes, preview animations, and physics for
engines. Each is compared with the plain file or with the URDF."""

import functools
import json
import math
import os
import subprocess
from collections import Counter

import numpy as np
import pytest

import conftest
import expectation
import kinematics
from glb_file import AXES, Glb, quaternion, read, turn
from worker import NODE, worker

TURN = AXES[:3, :3]
VARIANTS = {
    "quantize": ("--gltf-compression", "quantize", "--gltf-animations"),
    "meshopt": ("--gltf-compression", "meshopt", "--gltf-physics"),
    "everything": ("--gltf-animations", "--gltf-physics"),
}
#: Extensions that the validator does not know.
FOREIGN = {
    "EXT_robot_kinematics", "EXT_meshopt_compression", "KHR_node_visibility", "KHR_implicit_shapes", "KHR_physics_rigid_bodies",
}  # fmt: skip


class Case:
    def __init__(self, converted, folder):
        self.urdf = kinematics.read(converted.urdf)
        self.plain = Glb(converted.glb)
        self.files = {}
        for variant, options in VARIANTS.items():
            robot = conftest.source(converted.name)
            made = conftest.convert(robot, folder / variant, "--formats", "glb,gltf", *options)
            self.files[variant] = made.directory / f"{made.asset_name}.glb"
        self.decoded = folder / "decoded.glb"
        worker(NODE, "gltf").ask("decompress_gltf", self.files["meshopt"], self.decoded)

    @functools.cache
    def glb(self, variant):
        return Glb(self.decoded if variant == "meshopt" else self.files[variant])


@pytest.fixture(scope="session")
def cases(tmp_path_factory):
    if not os.environ.get("GLTF_VALIDATOR"):
        pytest.skip("GLTF_VALIDATOR is not a folder with the npm package gltf-validator: test/run sets it")
    return functools.cache(lambda converted: Case(converted, tmp_path_factory.mktemp("options")))


@pytest.fixture
def case(cases, converted):
    return cases(converted)


# ---- The files ----------------------------------------------------------------------------------------------------------------


def test_the_validator_has_no_findings(case):
    """In the binary form, the text form, and the decompressed file: only unknown extensions."""
    files = [file for glb in case.files.values() for file in (glb, glb.with_suffix(".gltf"))]
    for file, issues in conftest.gltf_issues(*files, case.decoded).items():
        found = [i for i in issues if i["code"] != "UNSUPPORTED_EXTENSION"]
        assert not found, f"{file}: {Counter((i['severity'], i['code'], i['message']) for i in found).most_common(10)}"
        assert {i["message"].split("'")[1] for i in issues} <= FOREIGN, file


def test_text_and_binary_form_are_equal(case):
    for glb in case.files.values():
        (one, bytes_of_one), (other, bytes_of_other) = read(glb), read(glb.with_suffix(".gltf"))
        for document in (one, other):
            for buffer in document.get("buffers", []):
                buffer.pop("uri", None)
        assert one == other
        assert bytes_of_one[: len(bytes_of_other)] == bytes_of_other and not any(bytes_of_one[len(bytes_of_other) :])
        names = {p.name for p in glb.parent.iterdir()}
        assert names == {glb.name, glb.with_suffix(".gltf").name, "report.json"} | ({glb.with_suffix(".bin").name} if bytes_of_one else set())


def test_extensions_that_readers_need_are_required(case):
    for variant, file in case.files.items():
        document, _ = read(file)
        used, required = set(document["extensionsUsed"]), set(document.get("extensionsRequired", []))
        said = json.dumps(document)
        assert used == {name for name in FOREIGN | {"KHR_materials_ior"} if f'"{name}": ' in said} | required
        meshes = bool(document.get("meshes"))
        wanted = {"quantize": {"KHR_mesh_quantization"}, "meshopt": {"KHR_mesh_quantization", "EXT_meshopt_compression"}}
        assert required == (wanted.get(variant, set()) if meshes else set())


def test_options_move_no_link(case):
    rest = {name: [0.0] * kinematics.FREEDOM[j.kind] for name, j in case.urdf.joints.items()}
    expected = case.plain.poses(rest)
    for variant in VARIANTS:
        glb = case.glb(variant)
        nodes = glb.poses(rest)
        for name, link in glb.links.items():
            assert np.array_equal(nodes[link["node"]], expected[case.plain.links[name]["node"]]), (variant, name)


# ---- Narrow meshes ------------------------------------------------------------------------------------------------------------


def _shape_nodes(glb):
    for link in glb.model["links"]:
        for kind in ("visualNodes", "collisionNodes"):
            for n, node in enumerate(link.get(kind, [])):
                yield (link["name"], kind, n), node


def _mesh_node(glb, node):
    """Returns the node with the mesh of a shape, and its transform in the shape's frame before the shape's scale."""
    if "mesh" in glb.nodes[node]:
        return node, np.eye(4)
    inner = [child for child in glb.nodes[node].get("children", []) if "mesh" in glb.nodes[child]]
    return (inner[0], glb.local(inner[0])) if inner else (None, None)


def _corners(glb, primitive):
    indices = glb.accessor(primitive["indices"])[:, 0]
    return glb.values(primitive["attributes"]["POSITION"])[indices].astype(float), glb.values(primitive["attributes"]["NORMAL"])[indices].astype(float)


def test_narrow_meshes_are_equal_within_a_step(case):
    plain = dict(_shape_nodes(case.plain))
    for variant in ("quantize", "meshopt"):
        glb = case.glb(variant)
        shapes = dict(_shape_nodes(glb))
        assert shapes.keys() == plain.keys()
        seen = set()
        for key, node in shapes.items():
            (wide, _), (narrow, place) = _mesh_node(case.plain, plain[key]), _mesh_node(glb, node)
            assert (wide is None) == (narrow is None), key
            if wide is None or case.plain.nodes[wide]["mesh"] in seen:
                continue
            seen.add(case.plain.nodes[wide]["mesh"])
            assert np.array_equal(glb.local(node), case.plain.local(plain[key])), key
            pairs = zip(glb.json["meshes"][glb.nodes[narrow]["mesh"]]["primitives"], case.plain.json["meshes"][case.plain.nodes[wide]["mesh"]]["primitives"], strict=True)
            for one, other in pairs:
                positions, normals = _corners(glb, one)
                expected, directions = _corners(case.plain, other)
                positions = positions @ place[:3, :3].T + place[:3, 3]
                step = 0.5001 * place[0, 0] / 65535 + 1e-6 * np.abs(expected).max()
                assert positions.shape == expected.shape, key
                if variant == "quantize":
                    assert np.abs(positions - expected).max() <= step, key
                    angles = np.einsum("ij,ij->i", normals / np.linalg.norm(normals, axis=1)[:, None], directions)
                    assert angles.min() > math.cos(math.radians(1)), key
                else:
                    assert np.abs(np.linalg.norm(normals, axis=1) - 1).max() < 0.02, key


def _triangles(glb, primitive):
    """Returns all triangles in order, independent of their first corner."""
    corners = glb.accessor(primitive["attributes"]["POSITION"])[glb.accessor(primitive["indices"])[:, 0]].reshape(-1, 3, 3)
    # Corners by rank, so that a single number orders them.
    distinct, rank = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    rank = rank.reshape(-1, 3)
    first = np.stack([np.roll(rank, -k, axis=1) for k in range(3)], axis=1)
    # The rotation with the least triangle: two corners may be equal.
    weight = np.array([len(distinct) ** 2, len(distinct), 1])
    least = first[np.arange(len(rank)), (first @ weight).argmin(axis=1)]
    return distinct[least[np.lexsort(least.T[::-1])]]


def test_compression_loses_nothing_more(case):
    """The triangles are bitwise equal, in another order."""
    narrow, compressed = case.glb("quantize").json.get("meshes", []), case.glb("meshopt").json.get("meshes", [])
    assert len(narrow) == len(compressed)
    for one, other in zip(narrow, compressed):
        for a, b in zip(one["primitives"], other["primitives"], strict=True):
            assert np.array_equal(_triangles(case.glb("quantize"), a), _triangles(case.glb("meshopt"), b)), one.get("name")


@pytest.mark.needs("detailed mesh")
def test_narrow_files_are_smaller(case):
    size = {variant: len(read(file)[1]) for variant, file in case.files.items()}
    size["plain"] = len(case.plain.buffer)
    images = sum(case.plain.json["bufferViews"][image["bufferView"]]["byteLength"] for image in case.plain.json.get("images", []))
    if size["plain"] - images > 100_000:
        assert size["quantize"] - images < 0.75 * (size["plain"] - images)
        assert size["meshopt"] - images < 0.5 * (size["plain"] - images)


# ---- Animations ---------------------------------------------------------------------------------------------------------------


def test_previews_go_from_limit_to_limit(case):
    glb = case.glb("everything")
    dof_node = {joint["dofNodes"][0]: (name, joint) for name, joint in glb.joints.items() if joint["dofNodes"]}
    expected = {}
    for name, joint in glb.joints.items():
        if len(joint["dofs"]) != 1 or "mimic" in joint:
            continue
        limit, rotates = joint["dofs"][0].get("limit", {}), joint["dofs"][0]["motion"] == "rotation"
        lower, upper = limit.get("lower"), limit.get("upper")
        if lower is None or upper is None:
            lower, upper = (-math.pi, math.pi) if joint["type"] == "continuous" else (0, 0)
        elif rotates:
            default = joint["dofs"][0]["default"]
            lower, upper = max(lower, default - 2 * math.pi), min(upper, default + 2 * math.pi)
        if lower < upper:
            expected[name] = (lower, upper)
    animations = {a["name"]: a for a in glb.json.get("animations", [])}
    assert animations.keys() == expected.keys()
    for name, animation in animations.items():
        driver = glb.model["joints"].index(glb.joints[name])
        followers = {n: j["mimic"] for n, j in glb.joints.items() if j.get("mimic", {}).get("joint") == driver}
        moved = set()
        for channel in animation["channels"]:
            joint_name, joint = dof_node[channel["target"]["node"]]
            moved.add(joint_name)
            mimic = followers.get(joint_name, {"multiplier": 1, "offset": 0})
            assert joint_name == name or joint_name in followers
            low, high = (mimic["multiplier"] * q + mimic["offset"] for q in expected[name])
            sampler = animation["samplers"][channel["sampler"]]
            times, values = glb.values(sampler["input"])[:, 0], glb.values(sampler["output"])
            assert times[0] == 0 and times[-1] == 3 and np.all(np.diff(times) > 0)
            axis = np.array(joint["dofs"][0]["axis"])
            positions = low + (high - low) * times / times[-1]
            if joint["dofs"][0]["motion"] == "rotation":
                assert channel["target"]["path"] == "rotation"
                assert np.abs(np.diff(positions)).max() <= math.pi / 2 + 1e-5, "keys must be less than half a turn apart"
                assert np.allclose(values, [turn(axis, q) for q in positions], atol=1e-5)
            else:
                assert channel["target"]["path"] == "translation"
                assert np.allclose(values, np.outer(positions, axis), atol=1e-6)
        assert moved == {name, *followers}


# ---- Engines ------------------------------------------------------------------------------------------------------------------


def _physics(glb, node):
    return glb.nodes[node].get("extensions", {}).get("KHR_physics_rigid_bodies", {})


def _static(urdf):
    """Returns the topmost static links: the world, and roots that have only floating joints."""
    return set(_tops(urdf).values()) - expectation.of(urdf).bodies


def _tops(urdf):
    """Returns the topmost link that each link is fixed to."""
    out = {}

    def of(link):
        if link not in out:
            joint = urdf.joints.get(urdf.parent_joint.get(link))
            out[link] = of(joint.parent) if joint is not None and joint.kind == "fixed" else link
        return out[link]

    for link in urdf.links:
        of(link)
    return out


def test_bodies_have_the_mass_of_their_links(case):
    glb, urdf = case.glb("everything"), case.urdf
    poses, tops = urdf.link_poses(), _tops(urdf)
    static = _static(urdf)
    for top in set(tops.values()):
        motion = _physics(glb, glb.links[top]["node"]).get("motion")
        assert (motion is None) == (top in static), top
        if motion is None:
            continue
        parts = [(urdf.links[link], np.linalg.inv(poses[top]) @ poses[link]) for link in tops if tops[link] == top]
        parts = [(link, pose @ link.inertial) for link, pose in parts if link.mass is not None and link.mass > 0]
        if not parts:
            assert motion["mass"] == 0.001, top
            continue
        mass = sum(link.mass for link, _ in parts)
        centre = sum(link.mass * pose[:3, 3] for link, pose in parts) / mass
        assert motion["mass"] == pytest.approx(mass, rel=1e-9)
        assert np.allclose(motion["centerOfMass"], TURN @ centre, atol=1e-9), top
        moments = [np.linalg.eigvalsh(link.inertia) for link, _ in parts]
        if any(m[0] <= 1e-12 * m[2] or m[0] + m[1] < m[2] * (1 + 2.1e-6) for m in moments):
            continue  # An inertia that is impossible, or not possible by a margin, is repaired.
        inertia = np.zeros((3, 3))
        for link, pose in parts:
            arm = pose[:3, 3] - centre
            inertia += pose[:3, :3] @ link.inertia @ pose[:3, :3].T + link.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
        axes = quaternion(*motion["inertiaOrientation"])
        found = axes @ np.diag(motion["inertiaDiagonal"]) @ axes.T
        assert np.allclose(found, TURN @ inertia @ TURN.T, rtol=1e-6, atol=1e-9 * np.abs(inertia).max()), top
    others = [n for n in range(len(glb.nodes)) if "motion" in _physics(glb, n)]
    assert {glb.nodes[n]["name"] for n in others} == set(tops.values()) - static


def test_joints_hold_bodies_where_they_meet(case):
    glb, urdf = case.glb("everything"), case.urdf
    poses, tops = glb.poses(), _tops(urdf)
    joints = glb.json["extensions"].get("KHR_physics_rigid_bodies", {}).get("physicsJoints", [])
    found = {}
    for node in range(len(glb.nodes)):
        if attachment := _physics(glb, node).get("joint"):
            found[glb.nodes[attachment["connectedNode"]]["extras"]["anchor"]] = (node, attachment)
    static = _static(urdf)
    loops = {joint.name for joint in urdf.loops}
    held = {
        name for name, joint in urdf.joints.items()
        if joint.kind != "floating" and (joint.kind != "fixed" or name in loops)
        and not {tops[joint.parent], tops[joint.child]} <= static
    }  # fmt: skip
    assert found.keys() == held
    for name, (node, attachment) in found.items():
        joint, connected = urdf.joints[name], attachment["connectedNode"]
        assert glb.parents[connected] == glb.links[joint.child]["node"]
        above = poses[glb.links[joint.parent]["node"]] @ AXES @ joint.origin @ AXES.T
        assert np.allclose(poses[node][:3, 3], above[:3, 3], atol=1e-9)
        if joint.kind != "fixed":
            assert np.allclose(poses[node][:3, 0], above[:3, :3] @ TURN @ joint.axis, atol=1e-9), "the axis must be x"
        if name not in loops:
            assert np.allclose(poses[node], poses[connected], atol=1e-9), "the frames must coincide at rest"
        limits = {}
        for limit in joints[attachment["joint"]]["limits"]:
            for kind in ("linearAxes", "angularAxes"):
                limits |= {(kind[:3], axis): (limit.get("min"), limit.get("max")) for axis in limit.get(kind, [])}
        free = {"revolute": {("ang", 0)}, "continuous": {("ang", 0)}, "prismatic": {("lin", 0)}, "planar": {("lin", 1), ("lin", 2), ("ang", 0)}, "fixed": set()}
        bounds = {}
        if joint.kind in ("revolute", "prismatic") and joint.lower is not None and joint.upper is not None:
            # Swapped limits are repaired when the URDF is read.
            bounds = {next(iter(free[joint.kind])): tuple(sorted((joint.lower, joint.upper)))}
        expected = {(kind, axis): (0, 0) for kind in ("lin", "ang") for axis in range(3) if (kind, axis) not in free[joint.kind]} | bounds
        if joint.lower is None or joint.upper is None or joint.kind == "continuous":
            limits = {key: limits[key] for key in expected if key in limits}
        assert limits == expected, name


def test_colliders_are_the_urdfs(case):
    glb = case.glb("everything")
    shapes = glb.json["extensions"].get("KHR_implicit_shapes", {}).get("shapes", [])
    root = glb.json["extensions"].get("KHR_physics_rigid_bodies", {})
    assert len({json.dumps(shape) for shape in shapes}) == len(shapes)
    colliding = set()
    for name, link in glb.links.items():
        for node, shape in zip(link.get("collisionNodes", []), case.urdf.links[name].collisions, strict=True):
            collider = _physics(glb, node).get("collider")
            if shape.kind == "mesh":
                assert (collider is None) == ("mesh" not in glb.nodes[node]), name
                assert collider is None or collider["geometry"] == {"node": node, "convexHull": True}
            elif collider is not None:
                found = shapes[collider["geometry"]["shape"]]
                values = {k: [abs(float(v)) for v in shape.attributes[k].split()] for k in ("size", "radius", "length") if k in shape.attributes}
                if shape.kind == "box":
                    assert found["type"] == "box" and np.allclose(TURN.T @ found["box"]["size"], np.maximum(values["size"], 1e-4)), name
                elif found["type"] == "sphere":
                    assert found["sphere"]["radius"] == pytest.approx(values["radius"][0])
                else:
                    assert found["type"] == shape.kind
                    form = found[found["type"]]
                    assert form["radiusTop"] == form["radiusBottom"] == pytest.approx(values["radius"][0])
                    assert form["height"] == pytest.approx(max(values["length"][0], 1e-4))
            if collider is not None:
                colliding.add(node)
                assert collider.get("physicsMaterial", 0) < max(1, len(root.get("physicsMaterials", [])))
    assert {n for n in range(len(glb.nodes)) if "collider" in _physics(glb, n)} == colliding


# ---- One robot ----------------------------------------------------------------------------------------------------------------


def test_the_same_input_gives_the_same_bytes_unless_it_is_dated(sample, tmp_path):
    folders = [tmp_path / name for name in ("one", "other", "dated")]
    options = ("--formats", "glb,gltf", "--no-cache", *VARIANTS["meshopt"], "--gltf-animations")
    for folder in folders[:2]:
        conftest.convert(sample, folder, *options)
    for file in ("sample_arm.glb", "sample_arm.gltf", "sample_arm.bin"):
        assert (folders[0] / "sample_arm" / file).read_bytes() == (folders[1] / "sample_arm" / file).read_bytes()
    command = [conftest.program(), "convert", sample.urdf, "-o", folders[2], *sample.options, "--formats", "gltf", "--gltf-date"]
    done = subprocess.run(command, env=os.environ | {"SOURCE_DATE_EPOCH": "951782399"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    source = json.loads((folders[2] / "sample_arm" / "sample_arm.gltf").read_text())["extensions"]["EXT_robot_kinematics"]["models"][0]["source"]
    assert source["resolvedAt"] == "2000-02-28T23:59:59Z"
    assert "resolvedAt" not in json.dumps(read(folders[0] / "sample_arm" / "sample_arm.glb")[0])


def test_options_without_gltf_are_rejected(sample, tmp_path):
    for option in (("--gltf-animations",), ("--gltf-physics",), ("--gltf-date",), ("--gltf-compression", "quantize")):
        done = conftest.run("convert", sample.urdf, "-o", tmp_path / "out", "--formats", "usd", *option)
        assert done.returncode == 2 and "--formats" in done.stderr and not (tmp_path / "out").exists()


def test_a_name_with_spaces_and_umlauts_finds_its_buffer(tmp_path):
    urdf = '<robot name="größe 1"><link name="a"><visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>'
    done = subprocess.run([conftest.program(), "convert", "-", "-o", tmp_path, "--formats", "gltf"], input=urdf, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    document, buffer = read(tmp_path / "größe 1" / "größe 1.gltf")
    assert document["buffers"][0]["uri"].isascii() and len(buffer) == document["buffers"][0]["byteLength"]


def test_links_that_never_meet_have_filters(tmp_path):
    """The pairs of an SRDF, each in both directions."""
    sphere = "<collision><geometry><sphere radius='0.1'/></geometry></collision>"
    links = "".join(f"<link name='{n}'>{sphere}</link>" for n in "abc")
    joints = "".join(f"<joint name='{p}{c}' type='continuous'><parent link='{p}'/><child link='{c}'/></joint>" for p, c in ("ab", "bc"))
    (tmp_path / "r.urdf").write_text(f"<robot name='r'>{links}{joints}</robot>")
    (tmp_path / "r.srdf").write_text("<robot name='r'><disable_collisions link1='c' link2='a'/></robot>")
    done = conftest.run("convert", tmp_path / "r.urdf", "-o", tmp_path, "--srdf-file", tmp_path / "r.srdf", "--formats", "glb", "--gltf-physics")
    assert done.returncode == 0, done.stderr
    glb = Glb(tmp_path / "r" / "r.glb")
    filters = glb.json["extensions"]["KHR_physics_rigid_bodies"]["collisionFilters"]
    found = {}
    for name, link in glb.links.items():
        collider = _physics(glb, link["collisionNodes"][0])["collider"]
        if "collisionFilter" in collider:
            entry = filters[collider["collisionFilter"]]
            found[name] = (entry["collisionSystems"], entry["notCollideWithSystems"])
    assert found == {"a": (["a"], ["c"]), "c": (["c"], ["a"])}
