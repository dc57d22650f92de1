//! Visual and collision shapes of a link are in separate scopes.

use std::collections::BTreeMap;

use urdf_usd_stage::{Prim, PrimId, Stage};

use super::{Findings, Subject, rule};
use crate::physics::{is_body, is_collider, is_shape, is_visual, own_prims};

rule! {
    severity: Warning,
    meaning: "The visual and collision shapes of a link are not in separate scopes.",
    outcome: "To hide, replace or export one of the two, programs have to inspect every shape.",
    demand: "The visual and collision scopes of a link should be sibling children: /{link}/visual \
             and /{link}/collision.",
    section: ("Visual Representation", "§1.3.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for &body in &subject.physics.bodies {
        // Visual and collision shapes by the scope that contains them.
        let mut scopes: BTreeMap<PrimId, [Option<PrimId>; 2]> = BTreeMap::new();
        for id in own_prims(stage, body)
            .into_iter()
            .filter(|&id| stage[id].is_present())
        {
            let scope = scope(stage, id);
            if is_collider(&stage[id]) {
                scopes.entry(scope).or_default()[1].get_or_insert(id);
            } else if is_visual(stage, id) && !is_in_collider(stage, id) {
                scopes.entry(scope).or_default()[0].get_or_insert(id);
            }
        }
        for (scope, shapes) in scopes {
            let link = stage[scope]
                .parent
                .filter(|_| !is_link(&stage[scope]))
                .map_or(&stage[scope].path, |link| &stage[link].path);
            let message = match shapes.map(|shape| shape.map(|id| &stage[id].path)) {
                [Some(shape), _] | [_, Some(shape)] if is_shape(&stage[scope]) => {
                    format!(
                        "the shape {shape} is directly in the link {link}, not in a visual or collision scope"
                    )
                }
                [Some(visual), Some(collider)] => {
                    format!(
                        "the link {link} has a visual ({visual}) and a collider ({collider}) in the same scope"
                    )
                }
                _ => continue,
            };
            let help = "move visuals into a child `visual` of the link and colliders into a child `collision`";
            findings.prim(scope, None, message, help);
        }
    }
}

/// Whether a prim is a link: a body, or a frame in one.
fn is_link(prim: &Prim) -> bool {
    is_body(prim) || prim.has("RosFrameAPI")
}

/// Returns the child of a link that contains a shape, or is it.
fn scope(stage: &Stage, id: PrimId) -> PrimId {
    let within = stage
        .self_and_ancestors(id)
        .take_while(|&id| !is_link(&stage[id]));
    within.last().unwrap_or(id)
}

/// Whether a shape is part of a collider.
fn is_in_collider(stage: &Stage, id: PrimId) -> bool {
    stage
        .ancestors(id)
        .take_while(|&above| !is_link(&stage[above]))
        .any(|above| is_collider(&stage[above]))
}
