//! Triangulated meshes, in memory and loaded lazily.

#![allow(
    clippy::indexing_slicing,
    reason = "corners refer to values of the same mesh"
)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use nalgebra::Vector3;

use super::{ImagePlacement, Material};

/// Triangles with what is needed to draw them, in memory.
///
/// Points are in metres in the mesh's own frame, without the `scale` of the geometry. Winding is
/// counter-clockwise seen from outside. Points are welded; normals and texture coordinates belong
/// to corners, so a hard edge does not tear the surface. Dereferences to its arrays; changing them
/// copies them if they are shared.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// Points, triangles, and the values of corners.
    pub arrays: Arc<MeshArrays>,
    /// Runs of triangles with one material, in order, covering all triangles; at least one.
    pub parts: Vec<Part>,
    /// The mesh's own materials, which `parts` refer to.
    pub materials: Vec<Material>,
    /// Identity of the geometry: SHA-256 of arrays and parts. Zero if it was not computed, which
    /// identifies no geometry.
    pub digest: [u8; 32],
}

/// A mesh whose arrays are in memory, or loaded from a cache on each use: all meshes of a robot at
/// once can exceed the memory limit.
///
/// What most callers need is in its [`Outline`], which is always at hand.
#[derive(Clone)]
pub struct LazyMesh {
    arrays: LazyArrays,
    /// As of [`Mesh::parts`].
    pub parts: Vec<Part>,
    /// As of [`Mesh::materials`].
    pub materials: Vec<Material>,
    /// As of [`Mesh::digest`].
    pub digest: [u8; 32],
}

#[derive(Clone)]
enum LazyArrays {
    /// The outline is computed on first use.
    InMemory(Arc<MeshArrays>, OnceLock<Outline>),
    Cached(Arc<CachedArrays>),
}

/// Loads the arrays of a mesh.
pub type LoadArrays = dyn Fn() -> Result<MeshArrays, CacheEvicted> + Send + Sync;

struct CachedArrays {
    outline: Outline,
    load: Box<LoadArrays>,
    /// The arrays while some caller holds them: callers at the same time share them.
    loaded: Mutex<Weak<MeshArrays>>,
}

impl CachedArrays {
    fn load(&self) -> Result<Arc<MeshArrays>, CacheEvicted> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arrays) = loaded.upgrade() {
            return Ok(arrays);
        }
        let arrays = Arc::new((self.load)()?);
        *loaded = Arc::downgrade(&arrays);
        Ok(arrays)
    }
}

/// Data was removed from its cache, or damaged there, after it was found and before it was loaded.
/// The remedy is to start over without the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cached data was evicted while it was in use")]
pub struct CacheEvicted;

/// The arrays of a [`Mesh`].
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
    /// to 1. They show where neither the part nor the robot names a material, and where a part's
    /// material says so ([`Material::shows_corner_colors`]).
    pub colors: Option<Corners<[f32; 4]>>,
}

/// What can be said of a mesh without its arrays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// How many triangles it has.
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
    /// Of the mesh with this scale: rounding keeps the order of numbers.
    fn scaled(self, scale: Vector3<f64>) -> Self {
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

fn scaled(coordinate: f32, scale: f64) -> f32 {
    (f64::from(coordinate) * scale) as f32
}

/// A value per corner of every triangle, shared where equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Corners<T> {
    /// The distinct values.
    pub values: Vec<T>,
    /// Indices into `values`, as many as [`MeshArrays::triangles`].
    pub indices: Vec<[u32; 3]>,
}

/// A run of triangles with one material.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The triangles, as indices into [`MeshArrays::triangles`].
    pub triangles: std::ops::Range<usize>,
    /// An index into [`Mesh::materials`]; `None` where the source assigns none, so that the robot's
    /// own material shows.
    pub material: Option<usize>,
}

