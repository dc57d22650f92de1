"""Simulates an asset for a second in Newton with its MuJoCo solver; run through worker.py, in the Python of `.test-env/nv`."""

import newton
import newton_import
import numpy as np

STEPS = 500


def answer(entry, reads_mjc=False):
    """Returns, for joints with one degree of freedom, the positions at the start (rad, m) and the distances moved, by name."""
    builder, model, _ = newton_import.load(entry, reads_mjc)
    state, following, control = model.state(), model.state(), model.control()
    newton.eval_fk(model, model.joint_q, model.joint_qd, state)
    solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True)
    first = state.joint_q.numpy().copy()
    for _ in range(STEPS):
        state.clear_forces()
        solver.step(state, following, control, None, 1 / STEPS)
        state, following = following, state
    last, at, kinds = state.joint_q.numpy(), model.joint_q_start.numpy(), model.joint_type.numpy()
    single = [i for i in range(model.joint_count) if newton.JointType(int(kinds[i])) in (newton.JointType.REVOLUTE, newton.JointType.PRISMATIC)]
    name = lambda joint: builder.joint_label[joint].rsplit("/", 1)[-1]
    return {
        "finite": bool(np.isfinite(last).all()),
        "start": {name(i): float(first[at[i]]) for i in single},
        "moved": {name(i): float(abs(last[at[i]] - first[at[i]])) for i in single},
    }
