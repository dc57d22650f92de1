//! The index of a fleet: bridges that share a folder announce their robots there, and each of them
//! serves the robots of all.
//!
//! A bridge rewrites its file `bridges/ID.json` after every change and in every period, so the age of
//! the file reveals whether the bridge runs. Ages are differences of modification times in one file
//! system, since the clocks of machines may differ.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use urdf_usd_convert::Counts;
use urdf_usd_diagnostic::{Diagnostic, Place};
use urdf_usd_store::{Key, open_regular_file};

use crate::site::{Presence, RobotState, RobotView, Site};
use crate::{App, codes};

/// The folder of the announcements in that of the fleet.
const BRIDGES: &str = "bridges";
/// The folder of the shared cache in that of the fleet.
const STORE: &str = "store";
/// Periods after which a bridge without a new announcement counts as lost.
const MAX_MISSED_PERIODS: f64 = 3.0;
/// Age of the announcement of a lost bridge at which it is deleted.
const MAX_LOST_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Time that changes are collected for.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// Maximum time that the end of a bridge waits for its announcement to be removed.
const MAX_LEAVE: Duration = Duration::from_secs(1);
/// Time for which an index answers further requests.
const MAX_INDEX_AGE: Duration = Duration::from_millis(500);
/// Maximum size of an announcement, in bytes.
const MAX_BYTES: u64 = 8 << 20;
/// Maximum size of all announcements together, in bytes.
const MAX_TOTAL_BYTES: u64 = 128 << 20;
/// Maximum number of bridges.
const MAX_BRIDGES: usize = 10_000;

/// The statements of a bridge about itself and its robots.
#[derive(Debug, Serialize, Deserialize)]
struct Announcement {
    /// The node's name with its namespace.
    bridge: String,
    /// The name of its machine.
    host: String,
    /// The address of its viewer; `None` without one that other machines can name.
    url: Option<String>,
    /// Maximum time between two announcements, in seconds.
    period: f64,
    robots: Vec<Announced>,
}

/// A robot of a bridge.
#[derive(Debug, Serialize, Deserialize)]
struct Announced {
    key: String,
    name: String,
    namespace: String,
    presence: Presence,
    state: RobotState,
    message: String,
    revision: Option<u64>,
    /// End of the last conversion, in seconds since 1970.
    time: f64,
    /// SHA-256 of its description.
    sha256: Option<String>,
    counts: Option<Counts>,
}

impl Announced {
    fn of(robot: &RobotView) -> Self {
        Self {
            key: robot.key.clone(),
            name: robot.name.clone(),
            namespace: robot.namespace.clone(),
            presence: robot.presence,
            state: robot.state,
            message: robot.message.clone(),
            revision: robot.revision,
            time: robot.time,
            sha256: robot.sha256.clone(),
            counts: robot.counts,
        }
    }
}

/// The answer of `/api/fleet`.
#[derive(Debug, Serialize)]
struct Index {
    bridges: Vec<Bridge>,
    /// Names of files that are no announcements.
    unreadable: Vec<String>,
    /// True if there are more bridges than the index may have.
    truncated: bool,
}

/// A bridge in the index.
#[derive(Debug, Serialize)]
struct Bridge {
    id: String,
    /// False if it has missed its announcements: it was killed, or lost its network.
    live: bool,
    /// Seconds since its last announcement.
    age: f64,
    #[serde(flatten)]
    announcement: Announcement,
}

/// A fleet, as one of its bridges takes part in it.
#[derive(Debug)]
pub struct Fleet {
    folder: PathBuf,
    id: String,
    bridge: String,
    host: String,
    url: Option<String>,
    period: Duration,
    /// The time of the last announcement; `None` before the first one, and after the bridge has left.
    announced: Mutex<Option<Instant>>,
    index: tokio::sync::Mutex<Option<(Instant, Bytes)>>,
}

