//! Takes long lists of numbers out of a document before it is parsed.
//!
//! An XML parser examines each character for markup, also in the lists, which are most of a file and have none.

use std::borrow::Cow;

use pulp::{Arch, NullaryFnOnce};

/// The elements whose lists are taken out. [`geometry`](super::geometry) reads them, and no one else.
const ELEMENTS: [&str; 4] = ["float_array", "int_array", "p", "vcount"];

/// Minimum length of a list in bytes; the parser is as fast for shorter ones.
const LONG: usize = 256;

/// The first character of a list's substitute, from the private use area.
const MARK: char = '\u{f8ff}';

/// A document, and the lists that were taken out of it.
pub(super) struct Document<'t> {
    /// Has a [`MARK`], a number and the line breaks of the list in place of each list.
    pub text: Cow<'t, str>,
    pub lists: Vec<&'t str>,
}

impl<'t> Document<'t> {
    /// Takes the lists out of a document. Documents with a DOCTYPE or CDATA are left as they are: text can be
    /// inside of these without being that of an element. So are those with a [`MARK`], also as a character
    /// reference, which would refer to a list.
    pub fn of(text: &'t str) -> Self {
        let whole = Self {
            text: Cow::Borrowed(text),
            lists: Vec::new(),
        };
        if text.contains(MARK) || text.contains("&#") {
            return whole;
        }
        let mut lists = Vec::new();
        let mut short = String::new();
        for part in text.split_inclusive('<') {
            if part.starts_with('!') && !part.starts_with("!--") {
                return whole;
            }
            let (part, end) = part
                .strip_suffix('<')
                .map_or((part, ""), |part| (part, "<"));
            let (tag, list) = part.split_at(part.find('>').map_or(part.len(), |end| end + 1));
            short.push_str(tag);
            let breaks = (list.len() >= LONG && is_of_lists(tag))
                .then(|| Arch::new().dispatch(Breaks(list.as_bytes())))
                .flatten();
            if let Some(breaks) = breaks {
                short.push(MARK);
                short.push_str(&lists.len().to_string());
                short.extend(std::iter::repeat_n('\n', breaks));
                lists.push(list);
            } else {
                short.push_str(list);
            }
            short.push_str(end);
        }
        if lists.is_empty() {
            return whole;
        }
        Self {
            text: Cow::Owned(short),
            lists,
        }
    }
}

/// Returns the text that was in a document where this one is now.
pub(super) fn original<'a>(text: &'a str, lists: &[&'a str]) -> &'a str {
    text.strip_prefix(MARK)
        .and_then(|number| lists.get(number.trim_end().parse::<usize>().ok()?).copied())
        .unwrap_or(text)
}

/// Returns whether a tag, without its `<`, opens an element of [`ELEMENTS`].
fn is_of_lists(tag: &str) -> bool {
    let name = tag
        .split(|c: char| c == '>' || c.is_ascii_whitespace())
        .next();
    name.is_some_and(|name| ELEMENTS.contains(&name)) && !tag.ends_with("/>")
}

/// A text whose line breaks are counted; `None` if it has other characters than those of numbers and white space.
struct Breaks<'a>(&'a [u8]);

impl NullaryFnOnce for Breaks<'_> {
    type Output = Option<usize>;

    #[inline(always)]
    fn call(self) -> Option<usize> {
        let is_part = |byte: u8| {
            // + , - . / and digits
            (byte.wrapping_sub(b'+') <= b'9' - b'+')
                | (byte | 0x20 == b'e')
                | (byte == b' ')
                | (byte == b'\t')
                | (byte == b'\n')
                | (byte == b'\r')
        };
        let mut breaks = 0;
        // Blocks without an early exit, whose counts fit into bytes, are vectorised by the compiler.
        for block in self.0.chunks(128) {
            let (mut others, mut some) = (0_u8, 0_u8);
            for byte in block {
                others |= u8::from(!is_part(*byte));
                some += u8::from(*byte == b'\n');
            }
            if others != 0 {
                return None;
            }
            breaks += usize::from(some);
        }
        Some(breaks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_out_and_found_again() {
        let list = "-1.5e3 2\r\n\t".repeat(40);
        let xml = format!(
            "<a>\n<p>{list}</p><p> {list}<!-- > {list} --></p><q>{list}</q>\n<float_array id='x > y'>{list}</float_array><p>1 2</p>\n</a>"
        );
        let Document { text, lists } = Document::of(&xml);
        // The third is in quotes for `Document`, and is not taken out.
        assert_eq!(lists, [&list, &format!(" {list}")]);
        assert_eq!(text.matches('\n').count(), xml.matches('\n').count());
        let parsed = roxmltree::Document::parse(&text).unwrap();
        let texts = |xml: &roxmltree::Document, lists: &[&str]| -> Vec<String> {
            let all = xml.descendants().filter(|node| node.is_text());
            all.map(|node| original(node.text().unwrap(), lists).replace('\r', ""))
                .collect()
        };
        let plain = roxmltree::Document::parse(&xml).unwrap();
        assert_eq!(texts(&parsed, &lists), texts(&plain, &[]));
    }

    #[test]
    fn other_documents_are_left_as_they_are() {
        let list = "1 ".repeat(LONG);
        for xml in [
            format!("<p>{list}x</p>"),
            format!("<p>{list}&#32;</p>"),
            format!("<p><![CDATA[1]]>{list}</p><p>{list}</p>"),
            format!("<!DOCTYPE p [<!ENTITY q '<p>{list}</p>'>]><p>{list}</p>"),
            format!("<p>{MARK}0</p><p>{list}</p>"),
            format!("<p>&#xf8ff;0</p><p>{list}</p>"),
            format!("<matrix><p x=''/>{list}</matrix>"),
            "<p>1</p>\u{e9}".to_owned(),
            "<p>\u{1f916}".to_owned(),
            "\u{e9}".to_owned(),
            "<p>1</p>".to_owned(),
            String::new(),
        ] {
            let Document { text, lists } = Document::of(&xml);
            assert!(text == xml && lists.is_empty(), "{xml}");
        }
        assert_eq!(original("\u{f8ff}7", &[]), "\u{f8ff}7");
    }
}
