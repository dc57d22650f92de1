//! Joints that follow others.

use std::collections::HashMap;

use urdf_usd_stage::{Prim, PrimId, Stage};

/// What a fault is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The prim is no joint that can follow.
    Follower,
    /// It names no joint that can be followed.
    Leader,
    /// It follows itself.
    Circle,
}

/// What is wrong with a joint that follows.
pub struct Fault {
    /// The joint.
    pub prim: PrimId,
    /// What it is about.
    pub about: About,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: String,
}

/// Whether a prim is a joint with one number to set.
pub fn is_single(prim: &Prim) -> bool {
    matches!(
        prim.type_name.as_str(),
        "PhysicsRevoluteJoint" | "PhysicsPrismaticJoint"
    )
}

/// What is wrong with the joints that follow by `schema` the joint that `relationship` names.
pub fn faults(stage: &Stage, schema: &str, relationship: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut leaders: HashMap<PrimId, PrimId> = HashMap::new();
    for (id, prim) in stage.present_with(schema) {
        let path = &prim.path;
        let mut fault = |about, message, help: &str| {
            faults.push(Fault {
                prim: id,
                about,
                message,
                help: help.to_owned(),
            })
        };
        if !is_single(prim) {
            let message = format!("{path} has {schema}, but is no revolute or prismatic joint");
            fault(
                About::Follower,
                message,
                "take the schema away, or put it on the joint that is to follow",
            );
            continue;
        }
        let one = format!("let `rel {relationship}` lead to the one joint that it follows");
        let target = match prim.targets(relationship) {
            [] => {
                fault(
                    About::Leader,
                    format!("the joint {path} has {schema}, but names no joint to follow"),
                    &one,
                );
                continue;
            }
            [target] => target,
            many => {
                fault(
                    About::Leader,
                    format!("the joint {path} names {} joints to follow", many.len()),
                    &one,
                );
                continue;
            }
        };
        match stage.at(target) {
            None => fault(
                About::Leader,
                format!("the joint {path} follows {target}, which does not exist"),
                &one,
            ),
            Some(leader) if !is_single(&stage[leader]) => {
                let message = format!(
                    "the joint {path} follows {target}, which is no revolute or prismatic joint"
                );
                fault(About::Leader, message, &one);
            }
            Some(leader) => {
                leaders.insert(id, leader);
            }
        }
    }
    faults.extend(circles(stage, &leaders));
    faults
}

/// One fault for each circle, at its first joint.
fn circles(stage: &Stage, leaders: &HashMap<PrimId, PrimId>) -> Vec<Fault> {
    let mut starts: Vec<PrimId> = leaders.keys().copied().collect();
    starts.sort();
    let mut faults = Vec::new();
    // Which walk came by a joint.
    let mut walked: HashMap<PrimId, usize> = HashMap::new();
    for (walk, start) in starts.into_iter().enumerate() {
        let mut here = start;
        while !walked.contains_key(&here) {
            walked.insert(here, walk);
            let Some(&next) = leaders.get(&here) else {
                break;
            };
            here = next;
        }
        if walked.get(&here) != Some(&walk) || !leaders.contains_key(&here) {
            continue;
        }
        let mut circle = vec![here];
        circle.extend(
            std::iter::successors(leaders.get(&here), |id| leaders.get(id))
                .take_while(|&&id| id != here),
        );
        let first = circle.iter().copied().min().unwrap_or(here);
        let names: Vec<&str> = circle.iter().map(|&id| stage[id].name()).collect();
        let message = format!(
            "the joint {} follows itself: {}, {}",
            stage[first].path,
            names.join(", "),
            stage[here].name()
        );
        let help = "let one of these joints follow none".to_owned();
        faults.push(Fault {
            prim: first,
            about: About::Circle,
            message,
            help,
        });
    }
    faults
}
