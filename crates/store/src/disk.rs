//! A store in a directory: one file for each entry, which appears whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

use super::{Content, Key, hex};

/// Bytes after the content: the keyed hash.
const TRAILER: usize = blake3::OUT_LEN;

/// The file of the secret key, in the store's directory.
const SECRET: &str = "key";

/// Permissions that only the owner has.
const PRIVATE: u32 = 0o077;

/// How long ago an entry was last used is noted this exactly.
const AGE: Duration = Duration::from_secs(60 * 60);

/// The limit is looked at after this many bytes were put, …
const LOOK_AFTER: u64 = 64 << 10;

/// … and by one in this many of the processes that put less.
const LOOK_ONCE_IN: u32 = 16;

/// Bytes by key in files.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
    limit: u64,
    /// Bytes that were put since the limit was looked at.
    put: AtomicU64,
    /// What only this user's programs on this machine know, so that nobody else can make an entry.
    /// `None` if there can be no such secret: then nothing is kept.
    secret: OnceLock<Option<[u8; blake3::KEY_LEN]>>,
}

impl Disk {
    pub fn new(root: &Path, limit: u64) -> Self {
        Self {
            root: root.to_owned(),
            limit,
            put: AtomicU64::new(0),
            secret: OnceLock::new(),
        }
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = key.hex();
        self.root.join(build()).join(&name[..2]).join(&name[2..])
    }

    /// `None` also if the entry was spoilt, or is not by this user's programs.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let (file, length) = opened(&self.path(key))?;
        if length > self.limit.saturating_add(TRAILER as u64) {
            return None;
        }
        let mut hash = self.hash(key)?;
        note_use(&file);
        let mut bytes = Vec::with_capacity(usize::try_from(length).ok()?);
        file.take(length).read_to_end(&mut bytes).ok()?;
        let (content, trailer) = bytes.split_last_chunk::<TRAILER>()?;
        // Compared in constant time.
        if hash.update(content).finalize() != blake3::Hash::from_bytes(*trailer) {
            return None;
        }
        bytes.truncate(bytes.len() - TRAILER);
        Some(bytes)
    }

    /// Whether there is an entry, spoilt or not.
    pub fn has(&self, key: &Key) -> bool {
        opened(&self.path(key))
            .inspect(|(file, _)| note_use(file))
            .is_some()
    }

    pub fn put(&self, key: &Key, content: &Content) {
        let length = content.length();
        if length <= self.limit
            && let Some(hash) = self.hash(key)
            && write(&self.path(key), content, hash).is_ok()
        {
            self.put.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// The hash of an entry, to which its content is to be added. It is of this entry alone: no
    /// other can take its place.
    fn hash(&self, key: &Key) -> Option<blake3::Hasher> {
        let secret = (*self.secret.get_or_init(|| secret(&self.root)))?;
        let mut hash = blake3::Hasher::new_keyed(&secret);
        hash.update(build().as_bytes()).update(&key.0);
        Some(hash)
    }

    /// Removes what was used longest ago, whichever build put it there, until the entries are at
    /// most three quarters of the limit, if they are above it.
    pub fn trim(&self) {
        let chance = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |time| time.subsec_micros());
        match self.put.swap(0, Ordering::Relaxed) {
            0 => return,
            put if put < LOOK_AFTER && !chance.is_multiple_of(LOOK_ONCE_IN) => return,
            _ => {}
        }
        let mut entries = Vec::new();
        collect(&self.root, 0, &mut entries);
        let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
        if bytes <= self.limit {
            return;
        }
        entries.sort_by_key(|entry| entry.used);
        for entry in entries {
            if bytes <= self.limit / 4 * 3 {
                break;
            }
            if fs::remove_file(&entry.path).is_ok() {
                bytes -= entry.bytes;
            }
        }
    }
}

/// Opens a regular file, and says how long it is. A pipe in its place is not waited for, and a link
/// is not followed.
fn opened(path: &Path) -> Option<(File, u64)> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .ok()?;
    let meta = file.metadata().ok().filter(fs::Metadata::is_file)?;
    Some((file, meta.len()))
}

/// Notes that an entry is used.
fn note_use(file: &File) {
    let used = file.metadata().and_then(|meta| meta.modified());
    if used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > AGE)) {
        // Only the order of going depends on it.
        let _ = file.set_modified(SystemTime::now());
    }
}

/// The secret of the store in `root`, which is made if there is none. `None` if there can be none,
/// or others could have made or read it.
fn secret(root: &Path) -> Option<[u8; blake3::KEY_LEN]> {
    let path = root.join(SECRET);
    read_secret(&path).or_else(|| {
        let mut made = [0; blake3::KEY_LEN];
        getrandom::fill(&mut made).ok()?;
        fs::create_dir_all(root).ok()?;
        // Whole when it appears, for its owner only; of two that make one, the first stays.
        let mut file = tempfile::NamedTempFile::new_in(root).ok()?;
        file.write_all(&made).ok()?;
        drop(file.persist_noclobber(&path));
        read_secret(&path)
    })
}

fn read_secret(path: &Path) -> Option<[u8; blake3::KEY_LEN]> {
    let (mut file, length) = opened(path)?;
    let meta = file.metadata().ok()?;
    let is_own = meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & PRIVATE == 0;
    let mut secret = [0; blake3::KEY_LEN];
    (is_own && length == secret.len() as u64).then_some(())?;
    file.read_exact(&mut secret).ok()?;
    Some(secret)
}

