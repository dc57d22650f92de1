//! A store in a directory: one file for each entry, written atomically.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::OFlags;

use super::{Content, Key, hex};

/// Length of the keyed hash that follows the content.
const TRAILER: usize = blake3::OUT_LEN;

/// Name of the file with the secret key, in the store's directory.
const SECRET: &str = "key";

/// Permissions of an entry: its owner's only.
const PRIVATE_MODE: u32 = 0o600;

/// Permissions of a shared object, without those that the umask removes.
pub(super) const SHARED_MODE: u32 = 0o666;

/// Permission bits of group and others, which the secret's file must not have.
const PRIVATE: u32 = 0o077;

/// Resolution with which the last use of an entry is recorded, to save most writes.
const AGE: Duration = Duration::from_secs(60 * 60);

/// Bytes put before the limit is checked …
const CHECK_AFTER_BYTES: u64 = 64 << 10;

/// … and the share of processes that put fewer bytes but check it all the same, one in this many.
const CHECK_ONCE_IN: u32 = 16;

/// Bytes by key in files.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
    limit: u64,
    /// Bytes put since the limit was last checked.
    put: AtomicU64,
    /// Secret that only this user's processes on this machine can read, so that no one else can
    /// forge an entry. `None` if it can't be established: then nothing is kept.
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

    fn secret(&self) -> Option<&[u8; blake3::KEY_LEN]> {
        // Entries of an unknown build could be those of another one.
        let secret = || build().and_then(|_| secret(&self.root));
        self.secret.get_or_init(secret).as_ref()
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name = key.hex();
        let build = build().unwrap_or_default();
        self.root.join(build).join(&name[..2]).join(&name[2..])
    }

    /// Returns the content of an entry; `None` if it is absent, damaged, or not written by this
    /// user's programs.
    pub fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let limit = self.limit.saturating_add(TRAILER as u64);
        let mut bytes = read(&self.path(key), limit)?;
        let mut hash = self.hash(key)?;
        let (content, trailer) = bytes.split_last_chunk::<TRAILER>()?;
        // Compared in constant time.
        if hash.update(content).finalize() != blake3::Hash::from_bytes(*trailer) {
            return None;
        }
        bytes.truncate(bytes.len() - TRAILER);
        Some(bytes)
    }

    /// Returns whether there is an entry, damaged or not.
    pub fn has(&self, key: &Key) -> bool {
        is_there(&self.path(key))
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

    /// Returns the hash of an entry, before its content. It includes the build and the key, so that
    /// a file copied over another entry does not verify.
    fn hash(&self, key: &Key) -> Option<blake3::Hasher> {
        let mut hash = blake3::Hasher::new_keyed(self.secret()?);
        hash.update(build()?.as_bytes()).update(&key.0);
        Some(hash)
    }

    /// Enforces the limit: evicts the least recently used entries of all builds until at most three
    /// quarters of the limit remain.
    ///
    /// Scanning the directory costs more than most conversions write, so it is scanned only after
    /// [`CHECK_AFTER_BYTES`], or by chance: many processes that each put little still trim now and
    /// then.
    pub fn trim(&self) {
        // The microsecond of the clock serves as the random number.
        let chance = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |time| time.subsec_micros());
        match self.put.swap(0, Ordering::Relaxed) {
            0 => return,
            put if put < CHECK_AFTER_BYTES && !chance.is_multiple_of(CHECK_ONCE_IN) => return,
            _ => {}
        }
        evict(&self.root, self.limit, None);
    }
}

/// Removes the least recently used entries below `root` until at most three quarters of `limit`
/// remain, if there are more bytes than it. Stops when the time is `until`; returns whether it ended
/// before.
pub(super) fn evict(root: &Path, limit: u64, until: Option<Instant>) -> bool {
    let mut entries = Vec::new();
    if !collect(root, 0, until, &mut entries) {
        return false;
    }
    let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    if bytes <= limit {
        return true;
    }
    entries.sort_by_key(|entry| entry.used);
    for entry in entries {
        // Below the limit by a quarter: otherwise the next small entry would need another scan.
        if bytes <= limit / 4 * 3 {
            break;
        }
        if is_over(until) {
            return false;
        }
        // One that is absent, since another process evicted it, or that may not be removed, counts as
        // well: otherwise younger ones would have to make room for it.
        let _ = fs::remove_file(&entry.path);
        bytes -= entry.bytes;
    }
    true
}

