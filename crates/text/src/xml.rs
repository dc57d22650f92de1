//! Writes XML in the style of robot descriptions, and bounds the XML that a parser gets.
//!
//! This module knows nothing of robots, nor of the meaning of any element.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Formats a number with the fewest digits that read back equal. Non-finite values become 0.
pub fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if !value.is_finite() || size == 0.0 => "0".to_owned(),
        // Outside of this range, exponents are shorter: `Display` of `f64` never uses them, and
        // would print 1e300 with 301 digits.
        _ if (1e-5..1e15).contains(&size) => value.to_string(),
        _ => format!("{value:e}"),
    }
}

/// Formats numbers, separated by spaces.
pub fn numbers(values: impl IntoIterator<Item = f64>) -> String {
    values.into_iter().map(number).collect::<Vec<_>>().join(" ")
}

/// Returns the offset of the first tag of `text` with more than `limit` attributes, in bytes: the
/// parser's search for duplicates is quadratic. Tags within comments and entities count, too. The time
/// is linear.
pub fn crowded_tag(text: &str, limit: usize) -> Option<usize> {
    let has_more = |text: &str| text.bytes().filter(|&byte| byte == b'=').count() > limit;
    // Most texts have fewer attributes than that.
    let mut pieces = Some(text).filter(|text| has_more(text))?.split('<');
    let mut start = pieces.next()?.len();
    // A value has no `<`, so a tag ends before the next one.
    for piece in pieces {
        if has_more(piece) && !piece.starts_with(['!', '?']) && attributes(piece) > limit {
            return Some(start);
        }
        start += 1 + piece.len();
    }
    None
}

/// Returns the number of `=` outside of the values of the tag that `text` begins with.
fn attributes(text: &str) -> usize {
    let (mut quote, mut count) = (None, 0);
    for byte in text.bytes() {
        match (quote, byte) {
            (Some(open), _) => quote = quote.filter(|_| open != byte),
            (None, b'"' | b'\'') => quote = Some(byte),
            (None, b'=') => count += 1,
            (None, b'>') => break,
            (None, _) => {}
        }
    }
    count
}

/// Escapes `text` for an attribute or for the content of an element. Sets `is_changed` if U+FFFD
/// replaces a character that XML 1.0 can't represent (section 2.2, production `Char`).
pub fn escaped(text: &str, is_changed: &mut bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // A literal line break or tab in an attribute reads as a space (XML 1.0, section
            // 3.3.3).
            '\t' | '\n' | '\r' => {
                let _ = write!(escaped, "&#{};", u32::from(c));
            }
            '\0'..' ' | '\u{fffe}' | '\u{ffff}' => {
                *is_changed = true;
                escaped.push('\u{fffd}');
            }
            _ => escaped.push(c),
        }
    }
    escaped
}

