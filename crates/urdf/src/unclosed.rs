//! Which element of a text that is no XML is not closed, and where it opens: the parser tells where
//! it noticed.

use roxmltree::Error;

use super::source::Source;
use super::xml::short;

/// An element without its end, or an end without its element.
pub(super) struct Unclosed {
    /// Where it begins, as a byte offset in the parsed text.
    pub offset: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// A tag that opens an element.
struct Open<'a> {
    name: &'a str,
    offset: usize,
}

/// What `error` is about, if it is about an element that is not closed.
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
                    "the text is not well-formed XML: <{name}> is opened here and not closed before </{closing}> in line {}",
                    line(offset)
                );
                let help =
                    format!("add </{name}> before that, or write <{name} …/> if nothing is in it");
                return Some(Unclosed {
                    offset: innermost.offset,
                    message,
                    help,
                });
            }
            let message = format!(
                "the text is not well-formed XML: </{closing}> closes nothing; <{name}> of line {} is open",
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
            let help = format!("add </{name}>, or get the whole text: it may have been cut off");
            Some(Unclosed {
                offset,
                message,
                help,
            })
        }
        _ => None,
    }
}

/// The elements that are open before the byte `end`, the outermost first.
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
        // What no element begins with, and how it ends.
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

/// The length of a tag with its `>`, and whether it closes itself. `None` if it has no end.
fn tag_end(tag: &str) -> Option<(usize, bool)> {
    let (mut quote, mut before) = (None, ' ');
    for (at, c) in tag.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '>') => return Some((at + 1, before == '/')),
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
    fn an_element_that_is_not_closed_is_told_where_it_opens() {
        for (text, line, column, words) in [
            (
                "<robot name='x'>\n  <link name='a'>\n    <visual>\n  </link>\n</robot>",
                3,
                5,
                "<visual> is opened here and not closed before </link> in line 4",
            ),
            (
                "<robot name='x'>\n  <link name='a'>\n</robot>",
                2,
                3,
                "<link> is opened here and not closed before </robot> in line 3",
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
                "</robt> closes nothing; <robot> of line 1 is open",
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
