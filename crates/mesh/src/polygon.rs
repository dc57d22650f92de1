//! Triangulates polygons, including concave ones and those with holes.

#![allow(
    clippy::indexing_slicing,
    reason = "corners are numbered modulo their number, and axes from 0 to 2"
)]

use earcut::Earcut;
use nalgebra::Vector3;

/// Concave polygons with more corners than this are triangulated as a fan, since the time of ear
/// clipping grows with the square of their number.
const CONCAVE_LIMIT: usize = 10_000;

/// A triangulator; reused between polygons to avoid allocation.
pub(super) struct Triangulator {
    earcut: Earcut<f64>,
    flat: Vec<[f64; 2]>,
    cut: Vec<u32>,
}

impl Triangulator {
    pub fn new() -> Self {
        Self {
            earcut: Earcut::new(),
            flat: Vec::new(),
            cut: Vec::new(),
        }
    }

    /// Calls `emit` with the triangles of a polygon, as indices into `corners`, wound like the
    /// polygon.
    ///
    /// `holes` are the indices in `corners` at which the outlines of holes start, ascending. A
    /// convex polygon of n corners becomes the fan of n - 2 triangles from its first corner, as in
    /// every importer; so does a polygon that ear clipping fails on.
    pub fn cut(&mut self, corners: &[[f64; 3]], holes: &[u32], mut emit: impl FnMut([usize; 3])) {
        let outline = holes
            .first()
            .map_or(corners.len(), |&h| (h as usize).min(corners.len()));
        let normal = newell(&corners[..outline]);
        let sound = holes.is_sorted() && holes.last().is_none_or(|&h| h as usize <= corners.len());
        let convex = holes.is_empty() && (outline <= 3 || is_convex(&corners[..outline], &normal));
        if convex
            || !sound
            || corners.len() > CONCAVE_LIMIT
            || !normal.iter().all(|x| x.is_finite())
            || normal == Vector3::zeros()
        {
            (2..outline).for_each(|i| emit([0, i - 1, i]));
            return;
        }
        // Project along the dominant axis of the normal, from the side where the polygon is
        // counter-clockwise.
        let axis = normal.iamax();
        let (u, v) = if normal[axis] > 0.0 {
            ((axis + 1) % 3, (axis + 2) % 3)
        } else {
            ((axis + 2) % 3, (axis + 1) % 3)
        };
        self.flat.clear();
        self.flat.extend(corners.iter().map(|p| [p[u], p[v]]));
        self.earcut
            .earcut(self.flat.iter().copied(), holes, &mut self.cut);
        if self.cut.is_empty() {
            (2..outline).for_each(|i| emit([0, i - 1, i]));
        }
        for t in self.cut.as_chunks::<3>().0 {
            let [a, b, c] = t.map(|i| i as usize);
            let [p, q, r] = [a, b, c].map(|i| self.flat[i]);
            let area = (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]);
            emit(if area < 0.0 { [a, c, b] } else { [a, b, c] });
        }
    }
}

/// Returns twice the area vector of a polygon, by Newell's method.
fn newell(corners: &[[f64; 3]]) -> Vector3<f64> {
    let Some(first) = corners.first() else {
        return Vector3::zeros();
    };
    // Relative to a corner: far from the origin the products would cancel.
    let first = Vector3::from(*first);
    corners
        .windows(2)
        .map(|w| (Vector3::from(w[0]) - first).cross(&(Vector3::from(w[1]) - first)))
        .sum()
}

fn is_convex(corners: &[[f64; 3]], normal: &Vector3<f64>) -> bool {
    let n = corners.len();
    (0..n).all(|i| {
        let [a, b, c] = [0, 1, 2].map(|k| Vector3::from(corners[(i + k) % n]));
        let turn = (b - a).cross(&(c - b));
        // The tolerance lets straight corners pass, where the turn is nothing but rounding error.
        turn.dot(normal) >= -1e-9 * turn.norm() * normal.norm()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(corners: &[[f64; 3]], holes: &[u32]) -> Vec<[usize; 3]> {
        let mut triangles = Vec::new();
        Triangulator::new().cut(corners, holes, |t| triangles.push(t));
        triangles
    }

    fn area(corners: &[[f64; 3]], triangles: &[[usize; 3]]) -> Vector3<f64> {
        let corner = |i: usize| Vector3::from(corners[i]);
        triangles
            .iter()
            .map(|t| (corner(t[1]) - corner(t[0])).cross(&(corner(t[2]) - corner(t[0]))) / 2.0)
            .sum()
    }

    /// An L of area 3, facing down.
    const L: [[f64; 3]; 6] = [
        [0.0, 0.0, 5.0],
        [0.0, 2.0, 5.0],
        [1.0, 2.0, 5.0],
        [1.0, 1.0, 5.0],
        [2.0, 1.0, 5.0],
        [2.0, 0.0, 5.0],
    ];

    #[test]
    fn convex_polygons_are_fans() {
        let square = [
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [1.0, 1.0, 0.0],
            [0.0, 1.0, 0.0],
        ];
        assert_eq!(cut(&square, &[]), [[0, 1, 2], [0, 2, 3]]);
        assert!(cut(&square[..2], &[]).is_empty());
        assert!(cut(&[], &[]).is_empty());
    }

    #[test]
    fn concave_polygons_keep_shape_and_winding() {
        for shift in 0..6 {
            let mut corners = L;
            corners.rotate_left(shift);
            let triangles = cut(&corners, &[]);
            assert_eq!(triangles.len(), 4);
            assert_eq!(area(&corners, &triangles), Vector3::new(0.0, 0.0, -3.0));
            for t in &triangles {
                assert!(area(&corners, &[*t]).z <= 0.0, "{triangles:?}");
            }
        }
    }

    #[test]
    fn holes_stay_open() {
        let mut corners = vec![
            [0.0, 0.0, 0.0],
            [0.0, 4.0, 0.0],
            [0.0, 4.0, 4.0],
            [0.0, 0.0, 4.0],
        ];
        corners.extend([
            [0.0, 1.0, 1.0],
            [0.0, 2.0, 1.0],
            [0.0, 2.0, 2.0],
            [0.0, 1.0, 2.0],
        ]);
        let triangles = cut(&corners, &[4]);
        assert_eq!(triangles.len(), 8);
        assert!((area(&corners, &triangles) - Vector3::new(15.0, 0.0, 0.0)).norm() < 1e-12);
    }

    #[test]
    fn nonsense_is_a_fan() {
        assert_eq!(cut(&[[0.0; 3]; 4], &[]), [[0, 1, 2], [0, 2, 3]]);
        let mut corners = L;
        corners[2][0] = f64::NAN;
        assert_eq!(cut(&corners, &[]).len(), 4);
        assert_eq!(cut(&L, &[9]).len(), 4);
        assert_eq!(cut(&L, &[5, 4]).len(), 3);
    }
}