/// Stand-ins for a mesh with fewer triangles, within a bound of it and with the same materials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tiers {
    /// For ordinary use; `None` where the mesh itself serves.
    pub medium: Option<Arc<LazyMesh>>,
    /// For many robots at once; `None` where the medium tier (or else the mesh itself) serves.
    pub low: Option<Arc<LazyMesh>>,
}

impl Deref for Mesh {
    type Target = MeshArrays;

    fn deref(&self) -> &MeshArrays {
        &self.arrays
    }
}

impl DerefMut for Mesh {
    fn deref_mut(&mut self) -> &mut MeshArrays {
        Arc::make_mut(&mut self.arrays)
    }
}

impl From<Mesh> for LazyMesh {
    fn from(
        Mesh {
            arrays,
            parts,
            materials,
            digest,
        }: Mesh,
    ) -> Self {
        Self {
            arrays: LazyArrays::InMemory(arrays, OnceLock::new()),
            parts,
            materials,
            digest,
        }
    }
}

impl PartialEq for LazyMesh {
    /// Whether the meshes are equal. Arrays that can't be loaded compare unequal.
    fn eq(&self, other: &Self) -> bool {
        matches!((self.load(), other.load()), (Ok(mesh), Ok(other)) if mesh == other)
    }
}

impl fmt::Debug for LazyMesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            parts,
            materials,
            digest,
            ..
        } = self;
        let mut shown = f.debug_struct("LazyMesh");
        shown
            .field("outline", self.outline())
            .field("parts", parts)
            .field("materials", materials)
            .field("digest", digest)
            .finish()
    }
}

impl LazyMesh {
    /// Creates a mesh whose arrays `load` gives. `outline` and `digest` are those of that mesh.
    pub fn cached(
        outline: Outline,
        load: Box<LoadArrays>,
        parts: Vec<Part>,
        materials: Vec<Material>,
        digest: [u8; 32],
    ) -> Self {
        let cached = CachedArrays {
            outline,
            load,
            loaded: Mutex::default(),
        };
        Self {
            arrays: LazyArrays::Cached(Arc::new(cached)),
            parts,
            materials,
            digest,
        }
    }

    /// Returns what is known of the mesh without loading it.
    pub fn outline(&self) -> &Outline {
        match &self.arrays {
            LazyArrays::InMemory(arrays, outline) => outline.get_or_init(|| arrays.outline()),
            LazyArrays::Cached(cached) => &cached.outline,
        }
    }

    /// Returns the smallest and largest coordinates; `None` if there are no points.
    pub fn bounds(&self) -> Option<([f32; 3], [f32; 3])> {
        self.outline().bounds
    }

    /// Returns the arrays if they are in memory for as long as the mesh is.
    pub fn in_memory(&self) -> Option<&Arc<MeshArrays>> {
        match &self.arrays {
            LazyArrays::InMemory(arrays, _) => Some(arrays),
            LazyArrays::Cached(_) => None,
        }
    }

    /// Loads the mesh: [`Self::arrays`] with everything else.
    ///
    /// # Errors
    /// If the arrays are no longer in the cache.
    pub fn load(&self) -> Result<Mesh, CacheEvicted> {
        let arrays = self.arrays()?;
        Ok(Mesh {
            arrays,
            parts: self.parts.clone(),
            materials: self.materials.clone(),
            digest: self.digest,
        })
    }

    /// Loads the arrays. Cached ones are freed with the last reference to them, so hold on to it
    /// while they are in use, and no longer.
    ///
    /// # Errors
    /// If they are no longer in the cache.
    pub fn arrays(&self) -> Result<Arc<MeshArrays>, CacheEvicted> {
        match &self.arrays {
            LazyArrays::InMemory(arrays, _) => Ok(arrays.clone()),
            LazyArrays::Cached(cached) => cached.load(),
        }
    }

