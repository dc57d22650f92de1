//! No two controllers that start enabled drive the same joint.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::control;
use crate::ros::check_bool;

rule! {
    severity: Error,
    meaning: "Two controllers that both start enabled drive the same joint, or a controller has a \
              starts_enabled that is not a Boolean.",
    outcome: "They overwrite each other's commands from the first step.",
    demand: "Controllers that actuate the same targets must not be active at the same time at \
             load.",
    section: ("Control Schemas", "§4.2.3"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in control::controllers(stage) {
        // Attributes of ROS interfaces are left to REP158-2.4.6, 2.5.2 and 2.6.2.
        let names = control::enabling_attributes(prim).filter(|name| !name.starts_with("ros:"));
        for name in names {
            check_bool(findings, stage, id, "controller", name);
        }
    }
    let mut known: HashMap<&String, PrimId> = HashMap::new();
    for (id, prim) in control::controllers(stage).filter(|(_, prim)| control::starts_enabled(prim))
    {
        for target in control::targets(prim) {
            match known.entry(target) {
                Entry::Vacant(free) => {
                    free.insert(id);
                }
                Entry::Occupied(taken) if *taken.get() == id => {}
                Entry::Occupied(taken) => {
                    let message = format!(
                        "{} and {} both drive {target} from the start",
                        prim.path,
                        stage[*taken.get()].path
                    );
                    let help =
                        "author `bool control:starts_enabled = false` on all but one of them";
                    findings.prim(id, None, message, help);
                }
            }
        }
    }
}
