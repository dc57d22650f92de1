//! Code that the fuzzers share. `crates/mesh/tests/corpus.rs` compiles the checks of meshes and
//! images into an ordinary test, `crates/fix/tests/damaged.rs` those of OpenUSD.

pub mod bound;
pub mod checks;
pub mod memory;
pub mod usd;
