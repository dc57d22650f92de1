//! How an option is declared: once, as a row of a table. The command line, the parameters of the
//! node with their descriptors, the parameter file, the arguments of the launch file and the pages
//! of the documentation are made from such rows.
//!
//! This module must not know which options there are, nor what a command line or a ROS parameter
//! looks like.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The value of an option, whichever way it was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Of [`Kind::Switch`].
    Bool(bool),
    /// Of [`Kind::Integer`].
    Integer(i64),
    /// Of [`Kind::Number`].
    Number(f64),
    /// Of [`Kind::Choice`], [`Kind::Text`], [`Kind::File`] and [`Kind::Folder`].
    Text(String),
    /// Of the kinds that are lists.
    List(Vec<String>),
}

impl fmt::Display for Value {
    /// As people write it: a list with commas; of nothing, nothing.
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

/// What values an option takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Yes or no.
    Switch,
    /// A whole number, limits included.
    Integer {
        /// The smallest.
        from: i64,
        /// The largest.
        to: i64,
    },
    /// A number, limits included.
    Number {
        /// The smallest.
        from: f64,
        /// The largest.
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
    /// The path of a regular file; empty: none.
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
    /// What a value must be beyond its type, in words; empty if anything of the type will do.
    pub fn rule(self) -> String {
        match self {
            Self::Switch => String::new(),
            Self::Integer { from, to } => format!("{from} … {to}"),
            Self::Number { from, to } => format!("{from:?} … {to:?}"),
            Self::Choice(names) => format!("one of {}", names().join(", ")),
            Self::Choices(names) => format!("any of {}", names().join(", ")),
            Self::Text(rule) | Self::Texts(rule) => rule.to_owned(),
            Self::File => format!("a regular file, or one that is yet to come; {PATHS}"),
            Self::Folder | Self::Folders => PATHS.to_owned(),
            Self::NamedFolders => format!("each NAME=DIR; {PATHS}"),
        }
    }

    /// The names to choose from, if there are any.
    pub fn names(self) -> Vec<&'static str> {
        if let Self::Choice(names) | Self::Choices(names) = self {
            names()
        } else {
            Vec::new()
        }
    }

    /// Whether values are lists.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::Choices(_) | Self::Texts(_) | Self::Folders | Self::NamedFolders
        )
    }

    /// The value that is written as `texts`: a list's items, otherwise one text.
    ///
    /// # Errors
    /// Why it is no such value, in words for the person who wrote it.
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
                .map_err(|_| format!("{text:?} is no whole number")),
            Self::Number { .. } => text
                .parse()
                .map(Value::Number)
                .map_err(|_| format!("{text:?} is no number")),
            Self::Choice(_) | Self::Text(_) | Self::File | Self::Folder => {
                Ok(Value::Text(text.to_owned()))
            }
            Self::Choices(_) | Self::Texts(_) | Self::Folders | Self::NamedFolders => {
                Ok(Value::List(texts.to_vec()))
            }
        }
    }

    /// The same value with absolute paths, `~` expanded.
    ///
    /// # Errors
    /// Why a path can't be made absolute.
    pub fn absolute(self, value: &Value) -> Result<Value, String> {
        let absolute = |text: &String| match text.as_str() {
            "" => Ok(String::new()),
            _ => std::path::absolute(path(text)?)
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

    /// Whether `value` is of this kind and keeps its rule, as far as the kind has one.
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
                    regular(&path(text)?)
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
            _ => Err("it is of another type".to_owned()),
        }
    }
}

/// Whether a path is that of a file, or of nothing yet: a device or a pipe may have no end.
fn regular(path: &Path) -> Result<(), String> {
    let kind = match std::fs::metadata(path) {
        Ok(meta) if meta.is_file() => return Ok(()),
        Ok(meta) if meta.is_dir() => "a folder",
        Ok(_) => "a device, a pipe or a socket",
        Err(_) => return Ok(()),
    };
    Err(format!("{} is {kind}, no regular file", path.display()))
}

/// A path as a person wrote it, `~` expanded.
fn path(text: &str) -> Result<PathBuf, String> {
    match text.strip_prefix('~') {
        _ if text.is_empty() => Err("it is empty".to_owned()),
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
            let home =
                home.ok_or("there is no home directory: set HOME, or give an absolute path")?;
            Ok(home.join(rest.trim_start_matches('/')))
        }
        _ => Ok(PathBuf::from(text)),
    }
}

