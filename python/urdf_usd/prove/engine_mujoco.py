"""Experiments with an MJCF in MuJoCo."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from . import experiments

mujoco: Any = importlib.import_module("mujoco")

#: Maximum step, s.
STEP = 2.5e-4
SINGLE = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))


def adjacent(model: Any) -> list[tuple[str, str]]:
    """Returns the pairs of bodies of which one is fixed to the base, and a joint connects the other to it."""
    bases = {int(model.jnt_bodyid[i]) for i in range(model.njnt) if model.jnt_type[i] == mujoco.mjtJoint.mjJNT_FREE}
    fixed = [i for i in range(model.nbody) if int(model.body_weldid[i]) in bases]
    moved = [i for i in range(model.nbody) if int(model.body_weldid[model.body_parentid[model.body_weldid[i]]]) in bases and i not in fixed]
    return [(model.body(a).name, model.body(b).name) for a in fixed for b in moved]


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
        mujoco.set_mju_user_warning(self.heard.append)
        whole = mujoco.MjModel.from_xml_path(entry)
        spec = mujoco.MjSpec.from_file(entry)
        free = [joint for joint in spec.joints if joint.type == mujoco.mjtJoint.mjJNT_FREE]
        # Keyframes have the position of the base.
        for element in (*(spec.keys if free else ()), *free):
            spec.delete(element)
        # A fixed base counts as a part of the world, whose children collide with it.
        for a, b in adjacent(whole) if free else ():
            spec.add_exclude(bodyname1=a, bodyname2=b)
        self.model = spec.compile()
        off = {"ACTUATION": drives, "LIMIT": limits, "CONTACT": contacts, "FRICTIONLOSS": friction}
        for name, on in off.items():
            if not on:
                self.model.opt.disableflags |= getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}")
        self.model.opt.gravity[2] = -gravity
        self.step = self.model.opt.timestep if contacts else STEP
        self.model.opt.timestep = self.step
        self.data = mujoco.MjData(self.model)
        self.joints = [self.model.joint(i).name for i in range(self.model.njnt) if int(self.model.jnt_type[i]) in SINGLE]
        if whole.nkey:
            for name in self.joints:
                self.data.joint(name).qpos[0] = whole.key_qpos[0][whole.joint(name).qposadr[0]]
            self.data.ctrl[:] = whole.key_ctrl[0]
        mujoco.mj_forward(self.model, self.data)

    def reset(self, positions: experiments.Positions, velocities: experiments.Positions) -> None:
        for name, position in positions.items():
            self.data.joint(name).qpos[0] = position
        for name, velocity in velocities.items():
            self.data.joint(name).qvel[0] = velocity
        mujoco.mj_forward(self.model, self.data)

    def positions(self) -> experiments.Positions:
        return {name: float(self.data.joint(name).qpos[0]) for name in self.joints}

    def mass(self) -> float:
        return float(self.model.body_subtreemass[0])

    def centre(self) -> Any:
        return self.data.subtree_com[0].tolist()

    def mass_matrix(self, joints: list[str]) -> Any:
        mass = np.zeros((self.model.nv, self.model.nv))
        if self.model.nv:
            mujoco.mj_fullM(self.model, self.data, mass)
        order = [self.model.joint(name).dofadr[0] for name in joints]
        return mass[np.ix_(order, order)].tolist()

    def aim(self, targets: experiments.Positions) -> None:
        for index in range(self.model.nu):
            name = self.model.joint(self.model.actuator_trnid[index][0]).name
            if name in targets:
                self.data.ctrl[index] = targets[name]

    def advance(self, seconds: float) -> None:
        for _ in range(round(seconds / self.step)):
            mujoco.mj_step(self.model, self.data)
        self.heard += [f"{mujoco.mjtWarning(i).name}" for i, warning in enumerate(self.data.warning) if warning.number]

    def touching(self) -> int:
        return sum(contact.dist < 0 for contact in self.data.contact)


def answer(entry: str, plan: experiments.Plan, checks: list[str]) -> Any:
    """Returns the results of checks."""
    return experiments.run(Simulation, entry, plan, checks)
