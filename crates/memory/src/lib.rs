//! The allocator of the programs: its settings, and its behaviour when memory is exhausted.
//!
//! All of it acts on the whole process, so only programs use it: the library allocates as the
//! program that uses it does.

#[allow(unsafe_code)] // the global allocator, and a call of the C library
mod exhausted;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code)] // calls of the C library
mod glibc;

/// Allocators of other C libraries keep their defaults.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod glibc {
    /// Does nothing.
    pub fn keep_freed() {}
    /// Does nothing.
    pub fn release() {}
}

pub use exhausted::{Allocator, exit_when_exhausted};
pub use glibc::{keep_freed, release};
