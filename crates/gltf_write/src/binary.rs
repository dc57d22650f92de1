//! The binary buffer with its accessors and views. Equal content is stored once.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use bytes::Bytes;
use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use super::compact::{self, Compression, Grid, Stream};
use super::numbers::{self, bounds, eight_bits};
use super::surface::Surface;
use crate::json::document::{
    Accessor, Buffer, BufferExtensions, BufferView, BufferViewExtensions, CompressedView,
    FallbackBuffer,
};
use crate::json::values::Index;
use urdf_usd_store::{self as store, Piece, Pieces, Store};

const BYTE: u32 = 5120;
const FLOAT: u32 = 5126;
const UNSIGNED_SHORT: u32 = 5123;
const UNSIGNED_INT: u32 = 5125;
const ARRAY_BUFFER: u32 = 34962;
const ELEMENT_ARRAY_BUFFER: u32 = 34963;

/// A binary buffer under construction.
#[derive(Default)]
pub struct Binary {
    /// The content of the buffer.
    pub buffer: Pieces,
    pub views: Vec<BufferView>,
    pub accessors: Vec<Accessor>,
    /// Length of the fallback buffer: the decompressed content of all compressed views.
    fallback: usize,
    views_known: HashMap<ViewKey, Index>,
    /// Accessor of each view that holds an array.
    accessors_known: HashMap<Index, Index>,
}

/// Deduplication key of a view: content, target, stride and interpretation. The interpretation is
/// part of it so that attributes of equal bytes have separate views: two attributes in one view
/// would need a `byteStride` (glTF 2.0, §3.6.2.4).
type ViewKey = (Content, Option<u32>, Option<usize>, Reading);
/// Interpretation of a view: component type, kind, and whether there are bounds, which only
/// positions and times have. `None` for images.
type Reading = Option<(u32, &'static str, bool)>;

/// The accessors of a surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfaceAccessors {
    pub position: Index,
    pub normal: Index,
    pub uv: Option<Index>,
    pub tangent: Option<Index>,
    pub color: Option<Index>,
    /// Whether any colour is translucent.
    pub translucent: bool,
    pub indices: Index,
}

/// Bytes with their hash, for deduplication. Hashes are computed in parallel, before the sequential
/// assembly of the buffer.
#[derive(Clone, PartialEq)]
pub struct Content {
    hash: u64,
    bytes: Piece,
}

/// Pieces that can no longer be read compare unequal, even to themselves: their content is lost.
impl Eq for Content {}

impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl Content {
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self {
            hash: FixedState::default().hash_one(&bytes),
            bytes: bytes.into(),
        }
    }

    /// Serialises `values`, each as N bytes.
    fn of<T: Copy, const N: usize>(values: &[T], bytes_of: impl Fn(T) -> [u8; N]) -> Self {
        let mut bytes = vec![0; values.len() * N];
        for (bytes, value) in bytes.as_chunks_mut().0.iter_mut().zip(values) {
            *bytes = bytes_of(*value);
        }
        Self::new(bytes)
    }
}

/// A form in the buffer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredForm {
    /// Accessors of each part; `None` if nothing of it can be drawn.
    pub parts: Vec<Option<SurfaceAccessors>>,
    /// Quantization grid of the positions; `None` if they are in metres.
    pub grid: Option<Grid>,
}

/// Serialised form of a buffer that holds surfaces only, for a store.
#[derive(Serialize, Deserialize)]
struct Kept {
    views: Vec<BufferView>,
    fallback: usize,
    accessors: Vec<KeptAccessor>,
    forms: Vec<KeptForm>,
}

/// Serialised form of a [`StoredForm`], with the bits of its grid.
type KeptForm = (Vec<Option<SurfaceAccessors>>, Option<[u32; 4]>);

/// Serialised form of an accessor: view, component type, whether normalised, count, kind, and the
/// bits of the bounds.
type KeptAccessor = (Index, u32, bool, usize, usize, [Vec<u32>; 2]);

/// Kinds of accessors.
const KINDS: [&str; 4] = ["SCALAR", "VEC2", "VEC3", "VEC4"];

/// Content and metadata of an accessor to be stored.
struct Array {
    content: Content,
    component_type: u32,
    normalized: bool,
    count: usize,
    kind: &'static str,
    /// Minimum and maximum of each component; empty where glTF does not require them.
    bounds: [Vec<f32>; 2],
    /// Distance in bytes between the starts of elements, if they are padded.
    stride: Option<usize>,
    /// Compressed form of the content.
    stream: Option<Stream>,
}

