"""Joints with several degrees of freedom, and several joints between two bodies, in MuJoCo, URDF and OpenUSD.

The motion is computed here from the frames of the joints in the stage: those between two bodies act one after the other, as MuJoCo's
joints of one body do. Newton reads them so, too.
"""

import json
import math
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from conftest import run
from pxr import Gf, Usd, UsdGeom, UsdPhysics
from test_urdf import peers
from worker import worker

AXES = {"X": (1, 0, 0), "Y": (0, 1, 0), "Z": (0, 0, 1)}
CLOSE = 1e-5


def four(turn=None, at=(0, 0, 0)):
    matrix = np.eye(4)
    matrix[:3, :3] = np.eye(3) if turn is None else turn
    matrix[:3, 3] = at
    return matrix


def about(axis, angle):
    """Returns the rotation about an axis by an angle in radians."""
    x, y, z = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def quaternion(turn):
    """Returns w, x, y, z of a rotation."""
    gf = Gf.Matrix3d(turn.T.tolist()).ExtractRotation().GetQuat()
    return Gf.Quatf(gf)


class Robot:
    """Two bodies, placed at zero, and joints between them."""

    def __init__(self, path, child=None):
        self.stage = Usd.Stage.CreateNew(str(path))
        self.path = path
        UsdGeom.SetStageUpAxis(self.stage, "Z")
        UsdGeom.SetStageMetersPerUnit(self.stage, 1)
        root = UsdGeom.Xform.Define(self.stage, "/r").GetPrim()
        self.stage.SetDefaultPrim(root)
        UsdPhysics.ArticulationRootAPI.Apply(root)
        self.child = four(about((1, 2, 3), 0.4), (0.1, -0.2, -0.5)) if child is None else child
        for name, pose in (("base", four()), ("leg", self.child)):
            body = UsdGeom.Xform.Define(self.stage, f"/r/{name}")
            body.AddTransformOp().Set(Gf.Matrix4d(pose.T.tolist()))
            UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
            mass = UsdPhysics.MassAPI.Apply(body.GetPrim())
            mass.CreateMassAttr(1.0)
            mass.CreateDiagonalInertiaAttr((0.1, 0.1, 0.1))

    def joint(self, name, kind, far, axis="X", limits=None, swapped=False, drives=(), free=()):
        """Adds a joint whose frame in the leg is `far`."""
        joint = getattr(UsdPhysics, f"{kind}Joint" if kind else "Joint").Define(self.stage, f"/r/{name}")
        near = self.child @ far
        for index, (body, frame) in enumerate([("leg", far), ("base", near)] if swapped else [("base", near), ("leg", far)]):
            getattr(joint, f"CreateBody{index}Rel")().SetTargets([f"/r/{body}"])
            getattr(joint, f"CreateLocalPos{index}Attr")().Set(Gf.Vec3f(*frame[:3, 3].tolist()))
            getattr(joint, f"CreateLocalRot{index}Attr")().Set(quaternion(frame[:3, :3]))
        if kind and kind != "Fixed":
            joint.CreateAxisAttr(axis)
        if limits:
            joint.CreateLowerLimitAttr(limits[0])
            joint.CreateUpperLimitAttr(limits[1])
        if not kind:
            for freedom in ("transX", "transY", "transZ", "rotX", "rotY", "rotZ"):
                limit = UsdPhysics.LimitAPI.Apply(joint.GetPrim(), freedom)
                low, high = (-1.0, 1.0) if freedom in free else (1.0, -1.0)
                limit.CreateLowAttr(low * (60 if freedom.startswith("rot") else 1))
                limit.CreateHighAttr(high * (60 if freedom.startswith("rot") else 1))
        for instance in drives:
            drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), instance)
            drive.CreateStiffnessAttr(10.0 + len(instance))
            drive.CreateDampingAttr(1.0)
        self.stage.Save()

    def moved(self, parts):
        """Returns the pose of the leg: `parts` are the frames in it, kinds, axes and positions."""
        pose = self.child
        for far, kind, axis, position in parts:
            step = four(at=np.array(AXES[axis]) * position) if kind == "Prismatic" else four(about(AXES[axis], position))
            pose = pose @ far @ step @ np.linalg.inv(far)
        return pose


def converted(source, folder, *formats):
    done = run("convert", source, "-o", folder, "--formats", ",".join(formats), "--json")
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["status"] != "errors", report["diagnostics"]
    return [(d["code"], d["message"]) for d in report["diagnostics"]]


