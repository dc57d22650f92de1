//! Splits the text of a layer into parts, by the rules of `openusd`'s lexer.

/// The kind of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A string, in one or three quotation marks.
    String,
    /// A reference in one or three `@`, a path in `<>`, or a comment.
    Opaque,
    /// Any other byte.
    Byte(u8),
}

/// Returns the first part of `text` and its length in bytes.
///
/// Returns `None` at the end, and at a string, reference or comment that is not closed: it is an error
/// for the lexer, which stops there.
pub fn part(text: &[u8]) -> Option<(Part, usize)> {
    let byte = *text.first()?;
    match byte {
        b'"' | b'\'' => string(text, byte).map(|length| (Part::String, length)),
        b'@' => reference(text).map(|length| (Part::Opaque, length)),
        b'<' => find(text, b">").map(|end| (Part::Opaque, end + 1)),
        b'#' => Some((
            Part::Opaque,
            text.iter()
                .position(|b| matches!(b, b'\r' | b'\n'))
                .unwrap_or(text.len()),
        )),
        _ => match text.strip_prefix(b"/*") {
            Some(inside) => find(inside, b"*/").map(|end| (Part::Opaque, end + 4)),
            None => Some((Part::Byte(byte), 1)),
        },
    }
}

/// Returns the length of the string at the start of `text`, in one or three of `quote`.
fn string(text: &[u8], quote: u8) -> Option<usize> {
    let three = [quote; 3];
    if let Some(end) = text
        .strip_prefix(&three)
        .and_then(|inside| find(inside, &three))
    {
        return Some(end + 6);
    }
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            &byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the length of the reference at the start of `text`, in one or three `@`.
fn reference(text: &[u8]) -> Option<usize> {
    if let Some(end) = text
        .strip_prefix(b"@@@")
        .and_then(|inside| find(inside, b"@@@"))
    {
        return Some(end + 6);
    }
    find(text.get(1..)?, b"@").map(|end| end + 2)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    let first = *what.first()?;
    let mut at = 0;
    loop {
        at += text.get(at..)?.iter().position(|&byte| byte == first)?;
        if text.get(at..)?.starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
}
