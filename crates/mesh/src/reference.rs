//! Opens files that a mesh refers to, in any of the spellings that exporters use.

use std::path::Path;

use percent_encoding::percent_decode_str;

use urdf_usd_resolve::{File, Files, Located};

/// Opens `reference` literally, then with common mistakes of exporters corrected, then by its file
/// name in `folder`.
///
/// The error is that of the literal reference.
pub(super) fn open(reference: &str, folder: Option<&Path>, files: &Files) -> Result<File, String> {
    files
        .read(&locate(reference, folder, files)?)
        .map_err(|error| error.to_string())
}

/// Locates the file that [`open`] would open.
pub(super) fn locate(
    reference: &str,
    folder: Option<&Path>,
    files: &Files,
) -> Result<Located, String> {
    if reference.starts_with("http://") || reference.starts_with("https://") {
        return Err("it is on the network, where nothing is read from".into());
    }
    let mut reason = String::from("the reference is empty");
    for (i, spelling) in spellings(reference).iter().enumerate() {
        match files.locate(spelling, folder) {
            Ok(file) => return Ok(file),
            Err(error) if i == 0 => reason = error.to_string(),
            Err(_) => {}
        }
    }
    Err(reason)
}

/// Returns the paths that a reference may mean, most literal first.
fn spellings(reference: &str) -> Vec<String> {
    let reference = reference.trim();
    let mut spellings = Vec::new();
    let mut add = |spelling: String| {
        if !spelling.is_empty() && !spelling.ends_with('/') && !spellings.contains(&spelling) {
            spellings.push(spelling);
        }
    };
    add(reference.to_owned());
    if reference.starts_with("package://") {
        return spellings;
    }
    let path = reference
        .strip_prefix("file://")
        .or_else(|| reference.strip_prefix("file:"))
        .unwrap_or(reference);
    let decoded = percent_decode_str(path).decode_utf8_lossy().into_owned();
    for path in [path, &decoded] {
        add(path.to_owned());
        let slashes = path.replace('\\', "/");
        add(slashes.clone());
        if let Some(name) = slashes.rsplit('/').next() {
            add(name.to_owned());
        }
    }
    spellings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_exporters() {
        assert_eq!(spellings("a.png"), ["a.png"]);
        assert_eq!(spellings("package://p/a.png"), ["package://p/a.png"]);
        assert_eq!(
            spellings("../t/my%20map.png"),
            [
                "../t/my%20map.png",
                "my%20map.png",
                "../t/my map.png",
                "my map.png"
            ]
        );
        assert_eq!(
            spellings("..\\t\\a.png"),
            ["..\\t\\a.png", "../t/a.png", "a.png"]
        );
        assert_eq!(
            spellings("file:///C:/Users/me/a%20b.png"),
            [
                "file:///C:/Users/me/a%20b.png",
                "/C:/Users/me/a%20b.png",
                "a%20b.png",
                "/C:/Users/me/a b.png",
                "a b.png"
            ]
        );
        assert_eq!(spellings("file:a.png"), ["file:a.png", "a.png"]);
        assert_eq!(spellings("  "), [""; 0]);
    }
}
