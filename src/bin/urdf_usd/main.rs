//! The command `urdf_usd`.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)] // calls of the C library
mod memory;

/// Where the C library is another one, its allocator stays as it is.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod memory {
    pub fn keep_freed() {}
    pub fn release() {}
}

use std::process::ExitCode;

fn main() -> ExitCode {
    memory::keep_freed();
    urdf_usd::cli::main(std::env::args_os(), memory::release)
}
