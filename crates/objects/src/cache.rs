//! Results that machines share, in an object store or a folder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use object_store::ObjectStoreExt as _;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use urdf_usd_diagnostic::Diagnostic;
use urdf_usd_store::{Folder, MAX_SHARED_BYTES, Remote, Store};

use crate::{Objects, Patience, check_url, codes, is_lost, is_url, without_cloud};

/// Kibibytes of objects that wait to be written, or are being written.
const MAX_WAITING_KIB: u32 = 64 << 10;
/// Minimum share of an object in them, which bounds the number of requests to 32.
const MIN_WAITING_KIB: u32 = MAX_WAITING_KIB / 32;
/// Time for opening the store.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);
/// Time until an answer begins. Most results take less time to make.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// Time for an object, which may be large.
const OBJECT_TIMEOUT: Duration = Duration::from_secs(30);
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
        Some(_) => Ok(()),
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
    static CACHES: Mutex<BTreeMap<String, Arc<dyn Remote>>> = Mutex::new(BTreeMap::new());
    let Some(url) = url else {
        return store.clone();
    };
    let mut caches = CACHES.lock().unwrap_or_else(PoisonError::into_inner);
    let remote = caches
        .entry(url.to_owned())
        .or_insert_with(|| match folder(url) {
            Some(folder) => Arc::new(Folder::new(folder)),
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
    /// Consecutive failures.
    failures: u32,
    /// No request is made before.
    resume: Option<Instant>,
    has_warned: bool,
}

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
    fn objects(&self) -> Option<Arc<Objects>> {
        let mut connection = self.connection();
        let is_paused = |resume: Instant| Instant::now() < resume;
        if connection.resume.is_some_and(is_paused) {
            return None;
        }
        if connection.objects.is_none() {
            match Objects::open_within(&self.0.url, Patience::Short, OPEN_TIMEOUT) {
                Ok(objects) => connection.objects = Some(Arc::new(objects)),
                Err(fault) => {
                    self.failed(&mut connection, &fault);
                    return None;
                }
            }
        }
        connection.objects.clone()
    }

    /// Takes the result of a request.
    fn note<T>(&self, result: Result<T, Diagnostic>) -> Option<T> {
        let mut connection = self.connection();
        match result {
            Ok(value) => {
                (connection.failures, connection.resume) = (0, None);
                Some(value)
            }
            // This object alone is wrong.
            Err(fault) if fault.code == codes::CONTENT.id => None,
            Err(fault) => {
                self.failed(&mut connection, &fault);
                None
            }
        }
    }

    fn failed(&self, connection: &mut Connection, fault: &Diagnostic) {
        // Requests that began before the pause fail together.
        if connection
            .resume
            .is_some_and(|resume| Instant::now() < resume)
        {
            return;
        }
        let pause = MIN_PAUSE * (1 << connection.failures.min(6));
        connection.resume = Some(Instant::now() + pause.min(MAX_PAUSE));
        connection.failures += 1;
        if !std::mem::replace(&mut connection.has_warned, true) {
            (self.0.warn)(&warning(fault));
        }
    }

    async fn read(&self, objects: &Objects, name: &str) -> Result<Option<Bytes>, Diagnostic> {
        // With room for the hash.
        let limit = MAX_SHARED_BYTES + 1024;
        let answer = objects.begin(name, limit);
        let Some(found) = objects.within(name, ANSWER_TIMEOUT, answer).await? else {
            return Ok(None);
        };
        let content = objects.content(name, found);
        let content = objects.within(name, OBJECT_TIMEOUT, content).await?;
        Ok(Some(content))
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
    fn get(&self, name: &str) -> Option<Bytes> {
        let objects = self.objects()?;
        let read = objects.block_on(self.read(&objects, name));
        self.note(read)?
    }

    fn put(&self, name: &str, object: Bytes, replaces: bool) {
        let Some(objects) = self.objects() else {
            return;
        };
        let Ok(path) = objects.path(name) else {
            return;
        };
        let kib = u32::try_from(object.len() >> 10).unwrap_or(u32::MAX);
        let kib = kib.clamp(MIN_WAITING_KIB, MAX_WAITING_KIB);
        // A conversion waits for a slow store before it fills the memory, but not forever: then other
        // machines make the result themselves.
        let permit = self.0.waiting.clone().acquire_many_owned(kib);
        let permit = objects.block_on(async { timeout(ANSWER_TIMEOUT, permit).await });
        let Ok(Ok(permit)) = permit else {
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
            cache.note(written);
            drop(permit);
        });
    }

    fn flush(&self) {
        let Some(objects) = self.connection().objects.clone() else {
            return;
        };
        let all = self.0.waiting.acquire_many(MAX_WAITING_KIB);
        let _ = objects.block_on(async { timeout(OBJECT_TIMEOUT, all).await });
    }
}
