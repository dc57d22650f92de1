//! Instanceable prims have a reference or a payload.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A prim is instanceable and has no reference or payload.",
    outcome: "OpenUSD ignores the flag: nothing is shared.",
    demand: "The prim must compose its geometry via a composition arc (Reference or Payload) for \
             instanceable=true to be valid.",
    section: ("Instanceable Leaves", "§3.5"),
    keeps: ["robot.usda", "bolt.usda"],
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject
        .stage
        .iter()
        .filter(|(_, prim)| prim.is_instanceable && prim.is_present() && prim.instance.is_none())
    {
        if !prim.is_instance {
            let message = format!(
                "{} is instanceable and has no reference or payload",
                prim.path
            );
            findings.prim(
                id,
                None,
                message,
                "bring in its shape through a reference or payload, or remove instanceable",
            );
        }
    }
}
