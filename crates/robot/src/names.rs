//! Conversion of arbitrary names to identifiers and ROS names, and unique names.

#![allow(clippy::indexing_slicing, reason = "each name was counted before")]

use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

/// Maximum length of an identifier in bytes. Names are parts of the paths of everything below them,
/// and a long one would be repeated in each.
pub const MAX_IDENTIFIER: usize = 255;

/// Maximum length in bytes of a generated part of a ROS name: ROS allows 255 for a whole name,
/// topic included.
const MAX_ROS_PART: usize = 100;

/// Returns `name`, or else the first of `name_1`, `name_2` and so on that `is_free` accepts.
pub fn unique(name: &str, is_free: impl FnMut(&str) -> bool) -> String {
    unique_from(name, "_", 1, is_free)
}

/// As [`unique`], with another separator and first number.
pub fn unique_from(
    name: &str,
    separator: &str,
    first: usize,
    mut is_free: impl FnMut(&str) -> bool,
) -> String {
    let numbered = (first..).map(|number| format!("{name}{separator}{number}"));
    std::iter::once(name.to_owned())
        .chain(numbered)
        // The numbers never end, so the default below is never used.
        .find(|name| is_free(name))
        .unwrap_or_default()
}

/// The names of one scope, each unique. Takes linear time even for many equal names.
#[derive(Clone, Debug, Default)]
pub struct UniqueNames {
    taken: HashSet<String>,
    /// The next suffix to try for each name that was requested again.
    next: HashMap<String, usize>,
}

impl UniqueNames {
    /// Takes a name as it is. Returns whether it was free.
    pub fn insert(&mut self, name: &str) -> bool {
        !self.taken.contains(name) && self.taken.insert(name.to_owned())
    }

    /// Takes `name`, or else the first of `name_1`, `name_2` and so on that is free.
    pub fn unique(&mut self, name: &str) -> String {
        if self.insert(name) {
            return name.to_owned();
        }
        self.numbered_from(name, 1)
    }

    /// As [`UniqueNames::unique`], for `fallback` if `name` is blank.
    pub fn unique_or(&mut self, name: &str, fallback: &str) -> String {
        let is_blank = name.trim().is_empty();
        self.unique(if is_blank { fallback } else { name })
    }

    /// Takes the first of `name_2`, `name_3` and so on that is free.
    pub fn numbered(&mut self, name: &str) -> String {
        self.numbered_from(name, 2)
    }

    fn numbered_from(&mut self, name: &str, first: usize) -> String {
        let next = self.next.entry(name.to_owned()).or_insert(first);
        loop {
            let candidate = format!("{name}_{next}");
            *next += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// Returns whether `name` is an identifier (UAX #31): `_` or XID_Start, then XID_Continue.
pub fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c))
        && chars.all(unicode_ident::is_xid_continue)
}

/// Returns the identifier nearest to `name`: every other character becomes `_`, a leading digit is
/// prefixed with `_`. `fallback` replaces a name without any valid character.
fn nearest(name: &str, fallback: &str) -> String {
    let mut out = String::with_capacity(name.len() + 1);
    for c in name.chars() {
        if out.is_empty()
            && c != '_'
            && !unicode_ident::is_xid_start(c)
            && unicode_ident::is_xid_continue(c)
        {
            out.push('_');
        }
        out.push(if unicode_ident::is_xid_continue(c) {
            c
        } else {
            '_'
        });
    }
    if out.len() > MAX_IDENTIFIER {
        // Leave room for the hash that distinguishes it from others with this prefix, and for a
        // number.
        let end = (0..=MAX_IDENTIFIER - 20)
            .rev()
            .find(|&end| out.is_char_boundary(end))
            .unwrap_or(0);
        out.truncate(end);
    }
    if out.is_empty() {
        fallback.to_owned()
    } else {
        out
    }
}

/// Returns identifiers for the siblings `names`, in one pass: distinct from each other and from
/// `reserved`.
///
/// A name that is an identifier of at most [`MAX_IDENTIFIER`] bytes is kept. Others become the
/// nearest identifier. If that is taken, or nearest to several, they get a suffix derived from the
/// name itself, so that they don't change when unrelated siblings do. Equal names get a number.
pub fn identifiers(names: &[&str], fallback: &str, reserved: &[&str]) -> Vec<String> {
    let reserved: HashSet<&str> = reserved.iter().copied().collect();
    identifiers_without(names, fallback, |_, candidate| reserved.contains(candidate))
}

