//! What the fuzzers share. `crates/mesh/tests/corpus.rs` compiles the same checks into a plain test.

pub mod bound;
pub mod checks;
pub mod memory;
