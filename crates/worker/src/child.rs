//! The worker process: runs tasks one after the other, with a warm cache between them.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use rustix::process::{Signal, getpgrp, getpid, kill_current_process_group};
use serde::Serialize;

use super::Program;
use super::protocol::{Kind, Progress, Request, Task, receive, send};
use urdf_usd_convert::{self as convert, Context, Outcome};
use urdf_usd_isaac::poses::Poses;
use urdf_usd_objects::with_cache;
use urdf_usd_stage::Stage;
use urdf_usd_store::Store;
use urdf_usd_usd_read as usd_read;

/// Idle time before a worker returns freed memory to the system; sooner, the next task would fault
/// it in again.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// Serves the process at the other end of standard input and output until it closes them.
///
/// `arguments` are the number of threads and the size of the cache in MiB.
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
    let store = Store::in_memory((cache as u64) << 20);
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
        work(request.task, &store);
    }
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
fn work(task: Task<'_>, store: &Store) {
    match task {
        Task::Convert(job) => {
            let context = Context {
                store: with_cache(store, job.options.cache_url.as_deref(), |warning| {
                    reply(Kind::Warning, warning);
                }),
                progress: Some(Box::new(|now| {
                    let convert::Progress {
                        step,
                        name,
                        done,
                        all,
                    } = now;
                    reply(
                        Kind::Progress,
                        &Progress {
                            step,
                            name: name.into(),
                            done,
                            all,
                        },
                    );
                })),
                expanded: Some(Box::new(|text| reply(Kind::Expanded, &text))),
                ..Context::default()
            };
            let outcome = convert::convert(&job, &context).map(Outcome::from);
            reply(Kind::Done, &outcome);
        }
        Task::Frames(entry) => reply(
            Kind::Done,
            &usd_read::read_frames(&entry).map_err(|error| error.to_string()),
        ),
        Task::Interfaces(entry) => reply(
            Kind::Done,
            &usd_read::read_interfaces(&entry).map_err(|error| error.to_string()),
        ),
        Task::Tiers(entry) => reply(
            Kind::Done,
            &usd_read::read_tiers(&entry).map_err(|error| error.to_string()),
        ),
        Task::Poses(entry) => reply(Kind::Done, &poses(&entry)),
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
fn reply(kind: Kind, content: &impl Serialize) {
    // Locked as a whole: threads send, too.
    let _ = send(&mut std::io::stdout().lock(), kind, content);
}
