//! `instances.usda`: the prototypes that visuals load as payloads, and the authoring of primitives.

use nalgebra::Vector3;

use super::Scene;
use super::library::{Form, MeshEntry};
use urdf_usd_robot::{Geometry, Pose};
use urdf_usd_usd_author::numbers::{place, vec3f};
use urdf_usd_usd_author::{Attribute, Layer, Prim, Relationship, token};

pub(super) fn layer(scene: &Scene<'_>) -> Layer {
    let mut layer = Layer::new(
        "What the payloads of visuals pull in: geometry by reference",
        "Instances",
    );
    layer.def("/Instances", "Scope");
    for instance in scene.library.instances.values() {
        let root = format!("/Instances/{}", instance.name);
        layer.def(&root, "Xform");
        let geometry = format!("{root}/geometry");
        match &instance.form {
            Form::Primitive(shape) => {
                let mut prim = layer.def(&geometry, "");
                let scale = author_primitive(&mut prim, shape);
                place(&mut prim, &Pose::identity(), scale.as_ref());
            }
            Form::Mesh(mesh) => {
                let entry = &scene.library.meshes[*mesh];
                layer
                    .def(&geometry, "Mesh")
                    .reference("./geometries.usdc", &format!("/Geometries/{}", entry.name));
                bind_subsets(scene, &mut layer, &root, entry);
            }
        }
    }
    layer
}

/// Binds the materials of a mesh with several to its subsets. The materials are inside the payload,
/// because a binding can't point outside it.
fn bind_subsets(scene: &Scene<'_>, layer: &mut Layer, root: &str, entry: &MeshEntry) {
    if entry.subsets.is_empty() {
        return;
    }
    let materials = format!("{root}/Materials");
    layer.scope(&materials);
    for subset in &entry.subsets {
        let name = &scene.library.materials[subset.material].name;
        layer
            .def(&format!("{materials}/{name}"), "Material")
            .reference("./materials.usda", &format!("/Materials/{name}"));
        layer
            .over(&format!("{root}/geometry/{name}"))
            .apply(["MaterialBindingAPI"])
            .relationship(
                "material:binding",
                Relationship::to([format!("{materials}/{name}")]),
            );
    }
}

/// Sets the type, dimensions and extent of a primitive. Returns the scale that a box needs in
/// addition (mapping, "Element: Box").
pub(super) fn author_primitive(prim: &mut Prim<'_>, geometry: &Geometry) -> Option<Vector3<f64>> {
    let mut shape = |type_name: &str, half: Vector3<f64>| {
        prim.metadata("typeName", token(type_name)).attribute(
            "extent",
            Attribute::float3_array([vec3f(&-half), vec3f(&half)]),
        );
    };
    match geometry {
        Geometry::Box { size } => {
            shape("Cube", Vector3::repeat(0.5));
            prim.attribute("size", Attribute::double(1.0));
            Some(*size)
        }
        Geometry::Cylinder { radius, length } => {
            shape("Cylinder", Vector3::new(*radius, *radius, length / 2.0));
            round(prim, *radius, Some(*length));
            None
        }
        Geometry::Capsule { radius, length } => {
            shape(
                "Capsule",
                Vector3::new(*radius, *radius, length / 2.0 + radius),
            );
            round(prim, *radius, Some(*length));
            None
        }
        Geometry::Sphere { radius } => {
            shape("Sphere", Vector3::repeat(*radius));
            round(prim, *radius, None);
            None
        }
        // Meshes are authored by reference instead.
        Geometry::Mesh { .. } | Geometry::Missing { .. } => None,
    }
}

fn round(prim: &mut Prim<'_>, radius: f64, height: Option<f64>) {
    prim.attribute("radius", Attribute::double(radius));
    if let Some(height) = height {
        prim.attribute("axis", Attribute::token("Z").uniform())
            .attribute("height", Attribute::double(height));
    }
}