impl Array {
    fn new(content: Content, component_type: u32, count: usize, kind: &'static str) -> Self {
        Self {
            content,
            component_type,
            normalized: false,
            count,
            kind,
            bounds: Default::default(),
            stride: None,
            stream: None,
        }
    }

    /// Moves the content to where the job of `store` spills to, if it has to.
    fn spilled(mut self, store: &Store) -> Self {
        if let Some(bytes) = self.content.bytes.bytes() {
            self.content.bytes = store.piece(bytes);
        }
        self
    }

    /// Returns the interpretation of the view.
    fn reading(&self) -> Reading {
        Some((self.component_type, self.kind, !self.bounds[0].is_empty()))
    }

    /// Adds the compressed form, for elements of `stride` bytes.
    fn compressed(self, stride: usize) -> Self {
        Self {
            stream: self
                .content
                .bytes
                .bytes()
                .and_then(|bytes| Stream::attributes(&bytes, stride)),
            ..self
        }
    }
}

/// A [`Surface`], encoded.
pub struct Packed {
    positions: Array,
    normals: Array,
    uvs: Option<Array>,
    tangents: Option<Array>,
    colors: Option<Array>,
    translucent: bool,
    indices: Array,
}

impl Packed {
    /// Encodes a surface; with a grid, quantized. This is the expensive part of storing it, and
    /// needs no buffer, so that it can run in parallel. The job of `store` may spill the results.
    pub fn new(
        surface: Surface,
        grid: Option<&Grid>,
        compression: Compression,
        store: &Store,
    ) -> Self {
        let compress = compression == Compression::Meshopt;
        let surface = if compress {
            compact::ordered(surface)
        } else {
            surface
        };
        let translucent = surface
            .colors
            .iter()
            .flatten()
            .any(|color| color[3] != u16::MAX);
        let squeezed = |array: Array, stride| {
            if compress {
                array.compressed(stride)
            } else {
                array
            }
        };
        let plain = |positions: Vec<[f32; 3]>| {
            let (low, high) = bounds(&positions);
            Array {
                bounds: [low.to_vec(), high.to_vec()],
                ..floats(positions, "VEC3")
            }
        };
        let Surface {
            positions,
            normals,
            uvs,
            tangents,
            colors,
            indices,
        } = surface;
        let uvs = uvs.map(|uvs| {
            let narrow = grid.and_then(|_| shares(&uvs));
            narrow.map_or_else(
                || squeezed(floats(uvs, "VEC2"), 8),
                |narrow| squeezed(narrow, 4),
            )
        });
        let stride = if positions.len() <= MOST_NARROW { 2 } else { 4 };
        let stream = if compress {
            Stream::triangles(&indices, positions.len(), stride)
        } else {
            None
        };
        let indices = Array {
            stream,
            ..index_array(indices, positions.len())
        };
        let positions = match grid {
            Some(grid) => squeezed(steps(&positions, grid), 8),
            None => plain(positions),
        };
        let normals = match grid {
            Some(_) => {
                let stream = if compress {
                    Stream::normals(&normals)
                } else {
                    None
                };
                Array {
                    stream,
                    ..directions(&normals)
                }
            }
            None => floats(normals, "VEC3"),
        };
        let tangents = tangents.map(|tangents| match grid {
            Some(_) => squeezed(turned(&tangents), 4),
            None => floats(tangents, "VEC4"),
        });
        let colors = colors.map(|colors| squeezed(sixteen_bits(&colors), 8));
        let spilled = |array: Array| array.spilled(store);
        Self {
            positions: spilled(positions),
            normals: spilled(normals),
            uvs: uvs.map(spilled),
            tangents: tangents.map(spilled),
            colors: colors.map(spilled),
            translucent,
            indices: spilled(indices),
        }
    }
}

/// Leaves the smallest array uncompressed if all are compressed. A buffer that only compressed
/// views use looks unused to programs that don't know the extension.
pub fn keep_one_plain<'a>(surfaces: impl Iterator<Item = &'a mut Packed>) {
    let arrays = surfaces.flat_map(|surface| {
        let Packed {
            positions,
            normals,
            uvs,
            tangents,
            colors,
            indices,
            ..
        } = surface;
        [
            Some(positions),
            Some(normals),
            uvs.as_mut(),
            tangents.as_mut(),
            colors.as_mut(),
            Some(indices),
        ]
        .into_iter()
        .flatten()
    });
    let mut arrays: Vec<&mut Array> = arrays.collect();
    if arrays.iter().all(|array| array.stream.is_some())
        && let Some(smallest) = arrays
            .iter_mut()
            .min_by_key(|array| array.content.bytes.len())
    {
        smallest.stream = None;
    }
}