    /// Returns the mesh with its points multiplied by `scale`, metres; its winding stays
    /// counter-clockwise where an odd number of the factors is negative. The scaled arrays are
    /// computed on each load.
    #[must_use]
    pub fn scaled(self: &Arc<Self>, scale: Vector3<f64>) -> Self {
        let source = self.clone();
        let load = move || Ok(Arc::unwrap_or_clone(source.arrays()?).scaled(scale));
        let (parts, materials) = (self.parts.clone(), self.materials.clone());
        let mut mesh = Self::cached(
            self.outline().scaled(scale),
            Box::new(load),
            parts,
            materials,
            self.digest,
        );
        if mesh.digest != [0; 32] {
            // As unique as a digest computed from the scaled arrays, which would have to be loaded
            // for it.
            let bytes = scale
                .iter()
                .flat_map(|factor| (factor.to_bits() ^ 1.0_f64.to_bits()).to_le_bytes());
            mesh.digest
                .iter_mut()
                .zip(bytes)
                .for_each(|(digest, byte)| *digest ^= byte);
        }
        mesh
    }
}

impl Mesh {
    /// Creates a mesh of these arrays, without a digest.
    pub fn new(arrays: MeshArrays, parts: Vec<Part>, materials: Vec<Material>) -> Self {
        Self {
            arrays: Arc::new(arrays),
            parts,
            materials,
            digest: [0; 32],
        }
    }

