//! The binary buffer, and the accessors and views into it. Equal content is stored once.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::document::{Accessor, Buffer, BufferView, Index};
use super::surface::Surface;
use crate::store;

const FLOAT: u32 = 5126;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// A buffer in the making.
#[derive(Default)]
pub struct Binary {
    pub bytes: Vec<u8>,
    pub views: Vec<BufferView>,
    pub accessors: Vec<Accessor>,
    views_known: HashMap<([u8; 32], Option<u32>), Index>,
    accessors_known: HashMap<(Index, u32), Index>,
}

/// The accessors of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceAccessors {
    pub position: Index,
    pub normal: Index,
    pub uv: Option<Index>,
    pub color: Option<Index>,
    /// Whether some of the colours are not opaque.
    pub translucent: bool,
    pub indices: Index,
}

/// Bytes, and a hash by which equal ones are found.
pub struct Content {
    bytes: Vec<u8>,
    digest: [u8; 32],
}

impl Content {
    pub fn new(bytes: Vec<u8>) -> Self {
        Self { digest: Sha256::digest(&bytes).into(), bytes }
    }

    /// The bytes of `values`, each of N.
    fn of<T: Copy, const N: usize>(values: &[T], bytes_of: impl Fn(T) -> [u8; N]) -> Self {
        let mut bytes = vec![0; values.len() * N];
        for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
            *bytes = bytes_of(*value);
        }
        Self::new(bytes)
    }
}

/// A buffer that holds surfaces alone, on its way through a store.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Offset, length and target.
    views: Vec<(usize, usize, Option<u32>)>,
    /// View, component type, whether normalised, count, kind, and the bits of the bounds.
    accessors: Vec<(Index, u32, bool, usize, usize, Option<[[u32; 3]; 2]>)>,
    surfaces: Vec<Vec<Option<SurfaceAccessors>>>,
}

/// All kinds of accessors.
const KINDS: [&str; 4] = ["SCALAR", "VEC2", "VEC3", "VEC4"];

/// What an accessor is for.
struct Array {
    content: Content,
    component_type: u32,
    normalized: bool,
    count: usize,
    kind: &'static str,
    bounds: Option<([f32; 3], [f32; 3])>,
}

/// A [`Surface`] in bytes.
pub struct Packed {
    positions: Array,
    normals: Array,
    uvs: Option<Array>,
    colors: Option<Array>,
    translucent: bool,
    indices: Array,
}

impl Packed {
    /// What takes time in storing a surface, and needs no buffer.
    pub fn new(surface: &Surface) -> Self {
        Self {
            positions: Array { bounds: Some(bounds(&surface.positions)), ..floats(&surface.positions, "VEC3") },
            normals: floats(&surface.normals, "VEC3"),
            uvs: surface.uvs.as_ref().map(|uvs| floats(uvs, "VEC2")),
            colors: surface.colors.as_ref().map(|colors| sixteen_bits(colors)),
            translucent: surface.colors.iter().flatten().any(|color| color[3] != u16::MAX),
            indices: indices(&surface.indices, surface.positions.len()),
        }
    }
}

fn floats<const N: usize>(values: &[[f32; N]], kind: &'static str) -> Array {
    let content = Content::of(values.as_flattened(), f32::to_le_bytes);
    Array { content, component_type: FLOAT, normalized: false, count: values.len(), kind, bounds: None }
}

/// Four components even where all are opaque: three of two bytes would not fill a vertex's multiple of four.
fn sixteen_bits(colors: &[[u16; 4]]) -> Array {
    let content = Content::of(colors.as_flattened(), u16::to_le_bytes);
    Array { content, component_type: UNSIGNED_SHORT, normalized: true, count: colors.len(), kind: "VEC4", bounds: None }
}

fn indices(indices: &[u32], vertices: usize) -> Array {
    // 65535 itself would restart the primitive.
    let (component_type, content) = if vertices <= usize::from(u16::MAX) {
        (UNSIGNED_SHORT, Content::of(indices, |i| (i as u16).to_le_bytes()))
    } else {
        (UNSIGNED_INT, Content::of(indices, u32::to_le_bytes))
    };
    Array { content, component_type, normalized: false, count: indices.len(), kind: "SCALAR", bounds: None }
}

impl Binary {
    /// The view that holds `content`, new if there is none yet.
    pub fn view(&mut self, content: &Content, target: Option<u32>) -> Index {
        let Content { bytes, digest } = content;
        *self.views_known.entry((*digest, target)).or_insert_with(|| {
            // Four is the largest component, and an accessor must begin on a multiple of its own.
            self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
            self.views.push(BufferView { buffer: 0, byte_offset: self.bytes.len(), byte_length: bytes.len(), target });
            self.bytes.extend(bytes);
            self.views.len() - 1
        })
    }

    /// Stores a surface.
    pub fn surface(&mut self, surface: &Packed) -> SurfaceAccessors {
        let mut store = |array: &Array| self.array(array);
        SurfaceAccessors {
            position: store(&surface.positions),
            normal: store(&surface.normals),
            uv: surface.uvs.as_ref().map(&mut store),
            color: surface.colors.as_ref().map(&mut store),
            translucent: surface.translucent,
            indices: store(&surface.indices),
        }
    }

    fn array(&mut self, array: &Array) -> Index {
        let Array { content, component_type, normalized, count, kind, bounds } = array;
        let target = if *kind == "SCALAR" { ELEMENT_ARRAY_BUFFER } else { ARRAY_BUFFER };
        let buffer_view = self.view(content, Some(target));
        let (min, max) = bounds.unzip();
        let (component_type, normalized, count) = (*component_type, *normalized, *count);
        self.accessor(Accessor { buffer_view, component_type, normalized, count, kind, min, max })
    }