fn floats<const N: usize>(values: Vec<[f32; N]>, kind: &'static str) -> Array {
    let count = values.len();
    Array::new(Content::new(store::bytes_of(values)), FLOAT, count, kind)
}

/// Quantizes positions in `grid`. Elements are padded to multiples of four bytes.
fn steps(positions: &[[f32; 3]], grid: &Grid) -> Array {
    let steps: Vec<[u16; 3]> = positions.iter().map(|&point| grid.steps(point)).collect();
    let padded: Vec<[u16; 4]> = steps.iter().map(|&[x, y, z]| [x, y, z, 0]).collect();
    // glTF gives bounds before normalisation, so they are in steps.
    let (low, high) = bounds(
        steps
            .iter()
            .map(|step| step.map(f32::from))
            .collect::<Vec<_>>()
            .iter(),
    );
    let content = Content::of(padded.as_flattened(), u16::to_le_bytes);
    Array {
        normalized: true,
        bounds: [low.to_vec(), high.to_vec()],
        stride: Some(8),
        ..Array::new(content, UNSIGNED_SHORT, steps.len(), "VEC3")
    }
}

fn directions(normals: &[[f32; 3]]) -> Array {
    let padded: Vec<[i8; 4]> = normals
        .iter()
        .map(|&n| eight_bits(n))
        .map(|[x, y, z]| [x, y, z, 0])
        .collect();
    let content = Content::of(padded.as_flattened(), i8::to_le_bytes);
    Array {
        normalized: true,
        stride: Some(4),
        ..Array::new(content, BYTE, normals.len(), "VEC3")
    }
}

/// Quantizes tangents to 8 bits, including their signs.
fn turned(tangents: &[[f32; 4]]) -> Array {
    let narrow: Vec<[i8; 4]> = tangents
        .iter()
        .map(|&[x, y, z, sign]| {
            let [x, y, z] = eight_bits([x, y, z]);
            [x, y, z, if sign < 0.0 { -i8::MAX } else { i8::MAX }]
        })
        .collect();
    let content = Content::of(narrow.as_flattened(), i8::to_le_bytes);
    Array {
        normalized: true,
        ..Array::new(content, BYTE, tangents.len(), "VEC4")
    }
}

/// Quantizes texture coordinates to 16 bits; `None` if any is outside of [0, 1], which normalised
/// integers can't represent.
fn shares(uvs: &[[f32; 2]]) -> Option<Array> {
    let inside = uvs
        .as_flattened()
        .iter()
        .all(|share| (0.0..=1.0).contains(share));
    let content = inside.then(|| {
        Content::of(uvs.as_flattened(), |share| {
            numbers::sixteen_bits(share).to_le_bytes()
        })
    })?;
    Some(Array {
        normalized: true,
        ..Array::new(content, UNSIGNED_SHORT, uvs.len(), "VEC2")
    })
}

/// Encodes colours with four components, even if all are opaque: three components of two bytes
/// would not be aligned to four bytes.
fn sixteen_bits(colors: &[[u16; 4]]) -> Array {
    let content = Content::of(colors.as_flattened(), u16::to_le_bytes);
    Array {
        normalized: true,
        ..Array::new(content, UNSIGNED_SHORT, colors.len(), "VEC4")
    }
}

/// Maximum number of vertices for 16-bit indices: the index 65535 is the primitive restart value.
const MOST_NARROW: usize = u16::MAX as usize;

/// Encodes indices into a list of `vertices` elements.
fn index_array(indices: Vec<u32>, vertices: usize) -> Array {
    let count = indices.len();
    let (component_type, content) = if vertices <= MOST_NARROW {
        (
            UNSIGNED_SHORT,
            Content::of(&indices, |i| (i as u16).to_le_bytes()),
        )
    } else {
        (UNSIGNED_INT, Content::new(store::bytes_of(indices)))
    };
    Array::new(content, component_type, count, "SCALAR")
}

impl Binary {
    /// Returns the view of `content`, and adds it if it is absent.
    pub fn view(&mut self, content: &Content, target: Option<u32>) -> Index {
        self.view_of(
            content,
            BufferView {
                target,
                ..BufferView::default()
            },
            None,
            None,
        )
    }

