//! Assembles triangles into a [`Mesh`]: welds, transforms, drops unusable triangles, computes
//! missing normals, sorts by material. Knows no file format.

#![allow(
    clippy::indexing_slicing,
    reason = "`add` checks the corners of triangles; the rest refers to lists of the assembly itself"
)]

use std::hash::{BuildHasher as _, Hasher as _};
use std::ops::Range;

use nalgebra::{Matrix3, Matrix4, Point3, Vector3};

use super::normals::{self, Shading};
use super::{Error, Source, codes, maps};
use urdf_usd_robot::{Corners, Material, Mesh, MeshArrays, Part};

/// The index for "none": of a normal, a texture coordinate, a colour or a material.
pub(super) const NONE: u32 = u32::MAX;

/// Maximum number of triangles of any file, plus one for each of its bytes. No format needs more
/// than one per byte by itself; the rest is for instances of one geometry.
const TRIANGLES: usize = 4_000_000;

/// Maximum number of elements (points, normals, texture coordinates, triangles) processed for any
/// file, …
const ELEMENTS: u64 = 32_000_000;

/// … plus this many for each of its bytes.
const ELEMENTS_PER_BYTE: u64 = 8;

/// A corner of a source triangle: indices into the positions, normals, texture coordinates and
/// colours of its surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Corner {
    pub position: u32,
    /// [`NONE`] if the source has none.
    pub normal: u32,
    /// [`NONE`] if the source has none.
    pub uv: u32,
    /// [`NONE`] if the source has none.
    pub color: u32,
}

/// Triangles of a source, in their own frame. Indices need not be valid, values need not be finite.
pub(super) struct Surface<'a> {
    pub positions: &'a [[f64; 3]],
    pub normals: &'a [[f32; 3]],
    /// (0, 0) at the lower left.
    pub uvs: &'a [[f32; 2]],
    /// Linear red, green, blue and opacity.
    pub colors: &'a [[f32; 4]],
    pub triangles: &'a [[Corner; 3]],
    /// Runs of triangles to add, with their materials ([`NONE`] for none).
    pub runs: &'a [(Range<usize>, u32)],
}

/// A mesh under construction.
pub(super) struct Assembly {
    points: Weld<3>,
    normals: Weld<3>,
    uvs: Weld<2>,
    colors: Weld<4>,
    triangles: Vec<[u32; 3]>,
    /// As long as `triangles`, or empty while no corner has a normal.
    corner_normals: Vec<[u32; 3]>,
    /// As long as `triangles`, or empty while no corner has a texture coordinate.
    corner_uvs: Vec<[u32; 3]>,
    /// As long as `triangles`, or empty while no corner has a colour.
    corner_colors: Vec<[u32; 3]>,
    /// Runs of `triangles` with one material: their ends, and an index into `materials` or [`NONE`].
    runs: Vec<(usize, u32)>,
    materials: Vec<Material>,
    degenerate: usize,
    unusable: usize,
    max_triangles: usize,
    elements_left: u64,
}

impl Assembly {
    /// Creates an empty assembly for a file of `bytes` bytes, which bounds the size of the mesh.
    pub fn new(bytes: usize) -> Self {
        Self {
            points: Weld::default(),
            normals: Weld::default(),
            uvs: Weld::default(),
            colors: Weld::default(),
            triangles: Vec::new(),
            corner_normals: Vec::new(),
            corner_uvs: Vec::new(),
            corner_colors: Vec::new(),
            runs: Vec::new(),
            materials: Vec::new(),
            degenerate: 0,
            unusable: 0,
            // Corners, up to four for each triangle, are numbered in 32 bits.
            max_triangles: bytes.saturating_add(TRIANGLES).min(NONE as usize / 4),
            elements_left: ELEMENTS + ELEMENTS_PER_BYTE * bytes as u64,
        }
    }

    /// Creates an empty assembly for the next mesh of the same file, with the remaining budget.
    pub fn left(&self) -> Self {
        let max_triangles = self.max_triangles.saturating_sub(self.triangles.len());
        Self {
            max_triangles,
            elements_left: self.elements_left,
            ..Self::new(0)
        }
    }

