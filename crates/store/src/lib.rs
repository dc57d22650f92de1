//! Caches results under a hash of all their inputs, so that an entry is never stale.
//!
//! A store is in memory, for a long-running program, or on disk, shared by all processes of a user.
//! Losing entries costs time only: a full, read-only or damaged disk is not an error. [`Content`]
//! is the content of a file to be written, which may be in memory, in a store, or in the temporary
//! file that a job spills to. This crate handles bytes and knows nothing of their meaning.

mod content;
mod disk;
mod memory;
mod pieces;
mod shared;
mod small_entries;
mod spill;
pub mod time_limit;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use self::content::Content;
use self::disk::Disk;
pub use self::disk::open_regular_file;
use self::memory::Memory;
pub use self::pieces::{Pieces, bytes_of};
use self::shared::Shared;
pub use self::shared::{Folder, MAX_SHARED_BYTES, Remote};
use self::small_entries::SmallEntries;
pub use self::spill::{Piece, Spill, joined};
use self::time_limit::TimeLimit;

/// Default limit of a store in memory, in bytes.
pub const DEFAULT_MEMORY_BYTES: u64 = 512 << 20;

/// Default limit of a store on disk, in bytes.
pub const DEFAULT_DISK_BYTES: u64 = 2 << 30;

/// Cache key: a hash of the inputs of a result, or of an identity whose entry is overwritten.
///
/// The last bit is 1 if machines can share the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key([u8; 32]);

/// Writes a file as a whole: on failure, for instance on a full disk, the existing file stays.
///
/// A symbolic link is followed; a device or pipe is written to.
///
/// # Errors
/// Fails if the file, or a temporary one beside it, can't be written.
pub fn replace_file(path: &Path, content: &[u8]) -> io::Result<()> {
    let real = path.canonicalize();
    let path = real.as_deref().unwrap_or(path);
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
        return fs::write(path, content);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{}.new", std::process::id()));
    let written = fs::write(&new, content)
        .and_then(|()| match existing {
            Some(meta) => fs::set_permissions(&new, meta.permissions()),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&new, path));
    written.inspect_err(|_| drop(fs::remove_file(&new)))
}

/// Formats bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or_default();
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(digit)
        .collect()
}

/// Loads an entry lazily; returns `None` if it was evicted.
pub type Loader = Box<dyn Fn() -> Option<Bytes> + Send + Sync>;

/// Builds a [`Key`] from the inputs of a result.
#[derive(Clone, Debug)]
pub struct KeyBuilder {
    hash: Sha256,
    is_shared: bool,
}

impl Key {
    /// Starts the key of a result of the given `kind`; [`KeyBuilder::and`] adds its inputs.
    pub fn builder(kind: &str) -> KeyBuilder {
        let (hash, is_shared) = (Sha256::new(), false);
        KeyBuilder { hash, is_shared }.and(kind.as_bytes())
    }

    /// Starts the key of a result that machines can share ([`Store::with_remote`]): all its inputs are
    /// contents. None is the path, the time or another property of a file on this machine.
    pub fn shared(kind: &str) -> KeyBuilder {
        KeyBuilder {
            is_shared: true,
            ..Self::builder(kind)
        }
    }

    fn is_shared(&self) -> bool {
        self.0.last().is_some_and(|last| last & 1 == 1)
    }

    /// Returns the bytes of the key.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }

    /// Formats the key as lower-case hex.
    fn hex(&self) -> String {
        hex(&self.0)
    }
}

impl KeyBuilder {
    /// Adds an input. Its length is hashed first, so that adjacent inputs can't be confused.
    #[must_use]
    pub fn and(mut self, thing: &[u8]) -> Self {
        self.hash.update((thing.len() as u64).to_le_bytes());
        self.hash.update(thing);
        self
    }

    /// Returns the key.
    pub fn key(self) -> Key {
        let mut hash: [u8; 32] = self.hash.finalize().into();
        if let Some(last) = hash.last_mut() {
            *last = (*last & !1) | u8::from(self.is_shared);
        }
        Key(hash)
    }
}

