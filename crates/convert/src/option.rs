//! The declaration of options: one row of a table each.
//!
//! The command line, the parameters of the node with their descriptors, the parameter file, the
//! arguments of the launch file and the documentation are generated from such rows.
//!
//! This module knows neither the options nor the syntax of a command line or of ROS parameters.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The value of an option, independent of its source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// For [`Kind::Switch`].
    Bool(bool),
    /// For [`Kind::Integer`].
    Integer(i64),
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Choice`], [`Kind::Text`], [`Kind::File`] and [`Kind::Folder`].
    Text(String),
    /// For the kinds that are lists.
    List(Vec<String>),
}

impl fmt::Display for Value {
    /// Writes the value in the syntax of users: lists with commas, an empty list as an empty text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Number(value) => write!(f, "{value:?}"),
            Self::Text(text) => f.write_str(text),
            Self::List(texts) => f.write_str(&texts.join(",")),
        }
    }
}

/// The values that an option accepts.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Yes or no.
    Switch,
    /// A whole number within inclusive limits.
    Integer {
        /// The minimum.
        from: i64,
        /// The maximum.
        to: i64,
    },
    /// A number within inclusive limits.
    Number {
        /// The minimum.
        from: f64,
        /// The maximum.
        to: f64,
    },
    /// One of these names.
    Choice(fn() -> Vec<&'static str>),
    /// A list of these names.
    Choices(fn() -> Vec<&'static str>),
    /// A text, with its rule in words.
    Text(&'static str),
    /// A list of texts, with the rule of each in words.
    Texts(&'static str),
    /// The path of a regular file; empty for none.
    File,
    /// The path of a folder.
    Folder,
    /// Paths of folders.
    Folders,
    /// A list of `NAME=DIR`.
    NamedFolders,
}

const PATHS: &str = "relative paths start from the working directory; ~ is the home directory";

impl Kind {
    /// Returns the rule for values beyond their type, in words; empty if there is none.
    pub fn rule(self) -> String {
        match self {
            Self::Switch => String::new(),
            Self::Integer { from, to } => format!("{from} … {to}"),
            Self::Number { from, to } => format!("{from:?} … {to:?}"),
            Self::Choice(names) => format!("one of {}", names().join(", ")),
            Self::Choices(names) => format!("any of {}", names().join(", ")),
            Self::Text(rule) | Self::Texts(rule) => rule.to_owned(),
            Self::File => format!("a regular file, which may not exist yet; {PATHS}"),
            Self::Folder | Self::Folders => PATHS.to_owned(),
            Self::NamedFolders => format!("each NAME=DIR; {PATHS}"),
        }
    }

    /// Returns the names to choose from; empty for other kinds.
    pub fn names(self) -> Vec<&'static str> {
        if let Self::Choice(names) | Self::Choices(names) = self {
            names()
        } else {
            Vec::new()
        }
    }

    /// Returns whether values are lists.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::Choices(_) | Self::Texts(_) | Self::Folders | Self::NamedFolders
        )
    }

    /// Parses the items of a list, or a single text.
    ///
    /// # Errors
    /// Returns the reason, for the user, if the text is invalid.
    pub fn parse(self, texts: &[String]) -> Result<Value, String> {
        let text = texts.last().map_or("", String::as_str).trim();
        match self {
            Self::Switch => text
                .parse()
                .map(Value::Bool)
                .map_err(|_| format!("{text:?} is neither true nor false")),
            Self::Integer { .. } => text
                .parse()
                .map(Value::Integer)
                .map_err(|_| format!("{text:?} is not a whole number")),
            Self::Number { .. } => text
                .parse()
                .map(Value::Number)
                .map_err(|_| format!("{text:?} is not a number")),
            Self::Choice(_) | Self::Text(_) | Self::File | Self::Folder => {
                Ok(Value::Text(text.to_owned()))
            }
            Self::Choices(_) | Self::Texts(_) | Self::Folders | Self::NamedFolders => {
                Ok(Value::List(texts.to_vec()))
            }
        }
    }

    /// Returns the value with absolute paths and `~` expanded. Relative paths start from `folder`,
    /// which itself starts from the working directory.
    ///
    /// # Errors
    /// Returns the reason if a path can't be made absolute.
    pub fn absolute(self, value: &Value, folder: &Path) -> Result<Value, String> {
        let absolute = |text: &String| match text.as_str() {
            "" => Ok(String::new()),
            _ => std::path::absolute(folder.join(path(text)?))
                .map(|path| path.to_string_lossy().into_owned())
                .map_err(|e| e.to_string()),
        };
        Ok(match (self, value) {
            (Self::File | Self::Folder, Value::Text(text)) => Value::Text(absolute(text)?),
            (Self::Folders, Value::List(texts)) => {
                Value::List(texts.iter().map(absolute).collect::<Result<_, _>>()?)
            }
            (Self::NamedFolders, Value::List(texts)) => {
                let named = |text: &String| match text.split_once('=') {
                    Some((name, folder)) => Ok(format!("{name}={}", absolute(&folder.to_owned())?)),
                    None => Ok(text.clone()),
                };
                Value::List(texts.iter().map(named).collect::<Result<_, String>>()?)
            }
            _ => value.clone(),
        })
    }

    /// Checks the type and the rule of `value`, if the kind has one.
    fn check(self, value: &Value) -> Result<(), String> {
        let outside = || Err(format!("its range is {}", self.rule()));
        match (self, value) {
            (Self::Integer { from, to }, Value::Integer(value)) if !(from..=to).contains(value) => {
                outside()
            }
            (Self::Number { from, to }, Value::Number(value)) if !(from..=to).contains(value) => {
                outside()
            }
            (Self::Choice(names), Value::Text(text)) if !names().contains(&text.as_str()) => {
                Err(format!("{text:?} is not {}", self.rule()))
            }
            (Self::File, Value::Text(text)) => {
                if text.is_empty() {
                    Ok(())
                } else {
                    check_regular(&path(text)?)
                }
            }
            (Self::Switch, Value::Bool(_))
            | (Self::Integer { .. }, Value::Integer(_))
            | (Self::Number { .. }, Value::Number(_))
            | (Self::Choice(_) | Self::Text(_) | Self::Folder, Value::Text(_))
            | (
                Self::Choices(_) | Self::Texts(_) | Self::Folders | Self::NamedFolders,
                Value::List(_),
            ) => Ok(()),
            _ => Err("it has another type".to_owned()),
        }
    }
}

/// Checks that a path is a regular file or does not exist: a device or a pipe may be endless.
fn check_regular(path: &Path) -> Result<(), String> {
    let kind = match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => return Ok(()),
        Ok(meta) if meta.is_dir() => "a folder",
        Ok(_) => "a device, a pipe or a socket",
        Err(_) => return Ok(()),
    };
    Err(format!("{} is {kind}, not a regular file", path.display()))
}

/// Expands `~` in a path.
fn path(text: &str) -> Result<PathBuf, String> {
    match text.strip_prefix('~') {
        _ if text.is_empty() => Err("it is empty".to_owned()),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
            let home = home.ok_or("no home directory: set HOME, or give an absolute path")?;
            Ok(home.join(rest.trim_start_matches('/')))
        }
        _ => Ok(PathBuf::from(text)),
    }
}

/// The description of an option.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name, with dots between levels: `gltf.compression`. It is also the name of the parameter
    /// and of the launch argument.
    pub name: &'static str,
    /// The accepted values.
    pub kind: Kind,
    /// The placeholder of the value in help, such as `FILE`; empty for [`Kind::Switch`] and
    /// [`Kind::Choice`].
    pub value_name: &'static str,
    /// The effect, in sentences, with units.
    pub help: &'static str,
    /// Whether the value can change while the node runs.
    pub is_live: bool,
    /// A shorter name of the flag if it is unambiguous: `srdf` for `srdf_file`.
    pub short_flag: Option<&'static str>,
}

impl About {
    /// Returns the flag without leading dashes: the name, with dashes instead of dots.
    ///
    /// A flag that is given once per item is in the singular: `package` for `packages`.
    pub fn flag(&self) -> String {
        let flag = self.dashed();
        match flag.strip_suffix('s') {
            Some(one) if self.is_repeated() => one.to_owned(),
            _ => flag,
        }
    }

    /// Returns the flag in the plural, if it differs: `packages`.
    pub fn list_flag(&self) -> Option<String> {
        Some(self.dashed()).filter(|dashed| *dashed != self.flag())
    }

    /// Returns whether the flag is given once per item.
    pub fn is_repeated(&self) -> bool {
        self.kind.is_list() && !matches!(self.kind, Kind::Choices(_))
    }

    fn dashed(&self) -> String {
        self.name.replace(['_', '.'], "-")
    }
}

/// Functions that get and set the value of an option in a `T`.
#[derive(Debug)]
pub struct Access<T> {
    /// Sets the value.
    pub set: fn(&mut T, &Value) -> Result<(), String>,
    /// Returns the value.
    pub get: fn(&T) -> Value,
}

/// Returns the [`Access`] to a field, from the type and the field's path:
/// `field!(Options.gltf.physics)`.
#[macro_export]
macro_rules! field {
    ($type:ident . $($part:ident).+) => {
        $crate::option::Access {
            set: |options: &mut $type, value| {
                $crate::option::Field::read(value).map(|value| options.$($part).+ = value)
            },
            get: |options: &$type| $crate::option::Field::write(&options.$($part).+),
        }
    };
}
#[doc(inline)]
pub use field;

/// An option of a `T`: a row of its table.
#[derive(Debug)]
pub struct Opt<T> {
    /// The description of the option.
    pub about: About,
    access: Access<T>,
}

impl<T> Opt<T> {
    /// Declares an option that can change while the node runs.
    pub const fn new(
        name: &'static str,
        kind: Kind,
        value_name: &'static str,
        access: Access<T>,
        help: &'static str,
    ) -> Self {
        let about = About {
            name,
            kind,
            value_name,
            help,
            is_live: true,
            short_flag: None,
        };
        Self { about, access }
    }

    /// Fixes the value at the start of a node.
    #[must_use]
    pub const fn at_start(mut self) -> Self {
        self.about.is_live = false;
        self
    }

    /// Sets a shorter name of the flag.
    #[must_use]
    pub const fn short(mut self, flag: &'static str) -> Self {
        self.about.short_flag = Some(flag);
        self
    }

    /// Sets the option.
    ///
    /// # Errors
    /// Returns the reason, for the user, if the value is invalid. Nothing is changed then.
    pub fn set(&self, options: &mut T, value: &Value) -> Result<(), String> {
        self.about.kind.check(value)?;
        (self.access.set)(options, value)
    }

    /// Returns the option's value.
    pub fn get(&self, options: &T) -> Value {
        (self.access.get)(options)
    }
}

/// A type of fields of options.
pub trait Field: Sized {
    /// Converts a value of the field's option.
    ///
    /// # Errors
    /// Returns the reason, in words, if the value does not fit.
    fn read(value: &Value) -> Result<Self, String>;

    /// Returns the field as a value of its option.
    fn write(&self) -> Value;
}

/// Returns the error for a field whose option has another kind.
pub fn misfit<T>() -> Result<T, String> {
    Err("it has another type".to_owned())
}

/// Returns the text of a value.
///
/// # Errors
/// Fails if the value is not a text.
pub fn text(value: &Value) -> Result<&str, String> {
    if let Value::Text(text) = value {
        Ok(text)
    } else {
        misfit()
    }
}

/// Returns the texts of a value.
///
/// # Errors
/// Fails if the value is not a list.
pub fn texts(value: &Value) -> Result<&[String], String> {
    if let Value::List(texts) = value {
        Ok(texts)
    } else {
        misfit()
    }
}

impl Field for bool {
    fn read(value: &Value) -> Result<Self, String> {
        if let Value::Bool(value) = value {
            Ok(*value)
        } else {
            misfit()
        }
    }

    fn write(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Field for f64 {
    fn read(value: &Value) -> Result<Self, String> {
        if let Value::Number(value) = value {
            Ok(*value)
        } else {
            misfit()
        }
    }

    fn write(&self) -> Value {
        Value::Number(*self)
    }
}

macro_rules! whole_numbers {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn read(value: &Value) -> Result<Self, String> {
                let Value::Integer(value) = value else { return misfit() };
                Self::try_from(*value).map_err(|_| format!("{value} is out of range"))
            }

            fn write(&self) -> Value {
                Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )*};
}
whole_numbers!(u16 u64 usize);

/// A number of seconds.
impl Field for Duration {
    fn read(value: &Value) -> Result<Self, String> {
        Self::try_from_secs_f64(f64::read(value)?).map_err(|error| error.to_string())
    }

    fn write(&self) -> Value {
        Value::Number(self.as_secs_f64())
    }
}

/// A number of seconds; 0 for none.
impl Field for Option<Duration> {
    fn read(value: &Value) -> Result<Self, String> {
        Ok(Some(Duration::read(value)?).filter(|duration| !duration.is_zero()))
    }

    fn write(&self) -> Value {
        self.unwrap_or_default().write()
    }
}

/// A whole number; 0 for no limit.
impl Field for Option<u64> {
    fn read(value: &Value) -> Result<Self, String> {
        Ok(Some(u64::read(value)?).filter(|number| *number > 0))
    }

    fn write(&self) -> Value {
        self.unwrap_or_default().write()
    }
}

/// A text; empty for none.
impl Field for Option<String> {
    fn read(value: &Value) -> Result<Self, String> {
        Ok(Some(text(value)?.to_owned()).filter(|text| !text.is_empty()))
    }

    fn write(&self) -> Value {
        Value::Text(self.clone().unwrap_or_default())
    }
}

impl Field for PathBuf {
    fn read(value: &Value) -> Result<Self, String> {
        path(text(value)?)
    }

    fn write(&self) -> Value {
        Value::Text(self.to_string_lossy().into_owned())
    }
}

/// A path; empty for none.
impl Field for Option<PathBuf> {
    fn read(value: &Value) -> Result<Self, String> {
        if text(value)?.is_empty() {
            Ok(None)
        } else {
            PathBuf::read(value).map(Some)
        }
    }

    fn write(&self) -> Value {
        self.as_ref()
            .map_or_else(|| Value::Text(String::new()), PathBuf::write)
    }
}

impl Field for Vec<String> {
    fn read(value: &Value) -> Result<Self, String> {
        texts(value).map(<[String]>::to_vec)
    }

    fn write(&self) -> Value {
        Value::List(self.clone())
    }
}

impl Field for Vec<PathBuf> {
    fn read(value: &Value) -> Result<Self, String> {
        texts(value)?.iter().map(|text| path(text)).collect()
    }

    fn write(&self) -> Value {
        Value::List(
            self.iter()
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
        )
    }
}

/// A list of `NAME=DIR`.
impl Field for Vec<(String, PathBuf)> {
    fn read(value: &Value) -> Result<Self, String> {
        let named = |text: &String| match text.split_once('=') {
            Some((name, folder)) if !name.is_empty() && !folder.is_empty() => {
                Ok((name.to_owned(), path(folder)?))
            }
            _ => Err(format!(
                "{text:?} is not NAME=DIR, such as my_robot_description=/home/me/my_robot_description"
            )),
        };
        texts(value)?.iter().map(named).collect()
    }

    fn write(&self) -> Value {
        Value::List(
            self.iter()
                .map(|(name, path)| format!("{name}={}", path.display()))
                .collect(),
        )
    }
}

/// Implements [`Field`] for types that are written as text and parsed with [`str::parse`].
macro_rules! named {
    ($($type:ty)*) => {$(
        impl Field for $type {
            fn read(value: &Value) -> Result<Self, String> {
                text(value)?.parse()
            }

            fn write(&self) -> Value {
                Value::Text(self.to_string())
            }
        }
    )*};
}
named!(urdf_usd_rep158::Revision urdf_usd_usd_write::Base urdf_usd_usd_write::Bodies urdf_usd_usd_author::isaac_schema::RobotType urdf_usd_usd_author::isaac_schema::PoseScope urdf_usd_mesh::UpAxis urdf_usd_gltf_write::Compression super::Tiers super::MeshFormat super::DriveChoice urdf_usd_robot::SelfCollision);
