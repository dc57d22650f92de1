"""Drops a ball onto a robot in MuJoCo; run through worker.py, in the Python of `.test-env/urdf`."""

import mujoco

#: Simulated time, seconds.
DURATION = 2


def answer(mjcf, radius, height):
    """Returns the number of contacts of the robot alone at its start, and the height of the ball after it fell from `height`."""
    spec = mujoco.MjSpec.from_file(mjcf)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    contacts = data.ncon
    ball = spec.worldbody.add_body(name="dropped", pos=[0, 0, height])
    ball.add_freejoint()
    # The files of the program turn off inertia from geometry.
    ball.mass, ball.inertia, ball.explicitinertial = 0.1, [0.04 * radius**2] * 3, True
    ball.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0])
    model = spec.compile()
    data = mujoco.MjData(model)
    while data.time < DURATION:
        mujoco.mj_step(model, data)
    return {"contacts": contacts, "colliders": int((model.geom_contype != 0).sum()) - 1, "height": float(data.body("dropped").xpos[2])}
