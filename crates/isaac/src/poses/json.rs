//! Poses as JSON, in the format of Isaac Sim's Robot Poser: `{"_meta": {"units": …}, "poses": {NAME:
//! {…}}}`, joints by the paths of their prims, positions in radians (or degrees) and metres.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value as Json, json};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{JointId, JointKind, NamedPose};

use super::{PoseError, Poses};
use crate::codes;

/// The unit of angles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Units {
    /// Radians.
    #[default]
    Radians,
    /// Degrees.
    Degrees,
}

/// Exports all poses of an asset as JSON.
///
/// Each has `joints` (position of each joint by the path of its prim), `joint_fixed`, `start_link`,
/// `end_link`, `target_position` and `target_orientation` (of the end in the robot's prim, in the units
/// of the stage; w, x, y, z), `valid`, and its `group`, if any. If several groups have a name, later
/// poses are called `GROUP/NAME`. Poses without a chain are left out, with a finding each.
pub fn export(poses: &Poses<'_>, units: Units) -> (Json, Vec<Diagnostic>) {
    let (mut all, mut left_out) = (Map::new(), Vec::new());
    for pose in poses.robot.named_poses() {
        let stored = poses.stored(pose);
        let Some(chain) = poses.chain(pose) else {
            left_out.push(poses.no_chain(pose));
            continue;
        };
        let path = |joint: &JointId| Some(poses.stage[poses.joints[*joint]?].path.clone());
        let (mut joints, mut fixed) = (Map::new(), Map::new());
        for (joint, value) in &chain.joints {
            let Some(path) = path(joint) else { continue };
            let is_slide = poses.robot.joints()[*joint].kind() == JointKind::Prismatic;
            let value = if units == Units::Degrees && !is_slide {
                value.to_degrees()
            } else {
                *value
            };
            // Positions are finite, except in damaged assets.
            joints.insert(
                path.clone(),
                Number::from_f64(value).map_or(Json::Null, Json::Number),
            );
            fixed.insert(path, Json::Bool(pose.fixed.contains(joint)));
        }
        let end = poses.end_at(pose, [chain.start, chain.end]);
        let q = end.rotation.quaternion();
        let mut entry = json!({
            "joints": joints,
            "joint_fixed": fixed,
            "start_link": stored.start,
            "end_link": stored.end,
            "target_position": [end.translation.x, end.translation.y, end.translation.z],
            "target_orientation": [q.w, q.i, q.j, q.k],
            "valid": stored.is_valid,
        });
        if let (Some(group), Some(entry)) = (&pose.group, entry.as_object_mut()) {
            entry.insert("group".to_owned(), json!(group));
            entry.insert("name".to_owned(), json!(pose.name));
        }
        let mut name = pose.name.clone();
        while all.contains_key(&name) {
            name = format!("{}/{name}", pose.group.as_deref().unwrap_or_default());
        }
        all.insert(name, entry);
    }
    let note = match units {
        Units::Radians => "angles in radians, lengths in metres",
        Units::Degrees => "angles in degrees, lengths in metres",
    };
    (
        json!({ "_meta": { "units": units, "note": note }, "poses": all }),
        left_out,
    )
}

/// A file of poses. An older format has the poses at the top level, in radians.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "_meta", default)]
    meta: Option<Meta>,
    poses: Option<Map<String, Json>>,
}

#[derive(Default, Deserialize)]
struct Meta {
    #[serde(default)]
    units: Units,
}

/// A pose of a file; its other properties follow from the robot.
#[derive(Deserialize)]
struct Entry {
    joints: Map<String, Json>,
    #[serde(default)]
    joint_fixed: Option<Map<String, Json>>,
    #[serde(default)]
    start_link: Option<String>,
    #[serde(default)]
    end_link: Option<String>,
    #[serde(default)]
    group: Option<String>,
    #[serde(default)]
    name: Option<String>,
}

