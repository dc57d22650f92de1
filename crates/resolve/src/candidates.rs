//! Names in a folder like the one that is missing.

use std::fs;
use std::path::Path;

use urdf_usd_diagnostic::nearest;

/// How many entries of a folder are looked through.
const MAX_ENTRIES: usize = 10_000;

/// The names in `folder` that `wanted` was probably meant to be, the likeliest first.
pub(super) fn near_names(folder: &Path, wanted: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries
        .take(MAX_ENTRIES)
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    nearest(wanted, names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likely_names_come_first_and_strangers_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "Base_Link.STL",
            "base_link.dae",
            "base_lnk.stl",
            "forearm.stl",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(
            near_names(folder.path(), "base_link.stl"),
            ["Base_Link.STL", "base_link.dae", "base_lnk.stl"]
        );
        assert_eq!(near_names(folder.path(), "wheel.stl"), [""; 0]);
        assert_eq!(
            near_names(&folder.path().join("none"), "wheel.stl"),
            [""; 0]
        );
    }
}
