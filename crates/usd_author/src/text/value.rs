//! Values as text: strings, numbers, tuples, arrays, dictionaries, asset paths, the items of lists.
//!
//! Functions append to a `String`. An error is the reason why a value has no text form; the caller
//! adds the location.

use std::collections::HashMap;
use std::fmt::{Display, LowerExp, Write};

use openusd::gf::f16;
use openusd::sdf::{self, LayerOffset, Payload, Permission, Reference, Value};

type Result<T = (), E = String> = std::result::Result<T, E>;

/// Appends a value by its `Display` implementation.
pub(super) fn display(out: &mut String, value: &impl Display) {
    let _ = write!(out, "{value}");
}

/// Appends a quoted string: double quotes, unless single ones save escapes; triple quotes if it has
/// several lines. As in OpenUSD, the string ends at a NUL.
pub(super) fn quote(out: &mut String, text: &str) {
    let is_plain = |byte: u8| !matches!(byte, b'"' | b'\\' | 0x7f) && byte >= b' ';
    if text.bytes().all(is_plain) {
        return out.extend(["\"", text, "\""]);
    }
    let text = text.split('\0').next().unwrap_or_default();
    let quote = if text.contains('"') && !text.contains('\'') {
        '\''
    } else {
        '"'
    };
    let lines = text.contains('\n');
    let delimiter = std::iter::repeat_n(quote, if lines { 3 } else { 1 });
    out.extend(delimiter.clone());
    for c in text.chars() {
        match c {
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\\' => out.push_str("\\\\"),
            _ if c == quote => out.extend(['\\', quote]),
            '\n' => out.push(c),
            _ if c.is_ascii_control() => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.extend(delimiter);
}

/// Appends an asset path between `@`, or between `@@@` if it contains one.
pub(super) fn asset(out: &mut String, path: &str) -> Result {
    if path.chars().any(char::is_control) {
        return Err(format!(
            "the asset path {path:?} has a control character, which OpenUSD refuses"
        ));
    }
    if path.contains('@') {
        out.push_str("@@@");
        out.push_str(&path.replace("@@@", "\\@@@"));
        out.push_str("@@@");
    } else {
        out.extend(["@", path, "@"]);
    }
    Ok(())
}

/// Appends a path between angle brackets.
pub(super) fn path(out: &mut String, path: &sdf::Path) {
    out.extend(["<", path.as_str(), ">"]);
}

/// Appends a layer offset, unless it is the identity, in parentheses on the line of its arc.
pub(super) fn layer_offset(out: &mut String, offset: &LayerOffset) {
    if offset.is_identity() {
        return;
    }
    out.push_str(" (");
    if offset.offset != 0.0 {
        out.push_str("offset = ");
        number(out, offset.offset);
    }
    if offset.scale != 1.0 {
        if offset.offset != 0.0 {
            out.push_str("; ");
        }
        out.push_str("scale = ");
        number(out, offset.scale);
    }
    out.push(')');
}

/// An item of a list that is written on its own line.
pub(super) trait Item: Default + Clone + PartialEq {
    /// Returns whether a single item needs brackets too.
    fn needs_brackets(&self) -> bool {
        false
    }

    /// Appends the item, whose line has this indent.
    fn write(&self, out: &mut String, indent: usize) -> Result;
}

impl Item for sdf::Path {
    fn write(&self, out: &mut String, _: usize) -> Result {
        path(out, self);
        Ok(())
    }
}

impl Item for Payload {
    fn write(&self, out: &mut String, _: usize) -> Result {
        arc(out, &self.asset_path, &self.prim_path)?;
        layer_offset(out, &self.layer_offset);
        Ok(())
    }
}

impl Item for Reference {
    fn needs_brackets(&self) -> bool {
        !self.custom_data.is_empty()
    }

    fn write(&self, out: &mut String, indent: usize) -> Result {
        arc(out, &self.asset_path, &self.prim_path)?;
        if self.custom_data.is_empty() {
            layer_offset(out, &self.layer_offset);
            return Ok(());
        }
        out.push_str(" (\n");
        for (name, value, default) in [
            ("offset", self.layer_offset.offset, 0.0),
            ("scale", self.layer_offset.scale, 1.0),
        ] {
            if value != default {
                tabs(out, indent + 1);
                out.extend([name, " = "]);
                number(out, value);
                out.push('\n');
            }
        }
        tabs(out, indent + 1);
        out.push_str("customData = ");
        dictionary(out, indent + 1, &self.custom_data)?;
        tabs(out, indent);
        out.push(')');
        Ok(())
    }
}

/// Appends the target of an arc. Without an asset there is always a path, if only the empty one of
/// this layer's default prim.
fn arc(out: &mut String, asset_path: &str, prim_path: &sdf::Path) -> Result {
    if !asset_path.is_empty() {
        asset(out, asset_path)?;
    }
    if asset_path.is_empty() || !prim_path.is_empty() {
        path(out, prim_path);
    }
    Ok(())
}

fn tabs(out: &mut String, indent: usize) {
    for _ in 0..indent {
        out.push_str("    ");
    }
}

/// Returns the entries of a map, sorted by key.
fn sorted<V>(map: &HashMap<String, V>) -> Vec<(&str, &V)> {
    let mut entries: Vec<(&str, &V)> = map
        .iter()
        .map(|(key, value)| (key.as_str(), value))
        .collect();
    entries.sort_by_key(|(key, _)| *key);
    entries
}

/// Appends a key, bare if it is an ASCII identifier.
fn key(out: &mut String, key: &str) {
    let bare = key
        .bytes()
        .enumerate()
        .all(|(i, b)| b == b'_' || b.is_ascii_alphabetic() || (i > 0 && b.is_ascii_digit()));
    if bare && !key.is_empty() {
        out.push_str(key)
    } else {
        quote(out, key)
    }
}

/// Maximum nesting depth of dictionaries.
const MAX_NESTING: usize = 32;

/// Appends a dictionary in braces, one entry a line, with the line break. `indent` is that of the
/// line it begins on.
pub(super) fn dictionary(out: &mut String, indent: usize, map: &HashMap<String, Value>) -> Result {
    nested_dictionary(out, indent, map, MAX_NESTING)
}

fn nested_dictionary(
    out: &mut String,
    indent: usize,
    map: &HashMap<String, Value>,
    depth: usize,
) -> Result {
    let Some(depth) = depth.checked_sub(1) else {
        return Err("dictionaries are nested too deep".to_owned());
    };
    out.push_str("{\n");
    for (name, entry) in sorted(map) {
        tabs(out, indent + 1);
        if let Value::Dictionary(map) | Value::UnregisteredDictionary(map) = entry {
            out.push_str("dictionary ");
            key(out, name);
            out.push_str(" = ");
            nested_dictionary(out, indent + 1, map, depth)?;
            continue;
        }
        let type_name = sdf::ValueKind::from(entry)
            .type_name()
            .ok_or_else(|| format!("`{name}` has no type"))?;
        out.extend([type_name.as_str(), " "]);
        key(out, name);
        out.push_str(" = ");
        value(out, entry)?;
        out.push('\n');
    }
    tabs(out, indent);
    out.push_str("}\n");
    Ok(())
}

/// Appends variant selections, as a dictionary of strings.
pub(super) fn selections(out: &mut String, indent: usize, map: &HashMap<String, String>) {
    out.push_str("{\n");
    for (set, selection) in sorted(map) {
        tabs(out, indent + 1);
        out.push_str("string ");
        key(out, set);
        out.push_str(" = ");
        quote(out, selection);
        out.push('\n');
    }
    tabs(out, indent);
    out.push_str("}\n");
}

/// Appends a dictionary of strings as `name: value` entries without types.
pub(super) fn substitutions(
    out: &mut String,
    indent: usize,
    map: &HashMap<String, Value>,
) -> Result {
    out.push_str("{\n");
    for (i, (name, entry)) in sorted(map).into_iter().enumerate() {
        let Value::String(text) = entry else {
            return Err(format!("`{name}` is no string"));
        };
        tabs(out, indent + 1);
        quote(out, name);
        out.push_str(": ");
        quote(out, text);
        out.push_str(if i + 1 < map.len() { ", \n" } else { "\n" });
    }
    tabs(out, indent);
    out.push_str("}\n");
    Ok(())
}

/// Appends the value of a metadata field; booleans are words there.
pub(super) fn metadata(out: &mut String, field: &Value) -> Result {
    match field {
        Value::Bool(truth) => display(out, truth),
        Value::Permission(Permission::Public) => out.push_str("public"),
        Value::Permission(Permission::Private) => out.push_str("private"),
        Value::UnregisteredValue(text) => out.push_str(text),
        _ => return value(out, field),
    }
    Ok(())
}

/// Appends a value of an attribute or of a dictionary's entry.
#[allow(clippy::match_same_arms)] // one line per type
pub(super) fn value(out: &mut String, value: &Value) -> Result {
    match value {
        Value::ValueBlock => out.push_str("None"),
        Value::Bool(v) => boolean(out, v),
        Value::BoolVec(v) => array(out, v, boolean),
        Value::Uchar(v) => display(out, v),
        Value::UcharVec(v) => array(out, v, display),
        Value::Int(v) => display(out, v),
        Value::IntVec(v) => array(out, v, display),
        Value::Uint(v) => display(out, v),
        Value::UintVec(v) => array(out, v, display),
        Value::Int64(v) => display(out, v),
        Value::Int64Vec(v) => array(out, v, display),
        Value::Uint64(v) => display(out, v),
        Value::Uint64Vec(v) => array(out, v, display),
        Value::Half(v) => half(out, v),
        Value::HalfVec(v) => array(out, v, half),
        Value::Float(v) => float(out, v),
        Value::FloatVec(v) => array(out, v, float),
        Value::Double(v) => double(out, v),
        Value::DoubleVec(v) => array(out, v, double),
        Value::TimeCode(v) => number(out, v.0),
        Value::TimeCodeVec(v) => array(out, v, |out, v| number(out, v.0)),
        Value::String(v) => quote(out, v),
        Value::StringVec(v) => array(out, v, |out, v| quote(out, v)),
        Value::Token(v) => quote(out, v),
        Value::TokenVec(v) => array(out, v, |out, v| quote(out, v)),
        Value::PathExpression(v) => quote(out, &v.to_string()),
        Value::PathExpressionVec(v) => array(out, v, |out, v| quote(out, &v.to_string())),
        Value::AssetPath(v) => return asset(out, v),
        Value::AssetPathVec(v) => return assets(out, v),
        Value::Vec2h(v) => tuple(out, &[v.x, v.y], half),
        Value::Vec2hVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y], half)),
        Value::Vec2f(v) => tuple(out, &[v.x, v.y], float),
        Value::Vec2fVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y], float)),
        Value::Vec2d(v) => tuple(out, &[v.x, v.y], double),
        Value::Vec2dVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y], double)),
        Value::Vec2i(v) => tuple(out, &[v.x, v.y], display),
        Value::Vec2iVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y], display)),
        Value::Vec3h(v) => tuple(out, &[v.x, v.y, v.z], half),
        Value::Vec3hVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y, v.z], half)),
        Value::Vec3f(v) => tuple(out, &[v.x, v.y, v.z], float),
        Value::Vec3fVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y, v.z], float)),
        Value::Vec3d(v) => tuple(out, &[v.x, v.y, v.z], double),
        Value::Vec3dVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y, v.z], double)),
        Value::Vec3i(v) => tuple(out, &[v.x, v.y, v.z], display),
        Value::Vec3iVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y, v.z], display)),
        Value::Vec4h(v) => tuple(out, &[v.x, v.y, v.z, v.w], half),
        Value::Vec4hVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y, v.z, v.w], half)),
        Value::Vec4f(v) => tuple(out, &[v.x, v.y, v.z, v.w], float),
        Value::Vec4fVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y, v.z, v.w], float)),
        Value::Vec4d(v) => tuple(out, &[v.x, v.y, v.z, v.w], double),
        Value::Vec4dVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y, v.z, v.w], double)),
        Value::Vec4i(v) => tuple(out, &[v.x, v.y, v.z, v.w], display),
        Value::Vec4iVec(v) => array(out, v, |out, v| tuple(out, &[v.x, v.y, v.z, v.w], display)),
        Value::Quath(v) => tuple(out, &[v.w, v.x, v.y, v.z], half),
        Value::QuathVec(v) => array(out, v, |out, v| tuple(out, &[v.w, v.x, v.y, v.z], half)),
        Value::Quatf(v) => tuple(out, &[v.w, v.x, v.y, v.z], float),
        Value::QuatfVec(v) => array(out, v, |out, v| tuple(out, &[v.w, v.x, v.y, v.z], float)),
        Value::Quatd(v) => tuple(out, &[v.w, v.x, v.y, v.z], double),
        Value::QuatdVec(v) => array(out, v, |out, v| tuple(out, &[v.w, v.x, v.y, v.z], double)),
        Value::Matrix2d(v) => matrix(out, &v.0, 2),
        Value::Matrix2dVec(v) => array(out, v, |out, v| matrix(out, &v.0, 2)),
        Value::Matrix3d(v) => matrix(out, &v.0, 3),
        Value::Matrix3dVec(v) => array(out, v, |out, v| matrix(out, &v.0, 3)),
        Value::Matrix4d(v) => matrix(out, &v.0, 4),
        Value::Matrix4dVec(v) => array(out, v, |out, v| matrix(out, &v.0, 4)),
        _ => {
            return Err(format!(
                "a value of the kind {} has no text form",
                sdf::ValueKind::from(value)
            ));
        }
    }
    Ok(())
}

