"""Newton 1.8's XPBD solver loses energy: a rod of 0.5 m that falls from the horizontal about a hinge turns 1.25 rad in 0.3 s, and so it does
with Featherstone's method. XPBD turns it 1.07 rad, with 20 iterations and steps of 1 ms. Run in `.test-env/nv`."""

import newton
import numpy as np
import warp as wp

wp.config.quiet = True
if __name__ == "__main__":
    for solver in (newton.solvers.SolverXPBD, newton.solvers.SolverFeatherstone):
        for mass in (2.0, 0.02):
            builder = newton.ModelBuilder()
            arm = builder.add_link(mass=mass, com=wp.vec3(0.25, 0, 0), inertia=wp.mat33(*(np.eye(3) * mass * 0.25 / 12).ravel().tolist()))
            hinge = builder.add_joint_revolute(-1, arm, axis=wp.vec3(0, 1, 0))
            builder.add_articulation([hinge])
            model = builder.finalize(device="cpu")
            stepper = solver(model, iterations=20) if solver is newton.solvers.SolverXPBD else solver(model)
            state, following, control = model.state(), model.state(), model.control()
            newton.eval_fk(model, model.joint_q, model.joint_qd, state)
            for _ in range(300):
                state.clear_forces()
                stepper.step(state, following, control, None, 1e-3)
                state, following = following, state
            newton.eval_ik(model, state, state.joint_q, state.joint_qd)
            print(solver.__name__, mass, "kg", state.joint_q.numpy())
