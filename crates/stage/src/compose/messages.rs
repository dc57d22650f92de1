//! Messages about layers that cannot be read.

use super::super::usda;

/// Returns the file name of a layer.
pub(crate) fn file_name(identifier: &str) -> &str {
    identifier.rsplit('/').next().unwrap_or(identifier)
}

/// Returns what is wrong with a layer in the words of this project.
pub(crate) fn shorten(reason: &str) -> String {
    // The comparisons are with messages of `openusd` 0.8.0.
    let first = reason.lines().next().unwrap_or_default();
    if first.starts_with(usda::NO_HEADER) {
        return "it is not an OpenUSD file: its text does not begin with `#usda 1.0`, and it is neither binary nor a package"
            .to_owned();
    }
    if first.starts_with("failed to read pod ") {
        return "the file is truncated or damaged".to_owned();
    }
    first.to_owned()
}
