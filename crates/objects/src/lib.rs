//! Assets in object stores: S3, Google Cloud Storage and Azure.
//!
//! ```text
//! PREFIX/robots/KEY.json                    the pointer: the current revision of a robot's asset
//! PREFIX/assets/KEY/NAME/REVISION/…         the files of a revision, which never change
//! ```
//!
//! A revision is named by the hash of its files. Its files are written first and its pointer last,
//! by a conditional request: readers that start from a pointer see a whole revision, and of two
//! writers none loses what the other one wrote unnoticed.
//!
//! Results that machines share are in a folder of their own ([`with_cache`]).
//!
//! [`Objects`] blocks the calling thread; its requests run on other threads. Without the
//! feature `cloud`, [`Objects::open`] returns an error.
//!
//! This crate knows no robots, batches or nodes.

mod cache;
pub mod codes;
#[cfg(feature = "cloud")]
mod connect;
mod mirror;
mod publish;

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _};
use object_store::path::Path as ObjectPath;
use object_store::{
    Error, GetOptions, GetResult, ObjectMeta, ObjectStore, ObjectStoreExt as _, PutMode,
    PutPayload, UpdateVersion,
};
use tokio::runtime::{Handle, Runtime};
use urdf_usd_diagnostic::{Code, Diagnostic, Place};

pub use self::cache::{check_cache, probe_cache, with_cache};
pub use self::publish::{Asset, File, Pointer};

/// Maximum size of a pointer, in bytes. [`MAX_REQUESTS`] of them are in memory.
const MAX_POINTER_BYTES: u64 = 8 << 20;
/// Requests at a time of one call.
const MAX_REQUESTS: usize = 32;
/// Attempts to replace an object that others replace, too.
const MAX_ATTEMPTS: u32 = 10;

/// A kind of object store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    S3,
    Google,
    Azure,
}

/// Time for which failed requests are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// As long as the user has set: the result of a request is needed.
    Long,
    /// For a second: the program goes on without the result.
    Short,
}

