//! Buffers, buffer views and accessors of a glTF file, as numbers regardless of their use. Every
//! index and count is checked.

use std::borrow::Cow;
use std::collections::HashMap;

use gltf::json::accessor::{ComponentType, Type};
use gltf::json::validation::Checked;
use gltf::json::{self, Index, Root};

use super::{decode_data, meshopt};
use crate::assembly::Assembly;
use crate::{Error, Source, codes};

/// The cost of an element without bytes: only the declared count bounds their number.
const COST_OF_NOTHING: usize = 8;

/// The numbers of a file. Buffers are loaded and decompressed lazily.
pub(super) struct Buffers<'a> {
    root: &'a Root,
    binary: Option<&'a [u8]>,
    /// Buffers by index; `None` for one that is unavailable, which has been reported.
    loaded: HashMap<usize, Option<Cow<'a, [u8]>>>,
    /// The content of compressed views; `None` for one that is broken.
    decoded: HashMap<usize, Option<Vec<u8>>>,
    /// The first unavailable buffer, and the reason.
    pub lost: Option<String>,
}

impl<'a> Buffers<'a> {
    /// Creates the buffers of a document and the binary chunk of its container.
    pub fn new(root: &'a Root, binary: Option<&'a [u8]>) -> Self {
        Self {
            root,
            binary,
            loaded: HashMap::new(),
            decoded: HashMap::new(),
            lost: None,
        }
    }

    /// Returns the bytes of a buffer view; `None` if it or its buffer does not exist or is too
    /// short.
    ///
    /// # Errors
    /// `mesh-too-large`; `mesh-unreadable` if its compressed form is broken and it has no other.
    pub fn view(
        &mut self,
        index: usize,
        assembly: &mut Assembly,
        source: &mut Source,
    ) -> Result<Option<&[u8]>, Error> {
        self.prepare(index, assembly, source)?;
        Ok(self.prepared(index))
    }

    /// Loads and decompresses the data of a view.
    fn prepare(
        &mut self,
        index: usize,
        assembly: &mut Assembly,
        source: &mut Source,
    ) -> Result<(), Error> {
        let Some(view) = self.root.buffer_views.get(index) else {
            return Ok(());
        };
        if let Some(compressed) = meshopt::Compressed::of(view) {
            if let Some(known) = self.decoded.get(&index) {
                return if known.is_some() {
                    Ok(())
                } else {
                    self.fallback(view, &compressed, assembly, source)
                };
            }
            if let Some(size) = compressed.size() {
                // Charge the budget before decoding: a stream can grow a thousandfold.
                assembly.spend(size / 4)?;
            }
            self.load(compressed.buffer, assembly, source);
            let stream = self.bytes(compressed.buffer, compressed.offset, compressed.length);
            let decoded = stream.and_then(|stream| compressed.decode(stream));
            let found = decoded.is_some();
            self.decoded.insert(index, decoded);
            return if found {
                Ok(())
            } else {
                self.fallback(view, &compressed, assembly, source)
            };
        }
        self.load(view.buffer.value(), assembly, source);
        Ok(())
    }

    /// Loads the uncompressed form of a view.
    fn fallback(
        &mut self,
        view: &json::buffer::View,
        compressed: &meshopt::Compressed,
        assembly: &mut Assembly,
        source: &mut Source,
    ) -> Result<(), Error> {
        let buffer = view.buffer.value();
        self.load(buffer, assembly, source);
        if self.loaded.get(&buffer).is_some_and(Option::is_some) {
            return Ok(());
        }
        Err(Error::new(
            &codes::UNREADABLE,
            format!("its {} data is broken", compressed.name),
        )
        .help("export the mesh again"))
    }

    fn prepared(&self, index: usize) -> Option<&[u8]> {
        if let Some(Some(decoded)) = self.decoded.get(&index) {
            return Some(decoded);
        }
        let view = self.root.buffer_views.get(index)?;
        let start = usize::try_from(view.byte_offset.unwrap_or_default().0).ok()?;
        self.bytes(
            view.buffer.value(),
            start,
            usize::try_from(view.byte_length.0).ok()?,
        )
    }

