//! Validation of mimic joints, for `MimicJointAPI` and the dialects of a revision alike.

use std::collections::HashMap;

use urdf_usd_stage::{Prim, PrimId, Stage};
use urdf_usd_usd_author::dialects::{self, Dialect, LEADERS, Opinions};

/// A composed joint, for [`dialects`].
pub struct JointPrim<'a>(pub &'a Prim);

impl Opinions for JointPrim<'_> {
    fn schemas(&self) -> &[String] {
        &self.0.schemas
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.0.number(name)
    }

    fn target(&self, name: &str) -> Option<String> {
        self.0.targets(name).first().cloned()
    }

    fn is_false(&self, name: &str) -> bool {
        self.0.flag(name) == Some(false)
    }
}

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
    /// The relationship that names the leader.
    pub relationship: String,
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

/// A schema by which a joint follows another, and its relationship.
pub struct Relation {
    schema: String,
    relationship: String,
}

/// Returns the mimic relation of `MimicJointAPI`, an earlier schema.
pub fn of_mimic_joint_api(prim: &Prim) -> Vec<Relation> {
    let relation = || Relation {
        schema: "MimicJointAPI".to_owned(),
        relationship: "mimic:joint".to_owned(),
    };
    prim.has("MimicJointAPI")
        .then(relation)
        .into_iter()
        .collect()
}

/// Returns the mimic relations of a prim in some dialects, with their schemas.
pub fn of_dialects(prim: &Prim, of: &[Dialect]) -> Vec<Relation> {
    let schema = |dialect: Dialect| {
        let leader = LEADERS.iter().find(|leader| leader.dialect == dialect)?;
        let base = leader.schema.trim_end_matches(":*");
        prim.has(base).then(|| base.to_owned())
    };
    // Few prims follow another one, and looking for the relations takes long.
    if !of.iter().any(|dialect| schema(*dialect).is_some()) {
        return Vec::new();
    }
    dialects::relations(&JointPrim(prim))
        .into_iter()
        .filter(|relation| of.contains(&relation.dialect))
        .filter_map(|relation| {
            Some(Relation {
                schema: schema(relation.dialect)?,
                relationship: relation.relationship,
            })
        })
        .collect()
}

/// Returns the faults of joints that follow another by one of their `relations`.
pub fn faults(stage: &Stage, relations: impl Fn(&Prim) -> Vec<Relation>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut leaders: HashMap<PrimId, (PrimId, String)> = HashMap::new();
    let of_prims = stage.present().flat_map(|(id, prim)| {
        relations(prim)
            .into_iter()
            .map(move |relation| (id, prim, relation))
    });
    for (
        id,
        prim,
        Relation {
            schema,
            relationship,
        },
    ) in of_prims
    {
        let path = &prim.path;
        let mut fault = |aspect, message, help: &str| {
            faults.push(Fault {
                prim: id,
                relationship: relationship.clone(),
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
        let target = match prim.targets(&relationship) {
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
                leaders.entry(id).or_insert((leader, relationship));
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
fn find_cycles(stage: &Stage, leaders: &HashMap<PrimId, (PrimId, String)>) -> Vec<Fault> {
    let next = |id: &PrimId| leaders.get(id).map(|(leader, _)| leader);
    let mut starts: Vec<PrimId> = leaders.keys().copied().collect();
    starts.sort();
    let mut faults = Vec::new();
    // The walk that visited a joint.
    let mut visited_by: HashMap<PrimId, usize> = HashMap::new();
    for (walk, start) in starts.into_iter().enumerate() {
        let mut here = start;
        while !visited_by.contains_key(&here) {
            visited_by.insert(here, walk);
            let Some(&leader) = next(&here) else {
                break;
            };
            here = leader;
        }
        if visited_by.get(&here) != Some(&walk) || !leaders.contains_key(&here) {
            continue;
        }
        let mut cycle = vec![here];
        cycle.extend(
            std::iter::successors(next(&here), |id| next(id)).take_while(|&&id| id != here),
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
        let relationship = leaders
            .get(&first)
            .map(|(_, relationship)| relationship.clone());
        faults.push(Fault {
            prim: first,
            relationship: relationship.unwrap_or_default(),
            aspect: Aspect::Cycle,
            message,
            help,
        });
    }
    faults
}