/// A folder in an object store.
pub struct Objects {
    /// The address without a slash at its end.
    url: String,
    store: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
    requests: Handle,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Drop for Objects {
    fn drop(&mut self) {
        // Dropping it would wait, which panics on a thread of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Objects").field(&self.url).finish()
    }
}

/// Returns whether a text is the address of an object store, such as `s3://bucket/folder`.
pub fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Checks the kind of an address, without opening it.
///
/// # Errors
/// If it is not one of the kinds that this program knows, or has credentials.
pub fn check_url(url: &str) -> Result<(), Diagnostic> {
    scheme(url).map(drop)
}

fn scheme(url: &str) -> Result<Scheme, Diagnostic> {
    let invalid =
        |message| Diagnostic::new(&codes::URL, Place::file(without_secrets(url)), message);
    let (name, rest) = url.split_once("://").unwrap_or_default();
    let scheme = match name {
        "s3" | "s3a" => Scheme::S3,
        "gs" => Scheme::Google,
        "az" | "azure" | "abfs" | "abfss" => Scheme::Azure,
        _ => {
            return Err(invalid("there is no such kind of object store").help(
                "give s3://BUCKET/FOLDER, gs://BUCKET/FOLDER, az://CONTAINER/FOLDER or a path",
            ));
        }
    };
    // `abfs[s]://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER` names the container as the user.
    let is_container = |user: &str| name.starts_with("abfs") && !user.contains(':');
    match authority(rest).rsplit_once('@') {
        Some((user, _)) if !is_container(user) => {
            Err(invalid("the address has a user name or a password")
                .help("remove it, and set the credentials in the environment"))
        }
        _ => Ok(scheme),
    }
}

/// Returns the part of an address between its scheme and its path.
fn authority(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Returns an address for messages, without the parts that can hold credentials: user, password,
/// query and fragment.
pub fn without_secrets(url: &str) -> String {
    let (name, rest) = match url.split_once("://") {
        Some((name, rest)) => (format!("{name}://"), rest),
        None => (String::new(), url),
    };
    // A password may have characters such as `/` and `?` that should have been encoded.
    let (user, rest) = match rest.rsplit_once('@') {
        Some((_, rest)) => ("…@", rest),
        None => ("", rest),
    };
    let (rest, query) = match rest.split_once(['?', '#']) {
        Some((rest, _)) => (rest, "?…"),
        None => (rest, ""),
    };
    format!("{name}{user}{rest}{query}")
}

/// Returns the error of a request without an answer.
fn late(place: Place, time: Duration) -> Diagnostic {
    let message = format!("no answer within {:.0} s", time.as_secs_f64());
    Diagnostic::new(&codes::TIMEOUT, place, message).help("check the endpoint and the network")
}

impl Objects {
    /// Opens a folder by its address, with the credentials of the environment.
    ///
    /// # Errors
    /// If the address is not valid, there are no credentials, or the bucket can't be listed.
    pub fn open(url: &str) -> Result<Self, Diagnostic> {
        Self::open_within(url, Patience::Long, Duration::MAX)
    }

    fn open_within(url: &str, patience: Patience, time: Duration) -> Result<Self, Diagnostic> {
        let url = url.trim_end_matches('/');
        let scheme = scheme(url)?;
        let invalid = |why: String| {
            Diagnostic::new(&codes::URL, Place::file(without_secrets(url)), why)
                .help("give an address such as s3://BUCKET/FOLDER")
        };
        let parsed = url::Url::parse(url).map_err(|error| invalid(error.to_string()))?;
        if parsed.host_str().is_none_or(str::is_empty)
            || parsed.query().is_some()
            || parsed.fragment().is_some()
        {
            return Err(invalid(
                "there is no bucket, or more than a folder".to_owned(),
            ));
        }
        let prefix =
            ObjectPath::from_url_path(parsed.path()).map_err(|error| invalid(error.to_string()))?;
        let runtime = runtime(url)?;
        // Credentials of a role are requested, too.
        let connected = async {
            let connected = tokio::time::timeout(time, connect(scheme, url, patience)).await;
            connected.unwrap_or_else(|_| Err(late(Place::file(url), time)))
        };
        let opened = Self {
            store: runtime.block_on(connected)?,
            url: url.to_owned(),
            prefix,
            requests: runtime.handle().clone(),
            runtime: Some(runtime),
        };
        // A folder without objects is an empty one; only a missing bucket is not found.
        opened.block_on(opened.within("", time, async {
            let first = opened.store.list(Some(&opened.prefix)).try_next().await;
            first.map_err(|error| opened.diagnose("", "the folder can't be listed", &error))
        }))?;
        Ok(opened)
    }

    /// Returns the address, without a slash at its end.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.requests.block_on(future)
    }

    /// Returns the path of an object by its name in the folder.
    fn path(&self, name: &str) -> Result<ObjectPath, Diagnostic> {
        let whole = match self.prefix.as_ref() {
            "" => name.to_owned(),
            prefix => format!("{prefix}/{name}"),
        };
        ObjectPath::parse(whole)
            .map_err(|error| Diagnostic::new(&codes::CONTENT, self.place(name), error.to_string()))
    }

    /// Returns the name of an object in the folder.
    fn name<'a>(&self, path: &'a ObjectPath) -> &'a str {
        let rest = path.as_ref().strip_prefix(self.prefix.as_ref());
        rest.unwrap_or_default().trim_start_matches('/')
    }

    fn place(&self, name: &str) -> Place {
        if name.is_empty() {
            return Place::file(&self.url);
        }
        Place::file(format!("{}/{name}", self.url))
    }

    /// Returns the diagnostic of a failed request.
    fn diagnose(&self, name: &str, what: &str, error: &Error) -> Diagnostic {
        let text = error.to_string();
        let (code, help): (&'static Code, _) = match status(&text) {
            // The error has the key. A list ends with the first of them.
            _ if matches!(error, Error::InvalidPath { .. }) => (
                &codes::CONTENT,
                "remove the object: a key has no empty part, no `.` and no `..`",
            ),
            // S3 answers so for unknown and wrong keys.
            _ if [
                "InvalidAccessKeyId",
                "SignatureDoesNotMatch",
                "ExpiredToken",
            ]
            .iter()
            .any(|code| text.contains(code)) =>
            {
                (
                    &codes::CREDENTIALS,
                    "correct the credentials in the environment",
                )
            }
            Some(401) => (
                &codes::CREDENTIALS,
                "correct the credentials in the environment",
            ),
            Some(403) => (
                &codes::ACCESS,
                "allow listing, reading and writing objects below the folder",
            ),
            Some(404) => (
                &codes::BUCKET,
                "create the bucket, or correct its name, region and endpoint",
            ),
            _ if is_lost(error) => (
                &codes::CONFLICT,
                "let one writer at a time publish this robot",
            ),
            _ if is_timeout(error) => (
                &codes::TIMEOUT,
                "check the endpoint and the network, then run the command again: it goes on from here",
            ),
            _ => (
                &codes::FAILED,
                "correct the address, region, endpoint and credentials",
            ),
        };
        let message = format!("{what}: {}", reason(&text));
        Diagnostic::new(code, self.place(name), message).help(help)
    }

    /// Ends a request after a time.
    async fn within<T>(
        &self,
        name: &str,
        time: Duration,
        request: impl Future<Output = Result<T, Diagnostic>>,
    ) -> Result<T, Diagnostic> {
        let answer = tokio::time::timeout(time, request).await;
        answer.unwrap_or_else(|_| Err(late(self.place(name), time)))
    }

    /// Returns the content of an object with its version; `None` if it does not exist.
    async fn read(&self, name: &str) -> Result<Option<(Vec<u8>, UpdateVersion)>, Diagnostic> {
        let Some(found) = self.begin(name, MAX_POINTER_BYTES).await? else {
            return Ok(None);
        };
        let version = UpdateVersion {
            e_tag: found.meta.e_tag.clone(),
            version: found.meta.version.clone(),
        };
        Ok(Some((self.content(name, found).await?.into(), version)))
    }

    /// Begins to read an object of at most `limit` bytes; `None` if it does not exist.
    async fn begin(&self, name: &str, limit: u64) -> Result<Option<GetResult>, Diagnostic> {
        let found = self
            .store
            .get_opts(&self.path(name)?, GetOptions::default())
            .await;
        let found = match found {
            Err(Error::NotFound { .. }) => return Ok(None),
            found => found.map_err(|error| self.diagnose(name, "it can't be read", &error))?,
        };
        if found.meta.size > limit {
            let message = format!("it is larger than {} MiB", limit >> 20);
            return Err(Diagnostic::new(&codes::CONTENT, self.place(name), message));
        }
        Ok(Some(found))
    }

    /// Reads the rest of an object.
    async fn content(&self, name: &str, found: GetResult) -> Result<Bytes, Diagnostic> {
        let content = found.bytes().await;
        content.map_err(|error| self.diagnose(name, "it can't be read", &error))
    }

    /// Replaces an object by what `update` makes of its content, which is `None` if it does not
    /// exist. Nothing is written if that returns `None`.
    ///
    /// The content is read again if another writer was faster, and also if it is not known whether
    /// a request succeeded: it may have, with a lost answer.
    async fn replace(
        &self,
        name: &str,
        mut update: impl AsyncFnMut(Option<&[u8]>) -> Result<Option<Vec<u8>>, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let path = self.path(name)?;
        let mut written: Option<Vec<u8>> = None;
        let mut attempt = 0;
        loop {
            let old = self.read(name).await?;
            let content = old.as_ref().map(|(content, _)| content.as_slice());
            if content.is_some() && content == written.as_deref() {
                return Ok(());
            }
            let Some(new) = update(content).await? else {
                return Ok(());
            };
            let version = old.map(|(_, version)| version);
            let error = match self.put(&path, new.clone().into(), version).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            attempt += 1;
            // The store does not repeat a conditional request whose answer is late.
            let is_late = attempt < 3 && is_timeout(&error);
            if attempt >= MAX_ATTEMPTS || !(is_lost(&error) || is_late) {
                return Err(self.diagnose(name, "it can't be replaced", &error));
            }
            written = Some(new);
            tokio::time::sleep(pause(attempt)).await;
        }
    }

    /// Writes an object if it still has this version, or `None` if it does not exist.
    async fn put(
        &self,
        path: &ObjectPath,
        content: PutPayload,
        version: Option<UpdateVersion>,
    ) -> Result<(), Error> {
        let mode = version.map_or(PutMode::Create, PutMode::Update);
        let put = self
            .store
            .put_opts(path, content.clone(), mode.into())
            .await;
        // If the user has turned conditional requests off, an object is still replaced as a whole.
        if let Err(Error::NotImplemented { .. }) = put {
            return self.store.put(path, content).await.map(drop);
        }
        put.map(drop)
    }

    /// Returns those of these objects that do not exist.
    ///
    /// # Errors
    /// If a request fails after several attempts.
    pub fn missing<'a>(
        &self,
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<BTreeSet<String>, Diagnostic> {
        self.block_on(
            futures::stream::iter(names)
                .map(|name| async move {
                    let version = self.version(name).await?;
                    Ok(version.is_none().then(|| name.to_owned()))
                })
                .buffer_unordered(MAX_REQUESTS)
                .try_filter_map(|missing| async { Ok(missing) })
                .try_collect(),
        )
    }

    /// Returns the version of an object; `None` if it does not exist.
    async fn version(&self, name: &str) -> Result<Option<UpdateVersion>, Diagnostic> {
        match self.store.head(&self.path(name)?).await {
            Ok(meta) => Ok(Some(UpdateVersion {
                e_tag: meta.e_tag,
                version: meta.version,
            })),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(self.diagnose(name, "it can't be read", &error)),
        }
    }

    /// Lists the objects below a folder.
    async fn list(&self, folder: &str, limit: usize) -> Result<Vec<ObjectMeta>, Diagnostic> {
        let failed = |error: Error| self.diagnose(folder, "it can't be listed", &error);
        let path = match folder {
            "" => self.prefix.clone(),
            folder => self.path(folder)?,
        };
        let listed = self.store.list(Some(&path)).take(limit);
        listed.try_collect().await.map_err(failed)
    }
}

