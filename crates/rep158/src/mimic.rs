//! Validation of mimic joints, for `MimicJointAPI` and `ExtendedPhysicsMimicAPI` alike.

use std::collections::HashMap;

use urdf_usd_stage::{Prim, PrimId, Stage};

/// The part of a mimic relation that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The prim is not a joint that can follow another.
    Follower,
    /// The relationship does not target a joint that can be followed.
    Leader,
    /// The joint follows itself, directly or through others.
    Cycle,
}

/// A fault of a mimic joint.
pub struct Fault {
    /// The joint.
    pub prim: PrimId,
    /// The part that is wrong.
    pub aspect: Aspect,
    /// The description of the fault.
    pub message: String,
    /// The remedy.
    pub help: String,
}

/// Whether a prim is a joint with one degree of freedom.
pub fn is_single_dof(prim: &Prim) -> bool {
    matches!(
        prim.type_name.as_str(),
        "PhysicsRevoluteJoint" | "PhysicsPrismaticJoint"
    )
}

/// Returns the faults of the joints that follow another by `schema`, whose leader `relationship`
/// targets.
pub fn faults(stage: &Stage, schema: &str, relationship: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut leaders: HashMap<PrimId, PrimId> = HashMap::new();
    for (id, prim) in stage.present_with(schema) {
        let path = &prim.path;
        let mut fault = |aspect, message, help: &str| {
            faults.push(Fault {
                prim: id,
                aspect,
                message,
                help: help.to_owned(),
            })
        };
        if !is_single_dof(prim) {
            let message = format!("{path} has {schema}, but is not a revolute or prismatic joint");
            fault(
                Aspect::Follower,
                message,
                "remove the schema, or apply it to the joint that follows",
            );
            continue;
        }
        let help =
            format!("target exactly one revolute or prismatic joint with `rel {relationship}`");
        let target = match prim.targets(relationship) {
            [] => {
                fault(
                    Aspect::Leader,
                    format!("the joint {path} has {schema}, but names no joint to follow"),
                    &help,
                );
                continue;
            }
            [target] => target,
            many => {
                fault(
                    Aspect::Leader,
                    format!("the joint {path} names {} joints to follow", many.len()),
                    &help,
                );
                continue;
            }
        };
        match stage.at(target) {
            None => fault(
                Aspect::Leader,
                format!("the joint {path} follows {target}, which does not exist"),
                &help,
            ),
            Some(leader) if !is_single_dof(&stage[leader]) => {
                let message = format!(
                    "the joint {path} follows {target}, which is not a revolute or prismatic joint"
                );
                fault(Aspect::Leader, message, &help);
            }
            Some(leader) => {
                leaders.insert(id, leader);
            }
        }
    }
    faults.extend(find_cycles(stage, &leaders));
    faults
}

/// Returns one fault for each cycle, at its first joint.
///
/// Every joint has at most one leader, so that a walk from each joint finds all cycles in linear time:
/// a walk that meets itself has found one.
fn find_cycles(stage: &Stage, leaders: &HashMap<PrimId, PrimId>) -> Vec<Fault> {
    let mut starts: Vec<PrimId> = leaders.keys().copied().collect();
    starts.sort();
    let mut faults = Vec::new();
    // The walk that visited a joint.
    let mut visited_by: HashMap<PrimId, usize> = HashMap::new();
    for (walk, start) in starts.into_iter().enumerate() {
        let mut here = start;
        while !visited_by.contains_key(&here) {
            visited_by.insert(here, walk);
            let Some(&next) = leaders.get(&here) else {
                break;
            };
            here = next;
        }
        if visited_by.get(&here) != Some(&walk) || !leaders.contains_key(&here) {
            continue;
        }
        let mut cycle = vec![here];
        cycle.extend(
            std::iter::successors(leaders.get(&here), |id| leaders.get(id))
                .take_while(|&&id| id != here),
        );
        let first = cycle.iter().copied().min().unwrap_or(here);
        let names: Vec<&str> = cycle.iter().map(|&id| stage[id].name()).collect();
        let message = format!(
            "the joint {} follows itself: {}, {}",
            stage[first].path,
            names.join(", "),
            stage[here].name()
        );
        let help = "remove the mimic schema from one of these joints".to_owned();
        faults.push(Fault {
            prim: first,
            aspect: Aspect::Cycle,
            message,
            help,
        });
    }
    faults
}
