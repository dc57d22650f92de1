//! The default prim is the asset's ROS context.

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "The ROS context of the asset is not on its default prim.",
    outcome: "A scene that references the asset cannot give it another namespace.",
    demand: "A modular asset's root namespace must be authored on its defaultPrim.",
    section: ("Hierarchical Namespace Concatenation", "§2.1.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let Some(root) = stage.default_prim else {
        return;
    };
    // A scene of several robots has no context of its own.
    let is_scene = matches!(stage[root].kind.as_deref(), Some("assembly" | "group"));
    if is_scene || ros::is_context(&stage[root]) {
        return;
    }
    let is_top = |id: PrimId| ros::robot_of(stage, id) == Some(id);
    for (id, prim) in ros::contexts(stage).filter(|(id, _)| is_top(*id)) {
        let message = format!(
            "{} has RosContextAPI, but the default prim {} does not",
            prim.path, stage[root].path
        );
        findings.prim(
            id,
            None,
            message,
            format!(
                "apply RosContextAPI to {}, with the namespace",
                stage[root].path
            ),
        );
    }
}
