//! Excerpts of a source around the place of a finding, made safe for a terminal: long lines are cut
//! around the place, and control characters are escaped.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use urdf_usd_diagnostic::{acts_on_a_terminal, escape_controls};
use urdf_usd_resolve::Opened;

/// Maximum number of characters shown of a line.
const MAX_LINE: usize = 240;

/// Maximum size of a file that excerpts are taken from, in bytes: that of a description.
const MAX_BYTES: u64 = urdf_usd_urdf::MAX_TEXT_BYTES as u64;

/// Placeholder for the part of a line that is cut off.
const CUT: char = '…';

/// Returns the text of `file`, if it is suitable for excerpts.
pub fn source(file: &Path) -> Option<Arc<str>> {
    let mut text = String::new();
    Opened::at(file)
        .ok()?
        .file
        .take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .ok()?;
    (text.len() as u64 <= MAX_BYTES).then(|| text.into())
}

/// A few lines of a text, with a place in one of them.
#[derive(Debug)]
pub struct Excerpt {
    name: String,
    /// The lines as shown.
    text: String,
    /// The number of the first line, from 0.
    first: usize,
    /// The line and column of the place in the source, from 0.
    place: (usize, usize),
    /// The offset of the place in `text`, in bytes.
    pub offset: usize,
}

impl Excerpt {
    /// Creates an excerpt of the line `line` of `text` and its neighbours.
    ///
    /// The place is at `column` of that line. Both count from 1, columns in characters. `name` is
    /// the name of the text.
    pub fn new(name: &str, text: &str, line: u32, column: u32) -> Self {
        let (at, column) = (
            line.saturating_sub(1) as usize,
            column.saturating_sub(1) as usize,
        );
        let first = at.saturating_sub(1);
        let (mut shown, mut offset) = (String::new(), 0);
        for (number, line) in text
            .split('\n')
            .enumerate()
            .skip(first)
            .take(at - first + 2)
        {
            // The empty text after the last line break is not a line.
            if number > at && line.is_empty() {
                break;
            }
            let line = line.strip_suffix('\r').unwrap_or(line);
            if number > first {
                shown.push('\n');
            }
            let place = window(line, if number == at { column } else { 0 }, &mut shown);
            if number == at {
                offset = place;
            }
        }
        Self {
            name: escape_controls(name).into_owned(),
            text: shown,
            first,
            place: (at, column),
            offset,
        }
    }
}

/// Appends the part of `line` around `column` to `out`; returns the offset of that character in
/// `out`.
fn window(line: &str, column: usize, out: &mut String) -> usize {
    // A very long line is counted once; only the window is examined again.
    let length = line.chars().count();
    let start = if length <= MAX_LINE {
        0
    } else {
        column.saturating_sub(MAX_LINE / 2).min(length - MAX_LINE)
    };
    if start > 0 {
        out.push(CUT);
    }
    let mut place = None;
    for (number, c) in line.chars().enumerate().skip(start).take(MAX_LINE) {
        if number == column {
            place = Some(out.len());
        }
        if c != '\t' && acts_on_a_terminal(c) {
            out.extend(c.escape_debug());
        } else {
            out.push(c);
        }
    }
    let place = place.unwrap_or(out.len());
    if start + MAX_LINE < length {
        out.push(CUT);
    }
    place
}

impl SourceCode for Excerpt {
    /// Returns the whole excerpt as the surroundings of any span, or only the place if no
    /// surroundings are wanted.
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = |data: &'a str, span, (line, column)| {
            let lines = data.matches('\n').count();
            Ok(Box::new(MietteSpanContents::new_named(
                self.name.clone(),
                data.as_bytes(),
                span,
                line,
                column,
                lines,
            )) as _)
        };
        if before == 0 && after == 0 {
            return contents("", *span, self.place);
        }
        contents(&self.text, (0, self.text.len()).into(), (self.first, 0))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_lines_stay_and_long_ones_are_cut_around_the_place() {
        let short = Excerpt::new("a", "one\r\ntwo\tx\nthree\nfour", 2, 5);
        assert_eq!(
            (short.text.as_str(), short.first, short.offset),
            ("one\ntwo\tx\nthree", 0, 8)
        );
        let last = Excerpt::new("a", "one\ntwo\n", 2, 1);
        assert_eq!((last.text.as_str(), last.offset), ("one\ntwo", 4));

        let long = format!("{}X{}", "ü".repeat(200_000), "b".repeat(200_000));
        let cut = Excerpt::new("a", &long, 1, 200_001);
        assert_eq!(cut.text.chars().count(), MAX_LINE + 2);
        assert_eq!(cut.text[cut.offset..].chars().next(), Some('X'));
        assert_eq!(cut.place, (0, 200_000));
        let ends = [(1, MAX_LINE + 1), (400_001, MAX_LINE + 1)].map(|(column, characters)| {
            let cut = Excerpt::new("a", &long, 1, column);
            (cut.text.chars().count(), characters)
        });
        assert!(ends.iter().all(|(is, should)| is == should), "{ends:?}");
    }

    proptest! {
        #[test]
        fn any_place_of_any_text_can_be_shown(text in any::<String>(), line in 0_u32..5, column in 0_u32..400) {
            let excerpt = Excerpt::new(&text, &text, line, column);
            prop_assert!(excerpt.text.is_char_boundary(excerpt.offset));
            prop_assert!(!excerpt.name.chars().any(acts_on_a_terminal));
            prop_assert!(!excerpt.text.chars().any(|c| c != '\n' && c != '\t' && acts_on_a_terminal(c)));
        }
    }
}
