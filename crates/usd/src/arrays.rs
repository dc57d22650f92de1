//! The large arrays of a binary layer: coded by all cores at once, and put into the file while it is written.
//!
//! `openusd` codes arrays of integers one after the other, and wants to have all arrays copied into the layer. So the layer has a small
//! placeholder in the place of each, and where `openusd` writes that, [`Output`] writes the array. The file is the same in every byte as
//! if the layer had the arrays itself. This module knows neither layers nor meshes.

use std::collections::HashMap;
use std::io::{self, Cursor, Seek, SeekFrom, Write};

use rayon::prelude::*;

/// Shorter arrays of integers are not coded.
const MIN_CODED: usize = 16;

/// The bits in a placeholder of floats: they are no number, and none that a calculation gives.
const MARK: u32 = 0xffa5_5e1d;

/// What stands before an array: how many values it has; and before a coded one how many bytes, too.
const COUNT: usize = size_of::<u64>();

/// Arrays that are put in the places of their placeholders.
#[derive(Default)]
pub(super) struct Arrays<'a>(Vec<Array<'a>>);

enum Array<'a> {
    Ints(Ints<'a>),
    /// The number of vectors, and their floats.
    Vectors(usize, &'a [f32]),
}

/// An array of integers.
#[derive(Clone, Copy)]
pub(super) enum Ints<'a> {
    /// Indices; what is more than a signed integer holds is the largest one.
    Indices(&'a [u32]),
    /// A value so many times.
    Same(i32, usize),
}

impl Ints<'_> {
    fn len(self) -> usize {
        match self {
            Self::Indices(indices) => indices.len(),
            Self::Same(_, count) => count,
        }
    }

    fn values(self) -> Vec<i32> {
        match self {
            Self::Indices(indices) => indices.iter().map(|&index| signed(index)).collect(),
            Self::Same(value, count) => vec![value; count],
        }
    }

    fn coded(self) -> Vec<u8> {
        match self {
            Self::Indices(indices) => coded(indices.iter().map(|&index| signed(index))),
            Self::Same(value, count) => coded(std::iter::repeat_n(value, count)),
        }
    }
}

fn signed(index: u32) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX)
}

impl<'a> Arrays<'a> {
    /// What a layer has in the place of an array of integers: a placeholder, or if they are few the integers themselves.
    pub(super) fn ints(&mut self, ints: Ints<'a>) -> Vec<i32> {
        if ints.len() < MIN_CODED {
            return ints.values();
        }
        self.0.push(Array::Ints(ints));
        placeholder(self.0.len() - 1)
    }

    /// The one vector that a layer has in the place of an array of them. `N` is 2 or 3.
    pub(super) fn vectors<const N: usize>(&mut self, vectors: &'a [[f32; N]]) -> [f32; N] {
        let number = self.0.len() as u32;
        self.0.push(Array::Vectors(vectors.len(), vectors.as_flattened()));
        std::array::from_fn(|k| f32::from_bits(if k == 1 { number } else { MARK }))
    }

