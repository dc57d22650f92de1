//! Entity tags of files: the hash of the content where that was worth computing once, otherwise
//! what the file system says. Servers of files such as that of `tower-http` have only dates.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::sync::{Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// How many hashes are kept: more than the files of many assets.
const MOST: usize = 10_000;
/// How much of a file is read at a time.
const CHUNK: usize = 256 << 10;

/// What tells one content of a file from another without reading it.
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

/// The hashes of files that were served.
#[derive(Debug, Default)]
pub(super) struct Tags {
    hashes: Mutex<HashMap<Identity, String>>,
    /// Files are hashed one after another.
    turn: Mutex<()>,
}

impl Tags {
    /// The strong tag of an open file. Of an asset's own files (`is_listed`) it is the SHA-256 of
    /// the content: not that of the asset's list, since the file may be of the next revision
    /// already. May read the whole file.
    pub(super) fn of(&self, file: &File, meta: &Metadata, is_listed: bool) -> String {
        let identity = Identity::of(meta);
        if !is_listed {
            return identity.tag();
        }
        if let Some(tag) = self.known(&identity) {
            return tag;
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tag) = self.known(&identity) {
            return tag;
        }
        let unchanged = || {
            file.metadata()
                .is_ok_and(|now| Identity::of(&now) == identity)
        };
        match hash(file).ok().filter(|_| unchanged()) {
            Some(hash) => {
                let tag = format!("\"{hash}\"");
                let mut hashes = self.hashes.lock().unwrap_or_else(PoisonError::into_inner);
                if hashes.len() >= MOST {
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

/// The SHA-256 of a file, lower-case hex; its position stays where it is.
///
/// # Errors
/// If it cannot be read.
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
            tags.of(&file, &file.metadata().unwrap(), is_listed)
        };
        fs::write(&path, "abc").unwrap();
        let hash = "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"";
        assert_eq!((tag(true).as_str(), tag(true).as_str()), (hash, hash));
        let (before, other) = (tag(false), folder.path().join("b"));
        assert_ne!(before, hash);
        // Another file of the same length takes its place.
        fs::write(&other, "abd").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_ne!(tag(true), hash);
        assert_ne!(tag(false), before);
    }
}
