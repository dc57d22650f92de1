//! The command `urdf_usd`.

use std::process::ExitCode;

fn main() -> ExitCode {
    urdf_usd_allocator::set_up();
    urdf_usd::cli::main(std::env::args_os())
}