/// A cache of bytes by [`Key`]; with a limit of 0 it keeps nothing. Threads share one store, and
/// processes share one on disk. Clones are handles of the same store.
#[derive(Clone, Debug, Default)]
pub struct Store {
    place: Arc<Place>,
    /// True if reads find nothing.
    is_write_only: bool,
    /// Small entries of the current job.
    small_entries: Option<Arc<SmallEntries>>,
    /// Temporary file that the current job spills to.
    spill: Option<Arc<Spill>>,
    /// Entries of other machines.
    shared: Option<Shared>,
}

#[derive(Debug, Default)]
enum Place {
    /// No store: nothing is kept.
    #[default]
    Nowhere,
    Memory(Memory),
    Disk(Disk),
}

impl Store {
    /// Creates a store that keeps nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// Creates a store in memory that evicts the least recently used entries beyond `limit` bytes.
    pub fn in_memory(limit: u64) -> Self {
        if limit == 0 {
            Self::none()
        } else {
            Self::at(Place::Memory(Memory::new(limit)))
        }
    }

    /// Creates a store in a directory, which is created on the first write. [`Self::trim`] evicts
    /// the least recently used entries beyond `limit` bytes.
    ///
    /// Entries of other builds of this program are not used.
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

    /// Returns a handle that also finds the entries of other machines in `remote`, and puts its own
    /// there. What it finds there is stored here, too. A store that keeps nothing shares nothing, and
    /// neither does a program whose build can't be identified.
    #[must_use]
    pub fn with_remote(self, remote: Arc<dyn Remote>) -> Self {
        let shared = if self.is_enabled() {
            Shared::new(remote)
        } else {
            None
        };
        Self { shared, ..self }
    }

    /// Returns a handle for a job with a time limit: requests to other machines take at most a part of
    /// the time that is left.
    #[must_use]
    pub fn within(&self, limit: &TimeLimit) -> Self {
        let shared = self.shared.clone();
        Self {
            shared: shared.map(|shared| shared.within(limit)),
            ..self.clone()
        }
    }

    /// Returns the shared entries if this one can be among them.
    fn shared(&self, key: &Key) -> Option<&Shared> {
        self.shared.as_ref().filter(|_| key.is_shared())
    }

    /// Loads an entry of another machine, and stores it here.
    fn fetch(&self, key: &Key) -> Option<Bytes> {
        let bytes = self.shared(key).filter(|_| !self.is_write_only)?.get(key)?;
        self.put_here(key, || bytes.clone());
        Some(bytes)
    }

    /// Returns a handle whose reads find nothing, for a job that recomputes everything. Results are
    /// stored, and stay in memory instead of being spilled.
    #[must_use]
    pub fn write_only(&self) -> Self {
        Self {
            is_write_only: true,
            spill: None,
            ..self.clone()
        }
    }

    /// Returns a handle for a job that spills its results to a temporary file once it exceeds its
    /// memory budget.
    #[must_use]
    pub fn spilling(self, spill: Spill) -> Self {
        Self {
            spill: Some(spill.into()),
            ..self
        }
    }

    /// Reserves `length` bytes of the job's memory budget; returns whether they exceed it and must
    /// be spilled.
    pub fn must_spill(&self, length: usize) -> bool {
        self.spill
            .as_ref()
            .is_some_and(|spill| spill.must_spill(length))
    }

    /// Writes `bytes` to the job's temporary file; `None` if there is none, or it can't be written.
    pub fn spill(&self, bytes: &[u8]) -> Option<Piece> {
        self.spill.as_ref()?.put(bytes)
    }

