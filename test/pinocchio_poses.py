"""Computes link poses, mass matrices and limits of a URDF with Pinocchio; run through worker.py, in the Python of
`.test-env/urdf`."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pinocchio as pin
from mjcf_peers import SOUND, amended
from urdf_peers import POSES, chance


def answer(urdf, massless, unsound):
    """Returns `None` if Pinocchio rejects the URDF. Joints are those with one degree of freedom."""
    root = amended(urdf, massless, unsound)
    try:
        model = pin.buildModelFromXML(ElementTree.tostring(root, encoding="unicode"))
    except Exception:  # noqa: BLE001 - rejected, for any reason: there is nothing to compare
        return None
    data = model.createData()
    joints = {model.names[index]: model.joints[index] for index in range(1, model.njoints) if model.joints[index].nv == 1}
    links = [link.get("name") for link in root.findall("link")]
    links = [name for name in links if model.existFrame(name, pin.FrameType.BODY)]
    order = [joint.idx_v for joint in joints.values()]
    told = {"moment": SOUND, "links": links, "poses": [], "frames": [], "masses": []}
    told["limits"] = {
        name: {"effort": float(model.effortLimit[joint.idx_v]), "velocity": float(model.velocityLimit[joint.idx_v])}
        | ({"lower": float(model.lowerPositionLimit[joint.idx_q]), "upper": float(model.upperPositionLimit[joint.idx_q])} if joint.nq == 1 else {})
        for name, joint in joints.items()
    }
    for number in range(POSES):
        pose = {name: float(chance(name, number).uniform(-1, 1)) for name in joints}
        v = np.zeros(model.nv)
        v[order] = list(pose.values())
        q = pin.integrate(model, pin.neutral(model), v)
        pin.framesForwardKinematics(model, data, q)
        told["poses"].append(pose)
        told["frames"].append({name: data.oMf[model.getFrameId(name, pin.FrameType.BODY)].homogeneous.tolist() for name in links})
        mass = pin.crba(model, data, q)
        told["masses"].append((np.triu(mass) + np.triu(mass, 1).T)[np.ix_(order, order)].tolist())
    return told
