//! YAML text → a tree with places. Names are scalars. As ROS reads it there are no aliases; files
//! of others may have them.
//!
//! This module must not know what the text is for.

use std::collections::HashMap;

use granit_parser::{Event, Marker, Parser, ScalarStyle, Span, StrInput, Tag};

/// The deepest nesting of maps and lists.
const DEEPEST: usize = 64;

/// The most values that a text with aliases may come to: each alias stands for all that its anchor
/// has.
const MOST_VALUES: usize = 1_000_000;

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
        let column =
            u32::try_from(marker.col()).map_or(u32::MAX, |column| column.saturating_add(1));
        Self {
            line: u32::try_from(marker.line()).unwrap_or(u32::MAX),
            column,
        }
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
        self.entries()
            .iter()
            .find(|(key, _)| key.text == name)
            .map(|(_, value)| value)
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
    Fault {
        at: at.into(),
        message: message.into(),
        help: String::new(),
    }
}

/// The documents in `text`, as ROS reads them.
///
/// # Errors
/// If it is not YAML, or uses a part of YAML that ROS refuses.
pub fn read(text: &str) -> Result<Vec<Yaml>, Fault> {
    documents(Reader {
        parser: Parser::new_from_str(text),
        anchors: None,
    })
}

/// The documents in `text`, with the values of aliases (`*name`) in their place (YAML 1.2, §7.1).
/// Such a value keeps the place of its anchor (`&name`).
///
/// # Errors
/// If it is not YAML, a list or map is a name, or the values that aliases stand for are too many.
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
    /// What aliases may refer to; `None`: there may be none.
    anchors: Option<Anchors>,
}

/// What anchors stand for, by their numbers.
#[derive(Default)]
struct Anchors {
    /// Each with how many values are in it, and how deep they are nested.
    known: HashMap<usize, (Yaml, usize, usize)>,
    /// How many values were copied.
    copied: usize,
}

/// How many values are in one, itself included, and how deep they are nested.
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
                        help: "mind indentation, quotes and brackets".to_owned(),
                        ..fault
                    });
                }
                Some(Ok((Event::Comment(..) | Event::Anchor(..), _))) => {}
                Some(Ok(event)) => return Ok(Some(event)),
            }
        }
    }

    fn inner(&mut self, at: Marker) -> Result<(Event<'a>, Span), Fault> {
        self.next()?
            .ok_or_else(|| fault(at, "this is not YAML: it ends too early"))
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Yaml, Fault> {
        let at = span.start;
        if depth > DEEPEST {
            return Err(fault(at, "nested too deeply"));
        }
        let anchor = event.anchor_id();
        let content = match event {
            Event::Scalar(text, style, _, tag) => {
                let is_str = tag
                    .is_some_and(|tag: std::borrow::Cow<'_, Tag>| tag.core_suffix() == Some("str"));
                // Where nothing stands the parser says `~`.
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
            _ => return Err(fault(at, "this is no part of a document")),
        };
        let value = Yaml {
            at: at.into(),
            content,
        };
        if let (Some(anchors), Some(anchor)) = (&mut self.anchors, anchor) {
            let (count, deep) = size(&value);
            // What is kept beside the tree counts as well.
            anchors.add(count, at)?;
            anchors.known.insert(anchor, (value.clone(), count, deep));
        }
        Ok(value)
    }

    /// What an alias stands for.
    fn alias(&mut self, anchor: usize, at: Marker, depth: usize) -> Result<Yaml, Fault> {
        let Some(anchors) = &mut self.anchors else {
            let fault = fault(at, "aliases (`*name`) are not read");
            return Err(Fault {
                help: "write the value out; ROS 2 refuses aliases too".to_owned(),
                ..fault
            });
        };
        let Some((value, count, deep)) = anchors.known.get(&anchor).cloned() else {
            return Err(fault(
                at,
                "this alias (`*name`) stands inside of what it refers to",
            ));
        };
        if depth + deep > DEEPEST {
            return Err(fault(at, "nested too deeply"));
        }
        anchors.add(count, at)?;
        Ok(value)
    }

    fn entry(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<(Key, Yaml), Fault> {
        let name = match event {
            event @ (Event::Scalar(..) | Event::Alias(_)) => self.node(event, span, depth)?.content,
            _ => return Err(fault(span.start, "a list or map can't be a name")),
        };
        let Content::Scalar { text, .. } = name else {
            return Err(fault(span.start, "a list or map can't be a name"));
        };
        if text.is_empty() {
            return Err(fault(span.start, "a name is empty"));
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
    /// Counts values that are copied.
    fn add(&mut self, count: usize, at: Marker) -> Result<(), Fault> {
        self.copied += count;
        if self.copied > MOST_VALUES {
            let fault = fault(
                at,
                format!("aliases (`*name`) stand for more than {MOST_VALUES} values"),
            );
            return Err(Fault {
                help: "write out what is meant".to_owned(),
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
