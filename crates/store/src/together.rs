//! The small entries that one job asks for, kept in one entry besides: to open hundreds of files takes longer than all else that is done
//! with them.

use std::collections::HashMap;
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
}

impl Together {
    /// `kept`: what [`Self::changed`] gave the last time.
    pub fn new(key: Key, kept: Option<Bytes>) -> Self {
        Self { key, known: kept.map(entries).unwrap_or_default(), used: Mutex::default() }
    }

    pub fn get(&self, key: &Key) -> Option<Bytes> {
        let bytes = self.known.get(key)?;
        self.used().insert(*key, bytes.clone());
        Some(bytes.clone())
    }

    /// Notes an entry that was asked for elsewhere, or put.
    pub fn note(&self, key: &Key, bytes: &[u8]) {
        if bytes.len() <= SMALL {
            self.used().insert(*key, Bytes::copy_from_slice(bytes));
        }
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
