//! Checks that the parts of an image are no larger than the whole. Decoders allocate what a part
//! declares, hundreds of megabytes, before they verify that the file contains it.

use image::ImageFormat;

/// Returns whether no part of the image declares more than it can contain. Anything unknown is left
/// to the decoder.
pub(super) fn fits(format: ImageFormat, bytes: &[u8]) -> bool {
    match format {
        ImageFormat::Tiff => fields_fit(bytes),
        ImageFormat::WebP => frames_fit(bytes),
        _ => true,
    }
}

/// Returns whether no frame of a WebP is larger than its canvas.
fn frames_fit(bytes: &[u8]) -> bool {
    let chunks = bytes.get(12..).unwrap_or_default();
    let canvas = Chunks(chunks).find_map(|(name, data)| match (name, data) {
        (b"VP8X", [_, _, _, _, a, b, c, d, e, f, ..]) => Some([
            u32::from_le_bytes([*a, *b, *c, 0]) + 1,
            u32::from_le_bytes([*d, *e, *f, 0]) + 1,
        ]),
        _ => None,
    });
    let Some(canvas) = canvas else { return true };
    let fits = |(name, data): (&[u8; 4], &[u8])| {
        frame(name, data).is_none_or(|[w, h]| w <= canvas[0] && h <= canvas[1])
    };
    Chunks(chunks).all(|(name, data)| match name {
        // A frame of an animation: position and duration, then its own chunks.
        b"ANMF" => Chunks(data.get(16..).unwrap_or_default()).all(fits),
        _ => fits((name, data)),
    })
}

/// Returns the width and height of a frame (RFC 6386, section 9.1; RFC 9649, section 3.4).
fn frame(name: &[u8; 4], data: &[u8]) -> Option<[u32; 2]> {
    match (name, data) {
        (b"VP8 ", [_, _, _, _, _, _, a, b, c, d, ..]) => {
            Some([[*a, *b], [*c, *d]].map(|n| u32::from(u16::from_le_bytes(n) & 0x3FFF)))
        }
        (b"VP8L", [_, a, b, c, d, ..]) => {
            let bits = u32::from_le_bytes([*a, *b, *c, *d]);
            Some([bits, bits >> 14].map(|n| (n & 0x3FFF) + 1))
        }
        _ => None,
    }
}

/// The chunks of a RIFF file: names and contents, which may be truncated.
struct Chunks<'a>(&'a [u8]);

impl<'a> Iterator for Chunks<'a> {
    type Item = (&'a [u8; 4], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = self.0.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        self.0 = rest.get(length.next_multiple_of(2)..).unwrap_or_default();
        Some((name, rest.get(..length).unwrap_or(rest)))
    }
}

/// Returns whether every field of a TIFF's first image is at most as long as the file.
fn fields_fit(bytes: &[u8]) -> bool {
    let order: fn([u8; 4]) -> u32 = match bytes {
        [b'I', b'I', ..] => u32::from_le_bytes,
        [b'M', b'M', ..] => u32::from_be_bytes,
        _ => return true,
    };
    let long = |at: usize| Some(order(*bytes.get(at..)?.first_chunk()?) as usize);
    let short = |at: usize| {
        let [a, b] = *bytes.get(at..)?.first_chunk()?;
        Some(if bytes.starts_with(b"I") {
            u16::from_le_bytes([a, b])
        } else {
            u16::from_be_bytes([a, b])
        })
    };
    let Some((directory, count)) = long(4).and_then(|at| Some((at, short(at)?))) else {
        return true;
    };
    // A field: tag, type, number of values, and the values or their offset.
    let fields = (0..usize::from(count)).map_while(|i| {
        let at = directory + 2 + 12 * i;
        Some((short(at + 2)?, long(at + 4)?))
    });
    fields
        .into_iter()
        .all(|(kind, values)| values.saturating_mul(value_bytes(kind)) <= bytes.len())
}

/// Returns the size of a value by its type (TIFF 6.0, page 15, and the types of BigTIFF).
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
        let little = |values: u8| {
            [
                b"II*\0\x08\0\0\0\x01\0\0\x01\x03\0".as_slice(),
                &[values, 1, 0, 0],
                b"\x01\0\0\0\0\0\0\0",
            ]
            .concat()
        };
        let big = |values: u8| {
            [
                b"MM\0*\0\0\0\x08\0\x01\x01\0\0\x03".as_slice(),
                &[0, 0, 1, values],
                b"\0\x01\0\0\0\0\0\0",
            ]
            .concat()
        };
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
        for tiff in [
            &b""[..],
            b"II",
            b"II*\0",
            b"II*\0\x08\0\0\0",
            b"MM\0*\xFF\xFF\xFF\xFF\0\0",
            b"II*\0\x08\0\0\0\xFF\xFF\0",
        ] {
            assert!(fields_fit(tiff));
        }
    }

    #[test]
    fn pictures_larger_than_their_canvas_are_found() {
        let chunk = |name: &[u8; 4], data: &[u8]| {
            [
                name,
                &(data.len() as u32).to_le_bytes()[..],
                data,
                &[0][..data.len() % 2],
            ]
            .concat()
        };
        let file = |chunks: &[Vec<u8>]| [b"RIFF\0\0\0\0WEBP".to_vec(), chunks.concat()].concat();
        // A canvas of 5 x 3.
        let canvas = chunk(b"VP8X", &[0, 0, 0, 0, 4, 0, 0, 2, 0, 0]);
        let lossy = |width: u8, height: u8| {
            chunk(b"VP8 ", &[0, 0, 0, 0x9D, 1, 0x2A, width, 0x40, height, 0])
        };
        let lossless = |width: u32, height: u32| {
            let bits = (width - 1) | (height - 1) << 14;
            chunk(b"VP8L", &[&[0x2F][..], &bits.to_le_bytes()].concat())
        };
        let animated = |picture: Vec<u8>| chunk(b"ANMF", &[vec![0; 16], picture].concat());
        for picture in [
            lossy(5, 3),
            lossless(5, 3),
            animated(lossy(4, 2)),
            animated(lossless(5, 3)),
        ] {
            assert!(
                frames_fit(&file(&[canvas.clone(), picture.clone()])),
                "{picture:?}"
            );
        }
        for picture in [
            lossy(6, 3),
            lossless(5, 4),
            lossless(16384, 16384),
            animated(lossy(5, 4)),
            animated(lossless(6, 3)),
        ] {
            assert!(
                !frames_fit(&file(&[
                    canvas.clone(),
                    chunk(b"ICCP", &[1]),
                    picture.clone()
                ])),
                "{picture:?}"
            );
        }
        // Without a canvas, the frame is the whole image.
        assert!(frames_fit(&file(&[lossy(6, 3)])));
        assert!(frames_fit(b"RIFF") && frames_fit(&file(&[b"VP8X\xFF\xFF\xFF\xFF".to_vec()])));
    }
}
