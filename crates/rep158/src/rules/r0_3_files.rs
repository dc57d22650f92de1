//! That files which attributes name are there.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{asset_paths};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-0.3",
        severity: Severity::Error,
        meaning: "An attribute names a file that is not there.",
        outcome: "Programs show no texture, or none of what the file holds, most of them silently.",
    },
    demand: "For distributed, highly interoperable assets, all file dependencies should be self-contained.",
    section: ("Asset Management", "§1.2.5"),
    breaks: &[("robot.usda", Some("def Shader \"robot\"\n{\n    asset inputs:file = @textures/red.png@\n}"))],
    keeps: &[("robot.usda", Some("def Shader \"robot\"\n{\n    asset inputs:file = @textures/red.png@\n}")), ("textures/red.png", Some("8-bit RGB"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.instance.is_none() && prim.is_present()) {
        for (name, attribute) in prim.attributes.iter() {
            for (path, found) in attribute.value.iter().flat_map(asset_paths) {
                // Where packages are is not known without ROS.
                let is_unknown = path.starts_with("package://") && subject.options.packages.is_none();
                if found.is_some() || path.is_empty() || is_unknown || path.contains("<UDIM>") {
                    continue;
                }
                let message = format!("{name} of {} names {path}, which is not there", prim.path);
                findings.prim(&RULE.code, id, Some(name), message, "put the file where the path leads, or correct the path");
            }
        }
    }
}
