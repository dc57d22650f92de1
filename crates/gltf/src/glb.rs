//! The binary container of glTF 2.0 (specification, chapter 4).

const HEADER: usize = 12;
const CHUNK_HEADER: usize = 8;

/// One GLB of the document's JSON and its binary buffer, which may be empty. `None` if that is more than a GLB can hold.
pub fn pack(json: &[u8], binary: &[u8]) -> Option<Vec<u8>> {
    let mut chunks = vec![(*b"JSON", json, b' ')];
    if !binary.is_empty() {
        chunks.push((*b"BIN\0", binary, 0));
    }
    let length = HEADER + chunks.iter().map(|(_, data, _)| CHUNK_HEADER + data.len().next_multiple_of(4)).sum::<usize>();
    let mut out = Vec::with_capacity(length);
    out.extend(b"glTF");
    out.extend(2_u32.to_le_bytes());
    out.extend(u32::try_from(length).ok()?.to_le_bytes());
    for (kind, data, filler) in chunks {
        let padded = data.len().next_multiple_of(4);
        out.extend(u32::try_from(padded).ok()?.to_le_bytes());
        out.extend(kind);
        out.extend(data);
        out.resize(out.len() + padded - data.len(), filler);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    #[test]
    fn chunks_are_padded_and_an_empty_buffer_left_out() {
        let both = super::pack(b"{}", &[1, 2, 3, 4, 5]).unwrap();
        assert_eq!(both.len(), 12 + 8 + 4 + 8 + 8);
        assert_eq!(&both[20..24], b"{}  ");
        assert_eq!(&both[32..], [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(super::pack(b"{}", &[]).unwrap().len(), 24);
    }
}
