//! Suggestions for a missing file: similar names in its folder.

use std::fs;
use std::path::Path;

use urdf_usd_diagnostic::nearest;

/// Maximum number of directory entries that are compared.
const MAX_ENTRIES: usize = 10_000;

/// Returns the names in `folder` most similar to `wanted`, best first.
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
    fn similar_names_come_first_and_others_are_left_out() {
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