    /// Returns the number of bytes between two values of a view; 0 if they are packed.
    fn stride(&self, index: usize) -> Option<usize> {
        let view = self.root.buffer_views.get(index)?;
        let compressed = meshopt::Compressed::of(view)
            .filter(|_| matches!(self.decoded.get(&index), Some(Some(_))));
        let packed = view.byte_stride.map_or(0, |stride| stride.0);
        Some(
            compressed
                .and_then(|compressed| compressed.attribute_stride())
                .unwrap_or(packed),
        )
    }

    fn bytes(&self, buffer: usize, start: usize, length: usize) -> Option<&[u8]> {
        self.loaded
            .get(&buffer)?
            .as_deref()?
            .get(start..start.checked_add(length)?)
    }

    fn load(&mut self, index: usize, assembly: &mut Assembly, source: &mut Source) {
        if self.loaded.contains_key(&index) {
            return;
        }
        let Some(buffer) = self.root.buffers.get(index) else {
            return;
        };
        let loaded = match &buffer.uri {
            // It may lack its bytes by design, so there is nothing to report.
            None if meshopt::is_fallback(buffer) => Ok(None),
            None if index == 0 => self
                .binary
                .map(|binary| Some(Cow::Borrowed(binary)))
                .ok_or_else(|| "the file has no binary chunk".to_owned()),
            None => Err("it has no address".to_owned()),
            Some(uri) => load_uri(uri, assembly, source).map(|bytes| Some(Cow::Owned(bytes))),
        };
        let loaded = loaded.unwrap_or_else(|reason| {
            let message = format!("buffer {index} can't be had: {reason}");
            self.lost.get_or_insert_with(|| message.clone());
            source.report(
                &codes::REFERENCE,
                message,
                "put the buffer beside the glTF file",
            );
            None
        });
        self.loaded.insert(index, loaded);
    }

    /// Returns the values of an accessor, with integers converted to floats as specified. Empty,
    /// with a finding, if there are none or they exceed their buffer. `normalized` integers are
    /// treated as such even if the accessor omits the flag.
    ///
    /// # Errors
    /// As [`Self::view`].
    pub fn values<const N: usize>(
        &mut self,
        accessor: Index<json::Accessor>,
        normalized: bool,
        assembly: &mut Assembly,
        source: &mut Source,
    ) -> Result<Vec<[f64; N]>, Error> {
        let index = accessor.value();
        let Some(accessor) = self.root.accessors.get(index) else {
            source.report(
                &codes::REFERENCE,
                format!("there is no accessor {index}"),
                "",
            );
            return Ok(Vec::new());
        };
        let count = usize::try_from(accessor.count.0).unwrap_or(usize::MAX);
        assembly.spend(if accessor.buffer_view.is_some() {
            count
        } else {
            count.saturating_mul(COST_OF_NOTHING)
        })?;
        let sparse = accessor
            .sparse
            .iter()
            .flat_map(|sparse| [sparse.indices.buffer_view, sparse.values.buffer_view]);
        for view in accessor.buffer_view.into_iter().chain(sparse) {
            self.prepare(view.value(), assembly, source)?;
        }
        let values = self.try_values(accessor, normalized, count);
        if values.is_none() {
            let message =
                format!("accessor {index} is of the wrong kind or lies outside of its buffer");
            source.report(&codes::REFERENCE, message, "");
        }
        Ok(values.unwrap_or_default())
    }

