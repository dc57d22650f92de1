//! Light types are those of UsdLux.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A light is of a type that UsdLux does not have.",
    outcome: "Only the program that defines the type shows the light.",
    demand: "Lighting must be authored using core UsdLux schemas.",
    section: ("Lighting", "§3.6"),
}

const CORE: [&str; 11] = [
    "DistantLight",
    "SphereLight",
    "DomeLight",
    "DomeLight_1",
    "RectLight",
    "DiskLight",
    "CylinderLight",
    "PortalLight",
    "GeometryLight",
    "PluginLight",
    "LightPortal",
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        let kind = prim.type_name.as_str();
        if kind.ends_with("Light") && !CORE.contains(&kind) {
            let message = format!(
                "the light {} is a {kind}, which UsdLux does not have",
                prim.path
            );
            let help = "use a DistantLight, a SphereLight, or a SphereLight with ShapingAPI";
            findings.prim(id, None, message, help);
        }
    }
}