fn write(path: &Path, content: &Content, mut hash: blake3::Hasher) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    fs::create_dir_all(folder)?;
    // A name of its own until it is whole: nobody reads a part of it, and of two writers either may
    // win.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    for chunk in content.chunks() {
        let chunk = chunk.ok_or(io::ErrorKind::NotFound)?;
        file.write_all(&chunk)?;
        hash.update(&chunk);
    }
    file.write_all(hash.finalize().as_bytes())?;
    file.persist(path)?;
    Ok(())
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// All entries below `folder`, which is `depth` levels below the root, where the key is. No
/// symbolic link is followed.
fn collect(folder: &Path, depth: usize, entries: &mut Vec<Entry>) {
    /// Build, first two digits, entry.
    const DEPTH: usize = 3;
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(meta) = item.metadata() else { continue };
        if meta.is_dir() && depth + 1 < DEPTH {
            collect(&item.path(), depth + 1, entries);
        } else if meta.is_file() && depth > 0 {
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(Entry {
                path: item.path(),
                bytes: meta.len(),
                used,
            });
        }
    }
}

/// A name for this build of the program, so that no build uses what another one made: a fault that
/// was mended must not live on.
fn build() -> &'static str {
    const HEAD: u64 = 4096;
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let mut hash = Sha256::new();
        if let Ok(program) = std::env::current_exe()
            && let Ok(meta) = fs::metadata(&program)
        {
            hash.update(format!("{} {:?}", meta.len(), meta.modified().ok()));
            // Where times are set by rule: the headers, in which the linker's identification of the
            // build stands.
            let mut head = Vec::with_capacity(HEAD as usize);
            let _ = File::open(program).and_then(|file| file.take(HEAD).read_to_end(&mut head));
            hash.update(&head);
        }
        format!(
            "{}-{}",
            env!("CARGO_PKG_VERSION"),
            hex(hash
                .finalize()
                .first_chunk::<8>()
                .map_or(&[], |first| first))
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(i: u64) -> Key {
        Key::of("test").and(&i.to_le_bytes()).key()
    }

    #[test]
    fn spoilt_entries_are_none_and_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), 1000);
        disk.put(&key(0), &Content::of(["some ", "content"], None));
        let path = disk.path(&key(0));
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[3] ^= 1;
        for spoilt in [&whole[..whole.len() - 1], &whole[..3], b"", &flipped] {
            fs::write(&path, spoilt).unwrap();
            assert_eq!(disk.get(&key(0)), None);
        }
        disk.put(&key(0), &Content::of(["some ", "content"], None));
        assert_eq!(disk.get(&key(0)).unwrap(), b"some content");
    }

    #[test]
    fn what_is_no_regular_file_is_no_entry_and_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), 1000);
        let path = disk.path(&key(0));
        disk.put(&key(0), &"1".into());
        fs::rename(&path, folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("moved"), &path).unwrap();
        assert!(disk.get(&key(0)).is_none() && !disk.has(&key(0)));
        fs::remove_file(&path).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
        assert!(disk.get(&key(0)).is_none() && !disk.has(&key(0)));
        disk.put(&key(0), &"2".into());
        assert_eq!(disk.get(&key(0)).unwrap(), b"2");
        File::options()
            .append(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        assert_eq!(disk.get(&key(0)), None);
    }

    #[test]
    fn only_who_has_the_key_makes_entries() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let disk = Disk::new(folder.path(), 1000);
        let forger = Disk::new(other.path(), 1000);
        disk.put(&key(0), &"true".into());
        forger.put(&key(0), &"false".into());
        fs::copy(forger.path(&key(0)), disk.path(&key(0))).unwrap();
        assert_eq!(disk.get(&key(0)), None);
        // Nor does an entry go for another.
        disk.put(&key(0), &"true".into());
        fs::create_dir_all(disk.path(&key(1)).parent().unwrap()).unwrap();
        fs::copy(disk.path(&key(0)), disk.path(&key(1))).unwrap();
        assert_eq!(
            (disk.get(&key(0)).unwrap(), disk.get(&key(1))),
            (b"true".to_vec(), None)
        );
        // Another process has the same key; nobody has one that others may know.
        let secret = folder.path().join(SECRET);
        let again = || Disk::new(folder.path(), 1000);
        assert_eq!(
            (
                fs::metadata(&secret).unwrap().mode() & 0o777,
                again().get(&key(0)).unwrap()
            ),
            (0o600, b"true".to_vec())
        );
        fs::set_permissions(&secret, std::os::unix::fs::PermissionsExt::from_mode(0o640)).unwrap();
        again().put(&key(2), &"2".into());
        assert!(again().get(&key(0)).is_none() && again().get(&key(2)).is_none());
    }

    #[test]
    fn a_store_that_cannot_be_written_keeps_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let disk = Disk::new(&file.path().join("cache"), 1000);
        disk.put(&key(0), &"1".into());
        disk.trim();
        assert_eq!(disk.get(&key(0)), None);
    }

    #[test]
    fn trimming_lets_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), 10 * LOOK_AFTER);
        let old = SystemTime::now() - Duration::from_secs(100_000);
        for i in 0..12 {
            disk.put(&key(i), &vec![0; LOOK_AFTER as usize - TRAILER].into());
            let file = File::options()
                .append(true)
                .open(disk.path(&key(i)))
                .unwrap();
            file.set_modified(old + Duration::from_secs(i)).unwrap();
        }
        // Whoever asks for an entry makes it young.
        assert!(disk.get(&key(0)).is_some());
        disk.trim();
        let left: Vec<u64> = (0..12).filter(|i| disk.path(&key(*i)).exists()).collect();
        assert_eq!(left, [0, 6, 7, 8, 9, 10, 11]);
    }
}
