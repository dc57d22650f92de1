//! Interface types exist in the ROS workspace.

use urdf_usd_diagnostic::{Suggestions, did_you_mean};

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Warning,
    meaning: "The type of an interface is not in the ROS workspace.",
    outcome: "Simulators started from this workspace skip the interface.",
    demand: "Tooling must look ros:*:type up in the sourced ROS environment, and warn of a type \
             that is not found.",
    section: ("Interface Resolution", "§2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let Some(known) = &subject.options.interfaces else {
        return;
    };
    let mut suggestions = Suggestions::default();
    for interface in ros::interfaces(subject.stage) {
        let Some(name) = interface.text("type").filter(|name| !known.contains(*name)) else {
            continue;
        };
        let near = suggestions.nearest(name, known.iter().map(String::as_str));
        let package = name.split('/').next().unwrap_or_default();
        let has_package = known
            .iter()
            .any(|other| other.split('/').next() == Some(package));
        let message = format!(
            "the {} {} has the type {name}, which is not in the workspace",
            interface.kind.label(),
            interface.prim.path
        );
        let help = did_you_mean(near).unwrap_or_else(|| {
            if has_package {
                format!("see `ros2 interface package {package}` for its types")
            } else {
                format!("install the package {package}, or correct the name")
            }
        });
        findings.prim(
            interface.id,
            Some(&interface.attribute("type")),
            message,
            help,
        );
    }
}
