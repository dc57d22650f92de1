//! The Python module `urdf_usd._native`: the command, the work of commands, and robots.
//!
//! The package in `python/urdf_usd` gives it types, documentation and exceptions. Data goes to
//! Python as JSON in the form that commands print, and arrays as NumPy arrays. Work runs without
//! Python's global lock, on threads of this module.

mod arrays;
mod batch;
mod commands;
mod failure;
mod ik;
mod options;
mod robot;
mod work;

use std::ffi::OsString;
use std::process::ExitCode;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use urdf_usd_cli::Program;
use urdf_usd_memory::{self as memory, Allocator};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Runs a command line, the first argument of which is the program's name, and returns its exit
/// code.
///
/// `interpreter` is the command line that runs this program, without its arguments; empty if it is
/// unknown.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>, interpreter: Vec<OsString>) -> u8 {
    memory::keep_freed();
    let mut interpreter = interpreter.into_iter();
    let program = interpreter.next().map(|executable| {
        Program::new(executable)
            .with_arguments(interpreter.collect())
            .exiting_with(memory::exit_when_exhausted)
            .releasing_with(memory::release)
    });
    let code = py.detach(|| urdf_usd_cli::main(arguments, program.as_ref()));
    // The standard library does not reveal the number.
    let mut codes = 0..=u8::MAX;
    codes
        .find(|number| ExitCode::from(*number) == code)
        .unwrap_or(1)
}

/// Returns the script of the web component that shows robots.
#[pyfunction]
fn viewer_element(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let script = urdf_usd_serve::element().ok_or_else(|| {
        failure::failed(
            "this package was built without the 3D viewer: build it with Node.js 20 or newer",
        )
    })?;
    Ok(PyBytes::new(py, &script))
}

/// The native part of the package `urdf_usd`.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::batch::{Batch, convert_robot};
    #[pymodule_export]
    use super::commands::{check, convert, fix, inspect};
    #[pymodule_export]
    use super::failure::Failure;
    #[pymodule_export]
    use super::options::options;
    #[pymodule_export]
    use super::robot::Robot;
    #[pymodule_export]
    use super::{main, viewer_element};
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
