//! Names like the one that is missing.

use std::fs;
use std::path::Path;

/// How many entries of a folder are looked through.
const MAX_ENTRIES: usize = 10_000;
/// How many names are worth showing.
const MAX_NAMES: usize = 3;

/// The names in `folder` that `wanted` was probably meant to be, the likeliest first.
pub(super) fn near_names(folder: &Path, wanted: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<(usize, String)> = entries
        .take(MAX_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some((distance(wanted, &name)?, name)))
        .collect();
    names.sort();
    names.truncate(MAX_NAMES);
    names.into_iter().map(|(_, name)| name).collect()
}

/// How far apart two names are: case only, then extension only, then a few letters; `None` if they have little in common.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let (a, b) = (wanted.to_lowercase(), name.to_lowercase());
    if a == b {
        return Some(0);
    }
    let stem = |name: &str| Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    if stem(&a) == stem(&b) {
        return Some(1);
    }
    let edits = edits(&a, &b);
    let bearable = a.chars().count() / 4;
    (edits <= bearable.min(3)).then_some(1 + edits)
}

/// The Levenshtein distance. File names are short (255 bytes), so its square cost is too.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(256).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().take(256).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_names_come_first_and_strangers_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["Base_Link.STL", "base_link.dae", "base_lnk.stl", "forearm.stl"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(near_names(folder.path(), "base_link.stl"), ["Base_Link.STL", "base_link.dae", "base_lnk.stl"]);
        assert_eq!(near_names(folder.path(), "wheel.stl"), [""; 0]);
        assert_eq!(near_names(&folder.path().join("none"), "wheel.stl"), [""; 0]);
    }
}