    /// Returns the view of `content`, compressed if there is a `stream`, and adds it if it is
    /// absent. `like` has the other properties of the view.
    fn view_of(
        &mut self,
        content: &Content,
        like: BufferView,
        reading: Reading,
        stream: Option<&Stream>,
    ) -> Index {
        let key = (content.clone(), like.target, like.byte_stride, reading);
        if let Some(&known) = self.views_known.get(&key) {
            return known;
        }
        let byte_length = content.bytes.len();
        let view = match stream {
            None => BufferView {
                byte_offset: self.append(&content.bytes),
                byte_length,
                ..like
            },
            Some(stream) => {
                let meshopt = CompressedView {
                    buffer: 0,
                    byte_offset: self.append(&stream.bytes.clone().into()),
                    byte_length: stream.bytes.len(),
                    byte_stride: stream.stride,
                    count: stream.count,
                    mode: stream.mode,
                    filter: stream.filter,
                };
                // The view refers to the fallback buffer; its extension, to the compressed bytes.
                let byte_offset = self.fallback.next_multiple_of(4);
                self.fallback = byte_offset + byte_length;
                let extensions = Some(BufferViewExtensions { meshopt });
                BufferView {
                    buffer: 1,
                    byte_offset,
                    byte_length,
                    extensions,
                    ..like
                }
            }
        };
        self.views.push(view);
        self.views_known.insert(key, self.views.len() - 1);
        self.views.len() - 1
    }

    /// Appends `bytes` and returns their offset. It is a multiple of four, the size of the largest
    /// component: accessors must be aligned to their component size.
    fn append(&mut self, bytes: &Piece) -> usize {
        self.buffer.fill_up(self.buffer.len().next_multiple_of(4));
        let offset = self.buffer.len();
        self.buffer.push(bytes);
        offset
    }

    /// Stores keyframe values and returns their accessor. Scalars are times, which have bounds.
    pub fn samples<const N: usize>(&mut self, values: &[[f32; N]], kind: &'static str) -> Index {
        let mut array = floats(values.to_vec(), kind);
        if N == 1 {
            let flat = values.as_flattened();
            array.bounds =
                [flat.first(), flat.last()].map(|end| end.into_iter().copied().collect());
        }
        let buffer_view =
            self.view_of(&array.content, BufferView::default(), array.reading(), None);
        self.accessor(buffer_view, &array)
    }

    /// Stores a surface.
    pub fn surface(&mut self, surface: &Packed) -> SurfaceAccessors {
        let mut store = |array: &Array| self.array(array);
        SurfaceAccessors {
            position: store(&surface.positions),
            normal: store(&surface.normals),
            uv: surface.uvs.as_ref().map(&mut store),
            tangent: surface.tangents.as_ref().map(&mut store),
            color: surface.colors.as_ref().map(&mut store),
            translucent: surface.translucent,
            indices: store(&surface.indices),
        }
    }

    fn array(&mut self, array: &Array) -> Index {
        let target = if array.kind == "SCALAR" {
            ELEMENT_ARRAY_BUFFER
        } else {
            ARRAY_BUFFER
        };
        let like = BufferView {
            target: Some(target),
            byte_stride: array.stride,
            ..BufferView::default()
        };
        let buffer_view =
            self.view_of(&array.content, like, array.reading(), array.stream.as_ref());
        self.accessor(buffer_view, array)
    }

    fn accessor(&mut self, buffer_view: Index, array: &Array) -> Index {
        let &Array {
            component_type,
            normalized,
            count,
            kind,
            ..
        } = array;
        let [min, max] = array.bounds.clone();
        *self.accessors_known.entry(buffer_view).or_insert_with(|| {
            self.accessors.push(Accessor {
                buffer_view,
                component_type,
                normalized,
                count,
                kind,
                min,
                max,
            });
            self.accessors.len() - 1
        })
    }

    /// Serialises the buffer for a store. It must hold nothing but `forms`.
    pub fn encode(&mut self, forms: &[StoredForm]) -> store::Content {
        let accessor = |a: &Accessor| {
            let kind = KINDS.iter().position(|kind| *kind == a.kind).unwrap_or(0);
            let bounds = [&a.min, &a.max].map(|bound| bound.iter().map(|x| x.to_bits()).collect());
            (
                a.buffer_view,
                a.component_type,
                a.normalized,
                a.count,
                kind,
                bounds,
            )
        };
        let kept = Kept {
            views: self.views.clone(),
            fallback: self.fallback,
            accessors: self.accessors.iter().map(accessor).collect(),
            forms: forms
                .iter()
                .map(|form| (form.parts.clone(), form.grid.map(|grid| grid.bits())))
                .collect(),
        };
        store::pack(&kept, self.buffer.pieces())
    }