    /// Returns the bytes as a piece, spilled to the job's temporary file if they are large and
    /// exceed its memory budget.
    pub fn piece(&self, bytes: Bytes) -> Piece {
        // In this order: `must_spill` reserves memory, and small pieces need none of the budget.
        let must_spill = bytes.len() >= pieces::MIN_PIECE_BYTES && self.must_spill(bytes.len());
        let spilled = if must_spill { self.spill(&bytes) } else { None };
        spilled.unwrap_or_else(|| bytes.into())
    }

    /// Returns a handle for a recurring job, identified by `key`.
    ///
    /// On disk, and on other machines under the key that `shared` returns, the small entries that the
    /// job uses are also stored together in one entry. It is read here and written by
    /// [`Self::save_small_entries`]: opening hundreds of files, or requesting them, takes longer than
    /// using their contents. Other machines get only entries under [`Key::shared`], and no others are
    /// accepted from them. An entry of other machines is never replaced: it is an optimization, since
    /// each small entry is also stored alone.
    #[must_use]
    pub fn for_job(&self, key: &Key, shared: impl FnOnce() -> Option<Key>) -> Self {
        if !matches!(*self.place, Place::Disk(_)) && self.shared.is_none() {
            return self.clone();
        }
        let (mut kept, mut missing) = (self.load_here(key), None);
        if kept.is_none() && self.shared.is_some() {
            missing = shared();
            kept = missing.and_then(|shared| self.shared(&shared)?.get(&shared));
            kept = kept.and_then(small_entries::shareable);
            if let Some(bytes) = &kept {
                self.put_here(key, || bytes.clone());
                missing = None;
            }
        }
        Self {
            small_entries: Some(SmallEntries::new(*key, missing, kept).into()),
            ..self.clone()
        }
    }

    /// Stores the small entries of the job together, if they differ from those of its last run.
    pub fn save_small_entries(&self) {
        if let Some(small_entries) = &self.small_entries
            && let Some(bytes) = small_entries.changed()
        {
            match &*self.place {
                Place::Nowhere => {}
                Place::Memory(memory) => memory.put(small_entries.key, bytes.clone()),
                Place::Disk(disk) => disk.put(&small_entries.key, &bytes.clone().into()),
            }
            if let Some((key, shared)) = small_entries.missing.zip(self.shared.as_ref())
                && let Some(bytes) = small_entries::shareable(bytes)
            {
                shared.put(&key, &bytes);
            }
        }
    }

    /// Records that a large entry replaced a small one of the job.
    fn note_large(&self, key: &Key) {
        self.small_entries
            .iter()
            .for_each(|small_entries| small_entries.note_large(key));
    }

    /// Records an entry used by the job.
    fn note(&self, key: &Key, bytes: &[u8]) {
        self.small_entries
            .iter()
            .for_each(|small_entries| small_entries.note(key, bytes));
    }

    /// Returns the place that reads go to.
    fn readable_place(&self) -> &Place {
        if self.is_write_only {
            &Place::Nowhere
        } else {
            &self.place
        }
    }

    /// Returns the user's cache directory: `$XDG_CACHE_HOME/urdf_usd`, or `~/.cache/urdf_usd`;
    /// `None` if neither variable is set.
    pub fn directory() -> Option<PathBuf> {
        // Relative paths are invalid by the XDG Base Directory Specification.
        let absolute = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let base = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(base.join("urdf_usd"))
    }

    /// Returns whether the store keeps entries.
    pub fn is_enabled(&self) -> bool {
        !matches!(*self.place, Place::Nowhere)
    }

    /// Returns a loader for the entry under `key`, or `None` if there is none.
    ///
    /// The loader of an entry in memory holds the bytes. An entry on disk may be damaged, or
    /// evicted before it is loaded. One that is not here may be on another machine, which is not asked
    /// before: most arrays are never loaded, and a request takes longer than a file.
    pub fn loader(&self, key: &Key) -> Option<Loader> {
        let later = || -> Loader {
            let (store, key) = (self.clone(), *key);
            Box::new(move || store.load(&key))
        };
        let here = match self.readable_place() {
            Place::Nowhere => return None,
            Place::Memory(memory) => memory
                .get(key)
                .map(|bytes| -> Loader { Box::new(move || Some(bytes.clone())) }),
            Place::Disk(disk) => disk.has(key).then(later),
        };
        here.or_else(|| self.shared(key).map(|_| later()))
    }