def in_mujoco(folder, *configurations):
    (file,) = folder.glob("*/*.xml")
    return worker(peers(), "urdf").ask("mjcf_model", str(file), list(configurations))[0]


def pose_of(poses, name):
    at, turn = poses[name]
    return four(np.array(turn), at)


def relative(poses, name="leg", to="base"):
    return np.linalg.inv(pose_of(poses, to)) @ pose_of(poses, name)


FRAMES = {
    "at the body": four(),
    "off the body": four(about((0, 1, 0), 0.3), (0.05, 0.1, 0.2)),
}
#: Kinds and axes of the joints between the two bodies, in order, with a frame each.
CHAINS = {
    "hip": [("Revolute", "X"), ("Revolute", "Y"), ("Revolute", "Z")],
    "universal": [("Revolute", "Z"), ("Revolute", "X")],
    "cylinder": [("Prismatic", "Z"), ("Revolute", "Z")],
    "table": [("Prismatic", "X"), ("Prismatic", "Y"), ("Revolute", "Z")],
}
POSITIONS = (0.3, -0.4, 0.25)


@pytest.mark.parametrize("swapped", [(), (1,), (0, 1, 2)], ids=["as written", "one swapped", "all swapped"])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("chain", CHAINS)
def test_joints_between_two_bodies_act_one_after_the_other(tmp_path, chain, frame, swapped):
    robot = Robot(tmp_path / "r.usda")
    # Frames apart from each other, so that the axes do not meet.
    frames = [FRAMES[frame] @ four(at=(0.02 * index if frame != "at the body" else 0, 0, 0)) for index in range(len(CHAINS[chain]))]
    for index, ((kind, axis), far) in enumerate(zip(CHAINS[chain], frames)):
        robot.joint(f"j{index}", kind, far, axis, (-90, 90) if kind == "Revolute" else (-1, 1), index in swapped)
    told = converted(robot.path, tmp_path / "out", "mjcf", "urdf", "usd", "glb", "sdf")
    assert [code for code, _ in told].count("usd-read-joint-chain") == 1
    configuration = {f"j{index}": POSITIONS[index] for index in range(len(frames))}
    model = in_mujoco(tmp_path / "out", configuration, {})
    assert (model["nq"], model["nv"], model["constraints"]) == (7 + len(frames), 6 + len(frames), 0)
    # The base is free; no body is between it and the leg.
    assert set(model["masses"]) == {"world", "base", "leg"} and model["masses"]["leg"] == 1
    # A joint whose first body is the leg moves the base against it, and the chain begins at the first body of the first joint.
    parts = [(far, kind, axis, -position if index in swapped else position) for index, ((kind, axis), far, position) in enumerate(zip(CHAINS[chain], frames, POSITIONS))]
    wanted = robot.moved(parts[::-1] if 0 in swapped else parts)
    assert np.allclose(relative(model["poses"][0]), wanted, atol=CLOSE)
    assert np.allclose(relative(model["poses"][1]), robot.child, atol=CLOSE)
    urdf = ElementTree.parse(next((tmp_path / "out").glob("*/*.urdf"))).getroot()
    moving = [joint for joint in urdf.iter("joint") if joint.get("type") not in ("fixed", "floating")]
    assert [joint.get("name") for joint in moving] and {joint.get("name") for joint in moving} == set(configuration)
    (usd,) = [file for file in (tmp_path / "out").glob("*/r.usda")]
    stage = Usd.Stage.Open(str(usd))
    joints = [prim for prim in stage.Traverse() if prim.IsA(UsdPhysics.Joint)]
    bodies = [body for joint in joints for body in UsdPhysics.Joint(joint).GetBody1Rel().GetTargets()]
    # A tree: every body is moved by one joint.
    assert len(set(bodies)) == len(bodies) and not any(UsdPhysics.Joint(joint).GetExcludeFromArticulationAttr().Get() for joint in joints)


