//! Escapes text from the input for terminals and logs.
//!
//! Names and file contents may hold escape sequences, line breaks and bidirectional formatting
//! characters. Printed raw, they could move the cursor, forge a line of a log, or display a
//! misleading name. All code that prints text from the input calls this module, so there is a
//! single list of escaped characters.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// Returns `text` on one line: control characters, line breaks and direction marks are escaped
/// (`\n`, `\u{1b}`, `\u{202e}`). Text without any of them is not copied.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if text.chars().any(acts_on_a_terminal) {
        Cow::Owned(Escaped(text).to_string())
    } else {
        Cow::Borrowed(text)
    }
}

/// Escapes like [`escape_controls`], but keeps a line break that is followed by two spaces, as in
/// the lists of our own messages. Text from the input can therefore neither start at the beginning
/// of a log line nor leave its paragraph.
pub fn escape_controls_in_list(text: &str) -> Cow<'_, str> {
    if !text.chars().any(acts_on_a_terminal) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for (number, line) in text.split("\n  ").enumerate() {
        out.push_str(if number > 0 { "\n  " } else { "" });
        out.push_str(&escape_controls(line));
    }
    Cow::Owned(out)
}

/// Displays a text as [`escape_controls`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            if acts_on_a_terminal(c) {
                write!(f, "{}", c.escape_debug())?
            } else {
                f.write_char(c)?
            }
        }
        Ok(())
    }
}

/// Escapes the same characters in JSON text with JSON's own escapes, so that a parser reads the
/// same strings. Line breaks between values stay.
pub fn escape_controls_in_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| c != '\n' && acts_on_a_terminal(c);
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_escaped(c) {
            // All of these characters are in the Basic Multilingual Plane: one escape is enough.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Returns whether a terminal interprets `c` instead of displaying it: control characters, line
/// separators, and bidirectional formatting characters.
pub fn acts_on_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn characters_that_act_on_a_terminal_are_escaped() {
        let raw = "a\u{1b}[2J\r\nb\t\u{7f}\u{9b}0m\u{202e}c\u{2066}\u{2028}";
        let shown = escape_controls(raw);
        assert_eq!(
            shown,
            "a\\u{1b}[2J\\r\\nb\\t\\u{7f}\\u{9b}0m\\u{202e}c\\u{2066}\\u{2028}"
        );
        assert!(matches!(
            escape_controls("größe_日本 \"x\\y\" 🤖"),
            Cow::Borrowed(_)
        ));
    }

    #[test]
    fn lists_keep_their_lines() {
        let list = "looked at:\n  /a\u{1b}: no\n  /b: no\nERROR";
        assert_eq!(
            escape_controls_in_list(list),
            "looked at:\n  /a\\u{1b}: no\n  /b: no\\nERROR"
        );
    }

    proptest! {
        #[test]
        fn nothing_else_changes(text in any::<String>()) {
            let shown = escape_controls(&text);
            prop_assert!(!shown.chars().any(acts_on_a_terminal));
            let plain = |text: &str| text.chars().filter(|c| !acts_on_a_terminal(*c)).count();
            prop_assert!(plain(&shown) >= plain(&text));
        }

        #[test]
        fn json_means_the_same(text in any::<String>(), mark in "[\u{7f}-\u{9f}\u{202a}-\u{202e}\u{2066}-\u{2069}]*") {
            let value = serde_json::json!({ "text": [text, mark] });
            let json = serde_json::to_string_pretty(&value).unwrap();
            let shown = escape_controls_in_json(&json);
            prop_assert!(!shown.chars().any(|c| c != '\n' && acts_on_a_terminal(c)));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        }
    }
}
