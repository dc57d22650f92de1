//! Entries that machines share, behind those of one machine.
//!
//! Only entries under [`Key::shared`](crate::Key::shared) are shared: their keys depend on contents,
//! never on paths, times or inodes. Each is an object that ends with its hash, so that a damaged one
//! is a miss and is replaced. There are no locks: all objects of one name are valid results for its
//! key, and any of them may stay.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::Key;
use super::disk;
use super::time_limit::TimeLimit;

/// Maximum size of a shared entry, in bytes.
pub const MAX_SHARED_BYTES: u64 = 256 << 20;

/// Length of the hash that follows the content.
const TRAILER: usize = blake3::OUT_LEN;

/// Share of a job's remaining time that a request may take, as a divisor: the job must not fail
/// because of a slow remote.
const TIME_SHARE: u32 = 4;

/// The place of shared objects. Its failures are misses: they never reach the caller. No call takes
/// longer than `within`, unless a file system blocks.
pub trait Remote: fmt::Debug + Send + Sync {
    /// Returns an object; `None` if it does not exist, is larger than [`MAX_SHARED_BYTES`] with its
    /// hash, or can't be read.
    fn get(&self, name: &str, within: Duration) -> Option<Bytes>;

    /// Writes an object, perhaps after this call has returned; an existing one only if `replaces`.
    fn put(&self, name: &str, object: Bytes, replaces: bool, within: Duration);

    /// Waits until objects are written, for a limited time.
    fn flush(&self, _within: Duration) {}
}

/// Shared entries.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    remote: Arc<dyn Remote>,
    /// Names of objects that were read damaged, or that do not decode.
    damaged: Arc<Mutex<HashSet<String>>>,
    build: &'static str,
    limit: TimeLimit,
}

impl Shared {
    /// Uses a place; `None` if the build of the program can't be identified, since its entries could
    /// be those of another build.
    pub fn new(remote: Arc<dyn Remote>) -> Option<Self> {
        Some(Self {
            remote,
            damaged: Arc::default(),
            build: disk::shared_build()?,
            limit: TimeLimit::default(),
        })
    }

    pub fn within(self, limit: &TimeLimit) -> Self {
        let limit = limit.clone();
        Self { limit, ..self }
    }

    /// Returns the time for a request.
    fn time(&self) -> Duration {
        self.limit
            .left()
            .map_or(Duration::MAX, |left| left / TIME_SHARE)
    }

    /// Returns the name of an entry's object: the build, and the key in two parts.
    fn name(&self, key: &Key) -> String {
        let hex = key.hex();
        let (start, rest) = hex.split_at_checked(2).unwrap_or_default();
        format!("{}/{start}/{rest}", self.build)
    }

    /// Returns an entry; `None` if it is absent or damaged.
    pub fn get(&self, key: &Key) -> Option<Bytes> {
        let name = self.name(key);
        let mut object = self.remote.get(&name, self.time())?;
        if let Some((content, trailer)) = object.split_last_chunk::<TRAILER>()
            && hash(&name, content) == blake3::Hash::from_bytes(*trailer)
        {
            object.truncate(content.len());
            return Some(object);
        }
        self.damaged().insert(name);
        None
    }

    /// Records that an entry can't be used: the next one under its key replaces it.
    pub fn reject(&self, key: &Key) {
        self.damaged().insert(self.name(key));
    }

    pub fn put(&self, key: &Key, content: &[u8]) {
        if content.len() as u64 > MAX_SHARED_BYTES {
            return;
        }
        let name = self.name(key);
        let replaces = self.damaged().remove(&name);
        let object = [content, hash(&name, content).as_bytes()].concat();
        self.remote.put(&name, object.into(), replaces, self.time());
    }

    pub fn flush(&self) {
        self.remote.flush(self.time());
    }

    fn damaged(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the hash of an object. It includes the name, so that a copy of another object does not
/// verify.
fn hash(name: &str, content: &[u8]) -> blake3::Hash {
    let mut hash = blake3::Hasher::new();
    hash.update(name.as_bytes()).update(content).finalize()
}

/// Share of a folder's limit, as a divisor, that is written between two evictions.
const EVICTION_SHARE: u64 = 16;

/// Shared objects in a folder, such as that of a network file system.
///
/// An object is written under another name and renamed, which NFS does as one operation, and read
/// as a whole, not mapped: a file that another machine truncates does not verify. Links, locks and
/// the order of writes are not relied on.
///
/// The least recently used objects beyond a limit are evicted, by any of the writers. They have no
/// common counter of bytes: each object of `n` bytes causes an eviction with a probability of
/// `16 n / limit`, so all writers together list the folder once for a sixteenth of its limit.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    limit: u64,
    must_evict: AtomicBool,
}

impl Folder {
    /// Uses a folder, which is created on the first write, for about `limit` bytes.
    pub fn new(path: &Path, limit: u64) -> Self {
        Self {
            path: path.to_owned(),
            limit,
            must_evict: AtomicBool::new(false),
        }
    }

