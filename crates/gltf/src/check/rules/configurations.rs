//! Named configurations of the joints.

use serde_json::Value;

use super::super::asset::{Asset, Joint, Model, plural};
use super::super::codes;
use super::super::findings::{Findings, escaped, short};

const ENTRY_PER_JOINT: &str = "give one entry per joint, in the order of `joints`; [] for a fixed one";

/// Their lengths, the shapes of their entries, and whether the joints may be there.
pub fn check(asset: &Asset<'_>, findings: &mut Findings) {
    for model in &asset.models {
        for &(name, configuration) in &model.configurations {
            let Some(positions) = configuration.get("jointPositions").and_then(Value::as_array) else { continue };
            let pointer = format!("{}/configurations/{}/jointPositions", model.pointer(), escaped(name));
            let title = format!("configuration \"{}\"", short(name));
            if let Some(row) = row(model, positions) {
                let message = format!("{title}: it has one number per degree of freedom, not one entry per joint");
                findings.report(&codes::CONFIGURATION_FORM, pointer.as_str(), message, ENTRY_PER_JOINT);
                in_row(model, &row, &pointer, &title, findings);
                continue;
            }
            length(model, positions.len(), &pointer, &title, findings);
            for (joint, position) in model.joints.iter().zip(positions) {
                entry(joint, position, format!("{pointer}/{}", joint.index), &title, findings);
            }
        }
    }
}

/// The positions of all degrees of freedom, if they stand in a row rather than by joints.
fn row(model: &Model<'_>, positions: &[Value]) -> Option<Vec<f64>> {
    let dofs: usize = model.joints.iter().map(Joint::dof_count).sum();
    let is_by_joint = model.joints.iter().all(|joint| joint.dof_count() == 1);
    if is_by_joint || positions.len() != dofs || model.joints.is_empty() {
        return None;
    }
    positions.iter().map(Value::as_f64).collect()
}

fn in_row(model: &Model<'_>, row: &[f64], pointer: &str, title: &str, findings: &mut Findings) {
    let mut places = row.iter().enumerate();
    for joint in &model.joints {
        for (k, (place, &position)) in places.by_ref().take(joint.dof_count()).enumerate() {
            within(joint, k, position, || format!("{pointer}/{place}"), title, findings);
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
    findings.report(&codes::CONFIGURATION_LENGTH, pointer, message, ENTRY_PER_JOINT);
}

fn entry(joint: &Joint<'_>, position: &Value, pointer: String, title: &str, findings: &mut Findings) {
    let dofs = joint.dof_count();
    let numbers: Option<Vec<f64>> = match position {
        Value::Number(number) if dofs == 1 => Some(number.as_f64().into_iter().collect()),
        Value::Array(list) if dofs != 1 && list.len() == dofs => list.iter().map(Value::as_f64).collect(),
        _ => None,
    };
    if dofs == 0 && position.is_number() {
        let message = format!("{title}: the entry of {} is a number, and a fixed joint has no position", joint.title());
        findings.report(&codes::CONFIGURATION_FORM, pointer, message, "write []");
        return;
    }
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
    for (k, &position) in numbers.iter().enumerate() {
        within(joint, k, position, || pointer.clone(), title, findings);
    }
}

/// That degree of freedom `k` of a joint may be at `position`; a follower is where its driver puts it.
fn within(joint: &Joint<'_>, k: usize, position: f64, pointer: impl Fn() -> String, title: &str, findings: &mut Findings) {
    let range = joint.dofs.get(k).filter(|_| joint.mimic.is_none()).and_then(|dof| dof.range_without(position));
    if let Some(range) = range {
        let message = format!("{title}: it puts {} at {position}, outside {range}", joint.title());
        let help = "give a position within the joint's limits";
        findings.report(&codes::CONFIGURATION_OUTSIDE_LIMITS, pointer(), message, help);
    }
}
