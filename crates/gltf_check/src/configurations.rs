//! Named configurations, as the rules look at them.

use super::Subject;
use super::asset::{Joint, Model};
use super::findings::short;
use urdf_usd_gltf_extension::Json;

/// What to do about one that is not as it should be.
pub const ENTRY_PER_JOINT: &str =
    "give one entry per joint, in the order of `joints`; [] for a fixed one";

/// A configuration that has positions.
pub struct Configuration<'s, 'a> {
    pub model: &'s Model<'a>,
    /// What messages call it.
    pub title: String,
    /// Of its positions.
    pub pointer: String,
    pub positions: Positions<'a>,
}

/// How positions are written.
pub enum Positions<'a> {
    /// One entry per joint, or what should be.
    Entries(&'a [Json]),
    /// One number per degree of freedom in a row.
    Row(Vec<f64>),
}

/// The position of a degree of freedom.
pub struct Position<'s, 'a> {
    pub joint: &'s Joint<'a>,
    /// Which degree of freedom of the joint.
    pub k: usize,
    pub position: f64,
    pub at: String,
}

/// All configurations of all models.
pub fn configurations<'s, 'a>(
    subject: &'s Subject<'a>,
) -> impl Iterator<Item = Configuration<'s, 'a>> {
    subject.asset.models.iter().flat_map(|model| {
        model.configurations.iter().filter_map(move |(name, read)| {
            let Some(Json::List(entries)) = read.joint_positions() else {
                return None;
            };
            let positions = row(model, entries).map_or(Positions::Entries(entries), Positions::Row);
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

/// The positions of all degrees of freedom, if they stand in a row rather than by joints.
fn row(model: &Model<'_>, positions: &[Json]) -> Option<Vec<f64>> {
    let dofs: usize = model.joints.iter().map(Joint::dof_count).sum();
    let is_by_joint = model.joints.iter().all(|joint| joint.dof_count() == 1);
    if is_by_joint || positions.len() != dofs || model.joints.is_empty() {
        return None;
    }
    positions.iter().map(Json::number).collect()
}

/// The positions in the entry of a joint, if it is as the joint takes it.
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
    /// The entries by joints, with their places; none if it has a row.
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

    /// The positions of all degrees of freedom, as far as they are as they should be.
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
