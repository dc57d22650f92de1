//! The asset contains no arrays of cloned robots.

use std::collections::BTreeMap;

use urdf_usd_stage::{ArcKind, PrimId};

use super::{Findings, Subject, rule};
use crate::physics::{is_body, is_joint};

rule! {
    severity: Error,
    meaning: "The same articulated asset is referenced many times side by side.",
    outcome: "The file fixes the number of robots, and a simulator that clones its environment \
              clones the clones.",
    demand: "Authors must distribute a single, self-contained canonical environment, and must not \
             bake arrays of physics-enabled clones into the source file.",
    section: ("Parallel Simulation and Instancing", "§1.2.6"),
    breaks: ["world.usda", "robot.usda"],
    keeps: ["world.usda", "robot.usda"],
}

/// Minimum number of copies that cannot have been placed by hand.
const MIN_COPIES: usize = 16;

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let mut copies: BTreeMap<_, Vec<PrimId>> = BTreeMap::new();
    for (id, prim) in stage.present().filter(|(_, prim)| prim.instance.is_none()) {
        for arc in prim
            .arcs
            .iter()
            .filter(|arc| matches!(arc.kind, ArcKind::Reference | ArcKind::Payload))
        {
            copies
                .entry((prim.parent, &arc.asset, &arc.prim))
                .or_default()
                .push(id);
        }
    }
    for ((_, asset, path), ids) in copies
        .into_iter()
        .filter(|(_, ids)| ids.len() >= MIN_COPIES)
    {
        let Some(&first) = ids.first() else { continue };
        if stage
            .subtree(first)
            .any(|id| is_body(&stage[id]) || is_joint(&stage[id]))
        {
            let what = if asset.is_empty() { path } else { asset };
            let message = format!(
                "{what} is referenced {} times, first at {}",
                ids.len(),
                stage[first].path
            );
            findings.prim(
                first,
                None,
                message,
                "keep one, and let the simulator make the copies",
            );
        }
    }
}
