//! What the node is told to do, in the types it works with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::verdict::Limits;
use crate::convert::{Formats, Job, Source};
use crate::{resolve, usd};

/// The node's settings: its parameters, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where assets go; absolute.
    pub output_dir: PathBuf,
    /// What to write unless a call says otherwise.
    pub formats: Formats,
    /// How references to files are resolved.
    pub resolve: resolve::Options,
    /// `ros:context:namespace`; `None`: the robot's name.
    pub namespace: Option<String>,
    /// Whether the base is held to the world.
    pub base: usd::Base,
    /// How bodies are nested.
    pub bodies: usd::Bodies,
    /// Publish no asset while there is any warning.
    pub strict: bool,
    /// How long a description waits for a newer one.
    pub settle: Duration,
    /// Whether used files are watched.
    pub watch: bool,
    /// How often `/diagnostics` is published even if nothing changes.
    pub diagnostics_period: Duration,
    /// How far TF may be from the asset.
    pub limits: Limits,
}

impl Settings {
    /// The job for a source under these settings.
    pub(super) fn job(&self, source: Source) -> Arc<Job> {
        Arc::new(Job {
            source,
            output_dir: self.output_dir.clone(),
            formats: self.formats,
            resolve: self.resolve.clone(),
            namespace: self.namespace.clone(),
            base: self.base,
            bodies: self.bodies,
            strict: self.strict,
        })
    }
}