impl Fleet {
    /// Takes part in the fleet of a folder as the bridge with this node name and output directory,
    /// which announces itself in each `period`. The folder is created by the first announcement.
    pub fn join(folder: &Path, bridge: String, output: &Path, period: Duration) -> Self {
        let host = host_name();
        // A bridge that starts again replaces its own announcement. Output directories have one node.
        let key = Key::builder("bridge")
            .and(host.as_bytes())
            .and(output.as_os_str().as_encoded_bytes());
        let hash = urdf_usd_store::hex(key.key().bytes().get(..8).unwrap_or_default());
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = host.chars().take(64).map(safe).collect();
        Self {
            folder: folder.join(BRIDGES),
            id: format!("{name}-{hash}"),
            bridge,
            host,
            url: None,
            period,
            announced: Mutex::default(),
            index: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the folder of the cache that the bridges of a fleet share.
    pub fn store(folder: &Path) -> PathBuf {
        folder.join(STORE)
    }

    /// Sets the address of the bridge's viewer.
    #[must_use]
    pub fn with_url(self, url: Option<String>) -> Self {
        Self { url, ..self }
    }

    fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.json", self.id))
    }

    fn announced(&self) -> MutexGuard<'_, Option<Instant>> {
        self.announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces the robots of a site until the future is dropped, and then removes the announcement.
    pub async fn announce(self: Arc<Self>, site: Arc<Site>) {
        let _membership = Membership::new(self.clone());
        let mut shown = site.shown();
        let mut is_failing = false;
        loop {
            shown.mark_unchanged();
            let (fleet, robots) = (self.clone(), site.robots());
            let written = tokio::task::spawn_blocking(move || fleet.write(&robots)).await;
            match written {
                Ok(Err(error)) if !is_failing => {
                    is_failing = true;
                    tracing::warn!("{}", failed(&self.file(), &error));
                }
                Ok(Ok(())) => is_failing = false,
                _ => {}
            }
            // The site outlives its server, so its channel is never closed.
            let changed = tokio::time::timeout(self.period, shown.changed()).await;
            if changed.is_ok() {
                tokio::time::sleep(DEBOUNCE.min(self.period)).await;
            }
        }
    }

    fn write(&self, robots: &[Arc<RobotView>]) -> io::Result<()> {
        let announcement = Announcement {
            bridge: self.bridge.clone(),
            host: self.host.clone(),
            url: self.url.clone(),
            period: self.period.as_secs_f64(),
            robots: robots.iter().map(|robot| Announced::of(robot)).collect(),
        };
        let text = serde_json::to_vec(&announcement)?;
        // Locked, so that nothing is written after the bridge has left.
        let mut announced = self.announced();
        if announced.is_none() {
            return Ok(());
        }
        self.replace(&text)?;
        *announced = Some(Instant::now());
        Ok(())
    }

    /// Replaces the announcement. Others may write to the folder: links and pipes that they have
    /// placed there are replaced, not followed.
    fn replace(&self, text: &[u8]) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let new = self.folder.join(format!(".{}.new", self.id));
        match fs::remove_file(&new) {
            // Left by a bridge that was killed.
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let written = File::create_new(&new)
            .and_then(|mut file| file.write_all(text))
            .and_then(|()| fs::rename(&new, self.file()));
        written.inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// Removes the announcement; later writes do nothing.
    fn leave(&self) {
        let mut announced = self.announced();
        *announced = None;
        // If that fails, the bridge counts as lost.
        let _ = fs::remove_file(self.file());
    }

    /// Returns the present time by the clock of the folder's file system, which is that of the last
    /// announcement of this bridge.
    fn now(&self) -> SystemTime {
        let announced = *self.announced();
        let written = fs::symlink_metadata(self.file()).and_then(|meta| meta.modified());
        match (announced, written) {
            (Some(announced), Ok(written)) => written + announced.elapsed(),
            _ => SystemTime::now(),
        }
    }

    /// Reads the announcements of all bridges.
    fn read(&self) -> io::Result<Index> {
        let now = self.now();
        let mut files: Vec<PathBuf> = fs::read_dir(&self.folder)?
            .flatten()
            .map(|entry| entry.path())
            // Announcements that are being written begin with a dot.
            .filter(|path| !is_hidden(path) && path.extension().is_some_and(|end| end == "json"))
            .take(MAX_BRIDGES + 1)
            .collect();
        files.sort();
        let mut index = Index {
            bridges: Vec::new(),
            unreadable: Vec::new(),
            truncated: files.len() > MAX_BRIDGES,
        };
        let mut total = 0;
        for file in files.iter().take(MAX_BRIDGES) {
            let id = file
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let (opened, meta) = match open_regular_file(file) {
                // The bridge has left meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Ok((opened, meta)) if meta.len() <= MAX_BYTES => (opened, meta),
                _ => {
                    index.unreadable.push(id);
                    continue;
                }
            };
            total += meta.len();
            if total > MAX_TOTAL_BYTES {
                index.truncated = true;
                break;
            }
            let age = meta
                .modified()
                .and_then(|written| now.duration_since(written).map_err(io::Error::other));
            let age = age.unwrap_or_default();
            match read(opened) {
                Err(_) => index.unreadable.push(id),
                // If it can't be deleted, another bridge may.
                Ok(_) if age > MAX_LOST_AGE => drop(fs::remove_file(file)),
                Ok(announcement) => index.bridges.push(Bridge {
                    id,
                    live: age.as_secs_f64() <= MAX_MISSED_PERIODS * announcement.period,
                    age: age.as_secs_f64(),
                    announcement,
                }),
            }
        }
        Ok(index)
    }
}

/// Removes the announcement of a bridge on drop.
struct Membership(Arc<Fleet>);

impl Membership {
    fn new(fleet: Arc<Fleet>) -> Self {
        *fleet.announced() = Some(Instant::now());
        Self(fleet)
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        // In a thread: on a network file system that hangs, the removal, or a write that has the
        // lock, may take forever.
        let (fleet, (left, leaving)) = (self.0.clone(), mpsc::channel::<()>());
        let started = thread::Builder::new().spawn(move || {
            fleet.leave();
            drop(left);
        });
        if started.is_ok() {
            // Its end closes the channel.
            let _ = leaving.recv_timeout(MAX_LEAVE);
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> Diagnostic {
    let message = format!("the fleet's folder cannot be written: {error}");
    Diagnostic::new(&codes::FLEET, Place::file(path), message).help(
        "set the parameter fleet.dir to a folder that this user may write to, or leave it empty",
    )
}

/// Returns the name of this machine, or of its container.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname");
    let name = name.or_else(|_| std::env::var("HOSTNAME").map_err(io::Error::other));
    name.map_or_else(|_| "localhost".to_owned(), |name| name.trim().to_owned())
}

fn is_hidden(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

fn read(file: File) -> io::Result<Announcement> {
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

/// Answers that the bridge is in no fleet.
pub(super) fn absent() -> Response {
    let text = "This bridge is in no fleet: start it with the parameter fleet.dir.\n";
    (StatusCode::NOT_FOUND, text).into_response()
}

/// Answers with the bridges and robots of the whole fleet.
pub(super) async fn index(State(app): State<Arc<App>>) -> Response {
    let Some(fleet) = app.fleet.clone() else {
        return absent();
    };
    // Held while the folder is read: other requests wait for that answer.
    let mut index = fleet.index.lock().await;
    let fresh = index
        .as_ref()
        .filter(|(read, _)| read.elapsed() < MAX_INDEX_AGE);
    let text = if let Some((_, text)) = fresh {
        text.clone()
    } else {
        let reading = fleet.clone();
        let made = app
            .blocking(move || Ok(serde_json::to_vec(&reading.read()?)?))
            .await;
        match made.unwrap_or_else(|| Err(io::Error::other("internal error"))) {
            Ok(text) => {
                let text = Bytes::from(text);
                *index = Some((Instant::now(), text.clone()));
                text
            }
            Err(error) => {
                let text = format!("The folder of the fleet cannot be read: {error}\n");
                return (StatusCode::INTERNAL_SERVER_ERROR, text).into_response();
            }
        }
    };
    let headers = [
        (header::CONTENT_TYPE, "application/json"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (headers, Body::from(text)).into_response()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn fleet(folder: &Path, output: &str) -> Arc<Fleet> {
        let period = Duration::from_secs(3600);
        Fleet::join(folder, "/bridge".to_owned(), Path::new(output), period).into()
    }

    fn seen(fleet: &Fleet) -> Vec<(String, bool)> {
        // Before the first announcement there is no folder.
        let bridges = fleet
            .read()
            .map_or_else(|_| Vec::new(), |index| index.bridges);
        let bridges = bridges.into_iter();
        bridges.map(|bridge| (bridge.id, bridge.live)).collect()
    }

    #[tokio::test]
    async fn a_bridge_is_listed_until_it_leaves_and_lost_if_it_is_silent() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (fleet(folder.path(), "/a"), fleet(folder.path(), "/b"));
        assert_ne!(own.id, other.id);
        let site = Arc::new(Site::default());
        let announcing = tokio::spawn(own.clone().announce(site.clone()));
        let leaving = tokio::spawn(other.clone().announce(site));
        let until = async |expected: &[(&Fleet, bool)]| {
            let mut expected: Vec<(String, bool)> = expected
                .iter()
                .map(|(fleet, live)| (fleet.id.clone(), *live))
                .collect();
            expected.sort();
            let waited = tokio::time::timeout(Duration::from_secs(20), async {
                while seen(&own) != expected {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            });
            waited.await.unwrap_or_else(|_| panic!("{:?}", seen(&own)));
        };
        until(&[(&own, true), (&other, true)]).await;
        // Killed: its last announcement ages.
        let silent = File::options().write(true).open(other.file()).unwrap();
        silent
            .set_modified(SystemTime::now() - Duration::from_secs(4 * 3600))
            .unwrap();
        until(&[(&own, true), (&other, false)]).await;
        silent
            .set_modified(SystemTime::now() - 2 * MAX_LOST_AGE)
            .unwrap();
        until(&[(&own, true)]).await;
        assert!(!other.file().exists(), "forgotten");
        other.write(&[]).unwrap();
        until(&[(&own, true), (&other, true)]).await;
        leaving.abort();
        until(&[(&own, true)]).await;
        // A write that was under way when the bridge left adds nothing.
        other.write(&[]).unwrap();
        assert_eq!(seen(&own), [(own.id.clone(), true)]);
        announcing.abort();
    }

    #[test]
    fn files_that_are_no_announcements_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (fleet(folder.path(), "/a"), fleet(folder.path(), "/b"));
        let _memberships = [own.clone(), other.clone()].map(Membership::new);
        own.write(&[]).unwrap();
        other.write(&[]).unwrap();
        let bridges = folder.path().join(BRIDGES);
        fs::write(bridges.join("cut.json"), "{\"bridge\": \"/b\"").unwrap();
        fs::write(bridges.join(".new.json"), "{").unwrap();
        fs::write(bridges.join("notes.txt"), "").unwrap();
        let large = vec![b' '; usize::try_from(MAX_BYTES).unwrap() + 1];
        fs::write(bridges.join("large.json"), large).unwrap();
        // Sparse, and the first by name.
        let huge = File::create(bridges.join("!huge.json")).unwrap();
        huge.set_len(1 << 40).unwrap();
        // Opening a pipe without a writer blocks.
        let mut make_pipe = Command::new("mkfifo");
        let made = make_pipe.arg(bridges.join("pipe.json")).status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink(other.file(), bridges.join("link.json")).unwrap();
        let index = own.read().unwrap();
        assert_eq!(
            index.unreadable,
            ["!huge", "cut", "large", "link", "pipe"],
            "{index:?}"
        );
        let mut expected = [own.id.as_str(), other.id.as_str()];
        expected.sort_unstable();
        let ids: Vec<&str> = index.bridges.iter().map(|bridge| &*bridge.id).collect();
        assert!(ids == expected && !index.truncated, "{index:?}");
    }

    #[test]
    fn links_that_others_have_placed_are_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let own = fleet(folder.path(), "/a");
        let _membership = Membership::new(own.clone());
        own.write(&[]).unwrap();
        let target = folder.path().join("profile");
        fs::write(&target, "precious").unwrap();
        for name in [format!("{}.json", own.id), format!(".{}.new", own.id)] {
            let link = own.folder.join(name);
            let _ = fs::remove_file(&link);
            std::os::unix::fs::symlink(&target, &link).unwrap();
            own.write(&[]).unwrap();
            assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
            assert_eq!(seen(&own), [(own.id.clone(), true)]);
        }
        let files = fs::read_dir(&own.folder).unwrap();
        assert_eq!(files.count(), 1, "temporary files");
    }

    #[test]
    fn a_write_that_hangs_does_not_delay_the_end_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let own = fleet(folder.path(), "/a");
        let membership = Membership::new(own.clone());
        let writing = own.announced();
        let begin = Instant::now();
        drop(membership);
        assert!(begin.elapsed() < 10 * MAX_LEAVE);
        drop(writing);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named_and_tried_again() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let own = fleet(&file, "/a");
        let _membership = Membership::new(own.clone());
        let refused = failed(&own.file(), &own.write(&[]).unwrap_err());
        let place = refused.place.file.unwrap();
        assert!(place.starts_with(&file) && refused.help.contains("fleet.dir"));
        fs::remove_file(&file).unwrap();
        own.write(&[]).unwrap();
        assert_eq!(seen(&own), [(own.id.clone(), true)]);
    }
}
