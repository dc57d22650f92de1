//! Indexed triangles with values at their corners.

#![allow(
    clippy::indexing_slicing,
    reason = "corners refer to values of the same mesh"
)]

use nalgebra::Vector3;
use wide::u32x4;

use crate::Bounds;

/// Triangles with the attributes needed to draw them.
///
/// Winding is counter-clockwise seen from outside. Points are welded; normals and texture
/// coordinates belong to corners, so a hard edge does not tear the surface.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshArrays {
    /// Positions.
    pub points: Vec<[f32; 3]>,
    /// Indices into `points`, three per triangle, none repeated within one.
    pub triangles: Vec<[u32; 3]>,
    /// Unit normals of the corners.
    pub normals: Corners<[f32; 3]>,
    /// Texture coordinates of the corners, (0, 0) at the lower left of the image, if the source has
    /// any.
    pub uvs: Option<Corners<[f32; 2]>>,
    /// Colours of the corners, if the source has any: linear red, green, blue and opacity, each 0
    /// to 1.
    pub colors: Option<Corners<[f32; 4]>>,
}

/// A summary of a mesh without its arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// The number of triangles.
    pub triangles: usize,
    /// The smallest and largest coordinates; `None` if there are no points.
    pub bounds: Option<([f32; 3], [f32; 3])>,
    /// Whether it has texture coordinates.
    pub has_uvs: bool,
    /// Whether it has colours.
    pub has_colors: bool,
    /// Whether some of these are not opaque.
    pub has_translucent_corners: bool,
}

impl Outline {
    /// Returns the outline of the scaled mesh. It is exact: rounding is monotonic.
    #[must_use]
    pub fn scaled(self, scale: Vector3<f64>) -> Self {
        let bounds = self.bounds.map(|(low, high)| {
            let ends: [[f32; 2]; 3] = std::array::from_fn(|k| {
                let [a, b] = [low[k], high[k]].map(|end| scaled(end, scale[k]));
                [a.min(b), a.max(b)]
            });
            (ends.map(|[low, _]| low), ends.map(|[_, high]| high))
        });
        Self { bounds, ..self }
    }
}

/// Returns whether two lists of the same length have the same values, each once. Sorts them if they are long.
fn are_same_and_distinct(forth: &mut [u32], back: &mut [u32]) -> bool {
    if let (Some(forth), Some(back)) = (padded(forth), padded(back)) {
        // Counts the values of both that equal each lane of one, without branches: the lengths can't be predicted.
        let [mut in_forth, mut in_back] = [u32x4::ZERO; 2];
        for (there, here) in forth.to_array().into_iter().zip(back.to_array()) {
            in_forth -= forth.simd_eq(u32x4::splat(there));
            in_back -= forth.simd_eq(u32x4::splat(here));
        }
        return in_forth == u32x4::ONE && in_back == u32x4::ONE;
    }
    forth.sort_unstable();
    back.sort_unstable();
    forth == back && forth.array_windows().all(|[a, b]| a != b)
}

/// Returns up to four values, followed by numbers that are none of a point.
fn padded(values: &[u32]) -> Option<u32x4> {
    let mut lanes = std::array::from_fn(|i| u32::MAX - i as u32);
    lanes.get_mut(..values.len())?.copy_from_slice(values);
    Some(u32x4::new(lanes))
}

fn scaled(coordinate: f32, scale: f64) -> f32 {
    (f64::from(coordinate) * scale) as f32
}

/// One value per triangle corner, deduplicated.
#[derive(Clone, Debug, PartialEq)]
pub struct Corners<T> {
    /// The distinct values.
    pub values: Vec<T>,
    /// Indices into `values`, as many as [`MeshArrays::triangles`].
    pub indices: Vec<[u32; 3]>,
}

impl MeshArrays {
    /// Computes the outline.
    pub fn outline(&self) -> Outline {
        Outline {
            triangles: self.triangles.len(),
            bounds: self.bounds(),
            has_uvs: self.uvs.is_some(),
            has_colors: self.colors.is_some(),
            has_translucent_corners: self
                .colors
                .iter()
                .flat_map(|colors| &colors.values)
                .any(|color| color[3] < 1.0),
        }
    }

