//! The binary container of glTF 2.0 (specification, chapter 4).

const HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;

/// One GLB of the document's JSON and its binary buffer, which may be empty, in two pieces. The second is the buffer, which is not copied.
/// `None` if that is more than a GLB can hold.
pub fn pack(json: &[u8], mut binary: Vec<u8>) -> Option<[Vec<u8>; 2]> {
    binary.resize(binary.len().next_multiple_of(4), 0);
    let json_length = json.len().next_multiple_of(4);
    let binary_length = if binary.is_empty() { 0 } else { CHUNK_HEADER + binary.len() };
    let length = HEADER + CHUNK_HEADER + json_length + binary_length;
    let mut head = Vec::with_capacity(length - binary.len());
    head.extend(b"glTF");
    head.extend(2_u32.to_le_bytes());
    head.extend(u32::try_from(length).ok()?.to_le_bytes());
    head.extend(u32::try_from(json_length).ok()?.to_le_bytes());
    head.extend(b"JSON");
    head.extend(json);
    head.resize(HEADER + CHUNK_HEADER + json_length, b' ');
    if !binary.is_empty() {
        head.extend(u32::try_from(binary.len()).ok()?.to_le_bytes());
        head.extend(b"BIN\0");
    }
    Some([head, binary])
}

#[cfg(test)]
mod tests {
    #[test]
    fn chunks_are_padded_and_an_empty_buffer_left_out() {
        let both = super::pack(b"{}", vec![1, 2, 3, 4, 5]).unwrap().concat();
        assert_eq!(both.len(), 12 + 8 + 4 + 8 + 8);
        assert_eq!(&both[20..24], b"{}  ");
        assert_eq!(&both[32..], [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(super::pack(b"{}", Vec::new()).unwrap().concat().len(), 24);
    }
}
