//! Joints form a tree.

use super::{Findings, Subject, rule};
use crate::asset::Model;

rule! {
    severity: Error,
    meaning: "Links are their own descendants through joints.",
    outcome: "There is no order from parent to child, so no pose.",
    demand: "A link MUST NOT be its own descendant through joints.",
    section: ("Model", "#model"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    subject
        .asset
        .models
        .iter()
        .for_each(|model| loops(model, findings));
}

fn loops(model: &Model<'_>, findings: &mut Findings<'_>) {
    let parents = model.parent_joints();
    let above = |link: usize| {
        let joint = model.joints.get(parents.get(link).copied().flatten()?)?;
        Some((joint, joint.parent?))
    };
    // A walk ends at a link of an earlier one, so every link is visited once.
    let mut walk_of = vec![None; model.links.len()];
    for start in 0..model.links.len() {
        let mut at = start;
        while let Some(walk) = walk_of.get_mut(at).filter(|walk| **walk != Some(start)) {
            // An earlier walk has visited the link.
            if walk.is_some() {
                break;
            }
            *walk = Some(start);
            let Some((joint, parent)) = above(at) else {
                break;
            };
            if walk_of.get(parent).copied().flatten() == Some(start) {
                let link = model.link_title(Some(parent));
                let message = format!(
                    "{}: going on from its child leads back to its parent, {link}",
                    joint.title()
                );
                let help =
                    "joints form a tree; take this one out and keep it in the model's extras";
                findings.report(joint.pointer(), message, help);
            }
            at = parent;
        }
    }
}