/// What people are told of an option.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// Its name, dots between levels: `gltf.compression`. The parameter and the launch argument are
    /// called so.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What stands for the value in help, such as `FILE`; empty for [`Kind::Switch`] and
    /// [`Kind::Choice`].
    pub value_name: &'static str,
    /// What it does, in sentences, with units.
    pub help: &'static str,
    /// Whether it may change while the node runs.
    pub is_live: bool,
    /// A shorter name of the flag on the command line, where that is clear: `srdf` for `srdf_file`.
    pub short_flag: Option<&'static str>,
}

impl About {
    /// Its flag on the command line, without dashes in front: the name with dashes. A flag that is
    /// given once per item is called as one item: `package` of `packages`.
    pub fn flag(&self) -> String {
        let flag = self.dashed();
        match flag.strip_suffix('s') {
            Some(one) if self.is_repeated() => one.to_owned(),
            _ => flag,
        }
    }

    /// The flag that is called as the whole list, where that is another one: `packages`.
    pub fn list_flag(&self) -> Option<String> {
        Some(self.dashed()).filter(|dashed| *dashed != self.flag())
    }

    /// Whether its flag is given once per item.
    pub fn is_repeated(&self) -> bool {
        self.kind.is_list() && !matches!(self.kind, Kind::Choices(_))
    }

    fn dashed(&self) -> String {
        self.name.replace(['_', '.'], "-")
    }
}

/// How an option's value is read into a `T`, and written from it.
#[derive(Debug)]
pub struct Access<T> {
    /// Reads it.
    pub set: fn(&mut T, &Value) -> Result<(), String>,
    /// Writes it.
    pub get: fn(&T) -> Value,
}

/// The [`Access`] to a field, from the type and the field's path: `field!(Options.gltf.physics)`.
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

/// One option of a `T`: a row of its table.
#[derive(Debug)]
pub struct Opt<T> {
    /// What people are told of it.
    pub about: About,
    access: Access<T>,
}

impl<T> Opt<T> {
    /// An option that may change while the node runs.
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

    /// The same, but a running node keeps its value.
    #[must_use]
    pub const fn at_start(mut self) -> Self {
        self.about.is_live = false;
        self
    }

    /// The same with a shorter name of the flag.
    #[must_use]
    pub const fn short(mut self, flag: &'static str) -> Self {
        self.about.short_flag = Some(flag);
        self
    }

    /// Sets it.
    ///
    /// # Errors
    /// Why it can't be set to that, in words for the person who tried. Nothing is changed then.
    pub fn set(&self, options: &mut T, value: &Value) -> Result<(), String> {
        self.about.kind.check(value)?;
        (self.access.set)(options, value)
    }

    /// Its value.
    pub fn get(&self, options: &T) -> Value {
        (self.access.get)(options)
    }
}

/// A type that a field of options may have.
pub trait Field: Sized {
    /// Reads a value of the field's option.
    ///
    /// # Errors
    /// Why it is none, in words.
    fn read(value: &Value) -> Result<Self, String>;

    /// The value as the option has it.
    fn write(&self) -> Value;
}

/// The error where a table pairs a field with a kind that doesn't fit.
pub fn misfit<T>() -> Result<T, String> {
    Err("it is of another type".to_owned())
}

/// The text of a value.
///
/// # Errors
/// If it is none.
pub fn text(value: &Value) -> Result<&str, String> {
    if let Value::Text(text) = value {
        Ok(text)
    } else {
        misfit()
    }
}

/// The texts of a value.
///
/// # Errors
/// If it is no list.
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

/// In seconds.
impl Field for Duration {
    fn read(value: &Value) -> Result<Self, String> {
        Self::try_from_secs_f64(f64::read(value)?).map_err(|error| error.to_string())
    }

    fn write(&self) -> Value {
        Value::Number(self.as_secs_f64())
    }
}

/// In seconds; 0: none.
impl Field for Option<Duration> {
    fn read(value: &Value) -> Result<Self, String> {
        Ok(Some(Duration::read(value)?).filter(|duration| !duration.is_zero()))
    }

    fn write(&self) -> Value {
        self.unwrap_or_default().write()
    }
}

/// Zero means no limit.
impl Field for Option<u64> {
    fn read(value: &Value) -> Result<Self, String> {
        Ok(Some(u64::read(value)?).filter(|number| *number > 0))
    }

    fn write(&self) -> Value {
        self.unwrap_or_default().write()
    }
}

/// Empty: none.
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

/// Empty: none.
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

/// Each `NAME=DIR`.
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

/// Types that are written as one text and read back with [`str::parse`].
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
named!(urdf_usd_usd_write::Base urdf_usd_usd_write::Bodies urdf_usd_usd_author::isaac_schema::RobotType urdf_usd_mesh::UpAxis urdf_usd_gltf_write::Compression super::Tiers super::MeshFormat);