fn is_over(until: Option<Instant>) -> bool {
    until.is_some_and(|until| Instant::now() >= until)
}

/// Returns whether there is a regular file, and records its use.
pub(super) fn is_there(path: &Path) -> bool {
    opened(path).inspect(|(file, _)| note_use(file)).is_some()
}

/// Reads a regular file of at most `limit` bytes, and records its use.
pub(super) fn read(path: &Path, limit: u64) -> Option<Vec<u8>> {
    let (file, length) = opened(path)?;
    // Checked before allocating: a sparse file of any length costs its author nothing.
    if length > limit {
        return None;
    }
    note_use(&file);
    let mut bytes = Vec::with_capacity(usize::try_from(length).ok()?);
    file.take(length).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Opens a regular file and returns its length.
fn opened(path: &Path) -> Option<(File, u64)> {
    let (file, meta) = open_regular_file(path).ok()?;
    Some((file, meta.len()))
}

/// Opens a regular file that others may have placed: `O_NONBLOCK` keeps a named pipe from blocking,
/// and symbolic links are not followed.
///
/// # Errors
/// Fails if the file can't be opened, or is not a regular one.
pub fn open_regular_file(path: &Path) -> io::Result<(File, fs::Metadata)> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() {
        Ok((file, meta))
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

/// Records that an entry was used, as its modification time.
fn note_use(file: &File) {
    let used = file.metadata().and_then(|meta| meta.modified());
    if used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > AGE)) {
        // A failure only affects the order of eviction.
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Returns the secret of the store in `root`, creating it if needed. `None` if it can't be created,
/// or if other users could have created or read it.
fn secret(root: &Path) -> Option<[u8; blake3::KEY_LEN]> {
    let path = root.join(SECRET);
    read_secret(&path).or_else(|| {
        let mut made = [0; blake3::KEY_LEN];
        getrandom::fill(&mut made).ok()?;
        fs::create_dir_all(root).ok()?;
        // Written under another name first, readable by its owner only. If two processes create
        // one, the first stays.
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
    write_whole(path, PRIVATE_MODE, |file| {
        for chunk in content.chunks() {
            let chunk = chunk.ok_or(io::ErrorKind::NotFound)?;
            file.write_all(&chunk)?;
            hash.update(&chunk);
        }
        file.write_all(hash.finalize().as_bytes())
    })
}

/// Writes a file under a temporary name and renames it: readers never see part of it, and of two
/// concurrent writers the last wins. It has the permissions `mode` that the umask allows.
///
/// It is not synced: after a power failure, a torn entry does not verify and counts as absent.
pub(super) fn write_whole(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .permissions(fs::Permissions::from_mode(mode))
        .tempfile_in(folder)?;
    write(file.as_file_mut())?;
    file.persist(path)?;
    Ok(())
}

/// Start of the names of entries that are being written.
const TEMPORARY: &str = ".tmp";

struct Entry {
    path: PathBuf,
    bytes: u64,
    used: SystemTime,
}

/// Collects all entries below `folder`, which is `depth` levels below the root, where the secret
/// is, until a time; returns whether there was enough. Symbolic links are not followed. A shared folder
/// may hold files of others: their names differ.
fn collect(folder: &Path, depth: usize, until: Option<Instant>, entries: &mut Vec<Entry>) -> bool {
    for item in fs::read_dir(folder).into_iter().flatten().flatten() {
        if is_over(until) {
            return false;
        }
        let name = item.file_name();
        if !name.to_str().is_some_and(|name| is_named(name, depth)) {
            continue;
        }
        let Ok(meta) = item.metadata() else { continue };
        if meta.is_dir() && depth < ENTRY_DEPTH {
            if !collect(&item.path(), depth + 1, until, entries) {
                return false;
            }
        } else if meta.is_file() && depth == ENTRY_DEPTH {
            let used = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            entries.push(Entry {
                path: item.path(),
                bytes: meta.len(),
                used,
            });
        }
    }
    true
}

/// Depth of entries below the root: build, first two digits of the key, entry.
const ENTRY_DEPTH: usize = 2;

/// Returns whether a file or folder at a depth has the name of a build ([`named`]), of the start of a
/// key, or of an entry, which may be one that is being written.
fn is_named(name: &str, depth: usize) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match depth {
        0 => name
            .rsplit_once('-')
            .is_some_and(|(_, hash)| hash.len() == 16 && is_hex(hash)),
        1 => name.len() == 2 && is_hex(name),
        _ => name.starts_with(TEMPORARY) || (name.len() == 62 && is_hex(name)),
    }
}

/// Returns a name for this build of the program on this machine; `None` if its file can't be found or
/// read. Builds do not share entries: a result computed by a build with a bug must not outlive it.
fn build() -> Option<&'static str> {
    static BUILD: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        // Only Linux has `/proc`.
        let program = match maps() {
            Some(maps) => mapped_program(&maps)?,
            None => std::env::current_exe().ok()?,
        };
        let modified = fs::metadata(&program).ok()?.modified().ok()?;
        let mut hash = blake3::Hasher::new();
        identify(&program, &mut hash).ok()?;
        hash.update(format!("{modified:?}").as_bytes());
        Some(named(&hash))
    };
    BUILD.get_or_init(find).as_deref()
}

/// Returns a name for this build of the program on all machines; `None` if it can't be identified. It
/// does not depend on the time of its file, which differs where pip has installed it.
pub(super) fn shared_build() -> Option<&'static str> {
    static BUILD: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let mut hash = blake3::Hasher::new();
        identify(&mapped_program(&maps()?)?, &mut hash).ok()?;
        Some(named(&hash))
    };
    BUILD.get_or_init(find).as_deref()
}

