//! `moveit_msgs`, as ROS 2 Jazzy has them; before Iron, `MoveItErrorCodes` has the code alone,
//! which comes first.

use serde::{Deserialize, Serialize};

use super::builtin_interfaces::Duration;
use super::geometry_msgs::{Pose, PoseStamped, Quaternion, Vector3};
use super::object_recognition_msgs::ObjectType;
use super::sensor_msgs::{JointState, MultiDOFJointState};
use super::shape_msgs::{Mesh, Plane, SolidPrimitive};
use super::std_msgs::Header;
use super::trajectory_msgs::JointTrajectory;

/// `moveit_msgs/msg/MoveItErrorCodes`: how something went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MoveItErrorCodes {
    /// The code: 1 is success.
    pub val: i32,
    /// The outcome in a sentence.
    pub message: String,
    /// Who says so.
    pub source: String,
}

impl MoveItErrorCodes {
    /// It is done.
    pub const SUCCESS: i32 = 1;
    /// It is not, for no reason that has a code.
    pub const FAILURE: i32 = 99_999;
    /// Constraints that can't be held.
    pub const INVALID_GOAL_CONSTRAINTS: i32 = -16;
    /// Joint positions that can't be.
    pub const INVALID_ROBOT_STATE: i32 = -17;
    /// No such link, or none is named.
    pub const INVALID_LINK_NAME: i32 = -18;
    /// Poses in a frame that is no link.
    pub const FRAME_TRANSFORM_FAILURE: i32 = -21;
    /// Nobody looks at what touches.
    pub const COLLISION_CHECKING_UNAVAILABLE: i32 = -22;
    /// No joint positions within limits were found.
    pub const NO_IK_SOLUTION: i32 = -31;
}

/// `moveit_msgs/msg/RobotState`: where joints are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RobotState {
    /// Joints with one position.
    pub joint_state: JointState,
    /// Joints with several.
    pub multi_dof_joint_state: MultiDOFJointState,
    /// What the robot holds.
    pub attached_collision_objects: Vec<AttachedCollisionObject>,
    /// Whether joints that it does not name are where they are.
    pub is_diff: bool,
}

/// `moveit_msgs/msg/PositionIKRequest`: which links are wanted where.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PositionIKRequest {
    /// The planning group.
    pub group_name: String,
    /// Where joints are.
    pub robot_state: RobotState,
    /// What else has to hold.
    pub constraints: Constraints,
    /// Whether nothing may touch.
    pub avoid_collisions: bool,
    /// The link to bring there.
    pub ik_link_name: String,
    /// Where links are, or are wanted.
    pub pose_stamped: PoseStamped,
    /// Several links at once.
    pub ik_link_names: Vec<String>,
    /// Where they are wanted.
    pub pose_stamped_vector: Vec<PoseStamped>,
    /// How long it may take.
    pub timeout: Duration,
}

/// `moveit_msgs/msg/Constraints`: what has to hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Constraints {
    /// Its name.
    pub name: String,
    /// Of joints.
    pub joint_constraints: Vec<JointConstraint>,
    /// Of where links are.
    pub position_constraints: Vec<PositionConstraint>,
    /// Of how links are turned.
    pub orientation_constraints: Vec<OrientationConstraint>,
    /// Of what a sensor sees.
    pub visibility_constraints: Vec<VisibilityConstraint>,
}

/// `moveit_msgs/msg/JointConstraint`: where a joint should be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JointConstraint {
    /// The joint.
    pub joint_name: String,
    /// Where it should be, in rad or m.
    pub position: f64,
    /// How much more it may be.
    pub tolerance_above: f64,
    /// How much less it may be.
    pub tolerance_below: f64,
    /// What it counts, or weighs.
    pub weight: f64,
}

/// `moveit_msgs/msg/PositionConstraint`: where a link should be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PositionConstraint {
    /// Which frame it is in, and when it holds.
    pub header: Header,
    /// The link.
    pub link_name: String,
    /// The point of the link that is meant, in metres.
    pub target_point_offset: Vector3,
    /// Where it has to be.
    pub constraint_region: BoundingVolume,
    /// What it counts, or weighs.
    pub weight: f64,
}

