"""`urdf_usd xrdf`: written for the sample arm, its spheres are held against the collision meshes by trimesh and by formulas of their own."""

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import trimesh
import yaml

from conftest import ROOT, run

ARM = ROOT / "examples" / "sample_arm"
URDF = ARM / "urdf" / "sample_arm.urdf"
PACKAGES = ("--package", f"sample_arm={ARM}")
#: Metres that spheres may stand out.
ERROR = 0.04


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The XRDF, and the report of how it was written."""
    path = tmp_path_factory.mktemp("xrdf") / "arm.xrdf"
    done = run("xrdf", "write", URDF, "-o", path, *PACKAGES, "--srdf", ARM / "srdf" / "sample_arm.srdf", "--error", ERROR, "--samples", 500, "--json")
    assert done.returncode == 0, done.stderr
    return path, json.loads(done.stdout)


def rotation(roll, pitch, yaw):
    (a, b, c), (x, y, z) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    about_x = np.array([[1, 0, 0], [0, a, -x], [0, x, a]])
    about_y = np.array([[b, 0, y], [0, 1, 0], [-y, 0, b]])
    about_z = np.array([[c, -z, 0], [z, c, 0], [0, 0, 1]])
    return about_z @ about_y @ about_x


def collision_meshes():
    """The collision geometry of each link of the arm in the link's frame."""
    links = {}
    for link in ET.parse(URDF).getroot().findall("link"):
        for collision in link.findall("collision"):
            shape = collision.find("geometry")[0]
            numbers = lambda text: [float(number) for number in text.split()]  # noqa: E731
            if shape.tag == "mesh":
                path = shape.get("filename").replace("package://sample_arm", str(ARM))
                mesh = trimesh.load(path, force="mesh", process=False)
                mesh.apply_scale(numbers(shape.get("scale", "1 1 1")))
            elif shape.tag == "box":
                mesh = trimesh.creation.box(numbers(shape.get("size")))
            elif shape.tag == "cylinder":
                mesh = trimesh.creation.cylinder(float(shape.get("radius")), float(shape.get("length")), sections=128)
            else:
                mesh = trimesh.creation.icosphere(5, float(shape.get("radius")))
            origin = collision.find("origin")
            if origin is not None:
                turned = np.eye(4)
                turned[:3, :3] = rotation(*numbers(origin.get("rpy", "0 0 0")))
                turned[:3, 3] = numbers(origin.get("xyz", "0 0 0"))
                mesh.apply_transform(turned)
            links.setdefault(link.get("name"), []).append(mesh)
    return links


