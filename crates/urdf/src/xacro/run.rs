//! Runs the program, within a time, and reads what it says.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::Argument;
use super::packages::Packages;
use crate::MAX_TEXT;

/// How much of what it says beside its output is read.
const MAX_SAID: usize = 256 << 10;
/// How often it is asked whether it has ended, once its output has.
const POLL: Duration = Duration::from_millis(2);

/// A call of the program.
#[derive(Clone, Copy)]
pub(super) struct Program<'a> {
    pub name: &'a OsStr,
    pub file: &'a Path,
    pub arguments: &'a [Argument],
    pub packages: &'a Packages,
    pub patience: Duration,
}

/// How it ended.
pub(super) struct Ended {
    pub success: bool,
    pub output: String,
    /// What it wrote to standard error.
    pub said: String,
}

impl Ended {
    /// Whether it failed for want of the Python module by which it finds packages: `pip install
    /// xacro` comes without.
    pub fn is_without_ament_index(&self) -> bool {
        !self.success && self.said.contains("No module named 'ament_index_python'")
    }
}

/// Why it did not end by itself.
#[derive(Debug)]
pub(super) enum Error {
    NotFound,
    Patience,
    TooLong,
    Other(io::Error),
}

impl Program<'_> {
    /// Expands the file, and lists the files that it includes: the program does one or the other,
    /// so it runs twice, at once.
    pub fn expand_and_list(self, with_index: bool) -> (Result<Ended, Error>, Result<Ended, Error>) {
        std::thread::scope(|scope| {
            let listing = scope.spawn(move || self.run(&["--deps"], with_index));
            let made = self.run(&[], with_index);
            let listed = listing
                .join()
                .unwrap_or_else(|_| Err(Error::Other(io::Error::other("a thread ended"))));
            (made, listed)
        })
    }

    fn run(self, options: &[&str], with_index: bool) -> Result<Ended, Error> {
        let mut command = Command::new(self.name);
        command
            .args(options)
            .arg(self.file)
            .args(self.arguments.iter().map(Argument::to_string));
        self.packages.show_to(&mut command, with_index);
        // Its output is UTF-8 whatever the person's locale.
        command
            .env("PYTHONUTF8", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound,
            _ => Error::Other(error),
        })?;
        let ended = read(&mut child, self.patience);
        if ended.is_err() {
            // It may have ended meanwhile, which is as well.
            let _ = child.kill();
            let _ = child.wait();
        }
        ended
    }
}

/// Reads all that it says until it ends.
fn read(child: &mut Child, patience: Duration) -> Result<Ended, Error> {
    let deadline = Instant::now() + patience;
    let (sender, receiver) = mpsc::channel();
    let output = child
        .stdout
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    let said = child
        .stderr
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    for (index, pipe, most) in [(0, output, MAX_TEXT), (1, said, MAX_SAID)] {
        let Some(pipe) = pipe else { continue };
        let sender = sender.clone();
        // Not waited for: what it leaves behind may hold the pipe open.
        std::thread::Builder::new()
            .spawn(move || {
                let _ = sender.send((index, read_most(pipe, most)));
            })
            .map_err(Error::Other)?;
    }
    let (mut output, mut said) = (String::new(), String::new());
    for _ in 0..2 {
        let left = deadline.saturating_duration_since(Instant::now());
        let (index, (bytes, is_whole)) =
            receiver.recv_timeout(left).map_err(|_| Error::Patience)?;
        if index == 0 && !is_whole {
            return Err(Error::TooLong);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if index == 0 {
            output = text;
        } else {
            said = text;
        }
    }
    loop {
        if let Some(status) = child.try_wait().map_err(Error::Other)? {
            return Ok(Ended {
                success: status.success(),
                output,
                said,
            });
        }
        if Instant::now() >= deadline {
            return Err(Error::Patience);
        }
        std::thread::sleep(POLL);
    }
}

/// Reads at most `most` bytes, and whether that was all. What is beyond is read away, so that the
/// other side can go on.
fn read_most(mut pipe: Box<dyn Read + Send>, most: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let _ = pipe.by_ref().take(most as u64).read_to_end(&mut bytes);
    let beyond = io::copy(&mut pipe.take(most as u64), &mut io::sink()).unwrap_or_default();
    (bytes, beyond == 0)
}

/// The files in the output of `--deps`: absolute paths with a space between, and perhaps spaces in
/// them.
pub(super) fn listed_files(output: &str) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    let mut path = String::new();
    for part in output.trim_end_matches('\n').split(' ') {
        if !path.is_empty() {
            path.push(' ');
        }
        path.push_str(part);
        if Path::new(&path).is_file() {
            files.insert(PathBuf::from(std::mem::take(&mut path)));
        }
    }
    files
}
