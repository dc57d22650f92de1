//! Media types by file name, and which of them to compress.
//!
//! Not `mime_guess`, which knows no OpenUSD and sets no character set for text.

/// Returns the media type of a file; `application/octet-stream` if it is unknown. Binary USD has no
/// registered type.
pub(super) fn type_of(path: &str) -> &'static str {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "glb" => "model/gltf-binary",
        "gltf" => "model/gltf+json",
        "usda" => "model/vnd.usda",
        "usdz" => "model/vnd.usdz+zip",
        "json" | "map" => "application/json",
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "webp" => "image/webp",
        "ico" => "image/x-icon",
        "wasm" => "application/wasm",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

/// Returns whether content of this type is compressed for clients that accept it. Events are text
/// too, but must arrive one by one.
pub(super) fn is_compressed(media_type: &str) -> bool {
    const TYPES: [&str; 8] = [
        "text/html",
        "text/javascript",
        "text/css",
        "text/plain",
        "application/json",
        "image/svg+xml",
        "model/gltf+json",
        "model/vnd.usda",
    ];
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    TYPES
        .iter()
        .any(|known| essence.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::{is_compressed, type_of};

    #[test]
    fn types_by_name() {
        for (path, media_type, compressed) in [
            ("arm/arm.glb", "model/gltf-binary", false),
            ("arm.GLTF", "model/gltf+json", true),
            ("arm.bin", "application/octet-stream", false),
            ("arm.usda", "model/vnd.usda", true),
            ("geometry.usdc", "application/octet-stream", false),
            ("arm.usdz", "model/vnd.usdz+zip", false),
            ("a.b/c.JPEG", "image/jpeg", false),
            ("index.html", "text/html; charset=utf-8", true),
            ("noextension", "application/octet-stream", false),
        ] {
            assert_eq!(
                (type_of(path), is_compressed(type_of(path))),
                (media_type, compressed),
                "{path}"
            );
        }
        assert!(!is_compressed("text/event-stream"));
    }
}
