//! Merges links that fixed joints connect, and reports it.
//!
//! `docs/simulate.md` documents the rules. This module must not know formats.

use std::fmt;
use std::str::FromStr;

use regex_lite::Regex;
use urdf_usd_diagnostic::{Diagnostic, did_you_mean, nearest};
use urdf_usd_robot::{Link, Robot};
use urdf_usd_urdf::References;

use super::{Options, REPORT_IT, codes};

/// Maximum number of links that a message names.
const MAX_NAMED: usize = 6;

/// A regular expression for whole names.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    text: String,
    whole: Regex,
}

impl Pattern {
    /// Returns whether it matches the whole name.
    pub fn is_match(&self, name: &str) -> bool {
        self.whole.is_match(name)
    }
}

impl FromStr for Pattern {
    type Err = String;

    /// # Errors
    /// Returns the reason, for the user, if the regular expression is invalid.
    fn from_str(text: &str) -> Result<Self, String> {
        let whole = Regex::new(&format!("^(?:{text})$"));
        let whole = whole.map_err(|error| format!("the pattern \"{text}\" is invalid: {error}"))?;
        let text = text.to_owned();
        Ok(Self { text, whole })
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.text
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// Merges the links of a robot that fixed joints connect, if the options say so.
pub(super) fn merge(
    robot: &mut Robot,
    references: &mut References,
    options: &Options,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if !options.merge_fixed {
        return found;
    }
    let at = robot.place.clone();
    for pattern in &options.keep_frames {
        let names = || robot.links().values().map(Link::name);
        if !names().any(|name| pattern.is_match(name)) {
            let message = format!("no link of the robot matches \"{pattern}\" (keep_frames)");
            let meant = did_you_mean(nearest(&pattern.text, names()));
            let help = meant.unwrap_or_else(|| "correct the pattern, or remove it".to_owned());
            found.push(Diagnostic::new(&codes::KEEP_UNUSED, at.clone(), message).help(help));
        }
    }
    let is_kept = |name: &str| options.keep_frames.iter().any(|keep| keep.is_match(name));
    let merged = match robot.merge_fixed(is_kept) {
        Ok(merged) => merged,
        Err(error) => {
            let message = format!("the links are not merged: {error}");
            found.push(Diagnostic::new(&codes::INTERNAL, at, message).help(REPORT_IT));
            return found;
        }
    };
    references.move_shapes(|link| Some(merged.shapes[link]));
    let count = merged.removed.len() + merged.frames;
    if count > 0 {
        let mut names = merged.removed;
        let more = names.len().saturating_sub(MAX_NAMED);
        names.truncate(MAX_NAMED);
        names.extend((more > 0).then(|| format!("{more} more")));
        let removed = match names.is_empty() {
            true => String::new(),
            false => format!("; these are no frames any more: {}", names.join(", ")),
        };
        let message = format!(
            "{count} {} into the links that they are fixed to{removed}",
            if count == 1 {
                "link is merged"
            } else {
                "links are merged"
            },
        );
        let help = "keep a link as a frame with --keep NAME";
        found.push(Diagnostic::new(&codes::MERGED, at, message).help(help));
    }
    found
}
