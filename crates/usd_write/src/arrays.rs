//! The large arrays of a binary layer: encoded in parallel, and inserted into the file while it is
//! written.
//!
//! `openusd` encodes integer arrays sequentially, and needs copies of all arrays in the layer.
//! Instead, the layer has a small placeholder for each array, and when `openusd` writes a
//! placeholder, [`Output`] writes the array. The file is byte-identical to one from a layer with
//! the arrays themselves. Arrays of meshes that are not in memory are loaded mesh by mesh, and
//! those that don't go into the file are freed at once. This module is independent of layers.

use std::collections::HashMap;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use rayon::prelude::*;
use urdf_usd_robot::{CacheEvicted, LazyMesh, MeshArrays};
use urdf_usd_store::{Piece, Pieces, Store, bytes_of};
use urdf_usd_usd_author::Error;

/// The reason why a binary layer could not be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum WriteError {
    /// The layer has a value that the format can't represent.
    #[error(transparent)]
    Layer(#[from] Error),
    /// An array of a mesh is no longer in the cache.
    #[error(transparent)]
    Evicted(#[from] CacheEvicted),
}

/// Minimum length of encoded integer arrays; shorter ones are stored raw.
const MIN_CODED: usize = 16;

/// Marker bits in placeholders of floats: a NaN that no computation produces.
const MARK: u32 = 0xffa5_5e1d;

/// Arrays that replace their placeholders.
#[derive(Default)]
pub(super) struct Arrays<'a>(Vec<Array<'a>>);

enum Array<'a> {
    Ints(Ints<'a>),
    /// The number of vectors, and their bytes.
    Vectors(usize, Bytes),
    /// An array of a mesh that is not in memory.
    Cached(&'a Arc<LazyMesh>, MeshArray),
}

impl Array<'_> {
    /// Returns whether both are arrays of the same mesh.
    fn is_with(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Cached(mesh, _), Self::Cached(other, _)) if Arc::ptr_eq(mesh, other))
    }
}

/// An array of a mesh.
#[derive(Clone, Copy)]
pub(super) enum MeshArray {
    Indices(Indices),
    Pairs(VectorField<2>),
    Triples(VectorField<3>),
}

/// Returns indices of a mesh.
pub(super) type Indices = fn(&MeshArrays) -> &[[u32; 3]];

/// A field of vectors of a mesh.
#[derive(Clone, Copy)]
pub(super) struct VectorField<const N: usize> {
    /// Borrows the vectors.
    pub get: fn(&MeshArrays) -> &[[f32; N]],
    /// Moves them out of the mesh.
    pub take: fn(&mut MeshArrays) -> Vec<[f32; N]>,
}

/// Vectors of a shared owner: their bytes are already those of the file, so they are not copied.
struct Vectors<T, const N: usize> {
    owner: Arc<T>,
    vectors: fn(&T) -> &[[f32; N]],
}

impl<T, const N: usize> AsRef<[u8]> for Vectors<T, N> {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice((self.vectors)(&self.owner).as_flattened())
    }
}

/// An array of integers.
#[derive(Clone, Copy)]
pub(super) enum Ints<'a> {
    /// Indices; values above `i32::MAX` are clamped.
    Indices(&'a [u32]),
    /// Consecutive indices, as ranges.
    Ranges(&'a [Range<u32>]),
    /// A repeated value.
    Same { value: i32, count: usize },
}

impl Ints<'_> {
    fn len(self) -> usize {
        match self {
            Self::Indices(indices) => indices.len(),
            Self::Ranges(ranges) => ranges.iter().map(Range::len).sum(),
            Self::Same { count, .. } => count,
        }
    }

    fn values(self) -> Vec<i32> {
        match self {
            Self::Indices(indices) => indices.iter().map(|&index| signed(index)).collect(),
            Self::Ranges(ranges) => ranges.iter().cloned().flatten().map(signed).collect(),
            Self::Same { value, count } => vec![value; count],
        }
    }

    fn coded(self) -> Vec<u8> {
        match self {
            Self::Indices(indices) => coded(indices.iter().map(|&index| signed(index))),
            // Collected first: the encoder needs the exact length.
            Self::Ranges(_) => coded(self.values().into_iter()),
            Self::Same { value, count } => coded_repeated(value, count),
        }
    }
}

