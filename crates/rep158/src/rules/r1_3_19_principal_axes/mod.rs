//! Principal moments of inertia come with their axes.

use urdf_usd_stage::numbers;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A body has moments of inertia without principal axes, or with axes that are not a \
              rotation.",
    outcome: "Programs use the axes of the link instead, and the robot moves differently.",
    demand: "Converters must decompose inertia into physics:diagonalInertia and \
             physics:principalAxes (a quaternion).",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present_with("PhysicsMassAPI") {
        let name = "physics:principalAxes";
        let moments = prim
            .value("physics:diagonalInertia")
            .and_then(numbers::<3>)
            .filter(|moments| *moments != [0.0; 3]);
        let axes = prim.value(name).and_then(numbers::<4>);
        let path = &prim.path;
        let message = match axes {
            // Zeros mean that the value is not authored.
            None | Some([0.0, 0.0, 0.0, 0.0]) if moments.is_none() => continue,
            None | Some([0.0, 0.0, 0.0, 0.0]) => {
                format!("{path} has moments of inertia, but no principal axes")
            }
            Some(axes) => {
                let norm = axes.iter().map(|c| c * c).sum::<f64>().sqrt();
                if (norm - 1.0).abs() < SLACK {
                    continue;
                }
                format!("{path} has principal axes of length {norm:.4}, so they are not a rotation")
            }
        };
        let help = "author a unit quaternion as `quatf physics:principalAxes`; (1, 0, 0, 0) for the axes of the link";
        findings.prim(id, Some(name), message, help);
    }
}

/// Tolerance of the length of a quaternion.
const SLACK: f64 = 1e-3;
