use std::collections::BTreeMap;

use urdf_usd_ros::cdr;
use urdf_usd_ros::msg::{
    Interface, Payload, builtin_interfaces, diagnostic_msgs, geometry_msgs, moveit_msgs,
    object_recognition_msgs, rcl_interfaces, rmw_dds_common, rosgraph_msgs, sensor_msgs,
    shape_msgs, std_msgs, tf2_msgs, trajectory_msgs,
};
use urdf_usd_ros::types::Type;

use super::*;

/// The hashes that `rosidl_generator_type_description` 4.6.5 (ROS 2 Jazzy) gives for `msg/` and
/// `srv/`.
#[test]
fn hashes_are_those_of_rosidl() {
    let hashes: [(&Type, &str); 7] = [
        (
            Asset::TYPE,
            "5b3525babd1fe144cbfc43fef8c15a650e25eb2399059bfbf0d7d9c9fb6b3b4c",
        ),
        (
            FrameVerdict::TYPE,
            "73a061494e24092e4181d8ddc5d87f2e1e5f5d7861171637c24e467c47f1de95",
        ),
        (
            CheckFrames::TYPE,
            "4c65ec54f087bd5d220d4fb0e7fb8b615008fab05100150ad48a989aff15317f",
        ),
        (
            Convert::TYPE,
            "4a196eb2900c804f4690e268ffbd48c428171e83e0b20ca17d24496e6556a9d6",
        ),
        (
            ConvertRequest::TYPE,
            "8d38aa68243d22bf287fc959b539e0743798588b1a981d1a18b66f4c59735152",
        ),
        (
            ConvertResponse::TYPE,
            "9386eedee3f6d9502c062fb42f5ce980f902999b754ef97fddf35d8e632e769d",
        ),
        (
            Convert::TYPE.references()["urdf_usd/srv/Convert_Event"],
            "5c9421fd73f3a445d50ad9e03c240b7e35c831bdf5c9e54dee04bd2844697cb5",
        ),
    ];
    for (definition, hash) in hashes {
        assert_eq!(
            definition.hash(),
            format!("RIHS01_{hash}"),
            "{}",
            definition.name
        );
    }
}

#[test]
fn definitions_contain_their_text() {
    assert_eq!(Asset::TYPE.source, Some(include_str!("../msg/Asset.msg")));
    assert_eq!(
        Convert::TYPE.source,
        Some(include_str!("../srv/Convert.srv"))
    );
    assert_eq!(ConvertRequest::TYPE.source, None);
}

