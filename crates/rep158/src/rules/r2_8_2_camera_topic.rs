//! That a camera's topics are in its optical frame.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::PrimId;

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.8.2",
        severity: Severity::Error,
        meaning: "A camera's images are published beside the camera.",
        outcome: "Their frame is not that of the image, so they are shown turned.",
    },
    demand: "Authors must create an optical frame below the camera and apply the camera's RosTopicAPI there.",
    section: ("Optical Frames", "§2.8"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Camera "camera"
    {
    }

    def Xform "image_raw" (
        prepend apiSchemas = ["RosTopicAPI"]
    )
    {
        uniform token ros:topic:role = "publisher"
        uniform string ros:topic:type = "sensor_msgs/msg/Image"
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot" (
    prepend apiSchemas = ["RosContextAPI"]
)
{
    def Camera "camera"
    {
        def Xform "image_raw" (
            prepend apiSchemas = ["RosTopicAPI"]
        )
        {
            uniform token ros:topic:role = "publisher"
            uniform string ros:topic:type = "sensor_msgs/msg/Image"
        }
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for sensor in ros::interfaces(stage).filter(ros::Interface::is_sensor) {
        let of = sensor.text("type").unwrap_or_default().rsplit('/').next().unwrap_or_default();
        if !matches!(of, "Image" | "CompressedImage" | "CameraInfo") {
            continue;
        }
        let Some(parent) = sensor.prim.parent else { continue };
        let is_camera = |&&id: &&PrimId| stage[id].type_name == "Camera" && stage[id].is_present();
        let Some(camera) = stage[parent].children.iter().find(is_camera) else { continue };
        // A camera in the optical frame, turned back, is the same the other way round.
        let turned = stage[*camera].local().matrix.try_inverse().map(|back| back * sensor.prim.local().matrix);
        if turned.is_some_and(|matrix| ros::is_optical(&matrix)) {
            continue;
        }
        let message = format!("the topic {} of {of} stands beside the camera {}", sensor.prim.path, stage[*camera].path);
        let help = "move it into a child Xform of the camera with `quatf xformOp:orient = (0, 1, 0, 0)`";
        findings.prim(&RULE.code, sensor.id, None, message, help);
    }
}
