//! Which media type a file has, by its name, and which of them are worth compressing.
//!
//! By hand, since `mime_guess` knows no OpenUSD and gives text no character set.

/// The media type of a file; `application/octet-stream` for everything not known. Binary USD has
/// none that is registered.
pub(super) fn of(path: &str) -> &'static str {
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

/// Whether content of this type is text that is sent compressed to whoever takes it. Events are
/// text too, but they have to arrive one by one.
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
    use super::{is_compressed, of};

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
                (of(path), is_compressed(of(path))),
                (media_type, compressed),
                "{path}"
            );
        }
        assert!(!is_compressed("text/event-stream"));
    }
}
