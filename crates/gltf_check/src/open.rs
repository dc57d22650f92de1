//! Extracts the JSON from both containers of glTF.

use urdf_usd_gltf_extension::Json;

/// Maximum size of the JSON in bytes.
const MAX_JSON: usize = 512 << 20;

const HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;

/// The document of a file.
pub struct Opened<'a> {
    pub text: &'a str,
    pub json: Json,
    /// Whether the file is the JSON itself, so that lines and columns refer to it.
    pub is_text: bool,
}

/// Opens a GLB or a .gltf. The error describes why it is neither.
pub fn open(bytes: &[u8]) -> Result<Opened<'_>, String> {
    let is_text = !bytes.starts_with(b"glTF");
    let json_bytes = if is_text { bytes } else { json_chunk(bytes)? };
    if json_bytes.len() > MAX_JSON {
        return Err(format!(
            "its JSON has {} bytes, more than {MAX_JSON}",
            json_bytes.len()
        ));
    }
    let text = std::str::from_utf8(json_bytes).map_err(|error| {
        format!(
            "this is no glTF file: neither a GLB nor UTF-8 text (byte {} is not)",
            error.valid_up_to()
        )
    })?;
    let json: Json = serde_json::from_str(text)
        .map_err(|error| format!("this is no glTF file: its JSON is broken: {error}"))?;
    let version = json.at(&["asset", "version"]).and_then(Json::text);
    match version {
        Some(version) if version.split('.').next() == Some("2") => Ok(Opened {
            text,
            json,
            is_text,
        }),
        Some(version) => Err(format!(
            "this is glTF {:?}, not 2.0",
            super::findings::short(version)
        )),
        None => Err("this is no glTF file: it has no asset.version".to_owned()),
    }
}

/// Returns the first chunk of a GLB (glTF 2.0 specification, chapter 4).
fn json_chunk(bytes: &[u8]) -> Result<&[u8], String> {
    let number = |at: usize| -> Option<usize> {
        let bytes: [u8; 4] = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(bytes)).ok()
    };
    let start = HEADER + CHUNK_HEADER;
    let (Some(version), Some(length), Some(size)) = (number(4), number(8), number(HEADER)) else {
        return Err(format!(
            "the GLB ends in its header, after {} bytes",
            bytes.len()
        ));
    };
    if version != 2 {
        return Err(format!("this is a GLB of version {version}, not 2"));
    }
    if length > bytes.len() {
        return Err(format!(
            "the GLB is cut off: its header says {length} bytes, and there are {}",
            bytes.len()
        ));
    }
    if bytes.get(HEADER + 4..start) != Some(b"JSON") {
        return Err("the GLB does not begin with a chunk of JSON".to_owned());
    }
    let end = start.saturating_add(size);
    bytes.get(start..end).ok_or_else(|| {
        format!(
            "the GLB is cut off: its JSON ends at byte {end}, and there are {}",
            bytes.len()
        )
    })
}
