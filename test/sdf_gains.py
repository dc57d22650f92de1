"""Reads the gains of actuators in an SDF in Drake; run through worker.py, in a Python with test/requirements-drake.txt."""

from sdf_peers import loaded


def answer(sdf):
    """Returns stiffness and damping by joint."""
    plant, model = loaded(sdf)
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices(model)]
    gains = {actuator.joint().name(): actuator.get_controller_gains() for actuator in actuators if actuator.has_controller()}
    return {name: [float(gain.p), float(gain.d)] for name, gain in gains.items()}
