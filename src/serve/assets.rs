//! `/assets/KEY/…`: files of assets, and no others.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures::stream;
use percent_encoding::percent_decode_str;
use tokio::fs::File;
use tokio::io::AsyncReadExt;

use super::Site;

/// How much of a file is read at a time.
const CHUNK: usize = 64 << 10;

pub(super) async fn asset(State(site): State<Arc<Site>>, uri: Uri) -> Response {
    let Some((root, file)) = segments(uri.path()).and_then(|segments| place(&site, &segments)) else {
        return not_found();
    };
    match open(&root, &file).await {
        Some((file, bytes)) => answer(file, bytes, &uri),
        None => not_found(),
    }
}

fn not_found() -> Response {
    (StatusCode::NOT_FOUND, "There is no such file in an asset of this node.\n").into_response()
}

/// The decoded parts of a path below `/assets/`; `None` if any of them could lead elsewhere or is hidden.
fn segments(path: &str) -> Option<Vec<String>> {
    let path = path.strip_prefix("/assets/")?;
    path.split('/')
        .map(|raw| {
            let segment = percent_decode_str(raw).decode_utf8().ok()?;
            let fine = !segment.is_empty() && !segment.starts_with('.') && !segment.contains(['/', '\\', '\0']);
            fine.then(|| segment.into_owned())
        })
        .collect()
}

/// The asset's directory and the file in it. The key of an asset may have several parts.
fn place(site: &Site, segments: &[String]) -> Option<(PathBuf, PathBuf)> {
    (1..segments.len()).find_map(|split| {
        let (key, rest) = segments.split_at(split);
        let root = site.directory(&key.join("/"))?;
        Some((root.clone(), root.join(rest.iter().collect::<PathBuf>())))
    })
}

/// Opens a plain file that really is inside `root`, and tells its length.
async fn open(root: &Path, file: &Path) -> Option<(File, u64)> {
    let root = tokio::fs::canonicalize(root).await.ok()?;
    let real = tokio::fs::canonicalize(file).await.ok()?;
    // A link may lead to a hidden file inside, too.
    let inside = real.strip_prefix(&root).ok()?;
    if inside.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".")) {
        return None;
    }
    let file = File::open(&real).await.ok()?;
    let meta = file.metadata().await.ok()?;
    meta.is_file().then_some((file, meta.len()))
}

fn answer(file: File, bytes: u64, uri: &Uri) -> Response {
    // The length is promised, so a file that grows meanwhile is cut, and one that shrinks ends the connection.
    let content = stream::try_unfold(file.take(bytes), |mut file| async {
        let mut chunk = vec![0; CHUNK];
        let read = file.read(&mut chunk).await?;
        chunk.truncate(read);
        std::io::Result::Ok((read > 0).then(|| (Bytes::from(chunk), file)))
    });
    let mut response = Body::from_stream(content).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type(uri.path())));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn media_type(path: &str) -> &'static str {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "glb" => "model/gltf-binary",
        "gltf" => "model/gltf+json",
        "usda" => "model/vnd.usda",
        "usdz" => "model/vnd.usdz+zip",
        "json" => "application/json",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        _ => "application/octet-stream",
    }
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
        assert_eq!(segments("/assets/gr%C3%BC%C3%9Fe%20a-b/x.usda"), Some(vec!["grüße a-b".into(), "x.usda".into()]));
    }
}
