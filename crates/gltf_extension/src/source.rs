//! Origin of a model: an option of the writer, and a result of the reader.

use serde::Serialize;

/// Origin of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// Name of the format: `urdf`.
    pub format: String,
    /// Location that is independent of the machine: `package://…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Digest of the content with the algorithm as prefix: `sha256:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Time of resolution (RFC 3339), if it is to be recorded. With it the same input no longer
    /// gives the same bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<String>,
}
