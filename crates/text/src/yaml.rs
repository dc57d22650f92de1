//! Parses YAML into a tree with the position of every value.
//!
//! Keys are scalars. [`read`] accepts the subset that ROS 2 reads, which has no aliases;
//! [`read_with_aliases`] expands them. This module knows nothing of the purpose of a text.

use std::collections::HashMap;

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput, Tag};

/// Maximum nesting of maps and lists.
const MAX_DEPTH: usize = 64;

/// Maximum number of values that aliases may expand to. Nested aliases grow exponentially ("billion
/// laughs").
const MAX_ALIAS_VALUES: usize = 1_000_000;

/// A position in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// 1-based line.
    pub line: u32,
    /// 1-based column, in characters.
    pub column: u32,
}

impl From<Marker> for Mark {
    fn from(marker: Marker) -> Self {
        let column =
            u32::try_from(marker.col()).map_or(u32::MAX, |column| column.saturating_add(1));
        Self {
            line: u32::try_from(marker.line()).unwrap_or(u32::MAX),
            column,
        }
    }
}

/// A node and its position.
#[derive(Clone, Debug)]
pub struct Yaml {
    /// Position of its first character.
    pub at: Mark,
    /// Its value.
    pub content: Content,
}

/// The value of a node.
#[derive(Clone, Debug)]
pub enum Content {
    /// A scalar; empty and not quoted where the text has no value.
    Scalar {
        /// Text with escapes resolved.
        text: String,
        /// Whether it is a string for certain: quoted, a block scalar, or tagged `!!str`.
        quoted: bool,
    },
    /// Values in order.
    List(Vec<Yaml>),
    /// Keys and values in order.
    Map(Vec<(Key, Yaml)>),
}

impl Yaml {
    /// Returns the entries of a map; empty for any other node.
    pub fn entries(&self) -> &[(Key, Yaml)] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// Returns the value of the key `name` of a map.
    pub fn get(&self, name: &str) -> Option<&Yaml> {
        self.entries()
            .iter()
            .find(|(key, _)| key.text == name)
            .map(|(_, value)| value)
    }

    /// Returns the text of a scalar that is not empty.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}

/// The key of an entry.
#[derive(Clone, Debug)]
pub struct Key {
    /// Position of its first character.
    pub at: Mark,
    /// Never empty.
    pub text: String,
}

/// A syntax error, or a construct that is not supported.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Position of the error.
    pub at: Mark,
    /// What is wrong.
    pub message: String,
    /// Remedy; empty if the message says enough.
    pub help: String,
}

fn fault(at: Marker, message: impl Into<String>) -> Fault {
    Fault {
        at: at.into(),
        message: message.into(),
        help: String::new(),
    }
}

/// Reads the documents in `text` in the subset of YAML that ROS 2 accepts.
///
/// # Errors
/// Returns a [`Fault`] if `text` is not YAML, or uses a construct that ROS 2 refuses.
pub fn read(text: &str) -> Result<Vec<Yaml>, Fault> {
    documents(Reader {
        parser: Parser::new_from_str(text),
        anchors: None,
    })
}

/// Reads the documents in `text`, with aliases (`*name`) expanded (YAML 1.2, section 7.1).
///
/// An expanded value keeps the position of its anchor (`&name`).
///
/// # Errors
/// Returns a [`Fault`] if `text` is not YAML, if a key is a list or map, or if aliases expand to
/// too many values.
pub fn read_with_aliases(text: &str) -> Result<Vec<Yaml>, Fault> {
    documents(Reader {
        parser: Parser::new_from_str(text),
        anchors: Some(Anchors::default()),
    })
}

fn documents(mut reader: Reader<'_>) -> Result<Vec<Yaml>, Fault> {
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            None => return Ok(documents),
            Some((
                Event::StreamStart
                | Event::StreamEnd
                | Event::DocumentStart(..)
                | Event::DocumentEnd,
                _,
            )) => {}
            Some((event, span)) => documents.push(reader.node(event, span, 0)?),
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// Targets of aliases; `None` if aliases are refused.
    anchors: Option<Anchors>,
}

/// Anchored values by the parser's numbers.
#[derive(Default)]
struct Anchors {
    /// Values with their size and depth.
    known: HashMap<usize, (Yaml, usize, usize)>,
    /// Number of values copied so far.
    copied: usize,
}

