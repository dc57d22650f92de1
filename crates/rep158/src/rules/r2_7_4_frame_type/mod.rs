//! Frames are Xforms.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A prim with RosFrameAPI is not an Xform.",
    outcome: "The prim has no pose, or one that does not count as a frame.",
    demand: "RosFrameAPI must be applied to a UsdGeomXform prim.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present_with("RosFrameAPI") {
        // Cameras are left to REP158-2.8.1.
        if matches!(prim.type_name.as_str(), "Xform" | "Camera") {
            continue;
        }
        let is = match prim.type_name.as_str() {
            "" => "has no type".to_owned(),
            other => format!("is a {other}"),
        };
        let message = format!("the frame {} {is}", prim.path);
        findings.prim(
            id,
            None,
            message,
            "make it an Xform, or apply RosFrameAPI to an Xform beside it",
        );
    }
}
