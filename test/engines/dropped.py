"""Features of OpenUSD assets that engines read or drop: a small robot, and a function for each feature that adds it."""

from pxr import Gf, Sdf, Usd, UsdPhysics, UsdShade

BODY = """    def Xform "{name}" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"{more}]
    )
    {{
        double3 xformOp:translate = ({at}, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 1
        float3 physics:diagonalInertia = (0.01, 0.01, 0.01)
{shape}
    }}
"""
BALL = """        def Sphere "shape" (
            prepend apiSchemas = ["PhysicsCollisionAPI"]
        )
        {
            double radius = 0.1
        }"""
# A box with a dent.
MESH = """        def Mesh "shape" (
            prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]
        )
        {
            point3f[] points = [(-.1,-.1,0),(.1,-.1,0),(.1,.1,0),(-.1,.1,0),(0,0,.02),(-.1,-.1,.2),(.1,-.1,.2),(.1,.1,.2),(-.1,.1,.2)]
            int[] faceVertexCounts = [3,3,3,3,4,4,4,4,4]
            int[] faceVertexIndices = [0,1,4,1,2,4,2,3,4,3,0,4,0,5,6,1,1,6,7,2,2,7,8,3,3,8,5,0,5,8,7,6]
            uniform token physics:approximation = "APPROXIMATION"
        }"""
JOINT = """    def Physics{kind}Joint "{name}"
    {{
        rel physics:body0 = </r/{parent}>
        rel physics:body1 = </r/{child}>
        point3f physics:localPos0 = (1, 0, 0)
        token physics:axis = "{axis}"
        float physics:lowerLimit = -{limit}
        float physics:upperLimit = {limit}
    }}
"""
HEADER = """#usda 1.0
(
    defaultPrim = "r"
    kilogramsPerUnit = 1
    metersPerUnit = 1
    timeCodesPerSecond = 1
    upAxis = "Z"
)

def Xform "r" (
    kind = "component"
)
{
    def PhysicsScene "scene"
    {
    }
    def PhysicsFixedJoint "root"
    {
        rel physics:body1 = </r/base>
    }
"""
T = Sdf.ValueTypeNames
JOINT_2 = "/r/j2"


def text(approximation):
    """Returns the robot: MuJoCo reads the hull of the mesh, Newton needs scipy for it and reads the mesh."""
    bodies = [("base", BALL, ', "PhysicsArticulationRootAPI"'), ("a", MESH.replace("APPROXIMATION", approximation), ""), ("b", BALL, ""), ("d", BALL, "")]
    joints = [("Revolute", "j1", "base", "a", "Z", 90), ("Revolute", "j2", "a", "b", "Z", 90), ("Prismatic", "j3", "b", "d", "X", 1)]
    parts = [BODY.format(name=name, at=at, shape=shape, more=more) for at, (name, shape, more) in enumerate(bodies)]
    parts += [JOINT.format(kind=k, name=n, parent=p, child=c, axis=a, limit=l) for k, n, p, c, a, l in joints]
    return HEADER + "".join(parts) + "}\n"


def author(stage, path, *schemas, uniform=False, **values):
    """Applies schemas, and authors attributes: `a__b` is `a:b`. Numbers are floats, or doubles if uniform."""
    prim = stage.GetPrimAtPath(path)
    for schema in schemas:
        prim.AddAppliedSchema(schema)
    for name, value in values.items():
        name = name.replace("__", ":")
        if isinstance(value, list):
            prim.CreateRelationship(name, False).SetTargets([Sdf.Path(target) for target in value])
            continue
        kind = {bool: T.Bool, str: T.Token, int: T.Int, Gf.Vec3f: T.Vector3f}.get(type(value), T.Double if uniform else T.Float)
        kept = Sdf.VariabilityUniform if uniform or isinstance(value, str) else Sdf.VariabilityVarying
        prim.CreateAttribute(name, kind, False, kept).Set(value)
    return prim


def drive(stage, **values):
    prefixed = {f"drive__angular__physics__{name}": value for name, value in values.items()}
    author(stage, JOINT_2, "PhysicsDriveAPI:angular", **prefixed)


