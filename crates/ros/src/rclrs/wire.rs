//! The plain structs of [`crate::msg`] and what rosidl generated for the same interfaces: field by
//! field, so that the compiler tells where the two differ.

use ::rclrs::rosidl_runtime_rs::{BoundedSequence, SequenceAlloc};
use ros_env as theirs;

use crate::msg as ours;

/// What rosidl generated, and the plain struct of ours that is the same.
pub trait Mirror<Ours>: Sized {
    /// For the client.
    fn from_ours(ours: Ours) -> Self;
    /// From the client.
    fn into_ours(self) -> Ours;
}

macro_rules! same {
    ($($type:ty)+) => {
        $(impl Mirror<$type> for $type {
            fn from_ours(ours: $type) -> Self {
                ours
            }
            fn into_ours(self) -> $type {
                self
            }
        })+
    };
}
same!(bool u8 i32 u32 i64 u64 f64 String);

impl<Ours, Theirs: Mirror<Ours>> Mirror<Vec<Ours>> for Vec<Theirs> {
    fn from_ours(ours: Vec<Ours>) -> Self {
        ours.into_iter().map(Theirs::from_ours).collect()
    }
    fn into_ours(self) -> Vec<Ours> {
        self.into_iter().map(Theirs::into_ours).collect()
    }
}

/// What is too much for the sequence is left out.
impl<Ours, Theirs: Mirror<Ours> + SequenceAlloc, const N: usize> Mirror<Vec<Ours>>
    for BoundedSequence<Theirs, N>
{
    fn from_ours(ours: Vec<Ours>) -> Self {
        ours.into_iter().take(N).map(Theirs::from_ours).collect()
    }
    fn into_ours(self) -> Vec<Ours> {
        self.into_iter().map(Theirs::into_ours).collect()
    }
}

/// Interfaces of one package: `Same { field, … }`, or `Ours = Theirs { field, … }`.
macro_rules! mirror {
    ($package:ident::$kind:ident: $($rest:tt)*) => {
        mirror!(@next $package $kind $($rest)*);
    };
    (@next $package:ident $kind:ident) => {};
    (@next $package:ident $kind:ident $name:ident { $($fields:tt)* } $($rest:tt)*) => {
        mirror!(@next $package $kind $name = $name { $($fields)* } $($rest)*);
    };
    (@next $package:ident $kind:ident $ours:ident = $theirs:ident { $($fields:tt)* } $($rest:tt)*) => {
        mirror!(@one ours::$package::$ours, theirs::$package::$kind::$theirs, $($fields)*);
        mirror!(@next $package $kind $($rest)*);
    };
    (@one $ours:path, $theirs:path, $($field:ident),*) => {
        impl Mirror<$ours> for $theirs {
            fn from_ours(ours: $ours) -> Self {
                Self { $($field: Mirror::from_ours(ours.$field)),* }
            }
            fn into_ours(self) -> $ours {
                $ours { $($field: self.$field.into_ours()),* }
            }
        }
    };
}

// In sequences of limited length rosidl has no other form of a message.
mirror!(@one ours::rcl_interfaces::IntegerRange, theirs::rcl_interfaces::msg::rmw::IntegerRange, from_value, to_value, step);
mirror!(
    @one ours::rcl_interfaces::FloatingPointRange, theirs::rcl_interfaces::msg::rmw::FloatingPointRange, from_value, to_value, step
);
mirror! { builtin_interfaces::msg:
    Time { sec, nanosec }
}
mirror! { diagnostic_msgs::msg:
    KeyValue { key, value }
    DiagnosticStatus { level, name, message, hardware_id, values }
    DiagnosticArray { header, status }
}
mirror! { geometry_msgs::msg:
    Vector3 { x, y, z }
    Quaternion { x, y, z, w }
    Point { x, y, z }
    Pose { position, orientation }
    Transform { translation, rotation }
    TransformStamped { header, child_frame_id, transform }
}
mirror! { rcl_interfaces::msg:
    ParameterValue {
        type_, bool_value, integer_value, double_value, string_value, byte_array_value, bool_array_value,
        integer_array_value, double_array_value, string_array_value
    }
    Parameter { name, value }
    ParameterEvent { stamp, node, new_parameters, changed_parameters, deleted_parameters }
    ParameterDescriptor {
        name, type_, description, additional_constraints, read_only, dynamic_typing, floating_point_range, integer_range
    }
    Log { stamp, level, name, msg, file, function, line }
    SetParametersResult { successful, reason }
    ListParametersResult { names, prefixes }
}
mirror! { rcl_interfaces::srv:
    Names = GetParameters_Request { names }
    Names = GetParameterTypes_Request { names }
    Names = DescribeParameters_Request { names }
    GetParametersResponse = GetParameters_Response { values }
    GetParameterTypesResponse = GetParameterTypes_Response { types }
    DescribeParametersResponse = DescribeParameters_Response { descriptors }
    ListParametersRequest = ListParameters_Request { prefixes, depth }
    ListParametersResponse = ListParameters_Response { result }
    SetParametersRequest = SetParameters_Request { parameters }
    SetParametersRequest = SetParametersAtomically_Request { parameters }
    SetParametersResponse = SetParameters_Response { results }
    SetParametersAtomicallyResponse = SetParametersAtomically_Response { result }
}
mirror! { rosgraph_msgs::msg:
    Clock { clock }
}
mirror! { sensor_msgs::msg:
    JointState { header, name, position, velocity, effort }
}
mirror! { std_msgs::msg:
    String { data }
    Header { stamp, frame_id }
}
mirror! { tf2_msgs::msg:
    TFMessage { transforms }
}
mirror! { urdf_usd::msg:
    Asset {
        header, robot, ros_namespace, revision, directory, entry, glb, files, sha256, links, joints, meshes, triangles,
        materials, warnings, errors, report
    }
    FrameVerdict {
        frame_id, verdict, expected_parent, actual_parent, expected_topic, actual_topic, position_error, angle_error,
        detail
    }
    NamedPose { name, group, joint_names, positions, valid }
}
mirror! { urdf_usd::srv:
    ConvertRequest = Convert_Request { urdf, uri, output_dir, formats, xrdf }
    ConvertResponse = Convert_Response { success, message, files, report }
    CheckFramesRequest = CheckFrames_Request { robot, frames }
    CheckFramesResponse = CheckFrames_Response { success, message, all_ok, robot, revision, frames }
    ListPosesRequest = ListPoses_Request { robot }
    ListPosesResponse = ListPoses_Response { success, message, robot, poses }
    StorePoseRequest = StorePose_Request { robot, name, group, joint_names, positions }
    StorePoseResponse = StorePose_Response { success, message, pose, entry }
    DeletePoseRequest = DeletePose_Request { robot, name, group }
    DeletePoseResponse = DeletePose_Response { success, message }
    SolveIkRequest = SolveIk_Request { robot, tip, base, target, seed }
    SolveIkResponse = SolveIk_Response { success, message, solution, position_error, angle_error, iterations }
    ComputeFkRequest = ComputeFk_Request { robot, state, base, links }
    ComputeFkResponse = ComputeFk_Response { success, message, links, poses }
}