/// Returns the number of values in `value`, itself included, and their nesting depth.
fn size(value: &Yaml) -> (usize, usize) {
    let inner: Vec<&Yaml> = match &value.content {
        Content::Scalar { .. } => Vec::new(),
        Content::List(items) => items.iter().collect(),
        Content::Map(entries) => entries.iter().map(|(_, value)| value).collect(),
    };
    let sum = |(count, depth): (usize, usize), (more, deeper): (usize, usize)| {
        (count + more, depth.max(deeper + 1))
    };
    inner.into_iter().map(size).fold((1, 0), sum)
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Fault> {
        loop {
            match self.parser.next_event() {
                None => return Ok(None),
                Some(Err(error)) => {
                    let fault = fault(
                        *error.marker(),
                        format!("this is not YAML: {}", error.info()),
                    );
                    return Err(Fault {
                        help: "check indentation, quotes and brackets".to_owned(),
                        ..fault
                    });
                }
                Some(Ok((Event::Comment(..) | Event::Anchor(..), _))) => {}
                Some(Ok(event)) => return Ok(Some(event)),
            }
        }
    }

    /// Returns the next event within a collection; the end of the text is an error at `at`.
    fn inner(&mut self, at: Marker) -> Result<(Event<'a>, Span), Fault> {
        self.next()?
            .ok_or_else(|| fault(at, "this is not YAML: unexpected end of the text"))
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Yaml, Fault> {
        let at = span.start;
        if depth > MAX_DEPTH {
            return Err(fault(at, "nested too deeply"));
        }
        let anchor = event.anchor_id();
        let content = match event {
            Event::Scalar(text, style, _, tag) => {
                let is_str = tag
                    .is_some_and(|tag: std::borrow::Cow<'_, Tag>| tag.core_suffix() == Some("str"));
                // The parser returns `~` for a missing value; its span is empty.
                let text = if span.is_empty() {
                    String::new()
                } else {
                    text.into_owned()
                };
                Content::Scalar {
                    text,
                    quoted: style != ScalarStyle::Plain || is_str,
                }
            }
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    match self.inner(at)? {
                        (Event::SequenceEnd, _) => break Content::List(items),
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(..) => {
                let mut entries = Vec::new();
                loop {
                    match self.inner(at)? {
                        (Event::MappingEnd, _) => break Content::Map(entries),
                        (event, span) => entries.push(self.entry(event, span, depth)?),
                    }
                }
            }
            Event::Alias(anchor) => return self.alias(anchor, at, depth),
            _ => return Err(fault(at, "unexpected YAML event")),
        };
        let value = Yaml {
            at: at.into(),
            content,
        };
        if let (Some(anchors), Some(anchor)) = (&mut self.anchors, anchor) {
            let (count, deep) = size(&value);
            // The copy kept for aliases counts as well.
            anchors.add(count, at)?;
            anchors.known.insert(anchor, (value.clone(), count, deep));
        }
        Ok(value)
    }

    /// Returns the value that an alias refers to.
    fn alias(&mut self, anchor: usize, at: Marker, depth: usize) -> Result<Yaml, Fault> {
        let Some(anchors) = &mut self.anchors else {
            let fault = fault(at, "aliases (`*name`) are not supported");
            return Err(Fault {
                help: "write the value out; ROS 2 refuses aliases too".to_owned(),
                ..fault
            });
        };
        // An anchor is known once its value is complete, so an unknown one contains this
        // alias; a name without an anchor is an error of the parser.
        let Some((value, count, deep)) = anchors.known.get(&anchor).cloned() else {
            return Err(fault(
                at,
                "this alias (`*name`) refers to a value that contains it",
            ));
        };
        if depth + deep > MAX_DEPTH {
            return Err(fault(at, "nested too deeply"));
        }
        anchors.add(count, at)?;
        Ok(value)
    }

    fn entry(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<(Key, Yaml), Fault> {
        let name = match event {
            event @ (Event::Scalar(..) | Event::Alias(_)) => self.node(event, span, depth)?.content,
            _ => {
                return Err(fault(
                    span.start,
                    "a key must be a scalar, not a list or map",
                ));
            }
        };
        let Content::Scalar { text, .. } = name else {
            return Err(fault(
                span.start,
                "a key must be a scalar, not a list or map",
            ));
        };
        if text.is_empty() {
            return Err(fault(span.start, "a key is empty"));
        }
        let key = Key {
            at: span.start.into(),
            text,
        };
        let (event, span) = self.inner(span.start)?;
        Ok((key, self.node(event, span, depth + 1)?))
    }
}

impl Anchors {
    /// Counts copied values.
    fn add(&mut self, count: usize, at: Marker) -> Result<(), Fault> {
        self.copied += count;
        if self.copied > MAX_ALIAS_VALUES {
            let fault = fault(
                at,
                format!("aliases (`*name`) expand to more than {MAX_ALIAS_VALUES} values"),
            );
            return Err(Fault {
                help: "write the values out".to_owned(),
                ..fault
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_what_their_anchors_are() {
        let text = "a: &one [1, &two x]\nb: *one\nc: {d: *two, *two : 2}\n";
        let documents = read_with_aliases(text).unwrap();
        let of = |name: &str| format!("{:?}", documents[0].get(name).unwrap());
        assert_eq!(of("b"), of("a"));
        let c = documents[0].get("c").unwrap();
        assert_eq!(
            (c.get("d").unwrap().text(), c.get("x").unwrap().text()),
            (Some("x"), Some("2"))
        );
        let fault = read(text).unwrap_err();
        assert_eq!((fault.at.line, fault.at.column), (2, 4));
    }

    #[test]
    fn aliases_have_bounds() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for k in 1..20 {
            text += &format!(
                "a{k}: &a{k} [{}]\n",
                vec![format!("*a{}", k - 1); 10].join(", ")
            );
        }
        assert!(
            read_with_aliases(&text)
                .unwrap_err()
                .message
                .contains("more than")
        );
        let mut text = "a0: &a0 [x]\n".to_owned();
        for k in 1..100 {
            text += &format!("a{k}: &a{k} [*a{}]\n", k - 1);
        }
        assert_eq!(
            read_with_aliases(&text).unwrap_err().message,
            "nested too deeply"
        );
        for text in ["a: &a [*a]", "a: *b", "? &a [1]\n: 2", "b: &b [1]\n*b : 1"] {
            assert!(read_with_aliases(text).is_err(), "{text}");
        }
    }
}
