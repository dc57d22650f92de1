//! Files that a description refers to.

use std::sync::Arc;

use urdf_usd_diagnostic::Place;
use urdf_usd_robot::{
    Geometry, InvalidRobot, LazyMesh, LinkId, MaterialId, MeshId, MeshSource, Robot, Shape,
};

/// The files that a description refers to. Its [`Robot`] is complete without them; the caller loads
/// them and adds their contents.
#[derive(Clone, Debug, Default)]
pub struct References {
    /// Mesh files, one entry for each distinct reference; see [`MeshReference::settle`].
    pub meshes: Vec<MeshReference>,
    /// Image files of materials: the material, the reference as written, and its place. The image
    /// becomes [`Material::base_color_texture`](urdf_usd_robot::Material::base_color_texture).
    pub textures: Vec<(MaterialId, String, Place)>,
    /// Controller files, for [`set_controllers`](super::set_controllers): the reference as written,
    /// and its place.
    pub controller_files: Vec<(String, Place)>,
}

impl References {
    /// Updates the places of shapes after links were renumbered, merged or removed. `now` returns the new link of
    /// a former one's shapes and the indices of its first visual and collider there; `None` if they are gone.
    pub fn move_shapes(&mut self, now: impl Fn(LinkId) -> Option<(LinkId, usize, usize)>) {
        let moved = |users: &mut Vec<(LinkId, usize)>, first: fn((usize, usize)) -> usize| {
            users.retain_mut(|(link, index)| {
                now(*link).is_some_and(|(now, visual, collision)| {
                    (*link, *index) = (now, *index + first((visual, collision)));
                    true
                })
            });
        };
        for reference in &mut self.meshes {
            moved(&mut reference.visuals, |(visual, _)| visual);
            moved(&mut reference.collisions, |(_, collision)| collision);
        }
    }
}

/// A mesh file that shapes of a robot refer to. Until it is loaded, their geometry is
/// [`Geometry::Missing`].
#[derive(Clone, Debug)]
pub struct MeshReference {
    /// Reference as written.
    pub uri: String,
    /// First place that refers to the file.
    pub place: Place,
    /// Visuals that refer to the file: the link, and the index into its visuals.
    pub visuals: Vec<(LinkId, usize)>,
    /// Collisions that refer to the file: the link, and the index into its collisions.
    pub collisions: Vec<(LinkId, usize)>,
}

impl MeshReference {
    /// Adds the file's `mesh` to `robot` and assigns it to all shapes that refer to the file.
    /// Shapes that got another geometry meanwhile keep it.
    ///
    /// # Errors
    /// Returns an error if the reference does not belong to this robot.
    pub fn settle(&self, robot: &mut Robot, mesh: Arc<LazyMesh>) -> Result<MeshId, InvalidRobot> {
        let id = robot.add_mesh(MeshSource::new(self.uri.clone(), self.place.clone(), mesh));
        let with_mesh = |shape: Option<&Shape>| match shape?.geometry {
            Geometry::Missing { scale } => Some(Shape {
                geometry: Geometry::Mesh { mesh: id, scale },
                ..shape?.clone()
            }),
            _ => None,
        };
        for &(link, index) in &self.visuals {
            if let Some(shape) = with_mesh(robot.links()[link].visuals.get(index)) {
                robot.set_visual(link, index, shape)?;
            }
        }
        for &(link, index) in &self.collisions {
            if let Some(shape) = with_mesh(robot.links()[link].collisions.get(index)) {
                robot.set_collision(link, index, shape)?;
            }
        }
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nalgebra::Vector3;
    use urdf_usd_robot::{Corners, Link, Mesh, MeshArrays, Part};

    use super::*;
    use crate::read;

    #[test]
    fn all_shapes_that_refer_to_a_file_share_its_mesh() {
        let shape = |kind: &str, file: &str| {
            format!("<{kind}><geometry><mesh filename='{file}' scale='2 1 1'/></geometry></{kind}>")
        };
        let [visual, collision] = ["visual", "collision"].map(|kind| shape(kind, "a.stl"));
        let ball = "<visual><geometry><sphere radius='1'/></geometry></visual>";
        let text = format!(
            "<robot name='r'><link name='x'>{visual}{collision}</link>
             <link name='y'>{}{ball}{visual}{visual}</link>
             <joint name='j' type='fixed'><parent link='x'/><child link='y'/></joint></robot>",
            shape("visual", "b.stl")
        );
        let outcome = read(&text, Some(Path::new("r.urdf")));
        let (mut robot, references) = (outcome.robot.unwrap(), outcome.references);
        let sphere = Geometry::Sphere { radius: 1.0 };
        let second = robot.link_named("y").unwrap();
        let solid = Shape {
            geometry: sphere.clone(),
            ..robot.links()[second].visuals[3].clone()
        };
        robot.set_visual(second, 3, solid).unwrap();
        let arrays = MeshArrays {
            points: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
            triangles: vec![[0, 1, 2]],
            normals: Corners {
                values: vec![[0.0, 0.0, 1.0]],
                indices: vec![[0; 3]],
            },
            uvs: None,
            colors: None,
        };
        let mesh = Mesh::new(
            arrays,
            vec![Part {
                triangles: 0..1,
                material: None,
            }],
            Vec::new(),
        );
        let uris: Vec<&str> = references
            .meshes
            .iter()
            .map(|reference| reference.uri.as_str())
            .collect();
        assert_eq!(uris, ["a.stl", "b.stl"]);
        let mesh_of_all = Arc::new(mesh.clone().into());
        let id = references.meshes[0]
            .settle(&mut robot, mesh_of_all)
            .unwrap();
        let source = &robot.meshes()[id];
        assert_eq!(
            (source.uri.as_str(), &*source.mesh, source.place.line),
            ("a.stl", &mesh.into(), 1)
        );
        let scale = Vector3::new(2.0, 1.0, 1.0);
        let (there, missing) = (
            Geometry::Mesh { mesh: id, scale },
            Geometry::Missing { scale },
        );
        let [x, y] = robot.links().as_slice() else {
            panic!("{:?}", robot.links())
        };
        let visuals = |link: &Link| {
            link.visuals
                .iter()
                .map(|shape| shape.geometry.clone())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            (visuals(x), &x.collisions[0].geometry),
            (vec![there.clone()], &there)
        );
        // The other file's mesh is still missing, and a replaced geometry stays.
        assert_eq!(visuals(y), [missing, sphere.clone(), there, sphere]);
    }
}
