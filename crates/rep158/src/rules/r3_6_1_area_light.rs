//! That lights are points, spots or directions.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.6.1",
        severity: Severity::Warning,
        meaning: "A light has an area: a rectangle, a disk, a cylinder, a portal, or a mesh.",
        outcome: "Only path tracers show it as meant; glTF has no such light.",
    },
    demand: "Complex area lights (e.g. UsdLuxRectLight, UsdLuxCylinderLight) lack universal support and should be avoided.",
    section: ("Lighting", "§3.6"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def RectLight \"light\"\n    {\n        float inputs:intensity = 1000\n    }\n}")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def SphereLight \"light\"\n    {\n        float inputs:intensity = 1000\n    }\n}")),
    ],
    turn: Turn::Usual,
    check,
};

const AREA: [&str; 6] = ["RectLight", "DiskLight", "CylinderLight", "PortalLight", "GeometryLight", "PluginLight"];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present()) {
        let schema = ["MeshLightAPI", "VolumeLightAPI"].into_iter().find(|schema| prim.has(schema));
        let kind = AREA.into_iter().find(|name| *name == prim.type_name).or(schema);
        if let Some(kind) = kind {
            let message = format!("the light {} has an area ({kind})", prim.path);
            let help = "use a DistantLight, a SphereLight, or a SphereLight with ShapingAPI";
            findings.prim(&RULE.code, id, None, message, help);
        }
    }
}
