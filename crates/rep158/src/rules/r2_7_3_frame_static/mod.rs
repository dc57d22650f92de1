//! `ros:frame:static` is a Boolean.

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "ros:frame:static is not a Boolean.",
    outcome: "Simulators publish the frame on the wrong topic.",
    demand: "bool ros:frame:static says whether the frame goes to /tf_static.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, _) in stage.present_with("RosFrameAPI") {
        ros::check_bool(findings, stage, id, "frame", "ros:frame:static");
    }
}
