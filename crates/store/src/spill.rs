//! A temporary file that a job spills its results to once it exceeds its memory budget.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

/// Bytes of a spilled piece read at a time.
const CHUNK: usize = 1 << 20;

/// The temporary file of a job. It is unnamed: the system deletes it when the process ends for
/// whatever reason.
///
/// Pieces stay in memory if the file can't be created, or if writing would leave less free space
/// than the file occupies: the outputs need about as much space.
#[derive(Debug)]
pub struct Spill {
    /// Candidate directories; the first writable one is used.
    directories: [PathBuf; 2],
    /// Bytes that may stay in memory.
    limit: usize,
    /// Bytes that stay in memory so far.
    bytes: AtomicUsize,
    file: OnceLock<Option<File>>,
    end: AtomicU64,
}

impl Spill {
    /// Creates a spill that keeps the first `limit` bytes in memory. The file is created on demand
    /// in `directory` or its nearest existing ancestor; the system's temporary directory is the
    /// fallback, since it may itself be in memory (tmpfs).
    pub fn new(directory: &Path, limit: usize) -> Self {
        let there = directory
            .ancestors()
            .find(|folder| folder.is_dir())
            .unwrap_or(Path::new("."));
        Self {
            directories: [there.to_owned(), std::env::temp_dir()],
            limit,
            bytes: AtomicUsize::new(0),
            file: OnceLock::new(),
            end: AtomicU64::new(0),
        }
    }

    /// Returns whether `length` more bytes exceed the limit; counts them if they do not.
    pub(super) fn must_spill(&self, length: usize) -> bool {
        let stays = |bytes: usize| {
            bytes
                .checked_add(length)
                .filter(|bytes| *bytes <= self.limit)
        };
        self.bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, stays)
            .is_err()
    }

    /// Appends `bytes` to the file; `None` if that is not possible.
    pub(super) fn put(self: &Arc<Self>, bytes: &[u8]) -> Option<Piece> {
        let made = || {
            self.directories
                .iter()
                .find_map(|directory| tempfile::tempfile_in(directory).ok())
        };
        let file = self.file.get_or_init(made).as_ref()?;
        // Reserved first, so that threads write to disjoint ranges without a lock.
        let start = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let disk = rustix::fs::fstatvfs(file).ok()?;
        // The bytes to write, and the size of the file (`start + length`) that must remain free.
        if disk.f_bavail.saturating_mul(disk.f_frsize)
            < start.saturating_add(2 * bytes.len() as u64)
        {
            return None;
        }
        file.write_all_at(bytes, start).ok()?;
        Some(Piece(Place::Spilled {
            spill: self.clone(),
            start,
            length: bytes.len(),
        }))
    }

    fn read(&self, start: u64, length: usize) -> Option<Bytes> {
        let mut bytes = vec![0; length];
        self.file
            .get()?
            .as_ref()?
            .read_exact_at(&mut bytes, start)
            .ok()?;
        Some(bytes.into())
    }
}

/// Bytes in memory, or in the temporary file of a job.
#[derive(Clone, Debug)]
pub struct Piece(Place);

#[derive(Clone, Debug)]
enum Place {
    Memory(Bytes),
    Spilled {
        spill: Arc<Spill>,
        start: u64,
        length: usize,
    },
}

impl<T: Into<Bytes>> From<T> for Piece {
    fn from(bytes: T) -> Self {
        Self(Place::Memory(bytes.into()))
    }
}

impl PartialEq for Piece {
    /// Compares the bytes. Unreadable pieces compare unequal, even to themselves.
    fn eq(&self, other: &Self) -> bool {
        // A piece in memory is a single chunk: cut it like the spilled one.
        self.len() == other.len()
            && match (&self.0, &other.0) {
                (Place::Memory(bytes), Place::Memory(other)) => bytes == other,
                (Place::Memory(bytes), _) => other.is_same(bytes),
                (_, Place::Memory(bytes)) => self.is_same(bytes),
                _ => self
                    .chunks()
                    .zip(other.chunks())
                    .all(|(chunk, other)| chunk.is_some() && chunk == other),
            }
    }
}

impl Piece {
    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        match &self.0 {
            Place::Memory(bytes) => bytes.len(),
            Place::Spilled { length, .. } => *length,
        }
    }

    /// Returns whether the bytes equal `bytes`, which has the same length.
    fn is_same(&self, bytes: &[u8]) -> bool {
        self.chunks()
            .zip(bytes.chunks(CHUNK))
            .all(|(chunk, other)| chunk.is_some_and(|chunk| *chunk == *other))
    }

    /// Returns whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes; `None` if they can't be read.
    pub fn bytes(&self) -> Option<Bytes> {
        match &self.0 {
            Place::Memory(bytes) => Some(bytes.clone()),
            Place::Spilled {
                spill,
                start,
                length,
            } => spill.read(*start, *length),
        }
    }

    /// Returns the bytes in parts, small ones if they are in a file; `None` for a part that can't
    /// be read.
    pub fn chunks(&self) -> impl Iterator<Item = Option<Bytes>> {
        let step = match &self.0 {
            Place::Memory(bytes) => bytes.len().max(1),
            Place::Spilled { .. } => CHUNK,
        };
        (0..self.len()).step_by(step).map(move |at| match &self.0 {
            Place::Memory(bytes) => Some(bytes.clone()),
            Place::Spilled {
                spill,
                start,
                length,
            } => spill.read(start + at as u64, step.min(length - at)),
        })
    }
}

/// Concatenates `pieces`; `None` if any can't be read.
pub fn joined(pieces: &[Piece]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(pieces.iter().map(Piece::len).sum());
    for chunk in pieces.iter().flat_map(Piece::chunks) {
        bytes.extend_from_slice(&chunk?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_limit_is_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let spill = Arc::new(Spill::new(&folder.path().join("to/be/made"), 10));
        assert!(
            spill.must_spill(11)
                && !spill.must_spill(10)
                && spill.must_spill(1)
                && !spill.must_spill(0)
        );
        let large: Vec<u8> = (0..CHUNK + 5).map(|i| i as u8).collect();
        let pieces = [
            spill.put(b"abc").unwrap(),
            Piece::from(&b"defg"[..]),
            spill.put(&large).unwrap(),
        ];
        assert_eq!(pieces.each_ref().map(Piece::len), [3, 4, CHUNK + 5]);
        assert_eq!(
            pieces.each_ref().map(|piece| piece.chunks().count()),
            [1, 1, 2]
        );
        assert_eq!(joined(&pieces).unwrap(), [b"abcdefg", &large[..]].concat());
        assert!(
            pieces[0] == Piece::from(&b"abc"[..])
                && pieces[0] != Piece::from(&b"abd"[..])
                && pieces[0] != pieces[1]
        );
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "it has no name"
        );
        // Truncate the file.
        spill
            .file
            .get()
            .unwrap()
            .as_ref()
            .unwrap()
            .set_len(1)
            .unwrap();
        assert!(
            pieces[0].bytes().is_none()
                && joined(&pieces).is_none()
                && pieces[0] != pieces[0].clone()
        );
    }

    #[test]
    fn where_nothing_can_be_written_all_stays_in_memory() {
        let nowhere = || PathBuf::from("/proc");
        let spill = Spill {
            directories: [nowhere(), nowhere()],
            ..Spill::new(Path::new("/"), 0)
        };
        assert!(spill.must_spill(1) && Arc::new(spill).put(b"a").is_none());
    }
}