def material(stage, purpose="physics", **values):
    bound = UsdShade.Material.Define(stage, "/r/material")
    author(stage, "/r/material", "PhysicsMaterialAPI", **{f"physics__{name}": value for name, value in values.items()})
    shape = author(stage, "/r/b/shape", "MaterialBindingAPI")
    UsdShade.MaterialBindingAPI(shape).Bind(bound, materialPurpose=purpose)


def set_type(name, **values):
    def change(stage):
        stage.GetPrimAtPath(JOINT_2).SetTypeName(name)
        author(stage, JOINT_2, **values)

    return change


def loop(kind):
    def add(stage):
        joint = kind.Define(stage, "/r/loop")
        joint.CreateBody0Rel().SetTargets(["/r/base"])
        joint.CreateBody1Rel().SetTargets(["/r/d"])
        joint.CreateLocalPos0Attr(Gf.Vec3f(3, 0, 0))
        joint.CreateExcludeFromArticulationAttr(True)

    return add


def group(stage):
    added = UsdPhysics.CollisionGroup.Define(stage, "/r/group")
    added.CreateFilteredGroupsRel().SetTargets(["/r/group"])
    added.GetCollidersCollectionAPI().CreateIncludesRel().SetTargets(["/r"])


def actuator(stage):
    stage.DefinePrim("/r/actuator", "MjcActuator")
    prim = author(stage, "/r/actuator", uniform=True, mjc__target=[JOINT_2], mjc__gainType="fixed")
    prim.CreateAttribute("mjc:gainPrm", T.DoubleArray, False, Sdf.VariabilityUniform).Set([5] + [0] * 9)


def inertia(stage):
    prim = author(stage, "/r/b", "NewtonMassAPI")
    prim.CreateAttribute("newton:inertia", T.DoubleArray, False).Set([0.02, 0.02, 0.02, 0, 0, 0])


def joint(*schemas, **values):
    return lambda stage: author(stage, JOINT_2, *schemas, **values)


def axis_of_physx(name):
    return f"physxJointAxis__angular__{name}"


def mimic_of_physx(offset):
    names = {"referenceJoint": ["/r/j1"], "gearing": 2.0, "referenceJointAxis": "rotZ"} | ({"offset": offset} if offset else {})
    return joint("PhysxMimicJointAPI:rotZ", **{f"physxMimicJoint__rotZ__{name}": value for name, value in names.items()})


