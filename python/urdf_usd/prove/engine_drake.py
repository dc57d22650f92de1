"""Experiments with an SDF in Drake."""

from __future__ import annotations

import importlib
import logging
from typing import Any

import numpy as np

from . import experiments

parsing: Any = importlib.import_module("pydrake.multibody.parsing")
plants: Any = importlib.import_module("pydrake.multibody.plant")
analysis: Any = importlib.import_module("pydrake.systems.analysis")

#: Step, s.
STEP = 2.5e-4


class Heard(logging.Handler):
    """Collects warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


HEARD = Heard()
logging.getLogger("drake").addHandler(HEARD)


def loaded(entry: str, step: float) -> tuple[Any, Any]:
    """Returns a plant with a model."""
    plant = plants.MultibodyPlant(step)
    (model,) = parsing.Parser(plant).AddModels(entry)
    return plant, model


class Simulation:
    """A robot whose base is held; see experiments.py."""

    def __init__(
        self,
        entry: str,
        plan: experiments.Plan,
        drives: bool = True,
        limits: bool = True,
        contacts: bool = True,
        friction: bool = True,
        gravity: float = experiments.GRAVITY,
    ) -> None:
        HEARD.texts.clear()
        free, model = loaded(entry, 0.0)
        free.Finalize()
        bases = [free.get_body(index).name() for index in free.GetFloatingBaseBodies()]
        self.plant, self.instance = loaded(entry, STEP)
        plant = self.plant
        for name in bases:
            plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(name, self.instance), free.GetDefaultFloatingBaseBodyPose(free.GetBodyByName(name)))
        joints = [plant.get_joint(index) for index in plant.GetJointIndices(self.instance)]
        single = [joint for joint in joints if joint.num_velocities() == 1]
        renamed = plan["names"]["drake"]
        self.joints = {renamed.get(joint.name(), joint.name()): joint for joint in single}
        if not limits:
            for joint in single:
                joint.set_position_limits([-np.inf], [np.inf])
        if not drives:
            for index in plant.GetJointActuatorIndices():
                plant.RemoveJointActuator(plant.get_joint_actuator(index))
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -gravity])
        plant.Finalize()
        self.context = plant.CreateDefaultContext()
        self.actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices(self.instance)]
        self.driven = [actuator for actuator in self.actuators if actuator.has_controller()]
        # An SDF has no start.
        self.reset(plan["start"], {})
        self.aim({})
        self.simulator = analysis.Simulator(plant, self.context)
        self.heard = HEARD.texts

    def reset(self, positions: experiments.Positions, velocities: experiments.Positions) -> None:
        q, v = self.plant.GetPositions(self.context), self.plant.GetVelocities(self.context)
        for name, joint in self.joints.items():
            if name in positions:
                q[joint.position_start()] = positions[name]
            v[joint.velocity_start()] = velocities.get(name, 0.0)
        self.plant.SetPositions(self.context, q)
        self.plant.SetVelocities(self.context, v)

    def positions(self) -> experiments.Positions:
        q = self.plant.GetPositions(self.context)
        return {name: float(q[joint.position_start()]) for name, joint in self.joints.items()}

    def mass(self) -> float:
        return float(self.plant.CalcTotalMass(self.context))

    def centre(self) -> Any:
        return self.plant.CalcCenterOfMassPositionInWorld(self.context).tolist()

    def mass_matrix(self, joints: list[str]) -> Any:
        order = [self.joints[name].velocity_start() for name in joints]
        return self.plant.CalcMassMatrix(self.context)[np.ix_(order, order)].tolist()

    def aim(self, targets: experiments.Positions) -> None:
        if not self.driven:
            return
        names = {joint.name(): name for name, joint in self.joints.items()}
        held = self.positions()
        wanted = [targets.get(names[actuator.joint().name()], held[names[actuator.joint().name()]]) for actuator in self.actuators]
        port = self.plant.get_desired_state_input_port(self.instance)
        port.FixValue(self.context, np.concatenate([wanted, np.zeros(len(wanted))]))

    def advance(self, seconds: float) -> None:
        self.simulator.AdvanceTo(self.context.get_time() + seconds)

    def touching(self) -> int:
        # Without a scene graph, nothing collides.
        return 0


def answer(entry: str, plan: experiments.Plan, checks: list[str]) -> Any:
    """Returns the results of checks."""
    return experiments.run(Simulation, entry, plan, checks)
