"""Experiments with an asset in PhysX, on the CPU."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from . import experiments

ovphysx: Any = importlib.import_module("ovphysx")
ovstage: Any = importlib.import_module("ovstage")
schemas: Any = importlib.import_module("ovphysx.samples.python_samples.schema_support")
tensors: Any = importlib.import_module("ovphysx.types")

#: Step, s.
STEP = 1 / 2000
HOLD_STEP = 1 / 400
UNLIMITED = 1e9

ovstage.population.register_usd_schemas([*[str(path) for path in schemas.physx_schema_paths()], str(ovphysx.newton_schema_root())])
ovphysx.PhysX.set_cpu_mode(True)


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
        self.heard: list[str] = []
        scene = plan["scenes"]["physx" if contacts else f"physx_{gravity:g}"]
        self.physx = physx = ovphysx.PhysX()
        self.stage = ovstage.Stage("scene")
        ovstage.population.open_usd(self.stage, scene, ordinal=1, domains=ovstage.PopulationDomain.ALL)
        self.stage.advance_write_floor(ordinal=1).wait()
        physx.wait_task(physx.attach_ovstage(self.stage, read_ordinal=1))
        physx.wait_all()
        self.step = HOLD_STEP if contacts else STEP
        self.bindings: dict[str, Any] = {}
        names = plan["names"]["usd"]
        # A joint with several degrees of freedom has names such as `sled:2`.
        self.joints = [names.get(name, name) for name in self.binding("DOF_POSITION").dof_names]
        if not drives:
            self.fill("DOF_STIFFNESS", 0)
            self.fill("DOF_DAMPING", 0)
        if not limits:
            ranges = self.read("DOF_LIMIT")
            ranges[..., 0], ranges[..., 1] = -UNLIMITED, UNLIMITED
            self.write("DOF_LIMIT", ranges)
            self.fill("DOF_MAX_VELOCITY", UNLIMITED)
        if not friction:
            values = self.read("DOF_FRICTION_PROPERTIES")
            values[..., :2] = 0
            self.write("DOF_FRICTION_PROPERTIES", values)
        self.sensors: Any = physx.create_contact_binding(plan["bodies"]) if contacts else None

    def binding(self, name: str) -> Any:
        if name not in self.bindings:
            self.bindings[name] = self.physx.create_tensor_binding(pattern="/World/robot", tensor_type=getattr(tensors.TensorType, f"ARTICULATION_{name}"))
        return self.bindings[name]

    def read(self, name: str, kind: Any = np.float32) -> Any:
        binding = self.binding(name)
        values = np.zeros(binding.shape, dtype=kind)
        binding.read(values)
        return values

    def write(self, name: str, values: Any) -> None:
        self.binding(name).write(values)

    def fill(self, name: str, value: float) -> None:
        self.write(name, np.full(self.binding(name).shape, value, dtype=np.float32))

    def reset(self, positions: experiments.Positions, velocities: experiments.Positions) -> None:
        q, qd = self.read("DOF_POSITION"), self.read("DOF_VELOCITY")
        for at, name in enumerate(self.joints):
            q[0, at] = positions.get(name, q[0, at])
            qd[0, at] = velocities.get(name, 0.0)
        self.write("DOF_POSITION", q)
        self.write("DOF_VELOCITY", qd)

    def positions(self) -> experiments.Positions:
        return dict(zip(self.joints, map(float, self.read("DOF_POSITION")[0])))

    def mass(self) -> float:
        return float(self.read("BODY_MASS").sum())

    def centre(self) -> Any:
        return self.read("MASS_CENTER_WORLD")[0].tolist()

    def mass_matrix(self, joints: list[str]) -> Any:
        whole = self.read("MASS_MATRIX")[0]
        order = [len(whole) - len(self.joints) + self.joints.index(name) for name in joints]
        return whole[np.ix_(order, order)].tolist()

    def aim(self, targets: experiments.Positions) -> None:
        aims = self.read("DOF_POSITION_TARGET")
        for at, name in enumerate(self.joints):
            aims[0, at] = targets.get(name, aims[0, at])
        self.write("DOF_POSITION_TARGET", aims)

    def advance(self, seconds: float) -> None:
        for _ in range(round(seconds / self.step)):
            self.physx.step_sync(self.step)

    def touching(self) -> int:
        # Contacts are known after a step.
        self.physx.step_sync(1e-4)
        forces = np.zeros((self.sensors.sensor_count, 3), dtype=np.float32)
        self.sensors.read_net_normal_forces(forces)
        return int((np.abs(forces).max(axis=1) > 1e-6).sum())


def answer(entry: str, plan: experiments.Plan, checks: list[str]) -> Any:
    """Returns the results of checks."""
    return experiments.run(Simulation, entry, plan, checks)
