//! Camera topics are on the camera's optical frame.

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "A camera's images are published beside the camera.",
    outcome: "Their frame is not that of the image, so they are shown turned.",
    demand: "Authors must create an optical frame below the camera and apply the camera's \
             RosTopicAPI there.",
    section: ("Optical Frames", "§2.8"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for sensor in ros::interfaces(stage).filter(ros::Interface::is_sensor) {
        let of = sensor
            .text("type")
            .unwrap_or_default()
            .rsplit('/')
            .next()
            .unwrap_or_default();
        if !matches!(of, "Image" | "CompressedImage" | "CameraInfo") {
            continue;
        }
        let Some(parent) = sensor.prim.parent else {
            continue;
        };
        let is_camera = |&&id: &&PrimId| stage[id].type_name == "Camera" && stage[id].is_present();
        let Some(camera) = stage[parent].children.iter().find(is_camera) else {
            continue;
        };
        // Also accept a camera below its optical frame, rotated back.
        let turned = stage[*camera]
            .local()
            .matrix
            .try_inverse()
            .map(|back| back * sensor.prim.local().matrix);
        if turned.is_some_and(|matrix| ros::is_optical(&matrix)) {
            continue;
        }
        let message = format!(
            "the topic {} of {of} stands beside the camera {}",
            sensor.prim.path, stage[*camera].path
        );
        let help =
            "move it into a child Xform of the camera with `quatf xformOp:orient = (0, 1, 0, 0)`";
        findings.prim(sensor.id, None, message, help);
    }
}
