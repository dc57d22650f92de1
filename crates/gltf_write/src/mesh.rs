//! Writes a single mesh as a GLB, for descriptions that refer to mesh files.

use std::sync::Arc;

use super::drawings::{self, Unpainted};
use super::{GlbError, Options, Written};
use crate::json::document::{Document, Node, Scene};
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_robot::{
    Custom, Geometry, InvalidRobot, Link, Material, Mesh, MeshSource, Pose, Robot, Shape,
};
use urdf_usd_store::Store;

/// Writes `mesh` as a GLB with its materials. `material` is used where the mesh has none of its
/// own; without it such parts have no material. `name` is the name of the mesh and `place` the
/// reference to it, for diagnostics.
///
/// The file has y up and keeps the mesh's x axis: (x, y, z) becomes (x, z, -y). Programs that
/// convert glTF meshes to z up, as RViz, Drake and this one do, restore the mesh's axes.
///
/// # Errors
///
/// See [`Written::glb`].
pub fn write_mesh(
    name: &str,
    mesh: &Mesh,
    material: Option<&Material>,
    place: &Place,
    store: &Store,
) -> Result<(Vec<u8>, Vec<Diagnostic>), GlbError> {
    let robot = robot_of(name, turned(mesh), material.cloned(), place)?;
    let mut diagnostics = Vec::new();
    let drawings = drawings::draw(
        &robot,
        &Options::default(),
        Unpainted::Bare,
        store,
        &mut diagnostics,
    )?;
    let shown = drawings.visuals.values().flatten().flatten().next();
    let document = Document {
        extensions_used: drawings.paint.extensions().collect(),
        scenes: vec![Scene {
            name: name.to_owned(),
            nodes: vec![0],
        }],
        nodes: vec![Node {
            name: name.to_owned(),
            mesh: shown.copied(),
            ..Node::default()
        }],
        meshes: drawings.meshes,
        materials: drawings.paint.materials,
        textures: drawings.paint.textures,
        images: drawings.paint.images,
        samplers: drawings.paint.samplers,
        buffers: drawings.binary.buffers(),
        accessors: drawings.binary.accessors,
        buffer_views: drawings.binary.views,
        ..Document::default()
    };
    let written = Written {
        document,
        binary: drawings.binary.buffer,
        diagnostics: Vec::new(),
    };
    Ok((written.glb()?, diagnostics))
}

/// Rotates the mesh by a quarter turn about z, (x, y, z) → (-y, x, z). The robot writer maps a
/// robot's x to the file's z; after this rotation the mesh's x becomes the file's x.
fn turned(mesh: &Mesh) -> Mesh {
    let turn = |v: &mut [f32; 3]| *v = [-v[1], v[0], v[2]];
    let mut mesh = mesh.clone();
    mesh.points.iter_mut().for_each(turn);
    mesh.normals.values.iter_mut().for_each(turn);
    if mesh.digest != [0; 32] {
        // Derives a distinct digest without hashing again: no other content differs in just these
        // bits of its hash.
        mesh.digest.iter_mut().for_each(|byte| *byte ^= 0x5a);
    }
    mesh
}

/// Returns a robot that consists of the mesh.
fn robot_of(
    name: &str,
    mesh: Mesh,
    material: Option<Material>,
    place: &Place,
) -> Result<Robot, InvalidRobot> {
    let mut robot = Robot::new(name);
    let source = MeshSource::new(format!("{name}.glb"), place.clone(), Arc::new(mesh.into()));
    let shape = Shape {
        name: None,
        origin: Pose::identity(),
        geometry: Geometry::Mesh {
            mesh: robot.add_mesh(source),
            scale: nalgebra::Vector3::repeat(1.0),
        },
        material: material.map(|material| robot.add_material(material)),
        stand_in_for: None,
        instance_set: None,
        custom: Custom::default(),
        place: place.clone(),
    };
    let mut link = Link::new(name);
    link.visuals = vec![shape];
    link.place = place.clone();
    robot.add_link(link)?;
    robot.place = place.clone();
    Ok(robot)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use urdf_usd_mesh::{Options as MeshOptions, PerCorner, Polygons, from_polygons, read};
    use urdf_usd_resolve::{File, Files, Resolver};
    use urdf_usd_robot::Corners;

    #[test]
    fn a_mesh_is_read_as_it_was_written() {
        let colors = PerCorner {
            values: vec![[0.25, 0.5, 1.0, 1.0], [0.0, 1.0, 0.0, 0.5]],
            indices: vec![0, 1, 0, 1, 1, 0],
        };
        let polygons = Polygons {
            points: vec![
                [0.1, 0.2, 0.3],
                [1.0, 0.0, -0.5],
                [0.0, 3.0, 0.0],
                [0.0, 0.0, 0.7],
            ],
            counts: vec![3, 3],
            corners: vec![0, 1, 2, 0, 2, 3],
            materials: vec![Material {
                metallic: 0.75,
                ..Material::plain("steel", [0.2, 0.3, 0.4, 1.0])
            }],
            face_materials: vec![Some(0), None],
            ..Polygons::default()
        };
        let grey = Material::plain("grey", [0.5, 0.5, 0.5, 1.0]);
        for (colors, material) in [(None, None), (None, Some(&grey)), (Some(colors), None)] {
            let colors: Option<PerCorner<[f32; 4]>> = colors;
            let polygons = Polygons {
                colors: colors.unwrap_or_default(),
                ..polygons.clone()
            };
            let (mut mesh, _) = from_polygons(&polygons, Path::new("a")).unwrap();
            // Unit length exactly.
            let values = vec![[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]];
            mesh.normals = Corners {
                values,
                indices: vec![[0, 0, 1], [0, 1, 1]],
            };
            let (bytes, found) =
                write_mesh("part", &mesh, material, &Place::default(), &Store::none()).unwrap();
            assert!(found.is_empty(), "{found:?}");
            let file = File {
                path: "part.glb".into(),
                bytes: bytes.clone().into(),
            };
            let files = Files::new(Arc::new(Resolver::new(Default::default())));
            let (again, found) = read(&file, &files, MeshOptions::default()).unwrap();
            assert!(found.is_empty(), "{found:?}");
            assert_eq!(
                (&again.points, &again.triangles, &again.normals),
                (&mesh.points, &mesh.triangles, &mesh.normals)
            );
            let looks = |mesh: &Mesh, other: Option<&Material>| -> Vec<Option<Material>> {
                let own = |part: &urdf_usd_robot::Part| {
                    part.material
                        .map(|material| mesh.materials[material].clone())
                };
                mesh.parts
                    .iter()
                    .map(|part| own(part).or(other.cloned()))
                    .collect()
            };
            if mesh.colors.is_none() {
                assert_eq!(looks(&again, None), looks(&mesh, material));
            }
            let (second, _) =
                write_mesh("part", &again, material, &Place::default(), &Store::none()).unwrap();
            assert!(second == bytes, "not the same bytes");
        }
    }
}
