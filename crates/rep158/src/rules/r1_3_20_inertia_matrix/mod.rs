//! Inertia is authored by UsdPhysics attributes only.

use urdf_usd_stage::{array_len, doubles};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A prim has an inertia matrix as a custom attribute.",
    outcome: "Programs that read it and those that do not simulate different robots.",
    demand: "Custom 6-value inertia attributes must not be authored: physics:diagonalInertia and \
             physics:principalAxes are the only source.",
    section: ("Physics", "§1.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        for (name, attribute) in prim.attributes.iter() {
            let last = name.rsplit(':').next().unwrap_or_default();
            let is_inertia = name.to_lowercase().contains("inertia")
                && !name.starts_with("physics:diagonalInertia");
            let count = attribute.value.as_ref().map_or(0, |value| {
                array_len(value)
                    .or_else(|| doubles(value).map(|all| all.len()))
                    .unwrap_or(0)
            });
            let is_matrix = is_inertia
                && (matches!(count, 6 | 9) || attribute.type_name.starts_with("matrix3"));
            // Report a matrix once, by its first element.
            let is_element = matches!(last.to_lowercase().as_str(), "ixx");
            if is_matrix || is_element {
                let message = format!("{} has the inertia matrix {name}", prim.path);
                let help = "author its eigenvalues as physics:diagonalInertia and its axes as physics:principalAxes, and remove the matrix";
                findings.prim(id, Some(name), message, help);
            }
        }
    }
}