    /// Writes an object; an existing one only if `replaces`.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn write(&self, name: &str, object: &[u8], replaces: bool) -> io::Result<()> {
        let path = self.path.join(name);
        if !replaces && disk::is_there(&path) {
            return Ok(());
        }
        disk::write_whole(&path, disk::SHARED_MODE, |file| {
            io::Write::write_all(file, object)
        })?;
        if self.causes_eviction(object) {
            self.must_evict.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns whether an object causes an eviction. The end of its hash is the random number.
    fn causes_eviction(&self, object: &[u8]) -> bool {
        let chance = object
            .last_chunk()
            .map_or(0.0, |end| u64::from_le_bytes(*end) as f64 / u64::MAX as f64);
        chance * (self.limit / EVICTION_SHARE) as f64 <= object.len() as f64
    }

    /// Evicts objects if one that was written has caused it. If the time does not suffice, the next call
    /// tries again.
    fn trim(&self, within: Duration) {
        let until = Instant::now().checked_add(within);
        if self.must_evict.swap(false, Ordering::Relaxed)
            && !disk::evict(&self.path, self.limit, until)
        {
            self.must_evict.store(true, Ordering::Relaxed);
        }
    }
}

impl Remote for Folder {
    fn get(&self, name: &str, _within: Duration) -> Option<Bytes> {
        let limit = MAX_SHARED_BYTES + TRAILER as u64;
        disk::read(&self.path.join(name), limit).map(Bytes::from)
    }

    fn put(&self, name: &str, object: Bytes, replaces: bool, _within: Duration) {
        // As for a full or read-only local store: the entry is missing, and made again.
        let _ = self.write(name, &object, replaces);
    }

