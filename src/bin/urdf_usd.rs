//! The command `urdf_usd`.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: urdf_usd_allocator::Allocator = urdf_usd_allocator::Allocator;

fn main() -> ExitCode {
    let is_node = std::env::args_os().nth(1).is_some_and(|command| command == "bridge" || command == "demo");
    urdf_usd_allocator::set_up(!is_node);
    urdf_usd::cli::main(std::env::args_os())
}