    /// Adds a material, for use in [`Self::add`]. Materials without triangles are not in the mesh.
    pub fn material(&mut self, material: Material) -> u32 {
        self.materials.push(material);
        (self.materials.len() - 1) as u32
    }

    /// Extends the budget by that of a further file of `bytes` bytes.
    pub fn grow(&mut self, bytes: usize) {
        self.max_triangles = self
            .max_triangles
            .saturating_add(bytes)
            .min(NONE as usize / 4);
        self.elements_left = self
            .elements_left
            .saturating_add(ELEMENTS_PER_BYTE * bytes as u64);
    }

    /// Deducts `count` elements from the budget.
    pub fn spend(&mut self, count: usize) -> Result<(), Error> {
        self.elements_left = self
            .elements_left
            .checked_sub(count as u64)
            .ok_or_else(Self::too_large)?;
        Ok(())
    }

    fn too_large() -> Error {
        Error::new(
            &codes::TOO_LARGE,
            "the file multiplies its geometry beyond what its size justifies",
        )
        .help("instantiate less often, or export the mesh as plain triangles")
    }

    /// Counts `count` faces that the reader found unusable.
    pub fn unusable(&mut self, count: usize) {
        self.unusable += count;
    }

    /// Reserves memory for this many triangles in an empty assembly.
    pub fn reserve(&mut self, triangles: usize) {
        // A closed surface has about half as many points as triangles (Euler's formula).
        self.points.reserve(triangles / 2);
        self.triangles.reserve(triangles);
    }

    /// Adds triangles of positions, without any attributes.
    pub fn triangles(&mut self, triangles: impl Iterator<Item = [[f32; 3]; 3]>) {
        for positions in triangles {
            let [Some(a), Some(b), Some(c)] = positions.map(|p| self.points.add(p)) else {
                self.unusable += 1;
                continue;
            };
            if has_area(positions) {
                self.triangles.push([a, b, c]);
            } else {
                self.degenerate += 1;
            }
        }
        self.end_run(NONE);
    }

    /// Adds one triangle of positions, optionally in one colour: linear red, green, blue and
    /// opacity.
    pub fn triangle(&mut self, positions: [[f32; 3]; 3], color: Option<[f32; 4]>) {
        let [Some(a), Some(b), Some(c)] = positions.map(|p| self.points.add(p)) else {
            self.unusable += 1;
            return;
        };
        if self.has_area([a, b, c]) {
            let color = color
                .and_then(|color| self.colors.add(color))
                .unwrap_or(NONE);
            self.push([a, b, c], [NONE; 3], [NONE; 3], [color; 3], NONE);
        } else {
            self.degenerate += 1;
        }
    }