#: Each feature, and the one that it is compared with.
FEATURES = {
    "none": (lambda stage: None, None),
    "gains": (lambda stage: drive(stage, stiffness=10.0, damping=1.0), "none"),
    "acceleration": (lambda stage: drive(stage, type="acceleration", stiffness=10.0, damping=1.0), "gains"),
    "target": (lambda stage: drive(stage, stiffness=10.0, damping=1.0, targetPosition=20.0), "gains"),
    "neutral mimic": (joint("ExtendedPhysicsMimicAPI", ext_physics__mimic__joint=["/r/j1"], ext_physics__mimic__multiplier=-2.0), "none"),
    "mimic of Newton": (joint("NewtonMimicAPI", newton__mimicJoint=["/r/j1"], newton__mimicCoef1=-2.0), "none"),
    "mimic of MuJoCo": (joint("MjcEqualityJointAPI", uniform=True, mjc__target=["/r/j1"], mjc__coef1=-2.0), "none"),
    "hold of MuJoCo": (joint("MjcEqualityJointAPI", uniform=True, mjc__coef0=0.5, mjc__coef1=0.0), "none"),
    "mimic of PhysX": (mimic_of_physx(0.0), "none"),
    "armature": (joint("NewtonJointAPI", newton__armature=0.5), "none"),
    "damping": (joint("NewtonJointAPI", newton__damping=0.5), "none"),
    "friction": (joint("NewtonJointAPI", newton__friction=0.5), "none"),
    "speed limit": (joint("NewtonJointAPI", newton__velocityLimit=50.0), "none"),
    "soft limit": (joint("NewtonJointAPI", newton__limitStiffness=50.0), "none"),
    "armature of MuJoCo": (joint("MjcJointAPI", uniform=True, mjc__armature=0.5), "none"),
    "damping of MuJoCo": (joint("MjcJointAPI", uniform=True, mjc__damping=0.5), "none"),
    "friction of MuJoCo": (joint("MjcJointAPI", uniform=True, mjc__frictionloss=0.5), "none"),
    "force limit of MuJoCo": (joint("MjcJointAPI", uniform=True, mjc__actuatorfrcrange__min=-5.0, mjc__actuatorfrcrange__max=5.0), "none"),
    "armature of PhysX": (joint("PhysxJointAPI", physxJoint__armature=0.5), "none"),
    "speed limit of PhysX": (joint("PhysxJointAPI", physxJoint__maxJointVelocity=50.0), "none"),
    "friction of PhysX": (joint("PhysxJointAxisAPI:angular", **{axis_of_physx("staticFrictionEffort"): 0.5, axis_of_physx("dynamicFrictionEffort"): 0.5}), "none"),
    "body of PhysX": (lambda stage: author(stage, "/r/b", "PhysxRigidBodyAPI", physxRigidBody__angularDamping=0.5), "none"),
    "no self-collision": (lambda stage: author(stage, "/r/base", "NewtonArticulationRootAPI", newton__selfCollisionEnabled=False), "none"),
    "no self-collision of PhysX": (lambda stage: author(stage, "/r/base", "PhysxArticulationAPI", physxArticulation__enabledSelfCollisions=False), "none"),
    "state of Newton": (joint(newton__angular__position=20.0), "none"),
    "state of PhysX": (joint("PhysicsJointStateAPI:angular", state__angular__physics__position=20.0), "none"),
    "groups": (group, "none"),
    "pairs": (lambda stage: author(stage, "/r/base", "PhysicsFilteredPairsAPI", physics__filteredPairs=["/r/b"]), "none"),
    "contact material": (lambda stage: material(stage, dynamicFriction=0.3, staticFriction=0.3), "none"),
    "bound material": (lambda stage: material(stage, "", dynamicFriction=0.3, staticFriction=0.3), "none"),
    "restitution": (lambda stage: material(stage, "", dynamicFriction=0.3, staticFriction=0.3, restitution=0.9), "bound material"),
    "static friction": (lambda stage: material(stage, "", dynamicFriction=0.3, staticFriction=0.9), "bound material"),
    "bounding sphere": (lambda stage: author(stage, "/r/a/shape", physics__approximation="boundingSphere"), "none"),
    "breaks": (joint(physics__breakForce=3.0), "none"),
    "speed of a body": (lambda stage: author(stage, "/r/b", physics__velocity=Gf.Vec3f(1, 0, 0)), "none"),
    "asleep": (lambda stage: author(stage, "/r/b", uniform=True, physics__startsAsleep=True), "none"),
    "kinematic": (lambda stage: author(stage, "/r/b", physics__kinematicEnabled=True), "none"),
    "disabled joint": (joint(physics__jointEnabled=False), "none"),
    "no collision": (lambda stage: author(stage, "/r/b/shape", physics__collisionEnabled=False), "none"),
    "neighbours collide": (joint(physics__collisionEnabled=True), "none"),
    "ball": (set_type("PhysicsSphericalJoint"), "none"),
    "ball with limits": (set_type("PhysicsSphericalJoint", physics__coneAngle0Limit=30.0, physics__coneAngle1Limit=30.0), "ball"),
    "loop": (loop(UsdPhysics.RevoluteJoint), "none"),
    "rigid loop": (loop(UsdPhysics.FixedJoint), "none"),
    "cone": (lambda stage: stage.GetPrimAtPath("/r/b/shape").SetTypeName("Cone"), "none"),
    "gravity": (lambda stage: author(stage, "/r/scene", physics__gravityMagnitude=3.0), "none"),
    "actuator": (actuator, "none"),
    "two inertias": (inertia, "none"),
    "root beside the body": (lambda stage: author(stage, "/r", "PhysicsArticulationRootAPI"), "none"),
}  # fmt: skip


def write(name, approximation, folder):
    """Writes the robot with a feature, and returns the file."""
    layer = Sdf.Layer.CreateAnonymous(".usda")
    assert layer.ImportFromString(text(approximation))
    stage = Usd.Stage.Open(layer)
    FEATURES[name][0](stage)
    path = folder / f"{name.replace(' ', '_')}.usda"
    layer.Export(str(path))
    return path
