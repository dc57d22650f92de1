//! Tangents for normal textures in the convention of MikkTSpace, which glTF recommends (§3.7.2.1).
//! The direction of increasing u on each triangle is projected onto the vertex' tangent plane and
//! summed up with the corner's angle as weight, separately for mirrored texture coordinates.

#![allow(
    clippy::indexing_slicing,
    reason = "vertices are numbered below the length of all lists of a surface"
)]

use std::collections::HashMap;

use nalgebra::Vector3;

use super::surface::Surface;

/// Bits of a vertex' position, normal and texture coordinates.
type Key = [u32; 8];

/// Adds tangents to a surface that has texture coordinates. Vertices at which the orientation of
/// the texture changes are split in two.
///
/// x, y and z have unit length. w is the sign that makes the cross product of normal and tangent
/// point to the image's upper side.
pub fn add(surface: &mut Surface) {
    let Some(uvs) = &surface.uvs else { return };
    let count = surface.positions.len();
    let places = places(surface, uvs);
    let distinct = places.iter().max().map_or(0, |place| place + 1);
    let mut sums = vec![[Vector3::zeros(); 2]; distinct];
    let triangles = surface.indices.as_chunks::<3>().0;
    let mirrored: Vec<Option<bool>> = triangles
        .iter()
        .map(|triangle| {
            let vertices = triangle.map(|vertex| vertex as usize);
            let points =
                vertices.map(|vertex| Vector3::from(surface.positions[vertex].map(f64::from)));
            let (right, is_mirrored) =
                right(points, vertices.map(|vertex| uvs[vertex].map(f64::from)))?;
            for (k, vertex) in vertices.into_iter().enumerate() {
                let normal = Vector3::from(surface.normals[vertex].map(f64::from));
                let onto = |v: Vector3<f64>| {
                    (v - normal * normal.dot(&v)).try_normalize(f64::MIN_POSITIVE)
                };
                let [here, next, last] = [0, 1, 2].map(|step| points[(k + step) % 3]);
                if let (Some(tangent), Some(a), Some(b)) =
                    (onto(right), onto(next - here), onto(last - here))
                {
                    sums[places[vertex]][usize::from(is_mirrored)] +=
                        tangent * a.dot(&b).clamp(-1.0, 1.0).acos();
                }
            }
            Some(is_mirrored)
        })
        .collect();
    // The first triangle at a vertex fixes its orientation; triangles of the other orientation use
    // a copy of the vertex.
    let mut sides: Vec<Option<bool>> = vec![None; count];
    let mut twins: HashMap<u32, u32> = HashMap::new();
    let mut added: Vec<usize> = Vec::new();
    for (triangle, is_mirrored) in surface
        .indices
        .as_chunks_mut::<3>()
        .0
        .iter_mut()
        .zip(&mirrored)
    {
        let Some(is_mirrored) = is_mirrored else {
            continue;
        };
        for vertex in triangle {
            let side = &mut sides[*vertex as usize];
            if *side.get_or_insert(*is_mirrored) != *is_mirrored {
                *vertex = *twins.entry(*vertex).or_insert_with(|| {
                    added.push(*vertex as usize);
                    (count + added.len() - 1) as u32
                });
            }
        }
    }
    let tangent = |vertex: usize, is_mirrored: bool| {
        let normal = Vector3::from(surface.normals[vertex].map(f64::from));
        let sum = sums[places[vertex]][usize::from(is_mirrored)];
        // Without a usable direction of the texture, any direction in the tangent plane does: here
        // that of the coordinate axis farthest from the normal.
        let some = || {
            let axis = normal.iamin();
            let other = Vector3::from_fn(|k, _| f64::from(u8::from(k == axis)));
            (other - normal * normal.dot(&other)).normalize()
        };
        let [x, y, z] = sum
            .try_normalize(1e-12)
            .unwrap_or_else(some)
            .map(|x| x as f32 + 0.0)
            .into();
        [x, y, z, if is_mirrored { -1.0 } else { 1.0 }]
    };
    let first = (0..count).map(|vertex| tangent(vertex, sides[vertex] == Some(true)));
    let twins = added
        .iter()
        .map(|&vertex| tangent(vertex, sides[vertex] == Some(false)));
    let tangents = first.chain(twins).collect();
    surface.tangents = Some(tangents);
    repeat(surface, &added);
}

/// Numbers the vertices for summation. Vertices that differ in colour only have the same number, so
/// that they get the same tangents.
fn places(surface: &Surface, uvs: &[[f32; 2]]) -> Vec<usize> {
    let count = surface.positions.len();
    let mut known: HashMap<Key, usize> = HashMap::with_capacity(count);
    let place = |vertex: usize| {
        let mut key = [0; 8];
        let numbers = surface.positions[vertex]
            .iter()
            .chain(&surface.normals[vertex])
            .chain(&uvs[vertex]);
        key.iter_mut()
            .zip(numbers)
            .for_each(|(key, number)| *key = number.to_bits());
        let next = known.len();
        *known.entry(key).or_insert(next)
    };
    (0..count).map(place).collect()
}

