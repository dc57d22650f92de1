//! Buffer views compressed by `EXT_meshopt_compression` or `KHR_meshopt_compression`. This module
//! decodes the codec's streams and doesn't interpret them.
//!
//! The decoder is safe for hostile input: it stays within the bytes that it is given, and its
//! output may be nonsense but never exceeds the requested size. Its preconditions (element sizes,
//! multiples) are checked here first.

use gltf::json;
use meshopt::FilterComponent;
use serde_json::{Map, Value};

/// The names of the extension; the later one adds newer streams and a filter for colours.
const NAMES: [&str; 2] = ["EXT_meshopt_compression", "KHR_meshopt_compression"];

/// Maximum compression ratio of the codec's streams.
const LARGEST_RATIO: usize = 1024;

/// The properties of a buffer view's compressed form.
pub(super) struct Compressed<'a> {
    /// The extension.
    pub name: &'static str,
    /// An index into the buffers.
    pub buffer: usize,
    /// The offset of the stream in the buffer.
    pub offset: usize,
    pub length: usize,
    stride: usize,
    count: usize,
    mode: &'a str,
    filter: &'a str,
}

impl<'a> Compressed<'a> {
    /// Returns `None` if the view is not compressed.
    pub fn of(view: &'a json::buffer::View) -> Option<Self> {
        let others = &view.extensions.as_ref()?.others;
        let (name, value) = NAMES
            .iter()
            .find_map(|name| Some((*name, others.get(*name)?)))?;
        let number = |key: &str, otherwise: usize| {
            value.get(key).map_or(otherwise, |n| {
                n.as_u64()
                    .and_then(|n| usize::try_from(n).ok())
                    .unwrap_or(usize::MAX)
            })
        };
        let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or("NONE");
        Some(Self {
            name,
            buffer: number("buffer", usize::MAX),
            offset: number("byteOffset", 0),
            length: number("byteLength", usize::MAX),
            stride: number("byteStride", 0),
            count: number("count", 0),
            mode: text("mode"),
            filter: text("filter"),
        })
    }

    /// Returns the decompressed size in bytes; `None` if the stream is too short for it.
    pub fn size(&self) -> Option<usize> {
        let size = self.stride.checked_mul(self.count)?;
        (size / LARGEST_RATIO <= self.length).then_some(size)
    }

    /// Returns the size of an element in bytes, if the view holds vertex attributes.
    pub fn attribute_stride(&self) -> Option<usize> {
        (self.mode == "ATTRIBUTES").then_some(self.stride)
    }

    /// Returns the decompressed content; `None` if the stream is broken or violates the extension.
    pub fn decode(&self, stream: &[u8]) -> Option<Vec<u8>> {
        // The decoder allocates the declared size, so refuse one that the stream can't hold.
        self.size()?;
        match (self.mode, self.stride, self.filter) {
            (_, _, _) if self.count == 0 => Some(Vec::new()),
            ("ATTRIBUTES", 4..=256, _) if self.stride.is_multiple_of(4) => {
                self.filtered(decode_attributes(stream, self.stride / 4, self.count)?)
            }
            ("TRIANGLES", 2, "NONE") if self.count.is_multiple_of(3) => {
                meshopt::decode_index_buffer::<u16>(stream, self.count)
                    .ok()
                    .map(bytes_of_shorts)
            }
            ("TRIANGLES", 4, "NONE") if self.count.is_multiple_of(3) => {
                meshopt::decode_index_buffer::<u32>(stream, self.count)
                    .ok()
                    .map(bytes_of_words)
            }
            ("INDICES", 2, "NONE") => meshopt::decode_index_sequence::<u16>(stream, self.count)
                .ok()
                .map(bytes_of_shorts),
            ("INDICES", 4, "NONE") => meshopt::decode_index_sequence::<u32>(stream, self.count)
                .ok()
                .map(bytes_of_words),
            _ => None,
        }
    }

