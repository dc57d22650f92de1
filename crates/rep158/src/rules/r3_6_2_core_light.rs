//! That lights are those of UsdLux.

use urdf_usd_diagnostic::{Code, Severity, Turn};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-3.6.2",
        severity: Severity::Error,
        meaning: "A light is of a type that UsdLux does not have.",
        outcome: "It shines in the program that knows it, and nowhere else.",
    },
    demand: "Lighting must be authored using core UsdLux schemas.",
    section: ("Lighting", "§3.6"),
    breaks: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def OmniLight \"light\"\n    {\n        float intensity = 1000\n    }\n}")),
    ],
    keeps: &[
        ("robot.usda", Some("def Xform \"robot\"\n{\n    def SphereLight \"light\"\n    {\n        float inputs:intensity = 1000\n    }\n}")),
    ],
    turn: Turn::Usual,
    check,
};

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
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.is_present()) {
        let kind = prim.type_name.as_str();
        if kind.ends_with("Light") && !CORE.contains(&kind) {
            let message = format!("the light {} is a {kind}, which UsdLux does not have", prim.path);
            let help = "use a DistantLight, a SphereLight, or a SphereLight with ShapingAPI";
            findings.prim(&RULE.code, id, None, message, help);
        }
    }
}
