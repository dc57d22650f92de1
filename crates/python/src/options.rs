//! The options of a conversion as keyword arguments, from their table.

use std::collections::BTreeSet;
use std::ffi::OsString;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping, PyString};
use serde_json::json;
use urdf_usd_convert::Options;
use urdf_usd_convert::option::{Kind, Opt, Value};
use urdf_usd_convert::options::{TABLE, heading};
use urdf_usd_diagnostic::{did_you_mean, nearest};
use urdf_usd_resolve as resolve;

use crate::failure::usage;

/// Options that are given, with the names of their rows.
pub struct Given {
    /// All options.
    pub options: Options,
    /// The names of those that are given.
    pub names: BTreeSet<String>,
}

/// Returns the keyword of an option: its name, with underscores.
fn keyword(option: &Opt<Options>) -> String {
    option.about.name.replace('.', "_")
}

/// Reads options from keyword arguments, in which `None` leaves an option at its default. Only
/// `accepted` options may be given, or all.
pub fn read(keywords: &Bound<'_, PyDict>, accepted: Option<&[&str]>) -> PyResult<Given> {
    let rows = || {
        let is_accepted = |option: &&Opt<Options>| {
            accepted.is_none_or(|accepted| accepted.contains(&option.about.name))
        };
        TABLE.iter().filter(is_accepted)
    };
    let mut given = Given {
        options: Options {
            resolve: resolve::Options::from_environment(),
            ..Options::default()
        },
        names: BTreeSet::new(),
    };
    for (name, value) in keywords {
        let name: String = name.extract()?;
        let Some(option) = rows().find(|option| keyword(option) == name) else {
            let meant = did_you_mean(nearest(&name, rows().map(keyword)));
            let meant = meant.map_or_else(String::new, |meant| format!(": {meant}"));
            return Err(usage(format!("unknown option {name:?}{meant}")));
        };
        if value.is_none() {
            continue;
        }
        let kind = option.about.kind;
        let value = convert(kind, &value).map_err(|error| {
            match error.is_instance_of::<PyTypeError>(value.py()) {
                true => usage(format!("{name}: {}", error.value(value.py()))),
                false => error,
            }
        })?;
        option
            .set(&mut given.options, &value)
            .map_err(|why| usage(format!("{name}: {why}")))?;
        given.names.insert(option.about.name.to_owned());
    }
    Ok(given)
}

/// Converts a value of Python to one of an option of this kind.
fn convert(kind: Kind, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text = |value: &Bound<'_, PyAny>| value.extract::<String>();
    Ok(match kind {
        Kind::Switch => Value::Bool(value.extract()?),
        Kind::Integer { .. } => Value::Integer(value.extract()?),
        Kind::Number { .. } => Value::Number(value.extract()?),
        Kind::Choice(_) | Kind::Text(_) => Value::Text(text(value)?),
        Kind::File | Kind::Folder => Value::Text(path(value)?),
        Kind::Choices(_) if value.is_instance_of::<PyString>() => {
            let names = text(value)?;
            Value::List(
                names
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .collect(),
            )
        }
        Kind::Choices(_) | Kind::Texts(_) => {
            Value::List(items(value)?.iter().map(text).collect::<PyResult<_>>()?)
        }
        Kind::Folders => Value::List(items(value)?.iter().map(path).collect::<PyResult<_>>()?),
        Kind::NamedFolders => match value.cast::<PyMapping>() {
            Ok(folders) => {
                let named = |pair: Bound<'_, PyAny>| {
                    let (name, folder): (String, Bound<'_, PyAny>) = pair.extract()?;
                    Ok(format!("{name}={}", path(&folder)?))
                };
                Value::List(
                    folders
                        .items()?
                        .iter()
                        .map(named)
                        .collect::<PyResult<_>>()?,
                )
            }
            Err(_) => Value::List(items(value)?.iter().map(text).collect::<PyResult<_>>()?),
        },
    })
}

/// Returns the items of a list; a single text or path is one item.
fn items<'py>(value: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if value.is_instance_of::<PyString>() || value.hasattr("__fspath__")? {
        return Ok(vec![value.clone()]);
    }
    value.try_iter()?.collect()
}

/// Returns a path as text.
fn path(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let path: OsString = match value.is_instance_of::<PyString>() {
        true => value.extract()?,
        false => value
            .call_method0("__fspath__")
            .map_err(|_| PyTypeError::new_err("it is not a path"))?
            .extract()?,
    };
    path.into_string()
        .map_err(|_| usage("the path is no valid text"))
}

/// Returns the table as JSON: for each option its keyword, heading, type, default and help.
///
/// The types and the documentation of keyword arguments are generated from it.
#[pyfunction]
pub fn options() -> String {
    let defaults = Options::default();
    let row = |option: &Opt<Options>| {
        let about = &option.about;
        let kind = match about.kind {
            Kind::Switch => "switch",
            Kind::Integer { .. } => "integer",
            Kind::Number { .. } => "number",
            Kind::Choice(_) => "choice",
            Kind::Choices(_) => "choices",
            Kind::Text(_) => "text",
            Kind::Texts(_) => "texts",
            Kind::File | Kind::Folder => "path",
            Kind::Folders => "paths",
            Kind::NamedFolders => "named paths",
        };
        json!({
            "keyword": keyword(option), "flag": about.flag(), "heading": heading(about.name), "kind": kind,
            "names": about.kind.names(), "rule": about.kind.rule(), "default": option.get(&defaults), "help": about.help,
        })
    };
    serde_json::Value::Array(TABLE.iter().map(row).collect()).to_string()
}
