//! That images look along +z, as ROS has it.

use nalgebra::Matrix4;
use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::PrimId;

use crate::Rule;
use crate::findings::Findings;
use crate::ros;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-2.8.1",
        severity: Severity::Error,
        meaning: "A camera's ROS schemas are on the camera itself or on a prim that is not turned by 180° about x.",
        outcome: "RViz and every program that reads the images see them upside down or from behind.",
    },
    demand: "RosTopicAPI and RosFrameAPI must be applied exclusively to a child Xform of the camera that is rotated by 180° about its x axis.",
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
        def Xform "camera_optical_frame" (
            prepend apiSchemas = ["RosFrameAPI"]
        )
        {
            quatf xformOp:orient = (1, 0, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:orient"]
        }
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
        def Xform "camera_optical_frame" (
            prepend apiSchemas = ["RosFrameAPI"]
        )
        {
            quatf xformOp:orient = (0, 1, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:orient"]
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
    let is_ros = |id: PrimId| stage[id].is_present() && (stage[id].has("RosTopicAPI") || stage[id].has("RosFrameAPI"));
    for (camera, prim) in stage.iter().filter(|(_, prim)| prim.is_present() && prim.type_name == "Camera") {
        if is_ros(camera) {
            let message = format!("the camera {} has ROS schemas itself", prim.path);
            let help = "move them to a child Xform with `quatf xformOp:orient = (0, 1, 0, 0)`";
            findings.prim(&RULE.code, camera, None, message, help);
        }
        for id in stage.subtree(camera).skip(1).filter(|&id| is_ros(id)) {
            let between = std::iter::once(id).chain(stage.ancestors(id)).take_while(|&above| above != camera);
            if ros::is_optical(&between.fold(Matrix4::identity(), |matrix, above| stage[above].local().matrix * matrix)) {
                continue;
            }
            let message = format!("{} in the camera {} is not turned by exactly 180° about x", stage[id].path, prim.path);
            let help = "author `quatf xformOp:orient = (0, 1, 0, 0)` on the child of the camera, and no other transform";
            findings.prim(&RULE.code, id, Some("xformOpOrder"), message, help);
        }
    }
}
