//! Names of extended physics have the prescribed prefixes.

use std::collections::BTreeSet;

use urdf_usd_stage::LayerId;

use super::{Findings, Subject, rule};

rule! {
    severity: Error,
    meaning: "A property of extended physics does not name its concept, or its schema has another \
              prefix.",
    outcome: "Two concepts may have properties of one name, and tools do not find the schema that \
              a property belongs to.",
    demand: "Incubating physics schemas must use the ExtendedPhysics class prefix and the \
             ext_physics: property prefix, followed by a concept-specific sub-namespace.",
    section: ("Physics Schemas", "§4.2.2"),
}

fn check(subject: &Subject<'_>, findings: &mut Findings<'_>) {
    for (index, layer) in subject.stage.layers.iter().enumerate() {
        let mut reported = BTreeSet::new();
        for prim in layer.prims.iter() {
            for property in &prim.properties {
                let Some(rest) = property.name.strip_prefix("ext_physics:") else {
                    continue;
                };
                let is_named = rest
                    .split_once(':')
                    .is_some_and(|(concept, name)| !concept.is_empty() && !name.is_empty());
                if !is_named && reported.insert(&property.name) {
                    let path = format!("{}.{}", prim.path, property.name);
                    let message = format!("{path} does not name the concept that it belongs to");
                    findings.layer(
                        LayerId(index),
                        path,
                        message,
                        "name it ext_physics:CONCEPT:NAME, such as ext_physics:mimic:offset",
                    );
                }
            }
            for schema in prim.schemas.iter().filter(|schema| {
                schema.starts_with("ExtPhysics") || schema.starts_with("IncubatingPhysics")
            }) {
                if reported.insert(schema) {
                    let message = format!(
                        "the schema {schema} at {} does not begin with ExtendedPhysics",
                        prim.path
                    );
                    findings.layer(
                        LayerId(index),
                        prim.path.clone(),
                        message,
                        "name extended physics schemas ExtendedPhysicsNAMEAPI",
                    );
                }
            }
        }
    }
}
