//! Decimal numbers of text formats.

/// Powers of ten that are exact in double precision, as far as [`short`] needs them.
const POWERS: [f64; 17] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
];

/// Parses a number as [`str::parse`] does; NaN if it is none.
pub(super) fn float(word: &[u8]) -> f64 {
    short(word)
        .or_else(|| str::from_utf8(word).ok()?.parse().ok())
        .unwrap_or(f64::NAN)
}

/// Parses a number of few digits without exponent, as most are, in half of the time.
///
/// If the digits as an integer and the power of ten are exact, their quotient is rounded once (Clinger 1990).
fn short(word: &[u8]) -> Option<f64> {
    let (digits, is_negative) = match word {
        [b'-', digits @ ..] => (digits, true),
        digits => (digits, false),
    };
    let mut number = 0_u64;
    let mut decimals = None;
    // 17 bytes neither overflow the number nor exceed the powers.
    if digits.len() > POWERS.len() {
        return None;
    }
    for byte in digits {
        match (byte, &mut decimals) {
            (b'0'..=b'9', decimals) => {
                number = 10 * number + u64::from(byte - b'0');
                *decimals = decimals.map(|count: usize| count + 1);
            }
            (b'.', None) => decimals = Some(0),
            _ => return None,
        }
    }
    let is_number = digits.len() > usize::from(decimals.is_some());
    let is_exact = number <= 1 << f64::MANTISSA_DIGITS;
    let power = POWERS.get(decimals.unwrap_or(0))?;
    let value = number as f64 / power;
    (is_number && is_exact).then_some(if is_negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn floats_are_those_of_the_standard_library(word in "-?[0-9]{0,18}[.]?[0-9]{0,18}(e-?[0-9]{1,2})?") {
            let expected = word.parse::<f64>().unwrap_or(f64::NAN);
            prop_assert_eq!(float(word.as_bytes()).to_bits(), expected.to_bits(), "{}", word);
        }
    }

    #[test]
    fn what_is_no_number_is_nan() {
        for word in [
            "", "-", ".", "-.", "1.2.3", "--1", "1-", "x", "1 ", "1\u{e9}",
        ] {
            assert!(float(word.as_bytes()).is_nan(), "{word}");
        }
        let largest = "9007199254740993";
        assert_eq!(float(largest.as_bytes()), largest.parse::<f64>().unwrap());
        assert!(float(b"-0.0").is_sign_negative());
    }
}