    /// Adds a surface, transformed by `transform`. A mirroring transform flips the winding, so that
    /// the outside stays outside.
    pub fn add(&mut self, surface: &Surface, transform: &Matrix4<f64>) -> Result<(), Error> {
        let triangles: usize = surface.runs.iter().map(|(range, _)| range.len()).sum();
        self.spend(
            surface.positions.len()
                + surface.normals.len()
                + surface.uvs.len()
                + surface.colors.len()
                + triangles,
        )?;
        if self.points.values.is_empty() {
            // The triangles are in memory already, with more bytes each.
            self.reserve(triangles.min(surface.triangles.len()));
        }
        self.normals.expect(surface.normals.len());
        self.uvs.expect(surface.uvs.len());
        let linear: Matrix3<f64> = transform.fixed_view::<3, 3>(0, 0).into();
        let mirrored = linear.determinant() < 0.0;
        // A singular transform has no normal matrix. Normals are then computed from the triangles.
        let normal_matrix = linear.try_inverse().map(|m| m.transpose());
        let mut points = Lookup::new(surface.positions.len());
        let mut normals = Lookup::new(surface.normals.len());
        let mut uvs = Lookup::new(surface.uvs.len());
        let mut colors = Lookup::new(surface.colors.len());
        let runs = surface.runs.iter().filter_map(|(range, material)| {
            Some((surface.triangles.get(range.clone())?, *material))
        });
        for (mut triangle, material) in
            runs.flat_map(|(run, material)| run.iter().map(move |t| (*t, material)))
        {
            if self.triangles.len() >= self.max_triangles {
                return Err(Self::too_large());
            }
            if mirrored {
                triangle.swap(1, 2);
            }
            let corner_points = triangle.map(|corner| {
                points.get(corner.position, |i| {
                    let p = transform.transform_point(&Point3::from(*surface.positions.get(i)?));
                    self.points.add([p.x as f32, p.y as f32, p.z as f32])
                })
            });
            if corner_points.contains(&NONE) {
                self.unusable += 1;
                continue;
            }
            if !self.has_area(corner_points) {
                self.degenerate += 1;
                continue;
            }
            let corner_normals = triangle.map(|corner| {
                normals.get(corner.normal, |i| {
                    let n = normal_matrix? * Vector3::from(surface.normals.get(i)?.map(f64::from));
                    // Normals transform by the inverse transpose.
                    let n = if is_unit(&n) {
                        n
                    } else {
                        n.try_normalize(0.0)?
                    };
                    self.normals.add([n.x as f32, n.y as f32, n.z as f32])
                })
            });
            let corner_uvs =
                triangle.map(|corner| uvs.get(corner.uv, |i| self.uvs.add(*surface.uvs.get(i)?)));
            let corner_colors = triangle.map(|corner| {
                colors.get(corner.color, |i| {
                    self.colors
                        .add(surface.colors.get(i)?.map(|x| x.clamp(0.0, 1.0)))
                })
            });
            self.push(
                corner_points,
                corner_normals,
                corner_uvs,
                corner_colors,
                material,
            );
        }
        Ok(())
    }

    fn has_area(&self, triangle: [u32; 3]) -> bool {
        has_area(triangle.map(|i| self.points.values[i as usize]))
    }

    /// Makes the triangles since the last run one of this material, or part of the last run.
    fn end_run(&mut self, material: u32) {
        let end = self.triangles.len();
        match self.runs.last_mut() {
            Some((last_end, last)) if *last == material => *last_end = end,
            None if end == 0 => {}
            _ => self.runs.push((end, material)),
        }
    }

    fn push(
        &mut self,
        points: [u32; 3],
        normals: [u32; 3],
        uvs: [u32; 3],
        colors: [u32; 3],
        material: u32,
    ) {
        let before = self.triangles.len();
        self.triangles.push(points);
        self.end_run(material);
        let lists = [
            (&mut self.corner_normals, normals),
            (&mut self.corner_uvs, uvs),
            (&mut self.corner_colors, colors),
        ];
        for (list, corners) in lists {
            // Start a list with the first corner that has a value, so that attributes that the
            // source lacks take no memory.
            if !list.is_empty() || corners != [NONE; 3] {
                if list.len() < before {
                    list.reserve(self.triangles.capacity());
                    list.resize(before, [NONE; 3]);
                }
                list.push(corners);
            }
        }
    }

