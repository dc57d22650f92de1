//! Inertia is physically realisable.

use urdf_usd_stage::numbers;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "The principal moments of inertia of a body are physically impossible.",
    outcome: "Engines reject the body, replace its inertia, or become unstable.",
    demand: "physics:diagonalInertia must be the eigenvalues of the inertia: positive, none above \
             the sum of the other two.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present_with("PhysicsMassAPI") {
        let name = "physics:diagonalInertia";
        // Zeros mean that the value is not authored.
        let Some(moments) = prim
            .value(name)
            .and_then(numbers::<3>)
            .filter(|moments| *moments != [0.0; 3])
        else {
            continue;
        };
        // The largest exceeds the sum of the other two exactly if its double exceeds the sum of
        // all.
        let [x, y, z] = moments;
        let path = &prim.path;
        let message = if !moments
            .iter()
            .all(|moment| *moment > 0.0 && moment.is_finite())
        {
            format!(
                "{path} has the moments of inertia ({x}, {y}, {z}), which are not all positive and finite"
            )
        } else if 2.0 * x.max(y).max(z) > (x + y + z) * (1.0 + SLACK) {
            format!(
                "{path} has the moments of inertia ({x}, {y}, {z}), one of which exceeds the sum of the others"
            )
        } else {
            continue;
        };
        let help = "author the principal moments about the centre of mass, in kg m²";
        findings.prim(id, Some(name), message, help);
    }
}

/// Tolerance of the triangle inequality, above single precision: thin plates are on its edge.
const SLACK: f64 = 1e-4;
