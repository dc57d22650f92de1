"""Compares an MJCF in MuJoCo with the URDF of the same robot in Pinocchio and MuJoCo; run through worker.py, in the Python of
`.test-env/urdf`."""

import tempfile
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio as pin
from urdf_peers import POSES, SINGLE, apart, bare, chance

#: The moment of inertia, in both models, of links whose own moments are physically impossible.
SOUND = 0.01
#: The names of MuJoCo's geometry types.
GEOMS = {int(getattr(mujoco.mjtGeom, name)): name.removeprefix("mjGEOM_").lower() for name in dir(mujoco.mjtGeom) if name.startswith("mjGEOM_")}


def amended(urdf, massless, unsound):
    """Returns the root element of a URDF with the program's default mass for links without one: a ball of 1 g and 5 cm radius."""
    root = ElementTree.parse(urdf).getroot()
    for link in root.findall("link"):
        inertial = link.find("inertial")
        if link.get("name") in massless:
            if inertial is None:
                inertial = ElementTree.SubElement(link, "inertial")
            for name in ("mass", "inertia"):
                for old in inertial.findall(name):
                    inertial.remove(old)
            ElementTree.SubElement(inertial, "mass", value="0.001")
            moments(inertial, 0.4 * 0.001 * 0.05**2)
        elif link.get("name") in unsound:
            for old in inertial.findall("inertia"):
                inertial.remove(old)
            moments(inertial, SOUND)
    return root


def moments(inertial, moment):
    numbers = {"ixx": moment, "iyy": moment, "izz": moment, "ixy": 0, "ixz": 0, "iyz": 0}
    ElementTree.SubElement(inertial, "inertia", {name: str(value) for name, value in numbers.items()})


def frame(model, data, name):
    """Returns the pose of a link: of its body or its site."""
    if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) >= 0:
        at = data.body(name)
        return at.xpos, at.xmat.reshape(3, 3)
    at = data.site(name)
    return at.xpos, at.xmat.reshape(3, 3)


def matrix(position, turn):
    out = np.eye(4)
    out[:3, 3], out[:3, :3] = position, turn
    return out


def single_joints(model):
    return [model.joint(index).name for index in range(model.njnt) if int(model.joint(index).type[0]) in SINGLE]


def full_mass(model, data):
    mass = np.zeros((model.nv, model.nv))
    if model.nv:
        mujoco.mj_fullM(model, data, mass)
    return mass


def against_pinocchio(root, model, joints, links=None):
    """Returns the largest differences of frames (of all links, or some) and of mass matrices; `None` if Pinocchio rejects the URDF."""
    try:
        fixed = pin.buildModelFromXML(ElementTree.tostring(root, encoding="unicode"))
    except Exception:  # noqa: BLE001 - rejected, for any reason: there is nothing to compare
        return None
    data, theirs = mujoco.MjData(model), fixed.createData()
    every = [link.get("name") for link in root.findall("link")]
    top = next(name for name in every if name not in {child.get("link") for child in root.findall("joint/child")})
    known = [name for name in links or every if fixed.existFrame(name, pin.FrameType.BODY)]
    in_frames, in_masses = 0.0, 0.0
    order = [fixed.joints[fixed.getJointId(name)].idx_v for name in joints]
    mine = [model.joint(name).dofadr[0] for name in joints]
    for pose in range(POSES):
        v = np.zeros(fixed.nv)
        for name, index in zip(joints, order, strict=True):
            v[index] = data.joint(name).qpos[0] = chance(name, pose).uniform(-1, 1)
        q = pin.integrate(fixed, pin.neutral(fixed), v)
        pin.framesForwardKinematics(fixed, theirs, q)
        mujoco.mj_forward(model, data)
        base = np.linalg.inv(matrix(*frame(model, data, top)))
        a = np.array([theirs.oMf[fixed.getFrameId(name, pin.FrameType.BODY)].homogeneous for name in known])
        b = np.array([base @ matrix(*frame(model, data, name)) for name in known])
        in_frames = max(in_frames, apart(a, b))
        mass = pin.crba(fixed, theirs, q)
        mass = (np.triu(mass) + np.triu(mass, 1).T)[np.ix_(order, order)]
        if mass.size:
            difference = np.abs(mass - full_mass(model, data)[np.ix_(mine, mine)]).max()
            in_masses = max(in_masses, float(difference / np.abs(mass).max()))
    return {"frames": in_frames, "masses": in_masses, "links": len(known)}


def against_mujoco(root, model, joints):
    """Returns the largest difference of frames to MuJoCo's import of the URDF; `None` if MuJoCo rejects it."""
    with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write(ElementTree.tostring(root, encoding="unicode"))
        file.flush()
        try:
            original = mujoco.MjModel.from_xml_string(bare(file.name))
        except ValueError:
            return None
    worst = 0.0
    bodies = [original.body(index).name for index in range(1, original.nbody)]
    for pose in range(POSES):
        placed = []
        for of in (original, model):
            data = mujoco.MjData(of)
            for name in joints:
                data.joint(name).qpos[0] = chance(name, pose).uniform(-1, 1)
            mujoco.mj_forward(of, data)
            frames = [matrix(*frame(of, data, name)) for name in bodies]
            placed.append(np.array([np.linalg.inv(frames[0]) @ at for at in frames]) if frames else np.zeros(0))
        worst = max(worst, apart(*placed))
    return worst


