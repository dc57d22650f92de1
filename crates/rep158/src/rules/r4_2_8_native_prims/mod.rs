//! `SensorCameraAPI` is on cameras only.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A camera's sensor schema is applied to a prim that is not a camera.",
    outcome: "The lens and aperture of the sensor are missing, or defined twice.",
    demand: "Schema definitions must leverage core OpenUSD primitives: SensorCameraAPI must apply \
             to a UsdGeomCamera.",
    section: ("General Extension Schema Rules", "§4.2.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject
        .stage
        .present()
        .filter(|(_, prim)| prim.type_name != "Camera")
    {
        let is_camera =
            |schema: &&String| schema.starts_with("Sensor") && schema.ends_with("CameraAPI");
        if let Some(schema) = prim.schemas.iter().find(is_camera) {
            let what = if prim.type_name.is_empty() {
                "has no type"
            } else {
                &prim.type_name
            };
            let message = format!(
                "{schema} is applied to {}, which is not a Camera ({what})",
                prim.path
            );
            findings.prim(
                id,
                None,
                message,
                "apply it to a Camera prim, which holds the lens and the aperture",
            );
        }
    }
}
