//! The invariants of a robot's meshes, for tests and fuzzers: [`check`] panics if one is violated.

use crate::{MapRole, Mesh};

/// Asserts the invariants of a [`Mesh`].
///
/// # Panics
/// If one is violated.
pub fn check(mesh: &Mesh) {
    urdf_usd_geometry::invariants::check(mesh);
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
