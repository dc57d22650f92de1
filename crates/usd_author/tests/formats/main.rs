//! Tests of layers written as text and as crate files.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)] // a test that fails may panic

mod crate_file;
mod layers;
mod text;
