//! Decodes the bytes of an XML file.

use std::borrow::Cow;

use super::codes;
use urdf_usd_diagnostic::{Diagnostic, Place};

/// The text of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The text.
    pub text: String,
    /// The finding about bytes that are invalid in the file's encoding. It names no file.
    pub finding: Option<Diagnostic>,
}

impl From<String> for Decoded {
    fn from(text: String) -> Self {
        Self {
            text,
            finding: None,
        }
    }
}

/// Decodes the bytes of a URDF file.
///
/// The encoding is taken from the byte order mark (UTF-8, UTF-16); without one, UTF-16 is
/// recognised by the first character, and otherwise the XML declaration decides: UTF-8, US-ASCII,
/// ISO-8859-1 or windows-1252 (XML 1.0, appendix F). Invalid bytes of UTF-8 are read as
/// windows-1252, so that names with different bytes stay different, as for parsers that compare
/// bytes. Those of UTF-16 become U+FFFD, which [`super::read`] reports with its place.
///
/// # Errors
/// Returns a diagnostic if the file declares, or has the byte order mark of, any other encoding.
pub fn decode(bytes: &[u8]) -> Result<Decoded, Diagnostic> {
    let text = match bytes {
        // Tested first: this byte order mark begins with that of UTF-16.
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => return Err(unsupported("UTF-32")),
        [0xef, 0xbb, 0xbf, rest @ ..] => return Ok(utf8(rest)),
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [b'<', 0, ..] => utf16(bytes, u16::from_le_bytes),
        [0, b'<', ..] => utf16(bytes, u16::from_be_bytes),
        _ => match declared(bytes)
            .unwrap_or_default()
            .to_ascii_lowercase()
            .as_str()
        {
            "" | "utf-8" | "utf8" | "us-ascii" | "ascii" => return Ok(utf8(bytes)),
            // Its bytes are the first 256 code points of Unicode.
            "iso-8859-1" | "iso8859-1" | "latin1" | "latin-1" => {
                bytes.iter().map(|&byte| char::from(byte)).collect()
            }
            "windows-1252" | "cp1252" => bytes.iter().map(|&byte| windows_1252(byte)).collect(),
            other => return Err(unsupported(other)),
        },
    };
    Ok(text.into())
}

fn utf8(bytes: &[u8]) -> Decoded {
    let mut decoded = Decoded::from(String::with_capacity(bytes.len()));
    for chunk in bytes.utf8_chunks() {
        decoded.text.push_str(chunk.valid());
        if chunk.invalid().is_empty() {
            continue;
        }
        let before = &decoded.text;
        decoded.finding.get_or_insert_with(|| {
            let line = before.rsplit('\n').next().unwrap_or_default();
            let place = Place {
                line: u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX),
                column: u32::try_from(line.chars().count() + 1).unwrap_or(u32::MAX),
                ..Place::default()
            };
            let message =
                "the text contains bytes that are invalid in UTF-8; they are read as windows-1252";
            Diagnostic::new(&codes::BROKEN_CHARACTERS, place, message)
                .help("save the file as UTF-8, or name its encoding in the XML declaration")
        });
        let guessed = chunk.invalid().iter().map(|&byte| windows_1252(byte));
        decoded.text.extend(guessed);
    }
    decoded
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    char::decode_utf16(pairs.iter().map(|&pair| unit(pair)))
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// Returns the encoding that the XML declaration names.
fn declared(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let head = String::from_utf8_lossy(bytes.get(..256).unwrap_or(bytes));
    let declaration = head
        .trim_start()
        .strip_prefix("<?xml")?
        .split("?>")
        .next()?;
    let value = declaration
        .split_once("encoding")?
        .1
        .trim_start()
        .strip_prefix('=')?
        .trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    Some(Cow::Owned(value.get(1..)?.split(quote).next()?.to_owned()))
}

/// Characters of windows-1252 for the bytes of ISO-8859-1's C1 control codes.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

fn windows_1252(byte: u8) -> char {
    let special = usize::from(byte)
        .checked_sub(0x80)
        .and_then(|index| WINDOWS_1252.get(index));
    special.copied().unwrap_or(char::from(byte))
}

fn unsupported(encoding: &str) -> Diagnostic {
    let message = format!("the text is encoded as {encoding}, which is not supported");
    let place = Place {
        line: 1,
        column: 1,
        ..Place::default()
    };
    Diagnostic::new(&codes::UNSUPPORTED_ENCODING, place, message).help("save the file as UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "<robot name=\"é\"/>";
        let le: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let be: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [
            text.as_bytes(),
            &[b"\xef\xbb\xbf", text.as_bytes()].concat(),
            &le,
            &be,
            &[b"\xff\xfe", &le[..]].concat(),
            &[b"\xfe\xff", &be[..]].concat(),
        ] {
            assert_eq!(decode(bytes).unwrap(), text.to_owned().into());
        }
        let declared = |encoding: &str, tail: &[u8]| {
            let mut bytes = format!("<?xml version='1.0' encoding = '{encoding}'?>").into_bytes();
            bytes.extend_from_slice(tail);
            decode(&bytes).map(|decoded| decoded.text)
        };
        assert!(declared("ISO-8859-1", b"\xe9").unwrap().ends_with('é'));
        assert!(
            declared("windows-1252", b"\x80\xe9")
                .unwrap()
                .ends_with("€é")
        );
        assert!(declared("UTF-8", "é".as_bytes()).unwrap().ends_with('é'));
        assert_eq!(
            declared("Shift_JIS", b"").unwrap_err().code,
            "urdf-unsupported-encoding"
        );
        assert_eq!(
            decode(b"\xff\xfe\0\0<\0\0\0").unwrap_err().code,
            "urdf-unsupported-encoding"
        );
        assert_eq!(decode(b"").unwrap(), String::new().into());
        let guessed = decode(b"\xc3\xa9\n\xe9a\xe4\x80b").unwrap();
        let finding = guessed.finding.unwrap();
        assert_eq!(guessed.text, "é\néaä€b");
        assert_eq!(finding.code, "urdf-broken-characters");
        assert_eq!((finding.place.line, finding.place.column), (2, 1));
        let half = decode(b"<\0\0\xd8").unwrap();
        assert_eq!(half, "<\u{fffd}".to_owned().into());
    }
}