    /// Computes the smallest and largest coordinates; `None` if there are no points.
    pub fn bounds(&self) -> Option<([f32; 3], [f32; 3])> {
        let first = *self.points.first()?;
        let around = Bounds {
            low: first,
            high: first,
        };
        let around = self.points.iter().fold(around, |mut around, point| {
            around.add(*point);
            around
        });
        Some((around.low, around.high))
    }

    /// Returns whether the mesh encloses a volume: every edge is shared by exactly two triangles,
    /// once in each direction.
    pub fn is_watertight(&self) -> bool {
        // The higher points of edges, grouped by the lower ones: of edges that start at the lower point, and of
        // those that end there.
        let edges = || {
            let edges = |&[a, b, c]: &[u32; 3]| [(a, b), (b, c), (c, a)];
            self.triangles.iter().flat_map(edges)
        };
        let mut groups = vec![[0_usize; 2]; self.points.len()];
        edges().for_each(|(from, to)| groups[from.min(to) as usize][usize::from(from > to)] += 1);
        let mut count = 0;
        for group in &mut groups {
            let [starts, ends] = *group;
            if starts != ends {
                return false;
            }
            *group = [count; 2];
            count += starts;
        }
        let mut highs = [vec![0; count], vec![0; count]];
        for (from, to) in edges() {
            let way = usize::from(from > to);
            let at = &mut groups[from.min(to) as usize][way];
            highs[way][*at] = from.max(to);
            *at += 1;
        }
        let mut start = 0;
        groups.iter().all(|[end, _]| {
            let [forth, back] = &mut highs;
            let (forth, back) = (&mut forth[start..*end], &mut back[start..*end]);
            start = *end;
            are_same_and_distinct(forth, back)
        })
    }

