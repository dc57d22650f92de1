//! Linker arguments of a Python extension: on macOS, its symbols are those of the process.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
