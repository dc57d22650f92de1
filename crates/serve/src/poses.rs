//! `/api/poses/KEY`: the named poses of an asset. `GET` lists them, `POST` stores one, `DELETE`
//! deletes one.
//!
//! Only pages of this server and programs other than browsers may change poses; only the asset's
//! layer of poses is written. That layer is watched, so an event `poses` follows every change,
//! whether made here, by a service or on the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc::unbounded_channel;

use super::host::is_own_page;
use super::{App, RobotView, Site};
use crate::watch::{Event, Watch};
use urdf_usd_isaac::poses::stored::{self as poses, Listing, PoseView, Refused};

/// Body of a request to store a pose.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Store {
    name: String,
    group: Option<String>,
    /// Position by joint name, in rad or m.
    joints: BTreeMap<String, f64>,
}

/// Body of a request to delete a pose.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    name: String,
    group: Option<String>,
}

/// Response to `GET`.
#[derive(Serialize)]
struct Listed {
    poses: Vec<PoseView>,
    /// Why poses can't be stored, as a sentence; `null` if they can.
    locked: Option<String>,
}

/// An error response: a sentence to show, and the field of the request that is wrong.
pub(super) struct Refusal(StatusCode, Option<&'static str>, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(status, field, message) = self;
        (
            status,
            [(header::CACHE_CONTROL, "no-store")],
            Json(json!({ "message": message, "field": field })),
        )
            .into_response()
    }
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
) -> Result<Response, Refusal> {
    let robot = robot(&app, &key)?;
    let (poses, locked) = match entry(&robot) {
        // Show why a layer can't be read; it would not be overwritten either.
        Ok(entry) => match blocking(&app, move || Listing::read(&entry)).await? {
            Ok(listing) => (listing.poses, locked(&app)),
            Err(why) => (Vec::new(), Some(why)),
        },
        Err(why) => (Vec::new(), Some(why)),
    };
    Ok((
        [(header::CACHE_CONTROL, "no-store")],
        Json(Listed { poses, locked }),
    )
        .into_response())
}

pub(super) async fn store(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let entry = writable(&app, &key, &headers)?;
    let Store {
        name,
        group,
        joints,
    } = parse_json(&headers, &body)?;
    let stored = blocking(&app, move || {
        poses::store(&entry, &name, group.as_deref(), |poses| {
            let at = |(joint, at): (&String, &f64)| {
                Ok((
                    poses.joint(joint).map_err(|error| error.to_string())?,
                    vec![*at],
                ))
            };
            joints.iter().map(at).collect()
        })
    })
    .await?;
    let (pose, _) = stored.map_err(|refused| match refused {
        Refused::Name(message) => Refusal(StatusCode::UNPROCESSABLE_ENTITY, Some("name"), message),
        Refused::Other(message) => Refusal(StatusCode::UNPROCESSABLE_ENTITY, None, message),
    })?;
    Ok(Json(pose).into_response())
}

pub(super) async fn delete(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refusal> {
    let entry = writable(&app, &key, &headers)?;
    let Delete { name, group } = parse_json(&headers, &body)?;
    let deleted = blocking(&app, move || poses::delete(&entry, &name, group.as_deref())).await?;
    let name =
        deleted.map_err(|message| Refusal(StatusCode::UNPROCESSABLE_ENTITY, None, message))?;
    Ok(Json(json!({ "name": name })).into_response())
}

/// Sends an event for each robot whose poses changed on disk, until the future is dropped. A new
/// robot gets one too: its poses may have changed before the watch started.
pub(super) async fn follow(site: &Site) {
    let (sender, mut events) = unbounded_channel();
    let watch = match Watch::start(sender) {
        Ok(watch) => watch,
        Err(error) => {
            return tracing::warn!(
                "cannot start the thread that watches files, so changed poses appear only after a reload: {error}"
            );
        }
    };
    let mut shown = site.shown();
    let mut watched = BTreeMap::new();
    loop {
        let files = pose_files(site);
        if files != watched {
            watch.set(files.keys().cloned().collect());
            watched = files;
        }
        tokio::select! {
            _ = shown.changed() => {}
            event = events.recv() => match event {
                Some(Event::Changed(paths)) => {
                    let robots: BTreeSet<_> = paths.iter().filter_map(|path| watched.get(path)).collect();
                    for (key, name) in robots {
                        site.publish("poses", &json!({ "robot": name, "key": key }));
                    }
                }
                Some(Event::Failed(diagnostic)) => tracing::warn!("{diagnostic}"),
                None => return,
            },
        }
    }
}

/// Returns the files that hold poses, with the key and name of their robot.
fn pose_files(site: &Site) -> BTreeMap<PathBuf, (String, String)> {
    let mut files = BTreeMap::new();
    for robot in site.robots() {
        let Some(entry) = entry(&robot)
            .ok()
            .and_then(|entry| std::path::absolute(entry).ok())
        else {
            continue;
        };
        files.extend(
            poses::files(&entry).map(|file| (file, (robot.key.clone(), robot.name.clone()))),
        );
    }
    files
}

fn robot(app: &App, key: &str) -> Result<Arc<RobotView>, Refusal> {
    let none = || Refusal(StatusCode::NOT_FOUND, None, "No such robot.".to_owned());
    app.site.robot(key).ok_or_else(none)
}

/// Returns the entry layer of a robot's asset, or a sentence on why there is none.
fn entry(robot: &RobotView) -> Result<PathBuf, String> {
    robot.entry().ok_or_else(|| {
        "Poses are stored in an OpenUSD asset, and this robot has none: convert it to the formats usd and glb, and view the resulting folder."
            .to_owned()
    })
}

/// Returns why poses can't be changed through this server, if so.
fn locked(app: &App) -> Option<String> {
    let why = "This server can be reached from other machines, so poses are read-only. To allow changes, set the parameter http.allow_writing of \
               the node, or pass --allow-writing to urdf_usd view.";
    (!app.allows_writing).then(|| why.to_owned())
}

/// Returns the entry layer of the robot whose poses are to be changed, if that is allowed.
fn writable(app: &App, key: &str, headers: &HeaderMap) -> Result<PathBuf, Refusal> {
    if !is_own_page(headers) {
        return Err(Refusal(
            StatusCode::FORBIDDEN,
            None,
            "Only pages of this server may change poses.".to_owned(),
        ));
    }
    if let Some(why) = locked(app) {
        return Err(Refusal(StatusCode::FORBIDDEN, None, why));
    }
    let robot = robot(app, key)?;
    entry(&robot).map_err(|why| Refusal(StatusCode::CONFLICT, None, why))
}

/// Parses a JSON body. The media type is required, since pages from elsewhere can't send it without
/// a CORS preflight.
fn parse_json<T: for<'de> Deserialize<'de>>(
    headers: &HeaderMap,
    body: &[u8],
) -> Result<T, Refusal> {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    if !media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .eq_ignore_ascii_case("application/json")
    {
        let why = "The body must be JSON with content-type: application/json.";
        return Err(Refusal(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            None,
            why.to_owned(),
        ));
    }
    serde_json::from_slice(body).map_err(|error| {
        Refusal(
            StatusCode::BAD_REQUEST,
            None,
            format!("The body is invalid: {error}."),
        )
    })
}

/// Runs work on a thread that may block on files.
async fn blocking<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let failed = || {
        Refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            None,
            "Reading the poses failed.".to_owned(),
        )
    };
    app.blocking(work).await.ok_or_else(failed)
}
