//! Names like the one that is missing: what somebody probably meant.

use std::fmt::{Display, Write};

/// How many names are worth showing.
const MAX_NAMES: usize = 3;
/// How often [`Suggestions`] looks through all names.
const MAX_SEARCHES: usize = 20;
/// How many characters of a name are compared.
const MAX_LENGTH: usize = 256;

/// The names that `wanted` was probably meant to be, the likeliest first.
pub fn nearest(
    wanted: &str,
    names: impl IntoIterator<Item = impl Into<String> + AsRef<str>>,
) -> Vec<String> {
    let mut near: Vec<(usize, String)> = names
        .into_iter()
        .filter_map(|name| Some((distance(wanted, name.as_ref())?, name.into())))
        .collect();
    near.sort();
    near.truncate(MAX_NAMES);
    near.into_iter().map(|(_, name)| name).collect()
}

/// `did you mean "arm" or "arm_link"?`; `None` without a name.
pub fn did_you_mean(names: impl IntoIterator<Item = impl Display>) -> Option<String> {
    let mut question = String::new();
    for name in names {
        let _ = write!(
            question,
            "{} \"{name}\"",
            if question.is_empty() {
                "did you mean"
            } else {
                " or"
            }
        );
    }
    (!question.is_empty()).then(|| question + "?")
}

/// What [`nearest`] finds, a limited number of times: among the names of a large robot it takes
/// long.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    searches: usize,
}

impl Suggestions {
    /// The names that `wanted` was probably meant to be, the likeliest first; none after so many
    /// searches.
    pub fn nearest(
        &mut self,
        wanted: &str,
        names: impl IntoIterator<Item = impl Into<String> + AsRef<str>>,
    ) -> Vec<String> {
        if self.searches >= MAX_SEARCHES {
            return Vec::new();
        }
        self.searches += 1;
        nearest(wanted, names)
    }
}

/// How far apart two names are: case only, then ending only (of a file's name), then a few letters;
/// `None` if they have little in common.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (a, b) = (wanted.to_lowercase(), name.to_lowercase());
    if a == b {
        return Some(0);
    }
    if stem(&a) == stem(&b) {
        return Some(1);
    }
    let bearable = (a.chars().count() / 4).min(3);
    // Names of very different length are not alike; no need to compare letters.
    if a.len().abs_diff(b.len()) > 4 * bearable {
        return None;
    }
    let beginning = |name: &str| name.chars().take(MAX_LENGTH).collect::<String>();
    let edits = strsim::levenshtein(&beginning(&a), &beginning(&b));
    (edits <= bearable).then_some(1 + edits)
}

/// A name without what follows its last dot.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_names_come_first_and_strangers_not_at_all() {
        let names = [
            "forearm.stl",
            "base_lnk.stl",
            "Base_Link.STL",
            "base_link.dae",
        ];
        assert_eq!(
            nearest("base_link.stl", names),
            ["Base_Link.STL", "base_link.dae", "base_lnk.stl"]
        );
        assert_eq!(nearest("wheel.stl", names), [""; 0]);
        assert_eq!(nearest("", ["a", "b"]), [""; 0]);
        assert_eq!(
            distance("a_long_name_kitten", "a_long_name_sitting"),
            Some(4)
        );
    }

    #[test]
    fn a_question_names_them_all() {
        assert_eq!(
            did_you_mean(["a", "b"]).as_deref(),
            Some("did you mean \"a\" or \"b\"?")
        );
        assert_eq!(did_you_mean([""; 0]), None);
    }

    #[test]
    fn searches_end() {
        let mut suggestions = Suggestions::default();
        let found = (0..30)
            .filter(|_| !suggestions.nearest("Arm", ["arm"]).is_empty())
            .count();
        assert_eq!(found, MAX_SEARCHES);
    }
}
