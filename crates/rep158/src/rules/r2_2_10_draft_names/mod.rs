//! Schemas and properties have the published names, not those of an early draft.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A schema or property has the name of an early draft: Ros2TopicAPI, ros2:topic:name.",
    outcome: "Simulators ignore the interface or the controller without an error.",
    demand: "The interfaces of an asset are declared by RosContextAPI, RosTopicAPI, RosServiceAPI, \
             RosActionAPI and RosFrameAPI, whose properties begin with ros:.",
    section: ("ROS Integration Schemas", "§2"),
}

/// Schemas of the first draft of `ros-simulation/openusd-schemas` whose names changed by more than the
/// `2`, with their present names.
const RENAMED: [(&str, &str); 6] = [
    ("Ros2ExternalControlAPI", "RosControlExternalAPI"),
    ("Ros2IntegratedControlAPI", "RosControlIntegratedAPI"),
    (
        "Ros2RigidBodyTwistControllerAPI",
        "RosControlRigidBodyTwistAPI",
    ),
    ("Ros2DiffDriveControllerAPI", "RosControlDiffDriveAPI"),
    (
        "Ros2JointTrajectoryControllerAPI",
        "RosControlJointTrajectoryAPI",
    ),
    (
        "Ros2JointStateBroadcasterAPI",
        "RosControlJointStateBroadcasterAPI",
    ),
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        for schema in &prim.schemas {
            let Some(rest) = schema
                .strip_prefix("Ros2")
                .filter(|rest| rest.ends_with("API"))
            else {
                continue;
            };
            let renamed = RENAMED.iter().find(|(old, _)| old == schema);
            let new = renamed.map_or_else(|| format!("Ros{rest}"), |(_, new)| (*new).to_owned());
            let message = format!("{} has {schema}, a name of an early draft", prim.path);
            findings.prim(id, None, message, format!("apply {new} instead"));
        }
        for name in prim.attributes.keys().chain(prim.relationships.keys()) {
            if let Some(rest) = name.strip_prefix("ros2:") {
                let message = format!("{} has {name}, a name of an early draft", prim.path);
                findings.prim(id, Some(name), message, format!("rename it to ros:{rest}"));
            }
        }
    }
}
