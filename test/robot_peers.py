"""Compares batches of the Python package's `Robot` with Pinocchio and MuJoCo; run through worker.py, in the Python of `.test-env/urdf`.

Arrays come in a file of NumPy, the fields of the robot in JSON."""

import mujoco
import numpy as np
import pinocchio as pin

from pinocchio_kinematics import GRAVITY, Peer


def answer(what, *arguments):
    return {"pinocchio": in_pinocchio, "mujoco": in_mujoco}[what](*arguments)


def apart(ours, theirs):
    """Returns the largest difference, relative to the largest number if it is above one."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    return float(np.abs(ours - theirs).max() / max(1.0, np.abs(theirs).max()))


def in_pinocchio(urdf, file, dof_names, link_names, tip):
    """Returns the largest differences of each array, and the number of links and coordinates that were compared."""
    given = np.load(file)
    peer = Peer(urdf, {"coordinates": [{"joint": name} for name in dof_names]})
    peer.model.gravity.linear = GRAVITY
    links = [(at, peer.frame(name)) for at, name in enumerate(link_names) if peer.model.existFrame(name, pin.FrameType.BODY)]
    cells = np.ix_(peer.compared, peer.compared)
    differences = dict.fromkeys(("fk", "jacobian", "local_jacobian", "mass_matrix", "gravity", "centre", "forces"), 0.0)

    def note(what, ours, theirs):
        differences[what] = max(differences[what], apart(ours, theirs))

    for row, q in enumerate(given["q"]):
        at = peer.at(q)
        pin.computeJointJacobians(peer.model, peer.data, at)
        pin.updateFramePlacements(peer.model, peer.data)
        for index, frame in links:
            note("fk", given["fk"][row, index], peer.data.oMf[frame].homogeneous)
        for name, reference in (("jacobian", pin.LOCAL_WORLD_ALIGNED), ("local_jacobian", pin.LOCAL)):
            theirs = pin.getFrameJacobian(peer.model, peer.data, peer.frame(tip), reference) @ peer.lead
            note(name, given[name][row][:, peer.compared], theirs[:, peer.compared])
        mass = pin.crba(peer.model, peer.data, at)
        mass = np.triu(mass) + np.triu(mass, 1).T
        note("mass_matrix", given["mass_matrix"][row][cells], (peer.lead.T @ mass @ peer.lead)[cells])
        held = peer.lead.T @ pin.computeGeneralizedGravity(peer.model, peer.data, at)
        note("gravity", given["gravity"][row][peer.compared], held[peer.compared])
        moved = peer.lead.T @ pin.rnea(peer.model, peer.data, at, peer.lead @ given["qd"][row], peer.lead @ given["qdd"][row])
        note("forces", given["forces"][row][peer.compared], moved[peer.compared])
        note("centre", given["centre"][row], pin.centerOfMass(peer.model, peer.data, at))
    return {"differences": differences, "links": len(links), "coordinates": len(peer.compared)}


def in_mujoco(mjcf, file, joint_names, link_names, root):
    """Returns the largest difference of poses, and the number of bodies that were compared. `positions` has a column for each joint."""
    given = np.load(file)
    model = mujoco.MjModel.from_xml_path(mjcf)
    data = mujoco.MjData(model)

    def body(name):
        return mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name)

    def pose(index):
        matrix = np.eye(4)
        matrix[:3, :3], matrix[:3, 3] = data.xmat[index].reshape(3, 3), data.xpos[index]
        return matrix

    links = [(at, body(name)) for at, name in enumerate(link_names) if body(name) >= 0]
    most = 0.0
    for row, positions in enumerate(given["positions"]):
        for name, position in zip(joint_names, positions, strict=True):
            data.qpos[model.joint(name).qposadr[0]] = position
        mujoco.mj_kinematics(model, data)
        view = np.linalg.inv(pose(max(body(root), 0)))
        for index, at in links:
            most = max(most, apart(given["fk"][row, index], view @ pose(at)))
    return {"difference": most, "bodies": len(links)}
