//! The command `urdf_usd`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: urdf_usd_allocator::MiMalloc = urdf_usd_allocator::MiMalloc;

fn main() -> ExitCode {
    urdf_usd_allocator::set_up();
    urdf_usd::cli::main(std::env::args_os())
}
