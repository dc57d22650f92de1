"""Experiments with an asset in Newton, on the CPU."""

from __future__ import annotations

import functools
import importlib
import math
import warnings
from typing import Any

import numpy as np

from . import experiments

wp: Any = importlib.import_module("warp")
wp.config.quiet = True
# No gradients are needed, and kernels compile three times as fast without them.
wp.config.enable_backward = False
wp.config.log_level = getattr(wp, "LOG_ERROR", 40)
newton: Any = importlib.import_module("newton")

#: Steps, s.
HOLD_STEP, STEP, XPBD_STEP = 2e-3, 2.5e-4, 1e-3
UNLIMITED = 1e10


def load(entry: str, reads_mjc: bool = False) -> tuple[Any, Any, list[str]]:
    """Returns the builder and the model of an asset, and Newton's warnings."""
    builder = newton.ModelBuilder()
    if reads_mjc:
        newton.solvers.SolverMuJoCo.register_custom_attributes(builder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        builder.add_usd(entry, load_visual_shapes=False)
        model = builder.finalize(device="cpu")
    return builder, model, sorted({f"{w.category.__name__}: {w.message}" for w in caught})


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
        solver: str = "newton",
    ) -> None:
        entry = plan["scenes"]["newton"]
        builder, model, self.heard = load(entry)
        self.model = model
        names = plan["names"]["usd"]
        self.joints, self.dofs = {}, {}
        kinds, at, dof = model.joint_type.numpy(), model.joint_q_start.numpy(), model.joint_qd_start.numpy()
        for i, path in enumerate(builder.joint_label):
            if newton.JointType(int(kinds[i])) in (newton.JointType.REVOLUTE, newton.JointType.PRISMATIC):
                name = names[path.rsplit("/", 1)[-1]]
                self.joints[name], self.dofs[name] = int(at[i]), int(dof[i])
        if not drives:
            model.joint_target_ke.zero_()
            model.joint_target_kd.zero_()
        if not limits:
            model.joint_limit_lower.fill_(-UNLIMITED)
            model.joint_limit_upper.fill_(UNLIMITED)
        if not friction:
            model.joint_friction.zero_()
        model.set_gravity((0.0, 0.0, -gravity))
        self.state, self.following, self.control = model.state(), model.state(), model.control()
        newton.eval_fk(model, model.joint_q, model.joint_qd, self.state)
        self.kind = solver
        if solver == "xpbd":
            self.solver = newton.solvers.SolverXPBD(model)
            # Without contacts: to collide the meshes of a robot for a second takes minutes on a CPU.
            self.step = XPBD_STEP
        else:
            # MuJoCo Warp compiles its kernels for each robot: half a minute.
            self.solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True, disable_contacts=not contacts)
            self.step = HOLD_STEP if contacts else STEP

    def reset(self, positions: experiments.Positions, velocities: experiments.Positions) -> None:
        q, qd = self.state.joint_q.numpy(), self.state.joint_qd.numpy()
        for name, at in self.joints.items():
            q[at] = positions.get(name, q[at])
            qd[self.dofs[name]] = velocities.get(name, 0.0)
        self.state.joint_q.assign(q)
        self.state.joint_qd.assign(qd)
        newton.eval_fk(self.model, self.state.joint_q, self.state.joint_qd, self.state)

    def positions(self) -> experiments.Positions:
        if self.kind == "xpbd":
            newton.eval_ik(self.model, self.state, self.state.joint_q, self.state.joint_qd)
            # Otherwise joints of bodies at NaN are at zero.
            if not np.isfinite(self.state.body_q.numpy()).all():
                return dict.fromkeys(self.joints, math.nan)
        q = self.state.joint_q.numpy()
        return {name: float(q[at]) for name, at in self.joints.items()}

    def mass(self) -> float:
        return float(self.model.body_mass.numpy().sum())

    def centre(self) -> Any:
        masses, centres, poses = self.model.body_mass.numpy().astype(float), self.model.body_com.numpy(), self.state.body_q.numpy()
        placed = [np.array(wp.transform_point(wp.transform(*pose), wp.vec3(*centre))) for pose, centre in zip(poses, centres)]
        return (masses @ np.array(placed) / masses.sum()).tolist()

    def mass_matrix(self, joints: list[str]) -> Any:
        if not joints:
            return []
        whole = newton.eval_mass_matrix(self.model, self.state).numpy()
        assert len(whole) == 1, whole.shape
        order = [self.dofs[name] for name in joints]
        return whole[0][np.ix_(order, order)].tolist()

    def aim(self, targets: experiments.Positions) -> None:
        aims = self.control.joint_target_q.numpy()
        # Targets have the layout of velocities or of positions.
        index = self.dofs if len(aims) == self.model.joint_dof_count else self.joints
        for name, target in targets.items():
            aims[index[name]] = target
        self.control.joint_target_q.assign(aims)

    def advance(self, seconds: float) -> None:
        for _ in range(round(seconds / self.step)):
            self.state.clear_forces()
            self.solver.step(self.state, self.following, self.control, None, self.step)
            self.state, self.following = self.following, self.state

    def touching(self) -> int:
        contacts = self.model.collide(self.state)
        count = int(contacts.rigid_contact_count.numpy()[0])
        if not count:
            return 0
        bodies, places = self.model.shape_body.numpy(), self.state.body_q.numpy()

        def place(shape: int, point: Any) -> Any:
            body = bodies[shape]
            return np.array(wp.transform_point(wp.transform(*places[body]), wp.vec3(*point))) if body >= 0 else np.array(point)

        get = lambda name: getattr(contacts, f"rigid_contact_{name}").numpy()[:count]
        deep = 0
        for a, b, at_a, at_b, normal, ra, rb in zip(*map(get, ("shape0", "shape1", "point0", "point1", "normal", "margin0", "margin1"))):
            distance = float(np.dot(place(b, at_b) - place(a, at_a), normal)) - float(ra) - float(rb)
            deep += distance < -1e-4
        return deep


def answer(entry: str, plan: experiments.Plan, checks: list[str], solver: str = "newton") -> Any:
    """Returns the results of checks."""
    return experiments.run(functools.partial(Simulation, solver=solver), entry, plan, checks)
