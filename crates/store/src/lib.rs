//! What took time to make, kept under the hash of all that it was made from: so it need not be made
//! again, and is never out of date.
//!
//! A store is in memory, for a program that stays, or on disk, shared by all processes of a person.
//! Losing any of it costs time and nothing else; so a disk that is full, read-only or spoilt is no
//! error. [`Content`] is what a file is to hold, which may be in a store alone, or in the temporary
//! file that a job spills to. This module knows bytes, nothing of what they mean.

mod content;
mod disk;
mod memory;
mod pieces;
mod spill;
pub mod time_limit;
mod together;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::content::Content;
use self::disk::Disk;
use self::memory::Memory;
pub use self::pieces::{Pieces, bytes_of};
pub use self::spill::{Piece, Spill, joined};
use self::together::Together;

/// How many bytes are kept if nobody says otherwise: in memory …
pub const MEMORY_BYTES: u64 = 512 << 20;

/// … and on disk.
pub const DISK_BYTES: u64 = 2 << 30;

/// The name of what is kept: a hash of what it was made from, or of whom it is about, where what is
/// put later takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

/// Bytes in lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(digit)
        .collect()
}

/// Has what is kept; `None` if it is not there any more.
pub type Later = Box<dyn Fn() -> Option<Bytes> + Send + Sync>;

/// A [`Key`] in the making.
#[derive(Clone, Debug)]
pub struct KeyOf(Sha256);

impl Key {
    /// Begins the key of what is of some `kind`: what follows is all that decides what it is.
    pub fn of(kind: &str) -> KeyOf {
        KeyOf(Sha256::new()).and(kind.as_bytes())
    }

    /// What tells it from others.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// In lower-case hex.
    fn hex(&self) -> String {
        hex(&self.0)
    }
}

impl KeyOf {
    /// The same with one thing more that decides.
    #[must_use]
    pub fn and(mut self, thing: &[u8]) -> Self {
        self.0.update((thing.len() as u64).to_le_bytes());
        self.0.update(thing);
        self
    }

    /// The key.
    pub fn key(self) -> Key {
        Key(self.0.finalize().into())
    }
}

/// Keeps bytes by their [`Key`]; nothing, if its limit is 0. Safe to share between threads, and on
/// disk between processes. Clones are the same store.
#[derive(Clone, Debug, Default)]
pub struct Store {
    place: Arc<Place>,
    /// Whether nothing that it has is given.
    is_anew: bool,
    /// The small entries of the job that it is for.
    together: Option<Arc<Together>>,
    /// Where the job that it is for puts what is too much for memory.
    spill: Option<Arc<Spill>>,
}

#[derive(Debug, Default)]
enum Place {
    /// Nothing is kept.
    #[default]
    Nowhere,
    Memory(Memory),
    Disk(Disk),
}

impl Store {
    /// One that keeps nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// One in memory. What was not asked for longest goes when there are more than `limit` bytes.
    pub fn in_memory(limit: u64) -> Self {
        if limit == 0 {
            Self::none()
        } else {
            Self::at(Place::Memory(Memory::new(limit)))
        }
    }

    /// One in a directory, which is made when it is first written to. What was not asked for
    /// longest goes when there are more than `limit` bytes, which [`Self::trim`] looks at.
    ///
    /// What other builds of this program put there is not used.
    pub fn on_disk(directory: &Path, limit: u64) -> Self {
        if limit == 0 {
            Self::none()
        } else {
            Self::at(Place::Disk(Disk::new(directory, limit)))
        }
    }

    fn at(place: Place) -> Self {
        Self {
            place: place.into(),
            ..Self::default()
        }
    }