    /// Returns the mesh, and reports findings to `source`.
    pub fn finish(mut self, source: &mut Source, shading: Shading) -> Result<Mesh, Error> {
        if self.unusable > 0 {
            let message = format!(
                "{} faces have missing vertices or coordinates that are not finite numbers",
                self.unusable
            );
            source.report(&codes::BAD_VALUES, message, "export the mesh again");
        }
        if self.degenerate > 0 {
            source.report(
                &codes::DEGENERATE,
                format!("{} triangles have no area", self.degenerate),
                "",
            );
        }
        if self.triangles.is_empty() {
            let what = match self.unusable {
                0 => "the file holds no triangle with an area".to_owned(),
                n => format!(
                    "the file holds no triangle that can be used: {n} have missing vertices or coordinates that are not finite numbers"
                ),
            };
            return Err(Error::new(&codes::EMPTY, what)
                .help("check that the mesh was exported with its faces"));
        }
        // Free the index: no point is added any more.
        self.points.slots = Vec::new();
        self.drop_unused_points();
        self.fill_normals(shading);
        // Corners without a value get the origin of the image, and white.
        let uvs = filled(
            &mut self.uvs,
            std::mem::take(&mut self.corner_uvs),
            self.triangles.len(),
            [0.0; 2],
        );
        let colors = filled(
            &mut self.colors,
            std::mem::take(&mut self.corner_colors),
            self.triangles.len(),
            [1.0; 4],
        );
        let (parts, order) = self.parts();
        if uvs.is_none() {
            self.materials
                .iter_mut()
                .for_each(|material| maps::flatten(material, source));
        }
        let reorder = |list: Vec<[u32; 3]>| match &order {
            Some(order) => order.iter().map(|&i| list[i as usize]).collect(),
            None => list,
        };
        let arrays = MeshArrays {
            points: self.points.values,
            triangles: reorder(self.triangles),
            normals: Corners {
                values: self.normals.values,
                indices: reorder(self.corner_normals),
            },
            uvs: uvs.map(|uvs| Corners {
                values: uvs.values,
                indices: reorder(uvs.indices),
            }),
            colors: colors.map(|colors| Corners {
                values: colors.values,
                indices: reorder(colors.indices),
            }),
        };
        Ok(Mesh::new(arrays, parts, self.materials))
    }

    /// Drops points that only dropped triangles used.
    fn drop_unused_points(&mut self) {
        if self.degenerate + self.unusable == 0 {
            return;
        }
        let mut new = vec![NONE; self.points.values.len()];
        for triangle in &self.triangles {
            for &i in triangle {
                new[i as usize] = 0;
            }
        }
        if !new.contains(&NONE) {
            return;
        }
        let mut kept = Vec::new();
        for (point, new) in self.points.values.iter().zip(&mut new) {
            if *new == 0 {
                *new = kept.len() as u32;
                kept.push(*point);
            }
        }
        for triangle in &mut self.triangles {
            *triangle = triangle.map(|i| new[i as usize]);
        }
        self.points.values = kept;
    }

    fn fill_normals(&mut self, shading: Shading) {
        self.corner_normals.resize(self.triangles.len(), [NONE; 3]);
        if self
            .corner_normals
            .iter()
            .any(|corners| corners.contains(&NONE))
        {
            let normals = &mut self.normals;
            normals.grow(self.points.values.len() / 2);
            normals::fill(
                &self.points.values,
                &self.triangles,
                &mut self.corner_normals,
                shading,
                |normal| normals.add(normal).unwrap_or(0),
            );
        }
    }

    /// Returns the runs of triangles by material, those without one last, and the order of
    /// triangles that they need, if it differs. Keeps only the materials in use.
    fn parts(&mut self) -> (Vec<Part>, Option<Vec<u32>>) {
        let slot = |material: u32| (material as usize).min(self.materials.len());
        let mut counts = vec![0_usize; self.materials.len() + 1];
        let mut begin = 0;
        for (end, material) in &self.runs {
            counts[slot(*material)] += end - begin;
            begin = *end;
        }
        let is_sorted = self.runs.is_sorted_by_key(|(_, material)| *material);
        let order = (!is_sorted).then(|| {
            // Counting sort: linear and stable, so that triangles of one material keep their order.
            let mut next: Vec<usize> = counts
                .iter()
                .scan(0, |start, n| Some(std::mem::replace(start, *start + n)))
                .collect();
            let mut order = vec![0_u32; self.triangles.len()];
            let mut begin = 0;
            for (end, material) in &self.runs {
                let next = &mut next[slot(*material)];
                for triangle in begin..*end {
                    order[*next] = triangle as u32;
                    *next += 1;
                }
                begin = *end;
            }
            order
        });
        let mut parts = Vec::new();
        let mut start = 0;
        let mut used = Vec::new();
        let mut materials = std::mem::take(&mut self.materials).into_iter();
        for count in counts {
            let material = materials.next();
            if count > 0 {
                let index = material.map(|material| {
                    used.push(material);
                    used.len() - 1
                });
                parts.push(Part {
                    triangles: start..start + count,
                    material: index,
                });
                start += count;
            }
        }
        self.materials = used;
        (parts, order)
    }
}

