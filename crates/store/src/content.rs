//! Bytes in memory, or loaded lazily from a store.

use std::fmt;
use std::iter;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::spill::{Piece, joined};
use super::{Loader, hex};

/// The bytes of a file, with their length and hash. Clones share the bytes and the hash once either
/// is loaded or computed.
#[derive(Clone)]
pub struct Content(Arc<Known>);

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Content")
            .field("length", &self.0.length)
            .field("sha256", &self.0.sha256)
            .finish_non_exhaustive()
    }
}

struct Known {
    /// Consecutive pieces, so that a large piece need not be copied to follow a small one.
    pieces: OnceLock<Vec<Piece>>,
    /// Loads the bytes from a store, if they are not in memory.
    loader: Option<Loader>,
    length: u64,
    sha256: OnceLock<Option<String>>,
}

impl<T: Into<Bytes>> From<T> for Content {
    fn from(bytes: T) -> Self {
        Self::from_pieces([bytes.into()], None)
    }
}

impl Content {
    /// Creates content from consecutive pieces, with its SHA-256 in lower-case hex if known.
    pub fn from_pieces(
        pieces: impl IntoIterator<Item: Into<Piece>>,
        sha256: Option<String>,
    ) -> Self {
        let pieces: Vec<Piece> = pieces.into_iter().map(Into::into).collect();
        let length = pieces.iter().map(|piece| piece.len() as u64).sum();
        let sha256 = sha256.map_or_else(OnceLock::new, |known| Some(known).into());
        Self(
            Known {
                pieces: pieces.into(),
                loader: None,
                length,
                sha256,
            }
            .into(),
        )
    }

    /// Creates content that is loaded from a store: `length` bytes with this SHA-256.
    pub fn stored(loader: Loader, length: u64, sha256: String) -> Self {
        Self(
            Known {
                pieces: OnceLock::new(),
                loader: Some(loader),
                length,
                sha256: Some(sha256).into(),
            }
            .into(),
        )
    }

    /// Returns the number of bytes.
    pub fn length(&self) -> u64 {
        self.0.length
    }

    /// Returns the SHA-256 in lower-case hex if it is known or was computed already.
    pub fn known_sha256(&self) -> Option<&str> {
        self.0.sha256.get()?.as_deref()
    }

    /// Returns the SHA-256 in lower-case hex; `None` in the cases of [`Self::bytes`]. Concurrent
    /// callers compute it once.
    pub fn sha256(&self) -> Option<&str> {
        let hash = || {
            let hash = self
                .chunks()
                .try_fold(Sha256::new(), |hash, chunk| Some(hash.chain_update(chunk?)))?;
            Some(hex(&hash.finalize()))
        };
        self.0.sha256.get_or_init(hash).as_deref()
    }

    fn pieces(&self) -> Option<&[Piece]> {
        // Not `get_or_init`: a failed load is not cached, and is tried again. An entry of another
        // length was overwritten since, which keys of identities allow: it counts as evicted.
        if self.0.pieces.get().is_none() {
            let bytes =
                self.0.loader.as_ref()?().filter(|bytes| bytes.len() as u64 == self.0.length)?;
            let _ = self.0.pieces.set(vec![bytes.into()]);
        }
        self.0.pieces.get().map(Vec::as_slice)
    }

    /// Returns the bytes in parts, so that they need not all be in memory at once; the only item is
    /// `None` if the store has evicted them.
    pub fn chunks(&self) -> impl Iterator<Item = Option<Bytes>> {
        let pieces = self.pieces();
        let evicted = iter::repeat_n(None, usize::from(pieces.is_none()));
        pieces
            .into_iter()
            .flatten()
            .flat_map(Piece::chunks)
            .chain(evicted)
    }

    /// Returns the bytes in one piece; `None` if the store has evicted them.
    pub fn bytes(&self) -> Option<Bytes> {
        match self.pieces()? {
            [only] => only.bytes(),
            pieces => joined(pieces).map(Bytes::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, Store};

    const SHA256_OF_ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn content_is_equal_in_pieces_and_from_a_store() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::builder("test").key();
        let pieces = Content::from_pieces(["a", "bc"], None);
        assert_eq!(pieces.known_sha256(), None);
        let mut contents = vec![pieces, Content::from("abc")];
        for store in [Store::in_memory(10), Store::on_disk(folder.path(), 10)] {
            assert!(store.loader(&key).is_none());
            store.put(&key, || &b"abc"[..]);
            contents.push(Content::stored(
                store.loader(&key).unwrap(),
                3,
                SHA256_OF_ABC.to_owned(),
            ));
            assert!(
                Content::stored(store.loader(&key).unwrap(), 4, String::new())
                    .bytes()
                    .is_none()
            );
            assert!(store.write_only().loader(&key).is_none());
        }
        for content in contents {
            assert_eq!(
                (content.length(), content.bytes().as_deref()),
                (3, Some(&b"abc"[..]))
            );
            assert_eq!(
                (content.sha256(), content.known_sha256()),
                (Some(SHA256_OF_ABC), Some(SHA256_OF_ABC))
            );
        }
    }

    #[test]
    fn a_loader_keeps_memory_entries_but_not_disk_entries() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::builder("test").key();
        for (store, stays) in [
            (Store::in_memory(10), true),
            (Store::on_disk(folder.path(), 10), false),
        ] {
            store.put(&key, || &b"abc"[..]);
            let later = store.loader(&key).unwrap();
            store.put(&key, || &b"another"[..]);
            assert_eq!(later().as_deref() == Some(&b"abc"[..]), stays);
        }
    }
}
