//! Diagnostics: severity, stable code, message, place in the input, and remedy.
//!
//! Every crate reports through [`Diagnostic`]; none prints. This crate knows no file format and no
//! crate that reports.

mod code;
mod collector;
mod escape;
mod group;
mod id;
mod rule;
mod suggest;

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::diagnostic_codes as codes;
pub use crate::diagnostic_rule as rule;
pub use crate::diagnostic_rules as rules;
pub use code::Code;
pub use collector::{Collector, MAX_PER_CODE, Most, Omitted};
pub use escape::{
    Escaped, acts_on_a_terminal, escape_controls, escape_controls_in_json, escape_controls_in_list,
};
pub use group::{Group, count, groups, status};
pub use rule::{Example, IdForm, ModuleId, Rule, Turn, run_rules};
pub use suggest::{Suggestions, did_you_mean, nearest};

use serde::{Deserialize, Serialize, Serializer};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information; nothing is lost.
    Info,
    /// The output relies on an assumption, a repair or a default that the user should know about.
    Warning,
    /// A part of the input is missing from the output, or nothing could be written.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Location of a finding in the input: a file, a position in it, an element.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// File that the text came from, if any.
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "serialize_path"
    )]
    pub file: Option<Arc<Path>>,
    /// 1-based line, 0 if unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub line: u32,
    /// 1-based column in characters, 0 if unknown.
    #[serde(skip_serializing_if = "is_zero")]
    pub column: u32,
    /// Element in the user's terms: `link "base"`, `joint "hip" / limit`. Empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub element: String,
    /// Whether line and column refer to the text that xacro generated, not to the file itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub expanded: bool,
}

/// Serialises a path as text. Bytes that are no UTF-8, which JSON can't contain, become U+FFFD.
#[allow(clippy::ref_option)] // serde's signature
fn serialize_path<S: Serializer>(
    file: &Option<Arc<Path>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    file.as_deref()
        .map(Path::to_string_lossy)
        .serialize(serializer)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature
fn is_zero(n: &u32) -> bool {
    *n == 0
}

impl Place {
    /// Returns the place that stands for a whole file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self {
            file: Some(path.into().into()),
            ..Self::default()
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}", file.display())?,
            None => f.write_str("<text>")?,
        }
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
            if self.expanded {
                f.write_str(" of the expanded text")?;
            }
        }
        Ok(())
    }
}

/// A finding. Its JSON form is that of `report.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Severity.
    pub severity: Severity,
    /// Stable code, [`Code::id`].
    #[serde(deserialize_with = "id::deserialize")]
    pub code: id::Id,
    /// What is wrong, naming the element concerned.
    pub message: String,
    /// Location in the input.
    #[serde(rename = "where", default)]
    pub place: Place,
    /// Remedy; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
    /// Common cause of several findings of this code: `the package "arm" was not found`. Findings
    /// of one code and cause are shown as one [group](groups). Empty if the code says enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// Subject, if it is not the element at its place: for instance a missing file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
}

impl Diagnostic {
    /// Creates a finding of the kind `code` at `place`.
    pub fn new(code: &'static Code, place: Place, message: impl Into<String>) -> Self {
        let (help, cause, about) = <(String, String, String)>::default();
        Self {
            severity: code.severity,
            code: code.id,
            message: message.into(),
            place,
            help,
            cause,
            about,
        }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Adds the cause and the subject; either may be empty.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>, about: impl Into<String>) -> Self {
        (self.cause, self.about) = (cause.into(), about.into());
        self
    }

    /// Returns the message and the remedy as one sentence, without place and code, for callers that
    /// know the subject.
    pub fn to_sentence(&self) -> String {
        match self.help.as_str() {
            "" => self.message.clone(),
            help => format!("{}; {help}", self.message),
        }
    }

    /// Returns the subject in a few words: a file, a link, otherwise the place.
    pub fn subject(&self) -> Cow<'_, str> {
        if !self.about.is_empty() {
            return Cow::Borrowed(&self.about);
        }
        match self.place.element.split(" / ").next() {
            Some(thing) if !thing.is_empty() => Cow::Borrowed(thing),
            _ => Cow::Owned(self.place.to_string()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A finding about the environment or an argument is not in a text.
        if self.place.file.is_some() || self.place.line > 0 {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)?;
        if !self.help.is_empty() {
            write!(f, " ({})", self.help)?;
        }
        Ok(())
    }
}
