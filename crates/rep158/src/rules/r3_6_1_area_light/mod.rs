//! Lights are point, spot or distant lights.

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "A light has an area: a rectangle, a disk, a cylinder, a portal, or a mesh.",
    outcome: "Only path tracers show it as meant; glTF has no such light.",
    demand: "Complex area lights (e.g. UsdLuxRectLight, UsdLuxCylinderLight) lack universal \
             support and should be avoided.",
    section: ("Lighting", "§3.6"),
}

const AREA: [&str; 6] = [
    "RectLight",
    "DiskLight",
    "CylinderLight",
    "PortalLight",
    "GeometryLight",
    "PluginLight",
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.present() {
        let schema = ["MeshLightAPI", "VolumeLightAPI"]
            .into_iter()
            .find(|schema| prim.has(schema));
        let kind = AREA
            .into_iter()
            .find(|name| *name == prim.type_name)
            .or(schema);
        if let Some(kind) = kind {
            let message = format!("the light {} has an area ({kind})", prim.path);
            let help = "use a DistantLight, a SphereLight, or a SphereLight with ShapingAPI";
            findings.prim(id, None, message, help);
        }
    }
}
