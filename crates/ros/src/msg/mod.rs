//! ROS messages and services as plain structs, one module per ROS package, fields as in the `.msg`
//! and `.srv` files and in their order (the order is the wire format).
//!
//! They name no ROS client, but for the types that rosidl generates, where the node is built with
//! those.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub mod builtin_interfaces;
pub mod diagnostic_msgs;
pub mod geometry_msgs;
#[cfg(not(feature = "rclrs"))]
pub mod moveit_msgs;
#[cfg(not(feature = "rclrs"))]
pub mod object_recognition_msgs;
pub mod rcl_interfaces;
pub mod rosgraph_msgs;
pub mod sensor_msgs;
#[cfg(not(feature = "rclrs"))]
pub mod shape_msgs;
pub mod std_msgs;
pub mod tf2_msgs;
#[cfg(not(feature = "rclrs"))]
pub mod trajectory_msgs;
#[cfg(not(feature = "rclrs"))]
pub mod type_description_interfaces;
pub mod urdf_usd;

/// The name of a ROS type: package and name, without the `msg` or `srv` between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeName {
    /// The ROS package: `std_msgs`.
    pub package: &'static str,
    /// The type: `String`.
    pub name: &'static str,
}

impl TypeName {
    /// The full name of a message type: `std_msgs/msg/String`.
    pub fn of_message(self) -> String {
        format!("{}/msg/{}", self.package, self.name)
    }

    /// The full name of a service type: `std_srvs/srv/Trigger`.
    pub fn of_service(self) -> String {
        format!("{}/srv/{}", self.package, self.name)
    }
}

/// What can travel: a message, or a half of a service.
pub trait Payload:
    Serialize + DeserializeOwned + Clone + Debug + Default + Send + Sync + 'static
{
}
impl<T: Serialize + DeserializeOwned + Clone + Debug + Default + Send + Sync + 'static> Payload
    for T
{
}

/// A message type, for topics.
pub trait Message: Payload {
    /// Its ROS name.
    const TYPE: TypeName;
    /// The same as rosidl generated it.
    #[cfg(feature = "rclrs")]
    type Ros: ::rclrs::MessageIDL + super::rclrs::wire::Mirror<Self>;
}

/// A service type.
pub trait Service: Send + Sync + 'static {
    /// Its ROS name.
    const TYPE: TypeName;
    /// The same as rosidl generated it.
    #[cfg(feature = "rclrs")]
    type Ros: ::rclrs::ServiceIDL<
            Request: super::rclrs::wire::Mirror<Self::Request>,
            Response: super::rclrs::wire::Mirror<Self::Response>,
        >;
    /// What callers ask.
    type Request: Payload;
    /// What they get.
    type Response: Payload;
}

macro_rules! message {
    ($package:ident: $($name:ident),+ $(,)?) => {
        $(impl $crate::msg::Message for $name {
            const TYPE: $crate::msg::TypeName =
                $crate::msg::TypeName { package: stringify!($package), name: stringify!($name) };
            #[cfg(feature = "rclrs")]
            type Ros = ::ros_env::$package::msg::$name;
        })+
    };
}
pub(crate) use message;

macro_rules! service {
    ($package:ident: $name:ident($request:ty) -> $response:ty) => {
        impl $crate::msg::Service for $name {
            const TYPE: $crate::msg::TypeName = $crate::msg::TypeName {
                package: stringify!($package),
                name: stringify!($name),
            };
            #[cfg(feature = "rclrs")]
            type Ros = ::ros_env::$package::srv::$name;
            type Request = $request;
            type Response = $response;
        }
    };
}
pub(crate) use service;
