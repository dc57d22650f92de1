//! Values of attributes, shared and decoded on demand.
//!
//! A binary layer stores equal arrays once, compressed: 27 KB hold three thousand attributes of a
//! million integers each. `openusd` decodes an array again for every attribute that has it. This
//! module therefore finds the large arrays in the tables of a binary layer before composition, and
//! attributes hold a handle: the array is decoded at the first access, once for all attributes that
//! share it.

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use openusd::sdf::{self, Value};
use openusd::usdc::CrateFile;

use super::value::array_len;

/// Minimum decoded size in bytes of an array that is decoded lazily.
pub(super) const MIN_LAZY_BYTES: usize = 4 << 10;

/// The value of an attribute. Clones share it; large arrays of binary layers are decoded at the first
/// access.
#[derive(Clone)]
pub struct SharedValue(Inner);

#[derive(Clone)]
enum Inner {
    Known(Arc<Value>),
    Coded(Arc<CodedArray>),
}

/// An array in a binary layer.
pub(super) struct CodedArray {
    file: Arc<CrateFile>,
    /// An index into the fields of `file`.
    field: usize,
    /// Number of elements, from the header of the array.
    len: usize,
    /// Size of the decoded array in bytes.
    bytes: usize,
    decoded: OnceLock<Value>,
}

impl CodedArray {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn value(&self) -> &Value {
        let decode = || {
            self.file
                .fields
                .get(self.field)
                .and_then(|field| self.file.value(field.value_rep).ok())
        };
        // A damaged array becomes a value without type, which readers ignore.
        self.decoded.get_or_init(|| decode().unwrap_or(Value::None))
    }
}

impl SharedValue {
    pub(super) fn coded(array: Arc<CodedArray>) -> Self {
        Self(Inner::Coded(array))
    }

    /// Returns the length of an array, without decoding it; `None` for other values.
    pub fn array_len(&self) -> Option<usize> {
        match &self.0 {
            Inner::Known(value) => array_len(value),
            Inner::Coded(array) => Some(array.len),
        }
    }

    /// Returns the value, unless it is a large array of numbers, which would have to be decoded.
    ///
    /// For readers of other types, such as asset paths.
    pub fn unless_large_array(&self) -> Option<&Value> {
        match &self.0 {
            Inner::Known(value) => Some(value),
            Inner::Coded(_) => None,
        }
    }

    /// Returns a mutable reference to the value, which is cloned if it is shared.
    pub fn make_mut(&mut self) -> &mut Value {
        if let Inner::Coded(array) = &self.0 {
            self.0 = Inner::Known(Arc::new(array.value().clone()));
        }
        match &mut self.0 {
            Inner::Known(value) => Arc::make_mut(value),
            Inner::Coded(_) => unreachable!("coded arrays were replaced above"),
        }
    }
}

impl Deref for SharedValue {
    type Target = Value;

    fn deref(&self) -> &Value {
        match &self.0 {
            Inner::Known(value) => value,
            Inner::Coded(array) => array.value(),
        }
    }
}

impl From<Value> for SharedValue {
    fn from(value: Value) -> Self {
        Self(Inner::Known(Arc::new(value)))
    }
}

impl PartialEq for SharedValue {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Inner::Coded(a), Inner::Coded(b)) if Arc::ptr_eq(a, b) => true,
            (Inner::Known(a), Inner::Known(b)) if Arc::ptr_eq(a, b) => true,
            _ => **self == **other,
        }
    }
}

impl fmt::Debug for SharedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Known(value) => value.fmt(f),
            Inner::Coded(array) => write!(f, "[{} elements]", array.len),
        }
    }
}

/// The large arrays that are default values of attributes in a binary layer, by path.
pub(super) type CodedArrays = HashMap<sdf::Path, Arc<CodedArray>>;

