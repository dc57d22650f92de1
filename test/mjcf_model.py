"""Loads an MJCF in MuJoCo; run through worker.py, in the Python of `.test-env/urdf`."""

import mujoco
import numpy as np


def answer(mjcf, configurations=()):
    """Describes the model: sizes, actuators by name, keyframes, and the poses of bodies for each configuration (joint → position, or
    a quaternion)."""
    model = mujoco.MjModel.from_xml_path(mjcf)
    data = mujoco.MjData(model)
    actuators = {}
    for index in range(model.nu):
        actuators[model.actuator(index).name] = {
            "gain": model.actuator_gainprm[index][:3].tolist(),
            "bias": model.actuator_biasprm[index][:3].tolist(),
            "force": model.actuator_forcerange[index].tolist() if model.actuator_forcelimited[index] else None,
        }
    keys = {model.key(index).name: {"qpos": model.key_qpos[index].tolist(), "ctrl": model.key_ctrl[index].tolist()} for index in range(model.nkey)}
    joints = {model.joint(index).name: int(model.joint(index).type[0]) for index in range(model.njnt)}
    poses = []
    for configuration in configurations:
        mujoco.mj_resetData(model, data)
        for name, position in configuration.items():
            data.joint(name).qpos[:] = position
        mujoco.mj_forward(model, data)
        poses.append({model.body(index).name: [data.xpos[index].tolist(), data.xmat[index].reshape(3, 3).tolist()] for index in range(model.nbody)})
    masses = {model.body(index).name: float(model.body_mass[index]) for index in range(model.nbody)}
    return {"nq": model.nq, "nv": model.nv, "actuators": actuators, "keys": keys, "joints": joints, "poses": poses, "masses": masses, "constraints": model.neq}
