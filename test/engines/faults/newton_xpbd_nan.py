"""Newton 1.8's XPBD solver moves robots to NaN within half a second, also without drives and contacts, as its own importer reads their URDF:

    .test-env/nv/bin/python test/engines/faults/newton_xpbd_nan.py ROBOT.urdf

Seen with minitaur (step 52), robotiq_85 (14) and wx250s (15); ur10e is fine.
"""

import sys
import xml.etree.ElementTree as ElementTree

import newton
import numpy as np
import warp as wp

wp.config.quiet = True
if __name__ == "__main__":
    root = ElementTree.parse(sys.argv[1]).getroot()
    for link in root.findall("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    builder = newton.ModelBuilder()
    builder.add_urdf(ElementTree.tostring(root, encoding="unicode"), floating=False)
    model = builder.finalize(device="cpu")
    solver = newton.solvers.SolverXPBD(model)
    state, following, control = model.state(), model.state(), model.control()
    newton.eval_fk(model, model.joint_q, model.joint_qd, state)
    for step in range(500):
        state.clear_forces()
        solver.step(state, following, control, None, 1e-3)
        state, following = following, state
        if not np.isfinite(state.body_q.numpy()).all():
            sys.exit(f"NaN at step {step}")
    print("finite")