    /// Returns the entry under `key` as decoded by `read`; `None` if it is absent, or `read` can't
    /// decode it. Then the next [`Self::put`] replaces it, also on other machines.
    pub fn get<T>(&self, key: &Key, read: impl FnOnce(&[u8]) -> Option<T>) -> Option<T> {
        let decoded = read(&self.load(key)?);
        if decoded.is_none() {
            let shared = self.shared(key);
            shared.iter().for_each(|shared| shared.reject(key));
        }
        decoded
    }

    /// Returns the entry under `key`. A store in memory shares its bytes.
    pub fn load(&self, key: &Key) -> Option<Bytes> {
        self.load_here(key).or_else(|| self.fetch(key))
    }

    fn load_here(&self, key: &Key) -> Option<Bytes> {
        let load: &dyn Fn() -> Option<Bytes> = match self.readable_place() {
            Place::Nowhere => return None,
            Place::Memory(memory) => &|| memory.get(key),
            Place::Disk(disk) => &|| disk.get(key).map(Bytes::from),
        };
        let small_entries = self.small_entries.as_ref();
        small_entries.and_then(|known| known.get(key)).or_else(|| {
            let bytes = load()?;
            self.note(key, &bytes);
            Some(bytes)
        })
    }

    /// Stores the bytes that `write` returns; it is not called if the store keeps nothing.
    pub fn put<T: Into<Bytes>>(&self, key: &Key, write: impl FnOnce() -> T) {
        let Some(shared) = self.shared(key) else {
            return self.put_here(key, write);
        };
        let bytes = write().into();
        self.put_here(key, || bytes.clone());
        shared.put(key, &bytes);
    }

    fn put_here<T: Into<Bytes>>(&self, key: &Key, write: impl FnOnce() -> T) {
        match &*self.place {
            Place::Nowhere => {}
            Place::Memory(memory) => {
                let bytes = write().into();
                self.note(key, &bytes);
                memory.put(*key, bytes);
            }
            Place::Disk(disk) => {
                let bytes = write().into();
                self.note(key, &bytes);
                disk.put(key, &bytes.into());
            }
        }
    }