fn has_area(corners: [[f32; 3]; 3]) -> bool {
    let [a, b, c] = corners.map(|corner| Vector3::from(corner.map(f64::from)));
    // In single precision the products of short edges would underflow to zero.
    (b - a).cross(&(c - a)) != Vector3::zeros()
}

/// Returns whether a direction has unit length in single precision: normalising it again would only
/// add rounding errors.
fn is_unit(direction: &Vector3<f64>) -> bool {
    const TOLERANCE: f64 = 2e-7;
    (direction.norm_squared() - 1.0).abs() < TOLERANCE
}

/// Returns the values of corners, `otherwise` for those without; `None` if none has one.
fn filled<const N: usize>(
    values: &mut Weld<N>,
    mut indices: Vec<[u32; 3]>,
    triangles: usize,
    otherwise: [f32; N],
) -> Option<Corners<[f32; N]>> {
    if indices.is_empty() {
        return None;
    }
    indices.resize(triangles, [NONE; 3]);
    if indices.iter().any(|corners| corners.contains(&NONE)) {
        let otherwise = values.add(otherwise).unwrap_or(0);
        indices
            .iter_mut()
            .flatten()
            .filter(|i| **i == NONE)
            .for_each(|i| *i = otherwise);
    }
    Some(Corners {
        values: std::mem::take(&mut values.values),
        indices,
    })
}

/// A cache of the indices in the assembly of a source's values.
struct Lookup(Vec<u32>);

impl Lookup {
    const UNKNOWN: u32 = NONE - 1;

    fn new(len: usize) -> Self {
        Self(vec![Self::UNKNOWN; len])
    }

    /// Returns [`NONE`] if the index is out of range or its value is unusable.
    fn get(&mut self, index: u32, add: impl FnOnce(usize) -> Option<u32>) -> u32 {
        let Some(slot) = self.0.get_mut(index as usize) else {
            return NONE;
        };
        if *slot == Self::UNKNOWN {
            *slot = add(index as usize).unwrap_or(NONE);
        }
        *slot
    }
}

/// Distinct values in the order of their first appearance. Welding is exact, without a tolerance:
/// values are equal if their bits are, after -0 is replaced by 0.
#[derive(Default)]
struct Weld<const N: usize> {
    values: Vec<[f32; N]>,
    /// A hash table with linear probing (Knuth, The Art of Computer Programming, vol. 3, 6.4, algorithm L):
    /// indices of `values`, or [`NONE`]. Its length is a power of two and at least twice the number of values,
    /// so that most values are found in the first slot.
    slots: Vec<u32>,
    /// Seeded at random: a file can't contain values that all fall into one slot.
    state: foldhash::fast::RandomState,
}

impl<const N: usize> Weld<N> {
    /// Adds a value and returns its index; `None` if it is not finite.
    #[inline]
    fn add(&mut self, value: [f32; N]) -> Option<u32> {
        let value = value.map(|x| x + 0.0);
        if self.slots.len() < 2 * (self.values.len() + 1) {
            self.grow(self.values.len() + 1);
        }
        let bits = value.map(f32::to_bits);
        let last = self.slots.len() - 1;
        let mut slot = self.hash(bits) & last;
        loop {
            let index = &mut self.slots[slot];
            if *index == NONE {
                // Values that are not finite are never there, so only new ones are checked.
                if !value.iter().all(|x| x.is_finite()) {
                    return None;
                }
                *index = self.values.len() as u32;
                self.values.push(value);
                return Some(*index);
            }
            // Bits are one comparison, floats one for each component.
            if self.values[*index as usize].map(f32::to_bits) == bits {
                return Some(*index);
            }
            slot = (slot + 1) & last;
        }
    }

