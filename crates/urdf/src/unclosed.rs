//! Finds the element that is not closed in malformed XML: the parser reports only where it noticed.

use roxmltree::Error;

use super::source::Source;
use super::xml::short;

/// An element without an end tag, or an end tag without an element.
pub(super) struct Unclosed {
    /// Byte offset in the parsed text.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// Remedy.
    pub help: String,
}

/// The start tag of an open element.
struct Open<'a> {
    name: &'a str,
    offset: usize,
}

/// Returns the unclosed element that `error` is about, if any.
pub(super) fn find(error: &Error, source: &Source<'_>) -> Option<Unclosed> {
    let text = source.parsed();
    match error {
        Error::UnexpectedCloseTag(_, closing, position) => {
            let offset = text
                .split_inclusive('\n')
                .take((position.row as usize).saturating_sub(1))
                .map(str::len)
                .sum::<usize>();
            let column = (position.col as usize).saturating_sub(1);
            let offset = offset
                + text
                    .get(offset..)?
                    .chars()
                    .take(column)
                    .map(char::len_utf8)
                    .sum::<usize>();
            let mut open = open_at(text, offset);
            let innermost = open.pop()?;
            let (name, closing) = (short(innermost.name), short(closing));
            let line = |offset| source.position(offset).0;
            if open.iter().any(|outer| outer.name == closing) {
                let message = format!(
                    "the text is not well-formed XML: <{name}> is opened here and not closed before </{closing}> on line {}",
                    line(offset)
                );
                let help =
                    format!("add </{name}> before that, or write <{name} …/> if it is empty");
                return Some(Unclosed {
                    offset: innermost.offset,
                    message,
                    help,
                });
            }
            let message = format!(
                "the text is not well-formed XML: </{closing}> matches no open element; the innermost is <{name}> from line {}",
                line(innermost.offset)
            );
            Some(Unclosed {
                offset,
                message,
                help: format!("write </{name}> there, or remove it"),
            })
        }
        Error::UnclosedRootNode | Error::UnexpectedEndOfStream => {
            let Open { name, offset } = open_at(text, text.len()).pop()?;
            let name = short(name);
            let message = format!(
                "the text is not well-formed XML: it ends before <{name}>, which is opened here, is closed"
            );
            let help = format!("add </{name}>, or provide the complete text: it may be truncated");
            Some(Unclosed {
                offset,
                message,
                help,
            })
        }
        _ => None,
    }
}

/// Returns the elements that are open before the byte `end`, outermost first.
fn open_at(text: &str, end: usize) -> Vec<Open<'_>> {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut at = 0;
    while let Some(offset) = text
        .get(at..end)
        .and_then(|rest| rest.find('<'))
        .map(|found| at + found)
    {
        let Some(tag) = text.get(offset + 1..) else {
            break;
        };
        // Markup that is not an element, with its end.
        let other = [("!--", "-->"), ("![CDATA[", "]]>"), ("?", "?>"), ("!", ">")];
        if let Some((_, close)) = other.into_iter().find(|(begin, _)| tag.starts_with(begin)) {
            match tag.find(close) {
                Some(length) => at = offset + 1 + length + close.len(),
                None => break,
            }
            continue;
        }
        let name = |tag: &'_ str| {
            tag.find(|c: char| c.is_whitespace() || matches!(c, '>' | '/' | '<'))
                .unwrap_or(tag.len())
        };
        if let Some(tag) = tag.strip_prefix('/') {
            let name = tag.get(..name(tag)).unwrap_or_default();
            if open.last().is_some_and(|open| open.name == name) {
                open.pop();
            }
            at = offset + 2;
            continue;
        }
        let opened = Open {
            name: tag.get(..name(tag)).unwrap_or_default(),
            offset,
        };
        match tag_end(tag) {
            Some((length, is_closed)) => {
                if !is_closed {
                    open.push(opened);
                }
                at = offset + 1 + length;
            }
            None => {
                open.push(opened);
                break;
            }
        }
    }
    open
}

/// Returns the length of a tag with its `>`, and whether it is self-closing; `None` if it has no
/// end.
fn tag_end(tag: &str) -> Option<(usize, bool)> {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '>') => return Some((at + 1, before == '/')),
            // Another tag begins: this one has no end.
            (None, '<') => return None,
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::read;

    #[test]
    fn an_unclosed_element_is_reported_where_it_opens() {
        for (text, line, column, words) in [
            (
                "<robot name='x'>\n  <link name='a'>\n    <visual>\n  </link>\n</robot>",
                3,
                5,
                "<visual> is opened here and not closed before </link> on line 4",
            ),
            (
                "<robot name='x'>\n  <link name='a'>\n</robot>",
                2,
                3,
                "<link> is opened here and not closed before </robot> on line 3",
            ),
            (
                "<robot name='x'>\n <!-- <link> --><link name='a/>b'/>\n <?a <b ?><![CDATA[<c>]]><link name=\"b\">\n",
                3,
                26,
                "ends before <link>",
            ),
            (
                "<robot name='x'>\n  <link name='a'/>\n</robt>",
                3,
                1,
                "</robt> matches no open element; the innermost is <robot> from line 1",
            ),
            (
                "<robot name='x'><link name='a'/>",
                1,
                1,
                "ends before <robot>",
            ),
            (
                "<robot name='x'>\n  <my:a>\n  <link name='a'>\n</robot>",
                3,
                3,
                "<link> is opened here",
            ),
        ] {
            let found = &read(text, None).diagnostics;
            let found = found
                .iter()
                .find(|found| found.code == "urdf-malformed-xml")
                .expect(text);
            assert_eq!(
                (found.place.line, found.place.column),
                (line, column),
                "{found}"
            );
            assert!(found.message.contains(words), "{found}");
        }
    }
}