/// Returns the files that this process has mapped, if the system lists them.
fn maps() -> Option<String> {
    fs::read_to_string("/proc/self/maps").ok()
}

/// Hashes what distinguishes a program from other builds: its start with the linker's build ID, and
/// all of it if it has none.
fn identify(program: &Path, hash: &mut blake3::Hasher) -> io::Result<()> {
    const HEAD: u64 = 4096;
    /// The header of the note with a build ID, a SHA-1: lengths of name and content, type, name.
    const BUILD_ID: &[u8] = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0";
    let file = File::open(program)?;
    hash.update(&file.metadata()?.len().to_le_bytes());
    let mut head = Vec::with_capacity(HEAD as usize);
    (&file).take(HEAD).read_to_end(&mut head)?;
    hash.update(&head);
    if !head.windows(BUILD_ID.len()).any(|bytes| bytes == BUILD_ID) {
        hash.update_reader(file)?;
    }
    Ok(())
}

fn named(hash: &blake3::Hasher) -> String {
    let hash = hash.finalize();
    let start = hash
        .as_bytes()
        .first_chunk::<8>()
        .map_or(&[][..], |first| first);
    format!("{}-{}", env!("CARGO_PKG_VERSION"), hex(start))
}

/// Returns the file with this code: the program, or a module of Python, whose executable is no part
/// of this project. `None` after an upgrade that replaced the file: it is listed as deleted, and the
/// file under its name has other code.
fn mapped_program(maps: &str) -> Option<PathBuf> {
    let address = env!("CARGO_PKG_VERSION").as_ptr().addr();
    // Lines such as `55d0-55e0 r--p 00000000 fe:00 1234    /usr/bin/urdf_usd`.
    let mapped = |line: &str| {
        let (start, rest) = line.split_once('-')?;
        let (end, rest) = rest.split_once(' ')?;
        let bounds = [start, end].map(|bound| usize::from_str_radix(bound, 16).ok());
        let has = (bounds[0]?..bounds[1]?).contains(&address);
        has.then(|| {
            rest.find('/')
                .and_then(|at| rest.get(at..))
                .map(PathBuf::from)
        })?
    };
    let found = maps.lines().find_map(mapped);
    found.filter(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(i: u64) -> Key {
        Key::builder("test").and(&i.to_le_bytes()).key()
    }

    #[test]
    fn a_program_that_was_replaced_has_no_build() {
        let maps = maps().unwrap();
        let program = mapped_program(&maps).unwrap();
        assert_eq!(program, std::env::current_exe().unwrap());
        let path = program.to_str().unwrap();
        let replaced = maps.replace(path, &format!("{path} (deleted)"));
        assert_eq!(
            (mapped_program(&replaced), mapped_program("")),
            (None, None)
        );
        assert!(shared_build().is_some() && build() != shared_build());
    }

    #[test]
    fn damaged_entries_are_absent_and_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), 1000);
        disk.put(&key(0), &Content::from_pieces(["some ", "content"], None));
        let path = disk.path(&key(0));
        let whole = fs::read(&path).unwrap();
        for damaged in [&whole[..whole.len() - 1], &whole[..3], b""] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(disk.get(&key(0)), None);
        }
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, flipped).unwrap();
            assert_eq!(disk.get(&key(0)), None, "bit {bit}");
        }
        disk.put(&key(0), &Content::from_pieces(["some ", "content"], None));
        assert_eq!(disk.get(&key(0)).unwrap(), b"some content");
    }

    #[test]
    fn only_regular_files_are_entries_and_pipes_do_not_block() {
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
    fn entries_without_the_secret_are_rejected() {
        let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let disk = Disk::new(folder.path(), 1000);
        let forger = Disk::new(other.path(), 1000);
        disk.put(&key(0), &"true".into());
        forger.put(&key(0), &"false".into());
        fs::copy(forger.path(&key(0)), disk.path(&key(0))).unwrap();
        assert_eq!(disk.get(&key(0)), None);
        // An entry copied over another is rejected too.
        disk.put(&key(0), &"true".into());
        fs::create_dir_all(disk.path(&key(1)).parent().unwrap()).unwrap();
        fs::copy(disk.path(&key(0)), disk.path(&key(1))).unwrap();
        assert_eq!(
            (disk.get(&key(0)).unwrap(), disk.get(&key(1))),
            (b"true".to_vec(), None)
        );
        // Another process reads the same secret; one that the group can read is rejected.
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
    fn many_writers_never_tear_an_entry() {
        let folder = tempfile::tempdir().unwrap();
        let content = |i: u8| vec![i; 50_000 + usize::from(i)];
        std::thread::scope(|scope| {
            for i in 0..4 {
                // A separate handle, as in another process.
                let disk = Disk::new(folder.path(), 1 << 20);
                scope.spawn(move || {
                    for _ in 0..50 {
                        disk.put(&key(0), &content(i).into());
                        let found = disk.get(&key(0)).expect("whole at any time");
                        assert_eq!(found, content(found[0]));
                    }
                });
            }
        });
        let files = fs::read_dir(Disk::new(folder.path(), 1).path(&key(0)).parent().unwrap());
        assert_eq!(files.unwrap().count(), 1, "no temporary files");
    }

    #[test]
    fn an_entry_that_can_t_be_written_whole_leaves_the_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), 1000);
        disk.put(&key(0), &"earlier".into());
        let evicted = Content::stored(Box::new(|| None), 5, String::new());
        disk.put(&key(0), &evicted);
        assert_eq!(disk.get(&key(0)).unwrap(), b"earlier");
        let files = fs::read_dir(disk.path(&key(0)).parent().unwrap()).unwrap();
        assert_eq!(files.count(), 1, "no temporary file");
    }

    #[test]
    fn an_unwritable_store_keeps_nothing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let disk = Disk::new(&file.path().join("cache"), 1000);
        disk.put(&key(0), &"1".into());
        disk.trim();
        assert_eq!(disk.get(&key(0)), None);
    }

    #[test]
    fn trimming_evicts_the_least_recently_used() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path(), 10 * CHECK_AFTER_BYTES);
        let old = SystemTime::now() - Duration::from_secs(100_000);
        for i in 0..12 {
            disk.put(
                &key(i),
                &vec![0; CHECK_AFTER_BYTES as usize - TRAILER].into(),
            );
            let file = File::options()
                .append(true)
                .open(disk.path(&key(i)))
                .unwrap();
            file.set_modified(old + Duration::from_secs(i)).unwrap();
        }
        // The largest and oldest file has another name than entries have.
        let foreign = folder.path().join("datasets/ab/robot.urdf");
        fs::create_dir_all(foreign.parent().unwrap()).unwrap();
        let file = File::create(&foreign).unwrap();
        file.set_len(20 * CHECK_AFTER_BYTES).unwrap();
        file.set_modified(old - Duration::from_secs(1)).unwrap();
        // Reading an entry records its use.
        assert!(disk.get(&key(0)).is_some());
        disk.trim();
        let left: Vec<u64> = (0..12).filter(|i| disk.path(&key(*i)).exists()).collect();
        assert_eq!(left, [0, 6, 7, 8, 9, 10, 11]);
        assert!(foreign.exists());
    }
}
