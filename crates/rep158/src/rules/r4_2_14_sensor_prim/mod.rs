//! Sensor schemas are on Xforms or Cameras outside of payloads.

use super::{Findings, Subject, rule};
use crate::control;

rule! {
    severity: Error,
    meaning: "A sensor schema is on a prim other than an Xform or Camera, or in a payload.",
    outcome: "Programs do not find the sensor, or place it wrongly.",
    demand: "Sensor schemas must be applied to a UsdGeomXform or UsdGeomCamera outside of \
             payloads.",
    section: ("Sensor Schemas", "§4.2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        let Some(schema) = control::sensor_schema(prim) else {
            continue;
        };
        let message = if prim.in_payload {
            format!(
                "the sensor {} ({schema}) exists only when its payload is loaded",
                prim.path
            )
        } else if !matches!(prim.type_name.as_str(), "Xform" | "Camera") {
            format!(
                "the sensor {} ({schema}) is not an Xform or Camera",
                prim.path
            )
        } else {
            continue;
        };
        findings.prim(
            id,
            None,
            message,
            "apply the schema to an Xform or Camera in the link that carries the sensor",
        );
    }
}
