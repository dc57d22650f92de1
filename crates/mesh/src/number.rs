//! Decimal numbers of text formats.

use wide::u8x16;

/// Powers of ten that are exact in double precision.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Parses a number as [`str::parse`] does; NaN if it is none.
pub(super) fn float(word: &[u8]) -> f64 {
    str::from_utf8(word)
        .ok()
        .and_then(|word| word.parse().ok())
        .unwrap_or(f64::NAN)
}

/// Words separated by ASCII white space, read as numbers.
///
/// Nearly all are short. Their ends and digits are found in blocks of bytes without branches: lengths that
/// differ from word to word can't be predicted by the processor.
pub(super) struct Numbers<'a>(pub &'a [u8]);

impl<'a> Numbers<'a> {
    /// Returns the next word as [`float`] does.
    #[inline]
    pub fn float(&mut self) -> Option<f64> {
        self.skip_space();
        if let Some((number, rest)) = short(self.0) {
            self.0 = rest;
            return Some(number);
        }
        self.word().map(float)
    }

    /// Returns the next word as a number without sign; [`u32::MAX`] if it is none, or larger.
    #[inline]
    pub fn index(&mut self) -> Option<u32> {
        self.skip_space();
        if let Some((number, rest)) = short_index(self.0)
            && rest.first().is_some_and(u8::is_ascii_whitespace)
        {
            self.0 = rest;
            return Some(number);
        }
        let word = self.word()?;
        let is_number = word.iter().all(u8::is_ascii_digit);
        let number = str::from_utf8(word).ok().filter(|_| is_number);
        Some(
            number
                .and_then(|word| word.parse().ok())
                .unwrap_or(u32::MAX),
        )
    }

