//! `/api/poses/KEY`: the named poses of an asset. `GET` lists them, `POST` stores one, `DELETE`
//! takes one away. Whoever stores or deletes some, here, by a service or on the command line, the
//! event `poses` tells: the layer of poses is watched.
//!
//! Only pages of this server, and programs that are no browser, may change anything; what is
//! changed is the asset's layer of poses.

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

use super::host::is_own_origin;
use super::{App, RobotView, Site};
use crate::watch::{Event, Watch};
use urdf_usd_isaac::poses::stored::{self as poses, PoseView, Refused};

/// What is to be stored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Store {
    name: String,
    group: Option<String>,
    /// Radians or metres by the joint's name.
    joints: BTreeMap<String, f64>,
}

/// What is to be deleted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    name: String,
    group: Option<String>,
}

/// What `GET` answers.
#[derive(Serialize)]
struct Listed {
    poses: Vec<PoseView>,
    /// Why nothing can be stored, in a sentence; `null` if it can.
    locked: Option<String>,
}

/// An answer that is not what was asked for: the sentence to show, and the field that it is about.
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
        // A layer that can't be read is what there is to say: it would not be written over either.
        Ok(entry) => match blocking(&app, move || poses::list(&entry)).await? {
            Ok(poses) => (poses, locked(&app)),
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
    } = json_of(&headers, &body)?;
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
    let Delete { name, group } = json_of(&headers, &body)?;
    let deleted = blocking(&app, move || poses::delete(&entry, &name, group.as_deref())).await?;
    let name =
        deleted.map_err(|message| Refusal(StatusCode::UNPROCESSABLE_ENTITY, None, message))?;
    Ok(Json(json!({ "name": name })).into_response())
}

/// Tells of poses that were stored or deleted on disk, until the future is dropped. Of a robot that
/// is shown newly it is told, too: its poses may have changed before they were watched.
pub(super) async fn follow(site: &Site) {
    let (sender, mut events) = unbounded_channel();
    let watch = match Watch::start(sender) {
        Ok(watch) => watch,
        Err(error) => {
            return tracing::warn!(
                "stored poses are shown after a reload only: no thread for watching files: {error}"
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
                        site.tell("poses", &json!({ "robot": name, "key": key }));
                    }
                }
                Some(Event::Trouble(diagnostic)) => tracing::warn!("{diagnostic}"),
                None => return,
            },
        }
    }
}

/// The files that poses are stored in, each with the key and the name of its robot.
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
    let none = || {
        Refusal(
            StatusCode::NOT_FOUND,
            None,
            "There is no such robot here.".to_owned(),
        )
    };
    app.site.robot(key).ok_or_else(none)
}

/// The entry layer of a robot's asset; why there is none, in a sentence.
fn entry(robot: &RobotView) -> Result<PathBuf, String> {
    robot.entry().ok_or_else(|| {
        "Poses are kept in an OpenUSD asset, and here is none: convert the robot with the formats usd and glb, and view its folder."
            .to_owned()
    })
}

/// Why poses can't be stored through this server.
fn locked(app: &App) -> Option<String> {
    let why = "This server can be reached from other machines, so poses can only be looked at. The parameter http.allow_writing of \
               the node, or --allow-writing of urdf_usd view, lets everybody store them.";
    (!app.lets_write).then(|| why.to_owned())
}

/// The entry layer of the robot whose poses are to be changed, if they may be.
fn writable(app: &App, key: &str, headers: &HeaderMap) -> Result<PathBuf, Refusal> {
    // Browsers say where a request comes from in both; older ones in the first alone.
    let same = |site: &header::HeaderValue| site == "same-origin" || site == "none";
    if !is_own_origin(headers) || !headers.get("sec-fetch-site").is_none_or(same) {
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

/// What the body says. A page from elsewhere can send any other type without asking.
fn json_of<T: for<'de> Deserialize<'de>>(headers: &HeaderMap, body: &[u8]) -> Result<T, Refusal> {
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
        let why = "The body has to be JSON: content-type: application/json.";
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
            format!("The body is not what is wanted: {error}."),
        )
    })
}

/// On a thread that may wait for files.
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
