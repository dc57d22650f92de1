//! The command `urdf_usd`.

use std::process::ExitCode;

/// A node runs for months, and what it hears comes and goes: that of the C library keeps most of what it was once given.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The allocator asks for huge pages, of which the kernel clears two megabytes for what needs some kilobytes: time, and memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    urdf_usd::cli::main(std::env::args_os())
}
