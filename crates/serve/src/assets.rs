//! `/assets/KEY/…`: the files of assets, and no others.

use std::fs::{File, Metadata};
use std::io::SeekFrom;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use percent_encoding::percent_decode_str;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::selection::Selection;
use super::tags::Tags;
use super::{App, Site, media, tagged};
use urdf_usd_resolve::Opened;

/// Bytes read from a file at a time.
const CHUNK: usize = 64 << 10;

pub(super) async fn asset(
    State(app): State<Arc<App>>,
    method: Method,
    headers: HeaderMap,
    uri: Uri,
) -> Response {
    let Some(place) = segments(uri.path()).and_then(|segments| place(&app.site, &segments)) else {
        return not_found();
    };
    let media_type = media::type_of(place.file.as_os_str().to_str().unwrap_or_default());
    // Do all file system access at once, on a thread that may block.
    let site = app.clone();
    let opened = app.blocking(move || open(&place, &site.tags)).await;
    let Some(Some((file, meta, tag))) = opened else {
        return not_found();
    };
    let wanted = Selection::from_headers(&method, &headers, &tag, meta.len());
    answer(file, meta.len(), wanted, media_type, tag)
        .await
        .unwrap_or_else(|_| not_found())
}

fn not_found() -> Response {
    (
        StatusCode::NOT_FOUND,
        "No such file in an asset of this server.\n",
    )
        .into_response()
}

/// Returns the decoded segments of a path below `/assets/`; `None` if one could lead elsewhere or
/// is hidden.
fn segments(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix("/assets/")?;
    path.split('/')
        .map(|raw| {
            let segment = percent_decode_str(raw).decode_utf8().ok()?;
            is_servable(&segment).then(|| segment.into_owned())
        })
        .collect()
}

/// Returns whether a file or folder with this name may be served: it is neither hidden nor a path.
pub fn is_servable(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0'])
}

/// A requested file, which need not exist.
struct Place {
    /// The asset's directory.
    root: PathBuf,
    file: PathBuf,
    /// Whether the asset's report lists it.
    is_listed: bool,
}

/// Resolves a path to a file of an asset. The key of an asset may have several segments.
fn place(site: &Site, segments: &[String]) -> Option<Place> {
    (1..segments.len()).find_map(|split| {
        let (key, rest) = segments.split_at(split);
        let robot = site.robot(&key.join("/"))?;
        let root = robot.directory.clone()?;
        let path = rest.join("/");
        let is_listed = robot.files.iter().any(|file| file.path == path);
        (is_listed || !robot.only_listed).then(|| Place {
            file: root.join(path),
            root,
            is_listed,
        })
    })
}

/// Opens a regular file, if it really is inside the asset.
fn open(place: &Place, tags: &Tags) -> Option<(File, Metadata, HeaderValue)> {
    let (file, meta) = open_inside(&place.root, &place.file)?;
    let tag = HeaderValue::from_str(&tags.compute(&file, &meta, place.is_listed)).ok()?;
    Some((file, meta, tag))
}

fn open_inside(root: &Path, file: &Path) -> Option<(File, Metadata)> {
    // Open first, then check where the file was found: a later replacement can't be read.
    let (root, Opened { path, file, meta }) = (root.canonicalize().ok()?, Opened::at(file).ok()?);
    // A symbolic link may also lead to a hidden file inside the asset.
    let inside = path.strip_prefix(&root).ok()?;
    let is_hidden = inside
        .components()
        .any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
    (!is_hidden).then_some((file, meta))
}

async fn answer(
    file: File,
    length: u64,
    wanted: Selection,
    media_type: &'static str,
    tag: HeaderValue,
) -> std::io::Result<Response> {
    let (status, tag, bytes) = match wanted {
        Selection::NotModified(known) => (StatusCode::NOT_MODIFIED, known, None),
        Selection::Whole => (StatusCode::OK, tag, Some(0..length)),
        Selection::Part(bytes) => (StatusCode::PARTIAL_CONTENT, tag, Some(bytes)),
        Selection::Unsatisfiable => (StatusCode::RANGE_NOT_SATISFIABLE, tag, None),
    };
    let content_range = match status {
        StatusCode::PARTIAL_CONTENT => bytes
            .as_ref()
            .map(|b| format!("bytes {}-{}/{length}", b.start, b.end - 1)),
        StatusCode::RANGE_NOT_SATISFIABLE => Some(format!("bytes */{length}")),
        _ => None,
    };
    let mut response = match bytes {
        Some(bytes) => send(file, bytes).await?,
        None => Body::empty().into_response(),
    };
    *response.status_mut() = status;
    tagged(&mut response, media_type, tag);
    let headers = response.headers_mut();
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Some(range) = content_range.and_then(|range| HeaderValue::from_str(&range).ok()) {
        headers.insert(header::CONTENT_RANGE, range);
    }
    Ok(response)
}

/// Sends a range of an open file: the bytes of one revision, even if another replaces the file.
async fn send(file: File, bytes: Range<u64>) -> std::io::Result<Response> {
    let length = bytes.end - bytes.start;
    let mut file = tokio::fs::File::from_std(file);
    file.seek(SeekFrom::Start(bytes.start)).await?;
    // The length was announced, so a file that grows is cut, and one that shrinks ends the
    // connection.
    let content = stream::try_unfold(file.take(length), |mut file| async {
        let mut chunk = vec![0; CHUNK];
        let read = file.read(&mut chunk).await?;
        chunk.truncate(read);
        std::io::Result::Ok((read > 0).then(|| (Bytes::from(chunk), file)))
    });
    let mut response = Body::from_stream(content).into_response();
    response
        .headers_mut()
        .insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::segments;

    #[test]
    fn paths_that_lead_elsewhere_are_none() {
        for path in [
            "/assets/arm/../secret",
            "/assets/arm/%2e%2e/secret",
            "/assets/arm/..%2fsecret",
            "/assets/arm/%2fetc/passwd",
            "/assets/arm//a",
            "/assets/arm/.hidden",
            "/assets/arm/..%5csecret",
            "/assets/arm/a%00b",
            "/assets/arm/%ff",
            "/assets/",
        ] {
            assert_eq!(segments(path), None, "{path}");
        }
        assert_eq!(
            segments("/assets/gr%C3%BC%C3%9Fe%20a-b/x.usda"),
            Some(vec!["grüße a-b".into(), "x.usda".into()])
        );
    }
}
