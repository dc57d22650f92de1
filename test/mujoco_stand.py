"""Puts an MJCF on a floor in MuJoCo; run through worker.py, in the Python of `.test-env/urdf`."""

import mujoco
import numpy as np

SECONDS = 2.0


def answer(entry):
    """Returns what happens within two seconds after the start: how far the base falls, the cosine of its tilt, and the largest motion of a
    joint with a stiff drive."""
    spec = mujoco.MjSpec.from_file(entry)
    spec.worldbody.add_geom(name="the floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1])
    model = spec.compile()
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    (free,) = [i for i in range(model.njnt) if int(model.jnt_type[i]) == mujoco.mjtJoint.mjJNT_FREE]
    height = model.jnt_qposadr[free] + 2
    mujoco.mj_forward(model, data)
    floor, between = model.geom("the floor").id, np.zeros(6)
    colliders = [i for i in range(model.ngeom) if i != floor and (model.geom_contype[i] or model.geom_conaffinity[i])]
    data.qpos[height] += 5
    mujoco.mj_forward(model, data)
    data.qpos[height] -= min(mujoco.mj_geomDistance(model, data, floor, i, 100, between) for i in colliders)
    start = data.qpos.copy()
    for _ in range(round(SECONDS / model.opt.timestep)):
        mujoco.mj_step(model, data)
    held = [model.jnt_qposadr[model.actuator_trnid[i][0]] for i in range(model.nu) if model.actuator_biasprm[i][1] < 0]
    return {
        "fall": float(start[height] - data.qpos[height]),
        "upright": float(data.body(model.jnt_bodyid[free]).xmat[8]),
        "moved": float(np.abs(data.qpos - start)[held].max()),
    }
