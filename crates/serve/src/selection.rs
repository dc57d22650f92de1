//! Conditional and range requests (RFC 9110 §13 and §14).
//!
//! Pure functions of header fields and a content's tag and length. Not the crate `headers`: it does
//! not tell which tag of a list matched, and rejects a range whose end has too many digits.

use std::ops::Range;

use axum::http::{HeaderMap, HeaderValue, Method, header};

/// The part of a content to send.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// The client's copy is current; holds the tag as the client knows it.
    NotModified(HeaderValue),
    /// The whole content.
    Whole,
    /// A non-empty range of bytes.
    Part(Range<u64>),
    /// The range is outside the content.
    Unsatisfiable,
}

impl Selection {
    /// Evaluates `headers` for a content with the strong entity tag `tag` and `length` bytes.
    pub(super) fn from_headers(
        method: &Method,
        headers: &HeaderMap,
        tag: &HeaderValue,
        length: u64,
    ) -> Self {
        if let Some(known) = known_tag(headers, tag) {
            return Self::NotModified(known);
        }
        // A range of another content is useless, and only GET has ranges.
        let same = headers
            // Compared strongly (RFC 9110 §13.1.5): neither a weak tag nor a date is equal to
            // `tag`.
            .get(header::IF_RANGE)
            .is_none_or(|condition| condition == tag);
        match headers
            .get(header::RANGE)
            .and_then(|range| range.to_str().ok())
        {
            Some(range) if same && method == Method::GET => part(range, length),
            _ => Self::Whole,
        }
    }
}

/// Returns the tag in `If-None-Match` that matches `tag`. The comparison is weak (§13.1.2), since
/// compressed responses have weak tags.
fn known_tag(headers: &HeaderMap, tag: &HeaderValue) -> Option<HeaderValue> {
    let strong = tag.to_str().ok()?;
    let fields = headers
        .get_all(header::IF_NONE_MATCH)
        .iter()
        .filter_map(|field| field.to_str().ok());
    let known = fields
        .flat_map(|field| field.split(','))
        .map(str::trim)
        .find_map(|known| match known.strip_prefix("W/") {
            Some(opaque) if opaque == strong => Some(known),
            None if known == "*" || known == strong => Some(strong),
            _ => None,
        })?;
    HeaderValue::from_str(known).ok()
}

/// Parses a single range of bytes. Several ranges, other units and malformed values are ignored, as
/// §14.2 allows.
fn part(range: &str, length: u64) -> Selection {
    let Some((first, last)) = range
        .strip_prefix("bytes=")
        .and_then(|set| set.trim().split_once('-'))
    else {
        return Selection::Whole;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        // A number that overflows is beyond the end of any file.
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let bytes = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        // A suffix range: the last `count` bytes (RFC 9110 §14.1.2).
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return Selection::Whole,
    };
    if bytes.is_empty() {
        Selection::Unsatisfiable
    } else {
        Selection::Part(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: Method, fields: &[(header::HeaderName, &str)], length: u64) -> Selection {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        Selection::from_headers(
            &method,
            &headers,
            &HeaderValue::from_static("\"a\""),
            length,
        )
    }

    fn range(range: &str, length: u64) -> Selection {
        of(Method::GET, &[(header::RANGE, range)], length)
    }

    #[test]
    fn ranges() {
        for (text, wanted) in [
            ("bytes=0-0", Selection::Part(0..1)),
            ("bytes=2-4", Selection::Part(2..5)),
            ("bytes=2-", Selection::Part(2..10)),
            ("bytes=-3", Selection::Part(7..10)),
            ("bytes=-30", Selection::Part(0..10)),
            ("bytes=2-99", Selection::Part(2..10)),
            ("bytes=2-99999999999999999999999", Selection::Part(2..10)),
            ("bytes=10-", Selection::Unsatisfiable),
            ("bytes=10-12", Selection::Unsatisfiable),
            ("bytes=-0", Selection::Unsatisfiable),
            ("bytes=99999999999999999999999-", Selection::Unsatisfiable),
            ("bytes=4-2", Selection::Whole),
            ("bytes=0-1,4-5", Selection::Whole),
            ("bytes=-", Selection::Whole),
            ("bytes=a-b", Selection::Whole),
            ("bytes=+1-2", Selection::Whole),
            ("lines=0-1", Selection::Whole),
            ("", Selection::Whole),
        ] {
            assert_eq!(range(text, 10), wanted, "{text:?}");
        }
        assert_eq!(
            (range("bytes=0-", 0), range("bytes=-1", 0)),
            (Selection::Unsatisfiable, Selection::Unsatisfiable)
        );
    }

    #[test]
    fn a_range_of_another_content_or_of_another_method_is_none() {
        let with = |condition| {
            of(
                Method::GET,
                &[(header::RANGE, "bytes=1-2"), (header::IF_RANGE, condition)],
                10,
            )
        };
        assert_eq!(with("\"a\""), Selection::Part(1..3));
        for other in ["\"b\"", "W/\"a\"", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(with(other), Selection::Whole, "{other}");
        }
        assert_eq!(
            of(Method::HEAD, &[(header::RANGE, "bytes=1-2")], 10),
            Selection::Whole
        );
    }

    #[test]
    fn current_content_is_not_modified() {
        let with = |known| {
            of(
                Method::GET,
                &[(header::IF_NONE_MATCH, known), (header::RANGE, "bytes=0-1")],
                10,
            )
        };
        let tag = |tag| Selection::NotModified(HeaderValue::from_static(tag));
        assert_eq!(
            (with("\"a\""), with("\"b\", \"a\""), with("*")),
            (tag("\"a\""), tag("\"a\""), tag("\"a\""))
        );
        assert_eq!(with("W/\"a\""), tag("W/\"a\""));
        assert_eq!(
            (with("\"b\""), with("a")),
            (Selection::Part(0..2), Selection::Part(0..2))
        );
        let two = [
            (header::IF_NONE_MATCH, "\"b\""),
            (header::IF_NONE_MATCH, "\"a\""),
        ];
        assert_eq!(of(Method::HEAD, &two, 10), tag("\"a\""));
    }
}
