//! `/api/variants/KEY`: the mesh variant sets of an asset. `/variants/KEY?SET=NAME`: the GLB with
//! these variants (`detail=coarsest`: the coarsest), or with its own and `compression=meshopt`,
//! rendered on demand and cached.
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
use super::{App, CompressBody, media, tagged};
use crate::variant_cache::{Drawing, VariantGlb};
use urdf_usd_usd_read::{TierSet, VariantChoice};

/// The pair in a query that asks for compressed triangles.
const COMPACT: (&str, &str) = ("compression", "meshopt");
/// The pair in a query that asks for the coarsest variant of each set.
const COARSEST: (&str, &str) = ("detail", "coarsest");
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
    let (mut response, tag) =
        match Selection::from_headers(&method, &headers, &tag, glb.bytes.len() as u64) {
            Selection::NotModified(known) => (
                (StatusCode::NOT_MODIFIED, Body::empty()).into_response(),
                known,
            ),
            // Always send the whole GLB, as RFC 9110 §14.2 allows.
            Selection::Whole | Selection::Part(_) | Selection::Unsatisfiable => {
                (glb.bytes.into_response(), tag)
            }
        };
    tagged(&mut response, media::type_of("glb.glb"), tag);
    if is_compact {
        // Meshopt leaves redundancy to a general compressor: gzip takes another fifth off.
        response.extensions_mut().insert(CompressBody);
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

/// Renders the preview that a viewer over a slow link will ask for first, while it still loads its
/// script. The viewer starts with the first robot that has a GLB.
pub(super) async fn prepare_preview(app: Arc<App>) {
    let first = app.site.robots().into_iter().find(|robot| {
        let mut tops = robot.files.iter().filter(|file| !file.path.contains('/'));
        tops.any(|file| file.path.ends_with(".glb") && file.bytes >= MIN_PREVIEW_BYTES)
    });
    let Some(entry) = first.and_then(|robot| app.site.robot(&robot.key)?.entry()) else {
        return;
    };
    let query = [COARSEST, COMPACT].map(|(name, value)| format!("{name}={value}"));
    let Ok(sets) = offered(&app, entry.clone()).await else {
        return;
    };
    // Errors are those of the request, if one follows.
    if let Ok(drawing) = parse(&query.join("&"), &sets) {
        let _ = render_in_turn(&app, entry, drawing).await;
    }
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

/// Parses a query: variants of the offered sets, at most one of each, in the order of the sets, and
/// a compression, with which there need be no variant.
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
    let mut chosen: Vec<Option<&str>> = vec![None; offered.len()];
    let mut is_compact = false;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let decoded = percent_decode_str(pair).decode_utf8();
        let parts = decoded.as_ref().ok().and_then(|pair| pair.split_once('='));
        let Some((set, name)) = parts else {
            return Err(wrong(
                StatusCode::BAD_REQUEST,
                format!("{pair:?} is not SET=NAME"),
            ));
        };
        if (set, name) == COMPACT {
            is_compact = true;
            continue;
        }
        if (set, name) == COARSEST {
            for (tiers, place) in offered.iter().zip(&mut chosen) {
                *place = coarsest(tiers);
            }
            continue;
        }
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
    if variants.is_empty() && !is_compact {
        return Err(wrong(
            StatusCode::BAD_REQUEST,
            "Pass a variant, as in ?visual_representation=mesh_low".to_owned(),
        ));
    }
    Ok(Drawing {
        variants,
        is_compact,
    })
}

/// Returns the variant of a set that is fastest to send. Sphere sets are coarser than hulls, but have
/// more shapes.
fn coarsest(tiers: &TierSet) -> Option<&str> {
    let mut names = tiers.variants.iter();
    let hull = names.find(|name| *name == "convex_hull");
    hull.or(tiers.variants.last()).map(String::as_str)
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
        assert_eq!(chosen("compression=meshopt").unwrap(), "compact");
        assert_eq!(chosen("detail=coarsest").unwrap(), both);
        assert_eq!(
            chosen("compression=meshopt&visual_representation=mesh_low").unwrap(),
            "visual_representation=mesh_low compact"
        );
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
            ("compression=zip", 404, "\"compression\""),
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
}