    /// Restores a buffer from the result of [`Self::encode`]; `None` if it is inconsistent.
    pub fn decode(mut entry: Bytes) -> Option<(Self, Vec<StoredForm>)> {
        let (kept, bytes) = store::unpack::<Kept>(&entry)?;
        let length = bytes.len();
        let ends_in = |offset: usize, length: usize, all: usize| {
            offset.checked_add(length).is_some_and(|end| end <= all)
        };
        let fits = |view: &BufferView| match &view.extensions {
            None => view.buffer == 0 && ends_in(view.byte_offset, view.byte_length, length),
            Some(BufferViewExtensions { meshopt }) => {
                let stream = ends_in(meshopt.byte_offset, meshopt.byte_length, length);
                stream
                    && view.buffer == 1
                    && ends_in(view.byte_offset, view.byte_length, kept.fallback)
            }
        };
        if !kept.views.iter().all(fits) {
            return None;
        }
        let accessor =
            |(buffer_view, component_type, normalized, count, kind, bounds): KeptAccessor| {
                let [min, max] =
                    bounds.map(|bound| bound.into_iter().map(f32::from_bits).collect());
                let kind = *KINDS.get(kind)?;
                let fits = buffer_view < kept.views.len();
                fits.then_some(Accessor {
                    buffer_view,
                    component_type,
                    normalized,
                    count,
                    kind,
                    min,
                    max,
                })
            };
        let accessors: Vec<Accessor> = kept
            .accessors
            .into_iter()
            .map(accessor)
            .collect::<Option<_>>()?;
        let fits = |surface: &SurfaceAccessors| {
            let of = [
                Some(surface.position),
                Some(surface.normal),
                surface.uv,
                surface.tangent,
                surface.color,
                Some(surface.indices),
            ];
            of.into_iter()
                .flatten()
                .all(|index| index < accessors.len())
        };
        if !kept
            .forms
            .iter()
            .flat_map(|(parts, _)| parts)
            .flatten()
            .all(fits)
        {
            return None;
        }
        let form = |(parts, grid): KeptForm| StoredForm {
            parts,
            grid: grid.map(Grid::from_bits),
        };
        let forms = kept.forms.into_iter().map(form).collect();
        entry.truncate(length);
        let mut buffer = Pieces::default();
        buffer.push(&entry.into());
        // The tables for deduplication stay empty: images and keyframes, which are added later,
        // have no target, so they share no view with surfaces.
        let binary = Self {
            buffer,
            fallback: kept.fallback,
            views: kept.views,
            accessors,
            ..Self::default()
        };
        Some((binary, forms))
    }

