"""Loads an SDF in Drake; run through worker.py, in a Python with test/requirements-drake.txt."""

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import RotationalInertia, SpatialInertia


def finite(value):
    """Returns a limit; None if it is infinite."""
    return float(value) if np.isfinite(value) and abs(value) < 1e15 else None


def loaded(sdf):
    plant = MultibodyPlant(0.0)
    (model,) = Parser(plant).AddModels(sdf)
    plant.Finalize()
    return plant, model


def described(plant, model):
    """Describes joints and bodies by name."""
    efforts = {plant.get_joint_actuator(index).joint().name(): plant.get_joint_actuator(index).effort_limit() for index in plant.GetJointActuatorIndices(model)}
    joints = {}
    for index in plant.GetJointIndices(model):
        joint = plant.get_joint(index)
        if joint.num_velocities() == 1:
            joints[joint.name()] = {
                "type": joint.type_name(),
                "lower": finite(joint.position_lower_limits()[0]),
                "upper": finite(joint.position_upper_limits()[0]),
                "velocity": finite(joint.velocity_upper_limits()[0]),
                # Drake creates no actuator for a joint without effort.
                "effort": finite(efforts.get(joint.name(), 0.0)),
                "damping": float(joint.default_damping_vector()[0]),
            }
        elif joint.num_velocities() == 0:
            joints[joint.name()] = {"type": joint.type_name(), "on": joint.parent_body().name()}
    bodies = {plant.get_body(index).name(): plant.get_body(index).default_mass() for index in plant.GetBodyIndices(model)}
    free = [plant.get_body(index).name() for index in plant.GetFloatingBaseBodies() if plant.get_body(index).model_instance() == model]
    return {"joints": joints, "bodies": bodies, "free": free}


def answer(sdf, links, poses, unsound, moment):
    """Describes the model, with the poses of links in the world by name and the mass matrix in the order of the joints, for each pose
    (joint → position). Links in `unsound` get the same moment about every axis."""
    plant, model = loaded(sdf)
    context = plant.CreateDefaultContext()
    for name in unsound:
        body = plant.GetBodyByName(name, model)
        mass, centre = body.default_mass(), body.default_com()
        inertia = SpatialInertia.MakeFromCentralInertia(mass, centre, RotationalInertia(moment, moment, moment))
        body.SetSpatialInertiaInBodyFrame(context, inertia)
    told = described(plant, model)
    links = [name for name in links if plant.HasFrameNamed(name, model)]
    told["frames"], told["masses"] = [], []
    for pose in poses:
        joints = [plant.GetJointByName(name, model) for name in pose]
        for joint, position in zip(joints, pose.values(), strict=True):
            plant.SetPositions(context, moved(plant.GetPositions(context), joint.position_start(), position))
        frames = [plant.GetFrameByName(name, model).CalcPoseInWorld(context) for name in links]
        told["frames"].append({name: RigidTransform(frame).GetAsMatrix4().tolist() for name, frame in zip(links, frames, strict=True)})
        order = [joint.velocity_start() for joint in joints]
        told["masses"].append(plant.CalcMassMatrix(context)[np.ix_(order, order)].tolist())
    return told


def moved(positions, index, position):
    positions = positions.copy()
    positions[index] = position
    return positions
