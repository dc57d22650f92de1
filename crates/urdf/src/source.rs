//! Repairs the text of a URDF for the XML parser without losing positions.
//!
//! Three errors that ROS's own parser (urdfdom) accepts are repaired: white space before the XML
//! declaration, undeclared prefixes, and comments that contain `--`. All positions refer to the
//! original text.

use std::ops::Range;

use roxmltree::{Document, Error, ParsingOptions};
use urdf_usd_text::xml::crowded_tag;

/// Maximum length of a text: 64 MiB. The largest real ones have 1 MiB.
pub const MAX_TEXT_BYTES: usize = 64 << 20;
/// Maximum number of nodes (elements, texts, comments) of a text, with entities expanded.
const MAX_NODES: u32 = 4_000_000;
/// Maximum number of attributes of an element: the parser's search for duplicates is quadratic.
const MAX_ATTRIBUTES: usize = 2_000;
/// Maximum number of namespace declarations: the cost of nested ones is quadratic.
const MAX_NAMESPACES: usize = 500;
/// Maximum number of characters that entities may expand to.
const MAX_EXPANSION: usize = 64 << 20;
/// Maximum number of undeclared prefixes that are repaired.
const MAX_UNBOUND: usize = 32;
/// Distance between remembered positions, in bytes.
const MARK_INTERVAL: usize = 128;

/// A text, and its repaired form.
pub(crate) struct Source<'a> {
    original: &'a str,
    parsed: String,
    /// Offset of the inserted declarations, in bytes of both texts, and their length.
    inserted: (usize, usize),
    /// Undeclared prefixes, each with the offset of its first use in the original text.
    pub unbound: Vec<(String, usize)>,
    /// Offset of the first invalid comment in the original text.
    pub loose_comment: Option<usize>,
    /// Byte offset, line and column at regular intervals. The position of an element is found from
    /// the nearest mark instead of from the beginning of the text.
    marks: Vec<(usize, u32, u32)>,
}

impl<'a> Source<'a> {
    /// Prepares `text`, which may begin with a byte order mark and end with NUL characters.
    pub fn new(text: &'a str) -> Self {
        let original = text
            .strip_prefix('\u{feff}')
            .unwrap_or(text)
            .trim_end_matches('\0');
        let source = Self {
            original,
            parsed: blank_declaration(original),
            inserted: (0, 0),
            unbound: Vec::new(),
            loose_comment: None,
            marks: marks(original),
        };
        debug_assert_eq!(source.parsed.len(), original.len());
        source
    }

