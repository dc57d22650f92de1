//! The nodes of links, origins and degrees of freedom are rigid.

use super::{Findings, Subject, rule};
use crate::asset::node_title;
use crate::rest::transform_of;

rule! {
    severity: Error,
    meaning: "The node of a link, an origin or a degree of freedom is scaled, mirrored or sheared.",
    outcome: "Positions below it are no longer in metres, or turn the other way.",
    demand: "Nodes of links, origins and degrees of freedom MUST NOT be scaled, mirrored or \
             sheared.",
    section: ("Node organization", "#node-organization"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for model in &subject.asset.models {
        model
            .links
            .iter()
            .for_each(|link| frame(subject, link.node, &link.title(), findings));
        for joint in &model.joints {
            frame(subject, joint.origin, &joint.title(), findings);
            for (_, node, _) in joint.driven() {
                frame(subject, Some(node), &joint.title(), findings);
            }
        }
    }
}

fn frame(subject: &Subject<'_>, node: Option<usize>, title: &str, findings: &mut Findings<'_>) {
    let Some((node, transform)) =
        transform_of(subject, node).filter(|(_, transform)| !transform.is_rigid())
    else {
        return;
    };
    let message = format!(
        "{title}: {} {}",
        node_title(subject.asset.nodes, node),
        transform.in_words()
    );
    let help = "frames are in metres and right-handed: put the scale on the visual and collision nodes, or into the meshes";
    findings.report(format!("/nodes/{node}"), message, help);
}
