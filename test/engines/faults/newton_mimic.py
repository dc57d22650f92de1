"""Newton 1.8's MuJoCo solver gives mimic joints MuJoCo's default softness (20 ms, 90 %), and has no attribute for it: a follower of 1e-7 kg·m²
that bears 1 mN·m lags its leader by 0.2 rad. MuJoCo itself has `solref` and `solimp` for the equality. Run in `.test-env/nv`."""

import newton
import numpy as np
import warp as wp

wp.config.quiet = True
if __name__ == "__main__":
    builder = newton.ModelBuilder(gravity=(0, 0, 0))
    inertia = lambda moment: wp.mat33(*(np.eye(3) * moment).ravel().tolist())
    leader, finger = builder.add_link(mass=1.0, inertia=inertia(1.0)), builder.add_link(mass=0.001, inertia=inertia(1e-7))
    first = builder.add_joint_revolute(-1, leader, axis=wp.vec3(0, 1, 0))
    second = builder.add_joint_revolute(leader, finger, axis=wp.vec3(0, 1, 0))
    builder.add_articulation([first, second])
    builder.set_joint_mimic(second, first)
    model = builder.finalize(device="cpu")
    solver = newton.solvers.SolverMuJoCo(model, use_mujoco_cpu=True)
    state, following, control = model.state(), model.state(), model.control()
    control.joint_f.assign(np.array([0, 1e-3], np.float32))
    for _ in range(500):
        solver.step(state, following, control, None, 2e-3)
        state, following = following, state
    print("leader and follower", state.joint_q.numpy(), "solref", solver.mj_model.eq_solref, "solimp", solver.mj_model.eq_solimp)
