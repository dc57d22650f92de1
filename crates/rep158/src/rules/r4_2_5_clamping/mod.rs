//! Effort tables have columns of equal length and increasing positions.

use std::cmp::Ordering;

use urdf_usd_stage::double_array;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A table of efforts over positions has columns of different lengths, or positions \
              that do not increase.",
    outcome: "Engines read beyond its end, or find no effort for a position.",
    demand: "lookupPositions and lookupEfforts must have the same length, and the positions must \
             increase.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let names = [
        "ext_physics:clamp_position:lookupPositions",
        "ext_physics:clamp_position:lookupEfforts",
    ];
    let schema = "ExtendedPhysicsPositionBasedClampingAPI";
    for (id, prim) in subject.stage.present_with(schema) {
        let [positions, efforts] =
            names.map(|name| prim.value(name).and_then(double_array).unwrap_or_default());
        let path = &prim.path;
        if positions.len() != efforts.len() {
            let message = format!(
                "the table of {path} has {} positions and {} efforts",
                positions.len(),
                efforts.len()
            );
            findings.prim(id, Some(names[1]), message, "give each position one effort");
        }
        // NaN is not greater than any number.
        let mut pairs = positions.iter().zip(positions.iter().skip(1));
        let falling = pairs.find(|(a, b)| b.partial_cmp(a) != Some(Ordering::Greater));
        if let Some((before, after)) = falling {
            let message = format!(
                "the positions in the table of {path} do not increase: {after} follows {before}"
            );
            findings.prim(
                id,
                Some(names[0]),
                message,
                "sort the table by its positions, each one once",
            );
        }
    }
}
