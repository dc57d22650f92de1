//! Names that USD can hold (identifiers), for names that may be anything.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

/// The most bytes of an identifier. A prim's name stands in the path of everything below it: a long one would be written again with
/// each.
pub const MAX_IDENTIFIER: usize = 255;

/// Whether `name` is an identifier as OpenUSD ≥ 24.03 defines it: `_` or XID_Start, then XID_Continue.
pub fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c == '_' || unicode_ident::is_xid_start(c)) && chars.all(unicode_ident::is_xid_continue)
}

/// The nearest identifier to `name`: every other character becomes `_`, a leading digit gets one in front. `fallback` stands
/// in for a name with nothing in it.
fn nearest(name: &str, fallback: &str) -> String {
    let mut out = String::with_capacity(name.len() + 1);
    for c in name.chars() {
        if out.is_empty() && c != '_' && !unicode_ident::is_xid_start(c) && unicode_ident::is_xid_continue(c) {
            out.push('_');
        }
        out.push(if unicode_ident::is_xid_continue(c) { c } else { '_' });
    }
    if out.len() > MAX_IDENTIFIER {
        // Room for the tail that tells it from others that begin alike, and for a number.
        let end = (0..=MAX_IDENTIFIER - 20).rev().find(|&end| out.is_char_boundary(end)).unwrap_or(0);
        out.truncate(end);
    }
    if out.is_empty() { fallback.to_owned() } else { out }
}

/// Identifiers for the siblings `names`, all in one pass: distinct from each other and from `reserved`.
///
/// A name that is an identifier of at most [`MAX_IDENTIFIER`] bytes is kept. Others become the nearest identifier; where that is taken or wanted by two,
/// they get a tail made from the name itself, so that they don't change when unrelated siblings do. Equal names are told apart
/// by a number.
pub fn identifiers(names: &[&str], fallback: &str, reserved: &[&str]) -> Vec<String> {
    let mut wanted: HashMap<String, usize> = HashMap::new();
    let near: Vec<String> = names.iter().map(|name| nearest(name, fallback)).collect();
    let mut met: std::collections::HashSet<&str> = std::collections::HashSet::new();
    for (name, near) in names.iter().zip(&near) {
        // An exact name has the first right to itself; count only those that would have to share, and equal ones once: what is
        // made from the name would not tell them apart.
        if name != near && met.insert(name) {
            *wanted.entry(near.clone()).or_default() += 1;
        }
    }
    let fits = |name: &str| name.len() <= MAX_IDENTIFIER && is_identifier(name);
    let exact: std::collections::HashSet<&str> = names.iter().copied().filter(|name| fits(name)).collect();
    let held: std::collections::HashSet<&str> = reserved.iter().copied().collect();
    let mut taken: std::collections::HashSet<String> = reserved.iter().map(|&r| r.to_owned()).collect();
    let mut out = Vec::with_capacity(names.len());
    // The number to try next for names that come to the same: many do in some robots.
    let mut next: HashMap<String, usize> = HashMap::new();
    for (name, near) in names.iter().zip(near) {
        let contested = *name != near
            && !name.is_empty()
            && (name.len() > MAX_IDENTIFIER
                || wanted[&near] > 1
                || exact.contains(near.as_str())
                || held.contains(near.as_str()));
        let base = if contested { format!("{near}_{}", tail(name)) } else { near };
        let mut candidate = base.clone();
        let number = next.entry(base.clone()).or_insert(1);
        while taken.contains(&candidate) || (candidate != *name && exact.contains(candidate.as_str())) {
            candidate = format!("{base}_{number}");
            *number += 1;
        }
        taken.insert(candidate.clone());
        out.push(candidate);
    }
    out
}

/// Six hex digits that depend on nothing but the name.
fn tail(name: &str) -> String {
    Sha256::digest(name.as_bytes()).iter().take(3).map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::identifiers;

    #[test]
    fn identifiers_are_kept_and_others_encoded() {
        assert_eq!(
            identifiers(&["base", "arm/left", "0wheel", "größe", "", "base-2", "a b"], "link", &[]),
            ["base", "arm_left", "_0wheel", "größe", "link", "base_2", "a_b"]
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
        assert!(names.iter().all(|name| name.len() <= super::MAX_IDENTIFIER && name.is_char_boundary(name.len())));
        assert_eq!(names.iter().collect::<std::collections::HashSet<_>>().len(), 4);
        assert_eq!(names[3], fits);
        assert_eq!(identifiers(&[&b], "link", &[])[0], names[1], "a name does not change with its siblings");
    }

    #[test]
    fn equal_names_and_reserved_ones_are_told_apart() {
        let names = identifiers(&["visual", "", "", "visual"], "shape", &["visual"]);
        assert_eq!(names, ["visual_1", "shape", "shape_1", "visual_2"]);
        assert_eq!(identifiers(&["a:e", "a:e"], "link", &[]), ["a_e", "a_e_1"]);
    }
}
