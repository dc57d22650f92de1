//! What a model was made from: an option of the writer, and a result of the reader.

use serde::Serialize;

/// What a model was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Source {
    /// The format's name: `urdf`.
    pub format: String,
    /// Where it is from, in words that mean the same on another machine: `package://…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Of its content, with the algorithm in front: `sha256:…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// When it was resolved (RFC 3339), if that is to be told: the same input then no longer gives
    /// the same bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_at: Option<String>,
}
