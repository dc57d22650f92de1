//! Extracts the name of a robot from a description that may be malformed.

/// Returns the `name` of the `robot` element without parsing the rest, so that the failure of a
/// malformed description is reported for the right robot.
pub(super) fn robot_name(text: &str) -> Option<String> {
    let mut rest = text;
    loop {
        rest = &rest[rest.find('<')?..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = &comment[comment.find("-->")?..];
        } else if let Some(tag) = rest
            .strip_prefix("<robot")
            .filter(|tag| tag.starts_with(|c: char| c.is_ascii_whitespace()))
        {
            return attribute(tag, "name")
                .map(|name| unescape(&name))
                .filter(|name| !name.trim().is_empty());
        } else {
            rest = &rest[1..];
        }
    }
}

/// Returns the value of an attribute; `tag` is the text after an element's name.
fn attribute(mut tag: &str, wanted: &str) -> Option<String> {
    loop {
        tag = tag.trim_start();
        let end =
            tag.find(|c: char| c == '=' || c == '>' || c == '/' || c.is_ascii_whitespace())?;
        let (name, rest) = tag.split_at(end);
        let rest = rest.trim_start().strip_prefix('=')?.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, rest) = rest[1..].split_once(quote)?;
        if name == wanted {
            return Some(value.to_owned());
        }
        tag = rest;
    }
}

fn unescape(value: &str) -> String {
    let pairs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        // Last, or `&amp;lt;` would become `<`.
        ("&amp;", "&"),
    ];
    pairs
        .iter()
        .fold(value.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::robot_name;
    use proptest::prelude::*;

    #[test]
    fn the_name_is_found_in_whole_and_broken_descriptions() {
        for (text, name) in [
            ("<robot name='arm'/>", Some("arm")),
            (
                "<?xml version='1.0'?>\n<!-- <robot name=\"old\"> -->\n<robot xmlns:xacro=\"http://x\" name = \"a &amp; b\">",
                Some("a & b"),
            ),
            (
                "<robot name=\"größe\"><link name=\"x\"></robo",
                Some("größe"),
            ),
            (
                "<robots name='no'/><robot version='1'\nname='yes'",
                Some("yes"),
            ),
            ("<robot><link name='x'/></robot>", None),
            ("<robot name='  '/>", None),
            ("<robot name=arm>", None),
            ("<robot name='arm", None),
            ("no robot", None),
            ("", None),
        ] {
            assert_eq!(robot_name(text).as_deref(), name, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(<robot|<!--|-->|name|=|'|\"|[ a<>/é]){0,20}") {
            let _ = robot_name(&text);
        }
    }
}
