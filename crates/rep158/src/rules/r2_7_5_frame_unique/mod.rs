//! Frame names are unique within a robot.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::ros;

rule! {
    severity: Error,
    meaning: "Two frames of a robot have the same name.",
    outcome: "TF keeps only one of them, which jumps between two poses.",
    demand: "Frame names must be unique in the TF tree of a robot.",
    section: ("Frame Publishing and TF2 (RosFrameAPI)", "§2.7"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut known: HashMap<(Option<PrimId>, &str), PrimId> = HashMap::new();
    for frame in ros::frames(stage, &subject.physics) {
        match known.entry((ros::robot_of(stage, frame.id), frame.name)) {
            Entry::Vacant(free) => {
                free.insert(frame.id);
            }
            Entry::Occupied(taken) => {
                let (path, other) = (&stage[frame.id].path, &stage[*taken.get()].path);
                let message = format!("{path} is the frame {}, as is {other}", frame.name);
                let help = "rename one of them; `ros:frame:id` names a prim that is not a body";
                findings.prim(
                    frame.id,
                    frame.is_named.then_some("ros:frame:id"),
                    message,
                    help,
                );
            }
        }
    }
}
