"""PhysX 5.11 (ovphysx 0.7) lets a drive move a joint as if its viscous friction were a tenth: 3 N·m·s/rad against a drive of 2 N·m/rad and
0.06 N·m·s/rad, 0.1 rad from its target, lets the joint move 0.0065 rad in 0.1 s; PhysX moves it 0.05 rad. Run in `.test-env/physx`."""

import tempfile
from pathlib import Path

import numpy as np
import ovphysx
import ovstage
from ovphysx import PhysX
from ovphysx.samples.python_samples.schema_support import physx_schema_paths
from ovphysx.types import TensorType

BODY = """
    def Xform "{0}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
        float physics:mass = 0.1
        float3 physics:diagonalInertia = (0.0001, 0.0001, 0.0001)
    }}"""
SCENE = f"""#usda 1.0
def PhysicsScene "scene" {{
    float physics:gravityMagnitude = 0
}}
def Xform "robot" (prepend apiSchemas = ["PhysicsArticulationRootAPI"]) {{{BODY.format("base")}{BODY.format("arm")}
    def PhysicsFixedJoint "fix" {{
        rel physics:body1 = </robot/base>
    }}
    def PhysicsRevoluteJoint "hinge" (prepend apiSchemas = ["PhysicsDriveAPI:angular", "PhysxJointAxisAPI:angular"]) {{
        uniform token physics:axis = "Z"
        rel physics:body0 = </robot/base>
        rel physics:body1 = </robot/arm>
        float drive:angular:physics:stiffness = {np.radians(2)}
        float drive:angular:physics:damping = {np.radians(0.06)}
        float drive:angular:physics:targetPosition = {np.degrees(0.1)}
        float physxJointAxis:angular:viscousFrictionCoefficient = {np.radians(3)}
    }}
}}
"""

if __name__ == "__main__":
    path = Path(tempfile.mkdtemp()) / "scene.usda"
    path.write_text(SCENE)
    ovstage.population.register_usd_schemas([*map(str, physx_schema_paths()), str(ovphysx.newton_schema_root())])
    PhysX.set_cpu_mode(True)
    physx, stage = PhysX(), ovstage.Stage("scene")
    ovstage.population.open_usd(stage, str(path), ordinal=1, domains=ovstage.PopulationDomain.ALL)
    stage.advance_write_floor(ordinal=1).wait()
    physx.wait_task(physx.attach_ovstage(stage, read_ordinal=1))
    position = physx.create_tensor_binding(pattern="/robot", tensor_type=TensorType.ARTICULATION_DOF_POSITION)
    friction = physx.create_tensor_binding(pattern="/robot", tensor_type=TensorType.ARTICULATION_DOF_FRICTION_PROPERTIES)
    at, viscous = np.zeros(position.shape, np.float32), np.zeros(friction.shape, np.float32)
    friction.read(viscous)
    for _ in range(200):
        physx.step_sync(1 / 2000)
    position.read(at)
    print("friction", viscous.ravel(), "moved", at.ravel(), "expected", 0.1 * (1 - np.exp(-2 / 3.06 * 0.1)))
