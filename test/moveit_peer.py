"""MoveIt's kinematics services for `ros_peer`: moveit_msgs/srv/GetPositionIK and GetPositionFK of ROS 2 Jazzy, with all nested messages."""

from dataclasses import field

from cyclonedds.idl.types import array, float32, float64, int32, sequence, uint8, uint32
from ros_peer import Header, JointState, Point, Pose, Quaternion, Service, Transform, Vector3, message


def own(kind):
    return field(default_factory=kind)


@message("builtin_interfaces")
class Duration:
    sec: int32 = 0
    nanosec: uint32 = 0


@message("geometry_msgs")
class Point32:
    x: float32 = 0.0
    y: float32 = 0.0
    z: float32 = 0.0


@message("geometry_msgs")
class Polygon:
    points: sequence[Point32] = own(list)


@message("geometry_msgs")
class PoseStamped:
    header: Header = own(Header)
    pose: Pose = own(Pose)


@message("geometry_msgs")
class Twist:
    linear: Vector3 = own(Vector3)
    angular: Vector3 = own(Vector3)


@message("geometry_msgs")
class Wrench:
    force: Vector3 = own(Vector3)
    torque: Vector3 = own(Vector3)


@message("sensor_msgs")
class MultiDOFJointState:
    header: Header = own(Header)
    joint_names: sequence[str] = own(list)
    transforms: sequence[Transform] = own(list)
    twist: sequence[Twist] = own(list)
    wrench: sequence[Wrench] = own(list)


@message("shape_msgs")
class SolidPrimitive:
    type: uint8 = 0
    dimensions: sequence[float64, 3] = own(list)
    polygon: Polygon = own(Polygon)


@message("shape_msgs")
class MeshTriangle:
    vertex_indices: array[uint32, 3] = field(default_factory=lambda: [0] * 3)


@message("shape_msgs")
class Mesh:
    triangles: sequence[MeshTriangle] = own(list)
    vertices: sequence[Point] = own(list)


@message("shape_msgs")
class Plane:
    coef: array[float64, 4] = field(default_factory=lambda: [0.0] * 4)


@message("object_recognition_msgs")
class ObjectType:
    key: str = ""
    db: str = ""


@message("trajectory_msgs")
class JointTrajectoryPoint:
    positions: sequence[float64] = own(list)
    velocities: sequence[float64] = own(list)
    accelerations: sequence[float64] = own(list)
    effort: sequence[float64] = own(list)
    time_from_start: Duration = own(Duration)


@message("trajectory_msgs")
class JointTrajectory:
    header: Header = own(Header)
    joint_names: sequence[str] = own(list)
    points: sequence[JointTrajectoryPoint] = own(list)


@message("moveit_msgs")
class CollisionObject:
    header: Header = own(Header)
    pose: Pose = own(Pose)
    id: str = ""
    type: ObjectType = own(ObjectType)
    primitives: sequence[SolidPrimitive] = own(list)
    primitive_poses: sequence[Pose] = own(list)
    meshes: sequence[Mesh] = own(list)
    mesh_poses: sequence[Pose] = own(list)
    planes: sequence[Plane] = own(list)
    plane_poses: sequence[Pose] = own(list)
    subframe_names: sequence[str] = own(list)
    subframe_poses: sequence[Pose] = own(list)
    operation: uint8 = 0


@message("moveit_msgs")
class AttachedCollisionObject:
    link_name: str = ""
    object: CollisionObject = own(CollisionObject)
    touch_links: sequence[str] = own(list)
    detach_posture: JointTrajectory = own(JointTrajectory)
    weight: float64 = 0.0


@message("moveit_msgs")
class RobotState:
    joint_state: JointState = own(JointState)
    multi_dof_joint_state: MultiDOFJointState = own(MultiDOFJointState)
    attached_collision_objects: sequence[AttachedCollisionObject] = own(list)
    is_diff: bool = False


@message("moveit_msgs")
class JointConstraint:
    joint_name: str = ""
    position: float64 = 0.0
    tolerance_above: float64 = 0.0
    tolerance_below: float64 = 0.0
    weight: float64 = 0.0


@message("moveit_msgs")
class BoundingVolume:
    primitives: sequence[SolidPrimitive] = own(list)
    primitive_poses: sequence[Pose] = own(list)
    meshes: sequence[Mesh] = own(list)
    mesh_poses: sequence[Pose] = own(list)


@message("moveit_msgs")
class PositionConstraint:
    header: Header = own(Header)
    link_name: str = ""
    target_point_offset: Vector3 = own(Vector3)
    constraint_region: BoundingVolume = own(BoundingVolume)
    weight: float64 = 0.0


@message("moveit_msgs")
class OrientationConstraint:
    header: Header = own(Header)
    orientation: Quaternion = own(Quaternion)
    link_name: str = ""
    absolute_x_axis_tolerance: float64 = 0.0
    absolute_y_axis_tolerance: float64 = 0.0
    absolute_z_axis_tolerance: float64 = 0.0
    parameterization: uint8 = 0
    weight: float64 = 0.0


@message("moveit_msgs")
class VisibilityConstraint:
    target_radius: float64 = 0.0
    target_pose: PoseStamped = own(PoseStamped)
    cone_sides: int32 = 0
    sensor_pose: PoseStamped = own(PoseStamped)
    max_view_angle: float64 = 0.0
    max_range_angle: float64 = 0.0
    sensor_view_direction: uint8 = 0
    weight: float64 = 0.0


@message("moveit_msgs")
class Constraints:
    name: str = ""
    joint_constraints: sequence[JointConstraint] = own(list)
    position_constraints: sequence[PositionConstraint] = own(list)
    orientation_constraints: sequence[OrientationConstraint] = own(list)
    visibility_constraints: sequence[VisibilityConstraint] = own(list)


@message("moveit_msgs")
class PositionIKRequest:
    group_name: str = ""
    robot_state: RobotState = own(RobotState)
    constraints: Constraints = own(Constraints)
    avoid_collisions: bool = False
    ik_link_name: str = ""
    pose_stamped: PoseStamped = own(PoseStamped)
    ik_link_names: sequence[str] = own(list)
    pose_stamped_vector: sequence[PoseStamped] = own(list)
    timeout: Duration = own(Duration)


@message("moveit_msgs")
class MoveItErrorCodes:
    val: int32 = 0
    message: str = ""
    source: str = ""


GetPositionIK = Service(
    "moveit_msgs",
    "GetPositionIK",
    {"ik_request": (PositionIKRequest, PositionIKRequest)},
    {"solution": (RobotState, RobotState), "error_code": (MoveItErrorCodes, MoveItErrorCodes)},
)
GetPositionFK = Service(
    "moveit_msgs",
    "GetPositionFK",
    {"header": (Header, Header), "fk_link_names": (sequence[str], list), "robot_state": (RobotState, RobotState)},
    {
        "pose_stamped": (sequence[PoseStamped], list),
        "fk_link_names": (sequence[str], list),
        "error_code": (MoveItErrorCodes, MoveItErrorCodes),
    },
)
