//! Configurations as the rules see them.

use super::Subject;
use super::asset::{Joint, Model};
use super::findings::short;
use urdf_usd_gltf_extension::Json;

/// Help text for rules about configurations.
pub const ENTRY_PER_JOINT: &str =
    "give one entry per joint, in the order of `joints`; [] for a fixed one";

/// A configuration with a list of positions.
pub struct Configuration<'s, 'a> {
    pub model: &'s Model<'a>,
    /// Name of the configuration for messages.
    pub title: String,
    /// JSON pointer to the positions.
    pub pointer: String,
    pub positions: Positions<'a>,
}

/// Form of a configuration's positions.
pub enum Positions<'a> {
    /// One entry per joint; may be invalid.
    Entries(&'a [Json]),
    /// A flat list with one number per degree of freedom.
    Row(Vec<f64>),
}

/// The position of a degree of freedom.
pub struct Position<'s, 'a> {
    pub joint: &'s Joint<'a>,
    /// Index of the degree of freedom in the joint.
    pub k: usize,
    pub position: f64,
    pub at: String,
}

/// Returns all configurations of all models.
pub fn configurations<'s, 'a>(
    subject: &'s Subject<'a>,
) -> impl Iterator<Item = Configuration<'s, 'a>> {
    subject.asset.models.iter().flat_map(|model| {
        model.configurations.iter().filter_map(move |(name, read)| {
            let Some(Json::List(entries)) = read.joint_positions() else {
                return None;
            };
            let counts: Vec<usize> = model.joints.iter().map(Joint::dof_count).collect();
            let row = read.row(&counts);
            let positions = row.map_or(Positions::Entries(entries), Positions::Row);
            let title = format!("configuration \"{}\"", short(name));
            Some(Configuration {
                model,
                title,
                pointer: read.entry.below("jointPositions"),
                positions,
            })
        })
    })
}

/// Returns the positions in the entry of a joint, if it has the form that the joint requires.
pub fn numbers(joint: &Joint<'_>, entry: &Json) -> Option<Vec<f64>> {
    let dofs = joint.dof_count();
    match entry {
        Json::Number(number) if dofs == 1 => Some(vec![*number]),
        Json::List(list) if dofs != 1 && list.len() == dofs => {
            list.iter().map(Json::number).collect()
        }
        _ => None,
    }
}

impl<'s, 'a> Configuration<'s, 'a> {
    /// Returns the entries with their joints and JSON pointers; empty for a flat list.
    pub fn entries(&self) -> Vec<(&'s Joint<'a>, &'a Json, String)> {
        let entries = if let Positions::Entries(entries) = self.positions {
            entries
        } else {
            &[]
        };
        let place = |joint: &Joint<'_>| format!("{}/{}", self.pointer, joint.index);
        self.model
            .joints
            .iter()
            .zip(entries)
            .map(|(joint, entry)| (joint, entry, place(joint)))
            .collect()
    }

    /// Returns the positions of all degrees of freedom that have a valid one.
    pub fn numbers(&self) -> Vec<Position<'s, 'a>> {
        let mut found = Vec::new();
        if let Positions::Row(row) = &self.positions {
            let mut places = row.iter().enumerate();
            for joint in &self.model.joints {
                for (k, (place, &position)) in places.by_ref().take(joint.dof_count()).enumerate() {
                    found.push(Position {
                        joint,
                        k,
                        position,
                        at: format!("{}/{place}", self.pointer),
                    });
                }
            }
        }
        for (joint, entry, at) in self.entries() {
            for (k, position) in numbers(joint, entry)
                .unwrap_or_default()
                .into_iter()
                .enumerate()
            {
                found.push(Position {
                    joint,
                    k,
                    position,
                    at: at.clone(),
                });
            }
        }
        found
    }
}
