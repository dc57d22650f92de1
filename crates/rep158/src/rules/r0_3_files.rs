//! That files which attributes name are there.

use urdf_usd_diagnostic::{Code, Severity, Turn};
use urdf_usd_stage::{Prim, SharedValue, asset_paths};

use crate::Rule;
use crate::findings::Findings;
use crate::subject::Subject;

pub const RULE: Rule = Rule {
    code: Code {
        id: "REP158-0.3",
        severity: Severity::Error,
        meaning: "An attribute names a file that is not there.",
        outcome: "Programs lack what the file holds, most of them silently.",
    },
    demand: "For distributed, highly interoperable assets, all file dependencies should be self-contained.",
    section: ("Asset Management", "§1.2.5"),
    breaks: &[("robot.usda", Some("def Xform \"robot\"\n{\n    asset shell:source = @meshes/shell.stl@\n}"))],
    keeps: &[("robot.usda", Some("def Xform \"robot\"\n{\n    asset shell:source = @meshes/shell.stl@\n}")), ("meshes/shell.stl", Some("solid"))],
    turn: Turn::Usual,
    check,
};

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // Of textures REP158-3.2.5 says it.
    let is_texture = |prim: &Prim, name: &str| prim.type_name == "Shader" || name == "inputs:texture:file";
    for (id, prim) in subject.stage.iter().filter(|(_, prim)| prim.instance.is_none() && prim.is_present()) {
        for (name, attribute) in prim.attributes.iter().filter(|(name, _)| !is_texture(prim, name)) {
            for (path, found) in attribute.value.iter().filter_map(SharedValue::unless_large_array).flat_map(asset_paths) {
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
