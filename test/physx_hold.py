"""Simulates an asset for a second in PhysX; run through worker.py, in the Python of `.test-env/physx`."""

import os
import tempfile
from pathlib import Path

import numpy as np
import ovphysx
import ovstage
from ovphysx import PhysX
from ovphysx.samples.python_samples.schema_support import physx_schema_paths
from ovphysx.types import TensorType

STEPS = 400
SCENE = """#usda 1.0
(
    defaultPrim = "World"
    kilogramsPerUnit = 1
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "World"
{{
    def PhysicsScene "scene"
    {{
        vector3f physics:gravityDirection = (0, 0, -1)
        float physics:gravityMagnitude = 9.81
    }}
    def Xform "robot" (prepend references = @{asset}@)
    {{
    }}
}}
"""


def load(entry):
    """Loads an asset, and returns PhysX, the pattern of the articulation and the binding of its positions."""
    scene = Path(tempfile.mkdtemp()) / "scene.usda"
    scene.write_text(SCENE.format(asset=os.path.abspath(entry)))
    ovstage.population.register_usd_schemas([*[str(path) for path in physx_schema_paths()], str(ovphysx.newton_schema_root())])
    PhysX.set_cpu_mode(True)
    physx = PhysX()
    stage = ovstage.Stage("scene")
    ovstage.population.open_usd(stage, str(scene), ordinal=1, domains=ovstage.PopulationDomain.ALL)
    stage.advance_write_floor(ordinal=1).wait()
    physx.wait_task(physx.attach_ovstage(stage, read_ordinal=1))
    physx.wait_all()
    # The articulation is at the prim of the robot, or at one of its links or joints.
    for depth in range(3):
        pattern = "/World/robot" + "/*" * depth
        position = physx.create_tensor_binding(pattern=pattern, tensor_type=TensorType.ARTICULATION_DOF_POSITION)
        if position.count:
            break
    return physx, pattern, position


def answer(entry):
    """Returns the positions of joints at the start and at the end (rad, m), the largest distance that one moves and its largest speed."""
    physx, pattern, position = load(entry)
    velocity = physx.create_tensor_binding(pattern=pattern, tensor_type=TensorType.ARTICULATION_DOF_VELOCITY)
    q, qd = np.zeros(position.shape, dtype=np.float32), np.zeros(velocity.shape, dtype=np.float32)
    position.read(q)
    start, speed = q.copy(), 0.0
    for _ in range(STEPS):
        physx.step_sync(1 / STEPS)
        velocity.read(qd)
        speed = max(speed, float(np.abs(qd).max(initial=0)))
    position.read(q)
    return {"start": start.ravel().tolist(), "end": q.ravel().tolist(), "moved": float(np.abs(q - start).max(initial=0)), "speed": speed}
