//! That a sensor schema is on the prim that OpenUSD has for it.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-4.2.8",
        severity: Severity::Error,
        meaning: "A camera's sensor schema is applied to a prim that is no camera.",
        outcome: "Lens and aperture of the sensor are nowhere, or are there twice.",
    },
    demand: "Schema definitions must leverage core OpenUSD primitives: SensorCameraAPI must apply to a UsdGeomCamera.",
    section: ("General Extension Schema Rules", "§4.2.1"),
    breaks: &[("robot.usda", Some("def Xform \"robot\" (\n    apiSchemas = [\"SensorCameraAPI\"]\n)\n{\n}"))],
    keeps: &[("robot.usda", Some("def Camera \"robot\" (\n    apiSchemas = [\"SensorCameraAPI\"]\n)\n{\n}"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present() && prim.type_name != "Camera") {
        let is_camera = |schema: &&String| schema.starts_with("Sensor") && schema.ends_with("CameraAPI");
        if let Some(schema) = prim.schemas.iter().find(is_camera) {
            let what = if prim.type_name.is_empty() { "has no type" } else { &prim.type_name };
            let message = format!("{schema} is applied to {}, which is no Camera ({what})", prim.path);
            findings.prim(&RULE.code, id, None, message, "apply it to a Camera prim, which holds the lens and the aperture");
        }
    }
}