fn separated<T>(out: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
}

fn array<T>(out: &mut String, items: &[T], write: impl FnMut(&mut String, &T)) {
    out.push('[');
    separated(out, items, write);
    out.push(']');
}

fn tuple<T>(out: &mut String, items: &[T], write: impl FnMut(&mut String, &T)) {
    out.push('(');
    separated(out, items, write);
    out.push(')');
}

fn matrix(out: &mut String, elements: &[f64], size: usize) {
    out.push_str("( ");
    for (i, row) in elements.chunks(size).enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        tuple(out, row, double);
    }
    out.push_str(" )");
}

fn assets(out: &mut String, paths: &[sdf::AssetPath]) -> Result {
    out.push('[');
    for (i, path) in paths.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        asset(out, path)?;
    }
    out.push(']');
    Ok(())
}

fn boolean(out: &mut String, truth: &bool) {
    out.push(if *truth { '1' } else { '0' });
}

fn float(out: &mut String, number: &f32) {
    shortest(out, *number);
}

fn double(out: &mut String, x: &f64) {
    number(out, *x);
}

/// Appends a double with the fewest digits that identify it.
pub(super) fn number(out: &mut String, number: f64) {
    shortest(out, number);
}

/// Largest integer up to which single precision has all integers.
const MAX_WHOLE: u32 = 1 << 24;

