//! A store in a directory: one file for each entry, which appears whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use super::{Content, Key, hex};

/// Ends every entry, after its content's CRC-32.
const MARK: [u8; 4] = *b"kept";

/// Bytes after the content: CRC-32 and mark.
const TRAILER: usize = 8;

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
}

impl Disk {
    pub fn new(root: &Path, limit: u64) -> Self {
        Self { root: root.to_owned(), limit, put: AtomicU64::new(0) }
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = key.hex();
        self.root.join(build()).join(&name[..2]).join(&name[2..])
    }

    /// `None` also if the entry was spoilt.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let path = self.path(key);
        let mut bytes = fs::read(&path).ok()?;
        let length = bytes.len().checked_sub(TRAILER)?;
        let (content, trailer) = bytes.split_at(length);
        let mut hash = crc32fast::Hasher::new();
        hash.update(content);
        if *trailer != trailer_of(hash) {
            return None;
        }
        if !is_used(&path) {
            return None;
        }
        bytes.truncate(length);
        Some(bytes)
    }

    /// Whether there is an entry, spoilt or not.
    pub fn has(&self, key: &Key) -> bool {
        is_used(&self.path(key))
    }

    pub fn put(&self, key: &Key, content: &Content) {
        let length = content.length();
        if length <= self.limit && write(&self.path(key), content).is_ok() {
            self.put.fetch_add(length, Ordering::Relaxed);
        }
    }

    /// Removes what was used longest ago, whichever build put it there, until the entries are at most three quarters of the limit,
    /// if they are above it.
    pub fn trim(&self) {
        let chance = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |time| time.subsec_micros());
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

/// Notes that an entry is used, and says whether it is there.
fn is_used(path: &Path) -> bool {
    let Ok(used) = fs::metadata(path).and_then(|meta| meta.modified()) else { return false };
    if used.elapsed().is_ok_and(|age| age > AGE) {
        // Only the order of going depends on it.
        let _ = File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
    true
}

fn trailer_of(hash: crc32fast::Hasher) -> [u8; TRAILER] {
    let mut trailer = [0; TRAILER];
    trailer[..4].copy_from_slice(&hash.finalize().to_le_bytes());
    trailer[4..].copy_from_slice(&MARK);
    trailer
}

fn write(path: &Path, content: &Content) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Err(io::ErrorKind::InvalidInput.into()) };
    fs::create_dir_all(folder)?;
    // A name of its own until it is whole: nobody reads a part of it, and of two writers either may win.
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    let mut hash = crc32fast::Hasher::new();
    for chunk in content.chunks() {
        let chunk = chunk.ok_or(io::ErrorKind::NotFound)?;
        file.write_all(&chunk)?;
        hash.update(&chunk);
    }
    file.write_all(&trailer_of(hash))?;
    file.persist(path)?;
    Ok(())
}

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// All files below `folder`, which is `depth` levels below the root. No symbolic link is followed.
fn collect(folder: &Path, depth: usize, entries: &mut Vec<Entry>) {
    /// Build, first two digits, entry.
    const DEPTH: usize = 3;
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(meta) = item.metadata() else { continue };
        if meta.is_dir() && depth + 1 < DEPTH {
            collect(&item.path(), depth + 1, entries);
        } else if meta.is_file() {
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(Entry { path: item.path(), bytes: meta.len(), used });
        }
    }
}

/// A name for this build of the program, so that no build uses what another one made: a fault that was mended must not live on.
fn build() -> &'static str {
    const HEAD: u64 = 4096;
    static BUILD: OnceLock<String> = OnceLock::new();
    BUILD.get_or_init(|| {
        let mut hash = Sha256::new();
        if let Ok(program) = std::env::current_exe()
            && let Ok(meta) = fs::metadata(&program)
        {
            hash.update(format!("{} {:?}", meta.len(), meta.modified().ok()));
            // Where times are set by rule: the headers, in which the linker's identification of the build stands.
            let mut head = Vec::with_capacity(HEAD as usize);
            let _ = File::open(program).and_then(|file| file.take(HEAD).read_to_end(&mut head));
            hash.update(&head);
        }
        format!("{}-{}", env!("CARGO_PKG_VERSION"), hex(hash.finalize().first_chunk::<8>().map_or(&[], |first| first)))
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
            let file = File::options().append(true).open(disk.path(&key(i))).unwrap();
            file.set_modified(old + Duration::from_secs(i)).unwrap();
        }
        // Whoever asks for an entry makes it young.
        assert!(disk.get(&key(0)).is_some());
        disk.trim();
        let left: Vec<u64> = (0..12).filter(|i| disk.path(&key(*i)).exists()).collect();
        assert_eq!(left, [0, 6, 7, 8, 9, 10, 11]);
    }
}
