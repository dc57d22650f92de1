//! `/` and `/viewer/…`: the 3D viewer as it was built into the program, or in its place a page
//! without one.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rust_embed::{EmbeddedFile, RustEmbed};

use super::wanted::Wanted;
use super::{App, media, tagged};

/// What a page may load: its own files and what it makes itself; nothing from elsewhere. Compressed
/// meshes are decoded by WebAssembly, and textures come out of a GLB as blobs.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self' blob:; \
                      img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const INDEX: &str = "index.html";

/// The viewer; empty if it was not built (build.rs says why).
#[derive(RustEmbed)]
#[folder = "$OUT_DIR/viewer/dist"]
struct Viewer;

/// A page that lists robots, files and findings, and says how to get the viewer.
#[derive(RustEmbed)]
#[folder = "src/page"]
struct Plain;

/// Which page is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Viewer,
    Plain,
}

impl Page {
    /// The viewer if there is one.
    pub(super) fn best() -> Self {
        if Viewer::get(INDEX).is_some() {
            Self::Viewer
        } else {
            Self::Plain
        }
    }

    fn get(self, path: &str) -> Option<EmbeddedFile> {
        match self {
            Self::Viewer => Viewer::get(path),
            Self::Plain => Plain::get(path),
        }
    }
}

pub(super) async fn index(
    State(app): State<Arc<App>>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    answer(app.page, INDEX, &method, &headers)
}

pub(super) async fn file(
    State(app): State<Arc<App>>,
    Path(path): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    answer(app.page, &path, &method, &headers)
}

fn answer(page: Page, path: &str, method: &Method, headers: &HeaderMap) -> Response {
    let file = page.get(path);
    let found = file.and_then(|file| {
        let hash: String = file
            .metadata
            .sha256_hash()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Some((
            file.data,
            HeaderValue::from_str(&format!("\"{hash}\"")).ok()?,
        ))
    });
    let Some((data, tag)) = found else {
        return (
            StatusCode::NOT_FOUND,
            "There is no such file in the viewer.\n",
        )
            .into_response();
    };
    // Ranges are for downloads; of the page there are none.
    let (body, status, tag) = match Wanted::of(method, headers, &tag, data.len() as u64) {
        Wanted::Nothing(known) => (Body::empty(), StatusCode::NOT_MODIFIED, known),
        _ => (Body::from(Bytes::from_owner(data)), StatusCode::OK, tag),
    };
    let mut response = (status, [(header::CONTENT_SECURITY_POLICY, POLICY)], body).into_response();
    tagged(&mut response, media::of(path), tag);
    response
}
