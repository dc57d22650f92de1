//! What a robot promises of every mesh, for tests and fuzzers: [`check`] panics where it does not
//! hold.

#![allow(clippy::indexing_slicing, reason = "the check is meant to panic")]

use crate::{MapRole, Mesh};

/// Asserts what a [`Mesh`] promises.
///
/// # Panics
/// If it does not hold.
pub fn check(mesh: &Mesh) {
    assert!(!mesh.triangles.is_empty());
    assert!(mesh.points.iter().flatten().all(|x| x.is_finite()));
    let mut used = vec![false; mesh.points.len()];
    for triangle in &mesh.triangles {
        let [a, b, c] = *triangle;
        assert!(a != b && b != c && c != a);
        triangle.iter().for_each(|i| used[*i as usize] = true);
    }
    assert!(used.iter().all(|used| *used), "a point is unused");
    assert_eq!(mesh.normals.indices.len(), mesh.triangles.len());
    assert!(
        mesh.normals
            .indices
            .iter()
            .flatten()
            .all(|i| (*i as usize) < mesh.normals.values.len())
    );
    for [x, y, z] in &mesh.normals.values {
        let length = (x * x + y * y + z * z).sqrt();
        assert!((length - 1.0).abs() < 1e-5, "a normal of length {length}");
    }
    if let Some(uvs) = &mesh.uvs {
        assert_eq!(uvs.indices.len(), mesh.triangles.len());
        assert!(
            uvs.indices
                .iter()
                .flatten()
                .all(|i| (*i as usize) < uvs.values.len())
        );
        assert!(uvs.values.iter().flatten().all(|x| x.is_finite()));
    }
    if let Some(colors) = &mesh.colors {
        assert_eq!(colors.indices.len(), mesh.triangles.len());
        assert!(
            colors
                .indices
                .iter()
                .flatten()
                .all(|i| (*i as usize) < colors.values.len())
        );
        assert!(
            colors
                .values
                .iter()
                .flatten()
                .all(|x| (0.0..=1.0).contains(x))
        );
    }
    let mut next = 0;
    for part in &mesh.parts {
        assert_eq!(part.triangles.start, next);
        assert!(!part.triangles.is_empty());
        assert!(part.material.is_none_or(|m| m < mesh.materials.len()));
        next = part.triangles.end;
    }
    assert_eq!(next, mesh.triangles.len());
    for material in &mesh.materials {
        let unit = |x: &f32| (0.0..=1.0).contains(x);
        assert!(
            material.base_color.iter().all(unit)
                && unit(&material.metallic)
                && unit(&material.roughness)
        );
        assert!(material.emissive.iter().all(|x| x.is_finite() && *x >= 0.0));
        assert!(
            material.opacity_threshold.iter().all(unit)
                && material.specular.iter().flatten().all(unit)
        );
        assert!(unit(&material.clearcoat) && unit(&material.clearcoat_roughness));
        assert!(
            material.specular.is_none()
                || (material.metallic == 0.0 && !material.maps.contains_key(&MapRole::Metallic))
        );
        assert!(material.ior >= 1.0 && material.maps.values().all(|map| map.strength.is_finite()));
        assert!(mesh.uvs.is_some() || material.maps.is_empty());
    }
}
