"""Scaled, mirrored and sheared bodies: joint frames, centres of mass and geometry stay where UsdPhysics parses them.

UsdPhysics decomposes the transform of a body into a rotation and a scale (`GfMatrix4d::Factor`); a reflection negates all three factors.
"""

import itertools
import json

import numpy as np
import pytest
from conftest import run
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

SIGNS = list(itertools.product((1, -1), repeat=3))
#: Up axis and metres per unit.
STAGES = [("Z", 1.0), ("Y", 0.01)]
POINTS = [(0, 0, 0), (0.1, 0, 0), (0, 0.2, 0), (0, 0, 0.3)]
CORNERS = np.array(list(itertools.product((-1, 1), repeat=3)), dtype=float)


def four(linear, at):
    """Returns a matrix for column vectors."""
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = linear, at
    return matrix


def turn(axis, degrees):
    return np.array(Gf.Matrix3d(Gf.Rotation(Gf.Vec3d(*axis), degrees))).T


def frame(position, orientation):
    """Returns the matrix of a position and a quaternion."""
    return four(np.array(Gf.Matrix3d(Gf.Quatd(orientation))).T, position)


def parsed(stage):
    """Returns what UsdPhysics parses: bodies and joints by path."""
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
    bodies, joints = {}, {}
    for kind, (paths, descriptions) in found.items():
        if kind == UsdPhysics.ObjectType.RigidBody:
            bodies |= {str(path): one for path, one in zip(paths, descriptions)}
        elif "Joint" in str(kind):
            joints |= {str(path): one for path, one in zip(paths, descriptions)}
    return bodies, joints


class Parsed:
    """Frames in metres with z up."""

    def __init__(self, path):
        self.stage = Usd.Stage.Open(str(path))
        self.metre = UsdGeom.GetStageMetersPerUnit(self.stage)
        self.up = turn((1, 0, 0), 90) if UsdGeom.GetStageUpAxis(self.stage) == "Y" else np.eye(3)
        self.described, self.joints = parsed(self.stage)
        self.bodies = {path: self.upright(frame(one.position, one.rotation)) for path, one in self.described.items()}
        self.cache = UsdGeom.XformCache()

    def upright(self, matrix):
        return four(self.up @ matrix[:3, :3], self.up @ matrix[:3, 3] * self.metre)

    def ends(self, path):
        """Returns the frames of a joint at both of its bodies."""
        one = self.joints[path]
        ends = [
            (str(one.body0), frame(one.localPose0Position, one.localPose0Orientation)),
            (str(one.body1), frame(one.localPose1Position, one.localPose1Orientation)),
        ]
        body = lambda path: frame(self.described[path].position, self.described[path].rotation) if path in self.described else np.eye(4)
        return [self.upright(body(path) @ local) for path, local in ends]

    def centre(self, path):
        """Returns the centre of mass of a body, as ComputeMassProperties does: scaled along the axes of the parsed body."""
        one = self.described[path]
        local = np.array(UsdPhysics.MassAPI.Get(self.stage, path).GetCenterOfMassAttr().Get()) * np.array(one.scale)
        return self.upright(frame(one.position, one.rotation) @ four(np.eye(3), local))[:3, 3]

    def points(self, prim):
        """Returns points of a mesh or cube in the world."""
        matrix = np.array(self.cache.GetLocalToWorldTransform(prim)).T
        local = CORNERS * UsdGeom.Cube(prim).GetSizeAttr().Get() / 2 if prim.IsA(UsdGeom.Cube) else np.array(prim.GetAttribute("points").Get())
        if prim.IsA(UsdGeom.Cone):
            cone = UsdGeom.Cone(prim)
            local = np.array([(0, 0, 1), (0, 0, -1)]) * cone.GetHeightAttr().Get() / 2
        world = local @ matrix[:3, :3].T + matrix[:3, 3]
        return world @ self.up.T * self.metre

    def volume(self, prim):
        """Returns the signed volume of a mesh in its own coordinates."""
        points, mesh = np.array(prim.GetAttribute("points").Get(), dtype=float), UsdGeom.Mesh(prim)
        corners, total = iter(mesh.GetFaceVertexIndicesAttr().Get()), 0.0
        for count in mesh.GetFaceVertexCountsAttr().Get():
            first, *rest = itertools.islice(corners, count)
            total += sum(np.linalg.det(points[[first, a, b]]) for a, b in itertools.pairwise(rest)) / 6
        return -total if mesh.GetOrientationAttr().Get() == "leftHanded" else total