    /// Returns the original text, without byte order mark.
    pub fn original(&self) -> &'a str {
        self.original
    }

    /// Returns the limit that the text exceeds, if any. Parsing is safe if there is none.
    pub fn excess(&self) -> Option<String> {
        let text = &self.parsed;
        if text.len() > MAX_TEXT_BYTES {
            return Some(format!(
                "it has {} MiB; the limit is {} MiB",
                text.len() >> 20,
                MAX_TEXT_BYTES >> 20
            ));
        }
        // An upper bound: the word in values and texts counts, too.
        if text.matches("xmlns").count() > MAX_NAMESPACES {
            return Some(format!(
                "it has more than {MAX_NAMESPACES} namespace declarations"
            ));
        }
        if text.contains("<!ENTITY") {
            // One reference may expand to 255 others, each as long as all declarations together.
            let (declarations, content) =
                text.split_at(end_of_root_name(text).unwrap_or(text.len()));
            let nested = if declarations.contains('&') { 256 } else { 1 };
            let references = content.matches('&').count();
            if references
                .saturating_mul(nested)
                .saturating_mul(declarations.len())
                > MAX_EXPANSION
            {
                return Some(format!(
                    "its entities may expand to more than {} MiB",
                    MAX_EXPANSION >> 20
                ));
            }
        }
        // Elements in the values of entities count, too.
        crowded_tag(text, MAX_ATTRIBUTES)
            .map(|_| format!("one element has more than {MAX_ATTRIBUTES} attributes"))
    }

    /// Parses the repaired text.
    pub fn parse(&self) -> Result<Document<'_>, Error> {
        let options = ParsingOptions {
            // `excess` has bounded the expansion of entities.
            allow_dtd: true,
            nodes_limit: MAX_NODES,
            ..ParsingOptions::default()
        };
        Document::parse_with_options(&self.parsed, options)
    }

    /// Repairs the cause of `error` if possible; returns whether to parse again.
    pub fn repair(&mut self, error: &Error) -> bool {
        match error {
            Error::UnknownNamespace(prefix, _) => self.bind(prefix, error),
            Error::InvalidComment(_) if self.loose_comment.is_none() => {
                self.loose_comment = Some(self.error_offset(error));
                self.parsed = blank_comments(&self.parsed);
                true
            }
            _ => false,
        }
    }

    /// Declares an undeclared prefix on the root element.
    fn bind(&mut self, prefix: &str, error: &Error) -> bool {
        if self.unbound.len() >= MAX_UNBOUND
            || self.unbound.iter().any(|(known, _)| known == prefix)
            || prefix == "xmlns"
        {
            return false;
        }
        let Some(at) = end_of_root_name(&self.parsed) else {
            return false;
        };
        // Before the text changes: the error's position refers to it as it was parsed.
        let met = self.error_offset(error);
        let declaration = format!(" xmlns:{prefix}=\"{}\"", unbound_uri(prefix));
        self.parsed.insert_str(at, &declaration);
        // All declarations are inserted at the same offset, so that one pair maps every position.
        self.inserted = (at, self.inserted.1 + declaration.len());
        self.unbound.push((prefix.to_owned(), met));
        true
    }

    /// Returns the 1-based line and column of the byte `offset` in the repaired text.
    pub fn position(&self, offset: usize) -> (u32, u32) {
        self.original_position(self.original_offset(offset))
    }

    /// Returns the 1-based line and column of the byte `offset` in the original text.
    pub fn original_position(&self, offset: usize) -> (u32, u32) {
        let index = self
            .marks
            .partition_point(|&(at, ..)| at <= offset)
            .saturating_sub(1);
        let Some(&(start, line, column)) = self.marks.get(index) else {
            return (1, 1);
        };
        let text = self.original.as_bytes();
        let until = text.get(start..offset.min(text.len()));
        advance((line, column), until.unwrap_or_default())
    }

    /// Returns the repaired text.
    pub fn parsed(&self) -> &str {
        &self.parsed
    }

    /// Returns the position of `error`, as a byte offset in the original text.
    pub fn error_offset(&self, error: &Error) -> usize {
        // The parser gives these errors no position.
        if matches!(
            error,
            Error::UnexpectedEndOfStream | Error::UnclosedRootNode
        ) {
            return self.original.trim_end().len();
        }
        let position = error.pos();
        let mut lines = self.parsed.split_inclusive('\n');
        let rows = (position.row as usize).saturating_sub(1);
        let start: usize = lines.by_ref().take(rows).map(str::len).sum();
        let columns = (position.col as usize).saturating_sub(1);
        let inside: usize = lines
            .next()
            .unwrap_or("")
            .chars()
            .take(columns)
            .map(char::len_utf8)
            .sum();
        self.original_offset(start + inside)
    }

    fn original_offset(&self, offset: usize) -> usize {
        let (at, length) = self.inserted;
        if offset <= at {
            offset
        } else {
            offset.saturating_sub(length).max(at)
        }
    }
}

/// Returns the URI that an undeclared prefix is bound to.
pub(super) fn unbound_uri(prefix: &str) -> String {
    format!("unbound:{prefix}")
}

