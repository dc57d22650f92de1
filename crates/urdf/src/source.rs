//! The text of a URDF, made digestible for the XML parser without losing its positions.
//!
//! Three things that ROS's own parser lets pass are mended: white space before the XML declaration,
//! prefixes without a declaration, and comments with `--` in them. Every position stays what it is
//! in the text as given.

use std::ops::Range;

use roxmltree::{Document, Error, ParsingOptions};

/// The longest text that is read: 64 MiB. The largest real ones have 1 MiB.
pub const MAX_TEXT: usize = 64 << 20;
/// The most nodes (elements, texts, comments) that a text may have, entities expanded.
const MAX_NODES: u32 = 4_000_000;
/// The most attributes that one element may have: looking for repeated ones takes the square of it.
const MAX_ATTRIBUTES: usize = 2_000;
/// The most namespace declarations: nested ones cost the square of their number.
const MAX_NAMESPACES: usize = 500;
/// The most characters that entities may add.
const MAX_EXPANSION: usize = 64 << 20;
/// The most prefixes that are mended.
const MAX_UNBOUND: usize = 32;
/// Every so many bytes a position is remembered.
const MARK_EVERY: usize = 512;

/// A text, and the form of it that is parsed.
pub(crate) struct Source<'a> {
    original: &'a str,
    parsed: String,
    /// Where declarations were put in, in bytes of both texts, and how many bytes they are.
    inserted: (usize, usize),
    /// Prefixes that had no declaration, each with the offset (in the original) where it was met.
    pub unbound: Vec<(String, usize)>,
    /// The offset (in the original) of the first comment that XML does not allow, if there is one.
    pub loose_comment: Option<usize>,
    /// Byte offset, line and column, at regular intervals.
    marks: Vec<(usize, u32, u32)>,
}

impl<'a> Source<'a> {
    /// `text` may begin with a byte order mark and end with NUL characters.
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

