//! Why a reference could not be opened.

use std::fmt;
use std::io;

use urdf_usd_diagnostic::{Code, Diagnostic, Place};

/// Why a reference could not be opened: the code, what is wrong, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// One of [`super::codes::ALL`].
    pub code: &'static Code,
    /// What is wrong, naming the reference and the file.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// What is behind it, if that costs more than this reference ([`Diagnostic::cause`]).
    pub cause: String,
    /// The reference ([`Diagnostic::about`]).
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

    /// The failure of an operation for which [`is_out_of_descriptors`] is true.
    pub fn too_many_open(message: impl Into<String>) -> Self {
        let help = "raise the limit of open files: ulimit -n 65536, LimitNOFILE= of a service, --ulimit nofile= of a container";
        Self::new(&super::codes::TOO_MANY_OPEN, message, help)
    }

    /// The same as a diagnostic about the `place` that refers to the file.
    pub fn at(&self, place: Place) -> Diagnostic {
        Diagnostic::new(self.code, place, &*self.message)
            .help(&*self.help)
            .because(&*self.cause, &*self.about)
    }
}

/// Whether an operation failed because this process (EMFILE), or the system (ENFILE), has too many
/// files open: it may succeed later.
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
