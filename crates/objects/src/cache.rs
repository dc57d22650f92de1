//! Results that machines share, in an object store or a folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::ObjectStoreExt as _;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_store::{Folder, MAX_SHARED_BYTES, Remote, Store};

use crate::{Objects, Patience, check_url, codes, is_lost, is_url, late, without_cloud};

/// Kibibytes of objects that wait to be written, or are being written. A larger object takes all of
/// it: no other one is written meanwhile.
const MAX_WAITING_KIB: u32 = 64 << 10;
/// Minimum share of an object in them, which bounds the number of requests to 32.
const MIN_WAITING_KIB: u32 = MAX_WAITING_KIB / 32;
/// Time for opening the store.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// Time until an answer begins. Most results take less time to make.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for an object, which may be large.
const OBJECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Time that the end of a job waits for objects to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// The environment variable with the limit of a folder, in MiB.
const LIMIT_VARIABLE: &str = "URDF_USD_SHARED_CACHE_MB";
/// Default limit of a folder, in MiB.
const DEFAULT_LIMIT_MIB: u64 = 64 << 10;
/// Minimum time for a request: a job with less time left makes its results itself.
const MIN_TIME: Duration = Duration::from_secs(1);
/// Pause after a failure; it doubles with each further one, up to the maximum.
const MIN_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Checks the address of a cache, without opening it.
///
/// # Errors
/// If it is neither a path nor an address of [`check_url`].
pub fn check_cache(url: &str) -> Result<(), Diagnostic> {
    match folder(url) {
        Some(_) => Ok(()),
        None if cfg!(feature = "cloud") => check_url(url),
        None => Err(without_cloud(url)),
    }
}

/// Checks that a cache can be used, without waiting for long.
///
/// # Errors
/// Returns a warning for users.
pub fn probe_cache(url: &str) -> Result<(), Diagnostic> {
    match folder(url) {
        // One that can't be written may have results of other machines: the workers read them.
        Some(folder) => fs::create_dir_all(folder)
            .and_then(|()| fs::read_dir(folder))
            .map(drop)
            .map_err(|error| folder_warning(folder, &error)),
        None => Objects::open_within(url, Patience::Short, OPEN_TIMEOUT)
            .map(drop)
            .map_err(|fault| warning(&fault)),
    }
}

/// Returns a handle of `store` that shares results with other machines at `url`, a folder or the
/// address of an object store. Handles for one address share its connection.
///
/// The first failure is passed to `warn`: conversions go on without the shared results.
#[must_use]
pub fn with_cache(store: &Store, url: Option<&str>, warn: fn(&Diagnostic)) -> Store {
    // By process and address: a connection does not survive a fork, which leaves the child without
    // the threads that make its requests.
    static CACHES: Mutex<BTreeMap<(u32, String), Arc<dyn Remote>>> = Mutex::new(BTreeMap::new());
    let Some(url) = url else {
        return store.clone();
    };
    let mut caches = CACHES.lock().unwrap_or_else(PoisonError::into_inner);
    let remote = caches
        .entry((std::process::id(), url.to_owned()))
        .or_insert_with(|| match folder(url) {
            Some(path) => Arc::new(FolderCache {
                path: path.to_owned(),
                folder: Folder::new(path, limit(warn)),
                warn,
                has_warned: AtomicBool::new(false),
            }),
            None => Arc::new(Cache::new(url, warn)),
        });
    store.clone().with_remote(remote.clone())
}

/// Returns the folder of an address such as `/mnt/cache` or `file:///mnt/cache`.
fn folder(url: &str) -> Option<&Path> {
    match url.strip_prefix("file://") {
        Some(path) => path.starts_with('/').then(|| Path::new(path)),
        None => (!is_url(url)).then(|| Path::new(url)),
    }
}

/// Shared results in a folder.
#[derive(Debug)]
struct FolderCache {
    path: PathBuf,
    folder: Folder,
    warn: fn(&Diagnostic),
    has_warned: AtomicBool,
}

impl Remote for FolderCache {
    fn get(&self, name: &str, within: Duration) -> Option<Bytes> {
        self.folder.get(name, within)
    }