def generated(path, signs, sheared, up, metre):
    """Writes a robot of three bodies and three joints; `signs` are those of the arm's scale."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, metre)
    root = UsdGeom.Xform.Define(stage, "/r")
    UsdPhysics.ArticulationRootAPI.Apply(root.GetPrim())
    stage.SetDefaultPrim(root.GetPrim())
    shear = np.array([[1, 0.4, -0.2], [0, 1, 0.3], [0, 0, 1]]) if sheared else np.eye(3)
    transforms = {
        "base": four(turn((1, 2, 3), 20) * 1.0, (0.1, 0.2, 0.3)),
        "arm": four(turn((1, 1, 0), 35) @ np.diag(np.multiply(signs, (1.0, 2.0, 0.5))) @ shear, (0.5, 0, 1)),
        "tip": four(turn((0, 1, 3), -70) @ shear @ np.diag((-0.7, 1.2, 1.5)), (0.6, 0.4, 1.2)),
    }
    for name, matrix in transforms.items():
        body = UsdGeom.Xform.Define(stage, f"/r/{name}")
        matrix = four(matrix[:3, :3], matrix[:3, 3] / metre)
        body.AddTransformOp().Set(Gf.Matrix4d(matrix.T.tolist()))
        UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
        mass = UsdPhysics.MassAPI.Apply(body.GetPrim())
        mass.CreateMassAttr(1.0)
        mass.CreateDiagonalInertiaAttr((0.1, 0.1, 0.1))
        mass.CreateCenterOfMassAttr(Gf.Vec3f(0.1, -0.2, 0.05) / metre)
        mesh = UsdGeom.Mesh.Define(stage, f"/r/{name}/v")
        mesh.CreatePointsAttr(np.array(POINTS) / metre)
        mesh.CreateFaceVertexCountsAttr([3] * 4)
        mesh.CreateFaceVertexIndicesAttr([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3])
        mesh.CreateSubdivisionSchemeAttr("none")
        cube = UsdGeom.Cube.Define(stage, f"/r/{name}/c")
        cube.CreateSizeAttr(0.2 / metre)
        cube.AddTranslateOp().Set(Gf.Vec3d(0.1, 0.2, -0.1) / metre)
        cube.AddScaleOp().Set(Gf.Vec3f(1, -1.5, 2))
        cone = UsdGeom.Cone.Define(stage, f"/r/{name}/k")
        cone.CreateHeightAttr(0.3 / metre)
        cone.CreateRadiusAttr(0.1 / metre)
        cone.AddTranslateOp().Set(Gf.Vec3d(-0.1, 0.1, 0.2) / metre)
    mount = UsdGeom.Xform.Define(stage, "/r/arm/mount")
    mount.AddTransformOp().Set(Gf.Matrix4d(four(turn((1, 0, 2), 40) @ np.diag((1, 1, -1)), np.array((0.1, 0, 0.2)) / metre).T.tolist()))
    joints = {
        "turn": (UsdPhysics.RevoluteJoint, "/r/base", "/r/arm", (0.2, 0.1, 0.4)),
        "slide": (UsdPhysics.PrismaticJoint, "/r/arm/mount", "/r/tip", (0.1, -0.1, 0.2)),
        "hold": (UsdPhysics.FixedJoint, None, "/r/base", (0.1, 0.2, 0.3)),
    }
    for name, (kind, first, second, at) in joints.items():
        joint = kind.Define(stage, f"/r/{name}")
        if first:
            joint.CreateBody0Rel().SetTargets([first])
        joint.CreateBody1Rel().SetTargets([second])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*at) / metre)
        joint.CreateLocalRot0Attr(Gf.Quatf(Gf.Rotation(Gf.Vec3d(1, -2, 0.5), 50).GetQuat()))
        if kind != UsdPhysics.FixedJoint:
            joint.CreateAxisAttr("Z")
            joint.CreateLowerLimitAttr(-0.5)
            joint.CreateUpperLimitAttr(1.0)
    # Both frames of a joint are the same place, as parsed.
    bodies, found = parsed(stage)
    for joint_path, one in found.items():
        body = bodies[str(one.body1)]
        first = frame(bodies[str(one.body0)].position, bodies[str(one.body0)].rotation) if str(one.body0) in bodies else np.eye(4)
        local = np.linalg.inv(frame(body.position, body.rotation)) @ first @ frame(one.localPose0Position, one.localPose0Orientation)
        joint = UsdPhysics.Joint.Get(stage, joint_path)
        joint.CreateLocalPos1Attr(Gf.Vec3f(*(local[:3, 3] / np.array(body.scale))))
        joint.CreateLocalRot1Attr(Gf.Quatf(Gf.Matrix3d(local[:3, :3].T.tolist()).ExtractRotation().GetQuat()))
    stage.Save()
    source = Parsed(path)
    for joint_path in source.joints:
        np.testing.assert_allclose(*source.ends(joint_path), atol=1e-5)
    return source


@pytest.mark.parametrize("up, metre", STAGES)
@pytest.mark.parametrize("sheared", [False, True])
@pytest.mark.parametrize("signs", SIGNS, ids=["".join("+-"[sign < 0] for sign in signs) for signs in SIGNS])
def test_fix_keeps_frames_and_geometry(tmp_path, signs, sheared, up, metre):
    source = generated(tmp_path / "r.usda", signs, sheared, up, metre)
    done = run("fix", tmp_path / "r.usda", "-o", tmp_path / "out", "--json")
    assert done.returncode in (0, 1), done.stderr
    (entry,) = (tmp_path / "out").glob("*/r.usda")
    result = Parsed(entry)
    assert set(result.bodies) == set(source.bodies) and set(result.joints) == set(source.joints)
    for path, body in source.bodies.items():
        np.testing.assert_allclose(result.bodies[path][:3, 3], body[:3, 3], atol=1e-5, err_msg=path)
        np.testing.assert_allclose(result.described[path].scale, 1, atol=1e-5, err_msg=path)
        np.testing.assert_allclose(result.centre(path), source.centre(path), atol=1e-5, err_msg=path)
        for name in ("v", "c", "k"):
            if sheared and name != "v" and path != "/r/base":
                continue  # `fix` reports that a sheared solid cannot be expressed.
            prims = [one.stage.GetPrimAtPath(f"{path}/{name}") for one in (source, result)]
            points = [one.points(prim) for one, prim in zip((source, result), prims)]
            same = np.array([np.linalg.norm(points[1] - point, axis=1).min() for point in points[0]])
            assert same.max() < 1e-5, f"{path}/{name}"
        assert result.volume(result.stage.GetPrimAtPath(f"{path}/v")) > 0, path
    for path in source.joints:
        for end, wanted in zip(result.ends(path), source.ends(path)):
            np.testing.assert_allclose(end, wanted, atol=1e-5, err_msg=path)


@pytest.mark.parametrize("up, metre", STAGES)
@pytest.mark.parametrize("sheared", [False, True])
@pytest.mark.parametrize("signs", SIGNS, ids=["".join("+-"[sign < 0] for sign in signs) for signs in SIGNS])
def test_convert_keeps_frames_and_geometry(tmp_path, signs, sheared, up, metre):
    source = generated(tmp_path / "r.usda", signs, sheared, up, metre)
    done = run("convert", tmp_path / "r.usda", "-o", tmp_path / "out", "--json", "--formats", "usd")
    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    assert "usd-read-apart" not in {found["code"] for found in report["diagnostics"]}, report["diagnostics"]
    (entry,) = (tmp_path / "out").glob("*/r.usda")
    result = Parsed(entry)
    named = {Sdf.Path(path).name: path for path in (*result.bodies, *result.joints)}
    for path, body in source.bodies.items():
        name = Sdf.Path(path).name
        np.testing.assert_allclose(result.centre(named[name]), source.centre(path), atol=1e-5, err_msg=path)
        body = result.stage.GetPrimAtPath(named[name])
        shapes = Usd.PrimRange(body, Usd.TraverseInstanceProxies(Usd.PrimDefaultPredicate))
        nearest = lambda prim: next(p for p in iter_up(prim) if p.HasAPI(UsdPhysics.RigidBodyAPI))
        shapes = [prim for prim in shapes if prim.IsA(UsdGeom.Gprim) and nearest(prim) == body]
        drawn = np.concatenate([result.points(prim) for prim in shapes])
        for shape in ("v", "c", "k"):
            for point in source.points(source.stage.GetPrimAtPath(f"{path}/{shape}"))[: 1 if shape == "k" else None]:
                assert np.linalg.norm(drawn - point, axis=1).min() < 1e-5, f"{path}/{shape}"
        for prim in shapes:
            assert not prim.IsA(UsdGeom.Mesh) or result.volume(prim) > 0, prim.GetPath()
    for path in source.joints:
        name = Sdf.Path(path).name
        if name == "hold":
            continue
        # The axis is what a joint's frame means: the writer may choose another frame along it.
        wanted, _ = source.ends(path)
        axis = {"X": 0, "Y": 1, "Z": 2}[result.stage.GetPrimAtPath(named[name]).GetAttribute("physics:axis").Get()]
        for end in result.ends(named[name]):
            np.testing.assert_allclose(np.abs(end[:3, axis] @ wanted[:3, 2]), 1, atol=1e-5, err_msg=path)
            if name == "turn":
                np.testing.assert_allclose(np.cross(end[:3, 3] - wanted[:3, 3], wanted[:3, 2]), 0, atol=1e-5, err_msg=path)


def iter_up(prim):
    """Yields a prim and its ancestors."""
    while prim:
        yield prim
        prim = prim.GetParent()
