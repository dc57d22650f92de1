//! Point instancers contain no bodies, joints or ROS interfaces.

use std::collections::BTreeSet;

use urdf_usd_stage::PrimId;

use super::{Findings, Subject, rule};
use crate::layers::is_ros;
use crate::physics::{is_body, is_joint};

rule! {
    severity: Error,
    meaning: "A point instancer instances bodies, joints or ROS interfaces.",
    outcome: "Point instances are not prims, so no joint or topic can belong to one of them.",
    demand: "OpenUSD's native instancing mechanisms must not be used to clone articulated physics \
             assets.",
    section: ("Parallel Simulation and Instancing", "§1.2.6"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    for (id, prim) in stage
        .iter()
        .filter(|(_, prim)| prim.type_name == "PointInstancer" && prim.is_present())
    {
        let prototypes = prim
            .targets("prototypes")
            .iter()
            .filter_map(|path| stage.at(path));
        let all: BTreeSet<PrimId> = prototypes
            .chain([id])
            .flat_map(|top| stage.subtree(top))
            .collect();
        let found = all.into_iter().find(|&id| {
            let prim = &stage[id];
            prim.is_active
                && (is_body(prim)
                    || is_joint(prim)
                    || prim.has("PhysicsArticulationRootAPI")
                    || prim.schemas.iter().any(|schema| is_ros(schema)))
        });
        if let Some(found) = found {
            let message = format!(
                "{} instances {}, which is a body, a joint or a ROS interface",
                prim.path, stage[found].path
            );
            findings.prim(
                id,
                None,
                message,
                "instance shapes only, and let the simulator copy the robot",
            );
        }
    }
}