    /// The text as given, without byte order mark.
    pub fn original(&self) -> &'a str {
        self.original
    }

    /// What of the text goes beyond the limits, if anything does; parsing is safe if nothing does.
    pub fn excess(&self) -> Option<String> {
        let text = &self.parsed;
        if text.len() > MAX_TEXT {
            return Some(format!(
                "it has {} MiB; the limit is {} MiB",
                text.len() >> 20,
                MAX_TEXT >> 20
            ));
        }
        if text.matches("xmlns").count() > MAX_NAMESPACES {
            return Some(format!(
                "it has more than {MAX_NAMESPACES} namespace declarations"
            ));
        }
        if text.contains("<!ENTITY") {
            // One reference may lead to 255 others, each as long as all declarations together.
            let (declarations, content) =
                text.split_at(end_of_root_name(text).unwrap_or(text.len()));
            let nested = if declarations.contains('&') { 256 } else { 1 };
            let references = content.matches('&').count();
            if references
                .saturating_mul(nested)
                .saturating_mul(declarations.len())
                > MAX_EXPANSION
            {
                return Some("its entities may expand without measure".to_owned());
            }
        }
        (most_attributes(text) > MAX_ATTRIBUTES)
            .then(|| format!("one element has more than {MAX_ATTRIBUTES} attributes"))
    }

    /// Parses it.
    pub fn parse(&self) -> Result<Document<'_>, Error> {
        let options = ParsingOptions {
            allow_dtd: true,
            nodes_limit: MAX_NODES,
            ..ParsingOptions::default()
        };
        Document::parse_with_options(&self.parsed, options)
    }

    /// Mends what `error` is about, if that can be; whether parsing is worth another try.
    pub fn mend(&mut self, error: &Error) -> bool {
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

    /// Declares a prefix that has no declaration.
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
        let met = self.error_offset(error);
        let declaration = format!(" xmlns:{prefix}=\"{}\"", unbound_uri(prefix));
        self.parsed.insert_str(at, &declaration);
        self.inserted = (at, self.inserted.1 + declaration.len());
        self.unbound.push((prefix.to_owned(), met));
        true
    }

    /// The 1-based line and column of the byte `offset` in the parsed text.
    pub fn position(&self, offset: usize) -> (u32, u32) {
        self.original_position(self.original_offset(offset))
    }

    /// The 1-based line and column of the byte `offset` in the original text.
    pub fn original_position(&self, offset: usize) -> (u32, u32) {
        let index = self
            .marks
            .partition_point(|&(at, ..)| at <= offset)
            .saturating_sub(1);
        let Some(&(start, line, column)) = self.marks.get(index) else {
            return (1, 1);
        };
        let until = self.original[start..]
            .char_indices()
            .take_while(|&(at, _)| start + at < offset);
        until.fold((line, column), |position, (_, c)| advance(position, c))
    }

    /// The text as it is parsed.
    pub fn parsed(&self) -> &str {
        &self.parsed
    }

    /// Where `error` is, as a byte offset in the original text.
    pub fn error_offset(&self, error: &Error) -> usize {
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

/// What a prefix without a declaration is bound to.
pub(super) fn unbound_uri(prefix: &str) -> String {
    format!("unbound:{prefix}")
}

/// `text` with its XML declaration, if it begins with one, replaced by as many spaces: it has done
/// its work when there is text, and the parser allows nothing before it.
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

/// Where the name of the root element ends.
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

/// The length of the document type declaration that `text` begins with.
fn end_of_doctype(text: &str) -> Option<usize> {
    let (mut at, mut in_subset) = (0, false);
    loop {
        let rest = text.get(at..)?;
        let found = rest.find(['"', '\'', '[', ']', '>', '-'])?;
        let rest = &rest[found..];
        at += found;
        at += match rest.as_bytes().first()? {
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

/// The largest number of attributes that an element of `text` has, at least.
fn most_attributes(text: &str) -> usize {
    let of_tag = |tag: &str| {
        let mut quote = None;
        let counts = tag.bytes().filter(|&byte| match quote {
            None => {
                quote = Some(byte).filter(|byte| matches!(byte, b'"' | b'\''));
                byte == b'='
            }
            Some(open) => {
                quote = quote.filter(|_| open != byte);
                false
            }
        });
        counts.count()
    };
    let tags = markup(text).filter(|range| !is_opaque(&text[range.clone()]));
    tags.map(|range| of_tag(&text[range])).max().unwrap_or(0)
}

/// `text` with every comment replaced by as much space.
fn blank_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for range in markup(text).filter(|range| text[range.clone()].starts_with("<!--")) {
        out.push_str(&text[out.len()..range.start]);
        out.push_str(&blank(&text[range]));
    }
    out.push_str(&text[out.len()..]);
    out
}

/// As much space as `text` takes, with its line breaks.
fn blank(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte == b'\n' { '\n' } else { ' ' })
        .collect()
}

/// How comments, character data and processing instructions begin and end: nothing inside them is
/// markup.
const OPAQUE: [(&str, &str); 3] = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];

fn is_opaque(markup: &str) -> bool {
    OPAQUE.iter().any(|(open, _)| markup.starts_with(open))
}

/// Where the tags, comments and the like of `text` stand.
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

/// The length of the tag that `text` begins with: a `>` in a value does not end it.
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
    let mut marks = vec![(0, 1, 1)];
    let mut position = (1, 1);
    let mut next = MARK_EVERY;
    for (at, c) in text.char_indices() {
        if at >= next {
            marks.push((at, position.0, position.1));
            next = at + MARK_EVERY;
        }
        position = advance(position, c);
    }
    marks
}

fn advance((line, column): (u32, u32), c: char) -> (u32, u32) {
    if c == '\n' {
        (line.saturating_add(1), 1)
    } else {
        (line, column.saturating_add(1))
    }
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
            assert!(source.mend(&error), "{error}");
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
