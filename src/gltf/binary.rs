//! The binary buffer, and the accessors and views into it. Equal content is stored once.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use super::document::{Accessor, Buffer, BufferView, Index};
use super::surface::Surface;

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
#[derive(Clone, Copy, Debug)]
pub struct SurfaceAccessors {
    pub position: Index,
    pub normal: Index,
    pub uv: Option<Index>,
    pub color: Option<Index>,
    /// Whether some of the colours are not opaque.
    pub translucent: bool,
    pub indices: Index,
}

impl Binary {
    /// The view that holds `content`, new if there is none yet.
    pub fn view(&mut self, content: &[u8], target: Option<u32>) -> Index {
        let key = (Sha256::digest(content).into(), target);
        *self.views_known.entry(key).or_insert_with(|| {
            // Four is the largest component, and an accessor must begin on a multiple of its own.
            self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
            self.views.push(BufferView { buffer: 0, byte_offset: self.bytes.len(), byte_length: content.len(), target });
            self.bytes.extend(content);
            self.views.len() - 1
        })
    }

    /// Stores a surface.
    pub fn surface(&mut self, surface: &Surface) -> SurfaceAccessors {
        let bounds = bounds(&surface.positions);
        SurfaceAccessors {
            position: self.floats(&surface.positions, "VEC3", Some(bounds)),
            normal: self.floats(&surface.normals, "VEC3", None),
            uv: surface.uvs.as_ref().map(|uvs| self.floats(uvs, "VEC2", None)),
            color: surface.colors.as_ref().map(|colors| self.colors(colors)),
            translucent: surface.colors.iter().flatten().any(|color| color[3] != u16::MAX),
            indices: self.indices(&surface.indices, surface.positions.len()),
        }
    }

    fn floats<const N: usize>(
        &mut self,
        values: &[[f32; N]],
        kind: &'static str,
        bounds: Option<([f32; 3], [f32; 3])>,
    ) -> Index {
        let bytes: Vec<u8> = values.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
        let buffer_view = self.view(&bytes, Some(ARRAY_BUFFER));
        let (min, max) = bounds.unzip();
        let (component_type, count) = (FLOAT, values.len());
        self.accessor(Accessor { buffer_view, component_type, normalized: false, count, kind, min, max })
    }

    /// Four components even where all are opaque: three of two bytes would not fill a vertex's multiple of four.
    fn colors(&mut self, colors: &[[u16; 4]]) -> Index {
        let bytes: Vec<u8> = colors.as_flattened().iter().flat_map(|v| v.to_le_bytes()).collect();
        let buffer_view = self.view(&bytes, Some(ARRAY_BUFFER));
        let (component_type, count) = (UNSIGNED_SHORT, colors.len());
        self.accessor(Accessor { buffer_view, component_type, normalized: true, count, kind: "VEC4", min: None, max: None })
    }

    fn indices(&mut self, indices: &[u32], vertices: usize) -> Index {
        // 65535 itself would restart the primitive.
        let (component_type, bytes): (u32, Vec<u8>) = if vertices <= usize::from(u16::MAX) {
            (UNSIGNED_SHORT, indices.iter().flat_map(|&i| (i as u16).to_le_bytes()).collect())
        } else {
            (UNSIGNED_INT, indices.iter().flat_map(|i| i.to_le_bytes()).collect())
        };
        let buffer_view = self.view(&bytes, Some(ELEMENT_ARRAY_BUFFER));
        let count = indices.len();
        self.accessor(Accessor { buffer_view, component_type, normalized: false, count, kind: "SCALAR", min: None, max: None })
    }

    fn accessor(&mut self, accessor: Accessor) -> Index {
        // Positions need bounds where normals of equal bytes must not have to share them.
        let variant = accessor.component_type + u32::from(accessor.min.is_some());
        *self.accessors_known.entry((accessor.buffer_view, variant)).or_insert_with(|| {
            self.accessors.push(accessor);
            self.accessors.len() - 1
        })
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
        let first = binary.view(&[1, 2, 3], None);
        assert_eq!(binary.view(&[9], None), 1);
        assert_eq!(binary.view(&[1, 2, 3], None), first);
        assert_eq!(binary.views[1].byte_offset, 4);
        assert_ne!(binary.view(&[9], Some(ARRAY_BUFFER)), 1);
    }

    #[test]
    fn indices_are_wide_only_where_they_must_be() {
        let mut binary = Binary::default();
        let narrow = binary.indices(&[0, 1, 65534], 65535);
        let wide = binary.indices(&[0, 1, 65535], 65536);
        assert_eq!(binary.accessors[narrow].component_type, UNSIGNED_SHORT);
        assert_eq!(binary.accessors[wide].component_type, UNSIGNED_INT);
    }
}
