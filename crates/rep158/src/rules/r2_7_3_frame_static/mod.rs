//! `ros:frame:static` is a Boolean.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "ros:frame:static is no truth value.",
    outcome: "Simulators publish the frame on the wrong topic.",
    demand: "bool ros:frame:static says whether the frame goes to /tf_static.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject
        .stage
        .iter()
        .filter(|(_, prim)| prim.is_present() && prim.has("RosFrameAPI"))
    {
        let name = "ros:frame:static";
        if prim.value(name).is_some() && prim.flag(name).is_none() {
            let message = format!(
                "the frame {} has a value for {name} that is no bool",
                prim.path
            );
            findings.prim(
                id,
                Some(name),
                message,
                format!("author `bool {name}`, true or false"),
            );
        }
    }
}
