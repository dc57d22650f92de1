//! USDZ: a package with all files of an asset, an archive that programs read without unpacking it.
//!
//! Files are stored uncompressed at multiples of 64 bytes, so that a reader can map them. This
//! module knows the structure of a package; it must not know the contents of a layer.

use std::io::Cursor;

use openusd::usdz::{ArchiveError, ArchiveWriter};

/// Packs files, given by path relative to the asset's directory. `root` comes first: it is the
/// layer that a reader of the package opens. Its entry among `files` is moved there; the others
/// follow in the given order.
///
/// Equal files give equal bytes: the archive's timestamps are all the earliest that the format can
/// represent.
///
/// # Errors
/// If the archive format can't represent a path, or the total size exceeds 4 GiB.
pub(super) fn package<'a>(
    root: &str,
    files: impl Iterator<Item = (&'a str, &'a [u8])> + Clone,
) -> Result<Vec<u8>, ArchiveError> {
    let mut archive = ArchiveWriter::new(Cursor::new(Vec::new()));
    let of_root = files.clone().filter(|(path, _)| *path == root);
    for (path, bytes) in of_root.chain(files.filter(|(path, _)| *path != root)) {
        archive.add_layer(path, bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}

#[cfg(test)]
mod tests {
    use super::package;

    /// Returns name, offset and content of every file, from the local headers alone (PKWARE APPNOTE
    /// 4.3.7).
    fn entries(archive: &[u8]) -> Vec<(String, usize, Vec<u8>)> {
        let mut entries = Vec::new();
        let mut at = 0;
        let half = |at: usize| usize::from(u16::from_le_bytes([archive[at], archive[at + 1]]));
        let word = |at: usize| half(at) | half(at + 2) << 16;
        while archive[at..].starts_with(b"PK\x03\x04") {
            assert_eq!(
                (half(at + 6) & 0b1000, half(at + 8)),
                (0, 0),
                "sizes in the header, nothing compressed"
            );
            assert_eq!(
                (half(at + 10), half(at + 12)),
                (0, 1 << 5 | 1),
                "midnight, 1980-01-01"
            );
            let (bytes, name, extra) = (word(at + 18), half(at + 26), half(at + 28));
            let content = at + 30 + name + extra;
            let text = std::str::from_utf8(&archive[at + 30..][..name]).unwrap();
            entries.push((
                text.to_owned(),
                content,
                archive[content..][..bytes].to_vec(),
            ));
            at = content + bytes;
        }
        assert!(
            archive[at..].starts_with(b"PK\x01\x02"),
            "the directory follows"
        );
        entries
    }

    #[test]
    fn the_root_comes_first_and_all_is_aligned() {
        let long = vec![7; 1000];
        let files: [(&str, &[u8]); 4] = [
            ("base.usda", b"b"),
            ("größe 1.usda", b"#usda 1.0"),
            ("textures/a b.png", &long),
            ("urdf.usda", b""),
        ];
        let archive = package("größe 1.usda", files.into_iter()).unwrap();
        let read = entries(&archive);
        let names: Vec<&str> = read.iter().map(|(name, _, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["größe 1.usda", "base.usda", "textures/a b.png", "urdf.usda"]
        );
        for (name, place, content) in &read {
            assert_eq!(place % 64, 0, "{name}");
            assert!(files.contains(&(name.as_str(), content)), "{name}");
        }
        assert_eq!(archive, package("größe 1.usda", files.into_iter()).unwrap());
    }

    #[test]
    fn paths_that_lead_out_are_refused() {
        for path in ["../a.usda", "/a.usda", "a\\b.usda", ""] {
            assert!(
                package(path, [(path, b"".as_slice())].into_iter()).is_err(),
                "{path}"
            );
        }
    }
}
