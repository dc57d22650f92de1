//! `/api/variants/KEY`: the mesh variant sets of an asset. `/variants/KEY?SET=NAME`: the GLB with
//! these variants, or with the coarsest and compressed (`detail=coarsest`), rendered on demand and
//! cached.
//!
//! One GLB is rendered at a time, on a thread that may block. If the client leaves, rendering is
//! cancelled.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, RawQuery, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use serde_json::json;

use super::selection::Selection;
use super::site::RobotView;
use super::viewer::accepts_gzip;
use super::{App, media, tagged};
use crate::variant_cache::{Drawing, VariantGlb};
use urdf_usd_convert::FileInfo;
use urdf_usd_usd_read::{TierSet, VariantChoice};

/// The query for the preview: the coarsest variant of each set, compressed.
const PREVIEW: &str = "detail=coarsest";
/// Minimum size, in bytes, of a GLB whose preview is rendered before it is asked for: it takes a
/// second over 32 Mbit/s.
const MIN_PREVIEW_BYTES: u64 = 4 << 20;

/// An error response with a sentence to show.
pub(super) struct Refusal(StatusCode, String);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Self(status, message) = self;
        (
            status,
            [(header::CACHE_CONTROL, "no-store")],
            Json(json!({ "message": message })),
        )
            .into_response()
    }
}

pub(super) async fn list(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
) -> Result<Response, Refusal> {
    let sets = match entry(&app, &key)? {
        Some(entry) => offered(&app, entry).await?,
        None => Vec::new(),
    };
    Ok((
        [(header::CACHE_CONTROL, "no-store")],
        Json(json!({ "sets": sets })),
    )
        .into_response())
}

