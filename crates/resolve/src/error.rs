//! Errors of opening a reference.

use std::fmt;
use std::io;

use urdf_usd_diagnostic::{Code, Diagnostic, Place};

/// An error of opening a reference: its code, what is wrong, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// One of [`super::codes::ALL`].
    pub code: &'static Code,
    /// What is wrong, naming the reference and the file.
    pub message: String,
    /// Remedy.
    pub help: String,
    /// Cause, if it affects more than this reference ([`Diagnostic::cause`]).
    pub cause: String,
    /// Reference ([`Diagnostic::about`]).
    pub about: String,
}

impl Error {
    pub(super) fn new(
        code: &'static Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self {
            code,
            message: message.into(),
            help: help.into(),
            cause: String::new(),
            about: String::new(),
        }
    }

    pub(super) fn because(mut self, cause: impl Into<String>, about: impl Into<String>) -> Self {
        (self.cause, self.about) = (cause.into(), about.into());
        self
    }

    /// Creates the error for an operation for which [`is_out_of_descriptors`] is true.
    pub fn too_many_open(message: impl Into<String>) -> Self {
        let help = "raise the limit on open files: ulimit -n 65536, LimitNOFILE= of a service, --ulimit nofile= of a container";
        Self::new(&super::codes::TOO_MANY_OPEN, message, help)
    }

    /// Returns a diagnostic at the `place` that refers to the file.
    pub fn at(&self, place: Place) -> Diagnostic {
        Diagnostic::new(self.code, place, &*self.message)
            .help(&*self.help)
            .because(&*self.cause, &*self.about)
    }
}

/// Returns whether an operation failed because this process (EMFILE) or the system (ENFILE) has too
/// many open files, so that it may succeed later.
pub fn is_out_of_descriptors(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE)
    )
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if self.help.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.help)
        }
    }
}

impl std::error::Error for Error {}
