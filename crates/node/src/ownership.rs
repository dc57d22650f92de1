//! Exclusive use of the output directory by one node.

use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// Name of the lock file.
const LOCK: &str = ".urdf_usd.lock";

/// An output directory that is locked until this is dropped or the process ends.
#[derive(Debug)]
pub struct OutputDir {
    path: PathBuf,
    _lock: File,
}

impl OutputDir {
    /// Creates the directory `path` if necessary and locks it for the node named `owner`.
    ///
    /// # Errors
    /// Returns [`codes::OUTPUT_DIR`] if it can't be created, can't be written to, or another node
    /// holds it.
    pub fn claim(path: &Path, owner: &str) -> Result<Self, Diagnostic> {
        let fault = |what: String| {
            Diagnostic::new(&codes::OUTPUT_DIR, Place::file(path), what)
                .help("set the parameter output_dir to a directory that this user may write to")
        };
        fs::create_dir_all(path).map_err(|error| {
            fault(format!(
                "the output directory {} cannot be created: {error}",
                path.display()
            ))
        })?;
        let path = path.canonicalize().map_err(|error| {
            fault(format!(
                "the output directory {} cannot be found: {error}",
                path.display()
            ))
        })?;
        let lock = path.join(LOCK);
        // Keep the file when the node ends: if it were removed, two nodes could lock two files of
        // the same name.
        let mut file = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&lock)
            .map_err(|error| {
                fault(format!(
                    "the output directory {} cannot be written to: {error}",
                    path.display()
                ))
            })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(taken(&path, &mut file)),
            Err(TryLockError::Error(error)) => {
                return Err(fault(format!(
                    "the output directory {} cannot be locked: {error}",
                    path.display()
                )));
            }
        }
        // Informative only: another node shows it in its error message.
        let _ = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{owner}, process {}", std::process::id()));
        Ok(Self { path, _lock: file })
    }

    /// Returns the directory's absolute path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn taken(path: &Path, file: &mut File) -> Diagnostic {
    let mut owner = String::new();
    // Best effort: the owner is only part of the message.
    let _ = file
        .seek(SeekFrom::Start(0))
        .and_then(|_| file.take(256).read_to_string(&mut owner));
    let owner = owner.trim();
    let by = if owner.is_empty() {
        String::new()
    } else {
        format!(" ({owner})")
    };
    Diagnostic::new(
        &codes::OUTPUT_DIR,
        Place::file(path),
        format!(
            "another node{by} uses the output directory {}",
            path.display()
        ),
    )
    .help("stop that node, or give this one another directory: --ros-args -p output_dir:=DIR")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time_and_a_new_one_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b");
        let first = OutputDir::claim(&path, "/left/urdf_usd").unwrap();
        assert!(first.path().is_absolute() && path.is_dir());
        let refused = OutputDir::claim(&path, "/right/urdf_usd").unwrap_err();
        assert!(
            refused.message.contains("/left/urdf_usd, process ") && refused.message.contains("a/b"),
            "{refused}"
        );
        assert!(refused.help.contains("output_dir"), "{refused}");
        drop(first);
        OutputDir::claim(&path, "/right/urdf_usd").unwrap();
    }

    #[test]
    fn a_directory_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let refused = OutputDir::claim(&file.join("out"), "/urdf_usd").unwrap_err();
        assert!(refused.message.contains("file/out"), "{refused}");
    }
}
