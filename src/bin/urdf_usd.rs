//! The command `urdf_usd`.

use std::process::ExitCode;

use urdf_usd_cli::Program;
use urdf_usd_memory::{self as memory, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    memory::keep_freed();
    let program = Program::this().map(|program| {
        program
            .exiting_with(memory::exit_when_exhausted)
            .releasing_with(memory::release)
    });
    urdf_usd_cli::main(std::env::args_os(), program.as_ref())
}