/// Appends the shortest digits that read back as the same number: plain from 0.000001 up to 15
/// digits before the point, otherwise with an exponent.
fn shortest(out: &mut String, number: impl LowerExp + Into<f64> + Copy) {
    if !number.into().is_finite() {
        return not_finite(out, number.into());
    }
    // Most numbers of transforms are 0 or 1: no search for the shortest digits. Compared by bits, since
    // -0 is written as such.
    let whole = number.into() as i32;
    if whole.unsigned_abs() <= MAX_WHOLE && f64::from(whole).to_bits() == number.into().to_bits() {
        return match u8::try_from(whole) {
            Ok(digit @ 0..=9) => out.push(char::from(b'0' + digit)),
            _ => display(out, &whole),
        };
    }
    // Rust's digits are the shortest too: `d.ddde±x`.
    let mut scientific = Digits::default();
    if write!(scientific, "{number:e}").is_err() {
        return;
    }
    let text = scientific.as_str();
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return;
    };
    let Ok(exponent) = exponent.parse::<i32>() else {
        return;
    };
    lay_out(out, mantissa, exponent, -6..15);
    if !(-6..15).contains(&exponent) {
        let _ = write!(out, "e{exponent}");
    }
}

/// Appends the digits of `mantissa` (`-d.ddd`): with the point moved by `exponent` where that is in
/// `plain`, else as they are.
fn lay_out(out: &mut String, mantissa: &str, exponent: i32, plain: std::ops::Range<i32>) {
    if exponent == 0 || !plain.contains(&exponent) {
        return out.push_str(mantissa);
    }
    let mantissa = match mantissa.strip_prefix('-') {
        Some(rest) => {
            out.push('-');
            rest
        }
        None => mantissa,
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let shift = exponent.unsigned_abs() as usize;
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', shift - 1));
        out.extend([whole, fraction]);
    } else if fraction.len() <= shift {
        out.extend([whole, fraction]);
        out.extend(std::iter::repeat_n('0', shift - fraction.len()));
    } else {
        let (before, after) = fraction.split_at(shift);
        out.extend([whole, before, ".", after]);
    }
}

fn not_finite(out: &mut String, number: f64) {
    out.push_str(if number.is_nan() {
        "nan"
    } else if number > 0.0 {
        "inf"
    } else {
        "-inf"
    });
}

/// Appends a half as C's `%g` prints it: six digits, an exponent of at least two.
fn half(out: &mut String, number: &f16) {
    let number = number.to_f32();
    if !number.is_finite() {
        return not_finite(out, number.into());
    }
    let text = format!("{number:.5e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return;
    };
    let Ok(exponent) = exponent.parse::<i32>() else {
        return;
    };
    let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
    lay_out(out, mantissa, exponent, -4..6);
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    }
}

/// A stack buffer for the digits of one number, to avoid allocation.
#[derive(Default)]
struct Digits {
    bytes: [u8; 32],
    len: usize,
}

impl Digits {
    fn as_str(&self) -> &str {
        let written = self.bytes.get(..self.len).unwrap_or_default();
        std::str::from_utf8(written).unwrap_or_default()
    }
}

impl Write for Digits {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes
            .get_mut(self.len..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
