//! Translates names of topics, services and types between ROS and DDS.

use super::dds::DdsTopic;
use crate::names;
use crate::transport::Name;
use crate::types::Type;

/// Returns a topic in DDS terms: `/tf` is `rt/tf`.
pub(super) fn topic(topic: &Name) -> DdsTopic {
    DdsTopic {
        name: format!("rt{}", topic.full),
        type_name: names::dds_type(&topic.type_name, ""),
        definition: topic.definition,
    }
}

/// Returns the two topics of a service, for requests and for answers.
pub(super) fn service(service: &Name) -> (DdsTopic, DdsTopic) {
    let halves = service.definition.and_then(Type::halves).unzip();
    (
        DdsTopic {
            name: format!("rq{}Request", service.full),
            type_name: names::dds_type(&service.type_name, "_Request"),
            definition: halves.0,
        },
        DdsTopic {
            name: format!("rr{}Reply", service.full),
            type_name: names::dds_type(&service.type_name, "_Response"),
            definition: halves.1,
        },
    )
}

/// Returns the ROS topic of a DDS topic: `rt/tf` → `/tf`.
pub(super) fn ros_topic(dds: &str) -> Option<String> {
    dds.strip_prefix("rt")
        .filter(|name| name.starts_with('/'))
        .map(str::to_owned)
}

/// Returns the ROS service of a DDS topic: `rq/resetRequest` → `/reset`.
pub(super) fn ros_service(dds: &str) -> Option<String> {
    dds.strip_prefix("rq")
        .filter(|name| name.starts_with('/'))?
        .strip_suffix("Request")
        .map(str::to_owned)
}

/// Returns whether a DDS topic is a ROS topic or half of a ROS service.
pub(super) fn is_ros_topic(dds: &str) -> bool {
    ["rt/", "rq/", "rr/"]
        .iter()
        .any(|prefix| dds.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(full: &str, type_name: &str) -> Name {
        Name {
            given: full.to_owned(),
            full: full.to_owned(),
            type_name: type_name.to_owned(),
            definition: None,
        }
    }

    #[test]
    fn names_round_trip_through_dds() {
        for kind in [
            "std_msgs/msg/String",
            "a_b/action/Fibonacci_FeedbackMessage",
            "p/msg/Request",
        ] {
            let dds = topic(&name("/x/y", kind));
            assert_eq!(
                (
                    ros_topic(&dds.name).as_deref(),
                    names::ros_type(&dds.type_name, "").as_str()
                ),
                (Some("/x/y"), kind)
            );
        }
        let (requests, answers) = service(&name("/left/reset", "std_srvs/srv/Trigger"));
        assert_eq!(
            (requests.name.as_str(), requests.type_name.as_str()),
            (
                "rq/left/resetRequest",
                "std_srvs::srv::dds_::Trigger_Request_"
            )
        );
        assert_eq!(
            (answers.name.as_str(), answers.type_name.as_str()),
            (
                "rr/left/resetReply",
                "std_srvs::srv::dds_::Trigger_Response_"
            )
        );
        assert_eq!(ros_service(&requests.name).as_deref(), Some("/left/reset"));
        assert_eq!(
            names::ros_type(&requests.type_name, "_Request"),
            "std_srvs/srv/Trigger"
        );
        assert_eq!(
            names::ros_type("p::action::dds_::Fibonacci_SendGoal_Request_", "_Request"),
            "p/action/Fibonacci_SendGoal"
        );
        for foreign in ["DCPSTopic", "rt", "rtx/y", "ros_discovery_info"] {
            assert_eq!(
                (
                    ros_topic(foreign),
                    ros_service(foreign),
                    is_ros_topic(foreign)
                ),
                (None, None, false),
                "{foreign}"
            );
        }
        for foreign in ["ShapeType", "a::dds_::B", "a::b"] {
            assert_eq!(names::ros_type(foreign, ""), foreign);
        }
    }
}
