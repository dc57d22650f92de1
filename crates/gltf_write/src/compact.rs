//! Compact encodings of surfaces: 8-bit and 16-bit components (`KHR_mesh_quantization`) and streams
//! of meshoptimizer's codecs (`EXT_meshopt_compression`).
//!
//! This module knows numbers and streams, not their place in the document.

#![allow(clippy::indexing_slicing, reason = "a point has components 0 to 2")]

use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::numbers::bounds;
use super::surface::Surface;
use crate::json::document::{StreamFilter, StreamMode};

/// Encoding of the triangles of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Compression {
    /// Single precision, uncompressed.
    #[default]
    None,
    /// 16-bit positions and texture coordinates, 8-bit normals (`KHR_mesh_quantization`). This
    /// takes about half the bytes; positions are within 1/131070 of a mesh's longest side.
    Quantize,
    /// As [`Self::Quantize`], and compressed (`EXT_meshopt_compression`). Readers must support that
    /// extension.
    Meshopt,
}

impl Compression {
    /// All encodings.
    pub const ALL: [Self; 3] = [Self::None, Self::Quantize, Self::Meshopt];

    /// Returns the name of the option's value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Quantize => "quantize",
            Self::Meshopt => "meshopt",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Compression {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|value| value.as_str() == text);
        known.ok_or_else(|| {
            format!(
                "{text:?} is none of {}",
                Self::ALL.map(Self::as_str).join(", ")
            )
        })
    }
}

/// Number of quantization steps along each side of a grid.
const STEPS: f64 = u16::MAX as f64;

/// Cube in which the vertices of a form are quantized. Its sides are equal, so that the node's
/// scale is uniform and normals need no correction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// The corner with the smallest coordinates.
    pub corner: [f32; 3],
    /// Length of a side; positive.
    pub side: f32,
}

impl Grid {
    /// Returns the smallest cube that encloses `surfaces`; `None` if it is a point, or too large
    /// for single precision.
    pub fn around<'a>(surfaces: impl IntoIterator<Item = &'a Surface>) -> Option<Self> {
        let points = surfaces.into_iter().flat_map(|surface| &surface.positions);
        let (low, high) = bounds(points);
        let side = (0..3).map(|k| high[k] - low[k]).fold(0.0, f32::max);
        (side > 0.0 && side.is_finite()).then_some(Self { corner: low, side })
    }

    /// Returns the nearest grid point.
    pub fn steps(&self, point: [f32; 3]) -> [u16; 3] {
        std::array::from_fn(|k| {
            let share = (f64::from(point[k]) - f64::from(self.corner[k])) / f64::from(self.side);
            (share * STEPS).round() as u16
        })
    }

    /// Returns the bits of the grid, for a store.
    pub fn bits(&self) -> [u32; 4] {
        let [x, y, z] = self.corner;
        [x, y, z, self.side].map(f32::to_bits)
    }

    /// Restores a grid from the result of [`Self::bits`].
    pub fn from_bits(bits: [u32; 4]) -> Self {
        let [x, y, z, side] = bits.map(f32::from_bits);
        Self {
            corner: [x, y, z],
            side,
        }
    }
}

/// Compressed bytes of an array.
#[derive(Clone, Debug)]
pub struct Stream {
    pub bytes: Bytes,
    pub stride: usize,
    pub count: usize,
    pub mode: StreamMode,
    pub filter: Option<StreamFilter>,
}

impl Stream {
    /// Compresses elements of `stride` bytes, 4 or 8. Returns `None` for an empty array, which the
    /// codec can't encode.
    pub fn attributes(bytes: &[u8], stride: usize) -> Option<Self> {
        // Version 0 of the codec: EXT_meshopt_compression has no other. Version 1 belongs to
        // KHR_meshopt_compression.
        let encoded = match stride {
            4 => meshopt::encode_vertex_buffer_level(bytes.as_chunks::<4>().0, 2, Some(0)),
            8 => meshopt::encode_vertex_buffer_level(bytes.as_chunks::<8>().0, 2, Some(0)),
            _ => return None,
        };
        let count = bytes.len() / stride;
        let bytes = encoded.ok().filter(|_| count > 0)?.into();
        Some(Self {
            bytes,
            stride,
            count,
            mode: StreamMode::Attributes,
            filter: None,
        })
    }

    /// Compresses normals, which decompress to four 8-bit components.
    pub fn normals(normals: &[[f32; 3]]) -> Option<Self> {
        let wide: Vec<[f32; 4]> = normals.iter().map(|&[x, y, z]| [x, y, z, 0.0]).collect();
        let filtered: Vec<[i8; 4]> = meshopt::encode_filter_oct(&wide, 8);
        let bytes: Vec<u8> = filtered
            .into_iter()
            .flatten()
            .map(|x| x.cast_unsigned())
            .collect();
        Some(Self {
            filter: Some(StreamFilter::Octahedral),
            ..Self::attributes(&bytes, 4)?
        })
    }

    /// Compresses triangle indices, which decompress to integers of `stride` bytes. The codec may
    /// rotate the corners of a triangle.
    pub fn triangles(indices: &[u32], vertices: usize, stride: usize) -> Option<Self> {
        let bytes = meshopt::encode_index_buffer(indices, vertices)
            .ok()
            .filter(|_| !indices.is_empty())?
            .into();
        Some(Self {
            bytes,
            stride,
            count: indices.len(),
            mode: StreamMode::Triangles,
            filter: None,
        })
    }
}

