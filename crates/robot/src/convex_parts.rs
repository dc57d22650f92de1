//! Colliders as several convex shapes.

use std::borrow::Cow;

use super::{ArenaMap, Geometry, MeshId, MeshSource, Robot, Shape};

impl Robot {
    /// Returns the robot with a collider for each convex part of a mesh in place of the collider that
    /// has the mesh. They have its name, frame and scale, and are their own hulls.
    pub fn with_convex_parts(&self) -> Cow<'_, Self> {
        if self
            .meshes()
            .values()
            .all(|source| source.convex_parts.is_empty())
        {
            return Cow::Borrowed(self);
        }
        let mut robot = self.clone();
        let parts: ArenaMap<MeshSource, Vec<MeshId>> = ArenaMap::new(self.meshes(), |_, source| {
            let parts = source.convex_parts.iter().enumerate();
            let added = parts.map(|(number, part)| {
                let uri = format!("{}_part_{number}.stl", source.stem());
                robot.add_mesh(MeshSource {
                    hull: Some(part.clone()),
                    ..MeshSource::new(uri, source.place.clone(), part.clone())
                })
            });
            added.collect()
        });
        for (id, link) in self.links().iter() {
            let shapes = link
                .collisions
                .iter()
                .flat_map(|shape| match shape.geometry {
                    Geometry::Mesh { mesh, scale } if !parts[mesh].is_empty() => {
                        let part = |mesh: &MeshId| Shape {
                            geometry: Geometry::Mesh { mesh: *mesh, scale },
                            ..shape.clone()
                        };
                        parts[mesh].iter().map(part).collect()
                    }
                    _ => vec![shape.clone()],
                });
            // Never refused: the handles are of this robot, or of meshes that were just added.
            let set = robot.set_collisions(id, shapes.collect());
            debug_assert!(set.is_ok(), "{set:?}");
        }
        Cow::Owned(robot)
    }
}
