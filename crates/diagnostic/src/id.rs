//! Deserialisation of the identifiers of codes.
//!
//! An identifier is a `&'static str`. Interning each distinct one for the life of the process lets
//! a finding read from a file equal one created here, without this crate knowing who reports what.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use serde::de::Error;
use serde::{Deserialize, Deserializer};

/// [`super::Code::id`].
pub type Id = &'static str;

/// Maximum number of distinct identifiers interned by a process: the memory is never freed.
const MAX_IDS: usize = 4096;
/// Maximum length of an identifier.
const MAX_ID_BYTES: usize = 128;

static KNOWN: LazyLock<Mutex<HashSet<Id>>> = LazyLock::new(Mutex::default);

/// Reads an identifier, and interns it if it is new.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Id, D::Error> {
    let read = String::deserialize(from)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(id) = known.get(read.as_str()) {
        return Ok(id);
    }
    if read.len() > MAX_ID_BYTES || known.len() >= MAX_IDS {
        return Err(D::Error::custom("not the code of a diagnostic"));
    }
    let id: Id = read.leak();
    known.insert(id);
    Ok(id)
}

#[cfg(test)]
mod tests {
    use crate::{Code, Diagnostic, Place, Severity};

    const UNLISTED: Code = Code {
        id: "unlisted-code",
        severity: Severity::Warning,
        meaning: "",
        outcome: "",
    };

    #[test]
    fn a_diagnostic_is_read_as_it_was_written() {
        let place = Place {
            line: 3,
            column: 7,
            element: "link \"a\"".to_owned(),
            ..Place::file("/a.urdf")
        };
        for diagnostic in [
            Diagnostic::new(&UNLISTED, place, "something is wrong").help("correct it"),
            Diagnostic::new(&UNLISTED, Place::default(), "é"),
        ] {
            let text = serde_json::to_string(&diagnostic).unwrap();
            let read: Diagnostic = serde_json::from_str(&text).unwrap();
            let again: Diagnostic = serde_json::from_str(&text).unwrap();
            assert_eq!(
                (&read, serde_json::to_string(&read).unwrap()),
                (&diagnostic, text)
            );
            // Interned once.
            assert!(std::ptr::eq(read.code, again.code));
        }
    }

    #[test]
    fn an_overlong_code_is_refused() {
        let text =
            |code: &str| format!(r#"{{"severity": "error", "code": "{code}", "message": ""}}"#);
        assert_eq!(
            serde_json::from_str::<Diagnostic>(&text("a-b"))
                .unwrap()
                .code,
            "a-b"
        );
        let error = serde_json::from_str::<Diagnostic>(&text(&"x".repeat(1000)))
            .unwrap_err()
            .to_string();
        assert!(error.contains("not the code of a diagnostic"), "{error}");
    }
}
