//! Convexity test for meshes.

#![expect(
    clippy::indexing_slicing,
    reason = "computes on the corners of faces, which are never empty"
)]

use nalgebra::Vector3;
use urdf_usd_stage::{Prim, int_array, vectors};

/// Maximum distance of a point in front of a face, relative to the diagonal of the mesh: points have
/// single precision, and hulls are simplified.
const SLACK: f64 = 1e-3;
/// Maximum number of comparisons of a point with a face. In larger meshes, only every n-th face is
/// tested.
const MAX_COMPARISONS: usize = 5_000_000;

/// Whether a mesh prim is convex: no point is in front of the plane of a face.
///
/// A mesh without readable faces counts as convex. Takes points × faces steps, at most
/// [`MAX_COMPARISONS`].
pub fn is_convex(mesh: &Prim) -> bool {
    let array = |name: &str| mesh.value(name).and_then(int_array);
    let (Some(points), Some(counts), Some(indices)) = (
        mesh.value("points").and_then(vectors),
        array("faceVertexCounts"),
        array("faceVertexIndices"),
    ) else {
        return true;
    };
    let points: Vec<Vector3<f64>> = points.into_iter().map(Vector3::from).collect();
    if points.is_empty() || !points.iter().flatten().all(|c| c.is_finite()) {
        return true;
    }
    let (low, high) = points
        .iter()
        .fold((points[0], points[0]), |(low, high), p| {
            (low.inf(p), high.sup(p))
        });
    let size = (high - low).norm();
    #[expect(clippy::cast_precision_loss, reason = "no mesh is that large")]
    let middle = points.iter().sum::<Vector3<f64>>() / points.len() as f64;
    let step = (counts.len().saturating_mul(points.len()) / MAX_COMPARISONS).max(1);
    let mut start = 0_usize;
    for (index, &count) in counts.iter().enumerate() {
        let count = usize::try_from(count).unwrap_or(0);
        let Some(corners) = indices.get(start..start.saturating_add(count)) else {
            return true;
        };
        start = start.saturating_add(count);
        if index % step != 0 {
            continue;
        }
        let corners: Option<Vec<_>> = corners
            .iter()
            .map(|&corner| points.get(usize::try_from(corner).ok()?))
            .collect();
        let Some(corners) = corners else { return true };
        let Some(normal) = normal(&corners, size) else {
            continue;
        };
        // The centroid of a convex mesh is inside, so that the normal does not depend on the
        // winding of the faces, which is often wrong.
        let normal = if normal.dot(&(middle - corners[0])) > 0.0 {
            -normal
        } else {
            normal
        };
        if points
            .iter()
            .any(|point| normal.dot(&(point - corners[0])) > SLACK * size)
        {
            return false;
        }
    }
    true
}

/// Returns the normal of a face by Newell's method, or `None` for a sliver without a reliable one.
fn normal(corners: &[&Vector3<f64>], size: f64) -> Option<Vector3<f64>> {
    let next = corners.iter().cycle().skip(1);
    let (mut twice_area, mut longest) = (Vector3::zeros(), 0.0_f64);
    for (a, b) in corners.iter().zip(next) {
        twice_area += (**a - corners[0]).cross(&(**b - corners[0]));
        longest = longest.max((**b - **a).norm());
    }
    (twice_area.norm() > 2.0 * SLACK * size * longest).then(|| twice_area.normalize())
}