/// Replaces the XML declaration at the beginning of `text` by spaces: decoded text no longer needs
/// it, and the parser allows nothing before it.
fn blank_declaration(text: &str) -> String {
    let start = text.len() - text.trim_start().len();
    let declaration = &text[start..];
    let is_one = declaration
        .strip_prefix("<?xml")
        .is_some_and(|rest| rest.starts_with(char::is_whitespace));
    match declaration.find("?>") {
        Some(length) if is_one => {
            let end = start + length + 2;
            [&text[..start], &blank(&text[start..end]), &text[end..]].concat()
        }
        _ => text.to_owned(),
    }
}

/// Returns the offset of the end of the root element's name.
fn end_of_root_name(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        at += rest.len() - rest.trim_start().len();
        let rest = text.get(at..)?;
        at += match rest {
            _ if rest.starts_with("<!--") => rest.find("-->")? + 3,
            _ if rest.starts_with("<?") => rest.find("?>")? + 2,
            _ if rest.starts_with("<!") => end_of_doctype(rest)?,
            _ if rest.starts_with('<') => {
                return Some(
                    at + rest.find(|c: char| c.is_whitespace() || matches!(c, '/' | '>'))?,
                );
            }
            _ => return None,
        };
    }
}

/// Returns the length of the document type declaration at the beginning of `text`.
fn end_of_doctype(text: &str) -> Option<usize> {
    let (mut at, mut in_subset) = (0, false);
    loop {
        let rest = text.get(at..)?;
        let found = rest.find(['"', '\'', '[', ']', '>', '-'])?;
        let rest = &rest[found..];
        at += found;
        at += match rest.as_bytes().first()? {
            // A comment, which may contain quotes and brackets.
            b'-' if text[..at].ends_with("<!") => rest.find("-->")? + 3,
            quote @ (b'"' | b'\'') => rest[1..].find(char::from(*quote))? + 2,
            b'>' if !in_subset => return Some(at + 1),
            bracket => {
                in_subset = match bracket {
                    b'[' => true,
                    b']' => false,
                    _ => in_subset,
                };
                1
            }
        };
    }
}

/// Replaces every comment in `text` by spaces.
fn blank_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for range in markup(text).filter(|range| text[range.clone()].starts_with("<!--")) {
        out.push_str(&text[out.len()..range.start]);
        out.push_str(&blank(&text[range]));
    }
    out.push_str(&text[out.len()..]);
    out
}

/// Returns as many spaces as `text` has bytes, with its line breaks.
fn blank(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
        .collect()
}

/// Delimiters of comments, character data and processing instructions: their content is not markup.
const OPAQUE: [(&str, &str); 3] = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];

/// Returns the ranges of the tags, comments and other markup of `text`.
fn markup(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.find('<')?;
        let rest = &text[start..];
        let length = match OPAQUE.iter().find(|(open, _)| rest.starts_with(open)) {
            Some((open, close)) => rest[open.len()..]
                .find(close)
                .map(|end| open.len() + end + close.len()),
            None => end_of_tag(rest),
        };
        at = start + length.unwrap_or(rest.len());
        Some(start..at)
    })
}

/// Returns the length of the tag at the beginning of `text`. A `>` in an attribute's value does not
/// end it.
fn end_of_tag(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        at += text.get(at..)?.find(['"', '\'', '>'])?;
        match text.as_bytes().get(at)? {
            b'>' => return Some(at + 1),
            quote => at += 2 + text[at + 1..].find(char::from(*quote))?,
        }
    }
}

fn marks(text: &str) -> Vec<(usize, u32, u32)> {
    let mut marks = Vec::with_capacity(1 + text.len() / MARK_INTERVAL);
    let (mut start, mut position) = (0, (1, 1));
    loop {
        marks.push((start, position.0, position.1));
        let end = text.ceil_char_boundary(start + MARK_INTERVAL);
        if end >= text.len() {
            return marks;
        }
        let passed = text.as_bytes().get(start..end);
        position = advance(position, passed.unwrap_or_default());
        start = end;
    }
}