    /// Returns the next word.
    #[inline]
    pub fn word(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let is_space = |byte: &u8| byte.is_ascii_whitespace();
        let end = self.0.iter().position(is_space).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at_checked(end)?;
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    #[inline]
    fn skip_space(&mut self) {
        while let [first, rest @ ..] = self.0
            && first.is_ascii_whitespace()
        {
            self.0 = rest;
        }
    }
}

/// Parses the word at the start of a text, and returns what follows; `None` if it is not a decimal number of
/// at most 15 characters after its sign that is followed by white space.
///
/// If the digits as an integer and the power of ten are exact, their product or quotient is rounded once
/// (Clinger 1990).
#[inline]
pub(super) fn short(text: &[u8]) -> Option<(f64, &[u8])> {
    let (unsigned, sign) = match text {
        [b'-', unsigned @ ..] => (unsigned, 1),
        unsigned => (unsigned, 0),
    };
    let block = *unsigned.first_chunk()?;
    let bytes = u8x16::new(block);
    let is_digit = (bytes - u8x16::splat(b'0'))
        .simd_le(u8x16::splat(9))
        .to_bitmask();
    let dots = bytes.simd_eq(u8x16::splat(b'.')).to_bitmask();
    let first_dot = dots & dots.wrapping_neg();
    // At most 15, or there is no end in the block.
    let end = (!(is_digit | first_dot) & 0xffff).trailing_zeros();
    let after = block.get(end as usize)?;
    let has_dot = first_dot & ((1 << end) - 1) != 0;
    let whole = if has_dot {
        first_dot.trailing_zeros()
    } else {
        end
    };
    let digits = end - u32::from(has_dot);
    let shift = 16_u32.checked_sub(digits).filter(|_| digits > 0)?;
    // Leave out the point, and fill up with zeros in front.
    let values = u128::from_le_bytes(block) ^ u128::from_le_bytes([b'0'; 16]);
    let before = (1 << (8 * whole)) - 1;
    let joined = ((values & before) | (values >> 8 & !before)) << (8 * shift);
    let number = 100_000_000 * eight_digits(joined as u64) + eight_digits((joined >> 64) as u64);
    let mut power = whole as i32 - end as i32 + i32::from(has_dot);
    let mut rest = unsigned.get(end as usize..)?;
    if !after.is_ascii_whitespace() {
        let (exponent, after) = exponent(rest)?;
        power += exponent;
        rest = after;
    }
    let scale = POWERS.get(power.unsigned_abs() as usize)?;
    let number = number as f64;
    let number = if power < 0 {
        number / scale
    } else {
        number * scale
    };
    Some((f64::from_bits(number.to_bits() | sign << 63), rest))
}

/// Parses an exponent of one or two digits, and returns what follows.
fn exponent(text: &[u8]) -> Option<(i32, &[u8])> {
    let [b'e' | b'E', text @ ..] = text else {
        return None;
    };
    let (text, sign) = match text {
        [b'-', text @ ..] => (text, -1),
        [b'+', text @ ..] | text => (text, 1),
    };
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(count)?;
    let exponent = match digits {
        [digit] => i32::from(digit - b'0'),
        [tens, ones] => 10 * i32::from(tens - b'0') + i32::from(ones - b'0'),
        _ => return None,
    };
    let is_end = rest.first()?.is_ascii_whitespace();
    is_end.then_some((sign * exponent, rest))
}

/// Parses the index at the start of a text, and returns what follows; `None` if it does not have one to seven
/// digits.
#[inline]
pub(super) fn short_index(text: &[u8]) -> Option<(u32, &[u8])> {
    let block = text.first_chunk()?;
    let values = u64::from_le_bytes(*block) ^ u64::from_le_bytes([b'0'; 8]);
    // A byte above 9 has one of its upper bits set, or gets one by this addition. Carries reach later bytes only.
    let no_digits = (values.wrapping_add(0x0606_0606_0606_0606) | values) & 0xf0f0_f0f0_f0f0_f0f0;
    let end = no_digits.trailing_zeros() / 8;
    let rest = text.get(end as usize..)?;
    let number = || eight_digits(values << (64 - 8 * end)) as u32;
    (1..8).contains(&end).then(|| (number(), rest))
}

/// Returns the number of eight digits, of which the lowest byte is the first.
///
/// Pairs, then fours, then all are joined, several in one multiplication (Lemire 2018, "Quickly parsing eight
/// digits").
#[inline]
fn eight_digits(digits: u64) -> u64 {
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Asserts that words are read like the standard library does, whatever follows them.
    fn check(word: &str) {
        let expected = word.parse::<f64>().unwrap_or(f64::NAN);
        let index = word.bytes().all(|byte| byte.is_ascii_digit());
        let index = word
            .parse::<u32>()
            .ok()
            .filter(|_| index)
            .unwrap_or(u32::MAX);
        assert_eq!(
            float(word.as_bytes()).to_bits(),
            expected.to_bits(),
            "{word}"
        );
        let long = 123_456_789.123_456_79;
        let others = [
            ("", None),
            (" ", None),
            ("\r\n\t ", None),
            (" 123456789.123456789", Some(long)),
            (" 0                    ", Some(0.0)),
        ];
        for (after, next) in others {
            let text = format!(" {word}{after}");
            let mut numbers = Numbers(text.as_bytes());
            let number = numbers.float().unwrap_or(f64::NAN);
            assert_eq!(number.to_bits(), expected.to_bits(), "{text:?}");
            assert_eq!(numbers.float(), next, "{text:?}");
            assert_eq!(Numbers(text.as_bytes()).index(), Some(index), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_library(
            word in "-?[0-9]{0,18}[.]?[0-9]{0,18}([eE][+-]?[0-9]{1,3})?",
            short in "[+-]?[0-9]{0,5}[.]?[0-9]{0,8}(e[+-]?[0-9]{1,2})?",
            other in "[0-9.eE+,x\u{e9}-]{0,9}",
        ) {
            for word in [word, short, other] {
                if !word.is_empty() {
                    check(&word);
                }
            }
        }
    }

    #[test]
    fn what_is_no_number_is_nan() {
        for word in [
            "-", ".", "-.", "1.2.3", "--1", "1-", "x", "1\u{e9}", "e", "1e", "1e+", ".e1", "-e-1",
        ] {
            assert!(float(word.as_bytes()).is_nan(), "{word}");
            check(word);
        }
        for word in [
            "9007199254740993",
            "-0.0",
            "1e22",
            "1e23",
            "999999999999999",
            "4294967295",
            "4294967296",
            "007",
        ] {
            check(word);
        }
        assert!(Numbers(b"").float().is_none() && Numbers(b" \n").index().is_none());
    }
}
