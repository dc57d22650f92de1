//! The binary container of glTF 2.0 (specification, chapter 4).

use urdf_usd_store::{Piece, Pieces};

const HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;

/// Packs the document's JSON and its binary buffer, which may be empty, into one GLB. Returns it in
/// pieces, without copying the buffer; `None` if it exceeds the maximum size of a GLB.
pub fn pack(json: &[u8], mut binary: Pieces) -> Option<Vec<Piece>> {
    binary.fill_up(binary.len().next_multiple_of(4));
    let json_length = json.len().next_multiple_of(4);
    let binary_length = if binary.is_empty() {
        0
    } else {
        CHUNK_HEADER + binary.len()
    };
    let length = HEADER + CHUNK_HEADER + json_length + binary_length;
    let mut head = Vec::with_capacity(HEADER + CHUNK_HEADER + json_length + CHUNK_HEADER);
    head.extend(b"glTF");
    head.extend(2_u32.to_le_bytes());
    head.extend(u32::try_from(length).ok()?.to_le_bytes());
    head.extend(u32::try_from(json_length).ok()?.to_le_bytes());
    head.extend(b"JSON");
    head.extend(json);
    // The specification pads JSON with spaces, and the binary chunk with zeros.
    head.resize(HEADER + CHUNK_HEADER + json_length, b' ');
    if !binary.is_empty() {
        head.extend(u32::try_from(binary.len()).ok()?.to_le_bytes());
        head.extend(b"BIN\0");
    }
    Some(
        [Piece::from(head)]
            .into_iter()
            .chain(binary.pieces())
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use urdf_usd_store::joined;

    use super::*;

    #[test]
    fn chunks_are_padded_and_an_empty_buffer_left_out() {
        let packed = |binary| joined(&pack(b"{}", binary).unwrap()).unwrap();
        let both = packed(vec![1, 2, 3, 4, 5].into());
        assert_eq!(both.len(), 12 + 8 + 4 + 8 + 8);
        assert_eq!(&both[20..24], b"{}  ");
        assert_eq!(&both[32..], [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(packed(Pieces::default()).len(), 24);
    }
}