    fn try_values<const N: usize>(
        &self,
        accessor: &json::Accessor,
        normalized: bool,
        count: usize,
    ) -> Option<Vec<[f64; N]>> {
        let (Checked::Valid(kind), Checked::Valid(component)) =
            (accessor.type_, accessor.component_type)
        else {
            return None;
        };
        if components(kind) != Some(N) {
            return None;
        }
        let layout = Layout {
            component: component.0,
            normalized: accessor.normalized || normalized,
        };
        let mut values = match accessor.buffer_view {
            Some(view) => {
                let bytes = self.prepared(view.value())?;
                layout.read(
                    bytes,
                    accessor.byte_offset.unwrap_or_default().0,
                    self.stride(view.value())?,
                    count,
                )?
            }
            // Without a view all values are zero, except for sparse replacements.
            None => vec![[0.0; N]; count],
        };
        if let Some(sparse) = &accessor.sparse {
            let count = usize::try_from(sparse.count.0).ok()?;
            let Checked::Valid(component) = sparse.indices.component_type else {
                return None;
            };
            let places: Vec<[f64; 1]> = Layout {
                component: component.0,
                normalized: false,
            }
            .read(
                self.prepared(sparse.indices.buffer_view.value())?,
                sparse.indices.byte_offset.0,
                0,
                count,
            )?;
            let replacements: Vec<[f64; N]> = layout.read(
                self.prepared(sparse.values.buffer_view.value())?,
                sparse.values.byte_offset.0,
                0,
                count,
            )?;
            for ([place], value) in places.into_iter().zip(replacements) {
                *values.get_mut(place as usize)? = value;
            }
        }
        Some(values)
    }
}

/// Loads a URI: embedded data, or a file, which then counts towards the size limit of the mesh.
fn load_uri(uri: &str, assembly: &mut Assembly, source: &Source) -> Result<Vec<u8>, String> {
    match uri.strip_prefix("data:") {
        Some(data) => decode_data(data).ok_or_else(|| "its data URI is broken".to_owned()),
        None => source.open(uri).map(|file| {
            assembly.grow(file.bytes.len());
            file.bytes.to_vec()
        }),
    }
}

/// Returns the number of components of a value; `None` for matrices, which no attribute uses.
fn components(kind: Type) -> Option<usize> {
    match kind {
        Type::Scalar => Some(1),
        Type::Vec2 => Some(2),
        Type::Vec3 => Some(3),
        Type::Vec4 => Some(4),
        Type::Mat2 | Type::Mat3 | Type::Mat4 => None,
    }
}

/// The layout of numbers in a buffer.
struct Layout {
    component: ComponentType,
    normalized: bool,
}

impl Layout {
    /// Reads `count` values of N numbers; `None` if the bytes are too short. A `stride` of 0 means
    /// packed values.
    fn read<const N: usize>(
        &self,
        bytes: &[u8],
        offset: u64,
        stride: usize,
        count: usize,
    ) -> Option<Vec<[f64; N]>> {
        let size = self.component.size();
        let stride = if stride == 0 { N * size } else { stride };
        let bytes = bytes.get(usize::try_from(offset).ok()?..)?;
        // The last value needs no padding up to the stride.
        let needed = count.checked_sub(1).map_or(Some(0), |last| {
            last.checked_mul(stride)?.checked_add(N * size)
        })?;
        if bytes.len() < needed {
            return None;
        }
        let number = |at: usize| self.number(bytes.get(at..).unwrap_or_default());
        let value = |i: usize| std::array::from_fn(|k| number(i * stride + k * size));
        Some((0..count).map(value).collect())
    }

    /// Returns the number at the beginning of `bytes`; NaN if they are too short.
    fn number(&self, bytes: &[u8]) -> f64 {
        let (value, largest) = match (self.component, bytes) {
            (ComponentType::I8, [a, ..]) => (f64::from(a.cast_signed()), f64::from(i8::MAX)),
            (ComponentType::U8, [a, ..]) => (f64::from(*a), f64::from(u8::MAX)),
            (ComponentType::I16, [a, b, ..]) => {
                (f64::from(i16::from_le_bytes([*a, *b])), f64::from(i16::MAX))
            }
            (ComponentType::U16, [a, b, ..]) => {
                (f64::from(u16::from_le_bytes([*a, *b])), f64::from(u16::MAX))
            }
            (ComponentType::U32, [a, b, c, d, ..]) => (
                f64::from(u32::from_le_bytes([*a, *b, *c, *d])),
                f64::from(u32::MAX),
            ),
            (ComponentType::F32, [a, b, c, d, ..]) => {
                return f64::from(f32::from_le_bytes([*a, *b, *c, *d]));
            }
            _ => return f64::NAN,
        };
        if self.normalized {
            // The lowest integer is slightly below -1, and is clamped (glTF 2.0).
            (value / largest).max(-1.0)
        } else {
            value
        }
    }
}
