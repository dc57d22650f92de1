//! Runs the program within a time limit and collects its output.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::Argument;
use super::packages::Packages;
use crate::MAX_TEXT_BYTES;

/// Maximum number of bytes read from standard error.
const MAX_STDERR_BYTES: usize = 256 << 10;
/// Interval between checks for the end of the process, after its output has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A call of the program.
#[derive(Clone, Copy)]
pub(super) struct Program<'a> {
    pub name: &'a OsStr,
    pub file: &'a Path,
    pub arguments: &'a [Argument],
    pub packages: &'a Packages,
    pub time_limit: Duration,
}

/// The result of a call.
pub(super) struct Ended {
    pub success: bool,
    pub output: String,
    /// Standard error.
    pub stderr: String,
}

impl Ended {
    /// Returns whether the program failed because the Python module `ament_index_python`, which
    /// finds packages, is missing: `pip install xacro` does not install it.
    pub fn is_without_ament_index(&self) -> bool {
        !self.success && self.stderr.contains("No module named 'ament_index_python'")
    }
}

/// The reason why a call has no result.
#[derive(Debug)]
pub(super) enum Error {
    NotFound,
    TimedOut,
    TooLong,
    Other(io::Error),
}

impl Program<'_> {
    /// Expands the file, and lists the files that it includes. The program does one or the other,
    /// so it runs twice, in parallel.
    pub fn expand_and_list(self, with_index: bool) -> (Result<Ended, Error>, Result<Ended, Error>) {
        std::thread::scope(|scope| {
            let listing = scope.spawn(move || self.run(&["--deps"], with_index));
            let made = self.run(&[], with_index);
            let listed = listing
                .join()
                .unwrap_or_else(|_| Err(Error::Other(io::Error::other("a thread panicked"))));
            (made, listed)
        })
    }

    fn run(self, options: &[&str], with_index: bool) -> Result<Ended, Error> {
        let mut command = Command::new(self.name);
        command
            .args(options)
            .arg(self.file)
            .args(self.arguments.iter().map(Argument::to_string));
        self.packages.set_environment(&mut command, with_index);
        // Output is UTF-8 whatever the user's locale.
        command
            .env("PYTHONUTF8", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NotFound,
            _ => Error::Other(error),
        })?;
        let ended = read(&mut child, self.time_limit);
        if ended.is_err() {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
        }
        ended
    }
}

/// Reads the output of a process until it ends.
fn read(child: &mut Child, time_limit: Duration) -> Result<Ended, Error> {
    let deadline = Instant::now() + time_limit;
    let (sender, receiver) = mpsc::channel();
    let output = child
        .stdout
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    let stderr = child
        .stderr
        .take()
        .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>);
    for (index, pipe, max_bytes) in [(0, output, MAX_TEXT_BYTES), (1, stderr, MAX_STDERR_BYTES)] {
        let Some(pipe) = pipe else { continue };
        let sender = sender.clone();
        // The threads are not joined: child processes of the program may hold the pipe open.
        std::thread::Builder::new()
            .spawn(move || {
                let _ = sender.send((index, read_limited(pipe, max_bytes)));
            })
            .map_err(Error::Other)?;
    }
    let (mut output, mut stderr) = (String::new(), String::new());
    // Both pipes, in the order in which they end.
    for _ in 0..2 {
        let left = deadline.saturating_duration_since(Instant::now());
        let (index, (bytes, is_whole)) =
            receiver.recv_timeout(left).map_err(|_| Error::TimedOut)?;
        if index == 0 && !is_whole {
            return Err(Error::TooLong);
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if index == 0 {
            output = text;
        } else {
            stderr = text;
        }
    }
    loop {
        if let Some(status) = child.try_wait().map_err(Error::Other)? {
            return Ok(Ended {
                success: status.success(),
                output,
                stderr,
            });
        }
        if Instant::now() >= deadline {
            return Err(Error::TimedOut);
        }
        // `std` has no wait with a time limit.
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Reads at most `max_bytes` bytes, and returns whether that was all. Up to as many more bytes are
/// discarded, so that the process does not block.
fn read_limited(mut pipe: Box<dyn Read + Send>, max_bytes: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let _ = pipe.by_ref().take(max_bytes as u64).read_to_end(&mut bytes);
    let beyond = io::copy(&mut pipe.take(max_bytes as u64), &mut io::sink()).unwrap_or_default();
    (bytes, beyond == 0)
}

/// Parses the output of `--deps`: absolute paths separated by spaces, which paths may contain as
/// well.
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
