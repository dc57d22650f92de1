//! Triangulated meshes, in memory and loaded lazily.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use nalgebra::Vector3;
use urdf_usd_geometry::{MeshArrays, Outline};

use super::{ImagePlacement, Material};

/// Triangles with the materials to draw them, in memory.
///
/// Points are in metres in the mesh's own frame, without the `scale` of the geometry. Vertex
/// colours are drawn if neither the part nor the robot names a material, or if the part's material
/// has [`Material::shows_corner_colors`]. Dereferences to its arrays; changing them copies them if
/// they are shared.
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
/// The [`Outline`] suffices for most callers; it is always in memory.
#[derive(Clone)]
pub struct LazyMesh {
    arrays: LazyArrays,
    /// See [`Mesh::parts`].
    pub parts: Vec<Part>,
    /// See [`Mesh::materials`].
    pub materials: Vec<Material>,
    /// See [`Mesh::digest`].
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
        // Held while loading, so that concurrent callers load the arrays once.
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(arrays) = loaded.upgrade() {
            return Ok(arrays);
        }
        let arrays = Arc::new((self.load)()?);
        *loaded = Arc::downgrade(&arrays);
        Ok(arrays)
    }
}

/// Cached data was evicted or damaged after it was found and before it was loaded.
///
/// The remedy is to start over without the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cached data was evicted while it was in use")]
pub struct CacheEvicted;

/// A run of triangles with one material.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The triangles, as indices into [`MeshArrays::triangles`].
    pub triangles: std::ops::Range<usize>,
    /// An index into [`Mesh::materials`]; `None` where the source assigns none, so that the robot's
    /// own material shows.
    pub material: Option<usize>,
}

/// Simplified versions of a mesh, within an error bound and with the same materials.
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
    /// Compares the meshes. Arrays that can't be loaded compare unequal.
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
    /// Creates a mesh whose arrays `load` returns. `outline` and `digest` describe that mesh.
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

    /// Returns the mesh's summary, which needs no loading.
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
                // With this a scale of one keeps the digest.
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

    /// Creates a mesh of one part without a material, without a digest.
    pub fn plain(arrays: MeshArrays) -> Self {
        let parts = vec![Part {
            triangles: 0..arrays.triangles.len(),
            material: None,
        }];
        Self::new(arrays, parts, Vec::new())
    }

    /// Returns the mesh with texture coordinates that include the placement of its images.
    ///
    /// `other` is the material of parts without their own.
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
            // Other parts may share a value but not its placement, so values are copied, once per
            // part.
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

#[cfg(test)]
mod tests {
    use urdf_usd_geometry::shapes;

    use super::*;

    #[test]
    fn scaled_meshes_have_digests_of_their_own() {
        let mut mesh = Mesh::plain(shapes::tetrahedron());
        mesh.digest = [1; 32];
        let mesh = Arc::new(LazyMesh::from(mesh));
        for scale in [[1.0; 3], [1e-3; 3], [-1.0, 1.0, 1.0]] {
            let scaled = mesh.scaled(Vector3::from(scale)).load().unwrap();
            assert_eq!(scaled.digest == mesh.digest, scale == [1.0; 3], "{scale:?}");
        }
        assert_ne!(
            mesh.scaled(Vector3::new(2.0, 1.0, 1.0)).digest,
            mesh.scaled(Vector3::new(1.0, 2.0, 1.0)).digest
        );
    }
}