/// Reorders triangles for the vertex cache, and vertices for fetching (meshoptimizer), which also
/// improves the compression.
pub fn ordered(surface: Surface) -> Surface {
    let count = surface.positions.len();
    let indices = meshopt::optimize_vertex_cache(&surface.indices, count);
    // The best order of vertices depends on that of triangles, so it is determined second.
    let places = meshopt::optimize_vertex_fetch_remap(&indices, count);
    Surface {
        positions: moved(surface.positions, &places),
        normals: moved(surface.normals, &places),
        uvs: surface.uvs.map(|uvs| moved(uvs, &places)),
        tangents: surface.tangents.map(|tangents| moved(tangents, &places)),
        colors: surface.colors.map(|colors| moved(colors, &places)),
        indices: indices
            .into_iter()
            .map(|index| places.get(index as usize).copied().unwrap_or_default())
            .collect(),
    }
}

/// Permutes `values`: each moves to its index in `places`. Every vertex of a surface is used, so
/// `places` is a permutation.
fn moved<T: Copy + Default>(values: Vec<T>, places: &[u32]) -> Vec<T> {
    let mut out = vec![T::default(); values.len()];
    for (value, &place) in values.into_iter().zip(places) {
        if let Some(slot) = out.get_mut(place as usize) {
            *slot = value;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface() -> Surface {
        Surface {
            positions: vec![
                [-1.0, 0.0, 2.0],
                [3.0, 1.0, 2.0],
                [0.0, 0.5, 2.5],
                [1.0, 1.0, 1.0],
            ],
            normals: vec![
                [0.0, 0.0, 1.0],
                [0.6, 0.0, 0.8],
                [0.0, -1.0, 0.0],
                [1.0, 0.0, 0.0],
            ],
            uvs: Some(vec![[0.0, 0.25], [0.5, 1.0], [1.0, 0.0], [0.1, 0.2]]),
            tangents: Some(vec![[1.0, 0.0, 0.0, 1.0]; 4]),
            colors: None,
            indices: vec![3, 1, 2, 0, 3, 2],
        }
    }

    #[test]
    fn a_grid_is_a_cube_around_all_points() {
        let grid = Grid::around([&surface()]).unwrap();
        assert_eq!(
            grid,
            Grid {
                corner: [-1.0, 0.0, 1.0],
                side: 4.0
            }
        );
        assert_eq!(grid.steps([3.0, 0.0, 3.0]), [u16::MAX, 0, 32768]);
        assert_eq!(Grid::from_bits(grid.bits()), grid);
        assert_eq!(Grid::around([]), None);
    }

    #[test]
    fn streams_come_out_as_they_went_in() {
        let bytes: Vec<u8> = (0..64).map(|n| (n * 37 % 251) as u8).collect();
        let stream = Stream::attributes(&bytes, 8).unwrap();
        assert_eq!((stream.count, stream.bytes[0]), (8, 0xa0), "version 0");
        let decoded: Vec<[u8; 8]> =
            meshopt::decode_vertex_buffer(&stream.bytes, stream.count).unwrap();
        assert_eq!(decoded.as_flattened(), bytes);
        let indices = surface().indices;
        let stream = Stream::triangles(&indices, 4, 2).unwrap();
        let decoded: Vec<u32> = meshopt::decode_index_buffer(&stream.bytes, stream.count).unwrap();
        let turned = |t: &[u32]| {
            (0..3)
                .map(|k| [t[k], t[(k + 1) % 3], t[(k + 2) % 3]])
                .min()
                .unwrap()
        };
        let triangles = |indices: &[u32]| indices.chunks_exact(3).map(turned).collect::<Vec<_>>();
        assert_eq!(triangles(&decoded), triangles(&indices));
        let normals = surface().normals;
        let stream = Stream::normals(&normals).unwrap();
        let mut decoded: Vec<[i8; 4]> =
            meshopt::decode_vertex_buffer(&stream.bytes, stream.count).unwrap();
        meshopt::decode_filter_oct(&mut decoded);
        for (found, wanted) in decoded.iter().zip(&normals) {
            for k in 0..3 {
                assert!(
                    (f32::from(found[k]) / 127.0 - wanted[k]).abs() < 0.02,
                    "{found:?} {wanted:?}"
                );
            }
        }
        assert!(Stream::attributes(&[], 4).is_none() && Stream::triangles(&[], 0, 2).is_none());
    }

    #[test]
    fn another_order_is_the_same_surface() {
        let corners = |surface: &Surface| {
            let corner = |&i: &u32| {
                let i = i as usize;
                format!(
                    "{:?}{:?}{:?}",
                    surface.positions[i],
                    surface.normals[i],
                    surface.uvs.as_ref().map(|uvs| uvs[i])
                )
            };
            let mut triangles: Vec<_> = surface
                .indices
                .chunks_exact(3)
                .map(|t| {
                    (0..3)
                        .map(|k| {
                            [t[k], t[(k + 1) % 3], t[(k + 2) % 3]]
                                .iter()
                                .map(corner)
                                .collect::<Vec<_>>()
                        })
                        .min()
                })
                .collect();
            triangles.sort();
            triangles
        };
        assert_eq!(corners(&ordered(surface())), corners(&surface()));
    }
}