    fn hash(&self, bits: [u32; N]) -> usize {
        // Hash one word, which takes a third of the time of hashing each component.
        let mut hasher = self.state.build_hasher();
        hasher.write_u128(bits.iter().fold(0, |word, x| word << 32 | u128::from(*x)));
        hasher.finish() as usize
    }

    /// Makes room in the table for this many values, and at least for one more than there are: a search
    /// in a full table would not end.
    #[cold]
    fn grow(&mut self, count: usize) {
        let count = count.max(self.values.len() + 1);
        self.slots.clear();
        self.slots.resize((4 * count).next_power_of_two(), NONE);
        let last = self.slots.len() - 1;
        for (value, index) in self.values.iter().zip(0..) {
            let mut slot = self.hash(value.map(f32::to_bits)) & last;
            while self.slots[slot] != NONE {
                slot = (slot + 1) & last;
            }
            self.slots[slot] = index;
        }
    }

    /// Makes room in the table for this many further values: growing step by step hashes each several times.
    fn expect(&mut self, count: usize) {
        let count = self.values.len() + count;
        if self.slots.len() < 2 * count {
            self.grow(count.div_ceil(2));
        }
    }

    /// Reserves memory for this many values.
    fn reserve(&mut self, count: usize) {
        self.values.reserve(count);
        self.grow(count.div_ceil(2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::source;

    fn corners(indices: [u32; 3]) -> [Corner; 3] {
        indices.map(|position| Corner {
            position,
            normal: NONE,
            uv: NONE,
            color: NONE,
        })
    }

    const SQUARE: [[f64; 3]; 6] = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [0.0, 0.0, 0.0],
        [1.0, 1.0, -0.0],
        [0.0, 1.0, 0.0],
    ];

    fn add(
        assembly: &mut Assembly,
        positions: &[[f64; 3]],
        triangles: &[[Corner; 3]],
        material: u32,
    ) -> Result<(), Error> {
        let runs = [(0..triangles.len(), material)];
        assembly.add(
            &Surface {
                positions,
                normals: &[],
                uvs: &[],
                colors: &[],
                triangles,
                runs: &runs,
            },
            &Matrix4::identity(),
        )
    }

    #[test]
    fn welds_points_and_normals() {
        let mut assembly = Assembly::new(0);
        let triangles = [corners([0, 1, 2]), corners([3, 4, 5])];
        add(&mut assembly, &SQUARE, &triangles, NONE).unwrap();
        let mesh = assembly.finish(&mut source(), Shading::Smooth).unwrap();
        assert_eq!(
            mesh.points,
            [
                [0.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [1.0, 1.0, 0.0],
                [0.0, 1.0, 0.0]
            ]
        );
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.normals.values, [[0.0, 0.0, 1.0]]);
        assert_eq!(
            mesh.parts,
            [Part {
                triangles: 0..2,
                material: None
            }]
        );
        assert_eq!(mesh.uvs, None);
    }

    #[test]
    fn normals_are_filled_though_the_file_has_more_of_them_than_points() {
        // The last normal has no direction, so that those of one corner are computed.
        let normals: Vec<[f32; 3]> = (1..6_u8)
            .map(|i| [f32::from(i), 0.0, 1.0])
            .chain([[0.0; 3]])
            .collect();
        let numbered = |normals: [u32; 3]| {
            [0, 1, 2].map(|i| Corner {
                normal: normals[i],
                ..corners([0, 1, 2])[i]
            })
        };
        let triangles = [numbered([0, 1, 2]), numbered([3, 4, 5])];
        let surface = Surface {
            positions: &SQUARE[..3],
            normals: &normals,
            uvs: &[],
            colors: &[],
            triangles: &triangles,
            runs: &[(0..2, NONE)],
        };
        let mut assembly = Assembly::new(0);
        assembly.add(&surface, &Matrix4::identity()).unwrap();
        let mesh = assembly.finish(&mut source(), Shading::Smooth).unwrap();
        assert_eq!(mesh.normals.indices, [[0, 1, 2], [3, 4, 5]]);
        let given = normals[..5].iter().map(|n| {
            let length = Vector3::from(*n).norm();
            n.map(|x| x / length)
        });
        let expected = given.chain([[0.0, 0.0, 1.0]]);
        for (normal, expected) in mesh.normals.values.iter().zip(expected) {
            let difference = Vector3::from(*normal) - Vector3::from(expected);
            assert!(difference.norm() < 1e-6, "{normal:?} {expected:?}");
        }
    }

    #[test]
    fn a_mirror_turns_the_winding() {
        let mut assembly = Assembly::new(0);
        let triangles = [corners([0, 1, 2])];
        let mirror = Matrix4::new_nonuniform_scaling(&Vector3::new(-1.0, 1.0, 1.0));
        let surface = Surface {
            positions: &SQUARE,
            normals: &[],
            uvs: &[],
            colors: &[],
            triangles: &triangles,
            runs: &[(0..1, NONE)],
        };
        assembly.add(&surface, &mirror).unwrap();
        let mesh = assembly.finish(&mut source(), Shading::Smooth).unwrap();
        assert_eq!(
            mesh.points,
            [[0.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
        );
        assert_eq!(mesh.normals.values, [[0.0, 0.0, 1.0]]);
    }

    #[test]
    fn drops_what_cannot_be_used() {
        let mut assembly = Assembly::new(0);
        let mut positions = SQUARE.to_vec();
        positions.push([f64::NAN, 0.0, 0.0]);
        positions.push([0.5, 0.0, 0.0]);
        let triangles = [
            corners([0, 1, 1]),
            corners([0, 7, 1]),
            corners([0, 1, 6]),
            corners([0, 1, 99]),
            corners([0, 1, 2]),
            corners([0, 3, 5]),
        ];
        add(&mut assembly, &positions, &triangles, NONE).unwrap();
        let mut source = source();
        let mesh = assembly.finish(&mut source, Shading::Smooth).unwrap();
        assert_eq!(mesh.triangles, [[0, 1, 2]]);
        assert_eq!(mesh.points.len(), 3);
        let found: Vec<_> = source
            .finish()
            .iter()
            .map(|d| (d.code, d.message.chars().find(char::is_ascii_digit)))
            .collect();
        assert_eq!(
            found,
            [
                ("mesh-bad-values", Some('2')),
                ("mesh-degenerate-triangles", Some('3'))
            ]
        );
    }

    #[test]
    fn sorts_by_material_and_forgets_unused_ones() {
        let mut assembly = Assembly::new(0);
        let names: Vec<_> = ["a", "b", "c"]
            .iter()
            .map(|n| assembly.material(Material::plain(*n, [1.0; 4])))
            .collect();
        let lower = [corners([0, 1, 2])];
        let upper = [corners([3, 4, 5])];
        add(&mut assembly, &SQUARE, &lower, NONE).unwrap();
        add(&mut assembly, &SQUARE, &upper, names[2]).unwrap();
        add(&mut assembly, &SQUARE, &lower, names[0]).unwrap();
        let mesh = assembly.finish(&mut source(), Shading::Smooth).unwrap();
        assert_eq!(mesh.triangles, [[0, 1, 2], [0, 2, 3], [0, 1, 2]]);
        let parts: Vec<_> = mesh
            .parts
            .iter()
            .map(|p| (p.triangles.clone(), p.material))
            .collect();
        assert_eq!(parts, [(0..1, Some(0)), (1..2, Some(1)), (2..3, None)]);
        assert_eq!(
            mesh.materials
                .iter()
                .map(|m| m.name.as_str())
                .collect::<Vec<_>>(),
            ["a", "c"]
        );
    }

    #[test]
    fn growth_is_bounded_by_the_size_of_the_file() {
        let mut assembly = Assembly::new(10);
        let triangles = vec![corners([0, 1, 2]); 1_000_000];
        let result = (0..20).try_for_each(|_| add(&mut assembly, &SQUARE, &triangles, NONE));
        assert_eq!(result.unwrap_err().code.id, "mesh-too-large");
    }
}
