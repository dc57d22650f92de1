//! Whether a TIFF's fields fit into it. The decoder makes room for as many values as a field declares, hundreds of megabytes,
//! before it looks whether the file has them.

/// Whether every field of the first image is at most as long as the file. What is no TIFF has no such field.
pub(super) fn fields_fit(bytes: &[u8]) -> bool {
    let order: fn([u8; 4]) -> u32 = match bytes {
        [b'I', b'I', ..] => u32::from_le_bytes,
        [b'M', b'M', ..] => u32::from_be_bytes,
        _ => return true,
    };
    let long = |at: usize| Some(order(*bytes.get(at..)?.first_chunk()?) as usize);
    let short = |at: usize| {
        let [a, b] = *bytes.get(at..)?.first_chunk()?;
        Some(if bytes[0] == b'I' { u16::from_le_bytes([a, b]) } else { u16::from_be_bytes([a, b]) })
    };
    let Some((directory, count)) = long(4).and_then(|at| Some((at, short(at)?))) else { return true };
    // A field: tag, type, number of values, and the values or where they are.
    let fields = (0..usize::from(count)).map_while(|i| {
        let at = directory + 2 + 12 * i;
        Some((short(at + 2)?, long(at + 4)?))
    });
    fields.into_iter().all(|(kind, values)| values.saturating_mul(value_bytes(kind)) <= bytes.len())
}

/// The size of a value by its type (TIFF 6.0, page 15, and the types of BigTIFF).
fn value_bytes(kind: u16) -> usize {
    match kind {
        3 | 8 => 2,
        4 | 9 | 11 | 13 => 4,
        5 | 10 | 12 | 16..=18 => 8,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_longer_than_the_file_are_found_in_both_byte_orders() {
        // One field: a width of one short in place, then the same with 300 values elsewhere.
        let little =
            |values: u8| [b"II*\0\x08\0\0\0\x01\0\0\x01\x03\0".as_slice(), &[values, 1, 0, 0], b"\x01\0\0\0\0\0\0\0"].concat();
        let big =
            |values: u8| [b"MM\0*\0\0\0\x08\0\x01\x01\0\0\x03".as_slice(), &[0, 0, 1, values], b"\0\x01\0\0\0\0\0\0"].concat();
        assert!(!fields_fit(&little(44)) && !fields_fit(&big(44)));
        let long = |mut tiff: Vec<u8>| {
            tiff.resize(600, 0);
            tiff
        };
        assert!(fields_fit(&long(little(44))) && fields_fit(&long(big(44))));
        assert!(!fields_fit(&long(little(45))) && !fields_fit(&long(big(45))));
    }

    #[test]
    fn what_is_cut_off_is_left_to_the_decoder() {
        for tiff in [&b""[..], b"II", b"II*\0", b"II*\0\x08\0\0\0", b"MM\0*\xFF\xFF\xFF\xFF\0\0", b"II*\0\x08\0\0\0\xFF\xFF\0"]
        {
            assert!(fields_fit(tiff));
        }
    }
}
