//! `--ros-args` and parameter files.

/// What a person said to the node on the command line.
#[derive(Clone, Debug, Default)]
pub struct Args {}