    /// The same store for whoever makes all anew: nothing that it has is given, and what is made is
    /// kept. All stays in memory.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self {
            is_anew: true,
            spill: None,
            ..self.clone()
        }
    }

    /// The same store for a job that puts what it makes into a temporary file once much is in
    /// memory.
    #[must_use]
    pub fn spilling(self, spill: Spill) -> Self {
        Self {
            spill: Some(spill.into()),
            ..self
        }
    }

    /// Counts so many bytes that the job is going to hold, and says whether they are too many to
    /// stay in memory.
    pub fn is_to_spill(&self, length: usize) -> bool {
        self.spill
            .as_ref()
            .is_some_and(|spill| spill.is_due(length))
    }

    /// Puts `bytes` into the job's temporary file. `None` if that can't be.
    pub fn spill(&self, bytes: &[u8]) -> Option<Piece> {
        self.spill.as_ref()?.put(bytes)
    }

    /// The bytes, in the job's temporary file if they are too many to stay in memory.
    pub fn piece(&self, bytes: Bytes) -> Piece {
        let is_to_spill = bytes.len() >= pieces::LARGE && self.is_to_spill(bytes.len());
        let spilled = if is_to_spill {
            self.spill(&bytes)
        } else {
            None
        };
        spilled.unwrap_or_else(|| bytes.into())
    }

    /// The same store for a job that asks for the same again and again, named by `key`: on disk,
    /// the small entries that it asks for are also kept together in one entry, which is read here
    /// and written by [`Self::keep_together`].
    #[must_use]
    pub fn for_job(&self, key: &Key) -> Self {
        let Place::Disk(disk) = &*self.place else {
            return self.clone();
        };
        Self {
            together: Some(Together::new(*key, disk.get(key).map(Bytes::from)).into()),
            ..self.clone()
        }
    }

    /// Keeps the small entries of the job that this store is for, if they are others than the last
    /// time.
    pub fn keep_together(&self) {
        if let (Place::Disk(disk), Some(together)) = (&*self.place, &self.together)
            && let Some(bytes) = together.changed()
        {
            disk.put(&together.key, &bytes.into());
        }
    }

    /// Notes that a large entry took the place of one of the job.
    fn note_large(&self, key: &Key) {
        self.together
            .iter()
            .for_each(|together| together.note_large(key));
    }

    /// Notes an entry of the job.
    fn note(&self, key: &Key, bytes: &[u8]) {
        self.together
            .iter()
            .for_each(|together| together.note(key, bytes));
    }

    /// The place that is asked.
    fn asked(&self) -> &Place {
        if self.is_anew {
            &Place::Nowhere
        } else {
            &self.place
        }
    }

    /// Where the person's programs keep such things: `$XDG_CACHE_HOME/urdf_usd`, or
    /// `~/.cache/urdf_usd`; `None` if there is no home either.
    pub fn directory() -> Option<PathBuf> {
        // By the XDG base directory specification, relative paths do not count.
        let absolute = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(base.join("urdf_usd"))
    }

    /// Whether anything is kept.
    pub fn keeps(&self) -> bool {
        !matches!(*self.place, Place::Nowhere)
    }

    /// What is kept under `key`, for whoever may need it later. `None` if there is nothing. What is
    /// on disk may be spoilt, or go until then; what is in memory stays.
    pub fn later(&self, key: &Key) -> Option<Later> {
        match self.asked() {
            Place::Nowhere => None,
            Place::Memory(memory) => memory
                .get(key)
                .map(|bytes| -> Later { Box::new(move || Some(bytes.clone())) }),
            Place::Disk(disk) => disk.has(key).then(|| {
                let (store, key) = (self.clone(), *key);
                let later: Later = Box::new(move || store.take(&key));
                later
            }),
        }
    }

    /// What is kept under `key`, made into a value; `None` also if `read` cannot make anything of
    /// it.
    pub fn get<T>(&self, key: &Key, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        read(&self.take(key)?)
    }

    /// What is kept under `key`. In memory it is shared.
    pub fn take(&self, key: &Key) -> Option<Bytes> {
        match self.asked() {
            Place::Nowhere => None,
            Place::Memory(memory) => memory.get(key),
            Place::Disk(disk) => self
                .together
                .as_ref()
                .and_then(|together| together.get(key))
                .or_else(|| {
                    let bytes = disk.get(key)?;
                    self.note(key, &bytes);
                    Some(bytes.into())
                }),
        }
    }

    /// Keeps what `write` makes.
    pub fn put<T: Into<Bytes>>(&self, key: &Key, write: impl FnOnce() -> T) {
        match &*self.place {
            Place::Nowhere => {}
            Place::Memory(memory) => memory.put(*key, write().into()),
            Place::Disk(disk) => {
                let bytes = write().into();
                self.note(key, &bytes);
                disk.put(key, &bytes.into());
            }
        }
    }

    /// Keeps `content`, of which no copy is made on the way to a disk.
    pub fn put_content(&self, key: &Key, content: &Content) {
        match &*self.place {
            Place::Nowhere => {}
            Place::Memory(memory) => content
                .bytes()
                .into_iter()
                .for_each(|bytes| memory.put(*key, bytes)),
            Place::Disk(disk) => {
                let small = if content.length() <= together::SMALL as u64 {
                    content.bytes()
                } else {
                    None
                };
                match small {
                    Some(bytes) => self.note(key, &bytes),
                    None => self.note_large(key),
                }
                disk.put(key, content);
            }
        }
    }

    /// Brings a store on disk that was put into back below its limit.
    pub fn trim(&self) {
        if let Place::Disk(disk) = &*self.place {
            disk.trim();
        }
    }
}

