//! Speeds, efforts, damping and friction are not negative.

use super::{Findings, Subject, rule};
use urdf_usd_gltf_extension::Entry;

rule! {
    severity: Warning,
    meaning: "A velocity or effort limit, a damping or a friction is negative.",
    outcome: "Loaders and simulators take its magnitude, ignore it, or gain energy from it.",
    demand: "`velocity`, `effort`, `damping` and `friction` SHOULD NOT be negative.",
    section: ("Limits", "#limits"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for joint in subject.asset.joints() {
        let dofs = joint.read.dofs().value().unwrap_or_default();
        let limits = dofs
            .iter()
            .filter_map(|dof| Some((dof.limit()?.entry, ["velocity", "effort"])));
        let dynamics = joint
            .read
            .dynamics()
            .map(|entry| (entry, ["damping", "friction"]));
        for (owner, names) in limits.chain(dynamics) {
            report(&joint.title(), &owner, names, findings);
        }
    }
}

fn report(title: &str, owner: &Entry<'_>, names: [&str; 2], findings: &mut Findings<'_>) {
    for name in names {
        let number = owner.number(name).value();
        if let Some(number) = number.filter(|number| *number < 0.0) {
            let message = format!("{title}: its {name} is {number}, which is negative");
            findings.report(owner.below(name), message, "remove the sign");
        }
    }
}