/// `moveit_msgs/msg/OrientationConstraint`: how a link should be turned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OrientationConstraint {
    /// Which frame it is in, and when it holds.
    pub header: Header,
    /// The rotation.
    pub orientation: Quaternion,
    /// The link.
    pub link_name: String,
    /// About x, in rad.
    pub absolute_x_axis_tolerance: f64,
    /// About y, in rad.
    pub absolute_y_axis_tolerance: f64,
    /// About z, in rad.
    pub absolute_z_axis_tolerance: f64,
    /// What the angles are.
    pub parameterization: u8,
    /// What it counts, or weighs.
    pub weight: f64,
}

/// `moveit_msgs/msg/VisibilityConstraint`: what a sensor should see.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VisibilityConstraint {
    /// In metres.
    pub target_radius: f64,
    /// What is looked at.
    pub target_pose: PoseStamped,
    /// How round the cone is.
    pub cone_sides: i32,
    /// Where the sensor is.
    pub sensor_pose: PoseStamped,
    /// In rad.
    pub max_view_angle: f64,
    /// In rad.
    pub max_range_angle: f64,
    /// Along which axis the sensor looks.
    pub sensor_view_direction: u8,
    /// What it counts, or weighs.
    pub weight: f64,
}

/// `moveit_msgs/msg/BoundingVolume`: a space.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BoundingVolume {
    /// Simple shapes.
    pub primitives: Vec<SolidPrimitive>,
    /// Where they are.
    pub primitive_poses: Vec<Pose>,
    /// Meshes.
    pub meshes: Vec<Mesh>,
    /// Where they are.
    pub mesh_poses: Vec<Pose>,
}

/// `moveit_msgs/msg/AttachedCollisionObject`: what a robot holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AttachedCollisionObject {
    /// The link.
    pub link_name: String,
    /// The object.
    pub object: CollisionObject,
    /// Links that may touch it.
    pub touch_links: Vec<String>,
    /// How fingers let it go.
    pub detach_posture: JointTrajectory,
    /// What it counts, or weighs.
    pub weight: f64,
}

/// `moveit_msgs/msg/CollisionObject`: what may be hit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CollisionObject {
    /// Which frame it is in, and when it holds.
    pub header: Header,
    /// The pose.
    pub pose: Pose,
    /// Its name.
    pub id: String,
    /// What kind it is.
    pub type_: ObjectType,
    /// Simple shapes.
    pub primitives: Vec<SolidPrimitive>,
    /// Where they are.
    pub primitive_poses: Vec<Pose>,
    /// Meshes.
    pub meshes: Vec<Mesh>,
    /// Where they are.
    pub mesh_poses: Vec<Pose>,
    /// Planes.
    pub planes: Vec<Plane>,
    /// Where they are.
    pub plane_poses: Vec<Pose>,
    /// Its frames.
    pub subframe_names: Vec<String>,
    /// Where they are.
    pub subframe_poses: Vec<Pose>,
    /// Whether it is added, removed, appended or moved.
    pub operation: u8,
}

/// The request of `moveit_msgs/srv/GetPositionIK`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetPositionIKRequest {
    /// What is wanted.
    pub ik_request: PositionIKRequest,
}

/// The response of `moveit_msgs/srv/GetPositionIK`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetPositionIKResponse {
    /// Where joints are to be.
    pub solution: RobotState,
    /// How it went.
    pub error_code: MoveItErrorCodes,
}

/// The request of `moveit_msgs/srv/GetPositionFK`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetPositionFKRequest {
    /// Which frame it is in, and when it holds.
    pub header: Header,
    /// The links.
    pub fk_link_names: Vec<String>,
    /// Where joints are.
    pub robot_state: RobotState,
}

/// The response of `moveit_msgs/srv/GetPositionFK`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GetPositionFKResponse {
    /// Where links are, or are wanted.
    pub pose_stamped: Vec<PoseStamped>,
    /// The links.
    pub fk_link_names: Vec<String>,
    /// How it went.
    pub error_code: MoveItErrorCodes,
}

/// `moveit_msgs/srv/GetPositionIK`.
pub struct GetPositionIK;

/// `moveit_msgs/srv/GetPositionFK`.
pub struct GetPositionFK;

super::service!(moveit_msgs: GetPositionIK(GetPositionIKRequest) -> GetPositionIKResponse);
super::service!(moveit_msgs: GetPositionFK(GetPositionFKRequest) -> GetPositionFKResponse);