/// An entry of arrays as they are in memory, and of a head, in JSON, that says what they are. It
/// stands behind them: so who owns the entry can cut it off and has the arrays.
pub fn pack(head: &impl Serialize, arrays: impl IntoIterator<Item: Into<Piece>>) -> Content {
    let mut head = serde_json::to_vec(head).unwrap_or_default();
    head.extend((head.len() as u64).to_le_bytes());
    Content::of(
        arrays.into_iter().map(Into::into).chain([head.into()]),
        None,
    )
}

/// Takes apart what [`pack`] made: the head, and the arrays one after the other.
pub fn unpack<'a, T: Deserialize<'a>>(entry: &'a [u8]) -> Option<(T, &'a [u8])> {
    let (rest, length) = entry.split_last_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (arrays, head) = rest.split_at_checked(rest.len().checked_sub(length)?)?;
    Some((serde_json::from_slice(head).ok()?, arrays))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(store: &Store, key: &Key) -> Option<Vec<u8>> {
        let taken = store.take(key);
        let taken = taken.map(Vec::from);
        assert_eq!(taken, store.get(key, |bytes| Some(bytes.to_vec())));
        taken
    }

    #[test]
    fn keys_differ_where_parts_do() {
        let keys = [
            Key::of("a").and(b"bc").key(),
            Key::of("ab").and(b"c").key(),
            Key::of("a").and(b"b").and(b"c").key(),
            Key::of("a").key(),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(keys[i + 1..].iter().all(|other| other != key));
        }
        assert_eq!(keys[0], Key::of("a").and(b"bc").key());
    }

    #[test]
    fn small_entries_of_a_job_are_kept_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::on_disk(folder.path(), 1 << 20);
        let (job, large, small) = (Key::of("job").key(), Key::of("large").key(), |i: u8| {
            Key::of("small").and(&[i]).key()
        });
        let together = |key: &Key| store.take(key).map(|bytes| bytes.len());
        let with_job = store.for_job(&job);
        with_job.put(&large, || vec![1; 5000]);
        (0..3).for_each(|i| with_job.put_content(&small(i), &vec![i; 10].into()));
        with_job.keep_together();
        assert_eq!(together(&job), Some(3 * (32 + 4 + 10)));
        // From here on they come from there; nothing does for those who make all anew.
        (0..3).for_each(|i| store.put(&small(i), || vec![7; 20]));
        let with_job = store.for_job(&job);
        for i in 0..2 {
            assert_eq!(with_job.take(&small(i)).unwrap(), vec![i; 10]);
            assert_eq!(
                (
                    with_job.anew().take(&small(i)),
                    store.take(&small(i)).unwrap()
                ),
                (None, vec![7; 20].into())
            );
        }
        assert_eq!(bytes(&with_job, &large).unwrap(), [1; 5000]);
        with_job.put(&small(4), || vec![4; 30]);
        // What was put is what is given, also where something large takes the place of something
        // small.
        with_job.put(&small(0), || vec![9; 11]);
        assert_eq!(with_job.take(&small(0)).unwrap(), vec![9; 11]);
        with_job.put_content(&small(2), &vec![8; 6000].into());
        with_job.keep_together();
        assert_eq!(store.for_job(&job).take(&small(2)).unwrap(), vec![8; 6000]);
        // What nobody asks for any more goes.
        assert_eq!(together(&job), Some(3 * (32 + 4) + 11 + 10 + 30));
        store.put(&job, || [&[0; 32][..], &[255; 9]].concat());
        assert_eq!(store.for_job(&job).take(&small(1)).unwrap(), vec![7; 20]);
    }

    #[test]
    fn what_is_put_can_be_had() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("cache");
        let key = Key::of("test").key();
        for store in [Store::in_memory(1000), Store::on_disk(&directory, 1000)] {
            assert!(store.keeps() && bytes(&store, &key).is_none());
            store.put(&key, || &b"value"[..]);
            assert_eq!(bytes(&store, &key).unwrap(), b"value");
            store.put(&key, || &b"newer"[..]);
            assert_eq!(bytes(&store, &key).unwrap(), b"newer");
            assert_eq!(store.get(&key, |_| None::<()>), None);
        }
        // Another process finds what is on disk.
        assert_eq!(
            bytes(&Store::on_disk(&directory, 1000), &key).unwrap(),
            b"newer"
        );
        let none = Store::none();
        none.put(&key, || -> Bytes { unreachable!() });
        assert!(!Store::in_memory(0).keeps() && !Store::on_disk(&directory, 0).keeps());
        assert!(!none.keeps() && bytes(&none, &key).is_none());
    }
}