    /// What `write` writes, with the arrays in the places of their placeholders.
    ///
    /// # Errors
    /// What `write` says, and if an array has not exactly one place.
    pub(super) fn written(&self, write: impl FnOnce(&mut Output<'_>) -> Result<(), String>) -> Result<Vec<u8>, String> {
        let contents: Vec<Content<'_>> = self.0.par_iter().map(Content::of).collect();
        let bytes: usize = contents.iter().map(|content| 2 * COUNT + content.bytes().len()).sum();
        let ints = (0..).zip(&self.0).filter(|(_, array)| matches!(array, Array::Ints(_)));
        let mut output = Output {
            // What else there is, is small.
            file: Cursor::new(Vec::with_capacity(bytes + bytes / 16)),
            placeholders: ints.map(|(number, _)| (coded(placeholder(number).into_iter()), number)).collect(),
            places: vec![0; contents.len()],
            contents,
        };
        write(&mut output)?;
        match output.places.iter().all(|places| *places == 1) {
            true => Ok(output.file.into_inner()),
            false => Err("an array has not exactly one place".to_owned()),
        }
    }
}

/// Integers that nobody means and that are others for each number: as many as are coded, far from each other, so that they are not made
/// smaller.
fn placeholder(number: usize) -> Vec<i32> {
    let mixed = |k: usize| ((number * MIN_CODED + k + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    (0..MIN_CODED).map(|k| mixed(k) as i32).collect()
}

/// An array as it is in the file, after its count.
enum Content<'a> {
    Coded(usize, Vec<u8>),
    Plain(usize, &'a [u8]),
}

impl<'a> Content<'a> {
    fn of(array: &Array<'a>) -> Self {
        match array {
            Array::Ints(ints) => Self::Coded(ints.len(), ints.coded()),
            Array::Vectors(count, floats) => Self::Plain(*count, bytemuck::cast_slice(floats)),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Coded(_, bytes) => bytes,
            Self::Plain(_, bytes) => bytes,
        }
    }
}

/// A file in memory in which arrays take the places of their placeholders.
pub(super) struct Output<'a> {
    file: Cursor<Vec<u8>>,
    contents: Vec<Content<'a>>,
    /// The numbers of arrays of integers, by their placeholders as they are written.
    placeholders: HashMap<Vec<u8>, usize>,
    /// How many places each array has.
    places: Vec<usize>,
}

impl Output<'_> {
    /// The number of the array whose placeholder this is.
    fn array(&self, bytes: &[u8]) -> Option<usize> {
        let number = match bytes.as_chunks() {
            (&[first, number] | &[first, number, _], []) if u32::from_le_bytes(first) == MARK => {
                u32::from_le_bytes(number) as usize
            }
            _ => return self.placeholders.get(bytes).copied(),
        };
        matches!(self.contents.get(number), Some(Content::Plain(..))).then_some(number)
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(number) = self.array(bytes) else { return self.file.write(bytes) };
        self.places[number] += 1;
        // What stands before the array is of the placeholder.
        let (before, count) = match &self.contents[number] {
            Content::Coded(count, _) => ([MIN_CODED as u64, bytes.len() as u64].map(u64::to_le_bytes).concat(), count),
            Content::Plain(count, _) => (1_u64.to_le_bytes().to_vec(), count),
        };
        if !self.file.get_ref().ends_with(&before) || self.file.position() != self.file.get_ref().len() as u64 {
            return Err(io::Error::other("there is no count before an array"));
        }
        let count = (*count as u64).to_le_bytes();
        let content = self.contents[number].bytes();
        let end = self.file.get_ref().len() - before.len();
        self.file.get_mut().truncate(end);
        self.file.set_position(end as u64);
        self.file.write_all(&count)?;
        if before.len() > COUNT {
            self.file.write_all(&(content.len() as u64).to_le_bytes())?;
        }
        self.file.write_all(content)?;
        // It has no second place.
        if let Content::Coded(_, content) = &mut self.contents[number] {
            *content = Vec::new();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Output<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

/// Integers of 32 bits as a crate file has them (`integerCoding.cpp` of OpenUSD): the difference that is met most, for each integer how
/// long its difference from the one before is, the differences; and all that in one block of LZ4. Differences have to fit into 32 bits.
fn coded(values: impl ExactSizeIterator<Item = i32> + Clone) -> Vec<u8> {
    let count = values.len();
    let differences = values.scan(0_i32, |last, value| Some(value.wrapping_sub(std::mem::replace(last, value))));
    let common = most_common(differences.clone(), count);
    let lengths = size_of::<i32>();
    let mut bytes = Vec::with_capacity(lengths + count.div_ceil(4) + 2 * count);
    bytes.extend(common.to_le_bytes());
    bytes.resize(lengths + count.div_ceil(4), 0);
    for (i, difference) in differences.enumerate() {
        let length = if difference == common {
            0
        } else if let Ok(small) = i8::try_from(difference) {
            bytes.extend(small.to_le_bytes());
            1
        } else if let Ok(medium) = i16::try_from(difference) {
            bytes.extend(medium.to_le_bytes());
            2
        } else {
            bytes.extend(difference.to_le_bytes());
            3
        };
        bytes[lengths + i / 4] |= length << (2 * (i % 4));
    }
    // The block is the only one, which is said by a zero.
    let mut block = vec![0];
    block.extend(lz4_flex::block::compress(&bytes));
    block
}

/// The value that is met most, of several the least; 0 if there is none.
fn most_common(values: impl Iterator<Item = i32> + Clone, count: usize) -> i32 {
    // Most differences are small, so that a table counts them.
    let half = (count / 4).next_power_of_two().min(1 << 15) as i32;
    let slot = |value: i32| usize::try_from(i64::from(value) + i64::from(half)).ok();
    let mut table = vec![0_u32; 2 * half as usize];
    let mut others = 0;
    for value in values.clone() {
        match slot(value).and_then(|slot| table.get_mut(slot)) {
            Some(slot) => *slot += 1,
            None => others += 1,
        }
    }
    let least_first = table.iter().zip(-half..).map(|(count, value)| (*count, value));
    let better = |best: (u32, i32), other: (u32, i32)| {
        if other.0 > best.0 || (other.0 == best.0 && other.1 < best.1) { other } else { best }
    };
    let mut best = least_first.fold((0, 0), |best, other| if other.0 > best.0 { other } else { best });
    if others > 0 && others >= best.0 {
        let mut counts: HashMap<i32, u32, foldhash::fast::FixedState> = HashMap::default();
        let rest = values.filter(|value| slot(*value).is_none_or(|slot| slot >= table.len()));
        rest.for_each(|value| *counts.entry(value).or_insert(0) += 1);
        best = counts.into_iter().map(|(value, count)| (count, value)).fold(best, better);
    }
    best.1
}

#[cfg(test)]
mod tests {
    use openusd::usdc::CrateWriter;
    use proptest::prelude::*;

    use super::*;
    use crate::author::{Attribute, Layer};

    fn written(layer: &Layer, arrays: &Arrays<'_>) -> Result<Vec<u8>, String> {
        let data = layer.data().unwrap();
        arrays.written(|out| CrateWriter::write(data, out).map_err(|error| error.to_string()))
    }

    /// Asserts that a layer with placeholders becomes what one with the arrays themselves does.
    fn check(ints: &[Vec<u32>], same: (i32, usize), vectors: &[Vec<[f32; 3]>], pairs: &[[f32; 2]]) {
        let mut arrays = Arrays::default();
        let mut plain = Layer::new("Arrays", "Arrays");
        plain.def("/Arrays", "Scope");
        let mut layer = plain.clone();
        for (i, ints) in ints.iter().enumerate() {
            let (name, ints) = (format!("i{i}"), Ints::Indices(ints));
            plain.over("/Arrays").attribute(&name, Attribute::int_array(ints.values()));
            layer.over("/Arrays").attribute(&name, Attribute::int_array(arrays.ints(ints)));
        }
        for (i, vectors) in vectors.iter().enumerate() {
            let name = format!("v{i}");
            plain.over("/Arrays").attribute(&name, Attribute::point3f_array(vectors.iter().copied()));
            layer.over("/Arrays").attribute(&name, Attribute::point3f_array([arrays.vectors(vectors)]));
        }
        plain.over("/Arrays").attribute("same", Attribute::int_array(vec![same.0; same.1]));
        layer.over("/Arrays").attribute("same", Attribute::int_array(arrays.ints(Ints::Same(same.0, same.1))));
        plain.over("/Arrays").attribute("pairs", Attribute::tex_coord2f_array(pairs.iter().copied()));
        layer.over("/Arrays").attribute("pairs", Attribute::tex_coord2f_array([arrays.vectors(pairs)]));
        assert!(written(&layer, &arrays).unwrap() == written(&plain, &Arrays::default()).unwrap());
    }

    #[test]
    fn arrays_of_all_kinds() {
        let far = vec![0, u32::MAX, 0, 1 << 30, 7, i32::MAX as u32, 1 << 31, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        let ties: Vec<u32> = (0..40).map(|i| if i % 4 < 2 { i } else { 50_000 - i }).collect();
        let many: Vec<u32> = (0..100_000_u32).map(|i| i.wrapping_mul(2_654_435_761) >> 14).collect();
        let ints = [vec![], vec![1, 2, 3], (0..15).collect(), (0..16).collect(), far, ties.clone(), ties, many];
        let vectors = [vec![], vec![[1.0, -0.0, 3.5]], (0..1000).map(|i| [i as f32, 0.5, -1e-9]).collect()];
        check(&ints, (3, 5000), &vectors, &[[0.25, 1.0], [0.5, -2.0]]);
        check(&[], (3, 0), &[], &[]);
        check(&[], (-1, 15), &[], &[]);
        check(&[], (-1, 16), &[], &[]);
    }

    #[test]
    fn an_array_has_one_place() {
        let points = [[0.0; 3]];
        for places in [0, 2] {
            let mut arrays = Arrays::default();
            let placeholder = arrays.vectors(&points);
            let mut layer = Layer::new("Arrays", "Arrays");
            layer.def("/Arrays", "Scope");
            for place in 0..places {
                layer.over("/Arrays").attribute(&format!("p{place}"), Attribute::point3f_array([placeholder]));
            }
            assert_eq!(written(&layer, &arrays).unwrap_err(), "an array has not exactly one place");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn integers_are_coded_as_openusd_codes_them(
            near in prop::collection::vec(0_u32..300, 0..400),
            far in prop::collection::vec(0_u32..=i32::MAX as u32, 0..60),
            repeated in prop::collection::vec(prop::sample::select(vec![0, 1, 2, 70_000, 140_000, i32::MAX as u32]), 0..200),
        ) {
            check(&[near, far, repeated], (0, 0), &[], &[]);
        }
    }
}