    /// The mesh with texture coordinates that say where on its images a corner is, whatever the
    /// placement of these. `other` is the material of parts that have none of their own.
    #[must_use]
    pub fn with_placed_uvs(&self, other: Option<&Material>) -> Cow<'_, Self> {
        let placement = |part: &Part| {
            let material = part
                .material
                .and_then(|own| self.materials.get(own))
                .or(other);
            material
                .map(Material::placement)
                .filter(ImagePlacement::is_moved)
        };
        let moved: Vec<(&Part, ImagePlacement)> = self
            .parts
            .iter()
            .filter_map(|part| Some((part, placement(part)?)))
            .collect();
        let mut mesh = Cow::Borrowed(self);
        if moved.is_empty() || self.uvs.is_none() {
            return mesh;
        }
        let Some(uvs) = &mut mesh.to_mut().uvs else {
            return mesh;
        };
        for (part, placement) in moved {
            let mut known: HashMap<u32, u32> = HashMap::new();
            for corner in uvs
                .indices
                .get_mut(part.triangles.clone())
                .into_iter()
                .flatten()
                .flatten()
            {
                let Some(uv) = uvs.values.get(*corner as usize).copied() else {
                    continue;
                };
                *corner = *known.entry(*corner).or_insert_with(|| {
                    uvs.values.push(placement.apply(uv));
                    (uvs.values.len() - 1) as u32
                });
            }
        }
        mesh
    }
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
        self.points.first().map(|&first| {
            self.points
                .iter()
                .fold((first, first), |(mut low, mut high), p| {
                    for k in 0..3 {
                        low[k] = low[k].min(p[k]);
                        high[k] = high[k].max(p[k]);
                    }
                    (low, high)
                })
        })
    }

    /// Whether it encloses a space: every edge is one of exactly two triangles, once in each
    /// direction.
    pub fn is_watertight(&self) -> bool {
        // The edges that begin at each point, by their ends: those of point `i` are
        // `starts[i]..starts[i + 1]`.
        let mut starts = vec![0_usize; self.points.len() + 1];
        self.triangles
            .as_flattened()
            .iter()
            .for_each(|&point| starts[point as usize] += 1);
        let mut count = 0;
        for start in &mut starts {
            count += *start;
            *start = count;
        }
        let mut ends = vec![0_u32; count];
        for &[a, b, c] in &self.triangles {
            for (from, to) in [(a, b), (b, c), (c, a)] {
                let at = &mut starts[from as usize];
                *at -= 1;
                ends[*at] = to;
            }
        }
        for point in 0..self.points.len() {
            let ends = &mut ends[starts[point]..starts[point + 1]];
            ends.sort_unstable();
            if ends.windows(2).any(|pair| pair[0] == pair[1]) {
                return false;
            }
        }
        let from = |point: usize| &ends[starts[point]..starts[point + 1]];
        (0..self.points.len()).all(|a| {
            from(a)
                .iter()
                .all(|&b| from(b as usize).binary_search(&(a as u32)).is_ok())
        })
    }

    /// See [`LazyMesh::scaled`].
    fn scaled(mut self, scale: Vector3<f64>) -> Self {
        for point in &mut self.points {
            *point = std::array::from_fn(|k| scaled(point[k], scale[k]));
        }
        // Normals stay at right angles to the surface by the inverse; its determinant, which has no
        // say in a direction, is left out.
        let across = Vector3::new(scale.y * scale.z, scale.z * scale.x, scale.x * scale.y)
            * scale.product().signum();
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

    /// A tetrahedron with a flat normal per triangle.
    fn tetrahedron() -> Mesh {
        let points = vec![
            [0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0],
        ];
        let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let slanted = 3.0_f32.sqrt().recip();
        let values = vec![
            [0.0, 0.0, -1.0],
            [0.0, -1.0, 0.0],
            [-1.0, 0.0, 0.0],
            [slanted; 3],
        ];
        let normals = Corners {
            values,
            indices: (0..4).map(|i| [i; 3]).collect(),
        };
        let parts = vec![Part {
            triangles: 0..4,
            material: None,
        }];
        let mesh = Mesh::new(
            MeshArrays {
                points,
                triangles,
                normals,
                uvs: None,
                colors: None,
            },
            parts,
            Vec::new(),
        );
        Mesh {
            digest: [1; 32],
            ..mesh
        }
    }

    fn geometric_normal(mesh: &Mesh, triangle: usize) -> Vector3<f32> {
        let [a, b, c] = mesh.triangles[triangle].map(|i| Vector3::from(mesh.points[i as usize]));
        (b - a).cross(&(c - a)).normalize()
    }

    #[test]
    fn scaled_meshes_keep_their_normals_and_winding() {
        let mesh = Arc::new(LazyMesh::from(tetrahedron()));
        for scale in [
            [1.0, 1.0, 1.0],
            [1e-3, 1e-3, 1e-3],
            [1.0, 2.0, 5.0],
            [-1.0, 1.0, 1.0],
            [-2.0, -0.5, 3.0],
            [-1.0, -1.0, -4.0],
        ] {
            let scaled = mesh.scaled(Vector3::from(scale)).load().unwrap();
            for (triangle, normals) in scaled.normals.indices.iter().enumerate() {
                let normal = Vector3::from(scaled.normals.values[normals[0] as usize]);
                assert!(
                    (normal - geometric_normal(&scaled, triangle)).norm() < 1e-6,
                    "{scale:?}: {normal}"
                );
            }
            assert_eq!(scaled.points[3], [0.0, 0.0, scale[2] as f32], "{scale:?}");
            assert_eq!(scaled.digest == mesh.digest, scale == [1.0; 3], "{scale:?}");
        }
        assert_ne!(
            mesh.scaled(Vector3::new(2.0, 1.0, 1.0)).digest,
            mesh.scaled(Vector3::new(1.0, 2.0, 1.0)).digest
        );
    }

    #[test]
    fn watertight_is_what_has_two_triangles_at_every_edge() {
        let mesh = tetrahedron();
        assert!(mesh.is_watertight());
        let with = |triangles: Vec<[u32; 3]>| {
            let mut other = mesh.clone();
            other.triangles = triangles;
            other
        };
        let open = with(mesh.triangles[1..].to_vec());
        let doubled = with([&mesh.triangles[..], &mesh.triangles[..]].concat());
        let turned = with(vec![[0, 1, 2], [0, 1, 3], [0, 3, 2], [1, 2, 3]]);
        assert!(!open.is_watertight() && !doubled.is_watertight() && !turned.is_watertight());
    }
}