    /// Returns the buffers: the actual one, and the fallback buffer of compressed views. Empty ones
    /// are omitted.
    pub fn buffers(&self) -> Vec<Buffer> {
        let real = Buffer {
            byte_length: self.buffer.len(),
            ..Buffer::default()
        };
        let extensions = Some(BufferExtensions {
            meshopt: FallbackBuffer { fallback: true },
        });
        let nowhere = Buffer {
            byte_length: self.fallback,
            extensions,
            ..Buffer::default()
        };
        // Compressed views name the fallback as buffer 1. The first buffer holds their streams, so
        // it is never omitted when there is a fallback.
        [real, nowhere]
            .into_iter()
            .filter(|buffer| buffer.byte_length > 0)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        let surface = || Surface {
            positions: positions.clone(),
            normals: normals.clone(),
            uvs: Some(vec![[0.0, 1.0]; 3]),
            tangents: Some(vec![[1.0, 0.0, 0.0, -1.0]; 3]),
            colors: colors.clone(),
            indices: vec![0, 1, 2],
        };
        for compression in [
            Compression::None,
            Compression::Quantize,
            Compression::Meshopt,
        ] {
            let grid = (compression != Compression::None)
                .then(|| Grid::around([&surface()]))
                .flatten();
            let mut binary = Binary::default();
            let surface = binary.surface(&Packed::new(
                surface(),
                grid.as_ref(),
                compression,
                &Store::none(),
            ));
            let stored = vec![
                StoredForm {
                    parts: vec![Some(surface), None],
                    grid,
                },
                StoredForm::default(),
            ];
            let entry = binary.encode(&stored).bytes().unwrap();
            let (mut again, forms) = Binary::decode(entry.clone()).unwrap();
            assert_eq!(
                (store::joined(&again.buffer.pieces()), &forms),
                (store::joined(&binary.buffer.pieces()), &stored)
            );
            let json = |binary: &Binary| {
                serde_json::to_string(&(&binary.views, &binary.accessors, binary.buffers()))
                    .unwrap()
            };
            assert_eq!(json(&again), json(&binary));
            for cut in 0..entry.len() {
                assert!(Binary::decode(entry.slice(..cut)).is_none());
            }
        }
        let nothing = Binary::default().encode(&[]).bytes().unwrap();
        assert!(
            Binary::decode(nothing)
                .unwrap()
                .0
                .buffer
                .pieces()
                .is_empty()
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        /// Draws from few values, so that attributes often have equal bytes.
        #[test]
        fn no_two_attributes_share_a_view_without_a_stride(
            surfaces in prop::collection::vec(
                (prop::collection::vec((0..3_u8, 0..3_u8, 0..3_u8, 0..3_u8), 1..5), any::<bool>(), any::<bool>(), any::<bool>()), 1..5),
            compression in prop::sample::select(vec![Compression::None, Compression::Quantize, Compression::Meshopt]),
        ) {
            const DIRECTIONS: [[f32; 3]; 3] = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
            type Corner = (u8, u8, u8, u8);
            let surface = |(corners, has_uvs, has_colors, is_sphere): &(Vec<Corner>, bool, bool, bool)| {
                let direction = |k: u8| DIRECTIONS[usize::from(k)];
                let share = |k: u8| f32::from(k) / 2.0;
                Surface {
                    positions: corners.iter().map(|c| direction(c.0)).collect(),
                    normals: corners.iter().map(|c| direction(if *is_sphere { c.0 } else { c.1 })).collect(),
                    uvs: has_uvs.then(|| corners.iter().map(|c| [share(c.2), share(c.3)]).collect()),
                    tangents: has_uvs.then(|| corners.iter().map(|c| [direction(c.3), [1.0; 3]].concat()[..4].try_into().unwrap()).collect()),
                    colors: has_colors.then(|| corners.iter().map(|c| [u16::from(c.2), 0, u16::from(c.3), 65535]).collect()),
                    indices: (0..corners.len() as u32).flat_map(|i| [i, 0, i]).collect(),
                }
            };
            let mut binary = Binary::default();
            let mut used = Vec::new();
            for surface in surfaces.iter().map(surface) {
                let grid = (compression != Compression::None).then(|| Grid::around([&surface])).flatten();
                let SurfaceAccessors { position, normal, uv, tangent, color, indices, .. } =
                    binary.surface(&Packed::new(surface, grid.as_ref(), compression, &Store::none()));
                used.extend([Some(position), Some(normal), uv, tangent, color, Some(indices)].into_iter().flatten());
            }
            used.push(binary.samples(&[[0.0_f32], [0.0], [1.0]], "SCALAR"));
            used.push(binary.samples(&[[0.0_f32, 0.0, 1.0]], "VEC3"));
            let sizes = |accessor: &Accessor| {
                let count = match accessor.kind { "SCALAR" => 1, "VEC2" => 2, "VEC3" => 3, _ => 4 };
                count * match accessor.component_type { BYTE => 1, UNSIGNED_SHORT => 2, _ => 4 }
            };
            for &index in &used {
                let accessor = &binary.accessors[index];
                let view = &binary.views[accessor.buffer_view];
                let stride = view.byte_stride.unwrap_or_else(|| sizes(accessor));
                prop_assert!((accessor.count - 1) * stride + sizes(accessor) <= view.byte_length);
                let sharing = binary.accessors.iter().filter(|other| other.buffer_view == accessor.buffer_view).count();
                prop_assert!(sharing == 1 || view.byte_stride.is_some(), "{accessor:?}");
            }
        }
    }

    #[test]
    fn indices_are_wide_only_where_they_must_be() {
        let (narrow, wide) = (
            index_array(vec![0, 1, 65534], 65535),
            index_array(vec![0, 1, 65535], 65536),
        );
        assert_eq!(
            (narrow.component_type, narrow.content.bytes),
            (UNSIGNED_SHORT, vec![0, 0, 1, 0, 254, 255].into())
        );
        assert_eq!(
            (wide.component_type, wide.content.bytes.len()),
            (UNSIGNED_INT, 12)
        );
    }
}
