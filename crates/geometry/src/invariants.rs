//! The invariants of [`MeshArrays`], for tests and fuzzers: [`check`] panics if one is violated.

#![allow(clippy::indexing_slicing, reason = "the check is meant to panic")]

use crate::MeshArrays;

/// Asserts the invariants of [`MeshArrays`].
///
/// # Panics
/// If an invariant is violated.
pub fn check(mesh: &MeshArrays) {
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
}