    fn put(&self, name: &str, object: Bytes, replaces: bool, _within: Duration) {
        if let Err(error) = self.folder.write(name, &object, replaces)
            && !self.has_warned.swap(true, Ordering::Relaxed)
        {
            (self.warn)(&folder_warning(&self.path, &error));
        }
    }

    fn flush(&self, within: Duration) {
        self.folder.flush(within);
    }
}

/// Returns the limit of a folder of shared results, in bytes.
fn limit(warn: fn(&Diagnostic)) -> u64 {
    let mib = match std::env::var(LIMIT_VARIABLE) {
        Ok(text) if !text.is_empty() => text.trim().parse().unwrap_or_else(|_| {
            let message = format!(
                "{LIMIT_VARIABLE}: {text:?} is not a number of MiB, so the limit is {DEFAULT_LIMIT_MIB}"
            );
            let help = "give a number such as 65536";
            warn(&Diagnostic::new(&codes::CACHE_LIMIT, Place::default(), message).help(help));
            DEFAULT_LIMIT_MIB
        }),
        _ => DEFAULT_LIMIT_MIB,
    };
    mib.saturating_mul(1 << 20)
}

/// Returns the warning about a folder that can't be created or written.
fn folder_warning(folder: &Path, error: &io::Error) -> Diagnostic {
    let message = format!(
        "the shared cache can't be written, results are cached on this machine only: {error}"
    );
    Diagnostic::new(&codes::CACHE, Place::file(folder), message)
        .help("make the folder writable, or give another --cache-url")
}

/// Shared results in an object store. After a failure, it is not asked for some time.
#[derive(Clone, Debug)]
struct Cache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    url: String,
    warn: fn(&Diagnostic),
    connection: Mutex<Connection>,
    /// Permits for kibibytes that wait.
    waiting: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Connection {
    /// Opened by the first request: most conversions find all results on this machine.
    objects: Option<Arc<Objects>>,
    /// Pauses after failures to open the store, or to read from it.
    reads: Pause,
    /// Pauses after failures to write. Reads alone tell nothing about them: a store may be read-only.
    writes: Pause,
    has_warned: bool,
}

/// The pause after consecutive failures.
#[derive(Debug, Default)]
struct Pause {
    failures: u32,
    /// No request is made before.
    resume: Option<Instant>,
}

impl Pause {
    fn is_active(&self) -> bool {
        self.resume.is_some_and(|resume| Instant::now() < resume)
    }

    fn extend(&mut self) {
        let pause = MIN_PAUSE * (1 << self.failures.min(6));
        self.resume = Some(Instant::now() + pause.min(MAX_PAUSE));
        self.failures += 1;
    }
}

/// Returns one of the two pauses.
type PauseOf = fn(&mut Connection) -> &mut Pause;

const READS: PauseOf = |connection| &mut connection.reads;
const WRITES: PauseOf = |connection| &mut connection.writes;

