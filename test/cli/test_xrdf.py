"""`urdf_usd xrdf` for robots of every kind: its spheres are compared with the collision meshes, by trimesh and by independent
formulas."""

import json

import numpy as np
import pytest
import trimesh
import yaml

import kinematics
import meshes
from conftest import ROOT, marks_of, run, source

ARM = ROOT / "examples" / "sample_arm"
URDF = ARM / "urdf" / "sample_arm.urdf"
PACKAGES = ("--package", f"sample_arm={ARM}")
#: Maximum distance in metres by which spheres may protrude.
ERROR = 0.04
#: Real robots with every kind of mesh, and one with primitives only.
REAL = ("ur_description", "jaco_description", "irobot_create_description", "spot_description", "cf2x_description")


@pytest.fixture(scope="module", params=["sample_arm", *(pytest.param(name, marks=marks_of(name)) for name in REAL)])
def written(request, tmp_path_factory):
    """Returns a robot, its XRDF, and the report of the command."""
    robot = source(request.param)
    path = tmp_path_factory.mktemp("xrdf") / "robot.xrdf"
    srdf = ("--srdf", ARM / "srdf" / "sample_arm.srdf") if request.param == "sample_arm" else ()
    done = run("xrdf", "write", robot.urdf, "-o", path, *robot.options, *srdf, "--error", ERROR, "--samples", 500, "--json")
    assert done.returncode == 0, done.stderr
    return robot, path, json.loads(done.stdout)


def collision_meshes(robot):
    """Returns the collision geometry of each link in its frame, and the maximum error of approximated round shapes."""
    links = {}
    for link in kinematics.read(robot.urdf).links.values():
        for shape in link.collisions:
            size, slack = shape.attributes, 0.0
            if shape.kind == "mesh":
                package, _, path = size["filename"].removeprefix("package://").partition("/")
                triangles = meshes.triangles(robot.packages[package] / path) * shape.scale
            elif shape.kind == "box":
                triangles = trimesh.creation.box([float(number) for number in size["size"].split()]).triangles
            else:
                radius = float(size["radius"])
                slack = radius * 5e-4
                is_ball = shape.kind == "sphere"
                round_one = trimesh.creation.icosphere(5, radius) if is_ball else trimesh.creation.cylinder(radius, float(size["length"]), sections=128)
                triangles = round_one.triangles
            triangles = np.asarray(triangles) @ shape.origin[:3, :3].T + shape.origin[:3, 3]
            mesh = trimesh.Trimesh(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3), process=False)
            of_link = links.setdefault(link.name, ([], 0.0))
            links[link.name] = ([*of_link[0], mesh], max(of_link[1], slack))
    return links


def distances(points, triangles):
    """Returns the distances of points from the nearest triangle."""
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
    """Returns the winding numbers of triangles around points."""
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