    fn flush(&self, within: Duration) {
        self.trim(within);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Store;

    fn in_folder(path: &Path) -> Folder {
        Folder::new(path, 1 << 30)
    }

    fn name(key: &Key) -> String {
        let nowhere = Arc::new(in_folder(Path::new("/nowhere")));
        Shared::new(nowhere).unwrap().name(key)
    }

    fn key(i: u8) -> Key {
        Key::shared("test").and(&[i]).key()
    }

    #[test]
    fn another_machine_finds_what_one_has_put() {
        let folder = tempfile::tempdir().unwrap();
        let machine = |name: &str| {
            Store::on_disk(&folder.path().join(name), 1 << 20)
                .with_remote(Arc::new(in_folder(&folder.path().join("shared"))))
        };
        let (one, two) = (machine("one"), machine("two"));
        let local = Key::builder("local").key();
        one.put(&key(0), || &b"content"[..]);
        one.put_content(&key(1), &vec![1; 5000].into());
        one.put(&local, || &b"of this machine"[..]);
        assert_eq!(two.load(&key(0)).unwrap(), &b"content"[..]);
        assert_eq!(two.loader(&key(1)).unwrap()().unwrap(), vec![1; 5000]);
        assert_eq!((two.load(&local), two.load(&key(2))), (None, None));
        assert!(two.loader(&local).is_none());
        // From now on the entries are on the other machine, too.
        fs::remove_dir_all(folder.path().join("shared")).unwrap();
        assert_eq!(two.load(&key(0)).unwrap(), &b"content"[..]);
        assert_eq!(two.load(&key(1)).unwrap(), vec![1; 5000]);
        assert_eq!(two.write_only().load(&key(0)), None);
        // A machine without a local store shares nothing.
        let none = Store::none().with_remote(Arc::new(in_folder(folder.path())));
        none.put(&key(0), || -> Bytes { unreachable!() });
        assert!(!none.is_enabled() && none.load(&key(0)).is_none());
    }

    #[test]
    fn the_small_entries_of_a_job_are_one_object() {
        let folder = tempfile::tempdir().unwrap();
        let shared = folder.path().join("shared");
        let with = |store: Store| store.with_remote(Arc::new(in_folder(&shared)));
        let on_disk = |name| with(Store::on_disk(&folder.path().join(name), 1 << 20));
        let in_memory = || with(Store::in_memory(1 << 20));
        let (job, hint) = (Key::builder("job").key(), || Some(Key::shared("job").key()));
        for (first, second) in [(on_disk("one"), in_memory()), (in_memory(), on_disk("two"))] {
            let store = first.for_job(&job, hint);
            (0..3).for_each(|i| store.put(&key(i), || vec![i; 10]));
            store.save_small_entries();
            // The common object alone is left.
            let common = shared.join(name(&hint().unwrap()));
            (0..3).for_each(|i| fs::remove_file(shared.join(name(&key(i)))).unwrap());
            assert_eq!(walk(&shared), 1);
            let found = |store: &Store| (0..4).filter_map(|i| store.load(&key(i))).count();
            assert_eq!(found(&second.for_job(&job, hint)), 3);
            // It is on this machine, too.
            fs::remove_file(common).unwrap();
            assert_eq!(found(&second.for_job(&job, || unreachable!())), 3);
            assert_eq!(found(&second), 0);
        }
    }

    #[test]
    fn the_common_object_has_no_entries_of_one_machine() {
        let folder = tempfile::tempdir().unwrap();
        let shared = folder.path().join("shared");
        let machine = |name: &str| {
            Store::on_disk(&folder.path().join(name), 1 << 20)
                .with_remote(Arc::new(in_folder(&shared)))
        };
        let (job, hint) = (Key::builder("job").key(), Key::shared("job").key());
        let local = Key::builder("hash of /robot/a.stl").key();
        let one = machine("one").for_job(&job, || Some(hint));
        one.put(&local, || &b"on machine one"[..]);
        one.put(&key(0), || &b"common"[..]);
        one.save_small_entries();
        let common = || fs::read(shared.join(name(&hint))).unwrap();
        assert_eq!(common().len(), 32 + 4 + b"common".len() + TRAILER);
        let two = machine("two").for_job(&job, || Some(hint));
        assert_eq!(
            (two.load(&local), two.load(&key(0)).is_some()),
            (None, true)
        );
        // A machine does not trust an object with such entries, neither now nor in its next run.
        let mut forged = Vec::new();
        for (key, content) in [(&local, b"forged"), (&key(1), b"common")] {
            forged.extend(key.bytes());
            forged.extend((content.len() as u32).to_le_bytes());
            forged.extend(content);
        }
        fs::remove_file(shared.join(name(&hint))).unwrap();
        let remote = Arc::new(in_folder(&shared));
        Shared::new(remote).unwrap().put(&hint, &forged);
        let three = machine("three");
        three.put(&local, || &b"on machine three"[..]);
        for _ in 0..2 {
            let three = three.for_job(&job, || Some(hint));
            assert_eq!(three.load(&local).unwrap(), &b"on machine three"[..]);
            assert_eq!(three.load(&key(1)).unwrap(), &b"common"[..]);
        }
        // Nothing is written if all entries belong to this machine.
        let alone = Key::shared("alone").key();
        let four = machine("four").for_job(&Key::builder("four").key(), || Some(alone));
        four.put(&local, || &b"on machine four"[..]);
        four.save_small_entries();
        assert!(!shared.join(name(&alone)).exists());
    }

    #[test]
    fn other_users_read_the_objects_that_the_umask_allows() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o666;
        let usual = folder.path().join("usual");
        fs::write(&usual, "").unwrap();
        let shared = in_folder(folder.path());
        shared.write("build/00/object", b"content", false).unwrap();
        assert_eq!(mode(&folder.path().join("build/00/object")), mode(&usual));
        shared.write("usual/object", b"content", false).unwrap_err();
    }

    #[test]
    fn an_object_that_does_not_decode_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let machine = || Store::in_memory(1 << 20).with_remote(Arc::new(in_folder(folder.path())));
        machine().put(&key(0), || &b"with another material"[..]);
        let two = machine();
        assert_eq!(two.get(&key(0), |_| None::<()>), None);
        two.put(&key(0), || &b"content"[..]);
        assert_eq!(machine().load(&key(0)).unwrap(), &b"content"[..]);
    }

    #[test]
    fn requests_take_a_part_of_the_time_that_is_left() {
        #[derive(Debug, Default)]
        struct Times(Mutex<Vec<Duration>>);
        impl Remote for Times {
            fn get(&self, _: &str, within: Duration) -> Option<Bytes> {
                self.0.lock().unwrap().push(within);
                None
            }
            fn put(&self, _: &str, _: Bytes, _: bool, within: Duration) {
                self.0.lock().unwrap().push(within);
            }
            fn flush(&self, within: Duration) {
                self.0.lock().unwrap().push(within);
            }
        }
        let times = Arc::new(Times::default());
        let store = Store::in_memory(1 << 20).with_remote(times.clone());
        let limit = TimeLimit::new(Some(Duration::from_secs(8)), Arc::default());
        let limited = store.within(&limit);
        assert_eq!(limited.load(&key(0)), None);
        limited.put(&key(0), || &b"content"[..]);
        limited.trim();
        store.trim();
        let times = times.0.lock().unwrap();
        assert!(
            times[..3]
                .iter()
                .all(|time| *time <= Duration::from_secs(2))
        );
        assert_eq!(times[3..], [Duration::MAX]);
    }

