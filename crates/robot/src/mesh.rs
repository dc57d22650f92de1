//! A triangulated mesh.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use nalgebra::Vector3;

use super::{ImagePlacement, Material};

/// Triangles with what is needed to draw them.
///
/// Points are in metres in the mesh's own frame, exactly as URDF means it: a `scale` of the geometry is not applied. Winding is
/// counter-clockwise seen from outside. Points are welded; normals and texture coordinates belong to corners, so a hard edge
/// does not tear the surface.
///
/// Its arrays are reached by dereferencing it ([`MeshArrays`]). Those of a mesh that is kept elsewhere ([`Self::kept`]) are only had when
/// somebody does so: most of what there is to say of a mesh is in its [`Outline`].
#[derive(Clone)]
pub struct Mesh {
    arrays: OnceLock<Arc<MeshArrays>>,
    outline: OnceLock<Outline>,
    /// Where the arrays are had if they are not there.
    kept: Option<Arc<Elsewhere>>,
    /// Runs of triangles with one material, in order, covering all triangles; at least one.
    pub parts: Vec<Part>,
    /// The mesh's own materials, which `parts` refer to.
    pub materials: Vec<Material>,
    /// What tells this geometry from others: SHA-256 of its arrays and parts. Zero where nobody computed it, which stands for no geometry
    /// at all.
    pub digest: [u8; 32],
}

/// Has the arrays of a mesh from where they are kept; `None` if they are not there any more.
pub type Kept = dyn Fn() -> Option<MeshArrays> + Send + Sync;

/// Where the arrays of a mesh are.
struct Elsewhere {
    kept: Box<Kept>,
    /// Those that somebody has now, who shares them.
    now: Mutex<Weak<MeshArrays>>,
}

impl Elsewhere {
    fn arrays(&self) -> Option<Arc<MeshArrays>> {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let arrays = now.upgrade();
        if arrays.is_some() {
            return arrays;
        }
        let arrays = Arc::new((self.kept)()?);
        *now = Arc::downgrade(&arrays);
        Some(arrays)
    }
}

/// What a panic carries if something, such as the arrays of a mesh, is no longer where it was kept. Who made use of what is kept begins
/// anew without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// The arrays of a [`Mesh`].
#[derive(Clone, Debug, PartialEq)]
pub struct MeshArrays {
    /// Positions.
    pub points: Vec<[f32; 3]>,
    /// Indices into `points`, three per triangle, none repeated within one.
    pub triangles: Vec<[u32; 3]>,
    /// Unit normals of the corners.
    pub normals: Corners<[f32; 3]>,
    /// Texture coordinates of the corners, (0, 0) at the lower left of the image, if the source has any.
    pub uvs: Option<Corners<[f32; 2]>>,
    /// Colours of the corners, if the source has any: linear red, green, blue and opacity, each 0 to 1. They show where neither the
    /// part nor the robot names a material, and where a part's material says so ([`Material::shows_corner_colors`]).
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
    fn of(arrays: &MeshArrays) -> Self {
        let bounds = arrays.points.first().map(|&first| {
            arrays.points.iter().fold((first, first), |(mut low, mut high), p| {
                for k in 0..3 {
                    low[k] = low[k].min(p[k]);
                    high[k] = high[k].max(p[k]);
                }
                (low, high)
            })
        });
        Self {
            triangles: arrays.triangles.len(),
            bounds,
            has_uvs: arrays.uvs.is_some(),
            has_colors: arrays.colors.is_some(),
            has_translucent_corners: arrays.colors.iter().flat_map(|colors| &colors.values).any(|color| color[3] < 1.0),
        }
    }

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

/// Ends what needs something that was kept and can't be had, with a panic that carries [`Lost`]. It is not a fault to be told of, so no hook
/// is run.
pub fn lost<T>() -> T {
    std::panic::resume_unwind(Box::new(Lost))
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
    /// An index into [`Mesh::materials`]; `None` where the source assigns none, so that the robot's own material shows.
    pub material: Option<usize>,
}

/// Stand-ins for a mesh with fewer triangles, within a bound of it and with the same materials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tiers {
    /// For ordinary use; `None` where the mesh itself serves.
    pub medium: Option<Arc<Mesh>>,
    /// For many robots at once; `None` where the medium tier (or else the mesh itself) serves.
    pub low: Option<Arc<Mesh>>,
}

impl Deref for Mesh {
    type Target = MeshArrays;

    /// # Panics
    /// With [`Lost`], if the arrays are kept elsewhere and are not there any more.
    fn deref(&self) -> &MeshArrays {
        self.arrays.get_or_init(|| self.fetched())
    }
}

