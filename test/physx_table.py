"""Experiments with an asset in PhysX; run through worker.py, in the Python of `.test-env/physx`."""

import experiments
import numpy as np
import ovphysx
import ovstage
from ovphysx import PhysX
from ovphysx.samples.python_samples.schema_support import physx_schema_paths
from ovphysx.types import TensorType

#: Step, s.
STEP = 1 / 2000
HOLD_STEP = 1 / 400
UNLIMITED = 1e9

ovstage.population.register_usd_schemas([*[str(path) for path in physx_schema_paths()], str(ovphysx.newton_schema_root())])
PhysX.set_cpu_mode(True)


class Simulation:
    def __init__(self, entry, plan, drives=True, limits=True, contacts=True, friction=True, gravity=experiments.GRAVITY):
        self.heard = []
        scene = plan["scenes"]["physx" if contacts else f"physx_{gravity:g}"]
        self.physx = physx = PhysX()
        self.stage = ovstage.Stage("scene")
        ovstage.population.open_usd(self.stage, scene, ordinal=1, domains=ovstage.PopulationDomain.ALL)
        self.stage.advance_write_floor(ordinal=1).wait()
        physx.wait_task(physx.attach_ovstage(self.stage, read_ordinal=1))
        physx.wait_all()
        self.step = HOLD_STEP if contacts else STEP
        self.bindings = {}
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
        self.sensors = physx.create_contact_binding(plan["bodies"]) if contacts else None

    def binding(self, name):
        if name not in self.bindings:
            self.bindings[name] = self.physx.create_tensor_binding(pattern="/World/robot", tensor_type=getattr(TensorType, f"ARTICULATION_{name}"))
        return self.bindings[name]

    def read(self, name, kind=np.float32):
        binding = self.binding(name)
        values = np.zeros(binding.shape, dtype=kind)
        binding.read(values)
        return values

    def write(self, name, values):
        self.binding(name).write(values)

    def fill(self, name, value):
        self.write(name, np.full(self.binding(name).shape, value, dtype=np.float32))

    def reset(self, positions, velocities):
        q, qd = self.read("DOF_POSITION"), self.read("DOF_VELOCITY")
        for at, name in enumerate(self.joints):
            q[0, at] = positions.get(name, q[0, at])
            qd[0, at] = velocities.get(name, 0.0)
        self.write("DOF_POSITION", q)
        self.write("DOF_VELOCITY", qd)

    def positions(self):
        return dict(zip(self.joints, map(float, self.read("DOF_POSITION")[0])))

    def mass(self):
        return float(self.read("BODY_MASS").sum())

    def centre(self):
        return self.read("MASS_CENTER_WORLD")[0].tolist()

    def mass_matrix(self, joints):
        whole = self.read("MASS_MATRIX")[0]
        order = [len(whole) - len(self.joints) + self.joints.index(name) for name in joints]
        return whole[np.ix_(order, order)].tolist()

    def aim(self, targets):
        aims = self.read("DOF_POSITION_TARGET")
        for at, name in enumerate(self.joints):
            aims[0, at] = targets.get(name, aims[0, at])
        self.write("DOF_POSITION_TARGET", aims)

    def advance(self, seconds):
        for _ in range(round(seconds / self.step)):
            self.physx.step_sync(self.step)

    def touching(self):
        # Contacts are known after a step.
        self.physx.step_sync(1e-4)
        forces = np.zeros((self.sensors.sensor_count, 3), dtype=np.float32)
        self.sensors.read_net_normal_forces(forces)
        return int((np.abs(forces).max(axis=1) > 1e-6).sum())


def answer(entry, plan, checks):
    return experiments.run(Simulation, entry, plan, checks)