    #[test]
    fn a_damaged_object_is_absent_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let shared = || Shared::new(Arc::new(in_folder(folder.path()))).unwrap();
        shared().put(&key(0), b"content");
        shared().put(&key(1), b"other");
        let path = |i| folder.path().join(name(&key(i)));
        let whole = fs::read(path(0)).unwrap();
        let other = fs::read(path(1)).unwrap();
        let cuts = (0..whole.len()).map(|length| whole[..length].to_vec());
        let flips = (0..8 * whole.len()).map(|bit| {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            flipped
        });
        for damaged in cuts.chain(flips).chain([other]) {
            fs::write(path(0), &damaged).unwrap();
            let machine = shared();
            assert_eq!(machine.get(&key(0)), None, "{damaged:?}");
            machine.put(&key(0), b"content");
            assert_eq!(fs::read(path(0)).unwrap(), whole);
        }
        // An intact object is not written again.
        let before = fs::metadata(path(0)).unwrap().modified().unwrap();
        shared().put(&key(0), b"content");
        assert_eq!(fs::metadata(path(0)).unwrap().modified().unwrap(), before);
        assert_eq!(shared().get(&key(0)).unwrap(), &b"content"[..]);
    }

    #[test]
    fn writers_on_many_machines_never_tear_an_object() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let machine = Shared::new(Arc::new(in_folder(folder.path()))).unwrap();
                    for i in 0..50 {
                        let content = vec![i; 20_000];
                        machine.put(&key(i), &content);
                        assert_eq!(machine.get(&key(i)).expect("whole"), content);
                    }
                });
            }
        });
        let entries = walk(folder.path());
        assert_eq!(entries, 50, "no temporary files");
    }

    #[test]
    fn writers_evict_what_was_used_least_recently() {
        let folder = tempfile::tempdir().unwrap();
        let limit = 100 << 10;
        let machine = || Shared::new(Arc::new(Folder::new(folder.path(), limit))).unwrap();
        let machines = [machine(), machine()];
        let path = |i: u8| folder.path().join(name(&key(i)));
        let size = || {
            let paths = (0..=u8::MAX).map(path);
            paths
                .filter_map(|path| fs::metadata(path).ok())
                .map(|meta| meta.len())
                .sum::<u64>()
        };
        let old = std::time::SystemTime::now() - Duration::from_secs(100_000);
        for i in 0..=u8::MAX {
            let machine = &machines[usize::from(i % 2)];
            machine.put(&key(i), &vec![i; 2000]);
            machine.flush();
            // Objects without an eviction add up to a few sixteenths of the limit; it takes more than
            // sixteen with a probability of 10⁻⁸.
            assert!(size() < limit * 2, "{i}");
            let file = fs::File::options().append(true).open(path(i));
            file.iter().for_each(|file| {
                file.set_modified(old + Duration::from_secs(i.into()))
                    .unwrap()
            });
            // Its use makes it young.
            assert!(machine.get(&key(0)).is_some());
        }
        assert!(size() > limit / 2);
        assert!(!path(1).exists() && path(u8::MAX).exists());
        // Without time, the eviction waits for the next call.
        let folder_of = |limit| Folder::new(folder.path(), limit);
        let hurried = folder_of(1000);
        hurried.write("other", &[0; 2000], true).unwrap();
        hurried.flush(Duration::ZERO);
        assert!(path(u8::MAX).exists());
        hurried.flush(Duration::MAX);
        assert!(!path(u8::MAX).exists());
        // An object larger than a sixteenth of the limit causes an eviction in any case.
        let large = vec![0xff; 20 << 10];
        assert!(!in_folder(folder.path()).causes_eviction(&large));
        assert!(folder_of(limit).causes_eviction(&large));
    }

    fn walk(folder: &Path) -> usize {
        let items = fs::read_dir(folder)
            .unwrap()
            .map(|item| item.unwrap().path());
        items
            .map(|path| if path.is_dir() { walk(&path) } else { 1 })
            .sum()
    }
}
