"""Compares two URDFs of the same robot in Pinocchio and MuJoCo; run through worker.py, in the Python
of `.test-env/urdf`."""

import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin

# Otherwise MuJoCo writes its warnings into a file in the working directory.
mujoco.set_mju_user_warning(lambda _: None)

#: Number of compared poses.
POSES = 5


def chance(name, pose):
    """Returns a generator that depends only on the joint name and the pose, as the order of joints may differ."""
    return np.random.default_rng([zlib.crc32(name.encode()), pose])


def apart(a, b):
    """Returns the largest difference of numbers, relative to the largest one if it is above one."""
    return float(np.abs(a - b).max() / max(1.0, np.abs(a).max())) if np.size(a) else 0.0


# ---- Pinocchio ----------------------------------------------------------------------------------------------------------------


def velocity(model, pose):
    """Returns the velocity that leads each joint from zero to its pose."""
    q = np.zeros(model.nv)
    for index in range(1, model.njoints):
        joint = model.joints[index]
        q[joint.idx_v : joint.idx_v + joint.nv] = chance(model.names[index], pose).uniform(-1, 1, joint.nv)
    return q


def in_pinocchio(original, written):
    """Returns the largest differences of frames and of mass matrices; `None` if Pinocchio rejects the original."""
    try:
        a = pin.buildModelFromUrdf(original)
    except Exception:  # noqa: BLE001 - rejected, for any reason: there is nothing to compare
        pin.buildModelFromUrdf(written)
        return None
    b = pin.buildModelFromUrdf(written)
    names = list(a.names)
    assert sorted(names) == sorted(b.names), sorted({*names} ^ {*b.names})
    frames = [frame.name for frame in a.frames if frame.type == pin.FrameType.BODY]
    of = lambda model, name: [model.joints[model.getJointId(name)].idx_v + k for k in range(model.joints[model.getJointId(name)].nv)]
    orders = [[index for name in names[1:] for index in of(model, name)] for model in (a, b)]
    in_frames, in_masses = 0.0, 0.0
    for pose in range(POSES):
        placed, masses = [], []
        for model, order in zip((a, b), orders, strict=True):
            data = model.createData()
            q = pin.integrate(model, pin.neutral(model), velocity(model, pose))
            pin.framesForwardKinematics(model, data, q)
            placed.append(np.array([data.oMf[model.getFrameId(name, pin.FrameType.BODY)].homogeneous for name in frames]))
            mass = pin.crba(model, data, q)
            mass = np.triu(mass) + np.triu(mass, 1).T
            masses.append(mass[np.ix_(order, order)])
        in_frames = max(in_frames, apart(*placed))
        in_masses = max(in_masses, apart(*masses))
    ranges = [
        np.array([side[order] for side in (m.lowerPositionLimit, m.upperPositionLimit, m.effortLimit, m.velocityLimit) if m.nq == m.nv])
        for m, order in zip((a, b), orders, strict=True)
    ]
    return {"frames": in_frames, "masses": in_masses, "links": len(frames), "joints": len(names) - 1, "ranges": apart(*ranges)}


# ---- MuJoCo -------------------------------------------------------------------------------------------------------------------


#: Joint types with one degree of freedom.
SINGLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def bare(urdf):
    """Returns the text of a URDF without visuals and collisions, whose files MuJoCo cannot all read, with a body for every link."""
    root = ElementTree.parse(urdf).getroot()
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    own = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(own, "compiler", fusestatic="false", balanceinertia="true", boundmass="1e-3", boundinertia="1e-6")
    return ElementTree.tostring(root, encoding="unicode")


def in_mujoco(original, written):
    """Returns the same for MuJoCo."""
    try:
        a = mujoco.MjModel.from_xml_string(bare(original))
    except (ValueError, ElementTree.ParseError):
        return None
    b = mujoco.MjModel.from_xml_string(bare(written))
    bodies = [a.body(index).name for index in range(a.nbody)]
    assert sorted(bodies) == sorted(b.body(index).name for index in range(b.nbody)), bodies
    names = [a.joint(index).name for index in range(a.njnt)]
    assert sorted(names) == sorted(b.joint(index).name for index in range(b.njnt)), names
    single = [name for name in names if int(a.joint(name).type[0]) in SINGLE]
    differences = {"frames": 0.0, "masses": 0.0}
    for pose in range(POSES):
        placed, masses = [], []
        for model in (a, b):
            data = mujoco.MjData(model)
            for name in single:
                data.joint(name).qpos[0] = chance(name, pose).uniform(-1, 1)
            mujoco.mj_forward(model, data)
            placed.append(np.array([[*data.body(name).xpos, *data.body(name).xmat] for name in bodies]))
            mass = np.zeros((model.nv, model.nv))
            if model.nv:
                mujoco.mj_fullM(model, data, mass)
            order = [model.joint(name).dofadr[0] for name in single]
            masses.append(mass[np.ix_(order, order)])
        differences["frames"] = max(differences["frames"], apart(*placed))
        differences["masses"] = max(differences["masses"], apart(*masses))
    # URDF has no infinity: a joint that requires limits but has none gets the largest numbers.
    of = lambda joint: joint.range if joint.limited[0] and np.abs(joint.range).max() < 1e30 else np.zeros(2)
    ranges = [np.array([of(model.joint(name)) for name in single]) for model in (a, b)]
    return differences | {"links": len(bodies), "joints": len(single), "ranges": apart(*ranges)}


def meshes(written):
    """Returns the bounding boxes of MuJoCo's geometry of a URDF with its mesh files, by mesh."""
    model = mujoco.MjModel.from_xml_path(written)
    vertices = lambda mesh: model.mesh_vert[model.mesh_vertadr[mesh] : model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh]]
    return {model.mesh(mesh).name: np.ptp(vertices(mesh), axis=0).tolist() for mesh in range(model.nmesh)}


def shapes(written):
    """Returns the numbers of colliders and visuals that Pinocchio loads with their mesh files."""
    model = pin.buildModelFromUrdf(written)
    kinds = (pin.GeometryType.COLLISION, pin.GeometryType.VISUAL)
    return [pin.buildGeomFromUrdf(model, written, kind, package_dirs=[str(Path(written).parent)]).ngeoms for kind in kinds]


def answer(what, *arguments):
    return {"pinocchio": in_pinocchio, "mujoco": in_mujoco, "meshes": meshes, "shapes": shapes}[what](*arguments)
