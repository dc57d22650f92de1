//! Prims that bind a material apply `MaterialBindingAPI`.

use std::collections::HashSet;

use super::{Findings, Subject, rule};

rule! {
    severity: Warning,
    meaning: "A prim binds a material, and does not apply MaterialBindingAPI.",
    outcome: "OpenUSD and other programs that follow it warn, or ignore the binding.",
    demand: "Assets should bind a single Material universally. OpenUSD binds materials by \
             UsdShadeMaterialBindingAPI.",
    section: ("Material Portability", "§3.1"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    // The instances of a prototype share an opinion.
    let mut reported = HashSet::new();
    for (id, prim) in subject.stage.present() {
        if prim.has("MaterialBindingAPI") {
            continue;
        }
        let binding = prim.relationships.iter().find(|(name, relationship)| {
            name.starts_with("material:binding") && !relationship.targets.is_empty()
        });
        let Some((name, relationship)) = binding else {
            continue;
        };
        let site = relationship.sites.first();
        if site.is_none_or(|site| reported.insert((site.layer, &site.path))) {
            let message = format!(
                "{} has {name}, but does not apply MaterialBindingAPI",
                prim.path
            );
            let help = "add MaterialBindingAPI to its apiSchemas";
            findings.prim(id, Some(name), message, help);
        }
    }
}
