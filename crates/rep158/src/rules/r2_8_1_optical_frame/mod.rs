//! Optical frames are rotated by 180° about the x axis of their camera.

use nalgebra::Matrix4;
use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "A camera's ROS schemas are on the camera itself or on a prim that is not rotated by \
              180° about x.",
    outcome: "RViz and other programs show the images upside down or from behind.",
    demand: "RosTopicAPI and RosFrameAPI must be applied exclusively to a child Xform of the \
             camera that is rotated by 180° about its x axis.",
    section: ("Optical Frames", "§2.8"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let is_ros = |id: PrimId| {
        stage[id].is_present() && (stage[id].has("RosTopicAPI") || stage[id].has("RosFrameAPI"))
    };
    for (camera, prim) in stage
        .present()
        .filter(|(_, prim)| prim.type_name == "Camera")
    {
        if is_ros(camera) {
            let message = format!("the camera {} has ROS schemas itself", prim.path);
            let help = "move them to a child Xform with `quatf xformOp:orient = (0, 1, 0, 0)`";
            findings.prim(camera, None, message, help);
        }
        for id in stage.subtree(camera).skip(1).filter(|&id| is_ros(id)) {
            let between = stage
                .self_and_ancestors(id)
                .take_while(|&above| above != camera);
            if ros::is_optical(&between.fold(Matrix4::identity(), |matrix, above| {
                stage[above].local().matrix * matrix
            })) {
                continue;
            }
            let message = format!(
                "{} in the camera {} is not rotated by exactly 180° about x",
                stage[id].path, prim.path
            );
            let help = "author `quatf xformOp:orient = (0, 1, 0, 0)` on the child of the camera, and no other transform";
            findings.prim(id, Some("xformOpOrder"), message, help);
        }
    }
}
