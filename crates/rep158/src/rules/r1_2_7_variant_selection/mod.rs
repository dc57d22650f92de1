//! Every variant set has a default selection.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A variant set has no selection in the asset, or one that names no existing variant.",
    outcome: "Programs open the asset without the contents of any variant.",
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
                    "{} has the variant set {} but selects none of its variants ({variants})",
                    prim.path, set.name
                ),
            };
            findings.prim(id, None, message, "select the variant that is the default");
        }
    }
}