    /// Applies the inverse of the filter to attributes.
    fn filtered(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        match (self.filter, self.stride) {
            ("NONE", _) => {}
            ("OCTAHEDRAL", 4) => filter(
                &mut bytes,
                i8::from_ne_bytes,
                i8::to_ne_bytes,
                meshopt::decode_filter_oct,
            ),
            ("OCTAHEDRAL", 8) => filter(
                &mut bytes,
                i16::from_ne_bytes,
                i16::to_ne_bytes,
                meshopt::decode_filter_oct,
            ),
            ("QUATERNION", 8) => filter(
                &mut bytes,
                i16::from_ne_bytes,
                i16::to_ne_bytes,
                meshopt::decode_filter_quat,
            ),
            ("COLOR", 4) => filter(
                &mut bytes,
                u8::from_ne_bytes,
                u8::to_ne_bytes,
                meshopt::decode_filter_color,
            ),
            ("COLOR", 8) => filter(
                &mut bytes,
                u16::from_ne_bytes,
                u16::to_ne_bytes,
                meshopt::decode_filter_color,
            ),
            // The filter applies to each number, regardless of how many an element has.
            ("EXPONENTIAL", _) => {
                let mut words: Vec<[u32; 1]> = bytes
                    .as_chunks::<4>()
                    .0
                    .iter()
                    .map(|word| [u32::from_ne_bytes(*word)])
                    .collect();
                meshopt::decode_filter_exp(&mut words);
                bytes = words.iter().flat_map(|[word]| word.to_ne_bytes()).collect();
            }
            _ => return None,
        }
        Some(bytes)
    }
}

/// Returns whether a buffer is a fallback for decoders without the compression, and so may have no
/// bytes.
pub(super) fn is_fallback(buffer: &json::Buffer) -> bool {
    let fallback = |others: &Map<String, Value>| {
        NAMES
            .iter()
            .any(|name| others.get(*name).is_some_and(|e| e["fallback"] == true))
    };
    buffer
        .extensions
        .as_ref()
        .is_some_and(|extensions| fallback(&extensions.others))
}

fn filter<C: FilterComponent, const SIZE: usize>(
    bytes: &mut [u8],
    from: fn([u8; SIZE]) -> C,
    to: fn(C) -> [u8; SIZE],
    decode: fn(&mut [[C; 4]]),
) {
    let components = bytes
        .as_chunks::<SIZE>()
        .0
        .iter()
        .map(|component| from(*component))
        .collect::<Vec<C>>();
    let mut elements = components.as_chunks::<4>().0.to_vec();
    decode(&mut elements);
    for (target, component) in bytes
        .as_chunks_mut::<SIZE>()
        .0
        .iter_mut()
        .zip(elements.as_flattened())
    {
        *target = to(*component);
    }
}

/// An element of a vertex stream, of N words.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Element<const N: usize>([u32; N]);

impl<const N: usize> Default for Element<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

/// Decodes elements of `words` words; the decoder needs their size at compile time.
fn decode_attributes(stream: &[u8], words: usize, count: usize) -> Option<Vec<u8>> {
    fn decode<const N: usize>(stream: &[u8], count: usize) -> Option<Vec<u8>> {
        let elements = meshopt::decode_vertex_buffer::<Element<N>>(stream, count).ok()?;
        Some(
            elements
                .iter()
                .flat_map(|element| element.0)
                .flat_map(u32::to_ne_bytes)
                .collect(),
        )
    }
    macro_rules! sizes {
        ($($n:literal)*) => { match words { $($n => decode::<$n>(stream, count),)* _ => None } };
    }
    sizes!(1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43
        44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63 64)
}

#[allow(clippy::needless_pass_by_value)] // for map
fn bytes_of_shorts(values: Vec<u16>) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

#[allow(clippy::needless_pass_by_value)] // for map
fn bytes_of_words(values: Vec<u32>) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}