/// The attributes of an element, in their order.
pub type Attributes = Vec<(&'static str, String)>;

/// A document that is written in order, to any depth, without recursion.
#[derive(Clone, Debug)]
pub struct Document {
    text: String,
    open: Vec<Cow<'static, str>>,
    deepest: usize,
    is_changed: bool,
}

impl Default for Document {
    fn default() -> Self {
        Self {
            text: "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n".to_owned(),
            open: Vec::new(),
            deepest: 0,
            is_changed: false,
        }
    }
}

impl Document {
    /// Writes an element without content.
    pub fn leaf(&mut self, name: &'static str, attributes: Attributes) {
        self.tag(name, attributes, "/>\n");
    }

    /// Writes an element that contains text.
    pub fn text(&mut self, name: &'static str, attributes: Attributes, text: &str) {
        self.tag(name, attributes, ">");
        let text = escaped(text, &mut self.is_changed);
        let _ = writeln!(self.text, "{text}</{name}>");
    }

    /// Opens an element; everything written until [`Self::close`] is inside it.
    pub fn open(&mut self, name: &'static str, attributes: Attributes) {
        self.tag(name, attributes, ">\n");
        self.enter(Cow::Borrowed(name));
    }

    /// Opens an element with arbitrary names, and writes `text` as its first content.
    pub fn open_foreign(&mut self, name: &str, attributes: &[(String, String)], text: &str) {
        self.tag(
            name,
            attributes
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
            ">\n",
        );
        self.enter(Cow::Owned(name.to_owned()));
        if !text.is_empty() {
            self.indent();
            let text = escaped(text, &mut self.is_changed);
            let _ = writeln!(self.text, "{text}");
        }
    }

    /// Writes an element with arbitrary names that contains `text`, or nothing.
    pub fn foreign(&mut self, name: &str, attributes: &[(String, String)], text: &str) {
        let text = escaped(text, &mut self.is_changed);
        let end = if text.is_empty() {
            "/>\n".to_owned()
        } else {
            format!(">{text}</{name}>\n")
        };
        self.tag(
            name,
            attributes
                .iter()
                .map(|(name, value)| (name.as_str(), value.clone())),
            &end,
        );
    }

    /// Closes the innermost open element.
    pub fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            self.indent();
            let _ = writeln!(self.text, "</{name}>");
        }
    }

    /// Returns the maximum number of nested open elements so far.
    pub fn depth(&self) -> usize {
        self.deepest
    }

    /// Closes all open elements. Returns the text, and whether U+FFFD replaces characters that XML
    /// can't represent.
    pub fn finish(mut self) -> (String, bool) {
        while !self.open.is_empty() {
            self.close();
        }
        (self.text, self.is_changed)
    }

    fn enter(&mut self, name: Cow<'static, str>) {
        self.open.push(name);
        self.deepest = self.deepest.max(self.open.len());
    }

    fn indent(&mut self) {
        // Indentation stops here: further down it would make up most of the text.
        for _ in 0..self.open.len().min(64) {
            self.text.push_str("  ");
        }
    }

    fn tag<'n>(
        &mut self,
        name: &str,
        attributes: impl IntoIterator<Item = (&'n str, String)>,
        end: &str,
    ) {
        self.indent();
        let _ = write!(self.text, "<{name}");
        for (name, value) in attributes {
            let value = escaped(&value, &mut self.is_changed);
            let _ = write!(self.text, " {name}=\"{value}\"");
        }
        self.text.push_str(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_with_many_attributes_are_found() {
        let tag = |count| format!("<e {}/>", "é='=1 >' ".repeat(count));
        let found = |text: &str| crowded_tag(text, 3);
        assert_eq!(found(&format!("<a>======{}", tag(3))), None);
        assert_eq!(found(&format!("<a>= {}", tag(4))), Some(5));
        assert_eq!(
            found(&format!("<!--{}--><b c=\"{}", tag(4), tag(4))),
            Some(4)
        );
        assert_eq!(
            found("<!-- a=1 b=2 c=3 d=4 --><b c='= = = =' d='' e=''>f=g"),
            None
        );
        assert_eq!(found(&format!("<!ENTITY a \"{}\">", tag(4))), Some(12));
        assert_eq!(found("<a><![CDATA[a=1 b=2 c=3 d=4]]></a>"), None);
        assert_eq!(found("a=b c=d e=f g=h"), None);
        assert_eq!(found(&format!("a=b c=d e=f g=h{}", tag(4))), Some(15));
    }

    #[test]
    fn numbers_are_the_shortest_that_read_back() {
        let written = numbers([
            0.1,
            -0.0,
            1e-7,
            1e20,
            f64::NAN,
            f64::INFINITY,
            2.0,
            1.0 / 3.0,
        ]);
        assert_eq!(written, "0.1 0 1e-7 1e20 0 0 2 0.3333333333333333");
    }

    #[test]
    fn a_document_nests_and_escapes() {
        let mut document = Document::default();
        document.open("a", vec![("x", "1 < \"2\"\n".to_owned())]);
        document.leaf("b", Vec::new());
        document.text("c", Vec::new(), "&\u{1}");
        document.open("d", Vec::new());
        assert_eq!(document.depth(), 2);
        let (text, is_changed) = document.finish();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        let expected = [
            "<a x=\"1 &lt; &quot;2&quot;&#10;\">",
            "  <b/>",
            "  <c>&amp;\u{fffd}</c>",
            "  <d>",
            "  </d>",
            "</a>",
        ];
        assert_eq!((lines.as_slice(), is_changed), (&expected[..], true));
    }

    #[test]
    fn names_may_be_arbitrary() {
        let mut document = Document::default();
        let attributes = [("b:c".to_owned(), "<".to_owned())];
        document.open_foreign("a", &attributes, "x & y");
        document.foreign("d", &attributes, "");
        document.foreign("e", &[], "1");
        let (text, is_changed) = document.finish();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            (lines, is_changed),
            (
                vec![
                    "<a b:c=\"&lt;\">",
                    "  x &amp; y",
                    "  <d b:c=\"&lt;\"/>",
                    "  <e>1</e>",
                    "</a>"
                ],
                false
            )
        );
    }
}