/// Returns identifiers for `names` like [`identifiers`]; `is_reserved` is called with the index of a
/// name and a candidate, so that names in different places have different reserved names.
pub fn identifiers_without(
    names: &[&str],
    fallback: &str,
    is_reserved: impl Fn(usize, &str) -> bool,
) -> Vec<String> {
    let fits = |name: &str| name.len() <= MAX_IDENTIFIER && is_identifier(name);
    let exact: HashSet<&str> = names.iter().copied().filter(|name| fits(name)).collect();
    let mut pairs = names.iter().enumerate();
    // Nearly always, all names can stay.
    if exact.len() == names.len() && !pairs.any(|(index, name)| is_reserved(index, name)) {
        return names.iter().map(|&name| name.to_owned()).collect();
    }
    let mut wanted: HashMap<String, usize> = HashMap::new();
    let near: Vec<String> = names.iter().map(|name| nearest(name, fallback)).collect();
    let mut met: HashSet<&str> = HashSet::new();
    for (name, near) in names.iter().zip(&near) {
        // An exact name has priority. Count only names that would collide, and equal ones once: a
        // suffix derived from the name would not distinguish them.
        if name != near && met.insert(name) {
            *wanted.entry(near.clone()).or_default() += 1;
        }
    }
    let mut taken: HashSet<String> = HashSet::new();
    let mut out = Vec::with_capacity(names.len());
    // The next number to try for names with the same identifier, which are common in some robots.
    let mut next: HashMap<String, usize> = HashMap::new();
    for (index, (name, near)) in names.iter().zip(near).enumerate() {
        let contested = *name != near
            && !name.is_empty()
            && (name.len() > MAX_IDENTIFIER
                || wanted[&near] > 1
                || exact.contains(near.as_str())
                || is_reserved(index, &near));
        let base = if contested {
            format!("{near}_{}", tail(name))
        } else {
            near
        };
        // A name that is an identifier already stays, even if it comes later.
        let is_free = |candidate: &str| {
            !taken.contains(candidate)
                && !is_reserved(index, candidate)
                && (candidate == *name || !exact.contains(candidate))
        };
        let mut identifier = base;
        if !is_free(&identifier) {
            let base = identifier;
            let number = next.entry(base.clone()).or_insert(1);
            loop {
                identifier = format!("{base}_{number}");
                *number += 1;
                if is_free(&identifier) {
                    break;
                }
            }
        }
        taken.insert(identifier.clone());
        out.push(identifier);
    }
    out
}

/// Returns whether a part between the slashes of a ROS name is valid: ASCII letters, digits and
/// underscores, no leading digit.
pub fn is_ros_part(part: &str) -> bool {
    !part.is_empty()
        && !part.starts_with(|c: char| c.is_ascii_digit())
        && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns whether `name` is a valid ROS name: parts separated by single slashes, with an optional
/// leading slash.
pub fn is_ros_name(name: &str) -> bool {
    name.strip_prefix('/')
        .unwrap_or(name)
        .split('/')
        .all(is_ros_part)
}

/// Returns a valid part of a ROS name for `name`: `name` itself if it is valid. Otherwise the valid
/// characters, with an underscore for each run of others, and a hash of the whole name, so that
/// different names stay distinct: `left arm` becomes `left_arm_` and six hex digits. `fallback` is
/// the prefix if no character is valid or the first is a digit; an underscore never is, since ROS
/// hides such names.
pub fn ros_part(name: &str, fallback: &str) -> String {
    if is_ros_part(name) && name.len() <= MAX_ROS_PART {
        return name.to_owned();
    }
    let words = name
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .map(|word| word.trim_matches('_'));
    let mut out = words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("_");
    if out.is_empty() {
        out.push_str(fallback);
    } else if out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert_str(0, &format!("{fallback}_"));
    }
    // Different names may have the same words; the hash of the original tells them apart.
    let tail = tail(name);
    out.truncate(MAX_ROS_PART - 1 - tail.len());
    format!("{}_{tail}", out.trim_end_matches('_'))
}

/// Returns a ROS name as seen from around a namespace: unchanged if the name is absolute or the
/// namespace empty.
pub fn in_namespace(namespace: &str, name: &str) -> String {
    if namespace.is_empty() || name.starts_with('/') {
        name.to_owned()
    } else if name.is_empty() {
        namespace.to_owned()
    } else {
        format!("{}/{name}", namespace.trim_end_matches('/'))
    }
}

