//! Maps JSON pointers to positions in a JSON text.

use std::borrow::Cow;
use std::collections::HashMap;

/// Returns the line and column (both from 1, in characters) of the value at each pointer, or of its
/// deepest existing ancestor, in one pass over the text. `text` must be valid JSON.
pub fn of(text: &str, pointers: &[&str]) -> Vec<(u32, u32)> {
    let mut wanted = Wanted::default();
    for (id, pointer) in pointers.iter().enumerate() {
        let mut here = &mut wanted;
        for segment in pointer.split('/').skip(1) {
            here = here
                .below
                .entry(segment.replace("~1", "/").replace("~0", "~"))
                .or_default();
        }
        here.ids.push(id);
    }
    let mut offsets = vec![0; pointers.len()];
    Scanner { text, at: 0 }.find(&wanted, &mut offsets);
    lines_and_columns(text, &offsets)
}

fn lines_and_columns(text: &str, offsets: &[usize]) -> Vec<(u32, u32)> {
    let mut order: Vec<usize> = (0..offsets.len()).collect();
    // In the order of the text, which is then scanned once.
    order.sort_by_key(|&id| offsets.get(id));
    let mut places = vec![(1, 1); offsets.len()];
    let (mut at, mut line, mut column) = (0, 1_u32, 1_u32);
    for id in order {
        let Some((&offset, place)) = offsets.get(id).zip(places.get_mut(id)) else {
            continue;
        };
        for c in text.get(at..offset).unwrap_or_default().chars() {
            (line, column) = if c == '\n' {
                (line.saturating_add(1), 1)
            } else {
                (line, column.saturating_add(1))
            };
        }
        at = offset;
        *place = (line, column);
    }
    places
}

/// Wanted pointers as a tree of their segments.
#[derive(Default)]
struct Wanted {
    /// Indices of the pointers that end here.
    ids: Vec<usize>,
    below: HashMap<String, Wanted>,
}

impl Wanted {
    /// Sets the offset of this value and of everything below. Values that exist overwrite it later,
    /// so absent ones keep the offset of their ancestor.
    fn set(&self, offset: usize, offsets: &mut [usize]) {
        for &id in &self.ids {
            if let Some(slot) = offsets.get_mut(id) {
                *slot = offset;
            }
        }
        self.below
            .values()
            .for_each(|below| below.set(offset, offsets));
    }
}

/// Scanner of a text that is valid JSON. On other text it returns arbitrary positions, but
/// terminates.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn find(&mut self, wanted: &Wanted, offsets: &mut [usize]) {
        self.skip_space();
        wanted.set(self.at, offsets);
        match self.peek() {
            Some(b'{') if !wanted.below.is_empty() => self.find_in_object(wanted, offsets),
            Some(b'[') if !wanted.below.is_empty() => self.find_in_array(wanted, offsets),
            _ => self.skip_value(),
        }
    }

    fn find_in_object(&mut self, wanted: &Wanted, offsets: &mut [usize]) {
        self.at += 1;
        while self.next_is_item(b'}') {
            let key = self.key();
            self.skip_space();
            self.at += 1; // the colon
            match wanted.below.get(key.as_ref()) {
                Some(below) => self.find(below, offsets),
                None => self.skip_value(),
            }
        }
    }

    fn find_in_array(&mut self, wanted: &Wanted, offsets: &mut [usize]) {
        self.at += 1;
        let mut index = 0_usize;
        while self.next_is_item(b']') {
            match wanted.below.get(&index.to_string()) {
                Some(below) => self.find(below, offsets),
                None => self.skip_value(),
            }
            index += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Skips a comma, if there is one. Returns whether another item follows; otherwise skips the
    /// `end` of the list.
    fn next_is_item(&mut self, end: u8) -> bool {
        self.skip_space();
        if self.peek() == Some(b',') {
            self.at += 1;
            self.skip_space();
        }
        match self.peek() {
            Some(byte) if byte != end => true,
            _ => {
                self.at += 1;
                false
            }
        }
    }

    fn key(&mut self) -> Cow<'a, str> {
        let start = self.at;
        self.skip_string();
        let quoted = self.text.get(start..self.at).unwrap_or_default();
        match quoted
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
        {
            Some(plain) if !plain.contains('\\') => Cow::Borrowed(plain),
            _ => Cow::Owned(serde_json::from_str(quoted).unwrap_or_default()),
        }
    }

    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.peek() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
    }

    fn skip_value(&mut self) {
        self.skip_space();
        let mut depth = 0_usize;
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => self.skip_string(),
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' if depth > 0 => {
                    depth -= 1;
                    self.at += 1;
                }
                // The end of the list that contains the number or literal.
                b'}' | b']' => break,
                b',' if depth == 0 => break,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            if depth == 0 {
                break;
            }
        }
        // Always advance, so that invalid JSON can't cause an endless loop.
        self.at = self.at.max(start + usize::from(self.at == start));
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn pointers_lead_to_their_values() {
        let text = "{\n  \"a\": [1, {\"b/c\": \"x]\\\"\", \"dé\": 2}, \"é\", [[], 7.5e3]],\n  \"k\\u0065y\": null\n}\n";
        let found = of(
            text,
            &[
                "",
                "/a",
                "/a/1/b~1c",
                "/a/1/dé",
                "/a/2",
                "/a/3/1",
                "/key",
                "/a/1/none/0",
                "/a/9",
            ],
        );
        assert_eq!(
            found,
            [
                (1, 1),
                (2, 8),
                (2, 20),
                (2, 34),
                (2, 38),
                (2, 48),
                (3, 15),
                (2, 12),
                (2, 8)
            ]
        );
    }

    #[test]
    fn any_text_ends() {
        for text in [
            "",
            "{",
            "[",
            "{\"",
            "{\"a",
            "{\"a\":",
            "[}",
            "{]",
            "}{",
            "[1,,2",
            "\"\\",
            "{\"a\" 1}",
            "[[[[",
            "ä}",
            "{:::}",
        ] {
            of(text, &["/a/0/b", "/0/0", "/1"]);
        }
    }
}
