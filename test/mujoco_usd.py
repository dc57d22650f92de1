"""Reads the overlay `mujoco` with MuJoCo's own reader of OpenUSD; run through worker.py, in the Python of `.test-env/urdf`."""

import hashlib

import mujoco
import mujoco._usd  # noqa: F401 - registers the reader and its schemas
import numpy as np
from pxr import Usd

WARNED = []
mujoco.set_mju_user_warning(WARNED.append)
FREE, HINGE = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_HINGE)


def simulated(path):
    """Returns the model of an entry or an MJCF at the start and after one second, by names of joints."""
    WARNED.clear()
    model = mujoco.MjModel.from_xml_path(path) if path.endswith(".xml") else mujoco.MjSpec.from_file(path).compile()
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    own = lambda name: name.rsplit("/", 1)[-1]
    of = lambda array, joint: array[model.jnt_dofadr[joint]].item()
    single = [joint for joint in range(model.njnt) if model.jnt_type[joint] >= HINGE - 1]
    positions = lambda: {own(model.joint(joint).name): data.qpos[model.jnt_qposadr[joint]].item() for joint in single}
    told = {
        "warnings": list(WARNED),
        "bodies": model.nbody,
        "free": [data.qpos[at : at + 7].tolist() for at in model.jnt_qposadr[model.jnt_type == FREE]],
        "mass": float(model.body_mass.sum()),
        "integrator": int(model.opt.integrator),
        "contacts": int(data.ncon),
        "equalities": sorted(model.eq_data[:, :2].tolist()),
        "joints": {
            own(model.joint(joint).name): {
                "range": model.jnt_range[joint].tolist() if model.jnt_limited[joint] else None,
                "effort": model.jnt_actfrcrange[joint].tolist(),
                "armature": of(model.dof_armature, joint),
                "damping": of(model.dof_damping, joint),
                "friction": of(model.dof_frictionloss, joint),
            }
            for joint in single
        },
        "actuators": {
            own(model.joint(model.actuator_trnid[index, 0]).name): {
                "gain": model.actuator_gainprm[index, 0].item(),
                "bias": model.actuator_biasprm[index, :3].tolist(),
                "control": model.actuator_ctrlrange[index].tolist(),
                "force": model.actuator_forcerange[index].tolist(),
                "target": data.ctrl[index].item(),
            }
            for index in range(model.nu)
        },
        "start": positions(),
    }
    for _ in range(round(1 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    assert np.isfinite(data.qpos).all()
    told["end"] = positions()
    return told


def undeclared(entry):
    """Returns properties of MuJoCo and Newton that the schemas of their prims do not declare, or declare otherwise."""
    stage = Usd.Stage.Open(entry)
    found = []
    for prim in stage.TraverseAll():
        definition = prim.GetPrimDefinition()
        if prim.GetTypeName().startswith("Mjc"):
            assert prim.IsA(prim.GetTypeName()), prim
        for name in prim.GetAppliedSchemas():
            if name.startswith(("Mjc", "Newton")):
                assert name in definition.GetAppliedAPISchemas(), (prim, name)
        for property in prim.GetAuthoredProperties():
            name = property.GetName()
            if not name.startswith(("mjc:", "newton:")):
                continue
            if isinstance(property, Usd.Relationship):
                is_alike = bool(definition.GetRelationshipDefinition(name))
            else:
                declared = definition.GetAttributeDefinition(name)
                is_alike = declared and (declared.GetTypeName(), declared.GetVariability()) == (property.GetTypeName(), property.GetVariability())
            if not is_alike:
                found.append(str(property.GetPath()))
    return found


def digests(*paths):
    """Returns for each asset the error of MuJoCo, or a hash of its model without names and derived meshes."""
    skipped = ("nam", "path", "text", "mesh_", "nmesh", "bvh", "nbvh", "oct", "nbuffer", "narena", "signature")
    found = []
    for path in paths:
        try:
            model = mujoco.MjSpec.from_file(path).compile()
        except Exception as error:  # noqa: BLE001 - MuJoCo raises several kinds
            found.append([str(error), None])
            continue
        arrays = {name: getattr(model, name) for name in dir(model) if not name.startswith(("_", "nnam", *skipped))}
        arrays |= {"gravity": model.opt.gravity, "timestep": np.array(model.opt.timestep)}
        parts = [f"{name}{array.shape}".encode() + array.tobytes() for name, array in sorted(arrays.items()) if isinstance(array, np.ndarray)]
        found.append([None, hashlib.sha256(b"".join(parts)).hexdigest()])
    return found


def answer(what, *paths):
    return {"simulated": simulated, "undeclared": undeclared, "digests": digests}[what](*paths)