def mesh_boxes(model):
    """Returns the bounding boxes of each body's visual meshes, in the frame of the body."""
    boxes = {}
    for index in range(model.ngeom):
        if model.geom_type[index] != mujoco.mjtGeom.mjGEOM_MESH or model.geom_group[index] != 2:
            continue
        mesh, turn = model.geom_dataid[index], np.zeros(9)
        first = model.mesh_vertadr[mesh]
        mujoco.mju_quat2Mat(turn, model.geom_quat[index])
        points = model.mesh_vert[first : first + model.mesh_vertnum[mesh]] @ turn.reshape(3, 3).T + model.geom_pos[index]
        boxes.setdefault(model.body(model.geom_bodyid[index]).name, []).extend([points.min(axis=0), points.max(axis=0)])
    return {name: [np.min(corners, axis=0).tolist(), np.max(corners, axis=0).tolist()] for name, corners in boxes.items()}


def described(model):
    """Describes a model for the tests, by name."""
    kind = lambda index: int(model.joint(index).type[0])
    name = lambda what, index: mujoco.mj_id2name(model, what, int(index))
    joint_name = lambda index: name(mujoco.mjtObj.mjOBJ_JOINT, index)
    equalities = []
    for index in range(model.neq):
        of = {"type": int(model.eq_type[index]), "data": model.eq_data[index].tolist()}
        if model.eq_type[index] == mujoco.mjtEq.mjEQ_JOINT:
            second = int(model.eq_obj2id[index])
            of |= {"joints": [joint_name(model.eq_obj1id[index]), joint_name(second) if second >= 0 else None]}
        equalities.append(of)
    joints = {
        joint_name(index): {
            "type": kind(index),
            "range": model.jnt_range[index].tolist() if model.jnt_limited[index] else None,
            "effort": model.jnt_actfrcrange[index].tolist() if model.jnt_actfrclimited[index] else None,
            "damping": float(model.dof_damping[model.jnt_dofadr[index]]),
            "friction": float(model.dof_frictionloss[model.jnt_dofadr[index]]),
        }
        for index in range(model.njnt)
    }
    actuators = {
        joint_name(model.actuator_trnid[index][0]): {
            "force": model.actuator_forcerange[index].tolist() if model.actuator_forcelimited[index] else None,
            "control": model.actuator_ctrlrange[index].tolist() if model.actuator_ctrllimited[index] else None,
            "bias": model.actuator_biasprm[index][:3].tolist(),
            "gain": float(model.actuator_gainprm[index][0]),
        }
        for index in range(model.nu)
    }
    geoms = [
        {
            "body": name(mujoco.mjtObj.mjOBJ_BODY, model.geom_bodyid[index]),
            "type": GEOMS[int(model.geom_type[index])],
            "group": int(model.geom_group[index]),
            "collides": bool(model.geom_contype[index] or model.geom_conaffinity[index]),
            "size": model.geom_size[index].tolist(),
            "color": (model.mat_rgba[model.geom_matid[index]] if model.geom_matid[index] >= 0 else model.geom_rgba[index]).tolist(),
        }
        for index in range(model.ngeom)
    ]
    names = lambda kind, count: [mujoco.mj_id2name(model, kind, index) for index in range(count)]
    return {
        "joints": joints,
        "equalities": equalities,
        "actuators": actuators,
        "geoms": geoms,
        "boxes": mesh_boxes(model),
        "bodies": {name(mujoco.mjtObj.mjOBJ_BODY, index): float(model.body_mass[index]) for index in range(1, model.nbody)},
        "sites": names(mujoco.mjtObj.mjOBJ_SITE, model.nsite),
        "sensors": names(mujoco.mjtObj.mjOBJ_SENSOR, model.nsensor),
        "cameras": {name(mujoco.mjtObj.mjOBJ_CAMERA, index): float(model.cam_fovy[index]) for index in range(model.ncam)},
        "keys": {name(mujoco.mjtObj.mjOBJ_KEY, index): model.key_qpos[index].tolist() for index in range(model.nkey)},
        "excludes": int(model.nexclude),
    }


def held(model):
    """Returns what happens in one second from the start (the first keyframe): contacts and loads of gravity at the start, the distance that
    each joint moves, and MuJoCo's warnings."""
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    contacts = [[model.body(model.geom_bodyid[geom]).name for geom in contact.geom] for contact in data.contact]
    start, load = data.qpos.copy(), data.qfrc_bias.copy()
    for _ in range(round(1 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    moved = {}
    for name in single_joints(model):
        at = model.joint(name).qposadr[0]
        moved[name] = {
            "by": float(abs(data.qpos[at] - start[at])),
            "load": float(load[model.joint(name).dofadr[0]]),
            "slides": int(model.joint(name).type[0]) == mujoco.mjtJoint.mjJNT_SLIDE,
        }
    return {"contacts": contacts, "moved": moved, "warnings": int(sum(warning.number for warning in data.warning)), "time": data.time}


def held_and_described(mjcf):
    model = mujoco.MjModel.from_xml_path(mjcf)
    return {"start": held(model), "model": described(model)}


def answer(first, *more):
    """Compares a URDF with an MJCF; or describes an MJCF alone, if the first argument is `held_and_described`."""
    return held_and_described(*more) if first == "held_and_described" else compare(first, *more)


def compare(urdf, mjcf, massless, unsound):
    model = mujoco.MjModel.from_xml_path(mjcf)
    start = held(model)
    told = described(model)
    for name in unsound:
        if mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) >= 0:
            model.body(name).inertia[:] = SOUND
    mujoco.mj_setConst(model, mujoco.MjData(model))
    root = amended(urdf, massless, unsound)
    types = {joint.get("name"): joint.get("type") for joint in root.findall("joint")}
    joints = [name for name in single_joints(model) if types.get(name) in ("revolute", "continuous", "prismatic")]
    return {"pinocchio": against_pinocchio(root, model, joints), "mujoco": against_mujoco(root, model, joints), "model": told, "start": start}
