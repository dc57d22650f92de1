//! Small meshes for tests.

#![allow(
    clippy::indexing_slicing,
    reason = "corners of a shape are numbered where its points are made"
)]

use nalgebra::Vector3;

use crate::{Corners, MeshArrays};

/// Returns a mesh of these triangles, each with its own normal.
pub fn faceted(points: Vec<[f32; 3]>, triangles: Vec<[u32; 3]>) -> MeshArrays {
    let normal = |triangle: &[u32; 3]| {
        let [a, b, c] = triangle.map(|i| Vector3::from(points[i as usize]));
        (b - a).cross(&(c - a)).normalize().into()
    };
    let normals = Corners {
        values: triangles.iter().map(normal).collect(),
        indices: (0..triangles.len() as u32).map(|i| [i; 3]).collect(),
    };
    MeshArrays {
        points,
        triangles,
        normals,
        uvs: None,
        colors: None,
    }
}

/// Returns a tetrahedron between the origin and the ends of the axes.
pub fn tetrahedron() -> MeshArrays {
    faceted(
        vec![
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0],
        ],
        vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
    )
}

/// Returns the corners of a box from `low` to `high`, and its sides, counter-clockwise seen from
/// outside; the upper side is last.
pub fn cuboid(low: [f64; 3], high: [f64; 3]) -> ([[f64; 3]; 8], [[usize; 4]; 6]) {
    let corner = |number: usize| {
        std::array::from_fn(|k| {
            if number >> k & 1 == 0 {
                low[k]
            } else {
                high[k]
            }
        })
    };
    let sides = [
        [0, 2, 3, 1],
        [0, 1, 5, 4],
        [0, 4, 6, 2],
        [1, 3, 7, 5],
        [2, 6, 7, 3],
        [4, 5, 7, 6],
    ];
    (std::array::from_fn(corner), sides)
}

/// Returns a ball of radius one with `n` rings of triangles, `4 n (n - 1)` in all, and the normals
/// of the ball.
pub fn ball(n: u32) -> MeshArrays {
    let point = |i: u32, j: u32| {
        let (turn, rise) = (
            std::f32::consts::TAU * (i % (2 * n)) as f32 / (2 * n) as f32,
            std::f32::consts::PI * j as f32 / n as f32,
        );
        [
            turn.cos() * rise.sin(),
            turn.sin() * rise.sin(),
            -rise.cos(),
        ]
    };
    let index = |i: u32, j: u32| match j {
        0 => 0,
        j if j == n => 1,
        j => 2 + (j - 1) * 2 * n + i % (2 * n),
    };
    let mut points = vec![point(0, 0), point(0, n)];
    points.extend((1..n).flat_map(|j| (0..2 * n).map(move |i| point(i, j))));
    let mut triangles = Vec::new();
    for (j, i) in (0..n).flat_map(|j| (0..2 * n).map(move |i| (j, i))) {
        let [a, b, c, d] = [
            index(i, j),
            index(i + 1, j),
            index(i + 1, j + 1),
            index(i, j + 1),
        ];
        triangles.extend((a != b).then_some([a, b, c]));
        triangles.extend((c != d).then_some([a, c, d]));
    }
    MeshArrays {
        normals: Corners {
            values: points.clone(),
            indices: triangles.clone(),
        },
        points,
        triangles,
        uvs: None,
        colors: None,
    }
}
