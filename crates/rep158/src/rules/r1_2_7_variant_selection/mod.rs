//! Every variant set has a default selection.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "No layer of the asset selects a variant of a set, or one that there is.",
    outcome: "Programs open the asset without what all variants bring.",
    demand: "Any asset utilizing VariantSets must author a default variant selection.",
    section: ("Variants", "§1.2.4"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject
        .stage
        .iter()
        .filter(|(_, prim)| prim.instance.is_none() && prim.is_active)
    {
        for set in &prim.variant_sets {
            let variants = if set.variants.is_empty() {
                "no variants".to_owned()
            } else {
                set.variants.join(", ")
            };
            let message = match &set.authored {
                Some(variant) if set.variants.contains(variant) => continue,
                Some(variant) => format!(
                    "{} selects {variant} of the variant set {}, which has {variants}",
                    prim.path, set.name
                ),
                None => format!(
                    "{} has the variant set {} and selects none of {variants}",
                    prim.path, set.name
                ),
            };
            findings.prim(
                id,
                None,
                message,
                "select the variant that is to be there when nobody selects one",
            );
        }
    }
}
