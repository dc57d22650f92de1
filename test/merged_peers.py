"""Compares an MJCF whose fixed joints are merged with the URDF in Pinocchio, and with the MJCF of all links in MuJoCo; run through worker.py, in
the Python of `.test-env/urdf`."""

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
from mjcf_peers import against_pinocchio, held, single_joints

#: Seconds that both models fall.
FALL = 0.5
#: The time step of the fall, s.
STEP = 1e-3


def fall(model):
    """Returns the positions of the joints after a free fall from a state in which each of them moves, without drives and contacts."""
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_ACTUATION
    model.opt.timestep = STEP
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    names = single_joints(model)
    for index, name in enumerate(names):
        data.joint(name).qvel[0] = 0.1 * (-1) ** index
    for _ in range(round(FALL / STEP)):
        mujoco.mj_step(model, data)
    return {name: float(data.joint(name).qpos[0]) for name in names}


def masses(model):
    """Returns the mass and its centre at the zero of all joints, in the frame of the world."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mass = model.body_mass
    return [float(mass.sum()), *(mass @ data.xipos / mass.sum()).tolist()]


def answer(urdf, merged, unmerged):
    root = ElementTree.parse(urdf).getroot()
    models = [mujoco.MjModel.from_xml_path(path) for path in (merged, unmerged)]
    names = lambda model, kind, count: {mujoco.mj_id2name(model, kind, index) for index in range(count)}
    model = models[0]
    frames = names(model, mujoco.mjtObj.mjOBJ_BODY, model.nbody) | names(model, mujoco.mjtObj.mjOBJ_SITE, model.nsite)
    links = [link.get("name") for link in root.findall("link") if link.get("name") in frames]
    types = {joint.get("name"): joint.get("type") for joint in root.findall("joint")}
    joints = [name for name in single_joints(model) if types.get(name) in ("revolute", "continuous", "prismatic")]
    start = held(models[0])
    return {
        "bodies": [model.nbody - 1 for model in models],
        "shapes": [model.ngeom for model in models],
        "links": links,
        "pinocchio": against_pinocchio(root, models[0], joints, links),
        "masses": [masses(model) for model in models],
        "contacts": start["contacts"],
        "fall": [fall(model) for model in models],
        "finite": bool(np.isfinite(list(fall(models[0]).values())).all()),
    }
