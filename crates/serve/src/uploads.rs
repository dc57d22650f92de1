//! `/api/uploads`: robots dropped on the page, converted here and shown beside the others.
//!
//! `GET` returns whether robots can be sent. `POST` takes the files of one robot as
//! `multipart/form-data`, with their paths as file names, and responds once the robot is converted
//! and shown. Only pages of this server and programs other than browsers may send robots, and only
//! to a server whose clients may write.
//!
//! Everything lies in one temporary folder. This module does not know how robots are converted, nor
//! what else is shown.

use std::collections::{BTreeSet, VecDeque};
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use axum::Json;
use axum::extract::multipart::{Multipart, MultipartError};
use axum::extract::{FromRequest, RawQuery, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::host::is_own_page;
use super::site::{redact, redact_finding, seconds};
use super::variants::CancelOnDrop;
use super::{App, Presence, RobotState, RobotView, Site, is_servable};
use urdf_usd_convert::{
    self as convert, Context, Failure, Job, Options, Report, Source, robots_in,
};
use urdf_usd_diagnostic as diagnostic;
use urdf_usd_resolve::{self as resolve, Opened, package_of};
use urdf_usd_urdf::xacro;
use urdf_usd_worker::{Limits, Workers};

/// Path of the requests.
pub(super) const PATH: &str = "/api/uploads";
/// Time limit for receiving a robot.
const PATIENCE: Duration = Duration::from_secs(600);
/// First segment of the keys of these robots. No robot of a node has it: ROS names contain no hyphens.
const KEY: &str = "dropped-files";
/// Name of the temporary folder in messages.
const FOLDER: &str = "dropped";
/// Maximum number of files of a robot; the page has the same limit.
const MAX_FILES: usize = 5000;
/// Maximum size of a robot's files together, in bytes; the page has the same limit.
const MAX_BYTES: u64 = 1 << 30;
/// Maximum length of a file's path, in bytes.
const MAX_PATH: usize = 1024;
/// Maximum number of folders in a file's path, which bounds the folders that are created.
const MAX_DEPTH: usize = 32;
/// Maximum number of robots that are kept; a new one replaces the oldest.
const MAX_ROBOTS: usize = 8;

/// Converts dropped robots, and keeps their assets until it is dropped.
#[derive(Debug)]
pub(super) struct Uploads {
    workers: Arc<Workers>,
    /// As the node's: all files, with tiers, colliders and the layer of named poses.
    options: Options,
    /// Robots are received and converted one at a time, which bounds what is on disk.
    turn: Arc<Semaphore>,
    kept: Mutex<Kept>,
}

/// The assets on disk.
#[derive(Debug, Default)]
struct Kept {
    /// The folder of all, once there is one.
    folder: Option<TempDir>,
    /// Number of robots received so far, which names their folders.
    count: u64,
    /// Keys of the shown robots with their folders, the oldest first.
    robots: VecDeque<(String, PathBuf)>,
}

/// An error response: a sentence to show, and the files to choose from.
pub(super) struct Refusal(StatusCode, String, Vec<String>);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(status, message, files) = self;
        let body = Json(json!({ "message": message, "files": files }));
        // The rest of the body may not have been read, so no request can follow.
        let headers = [
            (header::CACHE_CONTROL, "no-store"),
            (header::CONNECTION, "close"),
        ];
        (status, headers, body).into_response()
    }
}

fn refuse(status: StatusCode, message: impl Into<String>) -> Refusal {
    Refusal(status, message.into(), Vec::new())
}

