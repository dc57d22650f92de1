//! The command `urdf_usd`.

use std::process::ExitCode;

/// A node runs for months, and what it hears comes and goes: that of the C library keeps most of what it was once given.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    urdf_usd::cli::main(std::env::args_os())
}
