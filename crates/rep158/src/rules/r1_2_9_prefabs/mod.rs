//! No string attribute takes the place of a reference.

use urdf_usd_stage::{text, texts};

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A string attribute names an asset for a program to load.",
    outcome: "Other programs, and tools that collect dependencies, miss that asset.",
    demand: "Assets must not use custom or vendor-specific string attributes to dynamically load, \
             instantiate, or compose assets at runtime.",
    section: ("Asset Management", "§1.2.5"),
    keeps: ["robot.usda", "arm.usda"],
}

/// Parts of the names of such attributes, in lower case without underscores.
const NAMES: &[&str] = &[
    "prefabpath",
    "assetref",
    "assetpath",
    "spawnpath",
    "modelpath",
];

/// Extensions of such files.
const FILES: &[&str] = &[".usd", ".usda", ".usdc", ".usdz", ".prefab", ".spawnable"];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (id, prim) in subject
        .stage
        .iter()
        .filter(|(_, prim)| prim.instance.is_none() && prim.is_active)
    {
        for (name, attribute) in prim
            .attributes
            .iter()
            .filter(|(_, attribute)| attribute.type_name.starts_with("string"))
        {
            let Some(value) = &attribute.value else {
                continue;
            };
            let values = texts(value)
                .or_else(|| text(value).map(|one| vec![one]))
                .unwrap_or_default();
            let plain = name.replace('_', "").to_ascii_lowercase();
            let has_known_name =
                attribute.is_custom && NAMES.iter().any(|known| plain.contains(known));
            let is_file = |value: &&str| {
                FILES
                    .iter()
                    .any(|end| value.to_ascii_lowercase().ends_with(end))
            };
            let Some(value) = values
                .into_iter()
                .find(|value| !value.is_empty() && (has_known_name || is_file(value)))
            else {
                continue;
            };
            let message = format!(
                "{name} of {} names the asset {value} in a string",
                prim.path
            );
            findings.prim(
                id,
                Some(name),
                message,
                "load the asset through a reference or payload of the prim, and remove the string",
            );
        }
    }
}