/// Returns six hex digits that depend only on the name.
fn tail(name: &str) -> String {
    Sha256::digest(name.as_bytes())
        .iter()
        .take(3)
        .map(|b| format!("{b:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{
        UniqueNames, identifiers, is_ros_name, is_ros_part, ros_part, unique, unique_from,
    };

    #[test]
    fn taken_names_get_the_first_free_number() {
        let taken = ["a", "a_1"];
        assert_eq!(unique("a", |name| !taken.contains(&name)), "a_2");
        assert_eq!(unique("b", |name| !taken.contains(&name)), "b");
        assert_eq!(unique_from("a", " ", 2, |name| name != "a"), "a 2");
        let mut names = UniqueNames::default();
        assert!(names.insert("a_1") && !names.insert("a_1"));
        let given = ["a", "a", "a", "a_2"].map(|name| names.unique(name));
        assert_eq!(given, ["a", "a_2", "a_3", "a_2_1"]);
        assert_eq!(names.unique_or(" ", "link"), "link");
        assert_eq!([names.numbered("b"), names.numbered("b")], ["b_2", "b_3"]);
    }

    #[test]
    fn ros_names_are_kept_and_others_encoded_each_in_its_own_way() {
        for name in ["robot_1", "R2D2", "_hidden", "a__b", "x"] {
            assert_eq!(ros_part(name, "robot"), name);
        }
        let others = [
            "机器人",
            "机械臂",
            "my-robot",
            "my robot",
            "my_robot ",
            "7bot",
            "größe",
            "groesse!",
            "",
            " ",
            "_",
            "-",
            "a/b",
            "a//b",
            "/a/b",
            "ä_",
            "_ä",
        ];
        let long = |end: char| "l".repeat(150) + &end.to_string();
        let others: Vec<String> = others
            .iter()
            .filter(|name| **name != "_")
            .map(|name| (*name).to_owned())
            .chain([long('a'), long('b')])
            .collect();
        let made: HashSet<String> = others.iter().map(|name| ros_part(name, "robot")).collect();
        assert_eq!(made.len(), others.len(), "{made:?}");
        for name in &made {
            assert!(
                is_ros_part(name)
                    && !name.starts_with('_')
                    && !name.contains("__")
                    && name.len() <= super::MAX_ROS_PART,
                "{name}"
            );
        }
        let begins = |name: &str, start: &str| {
            assert!(
                ros_part(name, "robot").starts_with(start),
                "{}",
                ros_part(name, "robot")
            )
        };
        begins("my-robot", "my_robot_");
        begins("机器人", "robot_");
        begins("7bot", "robot_7bot_");
        begins("KUKA  iiwa (left)", "KUKA_iiwa_left_");
    }

    #[test]
    fn ros_names_have_parts() {
        for name in ["a", "/a", "a/b_2", "/fleet/r2", "_"] {
            assert!(is_ros_name(name), "{name}");
        }
        for name in [
            "", "/", "a/", "a//b", "//a", "a-b", "2a", "a/2b", "ä", "a b", "~a", "{a}",
        ] {
            assert!(!is_ros_name(name), "{name}");
        }
    }

    #[test]
    fn identifiers_are_kept_and_others_encoded() {
        assert_eq!(
            identifiers(
                &["base", "arm/left", "0wheel", "größe", "", "base-2", "a b"],
                "link",
                &[]
            ),
            [
                "base", "arm_left", "_0wheel", "größe", "link", "base_2", "a_b"
            ]
        );
    }

    #[test]
    fn collisions_do_not_depend_on_order_or_on_others() {
        let one = identifiers(&["a-b", "a b", "a_b"], "link", &[]);
        let two = identifiers(&["a_b", "x", "a b", "a-b"], "link", &[]);
        assert_eq!(one[2], "a_b");
        assert_eq!((&one[0], &one[1]), (&two[3], &two[2]));
        assert_ne!(one[0], one[1]);
    }

    #[test]
    fn long_names_are_cut_and_told_apart() {
        let long = |end: &str| format!("{}{end}", "ä".repeat(200));
        let (a, b, fits) = (long("a"), long("b"), "c".repeat(super::MAX_IDENTIFIER));
        let names = identifiers(&[&a, &b, &a, &fits], "link", &[]);
        assert!(
            names.iter().all(
                |name| name.len() <= super::MAX_IDENTIFIER && name.is_char_boundary(name.len())
            )
        );
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 4);
        assert_eq!(names[3], fits);
        assert_eq!(
            identifiers(&[&b], "link", &[])[0],
            names[1],
            "a name does not change with its siblings"
        );
    }

    #[test]
    fn equal_names_and_reserved_ones_are_told_apart() {
        let names = identifiers(&["visual", "", "", "visual"], "shape", &["visual"]);
        assert_eq!(names, ["visual_1", "shape", "shape_1", "visual_2"]);
        assert_eq!(identifiers(&["a:e", "a:e"], "link", &[]), ["a_e", "a_e_1"]);
    }
}
