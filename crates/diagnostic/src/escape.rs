//! Text from input, made safe for a terminal and a log.
//!
//! Names and file contents may hold escape sequences, line breaks and marks that turn the direction
//! of writing. Shown raw they could move the cursor, forge a line of a log, or show another name
//! than the one that is meant. Everything that prints text from input calls this module, so that
//! there is one list of what is not shown.

use std::borrow::Cow;
use std::fmt::{self, Write};

/// `text` on one line: control characters, line breaks and direction marks are written as escapes
/// (`\n`, `\u{1b}`, `\u{202e}`). Nearly every text has none, and is not copied.
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    if text.chars().any(acts_on_a_terminal) {
        Cow::Owned(Escaped(text).to_string())
    } else {
        Cow::Borrowed(text)
    }
}

/// The same for a text that we break into lines ourselves: a line break stays where the next line
/// is indented, as those of lists in messages are. A line that input makes up can then neither
/// begin where a line of a log begins, nor leave its paragraph.
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

/// A text that is displayed as [`escape_controls`] gives it.
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

/// JSON text with the same characters as JSON's own escapes, so that programs read the same
/// strings. The line breaks between values stay.
pub fn escape_controls_in_json(json: &str) -> Cow<'_, str> {
    let is_escaped = |c: char| c != '\n' && acts_on_a_terminal(c);
    if !json.contains(is_escaped) {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len() + 64);
    for c in json.chars() {
        if is_escaped(c) {
            // All of them are in the first plane, so that one escape is enough.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal would do more than show `c`: control characters, line separators, and
/// Unicode's marks of direction.
pub fn acts_on_a_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_acts_on_a_terminal_is_written_out() {
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