fn signed(index: u32) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}

impl From<VectorField<2>> for MeshArray {
    fn from(vectors: VectorField<2>) -> Self {
        Self::Pairs(vectors)
    }
}

impl From<VectorField<3>> for MeshArray {
    fn from(vectors: VectorField<3>) -> Self {
        Self::Triples(vectors)
    }
}

impl<'a> Arrays<'a> {
    /// Returns the substitute for an integer array in a layer: a placeholder, or the integers
    /// themselves if they are few.
    pub(super) fn ints(&mut self, ints: Ints<'a>) -> Vec<i32> {
        if ints.len() < MIN_CODED {
            return ints.values();
        }
        self.0.push(Array::Ints(ints));
        placeholder(self.0.len() - 1)
    }

    /// Returns the substitute for a per-corner index array of a mesh; see [`Self::ints`].
    ///
    /// # Errors
    /// If the mesh is no longer in the cache.
    pub(super) fn indices(
        &mut self,
        mesh: &'a Arc<LazyMesh>,
        indices: Indices,
    ) -> Result<Vec<i32>, CacheEvicted> {
        if let Some(arrays) = mesh.in_memory() {
            return Ok(self.ints(Ints::Indices(indices(arrays).as_flattened())));
        }
        if mesh.outline().triangles * 3 < MIN_CODED {
            return Ok(Ints::Indices(indices(&*mesh.arrays()?).as_flattened()).values());
        }
        self.0
            .push(Array::Cached(mesh, MeshArray::Indices(indices)));
        Ok(placeholder(self.0.len() - 1))
    }

    /// Returns the single vector that is the placeholder for an array of vectors of a mesh. `N` is
    /// 2 or 3.
    pub(super) fn vectors<const N: usize>(
        &mut self,
        mesh: &'a Arc<LazyMesh>,
        vectors: VectorField<N>,
    ) -> [f32; N]
    where
        MeshArray: From<VectorField<N>>,
    {
        if let Some(arrays) = mesh.in_memory() {
            return self.shared(arrays.clone(), vectors.get);
        }
        self.0.push(Array::Cached(mesh, vectors.into()));
        self.vector()
    }

    /// Returns the placeholder for vectors of a shared `owner`.
    fn shared<T: Send + Sync + 'static, const N: usize>(
        &mut self,
        owner: Arc<T>,
        vectors: fn(&T) -> &[[f32; N]],
    ) -> [f32; N] {
        self.0.push(Array::Vectors(
            vectors(&owner).len(),
            Bytes::from_owner(Vectors { owner, vectors }),
        ));
        self.vector()
    }

    /// Returns the placeholder vector of the last array.
    fn vector<const N: usize>(&self) -> [f32; N] {
        // y is the number of the array, and x marks it as a placeholder.
        std::array::from_fn(|k| {
            f32::from_bits(if k == 1 {
                self.0.len() as u32 - 1
            } else {
                MARK
            })
        })
    }

    /// Returns the output of `write` in pieces, with the arrays in place of their placeholders. The
    /// job of `store` may spill arrays of meshes that are not in memory.
    ///
    /// # Errors
    /// Errors of `write`; if an array does not have exactly one placeholder; and if a mesh is no
    /// longer in the cache.
    pub(super) fn written(
        &self,
        store: &Store,
        write: impl FnOnce(&mut Output) -> Result<(), Error>,
    ) -> Result<Vec<Piece>, WriteError> {
        // Arrays of one mesh are adjacent and form one task, so that each mesh is loaded once.
        let by_mesh: Vec<&[Array<'_>]> = self.0.chunk_by(Array::is_with).collect();
        let contents: Vec<Vec<Content>> = by_mesh
            .into_par_iter()
            .map(|arrays| contents(arrays, store))
            .collect::<Result<_, _>>()?;
        let contents: Vec<Content> = contents.into_iter().flatten().collect();
        let ints = (0..).zip(&self.0).filter(|(_, array)| {
            matches!(
                array,
                Array::Ints(_) | Array::Cached(_, MeshArray::Indices(_))
            )
        });
        let mut output = Output {
            file: File::default(),
            placeholders: ints
                .map(|(number, _)| (coded(placeholder(number).into_iter()), number))
                .collect(),
            places: vec![0; contents.len()],
            contents,
        };
        write(&mut output)?;
        match output.places.iter().all(|places| *places == 1) {
            true => Ok(output.file.into_pieces()),
            false => Err(Error {
                path: "/".to_owned(),
                reason: "an array has not exactly one place".to_owned(),
            }
            .into()),
        }
    }
}