impl DerefMut for Mesh {
    /// # Panics
    /// As [`Self::deref`].
    fn deref_mut(&mut self) -> &mut MeshArrays {
        if !self.has_arrays() {
            self.arrays = self.fetched().into();
        }
        // They may be others from now on.
        (self.outline, self.kept) = (OnceLock::new(), None);
        Arc::make_mut(self.arrays.get_mut().unwrap_or_else(lost))
    }
}

impl PartialEq for Mesh {
    fn eq(&self, other: &Self) -> bool {
        (&self.parts, &self.materials, self.digest) == (&other.parts, &other.materials, other.digest) && **self == **other
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { arrays, parts, materials, digest, .. } = self;
        let mut shown = f.debug_struct("Mesh");
        shown.field("arrays", arrays).field("parts", parts).field("materials", materials).field("digest", digest).finish()
    }
}

impl Mesh {
    /// A mesh of these arrays, without a digest.
    pub fn new(arrays: MeshArrays, parts: Vec<Part>, materials: Vec<Material>) -> Self {
        Self { arrays: Arc::new(arrays).into(), outline: OnceLock::new(), kept: None, parts, materials, digest: [0; 32] }
    }

    /// A mesh whose arrays are kept elsewhere. `outline` and `digest` are those of what `kept` gives.
    pub fn kept(outline: Outline, kept: Box<Kept>, parts: Vec<Part>, materials: Vec<Material>, digest: [u8; 32]) -> Self {
        let kept = Some(Arc::new(Elsewhere { kept, now: Mutex::default() }));
        Self { arrays: OnceLock::new(), outline: outline.into(), kept, parts, materials, digest }
    }

    /// Its arrays, from where they are kept.
    fn fetched(&self) -> Arc<MeshArrays> {
        self.kept.as_ref().and_then(|kept| kept.arrays()).unwrap_or_else(lost)
    }

    /// What can be said of it without its arrays.
    pub fn outline(&self) -> &Outline {
        self.outline.get_or_init(|| Outline::of(self))
    }

    /// Whether its arrays are there, or would have to be fetched.
    pub fn has_arrays(&self) -> bool {
        self.arrays.get().is_some()
    }

    /// The mesh for a while: arrays that are kept elsewhere are there for as long as what this gives, and no longer. All of a robot's take
    /// much memory.
    ///
    /// # Panics
    /// Where its arrays are reached, as [`Self::deref`].
    pub fn for_now(&self) -> Cow<'_, Self> {
        if self.has_arrays() { Cow::Borrowed(self) } else { Cow::Owned(self.clone()) }
    }

    /// The arrays as [`Self::for_now`] has them.
    ///
    /// # Panics
    /// As [`Self::deref`].
    pub fn arrays(&self) -> Arc<MeshArrays> {
        self.arrays.get().cloned().unwrap_or_else(|| self.fetched())
    }

    /// The mesh with texture coordinates that say where on its images a corner is, whatever the placement of these. `other` is the material
    /// of parts that have none of their own.
    #[must_use]
    pub fn with_placed_uvs(&self, other: Option<&Material>) -> Cow<'_, Self> {
        let placement = |part: &Part| {
            let material = part.material.and_then(|own| self.materials.get(own)).or(other);
            material.map(Material::placement).filter(ImagePlacement::is_moved)
        };
        let moved: Vec<(&Part, ImagePlacement)> = self.parts.iter().filter_map(|part| Some((part, placement(part)?))).collect();
        let mut mesh = Cow::Borrowed(self);
        if moved.is_empty() || !self.outline().has_uvs {
            return mesh;
        }
        let Some(uvs) = &mut mesh.to_mut().uvs else { return mesh };
        for (part, placement) in moved {
            let mut known: HashMap<u32, u32> = HashMap::new();
            for corner in uvs.indices.get_mut(part.triangles.clone()).into_iter().flatten().flatten() {
                let Some(uv) = uvs.values.get(*corner as usize).copied() else { continue };
                *corner = *known.entry(*corner).or_insert_with(|| {
                    uvs.values.push(placement.apply(uv));
                    (uvs.values.len() - 1) as u32
                });
            }
        }
        mesh
    }

    /// The mesh with its points multiplied by `scale`, metres; its winding stays counter-clockwise where an odd number of the factors
    /// is negative. Its arrays are made of this one's when somebody needs them.
    #[must_use]
    pub fn scaled(self: &Arc<Self>, scale: Vector3<f64>) -> Self {
        let of = self.clone();
        let kept = move || Some(Arc::unwrap_or_clone(of.arrays()).scaled(scale));
        let (parts, materials) = (self.parts.clone(), self.materials.clone());
        let mut mesh = Self::kept(self.outline().scaled(scale), Box::new(kept), parts, materials, self.digest);
        if mesh.digest != [0; 32] {
            // As good as computed anew: what else would differ in nothing but these bits of its hash?
            let bytes = scale.iter().flat_map(|factor| (factor.to_bits() ^ 1.0_f64.to_bits()).to_le_bytes());
            mesh.digest.iter_mut().zip(bytes).for_each(|(digest, byte)| *digest ^= byte);
        }
        mesh
    }

    /// Whether it encloses a space: every edge is one of exactly two triangles, once in each direction.
    pub fn is_watertight(&self) -> bool {
        // The edges that begin at each point, by their ends: those of point `i` are `starts[i]..starts[i + 1]`.
        let mut starts = vec![0_usize; self.points.len() + 1];
        self.triangles.as_flattened().iter().for_each(|&point| starts[point as usize] += 1);
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
        (0..self.points.len()).all(|a| from(a).iter().all(|&b| from(b as usize).binary_search(&(a as u32)).is_ok()))
    }

    /// The smallest and largest coordinates; `None` if there are no points.
    pub fn bounds(&self) -> Option<([f32; 3], [f32; 3])> {
        self.outline().bounds
    }
}