pub(super) async fn render(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    RawQuery(query): RawQuery,
    method: Method,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let Some(entry) = entry(&app, &key)? else {
        let message = "This robot has no OpenUSD layers and therefore no variants: convert it to the formats usd and glb.";
        return Err(Refusal(StatusCode::NOT_FOUND, message.to_owned()));
    };
    let drawing = parse(
        &query.unwrap_or_default(),
        &offered(&app, entry.clone()).await?,
    )?;
    let (variant_cache, known) = (app.variant_cache.clone(), (entry.clone(), drawing.clone()));
    let is_compact = drawing.is_compact;
    // A cached GLB waits for no turn.
    let glb = match blocking(&app, move || variant_cache.known(&known.0, &known.1)).await? {
        Some(glb) => glb,
        None => render_in_turn(&app, entry, drawing).await?,
    };
    let tag = HeaderValue::from_str(&format!("\"{}\"", glb.sha256));
    let tag = tag.map_err(|_| {
        Refusal(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The GLB has no hash.".to_owned(),
        )
    })?;
    let zipped = glb.gzip.filter(|_| accepts_gzip(&headers));
    let is_zipped = zipped.is_some();
    let content = zipped.unwrap_or(glb.bytes);
    let (mut response, tag) =
        match Selection::from_headers(&method, &headers, &tag, content.len() as u64) {
            Selection::NotModified(known) => (
                (StatusCode::NOT_MODIFIED, Body::empty()).into_response(),
                known,
            ),
            // Always send the whole GLB, as RFC 9110 §14.2 allows.
            Selection::Whole | Selection::Part(_) | Selection::Unsatisfiable => {
                (content.into_response(), tag)
            }
        };
    tagged(&mut response, media::type_of("glb.glb"), tag);
    let fields = response.headers_mut();
    if is_compact {
        // Also of 304 (RFC 9110 §15.4.5).
        fields.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    }
    if is_zipped {
        fields.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

async fn render_in_turn(
    app: &App,
    entry: PathBuf,
    drawing: Drawing,
) -> Result<VariantGlb, Refusal> {
    let failed = |_| {
        Refusal(
            StatusCode::SERVICE_UNAVAILABLE,
            "The server is shutting down.".to_owned(),
        )
    };
    let turn = app.turn.clone().acquire_owned().await.map_err(failed)?;
    // `wanted` is dropped with this future, which ends when the client leaves.
    let (variant_cache, wanted) = (app.variant_cache.clone(), CancelOnDrop::default());
    let cancelled = wanted.0.clone();
    // The work holds the permit until it has ended, even if the client leaves.
    blocking(app, move || {
        let _turn = turn;
        variant_cache.render(&entry, &drawing, &cancelled)
    })
    .await
}

/// Renders the preview that a viewer over a slow link asks for first, while it still loads its
/// script. Does nothing while another GLB is rendered, so that no request waits behind it.
pub(super) async fn prepare_preview(app: Arc<App>) {
    let Some(entry) = first_drawn(&app.site.robots()).and_then(RobotView::entry) else {
        return;
    };
    let Ok(turn) = app.turn.clone().try_acquire_owned() else {
        return;
    };
    let variant_cache = app.variant_cache.clone();
    let prepare = move || {
        let _turn = turn;
        variant_cache.prepare_preview(&entry);
    };
    let _ = app.blocking(prepare).await;
}

/// Returns the robot that the viewer starts with, if its GLB is large: the first with a file to draw
/// (`drawable` of the viewer).
fn first_drawn(robots: &[Arc<RobotView>]) -> Option<&RobotView> {
    let drawn = |robot: &RobotView| -> Option<u64> {
        let top = |ending: &str| {
            let is_at_top = |file: &&FileInfo| {
                !file.path.contains('/') && file.path.to_ascii_lowercase().ends_with(ending)
            };
            robot.files.iter().filter(is_at_top).collect::<Vec<_>>()
        };
        let glbs = top(".glb");
        let own = format!("{}.glb", robot.name);
        let named = glbs.iter().find(|file| file.path == own).copied();
        let glb = named.or(glbs.first().copied());
        // A glTF is never large: its meshes are in other files.
        glb.map(|file| file.bytes)
            .or_else(|| (!top(".gltf").is_empty()).then_some(0))
    };
    let mut drawable = robots
        .iter()
        .filter_map(|robot| Some((robot, drawn(robot)?)));
    let (robot, bytes) = drawable.next()?;
    (bytes >= MIN_PREVIEW_BYTES).then_some(robot)
}

/// Cancels work when it is dropped.
#[derive(Default)]
pub(super) struct CancelOnDrop(pub(super) Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns the entry layer of a robot's asset, if it has one.
fn entry(app: &App, key: &str) -> Result<Option<PathBuf>, Refusal> {
    let none = || Refusal(StatusCode::NOT_FOUND, "No such robot.".to_owned());
    Ok(app.site.robot(key).ok_or_else(none)?.entry())
}

async fn offered(app: &App, entry: PathBuf) -> Result<Vec<TierSet>, Refusal> {
    let variant_cache = app.variant_cache.clone();
    blocking(app, move || variant_cache.offered(&entry)).await
}

/// Parses a query: variants of the offered sets, at most one of each, in the order of the sets, or
/// the preview.
fn parse(query: &str, offered: &[TierSet]) -> Result<Drawing, Refusal> {
    let hint = || match offered {
        [] => "this asset has no variant sets".to_owned(),
        sets => {
            let sets = sets
                .iter()
                .map(|TierSet { set, variants }| format!("{set}={}", variants.join("|")));
            format!("choose from {}", sets.collect::<Vec<_>>().join(", "))
        }
    };
    let wrong = |status, what: String| Refusal(status, format!("{what}; {}.", hint()));
    if query == PREVIEW {
        let what = || "The asset has no coarser meshes".to_owned();
        return Drawing::preview(offered).ok_or_else(|| wrong(StatusCode::NOT_FOUND, what()));
    }
    let mut chosen: Vec<Option<&str>> = vec![None; offered.len()];
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let decoded = percent_decode_str(pair).decode_utf8();
        let parts = decoded.as_ref().ok().and_then(|pair| pair.split_once('='));
        let Some((set, name)) = parts else {
            return Err(wrong(
                StatusCode::BAD_REQUEST,
                format!("{pair:?} is not SET=NAME"),
            ));
        };
        let Some((tiers, place)) = offered
            .iter()
            .zip(&mut chosen)
            .find(|(tiers, _)| tiers.set == set)
        else {
            return Err(wrong(
                StatusCode::NOT_FOUND,
                format!("The asset has no mesh variant set {set:?}"),
            ));
        };
        let Some(name) = tiers.variants.iter().find(|known| *known == name) else {
            return Err(wrong(
                StatusCode::NOT_FOUND,
                format!("The set {set} has no variant {name:?}"),
            ));
        };
        if place.replace(name).is_some() {
            return Err(wrong(
                StatusCode::BAD_REQUEST,
                format!("The set {set} is given twice"),
            ));
        }
    }
    let variants = offered.iter().zip(&chosen).filter_map(|(tiers, name)| {
        Some(VariantChoice {
            prim: None,
            set: tiers.set.clone(),
            variant: (*name)?.to_owned(),
        })
    });
    let variants: Vec<VariantChoice> = variants.collect();
    if variants.is_empty() {
        return Err(wrong(
            StatusCode::BAD_REQUEST,
            "Pass a variant, as in ?visual_representation=mesh_low".to_owned(),
        ));
    }
    Ok(Drawing {
        variants,
        ..Drawing::default()
    })
}

/// Runs work on a thread that may block on files.
async fn blocking<T: Send + 'static>(
    app: &App,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, Refusal> {
    let failed = |message| Refusal(StatusCode::INTERNAL_SERVER_ERROR, message);
    app.blocking(work)
        .await
        .ok_or_else(|| failed("Reading the asset failed.".to_owned()))?
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(query: &str) -> Result<String, (u16, String)> {
        let set = |set: &str, names: &[&str]| TierSet {
            set: set.to_owned(),
            variants: names.iter().map(ToString::to_string).collect(),
        };
        let offered = [
            set("visual_representation", &["mesh_high", "mesh_low"]),
            set("collision_fidelity", &["trimesh", "convex_hull"]),
        ];
        let text = |drawing: Drawing| {
            let mut words: Vec<_> = drawing.variants.iter().map(ToString::to_string).collect();
            if drawing.is_compact {
                words.push("compact".to_owned());
            }
            words.join(" ")
        };
        parse(query, &offered)
            .map(text)
            .map_err(|Refusal(status, message)| (status.as_u16(), message))
    }

    #[test]
    fn a_query_names_variants_that_there_are() {
        let both = "visual_representation=mesh_low collision_fidelity=convex_hull";
        assert_eq!(
            chosen("collision_fidelity=convex_hull&visual_representation=mesh%5Flow").unwrap(),
            both
        );
        assert_eq!(
            chosen("visual_representation=mesh_high&").unwrap(),
            "visual_representation=mesh_high"
        );
        assert_eq!(chosen(PREVIEW).unwrap(), format!("{both} compact"));
        let hulls = TierSet {
            set: "collision_fidelity".to_owned(),
            variants: vec!["trimesh".to_owned(), "convex_hull".to_owned()],
        };
        for offered in [&[][..], &[hulls]] {
            let Refusal(status, message) = parse(PREVIEW, offered).unwrap_err();
            assert!(
                status == 404 && message.contains("no coarser meshes"),
                "{message}"
            );
        }
        for (query, status, said) in [
            ("", 400, "Pass a variant"),
            ("visual_representation", 400, "not SET=NAME"),
            ("%ff=1", 400, "not SET=NAME"),
            (
                "visual_representation=mesh_low&visual_representation=mesh_low",
                400,
                "twice",
            ),
            ("visual_representation=mesh_tiny", 404, "\"mesh_tiny\""),
            ("look=red", 404, "\"look\""),
            ("compression=meshopt", 404, "\"compression\""),
        ] {
            let (found, message) = chosen(query).unwrap_err();
            assert!(
                found == status && message.contains(said),
                "{query}: {found} {message}"
            );
            assert!(
                message.contains("collision_fidelity=trimesh|convex_hull"),
                "{message}"
            );
        }
        assert!(
            parse("look=red", &[])
                .unwrap_err()
                .1
                .contains("no variant sets")
        );
    }
    #[test]
    fn the_preview_is_of_the_first_drawn_robot() {
        let robot = |name: &str, files: &[(&str, u64)]| {
            let files = files.iter().map(|(path, bytes)| FileInfo {
                path: (*path).to_owned(),
                bytes: *bytes,
                sha256: String::new(),
            });
            Arc::new(RobotView {
                files: files.collect(),
                ..crate::tests::robot(name, std::path::Path::new("/"))
            })
        };
        let large = MIN_PREVIEW_BYTES;
        let first = |robots: &[Arc<RobotView>]| first_drawn(robots).map(|robot| robot.name.clone());
        let arm = robot("arm", &[("arm.glb", large)]);
        let none = robot("a", &[("a.usda", large), ("old/a.glb", large)]);
        assert_eq!(first(&[none, arm.clone()]).as_deref(), Some("arm"));
        for small in [
            robot("a", &[("a.glb", large - 1)]),
            // The viewer shows a.glb.
            robot("a", &[("0.GLB", large), ("a.glb", 9)]),
            robot("a", &[("a.gltf", 9), ("a.bin", large)]),
        ] {
            assert_eq!(first(&[small, arm.clone()]), None);
        }
    }
}
