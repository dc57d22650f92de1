//! The small entries that one job asks for, also kept together in one entry: to open hundreds of
//! files takes longer than all else that is done with them.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes, BytesMut};

use super::Key;

/// The most bytes of an entry that is kept with others.
pub(super) const SMALL: usize = 4 << 10;

/// Entries of a job.
#[derive(Debug)]
pub(super) struct Together {
    /// Where they are kept.
    pub key: Key,
    /// Those of the last time.
    known: HashMap<Key, Bytes>,
    /// Those that were asked for or put this time.
    used: Mutex<HashMap<Key, Bytes>>,
    /// Those in whose place large ones were put.
    replaced: Mutex<HashSet<Key>>,
}

impl Together {
    /// `kept`: what [`Self::changed`] gave the last time.
    pub fn new(key: Key, kept: Option<Bytes>) -> Self {
        Self {
            key,
            known: kept.map(entries).unwrap_or_default(),
            used: Mutex::default(),
            replaced: Mutex::default(),
        }
    }

    pub fn get(&self, key: &Key) -> Option<Bytes> {
        let mut used = self.used();
        // What was put since is newer.
        if let Some(bytes) = used.get(key) {
            return Some(bytes.clone());
        }
        let bytes = self
            .known
            .get(key)
            .filter(|_| !self.replaced().contains(key))?;
        used.insert(*key, bytes.clone());
        Some(bytes.clone())
    }

    /// Notes an entry that was asked for elsewhere, or put.
    pub fn note(&self, key: &Key, bytes: &[u8]) {
        let mut used = self.used();
        if bytes.len() <= SMALL {
            used.insert(*key, Bytes::copy_from_slice(bytes));
        } else {
            drop(used);
            self.note_large(key);
        }
    }

    /// Notes that a large entry took the place of a small one.
    pub fn note_large(&self, key: &Key) {
        let mut used = self.used();
        used.remove(key);
        self.replaced().insert(*key);
    }

    /// What to keep under the key, if it is another than the last time.
    pub fn changed(&self) -> Option<Bytes> {
        let used = self.used();
        if *used == self.known {
            return None;
        }
        let mut bytes = BytesMut::new();
        for (key, entry) in &*used {
            bytes.extend_from_slice(&key.0);
            bytes.extend_from_slice(&(entry.len() as u32).to_le_bytes());
            bytes.extend_from_slice(entry);
        }
        Some(bytes.freeze())
    }

    /// Asked for while [`Self::used`] is held, never the other way round.
    fn replaced(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Key, Bytes>> {
        // A map is whole between any two statements, so a panic elsewhere does not spoil it.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entries in what was kept; those that fit.
fn entries(mut kept: Bytes) -> HashMap<Key, Bytes> {
    let mut entries = HashMap::new();
    while let Some((key, rest)) = kept.split_first_chunk::<32>()
        && let Some((length, rest)) = rest.split_first_chunk::<4>()
    {
        let (key, length, left) = (Key(*key), u32::from_le_bytes(*length) as usize, rest.len());
        if length > left {
            break;
        }
        kept.advance(kept.len() - left);
        entries.insert(key, kept.split_to(length));
    }
    entries
}