impl Uploads {
    /// Creates the state for conversions in `workers`.
    pub(super) fn new(workers: Arc<Workers>, resolve: resolve::Options, limits: Limits) -> Self {
        Self {
            workers,
            options: Options {
                resolve,
                time_limit: limits.time,
                memory_limit: limits.memory,
                ..Options::default()
            },
            turn: Arc::new(Semaphore::new(1)),
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Creates a folder for the next robot.
    fn folder(&self) -> std::io::Result<PathBuf> {
        let mut kept = self.kept();
        let root = match kept.folder.take() {
            Some(root) => root,
            None => tempfile::Builder::new().prefix("urdf_usd-").tempdir()?,
        };
        // Findings are compared with the real path.
        let root = kept.folder.insert(root).path().canonicalize()?;
        kept.count += 1;
        let folder = root.join(kept.count.to_string());
        fs::create_dir(&folder)?;
        Ok(folder)
    }

    /// Shows a robot in place of one with the same key, or of the oldest if there are too many.
    fn show(&self, site: &Site, robot: RobotView, folder: PathBuf) {
        let key = robot.key.clone();
        let event = json!({ "robot": robot.name, "key": key, "revision": robot.revision });
        site.show(robot, Vec::new());
        site.publish("revision", &event);
        let mut kept = self.kept();
        let mut old: Vec<_> = kept
            .robots
            .iter()
            .filter(|(known, _)| *known == key)
            .cloned()
            .collect();
        kept.robots.retain(|(known, _)| *known != key);
        kept.robots.push_back((key.clone(), folder));
        while kept.robots.len() > MAX_ROBOTS {
            old.extend(kept.robots.pop_front());
        }
        drop(kept);
        for (hidden, folder) in old {
            if hidden != key {
                site.hide(&hidden);
                site.publish("revision", &json!({ "key": hidden }));
            }
            // A leftover is deleted with the temporary folder.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Responds whether robots can be sent.
pub(super) async fn state(State(app): State<Arc<App>>) -> Response {
    match &app.uploads {
        Some(_) => (
            [(header::CACHE_CONTROL, "no-store")],
            Json(json!({ "locked": locked(&app) })),
        )
            .into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Returns why robots can't be sent to this server, if so.
fn locked(app: &App) -> Option<&'static str> {
    (!app.allows_writing).then_some(
        "This server can be reached from other machines, so it converts no dropped robots. To allow it, set the parameter http.allow_writing \
         of the node, or pass --allow-writing to urdf_usd view.",
    )
}

/// Receives, converts and shows a robot.
pub(super) async fn receive(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let Some(uploads) = &app.uploads else {
        return Err(refuse(
            StatusCode::NOT_FOUND,
            "This server converts no robots.",
        ));
    };
    if !is_own_page(&headers) {
        return Err(refuse(
            StatusCode::FORBIDDEN,
            "Only pages of this server may send robots.",
        ));
    }
    if let Some(why) = locked(&app) {
        return Err(refuse(StatusCode::FORBIDDEN, why));
    }
    let chosen = chosen(query.as_deref().unwrap_or_default())?;
    let parts = Multipart::from_request(request, &()).await;
    let parts = parts.map_err(|error| refuse(error.status(), error.body_text()))?;
    let ending = |_| {
        refuse(
            StatusCode::SERVICE_UNAVAILABLE,
            "The server is shutting down.",
        )
    };
    let turn = uploads.turn.clone().acquire_owned().await.map_err(ending)?;
    let folder = uploads.folder().map_err(|error| disk(&error))?;
    // Deletes the folder if the client leaves or anything fails.
    let guard = Guard(Some(folder.clone()));
    let stored = timeout(PATIENCE, store(parts, &folder.join(FOLDER))).await;
    let late = |_| {
        refuse(
            StatusCode::REQUEST_TIMEOUT,
            "The files did not arrive in time.",
        )
    };
    let files = stored.map_err(late)??;
    let wanted = CancelOnDrop::default();
    let cancelled = wanted.0.clone();
    let working = app.clone();
    let work = move || {
        let _turn = turn;
        make(
            &working,
            &guard.keep(),
            &files,
            chosen.as_deref(),
            cancelled,
        )
    };
    let defect = || refuse(StatusCode::INTERNAL_SERVER_ERROR, "The conversion failed.");
    app.blocking(work).await.ok_or_else(defect)?
}

/// Returns the file to convert, if the query names one: `file=PATH`.
fn chosen(query: &str) -> Result<Option<String>, Refusal> {
    if query.is_empty() {
        return Ok(None);
    }
    let file = query
        .strip_prefix("file=")
        .filter(|file| !file.contains('&'));
    let path = file.and_then(|file| percent_decode_str(file).decode_utf8().ok());
    let unknown = || refuse(StatusCode::BAD_REQUEST, "The query is not file=PATH.");
    path.map(|path| Some(path.into_owned())).ok_or_else(unknown)
}

/// A folder that is deleted on drop.
struct Guard(Option<PathBuf>);

impl Guard {
    fn keep(mut self) -> PathBuf {
        self.0.take().unwrap_or_default()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

fn disk(error: &std::io::Error) -> Refusal {
    refuse(
        StatusCode::INSUFFICIENT_STORAGE,
        format!("The server cannot store the files: {error}."),
    )
}

/// Stores the files of a request below `folder`, and returns their paths in it.
async fn store(mut parts: Multipart, folder: &Path) -> Result<BTreeSet<String>, Refusal> {
    let broken = |error: MultipartError| refuse(error.status(), error.body_text());
    let too_large = || {
        let limit = format!(
            "a robot may have {MAX_FILES} files and {} GiB",
            MAX_BYTES >> 30
        );
        refuse(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("These are too many files or bytes: {limit}."),
        )
    };
    let (mut files, mut bytes) = (BTreeSet::new(), 0);
    while let Some(mut part) = parts.next_field().await.map_err(broken)? {
        let path = part.file_name().unwrap_or_default().to_owned();
        let is_short = path.len() <= MAX_PATH && path.split('/').count() <= MAX_DEPTH;
        if !is_short || !path.split('/').all(is_servable) {
            let message = format!(
                "{path:?} is no path of a file: it must be relative, without hidden folders, and at most {MAX_DEPTH} folders deep."
            );
            return Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, message));
        }
        if files.len() == MAX_FILES {
            return Err(too_large());
        }
        let file = folder.join(&path);
        let parent = file.parent().unwrap_or(folder);
        tokio::fs::create_dir_all(parent)
            .await
            .map_err(|error| disk(&error))?;
        let created = tokio::fs::File::create_new(&file).await;
        let mut file = created.map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => refuse(
                StatusCode::UNPROCESSABLE_ENTITY,
                format!("There are two files {path:?}."),
            ),
            _ => disk(&error),
        })?;
        files.insert(path);
        while let Some(chunk) = part.chunk().await.map_err(broken)? {
            bytes += chunk.len() as u64;
            if bytes > MAX_BYTES {
                return Err(too_large());
            }
            file.write_all(&chunk).await.map_err(|error| disk(&error))?;
        }
        // A `File` of tokio writes in the background until it is flushed.
        file.flush().await.map_err(|error| disk(&error))?;
    }
    Ok(files)
}

/// Converts the robot among `files` in `folder`, and shows it or why it can't be converted.
fn make(
    app: &App,
    folder: &Path,
    files: &BTreeSet<String>,
    chosen: Option<&str>,
    cancelled: Arc<AtomicBool>,
) -> Result<Json<Value>, Refusal> {
    let guard = Guard(Some(folder.to_owned()));
    let Some(uploads) = &app.uploads else {
        return Err(refuse(
            StatusCode::NOT_FOUND,
            "This server converts no robots.",
        ));
    };
    let dropped = folder.join(FOLDER);
    let file = robot_among(&dropped, files, chosen)?;
    if xacro::is_xacro(&file) && !app.expands_xacro {
        return Err(refuse(
            StatusCode::FORBIDDEN,
            "xacro evaluates expressions, so a server that other machines can reach does not expand it: drop the expanded URDF.",
        ));
    }
    let mut options = uploads.options.clone();
    options
        .resolve
        .package_paths
        .splice(0..0, package_paths(&dropped, files));
    options
        .resolve
        .packages
        .extend(assumed_packages(&file, &dropped, files));
    let job = Job {
        options,
        ..Job::new(Source::File(file.clone()), folder.join("asset"))
    };
    let context = Context {
        cancelled: cancelled.clone(),
        ..Context::default()
    };
    let made = uploads.workers.convert(&job, &context);
    if cancelled.load(Ordering::Relaxed) {
        return Err(refuse(
            StatusCode::REQUEST_TIMEOUT,
            "The conversion was cancelled.",
        ));
    }
    let view = view(app, &file, &dropped, made);
    // Everything that the asset needs is in it.
    let _ = fs::remove_dir_all(&dropped);
    let response = json!({ "key": view.key, "name": view.name, "state": view.state });
    if view.is_outdated {
        // The earlier asset and its folder stay.
        let event = json!({ "robot": view.name, "key": view.key, "revision": view.revision });
        app.site.show(view, Vec::new());
        app.site.publish("diagnostics", &event);
    } else {
        uploads.show(&app.site, view, guard.keep());
    }
    Ok(Json(response))
}

/// Returns the view of the outcome of a conversion.
fn view(app: &App, file: &Path, dropped: &Path, made: Result<Report, Failure>) -> RobotView {
    let redacted = |findings: &[_]| -> Vec<_> {
        findings
            .iter()
            .map(|finding| redact_finding(dropped, FOLDER, finding))
            .collect()
    };
    match made {
        Ok(mut report) => {
            report.diagnostics = redacted(&report.diagnostics);
            let key = format!("{KEY}/{}", convert::file_name(&report.robot));
            let before = app.site.robot(&key).and_then(|before| before.revision);
            let message = match diagnostic::status(&report.diagnostics) {
                found if found.is_empty() => {
                    "dropped on the page, kept until the server ends".to_owned()
                }
                found => found,
            };
            report.revision = before.unwrap_or(0) + 1;
            RobotView::of_report(report, &key, message)
        }
        Err(failure) => {
            let findings = redacted(&failure.diagnostics);
            let name = file.file_stem().unwrap_or_default().to_string_lossy();
            let name = name.strip_suffix(".urdf").unwrap_or(&name).to_owned();
            let key = format!("{KEY}/{}", convert::file_name(&name));
            let message = redact(dropped, FOLDER, &diagnostic::status(&findings));
            let before = app.site.robot(&key);
            if let Some(before) = before.filter(|before| before.revision.is_some()) {
                return before.outdated(message, &findings);
            }
            RobotView {
                key,
                name,
                namespace: "/".to_owned(),
                presence: Presence::Live,
                state: RobotState::Error,
                message,
                is_outdated: false,
                sha256: None,
                revision: None,
                time: seconds(SystemTime::now()),
                directory: None,
                files: Vec::new(),
                counts: None,
                diagnostics: findings,
                frames: None,
                only_listed: false,
            }
        }
    }
}

/// Returns the file to convert: the chosen one, or the only robot.
fn robot_among(
    dropped: &Path,
    files: &BTreeSet<String>,
    chosen: Option<&str>,
) -> Result<PathBuf, Refusal> {
    if let Some(chosen) = chosen {
        if !files.contains(chosen) {
            let message = format!("There is no file {chosen:?} among these.");
            return Err(refuse(StatusCode::UNPROCESSABLE_ENTITY, message));
        }
        return Ok(dropped.join(chosen));
    }
    let robots = robots_in(dropped);
    let short = |file: &PathBuf| {
        let below = file.strip_prefix(dropped).unwrap_or(file);
        below.to_string_lossy().into_owned()
    };
    match &robots[..] {
        [only] => Ok(only.clone()),
        [] => Err(refuse(
            StatusCode::UNPROCESSABLE_ENTITY,
            "There is no robot among these files: drop a URDF, a xacro, an OpenUSD or a glTF file, or a folder with one.",
        )),
        several => Err(Refusal(
            StatusCode::CONFLICT,
            format!("These are {} robots: choose one.", several.len()),
            several.iter().map(short).collect(),
        )),
    }
}

/// Returns the folders whose subfolders may be packages: that of all files, and those of packages,
/// whose names may differ from those of their folders.
fn package_paths(dropped: &Path, files: &BTreeSet<String>) -> Vec<PathBuf> {
    let packages = files
        .iter()
        .filter_map(|file| file.strip_suffix("package.xml"));
    let packages = packages.filter(|folder| folder.is_empty() || folder.ends_with('/'));
    std::iter::once(dropped.to_owned())
        .chain(packages.map(|folder| dropped.join(folder)))
        .collect()
}

/// Returns the folders of packages that `file` refers to and that were dropped without their own
/// folder or `package.xml`: those below which a referenced file exists.
fn assumed_packages(
    file: &Path,
    dropped: &Path,
    files: &BTreeSet<String>,
) -> Vec<(String, PathBuf)> {
    let mut text = Vec::new();
    let read = Opened::at(file).and_then(|opened| {
        let most = urdf_usd_urdf::MAX_TEXT_BYTES as u64;
        opened.file.take(most).read_to_end(&mut text)
    });
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&text);
    let is_known = |name: &str| {
        let manifests = files.iter().filter(|file| file.ends_with("package.xml"));
        let mut packages = manifests.filter_map(|file| package_of(dropped.join(file).parent()?));
        dropped.join(name).is_dir() || packages.any(|package| package.name == name)
    };
    let mut assumed: Vec<(String, PathBuf)> = Vec::new();
    for reference in text.split("package://").skip(1) {
        let reference = reference.split(['"', '\'', '<']).next().unwrap_or_default();
        let Some((name, path)) = reference.split_once('/') else {
            continue;
        };
        if path.is_empty() || assumed.iter().any(|(known, _)| known == name) {
            continue;
        }
        // The dropped folder, or that of the description.
        let folder = files.iter().find_map(|file| {
            let folder = file.strip_suffix(path)?;
            (folder.is_empty() || folder.ends_with('/')).then(|| dropped.join(folder))
        });
        if let Some(folder) = folder.filter(|_| !is_known(name)) {
            assumed.push((name.to_owned(), folder));
        }
    }
    assumed
}
