//! Limits on the tables of a binary layer, checked before they are decoded.
//!
//! The tables of a crate file are compressed, integers up to 4000 to 1 and names up to 255 to 1, so
//! that some hundred KB may decode to gigabytes. Each begins with its count. The layout is that of
//! OpenUSD's `crateFile.h`: a header of 8 bytes of magic, 8 of version and 8 with the offset of the
//! table of contents; there a count, and for each section 16 bytes of name, 8 of offset and 8 of
//! size.

/// Maximum size of all names of a binary layer, in bytes.
pub const MAX_NAME_BYTES: u64 = 64 << 20;

/// Maximum number of prims, variants and properties of a binary layer, and of its distinct fields
/// and paths.
pub const MAX_SPECS: u64 = 8_000_000;

/// Maximum number of fields in all distinct sets of fields.
const MAX_FIELDSETS: u64 = 16_000_000;

/// Maximum number of sections; a regular file has six.
const MAX_SECTIONS: u64 = 64;

/// Checks the sizes of the tables of a binary layer. Damaged files pass: the reader reports them.
///
/// # Errors
/// The limit that a table exceeds.
pub(super) fn check(bytes: &[u8]) -> Result<(), String> {
    let Some(contents) = number(bytes, 16) else {
        return Ok(());
    };
    let sections = number(bytes, contents).unwrap_or(0);
    if sections > MAX_SECTIONS {
        return Err(format!("it has more than {MAX_SECTIONS} sections"));
    }
    for index in 0..sections {
        let entry = contents.saturating_add(8 + 32 * index);
        let (Some(name), Some(start)) = (at(bytes, entry), number(bytes, entry.saturating_add(16)))
        else {
            return Ok(());
        };
        let is = |section: &str| {
            name.strip_prefix(section.as_bytes())
                .is_some_and(|rest| rest.first() == Some(&0))
        };
        // Each table begins with its count, that of tokens also with the size of all names.
        let (what, count, max) = if is("TOKENS") {
            (
                "bytes of names",
                number(bytes, start.saturating_add(8)),
                MAX_NAME_BYTES,
            )
        } else if is("FIELDSETS") {
            (
                "fields of prims and properties",
                number(bytes, start),
                MAX_FIELDSETS,
            )
        } else if is("FIELDS") || is("PATHS") || is("SPECS") || is("STRINGS") {
            ("prims and properties", number(bytes, start), MAX_SPECS)
        } else {
            continue;
        };
        if count.is_some_and(|count| count > max) {
            return Err(format!("it has more than {max} {what}"));
        }
    }
    Ok(())
}

/// Returns the bytes from an offset on.
fn at(bytes: &[u8], offset: u64) -> Option<&[u8]> {
    bytes.get(usize::try_from(offset).ok()?..)
}

fn number(bytes: &[u8], offset: u64) -> Option<u64> {
    at(bytes, offset)?
        .first_chunk()
        .copied()
        .map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a crate file with one section that begins with two numbers.
    fn file(section: &str, numbers: [u64; 2]) -> Vec<u8> {
        let mut bytes = b"PXR-USDC\0\x08\0\0\0\0\0\0".to_vec();
        bytes.extend(40_u64.to_le_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(1_u64.to_le_bytes());
        let mut name = [0; 16];
        name[..section.len()].copy_from_slice(section.as_bytes());
        bytes.extend(name);
        bytes.extend([24_u64, 16].iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    #[test]
    fn tables_are_rejected_by_their_counts() {
        for (section, numbers, is_fine) in [
            ("TOKENS", [10, 100], true),
            ("TOKENS", [10, 1 << 32], false),
            ("FIELDS", [100, u64::MAX], true),
            ("FIELDS", [1 << 30, 0], false),
            ("FIELDSETS", [u64::MAX, 0], false),
            ("PATHS", [1 << 30, 0], false),
            ("SPECS", [1 << 30, 0], false),
            ("OTHER", [u64::MAX, u64::MAX], true),
        ] {
            assert_eq!(
                check(&file(section, numbers)).is_ok(),
                is_fine,
                "{section} {numbers:?}"
            );
        }
        let whole = file("SPECS", [1 << 30, 0]);
        (0..whole.len()).for_each(|end| drop(check(&whole[..end])));
    }
}
