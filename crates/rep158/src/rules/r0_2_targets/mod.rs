//! Relationships and connections lead to existing prims and properties.

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A relationship or connection targets a prim or property that does not exist.",
    outcome: "Programs ignore it, so that a material, a collision filter or a texture is missing.",
    demand: "Assets should be self-contained: what they point to must exist (OpenUSD composition).",
    section: ("Asset Management", "§1.2.5"),
}

/// Relationships whose targets more specific rules check.
const OTHERS: &[&str] = &[
    "physics:body0",
    "physics:body1",
    "ext_physics:mimic:joint",
    "ext_physics:actuator:targets",
    "material:binding:physics",
    "mimic:joint",
];

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    let stage = subject.stage;
    let exists = |path: &str| {
        let (prim, property) = path
            .split_once('.')
            .map_or((path, None), |(prim, property)| (prim, Some(property)));
        // A property may come from the prim's schema, without being authored.
        stage.at(prim).is_some() && property.is_none_or(|name| !name.is_empty())
    };
    // One instance of a prototype is enough.
    for (id, prim) in stage
        .iter()
        .filter(|(_, prim)| prim.instance.is_none() && prim.is_present())
    {
        for (name, relationship) in prim
            .relationships
            .iter()
            .filter(|(name, _)| !OTHERS.contains(&name.as_str()))
        {
            for target in relationship.targets.iter().filter(|target| !exists(target)) {
                let message = format!(
                    "{name} of {} targets {target}, which does not exist",
                    prim.path
                );
                findings.prim(
                    id,
                    Some(name),
                    message,
                    "correct the path, or remove the relationship",
                );
            }
        }
        for (name, attribute) in prim.attributes.iter() {
            for source in attribute
                .connections
                .iter()
                .filter(|source| !exists(source))
            {
                let message = format!(
                    "{name} of {} is connected to {source}, which does not exist",
                    prim.path
                );
                findings.prim(
                    id,
                    Some(name),
                    message,
                    "correct the path, or remove the connection",
                );
            }
        }
    }
}
