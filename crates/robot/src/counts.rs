//! Numbers of a robot's elements, for reports and summaries.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use super::Robot;

/// Numbers of a robot's elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All links, with those that are only frames.
    pub links: usize,
    /// All joints, with fixed ones.
    pub joints: usize,
    /// Distinct meshes of visuals and colliders.
    pub meshes: usize,
    /// Triangles of those meshes, each mesh once.
    pub triangles: usize,
}

impl Robot {
    /// Counts the elements.
    pub fn counts(&self) -> Counts {
        let mut seen = HashSet::new();
        let triangles = self
            .meshes()
            .values()
            .filter(|source| seen.insert(Arc::as_ptr(&source.mesh)))
            .map(|source| source.mesh.outline().triangles)
            .sum();
        Counts {
            links: self.links().len(),
            joints: self.joints().len(),
            meshes: seen.len(),
            triangles,
        }
    }
}

impl fmt::Display for Counts {
    /// Writes them for users: `2 links, 1 joint, 3 meshes, 12 triangles`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |count: usize| if count == 1 { "" } else { "s" };
        let Self {
            links,
            joints,
            meshes,
            triangles,
        } = *self;
        let es = if meshes == 1 { "" } else { "es" };
        write!(
            f,
            "{links} link{}, {joints} joint{}, {meshes} mesh{es}, {triangles} triangle{}",
            s(links),
            s(joints),
            s(triangles)
        )
    }
}