    /// Multiplies the points by `scale`. Flips the triangles if an odd number of factors is
    /// negative, so that the winding stays counter-clockwise.
    #[must_use]
    pub fn scaled(mut self, scale: Vector3<f64>) -> Self {
        for point in &mut self.points {
            *point = std::array::from_fn(|k| scaled(point[k], scale[k]));
        }
        // Normals transform by the inverse transpose. Use the cofactors: they differ by the
        // determinant, whose magnitude doesn't affect the direction.
        let across = Vector3::new(scale.y * scale.z, scale.z * scale.x, scale.x * scale.y)
            * scale.product().signum();
        // A uniform positive scale changes no direction: normals stay as they are, bit by bit.
        if scale.abs() != Vector3::repeat(scale.x.abs()) || scale.min() < 0.0 {
            for normal in &mut self.normals.values {
                let turned = Vector3::from(normal.map(f64::from))
                    .component_mul(&across)
                    .try_normalize(0.0);
                *normal = turned.map_or(*normal, |turned| {
                    [turned.x, turned.y, turned.z].map(|x| x as f32)
                });
            }
        }
        if scale.product() < 0.0 {
            let uvs = self.uvs.iter_mut().flat_map(|uvs| &mut uvs.indices);
            let colors = self
                .colors
                .iter_mut()
                .flat_map(|colors| &mut colors.indices);
            for corners in self
                .triangles
                .iter_mut()
                .chain(&mut self.normals.indices)
                .chain(uvs)
                .chain(colors)
            {
                corners.swap(1, 2);
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::tetrahedron;

    #[test]
    fn scaled_meshes_keep_their_normals_and_winding() {
        let mesh = tetrahedron();
        for scale in [
            [1.0, 1.0, 1.0],
            [1e-3, 1e-3, 1e-3],
            [1.0, 2.0, 5.0],
            [-1.0, 1.0, 1.0],
            [-2.0, -0.5, 3.0],
            [-1.0, -1.0, -4.0],
        ] {
            let scaled = mesh.clone().scaled(Vector3::from(scale));
            for (triangle, normals) in scaled.triangles.iter().zip(&scaled.normals.indices) {
                let [a, b, c] = triangle.map(|i| Vector3::from(scaled.points[i as usize]));
                let geometric = (b - a).cross(&(c - a)).normalize();
                let normal = Vector3::from(scaled.normals.values[normals[0] as usize]);
                assert!((normal - geometric).norm() < 1e-6, "{scale:?}: {normal}");
            }
            assert_eq!(scaled.points[3], [0.0, 0.0, scale[2] as f32], "{scale:?}");
        }
    }

    #[test]
    fn watertight_is_what_has_two_triangles_at_every_edge() {
        let mesh = tetrahedron();
        assert!(mesh.is_watertight());
        let with = |triangles: Vec<[u32; 3]>| MeshArrays {
            triangles,
            ..mesh.clone()
        };
        let open = with(mesh.triangles[1..].to_vec());
        let doubled = with([&mesh.triangles[..], &mesh.triangles[..]].concat());
        let turned = with(vec![[0, 1, 2], [0, 1, 3], [0, 3, 2], [1, 2, 3]]);
        assert!(!open.is_watertight() && !doubled.is_watertight() && !turned.is_watertight());
        let twice = with(
            mesh.triangles
                .iter()
                .map(|[a, b, c]| [*a, *c, *b])
                .chain(mesh.triangles.clone())
                .collect(),
        );
        assert!(!twice.is_watertight(), "four triangles share each edge");
        let empty = with(Vec::new());
        assert!(empty.is_watertight(), "it has no open edge");
    }

    #[test]
    fn same_and_distinct() {
        // All lists of up to four numbers below five.
        let lists = |length: u32| {
            let digit = |list: u32, place| list / 5_u32.pow(place) % 5;
            (0..5_u32.pow(length)).map(move |list| (0..length).map(move |i| digit(list, i)))
        };
        for length in 0..5 {
            for forth in lists(length) {
                for back in lists(length) {
                    let [mut forth, mut back]: [Vec<u32>; 2] =
                        [forth.clone().collect(), back.collect()];
                    let sets = [&forth, &back].map(std::collections::BTreeSet::from_iter);
                    let expected = sets[0] == sets[1] && sets[0].len() == forth.len();
                    assert_eq!(are_same_and_distinct(&mut forth, &mut back), expected);
                }
            }
        }
    }

    #[test]
    fn watertight_at_points_of_any_number_of_edges() {
        let watertight_by_count = |mesh: &MeshArrays| {
            let mut counts = std::collections::HashMap::new();
            for [a, b, c] in &mesh.triangles {
                for edge in [(*a, *b), (*b, *c), (*c, *a)] {
                    *counts.entry(edge).or_insert(0) += 1;
                }
            }
            let has_opposite = |(a, b): &(u32, u32)| counts.contains_key(&(*b, *a));
            counts.values().all(|count| *count == 1) && counts.keys().all(has_opposite)
        };
        for sides in 3..12 {
            // Two pyramids on one base, tips first, so that these are the lower points of many edges.
            let next = |i: u32| 2 + (i + 1) % sides;
            let faces = (0..sides).flat_map(|i| [[0, 2 + i, next(i)], [1, next(i), 2 + i]]);
            let whole = MeshArrays {
                points: vec![[0.0; 3]; sides as usize + 2],
                triangles: faces.collect(),
                normals: Corners {
                    values: Vec::new(),
                    indices: Vec::new(),
                },
                uvs: None,
                colors: None,
            };
            assert!(whole.is_watertight() && watertight_by_count(&whole));
            for i in 0..whole.triangles.len() {
                let changed = |change: &dyn Fn(&mut Vec<[u32; 3]>)| {
                    let mut mesh = whole.clone();
                    change(&mut mesh.triangles);
                    assert_eq!(
                        mesh.is_watertight(),
                        watertight_by_count(&mesh),
                        "{:?}",
                        mesh.triangles
                    );
                };
                changed(&|triangles| _ = triangles.remove(i));
                changed(&|triangles| triangles[i].reverse());
                changed(&|triangles| triangles.push(triangles[i]));
                changed(&|triangles| triangles[i][0] ^= 1);
                // A pair of triangles back to back is another surface.
                changed(&|triangles| triangles.extend([[2, 3, 4], [4, 3, 2]]));
            }
        }
    }
}