@pytest.mark.parametrize("axis", "XYZ")
@pytest.mark.parametrize("frame", FRAMES)
def test_a_ball_keeps_the_leg_on(tmp_path, frame, axis):
    robot = Robot(tmp_path / "r.usda")
    robot.joint("ball", "Spherical", FRAMES[frame], axis)
    told = converted(robot.path, tmp_path / "out", "mjcf", "urdf", "usd", "glb", "sdf")
    assert "usd-read-joint-chain" in [code for code, _ in told]
    turn = about((1, -2, 0.5), 0.8)
    q = quaternion(turn)
    model = in_mujoco(tmp_path / "out", {"ball": [q.GetReal(), *q.GetImaginary()]})
    assert (model["nq"], model["nv"], model["constraints"]) == (7 + 4, 6 + 3, 0)
    assert set(model["masses"]) == {"world", "base", "leg"}
    # A ball turns in the axes of the body, about its centre.
    centre = four(at=FRAMES[frame][:3, 3])
    assert np.allclose(relative(model["poses"][0]), robot.child @ centre @ four(turn) @ np.linalg.inv(centre), atol=CLOSE)
    urdf = ElementTree.parse(next((tmp_path / "out").glob("*/*.urdf"))).getroot()
    assert sorted(joint.get("type") for joint in urdf.iter("joint") if joint.get("type") != "fixed") == ["continuous"] * 3
    (glb,) = (tmp_path / "out").glob("*/*.glb")
    converted(glb, tmp_path / "again", "mjcf")
    again = in_mujoco(tmp_path / "again")
    assert (again["nq"], again["nv"]) == (11, 9)


def test_the_cone_of_a_ball_limits_its_swing(tmp_path):
    robot = Robot(tmp_path / "r.usda")
    robot.joint("ball", "Spherical", four(), "Z")
    ball = UsdPhysics.SphericalJoint.Get(robot.stage, "/r/ball")
    ball.CreateConeAngle0LimitAttr(30)
    ball.CreateConeAngle1LimitAttr(20)
    robot.stage.Save()
    told = converted(robot.path, tmp_path / "out", "urdf", "mjcf")
    assert "mjcf-ball-limit" in [code for code, _ in told]
    urdf = ElementTree.parse(next((tmp_path / "out").glob("*/*.urdf"))).getroot()
    limits = {joint.get("name"): joint.find("limit") for joint in urdf.iter("joint")}
    # The first angle is from Z towards X, about Y.
    for name, angle in (("ball_rotY", 30), ("ball_rotX", 20)):
        assert float(limits[name].get("upper")) == pytest.approx(math.radians(angle))
        assert float(limits[name].get("lower")) == pytest.approx(-math.radians(angle))


@pytest.mark.parametrize(
    "free", [("rotX", "rotY"), ("rotX", "rotY", "rotZ"), ("transX", "rotX"), ("transX", "transY", "transZ"), ("transZ", "rotX", "rotY", "rotZ")], ids="-".join
)
def test_a_joint_with_several_axes_keeps_its_limits_and_drives(tmp_path, free):
    robot = Robot(tmp_path / "r.usda")
    robot.joint("d6", None, FRAMES["off the body"], free=free, drives=free)
    told = converted(robot.path, tmp_path / "out", "mjcf", "usd")
    assert "usd-read-joint-approximated" not in [code for code, _ in told]
    assert "usd-read-drive-instance" not in [code for code, _ in told]
    configuration = {f"d6_{freedom}": 0.1 + 0.1 * index for index, freedom in enumerate(free)}
    model = in_mujoco(tmp_path / "out", configuration)
    assert model["nv"] == 6 + len(free) and set(model["actuators"]) == set(configuration)
    parts = [
        (FRAMES["off the body"], "Prismatic" if freedom.startswith("trans") else "Revolute", freedom[-1], configuration[f"d6_{freedom}"]) for freedom in free
    ]
    assert np.allclose(relative(model["poses"][0]), robot.moved(parts), atol=CLOSE)
    for freedom in free:
        unit = math.pi / 180 if freedom.startswith("rot") else 1
        assert model["actuators"][f"d6_{freedom}"]["gain"][0] == pytest.approx((10 + len(freedom)) / unit, rel=1e-6)


@pytest.mark.parametrize("swapped", [False, True])
def test_two_hinges_of_a_door_are_one(tmp_path, swapped):
    robot = Robot(tmp_path / "r.usda")
    robot.joint("upper", "Revolute", four(at=(0, 0, 1)), "Z")
    robot.joint("lower", "Revolute", four(at=(0, 0, -1)), "Z", swapped=swapped)
    told = converted(robot.path, tmp_path / "out", "mjcf")
    assert "usd-read-joint-chain" not in [code for code, _ in told]
    assert in_mujoco(tmp_path / "out")["nv"] == 7