    /// Stores `content`. A store on disk makes no copy of it.
    pub fn put_content(&self, key: &Key, content: &Content) {
        match &*self.place {
            Place::Nowhere => {}
            Place::Memory(memory) => content.bytes().into_iter().for_each(|bytes| {
                self.note(key, &bytes);
                memory.put(*key, bytes);
            }),
            Place::Disk(disk) => {
                let small = if content.length() <= small_entries::MAX_SMALL_BYTES as u64 {
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
        if let Some(shared) = self.shared(key)
            && content.length() <= MAX_SHARED_BYTES
            && let Some(bytes) = content.bytes()
        {
            shared.put(key, &bytes);
        }
    }

    /// Evicts entries beyond the limit of a store on disk, if anything was put, and waits for entries
    /// that other machines get.
    pub fn trim(&self) {
        self.shared.iter().for_each(Shared::flush);
        if let Place::Disk(disk) = &*self.place {
            disk.trim();
        }
    }
}

/// Packs arrays and a description of them, in JSON, into an entry. The description comes last, so
/// that an owner of the entry can truncate it and keep the arrays without a copy.
pub fn pack(head: &impl Serialize, arrays: impl IntoIterator<Item: Into<Piece>>) -> Content {
    // If the description can't be encoded, `unpack` rejects the entry: a miss, not an error.
    let mut head = serde_json::to_vec(head).unwrap_or_default();
    head.extend((head.len() as u64).to_le_bytes());
    Content::from_pieces(
        arrays.into_iter().map(Into::into).chain([head.into()]),
        None,
    )
}

/// Splits an entry made by [`pack`] into its description and the arrays.
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
        let taken = store.load(key);
        let taken = taken.map(Vec::from);
        assert_eq!(taken, store.get(key, |bytes| Some(bytes.to_vec())));
        taken
    }

    #[test]
    fn keys_depend_on_the_boundaries_of_inputs() {
        let keys = [
            Key::builder("a").and(b"bc").key(),
            Key::builder("ab").and(b"c").key(),
            Key::builder("a").and(b"b").and(b"c").key(),
            Key::builder("a").key(),
        ];
        for (i, key) in keys.iter().enumerate() {
            assert!(keys[i + 1..].iter().all(|other| other != key));
        }
        assert_eq!(keys[0], Key::builder("a").and(b"bc").key());
    }

    #[test]
    fn small_entries_of_a_job_are_kept_together() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::on_disk(folder.path(), 1 << 20);
        let (job, large, small) = (
            Key::builder("job").key(),
            Key::builder("large").key(),
            |i: u8| Key::builder("small").and(&[i]).key(),
        );
        let stored_length = |key: &Key| store.load(key).map(|bytes| bytes.len());
        let with_job = store.for_job(&job, || None);
        with_job.put(&large, || vec![1; 5000]);
        (0..3).for_each(|i| with_job.put_content(&small(i), &vec![i; 10].into()));
        with_job.save_small_entries();
        assert_eq!(stored_length(&job), Some(3 * (32 + 4 + 10)));
        // The job now reads them from there; a write-only handle does not.
        (0..3).for_each(|i| store.put(&small(i), || vec![7; 20]));
        let with_job = store.for_job(&job, || None);
        for i in 0..2 {
            assert_eq!(with_job.load(&small(i)).unwrap(), vec![i; 10]);
            assert_eq!(
                (
                    with_job.write_only().load(&small(i)),
                    store.load(&small(i)).unwrap()
                ),
                (None, vec![7; 20].into())
            );
        }
        assert_eq!(bytes(&with_job, &large).unwrap(), [1; 5000]);
        with_job.put(&small(4), || vec![4; 30]);
        // The latest value counts, also where a large entry replaces a small one.
        with_job.put(&small(0), || vec![9; 11]);
        assert_eq!(with_job.load(&small(0)).unwrap(), vec![9; 11]);
        with_job.put_content(&small(2), &vec![8; 6000].into());
        with_job.save_small_entries();
        assert_eq!(
            store.for_job(&job, || None).load(&small(2)).unwrap(),
            vec![8; 6000]
        );
        // Entries that the job no longer uses are dropped.
        assert_eq!(stored_length(&job), Some(3 * (32 + 4) + 11 + 10 + 30));
        store.put(&job, || [&[0; 32][..], &[255; 9]].concat());
        assert_eq!(
            store.for_job(&job, || None).load(&small(1)).unwrap(),
            vec![7; 20]
        );
    }

    #[test]
    fn stored_entries_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("cache");
        let key = Key::builder("test").key();
        for store in [Store::in_memory(1000), Store::on_disk(&directory, 1000)] {
            assert!(store.is_enabled() && bytes(&store, &key).is_none());
            store.put(&key, || &b"value"[..]);
            assert_eq!(bytes(&store, &key).unwrap(), b"value");
            store.put(&key, || &b"newer"[..]);
            assert_eq!(bytes(&store, &key).unwrap(), b"newer");
            assert_eq!(store.get(&key, |_| None::<()>), None);
        }
        // Another process finds entries on disk.
        assert_eq!(
            bytes(&Store::on_disk(&directory, 1000), &key).unwrap(),
            b"newer"
        );
        let none = Store::none();
        none.put(&key, || -> Bytes { unreachable!() });
        assert!(!Store::in_memory(0).is_enabled() && !Store::on_disk(&directory, 0).is_enabled());
        assert!(!none.is_enabled() && bytes(&none, &key).is_none());
    }
}