/// A line of `cyclone.jsonl`: the bytes that CycloneDDS writes for a value.
#[derive(serde::Deserialize)]
struct Sample {
    #[serde(rename = "type")]
    name: String,
    value: serde_json::Value,
    cdr: String,
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal");
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// Compares the bytes and the names of fields, both of which depend on the order of fields.
fn check<T: Payload + PartialEq>(samples: &mut BTreeMap<String, Sample>) {
    let name = T::TYPE.name;
    let Sample { value, cdr, .. } = samples.remove(name).expect(name);
    let value: T = serde_json::from_value(value).expect(name);
    assert_eq!(cdr::encode(&value), Ok(bytes(&cdr)), "{name}");
    assert_eq!(cdr::decode(&bytes(&cdr)), Ok(value), "{name}");
}

macro_rules! check {
    ($samples:expr; $($kind:ty),+ $(,)?) => {
        $(check::<$kind>($samples);)+
    };
}

/// `test/ros/test_messages.py` makes the samples.
#[test]
fn messages_are_written_as_cyclonedds_writes_them() {
    let lines = include_str!("tests/cyclone.jsonl").lines();
    let read = |line| serde_json::from_str(line).expect("a sample");
    let samples = lines
        .map(read)
        .map(|sample: Sample| (sample.name.clone(), sample));
    let samples = &mut samples.collect::<BTreeMap<_, _>>();
    check!(samples; Asset, FrameVerdict, NamedPose);
    check!(samples; CheckFramesRequest, CheckFramesResponse, ComputeFkRequest, ComputeFkResponse);
    check!(samples; ConvertRequest, ConvertResponse, DeletePoseRequest, DeletePoseResponse);
    check!(samples; ListPosesRequest, ListPosesResponse, SolveIkRequest, SolveIkResponse);
    check!(samples; StorePoseRequest, StorePoseResponse);
    check!(samples; builtin_interfaces::Duration, builtin_interfaces::Time);
    check!(
        samples;
        diagnostic_msgs::DiagnosticArray,
        diagnostic_msgs::DiagnosticStatus,
        diagnostic_msgs::KeyValue,
    );
    check!(
        samples;
        geometry_msgs::Point,
        geometry_msgs::Point32,
        geometry_msgs::Polygon,
        geometry_msgs::Pose,
        geometry_msgs::PoseStamped,
        geometry_msgs::Quaternion,
        geometry_msgs::Transform,
        geometry_msgs::TransformStamped,
        geometry_msgs::Twist,
        geometry_msgs::Vector3,
        geometry_msgs::Wrench,
    );
    check!(
        samples;
        moveit_msgs::AttachedCollisionObject,
        moveit_msgs::BoundingVolume,
        moveit_msgs::CollisionObject,
        moveit_msgs::Constraints,
        moveit_msgs::GetPositionFKRequest,
        moveit_msgs::GetPositionFKResponse,
        moveit_msgs::GetPositionIKRequest,
        moveit_msgs::GetPositionIKResponse,
        moveit_msgs::JointConstraint,
        moveit_msgs::MoveItErrorCodes,
        moveit_msgs::OrientationConstraint,
        moveit_msgs::PositionConstraint,
        moveit_msgs::PositionIKRequest,
        moveit_msgs::RobotState,
        moveit_msgs::VisibilityConstraint,
    );
    check!(samples; object_recognition_msgs::ObjectType);
    check!(
        samples;
        rcl_interfaces::DescribeParametersRequest,
        rcl_interfaces::DescribeParametersResponse,
        rcl_interfaces::FloatingPointRange,
        rcl_interfaces::GetParameterTypesRequest,
        rcl_interfaces::GetParameterTypesResponse,
        rcl_interfaces::GetParametersRequest,
        rcl_interfaces::GetParametersResponse,
        rcl_interfaces::IntegerRange,
        rcl_interfaces::ListParametersRequest,
        rcl_interfaces::ListParametersResponse,
        rcl_interfaces::ListParametersResult,
        rcl_interfaces::Log,
        rcl_interfaces::Parameter,
        rcl_interfaces::ParameterDescriptor,
        rcl_interfaces::ParameterEvent,
        rcl_interfaces::ParameterValue,
        rcl_interfaces::SetParametersAtomicallyRequest,
        rcl_interfaces::SetParametersAtomicallyResponse,
        rcl_interfaces::SetParametersRequest,
        rcl_interfaces::SetParametersResponse,
        rcl_interfaces::SetParametersResult,
    );
    check!(
        samples;
        rmw_dds_common::Gid,
        rmw_dds_common::NodeEntitiesInfo,
        rmw_dds_common::ParticipantEntitiesInfo,
    );
    check!(samples; rosgraph_msgs::Clock, sensor_msgs::JointState, sensor_msgs::MultiDOFJointState);
    check!(
        samples;
        shape_msgs::Mesh,
        shape_msgs::MeshTriangle,
        shape_msgs::Plane,
        shape_msgs::SolidPrimitive,
    );
    check!(samples; std_msgs::Header, std_msgs::String, tf2_msgs::TFMessage);
    check!(samples; trajectory_msgs::JointTrajectory, trajectory_msgs::JointTrajectoryPoint);
    assert!(samples.is_empty(), "not checked: {:?}", samples.keys());
}
