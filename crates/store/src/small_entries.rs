//! The small entries of a recurring job, stored together in one entry: opening hundreds of files
//! takes longer than using their contents.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::{Buf, Bytes, BytesMut};

use super::Key;

/// Maximum size of a small entry, in bytes.
pub(super) const MAX_SMALL_BYTES: usize = 4 << 10;

/// Small entries of a job.
#[derive(Debug)]
pub(super) struct SmallEntries {
    /// Key of the common entry.
    pub key: Key,
    /// Key of the common entry for other machines, if they have none.
    pub missing: Option<Key>,
    /// Entries of the last run.
    known: HashMap<Key, Bytes>,
    /// Entries read or put in this run.
    used: Mutex<HashMap<Key, Bytes>>,
    /// Keys whose small entries were replaced by large ones.
    replaced: Mutex<HashSet<Key>>,
}

impl SmallEntries {
    /// Creates the entries of a job from `kept`, which [`Self::changed`] returned in its last run.
    pub fn new(key: Key, missing: Option<Key>, kept: Option<Bytes>) -> Self {
        Self {
            key,
            missing,
            known: kept.map(entries).unwrap_or_default(),
            used: Mutex::default(),
            replaced: Mutex::default(),
        }
    }

    pub fn get(&self, key: &Key) -> Option<Bytes> {
        let mut used = self.used();
        // An entry put in this run is newer.
        if let Some(bytes) = used.get(key) {
            return Some(bytes.clone());
        }
        // A large entry put in this run supersedes the small one of the last run.
        let bytes = self
            .known
            .get(key)
            .filter(|_| !self.replaced().contains(key))?;
        // Only entries used in this run are kept for the next: the common entry must not grow.
        used.insert(*key, bytes.clone());
        Some(bytes.clone())
    }

    /// Records an entry that was read from the store, or put.
    pub fn note(&self, key: &Key, bytes: &[u8]) {
        let mut used = self.used();
        if bytes.len() <= MAX_SMALL_BYTES {
            used.insert(*key, Bytes::copy_from_slice(bytes));
        } else {
            // `note_large` takes this lock itself, and `Mutex` is not reentrant.
            drop(used);
            self.note_large(key);
        }
    }

    /// Records that a large entry replaced a small one.
    pub fn note_large(&self, key: &Key) {
        let mut used = self.used();
        used.remove(key);
        self.replaced().insert(*key);
    }

    /// Returns the new common entry, if it differs from that of the last run.
    pub fn changed(&self) -> Option<Bytes> {
        let used = self.used();
        if *used == self.known {
            return None;
        }
        Some(packed(&used))
    }

    /// Locks `replaced`. Lock order: `used` before `replaced`.
    fn replaced(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.replaced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn used(&self) -> MutexGuard<'_, HashMap<Key, Bytes>> {
        // A map is consistent between any two statements, so a panic elsewhere does not damage it.
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a common entry without those that belong to one machine; `None` if none is left.
///
/// Another machine must neither get nor provide these: they state facts about local files, such as
/// the hash of a path's content.
pub(super) fn shareable(kept: Bytes) -> Option<Bytes> {
    let mut entries = entries(kept);
    entries.retain(|key, _| key.is_shared());
    (!entries.is_empty()).then(|| packed(&entries))
}

/// Encodes a common entry. Equal entries give equal bytes.
fn packed(entries: &HashMap<Key, Bytes>) -> Bytes {
    let mut bytes = BytesMut::new();
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| key.0);
    for (key, entry) in entries {
        bytes.extend_from_slice(&key.0);
        bytes.extend_from_slice(&(entry.len() as u32).to_le_bytes());
        bytes.extend_from_slice(entry);
    }
    bytes.freeze()
}

/// Decodes a common entry, up to the first damaged record.
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
