//! The natural sort order in which OpenUSD prints properties and fields.

use std::cmp::Ordering;

/// Compares names in OpenUSD's dictionary order (`TfDictionaryLessThan`): case-insensitive, `_`
/// before the letters, numbers by value (`v9` before `v10`). Case and leading zeros break ties.
pub(super) fn dictionary_order(left: &str, right: &str) -> Ordering {
    let (l, r) = (left.as_bytes(), right.as_bytes());
    let (mut i, mut j) = (0, 0);
    while let (Some(&a), Some(&b)) = (l.get(i), r.get(j)) {
        if a == b || (a.is_ascii_alphabetic() && a.eq_ignore_ascii_case(&b)) {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        if (0x40..0x80).contains(&a) && (0x40..0x80).contains(&b) {
            return letter_rank(a).cmp(&letter_rank(b)).then(a.cmp(&b));
        }
        match (a.is_ascii_digit(), b.is_ascii_digit()) {
            (true, true) => {
                let (a, b) = (number_around(l, i), number_around(r, j));
                let by_value = number_order(a.digits, b.digits);
                if by_value.is_ne() {
                    return by_value;
                }
                (i, j) = (a.end, b.end);
            }
            (false, false) => return a.cmp(&b),
            // A digit that continues a number makes that number larger; a digit that starts a
            // number comes first.
            (a_is_digit, _) => {
                let Some(before) = i.checked_sub(1).and_then(|before| l.get(before)) else {
                    return a.cmp(&b);
                };
                let left_first = before.is_ascii_digit() != a_is_digit;
                return if left_first {
                    Ordering::Less
                } else {
                    Ordering::Greater
                };
            }
        }
    }
    // One name is at its end: the shorter one comes first, otherwise the tie break decides.
    (l.len() - i)
        .cmp(&(r.len() - j))
        .then_with(|| first_difference(l, r))
}

/// Returns the rank of a letter in the alphabet; `_` comes first.
fn letter_rank(byte: u8) -> u8 {
    // Upper and lower case share the low five bits. Adding 5 wraps `_` (31) around, to before `a`
    // (1).
    byte.wrapping_add(5) & 31
}

/// A run of digits in a text.
struct Number<'a> {
    digits: &'a [u8],
    /// Index of the byte after it.
    end: usize,
}

/// Returns the run of digits around the one at `at`.
fn number_around(text: &[u8], at: usize) -> Number<'_> {
    let (before, after) = text.split_at_checked(at).unwrap_or((text, &[]));
    let is_digit = |byte: &&u8| byte.is_ascii_digit();
    let start = at - before.iter().rev().take_while(is_digit).count();
    let end = at + after.iter().take_while(is_digit).count();
    Number {
        digits: text.get(start..end).unwrap_or_default(),
        end,
    }
}

/// Compares two runs of digits by value.
fn number_order(left: &[u8], right: &[u8]) -> Ordering {
    let [left, right] = [left, right].map(|digits| {
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.get(zeros..).unwrap_or_default()
    });
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Compares names that differ only in case or leading zeros: capitals first, more zeros last.
fn first_difference(left: &[u8], right: &[u8]) -> Ordering {
    match left.iter().zip(right).find(|(a, b)| a != b) {
        None => left.len().cmp(&right.len()),
        Some((_, b'0')) => Ordering::Less,
        Some((b'0', _)) => Ordering::Greater,
        Some((a, b)) => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::dictionary_order;

    #[test]
    fn sorts_as_openusd_does() {
        // In the order of usd-core 26.11's Tf.DictionaryStrcmp.
        let sorted = [
            "_a", "a", "a1", "a01", "a9", "a10", "a:b", "aB", "ab", "clips", "clipSets", "v:9",
            "v:10", "z", "é", "日本",
        ];
        for (i, left) in sorted.iter().enumerate() {
            for (j, right) in sorted.iter().enumerate() {
                assert_eq!(dictionary_order(left, right), i.cmp(&j), "{left} {right}");
            }
        }
    }
}