/// Appends copies of `vertices`.
fn repeat(surface: &mut Surface, vertices: &[usize]) {
    fn repeat<T: Copy>(list: &mut Vec<T>, vertices: &[usize]) {
        let more: Vec<T> = vertices.iter().map(|&vertex| list[vertex]).collect();
        list.extend(more);
    }
    repeat(&mut surface.positions, vertices);
    repeat(&mut surface.normals, vertices);
    surface.uvs.iter_mut().for_each(|uvs| repeat(uvs, vertices));
    surface
        .colors
        .iter_mut()
        .for_each(|colors| repeat(colors, vertices));
}

/// Returns the direction of increasing u on a triangle, and whether the texture is mirrored there;
/// `None` if it has no area in the texture. v is counted from the top.
fn right(points: [Vector3<f64>; 3], uvs: [[f64; 2]; 3]) -> Option<(Vector3<f64>, bool)> {
    let [(a, u, v), (b, s, t)] = [1, 2].map(|k| {
        (
            points[k] - points[0],
            uvs[k][0] - uvs[0][0],
            uvs[0][1] - uvs[k][1],
        )
    });
    let area = u * t - v * s;
    let right = (a * t - b * v) * area.signum();
    (area != 0.0 && right.iter().all(|x| x.is_finite())).then_some((right, area < 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a square that faces z, with an upright texture on its right half and a mirrored one
    /// on its left half.
    fn folded() -> Surface {
        let at = |x: f32, y: f32| [x, y, 0.0];
        Surface {
            positions: vec![
                at(0.0, 0.0),
                at(1.0, 0.0),
                at(1.0, 1.0),
                at(0.0, 1.0),
                at(-1.0, 0.0),
                at(-1.0, 1.0),
            ],
            normals: vec![[0.0, 0.0, 1.0]; 6],
            uvs: Some(vec![
                [0.0, 1.0],
                [1.0, 1.0],
                [1.0, 0.0],
                [0.0, 0.0],
                [1.0, 1.0],
                [1.0, 0.0],
            ]),
            colors: Some((0..6).map(|k| [k; 4]).collect()),
            indices: vec![0, 1, 2, 0, 2, 3, 0, 3, 4, 3, 5, 4],
            ..Surface::default()
        }
    }

    #[test]
    fn tangents_follow_the_image() {
        let mut surface = folded();
        add(&mut surface);
        let tangents = surface.tangents.as_ref().unwrap();
        assert_eq!(tangents[..4], [[1.0, 0.0, 0.0, 1.0]; 4]);
        assert_eq!(tangents[4..], [[-1.0, 0.0, 0.0, -1.0]; 4]);
        assert_eq!(
            surface.indices,
            [0, 1, 2, 0, 2, 3, 6, 7, 4, 7, 5, 4],
            "the seam has two vertices for one"
        );
        let places = [0, 3].map(|vertex| {
            (
                surface.positions[vertex],
                surface.uvs.as_ref().unwrap()[vertex],
            )
        });
        assert_eq!(
            [6, 7].map(|vertex| (
                surface.positions[vertex],
                surface.uvs.as_ref().unwrap()[vertex]
            )),
            places
        );
        assert_eq!(
            (
                surface.normals.len(),
                surface.colors.as_ref().unwrap()[6..].to_vec()
            ),
            (8, vec![[0; 4], [3; 4]])
        );
    }

    #[test]
    fn what_has_no_image_has_some_tangent() {
        let mut surface = folded();
        surface.uvs = Some(vec![[0.5, 0.5]; 6]);
        add(&mut surface);
        assert_eq!(surface.positions.len(), 6);
        for [x, y, z, w] in surface.tangents.unwrap() {
            assert_eq!((x * x + y * y, z, w), (1.0, 0.0, 1.0));
        }
        let mut plain = Surface {
            uvs: None,
            ..folded()
        };
        add(&mut plain);
        assert_eq!(plain.tangents, None);
    }

    #[test]
    fn corners_count_by_their_angle() {
        let mut surface = folded();
        surface
            .positions
            .iter_mut()
            .for_each(|point| point[2] = 0.5 * point[0]);
        surface
            .normals
            .iter_mut()
            .for_each(|normal| *normal = [0.6, 0.0, 0.8]);
        add(&mut surface);
        for [x, y, z, w] in surface.tangents.unwrap() {
            assert!(
                (w * x - 0.8).abs() < 1e-6 && y.abs() < 1e-6 && (w * z + 0.6).abs() < 1e-6,
                "{x} {y} {z}"
            );
        }
    }
}
