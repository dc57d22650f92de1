//! `/` and `/viewer/…`: the embedded 3D viewer, or a plain page if the program was built without
//! it.

use std::io::Read;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;
use rust_embed::{EmbeddedFile, RustEmbed};

use super::selection::Selection;
use super::{App, media, tagged};

/// Content security policy of the page: its own files and what it creates itself, nothing from
/// elsewhere. WebAssembly decodes compressed meshes, and textures of a GLB are loaded as blobs.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self' blob:; \
                      img-src 'self' data: blob:; media-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors";
const INDEX: &str = "index.html";

/// Returns the policy of a page that pages of these origins may show in a frame.
pub(super) fn policy(embedders: &[String]) -> HeaderValue {
    let ancestors = if embedders.is_empty() {
        "'none'".to_owned()
    } else {
        embedders.join(" ")
    };
    HeaderValue::from_str(&format!("{POLICY} {ancestors}"))
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
}

/// Parses the origin of a page that may show the viewer in a frame.
///
/// # Errors
/// Returns a message for the user if it is neither an origin nor `*`.
pub fn origin(text: &str) -> Result<String, String> {
    let host = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let is_host = |host: &str| {
        !host.is_empty()
            && host
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || "-.:*[]".contains(letter))
    };
    if text == "*" || host.is_some_and(is_host) {
        Ok(text.to_owned())
    } else {
        Err(
            "expected an origin such as https://example.org or http://localhost:3000, or *"
                .to_owned(),
        )
    }
}

/// The viewer; empty if it was not built (see build.rs).
#[derive(RustEmbed)]
#[folder = "$OUT_DIR/viewer/dist"]
struct Viewer;

/// A page that lists robots, files and findings, and says how to get the viewer.
#[derive(RustEmbed)]
#[folder = "src/page"]
struct Plain;

/// The page of a fleet.
#[derive(RustEmbed)]
#[folder = "src/fleet_page"]
struct FleetPage;

/// Returns the web component `<urdf-usd-viewer>`, a script for pages without a server; `None` if the
/// program was built without the viewer.
pub fn element() -> Option<std::borrow::Cow<'static, [u8]>> {
    Viewer::get("element.js").map(|file| file.data)
}

/// Returns whether the program was built with the 3D viewer.
pub fn has_viewer() -> bool {
    Viewer::get(INDEX).is_some()
}

/// The page that is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Viewer,
    Plain,
}

impl Page {
    /// Returns the viewer if it is embedded, else the plain page.
    pub(super) fn best() -> Self {
        if has_viewer() {
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
    if app.page == Page::Viewer && method == Method::GET {
        tokio::spawn(super::variants::prepare_preview(app.clone()));
    }
    answer(&app, INDEX, |path| app.page.get(path), &method, &headers)
}

pub(super) async fn file(
    State(app): State<Arc<App>>,
    Path(path): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    answer(&app, &path, |path| app.page.get(path), &method, &headers)
}

pub(super) async fn fleet(
    State(app): State<Arc<App>>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    if app.fleet.is_none() {
        return crate::fleet::absent();
    }
    answer(&app, INDEX, FleetPage::get, &method, &headers)
}

pub(super) async fn fleet_file(
    State(app): State<Arc<App>>,
    Path(path): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    answer(&app, &path, FleetPage::get, &method, &headers)
}

/// Answers a request for a file of a page, which `get` returns. Scripts and styles are embedded only
/// with the best compression of gzip, and are unpacked for clients that do not accept it.
fn answer(
    app: &App,
    path: &str,
    get: impl Fn(&str) -> Option<EmbeddedFile>,
    method: &Method,
    headers: &HeaderMap,
) -> Response {
    let zipped = get(&format!("{path}.gz"));
    let accepts = accepts_gzip(headers);
    let is_zipped = zipped.is_some() && accepts;
    let unpacked = zipped.is_some() && !accepts;
    let found = zipped.or_else(|| get(path)).and_then(|file| {
        let hash: String = file
            .metadata
            .sha256_hash()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        // Each encoding has its tag (RFC 9110 §8.8.3.3).
        let (data, tag) = if unpacked {
            (unzip(&file.data)?.into(), format!("\"{hash}-plain\""))
        } else {
            (file.data, format!("\"{hash}\""))
        };
        Some((data, HeaderValue::from_str(&tag).ok()?))
    });
    let Some((data, tag)) = found else {
        return (StatusCode::NOT_FOUND, "No such file in the viewer.\n").into_response();
    };
    // Ranges are for downloads; files of the page are always sent whole.
    let (body, status, tag) =
        match Selection::from_headers(method, headers, &tag, data.len() as u64) {
            Selection::NotModified(known) => (Body::empty(), StatusCode::NOT_MODIFIED, known),
            _ => (Body::from(Bytes::from_owner(data)), StatusCode::OK, tag),
        };
    let mut response = (
        status,
        [(header::CONTENT_SECURITY_POLICY, app.policy.clone())],
        body,
    )
        .into_response();
    tagged(&mut response, media::type_of(path), tag);
    if is_zipped {
        let gzip = HeaderValue::from_static("gzip");
        response
            .headers_mut()
            .insert(header::CONTENT_ENCODING, gzip);
    }
    response
}

/// Returns the content of an embedded gzip file.
fn unzip(data: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    GzDecoder::new(data).read_to_end(&mut plain).ok()?;
    Some(plain)
}

/// Returns whether the client accepts gzip by name (RFC 9110 §12.5.3).
pub(super) fn accepts_gzip(headers: &HeaderMap) -> bool {
    let fields = headers.get_all(header::ACCEPT_ENCODING).iter();
    let texts = fields.filter_map(|field| field.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim();
        let weight = weight
            .strip_prefix(['q', 'Q'])
            .and_then(|rest| rest.strip_prefix('='));
        let weight = weight.unwrap_or("1");
        name.trim().eq_ignore_ascii_case("gzip") && weight.parse().is_ok_and(|q: f32| q > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_accepted_by_name() {
        for (text, expected) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("deflate, gzip;q=0", false),
            ("gzip;Q=0", false),
            ("gzip; Q=0.5", true),
            ("br", false),
            ("", false),
        ] {
            let headers =
                HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(text))]);
            assert_eq!(accepts_gzip(&headers), expected, "{text}");
        }
    }
}
