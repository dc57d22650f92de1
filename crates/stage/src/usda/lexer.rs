//! Splits the text of a layer into tokens, as OpenUSD 26.11 does.
//!
//! It knows neither statements nor types. Line ends are tokens, because the grammar needs them:
//! a statement ends at a line end or a semicolon.

use std::borrow::Cow;

use super::{Fault, Parsed};

/// A number as written. Integers keep all 64 bits; `-0` is a float, which has a sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Unsigned(u64),
    Negative(i64),
    Float(f64),
}

impl Number {
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Unsigned(number) => number as f64,
            Self::Negative(number) => number as f64,
            Self::Float(number) => number,
        }
    }
}

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'a> {
    /// One or several line ends, with blank and comment lines between them.
    Newline,
    /// An identifier or a keyword.
    Word(&'a str),
    /// Identifiers joined by `:`.
    Namespaced(&'a str),
    /// Identifiers joined by `::`, as C++ joins them.
    Scoped(&'a str),
    Number(Number),
    String(Cow<'a, str>),
    /// `@…@` or `@@@…@@@`.
    Asset(Cow<'a, str>),
    /// `<…>`.
    Path(&'a str),
    /// A punctuation character.
    Mark(u8),
    End,
}

impl Token<'_> {
    /// Returns how an error message names the token.
    pub fn describe(&self) -> Cow<'static, str> {
        match self {
            Self::Newline => "the end of the line".into(),
            Self::Word(word) | Self::Namespaced(word) | Self::Scoped(word) => {
                format!("`{word}`").into()
            }
            Self::Number(_) => "a number".into(),
            Self::String(_) => "a string".into(),
            Self::Asset(_) => "an asset path".into(),
            Self::Path(path) => format!("`<{path}>`").into(),
            Self::Mark(mark) => format!("`{}`", char::from(*mark)).into(),
            Self::End => "the end of the file".into(),
        }
    }
}

/// Reads tokens from text.
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Starts at a byte offset, which is a character boundary.
    pub fn new(text: &'a str, at: usize) -> Self {
        Self { text, at }
    }

    /// Returns the byte offset after the last token.
    pub fn offset(&self) -> usize {
        self.at
    }

    /// Returns the text between two byte offsets.
    pub fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.at, message)
    }

    /// Returns the next token and the byte offset that it starts at.
    ///
    /// # Errors
    /// If the text is not a token.
    pub fn next(&mut self) -> Parsed<(usize, Token<'a>)> {
        let before = self.at;
        if self.skip_blanks()? {
            return Ok((before, Token::Newline));
        }
        let start = self.at;
        let Some(byte) = self.byte(0) else {
            return Ok((start, Token::End));
        };
        let token = match byte {
            b'0'..=b'9' => self.number()?,
            b'.' if self.byte(1).is_some_and(|next| next.is_ascii_digit()) => self.number()?,
            b'-' if self.is_negative_number() => self.number()?,
            b'-' if self.rest().starts_with("-inf") => {
                self.at += 4;
                Token::Number(Number::Float(f64::NEG_INFINITY))
            }
            b'"' | b'\'' => Token::String(self.string(byte)?),
            b'@' => Token::Asset(self.asset()?),
            b'<' => self.path()?,
            b'=' | b',' | b':' | b';' | b'$' | b'.' | b'[' | b']' | b'(' | b')' | b'{' | b'}'
            | b'&' | b'-' => {
                self.at += 1;
                Token::Mark(byte)
            }
            _ => self.word()?,
        };
        Ok((start, token))
    }

    /// Skips white space and comments; returns whether that contained a line end.
    fn skip_blanks(&mut self) -> Parsed<bool> {
        let mut has_newline = false;
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(b' ' | b'\t'), _) => self.at += 1,
                (Some(b'\n' | b'\r'), _) => {
                    has_newline = true;
                    self.at += 1;
                }
                (Some(b'#'), _) | (Some(b'/'), Some(b'/')) => {
                    let rest = self.rest();
                    self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
                }
                (Some(b'/'), Some(b'*')) => {
                    let inside = self.rest().get(2..).unwrap_or_default();
                    let Some(end) = inside.find("*/") else {
                        return Err(self.fault("this comment has no end: add `*/`"));
                    };
                    self.at += end + 4;
                }
                _ => return Ok(has_newline),
            }
        }
    }

    fn is_negative_number(&self) -> bool {
        match self.byte(1) {
            Some(b'.') => self.byte(2).is_some_and(|next| next.is_ascii_digit()),
            Some(next) => next.is_ascii_digit(),
            None => false,
        }
    }

    fn skip_digits(&mut self) {
        while self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Parsed<Token<'a>> {
        let start = self.at;
        let mut is_integer = true;
        if self.byte(0) == Some(b'-') {
            self.at += 1;
        }
        self.skip_digits();
        if self.byte(0) == Some(b'.') {
            is_integer = false;
            self.at += 1;
            self.skip_digits();
        }
        if matches!(self.byte(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if self
                .byte(1 + sign)
                .is_some_and(|byte| byte.is_ascii_digit())
            {
                is_integer = false;
                self.at += 1 + sign;
                self.skip_digits();
            }
        }
        let written = self.slice(start, self.at);
        let integer = match written.strip_prefix('-') {
            _ if !is_integer => None,
            Some(_) => written
                .parse()
                .ok()
                .filter(|number| *number != 0)
                .map(Number::Negative),
            None => written.parse().ok().map(Number::Unsigned),
        };
        // Integers beyond 64 bits are read as floats, as OpenUSD does with a warning.
        match integer.or_else(|| written.parse().ok().map(Number::Float)) {
            Some(number) => Ok(Token::Number(number)),
            None => Err(Fault::new(start, format!("`{written}` is not a number"))),
        }
    }

    /// Reads a string in one or three quotation marks.
    fn string(&mut self, quote: u8) -> Parsed<Cow<'a, str>> {
        let bytes = self.text.as_bytes();
        let is_triple = self.byte(1) == Some(quote) && self.byte(2) == Some(quote);
        let width = if is_triple { 3 } else { 1 };
        let start = self.at + width;
        let mut at = start;
        loop {
            match bytes.get(at) {
                None => return Err(self.fault("this string has no end")),
                Some(b'\n' | b'\r') if !is_triple => {
                    return Err(self.fault(
                        "this string has no end on its line: use three quotation marks for a string of several lines",
                    ));
                }
                Some(b'\\') => at += 2,
                Some(byte) if *byte == quote => {
                    let closes = !is_triple
                        || (bytes.get(at + 1) == Some(&quote) && bytes.get(at + 2) == Some(&quote));
                    if closes {
                        break;
                    }
                    at += 1;
                }
                Some(_) => at += 1,
            }
        }
        self.at = at + width;
        Ok(unescape(self.slice(start, at)))
    }

    fn asset(&mut self) -> Parsed<Cow<'a, str>> {
        if self.rest().starts_with("@@@") {
            let start = self.at + 3;
            let mut at = start;
            loop {
                let rest = self.text.get(at..).unwrap_or_default();
                let line = rest.find('\n').unwrap_or(rest.len());
                let Some(end) = rest.find("@@@").filter(|end| *end < line) else {
                    return Err(self.fault("this asset path has no end: add `@@@`"));
                };
                if end > 0 && rest.as_bytes().get(end - 1) == Some(&b'\\') {
                    at += end + 3;
                    continue;
                }
                // `@@@@` ends a path that ends in `@`.
                let mut end = at + end;
                while self.text.as_bytes().get(end + 3) == Some(&b'@') {
                    end += 1;
                }
                self.at = end + 3;
                let path = self.slice(start, end);
                return Ok(match path.contains("\\@@@") {
                    true => path.replace("\\@@@", "@@@").into(),
                    false => path.into(),
                });
            }
        }
        let inside = self.text.get(self.at + 1..).unwrap_or_default();
        match inside.find(['@', '\n']) {
            Some(end) if inside.as_bytes().get(end) == Some(&b'@') => {
                let path = inside.get(..end).unwrap_or_default();
                self.at += end + 2;
                Ok(path.into())
            }
            _ => Err(self.fault("this asset path has no end: add `@`")),
        }
    }

    fn path(&mut self) -> Parsed<Token<'a>> {
        let inside = self.text.get(self.at + 1..).unwrap_or_default();
        match inside.find(['>', '<', '\n', '\r']) {
            Some(end) if inside.as_bytes().get(end) == Some(&b'>') => {
                self.at += end + 2;
                Ok(Token::Path(inside.get(..end).unwrap_or_default()))
            }
            _ => Err(self.fault("this path has no end: add `>`")),
        }
    }

    /// Returns the length of the identifier that `text` starts with.
    fn identifier(text: &str) -> usize {
        if text.starts_with(|first: char| first.is_ascii_digit()) {
            return 0;
        }
        text.find(|c: char| c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(text.len())
    }

    fn word(&mut self) -> Parsed<Token<'a>> {
        let rest = self.rest();
        let mut length = Self::identifier(rest);
        let mut joints = (0, 0);
        loop {
            let tail = rest.get(length..).unwrap_or_default();
            let (joint, next) = match tail.as_bytes() {
                [b':', b':', ..] => (2, tail.get(2..)),
                [b':', ..] => (1, tail.get(1..)),
                _ => break,
            };
            let more = Self::identifier(next.unwrap_or_default());
            if length == 0 || more == 0 {
                break;
            }
            length += joint + more;
            if joint == 1 {
                joints.0 += 1;
            } else {
                joints.1 += 1;
            }
        }
        let word = rest.get(..length).unwrap_or_default();
        let mut parts = word.split(':').filter(|part| !part.is_empty());
        if length == 0 || !parts.all(is_identifier) {
            let character = rest.chars().next().unwrap_or_default();
            return Err(self.fault(match length {
                0 => format!("unexpected character `{}`", character.escape_debug()),
                _ => format!("`{word}` is not a valid name"),
            }));
        }
        self.at += length;
        match joints {
            (0, 0) => Ok(Token::Word(word)),
            (_, 0) => Ok(Token::Namespaced(word)),
            (0, _) => Ok(Token::Scoped(word)),
            _ => Err(Fault::new(
                self.at - length,
                format!("`{word}` mixes `:` and `::`"),
            )),
        }
    }
}