    fn accessor(&mut self, accessor: Accessor) -> Index {
        // Positions need bounds where normals of equal bytes must not have to share them.
        let variant = accessor.component_type + u32::from(accessor.min.is_some());
        *self.accessors_known.entry((accessor.buffer_view, variant)).or_insert_with(|| {
            self.accessors.push(accessor);
            self.accessors.len() - 1
        })
    }

    /// The buffer and what is in it, for a store. It holds nothing but `surfaces`.
    pub fn encode(&self, surfaces: &[Vec<Option<SurfaceAccessors>>]) -> Vec<u8> {
        let accessor = |a: &Accessor| {
            let kind = KINDS.iter().position(|kind| *kind == a.kind).unwrap_or(0);
            let bounds = a.min.zip(a.max).map(|(low, high)| [low, high].map(|corner| corner.map(f32::to_bits)));
            (a.buffer_view, a.component_type, a.normalized, a.count, kind, bounds)
        };
        let kept = Kept {
            views: self.views.iter().map(|view| (view.byte_offset, view.byte_length, view.target)).collect(),
            accessors: self.accessors.iter().map(accessor).collect(),
            surfaces: surfaces.to_vec(),
        };
        store::pack(&kept, &[&self.bytes])
    }

    /// What [`Self::encode`] made; `None` if anything does not fit.
    pub fn decode(entry: &[u8]) -> Option<(Self, Vec<Vec<Option<SurfaceAccessors>>>)> {
        let (kept, bytes) = store::unpack::<Kept>(entry)?;
        let view = |(byte_offset, byte_length, target): (usize, usize, Option<u32>)| {
            let fits = byte_offset.checked_add(byte_length)? <= bytes.len();
            fits.then_some(BufferView { buffer: 0, byte_offset, byte_length, target })
        };
        let views: Vec<BufferView> = kept.views.into_iter().map(view).collect::<Option<_>>()?;
        type Bounds = Option<[[u32; 3]; 2]>;
        let accessor = |(buffer_view, component_type, normalized, count, kind, bounds): (Index, _, _, _, usize, Bounds)| {
            let (min, max) = bounds.map(|[low, high]| (low.map(f32::from_bits), high.map(f32::from_bits))).unzip();
            let kind = *KINDS.get(kind)?;
            (buffer_view < views.len()).then_some(Accessor { buffer_view, component_type, normalized, count, kind, min, max })
        };
        let accessors: Vec<Accessor> = kept.accessors.into_iter().map(accessor).collect::<Option<_>>()?;
        let fits = |surface: &SurfaceAccessors| {
            let of = [Some(surface.position), Some(surface.normal), surface.uv, surface.color, Some(surface.indices)];
            of.into_iter().flatten().all(|index| index < accessors.len())
        };
        if !kept.surfaces.iter().flatten().flatten().all(fits) {
            return None;
        }
        Some((Self { bytes: bytes.to_vec(), views, accessors, ..Self::default() }, kept.surfaces))
    }

    /// The buffer that holds it all; none if there is nothing.
    pub fn buffers(&self) -> Vec<Buffer> {
        if self.bytes.is_empty() { Vec::new() } else { vec![Buffer { byte_length: self.bytes.len() }] }
    }
}

fn bounds(positions: &[[f32; 3]]) -> ([f32; 3], [f32; 3]) {
    positions.iter().fold(([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]), |(low, high), p| {
        (std::array::from_fn(|k| low[k].min(p[k])), std::array::from_fn(|k| high[k].max(p[k])))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_content_is_stored_once_and_aligned() {
        let mut binary = Binary::default();
        let mut view = |bytes: &[u8], target| binary.view(&Content::new(bytes.to_vec()), target);
        let first = view(&[1, 2, 3], None);
        assert_eq!(view(&[9], None), 1);
        assert_eq!(view(&[1, 2, 3], None), first);
        assert_ne!(view(&[9], Some(ARRAY_BUFFER)), 1);
        assert_eq!(binary.views[1].byte_offset, 4);
    }

    #[test]
    fn what_is_kept_is_what_was_stored() {
        let positions = vec![[0.0, 0.5, -1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 3.0]];
        let normals = vec![[0.0, 0.0, 1.0]; 3];
        let colors = Some(vec![[1, 2, 3, 4]; 3]);
        let surface = Surface { positions, normals, uvs: Some(vec![[0.0, 1.0]; 3]), colors, indices: vec![0, 1, 2] };
        let mut binary = Binary::default();
        let stored = vec![vec![Some(binary.surface(&Packed::new(&surface))), None], Vec::new()];
        let entry = binary.encode(&stored);
        let (again, surfaces) = Binary::decode(&entry).unwrap();
        assert_eq!((&again.bytes, &surfaces), (&binary.bytes, &stored));
        let json = |binary: &Binary| serde_json::to_string(&(&binary.views, &binary.accessors)).unwrap();
        assert_eq!(json(&again), json(&binary));
        for cut in 0..entry.len() {
            assert!(Binary::decode(&entry[..cut]).is_none());
        }
    }

    #[test]
    fn indices_are_wide_only_where_they_must_be() {
        let (narrow, wide) = (indices(&[0, 1, 65534], 65535), indices(&[0, 1, 65535], 65536));
        assert_eq!((narrow.component_type, &*narrow.content.bytes), (UNSIGNED_SHORT, &[0, 0, 1, 0, 254, 255][..]));
        assert_eq!((wide.component_type, wide.content.bytes.len()), (UNSIGNED_INT, 12));
    }
}