def sample_count(triangles):
    """Maximum number of sampled points: each is compared with all triangles."""
    return min(300, max(60, 600_000 // len(triangles)))


def check_coverage(parts, spheres, error):
    """Asserts that every point on and in the meshes is in a sphere, and that no sphere protrudes from all meshes by more than the error."""
    random = np.random.default_rng(5)
    triangles = np.concatenate([np.asarray(mesh.triangles) for mesh in parts])
    for mesh in parts:
        surface, _ = trimesh.sample.sample_surface(mesh, 4000, seed=7)
        assert not len(uncovered(surface, spheres))
        low, high = mesh.bounds
        volume = random.uniform(low, high, (sample_count(mesh.triangles), 3))
        volume = volume[np.abs(windings(volume, np.asarray(mesh.triangles))) > 0.5]
        assert not len(uncovered(volume, spheres))
    around = random.normal(size=(60, 3))
    around /= np.linalg.norm(around, axis=1)[:, None]
    points = (spheres[:, None, :3] + around * spheres[:, None, 3:]).reshape(-1, 3)
    points = points[random.permutation(len(points))[: sample_count(triangles)]]
    out = distances(points, triangles)
    far = points[out > error + 1e-6]
    # For a surface with holes, the winding number defines the inside.
    assert (np.abs(windings(far, triangles)) > 0.5).all()


def test_spheres_cover_the_collision_meshes_within_the_reported_error(written):
    robot, path, report = written
    [group] = yaml.safe_load(path.read_text())["geometry"].values()
    links = collision_meshes(robot)
    assert set(group["spheres"]) == set(links)
    fitted = {link["link"]: link for link in report["links"]}
    for link, of_link in group["spheres"].items():
        spheres = np.array([[*sphere["center"], sphere["radius"]] for sphere in of_link])
        assert len(spheres) == fitted[link]["spheres"] and fitted[link]["error"] <= ERROR
        of_meshes, slack = links[link]
        check_coverage(of_meshes, spheres, fitted[link]["error"] + slack)


def test_the_xrdf_is_valid_and_survives_usd_and_gltf(written, tmp_path):
    robot, path, _ = written
    done = run("xrdf", "check", "--strict", robot.urdf, path, *robot.options, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["diagnostics"] == [], done.stderr
    converted = run("convert", robot.urdf, "-o", tmp_path, *robot.options, "--xrdf-file", path, "--check", "--tiers", "high", "--json")
    report = json.loads(converted.stdout)
    # Colliders of the variant trimesh may be open or intersect themselves, with or without spheres.
    assert {d["code"] for d in report["diagnostics"] if d["severity"] == "error"} <= {"REP158-3.4.5", "REP158-3.4.7"}, converted.stderr
    # Spheres break no rule in any variant.
    assert not [d for d in report["diagnostics"] if d["code"].startswith("REP158") and ("sphere_" in d["message"] or "planning" in d["message"])]
    [folder] = [folder for folder in tmp_path.iterdir() if (folder / "report.json").is_file()]
    wanted = by_name(path)
    for ending in ("usda", "glb"):
        again = tmp_path / f"{ending}.xrdf"
        done = run("xrdf", "write", folder / f"{folder.name}.{ending}", "-o", again)
        assert done.returncode == 0, done.stderr
        assert by_name(again) == wanted


def by_name(path):
    """Returns the contents of an XRDF, with pairs as sets."""
    said = yaml.safe_load(path.read_text())
    ignored = said["self_collision"].pop("ignore", {})
    said["pairs"] = {frozenset((one, other)) for one, others in ignored.items() for other in others}
    return said


def test_wrong_arguments_and_files_are_reported(tmp_path):
    output = tmp_path / "a.xrdf"
    for arguments, code, said in (
        (("--error", "0"), 2, "above 0"),
        (("--error", "1", "--spheres", "3"), 2, "cannot be used with"),
        (("--joint", "nothing"), 1, "has no joint"),
        (("--jerk-limit", "elbow_joint=-1"), 2, "above 0"),
    ):
        done = run("xrdf", "write", URDF, "-o", output, *PACKAGES, *arguments)
        assert done.returncode == code and said in done.stderr, done.stderr
    assert not output.exists()
    wrong = tmp_path / "wrong.xrdf"
    wrong.write_text("format: xrdf\nformat_version: 1.0\ncspace:\n  joint_names: [elbow]\n")
    done = run("xrdf", "check", URDF, wrong, *PACKAGES, "--json")
    found = [(d["code"], d["where"]["line"], d["where"]["column"]) for d in json.loads(done.stdout)["diagnostics"]]
    assert done.returncode == 1 and ("xrdf-unknown-joint", 4, 17) in found and ("xrdf-missing", 4, 3) in found


def test_a_robot_without_collision_geometry_gets_a_remedy(tmp_path):
    geometry = '<collision><geometry><mesh filename="gone.stl"/></geometry></collision>'
    for shape, said in ((geometry, "see the errors about them"), ("", "add collision elements")):
        urdf = tmp_path / "r.urdf"
        urdf.write_text(f'<robot name="r"><link name="a">{shape}</link></robot>')
        done = run("xrdf", "write", urdf, "-o", tmp_path / "r.xrdf")
        assert done.returncode == 1 and "spheres-no-collision" in done.stderr and said in done.stderr, done.stderr
