//! A temporary file that takes what a job makes and needs later, once much is in memory.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

/// How many bytes of a piece in the file are read at a time.
const CHUNK: usize = 1 << 20;

/// The temporary file of a job. It has no name, so it goes with the process whatever ends that.
/// What can't be put there stays in memory: if the file can't be made, or if it would leave less
/// room on the disk than it takes, which what is written in the end needs.
#[derive(Debug)]
pub struct Spill {
    /// Where it is made, the first that can be written to.
    directories: [PathBuf; 2],
    /// How many bytes stay in memory.
    limit: usize,
    /// How many do.
    bytes: AtomicUsize,
    file: OnceLock<Option<File>>,
    end: AtomicU64,
}

impl Spill {
    /// One in the folder `directory`, or the next above it that is there, or else where the system
    /// has temporary files: these may be in memory themselves. The first `limit` bytes stay in
    /// memory.
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

    /// Whether so many bytes more are too many to stay in memory. Counts them if they stay.
    pub(super) fn is_due(&self, length: usize) -> bool {
        let stays = |bytes: usize| {
            bytes
                .checked_add(length)
                .filter(|bytes| *bytes <= self.limit)
        };
        self.bytes
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, stays)
            .is_err()
    }

    /// Writes `bytes`.
    pub(super) fn put(self: &Arc<Self>, bytes: &[u8]) -> Option<Piece> {
        let made = || {
            self.directories
                .iter()
                .find_map(|directory| tempfile::tempfile_in(directory).ok())
        };
        let file = self.file.get_or_init(made).as_ref()?;
        let start = self.end.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let disk = rustix::fs::fstatvfs(file).ok()?;
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

/// Bytes that are in memory, or in the temporary file of a job.
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
    /// Whether the bytes are equal. What can't be read any more is equal to nothing.
    fn eq(&self, other: &Self) -> bool {
        // In memory it is in one chunk, so that is cut as the other is.
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
    /// How many bytes there are.
    pub fn len(&self) -> usize {
        match &self.0 {
            Place::Memory(bytes) => bytes.len(),
            Place::Spilled { length, .. } => *length,
        }
    }

    /// Whether these, as many, are the bytes.
    fn is_same(&self, bytes: &[u8]) -> bool {
        self.chunks()
            .zip(bytes.chunks(CHUNK))
            .all(|(chunk, other)| chunk.is_some_and(|chunk| *chunk == *other))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes; `None` if they can't be read any more.
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

    /// The bytes, one part after the other, each small if they are in a file; `None` for what can't
    /// be read any more.
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

/// The bytes of all `pieces`; `None` if some can't be read any more.
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
        assert!(spill.is_due(11) && !spill.is_due(10) && spill.is_due(1) && !spill.is_due(0));
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
        // A file that was cut off.
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
        assert!(spill.is_due(1) && Arc::new(spill).put(b"a").is_none());
    }
}