/// Finds the large arrays of a binary layer. Frees the tables of `file` that decoding does not need.
pub(super) fn coded_arrays(mut file: CrateFile) -> CodedArrays {
    let lengths: Vec<Option<(usize, usize)>> = file
        .fields
        .iter()
        .map(|field| large_array(&file, field.value_rep.0))
        .collect();
    if lengths.iter().all(Option::is_none) {
        return CodedArrays::new();
    }
    let mut found: Vec<(sdf::Path, usize)> = Vec::new();
    for spec in &file.specs {
        let fields = file
            .fieldsets
            .get(spec.fieldset_index..)
            .unwrap_or_default()
            .iter()
            .map_while(|field| *field);
        let is_default = |field: &usize| {
            let name = file
                .fields
                .get(*field)
                .and_then(|field| file.tokens.get(field.token_index));
            name.is_some_and(|name| name == "default")
                && lengths.get(*field).is_some_and(Option::is_some)
        };
        if let (Some(field), Some(path)) = (
            fields.into_iter().find(is_default),
            file.paths.get(spec.path_index),
        ) {
            found.push((path.clone(), field));
        }
    }
    (file.paths, file.specs, file.fieldsets, file.strings) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let file = Arc::new(file);
    // A representation holds type and offset: fields with equal ones are the same bytes of the
    // file.
    let mut by_code: HashMap<u64, Arc<CodedArray>> = HashMap::new();
    let mut shared = |field: usize| {
        let (len, bytes) = lengths.get(field).copied()??;
        let code = file.fields.get(field)?.value_rep.0;
        let new = || {
            Arc::new(CodedArray {
                file: Arc::clone(&file),
                field,
                len,
                bytes,
                decoded: OnceLock::new(),
            })
        };
        Some(Arc::clone(by_code.entry(code).or_insert_with(new)))
    };
    found
        .into_iter()
        .filter_map(|(path, field)| Some((path, shared(field)?)))
        .collect()
}

/// Returns the length and decoded size of the array of numbers that a value representation describes,
/// if it is large.
///
/// The layout is that of `ValueRep` in OpenUSD's `crateFile.h`: the array bit, the inlined bit and
/// the compressed bit, then 8 bits of type and 48 of offset. At the offset is the number of
/// elements, 32 bits wide before version 0.7.0, and before 0.5.0 behind a rank.
fn large_array(file: &CrateFile, code: u64) -> Option<(usize, usize)> {
    const ARRAY: u64 = 1 << 63;
    const INLINED: u64 = 1 << 62;
    let offset = usize::try_from(code & ((1 << 48) - 1)).ok()?;
    if code & ARRAY == 0 || code & INLINED != 0 || offset == 0 {
        return None;
    }
    let element = element_bytes((code >> 48) & 0xff)?;
    let version = file.version();
    let offset = if (version.major, version.minor) < (0, 5) {
        offset + 4
    } else {
        offset
    };
    let header = file.bytes().get(offset..)?;
    let len = if (version.major, version.minor) < (0, 7) {
        u64::from(u32::from_le_bytes(*header.first_chunk()?))
    } else {
        u64::from_le_bytes(*header.first_chunk()?)
    };
    let len = usize::try_from(len).ok()?;
    let bytes = len.saturating_mul(element);
    (bytes >= MIN_LAZY_BYTES).then_some((len, bytes))
}

/// Returns the size of an array element, by the type number of OpenUSD's `crateDataTypes.h`; `None`
/// for types other than numbers.
fn element_bytes(kind: u64) -> Option<usize> {
    Some(match kind {
        1 | 2 => 1,
        7 => 2,
        3 | 4 | 8 | 21 => 4,
        25 => 6,
        5 | 6 | 9 | 18 | 20 | 22 | 29 => 8,
        24 | 26 => 12,
        17 | 19 | 28 | 30 => 16,
        23 => 24,
        13 | 16 | 27 => 32,
        14 => 72,
        15 => 128,
        _ => return None,
    })
}

/// Bytes that a path expression takes for each character of its text: each pattern has a path, components and
/// an operator.
pub(super) const EXPRESSION_WEIGHT: usize = 32;

/// Estimates the heap size of a value, in bytes.
pub(super) fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::StringVec(texts) => texts.iter().map(|text| 24 + text.len()).sum(),
        Value::AssetPathVec(paths) => paths
            .iter()
            .map(|path| 96 + path.authored_path.len() + path.resolved_path().map_or(0, str::len))
            .sum(),
        Value::Dictionary(entries) => entries
            .iter()
            .map(|(name, value)| 96 + name.len() + weight(value))
            .sum(),
        Value::ValueVec(values) => values.iter().map(|value| 64 + weight(value)).sum(),
        Value::TimeSamples(samples) => samples.iter().map(|(_, value)| 64 + weight(value)).sum(),
        Value::TokenListOp(op) => 32 * op.iter().count(),
        Value::StringListOp(op) => op.iter().map(|text| 24 + text.len()).sum(),
        Value::PathListOp(op) => 32 * op.iter().count(),
        Value::PathExpression(expression) => EXPRESSION_WEIGHT * expression.to_string().len(),
        Value::PathExpressionVec(expressions) => expressions
            .iter()
            .map(|expression| 96 + EXPRESSION_WEIGHT * expression.to_string().len())
            .sum(),
        Value::Matrix4dVec(all) => 128 * all.len(),
        Value::Matrix3dVec(all) => 72 * all.len(),
        Value::IntVec(_) | Value::UintVec(_) | Value::FloatVec(_) => {
            4 * array_len(value).unwrap_or(0)
        }
        _ => 16 * array_len(value).unwrap_or(0),
    }
}