/// Imports poses of a robot from JSON.
///
/// Joints and links are given by the paths of their prims or by name. Poses with unknown joints or
/// links are left out, with a finding each. `file` is the origin of the text, for findings.
///
/// # Errors
/// If the text does not have the format that [`export`] writes.
pub fn import(
    poses: &Poses<'_>,
    text: &str,
    file: &Path,
) -> Result<(Vec<NamedPose>, Vec<Diagnostic>), Diagnostic> {
    let place = |element: &str| Place {
        element: element.to_owned(),
        ..Place::file(file)
    };
    let help = "give a file in the format that `urdf_usd pose export` writes";
    let bad = |error: &serde_json::Error, place: Place| {
        #[expect(clippy::cast_possible_truncation, reason = "no file has so many lines")]
        let place = Place {
            line: error.line() as u32,
            column: error.column() as u32,
            ..place
        };
        Diagnostic::new(
            &codes::BAD_JSON,
            place,
            format!("it is not a file of poses: {error}"),
        )
        .help(help)
    };
    let file_content: File = serde_json::from_str(text).map_err(|error| bad(&error, place("")))?;
    let units = file_content.meta.unwrap_or_default().units;
    let all = match file_content.poses {
        Some(poses) => poses,
        None => serde_json::from_str(text).map_err(|error| bad(&error, place("")))?,
    };
    let (mut read, mut findings) = (Vec::new(), Vec::new());
    for (key, entry) in all {
        let entry: Entry = match serde_json::from_value(entry) {
            Ok(entry) => entry,
            Err(error) => {
                let message = format!("{key:?} is not a pose: {error}");
                findings.push(
                    Diagnostic::new(&codes::BAD_JSON, place(&format!("pose {key:?}")), message)
                        .help(help),
                );
                continue;
            }
        };
        match import_one(poses, &key, &entry, units) {
            Ok(pose) => read.push(NamedPose {
                place: place(&format!("pose {key:?}")),
                ..pose
            }),
            Err(PoseError::Wrong(found)) => {
                let message = format!("the pose {key:?} is left out: {}", found.message);
                findings.push(Diagnostic {
                    place: place(&format!("pose {key:?}")),
                    message,
                    ..*found
                });
            }
            Err(error) => {
                let found = Diagnostic::new(
                    &codes::BAD_JSON,
                    place(&format!("pose {key:?}")),
                    error.to_string(),
                );
                findings.push(found.help(help));
            }
        }
    }
    Ok((read, findings))
}

fn import_one(
    poses: &Poses<'_>,
    key: &str,
    entry: &Entry,
    units: Units,
) -> Result<NamedPose, PoseError> {
    let invalid = |message: String| {
        poses.invalid(
            &codes::BAD_JSON,
            message,
            "give each joint a finite number".to_owned(),
        )
    };
    let mut positions: Vec<(JointId, Vec<f64>)> = Vec::new();
    let mut fixed = HashSet::new();
    for (name, value) in &entry.joints {
        let joint = poses.joint(name)?;
        let value = value.as_f64().filter(|value| value.is_finite());
        let value =
            value.ok_or_else(|| invalid(format!("the position of {name:?} is not a number")))?;
        let is_angle = poses.robot.joints()[joint].kind() != JointKind::Prismatic;
        let value = if units == Units::Degrees && is_angle {
            value.to_radians()
        } else {
            value
        };
        if positions.iter().any(|(other, _)| *other == joint) {
            return Err(invalid(format!("the joint {name:?} is set twice")));
        }
        if entry.joint_fixed.as_ref().and_then(|fixed| fixed.get(name)) == Some(&Json::Bool(true)) {
            fixed.insert(joint);
        }
        positions.push((joint, vec![value]));
    }
    // In the order of the robot, not in that of the file.
    positions.sort_by_key(|(joint, _)| *joint);
    let link = |name: &Option<String>| match name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => poses.link(name).map(Some),
        None => Ok(None),
    };
    let chain = link(&entry.start_link)?.zip(link(&entry.end_link)?);
    let name = entry
        .name
        .clone()
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| key.to_owned());
    let mut fixed: Vec<JointId> = fixed.into_iter().collect();
    fixed.sort();
    Ok(NamedPose {
        name,
        group: entry.group.clone(),
        chain,
        positions,
        fixed,
        place: Place::default(),
    })
}
