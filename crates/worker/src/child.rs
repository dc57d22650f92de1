//! The worker process: runs tasks one after the other, with a warm cache between them.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
use serde::Serialize;

use super::Program;
use super::protocol::{Kind, Progress, Request, Task, receive, send};
use urdf_usd_convert::{self as convert, Context, Outcome};
use urdf_usd_isaac::poses::Poses;
use urdf_usd_objects::with_cache;
use urdf_usd_stage::Stage;
use urdf_usd_store::{DEFAULT_DISK_BYTES, Store};
use urdf_usd_usd_read as usd_read;

/// Idle time before a worker returns freed memory to the system; sooner, the next task would fault
/// it in again.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// Serves the process at the other end of standard input and output until it closes them.
///
/// `arguments` are the number of threads, the size of the cache in MiB, and perhaps the folder of a
/// shared store, which replaces the cache.
pub fn main(arguments: &[OsString], program: &Program) -> ExitCode {
    let number = |index: usize| arguments.get(index)?.to_str()?.parse::<usize>().ok();
    let Some((threads, cache)) = number(0).zip(number(1)) else {
        return ExitCode::from(2);
    };
    // Started by the link /proc/self/exe, the process would be named `exe`.
    let _ = rustix::thread::set_name(c"urdf_usd worker");
    let (sender, requests) = channel();
    if std::thread::Builder::new()
        .name("requests".to_owned())
        .spawn(move || listen(&sender))
        .is_err()
    {
        return ExitCode::FAILURE;
    }
    // This thread joins the pool: handing work over costs as much as converting a small file.
    let _ = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .use_current_thread()
        .build_global();
    let replies = Arc::new(Mutex::new(std::io::stdout()));
    let in_memory = || Store::in_memory((cache as u64) << 20);
    let store = arguments.get(2).map_or_else(in_memory, |folder| {
        shared_store(Path::new(folder)).unwrap_or_else(in_memory)
    });
    loop {
        let request = requests.recv_timeout(IDLE_TIME).or_else(|why| match why {
            RecvTimeoutError::Timeout => {
                (program.release_memory)();
                requests.recv().map_err(|_| ())
            }
            RecvTimeoutError::Disconnected => Err(()),
        });
        let Ok(request) = request else {
            return ExitCode::SUCCESS;
        };
        let Ok(request) = serde_json::from_slice::<Request<'_>>(&request) else {
            return ExitCode::FAILURE;
        };
        program.limit_memory(request.memory_limit);
        work(request.task, &store, &replies);
    }
}

/// Opens a shared store, in place of a cache in memory: the system caches its files, and a second
/// cache would only double them. `None`, with a warning, if it can't be used.
fn shared_store(folder: &Path) -> Option<Store> {
    let store = Store::on_disk(folder, DEFAULT_DISK_BYTES);
    if store.is_usable() {
        return Some(store);
    }
    eprintln!(
        "warning: {}: the shared results can't be used: the folder can't be written, or belongs to \
         another user; this process caches its own in memory. Run all bridges as the same user",
        folder.display()
    );
    None
}

/// Forwards requests until standard input closes, then kills the process group: no one waits for
/// the current task.
fn listen(requests: &Sender<Vec<u8>>) {
    let mut input = std::io::stdin().lock();
    while let Ok(Some((Kind::Request, request))) = receive(&mut input) {
        if requests.send(request).is_err() {
            return;
        }
    }
    // Only as its leader: a group that another process leads may include the parent.
    if getpgrp() == getpid() {
        let _ = kill_current_process_group(Signal::KILL);
    }
    std::process::exit(0);
}

/// Runs a task and sends its outcome.
fn work<W: Write + Send + 'static>(task: Task<'_>, store: &Store, replies: &Arc<Mutex<W>>) {
    match task {
        Task::Convert(job) => {
            let (progress, expanded) = (replies.clone(), replies.clone());
            let context = Context {
                store: with_cache(store, job.options.cache_url.as_deref(), |warning| {
                    eprintln!("{warning}");
                }),
                progress: Some(Box::new(move |now| {
                    let convert::Progress {
                        step,
                        name,
                        done,
                        all,
                    } = now;
                    reply(
                        &progress,
                        Kind::Progress,
                        &Progress {
                            step,
                            name: name.into(),
                            done,
                            all,
                        },
                    );
                })),
                expanded: Some(Box::new(move |text| {
                    reply(&expanded, Kind::Expanded, &text)
                })),
                ..Context::default()
            };
            reply(
                replies,
                Kind::Done,
                &convert::convert(&job, &context).map(Outcome::from),
            );
        }
        Task::Frames(entry) => reply(
            replies,
            Kind::Done,
            &usd_read::read_frames(&entry).map_err(|error| error.to_string()),
        ),
        Task::Interfaces(entry) => {
            reply(
                replies,
                Kind::Done,
                &usd_read::read_interfaces(&entry).map_err(|error| error.to_string()),
            );
        }
        Task::Tiers(entry) => reply(
            replies,
            Kind::Done,
            &usd_read::read_tiers(&entry).map_err(|error| error.to_string()),
        ),
        Task::Poses(entry) => reply(replies, Kind::Done, &poses(&entry)),
    }
}

/// Reads the poses of an asset, to see whether that succeeds.
pub(super) fn poses(entry: &Path) -> Result<(), String> {
    let stage = Stage::open(entry, &Default::default()).map_err(|error| error.to_string())?;
    Poses::of(&stage, None)
        .map(|_| ())
        .map_err(|error| error.to_string())
}

/// Sends a reply. A broken pipe is ignored: [`listen`] ends the process then.
fn reply(replies: &Mutex<impl Write>, kind: Kind, content: &impl Serialize) {
    let _ = send(
        &mut *replies.lock().unwrap_or_else(PoisonError::into_inner),
        kind,
        content,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_store_whose_secret_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().expect("folder");
        assert!(shared_store(folder.path()).is_some());
        set_permissions(folder.path().join("key"), Permissions::from_mode(0o644)).expect("set");
        assert!(shared_store(folder.path()).is_none());
    }
}
