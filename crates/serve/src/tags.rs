//! Entity tags of files: a hash of the content for files of an asset, else one made from metadata.
//! (`tower-http` serves files with dates only.)

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// Maximum number of cached hashes; more than the files of many assets.
const MAX_HASHES: usize = 10_000;
/// Bytes read from a file at a time.
const CHUNK: usize = 256 << 10;

/// Metadata that identifies a content of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Identity {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            // Programs can set the modification time back, but not the time of the last change.
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    fn tag(&self) -> String {
        format!(
            "\"{:x}-{:x}.{:x}-{:x}\"",
            self.length, self.modified.0, self.modified.1, self.inode
        )
    }
}

/// Cached hashes of served files.
#[derive(Debug, Default)]
pub(super) struct Tags {
    hashes: Mutex<HashMap<Identity, String>>,
    /// Serialises hashing, so that a file is hashed once.
    turn: Mutex<()>,
}

impl Tags {
    /// Returns the strong tag of an open file.
    ///
    /// For files of the asset (`is_listed`) it is the SHA-256 of the content. The hash in the
    /// asset's report can't be used, since the file may already belong to the next revision. May
    /// read the whole file.
    pub(super) fn compute(&self, file: &File, meta: &Metadata, is_listed: bool) -> String {
        let identity = Identity::of(meta);
        if !is_listed {
            return identity.tag();
        }
        if let Some(tag) = self.known(&identity) {
            return tag;
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        // Another request may have hashed the file meanwhile.
        if let Some(tag) = self.known(&identity) {
            return tag;
        }
        let unchanged = || {
            file.metadata()
                .is_ok_and(|now| Identity::of(&now) == identity)
        };
        // A hash of a file that changed meanwhile may belong to no content at all.
        match hash(file).ok().filter(|_| unchanged()) {
            Some(hash) => {
                let tag = format!("\"{hash}\"");
                let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
                if hashes.len() >= MAX_HASHES {
                    hashes.clear();
                }
                hashes.insert(identity, tag.clone());
                tag
            }
            None => identity.tag(),
        }
    }

    fn known(&self, identity: &Identity) -> Option<String> {
        self.hashes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(identity)
            .cloned()
    }
}

/// Returns the SHA-256 of a file in lower-case hex, without moving its position.
///
/// # Errors
/// Returns the error of reading the file.
pub fn hash(file: &File) -> io::Result<String> {
    let (mut hash, mut chunk, mut offset) = (Sha256::new(), vec![0; CHUNK], 0);
    loop {
        match file.read_at(&mut chunk, offset) {
            Ok(0) => break,
            Ok(read) => {
                hash.update(chunk.get(..read).unwrap_or_default());
                offset += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::Tags;
    use std::fs::{self, File};

    #[test]
    fn a_listed_file_is_known_by_its_content_and_another_by_its_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let tags = Tags::default();
        let tag = |is_listed| {
            let file = File::open(&path).unwrap();
            tags.compute(&file, &file.metadata().unwrap(), is_listed)
        };
        fs::write(&path, "abc").unwrap();
        let hash = "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"";
        assert_eq!((tag(true).as_str(), tag(true).as_str()), (hash, hash));
        let (before, other) = (tag(false), folder.path().join("b"));
        assert_ne!(before, hash);
        // Replace it by another file of the same length.
        fs::write(&other, "abd").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_ne!(tag(true), hash);
        assert_ne!(tag(false), before);
    }
}