/// Returns the position after `text`, which is UTF-8, from the one before it.
fn advance((line, column): (u32, u32), text: &[u8]) -> (u32, u32) {
    let lines = count(text, b'\n');
    let column = if lines == 0 { column } else { 1 };
    let last = text.rsplit(|&byte| byte == b'\n').next();
    let last = last.unwrap_or_default();
    // Bytes that continue a character are 0b10xxxxxx.
    let characters = last.iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
    let add =
        |number: u32, more: usize| number.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
    (add(line, lines), add(column, characters))
}

fn count(text: &[u8], wanted: u8) -> usize {
    text.iter().filter(|&&byte| byte == wanted).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_original() {
        let text = format!(
            "\n\n<?xml version='1.0'?>\n<!-- > --><robot><é:a/>{}\n  <b:c/></robot>",
            "ü".repeat(2000)
        );
        let mut source = Source::new(&text);
        while let Err(error) = source.parse() {
            assert!(source.repair(&error), "{error}");
        }
        let prefixes: Vec<_> = source
            .unbound
            .iter()
            .map(|(p, at)| (p.as_str(), source.original_position(*at)))
            .collect();
        assert_eq!(prefixes, [("é", (4, 19)), ("b", (5, 4))]);
        let document = source.parse().unwrap();
        let starts: Vec<_> = document
            .descendants()
            .filter(|n| n.is_element())
            .map(|n| source.position(n.range().start))
            .collect();
        assert_eq!(starts, [(4, 11), (4, 18), (5, 3)]);
    }

    #[test]
    fn the_root_is_found_behind_a_prologue() {
        let text = "<?pi?><!-- <x> --><!DOCTYPE robot [<!ENTITY a-b ']><b>'><!-- it's -->] >\n<!DOCTYPE r><robot x";
        assert_eq!(end_of_root_name(text), Some(text.len() - 2));
        assert_eq!(end_of_root_name("<robot/>"), Some(6));
        for text in ["", "x", "<!--", "<!DOCTYPE [", "<robot"] {
            assert_eq!(end_of_root_name(text), None, "{text}");
        }
    }

    #[test]
    fn comments_become_space() {
        let text = "<a b='<!-- -->'>\n<!-- -- \n ü---><![CDATA[<!-- -->]]><?x <!-- -->?>";
        let expected = text.replace("<!-- -- \n ü--->", "        \n       ");
        assert_eq!(blank_comments(text), expected);
        assert_eq!(blank_comments("<a><!-- "), "<a>     ");
    }

    #[test]
    fn limits_hold() {
        let many = format!(
            "<a {}/>",
            (0..3000).map(|i| format!("a{i}='>' ")).collect::<String>()
        );
        assert!(Source::new(&many).excess().unwrap().contains("attributes"));
        let declared = format!("<!DOCTYPE a [<!ENTITY e \"{many}\">]><a>&e;</a>");
        let found = Source::new(&declared).excess();
        assert!(found.unwrap().contains("attributes"));
        let spaces = format!("<a>{}</a>", "<b xmlns:b='c'/>".repeat(3000));
        assert!(Source::new(&spaces).excess().unwrap().contains("namespace"));
        let bomb = format!(
            "<!DOCTYPE a [<!ENTITY a '{}'>]><a>{}</a>",
            "x".repeat(100_000),
            "&a;".repeat(10_000)
        );
        assert!(Source::new(&bomb).excess().unwrap().contains("entities"));
        assert!(
            Source::new(&bomb.replace("x'>", "x]>'>"))
                .excess()
                .unwrap()
                .contains("entities")
        );
        let modest = "<!DOCTYPE a [<!ENTITY a 'b'>]><a b='&a;'>it's &a;<!-- ' --></a>";
        assert_eq!(Source::new(modest).excess(), None);
    }
}
