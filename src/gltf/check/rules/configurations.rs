//! Named configurations of the joints.

use serde_json::Value;

use super::super::asset::{Asset, Joint, Model, plural};
use super::super::codes;
use super::super::findings::{Findings, escaped, short};

/// Their lengths, the shapes of their entries, and whether the joints may be there.
pub fn check(asset: &Asset<'_>, findings: &mut Findings) {
    for model in &asset.models {
        for &(name, configuration) in &model.configurations {
            let Some(positions) = configuration.get("jointPositions").and_then(Value::as_array) else { continue };
            let pointer = format!("{}/configurations/{}/jointPositions", model.pointer(), escaped(name));
            let title = format!("configuration \"{}\"", short(name));
            length(model, positions.len(), &pointer, &title, findings);
            for (joint, position) in model.joints.iter().zip(positions) {
                entry(joint, position, format!("{pointer}/{}", joint.index), &title, findings);
            }
        }
    }
}

fn length(model: &Model<'_>, entries: usize, pointer: &str, title: &str, findings: &mut Findings) {
    let joints = model.joints.len();
    if entries == joints {
        return;
    }
    let entries = match entries {
        1 => "1 entry".to_owned(),
        n => format!("{n} entries"),
    };
    let message = format!("{title}: it has {entries}, and the model has {}", plural(joints, "joint"));
    let help = "give one entry per joint, in the order of `joints`; [] for a fixed one";
    findings.report(&codes::CONFIGURATION_LENGTH, pointer, message, help);
}

fn entry(joint: &Joint<'_>, position: &Value, pointer: String, title: &str, findings: &mut Findings) {
    let dofs = joint.dof_count();
    let numbers: Option<Vec<f64>> = match position {
        Value::Number(number) if dofs == 1 => Some(number.as_f64().into_iter().collect()),
        Value::Array(list) if dofs != 1 && list.len() == dofs => list.iter().map(Value::as_f64).collect(),
        _ => None,
    };
    let Some(numbers) = numbers else {
        let expected = match dofs {
            0 => "an empty array".to_owned(),
            1 => "a number".to_owned(),
            n => format!("an array of {n} numbers"),
        };
        let found = match position {
            Value::Number(_) => "a number".to_owned(),
            Value::Array(list) => format!("an array of {}", plural(list.len(), "value")),
            _ => "something else".to_owned(),
        };
        let message = format!("{title}: the entry of {} is {found}; it takes {expected}", joint.title());
        findings.report(&codes::CONFIGURATION_SHAPE, pointer, message, format!("write {expected}"));
        return;
    };
    // A follower is where its driver puts it.
    for (dof, &position) in joint.dofs.iter().zip(&numbers).filter(|_| joint.mimic.is_none()) {
        if let Some(range) = dof.range_without(position) {
            let message = format!("{title}: it puts {} at {position}, outside {range}", joint.title());
            let help = "give a position within the joint's limits";
            findings.report(&codes::CONFIGURATION_OUTSIDE_LIMITS, pointer.as_str(), message, help);
        }
    }
}
