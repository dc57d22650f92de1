//! Camera topics are on the camera's optical frame.

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "A camera's images are published beside the camera.",
    outcome: "Their frame is not the optical frame, so the images appear rotated.",
    demand: "Authors must create an optical frame below the camera and apply the camera's \
             RosTopicAPI there.",
    section: ("Optical Frames", "§2.8"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for sensor in ros::interfaces(stage).filter(ros::Interface::is_sensor) {
        let type_name = sensor
            .text("type")
            .unwrap_or_default()
            .rsplit('/')
            .next()
            .unwrap_or_default();
        if !matches!(type_name, "Image" | "CompressedImage" | "CameraInfo") {
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
        let sensor_in_camera = stage[*camera]
            .local()
            .matrix
            .try_inverse()
            .map(|back| back * sensor.prim.local().matrix);
        if sensor_in_camera.is_some_and(|matrix| ros::is_optical(&matrix)) {
            continue;
        }
        let message = format!(
            "the topic {} of the type {type_name} is beside the camera {}",
            sensor.prim.path, stage[*camera].path
        );
        let help =
            "move it into a child Xform of the camera with `quatf xformOp:orient = (0, 1, 0, 0)`";
        findings.prim(sensor.id, None, message, help);
    }
}
