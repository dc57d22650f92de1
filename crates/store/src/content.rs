//! Bytes that are at hand, or in a store until somebody needs them.

use std::fmt;
use std::iter;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::spill::{Piece, joined};
use super::{Later, hex};

/// Bytes, as they are in a file, and what is known of them. Clones are the same: what one comes to
/// know, all know.
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
    /// In pieces that follow each other: so what is large need not be copied to be put behind what
    /// is small.
    pieces: OnceLock<Vec<Piece>>,
    /// Where they are if they are not at hand.
    kept: Option<Later>,
    length: u64,
    sha256: OnceLock<Option<String>>,
}

impl<T: Into<Bytes>> From<T> for Content {
    fn from(bytes: T) -> Self {
        Self::of([bytes.into()], None)
    }
}

impl Content {
    /// These pieces, one after the other, and their SHA-256 in lower-case hex if it is known.
    pub fn of(pieces: impl IntoIterator<Item: Into<Piece>>, sha256: Option<String>) -> Self {
        let pieces: Vec<Piece> = pieces.into_iter().map(Into::into).collect();
        let length = pieces.iter().map(|piece| piece.len() as u64).sum();
        let sha256 = sha256.map_or_else(OnceLock::new, |known| Some(known).into());
        Self(
            Known {
                pieces: pieces.into(),
                kept: None,
                length,
                sha256,
            }
            .into(),
        )
    }

    /// What is kept in a store: so many bytes of this SHA-256.
    pub fn kept(kept: Later, length: u64, sha256: String) -> Self {
        Self(
            Known {
                pieces: OnceLock::new(),
                kept: Some(kept),
                length,
                sha256: Some(sha256).into(),
            }
            .into(),
        )
    }

    /// How many bytes there are.
    pub fn length(&self) -> u64 {
        self.0.length
    }

    /// Their SHA-256 in lower-case hex, if somebody knew or asked already.
    pub fn known_sha256(&self) -> Option<&str> {
        self.0.sha256.get()?.as_deref()
    }

    /// Their SHA-256 in lower-case hex; `None` as for [`Self::bytes`]. Who asks while another does
    /// waits for that one's answer.
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
        if self.0.pieces.get().is_none() {
            let bytes =
                self.0.kept.as_ref()?().filter(|bytes| bytes.len() as u64 == self.0.length)?;
            let _ = self.0.pieces.set(vec![bytes.into()]);
        }
        self.0.pieces.get().map(Vec::as_slice)
    }

    /// The bytes, one part after the other, so that not all have to be in memory at once; `None`
    /// for what is there no more.
    pub fn chunks(&self) -> impl Iterator<Item = Option<Bytes>> {
        let pieces = self.pieces();
        let lost = iter::repeat_n(None, usize::from(pieces.is_none()));
        pieces
            .into_iter()
            .flatten()
            .flat_map(Piece::chunks)
            .chain(lost)
    }

    /// The bytes as one; `None` if the store has them no more.
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
    fn bytes_are_the_same_in_pieces_and_from_a_store() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::of("test").key();
        let pieces = Content::of(["a", "bc"], None);
        assert_eq!(pieces.known_sha256(), None);
        let mut contents = vec![pieces, Content::from("abc")];
        for store in [Store::in_memory(10), Store::on_disk(folder.path(), 10)] {
            assert!(store.later(&key).is_none());
            store.put(&key, || &b"abc"[..]);
            contents.push(Content::kept(
                store.later(&key).unwrap(),
                3,
                SHA256_OF_ABC.to_owned(),
            ));
            assert!(
                Content::kept(store.later(&key).unwrap(), 4, String::new())
                    .bytes()
                    .is_none()
            );
            assert!(store.anew().later(&key).is_none());
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
    fn what_was_in_memory_stays_and_what_was_on_disk_may_go() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::of("test").key();
        for (store, stays) in [
            (Store::in_memory(10), true),
            (Store::on_disk(folder.path(), 10), false),
        ] {
            store.put(&key, || &b"abc"[..]);
            let later = store.later(&key).unwrap();
            store.put(&key, || &b"another"[..]);
            assert_eq!(later().as_deref() == Some(&b"abc"[..]), stays);
        }
    }
}
