//! Writes layer data as a binary layer (`usdc`) that OpenUSD 20.x and newer read.
//!
//! `openusd` marks its files as crate version 0.12.0, which OpenUSD before 24.11 can't open. Only
//! path expressions, relocates, splines and time codes need more than 0.8.0, so layers without them
//! are marked as 0.8.0, and layers with them are rejected. This module is independent of robots and
//! file systems.

use std::io::{Cursor, Seek, SeekFrom, Write};

use openusd::sdf::{self, AbstractData, Value};
use openusd::usdc::CrateWriter;

use super::Error;

/// Offset of the version in the file's header, and the version written there.
const VERSION_AT: u64 = 8;
const VERSION: [u8; 3] = [0, 8, 0];

/// Maximum nesting depth of prims: `openusd` writes the tree of paths recursively.
const MAX_DEPTH: usize = 256;

/// Maximum nesting depth of dictionaries, as in `openusd`.
const MAX_NESTING: usize = 32;

/// Returns the bytes of a binary layer. Equal data gives equal bytes.
///
/// # Errors
/// The first spec or value that crate version 0.8.0 can't represent: time codes, path expressions,
/// relocates, splines, strings with a NUL, asset paths with control characters, prims nested deeper
/// than 256.
pub fn write(data: &sdf::Data) -> Result<Vec<u8>, Error> {
    let mut out = Cursor::new(Vec::new());
    write_to(data, &mut out)?;
    Ok(out.into_inner())
}

/// Writes a binary layer to `out`.
///
/// # Errors
/// Errors of [`write`](fn@write), and I/O errors of `out`.
pub fn write_to<W: Write + Seek>(data: &sdf::Data, out: &mut W) -> Result<(), Error> {
    let paths = data.spec_paths();
    for path in &paths {
        check(data, path)?;
    }
    check_first_token(data, &paths)?;
    let failed = |reason| Error {
        path: "/".to_owned(),
        reason,
    };
    CrateWriter::write(data, out).map_err(|error| failed(error.to_string()))?;
    // `openusd` always writes its own version, so patch the header afterwards.
    out.seek(SeekFrom::Start(VERSION_AT))
        .and_then(|_| out.write_all(&VERSION))
        .map_err(|error| failed(format!("the crate has no header: {error}")))
}

fn check(data: &sdf::Data, path: &sdf::Path) -> Result<(), Error> {
    let refuse = |reason: String| {
        Err(Error {
            path: path.as_str().to_owned(),
            reason,
        })
    };
    if path.element_count() > MAX_DEPTH {
        return refuse(format!("it is nested deeper than {MAX_DEPTH}"));
    }
    for (field, value) in data.spec(path).map_or(&[][..], |spec| &spec.fields) {
        if field == "spline" {
            return refuse("splines need a newer crate version".to_owned());
        }
        if let Err(reason) = check_value(value, MAX_NESTING) {
            return refuse(format!("its `{field}`: {reason}"));
        }
    }
    Ok(())
}

fn check_value(value: &Value, depth: usize) -> Result<(), String> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err("values are nested too deep".to_owned());
    };
    match value {
        Value::TimeCode(_) | Value::TimeCodeVec(_) => {
            Err("time codes need a newer crate version".to_owned())
        }
        Value::PathExpression(_) | Value::PathExpressionVec(_) => {
            Err("path expressions need a newer crate version".to_owned())
        }
        Value::Relocates(_) => Err("relocates need a newer crate version".to_owned()),
        Value::String(text) => check_text(text),
        Value::Token(text) => check_text(text),
        Value::StringVec(texts) => texts.iter().try_for_each(|text| check_text(text)),
        Value::TokenVec(texts) => texts.iter().try_for_each(|text| check_text(text)),
        Value::AssetPath(path) => check_asset(path),
        Value::AssetPathVec(paths) => paths.iter().try_for_each(|path| check_asset(path)),
        Value::ReferenceListOp(op) => op
            .iter()
            .try_for_each(|reference| check_asset(&reference.asset_path)),
        Value::PayloadListOp(op) => op
            .iter()
            .try_for_each(|payload| check_asset(&payload.asset_path)),
        Value::Dictionary(map) => map.iter().try_for_each(|(key, value)| {
            check_text(key)?;
            check_value(value, depth)
        }),
        Value::TimeSamples(samples) => samples
            .iter()
            .try_for_each(|(_, value)| check_value(value, depth)),
        _ => Ok(()),
    }
}

/// Rejects NUL characters: they terminate strings in the crate's token table.
fn check_text(text: &str) -> Result<(), String> {
    if text.contains('\0') {
        Err(format!("{text:?} contains a NUL"))
    } else {
        Ok(())
    }
}

fn check_asset(path: &str) -> Result<(), String> {
    if path.chars().any(char::is_control) {
        return Err(format!(
            "the asset path {path:?} has a control character, which OpenUSD refuses"
        ));
    }
    Ok(())
}

/// Rejects a layer whose first token names a property. The crate format marks properties by a
/// negative token index, which does not exist for index 0: the first field of the first spec. The
/// layer also needs at least one such token.
fn check_first_token(data: &sdf::Data, paths: &[sdf::Path]) -> Result<(), Error> {
    let refuse = |path: &str, reason: &str| {
        Err(Error {
            path: path.to_owned(),
            reason: reason.to_owned(),
        })
    };
    let mut fields = paths
        .iter()
        .filter_map(|path| data.spec(path))
        .flat_map(|spec| &spec.fields);
    let Some((first, _)) = fields.next() else {
        return refuse("/", "a layer with nothing in it has no binary form");
    };
    match paths
        .iter()
        .find(|path| path.split_property().is_some_and(|(_, name)| name == first))
    {
        Some(path) => refuse(path.as_str(), "the name stands for something else here"),
        None => Ok(()),
    }
}