def distances(points, triangles):
    """How far points are from the nearest of triangles."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    best = np.full(len(points), np.inf)
    normal = np.cross(b - a, c - a)
    area = np.einsum("ij,ij->i", normal, normal)
    area[area == 0] = 1e-300
    for index, point in enumerate(points):
        to = point - a
        v = np.einsum("ij,ij->i", np.cross(to, c - a), normal) / area
        w = np.einsum("ij,ij->i", np.cross(b - a, to), normal) / area
        inside = (v >= 0) & (w >= 0) & (v + w <= 1)
        square = np.where(inside, np.einsum("ij,ij->i", to, normal) ** 2 / area, np.inf)
        for start, end in ((a, b), (b, c), (c, a)):
            along = end - start
            length = np.einsum("ij,ij->i", along, along)
            at = np.clip(np.einsum("ij,ij->i", point - start, along) / np.where(length > 0, length, 1), 0, 1)
            rest = point - start - at[:, None] * along
            square = np.minimum(square, np.einsum("ij,ij->i", rest, rest))
        best[index] = square.min()
    return np.sqrt(best)


def windings(points, triangles):
    """How often triangles go around points."""
    result = np.empty(len(points))
    for index, point in enumerate(points):
        a, b, c = (triangles[:, k] - point for k in range(3))
        la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
        below = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
        result[index] = 2 * np.arctan2((a * np.cross(b, c)).sum(1), below).sum() / (4 * np.pi)
    return result


def uncovered(points, spheres):
    centers, radii = spheres[:, :3], spheres[:, 3]
    return points[(np.linalg.norm(points[:, None] - centers, axis=2) > radii + 1e-9).all(axis=1)]


def hold(meshes, spheres, error):
    """Every point on and in the meshes is in a sphere, and no sphere stands out of them all by more than the error."""
    random = np.random.default_rng(5)
    triangles = np.concatenate([np.asarray(mesh.triangles) for mesh in meshes])
    for mesh in meshes:
        surface, _ = trimesh.sample.sample_surface(mesh, 4000, seed=7)
        assert not len(uncovered(surface, spheres))
        low, high = mesh.bounds
        volume = random.uniform(low, high, (1500, 3))
        volume = volume[np.abs(windings(volume, np.asarray(mesh.triangles))) > 0.5]
        assert len(volume) and not len(uncovered(volume, spheres))
    around = random.normal(size=(60, 3))
    around /= np.linalg.norm(around, axis=1)[:, None]
    points = (spheres[:, None, :3] + around * spheres[:, None, 3:]).reshape(-1, 3)
    points = points[random.permutation(len(points))[:1500]]
    out = distances(points, triangles)
    far = points[out > error + 1e-6]
    # Where a surface has holes, what it goes around is inside.
    assert (np.abs(windings(far, triangles)) > 0.5).all()


def test_spheres_cover_the_collision_meshes_and_stand_out_as_said(written):
    path, report = written
    [group] = yaml.safe_load(path.read_text())["geometry"].values()
    meshes = collision_meshes()
    assert set(group["spheres"]) == set(meshes)
    fitted = {link["link"]: link for link in report["links"]}
    for link, of_link in group["spheres"].items():
        spheres = np.array([[*sphere["center"], sphere["radius"]] for sphere in of_link])
        assert len(spheres) == fitted[link]["spheres"] and fitted[link]["error"] <= ERROR
        hold(meshes[link], spheres, fitted[link]["error"])


def test_the_xrdf_holds_and_comes_back_from_usd_and_gltf(written, tmp_path):
    path, _ = written
    done = run("xrdf", "check", URDF, path, *PACKAGES, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["diagnostics"] == [], done.stderr
    converted = run("convert", URDF, "-o", tmp_path, *PACKAGES, "--xrdf", path, "--check", "--tiers", "high", "--json")
    assert converted.returncode == 0, converted.stderr
    report = json.loads(converted.stdout)
    assert not [found for found in report["diagnostics"] if found["code"].startswith("rep158")]
    wanted = by_name(path)
    for ending in ("usda", "glb"):
        again = tmp_path / f"{ending}.xrdf"
        done = run("xrdf", "write", tmp_path / "sample_arm" / f"sample_arm.{ending}", "-o", again)
        assert done.returncode == 0, done.stderr
        assert by_name(again) == wanted


def by_name(path):
    """What an XRDF says, pairs in no order."""
    said = yaml.safe_load(path.read_text())
    ignored = said["self_collision"].pop("ignore", {})
    said["pairs"] = {frozenset((one, other)) for one, others in ignored.items() for other in others}
    return said


def test_wrong_arguments_and_files_are_told(tmp_path):
    output = tmp_path / "a.xrdf"
    for arguments, code, said in (
        (("--error", "0"), 2, "above zero"),
        (("--error", "1", "--spheres", "3"), 2, "cannot be used with"),
        (("--joint", "nothing"), 1, "has no joint"),
        (("--jerk-limit", "elbow_joint=-1"), 2, "above zero"),
    ):
        done = run("xrdf", "write", URDF, "-o", output, *PACKAGES, *arguments)
        assert done.returncode == code and said in done.stderr, done.stderr
    assert not output.exists()
    wrong = tmp_path / "wrong.xrdf"
    wrong.write_text("format: xrdf\nformat_version: 1.0\ncspace:\n  joint_names: [elbow]\n")
    done = run("xrdf", "check", URDF, wrong, *PACKAGES, "--json")
    found = [(d["code"], d["where"]["line"], d["where"]["column"]) for d in json.loads(done.stdout)["diagnostics"]]
    assert done.returncode == 1 and ("xrdf-unknown-joint", 4, 17) in found and ("xrdf-missing", 4, 3) in found
