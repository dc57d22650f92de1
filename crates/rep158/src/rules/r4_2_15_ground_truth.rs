//! That a sensor only measures what can be measured.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::control;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.15",
        severity: Severity::Error,
        meaning: "A sensor has attributes for what only a simulator knows.",
        outcome: "What is tested with it fails on the real robot.",
    },
    demand: "Ground truth (e.g. semantic segmentation, bounding boxes) must not be bundled into sensor schemas, but be asked for by annotator schemas.",
    section: ("Sensor Schemas", "§4.2.4"),
    breaks: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "front" (
        prepend apiSchemas = ["SensorLidarAPI"]
    )
    {
        bool sensor:lidar:semanticSegmentation = true
    }
}"#,
        ),
    )],
    keeps: &[(
        "robot.usda",
        Some(
            r#"def Xform "robot"
{
    def Xform "front" (
        prepend apiSchemas = ["SensorLidarAPI"]
    )
    {
        float sensor:lidar:range = 30
    }
}"#,
        ),
    )],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present() && control::sensor_schema(prim).is_some()) {
        for name in prim.attributes.keys().filter(|name| name.starts_with("sensor")) {
            let plain = name.to_lowercase().replace('_', "");
            if let Some(word) = TRUTHS.iter().find(|word| plain.contains(*word)) {
                let message = format!("the sensor {} has {name}, which a real one can not measure ({word})", prim.path);
                findings.prim(&RULE.code, id, Some(name), message, "move it to a prim of its own, with an annotator schema");
            }
        }
    }
}

/// What only a simulator knows, in the names of attributes.
const TRUTHS: [&str; 4] = ["semantic", "segmentation", "boundingbox", "groundtruth"];