/// Returns incompressible placeholder values, unique per array: the minimum number that is encoded,
/// and far apart.
fn placeholder(number: usize) -> Vec<i32> {
    let mixed =
        // Fibonacci hashing: 2⁶⁴ divided by the golden ratio spreads consecutive numbers.
        |k: usize| ((number * MIN_CODED + k + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    (0..MIN_CODED).map(|k| mixed(k) as i32).collect()
}

/// An array as stored in the file, after its count.
struct Content {
    is_coded: bool,
    count: usize,
    bytes: Piece,
}

impl Content {
    fn of(ints: Ints<'_>, store: &Store) -> Self {
        Self {
            is_coded: true,
            count: ints.len(),
            bytes: store.piece(ints.coded().into()),
        }
    }

    /// Moves the vectors out of a mesh if the caller is its only owner.
    fn of_mesh<const N: usize>(
        mesh: &mut Result<MeshArrays, Arc<MeshArrays>>,
        vectors: VectorField<N>,
        store: &Store,
    ) -> Self {
        let (count, bytes) = match mesh {
            Ok(mesh) => {
                let taken = (vectors.take)(mesh);
                (taken.len(), bytes_of(taken))
            }
            Err(mesh) => (
                (vectors.get)(mesh).len(),
                Bytes::from_owner(Vectors {
                    owner: mesh.clone(),
                    vectors: vectors.get,
                }),
            ),
        };
        Self {
            is_coded: false,
            count,
            bytes: store.piece(bytes),
        }
    }
}

/// Loads and encodes an array, or several arrays of one mesh.
fn contents(arrays: &[Array<'_>], store: &Store) -> Result<Vec<Content>, CacheEvicted> {
    let mesh = match arrays {
        [Array::Ints(ints)] => return Ok(vec![Content::of(*ints, store)]),
        [Array::Vectors(count, bytes)] => {
            return Ok(vec![Content {
                is_coded: false,
                count: *count,
                bytes: bytes.clone().into(),
            }]);
        }
        [Array::Cached(mesh, _), ..] => mesh,
        _ => return Ok(Vec::new()),
    };
    let mesh = mesh.arrays()?;
    let indices = arrays.par_iter().map(|array| match array {
        Array::Cached(_, MeshArray::Indices(indices)) => Some(Content::of(
            Ints::Indices(indices(&mesh).as_flattened()),
            store,
        )),
        _ => None,
    });
    let mut contents: Vec<Option<Content>> = indices.collect();
    // Indices are encoded before this, in parallel and by reference. From here on the vectors of a
    // mesh without another owner are moved, which saves their copy.
    let mut mesh = Arc::try_unwrap(mesh);
    for (array, content) in arrays.iter().zip(&mut contents) {
        match array {
            Array::Cached(_, MeshArray::Pairs(vectors)) => {
                *content = Some(Content::of_mesh(&mut mesh, *vectors, store))
            }
            Array::Cached(_, MeshArray::Triples(vectors)) => {
                *content = Some(Content::of_mesh(&mut mesh, *vectors, store))
            }
            _ => {}
        }
    }
    Ok(contents.into_iter().flatten().collect())
}

/// An in-memory file, in pieces. It is written sequentially; only bytes before the first array or
/// after the last large one may be overwritten.
#[derive(Default)]
struct File {
    /// The bytes before the first array.
    first: Vec<u8>,
    /// The bytes from the first array on.
    rest: Pieces,
    position: usize,
}

impl File {
    /// Returns the length in bytes.
    fn length(&self) -> usize {
        self.first.len() + self.rest.len()
    }

    /// Returns whether the file ends with these bytes and the position is at its end.
    fn ends_with(&mut self, bytes: &[u8]) -> bool {
        let last = if self.rest.is_empty() {
            &self.first[..]
        } else {
            self.rest.last()
        };
        last.ends_with(bytes) && self.position == self.length()
    }

    /// Replaces the last `replaced` bytes with an array.
    fn put(&mut self, replaced: usize, counts: &[u8], array: &Piece) {
        if self.rest.is_empty() {
            self.first
                .truncate(self.first.len().saturating_sub(replaced));
        } else {
            self.rest.shorten(replaced);
        }
        self.rest.extend(counts);
        self.rest.push(array);
        self.position = self.length();
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (length, end) = (self.length(), self.position + bytes.len());
        if self.position >= length {
            if self.rest.is_empty() {
                self.first.resize(self.position, 0);
                self.first.extend(bytes);
            } else {
                self.rest.fill_up(self.position - self.first.len());
                self.rest.extend(bytes);
            }
        } else {
            let is_first = self.position < self.first.len();
            let part = if is_first {
                &mut self.first[..]
            } else {
                self.rest.last()
            };
            let start = if is_first { 0 } else { length - part.len() };
            let place = self
                .position
                .checked_sub(start)
                .and_then(|at| part.get_mut(at..end - start));
            place
                .ok_or_else(|| io::Error::other("this part of the file can't be written again"))?
                .copy_from_slice(bytes);
        }
        self.position = end;
        Ok(())
    }

    fn into_pieces(mut self) -> Vec<Piece> {
        [Piece::from(self.first)]
            .into_iter()
            .chain(self.rest.pieces())
            .filter(|piece| !piece.is_empty())
            .collect()
    }
}

/// An in-memory file that replaces placeholders with their arrays.
pub(super) struct Output {
    file: File,
    contents: Vec<Content>,
    /// The indices of integer arrays, by their encoded placeholders.
    placeholders: HashMap<Vec<u8>, usize>,
    /// Number of placeholders found for each array.
    places: Vec<usize>,
}

impl Output {
    /// Returns the index of the array with this placeholder.
    fn array(&self, bytes: &[u8]) -> Option<usize> {
        let number = match bytes.as_chunks() {
            (&[first, number] | &[first, number, _], []) if u32::from_le_bytes(first) == MARK => {
                u32::from_le_bytes(number) as usize
            }
            _ => return self.placeholders.get(bytes).copied(),
        };
        self.contents
            .get(number)
            .is_some_and(|content| !content.is_coded)
            .then_some(number)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Relies on `openusd` writing an array with one call. If a version does not, an array has
        // no place, and `Arrays::written` fails.
        let Some(number) = self.array(bytes) else {
            self.file.write(bytes)?;
            return Ok(bytes.len());
        };
        let (
            Some(places),
            Some(Content {
                is_coded,
                count,
                bytes: array,
            }),
        ) = (self.places.get_mut(number), self.contents.get(number))
        else {
            return Err(io::Error::other("a placeholder is of no array"));
        };
        *places += 1;
        // The preceding counts belong to the placeholder.
        let before = match is_coded {
            true => [MIN_CODED as u64, bytes.len() as u64]
                .map(u64::to_le_bytes)
                .concat(),
            false => 1_u64.to_le_bytes().to_vec(),
        };
        if !self.file.ends_with(&before) {
            return Err(io::Error::other("there is no count before an array"));
        }
        let counts = [*count as u64, array.len() as u64].map(u64::to_le_bytes);
        let counts = if *is_coded { &counts[..] } else { &counts[..1] };
        self.file.put(before.len(), counts.as_flattened(), array);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Output {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => i64::try_from(position).ok(),
            SeekFrom::End(offset) => (self.file.length() as i64).checked_add(offset),
            SeekFrom::Current(offset) => (self.file.position as i64).checked_add(offset),
        };
        let position = position.and_then(|position| usize::try_from(position).ok());
        self.file.position =
            position.ok_or_else(|| io::Error::other("this is no place in the file"))?;
        Ok(self.file.position as u64)
    }
}

/// Encodes 32-bit integers as crate files do (`integerCoding.cpp` of OpenUSD): the most common
/// delta, a code for the size of each delta, then the deltas, all compressed as one LZ4 block.
/// Deltas must fit into 32 bits.
fn coded(values: impl ExactSizeIterator<Item = i32> + Clone) -> Vec<u8> {
    let count = values.len();
    let mut differences = values.scan(0_i32, |last, value| {
        Some(value.wrapping_sub(std::mem::replace(last, value)))
    });
    let common = most_common(differences.clone(), count);
    let groups = count.div_ceil(4);
    let mut bytes = Vec::with_capacity(CODES + groups + 2 * count);
    bytes.extend(common.to_le_bytes());
    bytes.resize(CODES + groups, 0);
    // In blocks: to copy the deltas of each group would wait until the processor has stored them.
    let mut encoded = [0; BLOCK * 4 * size_of::<i32>()];
    for start in (0..groups).step_by(BLOCK) {
        let (mut codes, mut used) = ([0; BLOCK], 0);
        for code in &mut codes {
            for (k, difference) in differences.by_ref().take(4).enumerate() {
                let length = code_of(difference, common);
                *code |= length << (2 * k);
                // Without branches, which the processor could not predict: all bytes are written, and
                // the next delta overwrites those that do not count.
                if let Some(place) = encoded.get_mut(used..).and_then(<[u8]>::first_chunk_mut) {
                    *place = difference.to_le_bytes();
                }
                used += usize::from(length) + usize::from(length == 3);
            }
        }
        let places = bytes.get_mut(CODES + start..CODES + groups);
        for (place, code) in places.into_iter().flatten().zip(codes) {
            *place = code;
        }
        bytes.extend_from_slice(encoded.get(..used).unwrap_or_default());
    }
    compressed(&bytes)
}

/// Encodes an integer that is repeated, as [`coded`]. The number of times is at least [`MIN_CODED`],
/// so that zero is the most common delta.
fn coded_repeated(value: i32, count: usize) -> Vec<u8> {
    let length = code_of(value, 0);
    let mut bytes = vec![0; CODES + count.div_ceil(4)];
    if let Some(first) = bytes.get_mut(CODES) {
        *first = length;
    }
    let used = usize::from(length) + usize::from(length == 3);
    bytes.extend(value.to_le_bytes().iter().take(used));
    compressed(&bytes)
}

/// Number of groups of four deltas that are encoded at a time.
const BLOCK: usize = 64;

/// Offset of the codes, after the most common delta.
const CODES: usize = size_of::<i32>();

/// Returns the code of a delta: 0 for the common one, 1 to 3 if 8, 16 or 32 bits follow.
fn code_of(difference: i32, common: i32) -> u8 {
    let is_medium = i32::from(difference as i8) != difference;
    let is_large = i32::from(difference as i16) != difference;
    (1 + u8::from(is_medium) + u8::from(is_large)) * u8::from(difference != common)
}

fn compressed(bytes: &[u8]) -> Vec<u8> {
    // A leading zero marks a single LZ4 block.
    let mut block = vec![0];
    block.extend(lz4_flex::block::compress(bytes));
    block
}

/// Returns the most common value, the smallest on a tie; 0 if there are none.
fn most_common(values: impl Iterator<Item = i32> + Clone, count: usize) -> i32 {
    // Most deltas are small, so a table counts them. It has two counters for each value, which take
    // turns: an increment of the counter that was incremented last waits for the processor to store it.
    let half = (count / 4).next_power_of_two().min(1 << 15) as i32;
    let slot = |value: i32| value.wrapping_add(half) as u32 as usize;
    let mut table = vec![[0_u32; 2]; 2 * half as usize];
    let (mut others, mut turn) = (0, 0);
    for value in values.clone() {
        let counters = table.get_mut(slot(value));
        match counters.and_then(|counters| counters.get_mut(turn)) {
            Some(counter) => *counter += 1,
            None => others += 1,
        }
        turn ^= 1;
    }
    let better = |best: (u32, i32), other: (u32, i32)| {
        if other.0 > best.0 || (other.0 == best.0 && other.1 < best.1) {
            other
        } else {
            best
        }
    };
    // Two passes without branches. The first value with the largest count is the smallest on a tie.
    let count_of = |[even, odd]: &[u32; 2]| even + odd;
    let most = table.iter().map(count_of).fold(0, u32::max);
    let first = (-half..)
        .zip(&table)
        .find(|(_, counters)| count_of(counters) == most);
    let mut best = (
        most,
        first.filter(|_| most > 0).map_or(0, |(value, _)| value),
    );
    // A value outside of the table can only win if all those outside are at least as many.
    if others > 0 && others >= best.0 {
        let mut counts: HashMap<i32, u32, foldhash::fast::FixedState> = HashMap::default();
        let rest = values.filter(|value| slot(*value) >= table.len());
        rest.for_each(|value| *counts.entry(value).or_insert(0) += 1);
        best = counts
            .into_iter()
            .map(|(value, count)| (count, value))
            .fold(best, better);
    }
    best.1
}

#[cfg(test)]
mod tests {
    use openusd::usdc::CrateWriter;
    use proptest::prelude::*;

    use urdf_usd_store::joined;

    use super::*;
    use urdf_usd_usd_author::{Attribute, Layer};

    fn written(layer: &Layer, arrays: &Arrays<'_>) -> Result<Vec<u8>, WriteError> {
        let data = layer.clone().into_data().unwrap();
        let failed = |reason| Error {
            path: "/".to_owned(),
            reason,
        };
        let write = |out: &mut Output| {
            CrateWriter::write(&data, out).map_err(|error| failed(error.to_string()))
        };
        arrays
            .written(&Store::none(), write)
            .map(|pieces| joined(&pieces).unwrap())
    }

    /// Asserts that a layer with placeholders gives the same bytes as one with the arrays.
    fn check(
        ints: &[Vec<u32>],
        same: Ints<'_>,
        vectors: &[Arc<Vec<[f32; 3]>>],
        pairs: &[[f32; 2]],
    ) {
        let mut arrays = Arrays::default();
        let mut plain = Layer::new("Arrays", "Arrays");
        plain.def("/Arrays", "Scope");
        let mut layer = plain.clone();
        for (i, ints) in ints.iter().enumerate() {
            let (name, ints) = (format!("i{i}"), Ints::Indices(ints));
            plain
                .over("/Arrays")
                .attribute(&name, Attribute::int_array(ints.values()));
            layer
                .over("/Arrays")
                .attribute(&name, Attribute::int_array(arrays.ints(ints)));
        }
        for (i, vectors) in vectors.iter().enumerate() {
            let name = format!("v{i}");
            plain
                .over("/Arrays")
                .attribute(&name, Attribute::point3f_array(vectors.iter().copied()));
            layer.over("/Arrays").attribute(
                &name,
                Attribute::point3f_array([arrays.shared(vectors.clone(), |vectors| vectors)]),
            );
        }
        plain
            .over("/Arrays")
            .attribute("same", Attribute::int_array(same.values()));
        layer
            .over("/Arrays")
            .attribute("same", Attribute::int_array(arrays.ints(same)));
        let ranges = Ints::Ranges(&[3..20, 0..2, 0..0, 100..400, u32::MAX - 1..u32::MAX]);
        plain
            .over("/Arrays")
            .attribute("ranges", Attribute::int_array(ranges.values()));
        layer
            .over("/Arrays")
            .attribute("ranges", Attribute::int_array(arrays.ints(ranges)));
        plain
            .over("/Arrays")
            .attribute("pairs", Attribute::tex_coord2f_array(pairs.iter().copied()));
        layer.over("/Arrays").attribute(
            "pairs",
            Attribute::tex_coord2f_array([arrays.shared(Arc::new(pairs.to_vec()), |pairs| pairs)]),
        );
        assert!(written(&layer, &arrays).unwrap() == written(&plain, &Arrays::default()).unwrap());
    }

    #[test]
    fn arrays_of_all_kinds() {
        let far = vec![
            0,
            u32::MAX,
            0,
            1 << 30,
            7,
            i32::MAX as u32,
            1 << 31,
            0,
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
        ];
        let ties: Vec<u32> = (0..40)
            .map(|i| if i % 4 < 2 { i } else { 50_000 - i })
            .collect();
        let many: Vec<u32> = (0..100_000_u32)
            .map(|i| i.wrapping_mul(2_654_435_761) >> 14)
            .collect();
        let ints = [
            vec![],
            vec![1, 2, 3],
            (0..15).collect(),
            (0..16).collect(),
            far,
            ties.clone(),
            ties,
            many,
        ];
        let vectors = [
            vec![],
            vec![[1.0, -0.0, 3.5]],
            (0..10_000).map(|i| [i as f32, 0.5, -1e-9]).collect(),
        ]
        .map(Arc::new);
        check(
            &ints,
            Ints::Same {
                value: 3,
                count: 5000,
            },
            &vectors,
            &[[0.25, 1.0], [0.5, -2.0]],
        );
        check(&[], Ints::Same { value: 3, count: 0 }, &[], &[]);
        check(
            &[],
            Ints::Same {
                value: -1,
                count: 15,
            },
            &[],
            &[],
        );
        check(
            &[],
            Ints::Same {
                value: -1,
                count: 16,
            },
            &[],
            &[],
        );
    }

    #[test]
    fn an_array_has_one_place() {
        let points = Arc::new(vec![[0.0_f32; 3]]);
        for places in [0, 2] {
            let mut arrays = Arrays::default();
            let placeholder = arrays.shared(points.clone(), |points| points);
            let mut layer = Layer::new("Arrays", "Arrays");
            layer.def("/Arrays", "Scope");
            for place in 0..places {
                layer.over("/Arrays").attribute(
                    &format!("p{place}"),
                    Attribute::point3f_array([placeholder]),
                );
            }
            assert!(
                written(&layer, &arrays)
                    .unwrap_err()
                    .to_string()
                    .contains("an array has not exactly one place")
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn integers_are_coded_as_openusd_codes_them(
            near in prop::collection::vec(0_u32..300, 0..400),
            far in prop::collection::vec(0_u32..=i32::MAX as u32, 0..60),
            repeated in prop::collection::vec(prop::sample::select(vec![0, 1, 2, 70_000, 140_000, i32::MAX as u32]), 0..200),
            value in prop::sample::select(vec![0, 3, -1, 127, 128, -129, 32_768, i32::MIN]),
            count in 0_usize..100,
        ) {
            check(&[near, far, repeated], Ints::Same { value, count }, &[], &[]);
        }
    }
}