/// Whether a word is an identifier. `sdf::Path::is_valid_identifier` also takes emoji.
pub fn is_identifier(word: &str) -> bool {
    let mut characters = word.chars();
    let is_first = |c: char| c == '_' || unicode_ident::is_xid_start(c);
    characters.next().is_some_and(is_first) && characters.all(unicode_ident::is_xid_continue)
}

/// Replaces the escapes of a string as OpenUSD's `TfEscapeString` does. An escape that it does not
/// know stands for the character after the backslash.
fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return text.into();
    }
    // Bytes, because `\xC3\xB6` is one character.
    let mut result = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            result.push(byte);
            continue;
        }
        let Some(escaped) = bytes.next() else { break };
        let (radix, mut value, digits) = match escaped {
            b'a' => (0, 7, 0),
            b'b' => (0, 8, 0),
            b'f' => (0, 12, 0),
            b'n' => (0, 10, 0),
            b'r' => (0, 13, 0),
            b't' => (0, 9, 0),
            b'v' => (0, 11, 0),
            b'x' => (16, 0, 2),
            b'0'..=b'7' => (8, u32::from(escaped - b'0'), 2),
            other => (0, u32::from(other), 0),
        };
        for _ in 0..digits {
            let digit = bytes
                .peek()
                .and_then(|byte| char::from(*byte).to_digit(radix));
            let Some(digit) = digit else { break };
            value = value * radix + digit;
            bytes.next();
        }
        result.push(value.to_le_bytes()[0]);
    }
    String::from_utf8(result)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
        .into()
}
