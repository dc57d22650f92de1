//! Did-you-mean suggestions.

use std::fmt::{Display, Write};

/// Maximum number of suggestions.
const MAX_NAMES: usize = 3;
/// Maximum number of searches that one [`Suggestions`] performs.
const MAX_SEARCHES: usize = 20;
/// Maximum number of characters of a name that are compared.
const MAX_LENGTH: usize = 256;

/// Returns the `names` most similar to `wanted`, best first.
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

/// Returns `did you mean "arm" or "arm_link"?`, or `None` without a name.
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

/// Calls [`nearest`] a limited number of times: in a large robot every search compares thousands of
/// names.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    searches: usize,
}

impl Suggestions {
    /// Returns the `names` most similar to `wanted`, best first; none once [`MAX_SEARCHES`] is
    /// reached.
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

/// Returns how far two names differ: 0 apart from case, 1 apart from the file extension, otherwise
/// 1 plus the Levenshtein distance; `None` if they have little in common.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (a, b) = (wanted.to_lowercase(), name.to_lowercase());
    if a == b {
        return Some(0);
    }
    if stem(&a) == stem(&b) {
        return Some(1);
    }
    let max_edits = (a.chars().count() / 4).min(3);
    // Names of very different length are not alike: skip the comparison, whose cost is quadratic.
    // Lengths are in bytes, of which a character has up to four.
    if a.len().abs_diff(b.len()) > 4 * max_edits {
        return None;
    }
    let beginning = |name: &str| name.chars().take(MAX_LENGTH).collect::<String>();
    let edits = strsim::levenshtein(&beginning(&a), &beginning(&b));
    (edits <= max_edits).then_some(1 + edits)
}

/// Returns `name` up to its last dot.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_names_come_first_and_others_are_left_out() {
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
