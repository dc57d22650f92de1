//! The command `urdf_usd`.

#[allow(unsafe_code)] // the global allocator, and a call of the C library
mod exhausted;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)] // calls of the C library
mod memory;

/// Other C libraries keep the defaults of their allocators.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod memory {
    pub fn keep_freed() {}
    pub fn release() {}
}

use std::process::ExitCode;

use urdf_usd_cli::Program;

#[global_allocator]
static ALLOCATOR: exhausted::Allocator = exhausted::Allocator;

fn main() -> ExitCode {
    memory::keep_freed();
    let program = Program::this().map(|program| {
        program
            .exiting_with(exhausted::exit_when_exhausted)
            .releasing_with(memory::release)
    });
    urdf_usd_cli::main(std::env::args_os(), program.as_ref())
}