/// Returns whether another writer was faster.
fn is_lost(error: &Error) -> bool {
    matches!(
        error,
        Error::Precondition { .. } | Error::AlreadyExists { .. }
    )
}

/// Returns a pause that grows with the attempts, and differs between writers.
fn pause(attempt: u32) -> Duration {
    let now = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .unwrap_or_default();
    Duration::from_millis(u64::from(attempt) * (10 + u64::from(now.subsec_micros()) % 40))
}

fn runtime(url: &str) -> Result<Runtime, Diagnostic> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("objects")
        .enable_all()
        .build()
        .map_err(|error| {
            let message = format!("no threads for requests: {error}");
            Diagnostic::new(&codes::FAILED, Place::file(url), message)
        })
}

#[cfg(feature = "cloud")]
use self::connect::{connect, is_timeout};

#[cfg(not(feature = "cloud"))]
async fn connect(_: Scheme, url: &str, _: Patience) -> Result<Arc<dyn ObjectStore>, Diagnostic> {
    Err(without_cloud(url))
}

fn without_cloud(url: &str) -> Diagnostic {
    Diagnostic::new(
        &codes::FEATURE,
        Place::file(without_secrets(url)),
        "this program was built without object stores",
    )
    .help("use the program of a release, or build it with `cargo build --release --features cloud`")
}