impl MeshArrays {
    /// See [`Mesh::scaled`].
    fn scaled(mut self, scale: Vector3<f64>) -> Self {
        for point in &mut self.points {
            *point = std::array::from_fn(|k| scaled(point[k], scale[k]));
        }
        // Normals stay at right angles to the surface by the inverse; its determinant, which has no say in a direction, is left out.
        let across = Vector3::new(scale.y * scale.z, scale.z * scale.x, scale.x * scale.y) * scale.product().signum();
        if scale.abs() != Vector3::repeat(scale.x.abs()) || scale.min() < 0.0 {
            for normal in &mut self.normals.values {
                let turned = Vector3::from(normal.map(f64::from)).component_mul(&across).try_normalize(0.0);
                *normal = turned.map_or(*normal, |turned| [turned.x, turned.y, turned.z].map(|x| x as f32));
            }
        }
        if scale.product() < 0.0 {
            let uvs = self.uvs.iter_mut().flat_map(|uvs| &mut uvs.indices);
            let colors = self.colors.iter_mut().flat_map(|colors| &mut colors.indices);
            for corners in self.triangles.iter_mut().chain(&mut self.normals.indices).chain(uvs).chain(colors) {
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
        let points = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        let triangles = vec![[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];
        let slanted = 3.0_f32.sqrt().recip();
        let values = vec![[0.0, 0.0, -1.0], [0.0, -1.0, 0.0], [-1.0, 0.0, 0.0], [slanted; 3]];
        let normals = Corners { values, indices: (0..4).map(|i| [i; 3]).collect() };
        let parts = vec![Part { triangles: 0..4, material: None }];
        let mesh = Mesh::new(MeshArrays { points, triangles, normals, uvs: None, colors: None }, parts, Vec::new());
        Mesh { digest: [1; 32], ..mesh }
    }

    fn geometric_normal(mesh: &Mesh, triangle: usize) -> Vector3<f32> {
        let [a, b, c] = mesh.triangles[triangle].map(|i| Vector3::from(mesh.points[i as usize]));
        (b - a).cross(&(c - a)).normalize()
    }

    #[test]
    fn scaled_meshes_keep_their_normals_and_winding() {
        let mesh = Arc::new(tetrahedron());
        for scale in
            [[1.0, 1.0, 1.0], [1e-3, 1e-3, 1e-3], [1.0, 2.0, 5.0], [-1.0, 1.0, 1.0], [-2.0, -0.5, 3.0], [-1.0, -1.0, -4.0]]
        {
            let scaled = mesh.scaled(Vector3::from(scale));
            for (triangle, normals) in scaled.normals.indices.iter().enumerate() {
                let normal = Vector3::from(scaled.normals.values[normals[0] as usize]);
                assert!((normal - geometric_normal(&scaled, triangle)).norm() < 1e-6, "{scale:?}: {normal}");
            }
            assert_eq!(scaled.points[3], [0.0, 0.0, scale[2] as f32], "{scale:?}");
            assert_eq!(scaled.digest == mesh.digest, scale == [1.0; 3], "{scale:?}");
        }
        assert_ne!(mesh.scaled(Vector3::new(2.0, 1.0, 1.0)).digest, mesh.scaled(Vector3::new(1.0, 2.0, 1.0)).digest);
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
