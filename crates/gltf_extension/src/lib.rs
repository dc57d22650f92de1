//! EXT_robot_kinematics as it is stored in a file, and the conventions that `gltf_write` and
//! `gltf_read` share.
//!
//! A document is read as section 3 of the extension's specification defines it. A property of the
//! wrong type is treated as absent, and the caller decides whether to report it. `gltf_read` builds
//! robots from it, `gltf_check` reports the rules that it breaks, and `gltf_write` uses its names.
//!
//! The conventions are the axes ([`axes`]), the nodes of [`cameras`] and [`lights`], the extension
//! for [`instances`] and the colour [`UNPAINTED`].
//!
//! This crate must not know robots or files: only names, numbers, rotations, and unchecked indices.

pub mod axes;
pub mod cameras;
pub mod instances;
pub mod lights;
mod models;
pub mod source;
mod tree;
mod unpainted;

use serde::Serialize;

pub use models::{Configuration, Dof, Extension, Joint, Limit, Link, Mimic, Model, Source};
pub use tree::{Entry, Field, Json, Misfits};
pub use unpainted::UNPAINTED;

/// Name of the extension.
pub const NAME: &str = "EXT_robot_kinematics";

/// Channel of its node that a degree of freedom drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Motion {
    /// Rotation about the axis, in radians.
    Rotation,
    /// Translation along the axis, in metres.
    Translation,
}

impl Motion {
    /// Returns the name in the file, which is also glTF's name of the channel.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rotation => "rotation",
            Self::Translation => "translation",
        }
    }

    /// Parses the name in the file.
    pub fn of(word: &str) -> Option<Self> {
        [Self::Rotation, Self::Translation]
            .into_iter()
            .find(|motion| motion.as_str() == word)
    }
}

/// Type of a joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JointType {
    /// No degrees of freedom.
    Fixed,
    /// One rotation, with limits.
    Revolute,
    /// One rotation, without limits.
    Continuous,
    /// One translation.
    Prismatic,
    /// Two translations.
    Planar,
    /// Three translations, then three rotations.
    Floating,
}

impl JointType {
    const ALL: [Self; 6] = [
        Self::Fixed,
        Self::Revolute,
        Self::Continuous,
        Self::Prismatic,
        Self::Planar,
        Self::Floating,
    ];

    /// Returns the name in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Revolute => "revolute",
            Self::Continuous => "continuous",
            Self::Prismatic => "prismatic",
            Self::Planar => "planar",
            Self::Floating => "floating",
        }
    }

    /// Parses the name in the file.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns the motions of a joint of this type, in order.
    pub fn motions(self) -> &'static [Motion] {
        use Motion::{Rotation, Translation};
        match self {
            Self::Fixed => &[],
            Self::Revolute | Self::Continuous => &[Rotation],
            Self::Prismatic => &[Translation],
            Self::Planar => &[Translation, Translation],
            Self::Floating => &[
                Translation,
                Translation,
                Translation,
                Rotation,
                Rotation,
                Rotation,
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JointType, Motion};

    #[test]
    fn words_are_written_as_they_are_read() {
        for kind in JointType::ALL {
            assert_eq!(JointType::of(kind.as_str()), Some(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
        for motion in [Motion::Rotation, Motion::Translation] {
            assert_eq!(Motion::of(motion.as_str()), Some(motion));
            assert_eq!(serde_json::to_value(motion).unwrap(), motion.as_str());
        }
        assert_eq!((JointType::of("hinge"), Motion::of("")), (None, None));
    }
}
