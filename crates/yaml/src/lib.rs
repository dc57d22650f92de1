//! YAML text → a tree with places, as ROS reads it: no aliases, names are scalars.
//!
//! This module must not know what the text is for.

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput, Tag};

/// The deepest nesting of maps and lists.
const DEEPEST: usize = 64;

/// A place in the text: line and column, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

impl From<Marker> for Mark {
    fn from(marker: Marker) -> Self {
        let column = u32::try_from(marker.col()).map_or(u32::MAX, |column| column.saturating_add(1));
        Self { line: u32::try_from(marker.line()).unwrap_or(u32::MAX), column }
    }
}

/// A node and where it begins.
#[derive(Clone, Debug)]
pub struct Yaml {
    /// Where it begins.
    pub at: Mark,
    /// What it is.
    pub content: Content,
}

/// What a node is.
#[derive(Clone, Debug)]
pub enum Content {
    /// A single value; empty and not quoted if nothing stands there.
    Scalar {
        /// As written, escapes resolved.
        text: String,
        /// Whether it is a text for sure.
        quoted: bool,
    },
    /// Values in order.
    List(Vec<Yaml>),
    /// Names and values in order.
    Map(Vec<(Key, Yaml)>),
}

impl Yaml {
    /// The entries, if it is a map.
    pub fn entries(&self) -> &[(Key, Yaml)] {
        match &self.content {
            Content::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The value of the entry `name`, if it is a map that has one.
    pub fn get(&self, name: &str) -> Option<&Yaml> {
        self.entries().iter().find(|(key, _)| key.text == name).map(|(_, value)| value)
    }

    /// The text, if it is a single value that is not empty.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } if !text.is_empty() => Some(text),
            _ => None,
        }
    }
}

/// The name of an entry.
#[derive(Clone, Debug)]
pub struct Key {
    /// Where it stands.
    pub at: Mark,
    /// Never empty.
    pub text: String,
}

/// Why a text could not be read.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Where.
    pub at: Mark,
    /// What is wrong.
    pub message: String,
    /// What to do about it; empty if that is plain.
    pub help: String,
}

fn fault(at: Marker, message: impl Into<String>) -> Fault {
    Fault { at: at.into(), message: message.into(), help: String::new() }
}

/// The documents in `text`.
///
/// # Errors
/// If it is not YAML, or uses a part of YAML that ROS refuses.
pub fn read(text: &str) -> Result<Vec<Yaml>, Fault> {
    let mut reader = Reader { parser: Parser::new_from_str(text) };
    let mut documents = Vec::new();
    loop {
        match reader.next()? {
            None => return Ok(documents),
            Some((Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd, _)) => {}
            Some((event, span)) => documents.push(reader.node(event, span, 0)?),
        }
    }
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Fault> {
        loop {
            match self.parser.next_event() {
                None => return Ok(None),
                Some(Err(error)) => {
                    let fault = fault(*error.marker(), format!("this is not YAML: {}", error.info()));
                    return Err(Fault { help: "mind indentation, quotes and brackets".to_owned(), ..fault });
                }
                Some(Ok((Event::Comment(..) | Event::Anchor(..), _))) => {}
                Some(Ok(event)) => return Ok(Some(event)),
            }
        }
    }

    fn inner(&mut self, at: Marker) -> Result<(Event<'a>, Span), Fault> {
        self.next()?.ok_or_else(|| fault(at, "this is not YAML: it ends too early"))
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Yaml, Fault> {
        let at = span.start;
        if depth > DEEPEST {
            return Err(fault(at, "nested too deeply"));
        }
        let content = match event {
            Event::Scalar(text, style, _, tag) => {
                let is_str = tag.is_some_and(|tag: std::borrow::Cow<'_, Tag>| tag.core_suffix() == Some("str"));
                // Where nothing stands the parser says `~`.
                let text = if span.is_empty() { String::new() } else { text.into_owned() };
                Content::Scalar { text, quoted: style != ScalarStyle::Plain || is_str }
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
            Event::Alias(_) => {
                let fault = fault(at, "aliases (`*name`) are not read");
                return Err(Fault { help: "write the value out; ROS 2 refuses aliases too".to_owned(), ..fault });
            }
            _ => return Err(fault(at, "this is no part of a document")),
        };
        Ok(Yaml { at: at.into(), content })
    }

    fn entry(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<(Key, Yaml), Fault> {
        let Event::Scalar(text, ..) = event else {
            return Err(fault(span.start, "a list or map can't be a name"));
        };
        if text.is_empty() {
            return Err(fault(span.start, "a name is empty"));
        }
        let key = Key { at: span.start.into(), text: text.into_owned() };
        let (event, span) = self.inner(span.start)?;
        Ok((key, self.node(event, span, depth + 1)?))
    }
}
