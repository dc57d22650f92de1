//! What the fuzzers share. `crates/mesh/tests/corpus.rs` compiles the same checks of meshes and
//! images into a plain test; `crates/fix/tests/damaged.rs` is one of OpenUSD.

pub mod bound;
pub mod checks;
pub mod memory;
pub mod usd;
