//! What a request wants of a content: nothing new, all of it, or a part (RFC 9110 §13 and §14).
//!
//! Pure: it compares header fields with a content's tag and length. By hand, since the crate
//! `headers` neither tells which tag of a list matched nor accepts a range whose end has too many
//! digits.

use std::ops::Range;

use axum::http::{HeaderMap, HeaderValue, Method, header};

/// What is to be sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// What the client has is current; its tag as the client knows it.
    Nothing(HeaderValue),
    /// The whole content.
    Whole,
    /// These bytes of it, at least one.
    Part(Range<u64>),
    /// Bytes that it does not have.
    Beyond,
}

impl Wanted {
    /// What `headers` ask of a content with the strong entity tag `tag` and `length` bytes.
    pub(super) fn of(method: &Method, headers: &HeaderMap, tag: &HeaderValue, length: u64) -> Self {
        if let Some(known) = known_tag(headers, tag) {
            return Self::Nothing(known);
        }
        // A range of another content is worth nothing, and only GET has ranges.
        let same = headers
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

/// The tag in `If-None-Match` that means `tag`: weak ones do too, since compressed content goes by
/// them.
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

/// One range of bytes. Several at once, other units and what can't be read are passed over, as the
/// RFC allows.
fn part(range: &str, length: u64) -> Wanted {
    let Some((first, last)) = range
        .strip_prefix("bytes=")
        .and_then(|set| set.trim().split_once('-'))
    else {
        return Wanted::Whole;
    };
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        // More digits than a number can have is more bytes than any file has.
        digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let bytes = match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => first..last.saturating_add(1).min(length),
        (Some(first), None) if last.is_empty() => first..length,
        (None, Some(count)) if first.is_empty() => length.saturating_sub(count)..length,
        _ => return Wanted::Whole,
    };
    if bytes.is_empty() {
        Wanted::Beyond
    } else {
        Wanted::Part(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(method: Method, fields: &[(header::HeaderName, &str)], length: u64) -> Wanted {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        Wanted::of(
            &method,
            &headers,
            &HeaderValue::from_static("\"a\""),
            length,
        )
    }

    fn range(range: &str, length: u64) -> Wanted {
        of(Method::GET, &[(header::RANGE, range)], length)
    }

    #[test]
    fn ranges() {
        for (text, wanted) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-4", Wanted::Part(2..5)),
            ("bytes=2-", Wanted::Part(2..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=2-99", Wanted::Part(2..10)),
            ("bytes=2-99999999999999999999999", Wanted::Part(2..10)),
            ("bytes=10-", Wanted::Beyond),
            ("bytes=10-12", Wanted::Beyond),
            ("bytes=-0", Wanted::Beyond),
            ("bytes=99999999999999999999999-", Wanted::Beyond),
            ("bytes=4-2", Wanted::Whole),
            ("bytes=0-1,4-5", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes=+1-2", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("", Wanted::Whole),
        ] {
            assert_eq!(range(text, 10), wanted, "{text:?}");
        }
        assert_eq!(
            (range("bytes=0-", 0), range("bytes=-1", 0)),
            (Wanted::Beyond, Wanted::Beyond)
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
        assert_eq!(with("\"a\""), Wanted::Part(1..3));
        for other in ["\"b\"", "W/\"a\"", "Wed, 21 Oct 2015 07:28:00 GMT"] {
            assert_eq!(with(other), Wanted::Whole, "{other}");
        }
        assert_eq!(
            of(Method::HEAD, &[(header::RANGE, "bytes=1-2")], 10),
            Wanted::Whole
        );
    }

    #[test]
    fn what_is_known_is_not_sent_again() {
        let with = |known| {
            of(
                Method::GET,
                &[(header::IF_NONE_MATCH, known), (header::RANGE, "bytes=0-1")],
                10,
            )
        };
        let tag = |tag| Wanted::Nothing(HeaderValue::from_static(tag));
        assert_eq!(
            (with("\"a\""), with("\"b\", \"a\""), with("*")),
            (tag("\"a\""), tag("\"a\""), tag("\"a\""))
        );
        assert_eq!(with("W/\"a\""), tag("W/\"a\""));
        assert_eq!(
            (with("\"b\""), with("a")),
            (Wanted::Part(0..2), Wanted::Part(0..2))
        );
        let two = [
            (header::IF_NONE_MATCH, "\"b\""),
            (header::IF_NONE_MATCH, "\"a\""),
        ];
        assert_eq!(of(Method::HEAD, &two, 10), tag("\"a\""));
    }
}