impl Cache {
    fn new(url: &str, warn: fn(&Diagnostic)) -> Self {
        Self(Arc::new(Inner {
            url: url.to_owned(),
            warn,
            connection: Mutex::default(),
            waiting: Arc::new(Semaphore::new(MAX_WAITING_KIB as usize)),
        }))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        let connection = self.0.connection.lock();
        connection.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the store, which is opened if needed; `None` during a pause. Other threads wait
    /// meanwhile: they need it, too.
    fn objects(&self, within: Duration) -> Option<Arc<Objects>> {
        let mut connection = self.connection();
        if connection.reads.is_active() || within < MIN_TIME {
            return None;
        }
        if connection.objects.is_none() {
            let time = OPEN_TIMEOUT.min(within);
            match Objects::open_within(&self.0.url, Patience::Short, time) {
                Ok(objects) => connection.objects = Some(Arc::new(objects)),
                Err(fault) => {
                    self.failed(&mut connection, READS, &fault);
                    return None;
                }
            }
        }
        connection.objects.clone()
    }

    /// Takes the result of a request.
    fn note<T>(&self, pause: PauseOf, result: Result<T, Diagnostic>) -> Option<T> {
        let mut connection = self.connection();
        match result {
            Ok(value) => {
                *pause(&mut connection) = Pause::default();
                Some(value)
            }
            // This object alone is wrong.
            Err(fault) if fault.code == codes::CONTENT.id => None,
            Err(fault) => {
                self.failed(&mut connection, pause, &fault);
                None
            }
        }
    }

    fn failed(&self, connection: &mut Connection, pause: PauseOf, fault: &Diagnostic) {
        let pause = pause(connection);
        // Requests that began before the pause fail together.
        if pause.is_active() {
            return;
        }
        pause.extend();
        if !std::mem::replace(&mut connection.has_warned, true) {
            (self.0.warn)(&warning(fault));
        }
    }

    async fn read(
        &self,
        objects: &Objects,
        name: &str,
        within: Duration,
    ) -> Result<Option<Bytes>, Diagnostic> {
        // With room for the hash.
        let limit = MAX_SHARED_BYTES + 1024;
        let began = Instant::now();
        let answer = objects.begin(name, limit);
        let answer = objects.within(name, ANSWER_TIMEOUT.min(within), answer);
        let Some(found) = answer.await? else {
            return Ok(None);
        };
        let left = within.saturating_sub(began.elapsed());
        let content = objects.content(name, found);
        let content = objects.within(name, OBJECT_TIMEOUT.min(left), content);
        Ok(Some(content.await?))
    }
}

/// Returns the warning about a failure, which says what follows.
fn warning(fault: &Diagnostic) -> Diagnostic {
    let message = format!(
        "the shared cache can't be used, results are cached on this machine only: {} [{}]",
        fault.message, fault.code
    );
    Diagnostic::new(&codes::CACHE, fault.place.clone(), message).help(fault.help.clone())
}

impl Remote for Cache {
    fn get(&self, name: &str, within: Duration) -> Option<Bytes> {
        let objects = self.objects(within)?;
        let read = objects.block_on(self.read(&objects, name, within));
        self.note(READS, read)?
    }

    fn put(&self, name: &str, object: Bytes, replaces: bool, within: Duration) {
        if self.connection().writes.is_active() {
            return;
        }
        let Some(objects) = self.objects(within) else {
            return;
        };
        let Ok(path) = objects.path(name) else {
            return;
        };
        let kib = u32::try_from(object.len() >> 10).unwrap_or(u32::MAX);
        let kib = kib.clamp(MIN_WAITING_KIB, MAX_WAITING_KIB);
        // A conversion waits for a slow store before it fills the memory, but only once: after that,
        // other machines make the result themselves until an object was written.
        let time = match self.connection().writes.failures {
            0 => ANSWER_TIMEOUT.min(within),
            _ => Duration::ZERO,
        };
        let permit = self.0.waiting.clone().acquire_many_owned(kib);
        let permit = objects.block_on(async { timeout(time, permit).await });
        let Ok(Ok(permit)) = permit else {
            let fault = late(objects.place(name), ANSWER_TIMEOUT);
            self.failed(&mut self.connection(), WRITES, &fault);
            return;
        };
        let (cache, name, requests) = (self.clone(), name.to_owned(), objects.requests.clone());
        requests.spawn(async move {
            let written = async {
                let written = match replaces {
                    true => objects.store.put(&path, object.into()).await.map(drop),
                    false => objects.put(&path, object.into(), None).await,
                };
                match written {
                    // Another machine has made the same.
                    Err(error) if is_lost(&error) => Ok(()),
                    written => written
                        .map_err(|error| objects.diagnose(&name, "it can't be written", &error)),
                }
            };
            let written = objects.within(&name, OBJECT_TIMEOUT, written).await;
            cache.note(WRITES, written);
            drop(permit);
        });
    }

    fn flush(&self, within: Duration) {
        let mut connection = self.connection();
        let Some(objects) = connection.objects.clone() else {
            return;
        };
        // Requests of a store that has failed are unlikely to succeed in this time.
        if connection.writes.is_active() {
            return;
        }
        drop(connection);
        let time = FLUSH_TIMEOUT.min(within);
        let all = self.0.waiting.acquire_many(MAX_WAITING_KIB);
        let is_late = objects
            .block_on(async { timeout(time, all).await })
            .is_err();
        // Requests go on as long as the process runs.
        if is_late && time == FLUSH_TIMEOUT {
            connection = self.connection();
            self.failed(&mut connection, WRITES, &late(objects.place(""), time));
        }
    }
}