#[cfg(not(feature = "cloud"))]
fn is_timeout(_: &Error) -> bool {
    false
}

/// Returns the status of the answer in the text of an error. Lists hide it in a general error.
fn status(text: &str) -> Option<u16> {
    let (_, rest) = text.split_once("status code: ")?;
    rest.get(..3)?.parse().ok()
}

/// Shortens the text of an error to what the server answered, in its words, or to the last cause.
fn reason(text: &str) -> String {
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once("</")?.0.trim().to_owned())
    };
    if let Some(code) = element("Code") {
        return match element("Message") {
            Some(message) if !message.is_empty() => format!("{code}: {message}"),
            _ => code,
        };
    }
    text.rsplit(" - ").next().unwrap_or(text).trim().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use object_store::memory::InMemory;

    pub(crate) fn in_memory() -> Objects {
        let runtime = runtime("").expect("threads");
        Objects {
            url: "s3://bucket/folder".to_owned(),
            store: Arc::new(InMemory::new()),
            prefix: ObjectPath::from("folder"),
            requests: runtime.handle().clone(),
            runtime: Some(runtime),
        }
    }

    #[test]
    fn addresses_have_a_known_kind_and_a_bucket() {
        for (text, is) in [
            ("s3://b/x", true),
            ("file:///x", true),
            ("C://x", false),
            ("robots/a", false),
            ("a:b", false),
        ] {
            assert_eq!(is_url(text), is, "{text}");
        }
        for url in [
            "ftp://b/x",
            "s3:///x",
            "s3://b/x?y=1",
            "s3://b/../%2e%2e/%00",
        ] {
            assert_eq!(
                Objects::open(url).expect_err(url).code,
                codes::URL.id,
                "{url}"
            );
        }
        for url in [
            "s3://KEY:SECRET@b/x",
            "s3://SECRET@b/x",
            "abfs://c:SECRET@a.dfs.core.windows.net/x",
            "s3://KEY:SECRET/SECRET?SECRET@b/x",
            "s3://b/x?sig=SECRET",
            "ftp://KEY:SECRET@b/x",
        ] {
            let fault = Objects::open(url).expect_err(url);
            assert_eq!(fault.code, codes::URL.id, "{url}");
            assert!(!format!("{fault:?}").contains("SECRET"), "{fault:?}");
        }
        assert!(check_url("abfss://c@a.dfs.core.windows.net/x").is_ok());
        #[cfg(not(feature = "cloud"))]
        assert_eq!(
            Objects::open("s3://b/x").expect_err("no feature").code,
            codes::FEATURE.id
        );
    }

    #[test]
    fn a_writer_that_was_not_fast_enough_starts_from_what_the_other_one_wrote() {
        let objects = in_memory();
        let mut calls = 0;
        let replaced = objects.block_on(objects.replace("x", async |old| {
            calls += 1;
            if calls < 4 {
                // Another writer, between reading and writing.
                let path = objects.path("x").expect("valid");
                let other = format!("other {calls}");
                objects.store.put(&path, other.into()).await.expect("put");
            }
            let old = old.map(|old| String::from_utf8_lossy(old).into_owned());
            Ok(Some(format!("after {old:?}").into_bytes()))
        }));
        replaced.expect("in the end");
        let (content, _) = objects
            .block_on(objects.read("x"))
            .expect("there")
            .expect("there");
        assert_eq!(
            (calls, String::from_utf8_lossy(&content).as_ref()),
            (4, "after Some(\"other 3\")")
        );
        let lost = objects.block_on(objects.replace("x", async |_| {
            let path = objects.path("x").expect("valid");
            objects.store.put(&path, "again".into()).await.expect("put");
            Ok(Some(b"mine".to_vec()))
        }));
        assert_eq!(lost.expect_err("always lost").code, codes::CONFLICT.id);
    }

    #[test]
    fn errors_are_the_words_of_the_server() {
        let text = "denied: Error performing PUT http://x in 3ms - Server returned non-2xx status code: 403 Forbidden: <Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
        assert_eq!(reason(text), "AccessDenied: Access Denied");
        assert_eq!((status(text), status("timed out")), (Some(403), None));
        assert_eq!(
            reason("a - b in 1s - connection refused"),
            "connection refused"
        );
    }
}
